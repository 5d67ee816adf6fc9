#include "engine_private.h"

#include "../../core/base/json_write.h"

#include <cjson/cJSON.h>

/* Why an asset was cooked: its newest recipe compared, input by input and setting by setting, with the one before, or with
 * the one that was served at some rev. */

typedef struct comparison {
	hob_buf changed; /* JSON array members */
	uint32_t unchanged;
	cJSON *origins; /* by setting */
} comparison;

static void put_digest(hob_buf *out, const hob_sha256 *digest)
{
	if (digest)
		hob_json_digest(out, digest);
	else
		hob_json_null(out);
}

static void open_change(comparison *c, const char *kind, hob_str name)
{
	hob_json_open(&c->changed, '{');
	hob_json_put_str(&c->changed, kind, name);
}

/* use: "added" or "dropped" when only one of the two cooks asked for the file at all. */
static void put_input(comparison *c, hob_str path, const hob_sha256 *from, const hob_sha256 *to,
					  const char *use)
{
	if (!use && (from == to || (from && to && hob_sha256_equal(from, to)))) {
		c->unchanged++;
		return;
	}
	open_change(c, "input", path);
	hob_json_key(&c->changed, "from");
	put_digest(&c->changed, from);
	hob_json_key(&c->changed, "to");
	put_digest(&c->changed, to);
	if (use)
		hob_json_put_str(&c->changed, "use", hob_str_of(use));
	hob_json_close(&c->changed, '}');
}

static const srv_recipe_dep *find_dep(const srv_recipe *recipe, hob_str path)
{
	for (uint32_t i = 0; i < recipe->dep_count; i++)
		if (hob_str_equal(recipe->deps[i].path, path))
			return &recipe->deps[i];
	return NULL;
}

static const hob_sha256 *digest_of(const srv_recipe_dep *dep)
{
	return dep && !dep->missing ? &dep->digest : NULL;
}

static void put_value(hob_buf *out, const char *name, const cJSON *value)
{
	char *text = cJSON_PrintUnformatted(value);
	hob_json_key(out, name);
	hob_json_raw(out, hob_str_of(text));
	cJSON_free(text);
}

/* Numbers are floats: 0.100000001, as earlier versions wrote it, is 0.1. */
static bool same_value(const cJSON *a, const cJSON *b)
{
	bool numbers = cJSON_IsNumber(a) && cJSON_IsNumber(b);
	return numbers ? (float)a->valuedouble == (float)b->valuedouble : cJSON_Compare(a, b, true);
}

/* Every leaf of two ingredient lists; settings lose the group that holds them: "settings.lods.max" is "lods.max". */
static void compare_values(comparison *c, const cJSON *from, const cJSON *to, const char *prefix)
{
	enum { NAME_BYTES = 160 };
	const cJSON *now;
	cJSON_ArrayForEach(now, to)
	{
		char name[NAME_BYTES];
		const cJSON *was = cJSON_GetObjectItemCaseSensitive(from, now->string);
		bool group = cJSON_IsObject(now), settings = !prefix[0] && strcmp(now->string, "settings") == 0;
		snprintf(name, sizeof name, "%s%s%s", prefix, now->string, group ? "." : "");
		if (group) {
			compare_values(c, was, now, settings ? "" : name);
			continue;
		}
		if (same_value(was, now))
			continue;
		const char *origin = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(c->origins, name));
		open_change(c, "setting", hob_str_of(name));
		put_value(&c->changed, "from", was);
		put_value(&c->changed, "to", now);
		hob_json_put_str(&c->changed, "origin", hob_str_of(origin ? origin : "hob"));
		hob_json_close(&c->changed, '}');
	}
}

static void compare_ingredients(comparison *c, const srv_recipe *before, const srv_recipe *now)
{
	if (hob_str_equal(now->ingredients, before->ingredients))
		return;
	cJSON *from = cJSON_ParseWithLength(before->ingredients.data, before->ingredients.len);
	cJSON *to = cJSON_ParseWithLength(now->ingredients.data, now->ingredients.len);
	compare_values(c, from, to, "");
	cJSON_Delete(from);
	cJSON_Delete(to);
}

/* A cook that failed early did not come to look for the rest: that says nothing about those files. */
static void compare(comparison *c, const srv_recipe *before, const srv_recipe *now, hob_str path)
{
	put_input(c, path, &before->source, &now->source, NULL);
	for (uint32_t i = 0; i < now->dep_count; i++) {
		const srv_recipe_dep *was = find_dep(before, now->deps[i].path);
		if (was || before->error.len == 0)
			put_input(c, now->deps[i].path, digest_of(was), digest_of(&now->deps[i]), was ? NULL : "added");
	}
	for (uint32_t i = 0; i < before->dep_count && now->error.len == 0; i++)
		if (!find_dep(now, before->deps[i].path))
			put_input(c, before->deps[i].path, digest_of(&before->deps[i]), NULL, "dropped");
	compare_ingredients(c, before, now);
}

/* The newest job that used another recipe than `now`, which is still there. */
static const srv_job_row *find_before(srv_engine *engine, const srv_job_row *rows, uint32_t count,
									  const srv_recipe *now, hob_arena *arena, srv_recipe *out)
{
	static const hob_sha256 none;
	hob_error error;
	for (uint32_t i = 0; i < count; i++)
		if (!hob_sha256_equal(&rows[i].recipe, &none) && !hob_sha256_equal(&rows[i].recipe, &now->key) &&
			srv_store_recipe(engine->store, &rows[i].recipe, arena, out, &error))
			return &rows[i];
	return NULL;
}

