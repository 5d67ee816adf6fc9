#include "question.h"

#include "../../core/base/json_write.h"
#include "past_job.h"
#include "version.h"

#include <cjson/cJSON.h>
#include <stdio.h>

/* Explains why an asset was cooked: compares its newest record, input by input and setting by setting, with
 * the previous one or with the one served at a revision. */

typedef struct comparison {
	hob_buf changed; /* members of a JSON array */
	uint32_t unchanged;
	cJSON *origins; /* keys are settings */
} comparison;

static const hob_sha256 none;

static void open_change(comparison *c, const char *kind, hob_str name)
{
	hob_json_put(&c->changed, HOB_JSON_OPEN(NULL, '{'), HOB_JSON(kind, name));
}

/* `use`: "added" or "dropped" if only one of the two cooks asked for the file. */
static void put_input(comparison *c, hob_str path, const hob_sha256 *from, const hob_sha256 *to,
					  const char *use)
{
	if (!use && (from == to || (from && to && hob_sha256_equal(from, to)))) {
		c->unchanged++;
		return;
	}
	open_change(c, "input", path);
	hob_json_put(&c->changed, HOB_JSON_DIGEST("from", from ? from : &none),
				 HOB_JSON_DIGEST("to", to ? to : &none));
	if (use)
		hob_json_put_str(&c->changed, "use", hob_str_of(use));
	hob_json_close(&c->changed, '}');
}

static const srv_record_dep *find_dep(const srv_record *record, hob_str path)
{
	for (uint32_t i = 0; i < record->dep_count; i++)
		if (hob_str_equal(record->deps[i].path, path))
			return &record->deps[i];
	return NULL;
}

static const hob_sha256 *digest_of(const srv_record_dep *dep)
{
	return dep && !dep->missing ? &dep->digest : NULL;
}

static void put_value(hob_buf *out, const char *name, const cJSON *value)
{
	hob_own char *text = cJSON_PrintUnformatted(value);
	hob_json_put(out, HOB_JSON_RAW(name, hob_str_of(text)));
}

/* Settings are floats: 0.100000001, as earlier versions wrote it, equals 0.1. */
static bool same_value(const cJSON *a, const cJSON *b)
{
	bool numbers = cJSON_IsNumber(a) && cJSON_IsNumber(b);
	return numbers ? (float)a->valuedouble == (float)b->valuedouble : cJSON_Compare(a, b, true);
}

/* Compares every leaf of two ingredient lists; names lose the group "settings": "settings.lods.max" becomes
 * "lods.max". */
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
		hob_json_put(&c->changed, HOB_JSON("origin", origin ? origin : "hob"), HOB_JSON_CLOSE('}'));
	}
}

static void compare_ingredients(comparison *c, const srv_record *before, const srv_record *now)
{
	if (hob_str_equal(now->ingredients, before->ingredients))
		return;
	hob_own_json *from = cJSON_ParseWithLength(before->ingredients.data, before->ingredients.len);
	hob_own_json *to = cJSON_ParseWithLength(now->ingredients.data, now->ingredients.len);
	compare_values(c, from, to, "");
}

/* Compares inputs and ingredients. A cook that failed early did not ask for the remaining files, so their
 * absence means nothing. */
static void compare(comparison *c, const srv_record *before, const srv_record *now, hob_str path)
{
	put_input(c, path, &before->source, &now->source, NULL);
	for (uint32_t i = 0; i < now->dep_count; i++) {
		const srv_record_dep *was = find_dep(before, now->deps[i].path);
		if (was || before->error.len == 0)
			put_input(c, now->deps[i].path, digest_of(was), digest_of(&now->deps[i]), was ? NULL : "added");
	}
	for (uint32_t i = 0; i < before->dep_count && now->error.len == 0; i++)
		if (!find_dep(now, before->deps[i].path))
			put_input(c, before->deps[i].path, digest_of(&before->deps[i]), NULL, "dropped");
	compare_ingredients(c, before, now);
}

/* The newest job whose record differs from `now` and still exists. */
static const srv_job_row *find_before(srv_store *reader, const srv_job_row *rows, uint32_t count,
									  const srv_record *now, hob_arena *arena, srv_record *out)
{
	hob_error error;
	for (uint32_t i = 0; i < count; i++)
		if (!hob_sha256_equal(&rows[i].record, &none) && !hob_sha256_equal(&rows[i].record, &now->key) &&
			srv_store_record(reader, &rows[i].record, arena, out, &error))
			return &rows[i];
	return NULL;
}

