#include "http_fixture.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

/* Many connections at once. The library's own thread stalls for minutes when exactly 128, 256 or 384 of them
 * are ready together, because it waits with the long timeout after a full batch; ours must not. */

static void crowds_of_any_size_are_served_without_a_stall(void **state)
{
	(void)state;
	static const size_t sizes[] = {1, 127, 128, 129, 256, 384, 500};
	fixture *f = fixture_new(NULL);
	char path[80] = "/blobs/";
	static char body[1024];
	hob_sha256 digest = fixture_blob(f, body, sizeof body);
	hob_sha256_text(&digest, path + 7);
	for (size_t s = 0; s < HOB_COUNT_OF(sizes); s++) {
		client *crowd = calloc(sizes[s], sizeof *crowd);
		assert_non_null(crowd);
		for (size_t i = 0; i < sizes[s]; i++)
			crowd[i] = client_open(f);
		int64_t longest = 0; /* between two answers; their sum depends on the load of the machine */
		for (int turn = 0; turn < 10; turn++) {
			char head[256];
			snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
			for (size_t i = 0; i < sizes[s]; i++)
				client_send(&crowd[i], head);
			for (size_t i = 0; i < sizes[s]; i++) {
				int64_t begin = test_now_ms();
				answer a = client_take(&crowd[i], false);
				int64_t silence = test_now_ms() - begin;
				if (silence > longest)
					longest = silence;
				assert_int_equal(a.status, 200);
				assert_int_equal(a.size, sizeof body);
				answer_release(&a);
			}
		}
		if (longest > 10000)
			fail_msg("%zu connections: no answer for %lld ms", sizes[s], (long long)longest);
		for (size_t i = 0; i < sizes[s]; i++)
			client_close(&crowd[i]);
		free(crowd);
	}
	fixture_free(f);
}

