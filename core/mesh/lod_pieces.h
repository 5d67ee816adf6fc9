/* lod_pieces.h - tells when simplification begins to eat whole parts of a mesh. */
#ifndef HOB_LOD_PIECES_H
#define HOB_LOD_PIECES_H

#include "../base/base.h"

/* A piece is what hangs together by position. */
typedef struct hob_lod_pieces {
	uint32_t *of; /* [vertex_count] piece of a vertex */
	uint32_t count;
	double *area, *left; /* [count] of the full mesh; of the level under test */
	uint32_t *triangles; /* [count] of the level under test */
	double total;
} hob_lod_pieces;

/* first    [vertex_count] the first vertex at the same place
 * Memory comes from `arena` and stays. Errors: MEMORY. Cost O(vertices + triangles). */
bool hob_lod_pieces_find(const float *positions, uint32_t vertex_count, const uint32_t *first,
						 const uint32_t *indices, uint32_t index_count, hob_arena *arena, hob_lod_pieces *out,
						 hob_error *err) HOB_MUST_CHECK;

/* True when more than 5 % of the mesh's area belongs to pieces that the level has destroyed: 16 triangles or
 * fewer left, and less than 60 % of the area. (Larger pieces may lose area by being smoothed.) */
bool hob_lod_pieces_destroyed(hob_lod_pieces *pieces, const float *positions, const uint32_t *indices,
							  uint32_t index_count);

#endif
