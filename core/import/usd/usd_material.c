#include "usd_shade.h"

#include "../shape.h"
#include "../text.h"
#include "../../model/spec_gloss.h"

#include <math.h>

/* ---- which material */

enum { COLLECTIONS_MAX = 16 };

static bool binding_at(hob_usd *u, const hob_usd_prim *prim, hob_str name, uint32_t wanted, hob_str *out,
					   bool *stronger, hob_error *err)
{
	hob_str *targets;
	uint32_t count;
	*out = HOB_STR("");
	if (!hob_usd_targets(u, prim, name, HOB_USD_T_targetPaths, &targets, &count, err))
		return false;
	/* A binding must have exactly one target. */
	uint32_t bound = count == wanted + 1 ? hob_usd_prim_at(u, targets[wanted]) : HOB_NONE;
	if (bound != HOB_NONE && hob_str_equal(u->prims[bound].type, HOB_STR("Material")))
		*out = targets[wanted];
	*stronger = hob_str_equal(hob_usd_text(hob_usd_meta(u, prim, name, HOB_USD_T_bindMaterialAs)),
							  HOB_STR("strongerThanDescendants"));
	return true;
}

/* *out: length of the longest path that contains `path` in a collection's includes or excludes; 0: none. */
static bool named_by(hob_usd *u, const hob_usd_prim *owner, hob_str name, const char *what, bool only_itself,
					 hob_str path, size_t *out, hob_error *err)
{
	hob_str *targets, property = hob_arena_printf(u->scratch, "%.*s:%s", HOB_FMT(name), what);
	uint32_t count;
	*out = 0;
	if (!property.data)
		return hob_fail_memory(err, u->scratch, "a collection");
	if (!hob_usd_targets(u, owner, property, HOB_USD_T_targetPaths, &targets, &count, err))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		bool fits = only_itself ? hob_str_equal(path, targets[i]) : hob_usd_path_below(path, targets[i]);
		*out = fits && targets[i].len > *out ? targets[i].len : *out;
	}
	return true;
}

/* Whether a collection, "/R.collection:NAME", contains the prim; nested collections are followed. */
static bool holds(hob_usd *u, hob_str collection, hob_str path, uint32_t depth, bool *out, hob_error *err)
{
	size_t dot = hob_str_find(collection, HOB_STR("."), 0), included, excluded;
	*out = false;
	uint32_t id = dot == SIZE_MAX ? HOB_NONE : hob_usd_prim_at(u, hob_str_sub(collection, 0, dot));
	if (id == HOB_NONE || depth > COLLECTIONS_MAX)
		return true;
	const hob_usd_prim *owner = &u->prims[id];
	hob_str name = hob_str_sub(collection, dot + 1, collection.len), *targets;
	hob_str rule = hob_arena_printf(u->scratch, "%.*s:expansionRule", HOB_FMT(name));
	hob_str root = hob_arena_printf(u->scratch, "%.*s:includeRoot", HOB_FMT(name));
	hob_str list = hob_arena_printf(u->scratch, "%.*s:includes", HOB_FMT(name));
	uint32_t count;
	if (!rule.data || !root.data || !list.data)
		return hob_fail_memory(err, u->scratch, "a collection");
	bool only = hob_str_equal(hob_usd_text(hob_usd_still(u, owner, rule)), HOB_STR("explicitOnly"));
	if (!named_by(u, owner, name, "includes", only, path, &included, err) ||
		!named_by(u, owner, name, "excludes", false, path, &excluded, err))
		return false;
	bool all = hob_usd_number(hob_usd_still(u, owner, root), 0) > 0;
	*out = included > excluded || (all && excluded == 0);
	if (*out || excluded > 0)
		return true;
	if (!hob_usd_targets(u, owner, list, HOB_USD_T_targetPaths, &targets, &count, err))
		return false;
	for (uint32_t i = 0; i < count && !*out; i++)
		if (hob_str_find(targets[i], HOB_STR(".collection:"), 0) != SIZE_MAX &&
			!holds(u, targets[i], path, depth + 1, out, err))
			return false;
	return true;
}

/* The material of the prim's first collection that contains `path`. `purpose`: "", or "preview:" or
 * "full:". */
