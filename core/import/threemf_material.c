#include "threemf_private.h"

#include "shape.h"
#include "text.h"

bool hob_threemf_read_color(hob_str text, float out[4])
{
	uint32_t digits[8] = {0, 0, 0, 0, 0, 0, 15, 15};
	text = hob_text_trim(text);
	if ((text.len != 7 && text.len != 9) || text.data[0] != '#')
		return false;
	for (size_t i = 1; i < text.len; i++) {
		int digit = hob_text_hex(text.data[i]);
		if (digit < 0)
			return false;
		digits[i - 1] = (uint32_t)digit;
	}
	for (int i = 0; i < 4; i++) {
		float value = (float)(digits[i * 2] * 16 + digits[i * 2 + 1]) / 255;
		out[i] = i < 3 ? hob_shape_linear(value) : value;
	}
	return true;
}

static const hob_xml_element *item(const hob_threemf_resource *group, uint32_t index)
{
	return index < group->item_count ? group->items[index] : NULL;
}

void hob_threemf_color(const hob_threemf_resource *group, uint32_t property, float out[4])
{
	out[0] = out[1] = out[2] = out[3] = 1;
	hob_threemf_read_color(hob_xml_attr(item(group, property), HOB_STR("color")), out);
}

void hob_threemf_uv(const hob_threemf_resource *group, uint32_t property, float out[2])
{
	const hob_xml_element *coordinate = item(group, property);
	out[0] = (float)hob_xml_attr_double(coordinate, HOB_STR("u"), 0);
	out[1] = 1 - (float)hob_xml_attr_double(coordinate, HOB_STR("v"), 0);
	for (int i = 0; i < 2; i++)
		if (out[i] - out[i] != 0)
			out[i] = 0;
}

/* Applies the display properties of item `index` of a group; the name is that in <pbmetallic>. */
static void set_display(hob_threemf *t, const hob_threemf_resource *group, uint32_t index,
						hob_material *material)
{
	uint32_t id = hob_xml_attr_u32(group->element, HOB_STR("displaypropertiesid"), HOB_NONE);
	const hob_threemf_resource *display = id == HOB_NONE ? NULL : hob_threemf_find(t, group->part, id);
	const hob_xml_element *one = display ? item(display, index) : NULL;
	if (one && hob_xml_is(one, HOB_STR("pbmetallic"))) {
		double metallic = hob_xml_attr_double(one, HOB_STR("metallicness"), 0);
		double roughness = hob_xml_attr_double(one, HOB_STR("roughness"), 1);
		material->metallic = metallic > 0 ? metallic < 1 ? (float)metallic : 1 : 0;
		material->roughness = roughness > 0 ? roughness < 1 ? (float)roughness : 1 : 0;
	} else if (display) {
		hob_info(t->request->notes, "3mf.display",
				 "<%.*s> is left out: of display properties only <pbmetallicdisplayproperties> is read",
				 HOB_FMT(display->element->name));
	}
}

static uint32_t plain(hob_threemf *t, hob_str name, const float color[4], const hob_threemf_resource *group,
					  uint32_t index)
{
	hob_material material;
	hob_shape_plain_material(&material, hob_text_name(t->request->result, name));
	memcpy(material.base_color, color, sizeof material.base_color);
	set_display(t, group, index, &material);
	if (color[3] < 1)
		material.alpha_mode = HOB_ALPHA_BLEND;
	return hob_lists_material(&t->lists, &material);
}

static void base_color(const hob_threemf_resource *group, uint32_t index, float color[4])
{
	color[0] = color[1] = color[2] = color[3] = 1;
	hob_threemf_read_color(hob_xml_attr(item(group, index), HOB_STR("displaycolor")), color);
}

