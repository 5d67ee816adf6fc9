/* quadric.h - quadrics as functions of a point and its attributes: sums of squared distances to planes, and
 * of squared differences of attributes from their linear interpolation.
 *
 * Coordinates are relative to a centre that the owner stores (a place, and the attributes of a vertex there):
 * values are as small as the triangles around, so single precision suffices. */
#ifndef HOB_QUADRIC_H
#define HOB_QUADRIC_H

#include "lanes.h"

/* Sum of weight * (normal . p + d)^2: p'Ap + 2b'p + c. */
typedef struct hob_quadric {
	float a[6]; /* xx, xy, xz, yy, yz, zz */
	float b[3], c;
	float weight; /* area of triangles; planes at borders and seams add none */
} hob_quadric;

/* Adds a plane through the centre; `normal` has unit length. */
static inline void hob_quadric_add_plane(hob_quadric *q, const float normal[3], float weight)
{
	float x = normal[0], y = normal[1], z = normal[2];
	q->a[0] += weight * x * x, q->a[1] += weight * x * y, q->a[2] += weight * x * z;
	q->a[3] += weight * y * y, q->a[4] += weight * y * z, q->a[5] += weight * z * z;
}

static inline void hob_quadric_times(const float a[6], const float p[3], float out[3])
{
	out[0] = a[0] * p[0] + a[1] * p[1] + a[2] * p[2];
	out[1] = a[1] * p[0] + a[3] * p[1] + a[4] * p[2];
	out[2] = a[2] * p[0] + a[4] * p[1] + a[5] * p[2];
}

static inline float hob_quadric_at(const hob_quadric *q, const float p[3])
{
	float ap[3];
	hob_quadric_times(q->a, p, ap);
	float sum = (ap[0] + 2 * q->b[0]) * p[0] + (ap[1] + 2 * q->b[1]) * p[1] + (ap[2] + 2 * q->b[2]) * p[2];
	return sum + q->c > 0 ? sum + q->c : 0;
}

/* Adds `q`, whose centre plus `way` is the centre of `to`. */
static inline void hob_quadric_add(hob_quadric *to, const hob_quadric *q, const float way[3])
{
	float ap[3];
	hob_quadric_times(q->a, way, ap);
	to->c += hob_quadric_at(q, way);
	for (int i = 0; i < 3; i++)
		to->b[i] += ap[i] + q->b[i];
	for (int i = 0; i < 6; i++)
		to->a[i] += q->a[i];
	to->weight += q->weight;
}

/* Quadric of the attributes of a vertex: [11 + 4 * count] floats, a[6] b[3] c weight as above, then for each
 * attribute the sums of weight * gradient and weight * offset. */
enum { HOB_WEDGE_HEAD = 11, HOB_WEDGE_EACH = 4 };

/* Adds the gradient of one attribute, number `index`, over a triangle whose corner is the centre. */
static inline void hob_wedge_add_gradient(float *w, uint32_t index, const float gradient[3], float weight)
{
	float x = gradient[0], y = gradient[1], z = gradient[2],
		  *each = w + HOB_WEDGE_HEAD + HOB_WEDGE_EACH * index;
	w[0] += weight * x * x, w[1] += weight * x * y, w[2] += weight * x * z;
	w[3] += weight * y * y, w[4] += weight * y * z, w[5] += weight * z * z;
	each[0] += weight * x, each[1] += weight * y, each[2] += weight * z;
}

/* For each attribute multiplies its difference by the sums of gradients and offsets, and adds these terms up;
 * returns the sum of squared differences. */
static inline float hob_wedge_steps(const float *w, uint32_t count, const float *from, const float *to,
									hob_lanes *sums)
{
	const float *each = w + HOB_WEDGE_HEAD;
	float squares = 0;
	*sums = (hob_lanes){0, 0, 0, 0};
	for (uint32_t i = 0; i < count; i++, each += HOB_WEDGE_EACH) {
		float step = to[i] - from[i];
		squares += step * step;
		*sums += step * hob_lanes_load(each);
	}
	return squares;
}

/* The cost of replacing a vertex of attributes `from` by one of attributes `to`, displaced by `way`; both
 * [count]. */
static inline float hob_wedge_at(const float *w, uint32_t count, const float way[3], const float *from,
								 const float *to)
{
	float ap[3];
	hob_lanes sums;
	hob_quadric_times(w, way, ap);
	float sum =
		(ap[0] + 2 * w[6]) * way[0] + (ap[1] + 2 * w[7]) * way[1] + (ap[2] + 2 * w[8]) * way[2] + w[9];
	sum += w[10] * hob_wedge_steps(w, count, from, to, &sums);
	sum -= 2 * (sums[0] * way[0] + sums[1] * way[1] + sums[2] * way[2] + sums[3]);
	return sum > 0 ? sum : 0;
}

/* Adds the quadric of `from` to that of `to`, whose centre is `way` from it. */
static inline void hob_wedge_add(float *w, const float *q, uint32_t count, const float way[3],
								 const float *from, const float *to)
{
	float ap[3];
	hob_lanes sums;
	hob_quadric_times(q, way, ap);
	w[9] += hob_wedge_at(q, count, way, from, to);
	hob_wedge_steps(q, count, from, to, &sums);
	for (int i = 0; i < 3; i++)
		w[6 + i] += q[6 + i] + ap[i] - sums[i];
	for (int i = 0; i < 6; i++)
		w[i] += q[i];
	w[10] += q[10];
	for (uint32_t k = 0; k < count; k++) {
		const float *each = q + HOB_WEDGE_HEAD + HOB_WEDGE_EACH * k;
		float *sum = w + HOB_WEDGE_HEAD + HOB_WEDGE_EACH * k, step = to[k] - from[k];
		for (int i = 0; i < 4; i++)
			sum[i] += each[i];
		sum[3] += each[0] * way[0] + each[1] * way[1] + each[2] * way[2] - q[10] * step;
	}
}

#endif
