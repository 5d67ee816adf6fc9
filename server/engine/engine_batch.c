#include "engine_private.h"

#include "../fs/vcs.h"
#include "../log/log.h"

#include <stdlib.h>

/* What belongs together becomes visible together. A delivery of the watch is part of a batch while version control works on the
 * folder, or when it brings many files at once; what it makes dirty or removes is a member. A member's outcome is held: rows,
 * view and event are as before. When all members have theirs, and nothing more comes, they are published as one rev. */

enum {
	MANY = 16,		  /* files in one delivery */
	MANY_COMING = 3,  /* files still to be delivered, when the first of them is cooked already */
	NEW_MS = 20,	  /* after a file that was not there before: it may be the first of many */
	QUIET_MS = 200,	  /* after the last one of many */
	WAIT_MS = 500,	  /* for files that come and make nothing dirty */
	MOST_MS = 30000,  /* then what is there is published */
	MOST_HELD = 8192, /* as well */
	LOOK_MS = 25
};

typedef struct member {
	uint32_t asset;
	bool had_good;
	hob_sha256 good; /* what is served meanwhile */
} member;

typedef struct held_change {
	uint32_t asset; /* HOB_NONE: something newer took its place */
	bool removed;
	hob_buf tail; /* its JSON, from behind the rev */
} held_change;

struct engine_batch {
	uv_timer_t timer;
	bool open, gathering, locked, long_pause, has_new;
	uint64_t opened_at, joined_at; /* uv_now */
	member *members;
	uint32_t member_count, member_room;
	uint32_t over; /* so many from the first have their outcome */
	held_change *held;
	uint32_t held_count, held_room, held_live;
	srv_vcs *vcs; /* by root */
};

static bool is_busy(const srv_engine *engine, uint32_t id)
{
	const asset *a = &engine->assets[id];
	return a->batched && (a->job || a->dirty_again || srv_queue_has(engine->queue, id));
}

static bool somebody_waits(const srv_engine *engine, uint32_t id)
{
	for (uint32_t i = 0; i < engine->waiter_count; i++)
		if (engine->waiters[i].asset == id)
			return true;
	return false;
}

/* ---- what is held */

/* Takes the buffer. False without memory. */
static bool hold(srv_engine *engine, asset *a, uint32_t id, bool removed, hob_buf *tail)
{
	struct engine_batch *b = engine->batch;
	if (b->held_count == b->held_room) {
		uint32_t room = b->held_room ? b->held_room * 2 : 64;
		held_change *held = realloc(b->held, room * sizeof *held);
		if (!held)
			return false;
		b->held = held;
		b->held_room = room;
	}
	b->held[b->held_count++] = (held_change){id, removed, *tail};
	engine->counters.held = ++b->held_live;
	a->held = b->held_count;
	*tail = (hob_buf){0};
	return true;
}

static void drop(srv_engine *engine, asset *a)
{
	struct engine_batch *b = engine->batch;
	if (a->held == 0)
		return;
	held_change *h = &b->held[a->held - 1];
	hob_buf_release(&h->tail);
	h->asset = HOB_NONE;
	engine->counters.held = --b->held_live;
	a->held = 0;
}

bool engine_hold(srv_engine *engine, asset *a, bool removed, hob_buf *tail)
{
	struct engine_batch *b = engine->batch;
	uint32_t id = (uint32_t)(a - engine->assets);
	if (!engine->ready || engine->closing)
		return false;
	/* Of many files the first comes alone: those behind it are on their way, or will be at once. */
	bool saved =
		a->job && (a->job->priority == SRV_PRIORITY_CHANGED || a->job->priority == SRV_PRIORITY_USED);
	bool is_new = saved && !removed && !a->shown && !a->good_is_preview;
	bool many = (saved || removed) && engine->watch && srv_watch_collecting(engine->watch) >= MANY_COMING;
	if (!a->batched && (many || is_new) && !somebody_waits(engine, id)) {
		engine_join(engine, id);
		b->has_new = b->has_new || is_new;
	}
	if (!a->batched)
		return false;
	drop(engine, a);
	return hold(engine, a, id, removed, tail);
}

