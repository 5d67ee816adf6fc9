#include "gltf_private.h"

#include "../../model/spec_gloss.h"

#include <math.h>

/* JSON parent of a value or a texture: an object of the material, an extension, or the material itself. */
typedef enum place {
	IN_MATERIAL,
	IN_PBR,
	IN_SPECULAR,
	IN_IOR,
	IN_EMISSIVE_STRENGTH,
	IN_CLEARCOAT,
	IN_SHEEN,
	IN_TRANSMISSION,
	IN_VOLUME,
	IN_IRIDESCENCE,
	IN_ANISOTROPY,
	IN_DISPERSION,
	IN_DIFFUSE_TRANSMISSION,
	IN_UNLIT,
	PLACE_COUNT
} place_t;

static const struct {
	const char *extension; /* NULL: no extension */
	hob_material_ext bit;
} places[PLACE_COUNT] = {
	[IN_SPECULAR] = {"KHR_materials_specular", HOB_MATERIAL_SPECULAR},
	[IN_IOR] = {"KHR_materials_ior", HOB_MATERIAL_IOR},
	[IN_EMISSIVE_STRENGTH] = {"KHR_materials_emissive_strength", HOB_MATERIAL_EMISSIVE_STRENGTH},
	[IN_CLEARCOAT] = {"KHR_materials_clearcoat", HOB_MATERIAL_CLEARCOAT},
	[IN_SHEEN] = {"KHR_materials_sheen", HOB_MATERIAL_SHEEN},
	[IN_TRANSMISSION] = {"KHR_materials_transmission", HOB_MATERIAL_TRANSMISSION},
	[IN_VOLUME] = {"KHR_materials_volume", HOB_MATERIAL_VOLUME},
	[IN_IRIDESCENCE] = {"KHR_materials_iridescence", HOB_MATERIAL_IRIDESCENCE},
	[IN_ANISOTROPY] = {"KHR_materials_anisotropy", HOB_MATERIAL_ANISOTROPY},
	[IN_DISPERSION] = {"KHR_materials_dispersion", HOB_MATERIAL_DISPERSION},
	[IN_DIFFUSE_TRANSMISSION] = {"KHR_materials_diffuse_transmission", HOB_MATERIAL_DIFFUSE_TRANSMISSION},
	[IN_UNLIT] = {"KHR_materials_unlit", HOB_MATERIAL_UNLIT},
};

#define ANY_MIN -3.0e38f
#define ANY_MAX 3.0e38f

static const struct {
	place_t place;
	const char *key;
	uint32_t offset, count; /* in hob_material; count 0: a single number */
	float min, max;
} factors[] = {
#define AT(field) offsetof(hob_material, field)
	{IN_PBR, "baseColorFactor", AT(base_color), 4, 0, 1},
	{IN_PBR, "metallicFactor", AT(metallic), 0, 0, 1},
	{IN_PBR, "roughnessFactor", AT(roughness), 0, 0, 1},
	{IN_MATERIAL, "emissiveFactor", AT(emissive), 3, 0, 1},
	{IN_MATERIAL, "alphaCutoff", AT(alpha_cutoff), 0, 0, ANY_MAX},
	{IN_EMISSIVE_STRENGTH, "emissiveStrength", AT(emissive_strength), 0, 0, ANY_MAX},
	{IN_SPECULAR, "specularFactor", AT(specular), 0, 0, 1},
	{IN_SPECULAR, "specularColorFactor", AT(specular_color), 3, 0, ANY_MAX},
	{IN_IOR, "ior", AT(ior), 0, 0, ANY_MAX},
	{IN_CLEARCOAT, "clearcoatFactor", AT(clearcoat), 0, 0, 1},
	{IN_CLEARCOAT, "clearcoatRoughnessFactor", AT(clearcoat_roughness), 0, 0, 1},
	{IN_SHEEN, "sheenColorFactor", AT(sheen_color), 3, 0, 1},
	{IN_SHEEN, "sheenRoughnessFactor", AT(sheen_roughness), 0, 0, 1},
	{IN_TRANSMISSION, "transmissionFactor", AT(transmission), 0, 0, 1},
	{IN_VOLUME, "thicknessFactor", AT(thickness), 0, 0, ANY_MAX},
	{IN_VOLUME, "attenuationColor", AT(attenuation_color), 3, 0, 1},
	{IN_VOLUME, "attenuationDistance", AT(attenuation_distance), 0, 1e-30f, INFINITY},
	{IN_IRIDESCENCE, "iridescenceFactor", AT(iridescence), 0, 0, 1},
	{IN_IRIDESCENCE, "iridescenceIor", AT(iridescence_ior), 0, 1, ANY_MAX},
	{IN_IRIDESCENCE, "iridescenceThicknessMinimum", AT(iridescence_min), 0, 0, ANY_MAX},
	{IN_IRIDESCENCE, "iridescenceThicknessMaximum", AT(iridescence_max), 0, 0, ANY_MAX},
	{IN_ANISOTROPY, "anisotropyStrength", AT(anisotropy), 0, 0, 1},
	{IN_ANISOTROPY, "anisotropyRotation", AT(anisotropy_rotation), 0, ANY_MIN, ANY_MAX},
	{IN_DISPERSION, "dispersion", AT(dispersion), 0, 0, ANY_MAX},
	{IN_DIFFUSE_TRANSMISSION, "diffuseTransmissionFactor", AT(diffuse_transmission), 0, 0, 1},
	{IN_DIFFUSE_TRANSMISSION, "diffuseTransmissionColorFactor", AT(diffuse_transmission_color), 3, 0, 1},
#undef AT
};

