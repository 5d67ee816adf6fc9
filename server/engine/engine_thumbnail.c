#include "engine_derive.h"
#include "engine_jobs.h"
#include "engine_move.h"
#include "engine_requests.h"

#include "../log/log.h"
#include "../thumbnail/thumbnail.h"

#include <stdlib.h>

/* Pictures for lists, drawn one at a time when no cook waits for a core.
 *
 *   asked --- in the store ---------------------------> 200 with its digest
 *     |  `--- cannot be drawn (remembered) -----------> 404
 *     `--- wanted (202) --- draw, in libuv's pool --> stored, event "thumbnail"
 *                 the newest wish first         `--> remembered as not drawable */

enum { WANTED_MAX = 256, HOPELESS_MAX = 4096 };

typedef struct wanted {
	uint32_t asset, size;
} wanted;

typedef struct drawing {
	srv_engine *engine;
	uv_work_t work;
	uint32_t asset;
	srv_thumbnail_input input;
	hob_sha256 key, blob;
	hob_error error;
} drawing;

struct engine_thumbnails {
	char program[4096];
	bool has_program;
	drawing *running;
	wanted wanted[WANTED_MAX];
	uint32_t wanted_count;
	hob_sha256 hopeless[HOPELESS_MAX];
	uint32_t hopeless_count;
};

struct engine_thumbnails *srv_engine_thumbnails_new(void)
{
	struct engine_thumbnails *t = calloc(1, sizeof *t);
	if (t)
		t->has_program = srv_thumbnail_find(t->program);
	return t;
}

static bool is_hopeless(const struct engine_thumbnails *t, const hob_sha256 *key)
{
	uint32_t count = t->hopeless_count < HOPELESS_MAX ? t->hopeless_count : HOPELESS_MAX;
	for (uint32_t i = 0; i < count; i++)
		if (hob_sha256_equal(&t->hopeless[i], key))
			return true;
	return false;
}

static bool gather(srv_engine *engine, const asset *a, uint32_t size, srv_thumbnail_input *out)
{
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	srv_recipe recipe;
	hob_error error;
	uint32_t found = 0;
	*out = (srv_thumbnail_input){.size = size};
	/* A held result is not drawn before it is published. */
	bool has = a->shown.any && srv_store_recipe(engine->store, &a->shown.served, &arena, &recipe, &error);
	for (uint32_t i = 0; has && i < recipe.output_count; i++) {
		const srv_recipe_output *output = &recipe.outputs[i];
		if (hob_str_equal(output->name, HOB_STR("meshes")))
			out->meshes = output->digest, found |= 1;
		else if (hob_str_equal(output->name, HOB_STR("materials")))
			out->materials = output->digest, found |= 2;
		else if (hob_str_equal(output->name, HOB_STR("scene")))
			out->scene = output->digest, found |= 4;
		else if (hob_str_equal(output->name, HOB_STR("animations")))
			out->animations = output->digest, out->has_animations = true;
		else if (hob_str_starts(output->name, HOB_STR("textures/")) &&
				 out->texture_count < SRV_THUMBNAIL_TEXTURES)
			out->textures[out->texture_count++] = output->digest;
	}
	hob_arena_release(&arena);
	return found == 7;
}

static void draw_run(uv_work_t *work)
{
	drawing *d = work->data;
	hob_buf png = {0};
	if (srv_thumbnail_draw(d->engine->derive->thumbnails->program, d->engine->options.sandbox,
						   d->engine->store, &d->input, &d->engine->closing, &png, &d->error) &&
		srv_blob_put(d->engine->store, hob_buf_bytes(&png), &d->blob, &d->error))
		d->error.code = HOB_ERR_OK;
	hob_buf_release(&png);
}

static void publish_drawn(srv_engine *engine, const asset *a, uint32_t size)
{
	char id[SRV_ASSET_ID + 1];
	hob_buf data = {0};
	srv_engine_asset_id(engine, a, id);
	hob_buf_printf(&data, "{\"id\":\"%s\",\"size\":%u,\"asset\":", id, size);
	hob_buf_put_json(&data, hob_str_of(a->full));
	hob_buf_put(&data, "}", 1);
	srv_publish_event(&engine->publish, "thumbnail", hob_str_of(a->full), hob_buf_str(&data));
	hob_buf_release(&data);
}

