/* Properties of every mesh. Takes 20 seconds. */
#include "../families.h"
#include "core/mesh/simplify.h"
#include "core/mesh/weld.h"

#include <stdlib.h>

static int begin(void **state)
{
	(void)state;
	hob_arena_init(&arena, (size_t)2 << 30);
	return 0;
}

static int end(void **state)
{
	(void)state;
	hob_arena_release(&arena);
	return 0;
}

/* ---- what holds */

static void normal(const hob_mesh *m, const uint32_t *corner, double n[3], double *longest)
{
	double u[3], w[3], uu = 0, ww = 0, vv = 0;
	for (int k = 0; k < 3; k++) {
		double p = (double)m->position[3 * (size_t)corner[0] + (size_t)k];
		u[k] = (double)m->position[3 * (size_t)corner[1] + (size_t)k] - p;
		w[k] = (double)m->position[3 * (size_t)corner[2] + (size_t)k] - p;
		uu += u[k] * u[k], ww += w[k] * w[k], vv += (u[k] - w[k]) * (u[k] - w[k]);
	}
	for (int k = 0; k < 3; k++)
		n[k] = u[(k + 1) % 3] * w[(k + 2) % 3] - u[(k + 2) % 3] * w[(k + 1) % 3];
	*longest = sqrt(fmax(uu, fmax(vv, ww)));
}

/* Tasks in reverse order. */
static void run_backwards(void *user, uint32_t count, hob_task task, void *context)
{
	const hob_parallel *p = user;
	for (uint32_t i = count; i-- > 0;)
		task(context, i, i % p->threads);
}

typedef struct chain {
	hob_simplify_level levels[6];
	uint32_t count;
	hob_simplify_end end;
} chain_t;

static chain_t simplify(const hob_mesh *m, double limit, const uint8_t *locked, uint32_t threads)
{
	chain_t c = {.count = 6};
	uint32_t *first = HOB_NEW(&arena, uint32_t, m->vertex_count);
	hob_parallel parallel = {NULL, threads, run_backwards};
	parallel.user = &parallel;
	hob_weld_places(m->position, m->vertex_count, &arena, first);
	for (uint32_t l = 0; l < 6; l++)
		c.levels[l].target = m->index_count / 3 >> (l + 1);
	hob_simplify_input input = {.positions = m->position,
								.vertex_count = m->vertex_count,
								.first = first,
								.attributes = m->normal,
								.attribute_count = m->normal ? 3 : 0,
								.uv = {m->uv[0]},
								.locked = locked,
								.indices = m->indices,
								.index_count = m->index_count,
								.limit = limit,
								.parallel = threads > 1 ? &parallel : NULL};
	c.end = hob_simplify(&input, c.levels, &c.count, &arena);
	return c;
}

static double uv_area(const hob_mesh *m, const uint32_t *corner)
{
	const float *a = m->uv[0] + 2 * (size_t)corner[0], *b = m->uv[0] + 2 * (size_t)corner[1],
				*c = m->uv[0] + 2 * (size_t)corner[2];
	return ((double)b[0] - (double)a[0]) * ((double)c[1] - (double)a[1]) -
		   ((double)b[1] - (double)a[1]) * ((double)c[0] - (double)a[0]);
}

static void check(const hob_mesh *m, const chain_t *c, bool is_field)
{
	uint32_t left = m->index_count;
	double cost = 0;
	for (uint32_t l = 0; l < c->count; l++) {
		const hob_simplify_level *level = &c->levels[l];
		assert_true(level->index_count % 3 == 0 && level->index_count <= left);
		if (l + 1 < c->count || c->end == HOB_SIMPLIFY_DONE)
			assert_true(level->index_count <= 3 * level->target);
		assert_true(level->cost >= cost && isfinite(level->cost) && isfinite(level->mean));
		left = level->index_count, cost = level->cost;
		for (uint32_t i = 0; i < level->index_count; i += 3) {
			double n[3], longest;
			for (uint32_t k = 0; k < 3; k++)
				assert_true(level->indices[i + k] < m->vertex_count);
			normal(m, level->indices + i, n, &longest);
			assert_true(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] > 0);
			if (is_field)
				assert_true(n[1] > 0);
			if (m->uv[0])
				assert_true(uv_area(m, level->indices + i) >= 0 || uv_area(m, m->indices) < 0);
		}
	}
}

