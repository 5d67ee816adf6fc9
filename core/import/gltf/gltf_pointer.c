#include "gltf_private.h"

#include "../../model/properties.h"

/* The next part of a pointer, without its slash; empty at the end. */
static hob_str next_part(hob_str *rest)
{
	if (rest->len == 0 || rest->data[0] != '/')
		return (hob_str){0};
	size_t end = 1;
	while (end < rest->len && rest->data[end] != '/')
		end++;
	hob_str part = {rest->data + 1, end - 1};
	*rest = (hob_str){rest->data + end, rest->len - end};
	return part;
}

static bool next_index(hob_str *rest, uint32_t count, uint32_t *out)
{
	hob_str digits = next_part(rest);
	uint64_t index = 0;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.data[i] < '0' || digits.data[i] > '9' || index > UINT32_MAX)
			return false;
		index = index * 10 + (uint64_t)(digits.data[i] - '0');
	}
	*out = (uint32_t)index;
	return digits.len > 0 && index < count;
}

/* "extensions/NAME/..." requires the extension on the object. */
static bool has_extension(const cJSON *thing, hob_str pointer)
{
	static const hob_str prefix = {"extensions/", 11};
	if (pointer.len < prefix.len || memcmp(pointer.data, prefix.data, prefix.len) != 0)
		return true;
	hob_str name = {pointer.data + prefix.len, pointer.len - prefix.len};
	name.len = hob_str_find(name, HOB_STR("/"), 0);
	const cJSON *extensions = hob_json_get(thing, "extensions");
	for (const cJSON *item = cJSON_IsObject(extensions) ? extensions->child : NULL; item; item = item->next)
		if (hob_str_equal(hob_str_of(item->string), name))
			return true;
	return false;
}

static bool begins(hob_str text, hob_str with)
{
	return text.len >= with.len && memcmp(text.data, with.data, with.len) == 0;
}

/* Finds the property that the pointer's `rest` names, after the object's index and its slash. */
static const char *find_property(hob_str rest, hob_driven driven, bool orthographic, hob_gltf_pointed *out)
{
	for (uint32_t p = 0; p < HOB_PROPERTY_COUNT; p++)
		if (hob_property_of(p)->driven == driven &&
			hob_str_equal(hob_property_pointer(p, orthographic), rest)) {
			out->property = p;
			return NULL;
		}
	return "its pointer names nothing that Hob animates";
}

static const char *point_at_material(const hob_gltf *g, hob_str rest, hob_gltf_pointed *out)
{
	static const hob_str transform = {"/extensions/KHR_texture_transform/", 34};
	const hob_material *material = &g->model.materials[out->index];
	if (!has_extension(g->materials.items[out->index], rest))
		return "its material does not have the extension";
	for (uint32_t s = 0; s < HOB_SLOT_COUNT; s++) {
		hob_str slot = hob_slot_pointer((hob_slot)s);
		hob_str tail = slot.len > 0 && begins(rest, slot)
						   ? (hob_str){rest.data + slot.len, rest.len - slot.len}
						   : (hob_str){0};
		if (!begins(tail, transform))
			continue;
		if (material->slots[s].image == HOB_NONE)
			return "its material has no such texture";
		out->slot = s;
		return find_property((hob_str){tail.data + transform.len, tail.len - transform.len},
							 HOB_DRIVEN_TEXREF, false, out);
	}
	return find_property(rest, HOB_DRIVEN_MATERIAL, false, out);
}

/* Resolves "weights/3". */
static const char *point_at_weight(hob_str rest, hob_gltf_pointed *out)
{
	static const hob_str weights = {"weights", 7};
	hob_str tail = {rest.data + weights.len, rest.len - weights.len};
	out->path = HOB_PATH_WEIGHTS;
	return begins(rest, HOB_STR("weights/")) && next_index(&tail, HOB_NONE, &out->weight) && tail.len == 0
			   ? NULL
			   : "its pointer names nothing that Hob animates";
}

static const char *point_at_node(hob_str rest, hob_gltf_pointed *out)
{
	static const hob_str paths[] = {{"translation", 11}, {"rotation", 8}, {"scale", 5}, {"weights", 7}};
	for (size_t i = 0; i < HOB_COUNT_OF(paths); i++)
		if (hob_str_equal(rest, paths[i])) {
			out->path = (hob_path)i;
			return NULL;
		}
	if (hob_str_equal(rest, hob_property_pointer(HOB_PROPERTY_NODE_VISIBLE, false))) {
		out->kind = HOB_GLTF_AT_PROPERTY;
		out->property = HOB_PROPERTY_NODE_VISIBLE;
		return NULL;
	}
	return point_at_weight(rest, out);
}

const char *hob_gltf_point(const hob_gltf *g, hob_str pointer, hob_gltf_pointed *out)
{
	hob_str rest = pointer, kind = next_part(&rest);
	*out = (hob_gltf_pointed){.kind = HOB_GLTF_AT_PROPERTY, .weight = HOB_NONE};
	uint32_t count = 0;
	bool light = hob_str_equal(kind, HOB_STR("extensions"));
	if (light && hob_str_equal(next_part(&rest), HOB_STR("KHR_lights_punctual")) &&
		hob_str_equal(next_part(&rest), HOB_STR("lights")))
		count = g->model.light_count;
	else if (hob_str_equal(kind, HOB_STR("materials")))
		count = g->model.material_count;
	else if (hob_str_equal(kind, HOB_STR("cameras")))
		count = g->model.camera_count;
	else if (hob_str_equal(kind, HOB_STR("nodes")))
		count = g->nodes.count, out->kind = HOB_GLTF_AT_NODE;
	else if (hob_str_equal(kind, HOB_STR("meshes")))
		count = g->meshes.count, out->kind = HOB_GLTF_AT_MESH;
	if (!next_index(&rest, count, &out->index) || rest.len < 2)
		return "its pointer names nothing that Hob animates";
	rest = (hob_str){rest.data + 1, rest.len - 1};
	if (out->kind == HOB_GLTF_AT_NODE)
		return point_at_node(rest, out);
	if (out->kind == HOB_GLTF_AT_MESH) {
		out->path = HOB_PATH_WEIGHTS;
		return hob_str_equal(rest, HOB_STR("weights")) ? NULL : point_at_weight(rest, out);
	}
	if (light)
		return find_property(rest, HOB_DRIVEN_LIGHT, false, out);
	if (hob_str_equal(kind, HOB_STR("cameras")))
		return find_property(rest, HOB_DRIVEN_CAMERA,
							 g->model.cameras[out->index].type == HOB_CAMERA_ORTHOGRAPHIC, out);
	return point_at_material(g, rest, out);
}
