#include "own_mounts.h"
#include "../fs/fd.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

/* Devices stay usable, each as a mount of its own. */
static const char *const devices[] = {"/dev/null", "/dev/urandom"};

static bool put(const char *path, const char *text)
{
	srv_own_fd fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Without CAP_SYS_ADMIN it needs a user namespace, in which this process keeps its user and group. */
static bool make_namespace(void)
{
	char user[32], group[32];
	snprintf(user, sizeof user, "%u %u 1", geteuid(), geteuid());
	snprintf(group, sizeof group, "%u %u 1", getegid(), getegid());
	return unshare(CLONE_NEWNS) == 0 ||
		   (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/setgroups", "deny") &&
			put("/proc/self/uid_map", user) && put("/proc/self/gid_map", group));
}

int srv_own_mounts_enter(const char *folder, uint64_t bytes, uint32_t files)
{
	char options[96];
	struct mount_attr closed = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
	struct mount_attr device = {.attr_clr = MOUNT_ATTR_NODEV};
	bool ok = make_namespace() && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	for (size_t i = 0; i < HOB_COUNT_OF(devices); i++)
		ok = ok && mount(devices[i], devices[i], NULL, MS_BIND, NULL) == 0;
	ok = ok && mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &closed, sizeof closed) == 0;
	for (size_t i = 0; i < HOB_COUNT_OF(devices); i++)
		ok = ok && mount_setattr(AT_FDCWD, devices[i], 0, &device, sizeof device) == 0;
	snprintf(options, sizeof options, "mode=0700,size=%llu,nr_inodes=%u", (unsigned long long)bytes, files);
	ok = ok && mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0;
	return ok ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}
