#include "streams.h"
#include "../base/arena_drop.h"
#include "influences.h"
#include "mesh_bounds.h"
#include "quantize.h"

#include <assert.h>
#include <float.h>
#include <math.h>

enum {
#define VERTEX_FORMAT(number, name, bytes, components, component_bytes, kind) name = number,
#include "../../schema/formats/packed.def"
};

static const float uv_span_limit = 16;

/* Steps over a range. They are divisible by small numbers, so that corners at simple fractions of a box,
 * which are common, keep their exact positions. */
static const double fine_steps = 65520, position_steps = 15120, uv_steps = 4080;

/* steps  of the smaller kind; fewer where the extent is a small part of the `widest` */
static float scale_of(double extent, hob_vertices kind, double widest, double steps)
{
	static const double fewer[] = {8, 6, 4, 3, 2, 1.5, 1.25, 1};
	size_t i = 0;
	while (fewer[i] > 1 && extent * fewer[i] > widest)
		i++;
	steps = kind == HOB_VERTICES_FINE ? fine_steps : steps / fewer[i];
	return extent > 0 ? (float)(extent * (65535 / steps)) : 1;
}

static uint32_t format_size(uint16_t format)
{
	switch (format) {
#define VERTEX_FORMAT(number, name, bytes, components, component_bytes, kind)                                \
	case number:                                                                                             \
		return bytes;
#include "../../schema/formats/packed.def"
	default:
		return 0;
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

static bool scale_positions(hob_baked_mesh *b, hob_vertices kind, double widest)
{
	float min[3], max[3];
	hob_bounds_box(b->mesh.position, b->mesh.vertex_count, min, max);
	double extent = 0;
	for (int k = 0; k < 3; k++)
		extent = fmax(extent, (double)max[k] - (double)min[k]);
	if (extent > (double)FLT_MAX / 2)
		return false;
	b->pos_scale = scale_of(extent, kind, widest, position_steps);
	memcpy(b->pos_offset, min, sizeof min);
	return true;
}

static bool are_unorm(const float *values, size_t count, uint32_t max)
{
	size_t i = 0;
	while (i < count && hob_is_unorm(values[i], max))
		i++;
	return i == count;
}

static uint16_t color_format(const float *color, size_t count, bool quantized)
{
	for (size_t i = 0; i < 4 * count; i++)
		if (!(color[i] >= 0 && color[i] <= 1))
			return R32G32B32A32_SFLOAT;
	if (quantized || are_unorm(color, 4 * count, 255))
		return R8G8B8A8_UNORM;
	return are_unorm(color, 4 * count, 65535) ? R16G16B16A16_UNORM : R32G32B32A32_SFLOAT;
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

/* Sets of the smaller kind in the unit square share the scale of set 0, with steps of at most 1/4,080. */
static void choose_uvs(hob_baked_mesh *b, hob_vertices kind, const float widest[2])
{
	const hob_mesh *m = &b->mesh;
	float min[2] = {FLT_MAX, FLT_MAX}, max[2] = {-FLT_MAX, -FLT_MAX};
	bool unit[HOB_UV_SETS] = {false}, scaled[HOB_UV_SETS] = {false}, shared = false;
	for (uint32_t s = 0; s < HOB_UV_SETS && kind != HOB_VERTICES_EXACT; s++) {
		float low[2], high[2];
		if (!m->uv[s])
			continue;
		hob_bounds_ranges(m->uv[s], 2, m->vertex_count, low, high);
		unit[s] = low[0] >= 0 && low[1] >= 0 && high[0] <= 1 && high[1] <= 1;
		for (int k = 0; k < 2; k++)
			low[k] = fminf(min[k], low[k]), high[k] = fmaxf(max[k], high[k]);
		scaled[s] = high[0] - low[0] <= uv_span_limit && high[1] - low[1] <= uv_span_limit &&
					(s == 0 || (kind == HOB_VERTICES_SMALL && scaled[0] && unit[s]));
		shared = shared || (s > 0 && scaled[s]);
		if (scaled[s])
			memcpy(min, low, sizeof min), memcpy(max, high, sizeof max);
	}
	for (int k = 0; k < 2 && scaled[0]; k++) {
		b->uv_offset[k] = min[k];
		float scale = scale_of((double)max[k] - (double)min[k], kind, (double)widest[k], uv_steps);
		b->uv_scale[k] = shared ? fminf(scale, (float)(65535 / uv_steps)) : scale;
	}
	for (uint32_t s = 0; s < HOB_UV_SETS; s++)
		if (m->uv[s])
			add(b, 1, HOB_SEMANTIC_UV, s, 2, scaled[s] ? HOB_ENCODING_SCALED : HOB_ENCODING_PLAIN,
				scaled[s] || (s > 0 && unit[s]) ? R16G16_UNORM : R32G32_SFLOAT);
}

static void choose(hob_baked_mesh *b, hob_vertices kind, hob_ranges ranges)
{
	const hob_mesh *m = &b->mesh;
	bool quantized = kind != HOB_VERTICES_EXACT, fine = kind == HOB_VERTICES_FINE;
	if (quantized && scale_positions(b, kind, (double)ranges.side)) {
		b->flags |= HOB_MESH_QUANTIZED;
		add(b, 0, HOB_SEMANTIC_POSITION, 0, 3, HOB_ENCODING_SCALED, R16G16B16A16_UNORM);
	} else {
		add(b, 0, HOB_SEMANTIC_POSITION, 0, 3, HOB_ENCODING_PLAIN, R32G32B32_SFLOAT);
	}
	if (m->normal && quantized)
		add(b, 1, HOB_SEMANTIC_NORMAL, 0, 2, HOB_ENCODING_OCTAHEDRAL, fine ? R16G16_SNORM : R8G8B8A8_SNORM);
	else if (m->normal)
		add(b, 1, HOB_SEMANTIC_NORMAL, 0, 3, HOB_ENCODING_PLAIN, R32G32B32_SFLOAT);
	if (m->tangent && quantized)
		add(b, 1, HOB_SEMANTIC_TANGENT, 0, 4, HOB_ENCODING_OCTAHEDRAL, R8G8B8A8_SNORM);
	else if (m->tangent)
		add(b, 1, HOB_SEMANTIC_TANGENT, 0, 4, HOB_ENCODING_PLAIN, R32G32B32A32_SFLOAT);
	choose_uvs(b, kind, ranges.uv);
	for (uint32_t s = 0; s < HOB_COLOR_SETS; s++)
		if (m->color[s])
			add(b, 1, HOB_SEMANTIC_COLOR, s, 4, HOB_ENCODING_PLAIN,
				color_format(m->color[s], m->vertex_count, quantized));
	if (m->influence_count > 0)
		choose_skinning(b, (uint16_t)b->stream_count, kind);
}

/* ---- the data */

/* The step of 1/127 at or below a code of 16 bits, or the one above. */
static int byte_step(int16_t code, int up)
{
	int step = (code + 32767) * 127 / 32767 - 127 + up;
	return step > 127 ? 127 : step;
}

/* The nearest of the four pairs of bytes around a pair of 16 bits. */
static void put_octahedral_bytes(uint8_t *at, const int16_t code[2], const float *unit)
{
	float best = -2;
	for (int i = 0; i < 4; i++) {
		int step[2] = {byte_step(code[0], i & 1), byte_step(code[1], i >> 1)};
		float back[3];
		hob_octahedral_decode(
			(int16_t[2]){(int16_t)(step[0] * 32767 / 127), (int16_t)(step[1] * 32767 / 127)}, back);
		float cosine = back[0] * unit[0] + back[1] * unit[1] + back[2] * unit[2];
		if (cosine > best)
			best = cosine, at[0] = (uint8_t)step[0], at[1] = (uint8_t)step[1];
	}
}

static void put_skinning(const hob_mesh *m, const hob_baked_attribute *a, size_t v, uint8_t *at)
{
	uint16_t units[8];
	uint8_t bytes[8];
	uint32_t bytes_each = format_size(a->format) / 4;
	for (uint32_t i = 0; i < m->influence_count; i++)
		units[i] = (uint16_t)hob_quantize_unorm((double)m->weights[v * m->influence_count + i], 65535);
	hob_weights_to_u8(units, m->influence_count, bytes);
	for (uint32_t k = 0; k < 4; k++) {
		uint32_t i = 4 * a->set + k;
		uint32_t value = a->semantic == HOB_SEMANTIC_JOINTS ? m->joints[v * m->influence_count + i]
						 : a->format == R8G8B8A8_UNORM		? bytes[i]
															: units[i];
		memcpy(at + bytes_each * k, &(uint16_t){(uint16_t)value}, bytes_each);
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

static void put_vertex(const hob_baked_mesh *b, const hob_baked_attribute *a, size_t v, uint8_t *at)
{
	bool uv = a->semantic == HOB_SEMANTIC_UV, scaled = a->encoding == HOB_ENCODING_SCALED;
	if (a->semantic == HOB_SEMANTIC_JOINTS || a->semantic == HOB_SEMANTIC_WEIGHTS) {
		put_skinning(&b->mesh, a, v, at);
		return;
	}
	const float *values = values_of(&b->mesh, a, v);
	if (a->encoding == HOB_ENCODING_OCTAHEDRAL) {
		int16_t code[2];
		hob_octahedral_encode(values, code);
		if (a->format == R8G8B8A8_SNORM)
			put_octahedral_bytes(at, code, values);
		else
			memcpy(at, code, sizeof code);
		if (a->semantic == HOB_SEMANTIC_TANGENT)
			at[3] = values[3] < 0 ? (uint8_t)-127 : 127;
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
			memcpy(at + 2 * k,
				   &(uint16_t){(uint16_t)hob_quantize_unorm(((double)values[k] - offset) / scale, 65535)}, 2);
	}
}

void hob_streams_build(hob_baked_mesh *baked, hob_vertices kind, hob_ranges ranges, hob_arena *result,
					   hob_arena *spent)
{
	hob_baked_mesh b = *baked;
	b.attribute_count = b.stream_count = 0;
	memset(b.streams, 0, sizeof b.streams);
	b.pos_scale = b.uv_scale[0] = b.uv_scale[1] = 1;
	memset(b.pos_offset, 0, sizeof b.pos_offset);
	memset(b.uv_offset, 0, sizeof b.uv_offset);
	choose(&b, kind, ranges);
	for (uint32_t s = 0; s < b.stream_count; s++)
		b.streams[s].data = hob_arena_array(result, b.mesh.vertex_count, b.streams[s].stride, 16);
	for (uint32_t i = 0; i < b.attribute_count; i++) {
		const hob_baked_attribute *a = &b.attributes[i];
		const hob_baked_stream *s = &b.streams[a->stream];
		for (size_t v = 0; v < b.mesh.vertex_count; v++)
			put_vertex(&b, a, v, s->data + v * s->stride + a->offset);
		if (spent && a->semantic == HOB_SEMANTIC_POSITION)
			hob_arena_drop(spent, b.mesh.position);
	}
	*baked = b;
}
