#include "streams.h"
#include "../base/arena_drop.h"
#include "influences.h"
#include "mesh_bounds.h"
#include "quantize.h"

#include <assert.h>
#include <float.h>
#include <math.h>

/* VkFormat numbers. */
enum {
	R8G8B8A8_UNORM = 37,
	R8G8B8A8_UINT = 41,
	R16G16_UNORM = 77,
	R16G16_SNORM = 78,
	R16G16B16A16_UNORM = 91,
	R16G16B16A16_SNORM = 92,
	R16G16B16A16_UINT = 95,
	R32G32_SFLOAT = 103,
	R32G32B32_SFLOAT = 106,
	R32G32B32A32_SFLOAT = 109,
};

static const float uv_span_limit = 16;

/* Steps over a range. They are divisible by small numbers, so that corners at simple fractions of a box,
 * which are common, keep their exact positions. */
static const double fine_steps = 65520, position_steps = 15120, uv_steps = 4080;

static float scale_of(double extent, double steps)
{
	return extent > 0 ? (float)(extent * (65535 / steps)) : 1;
}

static uint32_t format_size(uint16_t format)
{
	switch (format) {
	case R8G8B8A8_UNORM:
	case R8G8B8A8_UINT:
	case R16G16_UNORM:
	case R16G16_SNORM:
		return 4;
	case R32G32B32_SFLOAT:
		return 12;
	case R32G32B32A32_SFLOAT:
		return 16;
	default:
		return 8;
	}
}

/* ---- formats */

static void add(hob_baked_mesh *b, uint16_t stream, hob_semantic semantic, uint32_t set, uint8_t components,
				hob_encoding encoding, uint16_t format)
{
	assert(b->attribute_count < HOB_MAX_ATTRIBUTES && stream < HOB_MAX_STREAMS);
	hob_baked_stream *s = &b->streams[stream];
	b->attributes[b->attribute_count++] = (hob_baked_attribute){.semantic = (uint8_t)semantic,
																.set = (uint8_t)set,
																.components = components,
																.encoding = (uint8_t)encoding,
																.format = format,
																.stream = stream,
																.offset = s->stride};
	s->stride += format_size(format);
	if (stream >= b->stream_count)
		b->stream_count = stream + 1u;
}

static bool scale_positions(hob_baked_mesh *b, double steps)
{
	float min[3], max[3];
	hob_bounds_box(b->mesh.position, b->mesh.vertex_count, min, max);
	double extent = 0;
	for (int k = 0; k < 3; k++)
		extent = fmax(extent, (double)max[k] - (double)min[k]);
	if (extent > (double)FLT_MAX / 2)
		return false;
	b->pos_scale = scale_of(extent, steps);
	memcpy(b->pos_offset, min, sizeof min);
	return true;
}

static bool scale_uvs(hob_baked_mesh *b, double steps)
{
	const float *uv = b->mesh.uv[0];
	float min[2] = {0, 0}, max[2] = {0, 0};
	for (size_t v = 0; v < b->mesh.vertex_count; v++)
		for (size_t k = 0; k < 2; k++) {
			float value = uv[2 * v + k];
			min[k] = v == 0 || value < min[k] ? value : min[k];
			max[k] = v == 0 || value > max[k] ? value : max[k];
		}
	for (int k = 0; k < 2; k++)
		if (!(max[k] - min[k] <= uv_span_limit))
			return false;
	for (int k = 0; k < 2; k++) {
		b->uv_offset[k] = min[k];
		b->uv_scale[k] = scale_of((double)max[k] - (double)min[k], steps);
	}
	return true;
}

static bool is_unit_square(const float *uv, size_t count)
{
	for (size_t i = 0; i < 2 * count; i++)
		if (!(uv[i] >= 0 && uv[i] <= 1))
			return false;
	return true;
}

static uint16_t color_format(const float *color, size_t count, bool quantized)
{
	bool exact8 = true, exact16 = true, inside = true;
	for (size_t i = 0; i < 4 * count; i++) {
		inside = inside && color[i] >= 0 && color[i] <= 1;
		exact8 = exact8 && hob_is_unorm(color[i], 255);
		exact16 = exact16 && (exact8 || hob_is_unorm(color[i], 65535));
		if (!inside)
			return R32G32B32A32_SFLOAT;
	}
	if (exact8 || quantized)
		return R8G8B8A8_UNORM;
	/* As a float, a multiple of 1/255 need not be equal to one of 1/65535. */
	for (size_t i = 0; exact16 && i < 4 * count; i++)
		exact16 = hob_is_unorm(color[i], 65535);
	return exact16 ? R16G16B16A16_UNORM : R32G32B32A32_SFLOAT;
}

/* Whether 8 bits represent every weight exactly: one step of them moves a vertex by 1/255 of the joint's
 * motion. */
