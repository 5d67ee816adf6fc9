#include "query.h"

#include "../log/log.h"

#include <stdio.h>

/* hob status: one screen about the daemon; --live and --ready answer yes or no. */

static void print_standings(const cJSON *standings)
{
	const cJSON *count;
	cJSON_ArrayForEach(count, standings)
	{
		bool fresh = srv_cli_is_fresh(count->string);
		if (cJSON_IsNumber(count) && count->valuedouble > 0 && strcmp(count->string, "total") != 0)
			printf("  %8.0f  %s%s%s%s%s\n", count->valuedouble, srv_cli_standing_color(count->string),
				   count->string, srv_cli_color_off(), fresh ? "" : "   hob ls --state ",
				   fresh ? "" : count->string);
	}
}

static void print_queue(const cJSON *queue)
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
		printf("  changeset %s finished, published when the rest is cooked\n",
			   srv_cli_count(srv_cli_number(queue, "in_changeset"), "change", count));
	if (srv_cli_number(queue, "running") + waiting == 0)
		return;
	printf("  cooking   %.0f now, %.0f waiting", srv_cli_number(queue, "running"), waiting);
	const char *before = ": ";
	for (size_t i = 0; i < HOB_COUNT_OF(urgent); i++)
		if (srv_cli_number(queue, urgent[i].name) > 0) {
			printf("%s%.0f %s", before, srv_cli_number(queue, urgent[i].name), urgent[i].words);
			before = ", ";
		}
	putchar('\n');
}

static void print_stats(const char *url, const cJSON *stats)
{
	const cJSON *assets = srv_cli_member(stats, "assets"), *bytes = srv_cli_member(stats, "bytes");
	const cJSON *queue = srv_cli_member(stats, "queue"), *cache = srv_cli_member(stats, "cache");
	char a[32], b[32], count[48];
	printf("%s  %s, up %s, %s, revision %.0f\n", url,
		   cJSON_IsTrue(srv_cli_member(stats, "ready")) ? "ready" : "scanning",
		   srv_text_duration((uint64_t)srv_cli_number(stats, "uptime_ms") * 1000000, a),
		   srv_cli_count(srv_cli_number(assets, "total"), "asset", count), srv_cli_number(stats, "rev"));
	const cJSON *standings = srv_cli_member(stats, "standings"); /* a daemon of 0.2 has none */
	print_standings(standings ? standings : assets);
	if (srv_cli_text(stats, "degraded")[0])
		printf("  %sdegraded%s   %s\n", srv_cli_standing_color("broken"), srv_cli_color_off(),
			   srv_cli_text(stats, "degraded"));
	print_queue(queue);
	printf("  models    %s (their own files only), %s cooked, %s\n",
		   srv_text_bytes((uint64_t)srv_cli_number(bytes, "source"), a),
		   srv_text_bytes((uint64_t)srv_cli_number(bytes, "cooked"), b),
		   srv_cli_count(srv_cli_number(stats, "warnings"), "warning", count));
	printf("  cache     %s", srv_text_bytes((uint64_t)srv_cli_number(cache, "bytes"), a));
	if (srv_cli_number(cache, "limit_bytes") > 0)
		printf(" of %s", srv_text_bytes((uint64_t)srv_cli_number(cache, "limit_bytes"), b));
	printf(", %s free on its disk\n", srv_text_bytes((uint64_t)srv_cli_number(cache, "disk_free_bytes"), b));
}

/* Prints the upstream of the daemon's cache. */
static void print_upstream(const cJSON *upstream)
{
	char bytes[32], count[48];
	const char *state = srv_cli_text(upstream, "state");
	if (!cJSON_IsObject(upstream))
		return;
	printf("  upstream  %s  ", srv_cli_text(upstream, "url"));
	if (strcmp(state, "up") != 0)
		printf("%s%s%s since %s: %s", srv_cli_standing_color("broken"), state, srv_cli_color_off(),
			   srv_cli_text(upstream, "since"), srv_cli_text(upstream, "reason"));
	else
		printf("%s fetched, %s", srv_cli_count(srv_cli_number(upstream, "fetched"), "result", count),
			   srv_text_bytes((uint64_t)srv_cli_number(upstream, "fetched_bytes"), bytes));
	if (srv_cli_number(upstream, "outbox") > 0)
		printf("; %s to give", srv_cli_count(srv_cli_number(upstream, "outbox"), "result", count));
	if (srv_cli_number(upstream, "refused") > 0)
		printf("; %.0f refused, see the log", srv_cli_number(upstream, "refused"));
	putchar('\n');
}

static void print_roots(const cJSON *roots)
{
	const cJSON *item;
	char count[48];
	cJSON_ArrayForEach(item, srv_cli_member(roots, "items"))
	{
		const char *note = srv_cli_text(item, "note");
		bool noted = note[0] && strcmp(note, srv_cli_text(item, "mode")) != 0;
		const char *missing = srv_cli_text(item, "missing_since");
		if (missing[0]) {
			printf("  %smissing%s   %s  since %s: %s\n", srv_cli_standing_color("broken"),
				   srv_cli_color_off(), srv_cli_text(item, "path"), missing, note);
			continue;
		}
		printf("  watching  %s  (%s, %s%s%s)\n", srv_cli_text(item, "path"), srv_cli_text(item, "mode"),
			   srv_cli_count(srv_cli_number(item, "files"), "file", count), noted ? "; " : "",
			   noted ? note : "");
		if (srv_cli_text(item, "skipped")[0])
			printf("  skipped   %s\n", srv_cli_text(item, "skipped"));
	}
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
	bool json = false, ready = false, live = strcmp(argv[0], "healthcheck") == 0;
	if (live)
		fprintf(stderr, "hob healthcheck: use 'hob status --live' or 'hob status --ready'\n");
	cli_option options[] = {
		{"--live", 0, CLI_FLAG, &live, NULL, "print nothing; exit 0 if the daemon answers, 3 if it does not"},
		{"--ready", 0, CLI_FLAG, &ready, NULL,
		 "likewise; exit 1 until the scan is complete and Hob can cook"},
		{"--json", 0, CLI_FLAG, &json, NULL, "as JSON"},
		CLI_URL_OPTION(url)};
	srv_cli_parse(&srv_cli_status, options, HOB_COUNT_OF(options), argc, argv);
	if (live || ready)
		return check_health(url, ready);
	int code = EXIT_GOOD;
	if (json) {
		srv_cli_ask_json("hob status", url, "/api/v1/stats", true, &code);
		return code;
	}
	hob_own_json *stats = srv_cli_ask_json("hob status", url, "/api/v1/stats", false, &code);
	hob_own_json *roots = stats ? srv_cli_ask_json("hob status", url, "/api/v1/roots", false, &code) : NULL;
	if (stats)
		print_stats(url, stats);
	print_upstream(srv_cli_member(stats, "upstream"));
	print_roots(roots);
	return code;
}

const cli_command srv_cli_status = {
	"status", "", "show what the daemon is doing",
	"Shows the number of assets in each state, the cooks in progress, the size of models, results and cache, "
	"and the watched folders with the way that Hob notices changes in them.\n"
	"\n"
	"Examples:\n"
	"  hob status\n"
	"  hob status --json | jq .assets\n"
	"  hob status --ready && echo serving\n",
	run_status};
