#include "engine_exchange.h"

#include "../worker/machine.h"

#include <assert.h>

/* The priority of a dirty asset, and what raises it while it waits. */

srv_priority srv_engine_priority(srv_engine *engine, const asset *a, srv_priority priority)
{
	bool used = priority > SRV_PRIORITY_IN_USE &&
				srv_uses_has(srv_events_uses(engine->publish.events), hob_str_of(a->full));
	return used ? SRV_PRIORITY_IN_USE : priority;
}

static bool comes_before(const engine_job *job, const engine_job *other)
{
	if (job->order.priority != other->order.priority)
		return job->order.priority < other->order.priority;
	return job->ingredients.profile == HOB_PROFILE_PREVIEW &&
		   other->ingredients.profile != HOB_PROFILE_PREVIEW;
}

void srv_engine_wait_for_worker(engine_job *job)
{
	assert(srv_engine_waits_for_worker(job));
	engine_job **at = &job->engine->jobs->waiting;
	while (*at && !comes_before(job, *at))
		at = &(*at)->list_next;
	job->list_next = *at;
	*at = job;
}

bool srv_engine_waits_for_worker(const engine_job *job)
{
	return job->cooking && !job->on_worker && !job->cook.outcome;
}

/* Nobody waits for it, or for a preview of its own model only. */
static bool may_be_cut(const srv_engine *engine, const engine_job *job, const engine_job *preview)
{
	const asset *a = srv_asset_at(engine, job->asset);
	bool own = job->asset == preview->asset;
	return job->on_worker && !job->twin.aside && !job->order.force && a->life.job == job &&
		   a->life.state == SRV_ASSET_WORKING && a->life.job_cuts == 0 &&
		   job->ingredients.profile == HOB_PROFILE_FINAL && srv_asset_is_slow(engine, a) &&
		   (own || job->order.priority > SRV_PRIORITY_IN_USE);
}

void srv_engine_make_room(srv_engine *engine)
{
	const engine_job *preview = engine->jobs->waiting;
	uint32_t workers = engine->jobs->pool ? srv_pool_size(engine->jobs->pool) : 0;
	if (!preview || engine->closing || preview->abandoned ||
		preview->order.priority > SRV_PRIORITY_INTERACTIVE ||
		preview->ingredients.profile != HOB_PROFILE_PREVIEW || engine->counters.running < workers ||
		srv_pool_alive(engine->jobs->pool) < workers)
		return;
	/* The one that began last loses least; the model's own last of all, because whoever waits wants that,
	 * too. */
	engine_job *cut = NULL;
	for (uint32_t i = 0; i < engine->jobs->active_count; i++) {
		engine_job *job = engine->jobs->active[i];
		if (may_be_cut(engine, job, preview) &&
			(!cut || cut->asset == preview->asset ||
			 (job->asset != preview->asset && job->cook.started_at_ms > cut->cook.started_at_ms)))
			cut = job;
	}
	if (cut)
		(void)srv_pool_cancel(engine->jobs->pool, cut);
}

void srv_engine_raise_job(engine_job *job, srv_priority priority)
{
	srv_engine *engine = job->engine;
	for (; job && job->order.priority > priority; job = job->twin.of) {
		job->order.priority = priority;
		/* A preview beside it comes first; then it hurries, too. */
		if (job->on_worker && priority <= SRV_PRIORITY_IN_USE && !job->twin.preview)
			srv_pool_hurry(engine->jobs->pool, job);
		if (srv_engine_hurry_claim(job))
			continue;
		engine_job **at = &engine->jobs->waiting;
		while (*at && *at != job)
			at = &(*at)->list_next;
		if (*at) {
			*at = job->list_next;
			srv_engine_wait_for_worker(job);
			srv_engine_make_room(engine);
		}
	}
}

void srv_engine_raise(srv_engine *engine, uint32_t id, srv_priority priority)
{
	asset *a = srv_asset_at(engine, id);
	if (srv_asset_raise(&a->life, priority))
		srv_queue_push(engine->jobs->queue, id, priority, srv_asset_queue_cost(engine, a));
	if (a->life.job)
		srv_engine_raise_job(a->life.job, priority);
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
					 (a->life.job && (srv_engine_waits_for_worker(a->life.job) || a->life.job->twin.of));
		if (waits && srv_engine_priority(engine, a, SRV_PRIORITY_BACKGROUND) == SRV_PRIORITY_IN_USE)
			srv_engine_raise(engine, i, SRV_PRIORITY_IN_USE);
	}
}

