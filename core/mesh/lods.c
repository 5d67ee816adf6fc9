#include "lods.h"
#include "lod_attributes.h"
#include "lod_error.h"
#include "lod_part.h"
#include "lod_pieces.h"
#include "lod_poses.h"
#include "meshopt_shim.h"
#include "sheets.h"
#include "triangle_order.h"
#include "weld.h"

#include <assert.h>

/* This share of the simplifier's own estimate is stated in any case; the truth is seldom less. */
static const double estimate_share = 0.7;
/* Vertices farther off than this share of the farthest are to blame for it. */
static const double limb_share = 0.4;

enum { PART = 1 << 16, MAX_PARTS = 32, SHARED = 255 }; /* triangles */

typedef struct chain {
	const hob_mesh *mesh;
	const hob_lod_options *options;
	hob_lod_pieces pieces;
	hob_siblings siblings;
	bool united; /* indices name one member of each family */
	/* of vertices, united or not (sheets.h): indices have one side of sheets; NULL: no sheets */
	uint32_t *mirror;
	uint32_t *own_mirror;	 /* the same of vertices that are not united */
	const uint32_t *indices; /* of the level reached so far */
	uint32_t index_count;
	uint32_t *reached;		 /* the same, to be written */
	hob_vertex_array *place; /* what says where a vertex is */
	uint32_t place_count;
	uint32_t *first;   /* [vertex_count] the first vertex at the same place */
	hob_arena lasting; /* of `full`, and what the chain is left with once it has united vertices */
	/* prepared once there is a level to measure: the simplifier has given its memory back by then */
	hob_lod_full full;
	bool prepared;
	const float *shape; /* [vertex_count][3] what is simplified: the mesh, or its most bent pose */
	hob_lod_posed posed;
	double distance;				/* of the level reached so far from the full mesh, as measured */
	double estimate;				/* the simplifier's own errors of all steps */
	hob_attribute_error attributes; /* of the levels written so far */
	uint8_t *lost; /* by place of `full`: not in all of those levels; NULL: has no attributes */
	double limit;  /* of what is stated; absolute, all of them */
	uint8_t *held; /* [vertex_count] by first vertex at a place: no step may lose it */
	uint32_t held_count;
	hob_arena *arena;
	hob_error *err;
} chain_t;

/* Result of one simplification. */
typedef struct attempt {
	uint32_t *indices, index_count;
	double error;					  /* absolute, of this step alone */
	uint32_t part_count;			  /* 0: in one piece */
	uint32_t part_indices[MAX_PARTS]; /* what each part has become */
	double part_errors[MAX_PARTS];
} attempt_t;

static uint32_t target_triangles(uint32_t triangles, float ratio)
{
	uint64_t fraction = (uint64_t)((double)ratio * 65536 + 0.5);
	uint32_t target = (uint32_t)(triangles * fraction >> 16);
	return target > HOB_LOD_SMALL ? target : HOB_LOD_SMALL;
}

static double stated(double distance)
{
	return HOB_LOD_ERROR_MARGIN * distance;
}

static double room_left(const chain_t *c)
{
	double used = stated(c->distance);
	return used < c->limit ? c->limit - used : 0;
}

/* The simplifier leaves alone what has three or more vertices at one place. So a held vertex gets two more
 * there, which no triangle names. Returns the number of vertices.
 * shared   [vertex_count] by first vertex at a place: held as well; NULL: none */
static uint32_t hold(const chain_t *c, const uint8_t *shared, hob_lod_part *part)
{
	uint32_t count = part->vertex_count;
	for (uint32_t v = 0; (c->held_count > 0 || shared || part->crowded) && v < part->vertex_count; v++) {
		uint32_t place = c->first[part->vertex[v]];
		bool held =
			c->held[place] || (shared && shared[place] == SHARED) || (part->crowded && part->crowded[v]);
		for (uint32_t copy = 0; copy < 2 && held; copy++)
			memcpy(part->positions + 3 * (size_t)count++, part->positions + 3 * (size_t)v, 12);
	}
	return count;
}

