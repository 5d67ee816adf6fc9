#include "engine_private.h"

#include "../../core/base/json_write.h"

#include <stdlib.h>

/* Jobs as people see them: what is queued and under way from memory, what is over from the store. */

enum { PAST_SCANNED_MAX = 20000, PAST_STEP = 200, PAGE_DEFAULT = 100, PAGE_MAX = 1000 };

static void put_reasons(hob_buf *out, hob_str members)
{
	hob_json_key(out, "reason");
	hob_buf_printf(out, "[%.*s]", HOB_FMT(members));
}

static void put_time_member(hob_buf *out, const char *name, int64_t unix_ms)
{
	hob_json_key(out, name);
	hob_json_time(out, unix_ms);
}

static const char *live_state(const engine_job *job)
{
	if (!job || srv_engine_waits_for_worker(job) || job->twin_of)
		return "queued";
	return job->on_worker ? "cooking" : job->outcome ? "storing" : "checking";
}

static void put_live_job(srv_engine *engine, uint32_t id, hob_buf *out)
{
	const asset *a = &engine->assets[id];
	const engine_job *job = a->life.job;
	hob_json_open(out, '{');
	hob_json_put_u64(out, "id", job ? job->id : a->life.next.id);
	hob_json_put_str(out, "kind", HOB_STR("cook"));
	hob_json_put_str(out, "asset", hob_str_of(a->full));
	hob_json_put_str(out, "state", hob_str_of(live_state(job)));
	hob_json_key(out, "result");
	hob_json_null(out);
	put_time_member(out, "queued_at", job ? job->queued_at_ms : a->life.next.queued_at_ms);
	put_time_member(out, "started_at", job ? job->started_at_ms : 0);
	hob_json_key(out, "expected_ms");
	hob_buf_printf(out, "%.3f", (double)srv_engine_expected_ns(engine, a) / 1e6);
	if (job && job->on_worker) {
		hob_json_key(out, "progress");
		hob_buf_printf(out, "%.3f", (double)job->progress);
		hob_json_put_str(out, "stage", hob_str_of(job->stage));
	}
	srv_priority priority = job ? job->priority : srv_queue_priority(engine->queue, id);
	hob_json_put_str(out, "priority", hob_str_of(srv_priority_name(priority)));
	put_reasons(out, hob_buf_str(job ? &job->reasons : &a->life.next.why));
	hob_json_close(out, '}');
}

bool srv_engine_was_known(const srv_job_row *row)
{
	static const hob_sha256 none;
	bool failed = hob_str_equal(row->result, HOB_STR("failed"));
	return hob_str_equal(row->result, HOB_STR("hit")) || hob_str_equal(row->result, HOB_STR("fetched")) ||
		   (failed && row->cook_ns == 0 && !hob_sha256_equal(&row->recipe, &none));
}

void srv_engine_put_job(const srv_job_row *row, hob_buf *out)
{
	hob_json_open(out, '{');
	hob_json_put_u64(out, "id", row->id);
	hob_json_put_str(out, "kind", HOB_STR("cook"));
	hob_json_put_str(out, "asset", row->asset);
	hob_json_put_str(out, "state", HOB_STR("done"));
	hob_json_put_str(out, "result", row->result);
	hob_json_key(out, "cached");
	hob_json_bool(out, srv_engine_was_known(row));
	put_time_member(out, "queued_at", row->queued_at_ms);
	put_time_member(out, "started_at", row->started_at_ms);
	put_time_member(out, "finished_at", row->finished_at_ms);
	hob_json_key(out, "cook_ms");
	hob_buf_printf(out, "%.3f", (double)row->cook_ns / 1e6);
	hob_json_put_u64(out, "peak_bytes", row->peak_bytes);
	hob_json_key(out, "reason");
	hob_json_raw(out, row->reason.len > 0 ? row->reason : HOB_STR("[]"));
	hob_json_key(out, "error");
	hob_json_raw(out, row->error);
	hob_json_close(out, '}');
}

/* ---- lists */

