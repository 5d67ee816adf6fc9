#include "fbx_private.h"
#include "../shape.h"

#include <math.h>
#include <stdio.h>

typedef enum shader_kind {
	CLASSIC,
	BLENDER,
	MAYA,
	PHYSICAL,
	OPENPBR,
	MAX_GLTF,
	MAX_PBR,
	MAX_GLOSS,
	STINGRAY
} shader_kind;

/* MEANING(meaning, slot of its texture, extension that the texture turns on). COUNT: Hob has no such map. */
#define MEANINGS_OF(MEANING)                                                                                 \
	MEANING(BASE, BASE_COLOR, 0)                                                                             \
	MEANING(BASE_FACTOR, COUNT, 0)                                                                           \
	MEANING(METAL, METALLIC, 0)                                                                              \
	MEANING(ROUGH, ROUGHNESS, 0)                                                                             \
	MEANING(GLOSS, COUNT, 0)                                                                                 \
	MEANING(EMISSION, EMISSIVE, 0)                                                                           \
	MEANING(EMISSION_FACTOR, COUNT, 0)                                                                       \
	MEANING(OPACITY, OPACITY, 0)                                                                             \
	MEANING(TRANSPARENCY, COUNT, 0)                                                                          \
	MEANING(NORMAL, NORMAL, 0)                                                                               \
	MEANING(BUMP, BUMP, 0)                                                                                   \
	MEANING(OCCLUSION, OCCLUSION, 0)                                                                         \
	MEANING(SPECULAR, COUNT, 0)                                                                              \
	MEANING(SPECULAR_COLOR, SPECULAR_COLOR, 1u << HOB_MATERIAL_SPECULAR)                                     \
	MEANING(IOR, COUNT, 0)                                                                                   \
	MEANING(ANISOTROPY, COUNT, 0)                                                                            \
	MEANING(ANISOTROPY_RATIO, COUNT, 0)                                                                      \
	MEANING(TRANSMISSION, TRANSMISSION, 1u << HOB_MATERIAL_TRANSMISSION)                                     \
	MEANING(COAT, CLEARCOAT, 1u << HOB_MATERIAL_CLEARCOAT)                                                   \
	MEANING(COAT_ROUGH, CLEARCOAT_ROUGH, 1u << HOB_MATERIAL_CLEARCOAT)                                       \
	MEANING(COAT_NORMAL, CLEARCOAT_NORMAL, 1u << HOB_MATERIAL_CLEARCOAT)                                     \
	MEANING(SHEEN, SHEEN_COLOR, 1u << HOB_MATERIAL_SHEEN)                                                    \
	MEANING(SHEEN_FACTOR, COUNT, 0)                                                                          \
	MEANING(SHEEN_ROUGH, SHEEN_ROUGH, 1u << HOB_MATERIAL_SHEEN)                                              \
	MEANING(THICKNESS, THICKNESS, 1u << HOB_MATERIAL_VOLUME)                                                 \
	MEANING(DEPTH, COUNT, 0)                                                                                 \
	MEANING(DEPTH_COLOR, COUNT, 0)                                                                           \
	MEANING(UNLIT, COUNT, 0)                                                                                 \
	MEANING(DOUBLE_SIDED, COUNT, 0)                                                                          \
	MEANING(UNREAD, COUNT, 0) /* a weight that materials of Hob do not have */

#define MEANING(meaning, slot, ext) meaning,
typedef enum meaning_kind { MEANINGS_OF(MEANING) MEANINGS } meaning_kind;
#undef MEANING

#define MEANING(meaning, slot, ext) {HOB_SLOT_##slot, ext},
static const struct {
	hob_slot slot;
	uint32_t ext;
} places[MEANINGS] = {MEANINGS_OF(MEANING)};
#undef MEANING

static const struct row {
	shader_kind shader;
	const char *value, *map;
	meaning_kind meaning;
} rows[] = {
#define ROW(shader, value, map, meaning) {shader, value, map, meaning},
#include "fbx_shader.def"
#undef ROW
};

