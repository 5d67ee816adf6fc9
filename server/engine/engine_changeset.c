#include "engine_changeset.h"

#include "../../core/base/array.h"
#include "../cook/changeset_rule.h"
#include "../fs/vcs.h"
#include "../log/log.h"
#include "engine_publish.h"
#include "engine_requests.h"
#include "engine_root.h"
#include "engine_sources.h"
#include "engine_turn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Changes that belong together become visible together. A delivery of the watch joins its root's changeset
 * while version control works on the folder, or when it brings many files at once; the assets that it makes
 * dirty or removes are members. A member's result is held: rows, view and event stay unchanged. When all
 * members have a result, and no more changes arrive, they are published as one rev. */

enum {
	MANY = 16,		 /* files in one delivery */
	MANY_COMING = 2, /* files that the watch has not delivered yet, when the first one is already cooked */
	NEW_MS = 20,	 /* wait after a file that is new, removed or published alone: more may follow */
	QUIET_MS = 200,	 /* wait after the last of many files */
	LOOK_MS = 25,
	COPIES_MAX = 8 /* working copies of one root */
};

typedef struct held_change {
	uint32_t asset; /* HOB_NONE: a newer change replaced it */
	srv_state state;
	hob_buf tail; /* JSON of the change without the rev */
} held_change;

typedef struct changeset {
	bool open, locked, long_pause, has_new;
	uint64_t opened_at, joined_at, alone_at; /* uv_now; alone_at: last publication of a single change */
	uint64_t mark, passed; /* marks of the watch: set when version control finished; newest passed */
	uint32_t *members;
	uint32_t member_count, member_room;
	uint32_t over; /* the first `over` members have a result */
	held_change *held;
	uint32_t held_count, held_room, held_live;
	bool publishing;
	uint32_t next, published; /* during publication: the next one in `held`; number published of this rev */
	srv_vcs copies[COPIES_MAX];
	uint32_t copy_count;
	char *looked_in; /* folder whose working copy was searched last */
} changeset;

struct engine_changesets {
	uv_timer_t timer;
	changeset *gathering;
	uint32_t root_count, open_count;
	changeset of[]; /* by root */
};

static void join(srv_engine *engine, uint32_t id);
static void on_look(uv_timer_t *timer);

static changeset *changeset_of(const srv_engine *engine, const asset *a)
{
	assert(a->root < engine->changesets->root_count);
	return &engine->changesets->of[a->root];
}

static bool is_bulk(const changeset *set)
{
	return set->locked || set->long_pause || set->member_count >= MANY;
}

static bool awaits_mark(const changeset *set)
{
	return set->passed < set->mark;
}

static bool is_busy(const srv_engine *engine, uint32_t id)
{
	const asset *a = srv_asset_at(engine, id);
	return a->changeset.member && srv_asset_is_busy(&a->life);
}

/* ---- held changes */

/* Whether a new file was saved again: a user works on it, so it is not the first of many. */
static bool is_saved_again(const changeset *set, const asset *a)
{
	return a->life.next.id != 0 && !is_bulk(set);
}

static void drop(srv_engine *engine, asset *a)
{
	changeset *set = changeset_of(engine, a);
	if (a->changeset.held == 0)
		return;
	held_change *h = &set->held[a->changeset.held - 1];
	hob_buf_release(&h->tail);
	assert(h->asset == a->id && set->held_live > 0);
	h->asset = HOB_NONE;
	set->held_live--;
	engine->counters.changes.held--;
	a->changeset.held = 0;
}

static void remove_member(changeset *set, asset *a)
{
	for (uint32_t i = 0; a->changeset.member && i < set->member_count; i++)
		if (set->members[i] == a->id) {
			set->members[i] = set->members[--set->member_count];
			set->over = 0;
			break;
		}
	assert(set->over <= set->member_count);
	a->changeset.member = false;
}

