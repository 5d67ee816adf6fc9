#include "../shapes.h"
#include "core/mesh/mesh_twins.h"

static hob_arena arena;

enum { COUNT = 9 };

static void only_equal_geometry_makes_twins(void **state)
{
	(void)state;
	hob_arena_init(&arena, (size_t)1 << 26);
	hob_mesh meshes[COUNT];
	uint32_t keys[COUNT] = {0}, twin[COUNT];
	for (uint32_t i = 0; i < COUNT; i++)
		meshes[i] = shape_grid(&arena, 20, 0.1f, true, true);
	meshes[1].material = 7;
	meshes[2].position[3 * 200 + 1] += 0.5f; /* one displaced vertex, outside or inside the samples */
	keys[3] = 1;
	meshes[4].uv[1] = meshes[4].uv[0], meshes[4].uv[0] = NULL;
	meshes[5].flat = true;
	uint32_t swapped = meshes[6].indices[601];
	meshes[6].indices[601] = meshes[6].indices[602], meshes[6].indices[602] = swapped;
	meshes[7].influence_count = 4;
	meshes[7].joints = shape_alloc(&arena, meshes[7].vertex_count, 8);
	meshes[7].weights = shape_alloc(&arena, meshes[7].vertex_count, 16);
	size_t before = arena.used;
	hob_mesh_twins(meshes, keys, COUNT, twin, &arena);
	assert_int_equal(arena.used, before);
	const uint32_t want[COUNT] = {0, 0, 2, 3, 4, 5, 6, 7, 0};
	assert_memory_equal(twin, want, sizeof want);
	hob_mesh_twins(meshes, keys, 0, twin, &arena);
	hob_arena_release(&arena);
}

static void morph_targets_count(void **state)
{
	(void)state;
	hob_arena_init(&arena, (size_t)1 << 26);
	hob_mesh meshes[3];
	hob_morph_target targets[3] = {{.weight = 0}, {.weight = 1}, {.weight = 0}};
	uint32_t keys[3] = {0}, twin[3];
	for (uint32_t i = 0; i < 3; i++) {
		meshes[i] = shape_grid(&arena, 4, 0.1f, false, false);
		targets[i].position = shape_alloc(&arena, meshes[i].vertex_count, 12);
		meshes[i].targets = &targets[i];
		meshes[i].target_count = 1;
	}
	targets[2].position[5] = 1;
	hob_mesh_twins(meshes, keys, 3, twin, &arena);
	assert_true(twin[1] == 0 && twin[2] == 2);
	hob_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_equal_geometry_makes_twins),
		cmocka_unit_test(morph_targets_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
