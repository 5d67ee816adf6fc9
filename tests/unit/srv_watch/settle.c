#include "watch_support.h"

#include "server/watch/watch_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* The test has its own clock. */

enum { LINKS = 600, LOOKS = 256, DUE_MS = 15 };

/* Files that were created and not closed, like hard links and copies by the kernel. */
static void a_tick_looks_at_256_files_and_the_next_one_at_more(void **state)
{
	(void)state;
	temp_folder folder;
	static struct srv_watch watch;
	static watch_root root;
	char name[32];
	folder_make(&folder);
	folder_put(&folder, "first", "x");
	watch.options = (srv_watch_options){.window_us = 2000, .window_max_ms = 1000};
	root.watch = &watch;
	root.dir_fd = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < LINKS; i++) {
		snprintf(name, sizeof name, "link-%d", i);
		assert_int_equal(linkat(root.dir_fd, "first", root.dir_fd, name, 0), 0);
		srv_settle_created(&root, hob_str_of(name), 0);
	}
	int64_t due = watch_ms(DUE_MS);
	assert_true(srv_settle_tick(&root, due - 1) >= due);
	assert_int_equal(root.settle.batch.live, 0);
	assert_true(srv_settle_tick(&root, due) <= due); /* the next tick is due at once */
	assert_int_equal(root.settle.batch.live, LOOKS);
	srv_settle_tick(&root, due);
	assert_int_equal(root.settle.batch.live, 2 * LOOKS);
	srv_settle_tick(&root, due);
	assert_int_equal(root.settle.batch.live, LINKS);
	assert_int_equal(root.settle.created.live, 0);
	srv_settle_clear(&root);
	close(root.dir_fd);
	folder_remove(&folder);
}

enum { WINDOW_US = 250, BATCHES = 12 };

typedef struct settling {
	uv_loop_t loop;
	struct srv_watch watch;
	watch_root root;
} settling;

static void settling_begin(settling *s)
{
	*s = (settling){0};
	s->watch.options = (srv_watch_options){.window_us = WINDOW_US, .window_max_ms = 250};
	s->watch.last = &s->watch.first;
	pthread_mutex_init(&s->watch.queue_lock, NULL);
	assert_int_equal(uv_loop_init(&s->loop), 0);
	assert_int_equal(uv_async_init(&s->loop, &s->watch.async, NULL), 0);
	s->root.watch = &s->watch;
}

static void settling_end(settling *s)
{
	for (watch_message *next; s->watch.first; s->watch.first = next) {
		next = s->watch.first->next;
		srv_path_set_release(&s->watch.first->paths);
		free(s->watch.first);
	}
	srv_settle_clear(&s->root);
	uv_close((uv_handle_t *)&s->watch.async, NULL);
	uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	pthread_mutex_destroy(&s->watch.queue_lock);
}

/* Saves `count` files, from number `first` on, at the same moment. Returns how long they are collected, in
 * us. */
static int64_t collected_us(settling *s, int first, int count, int64_t now)
{
	char name[32];
	for (int i = first; i < first + count; i++) {
		snprintf(name, sizeof name, "f%d", i);
		srv_settle_complete(&s->root, hob_str_of(name), 0, now);
	}
	int64_t due = srv_settle_tick(&s->root, now);
	assert_int_equal(s->root.settle.batch.live, count);
	assert_int_equal(srv_settle_tick(&s->root, due), INT64_MAX); /* delivered */
	return (due - now) / 1000;
}

static void the_same_few_files_saved_over_and_over_are_not_many(void **state)
{
	(void)state;
	settling s;
	settling_begin(&s);
	for (int i = 1; i <= BATCHES; i++)
		assert_int_equal(collected_us(&s, 0, 3, watch_ms((uint32_t)i * 4)), WINDOW_US);
	settling_end(&s);
}

static void after_eight_files_without_a_pause_more_are_expected(void **state)
{
	(void)state;
	settling s;
	settling_begin(&s);
	for (int i = 0; i < BATCHES; i++)
		assert_int_equal(collected_us(&s, i * 2, 2, watch_ms((uint32_t)i * 4 + 1)),
						 i < 4 ? WINDOW_US : 8 * WINDOW_US);
	assert_int_equal(collected_us(&s, 0, 2, watch_ms(1000)), WINDOW_US); /* after a pause */
	settling_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tick_looks_at_256_files_and_the_next_one_at_more),
		cmocka_unit_test(the_same_few_files_saved_over_and_over_are_not_many),
		cmocka_unit_test(after_eight_files_without_a_pause_more_are_expected),
	};
	return cmocka_run_group_tests_name("settle", tests, NULL, NULL);
}
