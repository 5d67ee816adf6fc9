#include "image_set.h"

#include "../base/limits.h"
#include "text.h"
#include "texture_path.h"

void hob_image_set_init(hob_image_set *set, const hob_import_request *request)
{
	*set = (hob_image_set){.request = request, .dir = hob_path_dir(request->path)};
	hob_name_map_init(&set->by_path, request->scratch);
}

void hob_image_set_release(hob_image_set *set)
{
	hob_buf_release(&set->images);
}

bool hob_image_set_add(hob_image_set *set, hob_image **image, uint32_t *id, hob_error *err)
{
	*id = (uint32_t)(set->images.size / sizeof(hob_image));
	if (*id >= HOB_LIMIT_IMAGES)
		return hob_fail(err, LIMIT, "more than %llu pictures", HOB_LIMIT_IMAGES);
	*image = (hob_image *)(void *)hob_buf_grow(&set->images, sizeof **image);
	**image = (hob_image){0};
	return true;
}

bool hob_image_set_file(hob_image_set *set, hob_str reference, uint32_t *id, hob_error *err)
{
	const hob_import_request *request = set->request;
	/* Looks up the reference as written first: resolving it costs more. */
	hob_str key = hob_arena_printf(request->scratch, "?%.*s?%.*s", HOB_FMT(set->dir), HOB_FMT(reference));
	*id = hob_name_map_get(&set->by_path, key);
	if (*id != HOB_NONE)
		return true;
	hob_str path = hob_import_texture_path(request, set->dir, reference);
	*id = path.len > 0 ? hob_name_map_get(&set->by_path, path) : HOB_NONE;
	if (*id == HOB_NONE) {
		hob_image *image;
		if (!hob_image_set_add(set, &image, id, err))
			return false;
		image->path = path;
		image->uri = hob_text_name(request->result, reference);
		image->name = hob_text_name(request->result, hob_text_last_part(reference));
	}
	hob_name_map_add(&set->by_path, key, *id);
	if (path.len > 0)
		hob_name_map_add(&set->by_path, path, *id);
	return true;
}

void hob_image_set_unused(hob_image_set *set, hob_str reference)
{
	uint32_t count = (uint32_t)(set->images.size / sizeof(hob_image)), id;
	hob_image *image = (hob_image *)(void *)set->images.data;
	hob_str name = hob_text_name(set->request->result, hob_text_last_part(reference));
	for (id = 0; id < count && !hob_str_equal_nocase(image[id].name, name);)
		id++;
	if (name.len == 0 || id < count || !hob_image_set_add(set, &image, &id, NULL))
		return;
	image->name = image->uri = name;
	image->spare = true;
}

void hob_image_set_take(hob_image_set *set, hob_model *model)
{
	model->image_count = (uint32_t)(set->images.size / sizeof(hob_image));
	model->images = HOB_NEW(set->request->result, hob_image, model->image_count);
	if (model->image_count > 0)
		memcpy(model->images, set->images.data, set->images.size);
}
