#include "collada_track.h"

#include "../../base/number.h"

#include <math.h>

enum { DEPTH_MAX = 14, KEYS_MAX = 4 << 20 };

typedef struct track_builder {
	const hob_collada_function *f;
	double start;
	hob_buf times, values; /* float */
	double *room;		   /* scratch for 8 values */
	double tolerance;	   /* radians, or the unit of the values */
	uint32_t key_count;
} track_builder;

static void put_key(track_builder *b, double t, const double *value)
{
	float time = hob_number_to_float(t - b->start);
	if (b->key_count > 0) {
		float last;
		memcpy(&last, b->times.data + b->times.size - sizeof last, sizeof last);
		if (!(time > last)) {
			b->times.size -= sizeof last;
			b->values.size -= b->f->components * sizeof(float);
			b->key_count--;
			time = last;
		}
	}
	hob_buf_put(&b->times, &time, sizeof time);
	for (uint32_t i = 0; i < b->f->components; i++) {
		float v = hob_number_to_float(value[i]);
		hob_buf_put(&b->values, &v, sizeof v);
	}
	b->key_count++;
}

/* ---- distance of two values */

static double distance(const track_builder *b, const double *x, const double *y)
{
	uint32_t n = b->f->components;
	double most = 0;
	if (b->f->rotation) {
		double dot = fabs(x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3]), square = 0;
		double side = x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3] < 0 ? -1 : 1;
		for (int i = 0; i < 4; i++)
			square += (x[i] - side * y[i]) * (x[i] - side * y[i]);
		return dot > 1 && square < 1e-30 ? 0 : 4 * asin(fmin(1, sqrt(square) / 2));
	}
	for (uint32_t i = 0; i < n; i++)
		most = fmax(most, fabs(x[i] - y[i]));
	return most;
}

static void mix(const track_builder *b, const double *x, const double *y, double s, double *out)
{
	if (!b->f->rotation) {
		for (uint32_t i = 0; i < b->f->components; i++)
			out[i] = x[i] + (y[i] - x[i]) * s;
		return;
	}
	double dot = x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3], side = dot < 0 ? -1 : 1;
	double angle = acos(fmin(1, fabs(dot))), p = 1 - s, q = s;
	if (angle > 1e-6) {
		p = sin(angle * (1 - s)) / sin(angle);
		q = sin(angle * s) / sin(angle);
	}
	for (int i = 0; i < 4; i++)
		out[i] = x[i] * p + side * y[i] * q;
}

/* ---- resampling */

static bool is_straight(track_builder *b, double from, const double *x, double to, const double *y)
{
	double *value = b->room + (size_t)b->f->components * 6, *guess = b->room + (size_t)b->f->components * 7;
	if (b->f->turned && fabs(b->f->turned(b->f->user, from, to)) > 90)
		return false;
	for (int i = 1; i < 4; i++) {
		b->f->at(b->f->user, from + (to - from) * i / 4, false, value, NULL);
		mix(b, x, y, i / 4.0, guess);
		if (!(distance(b, value, guess) <= b->tolerance))
			return false;
	}
	return true;
}

typedef struct piece {
	double from, to;
	uint32_t depth;
} piece;

/* Adds keys strictly between `from` and `to` by bisection, in order, without recursion. */
static bool refine(track_builder *b, double from, double to)
{
	piece stack[DEPTH_MAX + 2] = {{from, to, 0}};
	uint32_t top = 1, n = b->f->components;
	double *x = b->room, *y = b->room + n;
	while (top > 0) {
		piece p = stack[--top];
		b->f->at(b->f->user, p.from, false, x, NULL);
		b->f->at(b->f->user, p.to, true, y, NULL);
		if (p.depth < DEPTH_MAX && b->key_count < KEYS_MAX && !is_straight(b, p.from, x, p.to, y)) {
			double middle = (p.from + p.to) / 2;
			stack[top++] = (piece){middle, p.to, p.depth + 1};
			stack[top++] = (piece){p.from, middle, p.depth + 1};
		} else if (p.to < to) {
			put_key(b, p.to, y);
		}
		if (b->times.failed || b->values.failed)
			return false;
	}
	return true;
}

static bool resample(track_builder *b, const double *times, uint32_t count)
{
	uint32_t n = b->f->components;
	double *left = b->room + (size_t)n * 2, *right = b->room + (size_t)n * 3;
	for (uint32_t i = 0; i < count; i++) {
		b->f->at(b->f->user, times[i], false, right, NULL);
		if (i > 0) {
			b->f->at(b->f->user, times[i], true, left, NULL);
			float here = hob_number_to_float(times[i] - b->start);
			float before = nextafterf(here, -INFINITY);
			if (distance(b, left, right) > b->tolerance)
				put_key(b, (double)before + b->start, left);
		}
		put_key(b, times[i], right);
		if (i + 1 < count && !refine(b, times[i], times[i + 1]))
			return false;
	}
	return true;
}

