#include "lods.h"
#include "triangle_order.h"
#include "vec3.h"
#include "weld.h"

#include <assert.h>
#include <meshoptimizer.h>

enum { PIECE_TRIANGLES = 16 };

/* What hangs together by position in level 0, and how much area it had. */
typedef struct pieces {
	uint32_t *of; /* [vertex_count] piece of a vertex */
	uint32_t count;
	double *area, *left; /* [count] in level 0; in the level under test */
	uint32_t *triangles; /* [count] in the level under test */
	double total;
} pieces_t;

static uint32_t find_root(uint32_t *parent, uint32_t v)
{
	while (parent[v] != v) {
		parent[v] = parent[parent[v]];
		v = parent[v];
	}
	return v;
}

/* The smaller number becomes the root, so that pieces are numbered in the order of their first vertex. */
static void unite(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = find_root(parent, a), b = find_root(parent, b);
	if (a < b)
		parent[b] = a;
	else
		parent[a] = b;
}

static double triangle_area(const float *positions, const uint32_t *corner)
{
	hob_vec3 p = hob_vec3_load(positions + 3 * (size_t)corner[0]);
	hob_vec3 e = hob_vec3_sub(hob_vec3_load(positions + 3 * (size_t)corner[1]), p);
	hob_vec3 f = hob_vec3_sub(hob_vec3_load(positions + 3 * (size_t)corner[2]), p);
	return hob_vec3_length(hob_vec3_cross(e, f)) / 2;
}

static bool find_pieces(const float *positions, uint32_t vertex_count, const hob_lod_level *level,
						pieces_t *out, hob_arena *scratch, hob_error *err)
{
	uint32_t *piece = HOB_NEW(scratch, uint32_t, vertex_count),
			 *from = HOB_NEW(scratch, uint32_t, vertex_count);
	void *memory = hob_arena_alloc(scratch, hob_weld_scratch_size(vertex_count), 8);
	if (!piece || !from || !memory)
		return hob_fail_memory(err, scratch, "connected pieces");
	hob_vertex_array place = {positions, 12, true};
	uint32_t place_count = hob_weld(&place, 1, vertex_count, NULL, 0, piece, from, memory);
	uint32_t *parent = from;
	for (uint32_t i = 0; i < place_count; i++)
		parent[i] = i;
	for (uint32_t i = 0; i < level->index_count; i += 3) {
		const uint32_t *corner = level->indices + i;
		unite(parent, piece[corner[0]], piece[corner[1]]);
		unite(parent, piece[corner[0]], piece[corner[2]]);
	}
	uint32_t *number = memory, count = 0;
	for (uint32_t i = 0; i < place_count; i++)
		number[i] = find_root(parent, i) == i ? count++ : number[find_root(parent, i)];
	for (uint32_t v = 0; v < vertex_count; v++)
		piece[v] = number[piece[v]];
	*out = (pieces_t){.of = piece,
					  .count = count,
					  .area = HOB_NEW(scratch, double, count),
					  .left = HOB_NEW(scratch, double, count),
					  .triangles = HOB_NEW(scratch, uint32_t, count)};
	if (!out->area || !out->left || !out->triangles)
		return hob_fail_memory(err, scratch, "connected pieces");
	for (uint32_t i = 0; i < level->index_count; i += 3) {
		double area = triangle_area(positions, level->indices + i);
		out->area[piece[level->indices[i]]] += area;
		out->total += area;
	}
	return true;
}

static bool destroys_pieces(pieces_t *pieces, const float *positions, const uint32_t *indices,
							uint32_t index_count)
{
	for (uint32_t p = 0; p < pieces->count; p++)
		pieces->left[p] = 0, pieces->triangles[p] = 0;
	for (uint32_t i = 0; i < index_count; i += 3) {
		uint32_t p = pieces->of[indices[i]];
		pieces->left[p] += triangle_area(positions, indices + i);
		pieces->triangles[p]++;
	}
	double lost = 0;
	for (uint32_t p = 0; p < pieces->count; p++)
		if (pieces->triangles[p] <= PIECE_TRIANGLES && pieces->left[p] < 0.6 * pieces->area[p])
			lost += pieces->area[p];
	return lost > 0.05 * pieces->total;
}

/* The part of the mesh that one level uses, numbered by first use. */
typedef struct part {
	uint32_t *indices; /* [index_count] into the part's vertices */
	uint32_t *vertex;  /* [vertex_count] of the mesh */
	float *positions;
	uint32_t vertex_count;
} part_t;

