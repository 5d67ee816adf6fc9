#include "../shapes.h"
#include "core/mesh/clusters.h"
#include "core/mesh/weld.h"
#include "tests/surface_oracle.h"

#include <float.h>

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

static hob_clusters build(const hob_mesh *mesh)
{
	hob_clusters out = {0};
	hob_clusters_build(mesh, mesh->indices, mesh->index_count, &arena, &scratch, &out);
	return out;
}

/* A closed ring with bumps, of 2 * rings * sides triangles. */
static hob_mesh bumpy_ring(uint32_t rings, uint32_t sides)
{
	hob_mesh mesh = shape_mesh(&arena, rings * sides, 6 * rings * sides);
	for (uint32_t r = 0, i = 0; r < rings; r++)
		for (uint32_t s = 0; s < sides; s++, i += 6) {
			float u = 6.2831853f * (float)r / (float)rings, v = 6.2831853f * (float)s / (float)sides;
			float thick = 0.4f + 0.05f * sinf(7 * u) * cosf(5 * v) + 0.02f * cosf(23 * u + 11 * v);
			float *p = mesh.position + 3 * (size_t)(r * sides + s);
			p[0] = (1 + thick * cosf(v)) * cosf(u);
			p[1] = thick * sinf(v);
			p[2] = (1 + thick * cosf(v)) * sinf(u);
			uint32_t a = r * sides + s, b = r * sides + (s + 1) % sides;
			uint32_t c = (r + 1) % rings * sides + s, d = (r + 1) % rings * sides + (s + 1) % sides;
			uint32_t corners[6] = {a, b, c, b, d, c};
			memcpy(mesh.indices + i, corners, sizeof corners);
		}
	return mesh;
}

/* ---- cuts as in a renderer */

typedef struct cut {
	uint32_t *indices, count;
	double error; /* largest error in the cut */
} cut_t;

static bool looks_good(const hob_baked_cluster_group *group, const float eye[3], double tolerance)
{
	double square = 0;
	for (int k = 0; k < 3; k++)
		square += ((double)group->sphere[k] - (double)eye[k]) * ((double)group->sphere[k] - (double)eye[k]);
	double distance = sqrt(square) - (double)group->sphere[3];
	return (double)group->error <= tolerance * (distance > 0 ? distance : 0);
}

static void put_cluster(const hob_clusters *c, uint32_t id, cut_t *cut)
{
	const hob_baked_meshlet *m = &c->meshlets.items[id];
	for (uint32_t i = 0; i < m->triangle_count * 3u; i++)
		cut->indices[cut->count++] =
			c->meshlets.vertices[m->vertex_offset + c->meshlets.triangles[m->triangle_offset + i]];
}

/* eye NULL: every group with an error of at most `tolerance` is good */
static cut_t take_cut(const hob_clusters *c, const float *eye, double tolerance)
{
	cut_t cut = {HOB_NEW(&arena, uint32_t, (size_t)c->meshlets.count * HOB_MESHLET_TRIANGLES * 3), 0, 0};
	bool *good = HOB_NEW(&arena, bool, c->group_count);
	for (uint32_t g = 0; g < c->group_count; g++)
		good[g] = g > 0 &&
				  (eye ? looks_good(&c->groups[g], eye, tolerance) : (double)c->groups[g].error <= tolerance);
	for (uint32_t g = 0; g < c->group_count; g++)
		for (uint32_t i = 0; !good[g] && i < c->groups[g].cluster_count; i++) {
			uint32_t id = c->groups[g].cluster_first + i, source = c->sources[id];
			if (source != HOB_NONE && !good[source])
				continue;
			put_cluster(c, id, &cut);
			cut.error = source != HOB_NONE ? fmax(cut.error, (double)c->groups[source].error) : cut.error;
		}
	return cut;
}

/* ---- edges */

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Edges with unequal numbers of triangles on their two sides; on_border: places where that is allowed. */
static uint32_t count_open_edges(const uint32_t *place, const cut_t *cut, const bool *on_border)
{
	uint64_t *edges = HOB_NEW(&arena, uint64_t, cut->count);
	uint32_t count = 0, open = 0;
	for (uint32_t i = 0; i < cut->count; i++) {
		uint64_t a = place[cut->indices[i]], b = place[cut->indices[i % 3 == 2 ? i - 2 : i + 1]];
		if (a != b && !(on_border && on_border[a] && on_border[b]))
			edges[count++] = (a < b ? a : b) << 33 | (a < b ? b : a) << 1 | (a < b);
	}
	qsort(edges, count, sizeof *edges, ascending);
	for (uint32_t i = 0, next; i < count; i = next) {
		int32_t balance = 0;
		for (next = i; next < count && edges[next] >> 1 == edges[i] >> 1; next++)
			balance += edges[next] & 1 ? 1 : -1;
		open += balance != 0;
	}
	return open;
}

