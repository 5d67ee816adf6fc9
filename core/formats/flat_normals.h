/* flat_normals.h - vertices with normals for a flat mesh, for layouts that require normals. */
#ifndef HOB_FLAT_NORMALS_H
#define HOB_FLAT_NORMALS_H

#include "pack_geometry.h"

typedef struct hob_flat_vertices {
	uint32_t count;
	uint32_t *from;	   /* [count] the mesh vertex that each vertex comes from */
	float *normals;	   /* [count][3] unit length; +Y for triangles without area */
	uint32_t *indices; /* of the requested levels, one after the other */
} hob_flat_vertices;

/* Gives each triangle of the first `levels` levels of a triangle mesh the normal of its plane. Corners with
 * the same vertex and normal share a vertex, if a search among the vertex's latest few finds it: a cube gets
 * 24. Memory comes from `arena`. Errors: MEMORY; LIMIT beyond 2^32 corners. Cost O(indices). */
bool hob_flat_vertices_make(const hob_pack_geometry *geometry, const hob_pk_mesh *mesh, uint32_t levels,
							hob_arena *arena, hob_flat_vertices *out, hob_error *err) HOB_MUST_CHECK;

#endif
