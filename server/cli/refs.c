#include "cli.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../../core/base/limits.h"
#include "../fs/beneath.h"
#include "../fs/fd.h"
#include "../fs/folder.h"
#include "../fs/transfer.h"
#include "../log/log.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* hob refs: after a move, finds references in other files to the former path, and on request writes the new
 * ones: names in glTF (`uri`), OBJ (`mtllib`), MTL (maps) and merged scenes.
 *
 * References to what has moved, and references in it if it is such a text, are changed so that they lead to
 * the same file as before. A reference that still leads to a file is not changed: if a new file has the old
 * name, that is the file meant now. All other bytes stay as they are. */

typedef struct finder {
	int root;
	bool fix, json;
	hob_buf found;	  /* --json */
	hob_str from, to; /* the move, as hob_path_join writes paths; both a file or both a folder */
	hob_arena arena;  /* owns the paths */
	hob_str *files;
	uint32_t count, room;
	uint32_t edits, edited, failed;
} finder;

/* Prints a line; names from foreign files are made printable. */
static void HOB_PRINTF(2, 3) say(FILE *to, const char *fmt, ...)
{
	char line[8192];
	va_list args;
	va_start(args, fmt);
	vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	srv_plain(line);
	fprintf(to, "%s\n", line);
}

static bool is_there(const finder *f, hob_str path)
{
	srv_stat stat;
	return srv_stat_path(f->root, path, &stat);
}

static void complain(finder *f, hob_str path, const char *why)
{
	say(stderr, "hob refs: '%.*s' %s", HOB_FMT(path), why);
	f->failed++;
}

/* ---- the names in one text */

enum { JSON_DEPTH = 256, NAME_MAX_BYTES = 4096 };

typedef struct scan {
	finder *f;
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
	finder *f = s->f;
	hob_str dir = hob_path_dir(s->path), now, then;
	hob_str dir_then = hob_path_dir(moved(&f->arena, s->path, f->to, f->from));
	if (!hob_path_join(&f->arena, dir_then, name, &then, NULL))
		return (hob_str){0};
	hob_str target = moved(&f->arena, then, f->from, f->to);
	bool leads = hob_path_join(&f->arena, dir, name, &now, NULL);
	if ((leads && (hob_str_equal(now, target) || is_there(f, now))) || !is_there(f, target))
		return (hob_str){0};
	return relative(&f->arena, dir, target);
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
	hob_str before = hob_str_sub(s->text, begin, end);
	char as = kind_of(s->path) <= KIND_MERGE ? 'r' : 's'; /* JSON already, or a text */
	if (s->f->json)
		hob_json_object(&s->f->found, HOB_JSON("file", s->path), HOB_JSON("line", line_of(s, begin)),
						hob_json_of("from", as, 0, before), hob_json_of("to", as, 0, now));
	else
		say(stdout, "%.*s:%u: %.*s -> %.*s", HOB_FMT(s->path), line_of(s, begin), HOB_FMT(before),
			HOB_FMT(now));
}

/* ---- JSON */

static hob_str encode_uri(hob_arena *arena, hob_str path)
{
	hob_own_buf out = {0};
	for (size_t i = 0; i < path.len; i++) {
		uint8_t c = (uint8_t)path.data[i];
		if (c <= ' ' || strchr("%#?\"\\<>^`{|}:", c) || c == 127)
			hob_buf_printf(&out, "%%%02X", c);
		else
			hob_buf_put(&out, &c, 1);
	}
	return hob_arena_str(arena, hob_buf_str(&out));
}