static bool collection_binding(hob_usd *u, const hob_usd_prim *prim, const char *purpose, hob_str path,
							   hob_str *out, bool *stronger, hob_error *err)
{
	char prefix[64] = "material:binding:collection:";
	hob_str *names, *targets;
	uint32_t count, target_count;
	*out = HOB_STR("");
	memcpy(prefix + strlen(prefix), purpose, strlen(purpose) + 1);
	if (!hob_usd_properties(u, prim, hob_str_of(prefix), &names, &count, err))
		return false;
	for (uint32_t i = 0; i < count && out->len == 0; i++) {
		bool inside;
		/* Without a purpose, the prefix is followed by a name only. */
		if (hob_str_find(names[i], HOB_STR(":"), strlen(prefix)) != SIZE_MAX)
			continue;
		if (!hob_usd_targets(u, prim, names[i], HOB_USD_T_targetPaths, &targets, &target_count, err))
			return false;
		if (target_count == 2 && !holds(u, targets[0], path, 0, &inside, err))
			return false;
		if (target_count == 2 && inside && !binding_at(u, prim, names[i], 1, out, stronger, err))
			return false;
	}
	return true;
}

/* The nearest binding counts, unless an ancestor's is marked as stronger; a collection precedes the prim's
 * own binding. Source: UsdShadeMaterialBindingAPI. */
bool hob_usd_binding(hob_usd *u, uint32_t prim, hob_str *out, hob_error *err)
{
	static const struct {
		const char *name, *purpose;
	} kinds[] = {{"material:binding:preview", "preview:"},
				 {"material:binding", ""},
				 {"material:binding:full", "full:"}};
	*out = HOB_STR("");
	for (size_t i = 0; i < HOB_COUNT_OF(kinds) && out->len == 0; i++)
		for (uint32_t p = prim; p != HOB_NONE; p = u->prims[p].parent) {
			hob_str found;
			bool stronger = false;
			if (!collection_binding(u, &u->prims[p], kinds[i].purpose, u->prims[prim].path, &found, &stronger,
									err) ||
				(found.len == 0 &&
				 !binding_at(u, &u->prims[p], hob_str_of(kinds[i].name), 0, &found, &stronger, err)))
				return false;
			if (found.len > 0 && (out->len == 0 || stronger))
				*out = found;
		}
	return true;
}

/* ---- UsdPreviewSurface */

bool hob_usd_surface_input(hob_usd_surface *s, const char *name, float *out, uint32_t width,
						   hob_usd_texture *texture)
{
	hob_usd_source source;
	char property[64] = "inputs:";
	memcpy(property + 7, name, strlen(name) + 1);
	if (!hob_usd_follow(s->b->u, s->shader, property, &source, s->err) ||
		!hob_usd_read_texture(s->b, &source, s->look, texture, s->err))
		return false;
	const hob_usd_value *value = hob_usd_constant(&source);
	for (uint32_t i = 0; value && i < width && i < value->width; i++) {
		double number = hob_usd_component(value, i);
		if (isfinite(number))
			out[i] = (float)number;
	}
	if (source.shader == HOB_NONE || texture->ref.image != HOB_NONE)
		return true;
	static const char channels[] = "rgba";
	const char *one = width == 1 && texture->channel ? strchr(channels, texture->channel) : NULL;
	for (uint32_t i = 0; texture->has_fallback && i < width; i++)
		out[i] = texture->fallback[one ? (uint32_t)(one - channels) : i];
	return true;
}

bool hob_usd_surface_colors(hob_usd_surface *s, const hob_usd_texture *color, float *out)
{
	if (color->primvar.len == 0)
		return true;
	s->look->color_name = hob_arena_str(s->b->u->scratch, color->primvar);
	out[0] = out[1] = out[2] = 1;
	return s->look->color_name.data || hob_fail_memory(s->err, s->b->u->scratch, "a material");
}

static void note_bias(hob_usd_surface *s, const char *what, const hob_usd_texture *t)
{
	for (int i = 0; i < 4; i++)
		if (fabsf(t->bias[i]) > 1e-6f) {
			hob_usd_note(s->b->u, "bias", "material '%.*s': the bias of its %s texture is left out",
						 HOB_FMT(s->to->name), what);
			return;
		}
}

static void note_color(hob_usd_surface *s, const char *what, const hob_usd_texture *t)
{
	note_bias(s, what, t);
	if (t->raw)
		hob_usd_note(s->b->u, "color-space", "material '%.*s': its %s texture says 'raw'; it is read as sRGB",
					 HOB_FMT(s->to->name), what);
}

float hob_usd_unit(float value)
{
	return value > 0 ? value < 1 ? value : 1 : 0;
}

