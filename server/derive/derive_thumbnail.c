#include "../../core/base/json_write.h"
#include "../log/log.h"
#include "../worker/spawn.h"
#include "derive_inside.h"

#include <stdlib.h>

/* Pictures for lists, drawn one at a time while no cook waits for a core.
 *
 *   asked --- in the store ---------------------------> 200 with its digest
 *     |  `--- cannot be drawn (remembered) -----------> 404
 *     `--- wished (202) --- draw, in libuv's pool --> stored, event "thumbnail" for each asset with that wish
 *                 the newest wish first         `--> remembered as not drawable
 *
 * Assets with the same outputs share a picture. The picture shows the outputs that are served when it is
 * drawn; if the asset changes meanwhile, its wish is renewed. */

enum { WISHES_MAX = 1024, HOPELESS_MAX = 4096 }; /* rows of about thirty screens */

typedef struct wish {
	uint32_t asset, size;
	hob_sha256 key;
} wish;

typedef struct drawing {
	srv_derive *derive;
	uv_work_t work;
	wish wish;
	srv_thumbnail_input input;
	hob_sha256 blob;
	hob_error error;
} drawing;

struct thumbnails {
	char program[4096];
	bool has_program;
	drawing *running;
	wish wishes[WISHES_MAX]; /* newest last */
	uint32_t wish_count;
	hob_sha256 hopeless[HOPELESS_MAX];
	uint32_t hopeless_count;
};

struct thumbnails *srv_derive_thumbnails_new(void)
{
	struct thumbnails *t = hob_must(calloc(1, sizeof *t));
	t->has_program = srv_find_program("hob-thumbnail", t->program);
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

/* Collects the input for a picture of the served cook; a held result is not drawn before it is published. */
static bool gather(const srv_derive *derive, const srv_derive_asset *a, uint32_t size,
				   srv_thumbnail_input *out, hob_sha256 *key)
{
	hob_own_arena arena;
	hob_arena_init(&arena, 16 << 20);
	srv_record record;
	hob_error error;
	hob_sha256 parts[SRV_DERIVE_PARTS] = {{{0}}};
	bool whole = a->served && srv_store_record(derive->host.store, a->served, &arena, &record, &error) &&
				 srv_record_model(&record, parts);
	if (whole) {
		srv_derive_picture_of(&record, parts, size, out);
		*key = srv_thumbnail_key(out);
	}
	return whole;
}

static void draw_run(uv_work_t *work)
{
	drawing *d = work->data;
	const srv_derive_host *host = &d->derive->host;
	hob_own_buf png = {0};
	if (srv_thumbnail_draw(d->derive->thumbnails->program, host->sandbox, host->store, &d->input,
						   host->closing, &png, &d->error) &&
		srv_blob_put(host->store, hob_buf_bytes(&png), &d->blob, &d->error))
		d->error.code = HOB_ERR_OK;
}

static void put_wish(struct thumbnails *t, wish w)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < t->wish_count; i++)
		if (t->wishes[i].asset != w.asset || t->wishes[i].size != w.size)
			t->wishes[kept++] = t->wishes[i];
	if (kept == WISHES_MAX)
		memmove(t->wishes, t->wishes + 1, --kept * sizeof *t->wishes);
	t->wishes[kept++] = w;
	t->wish_count = kept;
}

static void publish_there(srv_derive *derive, const srv_derive_asset *a, uint32_t size)
{
	hob_own_buf data = {0};
	hob_json_object(&data, HOB_JSON("id", a->id), HOB_JSON("size", size), HOB_JSON("asset", a->full));
	srv_publish_event(derive->host.publish, "thumbnail", hob_str_of(a->full), hob_buf_str(&data));
}

/* Ends a wish: the picture exists, or cannot be drawn. */
static void settle(srv_derive *derive, wish w, bool there)
{
	srv_derive_asset a;
	srv_thumbnail_input input;
	hob_sha256 key;
	if (!derive->host.at(derive->host.user, w.asset, &a) || !gather(derive, &a, w.size, &input, &key))
		return;
	if (!hob_sha256_equal(&key, &w.key))
		put_wish(derive->thumbnails, (wish){w.asset, w.size, key});
	else if (there)
		publish_there(derive, &a, w.size);
}

