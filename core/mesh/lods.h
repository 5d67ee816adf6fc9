/* lods.h - the chain of levels of detail. */
#ifndef HOB_LODS_H
#define HOB_LODS_H

#include "../model/baked.h"

typedef struct hob_lod_options {
	uint32_t max;				 /* levels at most, the full one included; 0 and 1: no further ones */
	float ratio;				 /* triangles of a level over those of the one before, 0..1 */
	float error;				 /* largest error that a level may state, relative to `size` */
	double size;				 /* what `error` is relative to; 0: the longest side of the mesh's box */
	const uint8_t *locked;		 /* [vertex_count] not 0: the vertex stays in all levels; NULL: none has to */
	bool lock_border;			 /* open borders never move */
	bool encoded;				 /* order of each level as in bake.h */
	bool places_differ;			 /* no two vertices are at one place: finding those can be left out */
	const hob_mesh_poses *poses; /* that errors have to hold in, too (lod_poses.h); NULL: none */
	const hob_parallel *parallel; /* threads; NULL: the calling one */
} hob_lod_options;

/* A level: indices into the mesh's vertices, ordered for the vertex cache and against overdraw. */
typedef struct hob_lod_level {
	uint32_t *indices;
	uint32_t index_count;
	/* how far the surface is from the full one, absolute (lod_error.h, lod_poses.h); never less than a finer
	 * level's; 0 for level 0 */
	float error;
	/* of attributes (lod_attributes.h); never less than a finer level's; 0 for level 0 */
	hob_attribute_error attributes;
} hob_lod_level;

/* Why the chain ended. */
typedef enum hob_lod_end {
	HOB_LOD_END_MAX,	/* options.max reached, or LODs are off */
	HOB_LOD_END_SMALL,	/* HOB_LOD_SMALL triangles or fewer are left */
	HOB_LOD_END_ERROR,	/* the error is used up */
	HOB_LOD_END_STUCK,	/* seams, borders or topology keep more than 85 % of the triangles */
	HOB_LOD_END_PIECES, /* the next level would lose whole pieces: leaves, hair cards, loose triangles */
} hob_lod_end;

enum { HOB_LOD_SMALL = 64 };

/* Appends coarser levels behind levels[0], which the caller fills with the full mesh.
 *
 * Triangles two of whose corners are at one place (hob_weld_is_collapsed) may be in it: they tell the
 * simplifier what hangs together. No coarser level has any.
 *
 * Of skinned meshes the most bent of options->poses is simplified instead of the bind pose.
 *
 * Each level is simplified from the one before, on its own vertices alone. Nothing moves and nothing is
 * blended: a coarser level names a subset of the vertices of the mesh, so their attributes hold. Vertices at
 * one place that differ in an attribute are a seam: it is collapsed along itself and never torn open or
 * smeared. Where seams hold up the work - the step misses its target, or costs far more error than halving
 * usually does - vertices that differ in normal and tangent alone are taken for one from there on if that
 * helps (hard edges then soften before they distort the shape), and each corner gets, of those, the one that
 * suits its triangle best (siblings.h). README.md has the measurements.
 *
 * Where a step turns out four times farther off than the simplifier thinks, and at most one vertex in fifty
 * is to blame (a spike, a small piece), it is taken again with those vertices held in place. It costs that
 * step's time again.
 *
 * Of sheets with two sides (sheets.h) one side is simplified, and the other has its mirror: both keep the
 * same triangles. Where a number of triangles is a target or a limit, one side counts.
 *
 * A level that keeps more than 85 % of the triangles is dropped and ends the chain. So is one that destroys
 * pieces: a piece, what hangs together by position, counts as destroyed when it is down to 16 triangles and
 * has lost 40 % of its area; more than 5 % of the mesh's area may not go that way.
 *
 * mesh           triangles, finite positions; every vertex used by levels[0]; its indices are not read
 * levels         [options->max] in and out
 * level_count    in: 1; out: number of levels
 * end            out: why it ended
 * The levels' indices and what is needed to make them stay in `arena`. Errors: MEMORY.
 * Cost           about 2.5 microseconds a triangle of level 0 for the whole chain, more than half of it for
 *                measuring errors.
 * Threads        options->parallel simplifies large steps in parts, measures errors and orders levels. The
 *                result does not depend on the number of threads.
 * Memory         meshoptimizer allocates about 170 bytes per vertex and 60 per triangle of its own meanwhile.
 *                What measuring errors needs, about 90 bytes a triangle, comes after the first step.
 * Source         Garland and Heckbert 1997 (quadric error metrics) in meshopt_simplify; a chain of steps as
 *                meshoptimizer advises, but with errors measured against the full mesh. */
bool hob_lods_build(const hob_mesh *mesh, const hob_lod_options *options, hob_lod_level *levels,
					uint32_t *level_count, hob_lod_end *end, hob_arena *arena, hob_error *err) HOB_MUST_CHECK;

/* Leaves out levels that state no smaller error than a coarser one: nobody would draw them. The full level
 * and the coarsest stay. Returns how many are left. */
uint32_t hob_lods_drop_dominated(hob_lod_level *levels, uint32_t level_count);

#endif
