#include "tests/unit/support.h"

#include "core/base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool parse_range(const char *text, size_t len, float *value, size_t *used)
{
	/* A heap copy without a terminator: the sanitizer detects reads past the end. */
	char *copy = calloc(1, len ? len : 1);
	memcpy(copy, text, len);
	const char *behind = hob_number_float(copy, copy + len, value);
	*used = behind ? (size_t)(behind - copy) : 0;
	free(copy);
	return behind != NULL;
}

/* Bytes after the number, which the reader loads in blocks, have no influence. */
static bool parse(const char *text, float *value, size_t *used)
{
	char followed[256];
	float other;
	size_t other_used;
	snprintf(followed, sizeof followed, "%s %s", text, "1234567.890123456789e1 -1.5 2.25");
	bool done = parse_range(text, strlen(text), value, used);
	assert_int_equal(parse_range(followed, strlen(followed), &other, &other_used), done);
	if (done) {
		assert_memory_equal(value, &other, sizeof other);
		assert_int_equal(*used, other_used);
	}
	return done;
}

static float value_of(const char *text)
{
	float value = 0;
	size_t used;
	if (!parse(text, &value, &used))
		fail_msg("'%s' is no number", text);
	assert_int_equal(used, strlen(text));
	return value;
}

static void floats_of_all_spellings(void **state)
{
	(void)state;
	assert_true(value_of("0") == 0);
	assert_true(value_of("-0") == 0 && signbit(value_of("-0")));
	assert_true(value_of("+1.5") == 1.5f);
	assert_true(value_of(".5") == 0.5f);
	assert_true(value_of("5.") == 5);
	assert_true(value_of("-.25e1") == -2.5f);
	assert_true(value_of("1e+2") == 100);
	assert_true(value_of("1E-2") == 0.01f);
	assert_true(value_of("00000000000000000000001") == 1);
	assert_true(value_of("0.000000000000000000000000000000000001") == 1e-36f);
	assert_true(value_of("123456789012345678901234567890") == 123456789012345678901234567890.0f);
	assert_true(value_of("1.17549435e-38") == 1.17549435e-38f);
	assert_true(value_of("9592344.00354986264475") == 9592344.0f);
	assert_true(value_of("1234567.12345678") == 1234567.125f);
	assert_true(value_of("0.12345678901234567890") == 0.12345679f);
}

static void out_of_range_is_infinity_or_zero(void **state)
{
	(void)state;
	assert_true(isinf(value_of("1e400")));
	assert_true(isinf(value_of("-1e39")) && value_of("-1e39") < 0);
	assert_true(value_of("3.4028235e38") == 3.4028235e38f);
	assert_true(value_of("1e-400") == 0);
	assert_true(value_of("1e-99999999999999") == 0);
	assert_true(isinf(value_of("1e99999999999999")));
	assert_true(isinf(value_of("inf")) && isinf(value_of("-Infinity")));
	assert_true(isnan(value_of("nan")) && isnan(value_of("-1.#IND")) && isnan(value_of("1.#QNAN")));
	assert_true(isinf(value_of("1.#INF00")));
}

static void what_is_no_number(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "-", "+", ".", "-.", "e5", "x", "/1", " 1", "--1"};
	float value;
	size_t used;
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++)
		assert_false(parse(texts[i], &value, &used));
}

static void numbers_end_where_they_end(void **state)
{
	(void)state;
	float value;
	size_t used;
	assert_true(parse("1.5/2", &value, &used) && used == 3);
	assert_true(parse("1e", &value, &used) && used == 1 && value == 1);
	assert_true(parse("1e+ 5", &value, &used) && used == 1);
	assert_true(parse("1.2.3", &value, &used) && used == 3);
	assert_true(parse("12345678,9", &value, &used) && used == 8);
}

/* The C library is the oracle, in a locale with a decimal comma if there is one. */
static void floats_equal_strtof(void **state)
{
	(void)state;
	uint64_t random = 88172645463325252ull;
	for (int i = 0; i < 300000; i++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		char text[64];
		int digits = 1 + (int)(random % 12);
		double value = (double)(int64_t)random / pow(10, (double)(random >> 8 & 31));
		snprintf(text, sizeof text, i % 2 ? "%.*f" : "%.*e", digits, value);
		if (strlen(text) > 40)
			continue;
		float mine = value_of(text), theirs = strtof(text, NULL);
		/* One unit in the last place is allowed for double rounding at a tie. */
		if (memcmp(&mine, &theirs, sizeof mine) != 0 && mine != nextafterf(theirs, mine))
			fail_msg("'%s' gives %.9g, strtof says %.9g", text, (double)mine, (double)theirs);
	}
}

static void short_decimals_are_exact(void **state)
{
	(void)state;
	for (int i = 0; i < 1000000; i += 7) {
		char text[32];
		snprintf(text, sizeof text, "%d.%06d", i % 10, i);
		float mine = value_of(text), theirs = strtof(text, NULL);
		assert_memory_equal(&mine, &theirs, sizeof mine);
	}
}

static void integers_saturate(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {
		{"0", 0},
		{"-17", -17},
		{"+5", 5},
		{"9223372036854775807", INT64_MAX},
		{"99999999999999999999999", INT64_MAX},
		{"-99999999999999999999999", -INT64_MAX},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		int64_t value = -1;
		const char *end = cases[i].text + strlen(cases[i].text);
		assert_ptr_equal(hob_number_int(cases[i].text, end, &value), end);
		assert_true(value == cases[i].value);
	}
	int64_t untouched = 7;
	assert_null(hob_number_int("x", (const char *)"x" + 1, &untouched));
	assert_int_equal(untouched, 7);
}

static void digit_groups_stop_at_the_first_other_byte(void **state)
{
	(void)state;
	uint32_t count;
	assert_int_equal(hob_number_digits("12345678", &count), 12345678);
	assert_int_equal(count, 8);
	assert_int_equal(hob_number_digits("123/5678", &count), 123);
	assert_int_equal(count, 3);
	hob_number_digits("/2345678", &count);
	assert_int_equal(count, 0);
	for (int c = 0; c < 256; c++) {
		char text[8] = {'9', (char)c, '9', '9', '9', '9', '9', '9'};
		hob_number_digits(text, &count);
		assert_int_equal(count, c >= '0' && c <= '9' ? 8 : 1);
	}
}

int main(void)
{
	setlocale(LC_ALL, "");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floats_of_all_spellings),
		cmocka_unit_test(out_of_range_is_infinity_or_zero),
		cmocka_unit_test(what_is_no_number),
		cmocka_unit_test(numbers_end_where_they_end),
		cmocka_unit_test(floats_equal_strtof),
		cmocka_unit_test(short_decimals_are_exact),
		cmocka_unit_test(integers_saturate),
		cmocka_unit_test(digit_groups_stop_at_the_first_other_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