static const char *const prefixes[] = {
	[MAYA] = "Maya|",		[PHYSICAL] = "3dsMax|Parameters|", [OPENPBR] = "3dsMax|Parameters|",
	[MAX_GLTF] = "3dsMax|", [MAX_PBR] = "3dsMax|main|",		   [MAX_GLOSS] = "3dsMax|main|",
	[STINGRAY] = "Maya|",
};

/* Values of the file before conversion to a material. */
typedef struct reading {
	hob_fbx *f;
	uint32_t object;
	hob_material *to;
	double value[MEANINGS][3];
	double factor[MEANINGS]; /* product, for the ..._FACTOR meanings */
	bool has[MEANINGS], mapped[MEANINGS];
	uint32_t ignored;
	const char *unread; /* one of the unsupported weights */
} reading;

/* ---- which shader */

static shader_kind shader_of(const hob_fbx *f, uint32_t o)
{
	uint32_t a = (uint32_t)hob_fbx_prop_integer(f, o, HOB_STR("3dsMax|ClassIDa"), 0);
	uint32_t b = (uint32_t)hob_fbx_prop_integer(f, o, HOB_STR("3dsMax|ClassIDb"), 0);
	static const struct {
		uint32_t a, b;
		shader_kind shader;
	} ids[] = {{0x3d6b1cec, 0xdeadc001, PHYSICAL},
			   {0xf1551e33, 0x37fb1337, OPENPBR},
			   {0x38420192, 0x45fe4e1b, MAX_GLTF},
			   {0xd00f1e00, 0xbe77e500, MAX_PBR},
			   {0xd00f1e00, 0x01dbad33, MAX_GLOSS}};
	for (size_t i = 0; i < HOB_COUNT_OF(ids); i++)
		if (a == ids[i].a && b == ids[i].b)
			return ids[i].shader;
	uint32_t implementation = hob_fbx_below(f, o, HOB_FBX_IMPLEMENTATION, (hob_str){0});
	HOB_FBX_EACH_ABOVE (edge, f, o, IMPLEMENTATION, "")
		implementation = implementation == HOB_NONE ? edge->parent : implementation;
	if (implementation != HOB_NONE) {
		hob_str api = hob_fbx_prop_text(f, implementation, HOB_STR("RenderAPI"));
		if (hob_str_equal(api, HOB_STR("ARNOLD_SHADER_ID")) || hob_str_equal(api, HOB_STR("OSL")))
			return MAYA;
		if (hob_str_equal(api, HOB_STR("SFX_PBS_SHADER")))
			return STINGRAY;
	}
	return f->is_blender_new ? BLENDER : CLASSIC;
}

/* ---- values and maps */

static bool get_numbers(const reading *r, hob_str name, double out[3])
{
	hob_fbx_cursor cursor;
	hob_fbx_value value;
	if (!hob_fbx_prop(r->f, r->object, name, &cursor))
		return false;
	int count = 0;
	while (count < 3 && hob_fbx_next(r->f, &cursor, &value) &&
		   (value.type == HOB_FBX_INTEGER || value.type == HOB_FBX_REAL) && isfinite(value.real))
		out[count++] = value.real;
	for (int k = count; k < 3 && count > 0; k++)
		out[k] = out[0];
	return count > 0;
}

static uint32_t texture_at(const reading *r, hob_str property)
{
	HOB_FBX_EACH_BELOW (edge, r->f, r->object, OTHER, "") {
		hob_fbx_class class = r->f->objects[edge->child].class;
		if ((class == HOB_FBX_TEXTURE || class == HOB_FBX_LAYERED_TEXTURE) &&
			hob_str_equal(edge->property, property))
			return edge->child;
	}
	return HOB_NONE;
}

