#include "../shapes.h"
#include "core/mesh/influences.h"
#include "core/mesh/lods.h"
#include "core/mesh/mesh_bounds.h"
#include "core/mesh/normals.h"
#include "core/mesh/quantize.h"
#include "core/mesh/split.h"
#include "core/mesh/triangle_order.h"
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

/* ---- split */

static void split_gives_each_corner_its_value(void **state)
{
	(void)state;
	uint64_t seed = 4;
	for (uint32_t round = 1; round < 40; round++) {
		enum { VERTICES = 30, CORNERS = 300 };
		uint32_t indices[CORNERS], original[CORNERS], from[VERTICES + CORNERS];
		float values[CORNERS][2], out[VERTICES + CORNERS][2];
		for (uint32_t i = 0; i < CORNERS; i++) {
			indices[i] = original[i] = shape_random(&seed) % VERTICES;
			values[i][0] = (float)(shape_random(&seed) % round);
			values[i][1] = 1;
		}
		uint32_t per = round % 2 ? 1 : 3;
		uint32_t count =
			hob_split(indices, CORNERS, VERTICES, per, &values[0][0], 2, from, &out[0][0], &arena);
		assert_in_range(count, VERTICES, VERTICES + CORNERS);
		for (uint32_t i = 0; i < CORNERS; i++) {
			assert_in_range(indices[i], 0, count - 1);
			assert_int_equal(from[indices[i]], original[i]);
			assert_memory_equal(out[indices[i]], values[i / per], sizeof values[0]);
		}
		for (uint32_t a = VERTICES; a < count; a++)
			for (uint32_t b = 0; b < a; b++)
				assert_false(from[a] == from[b] && memcmp(out[a], out[b], sizeof out[0]) == 0);
	}
}

/* ---- normals */

static void normals_ignore_how_a_face_is_cut(void **state)
{
	(void)state;
	/* A cube with each face cut along either diagonal: corner normals must be the cube's diagonals. */
	for (uint32_t cut = 0; cut < 64; cut++) {
		float position[8][3];
		uint32_t indices[36], group[8];
		float normal[8][3];
		double sums[8][3];
		for (uint32_t v = 0; v < 8; v++) {
			group[v] = v;
			for (uint32_t k = 0; k < 3; k++)
				position[v][k] = v >> k & 1 ? 1.0f : -1.0f;
		}
		for (uint32_t f = 0; f < 6; f++) {
			uint32_t axis = f / 2, u = 1u << (axis + 1) % 3, w = 1u << (axis + 2) % 3, base = (f & 1) << axis;
			uint32_t quad[4] = {base, base | u, base | u | w, base | w}, turned = cut >> f & 1;
			for (uint32_t k = 0; k < 6; k++) {
				static const uint32_t fan[6] = {0, 1, 2, 0, 2, 3};
				uint32_t corner = (fan[f & 1 ? k : 5 - k] + turned) % 4;
				indices[6 * f + k] = quad[corner];
			}
		}
		hob_normals_smooth(&position[0][0], 8, indices, 36, group, &normal[0][0], &sums[0][0]);
		for (int v = 0; v < 8; v++)
			for (int k = 0; k < 3; k++)
				assert_true(fabsf(normal[v][k] - position[v][k] * 0.57735027f) < 1e-6f);
	}
}

static void normals_of_nothing_point_up(void **state)
{
	(void)state;
	const float position[9] = {0}, back_to_back[9] = {0, 0, 0, 1, 0, 0, 0, 0, 1};
	const uint32_t once[3] = {0, 1, 2}, twice[6] = {0, 1, 2, 0, 2, 1}, group[3] = {0, 1, 2};
	float normal[9];
	double sums[9];
	hob_normals_flat(position, once, 1, normal);
	assert_true(normal[1] == 1);
	hob_normals_smooth(back_to_back, 3, twice, 6, group, normal, sums);
	for (int v = 0; v < 3; v++)
		assert_true(normal[3 * v] == 0 && normal[3 * v + 1] == 1);
	const float tiny[9] = {0, 0, 0, 1e-30f, 0, 0, 0, 1e-30f, 0};
	hob_normals_flat(tiny, once, 1, normal);
	assert_true(normal[2] == 1);
}

/* ---- influences */

