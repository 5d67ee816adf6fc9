#include "gltf_private.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static const char *type_name(const cJSON *value)
{
	if (cJSON_IsString(value))
		return "a string";
	if (cJSON_IsNumber(value))
		return "a number";
	if (cJSON_IsObject(value))
		return "an object";
	if (cJSON_IsArray(value))
		return "an array";
	return cJSON_IsBool(value) ? "a boolean" : "null";
}

static bool wrong_type(const cJSON *value, const char *key, const char *wanted, hob_error *err)
{
	return hob_fail(err, CORRUPT, "'%s' is %s, not %s", key, type_name(value), wanted);
}

bool hob_gltf_object(const cJSON *object, const char *key, const cJSON **out, hob_error *err)
{
	const cJSON *value = hob_json_get(object, key);
	if (value && !cJSON_IsObject(value))
		return wrong_type(value, key, "an object", err);
	*out = value;
	return true;
}

bool hob_gltf_extension(const cJSON *object, const char *name, const cJSON **out, hob_error *err)
{
	const cJSON *extensions;
	return hob_gltf_object(object, "extensions", &extensions, err) &&
		   hob_gltf_object(extensions, name, out, err);
}

static bool array_of(const cJSON *object, const char *key, const cJSON **out, uint32_t *count, hob_error *err)
{
	const cJSON *array = hob_json_get(object, key);
	if (array && !cJSON_IsArray(array))
		return wrong_type(array, key, "an array", err);
	*out = array;
	*count = array ? (uint32_t)cJSON_GetArraySize(array) : 0;
	return true;
}

bool hob_gltf_list_of(hob_arena *arena, const cJSON *object, const char *key, uint64_t limit,
					  hob_gltf_list *out, hob_error *err)
{
	const cJSON *array;
	uint32_t count;
	if (!array_of(object, key, &array, &count, err))
		return false;
	if (count > limit)
		return hob_fail(err, LIMIT, "'%s' has %u entries, the limit is %llu", key, count,
						(unsigned long long)limit);
	hob_gltf_list list = {HOB_NEW(arena, const cJSON *, count), 0};
	for (const cJSON *item = array ? array->child : NULL; item; item = item->next) {
		if (!cJSON_IsObject(item))
			return hob_fail(err, CORRUPT, "%s[%u] is %s, not an object", key, list.count, type_name(item));
		list.items[list.count++] = item;
	}
	*out = list;
	return true;
}

/* Integers are exact in a double up to 2^53. */
static bool is_index(const cJSON *value)
{
	return cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble <= 9007199254740992.0 &&
		   value->valuedouble == floor(value->valuedouble);
}

static const char *last_of(uint32_t count, char text[32])
{
	if (count == 0)
		return "there are none";
	snprintf(text, 32, "the last is %u", count - 1);
	return text;
}

bool hob_gltf_ids(hob_arena *arena, const cJSON *object, const char *key, uint32_t count, uint32_t **out,
				  uint32_t *out_count, hob_error *err)
{
	const cJSON *array;
	uint32_t entries;
	if (!array_of(object, key, &array, &entries, err))
		return false;
	uint32_t *ids = HOB_NEW(arena, uint32_t, entries);
	uint32_t at = 0;
	for (const cJSON *item = array ? array->child : NULL; item; item = item->next) {
		if (!is_index(item))
			return hob_fail(err, CORRUPT, "%s[%u] is not a non-negative integer", key, at);
		if (item->valuedouble >= count)
			return hob_fail(err, CORRUPT, "%s[%u] is %.0f, but %s", key, at, item->valuedouble,
							last_of(count, (char[32]){0}));
		ids[at++] = (uint32_t)item->valuedouble;
	}
	*out = ids;
	*out_count = entries;
	return true;
}

bool hob_gltf_size(const cJSON *object, const char *key, size_t fallback, size_t *out, hob_error *err)
{
	const cJSON *value = hob_json_get(object, key);
	if (value && !is_index(value))
		return wrong_type(value, key, "a non-negative integer", err);
	*out = value ? (size_t)value->valuedouble : fallback;
	return true;
}

bool hob_gltf_id_of(const cJSON *value, const char *key, uint32_t count, uint32_t *out, hob_error *err)
{
	if (!is_index(value))
		return wrong_type(value, key, "a non-negative integer", err);
	if (value->valuedouble >= count)
		return hob_fail(err, CORRUPT, "'%s' is %.0f, but %s", key, value->valuedouble,
						last_of(count, (char[32]){0}));
	*out = (uint32_t)value->valuedouble;
	return true;
}

bool hob_gltf_id(const cJSON *object, const char *key, uint32_t count, uint32_t *out, hob_error *err)
{
	const cJSON *value = hob_json_get(object, key);
	if (value)
		return hob_gltf_id_of(value, key, count, out, err);
	*out = HOB_NONE;
	return true;
}

