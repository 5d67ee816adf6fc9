#include "engine_batch.h"
#include "engine_jobs.h"

#include "../cook/error_json.h"
#include "../log/log.h"
#include "engine_exchange.h"
#include "engine_health.h"
#include "engine_publish.h"
#include "engine_root.h"
#include "engine_sources.h"

#include <assert.h>
#include <stdlib.h>

/* Starts jobs, assigns waiting ones to idle workers, and handles the pool's callbacks. */

/* How many jobs of each priority may be in progress beyond those on a worker: enough to keep the workers
 * busy, few enough that the order of the queue matters. A priority may also use the places of the lower ones,
 * so it never waits behind them. */
enum { AHEAD = 16, AHEAD_OF_PASS = 128, ASKING_MAX = 256 };

/* ---- starting */

static bool has_room(const srv_engine *engine, srv_priority priority)
{
	const struct engine_jobs *jobs = engine->jobs;
	uint32_t ahead =
		engine->options.batch ? AHEAD_OF_PASS : AHEAD * (uint32_t)(SRV_PRIORITY_COUNT - priority);
	/* Jobs that wait for the upstream use no resources here, and many of them share one request. */
	uint32_t elsewhere = jobs->in_stage[SRV_JOB_ASK] + jobs->in_stage[SRV_JOB_FETCH] +
						 jobs->in_stage[SRV_JOB_CLAIM] + srv_engine_left_to_others(engine);
	elsewhere = elsewhere < ASKING_MAX ? elsewhere : ASKING_MAX;
	assert(elsewhere <= jobs->count);
	uint32_t each = priority == SRV_PRIORITY_BACKGROUND ? SRV_BUNDLE : 1;
	return jobs->count - elsewhere < srv_pool_size(jobs->pool) * each + ahead;
}

bool srv_engine_start_ready(srv_engine *engine, uint32_t begun)
{
	srv_queue *queue = engine->jobs->queue;
	if (engine->closing || !engine->jobs->pool_ready || srv_queue_count(queue) == 0)
		return false;
	srv_priority priority = srv_queue_most_urgent(queue);
	if (!has_room(engine, priority))
		return false;
	if (!srv_engine_has_time(engine, begun)) {
		srv_engine_go_on(engine);
		return false;
	}
	uint32_t id = srv_queue_pop(queue, &priority);
	asset *a = srv_asset_at(engine, id);
	engine_job *job = srv_job_new(engine, id);
	if (!job) {
		srv_queue_push(queue, id, priority, srv_asset_queue_cost(engine, a));
		return false;
	}
	srv_engine_apply(
		engine, id, (srv_asset_event){.kind = SRV_ASSET_BEGIN, .job = &job->life, .taken = &job->life.order});
	assert(job->life.order.id != 0 && a->life.job == &job->life);
	job->life.order.priority = priority;
	hob_buf_clear(&a->why);
	hob_buf_put_str(&a->why, hob_buf_str(&job->life.order.why));
	srv_job_send(job, SRV_JOB_SAY(BEGIN));
	return true;
}

/* ---- assignment to workers */

static void fail_waiting(srv_engine *engine)
{
	engine_job *job;
	while ((job = srv_engine_next_waiting(engine, NULL))) {
		job->cook.error = *srv_engine_ill(engine, ENGINE_HEALTH_WORKERS);
		srv_job_send(job, SRV_JOB_SAY(FAILED));
		assert(job->life.stage != SRV_JOB_WAIT);
	}
}

static srv_pool_job order_of(const engine_job *job, bool alone)
{
	const srv_engine *engine = job->engine;
	const asset *a = srv_asset_at(engine, job->asset);
	/* A single job may use all cores; of several, each uses one. */
	return (srv_pool_job){.root = a->root,
						  .path = hob_str_of(a->path),
						  .settings = job->ingredients.settings,
						  .profile = job->ingredients.profile,
						  .threads = alone ? 0 : 1,
						  .text = engine->options.batch ? engine->options.batch->sources[job->asset].text
														: (hob_str){0},
						  .waited = engine->options.batch || srv_job_is_looked_at(job),
						  .mapped = srv_engine_has_maps(engine),
						  .slow = srv_asset_is_slow(engine, a)};
}

static void note_start(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	assert(job->life.stage == SRV_JOB_COOK);
	job->cook.mapped = srv_engine_has_maps(engine);
	job->cook.tick = srv_graph_now(engine->graph);
	job->cook.started_at_ms = srv_clock_ms(CLOCK_REALTIME);
	if (a->life.job == &job->life)
		srv_asset_set_worker(&a->life, true);
	if (engine->options.batch) {
		engine->options.batch->begun(engine->options.batch->user, job->asset);
	} else {
		srv_publish_job(job, "cooking");
		srv_publish_view(engine, a);
	}
	engine->counters.running++;
}

