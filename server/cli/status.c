#include "query.h"

#include "../log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* hob status: one screen about the daemon; --watch repeats it after each change; --live and --ready answer
 * yes or no. */

static void put_standings(const cJSON *standings, hob_buf *out)
{
	const cJSON *count;
	cJSON_ArrayForEach(count, standings)
	{
		bool fresh = srv_cli_is_fresh(count->string);
		if (cJSON_IsNumber(count) && count->valuedouble > 0 && strcmp(count->string, "total") != 0)
			hob_buf_printf(out, "  %8.0f  %s%s%s%s%s\n", count->valuedouble,
						   srv_cli_standing_color(count->string), count->string, srv_cli_color_off(),
						   fresh ? "" : "   hob ls --state ", fresh ? "" : count->string);
	}
}

static void put_queue(const cJSON *queue, hob_buf *out)
{
	static const struct {
		const char *name, *words;
	} urgent[] = {{"interactive", "asked for now"},
				  {"in-use", "in use by clients"},
				  {"changed", "just changed"},
				  {"background", "other"}};
	double waiting = srv_cli_number(queue, "length");
	char count[48];
	if (srv_cli_number(queue, "in_changeset") > 0)
		hob_buf_printf(out, "  changeset %s finished, published when the rest is cooked\n",
					   srv_cli_count(srv_cli_number(queue, "in_changeset"), "change", count));
	if (srv_cli_number(queue, "running") + waiting == 0)
		return;
	hob_buf_printf(out, "  cooking   %.0f now, %.0f waiting", srv_cli_number(queue, "running"), waiting);
	const char *before = ": ";
	for (size_t i = 0; i < HOB_COUNT_OF(urgent); i++)
		if (srv_cli_number(queue, urgent[i].name) > 0) {
			hob_buf_printf(out, "%s%.0f %s", before, srv_cli_number(queue, urgent[i].name), urgent[i].words);
			before = ", ";
		}
	hob_buf_put(out, "\n", 1);
}

static void put_stats(const char *url, const cJSON *stats, hob_buf *out)
{
	const cJSON *assets = srv_cli_member(stats, "assets"), *bytes = srv_cli_member(stats, "bytes");
	const cJSON *queue = srv_cli_member(stats, "queue"), *cache = srv_cli_member(stats, "cache");
	char a[32], b[32], count[48];
	hob_buf_printf(out, "%s  %s, up %s, %s, revision %.0f\n", url,
				   cJSON_IsTrue(srv_cli_member(stats, "ready")) ? "ready" : "scanning",
				   srv_text_duration((uint64_t)srv_cli_number(stats, "uptime_ms") * 1000000, a),
				   srv_cli_count(srv_cli_number(assets, "total"), "asset", count),
				   srv_cli_number(stats, "rev"));
	const cJSON *standings = srv_cli_member(stats, "standings"); /* a daemon of 0.2 has none */
	put_standings(standings ? standings : assets, out);
	if (srv_cli_text(stats, "degraded")[0])
		hob_buf_printf(out, "  %sdegraded%s   %s\n", srv_cli_standing_color("broken"), srv_cli_color_off(),
					   srv_cli_text(stats, "degraded"));
	put_queue(queue, out);
	hob_buf_printf(out, "  models    %s (their own files only), %s cooked, %s\n",
				   srv_text_bytes((uint64_t)srv_cli_number(bytes, "source"), a),
				   srv_text_bytes((uint64_t)srv_cli_number(bytes, "cooked"), b),
				   srv_cli_count(srv_cli_number(stats, "warnings"), "warning", count));
	hob_buf_printf(out, "  cache     %s", srv_text_bytes((uint64_t)srv_cli_number(cache, "bytes"), a));
	if (srv_cli_number(cache, "limit_bytes") > 0)
		hob_buf_printf(out, " of %s", srv_text_bytes((uint64_t)srv_cli_number(cache, "limit_bytes"), b));
	hob_buf_printf(out, ", %s free on its disk\n",
				   srv_text_bytes((uint64_t)srv_cli_number(cache, "disk_free_bytes"), b));
}

