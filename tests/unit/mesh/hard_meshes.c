/* Meshes that are much more expensive than others, or degenerate. Counts steps, not time. */
#include "../shapes.h"
#include "core/mesh/bake.h"
#include "core/mesh/surface.h"
#include "core/mesh/triangle_order.h"
#include "core/mesh/weld.h"
#include "tests/surface_oracle.h"

static hob_arena input, result, scratch;

static int begin(void **state)
{
	(void)state;
	hob_arena_init(&input, (size_t)1 << 30);
	hob_arena_init(&result, (size_t)1 << 30);
	hob_arena_init(&scratch, (size_t)1 << 30);
	return 0;
}

static int end(void **state)
{
	(void)state;
	hob_arena_release(&input);
	hob_arena_release(&result);
	hob_arena_release(&scratch);
	return 0;
}

/* ---- shapes */

static void place(hob_mesh *mesh, uint32_t vertex, float x, float y, float z)
{
	float *p = mesh->position + 3 * (size_t)vertex;
	p[0] = x, p[1] = y, p[2] = z;
}

static void name(hob_mesh *mesh, uint32_t triangle, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t corners[3] = {a, b, c};
	memcpy(mesh->indices + 3 * (size_t)triangle, corners, sizeof corners);
}

/* A flat disc of slivers around its middle. */
static hob_mesh a_fan_of_slivers(uint32_t count)
{
	hob_mesh mesh = shape_mesh(&input, count + 1, 3 * count);
	for (uint32_t i = 0; i < count; i++) {
		double angle = 6.283185307179586 * i / count;
		place(&mesh, i + 1, (float)cos(angle), 0, (float)sin(angle));
		name(&mesh, i, 0, i + 1, (i + 1) % count + 1);
	}
	return mesh;
}

/* The same, raised in the middle, with a rough rim. */
static hob_mesh a_rough_cone(uint32_t count)
{
	uint64_t seed = 5;
	hob_mesh mesh = a_fan_of_slivers(count);
	mesh.position[1] = 1;
	for (uint32_t v = 1; v <= count; v++)
		for (uint32_t k = 0; k < 3; k++)
			mesh.position[3 * v + k] *= 1 + 0.03f * shape_random_float(&seed);
	return mesh;
}

/* A closed slanted pipe, as long as wide, with two slivers per side. */
static hob_mesh a_slanting_pipe(uint32_t count)
{
	hob_mesh mesh = shape_mesh(&input, count, 3 * count);
	for (uint32_t i = 0; i < count; i += 2) {
		double angle = 6.283185307179586 * i / count;
		float x = (float)cos(angle), y = (float)sin(angle);
		uint32_t next = (i + 2) % count;
		place(&mesh, i, x, y, 0);
		place(&mesh, i + 1, x + 5, y + 5, 5);
		name(&mesh, i, i, i + 1, next);
		name(&mesh, i + 1, i + 1, next + 1, next);
	}
	return mesh;
}

static hob_mesh loose(uint32_t count, void corner(float p[3], uint32_t triangle, uint32_t k, uint64_t *seed))
{
	uint64_t seed = 9;
	hob_mesh mesh = shape_mesh(&input, 3 * count, 3 * count);
	for (uint32_t i = 0; i < 3 * count; i++) {
		mesh.indices[i] = i;
		corner(mesh.position + 3 * (size_t)i, i / 3, i % 3, &seed);
	}
	return mesh;
}

static void of_hair(float p[3], uint32_t triangle, uint32_t k, uint64_t *seed)
{
	(void)triangle;
	for (uint32_t i = 0; i < 3; i++)
		p[i] = k < 2 ? shape_random_float(seed) : p[(int)i - 3] + 1e-4f;
}

static void of_needles(float p[3], uint32_t triangle, uint32_t k, uint64_t *seed)
{
	for (uint32_t i = 0; i < 3; i++)
		p[i] = k == 0 ? (i < 2 ? shape_random_float(seed) : (float)(triangle % 3))
					  : p[(int)i - 3] + (k == 1 ? 1 : 1e-4f);
}

static void of_copies(float p[3], uint32_t triangle, uint32_t k, uint64_t *seed)
{
	(void)triangle, (void)seed;
	for (uint32_t i = 0; i < 3; i++)
		p[i] = (float)(i == k);
}

static void of_lines(float p[3], uint32_t triangle, uint32_t k, uint64_t *seed)
{
	(void)triangle, (void)k;
	p[0] = p[1] = p[2] = shape_random_float(seed);
}

