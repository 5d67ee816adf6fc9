#include "watch_internal.h"

#include "../../core/base/array.h"
#include "../../core/base/text_order.h"
#include "../fs/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW_US = 250, WINDOW_MAX_MS = 250, POLL_MS = 2000, STACK_BYTES = 512 << 10 };

int64_t srv_watch_now_ns(void)
{
	return srv_clock_ns(CLOCK_MONOTONIC);
}

/* ---- messages to the loop */

watch_message *srv_watch_message_new(watch_root *root, message_kind kind)
{
	watch_message *made = hob_must(calloc(1, sizeof *made));
	made->kind = kind;
	made->root = root->index;
	return made;
}

static void free_message(watch_message *message)
{
	srv_file_list_drop(message->files);
	srv_path_set_release(&message->paths);
	free(message);
}

static void free_messages(watch_message *first)
{
	for (watch_message *next; first; first = next) {
		next = first->next;
		free_message(first);
	}
}

void srv_watch_post(srv_watch *watch, watch_message *message)
{
	pthread_mutex_lock(&watch->queue_lock);
	*watch->last = message;
	watch->last = &message->next;
	pthread_mutex_unlock(&watch->queue_lock);
	uv_async_send(&watch->async);
}

static watch_message *take_messages(srv_watch *watch)
{
	SRV_LOCKED(&watch->queue_lock);
	watch_message *first = watch->first;
	watch->first = NULL;
	watch->last = &watch->first;
	return first;
}

static bool deliver_changed(srv_watch *watch, watch_message *message, bool again)
{
	size_t count = 0;
	hob_own hob_str *paths = hob_must(malloc(message->paths.live * sizeof *paths));
	for (size_t i = 0; i < message->paths.used; i++)
		if (message->paths.items[i].path.data)
			paths[count++] = message->paths.items[i].path;
	atomic_fetch_add(&watch->batches, !again);
	return watch->callbacks.changed(watch->callbacks.user, message->root, paths, count);
}

/* Passes a message to the callbacks. False: not finished. */
static bool deliver(srv_watch *watch, watch_message *message, bool again)
{
	void *user = watch->callbacks.user;
	bool done = true;
	switch (message->kind) {
	case MESSAGE_SCANNED:
		watch->delivered = message->files;
		done = watch->callbacks.scanned(user, message->root, message->files->entries, message->files->count);
		watch->delivered = NULL;
		break;
	case MESSAGE_CHANGED:
		done = deliver_changed(watch, message, again);
		break;
	case MESSAGE_RESET:
		watch->callbacks.reset(user, message->root, message->why);
		break;
	case MESSAGE_MODE:
		if (message->root < WATCH_ROOTS_MAX)
			watch->facts[message->root] = message->facts;
		watch->callbacks.mode(user, message->root, message->mode, message->why);
		break;
	case MESSAGE_GONE:
		watch->callbacks.gone(user, message->root, message->why);
		break;
	case MESSAGE_PASSED:
		watch->callbacks.passed(user, message->root, message->number, message->seen);
		break;
	}
	return done;
}

static size_t paths_in(const watch_message *message)
{
	size_t count = 0;
	for (; message; message = message->next)
		count += message->kind == MESSAGE_CHANGED ? message->paths.live : 0;
	return count;
}

size_t srv_watch_collecting(srv_watch *watch)
{
	size_t count = watch->paused ? paths_in(watch->pending) : 0;
	pthread_mutex_lock(&watch->queue_lock);
	count += paths_in(watch->first);
	pthread_mutex_unlock(&watch->queue_lock);
	for (uint32_t i = 0; i < watch->root_count; i++) {
		watch_root *root = watch->roots[i];
		int unread = 0;
		count += atomic_load(&root->collected);
		if (pthread_mutex_trylock(&root->lock) != 0)
			continue;
		if (root->inotify_fd >= 0 && ioctl(root->inotify_fd, FIONREAD, &unread) == 0)
			count += (size_t)unread / sizeof(struct inotify_event);
		pthread_mutex_unlock(&root->lock);
	}
	return count;
}

/* ---- close */

static void free_watch(srv_watch *watch)
{
	for (uint32_t i = 0; i < watch->root_count; i++)
		srv_watch_root_free(watch->roots[i]);
	free(watch->roots);
	free_messages(watch->pending);
	free_messages(take_messages(watch));
	srv_close(watch->reader_wake);
	pthread_mutex_destroy(&watch->queue_lock);
	pthread_mutex_destroy(&watch->roots_lock);
	free(watch);
}

static void on_closed(uv_handle_t *handle)
{
	srv_watch *watch = handle->data;
	void (*done)(void *) = watch->done;
	void *user = watch->done_user;
	free_watch(watch);
	if (done)
		done(user);
}

