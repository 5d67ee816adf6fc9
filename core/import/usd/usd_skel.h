/* usd_skel.h - skeletons, skins and blend shapes and their animation. */
#ifndef HOB_USD_SKEL_H
#define HOB_USD_SKEL_H

#include "usd_build.h"

typedef struct hob_usd_skeleton {
	uint32_t prim, node;
	hob_name_map by_name; /* joint path -> number */
	uint32_t joint_count;
	uint32_t *nodes;	/* [joint_count] in the model */
	double (*bind)[16]; /* [joint_count] in the skeleton's space */
} hob_usd_skeleton;

/* A node whose meshes a skeleton deforms. */
typedef struct hob_usd_skinned {
	uint32_t prim, node;
} hob_usd_skinned;

/* Skeletons and blend shapes apply only below a SkelRoot. Source: UsdSkel, "SkelRoot". */
bool hob_usd_below_skel_root(const hob_usd *u, uint32_t prim);

/* Creates joint nodes below a Skeleton prim's node, in their rest pose. */
void hob_usd_build_skeleton(hob_usd_build_t *b, uint32_t prim, uint32_t node);
/* Registers a node whose meshes may be skinned. */
void hob_usd_skin_later(hob_usd_build_t *b, uint32_t prim, uint32_t node);
/* Joints, weights and blend shapes of a mesh whose vertices are the given points of the prim. */
void hob_usd_put_influences(hob_usd_build_t *b, uint32_t prim, const uint32_t *points, hob_mesh *mesh);
void hob_usd_put_shapes(hob_usd_build_t *b, uint32_t prim, const uint32_t *points, hob_mesh *mesh);
/* The skins of all registered nodes. */
void hob_usd_build_skins(hob_usd_build_t *b);

/* ---- blend shapes with in-betweens ---- */

typedef struct hob_usd_inbetween {
	hob_str property; /* "inbetweens:NAME" */
	double weight;	  /* the shape's weight at these offsets; neither 0 nor 1 */
} hob_usd_inbetween;

/* The morph target of an in-between: full at a weight of its shape other than 1. */
typedef struct hob_usd_knot {
	const char *target; /* name.data of the morph target, which identifies it */
	hob_str shape;
	double weight;
} hob_usd_knot;

/* ---- usd_clip.c: channels of the clip ---- */

/* A channel with room for `keys` keys; the caller fills the values. */
hob_track *hob_usd_add_channel(hob_usd_build_t *b, uint32_t node, hob_path path, uint32_t components,
							   size_t keys);
/* Removes the last channel if all keys are equal, and equal to `rest` (may be NULL). */
void hob_usd_drop_still(hob_usd_build_t *b, const float *rest);
/* Seconds of a stage time. */
float hob_usd_seconds(const hob_usd *u, double time);
/* Tracks of all skeletons' joints and shapes. */
void hob_usd_skeleton_clips(hob_usd_build_t *b);

#endif
