#include "usd_private.h"
#include "../text.h"

uint32_t hob_usd_index(const hob_str *texts, uint32_t count, hob_str text)
{
	for (uint32_t i = 0; i < count; i++)
		if (hob_str_equal(texts[i], text))
			return i;
	return HOB_NONE;
}

/* Maps a path from the namespace of a site to that of its parent site; empty when it has no image there. */
static hob_str usd_path_step(hob_usd *u, const hob_usd_site *site, hob_str path)
{
	if (site->arc == HOB_USD_VARIANT_ARC)
		return path;
	if (!hob_usd_path_below(path, site->map_from) || site->map_from.len <= 1) {
		/* A name that the arc maps to hides the same name of the parent's namespace. */
		bool hidden = site->arc != HOB_USD_RELOCATE && hob_usd_path_below(path, site->map_to);
		return site->map_identity && !hidden ? path : HOB_STR("");
	}
	hob_str rest = hob_str_sub(path, site->map_from.len, path.len);
	return hob_arena_printf(u->scratch, "%.*s%.*s", HOB_FMT(site->map_to), HOB_FMT(rest));
}

/* Resolves a relocated path to its new location. */
static hob_str map_moved(hob_usd *u, const hob_usd_stack *stack, hob_str path)
{
	uint32_t best = HOB_NONE;
	for (uint32_t i = 0; i < stack->move_count; i++)
		if (hob_usd_path_below(path, stack->move_from[i]) &&
			(best == HOB_NONE || stack->move_from[i].len > stack->move_from[best].len))
			best = i;
	if (best == HOB_NONE)
		return path;
	hob_str rest = hob_str_sub(path, stack->move_from[best].len, path.len), to = stack->move_to[best];
	return to.len == 0 ? HOB_STR("") : hob_arena_printf(u->scratch, "%.*s%.*s", HOB_FMT(to), HOB_FMT(rest));
}

hob_str hob_usd_path_map(hob_usd *u, const hob_usd_site *sites, uint32_t site, hob_str path)
{
	for (uint32_t i = site; sites[i].parent != HOB_NONE && path.len > 0; i = sites[i].parent)
		path = map_moved(u, &u->stacks[sites[sites[i].parent].stack], usd_path_step(u, &sites[i], path));
	return path;
}

typedef struct gather {
	hob_usd *u;
	hob_usd_stack stack;
	uint32_t open[64];
	uint32_t depth;
} gather_t;

static double field_number(const hob_usd *u, uint32_t layer, uint32_t field, double fallback)
{
	return hob_usd_number(hob_usd_field_get(&u->layers[layer], 0, field), fallback);
}

/* Time codes per second of a layer. */
static double usd_rate(const hob_usd *u, uint32_t layer)
{
	double rate = field_number(u, layer, HOB_USD_T_timeCodesPerSecond, 0);
	if (!(rate > 0))
		rate = field_number(u, layer, HOB_USD_T_framesPerSecond, 24);
	return rate > 0 && rate - rate == 0 ? rate : 24;
}

static void add_layer(gather_t *g, uint32_t layer, double offset, double scale)
{
	hob_usd_stack *s = &g->stack;
	hob_arena *arena = g->u->scratch;
	if (s->layer_count >= HOB_LIMIT_USD_LAYERS)
		hob_leave(LIMIT, "more than %llu sublayers", HOB_LIMIT_USD_LAYERS);
	HOB_USD_ROOM(arena, s->layers, s->layer_count);
	HOB_USD_ROOM(arena, s->offset, s->layer_count);
	s->layers[s->layer_count] = layer;
	s->offset[s->layer_count] = offset;
	HOB_USD_PUT(arena, s->scale, s->layer_count, scale);
}

static void gather(gather_t *g, uint32_t layer, double offset, double scale)
{
	hob_usd *u = g->u;
	for (uint32_t i = 0; i < g->depth; i++)
		if (g->open[i] == layer) {
			hob_usd_note(u, "cycle", "layer '%.*s' is a sublayer of itself; the inner one is left out",
						 HOB_FMT(u->layers[layer].id));
			return;
		}
	if (g->depth >= HOB_LIMIT_USD_STACK)
		hob_leave(LIMIT, "sublayers in sublayers: more than %llu levels", HOB_LIMIT_USD_STACK);
	add_layer(g, layer, offset, scale);
	g->open[g->depth++] = layer;
	const hob_usd_value *value = hob_usd_field_get(&u->layers[layer], 0, HOB_USD_T_subLayers);
	const hob_usd_list *list =
		value && value->kind == HOB_USD_LIST ? (const hob_usd_list *)value->data : NULL;
	for (uint32_t i = 0; list && i < list->count[HOB_USD_EXPLICIT]; i++) {
		hob_usd_item item = list->items[HOB_USD_EXPLICIT][i];
		uint32_t sub = HOB_NONE;
		hob_str asset =
			hob_usd_expression(u, g->stack.variables, item.asset.len > 0 ? item.asset : item.path);
		if (asset.len > 0)
			sub = hob_usd_layer_open(u, layer, asset);
		if (sub == HOB_NONE)
			continue;
		double ratio = usd_rate(u, layer) / usd_rate(u, sub) * item.scale;
		gather(g, sub, offset + scale * item.offset, scale * ratio);
	}
	g->depth--;
}

