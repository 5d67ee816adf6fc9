#include "http_fixture.h"

/* GET /a/{root}/{path...}: every answer of this route. */

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

static void an_output_comes_by_name_with_the_blob_it_is(void **state)
{
	fixture *f = *state;
	hob_sha256 digest = fixture_blob(f, "mesh bytes", 10);
	char hash[HOB_SHA256_TEXT + 1], etag[80], location[96], field[128];
	hob_sha256_text(&digest, hash);
	snprintf(etag, sizeof etag, "\"%s\"", hash);
	snprintf(location, sizeof location, "/blobs/%s", hash);
	fixture_put(f, "props/duck.glb", SRV_FRESH, 4182, "meshes", digest, 10);
	srv_views_publish(f->views, 4182, true);
	answer a = get(f, "/a/art/props/duck.glb");
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "mesh bytes");
	assert_field(&a, "ETag", etag);
	assert_field(&a, "Cache-Control", "no-cache");
	assert_field(&a, "Content-Location", location);
	assert_field(&a, "Cook-State", "fresh");
	assert_field(&a, "Cook-Rev", "4182");
	answer_release(&a);

	snprintf(field, sizeof field, "If-None-Match: %s\r\n", etag);
	a = ask(f, "GET", "/a/art/props/duck.glb?output=meshes", field);
	assert_int_equal(a.status, 304);
	assert_field(&a, "Cook-Rev", "4182");
	answer_release(&a);
	a = ask(f, "GET", "/a/art/props/duck.glb", "Range: bytes=5-\r\n");
	assert_int_equal(a.status, 206);
	assert_string_equal(a.body, "bytes");
	answer_release(&a);
	a = ask(f, "HEAD", "/a/art/props/duck.glb", NULL);
	assert_int_equal(a.status, 200);
	assert_field(&a, "Content-Length", "10");
	answer_release(&a);
	a = get(f, "/a/art/props/duck.glb?redirect=1");
	assert_int_equal(a.status, 307);
	assert_field(&a, "Location", location);
	answer_release(&a);
	expect_problem(get(f, "/a/art/props/duck.glb?redirect=maybe"), 400, "bad-request");
}

static void a_large_output_by_name_comes_whole(void **state)
{
	fixture *f = *state;
	size_t size = 300000;
	char *data = malloc(size);
	assert_non_null(data);
	for (size_t i = 0; i < size; i++)
		data[i] = (char)(i * 31);
	fixture_put(f, "big.glb", SRV_STALE, 5, "meshes", fixture_blob(f, data, size), size);
	srv_views_publish(f->views, 5, true);
	answer a = get(f, "/a/art/big.glb");
	assert_int_equal(a.status, 200);
	assert_field(&a, "Cook-State", "stale");
	assert_int_equal(a.size, size);
	assert_memory_equal(a.body, data, size);
	answer_release(&a);
	free(data);
}

static void unknown_outputs_are_told_what_exists(void **state)
{
	fixture *f = *state;
	fixture_put(f, "a.glb", SRV_FRESH, 1, "scene", fixture_blob(f, "s", 1), 1);
	srv_views_publish(f->views, 1, true);
	answer a = get(f, "/a/art/a.glb");
	assert_problem(&a, 404, "not-found");
	assert_has(&a, "\"outputs\":[\"scene\"]");
	assert_has(&a, "there are: scene");
	answer_release(&a);
	expect_problem(get(f, "/a/art/b.glb"), 404, "not-found");
	expect_problem(get(f, "/a/other/a.glb"), 404, "not-found");
	expect_problem(get(f, "/a/art/"), 404, "not-found");
	assert_int_equal(f->post_count, 0);
}

static void names_that_are_not_text_are_found_by_their_bytes(void **state)
{
	fixture *f = *state;
	fixture_put(f, "b\xFF\n/\"x\\.glb", SRV_FRESH, 1, "meshes", fixture_blob(f, "odd", 3), 3);
	srv_views_publish(f->views, 1, true);
	answer a = get(f, "/a/art/b%ff%0a/%22x%5c.glb");
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "odd");
	answer_release(&a);
	a = get(f, "/a/art/b%ff%0a%2f%22x%5c.glb");
	assert_int_equal(a.status, 200);
	answer_release(&a);
	/* The list gives the exact name in a form usable in a request. */
	a = get(f, "/api/v1/assets");
	assert_has(&a, "\"path\":\"b\xEF\xBF\xBD\\u000a/\\\"x\\\\.glb\"");
	assert_has(&a, "\"path_encoded\":\"b%FF%0A/%22x%5C.glb\"");
	assert_has(&a, "\"data\":\"/a/art/b%FF%0A/%22x%5C.glb\"");
	answer_release(&a);
}