bool srv_engine_hold(srv_engine *engine, asset *a, const engine_job *job, srv_state state, hob_buf *tail)
{
	bool removed = state == SRV_REMOVED;
	changeset *set = changeset_of(engine, a);
	uint32_t id = a->id;
	if (!engine->sources->ready || engine->closing)
		return false;
	/* The first of many files arrives alone, and the others follow at once. */
	bool saved = job && (job->life.order.priority == SRV_PRIORITY_CHANGED ||
						 job->life.order.priority == SRV_PRIORITY_IN_USE);
	bool is_new = saved && !removed && !a->shown.any && !a->life.good_is_preview && !is_saved_again(set, a);
	bool many = (saved || removed) && engine->sources->watch &&
				srv_watch_collecting(engine->sources->watch) >= MANY_COMING;
	if (!a->changeset.member && (many || is_new || removed) && !srv_engine_is_waited_for(engine, id)) {
		join(engine, id);
		set->has_new = set->has_new || is_new || removed;
	}
	set->alone_at = a->changeset.member || !(saved || removed) ? set->alone_at : uv_now(engine->loop);
	if (!a->changeset.member)
		return false;
	drop(engine, a);
	if (!removed && is_saved_again(set, a)) {
		remove_member(set, a);
		return false;
	}
	if (!HOB_ROOM(set->held, set->held_room, set->held_count))
		return false;
	set->held[set->held_count++] = (held_change){id, state, *tail};
	set->held_live++;
	assert(set->held_live <= set->held_count && set->next <= set->held_count);
	engine->counters.changes.held++;
	a->changeset.held = set->held_count;
	*tail = (hob_buf){0};
	return true;
}

/* Whether a held change is still true. If the file was added, removed or moved, a newer one follows. */
static bool is_true(const engine_change *change)
{
	const srv_asset *life = &change->a->life;
	return (change->state == SRV_REMOVED) == !srv_asset_is_alive(life) &&
		   (change->state != SRV_FRESH || life->has_good);
}

static void cook_again(srv_engine *engine, asset *a)
{
	a->changeset.member = false;
	srv_asset_forget_last(a);
	if (!srv_engine_root_is_away(engine, a->root))
		srv_engine_apply(engine, a->id,
						 (srv_asset_event){.kind = SRV_ASSET_DIRTY,
										   .reason = "retry",
										   .priority = SRV_PRIORITY_BACKGROUND});
}

/* Publishes the asset's held change if it is still true. Without a record, as the index could not be written,
 * the asset is cooked again and published alone. False: nothing was published. */
static bool publish_held(srv_engine *engine, asset *a)
{
	held_change *h = &changeset_of(engine, a)->held[a->changeset.held - 1];
	hob_own_buf tail = h->tail;
	h->tail = (hob_buf){0};
	engine_change change = {.a = a, .state = h->state, .tail = hob_buf_str(&tail)};
	drop(engine, a);
	bool follows = !is_true(&change);
	bool shown = !follows && (change.state == SRV_REMOVED || !srv_engine_has_lost_record(engine, a));
	if (shown)
		srv_publish_one(engine, &change);
	else if (!follows)
		cook_again(engine, a);
	return shown;
}

/* Publishes one rev over several turns. True: complete. */
static bool publish(srv_engine *engine, changeset *set, bool all)
{
	if (set->held_count == 0)
		return true;
	if (!set->publishing)
		srv_publish_begin(engine);
	set->publishing = true;
	for (uint32_t done = 0; set->next < set->held_count && (all || srv_engine_has_time(engine, done));
		 done++) {
		uint32_t id = set->held[set->next++].asset;
		set->published += id != HOB_NONE && publish_held(engine, srv_asset_at(engine, id));
	}
	assert(set->published <= set->next && set->next <= set->held_count);
	if (set->next < set->held_count)
		return false;
	srv_publish_end(engine);
	if (set->published > 1)
		srv_log(SRV_LOG_INFO, "published", "%u changes together, as rev %llu", set->published,
				(unsigned long long)engine->publishing->rev);
	engine->counters.changes.together += set->published > 1;
	set->held_count = set->next = set->published = 0;
	set->publishing = false;
	return true;
}