static void join_threads(srv_watch *watch)
{
	pthread_join(watch->reader, NULL);
	for (uint32_t i = 0; i < watch->root_count; i++)
		pthread_join(watch->roots[i]->thread, NULL);
	uv_close((uv_handle_t *)&watch->async, on_closed);
}

static void on_async(uv_async_t *async)
{
	srv_watch *watch = async->data;
	bool again = watch->paused;
	watch_message **end = &watch->pending;
	while (*end)
		end = &(*end)->next;
	if (!watch->options.held || watch->closing)
		*end = take_messages(watch);
	watch->paused = false;
	while (watch->pending && !watch->paused) {
		watch_message *message = watch->pending;
		if (!watch->closing && !deliver(watch, message, again)) {
			watch->paused = true;
			uv_async_send(async);
			continue;
		}
		again = false;
		watch->pending = message->next;
		free_message(message);
	}
	if (watch->closing && atomic_load(&watch->threads) == 0 && !uv_is_closing((uv_handle_t *)async))
		join_threads(watch);
}

void srv_watch_thread_ends(srv_watch *watch)
{
	/* As soon as the count is zero and this thread is joined, the loop may free everything, so wake it before
	 * that. */
	atomic_fetch_sub(&watch->threads, 1);
	uv_async_send(&watch->async);
}

void srv_watch_close(srv_watch *watch, void (*done)(void *user), void *user)
{
	assert(!watch->closing);
	watch->closing = true;
	watch->done = done;
	watch->done_user = user;
	atomic_store(&watch->stop, true);
	srv_watch_wake_reader(watch);
	for (uint32_t i = 0; i < watch->root_count; i++) {
		SRV_LOCKED(&watch->roots[i]->lock);
		pthread_cond_signal(&watch->roots[i]->wake);
	}
}

/* ---- start */

static bool start_thread(srv_watch *watch, pthread_t *thread, void *(*body)(void *), void *argument,
						 hob_error *err)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	atomic_fetch_add(&watch->threads, 1);
	int code = pthread_create(thread, &attributes, body, argument);
	pthread_attr_destroy(&attributes);
	if (code == 0)
		return true;
	atomic_fetch_sub(&watch->threads, 1);
	return hob_fail(err, IO, "cannot start a thread of the watcher: %s", strerror(code));
}

bool srv_watch_new(uv_loop_t *loop, const srv_watch_options *options, const srv_watch_callbacks *callbacks,
				   srv_watch **out, hob_error *err)
{
	srv_watch *watch = hob_must(calloc(1, sizeof *watch));
	srv_watch_options o = options ? *options : (srv_watch_options){0};
	o.window_us = o.window_us ? o.window_us : WINDOW_US;
	o.window_max_ms = o.window_max_ms ? o.window_max_ms : WINDOW_MAX_MS;
	o.poll_ms = o.poll_ms ? o.poll_ms : POLL_MS;
	watch->options = o;
	watch->callbacks = *callbacks;
	watch->last = &watch->first;
	watch->async.data = watch;
	pthread_mutex_init(&watch->queue_lock, NULL);
	pthread_mutex_init(&watch->roots_lock, NULL);
	watch->reader_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int code = watch->reader_wake < 0 ? -errno : uv_async_init(loop, &watch->async, on_async);
	if (code != 0) {
		(void)hob_fail(err, IO, "cannot join the event loop: %s", uv_strerror(code));
		free_watch(watch);
		return false;
	}
	if (!start_thread(watch, &watch->reader, srv_watch_reader_main, watch, err)) {
		uv_close((uv_handle_t *)&watch->async, on_closed);
		return false;
	}
	*out = watch;
	return true;
}