static void settle_all(srv_derive *derive, wish drawn, bool there)
{
	struct thumbnails *t = derive->thumbnails;
	settle(derive, drawn, there);
	for (uint32_t i = 0; i < t->wish_count;) {
		wish w = t->wishes[i];
		if (!hob_sha256_equal(&w.key, &drawn.key)) {
			i++;
			continue;
		}
		memmove(t->wishes + i, t->wishes + i + 1, (--t->wish_count - i) * sizeof *t->wishes);
		settle(derive, w, there);
	}
}

/* Failures not caused by the model: it is drawn again at the next request. */
static bool is_passing(hob_err_code code)
{
	return code == HOB_ERR_IO || code == HOB_ERR_INTERRUPTED || code == HOB_ERR_MEMORY ||
		   code == HOB_ERR_DISK_FULL;
}

static void draw_done(uv_work_t *work, int status)
{
	(void)status;
	hob_own drawing *d = work->data;
	srv_derive *derive = d->derive;
	const srv_derive_host *host = &derive->host;
	struct thumbnails *t = derive->thumbnails;
	hob_error error = d->error;
	t->running = NULL;
	if (!*host->closing) {
		bool there =
			error.code == HOB_ERR_OK && srv_store_put_part(host->store, &d->wish.key, &d->blob, &error);
		if (there) {
			host->publish->rows = true;
			atomic_fetch_add(&derive->counts.thumbnails, 1);
		} else {
			srv_derive_asset a;
			if (!is_passing(error.code))
				t->hopeless[t->hopeless_count++ % HOPELESS_MAX] = d->wish.key;
			srv_log(SRV_LOG_DEBUG, "thumbnail", "%s: %s",
					host->at(host->user, d->wish.asset, &a) ? a.full : "a deleted asset", error.context);
		}
		settle_all(derive, d->wish, there);
	}
	srv_derive_draw(derive);
	host->over(host->user);
}

void srv_derive_draw(srv_derive *derive)
{
	const srv_derive_host *host = &derive->host;
	struct thumbnails *t = derive->thumbnails;
	while (t && !t->running && t->wish_count > 0 && !*host->closing && !host->is_busy(host->user)) {
		srv_derive_asset a;
		hob_sha256 blob;
		drawing *d = hob_must(calloc(1, sizeof *d));
		d->wish = t->wishes[--t->wish_count];
		bool whole = host->at(host->user, d->wish.asset, &a) &&
					 gather(derive, &a, d->wish.size, &d->input, &d->wish.key);
		bool there = whole && srv_store_part(host->store, &d->wish.key, &blob);
		if (there)
			publish_there(derive, &a, d->wish.size);
		if (!whole || there || is_hopeless(t, &d->wish.key)) {
			free(d);
			continue;
		}
		d->derive = derive;
		d->work.data = d;
		t->running = d;
		host->work(host->user, &d->work, draw_run, draw_done);
	}
}

static bool is_running(const struct thumbnails *t, wish w)
{
	return t->running && t->running->wish.asset == w.asset && hob_sha256_equal(&t->running->wish.key, &w.key);
}

void srv_derive_thumbnail(srv_derive *derive, srv_control *control)
{
	struct thumbnails *t = derive->thumbnails;
	srv_derive_asset a;
	if (!srv_derive_find(derive, control, false, &a))
		return;
	srv_thumbnail_input input;
	hob_sha256 blob;
	wish w = {a.number, (uint32_t)control->number, {{0}}};
	bool whole = gather(derive, &a, w.size, &input, &w.key);
	if (whole && srv_store_part(derive->host.store, &w.key, &blob)) {
		srv_derive_answer(control, &blob);
	} else if (!whole || !t || !t->has_program || is_hopeless(t, &w.key)) {
		control->answer(control, 404, HOB_STR(""));
	} else {
		if (!is_running(t, w))
			put_wish(t, w);
		srv_derive_draw(derive);
		control->answer(control, 202, HOB_STR(""));
	}
}
