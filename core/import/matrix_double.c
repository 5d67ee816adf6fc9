#include "matrix_double.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

void hob_matrix_multiply_double(const double a[16], const double b[16], double out[16])
{
	double product[16];
	for (int column = 0; column < 4; column++)
		for (int row = 0; row < 4; row++) {
			double sum = 0;
			for (int k = 0; k < 4; k++)
				sum += a[k * 4 + row] * b[column * 4 + k];
			product[column * 4 + row] = sum;
		}
	memcpy(out, product, sizeof product);
}

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
	for (int k = 0; k < 3; k++)
		out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

/* Rotation matrix, by columns, to a quaternion. */
static void to_quaternion(double m[3][3], double q[4])
{
	double trace = m[0][0] + m[1][1] + m[2][2];
	int i = m[1][1] > m[0][0] ? 1 : 0;
	i = m[2][2] > m[i][i] ? 2 : i;
	if (trace > 0) {
		double s = sqrt(trace + 1) * 2;
		q[3] = s / 4;
		for (int k = 0; k < 3; k++)
			q[k] = (m[(k + 1) % 3][(k + 2) % 3] - m[(k + 2) % 3][(k + 1) % 3]) / s;
	} else {
		int j = (i + 1) % 3, k = (i + 2) % 3;
		double s = sqrt(fmax(1 + m[i][i] - m[j][j] - m[k][k], 1e-30)) * 2;
		q[i] = s / 4;
		q[j] = (m[i][j] + m[j][i]) / s;
		q[k] = (m[i][k] + m[k][i]) / s;
		q[3] = (m[j][k] - m[k][j]) / s;
	}
	double length = sqrt(dot(q, q) + q[3] * q[3]);
	for (int k = 0; k < 4; k++)
		q[k] /= length;
}

static void from_quaternion(const double q[4], double m[3][3])
{
	double x = q[0], y = q[1], z = q[2], w = q[3];
	m[0][0] = 1 - 2 * (y * y + z * z), m[0][1] = 2 * (x * y + z * w), m[0][2] = 2 * (x * z - y * w);
	m[1][0] = 2 * (x * y - z * w), m[1][1] = 1 - 2 * (x * x + z * z), m[1][2] = 2 * (y * z + x * w);
	m[2][0] = 2 * (x * z + y * w), m[2][1] = 2 * (y * z - x * w), m[2][2] = 1 - 2 * (x * x + y * y);
}

/* One Jacobi rotation of columns i and k of b and v, to make b's orthogonal. True if they already were. */
static bool turn_pair(double b[3][3], double v[3][3], int i, int k)
{
	double off = dot(b[i], b[k]), at_i = dot(b[i], b[i]), at_k = dot(b[k], b[k]);
	if (fabs(off) <= 1e-15 * sqrt(at_i * at_k) || off == 0)
		return true;
	double zeta = (at_k - at_i) / (2 * off);
	double tangent = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
	double c = 1 / sqrt(1 + tangent * tangent), s = c * tangent;
	for (int row = 0; row < 3; row++) {
		double left = b[i][row], right = b[k][row];
		b[i][row] = c * left - s * right, b[k][row] = s * left + c * right;
		left = v[i][row], right = v[k][row];
		v[i][row] = c * left - s * right, v[k][row] = s * left + c * right;
	}
	return false;
}

/* Orthonormal columns of b. A column of zero length is replaced by one orthogonal to the others. */
static void unit_columns(double b[3][3], const double scale[3], double u[3][3])
{
	double most = fmax(scale[0], fmax(scale[1], scale[2]));
	int missing = 0, last = 0;
	for (int i = 0; i < 3; i++) {
		bool none = !(scale[i] > 1e-12 * most);
		missing += none;
		last = none ? i : last;
		for (int row = 0; row < 3; row++)
			u[i][row] = none ? 0 : b[i][row] / scale[i];
	}
	if (missing == 3) {
		for (int i = 0; i < 3; i++)
			u[i][i] = 1;
		return;
	}
	if (missing == 2) {
		/* Any direction orthogonal to the only column. */
		int only = (last + 1) % 3;
		only = dot(u[only], u[only]) > 0.5 ? only : (last + 2) % 3;
		int axis = fabs(u[only][0]) < 0.6 ? 0 : 1, other = (only + 1) % 3;
		double along[3] = {axis == 0, axis == 1, 0};
		cross(u[only], along, u[other]);
		double length = sqrt(dot(u[other], u[other]));
		for (int row = 0; row < 3; row++)
			u[other][row] /= length;
		last = (only + 2) % 3;
	}
	if (missing > 0)
		cross(u[(last + 1) % 3], u[(last + 2) % 3], u[last]);
}

static void turn_over(double axis[3], double *scale)
{
	*scale = -*scale;
	for (int row = 0; row < 3; row++)
		axis[row] = -axis[row];
}

void hob_matrix_split_double(const double m[16], double outer[4], double scale[3], double inner[4])
{
	double b[3][3], u[3][3], v[3][3], before[3][3], turned[3];
	from_quaternion(inner, v);
	from_quaternion(outer, before);
	for (int i = 0; i < 3; i++)
		for (int row = 0; row < 3; row++)
			b[i][row] = m[row] * v[0][i] + m[4 + row] * v[1][i] + m[8 + row] * v[2][i];
	/* v becomes the transposed inner rotation: its columns are the axes of the scale. */
	for (int i = 0; i < 3; i++)
		for (int row = 0; row < i; row++) {
			double swap = v[i][row];
			v[i][row] = v[row][i], v[row][i] = swap;
		}
	for (int sweep = 0; sweep < 30; sweep++) {
		bool first = turn_pair(b, v, 0, 1), second = turn_pair(b, v, 0, 2), third = turn_pair(b, v, 1, 2);
		if (first && second && third)
			break;
	}
	for (int i = 0; i < 3; i++)
		scale[i] = sqrt(dot(b[i], b[i]));
	unit_columns(b, scale, u);
	int least = scale[1] < scale[0] ? 1 : 0;
	least = scale[2] < scale[least] ? 2 : least;
	for (int i = 0; i < 3; i++)
		if (dot(u[i], before[i]) < 0)
			turn_over(u[i], &scale[i]);
	cross(u[0], u[1], turned);
	if (dot(turned, u[2]) < 0)
		turn_over(u[least], &scale[least]);
	to_quaternion(u, outer);
	to_quaternion(v, inner);
	/* The quaternion of v is the inverse of the inner node's rotation. */
	for (int k = 0; k < 3; k++)
		inner[k] = -inner[k];
}

void hob_quat_multiply_double(const double a[4], const double b[4], double out[4])
{
	const double q[4] = {
		a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
		a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
		a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
		a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
	};
	memcpy(out, q, sizeof q);
}
