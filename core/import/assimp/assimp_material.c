#include "assimp_convert.h"

#include "../../base/limits.h"
#include "../image_set.h"
#include "../shape.h"
#include "../text.h"

#include <assimp/material.h>

#include <math.h>

typedef struct material_builder {
	hob_assimp_scene *scene;
	hob_image_set images;
	uint32_t *image_of_embedded;
} material_builder;

/* ---- pictures */

/* "*3" is the number of an embedded picture; any other text is a file name. */
static uint32_t embedded_index(const hob_assimp_scene *scene, hob_str reference)
{
	const struct aiScene *source = scene->source;
	if (reference.data[0] == '*') {
		uint32_t index = 0;
		for (size_t i = 1; i < reference.len && index < 1000000; i++)
			if (reference.data[i] >= '0' && reference.data[i] <= '9')
				index = index * 10 + (uint32_t)(reference.data[i] - '0');
		return index;
	}
	bool readable = !(scene->format->flags & HOB_ASSIMP_FREED_TEXTURES);
	for (uint32_t i = 0; readable && i < source->mNumTextures; i++) {
		if (!source->mTextures[i])
			continue;
		hob_str name = hob_assimp_str(&source->mTextures[i]->mFilename);
		if (name.len > 0 && hob_str_equal(hob_text_last_part(name), hob_text_last_part(reference)))
			return i;
	}
	return HOB_NONE;
}

static void copy_pixels(hob_assimp_scene *scene, const struct aiTexture *from, hob_image *to)
{
	size_t pixels = (size_t)from->mWidth * from->mHeight;
	if (pixels == 0 || pixels > HOB_LIMIT_IMAGE_PIXELS)
		return;
	uint8_t *out = HOB_NEW(scene->request->result, uint8_t, pixels * 4);
	for (size_t i = 0; i < pixels; i++) {
		out[i * 4] = from->pcData[i].r;
		out[i * 4 + 1] = from->pcData[i].g;
		out[i * 4 + 2] = from->pcData[i].b;
		out[i * 4 + 3] = from->pcData[i].a;
	}
	to->bytes = (hob_bytes){out, pixels * 4};
	to->raw_width = from->mWidth;
	to->raw_height = from->mHeight;
}

static void copy_file(hob_assimp_scene *scene, const struct aiTexture *from, hob_image *to)
{
	hob_arena *arena = scene->request->result;
	uint8_t *out = HOB_NEW(arena, uint8_t, from->mWidth);
	hob_str hint = {from->achFormatHint, strnlen(from->achFormatHint, sizeof from->achFormatHint)};
	bool jpeg = hob_str_equal_nocase(hint, HOB_STR("jpg"));
	to->mime = hint.len > 0 ? hob_arena_printf(arena, "image/%.*s", HOB_FMT(jpeg ? HOB_STR("jpeg") : hint))
							: HOB_STR("");
	memcpy(out, from->pcData, from->mWidth);
	to->bytes = (hob_bytes){out, from->mWidth};
}

static uint32_t embedded_image(material_builder *b, uint32_t index)
{
	hob_assimp_scene *scene = b->scene;
	const struct aiTexture *from = scene->source->mTextures[index];
	uint32_t *id = &b->image_of_embedded[index];
	if (*id != HOB_NONE)
		return *id;
	hob_image *to = hob_image_set_add(&b->images, id);
	if (scene->format->flags & HOB_ASSIMP_FREED_TEXTURES) {
		hob_warn(scene->request->notes, "assimp.texture-lost",
				 "pictures inside of %s files cannot be read; export the model as glTF", scene->format->name);
		return *id;
	}
	if (!from)
		return *id;
	to->name = hob_assimp_name(scene, &from->mFilename);
	if (from->pcData)
		(from->mHeight > 0 ? copy_pixels : copy_file)(scene, from, to);
	return *id;
}

static uint32_t image_for(material_builder *b, hob_str reference)
{
	uint32_t index = embedded_index(b->scene, reference);
	if (index < b->scene->source->mNumTextures)
		return embedded_image(b, index);
	return hob_image_set_file(&b->images, reference);
}

/* ---- texture slots */

static hob_wrap wrap_of(enum aiTextureMapMode mode)
{
	return mode == aiTextureMapMode_Clamp || mode == aiTextureMapMode_Decal ? HOB_WRAP_CLAMP
		   : mode == aiTextureMapMode_Mirror								? HOB_WRAP_MIRROR
																			: HOB_WRAP_REPEAT;
}

