#include "tests/unit/support.h"

#include "server/cook/job.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The transition table again: the new stage; '-': impossible, '.': ignored, '=': stays, '!': ends with the
 * next answer. Events carry no facts; the verdict is GOOD. Columns: new, hash source, find, hash inputs,
 * match, duplicate, ask, fetch, unclaimed, claim, wait, cook, hash read, judge, hash touched, store, check,
 * record, over. */
static const char *const codes[SRV_JOB_STAGES] = {"NW", "HS", "FI", "HI", "MA", "DU", "AS", "FE", "UC", "CL",
												  "WA", "CO", "HR", "JU", "HT", "ST", "CH", "RE", "OV"};
static const struct {
	srv_job_event_kind kind;
	const char *cells;
} grid[] = {
	{SRV_JOB_BEGIN, /*       */ "HS -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_DIGESTS, /*     */ "-  =  -  =  -  -  -  -  -  -  -  -  =  -  =  -  -  -  -"},
	{SRV_JOB_MORE, /*        */ "-  -  -  -  -  -  -  -  -  -  -  -  =  =  -  -  =  -  -"},
	{SRV_JOB_HASHED, /*      */ "-  FI -  MA -  -  -  -  -  -  -  -  JU -  RE -  -  -  -"},
	{SRV_JOB_UNFINISHED, /*  */ "-  RE RE RE -  -  -  -  -  -  -  -  RE -  RE -  -  -  -"},
	{SRV_JOB_FAILED, /*      */ "-  RE RE RE -  -  -  -  -  -  RE -  RE -  RE RE -  -  -"},
	{SRV_JOB_LOOKED_UP, /*   */ "-  -  =  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_RECORDS, /*     */ "-  -  HI -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_MATCHED, /*     */ "-  -  -  -  RE -  -  -  -  -  -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_MISSED, /*      */ "-  -  -  -  WA -  WA WA -  -  -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_ANSWER, /*      */ "-  -  -  -  -  -  HI -  -  -  -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_FETCHED, /*     */ "-  -  -  -  -  -  -  RE -  -  -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_DUPLICATE_OVER, "-  -  -  -  -  FI -  -  -  -  -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_TURN, /*        */ "-  -  -  -  -  -  -  -  CL -  -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_LEASED, /*      */ "-  -  -  -  -  -  -  -  -  WA =  -  -  -  -  -  -  -  -"},
	{SRV_JOB_LEASE_LEFT, /*  */ "-  -  -  -  -  -  -  -  -  UC -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_LEASE_AGAIN, /* */ "-  -  -  -  -  -  -  -  -  FI -  -  -  -  -  -  -  -  -"},
	{SRV_JOB_HURRY, /*       */ "-  .  .  .  .  .  .  .  WA .  .  .  .  .  .  .  .  .  ."},
	{SRV_JOB_SHOW, /*        */ "-  -  -  -  -  -  -  -  -  -  FI -  -  -  -  -  -  -  -"},
	{SRV_JOB_WORKER, /*      */ "-  -  -  -  -  -  -  -  -  -  CO -  -  -  -  -  -  -  -"},
	{SRV_JOB_COOKED, /*      */ "-  -  -  -  -  -  -  -  -  -  -  JU -  -  -  -  -  -  -"},
	{SRV_JOB_VERDICT, /*     */ "-  -  -  -  -  -  -  -  -  -  -  -  -  ST -  -  -  -  -"},
	{SRV_JOB_STORED, /*      */ "-  -  -  -  -  -  -  -  -  -  -  -  -  -  -  CH -  -  -"},
	{SRV_JOB_CHECKED, /*     */ "-  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  RE -  -"},
	{SRV_JOB_RECORDED, /*    */ "-  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  OV -"},
	{SRV_JOB_SKIPPED, /*     */ "-  OV OV OV OV -  OV OV -  OV -  -  OV OV OV OV OV OV -"},
	{SRV_JOB_DROP, /*        */ "-  !  !  !  !  OV !  !  OV !  OV !  !  !  !  !  !  !  ."},
	{SRV_JOB_YIELD, /*       */ "-  -  -  -  -  -  -  -  -  -  -  !  -  -  -  -  -  -  -"},
	{SRV_JOB_CUT, /*         */ "-  -  -  -  -  -  -  -  -  -  -  !  -  -  -  -  -  -  -"},
	{SRV_JOB_STOP, /*        */ "-  -  -  -  -  RE -  -  RE -  RE !  -  -  -  -  -  -  -"},
	{SRV_JOB_CLOSE, /*       */ "-  !  !  !  !  OV !  !  OV !  OV !  !  !  !  !  !  !  ."},
};

static srv_job other; /* the job that DUPLICATE waits for */

static srv_job_todo send(srv_job *job, srv_job_event_kind kind)
{
	return srv_job_apply(job, &(srv_job_event){.kind = kind});
}

static srv_job fresh(uint64_t id)
{
	return (srv_job){.order = {.id = id, .priority = SRV_PRIORITY_CHANGED}};
}

static void pass(srv_job *job, srv_job_stage stage)
{
	static const struct {
		srv_job_stage from;
		srv_job_event event;
	} way[] = {
		{SRV_JOB_NEW, {.kind = SRV_JOB_BEGIN}},
		{SRV_JOB_HASH_SOURCE, {.kind = SRV_JOB_HASHED}},
		{SRV_JOB_FIND, {.kind = SRV_JOB_RECORDS}},
		{SRV_JOB_HASH_INPUTS, {.kind = SRV_JOB_HASHED}},
		{SRV_JOB_ASK, {.kind = SRV_JOB_ANSWER}},
		{SRV_JOB_UNCLAIMED, {.kind = SRV_JOB_TURN}},
		{SRV_JOB_WAIT, {.kind = SRV_JOB_WORKER}},
		{SRV_JOB_COOK, {.kind = SRV_JOB_COOKED, .ok = true, .has_result = true}},
		{SRV_JOB_HASH_READ, {.kind = SRV_JOB_HASHED}},
		{SRV_JOB_STORE, {.kind = SRV_JOB_STORED}},
		{SRV_JOB_CHECK, {.kind = SRV_JOB_CHECKED}},
		{SRV_JOB_RECORD, {.kind = SRV_JOB_RECORDED}},
	};
	while (job->stage != stage) {
		srv_job_event e = {.kind = SRV_JOB_EVENTS};
		for (size_t i = 0; i < HOB_COUNT_OF(way); i++)
			if (way[i].from == job->stage)
				e = way[i].event;
		if (job->stage == SRV_JOB_MATCH && job->elsewhere)
			e.kind = SRV_JOB_MATCHED;
		else if (job->stage == SRV_JOB_MATCH)
			e = (srv_job_event){.kind = SRV_JOB_MISSED,
								.facts = {.elsewhere = stage == SRV_JOB_ASK || stage == SRV_JOB_FETCH,
										  .claims = stage == SRV_JOB_UNCLAIMED || stage == SRV_JOB_CLAIM,
										  .duplicate = stage == SRV_JOB_DUPLICATE ? &other : NULL}};
		if (job->stage == SRV_JOB_JUDGE)
			e = (srv_job_event){.kind = SRV_JOB_VERDICT,
								.verdict = stage == SRV_JOB_HASH_TOUCHED ? SRV_VERDICT_KEEP_CRASH
																		 : SRV_VERDICT_GOOD};
		srv_job_apply(job, &e);
	}
}

static srv_job at_stage(srv_job_stage stage)
{
	srv_job job = fresh(7);
	other = fresh(8);
	if (stage == SRV_JOB_DUPLICATE)
		pass(&other, SRV_JOB_COOK);
	pass(&job, stage);
	return job;
}

static bool dies(const srv_job *before, srv_job_event_kind kind)
{
	pid_t child = fork();
	if (child == 0) {
		struct rlimit none = {0};
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
		srv_job job = *before;
		send(&job, kind);
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void every_cell_is_as_the_table_says(void **unused)
{
	(void)unused;
	assert_int_equal(HOB_COUNT_OF(grid), SRV_JOB_EVENTS);
	for (size_t row = 0; row < HOB_COUNT_OF(grid); row++) {
		assert_int_equal(grid[row].kind, row);
		for (int from = 0; from < SRV_JOB_STAGES; from++) {
			const char *cell = grid[row].cells + 3 * from;
			srv_job job = at_stage((srv_job_stage)from);
			if (other.duplicates)
				other.duplicates = &job;
			if (srv_job_takes(&job, grid[row].kind) != (*cell != '-'))
				fail_msg("event %zu in stage %s", row, codes[from]);
			if (*cell == '-') {
				if (from % 6 == 0) /* fork is slow, so only some cells assert in a child */
					assert_true(dies(&job, grid[row].kind));
				continue;
			}
			if (grid[row].kind == SRV_JOB_SKIPPED)
				send(&job, SRV_JOB_DROP);
			srv_job_todo todo = send(&job, grid[row].kind);
			bool stays = *cell == '.' || *cell == '=' || *cell == '!';
			if (strncmp(codes[job.stage], stays ? codes[from] : cell, 2) != 0)
				fail_msg("event %zu in stage %s leads to %s", row, codes[from], codes[job.stage]);
			assert_int_equal(job.leave != SRV_JOB_STAYS, *cell == '!' || grid[row].kind == SRV_JOB_STOP ||
															 grid[row].kind == SRV_JOB_SKIPPED);
			assert_int_equal(todo.act == SRV_JOB_DO_END, job.stage == SRV_JOB_OVER && *cell != '.');
			if (*cell == '.' || *cell == '!')
				assert_int_equal(todo.act, SRV_JOB_DO_NOTHING);
		}
	}
}

/* A job that was dropped ends with the next answer, whatever it is, and starts no other work. */
static void who_leaves_ends_with_the_next_answer(void **unused)
{
	(void)unused;
	for (size_t row = 0; row < HOB_COUNT_OF(grid); row++)
		for (int from = 0; from < SRV_JOB_STAGES; from++) {
			const char *cell = grid[row].cells + 3 * from;
			srv_job job = at_stage((srv_job_stage)from);
			if (*cell == '-' || *cell == '.' || *cell == '!' || from == SRV_JOB_COOK || from == SRV_JOB_NEW ||
				srv_job_rests(&job))
				continue;
			send(&job, SRV_JOB_DROP);
			assert_true(srv_job_leaves(&job));
			assert_int_equal(send(&job, grid[row].kind).act, SRV_JOB_DO_END);
			assert_int_equal(job.stage, SRV_JOB_OVER);
		}
	srv_job job = at_stage(SRV_JOB_FIND);
	send(&job, SRV_JOB_CLOSE);
	assert_int_equal(send(&job, SRV_JOB_SKIPPED).act, SRV_JOB_DO_END);
}

static srv_job_todo miss(srv_job *job, bool elsewhere, bool preview, bool claims, srv_job *duplicate)
{
	return srv_job_apply(
		job, &(srv_job_event){.kind = SRV_JOB_MISSED, .facts = {elsewhere, preview, claims, duplicate}});
}

static void a_miss_asks_then_shows_then_cooks(void **unused)
{
	(void)unused;
	srv_job job = at_stage(SRV_JOB_MATCH);
	assert_int_equal(miss(&job, true, true, true, NULL).act, SRV_JOB_DO_ASK);
	assert_int_equal(miss(&job, true, true, true, NULL).act, SRV_JOB_DO_FIND);
	assert_int_equal(job.part, SRV_JOB_PREVIEW);
	pass(&job, SRV_JOB_MATCH);
	srv_job_todo todo = miss(&job, true, true, true, NULL); /* a preview is neither asked for nor claimed */
	assert_int_equal(todo.act, SRV_JOB_DO_WAIT);
	assert_true(todo.missed);
	job = at_stage(SRV_JOB_MATCH);
	assert_int_equal(miss(&job, false, false, true, NULL).act, SRV_JOB_DO_WAIT_TO_ASK);
}

static void what_another_job_cooks_is_waited_for(void **unused)
{
	(void)unused;
	srv_job first = at_stage(SRV_JOB_WAIT), second = at_stage(SRV_JOB_MATCH), third = at_stage(SRV_JOB_MATCH);
	first.order.priority = SRV_PRIORITY_BACKGROUND;
	assert_ptr_equal(miss(&second, false, false, false, &first).raise, &first);
	first.order.priority = SRV_PRIORITY_INTERACTIVE;
	assert_null(miss(&third, true, false, false, &first).raise);
	assert_int_equal(third.stage, SRV_JOB_DUPLICATE);
	assert_false(srv_job_may_be_joined(&third));
	send(&second, SRV_JOB_DROP);
	assert_ptr_equal(first.duplicates, &third);
	assert_null(third.next);
	pass(&first, SRV_JOB_RECORD);
	srv_job_todo todo = send(&first, SRV_JOB_RECORDED);
	assert_ptr_equal(todo.wake, &third);
	assert_int_equal(send(&third, SRV_JOB_DUPLICATE_OVER).act, SRV_JOB_DO_LOOK_UP);
	assert_null(third.of);
}

static void a_preview_wakes_its_duplicates_and_goes_on(void **unused)
{
	(void)unused;
	srv_job job = at_stage(SRV_JOB_MATCH), copy = at_stage(SRV_JOB_MATCH);
	miss(&job, false, true, false, NULL);
	pass(&job, SRV_JOB_WAIT);
	miss(&copy, false, true, false, NULL);
	pass(&copy, SRV_JOB_MATCH);
	miss(&copy, false, true, false, &job);
	pass(&job, SRV_JOB_RECORD);
	assert_true(srv_job_wants_preview(&job));
	srv_job_todo todo = srv_job_apply(&job, &(srv_job_event){.kind = SRV_JOB_RECORDED, .more = true});
	assert_int_equal(todo.act, SRV_JOB_DO_HASH_SOURCE);
	assert_ptr_equal(todo.wake, &copy);
	assert_int_equal(job.part, SRV_JOB_FINAL);
	assert_int_equal(job.order.priority, SRV_PRIORITY_BACKGROUND);
	pass(&job, SRV_JOB_FIND);
	srv_job_apply(&job, &(srv_job_event){.kind = SRV_JOB_LOOKED_UP, .newer = true});
	assert_int_equal(job.part, SRV_JOB_FIRST); /* saved meanwhile: needs another preview */
	assert_int_equal(job.order.priority, SRV_PRIORITY_CHANGED);
	job = at_stage(SRV_JOB_MATCH);
	miss(&job, false, true, false, NULL);
	pass(&job, SRV_JOB_RECORD);
	assert_int_equal(send(&job, SRV_JOB_RECORDED).act, SRV_JOB_DO_END); /* the asset has another job */
}

static void a_failed_preview_is_kept_as_the_final_failure(void **unused)
{
	(void)unused;
	srv_job job = at_stage(SRV_JOB_MATCH);
	miss(&job, false, true, false, NULL);
	pass(&job, SRV_JOB_COOK);
	srv_job_apply(&job, &(srv_job_event){.kind = SRV_JOB_COOKED, .has_result = true});
	assert_int_equal(job.part, SRV_JOB_FINAL);
	pass(&job, SRV_JOB_JUDGE);
	srv_job_event verdict = {.kind = SRV_JOB_VERDICT, .verdict = SRV_VERDICT_KEEP_FAILURE};
	assert_int_equal(srv_job_apply(&job, &verdict).act, SRV_JOB_DO_CHECK);
	assert_int_equal(send(&job, SRV_JOB_CHECKED).act, SRV_JOB_DO_KEEP_FAILURE);
}

static void a_preview_job_ends_without_a_word(void **unused)
{
	(void)unused;
	for (int i = 0; i < 6; i++) {
		srv_job final = at_stage(SRV_JOB_COOK), preview = fresh(7);
		assert_int_equal(
			srv_job_apply(&preview, &(srv_job_event){.kind = SRV_JOB_BEGIN, .final = &final}).act,
			SRV_JOB_DO_FIND);
		if (i == 0) {
			assert_int_equal(send(&preview, SRV_JOB_FAILED).act, SRV_JOB_DO_END);
		} else if (i == 1) {
			pass(&preview, SRV_JOB_JUDGE);
			srv_job_event verdict = {.kind = SRV_JOB_VERDICT, .verdict = SRV_VERDICT_TRY_AGAIN};
			assert_ptr_equal(srv_job_apply(&preview, &verdict).resume, &final);
		} else if (i == 2) {
			pass(&preview, SRV_JOB_COOK);
			srv_job_event ended = {.kind = SRV_JOB_COOKED, .cancelled = true};
			assert_int_equal(srv_job_apply(&preview, &ended).act, SRV_JOB_DO_END);
		} else if (i == 3) {
			pass(&final, SRV_JOB_RECORD);
			assert_ptr_equal(send(&final, SRV_JOB_RECORDED).drop, &preview);
			assert_int_equal(send(&preview, SRV_JOB_DROP).act, SRV_JOB_DO_NOTHING);
			continue;
		} else if (i == 4) {
			pass(&preview, SRV_JOB_MATCH);
			assert_int_equal(miss(&preview, true, true, true, NULL).act, SRV_JOB_DO_WAIT);
			send(&preview, SRV_JOB_DROP);
		} else {
			pass(&preview, SRV_JOB_STORE);
			assert_int_equal(send(&preview, SRV_JOB_FAILED).act, SRV_JOB_DO_END);
		}
		assert_null(final.preview);
	}
}

static void how_a_worker_ends_is_said_once(void **unused)
{
	(void)unused;
	static const struct {
		srv_job_event_kind leaves[2];
		srv_job_act act;
		srv_job_leave leave;
	} cases[] = {
		{{SRV_JOB_CUT, SRV_JOB_CUT}, SRV_JOB_DO_CANCELLED, SRV_JOB_IS_CUT},
		{{SRV_JOB_CUT, SRV_JOB_STOP}, SRV_JOB_DO_CANCELLED, SRV_JOB_IS_STOPPED},
		{{SRV_JOB_STOP, SRV_JOB_CUT}, SRV_JOB_DO_CANCELLED, SRV_JOB_IS_STOPPED},
		{{SRV_JOB_STOP, SRV_JOB_DROP}, SRV_JOB_DO_CANCELLED, SRV_JOB_IS_DROPPED},
		{{SRV_JOB_YIELD, SRV_JOB_DROP}, SRV_JOB_DO_END, SRV_JOB_YIELDS},
		{{SRV_JOB_DROP, SRV_JOB_CLOSE}, SRV_JOB_DO_END, SRV_JOB_IS_CLOSED},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		srv_job job = at_stage(SRV_JOB_COOK);
		send(&job, cases[i].leaves[0]);
		send(&job, cases[i].leaves[1]);
		assert_int_equal(job.leave, cases[i].leave);
		srv_job_event cooked = {.kind = SRV_JOB_COOKED, .ok = true, .has_result = true, .cancelled = true};
		assert_int_equal(srv_job_apply(&job, &cooked).act, cases[i].act);
		if (job.stage == SRV_JOB_RECORD)
			assert_int_equal(send(&job, SRV_JOB_RECORDED).act, SRV_JOB_DO_END);
	}
}

static void a_forced_job_looks_at_no_record(void **unused)
{
	(void)unused;
	srv_job job = at_stage(SRV_JOB_FIND), twin = at_stage(SRV_JOB_COOK);
	job.order.force = true;
	srv_job_event looked = {
		.kind = SRV_JOB_LOOKED_UP,
		.facts = {.elsewhere = true, .preview = true, .claims = true, .duplicate = &twin}};
	assert_int_equal(srv_job_apply(&job, &looked).act, SRV_JOB_DO_WAIT);
	assert_false(srv_job_may_be_joined(&job));
}

static void a_lease_is_asked_for_until_there_is_one(void **unused)
{
	(void)unused;
	srv_job job = at_stage(SRV_JOB_CLAIM);
	srv_job_event left = {.kind = SRV_JOB_LEASE_LEFT, .lease = SRV_JOB_THEIRS};
	assert_int_equal(srv_job_apply(&job, &left).act, SRV_JOB_DO_WAIT_TO_ASK);
	assert_int_equal(job.lease, SRV_JOB_THEIRS);
	send(&job, SRV_JOB_TURN);
	job.asked = true;
	assert_int_equal(send(&job, SRV_JOB_LEASE_AGAIN).act, SRV_JOB_DO_LOOK_UP);
	assert_false(job.asked);
	pass(&job, SRV_JOB_CLAIM);
	srv_job_apply(&job, &(srv_job_event){.kind = SRV_JOB_LEASED, .lease = SRV_JOB_MINE});
	pass(&job, SRV_JOB_JUDGE);
	srv_job_event again = {.kind = SRV_JOB_VERDICT, .verdict = SRV_VERDICT_TRY_AGAIN};
	srv_job_apply(&job, &again);
	pass(&job, SRV_JOB_MATCH);
	assert_int_equal(miss(&job, false, false, true, NULL).act, SRV_JOB_DO_WAIT); /* has the lease */
	pass(&job, SRV_JOB_RECORD);
	srv_job_give(&job);
	assert_int_equal(job.lease, SRV_JOB_GIVEN);
}

/* ---- a minimal simulated daemon of 200 assets and up to 400 jobs, with its expected publications */

enum { ASSETS = 200, JOBS = 400, EVENTS = 1000000 };

typedef struct sim_job {
	srv_job life; /* the first member */
	bool used, ended_row;
	uint32_t asset, source, read; /* versions */
	srv_job_act act;
	srv_tries tries;
} sim_job;

/* The reference: the saved versions, and the published one. */
static struct sim_asset {
	srv_asset life;
	uint32_t saved, shown, again; /* again: a version that fails until it is saved again */
	bool preview;
} assets[ASSETS];
static sim_job jobs[JOBS];
static uint64_t seed, last_job, steps, now_ms;
static bool calm; /* no more faults */

static uint32_t any(uint32_t count)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % count);
}

static bool rarely(uint32_t of)
{
	return !calm && any(of) == 0;
}

static void put_todo(sim_job *job, srv_job_todo todo);

static void tell(sim_job *job, srv_job_event e)
{
	steps++;
	put_todo(job, srv_job_apply(&job->life, &e));
}

static void tell_kind(sim_job *job, srv_job_event_kind kind)
{
	tell(job, (srv_job_event){.kind = kind});
}

static void write_row(sim_job *job)
{
	assert_false(job->ended_row);
	job->ended_row = true;
}

static void put_todo(sim_job *job, srv_job_todo todo)
{
	if (todo.act != SRV_JOB_DO_NOTHING)
		job->act = todo.act;
	if (todo.raise)
		todo.raise->order.priority = job->life.order.priority;
	while (todo.wake) {
		srv_job *next = todo.wake->next;
		tell_kind((sim_job *)todo.wake, SRV_JOB_DUPLICATE_OVER);
		todo.wake = next;
	}
	if (todo.drop)
		tell_kind((sim_job *)todo.drop, SRV_JOB_DROP);
}

static void sim_apply(uint32_t id, srv_asset_event e)
{
	e.now_ms = now_ms;
	e.at_ms = 1;
	e.last_job = &last_job;
	steps++;
	srv_asset_todo todo = srv_asset_apply(&assets[id].life, &e);
	if (todo.detach)
		tell_kind((sim_job *)todo.detach, SRV_JOB_DROP);
	if (!todo.cut)
		return;
	sim_job *job = (sim_job *)assets[id].life.job;
	if (any(2) > 0) {
		tell_kind(job, SRV_JOB_CUT);
		return;
	}
	write_row(job);
	tell_kind(job, SRV_JOB_YIELD);
	srv_asset_event cut = {
		.kind = SRV_ASSET_CUT, .taken = &job->life.order, .now_ms = 1, .last_job = &last_job};
	bool same = assets[id].life.state == SRV_ASSET_WORKING;
	srv_asset_apply(&assets[id].life, &cut);
	if (same)
		job->life.order.why = (hob_buf){0};
}

static sim_job *free_job(void)
{
	for (int i = 0; i < JOBS; i++)
		if (!jobs[i].used)
			return &jobs[i];
	return NULL;
}

static srv_job *find_duplicate(const sim_job *job)
{
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].used && &jobs[i] != job && srv_job_may_be_joined(&jobs[i].life) &&
			jobs[i].asset / 2 == job->asset / 2 && jobs[i].source == job->source &&
			srv_job_wants_preview(&jobs[i].life) == srv_job_wants_preview(&job->life))
			return &jobs[i].life;
	return NULL;
}