bool hob_gltf_need_id(const cJSON *object, const char *key, uint32_t count, uint32_t *out, hob_error *err)
{
	if (!hob_gltf_id(object, key, count, out, err))
		return false;
	return *out != HOB_NONE || hob_fail(err, CORRUPT, "'%s' is missing", key);
}

static bool float_of(const cJSON *value, const char *key, float *out, hob_error *err)
{
	if (!cJSON_IsNumber(value))
		return wrong_type(value, key, "a number", err);
	double number = value->valuedouble;
	if (!isfinite(number))
		return hob_fail(err, CORRUPT, "'%s' is a number beyond every range", key);
	*out = number > FLT_MAX ? INFINITY : number < -FLT_MAX ? -INFINITY : (float)number;
	return true;
}

bool hob_gltf_float(const cJSON *object, const char *key, float *out, hob_error *err)
{
	const cJSON *value = hob_json_get(object, key);
	return !value || float_of(value, key, out, err);
}

bool hob_gltf_floats(const cJSON *object, const char *key, uint32_t count, float *out, bool *given,
					 hob_error *err)
{
	const cJSON *array = hob_json_get(object, key), *item = array ? array->child : NULL;
	uint32_t at = 0;
	if (array && !cJSON_IsArray(array))
		return wrong_type(array, key, "an array", err);
	for (; item && at < count; item = item->next)
		if (!float_of(item, key, &out[at++], err))
			return false;
	if (array && (item || at < count))
		return hob_fail(err, CORRUPT, "'%s' has %d numbers instead of %u", key, cJSON_GetArraySize(array),
						count);
	if (given)
		*given = array != NULL;
	return true;
}

bool hob_gltf_bool(const cJSON *object, const char *key, bool *out, hob_error *err)
{
	const cJSON *value = hob_json_get(object, key);
	if (value && !cJSON_IsBool(value))
		return wrong_type(value, key, "a boolean", err);
	if (value)
		*out = cJSON_IsTrue(value);
	return true;
}

bool hob_gltf_string(const cJSON *object, const char *key, hob_str *out, hob_error *err)
{
	const cJSON *value = hob_json_get(object, key);
	if (value && !cJSON_IsString(value))
		return wrong_type(value, key, "a string", err);
	*out = hob_str_of(value ? value->valuestring : NULL);
	return true;
}

/* Length of the valid UTF-8 sequence at the start of `text`, or 0. */
static size_t sequence_length(hob_str text)
{
	for (size_t length = 1; length <= 4 && length <= text.len; length++)
		if (hob_utf8_valid((hob_str){text.data, length}))
			return length;
	return 0;
}

hob_str hob_gltf_copy_text(hob_gltf *g, hob_str text)
{
	hob_str kept = hob_str_sub(text, 0, HOB_LIMIT_NAME_BYTES);
	while (kept.len > 0 && kept.len < text.len && ((uint8_t)text.data[kept.len] & 0xC0) == 0x80)
		kept.len--;
	hob_str copy;
	if (hob_utf8_valid(kept)) {
		copy = hob_arena_str(g->result, kept);
	} else {
		char *repaired = HOB_NEW(g->result, char, kept.len * 3 + 1);
		size_t size = 0;
		for (size_t i = 0; i < kept.len;) {
			size_t length = sequence_length(hob_str_sub(kept, i, kept.len));
			memcpy(repaired + size, length ? kept.data + i : "\xEF\xBF\xBD", length ? length : 3);
			size += length ? length : 3;
			i += length ? length : 1;
		}
		copy = (hob_str){repaired, size};
		hob_gltf_note(g, "name-repaired", "the name '%.*s' was not valid UTF-8", HOB_FMT(copy));
	}
	if (kept.len < text.len)
		hob_gltf_note(g, "name-cut", "a name of %zu bytes was cut to %zu: '%.40s...'", text.len, kept.len,
					  copy.data);
	return copy;
}

bool hob_gltf_name(hob_gltf *g, const cJSON *object, hob_str *out, hob_error *err)
{
	hob_str name;
	/* glTF 2.1: `uid`, unique in the file, replaces a missing name. */
	if (!hob_gltf_string(object, "name", &name, err) ||
		(name.len == 0 && !hob_gltf_string(object, "uid", &name, err)))
		return false;
	*out = name.len > 0 ? hob_gltf_copy_text(g, name) : (hob_str){0};
	return true;
}

bool hob_gltf_can_drop(const hob_error *why, bool needed, hob_error *err)
{
	static const hob_err_code codes[] = {HOB_ERR_MISSING_FILE, HOB_ERR_LFS_POINTER, HOB_ERR_CORRUPT,
										 HOB_ERR_TRUNCATED, HOB_ERR_UNSUPPORTED};
	for (size_t i = 0; i < HOB_COUNT_OF(codes) && !needed; i++)
		if (why->code == codes[i])
			return true;
	if (err)
		*err = *why;
	return false;
}

const char *hob_gltf_label(const cJSON *object)
{
	const cJSON *name = hob_json_get(object, "name");
	return cJSON_IsString(name) ? name->valuestring : "";
}
