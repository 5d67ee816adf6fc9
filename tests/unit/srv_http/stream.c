#include "http_fixture.h"

static int setup(void **state)
{
	*state = fixture_new(NULL);
	return 0;
}

static int teardown(void **state)
{
	fixture_free(*state);
	return 0;
}

static uint64_t publish(fixture *f, const char *kind, const char *asset, const char *data)
{
	return srv_events_publish(f->events, kind, hob_str_of(asset), hob_str_of(data));
}

static client listen_to(fixture *f, const char *query, const char *fields)
{
	client c = client_open(f);
	char head[1024];
	snprintf(head, sizeof head, "GET /api/v1/events%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", query,
			 fields ? fields : "");
	client_send(&c, head);
	return c;
}

/* Number of occurrences of `text` in the connection's data so far. */
static size_t occurrences(const client *c, const char *text)
{
	size_t count = 0;
	for (const char *at = c->data; at && (at = strstr(at, text)); at++)
		count++;
	return count;
}

static void a_listener_is_greeted_and_then_told(void **state)
{
	fixture *f = *state;
	srv_views_publish(f->views, 4182, true);
	client c = listen_to(f, "", NULL);
	client_await(&c, "\n\n");
	client_await(&c, "event: hello");
	client_await(&c, "\"seq\":1000}");
	assert_true(client_has(&c, "HTTP/1.1 200"));
	assert_true(client_has(&c, "Content-Type: text/event-stream"));
	assert_true(client_has(&c, "X-Accel-Buffering: no"));
	assert_true(client_has(&c, "retry: 1000\n"));
	assert_true(client_has(
		&c, "id: 7c1e.1000\nevent: hello\ndata: {\"name\":\"hob\",\"version\":\"9.8.7\",\"epoch\":\"7c1e\","
			"\"rev\":4182,\"seq\":1000}\n\n"));
	publish(f, "asset", "art/a.glb", "{\"rev\":4183}");
	client_await(&c, "id: 7c1e.1001\nevent: asset\ndata: {\"rev\":4183}\n\n");
	publish(f, "job", "", "{\"a\":1}\n{\"b\":2}");
	client_await(&c, "id: 7c1e.1002\nevent: job\ndata: {\"a\":1}\ndata: {\"b\":2}\n\n");
	client_close(&c);
}

static void a_listener_that_comes_back_misses_nothing(void **state)
{
	fixture *f = *state;
	for (int i = 1; i <= 5; i++) {
		char data[32];
		snprintf(data, sizeof data, "{\"n\":%d}", i);
		publish(f, "asset", "art/a.glb", data);
	}
	client c = listen_to(f, "", "Last-Event-ID: 7c1e.1002\r\n");
	client_await(&c, "{\"n\":5}");
	assert_true(client_has(&c, "id: 7c1e.1002\nevent: hello"));
	assert_false(client_has(&c, "{\"n\":2}"));
	assert_true(client_has(&c, "{\"n\":3}"));
	client_close(&c);
	c = listen_to(f, "?since=1004", NULL);
	client_await(&c, "{\"n\":5}");
	assert_false(client_has(&c, "{\"n\":4}"));
	client_close(&c);
	/* The header of a reconnecting browser takes precedence over the parameter in the address. */
	c = listen_to(f, "?since=1000", "Last-Event-ID: 7c1e.1004\r\n");
	client_await(&c, "{\"n\":5}");
	assert_false(client_has(&c, "{\"n\":4}"));
	client_close(&c);
}

static void ids_that_cannot_be_resumed_reset(void **state)
{
	fixture *f = *state;
	for (int i = 0; i < 100; i++)
		publish(f, "asset", "art/a.glb", "{\"old\":1}");
	static const char *const ids[] = {"7c1e.1001", "ffff.1099", "7c1e.9999", "nonsense", "7c1e.", "1000"};
	for (size_t i = 0; i < HOB_COUNT_OF(ids); i++) {
		char field[64];
		snprintf(field, sizeof field, "Last-Event-ID: %s\r\n", ids[i]);
		client c = listen_to(f, "", field);
		client_await(&c, "event: reset\ndata: {\"reason\":\"");
		client_await(&c, "\"oldest\":1037}\n\n");
		assert_true(client_has(&c, "id: 7c1e.1100\nevent: reset"));
		publish(f, "job", "", "{\"x\":1}");
		client_await(&c, "event: job");
		assert_false(client_has(&c, "{\"old\":1}"));
		client_close(&c);
		fixture_free(f);
		*state = f = fixture_new(NULL);
		for (int k = 0; k < 100; k++)
			publish(f, "asset", "art/a.glb", "{\"old\":1}");
	}
}

