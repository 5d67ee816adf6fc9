#include "query.h"

#include "../../core/settings/settings.h"
#include "../fs/whole_path.h"
#include "../log/log.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* hob why, hob log: why an asset was cooked, the output of its cook, and how to repeat it. */

/* Follows the word "failed". */
#define AS_KNOWN ", as known: the same inputs failed before"

static void print_line(const char *what, const char *text)
{
	enum { COLUMN = 12 };
	if (!text[0])
		return;
	hob_own_buf out = {0};
	hob_buf_printf(&out, "  %-9s ", what);
	srv_cli_wrap(&out, hob_str_of(text), COLUMN, COLUMN, isatty(1) ? srv_cli_width(1) : UINT32_MAX);
	printf("%.*s\n", HOB_FMT(hob_buf_str(&out)));
}

static void print_reasons(const cJSON *reasons)
{
	static const struct {
		const char *kind, *words;
	} kinds[] = {{"added", "new file:"},
				 {"changed", "saved:"},
				 {"appeared", "appeared:"},
				 {"removed", "deleted:"},
				 {"settings", "settings:"},
				 {"forced", "requested"},
				 {"asked", "requested"},
				 {"moved", "moved from:"},
				 {"retry", "tried again"},
				 {"check", "checked at the start"},
				 {"returned", "its folder is back"},
				 {"damaged-blob", "its cooked data was damaged"}};
	const cJSON *reason;
	cJSON_ArrayForEach(reason, reasons)
	{
		const char *kind = srv_cli_text(reason, "kind"), *words = kind, *path = srv_cli_text(reason, "path");
		for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
			if (strcmp(kinds[i].kind, kind) == 0)
				words = kinds[i].words;
		printf("  because   %s%s%s\n", words, path[0] ? " " : "", path);
	}
}

static void print_error(const cJSON *error)
{
	const cJSON *place = srv_cli_member(error, "location");
	print_line("failed", srv_cli_text(error, "message"));
	if (srv_cli_number(place, "line") > 0)
		printf("  at        %s:%.0f\n", srv_cli_text(place, "file"), srv_cli_number(place, "line"));
	print_line("hint", srv_cli_text(error, "hint"));
}

/* Appends `prefix`, the root of an asset, and the path of a file in it. */
static void put_target(hob_buf *out, const char *prefix, const cJSON *asset, const char *between,
					   const char *path, const char *suffix)
{
	hob_buf_put_str(out, hob_str_of(prefix));
	hob_buf_put_percent(out, hob_str_of(srv_cli_text(asset, "root")));
	hob_buf_put_str(out, hob_str_of(between));
	hob_buf_put_percent(out, hob_str_of(path));
	hob_buf_put_str(out, hob_str_of(suffix));
}

/* Prints who sent a file, if agents feed its root. */
static void print_sender(const char *url, const cJSON *asset, const char *path)
{
	hob_own_buf target = {0};
	put_target(&target, "/api/v1/mirrors/", asset, "/origin/", path, "");
	hob_own_json *origin = srv_cli_try_json(url, srv_cli_ended(&target), NULL);
	srv_cli_plain_json(origin);
	if (origin)
		printf("  sent by   %s, %s: %s\n", srv_cli_text(origin, "who"), srv_cli_text(origin, "at"),
			   srv_cli_text(origin, "path"));
}

static void print_senders(const char *url, const cJSON *asset, const cJSON *reasons)
{
	const cJSON *reason;
	const char *own = srv_cli_text(asset, "path"), *last = own;
	print_sender(url, asset, own);
	cJSON_ArrayForEach(reason, reasons)
	{
		const char *path = srv_cli_text(reason, "path");
		if (path[0] && strcmp(path, own) != 0 && strcmp(path, last) != 0)
			print_sender(url, asset, last = path);
	}
}

