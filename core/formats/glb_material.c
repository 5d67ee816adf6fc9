#include "glb_writer.h"

#include "../model/properties.h"

#include <float.h>
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
	struct hob_guard *guard = hob_guard_suspend();
	bool got = !w->pictures || w->pictures->get(w->pictures->user, index, image, &file, w->err);
	hob_guard_resume(guard);
	if (!got)
		return false;
	hob_str name = hob_pack_string(&w->materials, image->name);
	const char *mime = mime_of(file);
	if (!mime) {
		hob_warn(w->notes, "glb.image-dropped",
				 "image %u '%.*s' is left out: no PNG or JPEG of it is at hand", index, HOB_FMT(name));
		return true;
	}
	uint32_t view;
	memcpy(hob_glb_view(w, file.size, 0, &view), file.data, file.size);
	w->image_place[index] = w->lists[GLB_LIST_IMAGES].count;
	hob_buf *json = hob_glb_next(w, GLB_LIST_IMAGES);
	hob_buf_printf(json, "{\"bufferView\":%u,\"mimeType\":\"%s\"", view, mime);
	hob_glb_name(json, name);
	hob_buf_put(json, "}", 1);
	return true;
}

static void put_sampler(glb_writer *w, const hob_pk_texture_sampler *s)
{
	static const uint32_t wraps[] = {10497, 33071, 33648};
	static const uint32_t filters[] = {0, 9728, 9729, 9984, 9985, 9986, 9987};
	hob_buf *json = hob_glb_next(w, GLB_LIST_SAMPLERS);
	hob_buf_printf(json, "{\"wrapS\":%u,\"wrapT\":%u", wraps[s->wrap_u], wraps[s->wrap_v]);
	if (s->mag)
		hob_buf_printf(json, ",\"magFilter\":%u", filters[s->mag]);
	if (s->min)
		hob_buf_printf(json, ",\"minFilter\":%u", filters[s->min]);
	hob_buf_put(json, "}", 1);
}

/* Writes one texture per image and sampler. place[image * (samplers + 1) + sampler] would be large, so
 * references are compared with earlier ones through a chain per image. */
static void put_textures(glb_writer *w)
{
	hob_pack_array refs = hob_pack_find(&w->materials, HOB_PK_TEXR);
	uint32_t images = hob_pack_find(&w->materials, HOB_PK_IMGS).count;
	w->texture_place = HOB_NEW(w->arena, uint32_t, refs.count);
	uint32_t *newest = HOB_NEW(w->arena, uint32_t, images), *before = HOB_NEW(w->arena, uint32_t, refs.count);
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
		w->texture_place[r] = w->lists[GLB_LIST_TEXTURES].count;
		hob_buf *json = hob_glb_next(w, GLB_LIST_TEXTURES);
		hob_buf_printf(json, "{\"source\":%u", w->image_place[ref->image]);
		if (ref->sampler != HOB_PK_NONE)
			hob_buf_printf(json, ",\"sampler\":%u", ref->sampler);
		hob_buf_put(json, "}", 1);
	}
}

/* ---- materials ---- */

typedef struct material_writer {
	glb_writer *w;
	hob_buf *out;
	uint32_t index;
	hob_pk_material m;
} material_writer;

static float clamp(float value, float low, float high)
{
	return value < low ? low : value > high ? high : value;
}

/* The part of a glTF pointer after its last slash. */
static const char *key_of(const char *pointer)
{
	const char *slash = strrchr(pointer, '/');
	return slash ? slash + 1 : pointer;
}

/* ,"key":value of a property of the material, within the range that glTF allows; infinite ones are left
 * out. */
