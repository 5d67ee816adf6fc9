/* visible.h - scales attributes to lengths, so that a simplifier can weigh them against distances. */
#ifndef HOB_VISIBLE_H
#define HOB_VISIBLE_H

#include "../model/model.h"

/* Scales attributes so that a difference shows about as much as a surface that is off by that length.
 *
 *   normals   a unit is HOB_VISIBLE_NORMAL of the size
 *   colours   a unit is HOB_VISIBLE_COLOR of the size
 *   uv        the texture slides: a unit is as long as it is on the surface, on average over the mesh, but no
 *             longer than the size: a patch of a palette or an atlas is not farther off than the whole mesh
 * Joint weights are not among them: poses say what they do (lod_poses.h).
 *
 * indices      [index_count] triangles of the mesh
 * size         of the mesh: its longest side
 * out          [vertex_count][*count] in `arena`; NULL when there are none
 * Errors       MEMORY. */
bool hob_visible_attributes(const hob_mesh *mesh, const uint32_t *indices, uint32_t index_count, double size,
							hob_arena *arena, float **out, uint32_t *count, hob_error *err) HOB_MUST_CHECK;

#define HOB_VISIBLE_NORMAL 0.005
#define HOB_VISIBLE_COLOR  0.02

#endif
