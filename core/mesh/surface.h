/* surface.h - distances of points from a set of triangles.
 *
 * A tree of boxes, four children per node, over the triangles in the given order: triangles that are
 * neighbours in space should be neighbours in that order. Children are found by index, not by pointers. */
#ifndef HOB_SURFACE_H
#define HOB_SURFACE_H

#include "vec3.h"

#include "../base/base.h"

enum { HOB_SURFACE_LEVELS = 16, HOB_SURFACE_FEW = 128, HOB_SURFACE_CROWD = 256 };

typedef struct hob_surface_node {
	float low[3][4], high[3][4]; /* by axis, then child; no child: low > high */
} hob_surface_node;

/* For each child of a node, all points within `radius` of a segment: it bounds slivers better than a box. */
typedef struct hob_surface_capsules {
	float from[3][4], way[3][4]; /* by axis, then child */
	float share[4], radius[4];	 /* share: 1 / (length of `way`) squared, or 0 */
} hob_surface_capsules;

typedef struct hob_surface {
	const float *positions; /* [vertex_count][3] */
	uint32_t vertex_count;
	const uint32_t *corners; /* [triangle_count][3] */
	uint32_t triangle_count;
	hob_surface_node *nodes; /* lowest level first; the children of its nodes are triangles */
	uint32_t level_first[HOB_SURFACE_LEVELS], level_count;
	hob_surface_capsules *capsules; /* by node; NULL: boxes suffice */
	/* the corners at vertex v: indices into `corners`, fan[i] for fan_first[v] <= i < fan_first[v + 1] */
	uint32_t *fan_first, *fan;
	uint32_t *ring; /* by entry of `fan`: the triangle's next vertex */
} hob_surface;

/* Builds the tree.
 *
 * positions    [vertex_count][3] finite; kept by reference, as are the indices
 * indices      [index_count] into positions; index_count a multiple of 3, at least 3. hob_order_by_place
 *              gives an order that makes good trees; any other only costs time
 * Returns      arrays in `arena`
 * Cost         about 40 ns and 50 bytes a triangle, and 4 bytes a vertex. */
hob_surface hob_surface_build(const float *positions, uint32_t vertex_count, const uint32_t *indices,
							  uint32_t index_count, hob_arena *arena);

/* Adds capsules to a surface. hob_surface_build does so if boxes are loose: if sample points of at least
 * 1,024 triangles are in 32 boxes or more on average. A small surface measured against one with capsules
 * needs them, too.
 *
 * Cost         about 150 ns and 32 bytes a triangle. */
void hob_surface_add_capsules(hob_surface *surface, hob_arena *arena);

/* Whether a triangle has the vertex. */
static inline bool hob_surface_has(const hob_surface *s, uint32_t vertex)
{
	return s->fan_first[vertex] < s->fan_first[vertex + 1];
}

/* The state of a client that measures one point after another: where the next search begins, and the budget
 * of searches. A step in the tree is a node or a triangle. */
typedef struct hob_surface_seeker {
	uint32_t hint;	/* an index into `corners`; 0 to begin with */
	uint64_t room;	/* steps left */
	uint64_t spare; /* with at most this many left, a search ends after HOB_SURFACE_FEW steps, */
	double worth;	/* but continues, within `room`, while its answer is above this */
} hob_surface_seeker;

/* Whether the vertex has so many triangles that one of them is no hint for the others. */
static inline bool hob_surface_is_crowded(const hob_surface *s, uint32_t vertex)
{
	return s->fan_first[vertex + 1] - s->fan_first[vertex] > HOB_SURFACE_CROWD;
}

/* The budget for measuring one surface against another: many times the usual number of steps, which is
 * exceeded only where no tree helps (from the centre of a ball, all of it is equally far). */
hob_surface_seeker hob_surface_seek(const hob_surface *a, const hob_surface *b);

/* Whether a search may end before it has found the nearest triangle. */
static inline bool hob_surface_gives_up(const hob_surface_seeker *seeker)
{
	return seeker->room <= seeker->spare;
}

/* The distance from `p` to the nearest triangle, or to some triangle that is near enough.
 *
 * enough       as soon as a triangle is that near, its distance is the answer
 * limit        at least `enough`: a triangle that near is the answer, too, unless the surroundings have one
 *              within `enough`
 *
 * Products are formed in double precision and a point above a triangle's inside is measured to its plane, so
 * that slivers cost no precision. Boxes are compared in single precision: the answer may be the distance to a
 * triangle that is farther than the nearest by 1e-6 of the coordinates, but it is never too small, even when
 * a search ends early.
 *
 * seeker       in and out: the search begins at its hint's triangle and goes from one to the next across the
 *              side that the point is nearest to. Out: the hint is the answer's triangle, which suits the
 *              next point
 * Cost         30 ns a triangle walked over, 100 to 500 ns if the tree is searched.
 * Source       Ericson, Real-Time Collision Detection, 5.1.5 (closest point on a triangle by Voronoi
 *              regions). */
double hob_surface_distance(const hob_surface *surface, hob_vec3 p, double enough, double limit,
							hob_surface_seeker *seeker);

/* The point of a triangle that is nearest to `p`.
 *
 * share        out: barycentric weight of each corner, 0..1
 * Returns      the squared distance */
double hob_surface_nearest(const hob_surface *surface, uint32_t triangle, hob_vec3 p, double share[3]);

#endif
