/* spawn.h - starts a helper program of the daemon with posix_spawn, which copies nothing of the daemon, in
 * its own process group and with no signal ignored. The terminal's stop signals stay blocked: Ctrl-Z could
 * otherwise stop the child before it has its own group and runs its program; the daemon would then wait
 * forever, and `fg` does not reach the child's group. */
#ifndef SRV_SPAWN_H
#define SRV_SPAWN_H

#include "../../core/base/base.h"

#include <sys/types.h>

/* argv[0] is the path. fds[i] becomes descriptor i + 1 of the child; -1 is /dev/null; 0 is /dev/null too. The
 * caller keeps its descriptors. On failure IO with the program and the reason. */
bool srv_spawn(char *const argv[], const int *fds, uint32_t count, pid_t *pid, hob_error *err) HOB_MUST_CHECK;

/* The path of a helper program, in the folder of this one or where a package puts it; `out` has room for 4096
 * bytes. False: it is not installed. */
bool srv_find_program(const char *name, char *out) HOB_MUST_CHECK;

#endif
