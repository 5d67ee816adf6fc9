/* meshlets.h - small clusters of triangles for mesh shaders and cluster culling. */
#ifndef HOB_MESHLETS_H
#define HOB_MESHLETS_H

#include "../model/baked.h"

enum { HOB_MESHLET_VERTICES = 64, HOB_MESHLET_TRIANGLES = 124 };

typedef struct hob_meshlets {
	uint32_t count, vertex_count, triangle_bytes;
	hob_baked_meshlet *items;
	uint32_t *vertices;
	uint8_t *triangles;
} hob_meshlets;

/* The meshlets of one list of triangles. */
typedef struct hob_meshlet_cut {
	struct meshopt_Meshlet *meshlets; /* [count] */
	uint32_t *vertices;
	uint8_t *triangles;
	uint32_t count;
} hob_meshlet_cut;

/* Cuts triangles into meshlets, in the order for the vertex cache.
 *
 * indices      [index_count] a multiple of 3; reordered
 * by_place     in Morton order instead, for triangles that hardly share any vertices
 * Returns      arrays in `arena` */
hob_meshlet_cut hob_meshlets_cut(uint32_t *indices, uint32_t index_count, const float *positions,
								 uint32_t vertex_count, bool by_place, hob_arena *arena);

/* Makes room for more meshlets; the arrays move within `arena`. */
void hob_meshlets_reserve(hob_meshlets *meshlets, uint32_t count, uint64_t vertex_count,
						  uint64_t triangle_bytes, hob_arena *arena);

/* Appends a meshlet with its sphere and cone, where there is room. Zeros fill its triangles up to a multiple
 * of four bytes.
 *
 * vertices     [vertex_count] of the mesh
 * triangles    [triangle_count][3] of `vertices` */
void hob_meshlets_add(hob_meshlets *meshlets, const uint32_t *vertices, uint32_t vertex_count,
					  const uint8_t *triangles, uint32_t triangle_count, const float *positions,
					  uint32_t mesh_vertex_count);

/* Cuts every level into meshlets of at most 64 vertices and 124 triangles, with bounding sphere and backface
 * cone.
 *
 * Triangles are cut in the order for the vertex cache, without the pass against overdraw, which jumps between
 * regions. Meshlets of a welded surface have 85 to 90 triangles, and slightly larger spheres than those of a
 * builder that searches, which takes ten times as long.
 *
 * indices      all levels back to back, as lods[] says
 * positions    [vertex_count][3]
 * lods         [lod_count] index_first, index_count read; meshlet_first, meshlet_count written
 * Returns      arrays in `result`, as hob_baked_mesh holds them
 * Cost         about 95 ns a triangle: 45 for the order, 10 for the cut, 40 for spheres and cones. */
hob_meshlets hob_meshlets_build(const uint32_t *indices, const float *positions, uint32_t vertex_count,
								hob_baked_lod *lods, uint32_t lod_count, hob_arena *result,
								hob_arena *scratch);

#endif