static bool is_late(const sim_job *job)
{
	const srv_asset *a = &assets[job->asset].life;
	return job->life.part == SRV_JOB_BESIDE &&
		   !(a->state == SRV_ASSET_WORKING && a->job->preview == &job->life);
}

static void publish(sim_job *job, srv_asset_event e)
{
	struct sim_asset *a = &assets[job->asset];
	bool result = e.kind == SRV_ASSET_GOOD || e.kind == SRV_ASSET_PREVIEW;
	assert_true(a->saved > 0 && job->source <= a->saved);
	/* An older version, or a worse quality of the same one, must not replace the published one. */
	if (result) {
		assert_true(job->source > a->shown ||
					(job->source == a->shown && (a->preview || e.kind == SRV_ASSET_GOOD)) || a->shown == 0);
		a->shown = job->source;
		a->preview = e.kind == SRV_ASSET_PREVIEW;
	}
	if (e.kind == SRV_ASSET_BAD)
		a->again = job->source;
	sim_apply(job->asset, e);
}

static void give_back(sim_job *job, srv_asset_event_kind kind)
{
	bool same = assets[job->asset].life.state == SRV_ASSET_WORKING;
	sim_apply(job->asset, (srv_asset_event){.kind = kind, .taken = &job->life.order});
	if (same)
		job->life.order.why = (hob_buf){0};
	if (!same && kind == SRV_ASSET_CUT)
		write_row(job);
}