static void weights_sum_exactly_and_keep_the_largest(void **state)
{
	(void)state;
	uint64_t seed = 6;
	for (int round = 0; round < 20000; round++) {
		uint32_t count = 4 + 4 * (shape_random(&seed) % 3), kept = round % 2 ? 4 : 8;
		uint16_t joints[12], out_joints[8], out_weights[8];
		float weights[12];
		double total = 0, of_joint[8] = {0};
		for (uint32_t i = 0; i < count; i++) {
			joints[i] = (uint16_t)(shape_random(&seed) % 8);
			weights[i] = shape_random(&seed) % 4 == 0 ? 0 : fabsf(shape_random_float(&seed));
			of_joint[joints[i]] += (double)weights[i];
		}
		uint32_t unbound = hob_influences(joints, weights, count, 1, kept, out_joints, out_weights);
		uint32_t sum = 0;
		for (uint32_t i = 0; i < kept; i++) {
			sum += out_weights[i];
			assert_true(i == 0 || out_weights[i] <= out_weights[i - 1] + 1);
			assert_true(out_weights[i] > 0 || out_joints[i] == 0);
			for (uint32_t k = 0; k < i && out_weights[i] > 0; k++)
				assert_true(out_joints[k] != out_joints[i]);
			total += out_weights[i] > 0 ? of_joint[out_joints[i]] : 0;
		}
		assert_int_equal(sum, 65535);
		/* No dropped joint weighs more than the lightest kept one. */
		double least = out_weights[kept - 1] > 0 ? of_joint[out_joints[kept - 1]] : total / 65535;
		for (uint32_t j = 0; j < 8 && !unbound; j++) {
			bool stayed = false;
			for (uint32_t i = 0; i < kept; i++)
				stayed = stayed || (out_weights[i] > 0 && out_joints[i] == j);
			assert_true(stayed || of_joint[j] <= least);
		}
		for (uint32_t i = 0; i < kept && !unbound; i++)
			if (out_weights[i] > 0)
				assert_true(fabs(out_weights[i] - of_joint[out_joints[i]] / total * 65535) <= 1.0);
		uint8_t bytes[8];
		hob_weights_to_u8(out_weights, kept, bytes);
		uint32_t byte_sum = 0;
		for (uint32_t i = 0; i < kept; i++) {
			byte_sum += bytes[i];
			assert_true(fabs(bytes[i] - out_weights[i] / 257.0) <= 1.0);
		}
		assert_int_equal(byte_sum, 255);
	}
}

static void bad_weights_count_as_none(void **state)
{
	(void)state;
	const uint16_t joints[4] = {3, 5, 7, 9};
	const float bad[4] = {NAN, -1, INFINITY, 0}, half[4] = {NAN, 2, -4, 2};
	uint16_t out_joints[4], out_weights[4];
	assert_int_equal(hob_influences(joints, bad, 4, 1, 4, out_joints, out_weights), 1);
	assert_int_equal(out_joints[0], 0);
	assert_int_equal(out_weights[0], 65535);
	assert_int_equal(hob_influences(joints, half, 4, 1, 4, out_joints, out_weights), 0);
	assert_int_equal(out_joints[0], 5);
	assert_int_equal(out_joints[1], 9);
	assert_int_equal(out_weights[0] + out_weights[1], 65535);
}

static void order_of_influences_does_not_matter(void **state)
{
	(void)state;
	const uint16_t a[4] = {1, 2, 3, 4}, b[4] = {4, 2, 3, 1};
	const float wa[4] = {0.25f, 0.25f, 0.3f, 0.2f}, wb[4] = {0.2f, 0.25f, 0.3f, 0.25f};
	uint16_t ja[4], jb[4], qa[4], qb[4];
	hob_influences(a, wa, 4, 1, 4, ja, qa);
	hob_influences(b, wb, 4, 1, 4, jb, qb);
	assert_memory_equal(ja, jb, sizeof ja);
	assert_memory_equal(qa, qb, sizeof qa);
}

/* ---- quantize */

static void octahedral_error_is_below_the_stated_one(void **state)
{
	(void)state;
	uint64_t seed = 8;
	double worst = 0;
	for (int i = 0; i < 300000; i++) {
		float n[3], back[3];
		double length = 0;
		for (int k = 0; k < 3; k++) {
			n[k] = i % 7 == k ? 0 : shape_random_float(&seed);
			length += (double)n[k] * (double)n[k];
		}
		if (length < 1e-4)
			continue;
		for (int k = 0; k < 3; k++)
			n[k] = (float)((double)n[k] / sqrt(length));
		int16_t code[2];
		hob_octahedral_encode(n, code);
		hob_octahedral_decode(code, back);
		double sine = 0;
		for (int k = 0; k < 3; k++) {
			double d = (double)n[k] - (double)back[k];
			sine += d * d;
		}
		worst = fmax(worst, sqrt(sine));
	}
	assert_true(worst * 57.29578 < 0.004);
	assert_true(worst * 57.29578 > 0.002);
}

