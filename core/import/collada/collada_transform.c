#include "collada_private.h"

#include "../matrix_double.h"

#include <math.h>

static const struct {
	const char *name;
	uint32_t numbers;
} kinds[] = {
	{"matrix", 16}, {"translate", 3}, {"rotate", 4}, {"scale", 3}, {"lookat", 9}, {"skew", 7},
};

static const double degree = 3.14159265358979323846 / 180;

bool hob_collada_is_transform(hob_xml_ptr element)
{
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (hob_xml_is(element, hob_str_of(kinds[i].name)))
			return true;
	return false;
}

uint32_t hob_collada_transform_numbers(hob_xml_ptr element, double out[16])
{
	uint32_t wanted = 0;
	bool scale = hob_xml_is(element, HOB_STR("scale")), matrix = hob_xml_is(element, HOB_STR("matrix"));
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (hob_xml_is(element, hob_str_of(kinds[i].name)))
			wanted = kinds[i].numbers;
	uint32_t read = hob_xml_doubles(element->text, out, wanted);
	for (uint32_t i = 0; i < wanted; i++)
		if (i >= read || !isfinite(out[i]) || fabs(out[i]) > 1e15)
			out[i] = scale || (matrix && i % 5 == 0) ? 1 : 0;
	return wanted;
}

static bool unit_vector(const double *from, double out[3])
{
	double length = sqrt(from[0] * from[0] + from[1] * from[1] + from[2] * from[2]);
	for (int i = 0; i < 3; i++)
		out[i] = length > 0 ? from[i] / length : 0;
	return length > 0;
}

static void cross(const double *a, const double *b, double out[3])
{
	out[0] = a[1] * b[2] - a[2] * b[1];
	out[1] = a[2] * b[0] - a[0] * b[2];
	out[2] = a[0] * b[1] - a[1] * b[0];
}

static void rotate(const double *n, double m[16])
{
	double a[3];
	if (!unit_vector(n, a))
		return;
	double c = cos(n[3] * degree), s = sin(n[3] * degree), t = 1 - c;
	m[0] = t * a[0] * a[0] + c, m[1] = t * a[0] * a[1] + s * a[2], m[2] = t * a[0] * a[2] - s * a[1];
	m[4] = t * a[0] * a[1] - s * a[2], m[5] = t * a[1] * a[1] + c, m[6] = t * a[1] * a[2] + s * a[0];
	m[8] = t * a[0] * a[2] + s * a[1], m[9] = t * a[1] * a[2] - s * a[0], m[10] = t * a[2] * a[2] + c;
}

/* Eye, point of interest, up: the node is at the eye and looks along -Z. */
static void look_at(const double *n, double unit, double m[16])
{
	double back[3] = {n[0] - n[3], n[1] - n[4], n[2] - n[5]}, x[3], y[3], z[3];
	if (!unit_vector(back, z))
		return;
	cross(n + 6, z, x);
	if (!unit_vector(x, x))
		return;
	cross(z, x, y);
	for (int i = 0; i < 3; i++) {
		m[i] = x[i], m[4 + i] = y[i], m[8 + i] = z[i];
		m[12 + i] = n[i] * unit;
	}
}

/* Angle, rotation axis (which is sheared), translation axis (the direction of the shear). Source: the
 * RenderMan interface's Skew, to which the specification refers: rotates a vector orthogonal to the
 * translation axis, in the plane of both, towards it by the angle. */
static void skew(const double *n, double m[16])
{
	double along[3], other[3];
	if (!unit_vector(n + 4, along) || !unit_vector(n + 1, other))
		return;
	double dot = along[0] * other[0] + along[1] * other[1] + along[2] * other[2];
	double across[3] = {other[0] - along[0] * dot, other[1] - along[1] * dot, other[2] - along[2] * dot};
	if (!unit_vector(across, across))
		return;
	double shift = tan(n[0] * degree);
	if (!isfinite(shift) || fabs(shift) > 1e9)
		return;
	for (int column = 0; column < 3; column++)
		for (int row = 0; row < 3; row++)
			m[column * 4 + row] += shift * along[row] * across[column];
}

void hob_collada_transform_matrix(hob_str kind, const double *n, double unit, double m[16])
{
	static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	memcpy(m, identity, sizeof identity);
	if (hob_str_equal(kind, HOB_STR("translate"))) {
		for (int i = 0; i < 3; i++)
			m[12 + i] = n[i] * unit;
	} else if (hob_str_equal(kind, HOB_STR("scale"))) {
		for (int i = 0; i < 3; i++)
			m[i * 5] = n[i];
	} else if (hob_str_equal(kind, HOB_STR("rotate"))) {
		rotate(n, m);
	} else if (hob_str_equal(kind, HOB_STR("lookat"))) {
		look_at(n, unit, m);
	} else if (hob_str_equal(kind, HOB_STR("skew"))) {
		skew(n, m);
	} else { /* rows */
		for (int row = 0; row < 3; row++)
			for (int column = 0; column < 4; column++)
				m[column * 4 + row] = n[row * 4 + column] * (column == 3 ? unit : 1);
	}
}

/* Keeps T, R and S as stored if the elements are just these, in this order. */
static bool is_plain(hob_xml_ptr node, double unit, hob_node *out)
{
	double q[4] = {0, 0, 0, 1}, n[16];
	int stage = 0;
	for (hob_xml_ptr e = node->first; e; e = e->next) {
		if (!hob_collada_is_transform(e))
			continue;
		hob_collada_transform_numbers(e, n);
		if (hob_xml_is(e, HOB_STR("translate")) && stage == 0) {
			for (int i = 0; i < 3; i++)
				out->translation[i] = (float)(n[i] * unit);
			stage = 1;
		} else if (hob_xml_is(e, HOB_STR("rotate")) && stage <= 1) {
			double a[3];
			if (!unit_vector(n, a))
				continue;
			double s = sin(n[3] * degree / 2);
			hob_quat_multiply_double(q, (double[4]){a[0] * s, a[1] * s, a[2] * s, cos(n[3] * degree / 2)}, q);
			stage = 1;
		} else if (hob_xml_is(e, HOB_STR("scale")) && stage <= 1) {
			for (int i = 0; i < 3; i++)
				out->scale[i] = (float)n[i];
			stage = 2;
		} else {
			return false;
		}
	}
	for (int i = 0; i < 4; i++)
		out->rotation[i] = (float)q[i];
	return true;
}

void hob_collada_local(hob_xml_ptr node, double unit, hob_node *out)
{
	double all[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, n[16], m[16];
	static const float zero[3] = {0}, one[3] = {1, 1, 1};
	for (hob_xml_ptr e = node->first; e; e = e->next)
		if (hob_collada_is_transform(e)) {
			hob_collada_transform_numbers(e, n);
			hob_collada_transform_matrix(e->name, n, unit, m);
			hob_matrix_multiply_double(all, m, all);
		}
	for (int i = 0; i < 16; i++) {
		out->matrix[i] = (float)all[i];
		if (!isfinite(out->matrix[i]))
			out->matrix[i] = (float)(i % 5 == 0);
	}
	memcpy(out->translation, zero, sizeof zero);
	memcpy(out->scale, one, sizeof one);
	out->has_matrix = false;
	if (!is_plain(node, unit, out))
		out->has_matrix = !hob_matrix_decompose(out->matrix, out->translation, out->rotation, out->scale);
}
