/* flat_normals.h - vertices with normals for a flat mesh, for layouts that cannot do without. */
#ifndef HOB_FLAT_NORMALS_H
#define HOB_FLAT_NORMALS_H

#include "pack_geometry.h"

typedef struct hob_flat_vertices {
	uint32_t count;
	uint32_t *from;	   /* [count] the mesh's vertex that each one is */
	float *normals;	   /* [count][3] unit length; +Y for triangles without area */
	uint32_t *indices; /* of the levels asked for, back to back */
} hob_flat_vertices;

/* Gives each triangle of the first `levels` levels of a mesh of triangles its own plane's normal. Corners of one vertex and one
 * normal share a vertex as far as a search among the vertex's latest few finds them, so a cube has 24.
 * Memory comes from `arena` and stays. Errors: MEMORY; LIMIT beyond 2^32 corners. Cost O(indices). */
bool hob_flat_vertices_make(const hob_pack_geometry *geometry, const hob_pk_mesh *mesh, uint32_t levels,
							hob_arena *arena, hob_flat_vertices *out, hob_error *err) HOB_MUST_CHECK;

#endif
