/* Matrix product, node matrices and decomposition. */
#include "tests/unit/support.h"

#include "core/model/model.h"

#include <math.h>

static uint32_t random_state;

static float random_float(float low, float high)
{
	random_state = random_state * 1664525u + 1013904223u;
	return low + (high - low) * (float)(random_state >> 8) / 16777216.0f;
}

static void assert_close(const float *a, const float *b, size_t count, float tolerance)
{
	for (size_t i = 0; i < count; i++)
		if (!(fabsf(a[i] - b[i]) <= tolerance))
			fail_msg("value %zu: %g, wanted %g", i, (double)a[i], (double)b[i]);
}

static void make_unit(float q[4])
{
	float length = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
	for (int i = 0; i < 4; i++)
		q[i] /= length;
}

/* Textbook form, independent of the code under test: T, then R by conjugation, then S. */
static void transform(const hob_node *n, const float p[3], float out[3])
{
	float x[3], qx = n->rotation[0], qy = n->rotation[1], qz = n->rotation[2], qw = n->rotation[3];
	for (int i = 0; i < 3; i++)
		x[i] = p[i] * n->scale[i];
	float t[3] = {2 * (qy * x[2] - qz * x[1]), 2 * (qz * x[0] - qx * x[2]), 2 * (qx * x[1] - qy * x[0])};
	out[0] = x[0] + qw * t[0] + qy * t[2] - qz * t[1] + n->translation[0];
	out[1] = x[1] + qw * t[1] + qz * t[0] - qx * t[2] + n->translation[1];
	out[2] = x[2] + qw * t[2] + qx * t[1] - qy * t[0] + n->translation[2];
}

static void apply(const float m[16], const float p[3], float out[3])
{
	for (int row = 0; row < 3; row++)
		out[row] = m[row] * p[0] + m[4 + row] * p[1] + m[8 + row] * p[2] + m[12 + row];
}

static hob_node random_node(bool mirror)
{
	hob_node n = {0};
	for (int i = 0; i < 3; i++) {
		n.translation[i] = random_float(-5, 5);
		n.scale[i] = random_float(0.2f, 3);
	}
	for (int i = 0; i < 4; i++)
		n.rotation[i] = random_float(-1, 1);
	make_unit(n.rotation);
	if (mirror)
		n.scale[0] = -n.scale[0];
	return n;
}

static void a_node_matrix_is_translation_rotation_scale(void **state)
{
	(void)state;
	random_state = 1;
	for (int round = 0; round < 200; round++) {
		hob_node n = random_node(round & 1);
		float m[16], p[3] = {random_float(-1, 1), random_float(-1, 1), random_float(-1, 1)}, by_matrix[3],
					 by_hand[3];
		hob_node_local_matrix(&n, m);
		apply(m, p, by_matrix);
		transform(&n, p, by_hand);
		assert_close(by_matrix, by_hand, 3, 1e-5f);
	}
}

static void a_node_with_a_matrix_uses_it(void **state)
{
	(void)state;
	hob_node n = random_node(false);
	float m[16];
	n.has_matrix = true;
	for (int i = 0; i < 16; i++)
		n.matrix[i] = (float)i;
	hob_node_local_matrix(&n, m);
	assert_memory_equal(m, n.matrix, sizeof m);
}

static void a_product_applies_the_right_factor_first(void **state)
{
	(void)state;
	random_state = 2;
	for (int round = 0; round < 50; round++) {
		hob_node na = random_node(false), nb = random_node(true);
		float a[16], b[16], p[3] = {1, 2, 3}, inner[3], wanted[3], got[3];
		hob_node_local_matrix(&na, a);
		hob_node_local_matrix(&nb, b);
		apply(b, p, inner);
		apply(a, inner, wanted);
		hob_matrix_multiply(a, b, b); /* out aliases a factor */
		apply(b, p, got);
		assert_close(got, wanted, 3, 1e-4f);
	}
}

static void decomposition_gives_back_the_parts(void **state)
{
	(void)state;
	random_state = 3;
	for (int round = 0; round < 500; round++) {
		hob_node n = random_node(round & 1);
		float m[16], again[16];
		hob_node back = {0};
		hob_node_local_matrix(&n, m);
		assert_true(hob_matrix_decompose(m, back.translation, back.rotation, back.scale));
		assert_close(back.scale, n.scale, 3, 1e-5f);
		assert_close(back.translation, n.translation, 3, 0);
		hob_node_local_matrix(&back, again);
		assert_close(again, m, 16, 2e-5f);
	}
}

