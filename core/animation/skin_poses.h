/* skin_poses.h - selects the poses of a model's own clips that bend its skinned meshes most. */
#ifndef HOB_SKIN_POSES_H
#define HOB_SKIN_POSES_H

#include "clip_bounds.h"

#include "../model/baked.h"

enum { HOB_SKIN_POSES = 8, HOB_SKIN_INSTANTS = 128 };

/* Joint transforms of all skinned meshes at an instant. */
typedef struct hob_skin_instant {
	const hob_clip *clip; /* NULL: the rest pose */
	float time;
	float *global; /* [boxes.node_count][16]; NULL: not sampled */
} hob_skin_instant;

/* Instants for the poses of all meshes; read-only, so threads can share it. */
typedef struct hob_skin_poses {
	const hob_model *model;
	hob_skin_boxes boxes;
	/* chains of the uses of each mesh of the model: the first, and the next after each mesh of the boxes */
	uint32_t *first_use, *next_use;
	uint32_t instant_count;
	hob_skin_instant *instants;
} hob_skin_poses;

/* Collects the instants: the rest pose, and HOB_SKIN_INSTANTS of the clips, the same number for each clip,
 * evenly spread from its first key to its last. If there are more clips than that, some are skipped. A
 * skeleton of more than 1,000 nodes has fewer instants, at least 8.
 *
 * scratch   has all memory; the model and it must outlive the result
 * Cost      O(vertices * influences + instants * (channels * log keys + nodes)), and about 8 MiB for 1,000
 *           nodes */
hob_skin_poses hob_skin_poses_of(const hob_model *model, hob_arena *scratch);

/* Selects poses of a skinned triangle mesh.
 *
 * At each instant up to 64 triangles are measured, preferably those that joints bend: how far apart their
 * joints carry them, and how much they grow. Poses are added that raise the sum of the largest values most,
 * while the sum rises, then instants evenly spread over those that bend the mesh, HOB_SKIN_POSES in all.
 * Small meshes are measured at fewer instants. Several nodes with the mesh share the instants.
 *
 * Matrices are divided by the scale of the mesh under its skin at rest, so that lengths are in the mesh's
 * space: a renderer knows that scale, but not its changes during a clip.
 *
 * mesh      of the model
 * arena     for the poses and temporary data
 * Returns   count 0: not skinned, or nothing bends it
 * Cost      O(triangles * influences + instants * (joints that move the mesh + 64 triangles)) */
hob_mesh_poses hob_skin_poses_choose(const hob_skin_poses *from, uint32_t mesh, hob_arena *arena);

#endif
