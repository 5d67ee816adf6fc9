/* usd_subdivide.h - Catmull-Clark subdivision of polygons and their attributes, for usd_mesh.c.
 *
 * Each level makes a quad of every corner. Points follow the rules of Catmull and Clark 1978; creases and
 * corners those of DeRose, Kass and Truong 1998, blended as OpenSubdiv 3 blends them; boundaries are sharp.
 * Values per point follow the same rules; values per corner are linear within each face, so that seams stay
 * in place; values per face are inherited. */
#ifndef HOB_USD_SUBDIVIDE_H
#define HOB_USD_SUBDIVIDE_H

#include "usd_build.h"

enum { HOB_USD_LEVELS = 4 };

/* Polygons of one level, and the weights that give the next level's points. */
typedef struct hob_usd_level {
	size_t point_count, face_count, corner_count, edge_count;
	const int32_t *counts, *indices;
	uint32_t (*ends)[2], (*sides)[2]; /* [edge_count] the edge's two points; its two faces or HOB_NONE */
	uint32_t *edge_of;				  /* [corner_count] edge from the corner to the next one of its face */
	float *edge_sharp;				  /* [edge_count] 0: smooth; each level subtracts 1; boundary: infinite */
	float *point_sharp;				  /* [point_count] */
} hob_usd_level;

typedef struct hob_usd_subdivision {
	uint32_t level_count;
	hob_usd_level levels[HOB_USD_LEVELS];
	hob_usd_polygons fine;
	uint32_t *face_of; /* [fine.face_count] face of the cage */
} hob_usd_subdivision;

/* Refines `cage`, all of whose point indices must be valid, `levels` times (1 to HOB_USD_LEVELS), fewer if
 * the result would be too large. Creases come from the prim. All memory is from the scratch arena. */
bool hob_usd_subdivide(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *cage, uint32_t levels,
					   hob_usd_subdivision *out, hob_error *err) HOB_MUST_CHECK;
/* Refines a stream of the cage to the fine polygons. */
bool hob_usd_subdivide_stream(hob_usd_build_t *b, const hob_usd_subdivision *s, hob_usd_stream *stream,
							  hob_error *err) HOB_MUST_CHECK;

#endif
