/* The ways in which programs save a file. */
#include "watch_support.h"

#include <time.h>

static void truncate_and_write_is_reported_once_closed(void **state)
{
	watched *w = *state;
	save(w, "a.glb", "old");
	start_watching(w, NULL);
	assert_int_equal(w->file_count, 1);
	size_t from = w->count;
	save(w, "a.glb", "new text");
	wait_record(w, from, 'c', "a.glb");
	srv_stat stat;
	int root = open(w->dir.path, O_PATH | O_CLOEXEC);
	assert_true(srv_stat_path(root, HOB_STR("a.glb"), &stat));
	assert_int_equal(stat.size, 8);
	close(root);
}

static void file_still_open_is_not_reported(void **state)
{
	watched *w = *state;
	start_watching(w, NULL);
	size_t from = w->count;
	int fd = open(at(w, "slow.glb"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	write_fd(fd, "first half");
	for (int i = 0; i < 20; i++)
		barrier(w);
	assert_int_equal(find_record(w, from, 'c', "slow.glb"), SIZE_MAX);
	write_fd(fd, "second half");
	close(fd);
	wait_record(w, from, 'c', "slow.glb");
}

static void temporary_and_rename_reports_the_target(void **state)
{
	watched *w = *state;
	save(w, "a.glb", "old");
	start_watching(w, NULL);
	size_t from = w->count;
	save(w, "a.glb.tmp", "new");
	rename_in(w, "a.glb.tmp", "a.glb");
	wait_record(w, from, 'c', "a.glb");
}

static void hidden_temporary_and_rename_reports_only_the_target(void **state)
{
	watched *w = *state;
	start_watching(w, NULL);
	size_t from = w->count;
	save(w, ".a.glb.swp", "new");
	rename_in(w, ".a.glb.swp", "a.glb");
	wait_record(w, from, 'c', "a.glb");
	barrier(w);
	assert_int_equal(find_record(w, from, 'c', "*swp"), SIZE_MAX);
}

static void unnamed_and_link_is_reported(void **state)
{
	watched *w = *state;
	start_watching(w, NULL);
	size_t from = w->count;
	char self[64];
	int fd = open(w->dir.path, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	write_fd(fd, "whole");
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	assert_int_equal(linkat(AT_FDCWD, self, AT_FDCWD, at(w, "linked.glb"), AT_SYMLINK_FOLLOW), 0);
	close(fd);
	wait_record(w, from, 'c', "linked.glb");
}

static void unnamed_and_link_waits_for_its_writer(void **state)
{
	watched *w = *state;
	start_watching(w, NULL);
	size_t from = w->count;
	char self[64];
	int fd = open(w->dir.path, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
	write_fd(fd, "half");
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	assert_int_equal(linkat(AT_FDCWD, self, AT_FDCWD, at(w, "linked.glb"), AT_SYMLINK_FOLLOW), 0);
	for (int i = 0; i < 10; i++)
		barrier(w);
	assert_int_equal(find_record(w, from, 'c', "linked.glb"), SIZE_MAX);
	close(fd);
	wait_record(w, from, 'c', "linked.glb");
}

static void delete_and_recreate_is_reported(void **state)
{
	watched *w = *state;
	save(w, "a.glb", "old");
	start_watching(w, NULL);
	size_t from = w->count;
	assert_int_equal(unlink(at(w, "a.glb")), 0);
	save(w, "a.glb", "new");
	wait_record(w, from, 'c', "a.glb");
	/* Waits first: the first report may have been the removal. */
	barrier(w);
	srv_stat stat;
	int root = open(w->dir.path, O_PATH | O_CLOEXEC);
	assert_true(srv_stat_path(root, HOB_STR("a.glb"), &stat));
	close(root);
}

/* blend@ is written, blend becomes blend1, blend@ becomes blend. */
static void backup_and_rename_reports_every_name(void **state)
{
	watched *w = *state;
	save(w, "a.blend", "old");
	start_watching(w, NULL);
	size_t from = w->count;
	save(w, "a.blend@", "new");
	rename_in(w, "a.blend", "a.blend1");
	rename_in(w, "a.blend@", "a.blend");
	size_t back = wait_record(w, from, 'c', "a.blend1");
	assert_true(back != SIZE_MAX);
	wait_record(w, from, 'c', "a.blend");
}

static void removal_is_reported(void **state)
{
	watched *w = *state;
	save(w, "a.glb", "old");
	start_watching(w, NULL);
	size_t from = w->count;
	assert_int_equal(unlink(at(w, "a.glb")), 0);
	wait_record(w, from, 'c', "a.glb");
}

static void hard_link_and_fifo_are_reported_though_nobody_closes(void **state)
{
	watched *w = *state;
	save(w, ".kept", "content");
	start_watching(w, NULL);
	size_t from = w->count;
	char old[4096];
	strcpy(old, at(w, ".kept"));
	assert_int_equal(link(old, at(w, "hard.glb")), 0);
	assert_int_equal(mkfifo(at(w, "pipe.glb"), 0644), 0);
	wait_record(w, from, 'c', "hard.glb");
	wait_record(w, from, 'c', "pipe.glb");
	int root = open(w->dir.path, O_PATH | O_CLOEXEC);
	srv_stat stat;
	assert_true(srv_stat_path(root, HOB_STR("hard.glb"), &stat));
	assert_false(srv_stat_path(root, HOB_STR("pipe.glb"), &stat));
	close(root);
}

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void burst_is_delivered_in_few_batches(void **state)
{
	watched *w = *state;
	start_watching(w, NULL);
	size_t from = w->count, batches = w->batches;
	int64_t began = now_ns();
	for (int i = 0; i < 200; i++) {
		char name[32];
		snprintf(name, sizeof name, "f%03d.bin", i);
		save(w, name, "x");
	}
	wait_record(w, from, 'c', "f199.bin");
	for (int i = 0; i < 200; i++) {
		char name[32];
		snprintf(name, sizeof name, "f%03d.bin", i);
		assert_true(find_record(w, from, 'c', name) != SIZE_MAX);
	}
	/* The first few are delivered alone, then one batch per 2 ms at most. */
	assert_true(w->batches - batches <= 20 + (size_t)(now_ns() - began) / 2000000);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

typedef enum pattern { OVERWRITE, RENAME } pattern;

static int64_t timed_save(watched *w, bool by_rename)
{
	size_t from = w->count;
	int64_t start;
	if (by_rename) {
		save(w, "lone.tmp", "text");
		start = now_ns();
		rename_in(w, "lone.tmp", "lone.glb");
	} else {
		int fd = open(at(w, "lone.glb"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		write_fd(fd, "text");
		start = now_ns();
		close(fd);
	}
	wait_record(w, from, 'c', "lone.glb");
	return now_ns() - start;
}

/* The window is far longer than the test's time limit, so only an immediate delivery passes. */
static void lone_save_does_not_wait_for_the_window(void **state)
{
	srv_watch_options options = {.window_us = 60000000, .window_max_ms = 60000};
	start_watching(*state, &options);
	timed_save(*state, false);
}

static void save_by_rename_does_not_wait_for_the_window(void **state)
{
	srv_watch_options options = {.window_us = 60000000, .window_max_ms = 60000};
	start_watching(*state, &options);
	timed_save(*state, true);
}

static void same_file_saved_again_does_not_wait_for_the_window(void **state)
{
	srv_watch_options options = {.window_us = 60000000, .window_max_ms = 60000};
	start_watching(*state, &options);
	for (int i = 0; i < 5; i++)
		timed_save(*state, false);
	timed_save(*state, true);
}

static void other_file_saved_at_once_waits_for_the_window_to_end(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.window_us = 300000, .window_max_ms = 1000};
	start_watching(w, &options);
	int64_t start = now_ns();
	timed_save(w, false);
	size_t from = w->count;
	save(w, "other.glb", "x");
	save(w, "third.glb", "x");
	bool within = now_ns() - start < 300000000; /* this test itself may be slow */
	size_t other = wait_record(w, from, 'c', "other.glb"), third = wait_record(w, from, 'c', "third.glb");
	assert_true(now_ns() - start >= 300000000);
	if (within)
		assert_int_equal(w->records[other].batch, w->records[third].batch);
}

static void endless_changes_are_delivered_after_the_longest_window(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.window_us = 60000000, .window_max_ms = 200};
	start_watching(w, &options);
	timed_save(w, false);
	size_t from = w->count;
	save(w, "other.glb", "x");
	save(w, "third.glb", "x");
	wait_record(w, from, 'c', "third.glb");
}

static void on_quiet(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

/* HOB_MEASURE=1: measures the delivery time of a lone save. */
static void measure_lone_saves(void **state)
{
	enum { ROUNDS = 201 };
	watched *w = *state;
	int64_t times[ROUNDS];
	if (!getenv("HOB_MEASURE"))
		skip();
	start_watching(w, NULL);
	for (int by_rename = 0; by_rename < 2; by_rename++) {
		for (int i = 0; i < ROUNDS; i++) {
			uv_timer_start(&w->timer, on_quiet, 25, 0); /* each save is a lone one */
			uv_run(&w->loop, UV_RUN_DEFAULT);
			times[i] = timed_save(w, by_rename);
		}
		qsort(times, ROUNDS, sizeof *times, by_value);
		print_message("%s -> callback: p50 %lld us, p90 %lld us, p99 %lld us\n",
					  by_rename ? "rename" : "close", (long long)times[ROUNDS / 2] / 1000,
					  (long long)times[ROUNDS * 9 / 10] / 1000, (long long)times[ROUNDS * 99 / 100] / 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		watch_test(truncate_and_write_is_reported_once_closed),
		watch_test(file_still_open_is_not_reported),
		watch_test(temporary_and_rename_reports_the_target),
		watch_test(hidden_temporary_and_rename_reports_only_the_target),
		watch_test(unnamed_and_link_is_reported),
		watch_test(unnamed_and_link_waits_for_its_writer),
		watch_test(delete_and_recreate_is_reported),
		watch_test(backup_and_rename_reports_every_name),
		watch_test(removal_is_reported),
		watch_test(hard_link_and_fifo_are_reported_though_nobody_closes),
		watch_test(burst_is_delivered_in_few_batches),
		watch_test(lone_save_does_not_wait_for_the_window),
		watch_test(save_by_rename_does_not_wait_for_the_window),
		watch_test(same_file_saved_again_does_not_wait_for_the_window),
		watch_test(other_file_saved_at_once_waits_for_the_window_to_end),
		watch_test(endless_changes_are_delivered_after_the_longest_window),
		watch_test(measure_lone_saves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
