/* Watched folders that appear, disappear and move. */
#include "watch_support.h"

#include <dirent.h>

static void file_in_new_folder_is_reported(void **state)
{
	watched *w = *state;
	start_watching(w, NULL);
	size_t from = w->count;
	make_folder(w, "new");
	save(w, "new/a.glb", "x");
	wait_record(w, from, 'c', "new/a.glb");
	from = w->count;
	save(w, "new/a.glb", "y");
	wait_record(w, from, 'c', "new/a.glb");
}

/* The file exists before the folder can have been watched. */
static void five_hundred_nested_creates_lose_nothing(void **state)
{
	watched *w = *state;
	start_watching(w, NULL);
	size_t from = w->count;
	for (int i = 0; i < 500; i++) {
		char name[64];
		snprintf(name, sizeof name, "d%03d", i);
		make_folder(w, name);
		snprintf(name, sizeof name, "d%03d/deep", i);
		make_folder(w, name);
		snprintf(name, sizeof name, "d%03d/deep/a.glb", i);
		save(w, name, "x");
	}
	for (int i = 0; i < 500; i++) {
		char name[64];
		snprintf(name, sizeof name, "d%03d/deep/a.glb", i);
		wait_record(w, from, 'c', name);
	}
}

static void renamed_folder_reports_both_names_and_its_files(void **state)
{
	watched *w = *state;
	make_folder(w, "old");
	make_folder(w, "old/sub");
	save(w, "old/sub/a.glb", "x");
	start_watching(w, NULL);
	size_t from = w->count;
	rename_in(w, "old", "new");
	wait_record(w, from, 'c', "old/");
	wait_record(w, from, 'c', "new/");
	wait_record(w, from, 'c', "new/sub/a.glb");
	from = w->count;
	save(w, "new/sub/b.glb", "x");
	wait_record(w, from, 'c', "new/sub/b.glb");
	assert_int_equal(find_record(w, from, 'c', "*old"), SIZE_MAX);
}

static void folder_moved_out_and_in_again_is_followed(void **state)
{
	watched *w = *state;
	temp_folder other;
	char outside[256];
	make_folder(w, "a");
	make_folder(w, "a/sub");
	start_watching(w, NULL);
	srv_watch_counters counters;
	srv_watch_count(w->watch, &counters);
	assert_int_equal(counters.watches, 3);
	folder_make(&other);
	strcpy(outside, folder_at(&other, "a"));
	size_t from = w->count;
	assert_int_equal(rename(at(w, "a"), outside), 0);
	wait_record(w, from, 'c', "a/");
	wait_watches(w, 1);
	/* Changes outside are ignored. */
	from = w->count;
	fclose(fopen(folder_at(&other, "a/sub/out.glb"), "w"));
	barrier(w);
	assert_int_equal(find_record(w, from, 'c', "*out.glb"), SIZE_MAX);
	from = w->count;
	assert_int_equal(rename(outside, at(w, "b")), 0);
	wait_record(w, from, 'c', "b/");
	wait_record(w, from, 'c', "b/sub/out.glb");
	save(w, "b/sub/c.glb", "x");
	wait_record(w, from, 'c', "b/sub/c.glb");
	wait_watches(w, 3);
	folder_remove(&other);
}

static void removed_folder_is_reported_and_forgotten(void **state)
{
	watched *w = *state;
	make_folder(w, "a");
	make_folder(w, "a/b");
	save(w, "a/b/x.glb", "x");
	start_watching(w, NULL);
	size_t from = w->count;
	assert_int_equal(unlink(at(w, "a/b/x.glb")), 0);
	assert_int_equal(rmdir(at(w, "a/b")), 0);
	assert_int_equal(rmdir(at(w, "a")), 0);
	wait_record(w, from, 'c', "a/b/x.glb");
	wait_record(w, from, 'c', "a/b/");
	wait_record(w, from, 'c', "a/");
	wait_watches(w, 1);
}

