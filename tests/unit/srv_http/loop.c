#include "http_fixture.h"

#include "../../../server/http/web.h"

#include <cjson/cJSON.h>

/* Requests of the HTTP thread to the loop, and the table of routes. */

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

static void asset_path(const char *behind, char out[128])
{
	char id[SRV_ASSET_ID + 1];
	srv_asset_id(HOB_STR("art/a.glb"), id);
	snprintf(out, 128, "/api/v1/assets/%s%s", id, behind);
}

static void put_cooking(fixture *f, srv_state state)
{
	fixture_put(f, "a.glb", state, 1, NULL, (hob_sha256){0}, 0);
	srv_views_publish(f->views, 1, true);
}

static void answers_of_the_loop_are_passed_on(void **state)
{
	fixture *f = *state;
	char path[128];
	put_cooking(f, SRV_FRESH);
	f->body = "{\"verdict\":\"recooked\"}";
	asset_path("/why", path);
	answer a = get(f, path);
	assert_int_equal(a.status, 200);
	assert_field(&a, "Content-Type", "application/json");
	assert_string_equal(a.body, f->body);
	assert_int_equal(f->last.kind, SRV_CONTROL_WHY);
	assert_string_equal(f->last_asset, "art/a.glb");
	answer_release(&a);
	f->body = "line one\nline two\n";
	asset_path("/log", path);
	a = get(f, path);
	assert_field(&a, "Content-Type", "text/plain; charset=utf-8");
	assert_string_equal(a.body, f->body);
	assert_int_equal(f->last.kind, SRV_CONTROL_LOG);
	answer_release(&a);
	a = get(f, "/api/v1/jobs/991/log");
	assert_int_equal(f->last.kind, SRV_CONTROL_LOG);
	assert_int_equal(f->last.number, 991);
	answer_release(&a);
	a = get(f, "/api/v1/jobs/991");
	assert_int_equal(f->last.kind, SRV_CONTROL_JOB_LIVE);
	assert_int_equal(f->last.number, 991);
	answer_release(&a);
	/* A job unknown to the loop may be finished. */
	f->status = 404;
	expect_problem(get(f, "/api/v1/jobs/991"), 404, "not-found");
	assert_int_equal(f->last.kind, SRV_CONTROL_JOB);
	f->status = 200;
	f->body = "{\"id\":3}";
	a = get(f, "/api/v1/jobs");
	assert_int_equal(f->last.kind, SRV_CONTROL_JOBS);
	answer_release(&a);
	a = get(f, "/api/v1/jobs?limit=7&cursor=55&asset=art/a.glb");
	assert_int_equal(f->last.kind, SRV_CONTROL_JOBS);
	assert_int_equal(f->last.number, 55);
	assert_int_equal(f->last.number2, 7);
	assert_string_equal(f->last_asset, "art/a.glb");
	answer_release(&a);
	uint32_t posts = f->post_count;
	expect_problem(get(f, "/api/v1/jobs?limit=5000"), 400, "bad-request");
	expect_problem(get(f, "/api/v1/jobs/abc"), 404, "not-found");
	expect_problem(get(f, "/api/v1/assets/nothing/why"), 404, "not-found");
	expect_problem(get(f, "/api/v1/assets/nothing/log"), 404, "not-found");
	assert_int_equal(f->post_count, posts);
	f->status = 404;
	f->body = "{\"detail\":\"never cooked\",\"hint\":\"wait\"}";
	asset_path("/why", path);
	a = get(f, path);
	assert_problem(&a, 404, "not-found");
	assert_has(&a, "\"detail\":\"never cooked\"");
	answer_release(&a);
	/* A failure without a message from the loop still gives a problem with a title. */
	f->status = 500;
	f->body = "";
	a = get(f, path);
	assert_int_equal(a.status, 500);
	assert_has(&a, "\"detail\":\"a bug in Hob\"");
	assert_has(&a, "\"hint\":\"please report it");
	answer_release(&a);
}

