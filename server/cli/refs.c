#include "cli.h"
#include "refs_edit.h"

#include "../../core/base/array.h"
#include "../../core/base/limits.h"
#include "../fs/beneath.h"
#include "../fs/transfer.h"
#include "../log/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* hob refs: after a move, finds references in other files to the former path, and on request writes the new
 * ones. */

typedef struct finder {
	int root;
	bool fix;
	cli_refs refs;
	hob_arena arena; /* owns the paths */
	hob_str *files;
	uint32_t count, room;
	hob_str path; /* the file being examined */
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

static bool is_there(void *user, hob_str path)
{
	const finder *f = user;
	srv_stat stat;
	return srv_stat_path(f->root, path, &stat);
}

static void print_edit(void *user, uint32_t line, hob_str was, hob_str now)
{
	const finder *f = user;
	say(stdout, "%.*s:%u: %.*s -> %.*s", HOB_FMT(f->path), line, HOB_FMT(was), HOB_FMT(now));
}

static void complain(finder *f, hob_str path, const char *why)
{
	say(stderr, "hob refs: '%.*s' %s", HOB_FMT(path), why);
	f->failed++;
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
	else if (S_ISREG(info.st_mode) && srv_refs_reads(path) && HOB_ROOM(f->files, f->room, f->count))
		f->files[f->count++] = path;
}

static void list(finder *f, hob_str folder)
{
	int fd = srv_open_beneath(f->root, folder.len > 0 ? folder.data : "", O_RDONLY | O_DIRECTORY, false);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		complain(f, folder, strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		list_entry(f, folder, fd, entry->d_name);
	closedir(dir);
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
	hob_buf text = {0}, out = {0};
	struct stat info;
	int fd = srv_open_beneath(f->root, path.data, O_RDONLY, false);
	bool open = fd >= 0 && fstat(fd, &info) == 0;
	uint8_t *bytes;
	f->path = path;
	if (!open) {
		complain(f, path, strerror(errno));
	} else if ((uint64_t)info.st_size > HOB_LIMIT_SOURCE_BYTES) {
		complain(f, path, "is too large");
	} else if (!(bytes = hob_buf_grow(&text, (size_t)info.st_size)) ||
			   !srv_read_all(fd, bytes, (size_t)info.st_size)) {
		complain(f, path, "cannot be read");
	} else {
		uint32_t edits = srv_refs_edit(&f->refs, path, hob_buf_str(&text), &out);
		if (edits == UINT32_MAX) {
			complain(f, path, "is not JSON");
		} else if (edits > 0) {
			f->edits += edits;
			f->edited++;
			if (f->fix && !save(f, path, info.st_mode, hob_buf_str(&out)))
				complain(f, path, strerror(errno));
		}
	}
	if (fd >= 0)
		close(fd);
	hob_buf_release(&text);
	hob_buf_release(&out);
}

/* ---- the command */

static bool exists(const finder *f, hob_str path)
{
	int fd = srv_open_beneath(f->root, path.data, O_PATH, false);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int find(finder *f, const char *from, const char *to)
{
	hob_error error;
	if (!hob_path_join(&f->arena, (hob_str){0}, hob_str_of(from), &f->refs.from, &error) ||
		!hob_path_join(&f->arena, (hob_str){0}, hob_str_of(to), &f->refs.to, &error)) {
		srv_cli_print_error("hob refs", &error);
		return EXIT_USAGE;
	}
	if (!exists(f, f->refs.to))
		return srv_cli_usage_error(&srv_cli_refs, "there is no '%s'; name what it is now, below the folder",
								   to);
	if (exists(f, f->refs.from))
		return srv_cli_usage_error(&srv_cli_refs, "'%s' is still there; name what it was before the move",
								   from);
	list(f, (hob_str){0});
	if (f->count > 0)
		qsort(f->files, f->count, sizeof *f->files, by_name);
	for (uint32_t i = 0; i < f->count; i++)
		look_at(f, f->files[i]);
	if (f->edits == 0)
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
		{"--fix", 0, CLI_FLAG, &f.fix, NULL, "write the new names; without it nothing is changed"}};
	int operands = srv_cli_parse(&srv_cli_refs, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return srv_cli_parse_exit(operands);
	if (operands != 3)
		return srv_cli_usage_error(&srv_cli_refs, "name a folder, and below it what moved: before and now");
	f.root = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f.root < 0)
		return srv_cli_usage_error(&srv_cli_refs, "the folder '%s' cannot be opened: %s", argv[1],
								   strerror(errno));
	hob_arena_init(&f.arena, SIZE_MAX);
	f.refs = (cli_refs){.is_there = is_there, .edit = print_edit, .user = &f, .arena = &f.arena};
	int code = find(&f, argv[2], argv[3]);
	hob_arena_release(&f.arena);
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
