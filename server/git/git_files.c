#include "git_files.h"

#include "../../core/base/array.h"
#include "../fs/beneath.h"
#include "../fs/folder.h"
#include "../fs/remove_tree.h"
#include "../fs/transfer.h"
#include "../fs/vcs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 23, DEPTH_MAX = 80 };
static const char link_name[] = "incoming/link";

/* ---- changes */

bool srv_git_changes_read(srv_git_changes *changes, const hob_buf *answer, hob_error *err)
{
	uint32_t count = 0;
	*changes = (srv_git_changes){.count = 0};
	hob_arena_init(&changes->arena, (size_t)1 << 30);
	for (size_t at = 0; at < answer->size; count++) {
		size_t left = answer->size - at;
		size_t size = left >= HEAD_BYTES ? HEAD_BYTES + hob_load_u16(answer->data + at + 21) : 0;
		if (size == 0 || size > left)
			return hob_fail(err, CORRUPT, "hob-git sent a list that ends early");
		at += size;
	}
	changes->items = HOB_NEW(&changes->arena, srv_git_change, count);
	for (size_t at = 0; changes->items && changes->count < count;) {
		const uint8_t *record = answer->data + at;
		srv_git_change *c = &changes->items[changes->count++];
		c->letter = (char)record[0];
		memcpy(c->id.bytes, record + 1, sizeof c->id.bytes);
		hob_str path = {(const char *)record + HEAD_BYTES, hob_load_u16(record + 21)};
		c->path = hob_arena_str(&changes->arena, path);
		at += HEAD_BYTES + path.len;
		if (!c->path.data)
			return hob_fail(err, MEMORY, "no memory left for the files of a commit");
	}
	return changes->items || hob_fail(err, MEMORY, "no memory left for the files of a commit");
}

void srv_git_changes_release(srv_git_changes *changes)
{
	hob_arena_release(&changes->arena);
	*changes = (srv_git_changes){.count = 0};
}

/* ---- the folder */

