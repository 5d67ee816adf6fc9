#include "inside.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "../../core/base/json_write.h"

/* GET /api/v1/events. The ring of the change log is the queue of every listener: a listener has only the
 * number of its last event and one buffer of formatted text. If a client is so slow that the ring has
 * overwritten its position, it gets `reset` and continues with the newest event. A listener with an empty
 * buffer is suspended.
 *
 *   READING --- nothing newer: park ---> ASLEEP --- event, heartbeat, stop: unpark ---> READING */

enum {
	REFILL_EVENTS = 64,
	REFILL_BYTES = 16 << 10,
	KEEP_BYTES = 64 << 10,
	BLOCK_BYTES = 512 /* for answers without chunks, to HTTP/1.0 */
};

struct stream {
	request *request;
	event_filter filter;
	_Atomic uint64_t seq; /* number of the last event examined, whether sent or not; other shards read it */
	hob_buf text;		  /* formatted; bytes from `sent` on are not sent yet */
	size_t sent;
	int64_t wrote_ms, began_ms; /* `began_ms`: Unix time */
	uint64_t client;			/* number in srv_uses */
	char *agent;
	char address[INET6_ADDRSTRLEN];
	bool asleep, over;
	stream *previous, *next;
};

static void put_event_head(hob_buf *out, const char *epoch, uint64_t seq, const char *kind)
{
	hob_buf_printf(out, "id: %s.%" PRIu64 "\nevent: %s\ndata: ", epoch, seq, kind);
}

static void put_data(hob_buf *out, hob_str data)
{
	for (hob_str rest = data, line; hob_str_piece(&rest, '\n', &line);) {
		hob_buf_put_str(out, line);
		hob_buf_put_str(out, rest.data ? HOB_STR("\ndata: ") : HOB_STR(""));
	}
	hob_buf_put_str(out, HOB_STR("\n\n"));
}

static void put_reset(stream *s, const char *reason)
{
	srv_events *events = s->request->http->sources.events;
	uint64_t seq = srv_events_newest(events);
	s->seq = seq;
	put_event_head(&s->text, srv_events_epoch(events), seq, "reset");
	hob_json_object(&s->text, HOB_JSON("reason", reason), HOB_JSON("oldest", srv_events_oldest(events)));
	hob_buf_put_str(&s->text, HOB_STR("\n\n"));
}

static void put_hello(stream *s)
{
	srv_http *http = s->request->http;
	const char *epoch = srv_events_epoch(http->sources.events);
	const srv_view *view = srv_request_view(s->request);
	hob_buf_put_str(&s->text, HOB_STR("retry: 1000\n"));
	put_event_head(&s->text, epoch, s->seq, "hello");
	hob_json_object(&s->text, HOB_JSON("name", "hob"), HOB_JSON("version", http->sources.version),
					HOB_JSON("epoch", epoch), HOB_JSON("rev", view->rev), HOB_JSON("seq", s->seq));
	hob_buf_put_str(&s->text, HOB_STR("\n\n"));
}

static void each_event(void *user, const srv_event *event)
{
	stream *s = user;
	atomic_store_explicit(&s->seq, event->seq, memory_order_relaxed);
	if (!srv_event_filter_passes(&s->filter, event))
		return;
	put_event_head(&s->text, srv_events_epoch(s->request->http->sources.events), event->seq, event->kind);
	put_data(&s->text, event->data);
}

static void refill(stream *s)
{
	srv_events *events = s->request->http->sources.events;
	if (s->text.capacity > KEEP_BYTES)
		hob_buf_release(&s->text);
	hob_buf_clear(&s->text);
	s->sent = 0;
	for (;;) {
		uint64_t before = s->seq;
		if (!srv_events_read(events, s->seq, REFILL_EVENTS, each_event, s)) {
			put_reset(s, "events were dropped before this listener read them");
			return;
		}
		if (s->seq == before || s->text.size >= REFILL_BYTES)
			return;
	}
}

