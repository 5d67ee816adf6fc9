/* usd_subdivide.h - Catmull-Clark subdivision of polygons and of what lies on them, for usd_mesh.c.
 *
 * Each level makes a quad of every corner. Points follow the rules of Catmull and Clark 1978; creases and
 * corners those of DeRose, Kass and Truong 1998, blended as OpenSubdiv 3 blends them; boundaries are sharp.
 * Values per point follow the same rules; values per corner are linear within each face, so that seams stay
 * where they are; values per face are inherited. */
#ifndef HOB_USD_SUBDIVIDE_H
#define HOB_USD_SUBDIVIDE_H

#include "usd_build.h"

enum { HOB_USD_LEVELS = 4 };

/* The polygons of one level, and what its points become in the next. */
typedef struct hob_usd_level {
	size_t point_count, face_count, corner_count, edge_count;
	const int32_t *counts, *indices;
	uint32_t (*ends)[2], (*sides)[2]; /* [edge_count] points; faces, HOB_NONE */
	uint32_t *edge_of;				  /* [corner_count] the edge from a corner to the next one of its face */
	float *edge_sharp;				  /* [edge_count] 0: smooth; each level takes 1 away; borders: infinite */
	float *point_sharp;				  /* [point_count] */
} hob_usd_level;

typedef struct hob_usd_subdivision {
	uint32_t level_count;
	hob_usd_level levels[HOB_USD_LEVELS];
	hob_usd_polygons fine;
	uint32_t *face_of; /* [fine.face_count] face of the cage */
} hob_usd_subdivision;

/* Refines `cage`, all of whose faces use points that exist, `levels` times, 1..HOB_USD_LEVELS; fewer where it
 * would be too large. The prim states creases. All memory is the scratch arena's. */
bool hob_usd_subdivide(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *cage, uint32_t levels,
					   hob_usd_subdivision *out, hob_error *err) HOB_MUST_CHECK;
/* A stream of the cage becomes one of the fine polygons. */
bool hob_usd_subdivide_stream(hob_usd_build_t *b, const hob_usd_subdivision *s, hob_usd_stream *stream,
							  hob_error *err) HOB_MUST_CHECK;

#endif