static bool published(sim_job *job)
{
	bool more = assets[job->asset].life.job == &job->life;
	if (!more && job->life.part != SRV_JOB_BESIDE)
		write_row(job);
	return more;
}

static void end_job(sim_job *job)
{
	assert_int_equal(job->life.stage, SRV_JOB_OVER);
	assert_ptr_not_equal(assets[job->asset].life.job, &job->life);
	hob_buf_release(&job->life.order.why);
	*job = (sim_job){0};
}

static void keep(sim_job *job)
{
	bool preview = srv_job_wants_preview(&job->life);
	if (!is_late(job))
		publish(job, (srv_asset_event){.kind = preview ? SRV_ASSET_PREVIEW : SRV_ASSET_GOOD});
}

static srv_job_event facts_of(const sim_job *job, srv_job_event_kind kind)
{
	return (srv_job_event){.kind = kind,
						   .facts = {.elsewhere = any(3) == 0,
									 .preview = any(3) == 0 && !job->life.order.force,
									 .claims = any(3) == 0,
									 .duplicate = find_duplicate(job)}};
}

static srv_job_event verdict_of(sim_job *job)
{
	bool other_source = job->read != job->source;
	static const hob_err_code codes_of[] = {HOB_ERR_CRASHED, HOB_ERR_TIMEOUT, HOB_ERR_IO, HOB_ERR_MEMORY,
											HOB_ERR_INTERRUPTED};
	srv_cook_facts facts = {.ok = other_source || !rarely(4), .has_result = true, .touched = true};
	facts.other_source = other_source;
	facts.code = other_source ? HOB_ERR_CHANGED : facts.ok ? HOB_ERR_OK : codes_of[any(5)];
	facts.has_result = facts.ok || any(2) > 0;
	facts.writer = other_source && rarely(3);
	return (srv_job_event){
		.kind = SRV_JOB_VERDICT, .verdict = srv_judge(&facts, &job->tries), .newer = other_source};
}