/* The next job, skipping those that do not fit into memory until a running one ends. */
static engine_job *next_that_fits(const srv_engine *engine, const engine_job *before)
{
	engine_job *job = srv_engine_next_waiting(engine, before);
	while (job && !srv_engine_has_memory(engine, job))
		job = srv_engine_next_waiting(engine, job);
	return job;
}

/* Whether nobody waits for the job, and its cook is expected to be so quick that others may wait for it. On a
 * farm a job that is given back would need a second lease. */
static bool is_quick(const engine_job *job)
{
	enum { QUICK_NS = 1000000 };
	uint64_t expected = srv_engine_expected_ns(job->engine, srv_asset_at(job->engine, job->asset));
	return !job->engine->options.batch && !job->engine->options.farm &&
		   job->life.order.priority == SRV_PRIORITY_BACKGROUND && !srv_job_wants_preview(&job->life) &&
		   expected > 0 && expected < QUICK_NS;
}

/* Starts the next jobs that wait in one worker: several quick ones, or one. False: none has started. */
static bool start_some(srv_engine *engine, uint32_t idle)
{
	struct engine_jobs *jobs = engine->jobs;
	uint32_t waiting = jobs->in_stage[SRV_JOB_WAIT], count = 0;
	uint32_t share = waiting / idle < SRV_BUNDLE ? waiting / idle : SRV_BUNDLE;
	bool alone = waiting == 1 && srv_queue_count(jobs->queue) == 0;
	void *clients[SRV_BUNDLE];
	srv_pool_job orders[SRV_BUNDLE];
	engine_job *next = next_that_fits(engine, NULL), *started[SRV_BUNDLE];
	bool more = next && is_quick(next);
	while (next && (count == 0 || (more && count < share && is_quick(next)))) {
		assert(next->life.stage == SRV_JOB_WAIT);
		started[count] = next;
		clients[count] = &next->client;
		orders[count++] = order_of(next, alone);
		next = more ? next_that_fits(engine, next) : NULL;
	}
	if (count == 0 || !srv_pool_start(jobs->pool, count, clients, orders))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		(void)srv_job_step(started[i], SRV_JOB_SAY(WORKER));
		note_start(started[i]);
	}
	return true;
}

void srv_engine_dispatch(srv_engine *engine)
{
	struct engine_jobs *jobs = engine->jobs;
	if (engine->closing || jobs->in_stage[SRV_JOB_WAIT] == 0)
		return;
	if (jobs->no_workers) {
		fail_waiting(engine);
		return;
	}
	for (uint32_t idle; (idle = srv_pool_idle(jobs->pool)) > 0 && jobs->in_stage[SRV_JOB_WAIT] > 0;)
		if (!start_some(engine, idle))
			break;
	engine_job *cut = srv_engine_find_cut(engine);
	if (cut && srv_pool_cancel(jobs->pool, &cut->client))
		srv_job_send(cut, SRV_JOB_SAY(CUT));
}

/* ---- the pool */

static void show_extensions(srv_engine *engine)
{
	uint32_t count;
	const srv_pool_importer *importers = srv_pool_importers(engine->jobs->pool, &count);
	hob_own_buf text = {0};
	hob_buf_put(&text, "\n", 1);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < importers[i].extension_count; k++)
			hob_buf_printf(&text, "%.*s\n", HOB_FMT(importers[i].extensions[k]));
	srv_views_set_extensions(engine->views, hob_buf_str(&text));
	engine->publish.view = true;
}

/* Takes the importers from the first worker: they decide which files are assets. */
static void on_pool_ready(void *user)
{
	srv_engine *engine = user;
	engine->jobs->pool_ready = true;
	if (engine->options.batch) {
		engine->options.batch->ready(engine->options.batch->user, engine->jobs->pool);
		return;
	}
	show_extensions(engine);
	srv_engine_set_sandbox(engine, srv_pool_sandbox(engine->jobs->pool));
	for (uint32_t i = 0; i < engine->assets->count; i++)
		srv_asset_at(engine, i)->importer =
			srv_pool_importer_for(engine->jobs->pool, hob_str_of(srv_asset_at(engine, i)->path));
	srv_watch_deliver(engine->sources->watch);
}

static void on_pool_idle(void *user)
{
	srv_engine_stir(user);
}

static void on_pool_done(void *user, void *job, srv_outcome *outcome)
{
	(void)user;
	pool_client *client = job;
	client->done(job, outcome);
}

static void on_pool_degraded(void *user, const hob_error *why)
{
	srv_engine *engine = user;
	if (engine->options.batch) {
		engine->options.batch->degraded(engine->options.batch->user, why);
		return;
	}
	const hob_error *before = srv_engine_ill(engine, ENGINE_HEALTH_WORKERS);
	if (why && !(before && strcmp(before->context, why->context) == 0))
		srv_log(SRV_LOG_ERROR, "workers", "%s; %s", why->context, srv_error_hint(why->code));
	if (!why)
		srv_log(SRV_LOG_INFO, "workers", "can be started again");
	srv_engine_set_health(engine, ENGINE_HEALTH_WORKERS, why);
	engine->jobs->no_workers = why && srv_pool_alive(engine->jobs->pool) == 0;
	for (uint32_t i = 0; i < engine->assets->count && !why; i++)
		srv_engine_apply(engine, i,
						 (srv_asset_event){.kind = SRV_ASSET_WORKERS_BACK,
										   .reason = "retry",
										   .priority = SRV_PRIORITY_BACKGROUND});
	srv_engine_stir(engine);
}

