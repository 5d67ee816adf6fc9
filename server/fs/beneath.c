#include "beneath.h"
#include "fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

srv_stat srv_stat_of(const struct stat *info)
{
	return (srv_stat){
		.size = (uint64_t)info->st_size,
		.inode = info->st_ino,
		.mtime_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec,
		.ctime_ns = (int64_t)info->st_ctim.tv_sec * 1000000000 + info->st_ctim.tv_nsec,
	};
}

bool srv_stat_equal(const srv_stat *a, const srv_stat *b)
{
	return a->size == b->size && a->inode == b->inode && a->mtime_ns == b->mtime_ns &&
		   a->ctime_ns == b->ctime_ns;
}

/* Without openat2 (old kernels, some container profiles), opens the folders of the path one by one and
 * follows no link at all. */
static int open_stepwise(int root_fd, const char *path, int flags)
{
	char part[NAME_MAX + 1];
	int at = root_fd;
	for (;;) {
		const char *end = strchrnul(path, '/');
		size_t len = (size_t)(end - path);
		if (len >= sizeof part || (len == 2 && path[0] == '.' && path[1] == '.')) {
			errno = len >= sizeof part ? ENAMETOOLONG : EXDEV;
			break;
		}
		memcpy(part, path, len);
		part[len] = 0;
		const char *name = len > 0 ? part : ".";
		int next = openat(at, name, (*end ? O_PATH | O_DIRECTORY | O_CLOEXEC : flags) | O_NOFOLLOW);
		if (at != root_fd)
			close(at);
		if (next < 0 || !*end)
			return next;
		at = next;
		path = end + 1;
	}
	if (at != root_fd)
		close(at);
	return -1;
}

int srv_open_beneath(int root_fd, const char *path, int flags, bool follow)
{
	static atomic_bool missing;
	flags |= O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY);
	if (!atomic_load_explicit(&missing, memory_order_relaxed)) {
		struct open_how how = {
			.flags = (unsigned)flags,
			.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (follow ? 0 : RESOLVE_NO_SYMLINKS),
		};
		/* O_NOFOLLOW with O_PATH opens the link itself, even with RESOLVE_NO_SYMLINKS. */
		if (!follow)
			how.flags |= O_NOFOLLOW;
		int fd = -1;
		/* EAGAIN: a rename happened while the kernel resolved "..". */
		for (int attempt = 0; attempt < 8 && fd < 0 && (attempt == 0 || errno == EAGAIN); attempt++)
			fd = (int)syscall(SYS_openat2, root_fd, *path ? path : ".", &how, sizeof how);
		if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
			return fd;
		if (errno == ENOSYS)
			atomic_store(&missing, true);
	}
	return open_stepwise(root_fd, path, flags);
}

int srv_open_parent(int root_fd, hob_str path, bool create, const char **name)
{
	int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	size_t from = 0, to;
	for (; fd >= 0 && (to = hob_str_find(path, HOB_STR("/"), from)) != SIZE_MAX; from = to + 1) {
		char part[256];
		bool too_long = to - from >= sizeof part;
		snprintf(part, sizeof part, "%.*s", (int)(to - from), path.data + from);
		if (too_long || (create && mkdirat(fd, part, 0777) != 0 && errno != EEXIST)) {
			int code = too_long ? ENAMETOOLONG : errno;
			close(fd);
			errno = code;
			return -1;
		}
		int next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		srv_close(fd);
		fd = next;
	}
	*name = path.data + from;
	return fd;
}

int srv_create_beneath(int root_fd, const char *path)
{
	const char *name;
	srv_own_fd folder = srv_open_parent(root_fd, hob_str_of(path), true, &name);
	return folder >= 0 ? openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
					   : -1;
}

bool srv_is_passing(int code)
{
	return code == EIO || code == EMFILE || code == ENFILE || code == ENOMEM || code == EAGAIN ||
		   code == EINTR || code == ENOBUFS || code == ESTALE || code == ETIMEDOUT || code == ENOTCONN ||
		   code == EHOSTDOWN || code == EHOSTUNREACH || code == ENODEV || code == EREMOTEIO;
}

srv_kind srv_kind_of_error(int code)
{
	switch (code) {
	case ENOENT:
	case ENOTDIR:
		return SRV_KIND_NOTHING;
	case EXDEV:
	case ELOOP:
		return SRV_KIND_OUTSIDE;
	case EACCES:
	case EPERM:
		return SRV_KIND_DENIED;
	case ENAMETOOLONG:
		return SRV_KIND_LONG;
	case ENXIO: /* a socket */
		return SRV_KIND_OTHER;
	default:
		return SRV_KIND_UNKNOWN;
	}
}

srv_writers srv_find_writers(int fd)
{
	/* If another process opens the file for writing while the lease is held, the kernel sends a signal; the
	 * default, SIGIO, would end the daemon. */
	if (fcntl(fd, F_SETSIG, SIGURG) != 0)
		return SRV_WRITERS_UNKNOWN;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) != 0)
		return errno == EAGAIN ? SRV_WRITERS_SOME : SRV_WRITERS_UNKNOWN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return SRV_WRITERS_NONE;
}

bool srv_is_being_written(int fd, const struct stat *info)
{
	enum { SAVE_S = 30 };
	struct timespec now;
	time_t changed =
		info->st_mtim.tv_sec > info->st_ctim.tv_sec ? info->st_mtim.tv_sec : info->st_ctim.tv_sec;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec - changed < SAVE_S && srv_find_writers(fd) == SRV_WRITERS_SOME;
}

bool srv_is_saved_now(int root_fd, hob_str path)
{
	struct stat info;
	char name[PATH_MAX];
	if (path.len >= sizeof name)
		return false;
	snprintf(name, sizeof name, "%.*s", HOB_FMT(path));
	srv_own_fd fd = srv_open_beneath(root_fd, name, O_RDONLY, true);
	return fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && srv_is_being_written(fd, &info);
}