/* out->indices: [index_count], to be written */
static bool simplify_part(const chain_t *c, const uint32_t *indices, uint32_t index_count, uint32_t target,
						  const uint8_t *shared, hob_arena *arena, attempt_t *out, hob_error *err)
{
	hob_lod_part part = {0};
	hob_arena_mark mark = hob_arena_save(arena);
	if (!hob_lod_part_take(c->shape, c->mesh->vertex_count, indices, index_count, c->held_count > 0 || shared,
						   arena, &part, err))
		return false;
	double scale = (double)meshopt_simplifyScale(part.positions, part.vertex_count, 12);
	out->index_count = 0;
	if (scale > 0) {
		float error = 0;
		if (!hob_meshopt_simplify(out->indices, part.indices, index_count, part.positions,
								  hold(c, shared, &part), 3 * (size_t)target, (float)(room_left(c) / scale),
								  c->options->lock_border ? meshopt_SimplifyLockBorder : 0, &out->index_count,
								  &error))
			return hob_fail_memory(err, arena, "the simplifier");
		out->error = (double)error * scale;
		for (uint32_t i = 0; i < out->index_count; i++)
			out->indices[i] = part.vertex[out->indices[i]];
	}
	hob_arena_restore(arena, mark);
	return true;
}

/* A large step in parts that do not depend on the number of threads. */
typedef struct parts {
	const chain_t *chain;
	const uint32_t *indices;
	uint32_t index_count, target, count;
	uint8_t *shared; /* [vertex_count] by first vertex at a place: 1 + the part that has it, or SHARED */
	const attempt_t *before; /* the same step, taken when less was held; NULL: none */
	bool as_before[MAX_PARTS];
	attempt_t attempts[MAX_PARTS];
	bool failed[MAX_PARTS];
	hob_error errors[MAX_PARTS];
} parts_t;

static uint32_t first_of_part(const parts_t *p, uint32_t part)
{
	return (uint32_t)((uint64_t)(p->index_count / 3) * part / p->count) * 3;
}

static void run_part(void *context, uint32_t index, uint32_t thread)
{
	parts_t *p = context;
	hob_arena arena;
	(void)thread;
	if (p->as_before[index])
		return;
	uint32_t begin = first_of_part(p, index), count = first_of_part(p, index + 1) - begin;
	hob_arena_init(&arena, p->chain->arena->limit);
	p->failed[index] = !simplify_part(p->chain, p->indices + begin, count,
									  (uint32_t)((uint64_t)p->target * count / p->index_count), p->shared,
									  &arena, &p->attempts[index], &p->errors[index]);
	hob_arena_release(&arena);
}

static void find_shared(parts_t *p)
{
	for (uint32_t part = 0; part < p->count; part++)
		for (uint32_t i = first_of_part(p, part); i < first_of_part(p, part + 1); i++) {
			uint8_t *owner = &p->shared[p->chain->first[p->indices[i]]], own = (uint8_t)(part + 1);
			*owner = *owner == 0 || *owner == own ? own : SHARED;
		}
}

/* A part that no newly held place is in becomes what it became before. */
static void find_unchanged(parts_t *p, const uint32_t *places, uint32_t count)
{
	uint32_t from = 0;
	for (uint32_t part = 0; part < p->count; part++)
		p->as_before[part] = true;
	for (uint32_t i = 0; i < count; i++)
		if (p->shared[places[i]] > 0 && p->shared[places[i]] != SHARED)
			p->as_before[p->shared[places[i]] - 1] = false;
	for (uint32_t part = 0; part < p->count; from += p->before->part_indices[part++]) {
		attempt_t *attempt = &p->attempts[part];
		attempt->index_count = p->before->part_indices[part], attempt->error = p->before->part_errors[part];
		if (p->as_before[part])
			memcpy(attempt->indices, p->before->indices + from, attempt->index_count * sizeof(uint32_t));
	}
}