static uint32_t *places_of(const hob_mesh *mesh)
{
	uint32_t *place = HOB_NEW(&arena, uint32_t, mesh->vertex_count);
	hob_weld_places(mesh->position, mesh->vertex_count, &scratch, place);
	return place;
}

/* 200 cuts from random viewpoints, with random tolerances. Returns how many differ from the full mesh. */
static uint32_t check_cuts(const hob_mesh *mesh, const hob_clusters *c, const bool *on_border)
{
	uint32_t *place = places_of(mesh), coarser = 0;
	uint64_t seed = 11;
	for (int i = 0; i < 200; i++) {
		hob_arena_mark mark = hob_arena_save(&arena);
		float eye[3];
		for (int k = 0; k < 3; k++)
			eye[k] = 3 * shape_random_float(&seed);
		cut_t cut = take_cut(c, eye, pow(10, -3 + 3 * ((double)shape_random_float(&seed) / 2 + 0.5)));
		assert_true(cut.count > 0);
		coarser += cut.count < mesh->index_count;
		assert_int_equal(count_open_edges(place, &cut, on_border), 0);
		hob_arena_restore(&arena, mark);
	}
	return coarser;
}

/* ---- the tests */

static void check_structure(const hob_clusters *c)
{
	uint32_t next = 0;
	bool *used = HOB_NEW(&arena, bool, c->group_count);
	memset(used, 0, c->group_count * sizeof *used);
	for (uint32_t g = 0; g < c->group_count; g++) {
		const hob_baked_cluster_group *group = &c->groups[g];
		assert_true(g == 0 ? group->error >= FLT_MAX : used[g]);
		assert_int_equal(group->cluster_first, next);
		assert_true(group->cluster_count > 0);
		next += group->cluster_count;
		for (uint32_t i = group->cluster_first; i < next; i++) {
			uint32_t source = c->sources[i];
			if (source == HOB_NONE)
				continue;
			const hob_baked_cluster_group *finer = &c->groups[source];
			double square = 0;
			for (int k = 0; k < 3; k++)
				square += pow((double)group->sphere[k] - (double)finer->sphere[k], 2);
			assert_true(source > g);
			assert_true(group->error > finer->error || (group->error <= 0 && finer->error <= 0));
			assert_true(sqrt(square) + (double)finer->sphere[3] <= (double)group->sphere[3]);
			used[source] = true;
		}
	}
	assert_int_equal(next, c->meshlets.count);
}

static void finest_cut_is_the_mesh_and_coarsest_is_small(void **state)
{
	(void)state;
	hob_mesh mesh = bumpy_ring(128, 64);
	hob_clusters c = build(&mesh);
	check_structure(&c);
	cut_t fine = take_cut(&c, NULL, -1), coarse = take_cut(&c, NULL, 1e30);
	assert_int_equal(fine.count, mesh.index_count);
	assert_true(fine.error <= 0);
	assert_true(coarse.count / 3 <= 200);
	uint64_t total = 0;
	for (uint32_t i = 0; i < c.meshlets.count; i++)
		total += c.meshlets.items[i].triangle_count;
	assert_true(total * 10 <= mesh.index_count / 3 * 23ull);
}

static void cuts_have_no_cracks(void **state)
{
	(void)state;
	hob_mesh ring = bumpy_ring(128, 64);
	hob_clusters c = build(&ring);
	assert_true(check_cuts(&ring, &c, NULL) > 100);
}

static void seams_have_no_cracks(void **state)
{
	(void)state;
	hob_mesh ball = shape_ball(&arena, 96, 48);
	hob_weld_drop_collapsed(&ball, ball.indices, &ball.index_count, &arena);
	hob_clusters c = build(&ball);
	check_structure(&c);
	assert_true(check_cuts(&ball, &c, NULL) > 100);
}

/* Every triangle has its own normal, so every edge is a seam. */
static void hard_edges_do_not_hold_it_up(void **state)
{
	(void)state;
	hob_mesh ring = bumpy_ring(90, 40), hard = shape_mesh(&arena, ring.index_count, ring.index_count);
	hard.normal = shape_alloc(&arena, hard.vertex_count, 12);
	for (uint32_t i = 0; i < ring.index_count; i++) {
		hard.indices[i] = i;
		memcpy(hard.position + 3 * (size_t)i, ring.position + 3 * (size_t)ring.indices[i], 12);
	}
	for (uint32_t i = 0; i < hard.vertex_count; i += 3) {
		const float *p = hard.position + 3 * (size_t)i;
		vec a = {{(double)p[0], (double)p[1], (double)p[2]}},
			b = {{(double)p[3], (double)p[4], (double)p[5]}},
			c = {{(double)p[6], (double)p[7], (double)p[8]}}, n = cross(minus(b, a), minus(c, a));
		for (int k = 0; k < 9; k++)
			hard.normal[3 * (size_t)i + (size_t)k] = (float)(n.x[k % 3] / sqrt(dot(n, n)));
	}
	hob_clusters c = build(&hard);
	check_structure(&c);
	assert_true(check_cuts(&hard, &c, NULL) > 100);
	assert_true(take_cut(&c, NULL, 1e30).count / 3 <= 200);
}

