/* Changing a model's settings modifies its own sidecar and nothing else. */
#include "../../../server/settings/sidecar.h"
#include "../support.h"
#include "../temp_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

static temp_folder folder;
static int root_fd;

static int set_up(void **state)
{
	(void)state;
	folder_make(&folder);
	root_fd = open(folder.path, O_RDONLY | O_DIRECTORY);
	return root_fd < 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(root_fd);
	folder_remove(&folder);
	return 0;
}

static void put(const char *name, const char *text)
{
	folder_put(&folder, name, text);
}

/* The whole file, "" if missing. */
static const char *get(const char *path)
{
	static char text[4096];
	FILE *file = fopen(folder_at(&folder, "%s", path), "r");
	size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
	text[size] = 0;
	if (file)
		fclose(file);
	return text;
}

/* The first line of a file that did not exist. */
#define SCHEMA "\n\t\"$schema\":\t\"http://127.0.0.1:7780/api/v1/schema/settings.json\""

static srv_sidecar_result patch(const char *asset, const char *tag, const char *change, hob_error *err)
{
	*err = (hob_error){0};
	return srv_sidecar_patch(root_fd, hob_str_of(asset), hob_str_of(tag), hob_str_of(change), err);
}

static void a_patch_merges_and_null_removes(void **state)
{
	(void)state;
	hob_error error;
	assert_int_equal(patch("x.obj.cook.json", "\"none\"", "{\"lods\":{\"max\":3},\"scale\":2}", &error),
					 SRV_SIDECAR_DONE);
	assert_int_equal(patch("x.obj.cook.json", "*", "{\"lods\":{\"max\":null},\"encode\":\"raw\"}", &error),
					 SRV_SIDECAR_DONE);
	assert_string_equal(get("x.obj.cook.json"),
						"{" SCHEMA ",\n\t\"scale\":\t2,\n\t\"lods\":\t{\n\t},\n\t\"encode\":\t\"raw\"\n}\n");
}

static void if_match_must_name_what_is_there(void **state)
{
	(void)state;
	hob_error error;
	char tag[SRV_SIDECAR_TAG];
	assert_int_equal(patch("x.obj.cook.json", "*", "{}", &error), SRV_SIDECAR_CHANGED);
	assert_int_equal(patch("x.obj.cook.json", "\"0\"", "{}", &error), SRV_SIDECAR_CHANGED);
	assert_int_equal(patch("x.obj.cook.json", "", "{}", &error), SRV_SIDECAR_CHANGED);
	assert_string_equal(get("x.obj.cook.json"), "");
	put("x.obj.cook.json", "{\"scale\":2}");
	assert_int_equal(patch("x.obj.cook.json", "\"none\"", "{}", &error), SRV_SIDECAR_CHANGED);
	srv_sidecar_tag(true, HOB_STR("{\"scale\":3}"), tag);
	assert_int_equal(srv_sidecar_delete(root_fd, HOB_STR("x.obj.cook.json"), hob_str_of(tag), &error),
					 SRV_SIDECAR_CHANGED);
	assert_string_equal(get("x.obj.cook.json"), "{\"scale\":2}");
	srv_sidecar_tag(true, HOB_STR("{\"scale\":2}"), tag);
	assert_int_equal(srv_sidecar_delete(root_fd, HOB_STR("x.obj.cook.json"), hob_str_of(tag), &error),
					 SRV_SIDECAR_DONE);
	assert_string_equal(get("x.obj.cook.json"), "");
	assert_int_equal(srv_sidecar_delete(root_fd, HOB_STR("x.obj.cook.json"), HOB_STR("\"none\""), &error),
					 SRV_SIDECAR_DONE);
}

