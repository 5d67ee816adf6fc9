#include "cli.h"
#include "http_client.h"
#include "query.h"

#include "../log/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The commands that ask a running daemon: status, ls, why, get, watch. */

static const char *text_of(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
	return text ? text : "";
}

static double number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *state_color(const char *state)
{
	if (!srv_color_wanted(1))
		return "";
	if (strcmp(state, "fresh") == 0)
		return "\x1b[32m";
	if (strcmp(state, "failed") == 0 || strcmp(state, "quarantined") == 0)
		return "\x1b[31m";
	return "\x1b[33m";
}

static const char *color_off(void)
{
	return srv_color_wanted(1) ? "\x1b[0m" : "";
}

/* Asks and parses; prints what went wrong and sets *code otherwise. */
static cJSON *ask_json(const char *who, const char *url, const char *target, bool raw, int *code)
{
	cli_response response;
	hob_error error = {0};
	if (!cli_request(url, "GET", target, NULL, (hob_str){0}, &response, &error)) {
		cli_print_error(who, &error);
		*code = EXIT_UNREACHABLE;
		return NULL;
	}
	cJSON *root = NULL;
	if (response.status >= 400)
		*code = cli_print_problem(who, &response);
	else if (raw)
		fwrite(response.body.data, 1, response.body.size, stdout);
	else if (!(root = cJSON_ParseWithLength((const char *)response.body.data, response.body.size)))
		*code = EXIT_INTERNAL;
	cli_response_release(&response);
	return root;
}

/* ---- status */

static int run_status(int argc, char **argv)
{
	const char *url = cli_default_url();
	bool json = false;
	cli_option options[] = {
		{"--url", 0, CLI_TEXT, &url, "URL", "the daemon (HOB_URL, http://127.0.0.1:7780)"},
		{"--json", 0, CLI_FLAG, &json, NULL, "as JSON"}};
	int operands = cli_parse(&cli_status, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	int code = EXIT_GOOD;
	cJSON *root = ask_json("hob status", url, "/api/v1/stats", json, &code);
	if (!root)
		return code;
	const cJSON *states = cJSON_GetObjectItemCaseSensitive(root, "assets"), *state;
	const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(root, "bytes");
	char source[32], cooked[32];
	printf("%s  %s, %.0f assets, revision %.0f\n", url,
		   cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "ready")) ? "ready" : "scanning",
		   number_of(states, "total"), number_of(root, "rev"));
	cJSON_ArrayForEach(state, states)
	{
		if (cJSON_IsNumber(state) && state->valuedouble > 0 && strcmp(state->string, "total") != 0)
			printf("  %8.0f  %s%s%s\n", state->valuedouble, state_color(state->string), state->string,
				   color_off());
	}
	printf("  %s of sources, %s cooked, %.0f with warnings\n",
		   srv_text_bytes((uint64_t)number_of(bytes, "source"), source),
		   srv_text_bytes((uint64_t)number_of(bytes, "cooked"), cooked), number_of(root, "warnings"));
	cJSON_Delete(root);
	cJSON *roots = ask_json("hob status", url, "/api/v1/roots", false, &code);
	const cJSON *item;
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(roots, "items")) printf(
		"  %s  %s, %.0f files\n", text_of(item, "path"), text_of(item, "mode"), number_of(item, "files"));
	cJSON_Delete(roots);
	return code;
}

const cli_command cli_status = {"status", "", "what the daemon is doing",
								"Examples:\n  hob status\n  hob status --json | jq .assets\n", run_status};

/* ---- ls */

static void print_asset(const cJSON *item, bool detailed)
{
	char size[32];
	const char *state = text_of(item, "state");
	const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(item, "bytes");
	const cJSON *stats = cJSON_GetObjectItemCaseSensitive(item, "stats");
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(item, "error");
	printf("%s%-11s%s ", state_color(state), state, color_off());
	if (detailed)
		printf("%9s %10.0f tris %3.0f warnings  ", srv_text_bytes((uint64_t)number_of(bytes, "cooked"), size),
			   number_of(stats, "triangles"), number_of(item, "warnings"));
	printf("%s/%s\n", text_of(item, "root"), text_of(item, "path"));
	if (cJSON_IsObject(error))
		printf("            %s\n", text_of(error, "message"));
}

