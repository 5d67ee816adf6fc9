#include "tests/unit/support.h"

#include "server/cook/job_steps.h"

enum { MS = 1000000 };

static void check_text(const srv_job_steps *steps, uint64_t now, const char *expected)
{
	hob_buf text = {0};
	srv_job_steps_print(steps, now, &text);
	hob_buf_put(&text, "", 1);
	assert_string_equal((const char *)text.data, expected);
	hob_buf_release(&text);
}

static void each_stage_lasts_until_the_next(void **state)
{
	(void)state;
	srv_job_steps steps = {0};
	check_text(&steps, 5 * MS, "");
	srv_job_steps_add(&steps, SRV_JOB_HASH_SOURCE, 10 * MS);
	srv_job_steps_add(&steps, SRV_JOB_FIND, 12 * MS);
	srv_job_steps_add(&steps, SRV_JOB_COOK, 12 * MS + 1000);
	check_text(&steps, 20 * MS, "hash-source 2.000 find 0.001 cook 7.999");
}

static void a_long_list_ends_with_the_current_stage(void **state)
{
	(void)state;
	srv_job_steps steps = {0};
	for (uint32_t i = 0; i < 100; i++)
		srv_job_steps_add(&steps, i % 2 ? SRV_JOB_WAIT : SRV_JOB_COOK, i * (uint64_t)MS);
	srv_job_steps_add(&steps, SRV_JOB_RECORD, 200 * (uint64_t)MS);
	assert_int_equal(steps.count, SRV_JOB_STEPS_MAX);
	assert_int_equal(steps.items[SRV_JOB_STEPS_MAX - 1].stage, SRV_JOB_RECORD);
	assert_int_equal(steps.items[SRV_JOB_STEPS_MAX - 1].began_ns, 200 * (uint64_t)MS);
}

/* Each stage, below and above its time limit. */
static void a_stage_that_does_not_end_is_told_once(void **state)
{
	(void)state;
	const uint64_t second = 1000 * (uint64_t)MS;
	for (uint32_t stage = 0; stage < SRV_JOB_STAGES; stage++) {
		srv_job_steps steps = {0};
		bool waits = stage == SRV_JOB_DUPLICATE || stage == SRV_JOB_UNCLAIMED || stage == SRV_JOB_WAIT;
		uint64_t most = 60 * second + (stage == SRV_JOB_COOK ? 300 * second : 0);
		srv_job_steps_add(&steps, (srv_job_stage)stage, second);
		assert_false(srv_job_is_stuck(&steps, second + most, 300000));
		assert_int_equal(srv_job_is_stuck(&steps, 2 * second + most, 300000), !waits);
		assert_false(srv_job_is_stuck(&steps, 3 * second + most, 300000));
		srv_job_steps_add(&steps, SRV_JOB_STORE, 4 * second + most);
		assert_true(srv_job_is_stuck(&steps, 65 * second + most, 300000));
	}
	assert_false(srv_job_is_stuck(&(srv_job_steps){0}, second, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stage_lasts_until_the_next),
		cmocka_unit_test(a_long_list_ends_with_the_current_stage),
		cmocka_unit_test(a_stage_that_does_not_end_is_told_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
