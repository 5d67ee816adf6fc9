#include "tests/unit/support.h"

#include "core/import/polygon.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double area_of(const float *p, const uint32_t *corners, const uint32_t *triangle,
					  const double normal[3])
{
	const float *a = p + corners[triangle[0]] * 3, *b = p + corners[triangle[1]] * 3,
				*c = p + corners[triangle[2]] * 3;
	double u[3], v[3];
	for (int k = 0; k < 3; k++)
		u[k] = (double)b[k] - a[k], v[k] = (double)c[k] - a[k];
	return 0.5 * ((u[1] * v[2] - u[2] * v[1]) * normal[0] + (u[2] * v[0] - u[0] * v[2]) * normal[1] +
				  (u[0] * v[1] - u[1] * v[0]) * normal[2]);
}

/* Triangulates a planar polygon; checks that no triangle is flipped and that the areas add up. */
static void check_cut(const float *p, uint32_t count, const double normal[3])
{
	hob_polygon polygon = {0};
	uint32_t *corners = malloc(count * sizeof *corners);
	uint32_t *triangles = malloc((size_t)(count - 2) * 3 * sizeof *triangles);
	for (uint32_t i = 0; i < count; i++)
		corners[i] = i;
	hob_polygon_triangulate(&polygon, p, corners, count, triangles);
	double whole = 0, sum = 0;
	for (uint32_t i = 1; i + 1 < count; i++)
		whole += area_of(p, corners, (uint32_t[]){0, i, i + 1}, normal);
	for (uint32_t t = 0; t < count - 2; t++) {
		for (int k = 0; k < 3; k++)
			assert_true(triangles[t * 3 + (uint32_t)k] < count);
		double area = area_of(p, corners, triangles + (size_t)t * 3, normal);
		if (area < -1e-9)
			fail_msg("triangle %u of %u is turned over (area %g)", t, count, area);
		sum += area;
	}
	assert_true(fabs(sum - whole) < 1e-6 * fabs(whole) + 1e-9);
	assert_int_equal(polygon.careless, 0);
	hob_polygon_release(&polygon);
	free(corners);
	free(triangles);
}

static const double up[3] = {0, 0, 1};

static void quads_take_the_shorter_diagonal(void **state)
{
	(void)state;
	static const float kite[] = {0, 0, 0, 1, 0, 0, 4, 4, 0, 0, 1, 0};
	static const uint32_t corners[] = {0, 1, 2, 3};
	hob_polygon polygon = {0};
	uint32_t t[6];
	hob_polygon_triangulate(&polygon, kite, corners, 4, t);
	/* The short diagonal is 1-3. */
	for (int i = 0; i < 2; i++) {
		bool has1 = false, has3 = false;
		for (int k = 0; k < 3; k++)
			has1 = has1 || t[i * 3 + k] == 1, has3 = has3 || t[i * 3 + k] == 3;
		assert_true(has1 && has3);
	}
	hob_polygon_release(&polygon);
}

static void quads_that_are_not_convex_are_cut_inside(void **state)
{
	(void)state;
	static const float arrow[4][12] = {
		{0, 0, 0, 4, 0, 0, 1, 1, 0, 0, 4, 0},
		{4, 0, 0, 1, 1, 0, 0, 4, 0, 0, 0, 0},
		{1, 1, 0, 0, 4, 0, 0, 0, 0, 4, 0, 0},
		{0, 4, 0, 0, 0, 0, 4, 0, 0, 1, 1, 0},
	};
	for (int i = 0; i < 4; i++)
		check_cut(arrow[i], 4, up);
}

static void concave_polygons_keep_their_area(void **state)
{
	(void)state;
	static const float letter_l[] = {0, 0, 0, 3, 0, 0, 3, 1, 0, 1, 1, 0, 1, 3, 0, 0, 3, 0};
	static const float comb[] = {0, 0, 0, 7, 0, 0, 7, 3, 0, 6, 3, 0, 6, 1, 0, 5, 1, 0, 5, 3, 0, 4, 3, 0,
								 4, 1, 0, 3, 1, 0, 3, 3, 0, 2, 3, 0, 2, 1, 0, 1, 1, 0, 1, 3, 0, 0, 3, 0};
	check_cut(letter_l, 6, up);
	check_cut(comb, 16, up);
}

/* A thin ring as one polygon: around the outside, over a bridge, around the inside in reverse, and back over
 * the bridge. Its only ears are at the ends of the bridge, whose points occur twice. */
static void a_bridge_to_a_hole_is_cut_beside(void **state)
{
	(void)state;
	enum { ROUND = 32 };
	float ring[(ROUND + 1) * 2 * 3] = {0};
	for (int i = 0; i <= ROUND; i++) {
		double turn = 2 * 3.14159265358979 * (i % ROUND) / ROUND;
		float *outer = ring + (size_t)i * 3, *inner = ring + (size_t)(ROUND * 2 + 1 - i) * 3;
		outer[0] = (float)cos(turn), outer[1] = (float)sin(turn);
		inner[0] = (float)(0.97 * cos(turn)), inner[1] = (float)(0.97 * sin(turn));
	}
	check_cut(ring, (ROUND + 1) * 2, up);
}

