#include "usd_build.h"

#include "../matrix_double.h"

#include <math.h>
#include <stdlib.h>

/* ---- matrices */

void hob_usd_identity(double out[16])
{
	for (int i = 0; i < 16; i++)
		out[i] = i % 5 == 0;
}

bool hob_usd_invert(const double m[16], double out[16])
{
	double a[4][8];
	for (int r = 0; r < 4; r++)
		for (int c = 0; c < 8; c++)
			a[r][c] = c < 4 ? m[c * 4 + r] : (double)(c - 4 == r);
	for (int c = 0; c < 4; c++) {
		int pivot = c;
		for (int r = c + 1; r < 4; r++)
			if (fabs(a[r][c]) > fabs(a[pivot][c]))
				pivot = r;
		if (!(fabs(a[pivot][c]) > 1e-300))
			return false;
		for (int k = 0; k < 8; k++) {
			double swap = a[c][k];
			a[c][k] = a[pivot][k];
			a[pivot][k] = swap;
		}
		for (int r = 0; r < 4; r++) {
			double factor = a[r][c] / a[c][c];
			for (int k = 0; r != c && k < 8; k++)
				a[r][k] -= factor * a[c][k];
		}
	}
	for (int r = 0; r < 4; r++)
		for (int c = 0; c < 4; c++)
			out[c * 4 + r] = a[r][c + 4] / a[r][r];
	return true;
}

static void rotation(int axis, double degrees, double out[16])
{
	double radians = degrees * (3.14159265358979323846 / 180), c = cos(radians), s = sin(radians);
	int u = (axis + 1) % 3, v = (axis + 2) % 3;
	hob_usd_identity(out);
	out[u * 4 + u] = c, out[u * 4 + v] = s;
	out[v * 4 + u] = -s, out[v * 4 + v] = c;
}

static void from_quaternion(const double q[4], double out[16])
{
	double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
	hob_usd_identity(out);
	if (!(length > 0))
		return;
	double x = q[0] / length, y = q[1] / length, z = q[2] / length, w = q[3] / length;
	out[0] = 1 - 2 * (y * y + z * z), out[1] = 2 * (x * y + z * w), out[2] = 2 * (x * z - y * w);
	out[4] = 2 * (x * y - z * w), out[5] = 1 - 2 * (x * x + z * z), out[6] = 2 * (y * z + x * w);
	out[8] = 2 * (x * z + y * w), out[9] = 2 * (y * z - x * w), out[10] = 1 - 2 * (x * x + y * y);
}

/* ---- samples */

static bool numbers_of(const hob_usd_value *value, uint32_t width, double *out)
{
	if (!value || value->width != width || value->count < 1)
		return false;
	for (uint32_t i = 0; i < width; i++) {
		out[i] = hob_usd_component(value, i);
		if (!(out[i] - out[i] == 0))
			return false;
	}
	return true;
}

static void blend_quaternion(const double *a, double *b, double t)
{
	double dot = 0, from = 1 - t, to = t;
	for (int i = 0; i < 4; i++)
		dot += a[i] * b[i];
	double sign = dot < 0 ? -1 : 1, angle = acos(fmin(fabs(dot), 1));
	if (angle > 1e-6) {
		from = sin((1 - t) * angle) / sin(angle);
		to = sin(t * angle) / sin(angle);
	}
	for (int i = 0; i < 4; i++)
		b[i] = a[i] * from + b[i] * to * sign;
}

bool hob_usd_sample(const hob_usd *u, const hob_usd_attribute *attribute, double time, uint32_t width,
					bool is_quaternion, double *out)
{
	const hob_usd_samples *s = attribute->samples;
	if (!s)
		return numbers_of(attribute->value, width, out);
	double asked = isnan(time) && u->has_range ? u->start : time;
	double at =
		isnan(asked) || attribute->scale == 0 ? s->times[0] : (asked - attribute->offset) / attribute->scale;
	size_t low = hob_usd_time_before(s->times, 1, s->count, at);
	double before[16];
	if (!numbers_of(&s->values[low], width, out))
		return false;
	if (low + 1 >= s->count || at <= s->times[low])
		return true;
	memcpy(before, out, width * sizeof *before);
	if (!numbers_of(&s->values[low + 1], width, out)) {
		memcpy(out, before, width * sizeof *before);
		return true;
	}
	double t = (at - s->times[low]) / (s->times[low + 1] - s->times[low]);
	if (is_quaternion)
		blend_quaternion(before, out, t);
	for (uint32_t i = 0; !is_quaternion && i < width; i++)
		out[i] = before[i] + (out[i] - before[i]) * t;
	return true;
}

