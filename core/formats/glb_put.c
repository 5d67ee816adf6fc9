#include "glb_writer.h"

const char *const hob_glb_extension_names[GLB_EXTENSION_COUNT] = {
	[GLB_TEXTURE_TRANSFORM] = "KHR_texture_transform",
	[GLB_LIGHTS] = "KHR_lights_punctual",
	[GLB_VARIANTS] = "KHR_materials_variants",
	[GLB_UNLIT] = "KHR_materials_unlit",
	[GLB_SPECULAR] = "KHR_materials_specular",
	[GLB_IOR] = "KHR_materials_ior",
	[GLB_CLEARCOAT] = "KHR_materials_clearcoat",
	[GLB_SHEEN] = "KHR_materials_sheen",
	[GLB_TRANSMISSION] = "KHR_materials_transmission",
	[GLB_VOLUME] = "KHR_materials_volume",
	[GLB_IRIDESCENCE] = "KHR_materials_iridescence",
	[GLB_ANISOTROPY] = "KHR_materials_anisotropy",
	[GLB_DISPERSION] = "KHR_materials_dispersion",
	[GLB_DIFFUSE_TRANSMISSION] = "KHR_materials_diffuse_transmission",
	[GLB_EMISSIVE_STRENGTH] = "KHR_materials_emissive_strength",
	[GLB_ANIMATION_POINTER] = "KHR_animation_pointer",
	[GLB_NODE_VISIBILITY] = "KHR_node_visibility",
};

hob_buf *hob_glb_next(glb_writer *w, glb_list_id id)
{
	glb_list *list = &w->lists[id];
	if (list->count++)
		hob_buf_put(&list->text, ",", 1);
	return &list->text;
}

void hob_glb_floats(hob_buf *out, const char *key, const float *values, size_t count)
{
	hob_buf_printf(out, ",\"%s\":", key);
	for (size_t i = 0; i < count; i++) {
		hob_buf_put(out, i ? "," : "[", 1);
		hob_put_f32(out, values[i]);
	}
	hob_buf_put(out, "]", 1);
}

void hob_glb_float(hob_buf *out, const char *key, float value)
{
	hob_buf_printf(out, ",\"%s\":", key);
	hob_put_f32(out, value);
}

void hob_glb_name(hob_buf *out, hob_str name)
{
	if (!name.len)
		return;
	hob_buf_printf(out, ",\"name\":");
	hob_buf_put_json(out, name);
}

void hob_glb_drop_comma(hob_buf *out, size_t start)
{
	if (out->size <= start || out->data[start] != ',')
		return;
	memmove(out->data + start, out->data + start + 1, out->size - start - 1);
	out->size--;
}

uint8_t *hob_glb_view(glb_writer *w, size_t size, uint32_t target, uint32_t *view)
{
	static const uint8_t zero[4] = {0};
	hob_buf_put(&w->bin, zero, (4 - w->bin.size % 4) % 4);
	*view = w->lists[GLB_LIST_VIEWS].count;
	hob_buf *json = hob_glb_next(w, GLB_LIST_VIEWS);
	hob_buf_printf(json, "{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu", w->bin.size, size);
	if (target)
		hob_buf_printf(json, ",\"target\":%u", target);
	hob_buf_put(json, "}", 1);
	return hob_buf_grow(&w->bin, size);
}

uint32_t hob_glb_accessor(glb_writer *w, uint32_t view, int component, uint32_t count, const char *type,
						  const char *more)
{
	hob_buf_printf(hob_glb_next(w, GLB_LIST_ACCESSORS),
				   "{\"bufferView\":%u,\"componentType\":%d,\"count\":%u,\"type\":\"%s\"%s}", view, component,
				   count, type, more);
	return w->lists[GLB_LIST_ACCESSORS].count - 1;
}

static void put_range(hob_buf *json, const float *values, uint32_t count, uint32_t components)
{
	float min[16], max[16];
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < components; k++) {
			float v = values[(size_t)i * components + k];
			min[k] = i == 0 || v < min[k] ? v : min[k];
			max[k] = i == 0 || v > max[k] ? v : max[k];
		}
	hob_glb_floats(json, "min", min, components);
	hob_glb_floats(json, "max", max, components);
}

uint32_t hob_glb_float_accessor(glb_writer *w, const float *values, uint32_t count, uint32_t components,
								const char *type, uint32_t target, bool range)
{
	uint32_t view;
	size_t size = (size_t)count * components * sizeof(float);
	memcpy(hob_glb_view(w, size, target, &view), values, size);
	hob_buf *json = hob_glb_next(w, GLB_LIST_ACCESSORS);
	hob_buf_printf(json, "{\"bufferView\":%u,\"componentType\":%d,\"count\":%u,\"type\":\"%s\"", view,
				   GLB_FLOAT, count, type);
	if (range)
		put_range(json, values, count, components);
	hob_buf_put(json, "}", 1);
	return w->lists[GLB_LIST_ACCESSORS].count - 1;
}
