#include "number_text.h"

#include <math.h>

static double scaled_by_ten(double value, int power)
{
	static const double ten[] = {1e0,  1e1,	 1e2,  1e3,	 1e4,  1e5,	 1e6,  1e7,	 1e8,  1e9,	 1e10, 1e11,
								 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	int left = power < 0 ? -power : power;
	while (left > 0) {
		int step = left < 22 ? left : 22;
		value = power < 0 ? value / ten[step] : value * ten[step];
		left -= step;
	}
	return value;
}

/* Whether every reader parses `text` to this float: it is well inside the interval that rounds to it. The
 * margin is far above the error of the doubles used here, and costs at most one unnecessary digit. */
static bool reads_back(double text, float value)
{
	double v = (double)value, below = (double)nextafterf(value, 0), above = v + (v - below);
	if (isfinite(nextafterf(value, INFINITY)))
		above = (double)nextafterf(value, INFINITY);
	double low = v - (v - below) / 2, high = v + (above - v) / 2, margin = v * 1e-13;
	return text > low + margin && text < high - margin;
}

/* Finds the fewest digits, and the exponent: value = 0.d1d2d3... * 10^exponent. */
static int shortest(float value, char digits[16], int *exponent)
{
	double v = (double)value;
	int e = (int)floor(log10(v)) + 1;
	for (int precision = 1;; precision++) {
		double whole = floor(scaled_by_ten(v, precision - e) + 0.5);
		if (precision < 12 && !reads_back(scaled_by_ten(whole, e - precision), value))
			continue;
		uint64_t number = (uint64_t)whole;
		int count = 0;
		char reversed[24];
		for (; number > 0; number /= 10)
			reversed[count++] = (char)('0' + number % 10);
		*exponent = e + count - precision;
		for (int i = 0; i < count; i++)
			digits[i] = reversed[count - 1 - i];
		while (count > 1 && digits[count - 1] == '0')
			count--;
		return count;
	}
}

static void put_char(hob_buf *out, char c)
{
	hob_buf_put(out, &c, 1);
}

static void put_plain(hob_buf *out, const char *digits, int count, int exponent)
{
	if (exponent <= 0) {
		hob_buf_put(out, "0.", 2);
		for (int i = exponent; i < 0; i++)
			put_char(out, '0');
	}
	for (int i = 0; i < count; i++) {
		if (i == exponent && i > 0)
			put_char(out, '.');
		put_char(out, digits[i]);
	}
	for (int i = count; i < exponent; i++)
		put_char(out, '0');
}

static void put_scientific(hob_buf *out, const char *digits, int count, int exponent)
{
	put_char(out, digits[0]);
	if (count > 1) {
		put_char(out, '.');
		hob_buf_put(out, digits + 1, (size_t)count - 1);
	}
	hob_buf_printf(out, "e%d", exponent - 1);
}

void hob_put_f32(hob_buf *out, float value)
{
	if (isnan(value)) {
		hob_buf_put(out, "nan", 3);
		return;
	}
	if (signbit(value) && value != 0)
		put_char(out, '-');
	value = fabsf(value);
	if (isinf(value)) {
		hob_buf_put(out, "inf", 3);
		return;
	}
	if (!(value > 0)) {
		put_char(out, '0');
		return;
	}
	char digits[16];
	int exponent, count = shortest(value, digits, &exponent);
	if (exponent > -5 && exponent <= 15)
		put_plain(out, digits, count, exponent);
	else
		put_scientific(out, digits, count, exponent);
}
