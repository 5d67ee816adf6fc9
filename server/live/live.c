#include "live.h"

#include "../fs/beneath.h"
#include "../fs/fd.h"
#include "../fs/folder.h"
#include "../fs/transfer.h"

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
	srv_own_folder *dir = srv_folder_open(folder, ".");
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

/* Writes the sidecar of a model; empty settings remove it. */
static bool put_sidecar(int folder, const char *model, const char *temporary, hob_str settings)
{
	char name[NAME_MAX + 1];
	int size = snprintf(name, sizeof name, "%s%s", model, sidecar_end);
	if (size <= 0 || size >= (int)sizeof name) {
		errno = ENAMETOOLONG;
		return false;
	}
	if (settings.len == 0)
		return unlinkat(folder, name, 0) == 0 || errno == ENOENT;
	int fd = srv_replace_begin(folder, temporary, 0600);
	return srv_replace_end(folder, temporary, fd, fd >= 0 && srv_write_all(fd, settings.data, settings.len),
						   name);
}

static bool put_model(int folder, const char *model, const char *temporary, int from, uint64_t size)
{
	int fd = srv_replace_begin(folder, temporary, 0600);
	return srv_replace_end(folder, temporary, fd, fd >= 0 && srv_copy(from, fd, size), model);
}

bool srv_live_set(srv_live *live, hob_str user, hob_str asset, hob_str settings, int fd, uint64_t size,
				  hob_error *err)
{
	char path[PATH_MAX], temp[64];
	const char *name;
	if (!srv_live_is_user(user) || !srv_live_is_asset(asset))
		return hob_fail(err, BAD_REQUEST, "'%.*s' of the user '%.*s' is not a valid name of a live model",
						HOB_FMT(asset), HOB_FMT(user));
	if (size > SRV_LIVE_BYTES_MAX)
		return hob_fail(err, BAD_REQUEST, "a live model has at most %llu bytes, this one has %llu",
						(unsigned long long)SRV_LIVE_BYTES_MAX, (unsigned long long)size);
	snprintf(path, sizeof path, "%.*s/%.*s.glb", HOB_FMT(user), HOB_FMT(asset));
	static _Atomic unsigned serial;
	snprintf(temp, sizeof temp, ".hob-live-%u", serial++);
	int folder = srv_open_parent(live->fd, hob_str_of(path), true, &name);
	bool ok =
		folder >= 0 && put_sidecar(folder, name, temp, settings) && put_model(folder, name, temp, fd, size);
	int code = errno;
	srv_close(folder);
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
	srv_own_folder *dir = srv_folder_open(live->fd, ".");
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
	return count;
}