static void folder_replaced_by_rename_is_followed(void **state)
{
	watched *w = *state;
	make_folder(w, "a");
	make_folder(w, "b");
	start_watching(w, NULL);
	size_t from = w->count;
	rename_in(w, "a", "b"); /* b was empty */
	wait_record(w, from, 'c', "b/");
	from = w->count;
	save(w, "b/x.glb", "x");
	wait_record(w, from, 'c', "b/x.glb");
}

static void folders_that_change_places_are_followed(void **state)
{
	watched *w = *state;
	make_folder(w, "a");
	make_folder(w, "a/in");
	make_folder(w, "b");
	make_folder(w, "b/on");
	start_watching(w, NULL);
	char from[512];
	for (int turn = 0; turn < 3; turn++) {
		snprintf(from, sizeof from, "%s", at(w, "a"));
		assert_int_equal(renameat2(AT_FDCWD, from, AT_FDCWD, at(w, "b"), RENAME_EXCHANGE), 0);
		const char *const names[] = {"a/x.glb", "b/x.glb", turn % 2 ? "a/in/x.glb" : "b/in/x.glb",
									 turn % 2 ? "b/on/x.glb" : "a/on/x.glb"};
		for (size_t i = 0; i < HOB_COUNT_OF(names); i++) {
			size_t before = w->count;
			save(w, names[i], "x");
			wait_record(w, before, 'c', names[i]);
		}
	}
	assert_int_equal(w->scans, 1);
}

static bool ignore_build(void *user, uint32_t root, hob_str path)
{
	(void)user, (void)root;
	return hob_str_equal(path, HOB_STR("build/")) || hob_str_ends_nocase(path, HOB_STR(".bak"));
}

static void ignored_and_hidden_things_are_neither_listed_nor_watched(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.ignore = ignore_build};
	make_folder(w, "build");
	make_folder(w, ".git");
	make_folder(w, "art");
	save(w, "build/a.glb", "x");
	save(w, ".git/index", "x");
	save(w, "art/b.bak", "x");
	save(w, "art/c.glb", "x");
	start_watching(w, &options);
	assert_int_equal(w->file_count, 1);
	assert_true(scan_has(w, "art/c.glb"));
	srv_watch_counters counters;
	srv_watch_count(w->watch, &counters);
	assert_int_equal(counters.watches, 2);
	size_t from = w->count;
	save(w, "build/d.glb", "x");
	save(w, ".git/index", "y");
	save(w, "art/b.bak", "y");
	make_folder(w, "art/.hidden");
	save(w, "art/.hidden/e.glb", "x");
	barrier(w);
	for (size_t i = from; i < w->count; i++)
		assert_non_null(strstr(w->records[i].text, "barrier"));
	/* From ignored to listed, and back. */
	from = w->count;
	rename_in(w, "build", "built");
	wait_record(w, from, 'c', "built/a.glb");
	rename_in(w, "built", "build");
	wait_record(w, from, 'c', "built/");
	barrier(w);
	from = w->count;
	save(w, "build/d.glb", "y");
	barrier(w);
	assert_int_equal(find_record(w, from, 'c', "*d.glb"), SIZE_MAX);
}

static void odd_names_are_bytes(void **state)
{
	static const char *const names[] = {"new\nline.glb", "bad\xFF\xFEutf.glb", "tab\t\"quote'.glb",
										" lead.glb",	 "a\\b.glb",		   "A.glb",
										"a.glb",		 "n\xCC\x83.glb",	   "\xC3\xB1.glb"};
	watched *w = *state;
	char longest[256];
	memset(longest, 'L', 255);
	longest[255] = 0;
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		save(w, names[i], "x");
	save(w, longest, "x");
	start_watching(w, NULL);
	assert_int_equal(w->file_count, HOB_COUNT_OF(names) + 1);
	size_t from = w->count;
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++) {
		assert_true(scan_has(w, names[i]));
		save(w, names[i], "y");
		wait_record(w, from, 'c', names[i]);
	}
	save(w, longest, "y");
	wait_record(w, from, 'c', longest);
	for (size_t i = 1; i < w->file_count; i++)
		assert_true(strcmp(w->files[i - 1].path.data, w->files[i].path.data) < 0);
}

