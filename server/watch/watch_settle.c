#include "watch_internal.h"
#include "../fs/beneath.h"
#include "../fs/spelling.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

/* After many files, more are likely to follow, and no user waits for a single one. */
enum { FEW = 8, MANY_TIMES = 8 };
/* If a file's writers are unknown, it is complete when it has not changed for this long. */
enum { QUIET_MS = 500, WAIT_MAX_MS = 2000, LOOKS_PER_TICK = 256, CREATED_MS = 15, GONE_MS = 15, HOT_MS = 15 };

static path_item *collect(settle_state *s, hob_str path, int64_t now)
{
	if (s->batch.live == 0) {
		s->first_ns = now;
		if (now >= s->hot_until_ns)
			srv_path_set_release(&s->recent);
	}
	s->last_ns = now;
	/* Repeated saves of the same few files still count as few. */
	if (s->recent.live <= FEW)
		srv_path_set_put(&s->recent, path);
	return srv_path_set_put(&s->batch, path);
}

/* Call it when a removed path exists again, or was moved to a known place. */
static void explain_gone(settle_state *s, path_item *item)
{
	if (!item || !item->gone)
		return;
	item->gone = false;
	s->gone--;
}

static void forget_created(settle_state *s, hob_str path)
{
	path_item *item = srv_path_set_find(&s->created, path);
	if (item)
		srv_path_set_remove(&s->created, item);
}

static void forget_rename(settle_state *s)
{
	free(s->rename_from);
	s->rename_from = NULL;
	s->rename_cookie = 0;
}

void srv_settle_complete(watch_root *root, hob_str path, uint32_t rename_cookie, int64_t now)
{
	settle_state *s = &root->settle;
	bool renamed = rename_cookie && rename_cookie == s->rename_cookie;
	forget_created(s, path);
	path_item *item = collect(s, path, now);
	atomic_store(&root->collected, s->batch.live);
	item->complete = true;
	explain_gone(s, item);
	item->renamed = renamed && s->batch.live == 2 && item != s->batch.items &&
					hob_str_equal(s->batch.items[0].path, hob_str_of(s->rename_from));
	if (renamed) {
		explain_gone(s, srv_path_set_find(&s->batch, hob_str_of(s->rename_from)));
		forget_rename(s);
	}
}

void srv_settle_gone(watch_root *root, hob_str path, uint32_t rename_cookie, int64_t now)
{
	settle_state *s = &root->settle;
	forget_created(s, path);
	path_item *item = collect(s, path, now);
	item->complete = false;
	s->gone += !item->gone;
	item->gone = true;
	atomic_store(&root->collected, s->batch.live);
	if (rename_cookie) {
		free(s->rename_from);
		s->rename_from = strndup(path.data, path.len);
		s->rename_cookie = s->rename_from ? rename_cookie : 0;
	}
}

void srv_settle_created(watch_root *root, hob_str path, int64_t now)
{
	settle_state *s = &root->settle;
	path_item *item = srv_path_set_put(&s->created, path);
	uint32_t window = root->watch->options.window_us / 1000;
	item->wait_ms = window > CREATED_MS ? window : CREATED_MS;
	item->due_ns = now + watch_ms(item->wait_ms);
	item->seen = (srv_stat){0};
	if (s->created.live == 1 || item->due_ns < s->created_due_ns)
		s->created_due_ns = item->due_ns;
}

void srv_settle_extra(watch_root *root, hob_str path, uint32_t mask, int64_t now)
{
	/* Watches first, then reports: a change in between is reported twice instead of never. */
	uint32_t count = srv_watch_extra_event(root, path, mask);
	const watch_extras *x = &root->extras;
	for (uint32_t i = 0; i < count; i++) {
		hob_str file = x->names.items[x->found[i].file].path;
		if (x->found[i].below || mask & (IN_MOVED_FROM | IN_DELETE))
			srv_settle_gone(root, file, 0, now);
		else if (mask & (IN_CREATE | IN_MODIFY | IN_ATTRIB) && !srv_spelling_is(file))
			srv_settle_created(root, file, now);
		else
			srv_settle_complete(root, file, 0, now);
	}
}

void srv_settle_clear(watch_root *root)
{
	settle_state *s = &root->settle;
	srv_path_set_release(&s->batch);
	srv_path_set_release(&s->created);
	srv_path_set_release(&s->recent);
	forget_rename(s);
	free(s->alone);
	*s = (settle_state){0};
	atomic_store(&root->collected, 0);
}

/* ---- files that were created and not closed */

typedef enum creation { CREATION_DONE, CREATION_GONE, CREATION_OPEN } creation;

