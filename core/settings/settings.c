#include "settings.h"

#include "../base/json_write.h"
#include "../formats/number_text.h"

#include <cjson/cJSON.h>
#include <math.h>

typedef enum setting_type { TYPE_f32, TYPE_u32, TYPE_flag, TYPE_choice, TYPE_text, TYPE_rules } setting_type;

typedef struct setting {
	const char *field, *path, *doc;
	setting_type type;
	size_t offset;
	double initial, min, max;
} setting;

static const setting table[] = {
#define SETTING(field, type, path, value, min, max, doc)                                                     \
	{#field, path, doc, TYPE_##type, offsetof(hob_settings, field), value, min, max},
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
};

static const struct {
	const char *field;
	uint32_t index;
	const char *name;
} choices[] = {
#define SETTING(field, type, path, value, min, max, doc)
#define SETTING_CHOICE(field, index, name) {#field, index, name},
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
};

enum { PATH_MAX_TEXT = 128, DEPTH_MAX = 4 };

static void set_value(hob_settings *settings, const setting *s, double value)
{
	uint8_t *at = (uint8_t *)settings + s->offset;
	if (s->type == TYPE_f32) {
		float narrow = (float)value;
		memcpy(at, &narrow, sizeof narrow);
	} else {
		uint32_t whole = (uint32_t)value;
		memcpy(at, &whole, sizeof whole);
	}
}

static double get_value(const hob_settings *settings, const setting *s)
{
	const uint8_t *at = (const uint8_t *)settings + s->offset;
	if (s->type == TYPE_f32)
		return (double)hob_load_f32(at);
	return hob_load_u32(at);
}

void hob_settings_init(hob_settings *settings)
{
	memset(settings, 0, sizeof *settings);
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++)
		if (table[i].type < TYPE_text)
			set_value(settings, &table[i], table[i].initial);
	hob_rules_init(&settings->rules);
}

/* ---- reading */

/* The key nearest to a path; empty: none is similar. */
static hob_str nearest_key(const char *path)
{
	hob_str best = {0};
	size_t best_distance = HOB_NEAR_EDITS + 1;
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++) {
		size_t distance;
		hob_str near = hob_key_near(hob_str_of(path), hob_str_of(table[i].path), &distance);
		if (distance < best_distance) {
			best_distance = distance;
			best = near;
		}
	}
	return best;
}

/* Appends the settings of a group: "lods.max, lods.ratio" for "lods". */
static void put_group(const char *name, hob_buf *out)
{
	size_t length = strlen(name);
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++)
		if (strncmp(table[i].path, name, length) == 0 && table[i].path[length] == '.')
			hob_buf_printf(out, "%s%s", out->size > 0 ? ", " : "", table[i].path);
}

static bool fail_unknown(const char *path, hob_str origin, hob_error *err)
{
	hob_buf group = {0};
	put_group(path, &group);
	if (group.size > 0)
		hob_fail(err, CONFIG, "%.*s: '%s' is a group of settings: %.*s", HOB_FMT(origin), path,
				 HOB_FMT(hob_buf_str(&group)));
	bool told = group.size > 0;
	hob_buf_release(&group);
	if (told)
		return false;
	hob_str near = nearest_key(path);
	if (near.len > 0)
		return hob_fail(err, CONFIG, "%.*s: unknown setting '%s'; did you mean '%.*s'?", HOB_FMT(origin),
						path, HOB_FMT(near));
	return hob_fail(
		err, CONFIG,
		"%.*s: unknown setting '%s', and no known setting is similar; 'man hob.json' lists the cook settings",
		HOB_FMT(origin), path);
}

hob_str hob_settings_place(hob_str name)
{
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++) {
		hob_str path = hob_str_of(table[i].path);
		size_t dot = hob_str_find(path, HOB_STR("."), 0);
		bool group = dot != SIZE_MAX && hob_str_equal(name, hob_str_sub(path, 0, dot));
		if (group)
			return hob_str_sub(path, 0, dot);
		if (hob_str_equal(name, path) ||
			(dot != SIZE_MAX && hob_str_equal(name, hob_str_sub(path, dot + 1, path.len))))
			return path;
	}
	return (hob_str){0};
}

