#include "rt_private.h"

#include <assert.h>
#include <string.h>

enum { OF_material, OF_texref, OF_camera, OF_light, OF_trs };

typedef struct driven_field {
	uint8_t of, components;
	uint16_t offset;
} driven_field;

static const driven_field fields[] = {
#define PROPERTY(name, number, record, field, components, length, pointer, doc)                              \
	{OF_##record, components, offsetof(hob_pk_##record, field)},
#include "../../schema/formats/animation.def"
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

static uint64_t key_of(uint32_t property, uint32_t slot, uint32_t index)
{
	return (uint64_t)property << 48 | (uint64_t)slot << 32 | index;
}

void hob_rt_properties_lay_out(rt_asset *a, rt_memory *memory)
{
	a->property_keys = RT_TAKE(memory, uint64_t, a->properties.count);
	a->property_room = RT_TAKE(memory, uint64_t, a->properties.count);
	a->property_values = RT_TAKE(memory, uint32_t, a->properties.count);
	a->property_slots = RT_TAKE(memory, uint32_t, a->properties.count);
}

/* The record that contains a property; NULL if it does not exist. */
static const uint8_t *record_of(const rt_asset *a, uint32_t property, uint32_t slot, uint32_t index)
{
	const rt_array *arrays[] = {&a->materials, &a->materials, &a->cameras, &a->lights, &a->trs};
	const rt_array *array = arrays[fields[property].of];
	if (index >= array->count || !array->data)
		return NULL;
	const uint8_t *record = array->data + (size_t)index * array->stride;
	if (fields[property].of != OF_texref)
		return record;
	uint32_t ref = slot < 24 ? ((const hob_pk_material *)(const void *)record)->textures[slot] : HOB_RT_NONE;
	return ref < a->texrefs.count ? a->texrefs.data + (size_t)ref * a->texrefs.stride : NULL;
}

static bool rest_of(const rt_asset *a, uint64_t key, float out[4])
{
	uint32_t property = (uint32_t)(key >> 48);
	const uint8_t *record = record_of(a, property, (uint32_t)(key >> 32 & 0xFFFF), (uint32_t)key);
	if (record && fields[property].of == OF_trs)
		out[0] = !(((const hob_pk_trs *)(const void *)record)->flags & HOB_PK_NODE_HIDDEN);
	else if (record)
		memcpy(out, record + fields[property].offset, fields[property].components * sizeof *out);
	return record != NULL;
}

static uint32_t find_key(const rt_asset *a, uint64_t key)
{
	uint32_t at = hob_rt_search_key(a->property_keys, a->property_count, key);
	return at < a->property_count && a->property_keys[at] == key ? at : HOB_RT_NONE;
}

static bool check_channels(const rt_asset *a, hob_rt_error *error)
{
	uint32_t clip = 0;
	for (uint32_t i = 0; i < a->properties.count; i++) {
		const hob_pk_property_channel *c = RT_AT(hob_pk_property_channel, a->properties, i);
		if (c->clip < clip || c->clip >= a->clip_records.count || c->sampler >= a->clip_samplers.count)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "property channel %u: clip %u of %u, sampler %u of %u",
							   i, c->clip, a->clip_records.count, c->sampler, a->clip_samplers.count);
		clip = c->clip;
		uint32_t components = RT_AT(hob_pk_sampler, a->clip_samplers, c->sampler)->components;
		if (c->property < FIELDS && components != fields[c->property].components)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "property channel %u has %u components", i, components);
	}
	return true;
}

