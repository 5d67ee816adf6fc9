#include "query.h"

#include "../log/log.h"

#include <stdio.h>
#include <stdlib.h>

/* hob history, hob bisect: an asset in the commits that touched it. Each commit is looked at by `/a/...?at=`,
 * which has it cooked. */

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 5000, STEPS_MAX = 64, PATHS_MAX = 3800 };

typedef struct past {
	const char *who, *url;
	hob_buf root, path, paths; /* paths: of the asset and its files, "//" between them */
	int code;
} past;

/* An asset of very many files is found by the first of them. */
static void put_path(past *p, const char *path)
{
	if (p->paths.size + strlen(path) < PATHS_MAX)
		hob_buf_printf(&p->paths, "%s%s", p->paths.size > 0 ? "//" : "", path);
}

/* An asset that the newest commit lacks is named ROOT/PATH in full. */
static bool begin(past *p, const char *name)
{
	char target[64];
	hob_own_json *page = srv_cli_ask_about(p->who, p->url, "/api/v1/assets?path=", name, false, &p->code);
	const cJSON *item = cJSON_GetArrayItem(srv_cli_member(page, "items"), 0), *dep;
	size_t slash = strcspn(name, "/");
	snprintf(target, sizeof target, "/api/v1/assets/%.32s", srv_cli_text(item, "id"));
	hob_own_json *asset = item ? srv_cli_ask_json(p->who, p->url, target, false, &p->code) : NULL;
	if (asset) {
		hob_buf_printf(&p->root, "%s", srv_cli_text(asset, "root"));
		hob_buf_printf(&p->path, "%s", srv_cli_text(asset, "path"));
	} else if (name[slash]) {
		hob_buf_printf(&p->root, "%.*s", (int)slash, name);
		hob_buf_printf(&p->path, "%s", name + slash + 1);
	}
	put_path(p, srv_cli_ended(&p->path));
	cJSON_ArrayForEach(dep, srv_cli_member(asset, "deps")) put_path(p, srv_cli_text(dep, "path"));
	if (p->path.size == 0 && p->code == EXIT_GOOD) {
		fprintf(stderr, "%s: there is no asset '%s'; 'hob ls' lists them as root/path\n", p->who, name);
		p->code = EXIT_USAGE;
	}
	return p->code == EXIT_GOOD;
}

static void end(past *p)
{
	hob_buf_release(&p->root);
	hob_buf_release(&p->path);
	hob_buf_release(&p->paths);
}

/* The commits before `rev` that touched the asset, newest first. */
static cJSON *ask_commits(past *p, const char *rev, uint32_t limit)
{
	hob_own_buf target = {0};
	hob_buf_printf(&target, "/api/v1/commits?limit=%u", limit);
	srv_cli_put_parameter(&target, "&root=", srv_cli_ended(&p->root));
	srv_cli_put_parameter(&target, "&ref=", rev);
	srv_cli_put_parameter(&target, "&path=", srv_cli_ended(&p->paths));
	return srv_cli_ask_json(p->who, p->url, srv_cli_ended(&target), false, &p->code);
}

/* The asset as it was at a commit, cooked or failed; NULL without an error: that commit lacks it. */
static cJSON *look(past *p, const char *id)
{
	hob_own_buf target = {0};
	srv_own_response response = {0};
	hob_error error = {0};
	cJSON *asset = NULL;
	hob_buf_printf(&target, "/a/");
	hob_buf_put_percent(&target, hob_buf_str(&p->root));
	hob_buf_put(&target, "/", 1);
	hob_buf_put_percent(&target, hob_buf_str(&p->path));
	hob_buf_printf(&target, "?at=%s&output=scene", id);
	if (!srv_cli_request(p->url, "GET", srv_cli_ended(&target), "Prefer: wait=60", (hob_str){0}, &response,
						 &error)) {
		p->code = srv_cli_fail(p->who, &error, EXIT_UNREACHABLE);
	} else if (response.status == 401 || response.status == 403 || response.status == 503) {
		p->code = srv_cli_print_problem(p->who, &response);
	} else if (response.status != 404) {
		hob_own_buf name = {0};
		hob_buf_printf(&name, "%s~commits/%s/%s", srv_cli_ended(&p->root), id, srv_cli_ended(&p->path));
		hob_own_json *page =
			srv_cli_ask_about(p->who, p->url, "/api/v1/assets?path=", srv_cli_ended(&name), false, &p->code);
		asset = cJSON_DetachItemFromArray(cJSON_GetObjectItemCaseSensitive(page, "items"), 0);
	}
	return asset;
}

