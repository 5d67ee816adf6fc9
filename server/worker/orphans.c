#include "orphans.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void srv_orphans_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool runs(pid_t pid, const char *program)
{
	char link[64], target[4096];
	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	ssize_t len = readlink(link, target, sizeof target - 1);
	target[len > 0 ? len : 0] = 0;
	size_t size = strlen(program);
	return strncmp(target, program, size) == 0 && (!target[size] || strcmp(target + size, "-lean") == 0);
}

/* Checks the children of every thread, as the kernel lists a child under the thread that adopted it. */
uint32_t srv_orphans_end(const char *program, bool (*known)(void *user, pid_t pid), void *user, pid_t *out,
						 uint32_t room)
{
	uint32_t count = 0;
	DIR *threads = opendir("/proc/self/task");
	for (struct dirent *entry; threads && (entry = readdir(threads));) {
		char path[300];
		long pid;
		snprintf(path, sizeof path, "/proc/self/task/%s/children", entry->d_name);
		FILE *list = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
		while (list && count < room && fscanf(list, "%ld", &pid) == 1)
			if (!known(user, (pid_t)pid) && runs((pid_t)pid, program)) {
				kill((pid_t)pid, SIGKILL);
				out[count++] = (pid_t)pid;
			}
		if (list)
			fclose(list);
	}
	if (threads)
		closedir(threads);
	return count;
}