static void through_one_point(float p[3], uint32_t triangle, uint32_t k, uint64_t *seed)
{
	(void)triangle;
	for (uint32_t i = 0; i < 3; i++)
		p[i] = k < 2 ? shape_random_float(seed) : -p[(int)i - 3] - p[(int)i - 6];
}

static void far_and_small(float p[3], uint32_t triangle, uint32_t k, uint64_t *seed)
{
	(void)k;
	for (uint32_t i = 0; i < 3; i++)
		p[i] = triangle % 2 ? 1e18f * shape_random_float(seed) : 1e-18f * shape_random_float(seed);
}

static hob_mesh one_vertex_in_all(uint32_t count)
{
	uint64_t seed = 3;
	hob_mesh mesh = shape_mesh(&input, 2 * count + 1, 3 * count);
	for (uint32_t v = 1; v < mesh.vertex_count; v++)
		for (uint32_t k = 0; k < 3; k++)
			mesh.position[3 * v + k] = shape_random_float(&seed);
	for (uint32_t t = 0; t < count; t++)
		name(&mesh, t, 0, 2 * t + 1, 2 * t + 2);
	return mesh;
}

static hob_mesh one_edge_in_all(uint32_t count)
{
	uint64_t seed = 3;
	hob_mesh mesh = shape_mesh(&input, count + 2, 3 * count);
	place(&mesh, 1, 0, 1, 0);
	for (uint32_t t = 0; t < count; t++) {
		place(&mesh, t + 2, shape_random_float(&seed), shape_random_float(&seed), 1);
		name(&mesh, t, 0, 1, t + 2);
	}
	return mesh;
}

static hob_mesh the_same_triangle(uint32_t count)
{
	hob_mesh mesh = shape_mesh(&input, 3, 3 * count);
	place(&mesh, 1, 1, 0, 0);
	place(&mesh, 2, 0, 1, 0);
	for (uint32_t t = 0; t < count; t++)
		name(&mesh, t, t % 3, (t + 1) % 3, (t + 2) % 3);
	return mesh;
}

/* Normals that make every corner a separate vertex: hard edges. */
static hob_mesh hard(const hob_mesh *from)
{
	hob_mesh mesh = shape_mesh(&input, from->index_count, from->index_count);
	uint64_t seed = 11;
	mesh.normal = shape_alloc(&input, mesh.vertex_count, 12);
	for (uint32_t i = 0; i < mesh.index_count; i++) {
		mesh.indices[i] = i;
		memcpy(mesh.position + 3 * (size_t)i, from->position + 3 * (size_t)from->indices[i], 12);
		float x = i % 3 == 0 ? 0.5f * shape_random_float(&seed) : mesh.normal[3 * i - 3];
		place(&(hob_mesh){.position = mesh.normal}, i, x, sqrtf(1 - x * x), 0);
	}
	return mesh;
}

/* Tiny loose triangles at the centre of a ball: equally far from all of it. */
static hob_mesh dust_in_a_ball(uint32_t count)
{
	uint64_t seed = 17;
	hob_mesh ball = shape_ball(&input, 100, 40);
	hob_mesh mesh = shape_mesh(&input, ball.vertex_count + 3 * count, ball.index_count + 3 * count);
	memcpy(mesh.position, ball.position, 12 * (size_t)ball.vertex_count);
	memcpy(mesh.indices, ball.indices, 4 * (size_t)ball.index_count);
	for (uint32_t i = 0; i < 3 * count; i++) {
		uint32_t v = ball.vertex_count + i;
		mesh.indices[ball.index_count + i] = v;
		for (uint32_t k = 0; k < 3; k++)
			mesh.position[3 * v + k] = i % 3 == 0
										   ? 1e-3f * shape_random_float(&seed)
										   : mesh.position[3 * v - 3 + k] + 1e-5f * (float)(k == i % 3);
	}
	return mesh;
}

/* ---- counters */

static hob_surface surface_of(const hob_mesh *mesh)
{
	hob_surface out;
	uint32_t *ordered = shape_alloc(&input, mesh->index_count, 4);
	hob_order_by_place(mesh->indices, mesh->index_count, mesh->position, &scratch, ordered);
	uint32_t count = hob_weld_triangles(ordered, mesh->index_count, NULL, ordered, NULL);
	out = hob_surface_build(mesh->position, mesh->vertex_count, ordered, count, &input);
	return out;
}

static hob_vec3 beside(const hob_mesh *mesh, uint32_t triangle, double above)
{
	hob_vec3 p = {0, above, 0};
	for (uint32_t k = 0; k < 3; k++)
		p = hob_vec3_add(
			p, hob_vec3_scale(hob_vec3_load(mesh->position + 3 * (size_t)mesh->indices[3 * triangle + k]),
							  1.0 / 3));
	return p;
}

