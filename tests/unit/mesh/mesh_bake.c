#include "../shapes.h"
#include "core/mesh/bake.h"
#include "core/mesh/quantize.h"

#include <stdlib.h>

typedef struct fixture {
	hob_arena input, result, scratch;
	hob_notes notes;
} fixture_t;

static int begin(void **state)
{
	fixture_t *f = calloc(1, sizeof *f);
	hob_arena_init(&f->input, (size_t)1 << 30);
	hob_arena_init(&f->result, (size_t)1 << 30);
	hob_arena_init(&f->scratch, (size_t)1 << 30);
	f->notes.arena = &f->input;
	*state = f;
	return 0;
}

static int end(void **state)
{
	fixture_t *f = *state;
	hob_arena_release(&f->input);
	hob_arena_release(&f->result);
	hob_arena_release(&f->scratch);
	free(f);
	return 0;
}

static const hob_mesh_options everything = {.lod_max = 7, .lod_error = 0.1f, .meshlets = true};

static hob_baked_mesh bake(fixture_t *f, const hob_mesh *mesh, hob_mesh_options options)
{
	size_t before = f->scratch.used;
	hob_baked_mesh out = hob_mesh_bake(mesh, &options, &f->result, &f->scratch, &f->notes);
	assert_int_equal(f->scratch.used, before);
	return out;
}

static bool noted(const fixture_t *f, const char *code)
{
	for (uint32_t i = 0; i < f->notes.count; i++)
		if (hob_str_equal(f->notes.items[i].code, hob_str_of(code)))
			return true;
	return false;
}

/* Invariants of every baked mesh. */
static void check_invariants(const hob_baked_mesh *b)
{
	const hob_mesh *m = &b->mesh;
	assert_in_range(b->lod_count, 1, HOB_MAX_LODS);
	assert_int_equal(b->lods[0].index_count, m->index_count);
	assert_int_equal(b->lods[0].vertex_prefix, m->vertex_count);
	assert_true(b->lods[0].error == 0);
	uint32_t at = 0;
	for (uint32_t l = 0; l < b->lod_count; l++) {
		const hob_baked_lod *lod = &b->lods[l];
		assert_int_equal(lod->index_first, at);
		at += lod->index_count;
		for (uint32_t i = 0; i < lod->index_count; i++)
			assert_in_range(b->indices[lod->index_first + i], 0, lod->vertex_prefix - 1);
		if (l > 0) {
			assert_true(lod->error >= b->lods[l - 1].error && isfinite(lod->error));
			assert_true(lod->vertex_prefix <= b->lods[l - 1].vertex_prefix);
			assert_true(lod->index_count * 100ull <= b->lods[l - 1].index_count * 85ull);
		}
	}
	assert_int_equal(b->index_count, at);
	for (size_t v = 0; v < m->vertex_count; v++) {
		double r2 = 0;
		for (size_t k = 0; k < 3; k++) {
			float p = m->position[3 * v + k];
			assert_true(p >= b->aabb_min[k] && p <= b->aabb_max[k]);
			r2 += ((double)p - (double)b->sphere[k]) * ((double)p - (double)b->sphere[k]);
		}
		assert_true(sqrt(r2) <= (double)b->sphere[3]);
	}
	for (size_t i = 0; m->normal && i < 3 * (size_t)m->vertex_count; i++)
		assert_true(isfinite(m->normal[i]));
	assert_in_range(b->stream_count, 1, HOB_MAX_STREAMS);
	for (uint32_t s = 0; s < b->stream_count; s++) {
		assert_int_equal(b->streams[s].stride % 4, 0);
		assert_in_range(b->streams[s].stride, 4, 256);
	}
}

static hob_mesh empty_mesh(void)
{
	return (hob_mesh){.name = HOB_STR("nothing"), .material = HOB_NONE};
}

static void empty_mesh_bakes_to_zeros(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = empty_mesh();
	hob_baked_mesh b = bake(f, &mesh, everything);
	check_invariants(&b);
	assert_int_equal(b.mesh.vertex_count, 0);
	assert_int_equal(b.index_count, 0);
	for (int k = 0; k < 3; k++)
		assert_true(b.aabb_min[k] == 0 && b.aabb_max[k] == 0 && b.sphere[k] == 0);
}

