#include "material_slots.h"

#include <float.h>
#include <math.h>

typedef struct range {
	const char *name;
	uint32_t offset, count;
	float min, max, otherwise; /* otherwise: for NaN */
} range_t;

#define FIELD_OF(field, count) #field, (uint32_t)offsetof(hob_material, field), count

static const range_t ranges[] = {
	{FIELD_OF(base_color, 4), 0, 1, 1},
	{FIELD_OF(metallic, 1), 0, 1, 1},
	{FIELD_OF(roughness, 1), 0, 1, 1},
	{FIELD_OF(emissive, 3), 0, FLT_MAX, 0},
	{FIELD_OF(emissive_strength, 1), 0, FLT_MAX, 1},
	{FIELD_OF(normal_scale, 1), -FLT_MAX, FLT_MAX, 1},
	{FIELD_OF(occlusion_strength, 1), 0, 1, 1},
	{FIELD_OF(alpha_cutoff, 1), 0, FLT_MAX, 0.5f},
	{FIELD_OF(dispersion, 1), 0, FLT_MAX, 0},
	{FIELD_OF(specular, 1), 0, 1, 1},
	{FIELD_OF(specular_color, 3), 0, FLT_MAX, 1},
	{FIELD_OF(clearcoat, 1), 0, 1, 0},
	{FIELD_OF(clearcoat_roughness, 1), 0, 1, 0},
	{FIELD_OF(clearcoat_normal_scale, 1), -FLT_MAX, FLT_MAX, 1},
	{FIELD_OF(sheen_color, 3), 0, 1, 0},
	{FIELD_OF(sheen_roughness, 1), 0, 1, 0},
	{FIELD_OF(transmission, 1), 0, 1, 0},
	{FIELD_OF(thickness, 1), 0, FLT_MAX, 0},
	{FIELD_OF(attenuation_distance, 1), FLT_MIN, INFINITY, INFINITY},
	{FIELD_OF(attenuation_color, 3), 0, 1, 1},
	{FIELD_OF(anisotropy, 1), 0, 1, 0},
	{FIELD_OF(anisotropy_rotation, 1), -FLT_MAX, FLT_MAX, 0},
	{FIELD_OF(iridescence, 1), 0, 1, 0},
	{FIELD_OF(iridescence_ior, 1), 1, FLT_MAX, 1.3f},
	{FIELD_OF(iridescence_min, 1), 0, FLT_MAX, 100},
	{FIELD_OF(iridescence_max, 1), 0, FLT_MAX, 400},
	{FIELD_OF(diffuse_transmission, 1), 0, 1, 0},
	{FIELD_OF(diffuse_transmission_color, 3), 0, 1, 1},
};

static bool clamp(float *value, float min, float max, float otherwise)
{
	float before = *value;
	if (before >= min && before <= max)
		return false;
	*value = before < min ? min : before > max ? max : otherwise;
	return true;
}

static void report(const hob_material *material, const char *field, hob_notes *notes)
{
	hob_note_add(notes, HOB_NOTE_WARNING, "material.value-clamped",
				 "material '%.*s': %s was out of its range and has been clamped", HOB_FMT(material->name),
				 field);
}

static void move_strength(hob_material *m)
{
	float largest = fmaxf(m->emissive[0], fmaxf(m->emissive[1], m->emissive[2]));
	if (largest <= 1 || m->emissive_strength > FLT_MAX / largest)
		return;
	for (int k = 0; k < 3; k++)
		m->emissive[k] /= largest;
	m->emissive_strength *= largest;
	m->ext_mask |= 1u << HOB_MATERIAL_EMISSIVE_STRENGTH;
}

void hob_material_clamp(hob_material *material, hob_notes *notes)
{
	for (size_t r = 0; r < HOB_COUNT_OF(ranges); r++) {
		const range_t *range = &ranges[r];
		float *values = (float *)(void *)((uint8_t *)material + range->offset);
		bool changed = false;
		for (uint32_t i = 0; i < range->count; i++)
			changed |= clamp(&values[i], range->min, range->max, range->otherwise);
		if (changed)
			report(material, range->name, notes);
	}
	/* KHR_materials_ior: 0 means "no refraction at all" and is as valid as physical values. */
	if (material->ior != 0 && clamp(&material->ior, 1, FLT_MAX, 1.5f))
		report(material, "ior", notes);
	move_strength(material);
}