/* Carries out the job's act, or injects a fault. */
static void carry_out(sim_job *job)
{
	srv_job_act act = job->act;
	job->act = SRV_JOB_DO_NOTHING;
	struct sim_asset *a = &assets[job->asset];
	if (srv_job_leaves(&job->life) && act != SRV_JOB_DO_END && act != SRV_JOB_DO_CANCELLED &&
		act != SRV_JOB_DO_NOTHING) {
		tell_kind(job, SRV_JOB_SKIPPED);
		return;
	}
	bool hashes = act == SRV_JOB_DO_HASH_SOURCE || act == SRV_JOB_DO_HASH_INPUTS ||
				  act == SRV_JOB_DO_HASH_READ || act == SRV_JOB_DO_HASH_TOUCHED ||
				  act == SRV_JOB_DO_TAKE_DIGESTS;
	if (hashes && rarely(8)) {
		static const srv_job_event_kind ends[] = {SRV_JOB_DIGESTS, SRV_JOB_UNFINISHED, SRV_JOB_FAILED};
		tell_kind(job, ends[any(3)]);
		return;
	}
	if (act == SRV_JOB_DO_HASH_SOURCE)
		job->source = a->saved;
	if (hashes) {
		tell_kind(job, SRV_JOB_HASHED);
		return;
	}
	switch (act) {
	case SRV_JOB_DO_LOOK_UP: {
		bool newer = job->life.part == SRV_JOB_FINAL && job->source != a->saved;
		job->source = a->saved;
		srv_job_event e = facts_of(job, SRV_JOB_LOOKED_UP);
		e.newer = newer;
		tell(job, e);
		break;
	}
	case SRV_JOB_DO_FIND:
		tell_kind(job, SRV_JOB_RECORDS);
		break;
	case SRV_JOB_DO_MATCH: {
		bool known = a->shown == job->source && !a->preview && !srv_job_wants_preview(&job->life);
		bool other_way = any(4) == 0 && a->again != job->source;
		tell(job,
			 known || other_way ? (srv_job_event){.kind = SRV_JOB_MATCHED} : facts_of(job, SRV_JOB_MISSED));
		break;
	}
	case SRV_JOB_DO_ASK:
		tell(job, any(2) ? (srv_job_event){.kind = SRV_JOB_ANSWER} : facts_of(job, SRV_JOB_MISSED));
		break;
	case SRV_JOB_DO_FETCH:
		tell(job, any(2) ? (srv_job_event){.kind = SRV_JOB_FETCHED} : facts_of(job, SRV_JOB_MISSED));
		break;
	case SRV_JOB_DO_WAIT_TO_ASK:
		tell_kind(job, any(4) > 0 ? SRV_JOB_TURN : SRV_JOB_HURRY);
		break;
	case SRV_JOB_DO_CLAIM: {
		static const srv_job_event answers[] = {{.kind = SRV_JOB_LEASED, .lease = SRV_JOB_MINE},
												{.kind = SRV_JOB_LEASE_LEFT, .lease = SRV_JOB_THEIRS},
												{.kind = SRV_JOB_LEASE_AGAIN}};
		tell(job, answers[calm ? 0 : any(3)]);
		break;
	}
	case SRV_JOB_DO_WAIT:
		if (rarely(20)) {
			tell_kind(job, SRV_JOB_FAILED);
		} else if (rarely(10) && job->life.part == SRV_JOB_FIRST && !job->life.order.force) {
			tell_kind(job, SRV_JOB_SHOW);
		} else {
			tell_kind(job, SRV_JOB_WORKER);
			job->read = a->saved;
			if (job->life.part != SRV_JOB_BESIDE)
				srv_asset_set_worker(&a->life, true);
		}
		break;
	case SRV_JOB_DO_JUDGE:
		tell(job, rarely(5) ? (srv_job_event){.kind = SRV_JOB_MORE} : verdict_of(job));
		break;
	case SRV_JOB_DO_STORE:
		tell_kind(job, rarely(20) ? SRV_JOB_FAILED : SRV_JOB_STORED);
		break;
	case SRV_JOB_DO_CHECK:
		tell_kind(job, rarely(5) ? SRV_JOB_MORE : SRV_JOB_CHECKED);
		break;
	case SRV_JOB_DO_TAKE:
	case SRV_JOB_DO_KEEP:
		keep(job);
		tell(job, (srv_job_event){.kind = SRV_JOB_RECORDED, .more = published(job)});
		break;
	case SRV_JOB_DO_KEEP_FAILURE:
		publish(job, (srv_asset_event){.kind = SRV_ASSET_BAD, .error = SRV_ASSET_FAILED, .kept = true});
		tell(job, (srv_job_event){.kind = SRV_JOB_RECORDED, .more = published(job)});
		break;
	case SRV_JOB_DO_FAIL:
		publish(job, (srv_asset_event){.kind = SRV_ASSET_PASSING, .error = SRV_ASSET_TRANSIENT});
		tell(job, (srv_job_event){.kind = SRV_JOB_RECORDED, .more = published(job)});
		break;
	case SRV_JOB_DO_GIVE_BACK:
		give_back(job, SRV_ASSET_HALF_WRITTEN);
		tell_kind(job, SRV_JOB_RECORDED);
		break;
	case SRV_JOB_DO_CANCELLED:
		if (job->life.leave == SRV_JOB_IS_STOPPED)
			publish(job, (srv_asset_event){.kind = SRV_ASSET_STOPPED});
		if (job->life.leave == SRV_JOB_IS_CUT)
			give_back(job, SRV_ASSET_CUT);
		else
			write_row(job);
		tell_kind(job, SRV_JOB_RECORDED);
		break;
	case SRV_JOB_DO_END:
		end_job(job);
		break;
	default:
		assert_int_equal(act, SRV_JOB_DO_NOTHING);
		if (job->life.stage == SRV_JOB_COOK && any(3) > 0) {
			bool ends = job->life.leave != SRV_JOB_STAYS, own = assets[job->asset].life.job == &job->life;
			if (own)
				srv_asset_set_worker(&a->life, false);
			tell(job,
				 (srv_job_event){.kind = SRV_JOB_COOKED, .ok = true, .has_result = true, .cancelled = ends});
		}
	}
}