static void octahedral_axes_are_exact(void **state)
{
	(void)state;
	for (int axis = 0; axis < 3; axis++)
		for (int sign = -1; sign < 2; sign += 2) {
			float n[3] = {0}, back[3];
			int16_t code[2];
			n[axis] = (float)sign;
			hob_octahedral_encode(n, code);
			hob_octahedral_decode(code, back);
			for (int k = 0; k < 3; k++)
				assert_true(fabsf(back[k] - n[k]) < 1e-7f);
		}
	const float nothing[3] = {0}, nan[3] = {NAN, NAN, NAN};
	int16_t code[2] = {5, 5};
	hob_octahedral_encode(nothing, code);
	assert_true(code[0] == 0 && code[1] == 0);
	hob_octahedral_encode(nan, code);
	assert_true(code[0] == 0 && code[1] == 0);
}

static void unorm_is_recognised_exactly(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 256; i++)
		assert_true(hob_is_unorm((float)i / 255.0f, 255));
	for (uint32_t i = 0; i < 65536; i++)
		assert_true(hob_is_unorm((float)i / 65535.0f, 65535));
	assert_false(hob_is_unorm(0.5f, 255));
	assert_false(hob_is_unorm(-0.1f, 255));
	assert_false(hob_is_unorm(1.5f, 255));
	assert_false(hob_is_unorm(NAN, 255));
	assert_int_equal(hob_quantize_unorm((double)NAN, 255), 0);
}

/* ---- bounds */

static void sphere_holds_all_and_is_tight(void **state)
{
	(void)state;
	uint64_t seed = 9;
	for (int round = 0; round < 200; round++) {
		enum { COUNT = 200 };
		float points[COUNT][3], sphere[4];
		for (int i = 0; i < COUNT; i++) {
			float r = 0;
			for (int k = 0; k < 3; k++) {
				points[i][k] = shape_random_float(&seed);
				r += points[i][k] * points[i][k];
			}
			for (int k = 0; k < 3; k++)
				points[i][k] = round % 2 ? points[i][k] / sqrtf(r) + 100 : points[i][k] * (float)(k + 1);
		}
		hob_bounds_sphere(&points[0][0], COUNT, sphere);
		for (int i = 0; i < COUNT; i++) {
			float r = 0;
			for (int k = 0; k < 3; k++)
				r += (points[i][k] - sphere[k]) * (points[i][k] - sphere[k]);
			assert_true(sqrtf(r) <= sphere[3]);
		}
		assert_true(sphere[3] < (round % 2 ? 1.08f : 3.75f));
	}
	const float one[3] = {1, 2, 3};
	float sphere[4];
	hob_bounds_sphere(one, 1, sphere);
	assert_true(sphere[0] == 1 && sphere[3] == 0);
}

static void density_is_uv_over_space(void **state)
{
	(void)state;
	hob_mesh m = shape_grid(&arena, 300, 0, true, true);
	float *scratch = shape_alloc(&arena, HOB_UV_DENSITY_SAMPLES, 4);
	for (size_t i = 0; i < 3 * (size_t)m.vertex_count; i++)
		m.position[i] *= 4;
	float density = hob_uv_density(m.position, m.uv[0], m.indices, m.index_count, scratch);
	assert_true(fabsf(density - 0.25f) < 1e-3f);
	memset(m.position, 0, m.vertex_count * 12);
	assert_true(hob_uv_density(m.position, m.uv[0], m.indices, m.index_count, scratch) == 0);
	assert_true(hob_uv_density(m.position, m.uv[0], m.indices, 0, scratch) == 0);
}

/* ---- levels */