static void borders_are_open_only_where_the_mesh_is(void **state)
{
	(void)state;
	hob_mesh grid = shape_grid(&arena, 70, 0.05f, false, false);
	bool *on_border = HOB_NEW(&arena, bool, grid.vertex_count);
	for (uint32_t v = 0; v < grid.vertex_count; v++) {
		const float *p = grid.position + 3 * (size_t)v;
		on_border[v] = p[0] <= 0 || p[0] >= 1 || p[2] <= 0 || p[2] >= 1;
	}
	hob_clusters c = build(&grid);
	check_structure(&c);
	assert_true(check_cuts(&grid, &c, on_border) > 100);
	assert_true(take_cut(&c, NULL, 1e30).count / 3 <= 200);
}

static void stated_errors_hold(void **state)
{
	(void)state;
	hob_mesh mesh = bumpy_ring(128, 64);
	hob_clusters c = build(&mesh);
	soup *full = soup_new(mesh.position, mesh.indices, mesh.index_count);
	for (double tolerance = 0.001; tolerance < 0.5; tolerance *= 2) {
		cut_t cut = take_cut(&c, NULL, tolerance);
		assert_true(cut.error <= tolerance);
		soup *coarse = soup_new(mesh.position, cut.indices, cut.count);
		double distance = surface_distance(full, coarse, 20, 20000);
		print_message("tolerance %g: %u triangles, stated %g, measured %g\n", tolerance, cut.count / 3,
					  cut.error, distance);
		assert_true(distance <= cut.error + 1e-12);
		soup_free(coarse);
	}
	soup_free(full);
}

static void what_cannot_shrink_is_left_alone(void **state)
{
	(void)state;
	hob_mesh leaves = shape_leaves(&arena, 10000);
	hob_clusters c = build(&leaves);
	check_structure(&c);
	assert_int_equal(take_cut(&c, NULL, 1e30).count, leaves.index_count);
	hob_mesh one = shape_leaves(&arena, 1);
	one.index_count = 3;
	c = build(&one);
	check_structure(&c);
	assert_int_equal(c.group_count, 1);
	assert_int_equal(c.meshlets.count, 1);
	/* Ten thousand triangles around one point. */
	hob_mesh fan = shape_mesh(&arena, 10001, 30000);
	memset(fan.position, 0, 12);
	for (uint32_t i = 0; i < 10000; i++) {
		float angle = 6.2831853f * (float)i / 10000;
		float p[3] = {cosf(angle), 0, sinf(angle)};
		uint32_t corners[3] = {0, i + 1, (i + 1) % 10000 + 1};
		memcpy(fan.position + 3 * ((size_t)i + 1), p, sizeof p);
		memcpy(fan.indices + 3 * (size_t)i, corners, sizeof corners);
	}
	c = build(&fan);
	check_structure(&c);
}

typedef struct attempt {
	const hob_mesh *mesh;
	hob_arena *result, *scratch;
	hob_clusters out;
} attempt_t;

static bool build_all(void *context, hob_error *err)
{
	(void)err;
	attempt_t *a = context;
	hob_clusters_build(a->mesh, a->mesh->indices, a->mesh->index_count, a->result, a->scratch, &a->out);
	return true;
}

static void short_memory_is_an_error(void **state)
{
	(void)state;
	hob_mesh ring = bumpy_ring(40, 20);
	bool done = false;
	for (size_t limit = 1000; limit < 4000000; limit = limit * 3 / 2) {
		hob_arena small, rest;
		hob_arena_init(&small, limit);
		hob_arena_init(&rest, (size_t)1 << 28);
		done = true;
		for (int which = 0; which < 2; which++) {
			attempt_t a = {&ring, which ? &small : &rest, which ? &rest : &small, {.group_count = 77}};
			hob_error err = {0};
			if (hob_guarded(build_all, &a, &err))
				continue;
			done = false;
			assert_int_equal(err.code, HOB_ERR_MEMORY);
			assert_int_equal(a.out.group_count, 77);
		}
		hob_arena_release(&small);
		hob_arena_release(&rest);
	}
	assert_true(done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finest_cut_is_the_mesh_and_coarsest_is_small, begin, end),
		cmocka_unit_test_setup_teardown(cuts_have_no_cracks, begin, end),
		cmocka_unit_test_setup_teardown(seams_have_no_cracks, begin, end),
		cmocka_unit_test_setup_teardown(hard_edges_do_not_hold_it_up, begin, end),
		cmocka_unit_test_setup_teardown(borders_are_open_only_where_the_mesh_is, begin, end),
		cmocka_unit_test_setup_teardown(stated_errors_hold, begin, end),
		cmocka_unit_test_setup_teardown(what_cannot_shrink_is_left_alone, begin, end),
		cmocka_unit_test_setup_teardown(short_memory_is_an_error, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
