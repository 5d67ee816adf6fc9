/* Tests whether events arrive with a trial file, also on a suspended machine. The test has its own clock. */
#include "watch_support.h"

#include <sys/stat.h>

static int64_t clock_ns, step_ns;

int64_t __wrap_srv_watch_now_ns(void);
int64_t __wrap_srv_watch_now_ns(void)
{
	return clock_ns += step_ns;
}

static watch_probed probe(const temp_folder *folder)
{
	int inotify, dir = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	watch_probed result = srv_watch_probe(dir, &inotify);
	close(dir);
	close(inotify);
	return result;
}

static void an_event_that_is_there_is_seen_however_late_it_is(void **state)
{
	(void)state;
	temp_folder folder;
	folder_make(&folder);
	for (step_ns = 1000; step_ns <= 1000000000000; step_ns *= 1000)
		assert_int_equal(probe(&folder), WATCH_PROBE_ARRIVES);
	folder_remove(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(an_event_that_is_there_is_seen_however_late_it_is)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
