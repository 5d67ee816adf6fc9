#include "asset.h"

#include <assert.h>

/* Actions of a cell besides the new state. */
enum {
	P = 1,		/* publish */
	T = 2,		/* touch */
	N = 4,		/* there is a `next`: add the reason */
	L = 8,		/* forget the newest cook */
	I = 16,		/* ignored intentionally */
	DETACH = 32 /* discards the job's result */
};
enum { NONE = SRV_ASSET_STATES };

typedef struct cell {
	uint8_t to, todo;
} cell;

#define ABSENT	 SRV_ASSET_ABSENT
#define AWAY	 SRV_ASSET_AWAY
#define IDLE	 SRV_ASSET_IDLE
#define BACKOFF	 SRV_ASSET_BACKOFF
#define WRITER	 SRV_ASSET_WRITER
#define QUEUED	 SRV_ASSET_QUEUED
#define WORKING	 SRV_ASSET_WORKING
#define OUTDATED SRV_ASSET_OUTDATED
/* clang-format off */
#define NEVER     {NONE, 0}
#define SKIP      {NONE, I}
#define ON(event) [SRV_ASSET_##event] =

static const cell table[SRV_ASSET_EVENTS][SRV_ASSET_STATES] = {
	/*                 ABSENT         AWAY           IDLE           BACKOFF        WRITER
	 *                 QUEUED                  WORKING                 OUTDATED */
	ON(RESTORED)      {{IDLE, T},     NEVER,         NEVER,         NEVER,         NEVER,
	                   NEVER,                  NEVER,                  NEVER},
	ON(FORGOTTEN)     {SKIP,          NEVER,         {IDLE, L|T},   NEVER,         NEVER,
	                   NEVER,                  NEVER,                  NEVER},
	ON(DIRTY)         {{QUEUED, N|T}, {QUEUED, N|T}, {QUEUED, N|T}, {QUEUED, N|T}, {QUEUED, N|T},
	                   {QUEUED, N},            {OUTDATED, N|T},        {OUTDATED, N}},
	ON(MOVED)         {SKIP,          SKIP,          {QUEUED, N|T}, {QUEUED, N|T}, {QUEUED, N|T},
	                   {QUEUED, N|T},          {QUEUED, N|T|DETACH},   {QUEUED, N|T|DETACH}},
	ON(GONE)          {SKIP,          {ABSENT, P|L}, {ABSENT, P|L}, {ABSENT, P|L}, {ABSENT, P|L},
	                   {ABSENT, P|L},          {ABSENT, P|L|DETACH},   {ABSENT, P|L|DETACH}},
	ON(LOST)          {SKIP,          SKIP,          {AWAY, P},     {AWAY, P},     {AWAY, P},
	                   {AWAY, P},              {AWAY, P|L|DETACH},     {AWAY, P|L|DETACH}},
	ON(BACK)          {NEVER,         {IDLE, P},     NEVER,         NEVER,         NEVER,
	                   NEVER,                  NEVER,                  NEVER},
	ON(CLOCK)         {NEVER,         NEVER,         NEVER,         {QUEUED, N|T}, {QUEUED, N|T},
	                   NEVER,                  NEVER,                  NEVER},
	ON(WORKERS_BACK)  {SKIP,          SKIP,          SKIP,          {QUEUED, N|T}, SKIP,
	                   SKIP,                   SKIP,                   SKIP},
	ON(BEGIN)         {NEVER,         NEVER,         NEVER,         NEVER,         NEVER,
	                   {WORKING, 0},           NEVER,                  NEVER},
	ON(PREVIEW)       {NEVER,         NEVER,         NEVER,         NEVER,         NEVER,
	                   NEVER,                  {WORKING, P},           {QUEUED, P}},
	ON(GOOD)          {NEVER,         NEVER,         NEVER,         NEVER,         NEVER,
	                   NEVER,                  {IDLE, P},              {QUEUED, P}},
	ON(SAME)          {NEVER,         NEVER,         NEVER,         NEVER,         NEVER,
	                   NEVER,                  {IDLE, T},              {QUEUED, T}},
	ON(BAD)           {NEVER,         NEVER,         NEVER,         NEVER,         NEVER,
	                   NEVER,                  {IDLE, P},              {QUEUED, P}},
	ON(PASSING)       {NEVER,         NEVER,         NEVER,         NEVER,         NEVER,
	                   NEVER,                  {BACKOFF, P|L},         {QUEUED, P|L}},
	ON(HALF_WRITTEN)  {NEVER,         NEVER,         NEVER,         NEVER,         NEVER,
	                   NEVER,                  {WRITER, T},            {QUEUED, T}},
	ON(STOPPED)       {NEVER,         NEVER,         NEVER,         NEVER,         NEVER,
	                   {IDLE, P|L},            {IDLE, P|L},            {QUEUED, T}},
	ON(CUT)           {NEVER,         NEVER,         NEVER,         NEVER,         NEVER,
	                   NEVER,                  {QUEUED, T},            {QUEUED, T}},
	ON(ROOT_CAUSE)    {SKIP,          SKIP,          {IDLE, P},     {BACKOFF, P},  SKIP,
	                   SKIP,                   SKIP,                   SKIP},
};
/* clang-format on */

