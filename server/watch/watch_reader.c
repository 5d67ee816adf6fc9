#include "watch_internal.h"
#include "../../core/base/array.h"
#include "../fs/beneath.h"
#include "../fs/mounts.h"
#include "../fs/vcs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 64 << 10, BUFFERS_PER_TURN = 16, PARTNER_MS = 50 };

enum { CHANGING_MAX_MS = 30000 };

static const int64_t BACKOFF_FIRST_NS = 250000000, BACKOFF_MAX_NS = 30000000000, CALM_NS = 60000000000;

typedef struct reader {
	srv_watch *watch;
	watch_root *root; /* root whose records are being handled, locked */
	int64_t now;
	uint8_t *records, *entries;
	char path[PATH_MAX]; /* path of the crawled folder, with a trailing '/' */
	size_t path_len;
	path_set todo; /* folders to crawl */
	int mounts_fd; /* /proc/self/mountinfo, or -1 */
	uint64_t mounts_changed;
} reader;

/* ---- new folders */

static bool on_entry(void *user, int fd, const char *name, unsigned char kind)
{
	reader *r = user;
	size_t name_len = strlen(name), len = r->path_len + name_len;
	(void)fd;
	if ((kind != DT_DIR && kind != DT_REG && kind != DT_LNK) || len + 2 > sizeof r->path)
		return true;
	memcpy(r->path + r->path_len, name, name_len);
	r->path[len] = '/';
	r->path[len + 1] = 0;
	if (srv_watch_ignores(r->root, (hob_str){r->path, kind == DT_DIR ? len + 1 : len}))
		return true;
	if (kind == DT_DIR)
		srv_path_set_put(&r->todo, (hob_str){r->path, len});
	else
		srv_settle_created(r->root, (hob_str){r->path, len}, r->now);
	return true;
}

static void look_again(watch_root *root, hob_str path, int code)
{
	char why[200];
	if (!srv_is_passing(code))
		return;
	snprintf(why, sizeof why, "%.100s/%.*s cannot be read: %s", root->path,
			 (int)(path.len < 60 ? path.len : 60), path.data, strerror(code));
	srv_watch_root_look_again(root, why);
}

static void crawl_one(reader *r, hob_str path)
{
	watch_root *root = r->root;
	memcpy(r->path, path.data, path.len);
	r->path[path.len] = 0;
	srv_own_fd fd = srv_open_beneath(root->dir_fd, r->path, O_RDONLY | O_DIRECTORY, false);
	if (fd < 0) {
		look_again(root, path, errno);
		return;
	}
	folder_watch added = srv_watch_add_folder_locked(root, fd, false, path);
	if (added == FOLDER_LIMIT)
		srv_watch_root_doubt(root, 0, root->limit);
	if (added == FOLDER_WATCHED) {
		r->path[path.len] = '/';
		r->path_len = path.len + 1;
		look_again(root, path, srv_watch_list_folder(fd, r->entries, on_entry, r));
	}
}

/* Watches a folder and everything below, and reports the files that already exist. */
static void crawl(reader *r, hob_str path)
{
	srv_path_set_put(&r->todo, path);
	for (size_t i = 0; i < r->todo.used && r->root->inotify_fd >= 0 && !r->root->limit[0]; i++) {
		char copy[PATH_MAX];
		hob_str folder = r->todo.items[i].path;
		if (folder.len + 2 > sizeof copy)
			continue;
		memcpy(copy, folder.data, folder.len);
		crawl_one(r, (hob_str){copy, folder.len});
	}
	srv_path_set_release(&r->todo);
}

/* ---- records */

static void report_folder(reader *r, hob_str path)
{
	char name[PATH_MAX + 2];
	memcpy(name, path.data, path.len);
	name[path.len] = '/';
	name[path.len + 1] = 0;
	srv_settle_gone(r->root, (hob_str){name, path.len + 1}, 0, r->now);
}