/* Prints the upstream of the daemon's cache. */
static void put_upstream(const cJSON *upstream, hob_buf *out)
{
	char bytes[32], count[48];
	const char *state = srv_cli_text(upstream, "state");
	if (!cJSON_IsObject(upstream))
		return;
	hob_buf_printf(out, "  upstream  %s  ", srv_cli_text(upstream, "url"));
	if (strcmp(state, "up") != 0)
		hob_buf_printf(out, "%s%s%s since %s: %s", srv_cli_standing_color("broken"), state,
					   srv_cli_color_off(), srv_cli_text(upstream, "since"),
					   srv_cli_text(upstream, "reason"));
	else
		hob_buf_printf(out, "%s fetched, %s",
					   srv_cli_count(srv_cli_number(upstream, "fetched"), "result", count),
					   srv_text_bytes((uint64_t)srv_cli_number(upstream, "fetched_bytes"), bytes));
	if (srv_cli_number(upstream, "outbox") > 0)
		hob_buf_printf(out, "; %s to give",
					   srv_cli_count(srv_cli_number(upstream, "outbox"), "result", count));
	if (srv_cli_number(upstream, "refused") > 0)
		hob_buf_printf(out, "; %.0f refused, see the log", srv_cli_number(upstream, "refused"));
	hob_buf_put(out, "\n", 1);
}

static void put_roots(const cJSON *roots, hob_buf *out)
{
	const cJSON *item;
	char count[48];
	cJSON_ArrayForEach(item, srv_cli_member(roots, "items"))
	{
		const char *note = srv_cli_text(item, "note");
		bool noted = note[0] && strcmp(note, srv_cli_text(item, "mode")) != 0;
		const char *missing = srv_cli_text(item, "missing_since");
		if (missing[0]) {
			hob_buf_printf(out, "  %smissing%s   %s  since %s: %s\n", srv_cli_standing_color("broken"),
						   srv_cli_color_off(), srv_cli_text(item, "path"), missing, note);
			continue;
		}
		hob_buf_printf(out, "  watching  %s  (%s, %s%s%s)\n", srv_cli_text(item, "path"),
					   srv_cli_text(item, "mode"),
					   srv_cli_count(srv_cli_number(item, "files"), "file", count), noted ? "; " : "",
					   noted ? note : "");
		if (srv_cli_text(item, "skipped")[0])
			hob_buf_printf(out, "  skipped   %s\n", srv_cli_text(item, "skipped"));
	}
}

static int print_once(const char *url, hob_buf *out)
{
	int code = EXIT_GOOD;
	cJSON *stats = srv_cli_ask_json("hob status", url, "/api/v1/stats", false, &code);
	cJSON *roots = stats ? srv_cli_ask_json("hob status", url, "/api/v1/roots", false, &code) : NULL;
	if (stats)
		put_stats(url, stats, out);
	put_upstream(srv_cli_member(stats, "upstream"), out);
	put_roots(roots, out);
	cJSON_Delete(stats);
	cJSON_Delete(roots);
	return code;
}

/* On a terminal each screen replaces the previous one; elsewhere it is appended. */
static void draw(const hob_buf *text, uint32_t *lines, bool terminal)
{
	if (terminal && *lines > 0)
		printf("\x1b[%uA\x1b[J", *lines);
	else if (*lines > 0)
		printf("\n");
	fwrite(text->data, 1, text->size, stdout);
	fflush(stdout);
	*lines = 0;
	for (size_t i = 0; i < text->size; i++)
		*lines += text->data[i] == '\n';
}

/* Returns when something has changed since `since`, or after WAIT_S; false if the daemon is gone. */
static bool wait_for_change(const char *url, hob_buf *since)
{
	enum { WAIT_S = 20 };
	static const struct timespec gather = {0,
										   200000000}; /* collects related changes before the next screen */
	char target[160];
	snprintf(target, sizeof target, "/api/v1/changes?wait=%d&limit=1000&kinds=asset,job%s%.80s", WAIT_S,
			 since->size > 0 ? "&since=" : "", since->size > 0 ? (const char *)since->data : "");
	int status;
	cJSON *root = srv_cli_try_json(url, target, &status);
	if (srv_cli_text(root, "next")[0]) {
		hob_buf_clear(since);
		hob_buf_put_str(since, hob_str_of(srv_cli_text(root, "next")));
		hob_buf_put(since, "", 1);
		nanosleep(&gather, NULL);
	}
	cJSON_Delete(root);
	return status == 200 || status == 204;
}

