/* Properties of every mesh. Takes 20 seconds. */
#include "../shapes.h"
#include "core/mesh/simplify.h"
#include "core/mesh/weld.h"

#include <stdlib.h>

static hob_arena arena;

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

/* ---- families */

static void put(hob_mesh *m, uint32_t v, double x, double y, double z)
{
	m->position[3 * v] = (float)x, m->position[3 * v + 1] = (float)y, m->position[3 * v + 2] = (float)z;
}

static void name(hob_mesh *m, uint32_t triangle, uint32_t a, uint32_t b, uint32_t c)
{
	const uint32_t corner[3] = {a, b, c};
	memcpy(m->indices + 3 * (size_t)triangle, corner, sizeof corner);
}

/* Heights over a grid; facing +Y. */
static hob_mesh field(uint32_t n, double height, double (*at)(double x, double z, uint64_t *seed))
{
	uint64_t seed = 3;
	hob_mesh m = shape_grid(&arena, n, 0, false, false);
	for (uint32_t v = 0; v < m.vertex_count; v++)
		m.position[3 * v + 1] =
			(float)(height * at((double)m.position[3 * v], (double)m.position[3 * v + 2], &seed));
	return m;
}

static double waves(double x, double z, uint64_t *seed)
{
	(void)seed;
	return sin(20 * x) * cos(13 * z);
}

static double rough(double x, double z, uint64_t *seed)
{
	(void)x, (void)z;
	return (double)shape_random_float(seed);
}

static double terraces(double x, double z, uint64_t *seed)
{
	(void)seed;
	return floor(4 * (sin(7 * x) + cos(5 * z)));
}

static double ridge(double x, double z, uint64_t *seed)
{
	(void)z, (void)seed;
	return fabs(x - 0.5);
}

static double spike(double x, double z, uint64_t *seed)
{
	(void)seed;
	return fabs(x - 0.5) + fabs(z - 0.5) < 1e-6 ? 1 : 0;
}

static double flat(double x, double z, uint64_t *seed)
{
	(void)x, (void)z, (void)seed;
	return 0;
}

/* A fan around one vertex, `lift` above its rim. */
static hob_mesh fan(uint32_t count, double lift, double roughness)
{
	uint64_t seed = 8;
	hob_mesh m = shape_mesh(&arena, count + 1, 3 * count);
	put(&m, 0, 0, lift, 0);
	for (uint32_t i = 0; i < count; i++) {
		double angle = 6.283185307179586 * i / count, r = 1 + roughness * (double)shape_random_float(&seed);
		put(&m, i + 1, r * cos(angle), 0, -r * sin(angle));
		name(&m, i, 0, i + 1, (i + 1) % count + 1);
	}
	return m;
}

/* A tube along y of `rings` x `sides`; closed into a torus when `bend`. */
static hob_mesh tube(uint32_t rings, uint32_t sides, double length, bool bend)
{
	uint32_t rows = bend ? rings : rings + 1;
	hob_mesh m = shape_mesh(&arena, rows * sides, 6 * rings * sides);
	for (uint32_t y = 0, t = 0; y < rows; y++)
		for (uint32_t x = 0; x < sides; x++) {
			double a = 6.283185307179586 * x / sides, b = 6.283185307179586 * y / rings, r = 2 + cos(a);
			uint32_t up = (y + 1) % rows, next = (x + 1) % sides;
			if (bend)
				put(&m, y * sides + x, r * cos(b), sin(a), r * sin(b));
			else
				put(&m, y * sides + x, cos(a), length * y / rings, -sin(a));
			if (y == rings)
				continue;
			name(&m, t++, y * sides + x, y * sides + next, up * sides + x);
			name(&m, t++, y * sides + next, up * sides + next, up * sides + x);
		}
	return m;
}

static hob_mesh loose(uint32_t count, double size)
{
	uint64_t seed = 12;
	hob_mesh m = shape_mesh(&arena, 3 * count, 3 * count);
	for (uint32_t t = 0; t < count; t++) {
		float at[3] = {shape_random_float(&seed), shape_random_float(&seed), shape_random_float(&seed)};
		for (uint32_t k = 0; k < 3; k++) {
			put(&m, 3 * t + k, (double)at[0] + size * (double)shape_random_float(&seed),
				(double)at[1] + size * (double)shape_random_float(&seed),
				(double)at[2] + size * (double)shape_random_float(&seed));
			m.indices[3 * t + k] = 3 * t + k;
		}
	}
	return m;
}

/* `count` copies of a mesh, `step` apart; step 0: at the same place. */
static hob_mesh copies(const hob_mesh *of, uint32_t count, double step, bool mirror)
{
	hob_mesh m = shape_mesh(&arena, of->vertex_count * count, of->index_count * count);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t v = 0; v < of->vertex_count; v++) {
			const float *p = of->position + 3 * (size_t)v;
			put(&m, i * of->vertex_count + v, (double)p[0] + step * (i % 100), (double)p[1],
				(double)p[2] + step * (i / 100));
		}
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < of->index_count; k++) {
			uint32_t from = mirror && i % 2 ? of->index_count - 1 - k : k;
			m.indices[i * of->index_count + k] = of->indices[from] + i * of->vertex_count;
		}
	return m;
}

/* A separate vertex per corner, with the normal of its triangle: hard edges everywhere. */
static hob_mesh hard(const hob_mesh *of)
{
	hob_mesh m = shape_mesh(&arena, of->index_count, of->index_count);
	m.normal = shape_alloc(&arena, m.vertex_count, 12);
	for (uint32_t i = 0; i < m.vertex_count; i++) {
		memcpy(m.position + 3 * (size_t)i, of->position + 3 * (size_t)of->indices[i], 12);
		m.normal[3 * i + i / 3 % 3] = 1;
		m.indices[i] = i;
	}
	return m;
}

