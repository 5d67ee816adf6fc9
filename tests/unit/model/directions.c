/* hob_mesh_repair_directions. */
#include "tests/unit/support.h"

#include "core/model/model.h"

#include <math.h>

static float positions[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 5, 5, 5};
static uint32_t indices[3] = {0, 1, 2};

static hob_mesh mesh_of(float *normal, float *tangent)
{
	return (hob_mesh){.vertex_count = 4,
					  .index_count = 3,
					  .indices = indices,
					  .position = positions,
					  .normal = normal,
					  .tangent = tangent};
}

static void unit_vectors_are_left_bit_for_bit(void **state)
{
	(void)state;
	float normals[12] = {0, 0, 1, 0.6f, 0.8f, 0, 0.57735f, 0.57735f, 0.57735f, -1, 0, 0}, before[12];
	memcpy(before, normals, sizeof before);
	hob_mesh mesh = mesh_of(normals, NULL);
	hob_direction_repair repair = hob_mesh_repair_directions(&mesh);
	assert_memory_equal(normals, before, sizeof before);
	assert_int_equal(repair.normals_scaled + repair.normals_filled, 0);
	assert_ptr_equal(mesh.normal, normals);
}

static void lengths_become_one_even_where_squares_overflow(void **state)
{
	(void)state;
	float normals[12] = {0, 0, 3, 0, 0.25f, 0, 3e30f, 4e30f, 0, 0, 0, -1};
	static const float wanted[12] = {0, 0, 1, 0, 1, 0, 0.6f, 0.8f, 0, 0, 0, -1};
	hob_mesh mesh = mesh_of(normals, NULL);
	hob_direction_repair repair = hob_mesh_repair_directions(&mesh);
	assert_int_equal(repair.normals_scaled, 3);
	for (int i = 0; i < 12; i++)
		assert_true(fabsf(normals[i] - wanted[i]) < 1e-6f);
}

static void a_zero_normal_takes_the_normal_of_its_face(void **state)
{
	(void)state;
	float normals[12] = {1, 0, 0, 0, 0, 0, 0, 0, 1e-9f, 0, 0, 0};
	hob_mesh mesh = mesh_of(normals, NULL);
	hob_direction_repair repair = hob_mesh_repair_directions(&mesh);
	static const float wanted[12] = {1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1}; /* no face uses the last */
	assert_int_equal(repair.normals_filled, 3);
	assert_memory_equal(normals, wanted, sizeof wanted);
}

static void a_zero_tangent_lies_across_the_normal(void **state)
{
	(void)state;
	float normals[12] = {0, 0, 1, 0, 1, 0, 1, 0, 0, 0.6f, 0.8f, 0};
	float tangents[16] = {0, 0, 0, 0, 0, 0, 0, -0.5f, 0, 0, 0, 1, 0, 0, 2, 7};
	hob_mesh mesh = mesh_of(normals, tangents);
	hob_direction_repair repair = hob_mesh_repair_directions(&mesh);
	assert_int_equal(repair.tangents_filled, 3);
	assert_int_equal(repair.tangents_scaled, 1);
	for (int i = 0; i < 4; i++) {
		const float *n = normals + i * 3, *t = tangents + i * 4;
		assert_true(fabsf(n[0] * t[0] + n[1] * t[1] + n[2] * t[2]) < 1e-6f);
		assert_true(fabsf(t[0] * t[0] + t[1] * t[1] + t[2] * t[2] - 1) < 1e-5f);
		assert_true(t[3] == (i == 1 ? -1.0f : 1.0f));
	}
}

static void arrays_that_say_nothing_are_dropped(void **state)
{
	(void)state;
	static const float breakages[3] = {NAN, INFINITY, 0};
	for (int i = 0; i < 3; i++) {
		float normals[12] = {0}, tangents[16] = {0};
		normals[4] = breakages[i];
		tangents[3] = breakages[i];
		hob_mesh mesh = mesh_of(normals, tangents);
		hob_direction_repair repair = hob_mesh_repair_directions(&mesh);
		assert_true(repair.normals_dropped && repair.tangents_dropped);
		assert_null(mesh.normal);
		assert_null(mesh.tangent);
	}
}

static void a_mesh_without_directions_is_fine(void **state)
{
	(void)state;
	hob_mesh mesh = mesh_of(NULL, NULL);
	hob_direction_repair repair = hob_mesh_repair_directions(&mesh);
	assert_false(repair.normals_dropped || repair.tangents_dropped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unit_vectors_are_left_bit_for_bit),
		cmocka_unit_test(lengths_become_one_even_where_squares_overflow),
		cmocka_unit_test(a_zero_normal_takes_the_normal_of_its_face),
		cmocka_unit_test(a_zero_tangent_lies_across_the_normal),
		cmocka_unit_test(arrays_that_say_nothing_are_dropped),
		cmocka_unit_test(a_mesh_without_directions_is_fine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