static const setting *find_setting(const char *path)
{
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++)
		if (strcmp(table[i].path, path) == 0)
			return &table[i];
	return NULL;
}

static bool is_group(const char *path)
{
	size_t len = strlen(path);
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++)
		if (strncmp(table[i].path, path, len) == 0 && table[i].path[len] == '.')
			return true;
	return false;
}

static bool read_choice(const setting *s, const cJSON *item, double *value)
{
	if (!cJSON_IsString(item))
		return false;
	for (size_t i = 0; i < HOB_COUNT_OF(choices); i++)
		if (strcmp(choices[i].field, s->field) == 0 && strcmp(choices[i].name, item->valuestring) == 0) {
			*value = choices[i].index;
			return true;
		}
	return false;
}

/* The value as JSON, shortened. */
static void show_value(const cJSON *item, char shown[32])
{
	enum { BYTES_MAX = 28 };
	hob_own char *whole = cJSON_PrintUnformatted(item);
	size_t size = whole ? strlen(whole) : 0, kept = size;
	if (size > BYTES_MAX)
		for (kept = BYTES_MAX; kept > 0 && ((uint8_t)whole[kept] & 0xC0) == 0x80;)
			kept--;
	if (whole) {
		memcpy(shown, whole, kept);
		memcpy(shown + kept, size > kept ? "..." : "\0\0\0", 4);
	}
}

static bool fail_value(const setting *s, const cJSON *item, hob_str origin, hob_error *err)
{
	char shown[32] = "what it is";
	show_value(item, shown);
	if (s->type == TYPE_flag)
		return hob_fail(err, CONFIG, "%.*s: '%s' must be true or false, not %s", HOB_FMT(origin), s->path,
						shown);
	if (s->type == TYPE_choice) {
		char names[160] = "";
		size_t used = 0;
		for (size_t i = 0; i < HOB_COUNT_OF(choices); i++) {
			size_t len = strlen(choices[i].name);
			if (strcmp(choices[i].field, s->field) != 0 || used + len + 3 > sizeof names)
				continue;
			if (used > 0) {
				names[used++] = ',';
				names[used++] = ' ';
			}
			memcpy(names + used, choices[i].name, len + 1);
			used += len;
		}
		return hob_fail(err, CONFIG, "%.*s: '%s' must be one of %s, not %s", HOB_FMT(origin), s->path, names,
						shown);
	}
	if (s->type == TYPE_text)
		return hob_fail(err, CONFIG, "%.*s: '%s' must be a text of at most %.0f bytes, not %s",
						HOB_FMT(origin), s->path, s->max, shown);
	return hob_fail(err, CONFIG, "%.*s: '%s' must be a %s from %.10g to %.10g, not %s", HOB_FMT(origin),
					s->path, s->type == TYPE_u32 ? "whole number" : "number", s->min, s->max, shown);
}

static bool read_text(hob_settings *settings, const setting *s, const cJSON *item)
{
	size_t len = cJSON_IsString(item) ? strlen(item->valuestring) : SIZE_MAX;
	if (len > (size_t)s->max)
		return false;
	memset((char *)settings + s->offset, 0, sizeof(hob_setting_text));
	memcpy((char *)settings + s->offset, item->valuestring, len);
	return true;
}

static bool read_value(hob_settings *settings, const setting *s, const cJSON *item, hob_str origin,
					   hob_error *err)
{
	double value = 0;
	bool good = false;
	if (s->type == TYPE_rules)
		return hob_rules_overlay(&settings->rules, item, origin, err);
	if (s->type == TYPE_text)
		return read_text(settings, s, item) || fail_value(s, item, origin, err);
	if (s->type == TYPE_flag) {
		good = cJSON_IsBool(item);
		value = cJSON_IsTrue(item) ? 1 : 0;
	} else if (s->type == TYPE_choice) {
		good = read_choice(s, item, &value);
	} else {
		good = cJSON_IsNumber(item) && item->valuedouble >= s->min && item->valuedouble <= s->max;
		value = item->valuedouble;
		if (s->type == TYPE_u32 && good)
			good = value == floor(value);
	}
	if (!good)
		return fail_value(s, item, origin, err);
	set_value(settings, s, value);
	return true;
}