static void filters_choose_by_kind_and_name(void **state)
{
	fixture *f = *state;
	client jobs = listen_to(f, "?kinds=job,log", NULL),
		   props = listen_to(f, "?asset=art/props/**&kinds=asset", NULL);
	client below = listen_to(f, "?asset=*.glb&asset=tex/?.png", NULL);
	client_await(&jobs, "event: hello");
	client_await(&props, "event: hello");
	client_await(&below, "event: hello");
	publish(f, "asset", "art/props/a/duck.glb", "{\"n\":1}");
	publish(f, "job", "art/props/a/duck.glb", "{\"n\":2}");
	publish(f, "asset", "art/boat.glb", "{\"n\":3}");
	publish(f, "asset", "art/tex/a.png", "{\"n\":4}");
	publish(f, "asset", "art/tex/ab.png", "{\"n\":5}");
	publish(f, "log", "", "{\"n\":6}");
	publish(f, "reset", "", "{\"n\":7}");
	client_await(&jobs, "{\"n\":7}");
	client_await(&props, "{\"n\":7}");
	client_await(&below, "{\"n\":7}");
	static const bool wanted[3][7] = {{0, 1, 0, 0, 0, 1, 1}, {1, 0, 0, 0, 0, 0, 1}, {0, 0, 1, 1, 0, 0, 1}};
	const client *all[] = {&jobs, &props, &below};
	for (size_t i = 0; i < 3; i++)
		for (int n = 1; n <= 7; n++) {
			char text[16];
			snprintf(text, sizeof text, "{\"n\":%d}", n);
			if (client_has(all[i], text) != wanted[i][n - 1])
				fail_msg("listener %zu, event %d", i, n);
		}
	client_close(&jobs);
	client_close(&props);
	client_close(&below);
	expect_problem(get(f, "/api/v1/events?kinds=a,,b"), 400, "bad-request");
	expect_problem(get(f, "/api/v1/events?asset="), 400, "bad-request");
}

static void a_listener_that_does_not_read_gets_a_reset_and_no_memory(void **state)
{
	fixture *f = *state;
	client slow = listen_to(f, "", NULL), fast = listen_to(f, "", NULL);
	client_await(&slow, "event: hello");
	client_await(&fast, "event: hello");
	static char big[200000];
	memset(big, 'x', sizeof big - 1);
	/* Far more than sockets and the ring of 64 can buffer. */
	for (int i = 0; i < 300; i++) {
		char mark[32];
		uint64_t seq = publish(f, "job", "", big);
		snprintf(mark, sizeof mark, "id: 7c1e.%llu\n", (unsigned long long)seq);
		client_await(&fast, mark);
		client_drop(&fast, fast.size - 64);
	}
	publish(f, "job", "", "{\"last\":1}");
	client_await(&fast, "{\"last\":1}");
	assert_false(client_has(&fast, "event: reset"));
	client_await(&slow, "event: reset");
	publish(f, "job", "", "{\"after\":1}");
	client_await(&slow, "{\"after\":1}");
	client_close(&slow);
	client_close(&fast);
}

static void a_listener_that_never_reads_is_dropped(void **state)
{
	(void)state;
	fixture *f = fixture_new(&(srv_http_options){.idle_ms = 1000});
	client deaf = listen_to(f, "", NULL);
	client_await(&deaf, "event: hello");
	static char big[200000];
	memset(big, 'x', sizeof big - 1);
	int64_t until = test_now_ms() + CLIENT_WAIT_MS;
	for (bool gone = false; !gone;) {
		/* Publishes one event at a time: otherwise a slow thread would send only the newest few, which the
		 * socket can buffer. */
		publish(f, "job", "", big);
		answer a = get(f, "/metrics");
		gone = strstr(a.body, "hob_events_clients 0\n") != NULL;
		answer_release(&a);
		if (test_now_ms() > until)
			fail_msg("it holds its place for ever");
	}
	client_close(&deaf);
	fixture_free(f);
}

static void too_many_listeners_are_turned_away(void **state)
{
	(void)state;
	fixture *f = fixture_new(&(srv_http_options){.max_events = 2});
	client a = listen_to(f, "", NULL), b = listen_to(f, "", NULL);
	client_await(&a, "event: hello");
	client_await(&b, "event: hello");
	answer c = get(f, "/api/v1/events");
	assert_problem(&c, 503, "unavailable");
	assert_field(&c, "Retry-After", "10");
	answer_release(&c);
	/* A listener that disconnects frees its slot at once, without waiting for a heartbeat. */
	client_close(&a);
	int64_t until = test_now_ms() + 5000;
	for (bool open = false; !open;) {
		client again = listen_to(f, "", NULL);
		client_await(&again, "\r\n\r\n");
		open = client_has(&again, "HTTP/1.1 200");
		client_close(&again);
		assert_true(test_now_ms() < until);
	}
	client_close(&b);
	fixture_free(f);
}

