/* mesh_faults.h - faults of a triangle mesh: triangles without area or there twice, open edges, edges of more
 * than two triangles. Vertices at one place are one vertex, so seams of normals or texture coordinates are no
 * edges. */
#ifndef HOB_MESH_FAULTS_H
#define HOB_MESH_FAULTS_H

#include "../model/model.h"

enum { HOB_FAULT_PLACES = 64, HOB_EDGE_TRIANGLES = 200000 };

typedef struct hob_fault {
	uint32_t count, place_count;
	float places[HOB_FAULT_PLACES][3]; /* of the first ones: centres of triangles, middles of edges */
} hob_fault;

typedef struct hob_mesh_faults {
	hob_fault degenerate, duplicate, open, non_manifold;
	bool has_edges; /* false: above HOB_EDGE_TRIANGLES, and edges were not looked at */
} hob_mesh_faults;

void hob_fault_add(hob_fault *fault, const float place[3]);

/* meshes: the parts of one mesh, which meet at edges; parts without triangles are ignored. A triangle without
 * area (two corners at one place, or all on one line to 1e-6 of its longest side) has no edges; one that is
 * there twice counts its edges once. False without memory. Expected O(triangles). */
bool hob_find_mesh_faults(const hob_mesh *meshes, uint32_t count, hob_arena *scratch, hob_mesh_faults *out);

#endif
