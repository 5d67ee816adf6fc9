#include "job.h"

#include <assert.h>

/* A cell without an entry: the event cannot come in that stage. */
typedef enum cell_kind {
	NEVER,
	GO,		/* to the stage */
	STAY,	/* stays in the stage */
	IGNORE, /* intentionally */
	LEAVE,	/* ends when the work in progress answers */
	QUIT,	/* a preview job ends silently; any other goes to the stage */
	CHOOSE	/* a rule below finds the stage */
} cell_kind;

typedef struct cell {
	uint8_t kind, to, act;
} cell;

#define ON(event) [SRV_JOB_##event] =
#define IN(stage) [SRV_JOB_##stage] =
#define GO(stage, act)                                                                                       \
	{                                                                                                        \
		GO, SRV_JOB_##stage, SRV_JOB_DO_##act                                                                \
	}
#define QUIT(stage, act)                                                                                     \
	{                                                                                                        \
		QUIT, SRV_JOB_##stage, SRV_JOB_DO_##act                                                              \
	}
#define STAY(act)                                                                                            \
	{                                                                                                        \
		STAY, 0, SRV_JOB_DO_##act                                                                            \
	}
#define IGNORED                                                                                              \
	{                                                                                                        \
		IGNORE, 0, 0                                                                                         \
	}
#define LEAVES                                                                                               \
	{                                                                                                        \
		LEAVE, 0, 0                                                                                          \
	}
#define CHOSEN                                                                                               \
	{                                                                                                        \
		CHOOSE, 0, 0                                                                                         \
	}
/* All stages with work in progress, except COOK. */
#define UNDER_WAY(cell)                                                                                      \
	IN(HASH_SOURCE)                                                                                          \
	cell, IN(FIND) cell, IN(HASH_INPUTS) cell, IN(MATCH) cell, IN(ASK) cell, IN(FETCH) cell, IN(CLAIM) cell, \
		IN(HASH_READ) cell, IN(JUDGE) cell, IN(HASH_TOUCHED) cell, IN(STORE) cell, IN(CHECK) cell,           \
		IN(RECORD) cell
#define AT_REST(cell) IN(DUPLICATE) cell, IN(UNCLAIMED) cell, IN(WAIT) cell