static void mesh_without_triangles_keeps_its_box(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_grid(&f->input, 3, 0.1f, true, true);
	mesh.index_count = 0;
	hob_baked_mesh b = bake(f, &mesh, everything);
	check_invariants(&b);
	assert_true(b.aabb_max[0] == 1 && b.aabb_max[2] == 1);
	assert_int_equal(b.mesh.vertex_count, 16);
}

static void one_triangle_stays_one_triangle(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_mesh(&f->input, 3, 3);
	mesh.position[3] = mesh.position[8] = 1;
	for (uint32_t i = 0; i < 3; i++)
		mesh.indices[i] = i;
	hob_baked_mesh b = bake(f, &mesh, everything);
	check_invariants(&b);
	assert_int_equal(b.lod_count, 1);
	assert_int_equal(b.index_count, 3);
	assert_true(b.flags & HOB_MESH_GENERATED_NORMALS);
	assert_true(b.mesh.normal[1] == -1);
	assert_int_equal(b.meshlet_count, 1);
}

static void equal_positions_everywhere_are_survived(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_grid(&f->input, 20, 0, false, true);
	memset(mesh.position, 0, mesh.vertex_count * 12);
	hob_mesh_options options = everything;
	options.need_tangents = true;
	for (int q = 0; q < 2; q++) {
		options.vertices = (hob_vertices)q;
		hob_baked_mesh b = bake(f, &mesh, options);
		check_invariants(&b);
		assert_int_equal(b.lod_count, 1);
	}
	memset(mesh.uv[0], 0, mesh.vertex_count * 8);
	hob_baked_mesh b = bake(f, &mesh, options);
	assert_int_equal(b.index_count, 0);
	assert_true(noted(f, "mesh.degenerate-triangles"));
}

static void full_bake_keeps_the_surface(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_ball(&f->input, 64, 48);
	hob_baked_mesh b = bake(f, &mesh, everything);
	check_invariants(&b);
	/* At each pole, every second triangle is degenerate. */
	assert_int_equal(b.mesh.index_count, 6 * 64 * 47);
	assert_true(b.lod_count >= 4);
	assert_in_range(b.lods[b.lod_count - 1].index_count / 3, 1, 300);
	double volume = 0;
	for (uint32_t i = 0; i < b.mesh.index_count; i += 3) {
		const float *p[3];
		for (uint32_t k = 0; k < 3; k++)
			p[k] = b.mesh.position + 3 * (size_t)b.indices[i + k];
		volume += (double)(p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) +
						   p[0][1] * (p[1][2] * p[2][0] - p[1][0] * p[2][2]) +
						   p[0][2] * (p[1][0] * p[2][1] - p[1][1] * p[2][0])) /
				  6;
	}
	assert_true(fabs(volume - 4.18) < 0.05);
}

static void levels_stay_within_their_error(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_ball(&f->input, 64, 48);
	hob_baked_mesh b = bake(f, &mesh, everything);
	for (uint32_t l = 1; l < b.lod_count; l++) {
		double worst = 0;
		for (uint32_t i = 0; i < b.lods[l].index_count; i += 3) {
			double middle[3] = {0, 0, 0}, r2 = 0;
			for (uint32_t k = 0; k < 3; k++)
				for (uint32_t c = 0; c < 3; c++)
					middle[c] +=
						(double)b.mesh.position[3 * (size_t)b.indices[b.lods[l].index_first + i + k] + c] / 3;
			for (int c = 0; c < 3; c++)
				r2 += middle[c] * middle[c];
			worst = fmax(worst, 1 - sqrt(r2));
		}
		/* The full ball deviates from the sphere by that much. */
		assert_true(worst <= (double)b.lods[l].error + 0.003);
	}
}

static void leaves_keep_all_their_squares(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_leaves(&f->input, 2000);
	hob_baked_mesh b = bake(f, &mesh, everything);
	check_invariants(&b);
	assert_int_equal(b.lod_count, 1);
	assert_true(noted(f, "mesh.lods-pieces"));
}