/* hurried: a file that is open for writing is reported, too; who reads it finds that out. */
static creation look_at(watch_root *root, path_item *item, bool hurried)
{
	struct stat info;
	int fd = srv_open_beneath(root->dir_fd, item->path.data, O_PATH, false);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? CREATION_GONE : CREATION_DONE;
	bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
	close(fd);
	if (!regular)
		return CREATION_DONE;
	fd = srv_open_beneath(root->dir_fd, item->path.data, O_RDONLY, false);
	srv_writers writers = fd >= 0 ? srv_find_writers(fd) : SRV_WRITERS_UNKNOWN;
	srv_close(fd);
	srv_stat now = srv_stat_of(&info);
	bool same = srv_stat_equal(&now, &item->seen);
	item->seen = now;
	if (writers == SRV_WRITERS_UNKNOWN && !hurried)
		return same && item->wait_ms >= QUIET_MS ? CREATION_DONE : CREATION_OPEN;
	/* A memory map may stay for good. */
	bool done = writers == SRV_WRITERS_NONE || hurried || !srv_is_saved_now(root->dir_fd, item->path);
	return done ? CREATION_DONE : CREATION_OPEN;
}

static void look_at_created(watch_root *root, int64_t now, bool hurried)
{
	settle_state *s = &root->settle;
	int looks = 0;
	int64_t next = INT64_MAX;
	for (size_t i = 0; i < s->created.used; i++) {
		path_item *item = &s->created.items[i];
		if (!item->path.data)
			continue;
		if (item->due_ns <= now && looks < LOOKS_PER_TICK) {
			looks++;
			creation found = look_at(root, item, hurried);
			if (found == CREATION_OPEN) {
				uint32_t wait = item->wait_ms * 2;
				item->wait_ms = wait < WAIT_MAX_MS ? wait : WAIT_MAX_MS;
				item->due_ns = now + watch_ms(item->wait_ms);
			} else {
				char path[PATH_MAX];
				hob_str copy = {path, item->path.len};
				memcpy(path, item->path.data, item->path.len + 1);
				if (found == CREATION_DONE) {
					srv_watch_extra_learn(root, copy);
					srv_settle_complete(root, copy, 0, now);
				} else {
					srv_path_set_remove(&s->created, item);
				}
				continue;
			}
		}
		if (item->due_ns < next)
			next = item->due_ns;
	}
	s->created_due_ns = next;
}

/* ---- delivery */

static bool is_alone(const settle_state *s)
{
	if (s->batch.live == 1)
		return s->batch.items[s->batch.used - 1].complete;
	return s->batch.live == 2 && s->batch.used == 2 && s->batch.items[1].complete &&
		   s->batch.items[1].renamed;
}

/* Whether the file last delivered alone is saved again; or this is the second half of a save by rename. No
 * other file is involved, so nothing needs to be collected. */
static bool same_file_again(const settle_state *s)
{
	if (!s->alone || !is_alone(s))
		return false;
	const path_item *last = &s->batch.items[s->batch.used - 1], *first = last - (s->batch.live - 1);
	return strcmp(first->path.data, s->alone) == 0 || strcmp(last->path.data, s->alone) == 0;
}

static void send_batch(watch_root *root, bool alone, int64_t now)
{
	settle_state *s = &root->settle;
	free(s->alone);
	s->alone = alone ? strdup(s->batch.items[s->batch.used - 1].path.data) : NULL;
	uint32_t window = root->watch->options.window_us / 1000;
	s->hot_until_ns = now + watch_ms(window > HOT_MS ? window : HOT_MS);
	s->gone = 0;
	srv_watch_extra_expand(root, &s->batch);
	watch_message *changed = srv_watch_message_new(root, MESSAGE_CHANGED);
	changed->paths = s->batch;
	s->batch = (path_set){0};
	srv_watch_post(root->watch, changed);
	atomic_store(&root->collected, 0);
}

void srv_settle_hurry(watch_root *root, int64_t now)
{
	settle_state *s = &root->settle;
	for (size_t i = 0; i < s->created.used; i++)
		s->created.items[i].due_ns = now;
	s->created_due_ns = now;
	while (s->created.live > 0 && s->created_due_ns <= now)
		look_at_created(root, now, true);
	if (s->batch.live > 0)
		send_batch(root, is_alone(s), now);
}

int64_t srv_settle_tick(watch_root *root, int64_t now)
{
	settle_state *s = &root->settle;
	const srv_watch_options *options = &root->watch->options;
	if (root->held)
		return INT64_MAX;
	if (now < root->changing_until_ns)
		return root->changing_until_ns;
	if (s->created.live > 0 && s->created_due_ns <= now)
		look_at_created(root, now, false);
	int64_t due = s->created.live > 0 ? s->created_due_ns : INT64_MAX;
	if (s->batch.live == 0)
		return due;
	bool alone = is_alone(s), hot = now < s->hot_until_ns;
	/* No user waits for a removal, and more removals follow; but users wait for a save. */
	int64_t window = options->window_us * 1000ll * (s->recent.live > FEW ? MANY_TIMES : 1);
	if (s->gone > 0 && window < watch_ms(GONE_MS))
		window = watch_ms(GONE_MS);
	int64_t quiet = s->last_ns + window, latest = s->first_ns + watch_ms(options->window_max_ms);
	int64_t deadline = quiet < latest ? quiet : latest;
	if (now >= deadline || (alone && (!hot || same_file_again(s)))) {
		send_batch(root, alone, now);
		return due;
	}
	return deadline < due ? deadline : due;
}
