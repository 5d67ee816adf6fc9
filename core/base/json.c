#include "base.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void hob_buf_put_double(hob_buf *buf, double value)
{
	char text[40];
	if (!isfinite(value)) {
		hob_buf_put_str(buf, HOB_STR("null"));
		return;
	}
	snprintf(text, sizeof text, "%.15g", value);
	double back = strtod(text, NULL);
	if (memcmp(&back, &value, sizeof back) != 0)
		snprintf(text, sizeof text, "%.17g", value);
	for (char *c = text; *c; c++)
		if (*c == ',')
			*c = '.'; /* the program that uses this may have set a locale */
	hob_buf_put_str(buf, hob_str_of(text));
}

/* ---- is it JSON? */

enum { DEPTH_MAX = 1024 };

typedef struct scan {
	const char *at, *end;
	uint8_t is_object[DEPTH_MAX / 8]; /* a bit for each open level */
	uint32_t depth, limit;
} scan_t;

static void skip_blanks(scan_t *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

static bool take(scan_t *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool take_escape(scan_t *s)
{
	if (s->at == s->end)
		return false;
	char c = *s->at++;
	if (c != 'u')
		return c && strchr("\"\\/bfnrt", c);
	for (int i = 0; i < 4; i++)
		if (s->at == s->end || !is_hex(*s->at++))
			return false;
	return true;
}

static bool take_string(scan_t *s)
{
	if (!take(s, '"'))
		return false;
	while (s->at < s->end) {
		uint8_t c = (uint8_t)*s->at++;
		if (c == '"')
			return true;
		if (c < 0x20 || (c == '\\' && !take_escape(s)))
			return false;
	}
	return false;
}

static bool take_digits(scan_t *s)
{
	const char *first = s->at;
	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > first;
}

static bool take_number(scan_t *s)
{
	take(s, '-');
	if (!take(s, '0') && !take_digits(s))
		return false;
	if (take(s, '.') && !take_digits(s))
		return false;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '-'))
			take(s, '+');
		return take_digits(s);
	}
	return true;
}

static bool take_word(scan_t *s, const char *word)
{
	for (; *word; word++)
		if (!take(s, *word))
			return false;
	return true;
}

static bool take_key(scan_t *s)
{
	skip_blanks(s);
	if (!take_string(s))
		return false;
	skip_blanks(s);
	return take(s, ':');
}

static bool in_object(const scan_t *s)
{
	return s->is_object[(s->depth - 1) / 8] >> (s->depth - 1) % 8 & 1;
}

static bool open_level(scan_t *s, bool object)
{
	if (s->depth == s->limit)
		return false;
	uint8_t bit = (uint8_t)(1u << s->depth % 8), *byte = &s->is_object[s->depth / 8];
	*byte = (uint8_t)(object ? *byte | bit : *byte & ~bit);
	s->depth++;
	return true;
}

/* A value up to its end, or up to the first item of a non-empty object or array: *whole says which. */
static bool take_value(scan_t *s, bool *whole)
{
	skip_blanks(s);
	*whole = true;
	if (s->at == s->end)
		return false;
	char c = *s->at;
	if (c == '{' || c == '[') {
		s->at++;
		skip_blanks(s);
		if (take(s, c == '{' ? '}' : ']'))
			return s->depth < s->limit;
		*whole = false;
		return open_level(s, c == '{') && (c == '[' || take_key(s));
	}
	if (c == '"')
		return take_string(s);
	if (c == 't' || c == 'f' || c == 'n')
		return take_word(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
	return take_number(s);
}

bool hob_json_valid(hob_str text, uint32_t depth)
{
	assert(depth <= DEPTH_MAX);
	scan_t s = {.at = text.data, .end = text.data + text.len, .limit = depth};
	if (text.len == 0 || !hob_utf8_valid(text))
		return false;
	for (bool whole = false;;) {
		if (!take_value(&s, &whole))
			return false;
		while (whole && s.depth > 0) {
			skip_blanks(&s);
			if (take(&s, ',')) {
				if (in_object(&s) && !take_key(&s))
					return false;
				break;
			}
			if (!take(&s, in_object(&s) ? '}' : ']'))
				return false;
			s.depth--;
		}
		if (whole && s.depth == 0)
			break;
	}
	skip_blanks(&s);
	return s.at == s.end;
}