static void coarser_levels_need_fewer_vertices(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_grid(&f->input, 80, 0.1f, true, true);
	hob_baked_mesh b = bake(f, &mesh, everything);
	check_invariants(&b);
	assert_true(b.lod_count >= 3);
	for (uint32_t l = 1; l < b.lod_count; l++)
		assert_true(b.lods[l].vertex_prefix * 10ull <= b.lods[l - 1].vertex_prefix * 8ull);
}

static void preview_has_one_level_and_all_triangles(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_ball(&f->input, 32, 24);
	hob_mesh_options options = everything;
	options.preview = true;
	hob_baked_mesh b = bake(f, &mesh, options);
	check_invariants(&b);
	assert_int_equal(b.lod_count, 1);
	assert_int_equal(b.mesh.index_count, 6 * 32 * 23);
	assert_true(b.meshlet_count > 0);
}

/* Ordering takes a fifth of a preview's time. */
static void preview_keeps_the_order_unless_it_is_encoded(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_grid(&f->input, 40, 0.1f, false, false);
	for (int encoded = 0; encoded < 2; encoded++) {
		const hob_mesh_options options = {.preview = true, .encoded = encoded};
		hob_baked_mesh b = bake(f, &mesh, options);
		bool same = true;
		assert_int_equal(b.index_count, mesh.index_count);
		for (uint32_t i = 0; i < mesh.index_count; i++)
			same = same && memcmp(b.mesh.position + 3 * (size_t)b.indices[i],
								  mesh.position + 3 * (size_t)mesh.indices[i], 12) == 0;
		assert_int_equal(same, !encoded);
	}
}

static void meshlets_hold_every_triangle_once(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_grid(&f->input, 40, 0.1f, true, true);
	for (int preview = 0; preview < 2; preview++) {
		hob_mesh_options options = everything;
		options.preview = preview;
		hob_baked_mesh b = bake(f, &mesh, options);
		for (uint32_t l = 0; l < b.lod_count; l++) {
			uint64_t expected = 0, found = 0;
			const hob_baked_lod *lod = &b.lods[l];
			for (uint32_t i = 0; i < lod->index_count; i += 3) {
				const uint32_t *c = b.indices + lod->index_first + i;
				uint64_t key = ((uint64_t)c[0] * 7919 + c[1]) * 7919 + c[2];
				uint64_t turned = ((uint64_t)c[1] * 7919 + c[2]) * 7919 + c[0];
				uint64_t again = ((uint64_t)c[2] * 7919 + c[0]) * 7919 + c[1];
				expected += key + turned + again;
			}
			for (uint32_t m = lod->meshlet_first; m < lod->meshlet_first + lod->meshlet_count; m++) {
				const hob_baked_meshlet *meshlet = &b.meshlets[m];
				assert_in_range(meshlet->vertex_count, 3, 64);
				assert_in_range(meshlet->triangle_count, 1, 124);
				assert_int_equal(meshlet->triangle_offset % 4, 0);
				for (uint32_t t = 0; t < meshlet->triangle_count; t++) {
					uint32_t c[3];
					for (uint32_t k = 0; k < 3; k++) {
						uint8_t local = b.meshlet_triangles[meshlet->triangle_offset + 3 * t + k];
						assert_in_range(local, 0, meshlet->vertex_count - 1);
						c[k] = b.meshlet_vertices[meshlet->vertex_offset + local];
						assert_in_range(c[k], 0, lod->vertex_prefix - 1);
						double r2 = 0;
						for (uint32_t i = 0; i < 3; i++) {
							double d = (double)b.mesh.position[3 * c[k] + i] - (double)meshlet->center[i];
							r2 += d * d;
						}
						assert_true(sqrt(r2) <= (double)meshlet->radius * 1.0001 + 1e-6);
					}
					found += ((uint64_t)c[0] * 7919 + c[1]) * 7919 + c[2];
					found += ((uint64_t)c[1] * 7919 + c[2]) * 7919 + c[0];
					found += ((uint64_t)c[2] * 7919 + c[0]) * 7919 + c[1];
				}
			}
			assert_true(expected == found);
		}
		assert_true(b.lods[0].index_count / 3 >= 80 * b.lods[0].meshlet_count);
	}
}