static const char *error_of(const cJSON *asset)
{
	return srv_cli_text(srv_cli_member(asset, "error"), "message");
}

static double number_of(const cJSON *asset, const char *name)
{
	return strcmp(name, "bytes") == 0 ? srv_cli_number(srv_cli_member(asset, "bytes"), "cooked")
									  : srv_cli_number(srv_cli_member(asset, "stats"), name);
}

static void put_growth(const cJSON *now, const cJSON *was, const char *name)
{
	double to = number_of(now, name), from = number_of(was, name);
	if (from > 0 && (to > from * 1.005 || to < from * 0.995))
		printf(" (%+.3g %%)", 100 * (to - from) / from);
}

static void print_line(const cJSON *commit, const cJSON *now, const cJSON *was)
{
	char bytes[32];
	printf("%.7s  %.10s  %-12.40s  ", srv_cli_text(commit, "id"), srv_cli_text(commit, "time"),
		   srv_cli_text(commit, "author"));
	if (!now) {
		printf("gone");
	} else if (error_of(now)[0]) {
		printf("%s: %s", was && error_of(was)[0] ? "still broken" : "broken here", error_of(now));
	} else {
		printf("%s", srv_text_bytes((uint64_t)number_of(now, "bytes"), bytes));
		put_growth(now, was, "bytes");
		printf(", %.0f triangles", number_of(now, "triangles"));
		put_growth(now, was, "triangles");
		printf("%s", !was ? ", new" : error_of(was)[0] ? ", mended" : "");
	}
	printf("  %s\n", srv_cli_text(commit, "subject"));
	fflush(stdout);
}

/* ---- hob history */

static int run_history(int argc, char **argv)
{
	const char *to = NULL;
	uint32_t limit = LIMIT_DEFAULT;
	bool json = false;
	past p = {.who = "hob history", .url = srv_cli_default_url()};
	cli_option options[] = {
		{"--to", 0, CLI_TEXT, &to, "REV", "of this branch, tag or commit (the root's own)"},
		{"--limit", 0, CLI_NUMBER, &limit, "N", "so many commits, the newest (20)"},
		{"--json", 0, CLI_FLAG, &json, NULL, "the commits as JSON, each with its 'asset'"},
		CLI_URL_OPTION(p.url)};
	if (srv_cli_parse(&srv_cli_history, options, HOB_COUNT_OF(options), argc, argv) != 1)
		return srv_cli_usage_error(&srv_cli_history, "name one asset of a git repository");
	if (limit == 0 || limit >= LIMIT_MAX)
		return srv_cli_usage_error(&srv_cli_history, "--limit is between 1 and %d", LIMIT_MAX - 1);
	/* One more than is shown, to compare the oldest with. */
	hob_own_json *list = begin(&p, argv[1]) ? ask_commits(&p, to, limit + 1) : NULL;
	cJSON *newer = NULL, *now = NULL;
	cJSON *items = cJSON_GetObjectItemCaseSensitive(list, "items");
	uint32_t count = (uint32_t)cJSON_GetArraySize(items);
	for (uint32_t i = 0; p.code == EXIT_GOOD && i <= count && i <= limit; i++) {
		cJSON *commit = cJSON_GetArrayItem(items, (int)i);
		cJSON *was = commit ? look(&p, srv_cli_text(commit, "id")) : NULL;
		if (newer && !json)
			print_line(newer, now, was);
		if (newer)
			cJSON_AddItemToObject(newer, "asset", now ? now : cJSON_CreateNull());
		newer = commit;
		now = was;
	}
	if (count > limit) {
		cJSON_DeleteItemFromArray(items, (int)limit);
		cJSON_Delete(now);
	}
	srv_cli_print_json(json && p.code == EXIT_GOOD ? items : NULL);
	if (count == 0 && p.code == EXIT_GOOD && !json)
		printf("no commit holds '%s'\n", argv[1]);
	end(&p);
	return p.code;
}