static bool has_job(srv_asset_state state)
{
	return state == WORKING || state == OUTDATED;
}

static bool has_next(srv_asset_state state)
{
	return state == QUEUED || state == OUTDATED || state == WRITER;
}

bool srv_asset_is_sound(const srv_asset *a)
{
	bool waits = a->state == BACKOFF || a->state == WRITER;
	return a->state < SRV_ASSET_STATES && (a->job != NULL) == has_job(a->state) &&
		   (a->next.id != 0) == has_next(a->state) && (a->retry.at_ms != 0) == waits &&
		   (has_job(a->state) || (!a->on_worker && !a->cooking && !a->job_previewed && !a->job_cut)) &&
		   a->next.why_count <= SRV_ASSET_REASONS_MAX && (a->state != ABSENT || !a->has_good);
}

static void add_reason(srv_asset_next *next, const char *kind, hob_str path)
{
	assert(kind);
	if (next->why_count >= SRV_ASSET_REASONS_MAX)
		return;
	if (next->why_count++ > 0)
		hob_buf_put(&next->why, ",", 1);
	hob_buf_printf(&next->why, "{\"kind\":\"%s\"", kind);
	if (path.len > 0) {
		hob_buf_put_str(&next->why, HOB_STR(",\"path\":"));
		hob_buf_put_json(&next->why, path);
	}
	hob_buf_put(&next->why, "}", 1);
}

static void want_next(srv_asset *a, const srv_asset_event *e)
{
	srv_asset_next *next = &a->next;
	if (next->id == 0) {
		next->id = ++*e->last_job;
		next->queued_at_ms = e->at_ms;
		next->priority = e->priority;
	}
	if (e->priority < next->priority)
		next->priority = e->priority;
	next->force = next->force || e->force;
	add_reason(next, e->reason, e->path);
}

static void drop_next(srv_asset *a, srv_asset_next *taken)
{
	if (taken)
		*taken = a->next;
	else
		hob_buf_release(&a->next.why);
	a->next = (srv_asset_next){0};
}

static void end_job(srv_asset *a)
{
	a->job = NULL;
	a->job_cut = a->job_previewed = a->on_worker = a->cooking = false;
	a->job_cuts = 0;
}

static void back_off(srv_asset *a, uint64_t now_ms, uint32_t lost_ms)
{
	uint32_t wait = a->retry.wait_ms * 2 > lost_ms ? a->retry.wait_ms * 2 : lost_ms;
	uint32_t most =
		a->error == SRV_ASSET_INTERRUPTED ? SRV_ASSET_INTERRUPTED_MAX_MS : SRV_ASSET_BACKOFF_MAX_MS;
	wait = wait < SRV_ASSET_BACKOFF_MS ? SRV_ASSET_BACKOFF_MS : wait;
	a->retry.wait_ms = wait > most ? most : wait;
	a->retry.at_ms = now_ms + a->retry.wait_ms;
}

/* Whether the event cuts the running cook. Only a real change is worth that, and during repeated saves some
 * cook must finish. */
static bool cuts(const srv_asset *a, const srv_asset_event *e)
{
	uint8_t most = e->quick ? SRV_ASSET_QUICK_CUTS : SRV_ASSET_CUTS;
	return e->kind == SRV_ASSET_DIRTY && has_job(a->state) && a->on_worker && a->job_cuts < most &&
		   !a->job_cut && e->priority != SRV_PRIORITY_BACKGROUND;
}