static void points_and_lines_pass_through(void **state)
{
	fixture_t *f = *state;
	for (int topology = HOB_LINES; topology <= HOB_POINTS; topology++) {
		hob_mesh mesh = shape_grid(&f->input, 9, 0.1f, false, false);
		mesh.topology = (hob_topology)topology;
		mesh.index_count = 480;
		hob_baked_mesh b = bake(f, &mesh, everything);
		check_invariants(&b);
		assert_int_equal(b.lod_count, 1);
		assert_int_equal(b.index_count, 480);
		assert_null(b.mesh.normal);
		assert_int_equal(b.meshlet_count, 0);
		for (uint32_t i = 0; i < 480; i++)
			assert_memory_equal(b.mesh.position + 3 * b.indices[i], mesh.position + 3 * mesh.indices[i], 12);
	}
}

static void every_attribute_follows_its_vertex(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_grid(&f->input, 24, 0.1f, true, true);
	uint32_t n = mesh.vertex_count;
	/* Each array has the vertex's own number in its first float, which reveals any mix-up. */
	mesh.tangent = shape_alloc(&f->input, n, 16);
	mesh.uv[1] = shape_alloc(&f->input, n, 8);
	mesh.color[0] = shape_alloc(&f->input, n, 16);
	mesh.target_count = 2;
	mesh.targets = shape_alloc(&f->input, 2, sizeof *mesh.targets);
	mesh.targets[0].position = shape_alloc(&f->input, n, 12);
	mesh.targets[1].normal = shape_alloc(&f->input, n, 12);
	mesh.influence_count = 4;
	mesh.joints = shape_alloc(&f->input, n, 8);
	mesh.weights = shape_alloc(&f->input, n, 16);
	for (uint32_t v = 0; v < n; v++) {
		mesh.tangent[4 * v] = mesh.tangent[4 * v + 3] = 1;
		mesh.uv[1][2 * v] = mesh.color[0][4 * v] = (float)v;
		mesh.targets[0].position[3 * v] = mesh.targets[1].normal[3 * v] = (float)v;
		mesh.joints[4 * v] = (uint16_t)v;
		mesh.weights[4 * v] = 1;
	}
	hob_baked_mesh b = bake(f, &mesh, everything);
	check_invariants(&b);
	assert_int_equal(b.mesh.vertex_count, n);
	for (uint32_t v = 0; v < n; v++) {
		uint32_t old = (uint32_t)b.mesh.uv[1][2 * v];
		assert_memory_equal(b.mesh.position + 3 * v, mesh.position + 3 * old, 12);
		assert_memory_equal(b.mesh.uv[0] + 2 * v, mesh.uv[0] + 2 * old, 8);
		assert_true(b.mesh.color[0][4 * v] == (float)old);
		assert_true(b.mesh.targets[0].position[3 * v] == (float)old);
		assert_true(b.mesh.targets[1].normal[3 * v] == (float)old);
		assert_int_equal(b.mesh.joints[4 * v], old);
		assert_true(b.mesh.weights[4 * v] == 1);
	}
	assert_true(b.flags & HOB_MESH_SKINNED && b.flags & HOB_MESH_MORPHED && b.flags & HOB_MESH_HAS_TANGENTS);
}

static void same_input_gives_same_bytes(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_ball(&f->input, 48, 32);
	hob_mesh_options options = everything;
	options.need_tangents = true;
	hob_baked_mesh a = bake(f, &mesh, options), b = bake(f, &mesh, options);
	assert_int_equal(a.index_count, b.index_count);
	assert_memory_equal(a.indices, b.indices, a.index_count * 4);
	for (uint32_t s = 0; s < a.stream_count; s++)
		assert_memory_equal(a.streams[s].data, b.streams[s].data, a.streams[s].stride * a.mesh.vertex_count);
	assert_memory_equal(a.meshlets, b.meshlets, a.meshlet_count * sizeof *a.meshlets);
}

