/* affine.h - affine transforms in double precision, for work that multiplies with inverses. */
#ifndef HOB_AFFINE_H
#define HOB_AFFINE_H

#include "../model/model.h"

/* Column-major 3 x 4: columns 0..2 the axes, column 3 the translation. */
typedef struct hob_affine {
	double m[12];
} hob_affine;

static inline hob_affine hob_affine_identity(void)
{
	return (hob_affine){{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}};
}

/* False if the last row is not 0 0 0 1: a projection. */
static inline bool hob_affine_from(const float matrix[16], hob_affine *out)
{
	for (int column = 0; column < 4; column++)
		for (int row = 0; row < 3; row++)
			out->m[3 * column + row] = (double)matrix[4 * column + row];
	return matrix[3] == 0 && matrix[7] == 0 && matrix[11] == 0 && matrix[15] == 1;
}

static inline hob_affine hob_affine_multiply(const hob_affine *a, const hob_affine *b)
{
	hob_affine out;
	for (int column = 0; column < 4; column++)
		for (int row = 0; row < 3; row++) {
			double sum = column == 3 ? a->m[9 + row] : 0;
			for (int k = 0; k < 3; k++)
				sum += a->m[3 * k + row] * b->m[3 * column + k];
			out.m[3 * column + row] = sum;
		}
	return out;
}

/* Cofactors of the linear part: its determinant times the transposed inverse; normals are transformed by
 * it. */
static inline void hob_affine_cofactors(const hob_affine *a, double out[9])
{
	const double *m = a->m;
	for (int column = 0; column < 3; column++) {
		const double *p = m + 3 * ((column + 1) % 3), *q = m + 3 * ((column + 2) % 3);
		out[3 * column] = p[1] * q[2] - p[2] * q[1];
		out[3 * column + 1] = p[2] * q[0] - p[0] * q[2];
		out[3 * column + 2] = p[0] * q[1] - p[1] * q[0];
	}
}

static inline double hob_affine_determinant(const hob_affine *a)
{
	double c[9];
	hob_affine_cofactors(a, c);
	return a->m[0] * c[0] + a->m[1] * c[1] + a->m[2] * c[2];
}

/* False if the linear part has no inverse, or one that is not finite. */
static inline bool hob_affine_invert(const hob_affine *a, hob_affine *out)
{
	double c[9], det = hob_affine_determinant(a);
	if (!(det < 0 || det > 0) || det - det != 0)
		return false;
	hob_affine_cofactors(a, c);
	for (int column = 0; column < 3; column++)
		for (int row = 0; row < 3; row++)
			out->m[3 * column + row] = c[3 * row + column] / det;
	for (int row = 0; row < 3; row++)
		out->m[9 + row] = -(out->m[row] * a->m[9] + out->m[3 + row] * a->m[10] + out->m[6 + row] * a->m[11]);
	for (int i = 0; i < 12; i++)
		if (out->m[i] - out->m[i] != 0)
			return false;
	return true;
}

static inline void hob_affine_apply(const double *m, double w, const float in[3], double out[3])
{
	for (int row = 0; row < 3; row++)
		out[row] = m[row] * (double)in[0] + m[3 + row] * (double)in[1] + m[6 + row] * (double)in[2] +
				   (w != 0 ? m[9 + row] * w : 0);
}

#endif