static void drop_moving(watch_root *root)
{
	dir_node *node = root->moving_wd ? srv_dir_tree_find_wd(&root->tree, root->moving_wd) : NULL;
	/* A folder with a parent was already found again by a crawl. */
	if (node && !node->parent && node != root->tree.root)
		srv_dir_tree_remove(&root->tree, node, srv_watch_drop_folder, root);
	root->moving_wd = 0;
}

/* Records are older than the folder that has the name now, for instance after an exchange: so that one is
 * crawled each time. A renamed folder is found again by its watch. */
static void on_folder(reader *r, const struct inotify_event *event, dir_node *parent, hob_str path)
{
	watch_root *root = r->root;
	dir_node *node = srv_dir_tree_child(&root->tree, parent, hob_path_name(path));
	if (event->mask & IN_CREATE) {
		srv_settle_extra(root, path, event->mask, r->now);
		if (node)
			return; /* already found by the crawl of its parent */
	} else {
		report_folder(r, path);
	}
	if (node && event->mask & IN_MOVED_FROM) {
		drop_moving(root);
		srv_dir_tree_detach(&root->tree, node);
		root->moving_wd = node->wd;
		root->moving_at_ns = r->now;
	} else if (node && event->mask & IN_DELETE) {
		srv_dir_tree_remove(&root->tree, node, srv_watch_drop_folder, root);
	}
	crawl(r, path);
}

static void on_file(reader *r, const struct inotify_event *event, hob_str path)
{
	if (event->mask & IN_CLOSE_WRITE)
		srv_settle_complete(r->root, path, 0, r->now);
	else if (event->mask & IN_MOVED_TO) {
		srv_watch_extra_learn(r->root, path);
		srv_settle_complete(r->root, path, event->cookie, r->now);
	} else if (event->mask & IN_MOVED_FROM)
		srv_settle_gone(r->root, path, event->cookie, r->now);
	else if (event->mask & IN_DELETE)
		srv_settle_gone(r->root, path, 0, r->now);
	else /* IN_CREATE, IN_MODIFY, IN_ATTRIB */
		srv_settle_created(r->root, path, r->now);
}

static void on_overflow(reader *r)
{
	watch_root *root = r->root;
	int64_t next = root->backoff_ns > 0 ? root->backoff_ns * 2 : BACKOFF_FIRST_NS;
	atomic_fetch_add(&r->watch->overflows, 1);
	if (root->overflow_at_ns == 0 || r->now - root->overflow_at_ns > CALM_NS)
		root->backoff_ns = 0;
	else
		root->backoff_ns = next < BACKOFF_MAX_NS ? next : BACKOFF_MAX_NS;
	root->overflow_at_ns = r->now;
	root->changing_until_ns = 0;
	srv_watch_root_doubt(root, root->backoff_ns,
						 "the kernel's queue of file events overflowed; everything is scanned again");
}

/* An event in a folder that is watched only for used files. */
static void on_unlisted(reader *r, const struct inotify_event *event)
{
	char path[PATH_MAX];
	size_t len, name_len = event->len > 0 ? strlen(event->name) : 0;
	if (!srv_watch_extra_folder(r->root, event->wd, event->mask & IN_IGNORED, path, sizeof path, &len) ||
		name_len == 0 || len + name_len + 2 > sizeof path)
		return;
	path[len++] = '/';
	memcpy(path + len, event->name, name_len + 1);
	srv_settle_extra(r->root, (hob_str){path, len + name_len}, event->mask, r->now);
}

