/* visible.h - scales attributes to lengths, so that a simplifier can weigh them against distances. */
#ifndef HOB_VISIBLE_H
#define HOB_VISIBLE_H

#include "../model/model.h"

/* Scales attributes so that a difference is about as visible as a surface that is off by that length.
 *
 *   normals   a unit is HOB_VISIBLE_NORMAL of the size
 *   colours   a unit is HOB_VISIBLE_COLOR of the size
 *   uv        a unit is its mean length on the surface, by which the texture slides, but at most the size, as
 *             with a palette or an atlas
 * Joint weights are left out: lod_points.h measures their effect.
 *
 * indices      [index_count] triangles of the mesh
 * size         of the mesh: its longest side
 * Returns      [vertex_count][*count] in `arena`; NULL when there are none */
float *hob_visible_attributes(const hob_mesh *mesh, const uint32_t *indices, uint32_t index_count,
							  double size, hob_arena *arena, uint32_t *count);

#define HOB_VISIBLE_NORMAL 0.025
#define HOB_VISIBLE_COLOR  0.02
/* Normals of triangles, where vertices have normals of their own and where they have none. */
#define HOB_VISIBLE_TURN	  0.01
#define HOB_VISIBLE_TURN_FLAT 0.025

#endif
