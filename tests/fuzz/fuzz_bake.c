/* One mesh through all of core/mesh: welding, normals, tangents, levels, meshlets, streams. The output
 * satisfies core/model/baked.h.
 *
 * An input is a header of eight bytes (options, attributes, copies side by side, vertices, which allocation
 * fails, ranges), then positions of small whole numbers or floats, then the corners of triangles; all other
 * attributes are made from the same bytes.
 *
 * Links: hob_mesh
 * Run:   fuzz_bake tests/fuzz/corpus/bake */
#include "core/base/limits.h"
#include "core/mesh/bake.h"

#include <assert.h>
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 8, MOST_TRIANGLES = 1 << 14, ROOM = 1 << 30 };

typedef struct input {
	const uint8_t *bytes;
	size_t size, at;
} input_t;

static uint8_t take(input_t *in)
{
	return in->at < in->size ? in->bytes[in->at++] : 0;
}

static float take_float(input_t *in, bool whole)
{
	if (whole)
		return (float)(int8_t)take(in) / 8;
	uint8_t raw[4];
	for (int i = 0; i < 4; i++)
		raw[i] = take(in);
	float value = hob_load_f32(raw);
	return fabsf(value) <= (float)HOB_LIMIT_REACH ? value : 0;
}

/* [count][width] values made of the input's bytes, from its beginning. */
static float *attribute(const input_t *in, hob_arena *arena, uint32_t count, uint32_t width, float scale)
{
	float *out = HOB_NEW(arena, float, (size_t)count *width);
	assert(out);
	for (size_t i = 0; i < (size_t)count * width; i++)
		out[i] = scale * (float)(int8_t)in->bytes[(i * 7 + width) % in->size];
	return out;
}

static float *unit_vectors(const input_t *in, hob_arena *arena, uint32_t count, uint32_t width)
{
	float *out = attribute(in, arena, count, width, 1);
	for (size_t v = 0; v < count; v++) {
		float *at = out + v * width;
		float length = sqrtf(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);
		for (int k = 0; k < 3; k++)
			at[k] = length > 0 ? at[k] / length : (float)(k == 2);
		if (width == 4)
			at[3] = at[3] < 0 ? -1 : 1;
	}
	return out;
}

static void add_attributes(hob_mesh *m, uint8_t has, const input_t *in, hob_arena *arena)
{
	if (has & 1)
		m->normal = unit_vectors(in, arena, m->vertex_count, 3);
	if (has & 2)
		m->tangent = unit_vectors(in, arena, m->vertex_count, 4);
	for (int s = 0; s < 1 + (has >> 7) && (has & 4); s++)
		m->uv[s] = attribute(in, arena, m->vertex_count, 2, 0.01f);
	if (has & 8)
		m->color[0] = attribute(in, arena, m->vertex_count, 4, 0.01f);
	if (has & 16) {
		m->influence_count = 4;
		m->weights = attribute(in, arena, m->vertex_count, 4, 0.01f);
		m->joints = HOB_NEW(arena, uint16_t, 4 * (size_t)m->vertex_count);
		assert(m->joints);
		for (size_t i = 0; i < 4 * (size_t)m->vertex_count; i++)
			m->joints[i] = (uint16_t)(in->bytes[i % in->size] * 2), m->weights[i] = fabsf(m->weights[i]);
	}
	if (has & 32) {
		m->target_count = 1;
		m->targets = HOB_NEW(arena, hob_morph_target, 1);
		assert(m->targets);
		m->targets[0].position = attribute(in, arena, m->vertex_count, 3, 0.1f);
		m->targets[0].normal = has & 64 ? attribute(in, arena, m->vertex_count, 3, 0.1f) : NULL;
	}
}

static void read_mesh(input_t *in, hob_arena *arena, hob_mesh *m)
{
	uint8_t form = take(in), has = take(in);
	uint32_t copies = 1 + take(in) % 64, vertices = 1 + take(in), corners;
	bool whole = form & 1;
	in->at = HEADER;
	m->topology = form & 2 && form & 4 && form & 8 ? HOB_LINES : HOB_TRIANGLES;
	uint32_t each = m->topology == HOB_LINES ? 2 : 3;
	m->flat = form & 16;
	m->vertex_count = vertices * copies;
	m->position = HOB_NEW(arena, float, 3 * (size_t)m->vertex_count);
	assert(m->position);
	for (size_t i = 0; i < 3 * (size_t)vertices; i++)
		m->position[i] = take_float(in, whole);
	corners = (uint32_t)((in->size - in->at) / each * each);
	while (copies > 1 && corners * copies > 3 * MOST_TRIANGLES)
		copies--;
	m->index_count = corners * copies;
	m->indices = HOB_NEW(arena, uint32_t, (size_t)m->index_count + 1);
	assert(m->indices);
	for (uint32_t i = 0; i < corners; i++)
		m->indices[i] = take(in) % vertices;
	for (uint32_t c = 1; c < copies; c++) {
		for (size_t i = 0; i < 3 * (size_t)vertices; i++)
			m->position[(size_t)c * 3 * vertices + i] =
				m->position[i] + (i % 3 == 0 && whole ? (float)c * 4 : 0);
		for (uint32_t i = 0; i < corners; i++)
			m->indices[c * corners + i] = m->indices[i] + c * vertices;
	}
	add_attributes(m, has, in, arena);
}