static void put_property(const material_writer *p, hob_property property)
{
	static const size_t places[] = {
#define PROPERTY(name, number, record, field, components, length, pointer, doc)                              \
	[number] = offsetof(hob_pk_##record, field),
#include "../../schema/formats/animation.def"
	};
	/* Others are from 0 to 1. */
	static const float ranges[HOB_PROPERTY_COUNT][2] = {
		[HOB_PROPERTY_EMISSIVE_STRENGTH] = {-FLT_MAX, FLT_MAX},
		[HOB_PROPERTY_NORMAL_SCALE] = {-FLT_MAX, FLT_MAX},
		[HOB_PROPERTY_ALPHA_CUTOFF] = {0, FLT_MAX},
		[HOB_PROPERTY_IOR] = {1, FLT_MAX},
		[HOB_PROPERTY_DISPERSION] = {0, FLT_MAX},
		[HOB_PROPERTY_SPECULAR_COLOR] = {-FLT_MAX, FLT_MAX},
		[HOB_PROPERTY_CLEARCOAT_NORMAL_SCALE] = {-FLT_MAX, FLT_MAX},
		[HOB_PROPERTY_THICKNESS] = {0, FLT_MAX},
		[HOB_PROPERTY_ATTENUATION_DISTANCE] = {-FLT_MAX, FLT_MAX},
		[HOB_PROPERTY_ANISOTROPY_ROTATION] = {-FLT_MAX, FLT_MAX},
		[HOB_PROPERTY_IRIDESCENCE_IOR] = {1, FLT_MAX},
		[HOB_PROPERTY_IRIDESCENCE_MIN] = {0, FLT_MAX},
		[HOB_PROPERTY_IRIDESCENCE_MAX] = {0, FLT_MAX},
	};
	const hob_property_info *info = hob_property_of(property);
	const float *range = ranges[property];
	float values[4];
	memcpy(values, (const uint8_t *)&p->m + places[property], info->components * sizeof *values);
	/* An index of refraction of 0 has a meaning of its own. */
	bool own = property == HOB_PROPERTY_IOR && !(values[0] > 0);
	for (uint32_t i = 0; i < info->components && !own; i++)
		values[i] = isfinite(values[i]) ? clamp(values[i], range[0], range[1] > 0 ? range[1] : 1) : INFINITY;
	if (info->components > 1)
		hob_glb_floats(p->out, key_of(info->pointer), values, info->components);
	else if (isfinite(values[0]))
		hob_glb_float(p->out, key_of(info->pointer), values[0]);
}

/* ,"key":{"index":...} */
static void put_texture(const material_writer *p, hob_slot slot)
{
	glb_writer *w = p->w;
	hob_buf *out = p->out;
	uint32_t id = p->m.textures[slot];
	if (id == HOB_PK_NONE || w->texture_place[id] == HOB_NONE)
		return;
	const hob_pk_texref *ref = HOB_PACK_AT(hob_pk_texref, hob_pack_find(&w->materials, HOB_PK_TEXR), id);
	hob_buf_printf(out, ",\"%s\":{\"index\":%u", key_of(hob_slot_pointer(slot).data), w->texture_place[id]);
	if (ref->uv_set)
		hob_buf_printf(out, ",\"texCoord\":%u", ref->uv_set);
	if (slot == HOB_SLOT_OCCLUSION)
		put_property(p, HOB_PROPERTY_OCCLUSION_STRENGTH);
	if (slot == HOB_SLOT_NORMAL)
		put_property(p, HOB_PROPERTY_NORMAL_SCALE);
	if (slot == HOB_SLOT_CLEARCOAT_NORMAL)
		put_property(p, HOB_PROPERTY_CLEARCOAT_NORMAL_SCALE);
	bool moved = ref->offset[0] != 0 || ref->offset[1] != 0, turned = ref->rotation != 0;
	bool scaled = ref->scale[0] < 1 || ref->scale[0] > 1 || ref->scale[1] < 1 || ref->scale[1] > 1;
	bool driven = w->moved_slots[p->index] >> slot & 1;
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

static void put_extensions(const material_writer *p)
{
	/* In the order of the file. */
	static const struct {
		glb_extension extension;
		uint32_t bit, count;
		hob_property properties[4];
	} extensions[] = {
		{GLB_UNLIT, HOB_PK_EXT_UNLIT, 0, {0}},
		{GLB_IOR, HOB_PK_EXT_IOR, 1, {HOB_PROPERTY_IOR}},
		{GLB_SPECULAR, HOB_PK_EXT_SPECULAR, 2, {HOB_PROPERTY_SPECULAR, HOB_PROPERTY_SPECULAR_COLOR}},
		{GLB_EMISSIVE_STRENGTH, 0, 1, {HOB_PROPERTY_EMISSIVE_STRENGTH}},
		{GLB_CLEARCOAT, HOB_PK_EXT_CLEARCOAT, 2, {HOB_PROPERTY_CLEARCOAT, HOB_PROPERTY_CLEARCOAT_ROUGHNESS}},
		{GLB_SHEEN, HOB_PK_EXT_SHEEN, 2, {HOB_PROPERTY_SHEEN_COLOR, HOB_PROPERTY_SHEEN_ROUGHNESS}},
		{GLB_IRIDESCENCE,
		 HOB_PK_EXT_IRIDESCENCE,
		 4,
		 {HOB_PROPERTY_IRIDESCENCE, HOB_PROPERTY_IRIDESCENCE_IOR, HOB_PROPERTY_IRIDESCENCE_MIN,
		  HOB_PROPERTY_IRIDESCENCE_MAX}},
		{GLB_ANISOTROPY,
		 HOB_PK_EXT_ANISOTROPY,
		 2,
		 {HOB_PROPERTY_ANISOTROPY, HOB_PROPERTY_ANISOTROPY_ROTATION}},
		{GLB_TRANSMISSION, HOB_PK_EXT_TRANSMISSION, 1, {HOB_PROPERTY_TRANSMISSION}},
		{GLB_DIFFUSE_TRANSMISSION,
		 HOB_PK_EXT_DIFFUSE_TRANSMISSION,
		 2,
		 {HOB_PROPERTY_DIFFUSE_TRANSMISSION, HOB_PROPERTY_DIFFUSE_TRANSMISSION_COLOR}},
		{GLB_VOLUME,
		 HOB_PK_EXT_VOLUME,
		 3,
		 {HOB_PROPERTY_THICKNESS, HOB_PROPERTY_ATTENUATION_COLOR, HOB_PROPERTY_ATTENUATION_DISTANCE}},
		{GLB_DISPERSION, HOB_PK_EXT_DISPERSION, 1, {HOB_PROPERTY_DISPERSION}},
	};
	bool driven = p->w->driven[p->index] >> HOB_PROPERTY_EMISSIVE_STRENGTH & 1;
	bool emits = driven || p->m.emissive_strength < 1 || p->m.emissive_strength > 1;
	bool any = false;
	for (size_t i = 0; i < HOB_COUNT_OF(extensions); i++) {
		const char *name = hob_glb_extension_names[extensions[i].extension];
		if (!(extensions[i].bit ? p->m.ext_mask & extensions[i].bit : emits))
			continue;
		p->w->extensions |= 1u << extensions[i].extension;
		hob_buf_printf(p->out, "%s\"%s\":{", any ? "," : ",\"extensions\":{", name);
		any = true;
		size_t start = p->out->size;
		for (uint32_t k = 0; k < extensions[i].count; k++)
			put_property(p, extensions[i].properties[k]);
		for (int slot = 0; slot < HOB_SLOT_COUNT; slot++)
			if (hob_str_find(hob_slot_pointer((hob_slot)slot), hob_str_of(name), 0) != SIZE_MAX)
				put_texture(p, (hob_slot)slot);
		hob_glb_drop_comma(p->out, start);
		hob_buf_put(p->out, "}", 1);
	}
	if (any)
		hob_buf_put(p->out, "}", 1);
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
	material_writer p = {w, hob_glb_next(w, GLB_LIST_MATERIALS), index, *m};
	hob_buf *out = p.out;
	hob_buf_put(out, "{", 1);
	size_t start = out->size;
	/* glTF requires emissive factors up to 1: anything above goes into the strength. */
	float peak = fmaxf(fmaxf(m->emissive[0], m->emissive[1]), m->emissive[2]), over = peak > 1 ? peak : 1;
	for (int k = 0; k < 3; k++)
		p.m.emissive[k] /= over;
	p.m.emissive_strength *= over;
	hob_glb_name(out, hob_pack_string(&w->materials, m->name));
	hob_buf_printf(out, ",\"pbrMetallicRoughness\":{");
	size_t inner = out->size;
	put_property(&p, HOB_PROPERTY_BASE_COLOR);
	put_property(&p, HOB_PROPERTY_METALLIC);
	put_property(&p, HOB_PROPERTY_ROUGHNESS);
	put_texture(&p, HOB_SLOT_BASE_COLOR);
	put_texture(&p, HOB_SLOT_METAL_ROUGH);
	hob_glb_drop_comma(out, inner);
	hob_buf_put(out, "}", 1);
	put_texture(&p, HOB_SLOT_NORMAL);
	put_texture(&p, HOB_SLOT_OCCLUSION);
	put_texture(&p, HOB_SLOT_EMISSIVE);
	put_property(&p, HOB_PROPERTY_EMISSIVE);
	if (m->flags & HOB_PK_MATERIAL_MASK) {
		hob_buf_printf(out, ",\"alphaMode\":\"MASK\"");
		put_property(&p, HOB_PROPERTY_ALPHA_CUTOFF);
	} else if (m->flags & HOB_PK_MATERIAL_BLEND) {
		hob_buf_printf(out, ",\"alphaMode\":\"BLEND\"");
	}
	if (m->flags & HOB_PK_MATERIAL_DOUBLE_SIDED)
		hob_buf_printf(out, ",\"doubleSided\":true");
	put_extensions(&p);
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
	hob_glb_find_driven(w);
	w->image_place = HOB_NEW(w->arena, uint32_t, images.count);
	for (uint32_t i = 0; i < images.count; i++)
		if (!put_image(w, i, HOB_PACK_AT(hob_pk_image, images, i)))
			return hob_fail_in(w->err, "image %u", i);
	for (uint32_t i = 0; i < samplers.count; i++)
		put_sampler(w, HOB_PACK_AT(hob_pk_texture_sampler, samplers, i));
	put_textures(w);
	for (uint32_t i = 0; i < materials.count; i++)
		put_material(w, i);
	return true;
}