/* A level's error is at most the previous one's plus that of the step, which a separate chain measures. */
static void an_error_is_at_most_the_sum_of_its_steps(void **state)
{
	(void)state;
	hob_mesh m = shape_grid(&arena, 60, 0.2f, false, false);
	hob_lod_options options = {.max = 5, .ratio = 0.5f, .error = 0.2f};
	hob_lod_level levels[5] = {{.indices = m.indices, .index_count = m.index_count}};
	uint32_t count = 1;
	hob_lods_build(&m, &options, levels, &count, &arena);
	assert_int_equal(count, 5);
	options.max = 2;
	for (uint32_t l = 1; l + 1 < count; l++) {
		hob_lod_level step[2] = {{.indices = levels[l].indices, .index_count = levels[l].index_count}};
		uint32_t two = 1;
		hob_lods_build(&m, &options, step, &two, &arena);
		assert_int_equal(two, 2);
		float sum = levels[l].error + step[1].error;
		assert_true(levels[l].error > 0 && levels[l + 1].error <= 1.1f * sum);
	}
}

/* ---- order */

/* The same key for a triangle that starts with another corner. */
static uint64_t triangle_key(const uint32_t *corner)
{
	uint64_t key = 0;
	for (int k = 0; k < 3; k++) {
		uint64_t a = corner[k], b = corner[(k + 1) % 3], c = corner[(k + 2) % 3];
		key += (a * 1000003 + b) * 1000003 + c;
	}
	return key;
}

static void triangles_are_the_same_after_ordering(void **state)
{
	(void)state;
	for (int effort = HOB_ORDER_FAST; effort <= HOB_ORDER_SMALL + 1; effort++) {
		hob_mesh m = shape_grid(&arena, 30, 0.2f, false, false);
		uint64_t before = 0, after = 0;
		for (int pass = 0; pass < 2; pass++) {
			for (uint32_t i = 0; i < m.index_count; i += 3)
				*(pass ? &after : &before) += triangle_key(m.indices + i);
			uint32_t *placed = HOB_NEW(&arena, uint32_t, m.index_count);
			if (pass == 0 && effort > HOB_ORDER_SMALL) {
				hob_order_by_place(m.indices, m.index_count, m.position, &arena, placed);
				m.indices = placed;
			} else if (pass == 0)
				hob_order_triangles(m.indices, m.index_count, m.position, m.vertex_count,
									(hob_order_effort)effort);
		}
		assert_true(before == after);
	}
	hob_order_triangles(NULL, 0, NULL, 0, HOB_ORDER_BEST);
}

/* Misses per triangle of a FIFO cache of 16 vertices. */
static double misses_per_triangle(const hob_mesh *m)
{
	uint32_t cache[16], misses = 0;
	memset(cache, 0xFF, sizeof cache);
	for (uint32_t i = 0; i < m->index_count; i++) {
		bool hit = false;
		for (uint32_t k = 0; k < 16; k++)
			hit = hit || cache[k] == m->indices[i];
		if (!hit)
			cache[misses++ % 16] = m->indices[i];
	}
	return 3.0 * misses / m->index_count;
}

/* Each quarter of the order covers a compact quarter of the area, not all triangles of similar height. */
static void flat_ground_is_ordered_by_its_long_sides(void **state)
{
	(void)state;
	hob_mesh m = shape_grid(&arena, 64, 0, false, false);
	uint32_t *placed = HOB_NEW(&arena, uint32_t, m.index_count), quarter = m.index_count / 4;
	float *position = HOB_NEW(&arena, float, 3 * (size_t)m.vertex_count);
	assert_true(placed && position);
	for (uint32_t v = 0; v < m.vertex_count; v++) {
		position[3 * v] = (float)(v % 65), position[3 * v + 1] = (float)(v / 65);
		position[3 * v + 2] = 0.1f * (float)(v * 7 % 5);
	}
	hob_order_by_place(m.indices, m.index_count, position, &arena, placed);
	for (uint32_t q = 0; q < 4; q++)
		for (int k = 0; k < 2; k++) {
			float low = 64, high = 0;
			for (uint32_t i = q * quarter; i < (q + 1) * quarter; i++) {
				float x = position[3 * (size_t)placed[i] + (size_t)k];
				low = x < low ? x : low, high = x > high ? x : high;
			}
			assert_true(high - low <= 34);
		}
}

static void triangles_are_ordered_for_the_vertex_cache(void **state)
{
	(void)state;
	const double most[] = {0.66, 0.72};
	for (int effort = HOB_ORDER_FAST; effort <= HOB_ORDER_BEST; effort++) {
		hob_mesh m = shape_grid(&arena, 60, 0.2f, false, false);
		assert_true(misses_per_triangle(&m) > 0.95);
		hob_order_triangles(m.indices, m.index_count, m.position, m.vertex_count, (hob_order_effort)effort);
		if (misses_per_triangle(&m) > most[effort])
			fail_msg("effort %d: %.3f vertices a triangle", effort, misses_per_triangle(&m));
	}
}

