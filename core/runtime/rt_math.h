/* rt_math.h - the few vector operations of the runtime. Sums run in a fixed order, so that the vector and the
 * plain versions give the same bits. */
#ifndef HOB_RT_MATH_H
#define HOB_RT_MATH_H

#include <math.h>
#include <string.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/* out = a * b; out may be a or b. */
static inline void rt_multiply(const float *a, const float *b, float *out)
{
#if defined(__SSE__)
	__m128 c0 = _mm_loadu_ps(a), c1 = _mm_loadu_ps(a + 4), c2 = _mm_loadu_ps(a + 8),
		   c3 = _mm_loadu_ps(a + 12);
	for (int i = 0; i < 16; i += 4) {
		__m128 sum = _mm_mul_ps(c0, _mm_set1_ps(b[i]));
		sum = _mm_add_ps(sum, _mm_mul_ps(c1, _mm_set1_ps(b[i + 1])));
		sum = _mm_add_ps(sum, _mm_mul_ps(c2, _mm_set1_ps(b[i + 2])));
		_mm_storeu_ps(out + i, _mm_add_ps(sum, _mm_mul_ps(c3, _mm_set1_ps(b[i + 3]))));
	}
#elif defined(__ARM_NEON)
	float32x4_t c0 = vld1q_f32(a), c1 = vld1q_f32(a + 4), c2 = vld1q_f32(a + 8), c3 = vld1q_f32(a + 12);
	for (int i = 0; i < 16; i += 4) {
		float32x4_t sum = vmulq_n_f32(c0, b[i]);
		sum = vaddq_f32(sum, vmulq_n_f32(c1, b[i + 1]));
		sum = vaddq_f32(sum, vmulq_n_f32(c2, b[i + 2]));
		vst1q_f32(out + i, vaddq_f32(sum, vmulq_n_f32(c3, b[i + 3])));
	}
#else
	float product[16];
	for (int i = 0; i < 16; i += 4)
		for (int row = 0; row < 4; row++)
			product[i + row] =
				((a[row] * b[i] + a[4 + row] * b[i + 1]) + a[8 + row] * b[i + 2]) + a[12 + row] * b[i + 3];
	memcpy(out, product, sizeof product);
#endif
}

static inline void rt_identity(float *out)
{
	memset(out, 0, 16 * sizeof *out);
	out[0] = out[5] = out[10] = out[15] = 1;
}

/* out = T * R * S for a unit quaternion. */
static inline void rt_compose(const float *t, const float *q, const float *s, float *out)
{
	float x = q[0], y = q[1], z = q[2], w = q[3];
	out[0] = (1 - 2 * (y * y + z * z)) * s[0];
	out[1] = 2 * (x * y + w * z) * s[0];
	out[2] = 2 * (x * z - w * y) * s[0];
	out[3] = 0;
	out[4] = 2 * (x * y - w * z) * s[1];
	out[5] = (1 - 2 * (x * x + z * z)) * s[1];
	out[6] = 2 * (y * z + w * x) * s[1];
	out[7] = 0;
	out[8] = 2 * (x * z + w * y) * s[2];
	out[9] = 2 * (y * z - w * x) * s[2];
	out[10] = (1 - 2 * (x * x + y * y)) * s[2];
	out[11] = 0;
	out[12] = t[0];
	out[13] = t[1];
	out[14] = t[2];
	out[15] = 1;
}

/* To unit length, unless it already has it; a vector without direction becomes the identity. */
static inline void rt_normalise(float *q)
{
	double square = (double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3];
	if (fabs(square - 1) < 1e-6)
		return;
	if (square > 0 && square < 1e300) {
		double scale = 1 / sqrt(square);
		for (int i = 0; i < 4; i++)
			q[i] = (float)(q[i] * scale);
	} else {
		q[0] = q[1] = q[2] = 0;
		q[3] = 1;
	}
}

/* The closest T, R, S of a matrix: scale is the length of the columns; a mirror is a negative x. */
static inline void rt_decompose(const float *m, float *t, float *q, float *s)
{
	float c[3][3];
	memcpy(t, m + 12, 3 * sizeof *t);
	for (int i = 0; i < 3; i++) {
		double length = sqrt((double)m[i * 4] * m[i * 4] + (double)m[i * 4 + 1] * m[i * 4 + 1] +
							 (double)m[i * 4 + 2] * m[i * 4 + 2]);
		s[i] = (float)length;
		for (int k = 0; k < 3; k++)
			c[i][k] = length > 0 ? (float)(m[i * 4 + k] / length) : i == k;
	}
	if (c[0][0] * (c[1][1] * c[2][2] - c[1][2] * c[2][1]) -
			c[0][1] * (c[1][0] * c[2][2] - c[1][2] * c[2][0]) +
			c[0][2] * (c[1][0] * c[2][1] - c[1][1] * c[2][0]) <
		0) {
		s[0] = -s[0];
		for (int k = 0; k < 3; k++)
			c[0][k] = -c[0][k];
	}
	/* Shepperd 1978: divide by the largest component. */
	float trace = c[0][0] + c[1][1] + c[2][2];
	int i = 0;
	if (c[1][1] > c[0][0])
		i = 1;
	if (c[2][2] > c[i][i])
		i = 2;
	int j = (i + 1) % 3, k = (i + 2) % 3;
	if (trace > c[i][i]) {
		q[0] = c[1][2] - c[2][1];
		q[1] = c[2][0] - c[0][2];
		q[2] = c[0][1] - c[1][0];
		q[3] = 1 + trace;
	} else {
		q[i] = 1 + c[i][i] - c[j][j] - c[k][k];
		q[j] = c[i][j] + c[j][i];
		q[k] = c[i][k] + c[k][i];
		q[3] = c[j][k] - c[k][j];
	}
	rt_normalise(q);
}

/* out = a * b: rotates by b first, then by a. out must be neither. */
static inline void rt_quat_multiply(const float *a, const float *b, float *out)
{
	out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
	out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
	out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
	out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

#endif
