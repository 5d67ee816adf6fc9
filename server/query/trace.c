#include "question.h"

#include "../../core/base/json_write.h"
#include "past_job.h"

#include <stdlib.h>

/* Finished jobs as trace events, for the timelines of browsers and Perfetto. */

enum { STEP = 200, TRACED_MAX = 20000, LANES_MAX = 512, ROWS_ARENA = 256 << 20 };

typedef struct span {
	srv_job_row row; /* without log and error, which may be long */
	bool known;
	uint32_t lane;
} span;

typedef struct trace {
	hob_arena arena;
	span *spans;
	uint32_t count, most;
} trace;

static bool keep_row(trace *t, const srv_job_row *row, hob_error *err)
{
	span *s = &t->spans[t->count++];
	*s = (span){.row = *row, .known = srv_past_was_known(row)};
	s->row.error = s->row.log = (hob_str){0};
	s->row.asset = hob_arena_str(&t->arena, row->asset);
	s->row.reason = hob_arena_str(&t->arena, row->reason);
	s->row.result = hob_arena_str(&t->arena, row->result);
	s->row.stages = hob_arena_str(&t->arena, row->stages);
	return (s->row.asset.data && s->row.reason.data && s->row.result.data && s->row.stages.data) ||
		   hob_fail(err, MEMORY, "no memory left for a trace");
}

static bool read_rows(question *q, trace *t, hob_error *err)
{
	uint64_t before = 0;
	uint32_t count = STEP;
	bool ok = true;
	while (ok && count == STEP && t->count < t->most) {
		hob_own_arena arena;
		srv_job_row *rows = NULL;
		hob_arena_init(&arena, ROWS_ARENA);
		ok = srv_store_jobs(q->reader, q->control->asset, before, STEP, &arena, &rows, &count, err);
		for (uint32_t i = 0; ok && i < count && t->count < t->most; i++) {
			before = rows[i].id;
			if (rows[i].started_at_ms > 0 && rows[i].finished_at_ms >= q->control->since_ms)
				ok = keep_row(t, &rows[i], err);
		}
	}
	return ok;
}

static int by_start(const void *left, const void *right)
{
	const srv_job_row *a = &((const span *)left)->row, *b = &((const span *)right)->row;
	if (a->started_at_ms != b->started_at_ms)
		return a->started_at_ms < b->started_at_ms ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* Puts each job on the first lane that is free when it starts, so lanes are as many as simultaneous jobs. */
static uint32_t place_spans(trace *t)
{
	int64_t free_at[LANES_MAX];
	uint32_t lanes = 0;
	qsort(t->spans, t->count, sizeof *t->spans, by_start);
	for (uint32_t i = 0; i < t->count; i++) {
		const srv_job_row *row = &t->spans[i].row;
		uint32_t lane = 0;
		while (lane < lanes && free_at[lane] > row->started_at_ms)
			lane++;
		if (lane == LANES_MAX)
			lane--;
		lanes = lane < lanes ? lanes : lane + 1;
		free_at[lane] = row->finished_at_ms;
		t->spans[i].lane = lane;
	}
	return lanes;
}

static void put_lane_name(hob_buf *out, uint32_t lane)
{
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("ph", "M"), HOB_JSON("name", "thread_name"),
				 HOB_JSON("pid", 1), HOB_JSON("tid", lane), HOB_JSON_KEY("args"));
	hob_buf_printf(out, "{\"name\":\"lane %u\"}", lane + 1);
	hob_json_close(out, '}');
}

static uint64_t between(int64_t from_ms, int64_t to_ms)
{
	return to_ms > from_ms ? (uint64_t)(to_ms - from_ms) : 0;
}

static void put_span(hob_buf *out, const span *s)
{
	const srv_job_row *row = &s->row;
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("ph", "X"), HOB_JSON("name", row->asset),
				 HOB_JSON("cat", row->result), HOB_JSON("pid", 1), HOB_JSON("tid", s->lane),
				 HOB_JSON("ts", (uint64_t)row->started_at_ms * 1000),
				 HOB_JSON("dur", between(row->started_at_ms, row->finished_at_ms) * 1000),
				 HOB_JSON_OPEN("args", '{'), HOB_JSON("job", row->id), HOB_JSON_BOOL("cached", s->known),
				 HOB_JSON("waited_ms", between(row->queued_at_ms, row->started_at_ms)),
				 HOB_JSON_MS("cook_ms", row->cook_ns), HOB_JSON("peak_bytes", row->peak_bytes),
				 HOB_JSON_RAW("reason", row->reason.len > 0 ? row->reason : HOB_STR("[]")));
	srv_past_put_stages(row->stages, out);
	hob_json_put(out, HOB_JSON_CLOSE('}'), HOB_JSON_CLOSE('}'));
}

static void put_trace(hob_buf *out, const trace *t, uint32_t lanes)
{
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("displayTimeUnit", "ms"),
				 HOB_JSON_OPEN("traceEvents", '['));
	for (uint32_t lane = 0; lane < lanes; lane++)
		put_lane_name(out, lane);
	for (uint32_t i = 0; i < t->count; i++)
		put_span(out, &t->spans[i]);
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
}

int srv_query_trace(question *q)
{
	uint64_t wanted = q->control->number2;
	trace t = {.most = wanted > 0 && wanted < TRACED_MAX ? (uint32_t)wanted : TRACED_MAX};
	hob_error error;
	hob_arena_init(&t.arena, ROWS_ARENA);
	t.spans = HOB_NEW(&t.arena, span, t.most);
	bool ok = t.spans ? read_rows(q, &t, &error) : hob_fail(&error, MEMORY, "no memory left for a trace");
	if (ok)
		put_trace(&q->body, &t, place_spans(&t));
	hob_arena_release(&t.arena);
	return ok ? 200 : srv_query_cannot_read(q, &error);
}
