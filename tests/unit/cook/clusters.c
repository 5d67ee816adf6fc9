/* A hierarchy of clusters from bake to picture: baked, packed, validated, opened and cut by the runtime; each
 * cut is drawn by an independent rasteriser. */
#include "tests/unit/runtime/maker.h"
#include "tests/unit/runtime/touch.h"
#include "tests/unit/shapes.h"

#include "core/formats/pack_cut.h"
#include "core/formats/pack_validate.h"
#include "core/formats/pack_write.h"
#include "core/hash/hash.h"
#include "core/mesh/bake.h"

#include <float.h>

enum { SIDE = 400 };

static hob_arena arena, scratch;
static hob_buf file;

/* A closed ring with bumps and spikes, of 12,800 triangles; welded, or with seams if it has texture
 * coordinates. */
static hob_mesh spiky_ring(bool seams)
{
	enum { RINGS = 100, SIDES = 64 };
	uint32_t columns = SIDES + (seams ? 1 : 0), rows = RINGS + (seams ? 1 : 0);
	hob_mesh mesh = shape_mesh(&arena, rows * columns, 6 * RINGS * SIDES);
	mesh.normal = shape_alloc(&arena, mesh.vertex_count, 12);
	mesh.uv[0] = seams ? shape_alloc(&arena, mesh.vertex_count, 8) : NULL;
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t s = 0; s < columns; s++) {
			uint32_t vertex = r * columns + s, ring = r % RINGS, side = s % SIDES;
			float u = 6.2831853f * (float)ring / RINGS, v = 6.2831853f * (float)side / SIDES;
			float thick =
				0.4f + 0.04f * sinf(7 * u) * cosf(5 * v) + (ring % 25 == 0 && side % 16 == 0 ? 0.2f : 0);
			float *p = mesh.position + 3 * (size_t)vertex, *n = mesh.normal + 3 * (size_t)vertex;
			p[0] = (1 + thick * cosf(v)) * cosf(u), p[1] = thick * sinf(v);
			p[2] = (1 + thick * cosf(v)) * sinf(u);
			n[0] = cosf(v) * cosf(u), n[1] = sinf(v), n[2] = cosf(v) * sinf(u);
			if (seams) {
				mesh.uv[0][2 * (size_t)vertex] = (float)s / SIDES;
				mesh.uv[0][2 * (size_t)vertex + 1] = (float)r / RINGS;
			}
		}
	for (uint32_t r = 0, i = 0; r < RINGS; r++)
		for (uint32_t s = 0; s < SIDES; s++, i += 6) {
			uint32_t below = (seams ? r + 1 : (r + 1) % RINGS) * columns,
					 right = seams ? s + 1 : (s + 1) % SIDES;
			uint32_t a = r * columns + s, b = r * columns + right, c = below + s, d = below + right;
			uint32_t corners[6] = {a, b, c, b, d, c};
			memcpy(mesh.indices + i, corners, sizeof corners);
		}
	return mesh;
}

typedef struct opened {
	hob_baked_mesh mesh;
	hob_rt_files files;
	hob_rt_asset *asset;
	hob_rt_clusters clusters;
	uint8_t *good;
	uint32_t *chosen, *indices;
} opened_t;

static opened_t open_mesh(const hob_mesh *mesh, bool meshlets)
{
	opened_t o = {0};
	hob_error err = {0};
	const hob_mesh_options options = {
		.lod_max = 3, .lod_error = 0.1f, .meshlets = meshlets, .clusters = true};
	o.mesh = hob_mesh_bake(mesh, &options, &arena, &scratch, NULL);
	assert_true(o.mesh.group_count > 1);
	hob_baked_mesh both[2] = {o.mesh, o.mesh};
	both[1].is_copy = true;
	hob_pack_options pack = {0};
	if (!hob_pack_meshes(both, 2, &pack, &file, &err))
		fail_msg("%s", err.context);
	if (!hob_pack_validate(hob_buf_bytes(&file), &err))
		fail_msg("%s", err.context);
	const uint32_t parents[1] = {HOB_RT_NONE};
	o.files.meshes = (hob_rt_blob){file.data, file.size};
	o.files.scene = make_scene(parents, 1, NULL, NULL);
	o.asset = open_good(&o.files);
	assert_true(hob_rt_mesh_clusters(o.asset, 1, &o.clusters)); /* the copy has the same clusters */
	hob_rt_clusters of_first;
	assert_true(hob_rt_mesh_clusters(o.asset, 0, &of_first));
	assert_ptr_equal(of_first.groups, o.clusters.groups);
	o.good = shape_alloc(&arena, o.clusters.group_count, 1);
	o.chosen = shape_alloc(&arena, o.clusters.cluster_count, 4);
	o.indices = shape_alloc(&arena, (size_t)o.clusters.cluster_count * 3 * 255, 4);
	return o;
}

