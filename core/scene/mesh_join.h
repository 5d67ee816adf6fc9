/* mesh_join.h - joins several placed meshes into one. */
#ifndef HOB_MESH_JOIN_H
#define HOB_MESH_JOIN_H

#include "affine.h"

typedef struct hob_placed_mesh {
	const hob_mesh *mesh;
	hob_affine place;
} hob_placed_mesh;

/* True if the meshes can be joined without inventing or losing anything: same topology, material, variant
 * mappings and set of attributes, no morph targets. */
bool hob_mesh_joinable(const hob_mesh *a, const hob_mesh *b);

/* Writes each mesh transformed by its place into one mesh, in order.
 *
 * Normals are transformed by the transposed inverse and keep length 1; tangents follow the surface. A
 * mirroring transform reverses the winding of triangles and the sign of w of tangents, so that fronts stay
 * fronts. Names, material and mappings are those of the first.
 *
 * parts     [part_count], at least 1, all joinable with the first (asserted)
 * arena     owns the new arrays
 * Leaves (base/guard.h) with LIMIT when the sum of vertices or indices is over its limit, with CORRUPT when a
 * place takes a position out of the range of float. */
hob_mesh hob_meshes_join(const hob_placed_mesh *parts, uint32_t part_count, hob_arena *arena);

#endif