static void every_plane_will_do(void **state)
{
	(void)state;
	static const float l[] = {0, 0, 3, 0, 3, 1, 1, 1, 1, 3, 0, 3};
	for (int axis = 0; axis < 3; axis++)
		for (int turned = 0; turned < 2; turned++) {
			float p[18];
			double normal[3] = {0, 0, 0};
			normal[axis] = turned ? -1 : 1;
			for (int i = 0; i < 6; i++) {
				const float *from = l + (turned ? 5 - i : i) * 2;
				p[i * 3 + (axis + 1) % 3] = from[0];
				p[i * 3 + (axis + 2) % 3] = from[1];
				p[i * 3 + axis] = 1000;
			}
			check_cut(p, 6, normal);
		}
}

static void random_stars_keep_their_area(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < 300; round++) {
		uint32_t count = 5 + (uint32_t)rand() % 200;
		float *p = calloc(count, 3 * sizeof *p);
		for (uint32_t i = 0; i < count; i++) {
			double angle = 6.283185307 * i / count, radius = 0.2 + (double)(rand() % 1000) / 1000;
			p[i * 3] = (float)(cos(angle) * radius);
			p[i * 3 + 1] = (float)(sin(angle) * radius);
		}
		check_cut(p, count, up);
		free(p);
	}
}

static void a_polygon_without_area_gives_its_triangles(void **state)
{
	(void)state;
	static const float line[] = {0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 1, 0, 0, 0, 0, 0};
	static const uint32_t same[] = {0, 0, 0, 0, 0, 0}, line_corners[] = {0, 1, 2, 3, 4, 5};
	hob_polygon polygon = {0};
	uint32_t t[12];
	hob_polygon_triangulate(&polygon, line, line_corners, 6, t);
	hob_polygon_triangulate(&polygon, line, same, 6, t);
	hob_polygon_release(&polygon);
}

/* A spiral of 100 000 corners: ears are hard to find everywhere. */
static void huge_polygons_end_within_the_budget(void **state)
{
	(void)state;
	enum { COUNT = 100000 };
	float *p = calloc(COUNT, 3 * sizeof *p);
	uint32_t *corners = malloc(COUNT * sizeof *corners), *triangles = malloc(COUNT * 3 * sizeof *triangles);
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t k = i < COUNT / 2 ? i : COUNT - 1 - i;
		double angle = k * 0.05, radius = 1 + angle + (i < COUNT / 2 ? 0 : 2.5);
		p[i * 3] = (float)(cos(angle) * radius);
		p[i * 3 + 1] = (float)(sin(angle) * radius);
		corners[i] = i;
	}
	hob_polygon polygon = {0};
	hob_polygon_triangulate(&polygon, p, corners, COUNT, triangles);
	assert_true(polygon.tests < HOB_POLYGON_BUDGET + COUNT);
	for (uint32_t i = 0; i < (COUNT - 2) * 3; i++)
		assert_true(triangles[i] < COUNT);
	hob_polygon_release(&polygon);
	free(p), free(corners), free(triangles);
}

/* Outlines of maps and text: a jagged circle, a comb of long teeth, a spiral. Far below the budget. */
static void outlines_of_25000_corners_are_cut_with_care(void **state)
{
	(void)state;
	enum { COUNT = 25000 };
	float *p = malloc(COUNT * 3 * sizeof *p);
	uint32_t seed = 7;
	for (int shape = 0; shape < 3; shape++) {
		for (uint32_t i = 0; i < COUNT; i++) {
			double angle = 2 * 3.14159265358979 * i / COUNT;
			seed = seed * 1664525u + 1013904223u;
			double radius = 1 + 0.3 * (seed >> 8) / 16777216.0;
			p[i * 3] = (float)(radius * cos(angle));
			p[i * 3 + 1] = (float)(radius * sin(angle));
			p[i * 3 + 2] = 0;
			if (shape == 1) {
				p[i * 3] = (float)i / COUNT;
				p[i * 3 + 1] = i == 0 || i + 1 == COUNT ? -0.1f : i % 2 ? 0 : 1;
			} else if (shape == 2) {
				bool back = i >= COUNT / 2;
				double turn = (double)(back ? COUNT - 1 - i : i) / 600;
				radius = 1 + turn + (back ? 0.4 : 0);
				p[i * 3] = (float)(radius * cos(turn * 6.2831853));
				p[i * 3 + 1] = (float)(radius * sin(turn * 6.2831853));
			}
		}
		double area = 0;
		for (uint32_t i = 0; i < COUNT; i++) {
			const float *a = p + i * 3, *b = p + (i + 1) % COUNT * 3;
			area += (double)a[0] * b[1] - (double)b[0] * a[1];
		}
		check_cut(p, COUNT, (double[]){0, 0, area > 0 ? 1 : -1});
	}
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quads_take_the_shorter_diagonal),
		cmocka_unit_test(quads_that_are_not_convex_are_cut_inside),
		cmocka_unit_test(concave_polygons_keep_their_area),
		cmocka_unit_test(a_bridge_to_a_hole_is_cut_beside),
		cmocka_unit_test(every_plane_will_do),
		cmocka_unit_test(random_stars_keep_their_area),
		cmocka_unit_test(a_polygon_without_area_gives_its_triangles),
		cmocka_unit_test(outlines_of_25000_corners_are_cut_with_care),
		cmocka_unit_test(huge_polygons_end_within_the_budget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
