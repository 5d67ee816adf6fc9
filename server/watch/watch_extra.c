#include "watch_internal.h"
#include "../../core/base/array.h"
#include "../../core/base/text_order.h"
#include "../fs/spelling.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Used files that no scan lists, and links. The `ways` of a file are the paths to watch for it: each link on
 * the way, each folder that a ".." on the way leaves, and finally the file itself, or the longest part of
 * its path that exists. Only the last component of a way may be a link. Folders of ways outside the tree get
 * their own watches. */

enum { LINKS_MAX = 40 };

static bool in_tree(const watch_root *root, hob_str path)
{
	hob_str name = hob_path_name(path);
	return !(name.len > 0 && name.data[0] == '.') && srv_dir_tree_find(&root->tree, hob_path_dir(path));
}

static hob_str path_of(const watch_extras *x, size_t file)
{
	return x->names.items[file].path;
}

static void put_way(hob_buf *ways, const char *place)
{
	hob_buf_put(ways, place, strlen(place) + 1);
}

/* The ways of a file, each ended by a NUL. */
static hob_buf find_ways(const watch_root *root, hob_str path)
{
	char place[PATH_MAX] = "", left[PATH_MAX], target[2 * PATH_MAX];
	size_t len = 0, links = 0;
	hob_buf ways = {0};
	memcpy(left, path.data, path.len + 1);
	for (const char *at = left, *next; *at; at = next) {
		size_t part = strcspn(at, "/"), before = len;
		next = at + part + (at[part] == '/');
		if (part == 0 || (part == 1 && at[0] == '.'))
			continue;
		if (part == 2 && memcmp(at, "..", 2) == 0) {
			if (len == 0)
				return ways; /* outside the root */
			put_way(&ways, place);
			len = hob_path_dir((hob_str){place, len}).len;
			place[len] = 0;
			continue;
		}
		if (len + part + 2 > sizeof place)
			return ways;
		if (len > 0)
			place[len++] = '/';
		memcpy(place + len, at, part);
		len += part;
		place[len] = 0;
		if (srv_dir_tree_find(&root->tree, (hob_str){place, len}))
			continue;
		ssize_t size = readlinkat(root->dir_fd, place, target, PATH_MAX);
		if (size < 0 && errno != EINVAL) { /* missing: nothing more to resolve */
			if (*next && !strstr(next, "..") && len + strlen(next) + 2 <= sizeof place)
				strcpy(stpcpy(place + len, "/"), next);
			break;
		}
		if (size < 0)
			continue;
		put_way(&ways, place);
		len = before;
		place[len] = 0;
		if (++links > LINKS_MAX || target[0] == '/' || (size_t)size + strlen(next) + 2 > sizeof left)
			return ways;
		target[size] = 0;
		strcpy(stpcpy(target + size, "/"), next);
		memcpy(left, target, strlen(target) + 1);
		next = left;
	}
	put_way(&ways, place);
	return ways;
}

/* ---- their folders */

static extra_folder *folder_by_wd(const watch_extras *x, int wd)
{
	for (size_t i = 0; i < x->folder_count; i++)
		if (x->folders[i].wd == wd)
			return &x->folders[i];
	return NULL;
}

static bool has_folder(const watch_extras *x, hob_str path)
{
	for (size_t i = 0; i < x->folder_count; i++)
		if (hob_str_equal(hob_str_of(x->folders[i].path), path))
			return true;
	return false;
}

/* Whether the folder is in the tree; one just moved out of it is dropped, as it soon loses its watch. */
static bool is_in_tree(watch_root *root, int wd)
{
	char path[PATH_MAX];
	size_t len;
	dir_node *node = srv_dir_tree_find_wd(&root->tree, wd);
	if (!node || srv_dir_tree_path(&root->tree, node, path, sizeof path, &len))
		return node;
	while (node->parent)
		node = node->parent;
	if (node->wd == root->moving_wd)
		root->moving_wd = 0;
	srv_dir_tree_remove(&root->tree, node, srv_watch_drop_folder, root);
	return false;
}

