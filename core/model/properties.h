/* properties.h - properties besides node transforms that a clip can animate: numbers of materials, texture
 * placement, cameras and lights, and the visibility of nodes. The table is PROPERTY in
 * schema/formats/animation.def; the pointers are those of KHR_animation_pointer and the glTF object model. */
#ifndef HOB_PROPERTIES_H
#define HOB_PROPERTIES_H

#include "model.h"

typedef enum hob_property {
#define PROPERTY(name, number, record, field, components, length, pointer, doc) HOB_PROPERTY_##name = number,
#include "../../schema/formats/animation.def"
	HOB_PROPERTY_COUNT
} hob_property;

typedef enum hob_driven {
	HOB_DRIVEN_MATERIAL,
	HOB_DRIVEN_TEXREF,
	HOB_DRIVEN_CAMERA,
	HOB_DRIVEN_LIGHT,
	HOB_DRIVEN_NODE
} hob_driven;

typedef struct hob_property_info {
	hob_driven driven;
	uint32_t components;
	bool is_length, is_length_if_orthographic;
	const char *pointer; /* after "/materials/3/"; for a camera "perspective/yfov|orthographic/ymag" */
} hob_property_info;

const hob_property_info *hob_property_of(uint32_t property); /* property < HOB_PROPERTY_COUNT */

/* The end of the JSON pointer (KHR_animation_pointer) of a property. A camera's has two: that of its type. */
hob_str hob_property_pointer(uint32_t property, bool orthographic);
/* The texture of a slot in glTF, after "/materials/3/": "pbrMetallicRoughness/baseColorTexture". Empty for
 * slots that glTF does not have. */
hob_str hob_slot_pointer(hob_slot slot);

/* Whether the values of a channel are lengths, which hob_model_scale scales. */
bool hob_property_is_length(const hob_model *model, const hob_property_channel *channel);

/* Marks the nodes that are never drawn: hidden, or below a hidden node, without a clip that shows it.
 * unseen [node_count] out. Returns how many. */
uint32_t hob_model_unseen_nodes(const hob_model *model, bool *unseen);

#endif
