#include "glb_writer.h"

#include <math.h>

/* ---- pictures, samplers, textures ---- */

static const char *mime_of(hob_bytes file)
{
	if (file.size >= 8 && memcmp(file.data, "\x89PNG\r\n\x1a\n", 8) == 0)
		return "image/png";
	if (file.size >= 3 && memcmp(file.data, "\xFF\xD8\xFF", 3) == 0)
		return "image/jpeg";
	return NULL;
}

static bool put_image(glb_writer *w, uint32_t index, const hob_pk_image *image)
{
	hob_bytes file = {0};
	w->image_place[index] = HOB_NONE;
	if (w->pictures && !w->pictures->get(w->pictures->user, index, image, &file, w->err))
		return false;
	hob_str name = hob_pack_string(&w->materials, image->name);
	const char *mime = mime_of(file);
	if (!mime) {
		hob_warn(w->notes, "glb.image-dropped",
				 "image %u '%.*s' is left out: no PNG or JPEG of it is at hand", index, HOB_FMT(name));
		return true;
	}
	uint32_t view;
	uint8_t *at = hob_glb_view(w, file.size, 0, &view);
	if (at)
		memcpy(at, file.data, file.size);
	w->image_place[index] = w->images.count;
	hob_buf *json = hob_glb_next(&w->images);
	hob_buf_printf(json, "{\"bufferView\":%u,\"mimeType\":\"%s\"", view, mime);
	hob_glb_name(json, name);
	hob_buf_put(json, "}", 1);
	return true;
}

static void put_sampler(glb_writer *w, const hob_pk_texture_sampler *s)
{
	static const uint32_t wraps[] = {10497, 33071, 33648};
	static const uint32_t filters[] = {0, 9728, 9729, 9984, 9985, 9986, 9987};
	hob_buf *json = hob_glb_next(&w->samplers);
	hob_buf_printf(json, "{\"wrapS\":%u,\"wrapT\":%u", wraps[s->wrap_u], wraps[s->wrap_v]);
	if (s->mag)
		hob_buf_printf(json, ",\"magFilter\":%u", filters[s->mag]);
	if (s->min)
		hob_buf_printf(json, ",\"minFilter\":%u", filters[s->min]);
	hob_buf_put(json, "}", 1);
}

/* Writes one texture per image and sampler. place[image * (samplers + 1) + sampler] would be large, so
 * references are compared with earlier ones through a chain per image. */
static bool put_textures(glb_writer *w)
{
	hob_pack_array refs = hob_pack_find(&w->materials, HOB_PK_TEXR);
	uint32_t images = hob_pack_find(&w->materials, HOB_PK_IMGS).count;
	w->texture_place = HOB_NEW(w->arena, uint32_t, refs.count);
	uint32_t *newest = HOB_NEW(w->arena, uint32_t, images), *before = HOB_NEW(w->arena, uint32_t, refs.count);
	if (!w->texture_place || !newest || !before)
		return hob_fail_memory(w->err, w->arena, "textures");
	for (uint32_t r = 0; r < refs.count; r++) {
		const hob_pk_texref *ref = HOB_PACK_AT(hob_pk_texref, refs, r);
		w->texture_place[r] = HOB_NONE;
		if (w->image_place[ref->image] == HOB_NONE)
			continue;
		uint32_t twin = newest[ref->image];
		while (twin && HOB_PACK_AT(hob_pk_texref, refs, twin - 1)->sampler != ref->sampler)
			twin = before[twin - 1];
		if (twin) {
			w->texture_place[r] = w->texture_place[twin - 1];
			continue;
		}
		before[r] = newest[ref->image];
		newest[ref->image] = r + 1;
		w->texture_place[r] = w->textures.count;
		hob_buf *json = hob_glb_next(&w->textures);
		hob_buf_printf(json, "{\"source\":%u", w->image_place[ref->image]);
		if (ref->sampler != HOB_PK_NONE)
			hob_buf_printf(json, ",\"sampler\":%u", ref->sampler);
		hob_buf_put(json, "}", 1);
	}
	return true;
}

/* ---- materials ---- */

static float clamp(float value, float low, float high)
{
	return value < low ? low : value > high ? high : value;
}

static void put_colour(hob_buf *out, const char *key, const float *rgb)
{
	float inside[3] = {clamp(rgb[0], 0, 1), clamp(rgb[1], 0, 1), clamp(rgb[2], 0, 1)};
	hob_glb_floats(out, key, inside, 3);
}

static size_t index_of(const glb_writer *w, const hob_pk_material *m)
{
	hob_pack_array materials = hob_pack_find(&w->materials, HOB_PK_MATL);
	return (size_t)((const uint8_t *)m - materials.data) / materials.stride;
}