static void note_result(srv_asset *a, const srv_asset_event *e)
{
	switch (e->kind) {
	case SRV_ASSET_RESTORED:
		a->has_good = e->has_good;
		a->good_is_preview = e->good_is_preview;
		a->error = e->error;
		break;
	case SRV_ASSET_PREVIEW:
	case SRV_ASSET_GOOD:
		a->has_good = true;
		a->good_is_preview = e->kind == SRV_ASSET_PREVIEW;
		a->error = SRV_ASSET_FINE;
		break;
	case SRV_ASSET_BAD:
	case SRV_ASSET_PASSING:
		assert(e->error != SRV_ASSET_FINE);
		a->error = e->error;
		a->has_good = a->has_good && !e->displaced;
		break;
	case SRV_ASSET_STOPPED:
		a->error = a->state == OUTDATED ? a->error : SRV_ASSET_FAILED;
		break;
	case SRV_ASSET_ROOT_CAUSE:
		a->error = SRV_ASSET_BY_OTHER;
		break;
	case SRV_ASSET_FORGOTTEN:
	case SRV_ASSET_MOVED:
	case SRV_ASSET_GONE:
		a->has_good = a->good_is_preview = false;
		a->error = SRV_ASSET_FINE;
		break;
	default:
		break;
	}
	if (e->withdrawn)
		a->has_good = a->has_good && e->has_good;
	a->good_is_preview = a->good_is_preview && a->has_good && !e->withdrawn;
	if (e->kind == SRV_ASSET_GOOD || e->kind == SRV_ASSET_SAME || e->kind == SRV_ASSET_BAD ||
		e->kind == SRV_ASSET_STOPPED || e->kind == SRV_ASSET_MOVED || e->kind == SRV_ASSET_GONE)
		a->retry.wait_ms = 0;
}

static void plan_retry(srv_asset *a, const srv_asset_event *e)
{
	if (a->state == WRITER)
		a->retry.at_ms = e->now_ms + SRV_ASSET_WRITER_MS;
	else if (a->state == BACKOFF && e->kind == SRV_ASSET_PASSING && e->error == SRV_ASSET_NO_WORKER)
		a->retry.at_ms = SRV_ASSET_NEVER;
	else if (a->state == BACKOFF && e->kind == SRV_ASSET_PASSING)
		back_off(a, e->now_ms, e->lost_ms);
	else if (a->state != BACKOFF)
		a->retry.at_ms = 0;
}

srv_asset_todo srv_asset_apply(srv_asset *a, const srv_asset_event *e)
{
	assert(a && e && e->kind < SRV_ASSET_EVENTS && srv_asset_is_sound(a));
	cell c = table[e->kind][a->state];
	srv_asset_todo todo = {0};
	bool not_theirs = e->kind == SRV_ASSET_WORKERS_BACK && a->error != SRV_ASSET_NO_WORKER;
	bool nobodys = e->kind == SRV_ASSET_ROOT_CAUSE &&
				   (a->error == SRV_ASSET_FINE || a->error == SRV_ASSET_NO_WORKER); /* waiting for workers */
	if ((c.todo & I) || not_theirs || nobodys)
		return todo;
	assert(c.to != NONE && "this event cannot come in this state");
	srv_asset_state from = a->state, to = (srv_asset_state)c.to;
	todo.cut = cuts(a, e);
	todo.detach = c.todo & DETACH ? a->job : NULL;
	todo.dequeue = from == QUEUED && to != QUEUED && e->kind != SRV_ASSET_BEGIN;
	todo.queue = to == QUEUED;
	todo.publish = c.todo & P;
	todo.touch = c.todo & T;
	todo.forget_last = (c.todo & L) || (e->kind == SRV_ASSET_BAD && !e->kept);
	note_result(a, e);
	if (c.todo & N)
		want_next(a, e);
	if ((e->kind == SRV_ASSET_CUT || e->kind == SRV_ASSET_HALF_WRITTEN) && from == OUTDATED)
		a->next.force = a->next.force || e->force; /* the request is still to be done */
	if ((e->kind == SRV_ASSET_CUT || e->kind == SRV_ASSET_HALF_WRITTEN) && from == WORKING) {
		assert(e->taken && e->taken->id != 0); /* the job returns its number and its reasons */
		a->next = *e->taken;
		a->next.cuts = a->job_cuts;
	}
	if (e->kind == SRV_ASSET_CUT)
		a->next.cuts = (uint8_t)(a->job_cuts + 1);
	uint8_t cut_before = a->next.cuts;
	if (has_job(from) && !has_job(to))
		end_job(a);
	if (has_next(from) && !has_next(to))
		drop_next(a, e->taken);
	if (e->kind == SRV_ASSET_BEGIN) {
		assert(e->job);
		a->job = e->job;
		a->job_cuts = cut_before;
	}
	a->job_previewed = a->job_previewed || (e->kind == SRV_ASSET_PREVIEW && to == WORKING);
	a->job_cut = a->job_cut || todo.cut;
	a->state = to;
	plan_retry(a, e);
	assert(srv_asset_is_sound(a));
	return todo;
}

