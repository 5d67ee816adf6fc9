/* Preloaded into a program: its wall clock is HOB_TEST_CLOCK_SHIFT seconds off. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static time_t shift(void)
{
	const char *text = getenv("HOB_TEST_CLOCK_SHIFT");
	return text ? atol(text) : 0;
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