static void what_is_not_cooked_yet_is_accepted_for_later(void **state)
{
	fixture *f = *state;
	fixture_put(f, "a.glb", SRV_QUEUED, 1, NULL, (hob_sha256){0}, 0);
	srv_views_publish(f->views, 1, true);
	answer a = get(f, "/a/art/a.glb");
	assert_int_equal(a.status, 202);
	assert_field(&a, "Retry-After", "1");
	char place[80];
	assert_true(answer_field(&a, "Location", place, sizeof place));
	assert_has(&a, "\"state\":\"queued\"");
	answer_release(&a);
	a = get(f, place);
	assert_int_equal(a.status, 200);
	answer_release(&a);
}

static void finish_cook(fixture *f, srv_control *control)
{
	(void)control;
	fixture_put(f, "a.glb", SRV_FRESH, 2, "meshes", fixture_blob(f, "done", 4), 4);
	srv_views_publish(f->views, 2, true);
}

static void prefer_wait_answers_when_the_cook_is_done(void **state)
{
	fixture *f = *state;
	fixture_put(f, "a.glb", SRV_COOKING, 1, NULL, (hob_sha256){0}, 0);
	srv_views_publish(f->views, 1, true);
	f->before_answer = finish_cook;
	answer a = ask(f, "GET", "/a/art/a.glb", "Prefer: respond-async, wait=7\r\n");
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "done");
	answer_release(&a);
	assert_int_equal(f->post_count, 1);
	assert_int_equal(f->last.kind, SRV_CONTROL_WAIT);
	assert_int_equal(f->last.timeout_ms, 7000);
	assert_string_equal(f->last_asset, "art/a.glb");
	/* Fresh: nothing to wait for. */
	a = ask(f, "GET", "/a/art/a.glb", "Prefer: wait=7\r\n");
	assert_int_equal(a.status, 200);
	answer_release(&a);
	assert_int_equal(f->post_count, 1);
}

static void prefer_wait_gives_up_after_its_time(void **state)
{
	fixture *f = *state;
	fixture_put(f, "a.glb", SRV_COOKING, 1, NULL, (hob_sha256){0}, 0);
	srv_views_publish(f->views, 1, true);
	answer a = ask(f, "GET", "/a/art/a.glb", "Prefer: wait=1\r\n");
	assert_int_equal(a.status, 202);
	answer_release(&a);
	assert_int_equal(f->post_count, 1);
}

static void prefer_wait_looks_for_a_file_saved_a_moment_ago(void **state)
{
	fixture *f = *state;
	f->before_answer = finish_cook;
	answer a = ask(f, "GET", "/a/art/a.glb", "Prefer: wait=999999\r\n");
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "done");
	answer_release(&a);
	assert_int_equal(f->last.kind, SRV_CONTROL_SYNC);
	assert_int_equal(f->last.timeout_ms, 60000);
	expect_problem(ask(f, "GET", "/a/art/other.glb", "Prefer: wait=1\r\n"), 404, "not-found");
}

