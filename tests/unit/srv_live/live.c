#include "tests/unit/support.h"
#include "tests/unit/temp_folder.h"

#include "server/live/live.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define assert_good(call, err) assert_true((call) || (print_error("%s\n", (err)->context), false))

typedef struct fixture {
	temp_folder folder;
	srv_live *live;
	int bytes;
} fixture;

static int setup(void **state)
{
	fixture *f = calloc(1, sizeof *f);
	hob_error err = {0};
	folder_make(&f->folder);
	assert_good(srv_live_open(f->folder.path, &f->live, &err), &err);
	folder_put(&f->folder, "model", "twelve bytes");
	f->bytes = open(folder_at(&f->folder, "model"), O_RDONLY | O_CLOEXEC);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture *f = *state;
	srv_live_close(f->live);
	close(f->bytes);
	folder_remove(&f->folder);
	free(f);
	return 0;
}

static bool set(fixture *f, const char *user, const char *asset, hob_error *err)
{
	return srv_live_set(f->live, hob_str_of(user), hob_str_of(asset), HOB_STR("{}"), f->bytes, 12, err);
}

static bool holds(fixture *f, const char *name)
{
	struct stat info;
	return stat(folder_at(&f->folder, "live/%s", name), &info) == 0 && info.st_size == 12;
}

static void a_model_is_a_file_below_its_user(void **state)
{
	fixture *f = *state;
	hob_error err = {0};
	assert_good(set(f, "ann", "art/props/duck.obj", &err), &err);
	assert_true(holds(f, "ann/art/props/duck.obj.glb"));
	assert_good(set(f, "ann", "art/props/duck.obj", &err), &err);
	assert_good(set(f, "ben", "art/props/duck.obj", &err), &err);
	hob_buf name = {0};
	srv_live_put_name(&name, HOB_STR("ann"), HOB_STR("art/props/duck.obj"));
	assert_true(hob_str_equal(hob_buf_str(&name), HOB_STR("live/ann/art/props/duck.obj.glb")));
	hob_buf_release(&name);
	assert_int_equal(srv_live_drop(f->live, HOB_STR("ann"), HOB_STR("art/props/duck.obj")), 1);
	assert_int_equal(srv_live_drop(f->live, HOB_STR("ann"), HOB_STR("art/props/duck.obj")), 0);
	assert_true(holds(f, "ben/art/props/duck.obj.glb"));
	assert_good(set(f, "ben", "art/box.glb", &err), &err);
	assert_int_equal(srv_live_drop(f->live, HOB_STR("ben"), (hob_str){0}), 2);
	assert_false(holds(f, "ben/art/box.glb.glb"));
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	fixture *f = *state;
	static const char *const users[] = {
		"",	   ".",	  "..",		  ".ann",
		"a/b", "a b", "\xC3\xA4", "a2345678901234567890123456789012345678901234567890123456789012345"};
	static const char *const assets[] = {"",		"art",	  "art/",	"/art/x",	"art//x",	"art/../x",
										 "art/./x", "art/.x", "../x/y", "art/a\nb", "art/a\x7F"};
	for (size_t i = 0; i < HOB_COUNT_OF(users); i++)
		assert_false(srv_live_is_user(hob_str_of(users[i])));
	for (size_t i = 0; i < HOB_COUNT_OF(assets); i++)
		assert_false(srv_live_is_asset(hob_str_of(assets[i])));
	char deep[256] = "art";
	for (int i = 0; i < 33; i++)
		strcat(deep, "/d");
	assert_false(srv_live_is_asset(hob_str_of(deep)));
	hob_error err = {0};
	assert_false(set(f, "ann", "art/../../x", &err));
	assert_int_equal(err.code, HOB_ERR_BAD_REQUEST);
	assert_int_equal(srv_live_drop(f->live, HOB_STR(".."), (hob_str){0}), 0);
	/* A planted link is not followed. */
	assert_int_equal(symlink(f->folder.path, folder_at(&f->folder, "live/eve")), 0);
	assert_false(set(f, "eve", "art/x", &err));
	assert_int_equal(srv_live_drop(f->live, HOB_STR("eve"), (hob_str){0}), 0);
	assert_int_equal(access(folder_at(&f->folder, "model"), F_OK), 0);
}

static void who_is_idle_is_dropped_and_a_start_begins_empty(void **state)
{
	fixture *f = *state;
	hob_error err = {0};
	assert_good(set(f, "ann", "art/a", &err), &err);
	assert_good(set(f, "ben", "art/b", &err), &err);
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	assert_int_equal(utimensat(AT_FDCWD, folder_at(&f->folder, "live/ann/art/a.glb"), old, 0), 0);
	assert_int_equal(srv_live_drop_idle(f->live, time(NULL), 3600), 1);
	assert_false(holds(f, "ann/art/a.glb"));
	assert_true(holds(f, "ben/art/b.glb"));
	srv_live_close(f->live);
	folder_put(&f->folder, "live/left/art/x.glb", "twelve bytes");
	assert_good(srv_live_open(f->folder.path, &f->live, &err), &err);
	assert_false(holds(f, "left/art/x.glb"));
	assert_int_equal(access(folder_at(&f->folder, "live/left"), F_OK), -1);
}

static void what_is_too_large_is_named(void **state)
{
	fixture *f = *state;
	hob_error err = {0};
	assert_false(srv_live_set(f->live, HOB_STR("ann"), HOB_STR("art/a"), (hob_str){0}, f->bytes,
							  SRV_LIVE_BYTES_MAX + 1, &err));
	assert_int_equal(err.code, HOB_ERR_BAD_REQUEST);
	/* A file shorter than declared leaves nothing behind. */
	assert_false(srv_live_set(f->live, HOB_STR("ann"), HOB_STR("art/a"), (hob_str){0}, f->bytes, 100, &err));
	assert_int_equal(err.code, HOB_ERR_IO);
	assert_int_equal(srv_live_drop(f->live, HOB_STR("ann"), (hob_str){0}), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_model_is_a_file_below_its_user, setup, teardown),
		cmocka_unit_test_setup_teardown(names_that_lead_elsewhere_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_idle_is_dropped_and_a_start_begins_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_too_large_is_named, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
