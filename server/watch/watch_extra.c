#include "watch_internal.h"
#include "../../core/base/array.h"
#include "../fs/spelling.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Files in use that no scan lists: in hidden or ignored folders, and below links to folders. `real` is where
 * the links of `path` lead. Folders on either way that are not in the tree get their own watches. */

enum { BUFFER_ROOM = PATH_MAX };

static bool in_tree(const watch_root *root, hob_str path)
{
	hob_str name = hob_path_name(path);
	return !(name.len > 0 && name.data[0] == '.') && srv_dir_tree_find(&root->tree, hob_path_dir(path));
}

static void resolve(const watch_root *root, const char *path, char out[BUFFER_ROOM])
{
	char part[BUFFER_ROOM];
	size_t len = strlen(path), rest;
	memcpy(part, path, len + 1);
	for (size_t end = len; end > 0; part[end] = 0) {
		if (srv_watch_link_target(root->dir_fd, part, out, BUFFER_ROOM) &&
			(rest = strlen(out)) + len - end < BUFFER_ROOM) {
			memcpy(out + rest, path + end, len - end + 1);
			return;
		}
		while (end > 0 && part[end - 1] != '/')
			end--;
		end -= end > 0;
	}
	memcpy(out, path, len + 1);
}

/* ---- their folders */

static const extra_folder *folder_by_wd(const watch_extras *x, int wd)
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

static bool watch_folder(watch_root *root, const char *path)
{
	watch_extras *x = &root->extras;
	int fd = srv_open_beneath(root->dir_fd, path, O_RDONLY | O_DIRECTORY, false);
	if (fd < 0)
		return false;
	int wd = srv_watch_add_raw(root, fd, false, hob_str_of(path));
	close(fd);
	if (wd < 0 && root->limit[0])
		srv_watch_root_doubt(root, 0, root->limit);
	if (wd < 0 || srv_dir_tree_find_wd(&root->tree, wd) || folder_by_wd(x, wd))
		return wd >= 0;
	x->folders = hob_must(realloc(x->folders, (x->folder_count + 1) * sizeof *x->folders));
	x->folders[x->folder_count++] = (extra_folder){wd, hob_must(strdup(path))};
	return true;
}

static void watch_way(watch_root *root, const char *path)
{
	char part[BUFFER_ROOM];
	for (size_t i = 0; path[i] && root->inotify_fd >= 0; i++) {
		hob_str folder = {path, i};
		if (path[i] != '/' || srv_dir_tree_find(&root->tree, folder) || has_folder(&root->extras, folder))
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (!watch_folder(root, part))
			return; /* a link, whose target is the real way, or does not exist yet */
	}
}

static void drop_folders(watch_root *root)
{
	watch_extras *x = &root->extras;
	for (size_t i = 0; i < x->folder_count; i++) {
		if (root->inotify_fd >= 0)
			inotify_rm_watch(root->inotify_fd, x->folders[i].wd);
		free(x->folders[i].path);
	}
	x->folder_count = 0;
}

static void follow(watch_root *root, extra_file *file)
{
	char real[BUFFER_ROOM];
	resolve(root, file->path, real);
	if (strcmp(real, file->real) != 0) {
		free(file->real);
		file->real = hob_must(strdup(real));
		root->extras.sorted = false;
	}
	watch_way(root, file->path);
	watch_way(root, real);
}

void srv_watch_extra_forget(watch_root *root)
{
	drop_folders(root);
}

void srv_watch_extra_renew(watch_root *root)
{
	watch_extras *x = &root->extras;
	drop_folders(root);
	for (size_t i = 0; i < x->count && root->dir_fd >= 0; i++)
		follow(root, &x->files[i]);
}

/* ---- finding them */

static int by_real(const void *a, const void *b, void *files)
{
	const extra_file *all = files;
	return strcmp(all[*(const uint32_t *)a].real, all[*(const uint32_t *)b].real);
}

static int by_path(const void *a, const void *b, void *files)
{
	const extra_file *all = files;
	return strcmp(all[*(const uint32_t *)a].path, all[*(const uint32_t *)b].path);
}

static void sort(watch_extras *x)
{
	if (x->sorted)
		return;
	x->by_real = hob_must(realloc(x->by_real, (x->count + 1) * sizeof *x->by_real));
	x->by_path = hob_must(realloc(x->by_path, (x->count + 1) * sizeof *x->by_path));
	for (uint32_t i = 0; i < x->count; i++)
		x->by_real[i] = x->by_path[i] = i;
	qsort_r(x->by_real, x->count, sizeof *x->by_real, by_real, x->files);
	qsort_r(x->by_path, x->count, sizeof *x->by_path, by_path, x->files);
	x->sorted = true;
}

typedef void found_extra(void *user, extra_file *file, bool below);

