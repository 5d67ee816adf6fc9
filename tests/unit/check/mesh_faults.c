/* Compares the faults of a surface with a brute-force search, on 1,000 random meshes. */
#include "core/check/mesh_faults.h"
#include "tests/unit/shapes.h"

#include <stdlib.h>

static hob_arena arena;

static bool same_place(const float *a, const float *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static const float *corner(const hob_mesh *mesh, uint32_t triangle, uint32_t i)
{
	return mesh->position + 3 * (size_t)mesh->indices[3 * triangle + i % 3];
}

/* On integer coordinates Heron's area is exact enough: zero or at least 1/2. */
static bool is_flat(const hob_mesh *mesh, uint32_t t)
{
	double side[3], half = 0;
	for (uint32_t i = 0; i < 3; i++) {
		const float *a = corner(mesh, t, i), *b = corner(mesh, t, i + 1);
		side[i] = sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
		half += side[i] / 2;
	}
	return half * (half - side[0]) * (half - side[1]) * (half - side[2]) < 0.01;
}

static uint32_t shared(const hob_mesh *mesh, uint32_t t, uint32_t u)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t k = 0; k < 3; k++)
			count += same_place(corner(mesh, t, i), corner(mesh, u, k));
	return count;
}

static bool has_edge(const hob_mesh *mesh, uint32_t t, const float *a, const float *b)
{
	bool found = false;
	for (uint32_t i = 0; i < 3; i++) {
		const float *c = corner(mesh, t, i), *d = corner(mesh, t, i + 1);
		found = found || (same_place(a, c) && same_place(b, d)) || (same_place(a, d) && same_place(b, c));
	}
	return found;
}

static void search(const hob_mesh *mesh, uint32_t count[4])
{
	uint32_t triangles = mesh->index_count / 3;
	bool *counts = calloc(triangles + 1, sizeof *counts);
	for (uint32_t t = 0; t < triangles; t++) {
		counts[t] = !is_flat(mesh, t);
		count[0] += !counts[t];
		for (uint32_t u = 0; u < t && counts[t]; u++)
			if (counts[u] && shared(mesh, t, u) == 3) {
				counts[t] = false;
				count[1]++;
			}
	}
	for (uint32_t t = 0; t < triangles; t++)
		for (uint32_t i = 0; counts[t] && i < 3; i++) {
			const float *a = corner(mesh, t, i), *b = corner(mesh, t, i + 1);
			uint32_t users = 0;
			bool first = true;
			for (uint32_t u = 0; u < triangles; u++)
				if (counts[u] && has_edge(mesh, u, a, b)) {
					first = first && u >= t;
					users++;
				}
			count[2] += first && users == 1;
			count[3] += first && users > 2;
		}
	free(counts);
}

static void random_meshes_have_the_faults_that_a_search_finds(void **state)
{
	(void)state;
	uint64_t seed = 7;
	uint32_t seen[4] = {0};
	for (uint32_t round = 0; round < 1000; round++) {
		uint32_t vertices = 3 + shape_random(&seed) % 12, triangles = shape_random(&seed) % 24;
		hob_mesh mesh = shape_mesh(&arena, vertices, 3 * triangles);
		for (uint32_t i = 0; i < 3 * vertices; i++)
			mesh.position[i] = (float)(shape_random(&seed) % 3);
		for (uint32_t i = 0; i < 3 * triangles; i++)
			mesh.indices[i] = shape_random(&seed) % vertices;
		/* The same mesh in two parts, with all vertices duplicated. */
		hob_mesh parts[2] = {mesh, mesh};
		parts[0].index_count = 3 * (triangles / 2);
		parts[1].indices += parts[0].index_count;
		parts[1].index_count -= parts[0].index_count;
		hob_mesh_faults whole, split;
		uint32_t wanted[4] = {0};
		search(&mesh, wanted);
		assert_true(hob_find_mesh_faults(&mesh, 1, HOB_EDGE_TRIANGLES, &arena, &whole) && whole.has_edges);
		assert_true(hob_find_mesh_faults(parts, 2, HOB_EDGE_TRIANGLES, &arena, &split));
		assert_memory_equal(&whole, &split, sizeof whole);
		uint32_t got[4] = {whole.degenerate.count, whole.duplicate.count, whole.open.count,
						   whole.non_manifold.count};
		assert_memory_equal(got, wanted, sizeof got);
		for (int i = 0; i < 4; i++)
			seen[i] += got[i] > 0;
		hob_arena_release(&arena);
		hob_arena_init(&arena, SIZE_MAX);
	}
	for (int i = 0; i < 4; i++)
		assert_true(seen[i] > 100);
}

static void places_are_those_of_the_first_64(void **state)
{
	(void)state;
	hob_mesh grid = shape_grid(&arena, 20, 0, false, false);
	hob_mesh_faults found;
	assert_true(hob_find_mesh_faults(&grid, 1, HOB_EDGE_TRIANGLES, &arena, &found));
	assert_int_equal(found.open.count, 80);
	assert_int_equal(found.open.place_count, HOB_FAULT_PLACES);
	for (uint32_t i = 0; i < found.open.place_count; i++) {
		const float *p = found.open.places[i];
		assert_true(fminf(fminf(p[0], 1 - p[0]), fminf(p[2], 1 - p[2])) < 1e-6f);
	}
	assert_int_equal(found.non_manifold.count + found.degenerate.count + found.duplicate.count, 0);
}

static void edges_of_large_meshes_are_not_looked_at(void **state)
{
	(void)state;
	hob_mesh grid = shape_grid(&arena, 320, 0, false, false);
	hob_mesh_faults found;
	assert_true(hob_find_mesh_faults(&grid, 1, HOB_EDGE_TRIANGLES, &arena, &found));
	assert_false(found.has_edges);
	assert_int_equal(found.open.count, 0);
	hob_arena small = {0};
	hob_arena_init(&small, 10000);
	assert_false(hob_find_mesh_faults(&grid, 1, HOB_EDGE_TRIANGLES, &small, &found));
	hob_arena_release(&small);
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
		cmocka_unit_test_setup_teardown(random_meshes_have_the_faults_that_a_search_finds, begin, end),
		cmocka_unit_test_setup_teardown(places_are_those_of_the_first_64, begin, end),
		cmocka_unit_test_setup_teardown(edges_of_large_meshes_are_not_looked_at, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