static bool weights_fit_bytes(const hob_mesh *m)
{
	for (size_t i = 0; i < (size_t)m->vertex_count * m->influence_count; i++)
		if (hob_quantize_unorm((double)m->weights[i], 65535) % 257 != 0)
			return false;
	return true;
}

static void choose_skinning(hob_baked_mesh *b, uint16_t stream, hob_vertices kind)
{
	const hob_mesh *m = &b->mesh;
	uint16_t largest = 0;
	for (size_t i = 0; i < (size_t)m->vertex_count * m->influence_count; i++)
		largest = m->joints[i] > largest ? m->joints[i] : largest;
	uint16_t joints = largest > 255 ? R16G16B16A16_UINT : R8G8B8A8_UINT;
	for (uint32_t set = 0; set < m->influence_count / 4; set++)
		add(b, stream, HOB_SEMANTIC_JOINTS, set, 4, HOB_ENCODING_PLAIN, joints);
	for (uint32_t set = 0; set < m->influence_count / 4; set++)
		add(b, stream, HOB_SEMANTIC_WEIGHTS, set, 4, HOB_ENCODING_PLAIN,
			kind == HOB_VERTICES_SMALL || (kind == HOB_VERTICES_FINE && weights_fit_bytes(m))
				? R8G8B8A8_UNORM
				: R16G16B16A16_UNORM);
}

static void choose(hob_baked_mesh *b, hob_vertices kind)
{
	const hob_mesh *m = &b->mesh;
	bool quantized = kind != HOB_VERTICES_EXACT, fine = kind == HOB_VERTICES_FINE;
	if (quantized && scale_positions(b, fine ? fine_steps : position_steps)) {
		b->flags |= HOB_MESH_QUANTIZED;
		add(b, 0, HOB_SEMANTIC_POSITION, 0, 3, HOB_ENCODING_SCALED, R16G16B16A16_UNORM);
	} else {
		add(b, 0, HOB_SEMANTIC_POSITION, 0, 3, HOB_ENCODING_PLAIN, R32G32B32_SFLOAT);
	}
	if (m->normal && quantized)
		add(b, 1, HOB_SEMANTIC_NORMAL, 0, 2, HOB_ENCODING_OCTAHEDRAL, R16G16_SNORM);
	else if (m->normal)
		add(b, 1, HOB_SEMANTIC_NORMAL, 0, 3, HOB_ENCODING_PLAIN, R32G32B32_SFLOAT);
	if (m->tangent && quantized)
		add(b, 1, HOB_SEMANTIC_TANGENT, 0, 4, HOB_ENCODING_OCTAHEDRAL, R16G16B16A16_SNORM);
	else if (m->tangent)
		add(b, 1, HOB_SEMANTIC_TANGENT, 0, 4, HOB_ENCODING_PLAIN, R32G32B32A32_SFLOAT);
	for (uint32_t s = 0; s < HOB_UV_SETS; s++) {
		if (m->uv[s] && s == 0 && quantized && scale_uvs(b, fine ? fine_steps : uv_steps))
			add(b, 1, HOB_SEMANTIC_UV, s, 2, HOB_ENCODING_SCALED, R16G16_UNORM);
		else if (m->uv[s])
			add(b, 1, HOB_SEMANTIC_UV, s, 2, HOB_ENCODING_PLAIN,
				s > 0 && quantized && is_unit_square(m->uv[s], m->vertex_count) ? R16G16_UNORM
																				: R32G32_SFLOAT);
	}
	for (uint32_t s = 0; s < HOB_COLOR_SETS; s++)
		if (m->color[s])
			add(b, 1, HOB_SEMANTIC_COLOR, s, 4, HOB_ENCODING_PLAIN,
				color_format(m->color[s], m->vertex_count, quantized));
	if (m->influence_count > 0)
		choose_skinning(b, (uint16_t)b->stream_count, kind);
}

/* ---- the data */

static void put_u16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)value, at[1] = (uint8_t)(value >> 8);
}

static int16_t coarse_step(int16_t code, int up)
{
	int step = (code >= 0 ? code / 256 : -((255 - code) / 256)) + up;
	return (int16_t)(step > 127 ? 32767 : step < -127 ? -32767 : step * 256);
}

/* A coarse code is the nearest of the four pairs of multiples of 256 around the fine one: their low bytes are
 * 0, which encoding removes. */
static void put_octahedral(uint8_t *at, const float *unit, bool fine)
{
	int16_t code[2];
	hob_octahedral_encode(unit, code);
	float best = -2;
	for (int i = 0; i < (fine ? 1 : 4); i++) {
		int16_t near[2] = {fine ? code[0] : coarse_step(code[0], i & 1),
						   fine ? code[1] : coarse_step(code[1], i >> 1)};
		float back[3];
		hob_octahedral_decode(near, back);
		float cosine = back[0] * unit[0] + back[1] * unit[1] + back[2] * unit[2];
		if (!(cosine > best))
			continue;
		best = cosine;
		put_u16(at, (uint16_t)near[0]);
		put_u16(at + 2, (uint16_t)near[1]);
	}
}

