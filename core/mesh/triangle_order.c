#include "triangle_order.h"
#include "mesh_bounds.h"
#include "mesh_cut.h"
#include "meshopt_shim.h"
#include "vec3.h"

#include <assert.h>
#include <float.h>

enum { FIFO_SIZE = 16 };
static const float overdraw_threshold = 1.05f;

void hob_order_triangles(uint32_t *indices, uint32_t index_count, const float *positions,
						 uint32_t vertex_count, hob_order_effort effort)
{
	if (index_count == 0)
		return;
	if (effort == HOB_ORDER_SMALL)
		hob_meshopt_order_strip(indices, index_count, vertex_count);
	else
		hob_meshopt_order_fifo(indices, index_count, vertex_count, FIFO_SIZE);
	if (effort == HOB_ORDER_BEST)
		hob_meshopt_order_overdraw(indices, index_count, positions, vertex_count, overdraw_threshold);
}

void hob_order_part(uint32_t *indices, uint32_t index_count, const float *positions, uint32_t vertex_count,
					hob_order_effort effort, uint32_t *local, hob_arena *scratch)
{
	uint32_t count = 0, bound = index_count < vertex_count ? index_count : vertex_count;
	uint32_t *from = HOB_NEW(scratch, uint32_t, bound);
	for (uint32_t i = 0; i < index_count; i++) {
		uint32_t v = indices[i];
		if (local[v] == HOB_NONE)
			from[count] = v, local[v] = count++;
		indices[i] = local[v];
	}
	float *own = HOB_NEW(scratch, float, 3 * (size_t)count);
	for (uint32_t v = 0; v < count; v++) {
		local[from[v]] = HOB_NONE;
		memcpy(own + 3 * (size_t)v, positions + 3 * (size_t)from[v], 12);
	}
	hob_order_triangles(indices, index_count, own, count, effort);
	for (uint32_t i = 0; i < index_count; i++)
		indices[i] = from[indices[i]];
}

/* Collects the triangles of each chunk in order; `first` [HOB_MESH_MAX_CHUNKS + 1] is filled. */
static void gather_chunks(uint32_t *indices, uint32_t index_count, const float *positions,
						  uint32_t vertex_count, uint32_t chunks, hob_arena *scratch, uint32_t *first)
{
	uint32_t triangles = index_count / 3, next[HOB_MESH_MAX_CHUNKS] = {0};
	uint8_t *of = HOB_NEW(scratch, uint8_t, triangles);
	uint32_t *gathered = HOB_NEW(scratch, uint32_t, index_count);
	hob_mesh_cut(positions, vertex_count, indices, index_count, chunks, scratch, of);
	for (uint32_t t = 0; t < triangles; t++)
		next[of[t]]++;
	first[0] = 0;
	for (uint32_t c = 0; c < chunks; c++) {
		first[c + 1] = first[c] + next[c];
		next[c] = first[c];
	}
	for (size_t t = 0; t < triangles; t++)
		memcpy(gathered + 3 * (size_t)next[of[t]]++, indices + 3 * t, 12);
	memcpy(indices, gathered, index_count * sizeof *indices);
}

void hob_order_in_chunks(uint32_t *indices, uint32_t index_count, const float *positions,
						 uint32_t vertex_count, hob_order_effort effort, uint32_t chunk, hob_arena *scratch)
{
	uint32_t triangles = index_count / 3, chunks = triangles / chunk + 1, first[HOB_MESH_MAX_CHUNKS + 1];
	if (triangles / 2 <= chunk) {
		hob_order_triangles(indices, index_count, positions, vertex_count, effort);
		return;
	}
	chunks = chunks < HOB_MESH_MAX_CHUNKS ? chunks : HOB_MESH_MAX_CHUNKS;
	hob_arena_mark mark = hob_arena_save(scratch);
	gather_chunks(indices, index_count, positions, vertex_count, chunks, scratch, first);
	hob_arena_restore(scratch, mark);
	uint32_t *local = HOB_NEW(scratch, uint32_t, vertex_count);
	memset(local, 0xFF, vertex_count * sizeof *local);
	for (uint32_t c = 0; c < chunks; c++) {
		hob_arena_mark own = hob_arena_save(scratch);
		hob_order_part(indices + 3 * (size_t)first[c], 3 * (first[c + 1] - first[c]), positions, vertex_count,
					   effort, local, scratch);
		hob_arena_restore(scratch, own);
	}
	hob_arena_restore(scratch, mark);
}