/* Places where parts meet stay, for this step: the next one is cut elsewhere. */
static bool simplify_parts(const chain_t *c, parts_t *p, const uint32_t *places, uint32_t place_count,
						   attempt_t *out)
{
	p->shared = HOB_NEW(c->arena, uint8_t, c->mesh->vertex_count);
	if (!p->shared)
		return hob_fail_memory(c->err, c->arena, "a level of detail");
	find_shared(p);
	for (uint32_t part = 0; part < p->count; part++)
		p->attempts[part].indices = out->indices + first_of_part(p, part);
	if (p->before && p->before->part_count == p->count)
		find_unchanged(p, places, place_count);
	hob_parallel_for(c->options->parallel, p->count, run_part, p);
	out->index_count = 0;
	out->part_count = p->count;
	for (uint32_t part = 0; part < p->count; part++) {
		const attempt_t *attempt = &p->attempts[part];
		if (p->failed[part]) {
			*c->err = p->errors[part];
			return false;
		}
		memmove(out->indices + out->index_count, attempt->indices, attempt->index_count * sizeof(uint32_t));
		out->part_indices[part] = attempt->index_count, out->part_errors[part] = attempt->error;
		out->index_count += attempt->index_count;
		out->error = attempt->error > out->error ? attempt->error : out->error;
	}
	return true;
}

/* Simplifies as far as target and error allow; maybe not at all.
 * before   the same step, taken before the `place_count` places were held; NULL: none */
static bool simplify_again(const chain_t *c, const uint32_t *indices, uint32_t index_count, uint32_t target,
						   const attempt_t *before, const uint32_t *places, uint32_t place_count,
						   attempt_t *out)
{
	assert(target <= index_count / 3);
	attempt_t attempt = {.indices = HOB_NEW(c->arena, uint32_t, index_count)};
	if (!attempt.indices)
		return hob_fail_memory(c->err, c->arena, "a level of detail");
	parts_t parts = {
		.chain = c, .indices = indices, .index_count = index_count, .target = target, .before = before};
	parts.count = index_count / 3 / PART < MAX_PARTS ? index_count / 3 / PART : MAX_PARTS;
	hob_arena_mark mark = hob_arena_save(c->arena);
	bool ok = parts.count < 2
				  ? simplify_part(c, indices, index_count, target, NULL, c->arena, &attempt, c->err)
				  : simplify_parts(c, &parts, places, place_count, &attempt);
	hob_arena_restore(c->arena, mark);
	*out = attempt;
	return ok;
}

static bool simplify(const chain_t *c, const uint32_t *indices, uint32_t index_count, uint32_t target,
					 attempt_t *out)
{
	return simplify_again(c, indices, index_count, target, NULL, NULL, 0, out);
}

static bool misses(const attempt_t *attempt, uint32_t target)
{
	return attempt->index_count / 3 * 10ull > target * 11ull;
}

/* Halving multiplies the error by 2 to 3.2 on ordinary surfaces; seams that resist show as 4 to 9. */
static bool is_suspicious(const chain_t *c, const attempt_t *attempt, uint32_t target)
{
	return misses(attempt, target) || (c->estimate > 0 && attempt->error > 2.5 * c->estimate);
}

static bool is_better(const attempt_t *attempt, const attempt_t *than, uint32_t target)
{
	if (misses(than, target))
		return attempt->index_count * 100ull < than->index_count * 95ull;
	return !misses(attempt, target) && attempt->error * 1.5 < than->error;
}

static bool try_united(chain_t *c, uint32_t target, attempt_t *best)
{
	uint32_t *united = HOB_NEW(c->arena, uint32_t, c->index_count);
	if (!united)
		return hob_fail_memory(c->err, c->arena, "a level of detail");
	uint32_t *mirror = c->mirror ? HOB_NEW(c->arena, uint32_t, c->mesh->vertex_count) : NULL;
	if (c->mirror && !mirror)
		return hob_fail_memory(c->err, c->arena, "a level of detail");
	if (mirror && !hob_sheets_unite(&c->siblings, c->mirror, c->mesh->vertex_count, mirror))
		return true;
	memcpy(united, c->indices, c->index_count * sizeof *united);
	hob_siblings_unite(&c->siblings, united, c->index_count);
	uint32_t count = hob_weld_triangles(united, c->index_count, NULL, united);
	attempt_t attempt = {.indices = united, .index_count = count};
	if (count == 0)
		return true;
	/* Triangles dropped by uniting have no area: where it reaches the target, the shape is still the same. */
	if (count / 3 > target && !simplify(c, united, count, target, &attempt))
		return false;
	if (is_better(&attempt, best, target)) {
		*best = attempt;
		c->united = true;
		if (mirror && !(c->mirror = HOB_NEW(&c->lasting, uint32_t, c->mesh->vertex_count)))
			return hob_fail_memory(c->err, c->arena, "a level of detail");
		if (mirror)
			memcpy(c->mirror, mirror, c->mesh->vertex_count * sizeof *mirror);
	}
	return true;
}

