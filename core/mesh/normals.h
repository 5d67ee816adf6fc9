/* normals.h - makes normals for meshes without them, and checks given ones. */
#ifndef HOB_NORMALS_H
#define HOB_NORMALS_H

#include "../base/base.h"

/* One unit normal per triangle, counter-clockwise side; +Y for triangles without area.
 *
 * position      [][3] f32, finite
 * indices       [3 * triangle_count]
 * normal        [triangle_count][3] out */
void hob_normals_flat(const float *position, const uint32_t *indices, uint32_t triangle_count, float *normal);

/* One unit normal per vertex: the sum of the normals of all triangles that touch its position, each weighted
 * by its angle there, so that the way a flat polygon was cut into triangles does not show. Vertices at the
 * same position get the same normal. +Y where nothing with area touches.
 *
 * indices       [index_count], each < vertex_count
 * group         [vertex_count] number of the vertex's position, < vertex_count: hob_weld over position alone
 * normal        [vertex_count][3] out
 * scratch       [vertex_count][3] f64
 * Source        Thuermer and Wuethrich 1998, Computing vertex normals from polygonal facets. */
void hob_normals_smooth(const float *position, uint32_t vertex_count, const uint32_t *indices,
						uint32_t index_count, const uint32_t *group, float *normal, double *scratch);

/* One unit normal per corner: as hob_normals_smooth, but summed only over triangles that are connected around
 * the position by edges where the cosine between the faces' normals is at least `cosine`. A triangle without
 * area joins nothing; its corners get +Y.
 *
 * normal        [index_count][3] out
 * scratch       restored; 100 bytes a corner
 * Cost          O(index_count log(triangles around a position)) */
void hob_normals_creased(const float *position, uint32_t vertex_count, const uint32_t *indices,
						 uint32_t index_count, const uint32_t *group, double cosine, float *normal,
						 hob_arena *scratch);

/* False if the normal is shorter than 0.5, longer than 2 or not a number, and so unusable. */
bool hob_normal_usable(const float *normal);

#endif
