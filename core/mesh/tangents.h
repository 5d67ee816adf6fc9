/* tangents.h - tangent frames like those of MikkTSpace, so that normal maps baked in the usual tools look
 * right. */
#ifndef HOB_TANGENTS_H
#define HOB_TANGENTS_H

#include "../base/base.h"

/* Computes one tangent per corner of a triangle list.
 *
 * Averages corners that share position, normal and texture coordinate, are connected over edges and agree in
 * the orientation of their mapping; each triangle's direction counts with its angle at the vertex. Triangles
 * without mapped area join whichever group touches them; triangles with two equal positions borrow a tangent
 * from a neighbour. Where MikkTSpace falls back to a fixed axis, this gives a unit vector at right angles to
 * the normal.
 *
 * position, normal  [vertex_count][3]; normals of unit length
 * uv                [vertex_count][2], (0,0) is the upper left corner
 * indices           [index_count], a multiple of 3, each < vertex_count
 * group             [vertex_count] hob_weld over position, normal and uv: equal numbers for equal vertices
 * tangent           [index_count][4] out: unit xyz, and w = +1 or -1 with bitangent = w * cross(normal, xyz).
 *                   w is that of glTF: the bitangent points to the upper edge of the picture (MikkTSpace on
 *                   these coordinates would give -w).
 * scratch           restored; 45 bytes a corner
 * Cost              O(vertex_count + index_count).
 * Source            Mikkelsen 2008, Simulation of Wrinkled Surfaces Revisited; the grouping rules of his
 *                   reference implementation for triangles and its default threshold of 180 degrees. */
void hob_tangents(const float *position, const float *normal, const float *uv, uint32_t vertex_count,
				  const uint32_t *indices, uint32_t index_count, const uint32_t *group, float *tangent,
				  hob_arena *scratch);

#endif