static void a_cook_is_asked_for(void **state)
{
	fixture *f = *state;
	char path[128];
	put_cooking(f, SRV_QUEUED);
	asset_path("/cook", path);
	f->status = 202;
	f->body = "{\"job\":991}";
	answer a = post_json(f, path, "{\"force\":true}", NULL);
	assert_int_equal(a.status, 202);
	assert_field(&a, "Location", "/api/v1/jobs/991");
	assert_field(&a, "Retry-After", "1");
	assert_true(f->last.force);
	assert_int_equal(f->last.kind, SRV_CONTROL_COOK);
	answer_release(&a);
	a = ask(f, "POST", path, NULL);
	assert_int_equal(a.status, 202);
	assert_false(f->last.force);
	answer_release(&a);
	a = post_json(f, path, "{}", "Prefer: wait=3\r\n");
	assert_int_equal(a.status, 202);
	assert_int_equal(f->last.kind, SRV_CONTROL_WAIT);
	assert_int_equal(f->last.timeout_ms, 3000);
	answer_release(&a);
	expect_problem(post_json(f, path, "{\"force\":1}", NULL), 400, "bad-request");
	expect_problem(post_json(f, path, "[]", NULL), 400, "bad-request");
	expect_problem(post_json(f, path, "{", NULL), 400, "bad-request");
	expect_problem(post_json(f, "/api/v1/assets/nothing/cook", "{}", NULL), 404, "not-found");
	f->status = 409;
	f->body = "{\"detail\":\"quarantined\",\"hint\":\"force it\"}";
	expect_problem(post_json(f, path, "{}", NULL), 409, "conflict");
}

static void sync_waits_for_the_loop_while_others_are_served(void **state)
{
	fixture *f = *state;
	f->hold = true;
	client c = client_open(f);
	client_send(&c, "POST /api/v1/sync HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
					"Content-Length: 19\r\n\r\n{\"timeout_ms\":1234}");
	fixture_await_posts(f, 1);
	assert_int_equal(f->last.kind, SRV_CONTROL_SYNC);
	assert_int_equal(f->last.timeout_ms, 1234);
	answer other = get(f, "/livez");
	assert_int_equal(other.status, 200);
	answer_release(&other);
	fixture_answer_held(f, 200, "{\"rev\":7,\"failed\":[]}");
	answer a = client_take(&c, false);
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "{\"rev\":7,\"failed\":[]}");
	answer_release(&a);
	client_close(&c);
	f->hold = false;
	f->status = 504;
	f->body = "{\"failed\":[\"art/a.glb\"],\"detail\":\"2 are still cooking\",\"hint\":\"wait longer\"}";
	a = post_json(f, "/api/v1/sync", "{}", NULL);
	assert_problem(&a, 504, "sync-timeout");
	assert_has(&a, "\"failed\":[\"art/a.glb\"]");
	answer_release(&a);
	expect_problem(post_json(f, "/api/v1/sync", "{\"timeout_ms\":-1}", NULL), 400, "bad-request");
	expect_problem(post_json(f, "/api/v1/sync", "{\"timeout_ms\":1e99}", NULL), 400, "bad-request");
	expect_problem(post_json(f, "/api/v1/sync", "{\"timeout_ms\":\"1\"}", NULL), 400, "bad-request");
}

static void a_client_that_leaves_while_the_loop_thinks_harms_nobody(void **state)
{
	fixture *f = *state;
	f->hold = true;
	for (uint32_t i = 0; i < 20; i++) {
		client c = client_open(f);
		client_send(&c, "POST /api/v1/sync HTTP/1.1\r\nHost: localhost\r\n\r\n");
		fixture_await_posts(f, i + 1);
		client_close(&c);
	}
	fixture_answer_held(f, 200, "{}");
	answer a = get(f, "/livez");
	assert_int_equal(a.status, 200);
	answer_release(&a);
}

/* More assets than an HTTP thread lists itself. */
static void publish_many(const fixture *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char path[32], full[40];
		snprintf(path, sizeof path, "duck%u.obj", i);
		snprintf(full, sizeof full, "art/%s", path);
		srv_view_asset a = {.root = HOB_STR("art"),
							.path = hob_str_of(path),
							.full = hob_str_of(full),
							.kind = HOB_STR("obj"),
							.state = SRV_FRESH,
							.rev = 1,
							.quality = "final"};
		srv_asset_id(a.full, a.id);
		srv_views_put(f->views, &a);
	}
	srv_views_publish(f->views, 1, true);
}