const cli_command srv_cli_history = {
	"history", "ASSET", "an asset in each commit that touched it",
	"Lists the commits of a git repository ('hob serve git:REPOSITORY') that changed an asset or a file that "
	"it is made of, newest first: who did what, what the asset weighed then, and who broke or mended it. "
	"Commits that were never cooked are cooked now.\n"
	"\n"
	"Examples:\n"
	"  hob history art/props/duck.glb\n"
	"  hob history art/props/duck.glb --to topic --limit 5\n",
	run_history};

/* ---- hob bisect */

typedef struct fault {
	const char *rule, *name; /* of a rule, or of a number with its maximum; both NULL: it cannot be cooked */
	double most;
} fault;

/* Whether the asset has the fault at that commit. */
static bool is_bad(past *p, const fault *f, const char *id)
{
	hob_own_json *asset = look(p, id);
	bool bad = error_of(asset)[0] != 0;
	if (asset && f->name) {
		bad = !bad && number_of(asset, f->name) > f->most;
	} else if (asset && f->rule) {
		hob_own_buf target = {0};
		hob_buf_printf(&target, "/api/v1/assets?fields=id");
		srv_cli_put_parameter(&target, "&rule=", f->rule);
		srv_cli_put_parameter(&target, "&path=", srv_cli_text(asset, "name"));
		hob_own_json *page = srv_cli_ask_json(p->who, p->url, srv_cli_ended(&target), false, &p->code);
		bad = cJSON_GetArraySize(srv_cli_member(page, "items")) > 0;
	}
	return bad;
}

static bool is_bad_here(past *p, const fault *f, const cJSON *commit, uint32_t left)
{
	bool bad = is_bad(p, f, srv_cli_text(commit, "id"));
	if (p->code == EXIT_GOOD)
		printf("%-4s  %.7s  %s, %u left\n", bad ? "bad" : "good", srv_cli_text(commit, "id"),
			   srv_cli_text(commit, "subject"), left);
	fflush(stdout);
	return bad;
}

/* Leaves the commits that lead to `bad` and not to `good`. */
static cJSON *ask_between(past *p, const char *good, const char *bad)
{
	hob_own_json *before = ask_commits(p, good, LIMIT_MAX);
	cJSON *after = before ? ask_commits(p, bad, LIMIT_MAX) : NULL;
	cJSON *items = cJSON_GetObjectItemCaseSensitive(after, "items");
	const cJSON *known = srv_cli_member(before, "items");
	for (int i = cJSON_GetArraySize(items); i-- > 0;)
		if (srv_cli_find(known, "id", srv_cli_text(cJSON_GetArrayItem(items, i), "id")))
			cJSON_DeleteItemFromArray(items, i);
	return after;
}

/* The oldest bad commit in a row of bad ones from the newest; NULL: none is. */
static const cJSON *search(past *p, const fault *f, const cJSON *items)
{
	int bad = -1, good = cJSON_GetArraySize(items);
	while (p->code == EXIT_GOOD && good - bad > 1) {
		int middle = bad + (good - bad) / 2;
		bool found = is_bad_here(p, f, cJSON_GetArrayItem(items, middle), (uint32_t)(good - bad - 2));
		*(found ? &bad : &good) = middle;
	}
	return bad >= 0 ? cJSON_GetArrayItem(items, bad) : NULL;
}

static void tell(past *p, const cJSON *commit)
{
	const cJSON *parent = cJSON_GetArrayItem(srv_cli_member(commit, "parents"), 0);
	hob_own_json *now = look(p, srv_cli_text(commit, "id")),
				 *was = parent ? look(p, parent->valuestring) : NULL;
	printf("\nthe first bad commit:\n");
	print_line(commit, now, was);
}

/* Searches between `good` and `bad`. Where branches were merged, the commits are in no line: a parent of the
 * found one may be bad, too, and the search goes on before it. */
