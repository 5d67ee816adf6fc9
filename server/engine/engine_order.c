#include "engine_private.h"

/* The priority of a dirty asset, and what raises it while it waits. */

srv_priority srv_engine_priority(srv_engine *engine, const asset *a, srv_priority priority)
{
	bool used =
		priority > SRV_PRIORITY_IN_USE && srv_uses_has(srv_events_uses(engine->events), hob_str_of(a->full));
	return used ? SRV_PRIORITY_IN_USE : priority;
}

void srv_engine_wait_for_worker(engine_job *job)
{
	engine_job **at = &job->engine->waiting;
	while (*at && (*at)->priority <= job->priority)
		at = &(*at)->list_next;
	job->list_next = *at;
	*at = job;
}

bool srv_engine_waits_for_worker(const engine_job *job)
{
	return job->cooking && !job->on_worker && !job->outcome;
}

void srv_engine_raise_job(engine_job *job, srv_priority priority)
{
	srv_engine *engine = job->engine;
	for (; job && job->priority > priority; job = job->twin_of) {
		job->priority = priority;
		if (job->on_worker && priority <= SRV_PRIORITY_IN_USE)
			srv_pool_hurry(engine->pool, job);
		if (srv_engine_hurry_claim(job))
			continue;
		engine_job **at = &engine->waiting;
		while (*at && *at != job)
			at = &(*at)->list_next;
		if (*at) {
			*at = job->list_next;
			srv_engine_wait_for_worker(job);
		}
	}
}

void srv_engine_raise(srv_engine *engine, uint32_t id, srv_priority priority)
{
	asset *a = &engine->assets[id];
	if (srv_asset_raise(&a->life, priority))
		srv_queue_push(engine->queue, id, priority, a->final_cook_ns);
	if (a->life.job)
		srv_engine_raise_job(a->life.job, priority);
}

void srv_engine_raise_used(srv_engine *engine)
{
	uint64_t changes = srv_uses_changes(srv_events_uses(engine->events));
	if (changes == engine->uses_seen)
		return;
	engine->uses_seen = changes;
	for (uint32_t i = 0; i < engine->asset_count; i++) {
		const asset *a = &engine->assets[i];
		bool waits = srv_queue_has(engine->queue, i) ||
					 (a->life.job && (srv_engine_waits_for_worker(a->life.job) || a->life.job->twin_of));
		if (waits && srv_engine_priority(engine, a, SRV_PRIORITY_BACKGROUND) == SRV_PRIORITY_IN_USE)
			srv_engine_raise(engine, i, SRV_PRIORITY_IN_USE);
	}
}

void srv_engine_count_waiting(srv_engine *engine)
{
	uint32_t counts[SRV_PRIORITY_COUNT], all = 0;
	for (int i = 0; i < SRV_PRIORITY_COUNT; i++)
		counts[i] = srv_queue_count_of(engine->queue, (srv_priority)i);
	for (const engine_job *job = engine->waiting; job; job = job->list_next)
		counts[job->priority]++;
	counts[SRV_PRIORITY_BACKGROUND] += engine->unclaimed_count;
	for (int i = 0; i < SRV_PRIORITY_COUNT; i++) {
		engine->counters.queued_of[i] = counts[i];
		all += counts[i];
	}
	engine->counters.queue_length = all;
	srv_activity_waits(engine->activity,
					   srv_queue_count(engine->queue) + engine->jobs_alive - engine->jobs_recorded,
					   srv_engine_now_ms());
}
