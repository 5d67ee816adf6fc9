#include "core/formats/number_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static const char *text_of(float value)
{
	static hob_buf out;
	hob_buf_clear(&out);
	hob_put_f32(&out, value);
	hob_buf_put(&out, "", 1);
	static char text[64];
	assert_true(out.size <= sizeof text);
	memcpy(text, out.data, out.size);
	hob_buf_release(&out);
	return text;
}

static void numbers_are_as_short_as_they_can_be(void **state)
{
	(void)state;
	assert_string_equal(text_of(0), "0");
	assert_string_equal(text_of(-0.0f), "0");
	assert_string_equal(text_of(1), "1");
	assert_string_equal(text_of(-3), "-3");
	assert_string_equal(text_of(0.1f), "0.1");
	assert_string_equal(text_of(100), "100");
	assert_string_equal(text_of(12.5f), "12.5");
	assert_string_equal(text_of(16777216), "16777216");
	assert_string_equal(text_of(1e-5f), "0.00001");
	assert_string_equal(text_of(1e-7f), "1e-7");
	assert_string_equal(text_of(1.0f / 3), "0.33333334");
	assert_string_equal(text_of(3.4028235e38f), "3.4028235e38");
	assert_string_equal(text_of(1e-45f), "1e-45");
	assert_string_equal(text_of(9.9999998e9f), "10000000000");
	assert_string_equal(text_of(INFINITY), "inf");
	assert_string_equal(text_of(-INFINITY), "-inf");
	assert_string_equal(text_of(NAN), "nan");
}

/* The C library's strtof is the oracle. */
static void numbers_read_back_as_the_same_float(void **state)
{
	(void)state;
	uint32_t bits = 1;
	for (int i = 0; i < 200000; i++) {
		bits = bits * 1664525u + 1013904223u;
		float value;
		memcpy(&value, &bits, sizeof value);
		if (!isfinite(value))
			continue;
		float back = strtof(text_of(value), NULL);
		assert_true(back == value);
	}
	for (uint32_t exponent = 0; exponent < 255; exponent++)
		for (uint32_t edge = 0; edge < 4; edge++) {
			uint32_t pattern = exponent << 23 | (edge < 2 ? edge : 0x7FFFFFu - (edge - 2));
			float value;
			memcpy(&value, &pattern, sizeof value);
			assert_true(strtof(text_of(value), NULL) == value);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_as_short_as_they_can_be),
		cmocka_unit_test(numbers_read_back_as_the_same_float),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