static int watch(const char *url)
{
	static const struct timespec pause = {1, 0};
	hob_buf text = {0}, shown = {0}, since = {0};
	uint32_t lines = 0;
	bool terminal = isatty(1);
	int code = EXIT_GOOD;
	for (bool going = true; going;) {
		hob_buf_clear(&text);
		code = print_once(url, &text);
		going = code == EXIT_GOOD;
		if (going && !hob_str_equal(hob_buf_str(&text), hob_buf_str(&shown))) {
			draw(&text, &lines, terminal);
			hob_buf_clear(&shown);
			hob_buf_put_str(&shown, hob_buf_str(&text));
		}
		while (going && !wait_for_change(url, &since)) {
			nanosleep(&pause, NULL);
			/* at a terminal, wait for a restart of the daemon; a script gets an exit code */
			going = isatty(2);
		}
	}
	hob_buf_release(&text);
	hob_buf_release(&shown);
	hob_buf_release(&since);
	return code == EXIT_GOOD ? EXIT_UNREACHABLE : code;
}

/* Checks the daemon's health, for container engines: images have no curl. */
static int check_health(const char *url, bool ready)
{
	cli_response response;
	hob_error error = {0};
	if (!srv_cli_request(url, "GET", ready ? "/readyz" : "/livez", NULL, (hob_str){0}, &response, &error))
		return srv_cli_fail("hob status", &error, EXIT_UNREACHABLE);
	int status = response.status;
	if (status != 200)
		fprintf(stderr, "hob status: %.*s", HOB_FMT(hob_buf_str(&response.body)));
	srv_cli_response_release(&response);
	return status == 200 ? EXIT_GOOD : EXIT_ASSETS_FAILED;
}

static int run_status(int argc, char **argv)
{
	const char *url = srv_cli_default_url();
	bool json = false, watching = false, ready = false, live = strcmp(argv[0], "healthcheck") == 0;
	if (live)
		fprintf(stderr, "hob healthcheck: use 'hob status --live' or 'hob status --ready'\n");
	cli_option options[] = {
		{"--live", 0, CLI_FLAG, &live, NULL, "print nothing; exit 0 if the daemon answers, 3 if it does not"},
		{"--ready", 0, CLI_FLAG, &ready, NULL,
		 "likewise; exit 1 until the scan is complete and Hob can cook"},
		{"--watch", 'w', CLI_FLAG, &watching, NULL, "update after each change, until Ctrl-C"},
		{"--json", 0, CLI_FLAG, &json, NULL, "as JSON"},
		CLI_URL_OPTION(url)};
	srv_cli_parse(&srv_cli_status, options, HOB_COUNT_OF(options), argc, argv);
	if (json && watching)
		return srv_cli_usage_error(&srv_cli_status,
								   "--watch is for people; 'hob watch' prints changes as JSON");
	if (live || ready)
		return check_health(url, ready);
	int code = EXIT_GOOD;
	if (json) {
		srv_cli_ask_json("hob status", url, "/api/v1/stats", true, &code);
		return code;
	}
	if (watching)
		return watch(url);
	hob_buf text = {0};
	code = print_once(url, &text);
	printf("%.*s", HOB_FMT(hob_buf_str(&text)));
	hob_buf_release(&text);
	return code;
}

const cli_command srv_cli_status = {
	"status", "", "show what the daemon is doing",
	"Shows the number of assets in each state, the cooks in progress, the size of models, results and cache, "
	"and the watched folders with the way that Hob notices changes in them.\n"
	"\n"
	"Examples:\n"
	"  hob status\n"
	"  hob status --watch\n"
	"  hob status --json | jq .assets\n"
	"  hob status --ready && echo serving\n",
	run_status};