void srv_engine_finish_publishing(srv_engine *engine)
{
	for (uint32_t r = 0; engine->publishing->open_rev.open && r < engine->changesets->root_count; r++)
		if (engine->changesets->of[r].publishing)
			publish(engine, &engine->changesets->of[r], true);
}

/* ---- members */

static void set_mark(srv_engine *engine, changeset *set)
{
	set->mark = srv_watch_mark(engine->sources->watch, (uint32_t)(set - engine->changesets->of));
}

void srv_engine_changeset_passed(srv_engine *engine, uint32_t root, uint64_t number)
{
	assert(root < engine->changesets->root_count);
	engine->changesets->of[root].passed = number;
}

static void open_changeset(srv_engine *engine, changeset *set, hob_str root)
{
	assert(engine->changesets->open_count < engine->changesets->root_count);
	set->open = true;
	set->opened_at = uv_now(engine->loop);
	if (engine->changesets->open_count++ == 0)
		uv_timer_start(&engine->changesets->timer, on_look, LOOK_MS, LOOK_MS);
	if (set->locked)
		srv_log(SRV_LOG_INFO, "holding",
				"version control changes %.*s: what it changes is published together", HOB_FMT(root));
	else if (set->long_pause)
		set_mark(engine, set);
}

static void join(srv_engine *engine, uint32_t id)
{
	asset *a = srv_asset_at(engine, id);
	changeset *set = changeset_of(engine, a);
	set->joined_at = uv_now(engine->loop);
	if (a->changeset.member) {
		set->over = 0;
		return;
	}
	if (!HOB_ROOM(set->members, set->member_room, set->member_count))
		return;
	if (!set->open)
		open_changeset(engine, set, engine->roots->shown[a->root].name);
	a->changeset.member = true;
	set->members[set->member_count++] = id;
}

static bool joins(srv_engine *engine, uint32_t id, bool gone)
{
	const asset *a = srv_asset_at(engine, id);
	changeset *set = changeset_of(engine, a);
	if (engine->changesets->gathering != set || srv_engine_is_waited_for(engine, id))
		return false;
	/* If a version of the file is held, it was saved again: it does not join unless many files changed. */
	return gone || a->changeset.held == 0 || set->held[a->changeset.held - 1].state == SRV_REMOVED ||
		   is_bulk(set);
}

void srv_engine_join_or_leave(srv_engine *engine, uint32_t id, bool gone, bool saved)
{
	if (joins(engine, id, gone))
		join(engine, id);
	else if (saved && srv_asset_at(engine, id)->changeset.member)
		srv_engine_leave(engine, id);
}

void srv_engine_leave(srv_engine *engine, uint32_t id)
{
	asset *a = srv_asset_at(engine, id);
	changeset *set = changeset_of(engine, a);
	bool busy = is_busy(engine, id);
	assert(id == a->id && a->changeset.held <= set->held_count);
	remove_member(set, a);
	if (busy)
		drop(engine, a);
	else if (a->changeset.held > 0)
		(void)publish_held(engine, a);
}

static void close_changeset(srv_engine *engine, changeset *set)
{
	for (uint32_t i = 0; i < set->member_count; i++)
		srv_asset_at(engine, set->members[i])->changeset.member = false;
	assert(set->held_count == 0 && engine->changesets->open_count > 0);
	set->member_count = set->over = 0;
	set->open = set->locked = set->long_pause = set->has_new = false;
	if (--engine->changesets->open_count == 0)
		uv_timer_stop(&engine->changesets->timer);
}

void srv_engine_publish_held(srv_engine *engine)
{
	srv_engine_finish_publishing(engine);
	for (uint32_t r = 0; r < engine->changesets->root_count; r++)
		if (engine->changesets->of[r].open) {
			publish(engine, &engine->changesets->of[r], true);
			close_changeset(engine, &engine->changesets->of[r]);
		}
}

