#include "inside.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../../core/base/json_write.h"

/* GET /api/v1/changes: the events for polling clients. Without events the request parks until there is
 * one. */

enum { CHANGES_DEFAULT = 100, CHANGES_MAX = 1000 };

typedef struct reading {
	hob_buf body;
	const event_filter *filter;
	uint64_t seq, count, limit;
	const char *epoch;
} reading;

static void each_event(void *user, const srv_event *event)
{
	reading *in = user;
	if (in->count == in->limit)
		return;
	in->seq = event->seq;
	if (!srv_event_filter_passes(in->filter, event))
		return;
	in->count++;
	hob_json_put(&in->body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_KEY("id"));
	hob_buf_printf(&in->body, "\"%s.%" PRIu64 "\"", in->epoch, event->seq);
	hob_json_put(&in->body, HOB_JSON("event", event->kind), HOB_JSON_RAW("data", event->data),
				 HOB_JSON_CLOSE('}'));
}

static enum MHD_Result answer(request *r, reading *in, bool reset)
{
	if (!reset && in->count == 0) {
		hob_buf empty = {0};
		return srv_reply_body(r, MHD_HTTP_NO_CONTENT, &empty, "application/json", "Cache-Control", "no-store",
							  "Last-Event-ID", srv_print(r, "%s.%" PRIu64, in->epoch, in->seq).data, NULL);
	}
	hob_json_put(&in->body, HOB_JSON_CLOSE(']'), HOB_JSON_KEY("next"));
	hob_buf_printf(&in->body, "\"%s.%" PRIu64 "\"", in->epoch, in->seq);
	hob_json_put(&in->body, HOB_JSON_BOOL("reset", reset), HOB_JSON_CLOSE('}'));
	return srv_reply_json(r, MHD_HTTP_OK, &in->body);
}

static enum MHD_Result read_on(request *r, const event_filter *filter, uint64_t limit, uint64_t wait_ms)
{
	srv_http *http = r->http;
	srv_events *events = http->sources.events;
	uint64_t seq = 0;
	since_kind since = srv_event_since(r, &seq);
	bool first = r->deadline_ms == 0;
	if (first) {
		r->deadline_ms = http->now_ms + (int64_t)wait_ms;
		r->poll_since = since == SINCE_SEQ ? seq : srv_events_newest(events);
	}
	reading in = {.filter = filter, .seq = r->poll_since, .limit = limit, .epoch = srv_events_epoch(events)};
	hob_json_put(&in.body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("items", '['));
	bool reset = since == SINCE_LOST;
	while (!reset && in.count < limit) {
		uint64_t before = in.seq;
		reset = !srv_events_read(events, in.seq, CHANGES_MAX, each_event, &in);
		if (in.seq == before)
			break;
	}
	if (reset)
		in.seq = srv_events_newest(events);
	enum MHD_Result result = MHD_YES;
	if (!reset && in.count == 0 && http->now_ms < r->deadline_ms) {
		r->poll_since = in.seq;
		srv_request_park_for_event(r);
	} else {
		result = answer(r, &in, reset);
	}
	hob_buf_release(&in.body);
	return result;
}

enum MHD_Result srv_route_changes(request *r)
{
	uint64_t wait_s, limit;
	event_filter filter = {0};
	if (srv_request_is_foreign(r))
		return srv_reply_problem(r, PROBLEM_FORBIDDEN,
								 "only pages of the daemon itself and programs may listen",
								 "this request comes from '%.*s'", HOB_FMT(r->head.origin));
	if (!srv_request_number(r, "wait", 0, WAIT_MAX_MS / 1000, 0, &wait_s) ||
		!srv_request_number(r, "limit", 1, CHANGES_MAX, CHANGES_DEFAULT, &limit) ||
		!srv_event_filter_init(&filter, r))
		return r->result;
	enum MHD_Result result = read_on(r, &filter, limit, wait_s * 1000);
	srv_event_filter_release(&filter);
	return result;
}

/* ---- GET /api/v1/log: the lines still in the change log, newest last */

enum { LINES_DEFAULT = 500, LINES_MAX = 10000 };

typedef struct lines {
	hob_buf text; /* the JSON objects, concatenated */
	size_t *ends;
	uint32_t count;
} lines;

static void each_line(void *user, const srv_event *event)
{
	lines *in = user;
	if (strcmp(event->kind, "log") != 0)
		return;
	hob_buf_put_str(&in->text, event->data);
	in->ends[in->count++] = in->text.size;
}

enum MHD_Result srv_route_log(request *r)
{
	uint64_t limit;
	if (!srv_request_number(r, "limit", 1, LINES_MAX, LINES_DEFAULT, &limit))
		return r->result;
	srv_events *events = r->http->sources.events;
	uint64_t oldest = srv_events_oldest(events), held = srv_events_newest(events) + 1 - oldest;
	lines in = {.ends = hob_must(malloc((held + 1) * sizeof *in.ends))};
	srv_events_read(events, oldest - 1, (uint32_t)held, each_line, &in);
	hob_buf body = {0};
	hob_json_put(&body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("items", '['));
	for (uint32_t i = in.count > limit ? in.count - (uint32_t)limit : 0; i < in.count; i++) {
		size_t begin = i > 0 ? in.ends[i - 1] : 0;
		hob_json_raw(&body, hob_str_sub(hob_buf_str(&in.text), begin, in.ends[i]));
	}
	hob_json_put(&body, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	hob_buf_release(&in.text);
	free(in.ends);
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}