static void what_is_wrong_changes_nothing(void **state)
{
	(void)state;
	hob_error error;
	put("x.obj.cook.json", "[1]");
	assert_int_equal(patch("x.obj.cook.json", "*", "{}", &error), SRV_SIDECAR_FAILED);
	assert_int_equal(error.code, HOB_ERR_CONFIG);
	assert_string_equal(get("x.obj.cook.json"), "[1]");
	assert_int_equal(patch("y.obj.cook.json", "\"none\"", "[1]", &error), SRV_SIDECAR_FAILED);
	assert_int_equal(error.code, HOB_ERR_BAD_REQUEST);
	assert_int_equal(patch("y.obj.cook.json", "\"none\"", "{\"lods\":{\"max\":99}}", &error),
					 SRV_SIDECAR_FAILED);
	assert_int_equal(error.code, HOB_ERR_CONFIG);
	assert_int_equal(patch("no/such/y.obj.cook.json", "\"none\"", "{}", &error), SRV_SIDECAR_FAILED);
	assert_int_equal(error.code, HOB_ERR_IO);
	char longest[PATH_MAX];
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = 0;
	assert_int_equal(patch(longest, "\"none\"", "{}", &error), SRV_SIDECAR_FAILED);
	assert_string_equal(get("y.obj.cook.json"), "");
}

static void a_hundred_folders_deep_it_is_still_the_own_sidecar(void **state)
{
	(void)state;
	hob_error error;
	char name[4096] = "", file[4200];
	put("cook.json", "{\"scale\":2}");
	size_t used = 0;
	for (int i = 0; i < 100; i++) {
		used += (size_t)snprintf(name + used, sizeof name - used, "d%d/", i);
		assert_int_equal(mkdirat(root_fd, name, 0777), 0);
		snprintf(file, sizeof file, "%scook.json", name);
		put(file, "{\"scale\":3}");
	}
	snprintf(name + used, sizeof name - used, "x.obj.cook.json");
	assert_int_equal(patch(name, "\"none\"", "{\"lods\":{\"max\":1}}", &error), SRV_SIDECAR_DONE);
	snprintf(file, sizeof file, "%s", name);
	assert_string_equal(get(file), "{" SCHEMA ",\n\t\"lods\":\t{\n\t\t\"max\":\t1\n\t}\n}\n");
	assert_int_equal(srv_sidecar_delete(root_fd, hob_str_of(name), HOB_STR("*"), &error), SRV_SIDECAR_DONE);
	assert_string_equal(get(file), "");
	assert_string_equal(get("cook.json"), "{\"scale\":2}");
	for (int i = 0; i < 100; i++) {
		char *end = name;
		for (int part = 0; part <= i; part++)
			end = strchr(end, '/') + 1;
		snprintf(file, sizeof file, "%.*scook.json", (int)(end - name), name);
		assert_string_equal(get(file), "{\"scale\":3}");
	}
}

static void a_link_that_leaves_the_root_is_replaced_not_followed(void **state)
{
	(void)state;
	hob_error error;
	temp_folder outside;
	folder_make(&outside);
	char target[512];
	snprintf(target, sizeof target, "%s", folder_at(&outside, "other.json"));
	FILE *file = fopen(target, "w");
	fputs("{\"scale\":9}", file);
	fclose(file);
	assert_int_equal(symlinkat(target, root_fd, "x.obj.cook.json"), 0);
	assert_int_equal(symlinkat(outside.path, root_fd, "away"), 0);
	assert_int_equal(patch("x.obj.cook.json", "\"none\"", "{\"scale\":2}", &error), SRV_SIDECAR_DONE);
	assert_string_equal(get("x.obj.cook.json"), "{" SCHEMA ",\n\t\"scale\":\t2\n}\n");
	assert_int_equal(patch("away/x.obj.cook.json", "\"none\"", "{\"scale\":2}", &error), SRV_SIDECAR_FAILED);
	char text[32] = "";
	file = fopen(target, "r");
	assert_non_null(fgets(text, sizeof text, file));
	fclose(file);
	assert_string_equal(text, "{\"scale\":9}");
	assert_int_not_equal(access(folder_at(&outside, "x.obj.cook.json"), F_OK), 0);
	folder_remove(&outside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_patch_merges_and_null_removes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(if_match_must_name_what_is_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_wrong_changes_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_hundred_folders_deep_it_is_still_the_own_sidecar, set_up,
										tear_down),
		cmocka_unit_test_setup_teardown(a_link_that_leaves_the_root_is_replaced_not_followed, set_up,
										tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
