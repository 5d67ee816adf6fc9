#include "fbx_private.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

void hob_fbx_quat_rotate(const double q[4], const double v[3], double out[3])
{
	double u[3] = {2 * (q[1] * v[2] - q[2] * v[1]), 2 * (q[2] * v[0] - q[0] * v[2]),
				   2 * (q[0] * v[1] - q[1] * v[0])};
	const double w[3] = {v[0] + q[3] * u[0] + q[1] * u[2] - q[2] * u[1],
						 v[1] + q[3] * u[1] + q[2] * u[0] - q[0] * u[2],
						 v[2] + q[3] * u[2] + q[0] * u[1] - q[1] * u[0]};
	memcpy(out, w, sizeof w);
}

void hob_fbx_quat_of_euler(const double degrees[3], uint32_t order, double out[4])
{
	/* Axes of the first, second and third rotation. */
	static const uint8_t turns[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};
	double q[4] = {0, 0, 0, 1};
	for (int i = 0; i < 3; i++) {
		int axis = turns[order < 6 ? order : 0][i];
		double half = degrees[axis] * (pi / 360);
		if (!(half < 0 || half > 0))
			continue; /* most nodes rotate about one axis or none */
		double one[4] = {0, 0, 0, cos(half)};
		one[axis] = sin(half);
		hob_quat_multiply_double(one, q, q);
	}
	memcpy(out, q, sizeof q);
}

void hob_fbx_place(const hob_fbx_rig *rig, const double t[3], const double r[3], const double s[3],
				   hob_fbx_trs *out)
{
	double q[4], v[3];
	hob_fbx_quat_of_euler(r, rig->order, q);
	hob_quat_multiply_double(rig->pre, q, q);
	hob_quat_multiply_double(q, rig->post_inverse, q);
	for (int i = 0; i < 3; i++)
		v[i] = rig->scaling_offset[i] + rig->scaling_pivot[i] * (1 - s[i]) - rig->rotation_pivot[i];
	hob_fbx_quat_rotate(q, v, v);
	for (int i = 0; i < 3; i++)
		out->t[i] = t[i] + rig->rotation_offset[i] + rig->rotation_pivot[i] + v[i];
	memcpy(out->q, q, sizeof q);
	memcpy(out->s, s, sizeof out->s);
}

void hob_fbx_trs_matrix(const hob_fbx_trs *trs, double out[16])
{
	const double *q = trs->q;
	double x = q[0], y = q[1], z = q[2], w = q[3];
	const double m[16] = {
		(1 - 2 * (y * y + z * z)) * trs->s[0],
		2 * (x * y + z * w) * trs->s[0],
		2 * (x * z - y * w) * trs->s[0],
		0,
		2 * (x * y - z * w) * trs->s[1],
		(1 - 2 * (x * x + z * z)) * trs->s[1],
		2 * (y * z + x * w) * trs->s[1],
		0,
		2 * (x * z + y * w) * trs->s[2],
		2 * (y * z - x * w) * trs->s[2],
		(1 - 2 * (x * x + y * y)) * trs->s[2],
		0,
		trs->t[0],
		trs->t[1],
		trs->t[2],
		1,
	};
	memcpy(out, m, sizeof m);
}

bool hob_fbx_matrix_invert(const double m[16], double out[16])
{
	double r[16] = {[15] = 1};
	for (int column = 0; column < 3; column++)
		for (int row = 0; row < 3; row++) {
			int a = (column + 1) % 3, b = (column + 2) % 3, c = (row + 1) % 3, d = (row + 2) % 3;
			r[row * 4 + column] = m[a * 4 + c] * m[b * 4 + d] - m[b * 4 + c] * m[a * 4 + d];
		}
	double determinant = m[0] * r[0] + m[1] * r[4] + m[2] * r[8];
	if (!(fabs(determinant) > 1e-300) || !isfinite(determinant))
		return false;
	for (int column = 0; column < 3; column++)
		for (int row = 0; row < 3; row++)
			r[column * 4 + row] /= determinant;
	for (int row = 0; row < 3; row++)
		r[12 + row] = -(r[row] * m[12] + r[4 + row] * m[13] + r[8 + row] * m[14]);
	for (int i = 0; i < 16; i++)
		if (!isfinite(r[i]))
			return false;
	memcpy(out, r, sizeof r);
	return true;
}

bool hob_fbx_trs_is_identity(const hob_fbx_trs *trs)
{
	static const double none[10] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
	const double values[10] = {trs->t[0], trs->t[1],	   trs->t[2], trs->q[0], trs->q[1],
							   trs->q[2], fabs(trs->q[3]), trs->s[0], trs->s[1], trs->s[2]};
	for (int i = 0; i < 10; i++)
		if (fabs(values[i] - none[i]) > 1e-9)
			return false;
	return true;
}
