#include "cluster_groups.h"
#include "weld.h"

enum { CROWD = 64, SMALL = 4, NEAR = CROWD * 64 };

typedef struct grouping {
	const uint32_t *first, *places;
	uint32_t cluster_count;
	uint32_t *user_first, *users; /* by place: the clusters that use it */
	uint32_t *group, *size;		  /* by cluster: its group; by group: its clusters */
	uint32_t group_count;
	/* by cluster, or by group while joining: number of shared places; 0 except for those in `near` */
	uint32_t *score;
	uint32_t near[NEAR], near_count;
} grouping_t;

static void list_users(grouping_t *g, uint32_t place_count, hob_arena *scratch)
{
	uint32_t total = g->first[g->cluster_count];
	uint32_t *of = HOB_NEW(scratch, uint32_t, total);
	g->user_first = HOB_NEW(scratch, uint32_t, (size_t)place_count + 1);
	g->users = HOB_NEW(scratch, uint32_t, total);
	for (uint32_t c = 0; c < g->cluster_count; c++)
		for (uint32_t i = g->first[c]; i < g->first[c + 1]; i++)
			of[i] = c;
	hob_list_by_key(g->places, total, place_count, g->user_first, g->users);
	for (uint32_t i = 0; i < total; i++)
		g->users[i] = of[g->users[i]];
}

static void forget_near(grouping_t *g)
{
	for (uint32_t i = 0; i < g->near_count; i++)
		g->score[g->near[i]] = 0;
	g->near_count = 0;
}

static void count_shared(grouping_t *g, uint32_t id)
{
	if (g->score[id] == 0) {
		if (g->near_count == NEAR)
			return;
		g->near[g->near_count++] = id;
	}
	g->score[id]++;
}

/* For each place of the cluster, adds 1 to the score of every other user: if `joining`, of the user's group
 * unless it is the cluster's, else of the user itself if it has no group yet. */
static void look_around(grouping_t *g, uint32_t cluster, bool joining)
{
	for (uint32_t i = g->first[cluster]; i < g->first[cluster + 1]; i++) {
		const uint32_t *from = g->user_first + g->places[i];
		if (from[1] - from[0] > CROWD)
			continue;
		for (uint32_t u = from[0]; u < from[1]; u++) {
			uint32_t other = g->users[u], in = g->group[other];
			if (joining && in != g->group[cluster])
				count_shared(g, in);
			else if (!joining && in == HOB_NONE)
				count_shared(g, other);
		}
	}
}

static void take(grouping_t *g, uint32_t cluster)
{
	g->group[cluster] = g->group_count;
	g->size[g->group_count]++;
	look_around(g, cluster, false);
}

static uint32_t best_cluster(const grouping_t *g)
{
	uint32_t best = HOB_NONE;
	for (uint32_t i = 0; i < g->near_count; i++) {
		uint32_t c = g->near[i];
		if (g->group[c] == HOB_NONE &&
			(best == HOB_NONE || g->score[c] > g->score[best] || (g->score[c] == g->score[best] && c < best)))
			best = c;
	}
	return best;
}

static void grow_groups(grouping_t *g)
{
	for (uint32_t seed = 0; seed < g->cluster_count; seed++) {
		if (g->group[seed] != HOB_NONE)
			continue;
		g->size[g->group_count] = 0;
		for (uint32_t next = seed; next != HOB_NONE && g->size[g->group_count] < HOB_GROUP_CLUSTERS;
			 next = best_cluster(g))
			take(g, next);
		forget_near(g);
		g->group_count++;
	}
}

static uint32_t best_group(const grouping_t *g, uint32_t size)
{
	uint32_t best = HOB_NONE;
	for (uint32_t i = 0; i < g->near_count; i++) {
		uint32_t in = g->near[i];
		if (g->size[in] + size <= HOB_GROUP_MOST && (best == HOB_NONE || g->score[in] > g->score[best] ||
													 (g->score[in] == g->score[best] && in < best)))
			best = in;
	}
	return best;
}

/* A cluster left over between groups joins the group with which it shares most places; if it shares none, it
 * joins the last such cluster. */
static void join_small(grouping_t *g)
{
	uint32_t alone = HOB_NONE;
	for (uint32_t c = 0; c < g->cluster_count; c++) {
		uint32_t own = g->group[c];
		if (g->size[own] >= SMALL || own == alone)
			continue;
		look_around(g, c, true);
		uint32_t to = best_group(g, 1);
		if (g->near_count == 0) {
			if (alone != HOB_NONE && g->size[alone] < HOB_GROUP_CLUSTERS)
				to = alone;
			else
				alone = own;
		}
		forget_near(g);
		if (to != HOB_NONE) {
			g->size[own]--;
			g->size[to]++;
			g->group[c] = to;
		}
	}
}

static uint32_t number_groups(grouping_t *g)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < g->group_count; i++)
		g->size[i] = g->size[i] > 0 ? count++ : HOB_NONE;
	for (uint32_t c = 0; c < g->cluster_count; c++)
		g->group[c] = g->size[g->group[c]];
	return count;
}

uint32_t hob_cluster_groups(const uint32_t *first, const uint32_t *places, uint32_t cluster_count,
							uint32_t place_count, uint32_t *group, hob_arena *scratch)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	grouping_t *g = HOB_NEW(scratch, grouping_t, 1);
	*g = (grouping_t){.first = first, .places = places, .cluster_count = cluster_count, .group = group};
	g->size = HOB_NEW(scratch, uint32_t, cluster_count);
	g->score = HOB_NEW(scratch, uint32_t, cluster_count);
	list_users(g, place_count, scratch);
	memset(group, 0xFF, cluster_count * sizeof *group);
	grow_groups(g);
	join_small(g);
	uint32_t count = number_groups(g);
	hob_arena_restore(scratch, mark);
	return count;
}
