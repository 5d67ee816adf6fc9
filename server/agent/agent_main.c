#include "agent.h"

#include "../fs/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Exit codes: 0 done, 1 assets failed, 2 usage or a refusal, 3 no answer from the daemon or a folder that
 * cannot be listed, 4 deletions wait. */
enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_AWAY = 3, EXIT_YES = 4 };
enum {
	HEARTBEAT_MS = 60000,
	LOOK_MS = 2000,
	COALESCE_MS = 15,
	SAVE_MS = 60000,
	LINES = 20,
	LINE_BYTES = 512,
	BACKOFF_MAX_MS = 15000
};

static const char usage[] =
	"hob-agent FOLDER URL --root NAME [options]      mirrors FOLDER into a mirror root of a Hob daemon\n"
	"hob-agent status                                what the agents of this account do\n"
	"\n"
	"  --root NAME         the mirror root, as the daemon's hob.json names it\n"
	"  --base PATH         feed this folder below the root (default: the root itself)\n"
	"  --token-file FILE   the token (hob token create NAME --mirror ROOT); or set HOB_TOKEN\n"
	"  --cacert FILE       trust the certificates in FILE for https://, not the system's\n"
	"  --who NAME          how people see this agent (default: USER@MACHINE)\n"
	"  --once              mirror, wait until all is cooked, and end: 0, or 1 if an asset failed\n"
	"  --dry-run           only say what would be sent, moved and deleted\n"
	"  --yes               delete at the daemon even if more than a fifth of all files is gone\n"
	"  --poll              look every two seconds instead of waiting for events (network drives)\n"
	"\n"
	"FOLDER/.hobignore names files that are not mirrored, one pattern per line. FOLDER is only read.\n";

/* ---- clocks */

int64_t agent_now_ms(void)
{
	return srv_clock_ms(CLOCK_REALTIME);
}

int64_t agent_ticks_ms(void)
{
	return srv_clock_ms(CLOCK_MONOTONIC);
}