static void half_turns_decompose(void **state)
{
	(void)state;
	static const float axes[6][4] = {{1, 0, 0, 0}, {0, 1, 0, 0},  {0, 0, 1, 0},
									 {1, 1, 0, 0}, {1, -1, 1, 0}, {-1, 0, 1, 1e-4f}};
	for (int i = 0; i < 6; i++) {
		hob_node n = {.scale = {1, 2, 3}}, back = {0};
		memcpy(n.rotation, axes[i], sizeof n.rotation);
		make_unit(n.rotation);
		float m[16], again[16];
		hob_node_local_matrix(&n, m);
		assert_true(hob_matrix_decompose(m, back.translation, back.rotation, back.scale));
		hob_node_local_matrix(&back, again);
		assert_close(again, m, 16, 1e-5f);
	}
}

static void a_mirror_of_any_axis_becomes_a_mirror_of_x(void **state)
{
	(void)state;
	for (int axis = 0; axis < 3; axis++) {
		float m[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, again[16];
		m[axis * 5] = -2;
		hob_node n = {0};
		assert_true(hob_matrix_decompose(m, n.translation, n.rotation, n.scale));
		assert_true(n.scale[0] < 0 && n.scale[1] > 0 && n.scale[2] > 0);
		hob_node_local_matrix(&n, again);
		assert_close(again, m, 16, 1e-6f);
	}
}

static void shear_is_reported_and_the_closest_parts_are_given(void **state)
{
	(void)state;
	static const float sheared[16] = {1, 0, 0, 0, 0.2f, 1, 0, 0, 0, 0, 1, 0, 7, 8, 9, 1};
	hob_node n = {0};
	assert_false(hob_matrix_decompose(sheared, n.translation, n.rotation, n.scale));
	assert_close(n.translation, sheared + 12, 3, 0);
	float m[16], best = 0, error;
	hob_node_local_matrix(&n, m);
	for (int i = 0; i < 12; i++)
		best += (m[i] - sheared[i]) * (m[i] - sheared[i]);
	/* No small rotation of the result is closer. */
	for (int axis = 0; axis < 3; axis++)
		for (int sign = -1; sign <= 1; sign += 2) {
			hob_node turned = n;
			turned.rotation[axis] += (float)sign * 0.01f;
			make_unit(turned.rotation);
			hob_node_local_matrix(&turned, m);
			error = 0;
			for (int i = 0; i < 12; i++)
				error += (m[i] - sheared[i]) * (m[i] - sheared[i]);
			assert_true(error >= best - 1e-4f);
		}
}

static void singular_and_infinite_matrices_give_finite_parts(void **state)
{
	(void)state;
	static const float cases[6][16] = {
		{[15] = 1},
		{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1},
		{0, 0, 0, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 1},
		{1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 0, 0, 0, 0, 1},
		{INFINITY, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
		{1, 0, 0, 0, 0, NAN, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
	};
	static const bool exact[6] = {true, true, true, false, false, false};
	for (int i = 0; i < 6; i++) {
		hob_node n = {0};
		assert_int_equal(hob_matrix_decompose(cases[i], n.translation, n.rotation, n.scale), exact[i]);
		float squared = 0;
		for (int k = 0; k < 4; k++)
			squared += n.rotation[k] * n.rotation[k];
		assert_true(fabsf(squared - 1) < 1e-5f);
		for (int k = 0; k < 3; k++)
			assert_true(isfinite(n.scale[k]) && isfinite(n.translation[k]));
	}
}

static void a_projection_is_no_transform(void **state)
{
	(void)state;
	float m[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, -1, 0, 0, 0, 1}, t[3], r[4], s[3];
	assert_false(hob_matrix_decompose(m, t, r, s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_matrix_is_translation_rotation_scale),
		cmocka_unit_test(a_node_with_a_matrix_uses_it),
		cmocka_unit_test(a_product_applies_the_right_factor_first),
		cmocka_unit_test(decomposition_gives_back_the_parts),
		cmocka_unit_test(half_turns_decompose),
		cmocka_unit_test(a_mirror_of_any_axis_becomes_a_mirror_of_x),
		cmocka_unit_test(shear_is_reported_and_the_closest_parts_are_given),
		cmocka_unit_test(singular_and_infinite_matrices_give_finite_parts),
		cmocka_unit_test(a_projection_is_no_transform),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
