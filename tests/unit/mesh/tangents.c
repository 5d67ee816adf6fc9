#include "../shapes.h"
#include "core/mesh/tangents.h"
#include "core/mesh/vec3.h"
#include "core/mesh/weld.h"

#include <stdlib.h>

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

static uint32_t *groups(const hob_mesh *m)
{
	hob_vertex_array arrays[3] = {
		{m->position, 12, true, 0}, {m->normal, 12, true, 0}, {m->uv[0], 8, true, 0}};
	uint32_t *group = shape_alloc(&arena, m->vertex_count, 4),
			 *from = shape_alloc(&arena, m->vertex_count, 4);
	hob_weld(arrays, 3, m->vertex_count, NULL, 0, group, from, &arena);
	return group;
}

static float *tangents(const hob_mesh *m)
{
	float *out = shape_alloc(&arena, m->index_count, 16);
	hob_tangents(m->position, m->normal, m->uv[0], m->vertex_count, m->indices, m->index_count, groups(m),
				 out, &arena);
	return out;
}

static void check_frames(const hob_mesh *m, const float *tangent)
{
	for (uint32_t c = 0; c < m->index_count; c++) {
		const float *t = tangent + 4 * (size_t)c, *n = m->normal + 3 * (size_t)m->indices[c];
		hob_vec3 unit = hob_vec3_unit(hob_vec3_load(n));
		assert_true(fabs(hob_vec3_length(hob_vec3_load(t)) - 1) < 1e-5);
		if (hob_vec3_dot(unit, unit) > 0)
			assert_true(fabs(hob_vec3_dot(hob_vec3_load(t), unit)) < 1e-5);
		assert_true(t[3] == 1 || t[3] == -1);
	}
}

static void flat_grid_points_along_u(void **state)
{
	(void)state;
	hob_mesh m = shape_grid(&arena, 5, 0, true, true);
	float *t = tangents(&m);
	check_frames(&m, t);
	/* u grows along +X, the picture's upper edge is at -Z: bitangent = w * cross(+Y, +X) = w * -Z. */
	for (uint32_t c = 0; c < m.index_count; c++)
		assert_true(fabsf(t[4 * c] - 1) < 1e-6f && t[4 * c + 3] == 1);
}

static void mirrored_half_changes_sign_and_does_not_blend(void **state)
{
	(void)state;
	hob_mesh m = shape_grid(&arena, 8, 0, true, true);
	for (uint32_t v = 0; v < m.vertex_count; v++)
		if (m.uv[0][2 * v] > 0.5f)
			m.uv[0][2 * v] = 1 - m.uv[0][2 * v];
	float *t = tangents(&m);
	check_frames(&m, t);
	for (uint32_t i = 0; i < m.index_count; i += 3) {
		float middle = 0;
		for (uint32_t k = 0; k < 3; k++)
			middle += m.position[3 * (size_t)m.indices[i + k]] / 3;
		for (uint32_t k = 0; k < 3; k++) {
			assert_true(t[4 * (i + k)] * (middle < 0.5f ? 1.0f : -1.0f) > 0.999f);
			assert_true(t[4 * (i + k) + 3] == (middle < 0.5f ? 1.0f : -1.0f));
		}
	}
}

static bool has_equal_positions(const hob_mesh *m, uint32_t triangle)
{
	for (uint32_t k = 0; k < 3; k++) {
		const float *p = m->position + 3 * (size_t)m->indices[3 * triangle + k];
		const float *q = m->position + 3 * (size_t)m->indices[3 * triangle + (k + 1) % 3];
		if (p[0] == q[0] && p[1] == q[1] && p[2] == q[2])
			return true;
	}
	return false;
}

/* A naive implementation of the definition: corners are grouped if a chain of triangles around the same
 * welded vertex joins them, each sharing an edge of opposite direction with the next and all of one
 * orientation. */
