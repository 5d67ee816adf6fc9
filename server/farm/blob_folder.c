#include "farm.h"

#include "../../core/base/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A folder mounted by all machines. A file is linked under its name when it is complete. */

enum { PIECE = 256 << 10 };

typedef struct folder {
	char path[2048];
	atomic_bool cut;
} folder;

static void say(srv_farm_why *why, const char *what, int code)
{
	snprintf(why->text, sizeof why->text, "the farm's folder: %.100s: %.70s", what, strerror(code));
}

static srv_farm_end end_of(int code)
{
	return code == ENOENT || code == ENOTDIR				  ? SRV_FARM_NONE
		   : code == ENOSPC || code == EDQUOT				  ? SRV_FARM_FULL
		   : code == EACCES || code == EPERM || code == EROFS ? SRV_FARM_READ_ONLY
															  : SRV_FARM_DOWN;
}

static srv_farm_end failed(srv_farm_why *why, const char *what)
{
	int code = errno;
	say(why, what, code);
	return end_of(code);
}

static void *folder_open(const srv_farm_place *place, srv_farm_why *why)
{
	const char *path = place->url + strlen("file://");
	folder *f = path[0] == '/' ? calloc(1, sizeof *f) : NULL;
	if (!f || strlen(path) >= sizeof f->path - 128) {
		snprintf(why->text, sizeof why->text, "'%.100s' names no absolute path: file:///mnt/...", place->url);
		free(f);
		return NULL;
	}
	snprintf(f->path, sizeof f->path, "%s", path);
	return f;
}

static void folder_cut(void *handle)
{
	folder *f = handle;
	atomic_store(&f->cut, true);
}

static void path_of(const folder *f, const char *name, char out[2200])
{
	snprintf(out, 2200, "%s/%s", f->path, name);
}

/* If the folder is not mounted, blobs are not missing: the store is down. */
static srv_farm_end missing(const folder *f, srv_farm_why *why)
{
	char blobs[2200];
	path_of(f, "blobs/", blobs);
	if (access(blobs, F_OK) == 0)
		return SRV_FARM_NONE;
	say(why, "it has no 'blobs' in it; is it mounted? 'hob farm init' makes one", errno);
	return SRV_FARM_DOWN;
}

/* Renames a folder, pipe or link in the place of a blob, or a non-folder in the place of a folder of blobs:
 * it is never read, and no longer blocks a result. */
static void set_aside(const char *path, mode_t kind)
{
	char aside[2300];
	struct stat info;
	uint64_t chance = 0;
	if (lstat(path, &info) != 0 || (info.st_mode & S_IFMT) == kind)
		return;
	(void)!getrandom(&chance, sizeof chance, 0);
	snprintf(aside, sizeof aside, "%s.wrong-%016llx", path, (unsigned long long)chance);
	(void)!rename(path, aside);
}

static void set_blob_aside(char *path)
{
	char *slash = strrchr(path, '/');
	*slash = 0;
	set_aside(path, S_IFDIR);
	*slash = '/';
	set_aside(path, S_IFREG);
}

static srv_farm_end folder_init(void *handle, srv_farm_why *why)
{
	char blobs[2200], trial[2300];
	path_of(handle, "blobs", blobs);
	if (mkdir(blobs, 0777) != 0 && errno != EEXIST)
		return failed(why, blobs);
	snprintf(trial, sizeof trial, "%s/.trial-XXXXXX", blobs);
	int fd = mkstemp(trial);
	if (fd < 0)
		return failed(why, blobs);
	close(fd);
	unlink(trial);
	return SRV_FARM_OK;
}

static srv_farm_end folder_head(void *handle, const char *name, uint64_t *size, srv_farm_why *why)
{
	char path[2200];
	struct stat info;
	path_of(handle, name, path);
	bool there = lstat(path, &info) == 0;
	if (there && S_ISREG(info.st_mode)) {
		*size = (uint64_t)info.st_size;
		return SRV_FARM_OK;
	}
	if (there)
		return SRV_FARM_NONE;
	srv_farm_end end = failed(why, name);
	return end == SRV_FARM_NONE ? missing(handle, why) : end;
}

