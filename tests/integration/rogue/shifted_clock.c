/* Preloaded into a program, shifts its wall clock by HOB_TEST_CLOCK_SHIFT seconds plus the current 64-bit
 * number in the file HOB_TEST_CLOCK_FILE. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *jump;

__attribute__((constructor)) static void find_jump(void)
{
	const char *path = getenv("HOB_TEST_CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd >= 0 ? mmap(NULL, sizeof *jump, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (at != MAP_FAILED)
		jump = at;
	if (fd >= 0)
		close(fd);
}

static time_t shift(void)
{
	const char *text = getenv("HOB_TEST_CLOCK_SHIFT");
	return (text ? atol(text) : 0) + (jump ? (time_t)*jump : 0);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int code = (int)syscall(SYS_clock_gettime, clock, now);
	if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += shift();
	return code;
}

time_t time(time_t *out)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
