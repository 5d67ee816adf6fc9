#include "http_fixture.h"

static const char text[] = "0123456789abcdef";

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

static void path_of(hob_sha256 digest, char out[80])
{
	memcpy(out, "/blobs/", 7);
	hob_sha256_text(&digest, out + 7);
}

static void a_blob_comes_whole_with_its_headers(void **state)
{
	fixture *f = *state;
	char path[80], etag[80];
	path_of(fixture_blob(f, text, 16), path);
	snprintf(etag, sizeof etag, "\"%s\"", path + 7);
	answer a = get(f, path);
	assert_int_equal(a.status, 200);
	assert_memory_equal(a.body, text, 16);
	assert_int_equal(a.size, 16);
	assert_field(&a, "ETag", etag);
	assert_field(&a, "Cache-Control", "public, max-age=31536000, immutable");
	assert_field(&a, "Accept-Ranges", "bytes");
	assert_field(&a, "Vary", "Accept-Encoding");
	assert_field(&a, "Cross-Origin-Resource-Policy", "same-origin");
	assert_field(&a, "X-Content-Type-Options", "nosniff");
	assert_field(&a, "Content-Type", "application/octet-stream");
	answer_release(&a);
	a = ask(f, "HEAD", path, NULL);
	assert_int_equal(a.status, 200);
	assert_field(&a, "Content-Length", "16");
	assert_int_equal(a.size, 0);
	answer_release(&a);
}

static void unchanged_blobs_are_not_sent_again(void **state)
{
	fixture *f = *state;
	char path[80], field[200];
	path_of(fixture_blob(f, text, 16), path);
	static const char *const same[] = {"\"%s\"", "W/\"%s\"", "\"x\", \"%s\"", "*"};
	client c = client_open(f);
	for (size_t i = 0; i < HOB_COUNT_OF(same); i++) {
		char list[160];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(list, sizeof list, same[i], path + 7);
#pragma GCC diagnostic pop
		snprintf(field, sizeof field, "If-None-Match: %s\r\n", list);
		answer a = client_request(&c, "GET", path, field);
		assert_int_equal(a.status, 304);
		assert_field(&a, "Content-Length", "16");
		answer_release(&a);
	}
	answer a = client_request(&c, "GET", path, "If-None-Match: \"other\"\r\n");
	assert_int_equal(a.status, 200);
	answer_release(&a);
	client_close(&c);
}

typedef struct range_case {
	const char *range;
	int status;
	const char *content_range, *body;
} range_case;

static const range_case cases[] = {
	{"bytes=0-0", 206, "bytes 0-0/16", "0"},
	{"bytes=0-15", 206, "bytes 0-15/16", "0123456789abcdef"},
	{"bytes=4-7", 206, "bytes 4-7/16", "4567"},
	{"bytes=10-", 206, "bytes 10-15/16", "abcdef"},
	{"bytes=10-99", 206, "bytes 10-15/16", "abcdef"},
	{"bytes=15-", 206, "bytes 15-15/16", "f"},
	{"bytes=-3", 206, "bytes 13-15/16", "def"},
	{"bytes=-16", 206, "bytes 0-15/16", "0123456789abcdef"},
	{"bytes=-99", 206, "bytes 0-15/16", "0123456789abcdef"},
	{"BYTES=1-2", 206, "bytes 1-2/16", "12"},
	{"bytes=5-99999999999999999999999999", 206, "bytes 5-15/16", "56789abcdef"},
	{"bytes=16-", 416, "bytes */16", NULL},
	{"bytes=99-100", 416, "bytes */16", NULL},
	{"bytes=-0", 416, "bytes */16", NULL},
	{"bytes=99999999999999999999999999-", 416, "bytes */16", NULL},
	/* Several ranges, other units and invalid values are served whole, as the standard allows. */
	{"bytes=0-1,4-5", 200, NULL, "0123456789abcdef"},
	{"bytes=7-4", 200, NULL, "0123456789abcdef"},
	{"bytes=-", 200, NULL, "0123456789abcdef"},
	{"bytes=", 200, NULL, "0123456789abcdef"},
	{"bytes=a-b", 200, NULL, "0123456789abcdef"},
	{"bytes=1-2x", 200, NULL, "0123456789abcdef"},
	{"lines=0-1", 200, NULL, "0123456789abcdef"},
	{"bytes 0-1", 200, NULL, "0123456789abcdef"},
};

static void check_range(client *c, const char *path, const range_case *want)
{
	char field[128];
	snprintf(field, sizeof field, "Range: %s\r\n", want->range);
	answer a = client_request(c, "GET", path, field);
	if (a.status != want->status)
		fail_msg("'%s' gave %d", want->range, a.status);
	if (want->content_range)
		assert_field(&a, "Content-Range", want->content_range);
	if (want->body)
		assert_string_equal(a.body, want->body);
	else
		assert_problem(&a, 416, "range-not-satisfiable");
	answer_release(&a);
}

