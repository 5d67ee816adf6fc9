#include "properties.h"

#include <assert.h>

enum {
	DRIVEN_material = HOB_DRIVEN_MATERIAL,
	DRIVEN_texref = HOB_DRIVEN_TEXREF,
	DRIVEN_camera = HOB_DRIVEN_CAMERA,
	DRIVEN_light = HOB_DRIVEN_LIGHT,
	DRIVEN_trs = HOB_DRIVEN_NODE
};

static const hob_property_info infos[] = {
#define PROPERTY(name, number, record, field, components, length, pointer, doc)                              \
	[number] = {(hob_driven)DRIVEN_##record, components, length == 1, length == 2, pointer},
#include "../../schema/formats/animation.def"
};

static const char *const slots[HOB_SLOT_COUNT] = {
	[HOB_SLOT_BASE_COLOR] = "pbrMetallicRoughness/baseColorTexture",
	[HOB_SLOT_METAL_ROUGH] = "pbrMetallicRoughness/metallicRoughnessTexture",
	[HOB_SLOT_NORMAL] = "normalTexture",
	[HOB_SLOT_OCCLUSION] = "occlusionTexture",
	[HOB_SLOT_EMISSIVE] = "emissiveTexture",
	[HOB_SLOT_SPECULAR] = "extensions/KHR_materials_specular/specularTexture",
	[HOB_SLOT_SPECULAR_COLOR] = "extensions/KHR_materials_specular/specularColorTexture",
	[HOB_SLOT_CLEARCOAT] = "extensions/KHR_materials_clearcoat/clearcoatTexture",
	[HOB_SLOT_CLEARCOAT_ROUGH] = "extensions/KHR_materials_clearcoat/clearcoatRoughnessTexture",
	[HOB_SLOT_CLEARCOAT_NORMAL] = "extensions/KHR_materials_clearcoat/clearcoatNormalTexture",
	[HOB_SLOT_TRANSMISSION] = "extensions/KHR_materials_transmission/transmissionTexture",
	[HOB_SLOT_SHEEN_COLOR] = "extensions/KHR_materials_sheen/sheenColorTexture",
	[HOB_SLOT_SHEEN_ROUGH] = "extensions/KHR_materials_sheen/sheenRoughnessTexture",
	[HOB_SLOT_THICKNESS] = "extensions/KHR_materials_volume/thicknessTexture",
	[HOB_SLOT_ANISOTROPY] = "extensions/KHR_materials_anisotropy/anisotropyTexture",
	[HOB_SLOT_IRIDESCENCE] = "extensions/KHR_materials_iridescence/iridescenceTexture",
	[HOB_SLOT_IRIDESCENCE_THICKNESS] = "extensions/KHR_materials_iridescence/iridescenceThicknessTexture",
	[HOB_SLOT_DIFFUSE_TRANSMISSION] =
		"extensions/KHR_materials_diffuse_transmission/diffuseTransmissionTexture",
	[HOB_SLOT_DIFFUSE_TRANSMISSION_COLOR] =
		"extensions/KHR_materials_diffuse_transmission/diffuseTransmissionColorTexture",
};

const hob_property_info *hob_property_of(uint32_t property)
{
	assert(property < HOB_COUNT_OF(infos));
	return &infos[property];
}

hob_str hob_property_pointer(uint32_t property, bool orthographic)
{
	hob_str whole = hob_str_of(hob_property_of(property)->pointer);
	size_t bar = hob_str_find(whole, HOB_STR("|"), 0);
	if (bar == SIZE_MAX)
		return whole;
	return orthographic ? (hob_str){whole.data + bar + 1, whole.len - bar - 1} : (hob_str){whole.data, bar};
}

hob_str hob_slot_pointer(hob_slot slot)
{
	return slots[slot] ? hob_str_of(slots[slot]) : (hob_str){0};
}

bool hob_property_is_length(const hob_model *model, const hob_property_channel *channel)
{
	const hob_property_info *info = hob_property_of(channel->property);
	return info->is_length || (info->is_length_if_orthographic &&
							   model->cameras[channel->index].type == HOB_CAMERA_ORTHOGRAPHIC);
}

uint32_t hob_model_unseen_nodes(const hob_model *model, bool *unseen)
{
	uint32_t count = 0;
	for (uint32_t n = 0; n < model->node_count; n++)
		unseen[n] = model->nodes[n].hidden;
	for (uint32_t i = 0; i < model->clip_count; i++)
		for (uint32_t c = 0; c < model->clips[i].property_count; c++)
			if (model->clips[i].properties[c].property == HOB_PROPERTY_NODE_VISIBLE)
				unseen[model->clips[i].properties[c].index] = false;
	for (uint32_t n = 0; n < model->node_count; n++) {
		uint32_t parent = model->nodes[n].parent;
		unseen[n] = unseen[n] || (parent != HOB_NONE && unseen[parent]);
		count += unseen[n];
	}
	return count;
}
