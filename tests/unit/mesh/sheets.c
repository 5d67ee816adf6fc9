#include "../shapes.h"
#include "core/mesh/lods.h"
#include "core/mesh/sheets.h"
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

/* Both meshes in one, the second after the first. They have the same arrays. */
static hob_mesh join(const hob_mesh *a, const hob_mesh *b)
{
	hob_mesh mesh = shape_mesh(&arena, a->vertex_count + b->vertex_count, a->index_count + b->index_count);
	memcpy(mesh.position, a->position, a->vertex_count * 12);
	memcpy(mesh.position + 3 * a->vertex_count, b->position, b->vertex_count * 12);
	if (a->normal) {
		mesh.normal = shape_alloc(&arena, mesh.vertex_count, 12);
		memcpy(mesh.normal, a->normal, a->vertex_count * 12);
		memcpy(mesh.normal + 3 * a->vertex_count, b->normal, b->vertex_count * 12);
	}
	if (a->uv[0]) {
		mesh.uv[0] = shape_alloc(&arena, mesh.vertex_count, 8);
		memcpy(mesh.uv[0], a->uv[0], a->vertex_count * 8);
		memcpy(mesh.uv[0] + 2 * a->vertex_count, b->uv[0], b->vertex_count * 8);
	}
	memcpy(mesh.indices, a->indices, a->index_count * sizeof *mesh.indices);
	for (uint32_t i = 0; i < b->index_count; i++)
		mesh.indices[a->index_count + i] = b->indices[i] + a->vertex_count;
	return mesh;
}

/* A copy of the mesh that faces the other way: winding and normals are reversed, triangles are in reverse
 * order and start at another corner. */
static hob_mesh other_side(const hob_mesh *mesh)
{
	hob_mesh other = shape_mesh(&arena, mesh->vertex_count, mesh->index_count);
	memcpy(other.position, mesh->position, mesh->vertex_count * 12);
	if (mesh->normal)
		other.normal = shape_alloc(&arena, mesh->vertex_count, 12);
	for (uint32_t i = 0; mesh->normal && i < 3 * mesh->vertex_count; i++)
		other.normal[i] = -mesh->normal[i];
	other.uv[0] = mesh->uv[0];
	for (uint32_t i = 0; i < mesh->index_count; i += 3) {
		const uint32_t *corner = mesh->indices + mesh->index_count - 3 - i;
		other.indices[i] = corner[2], other.indices[i + 1] = corner[1], other.indices[i + 2] = corner[0];
	}
	return other;
}

static hob_mesh doubled(const hob_mesh *mesh)
{
	hob_mesh other = other_side(mesh);
	return join(mesh, &other);
}

/* Both sides with shared vertices, as flat faces have them. */
static hob_mesh doubled_and_welded(const hob_mesh *mesh)
{
	hob_mesh both = doubled(mesh);
	for (uint32_t i = mesh->index_count; i < both.index_count; i++)
		both.indices[i] -= mesh->vertex_count;
	both.vertex_count = mesh->vertex_count;
	return both;
}

/* A flag attached at one side, with finer ripples at the other. seam: the middle column is duplicated, with
 * other uv. */
static hob_mesh flag(uint32_t n, bool normals, bool seam)
{
	hob_mesh grid = shape_grid(&arena, n, 0.05f, normals, seam);
	for (uint32_t v = 0; v < grid.vertex_count; v++) {
		float *p = grid.position + 3 * v;
		p[1] += 0.1f * p[0] * sinf(30 * p[0] + 5 * p[2]);
	}
	if (!seam)
		return grid;
	hob_mesh halves = join(&grid, &grid);
	halves.index_count = grid.index_count;
	uint32_t side = n + 1;
	for (uint32_t i = 0; i < halves.index_count; i += 3) {
		uint32_t column = side;
		for (uint32_t k = 0; k < 3; k++)
			column = grid.indices[i + k] % side < column ? grid.indices[i + k] % side : column;
		for (uint32_t k = 0; k < 3; k++)
			halves.indices[i + k] += column >= n / 2 ? grid.vertex_count : 0;
	}
	for (uint32_t v = grid.vertex_count; v < halves.vertex_count; v++)
		halves.uv[0][2 * v] += 3;
	return halves;
}

