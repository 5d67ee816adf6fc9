#include "engine_exchange.h"
#include "engine_root.h"
#include "engine_sources.h"

#include "../log/log.h"

#include <assert.h>

void srv_engine_stored(srv_engine *engine, bool ok, const hob_error *error)
{
	if (!ok)
		srv_log(SRV_LOG_ERROR, "store", "%s", error->context);
	engine->publish.rows = true;
}

void srv_engine_tell_ready(srv_engine *engine)
{
	if (engine->life->callbacks.ready)
		engine->life->callbacks.ready(engine->life->callbacks.user);
}

uint32_t srv_engine_root_by_name(const srv_engine *engine, hob_str name)
{
	for (uint32_t i = 0; i < engine->roots->count; i++)
		if (hob_str_equal(engine->roots->shown[i].name, name))
			return i;
	return HOB_NONE;
}

bool srv_engine_root_is_away(const srv_engine *engine, uint32_t root)
{
	assert(root < engine->roots->count);
	return engine->roots->shown[root].missing_since_ms != 0;
}

/* ---- the time of a turn */

enum {
	FULL_NS = 2000000, /* after this time a turn starts nothing that can wait */
	AT_LEAST = 2	   /* items of each kind in each turn, even in a full one */
};

uint64_t srv_engine_turn_ns(const srv_engine *engine, uint64_t now, uint64_t idle)
{
	uint64_t took = now - engine->life->turn.began_ns, slept = idle - engine->life->turn.idle_ns;
	return engine->life->turn.began_ns > 0 && took > slept ? took - slept : 0;
}

bool srv_engine_begin_turn(srv_engine *engine, uint64_t now, uint64_t idle)
{
	bool first = engine->life->turn.began_ns == 0;
	assert(now >= engine->life->turn.began_ns && idle >= engine->life->turn.idle_ns);
	engine->life->turn.began_ns = now;
	engine->life->turn.idle_ns = idle;
	return first;
}

bool srv_engine_has_time(srv_engine *engine, uint32_t done)
{
	bool has = done < AT_LEAST ||
			   srv_engine_turn_ns(engine, uv_hrtime(), uv_metrics_idle_time(engine->loop)) < FULL_NS;
	engine->counters.turn.put_off += !has;
	return has;
}

void srv_engine_go_on(srv_engine *engine)
{
	if (!engine->closing)
		uv_idle_start(&engine->life->turn.more, engine->life->turn.go_on);
}

void srv_engine_stir(srv_engine *engine)
{
	engine->jobs->stirred = true;
}

void srv_engine_start_turn(srv_engine *engine, uv_idle_cb go_on)
{
	uv_idle_init(engine->loop, &engine->life->turn.more);
	engine->life->turn.go_on = go_on;
	srv_engine_add_handle(engine, (uv_handle_t *)&engine->life->turn.more);
}

/* ---- the queue of the turn */

static void put(engine_job *job, srv_job_act act, srv_job_event event)
{
	struct engine_jobs *jobs = job->engine->jobs;
	assert(!job->due.queued && (act == SRV_JOB_DO_NOTHING) == (event.kind < SRV_JOB_EVENTS));
	assert((jobs->due == NULL) == (jobs->due_last == NULL));
	job->due.next = NULL;
	job->due.queued = true;
	job->due.act = act;
	job->due.event = event;
	*(jobs->due ? &jobs->due_last->due.next : &jobs->due) = job;
	jobs->due_last = job;
	srv_engine_stir(job->engine);
}

void srv_job_put(engine_job *job, srv_job_event event)
{
	put(job, SRV_JOB_DO_NOTHING, event);
}

void srv_job_put_act(engine_job *job, srv_job_act act)
{
	put(job, act, SRV_JOB_LATER);
}

engine_job *srv_engine_take_due(srv_engine *engine)
{
	struct engine_jobs *jobs = engine->jobs;
	engine_job *job = jobs->due;
	assert(!job || job->due.queued);
	if (!job)
		return NULL;
	jobs->due = job->due.next;
	jobs->due_last = jobs->due ? jobs->due_last : NULL;
	job->due.queued = false;
	return job;
}

