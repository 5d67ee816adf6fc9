#include "base.h"

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
		char c = s.data[i], letter = (char)(c | 32);
		if (c == ':')
			return i > 0;
		bool scheme = (letter >= 'a' && letter <= 'z') ||
					  (i > 0 && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'));
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

bool hob_io_join(const hob_io *io, hob_arena *arena, hob_str dir, hob_str relative, hob_str *out,
				 hob_error *err)
{
	hob_error own = {0};
	hob_error *why = err ? err : &own;
	why->code = HOB_ERR_OK;
	if (hob_path_join(arena, dir, relative, out, why))
		return true;
	if (why->code == HOB_ERR_OUTSIDE && io->refused)
		io->refused(io->user, relative, is_absolute(relative));
	return false;
}

static int hex_digit(char c)
{
	char letter = (char)(c | 32);
	return c >= '0' && c <= '9' ? c - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
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
			if (high == 0 && low == 0)
				return hob_fail(err, CORRUPT, "%%00 at byte %zu of URI '%.*s'", i, HOB_FMT(uri));
			if (high >= 0 && low >= 0) {
				c = (char)(high * 16 + low);
				i += 2;
			}
		}
		text[len++] = c;
	}
	*out = (hob_str){text, len};
	return true;
}