static void put_map(reading *r, uint32_t texture, meaning_kind meaning)
{
	hob_slot slot = places[meaning].slot;
	hob_texture_ref ref = {.image = HOB_NONE, .sampler = HOB_NONE, .scale = {1, 1}};
	if (texture == HOB_NONE || r->mapped[meaning] || !hob_fbx_read_texture(r->f, texture, &ref))
		return;
	if (slot == HOB_SLOT_COUNT) {
		r->ignored++;
		r->mapped[meaning] = meaning == BASE_FACTOR || meaning == EMISSION_FACTOR;
		return;
	}
	r->to->slots[slot] = ref;
	r->to->ext_mask |= places[meaning].ext;
	r->mapped[meaning] = true;
}

static void put_value(reading *r, meaning_kind meaning, const double v[3])
{
	if (meaning == EMISSION_FACTOR && r->has[meaning])
		r->factor[meaning] *= v[0];
	else
		r->factor[meaning] = v[0];
	memcpy(r->value[meaning], v, sizeof r->value[meaning]);
	r->has[meaning] = true;
}

/* A map whose switch is off counts as absent: "..._map_on", Stingray's "use_color_map". */
static bool is_on(const reading *r, const char *prefix, const char *map)
{
	char name[128];
	int len = snprintf(name, sizeof name, "%s%s_on", prefix, map);
	if (hob_fbx_prop_integer(r->f, r->object, (hob_str){name, (size_t)len}, 1) == 0)
		return false;
	if (strncmp(map, "TEX_", 4) != 0)
		return true;
	len = snprintf(name, sizeof name, "%suse_%s", prefix, map + 4);
	return hob_fbx_prop_real(r->f, r->object, (hob_str){name, (size_t)len}, 1) > 0;
}

/* Max's glTF material stores values of disabled extensions, too. */
static bool is_enabled(const reading *r, meaning_kind meaning)
{
	static const struct {
		meaning_kind first, last;
		hob_str name;
	} switches[] = {
		{COAT, COAT_NORMAL, {"3dsMax|extension|enableClearCoat", 32}},
		{SHEEN, SHEEN_ROUGH, {"3dsMax|extension|enableSheen", 28}},
		{SPECULAR, SPECULAR_COLOR, {"3dsMax|extension|enableSpecular", 31}},
		{TRANSMISSION, TRANSMISSION, {"3dsMax|extension|enableTransmission", 35}},
		{THICKNESS, DEPTH_COLOR, {"3dsMax|extension|enableVolume", 29}},
		{IOR, IOR, {"3dsMax|extension|enableIndexOfRefraction", 40}},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(switches); i++)
		if (meaning >= switches[i].first && meaning <= switches[i].last)
			return hob_fbx_prop_integer(r->f, r->object, switches[i].name, 1) != 0;
	return true;
}

static void take_row(reading *r, const struct row *row, const double v[3])
{
	if (row->meaning == UNREAD && v[0] > 0)
		r->unread = row->value;
	put_value(r, row->meaning, v);
}