static void links_are_listed_only_when_they_stay_inside(void **state)
{
	watched *w = *state;
	char path[4096];
	make_folder(w, "sub");
	make_folder(w, "out");
	save(w, "sub/real.glb", "12345");
	strcpy(path, at(w, "sub/inside.glb"));
	assert_int_equal(symlink("real.glb", path), 0);
	assert_int_equal(symlink("sub/real.glb", at(w, "up.glb")), 0);
	assert_int_equal(symlink("../sub/real.glb", at(w, "out/across.glb")), 0);
	assert_int_equal(symlink("/etc/passwd", at(w, "outside.glb")), 0);
	assert_int_equal(symlink("../../../../etc/passwd", at(w, "dots.glb")), 0);
	assert_int_equal(symlink("loop.glb", at(w, "loop.glb")), 0);
	assert_int_equal(symlink("gone.glb", at(w, "dangling.glb")), 0);
	assert_int_equal(symlink("sub", at(w, "folder")), 0);
	assert_int_equal(symlink(".", at(w, "sub/self")), 0);
	start_watching(w, NULL);
	assert_int_equal(w->file_count, 4);
	assert_true(scan_has(w, "sub/real.glb") && scan_has(w, "sub/inside.glb") && scan_has(w, "up.glb") &&
				scan_has(w, "out/across.glb"));
	for (size_t i = 0; i < w->file_count; i++)
		assert_int_equal(w->files[i].stat.size, 5);
	/* A change of a link's target is reported for each link. */
	size_t from = w->count;
	save(w, "sub/real.glb", "123456");
	wait_record(w, from, 'c', "up.glb");
	wait_record(w, from, 'c', "sub/inside.glb");
	wait_record(w, from, 'c', "out/across.glb");
	from = w->count;
	assert_int_equal(symlink("sub/real.glb", at(w, "late.glb")), 0);
	wait_record(w, from, 'c', "late.glb");
	barrier(w);
	from = w->count;
	save(w, "sub/real.glb", "1");
	wait_record(w, from, 'c', "late.glb");
}

static void stat_path_never_leaves_the_root(void **state)
{
	watched *w = *state;
	srv_stat stat;
	make_folder(w, "sub");
	save(w, "sub/a.glb", "x");
	assert_int_equal(symlink("/etc", at(w, "etc")), 0);
	int root = open(w->dir.path, O_PATH | O_CLOEXEC);
	assert_true(srv_stat_path(root, HOB_STR("sub/a.glb"), &stat));
	assert_int_equal(stat.size, 1);
	assert_true(stat.inode != 0 && stat.mtime_ns > 0 && stat.ctime_ns > 0);
	assert_false(srv_stat_path(root, HOB_STR("sub"), &stat));
	assert_false(srv_stat_path(root, HOB_STR("sub/none"), &stat));
	assert_false(srv_stat_path(root, HOB_STR("etc/passwd"), &stat));
	assert_false(srv_stat_path(root, HOB_STR("../../etc/passwd"), &stat));
	assert_false(srv_stat_path(root, HOB_STR("/etc/passwd"), &stat));
	assert_false(srv_stat_path(root, HOB_STR(""), &stat));
	assert_false(srv_stat_path(root, (hob_str){"sub/a.glb\0x", 11}, &stat));
	close(root);
}

static void unreadable_folder_is_left_out(void **state)
{
	watched *w = *state;
	make_folder(w, "open");
	make_folder(w, "shut");
	save(w, "open/a.glb", "x");
	save(w, "shut/b.glb", "x");
	assert_int_equal(chmod(at(w, "shut"), 0), 0);
	bool was_root = geteuid() == 0;
	if (was_root) {
		/* Root can read everything, so this test runs as another user. */
		assert_int_equal(chown(w->dir.path, 65534, 65534), 0);
		assert_int_equal(chown(at(w, "open"), 65534, 65534), 0);
		assert_int_equal(seteuid(65534), 0);
	}
	start_watching(w, NULL);
	assert_int_equal(w->file_count, 1);
	size_t from = w->count;
	save(w, "open/c.glb", "x");
	wait_record(w, from, 'c', "open/c.glb");
	stop_watching(w);
	if (was_root)
		assert_int_equal(seteuid(0), 0);
	chmod(at(w, "shut"), 0755);
}

