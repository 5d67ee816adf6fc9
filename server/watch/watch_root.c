#include "watch_internal.h"
#include "../../core/base/array.h"
#include "../../core/base/text_order.h"
#include "../fs/beneath.h"
#include "../fs/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

enum { SETTLE_MS = 500 };

static void close_inotify(watch_root *root)
{
	srv_close(root->inotify_fd);
	root->inotify_fd = -1;
	srv_watch_extra_forget(root);
	root->moving_wd = 0;
	srv_dir_tree_release(&root->tree);
	srv_watch_recount(root);
}

void srv_watch_root_free(watch_root *root)
{
	close_inotify(root);
	srv_dir_tree_release(&root->tree);
	srv_watch_extra_release(root);
	srv_settle_clear(root);
	srv_close(root->dir_fd);
	srv_file_list_drop(root->known);
	pthread_cond_destroy(&root->wake);
	pthread_mutex_destroy(&root->lock);
	free(root->path);
	free(root);
}

void srv_watch_root_doubt(watch_root *root, int64_t delay_ns, const char *why)
{
	srv_settle_clear(root);
	root->held = root->want_scan = true;
	root->scan_at_ns = srv_watch_now_ns() + delay_ns;
	watch_message *reset = srv_watch_message_new(root, MESSAGE_RESET);
	snprintf(reset->why, sizeof reset->why, "%s", why);
	srv_watch_post(root->watch, reset);
	pthread_cond_signal(&root->wake);
}

void srv_watch_root_look_again(watch_root *root, const char *why)
{
	const int64_t first = 1000000000, most = 30000000000;
	int64_t wait = root->unread_wait_ns * 2;
	if (root->want_scan)
		return;
	root->unread_wait_ns = wait < first ? first : wait < most ? wait : most;
	root->want_scan = true;
	root->scan_at_ns = srv_watch_now_ns() + root->unread_wait_ns;
	watch_message *reset = srv_watch_message_new(root, MESSAGE_RESET);
	snprintf(reset->why, sizeof reset->why,
			 "%s; what is known stays, and everything is scanned again in %d s", why,
			 (int)(root->unread_wait_ns / 1000000000));
	srv_watch_post(root->watch, reset);
	pthread_cond_signal(&root->wake);
}

/* ---- messages */

static void set_mode(watch_root *root, bool polling, const char *fmt, ...) HOB_PRINTF(3, 4);

static void set_mode(watch_root *root, bool polling, const char *fmt, ...)
{
	char why[sizeof root->why];
	va_list args;
	va_start(args, fmt);
	vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	if (root->announced && root->polling == polling && strcmp(root->why, why) == 0)
		return;
	root->announced = true;
	root->polling = polling;
	memcpy(root->why, why, sizeof why);
	if (root->watch->options.once)
		return;
	watch_message *mode = srv_watch_message_new(root, MESSAGE_MODE);
	mode->mode = polling ? SRV_WATCH_POLLING : SRV_WATCH_INOTIFY;
	memcpy(mode->why, why, sizeof why);
	mode->facts = (srv_watch_facts){
		.file_system = root->dir_fd >= 0 ? srv_file_system(root->dir_fd) : "unknown",
		.probed = polling && root->probed != WATCH_PROBE_SILENT ? WATCH_PROBE_OFF : root->probed,
		.poll_ms = polling ? root->watch->options.poll_ms : 0};
	srv_watch_post(root->watch, mode);
}

static void set_polling(watch_root *root, const char *why)
{
	uint32_t every = root->watch->options.poll_ms;
	if (every % 1000 == 0)
		set_mode(root, true, "polling every %u s: %s", every / 1000, why);
	else
		set_mode(root, true, "polling every %u ms: %s", every, why);
}

/* ---- the root folder itself */

static void lose_root(watch_root *root, int code)
{
	pthread_mutex_lock(&root->lock);
	close_inotify(root);
	srv_close(root->dir_fd);
	root->dir_fd = -1;
	root->held = root->want_scan = false;
	srv_settle_clear(root);
	pthread_mutex_unlock(&root->lock);
	srv_file_list_drop(root->known);
	root->known = NULL;
	root->missing = true;
	root->polling = root->announced = false;
	watch_message *gone = srv_watch_message_new(root, MESSAGE_GONE);
	snprintf(gone->why, sizeof gone->why, "the folder %.200s cannot be %s (%s)", root->path,
			 root->unreadable ? "read" : "opened", strerror(code));
	srv_watch_post(root->watch, gone);
	srv_watch_wake_reader(root->watch);
	atomic_fetch_add(&root->watch->scans, 1);
}