static void close_mesh(opened_t *o)
{
	hob_rt_close(o->asset);
	free_blob(o->files.scene);
	hob_buf_release(&file);
}

static uint32_t cut(opened_t *o, const float global[16], const float eye[3], float pixels)
{
	uint32_t corners = 0,
			 count = hob_rt_choose_clusters(&o->clusters, global, eye, 1000, pixels, o->good, o->chosen);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(i == 0 || o->chosen[i] > o->chosen[i - 1]);
		corners += hob_rt_cluster_indices(o->asset, &o->clusters, o->chosen[i], o->indices + corners);
	}
	return corners;
}

/* ---- a rasteriser: pixels covered by triangles that face the viewer, in parallel projection */

typedef struct camera {
	double right[3], up[3];
} camera_t;

static camera_t camera_along(uint64_t *seed)
{
	camera_t c;
	double yaw = 3.1416 * (double)shape_random_float(seed), pitch = 1.5 * (double)shape_random_float(seed);
	double right[3] = {cos(yaw), 0, -sin(yaw)};
	double up[3] = {-sin(pitch) * sin(yaw), cos(pitch), -sin(pitch) * cos(yaw)};
	memcpy(c.right, right, sizeof right);
	memcpy(c.up, up, sizeof up);
	return c;
}

/* Twice the area of (a, b, p). Swapping a and b changes only the sign, so two triangles agree on a shared
 * edge. */
static double side_of(const double a[2], const double b[2], double x, double y)
{
	bool swap = a[0] > b[0] || (a[0] >= b[0] && a[1] > b[1]);
	const double *p = swap ? b : a, *q = swap ? a : b;
	double area = (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]);
	return swap ? -area : area;
}

static int clamp(double value)
{
	return value < 0 ? 0 : value > SIDE - 1 ? SIDE - 1 : (int)value;
}

static void draw(const camera_t *c, const float *position, const uint32_t *indices, uint32_t count,
				 uint8_t *picture)
{
	memset(picture, 0, SIDE * SIDE);
	for (uint32_t i = 0; i < count; i += 3) {
		double at[3][2], low[2] = {SIDE, SIDE}, high[2] = {0, 0};
		for (int k = 0; k < 3; k++) {
			const float *p = position + 3 * (size_t)indices[i + (uint32_t)k];
			at[k][0] = at[k][1] = SIDE / 2.0;
			for (int axis = 0; axis < 3; axis++) {
				at[k][0] += SIDE / 3.6 * c->right[axis] * (double)p[axis];
				at[k][1] += SIDE / 3.6 * c->up[axis] * (double)p[axis];
			}
			for (int axis = 0; axis < 2; axis++) {
				low[axis] = fmin(low[axis], at[k][axis]);
				high[axis] = fmax(high[axis], at[k][axis]);
			}
		}
		for (int y = clamp(low[1]); y <= clamp(high[1]); y++)
			for (int x = clamp(low[0]); x <= clamp(high[0]); x++)
				if (side_of(at[0], at[1], x + 0.5, y + 0.5) >= 0 &&
					side_of(at[1], at[2], x + 0.5, y + 0.5) >= 0 &&
					side_of(at[2], at[0], x + 0.5, y + 0.5) >= 0)
					picture[y * SIDE + x] = 1;
	}
}