/* met      as in lod_error.h */
static bool measure(chain_t *c, const attempt_t *attempt, double *distance, hob_lod_met *met)
{
	if (!c->prepared &&
		!hob_lod_error_begin(c->mesh->position, c->mesh->vertex_count, c->first, c->indices, c->index_count,
							 hob_lod_has_attributes(c->mesh), &c->lasting, &c->full, c->err))
		return false;
	if (!c->prepared && hob_lod_has_attributes(c->mesh) &&
		!(c->lost = HOB_NEW(&c->lasting, uint8_t, c->full.place_count)))
		return hob_fail_memory(c->err, c->arena, "the attributes of levels of detail");
	if (!c->prepared &&
		!hob_lod_poses_begin(&c->full, c->mesh, c->options->poses, &c->lasting, &c->posed, c->err))
		return false;
	c->prepared = true;
	double known = estimate_share * (c->estimate + attempt->error);
	return hob_lod_error_measure(&c->full, attempt->indices, attempt->index_count, c->indices, c->index_count,
								 known > c->distance ? known : c->distance, c->options->parallel, c->arena,
								 distance, met, c->err);
}

/* Measures a step. Where it is far worse than the simplifier thinks, and few places are to blame, simplifies
 * again without losing those. */
static bool measure_step(chain_t *c, uint32_t target, attempt_t *best, double *distance)
{
	uint32_t room = c->index_count / 3 / 50, count = 0;
	uint32_t *places = HOB_NEW(c->arena, uint32_t, room);
	if (!places)
		return hob_fail_memory(c->err, c->arena, "a level of detail");
	hob_arena_mark mark = hob_arena_save(c->arena);
	hob_lod_met met;
	if (!measure(c, best, distance, &met))
		return false;
	double expected = c->estimate + best->error,
		   limit = limb_share * *distance > c->distance ? limb_share * *distance : c->distance;
	if (c->united || *distance < 4 * expected || *distance < 1.5 * c->distance)
		return true;
	if (!hob_lod_error_lost(&c->full, &met, limit, places, room, &count, c->options->parallel, c->arena,
							c->err))
		return false;
	hob_arena_restore(c->arena, mark);
	if (count == 0 || count > room)
		return true;
	uint32_t held = 0;
	for (uint32_t i = 0; i < count; i++)
		if (!c->held[places[i]]) {
			c->held[places[i]] = 1;
			places[held++] = places[i];
		}
	c->held_count += held;
	attempt_t again;
	double nearer;
	if (!simplify_again(c, c->indices, c->index_count, target, best, places, held, &again) ||
		!measure(c, &again, &nearer, NULL))
		return false;
	if (!misses(&again, target) && nearer < 0.7 * *distance) {
		*best = again;
		*distance = nearer;
		return true;
	}
	for (uint32_t i = 0; i < held; i++)
		c->held[places[i]] = 0;
	c->held_count -= held;
	return true;
}

/* Takes the chain one step further. *end says whether there was one to take: HOB_LOD_END_MAX means there
 * was. */
static bool step(chain_t *c, hob_lod_end *end)
{
	uint32_t target = target_triangles(c->index_count / 3, c->options->ratio);
	attempt_t best;
	if (!simplify(c, c->indices, c->index_count, target, &best))
		return false;
	if (!c->united && c->siblings.count < c->mesh->vertex_count && is_suspicious(c, &best, target) &&
		!try_united(c, target, &best))
		return false;
	if (best.index_count * 100ull > c->index_count * 85ull || best.index_count == 0) {
		*end = best.error > 0.5 * room_left(c) ? HOB_LOD_END_ERROR : HOB_LOD_END_STUCK;
		return true;
	}
	*end = HOB_LOD_END_PIECES;
	if (hob_lod_pieces_destroyed(&c->pieces, c->mesh->position, best.indices, best.index_count))
		return true;
	double distance;
	if (!measure_step(c, target, &best, &distance))
		return false;
	*end = HOB_LOD_END_ERROR;
	if (stated(distance) > c->limit)
		return true;
	*end = HOB_LOD_END_MAX;
	memcpy(c->reached, best.indices, best.index_count * sizeof *best.indices);
	c->index_count = best.index_count;
	c->estimate += best.error;
	c->distance = distance;
	return true;
}