/* ---- relocates */

/* Whether a relocation is valid: not of a root prim, and neither path contains the other. */
static bool can_move(hob_str from, hob_str to)
{
	return from.len > 1 && hob_str_find(from, HOB_STR("/"), 1) != SIZE_MAX &&
		   (to.len == 0 || (!hob_usd_path_below(to, from) && !hob_usd_path_below(from, to) && to.len > 1));
}

/* Collects the relocations; the strongest layer decides for each prim. */
static void gather_moves(gather_t *g)
{
	hob_usd_stack *s = &g->stack;
	for (uint32_t i = 0; i < s->layer_count; i++) {
		const hob_usd_value *value =
			hob_usd_field_get(&g->u->layers[s->layers[i]], 0, HOB_USD_T_layerRelocates);
		const hob_str *paths = value && value->kind == HOB_USD_TEXT ? (const hob_str *)value->data : NULL;
		for (size_t k = 0; paths && k + 1 < value->count; k += 2) {
			/* Crates write the root for an empty path. */
			hob_str from = paths[k], to = paths[k + 1].len > 1 ? paths[k + 1] : HOB_STR("");
			if (!can_move(from, to)) {
				hob_usd_note(g->u, "relocates", "layer '%.*s' cannot move '%.*s' to '%.*s'",
							 HOB_FMT(g->u->layers[s->layers[i]].id), HOB_FMT(from), HOB_FMT(to));
				continue;
			}
			if (hob_usd_index(s->move_from, s->move_count, from) != HOB_NONE)
				continue;
			if (s->move_count >= HOB_LIMIT_USD_MOVES)
				hob_leave(LIMIT, "more than %llu relocates", HOB_LIMIT_USD_MOVES);
			HOB_USD_ROOM(g->u->scratch, s->move_from, s->move_count);
			s->move_from[s->move_count] = from;
			HOB_USD_PUT(g->u->scratch, s->move_to, s->move_count, to);
		}
	}
}

uint32_t hob_usd_stack_open(hob_usd *u, uint32_t layer, uint32_t outer)
{
	gather_t g = {.u = u, .stack.rate = usd_rate(u, layer)};
	hob_str key = hob_arena_printf(u->scratch, "%u?%u", layer, outer);
	uint32_t known = hob_name_map_get(&u->stack_map, key);
	if (known != HOB_NONE)
		return known;
	g.stack.variables = hob_usd_variables_open(u, layer, outer);
	gather(&g, layer, 0, 1);
	gather_moves(&g);
	hob_name_map_add(&u->stack_map, key, u->stack_count);
	return HOB_USD_PUT(u->scratch, u->stacks, u->stack_count, g.stack);
}

/* ---- lists */

typedef struct chosen {
	hob_usd *u;
	hob_usd_item *items;
	uint32_t count;
} chosen_t;

static uint32_t find_item(const hob_usd_item *items, uint32_t count, const hob_usd_item *item)
{
	for (uint32_t i = 0; i < count; i++)
		if (hob_str_equal(items[i].asset, item->asset) && hob_str_equal(items[i].path, item->path))
			return i;
	return HOB_NONE;
}

static void insert_at(chosen_t *c, uint32_t at, const hob_usd_item *item, uint32_t from)
{
	HOB_USD_ROOM(c->u->scratch, c->items, c->count);
	memmove(c->items + at + 1, c->items + at, (c->count - at) * sizeof *c->items);
	c->items[at] = *item;
	c->items[at].from = from;
	c->count++;
}

static void apply_op(chosen_t *c, const hob_usd_list *list, hob_usd_op op, uint32_t from)
{
	uint32_t count = list->count[op];
	if ((uint64_t)c->count + count > HOB_LIMIT_USD_LIST)
		hob_leave(LIMIT, "a list of %u items; at most %llu are allowed", count, HOB_LIMIT_USD_LIST);
	for (uint32_t i = 0; i < count; i++) {
		/* Prepended items are inserted in reverse order. */
		const hob_usd_item *item = &list->items[op][op == HOB_USD_PREPEND ? count - 1 - i : i];
		uint32_t at = find_item(c->items, c->count, item);
		if (op == HOB_USD_ADD || op == HOB_USD_EXPLICIT) {
			if (at == HOB_NONE)
				insert_at(c, c->count, item, from);
			continue;
		}
		if (at != HOB_NONE)
			memmove(c->items + at, c->items + at + 1, (--c->count - at) * sizeof *c->items);
		if (op == HOB_USD_PREPEND)
			insert_at(c, 0, item, from);
		if (op == HOB_USD_APPEND)
			insert_at(c, c->count, item, from);
	}
}

static bool is_ordered(const hob_usd_list *list, const hob_usd_item *item)
{
	return find_item(list->items[HOB_USD_ORDER], list->count[HOB_USD_ORDER], item) != HOB_NONE;
}

