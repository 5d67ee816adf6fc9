#include "apply.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../../core/base/text_order.h"
#include "../../core/hash/hex.h"
#include "../fs/beneath.h"
#include "../fs/fd.h"
#include "../fs/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { SYNC_EACH = 16 };

static bool fail_disk(hob_error *err, const srv_tree *tree, const char *what)
{
	int code = errno;
	if (code == ENOSPC || code == EDQUOT)
		return hob_fail(err, DISK_FULL, "the disk of the mirror root %s is full; nothing was changed",
						tree->path);
	return hob_fail(err, IO, "cannot %s in the mirror root %s: %s", what, tree->path, strerror(code));
}

/* ---- check of the list against the tree */

static int by_path(const void *a, const void *b)
{
	return hob_str_compare(*(const hob_str *)a, *(const hob_str *)b);
}

static bool names_each_path_once(const change_list *list, hob_error *err)
{
	hob_own hob_str *paths = hob_must(calloc((size_t)list->count * 2 + 1, sizeof *paths));
	size_t count = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		paths[count++] = list->items[i].path;
		if (list->items[i].kind == CHANGE_MOVE)
			paths[count++] = list->items[i].from;
	}
	qsort(paths, count, sizeof *paths, by_path);
	hob_str twice = {0};
	for (size_t i = 1; i < count; i++)
		if (hob_str_equal(paths[i - 1], paths[i]))
			twice = paths[i];
	return twice.len == 0 || hob_fail(err, BAD_REQUEST, "the list names '%.*s' twice", HOB_FMT(twice));
}

static void note(hob_buf *notes, hob_str path, const char *verb, const srv_tree *tree,
				 const tree_entry *other)
{
	const char *who = other->agent < tree->agent_count ? tree->agents[other->agent].who : "somebody else";
	hob_own_buf text = {0};
	hob_buf_printf(&text, "%s the version that %s saved at ", verb, who);
	hob_buf_put_time(&text, other->at_ms);
	hob_json_object(notes, HOB_JSON("path", path), HOB_JSON("by", who), HOB_JSON("text", hob_buf_str(&text)));
}

/* Decides the action of each change. False: the agent's copy of the tree is outdated. */
static bool weigh(srv_tree *tree, change_list *list, hob_buf *notes)
{
	for (uint32_t i = 0; i < list->count; i++) {
		change *c = &list->items[i];
		const tree_entry *entry = srv_tree_find(tree, c->kind == CHANGE_MOVE ? c->from : c->path);
		bool others = entry && entry->agent != list->agent;
		if (c->kind == CHANGE_PUT) {
			bool same = entry && hob_sha256_equal(&entry->digest, &c->digest);
			bool unseen = others && !same && !hob_sha256_equal(&entry->digest, &c->seen);
			c->skip = same || (unseen && entry->mtime_ms > c->mtime_ms);
			if (unseen)
				note(notes, c->path, c->skip ? "does not replace" : "replaces", tree, entry);
			continue;
		}
		bool same = entry && hob_sha256_equal(&entry->digest, &c->digest);
		c->skip = !same && (others || c->kind == CHANGE_DELETE);
		if (!same && others)
			note(notes, c->path, "keeps", tree, entry);
		if (!same && !c->skip)
			return false;
	}
	return true;
}

static bool goes_away(const change_list *list, hob_str path)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const change *c = &list->items[i];
		if (!c->skip && ((c->kind == CHANGE_DELETE && hob_str_equal(c->path, path)) ||
						 (c->kind == CHANGE_MOVE && hob_str_equal(c->from, path))))
			return true;
	}
	return false;
}

/* Paths that the list creates or replaces, in order. */
typedef struct arrivals {
	hob_str *paths;
	size_t count;
} arrivals;

