#include "ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES_MAX = 256, GLOBS_OF_A_LINE = 4, LINE_BYTES = 512 };

typedef struct globs {
	hob_arena *arena;
	const char **items;
	uint32_t count;
} globs;

static bool add(globs *g, hob_str pattern)
{
	g->items[g->count] = hob_arena_str(g->arena, pattern).data;
	return g->items[g->count++] != NULL;
}

/* Adds the globs of a line. "name" matches itself and everything below it, here and in every folder; '**'
 * matches at least one folder. */
static bool add_line(globs *g, hob_str line)
{
	bool folder = line.data[line.len - 1] == '/', here = line.data[0] == '/';
	hob_str name = hob_str_sub(line, here, line.len - folder);
	here = here || hob_str_find(name, HOB_STR("/"), 0) != SIZE_MAX;
	hob_str inside = hob_arena_printf(g->arena, "%.*s/**", HOB_FMT(name));
	hob_str deeper = hob_arena_printf(g->arena, "**/%.*s", HOB_FMT(name));
	hob_str deeper_inside = hob_arena_printf(g->arena, "**/%.*s/**", HOB_FMT(name));
	if (!inside.data || !deeper.data || !deeper_inside.data)
		return false;
	return add(g, inside) && (folder || add(g, name)) &&
		   (here || (add(g, deeper_inside) && (folder || add(g, deeper))));
}

static bool read_lines(FILE *file, const char *path, globs *g, hob_error *err)
{
	char line[LINE_BYTES];
	for (uint32_t number = 1; fgets(line, sizeof line, file); number++) {
		size_t size = strlen(line);
		bool whole = size > 0 && (line[size - 1] == '\n' || feof(file));
		while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r' || line[size - 1] == ' '))
			size--;
		hob_str text = {line, size};
		if (!whole || number > LINES_MAX)
			return hob_fail(err, CONFIG, "%s:%u: %s", path, number,
							whole ? "more than 256 lines; shorter patterns cover more"
								  : "the line is too long");
		if (text.len == 0 || text.data[0] == '#')
			continue;
		if (text.data[0] == '!')
			return hob_fail(err, CONFIG,
							"%s:%u: '%.*s' cannot take anything back; leave it out, and make the pattern "
							"before it narrower",
							path, number, HOB_FMT(text));
		if (hob_str_equal(text, HOB_STR("/")) || !add_line(g, text))
			return hob_fail(err, CONFIG, "%s:%u: '%.*s' is not a pattern", path, number, HOB_FMT(text));
	}
	return !ferror(file) || hob_fail(err, IO, "'%s' cannot be read: %s", path, strerror(errno));
}

/* Opens .hobignore, without trust in its writers: a link could lead anywhere, and a pipe would block. NULL
 * without an error: there is none. */
static FILE *open_file(const char *path, hob_error *err)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	bool there = fd >= 0 && fstat(fd, &info) == 0;
	FILE *file = there && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
	if (file)
		return file;
	if ((there && !S_ISREG(info.st_mode)) || errno == ELOOP || errno == ENXIO)
		(void)!hob_fail(err, CONFIG, "'%s' is not a regular file; links and pipes are not read", path);
	else if (errno != ENOENT && errno != ENOTDIR)
		(void)!hob_fail(err, IO, "'%s' cannot be read: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return NULL;
}

bool srv_ignore_read(hob_arena *arena, const char *folder, const char *const *exclude,
					 const char *const **out, hob_error *err)
{
	char path[PATH_MAX + 16];
	snprintf(path, sizeof path, "%.4000s/.hobignore", folder);
	*out = exclude;
	hob_error refused = {0};
	FILE *file = open_file(path, &refused);
	if (!file && refused.code != HOB_ERR_OK)
		*err = refused;
	if (!file)
		return refused.code == HOB_ERR_OK;
	uint32_t before = 0;
	while (exclude && exclude[before])
		before++;
	globs g = {.arena = arena,
			   .items = HOB_NEW(arena, const char *, before + LINES_MAX * GLOBS_OF_A_LINE + 1)};
	bool ok = g.items || hob_fail(err, MEMORY, "no memory left for '%s'", path);
	for (; ok && g.count < before; g.count++)
		g.items[g.count] = exclude[g.count];
	ok = ok && read_lines(file, path, &g, err);
	fclose(file);
	if (ok)
		*out = g.items;
	return ok;
}