/* True when the list "failed,cooking" is empty or has the word. */
static bool listed(hob_str list, hob_str word)
{
	for (size_t i = 0, end; list.len > 0 && i <= list.len; i = end + 1) {
		end = hob_str_find(list, HOB_STR(","), i);
		if (end == SIZE_MAX)
			end = list.len;
		if (hob_str_equal(hob_str_sub(list, i, end), word))
			return true;
	}
	return list.len == 0;
}

static bool wanted_live(const srv_control *control, const asset *a)
{
	int64_t queued = a->life.job ? a->life.job->queued_at_ms : a->life.next.queued_at_ms;
	return (control->asset.len == 0 || hob_str_equal(control->asset, hob_str_of(a->full))) &&
		   listed(control->text, hob_str_of(live_state(a->life.job))) && queued >= control->since_ms;
}

static uint32_t put_live(srv_engine *engine, const srv_control *control, uint32_t limit, hob_buf *items)
{
	uint32_t given = 0;
	if (control->asset.len == 0 && listed(control->text, HOB_STR("running")))
		srv_engine_put_tasks(engine, false, items);
	for (uint32_t i = 0; i < engine->asset_count && given < limit; i++) {
		const asset *a = &engine->assets[i];
		if (a->life.job && !srv_engine_waits_for_worker(a->life.job) && wanted_live(control, a)) {
			put_live_job(engine, i, items);
			given++;
		}
	}
	for (const engine_job *job = engine->waiting; job && given < limit; job = job->list_next)
		if (wanted_live(control, &engine->assets[job->asset])) {
			put_live_job(engine, job->asset, items);
			given++;
		}
	uint32_t room = srv_queue_count(engine->queue);
	uint32_t *queued = given < limit ? malloc((room + 1) * sizeof *queued) : NULL;
	uint32_t count = queued ? srv_queue_peek(engine->queue, queued, room) : 0;
	for (uint32_t i = 0; i < count && given < limit; i++) {
		if (!wanted_live(control, &engine->assets[queued[i]]))
			continue;
		put_live_job(engine, queued[i], items);
		given++;
	}
	free(queued);
	return given;
}

/* Calls `put` for finished jobs below control->number that pass; returns the last id given when there may be more. */
static uint64_t each_past(srv_engine *engine, const srv_control *control, uint32_t limit,
						  void (*put)(srv_engine *engine, const srv_job_row *row, hob_buf *out), hob_buf *out)
{
	uint64_t before = control->number;
	uint32_t given = 0;
	bool more = true;
	for (uint32_t scanned = 0; more && given < limit && scanned < PAST_SCANNED_MAX; scanned += PAST_STEP) {
		hob_arena arena;
		hob_arena_init(&arena, 256 << 20);
		srv_job_row *rows = NULL;
		uint32_t count = 0;
		hob_error error;
		if (!srv_store_jobs(engine->store, control->asset, before, PAST_STEP, &arena, &rows, &count, &error))
			count = 0;
		more = count == PAST_STEP;
		for (uint32_t i = 0; i < count && given < limit; i++) {
			before = rows[i].id;
			if (rows[i].finished_at_ms < control->since_ms) {
				more = false;
				break;
			}
			if (!listed(control->text, rows[i].result) && !listed(control->text, HOB_STR("done")))
				continue;
			put(engine, &rows[i], out);
			given++;
			more = more || i + 1 < count;
		}
		hob_arena_release(&arena);
	}
	return more && given == limit ? before : 0;
}

static void put_row(srv_engine *engine, const srv_job_row *row, hob_buf *out)
{
	(void)engine;
	srv_engine_put_job(row, out);
}

static void answer_page(srv_control *control, const hob_buf *items, uint64_t next)
{
	hob_buf body = {0};
	hob_buf_printf(&body, "{\"items\":[%.*s]", HOB_FMT(hob_buf_str(items)));
	hob_json_key(&body, "next");
	if (next > 0)
		hob_buf_printf(&body, "\"%llu\"", (unsigned long long)next);
	else
		hob_json_null(&body);
	hob_json_close(&body, '}');
	control->answer(control, 200, hob_buf_str(&body));
	hob_buf_release(&body);
}