/* At most nine samplers: three wraps in two directions. */
enum { SAMPLERS_MAX = 9 };

static uint32_t sampler_for(hob_model *model, hob_wrap u, hob_wrap v)
{
	if (u == HOB_WRAP_REPEAT && v == HOB_WRAP_REPEAT)
		return HOB_NONE;
	for (uint32_t i = 0; i < model->sampler_count; i++)
		if (model->samplers[i].wrap_u == u && model->samplers[i].wrap_v == v)
			return i;
	model->samplers[model->sampler_count] = (hob_sampler){.wrap_u = u, .wrap_v = v};
	return model->sampler_count++;
}

/* Assimp's transform applies to V pointing up; ours, F * M * F with F(u,v) = (u, 1-v), to V pointing down.
 * Decomposed as translate * rotate * scale, which is exact unless a rotation is combined with two different
 * scales. */
static void convert_transform(const hob_assimp_scene *scene, const struct aiUVTransform *from,
							  hob_texture_ref *to)
{
	float cosine = cosf(from->mRotation), sine = sinf(from->mRotation);
	float sx = from->mScaling.x, sy = from->mScaling.y;
	float tx = from->mTranslation.x, ty = from->mTranslation.y;
	float a, b, c, d, x, y; /* u' = a u + b v + x, v' = c u + d v + y */
	if (scene->format->flags & HOB_ASSIMP_CENTRED_UV) {
		a = sx * cosine, b = -sx * sine, c = sy * sine, d = sy * cosine;
		x = a * (tx - 0.5f) + b * (ty - 0.5f) + 0.5f;
		y = c * (tx - 0.5f) + d * (ty - 0.5f) + 0.5f;
	} else {
		a = cosine * sx, b = -sine * sy, c = sine * sx, d = cosine * sy;
		x = tx, y = ty;
	}
	if (!(scene->format->flags & HOB_ASSIMP_V_DOWN)) {
		x += b;
		y = 1 - y - d;
		b = -b, c = -c;
	}
	float length = sqrtf(a * a + c * c), determinant = a * d - b * c;
	const float values[] = {x, y, length, length > 0 ? determinant / length : d,
							length > 0 ? atan2f(-c, a) : 0};
	for (size_t i = 0; i < HOB_COUNT_OF(values); i++)
		if (values[i] - values[i] != 0)
			return;
	/* Adding zero turns -0 into 0. */
	to->offset[0] = values[0] + 0.0f, to->offset[1] = values[1] + 0.0f;
	to->scale[0] = values[2], to->scale[1] = values[3];
	to->rotation = values[4] + 0.0f;
}

/* Fills a slot from texture `index` of a type; false when there is none. */
static bool read_texture(material_builder *b, const struct aiMaterial *from, enum aiTextureType type,
						 unsigned index, hob_texture_ref *to, unsigned *flags)
{
	hob_assimp_scene *scene = b->scene;
	struct aiString path = {0};
	enum aiTextureMapping mapping = aiTextureMapping_UV;
	enum aiTextureMapMode modes[3] = {aiTextureMapMode_Wrap, aiTextureMapMode_Wrap, aiTextureMapMode_Wrap};
	unsigned uv_set = 0;
	*flags = 0;
	if (aiGetMaterialTexture(from, type, index, &path, &mapping, &uv_set, NULL, NULL, modes, flags) !=
		aiReturn_SUCCESS)
		return false;
	hob_str reference = hob_assimp_str(&path);
	if (reference.len == 0)
		return false;
	if (mapping != aiTextureMapping_UV) {
		hob_warn(scene->request->notes, "texture.projection",
				 "texture '%.*s' is projected, not mapped by texture coordinates; it is left out",
				 HOB_FMT(reference));
		return false;
	}
	to->image = image_for(b, reference);
	to->sampler = sampler_for(scene->model, wrap_of(modes[0]), wrap_of(modes[1]));
	to->uv_set = uv_set < HOB_UV_SETS ? uv_set : 0;
	struct aiUVTransform transform;
	if (aiGetMaterialUVTransform(from, AI_MATKEY_UVTRANSFORM(type, index), &transform) == aiReturn_SUCCESS)
		convert_transform(scene, &transform, to);
	return true;
}