/* A mixture of base materials becomes one with their mean colour. */
static void mixed_color(hob_threemf *t, const hob_threemf_resource *group, uint32_t index, float color[4])
{
	const hob_threemf_resource *base =
		hob_threemf_find(t, group->part, hob_xml_attr_u32(group->element, HOB_STR("matid"), HOB_NONE));
	hob_str indices = hob_xml_attr(group->element, HOB_STR("matindices"));
	hob_str values = hob_xml_attr(item(group, index), HOB_STR("values"));
	float sum = 0, mixed[4] = {0};
	hob_info(t->request->notes, "3mf.composite",
			 "mixtures of materials are shown in the mean of their colours");
	for (hob_str word; base && (word = hob_text_word(&indices)).len > 0;) {
		float which, share, one[4];
		hob_str part = hob_text_word(&values);
		if (hob_xml_floats(word, &which, 1) != 1 || hob_xml_floats(part, &share, 1) != 1 ||
			!(which >= 0 && which < 1e6f) || !(share > 0 && share < 1e6f))
			continue;
		base_color(base, (uint32_t)which, one);
		for (int i = 0; i < 4; i++)
			mixed[i] += one[i] * share;
		sum += share;
	}
	for (int i = 0; i < 4; i++)
		color[i] = sum > 0 ? mixed[i] / sum : 1;
}

/* ---- textures */

static hob_wrap wrap_of(hob_str style)
{
	return hob_str_equal(style, HOB_STR("clamp")) || hob_str_equal(style, HOB_STR("none")) ? HOB_WRAP_CLAMP
		   : hob_str_equal(style, HOB_STR("mirror"))									   ? HOB_WRAP_MIRROR
																						   : HOB_WRAP_REPEAT;
}

static uint32_t picture(hob_threemf *t, hob_str path)
{
	hob_bytes bytes;
	uint32_t id = hob_name_map_get(&t->pictures, path);
	if (id != HOB_NONE)
		return id;
	if (!hob_threemf_member(t, t->request->result, path, &bytes)) {
		hob_warn(t->request->notes, "3mf.missing-part",
				 "the picture '%.*s' is not in the package; export the model again", HOB_FMT(path));
		return HOB_NONE;
	}
	hob_image *image = hob_image_set_add(&t->lists.images, &id);
	image->bytes = bytes;
	image->name = hob_text_name(t->request->result, hob_text_last_part(path));
	return hob_name_map_add(&t->pictures, path, id);
}

static void textured(hob_threemf *t, hob_threemf_resource *group)
{
	hob_material material;
	const hob_threemf_resource *texture =
		hob_threemf_find(t, group->part, hob_xml_attr_u32(group->element, HOB_STR("texid"), HOB_NONE));
	const hob_xml_element *element = texture ? texture->element : NULL;
	hob_shape_plain_material(&material, HOB_STR(""));
	set_display(t, group, 0, &material);
	hob_sampler sampler = {.wrap_u = wrap_of(hob_xml_attr(element, HOB_STR("tilestyleu"))),
						   .wrap_v = wrap_of(hob_xml_attr(element, HOB_STR("tilestylev")))};
	bool nearest = hob_str_equal(hob_xml_attr(element, HOB_STR("filter")), HOB_STR("nearest"));
	sampler.mag = sampler.min = nearest ? HOB_FILTER_NEAREST : HOB_FILTER_DEFAULT;
	if (element)
		material.slots[HOB_SLOT_BASE_COLOR].image = picture(t, hob_xml_attr(element, HOB_STR("path")));
	if (sampler.wrap_u != HOB_WRAP_REPEAT || sampler.wrap_v != HOB_WRAP_REPEAT || nearest)
		material.slots[HOB_SLOT_BASE_COLOR].sampler = hob_lists_sampler(&t->lists, sampler);
	group->material = hob_lists_material(&t->lists, &material);
}

/* ---- groups */