/* The job before the one that gave `now`. */
static const srv_job_row *find_previous(const srv_job_row *rows, uint32_t count, const hob_sha256 *now)
{
	static const hob_sha256 none;
	bool seen = false;
	for (uint32_t i = 0; i < count; i++) {
		if (seen && !hob_sha256_equal(&rows[i].recipe, &none))
			return &rows[i];
		seen = seen || hob_sha256_equal(&rows[i].recipe, now);
	}
	return NULL;
}

static void put_job(hob_buf *out, const char *name, const srv_job_row *row, const hob_sha256 *key)
{
	hob_json_key(out, name);
	if (!row) {
		hob_json_null(out);
		return;
	}
	hob_json_open(out, '{');
	hob_json_put_u64(out, "job", row->id);
	hob_json_key(out, "at");
	hob_json_time(out, row->finished_at_ms);
	hob_json_key(out, "same");
	hob_json_bool(out, hob_sha256_equal(&row->recipe, key));
	hob_json_close(out, '}');
}

/* Which cache a result came from, as srv_record_job kept it; null: it was cooked here, or found in the own one. */
static void put_origin(const srv_job_row *newest, hob_buf *out)
{
	bool fetched = newest && hob_str_equal(newest->result, HOB_STR("fetched"));
	hob_buf_put_str(out, HOB_STR(",\"fetched_from\":"));
	if (fetched)
		hob_buf_put_json(out, newest->log);
	else
		hob_buf_put_str(out, HOB_STR("null"));
}

static const char *verdict_of(const srv_job_row *newest, bool has_before)
{
	if (!newest)
		return "never cooked";
	if (hob_str_equal(newest->result, HOB_STR("hit")))
		return "reused";
	if (hob_str_equal(newest->result, HOB_STR("fetched")))
		return "fetched";
	if (hob_str_equal(newest->result, HOB_STR("failed")))
		return "failed";
	return has_before ? "recooked" : "cooked";
}

void srv_engine_why(srv_engine *engine, srv_control *control)
{
	enum { JOBS_LOOKED_AT = 50 };
	asset *a = srv_engine_asked_asset(engine, control);
	if (!a)
		return;
	hob_arena arena;
	hob_arena_init(&arena, 64 << 20);
	srv_job_row *rows = NULL;
	uint32_t count = 0;
	hob_error error;
	if (!srv_store_jobs(engine->store, hob_str_of(a->full), 0, JOBS_LOOKED_AT, &arena, &rows, &count, &error))
		count = 0;
	srv_recipe now = {0}, before = {0};
	bool has_now = a->has_last && srv_store_recipe(engine->store, &a->last, &arena, &now, &error);
	bool has_before = false;
	const srv_job_row *previous = has_now ? find_previous(rows, count, &now.key) : NULL, *compared = NULL;
	if (control->number > 0) {
		int refused = srv_engine_recipe_at(engine, a, control->number, &arena, &before, &error);
		if (refused > 0) {
			srv_engine_answer(control, refused, refused == 410 ? "http.gone" : "http.not-found",
							  error.context);
			hob_arena_release(&arena);
			return;
		}
		has_before = has_now;
	} else {
		compared = has_now ? find_before(engine, rows, count, &now, &arena, &before) : NULL;
		has_before = compared != NULL;
	}
	comparison c = {0};
	if (has_before) {
		c.origins = srv_engine_setting_origins(engine, a);
		compare(&c, &before, &now, hob_path_name(hob_str_of(a->path)));
	}
	hob_buf body = {0};
	hob_buf_put_str(&body, HOB_STR("{\"verdict\":"));
	hob_buf_put_json(&body, hob_str_of(verdict_of(count > 0 ? &rows[0] : NULL, has_before)));
	hob_buf_put_str(&body, HOB_STR(",\"asset\":"));
	hob_buf_put_json(&body, hob_str_of(a->full));
	hob_buf_put_str(&body, HOB_STR(",\"reason\":"));
	hob_buf_put_str(&body, count > 0 && rows[0].reason.len > 0 ? rows[0].reason : HOB_STR("[]"));
	hob_buf_put_str(&body, HOB_STR(",\"key\":"));
	put_digest(&body, has_now ? &now.key : NULL);
	hob_buf_put_str(&body, HOB_STR(",\"previous_key\":"));
	put_digest(&body, has_before ? &before.key : NULL);
	put_job(&body, "previous", previous, &now.key);
	put_job(&body, "compared", compared, &now.key);
	hob_buf_put_str(&body, HOB_STR(",\"changed\":["));
	hob_buf_put_str(&body, hob_buf_str(&c.changed));
	hob_buf_printf(&body, "],\"unchanged\":%u,\"ingredients\":", c.unchanged);
	hob_buf_put_str(&body, has_now ? now.ingredients : HOB_STR("null"));
	hob_buf_printf(&body, ",\"cook_ms\":%.3f,\"cached\":%s", (double)now.cook_ns / 1e6,
				   count > 0 && srv_engine_was_known(&rows[0]) ? "true" : "false");
	put_origin(count > 0 ? &rows[0] : NULL, &body);
	hob_buf_put_str(&body, HOB_STR(",\"reproducibility\":"));
	hob_buf audit = {0};
	srv_engine_put_audit(a, &audit);
	hob_json_raw(&body, hob_buf_str(&audit));
	hob_buf_put(&body, "}", 1);
	hob_buf_release(&audit);
	control->answer(control, 200, hob_buf_str(&body));
	hob_buf_release(&body);
	hob_buf_release(&c.changed);
	cJSON_Delete(c.origins);
	hob_arena_release(&arena);
}
