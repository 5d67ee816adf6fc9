#include "cli.h"
#include "owner.h"

#include "../../core/settings/cook_key.h"
#include "../../core/formats/pack_layout.h"
#include "../log/log.h"
#include "../store/store.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES_MAX = 128 }; /* options of one command */

const char srv_cli_fallback_url[] = "http://127.0.0.1:7780";

const char *srv_cli_default_url(void)
{
	static cli_owner owner;
	const char *url = getenv("HOB_URL");
	if (url && url[0])
		return url;
	return owner.url[0] || srv_owner_of_folder(".", &owner) ? owner.url : srv_cli_fallback_url;
}

int srv_cli_fail(const char *who, const hob_error *error, int code)
{
	bool color = srv_color_wanted(2);
	char text[sizeof error->context];
	memcpy(text, error->context, sizeof text);
	srv_plain(text);
	fprintf(stderr, "%s%s:%s %s\n", color ? "\x1b[31m" : "", who, color ? "\x1b[0m" : "", text);
	return code;
}

bool srv_cli_no_stdout;

int srv_cli_finish(int code)
{
	errno = 0;
	if ((fflush(stdout) == 0 && !ferror(stdout)) || srv_cli_no_stdout || errno == EPIPE)
		return code;
	fprintf(stderr, "hob: what was to be printed could not be written%s%s\n", errno ? ": " : "",
			errno ? strerror(errno) : "");
	return code == EXIT_GOOD ? EXIT_INTERNAL : code;
}

int srv_cli_usage_error(const cli_command *command, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	fprintf(stderr, "hob %s: %s\nUsage: hob %s [OPTION]...%s%s\nTry 'hob help %s'.\n", command->name, text,
			command->name, command->arguments[0] ? " " : "", command->arguments, command->name);
	return EXIT_USAGE;
}

static void print_help(const cli_command *command, const cli_option *options, size_t count)
{
	enum { LEFT = 29 };
	uint32_t width = srv_cli_width(1);
	hob_own_buf out = {0};
	hob_buf_printf(&out, "hob %s - ", command->name);
	srv_cli_wrap(&out, hob_str_of(command->summary), (uint32_t)out.size, 4, width);
	hob_buf_printf(&out, "\n\nUsage: hob %s [OPTION]...%s%s\n\n", command->name,
				   command->arguments[0] ? " " : "", command->arguments);
	srv_cli_wrap(&out, hob_str_of(command->help), 0, 0, width);
	hob_buf_put_str(&out, HOB_STR("\n\nOptions:\n"));
	for (size_t i = 0; i <= count; i++) {
		static const cli_option help = {"--help", 0, CLI_FLAG, NULL, NULL, "this page"};
		const cli_option *option = i < count ? &options[i] : &help;
		char left[64], letter[8] = "    ";
		if (option->letter)
			snprintf(letter, sizeof letter, "-%c, ", option->letter);
		snprintf(left, sizeof left, "%s%s%s%s", letter, option->name, option->placeholder ? " " : "",
				 option->placeholder ? option->placeholder : "");
		hob_buf_printf(&out, "  %-26s ", left);
		uint32_t at = strlen(left) > 26 ? (uint32_t)strlen(left) + 3 : LEFT;
		srv_cli_wrap(&out, hob_str_of(option->doc), at, LEFT, width);
		hob_buf_put(&out, "\n", 1);
	}
	printf("%.*s", HOB_FMT(hob_buf_str(&out)));
}

