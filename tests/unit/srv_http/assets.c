#include "http_fixture.h"

#include <cjson/cJSON.h>

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

static cJSON *get_json(const fixture *f, const char *target)
{
	answer a = get(f, target);
	if (a.status != 200)
		fail_msg("%s: %d %s", target, a.status, a.body);
	assert_field(&a, "Content-Type", "application/json");
	cJSON *json = cJSON_ParseWithOpts(a.body, NULL, true);
	if (!json)
		fail_msg("%s gave no JSON: %s", target, a.body);
	answer_release(&a);
	return json;
}

static const cJSON *at(const cJSON *json, const char *name)
{
	const cJSON *found = cJSON_GetObjectItemCaseSensitive(json, name);
	if (!found)
		fail_msg("no member '%s'", name);
	return found;
}

static const char *text_at(const cJSON *json, const char *name)
{
	const char *text = cJSON_GetStringValue(at(json, name));
	assert_non_null(text);
	return text;
}

static uint64_t number_at(const cJSON *json, const char *name)
{
	const cJSON *found = at(json, name);
	assert_true(cJSON_IsNumber(found));
	return (uint64_t)found->valuedouble;
}

/* Paths of all pages joined by spaces. */
static void list(const fixture *f, const char *query, char *out, size_t room)
{
	char cursor[1024] = "";
	size_t used = 0;
	out[0] = 0;
	for (;;) {
		char target[2048];
		snprintf(target, sizeof target, "/api/v1/assets?%s%s%s", query, cursor[0] ? "&cursor=" : "", cursor);
		cJSON *page = get_json(f, target);
		const cJSON *item;
		cJSON_ArrayForEach(item, at(page, "items"))
		{
			used += (size_t)snprintf(out + used, room - used, "%s%s", used ? " " : "", text_at(item, "path"));
			assert_true(used < room);
		}
		const cJSON *next = at(page, "next");
		bool last = cJSON_IsNull(next);
		snprintf(cursor, sizeof cursor, "%s", last ? "" : cJSON_GetStringValue(next));
		cJSON_Delete(page);
		if (last)
			return;
	}
}

static void expect_list(const fixture *f, const char *query, const char *expected)
{
	char got[4096];
	list(f, query, got, sizeof got);
	if (strcmp(got, expected) != 0)
		fail_msg("%s: '%s' instead of '%s'", query, got, expected);
}

static void put(fixture *f, const char *root, const char *path, srv_state state, const char *kind,
				uint64_t rev, uint64_t bytes, uint32_t warnings)
{
	char full[256];
	snprintf(full, sizeof full, "%s/%s", root, path);
	srv_view_asset a = {.root = hob_str_of(root),
						.path = hob_str_of(path),
						.full = hob_str_of(full),
						.kind = hob_str_of(kind),
						.state = state,
						.standing = standing_of(state, false),
						.rev = rev,
						.cooked_at_ms = (int64_t)(1000000 - rev),
						.cook_ns = rev % 3 * 1000000,
						.cooked_bytes = bytes,
						.warnings = warnings};
	srv_asset_id(a.full, a.id);
	srv_views_put(f->views, &a);
}

static void fill(fixture *f)
{
	put(f, "art", "boat.fbx", SRV_FRESH, "assimp", 1, 50, 0);
	put(f, "art", "props/Duck.glb", SRV_STALE, "gltf", 2, 10, 2);
	put(f, "art", "props/duck.png.glb", SRV_FAILED, "gltf", 3, 0, 0);
	put(f, "art2", "car.obj", SRV_FRESH, "obj", 4, 10, 1);
	put(f, "shared", "boat.fbx", SRV_QUEUED, "assimp", 5, 99, 0);
	srv_views_publish(f->views, 5, true);
}

