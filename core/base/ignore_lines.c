#include "ignore_lines.h"

enum { LINES_MAX = 256, GLOBS_OF_A_LINE = 4, LINE_BYTES = 511 };

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

static bool read_line(globs *g, hob_str line, uint32_t number, const char *path, hob_error *err)
{
	while (line.len > 0 && strchr("\r ", line.data[line.len - 1]))
		line.len--;
	if (line.len > LINE_BYTES || number > LINES_MAX)
		return hob_fail(err, CONFIG, "%s:%u: %s", path, number,
						number > LINES_MAX ? "more than 256 lines; shorter patterns cover more"
										   : "the line is too long");
	if (line.len == 0 || line.data[0] == '#')
		return true;
	if (line.data[0] == '!')
		return hob_fail(err, CONFIG,
						"%s:%u: '%.*s' cannot take anything back; leave it out, and make the pattern "
						"before it narrower",
						path, number, HOB_FMT(line));
	return (!hob_str_equal(line, HOB_STR("/")) && add_line(g, line)) ||
		   hob_fail(err, CONFIG, "%s:%u: '%.*s' is not a pattern", path, number, HOB_FMT(line));
}

const char *const *hob_ignore_lines(hob_arena *arena, hob_str text, const char *path,
									const char *const *exclude, hob_error *err)
{
	uint32_t before = 0, number = 1;
	while (exclude && exclude[before])
		before++;
	globs g = {.arena = arena,
			   .items = HOB_NEW(arena, const char *, before + LINES_MAX * GLOBS_OF_A_LINE + 1)};
	bool ok = g.items || hob_fail(err, MEMORY, "no memory left for '%s'", path);
	for (; ok && g.count < before; g.count++)
		g.items[g.count] = exclude[g.count];
	for (; ok && text.len > 0; number++) {
		size_t end = hob_str_find(text, HOB_STR("\n"), 0);
		ok = read_line(&g, hob_str_sub(text, 0, end), number, path, err);
		text = end == SIZE_MAX ? (hob_str){0} : hob_str_sub(text, end + 1, text.len);
	}
	return ok ? g.items : NULL;
}