static ssize_t on_read(void *user, uint64_t position, char *out, size_t room)
{
	(void)position;
	stream *s = user;
	srv_http *http = s->request->http;
	if (http->stopping || s->request->gone_ms > 0 || s->text.failed || s->over)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (s->sent == s->text.size)
		refill(s);
	if (s->text.failed)
		return MHD_CONTENT_READER_END_OF_STREAM;
	size_t left = s->text.size - s->sent;
	if (left == 0) {
		s->asleep = true;
		srv_request_park(s->request);
		return 0;
	}
	size_t given = left < room ? left : room;
	memcpy(out, s->text.data + s->sent, given);
	s->sent += given;
	s->wrote_ms = http->now_ms;
	srv_count(&http->response_bytes, given);
	return (ssize_t)given;
}

/* Adds a stream to the list. Changes of the list take the shard's lock, because other shards read it. */
static void link_stream(srv_http *http, stream *s)
{
	pthread_mutex_lock(&http->lock);
	s->next = http->streams;
	if (s->next)
		s->next->previous = s;
	http->streams = s;
	pthread_mutex_unlock(&http->lock);
	srv_count(&http->stream_count, 1);
}

static void unlink_stream(srv_http *http, stream *s)
{
	pthread_mutex_lock(&http->lock);
	*(s->previous ? &s->previous->next : &http->streams) = s->next;
	if (s->next)
		s->next->previous = s->previous;
	pthread_mutex_unlock(&http->lock);
	srv_count(&http->stream_count, (uint64_t)-1);
}

static void on_end(void *user)
{
	hob_own stream *s = user;
	srv_http *http = s->request->http;
	unlink_stream(http, s);
	srv_events_leave(http->sources.events);
	srv_uses_leave(srv_events_uses(http->sources.events), s->client, (const char *const *)s->filter.globs,
				   s->filter.glob_count);
	s->request->stream = NULL;
	srv_event_filter_release(&s->filter);
	hob_buf_release(&s->text);
	free(s->agent);
}

static void wake(stream *s)
{
	s->asleep = false;
	srv_request_unpark(s->request);
}

void srv_stream_hang_up(stream *s)
{
	if (s->asleep)
		wake(s);
}

void srv_streams_wake(srv_http *http)
{
	uint64_t newest = http->streams ? srv_events_newest(http->sources.events) : 0;
	for (stream *s = http->streams; s; s = s->next)
		if (s->asleep && s->seq != newest)
			wake(s);
}

static void end_revoked(srv_http *http)
{
	uint32_t readings = srv_access_readings(http);
	for (stream *s = readings != http->streams_readings ? http->streams : NULL; s; s = s->next)
		if (!srv_access_goes_on(s->request)) {
			s->over = true;
			if (s->asleep)
				wake(s);
		}
	http->streams_readings = readings;
}

void srv_streams_tick(srv_http *http)
{
	end_revoked(http);
	/* A suspended connection does not notice that its peer is gone, but a write does. */
	for (stream *s = http->streams; s; s = s->next)
		if (s->asleep && http->now_ms - s->wrote_ms >= HEARTBEAT_MS) {
			hob_buf_clear(&s->text);
			s->sent = 0;
			hob_buf_put_str(&s->text, HOB_STR(":\n\n"));
			wake(s);
		}
}

static void start(stream *s, since_kind since, uint64_t seq)
{
	srv_events *events = s->request->http->sources.events;
	s->seq = srv_events_newest(events);
	bool held = seq <= s->seq && seq + 1 >= srv_events_oldest(events);
	if (since == SINCE_SEQ && held)
		s->seq = seq;
	put_hello(s);
	if (since == SINCE_LOST)
		put_reset(s, "the id is of another database or unreadable");
	else if (since == SINCE_SEQ && !held)
		put_reset(s, "events after this id are no longer kept");
}

/* ---- the list of listeners */

