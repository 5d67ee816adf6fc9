/* skin_poses.h - the poses of a model's own clips that bend its skinned meshes most. */
#ifndef HOB_SKIN_POSES_H
#define HOB_SKIN_POSES_H

#include "clip_bounds.h"

#include "../model/baked.h"

enum { HOB_SKIN_POSES = 8, HOB_SKIN_INSTANTS = 128 };

/* Where the joints of all skinned meshes are at an instant. */
typedef struct hob_skin_instant {
	const hob_clip *clip; /* NULL: the rest pose */
	float time;
	float *global; /* [boxes.node_count][16]; NULL: no mesh is asked there */
} hob_skin_instant;

/* Shared source of the poses of all meshes; read-only afterwards, so that threads can share it. */
typedef struct hob_skin_poses {
	const hob_model *model;
	hob_skin_boxes boxes;
	uint32_t *first_use,
		*next_use; /* by mesh of the model; by mesh of the boxes: the next with the same one */
	uint32_t instant_count;
	hob_skin_instant *instants;
} hob_skin_poses;

/* Gathers the instants: the rest pose, and HOB_SKIN_INSTANTS of its clips, each clip with as many, evenly
 * spread from its first key to its last. Of more clips than that, some are left out. A skeleton of more than
 * 1,000 nodes has fewer instants, 8 at least.
 *
 * scratch   has all memory; the model and it must stay while `out` is used
 * Errors    MEMORY
 * Cost      O(vertices * influences + instants * (channels * log keys + nodes)), and about 8 MiB for 1,000
 *           nodes */
bool hob_skin_poses_begin(const hob_model *model, hob_arena *scratch, hob_skin_poses *out,
						  hob_error *err) HOB_MUST_CHECK;

/* Chooses poses for a skinned mesh of triangles.
 *
 * At each instant it is asked of up to 64 triangles, those that joints bend before all others, how far apart
 * their joints carry them and how much they grow. Chosen is what raises the sum of the largest answers most,
 * up to HOB_SKIN_POSES times and while it raises it at all. Small meshes are asked at fewer instants. Where
 * several nodes have the mesh, they share the instants.
 *
 * Matrices are divided by how large the skin draws the mesh at rest, so that lengths are those of the mesh's
 * space: a renderer knows that size, and not what a clip makes of it.
 *
 * mesh      of the model
 * out       count 0: not skinned, or nothing bends it
 * arena     has the poses, and what is needed to choose them
 * Errors    MEMORY
 * Cost      O(triangles * influences + instants * (joints that move the mesh + 64 triangles)) */
bool hob_skin_poses_choose(const hob_skin_poses *from, uint32_t mesh, hob_arena *arena, hob_mesh_poses *out,
						   hob_error *err) HOB_MUST_CHECK;

#endif
