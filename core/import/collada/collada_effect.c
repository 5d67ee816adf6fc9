#include "collada_private.h"

#include "../shape.h"
#include "../text.h"

#include <math.h>

typedef struct effect_reader {
	hob_collada *c;
	hob_xml_ptr effect, profile, material_instance;
	hob_collada_effect *out;
} effect_reader;

/* ---- parameters */

/* <newparam sid> of the profile or the effect, overridden by <setparam ref> of the material's
 * instance_effect. */
static hob_xml_ptr param(const effect_reader *r, hob_str sid)
{
	const hob_xml_ptr places[] = {r->material_instance, r->profile, r->effect};
	static const char *const kinds[] = {"setparam", "newparam"};
	for (size_t i = 0; i < HOB_COUNT_OF(places); i++)
		for (size_t k = 0; k < HOB_COUNT_OF(kinds); k++)
			for (hob_xml_ptr e = hob_xml_child(places[i], hob_str_of(kinds[k])); e;
				 e = hob_xml_next(e, hob_str_of(kinds[k])))
				if (hob_str_equal(hob_xml_attr(e, k == 0 ? HOB_STR("ref") : HOB_STR("sid")), sid))
					return e;
	return NULL;
}

static uint32_t numbers_of(const effect_reader *r, hob_xml_ptr e, float *out, uint32_t count)
{
	static const char *const kinds[] = {"color", "float", "float2", "float3", "float4"};
	for (int depth = 0; e && depth < 4; depth++) {
		for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++) {
			hob_xml_ptr value = hob_xml_child(e, hob_str_of(kinds[i]));
			uint32_t read = value ? hob_xml_floats(value->text, out, count) : 0;
			for (uint32_t k = 0; k < read; k++)
				if (out[k] - out[k] != 0)
					return 0;
			if (read > 0)
				return read;
		}
		hob_xml_ptr reference = hob_xml_child(e, HOB_STR("param"));
		e = reference ? param(r, hob_xml_attr(reference, HOB_STR("ref"))) : NULL;
	}
	return 0;
}

/* ---- pictures */

hob_str hob_collada_image_file(hob_xml_ptr image)
{
	hob_xml_ptr from = hob_xml_child(image, HOB_STR("init_from"));
	hob_xml_ptr ref = hob_xml_child(from, HOB_STR("ref"));
	return hob_xml_text(ref ? ref : from);
}

/* Bytes stored in the file as hexadecimal digits: <data> in 1.4, <init_from><hex> in 1.5. */
static uint32_t embedded(effect_reader *r, hob_xml_ptr image)
{
	hob_xml_ptr data = hob_xml_child(image, HOB_STR("data"));
	if (!data)
		data = hob_xml_find(image, "init_from/hex");
	hob_str hex = hob_xml_text(data);
	if (hex.len == 0)
		return HOB_NONE;
	uint32_t id;
	uint8_t *bytes = HOB_NEW(r->c->request->result, uint8_t, hex.len / 2);
	hob_image *to = hob_image_set_add(&r->c->lists.images, &id);
	size_t digits = 0;
	for (size_t i = 0; i < hex.len; i++) {
		int digit = hob_text_hex(hex.data[i]);
		if (digit >= 0 && digits / 2 < hex.len / 2)
			bytes[digits / 2] = (uint8_t)(bytes[digits / 2] << 4 | digit);
		digits += digit >= 0;
	}
	to->bytes = (hob_bytes){bytes, digits / 2};
	to->name = hob_collada_name(r->c, image);
	return id;
}

static uint32_t archived(hob_collada *c, hob_str file)
{
	hob_bytes bytes;
	hob_str name = hob_text_last_part(file);
	uint32_t id = hob_name_map_get(&c->embedded, name);
	if (id != HOB_NONE || name.len == 0 || !hob_collada_member(c, name, &bytes))
		return id;
	hob_image *to = hob_image_set_add(&c->lists.images, &id);
	to->bytes = bytes;
	to->name = hob_text_name(c->request->result, name);
	return hob_name_map_add(&c->embedded, name, id);
}