/* Orders the triangles of a level for the caches. */
static bool order(const chain_t *c, hob_lod_level *level, hob_arena *arena, hob_error *err)
{
	hob_lod_part part = {0};
	if (!hob_lod_part_take(c->mesh->position, c->mesh->vertex_count, level->indices, level->index_count,
						   false, arena, &part, err))
		return false;
	if (!hob_order_triangles(part.indices, level->index_count, part.positions, part.vertex_count,
							 c->options->encoded ? HOB_ORDER_SMALL : HOB_ORDER_BEST))
		return hob_fail_memory(err, arena, "the order of triangles");
	for (uint32_t i = 0; i < level->index_count; i++)
		level->indices[i] = part.vertex[part.indices[i]];
	return true;
}

typedef struct ordering {
	const chain_t *chain;
	hob_lod_level *levels;
	bool failed[HOB_MAX_LODS];
	hob_error errors[HOB_MAX_LODS];
} ordering_t;

static void order_level(void *context, uint32_t index, uint32_t thread)
{
	ordering_t *o = context;
	hob_arena arena;
	(void)thread;
	hob_arena_init(&arena, o->chain->arena->limit);
	o->failed[index] = !order(o->chain, &o->levels[index], &arena, &o->errors[index]);
	hob_arena_release(&arena);
}

static bool order_all(chain_t *c, hob_lod_level *levels, uint32_t count)
{
	ordering_t ordering = {.chain = c, .levels = levels};
	hob_parallel_for(c->options->parallel, count, order_level, &ordering);
	for (uint32_t l = 0; l < count; l++)
		if (ordering.failed[l]) {
			*c->err = ordering.errors[l];
			return false;
		}
	return true;
}

static float round_up(double x)
{
	return (float)(x * (1 + 1.0 / (1 << 22)));
}

/* Writes the level that the chain has reached, without the triangles that show nothing; true with an empty
 * one when too few are gone from the `before` of the last level for it to be one of its own, or where it is
 * too far off in a pose. */
static bool emit(chain_t *c, uint32_t before, hob_lod_level *out)
{
	hob_lod_level level = {.indices =
							   HOB_NEW(c->arena, uint32_t, (c->mirror ? 2 : 1) * (size_t)c->index_count)};
	if (!level.indices)
		return hob_fail_memory(c->err, c->arena, "a level of detail");
	hob_arena_mark mark = hob_arena_save(c->arena);
	memcpy(level.indices, c->indices, c->index_count * sizeof *level.indices);
	uint32_t one_side = hob_weld_drop_collapsed(c->place, c->place_count, level.indices, c->index_count);
	level.index_count = c->mirror ? hob_sheets_unfold(c->mirror, level.indices, one_side) : one_side;
	if (level.index_count * 100ull > before * 85ull)
		level.index_count = 0;
	if (c->united)
		hob_siblings_choose(&c->siblings, c->mesh, level.indices, level.index_count);
	if (level.index_count > 0 &&
		!hob_lod_poses_measure(&c->full, &c->posed, level.indices, one_side, c->arena, &c->distance, c->err))
		return false;
	level.error = round_up(stated(c->distance));
	if (stated(c->distance) > c->limit)
		level.index_count = 0;
	if (level.index_count > 0 && c->lost &&
		!hob_lod_attributes_measure(&c->full, c->mesh, c->own_mirror, level.indices, one_side, c->lost,
									c->arena, &c->attributes, c->err))
		return false;
	level.attributes = c->attributes;
	hob_arena_restore(c->arena, mark);
	*out = level;
	return true;
}

static bool find_places(chain_t *c)
{
	if (!c->options->places_differ)
		return hob_weld_places(c->mesh->position, c->mesh->vertex_count, c->arena, c->first);
	for (uint32_t v = 0; v < c->mesh->vertex_count; v++)
		c->first[v] = v;
	return true;
}