static int run_ls(int argc, char **argv)
{
	const char *url = cli_default_url(), *state = NULL;
	bool json = false, detailed = false;
	cli_option options[] = {
		{"--state", 0, CLI_TEXT, &state, "STATES", "only these, comma-separated: fresh, failed ..."},
		{"--long", 'l', CLI_FLAG, &detailed, NULL, "sizes, triangles, warnings"},
		{"--json", 0, CLI_FLAG, &json, NULL, "one JSON object per line"},
		{"--url", 0, CLI_TEXT, &url, "URL", "the daemon"}};
	int operands = cli_parse(&cli_ls, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	if (operands > 1)
		return cli_usage_error(&cli_ls, "one search text at most");
	hob_buf cursor = {0};
	uint32_t listed = 0;
	int code = EXIT_GOOD;
	for (bool more = true; more && code == EXIT_GOOD;) {
		hob_buf target = {0};
		hob_buf_put_str(&target, json ? HOB_STR("/api/v1/assets?limit=1000&format=ndjson")
									  : HOB_STR("/api/v1/assets?limit=1000"));
		if (operands == 1) {
			hob_buf_put_str(&target, HOB_STR("&q="));
			cli_encode(&target, hob_str_of(argv[1]));
		}
		if (state) {
			hob_buf_put_str(&target, HOB_STR("&state="));
			cli_encode(&target, hob_str_of(state));
		}
		if (cursor.size > 0) {
			hob_buf_put_str(&target, HOB_STR("&cursor="));
			hob_buf_put_str(&target, hob_buf_str(&cursor));
		}
		hob_buf_put(&target, "", 1);
		cJSON *root = ask_json("hob ls", url, (const char *)target.data, json, &code);
		hob_buf_release(&target);
		const cJSON *item;
		cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "items"))
		{
			print_asset(item, detailed);
			listed++;
		}
		hob_buf_clear(&cursor);
		hob_buf_put_str(&cursor, hob_str_of(text_of(root, "next")));
		more = root && cursor.size > 0;
		cJSON_Delete(root);
	}
	hob_buf_release(&cursor);
	if (listed == 0 && !json && code == EXIT_GOOD)
		fprintf(stderr, "no asset matches\n");
	return code;
}

const cli_command cli_ls = {"ls", "[TEXT]", "list assets",
							"Lists the assets whose path holds TEXT, with the reason of each failure. "
							"States: fresh (cooked from what is on\n"
							"disk), stale (the last good version is served; the newest cook failed or is "
							"under way), failed (never cooked\n"
							"well), quarantined (killed its cook process twice), queued, cooking.\n\n"
							"Examples:\n  hob ls\n  hob ls duck --long\n  hob ls --state failed,stale\n",
							run_ls};

/* ---- one asset by name or id */

/* Names that hold the text: people remember the file, not the folder. */
static void suggest_assets(const char *who, const char *url, const char *name)
{
	hob_buf target = {0};
	int ignored;
	hob_buf_put_str(&target, HOB_STR("/api/v1/assets?limit=3&q="));
	cli_encode(&target, hob_path_name(hob_str_of(name)));
	hob_buf_put(&target, "", 1);
	cJSON *root = ask_json(who, url, (const char *)target.data, false, &ignored);
	const cJSON *item, *items = cJSON_GetObjectItemCaseSensitive(root, "items");
	fputs(cJSON_GetArraySize(items) > 0 ? "; did you mean\n" : "; 'hob ls' lists them as root/path\n",
		  stderr);
	cJSON_ArrayForEach(item, items)
		fprintf(stderr, "  %s/%s\n", text_of(item, "root"), text_of(item, "path"));
	cJSON_Delete(root);
	hob_buf_release(&target);
}

static bool find_id(const char *who, const char *url, const char *name, char id[32], int *code)
{
	hob_buf target = {0};
	hob_buf_put_str(&target, HOB_STR("/api/v1/assets?path="));
	cli_encode(&target, hob_str_of(name));
	hob_buf_put(&target, "", 1);
	cJSON *root = ask_json(who, url, (const char *)target.data, false, code);
	hob_buf_release(&target);
	const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(root, "items"), 0);
	snprintf(id, 32, "%s", text_of(first, "id"));
	if (root && id[0] == 0) {
		fprintf(stderr, "%s: there is no asset '%s'", who, name);
		suggest_assets(who, url, name);
		*code = EXIT_USAGE;
	}
	cJSON_Delete(root);
	return id[0] != 0;
}

cJSON *cli_ask_asset(const char *who, const char *url, const char *name, int *code)
{
	char id[32], target[96];
	if (!find_id(who, url, name, id, code))
		return NULL;
	snprintf(target, sizeof target, "/api/v1/assets/%s", id);
	return ask_json(who, url, target, false, code);
}

