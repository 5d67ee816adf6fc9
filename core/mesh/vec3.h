/* vec3.h - three-component vectors in double precision for the mesh algorithms: products of finite floats
 * neither overflow nor underflow, and sums hardly depend on their order. */
#ifndef HOB_VEC3_H
#define HOB_VEC3_H

#include <math.h>
#include <stdint.h>

typedef struct hob_vec3 {
	double x, y, z;
} hob_vec3;

static inline hob_vec3 hob_vec3_load(const float *p)
{
	return (hob_vec3){(double)p[0], (double)p[1], (double)p[2]};
}
static inline void hob_vec3_store(float *p, hob_vec3 v)
{
	p[0] = (float)v.x, p[1] = (float)v.y, p[2] = (float)v.z;
}
static inline hob_vec3 hob_vec3_add(hob_vec3 a, hob_vec3 b)
{
	return (hob_vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline hob_vec3 hob_vec3_sub(hob_vec3 a, hob_vec3 b)
{
	return (hob_vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline hob_vec3 hob_vec3_scale(hob_vec3 a, double s)
{
	return (hob_vec3){a.x * s, a.y * s, a.z * s};
}
static inline double hob_vec3_dot(hob_vec3 a, hob_vec3 b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline hob_vec3 hob_vec3_cross(hob_vec3 a, hob_vec3 b)
{
	return (hob_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline double hob_vec3_length(hob_vec3 a)
{
	return sqrt(hob_vec3_dot(a, a));
}
static inline double hob_vec3_between(const float *p, const float *q)
{
	return hob_vec3_length(hob_vec3_sub(hob_vec3_load(p), hob_vec3_load(q)));
}
/* The zero vector for a vector of length zero or a length that is not finite. */
static inline hob_vec3 hob_vec3_unit(hob_vec3 a)
{
	double length = hob_vec3_length(a);
	return length > 0 && length < HUGE_VAL ? hob_vec3_scale(a, 1 / length) : (hob_vec3){0, 0, 0};
}
/* `v` without its component along the unit vector `n`. */
static inline hob_vec3 hob_vec3_reject(hob_vec3 v, hob_vec3 n)
{
	return hob_vec3_sub(v, hob_vec3_scale(n, hob_vec3_dot(n, v)));
}
/* Some unit vector perpendicular to the unit vector `n`. */
static inline hob_vec3 hob_vec3_perpendicular(hob_vec3 n)
{
	double x = fabs(n.x), y = fabs(n.y), z = fabs(n.z);
	hob_vec3 axis = x <= y && x <= z ? (hob_vec3){1, 0, 0}
					: y <= z		 ? (hob_vec3){0, 1, 0}
									 : (hob_vec3){0, 0, 1};
	return hob_vec3_unit(hob_vec3_reject(axis, n));
}

/* Arc cosine of `c`, clamped to [-1, 1], within 2e-8. Built from operations that IEEE 754 rounds exactly,
 * because the acos of different C libraries differs in its last bit and cooked bytes must not. Source:
 * Abramowitz and Stegun, Handbook of Mathematical Functions, 4.4.46. */
static inline double hob_arc_cosine(double c)
{
	static const double a[8] = {1.5707963050, -0.2145988016, 0.0889789874, -0.0501743046,
								0.0308918810, -0.0170881256, 0.0066700901, -0.0012624911};
	double x = c < -1 ? 1 : c < 0 ? -c : c < 1 ? c : 1;
	double sum = a[7];
	for (int i = 6; i >= 0; i--)
		sum = sum * x + a[i];
	double angle = sqrt(1 - x) * sum;
	return c < 0 ? 3.14159265358979323846 - angle : angle;
}

/* Angle at the middle one of three points after projection on the plane of the unit normal `n`; 0 when a side
 * vanishes. */
static inline double hob_corner_angle(hob_vec3 before, hob_vec3 at, hob_vec3 after, hob_vec3 n)
{
	hob_vec3 a = hob_vec3_unit(hob_vec3_reject(hob_vec3_sub(before, at), n));
	hob_vec3 b = hob_vec3_unit(hob_vec3_reject(hob_vec3_sub(after, at), n));
	if (hob_vec3_dot(a, a) == 0 || hob_vec3_dot(b, b) == 0)
		return 0;
	return hob_arc_cosine(hob_vec3_dot(a, b));
}

/* Puts two zeros after each of ten bits: three such numbers interleaved are a Morton code. */
static inline uint32_t hob_spread_bits(uint32_t bits)
{
	bits = (bits | bits << 16) & 0x030000FF;
	bits = (bits | bits << 8) & 0x0300F00F;
	bits = (bits | bits << 4) & 0x030C30C3;
	return (bits | bits << 2) & 0x09249249;
}

#endif
