/* lods.h - the chain of levels of detail. */
#ifndef HOB_LODS_H
#define HOB_LODS_H

#include "../model/baked.h"

typedef struct hob_lod_options {
	uint32_t max;		   /* levels at most, the full one included; 0 and 1: no further ones */
	float ratio;		   /* triangles of a level over those of the one before, 0..1 */
	float error;		   /* largest error that a level may state, relative to `size` */
	double size;		   /* length that `error` is relative to; 0: the longest side of the mesh's box */
	const uint8_t *locked; /* [vertex_count] not 0: the vertex stays in all levels; NULL: none is locked */
	bool lock_border;	   /* open borders never move */
	bool encoded;		   /* order of each level as in bake.h */
	const hob_mesh_poses *poses;  /* in which errors must hold, too (lod_poses.h); NULL: none */
	const hob_parallel *parallel; /* threads; NULL: the calling one */
} hob_lod_options;

/* A level: indices into the mesh's vertices, ordered for the vertex cache and against overdraw. */
typedef struct hob_lod_level {
	uint32_t *indices;
	uint32_t index_count;
	/* distance of the surface from the full one, in the mesh's units (lod_error.h, lod_points.h); never less
	 * than a finer level's; 0 for level 0 */
	float error;
	/* mean distance between the two surfaces in the bind pose; at most `error` */
	float mean_error;
	/* error of attributes (lod_points.h); never less than a finer level's; 0 for level 0 */
	hob_attribute_error attributes;
} hob_lod_level;

/* Why the chain ended. */
typedef enum hob_lod_end {
	HOB_LOD_END_MAX,	/* options.max reached, or LODs are off */
	HOB_LOD_END_SMALL,	/* HOB_LOD_SMALL triangles or fewer are left */
	HOB_LOD_END_ERROR,	/* a further level would exceed options.error */
	HOB_LOD_END_STUCK,	/* topology, borders or seams forbid further collapses */
	HOB_LOD_END_PIECES, /* the next level would lose whole pieces: leaves, hair cards, loose triangles */
} hob_lod_end;

/* HOB_LOD_WORTH: least triangles of a mesh that is expected to have levels. */
enum { HOB_LOD_SMALL = 64, HOB_LOD_WORTH = 500 };

/* A level keeps to `ratio` if it has at most this many times the triangles that `ratio` asks for. */
#define HOB_LOD_NEAR 1.1
/* A chain that does not end with HOB_LOD_END_MAX or _SMALL is short if its last level has so many
 * triangles. */
#define HOB_LOD_SHORT(left, all) ((left) > (all) / 4)

/* Appends coarser levels to levels[0], which the caller fills with the full mesh.
 *
 * levels[0] may have triangles with two corners at one place; no coarser level has any.
 *
 * All levels come from one run of half-edge collapses (simplify.h) over the full mesh: a coarser level uses a
 * subset of the mesh's vertices, unchanged. visible.h weighs attributes against distances. A skinned mesh is
 * simplified in the most bent of options->poses instead of the bind pose.
 *
 * One side of a two-sided sheet (sheets.h) is simplified, and the other mirrors it.
 *
 * A level has as many triangles as `ratio` asks for, within two, or HOB_LOD_SMALL if that is more. If
 * collapses end before a target, a mesh of at least HOB_LOD_WORTH triangles with a short chain
 * (HOB_LOD_SHORT) gets a last level of the triangles left, if they are at most 85 % of the level before.
 *
 * mesh           triangles, finite positions; every vertex used by levels[0]; its indices are not read
 * levels         [options->max] in and out
 * level_count    in: 1; out: number of levels
 * Returns        why it ended
 * The levels' indices and working memory stay in `arena`.
 * Cost           2.5 to 3 microseconds a triangle of level 0 for the whole chain, half of it for measuring
 *                errors.
 * Threads        options->parallel prices collapses, measures errors and orders levels. The result does not
 *                depend on the number of threads.
 * Memory         that of simplify.h, then, once it is released, about 90 bytes a triangle for measuring
 *                errors. */
hob_lod_end hob_lods_build(const hob_mesh *mesh, const hob_lod_options *options, hob_lod_level *levels,
						   uint32_t *level_count, hob_arena *arena);

#endif
