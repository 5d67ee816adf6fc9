#include "tests/unit/support.h"

#include "server/cook/asset.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The transition table again: the new state by its first letters, with "p" if it publishes; '.': ignored;
 * '-': impossible. Columns: absent away idle backoff writer queued working outdated. */
static const struct {
	srv_asset_event_kind kind;
	const char *cells[SRV_ASSET_STATES];
} grid[] = {
	{SRV_ASSET_RESTORED, {"ID", "-", "-", "-", "-", "-", "-", "-"}},
	{SRV_ASSET_FORGOTTEN, {".", "-", "ID", "-", "-", "-", "-", "-"}},
	{SRV_ASSET_DIRTY, {"QU", "QU", "QU", "QU", "QU", "QU", "OU", "OU"}},
	{SRV_ASSET_MOVED, {".", ".", "QU", "QU", "QU", "QU", "QU", "QU"}},
	{SRV_ASSET_GONE, {".", "ABp", "ABp", "ABp", "ABp", "ABp", "ABp", "ABp"}},
	{SRV_ASSET_LOST, {".", ".", "AWp", "AWp", "AWp", "AWp", "AWp", "AWp"}},
	{SRV_ASSET_BACK, {"-", "IDp", "-", "-", "-", "-", "-", "-"}},
	{SRV_ASSET_CLOCK, {"-", "-", "-", "QU", "QU", "-", "-", "-"}},
	{SRV_ASSET_WORKERS_BACK, {".", ".", ".", "QU", ".", ".", ".", "."}},
	{SRV_ASSET_BEGIN, {"-", "-", "-", "-", "-", "WO", "-", "-"}},
	{SRV_ASSET_PREVIEW, {"-", "-", "-", "-", "-", "-", "WOp", "QUp"}},
	{SRV_ASSET_GOOD, {"-", "-", "-", "-", "-", "-", "IDp", "QUp"}},
	{SRV_ASSET_SAME, {"-", "-", "-", "-", "-", "-", "ID", "QU"}},
	{SRV_ASSET_BAD, {"-", "-", "-", "-", "-", "-", "IDp", "QUp"}},
	{SRV_ASSET_PASSING, {"-", "-", "-", "-", "-", "-", "BAp", "QUp"}},
	{SRV_ASSET_HALF_WRITTEN, {"-", "-", "-", "-", "-", "-", "WR", "QU"}},
	{SRV_ASSET_STOPPED, {"-", "-", "-", "-", "-", "IDp", "IDp", "QU"}},
	{SRV_ASSET_CUT, {"-", "-", "-", "-", "-", "-", "QU", "QU"}},
	{SRV_ASSET_ROOT_CAUSE, {".", ".", "IDp", "BAp", ".", ".", ".", "."}},
};
static const char *const letters[SRV_ASSET_STATES] = {"AB", "AW", "ID", "BA", "WR", "QU", "WO", "OU"};

static uint64_t last_job;
static int a_job;

static srv_asset_event event(srv_asset_event_kind kind)
{
	return (srv_asset_event){.kind = kind,
							 .now_ms = 1000,
							 .at_ms = 5000,
							 .last_job = &last_job,
							 .reason = "changed",
							 .path = HOB_STR("a.obj"),
							 .priority = SRV_PRIORITY_CHANGED,
							 .error = SRV_ASSET_NO_ROOM,
							 .kept = true,
							 .job = (struct srv_job *)&a_job};
}

/* Applies, and keeps the returned `taken`. */
static srv_asset_todo apply(srv_asset *a, srv_asset_event e)
{
	srv_asset_next taken = {0};
	bool gives =
		(e.kind == SRV_ASSET_HALF_WRITTEN || e.kind == SRV_ASSET_CUT) && a->state == SRV_ASSET_WORKING;
	if (gives)
		taken = (srv_asset_next){.id = 77, .queued_at_ms = 4000};
	e.taken = &taken;
	srv_asset_todo todo = srv_asset_apply(a, &e);
	if (!gives)
		hob_buf_release(&taken.why);
	return todo;
}

static srv_asset_todo send(srv_asset *a, srv_asset_event_kind kind)
{
	return apply(a, event(kind));
}

