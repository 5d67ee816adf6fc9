/* beneath.h - opens files below a root folder and never outside it, identifies versions of a file, and checks
 * whether a process is writing. Used by the daemon and the workers; any thread. */
#ifndef SRV_BENEATH_H
#define SRV_BENEATH_H

#include "../../core/base/base.h"

#include <sys/stat.h>

/* Identifies a version of a file without reading it. */
typedef struct srv_stat {
	uint64_t size, inode;
	int64_t mtime_ns, ctime_ns;
} srv_stat;

srv_stat srv_stat_of(const struct stat *info);
bool srv_stat_equal(const srv_stat *a, const srv_stat *b);

/* Opens `path` ("" = the root itself) below root_fd. Symbolic links are refused unless `follow`, and even
 * then must stay below the root. O_CLOEXEC, O_NONBLOCK and O_NOCTTY are added. -1 with errno; EXDEV: it
 * leaves the root. */
int srv_open_beneath(int root_fd, const char *path, int flags, bool follow);

/* Opens the folder of `path`, to change its entries, component by component and never through a link; creates
 * it if `create`. *name: the last component. -1 with errno. */
int srv_open_parent(int root_fd, hob_str path, bool create, const char **name);
/* Creates a file, that only its owner reads, and its folders; it must not exist. -1 with errno. */
int srv_create_beneath(int root_fd, const char *path);

/* Stats one path below an open root folder by the same rules. False, with errno, if it is not a regular file
 * below the root (missing, a folder, a link that leaves the root), or if srv_is_passing(errno). Also accepts
 * the dependencies of spelling.h. */
bool srv_stat_path(int root_fd, hob_str path, srv_stat *out);
/* The kind of what is at a path, as the letter that spelling.h hashes. */
typedef enum srv_kind {
	SRV_KIND_FILE = 0,
	SRV_KIND_NOTHING = 'm', /* or a link to nothing */
	SRV_KIND_OTHER = 'n',	/* a folder, a pipe, a socket, a device */
	SRV_KIND_OUTSIDE = 'o',
	SRV_KIND_DENIED = 'd',
	SRV_KIND_LONG = 'l', /* a name in a link is too long */
	SRV_KIND_UNKNOWN = '?'
} srv_kind;
/* The kind of a path that could not be opened. */
srv_kind srv_kind_of_error(int code);
/* Whether the error says nothing about the file: the machine has no descriptors or memory left, or a device
 * failed. The known state of the file is then kept, and checked again later. */
bool srv_is_passing(int code);

typedef enum srv_writers { SRV_WRITERS_NONE, SRV_WRITERS_SOME, SRV_WRITERS_UNKNOWN } srv_writers;
/* Asks the kernel, through a read lease that is released at once, whether `fd` (opened for reading) is open
 * for writing anywhere. UNKNOWN for files of other owners and file systems without leases. */
srv_writers srv_find_writers(int fd);
/* Whether the file behind `fd` is being saved: a process has it open for writing, and it changed within the
 * last half minute, or has a time in the future. A program that keeps a file open for writing without
 * changing it does not count. */
bool srv_is_being_written(int fd, const struct stat *info);
/* srv_is_being_written for the file at `path` below root_fd. */
bool srv_is_saved_now(int root_fd, hob_str path);

#endif
