/* polygon.h - triangulates polygons of any size and shape. Quads are cut along the shorter diagonal, or along
 * the one that lies inside when the quad is not convex; other convex polygons become a fan; the rest is
 * ear-clipped in the plane of Newell's normal. Corners of large polygons are looked up in a grid. The worst
 * case stays quadratic, so all polygons of one hob_polygon share a budget of point tests; after it is used
 * up, corners are clipped unchecked. A polygon of n corners always gives n - 2 triangles of the same
 * orientation. */
#ifndef HOB_POLYGON_H
#define HOB_POLYGON_H

#include "../base/base.h"

typedef struct hob_polygon {
	hob_buf memory;	   /* reused between calls */
	uint64_t tests;	   /* point tests done */
	uint64_t careless; /* polygons that were cut after the budget was used up */
} hob_polygon;

/* About one second. */
#define HOB_POLYGON_BUDGET 400000000ull

void hob_polygon_release(hob_polygon *polygon);

/* position   [][3], finite
 * corners    [count] indices into position, count >= 3
 * triangles  [(count - 2) * 3] out: numbers of corners, 0 .. count-1
 * O(count) for convex ones, else O(count^2). */
void hob_polygon_triangulate(hob_polygon *polygon, const float *position, const uint32_t *corners,
							 uint32_t count, uint32_t *triangles);

/* The two axes of the projection with the largest area; in them the polygon runs counter-clockwise. */
void hob_polygon_axes(const float *position, const uint32_t *corners, uint32_t count, int axes[2]);

/* Joins the holes of a polygon to its rim: one ring, which visits some corners twice and can be triangulated.
 *
 * corners    [sum of rings] indices into position, ring after ring, the rim first
 * rings      [ring_count] corners of each ring, at least 3
 * joined     room for sum + 2 * (ring_count - 1): numbers of corners
 * Returns how many were written. A hole is left out once the budget of point tests is used up.
 * O(corners * holes).
 * Source     Eberly, "Triangulation by Ear Clipping", section 3 */
uint32_t hob_polygon_join_holes(hob_polygon *polygon, const float *position, const uint32_t *corners,
								const uint32_t *rings, uint32_t ring_count, uint32_t *joined);

#endif
