/* lod_poses.h - how far a level of detail of a skinned mesh is from the full mesh in poses.
 *
 * lod_error.h measures the mesh in its bind pose. A bending joint moves the lost vertices differently from
 * the triangles that replace them. So points of both surfaces are followed into the poses: each vertex that
 * the level is the first to lose (one in four of meshes of 20,000 vertices and more), some of those that
 * finer levels lost, and points of some of the level's triangles. Each point is matched with the triangle of
 * the other surface that is nearest in the bind pose. Its distance in a pose is that to this triangle, or to
 * a nearer one that a walk from neighbour to neighbour finds. From the farthest points the search climbs to
 * their neighbours. */
#ifndef HOB_LOD_POSES_H
#define HOB_LOD_POSES_H

#include "lod_error.h"

#include "../model/baked.h"

typedef struct hob_lod_posed {
	uint32_t count;
	float **positions; /* [count][place_count][3] of the places of the full mesh */
	uint8_t *lost;	   /* [place_count] not 0: a level measured so far lacks the place */
} hob_lod_posed;

/* Factor on errors found in a pose, to cover poses and points that are not measured. */
#define HOB_LOD_POSE_MARGIN 1.25

/* The positions to simplify: those of the first pose, which bends the mesh most. Parts that are flat in the
 * bind pose but bend in a clip keep their vertices that way. The next pose is used if the first shrinks
 * triangles to nothing.
 *
 * first        [vertex_count] the first vertex at the same place: vertices at one place stay at one
 * indices      [index_count] of the mesh
 * shape        out: [vertex_count][3] in `arena`, or the mesh's own positions if no pose is usable
 * Errors       MEMORY. */
bool hob_lod_poses_shape(const hob_mesh *mesh, const hob_mesh_poses *poses, const uint32_t *first,
						 const uint32_t *indices, uint32_t index_count, hob_arena *arena, const float **shape,
						 hob_error *err) HOB_MUST_CHECK;

/* Moves the full mesh into the poses.
 *
 * full         as prepared from the mesh
 * poses        may be NULL: no poses. A pose that moves a vertex farther than a float reaches is left out
 * out          its arrays are in `arena`: 12 bytes a vertex in each pose, 48 MiB at most: large meshes have
 *              fewer poses
 * Errors       MEMORY.
 * Cost         30 ns a vertex in each pose. */
bool hob_lod_poses_begin(const hob_lod_full *full, const hob_mesh *mesh, const hob_mesh_poses *poses,
						 hob_arena *arena, hob_lod_posed *out, hob_error *err) HOB_MUST_CHECK;

/* Measures a level. Finer ones come first.
 *
 * distance     the largest measured in the bind pose and for finer levels
 * Returns      the larger of `distance` and HOB_LOD_POSE_MARGIN times the largest found in a pose. The stated
 *              error is HOB_LOD_ERROR_MARGIN times that
 * Cost         40 ns a point in each pose. */
double hob_lod_poses_measure(const hob_lod_full *full, hob_lod_posed *posed, const hob_surface *level,
							 double distance);

#endif
