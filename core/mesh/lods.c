#include "lods.h"
#include "lod_points.h"
#include "sheets.h"
#include "simplify.h"
#include "triangle_order.h"
#include "visible.h"
#include "weld.h"

#include <assert.h>
#include <meshoptimizer.h>

/* Most triangles of a level relative to the level before, unless options ask for more. */
static const double most_left = 0.85;

typedef struct chain {
	const hob_mesh *mesh;
	const hob_lod_options *options;
	uint32_t *mirror;		 /* [vertex_count] the other sides of sheets (sheets.h); NULL: no sheets */
	const uint32_t *indices; /* the full mesh in Morton order, one side of sheets */
	uint32_t index_count;
	uint32_t *first;   /* [vertex_count] the first vertex at the same place */
	hob_arena lasting; /* holds `full` */
	/* prepared after simplifying, when the simplifier has released its memory */
	hob_lod_full full;
	const float *shape; /* [vertex_count][3] positions to simplify: the mesh's, or its most bent pose */
	hob_lod_posed posed;
	double distance, mean;			/* largest measured for the levels written so far */
	hob_attribute_error attributes; /* likewise */
	uint8_t *lost;					/* by place of `full`: a written level lacks it; NULL: no attributes */
	double size, limit;				/* size of the mesh; largest error to state, in its units */
	hob_arena *arena;
	hob_error *err;
} chain_t;

static uint32_t target_triangles(uint32_t triangles, float ratio, uint32_t least)
{
	uint64_t fraction = (uint64_t)((double)ratio * 65536 + 0.5);
	uint32_t target = (uint32_t)(triangles * fraction >> 16);
	return target > least ? target : least;
}

static double stated(double distance)
{
	return HOB_LOD_ERROR_MARGIN * distance;
}

typedef struct ordering {
	const chain_t *chain;
	hob_lod_level *levels;
	bool failed[HOB_MAX_LODS];
} ordering_t;

/* Orders the triangles of a level for the caches. */
static void order_level(void *context, uint32_t index, uint32_t thread)
{
	ordering_t *o = context;
	const hob_mesh *mesh = o->chain->mesh;
	hob_lod_level *level = &o->levels[index];
	hob_arena arena;
	(void)thread;
	hob_arena_init(&arena, o->chain->arena->limit);
	uint32_t *local = HOB_NEW(&arena, uint32_t, mesh->vertex_count);
	if (local)
		memset(local, 0xFF, mesh->vertex_count * sizeof *local);
	o->failed[index] =
		!local ||
		!hob_order_part(level->indices, level->index_count, mesh->position, mesh->vertex_count,
						o->chain->options->encoded ? HOB_ORDER_SMALL : HOB_ORDER_BEST, local, &arena);
	hob_arena_release(&arena);
}

static bool order_all(chain_t *c, hob_lod_level *levels, uint32_t count)
{
	ordering_t ordering = {.chain = c, .levels = levels};
	hob_parallel_for(c->options->parallel, count, order_level, &ordering);
	for (uint32_t l = 0; l < count; l++)
		if (ordering.failed[l])
			return hob_fail_memory(c->err, c->arena, "the order of triangles");
	return true;
}

static float round_up(double x)
{
	return (float)(x * (1 + 1.0 / (1 << 22)));
}

/* Prepares the full mesh for measuring. */
static bool prepare(chain_t *c)
{
	if (!hob_lod_error_begin(c->mesh->position, c->mesh->vertex_count, c->first, c->indices, c->index_count,
							 hob_lod_has_attributes(c->mesh), &c->lasting, &c->full, c->err))
		return false;
	if (hob_lod_has_attributes(c->mesh) && !(c->lost = HOB_NEW(&c->lasting, uint8_t, c->full.place_count)))
		return hob_fail_memory(c->err, c->arena, "the attributes of levels of detail");
	return hob_lod_poses_begin(&c->full, c->mesh, c->options->poses, &c->lasting, &c->posed, c->err);
}

/* Measures a level and writes it. */
static bool emit(chain_t *c, const hob_simplify_level *reached, hob_lod_level *out)
{
	uint32_t one_side = reached->index_count, sides = c->mirror ? 2 : 1;
	hob_lod_level level = {.indices = HOB_NEW(c->arena, uint32_t, sides * (size_t)one_side)};
	hob_lod_surface surface;
	if (!level.indices)
		return hob_fail_memory(c->err, c->arena, "a level of detail");
	hob_arena_mark mark = hob_arena_save(c->arena);
	memcpy(level.indices, reached->indices, one_side * sizeof *level.indices);
	level.index_count = c->mirror ? hob_sheets_unfold(c->mirror, level.indices, one_side) : one_side;
	if (!hob_lod_error_surface(&c->full, level.indices, one_side, c->arena, &surface, c->err))
		return false;
	c->distance = hob_lod_error_measure(&c->full, &surface.surface, fmax(reached->mean, c->distance),
										reached->change, c->options->parallel);
	double farthest = c->distance;
	if (c->lost)
		hob_lod_points_measure(&c->full, &surface, c->mesh, &c->posed, c->mirror, c->lost, &c->distance,
							   &c->attributes);
	level.error = round_up(stated(c->distance));
	bool kept = stated(c->distance) <= c->limit;
	if (kept)
		c->mean = fmax(c->mean, hob_lod_error_mean(&c->full, &surface, c->mirror, farthest));
	level.mean_error = (float)fmin(c->mean, farthest);
	level.attributes = c->attributes;
	hob_arena_restore(c->arena, mark);
	*out = level;
	return true;
}

