/* lods_draw.h - pictures of levels of detail: a level and the full mesh, as large as they are where the
 * level's error is a pixel. */
#ifndef BENCH_LODS_DRAW_H
#define BENCH_LODS_DRAW_H

#include "core/model/baked.h"

enum { LODS_DRAW_SIDE = 1024 };

typedef struct lods_draw_result {
	uint64_t covered,
		differ;		/* pixels of the full mesh; pixels that one of the two covers and the other does not */
	uint64_t stray; /* of `differ`: the other one covers no pixel that is at most two away */
	/* how many the stated error is: 1, less where the picture would be larger than LODS_DRAW_SIDE */
	double pixels;
} lods_draw_result;

/* Draws level `l` and the full mesh from four sides and compares them. */
void lods_draw_compare(const hob_baked_mesh *mesh, uint32_t l, lods_draw_result *out);

/* Adds a row to a sheet: the full mesh and its coarsest level, large, then both where the level's error is
 * one pixel. */
void lods_draw_row(const hob_baked_mesh *mesh);
/* Writes the sheet as a PNG. */
bool lods_draw_write(const char *path);

#endif
