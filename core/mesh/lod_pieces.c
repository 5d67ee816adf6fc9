#include "lod_pieces.h"
#include "vec3.h"

enum { DESTROYED_TRIANGLES = 16 };

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

bool hob_lod_pieces_find(const float *positions, uint32_t vertex_count, const uint32_t *first,
						 const uint32_t *indices, uint32_t index_count, hob_arena *arena, hob_lod_pieces *out,
						 hob_error *err)
{
	uint32_t *piece = HOB_NEW(arena, uint32_t, vertex_count), count = 0;
	hob_arena_mark mark = hob_arena_save(arena);
	uint32_t *parent = HOB_NEW(arena, uint32_t, vertex_count);
	if (!piece || !parent)
		return hob_fail_memory(err, arena, "connected pieces");
	for (uint32_t v = 0; v < vertex_count; v++)
		parent[v] = first[v];
	for (uint32_t i = 0; i < index_count; i += 3) {
		unite(parent, indices[i], indices[i + 1]);
		unite(parent, indices[i], indices[i + 2]);
	}
	for (uint32_t v = 0; v < vertex_count; v++) {
		uint32_t root = find_root(parent, v);
		piece[v] = root == v ? count++ : piece[root];
	}
	hob_arena_restore(arena, mark);
	hob_lod_pieces pieces = {.of = piece,
							 .count = count,
							 .area = HOB_NEW(arena, double, count),
							 .left = HOB_NEW(arena, double, count),
							 .triangles = HOB_NEW(arena, uint32_t, count)};
	if (!pieces.area || !pieces.left || !pieces.triangles)
		return hob_fail_memory(err, arena, "connected pieces");
	for (uint32_t i = 0; i < index_count; i += 3) {
		double area = triangle_area(positions, indices + i);
		pieces.area[piece[indices[i]]] += area;
		pieces.total += area;
	}
	*out = pieces;
	return true;
}

bool hob_lod_pieces_destroyed(hob_lod_pieces *pieces, const float *positions, const uint32_t *indices,
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
		if (pieces->triangles[p] <= DESTROYED_TRIANGLES && pieces->left[p] < 0.6 * pieces->area[p])
			lost += pieces->area[p];
	return lost > 0.05 * pieces->total;
}
