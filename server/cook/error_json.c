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

/* The settings file that the message begins with: "props/cook.json: ...". */
static hob_str settings_file(hob_str json)
{
	hob_str key = HOB_STR("\"message\":\"");
	size_t at = hob_str_find(json, key, 0);
	if (at == SIZE_MAX || hob_str_find(json, HOB_STR("\"config.invalid\""), 0) == SIZE_MAX)
		return (hob_str){0};
	size_t end = hob_str_find(json, HOB_STR("cook.json: "), at);
	return end == SIZE_MAX ? (hob_str){0} : hob_str_sub(json, at + key.len, end + sizeof "cook.json" - 1);
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

/* For a .merge file: names the part at fault, or advises to correct the file. False without memory. */
static bool error_of_merge(hob_str json, hob_str path, hob_buf *out)
{
	static const char mend[] = "correct this file; Hob tries again when it is saved";
	cJSON *error = cJSON_ParseWithLength(json.data, json.len);
	const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "message"));
	const char *code = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "code"));
	if (!message || !code) {
		cJSON_Delete(error);
		return false;
	}
	hob_arena arena;
	hob_arena_init(&arena, 64 << 10);
	hob_str part = part_of_merge(&arena, hob_str_of(message), path);
	bool of_form = strcmp(code, hob_err_name(HOB_ERR_CORRUPT)) == 0 ||
				   strcmp(code, hob_err_name(HOB_ERR_UNSUPPORTED)) == 0;
	if (part.len == 0 && of_form)
		cJSON_ReplaceItemInObjectCaseSensitive(error, "hint", cJSON_CreateString(mend));
	cJSON *place = cJSON_CreateObject(), *old = cJSON_DetachItemFromObjectCaseSensitive(error, "location");
	cJSON_AddStringToObject(place, "file", (part.len > 0 ? part : hob_arena_str(&arena, path)).data);
	while (old && old->child) {
		cJSON *item = cJSON_DetachItemViaPointer(old, old->child);
		cJSON_AddItemToObject(place, item->string, item);
	}
	cJSON_Delete(old);
	cJSON *cause = cJSON_DetachItemFromObjectCaseSensitive(error, "root_cause");
	cJSON_AddItemToObject(error, "location", place);
	cJSON_AddItemToObject(error, "root_cause", cause);
	char *text = cJSON_PrintUnformatted(error);
	if (text)
		hob_buf_put_str(out, hob_str_of(text));
	cJSON_free(text);
	cJSON_Delete(error);
	hob_arena_release(&arena);
	return text != NULL;
}

void srv_error_of_asset(hob_str json, hob_str path, hob_buf *out)
{
	hob_str place = HOB_STR("\"location\":{"), end = HOB_STR(",\"root_cause\"");
	hob_str other = settings_file(json);
	if (other.len == 0 && hob_str_ends_nocase(path, HOB_STR(".merge")) && error_of_merge(json, path, out))
		return;
	size_t at = hob_str_find(json, place, 0);
	bool has_place = at != SIZE_MAX;
	at = has_place ? at + place.len : hob_str_find(json, end, 0);
	if (at == SIZE_MAX) {
		hob_buf_put_str(out, json);
		return;
	}
	hob_buf_put_str(out, hob_str_sub(json, 0, at));
	hob_buf_put_str(out, has_place ? HOB_STR("\"file\":") : HOB_STR(",\"location\":{\"file\":"));
	if (other.len > 0) {
		hob_buf_put(out, "\"", 1);
		hob_buf_put_str(out, other);
		hob_buf_put(out, "\"", 1);
	} else {
		hob_buf_put_json(out, path);
	}
	hob_buf_put_str(out, has_place ? HOB_STR(",") : HOB_STR("}"));
	hob_buf_put_str(out, hob_str_sub(json, at, json.len));
}
