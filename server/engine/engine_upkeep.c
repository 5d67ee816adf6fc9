#include "engine_upkeep.h"

#include "../../core/base/json_write.h"
#include "../control/answer.h"
#include "../log/log.h"
#include "../store/digest_map.h"
#include "../worker/process_state.h"
#include "engine_exchange.h"
#include "engine_sources.h"

#include <assert.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Housekeeping of the store, outside of cooks: syncs it to disk and keeps it within its limit. */

enum { TRIM_MS = 60000, REST_MS = 5000, GROWN_BYTES = 1 << 20 };

static void sync_run(srv_engine *engine)
{
	hob_error error = {0};
	bool ok = srv_store_sync(engine->store, &error);
	engine->upkeep->sync_error = ok ? (hob_error){0} : error;
}

static void sync_done(srv_engine *engine)
{
	struct engine_upkeep *upkeep = engine->upkeep;
	bool failed = upkeep->sync_error.code != HOB_ERR_OK;
	if (failed && strcmp(upkeep->sync_error.context, upkeep->sync_said.context) != 0)
		srv_log(SRV_LOG_ERROR, "store", "%s; a power cut may cost what was cooked since, until this succeeds",
				upkeep->sync_error.context);
	if (!failed && upkeep->sync_said.code != HOB_ERR_OK)
		srv_log(SRV_LOG_INFO, "store", "what was cooked is durable again");
	upkeep->sync_said = upkeep->sync_error;
	if (failed)
		upkeep->synced_jobs = UINT64_MAX; /* no job count, so that it is retried in a second */
}

static void fold_run(srv_engine *engine)
{
	hob_error error;
	(void)!srv_store_fold(engine->store, &error); /* the next sync reports the failure */
}

void srv_engine_fold_log(srv_engine *engine)
{
	if (!engine->upkeep->sync.under_way && srv_store_log_is_long(engine->store))
		srv_engine_begin_work(engine, &engine->upkeep->sync, fold_run, NULL);
}

typedef struct live_keys {
	const srv_engine *engine;
	digest_map keys;
	bool found, failed; /* `found`: the keys are collected */
} live_keys;

static void add_live(live_keys *live, bool used, const hob_sha256 *key)
{
	bool fresh;
	live->failed = live->failed || (used && !srv_digest_map_put(&live->keys, key, &fresh));
}

/* Whether an asset uses the record, or the upstream still needs it. Collects the keys in use at the first
 * call: only if the cache is over its limit. */
static bool is_live(void *user, const hob_sha256 *record)
{
	live_keys *live = user;
	const srv_engine *engine = live->engine;
	for (uint32_t i = 0; !live->found && i < engine->assets->count; i++) {
		const asset *a = srv_asset_at(engine, i);
		bool alive = srv_asset_is_alive(&a->life);
		add_live(live, a->shown.any, &a->shown.served);
		add_live(live, alive && a->life.has_good, &a->shown.good);
		add_live(live, alive && a->last.known, &a->last.key);
		if (a->shown.before)
			add_live(live, alive, &a->shown.before->good);
	}
	live->found = true;
	return live->failed || srv_digest_map_find(&live->keys, record) ||
		   (engine->exchange->upstream && srv_upstream_holds(engine->exchange->upstream, record));
}

static uint64_t trim(srv_engine *engine, bool dry)
{
	live_keys live = {.engine = engine};
	srv_digest_map_init(&live.keys, 0);
	uint64_t freed = dry ? srv_store_would_trim(engine->store, is_live, &live)
						 : srv_store_trim(engine->store, is_live, &live);
	char text[32];
	if (freed > 0 && !dry)
		srv_log(SRV_LOG_INFO, "evicted", "%s of results that were not used for longest",
				srv_text_bytes(freed, text));
	engine->publish.rows = true;
	srv_digest_map_release(&live.keys);
	return freed;
}

/* ---- unreferenced blobs: found in the pool, dropped here */

