#include "engine_exchange.h"

#include "../store/record.h"

#include <assert.h>
#include <stdlib.h>

/* A chain of caches: requests of other caches that this one cannot answer are passed to its own upstream. The
 * upstream's records are passed back and remembered as promises; a blob named by a promise is fetched on
 * request. When all blobs of a promise are here, they are validated, and it becomes a record. */

enum { PROMISES_MAX = 4096, PASS_MS = 2000 };

typedef struct promise {
	hob_sha256 *digests; /* digests of its outputs, followed by the text of the record; NULL: none */
	uint32_t count;
	size_t size; /* of the text */
	bool keeping;
} promise;

/* ---- asking */

typedef struct passed_on {
	srv_engine *engine;
	srv_control *control;
	hob_buf body;
	uint32_t waiting;
} passed_on;

static void answer_if_over(passed_on *p)
{
	if (p->waiting > 0)
		return;
	p->control->answer(p->control, p->body.failed ? 503 : 200, hob_buf_str(&p->body));
	hob_buf_release(&p->body);
	free(p);
}

static void remember(srv_engine *engine, const srv_record *record, hob_str text)
{
	if (!engine->exchange->promises)
		engine->exchange->promises = calloc(PROMISES_MAX, sizeof *engine->exchange->promises);
	promise *old = engine->exchange->promises
					   ? &engine->exchange->promises[engine->exchange->promised % PROMISES_MAX]
					   : NULL;
	size_t list = record->output_count * sizeof(hob_sha256);
	hob_sha256 *digests = old && !old->keeping ? malloc(list + text.len) : NULL;
	if (!digests)
		return;
	assert(text.len > record->output_count && !old->keeping);
	for (uint32_t i = 0; i < record->output_count; i++)
		digests[i] = record->outputs[i].digest;
	memcpy((char *)digests + list, text.data, text.len);
	free(old->digests);
	*old = (promise){.digests = digests, .count = record->output_count, .size = text.len};
	engine->exchange->promised++;
}

static void on_found(void *user, hob_arena *arena, srv_record *records, uint32_t count, bool reached)
{
	(void)arena;
	(void)reached;
	passed_on *p = user;
	for (uint32_t i = 0; i < count; i++) {
		size_t from = p->body.size;
		srv_record_print(&records[i], &p->body);
		if (!p->body.failed)
			remember(p->engine, &records[i], hob_str_sub(hob_buf_str(&p->body), from, p->body.size));
	}
	p->waiting--;
	answer_if_over(p);
}

void srv_engine_pass_on(srv_engine *engine, srv_control *control, const hob_sha256 *lookups, uint32_t count,
						hob_buf *body)
{
	passed_on *p = calloc(1, sizeof *p);
	if (!p) {
		control->answer(control, body->failed ? 503 : 200, hob_buf_str(body));
		hob_buf_release(body);
		return;
	}
	*p = (passed_on){.engine = engine, .control = control, .body = *body, .waiting = 1};
	for (uint32_t i = 0; engine->exchange->upstream && i < count; i++) {
		srv_upstream_wish wish = {.lookup = lookups[i],
								  .via = control->tag.len > 0 ? control->tag : HOB_STR("0"),
								  .wait_ms = PASS_MS};
		p->waiting += srv_upstream_find(engine->exchange->upstream, &wish, on_found, p);
	}
	p->waiting--;
	answer_if_over(p);
}

/* ---- fetching promised blobs */

typedef struct pull {
	srv_engine *engine;
	srv_control *control;
	hob_sha256 digest;
} pull;

static bool names(const promise *p, const hob_sha256 *digest)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (hob_sha256_equal(&p->digests[i], digest))
			return true;
	return false;
}

static bool is_whole(const srv_engine *engine, const promise *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (!srv_blob_known(engine->store, &p->digests[i]))
			return false;
	return true;
}

typedef struct keeping {
	srv_engine *engine;
	promise *promise;
	hob_arena arena;
	srv_record record;
} keeping;

static void keeping_free(keeping *k)
{
	free(k->promise->digests);
	*k->promise = (promise){0};
	hob_arena_release(&k->arena);
	free(k);
}

static void on_validated(void *user, bool ok, const char *author)
{
	(void)author;
	keeping *k = user;
	hob_error error;
	assert(k->record.output_count == k->promise->count);
	if (ok && !k->engine->closing) {
		srv_engine_stored(k->engine, srv_store_put_record(k->engine->store, &k->record, &error), &error);
	}
	keeping_free(k);
}

static void keep_if_whole(srv_engine *engine, promise *p)
{
	hob_error ignored;
	if (p->keeping || !is_whole(engine, p))
		return;
	keeping *k = calloc(1, sizeof *k);
	if (!k)
		return;
	k->engine = engine;
	k->promise = p;
	hob_arena_init(&k->arena, 64 << 20);
	hob_str text = {(const char *)(p->digests + p->count), p->size};
	p->keeping = srv_record_parse(text, &k->arena, &k->record, &ignored) &&
				 srv_upstream_fetch(engine->exchange->upstream, &k->record, on_validated, k);
	if (!p->keeping)
		keeping_free(k);
}

static void on_pulled(void *user, bool ok, const char *author)
{
	(void)author;
	hob_own pull *p = user;
	srv_engine *engine = p->engine;
	for (uint32_t i = 0; ok && !engine->closing && i < PROMISES_MAX; i++)
		if (names(&engine->exchange->promises[i], &p->digest))
			keep_if_whole(engine, &engine->exchange->promises[i]);
	p->control->answer(p->control, ok ? 200 : 404, HOB_STR("{}"));
}

void srv_engine_pull(srv_engine *engine, srv_control *control)
{
	bool promised = false;
	for (uint32_t i = 0; engine->exchange->promises && i < PROMISES_MAX && !promised; i++)
		promised = names(&engine->exchange->promises[i], &control->digest);
	pull *p = promised ? calloc(1, sizeof *p) : NULL;
	if (p)
		*p = (pull){engine, control, control->digest};
	if (p && srv_upstream_fetch_blob(engine->exchange->upstream, &p->digest, on_pulled, p))
		return;
	free(p);
	control->answer(control, 404, HOB_STR("{}"));
}

void srv_engine_forget_promises(struct engine_exchange *exchange)
{
	for (uint32_t i = 0; exchange->promises && i < PROMISES_MAX; i++)
		free(exchange->promises[i].digests);
	free(exchange->promises);
}