/* Sorts the listed items into the list's order; each keeps the unlisted items that follow it. */
static void apply_order(chosen_t *c, const hob_usd_list *list)
{
	uint32_t count = list->count[HOB_USD_ORDER], made = 0;
	hob_usd_item *items = HOB_NEW(c->u->scratch, hob_usd_item, c->count);
	if (count > HOB_LIMIT_USD_LIST)
		hob_leave(LIMIT, "a list of %u items; at most %llu are allowed", count, HOB_LIMIT_USD_LIST);
	uint32_t ahead = 0;
	while (ahead < c->count && !is_ordered(list, &c->items[ahead]))
		ahead++;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = find_item(c->items, c->count, &list->items[HOB_USD_ORDER][i]), end = at + 1;
		if (at == HOB_NONE || at < ahead)
			continue;
		while (end < c->count && !is_ordered(list, &c->items[end]))
			end++;
		memcpy(items + made, c->items + at, (end - at) * sizeof *items);
		made += end - at;
		memmove(c->items + at, c->items + end, (c->count - end) * sizeof *items);
		c->count -= end - at;
	}
	memcpy(c->items + c->count, items, made * sizeof *items);
	c->count += made;
}

void hob_usd_list_apply(hob_usd *u, const hob_usd_list *list, uint32_t from, hob_usd_item **items,
						uint32_t *count)
{
	static const hob_usd_op order[] = {HOB_USD_DELETE, HOB_USD_ADD, HOB_USD_PREPEND, HOB_USD_APPEND};
	chosen_t c = {u, *items, *count};
	if (list->is_explicit) {
		c = (chosen_t){.u = u};
		apply_op(&c, list, HOB_USD_EXPLICIT, from);
	}
	for (size_t i = 0; !list->is_explicit && i < HOB_COUNT_OF(order); i++)
		apply_op(&c, list, order[i], from);
	if (!list->is_explicit && list->count[HOB_USD_ORDER] > 0 && c.count > 0)
		apply_order(&c, list);
	*items = c.items;
	*count = c.count;
}

/* A list field of a site, composed over its layers. */
static void usd_list_resolve(hob_usd *u, const hob_usd_site *site, uint32_t field, hob_usd_item **items,
							 uint32_t *count)
{
	const hob_usd_stack *stack = &u->stacks[site->stack];
	*items = NULL;
	*count = 0;
	for (uint32_t i = stack->layer_count; i-- > 0;) {
		const hob_usd_value *value = hob_usd_field_get(&u->layers[stack->layers[i]], site->specs[i], field);
		if (value && value->kind == HOB_USD_LIST)
			hob_usd_list_apply(u, (const hob_usd_list *)value->data, i, items, count);
	}
}

/* Whether some layer has a spec for the site. */
static bool usd_has_specs(const hob_usd *u, const hob_usd_site *site)
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
		else if (usd_has_specs(w->u, &sites[i]))
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

uint32_t *hob_usd_tree_order(hob_usd *u, const hob_usd_tree *tree, hob_arena *arena, uint32_t *count)
{
	walk_t w = {.u = u, .tree = tree};
	w.order = HOB_NEW(arena, uint32_t, tree->count);
	w.late = HOB_NEW(&u->passing, uint32_t, tree->count);
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
	*count = w.count;
	return w.order;
}

static uint32_t depth_of(hob_str path)
{
	uint32_t depth = 0;
	for (size_t i = 0; i < path.len; i++)
		depth += path.data[i] == '/' && path.len > 1;
	return depth;
}

static hob_str parent_of(hob_str path)
{
	hob_str dir = hob_path_dir(path);
	return dir.len > 0 ? dir : HOB_STR("/");
}

/* ---- sites */

static uint32_t add_site(hob_usd *u, hob_usd_tree *tree, const hob_usd_site *site)
{
	if (tree->count >= HOB_LIMIT_USD_SITES)
		hob_leave(LIMIT, "more than %llu places have an opinion about the prim '%.*s'", HOB_LIMIT_USD_SITES,
				  HOB_FMT(site->path));
	uint32_t id = HOB_USD_PUT(&u->passing, tree->sites, tree->count, *site);
	hob_usd_site *sites = tree->sites;
	sites[id].first_child = sites[id].next = HOB_NONE;
	if (site->parent == HOB_NONE)
		return id;
	/* Stronger arcs first; among equal arcs those authored deeper in the namespace, then earlier ones. */
	uint32_t *link = &sites[site->parent].first_child;
	while (*link != HOB_NONE &&
		   (sites[*link].arc < site->arc ||
			(sites[*link].arc == site->arc && sites[*link].from_depth >= site->from_depth)))
		link = &sites[*link].next;
	sites[id].next = *link;
	*link = id;
	return id;
}

