#include "http_fixture.h"

#include <sys/resource.h>

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

/* Sends raw bytes and returns the status of the first answer, 0 when the server just closed. */
static int status_of(const fixture *f, const char *request)
{
	client c = client_open(f);
	client_send(&c, request);
	answer a = client_take(&c, strncmp(request, "HEAD", 4) == 0);
	if (a.status >= 400 && a.status != 431 && a.status != 414 && a.body && a.size > 0 &&
		strstr(a.body, "type"))
		assert_field(&a, "Content-Type", "application/problem+json");
	int status = a.status;
	answer_release(&a);
	client_close(&c);
	return status;
}

typedef struct raw_case {
	const char *name, *request;
	int status;
} raw_case;

#define HOST "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"

static const raw_case cases[] = {
	{"plain", "GET /livez HTTP/1.1\r\n" HOST "\r\n", 200},
	{"no host", "GET /livez HTTP/1.1\r\n\r\n", 400},
	{"no host, 1.0", "GET /livez HTTP/1.0\r\n\r\n", 200},
	{"two hosts", "GET /livez HTTP/1.1\r\n" HOST HOST "\r\n", 400},
	{"two different hosts", "GET /livez HTTP/1.1\r\n" HOST "Host: evil.example\r\n\r\n", 400},
	{"blank before the colon", "GET /livez HTTP/1.1\r\nHost : localhost\r\n\r\n", 400},
	{"host with user", "GET /livez HTTP/1.1\r\nHost: user@localhost\r\n\r\n", 400},
	{"host list", "GET /livez HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n", 400},
	{"host with blank", "GET /livez HTTP/1.1\r\nHost: localhost evil.example\r\n\r\n", 400},
	{"host with a bad port", "GET /livez HTTP/1.1\r\nHost: localhost:80a\r\n\r\n", 400},
	{"empty host", "GET /livez HTTP/1.1\r\nHost:\r\n\r\n", 400},
	{"other host", "GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
	{"host that begins like ours", "GET /livez HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 421},
	{"host that ends like ours", "GET /livez HTTP/1.1\r\nHost: evillocalhost\r\n\r\n", 421},
	{"rebinding number", "GET /livez HTTP/1.1\r\nHost: 127.0.0.1.nip.io\r\n\r\n", 421},
	{"sub of localhost", "GET /livez HTTP/1.1\r\nHost: hob.localhost:7780\r\n\r\n", 200},
	{"upper case", "GET /livez HTTP/1.1\r\nHost: LocalHost:7780\r\n\r\n", 200},
	{"address", "GET /livez HTTP/1.1\r\nHost: 192.168.1.17:7780\r\n\r\n", 200},
	{"address 6", "GET /livez HTTP/1.1\r\nHost: [::1]:7780\r\n\r\n", 200},
	{"no address 6", "GET /livez HTTP/1.1\r\nHost: [::1\r\n\r\n", 400},
	{"odd address 6", "GET /livez HTTP/1.1\r\nHost: [zz]\r\n\r\n", 421},
	{"absolute form", "GET http://localhost/livez HTTP/1.1\r\n" HOST "\r\n", 200},
	{"absolute form, no host", "GET http://localhost/livez HTTP/1.1\r\n\r\n", 400},
	{"absolute form, other host", "GET http://evil.example/livez HTTP/1.1\r\n" HOST "\r\n", 421},
	{"asterisk", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 400},
	{"authority", "CONNECT localhost:80 HTTP/1.1\r\n" HOST "\r\n", 400},
	{"unknown method", "BREW /livez HTTP/1.1\r\n" HOST "\r\n", 405},
	{"unknown method, unknown place", "BREW /coffee HTTP/1.1\r\n" HOST "\r\n", 404},
	{"odd method", "G<T /livez HTTP/1.1\r\n" HOST "\r\n", 400},
	{"options", "OPTIONS /api/v1/assets HTTP/1.1\r\n" HOST "\r\n", 405},
	{"put", "PUT /api/v1/stats HTTP/1.1\r\n" HOST JSON "Content-Length: 2\r\n\r\n{}", 405},
	{"two lengths",
	 "POST /api/v1/sync HTTP/1.1\r\n" HOST JSON "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
	{"two equal lengths",
	 "POST /api/v1/sync HTTP/1.1\r\n" HOST JSON "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400},
	{"length and chunks",
	 "POST /api/v1/sync HTTP/1.1\r\n" HOST JSON
	 "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	 400},
	{"chunks",
	 "POST /api/v1/sync HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	 411},
	{"bare CR in a value", "GET /livez HTTP/1.1\r\n" HOST "X-A: b\rX-B: c\r\n\r\n", 400},
	{"bare LF behind a value", "GET /livez HTTP/1.1\r\n" HOST "X-A: b\nX-B: c\r\n\r\n", 400},
	{"control character in a value", "GET /livez HTTP/1.1\r\n" HOST "X-A: \x01\r\n\r\n", 400},
	{"DEL far in a value", "GET /livez HTTP/1.1\r\n" HOST "X-A: 0123456789abcde\x7f 0123456789\r\n\r\n", 400},
	{"control character far in a value", "GET /livez HTTP/1.1\r\n" HOST "X-A: 0123456789\x1f\r\n\r\n", 400},
	{"tab and UTF-8 far in a value",
	 "GET /livez HTTP/1.1\r\n" HOST "X-A: 0123456789\t\xc3\xbc 0123456789\r\n\r\n", 200},
	{"no name", "GET /livez HTTP/1.1\r\n" HOST ": b\r\n\r\n", 400},
	{"no value", "GET /livez HTTP/1.1\r\n" HOST "X-A:\r\n\r\n", 200},
	{"blanks around a value", "GET /livez HTTP/1.1\r\n" HOST "X-A: \t b \r\n\r\n", 200},
	{"blanks behind two values", "GET /livez HTTP/1.1\r\n" HOST "X-A: b \t\r\nX-B: c \r\n\r\n", 200},
	{"a blank and a bare LF", "GET /livez HTTP/1.1\r\n" HOST "X-A: b \nX-B: c \r\n\r\n", 400},
	{"unknown parameter", "GET /api/v1/jobs?outptu=1 HTTP/1.1\r\n" HOST "\r\n", 400},
	{"parameter that a probe adds", "GET /livez?t=1 HTTP/1.1\r\n" HOST "\r\n", 200},
	{"negative length", "POST /api/v1/sync HTTP/1.1\r\n" HOST JSON "Content-Length: -1\r\n\r\n", 400},
	{"huge length", "POST /api/v1/sync HTTP/1.1\r\n" HOST JSON "Content-Length: 99999999\r\n\r\n", 413},
	{"get with a body", "GET /livez HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 400},
	{"folded field", "GET /livez HTTP/1.1\r\n" HOST "X-A: b\r\n folded: c\r\n\r\n", 400},
	{"blank in a field's name", "GET /livez HTTP/1.1\r\n" HOST "X A: b\r\n\r\n", 400},
	{"NUL in the path", "GET /livez%00 HTTP/1.1\r\n" HOST "\r\n", 404},
	{"NUL in an id", "GET /api/v1/assets/a%00b HTTP/1.1\r\n" HOST "\r\n", 400},
	{"CR LF in an id", "GET /api/v1/assets/a%0d%0ab HTTP/1.1\r\n" HOST "\r\n", 400},
	{"bad UTF-8 in an id", "GET /api/v1/assets/%ff HTTP/1.1\r\n" HOST "\r\n", 400},
	{"overlong slash in an id", "GET /api/v1/assets/%c0%af HTTP/1.1\r\n" HOST "\r\n", 400},
	{"half an escape", "GET /api/v1/assets/a%4 HTTP/1.1\r\n" HOST "\r\n", 400},
	{"no escape", "GET /api/v1/assets/a%zz HTTP/1.1\r\n" HOST "\r\n", 400},
	{"NUL in a parameter", "GET /api/v1/assets?q=a%00 HTTP/1.1\r\n" HOST "\r\n", 400},
	{"bad UTF-8 in a parameter", "GET /api/v1/assets?q=%ff HTTP/1.1\r\n" HOST "\r\n", 400},
	{"raw bytes in a name", "GET /a/art/%ff%fe.glb HTTP/1.1\r\n" HOST "\r\n", 404},
	{"NUL in a name", "GET /a/art/a%00.glb HTTP/1.1\r\n" HOST "\r\n", 400},
	{"climbing", "GET /a/art/../../../../etc/passwd HTTP/1.1\r\n" HOST "\r\n", 404},
	{"climbing, escaped", "GET /a/art/%2e%2e%2f%2e%2e%2fetc%2fpasswd HTTP/1.1\r\n" HOST "\r\n", 404},
	{"escaped route", "GET /%61pi/v1 HTTP/1.1\r\n" HOST "\r\n", 404},
	{"escaped slash in a route", "GET /api%2Fv1 HTTP/1.1\r\n" HOST "\r\n", 404},
	{"two slashes", "GET //livez HTTP/1.1\r\n" HOST "\r\n", 404},
	{"slash behind", "GET /livez/ HTTP/1.1\r\n" HOST "\r\n", 404},
	{"fragment", "GET /livez#a HTTP/1.1\r\n" HOST "\r\n", 400},
	{"form",
	 "POST /api/v1/sync HTTP/1.1\r\n" HOST
	 "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b",
	 415},
	{"text", "POST /api/v1/sync HTTP/1.1\r\n" HOST "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
	 415},
	{"no type", "POST /api/v1/sync HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 415},
	{"json with charset",
	 "POST /api/v1/sync HTTP/1.1\r\n" HOST
	 "Content-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
	 200},
	{"no body", "POST /api/v1/sync HTTP/1.1\r\n" HOST "\r\n", 200},
	{"other origin", "POST /api/v1/sync HTTP/1.1\r\n" HOST "Origin: https://evil.example\r\n\r\n", 403},
	{"other port",
	 "POST /api/v1/sync HTTP/1.1\r\nHost: localhost:7780\r\nOrigin: http://localhost:5173\r\n\r\n", 403},
	{"null origin", "POST /api/v1/sync HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n", 403},
	{"own origin",
	 "POST /api/v1/sync HTTP/1.1\r\nHost: localhost:7780\r\nOrigin: http://localhost:7780\r\n\r\n", 200},
	{"cross site", "POST /api/v1/sync HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n", 403},
	{"same site", "POST /api/v1/sync HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-site\r\n\r\n", 403},
	{"same origin", "POST /api/v1/sync HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-origin\r\n\r\n", 200},
	{"cross site read", "GET /api/v1/stats HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n", 200},
	{"cross site listening", "GET /api/v1/events HTTP/1.1\r\n" HOST "Origin: https://evil.example\r\n\r\n",
	 403},
	{"cross site polling", "GET /api/v1/changes HTTP/1.1\r\n" HOST "Origin: https://evil.example\r\n\r\n",
	 403},
	{"unacceptable", "GET /api/v1/stats HTTP/1.1\r\n" HOST "Accept: image/png\r\n\r\n", 406},
	{"weight zero", "GET /api/v1/stats HTTP/1.1\r\n" HOST "Accept: application/json;q=0, text/html\r\n\r\n",
	 406},
	{"browser",
	 "GET /api/v1/stats HTTP/1.1\r\n" HOST "Accept: text/html,application/xml;q=0.9,*/*;q=0.8\r\n\r\n", 200},
	{"family", "GET /api/v1/stats HTTP/1.1\r\n" HOST "Accept: application/*\r\n\r\n", 200},
	{"too many parameters",
	 "GET /api/v1/assets?a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1&a=1 "
	 "HTTP/1.1\r\n" HOST "\r\n",
	 400},
	{"no HTTP", "hello\r\n\r\n", 0},
};

static void hostile_heads_are_refused_and_good_ones_served(void **state)
{
	fixture *f = *state;
	bool fine = true;
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		int status = status_of(f, cases[i].request);
		bool as_told =
			status == cases[i].status || (cases[i].status == 0 && (status == 400 || status == 505));
		if (!as_told)
			print_error("%s: %d instead of %d\n", cases[i].name, status, cases[i].status);
		fine = fine && as_told;
	}
	assert_true(fine);
	assert_int_equal(status_of(f, cases[0].request), 200);
}

static void no_answer_lets_other_sites_in(void **state)
{
	fixture *f = *state;
	static const char *const targets[] = {"/",		  "/api/v1",	   "/api/v1/assets",
										  "/nothing", "/openapi.json", "/metrics"};
	for (size_t i = 0; i < HOB_COUNT_OF(targets); i++) {
		answer a = ask(f, "GET", targets[i], "Origin: https://evil.example\r\n");
		char value[64];
		assert_false(answer_field(&a, "Access-Control-Allow-Origin", value, sizeof value));
		assert_field(&a, "X-Content-Type-Options", "nosniff");
		answer_release(&a);
	}
}

static void a_host_can_be_allowed_by_name(void **state)
{
	(void)state;
	const char *const hosts[] = {"hob.studio.example", NULL};
	fixture *f = fixture_new(&(srv_http_options){.allowed_hosts = hosts});
	assert_int_equal(status_of(f, "GET /livez HTTP/1.1\r\nHost: hob.Studio.example:80\r\n\r\n"), 200);
	client c = client_open(f);
	client_send(&c, "GET /livez HTTP/1.1\r\nHost: x.hob.studio.example\r\n\r\n");
	answer a = client_take(&c, false);
	assert_problem(&a, 421, "host-not-allowed");
	assert_has(&a, "server.allowed_hosts");
	answer_release(&a);
	client_close(&c);
	fixture_free(f);
}

/* Sends to many connections at once, half-closes them, and waits until the server has closed every one. */
static void await_all_closed(client *clients, size_t count)
{
	for (size_t i = 0; i < count; i++)
		shutdown(clients[i].fd, SHUT_WR);
	for (size_t i = 0; i < count; i++) {
		client_await_close(&clients[i]);
		client_close(&clients[i]);
	}
}

static void every_prefix_of_a_request_leaves_the_server_well(void **state)
{
	(void)state;
	/* Deadlines longer than the test: a connection may end only because its peer has gone. */
	fixture *f = fixture_new(&(srv_http_options){.head_deadline_ms = 600000, .idle_ms = 600000});
	const char *request =
		"POST /api/v1/sync HTTP/1.1\r\n" HOST JSON "Content-Length: 17\r\n\r\n{\"timeout_ms\":10}";
	client clients[256];
	size_t size = strlen(request);
	assert_true(size < HOB_COUNT_OF(clients));
	for (size_t i = 0; i <= size; i++) {
		clients[i] = client_open(f);
		client_send_bytes(&clients[i], request, i);
	}
	await_all_closed(clients, size + 1);
	assert_int_equal(status_of(f, cases[0].request), 200);
	fixture_free(f);
}

static void every_byte_changed_leaves_the_server_well(void **state)
{
	fixture *f = *state;
	const char *request = "GET /a/art/duck.glb?output=meshes HTTP/1.1\r\n" HOST "Range: bytes=0-1\r\n\r\n";
	size_t size = strlen(request);
	client clients[256];
	uint32_t random = 12345;
	for (int turn = 0; turn < 8; turn++) {
		for (size_t i = 0; i < size; i++) {
			char copy[256];
			memcpy(copy, request, size + 1);
			random = random * 1664525u + 1013904223u;
			copy[i] = (char)(random >> 24);
			clients[i] = client_open(f);
			client_send_bytes(&clients[i], copy, size);
		}
		await_all_closed(clients, size);
	}
	assert_int_equal(status_of(f, cases[0].request), 200);
}

static void heads_over_the_limit_are_answered_with_431(void **state)
{
	fixture *f = *state;
	static char request[40000];
	size_t size = (size_t)sprintf(request, "GET /livez HTTP/1.1\r\n" HOST);
	for (int i = 0; i < 400; i++)
		size += (size_t)sprintf(request + size, "X-%d: %060d\r\n", i, i);
	strcpy(request + size, "\r\n");
	assert_int_equal(status_of(f, request), 431);
	assert_int_equal(status_of(f, cases[0].request), 200);
}

static void a_body_of_1_mib_is_taken_and_one_byte_more_is_not(void **state)
{
	fixture *f = *state;
	static char body[(1 << 20) + 2];
	memset(body, ' ', sizeof body - 1);
	expect_problem(post_json(f, "/api/v1/sync", body, NULL), 413, "body-too-large");
	assert_int_equal(f->post_count, 0);
	memcpy(body, "{}", 2);
	body[1 << 20] = 0;
	answer a = post_json(f, "/api/v1/sync", body, NULL);
	assert_int_equal(a.status, 200);
	answer_release(&a);
	expect_problem(post_json(f, "/api/v1/sync", "[1", NULL), 400, "bad-request");
}

static void slow_heads_and_idle_connections_are_closed(void **state)
{
	(void)state;
	fixture *f = fixture_new(&(srv_http_options){.head_deadline_ms = 1000, .idle_ms = 1500});
	client silent = client_open(f), half = client_open(f), dripping = client_open(f), idle = client_open(f);
	client_send(&half, "GET /livez HTTP/1.1\r\nHost: loc");
	answer a = client_request(&idle, "GET", "/livez", NULL);
	assert_int_equal(a.status, 200);
	answer_release(&a);
	/* A slow trickle of bytes must not extend the deadline. */
	const char *drip =
		"GET /livez HTTP/1.1\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	bool closed = false;
	for (size_t i = 0; !closed && drip[i]; i++) {
		ssize_t sent = send(dripping.fd, drip + i, 1, MSG_NOSIGNAL);
		struct pollfd p = {dripping.fd, POLLIN, 0};
		closed = sent < 0 || poll(&p, 1, 100) != 0;
	}
	assert_true(closed);
	client_await_close(&silent);
	client_await_close(&half);
	client_await_close(&idle);
	client_close(&silent);
	client_close(&half);
	client_close(&dripping);
	client_close(&idle);
	fixture_free(f);
}

enum { STALL_DEADLINE_MS = 500 };
static client half_sent;
static int64_t half_opened_ms, half_took_ms;

/* On the server's thread: the rest of a head arrives, and then the thread is blocked for longer than the
 * limit of heads. */
static void stall(fixture *f, srv_control *control)
{
	(void)f;
	(void)control;
	half_took_ms = test_now_ms() - half_opened_ms;
	client_send(&half_sent, "alhost\r\n\r\n");
	poll(NULL, 0, 2 * STALL_DEADLINE_MS);
}

static void a_server_that_had_no_turn_blames_no_client(void **state)
{
	(void)state;
	fixture *f = fixture_new(&(srv_http_options){.head_deadline_ms = STALL_DEADLINE_MS});
	f->before_answer = stall;
	/* Repeats if the test itself was too slow. */
	do {
		half_opened_ms = test_now_ms();
		half_sent = client_open(f);
		client_send(&half_sent, "GET /livez HTTP/1.1\r\nHost: loc");
		answer a = post_json(f, "/api/v1/sync", "{}", NULL);
		assert_int_equal(a.status, 200);
		answer_release(&a);
		a = client_take(&half_sent, false);
		assert_true(a.status == 200 || half_took_ms >= STALL_DEADLINE_MS);
		answer_release(&a);
		client_close(&half_sent);
	} while (half_took_ms >= STALL_DEADLINE_MS);
	fixture_free(f);
}

static void a_crowd_over_the_limit_does_not_keep_others_out(void **state)
{
	(void)state;
	fixture *f = fixture_new(
		&(srv_http_options){.max_connections = 20, .head_deadline_ms = 600000, .idle_ms = 600000});
	client crowd[300];
	for (size_t i = 0; i < HOB_COUNT_OF(crowd); i++) {
		crowd[i] = client_open(f);
		if (i % 3 == 0)
			client_send(&crowd[i], "GET /livez HTTP/1.1\r\n");
	}
	for (int i = 0; i < 5; i++) {
		answer a = get(f, "/livez");
		assert_int_equal(a.status, 200);
		answer_release(&a);
	}
	for (size_t i = 0; i < HOB_COUNT_OF(crowd); i++)
		client_close(&crowd[i]);
	answer a = get(f, "/livez");
	assert_int_equal(a.status, 200);
	answer_release(&a);
	fixture_free(f);
}

static void too_few_descriptors_pause_the_door_and_no_more(void **state)
{
	(void)state;
	struct rlimit before, few = {220, 0};
	fixture *f = fixture_new(NULL);
	getrlimit(RLIMIT_NOFILE, &before);
	few.rlim_max = before.rlim_max;
	/* The clients are in the same process: two descriptors per connection. */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	client crowd[110];
	size_t count = 0;
	for (; count < HOB_COUNT_OF(crowd); count++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			break;
		crowd[count] = client_on(f, fd);
	}
	assert_true(count > 50);
	for (size_t i = 0; i < count; i++)
		client_close(&crowd[i]);
	answer a = get(f, "/livez");
	assert_int_equal(a.status, 200);
	answer_release(&a);
	setrlimit(RLIMIT_NOFILE, &before);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hostile_heads_are_refused_and_good_ones_served, setup, teardown),
		cmocka_unit_test_setup_teardown(no_answer_lets_other_sites_in, setup, teardown),
		cmocka_unit_test(a_host_can_be_allowed_by_name),
		cmocka_unit_test(every_prefix_of_a_request_leaves_the_server_well),
		cmocka_unit_test_setup_teardown(every_byte_changed_leaves_the_server_well, setup, teardown),
		cmocka_unit_test_setup_teardown(heads_over_the_limit_are_answered_with_431, setup, teardown),
		cmocka_unit_test_setup_teardown(a_body_of_1_mib_is_taken_and_one_byte_more_is_not, setup, teardown),
		cmocka_unit_test(slow_heads_and_idle_connections_are_closed),
		cmocka_unit_test(a_server_that_had_no_turn_blames_no_client),
		cmocka_unit_test(a_crowd_over_the_limit_does_not_keep_others_out),
		cmocka_unit_test(too_few_descriptors_pause_the_door_and_no_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
