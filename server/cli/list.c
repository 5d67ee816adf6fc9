#include "query.h"

#include "../log/log.h"

#include <stdio.h>

/* hob ls: prints the assets, page by page. */

static void print_asset(const cJSON *item, bool detailed)
{
	char size[32], warnings[48];
	const char *standing = srv_cli_standing(item);
	const cJSON *bytes = srv_cli_member(item, "bytes");
	const cJSON *stats = srv_cli_member(item, "stats");
	const cJSON *error = srv_cli_member(item, "error");
	printf("%s%-11s%s ", srv_cli_standing_color(standing), standing, srv_cli_color_off());
	if (detailed)
		printf("%9s %10.0f tris  %-12s  ", srv_text_bytes((uint64_t)srv_cli_number(bytes, "cooked"), size),
			   srv_cli_number(stats, "triangles"),
			   srv_cli_count(srv_cli_number(item, "warnings"), "warning", warnings));
	printf("%s/%s\n", srv_cli_text(item, "root"), srv_cli_text(item, "path"));
	if (cJSON_IsObject(error))
		printf("            %s\n", srv_cli_text(error, "message"));
}

/* The root may be omitted from the pattern. */
static bool matches(const char *glob, const cJSON *item)
{
	return hob_glob_match(hob_str_of(glob), hob_str_of(srv_cli_text(item, "name"))) ||
		   hob_glob_match(hob_str_of(glob), hob_str_of(srv_cli_text(item, "path")));
}

static bool put_standings(hob_str word, hob_buf *out)
{
	static const char *const words[] = {
#define STANDING(id, text, tone, old, meaning) text,
#include "../../schema/standings.def"
#undef STANDING
#define JOB_STATE(id, text, meaning) text,
#include "../../schema/job_states.def"
#undef JOB_STATE
	};
	if (srv_cli_put_standings(word, out))
		return true;
	const char *near = srv_cli_nearest(word, words, HOB_COUNT_OF(words));
	srv_cli_usage_error(&srv_cli_ls,
						near ? "there is no state '%.*s'; did you mean '%s'?" : "there is no state '%.*s'",
						HOB_FMT(word), near);
	return false;
}

static bool read_standings(const char *list, hob_buf *out)
{
	hob_str all = hob_str_of(list);
	bool known = true;
	for (size_t at = 0, end; known && at <= all.len; at = end + 1) {
		end = hob_str_find(all, HOB_STR(","), at);
		end = end == SIZE_MAX ? all.len : end;
		known = put_standings(hob_str_sub(all, at, end), out);
	}
	return known;
}

static int list_skipped(const char *url, const char *text, bool json)
{
	int code = EXIT_GOOD;
	uint32_t listed = 0;
	hob_own_json *files = srv_cli_skipped_files("hob ls", url, &code);
	const cJSON *file;
	cJSON_ArrayForEach(file, files)
	{
		const char *name = srv_cli_text(file, "name");
		if (text && !matches(text, file) && !strstr(name, text))
			continue;
		if (json)
			srv_cli_print_json(file);
		else
			printf("skipped     %s\n            %s\n", name, srv_cli_text(file, "reason"));
		listed++;
	}
	if (listed == 0 && !json && code == EXIT_GOOD)
		fprintf(stderr, "no file is skipped\n");
	return code;
}

static int run_ls(int argc, char **argv)
{
	const char *url = srv_cli_default_url(), *state = NULL, *sort = NULL, *rule = NULL;
	bool json = false, detailed = false, skipped = false, warned = false, over = false;
	cli_option options[] = {
		{"--state", 0, CLI_TEXT, &state, "STATES",
		 "only assets in these states, comma-separated: fresh, broken ..."},
		{"--sort", 0, CLI_TEXT, &sort, "KEY",
		 "path, cooked_at, cook_ms, bytes, textures or rev; with '-' in front, largest first"},
		{"--warnings", 0, CLI_FLAG, &warned, NULL, "only assets with warnings"},
		{"--over-budget", 0, CLI_FLAG, &over, NULL, "only assets over one of their budgets"},
		{"--rule", 0, CLI_TEXT, &rule, "RULE", "only assets that break this rule: mesh.open"},
		{"--skipped", 0, CLI_FLAG, &skipped, NULL,
		 "model files that Hob recognises but cannot read, with the remedy"},
		{"--long", 'l', CLI_FLAG, &detailed, NULL, "show sizes, triangles and warnings"},
		{"--json", 0, CLI_FLAG, &json, NULL, "one JSON object per line"},
		CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_ls, options, HOB_COUNT_OF(options), argc, argv);
	hob_own_buf wanted = {0}, target = {0};
	if (state && !read_standings(state, &wanted))
		return EXIT_USAGE;
	if (skipped || (state && hob_str_equal(hob_str_of(state), HOB_STR("skipped"))))
		return list_skipped(url, operands == 1 ? argv[1] : NULL, json);
	const char *glob = operands == 1 && strpbrk(argv[1], "*?[") ? argv[1] : NULL;
	uint32_t listed = 0;
	hob_buf_put_str(&target, HOB_STR("/api/v1/assets?limit=1000"));
	srv_cli_put_parameter(&target, "&q=", operands == 1 && !glob ? argv[1] : NULL);
	if (state) {
		hob_buf_put_str(&target, HOB_STR("&standing="));
		hob_buf_put_str(&target, hob_str_sub(hob_buf_str(&wanted), 1, wanted.size));
	}
	srv_cli_put_parameter(&target, "&rule=", rule);
	srv_cli_put_parameter(&target, "&sort=", sort);
	cli_pages pages = {.who = "hob ls", .url = url, .target = srv_cli_ended(&target)};
	for (const cJSON *item; (item = srv_cli_next_item(&pages));) {
		if ((glob && !matches(glob, item)) || (warned && srv_cli_number(item, "warnings") == 0) ||
			(over && cJSON_GetArraySize(srv_cli_member(srv_cli_member(item, "stats"), "over_budget")) == 0))
			continue;
		if (json)
			srv_cli_print_json(item);
		else
			print_asset(item, detailed);
		listed++;
	}
	if (listed == 0 && !json && pages.code == EXIT_GOOD)
		fprintf(stderr, "no asset matches\n");
	return pages.code;
}

const cli_command srv_cli_ls = {
	"ls", "[TEXT|GLOB]", "list assets",
	"Lists the assets whose path holds TEXT, or matches GLOB, with the reason of each failure. The "
	"first word of a line is its state:\n"
	"\n"
#define STANDING(id, text, tone, old, meaning) "  " text ": " meaning "\n"
#include "../../schema/standings.def"
#undef STANDING
	"\n"
	"Examples:\n  hob ls\n  hob ls duck --long\n  hob ls --sort -bytes\n  hob ls 'props/**/*.glb'\n  hob ls "
	"--state broken,blocked\n  "
	"hob ls --skipped\n",
	run_ls};
