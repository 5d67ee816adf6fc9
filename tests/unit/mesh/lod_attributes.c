#include "../shapes.h"
#include "core/mesh/lods.h"
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

enum { N = 32, SIDE = N + 1, POINTS = 20000 };

/* A flat square: all distances are 0, so the nearest point of a level is the same point. */
static hob_mesh square(void)
{
	return shape_grid(&arena, N, 0, false, true);
}

static uint32_t build(const hob_mesh *mesh, hob_lod_level *levels)
{
	static const hob_lod_options six = {.max = 6, .ratio = 0.5f, .error = 0.2f};
	levels[0] = (hob_lod_level){.indices = mesh->indices, .index_count = mesh->index_count};
	uint32_t count = 1;
	hob_lods_build(mesh, &six, levels, &count, &arena);
	assert_true(count >= 4);
	assert_true(levels[0].attributes.uv == 0 && levels[0].attributes.color == 0 &&
				levels[0].attributes.weight == 0);
	return count;
}

/* Twice the area of a triangle in the square; above 0: flipped. */
static double turn(const hob_mesh *mesh, const uint32_t *corner)
{
	const float *p = mesh->position + 3 * corner[0], *q = mesh->position + 3 * corner[1];
	const float *r = mesh->position + 3 * corner[2];
	return ((double)q[0] - (double)p[0]) * ((double)r[2] - (double)p[2]) -
		   ((double)q[2] - (double)p[2]) * ((double)r[0] - (double)p[0]);
}

/* Whether a level overlaps itself, as very coarse ones may: a point then lies in two triangles. */
static bool lies_on_itself(const hob_mesh *mesh, const hob_lod_level *level)
{
	bool any = false;
	for (uint32_t i = 0; i < level->index_count; i += 3)
		any = any || turn(mesh, level->indices + i) > 0;
	return any;
}

/* The triangle that contains a point of the square, and the point's barycentric coordinates. */
static const uint32_t *find_triangle(const hob_mesh *mesh, const hob_lod_level *level, double x, double z,
									 double share[3])
{
	for (uint32_t i = 0; i < level->index_count; i += 3) {
		const float *p[3];
		for (uint32_t k = 0; k < 3; k++)
			p[k] = mesh->position + 3 * level->indices[i + k];
		double area = turn(mesh, level->indices + i), px = x - (double)p[0][0], pz = z - (double)p[0][2];
		share[1] =
			(px * ((double)p[2][2] - (double)p[0][2]) - pz * ((double)p[2][0] - (double)p[0][0])) / area;
		share[2] =
			(((double)p[1][0] - (double)p[0][0]) * pz - ((double)p[1][2] - (double)p[0][2]) * px) / area;
		share[0] = 1 - share[1] - share[2];
		if (area < 0 && share[0] >= 0 && share[1] >= 0 && share[2] >= 0)
			return level->indices + i;
	}
	return NULL;
}

static double value(const float *values, uint32_t width, uint32_t k, const uint32_t *corner,
					const double share[3])
{
	double sum = 0;
	for (uint32_t i = 0; i < 3; i++)
		sum += share[i] * (double)values[width * corner[i] + k];
	return sum;
}

/* The fraction of a point's weights on a joint. */
static double pull(const hob_mesh *mesh, uint32_t joint, const uint32_t *corner, const double share[3])
{
	double sum = 0;
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t k = 0; k < 4; k++)
			if (mesh->joints[4 * corner[i] + k] == joint)
				sum += share[i] * (double)mesh->weights[4 * corner[i] + k];
	return sum;
}

typedef struct found {
	double uv, color, weight;
} found_t;

static void raise_to(double *most, double value)
{
	*most = value > *most ? value : *most;
}

/* The largest differences at random points. */
static found_t sample(const hob_mesh *mesh, const hob_lod_level *full, const hob_lod_level *level)
{
	uint64_t seed = 88172645463325252ull;
	found_t found = {0, 0, 0};
	for (uint32_t i = 0; i < POINTS; i++) {
		double x = soup_random(&seed), z = soup_random(&seed), a_share[3], b_share[3];
		uint32_t cell = (uint32_t)(z * N) * N + (uint32_t)(x * N);
		const hob_lod_level here = {.indices = full->indices + 6 * cell, .index_count = 6};
		const uint32_t *a = find_triangle(mesh, &here, x, z, a_share);
		const uint32_t *b = find_triangle(mesh, level, x, z, b_share);
		if (!a || !b)
			continue;
		double u = value(mesh->uv[0], 2, 0, a, a_share) - value(mesh->uv[0], 2, 0, b, b_share);
		double v = value(mesh->uv[0], 2, 1, a, a_share) - value(mesh->uv[0], 2, 1, b, b_share);
		raise_to(&found.uv, sqrt(u * u + v * v));
		for (uint32_t k = 0; mesh->color[0] && k < 4; k++)
			raise_to(&found.color,
					 fabs(value(mesh->color[0], 4, k, a, a_share) - value(mesh->color[0], 4, k, b, b_share)));
		double apart = 0;
		for (uint32_t joint = 0; mesh->joints && joint < 3; joint++)
			apart += fabs(pull(mesh, joint, a, a_share) - pull(mesh, joint, b, b_share)) / 2;
		raise_to(&found.weight, apart);
	}
	return found;
}

