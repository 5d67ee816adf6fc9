#include "watch_support.h"

#include "server/fs/vcs.h"

#include <limits.h>

enum { MANY = 9000 };

static void set_mark(watched *w)
{
	assert_true(srv_watch_mark(w->watch, 0) > 0);
}

/* The window is far longer than the test's time limit. */
static void what_was_saved_before_a_mark_is_delivered_before_it(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.window_us = 60000000, .window_max_ms = 60000};
	start_watching(w, &options);
	size_t from = w->count;
	save(w, "one.glb", "x");
	save(w, "two.glb", "x");
	save(w, "three.glb", "x");
	char old[PATH_MAX];
	snprintf(old, sizeof old, "%s", at(w, "one.glb"));
	assert_int_equal(link(old, at(w, "four.glb")), 0);
	assert_int_equal(mkdir(at(w, "deep"), 0755), 0);
	save(w, "deep/five.glb", "x");
	set_mark(w);
	size_t mark = wait_record(w, from, 'p', NULL);
	static const char *const names[] = {"one.glb", "two.glb", "three.glb", "four.glb", "deep/five.glb"};
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		assert_true(find_record(w, from, 'c', names[i]) < mark);
	assert_int_equal(w->scans, 1);
}

/* It is reported before the mark, because it exists, and again when it is closed. */
static void file_that_is_still_written_does_not_hold_a_mark(void **state)
{
	watched *w = *state;
	start_watching(w, NULL);
	size_t from = w->count;
	int fd = open(at(w, "half.glb"), O_WRONLY | O_CREAT, 0644);
	write_fd(fd, "half");
	set_mark(w);
	size_t mark = wait_record(w, from, 'p', NULL);
	assert_true(find_record(w, from, 'c', "half.glb") < mark);
	close(fd);
	wait_record(w, mark, 'c', "half.glb");
}

/* More than the buffers of one turn, and than the kernel's queue. */
static void mark_behind_lost_events_is_passed_after_the_scan(void **state)
{
	watched *w = *state;
	start_watching(w, NULL);
	size_t from = w->count;
	srv_watch_hold_reader(w->watch, true);
	for (int i = 0; i < MANY; i++) {
		char name[32];
		snprintf(name, sizeof name, "m%05d.glb", i);
		save(w, name, "x");
	}
	set_mark(w);
	srv_watch_hold_reader(w->watch, false);
	size_t mark = wait_record(w, from, 'p', NULL);
	assert_true(find_record(w, from, 'r', "*overflowed") < mark);
	assert_true(find_record(w, from, 's', NULL) < mark);
	assert_int_equal(w->file_count, MANY);
}

static void polling_root_passes_a_mark_without_having_seen(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.force_polling = true, .poll_ms = 60000};
	start_watching(w, &options);
	size_t from = w->count;
	set_mark(w);
	wait_record(w, from, 'P', NULL);
}

static void root_that_is_replaced_unheard_is_not_seen(void **state)
{
	watched *w = *state;
	start_watching(w, NULL);
	size_t from = w->count;
	w->watch->roots[0]->inode++; /* as if another folder were mounted over the root */
	set_mark(w);
	wait_record(w, from, 'P', NULL);
	w->watch->roots[0]->inode--;
}

static size_t count_records(const watched *w, size_t from, size_t end, char kind)
{
	size_t count = 0;
	for (size_t i = from; i < end; i++)
		count += w->records[i].kind == kind;
	return count;
}

static void what_is_taken_up_in_parts_comes_again_before_all_else(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.window_us = 1000};
	srv_watch_counters before, after;
	start_watching(w, &options);
	srv_watch_count(w->watch, &before);
	size_t from = w->count;
	w->refusals = 3;
	save(w, "a.obj", "x");
	srv_watch_mark(w->watch, 0);
	size_t passed = wait_record(w, from, 'p', NULL);
	assert_int_equal(count_records(w, from, passed, 'c'), 4);
	srv_watch_count(w->watch, &after);
	assert_int_equal(after.batches, before.batches + 1);

	from = w->count;
	w->refusals = 2;
	srv_watch_rescan(w->watch, 0);
	wait_record(w, from, 's', NULL);
	assert_int_equal(w->file_count, 1);
	barrier(w);
	assert_int_equal(count_records(w, from, w->count, 's'), 3);
	for (size_t i = find_record(w, from, 's', NULL), end = i + 3; i < end; i++)
		assert_int_equal(w->records[i].kind, 's');
}

static void what_belongs_together_is_delivered_together(void **state)
{
	watched *w = *state;
	srv_watch_options options = {.window_us = 1, .window_max_ms = 1};
	char marker[PATH_MAX];
	start_watching(w, &options);
	size_t from = w->count;
	save(w, SRV_VCS_CHANGING, "");
	for (int i = 0; i < 40; i++) {
		char name[32];
		snprintf(name, sizeof name, "%d.obj", i);
		save(w, name, "x");
		if (i % 10 == 9) { /* a turn of the reader */
			uv_run(&w->loop, UV_RUN_NOWAIT);
			while (atomic_load(&w->watch->roots[0]->collected) < (size_t)i + 1 &&
				   count_records(w, from, w->count, 'c') == 0)
				uv_run(&w->loop, UV_RUN_NOWAIT);
		}
	}
	assert_int_equal(count_records(w, from, w->count, 'c'), 0);
	snprintf(marker, sizeof marker, "%s/%s", w->dir.path, SRV_VCS_CHANGING);
	unlink(marker);
	set_mark(w);
	size_t passed = wait_record(w, from, 'p', NULL);
	assert_int_equal(count_records(w, from, passed, 'c'), 40);
	size_t first = find_record(w, from, 'c', NULL);
	assert_int_equal(w->records[first].batch, w->records[first + 39].batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		watch_test(what_was_saved_before_a_mark_is_delivered_before_it),
		watch_test(file_that_is_still_written_does_not_hold_a_mark),
		watch_test(mark_behind_lost_events_is_passed_after_the_scan),
		watch_test(polling_root_passes_a_mark_without_having_seen),
		watch_test(root_that_is_replaced_unheard_is_not_seen),
		watch_test(what_is_taken_up_in_parts_comes_again_before_all_else),
		watch_test(what_belongs_together_is_delivered_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