static void find_specs(hob_usd *u, hob_arena *arena, hob_usd_site *site, const uint32_t *parents,
					   hob_usd_spec_kind kind, uint32_t name)
{
	const hob_usd_stack *stack = &u->stacks[site->stack];
	site->specs = HOB_NEW(arena, uint32_t, stack->layer_count);
	for (uint32_t i = 0; i < stack->layer_count; i++)
		site->specs[i] = hob_usd_spec_find(&u->layers[stack->layers[i]], parents[i], kind, name);
}

hob_usd_tree hob_usd_tree_root(hob_usd *u, uint32_t stack)
{
	hob_usd_site *site = HOB_NEW(u->scratch, hob_usd_site, 1);
	*site = (hob_usd_site){
		.parent = HOB_NONE, .stack = stack, .path = HOB_STR("/"), .scale = 1, .arcs_done = true};
	site->specs = HOB_NEW(u->scratch, uint32_t, u->stacks[stack].layer_count);
	site->first_child = site->next = HOB_NONE;
	return (hob_usd_tree){.sites = site, .count = 1};
}

/* Whether an arc to {stack, path} would include an ancestor site of its own, or a prim above or below it. */
static bool is_cycle(const hob_usd_tree *tree, uint32_t parent, uint32_t stack, hob_str path)
{
	for (uint32_t i = parent; i != HOB_NONE; i = tree->sites[i].parent)
		if (tree->sites[i].stack == stack &&
			(hob_usd_path_below(tree->sites[i].path, path) || hob_usd_path_below(path, tree->sites[i].path)))
			return true;
	return false;
}

/* Which opinions extend() keeps. LOCAL: all. FOREIGN: for a prim below an instance, only those through an arc
 * of the instance itself. MOVED: for a relocated prim, all but those at its path before relocation. */
typedef enum local { LOCAL, FOREIGN, MOVED } local_t;

/* Copies the sites of `from`, extended by one name, below `parent` of `to` (HOB_NONE: as its root). Drops
 * sites without specs, unless a kept site depends on them or a prim is relocated to them; sites whose path is
 * relocated away; and sites that would include their own ancestor. */
static void extend(hob_usd *u, const hob_usd_tree *from, uint32_t name, local_t local, hob_usd_tree *to,
				   const hob_usd_site *root)
{
	hob_arena *passing = &u->passing;
	uint32_t *ids = HOB_NEW(passing, uint32_t, from->count);
	hob_usd_site *next = HOB_NEW(passing, hob_usd_site, from->count);
	bool *wanted = HOB_NEW(passing, bool, from->count), *gone = HOB_NEW(passing, bool, from->count);
	for (uint32_t i = 0; i < from->count; i++) {
		next[i] = from->sites[i];
		find_specs(u, &u->passing, &next[i], from->sites[i].specs, HOB_USD_PRIM, name);
		const hob_usd_stack *stack = &u->stacks[next[i].stack];
		bool below_chain =
			i > 0 && root && next[i].arc != HOB_USD_VARIANT_ARC && next[i].arc != HOB_USD_CLIPS;
		if (stack->move_count > 0 || below_chain)
			next[i].path = hob_usd_path_child(u, from->sites[i].path, u->tokens[name]);
		if (stack->move_count > 0) {
			hob_str path = next[i].path;
			gone[i] = (i > 0 || local != MOVED) &&
					  hob_usd_index(stack->move_from, stack->move_count, path) != HOB_NONE;
			wanted[i] = hob_usd_index(stack->move_to, stack->move_count, path) != HOB_NONE;
		}
		gone[i] = gone[i] || (next[i].parent != HOB_NONE && gone[next[i].parent]) ||
				  (below_chain && is_cycle(to, root->parent, next[i].stack, next[i].path));
		if (gone[i] || (i == 0 && local == MOVED) || (local == FOREIGN && !hob_usd_is_direct(from->sites, i)))
			memset(next[i].specs, 0xFF, stack->layer_count * sizeof *next[i].specs);
		next[i].arcs_done = false;
		next[i].chosen = 0;
		next[i].depth++;
	}
	/* Parents come before their children in the array. */
	for (uint32_t i = from->count; i-- > 0;) {
		wanted[i] = (wanted[i] && !gone[i]) || i == 0 || usd_has_specs(u, &next[i]);
		if (wanted[i] && next[i].parent != HOB_NONE)
			wanted[next[i].parent] = true;
	}
	for (uint32_t i = 0; i < from->count; i++) {
		if (!wanted[i])
			continue;
		hob_usd_site site = next[i];
		uint32_t layers = u->stacks[site.stack].layer_count;
		if (site.path.data == from->sites[i].path.data)
			site.path = hob_usd_path_child(u, from->sites[i].path, u->tokens[name]);
		site.specs = HOB_NEW(u->scratch, uint32_t, layers);
		memcpy(site.specs, next[i].specs, layers * sizeof *site.specs);
		if (i == 0 && root) {
			site.arc = root->arc;
			site.parent = root->parent;
			site.from_depth = root->from_depth;
			site.map_from = root->map_from;
			site.map_to = root->map_to;
			site.map_identity = root->map_identity;
			site.offset = root->offset;
			site.scale = root->scale;
		} else if (site.parent != HOB_NONE) {
			site.parent = ids[site.parent];
		}
		ids[i] = add_site(u, to, &site);
	}
}

