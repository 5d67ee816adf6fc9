/* surface.h - how far points are from a set of triangles.
 *
 * A tree of boxes, four to a node, over the triangles in Morton order: what lies side by side in space lies side by side in
 * memory, so no child is named anywhere. */
#ifndef HOB_SURFACE_H
#define HOB_SURFACE_H

#include "vec3.h"

#include "../base/base.h"

enum { HOB_SURFACE_LEVELS = 16, HOB_SURFACE_HINTS = 2 };

typedef struct hob_surface_node {
	float low[3][4], high[3][4]; /* by axis, then child; no child: low > high */
} hob_surface_node;

typedef struct hob_surface {
	const float *positions; /* borrowed */
	uint32_t *corners;		/* [triangle_count][3] in the order of the tree */
	uint32_t triangle_count;
	hob_surface_node *nodes; /* lowest level first; the children of its nodes are triangles */
	uint32_t level_first[HOB_SURFACE_LEVELS], level_count;
	uint32_t *fan_first,
		*fan; /* the triangles around vertex v: fan[fan_first[v]] to before fan[fan_first[v + 1]] */
} hob_surface;

/* Where earlier points were near: the next one is often near the same triangles. {0} to begin with. */
typedef struct hob_surface_hints {
	uint32_t triangle[HOB_SURFACE_HINTS];
} hob_surface_hints;

/* Builds the tree.
 *
 * positions    [..][3] finite
 * indices      [index_count] into positions; index_count a multiple of 3, at least 3
 * out          borrows positions; its arrays are in `arena`
 * Errors       MEMORY.
 * Cost         about 80 ns and 20 bytes a triangle. */
bool hob_surface_build(const float *positions, uint32_t vertex_count, const uint32_t *indices,
					   uint32_t index_count, hob_arena *arena, hob_surface *out,
					   hob_error *err) HOB_MUST_CHECK;

/* The distance from `p` to the nearest triangle, or some distance of at most `enough` as soon as a triangle is that near.
 *
 * Products are formed in double precision and a point above a triangle's inside is measured to its plane, so that slivers
 * cost no precision. Boxes are compared in single precision: the answer may be the distance to a triangle that is farther
 * than the nearest by 1e-6 of the coordinates, never a distance that is too small.
 *
 * hints        in and out
 * Cost         30 ns where a hint is near enough, 100 to 500 ns otherwise.
 * Source       Ericson, Real-Time Collision Detection, 5.1.5 (closest point on a triangle by Voronoi regions). */
double hob_surface_distance(const hob_surface *surface, hob_vec3 p, double enough, hob_surface_hints *hints);

#endif