/* ---- handles, work of the pool, and the end */

static void on_handle_closed(uv_handle_t *handle)
{
	srv_engine *engine = handle->data;
	assert(engine->life->open_handles > engine->life->handle_count);
	engine->life->open_handles--;
	srv_engine_close_when_idle(engine);
}

void srv_engine_add_handle(srv_engine *engine, uv_handle_t *handle)
{
	struct engine_life *life = engine->life;
	assert(life->handle_count < HOB_COUNT_OF(life->handles));
	handle->data = engine;
	life->handles[life->handle_count++] = handle;
	life->open_handles++;
}

void srv_engine_work(srv_engine *engine, uv_work_t *work, uv_work_cb run, uv_after_work_cb done)
{
	engine->life->work++;
	uv_queue_work(engine->loop, work, run, done);
}

static void run_pieces(uv_work_t *work)
{
	for (srv_piece *piece = work->data; piece; piece = piece->next)
		piece->run(piece);
}

static void pieces_done(uv_work_t *work, int status)
{
	(void)status;
	for (srv_piece *piece = work->data, *next; piece; piece = next) {
		next = piece->next;
		piece->done(piece);
	}
}

static void send_pieces(srv_engine *engine, srv_piece *first)
{
	first->work.data = first;
	uv_queue_work(engine->loop, &first->work, run_pieces, pieces_done);
}

void srv_engine_send_pieces(srv_engine *engine)
{
	struct engine_jobs *jobs = engine->jobs;
	assert((jobs->pieces == NULL) == (jobs->piece_count == 0));
	if (jobs->piece_count > 0)
		send_pieces(engine, jobs->pieces);
	jobs->pieces = NULL;
	jobs->piece_count = 0;
}

void srv_engine_piece(srv_engine *engine, srv_piece *piece, bool is_short)
{
	enum { SHARES = 4, MOST = 16 }; /* the jobs in progress keep several threads busy */
	struct engine_jobs *jobs = engine->jobs;
	piece->next = NULL;
	if (!is_short) {
		send_pieces(engine, piece);
		return;
	}
	*(jobs->pieces ? &jobs->last_piece->next : &jobs->pieces) = piece;
	jobs->last_piece = piece;
	if (++jobs->piece_count > jobs->count / SHARES || jobs->piece_count == MOST)
		srv_engine_send_pieces(engine);
}

void srv_engine_count_work(srv_engine *engine)
{
	engine->life->work++;
}

void srv_engine_work_over(srv_engine *engine)
{
	assert(engine->life->work > 0);
	engine->life->work--;
	srv_engine_close_when_idle(engine);
}

static void run_work(uv_work_t *work)
{
	const engine_work *w = work->data;
	w->run(w->engine);
}

static void end_work(uv_work_t *work, int status)
{
	(void)status;
	engine_work *w = work->data;
	w->under_way = false;
	if (w->done)
		w->done(w->engine);
	srv_engine_work_over(w->engine);
}

bool srv_engine_begin_work(srv_engine *engine, engine_work *work, void (*run)(srv_engine *engine),
						   void (*done)(srv_engine *engine))
{
	assert(!work->engine || work->engine == engine);
	if (work->under_way || engine->closing)
		return false;
	*work = (engine_work){.work.data = work, .engine = engine, .run = run, .done = done, .under_way = true};
	srv_engine_work(engine, &work->work, run_work, end_work);
	return true;
}

/* Closes in order: first libuv's pool ends hashing and storing, then the handles close, then the watch. */
void srv_engine_close_when_idle(srv_engine *engine)
{
	struct engine_life *life = engine->life;
	if (!engine->closing || engine->jobs->count > 0 || life->work > 0 || engine->jobs->pool)
		return;
	for (; life->handle_count > 0; life->handle_count--)
		uv_close(life->handles[life->handle_count - 1], on_handle_closed);
	if (life->open_handles == 0 && !engine->sources->watch)
		life->closed(life->closed_user);
}