static void read_rows(reading *r, shader_kind shader)
{
	const char *prefix = prefixes[shader];
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		char name[128];
		double v[3];
		const char *map = rows[i].map[0] ? rows[i].map : rows[i].value;
		if (rows[i].shader != shader || (shader == MAX_GLTF && !is_enabled(r, rows[i].meaning)))
			continue;
		int len = snprintf(name, sizeof name, "%s%s", prefix, rows[i].value);
		if (rows[i].value[0] && get_numbers(r, (hob_str){name, (size_t)len}, v))
			take_row(r, &rows[i], v);
		len = snprintf(name, sizeof name, "%s%s", prefix, map);
		if (is_on(r, prefix, map))
			put_map(r, texture_at(r, (hob_str){name, (size_t)len}), rows[i].meaning);
	}
	static const struct {
		hob_str name;
		meaning_kind meaning;
	} inverted[] = {{{"3dsMax|Parameters|roughness_inv", 31}, ROUGH},
					{{"3dsMax|Parameters|coat_roughness_inv", 36}, COAT_ROUGH}};
	for (size_t i = 0; i < HOB_COUNT_OF(inverted) && shader == PHYSICAL; i++)
		if (hob_fbx_prop_integer(r->f, r->object, inverted[i].name, 0) != 0 && r->has[inverted[i].meaning])
			r->value[inverted[i].meaning][0] = 1 - r->value[inverted[i].meaning][0];
	/* In Max's metal and specular materials one slot holds glossiness (1) or roughness (2). */
	int64_t holds = hob_fbx_prop_integer(r->f, r->object, HOB_STR("3dsMax|main|useGlossiness"),
										 shader == MAX_GLOSS ? 1 : 2);
	if (shader == MAX_PBR && holds == 1 && r->has[ROUGH])
		r->value[ROUGH][0] = 1 - r->value[ROUGH][0];
	if (shader == MAX_GLOSS && holds == 2) {
		if (r->has[GLOSS])
			put_value(r, ROUGH, r->value[GLOSS]);
		r->has[GLOSS] = false;
		hob_str map = HOB_STR("3dsMax|main|glossiness_map");
		if (r->ignored > 0 && texture_at(r, map) != HOB_NONE) {
			r->ignored--;
			put_map(r, texture_at(r, map), ROUGH);
		}
	}
}

/* ---- Lambert and Phong */

static bool is_phong(const hob_fbx *f, uint32_t o)
{
	hob_str model = hob_fbx_child_text(f, f->objects[o].record, HOB_STR("ShadingModel"));
	if (model.len == 0)
		model = hob_fbx_prop_text(f, o, HOB_STR("ShadingModel"));
	return hob_str_equal_nocase(model, HOB_STR("phong"));
}

static void read_classic(reading *r, shader_kind shader)
{
	static const struct {
		hob_str property;
		meaning_kind meaning;
	} maps[] = {
		{{"DiffuseColor", 12}, BASE},
		{{"EmissiveColor", 13}, EMISSION},
		{{"NormalMap", 9}, NORMAL},
		{{"Bump", 4}, BUMP},
		{{"TransparentColor", 16}, OPACITY},
		{{"TransparencyFactor", 18}, OPACITY},
		{{"SpecularColor", 13}, SPECULAR_COLOR},
		{{"EmissiveFactor", 14}, EMISSION},
		{{"Diffuse", 7}, BASE},
		{{"Emissive", 8}, EMISSION},
		{{"Transparent", 11}, OPACITY},
	};
	static const struct {
		hob_str property;
		meaning_kind meaning;
	} blender_maps[] = {
		{{"ReflectionFactor", 16}, METAL}, {{"Shininess", 9}, ROUGH}, {{"ShininessExponent", 17}, ROUGH}};
	hob_fbx *f = r->f;
	double v[3], diffuse = 1, clear[3] = {0, 0, 0};
	for (size_t i = 0; i < HOB_COUNT_OF(maps); i++)
		put_map(r, texture_at(r, maps[i].property), maps[i].meaning);
	for (size_t i = 0; i < HOB_COUNT_OF(blender_maps) && shader == BLENDER; i++)
		put_map(r, texture_at(r, blender_maps[i].property), blender_maps[i].meaning);
	if (get_numbers(r, HOB_STR("DiffuseColor"), v) || get_numbers(r, HOB_STR("Diffuse"), v))
		put_value(r, BASE, v);
	if (get_numbers(r, HOB_STR("DiffuseFactor"), v))
		diffuse = v[0];
	put_value(r, BASE_FACTOR, (double[3]){diffuse, diffuse, diffuse});
	if (get_numbers(r, HOB_STR("EmissiveColor"), v) || get_numbers(r, HOB_STR("Emissive"), v))
		put_value(r, EMISSION, v);
	if (get_numbers(r, HOB_STR("EmissiveFactor"), v))
		put_value(r, EMISSION_FACTOR, v);
	double shininess = hob_fbx_prop_real(f, r->object, HOB_STR("ShininessExponent"),
										 hob_fbx_prop_real(f, r->object, HOB_STR("Shininess"), 0));
	double factor = hob_fbx_prop_real(f, r->object, HOB_STR("TransparencyFactor"),
									  hob_fbx_prop_real(f, r->object, HOB_STR("TransparentFactor"), 0));
	bool has_clear = get_numbers(r, HOB_STR("TransparentColor"), clear);
	double opacity = has_clear ? 1 - factor * (clear[0] + clear[1] + clear[2]) / 3 : 1 - factor;
	hob_fbx_cursor cursor;
	if (!hob_fbx_own_prop(f, r->object, HOB_STR("TransparencyFactor"), &cursor) &&
		!hob_fbx_own_prop(f, r->object, HOB_STR("TransparentColor"), &cursor))
		opacity = hob_fbx_prop_real(f, r->object, HOB_STR("Opacity"),
									hob_fbx_prop_real(f, r->object, HOB_STR("Alpha"), 1));
	v[0] = 1;
	if (shader == BLENDER) {
		shininess = hob_fbx_prop_real(f, r->object, HOB_STR("Shininess"), shininess);
		v[0] = 1 - sqrt(fmax(shininess, 0)) / 10;
		r->value[METAL][0] = hob_fbx_prop_real(f, r->object, HOB_STR("ReflectionFactor"), 0);
		r->has[METAL] = true;
		opacity = 1 - factor;
		if (r->mapped[NORMAL])
			r->to->normal_scale = (float)hob_fbx_prop_real(f, r->object, HOB_STR("BumpFactor"), 1);
	} else if (is_phong(f, r->object) && shininess > 0) {
		/* GGX roughness with a lobe as wide as Blinn-Phong's: alpha^2 = 2 / (n + 2), alpha = roughness^2. */
		v[0] = sqrt(sqrt(2 / (shininess + 2)));
	}
	put_value(r, ROUGH, v);
	put_value(r, OPACITY, (double[3]){opacity, opacity, opacity});
}

