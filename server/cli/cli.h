/* cli.h - shared by the subcommands: the table of commands, options, exit codes.
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
	EXIT_NOT_YET = 6, /* hob warm: something of the commit is not cooked yet */
	EXIT_INTERRUPTED = 130
};

typedef struct cli_command {
	const char *name;
	const char *arguments; /* "ASSET [OUTPUT]": one word for each operand; "..." for any number */
	const char *summary;
	const char *help;				   /* shown by `hob help NAME`: examples first */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} cli_command;

extern const cli_command srv_cli_serve, srv_cli_cook, srv_cli_status, srv_cli_ls, srv_cli_get, srv_cli_watch,
	srv_cli_why, srv_cli_log, srv_cli_inspect, srv_cli_diff, srv_cli_formats, srv_cli_export, srv_cli_token,
	srv_cli_config, srv_cli_init, srv_cli_completion, srv_cli_set, srv_cli_bundle, srv_cli_refs, srv_cli_gc,
	srv_cli_verify, srv_cli_doctor, srv_cli_farm, srv_cli_stop, srv_cli_open, srv_cli_sync, srv_cli_recook,
	srv_cli_check, srv_cli_warm, srv_cli_docs, srv_cli_history, srv_cli_bisect, srv_cli_snapshot;

/* ---- options: one table a command ---- */

typedef enum cli_kind { CLI_FLAG, CLI_TEXT, CLI_NUMBER, CLI_LIST } cli_kind;

/* The values of a repeatable option. NULL-terminated. */
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

/* Parses argv[1..]; "--" ends options; "--name=value" works. Moves operands to the front of argv from index 1
 * and returns their number. Ends the program on --help, after the command's page, and on a wrong option or
 * more operands than command->arguments names, after an error with a suggestion. */
int srv_cli_parse(const cli_command *command, const cli_option *options, size_t option_count, int argc,
				  char **argv);
/* The option called "--cache" or "-o"; NULL: there is none. */
const cli_option *srv_cli_find_option(const cli_option *options, size_t count, const char *word);
/* For completion: from now on srv_cli_parse passes the options of its command to `take` and ends the
 * program. */
void srv_cli_take_options(void (*take)(const cli_option *options, size_t count));
/* Prints the possible next words of the command line `argv`, one a line: "candidate", or "candidate<TAB>what
 * it is"; ":files" and ":folders" ask the shell to complete files or folders. The scripts of `hob completion`
 * call `hob __complete WORD...`; the last word may be empty. Always EXIT_GOOD. */
int srv_cli_complete(const cli_command *const *commands, size_t command_count, int argc, char **argv);
/* "hob cook: ..." on stderr; returns EXIT_USAGE. */
int srv_cli_usage_error(const cli_command *command, const char *fmt, ...) HOB_PRINTF(2, 3);
/* The entry of `words` closest to the typed `word`; NULL: none is similar. */
const char *srv_cli_nearest(hob_str word, const char *const *words, size_t count);
/* The exit code of a program that would end with `code`: EXIT_INTERNAL if stdout could not be written. */
int srv_cli_finish(int code);
extern bool srv_cli_no_stdout; /* it was closed at the start */
/* Prints an error with its remedy on stderr; returns `code`. */
int srv_cli_fail(const char *who, const hob_error *error, int code);

/* The text of the buffer, ended by a NUL that does not count; "" without memory. */
const char *srv_cli_ended(hob_buf *buf);

/* `hob --version`; `json`: adds the versions of the API, file formats and cooks. */
int srv_cli_print_version(bool json);
/* Address of the daemon if there is no --url: HOB_URL, otherwise the daemon of this folder (owner.h),
 * otherwise srv_cli_fallback_url. */
const char *srv_cli_default_url(void);
extern const char srv_cli_fallback_url[]; /* http://127.0.0.1:7780 */
void srv_cli_print_environment(void);	  /* `hob help environment` */

/* ---- wrap.c: text at the width of the terminal */

/* Columns of `fd`'s terminal, at most 120; 80 if it is not a terminal. COLUMNS overrides both. */
uint32_t srv_cli_width(int fd);
/* Appends text. Paragraphs are filled to `width`; every line after the first begins with `indent` spaces; the
 * first starts at column `at`. Lines that begin with a space are kept, but broken if they are too long. */
void srv_cli_wrap(hob_buf *out, hob_str text, uint32_t at, uint32_t indent, uint32_t width);
/* Prints what the format says and, filled to the width of the terminal, the text: its further lines begin at
 * `column`. */
void srv_cli_print_field(uint32_t column, const char *text, const char *fmt, ...) HOB_PRINTF(3, 4);
/* Prints lines that contain foreign names (srv_plain_lines). On a terminal, long lines continue on the next
 * one, indented; words are not broken. */
void srv_cli_print_lines(hob_str text);
/* Prints {"NAME": holds, "lines": [...]}: what a command that prints lines says as JSON. */
void srv_cli_print_verdict(const char *name, bool holds, hob_str text);

/* ---- map_file.c: a whole file as bytes, read-only, or as text */

/* Errors: NOT_FOUND, CORRUPT (empty, or not a regular file). */
bool srv_map_file(const char *path, hob_bytes *out, hob_error *err) HOB_MUST_CHECK;
/* Unmaps and empties *file; does nothing if it is empty. */
void srv_unmap_file(hob_bytes *file);
/* The text of a file of at most `most` bytes, with a NUL at its end, for free(). NULL: errno says why, EINVAL
 * if it is neither a file nor a folder. */
char *srv_file_text(const char *path, size_t most, size_t *size);

#endif
