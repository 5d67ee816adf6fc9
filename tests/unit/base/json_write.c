#include "tests/unit/support.h"

#include "core/base/json_write.h"

#include <time.h>

static void expect(hob_buf *out, const char *text)
{
	assert_true(hob_str_equal(hob_buf_str(out), hob_str_of(text)));
	hob_buf_release(out);
}

static void commas_come_by_themselves(void **state)
{
	(void)state;
	hob_buf out = {0};
	hob_json_open(&out, '{');
	hob_json_put_str(&out, "a", HOB_STR("x\"y\n"));
	hob_json_key(&out, "b");
	hob_json_open(&out, '[');
	hob_json_u64(&out, UINT64_MAX);
	hob_json_null(&out);
	hob_json_bool(&out, true);
	hob_json_raw(&out, (hob_str){0});
	hob_json_open(&out, '{');
	hob_json_close(&out, '}');
	hob_json_close(&out, ']');
	hob_json_put_u64(&out, "c", 0);
	hob_json_close(&out, '}');
	expect(&out, "{\"a\":\"x\\\"y\\u000a\",\"b\":[18446744073709551615,null,true,null,{}],\"c\":0}");
}

static void members_of_every_kind(void **state)
{
	(void)state;
	hob_buf out = {0};
	hob_json_object(&out, HOB_JSON("s", "x"), HOB_JSON("u", 7), HOB_JSON_SOME("some", HOB_STR("y")),
					HOB_JSON_SOME("none", (hob_str){0}), HOB_JSON_MS("ms", 1234567),
					HOB_JSON_LIST("l", HOB_STR("1,2")), HOB_JSON_LIST("e", (hob_str){0}),
					HOB_JSON_BOOL("b", true), HOB_JSON_NULL("n"));
	expect(&out, "{\"s\":\"x\",\"u\":7,\"some\":\"y\",\"none\":null,\"ms\":1.235,\"l\":[1,2],\"e\":[],"
				 "\"b\":true,\"n\":null}");
}

static void a_time_that_is_not_known_is_null(void **state)
{
	(void)state;
	hob_buf out = {0};
	hob_json_time(&out, 0);
	hob_json_time(&out, 1);
	expect(&out, "null,\"1970-01-01T00:00:00.001Z\"");
}

/* Compares with strftime: every day until 2099, every 97th until 9999; odd days at 23:59:59.999. */
static void every_day_has_its_date(void **state)
{
	(void)state;
	hob_buf out = {0};
	char expected[64];
	for (int64_t day = 0; day <= 2932896; day += day < 47482 ? 1 : 97) {
		int64_t seconds = day * 86400 + (day % 2 ? 86399 : 0);
		time_t when = (time_t)seconds;
		struct tm t;
		assert_non_null(gmtime_r(&when, &t));
		size_t size = strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S", &t);
		memcpy(expected + size, day % 2 ? ".999Z" : ".000Z", 6);
		hob_buf_clear(&out);
		hob_buf_put_time(&out, seconds * 1000 + (day % 2 ? 999 : 0));
		if (!hob_str_equal(hob_buf_str(&out), hob_str_of(expected)))
			fail_msg("%s is not %.*s", expected, HOB_FMT(hob_buf_str(&out)));
	}
	hob_buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_come_by_themselves),
		cmocka_unit_test(members_of_every_kind),
		cmocka_unit_test(a_time_that_is_not_known_is_null),
		cmocka_unit_test(every_day_has_its_date),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
