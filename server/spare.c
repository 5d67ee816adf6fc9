/* spare.c - the daemon's small allocations do not fail.
 *
 * The linker redirects malloc, calloc and realloc of everything that is linked into hob to this file
 * (server/CMakeLists.txt). If the system has no memory, the call waits for up to two seconds: other programs
 * may end, a cook process may be stopped at its limit, a control group may be reclaimed. If a small request
 * is still refused then, the program ends, because nothing that it does afterwards could be relied on; what
 * was published is kept, and the next start continues from there. Large requests (arenas, files) are refused
 * after the wait as ordinary errors, which their callers handle.
 *
 * Not in hob-worker, where a model reaches a limit, and that is the model's own error. */
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

enum { TRIES = 11, SMALL_BYTES = 1 << 20, HUGE_BYTES = 256 << 20, EXIT_NO_MEMORY = 5 };

/* Waits before another attempt; false if there is no point in trying again. */
static bool wait_for_memory(int attempt, size_t size)
{
	static const char text[] = "hob: the system is out of memory, and this program cannot continue; what was "
							   "published is kept: start it again when there is more\n";
	if (size > HUGE_BYTES)
		return false;
	if (attempt < TRIES) {
		long ms = 1L << attempt;
		nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
		return true;
	}
	if (size > SMALL_BYTES)
		return false;
	ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
	(void)written;
	_exit(EXIT_NO_MEMORY);
}

void *__wrap_malloc(size_t size)
{
	void *memory = __real_malloc(size);
	for (int attempt = 0; !memory && size > 0 && wait_for_memory(attempt, size); attempt++)
		memory = __real_malloc(size);
	return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
	size_t total;
	void *memory = __real_calloc(count, size);
	if (__builtin_mul_overflow(count, size, &total))
		return memory;
	for (int attempt = 0; !memory && total > 0 && wait_for_memory(attempt, total); attempt++)
		memory = __real_calloc(count, size);
	return memory;
}

void *__wrap_realloc(void *old, size_t size)
{
	void *memory = __real_realloc(old, size);
	for (int attempt = 0; !memory && size > 0 && wait_for_memory(attempt, size); attempt++)
		memory = __real_realloc(old, size);
	return memory;
}
