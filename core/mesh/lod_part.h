/* lod_part.h - the vertices that one step of levels of detail uses, as the simplifier wants them. */
#ifndef HOB_LOD_PART_H
#define HOB_LOD_PART_H

#include "../base/base.h"

/* The simplifier looks through all triangles of a vertex for each of them. */
enum { HOB_LOD_CROWD = 1024 };

typedef struct hob_lod_part {
	uint32_t *indices; /* [index_count] into the part's vertices */
	uint32_t *vertex;  /* [vertex_count] what they are in the whole */
	float *positions;  /* [vertex_count][3], and room for two more of each vertex where that was asked for */
	uint32_t vertex_count;
	uint8_t *crowded; /* [vertex_count] not 0: one of several copies, which may not be lost; NULL: none is */
} hob_lod_part;

/* Numbers the vertices by first use.
 *
 * A vertex in more than HOB_LOD_CROWD triangles becomes several, none of them in more than four times that.
 * Triangles whose other vertices have numbers side by side keep one, so that a fan falls into few sectors: a
 * side where two sectors meet is a border to the simplifier.
 *
 * positions    [vertex_count][3] of the whole
 * indices      [index_count] into those; index_count a multiple of 3
 * hold         whether there has to be room for copies. There always is when a vertex is crowded
 * out          its arrays are in `arena`
 * Errors       MEMORY. */
bool hob_lod_part_take(const float *positions, uint32_t vertex_count, const uint32_t *indices,
					   uint32_t index_count, bool hold, hob_arena *arena, hob_lod_part *out,
					   hob_error *err) HOB_MUST_CHECK;

#endif