/* ---- why */

static void print_reason(const cJSON *reason)
{
	printf("  because  %s", text_of(reason, "kind"));
	if (text_of(reason, "path")[0])
		printf(" %s", text_of(reason, "path"));
	printf("\n");
}

/* The report of the cook that is served holds its notes. */
static void print_warnings(const char *url, const char *root, const char *path)
{
	hob_buf target = {0};
	hob_buf_put_str(&target, HOB_STR("/a/"));
	cli_encode(&target, hob_str_of(root));
	hob_buf_put(&target, "/", 1);
	cli_encode(&target, hob_str_of(path));
	hob_buf_put_str(&target, HOB_STR("?output=report"));
	hob_buf_put(&target, "", 1);
	int ignored;
	cJSON *report = ask_json("hob why", url, (const char *)target.data, false, &ignored);
	const cJSON *note;
	cJSON_ArrayForEach(note, cJSON_GetObjectItemCaseSensitive(report, "notes"))
	{
		if (strcmp(text_of(note, "level"), "warning") == 0)
			printf("  warning  %s\n", text_of(note, "text"));
	}
	cJSON_Delete(report);
	hob_buf_release(&target);
}

static int run_why(int argc, char **argv)
{
	const char *url = cli_default_url();
	bool json = false;
	cli_option options[] = {{"--json", 0, CLI_FLAG, &json, NULL, "as JSON"},
							{"--url", 0, CLI_TEXT, &url, "URL", "the daemon"}};
	int operands = cli_parse(&cli_why, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	if (operands != 1)
		return cli_usage_error(&cli_why, "name one asset, as in 'hob ls'");
	char id[32], target[96];
	int code = EXIT_GOOD;
	if (!find_id("hob why", url, argv[1], id, &code))
		return code;
	snprintf(target, sizeof target, "/api/v1/assets/%s/why", id);
	cJSON *root = ask_json("hob why", url, target, json, &code);
	if (!root)
		return code;
	printf("%s: %s\n", text_of(root, "asset"), text_of(root, "verdict"));
	const cJSON *item;
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "reason")) print_reason(item);
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "changed"))
	{
		if (cJSON_HasObjectItem(item, "input"))
			printf("  changed  %s  %.12s -> %.12s\n", text_of(item, "input"),
				   text_of(item, "from")[0] ? text_of(item, "from") : "(missing)",
				   text_of(item, "to")[0] ? text_of(item, "to") : "(missing)");
		else
			printf("  changed  settings or tool versions\n");
	}
	if (text_of(root, "key")[0])
		printf("  %.0f other inputs as before; key %.16s\n", number_of(root, "unchanged"),
			   text_of(root, "key"));
	cJSON_Delete(root);
	snprintf(target, sizeof target, "/api/v1/assets/%s", id);
	cJSON *asset = ask_json("hob why", url, target, false, &code);
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(asset, "error");
	if (cJSON_IsObject(error))
		printf("  failed   %s\n  hint     %s\n", text_of(error, "message"), text_of(error, "hint"));
	else if (number_of(asset, "warnings") > 0)
		print_warnings(url, text_of(asset, "root"), text_of(asset, "path"));
	cJSON_Delete(asset);
	return code;
}

const cli_command cli_why = {
	"why", "ASSET", "why it was (or was not) cooked",
	"Tells what made the newest job run and which inputs differ from the recipe before.\n\n"
	"Examples:\n  hob why art/props/duck.glb\n",
	run_why};

/* ---- get */

