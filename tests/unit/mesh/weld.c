#include "../shapes.h"
#include "core/mesh/vertex_arrays.h"
#include "core/mesh/weld.h"

#include <stdlib.h>

static uint32_t weld(const hob_vertex_array *arrays, uint32_t array_count, uint32_t vertex_count,
					 const uint32_t *indices, uint32_t index_count, uint32_t *remap, uint32_t *from)
{
	hob_arena scratch;
	hob_arena_init(&scratch, (size_t)1 << 30);
	uint32_t kept = hob_weld(arrays, array_count, vertex_count, indices, index_count, remap, from, &scratch);
	hob_arena_release(&scratch);
	return kept;
}

static void weld_matches_the_slow_way(void **state)
{
	(void)state;
	enum { COUNT = 400, CORNERS = 700 };
	uint64_t seed = 2;
	for (uint32_t range = 1; range < 12; range++) {
		float position[COUNT][3], uv[COUNT][2];
		uint32_t indices[CORNERS], remap[COUNT], from[COUNT], expected[COUNT], kept = 0;
		for (int v = 0; v < COUNT; v++)
			for (int k = 0; k < 5; k++) {
				float value = (float)(shape_random(&seed) % range) - 1;
				*(k < 3 ? &position[v][k] : &uv[v][k - 3]) = k % 2 && value == 0 ? -0.0f : value;
			}
		for (int i = 0; i < CORNERS; i++)
			indices[i] = shape_random(&seed) % COUNT;
		for (uint32_t v = 0; v < COUNT; v++) {
			bool used = false;
			for (int i = 0; i < CORNERS; i++)
				used = used || indices[i] == v;
			expected[v] = used ? kept : HOB_NONE;
			for (uint32_t w = 0; used && w < v; w++) {
				bool equal = expected[w] != HOB_NONE;
				for (int k = 0; k < 3; k++)
					equal = equal && position[v][k] == position[w][k];
				for (int k = 0; k < 2; k++)
					equal = equal && uv[v][k] == uv[w][k];
				if (equal) {
					expected[v] = expected[w];
					break;
				}
			}
			kept += expected[v] == kept;
		}
		hob_vertex_array arrays[2] = {{position, 12, true, 0}, {uv, 8, true, 0}};
		assert_int_equal(weld(arrays, 2, COUNT, indices, CORNERS, remap, from), kept);
		assert_memory_equal(remap, expected, sizeof remap);
		for (uint32_t i = 0; i < kept; i++)
			for (uint32_t v = 0; v <= from[i]; v++)
				assert_true((remap[v] == i) == (v == from[i]));
	}
}

static void negative_zero_equals_zero_in_floats_only(void **state)
{
	(void)state;
	const uint32_t bits[2] = {0x00000000u, 0x80000000u};
	uint32_t remap[2], from[2];
	hob_vertex_array array = {bits, 4, true, 0};
	assert_int_equal(weld(&array, 1, 2, NULL, 0, remap, from), 1);
	array.is_float = false;
	assert_int_equal(weld(&array, 1, 2, NULL, 0, remap, from), 2);
}

static void nan_equals_itself(void **state)
{
	(void)state;
	const float values[3] = {NAN, NAN, 1};
	uint32_t remap[3], from[3];
	hob_vertex_array array = {values, 4, true, 0};
	assert_int_equal(weld(&array, 1, 3, NULL, 0, remap, from), 2);
}

static void nothing_and_all_equal(void **state)
{
	(void)state;
	static const float zeros[3 * 1000];
	static uint32_t remap[1000], from[1000];
	hob_vertex_array array = {zeros, 12, true, 0};
	assert_int_equal(weld(&array, 1, 0, NULL, 0, remap, from), 0);
	assert_int_equal(weld(&array, 1, 1000, NULL, 0, remap, from), 1);
	assert_int_equal(from[0], 0);
}

static void repeated_corners_drop_a_triangle(void **state)
{
	(void)state;
	const uint32_t indices[12] = {0, 1, 2, 0, 1, 1, 2, 0, 2, 3, 2, 1};
	const uint32_t remap[4] = {0, 1, 2, 1};
	uint32_t out[12];
	assert_int_equal(hob_weld_triangles(indices, 12, NULL, out, NULL), 6);
	assert_int_equal(hob_weld_triangles(indices, 12, remap, out, NULL), 3);
	assert_int_equal(hob_weld_triangles(indices, 0, remap, out, NULL), 0);
}

static void list_holds_every_array_of_the_mesh(void **state)
{
	(void)state;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	hob_mesh mesh = shape_grid(&arena, 1, 0, true, true);
	mesh.tangent = shape_alloc(&arena, 4, 16);
	mesh.uv[1] = shape_alloc(&arena, 4, 8);
	mesh.color[0] = shape_alloc(&arena, 4, 16);
	mesh.influence_count = 8;
	mesh.joints = shape_alloc(&arena, 4, 16);
	mesh.weights = shape_alloc(&arena, 4, 32);
	hob_morph_target targets[2] = {
		{.position = shape_alloc(&arena, 4, 12)},
		{.normal = shape_alloc(&arena, 4, 12), .tangent = shape_alloc(&arena, 4, 12)}};
	mesh.targets = targets, mesh.target_count = 2;
	/* Any one byte that differs in any array must keep two vertices apart. */
	uint32_t count = hob_vertex_arrays_count(&mesh), from[4], remap[4];
	assert_int_equal(count, 11);
	hob_vertex_array *arrays = shape_alloc(&arena, count, sizeof *arrays);
	for (uint32_t a = 0; a < count; a++) {
		memset(mesh.position, 0, 48), memset(mesh.normal, 0, 48), memset(mesh.uv[0], 0, 32);
		hob_vertex_arrays_list(&mesh, arrays);
		assert_int_equal(weld(arrays, count, 4, NULL, 0, remap, from), 1);
		uint8_t *last = (uint8_t *)(uintptr_t)arrays[a].data + 3 * arrays[a].size + arrays[a].size - 4;
		*last = 1;
		assert_int_equal(weld(arrays, count, 4, NULL, 0, remap, from), 2);
		*last = 0;
	}
	hob_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weld_matches_the_slow_way),
		cmocka_unit_test(negative_zero_equals_zero_in_floats_only),
		cmocka_unit_test(nan_equals_itself),
		cmocka_unit_test(nothing_and_all_equal),
		cmocka_unit_test(repeated_corners_drop_a_triangle),
		cmocka_unit_test(list_holds_every_array_of_the_mesh),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
