/* lod_error.h - how far a level of detail is from the full mesh: measured, not estimated.
 *
 * What is stated is the two-sided (Hausdorff) distance between the two surfaces: of the points of either, the
 * largest distance to the other. It is measured at points of both: the vertices that the level lost, the
 * centre of every triangle of the level and of those of the full mesh that are large, or any where it has
 * less than 20,000, and, where the distance of a centre leaves room for more beside it, at the centres of the
 * triangle's quarters, and so on, and in the middles of its sides; from the farthest points it climbs to the
 * top of their triangle. A ridge between all those points can be higher: the margin is for that. */
#ifndef HOB_LOD_ERROR_H
#define HOB_LOD_ERROR_H

#include "surface.h"

#define HOB_LOD_ERROR_MARGIN 1.1

typedef struct hob_lod_full {
	uint32_t *place;  /* [vertex_count] which place a vertex is at */
	uint32_t *vertex; /* [place_count] the first vertex there */
	float *positions; /* [place_count][3] in the order of first use by the surface, then the others */
	uint32_t place_count, seen_count;
	hob_surface surface; /* the triangles that are seen, by place; triangle_count 0: there are none */
	uint32_t *corner;	 /* [surface.triangle_count][3] the vertex at each corner; NULL: not asked for */
	/* [wide_count] triangles of the surface that are looked from within: large ones, all of a small mesh */
	uint32_t *wide;
	uint32_t wide_count;
	double spacing, least; /* between points; what float positions cannot tell from nothing */
} hob_lod_full;

/* Prepares the full mesh.
 *
 * positions    [vertex_count][3] finite
 * first        [vertex_count] the first vertex at the same place
 * indices      [index_count] the full mesh, in the order of hob_order_by_place for speed; index_count a
 *              multiple of 3. Triangles with two corners at one place are not seen and count for nothing,
 *              here and below.
 * corners      whether out->corner is wanted, 12 bytes a triangle
 * out          its arrays are in `arena`
 * Errors       MEMORY. */
bool hob_lod_error_begin(const float *positions, uint32_t vertex_count, const uint32_t *first,
						 const uint32_t *indices, uint32_t index_count, bool corners, hob_arena *arena,
						 hob_lod_full *out, hob_error *err) HOB_MUST_CHECK;

/* A level over the places of the full mesh. */
typedef struct hob_lod_surface {
	hob_surface surface; /* the triangles that are seen; triangle_count 0: there are none */
	/* [surface.triangle_count][3] the vertex at each corner; NULL: the full mesh has none */
	uint32_t *corner;
} hob_lod_surface;

/* Prepares a level.
 *
 * indices      [index_count] over the same positions and in the same order; index_count a multiple of 3
 * out          its arrays are in `arena`
 * Errors       MEMORY. */
bool hob_lod_error_surface(const hob_lod_full *full, const uint32_t *indices, uint32_t index_count,
						   hob_arena *arena, hob_lod_surface *out, hob_error *err) HOB_MUST_CHECK;

/* Measures a level.
 *
 * known        a distance that the answer may not fall below, as it was measured for a finer level, or as is
 *              to be stated anyway. Points nearer than that are not measured any closer, so it saves time.
 * guess        by first vertex at a place: about how far from the other surface what is around it may be.
 *              Only the quarter of the points that is farthest by that is asked, and one in 17 of the others;
 *              NULL: all are
 * parallel     threads for what is large; NULL: the calling one. The answer does not depend on how many there
 *              are
 * Returns      the largest distance that was met, at least `known`; HUGE_VAL when the full mesh is seen and
 *              nothing of the level. What is stated is HOB_LOD_ERROR_MARGIN times that.
 * Cost         about 1 to 1.5 microseconds for each triangle of the full mesh, for six levels of halves
 *              together. */
double hob_lod_error_measure(const hob_lod_full *full, const hob_surface *level, double known,
							 const float *guess, const hob_parallel *parallel);

/* Estimates the mean distance between the full mesh and a level: of the points of both surfaces, by area, the
 * distance to the other one.
 *
 * mirror       [vertex_count] as in sheets.h: a triangle of a sheet stands for two; may be NULL
 * farthest     the largest distance: points go on until one that far off would not change the mean
 * Returns      within about 10 %. HUGE_VAL as above
 * Cost         192 points, up to 65,536 where few are far off, at 0.3 us each; 10 ns a triangle of both. */
double hob_lod_error_mean(const hob_lod_full *full, const hob_lod_surface *level, const uint32_t *mirror,
						  double farthest);

#endif
