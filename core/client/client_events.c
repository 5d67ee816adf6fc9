#include "client_parse.h"

#include <string.h>

enum { DEPTH_MAX = 32, RETRY_MAX = 60000 };

/* ---- server-sent events */

void hobc_sse_start(hobc_sse *sse)
{
	sse->line_size = sse->data_size = 0;
	sse->after_cr = sse->has_data = sse->bad = 0;
	sse->event[0] = 0;
}

static void keep(char *to, size_t room, const char *from, size_t size)
{
	if (size >= room)
		size = 0;
	memcpy(to, from, size);
	to[size] = 0;
}

static void take_retry(hobc_sse *sse, const char *value, size_t size)
{
	uint64_t ms = 0;
	size_t i;
	for (i = 0; i < size && i < 6; i++) {
		if (value[i] < '0' || value[i] > '9')
			return;
		ms = ms * 10 + (uint64_t)(value[i] - '0');
	}
	if (size > 0)
		sse->retry_ms = size > 6 || ms > RETRY_MAX ? (uint64_t)RETRY_MAX : ms;
}

static void take_line(hobc_sse *sse, hobc_sse_fn fn, void *user)
{
	const char *line = sse->line, *colon, *value;
	size_t size = sse->line_size, name, length;
	sse->line_size = 0;
	if (size == 0) {
		if (sse->has_data) {
			sse->data[sse->data_size] = 0;
			fn(user, sse->event, sse->data, sse->data_size);
		}
		sse->data_size = 0;
		sse->has_data = 0;
		sse->event[0] = 0;
		return;
	}
	colon = (const char *)memchr(line, ':', size);
	name = colon ? (size_t)(colon - line) : size;
	value = colon ? colon + 1 : line + size;
	length = size - (size_t)(value - line);
	if (length > 0 && *value == ' ') {
		value++;
		length--;
	}
	if (name == 4 && memcmp(line, "data", 4) == 0) {
		if (sse->data_size + length + 2 > sse->room) {
			sse->bad = 1;
			return;
		}
		if (sse->has_data)
			sse->data[sse->data_size++] = '\n';
		memcpy(sse->data + sse->data_size, value, length);
		sse->data_size += length;
		sse->has_data = 1;
	} else if (name == 5 && memcmp(line, "event", 5) == 0) {
		keep(sse->event, sizeof sse->event, value, length);
	} else if (name == 2 && memcmp(line, "id", 2) == 0) {
		size_t i;
		for (i = 0; i < length; i++)
			if (value[i] < 33 || value[i] > 126)
				return;
		keep(sse->id, sizeof sse->id, value, length);
	} else if (name == 5 && memcmp(line, "retry", 5) == 0) {
		take_retry(sse, value, length);
	}
}

int hobc_sse_feed(hobc_sse *sse, const uint8_t *data, size_t size, hobc_sse_fn fn, void *user)
{
	size_t i;
	for (i = 0; i < size && !sse->bad; i++) {
		char c = (char)data[i];
		int skip = c == '\n' && sse->after_cr;
		sse->after_cr = c == '\r';
		if (skip)
			continue;
		if (c == '\n' || c == '\r')
			take_line(sse, fn, user);
		else if (sse->line_size == sse->room)
			sse->bad = 1;
		else
			sse->line[sse->line_size++] = c;
	}
	return !sse->bad;
}

/* ---- JSON */

static void blanks(hobc_json *in)
{
	while (in->size > 0 && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')) {
		in->at++;
		in->size--;
	}
}

static int skip_string(hobc_json *in)
{
	size_t i;
	if (in->size == 0 || *in->at != '"')
		return 0;
	for (i = 1; i < in->size && in->at[i] != '"'; i++)
		if (in->at[i] == '\\')
			i++;
	if (i >= in->size)
		return 0;
	in->at += i + 1;
	in->size -= i + 1;
	return 1;
}

/* Brackets are counted, not matched: the inside of a skipped value does not matter. */
static int skip_value(hobc_json *in, hobc_json *value)
{
	int depth = 0;
	blanks(in);
	value->at = in->at;
	do {
		char c;
		blanks(in);
		if (in->size == 0)
			return 0;
		c = *in->at;
		if (c == '"') {
			if (!skip_string(in))
				return 0;
			continue;
		}
		if (depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']'))
			return 0;
		if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		else if (depth == 0) {
			while (in->size > 0 && !strchr(",:]} \t\r\n\"{[", *in->at)) {
				in->at++;
				in->size--;
			}
			continue;
		}
		if (depth > DEPTH_MAX)
			return 0;
		in->at++;
		in->size--;
	} while (depth > 0);
	value->size = (size_t)(in->at - value->at);
	return 1;
}