static const struct {
	place_t place;
	const char *key;
	hob_slot slot;
	const char *scale; /* factor in the texture info */
	uint32_t scale_offset;
} textures[] = {
	{IN_PBR, "baseColorTexture", HOB_SLOT_BASE_COLOR, NULL, 0},
	{IN_PBR, "metallicRoughnessTexture", HOB_SLOT_METAL_ROUGH, NULL, 0},
	{IN_MATERIAL, "normalTexture", HOB_SLOT_NORMAL, "scale", offsetof(hob_material, normal_scale)},
	{IN_MATERIAL, "occlusionTexture", HOB_SLOT_OCCLUSION, "strength",
	 offsetof(hob_material, occlusion_strength)},
	{IN_MATERIAL, "emissiveTexture", HOB_SLOT_EMISSIVE, NULL, 0},
	{IN_SPECULAR, "specularTexture", HOB_SLOT_SPECULAR, NULL, 0},
	{IN_SPECULAR, "specularColorTexture", HOB_SLOT_SPECULAR_COLOR, NULL, 0},
	{IN_CLEARCOAT, "clearcoatTexture", HOB_SLOT_CLEARCOAT, NULL, 0},
	{IN_CLEARCOAT, "clearcoatRoughnessTexture", HOB_SLOT_CLEARCOAT_ROUGH, NULL, 0},
	{IN_CLEARCOAT, "clearcoatNormalTexture", HOB_SLOT_CLEARCOAT_NORMAL, "scale",
	 offsetof(hob_material, clearcoat_normal_scale)},
	{IN_TRANSMISSION, "transmissionTexture", HOB_SLOT_TRANSMISSION, NULL, 0},
	{IN_SHEEN, "sheenColorTexture", HOB_SLOT_SHEEN_COLOR, NULL, 0},
	{IN_SHEEN, "sheenRoughnessTexture", HOB_SLOT_SHEEN_ROUGH, NULL, 0},
	{IN_VOLUME, "thicknessTexture", HOB_SLOT_THICKNESS, NULL, 0},
	{IN_ANISOTROPY, "anisotropyTexture", HOB_SLOT_ANISOTROPY, NULL, 0},
	{IN_IRIDESCENCE, "iridescenceTexture", HOB_SLOT_IRIDESCENCE, NULL, 0},
	{IN_IRIDESCENCE, "iridescenceThicknessTexture", HOB_SLOT_IRIDESCENCE_THICKNESS, NULL, 0},
	{IN_DIFFUSE_TRANSMISSION, "diffuseTransmissionTexture", HOB_SLOT_DIFFUSE_TRANSMISSION, NULL, 0},
	{IN_DIFFUSE_TRANSMISSION, "diffuseTransmissionColorTexture", HOB_SLOT_DIFFUSE_TRANSMISSION_COLOR, NULL,
	 0},
};

/* ---- factors */

static void read_factor(hob_gltf *g, const cJSON *object, const char *key, uint32_t count, float min,
						float max, float *values, const char *material)
{
	float before[4] = {0};
	uint32_t width = count ? count : 1;
	memcpy(before, values, width * sizeof *before);
	if (count)
		hob_gltf_floats(object, key, count, values);
	else
		hob_gltf_float(object, key, values);
	for (uint32_t i = 0; i < width; i++) {
		float value = values[i];
		if (value == before[i] || (value >= min && value <= max))
			continue;
		values[i] = value < min ? min : max;
		hob_gltf_note(g, "factor-range", "material '%s': %s is outside its range and was clamped", material,
					  key);
	}
}

