#include "watch_internal.h"

#include "../../core/base/array.h"
#include "../../core/base/text_order.h"
#include "../fs/beneath.h"
#include "../fs/mounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
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

int srv_watch_list_folder(int fd, uint8_t *buffer, folder_entry *each, void *user)
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

/* ---- the crawl */

typedef struct folder {
	hob_str path;		 /* NUL-terminated, ends in '/'; empty for the root */
	uint32_t crawler;	 /* crawler that listed it */
	size_t first, count; /* range in its items, sorted by name */
} folder;

typedef struct item {
	srv_file_entry entry;
	folder *below; /* NULL for a file */
} item;

typedef struct folder_stack {
	folder **items;
	uint32_t count, room;
} folder_stack;

typedef struct crawl_state {
	watch_root *root;
	bool add_watches;
	uint64_t device;
	pthread_mutex_t lock;
	pthread_cond_t more;
	folder_stack shared; /* folders for idle crawlers */
	unsigned busy;
	path_set unread, outside, links;
	char why[200]; /* first reason for an unread folder */
	atomic_uint waiting;
	atomic_bool limit, stopped;
	atomic_int failed;
	_Atomic(const char *) silent;
} crawl_state;

typedef struct crawler {
	crawl_state *crawl;
	pthread_t thread;
	uint32_t number;
	bool working, own_place;
	bool here; /* the folder is the thread's current folder */
	/* properties of the folder; foreign: has entries of another device than the root's */
	bool has_file, has_foreign;
	hob_arena arena;
	folder_stack todo;
	item *items;
	uint32_t count, room;
	uint8_t *buffer;
	char path[PATH_MAX]; /* path of the folder, ends in '/' unless it is the root */
	size_t path_len;
} crawler;

static void push(folder_stack *stack, folder *f)
{
	if (!HOB_ROOM(stack->items, stack->room, stack->count))
		abort();
	stack->items[stack->count++] = f;
}

/* Gives the oldest folders: they have more below them. */
static void give_half(crawler *c)
{
	size_t count = c->todo.count / 2;
	for (size_t i = 0; i < count; i++)
		push(&c->crawl->shared, c->todo.items[i]);
	c->todo.count -= (uint32_t)count;
	memmove(c->todo.items, c->todo.items + count, c->todo.count * sizeof(folder *));
	pthread_cond_broadcast(&c->crawl->more);
}

static folder *take_shared(crawler *c)
{
	crawl_state *crawl = c->crawl;
	crawl->busy -= c->working;
	c->working = false;
	atomic_fetch_add(&crawl->waiting, 1);
	while (crawl->shared.count == 0 && crawl->busy > 0)
		pthread_cond_wait(&crawl->more, &crawl->lock);
	atomic_fetch_sub(&crawl->waiting, 1);
	if (crawl->shared.count == 0) {
		pthread_cond_broadcast(&crawl->more);
		return NULL;
	}
	crawl->busy++;
	c->working = true;
	return crawl->shared.items[--crawl->shared.count];
}

/* Waits for a folder; NULL if all are done. */
static folder *next_folder(crawler *c)
{
	crawl_state *crawl = c->crawl;
	bool asked = c->todo.count > 1 && atomic_load_explicit(&crawl->waiting, memory_order_relaxed) > 0;
	if (c->todo.count > 0 && !asked)
		return c->todo.items[--c->todo.count];
	SRV_LOCKED(&crawl->lock);
	if (asked)
		give_half(c);
	return asked ? c->todo.items[--c->todo.count] : take_shared(c);
}

static item *add_item(crawler *c)
{
	if (!HOB_ROOM(c->items, c->room, c->count))
		abort();
	return &c->items[c->count++];
}

static void add_outside(crawl_state *crawl, hob_str path, int code)
{
	if (code != EXDEV)
		return;
	SRV_LOCKED(&crawl->lock);
	srv_path_set_put(&crawl->outside, path);
}

static void add_unread(crawl_state *crawl, hob_str path, int code)
{
	if (!srv_is_passing(code))
		return;
	SRV_LOCKED(&crawl->lock);
	if (!crawl->why[0])
		snprintf(crawl->why, sizeof crawl->why, "%.100s%s%.*s cannot be read: %s", crawl->root->path,
				 path.len > 0 ? "/" : "", (int)(path.len < 60 ? path.len : 60), path.data, strerror(code));
	srv_path_set_put(&crawl->unread, path);
}