static uint32_t picture(effect_reader *r, hob_xml_ptr image)
{
	hob_collada *c = r->c;
	uint32_t *slot = &c->slot[image->number], id = *slot != HOB_NONE ? *slot : embedded(r, image);
	hob_str file = hob_collada_image_file(image), decoded = file;
	if (id == HOB_NONE && file.len > 0) {
		/* URIs by the specification, but as often plain paths. */
		if (!hob_uri_decode(c->request->scratch, file, &decoded, NULL))
			decoded = file;
		id = c->zipped ? archived(c, decoded) : HOB_NONE;
		if (id == HOB_NONE)
			id = hob_image_set_file(&c->lists.images, decoded);
	}
	return *slot = id;
}

/* ---- samplers */

static hob_wrap wrap_of(hob_str text)
{
	return hob_str_equal(text, HOB_STR("CLAMP")) || hob_str_equal(text, HOB_STR("BORDER")) ? HOB_WRAP_CLAMP
		   : hob_str_equal(text, HOB_STR("MIRROR")) || hob_str_equal(text, HOB_STR("MIRROR_ONCE"))
			   ? HOB_WRAP_MIRROR
			   : HOB_WRAP_REPEAT;
}

static hob_filter filter_of(hob_str text)
{
	/* In the order of hob_filter. */
	size_t place = hob_text_index(text, HOB_WORDS("", "NEAREST", "LINEAR", "NEAREST_MIPMAP_NEAREST",
												  "LINEAR_MIPMAP_NEAREST", "NEAREST_MIPMAP_LINEAR",
												  "LINEAR_MIPMAP_LINEAR"));
	return place <= HOB_FILTER_LINEAR_MIP_LINEAR ? (hob_filter)place : HOB_FILTER_DEFAULT;
}

/* ---- textures */

/* Image of <texture texture="...">: through sampler and surface, through sampler and instance_image (1.5),
 * or, from some exporters, directly. */
static hob_xml_ptr image_of(const effect_reader *r, hob_str name, hob_xml_ptr *sampler)
{
	hob_collada *c = r->c;
	hob_xml_ptr declared = param(r, name);
	*sampler = hob_xml_child_of(declared, HOB_WORDS("sampler2D", "samplerCUBE"));
	hob_xml_ptr direct = hob_xml_child(*sampler, HOB_STR("instance_image"));
	if (direct)
		return hob_collada_target(c, direct, "image", "url");
	hob_str source = hob_xml_text(hob_xml_child(*sampler, HOB_STR("source")));
	hob_xml_ptr surface = source.len > 0 ? param(r, source) : declared;
	hob_str id = hob_xml_text(hob_xml_find(surface, "surface/init_from"));
	if (id.len == 0)
		id = source.len > 0 && !surface ? source : name;
	hob_xml_ptr found = hob_collada_by_id(c, r->effect, "image", id);
	if (found && hob_xml_is(found, HOB_STR("image")))
		return found;
	/* Some exporters refer to images by name instead of id. */
	HOB_COLLADA_EACH (i, c, "library_images", "image")
		if (hob_str_equal(hob_xml_attr(i, HOB_STR("name")), id) ||
			hob_str_equal(hob_xml_attr(i, HOB_STR("sid")), id))
			return i;
	return NULL;
}

static float extra_float(hob_xml_ptr texture, const char *name, float otherwise)
{
	hob_xml_ptr e = hob_collada_extra(texture, hob_str_of(name));
	float value;
	return e && hob_xml_floats(e->text, &value, 1) == 1 && value - value == 0 ? value : otherwise;
}