/* ---- to Hob's terms */

static void take_base(const reading *r, hob_material *to)
{
	double factor = r->has[BASE_FACTOR] && !r->mapped[BASE_FACTOR] ? r->factor[BASE_FACTOR] : 1;
	for (int k = 0; k < 3; k++) {
		double value = (r->mapped[BASE] || !r->has[BASE] ? 1 : r->value[BASE][k]) * factor;
		to->base_color[k] = value > 0 && value < 1e6 ? (float)value : 0;
	}
}

static void take_emission(const reading *r, hob_material *to)
{
	double factor = r->has[EMISSION_FACTOR] && !r->mapped[EMISSION_FACTOR] ? r->factor[EMISSION_FACTOR] : 1,
		   most = 0;
	double color[3];
	for (int k = 0; k < 3; k++) {
		color[k] = (r->mapped[EMISSION] ? 1 : r->has[EMISSION] ? r->value[EMISSION][k] : 0) * factor;
		color[k] = color[k] > 0 && color[k] < 1e9 ? color[k] : 0;
		most = fmax(most, color[k]);
	}
	if (most > 1) {
		to->ext_mask |= 1u << HOB_MATERIAL_EMISSIVE_STRENGTH;
		to->emissive_strength = (float)most;
	}
	for (int k = 0; k < 3; k++)
		to->emissive[k] = (float)(most > 1 ? color[k] / most : color[k]);
}

static void take_opacity(const reading *r, hob_material *to)
{
	double opacity = 1;
	if (r->has[OPACITY] && !r->mapped[OPACITY])
		opacity = (r->value[OPACITY][0] + r->value[OPACITY][1] + r->value[OPACITY][2]) / 3;
	if (r->has[TRANSPARENCY] && !r->mapped[TRANSPARENCY])
		opacity *= 1 - r->value[TRANSPARENCY][0];
	to->base_color[3] = hob_shape_clamp01(opacity);
	if (to->base_color[3] < 1)
		to->alpha_mode = HOB_ALPHA_BLEND;
	if (to->base_color[3] <= 0)
		hob_fbx_note(r->f, "invisible", "material '%.*s' has opacity 0 and is invisible", HOB_FMT(to->name));
}

