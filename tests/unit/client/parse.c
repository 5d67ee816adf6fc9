#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/sha.h>

#include "core/client/client_parse.h"

static void sha256_equals_openssl_for_every_length_and_cut(void **state)
{
	(void)state;
	static uint8_t data[300];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 131 + 7);
	for (size_t size = 0; size <= sizeof data; size++)
		for (size_t cut = 0; cut <= size; cut += 13) {
			uint8_t expected[32];
			char text[65], found[65];
			hobc_sha256 hash;
			SHA256(data, size, expected);
			hobc_sha256_start(&hash);
			hobc_sha256_add(&hash, data, cut);
			hobc_sha256_add(&hash, data + cut, size - cut);
			hobc_sha256_end(&hash, found);
			for (size_t i = 0; i < 32; i++)
				snprintf(text + 2 * i, 3, "%02x", expected[i]);
			assert_string_equal(found, text);
		}
}

typedef struct body {
	char text[256];
	size_t size;
} body;

static int keep(void *user, const uint8_t *data, size_t size)
{
	body *b = user;
	if (size > sizeof b->text - b->size)
		return 0;
	memcpy(b->text + b->size, data, size);
	b->size += size;
	return 1;
}

/* Feeding the bytes at once and one by one must give the same result. */
static hobc_http_state feed(const char *text, hobc_http *http, body *b)
{
	hobc_http single;
	body other = {0};
	size_t size = strlen(text), used = 0;
	memset(b, 0, sizeof *b);
	hobc_http_start(http);
	hobc_http_feed(http, (const uint8_t *)text, size, keep, b);
	hobc_http_start(&single);
	while (used < size && hobc_http_feed(&single, (const uint8_t *)text + used, 1, keep, &other) == 1)
		used++;
	assert_int_equal(single.state, http->state);
	assert_int_equal(other.size, b->size);
	assert_memory_equal(other.text, b->text, b->size);
	return http->state;
}

static void answers_with_a_length_and_with_chunks_are_read(void **state)
{
	(void)state;
	hobc_http http;
	body b;
	assert_int_equal(
		feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCook-State: stale\r\nCook-Rev: 7\r\n\r\nhello", &http,
			 &b),
		HOBC_HTTP_DONE);
	assert_int_equal(b.size, 5);
	assert_true(http.stale && http.rev == 7 && http.keep_alive);
	assert_int_equal(feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: "
						  "chunked\r\n\r\n3;x=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n",
						  &http, &b),
					 HOBC_HTTP_DONE);
	assert_string_equal(b.text, "abc0123456789");
	assert_int_equal(feed("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 206 Part\r\nContent-Range: bytes "
						  "2-4/9\r\nContent-Length: 3\r\n"
						  "Connection: close\r\n\r\nxyz",
						  &http, &b),
					 HOBC_HTTP_DONE);
	assert_true(http.has_range && http.range_first == 2 && http.range_last == 4 && http.range_total == 9 &&
				!http.keep_alive);
}

static void ambiguous_and_boundless_answers_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.1 206 P\r\nContent-Range: bytes 5-4/9\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.1 206 P\r\nContent-Range: bytes 5-9/9\r\nContent-Length: 1\r\n\r\nx",
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		hobc_http http;
		body b;
		if (feed(bad[i], &http, &b) != HOBC_HTTP_BAD)
			fail_msg("accepted: %s", bad[i]);
	}
}

static void a_head_without_end_is_refused(void **state)
{
	(void)state;
	hobc_http http;
	body b = {0};
	hobc_http_start(&http);
	for (int i = 0; i < HOBC_HEAD_MAX + 1; i++)
		hobc_http_feed(&http, (const uint8_t *)"x", 1, keep, &b);
	assert_int_equal(http.state, HOBC_HTTP_BAD);
}

static void note(void *user, const char *event, const char *data, size_t size)
{
	char *out = user;
	(void)size;
	strcat(strcat(strcat(strcat(out, event), "="), data), "|");
}

