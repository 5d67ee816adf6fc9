#include "../control/answer.h"
#include "../log/log.h"
#include "derive_inside.h"

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
	srv_derive *derive;
	uv_work_t work;
	uint32_t asset;
	srv_thumbnail_input input;
	hob_sha256 key, blob;
	hob_error error;
} drawing;

struct thumbnails {
	char program[4096];
	bool has_program;
	drawing *running;
	wanted wanted[WANTED_MAX];
	uint32_t wanted_count;
	hob_sha256 hopeless[HOPELESS_MAX];
	uint32_t hopeless_count;
};

struct thumbnails *srv_derive_thumbnails_new(void)
{
	struct thumbnails *t = calloc(1, sizeof *t);
	if (t)
		t->has_program = srv_thumbnail_find(t->program);
	return t;
}

static bool is_hopeless(const struct thumbnails *t, const hob_sha256 *key)
{
	uint32_t count = t->hopeless_count < HOPELESS_MAX ? t->hopeless_count : HOPELESS_MAX;
	for (uint32_t i = 0; i < count; i++)
		if (hob_sha256_equal(&t->hopeless[i], key))
			return true;
	return false;
}

/* A held result is not drawn before it is published. */
static bool gather(const srv_derive *derive, const srv_derive_asset *a, uint32_t size,
				   srv_thumbnail_input *out)
{
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	srv_record record;
	hob_error error;
	hob_sha256 parts[SRV_DERIVE_PARTS] = {{{0}}};
	bool whole = a->served && srv_store_record(derive->host.store, a->served, &arena, &record, &error) &&
				 srv_derive_take_parts(&record, parts);
	if (whole)
		srv_derive_picture_of(&record, parts, size, out);
	hob_arena_release(&arena);
	return whole;
}

static void draw_run(uv_work_t *work)
{
	drawing *d = work->data;
	const srv_derive_host *host = &d->derive->host;
	hob_buf png = {0};
	if (srv_thumbnail_draw(d->derive->thumbnails->program, host->sandbox, host->store, &d->input,
						   host->closing, &png, &d->error) &&
		srv_blob_put(host->store, hob_buf_bytes(&png), &d->blob, &d->error))
		d->error.code = HOB_ERR_OK;
	hob_buf_release(&png);
}

static void publish_drawn(srv_derive *derive, const srv_derive_asset *a, uint32_t size)
{
	hob_buf data = {0};
	hob_buf_printf(&data, "{\"id\":\"%s\",\"size\":%u,\"asset\":", a->id, size);
	hob_buf_put_json(&data, hob_str_of(a->full));
	hob_buf_put(&data, "}", 1);
	srv_publish_event(derive->host.publish, "thumbnail", hob_str_of(a->full), hob_buf_str(&data));
	hob_buf_release(&data);
}

/* What says nothing about the model: it is drawn when it is asked for again. */
static bool is_passing(hob_err_code code)
{
	return code == HOB_ERR_IO || code == HOB_ERR_INTERRUPTED || code == HOB_ERR_MEMORY ||
		   code == HOB_ERR_DISK_FULL;
}

static void draw_done(uv_work_t *work, int status)
{
	(void)status;
	drawing *d = work->data;
	srv_derive *derive = d->derive;
	const srv_derive_host *host = &derive->host;
	struct thumbnails *t = derive->thumbnails;
	srv_derive_asset a;
	hob_error error = d->error;
	bool closing = *host->closing, alive = !closing && host->at(host->user, d->asset, &a);
	t->running = NULL;
	if (!closing && error.code == HOB_ERR_OK && srv_store_put_part(host->store, &d->key, &d->blob, &error)) {
		srv_publish_note_rows(host->publish);
		atomic_fetch_add(&derive->counts.thumbnails, 1);
		if (alive)
			publish_drawn(derive, &a, d->input.size);
	} else if (!closing) {
		if (!is_passing(error.code))
			t->hopeless[t->hopeless_count++ % HOPELESS_MAX] = d->key;
		srv_log(SRV_LOG_DEBUG, "thumbnail", "%s: %s", alive ? a.full : "a deleted asset", error.context);
	}
	free(d);
	srv_derive_draw(derive);
	host->over(host->user);
}

void srv_derive_draw(srv_derive *derive)
{
	const srv_derive_host *host = &derive->host;
	struct thumbnails *t = derive->thumbnails;
	while (t && !t->running && t->wanted_count > 0 && !*host->closing && !host->is_busy(host->user)) {
		wanted next = t->wanted[--t->wanted_count];
		srv_derive_asset a;
		drawing *d = calloc(1, sizeof *d);
		hob_sha256 blob;
		if (!d)
			return;
		bool needed = host->at(host->user, next.asset, &a) && gather(derive, &a, next.size, &d->input);
		d->key = srv_thumbnail_key(&d->input);
		if (!needed || is_hopeless(t, &d->key) || srv_store_part(host->store, &d->key, &blob)) {
			free(d);
			continue;
		}
		d->derive = derive;
		d->asset = next.asset;
		d->work.data = d;
		t->running = d;
		host->work(host->user, &d->work, draw_run, draw_done);
	}
}

static void want(struct thumbnails *t, uint32_t id, uint32_t size)
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

void srv_derive_thumbnail(srv_derive *derive, srv_control *control)
{
	struct thumbnails *t = derive->thumbnails;
	srv_derive_asset a;
	if (!srv_derive_find(derive, control, false, &a))
		return;
	uint32_t size = (uint32_t)control->number;
	srv_thumbnail_input *input = malloc(sizeof *input);
	bool complete = input && gather(derive, &a, size, input);
	hob_sha256 key = complete ? srv_thumbnail_key(input) : (hob_sha256){{0}}, blob;
	free(input);
	if (complete && srv_store_part(derive->host.store, &key, &blob) &&
		srv_blob_exists(derive->host.store, &blob)) {
		srv_derive_answer(control, &blob);
	} else if (!complete || !t || !t->has_program || is_hopeless(t, &key)) {
		control->answer(control, 404, HOB_STR(""));
	} else {
		if (!t->running || t->running->asset != a.number || t->running->input.size != size)
			want(t, a.number, size);
		srv_derive_draw(derive);
		control->answer(control, 202, HOB_STR(""));
	}
}