/* ,"key":{"index":...}; `extra` is another number of the object, as text with its comma, or "". */
static void put_texture(glb_writer *w, hob_buf *out, const hob_pk_material *m, uint32_t slot, const char *key,
						const char *extra, float value)
{
	uint32_t id = m->textures[slot];
	if (id == HOB_PK_NONE || w->texture_place[id] == HOB_NONE)
		return;
	const hob_pk_texref *ref = HOB_PACK_AT(hob_pk_texref, hob_pack_find(&w->materials, HOB_PK_TEXR), id);
	hob_buf_printf(out, ",\"%s\":{\"index\":%u", key, w->texture_place[id]);
	if (ref->uv_set)
		hob_buf_printf(out, ",\"texCoord\":%u", ref->uv_set);
	if (*extra)
		hob_glb_float(out, extra, value);
	bool moved = ref->offset[0] != 0 || ref->offset[1] != 0, turned = ref->rotation != 0;
	bool scaled = ref->scale[0] < 1 || ref->scale[0] > 1 || ref->scale[1] < 1 || ref->scale[1] > 1;
	bool driven = w->moved_slots[index_of(w, m)] >> slot & 1;
	if (driven || moved || turned || scaled) {
		w->extensions |= 1u << GLB_TEXTURE_TRANSFORM;
		hob_buf_printf(out, ",\"extensions\":{\"%s\":{\"offset\":[",
					   hob_glb_extension_names[GLB_TEXTURE_TRANSFORM]);
		hob_put_f32(out, ref->offset[0]);
		hob_buf_put(out, ",", 1);
		hob_put_f32(out, ref->offset[1]);
		hob_buf_put(out, "]", 1);
		hob_glb_floats(out, "scale", ref->scale, 2);
		hob_glb_float(out, "rotation", ref->rotation);
		hob_buf_printf(out, "}}");
	}
	hob_buf_put(out, "}", 1);
}

typedef struct extension_writer {
	glb_writer *w;
	hob_buf *out;
	const hob_pk_material *m;
	uint32_t count;
	size_t start;
} extension_writer;

static void begin(extension_writer *e, glb_extension extension)
{
	e->w->extensions |= 1u << extension;
	hob_buf_printf(e->out, "%s\"%s\":{", e->count++ ? "," : ",\"extensions\":{",
				   hob_glb_extension_names[extension]);
	e->start = e->out->size;
}

static void end(extension_writer *e)
{
	hob_glb_drop_comma(e->out, e->start);
	hob_buf_put(e->out, "}", 1);
}

static void texture(extension_writer *e, uint32_t slot, const char *key)
{
	put_texture(e->w, e->out, e->m, slot, key, "", 0);
}

static void put_coats(extension_writer *e)
{
	const hob_pk_material *m = e->m;
	if (m->ext_mask & HOB_PK_EXT_CLEARCOAT) {
		begin(e, GLB_CLEARCOAT);
		hob_glb_float(e->out, "clearcoatFactor", clamp(m->clearcoat, 0, 1));
		hob_glb_float(e->out, "clearcoatRoughnessFactor", clamp(m->clearcoat_roughness, 0, 1));
		texture(e, HOB_PK_SLOT_CLEARCOAT, "clearcoatTexture");
		texture(e, HOB_PK_SLOT_CLEARCOAT_ROUGH, "clearcoatRoughnessTexture");
		put_texture(e->w, e->out, m, HOB_PK_SLOT_CLEARCOAT_NORMAL, "clearcoatNormalTexture", "scale",
					m->clearcoat_normal_scale);
		end(e);
	}
	if (m->ext_mask & HOB_PK_EXT_SHEEN) {
		begin(e, GLB_SHEEN);
		put_colour(e->out, "sheenColorFactor", m->sheen_color);
		hob_glb_float(e->out, "sheenRoughnessFactor", clamp(m->sheen_roughness, 0, 1));
		texture(e, HOB_PK_SLOT_SHEEN_COLOR, "sheenColorTexture");
		texture(e, HOB_PK_SLOT_SHEEN_ROUGH, "sheenRoughnessTexture");
		end(e);
	}
	if (m->ext_mask & HOB_PK_EXT_IRIDESCENCE) {
		begin(e, GLB_IRIDESCENCE);
		hob_glb_float(e->out, "iridescenceFactor", clamp(m->iridescence, 0, 1));
		hob_glb_float(e->out, "iridescenceIor", m->iridescence_ior < 1 ? 1 : m->iridescence_ior);
		hob_glb_float(e->out, "iridescenceThicknessMinimum", m->iridescence_min < 0 ? 0 : m->iridescence_min);
		hob_glb_float(e->out, "iridescenceThicknessMaximum", m->iridescence_max < 0 ? 0 : m->iridescence_max);
		texture(e, HOB_PK_SLOT_IRIDESCENCE, "iridescenceTexture");
		texture(e, HOB_PK_SLOT_IRIDESCENCE_THICKNESS, "iridescenceThicknessTexture");
		end(e);
	}
	if (m->ext_mask & HOB_PK_EXT_ANISOTROPY) {
		begin(e, GLB_ANISOTROPY);
		hob_glb_float(e->out, "anisotropyStrength", clamp(m->anisotropy, 0, 1));
		hob_glb_float(e->out, "anisotropyRotation", m->anisotropy_rotation);
		texture(e, HOB_PK_SLOT_ANISOTROPY, "anisotropyTexture");
		end(e);
	}
}

