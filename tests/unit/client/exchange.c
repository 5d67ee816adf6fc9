#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/client/client_parse.h"
#include "core/client/hob_client.h"

/* A server simulated by the test: each connection is a socket pair, and the test advances the time. */
typedef struct stage {
	int peers[32], count, refuse;
	int64_t now;
	hobc_client *client;
	hobc_result result;
	hobc_blob *blob;
	int answers, hellos, assets, resets;
	char last_asset[64];
} stage;

static hobc_result pair_open(void *user, const char *host, uint16_t port, int tls, void **connection)
{
	stage *s = user;
	int pair[2];
	(void)host, (void)port, (void)tls;
	if (s->refuse)
		return HOBC_NET;
	assert_true(s->count < 32);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	s->peers[s->count++] = pair[1];
	*connection = (void *)(intptr_t)(pair[0] + 1);
	return HOBC_OK;
}

static int pair_fd(void *user, void *connection)
{
	(void)user;
	return (int)(intptr_t)connection - 1;
}

static long pair_send(void *user, void *connection, const void *data, size_t size)
{
	ssize_t n = send(pair_fd(user, connection), data, size, MSG_NOSIGNAL);
	return n > 0 ? n : -1;
}

static long pair_recv(void *user, void *connection, void *data, size_t room)
{
	ssize_t n = recv(pair_fd(user, connection), data, room, MSG_DONTWAIT);
	return n > 0 ? n : n == 0 ? -1 : 0;
}

static void pair_close(void *user, void *connection)
{
	close(pair_fd(user, connection));
}

static int64_t pair_now(void *user)
{
	return ((stage *)user)->now;
}

static void open_stage(stage *s, const char *cache)
{
	hobc_options options = {.url = "http://test:1", .cache_dir = cache, .max_blob_bytes = 100000};
	*s = (stage){.now = 1000};
	options.net = (hobc_transport){s, pair_open, pair_send, pair_recv, pair_close, pair_fd, pair_now};
	assert_int_equal(hobc_open(&options, &s->client), HOBC_OK);
}

static void close_stage(stage *s)
{
	hobc_blob_release(s->client, s->blob);
	hobc_close(s->client);
	for (int i = 0; i < s->count; i++)
		close(s->peers[i]);
}

static void on_blob(void *user, uint64_t id, hobc_result result, const char *message, hobc_blob *blob)
{
	stage *s = user;
	(void)id;
	assert_non_null(message);
	hobc_blob_release(s->client, s->blob);
	s->answers++;
	s->result = result;
	s->blob = blob;
}

static void on_event(void *user, const hobc_event *event)
{
	stage *s = user;
	s->hellos += event->kind == HOBC_EVENT_HELLO;
	s->resets += event->kind == HOBC_EVENT_RESET;
	s->assets += event->kind == HOBC_EVENT_ASSET;
	snprintf(s->last_asset, sizeof s->last_asset, "%s", event->asset);
}

/* Requests of the client on connection `index` since the last call. */
static const char *asked(stage *s, int index)
{
	static char text[20000];
	hobc_update(s->client, 0);
	assert_true(index < s->count);
	ssize_t n = recv(s->peers[index], text, sizeof text - 1, MSG_DONTWAIT);
	text[n > 0 ? n : 0] = 0;
	return text;
}

static void say(stage *s, int index, const void *data, size_t size)
{
	assert_int_equal(send(s->peers[index], data, size, MSG_NOSIGNAL), (ssize_t)size);
	hobc_update(s->client, 0);
}

static void say_text(stage *s, int index, const char *text)
{
	say(s, index, text, strlen(text));
}

static void say_blob(stage *s, int index, const char *body, const char *etag)
{
	char text[1024];
	snprintf(text, sizeof text,
			 "HTTP/1.1 200 OK\r\nETag: \"%s\"\r\nCook-State: fresh\r\nContent-Length: %zu\r\n\r\n%s", etag,
			 strlen(body), body);
	say_text(s, index, text);
}

