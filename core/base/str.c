#include "base.h"

hob_str hob_str_of(const char *text)
{
	return text ? (hob_str){text, strlen(text)} : (hob_str){0};
}

bool hob_str_equal(hob_str a, hob_str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool hob_str_equal_nocase(hob_str a, hob_str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (lower(a.data[i]) != lower(b.data[i]))
			return false;
	return true;
}

bool hob_str_starts(hob_str s, hob_str prefix)
{
	return s.len >= prefix.len && hob_str_equal((hob_str){s.data, prefix.len}, prefix);
}

bool hob_str_ends_nocase(hob_str s, hob_str suffix)
{
	return s.len >= suffix.len &&
		   hob_str_equal_nocase((hob_str){s.data + (s.len - suffix.len), suffix.len}, suffix);
}

hob_str hob_str_sub(hob_str s, size_t from, size_t to)
{
	if (to > s.len)
		to = s.len;
	if (from >= to)
		return (hob_str){0};
	return (hob_str){s.data + from, to - from};
}

size_t hob_str_find(hob_str s, hob_str what, size_t from)
{
	if (what.len == 0)
		return from <= s.len ? from : SIZE_MAX;
	const char *found = from < s.len ? memmem(s.data + from, s.len - from, what.data, what.len) : NULL;
	return found ? (size_t)(found - s.data) : SIZE_MAX;
}

/* Length of the valid UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_sequence(const uint8_t *p, size_t left)
{
	uint8_t c = p[0];
	if (c < 0x80)
		return 1;
	size_t need = c >= 0xC2 && c <= 0xDF ? 2 : (c & 0xF0) == 0xE0 ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 0;
	if (need == 0 || left < need)
		return 0;
	for (size_t i = 1; i < need; i++)
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	bool overlong = (c == 0xE0 && p[1] < 0xA0) || (c == 0xF0 && p[1] < 0x90);
	bool surrogate = c == 0xED && p[1] >= 0xA0;
	bool beyond = c == 0xF4 && p[1] >= 0x90;
	return overlong || surrogate || beyond ? 0 : need;
}

bool hob_utf8_valid(hob_str s)
{
	for (size_t i = 0; i < s.len;) {
		const uint64_t tops = 0x8080808080808080ull;
		const char *at = s.data + i;
		if (s.len - i >= 32 &&
			!((hob_load_u64(at) | hob_load_u64(at + 8) | hob_load_u64(at + 16) | hob_load_u64(at + 24)) &
			  tops)) {
			i += 32;
			continue;
		}
		if (s.len - i >= 8 && !(hob_load_u64(at) & tops)) {
			i += 8;
			continue;
		}
		size_t step = utf8_sequence((const uint8_t *)s.data + i, s.len - i);
		if (step == 0)
			return false;
		i += step;
	}
	return true;
}

bool hob_glob_match(hob_str pattern, hob_str text)
{
	/* reach[i]: the first i bytes of the pattern match the text read so far. */
	bool reach[HOB_GLOB_BYTES_MAX + 1] = {true};
	if (pattern.len > HOB_GLOB_BYTES_MAX)
		return false;
	for (size_t t = 0; t <= text.len; t++) {
		bool next[HOB_GLOB_BYTES_MAX + 1] = {false};
		for (size_t i = 0; i < pattern.len; i++) {
			if (!reach[i])
				continue;
			char p = pattern.data[i];
			bool star = p == '*';
			bool any = star && i + 1 < pattern.len && pattern.data[i + 1] == '*';
			size_t behind = i + (any ? 2 : 1);
			if (star)
				reach[behind] = true;
			if (t == text.len)
				continue;
			bool slash = text.data[t] == '/';
			if (star && (any || !slash))
				next[i] = true;
			else if (!star && (p == text.data[t] || (p == '?' && !slash)))
				next[behind] = true;
			/* "**" followed by a slash also matches no folder. */
			if (any && behind < pattern.len && pattern.data[behind] == '/')
				reach[behind + 1] = reach[behind + 1] || i == 0 || pattern.data[i - 1] == '/';
		}
		if (t == text.len)
			return reach[pattern.len];
		memcpy(reach, next, sizeof reach);
	}
	return false;
}

size_t hob_str_distance(hob_str a, hob_str b)
{
	size_t row[128];
	if (a.len >= HOB_COUNT_OF(row) || b.len >= HOB_COUNT_OF(row))
		return SIZE_MAX;
	for (size_t j = 0; j <= b.len; j++)
		row[j] = j;
	for (size_t i = 0; i < a.len; i++) {
		size_t diagonal = row[0];
		row[0] = i + 1;
		for (size_t j = 0; j < b.len; j++) {
			size_t replace = diagonal + (a.data[i] != b.data[j]);
			diagonal = row[j + 1];
			size_t edit = (diagonal < row[j] ? diagonal : row[j]) + 1;
			row[j + 1] = replace < edit ? replace : edit;
		}
	}
	return row[b.len];
}

static size_t last_dot(hob_str s)
{
	size_t at = s.len;
	while (at > 0 && s.data[at - 1] != '.')
		at--;
	return at;
}

hob_str hob_key_near(hob_str asked, hob_str key, size_t *distance)
{
	hob_str best = key;
	*distance = hob_str_distance(asked, key);
	size_t asked_at = last_dot(asked), key_at = last_dot(key);
	size_t last =
		hob_str_distance(hob_str_sub(asked, asked_at, asked.len), hob_str_sub(key, key_at, key.len));
	if (last != SIZE_MAX && asked_at > 0)
		last++;
	if (last < *distance)
		*distance = last;
	for (size_t i = 0; i < key.len; i++) {
		hob_str group = hob_str_sub(key, 0, i);
		size_t here = key.data[i] == '.' ? hob_str_distance(asked, group) : SIZE_MAX;
		if (here < *distance) {
			*distance = here;
			best = group;
		}
	}
	return best;
}

void hob_text_place(hob_str text, const char *at, size_t *line, size_t *column)
{
	*line = *column = 1;
	for (const char *p = text.data; p && p < at && p < text.data + text.len; p++) {
		if (*p == '\n') {
			++*line;
			*column = 1;
		} else if (((uint8_t)*p & 0xC0) != 0x80) {
			++*column;
		}
	}
}

bool hob_glob_match_any(const char *const *patterns, hob_str text)
{
	for (uint32_t i = 0; patterns && patterns[i]; i++)
		if (hob_glob_match(hob_str_of(patterns[i]), text))
			return true;
	return false;
}