static void begin_job(uint32_t id)
{
	sim_job *job = free_job();
	if (!job || assets[id].life.state != SRV_ASSET_QUEUED)
		return;
	*job = (sim_job){.used = true, .asset = id};
	sim_apply(id, (srv_asset_event){.kind = SRV_ASSET_BEGIN, .job = &job->life, .taken = &job->life.order});
	tell_kind(job, SRV_JOB_BEGIN);
}

static void begin_preview(sim_job *final)
{
	sim_job *job = free_job();
	const srv_asset *a = &assets[final->asset].life;
	if (!job || final->life.preview || final->life.part != SRV_JOB_FIRST || final->life.order.force ||
		final->life.stage != SRV_JOB_COOK || a->state != SRV_ASSET_WORKING || a->job != &final->life ||
		srv_job_leaves(&final->life))
		return;
	*job = (sim_job){.used = true, .asset = final->asset, .source = final->source};
	job->life.order.id = final->life.order.id;
	job->life.order.priority = SRV_PRIORITY_INTERACTIVE;
	tell(job, (srv_job_event){.kind = SRV_JOB_BEGIN, .final = &final->life});
}

static void somebody_acts(uint32_t id)
{
	struct sim_asset *a = &assets[id];
	sim_job *job = (sim_job *)a->life.job;
	switch (any(8)) {
	case 0:
		if (a->life.state != SRV_ASSET_ABSENT)
			sim_apply(id, (srv_asset_event){.kind = SRV_ASSET_GONE});
		a->shown = 0;
		a->preview = false;
		break;
	case 1:
		if (a->life.state != SRV_ASSET_ABSENT)
			sim_apply(id, (srv_asset_event){.kind = SRV_ASSET_LOST});
		break;
	case 2:
		if (job)
			tell_kind(job, SRV_JOB_HURRY);
		break;
	case 3:
		if (job && (srv_job_rests(&job->life) || job->life.stage == SRV_JOB_COOK))
			tell_kind(job, SRV_JOB_STOP);
		break;
	case 4:
		if (job)
			begin_preview(job);
		break;
	case 5:
		if (job && job->life.stage == SRV_JOB_COOK && a->life.state == SRV_ASSET_WORKING)
			tell_kind(job, SRV_JOB_CUT);
		break;
	default:
		a->saved++;
		sim_apply(id, (srv_asset_event){.kind = SRV_ASSET_DIRTY,
										.reason = "changed",
										.force = any(10) == 0,
										.quick = any(2) == 0,
										.priority = (srv_priority)any(SRV_PRIORITY_COUNT)});
	}
}