/* Maya's texture placement; the file's V points up. */
static void place_texture(hob_collada *c, hob_xml_ptr texture, hob_texture_ref *ref, hob_sampler *sampler)
{
	float su = extra_float(texture, "repeatU", 1), sv = extra_float(texture, "repeatV", 1);
	float u = extra_float(texture, "offsetU", 0), v = extra_float(texture, "offsetV", 0);
	if (!hob_collada_extra(texture, HOB_STR("repeatU")) && !hob_collada_extra(texture, HOB_STR("offsetU")) &&
		!hob_collada_extra(texture, HOB_STR("wrapU")))
		return;
	float turn = extra_float(texture, "rotateUV", 0);
	if (turn > 0 || turn < 0)
		hob_warn(
			c->request->notes, "collada.texture-turned",
			"line %u: a texture is turned by %g degrees, which is not done; turn its coordinates instead",
			texture->line, (double)turn);
	ref->scale[0] = su, ref->scale[1] = sv;
	ref->offset[0] = u, ref->offset[1] = 1 - v - sv;
	if (extra_float(texture, "wrapU", 1) <= 0)
		sampler->wrap_u = HOB_WRAP_CLAMP;
	if (extra_float(texture, "wrapV", 1) <= 0)
		sampler->wrap_v = HOB_WRAP_CLAMP;
	if (extra_float(texture, "mirrorU", 0) > 0)
		sampler->wrap_u = HOB_WRAP_MIRROR;
	if (extra_float(texture, "mirrorV", 0) > 0)
		sampler->wrap_v = HOB_WRAP_MIRROR;
}

static void set_texture(effect_reader *r, hob_xml_ptr channel, hob_slot slot)
{
	hob_collada *c = r->c;
	hob_xml_ptr texture = hob_xml_child(channel, HOB_STR("texture")), from;
	hob_texture_ref *ref = &r->out->material.slots[slot];
	if (!texture)
		return;
	hob_str name = hob_text_trim(hob_xml_attr(texture, HOB_STR("texture")));
	hob_xml_ptr image = image_of(r, name, &from);
	if (!image) {
		if (name.len > 0)
			hob_warn(c->request->notes, "collada.missing-image",
					 "line %u: no image belongs to the texture '%.*s', which is left out", texture->line,
					 HOB_FMT(name));
		return;
	}
	ref->image = picture(r, image);
	if (ref->image == HOB_NONE)
		return;
	hob_sampler sampler = {
		.wrap_u = wrap_of(hob_xml_text(hob_xml_child(from, HOB_STR("wrap_s")))),
		.wrap_v = wrap_of(hob_xml_text(hob_xml_child(from, HOB_STR("wrap_t")))),
		.mag = filter_of(hob_xml_text(hob_xml_child(from, HOB_STR("magfilter")))),
		.min = filter_of(hob_xml_text(hob_xml_child(from, HOB_STR("minfilter")))),
	};
	if (sampler.mag > HOB_FILTER_LINEAR)
		sampler.mag = HOB_FILTER_LINEAR;
	place_texture(c, texture, ref, &sampler);
	r->out->texcoord[slot] = hob_text_trim(hob_xml_attr(texture, HOB_STR("texcoord")));
	static const hob_sampler plain = {0};
	if (memcmp(&sampler, &plain, sizeof plain) != 0)
		ref->sampler = hob_lists_sampler(&c->lists, sampler);
}

/* ---- shading */

static void set_color(const effect_reader *r, hob_xml_ptr shader, const char *name, float out[3])
{
	float value[4] = {0};
	if (numbers_of(r, hob_xml_child(shader, hob_str_of(name)), value, 4) >= 3)
		for (int i = 0; i < 3; i++)
			out[i] = value[i] > 0 ? value[i] : 0;
}

