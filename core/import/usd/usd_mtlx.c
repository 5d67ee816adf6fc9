#include "usd_shade.h"

#include <math.h>

typedef enum opacity_kind { OPACITY_NONE, OPACITY_NUMBER, OPACITY_COLOR } opacity_kind;

/* Names of inputs, NULL where a model has none, and defaults. Source: MaterialX 1.38.10, libraries/bxdf;
 * RealityKit's are those of Reality Composer Pro. */
typedef struct shading {
	const char *id, *weight, *base, *metal, *rough, *emission, *emission_color, *opacity, *coat, *coat_rough,
		*ior;
	float base_value, metal_value, rough_value, emission_value, emission_color_value, coat_rough_value;
	opacity_kind opacity_kind;
	bool emission_in_nits;
} shading_t;

static const shading_t shadings[] = {
	{"ND_standard_surface", "base", "base_color", "metalness", "specular_roughness", "emission",
	 "emission_color", "opacity", "coat", "coat_roughness", "specular_IOR", 0.8f, 0, 0.2f, 0, 1, 0.1f,
	 OPACITY_COLOR, false},
	{"ND_open_pbr_surface", "base_weight", "base_color", "base_metalness", "specular_roughness",
	 "emission_luminance", "emission_color", "geometry_opacity", "coat_weight", "coat_roughness",
	 "specular_ior", 0.8f, 0, 0.3f, 0, 1, 0, OPACITY_NUMBER, true},
	{"ND_gltf_pbr", NULL, "base_color", "metallic", "roughness", "emissive_strength", "emissive", "alpha",
	 "clearcoat", "clearcoat_roughness", "ior", 1, 1, 1, 1, 0, 0, OPACITY_NUMBER, false},
	{"ND_disney_principled", NULL, "baseColor", "metallic", "roughness", NULL, NULL, NULL, "clearcoat", NULL,
	 "ior", 0.16f, 0, 0.5f, 0, 0, 0, OPACITY_NONE, false},
	{"ND_realitykit_pbr", NULL, "baseColor", "metallic", "roughness", NULL, "emissiveColor", "opacity",
	 "clearcoat", "clearcoatRoughness", NULL, 1, 0, 0.5f, 1, 0, 0, OPACITY_NUMBER, false},
	{"ND_realitykit_unlit", NULL, "color", NULL, NULL, NULL, NULL, "opacity", NULL, NULL, NULL, 1, 0, 1, 0, 0,
	 0, OPACITY_NUMBER, false},
};

static bool input(hob_usd_surface *s, const char *name, float *out, uint32_t width, hob_usd_texture *texture)
{
	if (name)
		return hob_usd_surface_input(s, name, out, width, texture);
	texture->ref.image = HOB_NONE;
	return true;
}

/* Puts the picture of a colour or number into its slot; the picture's scale becomes the factor. */
static void put_picture(hob_usd_surface *s, const hob_usd_texture *t, hob_slot slot, float *factor,
						uint32_t width)
{
	if (t->ref.image == HOB_NONE)
		return;
	s->to->slots[slot] = width == 1 && slot != HOB_SLOT_METAL_ROUGH ? hob_usd_scalar(t) : t->ref;
	for (uint32_t i = 0; i < width; i++)
		factor[i] = t->scale[i];
}

static bool read_emission(hob_usd_surface *s, const shading_t *with)
{
	/* 1,000 nits is the luminance of a display's white in open_pbr's own examples. */
	const float nits = 1000;
	hob_usd_texture t, none;
	float strength = with->emission_value;
	float color[3] = {with->emission_color_value, with->emission_color_value, with->emission_color_value};
	if (!input(s, with->emission, &strength, 1, &none) || !input(s, with->emission_color, color, 3, &t))
		return false;
	strength = isfinite(strength) && strength > 0 ? strength / (with->emission_in_nits ? nits : 1) : 0;
	if (strength > 0)
		put_picture(s, &t, HOB_SLOT_EMISSIVE, color, 3);
	for (int i = 0; i < 3; i++)
		s->to->emissive[i] = color[i] > 0 ? color[i] * strength : 0;
	return true;
}