static void streams_hold_what_vertices_held(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_ball(&f->input, 16, 12);
	hob_mesh_options options = everything;
	hob_baked_mesh whole = bake(f, &mesh, options);
	options.only_streams = true;
	hob_baked_mesh b = bake(f, &mesh, options);
	assert_true(whole.mesh.position && whole.mesh.normal && whole.mesh.uv[0]);
	assert_true(!b.mesh.position && !b.mesh.normal && !b.mesh.tangent && !b.mesh.uv[0] && !b.mesh.color[0]);
	assert_int_equal(b.mesh.vertex_count, whole.mesh.vertex_count);
	assert_int_equal(b.stream_count, whole.stream_count);
	for (uint32_t s = 0; s < b.stream_count; s++)
		assert_memory_equal(b.streams[s].data, whole.streams[s].data,
							(size_t)b.mesh.vertex_count * b.streams[s].stride);
	mesh.influence_count = 4;
	mesh.joints = shape_alloc(&f->input, mesh.vertex_count, 8);
	mesh.weights = shape_alloc(&f->input, mesh.vertex_count, 16);
	b = bake(f, &mesh, options);
	assert_true(b.mesh.position && b.mesh.joints && b.mesh.weights);
}

/* Arrays larger than HOB_ARENA_BLOCK are freed before the bake ends. */
static void large_meshes_keep_what_streams_hold(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_grid(&f->input, 900, 0.1f, false, true);
	hob_mesh_options options = {.lod_max = 1};
	hob_baked_mesh whole = bake(f, &mesh, options);
	options.only_streams = true;
	hob_baked_mesh b = bake(f, &mesh, options);
	assert_true(b.mesh.vertex_count == 901 * 901 && b.stream_count == whole.stream_count);
	for (uint32_t s = 0; s < b.stream_count; s++)
		assert_memory_equal(b.streams[s].data, whole.streams[s].data,
							(size_t)b.mesh.vertex_count * b.streams[s].stride);
	assert_memory_equal(b.indices, whole.indices, b.index_count * sizeof *b.indices);
}

static void triangles_keep_their_order_when_asked(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_grid(&f->input, 24, 0.1f, true, true);
	hob_mesh_options options = everything;
	options.vertices = HOB_VERTICES_EXACT;
	uint32_t moved[2] = {0, 0};
	for (int keep = 0; keep < 2; keep++) {
		options.keep_order = keep;
		hob_baked_mesh b = bake(f, &mesh, options);
		const hob_baked_lod *full = &b.lods[0];
		assert_int_equal(full->index_count, mesh.index_count);
		for (uint32_t i = 0; i < mesh.index_count; i++)
			moved[keep] += memcmp(b.mesh.position + 3 * b.indices[full->index_first + i],
								  mesh.position + 3 * mesh.indices[i], 12) != 0;
	}
	assert_true(moved[0] > 0);
	assert_int_equal(moved[1], 0);
}

/* u grows along +X and v along +Z; see KHR_texture_transform: uv' = R S uv. */
static void tangents_follow_the_coordinates_of_the_normal_map(void **state)
{
	fixture_t *f = *state;
	static const struct {
		float mapping[4];
		uint32_t uv_set;
		float tangent[4];
	} cases[] = {
		{{0}, 0, {1, 0, 0, 1}},
		{{0, 1, -1, 0}, 0, {0, 0, 1, 1}},
		{{-1, 0, 0, -1}, 0, {-1, 0, 0, 1}},
		{{-2, 0, 0, 3}, 0, {-1, 0, 0, -1}},
		{{0}, 1, {0, 0, 1, -1}},
		{{0}, 5, {1, 0, 0, 1}},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_mesh mesh = shape_grid(&f->input, 5, 0, true, true);
		mesh.uv[1] = shape_alloc(&f->input, mesh.vertex_count, 8);
		for (size_t v = 0; v < mesh.vertex_count; v++) {
			mesh.uv[1][2 * v] = mesh.uv[0][2 * v + 1];
			mesh.uv[1][2 * v + 1] = mesh.uv[0][2 * v];
		}
		hob_mesh_options options = {.need_tangents = true, .tangent_uv_set = cases[i].uv_set};
		memcpy(options.tangent_mapping, cases[i].mapping, sizeof cases[i].mapping);
		hob_baked_mesh b = bake(f, &mesh, options);
		for (uint32_t k = 0; k < 4; k++)
			assert_true(fabsf(b.mesh.tangent[k] - cases[i].tangent[k]) < 1e-5f);
	}
}