static void failures_without_a_good_copy_say_what_is_wrong(void **state)
{
	fixture *f = *state;
	srv_view_asset a = {
		.root = HOB_STR("art"),
		.path = HOB_STR("a.gltf"),
		.full = HOB_STR("art/a.gltf"),
		.state = SRV_FAILED,
		.standing = SRV_STANDING_BROKEN,
		.error = HOB_STR("{\"code\":\"import.missing-file\",\"message\":\"texture 'Duck.png' not found\","
						 "\"hint\":\"found 'duck.png'\",\"location\":{\"file\":\"a.gltf\",\"line\":71}}")};
	srv_asset_id(a.full, a.id);
	srv_views_put(f->views, &a);
	srv_views_publish(f->views, 1, true);
	answer got = get(f, "/a/art/a.gltf");
	assert_problem(&got, 422, "cook-failed");
	assert_has(&got, "\"code\":\"import.missing-file\"");
	assert_has(&got, "\"detail\":\"texture 'Duck.png' not found\"");
	assert_has(&got, "\"hint\":\"found 'duck.png'\"");
	assert_has(&got, "\"line\":71");
	assert_has(&got, "\"asset\":\"art/a.gltf\"");
	answer_release(&got);
	/* With an earlier good version, which is served. */
	fixture_put(f, "a.gltf", SRV_STALE, 2, "meshes", fixture_blob(f, "old", 3), 3);
	srv_views_publish(f->views, 2, true);
	got = get(f, "/a/art/a.gltf");
	assert_int_equal(got.status, 200);
	assert_field(&got, "Cook-State", "stale");
	answer_release(&got);
}

static void a_blob_that_is_gone_is_unavailable_for_now(void **state)
{
	fixture *f = *state;
	fixture_put(f, "a.glb", SRV_FRESH, 1, "meshes", hob_sha256_of((hob_bytes){(const uint8_t *)"zz", 2}), 2);
	srv_views_publish(f->views, 1, true);
	answer a = get(f, "/a/art/a.glb");
	assert_problem(&a, 503, "unavailable");
	assert_field(&a, "Retry-After", "1");
	answer_release(&a);
}

static void make_classic(fixture *f, srv_control *control)
{
	(void)control;
	fixture_put(f, "a.glb", SRV_FRESH, 2, "classic.scene", fixture_blob(f, "classic", 7), 7);
	srv_views_publish(f->views, 2, true);
}

static void classic_outputs_are_made_when_asked_for(void **state)
{
	fixture *f = *state;
	fixture_put(f, "a.glb", SRV_FRESH, 1, "meshes", fixture_blob(f, "m", 1), 1);
	srv_views_publish(f->views, 1, true);
	f->status = 422;
	f->body = "{\"code\":\"import.unsupported\",\"detail\":\"too many\",\"hint\":\"fewer\"}";
	answer a = get(f, "/a/art/a.glb?output=classic.scene");
	assert_problem(&a, 422, "cook-failed");
	assert_has(&a, "\"code\":\"import.unsupported\"");
	assert_has(&a, "\"hint\":\"fewer\"");
	answer_release(&a);
	f->status = 200;
	f->body = "{}";
	expect_problem(get(f, "/a/art/a.glb?output=classic.scene"), 404, "not-found");
	f->before_answer = make_classic;
	a = get(f, "/a/art/a.glb?output=classic.scene");
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "classic");
	answer_release(&a);
	assert_int_equal(f->last.kind, SRV_CONTROL_CLASSIC);
}

static void draining_turns_new_requests_away(void **state)
{
	fixture *f = *state;
	srv_views_publish(f->views, 1, true);
	answer a = get(f, "/readyz");
	assert_int_equal(a.status, 200);
	answer_release(&a);
	srv_http_drain(f->http);
	a = get(f, "/a/art/a.glb");
	assert_problem(&a, 503, "unavailable");
	assert_field(&a, "Retry-After", "1");
	answer_release(&a);
	a = get(f, "/readyz?verbose");
	assert_int_equal(a.status, 503);
	assert_has(&a, "not serving: the daemon is stopping");
	answer_release(&a);
	a = get(f, "/livez");
	assert_int_equal(a.status, 200);
	answer_release(&a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_output_comes_by_name_with_the_blob_it_is),
		TEST(a_large_output_by_name_comes_whole),
		TEST(unknown_outputs_are_told_what_exists),
		TEST(names_that_are_not_text_are_found_by_their_bytes),
		TEST(what_is_not_cooked_yet_is_accepted_for_later),
		TEST(prefer_wait_answers_when_the_cook_is_done),
		TEST(prefer_wait_gives_up_after_its_time),
		TEST(prefer_wait_looks_for_a_file_saved_a_moment_ago),
		TEST(failures_without_a_good_copy_say_what_is_wrong),
		TEST(a_blob_that_is_gone_is_unavailable_for_now),
		TEST(classic_outputs_are_made_when_asked_for),
		TEST(draining_turns_new_requests_away),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