/* A factor within 0 and 1: 1 below a map. */
static float factor_of(const reading *r, meaning_kind meaning, float otherwise)
{
	return r->mapped[meaning] ? 1 : r->has[meaning] ? hob_shape_clamp01(r->value[meaning][0]) : otherwise;
}

static bool stands_apart(double value, double usual)
{
	return fabs(value - usual) > 1e-6;
}

static void take_extensions(const reading *r, hob_material *to)
{
	if (r->has[SPECULAR] && stands_apart(r->value[SPECULAR][0], 1)) {
		to->specular = hob_shape_clamp01(r->value[SPECULAR][0]);
		to->ext_mask |= 1u << HOB_MATERIAL_SPECULAR;
	}
	for (int k = 0; k < 3 && r->has[SPECULAR_COLOR] && !r->mapped[SPECULAR_COLOR]; k++)
		if (stands_apart(r->value[SPECULAR_COLOR][k], 1)) {
			to->ext_mask |= 1u << HOB_MATERIAL_SPECULAR;
			to->specular_color[k] = hob_shape_clamp01(r->value[SPECULAR_COLOR][k]);
		}
	if (r->has[IOR] && stands_apart(r->value[IOR][0], 1.5) && r->value[IOR][0] >= 1 &&
		r->value[IOR][0] < 100) {
		to->ior = (float)r->value[IOR][0];
		to->ext_mask |= 1u << HOB_MATERIAL_IOR;
	}
	if (r->has[TRANSMISSION] && (r->value[TRANSMISSION][0] > 0 || r->mapped[TRANSMISSION])) {
		to->transmission = factor_of(r, TRANSMISSION, 0);
		to->ext_mask |= 1u << HOB_MATERIAL_TRANSMISSION;
	}
	if (r->mapped[COAT] || (r->has[COAT] && r->value[COAT][0] > 0)) {
		to->clearcoat = factor_of(r, COAT, 0);
		to->clearcoat_roughness = factor_of(r, COAT_ROUGH, 0);
		to->ext_mask |= 1u << HOB_MATERIAL_CLEARCOAT;
	}
	if (r->mapped[THICKNESS] || (r->has[THICKNESS] && r->value[THICKNESS][0] > 0)) {
		double thickness = r->has[THICKNESS] ? r->value[THICKNESS][0] * r->f->unit : 1;
		to->thickness = thickness > 0 && thickness < 1e9 ? (float)thickness : 0;
		double depth = r->has[DEPTH] ? r->value[DEPTH][0] * r->f->unit : 0;
		to->attenuation_distance = depth > 0 && depth < 1e9 ? (float)depth : INFINITY;
		for (int k = 0; k < 3 && r->has[DEPTH_COLOR]; k++)
			to->attenuation_color[k] = hob_shape_clamp01(r->value[DEPTH_COLOR][k]);
		to->ext_mask |= 1u << HOB_MATERIAL_VOLUME;
	}
	if (r->has[UNLIT] && r->value[UNLIT][0] > 0)
		to->ext_mask |= 1u << HOB_MATERIAL_UNLIT;
	double sheen = r->has[SHEEN_FACTOR] ? r->value[SHEEN_FACTOR][0] : 0;
	if (sheen > 0) {
		for (int k = 0; k < 3; k++)
			to->sheen_color[k] =
				hob_shape_clamp01(sheen * (r->mapped[SHEEN] || !r->has[SHEEN] ? 1 : r->value[SHEEN][k]));
		to->sheen_roughness = factor_of(r, SHEEN_ROUGH, 0.3f);
		to->ext_mask |= 1u << HOB_MATERIAL_SHEEN;
	} else {
		to->ext_mask &= ~(1u << HOB_MATERIAL_SHEEN);
	}
	if (r->has[ANISOTROPY] && r->value[ANISOTROPY][0] > 0) {
		to->anisotropy = hob_shape_clamp01(r->value[ANISOTROPY][0]);
		to->ext_mask |= 1u << HOB_MATERIAL_ANISOTROPY;
	}
}