static uint32_t build(const hob_mesh *mesh, hob_lod_level *levels)
{
	static const hob_lod_options seven = {.max = 7, .ratio = 0.5f, .error = 0.2f};
	levels[0] = (hob_lod_level){.indices = mesh->indices, .index_count = mesh->index_count};
	uint32_t count = 1;
	hob_lods_build(mesh, &seven, levels, &count, &arena);
	return count;
}

/* A triangle by places, starting at its lowest corner; keeps the winding. */
typedef struct key {
	uint32_t a, b, c;
} triangle_key;

static triangle_key key_of(const uint32_t *first, const uint32_t *corner, bool turned)
{
	uint32_t p[3] = {first[corner[0]], first[corner[turned ? 2 : 1]], first[corner[turned ? 1 : 2]]};
	uint32_t k = p[1] < p[0] && p[1] < p[2] ? 1 : p[2] < p[0] && p[2] < p[1] ? 2 : 0;
	return (triangle_key){p[k], p[(k + 1) % 3], p[(k + 2) % 3]};
}

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(triangle_key));
}

/* Number of triangles without a mirror image. */
static uint32_t count_without_mirror(const hob_mesh *mesh, const uint32_t *indices, uint32_t index_count)
{
	uint32_t *first = HOB_NEW(&arena, uint32_t, mesh->vertex_count), count = 0;
	triangle_key *keys = malloc(index_count / 3 * sizeof *keys);
	assert_non_null(keys);
	hob_weld_places(mesh->position, mesh->vertex_count, &arena, first);
	for (uint32_t t = 0; t < index_count / 3; t++)
		keys[t] = key_of(first, indices + 3 * t, false);
	qsort(keys, index_count / 3, sizeof *keys, by_key);
	for (uint32_t t = 0; t < index_count / 3; t++) {
		triangle_key key = key_of(first, indices + 3 * t, true);
		count += !bsearch(&key, keys, index_count / 3, sizeof *keys, by_key);
	}
	free(keys);
	return count;
}

/* Whether each corner has the normal of its triangle's side; no flag here is steep. */
static bool faces_its_normals(const hob_mesh *mesh, const uint32_t *indices, uint32_t index_count)
{
	bool all = true;
	for (uint32_t i = 0; mesh->normal && i < index_count; i += 3) {
		const float *a = mesh->position + 3 * indices[i], *b = mesh->position + 3 * indices[i + 1];
		const float *c = mesh->position + 3 * indices[i + 2];
		float up = (b[2] - a[2]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[2] - a[2]);
		for (uint32_t k = 0; k < 3; k++)
			all = all && up * mesh->normal[3 * indices[i + k] + 1] >= 0;
	}
	return all;
}

static void check_levels(const char *name, const hob_mesh *one, const hob_mesh *both)
{
	hob_lod_level single[7], levels[7];
	uint32_t singles = build(one, single), count = build(both, levels);
	print_message("%s: %u and %u levels\n", name, singles, count);
	for (uint32_t l = 0; l < count; l++)
		print_message("  level %u: %u triangles, %u without mirror, error %g; one side: %u, %g\n", l,
					  levels[l].index_count / 3,
					  count_without_mirror(both, levels[l].indices, levels[l].index_count),
					  (double)levels[l].error, l < singles ? single[l].index_count / 3 : 0,
					  l < singles ? (double)single[l].error : 0);
	assert_true(singles >= 4);
	assert_in_range(count, singles, singles + 1); /* one more has fewer than HOB_LOD_SMALL on a side */
	for (uint32_t l = 1; l < singles; l++) {
		assert_int_equal(count_without_mirror(both, levels[l].indices, levels[l].index_count), 0);
		assert_true(faces_its_normals(both, levels[l].indices, levels[l].index_count));
		assert_in_range(levels[l].index_count / 3, single[l].index_count / 3 * 1.9,
						single[l].index_count / 3 * 2.1);
		assert_true(levels[l].error < 1.3f * single[l].error && levels[l].error > 0.7f * single[l].error);
	}
}