/* ---- arcs */

/* Whether the tree already holds the site: a class at any position, another target only below the same parent
 * by the same arc. The first position is kept. Source: Pcp, skipDuplicateNodes. */
static bool is_known(const hob_usd_tree *tree, const hob_usd_site *site, hob_str path)
{
	bool is_class = site->arc == HOB_USD_INHERIT || site->arc == HOB_USD_SPECIALIZE;
	for (uint32_t i = 0; i < tree->count; i++)
		if ((is_class || (tree->sites[i].arc == site->arc && tree->sites[i].parent == site->parent)) &&
			tree->sites[i].stack == site->stack && hob_str_equal(tree->sites[i].path, path))
			return true;
	return false;
}

/* The whole tree of a prim, composed in its stack alone; HOB_NONE while it is under construction. */
static uint32_t tree_of(hob_usd *u, uint32_t stack, hob_str path)
{
	hob_str key = hob_arena_printf(u->scratch, "%u%.*s", stack, HOB_FMT(path));
	uint32_t id = hob_name_map_get(&u->tree_map, key);
	if (id != HOB_NONE)
		return u->trees[id].busy ? HOB_NONE : id;
	id = HOB_USD_PUT(u->scratch, u->trees, u->tree_count, (hob_usd_tree){.busy = true});
	hob_name_map_add(&u->tree_map, key, id);
	if (u->nesting >= HOB_LIMIT_USD_NESTING)
		hob_leave(LIMIT, "references in references: more than %llu levels", HOB_LIMIT_USD_NESTING);
	if (path.len <= 1) {
		u->trees[id] = hob_usd_tree_root(u, stack);
		return id;
	}
	u->nesting++;
	uint32_t name = hob_usd_token(u, hob_path_name(path)), above = tree_of(u, stack, parent_of(path));
	if (above != HOB_NONE) {
		hob_usd_tree parent = u->trees[above];
		hob_usd_tree made = hob_usd_tree_child(u, &parent, name, true);
		u->trees[id] = made;
	}
	u->nesting--;
	return above == HOB_NONE ? HOB_NONE : id;
}

static void add_class(hob_usd *u, hob_usd_tree *tree, uint32_t parent, hob_usd_arc arc, hob_str path);

/* A class inherited across a reference is also looked up in the referencing namespace: so a stage can
 * override all uses of a class at once. */
static void imply_class(hob_usd *u, hob_usd_tree *tree, uint32_t site, hob_usd_arc arc, uint32_t stack,
						hob_str path)
{
	uint32_t parent = tree->sites[site].parent;
	if (parent == HOB_NONE || arc == HOB_USD_ROOT)
		return;
	hob_usd_site transfer = tree->sites[site];
	transfer.map_identity = true;
	hob_str mapped = usd_path_step(u, &transfer, path);
	if (mapped.len == 0)
		mapped = tree->sites[site].path;
	if (tree->sites[parent].stack == stack && hob_str_equal(mapped, path)) {
		imply_class(u, tree, parent, arc, stack, path);
	} else {
		add_class(u, tree, parent, arc, mapped);
	}
}

/* Adds the tree of {stack, path} below a site. */
static uint32_t add_target(hob_usd *u, hob_usd_tree *tree, hob_usd_site *site, hob_str path)
{
	uint32_t above, name = hob_usd_token(u, hob_path_name(path)), first = tree->count;
	if (is_cycle(tree, site->parent, site->stack, path)) {
		hob_usd_note(u, "cycle", "prim '%.*s' is brought in below itself; the inner one is left out",
					 HOB_FMT(path));
		return HOB_NONE;
	}
	if (is_known(tree, site, path))
		return HOB_NONE;
	if (depth_of(path) > HOB_LIMIT_USD_DEPTH)
		hob_leave(LIMIT, "a path of more than %llu levels is referred to", HOB_LIMIT_USD_DEPTH);
	above = tree_of(u, site->stack, parent_of(path));
	if (above == HOB_NONE) {
		hob_usd_note(u, "cycle", "prim '%.*s' is brought in below itself; the inner one is left out",
					 HOB_FMT(path));
		return HOB_NONE;
	}
	hob_usd_tree parent = u->trees[above];
	extend(u, &parent, name, site->arc == HOB_USD_RELOCATE ? MOVED : LOCAL, tree, site);
	/* Implies the classes that the target inherits from its ancestors. */
	uint32_t last = tree->count;
	for (uint32_t i = first + 1; i < last; i++) {
		hob_usd_site child = tree->sites[i];
		if (child.parent == first && (child.arc == HOB_USD_INHERIT || child.arc == HOB_USD_SPECIALIZE))
			imply_class(u, tree, first, child.arc, child.stack, child.path);
	}
	return first;
}

