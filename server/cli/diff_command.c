#include "map_file.h"
#include "diff_report.h"
#include "query.h"
#include "wrap.h"

#include "../../core/formats/classic.h"
#include "../../core/formats/describe.h"
#include "../../core/formats/pack_read.h"
#include "../log/log.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* hob diff: compares two cooked files, or two revisions of an asset, output by output. */

static const char who[] = "hob diff";
#define OTHER_FILE                                                                                           \
	"'%s' is a file, but not a cooked one (.meshes .materials .scene .animations); 'hob cook' makes them "   \
	"from a "                                                                                                \
	"model"

/* One side: a file, or an asset of a daemon at a revision. */
typedef struct side {
	const char *shown; /* as typed */
	hob_bytes file;
	char name[1024], rev[24]; /* "art/duck.glb"; "4100" or "latest" */
	uint64_t at;			  /* the revision that published it, 0: unknown */
	cJSON *outputs;			  /* [{name, hash, size}], detached */
} side;

typedef struct comparison {
	const char *url, *only; /* `only`: --output, or NULL */
	hob_describe_options how;
	bool differ;
	int code;
} comparison;

/* Whether the file is cooked, complete or not. Only these are treated as files, because an asset may have
 * the same name as a model below the current folder. */
static bool is_cooked_file(const char *path)
{
	static const char *const extensions[] = {"meshes", "materials", "scene", "animations", "ktx2"};
	hob_bytes bytes = {0};
	hob_error error;
	hob_str extension = hob_path_extension(hob_str_of(path));
	bool cooked = false;
	if (access(path, F_OK) != 0)
		return false;
	for (size_t i = 0; i < HOB_COUNT_OF(extensions); i++)
		cooked = cooked || hob_str_equal(extension, hob_str_of(extensions[i]));
	if (!cooked && srv_map_file(path, &bytes, &error))
		cooked = hob_pack_is(bytes) || hob_classic_sniff(bytes) != HOB_CLASSIC_NOTHING;
	srv_unmap_file(&bytes);
	return cooked;
}