static void lists_are_made_by_another_thread(void **state)
{
	static const char *const targets[] = {"/api/v1/assets?q=du&sort=-bytes&root=art", "/api/v1/findings?q=du",
										  "/api/v1/textures?q=du&root=art"};
	fixture *f = *state;
	publish_many(f, 1025);
	f->hold = true;
	for (uint32_t i = 0; i < HOB_COUNT_OF(targets); i++) {
		char head[160];
		client c = client_open(f);
		snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", targets[i]);
		client_send(&c, head);
		fixture_await_posts(f, i + 1);
		assert_int_equal(f->last.kind, SRV_CONTROL_LIST);
		answer other = get(f, "/livez");
		assert_int_equal(other.status, 200);
		answer_release(&other);
		client_close(&c);
	}
	const srv_view *view = srv_views_take(f->views);
	for (uint32_t i = 0; i < f->held_count; i++) { /* the clients, and their requests' texts, are gone */
		hob_buf body = {0};
		f->held[i]->list(f->held[i]->query, view, &body);
		assert_true(body.size > 0 && !body.failed);
		f->held[i]->answer(f->held[i], 200, hob_buf_str(&body));
		hob_buf_release(&body);
	}
	f->held_count = 0;
	srv_view_drop(view);
}

/* ---- the table of routes */

typedef struct route {
	const char *method, *pattern, *handler, *parameters;
} route;

static const route routes[] = {
#define ROUTE(method, pattern, handler, parameters, doc) {#method, pattern, #handler, parameters},
#include "schema/routes.def"
#undef ROUTE
};

/* The pattern with its {names} replaced by examples. */
static void example(const char *pattern, char *out)
{
	for (; *pattern; pattern++) {
		if (*pattern == '{') {
			*out++ = 'x';
			pattern = strchr(pattern, '}');
		} else {
			*out++ = *pattern;
		}
	}
	*out = 0;
}

static void every_route_refuses_other_methods(void **state)
{
	fixture *f = *state;
	for (size_t i = 0; i < HOB_COUNT_OF(routes); i++) {
		char target[128], allow[64];
		example(routes[i].pattern, target);
		answer a = ask(f, "LOCK", target, NULL);
		assert_problem(&a, 405, "method-not-allowed");
		assert_true(answer_field(&a, "Allow", allow, sizeof allow));
		assert_non_null(strstr(allow, routes[i].method));
		assert_true(strcmp(routes[i].method, "GET") != 0 || strstr(allow, "HEAD"));
		answer_release(&a);
	}
}

/* The query parameters of an operation, in the form of routes.def. */
static void described_parameters(const cJSON *document, const cJSON *operation, char *out, size_t room)
{
	const cJSON *item;
	size_t size = 0;
	out[0] = 0;
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(operation, "parameters"))
	{
		static const char where[] = "#/components/parameters/";
		const char *reference = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "$ref"));
		const cJSON *all = cJSON_GetObjectItemCaseSensitive(
			cJSON_GetObjectItemCaseSensitive(document, "components"), "parameters");
		const cJSON *one =
			reference ? cJSON_GetObjectItemCaseSensitive(all, reference + sizeof where - 1) : item;
		const char *in = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "in"));
		assert_non_null(in);
		if (strcmp(in, "query") == 0)
			size += (size_t)snprintf(out + size, room - size, "%s%s", size ? " " : "",
									 cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "name")));
		assert_true(size < room);
	}
}

static void openapi_describes_every_route_and_no_other(void **state)
{
	fixture *f = *state;
	answer a = get(f, "/openapi.json");
	cJSON *document = cJSON_ParseWithOpts(a.body, NULL, true);
	assert_non_null(document);
	const cJSON *paths = cJSON_GetObjectItemCaseSensitive(document, "paths"), *path, *operation;
	size_t described = 0;
	cJSON_ArrayForEach(path, paths) cJSON_ArrayForEach(operation, path) described++;
	assert_int_equal(described, HOB_COUNT_OF(routes));
	for (size_t i = 0; i < HOB_COUNT_OF(routes); i++) {
		char name[128], method[16];
		size_t size = 0;
		/* routes.def has {path...} where the document has {path}. */
		for (const char *p = routes[i].pattern; *p; p++)
			if (*p != '.' || strchr(p, '}') == NULL)
				name[size++] = *p;
		name[size] = 0;
		size = 0;
		for (const char *p = routes[i].method; *p; p++)
			method[size++] = (char)(*p + 32);
		method[size] = 0;
		path = cJSON_GetObjectItemCaseSensitive(paths, name);
		operation = cJSON_GetObjectItemCaseSensitive(path, method);
		const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(operation, "operationId"));
		if (!id || strcmp(id, routes[i].handler) != 0)
			fail_msg("openapi.json: %s %s", method, name);
		char taken[256];
		described_parameters(document, operation, taken, sizeof taken);
		if (routes[i].parameters)
			assert_string_equal(taken, routes[i].parameters);
	}
	cJSON_Delete(document);
	answer_release(&a);
}

