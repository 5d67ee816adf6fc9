#include "x3d_private.h"

#include "../shape.h"

#include <math.h>

static const char *const pictures[] = {"ImageTexture", "PixelTexture", "MultiTexture", NULL};
static const char *const materials[] = {"Material", "PhysicalMaterial", "UnlitMaterial", "TwoSidedMaterial",
										NULL};
static const char *const turns[] = {"TextureTransform", "MultiTextureTransform", NULL};

/* ---- pictures */

static hob_x3d_ptr first_texture(const hob_x3d *x, hob_x3d_ptr above)
{
	hob_x3d_ptr texture = hob_x3d_child(x, above, pictures);
	if (texture && hob_x3d_is(texture, "MultiTexture")) {
		hob_warn(x->request->notes, "x3d.multi-texture",
				 "of the layers of a MultiTexture only the first is read");
		return hob_x3d_child(x, texture, pictures);
	}
	return texture;
}

/* The texture in a field: materials of X3D 4 have a field for each map. */
static hob_x3d_ptr texture_in(const hob_x3d *x, hob_x3d_ptr e, const char *field)
{
	for (hob_x3d_ptr c = e ? e->first : NULL; c; c = c->next)
		if (hob_str_equal(hob_xml_attr(c, HOB_STR("containerField")), hob_str_of(field)))
			return hob_x3d_real(x, c);
	return NULL;
}

static uint8_t byte_of(int32_t pixel, uint32_t shift)
{
	return (uint8_t)((uint32_t)pixel >> shift);
}

/* "2 2 3 0xFF0000 ...": width, height, components, pixels from the bottom. */
static uint32_t pixels(hob_x3d *x, hob_x3d_ptr texture)
{
	hob_str text = hob_xml_attr(texture, HOB_STR("image")), word;
	uint32_t head[3] = {0}, id;
	for (int i = 0; i < 3; i++) {
		float value = 0;
		if (hob_x3d_word(&text, &word) && hob_xml_floats(word, &value, 1) == 1 && value >= 0 &&
			value <= 16384)
			head[i] = (uint32_t)value;
	}
	size_t count = (size_t)head[0] * head[1];
	if (count == 0 || head[2] < 1 || head[2] > 4 || count > text.len)
		return HOB_NONE;
	uint8_t *rgba = HOB_NEW(x->request->result, uint8_t, count * 4);
	hob_image *image = hob_image_set_add(&x->lists.images, &id);
	for (size_t i = 0; i < count && hob_x3d_word(&text, &word); i++) {
		uint64_t pixel = 0;
		bool hex = hob_str_starts(word, HOB_STR("0x")) || hob_str_starts(word, HOB_STR("0X"));
		for (size_t k = hex ? 2 : 0; k < word.len && pixel < UINT32_MAX; k++) {
			int digit = hob_text_hex(word.data[k]);
			pixel = pixel * (hex ? 16 : 10) + (digit > 0 ? (uint32_t)digit : 0);
		}
		int32_t value = (int32_t)(uint32_t)pixel;
		bool has_alpha = head[2] == 2 || head[2] == 4, gray = head[2] < 3;
		uint8_t *to = rgba + ((head[1] - 1 - i / head[0]) * head[0] + i % head[0]) * 4;
		uint32_t low = has_alpha ? 8 : 0;
		to[0] = byte_of(value, gray ? low : low + 16);
		to[1] = byte_of(value, gray ? low : low + 8);
		to[2] = byte_of(value, low);
		to[3] = has_alpha ? byte_of(value, 0) : 255;
	}
	image->bytes = (hob_bytes){rgba, count * 4};
	image->raw_width = head[0];
	image->raw_height = head[1];
	return id;
}

static uint32_t picture_of(hob_x3d *x, hob_x3d_ptr texture)
{
	hob_str list = hob_xml_attr(texture, HOB_STR("url")), word, chosen = {0};
	if (hob_x3d_is(texture, "PixelTexture"))
		return pixels(x, texture);
	/* Urls of one picture by preference; network urls are not fetched. */
	while (hob_x3d_word(&list, &word))
		if (chosen.len == 0 || hob_str_find(chosen, HOB_STR("://"), 0) != SIZE_MAX)
			chosen = word;
	return chosen.len > 0 ? hob_image_set_file(&x->lists.images, chosen) : HOB_NONE;
}