static void add_file(crawler *c, hob_str path, const srv_stat *stat)
{
	hob_str copy = hob_arena_str(&c->arena, path);
	hob_must((void *)(uintptr_t)copy.data);
	*add_item(c) = (item){.entry = {copy, *stat}};
}

static void add_folder(crawler *c, hob_str path)
{
	folder *f = hob_must(HOB_NEW(&c->arena, folder, 1));
	f->path = hob_arena_str(&c->arena, path);
	hob_must((void *)(uintptr_t)f->path.data);
	*add_item(c) = (item){.entry.path = f->path, .below = f};
	push(&c->todo, f);
}

static void add_link(crawler *c, hob_str path)
{
	pthread_mutex_lock(&c->crawl->lock);
	srv_path_set_put(&c->crawl->links, path);
	pthread_mutex_unlock(&c->crawl->lock);
	srv_stat stat;
	if (srv_stat_path(c->crawl->root->dir_fd, path, &stat)) {
		add_file(c, path, &stat);
		return;
	}
	int code = errno;
	add_unread(c->crawl, path, code);
	add_outside(c->crawl, path, code);
}

static bool on_entry(void *user, int folder_fd, const char *name, unsigned char kind)
{
	crawler *c = user;
	size_t name_len = strlen(name), len = c->path_len + name_len;
	int at = c->here ? AT_FDCWD : folder_fd;
	if ((kind != DT_DIR && kind != DT_REG && kind != DT_LNK) || len + 2 > sizeof c->path)
		return true;
	memcpy(c->path + c->path_len, name, name_len);
	c->path[len] = kind == DT_DIR ? '/' : 0;
	c->path[len + 1] = 0;
	hob_str path = {c->path, kind == DT_DIR ? len + 1 : len};
	struct stat info;
	srv_stat stat;
	if (srv_watch_ignores(c->crawl->root, path))
		return true;
	if (kind == DT_DIR) {
		add_folder(c, path);
	} else if (kind == DT_REG && fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
		add_unread(c->crawl, path, errno);
	} else if (kind == DT_REG && S_ISREG(info.st_mode)) {
		c->has_file = true;
		c->has_foreign |= info.st_dev != c->crawl->device;
		stat = srv_stat_of(&info);
		add_file(c, path, &stat);
	} else if (kind == DT_LNK) {
		add_link(c, path);
	}
	return !atomic_load_explicit(&c->crawl->stopped, memory_order_relaxed);
}

/* Notes a mounted file system without events; a folder on the root's own device is not on one. */
static void check_mount(crawl_state *crawl, int fd)
{
	struct stat info;
	if (fstat(fd, &info) != 0 || info.st_dev == crawl->device)
		return;
	const char *silent = srv_silent_mount(fd);
	if (silent)
		atomic_store(&crawl->silent, silent);
}

static int by_name(const void *a, const void *b)
{
	return hob_str_compare(((const item *)a)->entry.path, ((const item *)b)->entry.path);
}

/* Sorts by name; by insertion if there are few, as in most folders. */
static void sort_items(item *items, size_t count)
{
	enum { FEW = 24 };
	if (count > FEW) {
		qsort(items, count, sizeof *items, by_name);
		return;
	}
	for (size_t i = 1; i < count; i++) {
		item moved = items[i];
		size_t at = i;
		for (; at > 0 && by_name(&items[at - 1], &moved) > 0; at--)
			items[at] = items[at - 1];
		items[at] = moved;
	}
}

static void note_failure(crawl_state *crawl, hob_str path, int code)
{
	add_unread(crawl, path, code);
	if (path.len == 0 && code != 0)
		atomic_store(&crawl->failed, code);
}

static void crawl_folder(crawler *c, folder *f)
{
	crawl_state *crawl = c->crawl;
	f->crawler = c->number;
	f->first = c->count;
	hob_str path = hob_str_sub(f->path, 0, f->path.len - (f->path.len > 0));
	int fd = srv_open_beneath(crawl->root->dir_fd, f->path.data, O_RDONLY | O_DIRECTORY, false);
	if (fd < 0) {
		note_failure(crawl, path, errno);
		return;
	}
	c->here = c->own_place && fchdir(fd) == 0;
	c->has_file = c->has_foreign = false;
	/* Watches first, then lists: a file created in between is seen twice rather than never. */
	if (crawl->add_watches && !atomic_load(&crawl->limit) &&
		srv_watch_add_folder(crawl->root, fd, c->here, path) == FOLDER_LIMIT)
		atomic_store(&crawl->limit, true);
	c->path_len = f->path.len;
	memcpy(c->path, f->path.data, c->path_len);
	note_failure(crawl, path, srv_watch_list_folder(fd, c->buffer, on_entry, c));
	if (!c->has_file || c->has_foreign)
		check_mount(crawl, fd);
	close(fd);
	f->count = c->count - f->first;
	sort_items(c->items + f->first, f->count);
}