static void the_page_its_icon_and_the_api_are_served(void **state)
{
	fixture *f = *state;
	static const char *const files[][2] = {{"/", "text/html; charset=utf-8"},
										   {"/favicon.ico", "image/svg+xml"},
										   {"/openapi.json", "application/json"}};
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++) {
		answer a = get(f, files[i][0]);
		assert_int_equal(a.status, 200);
		assert_true(a.size > 100);
		assert_field(&a, "Content-Type", files[i][1]);
		assert_field(
			&a, "Content-Security-Policy",
			"default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data: blob:; "
			"connect-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
		char etag[80], field[120];
		assert_true(answer_field(&a, "ETag", etag, sizeof etag));
		answer_release(&a);
		snprintf(field, sizeof field, "If-None-Match: %s\r\n", etag);
		a = ask(f, "GET", files[i][0], field);
		assert_int_equal(a.status, 304);
		answer_release(&a);
	}
}

static void the_transcoder_of_textures_has_a_policy_of_its_own(void **state)
{
	fixture *f = *state;
	for (const srv_web_file *file = srv_web_files; file->name; file++) {
		if (strncmp(file->name, "basis-", 6) != 0)
			continue;
		char path[128];
		snprintf(path, sizeof path, "/web/%s", file->name);
		answer a = get(f, path);
		assert_int_equal(a.status, 200);
		assert_field(&a, "Content-Security-Policy",
					 "default-src 'none'; script-src 'unsafe-eval' 'wasm-unsafe-eval'");
		answer_release(&a);
	}
}

static void problem_types_can_be_looked_up(void **state)
{
	fixture *f = *state;
	answer a = get(f, "/problems/cook-failed");
	assert_int_equal(a.status, 200);
	assert_has(&a, "Cook failed (422): ");
	answer_release(&a);
	expect_problem(get(f, "/problems/nonsense"), 404, "not-found");
}

static void metrics_count_what_was_asked(void **state)
{
	fixture *f = *state;
	put_cooking(f, SRV_FRESH);
	answer a = get(f, "/api/v1/assets?limit=0");
	answer_release(&a);
	a = get(f, "/nothing/here");
	answer_release(&a);
	a = get(f, "/metrics");
	assert_int_equal(a.status, 200);
	assert_field(&a, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
	assert_has(&a, "hob_build_info{version=\"9.8.7\"} 1\n");
	assert_has(&a, "hob_assets{state=\"fresh\"} 1\n");
	assert_has(&a, "hob_assets{state=\"failed\"} 0\n");
	assert_has(&a, "hob_http_requests_total{route=\"/api/v1/assets\",code=\"400\"} 1\n");
	assert_has(&a, "hob_http_requests_total{route=\"none\",code=\"404\"} 1\n");
	assert_has(&a, "# TYPE hob_http_requests_total counter\n");
	assert_has(&a, "process_open_fds ");
	assert_has(&a, "hob_test_total 7\n");
	answer_release(&a);
}

static void health_is_told_apart_from_readiness(void **state)
{
	fixture *f = *state;
	answer a = get(f, "/livez");
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "ok\n");
	answer_release(&a);
	a = get(f, "/healthz?verbose=1");
	assert_string_equal(a.body, "ok http\nok\n");
	answer_release(&a);
	a = get(f, "/readyz");
	assert_int_equal(a.status, 503);
	assert_field(&a, "Retry-After", "1");
	answer_release(&a);
	srv_views_publish(f->views, 1, true);
	a = get(f, "/readyz?verbose");
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "ok http\nok scan\nok workers\nok index\nok disk\nok serving\nok\n");
	answer_release(&a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_of_the_loop_are_passed_on),
		TEST(a_cook_is_asked_for),
		TEST(sync_waits_for_the_loop_while_others_are_served),
		TEST(lists_are_made_by_another_thread),
		TEST(a_client_that_leaves_while_the_loop_thinks_harms_nobody),
		TEST(every_route_refuses_other_methods),
		TEST(openapi_describes_every_route_and_no_other),
		TEST(the_page_its_icon_and_the_api_are_served),
		TEST(the_transcoder_of_textures_has_a_policy_of_its_own),
		TEST(problem_types_can_be_looked_up),
		TEST(metrics_count_what_was_asked),
		TEST(health_is_told_apart_from_readiness),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
