#include "engine_private.h"

#include "../../core/base/json_write.h"
#include "../reuse/kept.h"

#include <cjson/cJSON.h>
#include <unistd.h>

/* Records of cooks by their keys, for other machines: what was made of which inputs. */

enum { RECORD_ARENA = 64 << 20 };

static void put_hash(hob_buf *out, const char *name, const hob_sha256 *digest)
{
	hob_json_key(out, name);
	hob_json_digest(out, digest);
}

void engine_put_record(hob_buf *out, const srv_recipe *recipe)
{
	hob_json_open(out, '{');
	put_hash(out, "key", &recipe->key);
	put_hash(out, "lookup", &recipe->lookup);
	put_hash(out, "source", &recipe->source);
	hob_json_put_str(out, "file_name", recipe->file_name);
	hob_json_key(out, "ingredients");
	hob_json_raw(out, recipe->ingredients);
	hob_json_key(out, "stats");
	hob_json_raw(out, recipe->stats);
	hob_json_put_u64(out, "warnings", recipe->warnings);
	hob_json_key(out, "cook_ms");
	hob_buf_printf(out, "%.3f", (double)recipe->cook_ns / 1e6);
	hob_json_put_u64(out, "peak_bytes", recipe->peak_bytes);
	hob_json_key(out, "cooked_at");
	hob_json_time(out, recipe->cooked_at_ms);
	hob_json_key(out, "deps");
	hob_json_open(out, '[');
	for (uint32_t i = 0; i < recipe->dep_count; i++) {
		hob_json_open(out, '{');
		hob_json_put_str(out, "path", recipe->deps[i].path);
		hob_json_key(out, "hash");
		if (recipe->deps[i].missing)
			hob_json_null(out);
		else
			hob_json_digest(out, &recipe->deps[i].digest);
		hob_json_close(out, '}');
	}
	hob_json_close(out, ']');
	hob_json_key(out, "outputs");
	hob_json_open(out, '[');
	for (uint32_t i = 0; i < recipe->output_count; i++) {
		hob_json_open(out, '{');
		hob_json_put_str(out, "name", recipe->outputs[i].name);
		put_hash(out, "hash", &recipe->outputs[i].digest);
		hob_json_put_u64(out, "size", recipe->outputs[i].size);
		hob_json_close(out, '}');
	}
	hob_json_close(out, ']');
	hob_json_key(out, "error");
	hob_json_raw(out, recipe->error);
	hob_json_close(out, '}');
}

void engine_tell_action(srv_engine *engine, srv_control *control)
{
	hob_arena arena;
	hob_arena_init(&arena, RECORD_ARENA);
	srv_recipe recipe;
	hob_error error = {0};
	hob_buf body = {0};
	if (srv_store_recipe(engine->store, &control->digest, &arena, &recipe, &error)) {
		engine_put_record(&body, &recipe);
		control->answer(control, 200, hob_buf_str(&body));
	} else {
		engine_refuse(control, 0, &error);
	}
	hob_buf_release(&body);
	hob_arena_release(&arena);
}

/* ---- taking one */

static hob_str text_of(hob_arena *arena, const cJSON *object, const char *name)
{
	hob_str text = hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name)));
	return hob_arena_str(arena, text);
}

static hob_str object_of(hob_arena *arena, const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	char *text = cJSON_IsObject(item) ? cJSON_PrintUnformatted(item) : NULL;
	hob_str copy = hob_arena_str(arena, hob_str_of(text));
	cJSON_free(text);
	return copy;
}

static bool hash_of(const cJSON *object, const char *name, hob_sha256 *out)
{
	return hob_sha256_parse(hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name))),
							out);
}

static double number_of(const cJSON *object, const char *name, double most)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	double value = cJSON_IsNumber(item) ? item->valuedouble : 0;
	return value > 0 ? (value < most ? value : most) : 0;
}

static bool read_lists(const cJSON *json, hob_arena *arena, srv_recipe *out, hob_error *err)
{
	const cJSON *deps = cJSON_GetObjectItemCaseSensitive(json, "deps");
	const cJSON *outputs = cJSON_GetObjectItemCaseSensitive(json, "outputs"), *item;
	if (!cJSON_IsArray(deps) || !cJSON_IsArray(outputs))
		return hob_fail(err, BAD_REQUEST, "'deps' and 'outputs' must be arrays");
	out->deps = HOB_NEW(arena, srv_recipe_dep, (size_t)cJSON_GetArraySize(deps) + 1);
	out->outputs = HOB_NEW(arena, srv_recipe_output, (size_t)cJSON_GetArraySize(outputs) + 1);
	if (!out->deps || !out->outputs)
		return hob_fail_memory(err, arena, "a record");
	cJSON_ArrayForEach(item, deps)
	{
		srv_recipe_dep *dep = &out->deps[out->dep_count++];
		*dep = (srv_recipe_dep){.path = text_of(arena, item, "path")};
		dep->missing = cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(item, "hash"));
		if (dep->path.len == 0 || (!dep->missing && !hash_of(item, "hash", &dep->digest)))
			return hob_fail(err, BAD_REQUEST, "deps[%u] needs a 'path' and a 'hash' or null",
							out->dep_count - 1);
	}
	cJSON_ArrayForEach(item, outputs)
	{
		srv_recipe_output *output = &out->outputs[out->output_count++];
		*output = (srv_recipe_output){.name = text_of(arena, item, "name"),
									  .size = (uint64_t)number_of(item, "size", 9e15)};
		if (output->name.len == 0 || !hash_of(item, "hash", &output->digest))
			return hob_fail(err, BAD_REQUEST, "outputs[%u] needs 'name', 'hash' and 'size'",
							out->output_count - 1);
	}
	return out->output_count > 0 ||
		   hob_fail(err, BAD_REQUEST, "a record without outputs is of no use to anybody");
}

