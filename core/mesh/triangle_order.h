/* triangle_order.h - the order of triangles for the GPU's vertex cache and depth test, and the order of
 * vertices for its memory. */
#ifndef HOB_TRIANGLE_ORDER_H
#define HOB_TRIANGLE_ORDER_H

#include "../base/base.h"

typedef enum hob_order_effort {
	HOB_ORDER_FAST,	 /* cache order only; README.md compares it with a slower one */
	HOB_ORDER_BEST,	 /* cache order, then against overdraw, at a cost of up to 5 % in cache misses */
	HOB_ORDER_SMALL, /* cache order in strips, which makes encoded files a third smaller */
} hob_order_effort;

/* Reorders whole triangles in place.
 *
 * indices      [index_count], a multiple of 3, each < vertex_count
 * positions    [vertex_count][3]
 * Cost         linear: about 45 ns a triangle for the cache, as much again against overdraw.
 * Memory       meshoptimizer allocates about 30 bytes per index meanwhile.
 * Source       Sander, Nehab and Barczak 2007 (Tipsify), in meshopt_optimizeVertexCacheFifo. */
void hob_order_triangles(uint32_t *indices, uint32_t index_count, const float *positions,
						 uint32_t vertex_count, hob_order_effort effort);

/* hob_order_triangles for a part of a mesh, in the memory of that part.
 *
 * local        [vertex_count] HOB_NONE before and after
 * scratch      16 bytes a vertex of the part stay in it */
void hob_order_part(uint32_t *indices, uint32_t index_count, const float *positions, uint32_t vertex_count,
					hob_order_effort effort, uint32_t *local, hob_arena *scratch);

/* hob_order_triangles chunk by chunk (mesh_cut.h), so that memory is that of a chunk.
 *
 * chunk        triangles of a chunk, roughly; a mesh of at most two chunks is ordered as a whole
 * scratch      restored; 13 bytes a triangle and 4 a vertex
 * Cost         20 ns a triangle more. */
void hob_order_in_chunks(uint32_t *indices, uint32_t index_count, const float *positions,
						 uint32_t vertex_count, hob_order_effort effort, uint32_t chunk, hob_arena *scratch);

/* Writes the triangles in Morton order of their centres: neighbours in space are mostly neighbours in memory.
 *
 * indices      [index_count], a multiple of 3
 * out          [index_count] is not `indices`
 * scratch      restored; 16 bytes a triangle
 * Cost         about 40 ns a triangle. */
void hob_order_by_place(const uint32_t *indices, uint32_t index_count, const float *positions,
						hob_arena *scratch, uint32_t *out);

/* Numbers vertices by first use, coarsest level first, so that every level needs only a prefix of the
 * vertices.
 *
 * levels       [level_count] index lists, finest first; rewritten to the new numbers
 * counts       [level_count] their lengths
 * remap        [vertex_count] scratch
 * order        [vertex_count] out: order[new] = old; vertices that no level uses are left out
 * prefixes     [level_count] out: vertices [0, prefixes[l]) suffice for level l and all coarser ones
 * Returns      number of vertices in use. */
uint32_t hob_order_vertices(uint32_t *const *levels, const uint32_t *counts, uint32_t level_count,
							uint32_t vertex_count, uint32_t *remap, uint32_t *order, uint32_t *prefixes);

#endif