static void sweep_run(srv_engine *engine)
{
	hob_error error;
	if (!srv_store_find_orphans(engine->store, &engine->upkeep->orphans.found, &engine->upkeep->orphans.count,
								&error))
		srv_log(SRV_LOG_DEBUG, "cache", "what nothing names is looked for later: %s", error.context);
}

static void sweep_done(srv_engine *engine)
{
	char text[32];
	uint64_t freed =
		srv_store_drop_orphans(engine->store, engine->upkeep->orphans.found, engine->upkeep->orphans.count);
	if (freed > 0)
		srv_log(SRV_LOG_INFO, "evicted", "%s that nothing names", srv_text_bytes(freed, text));
	engine->publish.rows = true;
	free(engine->upkeep->orphans.found);
	engine->upkeep->orphans.found = NULL;
	engine->upkeep->orphans.count = 0;
}

static void sweep_blobs(srv_engine *engine)
{
	if (!engine->upkeep->orphans.work.under_way && srv_store_sweep_is_due(engine->store))
		srv_engine_begin_work(engine, &engine->upkeep->orphans.work, sweep_run, sweep_done);
}

static void note_oldest(srv_engine *engine)
{
	int64_t oldest = 0;
	for (uint32_t i = 0; srv_queue_count(engine->jobs->queue) > 0 && i < engine->assets->count; i++) {
		const asset *a = srv_asset_at(engine, i);
		if (!a->life.job && a->life.next.id > 0 && srv_queue_has(engine->jobs->queue, i) &&
			(oldest == 0 || a->life.next.queued_at_ms < oldest))
			oldest = a->life.next.queued_at_ms;
	}
	engine->counters.oldest_queued_at_ms = (unsigned long long)oldest;
}

/* Logs that the cache is over its limit, once each time: users do not check it before the disk is full. */
static void tell_limit(srv_engine *engine)
{
	srv_store_usage usage;
	char used[32], most[32];
	srv_store_measure(engine->store, &usage);
	bool over = usage.max_bytes > 0 && usage.blob_bytes > usage.max_bytes;
	if (over && !engine->upkeep->limit_told)
		srv_log(SRV_LOG_WARNING, "cache",
				"it holds %s, over its limit of %s, and nothing can go: assets use all of it; raise "
				"cache.max_size, or "
				"serve fewer models",
				srv_text_bytes(usage.blob_bytes, used), srv_text_bytes(usage.max_bytes, most));
	engine->upkeep->limit_told = over;
}

/* Sums the bytes of all inputs; a file that several assets use counts once. */
static void note_inputs(srv_engine *engine)
{
	uint64_t bytes = 0;
	uint32_t users;
	for (uint32_t i = 0; i < srv_graph_count(engine->graph); i++) {
		const srv_file *f = srv_graph_at(engine->graph, i);
		if (f->exists &&
			(f->asset != HOB_NONE || (srv_graph_dependents(engine->graph, i, &users), users > 0)))
			bytes += f->stat.size;
	}
	engine->counters.sources.input_bytes = bytes;
}

/* The allocator keeps freed memory (after cooks, or after thousands of closed connections). Returns it to
 * the system; due when there is more of it, or the process is larger, than after the last return. */
static void rest_run(srv_engine *engine)
{
	uint64_t free_bytes = mallinfo2().fordblks;
	bool more_free = free_bytes > engine->upkeep->rest.free_bytes + GROWN_BYTES;
	if (more_free || srv_own_bytes(getpid()) > engine->upkeep->rest.bytes + GROWN_BYTES) {
		malloc_trim(0);
		engine->upkeep->rest.bytes = srv_own_bytes(getpid());
		engine->upkeep->rest.free_bytes = free_bytes;
	} else if (free_bytes < engine->upkeep->rest.free_bytes) {
		engine->upkeep->rest.free_bytes = free_bytes;
	}
}

static void give_memory_back(srv_engine *engine)
{
	uint64_t now = uv_now(engine->loop);
	if (srv_engine_is_idle(engine) && now >= engine->upkeep->rest.at_ms &&
		srv_engine_begin_work(engine, &engine->upkeep->rest.work, rest_run, NULL))
		engine->upkeep->rest.at_ms = now + REST_MS;
}