static void put_texture(hob_x3d *x, hob_x3d_ptr texture, hob_texture_ref *ref)
{
	if (!texture)
		return;
	ref->image = picture_of(x, texture);
	hob_wrap u = hob_x3d_bool(texture, "repeatS", true) ? HOB_WRAP_REPEAT : HOB_WRAP_CLAMP;
	hob_wrap v = hob_x3d_bool(texture, "repeatT", true) ? HOB_WRAP_REPEAT : HOB_WRAP_CLAMP;
	if (ref->image != HOB_NONE)
		ref->sampler = hob_lists_sampler(
			&x->lists, (hob_sampler){u, v, HOB_FILTER_LINEAR, HOB_FILTER_LINEAR_MIP_LINEAR});
}

bool hob_x3d_has_texture(const hob_x3d *x, hob_x3d_ptr appearance)
{
	return hob_x3d_child(x, appearance, pictures) != NULL;
}

/* The matrix -C * S * R * C * T of ISO/IEC 19775-1, 18.4.8. */
bool hob_x3d_texture_matrix(const hob_x3d *x, hob_x3d_ptr appearance, float out[6])
{
	hob_x3d_ptr e = hob_x3d_child(x, appearance, turns);
	float c[2] = {0}, s[2] = {1, 1}, t[2] = {0};
	if (e && hob_x3d_is(e, "MultiTextureTransform"))
		e = hob_x3d_child(x, e, turns);
	if (!e)
		return false;
	hob_x3d_vector(e, "center", c, 2);
	hob_x3d_vector(e, "scale", s, 2);
	hob_x3d_vector(e, "translation", t, 2);
	float angle = hob_x3d_float(e, "rotation", 0), co = cosf(angle), si = sinf(angle);
	float at[2] = {c[0] + t[0], c[1] + t[1]};
	out[0] = s[0] * co, out[2] = -s[0] * si, out[4] = s[0] * (co * at[0] - si * at[1]) - c[0];
	out[1] = s[1] * si, out[3] = s[1] * co, out[5] = s[1] * (si * at[0] + co * at[1]) - c[1];
	return true;
}

/* ---- materials */

static void color_field(hob_x3d_ptr e, const char *field, float out[3])
{
	hob_x3d_vector(e, field, out, 3);
	for (int i = 0; i < 3; i++)
		out[i] = hob_shape_clamp01(out[i]);
}

static void physical(hob_x3d *x, hob_x3d_ptr e, hob_material *to)
{
	to->base_color[0] = to->base_color[1] = to->base_color[2] = 1;
	color_field(e, "baseColor", to->base_color);
	to->metallic = hob_shape_clamp01(hob_x3d_float(e, "metallic", 1));
	to->roughness = hob_shape_clamp01(hob_x3d_float(e, "roughness", 1));
	put_texture(x, texture_in(x, e, "baseTexture"), &to->slots[HOB_SLOT_BASE_COLOR]);
	put_texture(x, texture_in(x, e, "metallicRoughnessTexture"), &to->slots[HOB_SLOT_METAL_ROUGH]);
}

/* Phong: roughness from the width of the lobe, as in mtl.h. */
static void phong(hob_x3d *x, hob_x3d_ptr e, hob_material *to)
{
	float shininess = hob_shape_clamp01(hob_x3d_float(e, "shininess", 0.2f));
	to->base_color[0] = to->base_color[1] = to->base_color[2] = 0.8f;
	color_field(e, "diffuseColor", to->base_color);
	to->roughness = powf(2 / (shininess * 128 + 2), 0.25f);
	put_texture(x, texture_in(x, e, "diffuseTexture"), &to->slots[HOB_SLOT_BASE_COLOR]);
}

