#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "core/animation/curve.h"

#include <math.h>

static hob_track scalar_track(hob_interpolation interpolation, uint32_t keys, float *times, float *values)
{
	return (hob_track){interpolation, 1, keys, times, values};
}

static float at(const hob_track *track, float time)
{
	float out;
	hob_track_sample(track, false, time, &out);
	return out;
}

static void linear_starts_at_the_earlier_key(void **state)
{
	(void)state;
	float times[] = {1, 3}, values[] = {0, 10};
	hob_track track = scalar_track(HOB_LINEAR, 2, times, values);
	assert_float_equal(at(&track, 1.5f), 2.5f, 0);
	assert_float_equal(at(&track, 2.5f), 7.5f, 0);
}

static void every_key_gives_its_own_value_and_the_ends_hold(void **state)
{
	(void)state;
	float times[] = {-1, 0.25f, 0.5f, 7}, plain[] = {3, -4, 5, 6};
	float cubic[] = {9, 3, 9, 9, -4, 9, 9, 5, 9, 9, 6, 9};
	for (int mode = HOB_STEP; mode <= HOB_CUBICSPLINE; mode++) {
		hob_track track =
			scalar_track((hob_interpolation)mode, 4, times, mode == HOB_CUBICSPLINE ? cubic : plain);
		for (int k = 0; k < 4; k++)
			assert_float_equal(at(&track, times[k]), plain[k], 0);
		assert_float_equal(at(&track, -100), 3, 0);
		assert_float_equal(at(&track, 100), 6, 0);
	}
}

static void step_holds_the_key_before(void **state)
{
	(void)state;
	float times[] = {0, 1, 2}, values[] = {1, 2, 3};
	hob_track track = scalar_track(HOB_STEP, 3, times, values);
	assert_float_equal(at(&track, 0.999f), 1, 0);
	assert_float_equal(at(&track, 1.001f), 2, 0);
}

/* A cubic polynomial equals its Hermite interpolant with its derivatives per second as tangents. */
static void cubic_reproduces_a_cubic_polynomial(void **state)
{
	(void)state;
	float times[] = {0, 2, 5}, values[9];
	for (int k = 0; k < 3; k++) {
		float x = times[k];
		values[k * 3 + 1] = x * x * x - 2 * x * x + 3;
		values[k * 3] = values[k * 3 + 2] = 3 * x * x - 4 * x;
	}
	hob_track track = scalar_track(HOB_CUBICSPLINE, 3, times, values);
	for (float x = 0; x <= 5; x += 0.125f)
		assert_float_equal(at(&track, x), x * x * x - 2 * x * x + 3, 1e-4);
}

static void turn(float radians, float out[4])
{
	out[0] = out[1] = 0;
	out[2] = (float)sin(radians / 2);
	out[3] = (float)cos(radians / 2);
}

static void slerp_turns_at_constant_speed_the_short_way(void **state)
{
	(void)state;
	const float angles[] = {1e-5f, 0.01f, 1, 2, 3, 3.14f};
	for (int i = 0; i < 6; i++)
		for (int sign = -1; sign <= 1; sign += 2)
			for (float t = 0; t <= 1; t += 0.125f) {
				float a[4], b[4], expected[4], got[4];
				turn(0.3f, a);
				turn(0.3f + angles[i], b);
				turn(0.3f + angles[i] * t, expected);
				for (int k = 0; k < 4; k++)
					b[k] *= (float)sign;
				hob_quat_slerp(a, b, t, got);
				assert_true(hob_quat_angle(got, expected) < 1e-6);
			}
}

static void angle_between_rotations_is_exact_for_small_and_large_angles(void **state)
{
	(void)state;
	const float angles[] = {1e-4f, 0.1f, 1.5f, 3.1f};
	for (int i = 0; i < 4; i++) {
		float a[4], b[4];
		turn(-0.2f, a);
		turn(-0.2f + angles[i], b);
		assert_true(fabs(hob_quat_angle(a, b) - angles[i]) < 2e-7);
		for (int k = 0; k < 4; k++)
			b[k] = -b[k];
		assert_true(fabs(hob_quat_angle(a, b) - angles[i]) < 2e-7);
	}
}

static void zero_quaternions_become_the_identity(void **state)
{
	(void)state;
	float q[4] = {0, 0, 0, 0};
	hob_quat_normalise(q);
	assert_true(q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear_starts_at_the_earlier_key),
		cmocka_unit_test(every_key_gives_its_own_value_and_the_ends_hold),
		cmocka_unit_test(step_holds_the_key_before),
		cmocka_unit_test(cubic_reproduces_a_cubic_polynomial),
		cmocka_unit_test(slerp_turns_at_constant_speed_the_short_way),
		cmocka_unit_test(angle_between_rotations_is_exact_for_small_and_large_angles),
		cmocka_unit_test(zero_quaternions_become_the_identity),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
