#include "tests/unit/support.h"

#include "server/cook/judge.h"

static const srv_cook_facts crash = {.touched = true, .code = HOB_ERR_CRASHED};
static const srv_cook_facts disk = {.has_result = true, .code = HOB_ERR_DISK_FULL};

static void good_is_good_unless_it_read_another_version(void **state)
{
	(void)state;
	srv_tries tries = {0};
	assert_int_equal(srv_judge(&(srv_cook_facts){.ok = true, .has_result = true}, &tries), SRV_VERDICT_GOOD);
	srv_cook_facts other = {.ok = true, .has_result = true, .other_source = true, .code = HOB_ERR_CHANGED};
	assert_int_equal(srv_judge(&other, &tries), SRV_VERDICT_TRY_AGAIN);
	other.writer = true;
	assert_int_equal(srv_judge(&other, &tries), SRV_VERDICT_WRITER);
}

static void a_failure_with_a_result_is_the_models(void **state)
{
	(void)state;
	srv_tries tries = {0};
	srv_cook_facts corrupt = {.has_result = true, .touched = true, .code = HOB_ERR_CORRUPT};
	assert_int_equal(srv_judge(&corrupt, &tries), SRV_VERDICT_KEEP_FAILURE);
	assert_int_equal(tries.again, 0);
}

static void what_passes_is_tried_three_times_and_never_kept(void **state)
{
	(void)state;
	static const hob_err_code codes[] = {HOB_ERR_DISK_FULL, HOB_ERR_IO, HOB_ERR_CHANGED, HOB_ERR_INTERNAL};
	for (size_t i = 0; i < HOB_COUNT_OF(codes); i++) {
		srv_tries tries = {0};
		srv_cook_facts facts = disk;
		facts.code = codes[i];
		for (int n = 0; n < SRV_TRIES_MAX; n++)
			assert_int_equal(srv_judge(&facts, &tries), SRV_VERDICT_TRY_AGAIN);
		assert_int_equal(srv_judge(&facts, &tries), SRV_VERDICT_PASSING);
	}
	srv_tries tries = {0};
	srv_cook_facts taken = {.code = HOB_ERR_IO}; /* the daemon could not store the worker's result */
	assert_int_equal(srv_judge(&taken, &tries), SRV_VERDICT_TRY_AGAIN);
}

static void the_second_crash_is_the_files(void **state)
{
	(void)state;
	srv_tries tries = {0};
	assert_int_equal(srv_judge(&crash, &tries), SRV_VERDICT_TRY_AGAIN);
	assert_int_equal(srv_judge(&crash, &tries), SRV_VERDICT_KEEP_CRASH);
	tries = (srv_tries){0}; /* a new version has a second try, too */
	assert_int_equal(srv_judge(&crash, &tries), SRV_VERDICT_TRY_AGAIN);
}

static void a_worker_that_died_before_the_inputs_counts_less(void **state)
{
	(void)state;
	srv_tries tries = {0};
	srv_cook_facts early = {.code = HOB_ERR_CRASHED};
	for (int n = 0; n < SRV_TRIES_MAX + 1; n++)
		assert_int_equal(srv_judge(&early, &tries), SRV_VERDICT_TRY_AGAIN);
	assert_int_equal(srv_judge(&early, &tries), SRV_VERDICT_KEEP_CRASH);
}

static void a_stall_is_tried_once_more_and_a_timeout_is_final(void **state)
{
	(void)state;
	srv_tries tries = {0};
	srv_cook_facts timeout = {.touched = true, .code = HOB_ERR_TIMEOUT};
	assert_int_equal(srv_judge(&timeout, &tries), SRV_VERDICT_KEEP_CRASH);
	tries = (srv_tries){0};
	timeout.stalled = true;
	assert_int_equal(srv_judge(&timeout, &tries), SRV_VERDICT_TRY_AGAIN);
	assert_int_equal(srv_judge(&timeout, &tries), SRV_VERDICT_KEEP_CRASH);
}

static void a_death_from_outside_is_never_kept(void **state)
{
	(void)state;
	srv_tries tries = {0};
	srv_cook_facts killed = {.touched = true, .code = HOB_ERR_INTERRUPTED};
	assert_int_equal(srv_judge(&killed, &tries), SRV_VERDICT_TRY_AGAIN);
	for (int n = 0; n < 100; n++)
		assert_int_equal(srv_judge(&killed, &tries), SRV_VERDICT_PASSING);
	assert_int_equal(tries.crashes, 0);
	tries = (srv_tries){0};
	killed.stalled = true;
	assert_int_equal(srv_judge(&killed, &tries), SRV_VERDICT_PASSING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_is_good_unless_it_read_another_version),
		cmocka_unit_test(a_failure_with_a_result_is_the_models),
		cmocka_unit_test(what_passes_is_tried_three_times_and_never_kept),
		cmocka_unit_test(the_second_crash_is_the_files),
		cmocka_unit_test(a_worker_that_died_before_the_inputs_counts_less),
		cmocka_unit_test(a_stall_is_tried_once_more_and_a_timeout_is_final),
		cmocka_unit_test(a_death_from_outside_is_never_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
