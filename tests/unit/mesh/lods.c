#include "../shapes.h"
#include "core/mesh/bake.h"
#include "core/mesh/lods.h"
#include "core/mesh/triangle_order.h"

#include <meshoptimizer.h>
#include <stdlib.h>

static hob_arena arena, scratch;

static int begin(void **state)
{
	(void)state;
	hob_arena_init(&arena, (size_t)1 << 30);
	hob_arena_init(&scratch, (size_t)1 << 30);
	return 0;
}

static int end(void **state)
{
	(void)state;
	hob_arena_release(&arena);
	hob_arena_release(&scratch);
	return 0;
}

/* A rippled square with three vertices of different normals at each place, and triangles between the vertices
 * of one place and a neighbour: zero-width bevels as left by modelling tools, `per_place` of them. */
static hob_mesh bevelled_grid(uint32_t n, uint32_t per_place)
{
	hob_mesh grid = shape_grid(&arena, n, 0.1f, true, false);
	uint32_t places = grid.vertex_count;
	hob_mesh mesh = shape_mesh(&arena, 3 * places, grid.index_count + 3 * per_place * places);
	mesh.normal = shape_alloc(&arena, mesh.vertex_count, 12);
	for (uint32_t v = 0; v < mesh.vertex_count; v++) {
		memcpy(mesh.position + 3 * v, grid.position + 3 * (v % places), 12);
		mesh.normal[3 * v + v / places] = 1;
	}
	memcpy(mesh.indices, grid.indices, grid.index_count * sizeof *mesh.indices);
	uint32_t *corner = mesh.indices + grid.index_count;
	for (uint32_t p = 0; p < places; p++)
		for (uint32_t i = 0; i < per_place; i++, corner += 3) {
			corner[0] = p + i % 3 * places;
			corner[1] = p + (i + 1) % 3 * places;
			corner[2] = (p + 1 + i / 3) % places;
		}
	return mesh;
}

static uint32_t build(const hob_mesh *mesh, hob_lod_options options, hob_lod_level *levels)
{
	levels[0] = (hob_lod_level){.indices = mesh->indices, .index_count = mesh->index_count};
	uint32_t count = 1;
	hob_lods_build(mesh, &options, levels, &count, &arena);
	for (uint32_t l = 1; l < count; l++) {
		assert_true(levels[l].index_count > 0 && levels[l].index_count % 3 == 0);
		assert_true(levels[l].index_count < levels[l - 1].index_count);
		assert_true(isfinite(levels[l].error) && levels[l].error >= levels[l - 1].error);
		for (uint32_t i = 0; i < levels[l].index_count; i++)
			assert_true(levels[l].indices[i] < mesh->vertex_count);
	}
	return count;
}

static const hob_lod_options seven = {.max = 7, .ratio = 0.5f, .error = 0.1f};

/* Merging vertices at one place leaves fewer triangles than the target of the step. */
static void triangles_of_no_width_go_first(void **state)
{
	(void)state;
	hob_mesh mesh = bevelled_grid(24, 6);
	hob_lod_level levels[7];
	uint32_t count = build(&mesh, seven, levels);
	assert_true(count >= 4);
	for (uint32_t l = 1; l < count; l++)
		assert_true(levels[l].index_count <= (6u * 24 * 24 >> l) * 1.2 && levels[l].error > 0);
}

