#include "vcs.h"
#include "fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct {
	const char *folder, *lock, *index;
	bool empty_is_free;
} systems[] = {
	{".git", "index.lock", "index", false},
	{".hg", "wlock", "dirstate", false}, /* a dangling symbolic link */
	{".svn", "wc.db-journal", "wc.db", true},
};

static bool join(char *out, const char *folder, const char *name)
{
	int length = snprintf(out, PATH_MAX, "%s/%s", folder, name);
	return length > 0 && length < PATH_MAX;
}

/* Follows a .git that is a file, as in a worktree or submodule: "gitdir: PATH". */
static bool follow_file(const char *above, char *place)
{
	char line[PATH_MAX], target[PATH_MAX];
	int fd = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t got = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
	srv_close(fd);
	line[got > 0 ? got : 0] = 0;
	if (strncmp(line, "gitdir: ", 8) != 0)
		return false;
	line[strcspn(line, "\r\n")] = 0;
	if (line[8] == '/')
		return snprintf(place, PATH_MAX, "%s", line + 8) < PATH_MAX;
	if (!join(target, above, line + 8))
		return false;
	memcpy(place, target, sizeof target);
	return true;
}

static bool find_in(const char *above, srv_vcs *out)
{
	char place[PATH_MAX];
	struct stat info;
	for (size_t i = 0; i < HOB_COUNT_OF(systems); i++) {
		if (!join(place, above, systems[i].folder) || stat(place, &info) != 0)
			continue;
		if (S_ISREG(info.st_mode) && !follow_file(above, place))
			continue;
		out->empty_is_free = systems[i].empty_is_free;
		if (join(out->lock, place, systems[i].lock) && join(out->index, place, systems[i].index))
			return true;
	}
	*out = (srv_vcs){0};
	return false;
}

static srv_stat stat_of_index(const srv_vcs *vcs)
{
	struct stat info;
	return stat(vcs->index, &info) == 0 ? srv_stat_of(&info) : (srv_stat){0};
}

/* Looks in `above` and the folders above it that are longer than `end`. */
static void climb(char *above, size_t end, srv_vcs *out)
{
	while (strlen(above) > end && !find_in(above, out))
		*strrchr(above, '/') = 0;
	if (out->index[0])
		out->seen = stat_of_index(out);
}

void srv_vcs_find(const char *folder, srv_vcs *out)
{
	char above[PATH_MAX];
	*out = (srv_vcs){0};
	if (realpath(folder, above))
		climb(above, 0, out);
}

void srv_vcs_find_below(const char *root, hob_str path, srv_vcs *out)
{
	char above[PATH_MAX];
	*out = (srv_vcs){0};
	if (snprintf(above, sizeof above, "%s/%.*s", root, HOB_FMT(path)) < (int)sizeof above)
		climb(above, strlen(root), out);
}

bool srv_vcs_locked(const srv_vcs *vcs)
{
	struct stat info;
	if (!vcs->lock[0] || lstat(vcs->lock, &info) != 0 || (vcs->empty_is_free && info.st_size == 0))
		return false;
	time_t age = time(NULL) - info.st_mtime;
	return age >= -1 && age < SRV_VCS_LOCK_STALE;
}

bool srv_vcs_moved(srv_vcs *vcs)
{
	if (!vcs->index[0])
		return false;
	srv_stat now = stat_of_index(vcs);
	bool moved = !srv_stat_equal(&now, &vcs->seen);
	vcs->seen = now;
	return moved;
}