/* clang-format off */
static const cell table[SRV_JOB_EVENTS][SRV_JOB_STAGES] = {
	ON(BEGIN)          {IN(NEW) CHOSEN},
	ON(DIGESTS)        {IN(HASH_SOURCE) STAY(TAKE_DIGESTS),   IN(HASH_INPUTS) STAY(TAKE_DIGESTS),
	                    IN(HASH_READ) STAY(TAKE_DIGESTS),     IN(HASH_TOUCHED) STAY(TAKE_DIGESTS)},
	ON(MORE)           {IN(HASH_READ) STAY(HASH_READ),        IN(JUDGE) STAY(JUDGE),
	                    IN(CHECK) STAY(CHECK)},
	ON(HASHED)         {IN(HASH_SOURCE) GO(FIND, LOOK_UP),    IN(HASH_INPUTS) GO(MATCH, MATCH),
	                    IN(HASH_READ) GO(JUDGE, JUDGE),       IN(HASH_TOUCHED) GO(RECORD, KEEP_FAILURE)},
	ON(UNFINISHED)     {IN(HASH_SOURCE) GO(RECORD, GIVE_BACK), IN(FIND) QUIT(RECORD, GIVE_BACK),
	                    IN(HASH_INPUTS) QUIT(RECORD, GIVE_BACK), IN(HASH_READ) QUIT(RECORD, GIVE_BACK),
	                    IN(HASH_TOUCHED) GO(RECORD, GIVE_BACK)},
	ON(FAILED)         {IN(HASH_SOURCE) GO(RECORD, FAIL),     IN(FIND) QUIT(RECORD, FAIL),
	                    IN(HASH_INPUTS) QUIT(RECORD, FAIL),   IN(WAIT) QUIT(RECORD, FAIL),
	                    IN(HASH_READ) QUIT(RECORD, FAIL),     IN(HASH_TOUCHED) GO(RECORD, FAIL),
	                    IN(STORE) QUIT(RECORD, FAIL)},
	ON(LOOKED_UP)      {IN(FIND) CHOSEN},
	ON(RECORDS)        {IN(FIND) GO(HASH_INPUTS, HASH_INPUTS)},
	ON(MATCHED)        {IN(MATCH) CHOSEN},
	ON(MISSED)         {IN(MATCH) CHOSEN,                     IN(ASK) CHOSEN,
	                    IN(FETCH) CHOSEN},
	ON(ANSWER)         {IN(ASK) GO(HASH_INPUTS, HASH_INPUTS)},
	ON(FETCHED)        {IN(FETCH) GO(RECORD, TAKE)},
	ON(DUPLICATE_OVER) {IN(DUPLICATE) CHOSEN},
	ON(TURN)           {IN(UNCLAIMED) GO(CLAIM, CLAIM)},
	ON(LEASED)         {IN(CLAIM) GO(WAIT, WAIT),             IN(WAIT) STAY(NOTHING)},
	ON(LEASE_LEFT)     {IN(CLAIM) GO(UNCLAIMED, WAIT_TO_ASK)},
	ON(LEASE_AGAIN)    {IN(CLAIM) GO(FIND, LOOK_UP)},
	ON(HURRY)          {IN(UNCLAIMED) GO(WAIT, WAIT),         IN(DUPLICATE) IGNORED,
	                    IN(WAIT) IGNORED,                     IN(COOK) IGNORED,
	                    UNDER_WAY(IGNORED),                   IN(OVER) IGNORED},
	ON(SHOW)           {IN(WAIT) GO(FIND, FIND)},
	ON(WORKER)         {IN(WAIT) GO(COOK, NOTHING)},
	ON(COOKED)         {IN(COOK) CHOSEN},
	ON(VERDICT)        {IN(JUDGE) CHOSEN},
	ON(STORED)         {IN(STORE) GO(CHECK, CHECK)},
	ON(CHECKED)        {IN(CHECK) CHOSEN},
	ON(RECORDED)       {IN(RECORD) CHOSEN},
	ON(SKIPPED)        {UNDER_WAY(GO(OVER, END))},
	ON(DROP)           {AT_REST(GO(OVER, END)),               UNDER_WAY(LEAVES),
	                    IN(COOK) LEAVES,                      IN(OVER) IGNORED},
	ON(YIELD)          {IN(COOK) LEAVES},
	ON(CUT)            {IN(COOK) LEAVES},
	ON(STOP)           {AT_REST(GO(RECORD, CANCELLED)),       IN(COOK) LEAVES},
	ON(CLOSE)          {AT_REST(GO(OVER, END)),               UNDER_WAY(LEAVES),
	                    IN(COOK) LEAVES,                      IN(OVER) IGNORED},
};
/* clang-format on */

static const char *const names[SRV_JOB_STAGES] = {
	"new",			"hash-source", "find",	"hash-inputs", "match", "duplicate", "ask",
	"fetch",		"unclaimed",   "claim", "wait",		   "cook",	"hash-read", "judge",
	"hash-touched", "store",	   "check", "record",	   "over"};

const char *srv_job_stage_name(srv_job_stage stage)
{
	assert(stage < SRV_JOB_STAGES);
	return names[stage];
}

bool srv_job_takes(const srv_job *job, srv_job_event_kind event)
{
	return table[event][job->stage].kind != NEVER;
}

bool srv_job_leaves(const srv_job *job)
{
	return job->leave >= SRV_JOB_IS_DROPPED;
}

bool srv_job_rests(const srv_job *job)
{
	return job->stage == SRV_JOB_DUPLICATE || job->stage == SRV_JOB_UNCLAIMED || job->stage == SRV_JOB_WAIT;
}

bool srv_job_may_be_joined(const srv_job *job)
{
	bool cooks = job->stage >= SRV_JOB_ASK && job->stage <= SRV_JOB_RECORD;
	return cooks && !job->order.force && !srv_job_leaves(job);
}