static void case_only_rename_reports_both_names(void **state)
{
	watched *w = *state;
	save(w, "Duck.glb", "x");
	start_watching(w, NULL);
	size_t from = w->count;
	rename_in(w, "Duck.glb", "duck.glb");
	wait_record(w, from, 'c', "duck.glb");
	wait_record(w, from, 'c', "Duck.glb");
}

/* ---- random operations, checked against the real tree */

static uint32_t seed;

static uint32_t random_below(uint32_t bound)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)seed * bound >> 32);
}

typedef struct folder_names {
	char names[2048][512];
	size_t count;
} folder_names;

static void list_folders(const char *base, const char *below, folder_names *out)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s", base, below);
	DIR *folder = opendir(path);
	assert_non_null(folder);
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || out->count == 2048)
			continue;
		char *name = out->names[out->count++];
		assert_true(snprintf(name, 512, "%s%s%s", below, *below ? "/" : "", entry->d_name) < 512);
		list_folders(base, name, out);
	}
	closedir(folder);
}

static void random_step(watched *w, folder_names *folders)
{
	char path[1024], other[2048], base[512];
	folders->count = 0;
	list_folders(w->dir.path, "", folders);
	const char *any = folders->count > 0 ? folders->names[random_below((uint32_t)folders->count)] : "";
	const char *to =
		folders->count > 0 && random_below(3) ? folders->names[random_below((uint32_t)folders->count)] : "";
	strcpy(base, w->dir.path);
	snprintf(path, sizeof path, "%s/%s", base, any);
	snprintf(other, sizeof other, "%s/%s/n%u", base, to, random_below(12));
	switch (random_below(4)) {
	case 0:
	case 1:
		mkdir(other, 0755);
		break;
	case 2:
		if (*any)
			(void)!rename(path, other); /* fails where impossible: below itself, over a non-empty folder */
		break;
	default:
		if (*any)
			rmdir(path);
	}
}

static void random_moves_leave_every_folder_watched_under_its_name(void **state)
{
	watched *w = *state;
	folder_names *folders = calloc(1, sizeof *folders);
	srv_watch_options options = {.window_us = 1000};
	start_watching(w, &options);
	for (seed = 1; seed < 13;) {
		uint32_t round = seed;
		/* In every other round the reader sees the records only at the end. */
		srv_watch_hold_reader(w->watch, round % 2 == 0);
		for (int i = 0; i < 150; i++)
			random_step(w, folders);
		srv_watch_hold_reader(w->watch, false);
		barrier(w);
		folders->count = 0;
		list_folders(w->dir.path, "", folders);
		size_t from = w->count;
		char name[1024];
		for (size_t i = 0; i < folders->count; i++) {
			snprintf(name, sizeof name, "%s/probe.glb", folders->names[i]);
			save(w, name, "x");
		}
		for (size_t i = 0; i < folders->count; i++) {
			snprintf(name, sizeof name, "%s/probe.glb", folders->names[i]);
			wait_record(w, from, 'c', name);
			assert_int_equal(unlink(at(w, name)), 0);
		}
		barrier(w);
		wait_watches(w, folders->count + 1);
		seed = round + 1;
	}
	free(folders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		watch_test(file_in_new_folder_is_reported),
		watch_test(five_hundred_nested_creates_lose_nothing),
		watch_test(renamed_folder_reports_both_names_and_its_files),
		watch_test(folder_moved_out_and_in_again_is_followed),
		watch_test(removed_folder_is_reported_and_forgotten),
		watch_test(folder_replaced_by_rename_is_followed),
		watch_test(folders_that_change_places_are_followed),
		watch_test(ignored_and_hidden_things_are_neither_listed_nor_watched),
		watch_test(odd_names_are_bytes),
		watch_test(links_are_listed_only_when_they_stay_inside),
		watch_test(stat_path_never_leaves_the_root),
		watch_test(unreadable_folder_is_left_out),
		watch_test(case_only_rename_reports_both_names),
		watch_test(random_moves_leave_every_folder_watched_under_its_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
