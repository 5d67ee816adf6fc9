/* http_fixture.h - a real srv_http on a free port over a real store in a temporary folder, a loop simulated
 * by the test, and a small HTTP client on a plain socket that waits with deadlines and never sleeps. */
#ifndef HOB_TEST_HTTP_FIXTURE_H
#define HOB_TEST_HTTP_FIXTURE_H

#include "tests/unit/support.h"
#include "tests/unit/temp_folder.h"

#include "server/http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CLIENT_WAIT_MS = 120000, HELD_MAX = 64 };

/* ---- the server under test */

typedef struct fixture {
	temp_folder folder;
	srv_store *store;
	srv_views *views;
	srv_events *events;
	srv_http *http;
	uint16_t port;
	char host[64]; /* "127.0.0.1:PORT" */

	/* The loop's answer: at once with `status` and `body`, or later when `hold` is set. */
	pthread_mutex_t lock;
	pthread_cond_t posted;
	bool hold;
	int status;
	const char *body;
	srv_control *held[HELD_MAX];
	uint32_t held_count, post_count;
	srv_control last; /* copy of the newest control */
	char last_asset[256];
	void (*before_answer)(struct fixture *fixture, srv_control *control);
} fixture;

static inline void fixture_post(void *user, srv_control *control)
{
	fixture *f = user;
	pthread_mutex_lock(&f->lock);
	f->last = *control;
	snprintf(f->last_asset, sizeof f->last_asset, "%.*s", HOB_FMT(control->asset));
	f->post_count++;
	bool hold = f->hold;
	if (hold) {
		assert_true(f->held_count < HELD_MAX);
		f->held[f->held_count++] = control;
	}
	int status = f->status;
	hob_str body = hob_str_of(f->body);
	pthread_cond_broadcast(&f->posted);
	pthread_mutex_unlock(&f->lock);
	if (hold)
		return;
	if (f->before_answer)
		f->before_answer(f, control);
	control->answer(control, status, body);
}

/* Makes lists as the thread of questions does, unless `hold` is set; other questions are posted. */
static inline void fixture_question(void *user, srv_control *control)
{
	fixture *f = user;
	if (control->kind != SRV_CONTROL_LIST || f->hold) {
		fixture_post(user, control);
		return;
	}
	hob_buf body = {0};
	const srv_view *view = srv_views_take(f->views);
	control->list(control->query, view, &body);
	srv_view_drop(view);
	control->answer(control, 200, hob_buf_str(&body));
	hob_buf_release(&body);
}

/* Waits until a total of `count` controls were posted. */
static inline void fixture_await_posts(fixture *f, uint32_t count)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CLIENT_WAIT_MS / 1000;
	pthread_mutex_lock(&f->lock);
	while (f->post_count < count)
		assert_int_equal(pthread_cond_timedwait(&f->posted, &f->lock, &until), 0);
	pthread_mutex_unlock(&f->lock);
}

static inline void fixture_answer_held(fixture *f, int status, const char *body)
{
	pthread_mutex_lock(&f->lock);
	srv_control *held[HELD_MAX];
	uint32_t count = f->held_count;
	memcpy(held, f->held, sizeof held);
	f->held_count = 0;
	pthread_mutex_unlock(&f->lock);
	for (uint32_t i = 0; i < count; i++)
		held[i]->answer(held[i], status, hob_str_of(body));
}

static inline void fixture_metrics(void *user, hob_buf *out)
{
	(void)user;
	hob_buf_put_str(
		out, HOB_STR("# HELP hob_test_total Test.\n# TYPE hob_test_total counter\nhob_test_total 7\n"));
}

static inline void fixture_stats(void *user, hob_buf *out)
{
	(void)user;
	hob_buf_put_str(out, HOB_STR(",\"queue\":{\"length\":3}"));
}

static inline void fixture_start(fixture *f, const srv_http_options *options)
{
	hob_error err = {0};
	srv_http_options chosen = options ? *options : (srv_http_options){0};
	if (!chosen.listen)
		chosen.listen = "127.0.0.1:0";
	const char *threads = getenv("HOB_HTTP_THREADS"); /* the suites run with one and with eight */
	if (threads && chosen.threads == 0)
		chosen.threads = (uint32_t)atoi(threads);
	srv_http_sources sources = {.views = f->views,
								.events = f->events,
								.store = f->store,
								.control = {f, fixture_post},
								.query = {f, fixture_question},
								.metrics = fixture_metrics,
								.stats = fixture_stats,
								.version = "9.8.7"};
	if (!srv_http_start(&chosen, &sources, &f->http, &err))
		fail_msg("%s", err.context);
	snprintf(f->host, sizeof f->host, "%s", srv_http_address(f->http));
	unsigned port = 0;
	if (sscanf(f->host, "127.0.0.1:%u", &port) == 1)
		f->port = (uint16_t)port;
}

