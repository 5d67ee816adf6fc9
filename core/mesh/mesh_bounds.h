/* mesh_bounds.h - box, sphere and texture density of a mesh. */
#ifndef HOB_MESH_BOUNDS_H
#define HOB_MESH_BOUNDS_H

#include "../base/base.h"

/* Least and largest of each component of [count][width] values; zeros when there are none. */
void hob_bounds_ranges(const float *values, uint32_t width, uint32_t count, float *min, float *max);

/* Box of [count][3] points. */
static inline void hob_bounds_box(const float *points, uint32_t count, float min[3], float max[3])
{
	hob_bounds_ranges(points, 3, count, min, max);
}

/* A sphere (center xyz, radius) that contains every point, in float arithmetic too; usually within 5 % of the
 * smallest; zeros when there are no points. Source: Ritter 1990, An efficient bounding sphere, begun once
 * from the far points of 7 directions and once from the box; the smaller one is kept. Cost O(count). */
void hob_bounds_sphere(const float *points, uint32_t count, float sphere[4]);

/* Returns twice the area of a triangle; `mapped` becomes twice its area in uv. */
double hob_twice_area(const float *position, const float *uv, const uint32_t corner[3], double *mapped);

enum { HOB_UV_DENSITY_SAMPLES = 4096 };

/* Median over the triangles of sqrt(area in uv / area in space): it selects a mip level without derivatives.
 * Triangles without area in space are left out; 0 when none is left. Of more than HOB_UV_DENSITY_SAMPLES
 * triangles every k-th is sampled. `scratch` [HOB_UV_DENSITY_SAMPLES]. */
float hob_uv_density(const float *position, const float *uv, const uint32_t *indices, uint32_t index_count,
					 float *scratch);

/* Sides of a box for dividing space into cells: none is shorter than a sixteenth of the longest, so that
 * flat, rough ground is not divided by height. All are 0 if the box is a point. */
void hob_bounds_sides(const float low[3], const float high[3], double sides[3]);

#endif