static void add_class(hob_usd *u, hob_usd_tree *tree, uint32_t parent, hob_usd_arc arc, hob_str path)
{
	const hob_usd_site *p = &tree->sites[parent];
	hob_usd_site site = {.arc = arc,
						 .parent = parent,
						 .stack = p->stack,
						 .from_depth = p->depth,
						 .map_from = path,
						 .map_to = p->path,
						 .map_identity = true,
						 .scale = 1};
	uint32_t stack = p->stack;
	if (path.len <= 1)
		return;
	add_target(u, tree, &site, path);
	imply_class(u, tree, parent, arc, stack, path);
}

static void add_classes(hob_usd *u, hob_usd_tree *tree, uint32_t id, uint32_t field, hob_usd_arc arc)
{
	hob_usd_item *items;
	uint32_t count;
	usd_list_resolve(u, &tree->sites[id], field, &items, &count);
	for (uint32_t i = 0; i < count; i++)
		add_class(u, tree, id, arc, items[i].path);
}

static hob_str default_prim(hob_usd *u, uint32_t layer)
{
	hob_str name = hob_usd_text(hob_usd_field_get(&u->layers[layer], 0, HOB_USD_T_defaultPrim));
	return name.len > 0 ? hob_usd_path_absolute(u, HOB_STR("/"), name) : name;
}

static void add_reference(hob_usd *u, hob_usd_tree *tree, uint32_t id, hob_usd_arc arc,
						  const hob_usd_item *item)
{
	const hob_usd_site parent = tree->sites[id];
	uint32_t from_layer = u->stacks[parent.stack].layers[item->from],
			 layer = u->stacks[parent.stack].layers[0], added;
	hob_usd_site site = {.arc = arc, .parent = id, .stack = parent.stack, .from_depth = parent.depth};
	if (item->asset.len > 0) {
		uint32_t variables = u->stacks[parent.stack].variables;
		hob_str asset = hob_usd_expression(u, variables, item->asset);
		if (asset.len > 0)
			layer = hob_usd_layer_open(u, from_layer, asset);
		if (layer == HOB_NONE || asset.len == 0)
			return;
		site.stack = hob_usd_stack_open(u, layer, variables);
	}
	hob_str path = item->path.len > 0 ? item->path : default_prim(u, layer);
	if (path.len <= 1) {
		hob_usd_note(
			u, "no-default-prim",
			"layer '%.*s' names no default prim, and the reference at '%.*s' no prim; it brings nothing",
			HOB_FMT(u->layers[layer].id), HOB_FMT(parent.path));
		return;
	}
	site.map_from = path;
	site.map_to = parent.path;
	site.offset =
		item->offset * u->stacks[parent.stack].scale[item->from] + u->stacks[parent.stack].offset[item->from];
	site.scale = item->scale * u->stacks[parent.stack].scale[item->from];
	if (item->asset.len > 0)
		site.scale *= usd_rate(u, from_layer) / u->stacks[site.stack].rate;
	added = add_target(u, tree, &site, path);
	if (added != HOB_NONE && !usd_has_specs(u, &tree->sites[added]) &&
		tree->sites[added].first_child == HOB_NONE)
		hob_usd_note(u, "prim-missing", "layer '%.*s' has no prim '%.*s', which '%.*s' refers to",
					 HOB_FMT(u->layers[layer].id), HOB_FMT(path), HOB_FMT(parent.path));
}

static void add_references(hob_usd *u, hob_usd_tree *tree, uint32_t id, uint32_t field, hob_usd_arc arc)
{
	hob_usd_item *items;
	uint32_t count;
	usd_list_resolve(u, &tree->sites[id], field, &items, &count);
	for (uint32_t i = 0; i < count; i++)
		add_reference(u, tree, id, arc, &items[i]);
}

/* Adds the prims that the stack relocates to this path. */
static void add_moved(hob_usd *u, hob_usd_tree *tree, uint32_t id)
{
	const hob_usd_site *at = &tree->sites[id];
	const hob_usd_stack *stack = &u->stacks[at->stack];
	uint32_t move = at->arc == HOB_USD_VARIANT_ARC
						? HOB_NONE
						: hob_usd_index(stack->move_to, stack->move_count, at->path);
	if (move == HOB_NONE)
		return;
	hob_usd_site site = {.arc = HOB_USD_RELOCATE,
						 .parent = id,
						 .stack = at->stack,
						 .from_depth = at->depth,
						 .map_from = stack->move_from[move],
						 .map_to = at->path,
						 .map_identity = true,
						 .scale = 1};
	add_target(u, tree, &site, site.map_from);
}

/* ---- variants */

static bool choice_in(const hob_usd_value *value, hob_str set, hob_str *out)
{
	const hob_usd_value *choice = hob_usd_entry_of(value, set);
	if (choice)
		*out = hob_usd_text(choice);
	return choice != NULL;
}