static void publish(srv_engine *engine)
{
	struct engine_batch *b = engine->batch;
	engine_change *changes = calloc(b->held_live + 1, sizeof *changes);
	uint32_t count = 0;
	for (uint32_t i = 0; i < b->held_count; i++) {
		held_change *h = &b->held[i];
		if (h->asset == HOB_NONE)
			continue;
		asset *a = &engine->assets[h->asset];
		a->held = 0;
		if (changes)
			changes[count++] = (engine_change){.a = a, .removed = h->removed, .tail = hob_buf_str(&h->tail)};
		else
			publish_changes(
				engine, &(engine_change){.a = a, .removed = h->removed, .tail = hob_buf_str(&h->tail)}, 1);
	}
	if (count > 0)
		publish_changes(engine, changes, count);
	if (count > 1)
		srv_log(SRV_LOG_INFO, "published", "%u changes together, as rev %llu", count,
				(unsigned long long)engine->rev);
	for (uint32_t i = 0; i < b->held_count; i++)
		hob_buf_release(&b->held[i].tail);
	b->held_count = b->held_live = 0;
	engine->counters.held = 0;
	engine->counters.batches += count > 1;
	free(changes);
}

/* ---- members */

void engine_join(srv_engine *engine, uint32_t id)
{
	struct engine_batch *b = engine->batch;
	asset *a = &engine->assets[id];
	uint64_t now = uv_now(engine->loop);
	if (a->batched) {
		b->over = 0;
		b->joined_at = now;
		return;
	}
	if (b->member_count == b->member_room) {
		uint32_t room = b->member_room ? b->member_room * 2 : 64;
		member *members = realloc(b->members, room * sizeof *members);
		if (!members)
			return;
		b->members = members;
		b->member_room = room;
	}
	if (!b->open) {
		b->opened_at = now;
		uv_timer_start(&b->timer, engine_on_batch_timer, LOOK_MS, LOOK_MS);
		if (b->locked)
			srv_log(SRV_LOG_INFO, "holding",
					"version control changes %.*s: what it changes is published together",
					HOB_FMT(engine->roots[a->root].name));
	}
	b->open = a->batched = true;
	b->joined_at = now;
	b->members[b->member_count++] = (member){id, a->has_good, a->good};
}

bool engine_joins(srv_engine *engine, uint32_t id)
{
	return engine->batch->gathering && !somebody_waits(engine, id);
}

void engine_leave(srv_engine *engine, uint32_t id)
{
	struct engine_batch *b = engine->batch;
	asset *a = &engine->assets[id];
	bool busy = is_busy(engine, id);
	a->batched = false;
	if (a->held == 0)
		return;
	held_change *h = &b->held[a->held - 1];
	hob_buf tail = h->tail;
	h->tail = (hob_buf){0};
	bool removed = h->removed;
	drop(engine, a);
	if (!busy && removed == !a->alive)
		publish_changes(engine, &(engine_change){.a = a, .removed = removed, .tail = hob_buf_str(&tail)}, 1);
	hob_buf_release(&tail);
}

static void close_batch(srv_engine *engine)
{
	struct engine_batch *b = engine->batch;
	for (uint32_t i = 0; i < b->member_count; i++)
		engine->assets[b->members[i].asset].batched = false;
	b->member_count = b->over = 0;
	b->open = b->locked = b->long_pause = b->has_new = false;
	uv_timer_stop(&b->timer);
}

void engine_publish_held(srv_engine *engine)
{
	publish(engine);
	close_batch(engine);
}

size_t engine_batch_keys(const srv_engine *engine, hob_sha256 *out)
{
	const struct engine_batch *b = engine->batch;
	size_t count = 0;
	for (uint32_t i = 0; i < b->member_count; i++)
		if (b->members[i].had_good) {
			if (out)
				out[count] = b->members[i].good;
			count++;
		}
	return count;
}