/* Prints the warnings in the served cook's report. */
static void print_warnings(const char *url, const cJSON *asset)
{
	hob_own_buf target = {0};
	put_target(&target, "/a/", asset, "/", srv_cli_text(asset, "path"), "?output=report");
	int ignored;
	hob_own_json *report = srv_cli_ask_json("hob why", url, srv_cli_ended(&target), false, &ignored);
	const cJSON *note;
	cJSON_ArrayForEach(note, srv_cli_member(report, "notes"))
	{
		if (strcmp(srv_cli_text(note, "level"), "warning") == 0)
			print_line("warning", srv_cli_text(note, "text"));
	}
}

/* ---- repeating a cook */

/* Keeps the values of `settings` that differ from `initial`. */
static void drop_equal(cJSON *settings, const cJSON *initial)
{
	for (cJSON *item = settings->child, *next; item; item = next) {
		const cJSON *other = srv_cli_member(initial, item->string);
		next = item->next;
		if (cJSON_IsObject(item))
			drop_equal(item, other);
		if (cJSON_Compare(item, other, true) || (cJSON_IsObject(item) && !item->child))
			cJSON_Delete(cJSON_DetachItemViaPointer(settings, item));
	}
}

static char *changed_settings(const cJSON *settings)
{
	hob_settings initial;
	hob_own_buf text = {0};
	hob_settings_init(&initial);
	hob_settings_print(&initial, &text);
	hob_own_json *known = cJSON_ParseWithLength((const char *)text.data, text.size);
	hob_own_json *copy = cJSON_Duplicate(settings, true);
	if (copy)
		drop_equal(copy, known);
	return copy && copy->child ? cJSON_PrintUnformatted(copy) : NULL;
}

/* Prints a word for a shell: quoted unless it has only plain characters. */
static void print_word(const char *text)
{
	if (text[0] &&
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == strlen(text)) {
		fputs(text, stdout);
		return;
	}
	putchar('\'');
	for (const char *c = text; *c; c++)
		if (*c == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*c);
	putchar('\'');
}

static void print_again(const char *url, const cJSON *asset)
{
	int ignored;
	hob_own_json *roots = srv_cli_ask_json("hob why", url, "/api/v1/roots", false, &ignored);
	const cJSON *root = srv_cli_find(srv_cli_member(roots, "items"), "name", srv_cli_text(asset, "root"));
	if (root) {
		char path[4096];
		if (srv_cli_text(root, "missing_since")[0])
			printf("  %smissing%s   since %s: %s\n", srv_cli_standing_color("broken"), srv_cli_color_off(),
				   srv_cli_text(root, "missing_since"), srv_cli_text(root, "note"));
		hob_own char *settings = changed_settings(srv_cli_member(asset, "settings"));
		snprintf(path, sizeof path, "%s/%s", srv_cli_text(root, "path"), srv_cli_text(asset, "path"));
		fputs("  again     hob cook ", stdout);
		print_word(path);
		fputs(" --root ", stdout);
		print_word(srv_cli_text(root, "path"));
		if (settings) {
			fputs(" --settings ", stdout);
			print_word(settings);
		}
		fputs(" -o cooked/\n", stdout);
	}
}

/* ---- why */

static void print_value(const cJSON *value)
{
	hob_own char *text = cJSON_PrintUnformatted(value);
	fputs(text ? text : "(none)", stdout);
}

static void print_change(const cJSON *change)
{
	const char *use = srv_cli_text(change, "use"), *from = srv_cli_text(change, "from"),
			   *to = srv_cli_text(change, "to");
	if (cJSON_HasObjectItem(change, "setting")) {
		printf("  changed   %-24s ", srv_cli_text(change, "setting"));
		print_value(srv_cli_member(change, "from"));
		fputs(" -> ", stdout);
		print_value(srv_cli_member(change, "to"));
		printf("  %s(%s)%s\n", srv_cli_dim(), srv_cli_text(change, "origin"), srv_cli_color_off());
	} else if (use[0]) {
		printf("  changed   %-24s %s%s\n", srv_cli_text(change, "input"),
			   strcmp(use, "added") == 0 ? "is used now" : "is no longer used",
			   strcmp(use, "added") == 0 && !to[0] ? ", and is missing" : "");
	} else {
		printf("  changed   %-24s %.12s -> %.12s\n", srv_cli_text(change, "input"),
			   from[0] ? from : "missing", to[0] ? to : "missing");
	}
}