static int open_root(watch_root *root, struct stat *info)
{
	int fd = open(root->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A folder without search permission can be listed, but its files cannot be examined. */
	if (fd >= 0 && fstatat(fd, ".", info, 0) != 0) {
		srv_close(fd);
		fd = -1;
	}
	return fd;
}

/* Whether the error may be temporary. If it lasts until the next check, the root is reported as gone. */
static bool may_pass(const watch_root *root, int code)
{
	return srv_is_passing(code) && root->unread_wait_ns == 0 && !root->missing;
}

static void scan_later(watch_root *root, int code)
{
	char why[200];
	snprintf(why, sizeof why, "%.100s cannot be opened: %s", root->path, strerror(code));
	pthread_mutex_lock(&root->lock);
	root->want_scan = false;
	srv_watch_root_look_again(root, why);
	/* Events continue if inotify works. */
	root->held = root->inotify_fd < 0;
	pthread_mutex_unlock(&root->lock);
	srv_watch_wake_reader(root->watch);
}

static const char probe_silent[] = "a file that was made there for a trial gave no event";

/* Opens the root and chooses inotify (NULL) or polling (the reason). */
static bool prepare(watch_root *root, const char **why)
{
	const srv_watch_options *options = &root->watch->options;
	struct stat info;
	int fd = open_root(root, &info);
	if (fd < 0 && may_pass(root, errno)) {
		scan_later(root, errno);
		return false;
	}
	if (fd < 0) {
		int code = errno;
		root->unreadable = false;
		lose_root(root, code);
		return false;
	}
	srv_own_fd spare = -1;
	const char *silent = options->trust_events ? NULL : srv_silent_mount(fd);
	if (info.st_dev != root->device || info.st_ino != root->inode || root->retry_inotify)
		root->probed = WATCH_PROBE_OFF;
	if (options->probe && !options->once && !options->force_polling && !silent &&
		root->probed == WATCH_PROBE_OFF)
		root->probed = srv_watch_probe(fd, &spare);
	if (root->probed == WATCH_PROBE_SILENT)
		silent = probe_silent;
	SRV_LOCKED(&root->lock);
	if (root->dir_fd < 0 || info.st_dev != root->device || info.st_ino != root->inode)
		close_inotify(root);
	srv_close(root->dir_fd);
	root->dir_fd = fd;
	root->mounts = srv_mounts_below(fd);
	root->device = info.st_dev;
	root->inode = info.st_ino;
	if (root->retry_inotify)
		root->limit[0] = 0;
	root->retry_inotify = false;
	*why = options->force_polling ? "asked for" : silent ? silent : root->limit[0] ? root->limit : NULL;
	if (!options->once && !*why && root->inotify_fd < 0) {
		root->inotify_fd = spare >= 0 ? spare : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		spare = -1;
		if (root->inotify_fd < 0) {
			snprintf(root->limit, sizeof root->limit,
					 "no inotify instance can be had (%s; fs.inotify.max_user_instances = %ld, shared by "
					 "all programs of this user); raise it with: sysctl "
					 "fs.inotify.max_user_instances=1024",
					 strerror(errno), srv_watch_read_number("/proc/sys/fs/inotify/max_user_instances"));
			*why = root->limit;
		}
	}
	if (*why)
		close_inotify(root);
	srv_settle_clear(root);
	root->want_scan = false;
	root->held = true;
	root->scan_number++;
	return true;
}

static void describe_mode(watch_root *root, const char *why, const char *nested)
{
	char text[sizeof root->limit + 64];
	if (!why) {
		const char *system = srv_file_system(root->dir_fd);
		set_mode(root, false, "inotify%s%s",
				 root->probed == WATCH_PROBE_IMPOSSIBLE
					 ? "; nothing can be written there to try whether events arrive"
					 : "",
				 strcmp(system, "overlay") == 0
					 ? "; what changes in a lower layer of this overlay gives no events"
					 : "");
	} else if (nested) {
		snprintf(text, sizeof text, "a %s mount inside, whose changes give no events", nested);
		set_polling(root, text);
	} else if (why == root->limit || why == probe_silent || strcmp(why, "asked for") == 0) {
		set_polling(root, why);
	} else {
		snprintf(text, sizeof text, "%s mount, whose changes give no events", why);
		set_polling(root, text);
	}
}

/* Drops an incomplete scan, whose missing files would count as deleted. */
static void drop_scan(watch_root *root, scan_result *result)
{
	srv_path_set_release(&result->links);
	srv_file_list_drop(result->files);
	root->unreadable = true;
	lose_root(root, result->failed);
}

static void scan(watch_root *root)
{
	const char *why;
	scan_result result;
	if (!prepare(root, &why))
		return;
	bool watching = !root->watch->options.once && !why;
	if (watching)
		srv_watch_wake_reader(root->watch);
	srv_watch_scan(root, watching, &result);
	if (result.failed && !result.stopped && !may_pass(root, result.failed)) {
		drop_scan(root, &result);
		return;
	}
	root->missing = root->unreadable = false;
	if (root->watch->options.trust_events)
		result.silent = NULL;
	if (watching && (result.limit || result.silent)) {
		why = result.limit ? root->limit : result.silent;
		SRV_LOCKED(&root->lock);
		close_inotify(root);
	}
	if (!result.stopped)
		describe_mode(root, why, result.limit ? NULL : result.silent);
	pthread_mutex_lock(&root->lock);
	if (root->inotify_fd >= 0)
		srv_dir_tree_sweep(&root->tree, root->scan_number, srv_watch_drop_folder, root);
	srv_watch_recount(root);
	srv_watch_extra_renew(root);
	for (size_t i = 0; i < result.links.used && root->inotify_fd >= 0; i++)
		srv_watch_extra_add(root, result.links.items[i].path);
	srv_path_set_release(&result.links);
	if (!result.stopped) {
		watch_message *scanned = srv_watch_message_new(root, MESSAGE_SCANNED);
		scanned->files = srv_file_list_keep(result.files);
		srv_watch_post(root->watch, scanned);
	}
	/* Delivers records from the time of the crawl after the list, unless the next scan is already due. */
	root->held = root->want_scan;
	if (!result.unread[0])
		root->unread_wait_ns = 0;
	else if (!result.stopped)
		srv_watch_root_look_again(root, result.unread);
	pthread_mutex_unlock(&root->lock);
	srv_watch_wake_reader(root->watch);
	srv_file_list_drop(root->known);
	root->known = root->polling ? srv_file_list_keep(result.files) : NULL;
	srv_file_list_drop(result.files);
}

/* ---- polling */

static bool wait_until(watch_root *root, int64_t until_ns)
{
	struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
	SRV_LOCKED(&root->lock);
	bool due = false;
	while (!atomic_load(&root->watch->stop) && !due) {
		int64_t now = srv_watch_now_ns();
		if (root->want_scan && root->scan_at_ns <= now)
			break;
		int64_t next = root->want_scan && root->scan_at_ns < until_ns ? root->scan_at_ns : until_ns;
		until = (struct timespec){next / 1000000000, next % 1000000000};
		due = now >= until_ns;
		if (!due)
			pthread_cond_timedwait(&root->wake, &root->lock, &until);
	}
	return due;
}

/* Whether a changed file is stable, and not being saved. */
static bool is_settled(watch_root *root, const srv_file_entry *entry)
{
	srv_stat now;
	if (!srv_stat_path(root->dir_fd, entry->path, &now) || !srv_stat_equal(&now, &entry->stat))
		return false;
	return !srv_is_saved_now(root->dir_fd, entry->path);
}

typedef struct difference {
	size_t *changed;  /* indices into the new list */
	srv_stat *before; /* previous state of each; zero for a new one */
	size_t count;
	path_set ready; /* paths to report */
} difference;

static void compare_lists(const srv_file_list *old, const srv_file_list *young, difference *out)
{
	size_t i = 0, k = 0;
	out->changed = hob_must(calloc(young->count + 1, sizeof *out->changed));
	out->before = hob_must(calloc(young->count + 1, sizeof *out->before));
	while (i < old->count || k < young->count) {
		int order = i == old->count		? 1
					: k == young->count ? -1
										: hob_str_compare(old->entries[i].path, young->entries[k].path);
		if (order < 0) {
			if (!srv_file_list_is_unread(young, old->entries[i].path))
				srv_path_set_put(&out->ready, old->entries[i].path);
			i++;
			continue;
		}
		srv_stat before = order == 0 ? old->entries[i].stat : (srv_stat){0};
		if (order > 0 || !srv_stat_equal(&before, &young->entries[k].stat)) {
			out->before[out->count] = before;
			out->changed[out->count++] = k;
		}
		i += order == 0;
		k++;
	}
}

static void post_changed(watch_root *root, path_set *paths)
{
	if (paths->live == 0) {
		srv_path_set_release(paths);
		return;
	}
	watch_message *changed = srv_watch_message_new(root, MESSAGE_CHANGED);
	changed->paths = *paths;
	*paths = (path_set){0};
	srv_watch_post(root->watch, changed);
}

/* Checks files that no list contains one by one. */
static void poll_extras(watch_root *root, path_set *ready)
{
	SRV_LOCKED(&root->lock);
	for (size_t i = 0; i < root->extras.names.used; i++) {
		extra_file *file = &root->extras.files[i];
		srv_file_entry entry = {.path = root->extras.names.items[i].path};
		bool there = srv_stat_path(root->dir_fd, entry.path, &entry.stat);
		if (!there && srv_is_passing(errno))
			continue;
		if (srv_stat_equal(&entry.stat, &file->seen) || (there && !is_settled(root, &entry)))
			continue;
		file->seen = entry.stat;
		srv_path_set_put(ready, entry.path);
	}
}

static void poll_once(watch_root *root)
{
	scan_result result;
	difference found = {0};
	srv_watch_scan(root, false, &result);
	if (result.failed && !result.stopped && !may_pass(root, result.failed)) {
		drop_scan(root, &result);
		return;
	}
	srv_path_set_release(&result.links);
	if (result.stopped) {
		srv_file_list_drop(result.files);
		return;
	}
	compare_lists(root->known, result.files, &found);
	uint32_t every = root->watch->options.poll_ms;
	if (found.count > 0)
		wait_until(root, srv_watch_now_ns() + watch_ms(every < SETTLE_MS ? every : SETTLE_MS));
	for (size_t i = 0; i < found.count; i++) {
		srv_file_entry *entry = &result.files->entries[found.changed[i]];
		if (is_settled(root, entry))
			srv_path_set_put(&found.ready, entry->path);
		else
			entry->stat = found.before[i]; /* the next round finds it different again */
	}
	poll_extras(root, &found.ready);
	post_changed(root, &found.ready);
	free(found.changed);
	free(found.before);
	srv_file_list_drop(root->known);
	root->known = result.files;
}

/* ---- the thread */

/* Checks whether the root was renamed, replaced, mounted over or unmounted without a record. */
static void check_root(watch_root *root)
{
	struct stat info;
	int fd = open_root(root, &info);
	if (fd < 0 && may_pass(root, errno)) {
		scan_later(root, errno);
		return;
	}
	bool same = fd >= 0 && !root->missing && info.st_dev == root->device && info.st_ino == root->inode;
	srv_close(fd);
	if (same) {
		if (root->polling)
			poll_once(root);
		return;
	}
	if (fd < 0 && root->missing)
		return;
	if (root->missing && root->unreadable) {
		scan(root);
		return;
	}
	char why[200];
	snprintf(why, sizeof why, "the folder %.120s %s", root->path,
			 fd < 0			 ? "is gone"
			 : root->missing ? "is there (again)"
							 : "was replaced by another one");
	SRV_LOCKED(&root->lock);
	srv_watch_root_doubt(root, 0, why);
}

void *srv_watch_root_main(void *argument)
{
	watch_root *root = argument;
	srv_watch *watch = root->watch;
	int64_t next_check = 0;
	while (!atomic_load(&watch->stop)) {
		bool due = wait_until(root, next_check);
		if (atomic_load(&watch->stop))
			break;
		pthread_mutex_lock(&root->lock);
		bool wanted = root->want_scan && root->scan_at_ns <= srv_watch_now_ns();
		pthread_mutex_unlock(&root->lock);
		if (wanted)
			scan(root);
		else if (due)
			check_root(root);
		next_check = watch->options.once ? INT64_MAX : srv_watch_now_ns() + watch_ms(watch->options.poll_ms);
	}
	srv_watch_thread_ends(watch);
	return NULL;
}
