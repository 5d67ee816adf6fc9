#include "query.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* hob watch: the event stream as lines, or a command for each change. */

typedef struct watcher {
	const char *command; /* for sh, with {name} replaced; NULL: print */
} watcher;

/* {asset} becomes "$HOB_ASSET": a shell never reads what a variable holds as commands, whatever a file is called. */
static char *shell_text(const char *command)
{
	static const struct {
		const char *mark, *variable;
	} marks[] = {{"{asset}", "\"$HOB_ASSET\""},
				 {"{state}", "\"$HOB_STATE\""},
				 {"{kind}", "\"$HOB_KIND\""},
				 {"{id}", "\"$HOB_ID\""},
				 {"{rev}", "\"$HOB_REV\""}};
	hob_buf out = {0};
	for (const char *at = command; *at;) {
		size_t i = 0;
		while (i < HOB_COUNT_OF(marks) && strncmp(at, marks[i].mark, strlen(marks[i].mark)) != 0)
			i++;
		if (i < HOB_COUNT_OF(marks)) {
			hob_buf_put_str(&out, hob_str_of(marks[i].variable));
			at += strlen(marks[i].mark);
		} else {
			hob_buf_put(&out, at++, 1);
		}
	}
	hob_buf_put(&out, "", 1);
	return (char *)out.data;
}

static void set_variables(const cJSON *event)
{
	char rev[32];
	snprintf(rev, sizeof rev, "%.0f", cli_number(event, "rev"));
	setenv("HOB_ASSET", cli_text(event, "asset"), 1);
	setenv("HOB_STATE", cli_text(event, "state"), 1);
	setenv("HOB_KIND", cli_text(event, "kind"), 1);
	setenv("HOB_ID", cli_text(event, "id"), 1);
	setenv("HOB_REV", rev, 1);
}

static void execute(const char *command, hob_str line)
{
	cJSON *event = cJSON_ParseWithLength(line.data, line.len);
	if (!event)
		return;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		set_variables(event);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		fprintf(stderr, "hob watch: no process for '%s': %s\n", command, strerror(errno));
	else if (WIFSIGNALED(status))
		fprintf(stderr, "hob watch: the command for %s was ended by signal %d\n", cli_text(event, "asset"),
				WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		fprintf(stderr, "hob watch: the command for %s ended with code %d\n", cli_text(event, "asset"),
				WEXITSTATUS(status));
	cJSON_Delete(event);
}

static bool on_line(void *user, hob_str line)
{
	const watcher *w = user;
	if (!hob_str_starts(line, HOB_STR("data: ")))
		return true;
	line = hob_str_sub(line, 6, line.len);
	if (hob_str_find(line, HOB_STR("\"asset\":"), 0) == SIZE_MAX)
		return true; /* the greeting */
	if (w->command)
		execute(w->command, line);
	else
		printf("%.*s\n", HOB_FMT(line));
	return fflush(stdout) == 0;
}

static int run_watch(int argc, char **argv)
{
	const char *url = cli_default_url(), *since = NULL, *command = NULL;
	cli_option options[] = {{"--exec", 0, CLI_TEXT, &command, "COMMAND",
							 "run it in a shell for each change, one after the other"},
							{"--since", 0, CLI_TEXT, &since, "ID", "first what happened after this event id"},
							CLI_URL_OPTION(url)};
	int operands = cli_parse(&cli_watch, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	hob_buf target = {0};
	hob_buf_put_str(&target, HOB_STR("/api/v1/events?kinds=asset"));
	if (operands > 0) {
		hob_buf_put_str(&target, HOB_STR("&asset="));
		cli_encode(&target, hob_str_of(argv[1]));
	}
	if (since) {
		hob_buf_put_str(&target, HOB_STR("&since="));
		cli_encode(&target, hob_str_of(since));
	}
	hob_buf_put(&target, "", 1);
	hob_error error = {0};
	char *text = command ? shell_text(command) : NULL;
	watcher w = {text};
	bool ok = cli_stream(url, (const char *)target.data, on_line, &w, &error);
	hob_buf_release(&target);
	free(text);
	if (!ok) {
		cli_print_error("hob watch", &error);
		return error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_UNREACHABLE;
	}
	fprintf(stderr, "hob watch: the daemon ended the stream\n");
	return EXIT_UNREACHABLE;
}

const cli_command cli_watch = {"watch", "[GLOB]", "print changes as they happen, one JSON object per line",
							   "Prints every cook, failure and removal as it is published. With --exec a "
							   "command is run for each instead;\n"
							   "{asset}, {state}, {kind}, {id} and {rev} in it stand for the change, as do "
							   "the variables HOB_ASSET, HOB_STATE\n"
							   "and so on.\n"
							   "\n"
							   "Examples:\n"
							   "  hob watch\n"
							   "  hob watch 'art/props/*' | jq -r .asset\n"
							   "  hob watch --exec 'notify-send {asset} {state}'\n",
							   run_watch};