bool srv_job_wants_preview(const srv_job *job)
{
	return job->part == SRV_JOB_PREVIEW || job->part == SRV_JOB_BESIDE;
}

static bool is_on_farm(srv_job_stage stage)
{
	return stage == SRV_JOB_UNCLAIMED || stage == SRV_JOB_CLAIM;
}

static bool is_elsewhere(srv_job_stage stage)
{
	return stage == SRV_JOB_ASK || stage == SRV_JOB_FETCH;
}

/* Stages after a search in this machine's cache, which a forced job skips. */
static bool looks_at_records(srv_job_stage stage)
{
	return stage == SRV_JOB_HASH_INPUTS || stage == SRV_JOB_MATCH || stage == SRV_JOB_DUPLICATE ||
		   is_elsewhere(stage) || is_on_farm(stage);
}

static bool is_pair_sound(const srv_job *job)
{
	return (!job->final || (job->part == SRV_JOB_BESIDE && job->final->preview == job)) &&
		   (!job->preview || (job->part != SRV_JOB_BESIDE && job->preview->final == job));
}

static bool is_leave_sound(const srv_job *job)
{
	bool ends = job->stage == SRV_JOB_RECORD || job->stage == SRV_JOB_OVER;
	bool of_worker = job->leave == SRV_JOB_IS_CUT || job->leave == SRV_JOB_IS_STOPPED;
	return (!srv_job_rests(job) || job->leave == SRV_JOB_STAYS) &&
		   (!of_worker || job->stage == SRV_JOB_COOK || ends) &&
		   (job->leave != SRV_JOB_YIELDS || job->stage == SRV_JOB_COOK || job->stage == SRV_JOB_OVER);
}

static bool is_part_sound(const srv_job *job)
{
	bool shared = is_elsewhere(job->stage) || is_on_farm(job->stage);
	return (!shared || !srv_job_wants_preview(job)) &&
		   (job->part != SRV_JOB_BESIDE ||
			(job->lease == SRV_JOB_NO_LEASE && !job->asked && !job->order.force && !job->failed &&
			 job->stage != SRV_JOB_HASH_SOURCE && job->stage != SRV_JOB_HASH_TOUCHED)) &&
		   (job->part != SRV_JOB_PREVIEW || !job->order.force);
}

bool srv_job_is_sound(const srv_job *job)
{
	bool ends = job->stage == SRV_JOB_RECORD || job->stage == SRV_JOB_OVER;
	return job->stage < SRV_JOB_STAGES && (job->order.id != 0 || job->stage == SRV_JOB_NEW) &&
		   (job->of != NULL) == (job->stage == SRV_JOB_DUPLICATE) &&
		   (!is_elsewhere(job->stage) || job->asked) && (job->stage != SRV_JOB_FETCH || job->elsewhere) &&
		   (!is_on_farm(job->stage) || job->lease < SRV_JOB_MINE) &&
		   (!job->order.force || (!looks_at_records(job->stage) && !job->asked)) &&
		   (!job->failed || ends || job->stage == SRV_JOB_CHECK || job->stage == SRV_JOB_HASH_TOUCHED) &&
		   (job->stage != SRV_JOB_OVER || (!job->duplicates && !job->preview && !job->final)) &&
		   is_pair_sound(job) && is_leave_sound(job) && is_part_sound(job);
}

/* ---- rules: each finds the next stage for one kind of event */

static void go(srv_job *job, srv_job_stage to, srv_job_act act, srv_job_todo *todo)
{
	job->stage = to;
	todo->act = act;
}

static void join(srv_job *job, srv_job *other, srv_job_todo *todo)
{
	assert(other != job && srv_job_may_be_joined(other));
	job->of = other;
	job->next = other->duplicates;
	other->duplicates = job;
	todo->raise = other->order.priority > job->order.priority ? other : NULL;
	go(job, SRV_JOB_DUPLICATE, SRV_JOB_DO_NOTHING, todo);
}

