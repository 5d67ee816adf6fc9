#include "refs_edit.h"

#include <cjson/cJSON.h>

enum { JSON_DEPTH = 256, NAME_MAX_BYTES = 4096 };

typedef struct scan {
	const cli_refs *refs;
	hob_str path, text;
	hob_buf *out;
	size_t copied; /* bytes of `text` copied to `out` */
	size_t counted;
	uint32_t line, edits;
} scan;

typedef enum refs_kind { KIND_NONE, KIND_GLTF, KIND_MERGE, KIND_OBJ, KIND_MTL } refs_kind;

static refs_kind kind_of(hob_str path)
{
	static const struct {
		hob_str extension;
		refs_kind kind;
	} kinds[] = {{HOB_STR("gltf"), KIND_GLTF},
				 {HOB_STR("merge"), KIND_MERGE},
				 {HOB_STR("obj"), KIND_OBJ},
				 {HOB_STR("mtl"), KIND_MTL}};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (hob_str_equal_nocase(hob_path_extension(path), kinds[i].extension))
			return kinds[i].kind;
	return KIND_NONE;
}

bool srv_refs_reads(hob_str path)
{
	return kind_of(path) != KIND_NONE;
}

/* ---- paths */

/* The path below `to` that corresponds to `path`, if that is `from` or below it; otherwise `path`. */
static hob_str moved(hob_arena *arena, hob_str path, hob_str from, hob_str to)
{
	bool below = hob_str_starts(path, from) && (path.len == from.len || path.data[from.len] == '/');
	return below ? hob_arena_printf(arena, "%.*s%.*s", HOB_FMT(to),
									HOB_FMT(hob_str_sub(path, from.len, path.len)))
				 : path;
}

static hob_str relative(hob_arena *arena, hob_str dir, hob_str path)
{
	size_t common = 0, i = 0;
	for (; i < dir.len && i < path.len && dir.data[i] == path.data[i]; i++)
		if (dir.data[i] == '/')
			common = i + 1;
	if (i == dir.len && i < path.len && path.data[i] == '/')
		common = i + 1;
	hob_str out = hob_str_sub(path, common, path.len);
	hob_str left = common > dir.len ? (hob_str){0} : hob_str_sub(dir, common, dir.len);
	for (size_t k = 0; k < left.len; k++)
		if (k == 0 || left.data[k] == '/')
			out = hob_arena_printf(arena, "../%.*s", HOB_FMT(out));
	return out;
}

/* The replacement for `name`; empty: it stays. */
static hob_str new_name(const scan *s, hob_str name)
{
	const cli_refs *r = s->refs;
	hob_str dir = hob_path_dir(s->path), now, then;
	hob_str dir_then = hob_path_dir(moved(r->arena, s->path, r->to, r->from));
	if (!hob_path_join(r->arena, dir_then, name, &then, NULL))
		return (hob_str){0};
	hob_str target = moved(r->arena, then, r->from, r->to);
	bool leads = hob_path_join(r->arena, dir, name, &now, NULL);
	if ((leads && (hob_str_equal(now, target) || r->is_there(r->user, now))) || !r->is_there(r->user, target))
		return (hob_str){0};
	return relative(r->arena, dir, target);
}

/* ---- the text */

/* The line of `at`, from 1. */
static uint32_t line_of(scan *s, size_t at)
{
	for (; s->counted < at; s->counted++)
		s->line += s->text.data[s->counted] == '\n';
	return s->line + 1;
}

static void replace(scan *s, size_t begin, size_t end, hob_str now)
{
	hob_buf_put_str(s->out, hob_str_sub(s->text, s->copied, begin));
	hob_buf_put_str(s->out, now);
	s->copied = end;
	s->edits++;
	s->refs->edit(s->refs->user, line_of(s, begin), hob_str_sub(s->text, begin, end), now);
}

/* ---- JSON */

static hob_str encode_uri(hob_arena *arena, hob_str path)
{
	hob_buf out = {0};
	for (size_t i = 0; i < path.len; i++) {
		uint8_t c = (uint8_t)path.data[i];
		if (c <= ' ' || strchr("%#?\"\\<>^`{|}:", c) || c == 127)
			hob_buf_printf(&out, "%%%02X", c);
		else
			hob_buf_put(&out, &c, 1);
	}
	hob_str made = hob_arena_str(arena, hob_buf_str(&out));
	hob_buf_release(&out);
	return made;
}

