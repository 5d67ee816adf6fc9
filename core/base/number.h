/* number.h - decimal numbers and characters in text: no locale, no allocation, the same bits everywhere.
 *
 * The readers take a range and return the first byte after the number, or NULL if none begins at `at`
 * (leading blanks are not skipped). They never read past `end`. */
#ifndef HOB_NUMBER_H
#define HOB_NUMBER_H

#include "base.h"

/* [+-] digits [. digits] [e [+-] digits], with at least one digit before or after the point; also "nan",
 * "inf" and their form in Microsoft's printf ("1.#QNAN", "-1.#IND"). The value is that of the decimal rounded
 * to double and then to float; too large ones become infinity, too small ones zero. */
const char *hob_number_float(const char *at, const char *end, float *out);
const char *hob_number_double(const char *at, const char *end, double *out);

/* [+-] digits; saturates at the ends of int64. */
const char *hob_number_int(const char *at, const char *end, int64_t *out);

/* The digits right behind the first `key` of a text; 0 if there are none. */
uint64_t hob_number_behind(hob_str text, hob_str key);

/* Rounds to float: below the half-way point above FLT_MAX the result is FLT_MAX, from there on infinity. */
float hob_number_to_float(double value);

static inline bool hob_is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* The value of up to eight digits at `at`; *count: how many there are. Eight bytes must be readable. Source:
 * the arithmetic is Lemire's parse_eight_digits_unrolled, on digits shifted to the end of the word. */
static inline uint32_t hob_number_digits(const char *at, uint32_t *count)
{
	uint64_t word = hob_load_u64(at) ^ 0x3030303030303030ull;
	uint64_t other = ((word + 0x7676767676767676ull) | word) & 0x8080808080808080ull;
	*count = other ? (uint32_t)__builtin_ctzll(other) / 8 : 8;
	if (*count == 0)
		return 0;
	word <<= 64 - *count * 8;
	word = (word * 2561) >> 8 & 0x00FF00FF00FF00FFull;
	word = (word * 6553601) >> 16 & 0x0000FFFF0000FFFFull;
	return (uint32_t)((word * 42949672960001ull) >> 32);
}

/* Writes a character as UTF-8, at most 4 bytes. Returns the number of bytes. */
size_t hob_utf8_put(char *out, uint32_t character);

/* Space, tab or another blank within a line. */
static inline bool hob_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

#endif