static float *field_at(hob_material *material, uint32_t offset)
{
	return (float *)(void *)((char *)material + offset);
}

/* ---- textures */

static void read_transform(hob_gltf *g, const cJSON *info, hob_texture_ref *ref, size_t *uv_set,
						   const char *material)
{
	const cJSON *json = hob_gltf_extension(info, "KHR_texture_transform");
	if (!json)
		return;
	hob_texture_ref moved = *ref;
	HOB_PLACE("KHR_texture_transform", 0, {0});
	hob_gltf_floats(json, "offset", 2, moved.offset);
	hob_gltf_floats(json, "scale", 2, moved.scale);
	hob_gltf_float(json, "rotation", &moved.rotation);
	*uv_set = hob_gltf_size(json, "texCoord", *uv_set);
	if (isfinite(moved.offset[0]) && isfinite(moved.offset[1]) && isfinite(moved.scale[0]) &&
		isfinite(moved.scale[1]) && isfinite(moved.rotation))
		*ref = moved;
	else
		hob_gltf_note(g, "texture-transform",
					  "material '%s': a texture transform is not finite and was dropped", material);
}

typedef struct texture_index {
	const cJSON *info;
	uint32_t id;
} texture_index_t;

static void read_index(hob_gltf *g, uint32_t id, void *to)
{
	texture_index_t *index = to;
	(void)id;
	index->id = hob_gltf_need_id(index->info, "index", g->textures.count);
}

static void read_texture(hob_gltf *g, const cJSON *info, hob_texture_ref *ref, const char *material)
{
	texture_index_t index = {.info = info};
	hob_texture_ref found = *ref;
	hob_error why = {0};
	if (!hob_gltf_try(g, read_index, 0, &index, &why)) {
		hob_gltf_note(g, "texture-reference",
					  "material '%s' has a texture that does not exist (%s); it is left out", material,
					  why.context);
		return;
	}
	size_t uv_set = hob_gltf_size(info, "texCoord", 0);
	hob_gltf_texture(g, index.id, &found);
	read_transform(g, info, &found, &uv_set, material);
	if (uv_set >= HOB_UV_SETS) {
		hob_gltf_note(g, "uv-set", "material '%s': texCoord %zu is not supported (0 to %d are), 0 is used",
					  material, uv_set, HOB_UV_SETS - 1);
		uv_set = 0;
	}
	found.uv_set = (uint32_t)uv_set;
	if (found.image != HOB_NONE)
		*ref = found;
}

/* As read_texture, with the key as a place; `info` may be NULL. */
static void read_named(hob_gltf *g, const cJSON *info, const char *key, hob_texture_ref *ref,
					   const char *material)
{
	HOB_PLACE("@", 0, hob_str_of(key));
	if (info)
		read_texture(g, info, ref, material);
}

/* ---- specular-glossiness */

static void convert_factors(const float diffuse[4], const float specular[3], hob_material *out)
{
	float metallic = hob_spec_gloss_convert(diffuse, specular, out->base_color);
	out->base_color[3] = diffuse[3];
	out->metallic = metallic;
}

static bool same_wrap(const hob_gltf *g, uint32_t a, uint32_t b)
{
	hob_sampler x = a == HOB_NONE ? (hob_sampler){0} : g->model.samplers[a];
	hob_sampler y = b == HOB_NONE ? (hob_sampler){0} : g->model.samplers[b];
	return x.wrap_u == y.wrap_u && x.wrap_v == y.wrap_v;
}

static bool same_place(const hob_gltf *g, const hob_texture_ref *a, const hob_texture_ref *b)
{
	return a->uv_set == b->uv_set && a->offset[0] == b->offset[0] && a->offset[1] == b->offset[1] &&
		   a->scale[0] == b->scale[0] && a->scale[1] == b->scale[1] && a->rotation == b->rotation &&
		   same_wrap(g, a->sampler, b->sampler);
}

static uint32_t add_made(hob_gltf *g, const hob_made_image *how, const char *material)
{
	hob_made_image *made = HOB_NEW(g->result, hob_made_image, 1);
	hob_str name = hob_arena_printf(g->result, "%s %s", material,
									how->is_metal_rough ? "metallic-roughness" : "base colour");
	*made = *how;
	g->model.images[g->model.image_count] = (hob_image){.name = name, .made = made};
	return g->model.image_count++;
}

