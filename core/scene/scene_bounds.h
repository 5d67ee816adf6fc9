/* scene_bounds.h - world bounds of the meshes of a flattened scene. */
#ifndef HOB_SCENE_BOUNDS_H
#define HOB_SCENE_BOUNDS_H

#include "../model/baked.h"

/* Fills scene->aabb [node_count][6], already allocated, from hierarchy, global and mesh links; flatten.h
 * defines the boxes. `meshes` may be NULL. */
void hob_scene_bounds(const hob_model *model, const hob_baked_mesh *meshes, hob_baked_scene *scene,
					  hob_arena *scratch);

/* The axis-aligned box around a box under a matrix, computed in double and rounded outwards by an ulp or so.
 * Source: Arvo 1990, Transforming axis-aligned bounding boxes. An empty box (min > max) stays empty. */
void hob_box_transform(const float box[6], const float matrix[16], float out[6]);

#endif