static void source_is_not_modified(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_ball(&f->input, 24, 16), copy = shape_ball(&f->input, 24, 16);
	hob_mesh_options options = everything;
	options.need_tangents = true, options.vertices = HOB_VERTICES_FINE;
	bake(f, &mesh, options);
	assert_memory_equal(mesh.indices, copy.indices, mesh.index_count * 4);
	assert_memory_equal(mesh.position, copy.position, mesh.vertex_count * 12);
	assert_memory_equal(mesh.normal, copy.normal, mesh.vertex_count * 12);
}

typedef struct attempt {
	fixture_t *f;
	const hob_mesh *mesh;
	hob_baked_mesh out;
} attempt_t;

static bool bake_all(void *context, hob_error *err)
{
	(void)err;
	attempt_t *a = context;
	hob_mesh_options options = everything;
	options.need_tangents = true;
	a->out = hob_mesh_bake(a->mesh, &options, &a->f->result, &a->f->scratch, NULL);
	return true;
}

static void every_failed_allocation_is_an_error(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_ball(&f->input, 16, 12);
	mesh.normal = NULL;
	for (int which = 0; which < 2; which++)
		for (uint32_t n = 1;; n++) {
			hob_arena *arena = which ? &f->result : &f->scratch;
			attempt_t a = {.f = f, .mesh = &mesh};
			hob_error err = {0};
			arena->fail_at = n;
			bool ok = hob_guarded(bake_all, &a, &err);
			bool fired = arena->fail_at == 0;
			arena->fail_at = 0;
			if (ok && !fired)
				break;
			assert_false(ok);
			assert_int_equal(err.code, HOB_ERR_MEMORY);
			assert_true(n < 500);
		}
}

static void bad_normals_are_replaced(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_grid(&f->input, 8, 0, true, false);
	mesh.normal[1] = 0;
	mesh.normal[4] = NAN;
	hob_baked_mesh b = bake(f, &mesh, everything);
	check_invariants(&b);
	for (uint32_t v = 0; v < b.mesh.vertex_count; v++)
		assert_true(b.mesh.normal[3 * v + 1] > 0.999f);
	assert_true(noted(f, "mesh.bad-normals"));
}

static void smooth_normals_of_a_ball_point_outwards(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_ball(&f->input, 48, 32);
	mesh.normal = NULL;
	hob_baked_mesh b = bake(f, &mesh, (hob_mesh_options){0});
	for (size_t v = 0; v < b.mesh.vertex_count; v++) {
		const float *n = b.mesh.normal + 3 * v, *p = b.mesh.position + 3 * v;
		assert_true(n[0] * p[0] + n[1] * p[1] + n[2] * p[2] > 0.995f);
	}
}

