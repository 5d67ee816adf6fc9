#include "usd_lex.h"

bool hob_usd_lex_fail(hob_usd_lex *l, const char *expected)
{
	size_t line = 1, column = 1;
	for (const char *c = l->start; c < l->at; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	if (l->at == l->end)
		return hob_fail(l->err, TRUNCATED, "line %zu: the file ends where %s is expected", line, expected);
	return hob_fail(l->err, CORRUPT, "line %zu, column %zu: expected %s", line, column, expected);
}

static void skip_line(hob_usd_lex *l)
{
	const char *end = (const char *)memchr(l->at, '\n', (size_t)(l->end - l->at));
	l->at = end ? end : l->end;
}

void hob_usd_lex_skip(hob_usd_lex *l)
{
	while (l->at < l->end) {
		char c = *l->at;
		size_t left = (size_t)(l->end - l->at);
		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			l->at++;
		} else if (c == '#' || (c == '/' && left > 1 && l->at[1] == '/')) {
			skip_line(l);
		} else if (c == '/' && left > 1 && l->at[1] == '*') {
			size_t close = hob_str_find((hob_str){l->at, left}, HOB_STR("*/"), 2);
			l->at = close == SIZE_MAX ? l->end : l->at + close + 2;
		} else {
			return;
		}
	}
}

char hob_usd_lex_peek(hob_usd_lex *l)
{
	hob_usd_lex_skip(l);
	return l->at < l->end ? *l->at : 0;
}

bool hob_usd_lex_take(hob_usd_lex *l, char c)
{
	if (hob_usd_lex_peek(l) != c || l->at == l->end)
		return false;
	l->at++;
	return true;
}

bool hob_usd_lex_need(hob_usd_lex *l, char c)
{
	const char text[] = {'\'', c, '\'', 0};
	return hob_usd_lex_take(l, c) || hob_usd_lex_fail(l, text);
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
		   c == ':' || (unsigned char)c >= 0x80;
}

hob_str hob_usd_lex_word(hob_usd_lex *l)
{
	hob_usd_lex_skip(l);
	const char *from = l->at;
	while (l->at < l->end && is_word(*l->at))
		l->at++;
	return (hob_str){from, (size_t)(l->at - from)};
}

bool hob_usd_lex_take_word(hob_usd_lex *l, const char *word)
{
	hob_usd_lex_skip(l);
	size_t size = strlen(word), left = (size_t)(l->end - l->at);
	if (left < size || memcmp(l->at, word, size) != 0 || (left > size && is_word(l->at[size])))
		return false;
	l->at += size;
	return true;
}

/* ---- strings */

static int digit_of(char c, int base)
{
	int value = c >= '0' && c <= '9'   ? c - '0'
				: c >= 'a' && c <= 'f' ? c - 'a' + 10
				: c >= 'A' && c <= 'F' ? c - 'A' + 10
									   : 99;
	return value < base ? value : -1;
}

static const char *escape(const char *at, const char *end, char *out)
{
	static const char names[] = "nrtabfv", values[] = "\n\r\t\a\b\f\v";
	const char *name = *at ? strchr(names, *at) : NULL;
	int base = *at == 'x' ? 16 : 8, most = base == 16 ? 2 : 3, value = 0, digits = 0;
	*out = *at;
	if (name) {
		*out = values[name - names];
		return at + 1;
	}
	const char *digit = at + (base == 16);
	while (digits < most && digit < end && digit_of(*digit, base) >= 0) {
		value = value * base + digit_of(*digit++, base);
		digits++;
	}
	if (digits == 0)
		return at + 1;
	*out = (char)value;
	return digit;
}

static bool unescape(hob_usd_lex *l, hob_str raw, hob_str *out)
{
	*out = raw;
	if (raw.len == 0 || !memchr(raw.data, '\\', raw.len))
		return true;
	char *to = HOB_NEW(l->u->scratch, char, raw.len);
	if (!to)
		return hob_fail_memory(l->err, l->u->scratch, "a string");
	*out = (hob_str){to, 0};
	for (const char *at = raw.data, *end = raw.data + raw.len; at < end;) {
		if (*at == '\\' && at + 1 < end)
			at = escape(at + 1, end, to++);
		else
			*to++ = *at++;
	}
	out->len = (size_t)(to - out->data);
	return true;
}

bool hob_usd_lex_string(hob_usd_lex *l, hob_str *out)
{
	char quote = hob_usd_lex_peek(l);
	if (quote != '"' && quote != '\'')
		return hob_usd_lex_fail(l, "a string in quotes");
	bool triple = l->end - l->at >= 3 && l->at[1] == quote && l->at[2] == quote;
	const char *from = l->at + (triple ? 3 : 1), *at = from;
	for (; at < l->end; at++) {
		if (*at == '\\' && at + 1 < l->end)
			at++;
		else if (*at == quote && (!triple || (l->end - at >= 3 && at[1] == quote && at[2] == quote)))
			break;
	}
	if (at == l->end)
		return hob_usd_lex_fail(l, "a string that ends");
	l->at = at + (triple ? 3 : 1);
	return unescape(l, (hob_str){from, (size_t)(at - from)}, out);
}

bool hob_usd_lex_asset(hob_usd_lex *l, hob_str *out)
{
	if (hob_usd_lex_peek(l) != '@')
		return hob_usd_lex_fail(l, "an @asset@");
	hob_str left = {l->at, (size_t)(l->end - l->at)},
			mark = hob_str_starts(left, HOB_STR("@@@")) ? HOB_STR("@@@") : HOB_STR("@");
	size_t close = hob_str_find(left, mark, mark.len);
	if (close == SIZE_MAX)
		return hob_usd_lex_fail(l, "an @asset@ that ends");
	*out = hob_str_sub(left, mark.len, close);
	l->at += close + mark.len;
	/* Within @@@ a single @ is literal; a fourth and later ones belong to the name. */
	for (; mark.len == 3 && l->at < l->end && *l->at == '@'; l->at++)
		out->len++;
	return true;
}

bool hob_usd_lex_path(hob_usd_lex *l, hob_str *out)
{
	if (!hob_usd_lex_need(l, '<'))
		return false;
	const char *close = (const char *)memchr(l->at, '>', (size_t)(l->end - l->at));
	if (!close)
		return hob_usd_lex_fail(l, "a <path> that ends");
	hob_str path = {l->at, (size_t)(close - l->at)};
	l->at = close + 1;
	*out = path;
	return path.len == 0 || hob_usd_path_absolute(l->u, l->prim, path, out, l->err);
}