/* Average steps of an unlimited search. */
static uint64_t steps_of_searches(const hob_mesh *mesh)
{
	enum { SEARCHES = 500 };
	hob_surface surface = surface_of(mesh);
	uint64_t room = (uint64_t)1 << 40;
	hob_surface_seeker seeker = {.room = room, .worth = HUGE_VAL};
	for (uint32_t i = 0; i < SEARCHES; i++) {
		uint32_t t = (uint32_t)((uint64_t)mesh->index_count / 3 * i / SEARCHES);
		seeker.hint = 0;
		double distance = hob_surface_distance(&surface, beside(mesh, t, 1e-5), 0, 0, &seeker);
		assert_true(distance <= 1.0001e-5);
	}
	return (room - seeker.room) / SEARCHES;
}

/* Bounding boxes of slanted slivers overlap most other slivers: without capsules a search would visit at
 * least a tenth of all triangles. */
static void slivers_do_not_hide_behind_their_boxes(void **state)
{
	(void)state;
	hob_mesh fan = a_fan_of_slivers(20000), pipe = a_slanting_pipe(20000), cone = a_rough_cone(20000);
	assert_in_range(steps_of_searches(&fan), 1, 150);
	assert_in_range(steps_of_searches(&pipe), 1, 150);
	assert_in_range(steps_of_searches(&cone), 1, 800);
	hob_mesh grid = shape_grid(&input, 100, 0.1f, false, false);
	hob_surface plain = surface_of(&grid), slivers = surface_of(&fan);
	assert_null(plain.capsules);
	assert_non_null(slivers.capsules);
}

static double farthest_of(const hob_surface *surface, hob_vec3 p)
{
	double share[3], best = HUGE_VAL;
	for (uint32_t t = 0; t < surface->triangle_count; t++)
		best = fmin(best, hob_surface_nearest(surface, t, p, share));
	return sqrt(best);
}

/* When half of the steps are spent, a search ends after HOB_SURFACE_FEW of them, unless its answer is still
 * above `worth`. Distances must never be too small. */
static void searches_end_when_their_room_is_spent(void **state)
{
	(void)state;
	hob_mesh ball = shape_ball(&input, 200, 100);
	hob_surface surface = surface_of(&ball);
	hob_surface_seeker seeker = hob_surface_seek(&surface, &surface);
	uint64_t half = seeker.spare, steps = 0, searches = 0;
	uint64_t seed = 23;
	for (; !hob_surface_gives_up(&seeker); searches++) {
		hob_vec3 p = {1e-4 * (double)shape_random_float(&seed), 0, 1e-4 * (double)shape_random_float(&seed)};
		seeker.hint = 0;
		hob_surface_distance(&surface, p, 0, 0, &seeker);
	}
	assert_true(searches < half / HOB_SURFACE_FEW);
	for (uint32_t i = 0; i < 200; i++) {
		hob_vec3 p = {1e-4 * (double)shape_random_float(&seed), 0, 1e-4 * (double)shape_random_float(&seed)};
		uint64_t before = seeker.room;
		seeker.hint = 0;
		double distance = hob_surface_distance(&surface, p, 0, 0, &seeker),
			   nearest = farthest_of(&surface, p);
		assert_true(distance >= nearest * (1 - 1e-9) && distance <= 1.01 * nearest);
		steps = before - seeker.room > steps ? before - seeker.room : steps;
	}
	assert_in_range(steps, 1, HOB_SURFACE_FEW + 1);
	seeker.worth = 0.5;
	uint64_t before = seeker.room;
	hob_vec3 middle = {1e-5, 0, 0};
	double distance = hob_surface_distance(&surface, middle, 0, 0, &seeker);
	assert_true(fabs(distance - farthest_of(&surface, middle)) < 1e-6);
	assert_true(before - seeker.room > HOB_SURFACE_FEW);
}

/* ---- complete bakes */