static bool watch_folder(watch_root *root, const char *path)
{
	watch_extras *x = &root->extras;
	int fd = srv_open_beneath(root->dir_fd, path, O_RDONLY | O_DIRECTORY, false);
	if (fd < 0)
		return false;
	int wd = srv_watch_add_raw(root, fd, false, hob_str_of(path));
	bool moved = wd >= 0 && srv_dir_tree_find_wd(&root->tree, wd) && !is_in_tree(root, wd);
	if (moved)
		wd = srv_watch_add_raw(root, fd, false, hob_str_of(path));
	close(fd);
	if (wd < 0 && root->limit[0])
		srv_watch_root_doubt(root, 0, root->limit);
	if (wd < 0 || srv_dir_tree_find_wd(&root->tree, wd))
		return wd >= 0;
	extra_folder *known = folder_by_wd(x, wd);
	if (known) { /* renamed */
		free(known->path);
		known->path = hob_must(strdup(path));
		return true;
	}
	x->folders = hob_must(realloc(x->folders, (x->folder_count + 1) * sizeof *x->folders));
	x->folders[x->folder_count++] = (extra_folder){wd, hob_must(strdup(path))};
	return true;
}

/* Watches the folders of a way that are outside the tree. True: one is watched from now on. */
static bool watch_way(watch_root *root, const char *path)
{
	char part[PATH_MAX];
	bool added = false;
	for (size_t i = 0; path[i] && root->inotify_fd >= 0; i++) {
		hob_str folder = {path, i};
		if (path[i] != '/' || srv_dir_tree_find(&root->tree, folder) || has_folder(&root->extras, folder))
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (!watch_folder(root, part))
			break; /* a link whose target is another way, or does not exist yet */
		added = true;
	}
	return added;
}

/* Drops `path` and all below it; all for "". */
static void drop_folders(watch_root *root, hob_str path)
{
	watch_extras *x = &root->extras;
	for (size_t i = x->folder_count; i-- > 0;) {
		extra_folder *folder = &x->folders[i];
		if (path.len > 0 && !(hob_str_starts(hob_str_of(folder->path), path) &&
							  (folder->path[path.len] == 0 || folder->path[path.len] == '/')))
			continue;
		if (root->inotify_fd >= 0 && !srv_dir_tree_find_wd(&root->tree, folder->wd))
			inotify_rm_watch(root->inotify_fd, folder->wd);
		free(folder->path);
		*folder = x->folders[--x->folder_count];
	}
}

/* Watches the `ways` of a file, and finds them again after each new folder: earlier changes gave no event. */
static void follow(watch_root *root, size_t file)
{
	watch_extras *x = &root->extras;
	hob_buf *known = &x->files[file].ways;
	bool added = true;
	for (int i = 0; added && i < 8; i++) {
		hob_own_buf ways = find_ways(root, path_of(x, file));
		if (ways.failed)
			abort();
		bool same = ways.size == known->size && memcmp(ways.data, known->data, ways.size) == 0;
		if (!same) {
			hob_buf old = *known;
			*known = ways;
			ways = old;
			x->sorted = false;
		}
		added = false;
		for (size_t at = 0; at < known->size; at += strlen((char *)known->data + at) + 1)
			added |= watch_way(root, (char *)known->data + at);
	}
}

void srv_watch_extra_forget(watch_root *root)
{
	drop_folders(root, (hob_str){0});
}

void srv_watch_extra_renew(watch_root *root)
{
	drop_folders(root, (hob_str){0});
	for (size_t i = 0; i < root->extras.names.used && root->dir_fd >= 0; i++)
		follow(root, i);
}

/* ---- lookup */

static int by_place(const void *a, const void *b)
{
	return strcmp(((const extra_way *)a)->place, ((const extra_way *)b)->place);
}

static void sort(watch_extras *x)
{
	if (x->sorted)
		return;
	x->way_count = 0;
	for (uint32_t i = 0; i < x->names.used; i++) {
		const hob_buf *ways = &x->files[i].ways;
		for (size_t at = 0; at < ways->size; at += strlen((char *)ways->data + at) + 1) {
			if (!HOB_ROOM(x->ways, x->way_room, x->way_count))
				abort();
			x->ways[x->way_count++] = (extra_way){(char *)ways->data + at, i};
		}
	}
	if (x->way_count > 1)
		qsort(x->ways, x->way_count, sizeof *x->ways, by_place);
	x->sorted = true;
}

