#include "engine_private.h"

/* Why an asset was cooked: its newest recipe compared, input by input, with the one before. */

typedef struct comparison {
	hob_buf changed; /* JSON array members */
	uint32_t unchanged;
} comparison;

static void put_digest(hob_buf *out, const hob_sha256 *digest)
{
	char text[HOB_SHA256_TEXT + 1];
	if (!digest) {
		hob_buf_put_str(out, HOB_STR("null"));
		return;
	}
	hob_sha256_text(digest, text);
	hob_buf_printf(out, "\"%s\"", text);
}

static void put_input(comparison *c, hob_str path, const hob_sha256 *from, const hob_sha256 *to)
{
	if (from == to || (from && to && hob_sha256_equal(from, to))) {
		c->unchanged++;
		return;
	}
	hob_buf_put_str(&c->changed, c->changed.size > 0 ? HOB_STR(",{\"input\":") : HOB_STR("{\"input\":"));
	hob_buf_put_json(&c->changed, path);
	hob_buf_put_str(&c->changed, HOB_STR(",\"from\":"));
	put_digest(&c->changed, from);
	hob_buf_put_str(&c->changed, HOB_STR(",\"to\":"));
	put_digest(&c->changed, to);
	hob_buf_put(&c->changed, "}", 1);
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

static void compare(comparison *c, const srv_recipe *before, const srv_recipe *now, hob_str path)
{
	put_input(c, path, &before->source, &now->source);
	for (uint32_t i = 0; i < now->dep_count; i++)
		put_input(c, now->deps[i].path, digest_of(find_dep(before, now->deps[i].path)),
				  digest_of(&now->deps[i]));
	/* A cook that failed early did not come to look for the rest: that says nothing about them. */
	for (uint32_t i = 0; i < before->dep_count && now->error.len == 0; i++)
		if (!find_dep(now, before->deps[i].path))
			put_input(c, before->deps[i].path, digest_of(&before->deps[i]), NULL);
	if (!hob_str_equal(now->ingredients, before->ingredients)) {
		hob_buf_put_str(&c->changed, c->changed.size > 0 ? HOB_STR(",{\"settings\":{\"from\":")
														 : HOB_STR("{\"settings\":{\"from\":"));
		hob_buf_put_str(&c->changed, before->ingredients);
		hob_buf_put_str(&c->changed, HOB_STR(",\"to\":"));
		hob_buf_put_str(&c->changed, now->ingredients);
		hob_buf_put_str(&c->changed, HOB_STR("}}"));
	}
}

/* The recipe of the newest job that used another one than `now`. */
static bool find_before(srv_engine *engine, const srv_job_row *rows, uint32_t count, const srv_recipe *now,
						hob_arena *arena, srv_recipe *out)
{
	static const hob_sha256 none;
	hob_error error;
	for (uint32_t i = 0; i < count; i++)
		if (!hob_sha256_equal(&rows[i].recipe, &none) && !hob_sha256_equal(&rows[i].recipe, &now->key) &&
			srv_store_recipe(engine->store, &rows[i].recipe, arena, out, &error))
			return true;
	return false;
}

static const char *verdict_of(const srv_job_row *newest, bool has_before)
{
	if (!newest)
		return "never cooked";
	if (hob_str_equal(newest->result, HOB_STR("hit")))
		return "reused";
	if (hob_str_equal(newest->result, HOB_STR("failed")))
		return "failed";
	return has_before ? "recooked" : "cooked";
}

void engine_why(srv_engine *engine, srv_control *control)
{
	enum { JOBS_LOOKED_AT = 50 };
	asset *a = engine_asked_asset(engine, control);
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
	bool has_before = has_now && find_before(engine, rows, count, &now, &arena, &before);
	comparison c = {0};
	if (has_before)
		compare(&c, &before, &now, hob_path_name(hob_str_of(a->path)));
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
	hob_buf_put_str(&body, HOB_STR(",\"changed\":["));
	hob_buf_put_str(&body, hob_buf_str(&c.changed));
	hob_buf_printf(&body, "],\"unchanged\":%u,\"ingredients\":", c.unchanged);
	hob_buf_put_str(&body, has_now ? now.ingredients : HOB_STR("null"));
	hob_buf_printf(&body, ",\"cook_ms\":%.3f}", (double)now.cook_ns / 1e6);
	control->answer(control, 200, hob_buf_str(&body));
	hob_buf_release(&body);
	hob_buf_release(&c.changed);
	hob_arena_release(&arena);
}