static watch_root *new_root(srv_watch *watch, uint32_t index, const char *path)
{
	watch_root *root = hob_must(calloc(1, sizeof *root));
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	/* Held for at most one system call, thousands of times per scan: spinning costs less than sleeping. */
	pthread_mutexattr_t kind;
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(&root->lock, &kind);
	pthread_mutexattr_destroy(&kind);
	pthread_cond_init(&root->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	root->watch = watch;
	root->index = index;
	root->path = hob_must(strdup(path));
	root->dir_fd = root->inotify_fd = -1;
	root->want_scan = root->held = true;
	return root;
}

bool srv_watch_add_root(srv_watch *watch, uint32_t index, const char *path, hob_error *err)
{
	assert(path[0] == '/' && !watch->closing);
	if (watch->root_count == WATCH_ROOTS_MAX)
		return hob_fail(err, LIMIT, "more than %d roots; merge some into a common folder", WATCH_ROOTS_MAX);
	watch_root *root = new_root(watch, index, path);
	if (!start_thread(watch, &root->thread, srv_watch_root_main, root, err)) {
		srv_watch_root_free(root);
		return false;
	}
	pthread_mutex_lock(&watch->roots_lock);
	watch->roots = hob_must(realloc(watch->roots, (watch->root_count + 1) * sizeof *watch->roots));
	watch->roots[watch->root_count++] = root;
	pthread_mutex_unlock(&watch->roots_lock);
	srv_watch_wake_reader(watch);
	return true;
}

void srv_watch_deliver(srv_watch *watch)
{
	watch->options.held = false;
	uv_async_send(&watch->async);
}

watch_root *srv_watch_lock_root(srv_watch *watch, uint32_t index)
{
	for (uint32_t i = 0; i < watch->root_count; i++)
		if (watch->roots[i]->index == index) {
			pthread_mutex_lock(&watch->roots[i]->lock);
			return watch->roots[i];
		}
	return NULL;
}

void srv_watch_rescan(srv_watch *watch, uint32_t index)
{
	watch_root *root = srv_watch_lock_root(watch, index);
	if (!root)
		return;
	root->want_scan = root->held = true;
	root->retry_inotify = true;
	root->scan_at_ns = 0;
	pthread_cond_signal(&root->wake);
	pthread_mutex_unlock(&root->lock);
}

uint64_t srv_watch_mark(srv_watch *watch, uint32_t index)
{
	watch_root *root = srv_watch_lock_root(watch, index);
	assert(root && watch->callbacks.passed);
	uint64_t number = ++root->marks_set;
	pthread_mutex_unlock(&root->lock);
	srv_watch_wake_reader(watch);
	return number;
}

void srv_watch_wake_reader(srv_watch *watch)
{
	srv_wake(watch->reader_wake);
}

void srv_watch_hold_reader(srv_watch *watch, bool hold)
{
	atomic_store(&watch->reader_held, hold);
	srv_watch_wake_reader(watch);
}

bool srv_watch_ignores(watch_root *root, hob_str path)
{
	const srv_watch_options *options = &root->watch->options;
	return options->ignore && options->ignore(options->ignore_user, root->index, path);
}

void srv_watch_tell(const srv_watch *watch, uint32_t root, srv_watch_facts *out)
{
	*out = (srv_watch_facts){.file_system = "unknown"};
	if (root < WATCH_ROOTS_MAX && watch->facts[root].file_system)
		*out = watch->facts[root];
}

void srv_watch_count(const srv_watch *watch, srv_watch_counters *out)
{
	*out = (srv_watch_counters){
		.events = atomic_load(&watch->events),
		.batches = atomic_load(&watch->batches),
		.overflows = atomic_load(&watch->overflows),
		.scans = atomic_load(&watch->scans),
		.watches = atomic_load(&watch->watches),
	};
}

bool srv_watch_is_unread(const srv_watch *watch, hob_str path)
{
	return srv_file_list_is_unread(watch->delivered, path);
}

hob_str srv_watch_outside(const srv_watch *watch, size_t at)
{
	const path_set *outside = &watch->delivered->outside;
	return at < outside->used ? outside->items[at].path : (hob_str){0};
}

bool srv_file_list_is_unread(const srv_file_list *list, hob_str path)
{
	for (size_t i = 0; i < list->unread.used; i++) {
		hob_str above = list->unread.items[i].path;
		if (above.len == 0 ||
			(hob_str_starts(path, above) && (path.len == above.len || path.data[above.len] == '/')))
			return true;
	}
	return false;
}

srv_file_list *srv_watch_keep_list(srv_watch *watch)
{
	assert(watch->delivered);
	return srv_file_list_keep(watch->delivered);
}

/* The first entry at or after `path`. */
static size_t place_of(const srv_file_list *list, hob_str path)
{
	size_t low = 0, high = list->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (hob_str_compare(list->entries[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const srv_file_entry *srv_file_list_find(const srv_file_list *list, hob_str path)
{
	size_t at = place_of(list, path);
	return at < list->count && hob_str_equal(list->entries[at].path, path) ? &list->entries[at] : NULL;
}

const srv_file_entry *srv_file_list_below(const srv_file_list *list, hob_str prefix, size_t *count)
{
	size_t at = place_of(list, prefix), end = at;
	while (end < list->count && hob_str_starts(list->entries[end].path, prefix))
		end++;
	*count = end - at;
	return list->entries + at;
}

srv_file_list *srv_file_list_keep(srv_file_list *list)
{
	atomic_fetch_add(&list->references, 1);
	return list;
}

void srv_file_list_drop(srv_file_list *list)
{
	if (!list || atomic_fetch_sub(&list->references, 1) > 1)
		return;
	for (uint32_t i = 0; i < list->arena_count; i++)
		hob_arena_release(&list->arenas[i]);
	free(list->arenas);
	srv_path_set_release(&list->unread);
	srv_path_set_release(&list->outside);
	free(list->entries);
	free(list);
}