static void put_volumes(extension_writer *e)
{
	const hob_pk_material *m = e->m;
	if (m->ext_mask & HOB_PK_EXT_TRANSMISSION) {
		begin(e, GLB_TRANSMISSION);
		hob_glb_float(e->out, "transmissionFactor", clamp(m->transmission, 0, 1));
		texture(e, HOB_PK_SLOT_TRANSMISSION, "transmissionTexture");
		end(e);
	}
	if (m->ext_mask & HOB_PK_EXT_DIFFUSE_TRANSMISSION) {
		begin(e, GLB_DIFFUSE_TRANSMISSION);
		hob_glb_float(e->out, "diffuseTransmissionFactor", clamp(m->diffuse_transmission, 0, 1));
		put_colour(e->out, "diffuseTransmissionColorFactor", m->diffuse_transmission_color);
		texture(e, HOB_PK_SLOT_DIFFUSE_TRANSMISSION, "diffuseTransmissionTexture");
		texture(e, HOB_PK_SLOT_DIFFUSE_TRANSMISSION_COLOR, "diffuseTransmissionColorTexture");
		end(e);
	}
	if (m->ext_mask & HOB_PK_EXT_VOLUME) {
		begin(e, GLB_VOLUME);
		hob_glb_float(e->out, "thicknessFactor", m->thickness < 0 ? 0 : m->thickness);
		put_colour(e->out, "attenuationColor", m->attenuation_color);
		if (isfinite(m->attenuation_distance))
			hob_glb_float(e->out, "attenuationDistance", m->attenuation_distance);
		texture(e, HOB_PK_SLOT_THICKNESS, "thicknessTexture");
		end(e);
	}
	if (m->ext_mask & HOB_PK_EXT_DISPERSION) {
		begin(e, GLB_DISPERSION);
		hob_glb_float(e->out, "dispersion", m->dispersion < 0 ? 0 : m->dispersion);
		end(e);
	}
}

static void put_extensions(extension_writer *e, float emissive_strength)
{
	const hob_pk_material *m = e->m;
	if (m->ext_mask & HOB_PK_EXT_UNLIT) {
		begin(e, GLB_UNLIT);
		end(e);
	}
	if (m->ext_mask & HOB_PK_EXT_IOR) {
		begin(e, GLB_IOR);
		hob_glb_float(e->out, "ior", m->ior > 0 && m->ior < 1 ? 1 : m->ior);
		end(e);
	}
	if (m->ext_mask & HOB_PK_EXT_SPECULAR) {
		begin(e, GLB_SPECULAR);
		hob_glb_float(e->out, "specularFactor", clamp(m->specular, 0, 1));
		hob_glb_floats(e->out, "specularColorFactor", m->specular_color, 3);
		texture(e, HOB_PK_SLOT_SPECULAR, "specularTexture");
		texture(e, HOB_PK_SLOT_SPECULAR_COLOR, "specularColorTexture");
		end(e);
	}
	bool driven = e->w->driven[index_of(e->w, m)] >> HOB_PK_PROPERTY_EMISSIVE_STRENGTH & 1;
	if (driven || emissive_strength < 1 || emissive_strength > 1) {
		begin(e, GLB_EMISSIVE_STRENGTH);
		hob_glb_float(e->out, "emissiveStrength", emissive_strength);
		end(e);
	}
	put_coats(e);
	put_volumes(e);
	if (e->count)
		hob_buf_put(e->out, "}", 1);
}