static void edit_string(scan *s, size_t begin, size_t end, bool uri)
{
	hob_arena *arena = &s->f->arena;
	hob_str token = hob_str_sub(s->text, begin, end), name;
	if (hob_str_starts(token, HOB_STR("\"data:")))
		return;
	hob_own_json *value = cJSON_ParseWithLength(token.data, token.len);
	name = cJSON_IsString(value) ? hob_arena_str(arena, hob_str_of(value->valuestring)) : (hob_str){0};
	if (uri && !hob_uri_decode(arena, name, &name, NULL))
		return;
	hob_str now = new_name(s, name);
	if (now.len == 0)
		return;
	hob_own_buf text = {0};
	hob_buf_put_json(&text, uri ? encode_uri(arena, now) : now);
	replace(s, begin, end, hob_arena_str(arena, hob_buf_str(&text)));
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

/* Appends the edited `text` of the file `path` to `out`. Returns the number of changes; UINT32_MAX: not JSON
 * where it should be, or no memory. */
static uint32_t edit(finder *f, hob_str path, hob_str text, hob_buf *out)
{
	scan s = {.f = f, .path = path, .text = text, .out = out};
	refs_kind kind = kind_of(path);
	if (kind == KIND_OBJ || kind == KIND_MTL)
		edit_lines(&s, kind);
	else if (kind != KIND_NONE && !edit_json(&s, kind))
		return UINT32_MAX;
	hob_buf_put_str(out, hob_str_sub(text, s.copied, text.len));
	return out->failed ? UINT32_MAX : s.edits;
}

/* ---- the files of the folder: as in a watched folder, without hidden files and links */

static void list(finder *f, hob_str folder);

static void list_entry(finder *f, hob_str folder, int fd, const char *name)
{
	struct stat info;
	if (name[0] == '.' || fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	hob_str path = folder.len > 0 ? hob_arena_printf(&f->arena, "%.*s/%s", HOB_FMT(folder), name)
								  : hob_arena_str(&f->arena, hob_str_of(name));
	if (S_ISDIR(info.st_mode))
		list(f, path);
	else if (S_ISREG(info.st_mode) && kind_of(path) != KIND_NONE && HOB_ROOM(f->files, f->room, f->count))
		f->files[f->count++] = path;
}

static void list(finder *f, hob_str folder)
{
	int fd = srv_open_beneath(f->root, folder.len > 0 ? folder.data : "", O_RDONLY | O_DIRECTORY, false);
	srv_own_folder *dir = srv_folder_of(fd);
	if (!dir)
		complain(f, folder, strerror(errno));
	for (struct dirent *entry; (entry = srv_folder_next(dir));)
		list_entry(f, folder, fd, entry->d_name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const hob_str *)a)->data, ((const hob_str *)b)->data);
}

/* ---- one file */

/* Writes a temp file and renames it, so that readers see either the old text or the new one. */
static bool save(finder *f, hob_str path, mode_t mode, hob_str text)
{
	hob_str name = hob_path_name(path), dir = hob_arena_str(&f->arena, hob_path_dir(path));
	hob_str beside = hob_arena_printf(&f->arena, ".%.*s.hob-refs", HOB_FMT(name));
	int at = srv_open_beneath(f->root, dir.len > 0 ? dir.data : "", O_RDONLY | O_DIRECTORY, false);
	int fd =
		at < 0 ? -1 : openat(at, beside.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good = fd >= 0 && srv_write_all(fd, text.data, text.len) && fsync(fd) == 0 &&
				fchmod(fd, mode & 07777) == 0 && renameat(at, beside.data, at, name.data) == 0;
	int code = errno;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && !good)
		unlinkat(at, beside.data, 0);
	if (at >= 0)
		close(at);
	errno = code;
	return good;
}

static void look_at(finder *f, hob_str path)
{
	hob_own_buf text = {0}, out = {0};
	struct stat info;
	srv_own_fd fd = srv_open_beneath(f->root, path.data, O_RDONLY, false);
	bool open = fd >= 0 && fstat(fd, &info) == 0;
	uint8_t *bytes;
	if (!open) {
		complain(f, path, strerror(errno));
	} else if ((uint64_t)info.st_size > HOB_LIMIT_SOURCE_BYTES) {
		complain(f, path, "is too large");
	} else if (!(bytes = hob_buf_grow(&text, (size_t)info.st_size)) ||
			   !srv_read_all(fd, bytes, (size_t)info.st_size)) {
		complain(f, path, "cannot be read");
	} else {
		uint32_t edits = edit(f, path, hob_buf_str(&text), &out);
		if (edits == UINT32_MAX) {
			complain(f, path, "is not JSON");
		} else if (edits > 0) {
			f->edits += edits;
			f->edited++;
			if (f->fix && !save(f, path, info.st_mode, hob_buf_str(&out)))
				complain(f, path, strerror(errno));
		}
	}
}