static void slow_tangents(const hob_mesh *m, const uint32_t *group, double (*out)[3])
{
	uint32_t triangles = m->index_count / 3;
	bool *reached = test_malloc(triangles * sizeof *reached);
	for (uint32_t c = 0; c < m->index_count; c++) {
		uint32_t vertex = group[m->indices[c]];
		memset(reached, 0, triangles * sizeof *reached);
		reached[c / 3] = true;
		double orientation[2];
		for (bool grown = true; grown;) {
			grown = false;
			for (uint32_t a = 0; a < triangles; a++)
				for (uint32_t b = 0; reached[a] && b < triangles; b++)
					if (!has_equal_positions(m, b))
						for (uint32_t e = 0; e < 9 && !reached[b]; e++) {
							uint32_t a0 = group[m->indices[3 * a + e / 3]];
							uint32_t a1 = group[m->indices[3 * a + (e / 3 + 1) % 3]];
							uint32_t b0 = group[m->indices[3 * b + e % 3]];
							uint32_t b1 = group[m->indices[3 * b + (e % 3 + 1) % 3]];
							if (a0 != b1 || a1 != b0 || (a0 != vertex && a1 != vertex))
								continue;
							for (uint32_t k = 0; k < 2; k++) {
								const uint32_t *i = m->indices + 3 * (k ? b : a);
								const float *p = m->uv[0] + 2 * i[0], *q = m->uv[0] + 2 * i[1],
											*r = m->uv[0] + 2 * i[2];
								orientation[k] =
									((double)q[0] - (double)p[0]) * ((double)r[1] - (double)p[1]) -
									((double)q[1] - (double)p[1]) * ((double)r[0] - (double)p[0]);
							}
							if ((orientation[0] > 0) == (orientation[1] > 0))
								reached[b] = grown = true;
						}
		}
		hob_vec3 sum = {0, 0, 0}, n = hob_vec3_load(m->normal + 3 * (size_t)m->indices[c]);
		for (uint32_t t = 0; t < triangles; t++) {
			if (!reached[t])
				continue;
			hob_vec3 p[3];
			const float *w[3];
			uint32_t at = 0;
			for (uint32_t k = 0; k < 3; k++) {
				p[k] = hob_vec3_load(m->position + 3 * (size_t)m->indices[3 * t + k]);
				w[k] = m->uv[0] + 2 * (size_t)m->indices[3 * t + k];
				at = group[m->indices[3 * t + k]] == vertex ? k : at;
			}
			double v2 = (double)w[1][1] - (double)w[0][1], v3 = (double)w[2][1] - (double)w[0][1];
			double u2 = (double)w[1][0] - (double)w[0][0], u3 = (double)w[2][0] - (double)w[0][0];
			double sign = u2 * v3 - v2 * u3 > 0 ? 1 : -1;
			hob_vec3 along = hob_vec3_scale(hob_vec3_sub(hob_vec3_scale(hob_vec3_sub(p[1], p[0]), v3),
														 hob_vec3_scale(hob_vec3_sub(p[2], p[0]), v2)),
											sign);
			along = hob_vec3_unit(hob_vec3_reject(along, n));
			hob_vec3 e = hob_vec3_unit(hob_vec3_reject(hob_vec3_sub(p[(at + 1) % 3], p[at]), n));
			hob_vec3 f = hob_vec3_unit(hob_vec3_reject(hob_vec3_sub(p[(at + 2) % 3], p[at]), n));
			sum = hob_vec3_add(sum, hob_vec3_scale(along, acos(fmin(1, fmax(-1, hob_vec3_dot(e, f))))));
		}
		sum = hob_vec3_unit(sum);
		out[c][0] = sum.x, out[c][1] = sum.y, out[c][2] = sum.z;
	}
	test_free(reached);
}