static float scale_of(const hob_usd_texture *t)
{
	return hob_usd_unit(t->scale[t->channel == 'g' ? 1 : t->channel == 'b' ? 2 : t->channel == 'a' ? 3 : 0]);
}

static bool read_base(hob_usd_surface *s, bool specular_workflow)
{
	hob_material *m = s->to;
	hob_usd_texture color, opacity;
	float diffuse[3] = {0.18f, 0.18f, 0.18f}, alpha = 1, threshold[1] = {0}, specular[3] = {0};
	hob_usd_texture none;
	if (!hob_usd_surface_input(s, "diffuseColor", diffuse, 3, &color) ||
		!hob_usd_surface_input(s, "opacity", &alpha, 1, &opacity) ||
		!hob_usd_surface_input(s, "opacityThreshold", threshold, 1, &none))
		return false;
	bool textured = color.ref.image != HOB_NONE, masks = opacity.ref.image != HOB_NONE;
	if (!hob_usd_surface_colors(s, &color, diffuse))
		return false;
	if (textured) {
		memcpy(diffuse, color.scale, sizeof diffuse);
		m->slots[HOB_SLOT_BASE_COLOR] = color.ref;
		note_color(s, "diffuse", &color);
	}
	if (masks) {
		alpha = scale_of(&opacity);
		if (!textured || opacity.ref.image != color.ref.image || opacity.channel != 'a')
			m->slots[HOB_SLOT_OPACITY] = hob_usd_scalar(&opacity);
	}
	for (int i = 0; i < 3; i++)
		m->base_color[i] = hob_usd_unit(diffuse[i]);
	m->base_color[3] = hob_usd_unit(alpha);
	if (threshold[0] > 0) {
		m->alpha_mode = HOB_ALPHA_MASK;
		m->alpha_cutoff = hob_usd_unit(threshold[0]);
	} else if (masks || alpha < 1) {
		m->alpha_mode = HOB_ALPHA_BLEND;
	}
	if (!specular_workflow)
		return true;
	if (!hob_usd_surface_input(s, "specularColor", specular, 3, &none))
		return false;
	if (textured || none.ref.image != HOB_NONE) {
		hob_usd_note(s->b->u, "specular", "material '%.*s': the specular part of its textures is left out",
					 HOB_FMT(m->name));
		return true;
	}
	float base[3];
	m->metallic = hob_spec_gloss_convert(m->base_color, specular, base);
	memcpy(m->base_color, base, sizeof base);
	return true;
}

static bool same_picture(const hob_texture_ref *a, const hob_texture_ref *b)
{
	return a->image == b->image && a->sampler == b->sampler && a->uv_set == b->uv_set &&
		   a->offset[0] == b->offset[0] && a->offset[1] == b->offset[1] && a->scale[0] == b->scale[0] &&
		   a->scale[1] == b->scale[1] && a->rotation == b->rotation;
}

static void one_channel(hob_usd_surface *s, const char *what, const hob_usd_texture *t, hob_slot slot)
{
	bool any = slot == HOB_SLOT_ROUGHNESS || slot == HOB_SLOT_METALLIC;
	if (!any && t->channel != 0 && t->channel != 'r')
		hob_usd_info(s->b->u, "channel",
					 "material '%.*s': its %s texture is read from the channel 'r', not '%c'",
					 HOB_FMT(s->to->name), what, t->channel);
	s->to->slots[slot] = any ? hob_usd_scalar(t) : t->ref;
	note_bias(s, what, t);
}

static bool read_rough_metal(hob_usd_surface *s, bool specular_workflow)
{
	hob_material *m = s->to;
	hob_usd_texture rough, metal;
	float roughness = 0.5f, metallic = 0;
	if (!hob_usd_surface_input(s, "roughness", &roughness, 1, &rough) ||
		!hob_usd_surface_input(s, "metallic", &metallic, 1, &metal))
		return false;
	bool has_rough = rough.ref.image != HOB_NONE,
		 has_metal = metal.ref.image != HOB_NONE && !specular_workflow;
	m->roughness = has_rough ? scale_of(&rough) : hob_usd_unit(roughness);
	if (!specular_workflow)
		m->metallic = has_metal ? scale_of(&metal) : hob_usd_unit(metallic);
	bool packed =
		has_rough && rough.channel == 'g' &&
		(has_metal ? metal.channel == 'b' && same_picture(&rough.ref, &metal.ref) : m->metallic == 0);
	if (packed) {
		m->slots[HOB_SLOT_METAL_ROUGH] = rough.ref;
		return true;
	}
	if (has_rough)
		one_channel(s, "roughness", &rough, HOB_SLOT_ROUGHNESS);
	if (has_metal)
		one_channel(s, "metallic", &metal, HOB_SLOT_METALLIC);
	return true;
}