/* ---- the command */

static bool exists(const finder *f, hob_str path)
{
	srv_own_fd fd = srv_open_beneath(f->root, path.data, O_PATH, false);
	return fd >= 0;
}

static int find(finder *f, const char *from, const char *to)
{
	hob_error error;
	if (!hob_path_join(&f->arena, (hob_str){0}, hob_str_of(from), &f->from, &error) ||
		!hob_path_join(&f->arena, (hob_str){0}, hob_str_of(to), &f->to, &error))
		return srv_cli_fail("hob refs", &error, EXIT_USAGE);
	if (!exists(f, f->to))
		return srv_cli_usage_error(&srv_cli_refs, "there is no '%s'; name what it is now, below the folder",
								   to);
	if (exists(f, f->from))
		return srv_cli_usage_error(&srv_cli_refs, "'%s' is still there; name what it was before the move",
								   from);
	list(f, (hob_str){0});
	if (f->count > 0)
		qsort(f->files, f->count, sizeof *f->files, by_name);
	for (uint32_t i = 0; i < f->count; i++)
		look_at(f, f->files[i]);
	if (f->json)
		printf("{\"references\":[%.*s],\"files\":%u,\"looked_at\":%u,\"fixed\":%s}\n",
			   HOB_FMT(hob_buf_str(&f->found)), f->edited, f->count, f->fix ? "true" : "false");
	else if (f->edits == 0)
		printf("no file names '%s' in vain (%u looked at)\n", from, f->count);
	else
		printf("%u reference%s in %u file%s%s\n", f->edits, HOB_PLURAL(f->edits), f->edited,
			   HOB_PLURAL(f->edited), f->fix ? " changed" : "; --fix changes them");
	return f->failed > 0 ? EXIT_ASSETS_FAILED : EXIT_GOOD;
}

static int run_refs(int argc, char **argv)
{
	finder f = {.root = -1};
	cli_option options[] = {
		{"--fix", 0, CLI_FLAG, &f.fix, NULL, "write the new names; without it nothing is changed"},
		{"--json", 0, CLI_FLAG, &f.json, NULL, "the references as JSON"}};
	int operands = srv_cli_parse(&srv_cli_refs, options, HOB_COUNT_OF(options), argc, argv);
	if (operands != 3)
		return srv_cli_usage_error(&srv_cli_refs, "name a folder, and below it what moved: before and now");
	f.root = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f.root < 0)
		return srv_cli_usage_error(&srv_cli_refs, "the folder '%s' cannot be opened: %s", argv[1],
								   strerror(errno));
	hob_arena_init(&f.arena, SIZE_MAX);
	int code = find(&f, argv[2], argv[3]);
	hob_arena_release(&f.arena);
	hob_buf_release(&f.found);
	free(f.files);
	close(f.root);
	return code;
}

const cli_command srv_cli_refs = {"refs", "DIR OLD NEW", "find references that a move has broken",
								  "OLD is a file or folder below DIR that was renamed or moved to NEW. Lists "
								  "the references in glTF, OBJ, MTL "
								  "and .merge files below DIR that pointed to OLD and are now broken, and "
								  "those of NEW itself that the move "
								  "broke, each with the path that mends it. --fix writes these paths and "
								  "changes no other byte. References in "
								  ".glb and other formats are not checked. Needs no daemon. Exit code 1 if a "
								  "file cannot be read or written.\n"
								  "\n"
								  "Examples:\n"
								  "  hob refs art/ tex/wood.png tex/oak.png\n"
								  "  hob refs art/ props sets/props --fix\n",
								  run_refs};
