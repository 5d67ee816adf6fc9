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
	memset(local, 0xFF, mesh->vertex_count * sizeof *local);
	hob_order_part(level->indices, level->index_count, mesh->position, mesh->vertex_count,
				   o->chain->options->encoded ? HOB_ORDER_SMALL : HOB_ORDER_BEST, local, &arena);
	hob_arena_release(&arena);
}

static float round_up(double x)
{
	return (float)(x * (1 + 1.0 / (1 << 22)));
}

/* Prepares the full mesh for measuring. */
static void prepare(chain_t *c)
{
	bool attributes = hob_lod_has_attributes(c->mesh);
	c->full = hob_lod_error_begin(c->mesh->position, c->mesh->vertex_count, c->first, c->indices,
								  c->index_count, attributes, &c->lasting);
	c->full.until = hob_lod_error_areas(&c->full, &(hob_lod_surface){c->full.surface, c->full.corner},
										c->mirror, &c->lasting);
	if (attributes)
		c->lost = HOB_NEW(&c->lasting, uint8_t, c->full.place_count);
	c->posed = hob_lod_poses_begin(&c->full, c->mesh, c->options->poses, &c->lasting);
}

/* Measures a level. */
static hob_lod_level emit(chain_t *c, const hob_simplify_level *reached)
{
	uint32_t one_side = reached->index_count, sides = c->mirror ? 2 : 1;
	hob_lod_level level = {.indices = HOB_NEW(c->arena, uint32_t, sides * (size_t)one_side)};
	hob_arena_mark mark = hob_arena_save(c->arena);
	memcpy(level.indices, reached->indices, one_side * sizeof *level.indices);
	level.index_count = c->mirror ? hob_sheets_unfold(c->mirror, level.indices, one_side) : one_side;
	hob_lod_surface surface = hob_lod_error_surface(&c->full, level.indices, one_side, c->arena);
	c->distance = hob_lod_error_measure(&c->full, &surface.surface, fmax(reached->mean, c->distance),
										reached->change, c->options->parallel);
	double farthest = c->distance;
	if (c->lost)
		hob_lod_points_measure(&c->full, &surface, c->mesh, &c->posed, c->mirror, c->lost, &c->distance,
							   &c->attributes);
	level.error = round_up(stated(c->distance));
	bool kept = stated(c->distance) <= c->limit;
	if (kept)
		c->mean = fmax(c->mean, hob_lod_error_mean(&c->full, &surface, c->mirror, farthest, c->arena));
	level.mean_error = (float)fmin(c->mean, farthest);
	level.attributes = c->attributes;
	hob_arena_restore(c->arena, mark);
	return level;
}

static void begin(chain_t *c, const hob_lod_level *level)
{
	const hob_mesh *mesh = c->mesh;
	uint32_t *indices = HOB_NEW(c->arena, uint32_t, level->index_count);
	c->index_count = level->index_count;
	c->indices = indices;
	c->first = HOB_NEW(c->arena, uint32_t, mesh->vertex_count);
	hob_order_by_place(level->indices, level->index_count, mesh->position, c->arena, indices);
	hob_weld_places(mesh->position, mesh->vertex_count, c->arena, c->first);
	c->shape = hob_lod_poses_shape(mesh, c->options->poses, c->first, c->indices, c->index_count, c->arena);
	c->size = (double)meshopt_simplifyScale(mesh->position, mesh->vertex_count, 12);
	c->limit = (double)c->options->error * (c->options->size > 0 ? c->options->size : c->size);
	c->mirror = hob_sheets_fold(mesh, c->first, indices, &c->index_count, c->arena);
}

/* Simplifies to all targets in one run.
 * reached  [HOB_MAX_LODS] */
static hob_simplify_end simplify(chain_t *c, uint32_t shown, hob_simplify_level *reached, uint32_t *count)
{
	const hob_mesh *mesh = c->mesh;
	uint32_t most = c->options->max - 1, least = HOB_LOD_SMALL / (c->mirror ? 2u : 1u), attribute_count;
	hob_arena passing;
	for (*count = 0; *count < most && shown > least; ++*count)
		reached[*count].target = shown = target_triangles(shown, c->options->ratio, least);
	hob_arena_init(&passing, c->arena->limit);
	float *attributes =
		hob_visible_attributes(mesh, c->indices, c->index_count, c->size, &passing, &attribute_count);
	hob_simplify_input input = {.positions = c->shape,
								.vertex_count = mesh->vertex_count,
								.first = c->first,
								.attributes = attributes,
								.attribute_count = attribute_count,
								.uv = {mesh->uv[0], mesh->uv[1]},
								.locked = c->options->locked,
								.lock_border = c->options->lock_border,
								.indices = c->indices,
								.index_count = c->index_count,
								.limit = c->limit,
								.turn = c->size * (mesh->normal ? HOB_VISIBLE_TURN : HOB_VISIBLE_TURN_FLAT),
								.parallel = c->options->parallel};
	hob_simplify_end end = hob_simplify(&input, reached, count, c->arena);
	hob_arena_release(&passing);
	return end;
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

static hob_lod_end build(chain_t *c, hob_lod_level *levels, uint32_t *level_count)
{
	hob_simplify_level reached[HOB_MAX_LODS];
	uint32_t count = 1, reached_count;
	begin(c, &levels[0]);
	uint32_t all = hob_weld_triangles(c->indices, c->index_count, c->first, NULL, NULL) / 3, shown = all;
	hob_simplify_end stopped = simplify(c, shown, reached, &reached_count);
	if (reached_count > 0)
		prepare(c);
	hob_lod_end end = stopped != HOB_SIMPLIFY_DONE			? end_of(stopped)
					  : reached_count + 1 < c->options->max ? HOB_LOD_END_SMALL
															: HOB_LOD_END_MAX;
	for (uint32_t l = 0; l < reached_count; shown = reached[l++].index_count / 3) {
		if (!is_worth(c, &reached[l], all, shown))
			break;
		levels[count] = emit(c, &reached[l]);
		if (stated(c->distance) > c->limit) {
			end = HOB_LOD_END_ERROR;
			break;
		}
		count++;
	}
	*level_count = count;
	ordering_t ordering = {.chain = c, .levels = levels + 1};
	hob_parallel_for(c->options->parallel, count - 1, order_level, &ordering);
	return end;
}

hob_lod_end hob_lods_build(const hob_mesh *mesh, const hob_lod_options *options, hob_lod_level *levels,
						   uint32_t *level_count, hob_arena *arena)
{
	assert(*level_count == 1 && levels[0].index_count % 3 == 0);
	if (options->max < 2)
		return HOB_LOD_END_MAX;
	if (levels[0].index_count / 3 <= HOB_LOD_SMALL)
		return HOB_LOD_END_SMALL;
	chain_t c = {.mesh = mesh, .options = options, .arena = arena};
	hob_arena_init(&c.lasting, arena->limit);
	hob_lod_end end = build(&c, levels, level_count);
	hob_arena_release(&c.lasting);
	return end;
}
