#include "model.h"

#include <math.h>

void hob_matrix_multiply(const float a[16], const float b[16], float out[16])
{
	float product[16];
	for (int column = 0; column < 4; column++)
		for (int row = 0; row < 4; row++) {
			float sum = 0;
			for (int k = 0; k < 4; k++)
				sum += a[k * 4 + row] * b[column * 4 + k];
			product[column * 4 + row] = sum;
		}
	memcpy(out, product, sizeof product);
}

static void compose(const float t[3], const float q[4], const float s[3], float out[16])
{
	float x = q[0], y = q[1], z = q[2], w = q[3];
	float rotation[3][3] = {
		{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
		{2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
		{2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)},
	};
	for (int column = 0; column < 3; column++) {
		for (int row = 0; row < 3; row++)
			out[column * 4 + row] = rotation[column][row] * s[column];
		out[column * 4 + 3] = 0;
		out[12 + column] = t[column];
	}
	out[15] = 1;
}

void hob_node_local_matrix(const hob_node *node, float out[16])
{
	if (node->has_matrix)
		memcpy(out, node->matrix, sizeof node->matrix);
	else
		compose(node->translation, node->rotation, node->scale, out);
}

typedef struct basis {
	double column[3][3];
} basis_t;

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
	out[0] = a[1] * b[2] - a[2] * b[1];
	out[1] = a[2] * b[0] - a[0] * b[2];
	out[2] = a[0] * b[1] - a[1] * b[0];
}

static double determinant(const basis_t *m)
{
	double c[3];
	cross(m->column[1], m->column[2], c);
	return dot(m->column[0], c);
}

static bool normalise(double v[3])
{
	double length = sqrt(dot(v, v));
	if (!(length > 0))
		return false;
	for (int i = 0; i < 3; i++)
		v[i] /= length;
	return true;
}

/* Removes the component of `v` along the unit vector `axis`; false if (nearly) nothing is left. */
static bool reject_axis(double v[3], const double axis[3])
{
	double before = dot(v, v), along = dot(v, axis);
	for (int i = 0; i < 3; i++)
		v[i] -= along * axis[i];
	return dot(v, v) > 1e-12 * before && normalise(v);
}

static void any_perpendicular(const double v[3], double out[3])
{
	int smallest = fabs(v[0]) <= fabs(v[1]) ? 0 : 1;
	if (fabs(v[2]) < fabs(v[smallest]))
		smallest = 2;
	double axis[3] = {0};
	axis[smallest] = 1;
	cross(v, axis, out);
	normalise(out);
}

/* Builds a right-handed orthonormal basis. Each non-zero column keeps its direction as far as the columns
 * before it allow. */
static void gram_schmidt(basis_t *m)
{
	double(*c)[3] = m->column;
	bool have[3];
	have[0] = normalise(c[0]);
	have[1] = normalise(c[1]) && (!have[0] || reject_axis(c[1], c[0]));
	have[2] =
		normalise(c[2]) && (!have[0] || reject_axis(c[2], c[0])) && (!have[1] || reject_axis(c[2], c[1]));
	int count = have[0] + have[1] + have[2];
	if (count == 0) {
		*m = (basis_t){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
		return;
	}
	int first = have[0] ? 0 : have[1] ? 1 : 2;
	if (count == 1) {
		any_perpendicular(c[first], c[(first + 1) % 3]);
		have[(first + 1) % 3] = true;
	}
	for (int i = 0; i < 3; i++)
		if (!have[i])
			cross(c[(i + 1) % 3], c[(i + 2) % 3], c[i]);
	if (determinant(m) < 0)
		cross(c[0], c[1], c[2]);
}

/* Nearest rotation to a basis with unit columns: Newton's iteration for the polar factor (Higham 1986). */
static void nearest_rotation(basis_t *m)
{
	if (fabs(determinant(m)) < 1e-4) {
		gram_schmidt(m);
		return;
	}
	for (int round = 0; round < 20; round++) {
		basis_t inverse_transpose;
		double d = determinant(m), change = 0;
		for (int i = 0; i < 3; i++)
			cross(m->column[(i + 1) % 3], m->column[(i + 2) % 3], inverse_transpose.column[i]);
		for (int i = 0; i < 9; i++) {
			double *entry = &m->column[i / 3][i % 3];
			double next = (*entry + inverse_transpose.column[i / 3][i % 3] / d) / 2;
			change = fmax(change, fabs(next - *entry));
			*entry = next;
		}
		if (change < 1e-14)
			break;
	}
}

static void quaternion_of(const basis_t *m, float out[4])
{
	const double(*c)[3] = m->column;
	double q[4], trace = c[0][0] + c[1][1] + c[2][2];
	if (trace > 0) {
		double s = 2 * sqrt(trace + 1);
		q[0] = (c[1][2] - c[2][1]) / s, q[1] = (c[2][0] - c[0][2]) / s, q[2] = (c[0][1] - c[1][0]) / s;
		q[3] = s / 4;
	} else {
		int i = c[0][0] >= c[1][1] ? 0 : 1;
		if (c[2][2] > c[i][i])
			i = 2;
		int j = (i + 1) % 3, k = (i + 2) % 3;
		double s = 2 * sqrt(fmax(1 + c[i][i] - c[j][j] - c[k][k], 1e-30));
		q[i] = s / 4;
		q[j] = (c[i][j] + c[j][i]) / s, q[k] = (c[i][k] + c[k][i]) / s;
		q[3] = (c[j][k] - c[k][j]) / s;
	}
	double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
	for (int i = 0; i < 4; i++)
		out[i] = (float)(q[i] / length);
}

static bool close_to(const float a[16], const float b[16])
{
	float largest = 0;
	for (int i = 0; i < 12; i++)
		largest = fmaxf(largest, fabsf(a[i]));
	for (int i = 0; i < 12; i++)
		if (!(fabsf(a[i] - b[i]) <= 1e-5f * largest))
			return false;
	return a[15] == 1;
}

bool hob_matrix_decompose(const float matrix[16], float t[3], float r[4], float s[3])
{
	basis_t m;
	bool finite = true;
	for (int i = 0; i < 16; i++)
		finite = finite && isfinite(matrix[i]);
	for (int i = 0; i < 3; i++) {
		t[i] = finite ? matrix[12 + i] : 0;
		for (int row = 0; row < 3; row++)
			m.column[i][row] = matrix[i * 4 + row];
	}
	if (!finite) {
		r[0] = r[1] = r[2] = 0, r[3] = 1;
		s[0] = s[1] = s[2] = 1;
		return false;
	}
	basis_t source = m;
	double length[3];
	bool zero = false;
	for (int i = 0; i < 3; i++) {
		length[i] = sqrt(dot(m.column[i], m.column[i]));
		zero = !normalise(m.column[i]) || zero;
	}
	bool mirrored = determinant(&m) < 0;
	if (mirrored)
		for (int row = 0; row < 3; row++)
			m.column[0][row] = -m.column[0][row];
	if (zero)
		gram_schmidt(&m);
	else
		nearest_rotation(&m);
	quaternion_of(&m, r);
	for (int i = 0; i < 3; i++)
		s[i] = (float)(mirrored && i == 0 ? -length[i] : length[i]);
	float composed[16];
	compose(t, r, s, composed);
	if (close_to(matrix, composed))
		return true;
	/* With shear, the best scale along an axis is the column's projection on it, not the column's length. */
	for (int i = 0; i < 3; i++)
		s[i] = (float)dot(source.column[i], m.column[i]);
	return false;
}
