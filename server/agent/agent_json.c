#include "agent_json.h"

#include <stdlib.h>

static size_t skip_space(hob_str s, size_t at)
{
	while (at < s.len &&
		   (s.data[at] == ' ' || s.data[at] == '\t' || s.data[at] == '\n' || s.data[at] == '\r'))
		at++;
	return at;
}

static size_t skip_string(hob_str s, size_t at)
{
	for (at++; at < s.len && s.data[at] != '"'; at++)
		at += s.data[at] == '\\';
	return at < s.len ? at + 1 : s.len;
}

static size_t skip_value(hob_str s, size_t at)
{
	uint32_t depth = 0;
	do {
		char c = at < s.len ? s.data[at] : 0;
		if (c == '"') {
			at = skip_string(s, at);
			continue;
		}
		if (depth == 0 && (c == ',' || c == ']' || c == '}'))
			break;
		depth += c == '[' || c == '{';
		depth -= c == ']' || c == '}';
		at++;
		if (depth == 0 && (c == ']' || c == '}'))
			break;
	} while (at < s.len);
	return at < s.len ? at : s.len;
}

static hob_str trimmed(hob_str s, size_t from, size_t to)
{
	while (to > from && (uint8_t)s.data[to - 1] <= ' ')
		to--;
	return hob_str_sub(s, from, to);
}

hob_str agent_json_member(hob_str object, const char *name)
{
	hob_str wanted = hob_str_of(name);
	size_t at = skip_space(object, 0);
	if (at >= object.len || object.data[at] != '{')
		return (hob_str){0};
	at = skip_space(object, at + 1);
	while (at < object.len && object.data[at] == '"') {
		size_t end = skip_string(object, at);
		hob_str key = hob_str_sub(object, at + 1, end > at + 1 ? end - 1 : end);
		at = skip_space(object, end);
		at = skip_space(object, at + 1); /* ':' */
		size_t from = at;
		/* The value may be a string right away. */
		at = at < object.len && object.data[at] == '"' ? skip_string(object, at) : skip_value(object, at);
		if (hob_str_equal(key, wanted))
			return trimmed(object, from, at);
		at = skip_space(object, at);
		if (at < object.len && object.data[at] == ',')
			at = skip_space(object, at + 1);
	}
	return (hob_str){0};
}

bool agent_json_next(hob_str *array, hob_str *item)
{
	size_t at = skip_space(*array, 0);
	if (at >= array->len || (array->data[at] != '[' && array->data[at] != ','))
		return false;
	at = skip_space(*array, at + 1);
	if (at >= array->len || array->data[at] == ']')
		return false;
	size_t from = at;
	at = array->data[at] == '"' ? skip_string(*array, at) : skip_value(*array, at);
	*item = trimmed(*array, from, at);
	*array = hob_str_sub(*array, at, array->len);
	return true;
}

static uint32_t hex4(const char *at)
{
	char digits[5] = {at[0], at[1], at[2], at[3], 0};
	return (uint32_t)strtoul(digits, NULL, 16);
}

static void put_utf8(hob_buf *out, uint32_t c)
{
	uint8_t b[4];
	size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
	for (size_t i = size; i-- > 1; c >>= 6)
		b[i] = (uint8_t)(0x80 | (c & 0x3F));
	b[0] = (uint8_t)(marks[size] | c);
	hob_buf_put(out, b, size);
}

bool agent_json_text(hob_str value, hob_buf *out)
{
	static const char marks[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	hob_buf_clear(out);
	if (value.len < 2 || value.data[0] != '"')
		return false;
	for (size_t i = 1; i + 1 < value.len; i++) {
		if (value.data[i] != '\\') {
			hob_buf_put(out, &value.data[i], 1);
			continue;
		}
		const char *mark = strchr(marks, value.data[++i]);
		if (mark && *mark) {
			hob_buf_put(out, &bytes[mark - marks], 1);
			continue;
		}
		if (i + 4 >= value.len)
			return false;
		uint32_t c = hex4(value.data + i + 1);
		i += 4;
		if (c >= 0xD800 && c < 0xDC00 && i + 6 < value.len && value.data[i + 1] == '\\') {
			c = 0x10000 + ((c - 0xD800) << 10) + ((hex4(value.data + i + 3) - 0xDC00) & 0x3FF);
			i += 6;
		}
		put_utf8(out, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
	}
	return true;
}

int64_t agent_json_number(hob_str value)
{
	char text[32] = {0};
	memcpy(text, value.len > 0 ? value.data : "", value.len < sizeof text ? value.len : sizeof text - 1);
	return strtoll(text, NULL, 10);
}

bool agent_json_true(hob_str value)
{
	return hob_str_equal(value, HOB_STR("true"));
}