static void events_are_the_same_in_any_pieces_and_line_ends(void **state)
{
	(void)state;
	static const char text[] = ": hi\r\nid: e.1\r\nevent: asset\r\ndata: a\r\ndata: b\r\n\r\nretry: "
							   "1500\rdata:x\r\rid: bad id\ndata: y\n\ndata: cut";
	for (size_t step = 1; step < sizeof text; step++) {
		char line[64], data[64], out[128] = "";
		hobc_sse sse = {.line = line, .data = data, .room = 64};
		hobc_sse_start(&sse);
		for (size_t at = 0; at < sizeof text - 1; at += step) {
			size_t left = sizeof text - 1 - at;
			assert_true(
				hobc_sse_feed(&sse, (const uint8_t *)text + at, left < step ? left : step, note, out));
		}
		assert_string_equal(out, "asset=a\nb|=x|=y|");
		assert_string_equal(sse.id, "e.1");
		assert_int_equal(sse.retry_ms, 1500);
	}
}

static void an_event_larger_than_its_room_is_refused(void **state)
{
	(void)state;
	char line[16], data[16], out[64] = "";
	hobc_sse sse = {.line = line, .data = data, .room = 16};
	hobc_sse_start(&sse);
	assert_false(hobc_sse_feed(&sse, (const uint8_t *)"data: 12345678\ndata: 12345678\n\n", 31, note, out));
	hobc_sse_start(&sse);
	assert_false(hobc_sse_feed(&sse, (const uint8_t *)"data: 12345678901234567890", 26, note, out));
	assert_string_equal(out, "");
}

static void json_members_are_found_and_unescaped(void **state)
{
	(void)state;
	const char *text = "{\"a\":{\"rev\":1,\"s\":\"}\\\"\"},\"rev\":42,\"t\":\"\\u00e9\\ud83d\\ude00\\n\","
					   "\"l\":[1,\"x\",{}]}";
	hobc_json json = {text, strlen(text)}, value, item;
	uint64_t number;
	char out[32];
	size_t at = 0;
	assert_true(hobc_json_member(json, "rev", &value) && hobc_json_number(value, &number) && number == 42);
	assert_true(hobc_json_member(json, "t", &value) && hobc_json_text(value, out, sizeof out));
	assert_string_equal(out, "\xc3\xa9\xf0\x9f\x98\x80\n");
	assert_false(hobc_json_member(json, "none", &value));
	assert_true(hobc_json_member(json, "l", &value));
	int count = 0;
	while (hobc_json_item(value, &at, &item))
		count++;
	assert_int_equal(count, 3);
	for (size_t cut = 0; cut < strlen(text); cut++)
		assert_false(hobc_json_member((hobc_json){text, cut}, "none", &value));
}

static void globs_mean_what_the_daemon_means(void **state)
{
	(void)state;
	assert_true(hobc_glob("props/**", "props/a/b.glb"));
	assert_true(hobc_glob("**/b.glb", "b.glb"));
	assert_true(hobc_glob("a/**/b", "a/b"));
	assert_true(hobc_glob("a/**/*.gl?", "a/x/y/z.glb"));
	assert_false(hobc_glob("a/*.glb", "a/x/y.glb"));
	assert_false(hobc_glob("a?b", "a/b"));
	assert_false(hobc_glob("ab", "abc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sha256_equals_openssl_for_every_length_and_cut),
		cmocka_unit_test(answers_with_a_length_and_with_chunks_are_read),
		cmocka_unit_test(ambiguous_and_boundless_answers_are_refused),
		cmocka_unit_test(a_head_without_end_is_refused),
		cmocka_unit_test(events_are_the_same_in_any_pieces_and_line_ends),
		cmocka_unit_test(an_event_larger_than_its_room_is_refused),
		cmocka_unit_test(json_members_are_found_and_unescaped),
		cmocka_unit_test(globs_mean_what_the_daemon_means),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