bool hob_settings_first_of_name(const cJSON *object, const cJSON *item, hob_str origin, hob_error *err)
{
	return cJSON_GetObjectItemCaseSensitive(object, item->string) == item ||
		   hob_fail(err, CONFIG, "%.*s: '%.60s' is given twice", HOB_FMT(origin), item->string);
}

static bool overlay_object(hob_settings *settings, const cJSON *object, const char *prefix, int depth,
						   hob_str origin, hob_error *err)
{
	for (const cJSON *item = object->child; item; item = item->next) {
		char path[PATH_MAX_TEXT];
		size_t prefix_len = strlen(prefix), name_len = strlen(item->string);
		if (strncmp(item->string, "//", 2) == 0 || strcmp(item->string, "$schema") == 0)
			continue;
		if (!hob_settings_first_of_name(object, item, origin, err))
			return false;
		if (prefix_len + name_len + 2 > sizeof path)
			return hob_fail(err, CONFIG, "%.*s: unknown setting '%.60s...'", HOB_FMT(origin), item->string);
		memcpy(path, prefix, prefix_len);
		if (prefix_len > 0)
			path[prefix_len++] = '.';
		memcpy(path + prefix_len, item->string, name_len + 1);
		if (strcmp(path, "calculate_LODs") == 0) {
			if (!cJSON_IsBool(item))
				return hob_fail(err, CONFIG, "%.*s: 'calculate_LODs' must be true or false", HOB_FMT(origin));
			settings->lod_max = cJSON_IsTrue(item) ? 7 : 1;
			continue;
		}
		const setting *s = find_setting(path);
		if (s) {
			if (!read_value(settings, s, item, origin, err))
				return false;
		} else if (cJSON_IsObject(item) && depth < DEPTH_MAX && is_group(path)) {
			if (!overlay_object(settings, item, path, depth + 1, origin, err))
				return false;
		} else {
			return fail_unknown(path, origin, err);
		}
	}
	return true;
}

static bool only_space(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
		at++;
	return at == end;
}

bool hob_settings_overlay(hob_settings *settings, hob_str json, hob_str origin, hob_error *err)
{
	const char *end = NULL;
	cJSON *root = cJSON_ParseWithLengthOpts(json.data, json.len, &end, false);
	if (!root || !only_space(end, json.data + json.len)) {
		cJSON_Delete(root);
		size_t line, column;
		hob_text_place(json, end ? end : json.data, &line, &column);
		return hob_fail(err, CONFIG, "%.*s: not valid JSON near line %zu, column %zu", HOB_FMT(origin), line,
						column);
	}
	hob_settings changed = *settings;
	bool ok = cJSON_IsObject(root)
				  ? overlay_object(&changed, root, "", 0, origin, err)
				  : hob_fail(err, CONFIG, "%.*s: settings must be a JSON object", HOB_FMT(origin));
	cJSON_Delete(root);
	if (ok)
		*settings = changed;
	return ok;
}

/* ---- writing */

static void print_value(const hob_settings *settings, const setting *s, hob_buf *out)
{
	if (s->type == TYPE_text) {
		hob_buf_put_json(out, hob_str_of((const char *)settings + s->offset));
		return;
	}
	if (s->type == TYPE_rules) {
		hob_rules_print(&settings->rules, out);
		return;
	}
	double value = get_value(settings, s);
	if (s->type == TYPE_flag) {
		hob_buf_put_str(out, hob_str_of(value != 0 ? "true" : "false"));
	} else if (s->type == TYPE_choice) {
		for (size_t i = 0; i < HOB_COUNT_OF(choices); i++)
			if (strcmp(choices[i].field, s->field) == 0 && choices[i].index == (uint32_t)value)
				hob_buf_put_json(out, hob_str_of(choices[i].name));
	} else if (s->type == TYPE_f32) {
		hob_put_f32(out, (float)value);
	} else {
		hob_buf_printf(out, "%.0f", value);
	}
}