static bool read_normal(hob_usd_surface *s)
{
	hob_usd_texture t;
	float unused[3] = {0};
	if (!hob_usd_surface_input(s, "normal", unused, 3, &t))
		return false;
	if (t.ref.image == HOB_NONE)
		return true;
	s->to->slots[HOB_SLOT_NORMAL] = t.ref;
	bool stated = t.scale[0] != 1 || t.bias[0] != 0;
	if (stated && t.scale[0] > 0)
		s->to->normal_scale = t.scale[0] / 2;
	if (stated && t.scale[1] < 0)
		hob_usd_note(s->b->u, "normal-flipped",
					 "material '%.*s': the green of its normal map points down; it is read as if up",
					 HOB_FMT(s->to->name));
	return true;
}

static bool read_rest(hob_usd_surface *s)
{
	hob_material *m = s->to;
	hob_usd_texture t, coat, coat_rough;
	float occlusion = 1, displacement = 0, rough = 0.01f;
	m->ior = 1.5f;
	if (!hob_usd_surface_input(s, "emissiveColor", m->emissive, 3, &t))
		return false;
	if (t.ref.image != HOB_NONE) {
		m->slots[HOB_SLOT_EMISSIVE] = t.ref;
		memcpy(m->emissive, t.scale, sizeof m->emissive);
		note_color(s, "emissive", &t);
	}
	for (int i = 0; i < 3; i++)
		m->emissive[i] = m->emissive[i] > 0 ? m->emissive[i] : 0;
	if (!hob_usd_surface_input(s, "occlusion", &occlusion, 1, &t))
		return false;
	if (t.ref.image != HOB_NONE)
		one_channel(s, "occlusion", &t, HOB_SLOT_OCCLUSION);
	if (!hob_usd_surface_input(s, "ior", &m->ior, 1, &t) ||
		!hob_usd_surface_input(s, "clearcoat", &m->clearcoat, 1, &coat) ||
		!hob_usd_surface_input(s, "clearcoatRoughness", &rough, 1, &coat_rough) ||
		!hob_usd_surface_input(s, "displacement", &displacement, 1, &t))
		return false;
	m->ior = m->ior >= 1 && m->ior < 100 ? m->ior : 1.5f;
	if (m->ior != 1.5f)
		m->ext_mask |= 1u << HOB_MATERIAL_IOR;
	if (coat.ref.image != HOB_NONE) {
		m->slots[HOB_SLOT_CLEARCOAT] = coat.ref;
		m->clearcoat = scale_of(&coat);
	}
	m->clearcoat = hob_usd_unit(m->clearcoat);
	if (m->clearcoat > 0) {
		m->ext_mask |= 1u << HOB_MATERIAL_CLEARCOAT;
		m->clearcoat_roughness = hob_usd_unit(rough);
		if (coat_rough.ref.image != HOB_NONE) {
			m->slots[HOB_SLOT_CLEARCOAT_ROUGH] = coat_rough.ref;
			m->clearcoat_roughness = 1;
		}
	} else {
		m->slots[HOB_SLOT_CLEARCOAT].image = HOB_NONE;
	}
	if (displacement != 0 || t.ref.image != HOB_NONE)
		hob_usd_note(s->b->u, "displacement", "material '%.*s': its displacement is left out",
					 HOB_FMT(m->name));
	return true;
}

static bool read_surface(hob_usd_surface *s)
{
	float workflow = 0;
	hob_usd_texture none;
	if (!hob_usd_surface_input(s, "useSpecularWorkflow", &workflow, 1, &none))
		return false;
	/* Roughness and metal first: the specular workflow computes metal itself. */
	return read_rough_metal(s, workflow != 0) && read_base(s, workflow != 0) && read_normal(s) &&
		   read_rest(s);
}

/* ---- the material */

static bool find_surface(hob_usd *u, uint32_t material, uint32_t *out, hob_error *err)
{
	static const char *const outputs[] = {"outputs:surface", "outputs:mtlx:surface", "outputs:mdl:surface"};
	*out = HOB_NONE;
	for (size_t i = 0; i < HOB_COUNT_OF(outputs) && *out == HOB_NONE; i++) {
		hob_usd_source source;
		if (!hob_usd_follow(u, material, outputs[i], &source, err))
			return false;
		*out = source.shader;
	}
	return true;
}