typedef struct keyed {
	uint32_t key, triangle;
} keyed_t;

static void key_triangles(const uint32_t *indices, uint32_t count, const float *positions, keyed_t *out)
{
	float low[3] = {FLT_MAX, FLT_MAX, FLT_MAX}, high[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
	double side[3], scale[3];
	for (size_t i = 0; i < 3 * (size_t)count; i++)
		for (size_t k = 0; k < 3; k++) {
			float x = positions[3 * (size_t)indices[i] + k];
			low[k] = x < low[k] ? x : low[k];
			high[k] = x > high[k] ? x : high[k];
		}
	hob_bounds_sides(low, high, side);
	for (int k = 0; k < 3; k++)
		scale[k] = side[k] > 0 ? 1023 / (3 * side[k]) : 0;
	for (uint32_t t = 0; t < count; t++) {
		const uint32_t *corner = indices + 3 * (size_t)t;
		uint32_t key = 0;
		for (size_t k = 0; k < 3; k++) {
			double sum = 0;
			for (int c = 0; c < 3; c++)
				sum += (double)positions[3 * (size_t)corner[c] + k] - (double)low[k];
			key |= hob_spread_bits((uint32_t)(sum * scale[k])) << k;
		}
		out[t] = (keyed_t){key, t};
	}
}

/* Radix sort in three passes of ten bits, which alternate between the two arrays. Returns the array that has
 * the result. */
static keyed_t *sort_keys(keyed_t *keys, keyed_t *other, uint32_t count)
{
	for (uint32_t shift = 0; shift < 30; shift += 10) {
		uint32_t first[1025] = {0};
		for (uint32_t i = 0; i < count; i++)
			first[(keys[i].key >> shift & 1023) + 1]++;
		for (uint32_t d = 0; d < 1024; d++)
			first[d + 1] += first[d];
		for (uint32_t i = 0; i < count; i++)
			other[first[keys[i].key >> shift & 1023]++] = keys[i];
		keyed_t *swap = keys;
		keys = other, other = swap;
	}
	return keys;
}

void hob_order_by_place(const uint32_t *indices, uint32_t index_count, const float *positions,
						hob_arena *scratch, uint32_t *out)
{
	uint32_t count = index_count / 3;
	hob_arena_mark mark = hob_arena_save(scratch);
	keyed_t *keys = HOB_NEW(scratch, keyed_t, count), *other = HOB_NEW(scratch, keyed_t, count);
	key_triangles(indices, count, positions, keys);
	keys = sort_keys(keys, other, count);
	for (uint32_t t = 0; t < count; t++)
		memcpy(out + 3 * (size_t)t, indices + 3 * (size_t)keys[t].triangle, 12);
	hob_arena_restore(scratch, mark);
}

uint32_t hob_order_vertices(uint32_t *const *levels, const uint32_t *counts, uint32_t level_count,
							uint32_t vertex_count, uint32_t *remap, uint32_t *order, uint32_t *prefixes)
{
	memset(remap, 0xFF, vertex_count * sizeof *remap);
	uint32_t used = 0;
	for (uint32_t l = level_count; l-- > 0;) {
		for (uint32_t i = 0; i < counts[l]; i++) {
			uint32_t v = levels[l][i];
			assert(v < vertex_count);
			if (remap[v] == HOB_NONE) {
				remap[v] = used;
				order[used++] = v;
			}
			levels[l][i] = remap[v];
		}
		prefixes[l] = used;
	}
	return used;
}
