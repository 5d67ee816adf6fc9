#include "cli.h"
#include "wrap.h"

#include "../config/config.h"

#include <stdio.h>

/* `hob help environment`. The daemon's variables are those of schema/config.def. */

typedef struct variable {
	const char *name, *what;
} variable;

static const variable of_commands[] = {
	{"HOB_URL", "the daemon that status, ls, why, get, watch and the others ask; --url wins"},
	{"HOB_TOKEN", "the token that they show it"},
	{"HOB_CACERT", "certificates that an https:// daemon may have, as --cacert"},
	{"HOB_CONFIG", "the file that stands for hob.json, as --config"},
	{"TMPDIR", "where inspect and replay work, instead of /tmp"},
	{"NO_COLOR", "no colours; CLICOLOR_FORCE=1: colours into files and pipes, too"},
	{"CI", "no colours, no keys, no line that is written again and again; TERM=dumb does the same"},
	{"COLUMNS", "how wide help and lists are"}};

static const variable of_children[] = {
	{"HOB_URL", "where the daemon serves: for the command of serve --once-ready"},
	{"HOB_PID", "its process id: for the same"},
	{"HOB_ASSET", "whose change it is: for the command of watch --exec"},
	{"HOB_STATE, HOB_KIND", "what it is now, and what happened"},
	{"HOB_ID, HOB_REV", "the asset's id, and the rev of the change"}};

static void print_heading(const char *text)
{
	printf("\n%s\n", text);
}

static void print_one(const char *name, const char *what, uint32_t width)
{
	enum { COLUMN = 26 };
	hob_buf text = {0};
	hob_buf_printf(&text, "  %-22s  ", name);
	srv_cli_wrap(&text, hob_str_of(what), COLUMN, COLUMN, width);
	printf("%.*s\n", HOB_FMT(hob_buf_str(&text)));
	hob_buf_release(&text);
}

static void print_all(const variable *variables, size_t count, uint32_t width)
{
	for (size_t i = 0; i < count; i++)
		print_one(variables[i].name, variables[i].what, width);
}

void srv_cli_print_environment(void)
{
	uint32_t width = srv_cli_width(1);
	printf("hob help environment - variables that hob reads and sets\n");
	print_heading("Every command");
	print_all(of_commands, HOB_COUNT_OF(of_commands), width);
	print_heading("hob serve, each in place of a key of hob.json; options win");
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++) {
		hob_buf what = {0};
		hob_buf_printf(&what, "%s: %s", srv_config_table[key].path, srv_config_table[key].doc);
		hob_buf_put(&what, "", 1);
		if (!what.failed)
			print_one(srv_config_table[key].environment, (const char *)what.data, width);
		hob_buf_release(&what);
	}
	print_heading("Set for programs that hob starts");
	print_all(of_children, HOB_COUNT_OF(of_children), width);
}