static void ranges_follow_the_standard(void **state)
{
	fixture *f = *state;
	char path[80];
	path_of(fixture_blob(f, text, 16), path);
	client c = client_open(f);
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++)
		check_range(&c, path, &cases[i]);
	client_close(&c);
}

static void an_empty_blob_has_no_range(void **state)
{
	fixture *f = *state;
	char path[80];
	path_of(fixture_blob(f, "", 0), path);
	answer a = get(f, path);
	assert_int_equal(a.status, 200);
	assert_field(&a, "Content-Length", "0");
	answer_release(&a);
	expect_problem(ask(f, "GET", path, "Range: bytes=0-\r\n"), 416, "range-not-satisfiable");
	expect_problem(ask(f, "GET", path, "Range: bytes=-1\r\n"), 416, "range-not-satisfiable");
}

static void if_range_guards_a_resumed_download(void **state)
{
	fixture *f = *state;
	char path[80], fields[200];
	path_of(fixture_blob(f, text, 16), path);
	snprintf(fields, sizeof fields, "Range: bytes=1-2\r\nIf-Range: \"%s\"\r\n", path + 7);
	answer a = ask(f, "GET", path, fields);
	assert_int_equal(a.status, 206);
	answer_release(&a);
	static const char *const others[] = {"\"other\"", "Wed, 21 Oct 2026 07:28:00 GMT"};
	for (size_t i = 0; i < HOB_COUNT_OF(others); i++) {
		snprintf(fields, sizeof fields, "Range: bytes=1-2\r\nIf-Range: %s\r\n", others[i]);
		a = ask(f, "GET", path, fields);
		assert_int_equal(a.status, 200);
		assert_int_equal(a.size, 16);
		answer_release(&a);
	}
	/* A weak tag never validates a range. */
	snprintf(fields, sizeof fields, "Range: bytes=1-2\r\nIf-Range: W/\"%s\"\r\n", path + 7);
	a = ask(f, "GET", path, fields);
	assert_int_equal(a.status, 200);
	answer_release(&a);
}

static void large_blobs_come_whole_and_in_parts(void **state)
{
	fixture *f = *state;
	size_t size = 3000000;
	uint8_t *data = malloc(size);
	assert_non_null(data);
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 13);
	char path[80];
	path_of(fixture_blob(f, data, size), path);
	client c = client_open(f);
	for (int turn = 0; turn < 3; turn++) {
		answer a = client_request(&c, "GET", path, NULL);
		assert_int_equal(a.status, 200);
		assert_int_equal(a.size, size);
		assert_memory_equal(a.body, data, size);
		answer_release(&a);
		a = client_request(&c, "GET", path, "Range: bytes=1000000-1999999\r\n");
		assert_int_equal(a.status, 206);
		assert_int_equal(a.size, 1000000);
		assert_memory_equal(a.body, data + 1000000, 1000000);
		answer_release(&a);
	}
	client_close(&c);
	free(data);
}

static void names_that_are_no_hash_are_refused(void **state)
{
	fixture *f = *state;
	static const char *const bad[] = {
		"/blobs/abc", "/blobs/ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789",
		"/blobs/..%2f..%2fetc%2fpasswd",
		"/blobs/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef00"};
	for (size_t i = 0; i < HOB_COUNT_OF(bad); i++)
		expect_problem(get(f, bad[i]), 400, "bad-request");
	expect_problem(get(f, "/blobs/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"), 404,
				   "not-found");
}

static void more_blobs_than_the_cache_holds_are_all_served(void **state)
{
	fixture *f = *state;
	client c = client_open(f);
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < 3000; i++) {
			char body[32], path[80];
			int size = snprintf(body, sizeof body, "blob %d", i);
			path_of(fixture_blob(f, body, (size_t)size), path);
			answer a = client_request(&c, "GET", path, NULL);
			assert_string_equal(a.body, body);
			answer_release(&a);
		}
	client_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_blob_comes_whole_with_its_headers, setup, teardown),
		cmocka_unit_test_setup_teardown(unchanged_blobs_are_not_sent_again, setup, teardown),
		cmocka_unit_test_setup_teardown(ranges_follow_the_standard, setup, teardown),
		cmocka_unit_test_setup_teardown(an_empty_blob_has_no_range, setup, teardown),
		cmocka_unit_test_setup_teardown(if_range_guards_a_resumed_download, setup, teardown),
		cmocka_unit_test_setup_teardown(large_blobs_come_whole_and_in_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(names_that_are_no_hash_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(more_blobs_than_the_cache_holds_are_all_served, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