bool hob_rt_properties_fill(rt_asset *a, hob_rt_error *error)
{
	uint32_t count = 0;
	a->value_count = a->pub.weight_count;
	for (uint32_t i = 0; i < a->trs.count && !a->hides; i++)
		a->hides = RT_AT(hob_pk_trs, a->trs, i)->flags & HOB_PK_NODE_HIDDEN;
	if (!check_channels(a, error))
		return false;
	for (uint32_t i = 0; i < a->properties.count; i++) {
		const hob_pk_property_channel *c = RT_AT(hob_pk_property_channel, a->properties, i);
		float rest[4];
		uint64_t key = key_of(c->property, c->slot, c->index);
		if (c->property < FIELDS && rest_of(a, key, rest))
			a->property_keys[count++] = key;
	}
	hob_rt_sort(a->property_keys, a->property_room, count);
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && a->property_keys[i] == a->property_keys[i - 1])
			continue;
		float *rest = a->weights + a->value_count;
		uint64_t key = a->property_keys[i];
		uint32_t components = fields[key >> 48].components;
		rest_of(a, key, rest);
		/* "No limit" is infinite, which a mean of poses cannot contain. */
		for (uint32_t k = 0; k < components; k++)
			rest[k] = rest[k] > RT_LARGEST ? RT_LARGEST : rest[k];
		memset(a->weight_animated + a->value_count, 1, components);
		a->hides = a->hides || key >> 48 == HOB_PK_PROPERTY_NODE_VISIBLE;
		a->property_keys[a->property_count] = key;
		a->property_values[a->property_count++] = a->value_count;
		a->value_count += components;
	}
	for (uint32_t i = 0; i < a->properties.count; i++) {
		const hob_pk_property_channel *c = RT_AT(hob_pk_property_channel, a->properties, i);
		uint32_t at =
			c->property < FIELDS ? find_key(a, key_of(c->property, c->slot, c->index)) : HOB_RT_NONE;
		a->property_slots[i] = at == HOB_RT_NONE ? HOB_RT_NONE : a->property_values[at];
	}
	return true;
}

/* ---- the records of an instance */

static bool drive(const hob_rt_instance *in, uint32_t of, uint32_t slot, uint32_t index, void *record)
{
	const rt_asset *a = in->asset;
	bool driven = false;
	for (uint32_t p = 0; p < FIELDS && a->property_count > 0; p++) {
		uint32_t at = fields[p].of == of ? find_key(a, key_of(p, slot, index)) : HOB_RT_NONE;
		if (at == HOB_RT_NONE)
			continue;
		memcpy((uint8_t *)record + fields[p].offset, in->weights + a->property_values[at],
			   fields[p].components * sizeof(float));
		driven = true;
	}
	return driven;
}

bool hob_rt_driven_material(const hob_rt_instance *in, uint32_t material, hob_pk_material *out)
{
	*out = *hob_rt_material(&in->asset->pub, material);
	return drive(in, OF_material, 0, material, out);
}

bool hob_rt_driven_texref(const hob_rt_instance *in, uint32_t material, uint32_t slot, hob_pk_texref *out)
{
	const hob_pk_material *record = hob_rt_material(&in->asset->pub, material);
	assert(slot < 24 && record->textures[slot] != HOB_PK_NONE);
	*out = *hob_rt_texref(&in->asset->pub, record->textures[slot]);
	return drive(in, OF_texref, slot, material, out);
}

bool hob_rt_driven_camera(const hob_rt_instance *in, uint32_t camera, hob_pk_camera *out)
{
	*out = *hob_rt_camera(&in->asset->pub, camera);
	return drive(in, OF_camera, 0, camera, out);
}

bool hob_rt_driven_light(const hob_rt_instance *in, uint32_t light, hob_pk_light *out)
{
	*out = *hob_rt_light(&in->asset->pub, light);
	return drive(in, OF_light, 0, light, out);
}

/* ---- visibility */

static bool is_hidden(const hob_rt_instance *in, uint32_t node)
{
	const rt_asset *a = in->asset;
	uint32_t at = find_key(a, key_of(HOB_PK_PROPERTY_NODE_VISIBLE, 0, node));
	/* A mean of poses takes the visibility of its majority. */
	return at == HOB_RT_NONE ? RT_AT(hob_pk_trs, a->trs, node)->flags & HOB_PK_NODE_HIDDEN
							 : !(in->weights[a->property_values[at]] >= 0.5f);
}

bool hob_rt_is_visible(const hob_rt_instance *in, uint32_t node)
{
	assert(node < in->asset->pub.node_count);
	for (uint32_t at = node; in->asset->hides && at != HOB_RT_NONE; at = in->asset->parents[at])
		if (is_hidden(in, at))
			return false;
	return !in->host || hob_rt_is_visible(in->host, in->host_node);
}