static void a_stop_ends_every_stream_and_every_wait(void **state)
{
	(void)state;
	for (int turn = 0; turn < 20; turn++) {
		fixture *f = fixture_new(NULL);
		fixture_put(f, "a.glb", SRV_COOKING, 1, NULL, (hob_sha256){0}, 0);
		srv_views_publish(f->views, 1, true);
		client streams[8], polls[4], waits[4];
		f->hold = true;
		for (size_t i = 0; i < HOB_COUNT_OF(streams); i++) {
			streams[i] = listen_to(f, "", NULL);
			client_await(&streams[i], "event: hello");
		}
		for (size_t i = 0; i < HOB_COUNT_OF(polls); i++) {
			polls[i] = client_open(f);
			client_send(&polls[i], "GET /api/v1/changes?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n");
			waits[i] = client_open(f);
			client_send(&waits[i], "GET /a/art/a.glb HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=60\r\n\r\n");
		}
		fixture_await_posts(f, HOB_COUNT_OF(waits));
		int64_t begin = test_now_ms();
		fixture_stop(f);
		assert_true(test_now_ms() - begin < 30000);
		for (size_t i = 0; i < HOB_COUNT_OF(streams); i++) {
			client_await_close(&streams[i]);
			client_close(&streams[i]);
		}
		for (size_t i = 0; i < HOB_COUNT_OF(polls); i++) {
			client_await_close(&polls[i]);
			client_await_close(&waits[i]);
			client_close(&polls[i]);
			client_close(&waits[i]);
		}
		/* The loop answers after the client has gone. */
		fixture_answer_held(f, 200, "{}");
		fixture_free(f);
	}
}

static void silence_is_broken_by_heartbeats(void **state)
{
	fixture *f = *state;
	client c = listen_to(f, "", NULL);
	client_await(&c, "event: hello");
	client_await(&c, "\n:\n\n");
	assert_int_equal(occurrences(&c, "event:"), 1);
	client_close(&c);
}

/* ---- long poll */

static void changes_come_at_once_when_there_are_some(void **state)
{
	fixture *f = *state;
	publish(f, "asset", "art/a.glb", "{\"n\":1}");
	publish(f, "job", "art/a.glb", "{\"n\":2}");
	answer a = get(f, "/api/v1/changes?since=1000&wait=60");
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body,
						"{\"items\":[{\"id\":\"7c1e.1001\",\"event\":\"asset\",\"data\":{\"n\":1}},"
						"{\"id\":\"7c1e.1002\",\"event\":\"job\",\"data\":{\"n\":2}}],\"next\":\"7c1e.1002\","
						"\"reset\":false}\n");
	answer_release(&a);
	a = get(f, "/api/v1/changes?since=7c1e.1000&limit=1");
	assert_has(&a, "\"next\":\"7c1e.1001\"");
	answer_release(&a);
	a = get(f, "/api/v1/changes?since=7c1e.1000&kinds=job");
	assert_has(&a, "[{\"id\":\"7c1e.1002\"");
	answer_release(&a);
	a = get(f, "/api/v1/changes?since=ffff.3");
	assert_has(&a, "\"items\":[],\"next\":\"7c1e.1002\",\"reset\":true");
	answer_release(&a);
	a = get(f, "/api/v1/changes?since=1002");
	assert_int_equal(a.status, 204);
	answer_release(&a);
	a = get(f, "/api/v1/changes");
	assert_int_equal(a.status, 204);
	answer_release(&a);
	expect_problem(get(f, "/api/v1/changes?wait=61"), 400, "bad-request");
	expect_problem(get(f, "/api/v1/changes?limit=0"), 400, "bad-request");
	expect_problem(get(f, "/api/v1/changes?limit=x"), 400, "bad-request");
}

static void changes_wait_for_the_event_that_is_asked_for(void **state)
{
	fixture *f = *state;
	client c = client_open(f);
	client_send(&c, "GET /api/v1/changes?since=1000&wait=60&kinds=asset HTTP/1.1\r\nHost: localhost\r\n\r\n");
	/* A request on another connection is served meanwhile: the wait does not block. */
	answer a = get(f, "/livez");
	assert_int_equal(a.status, 200);
	answer_release(&a);
	publish(f, "job", "art/a.glb", "{\"n\":1}");
	publish(f, "asset", "art/a.glb", "{\"n\":2}");
	a = client_take(&c, false);
	assert_int_equal(a.status, 200);
	assert_has(&a, "{\"items\":[{\"id\":\"7c1e.1002\",\"event\":\"asset\",\"data\":{\"n\":2}}]");
	answer_release(&a);
	/* The connection stays usable. */
	int64_t begin = test_now_ms();
	a = client_request(&c, "GET", "/api/v1/changes?wait=1", NULL);
	assert_int_equal(a.status, 204);
	assert_true(test_now_ms() - begin >= 900);
	answer_release(&a);
	client_close(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_listener_is_greeted_and_then_told),
		TEST(a_listener_that_comes_back_misses_nothing),
		TEST(ids_that_cannot_be_resumed_reset),
		TEST(filters_choose_by_kind_and_name),
		TEST(a_listener_that_does_not_read_gets_a_reset_and_no_memory),
		cmocka_unit_test(a_listener_that_never_reads_is_dropped),
		cmocka_unit_test(too_many_listeners_are_turned_away),
		cmocka_unit_test(a_stop_ends_every_stream_and_every_wait),
		TEST(silence_is_broken_by_heartbeats),
		TEST(changes_come_at_once_when_there_are_some),
		TEST(changes_wait_for_the_event_that_is_asked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