bool engine_in_batch(const srv_engine *engine)
{
	return engine->batch->open;
}

/* ---- when it begins and when it is over */

static bool look_at_locks(srv_engine *engine)
{
	struct engine_batch *b = engine->batch;
	bool locked = false;
	for (uint32_t r = 0; r < engine->options.root_count && !locked; r++)
		locked = srv_vcs_locked(&b->vcs[r]);
	return locked;
}

void engine_gather(srv_engine *engine, uint32_t root, const hob_str *paths, size_t count)
{
	struct engine_batch *b = engine->batch;
	if (!engine->ready)
		return;
	bool folders = false;
	for (size_t i = 0; i < count && !folders; i++)
		folders = paths[i].len > 0 && paths[i].data[paths[i].len - 1] == '/';
	bool moved = srv_vcs_moved(&b->vcs[root]), locked = srv_vcs_locked(&b->vcs[root]);
	bool many = count >= MANY || srv_watch_collecting(engine->watch) >= MANY_COMING;
	bool more = b->open && uv_now(engine->loop) - b->joined_at < QUIET_MS;
	b->gathering = moved || locked || many || folders || more;
	b->locked = locked || (b->open && b->locked);
	b->long_pause = locked || moved || (b->open && b->long_pause);
}

void engine_gather_scan(srv_engine *engine, uint32_t root)
{
	engine->batch->gathering = engine->ready && engine->scanned[root];
}

void engine_gathered(srv_engine *engine)
{
	engine->batch->gathering = false;
}

bool engine_is_held_back(const srv_engine *engine)
{
	return engine->batch->open && engine->batch->locked;
}

void engine_step_batch(srv_engine *engine)
{
	struct engine_batch *b = engine->batch;
	if (!b->open)
		return;
	while (b->over < b->member_count && !is_busy(engine, b->members[b->over].asset))
		b->over++;
	uint64_t now = uv_now(engine->loop), quiet = now - b->joined_at;
	bool many = b->long_pause || b->member_count >= MANY;
	bool coming = srv_watch_collecting(engine->watch) > 0 && quiet < WAIT_MS;
	uint64_t pause = many ? QUIET_MS : b->has_new ? NEW_MS : 0;
	bool over = b->over == b->member_count && !b->locked && !coming && quiet >= pause;
	if (over) {
		engine_publish_held(engine);
		engine_answer_waiters(engine);
	} else if (now - b->opened_at >= MOST_MS || b->held_live >= MOST_HELD) {
		publish(engine);
		b->opened_at = now;
	}
}

void engine_on_batch_timer(uv_timer_t *timer)
{
	srv_engine *engine = timer->data;
	struct engine_batch *b = engine->batch;
	bool was = b->locked;
	b->locked = b->locked && look_at_locks(engine);
	if (was && !b->locked) {
		b->joined_at = uv_now(engine->loop); /* its last files may still be on their way */
		engine_fill(engine);
	}
	engine_step_batch(engine);
}

/* ---- life */

struct engine_batch *engine_batch_new(const srv_engine_options *options)
{
	struct engine_batch *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->vcs = calloc(options->root_count + 1, sizeof *b->vcs);
	for (uint32_t r = 0; b->vcs && r < options->root_count; r++)
		srv_vcs_find(options->roots[r].path, &b->vcs[r]);
	if (b->vcs)
		return b;
	free(b);
	return NULL;
}

uv_timer_t *engine_batch_timer(srv_engine *engine)
{
	return &engine->batch->timer;
}

void engine_batch_find(srv_engine *engine, uint32_t root)
{
	srv_vcs *vcs = &engine->batch->vcs[root];
	if (!vcs->index[0])
		srv_vcs_find(engine->options.roots[root].path, vcs);
}

void engine_batch_free(struct engine_batch *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->held_count; i++)
		hob_buf_release(&b->held[i].tail);
	free(b->members);
	free(b->held);
	free(b->vcs);
	free(b);
}