static void take_all(const reading *r, hob_material *to)
{
	to->metallic = factor_of(r, METAL, 0);
	to->roughness = factor_of(r, ROUGH, 1);
	if (r->has[GLOSS] && !r->mapped[ROUGH])
		to->roughness = hob_shape_clamp01(1 - r->value[GLOSS][0]);
	to->double_sided = r->has[DOUBLE_SIDED] && r->value[DOUBLE_SIDED][0] > 0;
	take_base(r, to);
	take_emission(r, to);
	take_opacity(r, to);
	take_extensions(r, to);
	if (r->unread)
		hob_fbx_info(r->f, "look", "material '%.*s': its '%s' is left out: Hob's materials do not have it",
					 HOB_FMT(to->name), r->unread);
	if (r->ignored > 0)
		hob_fbx_info(r->f, "maps", "material '%.*s': %u of its maps have no place and are left out",
					 HOB_FMT(to->name), r->ignored);
}

/* Before 7000 textures may be connected to the model: faces have a material number and, in a layer per
 * property, a texture number, so the first face with a material gives its texture. Cached for one model, as
 * its materials mostly follow each other. */
static const struct {
	const char *layer;
	meaning_kind meaning;
} old_layers[] = {
	{"Texture", BASE},
	{"Emissive_Textures", EMISSION},
	{"EmissiveTextures", EMISSION},
	{"EmissiveFactorTextures", EMISSION},
	{"TransparentTextures", OPACITY},
	{"Transparent_Textures", OPACITY},
	{"TransparencyFactorTextures", OPACITY},
	{"NormalMapTextures", NORMAL},
	{"BumpTextures", BUMP},
	{"Specular_Textures", SPECULAR_COLOR},
	{"SpecularTextures", SPECULAR_COLOR},
};

typedef struct pairing {
	uint32_t model, count;
	uint32_t *texture_of[HOB_COUNT_OF(old_layers)]; /* [count] by material number; HOB_NONE: no texture */
} pairing;

static uint32_t nth_texture(const hob_fbx *f, uint32_t model, uint32_t number)
{
	HOB_FBX_EACH_BELOW (edge, f, model, TEXTURE, "")
		if (number-- == 0)
			return edge->child;
	return HOB_NONE;
}

static uint32_t number_of(const hob_fbx *f, uint32_t model, uint32_t material)
{
	uint32_t number = 0;
	HOB_FBX_EACH_BELOW (edge, f, model, MATERIAL, "") {
		if (edge->child == material)
			return number;
		number++;
	}
	return HOB_NONE;
}

/* `usual`: texture of materials that no face uses. */
static void pair_layer(hob_fbx *f, uint32_t record, uint32_t layer, uint32_t usual, uint32_t count,
					   uint32_t *texture_of)
{
	uint32_t slots = hob_fbx_child(f, record, HOB_STR("LayerElementMaterial")), texture_count, slot_count;
	for (uint32_t i = 0; i < count; i++)
		texture_of[i] = usual;
	hob_arena_mark mark = hob_arena_save(f->scratch);
	const int32_t *textures = hob_fbx_ints(f, hob_fbx_child(f, layer, HOB_STR("TextureId")), &texture_count);
	const int32_t *numbers = hob_fbx_ints(f, hob_fbx_child(f, slots, HOB_STR("Materials")), &slot_count);
	bool same =
		hob_str_equal(hob_fbx_child_text(f, layer, HOB_STR("MappingInformationType")), HOB_STR("AllSame"));
	for (uint32_t i = 0; i < count && same && texture_count > 0; i++)
		texture_of[i] = textures[0] >= 0 ? (uint32_t)textures[0] : HOB_NONE;
	for (uint32_t face = texture_count; face-- > 0 && !same;) {
		uint32_t at = slot_count == 1 ? 0 : face, slot = at < slot_count ? (uint32_t)numbers[at] : 0;
		if (textures[face] >= 0 && slot < count)
			texture_of[slot] = (uint32_t)textures[face];
	}
	hob_arena_restore(f->scratch, mark);
}