/* Each slot takes the first type that has a texture. */
static const struct {
	enum aiTextureType type;
	unsigned index;
	hob_slot slot;
	uint32_t ext;
} sources[] = {
	{aiTextureType_BASE_COLOR, 0, HOB_SLOT_BASE_COLOR, 0},
	{aiTextureType_DIFFUSE, 0, HOB_SLOT_BASE_COLOR, 0},
	{aiTextureType_NORMALS, 0, HOB_SLOT_NORMAL, 0},
	{aiTextureType_NORMAL_CAMERA, 0, HOB_SLOT_NORMAL, 0},
	{aiTextureType_HEIGHT, 0, HOB_SLOT_BUMP, 0},
	{aiTextureType_EMISSION_COLOR, 0, HOB_SLOT_EMISSIVE, 0},
	{aiTextureType_EMISSIVE, 0, HOB_SLOT_EMISSIVE, 0},
	{aiTextureType_OPACITY, 0, HOB_SLOT_OPACITY, 0},
	{aiTextureType_AMBIENT_OCCLUSION, 0, HOB_SLOT_OCCLUSION, 0},
	{aiTextureType_LIGHTMAP, 0, HOB_SLOT_OCCLUSION, 0},
	{aiTextureType_METALNESS, 0, HOB_SLOT_METALLIC, 0},
	{aiTextureType_DIFFUSE_ROUGHNESS, 0, HOB_SLOT_ROUGHNESS, 0},
	{aiTextureType_SPECULAR, 0, HOB_SLOT_SPECULAR_COLOR, 1u << HOB_MATERIAL_SPECULAR},
	{aiTextureType_CLEARCOAT, 0, HOB_SLOT_CLEARCOAT, 1u << HOB_MATERIAL_CLEARCOAT},
	{aiTextureType_CLEARCOAT, 1, HOB_SLOT_CLEARCOAT_ROUGH, 1u << HOB_MATERIAL_CLEARCOAT},
	{aiTextureType_CLEARCOAT, 2, HOB_SLOT_CLEARCOAT_NORMAL, 1u << HOB_MATERIAL_CLEARCOAT},
	{aiTextureType_SHEEN, 0, HOB_SLOT_SHEEN_COLOR, 1u << HOB_MATERIAL_SHEEN},
	{aiTextureType_SHEEN, 1, HOB_SLOT_SHEEN_ROUGH, 1u << HOB_MATERIAL_SHEEN},
	{aiTextureType_TRANSMISSION, 0, HOB_SLOT_TRANSMISSION, 1u << HOB_MATERIAL_TRANSMISSION},
	{aiTextureType_TRANSMISSION, 1, HOB_SLOT_THICKNESS, 1u << HOB_MATERIAL_VOLUME},
};

static void read_textures(material_builder *b, const struct aiMaterial *from, hob_material *to,
						  unsigned *color_flags)
{
	for (size_t i = 0; i < HOB_COUNT_OF(sources); i++) {
		hob_texture_ref *ref = &to->slots[sources[i].slot];
		unsigned flags;
		if (ref->image != HOB_NONE || !read_texture(b, from, sources[i].type, sources[i].index, ref, &flags))
			continue;
		to->ext_mask |= sources[i].ext;
		if (sources[i].slot == HOB_SLOT_BASE_COLOR)
			*color_flags = flags;
		if (flags & aiTextureFlags_Invert)
			hob_warn(b->scene->request->notes, "texture.invert",
					 "material '%.*s' inverts a texture, which is not done", HOB_FMT(to->name));
	}
	static const enum aiTextureType ignored[] = {aiTextureType_SHININESS, aiTextureType_DISPLACEMENT,
												 aiTextureType_REFLECTION};
	for (size_t i = 0; i < HOB_COUNT_OF(ignored); i++)
		if (aiGetMaterialTextureCount(from, ignored[i]) > 0)
			hob_info(b->scene->request->notes, "texture.ignored",
					 "material '%.*s': its shininess, displacement or reflection map is left out",
					 HOB_FMT(to->name));
}

/* ---- numbers */

static bool get_float(const struct aiMaterial *from, const char *key, float *out)
{
	ai_real value;
	unsigned count = 1;
	if (aiGetMaterialFloatArray(from, key, 0, 0, &value, &count) != aiReturn_SUCCESS || count < 1 ||
		value - value != 0)
		return false;
	*out = value;
	return true;
}