static int run_get(int argc, char **argv)
{
	const char *url = cli_default_url(), *out = NULL;
	uint32_t wait = 0;
	bool hash = false;
	cli_option options[] = {{"--out", 'o', CLI_TEXT, &out, "FILE", "write there instead of to stdout"},
							{"--wait", 0, CLI_NUMBER, &wait, "SECONDS", "wait for a cook that is under way"},
							{"--hash", 0, CLI_FLAG, &hash, NULL, "print the SHA-256 instead of the bytes"},
							{"--url", 0, CLI_TEXT, &url, "URL", "the daemon"}};
	int operands = cli_parse(&cli_get, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	if (operands < 1 || operands > 2)
		return cli_usage_error(&cli_get, "name an asset and, if you like, an output");
	if (!out && !hash && isatty(1))
		return cli_usage_error(&cli_get, "the bytes are not for a terminal: use -o FILE");
	hob_buf target = {0};
	hob_buf_put_str(&target, HOB_STR("/a/"));
	cli_encode(&target, hob_str_of(argv[1]));
	hob_buf_put_str(&target, HOB_STR("?output="));
	cli_encode(&target, hob_str_of(operands == 2 ? argv[2] : "meshes"));
	hob_buf_put_str(&target, HOB_STR("&final=1"));
	hob_buf_put(&target, "", 1);
	char prefer[48];
	snprintf(prefer, sizeof prefer, "Prefer: wait=%u", wait);
	cli_response response;
	hob_error error = {0};
	bool ok = cli_request(url, "GET", (const char *)target.data, wait ? prefer : NULL, (hob_str){0},
						  &response, &error);
	hob_buf_release(&target);
	if (!ok) {
		cli_print_error("hob get", &error);
		return EXIT_UNREACHABLE;
	}
	int code = EXIT_GOOD;
	if (response.status == 202) {
		fprintf(stderr, "hob get: it is not cooked yet; --wait SECONDS waits for it\n");
		code = EXIT_ASSETS_FAILED;
	} else if (response.status >= 300) {
		code = cli_print_problem("hob get", &response);
	} else if (hash) {
		printf("%s\n", response.hash);
	} else {
		FILE *file = out ? fopen(out, "wb") : stdout;
		bool wrote = file && fwrite(response.body.data, 1, response.body.size, file) == response.body.size;
		if (file && fflush(file) != 0)
			wrote = false;
		if (out && file && fclose(file) != 0)
			wrote = false;
		if (!wrote) {
			fprintf(stderr, "hob get: '%s' cannot be written: %s\n", out ? out : "stdout", strerror(errno));
			code = EXIT_INTERNAL;
		}
	}
	if (code == EXIT_GOOD && strcmp(response.state, "stale") == 0)
		fprintf(stderr, "hob get: this is the last good version; a newer one failed or is under way\n");
	cli_response_release(&response);
	return code;
}

const cli_command cli_get = {
	"get", "ASSET [OUTPUT]", "fetch a cooked blob",
	"OUTPUT is meshes (default), materials, scene, animations, report, textures/N or classic.meshes,\n"
	"classic.materials, classic.scene.\n\n"
	"Examples:\n  hob get art/duck.glb -o duck.meshes\n  hob get art/duck.glb scene --wait 10 -o "
	"duck.scene\n",
	run_get};

/* ---- watch */

static bool print_event(void *user, hob_str line)
{
	(void)user;
	if (!hob_str_starts(line, HOB_STR("data: ")))
		return true;
	printf("%.*s\n", (int)(line.len - 6), line.data + 6);
	return fflush(stdout) == 0;
}

static int run_watch(int argc, char **argv)
{
	const char *url = cli_default_url(), *since = NULL;
	cli_option options[] = {{"--since", 0, CLI_TEXT, &since, "ID", "first what happened after this event id"},
							{"--url", 0, CLI_TEXT, &url, "URL", "the daemon"}};
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
	bool ok = cli_stream(url, (const char *)target.data, print_event, NULL, &error);
	hob_buf_release(&target);
	if (!ok) {
		cli_print_error("hob watch", &error);
		return EXIT_UNREACHABLE;
	}
	fprintf(stderr, "hob watch: the daemon ended the stream\n");
	return EXIT_UNREACHABLE;
}

const cli_command cli_watch = {"watch", "[GLOB]", "print changes as they happen, one JSON object per line",
							   "Examples:\n  hob watch\n  hob watch 'art/props/*' | jq -r .asset\n",
							   run_watch};

/* ---- healthcheck: for container engines, which have no curl */

static int run_healthcheck(int argc, char **argv)
{
	const char *url = cli_default_url();
	bool ready = false;
	cli_option options[] = {{"--ready", 0, CLI_FLAG, &ready, NULL, "ask whether the first scan is over, too"},
							{"--url", 0, CLI_TEXT, &url, "URL", "the daemon"}};
	int operands = cli_parse(&cli_healthcheck, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	cli_response response;
	hob_error error = {0};
	if (!cli_request(url, "GET", ready ? "/readyz" : "/livez", NULL, (hob_str){0}, &response, &error)) {
		cli_print_error("hob healthcheck", &error);
		return EXIT_UNREACHABLE;
	}
	int status = response.status;
	cli_response_release(&response);
	return status == 200 ? EXIT_GOOD : EXIT_ASSETS_FAILED;
}

const cli_command cli_healthcheck = {"healthcheck", "", "exit 0 when the daemon is alive",
									 "Examples:\n  hob healthcheck --ready && echo serving\n",
									 run_healthcheck};
