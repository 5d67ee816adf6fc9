#include "tests/unit/support.h"

#include "server/cook/waiter.h"

#include <string.h>

enum { CONTROLS = 4 };

typedef struct room {
	srv_control controls[CONTROLS];
	uint32_t answers[CONTROLS];
	srv_waiter_end last;
	bool done[CONTROLS];
	uint64_t scans[2];
} room;

static bool is_done(void *user, const srv_waiter *w)
{
	room *r = user;
	return w->rounds ? srv_waiter_scans_over(w, r->scans) : r->done[w->asset];
}

static void answer(void *user, const srv_waiter *w, srv_waiter_end how)
{
	room *r = user;
	r->answers[w->control - r->controls]++;
	r->last = how;
}

static void check(srv_waiters *waiters, room *r, uint64_t now, bool closing)
{
	srv_waiters_check(waiters, now, closing, &(srv_waiter_calls){r, is_done, answer});
}

static void each_is_answered_once(void **state)
{
	(void)state;
	static room r;
	srv_waiters waiters = {0};
	memset(&r, 0, sizeof r);
	for (uint32_t i = 0; i < CONTROLS; i++)
		assert_true(srv_waiter_add(&waiters, &r.controls[i], i, 0, NULL, 2));
	r.done[0] = r.done[2] = true;
	check(&waiters, &r, 1, false);
	assert_true(srv_waiters_has(&waiters, 1) && srv_waiters_has(&waiters, 3));
	assert_false(srv_waiters_has(&waiters, 0) || srv_waiters_has(&waiters, 2));
	check(&waiters, &r, 2, false);
	r.done[1] = true;
	check(&waiters, &r, 3, false);
	assert_int_equal(r.last, SRV_WAITER_DONE);
	check(&waiters, &r, 4, true);
	assert_int_equal(r.last, SRV_WAITER_CLOSING);
	check(&waiters, &r, 5, true);
	for (uint32_t i = 0; i < CONTROLS; i++)
		assert_int_equal(r.answers[i], 1);
	srv_waiters_release(&waiters);
}

static void patience_ends_at_the_deadline(void **state)
{
	(void)state;
	static room r;
	srv_waiters waiters = {0};
	memset(&r, 0, sizeof r);
	r.controls[0].timeout_ms = 250;
	assert_true(srv_waiter_add(&waiters, &r.controls[0], 0, 1000, NULL, 1));
	assert_true(srv_waiter_add(&waiters, &r.controls[1], 1, 1000, NULL, 1)); /* default: a minute */
	check(&waiters, &r, 1249, false);
	assert_int_equal(r.answers[0], 0);
	check(&waiters, &r, 1250, false);
	assert_int_equal(r.answers[0], 1);
	assert_int_equal(r.last, SRV_WAITER_LATE);
	check(&waiters, &r, 60999, false);
	assert_int_equal(r.answers[1], 0);
	r.done[1] = true; /* at the last moment */
	check(&waiters, &r, 61000, false);
	assert_int_equal(r.last, SRV_WAITER_DONE);
	srv_waiters_release(&waiters);
}

static void everything_takes_two_scans_of_each_root(void **state)
{
	(void)state;
	static room r;
	srv_waiters waiters = {0};
	memset(&r, 0, sizeof r);
	r.scans[0] = 5;
	r.scans[1] = 9;
	uint64_t both[] = {7, 11}, one[] = {0, 11};
	assert_true(srv_waiter_add(&waiters, &r.controls[0], HOB_NONE, 0, both, 2));
	assert_true(srv_waiter_add(&waiters, &r.controls[1], HOB_NONE, 0, one, 2));
	both[0] = both[1] = 0; /* the waiter must have copied them */
	assert_false(waiters.items[0].some_roots);
	assert_true(waiters.items[1].some_roots && !srv_waiter_wants_root(&waiters.items[1], 0));
	assert_true(srv_waiters_want_scan(&waiters, 0, r.scans));
	r.scans[0] = 7;
	r.scans[1] = 10;
	check(&waiters, &r, 1, false);
	assert_int_equal(r.answers[0] + r.answers[1], 0);
	assert_false(srv_waiters_want_scan(&waiters, 0, r.scans));
	assert_true(srv_waiters_want_scan(&waiters, 1, r.scans));
	r.scans[1] = 11;
	r.scans[0] = 6;
	check(&waiters, &r, 1, false);
	assert_int_equal(r.answers[0], 0);
	assert_int_equal(r.answers[1], 1); /* the other root is irrelevant to it */
	r.scans[0] = 7;
	check(&waiters, &r, 1, false);
	assert_int_equal(r.answers[0], 1);
	srv_waiters_release(&waiters);
}

static void mark_takes_the_place_of_scans(void **state)
{
	(void)state;
	static room r;
	srv_waiters waiters = {0};
	memset(&r, 0, sizeof r);
	r.scans[0] = r.scans[1] = 3;
	const uint64_t early[] = {SRV_WAITER_MARK + 1, 0}, late[] = {SRV_WAITER_MARK + 2, 4};
	assert_true(srv_waiter_add(&waiters, &r.controls[0], HOB_NONE, 0, early, 2));
	assert_true(srv_waiter_add(&waiters, &r.controls[1], HOB_NONE, 0, late, 2));
	assert_false(srv_waiters_want_scan(&waiters, 0, r.scans));
	srv_waiters_pass(&waiters, 0, 1, 1);
	check(&waiters, &r, 1, false);
	assert_int_equal(r.answers[0], 1);
	assert_int_equal(r.answers[1], 0);
	srv_waiters_pass(&waiters, 0, 2, 5); /* the mark passed unseen: needs scan number 5 */
	assert_true(srv_waiters_want_scan(&waiters, 0, r.scans));
	r.scans[0] = 5;
	r.scans[1] = 4;
	check(&waiters, &r, 1, false);
	assert_int_equal(r.answers[1], 1);
	srv_waiters_release(&waiters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_answered_once),
		cmocka_unit_test(patience_ends_at_the_deadline),
		cmocka_unit_test(everything_takes_two_scans_of_each_root),
		cmocka_unit_test(mark_takes_the_place_of_scans),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