static bool take_part(const float *positions, uint32_t vertex_count, const hob_lod_level *level, part_t *out,
					  hob_arena *scratch, hob_error *err)
{
	uint32_t *local = HOB_NEW(scratch, uint32_t, vertex_count);
	part_t part = {.indices = HOB_NEW(scratch, uint32_t, level->index_count),
				   .vertex = HOB_NEW(scratch, uint32_t, vertex_count)};
	if (!local || !part.indices || !part.vertex)
		return hob_fail_memory(err, scratch, "a level of detail");
	memset(local, 0xFF, vertex_count * sizeof *local);
	for (uint32_t i = 0; i < level->index_count; i++) {
		uint32_t v = level->indices[i];
		if (local[v] == HOB_NONE) {
			local[v] = part.vertex_count;
			part.vertex[part.vertex_count++] = v;
		}
		part.indices[i] = local[v];
	}
	part.positions = HOB_NEW(scratch, float, 3 * (size_t)part.vertex_count);
	if (!part.positions)
		return hob_fail_memory(err, scratch, "a level of detail");
	for (size_t v = 0; v < part.vertex_count; v++)
		memcpy(part.positions + 3 * v, positions + 3 * (size_t)part.vertex[v], 12);
	*out = part;
	return true;
}

static uint32_t target_triangles(uint32_t triangles, float ratio)
{
	uint64_t fraction = (uint64_t)((double)ratio * 65536 + 0.5);
	uint32_t target = (uint32_t)(triangles * fraction >> 16);
	return target > HOB_LOD_SMALL ? target : HOB_LOD_SMALL;
}

/* Makes the level behind `fine` in out->indices, which has room for fine->index_count. *end says whether
 * there is one: HOB_LOD_END_MAX means there is. */
static bool coarsen(const float *positions, uint32_t vertex_count, const hob_lod_options *options,
					double limit, const hob_lod_level *fine, pieces_t *pieces, hob_lod_level *out,
					hob_lod_end *end, hob_arena *scratch, hob_error *err)
{
	part_t part = {0};
	if (!take_part(positions, vertex_count, fine, &part, scratch, err))
		return false;
	double scale = (double)meshopt_simplifyScale(part.positions, part.vertex_count, 12);
	double room = limit - (double)fine->error;
	*end = HOB_LOD_END_ERROR;
	if (!(scale > 0) || !(room >= 0))
		return true;
	uint32_t target = target_triangles(fine->index_count / 3, options->ratio);
	float error = 0;
	size_t count = meshopt_simplify(out->indices, part.indices, fine->index_count, part.positions,
									part.vertex_count, 12, 3 * (size_t)target, (float)(room / scale),
									options->lock_border ? meshopt_SimplifyLockBorder : 0, &error);
	if (count * 100 > (size_t)fine->index_count * 85 || count == 0) {
		*end = (double)error * scale > 0.5 * room ? HOB_LOD_END_ERROR : HOB_LOD_END_STUCK;
		return true;
	}
	out->index_count = (uint32_t)count;
	out->error = (float)((double)fine->error + (double)error * scale);
	hob_order_triangles(out->indices, out->index_count, part.positions, part.vertex_count, HOB_ORDER_BEST);
	for (size_t i = 0; i < count; i++)
		out->indices[i] = part.vertex[out->indices[i]];
	bool destroyed = destroys_pieces(pieces, positions, out->indices, out->index_count);
	*end = destroyed ? HOB_LOD_END_PIECES : HOB_LOD_END_MAX;
	return true;
}

bool hob_lods_build(const float *positions, uint32_t vertex_count, const hob_lod_options *options,
					hob_lod_level *levels, uint32_t *level_count, hob_lod_end *end, hob_arena *arena,
					hob_error *err)
{
	assert(*level_count == 1 && levels[0].index_count % 3 == 0);
	*end = HOB_LOD_END_MAX;
	if (options->max < 2)
		return true;
	pieces_t pieces = {0};
	if (!find_pieces(positions, vertex_count, &levels[0], &pieces, arena, err))
		return false;
	double limit = (double)options->error * (double)meshopt_simplifyScale(positions, vertex_count, 12);
	uint32_t count = 1;
	for (; count < options->max; count++) {
		const hob_lod_level *fine = &levels[count - 1];
		if (fine->index_count / 3 <= HOB_LOD_SMALL) {
			*end = HOB_LOD_END_SMALL;
			break;
		}
		levels[count] = (hob_lod_level){.indices = HOB_NEW(arena, uint32_t, fine->index_count)};
		if (!levels[count].indices)
			return hob_fail_memory(err, arena, "a level of detail");
		hob_arena_mark mark = hob_arena_save(arena);
		bool ok =
			coarsen(positions, vertex_count, options, limit, fine, &pieces, &levels[count], end, arena, err);
		hob_arena_restore(arena, mark);
		if (!ok)
			return false;
		if (*end != HOB_LOD_END_MAX)
			break;
	}
	*level_count = count;
	return true;
}
