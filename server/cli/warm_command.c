#include "query.h"

#include <stdio.h>

/* hob warm: whether a commit of a git repository is cooked. */

static cJSON *ask(const char *who, const char *url, const char *root, const char *name, cli_commit_work work,
				  int *code)
{
	hob_own_buf target = {0};
	bool cook = work == CLI_COMMIT_COOK;
	hob_buf_put_str(&target, HOB_STR("/api/v1/commits/"));
	hob_buf_put_percent(&target, hob_str_of(name));
	hob_buf_put_str(&target, cook ? HOB_STR("/cook?") : HOB_STR("?"));
	srv_cli_put_parameter(&target, "root=", root);
	srv_cli_put_parameter(&target, root ? "&wait=" : "wait=", work == CLI_COMMIT_WAIT ? "60" : NULL);
	return cook ? srv_cli_post_json(who, url, srv_cli_ended(&target), "{}", code)
				: srv_cli_ask_json(who, url, srv_cli_ended(&target), false, code);
}

cJSON *srv_cli_commit(const char *who, const char *url, const char *root, const char *name,
					  cli_commit_work work, int *code)
{
	cJSON *commit = ask(who, url, root, name, work == CLI_COMMIT_LOOK ? work : CLI_COMMIT_COOK, code);
	while (commit && work == CLI_COMMIT_WAIT && strcmp(srv_cli_text(commit, "state"), "cooking") == 0) {
		cJSON_Delete(commit);
		commit = ask(who, url, root, name, work, code);
	}
	return commit;
}

cJSON *srv_cli_commit_manifest(const char *who, const char *url, const char *root, const char *name,
							   const char *below, cJSON **commit, int *code)
{
	hob_own_buf from = {0};
	*commit = srv_cli_commit(who, url, root, name, CLI_COMMIT_WAIT, code);
	const char *place = srv_cli_text(*commit, "assets_below");
	hob_buf_printf(&from, "%s%s", place, below);
	cJSON *manifest = *commit ? srv_cli_ask_about(who, url, "/api/v1/revs/latest/manifest?records=1&root=",
												  srv_cli_ended(&from), false, code)
							  : NULL;
	cJSON *asset;
	if (manifest)
		cJSON_AddBoolToObject(manifest, "is_tip", strcmp(place, srv_cli_text(*commit, "root")) == 0);
	cJSON_ArrayForEach(asset, cJSON_GetObjectItemCaseSensitive(manifest, "assets"))
	{
		hob_own_buf shown = {0};
		cJSON *full = cJSON_GetObjectItemCaseSensitive(asset, "asset");
		hob_buf_printf(&shown, "%s%s", srv_cli_text(*commit, "root"), full->valuestring + strlen(place));
		cJSON_SetValuestring(full, srv_cli_ended(&shown));
	}
	return manifest;
}

static int tell(const cJSON *commit, bool json)
{
	const char *state = srv_cli_text(commit, "state");
	double assets = srv_cli_number(commit, "assets"), failed = srv_cli_number(commit, "failed");
	srv_cli_print_json(json ? commit : NULL);
	if (!json)
		printf("%s  %s up to %.7s (%.0f of %.0f, %.0f broken)  %s\n", state, srv_cli_text(commit, "root"),
			   srv_cli_text(commit, "id"), assets - srv_cli_number(commit, "waiting"), assets, failed,
			   srv_cli_text(commit, "subject"));
	const cJSON *note;
	cJSON_ArrayForEach(note, srv_cli_member(commit, "notes")) if (!json)
		printf("  %s %s\n", srv_cli_text(note, "path"), srv_cli_text(note, "text"));
	bool settled = strcmp(state, "cooking") != 0 && strcmp(state, "cold") != 0;
	return !settled ? EXIT_NOT_YET : failed > 0 ? EXIT_ASSETS_FAILED : EXIT_GOOD;
}

static int run_warm(int argc, char **argv)
{
	const char *url = srv_cli_default_url(), *root = NULL;
	bool wait = false, json = false;
	int code = EXIT_GOOD;
	cli_option options[] = {
		{"--wait", 0, CLI_FLAG, &wait, NULL, "wait until everything is cooked or has failed"},
		{"--root", 0, CLI_TEXT, &root, "NAME", "the source, where several are repositories"},
		{"--json", 0, CLI_FLAG, &json, NULL, "the commit as JSON"},
		CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_warm, options, HOB_COUNT_OF(options), argc, argv);
	if (operands == 0)
		return srv_cli_usage_error(&srv_cli_warm, "name a branch, a tag or a commit");
	hob_own_json *commit =
		srv_cli_commit("hob warm", url, root, argv[1], wait ? CLI_COMMIT_WAIT : CLI_COMMIT_COOK, &code);
	if (commit)
		code = tell(commit, json);
	return code;
}

const cli_command srv_cli_warm = {
	"warm", "REV", "is everything of a commit cooked",
	"Tells whether all assets of a commit of a git repository ('hob serve git:REPOSITORY') are cooked, and "
	"has them cooked if not. REV is a branch, a tag, or the id of a commit or its beginning. Exit code 0: "
	"warm, 1: some assets have failed, 6: not yet.\n"
	"\n"
	"Examples:\n"
	"  hob warm main\n"
	"  hob warm abc1234 --wait && git pull\n",
	run_warm};