static uint32_t bake_all_ways(const hob_mesh *mesh)
{
	uint32_t most = 0;
	for (uint32_t way = 0; way < 3; way++) {
		const hob_mesh_options options = {.lod_max = 7,
										  .lod_error = 0.1f,
										  .meshlets = way > 0,
										  .clusters = way > 0,
										  .encoded = way == 1,
										  .vertices = way == 1 ? HOB_VERTICES_SMALL : HOB_VERTICES_EXACT,
										  .smooth_by_angle = way == 2,
										  .smooth_angle = 30};
		hob_baked_mesh b;
		b = hob_mesh_bake(mesh, &options, &result, &scratch, NULL);
		assert_in_range(b.lod_count, 1, 7);
		for (uint32_t l = 0; l < b.lod_count; l++) {
			for (uint32_t i = 0; i < b.lods[l].index_count; i++)
				assert_in_range(b.indices[b.lods[l].index_first + i], 0, b.mesh.vertex_count - 1);
			assert_true(isfinite(b.lods[l].error) &&
						(l == 0 ? b.lods[l].error <= 0 : b.lods[l].error >= b.lods[l - 1].error));
		}
		soup *full =
			way == 0 && b.lod_count > 1 ? soup_new(b.mesh.position, b.indices, b.lods[0].index_count) : NULL;
		for (uint32_t l = 1; full && l < b.lod_count; l++) {
			soup *level = soup_new(b.mesh.position, b.indices + b.lods[l].index_first, b.lods[l].index_count);
			assert_true(surface_distance(full, level, 4, 2000) <= (double)b.lods[l].error);
			soup_free(level);
		}
		if (full)
			soup_free(full);
		most = b.lod_count > most ? b.lod_count : most;
		hob_arena_release(&result);
	}
	return most;
}

static void slivers_have_levels(void **state)
{
	(void)state;
	hob_mesh fan = a_fan_of_slivers(3000), cone = a_rough_cone(3000), pipe = a_slanting_pipe(3000);
	hob_mesh edges = hard(&cone);
	assert_in_range(bake_all_ways(&fan), 3, 7);
	assert_in_range(bake_all_ways(&cone), 4, 7);
	assert_in_range(bake_all_ways(&pipe), 4, 7);
	assert_in_range(bake_all_ways(&edges), 3, 7);
}

static void whatever_it_is_it_bakes(void **state)
{
	(void)state;
	hob_mesh meshes[] = {
		loose(3000, of_hair),		loose(3000, of_needles),	loose(3000, of_copies),
		loose(3000, of_lines),		loose(1, of_lines),			loose(1, of_copies),
		loose(65, of_needles),		loose(3000, far_and_small), loose(3000, through_one_point),
		one_vertex_in_all(3000),	one_edge_in_all(3000),		the_same_triangle(3000),
		shape_leaves(&input, 1500), dust_in_a_ball(2000),		a_fan_of_slivers(3),
	};
	for (uint32_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
		bake_all_ways(&meshes[i]);
		hob_mesh edges = hard(&meshes[i]);
		bake_all_ways(&edges);
	}
	hob_mesh nothing = shape_grid(&input, 10, 0, true, true);
	nothing.index_count = 0;
	bake_all_ways(&nothing);
	for (uint32_t i = 0; i < meshes[0].index_count; i++)
		meshes[0].indices[i] = i / 3;
	assert_int_equal(bake_all_ways(&meshes[0]), 1);
}

/* Cubes, so that every piece has 12 triangles and no level may lose one. */
static void ten_thousand_parts_bake(void **state)
{
	(void)state;
	enum { PARTS = 10000 };
	static const uint8_t faces[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
									  2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
	uint64_t seed = 41;
	hob_mesh mesh = shape_mesh(&input, 8 * PARTS, 36 * PARTS);
	for (uint32_t part = 0; part < PARTS; part++) {
		float at[3] = {shape_random_float(&seed), shape_random_float(&seed), shape_random_float(&seed)};
		for (uint32_t v = 0; v < 8; v++)
			place(&mesh, 8 * part + v, at[0] + 0.01f * (float)(v & 1), at[1] + 0.01f * (float)(v >> 1 & 1),
				  at[2] + 0.01f * (float)(v >> 2));
		for (uint32_t i = 0; i < 36; i++)
			mesh.indices[36 * part + i] = 8 * part + faces[i];
	}
	const hob_mesh_options options = {.lod_max = 7, .lod_error = 0.1f, .meshlets = true, .clusters = true};
	hob_baked_mesh b;
	b = hob_mesh_bake(&mesh, &options, &result, &scratch, NULL);
	assert_int_equal(b.lod_count, 1);
	assert_int_equal(b.lods[0].index_count, 36 * PARTS);
	assert_true(b.meshlet_count > PARTS / 8);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(slivers_do_not_hide_behind_their_boxes),
		TEST(searches_end_when_their_room_is_spent),
		TEST(slivers_have_levels),
		TEST(whatever_it_is_it_bakes),
		TEST(ten_thousand_parts_bake),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