static bool is_other_file(const char *path)
{
	struct stat info;
	return !is_cooked_file(path) && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static void split(const char *operand, side *s)
{
	const char *at = strrchr(operand, '@');
	bool has_rev = at && at[1] && strspn(at + 1, "0123456789") == strlen(at + 1);
	*s = (side){.shown = operand};
	snprintf(s->name, sizeof s->name, "%.*s", has_rev ? (int)(at - operand) : (int)strlen(operand), operand);
	snprintf(s->rev, sizeof s->rev, "%s", has_rev ? at + 1 : "latest");
}

/* ---- assets of the daemon */

/* The asset as it was served at that revision ("4100", "latest"), in *manifest, which the caller frees; NULL:
 * it was not served then. With `guess`, prints no message if the request fails. */
static const cJSON *served_at(comparison *c, const char *name, const char *rev, bool guess, cJSON **manifest)
{
	hob_buf target = {0};
	hob_buf_printf(&target, "/api/v1/revs/%s/manifest", rev);
	srv_cli_put_parameter(&target, "?root=", name);
	hob_buf_put(&target, "", 1);
	*manifest = guess ? srv_cli_try_json(c->url, (const char *)target.data, NULL)
					  : srv_cli_ask_json(who, c->url, (const char *)target.data, false, &c->code);
	hob_buf_release(&target);
	const cJSON *asset = srv_cli_find(srv_cli_member(*manifest, "assets"), "asset", name);
	return cJSON_GetArraySize(srv_cli_member(asset, "outputs")) > 0 ? asset : NULL;
}

/* The newest revision before `from` that served these outputs; skips previews and failures in between. */
static uint64_t rev_of(comparison *c, const char *name, uint64_t from, const cJSON *outputs)
{
	enum { STEPS_MAX = 8 };
	uint64_t found = 0;
	for (int i = 0; i < STEPS_MAX && found == 0 && from > 1; i++) {
		char rev[24];
		cJSON *manifest;
		snprintf(rev, sizeof rev, "%llu", (unsigned long long)from - 1);
		const cJSON *asset = served_at(c, name, rev, true, &manifest);
		from = (uint64_t)srv_cli_number(asset, "rev");
		found = asset && srv_diff_same_outputs(outputs, srv_cli_member(asset, "outputs")) ? from : 0;
		cJSON_Delete(manifest);
	}
	return found;
}

/* The outputs of the version before the served one; NULL: none. */
static cJSON *earlier_outputs(comparison *c, side *s, const side *now)
{
	char id[32], target[96];
	cJSON *found = NULL;
	if (!srv_cli_find_id(who, c->url, s->name, id, &c->code))
		return NULL;
	snprintf(target, sizeof target, "/api/v1/assets/%s/history?limit=100", id);
	cJSON *page = srv_cli_ask_json(who, c->url, target, false, &c->code);
	const cJSON *version;
	bool seen = false; /* past the served version */
	cJSON_ArrayForEach(version, srv_cli_member(page, "items"))
	{
		const cJSON *outputs = srv_cli_member(version, "outputs");
		bool same = cJSON_Compare(outputs, now->outputs, true);
		seen = seen || same;
		if (seen && !same && cJSON_GetArraySize(outputs) > 0) {
			found = cJSON_Duplicate(outputs, true);
			s->at = rev_of(c, s->name, now->at, found);
			snprintf(s->rev, sizeof s->rev, s->at > 0 ? "%.0f" : "job %.0f",
					 s->at > 0 ? (double)s->at : srv_cli_number(version, "job"));
			break;
		}
	}
	if (page && !found) {
		fprintf(stderr, "%s: no earlier version of '%s' is known; name a revision: %s@REV\n", who, s->name,
				s->name);
		c->code = EXIT_USAGE;
	}
	cJSON_Delete(page);
	return found;
}

static cJSON *outputs_at(comparison *c, side *s)
{
	char id[32];
	cJSON *manifest;
	if (!srv_cli_find_id(who, c->url, s->name, id, &c->code))
		return NULL;
	const cJSON *asset = served_at(c, s->name, s->rev, false, &manifest);
	cJSON *found = asset ? cJSON_Duplicate(srv_cli_member(asset, "outputs"), true) : NULL;
	s->at = (uint64_t)srv_cli_number(asset, "rev");
	if (manifest && !found) {
		fprintf(stderr, "%s: nothing was served of '%s' at revision %s\n", who, s->name, s->rev);
		c->code = EXIT_ASSETS_FAILED;
	}
	cJSON_Delete(manifest);
	return found;
}

static bool load(comparison *c, side *s)
{
	hob_error error = {0};
	if (!is_cooked_file(s->shown)) {
		s->outputs = outputs_at(c, s);
		if (!s->outputs && is_other_file(s->shown))
			fprintf(stderr, "%s: " OTHER_FILE "\n", who, s->shown);
		return s->outputs != NULL;
	}
	if (srv_map_file(s->shown, &s->file, &error))
		return true;
	srv_cli_print_error(who, &error);
	c->code = EXIT_USAGE;
	return false;
}

static void release(side *s)
{
	srv_unmap_file(&s->file);
	cJSON_Delete(s->outputs);
}

/* ---- comparing */

static bool fetch(comparison *c, const cJSON *output, cli_response *out)
{
	char target[96];
	hob_error error = {0};
	snprintf(target, sizeof target, "/blobs/%.64s", srv_cli_text(output, "hash"));
	if (!srv_cli_request(c->url, "GET", target, NULL, (hob_str){0}, out, &error)) {
		srv_cli_print_error(who, &error);
		c->code = EXIT_UNREACHABLE;
		return false;
	}
	if (out->status == 200)
		return true;
	if (out->status == 404)
		fprintf(stderr, "%s: the bytes of that version are no longer in the cache\n", who);
	c->code = out->status == 404 ? EXIT_ASSETS_FAILED : srv_cli_print_problem(who, out);
	srv_cli_response_release(out);
	return false;
}

static bool compare_bytes(comparison *c, hob_bytes a, hob_bytes b)
{
	hob_buf out = {0};
	hob_error error = {0};
	bool equal = false, ok = hob_diff_text(a, b, &c->how, &equal, &out, &error);
	if (out.size > 0)
		srv_cli_print_lines(hob_buf_str(&out));
	hob_buf_release(&out);
	c->differ = c->differ || !equal;
	if (ok)
		return true;
	srv_cli_print_error(who, &error);
	c->code = EXIT_USAGE;
	return false;
}

/* Prints how one output differs; pictures and reports are compared by size only. */
static bool compare_outputs(comparison *c, const cJSON *a, const cJSON *b)
{
	char from[32], to[32];
	const char *name = srv_cli_text(a ? a : b, "name");
	if (a && b && strcmp(srv_cli_text(a, "hash"), srv_cli_text(b, "hash")) == 0) {
		printf("%s: equal\n", name);
		return true;
	}
	c->differ = true;
	srv_text_bytes((uint64_t)srv_cli_number(a, "size"), from);
	srv_text_bytes((uint64_t)srv_cli_number(b, "size"), to);
	printf("%s: %s -> %s\n", name, a ? from : "not there", b ? to : "not there");
	cli_response one, two;
	if (!a || !b || strncmp(name, "textures/", 9) == 0)
		return true;
	if (!fetch(c, a, &one))
		return false;
	bool ok = fetch(c, b, &two);
	hob_bytes before = {one.body.data, one.body.size}, after = {0};
	if (ok) {
		after = (hob_bytes){two.body.data, two.body.size};
		if (hob_pack_is(before) && hob_pack_is(after))
			ok = compare_bytes(c, before, after);
		srv_cli_response_release(&two);
	}
	srv_cli_response_release(&one);
	return ok;
}

static bool wanted(const comparison *c, const char *name)
{
	return c->only ? strcmp(c->only, name) == 0 : strcmp(name, "report") != 0;
}

static const char *rev_words(const side *s, char out[48])
{
	bool number = s->rev[0] >= '0' && s->rev[0] <= '9', now = strcmp(s->rev, "latest") == 0;
	if (now && s->at > 0)
		snprintf(out, 48, "now, rev %llu", (unsigned long long)s->at);
	else
		snprintf(out, 48, "%s%s", number ? "rev " : "", now ? "now" : s->rev);
	return out;
}

static bool compare_assets(comparison *c, const side *a, const side *b)
{
	const cJSON *output;
	uint32_t count = 0;
	char from[48], to[48];
	printf("%s (%s) -> %s (%s)\n", a->name, rev_words(a, from), b->name, rev_words(b, to));
	cJSON_ArrayForEach(output, a->outputs)
	{
		const char *name = srv_cli_text(output, "name");
		if (wanted(c, name) && ++count && !compare_outputs(c, output, srv_cli_find(b->outputs, "name", name)))
			return false;
	}
	cJSON_ArrayForEach(output, b->outputs)
	{
		const char *name = srv_cli_text(output, "name");
		if (wanted(c, name) && !srv_cli_find(a->outputs, "name", name) && ++count &&
			!compare_outputs(c, NULL, output))
			return false;
	}
	if (count > 0)
		return true;
	fprintf(stderr, "%s: neither has an output '%s'; 'hob help get' lists the names\n", who,
			c->only ? c->only : "");
	c->code = EXIT_USAGE;
	return false;
}

/* When a file is compared with an asset: the asset's output of the file's kind. */
static const char *output_for(const char *path)
{
	static const char *const kinds[] = {"materials", "scene", "animations"};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (hob_str_equal(hob_path_extension(hob_str_of(path)), hob_str_of(kinds[i])))
			return kinds[i];
	return "meshes";
}

static bool compare_mixed(comparison *c, const side *file, const side *asset, bool file_first)
{
	const char *name = c->only ? c->only : output_for(file->shown);
	const cJSON *output = srv_cli_find(asset->outputs, "name", name);
	cli_response response;
	if (!output) {
		fprintf(stderr, "%s: '%s' has no output '%s'\n", who, asset->name, name);
		c->code = EXIT_USAGE;
		return false;
	}
	if (!fetch(c, output, &response))
		return false;
	hob_bytes bytes = {response.body.data, response.body.size};
	bool ok = compare_bytes(c, file_first ? file->file : bytes, file_first ? bytes : file->file);
	srv_cli_response_release(&response);
	return ok;
}

static bool compare(comparison *c, const side *a, const side *b)
{
	if (a->outputs && b->outputs)
		return compare_assets(c, a, b);
	bool ok = !a->outputs && !b->outputs ? compare_bytes(c, a->file, b->file)
			  : a->outputs				 ? compare_mixed(c, b, a, false)
										 : compare_mixed(c, a, b, true);
	if (ok && !c->differ)
		printf("equal\n");
	return ok;
}

static bool is_version(const char *text, const char *word)
{
	return strcmp(text, word) == 0 ||
		   (text[0] && strlen(text) < 20 && strspn(text, "0123456789") == strlen(text));
}

/* hob diff --from: prints a report for people. */
static int run_report(diff_report_options *how, int operands)
{
	static const char *const formats[] = {"text", "md", "html", "json"};
	bool known = false;
	for (size_t i = 0; i < HOB_COUNT_OF(formats); i++)
		known = known || strcmp(how->format, formats[i]) == 0;
	if (!known)
		return srv_cli_usage_error(&srv_cli_diff, "--format '%s': there are text, md, html and json",
								   how->format);
	if (operands > 1)
		return srv_cli_usage_error(&srv_cli_diff, "a report is of one asset or folder, or of all");
	if (!how->from && !how->only)
		return srv_cli_usage_error(&srv_cli_diff,
								   "--from REV is missing; 'hob watch' and 'hob status' tell revisions");
	if (!how->from)
		how->from = "previous";
	how->commits = !is_version(how->from, "previous") || !is_version(how->to, "latest");
	if (how->commits && strcmp(how->to, "latest") == 0)
		how->to = "HEAD";
	if (!how->only && strcmp(how->from, "previous") == 0)
		return srv_cli_usage_error(
			&srv_cli_diff,
			"--from and --to are revisions, such as 4100, or commits of a git repository; --to latest is "
			"what is served, --from previous the cook before, of one asset");
	return srv_diff_report_run(how);
}

static int run_diff(int argc, char **argv)
{
	uint32_t rows = 0;
	comparison c = {.url = srv_cli_default_url()};
	diff_report_options how = {.to = "latest", .view = "corner"};
	cli_option options[] = {
		{"--rows", 0, CLI_NUMBER, &rows, "N", "most records per section, most changes per asset (20)"},
		{"--output", 0, CLI_TEXT, &c.only, "OUTPUT",
		 "compare only this output of an asset, such as meshes (all except the report)"},
		{"--from", 0, CLI_TEXT, &how.from, "REV", "report for people: changes since this revision or commit"},
		{"--to", 0, CLI_TEXT, &how.to, "REV", "up to this revision or commit (latest)"},
		{"--format", 0, CLI_TEXT, &how.format, "FORM", "format of the report: text, md, html or json (text)"},
		{"--pictures", 0, CLI_TEXT, &how.pictures, "DIR",
		 "write pictures of each asset before and after, and their difference, as PNG into DIR"},
		{"--view", 0, CLI_TEXT, &how.view, "SIDE",
		 "view of the pictures: corner, front, back, left, right, top or bottom (corner)"},
		{"--max-growth", 0, CLI_TEXT, &how.growth, "JSON|FILE",
		 "'{\"bytes\": \"10%\", \"triangles\": \"5%\"}': exit code 4 if an asset grew by more"},
		CLI_URL_OPTION(c.url)};
	int operands = srv_cli_parse(&srv_cli_diff, options, HOB_COUNT_OF(options), argc, argv);
	if (how.from || how.format || how.pictures || how.growth) {
		how.url = c.url;
		how.only = operands > 0 ? argv[1] : NULL;
		how.format = how.format ? how.format : "text";
		how.rows = rows > 0 ? rows : 20;
		return run_report(&how, operands);
	}
	if (operands == 0 || (operands == 1 && is_cooked_file(argv[1])))
		return srv_cli_usage_error(&srv_cli_diff,
								   "name two cooked files, or an asset of the daemon and its revisions");
	for (int i = 1; i <= operands; i++)
		/* "art/duck.glb" can be both an asset and a model below the current folder. */
		if (is_other_file(argv[i]) && (!strchr(argv[i], '/') || argv[i][0] == '/' || argv[i][0] == '.'))
			return srv_cli_usage_error(&srv_cli_diff, OTHER_FILE, argv[i]);
	side a, b;
	c.how = (hob_describe_options){.max_rows = rows, .color = srv_color_wanted(1)};
	split(argv[1], &a);
	split(argv[operands], &b);
	if (operands == 1)
		strcpy(b.rev, "latest");
	bool ok = load(&c, &b);
	if (ok && operands == 1 && strcmp(a.rev, "latest") == 0)
		ok = (a.outputs = earlier_outputs(&c, &a, &b)) != NULL;
	else
		ok = ok && load(&c, &a);
	ok = ok && compare(&c, &a, &b);
	if (c.code == EXIT_UNREACHABLE) {
		const char *missing = access(argv[1], F_OK) != 0 ? argv[1] : argv[operands];
		fprintf(stderr, "hob diff: looked for an asset because there is no file '%s' here\n", missing);
		c.code = EXIT_USAGE;
	}
	release(&a);
	release(&b);
	return !ok ? c.code : c.differ ? EXIT_ASSETS_FAILED : EXIT_GOOD;
}

const cli_command srv_cli_diff = {
	"diff", "[A] [B]", "compare two cooked files, or two versions of an asset",
	"A and B are packed files of the same kind, or assets of the daemon. ASSET@REV is an asset as of that "
	"revision, ASSET its current version. ASSET alone is compared with its previous version, ASSET@REV alone "
	"with the current one. 'hob watch' and 'hob status' show revisions. Differences are listed by section, "
	"record and field; for textures, by size. Exit code 0: equal, 1: different.\n"
	"\n"
	"With --from, --format, --pictures or --max-growth, the result is a report for people: numbers, and what "
	"was lost, added, renamed or moved, the largest changes first. It covers everything below A (an asset or "
	"a folder), or all assets. Exit code 0: no differences, 1: differences, 4: something grew by more than "
	"--max-growth.\n"
	"\n"
	"Examples:\n"
	"  hob diff before/duck.meshes after/duck.meshes\n"
	"  hob diff art/props/duck.glb\n"
	"  hob diff art/props/duck.glb@4100 art/props/duck.glb@4182\n"
	"  hob diff art/props/duck.glb --format text\n"
	"  hob diff --from 4100 --to 4182 --format md --pictures changed/ > changed.md\n"
	"  hob diff --from main --to topic --format md\n"
	"  hob diff --from 4100 art/props --max-growth '{\"bytes\": \"10%\", \"triangles\": \"5%\"}'\n",
	run_diff};
