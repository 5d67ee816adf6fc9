#include "watch_internal.h"
#include "../fs/beneath.h"
#include "mounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS_MAX = 4 };

/* ---- one folder */

typedef struct kernel_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t kind;
	char name[];
} kernel_entry;

static unsigned char kind_of(int fd, const char *name)
{
	struct stat info;
	if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return DT_WHT;
	return (unsigned char)IFTODT(info.st_mode);
}

int watch_list_folder(int fd, uint8_t *buffer, folder_entry *each, void *user)
{
	for (;;) {
		long size = syscall(SYS_getdents64, fd, buffer, WATCH_LIST_BUFFER);
		if (size <= 0)
			return size < 0 ? errno : 0;
		for (long at = 0; at < size;) {
			const kernel_entry *entry = (const kernel_entry *)(const void *)(buffer + at);
			at += entry->size;
			if (entry->name[0] == '.')
				continue;
			unsigned char kind = entry->kind == DT_UNKNOWN ? kind_of(fd, entry->name) : entry->kind;
			if (!each(user, fd, entry->name, kind))
				return 0;
		}
	}
}

bool watch_link_target(int root_fd, const char *path, char *out, size_t room)
{
	char self[32], base[PATH_MAX], full[PATH_MAX];
	int fd = srv_open_beneath(root_fd, path, O_PATH, true);
	if (fd < 0)
		return false;
	snprintf(self, sizeof self, "/proc/self/fd/%d", root_fd);
	ssize_t base_len = readlink(self, base, sizeof base);
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	ssize_t full_len = readlink(self, full, sizeof full - 1);
	close(fd);
	if (base_len == 1)
		base_len = 0; /* the root is "/" */
	if (base_len < 0 || full_len <= base_len + 1 || memcmp(base, full, (size_t)base_len) != 0 ||
		full[base_len] != '/' || (size_t)(full_len - base_len) > room)
		return false;
	full[full_len] = 0;
	memcpy(out, full + base_len + 1, (size_t)(full_len - base_len));
	return true;
}

/* ---- the crawl */

typedef struct crawl_state {
	watch_root *root;
	bool add_watches;
	uint64_t device;
	pthread_mutex_t lock;
	pthread_cond_t more;
	char **folders; /* a stack of paths that nobody looked at yet */
	size_t folder_count, folder_room;
	unsigned busy;
	path_set unread;
	char why[200]; /* the first of them was not read */
	atomic_bool limit, stopped;
	_Atomic(const char *) silent;
} crawl_state;

typedef struct found_link {
	struct found_link *next;
	link_entry entry;
} found_link;

typedef struct crawler {
	crawl_state *crawl;
	pthread_t thread;
	hob_arena arena, link_arena;
	srv_file_entry *entries;
	size_t count, room;
	found_link *links;
	size_t link_count;
	uint8_t *buffer;
	char path[PATH_MAX]; /* of the folder, with a trailing '/' unless it is the root */
	size_t path_len;
} crawler;

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static void push_folder(crawl_state *crawl, char *path)
{
	pthread_mutex_lock(&crawl->lock);
	if (crawl->folder_count == crawl->folder_room) {
		crawl->folder_room = crawl->folder_room ? crawl->folder_room * 2 : 64;
		crawl->folders = must(realloc(crawl->folders, crawl->folder_room * sizeof *crawl->folders));
	}
	crawl->folders[crawl->folder_count++] = path;
	pthread_cond_signal(&crawl->more);
	pthread_mutex_unlock(&crawl->lock);
}

/* Waits for a folder; NULL when all are done. The caller says `done` with the one it took before. */
static char *next_folder(crawl_state *crawl, bool done)
{
	char *path = NULL;
	pthread_mutex_lock(&crawl->lock);
	crawl->busy -= done;
	while (crawl->folder_count == 0 && crawl->busy > 0)
		pthread_cond_wait(&crawl->more, &crawl->lock);
	if (crawl->folder_count > 0) {
		path = crawl->folders[--crawl->folder_count];
		crawl->busy++;
	} else {
		pthread_cond_broadcast(&crawl->more);
	}
	pthread_mutex_unlock(&crawl->lock);
	return path;
}