/* The key must be what this daemon would compute: a record under another key would be found by nobody, or by the wrong
 * cook. */
static bool check_key(const srv_recipe *recipe, hob_arena *arena, hob_error *err)
{
	hob_sha256 key;
	if (!srv_kept_key(arena, recipe, &key, err))
		return false;
	return hob_sha256_equal(&key, &recipe->key) ||
		   hob_fail(err, BAD_REQUEST, "the key is not the one that lookup, file_name and deps give");
}

static bool read_record(const srv_control *control, hob_arena *arena, srv_recipe *out, hob_error *err)
{
	cJSON *json = cJSON_ParseWithLength(control->text.data, control->text.len);
	*out = (srv_recipe){.key = control->digest};
	bool ok = cJSON_IsObject(json) || hob_fail(err, BAD_REQUEST, "the body is not a JSON object");
	hob_sha256 key = control->digest;
	if (ok && cJSON_HasObjectItem(json, "key") &&
		(!hash_of(json, "key", &key) || !hob_sha256_equal(&key, &control->digest)))
		ok = hob_fail(err, BAD_REQUEST, "'key' is not the key of the path");
	if (ok && (!hash_of(json, "lookup", &out->lookup) || !hash_of(json, "source", &out->source)))
		ok = hob_fail(err, BAD_REQUEST, "'lookup' and 'source' must be SHA-256 digests");
	if (ok) {
		out->file_name = text_of(arena, json, "file_name");
		out->ingredients = object_of(arena, json, "ingredients");
		out->stats = object_of(arena, json, "stats");
		out->warnings = (uint32_t)number_of(json, "warnings", 4e9);
		out->cook_ns = (uint64_t)(number_of(json, "cook_ms", 9e9) * 1e6);
		out->peak_bytes = (uint64_t)number_of(json, "peak_bytes", 9e15);
		out->cooked_at_ms = engine_now_ms();
		ok = read_lists(json, arena, out, err) && check_key(out, arena, err);
	}
	cJSON_Delete(json);
	return ok;
}

/* A report holds how long the cook took; everything else is the same wherever it was made. */
static bool same_outputs(const srv_recipe *a, const srv_recipe *b)
{
	bool same = a->output_count == b->output_count && a->error.len == b->error.len;
	for (uint32_t i = 0; same && i < a->output_count; i++)
		same = hob_str_equal(a->outputs[i].name, b->outputs[i].name) &&
			   (hob_str_equal(a->outputs[i].name, HOB_STR("report")) ||
				hob_sha256_equal(&a->outputs[i].digest, &b->outputs[i].digest));
	return same;
}

static int take(srv_engine *engine, srv_control *control, hob_arena *arena, hob_error *err)
{
	srv_recipe recipe, known;
	hob_error missing;
	if (!read_record(control, arena, &recipe, err))
		return 400;
	if (srv_store_recipe(engine->store, &recipe.key, arena, &known, &missing)) {
		if (same_outputs(&recipe, &known))
			return 200;
		(void)hob_fail(
			err, NOT_FOUND,
			"another result is kept under this key; cooks are repeatable, so one of them is wrong");
		return 409;
	}
	for (uint32_t i = 0; i < recipe.output_count; i++) {
		uint64_t size = 0;
		int fd = srv_blob_open(engine->store, &recipe.outputs[i].digest, &size);
		if (fd >= 0)
			close(fd);
		if (fd < 0 || size != recipe.outputs[i].size) {
			(void)hob_fail(err, NOT_FOUND,
						   "the blob of output '%.*s' is not here or of another size: PUT it first",
						   HOB_FMT(recipe.outputs[i].name));
			return 409;
		}
	}
	if (!srv_store_put_recipe(engine->store, &recipe, err))
		return hob_err_http(err->code);
	engine->publish.rows = true;
	engine_flush(engine);
	return 201;
}

void engine_take_action(srv_engine *engine, srv_control *control)
{
	hob_arena arena;
	hob_arena_init(&arena, RECORD_ARENA);
	hob_error error = {0};
	int status = take(engine, control, &arena, &error);
	if (status == 409)
		engine_answer(control, status, "http.conflict", error.context);
	else if (status >= 400)
		engine_refuse(control, status, &error);
	else
		control->answer(control, status, HOB_STR("{}"));
	hob_arena_release(&arena);
}