void srv_engine_count_waiting(srv_engine *engine)
{
	uint32_t counts[SRV_PRIORITY_COUNT], all = 0;
	for (int i = 0; i < SRV_PRIORITY_COUNT; i++)
		counts[i] = srv_queue_count_of(engine->jobs->queue, (srv_priority)i);
	for (const engine_job *job = engine->jobs->waiting; job; job = job->list_next)
		counts[job->order.priority] += !job->abandoned;
	counts[SRV_PRIORITY_BACKGROUND] += engine->exchange->unclaimed_count;
	for (int i = 0; i < SRV_PRIORITY_COUNT; i++) {
		engine->counters.queued_of[i] = counts[i];
		all += counts[i];
	}
	engine->counters.queue_length = all;
	srv_activity_waits(engine->jobs->activity,
					   srv_queue_count(engine->jobs->queue) + engine->jobs->alive - engine->jobs->recorded,
					   srv_engine_now_ms());
}

/* ---- estimates of time and memory, from earlier cooks */

/* A cook that needs less memory than this, or less than this share of the machine's, always starts. */
enum { SMALL_BYTES = 256 << 20, SMALL_SHARE = 16 };

uint64_t srv_asset_queue_cost(const srv_engine *engine, const asset *a)
{
	uint64_t bytes = srv_graph_at(engine->graph, a->file)->stat.size;
	return a->cost.final_ns > 0 ? a->cost.final_ns : bytes * ASSET_NS_PER_BYTE;
}

bool srv_asset_is_slow(const srv_engine *engine, const asset *a)
{
	enum { WAIT_NS = 30 * 1000 * 1000, LARGE_BYTES = 512 << 10 };
	return a->cost.final_ns > 0 ? a->cost.final_ns > WAIT_NS
								: srv_graph_at(engine->graph, a->file)->stat.size > LARGE_BYTES;
}

uint64_t srv_engine_expected_ns(const srv_engine *engine, const asset *a)
{
	const srv_engine_counters *c = &engine->counters;
	uint64_t cooked = c->cooked, ns = c->cook_ns, bytes = c->cook_bytes;
	if (a->cost.final_ns > 0 || cooked == 0)
		return a->cost.final_ns;
	double rate = (double)ns / (double)(bytes > 0 ? bytes : 1);
	rate = rate < ASSET_NS_PER_BYTE ? rate : ASSET_NS_PER_BYTE; /* many sources name larger files */
	double each = ((double)ns - rate * (double)bytes) / (double)cooked;
	return (uint64_t)(each + rate * (double)srv_graph_at(engine->graph, a->file)->stat.size);
}

void srv_engine_note_expected(srv_engine *engine)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < engine->jobs->active_count; i++) {
		const engine_job *job = engine->jobs->active[i];
		double left =
			job->progress.share > 0 && job->progress.share < 1 ? 1 - (double)job->progress.share : 1;
		sum += (uint64_t)((double)srv_engine_expected_ns(engine, srv_asset_at(engine, job->asset)) * left);
	}
	for (uint32_t i = 0; srv_queue_count(engine->jobs->queue) > 0 && i < engine->assets->count; i++)
		if (srv_queue_has(engine->jobs->queue, i))
			sum += srv_engine_expected_ns(engine, srv_asset_at(engine, i));
	uint32_t workers = engine->jobs->pool ? srv_pool_size(engine->jobs->pool) : 0;
	engine->counters.expected_ns = sum / (workers > 0 ? workers : 1);
}

bool srv_engine_has_memory(const srv_engine *engine, const engine_job *job)
{
	uint64_t needed = srv_asset_at(engine, job->asset)->cost.peak_bytes, running = 0;
	if (needed == 0 || engine->counters.running == 0)
		return true;
	if (needed < SMALL_BYTES && needed < engine->jobs->memory_total / SMALL_SHARE)
		return true;
	/* Running cooks may not have allocated their memory yet. */
	for (uint32_t i = 0; i < engine->jobs->active_count; i++)
		if (engine->jobs->active[i]->on_worker)
			running += srv_asset_at(engine, engine->jobs->active[i]->asset)->cost.peak_bytes;
	srv_memory memory;
	srv_machine_memory("", &memory);
	return needed + running <= memory.available;
}