static void find_tolerance(track_builder *b, const double *times, uint32_t count)
{
	uint32_t n = b->f->components;
	double *low = b->room, *high = b->room + n, *value = b->room + (size_t)n * 2, range = 0, size = 0;
	b->tolerance = 0.01 * 3.14159265358979 / 180;
	if (b->f->rotation)
		return;
	for (uint32_t i = 0; i < count; i++) {
		b->f->at(b->f->user, times[i], false, value, NULL);
		for (uint32_t k = 0; k < n; k++) {
			low[k] = i == 0 ? value[k] : fmin(low[k], value[k]);
			high[k] = i == 0 ? value[k] : fmax(high[k], value[k]);
		}
	}
	for (uint32_t k = 0; k < n; k++) {
		range = fmax(range, high[k] - low[k]);
		size = fmax(size, fmax(fabs(low[k]), fabs(high[k])));
	}
	b->tolerance = fmax(fmax(range * 1e-5, size * 2e-7), 1e-30);
}

/* ---- exact tracks */

static void put_plain(track_builder *b, const double *times, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		b->f->at(b->f->user, times[i], false, b->room, NULL);
		put_key(b, times[i], b->room);
	}
}

static void put_floats(track_builder *b, const double *values)
{
	for (uint32_t i = 0; i < b->f->components; i++) {
		float v = hob_number_to_float(values[i]);
		hob_buf_put(&b->values, &v, sizeof v);
	}
}

static void put_cubic(track_builder *b, const double *times, uint32_t count)
{
	size_t n = b->f->components;
	double *value = b->room, *in = b->room + n, *out = b->room + n * 2;
	float last = -INFINITY;
	for (uint32_t i = 0; i < count; i++) {
		float time = hob_number_to_float(times[i] - b->start);
		if (!(time > last))
			continue;
		last = time;
		b->f->at(b->f->user, times[i], true, value, in);
		b->f->at(b->f->user, times[i], false, value, out);
		hob_buf_put(&b->times, &time, sizeof time);
		put_floats(b, in);
		put_floats(b, value);
		put_floats(b, out);
		b->key_count++;
	}
}

/* ---- all */

static bool take(hob_collada *c, track_builder *b, hob_interpolation interpolation, hob_track *out,
				 hob_error *err)
{
	hob_arena *arena = c->request->result;
	if (b->times.failed || b->values.failed)
		return hob_fail(err, MEMORY, "no memory left for animation keys");
	*out = (hob_track){interpolation, b->f->components, b->key_count, NULL, NULL};
	out->times = HOB_NEW(arena, float, b->key_count);
	out->values = HOB_NEW(arena, float, b->values.size / sizeof(float));
	if (!out->times || !out->values)
		return hob_fail_memory(err, arena, "animation keys");
	memcpy(out->times, b->times.data, b->times.size);
	memcpy(out->values, b->values.data, b->values.size);
	return true;
}

bool hob_collada_make_track(hob_collada *c, const hob_collada_function *f, const double *times,
							uint32_t count, double start, hob_track *out, hob_error *err)
{
	track_builder b = {.f = f, .start = start};
	hob_interpolation interpolation = HOB_LINEAR;
	b.room = HOB_NEW(c->request->scratch, double, (size_t)f->components * 8);
	if (!b.room)
		return hob_fail_memory(err, c->request->scratch, "animation keys");
	hob_collada_curve_kinds kinds = f->kinds;
	bool done = true;
	find_tolerance(&b, times, count);
	if (kinds.step && !kinds.linear && !kinds.cubic && !kinds.bent) {
		interpolation = HOB_STEP;
		put_plain(&b, times, count);
	} else if (!f->rotation && !kinds.step && !kinds.bent && kinds.cubic) {
		interpolation = HOB_CUBICSPLINE;
		put_cubic(&b, times, count);
	} else if (!f->rotation && !kinds.step && !kinds.bent) {
		put_plain(&b, times, count);
	} else {
		done = resample(&b, times, count);
	}
	done = done ? take(c, &b, interpolation, out, err)
				: hob_fail(err, MEMORY, "no memory left for animation keys");
	hob_buf_release(&b.times);
	hob_buf_release(&b.values);
	return done;
}
