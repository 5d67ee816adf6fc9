/* lod_error.h - how far a level of detail is from the full mesh: measured, not estimated.
 *
 * The stated error is the two-sided Hausdorff distance between the two surfaces, times a margin. It is
 * measured at the vertices that the level lost, and at the centres of the level's triangles and of the full
 * mesh's large ones (of all, if it has less than 20,000). Where a point near a centre may be farther than the
 * largest distance so far, the triangle's quarters, recursively, and the middles of its sides are measured,
 * too. From the farthest points the search climbs within their triangles. A ridge between all those points
 * can be higher: hence the margin. */
#ifndef HOB_LOD_ERROR_H
#define HOB_LOD_ERROR_H

#include "surface.h"

#define HOB_LOD_ERROR_MARGIN 1.1

typedef struct hob_lod_full {
	uint32_t *place;  /* [vertex_count] the place of each vertex */
	uint32_t *vertex; /* [place_count] the first vertex there */
	float *positions; /* [place_count][3] in the order of first use by the surface, then the others */
	uint32_t place_count, seen_count;
	hob_surface surface; /* visible triangles, by place; triangle_count may be 0 */
	uint32_t *corner;	 /* [surface.triangle_count][3] the vertex at each corner; NULL: not requested */
	/* [wide_count] triangles of the surface that are measured inside: large ones, or all of a small mesh */
	uint32_t *wide;
	uint32_t wide_count;
	double spacing, least; /* spacing of points; smallest distance that float positions can represent */
	double *until;		   /* from hob_lod_error_areas, for the mean; NULL: no mean is asked for */
} hob_lod_full;

/* Prepares the full mesh.
 *
 * positions    [vertex_count][3] finite
 * first        [vertex_count] the first vertex at the same place
 * indices      [index_count] the full mesh, in the order of hob_order_by_place for speed; index_count a
 *              multiple of 3. Triangles with two corners at one place are not visible and are ignored, here
 *              and below.
 * corners      whether `corner` is wanted, 12 bytes a triangle
 * Returns      arrays in `arena` */
hob_lod_full hob_lod_error_begin(const float *positions, uint32_t vertex_count, const uint32_t *first,
								 const uint32_t *indices, uint32_t index_count, bool corners,
								 hob_arena *arena);

/* A level over the places of the full mesh. */
typedef struct hob_lod_surface {
	hob_surface surface; /* visible triangles; triangle_count may be 0 */
	/* [surface.triangle_count][3] the vertex at each corner; NULL: the full mesh has none */
	uint32_t *corner;
} hob_lod_surface;

/* Prepares a level.
 *
 * indices      [index_count] over the same positions and in the same order; index_count a multiple of 3
 * Returns      arrays in `arena` */
hob_lod_surface hob_lod_error_surface(const hob_lod_full *full, const uint32_t *indices, uint32_t index_count,
									  hob_arena *arena);

/* Measures a level.
 *
 * known        lower bound of the answer, such as the distance of a finer level. Saves time: points nearer
 *              than that are not measured exactly.
 * guess        by first vertex at a place: estimate of the distance around it. Only the quarter of the points
 *              with the largest estimates is measured, and one in 17 of the others; NULL: all are
 * parallel     threads for large meshes; NULL: the calling one. The answer does not depend on their number
 * Returns      the largest distance found, at least `known`; HUGE_VAL if only the full mesh has visible
 *              triangles. The stated error is HOB_LOD_ERROR_MARGIN times that.
 * Cost         about 1 to 1.5 microseconds for each triangle of the full mesh, for six levels together, each
 *              half the one before. */
double hob_lod_error_measure(const hob_lod_full *full, const hob_surface *level, double known,
							 const float *guess, const hob_parallel *parallel);

/* Sums up the areas of triangles: [of->surface.triangle_count], in `arena`, up to the end of each.
 *
 * mirror       [vertex_count] as in sheets.h: a triangle of a sheet counts twice; may be NULL */
double *hob_lod_error_areas(const hob_lod_full *full, const hob_lod_surface *of, const uint32_t *mirror,
							hob_arena *arena);

/* Estimates the mean distance between the full mesh, with `until`, and a level, over the area of both.
 *
 * mirror       as above
 * farthest     the largest distance: points are added until one at that distance would not change the mean
 * arena        scratch: 8 bytes a triangle of the level
 * Returns      the mean, within about 10 %; HUGE_VAL as above
 * Cost         192 points, up to 65,536 where few are far off, at 0.3 us each; 10 ns a triangle of it. */
double hob_lod_error_mean(const hob_lod_full *full, const hob_lod_surface *level, const uint32_t *mirror,
						  double farthest, hob_arena *arena);

#endif
