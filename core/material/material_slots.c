#include "material_slots.h"

#include "../model/properties.h"

typedef struct slot_rule {
	const char *name;
	uint32_t needs;	 /* extension bits of which one must be present; 0: none */
	uint32_t factor; /* offset of the factor that scales the texture; 0: none */
	uint32_t factor_count;
	uint32_t property; /* property that animates the factor */
} slot_rule_t;

#define EXT(name) (1u << HOB_MATERIAL_##name)
#define FACTOR(field, count, property)                                                                       \
	(uint32_t) offsetof(hob_material, field), count, HOB_PROPERTY_##property

static const slot_rule_t rules[HOB_SLOT_COUNT] = {
	[HOB_SLOT_BASE_COLOR] = {"base colour", 0, 0, 0, 0},
	[HOB_SLOT_METAL_ROUGH] = {"metallic-roughness", 0, 0, 0, 0},
	[HOB_SLOT_NORMAL] = {"normal", 0, FACTOR(normal_scale, 1, NORMAL_SCALE)},
	[HOB_SLOT_OCCLUSION] = {"occlusion", 0, FACTOR(occlusion_strength, 1, OCCLUSION_STRENGTH)},
	[HOB_SLOT_EMISSIVE] = {"emissive", 0, FACTOR(emissive, 3, EMISSIVE)},
	[HOB_SLOT_OPACITY] = {"opacity", 0, 0, 0, 0},
	[HOB_SLOT_SPECULAR] = {"specular", EXT(SPECULAR), FACTOR(specular, 1, SPECULAR)},
	[HOB_SLOT_SPECULAR_COLOR] = {"specular colour", EXT(SPECULAR), FACTOR(specular_color, 3, SPECULAR_COLOR)},
	[HOB_SLOT_CLEARCOAT] = {"clearcoat", EXT(CLEARCOAT), FACTOR(clearcoat, 1, CLEARCOAT)},
	[HOB_SLOT_CLEARCOAT_ROUGH] = {"clearcoat roughness", EXT(CLEARCOAT), FACTOR(clearcoat, 1, CLEARCOAT)},
	[HOB_SLOT_CLEARCOAT_NORMAL] = {"clearcoat normal", EXT(CLEARCOAT), FACTOR(clearcoat, 1, CLEARCOAT)},
	[HOB_SLOT_TRANSMISSION] = {"transmission", EXT(TRANSMISSION), FACTOR(transmission, 1, TRANSMISSION)},
	[HOB_SLOT_SHEEN_COLOR] = {"sheen colour", EXT(SHEEN), FACTOR(sheen_color, 3, SHEEN_COLOR)},
	[HOB_SLOT_SHEEN_ROUGH] = {"sheen roughness", EXT(SHEEN), FACTOR(sheen_color, 3, SHEEN_COLOR)},
	[HOB_SLOT_THICKNESS] = {"thickness", EXT(VOLUME), FACTOR(thickness, 1, THICKNESS)},
	[HOB_SLOT_ANISOTROPY] = {"anisotropy", EXT(ANISOTROPY), FACTOR(anisotropy, 1, ANISOTROPY)},
	[HOB_SLOT_IRIDESCENCE] = {"iridescence", EXT(IRIDESCENCE), FACTOR(iridescence, 1, IRIDESCENCE)},
	[HOB_SLOT_IRIDESCENCE_THICKNESS] = {"iridescence thickness", EXT(IRIDESCENCE),
										FACTOR(iridescence, 1, IRIDESCENCE)},
	[HOB_SLOT_DIFFUSE_TRANSMISSION] = {"diffuse transmission", EXT(DIFFUSE_TRANSMISSION),
									   FACTOR(diffuse_transmission, 1, DIFFUSE_TRANSMISSION)},
	[HOB_SLOT_DIFFUSE_TRANSMISSION_COLOR] = {"diffuse transmission colour", EXT(DIFFUSE_TRANSMISSION),
											 FACTOR(diffuse_transmission, 1, DIFFUSE_TRANSMISSION)},
	[HOB_SLOT_ROUGHNESS] = {"roughness", 0, FACTOR(roughness, 1, ROUGHNESS)},
	[HOB_SLOT_METALLIC] = {"metallic", 0, FACTOR(metallic, 1, METALLIC)},
	[HOB_SLOT_BUMP] = {"bump", 0, FACTOR(normal_scale, 1, NORMAL_SCALE)},
};

const char *hob_slot_name(hob_slot slot)
{
	return rules[slot].name;
}

static bool hidden(const hob_material *material, const slot_rule_t *rule, hob_driven_factors driven)
{
	if (rule->factor == 0 || driven & (hob_driven_factors)1 << rule->property)
		return false;
	const float *factor = (const float *)(const void *)((const uint8_t *)material + rule->factor);
	for (uint32_t i = 0; i < rule->factor_count; i++)
		if (factor[i] != 0)
			return false;
	return true;
}

uint32_t hob_material_clear_slots(hob_material *material, hob_driven_factors driven, hob_notes *notes)
{
	uint32_t cleared = 0;
	for (uint32_t s = 0; s < HOB_SLOT_COUNT; s++) {
		hob_texture_ref *ref = &material->slots[s];
		const slot_rule_t *rule = &rules[s];
		bool absent = rule->needs != 0 && !(material->ext_mask & rule->needs);
		if (ref->image != HOB_NONE && (absent || hidden(material, rule, driven))) {
			hob_note_add(notes, HOB_NOTE_INFO, "material.texture-ignored",
						 "material '%.*s': the %s texture has no effect (%s) and is left out",
						 HOB_FMT(material->name), rule->name,
						 absent ? "its extension is not used" : "its factor is 0");
			ref->image = HOB_NONE;
			cleared++;
		}
		if (ref->image == HOB_NONE)
			*ref = (hob_texture_ref){.image = HOB_NONE, .sampler = HOB_NONE, .scale = {1, 1}};
	}
	return cleared;
}