static void bisect(past *p, const fault *f, const char *good, const char *bad)
{
	cJSON *list = ask_between(p, good, bad), *first = NULL;
	const cJSON *found = list ? search(p, f, srv_cli_member(list, "items")) : NULL, *parent;
	for (int step = 0; found && p->code == EXIT_GOOD && step < STEPS_MAX; step++) {
		cJSON_Delete(first);
		first = cJSON_Duplicate(found, true);
		found = NULL;
		cJSON_ArrayForEach(parent, srv_cli_member(first, "parents"))
		{
			const char *id = cJSON_GetStringValue(parent);
			if (found || !is_bad(p, f, id))
				continue;
			cJSON_Delete(list);
			list = ask_between(p, good, id);
			found = search(p, f, srv_cli_member(list, "items"));
		}
	}
	if (first && p->code == EXIT_GOOD) {
		tell(p, first);
	} else if (p->code == EXIT_GOOD) {
		fprintf(stderr, "hob bisect: no commit between '%s' and '%s' that touched the asset is bad\n", good,
				bad);
		p->code = EXIT_ASSETS_FAILED;
	}
	cJSON_Delete(first);
	cJSON_Delete(list);
}

/* The whole id of a commit. */
static bool resolve(past *p, const char *rev, hob_buf *id)
{
	hob_own_json *commit =
		srv_cli_commit(p->who, p->url, srv_cli_ended(&p->root), rev, CLI_COMMIT_LOOK, &p->code);
	hob_buf_printf(id, "%s", srv_cli_text(commit, "id"));
	return id->size > 0;
}

static bool read_most(const char *text, fault *f)
{
	char *value = text ? strchr(text, '=') : NULL, *rest;
	if (!value)
		return text == NULL;
	*value = 0;
	f->name = text;
	f->most = strtod(value + 1, &rest);
	return rest > value + 1 && *rest == 0;
}

static int run_bisect(int argc, char **argv)
{
	const char *good = NULL, *bad = "HEAD", *most = NULL;
	fault f = {0};
	past p = {.who = "hob bisect", .url = srv_cli_default_url()};
	cli_option options[] = {{"--good", 0, CLI_TEXT, &good, "REV", "a commit without the fault"},
							{"--bad", 0, CLI_TEXT, &bad, "REV", "a later one that has it (HEAD)"},
							{"--max", 0, CLI_TEXT, &most, "NAME=N",
							 "the fault is more than N bytes, triangles, vertices, materials..."},
							{"--rule", 0, CLI_TEXT, &f.rule, "RULE", "the fault is a finding of this rule"},
							CLI_URL_OPTION(p.url)};
	if (srv_cli_parse(&srv_cli_bisect, options, HOB_COUNT_OF(options), argc, argv) != 1 || !good)
		return srv_cli_usage_error(&srv_cli_bisect, "name one asset, and a good commit with --good");
	if (!read_most(most, &f))
		return srv_cli_usage_error(&srv_cli_bisect, "--max is a name and a number: triangles=5000");
	hob_own_buf from = {0}, to = {0};
	bool ok = begin(&p, argv[1]) && resolve(&p, good, &from) && resolve(&p, bad, &to);
	if (ok && is_bad(&p, &f, srv_cli_ended(&from)))
		p.code = srv_cli_usage_error(&srv_cli_bisect, "the asset has the fault at '%s', too", good);
	else if (ok && p.code == EXIT_GOOD && !is_bad(&p, &f, srv_cli_ended(&to)) && p.code == EXIT_GOOD)
		p.code = srv_cli_usage_error(&srv_cli_bisect, "the asset has no such fault at '%s'", bad);
	if (ok && p.code == EXIT_GOOD)
		bisect(&p, &f, srv_cli_ended(&from), srv_cli_ended(&to));
	end(&p);
	return p.code;
}

const cli_command srv_cli_bisect = {
	"bisect", "ASSET", "find the commit that broke an asset",
	"Searches the commits between a good and a bad one for the first with a fault: the asset cannot be "
	"cooked, it is too large (--max), or it breaks a rule (--rule). Looks only at commits that touched the "
	"asset or its files, and at a few of them: 8 of 200. Exit code 0: found, 1: not found.\n"
	"\n"
	"Examples:\n"
	"  hob bisect art/props/duck.glb --good v1.0\n"
	"  hob bisect art/props/duck.glb --good v1.0 --max triangles=5000\n",
	run_bisect};