static void print_previous(const cJSON *why, const char *against)
{
	const cJSON *previous = srv_cli_member(why, "previous"), *compared = srv_cli_member(why, "compared");
	if (against || !cJSON_IsTrue(srv_cli_member(previous, "same")))
		return;
	printf("  the same  inputs and settings as the cook before, %s (job %.0f)\n",
		   srv_cli_text(previous, "at"), srv_cli_number(previous, "job"));
	if (cJSON_IsObject(compared))
		printf("  other     than the one of %s (job %.0f):\n", srv_cli_text(compared, "at"),
			   srv_cli_number(compared, "job"));
}

static void print_why(const char *url, const cJSON *why, const cJSON *asset, const char *against)
{
	const cJSON *item;
	char time[32], count[48];
	double unchanged = srv_cli_number(why, "unchanged");
	bool cached = cJSON_IsTrue(srv_cli_member(why, "cached"));
	bool known = cached && strcmp(srv_cli_text(why, "verdict"), "failed") == 0;
	printf("%s: %s%s%s%s\n", srv_cli_text(why, "asset"), srv_cli_text(why, "verdict"), known ? AS_KNOWN : "",
		   against ? ", compared with rev " : "", against ? against : "");
	if (srv_cli_text(why, "cooked_by")[0])
		printf("  from      %s, which gave it to the farm %s\n", srv_cli_text(why, "cooked_by"),
			   srv_cli_text(why, "fetched_from"));
	else if (srv_cli_text(why, "fetched_from")[0])
		printf("  from      the upstream %s\n", srv_cli_text(why, "fetched_from"));
	print_reasons(srv_cli_member(why, "reason"));
	print_senders(url, asset, srv_cli_member(why, "reason"));
	print_previous(why, against);
	cJSON_ArrayForEach(item, srv_cli_member(why, "changed")) print_change(item);
	if (srv_cli_text(why, "previous_key")[0] && unchanged > 0)
		printf("  as before %s\n", srv_cli_count(unchanged, "input", count));
	if (cJSON_IsObject(srv_cli_member(asset, "error")))
		print_error(srv_cli_member(asset, "error"));
	else if (srv_cli_number(asset, "warnings") > 0)
		print_warnings(url, asset);
	if (srv_cli_number(why, "cook_ms") > 0)
		printf("  took      %s%s\n",
			   srv_text_duration((uint64_t)(srv_cli_number(why, "cook_ms") * 1e6), time),
			   cached ? " when it was cooked" : "");
	if (srv_cli_text(why, "key")[0])
		printf("  key       %.16s\n", srv_cli_text(why, "key"));
	print_again(url, asset);
}

/* ---- what if */

/* "root/path" of a file on this machine, as the daemon names it; `name` if no watched folder contains it. */
static void put_watched_name(const char *url, const char *name, hob_buf *out)
{
	int ignored;
	char folder[PATH_MAX], real[PATH_MAX];
	const char *slash = strrchr(name, '/');
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - name) + 1 : 1, slash ? name : ".");
	bool here = realpath(folder, real) != NULL;
	hob_own_json *roots = here ? srv_cli_ask_json("hob why", url, "/api/v1/roots", false, &ignored) : NULL;
	const cJSON *root;
	cJSON_ArrayForEach(root, srv_cli_member(roots, "items"))
	{
		const char *rest = srv_path_below(srv_cli_text(root, "path"), real);
		if (out->size == 0 && rest)
			hob_buf_printf(out, "%s/%s%s%s", srv_cli_text(root, "name"), rest, rest[0] ? "/" : "",
						   slash ? slash + 1 : name);
	}
	if (out->size == 0)
		hob_buf_put_str(out, hob_str_of(name));
}