static void no_level_flips_or_has_triangles_without_area(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < FAMILIES; i++) {
		hob_arena_mark mark = hob_arena_save(&arena);
		hob_mesh m = family(i);
		chain_t c = simplify(&m, 1e9, NULL, 1);
		check(&m, &c, i < FIELDS);
		hob_arena_restore(&arena, mark);
	}
}

static void threads_do_not_show(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < FAMILIES; i++) {
		hob_arena_mark mark = hob_arena_save(&arena);
		hob_mesh m = family(i);
		chain_t alone = simplify(&m, 0.1, NULL, 1);
		for (uint32_t threads = 2; threads <= 16; threads += threads == 2 ? 1 : 13) {
			chain_t c = simplify(&m, 0.1, NULL, threads);
			assert_int_equal(c.count, alone.count);
			for (uint32_t l = 0; l < c.count; l++) {
				assert_int_equal(c.levels[l].index_count, alone.levels[l].index_count);
				assert_memory_equal(c.levels[l].indices, alone.levels[l].indices,
									c.levels[l].index_count * sizeof(uint32_t));
			}
		}
		hob_arena_restore(&arena, mark);
	}
}

/* Every locked place used by the full mesh is in every level. */
static void locked_places_stay(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < FAMILIES; i++) {
		hob_arena_mark mark = hob_arena_save(&arena);
		hob_mesh m = family(i);
		uint8_t *locked = HOB_NEW(&arena, uint8_t, m.vertex_count);
		for (uint32_t v = 0; v < m.vertex_count; v += 17)
			locked[v] = 1;
		chain_t c = simplify(&m, 1e9, locked, 1);
		for (uint32_t l = 0; i < FIELDS && l < c.count; l++) {
			uint8_t *seen = HOB_NEW(&arena, uint8_t, m.vertex_count);
			for (uint32_t k = 0; k < c.levels[l].index_count; k++)
				seen[c.levels[l].indices[k]] = 1;
			for (uint32_t v = 0; v < m.vertex_count; v++)
				assert_true(!locked[v] || seen[v]);
		}
		hob_arena_restore(&arena, mark);
	}
}

/* Smooth surfaces reach every target within two triangles. */
static void targets_are_reached(void **state)
{
	(void)state;
	const uint32_t smooth[] = {0, 1, 2, 18};
	for (uint32_t i = 0; i < HOB_COUNT_OF(smooth); i++) {
		hob_mesh m = family(smooth[i]);
		chain_t c = simplify(&m, 1e9, NULL, 1);
		assert_true(c.count >= 5);
		for (uint32_t l = 0; l < 5; l++)
			assert_in_range(c.levels[l].index_count / 3, c.levels[l].target - 2, c.levels[l].target);
	}
}

/* A flat region has zero cost until only its outline is left. */
static void flat_parts_go_first(void **state)
{
	(void)state;
	hob_mesh m = family(9), r = family(7);
	chain_t c = simplify(&m, 1e-4, NULL, 1), d = simplify(&r, 1e-4, NULL, 1);
	assert_true(c.count >= 5 && c.levels[4].cost < 1e-5);
	assert_true(d.count >= 5 && d.levels[4].cost < 1e-5);
}

/* Simplification stops at the error limit, and the stated costs are within it. */
static void the_limit_holds(void **state)
{
	(void)state;
	hob_mesh m = family(3);
	chain_t c = simplify(&m, 0.01, NULL, 1);
	assert_int_equal(c.end, HOB_SIMPLIFY_LIMIT);
	for (uint32_t l = 0; l < c.count; l++)
		assert_true(c.levels[l].cost <= 0.01 * 1.0001);
}

/* A flat comb: a bar whose lower side is one edge, and teeth with round ends below. Triangles without area
 * lead from the bar's edge to the corners of the teeth. */