static void hundreds_of_listeners_get_every_event(void **state)
{
	(void)state;
	enum { LISTENERS = 300, EVENTS = 50 };
	fixture *f = fixture_new(NULL);
	static client listeners[LISTENERS];
	for (int i = 0; i < LISTENERS; i++) {
		listeners[i] = client_open(f);
		client_send(&listeners[i], "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
	}
	for (int i = 0; i < LISTENERS; i++)
		client_await(&listeners[i], "event: hello");
	for (int i = 1; i <= EVENTS; i++) {
		char data[32];
		int size = snprintf(data, sizeof data, "{\"n\":%d}", i);
		srv_events_publish(f->events, "asset", HOB_STR("art/a.glb"), (hob_str){data, (size_t)size});
	}
	for (int i = 0; i < LISTENERS; i++) {
		client_await(&listeners[i], "{\"n\":50}");
		for (int n = 1; n <= EVENTS; n++) {
			char text[32];
			snprintf(text, sizeof text, "{\"n\":%d}", n);
			assert_true(client_has(&listeners[i], text));
		}
		client_close(&listeners[i]);
	}
	fixture_free(f);
}

static void threads_have_equal_shares_of_connections_and_count_together(void **state)
{
	(void)state;
	enum { THREADS = 4, EACH = 3, CLIENTS = THREADS * EACH };
	fixture *f = fixture_new(&(srv_http_options){.threads = THREADS, .max_events = CLIENTS - 2});
	client clients[CLIENTS];
	char line[64];
	for (int i = 0; i < CLIENTS; i++) { /* served without the loop, which the fixture lacks */
		clients[i] = client_open(f);
		answer a = client_request(&clients[i], "GET", "/livez", NULL);
		assert_int_equal(a.status, 200);
		answer_release(&a);
	}
	answer a = client_request(&clients[0], "GET", "/metrics", NULL);
	for (int i = 0; i < THREADS; i++) {
		snprintf(line, sizeof line, "hob_http_thread_connections{thread=\"%d\"} %d\n", i, EACH);
		assert_has(&a, line);
	}
	snprintf(line, sizeof line, "hob_http_connections %d\n", CLIENTS);
	assert_has(&a, line);
	snprintf(line, sizeof line, "hob_http_requests_total{route=\"/livez\",code=\"200\"} %d\n", CLIENTS);
	assert_has(&a, line);
	answer_release(&a);

	for (int i = 0; i < CLIENTS - 2; i++) {
		client_send(&clients[i], "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
		client_await(&clients[i], "event: hello");
	}
	expect_problem(client_request(&clients[CLIENTS - 1], "GET", "/api/v1/events", NULL), 503, "unavailable");
	a = client_request(&clients[CLIENTS - 2], "GET", "/api/v1/clients", NULL);
	snprintf(line, sizeof line, "\"count\":%d,\"connections\":%d,", CLIENTS - 2, CLIENTS);
	assert_has(&a, line);
	const char *at = (const char *)a.body;
	int listed = 0;
	while ((at = strstr(at, "\"address\":")) != NULL)
		listed++, at++;
	assert_int_equal(listed, CLIENTS - 2);
	answer_release(&a);
	srv_events_publish(f->events, "asset", HOB_STR("art/a.glb"), HOB_STR("{\"n\":1}"));
	for (int i = 0; i < CLIENTS - 2; i++)
		client_await(&clients[i], "{\"n\":1}");
	for (int i = 0; i < CLIENTS; i++)
		client_close(&clients[i]);
	fixture_free(f);
}

static void every_listed_address_is_served(void **state)
{
	(void)state;
	temp_folder folder;
	folder_make(&folder);
	char list[256], path[160];
	snprintf(path, sizeof path, "%s/hob.sock", folder.path);
	for (int turn = 0; turn < 2; turn++) {
		snprintf(list, sizeof list, "127.0.0.1:0,unix:%s", path);
		fixture *f = fixture_new(&(srv_http_options){.listen = list});
		answer a = get(f, "/livez");
		assert_int_equal(a.status, 200);
		answer_release(&a);
		client c = {.fd = socket(AF_UNIX, SOCK_STREAM, 0)};
		struct sockaddr_un address = {.sun_family = AF_UNIX};
		strcpy(address.sun_path, path);
		assert_int_equal(connect(c.fd, (struct sockaddr *)&address, sizeof address), 0);
		a = client_request(&c, "GET", "/api/v1", NULL);
		assert_int_equal(a.status, 200);
		answer_release(&a);
		client_close(&c);
		fixture_free(f);
		assert_int_equal(access(path, F_OK), -1);
		/* A stale socket of a killed daemon is replaced. */
		int dead = socket(AF_UNIX, SOCK_STREAM, 0);
		assert_int_equal(bind(dead, (struct sockaddr *)&address, sizeof address), 0);
		close(dead);
	}
	folder_remove(&folder);
}

static void a_taken_or_impossible_address_is_refused_with_a_remedy(void **state)
{
	(void)state;
	fixture *f = fixture_new(NULL);
	srv_http_sources sources = {.views = f->views, .events = f->events, .store = f->store, .version = "1"};
	srv_http *second = NULL;
	hob_error err = {0};
	assert_false(srv_http_start(&(srv_http_options){.listen = f->host}, &sources, &second, &err));
	assert_int_equal(err.code, HOB_ERR_LOCKED);
	assert_non_null(strstr(err.context, "in use by another program; use --listen"));
	static const char *const bad[] = {"",		"7780",	 "localhost",	   "127.0.0.1:", "127.0.0.1:99999",
									  "::1:80", "[::1]", "example.com:80", "unix:",		 "127.0.0.1:80x"};
	for (size_t i = 0; i < HOB_COUNT_OF(bad); i++) {
		err = (hob_error){0};
		assert_false(srv_http_start(&(srv_http_options){.listen = bad[i]}, &sources, &second, &err));
		if (err.code != HOB_ERR_CONFIG)
			fail_msg("'%s': %s", bad[i], err.context);
	}
	assert_null(second);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crowds_of_any_size_are_served_without_a_stall),
		cmocka_unit_test(hundreds_of_listeners_get_every_event),
		cmocka_unit_test(threads_have_equal_shares_of_connections_and_count_together),
		cmocka_unit_test(every_listed_address_is_served),
		cmocka_unit_test(a_taken_or_impossible_address_is_refused_with_a_remedy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