static void put_skinning(const hob_mesh *m, const hob_baked_attribute *a, size_t v, uint8_t *at)
{
	uint16_t units[8];
	uint8_t bytes[8];
	for (uint32_t i = 0; i < m->influence_count; i++)
		units[i] = (uint16_t)hob_quantize_unorm((double)m->weights[v * m->influence_count + i], 65535);
	hob_weights_to_u8(units, m->influence_count, bytes);
	for (uint32_t k = 0; k < 4; k++) {
		uint32_t i = 4 * a->set + k;
		uint32_t value = a->semantic == HOB_SEMANTIC_JOINTS ? m->joints[v * m->influence_count + i]
						 : a->format == R8G8B8A8_UNORM		? bytes[i]
															: units[i];
		if (format_size(a->format) == 4)
			at[k] = (uint8_t)value;
		else
			put_u16(at + 2 * k, value);
	}
}

static const float *values_of(const hob_mesh *m, const hob_baked_attribute *a, size_t v)
{
	switch ((hob_semantic)a->semantic) {
	case HOB_SEMANTIC_POSITION:
		return m->position + 3 * v;
	case HOB_SEMANTIC_NORMAL:
		return m->normal + 3 * v;
	case HOB_SEMANTIC_TANGENT:
		return m->tangent + 4 * v;
	case HOB_SEMANTIC_UV:
		return m->uv[a->set] + 2 * v;
	default:
		assert(a->semantic == HOB_SEMANTIC_COLOR);
		return m->color[a->set] + 4 * v;
	}
}

static void put_vertex(const hob_baked_mesh *b, hob_vertices kind, const hob_baked_attribute *a, size_t v,
					   uint8_t *at)
{
	bool uv = a->semantic == HOB_SEMANTIC_UV, scaled = a->encoding == HOB_ENCODING_SCALED;
	if (a->semantic == HOB_SEMANTIC_JOINTS || a->semantic == HOB_SEMANTIC_WEIGHTS) {
		put_skinning(&b->mesh, a, v, at);
		return;
	}
	const float *values = values_of(&b->mesh, a, v);
	if (a->encoding == HOB_ENCODING_OCTAHEDRAL) {
		put_octahedral(at, values, kind == HOB_VERTICES_FINE && a->semantic == HOB_SEMANTIC_NORMAL);
		if (a->semantic == HOB_SEMANTIC_TANGENT)
			put_u16(at + 6, values[3] < 0 ? (uint16_t)-32767 : 32767);
		return;
	}
	for (uint32_t k = 0; k < a->components; k++) {
		double offset = scaled ? (double)(uv ? b->uv_offset[k] : b->pos_offset[k]) : 0;
		double scale = scaled ? (double)(uv ? b->uv_scale[k] : b->pos_scale) : 1;
		uint32_t bits;
		memcpy(&bits, &values[k], sizeof bits);
		if (a->format >= R32G32_SFLOAT)
			hob_store_u32(at + 4 * k, bits);
		else if (a->format == R8G8B8A8_UNORM)
			at[k] = (uint8_t)hob_quantize_unorm((double)values[k], 255);
		else
			put_u16(at + 2 * k, hob_quantize_unorm(((double)values[k] - offset) / scale, 65535));
	}
}

void hob_streams_build(hob_baked_mesh *baked, hob_vertices kind, hob_arena *result, hob_arena *spent)
{
	hob_baked_mesh b = *baked;
	b.attribute_count = b.stream_count = 0;
	memset(b.streams, 0, sizeof b.streams);
	b.pos_scale = b.uv_scale[0] = b.uv_scale[1] = 1;
	memset(b.pos_offset, 0, sizeof b.pos_offset);
	memset(b.uv_offset, 0, sizeof b.uv_offset);
	choose(&b, kind);
	for (uint32_t s = 0; s < b.stream_count; s++)
		b.streams[s].data = hob_arena_array(result, b.mesh.vertex_count, b.streams[s].stride, 16);
	for (uint32_t i = 0; i < b.attribute_count; i++) {
		const hob_baked_attribute *a = &b.attributes[i];
		const hob_baked_stream *s = &b.streams[a->stream];
		for (size_t v = 0; v < b.mesh.vertex_count; v++)
			put_vertex(&b, kind, a, v, s->data + v * s->stride + a->offset);
		if (spent && a->semantic == HOB_SEMANTIC_POSITION)
			hob_arena_drop(spent, b.mesh.position);
	}
	*baked = b;
}
