/* surface.h - how far points are from a set of triangles.
 *
 * A tree of boxes, four to a node, over the triangles in the order they are given in: what lies side by side in space should lie
 * side by side there, so no child is named anywhere. */
#ifndef HOB_SURFACE_H
#define HOB_SURFACE_H

#include "vec3.h"

#include "../base/base.h"

enum { HOB_SURFACE_LEVELS = 16 };

typedef struct hob_surface_node {
	float low[3][4], high[3][4]; /* by axis, then child; no child: low > high */
} hob_surface_node;

typedef struct hob_surface {
	const float *positions; /* [vertex_count][3] */
	uint32_t vertex_count;
	const uint32_t *corners; /* [triangle_count][3] */
	uint32_t triangle_count;
	hob_surface_node *nodes; /* lowest level first; the children of its nodes are triangles */
	uint32_t level_first[HOB_SURFACE_LEVELS], level_count;
	uint32_t *fan_first,
		*fan; /* the corners that are vertex v, as indices into `corners`: fan[fan_first[v]] to before fan[fan_first[v + 1]] */
	uint32_t *ring; /* by entry of `fan`: the triangle's next vertex */
} hob_surface;

/* Builds the tree.
 *
 * positions    [vertex_count][3] finite; referred to afterwards, as are
 * indices      [index_count] into positions; index_count a multiple of 3, at least 3. hob_order_by_place gives an order that makes
 *              good trees; any other only costs time
 * out          its arrays are in `arena`
 * Errors       MEMORY.
 * Cost         about 40 ns and 50 bytes a triangle, and 4 bytes a vertex. */
bool hob_surface_build(const float *positions, uint32_t vertex_count, const uint32_t *indices,
					   uint32_t index_count, hob_arena *arena, hob_surface *out,
					   hob_error *err) HOB_MUST_CHECK;

/* Whether a triangle has the vertex. */
static inline bool hob_surface_has(const hob_surface *s, uint32_t vertex)
{
	return s->fan_first[vertex] < s->fan_first[vertex + 1];
}

/* The distance from `p` to the nearest triangle, or to some triangle that is near enough.
 *
 * enough       as soon as a triangle is that near, its distance is the answer
 * limit        at least `enough`: a triangle that is that near is the answer, too, but first the surroundings are looked through
 *              for one that is near enough
 *
 * Products are formed in double precision and a point above a triangle's inside is measured to its plane, so that slivers
 * cost no precision. Boxes are compared in single precision: the answer may be the distance to a triangle that is farther
 * than the nearest by 1e-6 of the coordinates, never a distance that is too small.
 *
 * hint         in and out: an index into `corners`: the search begins at that triangle and goes from one to the next across the side
 *              that the point is nearest to. Out: of the answer's triangle, which suits the next point; 0 to begin with
 * Cost         30 ns a triangle on that way, 100 to 500 ns where the tree has to be asked.
 * Source       Ericson, Real-Time Collision Detection, 5.1.5 (closest point on a triangle by Voronoi regions). */
double hob_surface_distance(const hob_surface *surface, hob_vec3 p, double enough, double limit,
							uint32_t *hint);

/* The point of a triangle that is nearest to `p`.
 *
 * share        out: how much each corner counts, 0..1
 * Returns      the squared distance */
double hob_surface_nearest(const hob_surface *surface, uint32_t triangle, hob_vec3 p, double share[3]);

#endif
