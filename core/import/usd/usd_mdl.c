#include "usd_shade.h"

#include <math.h>

/* Names and fallbacks of OmniPBR.mdl. */

static bool number(hob_usd_surface *s, const char *name, float *out, uint32_t width)
{
	hob_usd_texture none;
	return hob_usd_surface_input(s, name, out, width, &none);
}

/* Reads a picture into its slot; *found: whether there is one. */
static bool picture(hob_usd_surface *s, const char *name, hob_slot slot, bool *found)
{
	hob_texture_ref ref;
	*found = false;
	if (!hob_usd_asset_input(s, name, &ref))
		return false;
	*found = ref.image != HOB_NONE;
	if (*found)
		s->to->slots[slot] = ref;
	return true;
}

static bool read_color(hob_usd_surface *s)
{
	float color[3] = {0.2f, 0.2f, 0.2f}, tint[3] = {1, 1, 1};
	bool textured;
	if (!number(s, "diffuse_color_constant", color, 3) || !number(s, "diffuse_tint", tint, 3) ||
		!picture(s, "diffuse_texture", HOB_SLOT_BASE_COLOR, &textured))
		return false;
	for (int i = 0; i < 3; i++)
		s->to->base_color[i] = hob_usd_unit((textured ? 1 : color[i]) * tint[i]);
	return true;
}

/* An input with a constant, a texture and the texture's influence. Hob cannot blend the two: from an
 * influence of 0.5 on the texture is used, below it the constant. */
static bool read_one(hob_usd_surface *s, const char *constant, const char *influence, const char *texture,
					 hob_slot slot, float *out)
{
	float share = 0;
	bool found = false;
	if (!number(s, constant, out, 1) || !number(s, influence, &share, 1) ||
		(share >= 0.5f && !picture(s, texture, slot, &found)))
		return false;
	*out = found ? 1 : hob_usd_unit(*out);
	return true;
}

static bool read_rough_metal(hob_usd_surface *s)
{
	hob_material *m = s->to;
	float packed = 0;
	bool found = false;
	m->roughness = 0.5f;
	m->metallic = 0;
	if (!number(s, "enable_ORM_texture", &packed, 1) ||
		(packed != 0 && !picture(s, "ORM_texture", HOB_SLOT_METAL_ROUGH, &found)))
		return false;
	if (found) {
		m->roughness = m->metallic = 1;
		m->slots[HOB_SLOT_OCCLUSION] = m->slots[HOB_SLOT_METAL_ROUGH];
		return true;
	}
	return read_one(s, "reflection_roughness_constant", "reflection_roughness_texture_influence",
					"reflectionroughness_texture", HOB_SLOT_ROUGHNESS, &m->roughness) &&
		   read_one(s, "metallic_constant", "metallic_texture_influence", "metallic_texture",
					HOB_SLOT_METALLIC, &m->metallic) &&
		   picture(s, "ao_texture", HOB_SLOT_OCCLUSION, &found);
}

static bool read_emission(hob_usd_surface *s)
{
	/* As in usd_mtlx.c: the luminance of a display's white. */
	const float nits = 1000;
	float enabled = 0, color[3] = {1, 0.1f, 0.1f}, intensity = 40;
	bool found;
	if (!number(s, "enable_emission", &enabled, 1) || enabled == 0)
		return enabled == 0;
	if (!number(s, "emissive_color", color, 3) || !number(s, "emissive_intensity", &intensity, 1) ||
		!picture(s, "emissive_color_texture", HOB_SLOT_EMISSIVE, &found))
		return false;
	for (int i = 0; i < 3; i++) {
		float light = color[i] * intensity / nits;
		s->to->emissive[i] = light > 0 && isfinite(light) ? light : 0;
	}
	return true;
}

static bool read_opacity(hob_usd_surface *s)
{
	hob_material *m = s->to;
	float enabled = 0, opacity = 1, textured = 0, threshold = 0;
	bool found = false;
	if (!number(s, "enable_opacity", &enabled, 1) || enabled == 0)
		return enabled == 0;
	if (!number(s, "opacity_constant", &opacity, 1) || !number(s, "enable_opacity_texture", &textured, 1) ||
		!number(s, "opacity_threshold", &threshold, 1) ||
		(textured != 0 && !picture(s, "opacity_texture", HOB_SLOT_OPACITY, &found)))
		return false;
	m->base_color[3] = found ? 1 : hob_usd_unit(opacity);
	if (threshold > 0) {
		m->alpha_mode = HOB_ALPHA_MASK;
		m->alpha_cutoff = hob_usd_unit(threshold);
	} else if (found || m->base_color[3] < 1) {
		m->alpha_mode = HOB_ALPHA_BLEND;
	}
	return true;
}

bool hob_usd_mdl_surface(hob_usd_surface *s, hob_str id, bool *known)
{
	bool normal;
	*known = hob_str_starts(id, HOB_STR("OmniPBR"));
	return !*known || (read_color(s) && read_rough_metal(s) && read_emission(s) && read_opacity(s) &&
					   picture(s, "normalmap_texture", HOB_SLOT_NORMAL, &normal));
}
