#include "scene_list.h"

#include "cli.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>

enum { LIST_BYTES_MAX = 16 << 20 };

static bool check_keys(const cJSON *item, int index, const char *list, hob_error *err)
{
	static const char *const known[] = {
		"input_scene",	  "output_mesh",	 "output_scene", "output_materials", "scale",
		"calculate_LODs", "merge_instances", "merge",		 "merge_materials",	 "name_rules"};
	for (const cJSON *key = item->child; key; key = key->next) {
		bool found = strncmp(key->string, "//", 2) == 0;
		for (size_t i = 0; i < HOB_COUNT_OF(known); i++)
			found = found || strcmp(known[i], key->string) == 0;
		if (!found)
			return hob_fail(err, CONFIG, "%s: entry %d: unknown key '%s'", list, index, key->string);
	}
	return true;
}

static const char *text_of(hob_arena *arena, const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
	return text ? hob_arena_str(arena, hob_str_of(text)).data : NULL;
}

static bool is_length(const cJSON *scale)
{
	return cJSON_IsNumber(scale) && scale->valuedouble > 0 && scale->valuedouble <= 1e9;
}

/* Reads a part. One that names the output of an earlier entry gets that entry's input and scale. */
static bool read_part(hob_arena *arena, const cJSON *item, const scene_list *above, scene_part *out)
{
	const char *file = cJSON_GetStringValue(item);
	const cJSON *scale = NULL;
	if (cJSON_IsObject(item)) {
		file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "file"));
		scale = cJSON_GetObjectItemCaseSensitive(item, "scale");
		if (scale && !is_length(scale))
			return false;
	}
	if (!file)
		return false;
	out->scale = scale ? (float)scale->valuedouble : 1;
	for (uint32_t i = 0; i < above->count; i++) {
		const scene_entry *entry = &above->entries[i];
		if (!entry->input || strcmp(entry->output_scene, file) != 0)
			continue;
		file = entry->input;
		out->scale *= entry->scale;
		break;
	}
	out->file = hob_arena_str(arena, hob_str_of(file)).data;
	return out->file != NULL;
}

static bool read_merge(hob_arena *arena, const cJSON *merge, const scene_list *above, scene_entry *out)
{
	out->parts = HOB_NEW(arena, scene_part, (size_t)cJSON_GetArraySize(merge) + 1);
	for (const cJSON *item = cJSON_IsArray(merge) ? merge->child : NULL; item && out->parts;
		 item = item->next)
		if (!read_part(arena, item, above, &out->parts[out->part_count++]))
			return false;
	return out->parts && out->part_count > 0;
}

static bool is_flag(const cJSON *item)
{
	return !item || cJSON_IsBool(item);
}

static bool read_entry(hob_arena *arena, const cJSON *item, int index, const char *list,
					   const scene_list *above, scene_entry *out, hob_error *err)
{
	if (!cJSON_IsObject(item))
		return hob_fail(err, CONFIG, "%s: entry %d is not an object", list, index);
	if (!check_keys(item, index, list, err))
		return false;
	const cJSON *scale = cJSON_GetObjectItemCaseSensitive(item, "scale");
	const cJSON *lods = cJSON_GetObjectItemCaseSensitive(item, "calculate_LODs");
	const cJSON *fold = cJSON_GetObjectItemCaseSensitive(item, "merge_instances");
	const cJSON *join = cJSON_GetObjectItemCaseSensitive(item, "merge_materials");
	const cJSON *rules = cJSON_GetObjectItemCaseSensitive(item, "name_rules");
	const cJSON *merge = cJSON_GetObjectItemCaseSensitive(item, "merge");
	*out = (scene_entry){.input = text_of(arena, item, "input_scene"),
						 .output_mesh = text_of(arena, item, "output_mesh"),
						 .output_scene = text_of(arena, item, "output_scene"),
						 .output_materials = text_of(arena, item, "output_materials"),
						 .scale = scale ? (float)scale->valuedouble : 1.0f,
						 .lods = cJSON_IsTrue(lods),
						 .merge_instances = cJSON_IsTrue(fold),
						 .merge_materials = cJSON_IsTrue(join),
						 .name_rules = !cJSON_IsFalse(rules)};
	if (!out->input == !merge)
		return hob_fail(err, CONFIG, "%s: entry %d: %s", list, index,
						merge ? "give 'input_scene' or 'merge', one of the two"
							  : "'input_scene' is missing (or 'merge', for several models)");
	if (merge && !read_merge(arena, merge, above, out))
		return hob_fail(
			err, CONFIG,
			"%s: entry %d: 'merge' must be a list of one or more models: NAME, or {\"file\": NAME, "
			"\"scale\": NUMBER}",
			list, index);
	if ((scale && !is_length(scale)) || !is_flag(lods) || !is_flag(fold) || !is_flag(join) || !is_flag(rules))
		return hob_fail(
			err, CONFIG,
			"%s: entry %d: 'scale' must be a number above 0, 'calculate_LODs', 'merge_instances', "
			"'merge_materials' and 'name_rules' true or false",
			list, index);
	return (out->output_mesh && out->output_scene && out->output_materials) ||
		   hob_fail(err, CONFIG,
					"%s: entry %d: 'output_mesh', 'output_scene' and 'output_materials' must be file names",
					list, index);
}

static cJSON *parse(const char *path, const char *text, size_t size, hob_error *err)
{
	const char *end = NULL;
	cJSON *list = cJSON_ParseWithLengthOpts(text, size, &end, false);
	size_t line, column;
	hob_text_place((hob_str){text, size}, end, &line, &column);
	if (!list)
		hob_fail(err, CONFIG, "%s: not valid JSON near line %zu, column %zu", path, line, column);
	else if (!cJSON_IsArray(list))
		hob_fail(err, CONFIG, "%s: a scene list must be a JSON array of scenes", path);
	else if (!list->child)
		hob_fail(err, CONFIG, "%s: the scene list is empty: there is nothing to cook", path);
	if (cJSON_IsArray(list) && list->child)
		return list;
	cJSON_Delete(list);
	return NULL;
}

bool srv_scene_list_read(hob_arena *arena, const char *path, scene_list *list, hob_error *err)
{
	size_t size = 0;
	hob_own char *text = srv_file_text(path, LIST_BYTES_MAX, &size);
	*list = (scene_list){0};
	if (!text)
		return hob_fail(err, USAGE, "'%s' cannot be read: %s", path, strerror(errno));
	hob_own_json *root = parse(path, text, size, err);
	if (!root)
		return false;
	list->entries = HOB_NEW(arena, scene_entry, (size_t)cJSON_GetArraySize(root) + 1);
	bool ok = list->entries || hob_fail(err, MEMORY, "no memory left for the list of models");
	for (const cJSON *item = root->child; item && ok; item = item->next) {
		ok = read_entry(arena, item, (int)list->count, path, list, &list->entries[list->count], err);
		list->count++;
	}
	return ok;
}

void srv_scene_list_settings(const scene_entry *entry, hob_settings *settings)
{
	settings->scale = entry->scale;
	settings->lod_max = entry->lods ? 7 : 1;
	settings->units = HOB_UNITS_SOURCE;
	settings->merge_instances = entry->merge_instances ? 1 : 0;
	settings->merge_materials = entry->merge_materials ? 1 : 0;
	settings->name_rules = entry->name_rules ? 1 : 0;
	settings->texture_encoding = HOB_TEXTURE_PNG;
	settings->texture_max_size = 512;
}
