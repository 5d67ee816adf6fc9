/* Compares self-intersections with an exact brute-force search in integers on 1,000 random meshes, and UV
 * overlap with the overlap of random rectangles. */
#include "core/check/deep_faults.h"
#include "tests/unit/shapes.h"

#include <stdlib.h>

static hob_arena arena;

typedef long long whole;

static whole volume(const float *a, const float *b, const float *c, const float *d)
{
	whole m[3][3];
	for (int k = 0; k < 3; k++) {
		m[0][k] = (whole)b[k] - (whole)a[k];
		m[1][k] = (whole)c[k] - (whole)a[k];
		m[2][k] = (whole)d[k] - (whole)a[k];
	}
	return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
		   m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
		   m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

static int sign(whole v)
{
	return (v > 0) - (v < 0);
}

static const float *corner(const hob_mesh *mesh, uint32_t t, uint32_t i)
{
	return mesh->position + 3 * (size_t)mesh->indices[3 * t + i % 3];
}

static bool pierces(const hob_mesh *mesh, uint32_t t, uint32_t u)
{
	bool found = false;
	for (uint32_t i = 0; i < 3; i++) {
		const float *a = corner(mesh, t, i), *b = corner(mesh, t, i + 1);
		const float *p = corner(mesh, u, 0), *q = corner(mesh, u, 1), *r = corner(mesh, u, 2);
		int x = sign(volume(a, b, p, q)), y = sign(volume(a, b, q, r)), z = sign(volume(a, b, r, p));
		found =
			found || (x != 0 && x == y && y == z && sign(volume(p, q, r, a)) * sign(volume(p, q, r, b)) < 0);
	}
	return found;
}

static bool is_joined(const hob_mesh *mesh, uint32_t t, uint32_t u)
{
	bool joined = false;
	for (uint32_t i = 0; i < 9; i++)
		joined = joined || memcmp(corner(mesh, t, i / 3), corner(mesh, u, i % 3), 3 * sizeof(float)) == 0;
	return joined;
}

static void crossings_are_those_of_a_brute_force_search(void **state)
{
	(void)state;
	uint64_t seed = 7;
	uint32_t seen[2] = {0};
	for (int round = 0; round < 1000; round++) {
		uint32_t vertices = 6 + shape_random(&seed) % 30, triangles = shape_random(&seed) % 20, wanted = 0;
		hob_mesh mesh = shape_mesh(&arena, vertices, 3 * triangles);
		for (uint32_t i = 0; i < 3 * vertices; i++)
			mesh.position[i] = (float)(shape_random(&seed) % 9);
		for (uint32_t i = 0; i < 3 * triangles; i++)
			mesh.indices[i] = shape_random(&seed) % vertices;
		for (uint32_t t = 0; t < triangles; t++) {
			bool crosses = false;
			for (uint32_t u = 0; u < triangles; u++)
				if (t != u && !is_joined(&mesh, t, u))
					crosses = crosses || pierces(&mesh, t, u) || pierces(&mesh, u, t);
			wanted += crosses;
		}
		hob_mesh parts[2] = {mesh, mesh};
		parts[0].index_count = 3 * (triangles / 2);
		parts[1].indices += parts[0].index_count;
		parts[1].index_count -= parts[0].index_count;
		hob_fault found = {0}, split = {0};
		assert_true(hob_find_crossings(&mesh, 1, &arena, &found));
		assert_true(hob_find_crossings(parts, 2, &arena, &split));
		assert_int_equal(found.count, wanted);
		assert_memory_equal(&found, &split, sizeof found);
		seen[wanted > 0]++;
		hob_arena_release(&arena);
		hob_arena_init(&arena, SIZE_MAX);
	}
	assert_true(seen[0] > 50 && seen[1] > 500);
}

/* Each rectangle is two triangles. */
static hob_mesh rectangles(const float (*sides)[4], uint32_t count)
{
	hob_mesh mesh = shape_mesh(&arena, 4 * count, 6 * count);
	mesh.uv[0] = HOB_NEW(&arena, float, 8 * (size_t)count);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t c = 0; c < 4; c++) {
			static const uint32_t corners[6] = {0, 1, 2, 2, 1, 3};
			mesh.uv[0][8 * i + 2 * c] = sides[i][0] + (c & 1 ? sides[i][2] : 0);
			mesh.uv[0][8 * i + 2 * c + 1] = sides[i][1] + (c & 2 ? sides[i][3] : 0);
			for (uint32_t k = 0; k < 6; k++)
				mesh.indices[6 * i + k] = 4 * i + corners[k];
		}
	return mesh;
}