/* Finds the selection for a set in the setting usd.variants: "shading=red, lod=high". */
static bool asked_choice(hob_str asked, hob_str set, hob_str *out)
{
	while (asked.len > 0) {
		size_t end = hob_str_find(asked, HOB_STR(","), 0);
		hob_str one = hob_str_sub(asked, 0, end == SIZE_MAX ? asked.len : end);
		asked = end == SIZE_MAX ? (hob_str){0} : hob_str_sub(asked, end + 1, asked.len);
		size_t equals = hob_str_find(one, HOB_STR("="), 0);
		if (equals != SIZE_MAX && hob_str_equal(hob_text_trim(hob_str_sub(one, 0, equals)), set)) {
			*out = hob_text_trim(hob_str_sub(one, equals + 1, one.len));
			return out->len > 0;
		}
	}
	return false;
}

static hob_str find_choice(hob_usd *u, const hob_usd_tree *tree, hob_str set)
{
	uint32_t count;
	hob_arena_mark mark = hob_arena_save(&u->passing);
	uint32_t *order = hob_usd_tree_order(u, tree, &u->passing, &count);
	hob_str choice = HOB_STR("");
	bool found = false;
	uint32_t variables = HOB_NONE;
	for (uint32_t i = 0; i < count && !found; i++) {
		const hob_usd_site *site = &tree->sites[order[i]];
		const hob_usd_stack *stack = &u->stacks[site->stack];
		variables = stack->variables;
		for (uint32_t k = 0; k < stack->layer_count && !found; k++)
			found = choice_in(
				hob_usd_field_get(&u->layers[stack->layers[k]], site->specs[k], HOB_USD_T_variantSelection),
				set, &choice);
	}
	hob_arena_restore(&u->passing, mark);
	return found ? hob_usd_expression(u, variables, choice) : choice;
}

/* Notes the choices of a variant set, once per prim and set. */
static void tell_choices(hob_usd *u, const hob_usd_site *site, hob_str set, hob_str choice)
{
	hob_str begin = hob_arena_printf(u->scratch, "{%.*s=", HOB_FMT(set));
	const hob_usd_stack *stack = &u->stacks[site->stack];
	hob_own_buf names = {0};
	for (uint32_t i = 0; i < stack->layer_count; i++) {
		const hob_usd_layer *layer = &u->layers[stack->layers[i]];
		uint32_t spec =
			site->specs[i] == HOB_NONE ? HOB_NONE : layer->specs[site->specs[i]].first[HOB_USD_VARIANT];
		for (; spec != HOB_NONE; spec = layer->specs[spec].next) {
			hob_str name = u->tokens[layer->specs[spec].name];
			if (hob_str_starts(name, begin) && names.size < 120)
				hob_buf_printf(&names, "%s%.*s", names.size > 0 ? ", " : "",
							   HOB_FMT(hob_str_sub(name, begin.len, name.len - 1)));
		}
	}
	hob_str key = hob_arena_printf(u->scratch, "{%.*s", HOB_FMT(site->path));
	key = hob_arena_printf(u->scratch, "%.*s=%.*s", HOB_FMT(begin), HOB_FMT(key));
	if (names.size > 0 && hob_usd_known(u, key) == HOB_NONE) {
		hob_usd_token(u, key);
		hob_usd_info(u, "variants",
					 "variant set '%.*s' of '%.*s': %.*s, of %.*s; the setting usd.variants chooses",
					 HOB_FMT(set), HOB_FMT(site->path), HOB_FMT(choice.len > 0 ? choice : HOB_STR("none")),
					 HOB_FMT(hob_buf_str(&names)));
	}
}

static bool has_variant(const hob_usd *u, const hob_usd_site *site, uint32_t name)
{
	const hob_usd_stack *stack = &u->stacks[site->stack];
	bool found = false;
	for (uint32_t i = 0; i < stack->layer_count && !found; i++)
		found = hob_usd_spec_find(&u->layers[stack->layers[i]], site->specs[i], HOB_USD_VARIANT, name) !=
				HOB_NONE;
	return found;
}

static uint32_t name_choice(hob_usd *u, hob_str set, hob_str choice)
{
	return hob_usd_known(u, hob_arena_printf(u->scratch, "{%.*s=%.*s}", HOB_FMT(set), HOB_FMT(choice)));
}

/* Selects a variant of one set. *found: the set has a selection, now final. *added: a variant was added. */
static void add_variant(hob_usd *u, hob_usd_tree *tree, uint32_t id, hob_str set, bool *found, bool *added)
{
	hob_str choice = find_choice(u, tree, set), asked;
	if (asked_choice(u->request->usd_variants, set, &asked)) {
		if (has_variant(u, &tree->sites[id], name_choice(u, set, asked)))
			choice = asked;
		else
			hob_usd_note(
				u, "no-variant",
				"variant set '%.*s' of '%.*s' has no '%.*s', which the setting usd.variants asks for",
				HOB_FMT(set), HOB_FMT(tree->sites[id].path), HOB_FMT(asked));
	}
	*found = choice.len > 0;
	if (!*found)
		return;
	tell_choices(u, &tree->sites[id], set, choice);
	uint32_t name = name_choice(u, set, choice);
	if (name == HOB_NONE)
		return;
	hob_usd_site site = tree->sites[id];
	site.arc = HOB_USD_VARIANT_ARC;
	site.parent = id;
	site.from_depth = site.depth;
	site.offset = 0;
	site.scale = 1;
	site.arcs_done = false;
	site.chosen = 0;
	find_specs(u, u->scratch, &site, site.specs, HOB_USD_VARIANT, name);
	*added = usd_has_specs(u, &site);
	if (*added)
		add_site(u, tree, &site);
}

