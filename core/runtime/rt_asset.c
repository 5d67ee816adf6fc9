#include "rt_private.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- helpers of opening */

const char *hob_rt_string(rt_text text, uint32_t offset)
{
	return offset != 0 ? text.base + offset : "";
}

uint32_t hob_rt_search(rt_array records, size_t field, uint32_t key)
{
	uint32_t low = 0, high = records.count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (*(const uint32_t *)(const void *)(records.data + (size_t)middle * records.stride + field) < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t hob_rt_search_key(const uint64_t *keys, uint32_t count, uint64_t key)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (keys[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t hob_rt_link(rt_array links, uint32_t node)
{
	uint32_t at = hob_rt_search(links, offsetof(hob_pk_link, node), node);
	const hob_pk_link *link = at < links.count ? RT_AT(hob_pk_link, links, at) : NULL;
	return link && link->node == node ? link->value : HOB_RT_NONE;
}

uint32_t hob_rt_hash(const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */
	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash;
}

void hob_rt_sort(uint64_t *keys, uint64_t *room, size_t count)
{
	for (int shift = 0; shift < 64; shift += 8) {
		size_t starts[256] = {0}, at = 0;
		for (size_t i = 0; i < count; i++)
			starts[keys[i] >> shift & 255]++;
		if (count == 0 || starts[keys[0] >> shift & 255] == count)
			continue;
		for (int digit = 0; digit < 256; digit++) {
			size_t here = starts[digit];
			starts[digit] = at;
			at += here;
		}
		for (size_t i = 0; i < count; i++)
			room[starts[keys[i] >> shift & 255]++] = keys[i];
		memcpy(keys, room, count * sizeof *keys);
	}
}

bool hob_rt_in_range(const float *values, size_t count)
{
	bool good = true;
	for (size_t i = 0; i < count; i++)
		good = good && fabsf(values[i]) <= RT_LARGEST;
	return good;
}

/* ---- vertex formats */

typedef enum kind { FLOAT, HALF, UNORM, SNORM, UINT } kind_t;

struct rt_format {
	uint16_t number;
	uint8_t size, components, component_bytes, kind;
};

static const rt_format formats[] = {
#define VERTEX_FORMAT(number, name, size, components, component_bytes, kind)                                 \
	{number, size, components, component_bytes, kind},
#include "../../schema/formats/mesh.def"
};

const rt_format *hob_rt_find_format(uint32_t number)
{
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
		if (formats[i].number == number)
			return &formats[i];
	return NULL;
}

uint32_t hob_rt_format_size(uint32_t number)
{
	const rt_format *format = hob_rt_find_format(number);
	return format ? format->size : 0;
}

static float half_to_float(uint16_t half)
{
	int exponent = half >> 10 & 31, mantissa = half & 1023;
	float value = exponent == 31 ? (mantissa ? 0.0f : 65504.0f)
								 : ldexpf((float)(exponent ? mantissa + 1024 : mantissa),
										  (exponent ? exponent : 1) - 25);
	return half & 0x8000 ? -value : value;
}

static float signed_unit(int32_t value, int32_t largest)
{
	return value < -largest ? -1.0f : (float)value / (float)largest;
}

static float read_component(const rt_format *format, const uint8_t *at, uint32_t i)
{
	uint8_t byte = at[format->component_bytes == 1 ? i : 0];
	uint16_t word = 0;
	float value = 0;
	if (format->component_bytes == 2)
		memcpy(&word, at + (size_t)i * 2, sizeof word);
	if (format->component_bytes == 4)
		memcpy(&value, at + (size_t)i * 4, sizeof value);
	bool bytes = format->component_bytes == 1;
	switch (format->kind) {
	case HALF:
		return half_to_float(word);
	case UNORM:
		return bytes ? (float)byte / 255 : (float)word / 65535;
	case SNORM:
		return bytes ? signed_unit((int8_t)byte, 127) : signed_unit((int16_t)word, 32767);
	case UINT:
		return bytes ? (float)byte : (float)word;
	default:
		return value;
	}
}

static void read_packed(const uint8_t *at, float out[4])
{
	uint32_t bits;
	memcpy(&bits, at, sizeof bits);
	for (int i = 0; i < 3; i++)
		out[i] = signed_unit((int32_t)(bits << (22 - 10 * i)) >> 22, 511);
	out[3] = signed_unit((int32_t)bits >> 30, 1);
}

static void unfold_octahedron(float out[4])
{
	float x = out[0], y = out[1], z = 1 - fabsf(x) - fabsf(y);
	if (z < 0) {
		float folded = (1 - fabsf(y)) * (x < 0 ? -1.0f : 1.0f);
		y = (1 - fabsf(x)) * (y < 0 ? -1.0f : 1.0f);
		x = folded;
	}
	float length = sqrtf(x * x + y * y + z * z);
	out[0] = length > 0 ? x / length : 0;
	out[1] = length > 0 ? y / length : 0;
	out[2] = length > 0 ? z / length : 1;
}

void hob_rt_read(const rt_format *format, const uint8_t *at, float out[4])
{
	out[0] = out[1] = out[2] = 0;
	out[3] = 1;
	if (format->component_bytes == 0)
		read_packed(at, out);
	else
		for (uint32_t i = 0; i < format->components; i++)
			out[i] = read_component(format, at, i);
}

void hob_rt_read_vertex(const hob_rt_mesh *mesh, const hob_rt_attribute *attribute, uint32_t vertex,
						float out[4])
{
	assert(vertex < mesh->vertex_count && attribute->stream < mesh->stream_count);
	const hob_rt_stream *stream = &mesh->streams[attribute->stream];
	const uint8_t *at = stream->data + (size_t)vertex * stream->stride + attribute->offset;
	hob_rt_read(hob_rt_find_format(attribute->format), at, out);
	for (uint32_t i = attribute->components; i < 4; i++)
		out[i] = i == 3;
	if (attribute->encoding == HOB_PK_ENCODING_OCTAHEDRAL)
		unfold_octahedron(out);
	if (attribute->encoding == HOB_PK_ENCODING_SCALED && attribute->semantic == HOB_PK_SEMANTIC_POSITION)
		for (int i = 0; i < 3; i++)
			out[i] = mesh->pos_offset[i] + mesh->pos_scale * out[i];
	if (attribute->encoding == HOB_PK_ENCODING_SCALED && attribute->semantic == HOB_PK_SEMANTIC_UV)
		for (int i = 0; i < 2; i++)
			out[i] = mesh->uv_offset[i] + mesh->uv_scale[i] * out[i];
}

const hob_rt_attribute *hob_rt_find_attribute(const hob_rt_mesh *mesh, uint32_t semantic, uint32_t set)
{
	for (uint32_t i = 0; i < mesh->attribute_count; i++)
		if (mesh->attributes[i].semantic == semantic && mesh->attributes[i].set == set)
			return &mesh->attributes[i];
	return NULL;
}

/* ---- names */

const char *hob_rt_node_name(const hob_rt_asset *asset, uint32_t node)
{
	const rt_asset *a = RT_ASSET(asset);
	assert(node < asset->node_count);
	return a->node_names.count > 0 ? hob_rt_string(a->node_text, *RT_AT(uint32_t, a->node_names, node)) : "";
}

/* The first named node at or after `from`, in the order of hashes. */
static uint32_t search_name(const rt_asset *a, const char *name, uint64_t from)
{
	uint32_t at = hob_rt_search_key(a->by_name, a->named_count, from);
	for (; at < a->named_count && a->by_name[at] >> 32 == from >> 32; at++) {
		uint32_t node = (uint32_t)a->by_name[at];
		if (strcmp(hob_rt_node_name(&a->pub, node), name) == 0)
			return node;
	}
	return HOB_RT_NONE;
}

uint32_t hob_rt_find_node(const hob_rt_asset *asset, const char *name)
{
	return search_name(RT_ASSET(asset), name, (uint64_t)hob_rt_hash(name) << 32);
}

uint32_t hob_rt_find_next(const hob_rt_asset *asset, uint32_t node)
{
	const char *name = hob_rt_node_name(asset, node);
	if (*name == 0)
		return HOB_RT_NONE;
	return search_name(RT_ASSET(asset), name, ((uint64_t)hob_rt_hash(name) << 32 | node) + 1);
}

uint32_t hob_rt_find_clip(const hob_rt_asset *asset, const char *name)
{
	for (uint32_t i = 0; i < asset->clip_count; i++)
		if (strcmp(asset->clips[i].name, name) == 0)
			return i;
	return HOB_RT_NONE;
}

/* ---- scene */

uint32_t hob_rt_parent(const hob_rt_asset *asset, uint32_t node)
{
	assert(node < asset->node_count);
	return RT_ASSET(asset)->parents[node];
}

const uint32_t *hob_rt_scene_roots(const hob_rt_asset *asset, uint32_t scene, uint32_t *count)
{
	const rt_asset *a = RT_ASSET(asset);
	assert(scene < asset->scene_count);
	const hob_pk_scene *record = RT_AT(hob_pk_scene, a->scenes, scene);
	*count = record->root_count;
	return *count > 0 ? RT_AT(uint32_t, a->roots, record->root_first) : NULL;
}

const char *hob_rt_scene_name(const hob_rt_asset *asset, uint32_t scene)
{
	const rt_asset *a = RT_ASSET(asset);
	assert(scene < asset->scene_count);
	return hob_rt_string(a->scene_text, RT_AT(hob_pk_scene, a->scenes, scene)->name);
}

const hob_pk_camera *hob_rt_camera(const hob_rt_asset *asset, uint32_t camera)
{
	assert(camera < asset->camera_count);
	return RT_AT(hob_pk_camera, RT_ASSET(asset)->cameras, camera);
}

const hob_pk_light *hob_rt_light(const hob_rt_asset *asset, uint32_t light)
{
	assert(light < asset->light_count);
	return RT_AT(hob_pk_light, RT_ASSET(asset)->lights, light);
}

uint32_t hob_rt_node_camera(const hob_rt_asset *asset, uint32_t node)
{
	return hob_rt_link(RT_ASSET(asset)->camera_links, node);
}

uint32_t hob_rt_node_light(const hob_rt_asset *asset, uint32_t node)
{
	return hob_rt_link(RT_ASSET(asset)->light_links, node);
}

/* ---- extras */

const char *hob_rt_extras(const hob_rt_asset *asset, uint32_t kind, uint32_t index, const char **extensions)
{
	const rt_asset *a = RT_ASSET(asset);
	uint64_t wanted = (uint64_t)kind << 32 | index;
	const hob_pk_extra *found = NULL;
	for (uint32_t first = 0, end = a->extras.count; first < end && !found;) {
		uint32_t middle = first + (end - first) / 2;
		const hob_pk_extra *at = RT_AT(hob_pk_extra, a->extras, middle);
		if (rt_extra_key(at) == wanted)
			found = at;
		else if (rt_extra_key(at) < wanted)
			first = middle + 1;
		else
			end = middle;
	}
	if (extensions)
		*extensions = hob_rt_string(a->scene_text, found ? found->extensions : 0);
	return hob_rt_string(a->scene_text, found ? found->values : 0);
}

/* ---- materials */

const hob_pk_material *hob_rt_material(const hob_rt_asset *asset, uint32_t material)
{
	assert(material < asset->material_count);
	return RT_AT(hob_pk_material, RT_ASSET(asset)->materials, material);
}

const char *hob_rt_material_name(const hob_rt_asset *asset, uint32_t material)
{
	return hob_rt_string(RT_ASSET(asset)->material_text, hob_rt_material(asset, material)->name);
}

const hob_pk_texref *hob_rt_texref(const hob_rt_asset *asset, uint32_t texref)
{
	assert(texref < asset->texref_count);
	return RT_AT(hob_pk_texref, RT_ASSET(asset)->texrefs, texref);
}

const hob_pk_image *hob_rt_image(const hob_rt_asset *asset, uint32_t image)
{
	assert(image < asset->image_count);
	return RT_AT(hob_pk_image, RT_ASSET(asset)->images, image);
}

const char *hob_rt_image_name(const hob_rt_asset *asset, uint32_t image)
{
	return hob_rt_string(RT_ASSET(asset)->image_text, hob_rt_image(asset, image)->name);
}

const hob_pk_texture_sampler *hob_rt_sampler(const hob_rt_asset *asset, uint32_t sampler)
{
	assert(sampler < asset->sampler_count);
	return RT_AT(hob_pk_texture_sampler, RT_ASSET(asset)->samplers, sampler);
}

const char *hob_rt_variant_name(const hob_rt_asset *asset, uint32_t variant)
{
	const rt_asset *a = RT_ASSET(asset);
	assert(variant < asset->variant_count);
	return hob_rt_string(a->material_text, *RT_AT(uint32_t, a->variants, variant));
}

uint32_t hob_rt_variant_material(const hob_rt_asset *asset, uint32_t mesh, uint32_t variant)
{
	const rt_asset *a = RT_ASSET(asset);
	assert(mesh < asset->mesh_count);
	if (asset->classic)
		return HOB_RT_NONE;
	const hob_pk_mesh *record = RT_AT(hob_pk_mesh, a->mesh_records, mesh);
	for (uint32_t i = 0; i < record->variant_count; i++) {
		const hob_pk_variant_map *map = RT_AT(hob_pk_variant_map, a->variant_maps, record->variant_first + i);
		if (map->variant == variant)
			return map->material;
	}
	return HOB_RT_NONE;
}

/* ---- morph targets and meshlets */

const hob_pk_morph *hob_rt_morph(const hob_rt_asset *asset, uint32_t morph)
{
	assert(morph < asset->morph_count);
	return RT_AT(hob_pk_morph, RT_ASSET(asset)->morphs, morph);
}

const char *hob_rt_morph_name(const hob_rt_asset *asset, uint32_t morph)
{
	return hob_rt_string(RT_ASSET(asset)->mesh_text, hob_rt_morph(asset, morph)->name);
}

const hob_pk_delta *hob_rt_deltas(const hob_rt_asset *asset, uint32_t morph, uint32_t *count)
{
	const hob_pk_morph *record = hob_rt_morph(asset, morph);
	*count = record->delta_count;
	return *count > 0 ? RT_AT(hob_pk_delta, RT_ASSET(asset)->deltas, record->delta_first) : NULL;
}

const hob_pk_meshlet *hob_rt_meshlets(const hob_rt_asset *asset, const hob_rt_lod *lod)
{
	if (lod->meshlet_count == 0)
		return NULL;
	return RT_AT(hob_pk_meshlet, RT_ASSET(asset)->meshlets, lod->meshlet_first);
}

const hob_pk_lod_attributes *hob_rt_lod_attributes(const hob_rt_asset *asset, const hob_rt_mesh *mesh,
												   uint32_t level)
{
	const rt_asset *a = RT_ASSET(asset);
	size_t at = (size_t)(mesh->lods - a->lods) + level;
	return at < a->lod_attributes.count ? RT_AT(hob_pk_lod_attributes, a->lod_attributes, at) : NULL;
}

const uint32_t *hob_rt_meshlet_vertices(const hob_rt_asset *asset, uint32_t *count)
{
	const rt_asset *a = RT_ASSET(asset);
	*count = a->meshlet_vertices.count;
	return (const uint32_t *)(const void *)a->meshlet_vertices.data;
}

const uint8_t *hob_rt_meshlet_triangles(const hob_rt_asset *asset, uint32_t *size)
{
	const rt_asset *a = RT_ASSET(asset);
	*size = a->meshlet_triangles.count;
	return a->meshlet_triangles.data;
}
