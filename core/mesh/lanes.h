/* lanes.h - vectors of three floats, and four floats at a time: an operation on four gives what it gives
 * for one. */
#ifndef HOB_LANES_H
#define HOB_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline void hob_float3_sub(const float a[3], const float b[3], float out[3])
{
	for (int i = 0; i < 3; i++)
		out[i] = a[i] - b[i];
}

static inline float hob_float3_dot(const float a[3], const float b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void hob_float3_cross(const float a[3], const float b[3], float out[3])
{
	out[0] = a[1] * b[2] - a[2] * b[1];
	out[1] = a[2] * b[0] - a[0] * b[2];
	out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Twice a triangle's area, as a vector along its normal. */
static inline void hob_float3_normal(const float a[3], const float b[3], const float c[3], float out[3])
{
	float ab[3], ac[3];
	hob_float3_sub(b, a, ab), hob_float3_sub(c, a, ac);
	hob_float3_cross(ab, ac, out);
}

typedef float hob_lanes __attribute__((vector_size(16)));
typedef int32_t hob_lane_mask __attribute__((vector_size(16)));

static inline hob_lanes hob_lanes_load(const float *from)
{
	hob_lanes out;
	memcpy(&out, from, sizeof out);
	return out;
}

static inline void hob_lanes_store(float *to, hob_lanes a)
{
	memcpy(to, &a, sizeof a);
}

static inline float hob_lanes_sum(hob_lanes a)
{
	typedef float half __attribute__((vector_size(8)));
	half halves[2];
	memcpy(halves, &a, sizeof halves);
	halves[0] += halves[1];
	return halves[0][0] + halves[0][1];
}

/* The lanes of `a` where the mask is set, else 0. */
static inline hob_lanes hob_lanes_if(hob_lane_mask mask, hob_lanes a)
{
	return (hob_lanes)((hob_lane_mask)a & mask);
}

static inline hob_lanes hob_lanes_above_zero(hob_lanes a)
{
	return hob_lanes_if(a > 0, a);
}

/* a > b ? a : b */
static inline hob_lanes hob_lanes_greater(hob_lanes a, hob_lanes b)
{
	return (hob_lanes)(((hob_lane_mask)a & (a > b)) | ((hob_lane_mask)b & ~(a > b)));
}

static inline hob_lanes hob_lanes_root(hob_lanes a)
{
	float x[4];
	hob_lanes_store(x, a);
	for (int i = 0; i < 4; i++)
		x[i] = sqrtf(x[i]);
	return hob_lanes_load(x);
}

static inline hob_lanes hob_lanes_dot(const hob_lanes a[3], const hob_lanes b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline hob_lanes hob_lanes_along(const hob_lanes a[3], const float b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void hob_lanes_cross(const hob_lanes a[3], const hob_lanes b[3], hob_lanes out[3])
{
	out[0] = a[1] * b[2] - a[2] * b[1];
	out[1] = a[2] * b[0] - a[0] * b[2];
	out[2] = a[0] * b[1] - a[1] * b[0];
}

#endif