/* The stated value is at least the measured one, and at most a few tenths above it. */
static void check(const char *what, double stated, double found)
{
	stated += 1e-6;
	if (stated < found || stated > 1.6 * found + 0.01)
		print_message("%s: states %g, found %g\n", what, stated, found);
	assert_true(stated >= found);
	assert_true(stated <= 1.6 * found + 0.01);
}

static void check_levels(const hob_mesh *mesh)
{
	hob_lod_level levels[6];
	uint32_t count = build(mesh, levels);
	found_t most = {0, 0, 0};
	assert_false(lies_on_itself(mesh, &levels[3]));
	for (uint32_t l = 1; l < count && !lies_on_itself(mesh, &levels[l]); l++) {
		found_t found = sample(mesh, &levels[0], &levels[l]);
		raise_to(&most.uv, found.uv);
		raise_to(&most.color, found.color);
		raise_to(&most.weight, found.weight);
		check("uv", (double)levels[l].attributes.uv, most.uv);
		check("colour", (double)levels[l].attributes.color, most.color);
		check("weight", (double)levels[l].attributes.weight, most.weight);
	}
}

static void folded_texture_coordinates(void **state)
{
	(void)state;
	hob_mesh mesh = square();
	for (uint32_t v = 0; v < mesh.vertex_count; v++) {
		float s = mesh.position[3 * v], t = mesh.position[3 * v + 2];
		mesh.uv[0][2 * v] = fabsf(s - 0.37f) * 2;
		mesh.uv[0][2 * v + 1] = s > 0.5f && t > 0.5f ? 4 * fabsf(t - 0.75f) : t;
	}
	check_levels(&mesh);
}

/* Linear texture coordinates are exact at every level. */
static void straight_texture_coordinates(void **state)
{
	(void)state;
	hob_mesh mesh = square();
	hob_lod_level levels[6];
	uint32_t count = build(&mesh, levels);
	for (uint32_t l = 1; l < count; l++)
		assert_true(levels[l].attributes.uv < 1e-5f && levels[l].attributes.color == 0 &&
					levels[l].attributes.weight == 0);
}

static void one_vertex_of_another_colour(void **state)
{
	(void)state;
	hob_mesh mesh = square();
	mesh.color[0] = shape_alloc(&arena, mesh.vertex_count, 16);
	for (uint32_t v = 0; v < 4 * mesh.vertex_count; v++)
		mesh.color[0][v] = 1;
	mesh.color[0][4 * (SIDE * 13 + 11) + 1] = 0.25f;
	check_levels(&mesh);
}

static void joint_weights(void **state)
{
	(void)state;
	hob_mesh mesh = square();
	mesh.influence_count = 4;
	mesh.joints = shape_alloc(&arena, mesh.vertex_count, 8);
	mesh.weights = shape_alloc(&arena, mesh.vertex_count, 16);
	for (uint32_t v = 0; v < mesh.vertex_count; v++) {
		float s = mesh.position[3 * v], bend = s < 0.4f ? 0 : s > 0.6f ? 1 : 5 * (s - 0.4f);
		mesh.joints[4 * v + 1] = 1, mesh.joints[4 * v + 2] = 2;
		mesh.weights[4 * v] = 1 - bend, mesh.weights[4 * v + 1] = bend / 2,
						 mesh.weights[4 * v + 2] = bend / 2;
	}
	check_levels(&mesh);
}

/* At a texture seam only the matching side counts. */
static void seams_are_no_difference(void **state)
{
	(void)state;
	hob_mesh grid = square(), mesh = shape_mesh(&arena, 2 * grid.vertex_count, grid.index_count);
	mesh.uv[0] = shape_alloc(&arena, mesh.vertex_count, 8);
	for (uint32_t v = 0; v < mesh.vertex_count; v++) {
		memcpy(mesh.position + 3 * v, grid.position + 3 * (v % grid.vertex_count), 12);
		memcpy(mesh.uv[0] + 2 * v, grid.uv[0] + 2 * (v % grid.vertex_count), 8);
		mesh.uv[0][2 * v] += v < grid.vertex_count ? 0 : 7;
	}
	for (uint32_t i = 0; i < grid.index_count; i++)
		mesh.indices[i] = grid.indices[i] + (i / 6 % N >= N / 2 ? grid.vertex_count : 0);
	hob_lod_level levels[6];
	uint32_t count = build(&mesh, levels);
	for (uint32_t l = 1; l < count; l++)
		assert_true(levels[l].attributes.uv < 1e-4f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(folded_texture_coordinates),	TEST(straight_texture_coordinates),
		TEST(one_vertex_of_another_colour), TEST(joint_weights),
		TEST(seams_are_no_difference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