/* Every file whose name (real or not) is `path` or is below it. */
static size_t find_in(const watch_extras *x, bool real, hob_str path, found_extra *each, void *user)
{
	const uint32_t *order = real ? x->by_real : x->by_path;
	size_t low = 0, high = x->count, found = 0;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const extra_file *file = &x->files[order[middle]];
		if (srv_watch_compare_paths(hob_str_of(real ? file->real : file->path), path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < x->count; low++) {
		extra_file *file = &x->files[order[low]];
		hob_str name = hob_str_of(real ? file->real : file->path);
		if (!hob_str_starts(name, path))
			break;
		/* "a-b" is between "a" and "a/b". */
		if (name.len > path.len && name.data[path.len] != '/')
			continue;
		found++;
		each(user, file, name.len > path.len);
	}
	return found;
}

static size_t find_all(watch_extras *x, hob_str path, found_extra *each, void *user)
{
	if (x->count == 0 || path.len == 0)
		return 0;
	sort(x);
	char room[PATH_MAX];
	hob_str asked = srv_spelling_of(path, room);
	size_t found =
		asked.len > 0 ? find_in(x, true, asked, each, user) + find_in(x, false, asked, each, user) : 0;
	return found + find_in(x, true, path, each, user) + find_in(x, false, path, each, user);
}

/* ---- events */

typedef struct extra_event {
	watch_root *root;
	path_set *batch; /* NULL: settle */
	uint32_t mask;
	int64_t now;
	bool below;
} extra_event;

static void on_found(void *user, extra_file *file, bool below)
{
	extra_event *e = user;
	if (!below)
		follow(e->root, file); /* it may be a link that now leads elsewhere */
	hob_str path = hob_str_of(file->path);
	e->below = e->below || below;
	if (e->batch)
		srv_path_set_put(e->batch, path);
	else if (below || e->mask & (IN_MOVED_FROM | IN_DELETE))
		srv_settle_gone(e->root, path, 0, e->now);
	else if (e->mask & IN_CREATE && !srv_spelling_is(path))
		srv_settle_created(e->root, path, e->now);
	else
		srv_settle_complete(e->root, path, 0, e->now);
}

/* Add watches first, then let the caller check: a change in between is reported twice instead of never. */
static void renew_when_below(const extra_event *e)
{
	if (e->below)
		srv_watch_extra_renew(e->root);
}

bool srv_watch_extra_folder(watch_root *root, int wd, bool ignored, char *out, size_t room, size_t *len)
{
	const extra_folder *folder = folder_by_wd(&root->extras, wd);
	if (!folder || (*len = strlen(folder->path)) >= room)
		return false;
	memcpy(out, folder->path, *len + 1);
	if (!ignored)
		return true;
	/* The kernel has dropped the watch. */
	extra_folder *mine = &root->extras.folders[folder - root->extras.folders];
	free(mine->path);
	*mine = root->extras.folders[--root->extras.folder_count];
	return false;
}

void srv_watch_extra_event(watch_root *root, hob_str path, uint32_t mask, int64_t now)
{
	extra_event e = {.root = root, .mask = mask, .now = now};
	find_all(&root->extras, path, on_found, &e);
	renew_when_below(&e);
}

void srv_watch_extra_expand(watch_root *root, path_set *batch)
{
	extra_event e = {.root = root, .batch = batch};
	size_t named = root->extras.count > 0 ? batch->used : 0;
	for (size_t i = 0; i < named; i++) {
		char copy[BUFFER_ROOM];
		hob_str path = batch->items[i].path;
		if (!path.data || path.len >= sizeof copy)
			continue;
		memcpy(copy, path.data, path.len);
		bool folder = path.len > 0 && copy[path.len - 1] == '/';
		find_all(&root->extras, (hob_str){copy, path.len - folder}, on_found, &e);
	}
	renew_when_below(&e);
}

/* ---- the list */

/* Polling compares with the state that its caller knows, who may have seen the file in another state than the
 * last round. */
static bool look_again(watch_root *root, hob_str path)
{
	watch_extras *x = &root->extras;
	for (size_t i = 0; i < x->count; i++)
		if (hob_str_equal(hob_str_of(x->files[i].path), path)) {
			x->files[i].seen = (srv_stat){0};
			srv_stat_path(root->dir_fd, path, &x->files[i].seen);
			return true;
		}
	return false;
}

bool srv_watch_extra_add(watch_root *root, hob_str path)
{
	watch_extras *x = &root->extras;
	char name[BUFFER_ROOM], real[BUFFER_ROOM], own[1];
	if (root->dir_fd < 0 || path.len == 0 || path.len >= sizeof name || memchr(path.data, 0, path.len))
		return false;
	memcpy(name, path.data, path.len);
	name[path.len] = 0;
	bool listed = in_tree(root, path), link = listed && readlinkat(root->dir_fd, name, own, sizeof own) >= 0;
	if (listed && !link && root->inotify_fd >= 0)
		return false;
	if (srv_path_set_find(&x->names, path))
		return root->inotify_fd < 0 && look_again(root, path);
	resolve(root, name, real);
	/* A link to a listed file is known as a link. */
	if (link && in_tree(root, hob_str_of(real)))
		return false;
	srv_path_set_put(&x->names, path);
	x->files = hob_must(realloc(x->files, (x->count + 1) * sizeof *x->files));
	x->files[x->count] = (extra_file){.path = hob_must(strdup(name)), .real = hob_must(strdup(real))};
	srv_stat_path(root->dir_fd, path, &x->files[x->count++].seen);
	x->sorted = false;
	watch_way(root, name);
	watch_way(root, real);
	return true;
}

void srv_watch_extra_release(watch_root *root)
{
	watch_extras *x = &root->extras;
	drop_folders(root);
	for (size_t i = 0; i < x->count; i++) {
		free(x->files[i].path);
		free(x->files[i].real);
	}
	srv_path_set_release(&x->names);
	free(x->files);
	free(x->folders);
	free(x->by_real);
	free(x->by_path);
	*x = (watch_extras){0};
}

bool srv_watch_add_file(srv_watch *watch, uint32_t index, hob_str path)
{
	for (uint32_t i = 0; i < watch->root_count; i++) {
		watch_root *root = watch->roots[i];
		if (root->index != index)
			continue;
		pthread_mutex_lock(&root->lock);
		bool added = srv_watch_extra_add(root, path);
		pthread_mutex_unlock(&root->lock);
		return added;
	}
	return false;
}
