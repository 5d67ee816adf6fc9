/* hob: cooks 3D models into runtime-ready blobs and serves them. This file only selects the subcommand. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *heading; /* heading above this command and the following ones; NULL: as before */
	const cli_command *command;
} table[] = {{"Everyday", &srv_cli_serve},	{NULL, &srv_cli_cook},	   {NULL, &srv_cli_check},
			 {NULL, &srv_cli_status},		{NULL, &srv_cli_ls},	   {NULL, &srv_cli_why},
			 {NULL, &srv_cli_log},			{NULL, &srv_cli_get},	   {NULL, &srv_cli_set},
			 {NULL, &srv_cli_watch},		{NULL, &srv_cli_sync},	   {NULL, &srv_cli_recook},
			 {NULL, &srv_cli_warm},			{NULL, &srv_cli_history},  {NULL, &srv_cli_bisect},
			 {NULL, &srv_cli_snapshot},		{NULL, &srv_cli_open},	   {NULL, &srv_cli_stop},
			 {"Inspect", &srv_cli_inspect}, {NULL, &srv_cli_diff},	   {NULL, &srv_cli_formats},
			 {NULL, &srv_cli_export},		{NULL, &srv_cli_bundle},   {NULL, &srv_cli_refs},
			 {NULL, &srv_cli_docs},			{"Maintain", &srv_cli_gc}, {NULL, &srv_cli_verify},
			 {NULL, &srv_cli_farm},			{NULL, &srv_cli_doctor},   {"Set up", &srv_cli_init},
			 {NULL, &srv_cli_config},		{NULL, &srv_cli_token},	   {NULL, &srv_cli_completion}};

static void print_overview(FILE *out)
{
	fputs("hob - cook 3D models into runtime-ready blobs and serve them\n"
		  "\n"
		  "  hob serve art/           watch art/, cook on save, serve on port 7780\n"
		  "  hob cook art/ -o build/  cook once and exit (CI)\n"
		  "  hob doctor               check this machine and its configuration\n",
		  out);
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++) {
		if (table[i].heading)
			fprintf(out, "\n%s\n", table[i].heading);
		fprintf(out, "  %-12s %s\n", table[i].command->name, table[i].command->summary);
	}
	fputs("\n"
		  "Run 'hob help COMMAND' for details, 'hob help environment' for variables. Exit\n"
		  "codes: 0 ok, 1 assets failed, 2 usage or configuration, 3 daemon not reachable,\n"
		  "4 a rule or budget is broken, 5 internal error, 6 not yet (hob warm),\n"
		  "130 interrupted.\n",
		  out);
}

static const cli_command *find_command(const char *name)
{
	if (strcmp(name, "healthcheck") == 0) /* its name in 0.2.0 */
		return &srv_cli_status;
	if (strcmp(name, "replay") == 0) /* likewise */
		return &srv_cli_bundle;
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++)
		if (strcmp(table[i].command->name, name) == 0)
			return table[i].command;
	return NULL;
}

static int fail_unknown(const char *name)
{
	static const char *const others[][2] = {
		{"list", "ls"}, {"dir", "ls"}, {"build", "cook"}, {"start", "serve"}};
	const char *names[HOB_COUNT_OF(table)];
	if (name[0] == '-') {
		fprintf(stderr, "hob: there is no option '%s' before a command; there are --help and --version.\n",
				name);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++)
		names[i] = table[i].command->name;
	const char *best = srv_cli_nearest(hob_str_of(name), names, HOB_COUNT_OF(names));
	if (best && 2 * hob_str_distance(hob_str_of(name), hob_str_of(best)) >= strlen(name))
		best = NULL;
	for (size_t i = 0; i < HOB_COUNT_OF(others); i++)
		if (strcmp(name, others[i][0]) == 0)
			best = others[i][1];
	fprintf(stderr, "hob: there is no command '%s'%s%s%s Run 'hob help' for a list.\n", name,
			best ? "; did you mean '" : "", best ? best : "", best ? "'?" : ".");
	return EXIT_USAGE;
}

static int complete(int argc, char **argv)
{
	const cli_command *commands[HOB_COUNT_OF(table)];
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++)
		commands[i] = table[i].command;
	return srv_cli_complete(commands, HOB_COUNT_OF(commands), argc, argv);
}

/* Opens closed standard streams: otherwise the first opened file would get their descriptor and output. */
static void hold_streams(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int run(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	if (strcmp(name, "__complete") == 0)
		return complete(argc - 2, argv + 2);
	bool asks_version = strcmp(name, "--version") == 0 || strcmp(name, "version") == 0 ||
						strcmp(name, "-V") == 0 || strcmp(name, "-v") == 0;
	bool asks_help = strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
	bool wants_json = asks_version && argc > 2 && strcmp(argv[2], "--json") == 0;
	if (argc > 3 ? asks_version || asks_help : asks_version && argc > 2 && !wants_json) {
		fprintf(stderr, "hob: '%s' is one argument too many\n", argv[argc > 3 ? 3 : 2]);
		return EXIT_USAGE;
	}
	if (asks_version)
		return srv_cli_print_version(wants_json);
	if (argc < 2 || (asks_help && argc == 2)) {
		print_overview(argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : EXIT_GOOD;
	}
	if (asks_help && strcmp(argv[2], "environment") == 0) {
		srv_cli_print_environment();
		return EXIT_GOOD;
	}
	const cli_command *command = find_command(asks_help ? argv[2] : name);
	if (!command)
		return fail_unknown(asks_help ? argv[2] : name);
	char help[] = "--help";
	char *help_argv[] = {argv[0], help, NULL};
	return asks_help ? command->run(2, help_argv) : command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	struct stat info;
	srv_cli_no_stdout = fstat(STDOUT_FILENO, &info) != 0;
	hold_streams();
	return srv_cli_finish(run(argc, argv));
}