static uint32_t word_number(hob_str list, uint32_t index)
{
	float value;
	for (; index > 0; index--)
		if (hob_text_word(&list).len == 0)
			return 0;
	return hob_xml_floats(hob_text_word(&list), &value, 1) == 1 && value >= 0 && value < 4e9f
			   ? (uint32_t)value
			   : 0;
}

void hob_threemf_layer(hob_threemf *t, uint32_t part, uint32_t *group, uint32_t property[3])
{
	const hob_threemf_resource *layers = hob_threemf_find(t, part, *group);
	if (!layers || !hob_xml_is(layers->element, HOB_STR("multiproperties")))
		return;
	hob_str ids = hob_xml_attr(layers->element, HOB_STR("pids")), rest = ids, word;
	uint32_t shown = 0, count = 0;
	for (; (word = hob_text_word(&rest)).len > 0; count++) {
		const hob_threemf_resource *layer = hob_threemf_find(t, part, word_number(word, 0));
		if (layer && (hob_xml_is(layer->element, HOB_STR("colorgroup")) ||
					  hob_xml_is(layer->element, HOB_STR("texture2dgroup"))))
			shown = count;
	}
	if (count > 1)
		hob_info(t->request->notes, "3mf.layers",
				 "of several layers of colours and textures the last is shown, not their blend");
	*group = word_number(ids, shown);
	for (int i = 0; i < 3; i++)
		property[i] = word_number(hob_xml_attr(item(layers, property[i]), HOB_STR("pindices")), shown);
}

static void colored(hob_threemf *t, hob_threemf_resource *group)
{
	float color[4] = {1, 1, 1, 1}, one[4];
	/* The corners carry the colours; the material only needs to know whether one is translucent. */
	for (uint32_t i = 0; i < group->item_count; i++) {
		hob_threemf_color(group, i, one);
		color[3] = one[3] < color[3] ? one[3] : color[3];
	}
	bool blends = color[3] < 1;
	color[3] = 1;
	group->material = plain(t, HOB_STR(""), color, group, 0);
	if (blends)
		HOB_THREEMF_AT(t->lists.materials, hob_material, group->material)->alpha_mode = HOB_ALPHA_BLEND;
}

/* The material of an item that exists. */
static uint32_t single(hob_threemf *t, hob_threemf_resource *group, uint32_t index, bool mixed)
{
	float color[4];
	if (group->materials[index] == HOB_NONE) {
		if (mixed)
			mixed_color(t, group, index, color);
		else
			base_color(group, index, color);
		group->materials[index] =
			plain(t, hob_xml_attr(group->items[index], HOB_STR("name")), color, group, index);
	}
	return group->materials[index];
}

hob_threemf_look hob_threemf_look_of(hob_threemf *t, uint32_t part, uint32_t id, uint32_t property)
{
	hob_threemf_resource *group = hob_threemf_find(t, part, id);
	hob_threemf_look look = {.material = HOB_NONE, .group = group};
	if (id == HOB_NONE || property == HOB_NONE)
		return look;
	if (!group || property >= group->item_count) {
		hob_warn(t->request->notes, "3mf.missing-property",
				 "triangles ask for properties that do not exist (group %u); they are shown in the "
				 "default material",
				 id);
		return look;
	}
	bool base = hob_xml_is(group->element, HOB_STR("basematerials"));
	look.colored = hob_xml_is(group->element, HOB_STR("colorgroup"));
	look.textured = hob_xml_is(group->element, HOB_STR("texture2dgroup"));
	if (base || hob_xml_is(group->element, HOB_STR("compositematerials"))) {
		look.material = single(t, group, property, !base);
	} else if (!look.colored && !look.textured) {
		hob_warn(t->request->notes, "3mf.property",
				 "triangles with <%.*s> are shown in the default material: such properties are not read",
				 HOB_FMT(group->element->name));
	} else {
		if (group->material == HOB_NONE && look.colored)
			colored(t, group);
		else if (group->material == HOB_NONE)
			textured(t, group);
		look.material = group->material;
	}
	return look;
}
