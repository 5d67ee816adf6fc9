/* beneath.h - opening below a root folder without ever leaving it, what identifies a version of a file, and looking
 * whether somebody writes. Used by the daemon and by the workers; any thread. */
#ifndef SRV_BENEATH_H
#define SRV_BENEATH_H

#include "../../core/base/base.h"

#include <sys/stat.h>

/* What identifies a version of a file without reading it. */
typedef struct srv_stat {
	uint64_t size, inode;
	int64_t mtime_ns, ctime_ns;
} srv_stat;

srv_stat srv_stat_of(const struct stat *info);
bool srv_stat_equal(const srv_stat *a, const srv_stat *b);

/* Opens `path` ("" = the root itself) below root_fd; symbolic links are refused unless `follow`, and then must
 * stay below the root. O_CLOEXEC, O_NONBLOCK and O_NOCTTY are added. -1 with errno; EXDEV: it leaves the root. */
int srv_open_beneath(int root_fd, const char *path, int flags, bool follow);

/* Stats one path below an open root folder by the same rules. False, with errno, when it is not a regular file inside the
 * root (missing, folder, link that leaves), or when srv_is_passing(errno). */
bool srv_stat_path(int root_fd, hob_str path, srv_stat *out);
/* True for what says nothing about a file: the machine is short of descriptors or memory, or a device failed. What is known
 * of the file stays, and it is looked at again. */
bool srv_is_passing(int code);

typedef enum srv_writers { SRV_WRITERS_NONE, SRV_WRITERS_SOME, SRV_WRITERS_UNKNOWN } srv_writers;
/* Asks the kernel, by a read lease that is given back at once, whether `fd` (opened for reading) is open for writing
 * anywhere. UNKNOWN for files of other owners and file systems without leases. */
srv_writers srv_find_writers(int fd);
/* Whether a save of the file behind `fd` is under way: somebody has it open for writing and it changed in the last half minute, or
 * will. A program that keeps a file open for writing and leaves it alone is not waited for. */
bool srv_is_being_written(int fd, const struct stat *info);

#endif