static uint32_t page_limit(const srv_control *control)
{
	return control->number2 > 0 && control->number2 <= PAGE_MAX ? (uint32_t)control->number2 : PAGE_DEFAULT;
}

void srv_engine_list_jobs(srv_engine *engine, srv_control *control)
{
	uint32_t limit = page_limit(control), given = 0;
	hob_buf items = {0};
	if (control->number == 0)
		given = put_live(engine, control, limit, &items);
	uint64_t next = 0;
	if (given < limit)
		next = each_past(engine, control, limit - given, put_row, &items);
	answer_page(control, &items, next);
	hob_buf_release(&items);
}

static void put_version(srv_engine *engine, const srv_job_row *row, hob_buf *out)
{
	hob_arena arena;
	hob_arena_init(&arena, 64 << 20);
	srv_recipe recipe = {0};
	hob_error error;
	static const hob_sha256 none;
	bool has = !hob_sha256_equal(&row->recipe, &none) &&
			   srv_store_recipe(engine->store, &row->recipe, &arena, &recipe, &error);
	uint64_t cooked = 0;
	hob_json_open(out, '{');
	hob_json_put_u64(out, "job", row->id);
	hob_json_put_str(out, "result", row->result);
	put_time_member(out, "at", row->finished_at_ms);
	hob_json_key(out, "key");
	hob_json_digest(out, &row->recipe);
	hob_json_key(out, "source");
	hob_json_digest(out, &recipe.source);
	hob_json_key(out, "cook_ms");
	hob_buf_printf(out, "%.3f", (double)recipe.cook_ns / 1e6);
	hob_json_key(out, "stats");
	hob_json_raw(out, recipe.stats);
	hob_json_put_u64(out, "warnings", recipe.warnings);
	hob_json_key(out, "outputs");
	hob_json_open(out, '[');
	for (uint32_t i = 0; has && i < recipe.output_count; i++) {
		hob_json_open(out, '{');
		hob_json_put_str(out, "name", recipe.outputs[i].name);
		hob_json_key(out, "hash");
		hob_json_digest(out, &recipe.outputs[i].digest);
		hob_json_put_u64(out, "size", recipe.outputs[i].size);
		hob_json_close(out, '}');
		cooked += recipe.outputs[i].size;
	}
	hob_json_close(out, ']');
	hob_json_put_u64(out, "cooked_bytes", cooked);
	hob_json_key(out, "reason");
	hob_json_raw(out, row->reason.len > 0 ? row->reason : HOB_STR("[]"));
	hob_json_key(out, "error");
	hob_json_raw(out, row->error.len > 0 ? row->error : recipe.error);
	hob_json_close(out, '}');
	hob_arena_release(&arena);
}

void srv_engine_tell_history(srv_engine *engine, srv_control *control)
{
	hob_buf items = {0};
	uint64_t next = each_past(engine, control, page_limit(control), put_version, &items);
	answer_page(control, &items, next);
	hob_buf_release(&items);
}

/* ---- one job */

/* Ids are given in order and newest rows come first, so one job is a page of one that begins above it. */
bool srv_engine_find_job(srv_engine *engine, const srv_control *control, hob_arena *arena, srv_job_row *out)
{
	srv_job_row *rows;
	uint32_t count;
	hob_error error;
	uint64_t before = control->number > 0 ? control->number + 1 : 0;
	hob_str of = control->number > 0 ? (hob_str){0} : control->asset;
	if (!srv_store_jobs(engine->store, of, before, 1, arena, &rows, &count, &error) || count == 0 ||
		(control->number > 0 && rows[0].id != control->number))
		return false;
	*out = rows[0];
	return true;
}

/* The asset whose queued or running job it is; HOB_NONE. */
static uint32_t find_live(const srv_engine *engine, uint64_t id)
{
	for (uint32_t i = 0; i < engine->asset_count; i++) {
		const asset *a = &engine->assets[i];
		if (id > 0 && (a->life.job ? a->life.job->id == id : a->life.next.id == id))
			return i;
	}
	return HOB_NONE;
}