static hob_mesh comb(void)
{
	enum { TEETH = 20, ROUND = 16, POINTS = ROUND + 1 };
	hob_mesh m = shape_mesh(&arena, 4 + TEETH * POINTS, 3 * (2 + 2 * TEETH + TEETH * (ROUND - 1)));
	uint32_t *index = m.indices, last = 0;
	for (uint32_t i = 0; i < 4; i++)
		m.position[3 * i] = i % 2 ? TEETH : 0, m.position[3 * i + 1] = i < 2 ? 0.0f : 0.4f;
	const uint32_t bar[6] = {0, 1, 3, 0, 3, 2};
	memcpy(index, bar, sizeof bar), index += 6;
	for (uint32_t t = 0; t < TEETH; t++) {
		uint32_t from = 4 + t * POINTS;
		for (uint32_t i = 0; i < POINTS; i++) {
			float angle = 3.14159265f * (float)i / ROUND, *p = m.position + 3 * (from + i);
			p[0] = (float)t + 0.5f - 0.3f * cosf(angle), p[1] = i % ROUND == 0 ? 0 : -3 - 0.3f * sinf(angle);
		}
		for (uint32_t i = 1; i < ROUND; i++)
			*index++ = from, *index++ = from + i, *index++ = from + i + 1;
		for (uint32_t i = 0; i <= ROUND; last = from + i, i += ROUND)
			*index++ = last, *index++ = from + i, *index++ = 1;
	}
	m.index_count = (uint32_t)(index - m.indices);
	return m;
}

static double area_of(const hob_mesh *m, const uint32_t *indices, uint32_t count)
{
	double area = 0, n[3], longest;
	for (uint32_t i = 0; i < count; i += 3) {
		normal(m, indices + i, n, &longest);
		area += sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / 2;
	}
	return area;
}

/* The open sides of triangles without area are borders, too: nothing is filled between the teeth. */
static void borders_at_triangles_without_area_stay(void **state)
{
	(void)state;
	hob_mesh m = comb();
	chain_t c = simplify(&m, 1, NULL, 1);
	double whole = area_of(&m, m.indices, m.index_count);
	assert_true(c.count >= 2);
	for (uint32_t l = 0; l < 2; l++) {
		assert_in_range(c.levels[l].index_count / 3, c.levels[l].target - 2, c.levels[l].target);
		assert_true(fabs(area_of(&m, c.levels[l].indices, c.levels[l].index_count) / whole - 1) < 0.05);
	}
}

typedef struct attempt {
	const hob_simplify_input *input;
	hob_arena *arena;
} attempt_t;

static bool simplify_once(void *context, hob_error *err)
{
	(void)err;
	const attempt_t *a = context;
	hob_simplify_level level = {.target = 100};
	uint32_t count = 1;
	hob_simplify(a->input, &level, &count, a->arena);
	return true;
}

static void short_memory_is_an_error(void **state)
{
	(void)state;
	bool done = false;
	hob_mesh m = family(31);
	uint32_t *first = HOB_NEW(&arena, uint32_t, m.vertex_count);
	hob_weld_places(m.position, m.vertex_count, &arena, first);
	hob_simplify_input input = {.positions = m.position,
								.vertex_count = m.vertex_count,
								.first = first,
								.indices = m.indices,
								.index_count = m.index_count,
								.limit = 1};
	for (size_t limit = 1024; limit < 200000; limit += 1024) {
		hob_arena small;
		hob_error err = {0};
		attempt_t a = {&input, &small};
		hob_arena_init(&small, limit);
		done = hob_guarded(simplify_once, &a, &err);
		assert_true(done || err.code == HOB_ERR_MEMORY);
		hob_arena_release(&small);
	}
	assert_true(done);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(no_level_flips_or_has_triangles_without_area),
		TEST(threads_do_not_show),
		TEST(locked_places_stay),
		TEST(targets_are_reached),
		TEST(flat_parts_go_first),
		TEST(the_limit_holds),
		TEST(borders_at_triangles_without_area_stay),
		TEST(short_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