typedef struct ordering {
	const hob_mesh *mesh;
	uint32_t *indices, chunk;
} ordering_t;

static bool order_again(void *context, hob_error *err)
{
	(void)err;
	const ordering_t *o = context;
	hob_order_in_chunks(o->indices, o->mesh->index_count, o->mesh->position, o->mesh->vertex_count,
						HOB_ORDER_BEST, o->chunk, &arena);
	return true;
}

/* Ordering in chunks keeps the triangles, with hardly more misses, and is reproducible. */
static void large_meshes_are_ordered_in_chunks(void **state)
{
	(void)state;
	for (uint32_t chunk = 400; chunk < 3000; chunk += 700) {
		hob_mesh m = shape_grid(&arena, 60, 0.2f, false, false);
		uint32_t *again = HOB_NEW(&arena, uint32_t, m.index_count), corners = 0;
		uint64_t before = 0, after = 0;
		memcpy(again, m.indices, m.index_count * sizeof *again);
		for (uint32_t i = 0; i < m.index_count; i += 3)
			before += triangle_key(m.indices + i);
		hob_arena_mark mark = hob_arena_save(&arena);
		hob_order_in_chunks(m.indices, m.index_count, m.position, m.vertex_count, HOB_ORDER_BEST, chunk,
							&arena);
		hob_order_in_chunks(again, m.index_count, m.position, m.vertex_count, HOB_ORDER_BEST, chunk, &arena);
		assert_true(mark.used == hob_arena_save(&arena).used);
		for (uint32_t i = 0; i < m.index_count; i += 3)
			after += triangle_key(m.indices + i);
		assert_true(before == after);
		assert_memory_equal(again, m.indices, m.index_count * sizeof *again);
		if (misses_per_triangle(&m) > 0.8)
			fail_msg("chunks of %u: %.3f vertices a triangle", chunk, misses_per_triangle(&m));
		for (size_t fail = 1; fail < 6; fail++) {
			arena.fail_at = fail;
			ordering_t ordering = {&m, again, chunk};
			assert_false(hob_guarded(order_again, &ordering, NULL));
			arena.fail_at = 0;
		}
		for (uint32_t i = 0; i < m.index_count; i++)
			corners += again[i] < m.vertex_count;
		assert_int_equal(corners, m.index_count);
	}
}

static void vertices_are_numbered_coarsest_level_first(void **state)
{
	(void)state;
	uint32_t fine[6] = {5, 4, 3, 3, 2, 0}, coarse[3] = {0, 5, 3}, remap[7], order[7], prefixes[2];
	uint32_t *levels[2] = {fine, coarse};
	const uint32_t counts[2] = {6, 3}, expected_order[5] = {0, 5, 3, 4, 2};
	const uint32_t expected_fine[6] = {1, 3, 2, 2, 4, 0}, expected_coarse[3] = {0, 1, 2};
	assert_int_equal(hob_order_vertices(levels, counts, 2, 7, remap, order, prefixes), 5);
	assert_memory_equal(order, expected_order, sizeof expected_order);
	assert_memory_equal(fine, expected_fine, sizeof fine);
	assert_memory_equal(coarse, expected_coarse, sizeof coarse);
	assert_int_equal(prefixes[0], 5);
	assert_int_equal(prefixes[1], 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(split_gives_each_corner_its_value),
		TEST(normals_ignore_how_a_face_is_cut),
		TEST(normals_of_nothing_point_up),
		TEST(weights_sum_exactly_and_keep_the_largest),
		TEST(bad_weights_count_as_none),
		TEST(order_of_influences_does_not_matter),
		TEST(octahedral_error_is_below_the_stated_one),
		TEST(octahedral_axes_are_exact),
		TEST(unorm_is_recognised_exactly),
		TEST(sphere_holds_all_and_is_tight),
		TEST(density_is_uv_over_space),
		TEST(an_error_is_at_most_the_sum_of_its_steps),
		TEST(triangles_are_the_same_after_ordering),
		TEST(flat_ground_is_ordered_by_its_long_sides),
		TEST(triangles_are_ordered_for_the_vertex_cache),
		TEST(large_meshes_are_ordered_in_chunks),
		TEST(vertices_are_numbered_coarsest_level_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
