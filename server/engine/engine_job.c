#include "engine_exchange.h"
#include "engine_publish.h"

#include "../../core/base/array.h"
#include "../log/log.h"

#include <assert.h>
#include <stdlib.h>

/* Applies events of jobs, to the job and to its duplicates; the turn carries out acts. */

enum { JOB_ARENA = 256 << 20 };

/* ---- events */

/* Another job in progress with the same look-up key: its source is a copy. */
static srv_job *find_duplicate(const engine_job *job)
{
	const struct engine_jobs *jobs = job->engine->jobs;
	for (uint32_t i = 0; i < jobs->count; i++) {
		engine_job *other = jobs->active[i];
		if (other != job && srv_job_may_be_joined(&other->life) &&
			hob_sha256_equal(&other->lookup, &job->lookup))
			return &other->life;
	}
	return NULL;
}

static void add_facts(engine_job *job, srv_job_event *event)
{
	if (event->kind != SRV_JOB_MISSED || srv_job_leaves(&job->life))
		return;
	assert(job->life.stage != SRV_JOB_OVER && job->asset < job->engine->assets->count);
	event->facts.elsewhere = job->engine->exchange->upstream != NULL;
	event->facts.preview = srv_job_is_looked_at(job) && srv_job_may_preview(job);
	event->facts.claims = job->life.asked && srv_engine_shares_out(job);
	event->facts.duplicate = find_duplicate(job);
}

srv_job_act srv_job_step(engine_job *job, srv_job_event event)
{
	struct engine_jobs *jobs = job->engine->jobs;
	srv_job *life = &job->life;
	srv_job_stage from = life->stage;
	add_facts(job, &event);
	srv_job_todo todo = srv_job_apply(life, &event);
	assert(jobs->in_stage[from] > 0 && jobs->in_stage[life->stage] <= jobs->count);
	jobs->in_stage[from]--;
	jobs->in_stage[life->stage]++;
	if (life->stage != from)
		srv_job_steps_add(&job->steps, life->stage, uv_hrtime());
	job->engine->counters.misses += todo.missed;
	if (life->stage == SRV_JOB_WAIT && from != SRV_JOB_WAIT)
		job->place = ++jobs->last_place;
	for (srv_job *woken = todo.wake, *next; woken; woken = next) {
		next = woken->next;
		srv_job_send(srv_engine_job(woken), SRV_JOB_SAY(DUPLICATE_OVER));
	}
	if (todo.raise)
		srv_job_raise(srv_engine_job(todo.raise), life->order.priority);
	if (todo.drop)
		srv_job_drop(srv_engine_job(todo.drop));
	if (todo.resume && todo.resume->stage == SRV_JOB_COOK &&
		todo.resume->order.priority <= SRV_PRIORITY_IN_USE)
		srv_pool_hurry(jobs->pool, &srv_engine_job(todo.resume)->client);
	srv_engine_stir(job->engine);
	return todo.act;
}

void srv_job_send(engine_job *job, srv_job_event event)
{
	srv_job_act act = srv_job_step(job, event);
	if (act != SRV_JOB_DO_NOTHING)
		srv_job_put_act(job, act);
}

void srv_job_drop(engine_job *job)
{
	srv_job_send(job, SRV_JOB_SAY(DROP));
	if (job->life.stage == SRV_JOB_COOK)
		(void)srv_pool_cancel(job->engine->jobs->pool, &job->client);
}

bool srv_job_preempt(engine_job *job, bool quick)
{
	enum { LEAVE_MS = 1000 };
	srv_engine *engine = job->engine;
	assert(job->life.stage == SRV_JOB_COOK && job->life.part != SRV_JOB_BESIDE);
	if (!quick) {
		if (srv_pool_cancel(engine->jobs->pool, &job->client))
			srv_job_send(job, SRV_JOB_SAY(CUT));
		return false;
	}
	if (!srv_pool_leave(engine->jobs->pool, &job->client, LEAVE_MS))
		return false;
	engine->counters.cancelled++;
	srv_record_job(job, "cancelled", NULL, NULL);
	srv_job_send(job, SRV_JOB_SAY(YIELD));
	return true;
}

void srv_job_raise(engine_job *job, srv_priority priority)
{
	srv_engine *engine = job->engine;
	for (srv_job *life = &job->life; life && life->order.priority > priority; life = life->of) {
		job = srv_engine_job(life);
		life->order.priority = priority;
		/* If the job cooks its preview first, only the final cook is hurried, later. */
		if (life->stage == SRV_JOB_COOK && priority <= SRV_PRIORITY_IN_USE && !life->preview)
			srv_pool_hurry(engine->jobs->pool, &job->client);
		else if (life->stage == SRV_JOB_CLAIM && priority < SRV_PRIORITY_BACKGROUND)
			srv_engine_hurry_claim(job);
		else if (life->stage == SRV_JOB_UNCLAIMED)
			(void)srv_job_step(job, SRV_JOB_SAY(HURRY)); /* not announced to the others */
		else if (life->stage == SRV_JOB_WAIT)
			job->place = ++engine->jobs->last_place;
	}
	srv_engine_stir(engine);
}