static srv_farm_end folder_get(void *handle, const char *name,
							   bool (*take)(void *user, const void *data, size_t size), void *user,
							   srv_farm_why *why)
{
	folder *f = handle;
	char path[2200];
	path_of(f, name, path);
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 && errno == ELOOP)
		return SRV_FARM_NONE;
	if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
		close(fd);
		say(why, name, EINVAL); /* reading a pipe might never end */
		return SRV_FARM_NONE;
	}
	if (fd < 0) {
		srv_farm_end end = failed(why, name);
		return end == SRV_FARM_NONE ? missing(f, why) : end;
	}
	char *piece = hob_must(malloc(PIECE));
	srv_farm_end end = SRV_FARM_OK;
	for (ssize_t got = 1; end == SRV_FARM_OK && got > 0;) {
		got = atomic_load(&f->cut) ? -1 : read(fd, piece, PIECE);
		if (got < 0)
			end = failed(why, name) == SRV_FARM_READ_ONLY ? SRV_FARM_BARRED : SRV_FARM_DOWN;
		else if (got > 0 && !take(user, piece, (size_t)got))
			end = SRV_FARM_REFUSED;
	}
	close(fd);
	free(piece);
	return end;
}

static bool copy(folder *f, int from, int to, uint64_t size)
{
	char *piece = hob_must(malloc(PIECE));
	bool ok = true;
	for (uint64_t at = 0; ok && at < size;) {
		ssize_t got = pread(from, piece, size - at < PIECE ? (size_t)(size - at) : PIECE, (off_t)at);
		errno = got == 0 ? EIO : errno;
		for (ssize_t put = 0, step; ok && put < got; put += step) {
			step = write(to, piece + put, (size_t)(got - put));
			ok = step > 0;
		}
		ok = ok && got > 0 && !atomic_load(&f->cut);
		at += got > 0 ? (uint64_t)got : 0;
	}
	free(piece);
	return ok;
}

static bool make_parent(char *path)
{
	char *slash = strrchr(path, '/');
	*slash = 0;
	bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
	*slash = '/';
	return made;
}

static srv_farm_end folder_put(void *handle, const char *name, int fd, uint64_t size, const char *sha256,
							   srv_farm_why *why)
{
	folder *f = handle;
	char path[2200], temp[2200];
	uint64_t chance = 0;
	(void)!getrandom(&chance, sizeof chance, 0);
	(void)sha256;
	path_of(f, name, path);
	snprintf(temp, sizeof temp, "%s/blobs/new-%016llx", f->path, (unsigned long long)chance);
	int to = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (to < 0) {
		srv_farm_end end = failed(why, temp);
		if (end == SRV_FARM_NONE)
			(void)missing(f, why);
		return end == SRV_FARM_NONE ? SRV_FARM_DOWN : end;
	}
	bool ok = copy(f, fd, to, size) && fdatasync(to) == 0;
	int code = ok ? 0 : errno;
	ok = close(to) == 0 && ok;
	if (ok)
		set_blob_aside(path);
	ok = ok && make_parent(path) && rename(temp, path) == 0;
	if (ok)
		return SRV_FARM_OK;
	errno = code ? code : errno;
	srv_farm_end end = failed(why, name);
	unlink(temp);
	return end == SRV_FARM_NONE ? SRV_FARM_DOWN : end;
}

static srv_farm_end folder_remove(void *handle, const char *name, srv_farm_why *why)
{
	char path[2200];
	path_of(handle, name, path);
	return unlink(path) == 0 ? SRV_FARM_OK : failed(why, name);
}

static bool list_one(const folder *f, const char *part, bool (*each)(void *, const char *, uint64_t, int64_t),
					 void *user)
{
	char path[2200], name[512];
	snprintf(path, sizeof path, "%s/blobs/%.64s", f->path, part);
	DIR *dir = opendir(path);
	bool go_on = true;
	for (struct dirent *file; dir && go_on && (file = readdir(dir));) {
		struct stat info;
		if (file->d_name[0] == '.' || fstatat(dirfd(dir), file->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
			!S_ISREG(info.st_mode))
			continue;
		snprintf(name, sizeof name, "blobs/%.64s%s%s", part, part[0] ? "/" : "", file->d_name);
		go_on = each(user, name, (uint64_t)info.st_size, (int64_t)time(NULL) - (int64_t)info.st_mtime);
	}
	if (dir)
		closedir(dir);
	return go_on;
}

static srv_farm_end folder_list(void *handle,
								bool (*each)(void *user, const char *name, uint64_t size, int64_t age_s),
								void *user, srv_farm_why *why)
{
	folder *f = handle;
	if (missing(f, why) != SRV_FARM_NONE)
		return SRV_FARM_DOWN;
	if (!list_one(f, "", each, user))
		return SRV_FARM_OK;
	for (int i = 0; i < 256; i++) {
		char part[8];
		snprintf(part, sizeof part, "%02x", i);
		if (!list_one(f, part, each, user))
			break;
	}
	return SRV_FARM_OK;
}

const srv_farm_blobs srv_farm_folder = {.open = folder_open,
										.close = free,
										.cut = folder_cut,
										.init = folder_init,
										.head = folder_head,
										.get = folder_get,
										.put = folder_put,
										.remove = folder_remove,
										.list = folder_list};
