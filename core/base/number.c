#include "number.h"

#include <math.h>

/* Powers of ten that a double holds exactly. */
static const double exact_powers[] = {
	1e0,  1e1,	1e2,  1e3,	1e4,  1e5,	1e6,  1e7,	1e8,  1e9,	1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};
enum { EXACT_POWER_MAX = 22, EXPONENT_MAX = 100000 };
/* At or above this, the mantissa has no room for another digit. */
static const uint64_t MANTISSA_FULL = 1844674407370955161ull;

static double scale_by_ten(uint64_t mantissa, int exponent)
{
	double value = (double)mantissa;
	if (mantissa == 0)
		return 0;
	/* One correctly rounded operation on two exact operands; most numbers end here. */
	if (exponent < 0 && exponent >= -EXACT_POWER_MAX)
		return value / exact_powers[-exponent];
	if (exponent >= 0 && exponent <= EXACT_POWER_MAX)
		return value * exact_powers[exponent];
	if (exponent > 310)
		return (double)INFINITY;
	if (exponent < -360)
		return 0;
	for (; exponent > EXACT_POWER_MAX; exponent -= EXACT_POWER_MAX)
		value *= exact_powers[EXACT_POWER_MAX];
	for (; exponent < -EXACT_POWER_MAX; exponent += EXACT_POWER_MAX)
		value /= exact_powers[EXACT_POWER_MAX];
	return exponent < 0 ? value / exact_powers[-exponent] : value * exact_powers[exponent];
}

static bool takes_word(const char **at, const char *end, const char *word)
{
	hob_str wanted = hob_str_of(word);
	if ((size_t)(end - *at) < wanted.len || !hob_str_equal_nocase((hob_str){*at, wanted.len}, wanted))
		return false;
	*at += wanted.len;
	return true;
}

static const char *read_word(const char *at, const char *end, bool negative, double *out)
{
	if (takes_word(&at, end, "infinity") || takes_word(&at, end, "inf") || takes_word(&at, end, "1.#INF"))
		*out = negative ? -(double)INFINITY : (double)INFINITY;
	else if (takes_word(&at, end, "nan") || takes_word(&at, end, "1.#QNAN") ||
			 takes_word(&at, end, "1.#SNAN") || takes_word(&at, end, "1.#IND"))
		*out = (double)NAN;
	else
		return NULL;
	while (at < end && *at != ' ' && *at != '\t' && *at != '\n' && *at != '\r' && *at != '/')
		at++;
	return at;
}

static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* Takes digits eight at a time while the mantissa has room; the caller takes the rest. */
static inline const char *take_digits(const char *p, const char *end, uint64_t *mantissa, int *taken)
{
	uint32_t count = 8;
	while (count == 8 && end - p >= 8 && *mantissa < 100000000000ull) {
		uint32_t value = hob_number_digits(p, &count);
		*mantissa = *mantissa * powers[count] + value;
		*taken += (int)count;
		p += count;
	}
	return p;
}

/* Reads the common case: at most 7 digits, a point, and 15 digits in all. NULL in other cases. */
static inline const char *read_plain(const char *p, const char *end, double *out)
{
	if (end - p < 32)
		return NULL;
	bool negative = *p == '-';
	p += negative;
	uint32_t count, fraction = 0, more = 0;
	uint64_t mantissa = hob_number_digits(p, &count);
	p += count;
	if (count == 0 || count == 8)
		return NULL;
	if (*p == '.') {
		uint32_t value = hob_number_digits(++p, &fraction);
		mantissa = mantissa * powers[fraction] + value;
		p += fraction;
		if (fraction == 8) {
			value = hob_number_digits(p, &more);
			mantissa = mantissa * powers[more] + value;
			p += more;
		}
	}
	if ((*p | 0x20) == 'e' || *p == '#' || count + fraction + more > 15)
		return NULL;
	double value = (double)mantissa / exact_powers[fraction + more];
	*out = negative ? -value : value;
	return p;
}

static inline const char *read_double(const char *at, const char *end, double *out)
{
	const char *p = read_plain(at, end, out);
	if (p)
		return p;
	p = at;
	bool negative = false;
	if (p < end && (*p == '-' || *p == '+'))
		negative = *p++ == '-';
	const char *digits = p;
	uint64_t mantissa = 0;
	int exponent = 0, taken = 0;
	p = take_digits(p, end, &mantissa, &taken);
	for (; p < end && hob_is_digit(*p); p++) {
		if (mantissa >= MANTISSA_FULL)
			exponent += exponent < EXPONENT_MAX;
		else
			mantissa = mantissa * 10 + (uint64_t)(*p - '0');
	}
	bool any = p > digits;
	if (p < end && *p == '.') {
		const char *fraction = ++p;
		taken = 0;
		p = take_digits(p, end, &mantissa, &taken);
		for (; p < end && hob_is_digit(*p); p++) {
			if (mantissa >= MANTISSA_FULL || taken >= EXPONENT_MAX)
				continue;
			mantissa = mantissa * 10 + (uint64_t)(*p - '0');
			taken++;
		}
		exponent -= taken;
		any = any || p > fraction;
		if (p < end && *p == '#')
			return read_word(digits, end, negative, out);
	}
	if (!any)
		return read_word(digits, end, negative, out);
	if (p < end && (*p == 'e' || *p == 'E')) {
		const char *q = p + 1;
		bool down = false;
		if (q < end && (*q == '-' || *q == '+'))
			down = *q++ == '-';
		if (q < end && hob_is_digit(*q)) {
			int power = 0;
			for (; q < end && hob_is_digit(*q); q++)
				power = power < EXPONENT_MAX ? power * 10 + (*q - '0') : power;
			exponent += down ? -power : power;
			p = q;
		}
	}
	double value = scale_by_ten(mantissa, exponent);
	*out = negative ? -value : value;
	return p;
}

const char *hob_number_double(const char *at, const char *end, double *out)
{
	return read_double(at, end, out);
}

float hob_number_to_float(double value)
{
	/* 0x1.ffffffp127 is half-way between FLT_MAX and 2^128, the next float if the exponent had room. */
	if (value >= 0x1.ffffffp127)
		return INFINITY;
	if (value <= -0x1.ffffffp127)
		return -INFINITY;
	return (float)value;
}

const char *hob_number_float(const char *at, const char *end, float *out)
{
	double value;
	const char *behind = read_double(at, end, &value);
	if (behind)
		*out = hob_number_to_float(value);
	return behind;
}

const char *hob_number_int(const char *at, const char *end, int64_t *out)
{
	const char *p = at;
	bool negative = false;
	if (p < end && (*p == '-' || *p == '+'))
		negative = *p++ == '-';
	if (p >= end || !hob_is_digit(*p))
		return NULL;
	int64_t value = 0;
	for (; p < end && hob_is_digit(*p); p++) {
		int digit = *p - '0';
		if (value > (INT64_MAX - digit) / 10)
			value = INT64_MAX;
		else
			value = value * 10 + digit;
	}
	*out = negative ? -value : value;
	return p;
}

size_t hob_utf8_put(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = len - 1; i > 0; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3F));
	out[0] = (char)((len == 2 ? 0xC0 : len == 3 ? 0xE0 : 0xF0) | c);
	return len;
}

uint64_t hob_number_behind(hob_str text, hob_str key)
{
	int64_t value = 0;
	size_t at = hob_str_find(text, key, 0);
	if (at != SIZE_MAX)
		(void)hob_number_int(text.data + at + key.len, text.data + text.len, &value);
	return value > 0 ? (uint64_t)value : 0;
}
