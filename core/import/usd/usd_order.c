#include "usd_private.h"

bool hob_usd_has_specs(const hob_usd *u, const hob_usd_site *site)
{
	for (uint32_t i = 0; i < u->stacks[site->stack].layer_count; i++)
		if (site->specs[i] != HOB_NONE)
			return true;
	return false;
}

bool hob_usd_is_direct(const hob_usd_site *sites, uint32_t site)
{
	for (const hob_usd_site *s = &sites[site]; s->parent != HOB_NONE; s = &sites[s->parent])
		if (s->arc != HOB_USD_CLIPS && s->arc != HOB_USD_RELOCATE && s->from_depth == sites[s->parent].depth)
			return true;
	return false;
}

typedef struct walk {
	hob_usd *u;
	const hob_usd_tree *tree;
	uint32_t *order, count;
	uint32_t *late, late_count; /* specialized sites: weaker than all others */
} walk_t;

static void walk_from(walk_t *w, uint32_t root)
{
	const hob_usd_site *sites = w->tree->sites;
	for (uint32_t i = root;;) {
		bool late = i != root && sites[i].arc == HOB_USD_SPECIALIZE;
		if (late)
			w->late[w->late_count++] = i;
		else if (hob_usd_has_specs(w->u, &sites[i]))
			w->order[w->count++] = i;
		if (!late && sites[i].first_child != HOB_NONE) {
			i = sites[i].first_child;
			continue;
		}
		while (i != root && sites[i].next == HOB_NONE)
			i = sites[i].parent;
		if (i == root)
			return;
		i = sites[i].next;
	}
}

static uint32_t level_of(const hob_usd_tree *tree, uint32_t site)
{
	uint32_t level = 0;
	for (; tree->sites[site].parent != HOB_NONE; site = tree->sites[site].parent)
		level++;
	return level;
}

bool hob_usd_tree_order(hob_usd *u, const hob_usd_tree *tree, hob_arena *arena, uint32_t **order,
						uint32_t *count, hob_error *err)
{
	walk_t w = {.u = u, .tree = tree};
	w.order = HOB_NEW(arena, uint32_t, tree->count);
	w.late = HOB_NEW(&u->passing, uint32_t, tree->count);
	if (!w.order || !w.late)
		return hob_fail_memory(err, arena, "composition");
	walk_from(&w, 0);
	/* The specialized class nearest to the root of the tree is the strongest. */
	for (uint32_t i = 0; i < w.late_count; i++) {
		uint32_t best = i;
		for (uint32_t k = i + 1; k < w.late_count; k++)
			if (level_of(tree, w.late[k]) < level_of(tree, w.late[best]))
				best = k;
		uint32_t chosen = w.late[best];
		memmove(w.late + i + 1, w.late + i, (best - i) * sizeof *w.late);
		w.late[i] = chosen;
		walk_from(&w, chosen);
	}
	*order = w.order;
	*count = w.count;
	return true;
}