/* Source: COLLADA 1.5.0, "Determining Transparency". */
static void set_opacity(effect_reader *r, hob_xml_ptr shader)
{
	hob_material *m = &r->out->material;
	hob_xml_ptr transparent = hob_xml_child(shader, HOB_STR("transparent"));
	hob_xml_ptr amount = hob_xml_child(shader, HOB_STR("transparency"));
	if (!transparent && !amount)
		return;
	float color[4] = {1, 1, 1, 1}, factor = 1;
	numbers_of(r, transparent, color, 4);
	numbers_of(r, amount, &factor, 1);
	hob_str mode = hob_xml_attr(transparent, HOB_STR("opaque"));
	float luminance = 0.212671f * color[0] + 0.715160f * color[1] + 0.072169f * color[2];
	bool rgb = hob_str_starts(mode, HOB_STR("RGB")), zero = hob_str_ends_nocase(mode, HOB_STR("_ZERO"));
	float value = (rgb ? luminance : color[3]) * factor;
	m->base_color[3] = hob_shape_clamp01(zero ? 1 - value : value);
	bool mapped = hob_xml_child(transparent, HOB_STR("texture")) != NULL;
	if (mapped && zero) {
		hob_warn(r->c->request->notes, "texture.invert",
				 "line %u: the texture of <transparent opaque=\"%.*s\"> is inverted, which is not done; "
				 "it is left out",
				 transparent->line, HOB_FMT(mode));
		m->base_color[3] = 1;
		return;
	}
	if (mapped)
		set_texture(r, transparent, HOB_SLOT_OPACITY);
	const hob_texture_ref *opacity = &m->slots[HOB_SLOT_OPACITY], *base = &m->slots[HOB_SLOT_BASE_COLOR];
	bool has_map = opacity->image != HOB_NONE;
	/* The alpha of the colour's own picture is already included. */
	if (has_map && !rgb && opacity->image == base->image)
		m->slots[HOB_SLOT_OPACITY].image = HOB_NONE;
	/* Autodesk's exporters write 0 for opaque, without a mode. */
	if (m->base_color[3] <= 0 && mode.len == 0) {
		m->base_color[3] = 1;
		hob_warn(
			r->c->request->notes, "material.opacity",
			"material '%.*s' has transparency 0 and no mode that says what this means; it is taken as opaque",
			HOB_FMT(m->name));
	}
	if (has_map || m->base_color[3] < 1)
		m->alpha_mode = HOB_ALPHA_BLEND;
	if (m->base_color[3] <= 0)
		hob_warn(r->c->request->notes, "material.invisible", "material '%.*s' has opacity 0 and is invisible",
				 HOB_FMT(m->name));
}

static bool has_texture(hob_xml_ptr shader, const char *name)
{
	return hob_xml_child(hob_xml_child(shader, hob_str_of(name)), HOB_STR("texture")) != NULL;
}

static void note_ignored(const effect_reader *r, hob_xml_ptr shader)
{
	static const char *const names[] = {"shininess", "reflective", "reflectivity", "transparency"};
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		if (has_texture(shader, names[i]))
			hob_info(r->c->request->notes, "texture.ignored", "material '%.*s': its %s map is left out",
					 HOB_FMT(r->out->material.name), names[i]);
}

static void set_shading(effect_reader *r, hob_xml_ptr shader)
{
	hob_material *m = &r->out->material;
	static const struct {
		const char *name;
		hob_slot slot;
	} maps[] = {
		{"diffuse", HOB_SLOT_BASE_COLOR},
		{"specular", HOB_SLOT_SPECULAR_COLOR},
		{"emission", HOB_SLOT_EMISSIVE},
		{"ambient", HOB_SLOT_OCCLUSION},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(maps); i++)
		set_texture(r, hob_xml_child(shader, hob_str_of(maps[i].name)), maps[i].slot);
	/* Exporters write the base picture as the ambient one, too: it is no occlusion map. */
	if (m->slots[HOB_SLOT_OCCLUSION].image == m->slots[HOB_SLOT_BASE_COLOR].image)
		m->slots[HOB_SLOT_OCCLUSION].image = HOB_NONE;
	if (m->slots[HOB_SLOT_SPECULAR_COLOR].image != HOB_NONE)
		m->ext_mask |= 1u << HOB_MATERIAL_SPECULAR;
	if (m->slots[HOB_SLOT_BASE_COLOR].image == HOB_NONE)
		set_color(r, shader, "diffuse", m->base_color);
	set_color(r, shader, "emission", m->emissive);
	if (m->slots[HOB_SLOT_EMISSIVE].image != HOB_NONE)
		m->emissive[0] = m->emissive[1] = m->emissive[2] = 1;
	float shininess = 0;
	if (numbers_of(r, hob_xml_child(shader, HOB_STR("shininess")), &shininess, 1) == 1 && shininess > 0)
		/* GGX roughness with a lobe as wide as Blinn-Phong's: alpha^2 = 2 / (n + 2), alpha = roughness^2. */
		m->roughness = sqrtf(sqrtf(2 / (shininess + 2)));
	if (hob_xml_is(shader, HOB_STR("constant"))) {
		/* Unlit: emission is the colour. */
		m->ext_mask |= 1u << HOB_MATERIAL_UNLIT;
		if (!hob_xml_child(shader, HOB_STR("emission")) && !hob_xml_child(shader, HOB_STR("diffuse"))) {
			/* SketchUp stores the colour of edges in <transparent>. */
			m->base_color[0] = m->base_color[1] = m->base_color[2] = 0;
			set_color(r, shader, "transparent", m->base_color);
		} else if (hob_xml_child(shader, HOB_STR("emission"))) {
			memcpy(m->base_color, m->emissive, sizeof m->emissive);
			m->slots[HOB_SLOT_BASE_COLOR] = m->slots[HOB_SLOT_EMISSIVE];
			r->out->texcoord[HOB_SLOT_BASE_COLOR] = r->out->texcoord[HOB_SLOT_EMISSIVE];
			m->slots[HOB_SLOT_EMISSIVE].image = HOB_NONE;
			m->emissive[0] = m->emissive[1] = m->emissive[2] = 0;
		}
	}
	note_ignored(r, shader);
	set_opacity(r, shader);
}

