/* hob: cook 3D models into runtime-ready blobs and serve them. This file only finds the subcommand. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const cli_command *const commands[] = {&cli_serve,  &cli_cook,  &cli_status,		&cli_ls,   &cli_why,
											  &cli_get,	   &cli_watch, &cli_inspect,	&cli_diff, &cli_token,
											  &cli_config, &cli_init,  &cli_healthcheck};

static void print_overview(FILE *out)
{
	fputs("hob - cook 3D models into runtime-ready blobs and serve them\n"
		  "\n"
		  "  hob serve art/                 watch art/, cook on save, serve on http://127.0.0.1:7780\n"
		  "  hob cook art/ -o build/        cook once and exit (CI)\n"
		  "\n"
		  "Commands\n",
		  out);
	for (size_t i = 0; i < HOB_COUNT_OF(commands); i++) {
		char left[48];
		snprintf(left, sizeof left, "%s %s", commands[i]->name, commands[i]->arguments);
		fprintf(out, "  %-24s %s\n", left, commands[i]->summary);
	}
	fputs("\n"
		  "Run 'hob help COMMAND' for details. Exit codes: 0 ok, 1 assets failed, 2 usage or configuration,\n"
		  "3 daemon not reachable, 4 over budget, 5 internal error, 130 interrupted.\n",
		  out);
}

static const cli_command *find_command(const char *name)
{
	for (size_t i = 0; i < HOB_COUNT_OF(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
		printf("hob %s\n", HOB_VERSION);
		return EXIT_GOOD;
	}
	bool asks_help = strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
	if (argc < 2 || (asks_help && argc == 2)) {
		print_overview(argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : EXIT_GOOD;
	}
	const cli_command *command = find_command(asks_help ? argv[2] : name);
	if (!command) {
		fprintf(stderr, "hob: there is no command '%s'. Run 'hob help' for a list.\n",
				asks_help ? argv[2] : name);
		return EXIT_USAGE;
	}
	char help[] = "--help";
	char *help_argv[] = {argv[0], help, NULL};
	return asks_help ? command->run(2, help_argv) : command->run(argc - 1, argv + 1);
}