void srv_engine_keep_store(srv_engine *engine)
{
	srv_engine_look_for_index(engine);
	srv_engine_tell_rows(engine);
	srv_engine_retry_passing(engine, false);
	srv_engine_doubt(engine);
	srv_engine_tell_stuck(engine);
	srv_engine_keep_young(engine);
	note_oldest(engine);
	srv_engine_note_expected(engine);
	srv_engine_count_waiting(engine);
	note_inputs(engine);
	give_memory_back(engine);
	uint64_t jobs = engine->counters.jobs;
	if (jobs != engine->upkeep->synced_jobs &&
		srv_engine_begin_work(engine, &engine->upkeep->sync, sync_run, sync_done))
		engine->upkeep->synced_jobs = jobs;
	if (engine->sources->ready && uv_now(engine->loop) >= engine->upkeep->trim_at) {
		engine->upkeep->trim_at = uv_now(engine->loop) + TRIM_MS;
		sweep_blobs(engine);
		trim(engine, false);
		tell_limit(engine);
	}
}

/* ---- on request */

/* Housekeeping on request. A task has an id like a job, is listed with jobs and reports progress:
 *
 *   srv_engine_start_task --> RUNNING --- verify_done, or at once for gc --> DONE
 *
 * A DONE task is kept until TASKS_KEPT newer ones exist. */

enum { TASKS_KEPT = 16 };

typedef struct engine_task engine_task;

struct engine_task {
	srv_engine *engine;
	uint64_t id;
	bool verifies, dry_run, finished;
	int64_t started_at_ms, finished_at_ms;
	atomic_bool stop;
	atomic_ullong done, damaged; /* blobs */
	uint64_t total, freed_bytes, over_bytes;
	uint64_t max_bytes;	 /* for a gc: used instead of the cache's limit, unless 0 */
	hob_sha256 *digests; /* of all blobs, while a verify runs */
	uv_work_t work;
	engine_task *next;
};

static void put_task(const engine_task *t, hob_buf *out)
{
	uint64_t done = t->done;
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("id", t->id),
				 HOB_JSON("kind", t->verifies ? "verify" : "gc"), HOB_JSON_NULL("asset"),
				 HOB_JSON("state", t->finished ? "done" : "running"),
				 HOB_JSON_SOME("result", hob_str_of(!t->finished ? ""
													: t->stop	 ? "cancelled"
																 : "done")),
				 HOB_JSON_BOOL("dry_run", t->dry_run), HOB_JSON_KEY("progress"));
	hob_buf_printf(out, "%.3f", t->finished || t->total == 0 ? 1.0 : (double)done / (double)t->total);
	hob_json_put(out, HOB_JSON_TIME("queued_at", t->started_at_ms),
				 HOB_JSON_TIME("started_at", t->started_at_ms),
				 HOB_JSON_TIME("finished_at", t->finished_at_ms),
				 HOB_JSON_RAW("reason", HOB_STR("[{\"kind\":\"asked\"}]")));
	if (t->verifies) {
		hob_json_put(out, HOB_JSON("checked", done), HOB_JSON("total", t->total),
					 HOB_JSON("damaged", t->damaged));
	} else {
		hob_json_put(out, HOB_JSON("freed_bytes", t->freed_bytes), HOB_JSON("over_bytes", t->over_bytes));
	}
	hob_json_close(out, '}');
}

bool srv_engine_put_task(srv_engine *engine, uint64_t id, hob_buf *out)
{
	for (engine_task *t = engine->upkeep->tasks; t; t = t->next)
		if (t->id == id) {
			put_task(t, out);
			return true;
		}
	return false;
}

void srv_engine_put_tasks(srv_engine *engine, bool finished, hob_buf *out)
{
	for (engine_task *t = engine->upkeep->tasks; t; t = t->next)
		if (t->finished == finished)
			put_task(t, out);
}

void srv_engine_stop_tasks(srv_engine *engine)
{
	for (engine_task *t = engine->upkeep->tasks; t; t = t->next)
		if (!t->finished)
			t->stop = true;
}

