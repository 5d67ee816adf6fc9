/* usd_skel.h - skeletons, skins and blend shapes (usd_skel.c, usd_blend.c) and what moves them
 * (usd_skel_clip.c). */
#ifndef HOB_USD_SKEL_H
#define HOB_USD_SKEL_H

#include "usd_build.h"

typedef struct hob_usd_skeleton {
	uint32_t prim, node;
	hob_name_map by_name; /* joint path -> its number */
	uint32_t joint_count;
	uint32_t *nodes;	/* [joint_count] in the model */
	double (*bind)[16]; /* [joint_count] of the skeleton's space */
} hob_usd_skeleton;

/* A node whose meshes a skeleton bends. */
typedef struct hob_usd_skinned {
	uint32_t prim, node;
} hob_usd_skinned;

/* Skeletons and blend shapes bend only what is below a SkelRoot. Source: UsdSkel, "SkelRoot". */
bool hob_usd_below_skel_root(const hob_usd *u, uint32_t prim);

/* The first target of a relationship of the prim or of its nearest ancestor that has one; HOB_NONE
 * without. */
bool hob_usd_inherited_target(hob_usd *u, uint32_t prim, hob_str name, uint32_t *out,
							  hob_error *err) HOB_MUST_CHECK;
/* Joint nodes below a Skeleton prim's node, in their rest pose. */
bool hob_usd_build_skeleton(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_error *err) HOB_MUST_CHECK;
/* Remembers that the meshes of a node may be bent. */
bool hob_usd_skin_later(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_error *err) HOB_MUST_CHECK;
/* Joints and weights, and blend shapes, of a mesh whose vertices are the given points of the prim. */
bool hob_usd_put_influences(hob_usd_build_t *b, uint32_t prim, const uint32_t *points, hob_mesh *mesh,
							hob_error *err) HOB_MUST_CHECK;
bool hob_usd_put_shapes(hob_usd_build_t *b, uint32_t prim, const uint32_t *points, hob_mesh *mesh,
						hob_error *err) HOB_MUST_CHECK;
/* The skins of all nodes that were remembered. */
bool hob_usd_build_skins(hob_usd_build_t *b, hob_error *err) HOB_MUST_CHECK;

/* ---- usd_inbetween.c: shapes that do not go straight to their end ---- */

typedef struct hob_usd_inbetween {
	hob_str property; /* "inbetweens:NAME" */
	double weight;	  /* of the shape where these offsets are reached; neither 0 nor 1 */
} hob_usd_inbetween;

/* A target that is reached at another weight of its shape than 1. */
typedef struct hob_usd_knot {
	const char *target; /* data of the target's name, which tells it from others */
	hob_str shape;
	double weight;
} hob_usd_knot;

/* Shapes between rest and full of a BlendShape prim, in scratch memory. */
bool hob_usd_inbetweens(hob_usd *u, const hob_usd_prim *shape, hob_usd_inbetween **out, uint32_t *count,
						hob_error *err) HOB_MUST_CHECK;
bool hob_usd_knot_add(hob_usd_build_t *b, const hob_morph_target *target, hob_str shape, double weight,
					  hob_error *err) HOB_MUST_CHECK;
/* The shape that a target belongs to: its own name, unless it is an in-between. */
hob_str hob_usd_shape_of(const hob_usd_build_t *b, const hob_morph_target *target);
/* Weight of a target when its shape has the weight `weight`. */
double hob_usd_target_weight(const hob_usd_build_t *b, const hob_mesh *mesh, uint32_t target, double weight);
/* Times at which the targets' weights need keys: those of the samples, and where a shape passes one of its
 * in-betweens. column: [target_count] place of each target's shape in the samples, SIZE_MAX: none. In scratch
 * memory, rising. */
bool hob_usd_weight_times(hob_usd_build_t *b, const hob_mesh *mesh, const hob_usd_samples *samples,
						  const size_t *column, double **out, size_t *count, hob_error *err) HOB_MUST_CHECK;

/* ---- usd_clip.c: a clip that grows ---- */

/* A channel with room for `keys` keys; its values are filled by the caller. */
bool hob_usd_add_channel(hob_usd_build_t *b, uint32_t node, hob_path path, uint32_t components, size_t keys,
						 hob_track **out, hob_error *err) HOB_MUST_CHECK;
/* Takes the last channel away when nothing moves in it: all keys are alike and equal to `rest` (may be
 * NULL). */
void hob_usd_drop_still(hob_usd_build_t *b, const float *rest);
/* Seconds of a time of the stage. */
float hob_usd_seconds(const hob_usd *u, double time);
/* The joints' and shapes' tracks of all skeletons. */
bool hob_usd_skeleton_clips(hob_usd_build_t *b, hob_error *err) HOB_MUST_CHECK;

#endif