static void a_sheet_of_two_sides_has_the_levels_of_one(void **state)
{
	(void)state;
	hob_mesh with_normals = flag(32, true, false), bare = flag(32, false, false), cut = flag(32, true, true);
	hob_mesh both = doubled(&with_normals), welded = doubled_and_welded(&bare), seams = doubled(&cut);
	check_levels("own vertices", &with_normals, &both);
	check_levels("shared vertices", &bare, &welded);
	check_levels("a texture seam", &cut, &seams);
}

/* Every triangle has its own vertices; vertices that differ only in normals are merged. */
static void hard_edges_do_not_part_the_sides(void **state)
{
	(void)state;
	hob_mesh smooth = flag(32, true, false),
			 hard = shape_mesh(&arena, smooth.index_count, smooth.index_count);
	hard.normal = shape_alloc(&arena, hard.vertex_count, 12);
	for (uint32_t i = 0; i < hard.index_count; i++) {
		memcpy(hard.position + 3 * i, smooth.position + 3 * smooth.indices[i], 12);
		hard.normal[3 * i + 1] = 1, hard.normal[3 * i] = 0.01f * (float)(i / 3 % 7), hard.indices[i] = i;
	}
	hob_mesh both = doubled(&hard);
	check_levels("hard edges", &hard, &both);
}

static void a_sheet_beside_a_body_is_one(void **state)
{
	(void)state;
	hob_mesh one = flag(32, true, true), both = doubled(&one), ball = shape_ball(&arena, 40, 20);
	for (uint32_t v = 0; v < ball.vertex_count; v++)
		ball.position[3 * v] += 5;
	hob_mesh mesh = join(&ball, &both);
	hob_lod_level levels[7];
	uint32_t count = build(&mesh, levels);
	assert_true(count >= 4);
	for (uint32_t l = 1; l < count; l++) {
		uint32_t *indices = malloc(levels[l].index_count * sizeof *indices), sheet = 0;
		for (uint32_t i = 0; i < levels[l].index_count; i += 3)
			if (levels[l].indices[i] >= ball.vertex_count) {
				memcpy(indices + sheet, levels[l].indices + i, 12);
				sheet += 3;
			}
		assert_true(sheet > 0 && sheet < levels[l].index_count);
		assert_int_equal(count_without_mirror(&mesh, indices, sheet), 0);
		free(indices);
	}
}

/* Returns whether the mesh has a sheet; checks the general invariants. */
static bool fold(const hob_mesh *mesh, uint32_t *left)
{
	uint32_t *first = HOB_NEW(&arena, uint32_t, mesh->vertex_count);
	uint32_t *indices = shape_alloc(&arena, 2 * mesh->index_count, 4);
	*left = mesh->index_count;
	memcpy(indices, mesh->indices, mesh->index_count * sizeof *indices);
	hob_weld_places(mesh->position, mesh->vertex_count, &arena, first);
	uint32_t *mirror = hob_sheets_fold(mesh, first, indices, left, &arena);
	if (!mirror) {
		assert_int_equal(*left, mesh->index_count);
		assert_memory_equal(indices, mesh->indices, mesh->index_count * sizeof *indices);
		return false;
	}
	for (uint32_t v = 0; v < mesh->vertex_count; v++)
		assert_true(mirror[v] == HOB_NONE || first[mirror[v]] == first[v]);
	uint32_t count = hob_sheets_unfold(mirror, indices, *left), before = 0;
	for (uint32_t i = 0; i < mesh->index_count; i += 3)
		before +=
			hob_weld_is_collapsed(&(hob_vertex_array){mesh->position, 12, true, 0}, 1, mesh->indices + i) ? 0
																										  : 3;
	assert_int_equal(count, before);
	return true;
}

