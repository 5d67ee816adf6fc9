#include "error_json.h"

#include "../../core/base/json_write.h"
#include "../../core/base/number.h"

#include <cjson/cJSON.h>
#include <string.h>

const char *srv_error_hint(hob_err_code code)
{
	switch (code) {
#define HINT(name, text)                                                                                     \
	case HOB_ERR_##name:                                                                                     \
		return text;
#include "../../schema/hints.def"
#undef HINT
	default:
		return "";
	}
}

void srv_error_json(const hob_error *error, const char *stage, hob_buf *out)
{
	hob_str text = hob_str_of(error->context);
	/* Importers give places as "line 71" or "line 71, column 12". */
	uint64_t line = hob_number_behind(text, HOB_STR("line ")),
			 column = hob_number_behind(text, HOB_STR("column "));
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("code", hob_err_name(error->code)),
				 HOB_JSON("message", text), HOB_JSON("hint", srv_error_hint(error->code)),
				 HOB_JSON("stage", stage));
	if (line > 0)
		hob_json_put(out, HOB_JSON_OPEN("location", '{'), HOB_JSON("line", line));
	if (line > 0 && column > 0)
		hob_json_put(out, HOB_JSON("column", column));
	if (line > 0)
		hob_json_close(out, '}');
	hob_json_put(out, HOB_JSON_NULL("root_cause"), HOB_JSON_CLOSE('}'));
}

/* The settings file that the message of invalid settings begins with: "props/cook.json: ...". */
static hob_str settings_file(const char *code, hob_str message)
{
	size_t end = hob_str_find(message, HOB_STR("cook.json: "), 0);
	bool settings = strcmp(code, hob_err_name(HOB_ERR_CONFIG)) == 0 && end != SIZE_MAX;
	return settings ? hob_str_sub(message, 0, end + sizeof "cook.json" - 1) : (hob_str){0};
}

/* The part at fault, relative to the root, in an error of core/import/merge.c: "...; in
 * 'inside/interior.gltf', scenes[1]". */
static hob_str part_of_merge(hob_arena *arena, hob_str message, hob_str path)
{
	hob_str begin = HOB_STR("; in '"), end = HOB_STR("', scenes["), part;
	hob_error ignored;
	size_t last = SIZE_MAX, from = SIZE_MAX;
	for (size_t at = hob_str_find(message, end, 0); at != SIZE_MAX; at = hob_str_find(message, end, at + 1))
		last = at;
	for (size_t at = hob_str_find(message, begin, 0); at < last; at = hob_str_find(message, begin, at + 1))
		from = at + begin.len;
	bool found = last != SIZE_MAX && from != SIZE_MAX &&
				 hob_path_join(arena, hob_path_dir(path), hob_str_sub(message, from, last), &part, &ignored);
	return found ? part : (hob_str){0};
}

/* Puts the file at fault into the location: settings, a part of a .merge file, or the model. */
static void name_file(cJSON *error, const char *code, const char *message, hob_str path)
{
	static const char mend[] = "correct this file; Hob tries again when it is saved";
	hob_own_arena arena;
	hob_arena_init(&arena, 64 << 10);
	hob_str file = settings_file(code, hob_str_of(message));
	if (file.len == 0 && hob_str_ends_nocase(path, HOB_STR(".merge"))) {
		file = part_of_merge(&arena, hob_str_of(message), path);
		if (file.len == 0 && (strcmp(code, hob_err_name(HOB_ERR_CORRUPT)) == 0 ||
							  strcmp(code, hob_err_name(HOB_ERR_UNSUPPORTED)) == 0))
			cJSON_ReplaceItemInObjectCaseSensitive(error, "hint", cJSON_CreateString(mend));
	}
	cJSON *place = cJSON_CreateObject();
	hob_own_json *old = cJSON_DetachItemFromObjectCaseSensitive(error, "location");
	hob_own_buf name = {0};
	hob_buf_put_json(&name, file.len > 0 ? file : path);
	hob_buf_put(&name, "", 1);
	cJSON_AddRawToObject(place, "file", name.failed ? "null" : (const char *)name.data);
	while (old && old->child) {
		cJSON *item = cJSON_DetachItemViaPointer(old, old->child);
		cJSON_AddItemToObject(place, item->string, item);
	}
	cJSON *cause = cJSON_DetachItemFromObjectCaseSensitive(error, "root_cause");
	cJSON_AddItemToObject(error, "location", place);
	cJSON_AddItemToObject(error, "root_cause", cause);
}

void srv_error_of_asset(hob_str json, hob_str path, hob_buf *out)
{
	hob_own_json *error = cJSON_ParseWithLength(json.data, json.len);
	const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "message"));
	const char *code = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "code"));
	if (message && code)
		name_file(error, code, message, path);
	hob_own char *text = message && code ? cJSON_PrintUnformatted(error) : NULL;
	hob_buf_put_str(out, text ? hob_str_of(text) : json);
}