static void add_unread(crawl_state *crawl, hob_str path, int code)
{
	if (!srv_is_passing(code))
		return;
	pthread_mutex_lock(&crawl->lock);
	if (!crawl->why[0])
		snprintf(crawl->why, sizeof crawl->why, "%.100s%s%.*s cannot be read: %s", crawl->root->path,
				 path.len > 0 ? "/" : "", (int)(path.len < 60 ? path.len : 60), path.data, strerror(code));
	path_set_put(&crawl->unread, path);
	pthread_mutex_unlock(&crawl->lock);
}

static void add_file(crawler *c, hob_str path, const srv_stat *stat)
{
	if (c->count == c->room) {
		c->room = c->room ? c->room * 2 : 1024;
		c->entries = must(realloc(c->entries, c->room * sizeof *c->entries));
	}
	hob_str copy = hob_arena_str(&c->arena, path);
	c->entries[c->count++] = (srv_file_entry){copy, *stat};
	if (!copy.data)
		abort();
}

static void add_link(crawler *c, hob_str path)
{
	char target[PATH_MAX];
	if (!watch_link_target(c->crawl->root->dir_fd, path.data, target, sizeof target))
		return;
	found_link *found = must(HOB_NEW(&c->link_arena, found_link, 1));
	found->entry =
		(link_entry){hob_arena_str(&c->link_arena, hob_str_of(target)), hob_arena_str(&c->link_arena, path)};
	found->next = c->links;
	c->links = found;
	c->link_count++;
}