/* The job before the one that made `now`. */
static const srv_job_row *find_previous(const srv_job_row *rows, uint32_t count, const hob_sha256 *now)
{
	bool seen = false;
	for (uint32_t i = 0; i < count; i++) {
		if (seen && !hob_sha256_equal(&rows[i].record, &none))
			return &rows[i];
		seen = seen || hob_sha256_equal(&rows[i].record, now);
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
	hob_json_object(out, HOB_JSON("job", row->id), HOB_JSON_TIME("at", row->finished_at_ms),
					HOB_JSON_BOOL("same", hob_sha256_equal(&row->record, key)));
}

/* The cache that the result came from, and the machine that cooked it, as srv_record_job stored them; null if
 * it was cooked here, or found in the local cache. */
static void put_origin(const srv_job_row *newest, hob_buf *out)
{
	bool fetched = newest && hob_str_equal(newest->result, HOB_STR("fetched"));
	hob_str from = fetched ? newest->log : (hob_str){0}, by = HOB_STR(SRV_STORE_COOKED_BY);
	size_t at = hob_str_find(from, by, 0);
	hob_str who = at == SIZE_MAX ? (hob_str){0} : hob_str_sub(from, at + by.len, from.len);
	hob_json_put(out, HOB_JSON_SOME("fetched_from", hob_str_sub(from, 0, at)),
				 HOB_JSON_SOME("cooked_by", who));
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

typedef struct why {
	const srv_view_asset *asset;
	srv_job_row *rows; /* newest jobs of the asset, newest first */
	uint32_t count;
	srv_record now, before;
	bool has_now, has_before;
	const srv_job_row *previous, *compared;
	hob_arena arena;
} why;

/* Finds the cooks to compare; returns 0, or the HTTP status of the refusal. */
static int find_cooks(question *q, why *w)
{
	enum { JOBS_LOOKED_AT = 50 };
	hob_error error;
	if (!srv_store_jobs(q->reader, w->asset->full, 0, JOBS_LOOKED_AT, &w->arena, &w->rows, &w->count, &error))
		return srv_query_cannot_read(q, &error);
	w->has_now = srv_store_record(q->reader, &w->asset->last, &w->arena, &w->now, &error);
	if (w->has_now)
		w->previous = find_previous(w->rows, w->count, &w->now.key);
	if (q->control->number > 0) {
		int refused = srv_version_at(q->reader, q->view->rev, w->asset->full, q->control->number, &w->arena,
									 &w->before, &error);
		w->has_before = w->has_now;
		return refused == 0
				   ? 0
				   : srv_query_refuse(q, refused, refused == 410 ? "http.gone" : hob_err_name(error.code),
									  error.context);
	}
	if (w->has_now)
		w->compared = find_before(q->reader, w->rows, w->count, &w->now, &w->arena, &w->before);
	w->has_before = w->compared != NULL;
	return 0;
}

static void put_why(const why *w, const comparison *c, hob_buf *body)
{
	const srv_job_row *newest = w->count > 0 ? &w->rows[0] : NULL;
	hob_json_put(body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("verdict", verdict_of(newest, w->has_before)),
				 HOB_JSON("asset", w->asset->full),
				 HOB_JSON_RAW("reason", newest && newest->reason.len > 0 ? newest->reason : HOB_STR("[]")),
				 HOB_JSON_DIGEST("key", w->has_now ? &w->now.key : &none),
				 HOB_JSON_DIGEST("previous_key", w->has_before ? &w->before.key : &none));
	put_job(body, "previous", w->previous, &w->now.key);
	put_job(body, "compared", w->compared, &w->now.key);
	hob_json_put(body, HOB_JSON_LIST("changed", hob_buf_str(&c->changed)),
				 HOB_JSON("unchanged", c->unchanged),
				 HOB_JSON_RAW("ingredients", w->has_now ? w->now.ingredients : HOB_STR("null")),
				 HOB_JSON_MS("cook_ms", w->now.cook_ns),
				 HOB_JSON_BOOL("cached", newest && srv_past_was_known(newest)));
	put_origin(newest, body);
	hob_json_put(body, HOB_JSON_RAW("reproducibility", (hob_str){0}), HOB_JSON_CLOSE('}'));
}

static cJSON *parse_origins(const question *q, const srv_view_asset *asset)
{
	hob_own_buf text = {0};
	srv_query_put_origins(q, asset, &text);
	return cJSON_ParseWithLength((const char *)text.data, text.size);
}

int srv_query_why(question *q)
{
	int status = 200;
	why w = {.asset = srv_query_asset(q, &status)};
	if (!w.asset)
		return status;
	hob_arena_init(&w.arena, 64 << 20);
	int refused = find_cooks(q, &w);
	comparison c = {0};
	if (refused == 0 && w.has_before) {
		c.origins = parse_origins(q, w.asset);
		compare(&c, &w.before, &w.now, hob_path_name(w.asset->path));
	}
	if (refused == 0)
		put_why(&w, &c, &q->body);
	hob_buf_release(&c.changed);
	cJSON_Delete(c.origins);
	hob_arena_release(&w.arena);
	return refused > 0 ? refused : 200;
}