static bool get_color(const struct aiMaterial *from, const char *key, float out[3])
{
	struct aiColor4D color;
	if (aiGetMaterialColor(from, key, 0, 0, &color) != aiReturn_SUCCESS)
		return false;
	const float rgb[3] = {color.r, color.g, color.b};
	for (int i = 0; i < 3; i++)
		if (rgb[i] - rgb[i] != 0)
			return false;
	for (int i = 0; i < 3; i++)
		out[i] = rgb[i] > 0 ? rgb[i] : 0;
	return true;
}

static const struct {
	const char *key;
	size_t offset;
	uint32_t ext;
} factors[] = {
	{"$mat.clearcoat.factor", offsetof(hob_material, clearcoat), HOB_MATERIAL_CLEARCOAT},
	{"$mat.clearcoat.roughnessFactor", offsetof(hob_material, clearcoat_roughness), HOB_MATERIAL_CLEARCOAT},
	{"$mat.sheen.roughnessFactor", offsetof(hob_material, sheen_roughness), HOB_MATERIAL_SHEEN},
	{"$mat.transmission.factor", offsetof(hob_material, transmission), HOB_MATERIAL_TRANSMISSION},
	{"$mat.volume.thicknessFactor", offsetof(hob_material, thickness), HOB_MATERIAL_VOLUME},
	{"$mat.anisotropyFactor", offsetof(hob_material, anisotropy), HOB_MATERIAL_ANISOTROPY},
	{"$mat.emissiveIntensity", offsetof(hob_material, emissive_strength), HOB_MATERIAL_EMISSIVE_STRENGTH},
};

static void read_factors(const struct aiMaterial *from, hob_material *to)
{
	for (size_t i = 0; i < HOB_COUNT_OF(factors); i++)
		if (get_float(from, factors[i].key, (float *)(void *)((char *)to + factors[i].offset)))
			to->ext_mask |= 1u << factors[i].ext;
	if (get_color(from, "$clr.sheen.factor", to->sheen_color))
		to->ext_mask |= 1u << HOB_MATERIAL_SHEEN;
	bool has_metal_map = to->slots[HOB_SLOT_METALLIC].image != HOB_NONE;
	bool has_rough_map = to->slots[HOB_SLOT_ROUGHNESS].image != HOB_NONE;
	to->metallic = has_metal_map;
	to->roughness = 1;
	float value;
	if (get_float(from, "$mat.metallicFactor", &value))
		to->metallic = hob_shape_clamp01(value);
	if (get_float(from, "$mat.roughnessFactor", &value))
		to->roughness = hob_shape_clamp01(value);
	else if (!has_rough_map && get_float(from, "$mat.shininess", &value) && value > 0)
		/* GGX roughness with a lobe as wide as Blinn-Phong's: alpha^2 = 2 / (n + 2), alpha = roughness^2. */
		to->roughness = sqrtf(sqrtf(2 / (value + 2)));
	if (get_float(from, "$mat.bumpscaling", &value) && value > 0)
		to->normal_scale = value;
}

static void read_colors(const hob_assimp_scene *scene, const struct aiMaterial *from, hob_material *to)
{
	bool replaces = scene->format->flags & HOB_ASSIMP_MAP_REPLACES;
	bool mapped = to->slots[HOB_SLOT_BASE_COLOR].image != HOB_NONE;
	float color[3];
	if (get_color(from, "$clr.base", color) || get_color(from, "$clr.diffuse", color)) {
		bool black = color[0] <= 0 && color[1] <= 0 && color[2] <= 0;
		/* A map multiplies the colour, so the black that exporters write beside a map stays white. */
		for (int i = 0; i < 3 && !(mapped && (replaces || black)); i++)
			to->base_color[i] = color[i];
	}
	bool glow_mapped = to->slots[HOB_SLOT_EMISSIVE].image != HOB_NONE;
	if (get_color(from, "$clr.emissive", color))
		memcpy(to->emissive, color, sizeof color);
	if (glow_mapped && (replaces || (to->emissive[0] <= 0 && to->emissive[1] <= 0 && to->emissive[2] <= 0)))
		to->emissive[0] = to->emissive[1] = to->emissive[2] = 1;
}

