/* split.h - gives corners of one vertex that have different values vertices of their own. */
#ifndef HOB_SPLIT_H
#define HOB_SPLIT_H

#include "../base/base.h"

/* Turns values per corner (flat normals, tangents of mirrored charts) into values per vertex. A vertex keeps
 * the value of its first corner; each further value, compared bit by bit, gets a new vertex after the old
 * ones.
 *
 * indices           [index_count] in and out
 * corners_per_value 1: each corner has a value; 3: each triangle has one
 * values            [index_count / corners_per_value][width] f32
 * from              [vertex_count + index_count] out: from[new] is the old vertex to copy the rest from
 * vertex_values     [vertex_count + index_count][width] out; vertices without a corner get zeros
 * scratch           restored; 6 to 12 bytes a corner
 * Returns           number of vertices, at least vertex_count, at most vertex_count + index_count
 * Cost              O(index_count) expected. */
uint32_t hob_split(uint32_t *indices, uint32_t index_count, uint32_t vertex_count, uint32_t corners_per_value,
				   const float *values, uint32_t width, uint32_t *from, float *vertex_values,
				   hob_arena *scratch);

#endif