static bool on_entry(void *user, int folder_fd, const char *name, unsigned char kind)
{
	crawler *c = user;
	size_t name_len = strlen(name), len = c->path_len + name_len;
	if ((kind != DT_DIR && kind != DT_REG && kind != DT_LNK) || len + 2 > sizeof c->path)
		return true;
	memcpy(c->path + c->path_len, name, name_len);
	c->path[len] = kind == DT_DIR ? '/' : 0;
	c->path[len + 1] = 0;
	hob_str path = {c->path, kind == DT_DIR ? len + 1 : len};
	struct stat info;
	srv_stat stat;
	if (watch_ignores(c->crawl->root, path))
		return true;
	if (kind == DT_DIR) {
		c->path[len] = 0;
		push_folder(c->crawl, must(strdup(c->path)));
	} else if (kind == DT_REG && fstatat(folder_fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
		add_unread(c->crawl, path, errno);
	} else if (kind == DT_REG && S_ISREG(info.st_mode)) {
		stat = srv_stat_of(&info);
		add_file(c, path, &stat);
	} else if (kind == DT_LNK && !srv_stat_path(c->crawl->root->dir_fd, path, &stat)) {
		add_unread(c->crawl, path, errno);
	} else if (kind == DT_LNK) {
		add_file(c, path, &stat);
		add_link(c, path);
	}
	return !atomic_load_explicit(&c->crawl->stopped, memory_order_relaxed);
}

/* Other file systems can be mounted inside. */
static void check_mount(crawl_state *crawl, int fd)
{
	struct stat info;
	if (fstat(fd, &info) != 0 || info.st_dev == crawl->device)
		return;
	const char *silent = srv_silent_mount(fd);
	if (silent)
		atomic_store(&crawl->silent, silent);
}

static void crawl_folder(crawler *c, const char *path)
{
	crawl_state *crawl = c->crawl;
	int fd = srv_open_beneath(crawl->root->dir_fd, path, O_RDONLY | O_DIRECTORY, false);
	if (fd < 0) {
		add_unread(crawl, hob_str_of(path), errno);
		return;
	}
	check_mount(crawl, fd);
	/* Watched first, listed second: what is made in between is seen twice rather than never. */
	if (crawl->add_watches && !atomic_load(&crawl->limit) &&
		watch_add_folder(crawl->root, fd, hob_str_of(path)) == FOLDER_LIMIT)
		atomic_store(&crawl->limit, true);
	c->path_len = strlen(path);
	memcpy(c->path, path, c->path_len);
	if (c->path_len > 0)
		c->path[c->path_len++] = '/';
	add_unread(crawl, hob_str_of(path), watch_list_folder(fd, c->buffer, on_entry, c));
	close(fd);
}

static int by_path(const void *a, const void *b)
{
	return watch_compare_paths(((const srv_file_entry *)a)->path, ((const srv_file_entry *)b)->path);
}

static void *crawler_main(void *argument)
{
	crawler *c = argument;
	for (char *path = next_folder(c->crawl, false); path; path = next_folder(c->crawl, true)) {
		if (atomic_load_explicit(&c->crawl->root->watch->stop, memory_order_relaxed))
			atomic_store(&c->crawl->stopped, true);
		if (!atomic_load(&c->crawl->stopped))
			crawl_folder(c, path);
		free(path);
	}
	if (c->count > 0)
		qsort(c->entries, c->count, sizeof *c->entries, by_path);
	return NULL;
}

/* ---- putting it together */

static void merge_files(crawler *crawlers, uint32_t count, file_list *list)
{
	size_t at[THREADS_MAX] = {0};
	for (uint32_t i = 0; i < count; i++)
		list->count += crawlers[i].count;
	list->entries = must(malloc((list->count + 1) * sizeof *list->entries));
	for (size_t i = 0; i < list->count; i++) {
		uint32_t best = HOB_NONE;
		for (uint32_t k = 0; k < count; k++)
			if (at[k] < crawlers[k].count &&
				(best == HOB_NONE ||
				 by_path(&crawlers[k].entries[at[k]], &crawlers[best].entries[at[best]]) < 0))
				best = k;
		list->entries[i] = crawlers[best].entries[at[best]++];
	}
}

static int by_target(const void *a, const void *b)
{
	return watch_compare_paths(((const link_entry *)a)->target, ((const link_entry *)b)->target);
}

static void merge_links(crawler *crawlers, uint32_t count, scan_result *out)
{
	size_t total = 0;
	for (uint32_t i = 0; i < count; i++)
		total += crawlers[i].link_count;
	hob_arena_init(&out->link_arena, SIZE_MAX);
	out->links = total > 0 ? must(calloc(total, sizeof *out->links)) : NULL;
	for (uint32_t i = 0; i < count; i++)
		for (found_link *found = crawlers[i].links; found; found = found->next)
			out->links[out->link_count++] = (link_entry){hob_arena_str(&out->link_arena, found->entry.target),
														 hob_arena_str(&out->link_arena, found->entry.path)};
	if (total > 0)
		qsort(out->links, total, sizeof *out->links, by_target);
}

void watch_scan(watch_root *root, bool add_watches, scan_result *out)
{
	crawl_state crawl = {.root = root, .add_watches = add_watches, .device = root->device};
	crawler crawlers[THREADS_MAX];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t wanted = cores < 2 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (uint32_t)cores, count = 0;
	pthread_mutex_init(&crawl.lock, NULL);
	pthread_cond_init(&crawl.more, NULL);
	push_folder(&crawl, must(strdup("")));
	for (; count < wanted; count++) {
		crawler *c = &crawlers[count];
		*c = (crawler){.crawl = &crawl, .buffer = must(malloc(WATCH_LIST_BUFFER))};
		hob_arena_init(&c->arena, SIZE_MAX);
		hob_arena_init(&c->link_arena, SIZE_MAX);
		/* The first one is this thread itself. */
		if (count > 0 && pthread_create(&c->thread, NULL, crawler_main, c) != 0) {
			free(c->buffer);
			break;
		}
	}
	crawler_main(&crawlers[0]);
	file_list *list = must(calloc(1, sizeof *list));
	atomic_store(&list->references, 1);
	list->arenas = must(calloc(count, sizeof *list->arenas));
	list->arena_count = count;
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0)
			pthread_join(crawlers[i].thread, NULL);
		free(crawlers[i].buffer);
		list->arenas[i] = crawlers[i].arena;
	}
	*out =
		(scan_result){.files = list, .limit = crawl.limit, .silent = crawl.silent, .stopped = crawl.stopped};
	list->unread = crawl.unread;
	memcpy(out->unread, crawl.why, sizeof out->unread);
	merge_files(crawlers, count, list);
	merge_links(crawlers, count, out);
	for (uint32_t i = 0; i < count; i++) {
		free(crawlers[i].entries);
		hob_arena_release(&crawlers[i].link_arena);
	}
	free(crawl.folders);
	pthread_cond_destroy(&crawl.more);
	pthread_mutex_destroy(&crawl.lock);
	atomic_fetch_add(&root->watch->scans, 1);
}