bool srv_engine_in_changeset(const srv_engine *engine, uint32_t root)
{
	assert(root < engine->changesets->root_count);
	return root == HOB_NONE ? engine->changesets->open_count > 0 : engine->changesets->of[root].open;
}

/* ---- start and end */

static bool is_locked(const changeset *set)
{
	bool locked = false;
	for (uint32_t i = 0; i < set->copy_count && !locked; i++)
		locked = srv_vcs_locked(&set->copies[i]);
	return locked;
}

static bool has_moved(changeset *set)
{
	bool moved = false;
	for (uint32_t i = 0; i < set->copy_count; i++)
		moved = srv_vcs_moved(&set->copies[i]) || moved;
	return moved;
}

static void add_copy(changeset *set, const srv_vcs *copy)
{
	for (uint32_t i = 0; i < set->copy_count; i++)
		if (strcmp(set->copies[i].index, copy->index) == 0)
			return;
	if (copy->index[0] && set->copy_count < COPIES_MAX)
		set->copies[set->copy_count++] = *copy;
}

/* Looks for a working copy around `path`: a root may contain submodules or several checkouts. */
static void look_below(srv_engine *engine, changeset *set, uint32_t root, hob_str path)
{
	hob_str dir = hob_path_dir(path);
	srv_vcs copy;
	if (dir.len == 0 || (set->looked_in && hob_str_equal(hob_str_of(set->looked_in), dir)))
		return;
	free(set->looked_in);
	set->looked_in = strndup(dir.data, dir.len);
	srv_vcs_find_below(engine->options.roots[root].path, dir, &copy);
	add_copy(set, &copy);
}

/* Looks for a working copy at the root or above. It may have just become one: its index counts as changed. */
static void look_above(srv_engine *engine, changeset *set, uint32_t root)
{
	if (set->copy_count > 0)
		return;
	srv_engine_changeset_find(engine, root);
	if (set->copy_count > 0)
		set->copies[0].seen = (srv_stat){0};
}

static bool look_at_copies(changeset *set)
{
	/* In this order: if the lock is gone at the first check, the second one finds the new index. */
	bool locked = is_locked(set), moved = has_moved(set);
	set->locked = locked || (set->open && set->locked);
	set->long_pause = locked || moved || (set->open && set->long_pause);
	return locked || moved;
}

void srv_engine_gather(srv_engine *engine, uint32_t root, const hob_str *paths, size_t count)
{
	assert(root < engine->changesets->root_count);
	changeset *set = &engine->changesets->of[root];
	uint64_t now = uv_now(engine->loop);
	if (!engine->sources->ready || count == 0)
		return;
	look_above(engine, set, root);
	look_below(engine, set, root, paths[0]);
	bool folders = false;
	for (size_t i = 0; i < count && !folders; i++)
		folders = paths[i].len > 0 && paths[i].data[paths[i].len - 1] == '/';
	bool many = count >= MANY || srv_watch_collecting(engine->sources->watch) >= MANY_COMING;
	bool more = set->open && now - set->joined_at < QUIET_MS;
	bool second = count > 1 && set->alone_at > 0 && now - set->alone_at < NEW_MS;
	bool at_work = look_at_copies(set);
	assert(set->copy_count <= COPIES_MAX && set->joined_at <= now);
	engine->changesets->gathering = at_work || many || folders || more || second ? set : NULL;
}

void srv_engine_gather_scan(srv_engine *engine, uint32_t root)
{
	assert(root < engine->changesets->root_count);
	changeset *set = &engine->changesets->of[root];
	if (!engine->sources->ready || !engine->sources->scanned[root])
		return;
	look_at_copies(set);
	engine->changesets->gathering = set;
}

void srv_engine_gathered(srv_engine *engine)
{
	engine->changesets->gathering = NULL;
}

bool srv_engine_gathers(const srv_engine *engine, uint32_t root)
{
	assert(root < engine->changesets->root_count);
	return engine->changesets->gathering == &engine->changesets->of[root];
}