/* Three triangles at every edge of a spine. */
static hob_mesh book(uint32_t pages, uint32_t length)
{
	hob_mesh m = shape_mesh(&arena, (length + 1) * (pages + 1), 6 * pages * length);
	for (uint32_t y = 0, t = 0; y <= length; y++) {
		put(&m, y * (pages + 1), 0, (double)y / length, 0);
		for (uint32_t p = 0; p < pages; p++) {
			double a = 6.28 * p / pages;
			uint32_t at = y * (pages + 1), up = at + pages + 1;
			put(&m, at + p + 1, cos(a), (double)y / length, sin(a));
			if (y == length)
				continue;
			name(&m, t++, at, at + p + 1, up);
			name(&m, t++, at + p + 1, up + p + 1, up);
		}
	}
	return m;
}

static hob_mesh stretched(hob_mesh m, double x, double y, double z)
{
	for (uint32_t v = 0; v < m.vertex_count; v++)
		put(&m, v, x * (double)m.position[3 * v], y * (double)m.position[3 * v + 1],
			z * (double)m.position[3 * v + 2]);
	return m;
}

enum { FAMILIES = 40, FIELDS = 12 };

/* The first FIELDS are height fields. */
static hob_mesh family(uint32_t i)
{
	hob_mesh m;
	switch (i) {
	case 0:
		return field(40, 0.05, waves);
	case 1:
		return field(40, 0.3, waves);
	case 2:
		return field(48, 0.02, rough);
	case 3:
		return field(48, 0.1, rough);
	case 4:
		return field(48, 0.5, rough);
	case 5:
		return field(40, 0.1, terraces);
	case 6:
		return field(40, 1, terraces);
	case 7:
		return field(40, 1, ridge);
	case 8:
		return field(40, 1, spike);
	case 9:
		return field(40, 0, flat);
	case 10:
		return stretched(field(40, 0.2, waves), 1, 1, 1e-3);
	case 11:
		return stretched(field(40, 0.2, rough), 1e4, 1e4, 1e4);
	case 12:
		return fan(3000, 0, 0);
	case 13:
		return fan(3000, 1, 0.03);
	case 14:
		return fan(200, 1, 0);
	case 15:
		return fan(60, 0.1, 0.2);
	case 16:
		return tube(2, 400, 1, false);
	case 17:
		return tube(100, 6, 20, false);
	case 18:
		return tube(40, 24, 1, true);
	case 19:
		return tube(120, 3, 1, true);
	case 20:
		return shape_ball(&arena, 40, 30);
	case 21:
		return stretched(shape_ball(&arena, 30, 20), 1, 1e-3, 1);
	case 22:
		return shape_leaves(&arena, 600);
	case 23:
		return loose(1000, 0.05);
	case 24:
		return loose(1000, 1);
	case 25:
		m = fan(6, 1, 0);
		return copies(&m, 10000 / 6, 3, false);
	case 26:
		m = shape_ball(&arena, 8, 6);
		return copies(&m, 30, 2.5, false);
	case 27:
		m = shape_ball(&arena, 8, 6);
		return copies(&m, 30, 1, false);
	case 28:
		m = field(20, 0.1, waves);
		return copies(&m, 2, 0, false);
	case 29:
		m = field(20, 0.1, waves);
		return copies(&m, 2, 0, true);
	case 30:
		m = field(20, 0.1, waves);
		return hard(&m);
	case 31:
		m = shape_ball(&arena, 20, 16);
		return hard(&m);
	case 32:
		m = fan(300, 1, 0.05);
		return hard(&m);
	case 33:
		return book(3, 60);
	case 34:
		return book(9, 60);
	case 35:
		return fan(1, 1, 0);
	case 36:
		return shape_mesh(&arena, 3, 3);
	case 37:
		return shape_mesh(&arena, 0, 0);
	case 38:
		return stretched(field(30, 0.2, waves), 1, 0, 0);
	default:
		return stretched(shape_ball(&arena, 24, 16), 1e-6, 1e-6, 1e-6);
	}
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
	hob_error err = {0};
	parallel.user = &parallel;
	assert_true(hob_weld_places(m->position, m->vertex_count, &arena, first));
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
	assert_true(hob_simplify(&input, c.levels, &c.count, &c.end, &arena, &err));
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

/* The limit ends the run, and the stated cost is within it. */
static void the_limit_holds(void **state)
{
	(void)state;
	hob_mesh m = family(3);
	chain_t c = simplify(&m, 0.01, NULL, 1);
	assert_int_equal(c.end, HOB_SIMPLIFY_LIMIT);
	for (uint32_t l = 0; l < c.count; l++)
		assert_true(c.levels[l].cost <= 0.01 * 1.0001);
}

static void short_memory_is_an_error(void **state)
{
	(void)state;
	hob_mesh m = family(31);
	uint32_t *first = HOB_NEW(&arena, uint32_t, m.vertex_count);
	assert_true(hob_weld_places(m.position, m.vertex_count, &arena, first));
	hob_simplify_input input = {.positions = m.position,
								.vertex_count = m.vertex_count,
								.first = first,
								.indices = m.indices,
								.index_count = m.index_count,
								.limit = 1};
	for (size_t limit = 1024; limit < 200000; limit += 1024) {
		hob_arena small;
		hob_simplify_level level = {.target = 100};
		uint32_t count = 1;
		hob_simplify_end why;
		hob_error err = {0};
		hob_arena_init(&small, limit);
		if (!hob_simplify(&input, &level, &count, &why, &small, &err))
			assert_int_equal(err.code, HOB_ERR_MEMORY);
		hob_arena_release(&small);
	}
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
		TEST(short_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
