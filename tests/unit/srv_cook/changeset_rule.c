#include "tests/unit/support.h"

#include "server/cook/changeset_rule.h"

static const srv_changeset_facts busy = {
	.now_ms = 1000, .opened_at_ms = 900, .joined_at_ms = 990, .pause_ms = 200};

static void it_closes_when_all_are_over_and_it_is_quiet(void **state)
{
	(void)state;
	srv_changeset_facts f = busy;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_WAIT);
	f.all_over = true;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_WAIT);
	f.now_ms = 1189;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_WAIT);
	f.now_ms = 1190;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_CLOSE);
	f.collecting = true;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_WAIT);
	f.now_ms = 1290;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_CLOSE);
}

static void a_lock_holds_for_five_seconds(void **state)
{
	(void)state;
	srv_changeset_facts f = busy;
	f.all_over = f.locked = true;
	f.now_ms = 5989;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_WAIT);
	f.now_ms = 5990;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_CLOSE);
}

static void nobody_waits_for_ever(void **state)
{
	(void)state;
	srv_changeset_facts f = busy;
	f.now_ms = 30899;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_WAIT);
	f.now_ms = 30900;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_RELIEVE);
}

static void so_many_are_held_and_no_more(void **state)
{
	(void)state;
	srv_changeset_facts f = busy;
	f.held = 8191;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_WAIT);
	f.held = 8192;
	assert_int_equal(srv_changeset_decide(&f), SRV_CHANGESET_RELIEVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_closes_when_all_are_over_and_it_is_quiet),
		cmocka_unit_test(a_lock_holds_for_five_seconds),
		cmocka_unit_test(nobody_waits_for_ever),
		cmocka_unit_test(so_many_are_held_and_no_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