static void groups_and_averages_match_the_slow_way(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 12; round++) {
		uint64_t seed = round + 1;
		hob_mesh m = round % 2 ? shape_ball(&arena, 7, 5) : shape_grid(&arena, 6, 0.3f, true, true);
		for (uint32_t v = 0; v < m.vertex_count; v++) {
			for (uint32_t k = 0; k < 2; k++)
				m.uv[0][2 * v + k] += 0.12f * shape_random_float(&seed);
			if (round > 5 && shape_random(&seed) % 3 == 0)
				m.uv[0][2 * v] = -m.uv[0][2 * v];
		}
		float *fast = tangents(&m);
		check_frames(&m, fast);
		double(*slow)[3] = shape_alloc(&arena, m.index_count, sizeof *slow);
		slow_tangents(&m, groups(&m), slow);
		for (uint32_t c = 0; c < m.index_count; c++) {
			if (has_equal_positions(&m, c / 3))
				continue;
			double dot = 0;
			for (uint32_t k = 0; k < 3; k++)
				dot += slow[c][k] * (double)fast[4 * c + k];
			assert_true(dot > 0.999999);
		}
	}
}

static void meshes_without_mapping_still_get_frames(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		hob_mesh m = shape_ball(&arena, 9, 6);
		if (kind == 0)
			memset(m.uv[0], 0, m.vertex_count * 8);
		if (kind == 1)
			memset(m.position, 0, m.vertex_count * 12);
		if (kind == 2)
			for (uint32_t v = 0; v < m.vertex_count; v++)
				m.uv[0][2 * v] = NAN;
		if (kind == 3)
			memset(m.normal, 0, m.vertex_count * 12);
		check_frames(&m, tangents(&m));
	}
	hob_mesh nothing = shape_mesh(&arena, 0, 0);
	nothing.normal = nothing.uv[0] = nothing.position;
	tangents(&nothing);
}

static void unmapped_triangle_follows_its_neighbours(void **state)
{
	(void)state;
	hob_mesh m = shape_grid(&arena, 4, 0, true, true);
	/* Collapses the mapping of one inner triangle by giving one corner its neighbour's coordinates. */
	uint32_t *corner = m.indices + 3 * 12;
	memcpy(m.uv[0] + 2 * corner[0], m.uv[0] + 2 * corner[1], 8);
	float *t = tangents(&m);
	check_frames(&m, t);
	for (uint32_t k = 0; k < 3; k++)
		assert_true(t[4 * (3 * 12 + k)] > 0.5f);
}

static void thousands_of_triangles_on_one_edge_take_linear_time(void **state)
{
	(void)state;
	enum { COUNT = 100000 };
	hob_mesh m = shape_mesh(&arena, COUNT + 2, 3 * COUNT);
	m.normal = shape_alloc(&arena, m.vertex_count, 12);
	m.uv[0] = shape_alloc(&arena, m.vertex_count, 8);
	for (uint32_t v = 0; v < m.vertex_count; v++) {
		m.position[3 * v] = v == 1, m.position[3 * v + 1] = v < 2 ? 0 : 1, m.position[3 * v + 2] = (float)v;
		m.uv[0][2 * v] = v == 1, m.uv[0][2 * v + 1] = (float)v;
		m.normal[3 * v + 1] = 1;
	}
	for (uint32_t t = 0; t < COUNT; t++) {
		m.indices[3 * t] = t % 2, m.indices[3 * t + 1] = 1 - t % 2, m.indices[3 * t + 2] = t + 2;
	}
	check_frames(&m, tangents(&m));
}

static void arc_cosine_is_close(void **state)
{
	(void)state;
	for (int i = -1000; i <= 1000; i++)
		assert_true(fabs(hob_arc_cosine(i / 1000.0) - acos(i / 1000.0)) < 5e-8);
	assert_true(hob_arc_cosine(2) == hob_arc_cosine(1) && hob_arc_cosine(-2) == hob_arc_cosine(-1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(flat_grid_points_along_u),
		TEST(mirrored_half_changes_sign_and_does_not_blend),
		TEST(groups_and_averages_match_the_slow_way),
		TEST(meshes_without_mapping_still_get_frames),
		TEST(unmapped_triangle_follows_its_neighbours),
		TEST(thousands_of_triangles_on_one_edge_take_linear_time),
		TEST(arc_cosine_is_close),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
