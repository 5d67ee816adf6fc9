/* mesh_faults.h - faults of a triangle mesh: triangles without area, duplicate triangles, open edges, edges
 * of more than two triangles, closed meshes that face inwards. Vertices at one position count as one vertex,
 * so seams of normals or texture coordinates are not edges. */
#ifndef HOB_MESH_FAULTS_H
#define HOB_MESH_FAULTS_H

#include "../mesh/vec3.h"
#include "../model/model.h"

enum { HOB_FAULT_PLACES = 64, HOB_EDGE_TRIANGLES = 200000, HOB_DEEP_EDGE_TRIANGLES = 2000000 };

typedef struct hob_fault {
	uint32_t count, place_count;
	float places[HOB_FAULT_PLACES][3]; /* of the first faults: centres of triangles, middles of edges */
} hob_fault;

typedef struct hob_mesh_faults {
	hob_fault degenerate, duplicate, open, non_manifold;
	/* In a closed mesh: edges whose triangles look to different sides; without any, one if its signed volume
	 * is negative. */
	hob_fault inside_out;
	bool has_edges; /* false: more than edge_triangles triangles, so edges were not examined */
} hob_mesh_faults;

/* Six times the signed volume of a tetrahedron. */
double hob_volume(const float *a, const float *b, const float *c, const float *d);
/* How much farther the picture is stretched over the triangle in one direction than across it, at least 1; 0
 * if the triangle has no area there. */
double hob_find_stretch(const hob_mesh *mesh, const uint32_t corners[3]);
/* Numbers of the vertices: equal where position and texture coordinates are. NULL: no memory. */
uint32_t *hob_find_corners(const hob_mesh *mesh, hob_arena *scratch);
/* A measure of one mesh, whose faults make a finding of the value. `limit`: the first parameter of the rule;
 * what keeps it has no faults. -1: no memory, or too much work. */
typedef double hob_measure(const hob_mesh *mesh, double limit, hob_arena *scratch, hob_fault *faults);
/* The share of the distinct vertices of triangles that differ from another at the same position and texture
 * coordinates by more than a degree of their normals. */
hob_measure hob_find_split_normals;
void hob_fault_add(hob_fault *fault, const float place[3]);

/* meshes: the parts of one mesh, which may share edges; parts without triangles are ignored. A triangle
 * without area (two corners at one position, or all on one line to 1e-6 of its longest side) has no edges; a
 * duplicate's edges count once. False without memory. Expected O(triangles). */
bool hob_find_mesh_faults(const hob_mesh *meshes, uint32_t count, uint32_t edge_triangles, hob_arena *scratch,
						  hob_mesh_faults *out);

#endif
