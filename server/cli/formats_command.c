#include "cli.h"

#include "../../core/base/json_write.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *kind, *endings, *reader, *name, *kept, *lost, *tested;
} rows[] = {
#define READ_FORMAT(kind, endings, reader, name, kept, lost, tested)                                         \
	{kind, endings, reader, name, kept, lost, tested},
#include "../../schema/read_formats.def"
#undef READ_FORMAT
};

static void put_json(hob_buf *out, size_t i)
{
	hob_buf_put_str(out, out->size ? HOB_STR(",\n ") : HOB_STR("["));
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("kind", rows[i].kind),
				 HOB_JSON_OPEN("endings", '['));
	for (const char *at = rows[i].endings; *at; at += strspn(at, " ")) {
		size_t size = strcspn(at, " ");
		hob_json_str(out, (hob_str){at, size});
		at += size;
	}
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON("reader", rows[i].reader), HOB_JSON("name", rows[i].name),
				 HOB_JSON("kept", rows[i].kept), HOB_JSON("lost", rows[i].lost),
				 HOB_JSON("tested_with", rows[i].tested), HOB_JSON_CLOSE('}'));
}

static bool has_ending(const char *endings, const char *ending)
{
	size_t size = strlen(ending);
	for (const char *at = endings; *at; at += strspn(at, " ")) {
		size_t own = strcspn(at, " ");
		if (own == size && hob_str_equal_nocase((hob_str){at, own}, (hob_str){ending, size}))
			return true;
		at += own;
	}
	return false;
}

static bool is_asked(size_t i, const char *asked)
{
	if (!asked)
		return true;
	const char *dot = strrchr(asked, '.');
	const char *word = dot ? dot + 1 : asked;
	return strcmp(rows[i].kind, word) == 0 || has_ending(rows[i].endings, word);
}

static void print_row(size_t i)
{
	enum { COLUMN = 11 };
	printf("%s (%s)\n", rows[i].name, rows[i].kind);
	srv_cli_print_field(COLUMN, rows[i].endings, "  endings  ");
	srv_cli_print_field(COLUMN, rows[i].reader, "  reader   ");
	srv_cli_print_field(COLUMN, rows[i].kept, "  kept     ");
	srv_cli_print_field(COLUMN, rows[i].lost[0] ? rows[i].lost : "nothing known", "  lost     ");
	srv_cli_print_field(COLUMN, rows[i].tested, "  tested   with files of ");
}

static int run_formats(int argc, char **argv)
{
	bool json = false;
	cli_option options[] = {{"--json", 0, CLI_FLAG, &json, NULL, "as JSON"}};
	int operands = srv_cli_parse(&srv_cli_formats, options, HOB_COUNT_OF(options), argc, argv);
	const char *asked = operands > 0 ? argv[1] : NULL;
	hob_own_buf text = {0};
	size_t found = 0;
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		if (!is_asked(i, asked))
			continue;
		if (json)
			put_json(&text, i);
		else
			print_row(i);
		found++;
	}
	if (json && found > 0)
		printf("%.*s]\n", HOB_FMT(hob_buf_str(&text)));
	if (found > 0)
		return EXIT_GOOD;
	return srv_cli_usage_error(
		&srv_cli_formats,
		"no reader knows '%s'; 'hob formats' lists all. Export glTF, or save the picture as PNG", asked);
}

const cli_command srv_cli_formats = {
	"formats", "[WORD]", "list the model and picture formats that Hob reads",
	"Shows for each format its reader, what is kept, what is lost (a file that has it gets a note), and "
	"whose files test it. WORD is an extension (fbx, .exr), a file name, 'model' or 'picture'; without it, "
	"all formats are listed. 'hob --version --json' shows which optional libraries this build lacks.\n"
	"\n"
	"Examples:\n"
	"  hob formats exr\n"
	"  hob formats model\n"
	"  hob formats --json | jq '.[] | select(.kind == \"picture\").endings'\n",
	run_formats};