void srv_engine_upkeep_free(struct engine_upkeep *upkeep)
{
	while (upkeep->tasks) {
		hob_own engine_task *t = upkeep->tasks;
		upkeep->tasks = t->next;
		free(t->digests);
	}
}

static void forget_old(srv_engine *engine)
{
	uint32_t kept = 0;
	for (engine_task **at = &engine->upkeep->tasks; *at;) {
		engine_task *t = *at;
		if (kept++ < TASKS_KEPT || !t->finished) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		free(t);
	}
}

static void publish(const engine_task *t)
{
	hob_own_buf data = {0};
	hob_json_object(&data, HOB_JSON("id", t->id), HOB_JSON("state", t->finished ? "done" : "running"),
					HOB_JSON("kind", t->verifies ? "verify" : "gc"));
	srv_publish_event(&t->engine->publish, "job", (hob_str){0}, hob_buf_str(&data));
}

static void finish(engine_task *t)
{
	t->finished = true;
	t->finished_at_ms = srv_clock_ms(CLOCK_REALTIME);
	free(t->digests);
	t->digests = NULL;
	publish(t);
}

static void verify_run(uv_work_t *work)
{
	engine_task *t = work->data;
	for (uint64_t i = 0; i < t->total && !t->stop; i++) {
		if (!srv_blob_check(t->engine->store, &t->digests[i], !t->dry_run))
			t->damaged++;
		t->done++;
	}
}

static void verify_done(uv_work_t *work, int status)
{
	(void)status;
	engine_task *t = work->data;
	srv_engine *engine = t->engine;
	assert(t->done <= t->total && t->damaged <= t->done);
	finish(t);
	srv_log(t->damaged > 0 ? SRV_LOG_WARNING : SRV_LOG_INFO, "verified", "%llu blob%s, %llu damaged",
			(unsigned long long)t->done, HOB_PLURAL(t->done), (unsigned long long)t->damaged);
	srv_engine_work_over(engine);
}

static void run_gc(engine_task *t)
{
	srv_store_usage usage;
	srv_store_measure(t->engine->store, &usage);
	t->total = 1;
	t->done = 1;
	uint64_t most = t->max_bytes > 0 ? t->max_bytes : usage.max_bytes;
	t->over_bytes = most > 0 && usage.blob_bytes > most ? usage.blob_bytes - most : 0;
	srv_store_limit(t->engine->store, most);
	if (!t->dry_run)
		srv_store_trim_soon(t->engine->store);
	assert(t->over_bytes < usage.blob_bytes || usage.blob_bytes == 0);
	t->freed_bytes = trim(t->engine, t->dry_run);
	srv_store_limit(t->engine->store, usage.max_bytes);
	finish(t);
}

void srv_engine_start_task(srv_engine *engine, srv_control *control)
{
	bool verifies = control->kind == SRV_CONTROL_VERIFY;
	for (engine_task *t = engine->upkeep->tasks; t && verifies; t = t->next)
		if (t->verifies && !t->finished) {
			srv_control_answer(control, 409, "http.conflict", "the blobs are being verified already");
			return;
		}
	engine_task *t = calloc(1, sizeof *t);
	if (!t) {
		srv_control_answer(control, 503, "internal", "no memory left to begin");
		return;
	}
	*t = (engine_task){.engine = engine,
					   .id = srv_engine_new_job_id(engine),
					   .verifies = verifies,
					   .dry_run = control->force,
					   .max_bytes = control->number,
					   .started_at_ms = srv_clock_ms(CLOCK_REALTIME),
					   .next = engine->upkeep->tasks};
	engine->upkeep->tasks = t;
	forget_old(engine);
	publish(t);
	if (verifies) {
		size_t count = 0;
		t->digests = srv_store_digests(engine->store, &count);
		t->total = count;
		t->work.data = t;
		srv_engine_work(engine, &t->work, verify_run, verify_done);
	} else {
		run_gc(t);
	}
	srv_control_accept(control, t->id);
}