static bool begin(chain_t *c, const hob_lod_level *level)
{
	const hob_mesh *mesh = c->mesh;
	uint32_t *indices = HOB_NEW(c->arena, uint32_t, level->index_count);
	c->index_count = level->index_count;
	c->indices = indices;
	c->first = HOB_NEW(c->arena, uint32_t, mesh->vertex_count);
	if (!indices || !c->first ||
		!hob_order_by_place(level->indices, level->index_count, mesh->position, c->arena, indices) ||
		!hob_weld_places(mesh->position, mesh->vertex_count, c->arena, c->first))
		return hob_fail_memory(c->err, c->arena, "levels of detail");
	if (!hob_lod_poses_shape(mesh, c->options->poses, c->first, c->indices, c->index_count, c->arena,
							 &c->shape, c->err))
		return false;
	c->size = (double)meshopt_simplifyScale(mesh->position, mesh->vertex_count, 12);
	c->limit = (double)c->options->error * (c->options->size > 0 ? c->options->size : c->size);
	return hob_sheets_fold(mesh, c->first, indices, &c->index_count, c->arena, &c->mirror, c->err);
}

static uint32_t count_shown(const chain_t *c)
{
	uint32_t shown = 0;
	for (const uint32_t *i = c->indices; i < c->indices + c->index_count; i += 3)
		shown += c->first[i[0]] != c->first[i[1]] && c->first[i[1]] != c->first[i[2]] &&
				 c->first[i[2]] != c->first[i[0]];
	return shown;
}

/* Simplifies to all targets in one run.
 * reached  [HOB_MAX_LODS] */
static bool simplify(chain_t *c, uint32_t shown, hob_simplify_level *reached, uint32_t *count,
					 hob_simplify_end *end)
{
	const hob_mesh *mesh = c->mesh;
	uint32_t most = c->options->max - 1, least = HOB_LOD_SMALL / (c->mirror ? 2u : 1u), attribute_count;
	float *attributes;
	hob_arena passing;
	for (*count = 0; *count < most && shown > least; ++*count)
		reached[*count].target = shown = target_triangles(shown, c->options->ratio, least);
	hob_arena_init(&passing, c->arena->limit);
	bool ok = hob_visible_attributes(mesh, c->indices, c->index_count, c->size, &passing, &attributes,
									 &attribute_count, c->err);
	hob_simplify_input input = {.positions = c->shape,
								.vertex_count = mesh->vertex_count,
								.first = c->first,
								.attributes = ok ? attributes : NULL,
								.attribute_count = attribute_count,
								.uv = {mesh->uv[0], mesh->uv[1]},
								.locked = c->options->locked,
								.lock_border = c->options->lock_border,
								.indices = c->indices,
								.index_count = c->index_count,
								.limit = c->limit,
								.turn = c->size * (mesh->normal ? HOB_VISIBLE_TURN : HOB_VISIBLE_TURN_FLAT),
								.parallel = c->options->parallel};
	ok = ok && hob_simplify(&input, reached, count, end, c->arena, c->err);
	hob_arena_release(&passing);
	return ok;
}

static hob_lod_end end_of(hob_simplify_end end)
{
	return end == HOB_SIMPLIFY_LIMIT	? HOB_LOD_END_ERROR
		   : end == HOB_SIMPLIFY_PIECES ? HOB_LOD_END_PIECES
										: HOB_LOD_END_STUCK;
}

/* Whether a level is worth having: not if it only ends a chain that is long enough without it.
 * all, shown   triangles of the full level and of the level before */
static bool is_worth(const chain_t *c, const hob_simplify_level *level, uint32_t all, uint32_t shown)
{
	uint32_t left = level->index_count / 3;
	double most = fmax(most_left, HOB_LOD_NEAR * (double)c->options->ratio);
	return left > 0 && left <= most * shown &&
		   (left <= HOB_LOD_NEAR * level->target || (all >= HOB_LOD_WORTH && HOB_LOD_SHORT(shown, all)));
}

static bool build(chain_t *c, hob_lod_level *levels, uint32_t *level_count, hob_lod_end *end)
{
	hob_simplify_level reached[HOB_MAX_LODS];
	hob_simplify_end stopped;
	uint32_t count = 1, reached_count;
	if (!begin(c, &levels[0]))
		return false;
	uint32_t all = count_shown(c), shown = all;
	if (!simplify(c, shown, reached, &reached_count, &stopped) || (reached_count > 0 && !prepare(c)))
		return false;
	*end = stopped != HOB_SIMPLIFY_DONE			 ? end_of(stopped)
		   : reached_count + 1 < c->options->max ? HOB_LOD_END_SMALL
												 : HOB_LOD_END_MAX;
	for (uint32_t l = 0; l < reached_count; shown = reached[l++].index_count / 3) {
		if (!is_worth(c, &reached[l], all, shown))
			break;
		if (!emit(c, &reached[l], &levels[count]))
			return false;
		if (stated(c->distance) > c->limit) {
			*end = HOB_LOD_END_ERROR;
			break;
		}
		count++;
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
