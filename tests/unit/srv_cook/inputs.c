#include "tests/unit/support.h"

#include "server/cook/inputs.h"

static const hob_sha256 a = {{1}}, b = {{2}};

static void every_pair(void **state)
{
	(void)state;
	const srv_input_then there = {false, &a}, missing = {true, NULL};
	const srv_input_now same = {true, true, &a}, other = {true, true, &b}, unread = {true, false, NULL},
						none = {0};
	assert_true(srv_input_holds(there, same));
	assert_false(srv_input_holds(there, other));
	assert_false(srv_input_holds(there, unread));
	assert_false(srv_input_holds(there, none));
	assert_true(srv_input_holds(missing, none));
	assert_false(srv_input_holds(missing, same)); /* the file exists now: the cook would read it */
	assert_false(srv_input_holds(missing, unread));
}

static void a_name_counts_when_it_was_used(void **state)
{
	(void)state;
	assert_true(srv_name_holds((hob_str){0}, HOB_STR("a.obj")));
	assert_true(srv_name_holds(HOB_STR("a.obj"), HOB_STR("a.obj")));
	assert_false(srv_name_holds(HOB_STR("a.obj"), HOB_STR("b.obj")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair),
		cmocka_unit_test(a_name_counts_when_it_was_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