void srv_asset_release(srv_asset *a)
{
	hob_buf_release(&a->next.why);
}

void srv_asset_set_worker(srv_asset *a, bool on)
{
	assert(has_job(a->state));
	a->on_worker = on;
	a->cooking = a->cooking || on;
}

bool srv_asset_raise(srv_asset *a, srv_priority priority)
{
	assert(priority < SRV_PRIORITY_COUNT);
	if (a->next.id == 0 || a->next.priority <= priority)
		return false;
	a->next.priority = priority;
	return a->state == QUEUED;
}

bool srv_asset_is_alive(const srv_asset *a)
{
	return a->state != ABSENT;
}

bool srv_asset_is_busy(const srv_asset *a)
{
	return a->state == QUEUED || has_job(a->state);
}

bool srv_asset_shows_preview(const srv_asset *a)
{
	return a->state == WORKING && a->job_previewed && a->good_is_preview;
}

bool srv_asset_is_due(const srv_asset *a, uint64_t now_ms)
{
	return a->retry.at_ms != 0 && now_ms >= a->retry.at_ms;
}

/* How clients see each error. */
static const struct {
	srv_state state;
	srv_standing standing;
} told[] = {
	[SRV_ASSET_FINE] = {SRV_FRESH, SRV_STANDING_FRESH},
	[SRV_ASSET_FAILED] = {SRV_FAILED, SRV_STANDING_BROKEN},
	[SRV_ASSET_DIED] = {SRV_QUARANTINED, SRV_STANDING_BROKEN},
	[SRV_ASSET_BY_OTHER] = {SRV_BLOCKED, SRV_STANDING_BLOCKED},
	[SRV_ASSET_TRANSIENT] = {SRV_FAILED, SRV_STANDING_BROKEN},
	[SRV_ASSET_INTERRUPTED] = {SRV_INTERRUPTED, SRV_STANDING_INTERRUPTED},
	[SRV_ASSET_NO_ROOM] = {SRV_BLOCKED, SRV_STANDING_BLOCKED},
	[SRV_ASSET_NO_WORKER] = {SRV_BLOCKED, SRV_STANDING_BLOCKED},
};

srv_state srv_asset_newest(const srv_asset *a)
{
	assert(a->error < HOB_COUNT_OF(told));
	return a->error == SRV_ASSET_FINE && !a->has_good ? SRV_QUEUED : told[a->error].state;
}

srv_state srv_asset_settled(const srv_asset *a)
{
	return a->has_good && a->error != SRV_ASSET_FINE ? SRV_STALE : srv_asset_newest(a);
}

srv_standing srv_asset_standing(const srv_asset *a, bool skipped)
{
	bool rests = a->state == IDLE || a->state == BACKOFF;
	return srv_standing_of(&(srv_standing_facts){.alive = a->state != ABSENT,
												 .away = a->state == AWAY,
												 .skipped = skipped,
												 .busy = !rests && !srv_asset_shows_preview(a),
												 .has_good = a->has_good,
												 .newest = told[a->error].standing});
}

srv_state srv_asset_public(const srv_asset *a)
{
	switch (srv_asset_standing(a, false)) {
	case SRV_STANDING_REMOVED:
		return SRV_REMOVED;
	case SRV_STANDING_MISSING:
		return SRV_MISSING;
	case SRV_STANDING_UPDATING:
		return SRV_STALE;
	case SRV_STANDING_WAITING:
		return a->cooking ? SRV_COOKING : SRV_QUEUED;
	default:
		return srv_asset_settled(a);
	}
}
