/* The lookup of a model's settings files, and the folder cache above it. */
#include "../../../server/settings/chain.h"
#include "../support.h"
#include "../temp_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

static temp_folder folder, outside;
static int root_fd;

static int set_up(void **state)
{
	(void)state;
	folder_make(&folder);
	folder_make(&outside);
	root_fd = open(folder.path, O_RDONLY | O_DIRECTORY);
	return root_fd < 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(root_fd);
	folder_remove(&folder);
	folder_remove(&outside);
	return 0;
}

static void put(const char *name, const char *text)
{
	folder_put(&folder, name, text);
}

typedef struct walked {
	char paths[4096];
	uint32_t count, existing, sidecars, stop_at;
} walked;

static bool note_layer(void *user, const srv_layer *layer, hob_error *err)
{
	walked *w = user;
	if (w->stop_at == ++w->count)
		return hob_fail(err, CONFIG, "stopped");
	assert_int_equal(layer->path.data[layer->path.len], 0);
	w->existing += layer->exists;
	w->sidecars += layer->sidecar;
	size_t used = strlen(w->paths);
	snprintf(w->paths + used, sizeof w->paths - used, "%.*s%s;", HOB_FMT(layer->path),
			 layer->exists ? "!" : "");
	return true;
}

static void layers_come_from_the_root_down_and_the_sidecar_is_last(void **state)
{
	(void)state;
	hob_error error;
	walked w = {0};
	put("cook.json", "{}");
	put("a/b/duck.glb.cook.json", "{}");
	assert_true(srv_settings_walk(root_fd, HOB_STR("a/b/duck.glb"), note_layer, &w, &error));
	assert_string_equal(w.paths, "cook.json!;a/cook.json;a/b/cook.json;a/b/duck.glb.cook.json!;");
	assert_int_equal(w.sidecars, 1);
	w = (walked){.stop_at = 2};
	assert_false(srv_settings_walk(root_fd, HOB_STR("a/b/duck.glb"), note_layer, &w, &error));
	assert_int_equal(w.count, 2);
	w = (walked){0};
	assert_true(srv_settings_walk(root_fd, HOB_STR("duck.glb"), note_layer, &w, &error));
	assert_string_equal(w.paths, "cook.json!;duck.glb.cook.json;");
	assert_false(srv_settings_walk(root_fd, HOB_STR(""), note_layer, &w, &error));
}

/* "d0/d1/.../" of `depth` folders, followed by the model's name. */
static hob_str deep_name(uint32_t depth, char out[4096])
{
	size_t used = 0;
	for (uint32_t i = 0; i < depth; i++)
		used += (size_t)snprintf(out + used, 4096 - used, "d%u/", i);
	used += (size_t)snprintf(out + used, 4096 - used, "duck.glb");
	return (hob_str){out, used};
}

static void every_depth_has_one_layer_a_folder(void **state)
{
	(void)state;
	hob_error error;
	for (uint32_t depth = 0; depth <= 100; depth++) {
		char name[4096];
		walked w = {0};
		hob_str asset = deep_name(depth, name);
		assert_true(srv_settings_walk(root_fd, asset, note_layer, &w, &error));
		assert_int_equal(w.count, depth + 2);
		assert_int_equal(w.sidecars, 1);
	}
	char name[4096], text[4200];
	deep_name(100, name);
	snprintf(text, sizeof text, "%s.cook.json", name);
	put(text, "{\"lods\":{\"max\":2}}");
	walked w = {0};
	assert_true(srv_settings_walk(root_fd, hob_str_of(name), note_layer, &w, &error));
	assert_int_equal(w.existing, 1);
}

static uint32_t lods_of(srv_settings_cache *cache, const char *asset, bool has_sidecar)
{
	hob_error error = {0};
	hob_settings own, out;
	hob_settings_init(&own);
	own.lod_max = 7;
	if (!srv_settings_resolve(cache, root_fd, &own, hob_str_of(asset), root_fd,
							  has_sidecar ? hob_str_of(asset) : (hob_str){0}, &out, &error))
		return error.code == HOB_ERR_CONFIG ? 100 : 200;
	return out.lod_max;
}

static void the_nearest_layer_wins(void **state)
{
	(void)state;
	srv_settings_cache *cache = srv_settings_cache_new();
	assert_int_equal(lods_of(cache, "a/b/duck.glb", true), 7);
	put("a/cook.json", "{\"lods\":{\"max\":3}}");
	put("a/b/duck.glb.cook.json", "{\"lods\":{\"max\":1}}");
	put("cook.json", "{\"lods\":{\"max\":5},\"scale\":2}");
	/* Cached settings stay until they are dropped; a sidecar is never cached. */
	assert_int_equal(lods_of(cache, "a/b/duck.glb", true), 1);
	assert_int_equal(lods_of(cache, "a/b/duck.glb", false), 7);
	srv_settings_forget(cache);
	assert_int_equal(lods_of(cache, "a/b/duck.glb", false), 3);
	assert_int_equal(lods_of(cache, "a/b/duck.glb", true), 1);
	assert_int_equal(lods_of(cache, "duck.glb", true), 5);
	assert_int_equal(lods_of(cache, "ab/duck.glb", true), 5);
	srv_settings_cache_free(cache);
	srv_settings_cache_free(NULL);
}

