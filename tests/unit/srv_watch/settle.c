#include "watch_support.h"

#include "server/watch/watch_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Files that were created and not closed, as hard links and copies by the kernel are: the clock is the test's. */

enum { LINKS = 600, LOOKS = 256, DUE_MS = 15 };

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
	assert_true(srv_settle_tick(&root, due) <= due); /* at once again */
	assert_int_equal(root.settle.batch.live, LOOKS);
	srv_settle_tick(&root, due);
	assert_int_equal(root.settle.batch.live, 2 * LOOKS);
	srv_settle_tick(&root, due);
	assert_int_equal(root.settle.batch.live, LINKS);
	assert_int_equal(root.settle.created.live, 0);
	srv_settle_clear(&root);
	hob_arena_release(&root.link_arena);
	free(root.links);
	close(root.dir_fd);
	folder_remove(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tick_looks_at_256_files_and_the_next_one_at_more),
	};
	return cmocka_run_group_tests_name("settle", tests, NULL, NULL);
}