void srv_engine_gather_more(srv_engine *engine, uint32_t root)
{
	assert(root < engine->changesets->root_count);
	engine->changesets->gathering = &engine->changesets->of[root];
}

static uint64_t pause_of(const srv_engine *engine, uint32_t root)
{
	const changeset *set = &engine->changesets->of[root];
	if (set->long_pause || set->member_count >= MANY)
		return QUIET_MS + engine->roots->shown[root].poll_ms;
	return set->has_new ? NEW_MS : 0;
}

static void take_step(srv_engine *engine, uint32_t root)
{
	changeset *set = &engine->changesets->of[root];
	while (set->over < set->member_count && !is_busy(engine, set->members[set->over]))
		set->over++;
	assert(set->over <= set->member_count && set->held_live <= set->held_count);
	srv_changeset_facts facts = {.now_ms = uv_now(engine->loop),
								 .opened_at_ms = set->opened_at,
								 .joined_at_ms = set->joined_at,
								 .pause_ms = pause_of(engine, root),
								 .held = set->held_live,
								 .all_over = set->over == set->member_count,
								 .locked = set->locked || awaits_mark(set),
								 .collecting = srv_watch_collecting(engine->sources->watch) > 0 ||
											   srv_engine_spreads(engine)};
	bool goes_on = set->publishing;
	srv_changeset_step step = goes_on ? SRV_CHANGESET_RELIEVE : srv_changeset_decide(&facts);
	bool others = engine->publishing->open_rev.open && !goes_on;
	if (step == SRV_CHANGESET_WAIT || others || !publish(engine, set, false))
		return;
	if (step == SRV_CHANGESET_CLOSE)
		close_changeset(engine, set);
	set->opened_at = facts.now_ms;
	if (goes_on) /* the next turn checks for completeness */
		srv_engine_go_on(engine);
}

void srv_engine_step_changesets(srv_engine *engine)
{
	for (uint32_t r = 0; engine->changesets->open_count > 0 && r < engine->changesets->root_count; r++)
		if (engine->changesets->of[r].open)
			take_step(engine, r);
}

static void on_look(uv_timer_t *timer)
{
	srv_engine *engine = timer->data;
	for (uint32_t r = 0; r < engine->changesets->root_count; r++) {
		changeset *set = &engine->changesets->of[r];
		bool was = set->open && set->locked;
		set->locked = was && is_locked(set);
		if (!was || set->locked)
			continue;
		set->joined_at = uv_now(engine->loop);
		set_mark(engine, set);
	}
	srv_engine_step_changesets(engine);
}

/* ---- life */

struct engine_changesets *srv_engine_changesets_new(const srv_engine_options *options)
{
	struct engine_changesets *changesets =
		calloc(1, sizeof *changesets + options->root_count * sizeof *changesets->of);
	if (changesets)
		changesets->root_count = options->root_count;
	return changesets;
}

void srv_engine_start_changesets(srv_engine *engine)
{
	uv_timer_init(engine->loop, &engine->changesets->timer);
	srv_engine_add_handle(engine, (uv_handle_t *)&engine->changesets->timer);
}

void srv_engine_changeset_find(srv_engine *engine, uint32_t root)
{
	assert(root < engine->changesets->root_count);
	srv_vcs copy;
	changeset *set = &engine->changesets->of[root];
	if (set->copy_count > 0)
		return;
	srv_vcs_find(engine->options.roots[root].path, &copy);
	add_copy(set, &copy);
}

void srv_engine_changesets_free(struct engine_changesets *changesets)
{
	for (uint32_t r = 0; changesets && r < changesets->root_count; r++) {
		changeset *set = &changesets->of[r];
		for (uint32_t i = 0; i < set->held_count; i++)
			hob_buf_release(&set->held[i].tail);
		free(set->members);
		free(set->held);
		free(set->looked_in);
	}
	free(changesets);
}
