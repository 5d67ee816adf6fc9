/* lod_poses.h - a skinned mesh in poses, in which its levels of detail must hold, too. */
#ifndef HOB_LOD_POSES_H
#define HOB_LOD_POSES_H

#include "lod_error.h"

#include "../model/baked.h"

typedef struct hob_lod_posed {
	uint32_t count;
	float **positions; /* [count][place_count][3] of the places of the full mesh */
} hob_lod_posed;

/* The positions to simplify: those of the first pose, which bends the mesh most. Parts that are flat in the
 * bind pose but bend in a clip keep their vertices that way. The next pose is used if the first shrinks
 * triangles to nothing.
 *
 * first        [vertex_count] the first vertex at the same place: vertices at one place stay at one
 * indices      [index_count] of the mesh
 * Returns      [vertex_count][3] in `arena`, or the mesh's own positions if no pose is usable */
const float *hob_lod_poses_shape(const hob_mesh *mesh, const hob_mesh_poses *poses, const uint32_t *first,
								 const uint32_t *indices, uint32_t index_count, hob_arena *arena);

/* Moves the full mesh into the poses.
 *
 * full         as prepared from the mesh
 * poses        may be NULL: no poses. A pose that moves a vertex farther than a float reaches is left out
 * Returns      arrays in `arena`: 12 bytes a vertex in each pose, 48 MiB at most: large meshes have
 *              fewer poses
 * Cost         30 ns a vertex in each pose. */
hob_lod_posed hob_lod_poses_begin(const hob_lod_full *full, const hob_mesh *mesh, const hob_mesh_poses *poses,
								  hob_arena *arena);

#endif
