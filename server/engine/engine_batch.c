#include "engine_private.h"

#include "../cook/changeset_rule.h"
#include "../fs/vcs.h"
#include "../log/log.h"

#include <stdlib.h>
#include <string.h>

/* What belongs together becomes visible together. A delivery of the watch is part of its root's batch while version control
 * works on the folder, or when it brings many files at once; what it makes dirty or removes is a member. A member's outcome is
 * held: rows, view and event are as before. When all members have theirs, and nothing more comes, they are published as one rev. */

enum {
	MANY = 16,		 /* files in one delivery */
	MANY_COMING = 2, /* files that the watch still has to deliver when the first one is already cooked */
	NEW_MS =
		20, /* after a file that is new, was removed or was published alone: it may be the first of many */
	QUIET_MS = 200, /* after the last one of many */
	LOOK_MS = 25,
	COPIES_MAX = 8 /* working copies of one root */
};

typedef struct held_change {
	uint32_t asset; /* HOB_NONE: a newer change replaced it */
	srv_state state;
	hob_buf tail; /* its JSON, from behind the rev */
} held_change;

typedef struct batch {
	bool open, locked, long_pause, has_new;
	uint64_t opened_at, joined_at, alone_at; /* uv_now; alone_at: when a change was last published alone */
	uint32_t *members;
	uint32_t member_count, member_room;
	uint32_t over; /* the first `over` members have their outcome */
	held_change *held;
	uint32_t held_count, held_room, held_live;
	bool publishing;
	uint32_t next, published; /* then: the one in `held` whose turn it is; of this rev so far */
	srv_vcs copies[COPIES_MAX];
	uint32_t copy_count;
	char *looked_in; /* folder whose working copy was looked for last */
} batch;

struct engine_batches {
	uv_timer_t timer;
	batch *gathering;
	uint32_t root_count, open_count;
	batch of[]; /* by root */
};

static batch *batch_of(const srv_engine *engine, const asset *a)
{
	return &engine->batches->of[a->root];
}

static bool is_bulk(const batch *b)
{
	return b->locked || b->long_pause || b->member_count >= MANY;
}

static bool is_busy(const srv_engine *engine, uint32_t id)
{
	const asset *a = &engine->assets[id];
	return a->batched && srv_asset_is_busy(&a->life);
}

/* ---- what is held */

static void count_held(srv_engine *engine)
{
	uint32_t count = 0;
	for (uint32_t r = 0; r < engine->batches->root_count; r++)
		count += engine->batches->of[r].held_live;
	engine->counters.held = count;
}

/* Takes the buffer. False without memory. */
static bool hold(srv_engine *engine, asset *a, uint32_t id, srv_state state, hob_buf *tail)
{
	batch *b = batch_of(engine, a);
	if (!HOB_ROOM(b->held, b->held_room, b->held_count))
		return false;
	b->held[b->held_count++] = (held_change){id, state, *tail};
	b->held_live++;
	a->held = b->held_count;
	*tail = (hob_buf){0};
	count_held(engine);
	return true;
}

/* A new file that is saved again is not the first of many: a person works on it and wants to see it. */
static bool is_saved_again(const batch *b, const asset *a)
{
	return a->life.next.id != 0 && !is_bulk(b);
}

static void drop(srv_engine *engine, asset *a)
{
	batch *b = batch_of(engine, a);
	if (a->held == 0)
		return;
	held_change *h = &b->held[a->held - 1];
	hob_buf_release(&h->tail);
	h->asset = HOB_NONE;
	b->held_live--;
	a->held = 0;
	count_held(engine);
}

static void remove_member(batch *b, asset *a, uint32_t id)
{
	for (uint32_t i = 0; a->batched && i < b->member_count; i++)
		if (b->members[i] == id) {
			b->members[i] = b->members[--b->member_count];
			b->over = 0;
			break;
		}
	a->batched = false;
}