static pairing pair_up(hob_fbx *f, uint32_t model)
{
	uint32_t geometry = hob_fbx_below(f, model, HOB_FBX_GEOMETRY, HOB_STR("Mesh"));
	uint32_t record = geometry == HOB_NONE ? HOB_NONE : f->objects[geometry].record;
	pairing out = {.model = model, .count = f->objects[model].below_count};
	bool any = false;
	for (size_t k = HOB_COUNT_OF(old_layers); k-- > 0;) {
		char name[64];
		int len = snprintf(name, sizeof name, "LayerElement%s", old_layers[k].layer);
		uint32_t layer = hob_fbx_child(f, record, (hob_str){name, (size_t)len});
		/* Without any layer, all materials get the first texture. */
		if (layer == HOB_NONE && (k > 0 || any))
			continue;
		any = true;
		out.texture_of[k] = HOB_NEW(f->scratch, uint32_t, out.count);
		pair_layer(f, record, layer, k == 0 ? 0 : HOB_NONE, out.count, out.texture_of[k]);
	}
	return out;
}

static void maps_from_model(reading *r, pairing *last)
{
	hob_fbx *f = r->f;
	HOB_FBX_EACH_ABOVE (edge, f, r->object, MODEL, "") {
		uint32_t model = edge->parent;
		if (hob_fbx_below(f, model, HOB_FBX_TEXTURE, (hob_str){0}) == HOB_NONE)
			continue;
		if (last->model != model)
			*last = pair_up(f, model);
		uint32_t number = number_of(f, model, r->object);
		for (size_t k = 0; k < HOB_COUNT_OF(old_layers); k++) {
			uint32_t wanted = !last->texture_of[k]	 ? HOB_NONE
							  : number < last->count ? last->texture_of[k][number]
													 : 0;
			uint32_t texture = wanted == HOB_NONE ? HOB_NONE : nth_texture(f, model, wanted);
			if (texture != HOB_NONE)
				put_map(r, texture, old_layers[k].meaning);
		}
	}
}

void hob_fbx_read_materials(hob_fbx *f)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < f->object_count; i++)
		count += f->objects[i].class == HOB_FBX_MATERIAL;
	if (count > HOB_LIMIT_MATERIALS)
		hob_leave(LIMIT, "%u materials, at most %llu are allowed", count, HOB_LIMIT_MATERIALS);
	pairing last = {.model = HOB_NONE};
	reading *r = HOB_NEW(f->scratch, reading, 1);
	for (uint32_t i = 0; i < f->object_count; i++) {
		if (f->objects[i].class != HOB_FBX_MATERIAL)
			continue;
		hob_material to;
		hob_material_init(&to);
		to.name = hob_fbx_name(f, f->objects[i].name);
		HOB_PLACE("material '@'", 0, to.name);
		shader_kind kind = shader_of(f, i);
		*r = (reading){.f = f, .object = i, .to = &to};
		if (kind == CLASSIC || kind == BLENDER)
			read_classic(r, kind);
		else
			read_rows(r, kind);
		if (f->version < 7000)
			maps_from_model(r, &last);
		take_all(r, &to);
		hob_fbx_extras(f, i, &to.extras);
		f->objects[i].index = hob_lists_material(&f->lists, &to);
	}
	for (uint32_t i = 0; i < f->object_count; i++)
		if ((f->objects[i].class == HOB_FBX_TEXTURE || f->objects[i].class == HOB_FBX_VIDEO) &&
			f->objects[i].above_count == 0)
			hob_fbx_list_unused(f, i);
}
