/* mesh_cut.h - cuts a large mesh into chunks. */
#ifndef HOB_MESH_CUT_H
#define HOB_MESH_CUT_H

#include "../base/base.h"

enum { HOB_MESH_MAX_CHUNKS = 250 };

/* Cuts by position: chunks are runs of cells along the Morton curve with about as many triangles each.
 *
 * positions    [vertex_count][3] finite
 * indices      [index_count], a multiple of 3
 * count        1..HOB_MESH_MAX_CHUNKS
 * scratch      restored; 8 MB
 * of           [index_count / 3] out: the chunk of each triangle, below `count`; some may have none
 * Cost         about 10 ns a triangle. */
void hob_mesh_cut(const float *positions, uint32_t vertex_count, const uint32_t *indices,
				  uint32_t index_count, uint32_t count, hob_arena *scratch, uint8_t *of);

#endif
