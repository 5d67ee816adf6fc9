#include "usd_skel.h"

#include <math.h>

/* The samples of animated points that become morph targets. */
typedef struct cache {
	hob_usd_attribute points;
	uint32_t *kept; /* indices of samples, rising */
	uint32_t count, base;
} cache_t;

static bool deforms_otherwise(const hob_usd *u, const hob_usd_prim *prim)
{
	return hob_usd_below_skel_root(u, (uint32_t)(prim - u->prims)) &&
		   (hob_usd_still(u, prim, HOB_STR("primvars:skel:jointIndices")) ||
			hob_usd_still(u, prim, HOB_STR("skel:blendShapes")));
}

bool hob_usd_has_cache(const hob_usd *u, const hob_usd_prim *prim)
{
	static const char *const topology[] = {"faceVertexCounts", "faceVertexIndices",
										   "surfaceFaceVertexIndices"};
	hob_usd_attribute a;
	if (!hob_str_equal(prim->type, HOB_STR("Mesh")) && !hob_str_equal(prim->type, HOB_STR("TetMesh")))
		return false;
	for (size_t i = 0; i < HOB_COUNT_OF(topology); i++)
		if (hob_usd_get(u, prim, hob_str_of(topology[i]), &a) && a.samples && a.samples->count > 1)
			return false;
	if (!hob_usd_get(u, prim, HOB_STR("points"), &a) || !a.samples || a.samples->count < 2 || a.scale == 0 ||
		deforms_otherwise(u, prim))
		return false;
	const hob_usd_value *first = &a.samples->values[0];
	for (size_t i = 0; i < a.samples->count; i++) {
		const hob_usd_value *v = &a.samples->values[i];
		if (v->kind != first->kind || v->width != 3 || v->count != first->count || v->count == 0)
			return false;
	}
	return first->kind == HOB_USD_F32 || first->kind == HOB_USD_F64;
}

/* Keeps all samples, or as many as the limit allows, evenly spread and including that of the rest pose. */
static bool open_cache(hob_usd_build_t *b, const hob_usd_prim *prim, cache_t *c, hob_error *err)
{
	hob_usd *u = b->u;
	if (!hob_usd_get(u, prim, HOB_STR("points"), &c->points))
		return hob_fail(err, CORRUPT, "points without samples");
	const hob_usd_samples *s = c->points.samples;
	const hob_usd_value *rest = hob_usd_still(u, prim, HOB_STR("points"));
	uint64_t most = 1 + HOB_LIMIT_USD_CACHE / (s->values[0].count * 3);
	most = most < 2 ? 2 : most > HOB_LIMIT_USD_SHAPES ? HOB_LIMIT_USD_SHAPES : most;
	c->count = (uint32_t)(s->count < most ? s->count : most);
	c->kept = HOB_NEW(u->scratch, uint32_t, c->count);
	if (!c->kept)
		return hob_fail_memory(err, u->scratch, "moving points");
	for (uint32_t i = 0; i < c->count; i++)
		c->kept[i] = (uint32_t)((uint64_t)i * (s->count - 1) / (c->count - 1));
	uint32_t at = (uint32_t)(rest - s->values), near = 0;
	for (uint32_t i = 0; i < c->count; i++)
		near = c->kept[i] <= at ? i : near;
	c->kept[near] = at;
	c->base = near;
	return true;
}

static void put_moves(const hob_usd_value *from, const hob_usd_value *to, const uint32_t *points,
					  const hob_mesh *mesh, float *out)
{
	for (uint32_t v = 0; v < mesh->vertex_count; v++)
		for (size_t k = 0; k < 3; k++) {
			size_t at = (size_t)points[v] * 3 + k;
			double moved = hob_usd_component(to, at) - hob_usd_component(from, at);
			out[(size_t)v * 3 + k] = isfinite((float)moved) ? (float)moved : 0;
		}
}

bool hob_usd_put_cache(hob_usd_build_t *b, uint32_t id, const uint32_t *points, hob_mesh *mesh,
					   hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	cache_t c;
	if (mesh->target_count > 0 || !hob_usd_has_cache(u, prim))
		return true;
	if (!open_cache(b, prim, &c, err))
		return false;
	const hob_usd_value *values = c.points.samples->values;
	mesh->targets = HOB_NEW(u->result, hob_morph_target, c.count);
	if (!mesh->targets)
		return hob_fail_memory(err, u->result, "moving points");
	for (uint32_t i = 0; i < c.count; i++) {
		if (i == c.base)
			continue;
		hob_morph_target *to = &mesh->targets[mesh->target_count++];
		to->name = hob_arena_printf(u->result, "points %g", c.points.samples->times[c.kept[i]]);
		to->position = HOB_NEW(u->result, float, (size_t)mesh->vertex_count * 3);
		if (!to->name.data || !to->position)
			return hob_fail_memory(err, u->result, "moving points");
		put_moves(&values[c.kept[c.base]], &values[c.kept[i]], points, mesh, to->position);
	}
	return true;
}