static bool begin(chain_t *c, const hob_lod_level *level)
{
	const hob_mesh *mesh = c->mesh;
	c->index_count = level->index_count;
	c->indices = c->reached = HOB_NEW(c->arena, uint32_t, level->index_count);
	c->first = HOB_NEW(c->arena, uint32_t, mesh->vertex_count);
	c->place = HOB_NEW(c->arena, hob_vertex_array, hob_vertex_arrays_count(mesh));
	c->held = HOB_NEW(c->arena, uint8_t, mesh->vertex_count);
	if (!c->reached || !c->first || !c->place || !c->held ||
		!hob_order_by_place(level->indices, level->index_count, mesh->position, c->arena, c->reached) ||
		!find_places(c))
		return hob_fail_memory(c->err, c->arena, "levels of detail");
	if (!hob_lod_poses_shape(mesh, c->options->poses, c->first, c->indices, c->index_count, c->arena,
							 &c->shape, c->err))
		return false;
	c->place_count = hob_vertex_arrays_place(mesh, c->place);
	double size = c->options->size > 0
					  ? c->options->size
					  : (double)meshopt_simplifyScale(mesh->position, mesh->vertex_count, 12);
	c->limit = (double)c->options->error * size;
	c->siblings = (hob_siblings){.count = mesh->vertex_count};
	if ((!c->options->places_differ && !hob_siblings_find(mesh, c->arena, &c->siblings, c->err)) ||
		!hob_sheets_fold(mesh, c->first, c->reached, &c->index_count, c->arena, &c->own_mirror, c->err))
		return false;
	c->mirror = c->own_mirror;
	return hob_lod_pieces_find(mesh->position, mesh->vertex_count, c->first, c->indices, c->index_count,
							   c->arena, &c->pieces, c->err);
}

static void hold_locked(chain_t *c)
{
	for (uint32_t v = 0; c->options->locked && v < c->mesh->vertex_count; v++) {
		uint8_t *held = &c->held[c->first[v]];
		c->held_count += c->options->locked[v] && !*held;
		*held |= c->options->locked[v] != 0;
	}
}

static uint32_t count_shown(const chain_t *c)
{
	uint32_t shown = 0;
	for (uint32_t i = 0; i < c->index_count; i += 3)
		if (!hob_weld_is_collapsed(c->place, c->place_count, c->indices + i))
			shown += c->mirror && c->mirror[c->indices[i]] != HOB_NONE ? 6 : 3;
	return shown;
}

static bool build(chain_t *c, hob_lod_level *levels, uint32_t *level_count, hob_lod_end *end)
{
	if (!begin(c, &levels[0]))
		return false;
	hold_locked(c);
	uint32_t count = 1, shown = count_shown(c);
	for (*end = HOB_LOD_END_MAX; count < c->options->max;) {
		if (c->index_count / 3 <= HOB_LOD_SMALL)
			*end = HOB_LOD_END_SMALL;
		hob_arena_mark mark = hob_arena_save(c->arena);
		bool ok = *end != HOB_LOD_END_MAX || step(c, end);
		hob_arena_restore(c->arena, mark);
		if (!ok)
			return false;
		if (*end != HOB_LOD_END_MAX)
			break;
		if (!emit(c, shown, &levels[count]))
			return false;
		if (stated(c->distance) > c->limit) {
			*end = HOB_LOD_END_ERROR;
			break;
		}
		if (levels[count].index_count > 0)
			shown = levels[count++].index_count;
	}
	*level_count = count;
	return order_all(c, levels + 1, count - 1);
}

bool hob_lods_build(const hob_mesh *mesh, const hob_lod_options *options, hob_lod_level *levels,
					uint32_t *level_count, hob_lod_end *end, hob_arena *arena, hob_error *err)
{
	assert(*level_count == 1 && levels[0].index_count % 3 == 0);
	*end = HOB_LOD_END_MAX;
	if (options->max < 2)
		return true;
	*end = HOB_LOD_END_SMALL;
	if (levels[0].index_count / 3 <= HOB_LOD_SMALL)
		return true;
	chain_t c = {.mesh = mesh, .options = options, .arena = arena, .err = err};
	hob_arena_init(&c.lasting, arena->limit);
	bool ok = build(&c, levels, level_count, end);
	hob_arena_release(&c.lasting);
	return ok;
}

uint32_t hob_lods_drop_dominated(hob_lod_level *levels, uint32_t level_count)
{
	uint32_t kept = 0;
	for (uint32_t l = 0; l < level_count; l++)
		if (l == 0 || l + 1 == level_count || levels[l].error < levels[l + 1].error)
			levels[kept++] = levels[l];
	return kept;
}