static void quit_duplicate(srv_job *job)
{
	srv_job **at = job->of ? &job->of->duplicates : NULL;
	while (at && *at && *at != job) /* already removed: it was woken */
		at = &(*at)->next;
	if (at && *at)
		*at = job->next;
	job->of = job->next = NULL;
}

static void want_worker(srv_job *job, const srv_job_event *e, srv_job_todo *todo)
{
	bool may_claim = job->lease < SRV_JOB_MINE && !job->order.force && !srv_job_wants_preview(job);
	if (e->facts.duplicate && !job->order.force)
		join(job, e->facts.duplicate, todo);
	else if (e->facts.claims && may_claim)
		go(job, SRV_JOB_UNCLAIMED, SRV_JOB_DO_WAIT_TO_ASK, todo);
	else
		go(job, SRV_JOB_WAIT, SRV_JOB_DO_WAIT, todo);
}

/* Without a matching record: asks another cache once; then makes a preview, if a client waits; then cooks. */
static void miss(srv_job *job, const srv_job_event *e, srv_job_todo *todo)
{
	bool may_ask = job->stage == SRV_JOB_MATCH && !job->asked && !srv_job_wants_preview(job);
	if (e->facts.elsewhere && may_ask && e->facts.duplicate) {
		join(job, e->facts.duplicate, todo);
	} else if (e->facts.elsewhere && may_ask) {
		job->asked = true;
		go(job, SRV_JOB_ASK, SRV_JOB_DO_ASK, todo);
	} else if (e->facts.preview && job->part == SRV_JOB_FIRST) {
		job->part = SRV_JOB_PREVIEW;
		go(job, SRV_JOB_FIND, SRV_JOB_DO_FIND, todo);
	} else {
		todo->missed = true;
		want_worker(job, e, todo);
	}
}

/* Plans another preview for a waiting client: the files are newer than the served version. */
static void want_preview(srv_job *job)
{
	if (job->part == SRV_JOB_FINAL && job->order.priority > SRV_PRIORITY_CHANGED)
		job->order.priority = SRV_PRIORITY_CHANGED;
	job->part = SRV_JOB_FIRST;
}

static void looked_up(srv_job *job, const srv_job_event *e, srv_job_todo *todo)
{
	assert(job->part != SRV_JOB_BESIDE);
	if (e->newer || job->part == SRV_JOB_PREVIEW)
		want_preview(job);
	if (job->order.force)
		want_worker(job, e, todo);
	else
		go(job, SRV_JOB_FIND, SRV_JOB_DO_FIND, todo);
}

static void cooked(srv_job *job, const srv_job_event *e, srv_job_todo *todo)
{
	bool silent = job->part == SRV_JOB_BESIDE || job->leave >= SRV_JOB_YIELDS;
	bool cancelled = e->cancelled || job->leave != SRV_JOB_STAYS;
	/* If the preview fails, so does the final cook: the failure is stored as the final one. */
	if (!cancelled && !e->ok && job->part != SRV_JOB_BESIDE)
		job->part = SRV_JOB_FINAL;
	if (cancelled && silent)
		go(job, SRV_JOB_OVER, SRV_JOB_DO_END, todo);
	else if (cancelled)
		go(job, SRV_JOB_RECORD, SRV_JOB_DO_CANCELLED, todo);
	else if (e->has_result)
		go(job, SRV_JOB_HASH_READ, SRV_JOB_DO_HASH_READ, todo);
	else
		go(job, SRV_JOB_JUDGE, SRV_JOB_DO_JUDGE, todo);
}

