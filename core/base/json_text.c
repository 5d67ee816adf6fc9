#include "json_text.h"

#include "limits.h"
#include "number.h"

#include <assert.h>
#include <stdlib.h>

enum { ITEM_BLOCK = 64, LEVELS_MAX = 1000 };

typedef struct parser {
	hob_str text;			/* the original, for line numbers */
	char *start, *at, *end; /* a copy in which strings are unescaped and terminated in place */
	hob_arena *arena;
	cJSON *items; /* block of unused items */
	uint32_t items_left, depth_max;
	bool repaired;
	bool checks; /* validates only: no tree is built, one item is reused */
	cJSON only;
	hob_error *err;
} parser_t;

/* ---- failures */

static bool fail_at(const parser_t *p, const char *where, const char *problem)
{
	size_t offset = (size_t)(where - p->start), line = 1, line_start = 0;
	for (size_t i = 0; i < offset; i++)
		if (p->text.data[i] == '\n') {
			line++;
			line_start = i + 1;
		}
	return hob_fail(p->err, CORRUPT, "JSON: %s at line %zu column %zu", problem, line,
					offset - line_start + 1);
}

static bool fail_here(const parser_t *p, const char *wanted)
{
	if (p->at >= p->end)
		return fail_at(p, p->end, "the text ends early");
	char problem[64] = "unexpected '?', expected ";
	size_t said = strlen(problem), length = strlen(wanted);
	assert(said + length < sizeof problem);
	if (*p->at <= 0x20 || *p->at >= 0x7F)
		return fail_at(p, p->at, wanted);
	problem[12] = *p->at;
	memcpy(problem + said, wanted, length + 1);
	return fail_at(p, p->at, problem);
}

/* ---- strings */

/* First byte from `at` that is a quote, a backslash or a control character. */
static char *plain_run(char *at, const char *end)
{
	const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
	while (end - at >= 8) {
		uint64_t word = hob_load_u64(at), quote = word ^ ones * '"', slash = word ^ ones * '\\';
		uint64_t hits =
			(((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word)) & high;
		if (hits)
			return at + __builtin_ctzll(hits) / 8;
		at += 8;
	}
	while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
		at++;
	return at;
}

/* Value of four hex digits, -1 when they are not. */
static int hex4(const char *at, const char *end)
{
	int value = 0;
	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int c = at[i] | 0x20;
		int digit = hob_is_digit(at[i]) ? at[i] - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Reads \uXXXX, or a surrogate pair, at p->at. NUL would end the string, and half a pair is no character:
 * both become U+FFFD. */
static bool read_unicode(parser_t *p, uint32_t *out)
{
	int unit = hex4(p->at + 2, p->end);
	if (unit < 0)
		return fail_at(p, p->at, "a bad \\u escape in a string");
	p->at += 6;
	*out = (uint32_t)unit;
	if (unit >= 0xD800 && unit <= 0xDBFF && p->end - p->at >= 6 && p->at[0] == '\\' && p->at[1] == 'u') {
		int low = hex4(p->at + 2, p->end);
		if (low >= 0xDC00 && low <= 0xDFFF) {
			p->at += 6;
			*out = 0x10000 + (uint32_t)(unit - 0xD800) * 0x400 + (uint32_t)(low - 0xDC00);
			return true;
		}
	}
	if (unit == 0 || (unit >= 0xD800 && unit <= 0xDFFF)) {
		*out = 0xFFFD;
		p->repaired = true;
	}
	return true;
}

static bool read_escape(parser_t *p, char **write)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = p->end - p->at >= 2 ? p->at[1] : 0;
	if (c == 'u') {
		uint32_t code = 0;
		if (!read_unicode(p, &code))
			return false;
		*write += hob_utf8_put(*write, code);
		return true;
	}
	const char *known = c ? strchr(from, c) : NULL;
	if (!known)
		return fail_at(p, p->at, "a bad escape in a string");
	*(*write)++ = to[known - from];
	p->at += 2;
	return true;
}

static bool read_string(parser_t *p, char **out)
{
	char *open = p->at, *write;
	write = p->at = plain_run(open + 1, p->end);
	while (p->at < p->end && *p->at != '"') {
		if ((unsigned char)*p->at < 0x20)
			return fail_at(p, p->at, "a control character inside a string (escape it, or close the string)");
		if (*p->at != '\\')
			*write++ = *p->at++;
		else if (!read_escape(p, &write))
			return false;
	}
	if (p->at >= p->end)
		return fail_at(p, open, "a string is never closed");
	*write = 0;
	p->at++;
	*out = open + 1;
	return true;
}

/* ---- other scalars */

static bool skip_digits(parser_t *p)
{
	const char *first = p->at;
	while (p->at < p->end && hob_is_digit(*p->at))
		p->at++;
	return p->at > first || fail_here(p, "a digit");
}

static bool read_number(parser_t *p, double *out)
{
	const char *first = p->at;
	p->at += *p->at == '-';
	const char *whole = p->at;
	if (!skip_digits(p))
		return false;
	if (*whole == '0' && p->at - whole > 1)
		return fail_at(p, first, "a number with a leading zero");
	if (p->at < p->end && *p->at == '.') {
		p->at++;
		if (!skip_digits(p))
			return false;
	}
	if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
		p->at++;
		if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
			p->at++;
		if (!skip_digits(p))
			return false;
	}
	hob_number_double(first, p->at, out);
	return true;
}