static bool read_coat(hob_usd_surface *s, const shading_t *with)
{
	hob_material *m = s->to;
	hob_usd_texture t;
	float coat = 0, rough = with->coat_rough_value, ior = 1.5f;
	if (!input(s, with->coat, &coat, 1, &t) || !input(s, with->coat_rough, &rough, 1, &t) ||
		!input(s, with->ior, &ior, 1, &t))
		return false;
	m->ior = ior >= 1 && ior < 100 ? ior : 1.5f;
	if (m->ior != 1.5f)
		m->ext_mask |= 1u << HOB_MATERIAL_IOR;
	m->clearcoat = hob_usd_unit(coat);
	m->clearcoat_roughness = hob_usd_unit(rough);
	if (m->clearcoat > 0)
		m->ext_mask |= 1u << HOB_MATERIAL_CLEARCOAT;
	else
		m->clearcoat_roughness = 0;
	return true;
}

static bool read_opacity(hob_usd_surface *s, const shading_t *with)
{
	hob_material *m = s->to;
	hob_usd_texture t;
	float opacity[3] = {1, 1, 1}, mode = 2, cutoff = 0.5f;
	if (!input(s, with->opacity, opacity, with->opacity_kind == OPACITY_COLOR ? 3 : 1, &t))
		return false;
	float alpha =
		with->opacity_kind == OPACITY_COLOR ? (opacity[0] + opacity[1] + opacity[2]) / 3 : opacity[0];
	m->base_color[3] = hob_usd_unit(alpha);
	if (t.ref.image != HOB_NONE) {
		m->slots[HOB_SLOT_OPACITY] = hob_usd_scalar(&t);
		m->base_color[3] = 1;
	}
	if (m->base_color[3] < 1 || t.ref.image != HOB_NONE)
		m->alpha_mode = HOB_ALPHA_BLEND;
	hob_usd_texture none;
	if (!hob_str_starts(hob_str_of(with->id), HOB_STR("ND_gltf")) || m->alpha_mode != HOB_ALPHA_BLEND)
		return true;
	if (!input(s, "alpha_mode", &mode, 1, &none) || !input(s, "alpha_cutoff", &cutoff, 1, &none))
		return false;
	m->alpha_mode = mode < 0.5f ? HOB_ALPHA_OPAQUE : mode < 1.5f ? HOB_ALPHA_MASK : HOB_ALPHA_BLEND;
	m->alpha_cutoff = hob_usd_unit(cutoff);
	return true;
}

static bool read_all(hob_usd_surface *s, const shading_t *with)
{
	hob_material *m = s->to;
	hob_usd_texture color, rough, metal, normal, none;
	float base[3] = {with->base_value, with->base_value, with->base_value}, weight = 1, unused[3] = {0};
	m->metallic = with->metal_value;
	m->roughness = with->rough_value;
	if (!input(s, with->weight, &weight, 1, &none) || !input(s, with->base, base, 3, &color) ||
		!input(s, with->metal, &m->metallic, 1, &metal) || !input(s, with->rough, &m->roughness, 1, &rough) ||
		!input(s, "normal", unused, 3, &normal))
		return false;
	if (!hob_usd_surface_colors(s, &color, base))
		return false;
	put_picture(s, &color, HOB_SLOT_BASE_COLOR, base, 3);
	for (int i = 0; i < 3; i++)
		m->base_color[i] = hob_usd_unit(base[i] * weight);
	bool packed = rough.ref.image != HOB_NONE && rough.ref.image == metal.ref.image && rough.channel == 'g' &&
				  metal.channel == 'b';
	put_picture(s, &rough, packed ? HOB_SLOT_METAL_ROUGH : HOB_SLOT_ROUGHNESS, &m->roughness, 1);
	if (packed)
		m->metallic = 1;
	else
		put_picture(s, &metal, HOB_SLOT_METALLIC, &m->metallic, 1);
	m->metallic = hob_usd_unit(m->metallic);
	m->roughness = hob_usd_unit(m->roughness);
	put_picture(s, &normal, HOB_SLOT_NORMAL, unused, 3);
	return read_opacity(s, with) && read_emission(s, with) && read_coat(s, with);
}

bool hob_usd_mtlx_surface(hob_usd_surface *s, hob_str id, bool *known)
{
	*known = false;
	for (size_t i = 0; i < HOB_COUNT_OF(shadings) && !*known; i++)
		if (hob_str_starts(id, hob_str_of(shadings[i].id))) {
			*known = true;
			if (hob_str_starts(id, HOB_STR("ND_realitykit_unlit")))
				s->to->ext_mask |= 1u << HOB_MATERIAL_UNLIT;
			if (!read_all(s, &shadings[i]))
				return false;
		}
	return true;
}