static void judged(srv_job *job, const srv_job_event *e, srv_job_todo *todo)
{
	if (job->part == SRV_JOB_BESIDE && e->verdict != SRV_VERDICT_GOOD) {
		go(job, SRV_JOB_OVER, SRV_JOB_DO_END, todo);
		return;
	}
	static const struct {
		srv_job_stage to;
		srv_job_act act;
	} next[] = {[SRV_VERDICT_GOOD] = {SRV_JOB_STORE, SRV_JOB_DO_STORE},
				[SRV_VERDICT_KEEP_FAILURE] = {SRV_JOB_CHECK, SRV_JOB_DO_CHECK},
				[SRV_VERDICT_KEEP_CRASH] = {SRV_JOB_HASH_TOUCHED, SRV_JOB_DO_HASH_TOUCHED},
				[SRV_VERDICT_TRY_AGAIN] = {SRV_JOB_HASH_SOURCE, SRV_JOB_DO_HASH_SOURCE},
				[SRV_VERDICT_PASSING] = {SRV_JOB_RECORD, SRV_JOB_DO_FAIL},
				[SRV_VERDICT_WRITER] = {SRV_JOB_RECORD, SRV_JOB_DO_GIVE_BACK}};
	assert(e->verdict < HOB_COUNT_OF(next));
	job->failed = e->verdict == SRV_VERDICT_KEEP_FAILURE || e->verdict == SRV_VERDICT_KEEP_CRASH;
	if (e->verdict == SRV_VERDICT_TRY_AGAIN && e->newer)
		want_preview(job);
	go(job, next[e->verdict].to, next[e->verdict].act, todo);
}

static void recorded(srv_job *job, const srv_job_event *e, srv_job_todo *todo)
{
	if (job->part != SRV_JOB_PREVIEW || !e->more || job->leave != SRV_JOB_STAYS) {
		go(job, SRV_JOB_OVER, SRV_JOB_DO_END, todo);
		return;
	}
	job->part = SRV_JOB_FINAL;
	job->order.priority = SRV_PRIORITY_BACKGROUND;
	go(job, SRV_JOB_HASH_SOURCE, SRV_JOB_DO_HASH_SOURCE, todo);
}

static void begin(srv_job *job, const srv_job_event *e, srv_job_todo *todo)
{
	assert(job->order.id != 0);
	if (!e->final) {
		go(job, SRV_JOB_HASH_SOURCE, SRV_JOB_DO_HASH_SOURCE, todo);
		return;
	}
	assert(!e->final->preview && e->final->order.id == job->order.id);
	job->part = SRV_JOB_BESIDE;
	job->final = e->final;
	e->final->preview = job;
	go(job, SRV_JOB_FIND, SRV_JOB_DO_FIND, todo);
}

static void choose(srv_job *job, const srv_job_event *e, srv_job_todo *todo)
{
	switch (e->kind) {
	case SRV_JOB_BEGIN:
		begin(job, e, todo);
		break;
	case SRV_JOB_LOOKED_UP:
		looked_up(job, e, todo);
		break;
	case SRV_JOB_MATCHED:
		go(job, job->elsewhere ? SRV_JOB_FETCH : SRV_JOB_RECORD,
		   job->elsewhere ? SRV_JOB_DO_FETCH : SRV_JOB_DO_TAKE, todo);
		break;
	case SRV_JOB_MISSED:
		miss(job, e, todo);
		break;
	case SRV_JOB_DUPLICATE_OVER: /* a preview job has the source of its final one */
		go(job, SRV_JOB_FIND, job->part == SRV_JOB_BESIDE ? SRV_JOB_DO_FIND : SRV_JOB_DO_LOOK_UP, todo);
		break;
	case SRV_JOB_COOKED:
		cooked(job, e, todo);
		break;
	case SRV_JOB_VERDICT:
		judged(job, e, todo);
		break;
	case SRV_JOB_CHECKED:
		go(job, SRV_JOB_RECORD, job->failed ? SRV_JOB_DO_KEEP_FAILURE : SRV_JOB_DO_KEEP, todo);
		break;
	case SRV_JOB_RECORDED:
		recorded(job, e, todo);
		break;
	default:
		assert(e->kind == SRV_JOB_EVENTS && "a rule for every cell that asks for one");
	}
}

/* ---- leaving */