/* Every file with a way that is `path` or is below it. */
static void find_in(watch_extras *x, hob_str path)
{
	size_t low = 0, high = x->way_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (hob_str_compare(hob_str_of(x->ways[middle].place), path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < x->way_count && hob_str_starts(hob_str_of(x->ways[low].place), path); low++) {
		/* "a-b" is between "a" and "a/b". */
		char end = x->ways[low].place[path.len];
		if (end && end != '/')
			continue;
		if (!HOB_ROOM(x->found, x->found_room, x->found_count))
			abort();
		x->found[x->found_count++] = (extra_found){x->ways[low].file, end == '/'};
	}
}

static void find(watch_extras *x, hob_str path)
{
	char room[PATH_MAX];
	x->found_count = 0;
	if (x->names.used == 0 || path.len == 0)
		return;
	sort(x);
	hob_str asked = srv_spelling_of(path, room);
	if (asked.len > 0)
		find_in(x, asked);
	find_in(x, path);
}

/* ---- events */

bool srv_watch_extra_folder(watch_root *root, int wd, bool ignored, char *out, size_t room, size_t *len)
{
	extra_folder *folder = folder_by_wd(&root->extras, wd);
	if (!folder || (*len = strlen(folder->path)) >= room)
		return false;
	memcpy(out, folder->path, *len + 1);
	if (!ignored)
		return true;
	/* The kernel has dropped the watch. */
	free(folder->path);
	*folder = root->extras.folders[--root->extras.folder_count];
	return false;
}

uint32_t srv_watch_extra_event(watch_root *root, hob_str path, uint32_t mask)
{
	watch_extras *x = &root->extras;
	if (mask & IN_ISDIR && mask & (IN_MOVED_FROM | IN_DELETE | IN_MOVED_TO))
		drop_folders(root, path);
	find(x, path);
	for (uint32_t i = 0; i < x->found_count; i++)
		follow(root, x->found[i].file);
	return x->found_count;
}

void srv_watch_extra_expand(watch_root *root, path_set *batch)
{
	watch_extras *x = &root->extras;
	size_t named = x->names.used > 0 ? batch->used : 0;
	for (size_t i = 0; i < named; i++) {
		char copy[PATH_MAX];
		hob_str path = batch->items[i].path;
		if (!path.data || path.len == 0 || path.len >= sizeof copy)
			continue;
		memcpy(copy, path.data, path.len);
		bool folder = copy[path.len - 1] == '/';
		path = (hob_str){copy, path.len - folder};
		if (folder)
			drop_folders(root, path);
		find(x, path);
		for (uint32_t k = 0; k < x->found_count; k++) {
			follow(root, x->found[k].file);
			srv_path_set_put(batch, path_of(x, x->found[k].file));
		}
	}
}

/* ---- the list */

bool srv_watch_extra_add(watch_root *root, hob_str path)
{
	watch_extras *x = &root->extras;
	char name[PATH_MAX], own[1];
	if (root->dir_fd < 0 || path.len == 0 || path.len >= sizeof name || memchr(path.data, 0, path.len))
		return false;
	memcpy(name, path.data, path.len);
	name[path.len] = 0;
	bool polls = root->inotify_fd < 0;
	if (!polls && in_tree(root, path) && readlinkat(root->dir_fd, name, own, sizeof own) < 0 &&
		errno == EINVAL)
		return false;
	const path_item *item = srv_path_set_find(&x->names, path);
	uint32_t file = (uint32_t)(item ? item - x->names.items : (ptrdiff_t)x->names.used);
	if (item && !polls)
		return false;
	if (!item) {
		if (!HOB_ROOM(x->files, x->room, file))
			abort();
		srv_path_set_put(&x->names, path);
		x->files[file] = (extra_file){0};
		follow(root, file);
	}
	/* Polling must compare with the state that the caller knows, which may differ from that of the last
	 * round. */
	x->files[file].seen = (srv_stat){0};
	srv_stat_path(root->dir_fd, path, &x->files[file].seen);
	return true;
}

void srv_watch_extra_learn(watch_root *root, hob_str path)
{
	char own[1];
	if (readlinkat(root->dir_fd, path.data, own, sizeof own) >= 0)
		srv_watch_extra_add(root, path);
}

void srv_watch_extra_release(watch_root *root)
{
	watch_extras *x = &root->extras;
	drop_folders(root, (hob_str){0});
	for (size_t i = 0; i < x->names.used; i++)
		hob_buf_release(&x->files[i].ways);
	srv_path_set_release(&x->names);
	free(x->files);
	free(x->folders);
	free(x->ways);
	free(x->found);
	*x = (watch_extras){0};
}

bool srv_watch_add_file(srv_watch *watch, uint32_t index, hob_str path)
{
	watch_root *root = srv_watch_lock_root(watch, index);
	bool added = root && srv_watch_extra_add(root, path);
	if (root)
		pthread_mutex_unlock(&root->lock);
	return added;
}
