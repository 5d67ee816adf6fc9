/* Lost records, unavailable inotify, and roots that disappear and return. */
#include "watch_support.h"

#include <sched.h>
#include <sys/inotify.h>
#include <sys/time.h>
#include <sys/wait.h>

/* Number of files, with two records each. */
static int more_than_the_queue_holds(void)
{
	unsigned limit = 16384;
	FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
	if (file) {
		assert_int_equal(fscanf(file, "%u", &limit), 1);
		fclose(file);
	}
	return (int)(limit / 2) + 2000;
}

static void overflow_resets_and_scans_again(void **state)
{
	watched *w = *state;
	make_folder(w, "sub");
	start_watching(w, NULL);
	srv_watch_hold_reader(w->watch, true);
	size_t from = w->count;
	int count = more_than_the_queue_holds();
	for (int i = 0; i < count; i++) {
		char name[32];
		snprintf(name, sizeof name, "sub/f%05d", i);
		int fd = open(at(w, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		close(fd);
	}
	assert_int_equal(w->count, from);
	srv_watch_hold_reader(w->watch, false);
	size_t reset = wait_record(w, from, 'r', "*overflowed");
	wait_record(w, reset, 's', NULL);
	assert_int_equal(w->file_count, count);
	srv_watch_counters counters;
	srv_watch_count(w->watch, &counters);
	assert_int_equal(counters.overflows, 1);
	assert_true(counters.scans >= 2);
	from = w->count;
	save(w, "sub/after.glb", "x");
	wait_record(w, from, 'c', "sub/after.glb");
}

static void folders_made_during_an_overflow_are_watched(void **state)
{
	watched *w = *state;
	make_folder(w, "sub");
	make_folder(w, "doomed");
	start_watching(w, NULL);
	srv_watch_hold_reader(w->watch, true);
	int count = more_than_the_queue_holds();
	for (int i = 0; i < count; i++) {
		int fd = open(at(w, "sub/same"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		close(fd);
		assert_int_equal(unlink(at(w, "sub/same")), 0);
	}
	make_folder(w, "late");
	make_folder(w, "late/deep");
	rename_in(w, "sub", "moved");
	assert_int_equal(rmdir(at(w, "doomed")), 0);
	size_t from = w->count;
	srv_watch_hold_reader(w->watch, false);
	wait_record(w, wait_record(w, from, 'r', "*overflowed"), 's', NULL);
	barrier(w);
	srv_watch_counters counters;
	srv_watch_count(w->watch, &counters);
	assert_int_equal(counters.watches, 4);
	from = w->count;
	save(w, "late/deep/a.glb", "x");
	save(w, "moved/b.glb", "x");
	wait_record(w, from, 'c', "late/deep/a.glb");
	wait_record(w, from, 'c', "moved/b.glb");
}

static void watch_limit_makes_the_root_poll_and_says_which_number_to_raise(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.max_watches = 3, .poll_ms = 50};
	for (int i = 0; i < 5; i++) {
		char name[32];
		snprintf(name, sizeof name, "d%d", i);
		make_folder(w, name);
	}
	save(w, "d4/a.glb", "x");
	start_watching(w, &options);
	size_t mode = wait_record(w, 0, 'm', NULL);
	assert_int_equal(w->records[mode].mode, SRV_WATCH_POLLING);
	assert_non_null(strstr(w->records[mode].text, "fs.inotify.max_user_watches"));
	assert_non_null(strstr(w->records[mode].text, "polling every 50 ms"));
	assert_int_equal(w->file_count, 1);
	srv_watch_counters counters;
	srv_watch_count(w->watch, &counters);
	assert_int_equal(counters.watches, 0);
	size_t from = w->count;
	save(w, "d0/new.glb", "x");
	wait_record(w, from, 'c', "d0/new.glb");
	save(w, "d4/a.glb", "longer");
	wait_record(w, from, 'c', "d4/a.glb");
	from = w->count;
	assert_int_equal(unlink(at(w, "d4/a.glb")), 0);
	wait_record(w, from, 'c', "d4/a.glb");
}

static void watch_limit_met_later_resets_and_polls(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.max_watches = 3, .poll_ms = 50};
	start_watching(w, &options);
	size_t mode = wait_record(w, 0, 'm', "inotify");
	assert_int_equal(w->records[mode].mode, SRV_WATCH_INOTIFY);
	size_t from = w->count;
	for (int i = 0; i < 4; i++) {
		char name[32];
		snprintf(name, sizeof name, "d%d", i);
		make_folder(w, name);
	}
	save(w, "d3/a.glb", "x");
	wait_record(w, from, 'r', "*max_user_watches");
	mode = wait_record(w, from, 'm', "*polling");
	wait_record(w, mode, 's', NULL);
	if (!scan_has(w, "d3/a.glb"))
		wait_record(w, from, 'c', "d3/a.glb");
	/* A requested scan returns to inotify once there is room again. */
	assert_int_equal(unlink(at(w, "d3/a.glb")), 0);
	for (int i = 1; i < 4; i++) {
		char name[32];
		snprintf(name, sizeof name, "d%d", i);
		assert_int_equal(rmdir(at(w, name)), 0);
	}
	from = w->count;
	srv_watch_rescan(w->watch, 0);
	wait_record(w, from, 'm', "inotify");
	wait_record(w, from, 's', NULL);
	barrier(w);
}

static bool write_number(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

/* The kernel's own limits, lowered in the child's own user namespace: 77 when that is not allowed. */
static int watch_under_limit(watched *w, const char *sysctl, const char *number, const char *named)
{
	if (unshare(CLONE_NEWUSER) != 0 || !write_number(sysctl, number))
		return 77;
	hob_error err;
	srv_watch_options options = {.poll_ms = 50};
	srv_watch_callbacks callbacks = {w, on_scanned, on_changed, on_reset, on_mode, on_gone, on_passed};
	if (!srv_watch_new(&w->loop, &options, &callbacks, &w->watch, &err) ||
		!srv_watch_add_root(w->watch, 0, w->dir.path, &err))
		return 1;
	w->late = false;
	uv_update_time(&w->loop);
	uv_timer_start(&w->timer, on_late, DEADLINE_MS, 0);
	bool saved = false;
	while (!w->late && find_record(w, 0, 'c', "d3/new.glb") == SIZE_MAX) {
		uv_run(&w->loop, UV_RUN_ONCE);
		if (w->scans > 0 && !saved) {
			FILE *file = fopen(at(w, "d3/new.glb"), "w");
			if (!file || fclose(file) != 0)
				return 2;
			saved = true;
		}
	}
	size_t mode = find_record(w, 0, 'm', named);
	if (w->late || mode == SIZE_MAX || w->records[mode].mode != SRV_WATCH_POLLING ||
		find_record(w, 0, 'm', "inotify") < mode)
		return 3;
	stop_watching(w);
	return 0;
}

static void run_under_limit(watched *w, const char *sysctl, const char *number, const char *named)
{
	for (int i = 0; i < 5; i++) {
		char name[32];
		snprintf(name, sizeof name, "d%d", i);
		make_folder(w, name);
	}
	pid_t child = fork();
	if (child == 0) {
		uv_loop_fork(&w->loop);
		_exit(watch_under_limit(w, sysctl, number, named));
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void kernels_watch_limit_makes_the_root_poll(void **state)
{
	run_under_limit(*state, "/proc/sys/user/max_inotify_watches", "3", "*fs.inotify.max_user_watches");
}

static void kernels_instance_limit_makes_the_root_poll(void **state)
{
	run_under_limit(*state, "/proc/sys/user/max_inotify_instances", "0", "*fs.inotify.max_user_instances");
}

static void polling_does_not_report_a_file_that_is_being_written(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.force_polling = true, .poll_ms = 20};
	start_watching(w, &options);
	wait_record(w, 0, 'm', "polling every 20 ms: asked for");
	size_t from = w->count;
	int fd = open(at(w, "slow.glb"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	write_fd(fd, "half");
	for (int i = 0; i < 5; i++)
		barrier(w);
	assert_int_equal(find_record(w, from, 'c', "slow.glb"), SIZE_MAX);
	write_fd(fd, "whole");
	close(fd);
	wait_record(w, from, 'c', "slow.glb");
}

static void polling_sees_a_change_that_keeps_size_and_mtime(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.force_polling = true, .poll_ms = 20};
	struct stat before;
	save(w, "a.glb", "one");
	start_watching(w, &options);
	assert_int_equal(stat(at(w, "a.glb"), &before), 0);
	size_t from = w->count;
	save(w, "a.glb", "two");
	struct timespec times[2] = {before.st_atim, before.st_mtim};
	assert_int_equal(utimensat(AT_FDCWD, at(w, "a.glb"), times, 0), 0);
	wait_record(w, from, 'c', "a.glb");
}

static void missing_root_is_gone_until_it_comes(void **state)
{
	watched *w = *state;
	hob_error err;
	char path[256];
	srv_watch_options options = {.poll_ms = 20};
	strcpy(path, at(w, "later"));
	start_watching(w, &options);
	size_t from = w->count;
	assert_true(srv_watch_add_root(w->watch, 1, path, &err));
	size_t gone = wait_record(w, from, 'g', "*cannot be opened (No such file or directory)");
	assert_int_equal(w->records[gone].root, 1);
	assert_int_equal(find_record(w, from, 's', NULL), SIZE_MAX);
	/* A requested scan is answered. */
	from = w->count;
	srv_watch_rescan(w->watch, 1);
	wait_record(w, from, 'g', NULL);
	from = w->count;
	make_folder(w, "later");
	size_t reset = wait_record(w, from, 'r', "*is there (again)");
	assert_int_equal(w->records[reset].root, 1);
	wait_record(w, reset, 's', NULL);
	/* Both roots report the file, each under its own name for it. */
	save(w, "later/a.glb", "x");
	wait_record(w, from, 'c', "a.glb");
	wait_record(w, from, 'c', "later/a.glb");
}

static void removed_root_is_gone_and_comes_back(void **state)
{
	watched *w = *state;
	hob_error err;
	char path[256];
	srv_watch_options options = {.poll_ms = 20};
	make_folder(w, "root");
	save(w, "root/a.glb", "x");
	strcpy(path, at(w, "root"));
	start_watching(w, &options);
	size_t from = w->count;
	assert_true(srv_watch_add_root(w->watch, 1, path, &err));
	wait_record(w, from, 's', NULL);
	from = w->count;
	assert_int_equal(unlink(at(w, "root/a.glb")), 0);
	assert_int_equal(rmdir(path), 0);
	wait_record(w, from, 'g', "*root cannot be");
	for (size_t i = from; i < w->count; i++)
		assert_true(w->records[i].kind != 's' || w->records[i].root != 1);
	from = w->count;
	make_folder(w, "root");
	save(w, "root/b.glb", "x");
	wait_record(w, wait_record(w, from, 'r', NULL), 's', NULL);
	if (!scan_has(w, "b.glb"))
		wait_record(w, from, 'c', "b.glb");
	from = w->count;
	save(w, "root/c.glb", "x");
	wait_record(w, from, 'c', "c.glb");
}

/* A partial list would look like deleted files. */
static void lose_the_right_to_read(watched *w, bool polling, mode_t left)
{
	bool was_root = geteuid() == 0;
	srv_watch_options options = {.poll_ms = 20, .force_polling = polling};
	save(w, "a.glb", "x");
	if (was_root) {
		/* Root can read everything, so this test runs as another user. */
		assert_int_equal(chown(w->dir.path, 65534, 65534), 0);
		assert_int_equal(seteuid(65534), 0);
	}
	start_watching(w, &options);
	size_t from = w->count;
	assert_int_equal(chmod(w->dir.path, left), 0);
	wait_record(w, from, 'g', "*(Permission denied)");
	assert_int_equal(find_record(w, from, 's', NULL), SIZE_MAX);
	assert_int_equal(find_record(w, from, 'c', NULL), SIZE_MAX);
	from = w->count;
	assert_int_equal(chmod(w->dir.path, 0755), 0);
	wait_record(w, from, 's', NULL);
	assert_true(scan_has(w, "a.glb"));
	stop_watching(w);
	if (was_root)
		assert_int_equal(seteuid(0), 0);
}

static void root_that_cannot_be_read_any_more_is_gone(void **state)
{
	lose_the_right_to_read(*state, false, 0);
}

static void polled_root_that_cannot_be_read_any_more_is_gone(void **state)
{
	lose_the_right_to_read(*state, true, 0);
}

static void root_whose_files_cannot_be_looked_at_is_gone(void **state)
{
	lose_the_right_to_read(*state, false, 0444);
}

static void polled_root_whose_files_cannot_be_looked_at_is_gone(void **state)
{
	lose_the_right_to_read(*state, true, 0444);
}

static void replaced_root_is_scanned_again(void **state)
{
	watched *w = *state;
	hob_error err;
	char path[256];
	srv_watch_options options = {.poll_ms = 20};
	make_folder(w, "up");
	make_folder(w, "up/root");
	save(w, "up/root/old.glb", "x");
	strcpy(path, at(w, "up/root"));
	assert_true(srv_watch_new(
		&w->loop, &options,
		&(srv_watch_callbacks){w, on_scanned, on_changed, on_reset, on_mode, on_gone, on_passed}, &w->watch,
		&err));
	assert_true(srv_watch_add_root(w->watch, 0, path, &err));
	wait_record(w, 0, 's', NULL);
	assert_true(scan_has(w, "old.glb"));
	/* Renaming a folder above the root gives no record. */
	size_t from = w->count;
	make_folder(w, "next");
	make_folder(w, "next/root");
	save(w, "next/root/new.glb", "x");
	rename_in(w, "up", "away");
	rename_in(w, "next", "up");
	wait_record(w, from, 'r', NULL);
	for (size_t scan = from; !scan_has(w, "new.glb");)
		scan = wait_record(w, scan, 's', NULL) + 1;
	from = w->count;
	save(w, "up/root/more.glb", "x");
	wait_record(w, from, 'c', "more.glb");
	save(w, "away/root/stale.glb", "x");
	barrier_in(w, "up/root/");
	assert_int_equal(find_record(w, from, 'c', "stale.glb"), SIZE_MAX);
}

static void once_scans_and_never_watches(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.once = true};
	make_folder(w, "sub");
	save(w, "sub/a.glb", "x");
	start_watching(w, &options);
	assert_int_equal(w->file_count, 1);
	srv_watch_counters counters;
	srv_watch_count(w->watch, &counters);
	assert_int_equal(counters.watches, 0);
	assert_int_equal(counters.scans, 1);
	assert_int_equal(find_record(w, 0, 'm', NULL), SIZE_MAX);
	save(w, "sub/b.glb", "x");
	size_t from = w->count;
	srv_watch_rescan(w->watch, 0);
	wait_record(w, from, 's', NULL);
	assert_int_equal(w->file_count, 2);
}

static void close_during_a_scan_is_clean(void **state)
{
	watched *w = *state;
	hob_error err;
	for (int i = 0; i < 200; i++) {
		char name[32];
		snprintf(name, sizeof name, "d%d", i);
		make_folder(w, name);
	}
	srv_watch_callbacks callbacks = {w, on_scanned, on_changed, on_reset, on_mode, on_gone, on_passed};
	for (int i = 0; i < 20; i++) {
		w->closed = false;
		assert_true(srv_watch_new(&w->loop, NULL, &callbacks, &w->watch, &err));
		for (uint32_t root = 0; root < 3; root++)
			assert_true(srv_watch_add_root(w->watch, root, w->dir.path, &err));
		if (i % 2)
			uv_run(&w->loop, UV_RUN_NOWAIT);
		stop_watching(w);
	}
}

static void twenty_thousand_files_are_all_listed_in_order(void **state)
{
	watched *w = *state;
	for (int d = 0; d < 200; d++) {
		char name[64];
		snprintf(name, sizeof name, "d%03d", d);
		make_folder(w, name);
		for (int f = 0; f < 100; f++) {
			snprintf(name, sizeof name, "d%03d/f%02d", d, f);
			int fd = open(at(w, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
			assert_true(fd >= 0);
			close(fd);
		}
	}
	struct timeval begin, end;
	gettimeofday(&begin, NULL);
	start_watching(w, NULL);
	gettimeofday(&end, NULL);
	print_message("20,000 files in 201 folders listed and watched in %ld ms\n",
				  (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_usec - begin.tv_usec) / 1000);
	assert_int_equal(w->file_count, 20000);
	for (int i = 0; i < 20000; i++) {
		char name[64];
		snprintf(name, sizeof name, "d%03d/f%02d", i / 100, i % 100);
		assert_string_equal(w->files[i].path.data, name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		watch_test(overflow_resets_and_scans_again),
		watch_test(folders_made_during_an_overflow_are_watched),
		watch_test(watch_limit_makes_the_root_poll_and_says_which_number_to_raise),
		watch_test(watch_limit_met_later_resets_and_polls),
		watch_test(kernels_watch_limit_makes_the_root_poll),
		watch_test(kernels_instance_limit_makes_the_root_poll),
		watch_test(polling_does_not_report_a_file_that_is_being_written),
		watch_test(polling_sees_a_change_that_keeps_size_and_mtime),
		watch_test(missing_root_is_gone_until_it_comes),
		watch_test(removed_root_is_gone_and_comes_back),
		watch_test(root_that_cannot_be_read_any_more_is_gone),
		watch_test(polled_root_that_cannot_be_read_any_more_is_gone),
		watch_test(root_whose_files_cannot_be_looked_at_is_gone),
		watch_test(polled_root_whose_files_cannot_be_looked_at_is_gone),
		watch_test(replaced_root_is_scanned_again),
		watch_test(once_scans_and_never_watches),
		watch_test(close_during_a_scan_is_clean),
		watch_test(twenty_thousand_files_are_all_listed_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
