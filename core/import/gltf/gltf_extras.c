#include "gltf_private.h"

#include <assert.h>

enum { LEVELS_MAX = 1000 }; /* HOB_LIMIT_JSON_DEPTH: the parser rejects deeper nesting */

/* Open objects and arrays, innermost last. */
typedef struct open_levels {
	const cJSON *items[LEVELS_MAX];
	uint32_t count;
} open_levels;

static void put_key(hob_buf *out, const cJSON *item)
{
	if (item->string) {
		hob_buf_put_json(out, hob_str_of(item->string));
		hob_buf_put(out, ":", 1);
	}
}

static void put_plain(hob_buf *out, const cJSON *item)
{
	if (cJSON_IsString(item))
		hob_buf_put_json(out, hob_str_of(item->valuestring));
	else if (cJSON_IsNumber(item))
		hob_buf_put_double(out, item->valuedouble);
	else if (cJSON_IsBool(item))
		hob_buf_put_str(out, cJSON_IsTrue(item) ? HOB_STR("true") : HOB_STR("false"));
	else
		hob_buf_put_str(out, HOB_STR("null"));
}

static bool is_group(const cJSON *item)
{
	return cJSON_IsObject(item) || cJSON_IsArray(item);
}

/* Writes the value without its key and without whitespace. */
static void put_value(hob_buf *out, const cJSON *value)
{
	open_levels open;
	open.count = 0;
	const cJSON *item = value;
	for (;;) {
		if (item != value)
			put_key(out, item);
		if (is_group(item)) {
			hob_buf_put(out, cJSON_IsObject(item) ? "{" : "[", 1);
			if (item->child) {
				assert(open.count < LEVELS_MAX);
				open.items[open.count++] = item;
				item = item->child;
				continue;
			}
			hob_buf_put(out, cJSON_IsObject(item) ? "}" : "]", 1);
		} else {
			put_plain(out, item);
		}
		while (open.count > 0 && !item->next) {
			item = open.items[--open.count];
			hob_buf_put(out, cJSON_IsObject(item) ? "}" : "]", 1);
			if (item == value)
				return;
		}
		if (item == value)
			return;
		hob_buf_put(out, ",", 1);
		item = item->next;
	}
}

static hob_str keep(hob_gltf *g, const hob_buf *text)
{
	if (text->size > HOB_LIMIT_EXTRAS_BYTES - g->extras_bytes) {
		hob_gltf_note(
			g, "extras-dropped",
			"extras and unknown extensions of the file take more than %llu bytes; the rest is left out",
			HOB_LIMIT_EXTRAS_BYTES);
		return (hob_str){0};
	}
	g->extras_bytes += text->size;
	return text->size > 0 ? hob_arena_str(g->result, hob_buf_str(text)) : (hob_str){0};
}

void hob_gltf_extras(hob_gltf *g, const cJSON *object, hob_extras *out)
{
	hob_own_buf text = {0};
	const cJSON *values = hob_json_get(object, "extras"), *extensions = hob_json_get(object, "extensions");
	if (values)
		put_value(&text, values);
	out->values = keep(g, &text);
	hob_buf_clear(&text);
	for (const cJSON *item = cJSON_IsObject(extensions) ? extensions->child : NULL; item; item = item->next) {
		if (hob_gltf_knows(item->string))
			continue;
		hob_buf_put(&text, text.size ? "," : "{", 1);
		put_key(&text, item);
		put_value(&text, item);
	}
	if (text.size)
		hob_buf_put(&text, "}", 1);
	out->extensions = keep(g, &text);
}
