/* mesh_twins.h - finds meshes of one model with the same geometry, which are baked and stored once. */
#ifndef HOB_MESH_TWINS_H
#define HOB_MESH_TWINS_H

#include "../model/model.h"

/* Finds for each mesh the first one whose bake would be the same.
 *
 * meshes     [count] that pass hob_model_check(). Compared are topology, indices and every vertex array,
 *            morph targets included, byte by byte; not names, materials, variants and default weights. A
 *            skinned mesh has no twin: its skin is its own.
 * keys       [count] must be equal, too: a number for the options that the mesh is baked with
 * twin       [count] out: twin[i] <= i; i itself where there is none before
 * Cost       a few samples of each mesh, and a comparison of all its bytes with a mesh that has the same
 *            counts and samples. A mesh that shares those with many others is compared with eight of them. */
void hob_mesh_twins(const hob_mesh *meshes, const uint32_t *keys, uint32_t count, uint32_t *twin,
					hob_arena *scratch);

#endif
