#include "tests/unit/support.h"

#include "server/worker/part_claims.h"

static const uint8_t one[32] = {1}, two[32] = {2}, three[32] = {3};

static void a_part_is_one_workers_to_make(void **state)
{
	(void)state;
	srv_claims c = {0};
	assert_int_equal(srv_claims_ask(&c, 0, one, false), SRV_CLAIM_MAKE);
	assert_int_equal(srv_claims_ask(&c, 1, one, false), SRV_CLAIM_ELSEWHERE);
	assert_int_equal(srv_claims_ask(&c, 1, two, false), SRV_CLAIM_MAKE);
	srv_claims_end(&c, one);
	assert_int_equal(srv_claims_ask(&c, 1, one, false), SRV_CLAIM_MAKE);
	srv_claims_release(&c);
}

static void who_waits_is_woken_once_when_it_is_there(void **state)
{
	(void)state;
	srv_claims c = {0};
	uint32_t worker;
	uint8_t key[32];
	assert_int_equal(srv_claims_ask(&c, 0, one, false), SRV_CLAIM_MAKE);
	assert_int_equal(srv_claims_ask(&c, 1, one, true), SRV_CLAIM_WAIT);
	assert_int_equal(srv_claims_ask(&c, 2, one, true), SRV_CLAIM_WAIT);
	assert_false(srv_claims_next(&c, &worker, key));
	srv_claims_end(&c, one);
	assert_true(srv_claims_next(&c, &worker, key));
	assert_memory_equal(key, one, 32);
	uint32_t other;
	assert_true(srv_claims_next(&c, &other, key));
	assert_int_equal(worker + other, 3);
	assert_false(srv_claims_next(&c, &worker, key));
	assert_int_equal(c.count, 0);
	srv_claims_release(&c);
}

static void the_next_takes_over_when_the_maker_ends(void **state)
{
	(void)state;
	srv_claims c = {0};
	uint32_t worker;
	uint8_t key[32];
	assert_int_equal(srv_claims_ask(&c, 0, one, false), SRV_CLAIM_MAKE);
	assert_int_equal(srv_claims_ask(&c, 1, one, true), SRV_CLAIM_WAIT);
	assert_int_equal(srv_claims_ask(&c, 2, one, true), SRV_CLAIM_WAIT);
	srv_claims_leave(&c, 0);
	assert_true(srv_claims_next(&c, &worker, key));
	/* The woken worker asks again, as in the pool, and makes the part; the third still waits. */
	assert_int_equal(srv_claims_ask(&c, worker, key, true), SRV_CLAIM_MAKE);
	assert_false(srv_claims_next(&c, &worker, key));
	srv_claims_end(&c, one);
	assert_true(srv_claims_next(&c, &worker, key));
	assert_false(srv_claims_next(&c, &worker, key));
	srv_claims_release(&c);
}

/* Two workers claim a part each and then ask for the other's: the second to ask must make it itself. */
static void two_never_wait_for_each_other(void **state)
{
	(void)state;
	srv_claims c = {0};
	uint32_t worker;
	uint8_t key[32];
	assert_int_equal(srv_claims_ask(&c, 0, one, false), SRV_CLAIM_MAKE);
	assert_int_equal(srv_claims_ask(&c, 1, two, false), SRV_CLAIM_MAKE);
	assert_int_equal(srv_claims_ask(&c, 0, two, true), SRV_CLAIM_WAIT);
	assert_int_equal(srv_claims_ask(&c, 1, one, true), SRV_CLAIM_MAKE);
	assert_true(srv_claims_next(&c, &worker, key));
	assert_int_equal(worker, 0);
	assert_memory_equal(key, two, 32);
	assert_int_equal(srv_claims_ask(&c, 2, three, true), SRV_CLAIM_MAKE);
	srv_claims_release(&c);
}

static void what_is_being_stored_outlives_its_maker(void **state)
{
	(void)state;
	srv_claims c = {0};
	uint32_t worker;
	uint8_t key[32];
	assert_int_equal(srv_claims_ask(&c, 0, one, false), SRV_CLAIM_MAKE);
	srv_claims_store(&c, one);
	srv_claims_leave(&c, 0);
	assert_int_equal(srv_claims_ask(&c, 1, one, true), SRV_CLAIM_WAIT);
	assert_int_equal(srv_claims_ask(&c, 0, two, true), SRV_CLAIM_MAKE);
	assert_int_equal(srv_claims_ask(&c, 2, one, false), SRV_CLAIM_ELSEWHERE);
	assert_false(srv_claims_next(&c, &worker, key));
	srv_claims_end(&c, one);
	assert_true(srv_claims_next(&c, &worker, key));
	assert_int_equal(worker, 1);
	srv_claims_release(&c);
}

static void one_worker_has_so_many_claims(void **state)
{
	(void)state;
	srv_claims c = {0};
	uint8_t key[32] = {0};
	for (uint32_t i = 0; i < 5000; i++) {
		memcpy(key, &i, sizeof i);
		assert_int_equal(srv_claims_ask(&c, 0, key, false), SRV_CLAIM_MAKE);
	}
	assert_int_equal(c.count, 4096);
	assert_int_equal(srv_claims_ask(&c, 1, key, false), SRV_CLAIM_MAKE);
	assert_int_equal(c.count, 4097);
	srv_claims_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_is_one_workers_to_make),
		cmocka_unit_test(who_waits_is_woken_once_when_it_is_there),
		cmocka_unit_test(the_next_takes_over_when_the_maker_ends),
		cmocka_unit_test(two_never_wait_for_each_other),
		cmocka_unit_test(what_is_being_stored_outlives_its_maker),
		cmocka_unit_test(one_worker_has_so_many_claims),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