/* Maximum distance of the omitted samples from the interpolation between the kept ones. */
static double left_out_by(const cache_t *c)
{
	const hob_usd_samples *s = c->points.samples;
	double worst = 0;
	for (uint32_t k = 0; k + 1 < c->count; k++) {
		const hob_usd_value *a = &s->values[c->kept[k]], *b = &s->values[c->kept[k + 1]];
		double begin = s->times[c->kept[k]], length = s->times[c->kept[k + 1]] - begin;
		for (uint32_t i = c->kept[k] + 1; i < c->kept[k + 1]; i++)
			for (size_t n = 0; n < a->count * 3; n++) {
				double part = (s->times[i] - begin) / length, from = hob_usd_component(a, n);
				double at = from + (hob_usd_component(b, n) - from) * part;
				worst = fmax(worst, fabs(at - hob_usd_component(&s->values[i], n)));
			}
	}
	return worst;
}

static double stage_time(const cache_t *c, uint32_t i)
{
	return c->points.offset + c->points.scale * c->points.samples->times[c->kept[i]];
}

/* Makes the weights: a target has full weight at its sample; between two samples, their targets
 * cross-fade. */
static bool weigh(hob_usd_build_t *b, const cache_t *c, uint32_t node, hob_error *err)
{
	hob_usd *u = b->u;
	bool back = c->points.scale < 0;
	uint32_t shapes = c->count - 1;
	size_t count = c->count;
	double *times = HOB_NEW(u->scratch, double, c->count);
	hob_track *track;
	if (!times)
		return hob_fail_memory(err, u->scratch, "moving points");
	for (uint32_t i = 0; i < c->count; i++)
		times[i] = stage_time(c, back ? c->count - 1 - i : i);
	hob_usd_cut_range(u, times, &count);
	if (!hob_usd_add_channel(b, node, HOB_PATH_WEIGHTS, shapes, count, &track, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		float *row = track->values + i * shapes;
		track->times[i] = hob_usd_seconds(u, times[i]);
		for (uint32_t k = 0; k < c->count; k++) {
			/* Sample k; `low` and `high` are its neighbours in time. */
			uint32_t low = back ? k + 1 : k - 1, high = back ? k - 1 : k + 1;
			double at = stage_time(c, k), weight = times[i] == at;
			if (times[i] < at)
				weight = low < c->count ? 1 - (at - times[i]) / (at - stage_time(c, low)) : 1;
			else if (times[i] > at)
				weight = high < c->count ? 1 - (times[i] - at) / (stage_time(c, high) - at) : 1;
			if (k != c->base)
				row[k - (k > c->base)] = (float)fmax(weight, 0);
		}
	}
	hob_usd_drop_still(b, NULL);
	return true;
}

bool hob_usd_cache_clips(hob_usd_build_t *b, hob_error *err)
{
	hob_usd *u = b->u;
	for (uint32_t i = 0; i < b->cached_count; i++) {
		const hob_usd_prim *prim = &u->prims[b->cached[i].prim];
		const hob_node *node = &b->model.nodes[b->cached[i].node];
		cache_t c;
		if (node->mesh_count == 0)
			continue;
		if (!open_cache(b, prim, &c, err) || !weigh(b, &c, b->cached[i].node, err))
			return hob_fail_in(err, "prim '%.*s'", HOB_FMT(prim->path));
		if (c.count < c.points.samples->count)
			hob_usd_note(
				u, "samples",
				"'points' of prim '%.*s' have %zu samples; %u are kept as shapes, and no point is off by "
				"more than %g",
				HOB_FMT(prim->path), c.points.samples->count, c.count, left_out_by(&c));
	}
	return true;
}

bool hob_usd_add_follower(hob_usd_build_t *b, hob_usd_follower **list, uint32_t *count, uint32_t *room,
						  uint32_t prim, uint32_t node, hob_error *err)
{
	*list = (hob_usd_follower *)hob_usd_more(b->u->scratch, *list, *count, room, sizeof **list);
	if (!*list)
		return hob_fail_memory(err, b->u->scratch, "animation");
	(*list)[(*count)++] = (hob_usd_follower){prim, node, NAN};
	return true;
}
