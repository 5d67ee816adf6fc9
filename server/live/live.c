#include "live.h"

#include "../fs/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS_MAX = 32 };
static const char sidecar_end[] = ".cook.json";

struct srv_live {
	int fd;
	char folder[PATH_MAX];
};

/* ---- names */

bool srv_live_is_user(hob_str user)
{
	bool fine = user.len > 0 && user.len <= SRV_LIVE_USER_MAX && user.data[0] != '.';
	for (size_t i = 0; fine && i < user.len; i++) {
		char c = user.data[i];
		fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
			   c == '_' || c == '.';
	}
	return fine;
}

bool srv_live_is_asset(hob_str asset)
{
	bool fine = asset.len > 0 && asset.len < PATH_MAX / 2, begins = true;
	size_t slashes = 0;
	for (size_t i = 0; fine && i < asset.len; i++) {
		unsigned char c = (unsigned char)asset.data[i];
		fine = c >= 0x20 && c != 0x7F && !(begins && (c == '/' || c == '.'));
		begins = c == '/';
		slashes += begins;
	}
	return fine && !begins && slashes > 0 && slashes <= FOLDERS_MAX;
}

void srv_live_put_name(hob_buf *out, hob_str user, hob_str asset)
{
	hob_buf_printf(out, SRV_LIVE_ROOT "/%.*s/%.*s.glb", HOB_FMT(user), HOB_FMT(asset));
}

/* ---- files */

/* Removes everything below the open folder and returns the number of models removed; without `removes`, finds
 * the newest time instead. */
static uint32_t sweep(int folder, bool removes, int64_t *newest)
{
	uint32_t count = 0;
	DIR *dir = srv_folder_open(folder, ".");
	for (struct dirent *entry; (entry = srv_folder_next(dir));) {
		struct stat info;
		int below = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0) {
			count += sweep(below, removes, newest);
			close(below);
		} else if (!hob_str_ends_nocase(hob_str_of(entry->d_name), hob_str_of(sidecar_end)) &&
				   fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
			*newest = info.st_mtime > *newest ? info.st_mtime : *newest;
			count++;
		}
		if (removes)
			unlinkat(folder, entry->d_name, below >= 0 ? AT_REMOVEDIR : 0);
	}
	srv_folder_close(dir);
	return count;
}

