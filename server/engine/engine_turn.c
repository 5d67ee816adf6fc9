#include "engine_turn.h"

#include "../../core/base/array.h"
#include "../fs/clock.h"
#include "engine_acts.h"
#include "engine_changeset.h"
#include "engine_exchange.h"
#include "engine_move.h"
#include "engine_publish.h"
#include "engine_requests.h"
#include "engine_sources.h"
#include "engine_upkeep.h"

#include <assert.h>
#include <stdlib.h>

/* One change may affect the whole tree. Each turn of the loop then does a part: assets that become dirty
 * (`spreads`), jobs that start, outdated views, the changes of one rev, events. */

enum {
	AT_ONCE = 64,	   /* up to this many assets become dirty in the same turn */
	EVENTS_MOST = 250, /* maximum number of events sent in one turn */
	GATHER_MS = 2,	   /* results of several cooks gather for so long, and share a commit and a view */
	CALM_MS = 20	   /* those for which nobody waits */
};

/* ---- assets made dirty by one file */

static bool add_spread(struct engine_turn *turn, const spread *s)
{
	if (!HOB_ROOM(turn->spreads, turn->spread_capacity, turn->spread_count))
		return false;
	turn->spreads[turn->spread_count++] = *s;
	return true;
}

void srv_engine_dirty_all(srv_engine *engine, const uint32_t *assets, uint32_t count, srv_priority priority,
						  const char *kind, uint32_t file)
{
	const srv_file *f = srv_graph_at(engine->graph, file);
	spread s = {.count = count,
				.root = f->root,
				.priority = priority,
				.kind = kind,
				.path = f->path,
				.gathers = srv_engine_gathers(engine, f->root)};
	if (count > AT_ONCE && engine->sources->ready && (s.assets = malloc(count * sizeof *assets))) {
		memcpy(s.assets, assets, count * sizeof *assets);
		if (add_spread(engine->turn, &s)) {
			srv_engine_go_on(engine);
			return;
		}
		free(s.assets);
	}
	for (uint32_t i = 0; i < count; i++)
		srv_asset_dirty(engine, assets[i], priority, kind, s.path);
}

static void step_spreads(srv_engine *engine)
{
	struct engine_turn *turn = engine->turn;
	while (turn->spread_count > 0) {
		spread *s = &turn->spreads[0];
		if (s->gathers)
			srv_engine_gather_more(engine, s->root);
		for (uint32_t done = 0; s->next < s->count && srv_engine_has_time(engine, done); done++)
			srv_asset_dirty(engine, s->assets[s->next++], s->priority, s->kind, s->path);
		assert(s->next <= s->count && s->root < engine->options.root_count);
		srv_engine_gathered(engine);
		if (s->next < s->count) {
			srv_engine_go_on(engine);
			return;
		}
		free(s->assets);
		memmove(s, s + 1, --turn->spread_count * sizeof *s);
	}
}

static void on_more(uv_idle_t *more)
{
	srv_engine *engine = more->data;
	uv_idle_stop(more);
	if (engine->closing)
		return;
	step_spreads(engine);
	srv_engine_step_settings(engine);
	srv_engine_stir(engine);
}

/* ---- events of jobs */

static srv_job_event do_nothing(engine_job *job)
{
	(void)job;
	return SRV_JOB_LATER;
}

static act_function *const acts[SRV_JOB_ACTS] = {
	[SRV_JOB_DO_HASH_SOURCE] = srv_job_hash_source,
	[SRV_JOB_DO_TAKE_DIGESTS] = srv_job_take_digests,
	[SRV_JOB_DO_LOOK_UP] = srv_job_look_up,
	[SRV_JOB_DO_FIND] = srv_job_find,
	[SRV_JOB_DO_HASH_INPUTS] = srv_job_hash_inputs,
	[SRV_JOB_DO_MATCH] = srv_job_match,
	[SRV_JOB_DO_ASK] = srv_job_ask,
	[SRV_JOB_DO_FETCH] = srv_job_fetch,
	[SRV_JOB_DO_WAIT_TO_ASK] = do_nothing,
	[SRV_JOB_DO_CLAIM] = srv_job_claim,
	[SRV_JOB_DO_WAIT] = srv_job_announce,
	[SRV_JOB_DO_HASH_READ] = srv_job_hash_read,
	[SRV_JOB_DO_JUDGE] = srv_job_judge,
	[SRV_JOB_DO_HASH_TOUCHED] = srv_job_hash_touched,
	[SRV_JOB_DO_STORE] = srv_job_store,
	[SRV_JOB_DO_CHECK] = srv_job_check,
	[SRV_JOB_DO_TAKE] = srv_job_take,
	[SRV_JOB_DO_KEEP] = srv_job_keep,
	[SRV_JOB_DO_KEEP_FAILURE] = srv_job_keep_failure,
	[SRV_JOB_DO_FAIL] = srv_job_fail,
	[SRV_JOB_DO_GIVE_BACK] = srv_job_give_back,
	[SRV_JOB_DO_CANCELLED] = srv_job_cancelled,
};

