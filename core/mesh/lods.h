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
	/* the same of the average point of both surfaces, in the mesh's own pose; at most `error` */
	float mean_error;
	/* of attributes (lod_attributes.h); never less than a finer level's; 0 for level 0 */
	hob_attribute_error attributes;
} hob_lod_level;

/* Why the chain ended. */
typedef enum hob_lod_end {
	HOB_LOD_END_MAX,	/* options.max reached, or LODs are off */
	HOB_LOD_END_SMALL,	/* HOB_LOD_SMALL triangles or fewer are left */
	HOB_LOD_END_ERROR,	/* the error is used up */
	HOB_LOD_END_STUCK,	/* topology, borders or seams hold what is left */
	HOB_LOD_END_PIECES, /* the next level would lose whole pieces: leaves, hair cards, loose triangles */
} hob_lod_end;

/* HOB_LOD_WORTH: a mesh of so many triangles is expected to have levels. */
enum { HOB_LOD_SMALL = 64, HOB_LOD_WORTH = 500 };

/* A level keeps `ratio` when it has at most this many times the triangles that it asks for. */
#define HOB_LOD_NEAR 1.1
/* A chain is short that ends with so many of all triangles, not because of HOB_LOD_END_MAX or _SMALL. */
#define HOB_LOD_SHORT(left, all) ((left) > (all) / 4)

/* Appends coarser levels behind levels[0], which the caller fills with the full mesh.
 *
 * Triangles two of whose corners are at one place may be in it: they tell the
 * simplifier what hangs together. No coarser level has any.
 *
 * All levels come from one run of half-edge collapses (simplify.h) over the full mesh: nothing moves and
 * nothing is blended, a coarser level names a subset of the vertices of the mesh, so their attributes hold.
 * Attributes count as visible.h says. Of skinned meshes the most bent of options->poses is simplified instead
 * of the bind pose.
 *
 * Of sheets with two sides (sheets.h) one side is simplified, and the other has its mirror: both keep the
 * same triangles.
 *
 * A level has as many triangles as `ratio` says, but for two, or HOB_LOD_SMALL. Where collapses end earlier,
 * a mesh of HOB_LOD_WORTH triangles that has a short chain so far has one more level of what is left, if that
 * is at most 85 % of the level before.
 *
 * mesh           triangles, finite positions; every vertex used by levels[0]; its indices are not read
 * levels         [options->max] in and out
 * level_count    in: 1; out: number of levels
 * end            out: why it ended
 * The levels' indices and what is needed to make them stay in `arena`. Errors: MEMORY.
 * Cost           2.5 to 3 microseconds a triangle of level 0 for the whole chain, half of it for measuring
 *                errors.
 * Threads        options->parallel prices collapses, measures errors and orders levels. The result does not
 *                depend on the number of threads.
 * Memory         simplify.h; what measuring errors needs, about 90 bytes a triangle, comes afterwards. */
bool hob_lods_build(const hob_mesh *mesh, const hob_lod_options *options, hob_lod_level *levels,
					uint32_t *level_count, hob_lod_end *end, hob_arena *arena, hob_error *err) HOB_MUST_CHECK;

#endif