static uint32_t drop_user(srv_live *live, const char *user)
{
	int64_t newest = 0;
	int folder = openat(live->fd, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return 0;
	uint32_t count = sweep(folder, true, &newest);
	close(folder);
	unlinkat(live->fd, user, AT_REMOVEDIR);
	return count;
}

bool srv_live_open(const char *cache, srv_live **out, hob_error *err)
{
	srv_live *live = calloc(1, sizeof *live);
	int64_t newest = 0;
	if (!live)
		return hob_fail(err, MEMORY, "no memory for the folder of live models");
	int size = snprintf(live->folder, sizeof live->folder, "%s/" SRV_LIVE_ROOT, cache);
	bool fits = size > 0 && size < (int)sizeof live->folder;
	live->fd = -1;
	if (fits && (mkdir(live->folder, 0700) == 0 || errno == EEXIST))
		live->fd = open(live->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (live->fd < 0) {
		int code = fits ? errno : ENAMETOOLONG;
		free(live);
		return hob_fail(err, IO, "cannot create the folder '%.200s/" SRV_LIVE_ROOT "' for live models: %s",
						cache, strerror(code));
	}
	sweep(live->fd, true, &newest);
	*out = live;
	return true;
}

void srv_live_close(srv_live *live)
{
	if (!live)
		return;
	int64_t newest = 0;
	sweep(live->fd, true, &newest);
	close(live->fd);
	free(live);
}

const char *srv_live_folder(const srv_live *live)
{
	return live->folder;
}

/* Opens the folder of `path` below the live folder, created if missing; -1 with errno. */
static int make_folders(const srv_live *live, char *path)
{
	int folder = fcntl(live->fd, F_DUPFD_CLOEXEC, 0);
	char *part = path;
	for (char *slash; folder >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
		*slash = 0;
		int made = mkdirat(folder, part, 0700) == 0 || errno == EEXIST
					   ? openat(folder, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
					   : -1;
		int code = errno;
		close(folder);
		errno = code;
		folder = made;
		*slash = '/';
	}
	return folder;
}

/* Copies through a buffer if the kernel cannot copy between the two kinds of file. */
static ssize_t copy_some(int from, loff_t *at, int to, uint64_t left)
{
	uint8_t room[65536];
	ssize_t moved = copy_file_range(from, at, to, NULL, left, 0);
	if (moved >= 0 || (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP))
		return moved;
	ssize_t got = pread(from, room, left < sizeof room ? left : sizeof room, *at);
	ssize_t put = got > 0 ? write(to, room, (size_t)got) : got;
	*at += put > 0 ? put : 0;
	return put;
}

static bool copy_bytes(int from, int to, uint64_t size)
{
	loff_t at = 0;
	while ((uint64_t)at < size) {
		ssize_t moved = copy_some(from, &at, to, size - (uint64_t)at);
		if (moved <= 0) {
			errno = moved == 0 ? EIO : errno;
			return false;
		}
	}
	return true;
}

/* Writes the sidecar of a model atomically; empty settings remove it. */
static bool put_sidecar(int folder, const char *model, hob_str settings)
{
	char name[NAME_MAX + 1], temp[] = ".hob-live-settings";
	int size = snprintf(name, sizeof name, "%s%s", model, sidecar_end);
	if (size <= 0 || size >= (int)sizeof name) {
		errno = ENAMETOOLONG;
		return false;
	}
	if (settings.len == 0)
		return unlinkat(folder, name, 0) == 0 || errno == ENOENT;
	int file = openat(folder, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), code = 0;
	if (file < 0)
		return false;
	errno = 0;
	if (write(file, settings.data, settings.len) != (ssize_t)settings.len)
		code = errno != 0 ? errno : ENOSPC;
	if (close(file) != 0 && code == 0)
		code = errno;
	if (code == 0 && renameat(folder, temp, folder, name) != 0)
		code = errno;
	if (code != 0)
		unlinkat(folder, temp, 0);
	errno = code;
	return code == 0;
}

bool srv_live_set(srv_live *live, hob_str user, hob_str asset, hob_str settings, int fd, uint64_t size,
				  hob_error *err)
{
	char path[PATH_MAX], temp[64];
	if (!srv_live_is_user(user) || !srv_live_is_asset(asset))
		return hob_fail(err, BAD_REQUEST, "'%.*s' of the user '%.*s' is not a valid name of a live model",
						HOB_FMT(asset), HOB_FMT(user));
	if (size > SRV_LIVE_BYTES_MAX)
		return hob_fail(err, BAD_REQUEST, "a live model has at most %llu bytes, this one has %llu",
						(unsigned long long)SRV_LIVE_BYTES_MAX, (unsigned long long)size);
	snprintf(path, sizeof path, "%.*s/%.*s.glb", HOB_FMT(user), HOB_FMT(asset));
	static _Atomic unsigned serial;
	snprintf(temp, sizeof temp, ".hob-live-%u", serial++);
	int folder = make_folders(live, path);
	int file = folder < 0 ? -1 : openat(folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool ok =
		file >= 0 && put_sidecar(folder, strrchr(path, '/') + 1, settings) && copy_bytes(fd, file, size);
	int code = errno;
	if (file >= 0 && close(file) != 0 && ok) {
		code = errno;
		ok = false;
	}
	if (ok && renameat(folder, temp, folder, strrchr(path, '/') + 1) != 0) {
		code = errno;
		ok = false;
	}
	if (!ok && file >= 0)
		unlinkat(folder, temp, 0);
	if (folder >= 0)
		close(folder);
	if (ok)
		return true;
	return code == ENOSPC || code == EDQUOT ? hob_fail(err, DISK_FULL, "the disk of the cache is full")
											: hob_fail(err, IO, "'%.200s/%.200s' cannot be written: %s",
													   live->folder, path, strerror(code));
}

uint32_t srv_live_drop(srv_live *live, hob_str user, hob_str asset)
{
	char path[PATH_MAX];
	if (!srv_live_is_user(user) || (asset.len > 0 && !srv_live_is_asset(asset)))
		return 0;
	snprintf(path, sizeof path, "%.*s", HOB_FMT(user));
	if (asset.len == 0)
		return drop_user(live, path);
	snprintf(path, sizeof path, "%.*s/%.*s.glb%s", HOB_FMT(user), HOB_FMT(asset), sidecar_end);
	unlinkat(live->fd, path, 0);
	path[strlen(path) - strlen(sidecar_end)] = 0;
	return unlinkat(live->fd, path, 0) == 0;
}

uint32_t srv_live_drop_idle(srv_live *live, int64_t now_s, int64_t idle_s)
{
	uint32_t count = 0;
	DIR *dir = srv_folder_open(live->fd, ".");
	for (struct dirent *entry; (entry = srv_folder_next(dir));) {
		int64_t newest = 0;
		if (entry->d_name[0] == '.')
			continue;
		int folder = openat(live->fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (folder < 0)
			continue;
		sweep(folder, false, &newest);
		close(folder);
		if (now_s - newest >= idle_s)
			count += drop_user(live, entry->d_name);
	}
	srv_folder_close(dir);
	return count;
}
