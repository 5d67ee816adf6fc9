#include "tests/unit/support.h"

#include "server/metrics/activity.h"

enum { MINUTE = 60000 };
static const int64_t noon = 1800000000000 / MINUTE * MINUTE;

static void note(srv_activity *activity, srv_activity_result result, int64_t at, uint64_t cook_ms,
				 const char *asset)
{
	srv_activity_note(activity, &(srv_activity_job){.result = result,
													.queued_at_ms = at - 300,
													.started_at_ms = at - 200,
													.finished_at_ms = at,
													.cook_ns = cook_ms * 1000000,
													.asset = hob_str_of(asset)});
}

static bool says(srv_activity *activity, int64_t now, const char *what)
{
	hob_buf out = {0};
	srv_activity_put(activity, now, &out);
	bool found = hob_str_find(hob_buf_str(&out), hob_str_of(what), 0) != SIZE_MAX;
	if (!found)
		print_message("%.*s has no %s\n", HOB_FMT(hob_buf_str(&out)), what);
	hob_buf_release(&out);
	return found;
}

static void an_hour_is_this_minute_and_the_59_before(void **state)
{
	(void)state;
	srv_activity *activity = srv_activity_new();
	assert_true(says(activity, noon, "\"cooked\":0") && says(activity, noon, "\"slowest\":null"));
	note(activity, SRV_ACTIVITY_COOKED, noon, 900, "art/slow.glb");
	note(activity, SRV_ACTIVITY_COOKED, noon + MINUTE, 100, "art/a.glb");
	note(activity, SRV_ACTIVITY_COOKED, noon + MINUTE + 5, 300, "art/b.glb");
	note(activity, SRV_ACTIVITY_FAILED, noon + MINUTE, 0, "art/bad.glb");
	note(activity, SRV_ACTIVITY_REUSED, noon + MINUTE, 0, "art/same.glb");
	assert_true(
		says(activity, noon + MINUTE, "0,1,2],\"cooked\":3,\"reused\":1,\"failed\":1,\"cancelled\":0"));
	assert_true(says(activity, noon + MINUTE, "\"average_cook_ms\":433,\"average_wait_ms\":100"));
	assert_true(says(activity, noon + 59 * MINUTE, "{\"asset\":\"art/slow.glb\",\"cook_ms\":900}"));
	assert_true(says(activity, noon + 60 * MINUTE, "[2,0"));
	assert_true(says(activity, noon + 60 * MINUTE, "{\"asset\":\"art/b.glb\",\"cook_ms\":300}"));
	assert_true(says(activity, noon + 61 * MINUTE, "\"cooked\":0"));
	/* An hour later the same slot is another minute. */
	note(activity, SRV_ACTIVITY_COOKED, noon + 61 * MINUTE, 1, "art/late.glb");
	assert_true(says(activity, noon + 61 * MINUTE, "0,1],\"cooked\":1,"));
	srv_activity_free(activity);
}

static void a_run_begins_with_the_first_that_waits_and_ends_with_the_last(void **state)
{
	(void)state;
	srv_activity *activity = srv_activity_new();
	assert_true(says(activity, noon, "\"began_at\":null"));
	srv_activity_waits(activity, 3, noon);
	note(activity, SRV_ACTIVITY_COOKED, noon + 1000, 10, "a");
	assert_int_equal(srv_activity_now(activity, noon + 1000).left, 2);
	srv_activity_waits(activity, 2, noon + 1000);
	srv_activity_run run = srv_activity_now(activity, noon + 2000);
	assert_int_equal(run.all_done, 1);
	assert_int_equal(run.left, 2);
	assert_int_equal(run.ended_at_ms, 0);
	assert_float_equal((float)run.per_minute, 30, 1e-3);
	note(activity, SRV_ACTIVITY_FAILED, noon + 2000, 0, "b");
	note(activity, SRV_ACTIVITY_REUSED, noon + 2000, 0, "c");
	srv_activity_waits(activity, 0, noon + 2000);
	run = srv_activity_now(activity, noon + 9000);
	assert_int_equal(run.ended_at_ms, noon + 2000);
	assert_int_equal(run.all_done, 3);
	assert_int_equal(run.done[SRV_ACTIVITY_FAILED], 1);
	assert_float_equal((float)run.per_minute, 0, 0);
	/* The numbers stay until there is a new run. */
	srv_activity_waits(activity, 0, noon + 10000);
	assert_int_equal(srv_activity_now(activity, noon).all_done, 3);
	srv_activity_waits(activity, 1, noon + 20000);
	run = srv_activity_now(activity, noon + 20000);
	assert_int_equal(run.all_done, 0);
	assert_int_equal(run.began_at_ms, noon + 20000);
	srv_activity_free(activity);
}

static void a_long_run_has_the_rate_of_its_last_two_minutes(void **state)
{
	(void)state;
	srv_activity *activity = srv_activity_new();
	srv_activity_waits(activity, 100, noon);
	for (int i = 0; i < 40; i++)
		note(activity, SRV_ACTIVITY_COOKED, noon + 100, 1, "fast");
	for (int i = 0; i < 6; i++)
		note(activity, SRV_ACTIVITY_COOKED, noon + 9 * MINUTE + 100, 1, "slow");
	assert_float_equal((float)srv_activity_now(activity, noon + 10 * MINUTE + MINUTE / 2).per_minute, 4,
					   1e-3);
	srv_activity_free(activity);
}

static void names_of_any_length_are_kept_or_cut(void **state)
{
	(void)state;
	static char name[10000];
	memset(name, 'x', sizeof name - 1);
	srv_activity *activity = srv_activity_new();
	note(activity, SRV_ACTIVITY_COOKED, noon, 5, name);
	name[4096] = 0;
	hob_buf want = {0};
	hob_buf_printf(&want, "\"asset\":\"%s\",", name);
	hob_buf_put(&want, "", 1);
	assert_true(says(activity, noon, (const char *)want.data));
	hob_buf_release(&want);
	srv_activity_free(activity);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_hour_is_this_minute_and_the_59_before),
		cmocka_unit_test(a_run_begins_with_the_first_that_waits_and_ends_with_the_last),
		cmocka_unit_test(a_long_run_has_the_rate_of_its_last_two_minutes),
		cmocka_unit_test(names_of_any_length_are_kept_or_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