static void print_schema(const hob_settings *settings, const setting *s, hob_buf *out)
{
	static const char *const types[] = {"number", "integer", "boolean", "string", "string"};
	if (s->type == TYPE_rules) {
		hob_rules_schema(out);
		return;
	}
	hob_buf_printf(out, "{\"type\":\"%s\"", types[s->type]);
	if (s->type == TYPE_f32 || s->type == TYPE_u32)
		hob_buf_printf(out, ",\"minimum\":%.10g,\"maximum\":%.10g", s->min, s->max);
	if (s->type == TYPE_text)
		hob_buf_printf(out, ",\"maxLength\":%.0f", s->max);
	if (s->type == TYPE_choice) {
		hob_json_put(out, HOB_JSON_OPEN("enum", '['));
		for (size_t i = 0; i < HOB_COUNT_OF(choices); i++)
			if (strcmp(choices[i].field, s->field) == 0)
				hob_json_str(out, hob_str_of(choices[i].name));
		hob_json_close(out, ']');
	}
	hob_json_key(out, "default");
	print_value(settings, s, out);
	hob_json_put(out, HOB_JSON("description", s->doc), HOB_JSON_CLOSE('}'));
}

/* Prints members; if no rule differs from its default, `rules` is left out. Groups are at most one level deep
 * and adjacent in the table. */
static void print_nested(const hob_settings *settings, hob_buf *out, const char *begin, const char *end,
						 void (*print)(const hob_settings *settings, const setting *s, hob_buf *out))
{
	hob_str open = {0};
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++) {
		hob_str path = hob_str_of(table[i].path);
		size_t dot = hob_str_find(path, HOB_STR("."), 0);
		if (table[i].type == TYPE_rules && print == print_value && hob_rules_are_default(&settings->rules))
			continue;
		hob_str group = dot == SIZE_MAX ? (hob_str){0} : hob_str_sub(path, 0, dot);
		hob_str name = dot == SIZE_MAX ? path : hob_str_sub(path, dot + 1, path.len);
		if (open.len > 0 && !hob_str_equal(open, group))
			hob_buf_put_str(out, hob_str_of(end));
		if (group.len > 0 && !hob_str_equal(open, group)) {
			hob_json_str(out, group);
			hob_buf_printf(out, ":%s", begin);
		}
		open = group;
		hob_json_str(out, name);
		hob_buf_put_str(out, HOB_STR(":"));
		print(settings, &table[i], out);
	}
	if (open.len > 0)
		hob_buf_put_str(out, hob_str_of(end));
	hob_buf_put_str(out, hob_str_of(end));
}

void hob_settings_print(const hob_settings *settings, hob_buf *out)
{
	hob_buf_put_str(out, HOB_STR("{"));
	print_nested(settings, out, "{", "}", print_value);
}

cJSON *hob_settings_json(const hob_settings *settings)
{
	hob_own_buf text = {0};
	hob_settings_print(settings, &text);
	return text.failed ? NULL : cJSON_ParseWithLength((const char *)text.data, text.size);
}

#define SCHEMA_OBJECT                                                                                        \
	"{\"type\":\"object\",\"additionalProperties\":false,\"patternProperties\":{\"^//"                       \
	"\":{}},\"properties\":{"

void hob_settings_schema(hob_buf *out)
{
	hob_settings defaults;
	hob_settings_init(&defaults);
	hob_buf_put_str(out, HOB_STR(SCHEMA_OBJECT
								 "\"$schema\":{\"type\":\"string\"},\"calculate_LODs\":{\"type\":\"boolean\","
								 "\"description\":\"the reference converter's word: lods.max of 7 or 1\"}"));
	print_nested(&defaults, out, SCHEMA_OBJECT, "}}", print_schema);
}
