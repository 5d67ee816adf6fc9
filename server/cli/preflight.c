#include "preflight.h"

#include "../fs/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DESCRIPTORS = 12, POOL_THREADS = 4, POOL_THREADS_MAX = 1024 };

static bool has_descriptors(hob_error *err)
{
	int fds[DESCRIPTORS], count = 0;
	while (count < DESCRIPTORS && (fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		count++;
	int why = errno;
	for (int i = 0; i < count; i++)
		close(fds[i]);
	struct rlimit files = {0};
	getrlimit(RLIMIT_NOFILE, &files);
	return count == DESCRIPTORS ||
		   hob_fail(
			   err, IO,
			   "no event loop can be made: %s (the limit is %llu open files; raise it with ulimit -n, or "
			   "LimitNOFILE= of a service)",
			   strerror(why), (unsigned long long)files.rlim_cur);
}

static uint32_t pool_threads(void)
{
	const char *text = getenv("UV_THREADPOOL_SIZE");
	long count = text ? strtol(text, NULL, 10) : POOL_THREADS;
	return count < 1 ? 1 : count > POOL_THREADS_MAX ? POOL_THREADS_MAX : (uint32_t)count;
}

static void *wait_for_word(void *lock)
{
	SRV_LOCKED(lock);
	return NULL;
}

static bool has_threads(hob_error *err)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint32_t wanted = pool_threads(), count = 0;
	hob_own pthread_t *threads = calloc(wanted, sizeof *threads);
	int why = threads ? 0 : ENOMEM;
	pthread_mutex_lock(&lock);
	while (!why && count < wanted && (why = pthread_create(&threads[count], NULL, wait_for_word, &lock)) == 0)
		count++;
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return !why ||
		   hob_fail(
			   err, IO,
			   "only %u of %u threads can be started: %s (raise the limit of processes with ulimit -u, or "
			   "TasksMax= of a service)",
			   count, wanted, strerror(why));
}

static void nothing(uv_work_t *work)
{
	(void)work;
}

bool srv_cli_loop_init(uv_loop_t *loop, hob_error *err)
{
	static uv_work_t first;
	if (!has_descriptors(err) || !has_threads(err))
		return false;
	int failed = uv_loop_init(loop);
	if (failed)
		return hob_fail(err, IO, "no event loop can be made: %s", uv_strerror(failed));
	/* libuv starts its threads with the first work: do that now, while threads can still be started. */
	uv_queue_work(loop, &first, nothing, NULL);
	return true;
}
