#include "cook_write.h"
#include "query.h"

#include "../../core/base/json_write.h"
#include "../../core/formats/classic.h"
#include "../../core/formats/describe.h"
#include "../../core/formats/pack_read.h"
#include "../../core/hash/hash.h"
#include "../../core/settings/settings.h"
#include "../log/log.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* hob diff: compares two cooked files record by record, or reports on what changed in assets of a daemon. */

static const char who[] = "hob diff";
#define OTHER_FILE                                                                                           \
	"'%s' is a file, but not a cooked one (.meshes .materials .scene .animations); 'hob cook' makes them "   \
	"from a "                                                                                                \
	"model"

/* ---- a report about the changes between two revisions of a daemon */

typedef struct diff_report_options {
	const char *url;
	const char *from, *to; /* a rev, "latest" (only `to`), "previous" (only `from`, with one asset) */
	bool commits;		   /* `from` and `to` are branches, tags or commits of a git repository */
	const char *only;	   /* an asset or folder; NULL: all */
	const char *format;	   /* "text", "md", "html", "json" */
	const char *pictures;  /* folder for pictures, created if needed; NULL: no pictures */
	const char *view;	   /* camera of the pictures */
	const char *growth;	   /* --max-growth as typed, or NULL */
	uint32_t rows;		   /* maximum number of changes listed per asset */
} diff_report_options;

/* An asset that changed. */
typedef struct diff_entry {
	const char *asset;	   /* of a manifest */
	char from[72], to[72]; /* versions: a rev, the key of a cook, "latest", "previous" */
	cJSON *comparison;	   /* answer of GET .../compare */
	char *picture;		   /* path relative to the page, or NULL */
	char *over;			   /* text about numbers that grew more than allowed, or NULL */
	char *version;		   /* "cook_version 29 -> 30" if nothing but Hob changed, or NULL */
	double weight;
} diff_entry;

typedef struct diff_report {
	const diff_report_options *how;
	cJSON *before, *after;				  /* manifests; NULL when one asset is compared with "previous" */
	char from[48], to[48];				  /* "rev 4100", "rev 4182" */
	const char **added, **gone, **broken; /* broken: at the later commit only */
	uint32_t added_count, gone_count, broken_count, entry_count, over_count;
	diff_entry *entries; /* largest change first */
} diff_report;

/* "+5 %", the growth from one number to another; "" if the first number is 0. */
static const char *share_text(double from, double to, char out[32])
{
	out[0] = 0;
	if (from > 0 && fabs(to - from) > 1e-5 * from)
		snprintf(out, 32, "%+.3g %%", 100 * (to - from) / from);
	return out;
}

/* ---- the formats: text, Markdown for a pull request, HTML, JSON */

/* Templates of the first three formats. $ is replaced by escaped text, @ by text as it is. */
typedef struct form {
	const char *marks; /* characters that are escaped, each by its text in `escaped` */
	const char *const *escaped;
	const char *control;	  /* instead of a control character */
	const char *const *tones; /* of bad, warn, good and others; NULL: their names */
	const char *tone_format;
	const char *arrow;
	const char *asset, *version, *over, *picture, *change, *more;
	const char *begin, *end;				  /* around the list of changes */
	const char *numbers, *number, *asset_end; /* `numbers`: text before the first number */
	const char *list, *item, *list_end;		  /* `item`: a word and a name */
	bool words;
} form;

static void put(const form *f, hob_buf *out, const char *text, ...)
{
	va_list texts;
	va_start(texts, text);
	for (; text && *text; text++) {
		const char *inner = *text == '$' || *text == '@' ? va_arg(texts, const char *) : NULL;
		if (!inner)
			hob_buf_put(out, text, 1);
		for (; inner && *inner; inner++) {
			const char *mark = *text == '$' ? strchr(f->marks, *inner) : NULL;
			bool control = *text == '$' && ((unsigned char)*inner < ' ' || *inner == 0x7F);
			const char *instead = control ? f->control : mark ? f->escaped[mark - f->marks] : NULL;
			hob_buf_put(out, instead ? instead : inner, instead ? strlen(instead) : 1);
		}
	}
	va_end(texts);
}

static const cJSON *number_of(const diff_entry *entry, const char *name)
{
	return srv_cli_find(srv_cli_member(entry->comparison, "numbers"), "name", name);
}

static const char *value_text(const cJSON *number, const char *side, char out[48])
{
	const char *unit = srv_cli_text(number, "unit");
	double value = srv_cli_number(number, side);
	char bytes[32];
	if (strcmp(unit, "bytes") == 0)
		snprintf(out, 48, "%s", srv_text_bytes((uint64_t)value, bytes));
	else if (strcmp(unit, "count") == 0)
		snprintf(out, 48, "%.0f", value);
	else
		snprintf(out, 48, "%.4g%s", value,
				 strcmp(unit, "metres") == 0	? " m"
				 : strcmp(unit, "degrees") == 0 ? "\xC2\xB0"
												: " s");
	return out;
}

static bool is_same(const cJSON *number)
{
	return !number || strcmp(srv_cli_text(number, "tone"), "same") == 0;
}

