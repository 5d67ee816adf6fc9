/* fbx_anim.h - the animation of each clip: layers of curves per object and property, and their values at a
 * time. */
#ifndef HOB_FBX_ANIM_H
#define HOB_FBX_ANIM_H

#include "fbx_private.h"

/* ---- a curve: keys, tangents, extrapolation, and its value at a time ---- */

typedef enum hob_fbx_segment {
	HOB_FBX_FLAT,
	HOB_FBX_STEPPED,
	HOB_FBX_LINEAR,
	HOB_FBX_CUBIC,
	HOB_FBX_WEIGHTED
} hob_fbx_segment;

/* A key and the segment to the next one. Slopes are per second, weights fractions of the segment's length. */
typedef struct hob_fbx_key {
	double time, value;
	uint8_t kind; /* hob_fbx_segment, never FLAT */
	bool to_next; /* stepped: holds the next key's value */
	float slope_out, slope_in, weight_out, weight_in;
} hob_fbx_key;

typedef struct hob_fbx_beyond {
	char type;			/* C constant, K slope, R repeat, M mirror, A repeat relative */
	int64_t repetition; /* below 0: infinite */
} hob_fbx_beyond;

typedef struct hob_fbx_curve {
	hob_fbx_key *keys; /* times rise */
	uint32_t count;	   /* at least 1 */
	uint32_t *seen;	   /* cache: key after the last time evaluated; times mostly rise */
	hob_fbx_beyond before, behind;
} hob_fbx_curve;

/* A curve evaluated at a time, from one side of it. */
typedef struct hob_fbx_reading {
	double value, slope;
	hob_fbx_segment kind; /* FLAT outside the keys */
	bool beyond;		  /* outside the keys, and not constant there */
} hob_fbx_reading;

/* `side` < 0: limit from before; > 0: from after; 0: as from after, but at the last key its own value, even
 * if a repetition starts with another one. O(1) for rising times, else O(log count). */
hob_fbx_reading hob_fbx_curve_at(const hob_fbx_curve *curve, double time, int side);

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