bool srv_engine_hold(srv_engine *engine, asset *a, const engine_job *job, srv_state state, hob_buf *tail)
{
	bool removed = state == SRV_REMOVED;
	batch *b = batch_of(engine, a);
	uint32_t id = (uint32_t)(a - engine->assets);
	if (!engine->ready || engine->closing)
		return false;
	/* The first of many files comes alone, and the others follow at once. */
	bool saved = job && (job->priority == SRV_PRIORITY_CHANGED || job->priority == SRV_PRIORITY_IN_USE);
	bool is_new = saved && !removed && !a->shown && !a->life.good_is_preview && !is_saved_again(b, a);
	bool many = (saved || removed) && engine->watch && srv_watch_collecting(engine->watch) >= MANY_COMING;
	if (!a->batched && (many || is_new || removed) && !srv_waiters_has(&engine->waiters, id)) {
		srv_engine_join(engine, id);
		b->has_new = b->has_new || is_new || removed;
	}
	b->alone_at = a->batched || !(saved || removed) ? b->alone_at : uv_now(engine->loop);
	if (!a->batched)
		return false;
	drop(engine, a);
	if (!removed && is_saved_again(b, a)) {
		remove_member(b, a, id);
		return false;
	}
	return hold(engine, a, id, state, tail);
}

/* The held change of a file that has come or gone since is out of date; a newer one follows. */
static bool is_true(const engine_change *change)
{
	return (change->state == SRV_REMOVED) == !srv_asset_is_alive(&change->a->life);
}

/* If the index could not be written, there is no record. The asset is then cooked again and published alone. */
static bool can_be_shown(srv_engine *engine, const engine_change *change)
{
	return change->state == SRV_REMOVED || !srv_engine_has_lost_recipe(engine, change->a);
}

static void cook_again(srv_engine *engine, asset *a)
{
	a->batched = a->has_last = false;
	srv_asset_dirty(engine, (uint32_t)(a - engine->assets), SRV_PRIORITY_BACKGROUND, "retry", (hob_str){0});
}

static void publish_held(srv_engine *engine, batch *b, held_change *h)
{
	if (h->asset == HOB_NONE)
		return;
	asset *a = &engine->assets[h->asset];
	hob_buf tail = h->tail;
	h->tail = (hob_buf){0};
	engine_change change = {.a = a, .state = h->state, .tail = hob_buf_str(&tail)};
	drop(engine, a);
	if (is_true(&change) && can_be_shown(engine, &change)) {
		srv_publish_change(engine, &change);
		b->published++;
	} else if (is_true(&change)) {
		cook_again(engine, a);
	}
	hob_buf_release(&tail);
}

/* Publishes one rev over several turns. True: it is complete. */
static bool publish(srv_engine *engine, batch *b, bool all)
{
	if (b->held_count == 0)
		return true;
	if (!b->publishing)
		srv_publish_begin(engine);
	b->publishing = true;
	for (uint32_t done = 0; b->next < b->held_count && (all || srv_engine_has_time(engine, done)); done++)
		publish_held(engine, b, &b->held[b->next++]);
	if (b->next < b->held_count)
		return false;
	srv_publish_end(engine);
	if (b->published > 1)
		srv_log(SRV_LOG_INFO, "published", "%u changes together, as rev %llu", b->published,
				(unsigned long long)engine->rev);
	engine->counters.batches += b->published > 1;
	b->held_count = b->next = b->published = 0;
	b->publishing = false;
	return true;
}

void srv_engine_finish_publishing(srv_engine *engine)
{
	for (uint32_t r = 0; engine->changeset.open && r < engine->batches->root_count; r++)
		if (engine->batches->of[r].publishing)
			publish(engine, &engine->batches->of[r], true);
}

/* ---- members */

static void open_batch(srv_engine *engine, batch *b, hob_str root)
{
	b->open = true;
	b->opened_at = uv_now(engine->loop);
	if (engine->batches->open_count++ == 0)
		uv_timer_start(&engine->batches->timer, srv_engine_on_batch_timer, LOOK_MS, LOOK_MS);
	if (b->locked)
		srv_log(SRV_LOG_INFO, "holding",
				"version control changes %.*s: what it changes is published together", HOB_FMT(root));
}

void srv_engine_join(srv_engine *engine, uint32_t id)
{
	asset *a = &engine->assets[id];
	batch *b = batch_of(engine, a);
	b->joined_at = uv_now(engine->loop);
	if (a->batched) {
		b->over = 0;
		return;
	}
	if (!HOB_ROOM(b->members, b->member_room, b->member_count))
		return;
	if (!b->open)
		open_batch(engine, b, engine->roots[a->root].name);
	a->batched = true;
	b->members[b->member_count++] = id;
}

