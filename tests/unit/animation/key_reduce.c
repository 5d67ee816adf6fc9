#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "core/animation/curve.h"
#include "core/animation/key_reduce.h"

#include <math.h>

enum { ROOM = 600 };

typedef struct reduced {
	float times[ROOM], values[ROOM * 12];
	uint8_t keep[ROOM];
	hob_track track;
} reduced_t;

static uint32_t reduce(const hob_track *track, hob_reduce_rule rule, reduced_t *out)
{
	uint32_t kept = hob_keys_reduce(track, rule, out->keep), count = 0;
	size_t stride = hob_track_stride(track);
	out->track = *track;
	out->track.times = out->times;
	out->track.values = out->values;
	for (uint32_t k = 0; k < track->key_count; k++)
		if (out->keep[k]) {
			out->times[count] = track->times[k];
			memcpy(out->values + count++ * stride, track->values + k * stride, stride * sizeof(float));
		}
	out->track.key_count = count;
	assert_int_equal(kept, count);
	return count;
}

static void expect_same(const hob_track *a, const hob_track *b, float from, float to)
{
	for (float t = from; t <= to; t += 0.03125f) {
		float x[16], y[16];
		hob_track_sample(a, false, t, x);
		hob_track_sample(b, false, t, y);
		for (uint32_t i = 0; i < a->components; i++)
			assert_true(x[i] == y[i]);
	}
}

static void constant_tracks_keep_one_key(void **state)
{
	(void)state;
	float times[] = {0, 1, 2, 3}, values[] = {5, 5, 5, 5};
	float cubic[] = {7, 5, 0, 0, 5, 0, 0, 5, 0, 0, 5, 7};
	reduced_t out;
	hob_reduce_rule exact = {false, 0}, near = {false, 0.1f};
	hob_track step = {HOB_STEP, 1, 4, times, values}, linear = {HOB_LINEAR, 1, 4, times, values};
	hob_track spline = {HOB_CUBICSPLINE, 1, 4, times, cubic};
	assert_int_equal(reduce(&step, exact, &out), 1);
	assert_int_equal(reduce(&linear, exact, &out), 1);
	assert_int_equal(reduce(&linear, near, &out), 1);
	assert_int_equal(reduce(&spline, exact, &out), 1);
	hob_track single = {HOB_LINEAR, 1, 1, times, values};
	assert_int_equal(reduce(&single, exact, &out), 1);
}

static void equal_values_with_live_tangents_stay(void **state)
{
	(void)state;
	float times[] = {0, 1}, cubic[] = {0, 5, 2, 0, 5, 0};
	reduced_t out;
	hob_track spline = {HOB_CUBICSPLINE, 1, 2, times, cubic};
	assert_int_equal(reduce(&spline, (hob_reduce_rule){false, 0}, &out), 2);
}

/* Small random values make flat stretches of every length in every place. */
static void dropping_flat_keys_changes_no_value(void **state)
{
	(void)state;
	uint32_t seed = 1;
	for (int round = 0; round < 3000; round++) {
		float times[12], values[36];
		uint32_t keys = 1 + (uint32_t)round % 12;
		hob_interpolation mode = (hob_interpolation)(round % 3);
		uint32_t stride = mode == HOB_CUBICSPLINE ? 3 : 1;
		for (uint32_t k = 0; k < keys * stride; k++) {
			seed = seed * 1664525 + 1013904223;
			uint32_t random = seed >> 28;
			values[k] = random < 10 ? 0 : 1;
		}
		for (uint32_t k = 0; k < keys; k++)
			times[k] = (float)k * 0.25f;
		hob_track track = {mode, 1, keys, times, values};
		reduced_t out;
		reduce(&track, (hob_reduce_rule){false, 0}, &out);
		expect_same(&track, &out.track, -0.5f, 3.5f);
	}
}

static void reduction_keeps_the_stated_bound(void **state)
{
	(void)state;
	static float times[ROOM], vectors[ROOM * 3], turns[ROOM * 4];
	for (int k = 0; k < ROOM; k++) {
		float t = times[k] = (float)k / 30, angle = (float)sin(t) * 2;
		vectors[k * 3] = (float)sin(t), vectors[k * 3 + 1] = t * 0.1f, vectors[k * 3 + 2] = (float)cos(3 * t);
		turns[k * 4] = (float)sin(angle / 2), turns[k * 4 + 1] = 0, turns[k * 4 + 2] = 0;
		turns[k * 4 + 3] = (float)cos(angle / 2);
		if (k % 7 == 3)
			for (int i = 0; i < 4; i++)
				turns[k * 4 + i] = -turns[k * 4 + i];
	}
	static reduced_t out;
	const float errors[] = {0.1f, 0.01f, 0.001f};
	uint32_t before = 0;
	for (int e = 0; e < 3; e++) {
		hob_track track = {HOB_LINEAR, 3, ROOM, times, vectors};
		uint32_t kept = reduce(&track, (hob_reduce_rule){false, errors[e]}, &out);
		assert_true(kept > before && kept < ROOM);
		before = kept;
		for (float t = -1; t < 21; t += 0.0078125f) {
			float a[3], b[3], square = 0;
			hob_track_sample(&track, false, t, a);
			hob_track_sample(&out.track, false, t, b);
			for (int i = 0; i < 3; i++)
				square += (a[i] - b[i]) * (a[i] - b[i]);
			assert_true(sqrt(square) <= errors[e] * 1.0001f);
		}
		hob_track turning = {HOB_LINEAR, 4, ROOM, times, turns};
		assert_true(reduce(&turning, (hob_reduce_rule){true, errors[e]}, &out) < ROOM);
		for (float t = -1; t < 21; t += 0.0078125f) {
			float a[4], b[4];
			hob_track_sample(&turning, true, t, a);
			hob_track_sample(&out.track, true, t, b);
			assert_true(hob_quat_angle(a, b) <= errors[e] * 1.01f);
		}
	}
}

static void steps_and_splines_are_never_approximated(void **state)
{
	(void)state;
	float times[] = {0, 1, 2}, values[] = {0, 0.001f, 0}, cubic[] = {0, 0, 0, 0, 0.001f, 0, 0, 0, 0};
	reduced_t out;
	hob_track step = {HOB_STEP, 1, 3, times, values}, spline = {HOB_CUBICSPLINE, 1, 3, times, cubic};
	assert_int_equal(reduce(&step, (hob_reduce_rule){false, 1}, &out), 3);
	assert_int_equal(reduce(&spline, (hob_reduce_rule){false, 1}, &out), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constant_tracks_keep_one_key),
		cmocka_unit_test(equal_values_with_live_tangents_stay),
		cmocka_unit_test(dropping_flat_keys_changes_no_value),
		cmocka_unit_test(reduction_keeps_the_stated_bound),
		cmocka_unit_test(steps_and_splines_are_never_approximated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
