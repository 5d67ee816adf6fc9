/* hob_json_valid against cases of RFC 8259, and round trips of numbers. */
#include "tests/unit/support.h"

#include <math.h>
#include <stdlib.h>

static void values_of_the_grammar_are_taken(void **state)
{
	(void)state;
	static const char *const good[] = {"{}",
									   "[]",
									   " [ ] ",
									   "null",
									   "true",
									   "false",
									   "0",
									   "-0",
									   "10",
									   "1.5e-7",
									   "1E+9",
									   "\"\"",
									   "[[[]]]",
									   "[1,2]",
									   "{\"a\":1}",
									   "{\"a\":{\"b\":[{},\"\\u00e9\\n\"]},\"c\":null}",
									   "\"\xC3\xA9\"",
									   "[{\"a\":[]},{}]\n"};
	for (size_t i = 0; i < HOB_COUNT_OF(good); i++)
		if (!hob_json_valid(hob_str_of(good[i]), 8))
			fail_msg("refused: %s", good[i]);
}

static void everything_else_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"",		 "{",			"}",
									  "[",		 "]",			"[1,]",
									  "[,1]",	 "{,}",			"{a:1}",
									  "{\"a\"}", "{\"a\":}",	"{\"a\":1,}",
									  "01",		 "+1",			"1.",
									  ".5",		 "1e",			"--1",
									  "nul",	 "True",		"\"",
									  "\"\\x\"", "\"\\u12g4\"", "\"\n\"",
									  "[1 2]",	 "[1]]",		"{\"a\":1]",
									  "[1}",	 "1 2",			"\"\xFF\"",
									  "NaN",	 "// a\n1",		"{\"a\":1 \"b\":2}"};
	for (size_t i = 0; i < HOB_COUNT_OF(bad); i++)
		if (hob_json_valid(hob_str_of(bad[i]), 8))
			fail_msg("taken: %s", bad[i]);
	assert_false(hob_json_valid((hob_str){"1\0", 2}, 8));
}

static void depth_is_bounded(void **state)
{
	(void)state;
	char text[2048];
	for (uint32_t depth = 1; depth <= 1000; depth += 333) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		assert_true(hob_json_valid((hob_str){text, 2 * (size_t)depth}, depth));
		assert_false(hob_json_valid((hob_str){text, 2 * (size_t)depth}, depth - 1));
	}
}

static void numbers_read_back(void **state)
{
	(void)state;
	static const double values[] = {0,		   -0.0, 0.1, 1.0 / 3, 1e300, 5e-324, 9007199254740993.0,
									123456.75, -1e-7};
	for (size_t i = 0; i < HOB_COUNT_OF(values); i++) {
		hob_buf buf = {0};
		hob_buf_put_double(&buf, values[i]);
		assert_true(hob_json_valid(hob_buf_str(&buf), 0));
		hob_buf_put(&buf, "", 1);
		double back = strtod((const char *)buf.data, NULL);
		assert_memory_equal(&back, &values[i], sizeof back);
		hob_buf_release(&buf);
	}
	hob_buf buf = {0};
	hob_buf_put_double(&buf, 0.1);
	hob_buf_put_double(&buf, INFINITY);
	assert_int_equal(buf.size, 7);
	assert_memory_equal(buf.data, "0.1null", 7);
	hob_buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_the_grammar_are_taken),
		cmocka_unit_test(everything_else_is_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(numbers_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
