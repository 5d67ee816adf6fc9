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

/* Cuts every level into meshlets of at most 64 vertices and 124 triangles, with bounding sphere and backface
 * cone.
 *
 * A level's triangles are cut as they come in the order for the vertex cache, without the pass against
 * overdraw, which jumps between regions: a welded surface fills 85 to 90 of the 124, and spheres are a little
 * larger than a builder's that searches, which takes ten times as long.
 *
 * indices      all levels back to back, as lods[] says
 * positions    [vertex_count][3]
 * lods         [lod_count] index_first, index_count read; meshlet_first, meshlet_count written
 * out          arrays in `result`, as hob_baked_mesh holds them
 * Cost         about 95 ns a triangle: 45 for the order, 10 for the cut, 40 for spheres and cones.
 * Errors       MEMORY; *out and lods are then untouched. */
bool hob_meshlets_build(const uint32_t *indices, const float *positions, uint32_t vertex_count,
						hob_baked_lod *lods, uint32_t lod_count, hob_arena *result, hob_arena *scratch,
						hob_meshlets *out, hob_error *err) HOB_MUST_CHECK;

#endif
