#include "text.h"

#include "../base/limits.h"

static size_t sequence_length(hob_str s, size_t at)
{
	for (size_t len = 1; len <= 4 && at + len <= s.len; len++)
		if (hob_utf8_valid((hob_str){s.data + at, len}))
			return len;
	return 0;
}

hob_str hob_text_name(hob_arena *arena, hob_str raw)
{
	while (raw.len > 0 && (uint8_t)raw.data[0] <= ' ')
		raw = hob_str_sub(raw, 1, raw.len);
	while (raw.len > 0 && (uint8_t)raw.data[raw.len - 1] <= ' ')
		raw.len--;
	size_t room = raw.len < HOB_LIMIT_NAME_BYTES ? raw.len * 2 : HOB_LIMIT_NAME_BYTES;
	char *text = HOB_NEW(arena, char, room + 1);
	if (!text)
		return (hob_str){0};
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
