#include "open_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int srv_open_parent(int root_fd, hob_str path, bool create, const char **name)
{
	int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	size_t from = 0, to;
	for (; fd >= 0 && (to = hob_str_find(path, HOB_STR("/"), from)) != SIZE_MAX; from = to + 1) {
		char part[256];
		snprintf(part, sizeof part, "%.*s", (int)(to - from), path.data + from);
		if (create && mkdirat(fd, part, 0777) != 0 && errno != EEXIST) {
			int code = errno;
			close(fd);
			errno = code;
			return -1;
		}
		int next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int code = errno;
		close(fd);
		errno = code;
		fd = next;
	}
	*name = path.data + from;
	return fd;
}