void srv_engine_tell_job(srv_engine *engine, srv_control *control)
{
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	hob_buf body = {0};
	srv_job_row row;
	uint32_t live = find_live(engine, control->number);
	if (live != HOB_NONE)
		put_live_job(engine, live, &body);
	else if (srv_engine_find_job(engine, control, &arena, &row))
		srv_engine_put_job(&row, &body);
	else
		srv_engine_put_task(engine, control->number, &body);
	if (body.size > 0)
		control->answer(control, 200, hob_buf_str(&body));
	else
		srv_engine_answer(control, 404, "http.not-found", "no such job");
	hob_buf_release(&body);
	hob_arena_release(&arena);
}

void srv_engine_tell_log(srv_engine *engine, srv_control *control)
{
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	srv_job_row row;
	if (srv_engine_find_job(engine, control, &arena, &row))
		control->answer(control, 200, row.log);
	else
		srv_engine_answer(control, 404, "http.not-found",
						  control->number > 0 ? "no such job has finished"
											  : "no job of this asset has finished yet");
	hob_arena_release(&arena);
}

/* ---- cancelling */

static void cancel_queued(srv_engine *engine, uint32_t id)
{
	asset *a = &engine->assets[id];
	hob_buf reasons = {0};
	hob_error error;
	srv_asset_next next = {0};
	srv_publish_cancelled(engine, a, NULL, &next);
	hob_buf_printf(&reasons, "[%.*s]", HOB_FMT(hob_buf_str(&next.why)));
	srv_job_row row = {.id = next.id,
					   .asset = hob_str_of(a->full),
					   .reason = hob_buf_str(&reasons),
					   .result = HOB_STR("cancelled"),
					   .queued_at_ms = next.queued_at_ms,
					   .finished_at_ms = srv_engine_now_ms()};
	if (srv_store_put_job(engine->store, &row, &error))
		engine->publish.rows = true;
	engine->counters.cancelled++;
	engine->counters.jobs++;
	srv_engine_note_activity(engine, &row);
	hob_buf_release(&next.why);
	hob_buf_release(&reasons);
}

/* For a worker, or for the same cook of a copy. */
static bool cancel_waiting(srv_engine *engine, engine_job *job)
{
	if (!job->twin_of)
		(void)srv_engine_hurry_claim(job);
	for (engine_job **at = job->twin_of ? &job->twin_of->twins : &engine->waiting; *at;
		 at = &(*at)->list_next) {
		if (*at != job)
			continue;
		*at = job->list_next;
		engine->counters.cancelled++;
		srv_publish_cancelled(engine, &engine->assets[job->asset], job, NULL);
		srv_record_job(job, "cancelled", NULL, NULL);
		srv_job_end(job);
		return true;
	}
	return false;
}

void srv_engine_cancel_job(srv_engine *engine, srv_control *control)
{
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	srv_job_row row;
	uint32_t id = find_live(engine, control->number);
	engine_job *job = id != HOB_NONE ? engine->assets[id].life.job : NULL;
	bool done = id == HOB_NONE && srv_engine_find_job(engine, control, &arena, &row);
	hob_arena_release(&arena);
	if (id == HOB_NONE) {
		srv_engine_answer(control, done ? 409 : 404, done ? "http.conflict" : "http.not-found",
						  done ? "this job is over" : "no such job");
		return;
	}
	bool taken = true;
	if (!job) {
		cancel_queued(engine, id);
	} else if (job->on_worker) {
		job->stopped = true;
		taken = srv_pool_cancel(engine->pool, job);
	} else {
		taken = cancel_waiting(engine, job);
	}
	hob_buf body = {0};
	hob_buf_printf(&body, "{\"job\":%llu}", (unsigned long long)control->number);
	if (taken)
		control->answer(control, 202, hob_buf_str(&body));
	else
		srv_engine_answer(control, 409, "http.conflict",
						  "this job is being checked or stored and ends by itself in a moment");
	hob_buf_release(&body);
}