/* Adds the variant of the first set whose selection exists; *added: whether one was added. `last`: instead
 * notes the choices of the sets without a selection. */
static void add_variants(hob_usd *u, hob_usd_tree *tree, uint32_t id, bool last, bool *added)
{
	hob_usd_item *items;
	uint32_t count;
	usd_list_resolve(u, &tree->sites[id], HOB_USD_T_variantSetNames, &items, &count);
	for (uint32_t i = 0; i < count && !*added; i++) {
		bool found = false;
		if (i >= HOB_USD_VARIANT_SETS) {
			hob_usd_note(u, "variants", "prim '%.*s' has more than %d variant sets; the others are left out",
						 HOB_FMT(tree->sites[id].path), HOB_USD_VARIANT_SETS);
			break;
		}
		if (tree->sites[id].chosen >> i & 1)
			continue;
		if (last)
			tell_choices(u, &tree->sites[id], items[i].path, HOB_STR(""));
		else
			add_variant(u, tree, id, items[i].path, &found, added);
		tree->sites[id].chosen |= (uint64_t)found << i;
	}
}

/* ---- value clips */

static void add_clips(hob_usd *u, hob_usd_tree *tree, uint32_t id)
{
	const hob_usd_site parent = tree->sites[id];
	for (uint32_t k = 0; k < u->stacks[parent.stack].layer_count; k++) {
		uint32_t layer = u->stacks[parent.stack].layers[k];
		const hob_usd_value *sets = hob_usd_field_get(&u->layers[layer], parent.specs[k], HOB_USD_T_clips);
		for (size_t i = 0; sets && sets->kind == HOB_USD_DICTIONARY && i < sets->count; i++) {
			hob_usd_site site = parent;
			site.arc = HOB_USD_CLIPS;
			site.parent = id;
			site.from_depth = parent.depth;
			site.map_from = site.map_to = parent.path;
			site.map_identity = true;
			site.specs = HOB_NEW(u->scratch, uint32_t, 1);
			hob_usd_value_clips(u, layer, u->stacks[parent.stack].variables, parent.path,
								(const hob_usd_entry *)sets->data + i, &site.stack, site.specs);
			site.offset = u->stacks[parent.stack].offset[k];
			site.scale = u->stacks[parent.stack].scale[k];
			if (site.stack != HOB_NONE)
				add_site(u, tree, &site);
		}
	}
}

/* ---- the whole tree */

/* Evaluates the arcs of all sites, except variants; new sites are appended and evaluated, too. */
static void evaluate_arcs(hob_usd *u, hob_usd_tree *tree)
{
	for (uint32_t i = 0; i < tree->count; i++) {
		if (tree->sites[i].arcs_done)
			continue;
		tree->sites[i].arcs_done = true;
		add_moved(u, tree, i);
		if (!usd_has_specs(u, &tree->sites[i]))
			continue;
		add_clips(u, tree, i);
		add_references(u, tree, i, HOB_USD_T_references, HOB_USD_REFERENCE);
		add_references(u, tree, i, HOB_USD_T_payload, HOB_USD_PAYLOAD);
		add_classes(u, tree, i, HOB_USD_T_inheritPaths, HOB_USD_INHERIT);
		add_classes(u, tree, i, HOB_USD_T_specializes, HOB_USD_SPECIALIZE);
	}
}

/* Variants are evaluated last, strongest site first. Any site may hold a selection, even one added by another
 * variant, so a set without one is tried again whenever a site was added. Source: Pcp, the order and retries
 * of a prim index's tasks. */
static void evaluate(hob_usd *u, hob_usd_tree *tree)
{
	bool last = false;
	for (;;) {
		uint32_t count;
		bool added = false;
		evaluate_arcs(u, tree);
		const uint32_t *order = hob_usd_tree_order(u, tree, &u->passing, &count);
		for (uint32_t i = 0; i < count && !added; i++)
			add_variants(u, tree, order[i], last, &added);
		if (last)
			return;
		last = !added;
	}
}

hob_usd_tree hob_usd_tree_child(hob_usd *u, const hob_usd_tree *parent, uint32_t name, bool local)
{
	hob_usd_tree made = {0};
	hob_arena_mark mark = hob_arena_save(&u->passing);
	extend(u, parent, name, local ? LOCAL : FOREIGN, &made, NULL);
	evaluate(u, &made);
	hob_usd_tree kept = {.count = made.count, .sites = HOB_NEW(u->scratch, hob_usd_site, made.count)};
	memcpy(kept.sites, made.sites, made.count * sizeof *made.sites);
	hob_arena_restore(&u->passing, mark);
	return kept;
}