/* Whether a folder is in the place of a file, or a file in the place of a folder. */
static bool is_blocked(const srv_tree *tree, const change_list *list, const arrivals *come, hob_str path)
{
	hob_own_buf below = {0};
	hob_buf_printf(&below, "%.*s/", HOB_FMT(path));
	bool blocked = false;
	for (uint32_t at = srv_tree_lower(tree, hob_buf_str(&below));
		 !blocked && at < tree->count && hob_str_starts(tree->entries[at]->path, hob_buf_str(&below)); at++)
		blocked = !goes_away(list, tree->entries[at]->path);
	for (size_t to = path.len; !blocked && to > 0; to--)
		if (path.data[to - 1] == '/') {
			hob_str above = hob_str_sub(path, 0, to - 1);
			blocked = bsearch(&above, come->paths, come->count, sizeof above, by_path) ||
					  (srv_tree_find(tree, above) && !goes_away(list, above));
		}
	return blocked;
}

static bool fits(const srv_tree *tree, const change_list *list, hob_error *err)
{
	arrivals come = {.paths = hob_must(calloc(list->count + 1, sizeof *come.paths))};
	bool ok = true;
	for (uint32_t i = 0; i < list->count; i++)
		if (!list->items[i].skip && list->items[i].kind != CHANGE_DELETE)
			come.paths[come.count++] = list->items[i].path;
	qsort(come.paths, come.count, sizeof *come.paths, by_path);
	for (size_t i = 0; ok && i < come.count; i++)
		if (!srv_tree_find(tree, come.paths[i]) && is_blocked(tree, list, &come, come.paths[i]))
			ok = hob_fail(err, BAD_REQUEST, "'%.*s' cannot be both a file and a folder",
						  HOB_FMT(come.paths[i]));
	free(come.paths);
	return ok;
}

/* ---- copies in the area */

static void area_name(char out[64], uint32_t index)
{
	snprintf(out, 64, SRV_MIRROR_AREA "/new-%u", index);
}