/* Both textures must have the same placement, unless one is missing. */
static void convert_textures(hob_gltf *g, hob_made_image *how, const hob_texture_ref *diffuse,
							 const hob_texture_ref *specular, hob_material *out, const char *name)
{
	const hob_texture_ref *place = diffuse->image != HOB_NONE ? diffuse : specular;
	how->has_diffuse = diffuse->image != HOB_NONE, how->has_specular = specular->image != HOB_NONE;
	if (how->has_diffuse)
		how->diffuse = g->model.images[diffuse->image];
	if (how->has_specular)
		how->specular = g->model.images[specular->image];
	for (int i = 0; i < 2; i++) {
		hob_slot slot = i ? HOB_SLOT_METAL_ROUGH : HOB_SLOT_BASE_COLOR;
		how->is_metal_rough = i == 1;
		out->slots[slot] = *place;
		out->slots[slot].image = add_made(g, how, name);
	}
	out->metallic = out->roughness = 1;
	hob_gltf_info(g, "spec-gloss",
				  "material '%s': its specular-glossiness textures are converted to base colour and "
				  "metallic-roughness",
				  name);
}

static void read_spec_gloss(hob_gltf *g, const cJSON *json, hob_material *out, const char *name)
{
	float diffuse[4] = {1, 1, 1, 1};
	hob_made_image how = {.specular_factor = {1, 1, 1}, .glossiness = 1};
	HOB_PLACE("KHR_materials_pbrSpecularGlossiness", 0, {0});
	read_factor(g, json, "diffuseFactor", 4, 0, 1, diffuse, name);
	read_factor(g, json, "specularFactor", 3, 0, 1, how.specular_factor, name);
	read_factor(g, json, "glossinessFactor", 0, 0, 1, &how.glossiness, name);
	const cJSON *diffuse_map = hob_gltf_object(json, "diffuseTexture");
	const cJSON *gloss_map = hob_gltf_object(json, "specularGlossinessTexture");
	memcpy(how.diffuse_factor, diffuse, sizeof how.diffuse_factor);
	hob_texture_ref base = {.image = HOB_NONE, .sampler = HOB_NONE, .scale = {1, 1}}, gloss = base;
	read_named(g, diffuse_map, "diffuseTexture", &base, name);
	read_named(g, gloss_map, "specularGlossinessTexture", &gloss, name);
	out->slots[HOB_SLOT_BASE_COLOR] = base;
	out->slots[HOB_SLOT_METAL_ROUGH].image = HOB_NONE;
	out->ext_mask |= 1u << HOB_MATERIAL_SPEC_GLOSS;
	out->roughness = 1 - how.glossiness;
	bool apart = base.image != HOB_NONE && gloss.image != HOB_NONE && !same_place(g, &base, &gloss);
	if (!apart && (gloss.image != HOB_NONE ||
				   (base.image != HOB_NONE && hob_spec_gloss_has_metal(how.specular_factor)))) {
		memcpy(out->base_color, (float[4]){1, 1, 1, diffuse[3]}, sizeof out->base_color);
		convert_textures(g, &how, &base, &gloss, out, name);
		return;
	}
	if (!apart) {
		convert_factors(diffuse, how.specular_factor, out);
		return;
	}
	/* The factors only scale the map and default to white, so they say nothing about metal. */
	memcpy(out->base_color, diffuse, sizeof diffuse);
	out->metallic = 0;
	out->roughness = 1 - how.glossiness / 2;
	hob_gltf_note(g, "spec-gloss-apart",
				  "material '%s': its specularGlossinessTexture is not used, because its diffuseTexture has "
				  "other texture coordinates, another transform or wrap mode; give both the same, or convert "
				  "the material to metal-rough",
				  name);
}

/* ---- one material */

static void read_alpha(hob_gltf *g, const cJSON *json, hob_material *out)
{
	static const hob_str modes[] = {{"OPAQUE", 6}, {"MASK", 4}, {"BLEND", 5}};
	hob_str mode = hob_gltf_string(json, "alphaMode");
	hob_gltf_bool(json, "doubleSided", &out->double_sided);
	for (size_t i = 0; i < HOB_COUNT_OF(modes); i++)
		if (hob_str_equal(mode, modes[i])) {
			out->alpha_mode = (hob_alpha_mode)i;
			return;
		}
	if (mode.len > 0)
		hob_gltf_note(g, "alpha-mode", "material '%.*s': alphaMode '%.*s' is unknown, OPAQUE is used",
					  HOB_FMT(out->name), HOB_FMT(mode));
}

