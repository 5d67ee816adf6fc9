#include "spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <unistd.h>

/* Duplicates to unused numbers first, so that no descriptor is overwritten before it is passed; a descriptor
 * dup'ed to itself would stay close-on-exec. */
static void pass(posix_spawn_file_actions_t *actions, const int *fds, uint32_t count)
{
	int high = (int)count + 1;
	for (uint32_t i = 0; i < count; i++)
		high = fds[i] >= high ? fds[i] + 1 : high;
	for (uint32_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			posix_spawn_file_actions_adddup2(actions, fds[i], high + (int)i);
	posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
	for (uint32_t i = 0; i < count; i++) {
		if (fds[i] < 0) {
			posix_spawn_file_actions_addopen(actions, (int)i + 1, "/dev/null", O_WRONLY, 0);
			continue;
		}
		posix_spawn_file_actions_adddup2(actions, high + (int)i, (int)i + 1);
		posix_spawn_file_actions_addclose(actions, high + (int)i);
	}
}

bool srv_find_program(const char *name, char *out)
{
	static const char *const places[] = {"", "/../libexec/hob", "/../lib/hob"};
	char self[3072];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	self[len > 0 ? len : 0] = 0;
	char *slash = strrchr(self, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < HOB_COUNT_OF(places) && slash; i++) {
		snprintf(out, 4096, "%s%s/%s", self, places[i], name);
		if (access(out, X_OK) == 0)
			return true;
	}
	return false;
}

bool srv_spawn(char *const argv[], const int *fds, uint32_t count, pid_t *pid, hob_error *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	pass(&actions, fds, count);
	sigset_t blocked, defaults;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTSTP);
	sigaddset(&blocked, SIGTTIN);
	sigaddset(&blocked, SIGTTOU);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigmask(&attributes, &blocked);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes,
							 POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int failed = posix_spawn(pid, argv[0], &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return failed == 0 || hob_fail(err, IO, "'%s' could not be started: %s", argv[0], strerror(failed));
}