/* "12 KB -> 14 KB (+10 %)", or one value if both are equal. */
static const char *step_text(const cJSON *number, const char *arrow, char out[160])
{
	char from[48], to[48], share[32];
	out[0] = 0;
	if (!number)
		return out;
	if (is_same(number)) {
		value_text(number, "to", out);
		return out;
	}
	share_text(srv_cli_number(number, "from"), srv_cli_number(number, "to"), share);
	snprintf(out, 160, "%s %s %s%s%s%s", value_text(number, "from", from), arrow,
			 value_text(number, "to", to), share[0] ? " (" : "", share, share[0] ? ")" : "");
	return out;
}

/* "mesh_bytes" -> "mesh bytes" */
static const char *name_text(const cJSON *number, char out[48])
{
	snprintf(out, 48, "%s", srv_cli_text(number, "name"));
	for (char *c = out; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	return out;
}

static const char *tone_text(const form *f, const char *tone, char out[8])
{
	static const char *const names[] = {"bad", "warn", "good"};
	size_t i = 0;
	while (i < HOB_COUNT_OF(names) && strcmp(tone, names[i]) != 0)
		i++;
	snprintf(out, 8, f->tone_format, f->tones ? f->tones[i] : tone);
	return out;
}

static void put_summary(const diff_report *r, hob_buf *out)
{
	double from = 0, to = 0;
	char share[32], bytes[32];
	for (uint32_t i = 0; i < r->entry_count; i++) {
		from += srv_cli_number(number_of(&r->entries[i], "bytes"), "from");
		to += srv_cli_number(number_of(&r->entries[i], "bytes"), "to");
	}
	hob_buf_printf(out, "%u changed, %u new, %u gone", r->entry_count, r->added_count, r->gone_count);
	if (fabs(to - from) >= 1)
		hob_buf_printf(out, "; the changed ones are %s %s (%s)",
					   srv_text_bytes((uint64_t)fabs(to - from), bytes), to > from ? "larger" : "smaller",
					   share_text(from, to, share));
	if (r->broken_count > 0)
		hob_buf_printf(out, "; %u cannot be cooked any more", r->broken_count);
	if (r->over_count > 0)
		hob_buf_printf(out, "; %u grew more than allowed", r->over_count);
}

static void put_entry(const form *f, const diff_report *r, const diff_entry *entry, hob_buf *out)
{
	const cJSON *changes = srv_cli_member(entry->comparison, "changes"), *change, *number;
	uint32_t told = 0, all = (uint32_t)cJSON_GetArraySize(changes);
	char step[160], name[48], tone[8];
	put(f, out, f->asset, entry->asset);
	if (entry->version)
		put(f, out, f->version, entry->version);
	if (entry->over)
		put(f, out, f->over, entry->over);
	if (entry->picture)
		put(f, out, f->picture, entry->picture);
	put(f, out, f->begin);
	cJSON_ArrayForEach(change, changes)
	{
		if (told++ == r->how->rows)
			break;
		put(f, out, f->change, tone_text(f, srv_cli_text(change, "tone"), tone),
			srv_cli_text(change, "text"));
	}
	snprintf(name, sizeof name, "%u", all > r->how->rows ? all - r->how->rows : 0);
	if (all > r->how->rows)
		put(f, out, f->more, name);
	put(f, out, f->end);
	const char *numbers_begin = f->numbers;
	cJSON_ArrayForEach(number, srv_cli_member(entry->comparison, "numbers"))
	{
		if (is_same(number))
			continue;
		put(f, out, numbers_begin);
		numbers_begin = NULL;
		put(f, out, f->number, tone_text(f, srv_cli_text(number, "tone"), tone), name_text(number, name),
			step_text(number, f->arrow, step));
	}
	put(f, out, f->asset_end);
}

static void put_names(const form *f, const char *title, const char *word, const char *const *names,
					  uint32_t count, hob_buf *out)
{
	for (uint32_t i = 0; i < count; i++) {
		put(f, out, i == 0 ? f->list : NULL, title);
		put(f, out, f->item, f->words ? word : "", names[i]);
	}
	put(f, out, count > 0 ? f->list_end : NULL);
}

static void put_all(const form *f, const diff_report *r, hob_buf *out)
{
	for (uint32_t i = 0; i < r->entry_count; i++)
		put_entry(f, r, &r->entries[i], out);
	put_names(f, "Broken", "broken", r->broken, r->broken_count, out);
	put_names(f, "New", "new   ", r->added, r->added_count, out);
	put_names(f, "Gone", "gone  ", r->gone, r->gone_count, out);
}

/* ---- Markdown */

static void put_markdown(const diff_report *r, hob_buf *out)
{
	static const char *const escaped[] = {"\\|",  "\\`",  "\\*",   "\\_",  "\\[", "\\]",
										  "&lt;", "&gt;", "&amp;", "\\\\", "\\#", "\\~"};
	static const char *const tones[] = {"\xE2\x9D\x8C ", "\xE2\x9A\xA0\xEF\xB8\x8F ", "\xE2\x9C\x85 ", ""};
	static const form f = {.marks = "|`*_[]<>&\\#~",
						   .escaped = escaped,
						   .control = " ",
						   .tones = tones,
						   .tone_format = "%s",
						   .arrow = "\xE2\x86\x92",
						   .asset = "\n### $\n",
						   .version = "\nChanged by another version of Hob, not by its files: $\n",
						   .over = "\n\xE2\x9D\x8C **Over budget:** $\n",
						   .picture = "\n![before, after, difference](<@>)\n",
						   .begin = "\n",
						   .change = "- @$\n",
						   .more = "- and @ more\n",
						   .numbers = "\n| | before \xE2\x86\x92 after |\n|---|---|\n",
						   .number = "| @$ | @ |\n",
						   .list = "\n### @\n\n",
						   .item = "- @$\n"};
	char size[160], triangles[160], draws[160], tone[8];
	put(&f, out, "## Assets from @ to @\n\n", r->from, r->to);
	put_summary(r, out);
	put(&f, out, ".\n");
	if (r->entry_count > 1)
		put(&f, out, "\n| asset | size | triangles | draws | first change |\n|---|---|---|---|---|\n");
	for (uint32_t i = 0; r->entry_count > 1 && i < r->entry_count; i++) {
		const diff_entry *entry = &r->entries[i];
		const cJSON *first = cJSON_GetArrayItem(srv_cli_member(entry->comparison, "changes"), 0);
		put(&f, out, "| $ | @ | @ | @ | @$ |\n", entry->asset,
			step_text(number_of(entry, "bytes"), f.arrow, size),
			step_text(number_of(entry, "triangles"), f.arrow, triangles),
			step_text(number_of(entry, "draws"), f.arrow, draws),
			tone_text(&f, srv_cli_text(first, "tone"), tone), srv_cli_text(first, "text"));
	}
	put_all(&f, r, out);
}

/* ---- HTML */

static const char page_style[] =
	":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem "
	"auto;padding:0 1rem}"
	"img{max-width:100%;background:#8884;border-radius:6px}table{border-collapse:collapse;margin:.5rem 0}"
	"td,th{padding:.15rem .8rem .15rem "
	"0;text-align:left;vertical-align:top}.bad{color:light-dark(#a31515,#ff8f87)}"
	".warn{color:light-dark(#7a4a00,#f0b760)}.good{color:light-dark(#0b6b2e,#6fd08c)}section{margin:2rem 0}";

static void put_html(const diff_report *r, hob_buf *out)
{
	static const char *const escaped[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
	static const form f = {.marks = "&<>\"",
						   .escaped = escaped,
						   .control = " ",
						   .tone_format = "%s",
						   .arrow = "\xE2\x86\x92",
						   .asset = "<section><h2>$</h2>\n",
						   .version = "<p>Changed by another version of Hob, not by its files: $</p>\n",
						   .over = "<p class=\"bad\">Over budget: $</p>\n",
						   .picture = "<img alt=\"before, after, difference\" src=\"$\">\n",
						   .begin = "<ul>\n",
						   .change = "<li class=\"$\">$</li>\n",
						   .more = "<li>and @ more</li>\n",
						   .end = "</ul>\n<table>\n",
						   .number = "<tr class=\"$\"><th scope=\"row\">$</th><td>@</td></tr>\n",
						   .asset_end = "</table></section>\n",
						   .list = "<section><h2>@</h2><ul>\n",
						   .item = "<li>@$</li>\n",
						   .list_end = "</ul></section>\n"};
	put(&f, out,
		"<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
		"content=\"width=device-width\">\n<title>Assets from @ to @</title>\n<style>@</style>\n"
		"<h1>Assets from @ to @</h1>\n<p>",
		r->from, r->to, page_style, r->from, r->to);
	put_summary(r, out);
	put(&f, out, ".</p>\n");
	put_all(&f, r, out);
	put(&f, out, "</html>\n");
}

/* ---- JSON */

static void put_json_names(hob_buf *out, const char *member, const char *const *names, uint32_t count)
{
	hob_json_put(out, HOB_JSON_OPEN(member, '['));
	for (uint32_t i = 0; i < count; i++)
		hob_json_str(out, hob_str_of(names[i]));
	hob_json_close(out, ']');
}

static void put_json(const diff_report *r, hob_buf *out)
{
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("from", r->from), HOB_JSON("to", r->to),
				 HOB_JSON("over_budget", r->over_count), HOB_JSON_OPEN("changed", '['));
	for (uint32_t i = 0; i < r->entry_count; i++) {
		const diff_entry *entry = &r->entries[i];
		hob_own char *comparison = cJSON_PrintUnformatted(entry->comparison);
		hob_buf_put_str(out, i > 0 ? HOB_STR(",\n") : HOB_STR("\n"));
		hob_json_object(out, HOB_JSON("asset", entry->asset),
						HOB_JSON_SOME("version", hob_str_of(entry->version)),
						HOB_JSON_SOME("over_budget", hob_str_of(entry->over)),
						HOB_JSON_SOME("picture", hob_str_of(entry->picture)),
						HOB_JSON_RAW("comparison", hob_str_of(comparison ? comparison : "")));
	}
	hob_json_close(out, ']');
	put_json_names(out, "added", r->added, r->added_count);
	put_json_names(out, "gone", r->gone, r->gone_count);
	if (r->how->commits)
		put_json_names(out, "broken", r->broken, r->broken_count);
	hob_buf_put_str(out, HOB_STR("}\n"));
}

/* ---- text */

static void put_text(const diff_report *r, hob_buf *out)
{
	static const form f = {.marks = "",
						   .control = "?",
						   .tone_format = "%-5s",
						   .arrow = "->",
						   .asset = "\n$\n",
						   .version = "  by another version of Hob, not by its files: $\n",
						   .over = "  over budget: $\n",
						   .change = "  @$\n",
						   .number = "  @@ @\n",
						   .list = "\n",
						   .item = "@$\n",
						   .words = true};
	put(&f, out, "@ -> @: ", r->from, r->to);
	put_summary(r, out);
	put(&f, out, "\n");
	put_all(&f, r, out);
}

typedef void put_report(const diff_report *report, hob_buf *out);

static put_report *format_of(const char *name)
{
	static const struct {
		const char *name;
		put_report *put;
	} formats[] = {{"text", put_text}, {"md", put_markdown}, {"html", put_html}, {"json", put_json}};
	for (size_t i = 0; i < HOB_COUNT_OF(formats); i++)
		if (strcmp(name, formats[i].name) == 0)
			return formats[i].put;
	return NULL;
}

/* ---- which assets */

static bool has_outputs(const cJSON *asset)
{
	return cJSON_GetArraySize(srv_cli_member(asset, "outputs")) > 0;
}

/* Whether the newest version failed, as a commit's manifest has it. */
static bool is_broken(const cJSON *asset)
{
	return asset && !srv_cli_is_fresh(srv_cli_text(asset, "state"));
}

static bool same_outputs(const cJSON *a, const cJSON *b)
{
	const cJSON *output;
	uint32_t same = 0;
	cJSON_ArrayForEach(output, a)
	{
		const cJSON *other = srv_cli_find(b, "name", srv_cli_text(output, "name"));
		same += other && strcmp(srv_cli_text(output, "hash"), srv_cli_text(other, "hash")) == 0;
	}
	return same == (uint32_t)cJSON_GetArraySize(a) && same == (uint32_t)cJSON_GetArraySize(b);
}

/* The manifest of a commit, once it is settled. */
static cJSON *commit_manifest(const diff_report_options *how, const char *rev, char shown[48], int *code)
{
	char root[256] = "";
	const char *rest = how->only ? strchr(how->only, '/') : NULL;
	cJSON *commit;
	if (how->only)
		snprintf(root, sizeof root, "%.*s", (int)strcspn(how->only, "/"), how->only);
	cJSON *manifest =
		srv_cli_commit_manifest(who, how->url, root[0] ? root : NULL, rev, rest ? rest : "", &commit, code);
	const char *id = srv_cli_text(commit, "id");
	if (strncmp(id, rev, strlen(rev)) == 0)
		snprintf(shown, 48, "%.7s", id);
	else
		snprintf(shown, 48, "%.30s (%.7s)", rev, id);
	cJSON_Delete(commit);
	return manifest;
}

static cJSON *ask_manifest(const diff_report_options *how, const char *rev, char shown[48], int *code)
{
	char target[80];
	if (how->commits)
		return commit_manifest(how, rev, shown, code);
	snprintf(target, sizeof target, "/api/v1/revs/%.40s/manifest?root=", rev);
	cJSON *manifest = srv_cli_ask_about(who, how->url, target, how->only ? how->only : "", false, code);
	snprintf(shown, 48, "rev %.0f", srv_cli_number(manifest, "rev"));
	return manifest;
}

/* ---- one asset */

static double weight_of(const cJSON *comparison)
{
	const cJSON *tones = srv_cli_member(comparison, "tones"), *number;
	double weight = 1000 * srv_cli_number(tones, "bad") + 30 * srv_cli_number(tones, "warn") +
					srv_cli_number(tones, "note");
	/* A number that begins at 0 has no ratio; its tone counts instead. */
	cJSON_ArrayForEach(number, srv_cli_member(comparison, "numbers"))
	{
		double from = srv_cli_number(number, "from"), to = srv_cli_number(number, "to");
		weight += from > 0 ? 10 * fabs(to - from) / fmax(from, to) : 0;
	}
	return weight;
}

static const char *const numbers[] = {
#define NUMBER(name, unit, meaning, from, to) name,
#include "../../schema/numbers.def"
#undef NUMBER
};

/* "5%" or 0.05 gives 0.05; negative if it is neither. A number above 1 is refused: it may be a percentage
 * without its sign. */
static double growth_of(const cJSON *limit)
{
	const char *text = cJSON_GetStringValue(limit);
	char *end;
	if (cJSON_IsNumber(limit))
		return limit->valuedouble <= 1 ? limit->valuedouble : -1;
	double value = text ? strtod(text, &end) : -1;
	return text && end != text && strcmp(end, "%") == 0 && isfinite(value) ? value / 100 : -1;
}

static void check_growth(const cJSON *limits, diff_entry *entry)
{
	const cJSON *limit, *number;
	hob_own_buf out = {0};
	char share[32];
	cJSON_ArrayForEach(limit, limits)
	{
		cJSON_ArrayForEach(number, srv_cli_member(entry->comparison, "numbers"))
		{
			double from = srv_cli_number(number, "from"), to = srv_cli_number(number, "to");
			if (strcmp(srv_cli_text(number, "name"), limit->string) != 0 ||
				to <= from * (1 + growth_of(limit)) + 1e-9)
				continue;
			hob_buf_printf(&out, "%s%s grew ", out.size > 0 ? "; " : "", limit->string);
			hob_buf_printf(&out, from > 0 ? "by %s" : "from 0%s", share_text(from, to, share));
			hob_buf_printf(&out, ", at most %.3g %%", 100 * growth_of(limit));
		}
	}
	entry->over = out.size > 0 ? strdup(srv_cli_ended(&out)) : NULL;
}

/* ---- pictures */

/* Pictures stay with the daemon, which readers of the report reach at the address `pictures`. */
static bool is_hosted(const diff_report_options *how)
{
	return how->pictures &&
		   (strncmp(how->pictures, "http://", 7) == 0 || strncmp(how->pictures, "https://", 8) == 0);
}

/* Makes a file name from the asset's name, without characters that are special in Markdown, HTML or an
 * address. If more than slashes were replaced, a digest keeps the name unique. */
static char *picture_path(const diff_report_options *how, const char *asset)
{
	enum { KEPT = 180, DIGITS = 16 };
	hob_buf path = {0};
	hob_str name = hob_str_of(asset);
	size_t kept = name.len;
	bool changed = kept > KEPT;
	while (kept > KEPT || (kept > 0 && kept < name.len && (name.data[kept] & 0xC0) == 0x80))
		kept--;
	hob_buf_printf(&path, "%s/", how->pictures);
	for (size_t i = 0; i < kept; i++) {
		unsigned char c = (unsigned char)name.data[i];
		bool plain = isalnum(c) || c >= 0x80 || strchr("-_.", c);
		changed = changed || (!plain && c != '/');
		hob_buf_put(&path, plain ? &name.data[i] : "_", 1);
	}
	if (changed) {
		char digest[HOB_SHA256_TEXT + 1];
		hob_sha256 hash = hob_sha256_of((hob_bytes){(const uint8_t *)name.data, name.len});
		hob_sha256_text(&hash, digest);
		hob_buf_printf(&path, "-%.*s", DIGITS, digest);
	}
	hob_buf_put_str(&path, HOB_STR(".png"));
	hob_buf_put(&path, "", 1);
	return (char *)path.data;
}

/* If only clips differ, a picture at rest would show no difference: both sides are posed by the first such
 * clip. */
static const char *posed_by(const cJSON *comparison)
{
	const cJSON *change;
	const char *clip = "";
	cJSON_ArrayForEach(change, srv_cli_member(comparison, "changes"))
	{
		const char *part = srv_cli_text(change, "part");
		if (strcmp(part, "rule") == 0)
			continue;
		if (strcmp(part, "clip") != 0)
			return "";
		if (!clip[0] && strcmp(srv_cli_text(change, "change"), "renamed") != 0)
			clip = srv_cli_text(change, "name");
	}
	return clip;
}

/* Fetches a picture; none if the model cannot be drawn. If the file cannot be written, the run ends. */
static bool fetch_picture(const diff_report_options *how, const char *id, diff_entry *entry, int *code)
{
	hob_own_buf target = {0};
	cli_response response;
	hob_error error;
	uint64_t written = 0;
	const char *clip = posed_by(entry->comparison);
	hob_buf_printf(&target, "/api/v1/assets/%s/compare/picture?from=%s&to=%s&view=%.20s&size=320", id,
				   entry->from, entry->to, how->view);
	srv_cli_put_parameter(&target, "&clip=", clip[0] ? clip : NULL);
	bool asked =
		srv_cli_request(how->url, "GET", srv_cli_ended(&target), NULL, (hob_str){0}, &response, &error);
	hob_buf hosted = {0};
	hob_buf_printf(&hosted, "%s%s", how->pictures, srv_cli_ended(&target));
	if (!asked) {
		hob_buf_release(&hosted);
		*code = srv_cli_fail(who, &error, EXIT_UNREACHABLE);
		return false;
	}
	bool ok = true;
	if (response.status == 400) {
		*code = srv_cli_print_problem(who, &response);
		ok = false;
	} else if (response.status == 200 && is_hosted(how)) {
		(void)srv_cli_ended(&hosted);
		entry->picture = (char *)hosted.data;
		hosted = (hob_buf){0};
	} else if (response.status == 200) {
		entry->picture = picture_path(how, entry->asset);
		ok = srv_cook_write_file(entry->picture, hob_buf_bytes(&response.body), &written, &error);
		if (!ok)
			*code = srv_cli_fail(who, &error, EXIT_USAGE);
	}
	hob_buf_release(&hosted);
	srv_cli_response_release(&response);
	return ok;
}

/* Names what of Hob changed since the version `from`; NULL if anything else did, or if it is not known. */
static char *version_change(const diff_report_options *how, const char *id, const char *from)
{
	bool before = strcmp(from, "previous") == 0;
	char target[128];
	int ignored;
	hob_own_buf out = {0};
	const cJSON *change;
	if (how->commits || strcmp(how->to, "latest") != 0)
		return NULL;
	snprintf(target, sizeof target, "/api/v1/assets/%.40s/why%s%.24s", id,
			 before ? "" : "?rev=", before ? "" : from);
	hob_own_json *why = srv_cli_ask_json(who, how->url, target, false, &ignored);
	bool only = true;
	cJSON_ArrayForEach(change, srv_cli_member(why, "changed"))
	{
		const char *name = srv_cli_text(change, "setting");
		only = only && (strcmp(name, "cook_version") == 0 || strcmp(name, "importer_version") == 0 ||
						strcmp(name, "library") == 0);
		char *was = cJSON_PrintUnformatted(srv_cli_member(change, "from")),
			 *now = cJSON_PrintUnformatted(srv_cli_member(change, "to"));
		hob_buf_printf(&out, "%s%s %s -> %s", out.size > 0 ? ", " : "", name, was ? was : "", now ? now : "");
		cJSON_free(was), cJSON_free(now);
	}
	return only && out.size > 0 ? strdup(srv_cli_ended(&out)) : NULL;
}

/* was, now: the asset in the manifests of two commits. */
static bool look_at(diff_report *r, const cJSON *limits, const cJSON *was, const cJSON *now, const char *id,
					const char *name, int *code)
{
	diff_entry *entry = &r->entries[r->entry_count];
	*entry = (diff_entry){.asset = name};
	snprintf(entry->from, sizeof entry->from, "%.40s", r->how->from);
	snprintf(entry->to, sizeof entry->to, "%.40s", r->how->to);
	if (r->how->commits) {
		snprintf(entry->from, sizeof entry->from, "%.64s", srv_cli_text(was, "record"));
		snprintf(entry->to, sizeof entry->to, "%.64s", srv_cli_text(now, "record"));
	}
	char target[256];
	snprintf(target, sizeof target, "/api/v1/assets/%s/compare?from=%s&to=%s", id, entry->from, entry->to);
	entry->comparison = srv_cli_ask_json(who, r->how->url, target, false, code);
	if (!entry->comparison)
		return false;
	r->entry_count++;
	entry->weight = weight_of(entry->comparison);
	if (limits)
		check_growth(limits, entry);
	r->over_count += entry->over != NULL;
	bool equal = cJSON_IsTrue(srv_cli_member(entry->comparison, "equal"));
	if (equal && cJSON_GetArraySize(srv_cli_member(entry->comparison, "changes")) == 0) {
		r->entry_count--;
		cJSON_Delete(entry->comparison);
		return true;
	}
	entry->version = version_change(r->how, id, entry->from);
	return equal || !r->how->pictures || fetch_picture(r->how, id, entry, code);
}

/* ---- all */

static int heavier_first(const void *a, const void *b)
{
	const diff_entry *one = a, *other = b;
	if (!one->over != !other->over)
		return one->over ? -1 : 1;
	return one->weight > other->weight	 ? -1
		   : one->weight < other->weight ? 1
										 : strcmp(one->asset, other->asset);
}

static bool gather(diff_report *r, const cJSON *limits, int *code)
{
	const cJSON *asset;
	r->before = ask_manifest(r->how, r->how->from, r->from, code);
	r->after = r->before ? ask_manifest(r->how, r->how->to, r->to, code) : NULL;
	if (!r->after)
		return false;
	size_t most = (size_t)cJSON_GetArraySize(srv_cli_member(r->before, "assets")) +
				  (size_t)cJSON_GetArraySize(srv_cli_member(r->after, "assets")) + 1;
	r->entries = calloc(most, sizeof *r->entries);
	r->added = calloc(most, sizeof *r->added);
	r->gone = calloc(most, sizeof *r->gone);
	r->broken = calloc(most, sizeof *r->broken);
	if (!r->entries || !r->added || !r->gone || !r->broken)
		return false;
	cJSON_ArrayForEach(asset, srv_cli_member(r->before, "assets"))
	{
		const char *name = srv_cli_text(asset, "asset");
		const cJSON *now = srv_cli_find(srv_cli_member(r->after, "assets"), "asset", name);
		if (has_outputs(asset) && !has_outputs(now) && !(now && r->how->commits))
			r->gone[r->gone_count++] = name;
	}
	cJSON_ArrayForEach(asset, srv_cli_member(r->after, "assets"))
	{
		const char *name = srv_cli_text(asset, "asset");
		const cJSON *was = srv_cli_find(srv_cli_member(r->before, "assets"), "asset", name);
		/* The asset of the tip lasts longer than that of a commit's folder. */
		const cJSON *lasting = cJSON_IsTrue(srv_cli_member(r->before, "is_tip")) ? was : asset;
		if (r->how->commits && is_broken(asset)) {
			if (!is_broken(was))
				r->broken[r->broken_count++] = name;
		} else if (has_outputs(asset) && !has_outputs(was))
			r->added[r->added_count++] = name;
		else if (has_outputs(asset) &&
				 !same_outputs(srv_cli_member(was, "outputs"), srv_cli_member(asset, "outputs")) &&
				 !look_at(r, limits, was, asset, srv_cli_text(lasting, "id"), name, code))
			return false;
	}
	return true;
}

static bool gather_one(diff_report *r, const cJSON *limits, int *code)
{
	char id[32];
	r->entries = calloc(1, sizeof *r->entries);
	snprintf(r->from, sizeof r->from, "the cook before");
	snprintf(r->to, sizeof r->to, "now");
	return r->entries && srv_cli_find_id(who, r->how->url, r->how->only, id, code) &&
		   look_at(r, limits, NULL, NULL, id, r->how->only, code);
}

/* Checks one limit of --max-growth, and prints its error. */
static bool check_limit(const cJSON *limits, const cJSON *limit)
{
	hob_error twice;
	if (!hob_settings_first_of_name(limits, limit, HOB_STR("--max-growth"), &twice)) {
		fprintf(stderr, "%s: %s\n", who, twice.context);
		return false;
	}
	const char *near = srv_cli_nearest(hob_str_of(limit->string), numbers, HOB_COUNT_OF(numbers));
	if (!near || strcmp(near, limit->string) != 0) {
		fprintf(stderr, "%s: --max-growth: there is no number '%s'", who, limit->string);
		if (near)
			fprintf(stderr, "; did you mean '%s'?\n", near);
		for (size_t i = 0; !near && i < HOB_COUNT_OF(numbers); i++)
			fprintf(stderr, "%s%s", i > 0 ? ", " : "; there are ", numbers[i]);
		fputs(near ? "" : "\n", stderr);
		return false;
	}
	if (growth_of(limit) >= 0)
		return true;
	if (cJSON_IsNumber(limit) && limit->valuedouble > 1)
		fprintf(stderr,
				"%s: --max-growth: '%s' is a share from 0 to 1, or a percentage; did you mean \"%g%%\"?\n",
				who, limit->string, limit->valuedouble);
	else
		fprintf(stderr,
				"%s: --max-growth: '%s' must be a percentage such as \"10%%\", or a share such as 0.1\n", who,
				limit->string);
	return false;
}

/* Reads {"bytes": "10%"} from text or a file, where it may also be the member max_growth of an object. */
static cJSON *read_growth(const char *given, int *code)
{
	enum { MOST = 1 << 20 };
	size_t size;
	hob_own char *text = given[0] == '{' ? NULL : srv_file_text(given, MOST, &size);
	cJSON *whole = cJSON_ParseWithOpts(text ? text : given, NULL, true);
	cJSON *inside = cJSON_DetachItemFromObjectCaseSensitive(whole, "max_growth");
	cJSON *limits = inside ? inside : whole;
	const cJSON *limit;
	if (inside)
		cJSON_Delete(whole);
	bool good = cJSON_IsObject(limits) && limits->child;
	if (!good)
		fprintf(stderr,
				"%s: --max-growth '%s' is no JSON object of percentages, and no file with one; such as "
				"{\"bytes\": \"10%%\", \"triangles\": \"5%%\"}\n",
				who, given);
	cJSON_ArrayForEach(limit, limits) good = good && check_limit(limits, limit);
	if (good)
		return limits;
	cJSON_Delete(limits);
	*code = EXIT_USAGE;
	return NULL;
}

static void release(diff_report *r)
{
	for (uint32_t i = 0; i < r->entry_count; i++) {
		cJSON_Delete(r->entries[i].comparison);
		hob_buf_free(r->entries[i].picture);
		free(r->entries[i].version);
		free(r->entries[i].over);
	}
	free(r->entries);
	free(r->added);
	free(r->gone);
	free(r->broken);
	cJSON_Delete(r->before);
	cJSON_Delete(r->after);
}

static bool make_folder(const char *path, int *code)
{
	if (!path || mkdir(path, 0777) == 0 || errno == EEXIST)
		return true;
	fprintf(stderr, "%s: cannot create the folder '%s': %s\n", who, path, strerror(errno));
	*code = EXIT_USAGE;
	return false;
}

/* Prints the report on stdout. Returns EXIT_GOOD if nothing differs, EXIT_ASSETS_FAILED if something does,
 * EXIT_OVER_BUDGET if something grew more than --max-growth allows; or the code of the error that prevented
 * the report. */
static int print_report(const diff_report_options *options)
{
	diff_report r = {.how = options};
	int code = EXIT_INTERNAL;
	hob_own_buf out = {0};
	hob_own_json *limits = options->growth ? read_growth(options->growth, &code) : NULL;
	bool ok = (!options->growth || limits) && (is_hosted(options) || make_folder(options->pictures, &code));
	ok = ok && (strcmp(options->from, "previous") == 0 ? gather_one : gather)(&r, limits, &code);
	if (ok) {
		if (r.entry_count > 1)
			qsort(r.entries, r.entry_count, sizeof *r.entries, heavier_first);
		format_of(options->format)(&r, &out);
		ok = !out.failed;
		if (ok)
			fwrite(out.data, 1, out.size, stdout);
		bool differs = r.entry_count + r.added_count + r.gone_count + r.broken_count > 0;
		code = !ok				  ? EXIT_INTERNAL
			   : r.over_count > 0 ? EXIT_OVER_BUDGET
			   : differs		  ? EXIT_ASSETS_FAILED
								  : EXIT_GOOD;
	}
	release(&r);
	return code;
}

/* ---- two files */

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

static int compare_files(const char *const paths[2], uint32_t rows, bool json)
{
	hob_describe_options how = {.max_rows = rows, .color = !json && srv_color_wanted(1)};
	hob_bytes files[2] = {{0}};
	hob_own_buf out = {0};
	hob_error error = {0};
	bool equal = false;
	bool ok = srv_map_file(paths[0], &files[0], &error) && srv_map_file(paths[1], &files[1], &error) &&
			  hob_diff_text(files[0], files[1], &how, &equal, &out, &error);
	if (ok && json)
		srv_cli_print_verdict("equal", equal, hob_buf_str(&out));
	else if (out.size > 0)
		srv_cli_print_lines(hob_buf_str(&out));
	srv_unmap_file(&files[0]);
	srv_unmap_file(&files[1]);
	if (!ok)
		return srv_cli_fail(who, &error, EXIT_USAGE);
	if (equal && !json)
		printf("equal\n");
	return equal ? EXIT_GOOD : EXIT_ASSETS_FAILED;
}

static bool is_version(const char *text, const char *word)
{
	return strcmp(text, word) == 0 ||
		   (text[0] && strlen(text) < 20 && strspn(text, "0123456789") == strlen(text));
}

/* hob diff --from: prints a report for people. */
static int run_report(diff_report_options *how, int operands)
{
	if (!format_of(how->format))
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
	return print_report(how);
}

/* The length of the name in ASSET@REV; *rev: REV, or NULL. */
static int name_length(const char *operand, const char **rev)
{
	const char *at = strrchr(operand, '@');
	bool has_rev = at && at[1] && strspn(at + 1, "0123456789") == strlen(at + 1);
	*rev = has_rev ? at + 1 : NULL;
	return has_rev ? (int)(at - operand) : (int)strlen(operand);
}

/* Reports on one asset: since its cook before, or from one revision to another. */
static int compare_versions(diff_report_options *how, const char *a, const char *b)
{
	char name[1024];
	hob_own_buf full = {0};
	const char *to;
	int code = EXIT_GOOD, length = name_length(a, &how->from);
	bool same = length == name_length(b, &to) && strncmp(a, b, (size_t)length) == 0;
	if (!same)
		return srv_cli_usage_error(
			&srv_cli_diff,
			"'%s' is no cooked file here; two such files are compared, or two revisions of one "
			"asset: 'hob get ASSET -o FILE' makes a file of one",
			is_cooked_file(a) ? b : a);
	how->to = a != b && to ? to : how->to;
	snprintf(name, sizeof name, "%.*s", length, a);
	if (srv_cli_full_name(who, how->url, name, &full, &code)) {
		how->only = srv_cli_ended(&full);
		code = run_report(how, 1);
	} else if (code == EXIT_UNREACHABLE) {
		fprintf(stderr, "hob diff: looked for an asset because there is no file '%s' here\n", name);
		code = EXIT_USAGE;
	}
	if (is_other_file(a) && code == EXIT_USAGE)
		fprintf(stderr, "%s: " OTHER_FILE "\n", who, a);
	return code;
}

static int run_diff(int argc, char **argv)
{
	uint32_t rows = 0;
	const char *url = srv_cli_default_url();
	diff_report_options how = {.to = "latest", .view = "corner"};
	cli_option options[] = {
		{"--rows", 0, CLI_NUMBER, &rows, "N", "most records per section, most changes per asset (20)"},
		{"--from", 0, CLI_TEXT, &how.from, "REV", "changes since this revision or commit"},
		{"--to", 0, CLI_TEXT, &how.to, "REV", "up to this revision or commit (latest)"},
		{"--format", 0, CLI_TEXT, &how.format, "FORM",
		 "text, md, html or json (text); of two files text or json"},
		{"--pictures", 0, CLI_TEXT, &how.pictures, "DIR|URL",
		 "pictures of each asset before and after, and their difference: as PNG into DIR, or as links to the "
		 "daemon, which readers reach at URL"},
		{"--view", 0, CLI_TEXT, &how.view, "SIDE",
		 "view of the pictures: corner, front, back, left, right, top or bottom (corner)"},
		{"--max-growth", 0, CLI_TEXT, &how.growth, "JSON|FILE",
		 "'{\"bytes\": \"10%\", \"triangles\": \"5%\"}': exit code 4 if an asset grew by more"},
		CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_diff, options, HOB_COUNT_OF(options), argc, argv);
	bool json = how.format && strcmp(how.format, "json") == 0;
	bool files = operands > 0 && is_cooked_file(argv[1]) && is_cooked_file(argv[operands]);
	bool report = how.from || (how.format && !(json && files)) || how.pictures || how.growth;
	how.url = url;
	how.only = operands > 0 ? argv[1] : NULL;
	how.format = how.format ? how.format : "text";
	how.rows = rows > 0 ? rows : 20;
	if (report)
		return run_report(&how, operands);
	if (operands == 0 || (operands == 1 && is_cooked_file(argv[1])))
		return srv_cli_usage_error(&srv_cli_diff,
								   "name two cooked files, or an asset of the daemon and its revisions");
	for (int i = 1; i <= operands; i++)
		/* "art/duck.glb" can be both an asset and a model below the current folder. */
		if (is_other_file(argv[i]) && (!strchr(argv[i], '/') || argv[i][0] == '/' || argv[i][0] == '.'))
			return srv_cli_usage_error(&srv_cli_diff, OTHER_FILE, argv[i]);
	const char *const paths[] = {argv[1], argv[operands]};
	return files ? compare_files(paths, rows, json) : compare_versions(&how, paths[0], paths[1]);
}

const cli_command srv_cli_diff = {
	"diff", "[A] [B]", "compare two cooked files, or two versions of assets",
	"Two packed files of the same kind are compared by section, record and field.\n"
	"\n"
	"All else is a report on assets of the daemon: numbers, and what was lost, added, renamed or moved, the "
	"largest changes first. ASSET is compared with its previous version, ASSET@REV with the current one or "
	"with another ASSET@REV. --from reports on everything below A (an asset or a folder), or on all assets. "
	"'hob watch' and 'hob status' show revisions.\n"
	"\n"
	"Exit code 0: equal, 1: different, 4: something grew by more than --max-growth.\n"
	"\n"
	"Examples:\n"
	"  hob diff before/duck.meshes after/duck.meshes\n"
	"  hob diff art/props/duck.glb\n"
	"  hob diff art/props/duck.glb@4100 art/props/duck.glb@4182\n"
	"  hob diff --from 4100 --to 4182 --format md --pictures changed/ > changed.md\n"
	"  hob diff --from main --to topic --format md --pictures https://hob.example\n"
	"  hob diff --from 4100 art/props --max-growth '{\"bytes\": \"10%\", \"triangles\": \"5%\"}'\n",
	run_diff};