static void read_material(hob_gltf *g, uint32_t id, void *to)
{
	const cJSON *json = g->materials.items[id];
	hob_material *out = to;
	hob_material_init(out);
	out->name = hob_gltf_name(g, json);
	hob_gltf_extras(g, json, &out->extras);
	read_alpha(g, json, out);
	const char *name = out->name.data ? out->name.data : "";
	const cJSON *objects[PLACE_COUNT] = {[IN_MATERIAL] = json};
	objects[IN_PBR] = hob_gltf_object(json, "pbrMetallicRoughness");
	for (int i = IN_SPECULAR; i < PLACE_COUNT; i++) {
		objects[i] = hob_gltf_extension(json, places[i].extension);
		if (objects[i])
			out->ext_mask |= 1u << places[i].bit;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(factors); i++) {
		const cJSON *object = objects[factors[i].place];
		if (object)
			read_factor(g, object, factors[i].key, factors[i].count, factors[i].min, factors[i].max,
						field_at(out, factors[i].offset), name);
	}
	for (size_t i = 0; i < HOB_COUNT_OF(textures); i++) {
		const cJSON *info = hob_gltf_object(objects[textures[i].place], textures[i].key);
		if (!info)
			continue;
		HOB_PLACE("@", 0, hob_str_of(textures[i].key));
		read_texture(g, info, &out->slots[textures[i].slot], name);
		if (textures[i].scale)
			read_factor(g, info, textures[i].scale, 0, ANY_MIN, ANY_MAX,
						field_at(out, textures[i].scale_offset), name);
	}
	const cJSON *spec_gloss = hob_gltf_extension(json, "KHR_materials_pbrSpecularGlossiness");
	/* Some exporters write 0 for "no absorption". */
	if (!(out->attenuation_distance > 1e-20f))
		out->attenuation_distance = INFINITY;
	/* pbrMetallicRoughness beside the extension is a fallback for other readers, often an empty one. */
	if (spec_gloss)
		read_spec_gloss(g, spec_gloss, out, name);
}

static void read_variants(hob_gltf *g)
{
	hob_model *model = &g->model;
	model->variants = HOB_NEW(g->result, hob_str, g->variants.count);
	for (uint32_t i = 0; i < g->variants.count; i++) {
		HOB_PLACE("variants[#]", i, {0});
		model->variants[i] = hob_gltf_name(g, g->variants.items[i]);
	}
	model->variant_count = g->variants.count;
}

static void mark(const cJSON *id, bool *used, uint32_t count)
{
	if (cJSON_IsNumber(id) && id->valuedouble >= 0 && id->valuedouble < count)
		used[(uint32_t)id->valuedouble] = true;
}

/* Materials in use by a primitive; all of them in a library without meshes. */
static bool *used_materials(hob_gltf *g)
{
	bool *used = HOB_NEW(g->scratch, bool, g->materials.count);
	for (uint32_t i = 0; i < g->materials.count; i++)
		used[i] = g->meshes.count == 0;
	for (uint32_t i = 0; i < g->meshes.count; i++) {
		const cJSON *list = hob_json_get(g->meshes.items[i], "primitives");
		for (const cJSON *p = list ? list->child : NULL; p; p = p->next) {
			const cJSON *variants = hob_json_get(hob_json_get(p, "extensions"), "KHR_materials_variants");
			const cJSON *mappings = hob_json_get(variants, "mappings");
			mark(hob_json_get(p, "material"), used, g->materials.count);
			for (const cJSON *m = mappings ? mappings->child : NULL; m; m = m->next)
				mark(hob_json_get(m, "material"), used, g->materials.count);
		}
	}
	return used;
}

void hob_gltf_import_materials(hob_gltf *g)
{
	hob_model *model = &g->model;
	bool *used = used_materials(g);
	model->materials = HOB_NEW(g->result, hob_material, g->materials.count);
	for (uint32_t i = 0; i < g->materials.count; i++) {
		hob_error why = {0};
		HOB_GLTF_PLACE("materials[#] '@'", i, g->materials);
		if (hob_gltf_try(g, read_material, i, &model->materials[i], &why))
			continue;
		hob_gltf_drop(&why, used[i]);
		hob_material_init(&model->materials[i]);
		hob_gltf_note(g, "unused-broken", "materials[%u] '%s', which nothing uses, is damaged: %s", i,
					  hob_gltf_label(g->materials.items[i]), why.context);
	}
	model->material_count = g->materials.count;
	read_variants(g);
}