static void edit_string(scan *s, size_t begin, size_t end, bool uri)
{
	hob_arena *arena = s->refs->arena;
	hob_str token = hob_str_sub(s->text, begin, end), name;
	if (hob_str_starts(token, HOB_STR("\"data:")))
		return;
	cJSON *value = cJSON_ParseWithLength(token.data, token.len);
	name = cJSON_IsString(value) ? hob_arena_str(arena, hob_str_of(value->valuestring)) : (hob_str){0};
	cJSON_Delete(value);
	if (uri && !hob_uri_decode(arena, name, &name, NULL))
		return;
	hob_str now = new_name(s, name);
	if (now.len == 0)
		return;
	hob_buf text = {0};
	hob_buf_put_json(&text, uri ? encode_uri(arena, now) : now);
	replace(s, begin, end, hob_arena_str(arena, hob_buf_str(&text)));
	hob_buf_release(&text);
}

static size_t end_of_string(hob_str text, size_t at)
{
	for (at++; at < text.len && text.data[at] != '"'; at++)
		at += text.data[at] == '\\';
	return at + 1;
}

static size_t skip_blanks(hob_str text, size_t at)
{
	while (at < text.len && strchr(" \t\r\n", text.data[at]))
		at++;
	return at;
}

/* A glTF has file names as "uri"; a merge as items of a list or as "file". */
static bool names_file(refs_kind kind, bool item, hob_str key)
{
	if (kind == KIND_GLTF)
		return !item && hob_str_equal(key, HOB_STR("\"uri\""));
	return item || hob_str_equal(key, HOB_STR("\"file\""));
}

static bool edit_json(scan *s, refs_kind kind)
{
	hob_str key = {0};
	bool item = true; /* the value has no key */
	if (!hob_json_valid(s->text, JSON_DEPTH))
		return false;
	for (size_t at = 0, end; at < s->text.len; at = end) {
		end = at + 1;
		if (s->text.data[at] == ',' || s->text.data[at] == '[')
			item = true;
		if (s->text.data[at] != '"')
			continue;
		end = end_of_string(s->text, at);
		size_t next = skip_blanks(s->text, end);
		if (next < s->text.len && s->text.data[next] == ':') {
			key = hob_str_sub(s->text, at, end);
			item = false;
		} else if (names_file(kind, item, key)) {
			edit_string(s, at, end, kind == KIND_GLTF);
		}
	}
	return true;
}

/* ---- lines */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_statement(refs_kind kind, hob_str word)
{
	static const char *const maps[] = {"bump", "disp", "decal", "refl", "norm"};
	if (kind == KIND_OBJ)
		return hob_str_equal(word, HOB_STR("mtllib"));
	if (word.len > 4 && hob_str_equal_nocase(hob_str_sub(word, 0, 4), HOB_STR("map_")))
		return true;
	for (size_t i = 0; i < HOB_COUNT_OF(maps); i++)
		if (hob_str_equal_nocase(word, hob_str_of(maps[i])))
			return true;
	return false;
}

/* Replaces a name. Names may contain blanks, and options or other names may precede or follow: takes the
 * longest piece that can be a name. */
static size_t edit_name(scan *s, size_t begin, size_t line_end)
{
	size_t most = line_end - begin > NAME_MAX_BYTES ? begin + NAME_MAX_BYTES : line_end;
	for (size_t end = most; end > begin; end--) {
		bool ends = (end == line_end || is_blank(s->text.data[end])) && !is_blank(s->text.data[end - 1]);
		hob_str now = ends ? new_name(s, hob_str_sub(s->text, begin, end)) : (hob_str){0};
		if (now.len > 0) {
			replace(s, begin, end, now);
			return end;
		}
	}
	return begin;
}

static void edit_line(scan *s, refs_kind kind, size_t begin, size_t end)
{
	while (begin < end && is_blank(s->text.data[begin]))
		begin++;
	while (end > begin && is_blank(s->text.data[end - 1]))
		end--;
	size_t at = begin;
	while (at < end && !is_blank(s->text.data[at]))
		at++;
	if (!is_statement(kind, hob_str_sub(s->text, begin, at)))
		return;
	while (at < end) {
		while (at < end && is_blank(s->text.data[at]))
			at++;
		at = edit_name(s, at, end);
		while (at < end && !is_blank(s->text.data[at]))
			at++;
	}
}

static void edit_lines(scan *s, refs_kind kind)
{
	for (size_t at = 0; at < s->text.len;) {
		const char *newline = memchr(s->text.data + at, '\n', s->text.len - at);
		size_t end = newline ? (size_t)(newline - s->text.data) : s->text.len;
		edit_line(s, kind, at, end);
		at = end + 1;
	}
}

uint32_t srv_refs_edit(const cli_refs *refs, hob_str path, hob_str text, hob_buf *out)
{
	scan s = {.refs = refs, .path = path, .text = text, .out = out};
	refs_kind kind = kind_of(path);
	if (kind == KIND_OBJ || kind == KIND_MTL)
		edit_lines(&s, kind);
	else if (kind != KIND_NONE && !edit_json(&s, kind))
		return UINT32_MAX;
	hob_buf_put_str(out, hob_str_sub(text, s.copied, text.len));
	return out->failed ? UINT32_MAX : s.edits;
}