static void print_what_if(const cJSON *answer)
{
	const cJSON *item, *link;
	char count[48], time[32];
	double total = srv_cli_number(answer, "count");
	printf("%s: if it changed, %s would be looked at again", srv_cli_text(answer, "file"),
		   srv_cli_count(total, "asset", count));
	if (srv_cli_number(answer, "expected_ms") > 0)
		printf(", about %s of cooking",
			   srv_text_duration((uint64_t)(srv_cli_number(answer, "expected_ms") * 1e6), time));
	putchar('\n');
	cJSON_ArrayForEach(item, srv_cli_member(answer, "assets"))
	{
		const char *between = " ";
		printf("  %-9s", srv_cli_text(item, "use"));
		cJSON_ArrayForEach(link, srv_cli_member(item, "chain"))
		{
			printf("%s%s", between, cJSON_GetStringValue(link));
			between = " -> ";
		}
		printf("  %s%s%s\n", srv_cli_dim(), srv_cli_standing(item), srv_cli_color_off());
	}
	if (cJSON_IsTrue(srv_cli_member(answer, "shared")))
		print_line("shared", "what several make alike of it, such as a texture, is made once");
	print_line("note", srv_cli_text(answer, "explanation"));
	if (srv_cli_number(answer, "unknown") > 0)
		printf("  note      %s not cooked yet; what they use is not known\n",
			   srv_cli_count(srv_cli_number(answer, "unknown"), "asset", count));
}

static int what_if(const char *url, const char *file, bool json)
{
	int code = EXIT_GOOD;
	hob_own_buf name = {0};
	put_watched_name(url, file, &name);
	hob_own_json *answer =
		srv_cli_ask_about("hob why", url, "/api/v1/what-if?file=", srv_cli_ended(&name), json, &code);
	if (answer)
		print_what_if(answer);
	return code;
}

static int run_why(int argc, char **argv)
{
	const char *url = srv_cli_default_url(), *against = NULL, *file = NULL;
	bool json = false;
	cli_option options[] = {
		{"--against", 0, CLI_TEXT, &against, "REV", "compare with the version served at this revision"},
		{"--if", 0, CLI_TEXT, &file, "FILE", "list what a change of this file would rebuild"},
		{"--json", 0, CLI_FLAG, &json, NULL, "as JSON"},
		CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_why, options, HOB_COUNT_OF(options), argc, argv);
	if (file && (operands > 0 || against))
		return srv_cli_usage_error(&srv_cli_why, "--if FILE asks about a file: leave the asset out");
	if (file)
		return what_if(url, file, json);
	if (operands != 1)
		return srv_cli_usage_error(&srv_cli_why, "name one asset, as in 'hob ls'");
	if (against && (against[0] == 0 || strspn(against, "0123456789") != strlen(against)))
		return srv_cli_usage_error(
			&srv_cli_why, "'%s' is not a revision: a number as in 'hob status' and 'hob watch'", against);
	char id[32], target[128];
	int code = EXIT_GOOD;
	if (!srv_cli_find_id("hob why", url, argv[1], id, &code))
		return code;
	snprintf(target, sizeof target, "/api/v1/assets/%s/why%s%.24s", id, against ? "?rev=" : "",
			 against ? against : "");
	hob_own_json *why = srv_cli_ask_json("hob why", url, target, json, &code);
	if (!why)
		return code;
	snprintf(target, sizeof target, "/api/v1/assets/%s", id);
	hob_own_json *asset = srv_cli_ask_json("hob why", url, target, false, &code);
	if (asset)
		print_why(url, why, asset, against);
	return code;
}

const cli_command srv_cli_why = {"why", "ASSET | --if FILE", "show why an asset was (or was not) cooked",
								 "Shows what triggered the newest job, which inputs and settings differ from "
								 "the previous cook (or from the version served at revision REV), what the "
								 "cook reported, and a command that repeats it without the daemon.\n"
								 "\n"
								 "Examples:\n"
								 "  hob why art/props/duck.glb\n"
								 "  hob why art/props/duck.glb --against 4100\n"
								 "  hob why --if art/textures/wood.png\n",
								 run_why};