/* ---- operations */

/* Operations that set numbers of the matrix: `width` of them from number `at` on, each `step` on. */
static const struct {
	const char *kind;
	uint8_t width, at, step;
} plain[] = {
	{"translate", 3, 12, 1},  {"translateX", 1, 12, 1}, {"translateY", 1, 13, 1},
	{"translateZ", 1, 14, 1}, {"scale", 3, 0, 5},		{"scaleX", 1, 0, 1},
	{"scaleY", 1, 5, 1},	  {"scaleZ", 1, 10, 1},		{"transform", 16, 0, 1},
};

static bool turn(hob_str axes, const hob_usd *u, const hob_usd_attribute *a, double time, double out[16])
{
	static const char *const orders[] = {"X", "Y", "Z", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"};
	double angles[3], m[16];
	size_t i = 0;
	while (i < HOB_COUNT_OF(orders) && !hob_str_equal(axes, hob_str_of(orders[i])))
		i++;
	if (i == HOB_COUNT_OF(orders) || !hob_usd_sample(u, a, time, (uint32_t)axes.len, false, angles))
		return false;
	if (axes.len == 1) {
		rotation(axes.data[0] - 'X', angles[0], out);
		return true;
	}
	for (size_t k = 0; k < axes.len; k++) {
		int axis = axes.data[k] - 'X';
		rotation(axis, angles[axis], m);
		hob_matrix_multiply_double(m, out, out);
	}
	return true;
}

static bool operation(const hob_usd *u, const hob_usd_attribute *a, hob_str kind, double time, double out[16])
{
	double v[16];
	hob_usd_identity(out);
	for (size_t i = 0; i < HOB_COUNT_OF(plain); i++) {
		if (!hob_str_equal(kind, hob_str_of(plain[i].kind)))
			continue;
		bool found = hob_usd_sample(u, a, time, plain[i].width, false, v);
		for (uint32_t k = 0; found && k < plain[i].width; k++)
			out[plain[i].at + k * plain[i].step] = v[k];
		return found;
	}
	if (hob_str_equal(kind, HOB_STR("orient"))) {
		bool found = hob_usd_sample(u, a, time, 4, true, v);
		if (found)
			from_quaternion(v, out);
		return found;
	}
	return hob_str_starts(kind, HOB_STR("rotate")) && turn(hob_str_sub(kind, 6, kind.len), u, a, time, out);
}

/* "!invert!xformOp:translate:pivot" -> its attribute, "translate", inverted. */
static bool open_operation(const hob_usd *u, const hob_usd_prim *prim, hob_str name, hob_usd_attribute *a,
						   hob_str *kind, bool *inverted)
{
	static const hob_str invert = {"!invert!", 8}, prefix = {"xformOp:", 8};
	*inverted = hob_str_starts(name, invert);
	if (*inverted)
		name = hob_str_sub(name, invert.len, name.len);
	if (!hob_str_starts(name, prefix) || !hob_usd_get(u, prim, name, a))
		return false;
	size_t end = hob_str_find(name, HOB_STR(":"), prefix.len);
	*kind = hob_str_sub(name, prefix.len, end == SIZE_MAX ? name.len : end);
	return true;
}

void hob_usd_local(const hob_usd *u, const hob_usd_prim *prim, double time, double out[16], bool *resets,
				   bool *moves)
{
	const hob_usd_value *order = hob_usd_still(u, prim, HOB_STR("xformOpOrder"));
	hob_usd_identity(out);
	*resets = *moves = false;
	/* Untyped prims have no transform, even if one is authored. */
	if (prim->type.len == 0 || hob_str_equal(prim->type, HOB_STR("Scope")))
		return;
	for (size_t i = 0; order && order->kind == HOB_USD_TEXT && i < order->count; i++) {
		hob_str name = ((const hob_str *)order->data)[i], kind;
		hob_usd_attribute a;
		bool inverted;
		double m[16];
		if (hob_str_equal(name, HOB_STR("!resetXformStack!"))) {
			hob_usd_identity(out);
			*resets = true;
			continue;
		}
		if (!open_operation(u, prim, name, &a, &kind, &inverted) || !operation(u, &a, kind, time, m))
			continue;
		*moves = *moves || (a.samples && a.samples->count > 1);
		if (inverted && !hob_usd_invert(m, m))
			continue;
		hob_matrix_multiply_double(out, m, out);
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void hob_usd_add_time(hob_usd *u, hob_usd_times *times, double time)
{
	HOB_USD_PUT(u->scratch, times->items, times->count, time);
}

void hob_usd_add_times(hob_usd *u, const hob_usd_attribute *attribute, hob_usd_times *times)
{
	const hob_usd_samples *s = attribute->samples;
	for (size_t i = 0; s && i < s->count; i++)
		hob_usd_add_time(u, times, attribute->offset + attribute->scale * s->times[i]);
}

void hob_usd_sort_times(hob_usd_times *times)
{
	uint32_t count = times->count;
	times->count = 0;
	if (count > 0)
		qsort(times->items, count, sizeof *times->items, by_size);
	for (uint32_t i = 0; i < count; i++)
		if (times->count == 0 || times->items[i] > times->items[times->count - 1])
			times->items[times->count++] = times->items[i];
}

hob_usd_times hob_usd_xform_times(hob_usd *u, const hob_usd_prim *prim)
{
	const hob_usd_value *order = hob_usd_still(u, prim, HOB_STR("xformOpOrder"));
	hob_usd_times times = {0};
	for (size_t i = 0; order && order->kind == HOB_USD_TEXT && i < order->count; i++) {
		hob_usd_attribute a;
		hob_str kind;
		bool inverted;
		if (open_operation(u, prim, ((const hob_str *)order->data)[i], &a, &kind, &inverted))
			hob_usd_add_times(u, &a, &times);
	}
	if (times.count > HOB_LIMIT_KEYS)
		hob_leave(LIMIT, "%u samples of '%.*s', at most %llu are allowed", times.count, HOB_FMT(prim->path),
				  HOB_LIMIT_KEYS);
	hob_usd_sort_times(&times);
	return times;
}

void hob_usd_place(hob_node *node, const double m[16])
{
	float matrix[16];
	bool finite = true;
	for (int i = 0; i < 16; i++) {
		matrix[i] = (float)m[i];
		finite = finite && isfinite(matrix[i]);
	}
	for (int i = 0; !finite && i < 16; i++)
		matrix[i] = i % 5 == 0;
	matrix[3] = matrix[7] = matrix[11] = 0;
	matrix[15] = 1;
	node->has_matrix = !hob_matrix_decompose(matrix, node->translation, node->rotation, node->scale);
	memcpy(node->matrix, matrix, sizeof matrix);
}

void hob_usd_place_two(hob_node *outer, hob_node *inner, const double m[16])
{
	double first[4], scale[3], second[4], finite[16];
	for (int k = 0; k < 16; k++)
		finite[k] = isfinite((float)m[k]) ? m[k] : k % 5 == 0;
	for (int k = 0; k < 4; k++)
		first[k] = (double)outer->rotation[k], second[k] = (double)inner->rotation[k];
	hob_matrix_split_double(finite, first, scale, second);
	for (int k = 0; k < 4; k++)
		outer->rotation[k] = (float)first[k], inner->rotation[k] = (float)second[k];
	for (int k = 0; k < 3; k++)
		outer->translation[k] = (float)finite[12 + k], outer->scale[k] = (float)scale[k];
	outer->has_matrix = inner->has_matrix = false;
}