static void read_opacity(const hob_assimp_scene *scene, const struct aiMaterial *from, unsigned color_flags,
						 hob_material *to)
{
	float opacity = 1;
	get_float(from, "$mat.opacity", &opacity);
	to->base_color[3] = hob_shape_clamp01(opacity);
	if (to->base_color[3] < 1)
		to->alpha_mode = HOB_ALPHA_BLEND;
	else if (to->slots[HOB_SLOT_OPACITY].image == HOB_NONE && color_flags & aiTextureFlags_UseAlpha)
		to->alpha_mode = HOB_ALPHA_BLEND;
	if (to->base_color[3] <= 0)
		hob_warn(scene->request->notes, "material.invisible",
				 "material '%.*s' has opacity 0 and is invisible", HOB_FMT(to->name));
}

static void convert_material(material_builder *b, const struct aiMaterial *from, hob_material *to)
{
	struct aiString name = {0};
	unsigned color_flags = 0;
	hob_material_init(to);
	aiGetMaterialString(from, AI_MATKEY_NAME, &name);
	to->name = hob_assimp_name(b->scene, &name);
	hob_place place = {.kind = "material", .name = to->name};
	hob_place_enter(&place);
	read_textures(b, from, to, &color_flags);
	hob_place_exit(&place);
	read_factors(from, to);
	read_colors(b->scene, from, to);
	read_opacity(b->scene, from, color_flags, to);
	int number = 0;
	unsigned count = 1;
	if (aiGetMaterialIntegerArray(from, AI_MATKEY_TWOSIDED, &number, &count) == aiReturn_SUCCESS)
		to->double_sided = number != 0;
	count = 1;
	if (aiGetMaterialIntegerArray(from, AI_MATKEY_SHADING_MODEL, &number, &count) == aiReturn_SUCCESS &&
		number == aiShadingMode_NoShading)
		to->ext_mask |= 1u << HOB_MATERIAL_UNLIT;
}

/* ---- all */

static bool is_made_up(const struct aiMaterial *material)
{
	struct aiString name = {0};
	return aiGetMaterialString(material, AI_MATKEY_NAME, &name) == aiReturn_SUCCESS &&
		   hob_str_equal(hob_assimp_str(&name), HOB_STR(AI_DEFAULT_MATERIAL_NAME));
}

static void mark_materials(hob_assimp_scene *scene, bool *used)
{
	const struct aiScene *source = scene->source;
	for (unsigned m = 0; m < source->mNumMeshes; m++)
		if (source->mMeshes[m] && source->mMeshes[m]->mMaterialIndex < source->mNumMaterials)
			used[source->mMeshes[m]->mMaterialIndex] = true;
}

static void convert_all(material_builder *b, const bool *used)
{
	hob_assimp_scene *scene = b->scene;
	hob_model *model = scene->model;
	for (unsigned m = 0; m < scene->source->mNumMaterials; m++) {
		const struct aiMaterial *from = scene->source->mMaterials[m];
		scene->material_ids[m] = HOB_NONE;
		if (!from || (!used[m] && is_made_up(from)))
			continue;
		hob_material *to = &model->materials[model->material_count];
		convert_material(b, from, to);
		scene->material_ids[m] = model->material_count++;
	}
	hob_image_set_take(&b->images, model);
}

void hob_assimp_materials(hob_assimp_scene *scene)
{
	const struct aiScene *source = scene->source;
	hob_model *model = scene->model;
	hob_arena *result = scene->request->result, *scratch = scene->request->scratch;
	if (source->mNumMaterials > HOB_LIMIT_MATERIALS)
		hob_leave(LIMIT, "%u materials, at most %llu are allowed", source->mNumMaterials,
				  HOB_LIMIT_MATERIALS);
	material_builder b = {.scene = scene};
	b.image_of_embedded = HOB_NEW(scratch, uint32_t, source->mNumTextures);
	bool *used = HOB_NEW(scratch, bool, source->mNumMaterials);
	scene->material_ids = HOB_NEW(scratch, uint32_t, source->mNumMaterials);
	model->materials = HOB_NEW(result, hob_material, source->mNumMaterials);
	model->samplers = HOB_NEW(result, hob_sampler, SAMPLERS_MAX);
	memset(b.image_of_embedded, 0xFF, source->mNumTextures * sizeof *b.image_of_embedded);
	mark_materials(scene, used);
	hob_image_set_init(&b.images, scene->request);
	convert_all(&b, used);
}