/* ---- log */

/* ASSET, a full name, gives its newest finished job; JOB gives that job. NULL after a message. */
static cJSON *find_job(const char *url, const char *name, bool is_job, int *code)
{
	const char *target = is_job ? "/api/v1/jobs/" : "/api/v1/jobs?state=done&limit=1&asset=";
	cJSON *answer = srv_cli_ask_about("hob log", url, target, name, false, code);
	if (is_job || !answer)
		return answer;
	cJSON *job = cJSON_DetachItemFromArray(cJSON_GetObjectItemCaseSensitive(answer, "items"), 0);
	cJSON_Delete(answer);
	if (!job) {
		fprintf(stderr, "hob log: no job of '%s' has finished yet; --follow waits for one\n", name);
		*code = EXIT_ASSETS_FAILED;
	}
	return job;
}

static void print_text(const char *url, double id)
{
	char target[64];
	cli_response response;
	hob_error error = {0};
	snprintf(target, sizeof target, "/api/v1/jobs/%.0f/log", id);
	if (!srv_cli_request(url, "GET", target, NULL, (hob_str){0}, &response, &error))
		return;
	hob_str text = hob_buf_str(&response.body);
	for (size_t at = 0; response.status == 200 && at < text.len;) {
		size_t end = hob_str_find(text, HOB_STR("\n"), at);
		end = end == SIZE_MAX ? text.len : end;
		printf("  printed   %.*s\n", HOB_FMT(hob_str_sub(text, at, end)));
		at = end + 1;
	}
	srv_cli_response_release(&response);
}

static void print_stages(const cJSON *job)
{
	const cJSON *stage;
	bool over = strcmp(srv_cli_text(job, "state"), "done") == 0;
	cJSON_ArrayForEach(stage, srv_cli_member(job, "stages"))
	{
		printf("  stage     %-12s %12.3f ms%s\n", srv_cli_text(stage, "stage"), srv_cli_number(stage, "ms"),
			   over || stage->next ? "" : "  until now");
	}
	if (cJSON_GetArraySize(srv_cli_member(job, "stages")) == 0)
		print_line("stage", over ? "not kept: it was answered by an earlier cook"
								 : "none: it waits for its turn, or for a program that writes a file");
}

static void print_job(const char *url, const cJSON *job, bool stages)
{
	char took[32], peak[32];
	const char *result = srv_cli_text(job, "result"), *asset = srv_cli_text(job, "asset");
	bool cooked = srv_cli_number(job, "cook_ms") > 0;
	bool known = strcmp(result, "failed") == 0 && cJSON_IsTrue(srv_cli_member(job, "cached"));
	hob_own_buf line = {0};
	hob_buf_printf(&line, "job %.0f  %s  %s%s%s%s", srv_cli_number(job, "id"),
				   asset[0] ? asset : srv_cli_text(job, "kind"),
				   srv_cli_standing_color(strcmp(result, "failed") == 0 ? "broken" : "fresh"),
				   result[0] ? result : srv_cli_text(job, "state"), srv_cli_color_off(),
				   known ? AS_KNOWN : "");
	if (cooked)
		hob_buf_printf(&line, "  %s, %s of memory",
					   srv_text_duration((uint64_t)(srv_cli_number(job, "cook_ms") * 1e6), took),
					   srv_text_bytes((uint64_t)srv_cli_number(job, "peak_bytes"), peak));
	hob_buf_printf(&line, "  %s%s%s\n", srv_cli_dim(), srv_cli_text(job, "finished_at"), srv_cli_color_off());
	srv_cli_print_lines(hob_buf_str(&line));
	print_reasons(srv_cli_member(job, "reason"));
	if (cJSON_IsObject(srv_cli_member(job, "error")))
		print_error(srv_cli_member(job, "error"));
	if (!asset[0])
		return;
	if (stages)
		print_stages(job);
	print_text(url, srv_cli_number(job, "id"));
	int ignored = EXIT_GOOD;
	hob_own_json *about = srv_cli_ask_asset("hob log", url, asset, &ignored);
	if (about && strcmp(result, "failed") != 0 && srv_cli_number(about, "warnings") > 0)
		print_warnings(url, about);
	if (about)
		print_again(url, about);
}

