/* clock.h - the time of a clock: CLOCK_REALTIME (Unix time), CLOCK_MONOTONIC (never set back), or the
 * processor time of a thread. */
#ifndef SRV_CLOCK_H
#define SRV_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t srv_clock_ns(clockid_t id)
{
	struct timespec now = {0};
	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t srv_clock_ms(clockid_t id)
{
	return srv_clock_ns(id) / 1000000;
}

#endif