static inline fixture *fixture_new(const srv_http_options *options)
{
	hob_error err = {0};
	fixture *f = calloc(1, sizeof *f);
	assert_non_null(f);
	signal(SIGPIPE, SIG_IGN);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->posted, NULL);
	f->status = 200;
	f->body = "{}";
	folder_make(&f->folder);
	if (!srv_store_open(f->folder.path, &(srv_store_options){0}, &f->store, NULL, &err))
		fail_msg("%s", err.context);
	f->views = srv_views_new();
	f->events = srv_events_new("7c1e", 1000, 64);
	fixture_start(f, options);
	return f;
}

static inline void fixture_stop(fixture *f)
{
	srv_http_stop(f->http);
	f->http = NULL;
}

static inline void fixture_free(fixture *f)
{
	fixture_stop(f);
	fixture_answer_held(f, 503, "");
	srv_events_free(f->events);
	srv_views_free(f->views);
	srv_store_close(f->store);
	folder_remove(&f->folder);
	pthread_cond_destroy(&f->posted);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static inline hob_sha256 fixture_blob(fixture *f, const void *data, size_t size)
{
	hob_error err = {0};
	hob_sha256 digest;
	if (!srv_blob_put(f->store, (hob_bytes){data, size}, &digest, &err))
		fail_msg("%s", err.context);
	return digest;
}

/* Standing of an asset with this state of 0.2. */
static inline srv_standing standing_of(srv_state state, bool has_error)
{
	switch (state) {
	case SRV_FRESH:
		return SRV_STANDING_FRESH;
	case SRV_STALE:
		return has_error ? SRV_STANDING_BROKEN : SRV_STANDING_UPDATING;
	case SRV_QUEUED:
	case SRV_COOKING:
		return SRV_STANDING_WAITING;
	case SRV_BLOCKED:
		return SRV_STANDING_BLOCKED;
	case SRV_INTERRUPTED:
		return SRV_STANDING_INTERRUPTED;
	case SRV_MISSING:
		return SRV_STANDING_MISSING;
	default:
		return SRV_STANDING_BROKEN;
	}
}

/* An asset "art/<path>" with one output named `output` (none when NULL). */
static inline void fixture_put(fixture *f, const char *path, srv_state state, uint64_t rev,
							   const char *output, hob_sha256 digest, uint64_t size)
{
	char full[512];
	snprintf(full, sizeof full, "art/%s", path);
	srv_view_output out = {hob_str_of(output), digest, size};
	srv_view_asset a = {.root = HOB_STR("art"),
						.path = hob_str_of(path),
						.full = hob_str_of(full),
						.kind = HOB_STR("gltf"),
						.state = state,
						.standing = standing_of(state, false),
						.rev = rev,
						.cooked_at_ms = 1795199489123,
						.cook_ns = 182400000,
						.source_bytes = 120484,
						.cooked_bytes = size,
						.stats = HOB_STR("{\"meshes\":1,\"triangles\":4212}"),
						.outputs = &out,
						.output_count = output ? 1 : 0,
						.quality = "final"};
	srv_asset_id(a.full, a.id);
	srv_views_put(f->views, &a);
}

/* ---- the client */

typedef struct client {
	int fd;
	char *data; /* everything read and not yet consumed */
	size_t size, capacity;
} client;

typedef struct answer {
	int status;
	char head[8192]; /* status line and fields, NUL-terminated */
	char *body;		 /* NUL-terminated; owned */
	size_t size;
} answer;

static inline int64_t test_now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Takes the socket. */
static inline client client_on(const fixture *f, int fd)
{
	client c = {.fd = fd};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(f->port)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(c.fd, (struct sockaddr *)&address, sizeof address), 0);
	return c;
}