static void draw_done(uv_work_t *work, int status)
{
	(void)status;
	drawing *d = work->data;
	srv_engine *engine = d->engine;
	struct engine_thumbnails *t = engine->derive->thumbnails;
	const asset *a = srv_asset_at(engine, d->asset);
	hob_error error = d->error;
	t->running = NULL;
	if (!engine->closing && error.code == HOB_ERR_OK &&
		srv_store_put_part(engine->store, &d->key, &d->blob, &error)) {
		srv_publish_note_rows(&engine->publish);
		atomic_fetch_add(&engine->counters.thumbnails, 1);
		if (srv_asset_is_alive(&a->life))
			publish_drawn(engine, a, d->input.size);
	} else if (!engine->closing) {
		t->hopeless[t->hopeless_count++ % HOPELESS_MAX] = d->key;
		srv_log(SRV_LOG_DEBUG, "thumbnail", "%s: %s", a->full, error.context);
	}
	free(d);
	srv_engine_draw_thumbnails(engine);
	srv_engine_work_over(engine);
}

void srv_engine_draw_thumbnails(srv_engine *engine)
{
	struct engine_thumbnails *t = engine->derive->thumbnails;
	while (t && !t->running && t->wanted_count > 0 && !engine->closing && !engine->jobs->waiting &&
		   srv_queue_count(engine->jobs->queue) == 0) {
		wanted next = t->wanted[--t->wanted_count];
		const asset *a = srv_asset_at(engine, next.asset);
		drawing *d = calloc(1, sizeof *d);
		hob_sha256 blob;
		if (!d)
			return;
		bool needed = srv_asset_is_alive(&a->life) && gather(engine, a, next.size, &d->input);
		d->key = srv_thumbnail_key(&d->input);
		if (!needed || is_hopeless(t, &d->key) || srv_store_part(engine->store, &d->key, &blob)) {
			free(d);
			continue;
		}
		*d = (drawing){.engine = engine, .asset = next.asset, .input = d->input, .key = d->key};
		d->work.data = d;
		t->running = d;
		srv_engine_work(engine, &d->work, draw_run, draw_done);
	}
}

static void want(struct engine_thumbnails *t, uint32_t id, uint32_t size)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < t->wanted_count; i++)
		if (t->wanted[i].asset != id || t->wanted[i].size != size)
			t->wanted[kept++] = t->wanted[i];
	if (kept == WANTED_MAX)
		memmove(t->wanted, t->wanted + 1, --kept * sizeof *t->wanted);
	t->wanted[kept++] = (wanted){id, size};
	t->wanted_count = kept;
}

void srv_engine_thumbnail(srv_engine *engine, srv_control *control)
{
	struct engine_thumbnails *t = engine->derive->thumbnails;
	const asset *a = srv_engine_asked_asset(engine, control);
	if (!a)
		return;
	uint32_t size = (uint32_t)control->number;
	srv_thumbnail_input *input = malloc(sizeof *input);
	bool complete = input && gather(engine, a, size, input);
	hob_sha256 key = complete ? srv_thumbnail_key(input) : (hob_sha256){{0}}, blob;
	free(input);
	if (complete && srv_store_part(engine->store, &key, &blob) && srv_blob_exists(engine->store, &blob)) {
		char text[HOB_SHA256_TEXT + 1];
		hob_sha256_text(&blob, text);
		control->answer(control, 200, hob_str_of(text));
	} else if (!complete || !t || !t->has_program || is_hopeless(t, &key)) {
		control->answer(control, 404, HOB_STR(""));
	} else {
		if (!t->running || t->running->asset != a->id || t->running->input.size != size)
			want(t, a->id, size);
		srv_engine_draw_thumbnails(engine);
		control->answer(control, 202, HOB_STR(""));
	}
}