static void check(const hob_baked_mesh *b, uint32_t corners)
{
	assert(b->lod_count >= 1 && b->lod_count <= HOB_MAX_LODS);
	for (uint32_t l = 0; l < b->lod_count; l++) {
		const hob_baked_lod *lod = &b->lods[l];
		assert(lod->index_first + lod->index_count <= b->index_count && lod->index_count <= corners);
		assert(lod->vertex_prefix <= b->mesh.vertex_count && lod->error >= 0 && isfinite(lod->error));
		assert(l == 0 ? lod->error == 0
					  : lod->error >= lod[-1].error && lod->index_count < lod[-1].index_count);
		for (uint32_t i = 0; i < lod->index_count; i++)
			assert(b->indices[lod->index_first + i] < lod->vertex_prefix);
	}
	for (uint32_t i = 0; i < b->meshlet_count; i++) {
		const hob_baked_meshlet *m = &b->meshlets[i];
		assert(m->vertex_offset + m->vertex_count <= b->meshlet_vertex_count);
		assert(m->triangle_offset + 3u * m->triangle_count <= b->meshlet_triangle_bytes);
		for (uint32_t k = 0; k < m->vertex_count; k++)
			assert(b->meshlet_vertices[m->vertex_offset + k] < b->mesh.vertex_count);
		for (uint32_t k = 0; k < 3u * m->triangle_count; k++)
			assert(b->meshlet_triangles[m->triangle_offset + k] < m->vertex_count);
	}
	for (uint32_t a = 0; a < b->attribute_count; a++)
		assert(b->attributes[a].stream < b->stream_count &&
			   b->attributes[a].offset < b->streams[b->attributes[a].stream].stride);
}

typedef struct attempt {
	const hob_mesh *mesh;
	const hob_mesh_options *options;
	hob_arena *result, *scratch;
	hob_baked_mesh baked;
} attempt_t;

static bool bake(void *context, hob_error *err)
{
	(void)err;
	attempt_t *a = context;
	a->baked = hob_mesh_bake(a->mesh, a->options, a->result, a->scratch, NULL);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size <= HEADER)
		return 0;
	hob_arena source, result, scratch;
	hob_arena_init(&source, ROOM);
	hob_arena_init(&result, ROOM);
	hob_arena_init(&scratch, ROOM);
	scratch.fail_at = data[6]; /* 0: never */
	input_t in = {data, size, 0};
	hob_mesh mesh = {0};
	uint8_t form = data[0], how = data[4], more = data[5];
	read_mesh(&in, &source, &mesh);
	hob_mesh_options options = {.preview = how & 1,
								.lod_max = how >> 1 & 7,
								.lod_error = how & 16 ? 0.05f : 1,
								.lod_lock_border = how & 32,
								.encoded = how & 64,
								.vertices = how & 128		? HOB_VERTICES_SMALL
											: data[7] & 128 ? HOB_VERTICES_FINE
															: HOB_VERTICES_EXACT,
								.ranges = {data[7], {(float)data[7] / 64, 1}},
								.meshlets = more & 1,
								.clusters = more & 2,
								.bake_flat_normals = more & 4,
								.smooth_by_angle = more & 8,
								.smooth_angle = (float)(more >> 4) * 12,
								.influences = form & 32 ? 8 : 4,
								.keep_order = form & 64,
								.need_tangents = form & 128};
	attempt_t a = {.mesh = &mesh, .options = &options, .result = &result, .scratch = &scratch};
	hob_error err = {0};
	if (hob_guarded(bake, &a, &err))
		check(&a.baked, mesh.index_count);
	else
		assert(err.context[0]);
	hob_arena_release(&source);
	hob_arena_release(&result);
	hob_arena_release(&scratch);
	return 0;
}