static void filters_narrow_the_list(void **state)
{
	fixture *f = *state;
	fill(f);
	expect_list(f, "", "boat.fbx props/Duck.glb props/duck.png.glb car.obj boat.fbx");
	expect_list(f, "q=DUCK", "props/Duck.glb props/duck.png.glb");
	expect_list(f, "q=art%2F", "boat.fbx props/Duck.glb props/duck.png.glb");
	expect_list(f, "q=d+k", "props/Duck.glb props/duck.png.glb");
	expect_list(f, "q=glb+duck+png", "props/duck.png.glb");
	expect_list(f, "q=duck+boat", "");
	expect_list(f, "root=art", "boat.fbx props/Duck.glb props/duck.png.glb");
	expect_list(f, "state=failed,queued", "props/duck.png.glb boat.fbx");
	expect_list(f, "standing=broken,waiting", "props/duck.png.glb boat.fbx");
	expect_list(f, "standing=updating", "props/Duck.glb");
	expect_list(f, "state=fresh&kind=obj", "car.obj");
	expect_list(f, "warning=1", "props/Duck.glb car.obj");
	expect_list(f, "changed_since=3", "car.obj boat.fbx");
	expect_list(f, "path=boat.fbx", "boat.fbx boat.fbx");
	expect_list(f, "path=art2/car.obj", "car.obj");
	expect_list(f, "path=nothing", "");
}