static int skip_mark(hobc_json *in, char mark)
{
	blanks(in);
	if (in->size == 0 || *in->at != mark)
		return 0;
	in->at++;
	in->size--;
	return 1;
}

int hobc_json_member(hobc_json object, const char *key, hobc_json *value)
{
	hobc_json in = object, name;
	size_t size = strlen(key);
	if (!skip_mark(&in, '{'))
		return 0;
	do {
		if (!skip_value(&in, &name) || !skip_mark(&in, ':') || !skip_value(&in, value))
			return 0;
		if (name.size == size + 2 && name.at[0] == '"' && memcmp(name.at + 1, key, size) == 0)
			return 1;
	} while (skip_mark(&in, ','));
	return 0;
}

int hobc_json_item(hobc_json array, size_t *position, hobc_json *item)
{
	hobc_json in = array;
	if (*position > array.size)
		return 0;
	in.at += *position;
	in.size -= *position;
	if (!skip_mark(&in, *position == 0 ? '[' : ',') || !skip_value(&in, item))
		return 0;
	*position = (size_t)(in.at - array.at);
	return 1;
}

static int hex4(const char *at, uint32_t *out)
{
	int i;
	*out = 0;
	for (i = 0; i < 4; i++) {
		char c = at[i];
		uint32_t digit;
		if (c >= '0' && c <= '9')
			digit = (uint32_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			digit = (uint32_t)((c | 32) - 'a' + 10);
		else
			return 0;
		*out = *out << 4 | digit;
	}
	return 1;
}

static size_t put_utf8(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xC0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xE0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xF0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

int hobc_json_text(hobc_json value, char *out, size_t room)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at = value.at + 1, *end = value.at + value.size - 1;
	size_t used = 0;
	if (value.size < 2 || value.at[0] != '"' || *end != '"')
		return 0;
	while (at < end) {
		const char *found;
		uint32_t c, low;
		if (used + 5 > room || *at == 0)
			return 0;
		if (*at != '\\') {
			out[used++] = *at++;
			continue;
		}
		if (end - at < 2)
			return 0;
		found = at[1] ? strchr(from, at[1]) : NULL;
		if (found) {
			out[used++] = to[found - from];
			at += 2;
			continue;
		}
		if (at[1] != 'u' || end - at < 6 || !hex4(at + 2, &c) || c == 0)
			return 0;
		at += 6;
		if (c >= 0xD800 && c < 0xDC00) {
			if (end - at < 6 || at[0] != '\\' || at[1] != 'u' || !hex4(at + 2, &low) || low < 0xDC00 ||
				low > 0xDFFF)
				return 0;
			c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
			at += 6;
		} else if (c >= 0xDC00 && c <= 0xDFFF) {
			return 0;
		}
		used += put_utf8(c, out + used);
	}
	if (used >= room)
		return 0;
	out[used] = 0;
	return 1;
}

void hobc_json_text_of(hobc_json object, const char *key, char *out, size_t room)
{
	hobc_json value;
	if (!hobc_json_member(object, key, &value) || !hobc_json_text(value, out, room))
		out[0] = 0;
}

int hobc_json_number(hobc_json value, uint64_t *out)
{
	uint64_t number = 0;
	size_t i;
	for (i = 0; i < value.size; i++) {
		uint64_t digit = (uint64_t)(value.at[i] - '0');
		if (value.at[i] < '0' || value.at[i] > '9' || number > (UINT64_MAX - digit) / 10)
			return 0;
		number = number * 10 + digit;
	}
	*out = number;
	return value.size > 0;
}

/* On a mismatch the last '*' takes one more byte, or if that is a '/', the last '**' does. */
int hobc_glob(const char *pattern, const char *text)
{
	const char *first = pattern, *star = NULL, *star_text = NULL, *deep = NULL, *deep_text = NULL;
	for (;;) {
		if (pattern[0] == '*' && pattern[1] == '*') {
			int segment = first == pattern || pattern[-1] == '/';
			while (*pattern == '*')
				pattern++;
			if (segment && *pattern == '/' && hobc_glob(pattern + 1, text))
				return 1;
			deep = pattern;
			deep_text = text;
			star = NULL;
		} else if (*pattern == '*') {
			star = ++pattern;
			star_text = text;
		} else if (*text && (*pattern == *text || (*pattern == '?' && *text != '/'))) {
			pattern++;
			text++;
		} else if (!*text && !*pattern) {
			return 1;
		} else if (star && *star_text && *star_text != '/') {
			pattern = star;
			text = ++star_text;
		} else if (deep && *deep_text) {
			star = NULL;
			pattern = deep;
			text = ++deep_text;
		} else {
			return 0;
		}
	}
}
