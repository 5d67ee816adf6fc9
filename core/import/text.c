#include "text.h"

#include "../base/limits.h"
#include "../base/number.h"

static size_t sequence_length(hob_str s, size_t at)
{
	for (size_t len = 1; len <= 4 && at + len <= s.len; len++)
		if (hob_utf8_valid((hob_str){s.data + at, len}))
			return len;
	return 0;
}

hob_str hob_text_last_part(hob_str path)
{
	for (size_t i = path.len; i > 0; i--)
		if (path.data[i - 1] == '/' || path.data[i - 1] == '\\' || path.data[i - 1] == ':')
			return hob_str_sub(path, i, path.len);
	return path;
}

hob_str hob_text_trim(hob_str s)
{
	while (s.len > 0 && (uint8_t)s.data[0] <= ' ') {
		s.data++;
		s.len--;
	}
	while (s.len > 0 && (uint8_t)s.data[s.len - 1] <= ' ')
		s.len--;
	return s;
}

size_t hob_text_index(hob_str word, const char *const *words)
{
	size_t place = 0;
	while (words[place] && !hob_str_equal(word, hob_str_of(words[place])))
		place++;
	return place;
}

bool hob_text_is_one_of(hob_str word, const char *const *words)
{
	return words[hob_text_index(word, words)] != NULL;
}

int hob_text_hex(char digit)
{
	char low = (char)(digit | 0x20);
	return digit >= '0' && digit <= '9' ? digit - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

hob_str hob_text_name(hob_arena *arena, hob_str raw)
{
	raw = hob_text_trim(raw);
	size_t room = raw.len < HOB_LIMIT_NAME_BYTES ? raw.len * 2 : HOB_LIMIT_NAME_BYTES;
	char *text = HOB_NEW(arena, char, room + 1);
	size_t len = 0;
	for (size_t i = 0; i < raw.len;) {
		size_t run = sequence_length(raw, i);
		uint8_t c = (uint8_t)raw.data[i];
		char latin[2] = {(char)(0xC0 | c >> 6), (char)(0x80 | (c & 0x3F))};
		const char *from = run ? raw.data + i : latin;
		size_t put = run ? run : 2;
		if (len + put > room || len + put > HOB_LIMIT_NAME_BYTES)
			break;
		memcpy(text + len, c < ' ' || c == 0x7F ? " " : from, put);
		len += put;
		i += run ? run : 1;
	}
	return (hob_str){text, len};
}

bool hob_text_line(hob_str *rest, hob_str *line)
{
	if (rest->len == 0)
		return false;
	size_t len = 0;
	while (len < rest->len && rest->data[len] != '\n' && rest->data[len] != '\r')
		len++;
	*line = (hob_str){rest->data, len};
	size_t step = len < rest->len ? len + 1 : len;
	if (len + 1 < rest->len && rest->data[len] == '\r' && rest->data[len + 1] == '\n')
		step++;
	*rest = (hob_str){rest->data + step, rest->len - step};
	return true;
}

hob_str hob_text_word(hob_str *line)
{
	size_t from = 0;
	if (!line->data)
		return (hob_str){0};
	while (from < line->len && (uint8_t)line->data[from] <= ' ')
		from++;
	size_t to = from;
	while (to < line->len && (uint8_t)line->data[to] > ' ')
		to++;
	hob_str word = {line->data + from, to - from};
	*line = (hob_str){line->data + to, line->len - to};
	return word;
}

uint32_t hob_text_count_words(hob_str text)
{
	uint32_t count = 0;
	while (hob_text_word(&text).len > 0)
		count++;
	return count;
}

/* ---- byte order marks */

static hob_str from_utf16(hob_arena *arena, hob_bytes file, bool big)
{
	size_t units = (file.size - 2) / 2, len = 0;
	char *text = HOB_NEW(arena, char, units * 3 + 1);
	const uint8_t *p = file.data + 2;
	for (size_t i = 0; i < units; i++) {
		uint32_t c = big ? (uint32_t)p[i * 2] << 8 | p[i * 2 + 1] : (uint32_t)p[i * 2 + 1] << 8 | p[i * 2];
		if (c >= 0xD800 && c < 0xDC00 && i + 1 < units) {
			const uint8_t *q = p + (i + 1) * 2;
			uint32_t low = big ? (uint32_t)q[0] << 8 | q[1] : (uint32_t)q[1] << 8 | q[0];
			if (low >= 0xDC00 && low < 0xE000) {
				c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
				i++;
			}
		}
		if (c >= 0xD800 && c < 0xE000)
			c = 0xFFFD;
		len += hob_utf8_put(text + len, c);
	}
	return (hob_str){text, len};
}

hob_str hob_text_decode(hob_arena *arena, hob_bytes file)
{
	hob_str text = {file.data ? (const char *)file.data : "", file.size};
	if (hob_str_starts(text, HOB_STR("\xEF\xBB\xBF")))
		return (hob_str){text.data + 3, text.len - 3};
	if (hob_str_starts(text, HOB_STR("\xFF\xFE")))
		return from_utf16(arena, file, false);
	if (hob_str_starts(text, HOB_STR("\xFE\xFF")))
		return from_utf16(arena, file, true);
	return text;
}