/* Background pixels of the cut whose neighbourhood within `reach` is covered in the full picture. */
static uint32_t count_holes(const uint8_t *full, const uint8_t *picture, int reach)
{
	uint32_t holes = 0;
	for (int y = reach; y < SIDE - reach; y++)
		for (int x = reach; x < SIDE - reach; x++) {
			bool inside = picture[y * SIDE + x] == 0;
			for (int dy = -reach; dy <= reach && inside; dy++)
				for (int dx = -reach; dx <= reach && inside; dx++)
					inside = full[(y + dy) * SIDE + x + dx] != 0;
			holes += inside;
		}
	return holes;
}

static double largest_error(const opened_t *o, uint32_t count)
{
	double error = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t source = o->clusters.sources[o->chosen[i]];
		error = source == HOB_RT_NONE ? error : fmax(error, (double)o->clusters.groups[source].error);
	}
	return error;
}

static const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

/* Cuts from a near viewpoint, so that one side is fine and the other coarse, drawn from other directions. */
static void check_pictures(opened_t *o)
{
	static uint8_t full[SIDE * SIDE], picture[SIDE * SIDE];
	uint64_t seed = 5;
	uint32_t coarser = 0, mixed = 0;
	for (int view = 0; view < 6; view++) {
		camera_t c = camera_along(&seed);
		draw(&c, o->mesh.mesh.position, o->mesh.indices, o->mesh.lods[0].index_count, full);
		for (float pixels = 0.5f; pixels < 300; pixels *= 1.7f) {
			float eye[3];
			for (int k = 0; k < 3; k++)
				eye[k] = 2.5f * shape_random_float(&seed);
			uint32_t corners = cut(o, identity, eye, pixels);
			uint32_t count =
				hob_rt_choose_clusters(&o->clusters, identity, eye, 1000, pixels, o->good, o->chosen);
			double error = largest_error(o, count);
			draw(&c, o->mesh.mesh.position, o->indices, corners, picture);
			coarser += corners < o->mesh.lods[0].index_count;
			mixed += error > 0 && o->clusters.sources[o->chosen[count - 1]] == HOB_RT_NONE;
			uint32_t holes = count_holes(full, picture, (int)(error * SIDE / 3.6) + 1);
			if (holes > 0)
				fail_msg("view %d, %g pixels: %u holes in %u triangles", view, (double)pixels, holes,
						 corners / 3);
		}
	}
	print_message("72 cuts: %u coarser than the mesh, %u of several details\n", coarser, mixed);
	assert_true(coarser > 40 && mixed > 10);
}

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

static void welded_meshes_show_no_crack(void **state)
{
	(void)state;
	hob_mesh mesh = spiky_ring(false);
	opened_t o = open_mesh(&mesh, false);
	assert_int_equal(o.mesh.lods[0].meshlet_count, 0);
	check_pictures(&o);
	close_mesh(&o);
}

static void seams_show_no_crack(void **state)
{
	(void)state;
	hob_mesh mesh = spiky_ring(true);
	opened_t o = open_mesh(&mesh, true);
	assert_true(o.mesh.lods[0].meshlet_count > 0);
	check_pictures(&o);
	close_mesh(&o);
}

/* Tests the rasteriser: leaving out one cluster gives holes, for over a quarter of the clusters. */
static void a_missing_cluster_is_seen(void **state)
{
	(void)state;
	static uint8_t full[SIDE * SIDE], picture[SIDE * SIDE];
	hob_mesh mesh = spiky_ring(false);
	opened_t o = open_mesh(&mesh, false);
	camera_t c = {{1, 0, 0}, {0, 0, -1}};
	const float eye[3] = {0, 9, 0};
	uint32_t corners = cut(&o, identity, eye, 1), missing = 0;
	draw(&c, o.mesh.mesh.position, o.mesh.indices, o.mesh.lods[0].index_count, full);
	uint32_t count = hob_rt_choose_clusters(&o.clusters, identity, eye, 1000, 1, o.good, o.chosen);
	for (uint32_t i = 0, at = 0; i < count; i++) {
		uint32_t size = o.clusters.meshlets[o.chosen[i]].triangle_count * 3u;
		uint32_t *rest = shape_alloc(&arena, corners, 4);
		memcpy(rest, o.indices, at * sizeof *rest);
		memcpy(rest + at, o.indices + at + size, (corners - at - size) * sizeof *rest);
		at += size;
		draw(&c, o.mesh.mesh.position, rest, corners - size, picture);
		missing += count_holes(full, picture, 2) > 0;
	}
	assert_true(missing > count / 4);
	close_mesh(&o);
}

