#include "cook_plan.h"

#include "../fs/beneath.h"
#include "../fs/fd.h"
#include "../fs/folder.h"
#include "../fs/spelling.h"

#include <assert.h>
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const srv_dep *dep, const char *source)
{
	return !dep->missing && !srv_spelling_is(dep->path) &&
		   (!source || !hob_str_equal(dep->path, hob_str_of(source)));
}

bool srv_cook_wait_changed(int root_fd, const char *source, const srv_outcome *outcome)
{
	const srv_result *result = &outcome->result;
	for (uint32_t i = 0; i < result->dep_count; i++) {
		const srv_dep *dep = &result->deps[i];
		srv_stat now, then = {dep->size, dep->inode, dep->mtime_ns, dep->ctime_ns};
		if (is_file(dep, source) &&
			(!srv_stat_path(root_fd, dep->path, &now) || !srv_stat_equal(&now, &then)))
			return true;
	}
	return false;
}

/* ---- the writing process */

static bool writes_to(int folder, const char *name, const struct stat *file)
{
	struct stat link, target;
	return isdigit((unsigned char)name[0]) && fstatat(folder, name, &target, 0) == 0 &&
		   target.st_dev == file->st_dev && target.st_ino == file->st_ino &&
		   fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) == 0 && (link.st_mode & S_IWUSR);
}

static bool process_writes(int proc, const char *pid, const struct stat *file)
{
	char path[NAME_MAX + 8];
	snprintf(path, sizeof path, "%s/fd", pid);
	srv_own_folder *list = srv_folder_open(proc, path);
	bool found = false;
	for (struct dirent *entry; !found && (entry = srv_folder_next(list));)
		found = writes_to(dirfd(list), entry->d_name, file);
	return found;
}

static void read_name(int proc, const char *pid, char out[32])
{
	char path[NAME_MAX + 8];
	snprintf(path, sizeof path, "%s/comm", pid);
	srv_own_fd fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, out, 31) : 0;
	out[got > 0 ? got : 0] = 0;
	out[strcspn(out, "\n")] = 0;
}

/* Finds the process that writes the file, unless it is another user's or opens the file only briefly. */
static void find_writer(cook_wait *wait, int root_fd)
{
	struct stat file;
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%.*s", HOB_FMT(wait->file));
	srv_own_fd fd = srv_open_beneath(root_fd, path, O_PATH, true);
	bool known = fd >= 0 && fstat(fd, &file) == 0;
	srv_own_folder *list = known ? opendir("/proc") : NULL;
	for (struct dirent *entry; !wait->writer[0] && (entry = srv_folder_next(list));) {
		char name[32];
		if (!isdigit((unsigned char)entry->d_name[0]) || !process_writes(dirfd(list), entry->d_name, &file))
			continue;
		read_name(dirfd(list), entry->d_name, name);
		snprintf(wait->writer, sizeof wait->writer, "%s (process %.20s)", name, entry->d_name);
	}
}

/* ---- looking */

bool srv_cook_wait_rests(cook_wait *wait, int root_fd)
{
	assert(wait->outcome && wait->began_ns != 0);
	const srv_result *result = &wait->outcome->result;
	bool rests = true;
	for (uint32_t i = 0; i < result->dep_count; i++) {
		srv_dep *dep = &result->deps[i];
		srv_stat now = {0}, then = {dep->size, dep->inode, dep->mtime_ns, dep->ctime_ns};
		bool there = srv_stat_path(root_fd, dep->path, &now),
			 same = srv_stat_equal(&now, &then) && !(there && srv_is_saved_now(root_fd, dep->path));
		if (!same)
			wait->file = dep->path;
		rests = rests && same;
		dep->size = now.size;
		dep->inode = now.inode;
		dep->mtime_ns = now.mtime_ns;
		dep->ctime_ns = now.ctime_ns;
	}
	if (!rests && !wait->writer[0])
		find_writer(wait, root_fd);
	return rests;
}