/* Walks all objects: drops those that no folder uses. */
static void sweep(int objects)
{
	for (int high = 0; high < 256; high++) {
		char name[4];
		snprintf(name, sizeof name, "%02x", high);
		DIR *folder = srv_folder_open(objects, name);
		const struct dirent *item;
		struct stat info;
		while ((item = srv_folder_next(folder)))
			if (fstatat(dirfd(folder), item->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
				S_ISREG(info.st_mode) && info.st_nlink == 1)
				unlinkat(dirfd(folder), item->d_name, 0);
		srv_folder_close(folder);
	}
}

static void remove_below(const srv_git_files *files, const char *name)
{
	char *path = NULL;
	if (asprintf(&path, "%s/%s", files->path, name) >= 0)
		srv_remove_tree(path);
	free(path);
}

int srv_git_files_folder(const srv_git_files *files, const char *name)
{
	if (mkdirat(files->fd, name, 0700) != 0 && errno != EEXIST)
		return -1;
	return openat(files->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool srv_git_files_open(srv_git_files *files, const char *cache, hob_error *err)
{
	*files = (srv_git_files){.fd = -1};
	if (asprintf(&files->path, "%s/sources", cache) < 0)
		return hob_fail(err, MEMORY, "no memory left for the sources");
	if (mkdir(files->path, 0700) == 0 || errno == EEXIST)
		files->fd = open(files->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	remove_below(files, "incoming");
	int incoming = files->fd < 0 ? -1 : srv_git_files_folder(files, "incoming");
	int objects = incoming < 0 ? -1 : srv_git_files_folder(files, "objects");
	if (objects < 0)
		return hob_fail(err, IO, "the folder '%s' cannot be made: %s", files->path, strerror(errno));
	sweep(objects);
	close(objects);
	close(incoming);
	return true;
}

void srv_git_files_close(srv_git_files *files)
{
	if (files->fd > 0)
		close(files->fd);
	free(files->path);
	*files = (srv_git_files){.fd = -1};
}

/* ---- objects */

void srv_git_object_name(const srv_git_id *id, bool pointer, char out[SRV_GIT_OBJECT_NAME])
{
	srv_git_hex text = srv_git_id_text(id);
	snprintf(out, SRV_GIT_OBJECT_NAME, "objects/%.2s/%s%s", text.text, text.text + 2,
			 pointer ? ".pointer" : "");
}

static bool is_held(const srv_git_files *files, const srv_git_id *id)
{
	char name[SRV_GIT_OBJECT_NAME];
	struct stat info;
	srv_git_object_name(id, false, name);
	return fstatat(files->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
}

void srv_git_files_peek(const srv_git_files *files, const srv_git_id *id, bool pointer, size_t most,
						hob_buf *out)
{
	char name[SRV_GIT_OBJECT_NAME];
	struct stat info;
	srv_git_object_name(id, pointer, name);
	int fd = openat(files->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	size_t size =
		fd >= 0 && fstat(fd, &info) == 0 && (uint64_t)info.st_size < most ? (size_t)info.st_size : 0;
	uint8_t *data = size > 0 ? hob_buf_grow(out, size) : NULL;
	if (data && !srv_read_all(fd, data, size))
		out->size -= size;
	srv_close(fd);
}

static bool fail_disk(const srv_git_files *files, hob_error *err)
{
	return errno == ENOSPC || errno == EDQUOT
			   ? hob_fail(err, DISK_FULL, "no disk space is left in '%s'", files->path)
			   : hob_fail(err, IO, "'%s' cannot be written: %s", files->path, strerror(errno));
}

/* Writes a file to incoming/ID. */
static bool fetch(const srv_git_files *files, srv_git_reader *reader, srv_git_change *c, hob_arena *arena,
				  hob_error *err)
{
	char name[SRV_GIT_OBJECT_NAME];
	snprintf(name, sizeof name, "incoming/%s", srv_git_id_text(&c->id).text);
	int fd = openat(files->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return errno == EEXIST || fail_disk(files, err); /* it came with another path */
	bool ok = srv_git_fetch(reader, &c->id, fd, &c->pointer, err);
	close(fd);
	if (ok)
		return true;
	unlinkat(files->fd, name, 0);
	if (err->code == HOB_ERR_DISK_FULL || atomic_load(reader->stop))
		return false;
	c->fault = hob_arena_str(arena, hob_str_of(err->context)).data;
	return true;
}

/* Gives a file that was fetched its name. */
static bool name_object(const srv_git_files *files, const srv_git_change *c, hob_error *err)
{
	char name[SRV_GIT_OBJECT_NAME], incoming[SRV_GIT_OBJECT_NAME], folder[16];
	srv_git_hex text = srv_git_id_text(&c->id);
	snprintf(incoming, sizeof incoming, "incoming/%s", text.text);
	snprintf(folder, sizeof folder, "objects/%.2s", text.text);
	srv_git_object_name(&c->id, c->pointer, name);
	if (mkdirat(files->fd, folder, 0700) != 0 && errno != EEXIST)
		return fail_disk(files, err);
	return renameat(files->fd, incoming, files->fd, name) == 0 || errno == ENOENT || fail_disk(files, err);
}

bool srv_git_files_hold(const srv_git_files *files, srv_git_reader *reader, srv_git_changes *changes,
						hob_error *err)
{
	bool ok = true, any = false;
	for (uint32_t i = 0; ok && i < changes->count; i++) {
		srv_git_change *c = &changes->items[i];
		if (c->letter != 'P' || is_held(files, &c->id))
			continue;
		any = true;
		ok = fetch(files, reader, c, &changes->arena, err);
	}
	if (any && ok && syncfs(files->fd) != 0)
		ok = fail_disk(files, err);
	for (uint32_t i = 0; ok && any && i < changes->count; i++) {
		srv_git_change *c = &changes->items[i];
		if (c->letter != 'P' || c->fault || is_held(files, &c->id))
			continue;
		ok = name_object(files, c, err);
		c->pointer = !is_held(files, &c->id);
	}
	return ok;
}

/* ---- changes of a folder */

/* Removes a file, and the folders above it that are empty then. */
static void drop(int folder, hob_str path)
{
	for (bool is_file = true; path.len > 0; is_file = false) {
		char copy[SRV_GIT_PATH];
		const char *name;
		snprintf(copy, sizeof copy, "%.*s", HOB_FMT(path));
		int parent = srv_open_parent(folder, hob_str_of(copy), false, &name);
		bool gone = parent >= 0 && unlinkat(parent, name, is_file ? 0 : AT_REMOVEDIR) == 0;
		srv_close(parent);
		if (!gone && !is_file)
			return;
		path = hob_path_dir(path);
	}
}

static bool copy_object(const srv_git_files *files, const char *object)
{
	struct stat info;
	int from = openat(files->fd, object, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int to = openat(files->fd, link_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	bool ok = from >= 0 && to >= 0 && fstat(from, &info) == 0;
	ok = ok && srv_copy(from, to, (uint64_t)info.st_size) && fsync(to) == 0;
	srv_close(from);
	srv_close(to);
	return ok;
}

/* A tree can hold a file and a folder of one name, which git itself never writes: the later one gets a
 * fault. */
static bool put(const srv_git_files *files, int folder, srv_git_change *c, hob_error *err)
{
	char object[SRV_GIT_OBJECT_NAME];
	struct stat wanted, there;
	const char *name;
	srv_git_object_name(&c->id, c->pointer, object);
	int parent = srv_open_parent(folder, c->path, true, &name);
	bool ok = parent >= 0 && fstatat(files->fd, object, &wanted, AT_SYMLINK_NOFOLLOW) == 0;
	bool same = ok && fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
				there.st_ino == wanted.st_ino && there.st_dev == wanted.st_dev;
	if (ok && !same) {
		unlinkat(files->fd, link_name, 0);
		ok = linkat(files->fd, object, files->fd, link_name, 0) == 0 ||
			 ((errno == EMLINK || errno == EPERM || errno == EOPNOTSUPP) && copy_object(files, object));
		ok = ok && renameat(files->fd, link_name, parent, name) == 0;
	}
	if (!ok && (errno == ENOTDIR || errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST)) {
		c->fault = "is below a file, or has the name of a folder";
		ok = true;
	}
	ok = ok || (fail_disk(files, err) || hob_fail_in(err, "%s", c->path.data));
	srv_close(parent);
	return ok;
}

static int by_path(const void *a, const void *b)
{
	return strcmp((*(const srv_git_change *const *)a)->path.data,
				  (*(const srv_git_change *const *)b)->path.data);
}

/* Removes what `kept`, which is in order, does not name. */
static bool clear(int folder, hob_buf *path, const srv_git_change *const *kept, uint32_t count,
				  uint32_t depth)
{
	DIR *list = depth < DEPTH_MAX ? srv_folder_open(folder, ".") : NULL;
	const struct dirent *item;
	bool ok = list != NULL;
	while (ok && (item = srv_folder_next(list))) {
		struct stat info;
		size_t before = path->size;
		if (fstatat(folder, item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		hob_buf_printf(path, "%s%s", before > 0 ? "/" : "", item->d_name);
		hob_buf_put(path, "", 1);
		srv_git_change wanted = {.path = {(const char *)path->data, path->size - 1}};
		const srv_git_change *key = &wanted;
		path->size--;
		if (S_ISDIR(info.st_mode)) {
			int below = openat(folder, item->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			ok = below >= 0 && !path->failed && clear(below, path, kept, count, depth + 1);
			srv_close(below);
			unlinkat(folder, item->d_name, AT_REMOVEDIR);
		} else if (!bsearch(&key, kept, count, sizeof(const srv_git_change *), by_path)) {
			unlinkat(folder, item->d_name, 0);
		}
		path->size = before;
	}
	srv_folder_close(list);
	return ok;
}

static bool clear_others(const srv_git_files *files, int folder, const srv_git_changes *changes,
						 hob_error *err)
{
	const srv_git_change **kept = hob_must(calloc(changes->count + 1, sizeof(const srv_git_change *)));
	uint32_t count = 0;
	hob_buf path = {0};
	for (uint32_t i = 0; i < changes->count; i++)
		if (changes->items[i].letter == 'P' && !changes->items[i].fault)
			kept[count++] = &changes->items[i];
	qsort(kept, count, sizeof(const srv_git_change *), by_path);
	bool ok = clear(folder, &path, kept, count, 0);
	free(kept);
	hob_buf_release(&path);
	return ok || fail_disk(files, err);
}

bool srv_git_files_apply(const srv_git_files *files, int folder, srv_git_changes *changes, bool whole,
						 hob_error *err)
{
	if (whole && !clear_others(files, folder, changes, err))
		return false;
	srv_close(openat(folder, SRV_VCS_CHANGING, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
	for (uint32_t i = 0; i < changes->count && !whole; i++)
		if (changes->items[i].letter != 'P' || changes->items[i].fault)
			drop(folder, changes->items[i].path);
	bool ok = true;
	for (uint32_t i = 0; i < changes->count && ok; i++)
		ok = changes->items[i].letter != 'P' || changes->items[i].fault ||
			 put(files, folder, &changes->items[i], err);
	unlinkat(folder, SRV_VCS_CHANGING, 0);
	return ok;
}

bool srv_git_files_make(const srv_git_files *files, const char *parent, const char *id,
						srv_git_changes *changes, hob_error *err)
{
	char to[512];
	int commits = srv_git_files_folder(files, parent);
	int folder = srv_git_files_folder(files, "incoming/commit");
	snprintf(to, sizeof to, "%.400s/%.64s", parent, id);
	bool ok = (commits >= 0 && folder >= 0) || fail_disk(files, err);
	ok = ok && srv_git_files_apply(files, folder, changes, true, err);
	ok = ok && (renameat(files->fd, "incoming/commit", files->fd, to) == 0 || fail_disk(files, err));
	srv_close(commits);
	srv_close(folder);
	if (!ok)
		remove_below(files, "incoming/commit");
	return ok;
}

void srv_git_files_remove(const srv_git_files *files, const char *parent, const char *id)
{
	char from[512];
	snprintf(from, sizeof from, "%.400s/%.64s", parent, id);
	remove_below(files, "incoming/old");
	if (renameat(files->fd, from, files->fd, "incoming/old") == 0)
		remove_below(files, "incoming/old");
}