static bool read_material(hob_usd_build_t *b, uint32_t prim, hob_material *to, hob_usd_look *look,
						  hob_error *err)
{
	hob_usd *u = b->u;
	hob_usd_surface s = {.b = b, .to = to, .look = look, .err = err};
	if (!find_surface(u, prim, &s.shader, err))
		return false;
	if (s.shader == HOB_NONE) {
		hob_usd_note(u, "no-surface", "material '%.*s' has no surface shader; it stays plain",
					 HOB_FMT(u->prims[prim].path));
		return true;
	}
	hob_str id = hob_usd_shader_id(u, s.shader);
	if (hob_str_equal(id, HOB_STR("UsdPreviewSurface")) ||
		hob_str_starts(id, HOB_STR("ND_UsdPreviewSurface")))
		return read_surface(&s);
	bool known;
	if (!hob_usd_mtlx_surface(&s, id, &known))
		return false;
	if (!known && !hob_usd_mdl_surface(&s, id, &known))
		return false;
	if (known)
		return true;
	hob_usd_note(u, "shader-unknown", "material '%.*s': its surface '%.*s' is not read; it stays plain",
				 HOB_FMT(u->prims[prim].path), HOB_FMT(id));
	return true;
}

static bool add_material(hob_usd_build_t *b, hob_str name, hob_material **out, hob_usd_look **look,
						 uint32_t *id, hob_error *err)
{
	hob_model *m = &b->model;
	hob_arena *arena = b->u->scratch;
	if (m->material_count >= HOB_LIMIT_MATERIALS)
		return hob_fail(err, LIMIT, "more than %llu materials", HOB_LIMIT_MATERIALS);
	m->materials = (hob_material *)hob_usd_more(arena, m->materials, m->material_count, &b->material_room,
												sizeof *m->materials);
	b->looks =
		(hob_usd_look *)hob_usd_more(arena, b->looks, m->material_count, &b->look_room, sizeof *b->looks);
	hob_str kept = hob_text_name(b->u->result, name);
	if (!m->materials || !b->looks || !kept.data)
		return hob_fail_memory(err, arena, "materials");
	*id = m->material_count++;
	*out = &m->materials[*id];
	*look = &b->looks[*id];
	**look = (hob_usd_look){0};
	hob_shape_plain_material(*out, kept);
	return true;
}

bool hob_usd_material(hob_usd_build_t *b, hob_str path, bool double_sided, const float *color, bool sheer,
					  uint32_t *out, hob_error *err)
{
	uint32_t prim = path.len > 0 ? hob_usd_prim_at(b->u, path) : HOB_NONE;
	float shown[4] = {1, 1, 1, 1};
	for (int i = 0; color && i < 4; i++)
		shown[i] = isfinite(color[i]) ? hob_usd_unit(color[i]) : 1;
	hob_str key = prim != HOB_NONE ? hob_arena_printf(b->u->scratch, "%d%.*s", double_sided, HOB_FMT(path))
								   : hob_arena_printf(b->u->scratch, "%d%d %a %a %a %a", double_sided, sheer,
													  (double)shown[0], (double)shown[1], (double)shown[2],
													  (double)shown[3]);
	if (!key.data)
		return hob_fail_memory(err, b->u->scratch, "materials");
	*out = hob_name_map_get(&b->material_map, key);
	if (*out != HOB_NONE)
		return true;
	hob_material *material;
	hob_usd_look *look;
	hob_str name = prim != HOB_NONE ? b->u->tokens[b->u->prims[prim].name] : HOB_STR("");
	if (!add_material(b, name, &material, &look, out, err))
		return false;
	material->double_sided = double_sided;
	if (prim == HOB_NONE) {
		memcpy(material->base_color, shown, sizeof shown);
		material->alpha_mode = sheer || shown[3] < 1 ? HOB_ALPHA_BLEND : HOB_ALPHA_OPAQUE;
	} else if (!read_material(b, prim, material, look, err)) {
		return hob_fail_in(err, "material '%.*s'", HOB_FMT(path));
	}
	return hob_name_map_add(&b->material_map, key, *out, NULL) ||
		   hob_fail_memory(err, b->u->scratch, "materials");
}
