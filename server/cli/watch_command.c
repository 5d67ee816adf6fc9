#include "query.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* hob watch: prints the event stream as lines, or runs a command for each change. */

typedef struct watcher {
	const char *command; /* shell command with {asset}, {kind} ... replaced; NULL: print */
	const char *since;	 /* as typed, until the daemon has answered */
	bool marked;
	char id[96], kind[32]; /* of the newest event */
	bool met, lost, closed;
} watcher;

/* A mark in a command, its variable, and its member of an event. */
static const struct {
	const char *mark, *variable, *member;
} marks[] = {{"{asset}", "HOB_ASSET", "asset"}, {"{state}", "HOB_STATE", "state"},
			 {"{kind}", "HOB_KIND", "kind"},	{"{standing}", "HOB_STANDING", "standing"},
			 {"{id}", "HOB_ID", "id"},			{"{rev}", "HOB_REV", "rev"}};

/* Replaces {asset}, {kind} ... by "$HOB_ASSET" ...: a shell does not evaluate a variable's content. */
static char *shell_text(const char *command)
{
	hob_buf out = {0};
	for (const char *at = command; *at;) {
		size_t i = 0;
		while (i < HOB_COUNT_OF(marks) && strncmp(at, marks[i].mark, strlen(marks[i].mark)) != 0)
			i++;
		if (i < HOB_COUNT_OF(marks)) {
			hob_buf_printf(&out, "\"$%s\"", marks[i].variable);
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
	snprintf(rev, sizeof rev, "%.0f", srv_cli_number(event, "rev"));
	for (size_t i = 0; i < HOB_COUNT_OF(marks); i++)
		setenv(marks[i].variable, srv_cli_text(event, marks[i].member), 1);
	setenv("HOB_REV", rev, 1); /* a number */
}

static void execute(const char *command, hob_str line)
{
	hob_own_json *event = cJSON_ParseWithLength(line.data, line.len);
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
		fprintf(stderr, "hob watch: the command for %s was ended by signal %d\n",
				srv_cli_text(event, "asset"), WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		fprintf(stderr, "hob watch: the command for %s ended with code %d\n", srv_cli_text(event, "asset"),
				WEXITSTATUS(status));
}

/* Prints {"event":"asset","event_id":"7c1e.4182", and the members of the data. */
static void print_marked(const watcher *w, hob_str data)
{
	hob_str rest = hob_str_sub(data, 1, data.len);
	printf("{\"event\":\"%s\"", w->kind);
	if (w->id[0])
		printf(",\"event_id\":\"%s\"", w->id);
	printf("%s%.*s\n", rest.len > 1 ? "," : "", HOB_FMT(rest));
}

static void tell_reset(const watcher *w, hob_str data)
{
	hob_own_json *reset = cJSON_ParseWithLength(data.data, data.len);
	const char *reason = srv_cli_text(reset, "reason");
	fprintf(
		stderr,
		"hob watch: %s%s%s%s; what changed before now may be missing here: 'hob ls' shows what is there\n",
		w->since ? "--since " : "", w->since ? w->since : "", w->since ? ": " : "",
		reason[0] ? reason : "the daemon has restarted");
}

static void on_data(watcher *w, hob_str data)
{
	bool asset = strcmp(w->kind, "asset") == 0, hello = strcmp(w->kind, "hello") == 0;
	if (hello && w->lost)
		fprintf(stderr, "hob watch: the daemon is back\n");
	if (hello)
		w->lost = false;
	if (strcmp(w->kind, "reset") == 0)
		tell_reset(w, data);
	if (!hello)
		w->since = NULL;
	if (w->command && asset)
		execute(w->command, data);
	else if (!w->command && w->marked && data.len >= 2)
		print_marked(w, data);
	else if (!w->command && asset)
		printf("%.*s\n", HOB_FMT(data));
}

static void keep(char *out, size_t room, hob_str text)
{
	snprintf(out, room, "%.*s", HOB_FMT(text));
}

static bool on_line(void *user, hob_str line)
{
	watcher *w = user;
	w->met = true;
	if (hob_str_starts(line, HOB_STR("id: ")))
		keep(w->id, sizeof w->id, hob_str_sub(line, 4, line.len));
	else if (hob_str_starts(line, HOB_STR("event: ")))
		keep(w->kind, sizeof w->kind, hob_str_sub(line, 7, line.len));
	else if (hob_str_starts(line, HOB_STR("data: ")))
		on_data(w, hob_str_sub(line, 6, line.len));
	w->closed = fflush(stdout) != 0;
	return !w->closed;
}

static void pause_ms(uint32_t ms)
{
	struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
	nanosleep(&time, NULL);
}

/* Follows the stream and reconnects; returns if retrying is useless. */
static int follow(watcher *w, const char *url, const char *target, bool once)
{
	enum { FIRST_MS = 250, MOST_MS = 4000 };
	for (uint32_t wait_ms = FIRST_MS;; wait_ms = wait_ms * 2 < MOST_MS ? wait_ms * 2 : MOST_MS) {
		char last[sizeof w->id + 32];
		hob_error error = {0};
		snprintf(last, sizeof last, "Last-Event-ID: %s", w->id);
		w->met = false;
		bool ok = srv_cli_stream(url, target, w->id[0] ? last : NULL, on_line, w, &error);
		if (w->closed)
			return EXIT_INTERNAL;
		if (!ok && (error.code == HOB_ERR_USAGE || !w->id[0]))
			return srv_cli_fail("hob watch", &error,
								error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_UNREACHABLE);
		if (once) {
			fprintf(stderr, "hob watch: the daemon ended the stream\n");
			return EXIT_UNREACHABLE;
		}
		if (!w->lost) {
			fprintf(stderr,
					"hob watch: the daemon ended the stream; waiting until it is back (Ctrl-C ends)\n");
			if (w->marked && !w->command)
				printf("{\"event\":\"lost\",\"event_id\":\"%s\"}\n", w->id);
			fflush(stdout);
		}
		w->lost = true;
		w->since = NULL;
		wait_ms = w->met ? FIRST_MS : wait_ms;
		pause_ms(wait_ms);
	}
}

static int run_watch(int argc, char **argv)
{
	const char *url = srv_cli_default_url(), *since = NULL, *command = NULL;
	bool once = false, marked = false;
	cli_option options[] = {
		{"--exec", 0, CLI_TEXT, &command, "COMMAND", "run this in a shell for each change, one at a time"},
		{"--since", 0, CLI_TEXT, &since, "ID", "begin with the changes after this event id"},
		{"--json", 0, CLI_FLAG, &marked, NULL,
		 "every line says its event and event_id; hello, lost and reset are lines, too"},
		{"--once", 0, CLI_FLAG, &once, NULL, "exit when the daemon stops, with exit code 3"},
		CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_watch, options, HOB_COUNT_OF(options), argc, argv);
	if (marked && command)
		return srv_cli_usage_error(&srv_cli_watch,
								   "--json is of what is printed, --exec prints nothing; leave out one");
	hob_own_buf target = {0};
	hob_buf_put_str(&target, HOB_STR("/api/v1/events?kinds=asset"));
	srv_cli_put_parameter(&target, "&asset=", operands > 0 ? argv[1] : NULL);
	srv_cli_put_parameter(&target, "&since=", since);
	char *text = command ? shell_text(command) : NULL;
	watcher w = {.command = text, .since = since, .marked = marked};
	int code = follow(&w, url, srv_cli_ended(&target), once);
	hob_buf_free(text);
	return code;
}

const cli_command srv_cli_watch = {
	"watch", "[GLOB]", "print changes as they happen, one JSON object per line",
	"Prints every cook, failure and removal as it is published. With --exec, runs a command for each "
	"instead; in it, {asset}, {standing}, {kind}, {id} and {rev} are replaced, and the variables HOB_ASSET, "
	"HOB_STANDING and so on are set.\n"
	"\n"
	"If the daemon stops, hob watch waits for it, reports both on stderr, and continues after the last event "
	"that it received. If the daemon no longer remembers that event, a reset is reported on stderr and, with "
	"--json, as a line of its own. Exit codes: 3 if no daemon answers at the start, or, with --once, when it "
	"stops; 2 if it refuses.\n"
	"\n"
	"Examples:\n"
	"  hob watch\n"
	"  hob watch 'art/props/*' | jq -r .asset\n"
	"  hob watch --json | jq -r 'select(.event == \"asset\") | .event_id'\n"
	"  hob watch --since 5f0c2a.1763800000123\n"
	"  hob watch --exec 'notify-send {asset} {standing}'\n",
	run_watch};