static void on_record(reader *r, const struct inotify_event *event)
{
	watch_root *root = r->root;
	if (event->mask & IN_Q_OVERFLOW) {
		on_overflow(r);
		return;
	}
	if (event->mask & IN_ISDIR && event->mask & IN_ATTRIB)
		return;
	dir_node *node = srv_dir_tree_find_wd(&root->tree, event->wd);
	if (!node) {
		on_unlisted(r, event);
		return;
	}
	if (node == root->tree.root && event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		srv_watch_root_doubt(root, 0, "the watched folder was moved, removed or unmounted");
		return;
	}
	if (event->mask & IN_IGNORED) {
		srv_dir_tree_remove(&root->tree, node, srv_watch_drop_folder, root);
		return;
	}
	if (event->mask & IN_UNMOUNT) {
		srv_watch_root_doubt(root, 0, "a file system below the watched folder was unmounted");
		return;
	}
	if (node == root->tree.root && event->len > 0 && strcmp(event->name, SRV_VCS_CHANGING) == 0)
		root->changing_until_ns = event->mask & IN_CREATE	? r->now + watch_ms(CHANGING_MAX_MS)
								  : event->mask & IN_DELETE ? 0
															: root->changing_until_ns;
	char path[PATH_MAX];
	size_t len;
	if (event->len == 0 || (event->name[0] == '.' && root->extras.names.used == 0) ||
		!srv_dir_tree_path(&root->tree, node, path, sizeof path, &len))
		return;
	size_t name_len = strlen(event->name);
	if (len + name_len + 3 > sizeof path)
		return;
	if (len > 0)
		path[len++] = '/';
	memcpy(path + len, event->name, name_len);
	memcpy(path + len + name_len, "/", 2);
	hob_str whole = {path, len + name_len}, marked = {path, whole.len + (event->mask & IN_ISDIR ? 1 : 0)};
	bool ignored = event->name[0] == '.' || srv_watch_ignores(root, marked);
	path[whole.len] = 0;
	if (ignored) {
		srv_settle_extra(root, whole, event->mask, r->now);
		return;
	}
	if (event->mask & IN_ISDIR)
		on_folder(r, event, node, whole);
	else
		on_file(r, event, whole);
}

static ssize_t read_buffer(reader *r)
{
	ssize_t size = read(r->root->inotify_fd, r->records, BUFFER);
	if (size > 0) {
		r->now = srv_watch_now_ns();
		for (ssize_t at = 0; at < size;) {
			const struct inotify_event *event = (const struct inotify_event *)(const void *)(r->records + at);
			at += (ssize_t)(sizeof *event + event->len);
			atomic_fetch_add_explicit(&r->watch->events, 1, memory_order_relaxed);
			on_record(r, event);
		}
	}
	return size;
}

/* Reads a limited number of buffers, to be fair to the other roots. */
static void read_records(reader *r)
{
	for (int turn = 0; turn < BUFFERS_PER_TURN && r->root->inotify_fd >= 0; turn++)
		if (read_buffer(r) <= 0)
			break;
}

/* ---- mounts */

/* True once after each change of this namespace's mounts. */
static bool mounts_change(reader *r)
{
	struct pollfd mounts = {.fd = r->mounts_fd, .events = POLLPRI};
	bool changed = r->mounts_fd >= 0 && poll(&mounts, 1, 0) > 0;
	r->mounts_changed += changed;
	return changed;
}

static void look_at_mounts(reader *r)
{
	watch_root *root = r->root;
	if (root->mounts_seen == r->mounts_changed)
		return;
	root->mounts_seen = r->mounts_changed;
	uint64_t now = root->inotify_fd >= 0 && !root->want_scan ? srv_mounts_below(root->dir_fd) : root->mounts;
	if (now == root->mounts || now == 0)
		return;
	root->mounts = now;
	srv_watch_root_doubt(root, 0, "a file system below the watched folder was mounted or unmounted");
}

/* ---- marks */

/* Whether the root's path still leads to its folder, which can be mounted over without a record. */
static bool is_in_place(const watch_root *root)
{
	struct stat info;
	return stat(root->path, &info) == 0 && info.st_dev == root->device && info.st_ino == root->inode;
}

/* Reads what is queued now; more may arrive meanwhile. */
static void read_to_mark(reader *r)
{
	int left = 0;
	if (ioctl(r->root->inotify_fd, FIONREAD, &left) != 0)
		return;
	while (left > 0 && r->root->inotify_fd >= 0) {
		ssize_t size = read_buffer(r);
		left = size > 0 ? left - (int)size : 0;
	}
}

