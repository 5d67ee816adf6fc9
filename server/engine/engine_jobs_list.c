#include "engine_publish.h"
#include "engine_turn.h"
#include "engine_upkeep.h"

#include "../../core/base/json_write.h"
#include "../control/answer.h"
#include "../query/past_job.h"

#include <assert.h>
#include <stdlib.h>

/* Prints queued and running jobs for the API. Finished jobs: query/past.c. */

static const char *live_state(const engine_job *job)
{
	if (!job || srv_job_waits(job) || job->life.of)
		return "queued";
	return job->life.stage == SRV_JOB_COOK ? "cooking" : job->cook.outcome ? "storing" : "checking";
}

/* Without a job, the asset waits in the queue, or for the end of a save. */
static const srv_asset_next *order_of(const asset *a)
{
	return a->life.job ? &a->life.job->order : &a->life.next;
}

static void put_live_job(srv_engine *engine, uint32_t id, hob_buf *out)
{
	const asset *a = srv_asset_at(engine, id);
	const engine_job *job = srv_engine_job(a->life.job);
	const srv_asset_next *order = order_of(a);
	bool queued = !job && srv_queue_has(engine->jobs->queue, id);
	srv_priority priority = queued ? srv_queue_priority(engine->jobs->queue, id) : order->priority;
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("id", order->id), HOB_JSON("kind", "cook"),
				 HOB_JSON("asset", a->full), HOB_JSON("state", live_state(job)), HOB_JSON_NULL("result"),
				 HOB_JSON_TIME("queued_at", order->queued_at_ms),
				 HOB_JSON_TIME("started_at", job ? job->cook.started_at_ms : 0),
				 HOB_JSON_MS("expected_ms", srv_engine_expected_ns(engine, a)));
	if (job && job->life.stage == SRV_JOB_COOK && engine->jobs->pool) {
		hob_cook_step step = srv_pool_step(engine->jobs->pool, &job->client);
		hob_json_key(out, "progress");
		hob_buf_printf(out, "%.3f", (double)step.done);
		hob_json_put_str(out, "stage", hob_str_of(step.name));
	}
	hob_json_put(out, HOB_JSON("priority", srv_priority_name(priority)),
				 HOB_JSON_LIST("reason", hob_buf_str(&order->why)));
	hob_own_buf stages = {0};
	if (job)
		srv_job_steps_print(&job->steps, uv_hrtime(), &stages);
	srv_past_put_stages(hob_buf_str(&stages), out);
	hob_json_close(out, '}');
}

/* ---- lists */

/* Adds the asset's job if it is wanted and room is left. Returns what is left then. */
static uint32_t add_live(srv_engine *engine, const srv_control *control, uint32_t id, uint32_t left,
						 hob_buf *items)
{
	assert(id < engine->assets->count);
	const asset *a = srv_asset_at(engine, id);
	hob_str state = hob_str_of(live_state(srv_engine_job(a->life.job)));
	if (left == 0 || (control->asset.len > 0 && !hob_str_equal(control->asset, hob_str_of(a->full))) ||
		!srv_control_lists(control->text, HOB_STR(","), state) ||
		order_of(a)->queued_at_ms < control->since_ms)
		return left;
	put_live_job(engine, id, items);
	return left - 1;
}

void srv_engine_list_jobs(srv_engine *engine, srv_control *control)
{
	uint32_t left = control->number2 > 0 ? (uint32_t)control->number2 : UINT32_MAX;
	hob_own_buf items = {0};
	srv_engine_flush(engine); /* finished jobs are rows, which server/query reads */
	if (control->asset.len == 0 && srv_control_lists(control->text, HOB_STR(","), HOB_STR("running")))
		srv_engine_put_tasks(engine, false, &items);
	for (uint32_t i = 0; i < engine->assets->count; i++) {
		const srv_job *job = srv_asset_at(engine, i)->life.job;
		if (job && job->stage != SRV_JOB_WAIT)
			left = add_live(engine, control, i, left, &items);
	}
	for (const engine_job *job = NULL; (job = srv_engine_next_waiting(engine, job));)
		if (job->life.part != SRV_JOB_BESIDE)
			left = add_live(engine, control, job->asset, left, &items);
	uint32_t room = left > 0 ? srv_queue_count(engine->jobs->queue) : 0;
	hob_own uint32_t *queued = malloc((room + 1) * sizeof *queued);
	uint32_t count = queued ? srv_queue_peek(engine->jobs->queue, queued, room) : 0;
	assert(count <= room);
	for (uint32_t i = 0; i < count; i++)
		left = add_live(engine, control, queued[i], left, &items);
	control->answer(control, 200, hob_buf_str(&items));
}

/* ---- one job */

/* The asset of a queued or running job, or HOB_NONE. */
static uint32_t find_live(const srv_engine *engine, uint64_t id)
{
	for (uint32_t i = 0; id > 0 && i < engine->assets->count; i++)
		if (order_of(srv_asset_at(engine, i))->id == id)
			return i;
	return HOB_NONE;
}

void srv_engine_tell_job(srv_engine *engine, srv_control *control)
{
	hob_own_buf body = {0};
	srv_engine_flush(engine); /* finished jobs are rows */
	uint32_t live = find_live(engine, control->number);
	if (live != HOB_NONE)
		put_live_job(engine, live, &body);
	else
		srv_engine_put_task(engine, control->number, &body);
	if (body.size > 0)
		control->answer(control, 200, hob_buf_str(&body));
	else
		srv_control_answer(control, 404, "http.not-found", "no such job is queued or runs");
}

/* ---- cancelling */

static void cancel_queued(srv_engine *engine, uint32_t id)
{
	asset *a = srv_asset_at(engine, id);
	srv_asset_next next = {0};
	srv_publish_cancelled(engine, a, NULL, &next);
	srv_record_cancelled(engine, a, &next);
	hob_buf_release(&next.why);
}

/* Cancels a job. False: it is already being checked or stored. */
static bool stop(engine_job *job)
{
	srv_job *life = &job->life;
	if (life->stage == SRV_JOB_COOK ? !srv_pool_cancel(job->engine->jobs->pool, &job->client)
									: !srv_job_rests(life))
		return false;
	srv_job_send(job, SRV_JOB_SAY(STOP));
	assert(life->leave == SRV_JOB_IS_STOPPED || srv_job_leaves(life));
	return true;
}

void srv_engine_cancel_job(srv_engine *engine, srv_control *control)
{
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	srv_job_row row;
	uint32_t id = find_live(engine, control->number);
	engine_job *job = id != HOB_NONE ? srv_engine_job(srv_asset_at(engine, id)->life.job) : NULL;
	hob_error ignored;
	bool done = id == HOB_NONE &&
				srv_past_find_job(engine->store, control->number, (hob_str){0}, &arena, &row, &ignored);
	hob_arena_release(&arena);
	if (id == HOB_NONE) {
		srv_control_answer(control, done ? 409 : 404, done ? "http.conflict" : "http.not-found",
						   done ? "this job is over" : "no such job");
		return;
	}
	bool taken = true;
	if (job)
		taken = stop(job);
	else
		cancel_queued(engine, id);
	if (taken)
		srv_control_accept(control, control->number);
	else
		srv_control_answer(control, 409, "http.conflict",
						   "this job is being checked or stored and will finish in a moment");
}