bool srv_engine_joins(srv_engine *engine, uint32_t id, bool gone)
{
	const asset *a = &engine->assets[id];
	batch *b = batch_of(engine, a);
	if (engine->batches->gathering != b || srv_waiters_has(&engine->waiters, id))
		return false;
	/* A held version of it exists, so it is saved again, unless many files are. */
	return gone || a->held == 0 || b->held[a->held - 1].state == SRV_REMOVED || is_bulk(b);
}

void srv_engine_leave(srv_engine *engine, uint32_t id)
{
	asset *a = &engine->assets[id];
	batch *b = batch_of(engine, a);
	bool busy = is_busy(engine, id);
	remove_member(b, a, id);
	if (a->held == 0)
		return;
	held_change *h = &b->held[a->held - 1];
	hob_buf tail = h->tail;
	h->tail = (hob_buf){0};
	engine_change change = {.a = a, .state = h->state, .tail = hob_buf_str(&tail)};
	drop(engine, a);
	if (!busy && is_true(&change) && can_be_shown(engine, &change))
		srv_publish_changes(engine, &change, 1);
	else if (!busy && is_true(&change))
		cook_again(engine, a);
	hob_buf_release(&tail);
}

static void close_batch(srv_engine *engine, batch *b)
{
	for (uint32_t i = 0; i < b->member_count; i++)
		engine->assets[b->members[i]].batched = false;
	b->member_count = b->over = 0;
	b->open = b->locked = b->long_pause = b->has_new = false;
	if (--engine->batches->open_count == 0)
		uv_timer_stop(&engine->batches->timer);
}

void srv_engine_publish_held(srv_engine *engine)
{
	srv_engine_finish_publishing(engine);
	for (uint32_t r = 0; r < engine->batches->root_count; r++)
		if (engine->batches->of[r].open) {
			publish(engine, &engine->batches->of[r], true);
			close_batch(engine, &engine->batches->of[r]);
		}
}

bool srv_engine_in_batch(const srv_engine *engine, uint32_t root)
{
	return root == HOB_NONE ? engine->batches->open_count > 0 : engine->batches->of[root].open;
}

/* ---- when it begins and when it is over */

static bool is_locked(const batch *b)
{
	bool locked = false;
	for (uint32_t i = 0; i < b->copy_count && !locked; i++)
		locked = srv_vcs_locked(&b->copies[i]);
	return locked;
}

static bool has_moved(batch *b)
{
	bool moved = false;
	for (uint32_t i = 0; i < b->copy_count; i++)
		moved = srv_vcs_moved(&b->copies[i]) || moved;
	return moved;
}

static void add_copy(batch *b, const srv_vcs *copy)
{
	for (uint32_t i = 0; i < b->copy_count; i++)
		if (strcmp(b->copies[i].index, copy->index) == 0)
			return;
	if (copy->index[0] && b->copy_count < COPIES_MAX)
		b->copies[b->copy_count++] = *copy;
}

/* A root may contain working copies: submodules, or several checkouts. */
static void look_below(srv_engine *engine, batch *b, uint32_t root, hob_str path)
{
	hob_str dir = hob_path_dir(path);
	srv_vcs copy;
	if (dir.len == 0 || (b->looked_in && hob_str_equal(hob_str_of(b->looked_in), dir)))
		return;
	free(b->looked_in);
	b->looked_in = strndup(dir.data, dir.len);
	srv_vcs_find_below(engine->options.roots[root].path, dir, &copy);
	add_copy(b, &copy);
}

static bool look_at_copies(batch *b)
{
	bool moved = has_moved(b), locked = is_locked(b);
	b->locked = locked || (b->open && b->locked);
	b->long_pause = locked || moved || (b->open && b->long_pause);
	return locked || moved;
}

void srv_engine_gather(srv_engine *engine, uint32_t root, const hob_str *paths, size_t count)
{
	batch *b = &engine->batches->of[root];
	uint64_t now = uv_now(engine->loop);
	if (!engine->ready || count == 0)
		return;
	look_below(engine, b, root, paths[0]);
	bool folders = false;
	for (size_t i = 0; i < count && !folders; i++)
		folders = paths[i].len > 0 && paths[i].data[paths[i].len - 1] == '/';
	bool many = count >= MANY || srv_watch_collecting(engine->watch) >= MANY_COMING;
	bool more = b->open && now - b->joined_at < QUIET_MS;
	bool second = count > 1 && b->alone_at > 0 && now - b->alone_at < NEW_MS;
	bool at_work = look_at_copies(b);
	engine->batches->gathering = at_work || many || folders || more || second ? b : NULL;
}