static void pass_marks(reader *r)
{
	watch_root *root = r->root;
	uint64_t number = root->marks_set;
	if (number == root->marks_passed || root->held || srv_watch_now_ns() < root->changing_until_ns)
		return;
	if (mounts_change(r)) /* checks other roots in the next turn */
		srv_watch_wake_reader(r->watch);
	look_at_mounts(r);
	if (root->held)
		return;
	bool seen = root->inotify_fd >= 0 && !root->want_scan && root->unread_wait_ns == 0 && is_in_place(root);
	if (seen) {
		read_to_mark(r);
		/* After an overflow, the pending scan finds the changes. */
		if (root->held || r->now < root->changing_until_ns)
			return;
		srv_settle_hurry(root, r->now);
	}
	watch_message *passed = srv_watch_message_new(root, MESSAGE_PASSED);
	passed->number = root->marks_passed = number;
	passed->seen = seen && root->unread_wait_ns == 0;
	srv_watch_post(root->watch, passed);
}

/* ---- the thread */

static int64_t serve(reader *r, watch_root *root, bool hold)
{
	SRV_LOCKED(&root->lock);
	r->root = root;
	if (!hold)
		read_records(r);
	r->now = srv_watch_now_ns();
	look_at_mounts(r);
	if (!hold)
		pass_marks(r);
	int64_t due = INT64_MAX;
	if (root->moving_wd) {
		int64_t partner_due = root->moving_at_ns + watch_ms(PARTNER_MS);
		if (r->now >= partner_due)
			drop_moving(root);
		else
			due = partner_due;
	}
	srv_watch_recount(root);
	int64_t settle_due = srv_settle_tick(root, r->now);
	return settle_due < due ? settle_due : due;
}

static void wait_for_records(reader *r, bool hold, int64_t due)
{
	struct pollfd fds[WATCH_ROOTS_MAX + 2] = {{.fd = r->watch->reader_wake, .events = POLLIN},
											  {.fd = r->mounts_fd, .events = POLLPRI}};
	nfds_t count = 2;
	pthread_mutex_lock(&r->watch->roots_lock);
	for (uint32_t i = 0; i < r->watch->root_count && count < HOB_COUNT_OF(fds) && !hold; i++) {
		watch_root *root = r->watch->roots[i];
		SRV_LOCKED(&root->lock);
		if (root->inotify_fd >= 0)
			fds[count++] = (struct pollfd){.fd = root->inotify_fd, .events = POLLIN};
	}
	pthread_mutex_unlock(&r->watch->roots_lock);
	int64_t left = due == INT64_MAX ? 0 : due - srv_watch_now_ns();
	struct timespec timeout = {left > 0 ? left / 1000000000 : 0, left > 0 ? left % 1000000000 : 0};
	int ready = ppoll(fds, count, due == INT64_MAX ? NULL : &timeout, NULL);
	r->mounts_changed += ready > 0 && fds[1].revents;
	if (ready > 0 && fds[0].revents) {
		uint64_t wakes;
		(void)!read(r->watch->reader_wake, &wakes, sizeof wakes);
	}
}

static watch_root *root_at(srv_watch *watch, uint32_t i)
{
	SRV_LOCKED(&watch->roots_lock);
	return i < watch->root_count ? watch->roots[i] : NULL;
}

void *srv_watch_reader_main(void *argument)
{
	srv_watch *watch = argument;
	reader r = {
		.watch = watch, .records = hob_must(malloc(BUFFER)), .entries = hob_must(malloc(WATCH_LIST_BUFFER))};
	r.mounts_fd = watch->options.once ? -1 : open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	while (!atomic_load(&watch->stop)) {
		bool hold = atomic_load(&watch->reader_held);
		int64_t due = INT64_MAX;
		watch_root *root;
		for (uint32_t i = 0; (root = root_at(watch, i)); i++) {
			int64_t next = serve(&r, root, hold);
			due = next < due ? next : due;
		}
		wait_for_records(&r, hold, due);
	}
	srv_close(r.mounts_fd);
	free(r.records);
	free(r.entries);
	srv_watch_thread_ends(watch);
	return NULL;
}
