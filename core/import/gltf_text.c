#include "gltf_private.h"

#include <assert.h>

enum { NUMBER_MAX = 63 /* cJSON cuts longer ones */ };

typedef struct scan {
	const char *start, *at, *end;
	hob_gltf_text *found;
	hob_error *err;
} scan_t;

static bool fail_at(const scan_t *s, const char *where, const char *problem)
{
	size_t line = 1;
	const char *line_start = s->start;
	for (const char *p = s->start; p < where; p++)
		if (*p == '\n') {
			line++;
			line_start = p + 1;
		}
	return hob_fail(s->err, CORRUPT, "JSON: %s at line %zu column %zu", problem, line,
					(size_t)(where - line_start) + 1);
}

static bool fail_here(const scan_t *s, const char *wanted)
{
	if (s->at >= s->end)
		return fail_at(s, s->at, "the text ends early");
	unsigned char c = (unsigned char)*s->at;
	char problem[96];
	const char *what = wanted;
	if (c > 0x20 && c < 0x7F) {
		static const char found[] = "unexpected '?', expected ";
		size_t length = strlen(wanted);
		if (sizeof found + length <= sizeof problem) {
			memcpy(problem, found, sizeof found - 1);
			problem[12] = (char)c;
			memcpy(problem + sizeof found - 1, wanted, length + 1);
			what = problem;
		}
	}
	return fail_at(s, s->at, what);
}

static void skip_space(scan_t *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
		s->at++;
}

/* Value of four hex digits, -1 when they are none. */
static int hex4(const char *p, const char *end)
{
	if (end - p < 4)
		return -1;
	int value = 0;
	for (int i = 0; i < 4; i++) {
		int c = p[i] | 0x20;
		int digit = p[i] >= '0' && p[i] <= '9' ? p[i] - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Bytes of the \u escape at p (6, or 12 for a surrogate pair); *bad when it names no character. */
static int unicode_escape(const char *p, const char *end, bool *bad)
{
	int unit = hex4(p + 2, end);
	*bad = unit == 0;
	if (unit < 0xD800 || unit > 0xDFFF)
		return unit < 0 ? 0 : 6;
	bool pair = unit < 0xDC00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u';
	int low = pair ? hex4(p + 8, end) : -1;
	*bad = low < 0xDC00 || low > 0xDFFF;
	return *bad ? 6 : 12;
}

static bool scan_escape(scan_t *s)
{
	char c = s->end - s->at >= 2 ? s->at[1] : 0;
	if (c != 'u') {
		if (c == 0 || !strchr("\"\\/bfnrt", c))
			return fail_at(s, s->at, "a bad escape in a string");
		s->at += 2;
		return true;
	}
	bool bad;
	int length = unicode_escape(s->at, s->end, &bad);
	if (length == 0)
		return fail_at(s, s->at, "a bad \\u escape in a string");
	s->found->patch |= bad;
	s->at += length;
	return true;
}

static bool scan_string(scan_t *s)
{
	const char *open = s->at++;
	s->found->strings++;
	while (s->at < s->end) {
		unsigned char c = (unsigned char)*s->at;
		if (c == '"') {
			s->at++;
			return true;
		}
		if (c == '\\') {
			if (!scan_escape(s))
				return false;
		} else if (c < 0x20) {
			return fail_at(s, s->at, "a control character inside a string (escape it, or close the string)");
		} else {
			s->at++;
		}
	}
	return fail_at(s, open, "a string is never closed");
}

static bool digits(scan_t *s)
{
	const char *first = s->at;
	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > first;
}

static bool scan_number(scan_t *s)
{
	const char *first = s->at;
	if (*s->at == '-')
		s->at++;
	bool zero = s->at < s->end && *s->at == '0';
	const char *whole = s->at;
	if (!digits(s))
		return fail_here(s, "a digit");
	if (zero && s->at - whole > 1)
		return fail_at(s, first, "a number with a leading zero");
	if (s->at < s->end && *s->at == '.') {
		s->at++;
		if (!digits(s))
			return fail_here(s, "a digit");
	}
	if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
		s->at++;
		if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
			s->at++;
		if (!digits(s))
			return fail_here(s, "a digit");
	}
	if (s->at - first > NUMBER_MAX)
		return fail_at(s, first, "a number of more than 63 characters");
	return true;
}

static bool scan_literal(scan_t *s, const char *word)
{
	size_t length = strlen(word);
	if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0)
		return fail_here(s, "a value");
	s->at += length;
	return true;
}

static bool scan_key(scan_t *s)
{
	skip_space(s);
	if (s->at >= s->end || *s->at != '"')
		return fail_here(s, "a key in quotes");
	if (!scan_string(s))
		return false;
	skip_space(s);
	if (s->at >= s->end || *s->at != ':')
		return fail_here(s, "':'");
	s->at++;
	return true;
}

static bool scan_scalar(scan_t *s)
{
	switch (*s->at) {
	case '"':
		return scan_string(s);
	case 't':
		return scan_literal(s, "true");
	case 'f':
		return scan_literal(s, "false");
	case 'n':
		return scan_literal(s, "null");
	default:
		if (*s->at == '-' || (*s->at >= '0' && *s->at <= '9'))
			return scan_number(s);
		return fail_here(s, "a value");
	}
}

static bool scan_document(scan_t *s)
{
	char closers[CJSON_NESTING_LIMIT];
	assert(HOB_LIMIT_JSON_DEPTH <= sizeof closers);
	size_t depth = 0;
	for (;;) {
		skip_space(s);
		if (s->at >= s->end)
			return fail_here(s, "a value");
		s->found->values++;
		bool complete = true;
		if (*s->at == '{' || *s->at == '[') {
			if (depth == HOB_LIMIT_JSON_DEPTH)
				return hob_fail(s->err, LIMIT, "JSON nests deeper than %llu levels at byte %zu",
								HOB_LIMIT_JSON_DEPTH, (size_t)(s->at - s->start));
			char closer = *s->at == '{' ? '}' : ']';
			closers[depth++] = closer;
			s->at++;
			skip_space(s);
			complete = s->at < s->end && *s->at == closer;
			if (!complete && closer == '}' && !scan_key(s))
				return false;
			if (complete) {
				s->at++;
				depth--;
			}
		} else if (!scan_scalar(s)) {
			return false;
		}
		while (complete) {
			skip_space(s);
			if (depth == 0)
				return s->at == s->end || fail_at(s, s->at, "more text after the document");
			char closer = closers[depth - 1];
			if (s->at >= s->end || (*s->at != ',' && *s->at != closer))
				return fail_here(s, closer == '}' ? "',' or '}'" : "',' or ']'");
			complete = *s->at++ == closer;
			if (complete)
				depth--;
			else if (closer == '}' && !scan_key(s))
				return false;
		}
	}
}

bool hob_gltf_text_scan(hob_str text, hob_gltf_text *out, hob_error *err)
{
	*out = (hob_gltf_text){0};
	const char *start = text.data ? text.data : "";
	scan_t s = {start, start, start + text.len, out, err};
	return scan_document(&s);
}

void hob_gltf_text_patch(char *text, size_t size)
{
	const char *end = text + size;
	for (char *p = text; p < end;) {
		if (*p != '\\') {
			p++;
			continue;
		}
		bool bad = false;
		int length = p[1] == 'u' ? unicode_escape(p, end, &bad) : 2;
		if (bad)
			memcpy(p, "\\ufffd", 6);
		p += length;
	}
}