static void overlap_is_the_share_that_is_used_twice(void **state)
{
	(void)state;
	uint64_t seed = 3;
	for (int round = 0; round < 100; round++) {
		float sides[2][4];
		for (int i = 0; i < 8; i++)
			sides[i / 4][i % 4] = (float)(shape_random(&seed) % 1000) / 500 + (i % 4 > 1 ? 0.6f : -1);
		double both = 1, areas = 0;
		for (int k = 0; k < 2; k++) {
			float from = fmaxf(sides[0][k], sides[1][k]);
			float to = fminf(sides[0][k] + sides[0][k + 2], sides[1][k] + sides[1][k + 2]);
			both *= (double)fmaxf(0, to - from);
			areas += (double)(sides[k][2] * sides[k][3]);
		}
		hob_mesh mesh = rectangles(sides, 2);
		hob_fault found = {0};
		double share = hob_find_uv_overlap(&mesh, 0, &arena, &found);
		assert_true(fabs(share - both / (areas - both)) < 0.01);
		assert_true(both > 0.01 ? found.count > 0 : found.count <= 2);
		hob_arena_release(&arena);
		hob_arena_init(&arena, SIZE_MAX);
	}
}

static void margins_are_counted_in_texels(void **state)
{
	(void)state;
	uint64_t seed = 4;
	for (int round = 0; round < 100; round++) {
		float gap = (float)(shape_random(&seed) % 240) / 10, at = (float)(shape_random(&seed) % 1000) / 1000;
		int along = round % 2;
		float sides[2][4] = {{0, 0, 0.2f, 0.2f}, {0, 0, 0.2f, 0.2f}};
		sides[0][along] = at;
		sides[1][along] = at + 0.2f + gap / HOB_OVERLAP_TEXELS;
		hob_mesh mesh = rectangles(sides, 2);
		hob_fault found = {0};
		double free_texels = hob_find_uv_margin(&mesh, 16, &arena, &found);
		assert_true(isinf(free_texels) ? gap > 15 && found.count == 0 : found.count > 0);
		assert_true(isinf(free_texels) || fabs(free_texels + 1 - (double)gap) < 1.1);
		sides[1][along] = at + 0.1f; /* overlapping islands are one */
		mesh = rectangles(sides, 2);
		found = (hob_fault){0};
		assert_true(isinf(hob_find_uv_margin(&mesh, 16, &arena, &found)) && found.count == 0);
		hob_arena_release(&arena);
		hob_arena_init(&arena, SIZE_MAX);
	}
}

static void neighbours_do_not_overlap_and_work_has_a_bound(void **state)
{
	(void)state;
	enum { COUNT = 4000 };
	float(*sides)[4] = malloc(COUNT * sizeof *sides);
	for (uint32_t i = 0; i < COUNT; i++)
		for (uint32_t k = 0; k < 4; k++)
			sides[i][k] = k == 0 ? (float)(i % 50) / 50 : k == 1 ? (float)(i / 50) / 50 : 1.0f / 50;
	hob_fault found = {0};
	hob_mesh mesh = rectangles(sides, COUNT);
	assert_true(hob_find_uv_overlap(&mesh, 0, &arena, &found) <= 0 && found.count == 0);
	for (uint32_t i = 0; i < COUNT; i++)
		for (uint32_t k = 0; k < 4; k++)
			sides[i][k] = k < 2 ? 0 : 1;
	mesh = rectangles(sides, COUNT);
	assert_true(hob_find_uv_overlap(&mesh, 0, &arena, &found) < 0);
	mesh.uv[0][0] = NAN;
	mesh.index_count = 3;
	assert_true(hob_find_uv_overlap(&mesh, 0, &arena, &found) <= 0);
	hob_arena small = {0};
	hob_arena_init(&small, 1000);
	mesh.index_count = 600;
	assert_true(hob_find_uv_overlap(&mesh, 0, &small, &found) < 0);
	assert_false(hob_find_crossings(&mesh, 1, &small, &found));
	hob_arena_release(&small);
	free(sides);
}

static int begin(void **state)
{
	(void)state;
	hob_arena_init(&arena, SIZE_MAX);
	return 0;
}

static int end(void **state)
{
	(void)state;
	hob_arena_release(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(crossings_are_those_of_a_brute_force_search, begin, end),
		cmocka_unit_test_setup_teardown(overlap_is_the_share_that_is_used_twice, begin, end),
		cmocka_unit_test_setup_teardown(margins_are_counted_in_texels, begin, end),
		cmocka_unit_test_setup_teardown(neighbours_do_not_overlap_and_work_has_a_bound, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