static void every_order_pages_through_everything_once(void **state)
{
	fixture *f = *state;
	fill(f);
	static const struct {
		const char *sort, *expected;
	} orders[] = {
		{"path", "boat.fbx props/Duck.glb props/duck.png.glb car.obj boat.fbx"},
		{"-path", "boat.fbx car.obj props/duck.png.glb props/Duck.glb boat.fbx"},
		{"bytes", "props/duck.png.glb props/Duck.glb car.obj boat.fbx boat.fbx"},
		{"-bytes", "boat.fbx boat.fbx car.obj props/Duck.glb props/duck.png.glb"},
		{"rev", "boat.fbx props/Duck.glb props/duck.png.glb car.obj boat.fbx"},
		{"cooked_at", "boat.fbx car.obj props/duck.png.glb props/Duck.glb boat.fbx"},
		{"-cook_ms", "boat.fbx props/Duck.glb car.obj boat.fbx props/duck.png.glb"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(orders); i++)
		for (int limit = 1; limit <= 6; limit++) {
			char query[64];
			snprintf(query, sizeof query, "sort=%s&limit=%d", orders[i].sort, limit);
			expect_list(f, query, orders[i].expected);
		}
}

static void a_page_survives_changes_between_pages(void **state)
{
	fixture *f = *state;
	for (int i = 0; i < 50; i++) {
		char path[32];
		snprintf(path, sizeof path, "a%03d", i);
		put(f, "art", path, SRV_FRESH, "gltf", 1, 1, 0);
	}
	srv_views_publish(f->views, 1, true);
	cJSON *page = get_json(f, "/api/v1/assets?limit=10&count=true");
	assert_int_equal(number_at(page, "total"), 50);
	char target[256];
	snprintf(target, sizeof target, "/api/v1/assets?limit=2&count=1&cursor=%s", text_at(page, "next"));
	cJSON_Delete(page);
	srv_views_remove(f->views, HOB_STR("art/a009"));
	srv_views_remove(f->views, HOB_STR("art/a010"));
	put(f, "art", "a000x", SRV_FRESH, "gltf", 1, 1, 0);
	srv_views_publish(f->views, 2, true);
	page = get_json(f, target);
	assert_string_equal(text_at(cJSON_GetArrayItem(at(page, "items"), 0), "path"), "a011");
	assert_int_equal(number_at(page, "total"), 49);
	assert_int_equal(number_at(page, "rev"), 2);
	cJSON_Delete(page);
}

static void bad_parameters_are_named(void **state)
{
	fixture *f = *state;
	fill(f);
	static const char *const bad[][2] = {{"state=frozen", "frozen"},
										 {"sort=size", "size"},
										 {"limit=0", "limit"},
										 {"limit=1001", "limit"},
										 {"limit=-1", "limit"},
										 {"limit=1e3", "limit"},
										 {"cursor=%25%25", "cursor"},
										 {"cursor=aGVsbG8", "cursor"},
										 {"format=xml", "format"},
										 {"fields=id,size", "size"},
										 {"count=perhaps", "count"},
										 {"warning=2", "warning"},
										 {"changed_since=a", "changed_since"}};
	for (size_t i = 0; i < HOB_COUNT_OF(bad); i++) {
		char target[128];
		snprintf(target, sizeof target, "/api/v1/assets?%s", bad[i][0]);
		answer a = get(f, target);
		assert_problem(&a, 400, "bad-request");
		assert_has(&a, bad[i][1]);
		answer_release(&a);
	}
	answer a = get(f, "/api/v1/assets?state=x");
	assert_has(&a, "states are: queued cooking fresh stale failed");
	answer_release(&a);
}

static void items_have_the_promised_shape(void **state)
{
	fixture *f = *state;
	hob_sha256 digest = fixture_blob(f, "m", 1);
	fixture_put(f, "props/duck.glb", SRV_FRESH, 4182, "meshes", digest, 65210);
	srv_views_publish(f->views, 4182, true);
	cJSON *page = get_json(f, "/api/v1/assets");
	const cJSON *item = cJSON_GetArrayItem(at(page, "items"), 0);
	assert_string_equal(text_at(item, "name"), "art/props/duck.glb");
	assert_string_equal(text_at(item, "path"), "props/duck.glb");
	assert_string_equal(text_at(item, "root"), "art");
	assert_string_equal(text_at(item, "kind"), "gltf");
	assert_string_equal(text_at(item, "state"), "fresh");
	assert_string_equal(text_at(item, "cooked_at"), "2026-11-20T18:31:29.123Z");
	assert_int_equal(number_at(item, "rev"), 4182);
	assert_int_equal(number_at(item, "cook_ms"), 183);
	assert_int_equal(number_at(item, "warnings"), 0);
	assert_int_equal(number_at(at(item, "bytes"), "source"), 120484);
	assert_int_equal(number_at(at(item, "bytes"), "cooked"), 65210);
	assert_int_equal(number_at(at(item, "stats"), "triangles"), 4212);
	assert_true(cJSON_IsNull(at(item, "error")));
	assert_string_equal(text_at(at(item, "links"), "data"), "/a/art/props/duck.glb");
	assert_null(cJSON_GetObjectItem(item, "outputs"));
	char id[32], target[128];
	snprintf(id, sizeof id, "%s", text_at(item, "id"));
	snprintf(target, sizeof target, "%s", text_at(at(item, "links"), "self"));
	cJSON_Delete(page);

	cJSON *detail = get_json(f, target);
	assert_string_equal(text_at(detail, "id"), id);
	const cJSON *output = cJSON_GetArrayItem(at(detail, "outputs"), 0);
	char hash[HOB_SHA256_TEXT + 1];
	hob_sha256_text(&digest, hash);
	assert_string_equal(text_at(output, "name"), "meshes");
	assert_string_equal(text_at(output, "hash"), hash);
	assert_int_equal(number_at(output, "size"), 65210);
	answer blob = get(f, text_at(output, "url"));
	assert_int_equal(blob.status, 200);
	answer_release(&blob);
	cJSON_Delete(detail);

	answer a = get(f, "/api/v1/assets?fields=id,state");
	char expected[128];
	snprintf(expected, sizeof expected,
			 "{\"items\":[{\"id\":\"%s\",\"state\":\"fresh\"}],\"next\":null,\"total\":null,\"rev\":4182}\n",
			 id);
	assert_string_equal(a.body, expected);
	answer_release(&a);
	expect_problem(get(f, "/api/v1/assets/000000000000"), 404, "not-found");
	expect_problem(get(f, "/api/v1/assets/short"), 404, "not-found");
}

static void ndjson_is_one_object_a_line_and_links_to_the_next_page(void **state)
{
	fixture *f = *state;
	fill(f);
	answer a = get(f, "/api/v1/assets?format=ndjson&fields=path&limit=2&q=a%2F%26");
	assert_int_equal(a.size, 0);
	answer_release(&a);
	a = get(f, "/api/v1/assets?format=ndjson&fields=path&limit=2");
	assert_field(&a, "Content-Type", "application/x-ndjson");
	assert_string_equal(a.body, "{\"path\":\"boat.fbx\"}\n{\"path\":\"props/Duck.glb\"}\n");
	char link[512];
	assert_true(answer_field(&a, "Link", link, sizeof link));
	answer_release(&a);
	char *end = strchr(link, '>');
	assert_true(link[0] == '<' && end && strcmp(end, ">; rel=\"next\"") == 0);
	*end = 0;
	a = get(f, link + 1);
	assert_string_equal(a.body, "{\"path\":\"props/duck.png.glb\"}\n{\"path\":\"car.obj\"}\n");
	answer_release(&a);
}

static void dependencies_are_known_both_ways(void **state)
{
	fixture *f = *state;
	srv_view_dep deps[] = {{HOB_STR("tex/a.png"), false, hob_sha256_of((hob_bytes){0}), 700},
						   {HOB_STR("b.glb"), true, {{0}}, 0}};
	srv_view_asset a = {.root = HOB_STR("art"),
						.path = HOB_STR("a.glb"),
						.full = HOB_STR("art/a.glb"),
						.state = SRV_FRESH,
						.deps = deps,
						.dep_count = 2};
	srv_asset_id(a.full, a.id);
	srv_views_put(f->views, &a);
	put(f, "art", "b.glb", SRV_FRESH, "gltf", 1, 1, 0);
	put(f, "art2", "b.glb", SRV_FRESH, "gltf", 1, 1, 0);
	srv_views_publish(f->views, 1, true);
	char target[128], other[SRV_ASSET_ID + 1];
	snprintf(target, sizeof target, "/api/v1/assets/%s/deps", a.id);
	cJSON *out = get_json(f, target);
	assert_int_equal(cJSON_GetArraySize(at(out, "items")), 2);
	const cJSON *second = cJSON_GetArrayItem(at(out, "items"), 1);
	srv_asset_id(HOB_STR("art/b.glb"), other);
	assert_string_equal(text_at(second, "id"), other);
	assert_true(cJSON_IsTrue(at(second, "missing")));
	assert_true(cJSON_IsNull(at(second, "hash")));
	cJSON_Delete(out);
	snprintf(target, sizeof target, "/api/v1/assets/%s/deps?direction=in", other);
	cJSON *in = get_json(f, target);
	assert_int_equal(cJSON_GetArraySize(at(in, "items")), 1);
	assert_string_equal(text_at(cJSON_GetArrayItem(at(in, "items"), 0), "id"), a.id);
	cJSON_Delete(in);
	snprintf(target, sizeof target, "/api/v1/assets/%s/deps?direction=up", other);
	expect_problem(get(f, target), 400, "bad-request");
}

static void put_broken(fixture *f, const char *path, srv_state state, const char *error)
{
	char full[128];
	snprintf(full, sizeof full, "art/%s", path);
	srv_view_asset a = {.root = HOB_STR("art"),
						.path = hob_str_of(path),
						.full = hob_str_of(full),
						.state = state,
						.standing = standing_of(state, error[0] != 0),
						.error = hob_str_of(error)};
	srv_asset_id(a.full, a.id);
	srv_views_put(f->views, &a);
}

static void errors_are_grouped_by_their_root_cause(void **state)
{
	fixture *f = *state;
	put_broken(
		f, "a.glb", SRV_FAILED,
		"{\"code\":\"import.missing-file\",\"message\":\"no 'x.png'\",\"hint\":\"h\",\"root_cause\":null}");
	put_broken(f, "b.glb", SRV_STALE,
			   "{\"code\":\"import.missing-file\",\"message\":\"no 'x.png'\",\"hint\":\"h\"}");
	put_broken(f, "scene.json", SRV_BLOCKED,
			   "{\"code\":\"cook.blocked\",\"message\":\"waits\",\"root_cause\":\"art/m.glb\"}");
	put_broken(f, "deep.json", SRV_BLOCKED,
			   "{\"code\":\"cook.blocked\",\"message\":\"waits too\",\"root_cause\":\"art/m.glb\"}");
	put_broken(
		f, "m.glb", SRV_FAILED,
		"{\"code\":\"import.corrupt\",\"message\":\"bad\",\"location\":{\"file\":\"m.glb\",\"line\":3}}");
	put_broken(f, "odd.glb", SRV_FAILED, "this is no JSON");
	put(f, "art", "fine.glb", SRV_FRESH, "gltf", 1, 1, 0);
	srv_views_publish(f->views, 7, true);
	cJSON *errors = get_json(f, "/api/v1/errors");
	assert_int_equal(number_at(errors, "assets"), 6);
	assert_int_equal(number_at(errors, "groups"), 3);
	const cJSON *missing = NULL, *blamed = NULL, *item;
	cJSON_ArrayForEach(item, at(errors, "items"))
	{
		if (strcmp(text_at(item, "code"), "import.missing-file") == 0)
			missing = item;
		if (strcmp(text_at(item, "code"), "import.corrupt") == 0)
			blamed = item;
	}
	assert_non_null(missing);
	assert_int_equal(number_at(missing, "count"), 2);
	assert_true(cJSON_IsNull(at(missing, "root_cause")));
	assert_non_null(blamed);
	assert_int_equal(number_at(blamed, "count"), 3);
	assert_string_equal(text_at(blamed, "root_cause"), "art/m.glb");
	assert_int_equal(number_at(at(blamed, "location"), "line"), 3);
	assert_string_equal(text_at(cJSON_GetArrayItem(at(blamed, "assets"), 0), "path"), "m.glb");
	cJSON_Delete(errors);
}

static void facts_about_the_daemon_are_told(void **state)
{
	fixture *f = *state;
	fill(f);
	srv_view_root roots[] = {
		{HOB_STR("art"), HOB_STR("/srv/art"), .mode = "inotify", .note = HOB_STR(""), .files = 5},
		{HOB_STR("nfs"), HOB_STR("/mnt/x"), .mode = "polling", .note = HOB_STR("network mount"), .files = 6}};
	srv_views_set_roots(f->views, roots, 2);
	srv_views_publish(f->views, 6, true);
	cJSON *api = get_json(f, "/api/v1");
	assert_string_equal(text_at(api, "name"), "hob");
	assert_string_equal(text_at(api, "version"), "9.8.7");
	assert_string_equal(text_at(api, "epoch"), "7c1e");
	assert_int_equal(number_at(api, "rev"), 6);
	assert_int_equal(number_at(at(api, "limits"), "page_items"), 1000);
	cJSON_Delete(api);
	cJSON *stats = get_json(f, "/api/v1/stats");
	assert_int_equal(number_at(at(stats, "assets"), "total"), 5);
	assert_int_equal(number_at(at(stats, "assets"), "fresh"), 2);
	assert_int_equal(number_at(at(stats, "bytes"), "cooked"), 169);
	assert_int_equal(number_at(at(stats, "queue"), "length"), 3);
	cJSON_Delete(stats);
	cJSON *list = get_json(f, "/api/v1/roots");
	const cJSON *second = cJSON_GetArrayItem(at(list, "items"), 1);
	assert_string_equal(text_at(second, "mode"), "polling");
	assert_string_equal(text_at(second, "note"), "network mount");
	assert_int_equal(number_at(second, "files"), 6);
	cJSON_Delete(list);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(filters_narrow_the_list),
		TEST(every_order_pages_through_everything_once),
		TEST(a_page_survives_changes_between_pages),
		TEST(bad_parameters_are_named),
		TEST(items_have_the_promised_shape),
		TEST(ndjson_is_one_object_a_line_and_links_to_the_next_page),
		TEST(dependencies_are_known_both_ways),
		TEST(errors_are_grouped_by_their_root_cause),
		TEST(facts_about_the_daemon_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