static void a_blob_is_given_when_its_hash_is_right_and_only_then(void **state)
{
	(void)state;
	stage s;
	char hash[65];
	open_stage(&s, NULL);
	hobc_sha256_text("cooked", 6, hash);
	assert_int_equal(hobc_get(s.client, "art/a b.glb", "meshes", on_blob, &s, NULL), HOBC_OK);
	assert_non_null(strstr(asked(&s, 0), "GET /a/art/a%20b.glb?output=meshes HTTP/1.1\r\nHost: test:1\r\n"));
	say_blob(&s, 0, "cooked", hash);
	assert_int_equal(s.result, HOBC_OK);
	assert_memory_equal(s.blob->data, "cooked", 6);
	assert_true(s.blob->verified && !s.blob->stale);
	hobc_get_blob(s.client, hash, 0, 0, on_blob, &s, NULL);
	asked(&s, 0);
	say_blob(&s, 0, "cookee", hash);
	assert_int_equal(s.result, HOBC_HASH);
	assert_null(s.blob);
	assert_int_equal(s.count, 1); /* the second request reused the connection */
	close_stage(&s);
}

static void a_kept_connection_that_was_closed_is_tried_once_more(void **state)
{
	(void)state;
	stage s;
	char hash[65];
	open_stage(&s, NULL);
	hobc_sha256_text("x", 1, hash);
	hobc_get_blob(s.client, hash, 0, 0, on_blob, &s, NULL);
	asked(&s, 0);
	say_blob(&s, 0, "x", hash);
	hobc_get_blob(s.client, hash, 0, 0, on_blob, &s, NULL);
	shutdown(s.peers[0], SHUT_RDWR);
	hobc_update(s.client, 0);
	assert_non_null(strstr(asked(&s, 1), hash));
	say_blob(&s, 1, "x", hash);
	assert_int_equal(s.result, HOBC_OK);
	assert_int_equal(s.answers, 2);
	close_stage(&s);
}

static void a_server_that_is_silent_or_too_large_is_an_error(void **state)
{
	(void)state;
	stage s;
	char hash[65];
	open_stage(&s, NULL);
	hobc_sha256_text("x", 1, hash);
	hobc_get_blob(s.client, hash, 0, 0, on_blob, &s, NULL);
	asked(&s, 0);
	say_text(&s, 0, "HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\nx");
	assert_int_equal(s.result, HOBC_TOO_LARGE);
	hobc_get_blob(s.client, hash, 0, 0, on_blob, &s, NULL);
	asked(&s, 1);
	s.now += 15001;
	assert_int_equal(hobc_update(s.client, 0), HOBC_NET);
	assert_int_equal(s.result, HOBC_TIMEOUT);
	assert_int_equal(hobc_update(s.client, 0), HOBC_OK);
	close_stage(&s);
}

static void a_problem_is_told_in_the_daemons_words(void **state)
{
	(void)state;
	stage s;
	open_stage(&s, NULL);
	hobc_get(s.client, "art/none", "meshes", on_blob, &s, NULL);
	asked(&s, 0);
	say_text(&s, 0, "HTTP/1.1 404 No\r\nContent-Length: 15\r\n\r\n{\"detail\":\"no\"}");
	assert_int_equal(s.result, HOBC_NOT_FOUND);
	close_stage(&s);
}

static void a_cancelled_request_never_calls_back(void **state)
{
	(void)state;
	stage s;
	uint64_t id;
	open_stage(&s, NULL);
	hobc_get(s.client, "art/a", "meshes", on_blob, &s, &id);
	hobc_cancel(s.client, id);
	hobc_get(s.client, "art/b", "meshes", on_blob, &s, &id);
	assert_non_null(strstr(asked(&s, 0), "/a/art/b"));
	hobc_cancel(s.client, id);
	hobc_update(s.client, 0);
	assert_int_equal(s.answers, 0);
	close_stage(&s);
}

