/* deep_faults.h - faults that cost much to find: texture coordinates that overlap, triangles of one mesh that
 * cross each other. Each search has a bound on its work, beyond which it gives up. */
#ifndef HOB_DEEP_FAULTS_H
#define HOB_DEEP_FAULTS_H

#include "mesh_faults.h"

enum {
	HOB_OVERLAP_TEXELS = 1024,
	HOB_OVERLAP_WORK = 1 << 26,
	HOB_MARGIN_PICTURES = 4,
	HOB_MARGIN_MOST = 16,
	HOB_CROSSING_WORK = 1 << 27
};

/* The fraction of the used texture area that two triangles or more cover, 0 to 1, on a grid of
 * HOB_OVERLAP_TEXELS along the longer side of that area. Edges may touch. faults: the overlapping triangles.
 * -1: no memory, or more than HOB_OVERLAP_WORK texels are tried. */
hob_measure hob_find_uv_overlap;

/* The fewest free texels between two islands, if fewer than `limit` (at most HOB_MARGIN_MOST), in a picture
 * of HOB_OVERLAP_TEXELS a side; INFINITY: all are farther apart. Triangles with a corner in common, in space
 * and in the picture, are one island, as are those that overlap. faults: the triangles of texels that are too
 * close. -1: no memory, islands farther apart than HOB_MARGIN_PICTURES pictures, or more than
 * HOB_OVERLAP_WORK texels tried. */
hob_measure hob_find_uv_margin;

/* Triangles that cross another triangle of the same mesh with which they share no corner; touching does not
 * count. meshes: the parts of one mesh. False: no memory, or the boxes of more than HOB_CROSSING_WORK pairs
 * are compared. */
bool hob_find_crossings(const hob_mesh *meshes, uint32_t count, hob_arena *scratch, hob_fault *faults);

#endif
