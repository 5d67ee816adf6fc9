#include "image_set.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "lists.h"
#include "text.h"
#include "texture_path.h"

void hob_image_set_init(hob_image_set *set, const hob_import_request *request)
{
	*set = (hob_image_set){.request = request, .dir = hob_path_dir(request->path)};
	hob_name_map_init(&set->by_path, request->scratch);
}

hob_image *hob_image_set_add(hob_image_set *set, uint32_t *id)
{
	*id = HOB_LISTS_COUNT(set->images, hob_image);
	if (*id >= HOB_LIMIT_IMAGES)
		hob_leave(LIMIT, "more than %llu pictures", HOB_LIMIT_IMAGES);
	hob_image *image = (hob_image *)(void *)hob_buf_grow(&set->images, sizeof *image);
	*image = (hob_image){0};
	return image;
}

uint32_t hob_image_set_file(hob_image_set *set, hob_str reference)
{
	const hob_import_request *request = set->request;
	/* Looks up the reference as written first: resolving it costs more. */
	hob_str key = hob_arena_printf(request->scratch, "?%.*s?%.*s", HOB_FMT(set->dir), HOB_FMT(reference));
	uint32_t id = hob_name_map_get(&set->by_path, key);
	if (id != HOB_NONE)
		return id;
	hob_str path = hob_import_texture_path(request, set->dir, reference);
	id = path.len > 0 ? hob_name_map_get(&set->by_path, path) : HOB_NONE;
	if (id == HOB_NONE) {
		hob_image *image = hob_image_set_add(set, &id);
		image->path = path;
		image->uri = hob_text_name(request->result, reference);
		image->name = hob_text_name(request->result, hob_text_last_part(reference));
	}
	hob_name_map_add(&set->by_path, key, id);
	if (path.len > 0)
		hob_name_map_add(&set->by_path, path, id);
	return id;
}

void hob_image_set_unused(hob_image_set *set, hob_str reference)
{
	uint32_t count = HOB_LISTS_COUNT(set->images, hob_image), id;
	hob_image *image = (hob_image *)(void *)set->images.data;
	hob_str name = hob_text_name(set->request->result, hob_text_last_part(reference));
	for (id = 0; id < count && !hob_str_equal_nocase(image[id].name, name);)
		id++;
	if (name.len == 0 || id < count || count >= HOB_LIMIT_IMAGES)
		return;
	image = hob_image_set_add(set, &id);
	image->name = image->uri = name;
	image->spare = true;
}

void hob_image_set_take(hob_image_set *set, hob_model *model)
{
	model->images =
		hob_lists_array(set->request->result, &set->images, sizeof(hob_image), &model->image_count);
}