static void cached_copies_are_asked_about_and_served_while_away(void **state)
{
	(void)state;
	stage s;
	char hash[65], folder[] = "/tmp/hob-client-XXXXXX", path[128];
	assert_non_null(mkdtemp(folder));
	open_stage(&s, folder);
	hobc_sha256_text("cooked", 6, hash);
	hobc_get(s.client, "art/a", "meshes", on_blob, &s, NULL);
	asked(&s, 0);
	say_blob(&s, 0, "cooked", hash);
	hobc_get(s.client, "art/a", "meshes", on_blob, &s, NULL);
	assert_non_null(strstr(asked(&s, 0), "If-None-Match: \""));
	say_text(&s, 0, "HTTP/1.1 304 Same\r\nCook-State: fresh\r\n\r\n");
	assert_true(s.result == HOBC_OK && s.blob->from_cache && !s.blob->stale && s.blob->fetched == 0);
	close(s.peers[0]);
	s.peers[0] = dup(0);
	s.refuse = 1;
	hobc_get(s.client, "art/a", "meshes", on_blob, &s, NULL);
	for (int i = 0; i < 3; i++)
		hobc_update(s.client, 0);
	assert_true(s.result == HOBC_OK && s.blob->stale && s.blob->size == 6);
	snprintf(path, sizeof path, "%s/%s", folder, hash);
	FILE *file = fopen(path, "wb");
	fputs("cookee", file);
	fclose(file);
	hobc_get(s.client, "art/a", "meshes", on_blob, &s, NULL);
	hobc_update(s.client, 0);
	assert_int_equal(s.result, HOBC_NET);
	assert_int_equal(access(path, F_OK), -1);
	close_stage(&s);
	snprintf(path, sizeof path, "rm -r %s", folder);
	assert_int_equal(system(path), 0);
}

static const char stream_head[] =
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";

static void say_event(stage *s, int index, const char *text)
{
	char chunk[512];
	snprintf(chunk, sizeof chunk, "%zx\r\n%s\r\n", strlen(text), text);
	say_text(s, index, chunk);
}

static void the_stream_resumes_after_the_last_event_and_backs_off(void **state)
{
	(void)state;
	stage s;
	open_stage(&s, NULL);
	assert_int_equal(hobc_watch(s.client, "props/**", on_event, &s), HOBC_OK);
	assert_non_null(strstr(asked(&s, 0), "&asset=props/**"));
	say_text(&s, 0, stream_head);
	say_event(&s, 0, "id: e.5\nevent: hello\ndata: {\"rev\":5}\n\n");
	say_event(
		&s, 0,
		"id: e.6\nevent: asset\ndata: {\"rev\":6,\"asset\":\"art/props/a.glb\",\"state\":\"fresh\"}\n\n");
	say_event(&s, 0, "id: e.7\nevent: asset\ndata: {\"rev\":7,\"asset\":\"art/other/a.glb\"}\n\n");
	assert_true(s.hellos == 1 && s.assets == 1);
	assert_string_equal(s.last_asset, "art/props/a.glb");
	shutdown(s.peers[0], SHUT_RDWR);
	assert_int_equal(hobc_update(s.client, 0), HOBC_NET);
	s.now += 200;
	assert_int_equal(hobc_update(s.client, 0), HOBC_OK);
	assert_int_equal(s.count, 1);
	s.now += 60;
	assert_non_null(strstr(asked(&s, 1), "Last-Event-ID: e.7\r\n"));
	say_text(&s, 1, stream_head);
	say_event(&s, 1, "id: f.1\nevent: reset\ndata: {\"reason\":\"other database\"}\n\n");
	assert_int_equal(s.resets, 1);
	s.now += 36000;
	assert_int_equal(hobc_update(s.client, 0), HOBC_NET);
	s.now += 10000;
	assert_non_null(strstr(asked(&s, 2), "Last-Event-ID: f.1\r\n"));
	close_stage(&s);
}

static void a_second_pattern_is_added_to_the_stream(void **state)
{
	(void)state;
	stage s;
	open_stage(&s, NULL);
	hobc_watch(s.client, "a/**", on_event, &s);
	asked(&s, 0);
	hobc_watch(s.client, "b/**", on_event, &s);
	assert_non_null(strstr(asked(&s, 1), "&asset=a/**&asset=b/**"));
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blob_is_given_when_its_hash_is_right_and_only_then),
		cmocka_unit_test(a_kept_connection_that_was_closed_is_tried_once_more),
		cmocka_unit_test(a_server_that_is_silent_or_too_large_is_an_error),
		cmocka_unit_test(a_problem_is_told_in_the_daemons_words),
		cmocka_unit_test(a_cancelled_request_never_calls_back),
		cmocka_unit_test(cached_copies_are_asked_about_and_served_while_away),
		cmocka_unit_test(the_stream_resumes_after_the_last_event_and_backs_off),
		cmocka_unit_test(a_second_pattern_is_added_to_the_stream),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