void srv_engine_gather_scan(srv_engine *engine, uint32_t root)
{
	batch *b = &engine->batches->of[root];
	if (!engine->ready || !engine->scanned[root])
		return;
	look_at_copies(b);
	engine->batches->gathering = b;
}

void srv_engine_gathered(srv_engine *engine)
{
	engine->batches->gathering = NULL;
}

bool srv_engine_gathers(const srv_engine *engine, uint32_t root)
{
	return engine->batches->gathering == &engine->batches->of[root];
}

void srv_engine_gather_more(srv_engine *engine, uint32_t root)
{
	engine->batches->gathering = &engine->batches->of[root];
}

static uint64_t pause_of(const srv_engine *engine, uint32_t root)
{
	const batch *b = &engine->batches->of[root];
	if (b->long_pause || b->member_count >= MANY)
		return QUIET_MS + engine->roots[root].poll_ms;
	return b->has_new ? NEW_MS : 0;
}

static void take_step(srv_engine *engine, uint32_t root)
{
	batch *b = &engine->batches->of[root];
	while (b->over < b->member_count && !is_busy(engine, b->members[b->over]))
		b->over++;
	srv_changeset_facts facts = {.now_ms = uv_now(engine->loop),
								 .opened_at_ms = b->opened_at,
								 .joined_at_ms = b->joined_at,
								 .pause_ms = pause_of(engine, root),
								 .held = b->held_live,
								 .all_over = b->over == b->member_count,
								 .locked = b->locked,
								 .collecting =
									 srv_watch_collecting(engine->watch) > 0 || srv_engine_spreads(engine)};
	bool goes_on = b->publishing;
	srv_changeset_step step = goes_on ? SRV_CHANGESET_RELIEVE : srv_changeset_decide(&facts);
	bool others = engine->changeset.open && !goes_on;
	if (step == SRV_CHANGESET_WAIT || others || !publish(engine, b, false))
		return;
	if (step == SRV_CHANGESET_CLOSE)
		close_batch(engine, b);
	b->opened_at = facts.now_ms;
	if (goes_on) /* the next turn checks whether it is complete */
		srv_engine_go_on(engine);
}

void srv_engine_step_batches(srv_engine *engine)
{
	for (uint32_t r = 0; engine->batches->open_count > 0 && r < engine->batches->root_count; r++)
		if (engine->batches->of[r].open)
			take_step(engine, r);
}

void srv_engine_on_batch_timer(uv_timer_t *timer)
{
	srv_engine *engine = timer->data;
	for (uint32_t r = 0; r < engine->batches->root_count; r++) {
		batch *b = &engine->batches->of[r];
		bool was = b->open && b->locked;
		b->locked = was && is_locked(b);
		if (was && !b->locked)
			b->joined_at = uv_now(engine->loop); /* its last files may still arrive */
	}
	srv_engine_step_batches(engine);
}

/* ---- life */

struct engine_batches *srv_engine_batches_new(const srv_engine_options *options)
{
	struct engine_batches *batches = calloc(1, sizeof *batches + options->root_count * sizeof *batches->of);
	if (batches)
		batches->root_count = options->root_count;
	return batches;
}

uv_timer_t *srv_engine_batch_timer(srv_engine *engine)
{
	return &engine->batches->timer;
}

void srv_engine_batch_find(srv_engine *engine, uint32_t root)
{
	srv_vcs copy;
	batch *b = &engine->batches->of[root];
	if (b->copy_count > 0)
		return;
	srv_vcs_find(engine->options.roots[root].path, &copy);
	add_copy(b, &copy);
}

void srv_engine_batches_free(struct engine_batches *batches)
{
	for (uint32_t r = 0; batches && r < batches->root_count; r++) {
		batch *b = &batches->of[r];
		for (uint32_t i = 0; i < b->held_count; i++)
			hob_buf_release(&b->held[i].tail);
		free(b->members);
		free(b->held);
		free(b->looked_in);
	}
	free(batches);
}
