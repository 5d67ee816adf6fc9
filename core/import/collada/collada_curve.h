/* collada_curve.h - animation curves: numbers over time, from <sampler>.
 *
 * STEP, LINEAR and BEZIER segments; HERMITE and CARDINAL become BEZIER, BSPLINE becomes LINEAR (noted).
 * Control points stay within the times of their segment, so that each time has one value. The curve is
 * constant before the first key and after the last. */
#ifndef HOB_COLLADA_CURVE_H
#define HOB_COLLADA_CURVE_H

#include "collada_private.h"

typedef enum hob_collada_mode { HOB_COLLADA_LINEAR, HOB_COLLADA_STEP, HOB_COLLADA_BEZIER } hob_collada_mode;

typedef struct hob_collada_curve {
	uint32_t key_count, width;
	float *times;	/* [key_count] strictly rising */
	float *values;	/* [key_count][width] */
	uint8_t *modes; /* [key_count] mode of the segment after each key */
	/* [key_count][width][2] control points (time, value) before and after each key; NULL without BEZIER */
	float *in, *out;
} hob_collada_curve;

/* Kinds of segments in a curve. */
typedef struct hob_collada_curve_kinds {
	/* `cubic`: BEZIER with control points at the thirds, a polynomial of time; `bent`: any other BEZIER */
	bool step, linear, cubic, bent;
} hob_collada_curve_kinds;

/* Reads <sampler> between pass and passed, into scratch; *out is empty (key_count 0) without keys. */
void hob_collada_read_curve(hob_collada *c, hob_xml_ptr sampler, hob_collada_curve *out);

hob_collada_curve_kinds hob_collada_curve_kind(const hob_collada_curve *curve);

/* Value of component k at time t, and its slope (may be NULL); O(log keys). `left`: from just before t. */
double hob_collada_curve_at(const hob_collada_curve *curve, uint32_t k, double t, bool left, double *slope);

#endif