static void read_material(hob_x3d *x, hob_x3d_ptr e, hob_material *to)
{
	if (hob_x3d_is(e, "UnlitMaterial")) {
		to->base_color[0] = to->base_color[1] = to->base_color[2] = 1;
		color_field(e, "emissiveColor", to->base_color);
		to->ext_mask |= 1u << HOB_MATERIAL_UNLIT;
		put_texture(x, texture_in(x, e, "emissiveTexture"), &to->slots[HOB_SLOT_BASE_COLOR]);
	} else {
		color_field(e, "emissiveColor", to->emissive);
		(hob_x3d_is(e, "PhysicalMaterial") ? physical : phong)(x, e, to);
		put_texture(x, texture_in(x, e, "emissiveTexture"), &to->slots[HOB_SLOT_EMISSIVE]);
	}
	to->base_color[3] = 1 - hob_shape_clamp01(hob_x3d_float(e, "transparency", 0));
	to->normal_scale = hob_x3d_float(e, "normalScale", 1);
	put_texture(x, texture_in(x, e, "normalTexture"), &to->slots[HOB_SLOT_NORMAL]);
	put_texture(x, texture_in(x, e, "occlusionTexture"), &to->slots[HOB_SLOT_OCCLUSION]);
}

/* Notes video, cube maps, shaders, hatches, line widths and separate back colours. */
static void note_unread(const hob_x3d *x, hob_x3d_ptr appearance)
{
	for (hob_x3d_ptr c = appearance ? appearance->first : NULL; c; c = c->next) {
		hob_x3d_ptr e = hob_x3d_real(x, c);
		if (e && !hob_text_is_one_of(e->name, pictures) && !hob_text_is_one_of(e->name, materials) &&
			!hob_text_is_one_of(e->name, turns) &&
			!hob_text_is_one_of(e->name,
								HOB_WORDS("MetadataSet", "MetadataString", "MetadataFloat", "MetadataDouble",
										  "MetadataInteger", "MetadataBoolean", "AcousticProperties")))
			hob_x3d_unread(x, e);
		if (e && hob_x3d_is(e, "TwoSidedMaterial") && hob_x3d_bool(e, "separateBackColor", false))
			hob_warn(x->request->notes, "x3d.back-color",
					 "colours of back faces are left out; both sides have that of the front");
	}
}

/* Fills a material. Precedence of colours and textures: ISO/IEC 14772-1, 4.14, tables 4.5 and 4.6. */
static void fill(hob_x3d *x, hob_x3d_ptr appearance, hob_x3d_use use, hob_material *to)
{
	hob_x3d_ptr e = hob_x3d_child(x, appearance, materials);
	note_unread(x, appearance);
	hob_shape_plain_material(to, to->name);
	to->double_sided = use.both_sides;
	if (e)
		read_material(x, e, to);
	if (!e || !use.surface)
		to->ext_mask |= 1u << HOB_MATERIAL_UNLIT;
	if (!use.surface) {
		if (e && !use.colored)
			memcpy(to->base_color, to->emissive, sizeof to->emissive);
		memset(to->emissive, 0, sizeof to->emissive);
	} else if (to->slots[HOB_SLOT_BASE_COLOR].image == HOB_NONE) {
		put_texture(x, first_texture(x, appearance), &to->slots[HOB_SLOT_BASE_COLOR]);
	}
	bool replaced = to->slots[HOB_SLOT_BASE_COLOR].image != HOB_NONE && e && hob_x3d_is(e, "Material") &&
					!texture_in(x, e, "diffuseTexture");
	if (use.colored || replaced)
		to->base_color[0] = to->base_color[1] = to->base_color[2] = 1;
	if (to->base_color[3] < 1)
		to->alpha_mode = HOB_ALPHA_BLEND;
}

uint32_t hob_x3d_material(hob_x3d *x, hob_x3d_ptr appearance, hob_x3d_use use)
{
	uint32_t parts[4] = {appearance ? appearance->number : HOB_NONE, use.surface, use.colored,
						 use.both_sides};
	hob_str key = hob_arena_str(x->request->scratch, (hob_str){(const char *)parts, sizeof parts});
	uint32_t id = hob_name_map_get(&x->materials, key);
	if (id != HOB_NONE)
		return id;
	hob_x3d_ptr e = hob_x3d_child(x, appearance, materials);
	hob_str name = e ? hob_xml_attr(e, HOB_STR("DEF")) : (hob_str){0};
	if (name.len == 0 && appearance)
		name = hob_xml_attr(appearance, HOB_STR("DEF"));
	hob_material material = {.name = hob_text_name(x->request->result, name)};
	fill(x, appearance, use, &material);
	return hob_name_map_add(&x->materials, key, hob_lists_material(&x->lists, &material));
}
