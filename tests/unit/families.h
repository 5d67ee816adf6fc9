/* families.h - 40 generated meshes of different kinds, for tests of levels of detail. */
#ifndef HOB_TEST_FAMILIES_H
#define HOB_TEST_FAMILIES_H

#include "shapes.h"

#include <math.h>

static hob_arena arena; /* holds the generated meshes */

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

#endif
