/* lods_draw.h - pictures of levels of detail: a level and the full mesh, at the scale where the level's error
 * is one pixel. */
#ifndef BENCH_LODS_DRAW_H
#define BENCH_LODS_DRAW_H

#include "core/model/baked.h"

enum { LODS_DRAW_SIDE = 1024 };

typedef struct lods_draw_result {
	uint64_t covered, differ; /* pixels of the full mesh; pixels covered by only one of the two */
	uint64_t stray;			  /* part of `differ`: more than two pixels from any covered by the other */
	/* the stated error in pixels: 1, or less if the picture would exceed LODS_DRAW_SIDE */
	double pixels;
} lods_draw_result;

/* Draws level `l` and the full mesh from four sides and compares them. */
void lods_draw_compare(const hob_baked_mesh *mesh, uint32_t l, lods_draw_result *out);

/* Adds a row to a sheet: the full mesh and its coarsest level, large, then both at an error of one pixel. */
void lods_draw_row(const hob_baked_mesh *mesh);
/* Writes the sheet as a PNG. */
bool lods_draw_write(const char *path);

#endif
