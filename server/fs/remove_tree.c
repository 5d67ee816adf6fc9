#include "remove_tree.h"
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 32 };

typedef struct removal {
	int top;
	dev_t device;
	uint32_t raised; /* number of too deep folders that were moved to the top folder */
} removal;

static int open_folder(int parent, const char *name)
{
	const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct stat info;
	int fd = openat(parent, name, how);
	if (fd < 0 && errno == EACCES && fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISDIR(info.st_mode) && fchmodat(parent, name, 0700, 0) == 0)
		fd = openat(parent, name, how);
	if (fd >= 0)
		(void)fchmod(fd, 0700); /* so that its entries can be removed */
	return fd;
}

static void clear(removal *r, int fd, uint32_t depth);

static void remove_one(removal *r, int parent, const char *name, uint32_t depth)
{
	struct stat info;
	char raised[32];
	if (unlinkat(parent, name, 0) == 0)
		return;
	int fd = open_folder(parent, name);
	if (fd < 0)
		return;
	if (fstat(fd, &info) != 0 || info.st_dev != r->device) {
		close(fd);
	} else if (depth < DEPTH_MAX) {
		clear(r, fd, depth + 1);
		(void)unlinkat(parent, name, AT_REMOVEDIR);
	} else {
		close(fd);
		snprintf(raised, sizeof raised, "raised-%u", ++r->raised);
		(void)renameat(parent, name, r->top, raised);
	}
}

/* Removes the content of a folder, and closes fd. */
static void clear(removal *r, int fd, uint32_t depth)
{
	srv_own_folder *list = srv_folder_of(fd);
	for (struct dirent *entry; (entry = srv_folder_next(list));)
		remove_one(r, fd, entry->d_name, depth);
}

void srv_remove_tree(const char *folder)
{
	struct stat info;
	removal r = {.top = open_folder(AT_FDCWD, folder)};
	if (r.top < 0)
		return;
	if (fstat(r.top, &info) == 0) {
		r.device = info.st_dev;
		uint32_t before;
		do {
			before = r.raised;
			int fd = open_folder(r.top, ".");
			if (fd >= 0)
				clear(&r, fd, 0);
		} while (r.raised != before);
	}
	close(r.top);
	(void)rmdir(folder);
}

bool srv_make_temporary(const char *name, char out[300], hob_error *err)
{
	const char *base = getenv("TMPDIR");
	snprintf(out, 300, "%.200s/%s-XXXXXX", base && base[0] ? base : "/tmp", name);
	if (mkdtemp(out))
		return true;
	hob_fail(err, IO, "no folder can be made in '%.200s': %s", base && base[0] ? base : "/tmp",
			 strerror(errno));
	out[0] = 0;
	return false;
}