/* Notes maps in programs' own techniques, such as displacement. */
static void note_extra_maps(const effect_reader *r, hob_xml_ptr place)
{
	HOB_XML_EACH (extra, place, "extra")
		HOB_XML_EACH (t, extra, "technique")
			for (hob_xml_ptr e = t->first; e; e = e->next)
				if (hob_xml_child(e, HOB_STR("texture")) && !hob_xml_is(e, HOB_STR("bump")) &&
					!hob_xml_is(e, HOB_STR("normal")))
					hob_info(r->c->request->notes, "texture.ignored",
							 "material '%.*s': its %.*s map is left out", HOB_FMT(r->out->material.name),
							 HOB_FMT(e->name));
}

static void set_extras(effect_reader *r, hob_xml_ptr technique)
{
	const hob_xml_ptr places[] = {technique, r->profile, r->effect};
	hob_xml_ptr bump = NULL;
	for (size_t i = 0; i < HOB_COUNT_OF(places); i++) {
		note_extra_maps(r, places[i]);
		hob_xml_ptr sides = hob_collada_extra(places[i], HOB_STR("double_sided"));
		if (sides) {
			float value = 0;
			hob_str text = hob_xml_text(sides);
			r->out->material.double_sided = hob_str_equal_nocase(text, HOB_STR("true")) ||
											(hob_xml_floats(text, &value, 1) == 1 && value > 0);
		}
		bump = bump ? bump : hob_collada_extra(places[i], HOB_STR("bump"));
		bump = bump ? bump : hob_collada_extra(places[i], HOB_STR("normal"));
	}
	if (!bump)
		return;
	bool normal = hob_xml_is(bump, HOB_STR("normal")) ||
				  hob_str_equal_nocase(hob_xml_attr(bump, HOB_STR("bumptype")), HOB_STR("NORMALMAP"));
	set_texture(r, bump, normal ? HOB_SLOT_NORMAL : HOB_SLOT_BUMP);
}

void hob_collada_read_effect(hob_collada *c, hob_xml_ptr material, hob_collada_effect *out)
{
	effect_reader r = {.c = c, .out = out};
	memset(out, 0, sizeof *out);
	hob_str name = hob_collada_name(c, material);
	hob_shape_plain_material(&out->material, name);
	r.material_instance = hob_xml_child(material, HOB_STR("instance_effect"));
	r.effect = hob_collada_target(c, r.material_instance, "effect", "url");
	r.profile = hob_xml_child(r.effect, HOB_STR("profile_COMMON"));
	if (!r.profile) {
		if (r.effect && r.effect->first)
			hob_warn(c->request->notes, "collada.shader",
					 "line %u: effect '%.*s' has shaders only (no profile_COMMON); its material is plain",
					 r.effect->line, HOB_FMT(hob_xml_attr(r.effect, HOB_STR("id"))));
		return;
	}
	hob_xml_ptr technique = hob_xml_child(r.profile, HOB_STR("technique"));
	const char *const *shaders = HOB_WORDS("phong", "blinn", "lambert", "constant");
	hob_xml_ptr shader = hob_xml_child_of(technique, shaders);
	if (!shader)
		shader = hob_xml_child_of(r.profile, shaders);
	if (shader)
		set_shading(&r, shader);
	set_extras(&r, technique);
}
