/* fbx_curve.h - one animation curve: keys, tangents, extrapolation, and its value at a time. */
#ifndef HOB_FBX_CURVE_H
#define HOB_FBX_CURVE_H

#include "fbx_private.h"

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

#endif
