#include "base.h"

#include <stdio.h>

/* ---- slices */

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

/* Length of the valid UTF-8 sequence at p, 0 when it is not one. */
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
			/* "**" followed by a slash stands for no folder as well. */
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

/* ---- errors */

static const struct {
	const char *name, *meaning;
	int http;
} error_table[] = {
#define HOB_ERR(name, text, http, meaning) {text, meaning, http},
#include "../../schema/errors.def"
#undef HOB_ERR
};

const char *hob_err_name(hob_err_code code)
{
	return code < HOB_ERR_COUNT ? error_table[code].name : "internal";
}

int hob_err_http(hob_err_code code)
{
	return code < HOB_ERR_COUNT ? error_table[code].http : 500;
}

const char *hob_err_meaning(hob_err_code code)
{
	return code < HOB_ERR_COUNT ? error_table[code].meaning : "a bug in Hob";
}

hob_err_code hob_err_from_name(hob_str name)
{
	for (unsigned i = 0; i < HOB_ERR_COUNT; i++)
		if (hob_str_equal(name, hob_str_of(error_table[i].name)))
			return (hob_err_code)i;
	return HOB_ERR_INTERNAL;
}

bool hob_error_set(hob_error *err, hob_err_code code, const char *file, int line, const char *fmt, ...)
{
	if (!err)
		return false;
	/* Formatted aside first: an argument may point into err->context. */
	char text[sizeof err->context];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	err->code = code;
	err->file = file;
	err->line = line;
	memcpy(err->context, text, sizeof text);
	return false;
}

bool hob_error_append(hob_error *err, const char *fmt, ...)
{
	if (!err || err->code == HOB_ERR_MISSING_FILE)
		return false;
	size_t used = strlen(err->context);
	if (used + 3 < sizeof err->context) {
		memcpy(err->context + used, "; ", 3);
		va_list args;
		va_start(args, fmt);
		vsnprintf(err->context + used + 2, sizeof err->context - used - 2, fmt, args);
		va_end(args);
	}
	return false;
}

/* ---- notes */

void hob_note_add(hob_notes *notes, hob_note_level level, const char *code, const char *fmt, ...)
{
	if (!notes)
		return;
	char text[512];
	va_list args;
	va_start(args, fmt);
	int length = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (length < 0)
		length = 0;
	hob_str said = {text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1};
	hob_str id = hob_str_of(code);
	for (uint32_t i = 0; i < notes->count; i++) {
		hob_note *known = &notes->items[i];
		if (hob_str_equal(known->code, id) && hob_str_equal(known->text, said)) {
			known->count++;
			return;
		}
	}
	hob_str kept = {0}, kept_id = {0};
	if (notes->count < HOB_NOTE_LIMIT) {
		kept = hob_arena_str(notes->arena, said);
		kept_id = hob_arena_str(notes->arena, id);
	}
	if (!kept.data || !kept_id.data) {
		notes->dropped++;
		return;
	}
	notes->items[notes->count++] = (hob_note){level, kept_id, kept, 1};
}

/* ---- paths */

hob_str hob_path_dir(hob_str path)
{
	for (size_t i = path.len; i > 0; i--)
		if (path.data[i - 1] == '/')
			return (hob_str){path.data, i - 1};
	return (hob_str){path.data, 0};
}

hob_str hob_path_name(hob_str path)
{
	for (size_t i = path.len; i > 0; i--)
		if (path.data[i - 1] == '/')
			return (hob_str){path.data + i, path.len - i};
	return path;
}

hob_str hob_path_extension(hob_str path)
{
	hob_str name = hob_path_name(path);
	for (size_t i = name.len; i > 1; i--)
		if (name.data[i - 1] == '.')
			return (hob_str){name.data + i, name.len - i};
	return (hob_str){0};
}

static bool is_absolute(hob_str s)
{
	if (s.len > 0 && (s.data[0] == '/' || s.data[0] == '\\'))
		return true;
	/* A drive letter or a URL scheme: letters, digits, "+-." and then a colon. */
	for (size_t i = 0; i < s.len; i++) {
		char c = lower(s.data[i]);
		if (c == ':')
			return i > 0;
		bool scheme =
			(c >= 'a' && c <= 'z') || (i > 0 && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'));
		if (!scheme)
			return false;
	}
	return false;
}

bool hob_path_join(hob_arena *arena, hob_str dir, hob_str relative, hob_str *out, hob_error *err)
{
	if (relative.len == 0)
		return hob_fail(err, CORRUPT, "a file reference is empty");
	if (memchr(relative.data, 0, relative.len))
		return hob_fail(err, CORRUPT, "a file reference holds a NUL byte");
	if (is_absolute(relative))
		return hob_fail(err, OUTSIDE,
						"'%.*s' is not relative to the model; keep files beside the model and "
						"reference them by a relative path",
						HOB_FMT(relative));
	char *path = HOB_NEW(arena, char, dir.len + relative.len + 2);
	if (!path)
		return hob_fail_memory(err, arena, "a path");
	size_t len = 0;
	if (dir.len > 0) {
		memcpy(path, dir.data, dir.len);
		len = dir.len;
	}
	for (size_t i = 0; i <= relative.len;) {
		size_t end = i;
		while (end < relative.len && relative.data[end] != '/' && relative.data[end] != '\\')
			end++;
		hob_str part = hob_str_sub(relative, i, end);
		if (hob_str_equal(part, HOB_STR(".."))) {
			if (len == 0)
				return hob_fail(err, OUTSIDE, "'%.*s' leaves the watched root; move the file below the root",
								HOB_FMT(relative));
			len = hob_path_dir((hob_str){path, len}).len;
		} else if (part.len > 0 && !hob_str_equal(part, HOB_STR("."))) {
			if (len > 0)
				path[len++] = '/';
			memcpy(path + len, part.data, part.len);
			len += part.len;
		}
		i = end + 1;
	}
	if (len == 0)
		return hob_fail(err, CORRUPT, "'%.*s' names a folder, not a file", HOB_FMT(relative));
	path[len] = 0;
	*out = (hob_str){path, len};
	return true;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

bool hob_uri_decode(hob_arena *arena, hob_str uri, hob_str *out, hob_error *err)
{
	char *text = HOB_NEW(arena, char, uri.len + 1);
	if (!text)
		return hob_fail_memory(err, arena, "a URI");
	size_t len = 0;
	for (size_t i = 0; i < uri.len; i++) {
		char c = uri.data[i];
		if (c == '%') {
			bool room = i + 2 < uri.len;
			int high = room ? hex_digit(uri.data[i + 1]) : -1;
			int low = room ? hex_digit(uri.data[i + 2]) : -1;
			if (high < 0 || low < 0 || (high == 0 && low == 0))
				return hob_fail(err, CORRUPT, "bad percent escape at byte %zu of URI '%.*s'", i,
								HOB_FMT(uri));
			c = (char)(high * 16 + low);
			i += 2;
		}
		text[len++] = c;
	}
	*out = (hob_str){text, len};
	return true;
}

/* ---- parallel */

void hob_parallel_for(const hob_parallel *parallel, uint32_t count, hob_task task, void *context)
{
	if (parallel && parallel->threads > 1 && count > 1) {
		parallel->run(parallel->user, count, task, context);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		task(context, i, 0);
}
