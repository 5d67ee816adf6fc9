/* simplify.h - all levels of detail of a mesh from one ordered run of half-edge collapses.
 *
 * No vertex moves: a collapse merges a place (all vertices at one position) into a neighbouring one, so each
 * level uses a subset of the full mesh's vertices with unchanged attributes. Levels are snapshots of one
 * sequence of collapses.
 *
 * Cost of a collapse
 *   Planes        Each place has the quadric of the planes of its triangles, weighted by area; collapses add
 *                 them up. Open borders and seams of attributes add planes through the side, at right angles
 *                 to the triangle, weighted by the square of the side's length. At a triangle without area,
 *                 which has no plane, two planes hold the side as a line.
 *   Attributes    Each vertex has the quadric of the difference between its attributes and their linear
 *                 interpolation over its triangles. The caller scales attributes to lengths, so that the two
 *                 costs add up.
 *   Spread        Each place has a bound on how far the places merged into it are from the triangles around
 *                 it. Quadrics are means, which lose a spike among many flat triangles; the bound is a
 *                 maximum. The larger cost counts.
 *   Turns         The squared differences of the normals of triangles before and after the collapse, averaged
 *                 over area: what shading by triangles shows of it. It counts in the order only, and does not
 *                 add up over collapses.
 *   Coordinates of a quadric are relative to its own place and attributes: single precision suffices, as
 *   values are as small as the triangles around.
 *
 * Order. The cost is squared and divided by the weight of the quadric (a mean), then multiplied by that
 * weight to the power of 13/16: nearly the sum, which has the least squared error over the surface, with some
 * of the mean, which keeps small features. For the limit, attributes count a tenth and the spread four times
 * as much: shading decides what goes first, the surface where the chain ends. Rounds take the cheapest
 * collapses that do not touch each other; costs are computed between rounds, where something changed. So
 * threads share the work and the result does not depend on them.
 *
 * What a collapse must keep
 *   Topology      The neighbours that both ends share are those of the triangles that vanish, and no triangle
 *                 comes to lie on another. A place on an open border, or where more than two triangles meet
 *                 at a side, moves along such a side only.
 *   Orientation   No triangle turns by more than acos(1/4), 75 degrees; none faces away from the normals that
 *                 the full mesh has at its corners, or from an axis that all of the full mesh faces; none
 *                 changes the sign of its area in a set of texture coordinates.
 *   Area          No triangle becomes thinner than 1e-4 of its longest side, unless it already was.
 *   Pieces        A component connected by position that is down to 16 triangles keeps 90 % of its area;
 *                 pieces with up to 8 % of the mesh's area together are exempt. Within these 8 %, a small
 *                 piece near others goes as a whole: its cost is its distance from the pieces that stay,
 *                 those larger than the limit or 4 % of the area, plus a turn, over its area or the square
 *                 of that distance. It may not lead beyond a target.
 *   Seams         The vertices at a place move together. Each becomes the vertex at the other end of one of
 *                 its sides, or else the one there with the nearest attributes: a seam slides along itself,
 *                 and across only where that costs little.
 *   Crowds        A place with more than 64 triangles is not merged into another, and one with more than 256
 *                 absorbs none. Both limits bound the work of a collapse, so that time is linear.
 *
 * Source   Garland and Heckbert 1997 (quadrics); Hoppe 1999 (attributes of wedges); Lindstrom and Turk 1998
 *          (memory of the error); Dey et al. 1999 (link condition). */
#ifndef HOB_SIMPLIFY_H
#define HOB_SIMPLIFY_H

#include "../base/base.h"

enum { HOB_SIMPLIFY_ATTRIBUTES = 24, HOB_SIMPLIFY_UVS = 2, HOB_SIMPLIFY_LEVELS = 16 };

typedef struct hob_simplify_input {
	const float *positions; /* [vertex_count][3] finite */
	uint32_t vertex_count;
	const uint32_t *first;	 /* [vertex_count] the first vertex at the same place */
	const float *attributes; /* [vertex_count][attribute_count] in units of length; NULL: none */
	uint32_t attribute_count;
	const float *uv[HOB_SIMPLIFY_UVS]; /* [vertex_count][2] where triangles may not flip; NULL: none */
	const uint8_t *locked;			   /* [vertex_count] not 0: its place stays; NULL: none is locked */
	bool lock_border;				   /* places on open borders stay */
	bool keep_pieces;				   /* all small pieces keep their area */
	const uint32_t *indices;		   /* [index_count], a multiple of 3 */
	uint32_t index_count;
	double limit;				  /* largest cost of a collapse, as a length */
	double turn;				  /* of Turns: length that a difference of 1 between normals counts as */
	const hob_parallel *parallel; /* NULL: the calling thread */
} hob_simplify_input;

typedef struct hob_simplify_level {
	uint32_t target;   /* in: triangles */
	uint32_t *indices; /* out: in `arena` */
	uint32_t index_count;
	/* out: [vertex_count] by first vertex at a place: estimate of how far the surface there moved, summed
	 * over successive collapses; lod_error.h measures where it is large */
	float *change;
	double mean; /* root of the mean square of distances to planes, an estimate */
	double cost; /* of the costliest collapse so far, as a length */
} hob_simplify_level;

/* Why there is no further level. */
typedef enum hob_simplify_end {
	HOB_SIMPLIFY_DONE,	/* all targets are reached */
	HOB_SIMPLIFY_LIMIT, /* the remaining collapses cost more than the limit */
	HOB_SIMPLIFY_STUCK, /* topology, orientation, locks or crowds forbid them */
	HOB_SIMPLIFY_PIECES /* they would make pieces vanish that are far from the rest or too many */
} hob_simplify_end;

/* Simplifies.
 *
 * Triangles with two corners at one place are dropped at the beginning, those without area from each level.
 *
 * levels       [*level_count] in: targets, each smaller than the one before. out: the levels that were
 *              reached, each within two triangles of its target, and a last one if the run ended short of a
 *              target
 * level_count  in and out; at most HOB_SIMPLIFY_LEVELS
 * arena        holds the levels' arrays; working memory is released
 * Returns      why the run ended
 * Cost         about 1.5 microseconds a triangle for all levels.
 * Memory       100 bytes a triangle, 100 a place, and 44 + 16 * attribute_count a vertex. */
hob_simplify_end hob_simplify(const hob_simplify_input *input, hob_simplify_level *levels,
							  uint32_t *level_count, hob_arena *arena);

#endif