static void carry_out(engine_job *job, srv_job_act act)
{
	while (act != SRV_JOB_DO_NOTHING && act != SRV_JOB_DO_END) {
		assert(act < SRV_JOB_ACTS && acts[act]);
		bool skips = srv_job_leaves(&job->life) && act != SRV_JOB_DO_CANCELLED;
		bool own = job->engine->options.batch && srv_batch_acts[act];
		srv_job_event event = skips ? SRV_JOB_SAY(SKIPPED) : (own ? srv_batch_acts : acts)[act](job);
		if (event.kind == SRV_JOB_EVENTS)
			return;
		if (event.kind == SRV_JOB_DIGESTS || event.kind == SRV_JOB_MORE) {
			srv_job_put(job, event);
			return;
		}
		act = srv_job_step(job, event);
	}
	if (act == SRV_JOB_DO_END)
		srv_job_free(job);
}

/* Finishes the work that a callback left to the turn. */
static srv_job_event complete(engine_job *job, srv_job_event event)
{
	if (event.kind == SRV_JOB_COOKED)
		srv_job_take_outcome(job);
	if (event.kind == SRV_JOB_LEASED)
		return srv_job_claimed(job); /* a lease that came too late is released */
	if (srv_job_leaves(&job->life))
		return event;
	if (event.kind == SRV_JOB_STORED)
		return srv_job_stored(job);
	if (job->life.stage == SRV_JOB_FETCH)
		return srv_job_fetched(job, event.kind == SRV_JOB_FETCHED);
	return event;
}

static void take_due(engine_job *job)
{
	srv_job_act act = job->due.act;
	assert(!job->due.queued);
	if (act == SRV_JOB_DO_NOTHING) {
		srv_job_event event = complete(job, job->due.event);
		if (event.kind == SRV_JOB_EVENTS)
			return;
		act = srv_job_step(job, event);
	}
	carry_out(job, act);
}

/* Runs jobs: events first, then idle workers, then the next job of the queue, whose events come first again:
 * a job answered by the cache is over before the next one begins. The rest of a full turn is left to the next
 * one: see on_end. */
static void run_jobs(srv_engine *engine)
{
	struct engine_jobs *jobs = engine->jobs;
	if (!jobs->stirred)
		return;
	uint32_t done = 0, begun = 0;
	bool more;
	do {
		while (jobs->due && (engine->closing || srv_engine_has_time(engine, done++)))
			take_due(srv_engine_take_due(engine));
		srv_engine_dispatch(engine);
		for (engine_job *job; (job = srv_engine_next_claim(engine));)
			srv_job_send(job, SRV_JOB_SAY(TURN));
		more = srv_engine_start_ready(engine, begun++);
	} while (more || (jobs->due && srv_engine_has_time(engine, done)));
	srv_engine_send_pieces(engine);
	if (engine->options.batch && engine->store)
		srv_store_read_part(engine->store);
	jobs->stirred = jobs->due != NULL;
	srv_engine_count_waiting(engine);
}

static void on_polled(uv_check_t *check)
{
	run_jobs(check->data);
}

/* ---- the end of a turn */

static void end_turn(srv_engine *engine, uint32_t events)
{
	srv_engine_heal_index(engine);
	srv_publish_turn(&engine->publish, srv_engine_show_some, engine, events);
	srv_engine_fold_log(engine);
	if (engine->publishing->due_count > 0) {
		engine->publish.view = true;
		srv_engine_go_on(engine);
	}
	if (srv_publish_waits(&engine->publish))
		srv_engine_go_on(engine);
}