static bool read_literal(parser_t *p, cJSON *item)
{
	static const struct {
		hob_str word;
		int type;
	} literals[] = {{{"true", 4}, cJSON_True}, {{"false", 5}, cJSON_False}, {{"null", 4}, cJSON_NULL}};
	hob_str rest = {p->at, (size_t)(p->end - p->at)};
	for (size_t i = 0; i < HOB_COUNT_OF(literals); i++)
		if (hob_str_starts(rest, literals[i].word)) {
			p->at += literals[i].word.len;
			item->type = literals[i].type;
			return true;
		}
	return fail_here(p, "a value");
}

static bool read_scalar(parser_t *p, cJSON *item)
{
	if (*p->at == '"') {
		item->type = cJSON_String;
		return read_string(p, &item->valuestring);
	}
	if (*p->at != '-' && !hob_is_digit(*p->at))
		return read_literal(p, item);
	item->type = cJSON_Number;
	return read_number(p, &item->valuedouble);
}

/* ---- structure */

static void skip_space(parser_t *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
		p->at++;
}

static bool read_key(parser_t *p, char **key)
{
	skip_space(p);
	if (p->at >= p->end || *p->at != '"')
		return fail_here(p, "a key in quotes");
	if (!read_string(p, key))
		return false;
	skip_space(p);
	if (p->at >= p->end || *p->at != ':')
		return fail_here(p, "':'");
	p->at++;
	return true;
}

static cJSON *new_item(parser_t *p)
{
	if (p->checks)
		return &p->only;
	if (p->items_left == 0) {
		p->items = HOB_NEW(p->arena, cJSON, ITEM_BLOCK);
		p->items_left = p->items ? ITEM_BLOCK : 0;
	}
	if (p->items_left == 0) {
		hob_fail_memory(p->err, p->arena, "the JSON");
		return NULL;
	}
	p->items_left--;
	return p->items++;
}

/* An open object or array, and where to link its next child. */
typedef struct level {
	cJSON **link;
	bool object;
} level_t;

static bool read_document(parser_t *p, const cJSON **out)
{
	level_t levels[LEVELS_MAX];
	assert(HOB_LIMIT_JSON_DEPTH <= LEVELS_MAX);
	size_t depth = 0;
	cJSON *root = NULL;
	char *key = NULL;
	for (;;) {
		skip_space(p);
		if (p->at >= p->end)
			return fail_here(p, "a value");
		cJSON *item = new_item(p);
		if (!item)
			return false;
		item->string = key;
		key = NULL;
		level_t *parent = depth > 0 ? &levels[depth - 1] : NULL;
		*(parent ? parent->link : &root) = item;
		if (parent)
			parent->link = &item->next;
		bool complete = true;
		if (*p->at == '{' || *p->at == '[') {
			if (depth == p->depth_max)
				return hob_fail(p->err, LIMIT, "JSON nests deeper than %u levels at byte %zu", p->depth_max,
								(size_t)(p->at - p->start));
			bool object = *p->at++ == '{';
			item->type = object ? cJSON_Object : cJSON_Array;
			skip_space(p);
			complete = p->at < p->end && *p->at == (object ? '}' : ']');
			p->at += complete;
			if (!complete) {
				levels[depth++] = (level_t){&item->child, object};
				if (object && !read_key(p, &key))
					return false;
			}
		} else if (!read_scalar(p, item)) {
			return false;
		}
		while (complete) {
			skip_space(p);
			if (depth == 0) {
				*out = root;
				return p->at == p->end || fail_at(p, p->at, "more text after the document");
			}
			bool object = levels[depth - 1].object;
			if (p->at >= p->end || (*p->at != ',' && *p->at != (object ? '}' : ']')))
				return fail_here(p, object ? "',' or '}'" : "',' or ']'");
			complete = *p->at++ != ',';
			if (complete)
				depth--;
			else if (object && !read_key(p, &key))
				return false;
		}
	}
}

bool hob_json_parse(hob_arena *arena, hob_str text, const cJSON **out, bool *repaired, hob_error *err)
{
	char *start = HOB_NEW(arena, char, text.len + 1);
	if (!start)
		return hob_fail_memory(err, arena, "the JSON");
	if (text.len > 0)
		memcpy(start, text.data, text.len);
	parser_t p = {.text = text,
				  .start = start,
				  .at = start,
				  .end = start + text.len,
				  .depth_max = HOB_LIMIT_JSON_DEPTH,
				  .arena = arena,
				  .err = err};
	const cJSON *root = NULL;
	if (!read_document(&p, &root))
		return false;
	*out = root;
	*repaired = p.repaired;
	return true;
}

bool hob_json_valid(hob_str text, uint32_t depth)
{
	const cJSON *root;
	hob_error error;
	assert(depth <= LEVELS_MAX);
	hob_own char *start = text.len > 0 && hob_utf8_valid(text) ? malloc(text.len) : NULL;
	if (!start)
		return false;
	memcpy(start, text.data, text.len);
	parser_t p = {.text = text,
				  .start = start,
				  .at = start,
				  .end = start + text.len,
				  .depth_max = depth,
				  .checks = true,
				  .err = &error};
	return read_document(&p, &root);
}

const cJSON *hob_json_get(const cJSON *object, const char *key)
{
	const cJSON *value = object && object->type == cJSON_Object ? object->child : NULL;
	while (value && (value->string[0] != key[0] || strcmp(value->string, key) != 0))
		value = value->next;
	return value && value->type != cJSON_NULL ? value : NULL;
}