static void a_wrong_file_fails_its_folder_and_what_lies_below(void **state)
{
	(void)state;
	srv_settings_cache *cache = srv_settings_cache_new();
	put("bad/cook.json", "{\"lods\":{\"max\":99}}");
	put("bad/deeper/cook.json", "{\"lods\":{\"max\":2}}");
	put("good/x.obj.cook.json", "{");
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(lods_of(cache, "bad/deeper/x.obj", true), 100);
		assert_int_equal(lods_of(cache, "bad/x.obj", true), 100);
		assert_int_equal(lods_of(cache, "good/x.obj", true), 100);
		assert_int_equal(lods_of(cache, "good/y.obj", true), 7);
	}
	srv_settings_cache_free(cache);
}

static void a_thousand_folders_are_all_found_again(void **state)
{
	(void)state;
	char name[64];
	srv_settings_cache *cache = srv_settings_cache_new();
	put("f77/cook.json", "{\"lods\":{\"max\":2}}");
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < 1000; i++) {
			snprintf(name, sizeof name, "f%d/x.obj", i);
			assert_int_equal(lods_of(cache, name, false), i == 77 ? 2 : 7);
		}
	srv_settings_cache_free(cache);
}

static void nothing_outside_the_root_is_read(void **state)
{
	(void)state;
	srv_settings_cache *cache = srv_settings_cache_new();
	char target[512], up[600];
	FILE *file = fopen(folder_at(&outside, "cook.json"), "w");
	fputs("{\"lods\":{\"max\":2}}", file);
	fclose(file);
	snprintf(target, sizeof target, "%s", folder_at(&outside, "cook.json"));
	snprintf(up, sizeof up, "../..%s", target);
	put("a/x", "");
	put("b/x", "");
	put("real.json", "{\"lods\":{\"max\":4}}");
	assert_int_equal(symlinkat(target, root_fd, "a/cook.json"), 0);
	assert_int_equal(symlinkat(up, root_fd, "b/cook.json"), 0);
	assert_int_equal(symlinkat("../real.json", root_fd, "b/y.obj.cook.json"), 0);
	assert_int_equal(lods_of(cache, "a/x.obj", true), 7);
	assert_int_equal(lods_of(cache, "b/x.obj", true), 7);
	assert_int_equal(lods_of(cache, "b/y.obj", true), 4);
	srv_settings_cache_free(cache);
}

static void what_is_no_file_is_no_layer_and_what_is_too_large_is_an_error(void **state)
{
	(void)state;
	srv_settings_cache *cache = srv_settings_cache_new();
	mkdirat(root_fd, "d", 0777);
	mkdirat(root_fd, "d/cook.json", 0777);
	mkdirat(root_fd, "p", 0777);
	mkfifoat(root_fd, "p/cook.json", 0666);
	assert_int_equal(lods_of(cache, "d/x.obj", true), 7);
	assert_int_equal(lods_of(cache, "p/x.obj", true), 7);
	char *text = calloc(1, SRV_SETTINGS_FILE_MAX + 2);
	memset(text, ' ', SRV_SETTINGS_FILE_MAX + 1);
	text[0] = '{';
	text[SRV_SETTINGS_FILE_MAX - 1] = '}';
	put("l/x.obj.cook.json", text);
	text[SRV_SETTINGS_FILE_MAX] = 0;
	put("m/x.obj.cook.json", text);
	free(text);
	assert_int_equal(lods_of(cache, "l/x.obj", true), 100);
	assert_int_equal(lods_of(cache, "m/x.obj", true), 7);
	srv_settings_cache_free(cache);
}

static void a_file_reaches_its_folder_and_a_sidecar_its_model(void **state)
{
	(void)state;
	static const struct {
		const char *file, *asset;
		bool reaches;
	} rows[] = {
		{"cook.json", "duck.glb", true},
		{"cook.json", "a/duck.glb", true},
		{"a/cook.json", "a/duck.glb", true},
		{"a/cook.json", "a/b/duck.glb", true},
		{"a/cook.json", "ab/duck.glb", false},
		{"a/cook.json", "duck.glb", false},
		{"a/cook.json", "a", false},
		{"a/duck.glb.cook.json", "a/duck.glb", true},
		{"a/duck.glb.cook.json", "a/duck.glbx", false},
		{"duck.glb.cook.json", "a/duck.glb", false},
		{"a/xcook.json", "a/x", false},
		{".cook.json", "", false},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++)
		assert_int_equal(srv_settings_reaches(hob_str_of(rows[i].file), hob_str_of(rows[i].asset)),
						 rows[i].reaches);
	assert_true(
		hob_str_equal(srv_settings_sidecar_of(HOB_STR("a/duck.glb.cook.json")), HOB_STR("a/duck.glb")));
	assert_int_equal(srv_settings_sidecar_of(HOB_STR("a/cook.json")).len +
						 srv_settings_sidecar_of(HOB_STR("cook.json")).len,
					 0);
	assert_int_equal(srv_settings_sidecar_of(HOB_STR(".cook.json")).len +
						 srv_settings_sidecar_of(HOB_STR("duck.glb")).len,
					 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(layers_come_from_the_root_down_and_the_sidecar_is_last, set_up,
										tear_down),
		cmocka_unit_test_setup_teardown(every_depth_has_one_layer_a_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_nearest_layer_wins, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_wrong_file_fails_its_folder_and_what_lies_below, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_thousand_folders_are_all_found_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_outside_the_root_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_file_is_no_layer_and_what_is_too_large_is_an_error, set_up,
										tear_down),
		cmocka_unit_test(a_file_reaches_its_folder_and_a_sidecar_its_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