void agent_sleep_ms(uint32_t ms)
{
	nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* ---- output */

static char lines[LINES][LINE_BYTES];
static uint32_t line_count;
static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;

static void write_status(const agent *a)
{
	char path[AGENT_PATH + 16];
	hob_own_buf text = {0};
	hob_buf_printf(&text, "%s -> %s root %s%s%s: %s\n", a->folder, a->options.url, a->options.root,
				   a->options.base[0] ? "/" : "", a->options.base, a->in_step ? "in step" : "not connected");
	pthread_mutex_lock(&lines_lock);
	for (uint32_t i = line_count > LINES ? line_count - LINES : 0; i < line_count; i++)
		hob_buf_printf(&text, "  %s\n", lines[i % LINES]);
	pthread_mutex_unlock(&lines_lock);
	snprintf(path, sizeof path, "%s/status", a->state);
	if (a->state[0] && !text.failed)
		(void)!sys_replace(path, hob_buf_bytes(&text));
}

void agent_say(const char *fmt, ...)
{
	char text[LINE_BYTES - 16], line[LINE_BYTES], clock[16];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	/* Names are untrusted and must not control a terminal. */
	for (char *c = text; *c; c++)
		if ((uint8_t)*c < 0x20 || *c == 0x7F)
			*c = '?';
	time_t now = (time_t)(agent_now_ms() / 1000);
	pthread_mutex_lock(&lines_lock);
	strftime(clock, sizeof clock, "%H:%M:%S", localtime(&now));
	snprintf(line, sizeof line, "%s %s", clock, text);
	printf("%s\n", line);
	fflush(stdout);
	memcpy(lines[line_count++ % LINES], line, sizeof line);
	pthread_mutex_unlock(&lines_lock);
}

hobc_json agent_json(const hob_buf *answer)
{
	return (hobc_json){answer->data ? (const char *)answer->data : "", answer->size};
}

hobc_json agent_member(hobc_json object, const char *key)
{
	hobc_json value;
	return hobc_json_member(object, key, &value) ? value : (hobc_json){"", 0};
}

bool agent_text(hobc_json object, const char *key, char *out, size_t room)
{
	out[0] = 0;
	return hobc_json_text(agent_member(object, key), out, room);
}

uint64_t agent_number(hobc_json value)
{
	uint64_t number;
	return hobc_json_number(value, &number) ? number : 0;
}

void agent_problem(agent *a, int status, hobc_json answer)
{
	char detail[2048], hint[2048];
	agent_text(answer, "detail", detail, sizeof detail);
	agent_text(answer, "hint", hint, sizeof hint);
	snprintf(a->problem, sizeof a->problem, "the daemon refuses (%d): %.300s%s%.200s", status, detail,
			 hint[0] ? "; " : "", hint);
}

bool agent_strange(agent *a, int status)
{
	snprintf(a->problem, sizeof a->problem, "%s does not answer like a Hob daemon (HTTP %d)", a->options.url,
			 status);
	a->stop = true;
	return false;
}

bool agent_ask(agent *a, const fetch_request *request, int *status, hob_buf *answer)
{
	hob_error error = {0};
	bool ok = agent_fetch_send(a->fetch, request, status, answer, &error);
	if (!ok)
		snprintf(a->problem, sizeof a->problem, "%s", error.context);
	else if (answer->size > 0 && answer->data[0] != '{')
		ok = agent_strange(a, *status);
	a->in_step = a->in_step && ok;
	return ok;
}

/* ---- options */

static bool take_text(int argc, char **argv, int *i, const char *name, const char **out)
{
	if (strcmp(argv[*i], name) != 0 || *i + 1 >= argc)
		return false;
	*out = argv[++*i];
	return true;
}

static bool take_flag(const char *argument, const char *name, bool *out)
{
	bool is = strcmp(argument, name) == 0;
	*out = *out || is;
	return is;
}

static bool read_options(int argc, char **argv, agent_options *o)
{
	*o = (agent_options){.base = ""};
	for (int i = 1; i < argc; i++) {
		if (take_text(argc, argv, &i, "--root", &o->root) || take_text(argc, argv, &i, "--base", &o->base) ||
			take_text(argc, argv, &i, "--token-file", &o->token_file) ||
			take_text(argc, argv, &i, "--cacert", &o->ca_file) ||
			take_text(argc, argv, &i, "--who", &o->who) || take_flag(argv[i], "--once", &o->once) ||
			take_flag(argv[i], "--dry-run", &o->dry_run) || take_flag(argv[i], "--yes", &o->yes) ||
			take_flag(argv[i], "--poll", &o->poll))
			continue;
		const char **operand = o->folder ? &o->url : &o->folder;
		if (argv[i][0] == '-' || *operand) {
			fprintf(stderr, "hob-agent: '%s' is not understood\n\n", argv[i]);
			return false;
		}
		*operand = argv[i];
	}
	for (const char *c = o->root; c && *c; c++)
		if (strchr("/?#%\"\\", *c) || (uint8_t)*c <= ' ') {
			fprintf(stderr, "hob-agent: '%s' cannot be the name of a root\n\n", o->root);
			return false;
		}
	const char *missing = !o->folder				? "FOLDER"
						  : !o->url					? "URL"
						  : !o->root || !o->root[0] ? "--root NAME"
													: NULL;
	if (missing)
		fprintf(stderr, "hob-agent: %s is missing\n\n", missing);
	return !missing;
}

static bool read_token(agent *a)
{
	hob_buf text = {0};
	const char *token = getenv("HOB_TOKEN");
	if (a->options.token_file && !sys_read_whole(a->options.token_file, &text)) {
		fprintf(stderr, "hob-agent: the token file '%s' cannot be read\n", a->options.token_file);
		return false;
	}
	hob_str line = a->options.token_file ? hob_buf_str(&text) : hob_str_of(token);
	size_t end = 0;
	while (end < line.len && (uint8_t)line.data[end] > ' ' && end + 1 < sizeof a->token)
		end++;
	snprintf(a->token, sizeof a->token, "%.*s", (int)end, line.data ? line.data : "");
	hob_buf_release(&text);
	return true;
}

/* Opens the state folder, a separate one for each mirrored folder and daemon. */
static bool open_state(agent *a)
{
	char base[AGENT_PATH - 128], key[HOB_SHA256_TEXT + 1], lock[AGENT_PATH + 16];
	hob_own_buf name = {0};
	hob_buf_printf(&name, "%s\n%s\n%s\n%s", a->folder, a->options.url, a->options.root, a->options.base);
	hob_sha256 digest;
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	hob_hasher_put(&hasher, name.data, name.size);
	digest = hob_hasher_finish(&hasher);
	hob_sha256_text(&digest, key);
	if (!sys_state_folder(base, sizeof base)) {
		fprintf(stderr, "hob-agent: there is no place for its own files; set HOB_AGENT_STATE to a folder\n");
		return false;
	}
	snprintf(a->state, sizeof a->state, "%s/%.16s", base, key);
	if (strncmp(a->state, a->folder, strlen(a->folder)) == 0 && a->state[strlen(a->folder)] == '/') {
		fprintf(stderr,
				"hob-agent: its own files (%s) would be below the watched folder; set HOB_AGENT_STATE\n",
				base);
		return false;
	}
	snprintf(lock, sizeof lock, "%s/lock", a->state);
	if (sys_lock(lock))
		return true;
	fprintf(stderr, "hob-agent: another hob-agent mirrors this folder; 'hob-agent status' shows it\n");
	return false;
}

typedef struct status_printer {
	char base[AGENT_PATH];
	uint32_t count;
} status_printer;

static void print_one(void *user, hob_str name, sys_kind kind, const sys_stat *stat, const char *why)
{
	(void)kind, (void)stat, (void)why;
	status_printer *p = user;
	char path[AGENT_PATH + 300];
	hob_own_buf text = {0};
	snprintf(path, sizeof path, "%s/%.*s/status", p->base, HOB_FMT(name));
	if (sys_read_whole(path, &text)) {
		snprintf(path, sizeof path, "%s/%.*s/lock", p->base, HOB_FMT(name));
		bool runs = !sys_lock(path);
		printf("%s  %.*s", runs ? "running" : "ended  ", HOB_FMT(hob_buf_str(&text)));
		p->count++;
	}
}

static int print_status(void)
{
	status_printer p = {.count = 0};
	if (!sys_state_folder(p.base, sizeof p.base) || !sys_list(p.base, (hob_str){0}, print_one, &p) ||
		p.count == 0)
		printf("no hob-agent has run in this account\n");
	return 0;
}

/* ---- the loop */

static void on_changed(void *user, hob_str path)
{
	agent_tree_touch(user, path);
}

/* Waits up to `ms` for changes and takes them into the tree. */
static void wait_for_changes(agent *a, int64_t ms)
{
	const char *why;
	int64_t left = a->look_ms - agent_ticks_ms();
	bool due = false;
	if (a->watch && !a->options.poll) {
		due = !agent_watch_wait(a->watch, (uint32_t)ms, on_changed, a); /* the folder is gone */
	} else {
		agent_sleep_ms((uint32_t)(left > ms ? ms : left > 0 ? left : 0));
		due = left <= ms;
	}
	if (!due)
		return;
	bool reopen = !a->watch && !a->options.poll;
	agent_watch_close(a->watch);
	a->watch = reopen ? agent_watch_open(a->folder, &why) : NULL;
	agent_tree_touch(a, (hob_str){0});
	a->look_ms = agent_ticks_ms() + LOOK_MS;
}

static int run_once(agent *a)
{
	for (int tries = 0; tries < 50 && !a->stop; tries++) {
		bool ok = agent_sync(a);
		if (!ok && !a->stop)
			agent_say("%s", a->problem);
		if (a->offered_yes)
			return EXIT_YES;
		if (ok && a->next_ms == 0)
			return a->options.dry_run ? 0 : agent_news_once(a);
		if (ok && a->options.dry_run && a->tree.busy == 0)
			return 0;
		if (ok && a->tree.failed && a->tree.busy == 0)
			return EXIT_AWAY;
		int64_t left = a->next_ms - agent_ticks_ms();
		if (!ok && tries >= 3)
			return EXIT_AWAY;
		agent_sleep_ms(left > 0 ? (uint32_t)left : 1);
		agent_tree_retry(a);
	}
	agent_say("%s", a->problem[0] ? a->problem : "some files are still being written");
	return a->stop ? EXIT_USAGE : EXIT_AWAY;
}

static int run_for_ever(agent *a)
{
	bool was_in_step = false, again = true;
	int64_t beat_ms = agent_ticks_ms() + HEARTBEAT_MS, save_ms = 0, backoff = 500;
	uint32_t said = 0;
	pthread_t news;
	if (pthread_create(&news, NULL, agent_news_run, a) == 0)
		pthread_detach(news);
	while (!a->stop) {
		if (again || !a->in_step || (a->next_ms && agent_ticks_ms() >= a->next_ms)) {
			bool ok = agent_sync(a);
			if (!ok && was_in_step)
				agent_say("waiting for the daemon: %s", a->problem);
			else if (!ok && !a->stop && backoff == 500)
				agent_say("%s", a->problem);
			backoff = ok ? 500 : backoff * 2 < BACKOFF_MAX_MS ? backoff * 2 : BACKOFF_MAX_MS;
			if (!ok)
				a->next_ms = agent_ticks_ms() + backoff;
			was_in_step = a->in_step;
			beat_ms = agent_ticks_ms() + HEARTBEAT_MS;
		}
		int64_t now = agent_ticks_ms(), until = a->next_ms && a->next_ms < beat_ms ? a->next_ms : beat_ms;
		if (line_count != said) {
			said = line_count;
			write_status(a);
			if (now >= save_ms)
				agent_tree_save(a);
			save_ms = now + SAVE_MS;
		}
		if (a->stop)
			break;
		wait_for_changes(a, until > now ? until - now : 0);
		again = a->in_step;
		/* Waits for the rest of the same save, such as the second half of a rename. */
		wait_for_changes(a, COALESCE_MS);
		if (a->next_ms && agent_ticks_ms() >= a->next_ms) {
			agent_tree_retry(a);
			if (a->tree.failed)
				agent_tree_touch(a, (hob_str){0});
			again = true;
		}
		if (agent_ticks_ms() >= beat_ms && a->in_step) {
			agent_sync_beat(a);
			beat_ms = agent_ticks_ms() + HEARTBEAT_MS;
		}
	}
	agent_say("%s", a->problem);
	write_status(a);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	static agent a;
	hob_error error = {0};
	const char *why = "--poll";
	sys_begin(&argc, &argv);
	if (argc == 2 && strcmp(argv[1], "status") == 0)
		return print_status();
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("hob-agent " HOB_VERSION "\n") < 0;
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return fputs(usage, stdout) < 0;
	if (!read_options(argc, argv, &a.options)) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (!sys_whole_path(a.options.folder, a.folder, sizeof a.folder)) {
		fprintf(stderr, "hob-agent: '%s' is not a folder that can be read\n", a.options.folder);
		return EXIT_USAGE;
	}
	if (!read_token(&a) || !open_state(&a))
		return EXIT_USAGE;
	if (a.options.who)
		snprintf(a.who, sizeof a.who, "%s", a.options.who);
	else
		sys_who(a.who, sizeof a.who);
	a.fetch = agent_fetch_open(a.options.url, a.token, a.options.ca_file, &error);
	if (!a.fetch || !agent_tree_open(&a, &error)) {
		fprintf(stderr, "hob-agent: %s\n", error.context);
		return EXIT_USAGE;
	}
	bool once = a.options.once || a.options.dry_run;
	if (!once && !a.options.poll)
		a.watch = agent_watch_open(a.folder, &why);
	if (!once && !a.watch)
		agent_say("looking every two seconds: %s", why);
	agent_tree_touch(&a, (hob_str){0});
	int code = once ? run_once(&a) : run_for_ever(&a);
	agent_tree_save(&a);
	write_status(&a);
	agent_watch_close(a.watch);
	agent_fetch_close(a.fetch);
	agent_tree_release(&a.tree);
	return code;
}