static void scale_and_place_of_the_node_count(void **state)
{
	(void)state;
	hob_mesh mesh = spiky_ring(false);
	opened_t o = open_mesh(&mesh, false);
	const float moved[16] = {0, 0, -4, 0, 0, 4, 0, 0, 4, 0, 0, 0, 100, 0, 0, 1};
	const float eye[3] = {0, 1, 8}, moved_eye[3] = {100 + 4 * 8, 4, 0};
	uint32_t plain = cut(&o, identity, eye, 10), same = cut(&o, moved, moved_eye, 10);
	assert_int_equal(plain, same);
	assert_true(plain < mesh.index_count);
	const float flat[16] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	assert_int_equal(cut(&o, flat, eye, 10), mesh.index_count);
	assert_true(cut(&o, identity, eye, FLT_MAX) > 0);
	assert_int_equal(cut(&o, identity, eye, 0), mesh.index_count);
	close_mesh(&o);
}

/* Golden digest: the same bytes for every compiler, optimisation level and version of meshoptimizer. */
static void bytes_stay(void **state)
{
	(void)state;
	char text[HOB_SHA256_TEXT + 1];
	hob_mesh mesh = shape_grid(&arena, 64, 0, false, false);
	for (uint32_t v = 0; v < mesh.vertex_count; v++) /* independent of the library's sine */
		mesh.position[3 * (size_t)v + 1] = (float)(v * 7919u % 101u) / 4096;
	opened_t o = open_mesh(&mesh, true);
	hob_sha256 digest = hob_sha256_of(hob_buf_bytes(&file));
	hob_sha256_text(&digest, text);
	assert_string_equal(text, "021b760acc3031bc98e13203055d448ba637b1bce5975344b829a192e8c3a5cf");
	close_mesh(&o);
}

static void cut_files_lose_it_with_the_finest_level(void **state)
{
	(void)state;
	hob_error err = {0};
	hob_mesh mesh = spiky_ring(true);
	opened_t o = open_mesh(&mesh, true);
	hob_buf same = {0}, coarser = {0};
	assert_true(hob_pack_cut(hob_buf_bytes(&file), 0, NULL, &same, &err));
	assert_int_equal(same.size, file.size);
	assert_memory_equal(same.data, file.data, file.size);
	assert_true(hob_pack_cut(hob_buf_bytes(&file), 1, NULL, &coarser, &err));
	assert_true(hob_pack_validate(hob_buf_bytes(&coarser), &err));
	hob_rt_files files = {.meshes = {coarser.data, coarser.size}, .scene = o.files.scene};
	hob_rt_asset *asset = open_good(&files);
	hob_rt_clusters none;
	assert_false(hob_rt_mesh_clusters(asset, 0, &none));
	hob_rt_close(asset);
	hob_buf_release(&same);
	hob_buf_release(&coarser);
	close_mesh(&o);
}

/* Damage that only the validator of clusters can detect. */
static void the_validator_finds_wrong_hierarchies(void **state)
{
	(void)state;
	hob_mesh mesh = spiky_ring(false);
	opened_t o = open_mesh(&mesh, false);
	hob_baked_mesh *m = &o.mesh;
	uint32_t with_source = m->groups[1].cluster_first, last = m->group_count - 1;
	while (m->cluster_sources[with_source] == HOB_NONE)
		with_source++;
	uint32_t source = m->cluster_sources[with_source];
	const struct {
		void *at;
		uint32_t bits;
	} wrong[] = {
		{&m->cluster_sources[with_source], 0},
		{&m->cluster_sources[with_source], m->group_count},
		{&m->cluster_sources[m->cluster_count - 1], last},
		{&m->groups[0].error, 0},
		{&m->groups[source].error, 0x7F000000},
		{&m->groups[source].error, 0x7FC00000},
		{&m->groups[source].sphere[3], 0x42C80000},
		{&m->groups[source].sphere[3], 0xBF800000},
		{&m->groups[last].cluster_count, 0},
		{&m->groups[last].cluster_first, 0},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(wrong); i++) {
		uint32_t kept;
		hob_error err = {0};
		hob_buf bad = {0};
		hob_pack_options pack = {0};
		memcpy(&kept, wrong[i].at, sizeof kept);
		memcpy(wrong[i].at, &wrong[i].bits, sizeof kept);
		assert_true(hob_pack_meshes(m, 1, &pack, &bad, &err));
		memcpy(wrong[i].at, &kept, sizeof kept);
		if (hob_pack_validate(hob_buf_bytes(&bad), &err))
			fail_msg("damage %zu passes", i);
		print_message("%s\n", err.context);
		hob_buf_release(&bad);
	}
	close_mesh(&o);
}