static const srv_job_leave leaves[SRV_JOB_EVENTS] = {
	ON(DROP) SRV_JOB_IS_DROPPED, ON(YIELD) SRV_JOB_YIELDS,	  ON(CUT) SRV_JOB_IS_CUT,
	ON(STOP) SRV_JOB_IS_STOPPED, ON(CLOSE) SRV_JOB_IS_CLOSED,
};

static void end(srv_job *job, srv_job_todo *todo)
{
	assert(todo->act == SRV_JOB_DO_END);
	todo->drop = job->preview;
	todo->resume = job->final;
	if (job->preview)
		job->preview->final = NULL;
	if (job->final)
		job->final->preview = NULL;
	job->preview = job->final = NULL;
}

/* Wakes the duplicates: they find its result, or cook. */
static void wake(srv_job *job, srv_job_todo *todo)
{
	todo->wake = job->duplicates;
	job->duplicates = NULL;
}

static void note(srv_job *job, const srv_job_event *e)
{
	srv_job_leave leave = leaves[e->kind];
	if (leave > job->leave && !(srv_job_rests(job) && leave != SRV_JOB_IS_STOPPED) &&
		job->stage != SRV_JOB_OVER)
		job->leave = leave;
	if (e->unbegun && job->leave == SRV_JOB_STAYS)
		job->leave = SRV_JOB_IS_CUT;
	if (e->kind == SRV_JOB_RECORDS || e->kind == SRV_JOB_MISSED || e->kind == SRV_JOB_FAILED)
		job->elsewhere = false;
	if (e->kind == SRV_JOB_ANSWER)
		job->elsewhere = true;
	if (e->kind == SRV_JOB_LEASED || e->kind == SRV_JOB_LEASE_LEFT)
		job->lease = e->lease;
	if (e->kind == SRV_JOB_LEASE_AGAIN) {
		job->lease = SRV_JOB_NO_LEASE;
		job->asked = false;
	}
	if (e->kind == SRV_JOB_SHOW) {
		assert(job->part == SRV_JOB_FIRST && !job->order.force);
		job->part = SRV_JOB_PREVIEW;
		job->order.priority = SRV_PRIORITY_INTERACTIVE;
	}
}

srv_job_todo srv_job_apply(srv_job *job, const srv_job_event *e)
{
	assert(e->kind < SRV_JOB_EVENTS && srv_job_is_sound(job));
	cell c = table[e->kind][job->stage];
	assert(c.kind != NEVER && "this event cannot come in this stage");
	assert((e->kind != SRV_JOB_SKIPPED) || srv_job_leaves(job));
	srv_job_todo todo = {0};
	srv_job_stage from = job->stage;
	bool was_previewing = job->part == SRV_JOB_PREVIEW;
	bool over = srv_job_leaves(job) && from != SRV_JOB_COOK && c.kind != LEAVE && c.kind != IGNORE;
	bool quits = c.kind == QUIT && job->part == SRV_JOB_BESIDE;
	note(job, e);
	if (over || quits)
		go(job, SRV_JOB_OVER, SRV_JOB_DO_END, &todo);
	else if (c.kind == CHOOSE)
		choose(job, e, &todo);
	else if (c.kind == GO || c.kind == QUIT)
		go(job, (srv_job_stage)c.to, (srv_job_act)c.act, &todo);
	else if (c.kind == STAY)
		todo.act = (srv_job_act)c.act;
	if (from == SRV_JOB_DUPLICATE && job->stage != from)
		quit_duplicate(job);
	bool shown = from == SRV_JOB_RECORD && was_previewing && job->stage == SRV_JOB_HASH_SOURCE;
	if (job->stage == SRV_JOB_OVER && from != SRV_JOB_OVER)
		end(job, &todo);
	if (shown || (job->stage == SRV_JOB_OVER && from != SRV_JOB_OVER))
		wake(job, &todo);
	assert(srv_job_is_sound(job));
	return todo;
}

void srv_job_give(srv_job *job)
{
	assert(job->stage == SRV_JOB_RECORD && !srv_job_wants_preview(job));
	if (job->lease == SRV_JOB_MINE)
		job->lease = SRV_JOB_GIVEN;
}
