/* cli.h - what the subcommands share: the table of commands, options, exit codes.
 *
 * Human text goes to stdout, progress and logs to stderr. Every command has --help; queries have --json. */
#ifndef SRV_CLI_H
#define SRV_CLI_H

#include "../../core/base/base.h"

enum {
	EXIT_GOOD = 0,
	EXIT_ASSETS_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_UNREACHABLE = 3,
	EXIT_OVER_BUDGET = 4,
	EXIT_INTERNAL = 5,
	EXIT_INTERRUPTED = 130
};

typedef struct cli_command {
	const char *name;
	const char *arguments; /* "ASSET [OUTPUT]": one word for each that it takes; "..." for any number */
	const char *summary;
	const char *help;				   /* shown by `hob help NAME`: examples first */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} cli_command;

extern const cli_command cli_serve, cli_cook, cli_status, cli_ls, cli_get, cli_watch, cli_why, cli_log,
	cli_inspect, cli_diff, cli_export, cli_token, cli_healthcheck, cli_config, cli_init, cli_completion,
	cli_set, cli_bundle, cli_replay, cli_gc, cli_verify, cli_doctor;

/* ---- options: one table a command ---------------------------------------------------------------------- */

typedef enum cli_kind { CLI_FLAG, CLI_TEXT, CLI_NUMBER, CLI_LIST } cli_kind;

/* Of an option that may be given again. NULL-terminated. */
enum { CLI_LIST_MAX = 32 };
typedef struct cli_list {
	const char *texts[CLI_LIST_MAX + 1];
	uint32_t count;
} cli_list;

typedef struct cli_option {
	const char *name; /* "--cache" */
	char letter;	  /* 'o', or 0 */
	cli_kind kind;
	void *value;			 /* bool *, const char **, uint32_t *, cli_list * */
	const char *placeholder; /* "DIR", NULL for flags */
	const char *doc;
} cli_option;

/* Parses argv[1..]; "--" ends options; "--name=value" works. Operands are moved to the front of argv from index 1; their
 * number is returned. On --help prints the command's page and returns -1; on a wrong option prints what is wrong with a
 * suggestion and returns -2, as on operands beyond those that command->arguments names. */
int cli_parse(const cli_command *command, const cli_option *options, size_t option_count, int argc,
			  char **argv);
/* From now on cli_parse gives the options of its command to `take` and returns -1, so that run() does nothing. */
void cli_take_options(void (*take)(const cli_option *options, size_t count));
/* What to return from run() for a negative result of cli_parse. */
int cli_parse_exit(int parsed);
/* "hob cook: ..." on stderr; returns EXIT_USAGE. */
int cli_usage_error(const cli_command *command, const char *fmt, ...) HOB_PRINTF(2, 3);
/* The one of `words` that somebody who typed `word` may have meant; NULL: none is near. */
const char *cli_nearest(hob_str word, const char *const *words, size_t count);
/* Prints an error with its remedy on stderr. */
void cli_print_error(const char *who, const hob_error *error);

/* `hob --version`; json: with the numbers of what else has a version. */
int cli_print_version(bool json);
/* Where the daemon listens: --url, else HOB_URL, else http://127.0.0.1:7780. */
const char *cli_default_url(void);
void cli_print_environment(void); /* `hob help environment` */

#endif