/* Textures and meshes that cooks share, as blobs. */
typedef struct part_put {
	srv_piece piece;
	srv_engine *engine;
	hob_sha256 part, blob;
	hob_bytes bytes;
	bool ok;
	hob_error error;
} part_put;

static int on_part_get(void *user, const uint8_t key[32])
{
	srv_engine *engine = user;
	hob_sha256 part, blob;
	memcpy(part.bytes, key, sizeof part.bytes);
	uint64_t size;
	int fd = srv_store_part(engine->store, &part, &blob) ? srv_blob_open(engine->store, &blob, &size) : -1;
	engine->counters.parts.reused += fd >= 0;
	return fd;
}

static void put_run(srv_piece *piece)
{
	part_put *put = piece->user;
	put->ok = srv_blob_put(put->engine->store, put->bytes, &put->blob, &put->error);
	srv_pool_part_unmap(put->bytes);
}

static void put_done(srv_piece *piece)
{
	hob_own part_put *put = piece->user;
	srv_engine *engine = put->engine;
	engine->counters.parts.made++;
	if (!put->ok || !srv_store_put_part(engine->store, &put->part, &put->blob, &put->error))
		srv_log(SRV_LOG_WARNING, "store", "a part was not kept: %s", put->error.context);
	engine->publish.rows = true;
	srv_pool_part_kept(engine->jobs->pool, put->part.bytes);
}

/* Stores a part in libuv's pool: hashing and writing megabytes is too long for a turn of the loop. */
static void on_part_put(void *user, const uint8_t key[32], hob_bytes bytes)
{
	srv_engine *engine = user;
	part_put *put = calloc(1, sizeof *put);
	if (!put) {
		srv_pool_part_unmap(bytes);
		srv_pool_part_kept(engine->jobs->pool, key);
		return;
	}
	*put = (part_put){.piece = {put_run, put_done, .user = put}, .engine = engine, .bytes = bytes};
	memcpy(put->part.bytes, key, sizeof put->part.bytes);
	srv_engine_piece(engine, &put->piece, false);
}

static void on_pool_closed(void *user)
{
	srv_engine *engine = user;
	engine->jobs->pool = NULL;
	srv_engine_close_when_idle(engine);
}

bool srv_engine_start_workers(srv_engine *engine, hob_error *err)
{
	const srv_engine_options *options = &engine->options;
	srv_pool_options pool = options->pool;
	pool.root_fds = engine->roots->fds;
	pool.root_count = options->root_count;
	pool.one_first = true;
	bool keeps = !options->batch || options->batch->keeps;
	srv_pool_callbacks callbacks = {.user = engine,
									.ready = on_pool_ready,
									.idle = on_pool_idle,
									.done = on_pool_done,
									.part_get = keeps ? on_part_get : NULL,
									.part_put = keeps ? on_part_put : NULL,
									.degraded = on_pool_degraded};
	return srv_pool_new(engine->loop, &pool, &callbacks, &engine->jobs->pool, err);
}

void srv_engine_close_workers(srv_engine *engine)
{
	srv_pool_close(engine->jobs->pool, on_pool_closed, engine);
}

/* ---- life */

uint64_t srv_engine_new_job_id(srv_engine *engine)
{
	return ++engine->jobs->last_id;
}

void srv_engine_continue_job_ids(srv_engine *engine, uint64_t newest)
{
	assert(engine->jobs->last_id <= newest);
	engine->jobs->last_id = newest;
}

bool srv_engine_is_idle(const srv_engine *engine)
{
	return engine->jobs->count == 0 && srv_queue_count(engine->jobs->queue) == 0;
}

struct engine_jobs *srv_engine_jobs_new(void)
{
	struct engine_jobs *jobs = calloc(1, sizeof *jobs);
	if (jobs && (jobs->queue = srv_queue_new()) && (jobs->activity = srv_activity_new()))
		return jobs;
	srv_engine_jobs_free(jobs);
	return NULL;
}

void srv_engine_jobs_free(struct engine_jobs *jobs)
{
	if (!jobs)
		return;
	assert(jobs->count == 0 && !jobs->due && !jobs->pool);
	srv_queue_free(jobs->queue);
	srv_activity_free(jobs->activity);
	free(jobs->active);
	free(jobs);
}

/* Ends all jobs: those at rest at once, one with work in progress when that work has ended. */
void srv_engine_close_jobs(srv_engine *engine)
{
	assert(engine->closing);
	for (uint32_t i = 0; i < engine->jobs->count; i++)
		srv_job_send(engine->jobs->active[i], SRV_JOB_SAY(CLOSE));
}