static void *crawler_main(void *argument)
{
	crawler *c = argument;
	/* With its own current folder, a thread can name a folder as ".", which is cheaper for the kernel than a
	 * path through /proc. */
	c->own_place = c->crawl->add_watches && unshare(CLONE_FS) == 0;
	for (folder *f = next_folder(c); f; f = next_folder(c)) {
		if (atomic_load_explicit(&c->crawl->root->watch->stop, memory_order_relaxed))
			atomic_store(&c->crawl->stopped, true);
		if (!atomic_load(&c->crawl->stopped))
			crawl_folder(c, f);
	}
	/* Leaves the folder, so that it is not in use. */
	if (c->own_place && chdir("/") != 0)
		c->own_place = false;
	return NULL;
}

/* ---- merging */

static void put_in_order(const crawler *crawlers, const folder *f, srv_file_list *list)
{
	const item *items = crawlers[f->crawler].items + f->first;
	for (size_t i = 0; i < f->count; i++)
		if (items[i].below)
			put_in_order(crawlers, items[i].below, list);
		else
			list->entries[list->count++] = items[i].entry;
}

static void merge_files(const crawler *crawlers, uint32_t count, const folder *top, srv_file_list *list)
{
	size_t room = 1;
	for (uint32_t i = 0; i < count; i++)
		room += crawlers[i].count;
	list->entries = hob_must(malloc(room * sizeof *list->entries));
	put_in_order(crawlers, top, list);
}

void srv_watch_scan(watch_root *root, bool add_watches, scan_result *out)
{
	crawl_state crawl = {.root = root, .add_watches = add_watches, .device = root->device};
	crawler crawlers[THREADS_MAX];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t wanted = cores < 2 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (uint32_t)cores, count = 0;
	pthread_mutex_init(&crawl.lock, NULL);
	pthread_cond_init(&crawl.more, NULL);
	folder top = {.path = HOB_STR("")};
	push(&crawl.shared, &top);
	for (; count < wanted; count++) {
		crawler *c = &crawlers[count];
		*c = (crawler){.crawl = &crawl, .number = count, .buffer = hob_must(malloc(WATCH_LIST_BUFFER))};
		hob_arena_init(&c->arena, SIZE_MAX);
		/* The first crawler is this thread itself. */
		if (count > 0 && pthread_create(&c->thread, NULL, crawler_main, c) != 0) {
			free(c->buffer);
			break;
		}
	}
	crawler_main(&crawlers[0]);
	srv_file_list *list = hob_must(calloc(1, sizeof *list));
	atomic_store(&list->references, 1);
	list->arenas = hob_must(calloc(count, sizeof *list->arenas));
	list->arena_count = count;
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0)
			pthread_join(crawlers[i].thread, NULL);
		free(crawlers[i].buffer);
		list->arenas[i] = crawlers[i].arena;
	}
	*out = (scan_result){.files = list,
						 .limit = crawl.limit,
						 .silent = crawl.silent,
						 .stopped = crawl.stopped,
						 .failed = crawl.failed,
						 .links = crawl.links};
	list->unread = crawl.unread;
	list->outside = crawl.outside;
	memcpy(out->unread, crawl.why, sizeof out->unread);
	merge_files(crawlers, count, &top, list);
	for (uint32_t i = 0; i < count; i++) {
		free(crawlers[i].items);
		free(crawlers[i].todo.items);
	}
	free(crawl.shared.items);
	/* Without search permission, entries of the root cannot be examined. */
	struct stat info;
	if (out->failed == 0 && fstatat(root->dir_fd, ".", &info, 0) != 0)
		out->failed = errno;
	pthread_cond_destroy(&crawl.more);
	pthread_mutex_destroy(&crawl.lock);
	atomic_fetch_add(&root->watch->scans, 1);
}
