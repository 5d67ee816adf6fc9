#include "git_refs.h"

#include "../../../core/base/array.h"
#include "../../../core/base/pieces.h"
#include "../../../core/base/text_order.h"
#include "../../fs/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 16 << 20, CONFIG_MAX = 1 << 20, LINE_MAX_BYTES = 1024, DEPTH_MAX = 16 };

typedef struct ref {
	hob_str name;
	srv_git_id id;
	bool loose; /* wins over a packed one */
} ref;

typedef struct refs {
	hob_arena arena;
	ref *items;
	uint32_t count, capacity;
} refs;

/* Appends a regular file. False: there is none that can be read, or it is longer than `most`. */
static bool read_file(int folder, const char *name, size_t most, hob_buf *out)
{
	struct stat info;
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool ok = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size <= most;
	for (ssize_t got = 1; ok && got > 0;) {
		uint8_t piece[4096];
		got = read(fd, piece, sizeof piece);
		ok = got >= 0 && out->size + (size_t)got <= most;
		if (ok)
			hob_buf_put(out, piece, (size_t)got);
	}
	srv_close(fd);
	return ok && !out->failed;
}

static hob_str next_line(hob_str *rest)
{
	hob_str line = hob_str_next(rest, '\n');
	while (line.len > 0 && (uint8_t)line.data[line.len - 1] <= ' ')
		line.len--;
	return line;
}

/* The value of "key = value", if the line has this key. */
static bool has_key(hob_str line, hob_str key, hob_str *value)
{
	while (line.len > 0 && (uint8_t)line.data[0] <= ' ')
		line = hob_str_sub(line, 1, line.len);
	size_t equals = hob_str_find(line, HOB_STR("="), 0);
	hob_str name = hob_str_sub(line, 0, equals);
	while (name.len > 0 && name.data[name.len - 1] == ' ')
		name.len--;
	*value = equals == SIZE_MAX ? (hob_str){0} : hob_str_sub(line, equals + 1, line.len);
	while (value->len > 0 && value->data[0] == ' ')
		*value = hob_str_sub(*value, 1, value->len);
	return hob_str_equal_nocase(name, key);
}

bool srv_git_can_read(int git_fd, hob_error *err)
{
	hob_buf config = {0};
	struct stat info;
	bool ok = true;
	if (fstatat(git_fd, "reftable", &info, AT_SYMLINK_NOFOLLOW) == 0)
		ok = hob_fail(err, UNSUPPORTED, "its references are in a reftable, which Hob does not read");
	(void)!read_file(git_fd, "config", CONFIG_MAX, &config);
	for (hob_str rest = hob_buf_str(&config), value; ok && rest.len > 0;) {
		hob_str line = next_line(&rest);
		if (has_key(line, HOB_STR("objectformat"), &value) && !hob_str_equal_nocase(value, HOB_STR("sha1")))
			ok =
				hob_fail(err, UNSUPPORTED, "its objects are named by %.*s; Hob reads repositories with SHA-1",
						 HOB_FMT(hob_str_sub(value, 0, 20)));
		else if (has_key(line, HOB_STR("refstorage"), &value) &&
				 !hob_str_equal_nocase(value, HOB_STR("files")))
			ok = hob_fail(err, UNSUPPORTED, "its references are kept as '%.*s', which Hob does not read",
						  HOB_FMT(hob_str_sub(value, 0, 20)));
	}
	hob_buf_release(&config);
	return ok;
}

static bool is_plain(hob_str name)
{
	for (size_t i = 0; i < name.len; i++)
		if ((uint8_t)name.data[i] < 0x20 || name.data[i] == 0x7F)
			return false;
	return name.len > 0 && name.len <= LINE_MAX_BYTES;
}

static bool add(refs *all, hob_str name, const srv_git_id *id, bool loose, hob_error *err)
{
	if (!is_plain(name))
		return true;
	if (all->count == SRV_GIT_REFS_MAX)
		return hob_fail(err, LIMIT, "the repository has more than %d references", SRV_GIT_REFS_MAX);
	hob_str copy = hob_arena_str(&all->arena, name);
	if (!copy.data || !HOB_ROOM(all->items, all->capacity, all->count))
		return hob_fail(err, MEMORY, "no memory left for the references");
	all->items[all->count++] = (ref){copy, *id, loose};
	return true;
}

