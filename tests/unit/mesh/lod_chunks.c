#include "../shapes.h"
#include "core/mesh/lod_chunks.h"
#include "core/mesh/weld.h"
#include "tests/surface_oracle.h"

static hob_arena arena;

static int begin(void **state)
{
	(void)state;
	hob_arena_init(&arena, (size_t)1 << 30);
	return 0;
}

static int end(void **state)
{
	(void)state;
	hob_arena_release(&arena);
	return 0;
}

static uint32_t build(const hob_mesh *mesh, uint32_t chunk, hob_lod_level levels[7])
{
	const hob_lod_options options = {.max = 7, .ratio = 0.5f, .error = 0.1f};
	uint32_t count = 1;
	levels[0] = (hob_lod_level){.indices = mesh->indices, .index_count = mesh->index_count};
	hob_lod_chunks_build(mesh, &options, chunk, levels, &count, &arena);
	return count;
}

/* ---- edges */

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Number of edges with unequal numbers of triangles on their two sides. */
static uint32_t count_open_edges(const uint32_t *place, const hob_lod_level *level)
{
	uint64_t *edges = HOB_NEW(&arena, uint64_t, level->index_count);
	uint32_t count = 0, open = 0;
	for (uint32_t i = 0; i < level->index_count; i++) {
		uint64_t a = place[level->indices[i]], b = place[level->indices[i % 3 == 2 ? i - 2 : i + 1]];
		if (a != b)
			edges[count++] = (a < b ? a : b) << 33 | (a < b ? b : a) << 1 | (a < b);
	}
	qsort(edges, count, sizeof *edges, ascending);
	for (uint32_t i = 0, next; i < count; i = next) {
		int32_t balance = 0;
		for (next = i; next < count && edges[next] >> 1 == edges[i] >> 1; next++)
			balance += edges[next] & 1 ? 1 : -1;
		open += balance != 0;
	}
	return open;
}

static void no_level_is_open(uint32_t chunk, uint32_t least)
{
	hob_mesh ball = shape_ball(&arena, 120, 80);
	hob_lod_level levels[7];
	uint32_t count = build(&ball, chunk, levels);
	assert_true(count >= least);
	uint32_t *place = HOB_NEW(&arena, uint32_t, ball.vertex_count),
			 *from = HOB_NEW(&arena, uint32_t, ball.vertex_count);
	const hob_vertex_array positions = {ball.position, 12, true, 0};
	hob_weld(&positions, 1, ball.vertex_count, NULL, 0, place, from, &arena);
	for (uint32_t l = 0; l < count; l++) {
		assert_int_equal(count_open_edges(place, &levels[l]), 0);
		if (l > 0)
			assert_true(levels[l].index_count * 100ull <= levels[l - 1].index_count * 85ull);
	}
}

static void chunks_meet_without_cracks(void **state)
{
	(void)state;
	no_level_is_open(3000, 6);
	no_level_is_open(1000, 5); /* chunks of level 3 are split again */
}

/* ---- errors */

static void no_level_is_farther_than_it_states(void **state)
{
	(void)state;
	hob_mesh grid = shape_grid(&arena, 100, 0.1f, true, true);
	hob_lod_level levels[7];
	uint32_t count = build(&grid, 2000, levels);
	assert_true(count >= 5);
	soup *full = soup_new(grid.position, levels[0].indices, levels[0].index_count);
	for (uint32_t l = 1; l < count; l++) {
		soup *level = soup_new(grid.position, levels[l].indices, levels[l].index_count);
		assert_true(surface_distance(full, level, 20, 10000) <= (double)levels[l].error);
		assert_true(levels[l].error >= levels[l - 1].error);
		soup_free(level);
	}
	soup_free(full);
}

static void a_mesh_of_two_chunks_is_built_in_one_piece(void **state)
{
	(void)state;
	hob_mesh grid = shape_grid(&arena, 40, 0.1f, true, true);
	const hob_lod_options options = {.max = 7, .ratio = 0.5f, .error = 0.1f};
	hob_lod_level levels[7], whole[7] = {{.indices = grid.indices, .index_count = grid.index_count}};
	uint32_t count = build(&grid, grid.index_count / 6, levels), whole_count = 1;
	hob_lods_build(&grid, &options, whole, &whole_count, &arena);
	assert_int_equal(count, whole_count);
	for (uint32_t l = 0; l < count; l++) {
		assert_int_equal(levels[l].index_count, whole[l].index_count);
		assert_memory_equal(levels[l].indices, whole[l].indices, 4 * (size_t)whole[l].index_count);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(chunks_meet_without_cracks),
		TEST(no_level_is_farther_than_it_states),
		TEST(a_mesh_of_two_chunks_is_built_in_one_piece),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
