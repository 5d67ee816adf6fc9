/* Lines with the same cause are counted. */
#include "tests/unit/support.h"

#include "server/log/causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char heard[4096];

static void hear(void *user, srv_log_level level, const char *verb, const char *text)
{
	(void)user;
	(void)level;
	size_t size = strlen(heard);
	snprintf(heard + size, sizeof heard - size, "%s %s\n", verb, text);
}

static void failed(srv_causes *causes, const char *name, const char *cause)
{
	srv_causes_log(causes, SRV_LOG_ERROR, "failed", hob_str_of(cause), "%s  %s", name, cause);
}

static void assert_heard(const char *wanted)
{
	assert_string_equal(heard, wanted);
	heard[0] = 0;
}

static void the_first_is_logged_and_the_rest_counted(void **state)
{
	(void)state;
	srv_causes causes = {0};
	failed(&causes, "a.obj", "no atlas.png");
	failed(&causes, "x.obj", "no face");
	failed(&causes, "b.obj", "no atlas.png");
	failed(&causes, "c.obj", "no atlas.png");
	assert_heard("failed a.obj  no atlas.png\nfailed x.obj  no face\n");
	srv_causes_second(&causes);
	assert_heard("");
	srv_causes_second(&causes);
	assert_heard("failed 2 more  no atlas.png\n");
	assert_int_equal(causes.count, 0);
	failed(&causes, "d.obj", "no atlas.png");
	assert_heard("failed d.obj  no atlas.png\n");
	srv_causes_end(&causes);
	assert_heard("");
}

static void the_same_asset_is_logged_each_time(void **state)
{
	(void)state;
	srv_causes causes = {0};
	failed(&causes, "a.obj", "no face");
	failed(&causes, "a.object", "no face");
	failed(&causes, "a.obj", "no face");
	assert_heard("failed a.obj  no face\nfailed a.obj  no face\n");
	srv_causes_end(&causes);
	assert_heard("failed a.object  no face\n");
}

static void one_more_is_named(void **state)
{
	(void)state;
	srv_causes causes = {0};
	failed(&causes, "a.obj", "no face");
	failed(&causes, "b.obj", "no face");
	srv_causes_log(&causes, SRV_LOG_WARNING, "warning", HOB_STR("no face"), "c.obj  no face");
	assert_heard("failed a.obj  no face\nwarning c.obj  no face\n");
	srv_causes_end(&causes);
	assert_heard("failed b.obj  no face\n");
}

static void what_does_not_end_is_told_every_ten_seconds(void **state)
{
	(void)state;
	srv_causes causes = {0};
	failed(&causes, "0.obj", "no face");
	heard[0] = 0;
	for (int second = 1; second <= 20; second++) {
		for (int i = 0; i < 5; i++)
			failed(&causes, "more.obj", "no face");
		srv_causes_second(&causes);
	}
	assert_heard("failed 50 more  no face\nfailed 50 more  no face\n");
	srv_causes_end(&causes);
	assert_heard("");
}

static void with_too_many_causes_every_line_is_logged(void **state)
{
	(void)state;
	srv_causes causes = {0};
	char cause[16];
	for (int i = 0; i < SRV_CAUSES_MAX; i++) {
		snprintf(cause, sizeof cause, "cause %d", i);
		failed(&causes, "a.obj", cause);
	}
	heard[0] = 0;
	failed(&causes, "b.obj", "one more cause");
	failed(&causes, "c.obj", "one more cause");
	failed(&causes, "d.obj", "cause 3");
	assert_heard("failed b.obj  one more cause\nfailed c.obj  one more cause\n");
	srv_causes_end(&causes);
	assert_heard("failed d.obj  cause 3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_logged_and_the_rest_counted),
		cmocka_unit_test(the_same_asset_is_logged_each_time),
		cmocka_unit_test(one_more_is_named),
		cmocka_unit_test(what_does_not_end_is_told_every_ten_seconds),
		cmocka_unit_test(with_too_many_causes_every_line_is_logged),
	};
	srv_log_listen(hear, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
