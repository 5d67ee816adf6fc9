#include "pack_geometry.h"

#include "../base/half.h"

#include <math.h>

enum { FLOAT = 'f', HALF = 'h', UNORM = 'u', SNORM = 's', UINT = 'i' };

static const hob_vertex_format formats[] = {
#define VERTEX_FORMAT(number, name, bytes, components, component_bytes, kind)                                \
	{number, bytes, components, component_bytes, (char)(kind), #name},
#include "../../schema/formats/packed.def"
};

const hob_vertex_format *hob_vertex_format_of(uint16_t number)
{
	for (size_t i = 0; i < HOB_COUNT_OF(formats); i++)
		if (formats[i].number == number)
			return &formats[i];
	return NULL;
}

bool hob_pack_geometry_open(const hob_pack *pack, hob_arena *arena, hob_pack_geometry *out, hob_error *err)
{
	hob_pack_geometry g = {.pack = pack, .sections = HOB_NEW(arena, hob_pack_array, pack->section_count)};
	for (uint32_t i = 0; i < pack->section_count; i++) {
		uint32_t type = hob_pack_section(pack, i)->type;
		if (!hob_pack_is_known(type))
			continue;
		if (!hob_pack_decode(pack, i, arena, &g.sections[i], err))
			return false;
		if (type == HOB_PK_MDLT)
			g.deltas = g.sections[i];
	}
	g.meshes = hob_pack_find(pack, HOB_PK_MDSC);
	g.lods = hob_pack_find(pack, HOB_PK_LODS);
	g.layouts = hob_pack_find(pack, HOB_PK_LAYT);
	g.attributes = hob_pack_find(pack, HOB_PK_ATTR);
	*out = g;
	return true;
}

bool hob_pack_attribute_find(const hob_pack_geometry *g, const hob_pk_mesh *mesh, uint32_t semantic,
							 uint32_t set, hob_pack_attribute *out)
{
	if (mesh->layout == HOB_PK_NONE)
		return false;
	const hob_pk_layout *layout = HOB_PACK_AT(hob_pk_layout, g->layouts, mesh->layout);
	for (uint32_t i = 0; i < layout->attribute_count; i++) {
		const hob_pk_attribute *a = HOB_PACK_AT(hob_pk_attribute, g->attributes, layout->attribute_first + i);
		if (a->semantic != semantic || a->set != set)
			continue;
		hob_pack_array stream = g->sections[layout->sections[a->stream]];
		*out = (hob_pack_attribute){
			.data = stream.data + (size_t)mesh->first_vertex * stream.stride + a->offset,
			.stride = stream.stride,
			.components = a->components,
			.format = hob_vertex_format_of(a->format),
			.semantic = a->semantic,
			.set = a->set,
			.encoding = a->encoding,
			.mesh = mesh,
		};
		return true;
	}
	return false;
}

static float signed_norm(int32_t value, int32_t max)
{
	return value < -max ? -1.0f : (float)value / (float)max;
}

static float component(const hob_vertex_format *f, const uint8_t *at, uint32_t i)
{
	if (f->component_bytes == 0) {
		uint32_t bits = hob_load_u32(at);
		if (i == 3)
			return signed_norm((int32_t)bits >> 30, 1);
		return signed_norm((int32_t)(bits << (22 - 10 * i)) >> 22, 511);
	}
	at += (size_t)i * f->component_bytes;
	uint32_t raw = f->component_bytes == 1 ? *at : hob_load_u16(at);
	switch (f->kind) {
	case FLOAT:
		return hob_load_f32(at);
	case HALF:
		return hob_half_to_float((uint16_t)raw);
	case UNORM:
		return f->component_bytes == 1 ? (float)raw / 255.0f : (float)raw / 65535.0f;
	case SNORM:
		return f->component_bytes == 1 ? signed_norm((int8_t)raw, 127) : signed_norm((int16_t)raw, 32767);
	default:
		return (float)raw;
	}
}

static void unfold(float v[4])
{
	float x = v[0], y = v[1], z = 1 - fabsf(x) - fabsf(y);
	if (z < 0) {
		float folded = (1 - fabsf(y)) * (x < 0 ? -1.0f : 1.0f);
		y = (1 - fabsf(x)) * (y < 0 ? -1.0f : 1.0f);
		x = folded;
	}
	float length = sqrtf(x * x + y * y + z * z);
	v[0] = x / length, v[1] = y / length, v[2] = z / length;
}

void hob_pack_attribute_get(const hob_pack_attribute *a, uint32_t vertex, float out[4])
{
	const uint8_t *at = a->data + (size_t)vertex * a->stride;
	float v[4] = {0, 0, 0, 1};
	for (uint32_t i = 0; i < a->components; i++)
		v[i] = component(a->format, at, i);
	if (a->encoding == HOB_PK_ENCODING_OCTAHEDRAL)
		unfold(v);
	for (uint32_t i = 0; i < a->components && a->encoding == HOB_PK_ENCODING_SCALED; i++)
		v[i] = a->semantic == HOB_PK_SEMANTIC_POSITION ? a->mesh->pos_offset[i] + a->mesh->pos_scale * v[i]
													   : a->mesh->uv_offset[i] + a->mesh->uv_scale[i] * v[i];
	memcpy(out, v, sizeof v);
}

float hob_pack_lod_mean(const hob_pack *pack, uint32_t level)
{
	hob_pack_array means = hob_pack_find(pack, HOB_PK_LODM);
	return level < means.count ? *HOB_PACK_AT(float, means, level) : 0;
}

uint32_t hob_pack_index(const hob_pack_geometry *g, const hob_pk_lod *lod, uint32_t i)
{
	hob_pack_array indices = g->sections[lod->index_section];
	const uint8_t *at = indices.data + (size_t)(lod->first_index + i) * indices.stride;
	return indices.stride == 2 ? hob_load_u16(at) : hob_load_u32(at);
}