static void note_client(stream *s)
{
	enum { AGENT_MAX = 100 };
	hob_bytes peer = srv_request_peer(s->request);
	if (!peer.data ||
		!inet_ntop(peer.size > 4 ? AF_INET6 : AF_INET, peer.data, s->address, sizeof s->address))
		memcpy(s->address, "unix", sizeof "unix");
	hob_str agent = hob_str_sub(s->request->head.user_agent, 0, AGENT_MAX);
	s->agent = agent.len > 0 ? strndup(agent.data, agent.len) : NULL;
	s->began_ms = (int64_t)time(NULL) * 1000;
}

static void put_texts(hob_buf *out, const char *name, char *const *texts, uint32_t count)
{
	hob_json_put(out, HOB_JSON_OPEN(name, '['));
	for (uint32_t i = 0; i < count; i++)
		hob_json_str(out, hob_str_of(texts[i]));
	hob_json_close(out, ']');
}

static void put_stream(const stream *s, srv_events *events, uint64_t newest, hob_buf *out)
{
	uint64_t seq = s->seq;
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("address", s->address), HOB_JSON("agent", s->agent),
				 HOB_JSON_TIME("since", s->began_ms));
	put_texts(out, "assets", s->filter.globs, s->filter.glob_count);
	put_texts(out, "kinds", s->filter.kinds, s->filter.kind_count);
	hob_json_put(out, HOB_JSON("uses", srv_uses_count(srv_events_uses(events), s->client)),
				 HOB_JSON("seq", seq), HOB_JSON("behind", newest > seq ? newest - seq : 0),
				 HOB_JSON_CLOSE('}'));
}

void srv_streams_put(srv_http *http, hob_buf *out)
{
	enum { SHOWN_MAX = 1000 };
	srv_events *events = http->sources.events;
	uint64_t newest = srv_events_newest(events);
	uint32_t shown = 0;
	for (uint32_t i = 0; i < http->shard_count; i++) {
		srv_http *shard = &http->first[i];
		SRV_LOCKED(&shard->lock);
		for (const stream *s = shard->streams; s && shown < SHOWN_MAX; s = s->next, shown++)
			put_stream(s, events, newest, out);
	}
}

enum MHD_Result srv_route_events(request *r)
{
	srv_http *http = r->http;
	if (srv_request_is_foreign(r))
		return srv_reply_problem(
			r, PROBLEM_FORBIDDEN,
			"only the daemon's own pages, programs and sites of server.cors_origins may listen",
			"this request comes from '%.*s'", HOB_FMT(r->head.origin));
	if (!srv_request_accepts(r, "text/event-stream"))
		return srv_reply_problem(r, PROBLEM_ACCEPT, "send Accept: text/event-stream",
								 "this resource is text/event-stream");
	if (srv_http_sum(http, offsetof(srv_http, stream_count)) >= http->max_events)
		return srv_reply_problem_text(
			r, PROBLEM_UNAVAILABLE,
			&(problem_text){.detail = HOB_STR("too many listeners"),
							.hint = HOB_STR("share one stream between the tabs of a browser"),
							.retry_after_s = 10});
	stream *s = hob_must(calloc(1, sizeof *s));
	s->request = r;
	if (!srv_event_filter_init(&s->filter, r)) {
		free(s);
		return r->result;
	}
	uint64_t seq = 0;
	since_kind since = srv_event_since(r, &seq);
	start(s, since, seq);
	note_client(s);
	s->wrote_ms = http->now_ms;
	struct MHD_Response *response =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, s, on_end);
	link_stream(http, s);
	srv_events_join(http->sources.events);
	s->client = srv_request_client(r);
	srv_uses_join(srv_events_uses(http->sources.events), s->client, (const char *const *)s->filter.globs,
				  s->filter.glob_count);
	r->stream = s;
	if (!response) {
		on_end(s);
		return MHD_NO;
	}
	srv_response_type(response, "text/event-stream; charset=utf-8");
	srv_response_add(response, "Cache-Control", "no-cache");
	srv_response_add(response, "X-Accel-Buffering", "no");
	return srv_reply(r, MHD_HTTP_OK, response, 0);
}
