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

_Noreturn static void wrong_type(const cJSON *value, const char *key, const char *wanted)
{
	hob_leave(CORRUPT, "'%s' is %s, not %s", key, type_name(value), wanted);
}

const cJSON *hob_gltf_object(const cJSON *object, const char *key)
{
	const cJSON *value = hob_json_get(object, key);
	if (value && !cJSON_IsObject(value))
		wrong_type(value, key, "an object");
	return value;
}

const cJSON *hob_gltf_extension(const cJSON *object, const char *name)
{
	return hob_gltf_object(hob_gltf_object(object, "extensions"), name);
}

static const cJSON *array_of(const cJSON *object, const char *key, uint32_t *count)
{
	const cJSON *array = hob_json_get(object, key);
	if (array && !cJSON_IsArray(array))
		wrong_type(array, key, "an array");
	*count = array ? (uint32_t)cJSON_GetArraySize(array) : 0;
	return array ? array->child : NULL;
}

hob_gltf_list hob_gltf_list_of(hob_arena *arena, const cJSON *object, const char *key, uint64_t limit)
{
	uint32_t count;
	const cJSON *item = array_of(object, key, &count);
	if (count > limit)
		hob_leave(LIMIT, "'%s' has %u entries, the limit is %llu", key, count, (unsigned long long)limit);
	hob_gltf_list list = {HOB_NEW(arena, const cJSON *, count), 0};
	for (; item; item = item->next) {
		if (!cJSON_IsObject(item))
			hob_leave(CORRUPT, "%s[%u] is %s, not an object", key, list.count, type_name(item));
		list.items[list.count++] = item;
	}
	return list;
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

uint32_t *hob_gltf_ids(hob_arena *arena, const cJSON *object, const char *key, uint32_t count,
					   uint32_t *id_count)
{
	const cJSON *item = array_of(object, key, id_count);
	uint32_t *ids = HOB_NEW(arena, uint32_t, *id_count), at = 0;
	for (; item; item = item->next) {
		if (!is_index(item))
			hob_leave(CORRUPT, "%s[%u] is not a non-negative integer", key, at);
		if (item->valuedouble >= count)
			hob_leave(CORRUPT, "%s[%u] is %.0f, but %s", key, at, item->valuedouble,
					  last_of(count, (char[32]){0}));
		ids[at++] = (uint32_t)item->valuedouble;
	}
	return ids;
}

size_t hob_gltf_size(const cJSON *object, const char *key, size_t fallback)
{
	const cJSON *value = hob_json_get(object, key);
	if (value && !is_index(value))
		wrong_type(value, key, "a non-negative integer");
	return value ? (size_t)value->valuedouble : fallback;
}

uint32_t hob_gltf_id_of(const cJSON *value, const char *key, uint32_t count)
{
	if (!is_index(value))
		wrong_type(value, key, "a non-negative integer");
	if (value->valuedouble >= count)
		hob_leave(CORRUPT, "'%s' is %.0f, but %s", key, value->valuedouble, last_of(count, (char[32]){0}));
	return (uint32_t)value->valuedouble;
}

uint32_t hob_gltf_id(const cJSON *object, const char *key, uint32_t count)
{
	const cJSON *value = hob_json_get(object, key);
	return value ? hob_gltf_id_of(value, key, count) : HOB_NONE;
}

uint32_t hob_gltf_need_id(const cJSON *object, const char *key, uint32_t count)
{
	uint32_t id = hob_gltf_id(object, key, count);
	if (id == HOB_NONE)
		hob_leave(CORRUPT, "'%s' is missing", key);
	return id;
}

static float float_of(const cJSON *value, const char *key)
{
	if (!cJSON_IsNumber(value))
		wrong_type(value, key, "a number");
	double number = value->valuedouble;
	if (!isfinite(number))
		hob_leave(CORRUPT, "'%s' is a number beyond every range", key);
	return number > FLT_MAX ? INFINITY : number < -FLT_MAX ? -INFINITY : (float)number;
}

void hob_gltf_float(const cJSON *object, const char *key, float *out)
{
	const cJSON *value = hob_json_get(object, key);
	if (value)
		*out = float_of(value, key);
}

bool hob_gltf_floats(const cJSON *object, const char *key, uint32_t count, float *out)
{
	const cJSON *array = hob_json_get(object, key), *item = array ? array->child : NULL;
	uint32_t at = 0;
	if (array && !cJSON_IsArray(array))
		wrong_type(array, key, "an array");
	for (; item && at < count; item = item->next)
		out[at++] = float_of(item, key);
	if (array && (item || at < count))
		hob_leave(CORRUPT, "'%s' has %d numbers instead of %u", key, cJSON_GetArraySize(array), count);
	return array != NULL;
}

void hob_gltf_bool(const cJSON *object, const char *key, bool *out)
{
	const cJSON *value = hob_json_get(object, key);
	if (value && !cJSON_IsBool(value))
		wrong_type(value, key, "a boolean");
	if (value)
		*out = cJSON_IsTrue(value);
}

hob_str hob_gltf_string(const cJSON *object, const char *key)
{
	const cJSON *value = hob_json_get(object, key);
	if (value && !cJSON_IsString(value))
		wrong_type(value, key, "a string");
	return hob_str_of(value ? value->valuestring : NULL);
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

hob_str hob_gltf_name(hob_gltf *g, const cJSON *object)
{
	hob_str name = hob_gltf_string(object, "name");
	/* glTF 2.1: `uid`, unique in the file, replaces a missing name. */
	if (name.len == 0)
		name = hob_gltf_string(object, "uid");
	return name.len > 0 ? hob_gltf_copy_text(g, name) : (hob_str){0};
}

typedef struct trial {
	hob_gltf *g;
	hob_gltf_job *job;
	uint32_t id;
	void *to;
} trial_t;

static bool run(void *context, hob_error *err)
{
	const trial_t *trial = context;
	(void)err;
	trial->job(trial->g, trial->id, trial->to);
	return true;
}

bool hob_gltf_try(hob_gltf *g, hob_gltf_job *job, uint32_t id, void *to, hob_error *why)
{
	bool done = hob_guarded(run, &(trial_t){g, job, id, to}, why);
	if (!done && why->code == HOB_ERR_MEMORY)
		hob_leave_with(why);
	return done;
}

void hob_gltf_drop(const hob_error *why, bool needed)
{
	static const hob_err_code codes[] = {HOB_ERR_MISSING_FILE, HOB_ERR_LFS_POINTER, HOB_ERR_CORRUPT,
										 HOB_ERR_TRUNCATED, HOB_ERR_UNSUPPORTED};
	for (size_t i = 0; i < HOB_COUNT_OF(codes) && !needed; i++)
		if (why->code == codes[i])
			return;
	hob_leave_with(why);
}

const char *hob_gltf_label(const cJSON *object)
{
	const cJSON *name = hob_json_get(object, "name");
	return cJSON_IsString(name) ? name->valuestring : "";
}
