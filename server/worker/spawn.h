/* spawn.h - starts a helper program of the daemon: posix_spawn (nothing of the daemon is copied), a process group of its
 * own, no signal ignored. The terminal's stop signals stay blocked: Ctrl-Z before the child has its own group would stop it
 * before it runs its program, the daemon would wait for that for ever, and `fg` does not reach the child's group. */
#ifndef SRV_SPAWN_H
#define SRV_SPAWN_H

#include "../../core/base/base.h"

#include <sys/types.h>

/* argv[0] is the path. fds[i] becomes descriptor i + 1 of the child, -1 is /dev/null; 0 is /dev/null too. The
 * caller keeps its descriptors. IO with the program and the reason on failure. */
bool srv_spawn(char *const argv[], const int *fds, uint32_t count, pid_t *pid, hob_error *err) HOB_MUST_CHECK;

#endif