void srv_engine_flush(srv_engine *engine)
{
	srv_engine_finish_publishing(engine);
	end_turn(engine, UINT32_MAX);
}

/* Counts a turn: the time between two of these calls, without the loop's sleep. */
static void count_turn(srv_engine *engine)
{
	uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(engine->loop),
			 cpu = (uint64_t)srv_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t took = srv_engine_turn_ns(engine, now, idle), busy = cpu - engine->turn->began_cpu_ns;
	assert(cpu >= engine->turn->began_cpu_ns);
	bool first = srv_engine_begin_turn(engine, now, idle); /* time before it belongs to no turn */
	engine->turn->began_cpu_ns = cpu;
	if (!first && busy > engine->counters.turn.busiest_ns)
		engine->counters.turn.busiest_ns = busy;
	engine->counters.turn.count++;
	engine->counters.turn.slow += took > SRV_ENGINE_TURN_MS * 1000000ull;
	if (took > engine->counters.turn.longest_ns)
		engine->counters.turn.longest_ns = took;
}

static void on_gathered(uv_timer_t *timer)
{
	(void)timer; /* the turn that it begins publishes */
}

/* Whether this turn leaves its results to a later one, because others are due at any moment. */
static bool gathers(srv_engine *engine)
{
	struct engine_turn *turn = engine->turn;
	uint64_t now = uv_hrtime();
	assert(now >= turn->published_ns);
	if (!engine->publish.rows && !engine->publish.view)
		return false;
	uint32_t most_ms = engine->publish.prompt ? GATHER_MS : CALM_MS;
	if (engine->jobs->in_stage[SRV_JOB_COOK] > 0 && !engine->closing &&
		now - turn->published_ns < most_ms * 1000000ull) {
		if (engine->publish.prompt || !uv_is_active((uv_handle_t *)&turn->gathered))
			uv_timer_start(&turn->gathered, on_gathered, most_ms, 0);
		return true;
	}
	uv_timer_stop(&turn->gathered);
	turn->published_ns = now;
	return false;
}

/* Publishes the results of a turn: one view and one transaction for all changes. */
static void show_results(srv_engine *engine)
{
	srv_engine_step_changesets(engine);
	if (engine->publishing->open_rev.open) {
		srv_views_sort(engine->views);
		if (srv_engine_many_former(engine))
			srv_engine_show_former(engine);
		srv_engine_go_on(engine); /* a part of a rev is never shown */
	} else if (!gathers(engine)) {
		if (srv_engine_many_former(engine))
			srv_engine_show_former(engine);
		end_turn(engine, EVENTS_MOST);
		srv_engine_answer_waiters(engine); /* the view comes before the answer */
	}
}

/* Ends a turn, before the loop sleeps. */
static void on_end(uv_prepare_t *prepare)
{
	srv_engine *engine = prepare->data;
	run_jobs(engine);
	if (!engine->options.batch)
		show_results(engine);
	if (engine->jobs->stirred)
		srv_engine_go_on(engine);
	count_turn(engine);
}

/* ---- life */

void srv_engine_start_turns(srv_engine *engine)
{
	struct engine_turn *turn = engine->turn;
	uv_loop_configure(engine->loop, UV_METRICS_IDLE_TIME);
	uv_prepare_init(engine->loop, &turn->end);
	srv_engine_add_handle(engine, (uv_handle_t *)&turn->end);
	srv_engine_start_turn(engine, on_more);
	uv_prepare_start(&turn->end, on_end);
	uv_timer_init(engine->loop, &turn->gathered);
	srv_engine_add_handle(engine, (uv_handle_t *)&turn->gathered);
	uv_check_init(engine->loop, &turn->polled);
	srv_engine_add_handle(engine, (uv_handle_t *)&turn->polled);
	uv_check_start(&turn->polled, on_polled);
}

void srv_engine_turn_free(struct engine_turn *turn)
{
	for (uint32_t i = 0; i < turn->spread_count; i++)
		free(turn->spreads[i].assets);
	free(turn->spreads);
}