static void what_is_no_sheet_is_left_alone(void **state)
{
	(void)state;
	uint32_t left;
	hob_mesh one = flag(6, true, true), both = doubled(&one), hole = doubled(&one),
			 none = shape_mesh(&arena, 0, 0);
	assert_true(fold(&both, &left));
	assert_int_equal(left, one.index_count);
	assert_false(fold(&one, &left));
	assert_false(fold(&none, &left));
	hole.index_count -= 3;
	assert_false(fold(&hole, &left));
	hob_mesh thrice = join(&both, &one), twice = join(&one, &one);
	assert_false(fold(&thrice, &left));
	assert_false(fold(&twice, &left));
	/* The sides separate in motion. */
	hob_morph_target target = {.name = HOB_STR("open"),
							   .position = shape_alloc(&arena, both.vertex_count, 12)};
	target.position[3 * one.vertex_count + 1] = 1;
	both.targets = &target, both.target_count = 1;
	assert_false(fold(&both, &left));
	/* The other side has more vertices. */
	hob_mesh smooth = flag(6, true, false), back = other_side(&smooth),
			 more = shape_mesh(&arena, 2 * back.vertex_count, back.index_count);
	more.normal = shape_alloc(&arena, more.vertex_count, 12);
	for (uint32_t i = 0; i < more.index_count; i++) {
		more.indices[i] = back.indices[i] + (i % 2 ? back.vertex_count : 0);
		memcpy(more.position + 3 * more.indices[i], back.position + 3 * back.indices[i], 12);
	}
	hob_mesh uneven = join(&smooth, &more);
	assert_false(fold(&uneven, &left));
}

/* A Moebius strip has only one side; a fan has a vertex and edges with very many triangles. */
static void odd_sheets(void **state)
{
	(void)state;
	enum { CUTS = 30, BLADES = 3000 };
	uint32_t left;
	hob_mesh strip = shape_mesh(&arena, 2 * CUTS, 6 * CUTS), fan = shape_mesh(&arena, BLADES + 2, 3 * BLADES);
	for (uint32_t i = 0; i < CUTS; i++) {
		float around = 6.2831853f * (float)i / CUTS;
		for (uint32_t k = 0; k < 2; k++) {
			float *p = strip.position + 3 * (2 * i + k), out = (k ? 0.3f : -0.3f);
			p[0] = (1 + out * cosf(around / 2)) * cosf(around),
			p[1] = (1 + out * cosf(around / 2)) * sinf(around);
			p[2] = out * sinf(around / 2);
		}
		bool last = i + 1 == CUTS;
		uint32_t a = 2 * i, b = 2 * i + 1, c = last ? 1 : 2 * i + 2, d = last ? 0 : 2 * i + 3;
		uint32_t corners[6] = {a, b, c, b, d, c};
		memcpy(strip.indices + 6 * i, corners, sizeof corners);
	}
	hob_mesh both = doubled(&strip), welded = doubled_and_welded(&strip);
	assert_true(fold(&welded, &left));
	assert_int_equal(left, strip.index_count);
	fold(&both, &left);
	fan.position[5] = 1;
	for (uint32_t i = 0; i < BLADES; i++) {
		fan.position[3 * (i + 2)] = cosf((float)i), fan.position[3 * (i + 2) + 1] = sinf((float)i);
		fan.indices[3 * i + 1] = 1, fan.indices[3 * i + 2] = i + 2;
	}
	hob_mesh blades = doubled(&fan);
	assert_true(fold(&blades, &left));
	assert_int_equal(left, fan.index_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(a_sheet_of_two_sides_has_the_levels_of_one),
		TEST(hard_edges_do_not_part_the_sides),
		TEST(a_sheet_beside_a_body_is_one),
		TEST(what_is_no_sheet_is_left_alone),
		TEST(odd_sheets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