static inline client client_open(const fixture *f)
{
	return client_on(f, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static inline void client_close(client *c)
{
	close(c->fd);
	free(c->data);
	*c = (client){.fd = -1};
}

static inline void client_send_bytes(client *c, const void *data, size_t size)
{
	const char *at = data;
	while (size > 0) {
		ssize_t sent = send(c->fd, at, size, MSG_NOSIGNAL);
		if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
			return;
		assert_true(sent > 0);
		at += sent;
		size -= (size_t)sent;
	}
}

static inline void client_send(client *c, const char *text)
{
	client_send_bytes(c, text, strlen(text));
}

/* Reads more data; false when the connection was closed. */
static inline bool client_fill(client *c, int64_t until_ms)
{
	struct pollfd p = {c->fd, POLLIN, 0};
	int64_t left = until_ms - test_now_ms();
	if (left <= 0 || poll(&p, 1, (int)left) <= 0)
		fail_msg("no answer in time; so far: '%.*s'", (int)c->size, c->data ? c->data : "");
	if (c->capacity - c->size < 65536) {
		c->capacity = c->capacity * 2 + 131072;
		c->data = realloc(c->data, c->capacity);
		assert_non_null(c->data);
	}
	ssize_t got = recv(c->fd, c->data + c->size, c->capacity - c->size - 1, 0);
	if (got <= 0)
		return false;
	c->size += (size_t)got;
	c->data[c->size] = 0;
	return true;
}

static inline void client_drop(client *c, size_t count)
{
	memmove(c->data, c->data + count, c->size - count + 1);
	c->size -= count;
}

static inline bool client_has(const client *c, const char *text)
{
	return c->size > 0 && memmem(c->data, c->size, text, strlen(text)) != NULL;
}

/* Waits until `text` was received. */
static inline void client_await(client *c, const char *text)
{
	int64_t until = test_now_ms() + CLIENT_WAIT_MS;
	while (!client_has(c, text))
		if (!client_fill(c, until))
			fail_msg("closed before '%s' came", text);
}

/* Waits until the server closes; true when it did. */
static inline void client_await_close(client *c)
{
	int64_t until = test_now_ms() + CLIENT_WAIT_MS;
	while (client_fill(c, until))
		;
}

/* Value of a field of the head, copied to `out`; false when there is none. */
static inline bool answer_field(const answer *a, const char *name, char *out, size_t room)
{
	char key[80];
	snprintf(key, sizeof key, "\r\n%s: ", name);
	const char *at = strcasestr(a->head, key);
	if (!at)
		return false;
	at += strlen(key);
	size_t size = strcspn(at, "\r\n");
	snprintf(out, room, "%.*s", (int)size, at);
	return true;
}

static inline void assert_field(const answer *a, const char *name, const char *expected)
{
	char value[4096];
	if (!answer_field(a, name, value, sizeof value))
		fail_msg("no field %s in:\n%s", name, a->head);
	assert_string_equal(value, expected);
}

static inline void answer_release(answer *a)
{
	free(a->body);
	*a = (answer){0};
}

/* Takes one answer from the connection. `bodyless`: to a HEAD. Status 0: the server closed without one. */
static inline answer client_take(client *c, bool bodyless)
{
	answer a = {0};
	int64_t until = test_now_ms() + CLIENT_WAIT_MS;
	while (!client_has(c, "\r\n\r\n"))
		if (!client_fill(c, until))
			return a;
	size_t head = (size_t)((char *)memmem(c->data, c->size, "\r\n\r\n", 4) - c->data) + 4;
	assert_true(head < sizeof a.head);
	memcpy(a.head, c->data, head);
	client_drop(c, head);
	assert_int_equal(sscanf(a.head, "HTTP/1.1 %d", &a.status), 1);
	char length[32];
	if (answer_field(&a, "Content-Length", length, sizeof length) && !bodyless && a.status != 304 &&
		a.status != 204)
		a.size = strtoull(length, NULL, 10);
	while (c->size < a.size)
		if (!client_fill(c, until))
			fail_msg("closed after %zu of %zu bytes", c->size, a.size);
	a.body = malloc(a.size + 1);
	assert_non_null(a.body);
	if (a.size > 0) {
		memcpy(a.body, c->data, a.size);
		client_drop(c, a.size);
	}
	a.body[a.size] = 0;
	return a;
}

/* Sends a request on a connection that stays open. `fields`: further lines, each ended by CR LF, or NULL. */
static inline answer client_request(client *c, const char *method, const char *target, const char *fields)
{
	char head[16384];
	int size = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", method, target,
						fields ? fields : "");
	assert_true(size > 0 && (size_t)size < sizeof head);
	client_send(c, head);
	return client_take(c, strcmp(method, "HEAD") == 0);
}

/* Sends a request on a connection of its own. */
static inline answer ask(const fixture *f, const char *method, const char *target, const char *fields)
{
	client c = client_open(f);
	answer a = client_request(&c, method, target, fields);
	client_close(&c);
	return a;
}

static inline answer get(const fixture *f, const char *target)
{
	return ask(f, "GET", target, NULL);
}

static inline answer post_json(const fixture *f, const char *target, const char *body, const char *fields)
{
	client c = client_open(f);
	char *text;
	assert_true(
		asprintf(&text,
				 "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
				 "%zu\r\n%s\r\n%s",
				 target, strlen(body), fields ? fields : "", body) > 0);
	client_send(&c, text);
	free(text);
	answer a = client_take(&c, false);
	client_close(&c);
	return a;
}

static inline void assert_has(const answer *a, const char *text)
{
	if (!a->body || !strstr(a->body, text))
		fail_msg("'%s' is not in the answer %d: %s", text, a->status, a->body ? a->body : "");
}

/* Status and, for problems, media type and the members that every problem has. */
static inline void assert_problem(const answer *a, int status, const char *slug)
{
	char text[128];
	if (a->status != status)
		fail_msg("status %d instead of %d: %s", a->status, status, a->body ? a->body : "");
	assert_field(a, "Content-Type", "application/problem+json");
	snprintf(text, sizeof text, "\"type\":\"/problems/%s\"", slug);
	assert_has(a, text);
	assert_has(a, "\"hint\":\"");
	assert_has(a, "\"detail\":\"");
}

static inline void expect_problem(answer a, int status, const char *slug)
{
	assert_problem(&a, status, slug);
	answer_release(&a);
}

#endif