typedef struct follower {
	const char *url, *asset;
	double job; /* 0: the asset's newest job */
	bool json;
} follower;

static void show(const follower *f, const cJSON *job)
{
	if (f->json)
		srv_cli_print_json(job);
	else
		print_job(f->url, job, f->job > 0);
	fflush(stdout);
}

static bool on_event(void *user, hob_str line)
{
	follower *f = user;
	if (!hob_str_starts(line, HOB_STR("data: ")))
		return true;
	hob_own_json *event = cJSON_ParseWithLength(line.data + 6, line.len - 6);
	static const char *const ends[] = {"cooked", "hit", "fetched", "failed", "skipped", "cancelled", "done"};
	bool over = false, going = true;
	for (size_t i = 0; i < HOB_COUNT_OF(ends); i++)
		over = over || strcmp(srv_cli_text(event, "state"), ends[i]) == 0;
	bool mine = f->job > 0 ? srv_cli_number(event, "id") == f->job
						   : strcmp(srv_cli_text(event, "asset"), f->asset) == 0;
	if (over && mine) {
		char id[32];
		int code = EXIT_GOOD;
		snprintf(id, sizeof id, "%.0f", srv_cli_number(event, "id"));
		hob_own_json *job = find_job(f->url, id, true, &code);
		if (job)
			show(f, job);
		going = f->job == 0;
	}
	return going;
}

static int follow(follower *f)
{
	hob_error error = {0};
	if (!srv_cli_stream(f->url, "/api/v1/events?kinds=job", NULL, on_event, f, &error))
		return srv_cli_fail("hob log", &error, error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_UNREACHABLE);
	return f->job > 0 ? EXIT_GOOD : EXIT_UNREACHABLE;
}

static int run_log(int argc, char **argv)
{
	const char *url = srv_cli_default_url();
	bool json = false, following = false;
	cli_option options[] = {{"--follow", 'f', CLI_FLAG, &following, NULL,
							 "then wait: for the end of the job, or for each next job of the asset"},
							{"--json", 0, CLI_FLAG, &json, NULL, "the jobs as JSON, one per line"},
							CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_log, options, HOB_COUNT_OF(options), argc, argv);
	if (operands != 1)
		return srv_cli_usage_error(&srv_cli_log, "name one asset, as in 'hob ls', or the number of a job");
	bool is_job = argv[1][0] && strspn(argv[1], "0123456789") == strlen(argv[1]);
	int code = EXIT_GOOD;
	hob_own_buf full = {0};
	bool known = is_job || srv_cli_full_name("hob log", url, argv[1], &full, &code);
	if (!known)
		return code;
	const char *name = is_job ? argv[1] : srv_cli_ended(&full);
	hob_own_json *job = find_job(url, name, is_job, &code);
	bool over = strcmp(srv_cli_text(job, "state"), "done") == 0;
	follower f = {url, name, is_job ? srv_cli_number(job, "id") : 0, json};
	if (job && (over || !following))
		show(&f, job);
	bool waits = following && (is_job ? job && !over : job || code == EXIT_ASSETS_FAILED);
	return waits ? follow(&f) : code;
}

const cli_command srv_cli_log = {
	"log", "ASSET|JOB", "show what the last cook reported",
	"Shows the newest finished job of an asset, or one job by its number: its result, notes, the output of "
	"the cook process, its cost, and a command that repeats it without the daemon; for a number also the "
	"stages, and how long each took.\n"
	"\n"
	"Examples:\n"
	"  hob log art/props/duck.glb\n"
	"  hob log 991\n"
	"  hob log art/props/duck.glb --follow\n",
	run_log};