/* A cube of eight corners, as in a file without normals. */
static hob_mesh cube(fixture_t *f)
{
	static const uint32_t sides[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
										 {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
	hob_mesh mesh = shape_mesh(&f->input, 8, 36);
	for (uint32_t v = 0; v < 24; v++)
		mesh.position[v] = (float)(v / 3 >> v % 3 & 1);
	for (uint32_t s = 0; s < 6; s++) {
		const uint32_t corners[6] = {sides[s][0], sides[s][1], sides[s][2],
									 sides[s][0], sides[s][2], sides[s][3]};
		memcpy(mesh.indices + 6 * (size_t)s, corners, sizeof corners);
	}
	mesh.flat = true;
	return mesh;
}

static void flat_meshes_stay_welded(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = cube(f);
	hob_baked_mesh b = bake(f, &mesh, everything);
	check_invariants(&b);
	assert_int_equal(b.mesh.vertex_count, 8);
	assert_true(b.flags & HOB_MESH_FLAT && !(b.flags & HOB_MESH_GENERATED_NORMALS) && !b.mesh.normal);
	assert_int_equal(b.stream_count, 1);
	hob_mesh_options keep = everything;
	keep.bake_flat_normals = true;
	b = bake(f, &mesh, keep);
	assert_int_equal(b.mesh.vertex_count, 24);
	assert_true(!(b.flags & HOB_MESH_FLAT) && b.flags & HOB_MESH_GENERATED_NORMALS);
	/* A target that changes normals needs a base normal. */
	hob_morph_target target = {.normal = shape_alloc(&f->input, 8, 12)};
	mesh.targets = &target, mesh.target_count = 1;
	b = bake(f, &mesh, everything);
	assert_true(!(b.flags & HOB_MESH_FLAT) && b.mesh.normal);
}

static void flat_meshes_have_levels_of_their_surface(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_grid(&f->input, 40, 0.1f, false, false);
	mesh.flat = true;
	hob_baked_mesh b = bake(f, &mesh, everything);
	check_invariants(&b);
	assert_true(b.flags & HOB_MESH_FLAT);
	assert_int_equal(b.mesh.vertex_count, 41 * 41);
	assert_true(b.lod_count >= 5);
}

static void edges_sharper_than_the_angle_stay_hard(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = cube(f);
	hob_mesh_options options = everything;
	options.smooth_by_angle = true;
	options.smooth_angle = 60;
	hob_baked_mesh b = bake(f, &mesh, options);
	assert_int_equal(b.mesh.vertex_count, 24);
	for (uint32_t v = 0; v < 24; v++) {
		const float *n = b.mesh.normal + 3 * (size_t)v;
		assert_true(fabsf(fabsf(n[0]) + fabsf(n[1]) + fabsf(n[2]) - 1) < 1e-6f);
	}
	options.smooth_angle = 120;
	b = bake(f, &mesh, options);
	assert_int_equal(b.mesh.vertex_count, 8);
	for (uint32_t v = 0; v < 24; v++)
		assert_true(fabsf(fabsf(b.mesh.normal[v]) - 0.57735f) < 1e-3f);
}

static void huge_coordinates_stay_finite(void **state)
{
	fixture_t *f = *state;
	hob_mesh mesh = shape_ball(&f->input, 12, 8);
	for (size_t i = 0; i < 3 * (size_t)mesh.vertex_count; i++)
		mesh.position[i] *= 3.0e38f;
	hob_mesh_options options = everything;
	options.meshlets = false; /* no model is larger than the limit REACH, which normal cones rely on */
	options.vertices = HOB_VERTICES_SMALL;
	hob_baked_mesh b = bake(f, &mesh, options);
	assert_true(isfinite(b.sphere[3]) && isfinite(b.pos_scale));
	assert_false(b.flags & HOB_MESH_QUANTIZED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(empty_mesh_bakes_to_zeros),
		TEST(mesh_without_triangles_keeps_its_box),
		TEST(one_triangle_stays_one_triangle),
		TEST(equal_positions_everywhere_are_survived),
		TEST(full_bake_keeps_the_surface),
		TEST(levels_stay_within_their_error),
		TEST(leaves_keep_all_their_squares),
		TEST(coarser_levels_need_fewer_vertices),
		TEST(preview_has_one_level_and_all_triangles),
		TEST(preview_keeps_the_order_unless_it_is_encoded),
		TEST(meshlets_hold_every_triangle_once),
		TEST(points_and_lines_pass_through),
		TEST(every_attribute_follows_its_vertex),
		TEST(same_input_gives_same_bytes),
		TEST(streams_hold_what_vertices_held),
		TEST(large_meshes_keep_what_streams_hold),
		TEST(triangles_keep_their_order_when_asked),
		TEST(tangents_follow_the_coordinates_of_the_normal_map),
		TEST(source_is_not_modified),
		TEST(every_failed_allocation_is_an_error),
		TEST(bad_normals_are_replaced),
		TEST(smooth_normals_of_a_ball_point_outwards),
		TEST(flat_meshes_stay_welded),
		TEST(flat_meshes_have_levels_of_their_surface),
		TEST(edges_sharper_than_the_angle_stay_hard),
		TEST(huge_coordinates_stay_finite),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