/* A damaged file must be refused by the runtime, or every cut of it must stay in bounds. */
static void damage_is_refused_or_harmless(void **state)
{
	(void)state;
	hob_mesh mesh = shape_grid(&arena, 51, 0.1f, false, false);
	opened_t o = open_mesh(&mesh, false);
	const hob_pk_header *header = (const void *)file.data;
	const uint32_t types[4] = {HOB_PK_CLST, HOB_PK_CLGR, HOB_PK_CLUS, HOB_PK_MLET};
	uint64_t seed = 3;
	uint32_t refused = 0;
	for (uint32_t i = 0; i < 400; i++) {
		uint64_t first = 0, size = 0;
		for (uint32_t s = 0; s < header->section_count; s++) {
			const hob_pk_section *section = (const void *)(file.data + 64 + 64 * (size_t)s);
			if (section->type == types[i % 4])
				first = section->offset, size = section->raw_bytes;
		}
		uint8_t *at = file.data + first + shape_random(&seed) % size, kept = *at;
		*at = (uint8_t)(i % 3 ? shape_random(&seed) : 255);
		hob_rt_asset *asset;
		hob_rt_error error;
		if (hob_rt_open(&o.files, NULL, &asset, &error)) {
			touch_clusters(asset, 0);
			hob_rt_close(asset);
		} else
			refused++;
		*at = kept;
	}
	print_message("%u of 400 refused\n", refused);
	assert_true(refused > 100);
	close_mesh(&o);
}

static void some_meshes_get_none(void **state)
{
	(void)state;
	hob_baked_mesh out;
	hob_mesh small = shape_grid(&arena, 40, 0.1f, false, false),
			 large = shape_grid(&arena, 60, 0.1f, false, false);
	hob_mesh_options options = {.clusters = true};
	out = hob_mesh_bake(&small, &options, &arena, &scratch, NULL);
	assert_int_equal(out.group_count, 0);
	out = hob_mesh_bake(&large, &options, &arena, &scratch, NULL);
	assert_true(out.group_count > 0);
	options.keep_order = true;
	out = hob_mesh_bake(&large, &options, &arena, &scratch, NULL);
	assert_int_equal(out.group_count, 0);
	options = (hob_mesh_options){.clusters = true, .preview = true};
	out = hob_mesh_bake(&large, &options, &arena, &scratch, NULL);
	assert_int_equal(out.group_count, 0);
	options = (hob_mesh_options){0};
	out = hob_mesh_bake(&large, &options, &arena, &scratch, NULL);
	assert_int_equal(out.group_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(welded_meshes_show_no_crack, begin, end),
		cmocka_unit_test_setup_teardown(seams_show_no_crack, begin, end),
		cmocka_unit_test_setup_teardown(a_missing_cluster_is_seen, begin, end),
		cmocka_unit_test_setup_teardown(scale_and_place_of_the_node_count, begin, end),
		cmocka_unit_test_setup_teardown(bytes_stay, begin, end),
		cmocka_unit_test_setup_teardown(cut_files_lose_it_with_the_finest_level, begin, end),
		cmocka_unit_test_setup_teardown(the_validator_finds_wrong_hierarchies, begin, end),
		cmocka_unit_test_setup_teardown(damage_is_refused_or_harmless, begin, end),
		cmocka_unit_test_setup_teardown(some_meshes_get_none, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