static bool add_packed(int git_fd, refs *all, hob_error *err)
{
	hob_buf text = {0};
	bool ok = true;
	(void)!read_file(git_fd, "packed-refs", FILE_MAX, &text);
	for (hob_str rest = hob_buf_str(&text); ok && rest.len > 0;) {
		hob_str line = next_line(&rest);
		srv_git_id id;
		if (line.len > SRV_GIT_ID_TEXT + 1 && line.data[SRV_GIT_ID_TEXT] == ' ' &&
			srv_git_id_parse(hob_str_sub(line, 0, SRV_GIT_ID_TEXT), &id))
			ok = add(all, hob_str_sub(line, SRV_GIT_ID_TEXT + 1, line.len), &id, false, err);
	}
	hob_buf_release(&text);
	return ok;
}

static bool add_loose(int parent, const char *name, hob_buf *path, uint32_t depth, refs *all, hob_error *err)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	bool ok = depth < DEPTH_MAX || hob_fail(err, LIMIT, "references are nested too deeply");
	const struct dirent *item;
	size_t before = path->size;
	if (!folder) {
		srv_close(fd);
		return ok;
	}
	hob_buf_printf(path, "%s/", name);
	size_t inside = path->size;
	while (ok && (item = readdir(folder))) {
		hob_buf text = {0};
		srv_git_id id;
		if (item->d_name[0] == '.')
			continue;
		if (read_file(dirfd(folder), item->d_name, LINE_MAX_BYTES, &text)) {
			hob_str rest = hob_buf_str(&text);
			hob_buf_printf(path, "%s", item->d_name);
			if (srv_git_id_parse(next_line(&rest), &id))
				ok = add(all, hob_buf_str(path), &id, true, err);
			path->size = inside;
		} else {
			ok = add_loose(dirfd(folder), item->d_name, path, depth + 1, all, err);
		}
		hob_buf_release(&text);
	}
	closedir(folder);
	path->size = before;
	return ok;
}

static int by_name(const void *a, const void *b)
{
	const ref *x = a, *y = b;
	int order = hob_str_compare(x->name, y->name);
	return order ? order : y->loose - x->loose;
}

bool srv_git_refs(int git_fd, hob_buf *out, hob_error *err)
{
	refs all = {.count = 0};
	hob_buf path = {0}, head = {0};
	hob_arena_init(&all.arena, (size_t)256 << 20);
	bool ok = add_packed(git_fd, &all, err) && add_loose(git_fd, "refs", &path, 0, &all, err);
	if (ok && all.count > 0)
		qsort(all.items, all.count, sizeof *all.items, by_name);
	(void)!read_file(git_fd, "HEAD", LINE_MAX_BYTES, &head);
	hob_str rest = hob_buf_str(&head), line = next_line(&rest);
	if (hob_str_starts(line, HOB_STR("ref: ")))
		line = hob_str_sub(line, 5, line.len);
	if (is_plain(line))
		hob_buf_printf(out, "@ %.*s\n", HOB_FMT(line));
	for (uint32_t i = 0; ok && i < all.count; i++) {
		if (i > 0 && hob_str_equal(all.items[i].name, all.items[i - 1].name))
			continue;
		hob_buf_printf(out, "%s %.*s\n", srv_git_id_text(&all.items[i].id).text, HOB_FMT(all.items[i].name));
	}
	free(all.items);
	hob_arena_release(&all.arena);
	hob_buf_release(&path);
	hob_buf_release(&head);
	return (ok && !out->failed) || (ok && hob_fail(err, MEMORY, "no memory left for the references"));
}

hob_str srv_git_short_name(hob_str name)
{
	size_t from = hob_str_starts(name, HOB_STR("refs/heads/")) ? 11 : 10;
	return from == 11 || hob_str_starts(name, HOB_STR("refs/tags/")) ? hob_str_sub(name, from, name.len)
																	 : (hob_str){0};
}
