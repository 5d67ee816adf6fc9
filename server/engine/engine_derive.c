#include "engine_private.h"

#include "../../core/formats/pack_cut.h"
#include "../../core/formats/pack_validate.h"
#include "../log/log.h"
#include "encode.h"

#include <stdlib.h>
#include <sys/mman.h>

/* What is made of blobs when somebody asks for it, in libuv's pool, a few at a time; whoever asks for what is under way gets the
 * same answer.
 *
 *   asked --- in the store --------------------> 200 with its digest
 *     `--- WAITING --- RUNNING --- stored as a part --> 200 to everybody who asked meanwhile */

enum { RUNNING_MAX = 2, WAITING_MAX = 4096 };

typedef struct asker {
	srv_control *control;
	struct asker *next;
} asker;

struct derivation {
	srv_engine *engine;
	uv_work_t work;
	bool running;
	srv_derived kind;
	uint32_t level;
	hob_sha256 key, of, blob;
	hob_error error;
	asker *askers;
	derivation *next;
};

/* ---- in the pool */

static bool cut(derivation *d, hob_bytes from, hob_buf *out)
{
	hob_pack pack;
	if (!hob_pack_open(from, &pack, &d->error))
		return false;
	/* A level that is not there is refused by hob_pack_cut without a look at the rest. */
	bool sound = d->level >= hob_pack_level_count(&pack) || hob_pack_validate(from, &d->error);
	return sound && hob_pack_cut(from, d->level, NULL, out, &d->error) &&
		   hob_pack_validate(hob_buf_bytes(out), &d->error);
}

static void make(derivation *d, hob_bytes from, hob_buf *out)
{
	bool ok = d->kind == SRV_DERIVED_ZSTD	? encode_zstd(from, out, &d->error)
			  : d->kind == SRV_DERIVED_GZIP ? encode_gzip(from, out, &d->error)
											: cut(d, from, out);
	if (ok && srv_blob_put(d->engine->store, hob_buf_bytes(out), &d->blob, &d->error))
		d->error.code = HOB_ERR_OK;
}

static void derive_run(uv_work_t *work)
{
	derivation *d = work->data;
	hob_buf out = {0};
	hob_bytes from = engine_map_blob(d->engine->store, &d->of, &d->error);
	if (from.data) {
		make(d, from, &out);
		munmap((void *)(uintptr_t)from.data, from.size);
	}
	hob_buf_release(&out);
}

/* ---- on the loop */

static void answer_made(srv_control *control, const hob_sha256 *blob)
{
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(blob, text);
	control->answer(control, 200, hob_str_of(text));
}

static void answer_all(derivation *d, const hob_error *error)
{
	while (d->askers) {
		asker *first = d->askers;
		d->askers = first->next;
		if (d->engine->closing)
			engine_answer(first->control, 503, "http.draining", "Hob is stopping");
		else if (error->code != HOB_ERR_OK)
			engine_refuse(first->control, 0, error);
		else
			answer_made(first->control, &d->blob);
		free(first);
	}
}

static void remove_one(srv_engine *engine, derivation *d)
{
	derivation **at = &engine->derivations;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	engine->derivation_count--;
}

static void start_some(srv_engine *engine);

static void derive_done(uv_work_t *work, int status)
{
	(void)status;
	derivation *d = work->data;
	srv_engine *engine = d->engine;
	hob_error error = d->error;
	int result = SRV_DERIVE_FAILED;
	if (error.code == HOB_ERR_OK && !engine->closing &&
		srv_store_put_part(engine->store, &d->key, &d->blob, &error)) {
		engine->store_dirty = true;
		result = srv_derived_useless(&d->blob) ? SRV_DERIVE_USELESS : SRV_DERIVE_MADE;
	}
	if (result == SRV_DERIVE_FAILED && !engine->closing)
		srv_log(SRV_LOG_DEBUG, "derived", "%s: %s", srv_derived_name(d->kind), error.context);
	atomic_fetch_add(&engine->counters.derived[d->kind][result], 1);
	remove_one(engine, d);
	answer_all(d, &error);
	free(d);
	start_some(engine);
	engine_background_over(engine);
}

static void start_some(srv_engine *engine)
{
	uint32_t running = 0;
	for (derivation *d = engine->derivations, *next; d; d = next) {
		next = d->next;
		if (!d->running && engine->closing) {
			remove_one(engine, d);
			answer_all(d, &d->error);
			free(d);
			continue;
		}
		if (!d->running && running < RUNNING_MAX) {
			d->running = true;
			d->work.data = d;
			engine->background++;
			uv_queue_work(engine->loop, &d->work, derive_run, derive_done);
		}
		running += d->running;
	}
}

static derivation *find_or_add(srv_engine *engine, const derivation *wanted)
{
	derivation **at = &engine->derivations;
	while (*at && !hob_sha256_equal(&(*at)->key, &wanted->key))
		at = &(*at)->next;
	if (!*at && engine->derivation_count < WAITING_MAX) {
		*at = malloc(sizeof **at);
		if (*at) {
			**at = *wanted;
			engine->derivation_count++;
		}
	}
	return *at;
}

void engine_derive(srv_engine *engine, srv_control *control)
{
	derivation wanted = {.engine = engine,
						 .kind = (srv_derived)control->number,
						 .level = (uint32_t)control->number2,
						 .of = control->digest};
	wanted.key = srv_derived_key(wanted.kind, wanted.level, &wanted.of);
	if (srv_store_part(engine->store, &wanted.key, &wanted.blob)) {
		answer_made(control, &wanted.blob);
		return;
	}
	asker *one = malloc(sizeof *one);
	derivation *d = one ? find_or_add(engine, &wanted) : NULL;
	if (!d) {
		free(one);
		engine_answer(control, 503, "http.unavailable", "too much is being encoded or cut; try again");
		return;
	}
	*one = (asker){control, d->askers};
	d->askers = one;
	start_some(engine);
}
