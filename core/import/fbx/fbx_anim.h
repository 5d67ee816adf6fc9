/* fbx_anim.h - the animation of each clip: layers of curves per object and property, and their values at a
 * time. */
#ifndef HOB_FBX_ANIM_H
#define HOB_FBX_ANIM_H

#include "fbx_curve.h"

typedef struct hob_fbx_layer_state {
	uint32_t object; /* HOB_NONE: the one layer of a Take */
	double weight;	 /* 0..1 */
	const hob_fbx_curve *weight_curve;
	uint32_t mode; /* 0 additive, 1 override, 2 override-passthrough */
	bool by_channel, scale_adds, silent;
} hob_fbx_layer_state;

typedef struct hob_fbx_clip {
	hob_str name;
	uint32_t object;   /* HOB_NONE: a Take */
	double begin, end; /* seconds */
	bool from_keys;	   /* the file states no times */
	uint32_t layer_first, layer_count;
} hob_fbx_clip;

/* One property of one object in one layer. */
typedef struct hob_fbx_motion {
	uint32_t clip, object, layer; /* layer: index in hob_fbx_anim.layers */
	hob_str property;
	double otherwise[3];
	const hob_fbx_curve *curves[3];
} hob_fbx_motion;

typedef struct hob_fbx_anim {
	hob_fbx_clip *clips;
	uint32_t clip_count;
	hob_fbx_layer_state *layers;
	uint32_t layer_count;
	hob_fbx_motion *motions; /* sorted by clip, object, property, layer */
	uint32_t motion_count;
} hob_fbx_anim;

extern const hob_str hob_fbx_lcl[3]; /* the properties of translation, rotation and scale */
/* The other animated parts of a node's transform: four offsets and pivots in the order of hob_fbx_rig, then
 * pre- and post-rotation. */
enum { HOB_FBX_RIG_PARTS = 6 };
extern const hob_str hob_fbx_rig_parts[HOB_FBX_RIG_PARTS];

/* The motions of one property of an object in a clip, in the order of layers. */
typedef struct hob_fbx_motions {
	const hob_fbx_motion *first;
	uint32_t count;
} hob_fbx_motions;

hob_fbx_motions hob_fbx_motions_of(const hob_fbx *f, uint32_t clip, uint32_t object, hob_str property);

#endif