/* Copies a blob to the area. False: it is missing (*missing), or the disk failed. */
static bool copy_blob(const srv_tree *tree, srv_store *store, const change *c, bool sync, bool *missing)
{
	char name[64];
	uint64_t size;
	srv_own_fd from = srv_blob_open(store, &c->digest, &size);
	*missing = from < 0;
	if (from < 0)
		return false;
	area_name(name, c->copy);
	unlinkat(tree->fd, name, 0);
	srv_own_fd to = openat(tree->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	struct timespec time = {c->mtime_ms / 1000, c->mtime_ms % 1000 * 1000000};
	return to >= 0 && srv_copy(from, to, size) && (!sync || fdatasync(to) == 0) &&
		   futimens(to, (struct timespec[2]){time, time}) == 0;
}

static bool copy_blobs(const srv_tree *tree, srv_store *store, const change_list *list, hob_buf *missing,
					   hob_error *err)
{
	uint32_t puts = 0;
	for (uint32_t i = 0; i < list->count; i++)
		puts += !list->items[i].skip && list->items[i].kind == CHANGE_PUT;
	for (uint32_t i = 0; i < list->count; i++) {
		const change *c = &list->items[i];
		bool is_missing = false;
		if (c->skip || c->kind != CHANGE_PUT)
			continue;
		if (copy_blob(tree, store, c, puts <= SYNC_EACH, &is_missing))
			continue;
		if (!is_missing)
			return fail_disk(err, tree, "write a file");
		hob_json_digest(missing, &c->digest);
	}
	return puts <= SYNC_EACH || syncfs(tree->fd) == 0 || fail_disk(err, tree, "write files");
}

static void drop_copies(const srv_tree *tree, uint32_t count)
{
	char name[64];
	for (uint32_t i = 0; i < count; i++) {
		area_name(name, i);
		unlinkat(tree->fd, name, 0);
	}
}

/* ---- the list on the disk */

static bool write_list(const srv_tree *tree, const change_list *list, hob_error *err)
{
	hob_own_buf text = {0};
	hob_buf_printf(&text, "by\t%u\t%" PRId64 "\n", list->agent, list->at_ms);
	for (uint32_t i = 0; i < list->count; i++) {
		const change *c = &list->items[i];
		if (c->skip)
			continue;
		hob_buf_printf(&text, "%d\t%u\t%s\t%" PRId64 "\t%.*s\t%.*s\n", (int)c->kind, c->copy,
					   hob_sha256_hex(&c->digest).text, c->mtime_ms, HOB_FMT(c->path), HOB_FMT(c->from));
	}
	hob_buf_put_str(&text, HOB_STR("end\n"));
	srv_own_fd fd = openat(tree->fd, SRV_MIRROR_AREA "/list.new",
						   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool ok = fd >= 0 && !text.failed && srv_write_all(fd, text.data, text.size) && fdatasync(fd) == 0 &&
			  renameat(tree->fd, SRV_MIRROR_AREA "/list.new", tree->fd, SRV_MIRROR_AREA "/list") == 0;
	if (!ok)
		ok = fail_disk(err, tree, "write the list");
	return ok;
}

/* ---- placing */

static void remove_empty(int root_fd, hob_str path)
{
	for (size_t to = path.len; to > 0; to--) {
		const char *name;
		if (path.data[to - 1] != '/')
			continue;
		hob_str folder = hob_str_sub(path, 0, to - 1);
		int parent = srv_open_parent(root_fd, folder, false, &name);
		char last[256];
		snprintf(last, sizeof last, "%.*s", (int)(folder.data + folder.len - name), name);
		bool removed = parent >= 0 && unlinkat(parent, last, AT_REMOVEDIR) == 0;
		srv_close(parent);
		if (!removed)
			return;
	}
}

/* Places a file. `from` is below the root; if it no longer exists, an earlier attempt has moved it. */
static bool rename_to(const srv_tree *tree, const char *from, hob_str path)
{
	const char *name, *old;
	int source = srv_open_parent(tree->fd, hob_str_of(from), false, &old);
	if (source < 0)
		return errno == ENOENT;
	int parent = srv_open_parent(tree->fd, path, true, &name);
	bool ok = parent >= 0 && (renameat(source, old, parent, name) == 0 || errno == ENOENT);
	/* An empty folder of the same name is invisible to agents, so it is removed. */
	if (!ok && parent >= 0 && errno == EISDIR && unlinkat(parent, name, AT_REMOVEDIR) == 0)
		ok = renameat(source, old, parent, name) == 0;
	int code = errno;
	close(source);
	srv_close(parent);
	errno = code;
	return ok;
}

static bool place_one(const srv_tree *tree, const change *c)
{
	char copy[64];
	const char *name;
	area_name(copy, c->copy);
	if (c->kind == CHANGE_PUT)
		return rename_to(tree, copy, c->path);
	if (c->kind == CHANGE_MOVE)
		return rename_to(tree, c->from.data, c->path);
	srv_own_fd parent = srv_open_parent(tree->fd, c->path, false, &name);
	return parent < 0 ? errno == ENOENT : unlinkat(parent, name, 0) == 0 || errno == ENOENT;
}

static bool place(srv_tree *tree, const change_list *list, hob_error *err)
{
	/* Deletions first: a file may make room for a folder. A move may need the place of a later one. */
	static const change_kind order[] = {CHANGE_DELETE, CHANGE_MOVE, CHANGE_MOVE, CHANGE_PUT};
	for (size_t step = 0; step < HOB_COUNT_OF(order); step++)
		for (uint32_t i = 0; i < list->count; i++) {
			const change *c = &list->items[i];
			if (c->skip || c->kind != order[step])
				continue;
			bool placed = place_one(tree, c);
			if (!placed && step != 1)
				return fail_disk(err, tree, "place a file");
			if (placed && c->kind != CHANGE_PUT)
				remove_empty(tree->fd, c->kind == CHANGE_MOVE ? c->from : c->path);
		}
	for (uint32_t i = 0; i < list->count; i++) {
		const change *c = &list->items[i];
		tree_entry entry = {.path = c->path, .digest = c->digest, .mtime_ms = c->mtime_ms};
		if (c->skip)
			continue;
		const tree_entry *old = c->kind == CHANGE_MOVE ? srv_tree_find(tree, c->from) : NULL;
		if (old)
			entry.mtime_ms = old->mtime_ms;
		entry.agent = list->agent;
		entry.at_ms = list->at_ms;
		if (c->kind != CHANGE_PUT)
			srv_tree_drop(tree, c->kind == CHANGE_MOVE ? c->from : c->path);
		if (c->kind != CHANGE_DELETE)
			(void)!srv_tree_put(tree, &entry);
	}
	if (fflush(tree->log) != 0 || (unlinkat(tree->fd, SRV_MIRROR_AREA "/list", 0) != 0 && errno != ENOENT))
		return fail_disk(err, tree, "finish the list");
	return true;
}

bool srv_apply(srv_tree *tree, srv_store *store, change_list *list, hob_buf *missing, hob_buf *notes,
			   bool *conflict, hob_error *err)
{
	*conflict = false;
	if (!srv_apply_pending(tree, err) || !names_each_path_once(list, err))
		return false;
	*conflict = true;
	if (!weigh(tree, list, notes))
		return hob_fail(err, BAD_REQUEST, "the list does not fit the files of the root");
	if (!fits(tree, list, err))
		return false;
	*conflict = false;
	size_t before = missing->size;
	bool ok = copy_blobs(tree, store, list, missing, err);
	if (ok && missing->size == before)
		ok = write_list(tree, list, err) && place(tree, list, err);
	else
		drop_copies(tree, list->count);
	return ok;
}

/* ---- after a kill */

static hob_str field(hob_str *line, char mark)
{
	size_t end = 0;
	while (end < line->len && line->data[end] != mark)
		end++;
	hob_str out = hob_str_sub(*line, 0, end);
	*line = hob_str_sub(*line, end + 1, line->len);
	((char *)(uintptr_t)out.data)[out.len] = 0;
	return out;
}

static bool read_list(hob_str text, change_list *list)
{
	hob_str line = field(&text, '\n');
	field(&line, '\t');
	list->agent = (uint32_t)strtoul(field(&line, '\t').data, NULL, 10);
	list->at_ms = strtoll(line.data, NULL, 10);
	while (text.len > 0) {
		line = field(&text, '\n');
		if (hob_str_equal(line, HOB_STR("end")))
			return true;
		change *c = &list->items[list->count++];
		c->kind = (change_kind)strtoul(field(&line, '\t').data, NULL, 10);
		c->copy = (uint32_t)strtoul(field(&line, '\t').data, NULL, 10);
		bool good = hob_sha256_parse(field(&line, '\t'), &c->digest);
		c->mtime_ms = strtoll(field(&line, '\t').data, NULL, 10);
		c->path = field(&line, '\t');
		c->from = line;
		if (!good || c->kind > CHANGE_DELETE || c->path.len == 0)
			return false;
	}
	return false;
}

bool srv_apply_pending(srv_tree *tree, hob_error *err)
{
	int fd = openat(tree->fd, SRV_MIRROR_AREA "/list", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT || fail_disk(err, tree, "read the list");
	struct stat info;
	bool ok = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < 1 << 28;
	size_t size = ok ? (size_t)info.st_size : 0, lines = 0;
	hob_own char *text = ok ? calloc(1, size + 2) : NULL;
	ok = text && srv_read_all(fd, text, size);
	for (size_t i = 0; ok && i < size; i++)
		lines += text[i] == '\n';
	close(fd);
	change_list list = {.items = calloc(lines + 1, sizeof(change))};
	if (!ok || !list.items)
		ok = fail_disk(err, tree, "read the list");
	else if (read_list((hob_str){text, size}, &list))
		ok = place(tree, &list, err);
	else
		ok = unlinkat(tree->fd, SRV_MIRROR_AREA "/list", 0) == 0 || fail_disk(err, tree, "drop a list");
	free(list.items);
	return ok;
}