/* Reaches a state by the shortest path. */
static srv_asset at_state(srv_asset_state state)
{
	srv_asset a = {0};
	if (state == SRV_ASSET_ABSENT)
		return a;
	send(&a, SRV_ASSET_DIRTY);
	if (state == SRV_ASSET_QUEUED)
		return a;
	if (state == SRV_ASSET_AWAY) {
		send(&a, SRV_ASSET_LOST);
		return a;
	}
	send(&a, SRV_ASSET_BEGIN);
	switch (state) {
	case SRV_ASSET_IDLE:
		send(&a, SRV_ASSET_BAD);
		break;
	case SRV_ASSET_BACKOFF: {
		srv_asset_event e = event(SRV_ASSET_PASSING);
		e.error = SRV_ASSET_NO_WORKER;
		apply(&a, e);
		break;
	}
	case SRV_ASSET_WRITER:
		send(&a, SRV_ASSET_HALF_WRITTEN);
		break;
	case SRV_ASSET_OUTDATED:
		send(&a, SRV_ASSET_DIRTY);
		break;
	default:
		break;
	}
	assert_int_equal(a.state, state);
	return a;
}

static bool dies(srv_asset *a, srv_asset_event_kind kind)
{
	pid_t child = fork();
	if (child == 0) {
		struct rlimit none = {0};
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
		send(a, kind);
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void every_cell_is_as_the_table_says(void **unused)
{
	(void)unused;
	assert_int_equal(HOB_COUNT_OF(grid), SRV_ASSET_EVENTS);
	for (size_t row = 0; row < HOB_COUNT_OF(grid); row++)
		for (int from = 0; from < SRV_ASSET_STATES; from++) {
			const char *cell = grid[row].cells[from];
			srv_asset a = at_state((srv_asset_state)from);
			if (grid[row].kind == SRV_ASSET_ROOT_CAUSE && from == SRV_ASSET_BACKOFF)
				a.error = SRV_ASSET_NO_ROOM;
			if (cell[0] == '-') {
				if (!dies(&a, grid[row].kind))
					fail_msg("event %d is taken in %s", grid[row].kind, letters[from]);
				srv_asset_release(&a);
				continue;
			}
			srv_asset_todo todo = send(&a, grid[row].kind);
			const char *to = cell[0] == '.' ? letters[from] : cell;
			if (memcmp(letters[a.state], to, 2) != 0)
				fail_msg("event %d in %s leads to %s", grid[row].kind, letters[from], letters[a.state]);
			bool publishes = cell[0] != '.' && cell[2] == 'p';
			if (todo.publish != publishes)
				fail_msg("event %d in %s: published %d", grid[row].kind, letters[from], todo.publish);
			srv_asset_release(&a);
		}
}

/* Random possible events: the invariants hold after each, and a caller that carries out the actions has the
 * asset in the queue exactly while it is QUEUED. */
static void a_random_walk_keeps_every_invariant(void **unused)
{
	(void)unused;
	enum { STEPS = 1000000 };
	uint32_t seed = 7, seen[SRV_ASSET_STATES] = {0};
	srv_asset a = {0};
	bool queued = false;
	for (uint32_t step = 0; step < STEPS; step++) {
		seed = seed * 1664525u + 1013904223u;
		size_t row = (seed >> 8) % HOB_COUNT_OF(grid);
		if (grid[row].cells[a.state][0] == '-')
			continue;
		srv_asset_event e = event(grid[row].kind);
		e.priority = (srv_priority)((seed >> 20) % SRV_PRIORITY_COUNT);
		e.force = (seed >> 24) & 1;
		e.kept = (seed >> 25) & 1;
		e.now_ms = 1000 + step;
		e.error = (seed >> 26) & 1 ? SRV_ASSET_NO_WORKER : SRV_ASSET_FAILED;
		if (e.kind == SRV_ASSET_BEGIN)
			queued = false; /* popped */
		srv_asset_state from = a.state;
		srv_asset_todo todo = apply(&a, e);
		if (e.kind == SRV_ASSET_BEGIN && (seed & 1))
			srv_asset_set_worker(&a, true);
		queued = todo.dequeue ? false : todo.queue ? true : queued;
		assert_true(srv_asset_is_sound(&a));
		assert_int_equal(queued, a.state == SRV_ASSET_QUEUED);
		if (todo.cut)
			assert_int_equal(a.state, SRV_ASSET_OUTDATED);
		/* Public state fresh requires: equal to the disk, as far as known. */
		if (srv_asset_public(&a) == SRV_FRESH)
			assert_true(a.state == SRV_ASSET_IDLE || a.state == SRV_ASSET_BACKOFF ||
						srv_asset_shows_preview(&a));
		if (a.state == SRV_ASSET_IDLE && from != SRV_ASSET_IDLE && a.error == SRV_ASSET_FINE && a.has_good &&
			e.kind != SRV_ASSET_BACK && e.kind != SRV_ASSET_RESTORED)
			assert_true(from == SRV_ASSET_WORKING);
		seen[a.state]++;
	}
	for (int i = 0; i < SRV_ASSET_STATES; i++)
		assert_true(seen[i] > 100);
	srv_asset_release(&a);
}

static void a_wait_doubles_to_a_minute(void **unused)
{
	(void)unused;
	static const uint32_t waits[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
	srv_asset a = at_state(SRV_ASSET_WORKING);
	for (size_t i = 0; i < HOB_COUNT_OF(waits); i++) {
		srv_asset_event e = event(SRV_ASSET_PASSING);
		e.error = SRV_ASSET_TRANSIENT;
		assert_true(apply(&a, e).forget_last);
		assert_int_equal(a.retry.at_ms, 1000 + waits[i]);
		assert_false(srv_asset_is_due(&a, 999 + waits[i]));
		assert_true(srv_asset_is_due(&a, 1000 + waits[i]));
		assert_true(send(&a, SRV_ASSET_CLOCK).queue);
		send(&a, SRV_ASSET_BEGIN);
	}
	send(&a, SRV_ASSET_GOOD);
	send(&a, SRV_ASSET_DIRTY);
	send(&a, SRV_ASSET_BEGIN);
	send(&a, SRV_ASSET_PASSING);
	assert_int_equal(a.retry.at_ms, 2000);
	srv_asset_release(&a);
}

static void a_wait_after_interruptions_grows_to_a_quarter_of_an_hour(void **unused)
{
	(void)unused;
	srv_asset a = at_state(SRV_ASSET_WORKING);
	uint32_t waits[12];
	for (size_t i = 0; i < HOB_COUNT_OF(waits); i++) {
		srv_asset_event e = event(SRV_ASSET_PASSING);
		e.error = SRV_ASSET_INTERRUPTED;
		apply(&a, e);
		waits[i] = a.retry.wait_ms;
		send(&a, SRV_ASSET_CLOCK);
		send(&a, SRV_ASSET_BEGIN);
	}
	assert_int_equal(waits[0], 1000);
	assert_int_equal(waits[7], 128000);
	assert_int_equal(waits[11], 900000);
	a.retry.wait_ms = 0;
	srv_asset_event slow = event(SRV_ASSET_PASSING);
	slow.error = SRV_ASSET_INTERRUPTED;
	slow.lost_ms = 120000;
	apply(&a, slow);
	assert_int_equal(a.retry.wait_ms, 120000);
	srv_asset_release(&a);
}

static void without_workers_only_workers_help(void **unused)
{
	(void)unused;
	srv_asset a = at_state(SRV_ASSET_BACKOFF);
	assert_false(srv_asset_is_due(&a, 1ull << 40));
	assert_int_equal(srv_asset_public(&a), SRV_BLOCKED);
	send(&a, SRV_ASSET_WORKERS_BACK);
	assert_int_equal(a.state, SRV_ASSET_QUEUED);
	srv_asset_release(&a);
	a = at_state(SRV_ASSET_WORKING);
	send(&a, SRV_ASSET_PASSING); /* the disk is full */
	send(&a, SRV_ASSET_WORKERS_BACK);
	assert_int_equal(a.state, SRV_ASSET_BACKOFF);
	srv_asset_release(&a);
}

static void eight_reasons_are_kept(void **unused)
{
	(void)unused;
	srv_asset a = {0};
	char name[] = "0.obj";
	for (int i = 0; i < 12; i++) {
		srv_asset_event e = event(SRV_ASSET_DIRTY);
		name[0] = (char)('a' + i);
		e.path = hob_str_of(name);
		apply(&a, e);
	}
	assert_int_equal(a.next.why_count, 8);
	assert_true(hob_str_find(hob_buf_str(&a.next.why), HOB_STR("{\"kind\":\"changed\",\"path\":\"h.obj\"}"),
							 0) != SIZE_MAX);
	assert_true(hob_str_find(hob_buf_str(&a.next.why), HOB_STR("i.obj"), 0) == SIZE_MAX);
	srv_asset_release(&a);
}

static void of_two_saves_in_a_row_the_second_cook_finishes(void **unused)
{
	(void)unused;
	srv_asset a = at_state(SRV_ASSET_WORKING);
	assert_false(send(&a, SRV_ASSET_DIRTY).cut); /* not on a worker */
	send(&a, SRV_ASSET_GOOD);
	send(&a, SRV_ASSET_BEGIN);
	srv_asset_set_worker(&a, true);
	srv_asset_event background = event(SRV_ASSET_DIRTY);
	background.priority = SRV_PRIORITY_BACKGROUND;
	assert_false(apply(&a, background).cut);
	assert_true(send(&a, SRV_ASSET_DIRTY).cut);
	assert_false(send(&a, SRV_ASSET_DIRTY).cut); /* cut only once */
	send(&a, SRV_ASSET_CUT);
	assert_int_equal(a.next.cuts, 1);
	send(&a, SRV_ASSET_BEGIN);
	srv_asset_set_worker(&a, true);
	assert_false(send(&a, SRV_ASSET_DIRTY).cut);
	send(&a, SRV_ASSET_GOOD);
	send(&a, SRV_ASSET_BEGIN);
	srv_asset_set_worker(&a, true);
	assert_true(send(&a, SRV_ASSET_DIRTY).cut); /* allowed again: the cook before ended */
	srv_asset_release(&a);
}

static void a_quick_cook_is_cut_a_few_times_in_a_row(void **unused)
{
	(void)unused;
	srv_asset a = at_state(SRV_ASSET_WORKING);
	srv_asset_event save = event(SRV_ASSET_DIRTY);
	save.quick = true;
	for (int i = 0; i < SRV_ASSET_QUICK_CUTS; i++) {
		srv_asset_set_worker(&a, true);
		assert_true(apply(&a, save).cut);
		assert_false(apply(&a, save).cut); /* each cook is cut only once */
		send(&a, SRV_ASSET_CUT);
		send(&a, SRV_ASSET_BEGIN);
	}
	srv_asset_set_worker(&a, true);
	assert_false(apply(&a, save).cut);
	send(&a, SRV_ASSET_GOOD);
	send(&a, SRV_ASSET_BEGIN);
	srv_asset_set_worker(&a, true);
	assert_true(apply(&a, save).cut);
	srv_asset_release(&a);
}

static void a_cook_that_made_room_goes_on_under_its_number(void **unused)
{
	(void)unused;
	srv_asset a = {0};
	srv_asset_next taken = {0};
	send(&a, SRV_ASSET_DIRTY);
	srv_asset_event begin = event(SRV_ASSET_BEGIN), cut = event(SRV_ASSET_CUT);
	begin.taken = cut.taken = &taken;
	srv_asset_apply(&a, &begin);
	srv_asset_set_worker(&a, true);
	uint64_t id = taken.id;
	srv_asset_todo todo = srv_asset_apply(&a, &cut);
	assert_true(todo.queue && !todo.publish);
	assert_int_equal(a.next.id, id);
	assert_int_equal(a.next.why_count, 1);
	assert_true(a.next.cuts == 1 && !a.on_worker);
	srv_asset_release(&a);
}

static void a_result_of_older_bytes_is_stale(void **unused)
{
	(void)unused;
	srv_asset a = at_state(SRV_ASSET_OUTDATED);
	assert_true(send(&a, SRV_ASSET_GOOD).queue);
	assert_int_equal(srv_asset_public(&a), SRV_STALE);
	send(&a, SRV_ASSET_BEGIN);
	assert_int_equal(srv_asset_public(&a), SRV_STALE);
	send(&a, SRV_ASSET_GOOD);
	assert_int_equal(srv_asset_public(&a), SRV_FRESH);
	srv_asset_release(&a);
}

static void a_preview_is_fresh_until_a_newer_save(void **unused)
{
	(void)unused;
	srv_asset a = at_state(SRV_ASSET_WORKING);
	assert_int_equal(srv_asset_public(&a), SRV_QUEUED);
	srv_asset_set_worker(&a, true);
	assert_int_equal(srv_asset_public(&a), SRV_COOKING);
	srv_asset_set_worker(&a, false);
	assert_int_equal(srv_asset_public(&a), SRV_COOKING);
	send(&a, SRV_ASSET_PREVIEW);
	assert_true(srv_asset_shows_preview(&a));
	assert_int_equal(srv_asset_public(&a), SRV_FRESH);
	send(&a, SRV_ASSET_DIRTY);
	assert_false(srv_asset_shows_preview(&a));
	assert_int_equal(srv_asset_public(&a), SRV_STALE);
	srv_asset_release(&a);
}

static void a_withdrawn_preview_gives_its_place_to_the_version_before_it(void **unused)
{
	(void)unused;
	const srv_asset_event_kind ends[] = {SRV_ASSET_BAD, SRV_ASSET_STOPPED};
	for (int before = 0; before < 2; before++)
		for (int i = 0; i < 2; i++) {
			srv_asset a = at_state(SRV_ASSET_WORKING);
			send(&a, SRV_ASSET_PREVIEW);
			srv_asset_event e = event(ends[i]);
			e.withdrawn = true, e.has_good = before;
			apply(&a, e);
			assert_int_equal(a.has_good, before);
			assert_false(a.good_is_preview);
			srv_asset_release(&a);
		}
}

static void who_asks_by_force_gets_it_whatever_others_ask(void **unused)
{
	(void)unused;
	srv_asset a = {0};
	srv_asset_event e = event(SRV_ASSET_DIRTY);
	e.force = true;
	apply(&a, e);
	send(&a, SRV_ASSET_DIRTY);
	assert_true(a.next.force);
	srv_asset_next taken = {0};
	srv_asset_event begin = event(SRV_ASSET_BEGIN);
	begin.taken = &taken;
	srv_asset_apply(&a, &begin);
	assert_true(taken.force);
	assert_int_equal(taken.why_count, 2);
	/* A half-written file puts the job's id, reasons and force back into the asset. */
	srv_asset_event half = event(SRV_ASSET_HALF_WRITTEN);
	uint64_t id = taken.id;
	half.taken = &taken;
	srv_asset_apply(&a, &half);
	assert_int_equal(a.next.id, id);
	assert_int_equal(a.retry.at_ms, 1500);
	send(&a, SRV_ASSET_CLOCK);
	assert_true(a.next.force && a.next.id == id);
	srv_asset_release(&a);
}

static void what_is_deleted_is_forgotten(void **unused)
{
	(void)unused;
	srv_asset a = at_state(SRV_ASSET_WORKING);
	send(&a, SRV_ASSET_GOOD);
	send(&a, SRV_ASSET_DIRTY);
	send(&a, SRV_ASSET_BEGIN);
	srv_asset_todo todo = send(&a, SRV_ASSET_GONE);
	assert_ptr_equal(todo.detach, &a_job);
	assert_true(todo.forget_last && !a.has_good);
	assert_int_equal(srv_asset_public(&a), SRV_REMOVED);
	send(&a, SRV_ASSET_DIRTY); /* saved again while the old job still runs */
	assert_int_equal(srv_asset_public(&a), SRV_QUEUED);
	srv_asset_release(&a);
}

static void what_had_other_settings_is_forgotten(void **unused)
{
	(void)unused;
	srv_asset a = at_state(SRV_ASSET_WORKING);
	send(&a, SRV_ASSET_GOOD);
	assert_true(send(&a, SRV_ASSET_MOVED).queue && !a.has_good);
	assert_int_equal(srv_asset_public(&a), SRV_QUEUED);
	send(&a, SRV_ASSET_BEGIN);
	srv_asset_todo todo = send(&a, SRV_ASSET_MOVED);
	assert_ptr_equal(todo.detach, &a_job);
	assert_true(todo.queue && !todo.cut && !a.job && a.next.why_count == 1);
	srv_asset_release(&a);
}

static void what_waits_is_not_blocked_by_another(void **unused)
{
	(void)unused;
	srv_asset a = at_state(SRV_ASSET_WORKING);
	srv_asset_event bad = event(SRV_ASSET_BAD);
	bad.error = SRV_ASSET_FAILED;
	apply(&a, bad);
	assert_true(send(&a, SRV_ASSET_ROOT_CAUSE).publish);
	assert_int_equal(srv_asset_public(&a), SRV_BLOCKED);
	send(&a, SRV_ASSET_DIRTY);
	assert_false(send(&a, SRV_ASSET_ROOT_CAUSE).publish); /* the asset's own cook will decide */
	assert_int_equal(srv_asset_public(&a), SRV_QUEUED);
	srv_asset_release(&a);
}

static void a_raise_never_lowers(void **unused)
{
	(void)unused;
	srv_asset a = at_state(SRV_ASSET_QUEUED);
	assert_false(srv_asset_raise(&a, SRV_PRIORITY_BACKGROUND));
	assert_true(srv_asset_raise(&a, SRV_PRIORITY_INTERACTIVE));
	srv_asset_release(&a);
	a = at_state(SRV_ASSET_OUTDATED);
	assert_false(srv_asset_raise(&a, SRV_PRIORITY_INTERACTIVE)); /* not in the queue */
	assert_int_equal(a.next.priority, SRV_PRIORITY_INTERACTIVE);
	srv_asset_release(&a);
}

static void the_error_makes_the_settled_state(void **unused)
{
	(void)unused;
	static const srv_state without[] = {SRV_QUEUED, SRV_FAILED,		 SRV_QUARANTINED, SRV_BLOCKED,
										SRV_FAILED, SRV_INTERRUPTED, SRV_BLOCKED,	  SRV_BLOCKED};
	for (size_t i = 0; i < HOB_COUNT_OF(without); i++) {
		srv_asset a = {.state = SRV_ASSET_IDLE, .error = (srv_asset_error)i};
		assert_int_equal(srv_asset_settled(&a), without[i]);
		a.has_good = true;
		assert_int_equal(srv_asset_settled(&a), i == SRV_ASSET_FINE ? SRV_FRESH : SRV_STALE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell_is_as_the_table_says),
		cmocka_unit_test(a_random_walk_keeps_every_invariant),
		cmocka_unit_test(a_wait_doubles_to_a_minute),
		cmocka_unit_test(a_wait_after_interruptions_grows_to_a_quarter_of_an_hour),
		cmocka_unit_test(without_workers_only_workers_help),
		cmocka_unit_test(eight_reasons_are_kept),
		cmocka_unit_test(of_two_saves_in_a_row_the_second_cook_finishes),
		cmocka_unit_test(a_quick_cook_is_cut_a_few_times_in_a_row),
		cmocka_unit_test(a_cook_that_made_room_goes_on_under_its_number),
		cmocka_unit_test(a_result_of_older_bytes_is_stale),
		cmocka_unit_test(a_preview_is_fresh_until_a_newer_save),
		cmocka_unit_test(a_withdrawn_preview_gives_its_place_to_the_version_before_it),
		cmocka_unit_test(who_asks_by_force_gets_it_whatever_others_ask),
		cmocka_unit_test(what_is_deleted_is_forgotten),
		cmocka_unit_test(what_had_other_settings_is_forgotten),
		cmocka_unit_test(what_waits_is_not_blocked_by_another),
		cmocka_unit_test(a_raise_never_lowers),
		cmocka_unit_test(the_error_makes_the_settled_state),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