static void put_metallic_roughness(glb_writer *w, hob_buf *out, const hob_pk_material *m)
{
	float base[4];
	for (size_t i = 0; i < 4; i++)
		base[i] = clamp(m->base_color[i], 0, 1);
	hob_buf_printf(out, ",\"pbrMetallicRoughness\":{");
	size_t start = out->size;
	hob_glb_floats(out, "baseColorFactor", base, 4);
	hob_glb_float(out, "metallicFactor", clamp(m->metallic, 0, 1));
	hob_glb_float(out, "roughnessFactor", clamp(m->roughness, 0, 1));
	put_texture(w, out, m, HOB_PK_SLOT_BASE_COLOR, "baseColorTexture", "", 0);
	put_texture(w, out, m, HOB_PK_SLOT_METAL_ROUGH, "metallicRoughnessTexture", "", 0);
	hob_glb_drop_comma(out, start);
	hob_buf_put(out, "}", 1);
}

static void note_lost_slots(glb_writer *w, const hob_pk_material *m)
{
	static const uint32_t lost[] = {HOB_PK_SLOT_OPACITY, HOB_PK_SLOT_ROUGHNESS, HOB_PK_SLOT_METALLIC,
									HOB_PK_SLOT_BUMP};
	for (size_t i = 0; i < HOB_COUNT_OF(lost); i++)
		if (m->textures[lost[i]] != HOB_PK_NONE)
			hob_warn(
				w->notes, "glb.texture-dropped",
				"material '%.*s' has a separate opacity, roughness, metallic or bump picture, which glTF has "
				"no place for; cook with texture.encoding other than source",
				HOB_FMT(hob_pack_string(&w->materials, m->name)));
}

static void put_material(glb_writer *w, uint32_t index)
{
	const hob_pk_material *m = HOB_PACK_AT(hob_pk_material, hob_pack_find(&w->materials, HOB_PK_MATL), index);
	hob_buf *out = hob_glb_next(&w->gltf_materials);
	hob_buf_put(out, "{", 1);
	size_t start = out->size;
	/* glTF requires emissive factors up to 1: anything above goes into the strength. */
	float peak = fmaxf(fmaxf(m->emissive[0], m->emissive[1]), m->emissive[2]), over = peak > 1 ? peak : 1;
	float emissive[3] = {m->emissive[0] / over, m->emissive[1] / over, m->emissive[2] / over};
	hob_glb_name(out, hob_pack_string(&w->materials, m->name));
	put_metallic_roughness(w, out, m);
	put_texture(w, out, m, HOB_PK_SLOT_NORMAL, "normalTexture", "scale", m->normal_scale);
	put_texture(w, out, m, HOB_PK_SLOT_OCCLUSION, "occlusionTexture", "strength",
				clamp(m->occlusion_strength, 0, 1));
	put_texture(w, out, m, HOB_PK_SLOT_EMISSIVE, "emissiveTexture", "", 0);
	put_colour(out, "emissiveFactor", emissive);
	if (m->flags & HOB_PK_MATERIAL_MASK) {
		hob_buf_printf(out, ",\"alphaMode\":\"MASK\"");
		hob_glb_float(out, "alphaCutoff", m->alpha_cutoff < 0 ? 0 : m->alpha_cutoff);
	} else if (m->flags & HOB_PK_MATERIAL_BLEND) {
		hob_buf_printf(out, ",\"alphaMode\":\"BLEND\"");
	}
	if (m->flags & HOB_PK_MATERIAL_DOUBLE_SIDED)
		hob_buf_printf(out, ",\"doubleSided\":true");
	extension_writer e = {.w = w, .out = out, .m = m};
	put_extensions(&e, m->emissive_strength * over);
	hob_glb_extras(w, out, HOB_PK_EXTRA_MATERIAL, index);
	hob_glb_drop_comma(out, start);
	hob_buf_put(out, "}", 1);
	note_lost_slots(w, m);
}

bool hob_glb_put_materials(glb_writer *w)
{
	hob_pack_array images = hob_pack_find(&w->materials, HOB_PK_IMGS),
				   samplers = hob_pack_find(&w->materials, HOB_PK_TSMP);
	hob_pack_array materials = hob_pack_find(&w->materials, HOB_PK_MATL);
	if (!hob_glb_find_driven(w))
		return false;
	if (!HOB_MAKE(w->arena, &w->image_place, images.count, "images", w->err))
		return false;
	for (uint32_t i = 0; i < images.count; i++)
		if (!put_image(w, i, HOB_PACK_AT(hob_pk_image, images, i)))
			return hob_fail_in(w->err, "image %u", i);
	for (uint32_t i = 0; i < samplers.count; i++)
		put_sampler(w, HOB_PACK_AT(hob_pk_texture_sampler, samplers, i));
	if (!put_textures(w))
		return false;
	for (uint32_t i = 0; i < materials.count; i++)
		put_material(w, i);
	return true;
}
