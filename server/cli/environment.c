#include "cli.h"

#include "../config/config.h"

#include <stdio.h>

/* `hob help environment`. The daemon's variables are those of schema/config.def. */

typedef struct variable {
	const char *name, *what;
} variable;

static const variable of_commands[] = {
	{"HOB_URL", "address of the daemon, instead of this folder's; --url overrides it"},
	{"HOB_TOKEN", "access token for that daemon"},
	{"HOB_CACERT", "certificates to trust for https://, like --cacert"},
	{"HOB_CONFIG", "configuration file to use instead of hob.json, like --config"},
	{"HOB_UPSTREAM_TOKEN", "access token for the upstream of serve and cook"},
	{"TMPDIR", "folder for temporary files of inspect and bundle replay, instead of /tmp"},
	{"NO_COLOR", "no colours; CLICOLOR_FORCE=1: colours in files and pipes, too"},
	{"CI", "no colours, no keys, no line that updates in place; TERM=dumb does the same"},
	{"COLUMNS", "width of help and lists"}};

static const variable of_children[] = {
	{"HOB_ASSET", "the changed asset, for the command of watch --exec"},
	{"HOB_STANDING, HOB_KIND",
	 "its new state, and the kind of change; HOB_STATE: the state in the words of 0.2"},
	{"HOB_ID, HOB_REV", "the asset's id, and the revision of the change"}};

static void print_heading(const char *text)
{
	printf("\n%s\n", text);
}

static void print_one(const char *name, const char *what)
{
	srv_cli_print_field(26, what, "  %-22s  ", name);
}

static void print_all(const variable *variables, size_t count)
{
	for (size_t i = 0; i < count; i++)
		print_one(variables[i].name, variables[i].what);
}

void srv_cli_print_environment(void)
{
	printf("hob help environment - variables that hob reads and sets\n");
	print_heading("Every command");
	print_all(of_commands, HOB_COUNT_OF(of_commands));
	print_heading("hob serve, each in place of a key of hob.json; options win");
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++) {
		hob_own_buf what = {0};
		hob_buf_printf(&what, "%s: %s", srv_config_table[key].path, srv_config_table[key].doc);
		print_one(srv_config_table[key].environment, srv_cli_ended(&what));
	}
	print_heading("Set for programs that hob starts");
	print_all(of_children, HOB_COUNT_OF(of_children));
}