void srv_engine_raise(srv_engine *engine, uint32_t id, srv_priority priority)
{
	asset *a = srv_asset_at(engine, id);
	assert(id == a->id && priority < SRV_PRIORITY_COUNT);
	if (srv_asset_raise(&a->life, priority))
		srv_queue_push(engine->jobs->queue, id, priority, srv_asset_queue_cost(engine, a));
	if (a->life.job)
		srv_job_raise(srv_engine_job(a->life.job), priority);
}

void srv_engine_raise_used(srv_engine *engine)
{
	uint64_t changes = srv_uses_changes(srv_events_uses(engine->publish.events));
	if (changes == engine->jobs->uses_seen)
		return;
	engine->jobs->uses_seen = changes;
	for (uint32_t i = 0; i < engine->assets->count; i++) {
		const asset *a = srv_asset_at(engine, i);
		bool waits = srv_queue_has(engine->jobs->queue, i) ||
					 (a->life.job && (srv_job_waits(srv_engine_job(a->life.job)) || a->life.job->of));
		if (waits && srv_engine_priority(engine, a, SRV_PRIORITY_BACKGROUND) == SRV_PRIORITY_IN_USE)
			srv_engine_raise(engine, i, SRV_PRIORITY_IN_USE);
	}
}

/* ---- life */

static engine_job *of_client(void *client)
{
	return (engine_job *)(void *)((char *)client - offsetof(engine_job, client));
}

static void on_cooked(void *client, srv_outcome *outcome)
{
	engine_job *job = of_client(client);
	job->cook.outcome = outcome;
	srv_job_put(job, (srv_job_event){.kind = SRV_JOB_COOKED,
									 .ok = outcome->ok,
									 .has_result = outcome->has_result,
									 .cancelled = outcome->cancelled,
									 .unbegun = outcome->unbegun});
}

engine_job *srv_job_new(srv_engine *engine, uint32_t id)
{
	struct engine_jobs *jobs = engine->jobs;
	engine_job *job = calloc(1, sizeof *job);
	if (!job || !HOB_ROOM(jobs->active, jobs->capacity, jobs->count)) {
		free(job);
		return NULL;
	}
	jobs->active[jobs->count++] = job;
	jobs->in_stage[SRV_JOB_NEW]++;
	job->client = (pool_client){on_cooked};
	job->engine = engine;
	job->asset = id;
	job->cook.started_at_ms = srv_clock_ms(CLOCK_REALTIME);
	hob_arena_init(&job->arena, JOB_ARENA);
	return job;
}

void srv_job_free(engine_job *job)
{
	srv_engine *engine = job->engine;
	struct engine_jobs *jobs = engine->jobs;
	assert(job->life.stage == SRV_JOB_OVER && !job->due.queued && jobs->in_stage[SRV_JOB_OVER] > 0);
	assert(engine->closing || srv_asset_at(engine, job->asset)->life.job != &job->life);
	if (job->life.lease == SRV_JOB_MINE)
		srv_upstream_leave(engine->exchange->upstream, &job->final_lookup);
	jobs->in_stage[SRV_JOB_OVER]--;
	uint32_t at = 0;
	while (jobs->active[at] != job)
		at++;
	jobs->active[at] = jobs->active[--jobs->count];
	srv_outcome_free(job->cook.outcome);
	hob_buf_release(&job->life.order.why);
	hob_arena_release(&job->arena);
	hob_arena_release(&job->remote.found);
	free(job);
	if (!engine->closing)
		engine->publish.view = true;
	srv_engine_stir(engine);
	srv_engine_close_when_idle(engine);
}

bool srv_job_is_alone(const engine_job *job)
{
	const struct engine_jobs *jobs = job->engine->jobs;
	for (uint32_t i = 0; i < jobs->count; i++) {
		const srv_job *other = &jobs->active[i]->life;
		if (other != &job->life && other->stage != SRV_JOB_OVER && !srv_job_leaves(other))
			return false;
	}
	return true;
}

void srv_engine_tell_stuck(const srv_engine *engine)
{
	const struct engine_jobs *jobs = engine->jobs;
	uint64_t now = uv_hrtime();
	for (uint32_t i = 0; i < jobs->count; i++) {
		engine_job *job = jobs->active[i];
		if (srv_job_is_stuck(&job->steps, now, engine->options.pool.timeout_ms))
			srv_log(SRV_LOG_WARNING, "stuck", "%s: job %llu is still in the stage '%s'; see hob log %llu",
					srv_asset_at(engine, job->asset)->full, (unsigned long long)job->life.order.id,
					srv_job_stage_name(job->life.stage), (unsigned long long)job->life.order.id);
	}
}