static void settle(uint32_t id)
{
	struct sim_asset *a = &assets[id];
	if (srv_asset_is_due(&a->life, UINT64_MAX - 1))
		sim_apply(id, (srv_asset_event){.kind = SRV_ASSET_CLOCK, .reason = "retry"});
	begin_job(id);
}

static void a_random_walk_publishes_what_was_saved(void **unused)
{
	(void)unused;
	seed = 20261128;
	for (uint64_t turn = 0; steps < EVENTS; turn++) {
		now_ms = turn;
		if (any(4) == 0)
			somebody_acts(any(ASSETS));
		settle(any(ASSETS));
		sim_job *job = &jobs[any(JOBS)];
		if (job->used)
			carry_out(job);
	}
	/* In the end every resaved version is published, and nothing is left. */
	calm = true;
	for (uint32_t i = 0; i < ASSETS; i++) {
		assets[i].saved++;
		sim_apply(i, (srv_asset_event){.kind = SRV_ASSET_DIRTY, .reason = "changed"});
	}
	for (uint32_t turn = 0; turn < 200; turn++) {
		for (uint32_t i = 0; i < ASSETS; i++)
			settle(i);
		for (uint32_t i = 0; i < JOBS; i++)
			if (jobs[i].used)
				carry_out(&jobs[i]);
	}
	for (uint32_t i = 0; i < JOBS; i++)
		assert_false(jobs[i].used);
	for (uint32_t i = 0; i < ASSETS; i++) {
		assert_int_equal(assets[i].life.state, SRV_ASSET_IDLE);
		assert_int_equal(srv_asset_public(&assets[i].life), SRV_FRESH);
		assert_int_equal(assets[i].shown, assets[i].saved);
		assert_false(assets[i].preview);
		srv_asset_release(&assets[i].life);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell_is_as_the_table_says),
		cmocka_unit_test(who_leaves_ends_with_the_next_answer),
		cmocka_unit_test(a_miss_asks_then_shows_then_cooks),
		cmocka_unit_test(what_another_job_cooks_is_waited_for),
		cmocka_unit_test(a_preview_wakes_its_duplicates_and_goes_on),
		cmocka_unit_test(a_failed_preview_is_kept_as_the_final_failure),
		cmocka_unit_test(a_preview_job_ends_without_a_word),
		cmocka_unit_test(how_a_worker_ends_is_said_once),
		cmocka_unit_test(a_forced_job_looks_at_no_record),
		cmocka_unit_test(a_lease_is_asked_for_until_there_is_one),
		cmocka_unit_test(a_random_walk_publishes_what_was_saved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
