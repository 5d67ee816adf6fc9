#include "engine_publish.h"

#include "../../core/base/json_write.h"
#include "../cook/error_json.h"

#include <assert.h>

enum { LONG_MS = 1000 }; /* the stages of longer jobs are kept, whatever their result */

void srv_publish_job(engine_job *job, const char *state)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	hob_own_buf data = {0};
	hob_json_put(&data, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("id", job->life.order.id),
				 HOB_JSON("state", state), HOB_JSON("asset", a->full));
	if (job->life.stage == SRV_JOB_COOK)
		hob_json_put(&data, HOB_JSON_MS("expected_ms", srv_engine_expected_ns(engine, a)));
	hob_json_close(&data, '}');
	srv_publish_event(&engine->publish, "job", hob_str_of(a->full), hob_buf_str(&data));
	if (job->life.order.priority < SRV_PRIORITY_BACKGROUND)
		engine->publish.prompt = true;
}

static void note_time(srv_engine_times *times, uint64_t ns)
{
	static const uint32_t bounds[] = {SRV_ENGINE_TIME_BOUNDS};
	uint32_t slot = 0;
	while (slot < HOB_COUNT_OF(bounds) && ns > (uint64_t)bounds[slot] * 1000000)
		slot++;
	assert(slot < HOB_COUNT_OF(times->counts));
	times->counts[slot]++;
	times->sum_ns += ns;
}

static uint64_t between_ns(int64_t from_ms, int64_t to_ms)
{
	return to_ms > from_ms ? (uint64_t)(to_ms - from_ms) * 1000000 : 0;
}

static void note_activity(srv_engine *engine, const srv_job_row *row)
{
	static const char *const names[SRV_ACTIVITY_RESULTS] = {"cooked", "hit", "failed", "cancelled"};
	srv_activity_job job = {.result = SRV_ACTIVITY_REUSED, /* "fetched": from another cache */
							.queued_at_ms = row->queued_at_ms,
							.started_at_ms = row->started_at_ms,
							.finished_at_ms = row->finished_at_ms,
							.cook_ns = row->cook_ns,
							.asset = row->asset};
	for (int i = 0; i < SRV_ACTIVITY_RESULTS; i++)
		if (hob_str_equal(row->result, hob_str_of(names[i])))
			job.result = (srv_activity_result)i;
	srv_activity_note(engine->jobs->activity, &job);
}

void srv_record_job(engine_job *job, const char *result, const hob_sha256 *record, const hob_error *error)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	hob_own_buf reasons = {0}, text = {0};
	bool skipped = strcmp(result, "failed") == 0 && srv_asset_is_skipped(a);
	result = skipped ? "skipped" : result;
	hob_buf_printf(&reasons, "[%.*s]", HOB_FMT(hob_buf_str(&job->life.order.why)));
	if (error) {
		hob_own_buf plain = {0};
		srv_error_json(error, "cook", &plain);
		srv_error_of_asset(hob_buf_str(&plain), hob_str_of(a->path), &text);
	} else if (skipped || strcmp(result, "failed") == 0) {
		hob_buf_put_str(&text, hob_buf_str(&a->error));
	}
	srv_job_row row = {.id = job->life.order.id,
					   .asset = hob_str_of(a->full),
					   .reason = hob_buf_str(&reasons),
					   .result = hob_str_of(result),
					   .queued_at_ms = job->life.order.queued_at_ms,
					   .started_at_ms = job->cook.started_at_ms,
					   .finished_at_ms = srv_clock_ms(CLOCK_REALTIME),
					   .error = hob_buf_str(&text)};
	assert(row.id != 0 && row.id <= engine->jobs->last_id);
	if (record)
		row.record = *record;
	if (job->cook.outcome) {
		row.cook_ns = job->cook.outcome->cook_ns;
		row.peak_bytes = job->cook.outcome->peak_bytes;
		row.log = job->cook.outcome->log;
		srv_engine_note_work(engine, a, job->cook.outcome->cpu_ns);
		note_time(&engine->counters.times.queued, between_ns(row.queued_at_ms, row.started_at_ms));
		note_time(&engine->counters.times.cook, row.cook_ns);
		note_time(&engine->counters.times.total, between_ns(row.queued_at_ms, row.finished_at_ms));
	}
	hob_own_buf origin = {0}; /* server/query/why_cooked.c reads it */
	if (job->life.elsewhere) {
		hob_buf_printf(&origin, "%s%s%s", engine->options.upstream,
					   job->remote.author[0] ? SRV_STORE_COOKED_BY : "", job->remote.author);
		row.log = hob_buf_str(&origin);
	}
	hob_own_buf stages = {0};
	if (job->cook.outcome || row.finished_at_ms - row.started_at_ms > LONG_MS)
		srv_job_steps_print(&job->steps, uv_hrtime(), &stages);
	row.stages = hob_buf_str(&stages);
	hob_error failed;
	srv_engine_stored(engine, srv_store_put_job(engine->store, &row, &failed), &failed);
	engine->counters.jobs++;
	if (!skipped)
		note_activity(engine, &row);
	srv_publish_job(job, result);
}

void srv_record_cancelled(srv_engine *engine, const asset *a, const srv_asset_next *order)
{
	hob_own_buf reasons = {0};
	hob_error error;
	hob_buf_printf(&reasons, "[%.*s]", HOB_FMT(hob_buf_str(&order->why)));
	srv_job_row row = {.id = order->id,
					   .asset = hob_str_of(a->full),
					   .reason = hob_buf_str(&reasons),
					   .result = HOB_STR("cancelled"),
					   .queued_at_ms = order->queued_at_ms,
					   .finished_at_ms = srv_clock_ms(CLOCK_REALTIME)};
	assert(row.id <= engine->jobs->last_id);
	srv_engine_stored(engine, srv_store_put_job(engine->store, &row, &error), &error);
	engine->counters.cancelled++;
	engine->counters.jobs++;
	note_activity(engine, &row);
}
