#include "engine_jobs.h"

#include "../cook/error_json.h"
#include "../log/log.h"
#include "engine_exchange.h"
#include "engine_health.h"
#include "engine_root.h"
#include "engine_sources.h"
#include "engine_turn.h"

#include <assert.h>
#include <stdlib.h>

/* How many jobs of each priority may be under way beyond those on a worker: enough to keep the workers busy,
 * few enough that the order of the queue matters. A priority may also use the places of the lower ones, so it
 * never waits behind them. */
enum { AHEAD = 16, ASKING_MAX = 256 };

/* ---- which begin */

void srv_engine_fill(srv_engine *engine)
{
	/* A job that the cache answers ends inside srv_job_begin and asks for the next one. The loop keeps the
	 * stack flat. */
	if (engine->jobs->filling)
		return;
	engine->jobs->filling = true;
	uint32_t left = srv_engine_left_to_others(engine);
	for (uint32_t begun = 0; !engine->closing && engine->jobs->pool_ready; begun++) {
		srv_priority priority = srv_queue_most_urgent(engine->jobs->queue);
		uint32_t ahead = AHEAD * (uint32_t)(SRV_PRIORITY_COUNT - priority);
		/* Jobs that wait for the upstream use no resources here, and many of them share one question. */
		uint32_t elsewhere =
			engine->exchange->asking + left < ASKING_MAX ? engine->exchange->asking + left : ASKING_MAX;
		if (engine->jobs->alive - elsewhere >= srv_pool_size(engine->jobs->pool) + ahead)
			break;
		if (!srv_engine_has_time(engine, begun)) {
			srv_engine_go_on(engine);
			break;
		}
		uint32_t id = srv_queue_pop(engine->jobs->queue, &priority);
		if (id == HOB_NONE)
			break;
		if (!srv_job_begin(engine, id, priority))
			break;
	}
	engine->jobs->filling = false;
	if (engine->exchange->unclaimed)
		srv_engine_claim_more(engine);
	srv_engine_count_waiting(engine);
}

/* ---- the pool */

static void show_extensions(srv_engine *engine)
{
	uint32_t count;
	const srv_pool_importer *importers = srv_pool_importers(engine->jobs->pool, &count);
	hob_buf text = {0};
	hob_buf_put(&text, "\n", 1);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < importers[i].extension_count; k++)
			hob_buf_printf(&text, "%.*s\n", HOB_FMT(importers[i].extensions[k]));
	srv_views_set_extensions(engine->views, hob_buf_str(&text));
	srv_publish_note_view(&engine->publish);
	hob_buf_release(&text);
}

/* The first worker tells which importers exist, and they decide which files are assets. */
static void on_pool_ready(void *user)
{
	srv_engine *engine = user;
	engine->jobs->pool_ready = true;
	show_extensions(engine);
	srv_engine_set_sandbox(engine, srv_pool_sandbox(engine->jobs->pool));
	for (uint32_t i = 0; i < engine->assets->count; i++)
		srv_asset_at(engine, i)->importer =
			srv_pool_importer_for(engine->jobs->pool, hob_str_of(srv_asset_at(engine, i)->path));
	srv_watch_deliver(engine->sources->watch);
}

static void on_pool_idle(void *user)
{
	srv_engine *engine = user;
	srv_engine_feed_workers(engine);
	srv_engine_fill(engine);
	srv_engine_tell(engine, SRV_FACT_WORKER_IDLE, HOB_NONE);
}

static void on_pool_progress(void *user, void *job, hob_str stage, float share)
{
	(void)user;
	pool_client *client = job;
	if (client->progress)
		client->progress(job, stage, share);
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
	const hob_error *before = srv_engine_ill(engine, ENGINE_HEALTH_WORKERS);
	if (why && !(before && strcmp(before->context, why->context) == 0))
		srv_log(SRV_LOG_ERROR, "workers", "%s; %s", why->context, srv_error_hint(why->code));
	if (!why)
		srv_log(SRV_LOG_INFO, "workers", "can be started again");
	srv_engine_set_health(engine, ENGINE_HEALTH_WORKERS, why);
	engine->jobs->no_workers = why && srv_pool_alive(engine->jobs->pool) == 0;
	srv_engine_feed_workers(engine);
	for (uint32_t i = 0; i < engine->assets->count && !why; i++)
		srv_engine_apply(engine, i,
						 (srv_asset_event){.kind = SRV_ASSET_WORKERS_BACK,
										   .reason = "retry",
										   .priority = SRV_PRIORITY_BACKGROUND});
	srv_engine_fill(engine);
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
	srv_pool_options pool = {.worker_path = options->worker_path,
							 .workers = options->workers,
							 .timeout_ms = options->timeout_ms,
							 .memory_limit = options->memory_limit,
							 .source_limit = options->source_limit,
							 .sandbox = options->sandbox,
							 .blender = options->blender,
							 .root_fds = engine->roots->fds,
							 .root_count = options->root_count,
							 .one_first = true};
	srv_pool_callbacks callbacks = {
		engine,			  on_pool_ready,	   on_pool_idle,		on_pool_done,
		on_pool_progress, srv_engine_part_get, srv_engine_part_put, on_pool_degraded};
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
	return engine->jobs->alive == 0 && srv_queue_count(engine->jobs->queue) == 0;
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
	assert(jobs->alive == 0 && !jobs->pool);
	srv_queue_free(jobs->queue);
	srv_activity_free(jobs->activity);
	free(jobs->active);
	free(jobs);
}

void srv_engine_close_jobs(srv_engine *engine)
{
	struct engine_jobs *jobs = engine->jobs;
	srv_engine_step_later(engine);
	while (jobs->waiting) {
		engine_job *job = jobs->waiting;
		jobs->waiting = job->list_next;
		srv_job_end(job);
	}
}

void srv_job_detach(engine_job *job)
{
	job->engine->jobs->abandoned += !job->abandoned;
	job->abandoned = true;
	if (job->on_worker)
		srv_pool_cancel(job->engine->jobs->pool, job);
}

static void leave_final(engine_job *final, const engine_job *preview)
{
	if (final->twin.preview != preview)
		return;
	final->twin.preview = NULL;
	if (final->on_worker && final->order.priority <= SRV_PRIORITY_IN_USE)
		srv_pool_hurry(final->engine->jobs->pool, final);
}

void srv_job_free(engine_job *job)
{
	srv_engine *engine = job->engine;
	assert(!job->on_worker && !job->abroad.asking && engine->jobs->alive > 0);
	assert(engine->closing || srv_asset_at(engine, job->asset)->life.job != job);
	if (job->twin.preview)
		srv_job_detach(job->twin.preview);
	for (uint32_t i = 0; i < engine->jobs->active_count && job->twin.aside; i++)
		leave_final(engine->jobs->active[i], job);
	if (job->claim.state != ENGINE_CLAIM_NONE)
		srv_engine_end_claim(job);
	for (uint32_t i = 0; i < engine->jobs->active_count; i++)
		if (engine->jobs->active[i] == job) {
			engine->jobs->active[i] = engine->jobs->active[--engine->jobs->active_count];
			break;
		}
	srv_outcome_free(job->cook.outcome);
	hob_buf_release(&job->order.why);
	hob_arena_release(&job->arena);
	hob_arena_release(&job->abroad.found);
	engine->jobs->recorded -= job->recorded;
	engine->jobs->abandoned -= job->abandoned;
	free(job);
	engine->jobs->alive--;
	srv_engine_close_when_idle(engine);
}