/* Hob's option for a name that other programs use. */
static const char *own_name(const char *word)
{
	static const char *const others[][2] = {
		{"--address", "--listen"}, {"--bind", "--listen"}, {"--host", "--listen"},
		{"--output", "--out"},	   {"--port", "--listen"}, {"--threads", "--jobs"},
		{"--workers", "--jobs"},   {"--server", "--url"},  {"--verbose", "--log-level"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(others); i++)
		if (strcmp(word, others[i][0]) == 0)
			return others[i][1];
	return word;
}

/* The command that does the work of an option that went; NULL: there was no such option. */
static const char *instead_of(const char *command, const char *option)
{
	static const char *const gone[][3] = {{"diff", "--output", "hob get ASSET OUTPUT"},
										  {"init", "--from", "hob cook LIST"},
										  {"serve", "--once-ready", "hob status --ready"},
										  {"status", "--watch", "watch -n 1 hob status"},
										  {"why", "--job", "hob log JOB"}};
	for (size_t i = 0; i < HOB_COUNT_OF(gone); i++)
		if (strcmp(command, gone[i][0]) == 0 && strcmp(option, gone[i][1]) == 0)
			return gone[i][2];
	return NULL;
}

/* NULL: no option is similar. */
static const char *suggest(const char *word, const cli_option *options, size_t count)
{
	const char *names[NAMES_MAX];
	assert(count < NAMES_MAX);
	for (size_t i = 0; i < count; i++)
		names[i] = options[i].name;
	names[count] = "--help";
	return srv_cli_nearest(hob_str_of(own_name(word)), names, count + 1);
}

const char *srv_cli_nearest(hob_str word, const char *const *words, size_t count)
{
	enum { FAR = 3 };
	const char *best = NULL;
	size_t nearest = FAR;
	for (size_t i = 0; i < count; i++) {
		size_t here = hob_str_distance(word, hob_str_of(words[i]));
		if (here < nearest) {
			nearest = here;
			best = words[i];
		}
	}
	return best;
}

static bool store(const cli_option *option, const char *value)
{
	if (option->kind == CLI_FLAG) {
		*(bool *)option->value = true;
		return true;
	}
	if (option->kind == CLI_TEXT) {
		*(const char **)option->value = value;
		return value[0] != 0;
	}
	if (option->kind == CLI_LIST) {
		cli_list *list = option->value;
		if (list->count == CLI_LIST_MAX || !value[0])
			return false;
		list->texts[list->count++] = value;
		return true;
	}
	char *end;
	unsigned long number = strtoul(value, &end, 10);
	*(uint32_t *)option->value = (uint32_t)number;
	return value[0] >= '0' && value[0] <= '9' && *end == 0 && number <= UINT32_MAX;
}

/* How many operands "ASSET [OUTPUT]" takes at most; "PATH..." takes any number. */
static int operands_max(const char *arguments)
{
	int words = 0;
	if (strstr(arguments, "..."))
		return INT_MAX;
	for (const char *at = arguments; *at; at++)
		words += *at != ' ' && (at == arguments || at[-1] == ' ');
	return words;
}

const cli_option *srv_cli_find_option(const cli_option *options, size_t count, const char *word)
{
	for (size_t i = 0; i < count && word[0] == '-'; i++)
		if (strcmp(options[i].name, word) == 0 ||
			(options[i].letter && word[1] == options[i].letter && word[2] == 0))
			return &options[i];
	return NULL;
}

static void (*options_taker)(const cli_option *options, size_t count);

void srv_cli_take_options(void (*take)(const cli_option *options, size_t count))
{
	options_taker = take;
}

int srv_cli_parse(const cli_command *command, const cli_option *options, size_t option_count, int argc,
				  char **argv)
{
	int operands = 0;
	bool only_operands = false;
	if (options_taker) {
		options_taker(options, option_count);
		exit(srv_cli_finish(EXIT_GOOD));
	}
	for (int i = 1; i < argc; i++) {
		char *arg = argv[i];
		if (only_operands || arg[0] != '-' || arg[1] == 0) {
			argv[1 + operands++] = arg;
			continue;
		}
		if (strcmp(arg, "--") == 0) {
			only_operands = true;
			continue;
		}
		if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
			print_help(command, options, option_count);
			exit(srv_cli_finish(EXIT_GOOD));
		}
		char name[64];
		bool joined = arg[1] != '-' && arg[2] && arg[2] != '='; /* "-j4" */
		const char *value = joined ? arg + 1 : strchr(arg, '=');
		snprintf(name, sizeof name, "%.*s", joined ? 2 : value ? (int)(value - arg) : (int)strlen(arg), arg);
		const cli_option *option = srv_cli_find_option(options, option_count, name);
		/* where a report has several forms, --json is one of them */
		if (!option && strcmp(name, "--json") == 0)
			if ((option = srv_cli_find_option(options, option_count, "--format")))
				value = "=json";
		/* "-lq": the remaining letters follow */
		if (joined && option && option->kind == CLI_FLAG && arg[2] != '-') {
			(void)store(option, "");
			arg[1] = '-';
			argv[i--] = arg + 1;
			continue;
		}
		if (!option || (joined && option->kind == CLI_FLAG)) {
			const char *instead = instead_of(command->name, name), *near = instead;
			near = near || joined ? near : suggest(name, options, option_count);
			exit(srv_cli_usage_error(command, "unknown option '%s'%s%s%s", joined ? arg : name,
									 instead ? "; use '"
									 : near	 ? "; did you mean '"
											 : "",
									 near ? near : "",
									 instead ? "'"
									 : near	 ? "'?"
											 : ""));
		}
		if (value)
			value++;
		else if (option->kind != CLI_FLAG)
			value = i + 1 < argc ? argv[++i] : NULL;
		if ((option->kind != CLI_FLAG && !value) || !store(option, value ? value : ""))
			exit(srv_cli_usage_error(command, "option '%s' needs %s%s", option->name,
									 option->kind == CLI_NUMBER ? "a whole number: " : "a value: ",
									 option->placeholder ? option->placeholder : ""));
	}
	if (operands > operands_max(command->arguments))
		exit(srv_cli_usage_error(command, "'%s' is one argument too many",
								 argv[1 + operands_max(command->arguments)]));
	return operands;
}

const char *srv_cli_ended(hob_buf *buf)
{
	if (!hob_buf_grow(buf, 1))
		return "";
	buf->data[--buf->size] = 0;
	return (const char *)buf->data;
}

int srv_cli_print_version(bool json)
{
	if (json)
		printf("{\"hob\":\"%s\",\"api\":1,\"packed\":\"%d.%d\",\"index\":%d,\"cook\":%d}\n", HOB_VERSION,
			   HOB_PK_VERSION_MAJOR, HOB_PK_VERSION_MINOR, srv_store_schema_version(), HOB_COOK_VERSION);
	else
		printf("hob %s\n", HOB_VERSION);
	return EXIT_GOOD;
}
