#include "key_reduce.h"
#include "curve.h"

#include <math.h>

static bool all_equal(const float *a, const float *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static bool all_zero(const float *a, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (a[i] != 0)
			return false;
	return true;
}

/* Whether the curve is constant from key `key` to the next. */
static bool is_flat(const hob_track *track, uint32_t key)
{
	uint32_t n = track->components;
	const float *from = hob_track_value(track, key), *to = hob_track_value(track, key + 1);
	if (!all_equal(from, to, n))
		return false;
	return track->interpolation != HOB_CUBICSPLINE || (all_zero(from + n, n) && all_zero(to - n, n));
}

static uint32_t drop_flat(const hob_track *track, uint8_t *keep)
{
	uint32_t last = track->key_count - 1, kept = 0;
	bool step = track->interpolation == HOB_STEP;
	bool before = false;
	for (uint32_t key = 0; key <= last; key++) {
		bool after = key == last || is_flat(track, key);
		/* A step needs only its first key; other curves need both ends of a flat stretch. */
		keep[key] = key == 0 ? (step || !after || last == 0) : step ? !before : !(before && after);
		kept += keep[key];
		before = key < last && after;
	}
	if (kept == 0) {
		keep[0] = 1;
		kept = 1;
	}
	return kept;
}

static double distance(const float *a, const float *b, uint32_t components, hob_reduce_rule rule)
{
	if (rule.rotation)
		return hob_quat_angle(a, b);
	double largest = 0, square = 0;
	for (uint32_t i = 0; i < components; i++) {
		double d = fabs((double)a[i] - b[i]);
		largest = d > largest ? d : largest;
		square += d * d;
	}
	return components == 3 ? sqrt(square) : largest;
}

/* Whether the straight line from key `from` to key `to` stays near all keys between. */
static bool fits(const hob_track *track, uint32_t from, uint32_t to, hob_reduce_rule rule)
{
	enum { WIDE = 64 };
	float straight[WIDE], source[WIDE];
	uint32_t n = track->components;
	const float ends[2] = {track->times[from], track->times[to]};
	for (uint32_t key = from; key < to; key++) {
		float times[2] = {track->times[key], (track->times[key] + track->times[key + 1]) / 2};
		for (int i = key == from; i < (rule.rotation ? 2 : 1); i++) {
			double t = ((double)times[i] - ends[0]) / ((double)ends[1] - ends[0]);
			for (uint32_t first = 0; first < n; first += WIDE) {
				uint32_t part = n - first < WIDE ? n - first : WIDE;
				const float *a = hob_track_value(track, from) + first;
				const float *b = hob_track_value(track, to) + first;
				const float *value = hob_track_value(track, key) + first;
				if (rule.rotation) {
					hob_quat_slerp(a, b, t, straight);
					hob_track_sample(track, true, times[i], source);
					value = source;
				} else {
					for (uint32_t k = 0; k < part; k++)
						straight[k] = (float)(a[k] + t * ((double)b[k] - a[k]));
				}
				if (!(distance(value, straight, part, rule) <= rule.error))
					return false;
			}
		}
	}
	return true;
}

static uint32_t drop_near(const hob_track *track, hob_reduce_rule rule, uint8_t *keep)
{
	uint32_t last = track->key_count - 1, kept = 1;
	memset(keep, 0, track->key_count);
	keep[0] = 1;
	for (uint32_t from = 0; from < last;) {
		uint32_t to = from + 1, step = 1;
		/* Doubles the step, then halves it: long straight stretches need few tests. */
		while (to < last) {
			uint32_t reach = to + step;
			if (reach > last)
				reach = last;
			if (reach > from + HOB_REDUCE_SPAN)
				reach = from + HOB_REDUCE_SPAN;
			if (reach > to && fits(track, from, reach, rule)) {
				to = reach;
				step *= 2;
			} else if (step > 1) {
				step /= 2;
			} else {
				break;
			}
		}
		keep[to] = 1;
		kept++;
		from = to;
	}
	if (kept == 2 &&
		distance(hob_track_value(track, 0), hob_track_value(track, last), track->components, rule) == 0) {
		keep[last] = 0;
		kept = 1;
	}
	return kept;
}

uint32_t hob_keys_reduce(const hob_track *track, hob_reduce_rule rule, uint8_t *keep)
{
	if (track->interpolation == HOB_LINEAR && rule.error > 0 && track->key_count > 2)
		return drop_near(track, rule, keep);
	return drop_flat(track, keep);
}