static double area(const hob_mesh *m, const uint32_t *corner)
{
	const float *a = m->position + 3 * (size_t)corner[0], *b = m->position + 3 * (size_t)corner[1],
				*c = m->position + 3 * (size_t)corner[2];
	double u[3], v[3], n[3];
	for (int k = 0; k < 3; k++)
		u[k] = (double)b[k] - (double)a[k], v[k] = (double)c[k] - (double)a[k];
	for (int k = 0; k < 3; k++)
		n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
	return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

static hob_baked_mesh bake(const hob_mesh *mesh)
{
	const hob_mesh_options options = {.lod_max = 7, .lod_error = 0.1f};
	hob_baked_mesh out;
	out = hob_mesh_bake(mesh, &options, &arena, &scratch, NULL);
	return out;
}

static void no_level_draws_triangles_between_vertices_of_one_place(void **state)
{
	(void)state;
	hob_mesh mesh = bevelled_grid(24, 6);
	hob_baked_mesh b = bake(&mesh);
	assert_int_equal(b.lods[0].index_count, 6 * 24 * 24);
	assert_true(b.lod_count > 1);
	for (uint32_t i = 0; i < b.index_count; i += 3)
		assert_true(area(&b.mesh, b.indices + i) > 0);
}

/* Triangles of zero width at rest may open in motion. */
static void triangles_that_open_in_motion_stay(void **state)
{
	(void)state;
	hob_mesh mesh = bevelled_grid(8, 6);
	hob_morph_target target = {.name = HOB_STR("open"),
							   .position = shape_alloc(&arena, mesh.vertex_count, 12)};
	for (uint32_t v = 0; v < mesh.vertex_count; v++)
		target.position[3 * v + 1] = (float)(v / 81);
	mesh.targets = &target;
	mesh.target_count = 1;
	hob_baked_mesh b = bake(&mesh);
	assert_int_equal(b.lods[0].index_count, mesh.index_count);
	mesh.target_count = 0;
	mesh.influence_count = 4;
	mesh.joints = shape_alloc(&arena, mesh.vertex_count, 8);
	mesh.weights = shape_alloc(&arena, mesh.vertex_count, 16);
	for (uint32_t v = 0; v < mesh.vertex_count; v++)
		mesh.joints[4 * v] = (uint16_t)(v / 81), mesh.weights[4 * v] = 1;
	b = bake(&mesh);
	assert_int_equal(b.lods[0].index_count, mesh.index_count);
}

/* Meshes that cannot shrink, or are almost empty. */
static void odd_meshes_end_the_chain_quietly(void **state)
{
	(void)state;
	hob_lod_level levels[7];
	hob_mesh none = shape_mesh(&arena, 0, 0), one = shape_mesh(&arena, 3, 3);
	one.position[3] = one.position[8] = 1;
	for (uint32_t i = 0; i < 3; i++)
		one.indices[i] = i;
	assert_int_equal(build(&none, seven, levels), 1);
	assert_int_equal(build(&one, seven, levels), 1);
	hob_mesh leaves = shape_leaves(&arena, 10000);
	build(&leaves, seven, levels);
	hob_mesh line = shape_grid(&arena, 40, 0, true, false), place = shape_grid(&arena, 40, 0, true, false);
	for (uint32_t v = 0; v < line.vertex_count; v++)
		line.position[3 * v + 2] = 0;
	memset(place.position, 0, place.vertex_count * 12);
	build(&line, seven, levels);
	build(&place, seven, levels);
	for (uint32_t per_place = 1; per_place < 20; per_place += 3) {
		hob_mesh mesh = bevelled_grid(12, per_place);
		build(&mesh, seven, levels);
		hob_lod_options hard = {.max = 7, .ratio = 0.95f, .error = 1, .lock_border = true};
		build(&mesh, hard, levels);
		hard.ratio = 0.05f;
		build(&mesh, hard, levels);
		bake(&mesh);
	}
}

/* Tasks in reverse order, on two threads: the worst case of a pool. */
static void run_backwards(void *user, uint32_t count, hob_task task, void *context)
{
	*(uint32_t *)user += 1;
	for (uint32_t i = count; i-- > 0;)
		task(context, i, i % 2);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Marks the vertices of edges with a single triangle, and counts such edges with a vertex outside `known`. */
static uint32_t find_open(const uint32_t *indices, uint32_t count, const uint8_t *known, uint8_t *marks)
{
	uint64_t *sides = malloc(count * sizeof *sides);
	uint32_t new_ones = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t a = indices[i], b = indices[i / 3 * 3 + (i + 1) % 3];
		sides[i] = a < b ? a << 32 | b : b << 32 | a;
	}
	qsort(sides, count, sizeof *sides, by_value);
	for (uint32_t i = 0; i < count; i++) {
		bool alone = (i == 0 || sides[i - 1] != sides[i]) && (i + 1 == count || sides[i + 1] != sides[i]);
		uint32_t a = (uint32_t)(sides[i] >> 32), b = (uint32_t)sides[i];
		if (alone && known)
			new_ones += !known[a] || !known[b];
		else if (alone)
			marks[a] = marks[b] = 1;
	}
	free(sides);
	return new_ones;
}

static void parts_and_threads_do_not_show(void **state)
{
	(void)state;
	uint32_t loops = 0;
	hob_parallel backwards = {&loops, 2, run_backwards};
	hob_mesh grid = shape_grid(&arena, 370, 0.1f, false, false);
	grid.position[3 * 30000 + 2] += 3; /* a spike */
	hob_lod_options options = {.max = 5, .ratio = 0.5f, .error = 1};
	hob_lod_level alone[5], together[5];
	uint32_t count = build(&grid, options, alone);
	options.parallel = &backwards;
	assert_int_equal(build(&grid, options, together), count);
	assert_true(count == 5 && loops > 5);
	uint8_t *open = HOB_NEW(&arena, uint8_t, grid.vertex_count);
	find_open(grid.indices, grid.index_count, NULL, open);
	for (uint32_t l = 0; l < count; l++) {
		assert_true(alone[l].error == together[l].error && alone[l].index_count == together[l].index_count);
		assert_memory_equal(alone[l].indices, together[l].indices, 4 * (size_t)alone[l].index_count);
		assert_int_equal(find_open(alone[l].indices, alone[l].index_count, open, NULL), 0);
	}
}

/* Replaces operator new when memory runs out. */
_Noreturn void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv");

static uint32_t allocations_left;

static void *take(size_t size)
{
	void *memory = allocations_left > 0 ? malloc(size) : NULL;
	if (!memory)
		throw_bad_alloc();
	allocations_left--;
	return memory;
}

typedef struct attempt {
	const hob_mesh *mesh;
	hob_lod_level levels[3];
	uint32_t count;
	hob_order_effort effort;
} attempt_t;

static bool build_levels(void *context, hob_error *err)
{
	(void)err;
	attempt_t *a = context;
	const hob_lod_options options = {.max = 3, .ratio = 0.5f, .error = 1};
	hob_lods_build(a->mesh, &options, a->levels, &a->count, &arena);
	return true;
}

static bool order(void *context, hob_error *err)
{
	(void)err;
	attempt_t *a = context;
	hob_order_triangles(a->mesh->indices, a->mesh->index_count, a->mesh->position, a->mesh->vertex_count,
						a->effort);
	return true;
}

/* Each allocation of meshoptimizer fails once: the guard must fail and nothing abort. */
static void memory_that_ends_in_meshoptimizer_is_an_error(void **state)
{
	(void)state;
	hob_mesh grid = shape_grid(&arena, 12, 0.2f, false, false);
	bool done = false, ordered[3] = {false};
	meshopt_setAllocator(take, free);
	for (uint32_t most = 0; !done && most < 4000; most++) {
		hob_error err = {0};
		attempt_t a = {.mesh = &grid, .levels = {{grid.indices, grid.index_count, 0, 0, {0}}}, .count = 1};
		allocations_left = most;
		done = hob_guarded(build_levels, &a, &err);
		assert_true(done || err.code == HOB_ERR_MEMORY);
		assert_true(!done || (most > 1 && a.count == 3));
	}
	assert_true(done);
	for (int effort = 0; effort < 3; effort++)
		for (uint32_t most = 0; !ordered[effort] && most < 100; most++) {
			attempt_t a = {.mesh = &grid, .effort = (hob_order_effort)effort};
			allocations_left = most;
			ordered[effort] = hob_guarded(order, &a, NULL);
			assert_true(most > 0 || !ordered[effort]);
		}
	assert_true(ordered[0] && ordered[1] && ordered[2]);
	meshopt_setAllocator(malloc, free);
}

enum { SPECKS = 20 };

/* A rippled square with small tetrahedra over it: half of them near, half of them far. */
static hob_mesh speckled_grid(void)
{
	static const float corner[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
	static const uint32_t face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
	hob_mesh grid = shape_grid(&arena, 32, 0.01f, false, false);
	hob_mesh mesh = shape_mesh(&arena, grid.vertex_count + 8 * SPECKS, grid.index_count + 24 * SPECKS);
	memcpy(mesh.position, grid.position, 12 * (size_t)grid.vertex_count);
	memcpy(mesh.indices, grid.indices, grid.index_count * sizeof *mesh.indices);
	for (uint32_t i = 0; i < 2 * SPECKS; i++) {
		uint32_t first = grid.vertex_count + 4 * i;
		for (uint32_t k = 0; k < 12; k++) {
			float at[3] = {0.02f + 0.048f * (float)(i / 2), i % 2 ? 0.5f : 0.02f, 0.5f};
			mesh.position[3 * first + k] = at[k % 3] + 0.01f * corner[k / 3][k % 3];
			mesh.indices[grid.index_count + 12 * i + k] = first + face[k];
		}
	}
	return mesh;
}

/* Counts the tetrahedra of which a level has triangles: near ones, far ones. */
static void count_specks(const hob_mesh *mesh, const hob_lod_level *level, uint32_t counts[2])
{
	bool met[2 * SPECKS] = {false};
	for (uint32_t i = 0; i < level->index_count; i++)
		if (level->indices[i] >= mesh->vertex_count - 8 * SPECKS)
			met[(level->indices[i] - (mesh->vertex_count - 8 * SPECKS)) / 4] = true;
	counts[0] = counts[1] = 0;
	for (uint32_t i = 0; i < 2 * SPECKS; i++)
		counts[i % 2] += met[i];
}

static void small_pieces_near_the_rest_go(void **state)
{
	(void)state;
	hob_mesh mesh = speckled_grid();
	hob_lod_level levels[HOB_MAX_LODS];
	uint32_t counts[2],
		count = build(&mesh, (hob_lod_options){.max = 6, .ratio = 0.5f, .error = 0.1f}, levels);
	count_specks(&mesh, &levels[count - 1], counts);
	assert_true(levels[count - 1].index_count <= 3 * 160);
	assert_true(counts[0] < SPECKS / 2);
	assert_int_equal(counts[1], SPECKS);
	for (uint32_t l = 1; l < count; l++) {
		count_specks(&mesh, &levels[l], counts);
		/* A near one reaches 0.03 above the square, whose ripples are 0.01 high. */
		assert_true(counts[0] == SPECKS || levels[l].error > 0.02f);
		assert_true(levels[l].error < 0.1f);
	}
	count = build(&mesh, (hob_lod_options){.max = 6, .ratio = 0.5f, .error = 0.015f}, levels);
	count_specks(&mesh, &levels[count - 1], counts);
	assert_true(count > 1 && counts[0] == SPECKS && counts[1] == SPECKS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(triangles_of_no_width_go_first),
		TEST(no_level_draws_triangles_between_vertices_of_one_place),
		TEST(triangles_that_open_in_motion_stay),
		TEST(small_pieces_near_the_rest_go),
		TEST(odd_meshes_end_the_chain_quietly),
		TEST(parts_and_threads_do_not_show),
		TEST(memory_that_ends_in_meshoptimizer_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
