#include "glb_writer.h"

#include "../model/properties.h"

void hob_glb_find_driven(glb_writer *w)
{
	uint32_t materials = hob_pack_find(&w->materials, HOB_PK_MATL).count;
	w->driven = HOB_NEW(w->arena, uint64_t, materials);
	w->moved_slots = HOB_NEW(w->arena, uint32_t, materials);
	hob_pack_array channels = {0};
	if (w->has_animations)
		channels = hob_pack_find(&w->animations, HOB_PK_PROP);
	for (uint32_t i = 0; i < channels.count; i++) {
		const hob_pk_property_channel *channel = HOB_PACK_AT(hob_pk_property_channel, channels, i);
		if (channel->property >= HOB_PROPERTY_COUNT || channel->index >= materials)
			continue;
		hob_driven driven = hob_property_of(channel->property)->driven;
		if (driven == HOB_DRIVEN_MATERIAL)
			w->driven[channel->index] |= (uint64_t)1 << channel->property;
		if (driven == HOB_DRIVEN_TEXREF)
			w->moved_slots[channel->index] |= 1u << channel->slot;
	}
}

static bool has_texture(const glb_writer *w, uint32_t material, uint32_t slot)
{
	const hob_pk_material *m =
		HOB_PACK_AT(hob_pk_material, hob_pack_find(&w->materials, HOB_PK_MATL), material);
	return m->textures[slot] != HOB_PK_NONE && w->texture_place[m->textures[slot]] != HOB_NONE;
}

/* Whether the property's pointer leads into a texture's object, so that the texture must exist. */
static bool needs_slot(uint32_t property, uint32_t *slot)
{
	static const uint32_t pairs[][2] = {{HOB_PROPERTY_NORMAL_SCALE, HOB_PK_SLOT_NORMAL},
										{HOB_PROPERTY_OCCLUSION_STRENGTH, HOB_PK_SLOT_OCCLUSION},
										{HOB_PROPERTY_CLEARCOAT_NORMAL_SCALE, HOB_PK_SLOT_CLEARCOAT_NORMAL}};
	for (size_t i = 0; i < HOB_COUNT_OF(pairs); i++)
		if (pairs[i][0] == property) {
			*slot = pairs[i][1];
			return true;
		}
	return false;
}

const char *hob_glb_pointer(const glb_writer *w, const hob_pk_property_channel *channel)
{
	if (channel->property >= HOB_PROPERTY_COUNT)
		return NULL;
	hob_driven driven = hob_property_of(channel->property)->driven;
	hob_str name = hob_property_pointer(channel->property, false);
	uint32_t slot = channel->slot;
	const char *text = NULL;
	switch (driven) {
	case HOB_DRIVEN_MATERIAL:
		if (!needs_slot(channel->property, &slot) || has_texture(w, channel->index, slot))
			text = hob_arena_printf(w->arena, "/materials/%u/%.*s", channel->index, HOB_FMT(name)).data;
		break;
	case HOB_DRIVEN_TEXREF:
		if (has_texture(w, channel->index, slot) && hob_slot_pointer((hob_slot)slot).len > 0)
			text = hob_arena_printf(w->arena, "/materials/%u/%.*s/extensions/KHR_texture_transform/%.*s",
									channel->index, HOB_FMT(hob_slot_pointer((hob_slot)slot)), HOB_FMT(name))
					   .data;
		break;
	case HOB_DRIVEN_CAMERA: {
		const hob_pk_camera *camera =
			HOB_PACK_AT(hob_pk_camera, hob_pack_find(&w->scene, HOB_PK_CAMS), channel->index);
		name = hob_property_pointer(channel->property, camera->type == HOB_PK_CAMERA_ORTHOGRAPHIC);
		text = hob_arena_printf(w->arena, "/cameras/%u/%.*s", channel->index, HOB_FMT(name)).data;
		break;
	}
	case HOB_DRIVEN_LIGHT:
		text = hob_arena_printf(w->arena, "/extensions/KHR_lights_punctual/lights/%u/%.*s", channel->index,
								HOB_FMT(name))
				   .data;
		break;
	case HOB_DRIVEN_NODE:
		if (channel->index < hob_pack_find(&w->scene, HOB_PK_HIER).count &&
			w->node_place[channel->index] != HOB_NONE)
			text = hob_arena_printf(w->arena, "/nodes/%u/%.*s", w->node_place[channel->index], HOB_FMT(name))
					   .data;
		break;
	}
	return text;
}
