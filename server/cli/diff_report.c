#include "diff_report.h"

#include "../../core/hash/hash.h"
#include "../log/log.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char who[] = "hob diff";

/* An asset that changed. */
typedef struct diff_entry {
	const char *asset; /* of a manifest */
	cJSON *comparison; /* GET .../compare */
	char *picture;	   /* path below the page, or NULL */
	char *over;		   /* what grew more than allowed, or NULL */
	double weight;
} diff_entry;

typedef struct diff_report {
	const diff_report_options *how;
	cJSON *before, *after; /* manifests; NULL for one asset against "previous" */
	char from[48], to[48]; /* "rev 4100", "rev 4182" */
	const char **added, **gone;
	uint32_t added_count, gone_count, entry_count, over_count;
	diff_entry *entries; /* the largest change first */
} diff_report;

/* "+5 %": the growth from one number of a comparison to the other; "" without a first number. */
static const char *share_text(double from, double to, char out[32])
{
	out[0] = 0;
	if (from > 0 && fabs(to - from) > 1e-5 * from)
		snprintf(out, 32, "%+.3g %%", 100 * (to - from) / from);
	return out;
}

/* ---- the formats: text, Markdown for a pull request, HTML, JSON */

/* Callbacks of an output format; foreign text passes through `escape`. */
typedef struct writer {
	const char *(*escape)(char c);
	hob_buf *out;
} writer;

static const char *of_markdown(char c)
{
	static const char *const escaped[] = {"\\|",  "\\`",  "\\*",   "\\_",  "\\[", "\\]",
										  "&lt;", "&gt;", "&amp;", "\\\\", "\\#", "\\~"};
	static const char marks[] = "|`*_[]<>&\\#~";
	const char *at = strchr(marks, c);
	return c && at ? escaped[at - marks] : (unsigned char)c < ' ' ? " " : NULL;
}

static const char *of_html(char c)
{
	return c == '&'					? "&amp;"
		   : c == '<'				? "&lt;"
		   : c == '>'				? "&gt;"
		   : c == '"'				? "&quot;"
		   : (unsigned char)c < ' ' ? " "
									: NULL;
}

static const char *of_text(char c)
{
	return (unsigned char)c < ' ' || c == 0x7F ? "?" : NULL;
}

static void put(writer *f, const char *text)
{
	for (; *text; text++) {
		const char *instead = f->escape(*text);
		if (instead)
			hob_buf_put_str(f->out, hob_str_of(instead));
		else
			hob_buf_put(f->out, text, 1);
	}
}

static const cJSON *number_of(const diff_entry *entry, const char *name)
{
	const cJSON *number;
	cJSON_ArrayForEach(number, srv_cli_member(entry->comparison, "numbers"))
	{
		if (strcmp(srv_cli_text(number, "name"), name) == 0)
			return number;
	}
	return NULL;
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

static const char *tone_mark(const char *tone)
{
	return strcmp(tone, "bad") == 0	   ? "\xE2\x9D\x8C "
		   : strcmp(tone, "warn") == 0 ? "\xE2\x9A\xA0\xEF\xB8\x8F "
		   : strcmp(tone, "good") == 0 ? "\xE2\x9C\x85 "
									   : "";
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
	if (r->over_count > 0)
		hob_buf_printf(out, "; %u grew more than allowed", r->over_count);
}

/* ---- Markdown */

static void put_markdown_entry(writer *f, const diff_report *r, const diff_entry *entry)
{
	const cJSON *change, *number;
	uint32_t told = 0, all = (uint32_t)cJSON_GetArraySize(srv_cli_member(entry->comparison, "changes"));
	char step[160], name[48];
	hob_buf_printf(f->out, "\n### ");
	put(f, entry->asset);
	hob_buf_printf(f->out, "\n");
	if (entry->over) {
		hob_buf_printf(f->out, "\n\xE2\x9D\x8C **Over budget:** ");
		put(f, entry->over);
		hob_buf_printf(f->out, "\n");
	}
	if (entry->picture)
		hob_buf_printf(f->out, "\n![before, after, difference](<%s>)\n", entry->picture);
	hob_buf_printf(f->out, "\n");
	cJSON_ArrayForEach(change, srv_cli_member(entry->comparison, "changes"))
	{
		if (told++ == r->how->rows)
			break;
		hob_buf_printf(f->out, "- %s", tone_mark(srv_cli_text(change, "tone")));
		put(f, srv_cli_text(change, "text"));
		hob_buf_printf(f->out, "\n");
	}
	if (all > r->how->rows)
		hob_buf_printf(f->out, "- and %u more\n", all - r->how->rows);
	bool begun = false;
	cJSON_ArrayForEach(number, srv_cli_member(entry->comparison, "numbers"))
	{
		if (is_same(number))
			continue;
		if (!begun)
			hob_buf_printf(f->out, "\n| | before \xE2\x86\x92 after |\n|---|---|\n");
		begun = true;
		hob_buf_printf(f->out, "| %s", tone_mark(srv_cli_text(number, "tone")));
		put(f, name_text(number, name));
		hob_buf_printf(f->out, " | %s |\n", step_text(number, "\xE2\x86\x92", step));
	}
}

static void put_markdown_names(writer *f, const char *title, const char *const *names, uint32_t count)
{
	if (count > 0)
		hob_buf_printf(f->out, "\n### %s\n\n", title);
	for (uint32_t i = 0; i < count; i++) {
		hob_buf_printf(f->out, "- ");
		put(f, names[i]);
		hob_buf_printf(f->out, "\n");
	}
}

static void put_markdown(const diff_report *r, hob_buf *out)
{
	writer f = {of_markdown, out};
	char step[160];
	hob_buf_printf(out, "## Assets from %s to %s\n\n", r->from, r->to);
	put_summary(r, out);
	hob_buf_printf(out, ".\n");
	if (r->entry_count > 1) {
		hob_buf_printf(out, "\n| asset | size | triangles | draws | first change |\n|---|---|---|---|---|\n");
		for (uint32_t i = 0; i < r->entry_count; i++) {
			const diff_entry *entry = &r->entries[i];
			const cJSON *first = cJSON_GetArrayItem(srv_cli_member(entry->comparison, "changes"), 0);
			hob_buf_printf(out, "| ");
			put(&f, entry->asset);
			hob_buf_printf(out, " | %s |", step_text(number_of(entry, "bytes"), "\xE2\x86\x92", step));
			hob_buf_printf(out, " %s |", step_text(number_of(entry, "triangles"), "\xE2\x86\x92", step));
			hob_buf_printf(out, " %s | ", step_text(number_of(entry, "draws"), "\xE2\x86\x92", step));
			if (first)
				hob_buf_printf(out, "%s", tone_mark(srv_cli_text(first, "tone")));
			put(&f, srv_cli_text(first, "text"));
			hob_buf_printf(out, " |\n");
		}
	}
	for (uint32_t i = 0; i < r->entry_count; i++)
		put_markdown_entry(&f, r, &r->entries[i]);
	put_markdown_names(&f, "New", r->added, r->added_count);
	put_markdown_names(&f, "Gone", r->gone, r->gone_count);
}

/* ---- HTML */

static const char page_style[] =
	":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem "
	"auto;padding:0 1rem}"
	"img{max-width:100%;background:#8884;border-radius:6px}table{border-collapse:collapse;margin:.5rem 0}"
	"td,th{padding:.15rem .8rem .15rem "
	"0;text-align:left;vertical-align:top}.bad{color:light-dark(#a31515,#ff8f87)}"
	".warn{color:light-dark(#7a4a00,#f0b760)}.good{color:light-dark(#0b6b2e,#6fd08c)}section{margin:2rem 0}";

static void put_html_entry(writer *f, const diff_report *r, const diff_entry *entry)
{
	const cJSON *change, *number;
	uint32_t told = 0, all = (uint32_t)cJSON_GetArraySize(srv_cli_member(entry->comparison, "changes"));
	char step[160], name[48];
	hob_buf_printf(f->out, "<section><h2>");
	put(f, entry->asset);
	hob_buf_printf(f->out, "</h2>\n");
	if (entry->over) {
		hob_buf_printf(f->out, "<p class=\"bad\">Over budget: ");
		put(f, entry->over);
		hob_buf_printf(f->out, "</p>\n");
	}
	if (entry->picture) {
		hob_buf_printf(f->out, "<img alt=\"before, after, difference\" src=\"");
		put(f, entry->picture);
		hob_buf_printf(f->out, "\">\n");
	}
	hob_buf_printf(f->out, "<ul>\n");
	cJSON_ArrayForEach(change, srv_cli_member(entry->comparison, "changes"))
	{
		if (told++ == r->how->rows)
			break;
		hob_buf_printf(f->out, "<li class=\"");
		put(f, srv_cli_text(change, "tone"));
		hob_buf_printf(f->out, "\">");
		put(f, srv_cli_text(change, "text"));
		hob_buf_printf(f->out, "</li>\n");
	}
	if (all > r->how->rows)
		hob_buf_printf(f->out, "<li>and %u more</li>\n", all - r->how->rows);
	hob_buf_printf(f->out, "</ul>\n<table>\n");
	cJSON_ArrayForEach(number, srv_cli_member(entry->comparison, "numbers"))
	{
		if (is_same(number))
			continue;
		hob_buf_printf(f->out, "<tr class=\"");
		put(f, srv_cli_text(number, "tone"));
		hob_buf_printf(f->out, "\"><th scope=\"row\">");
		put(f, name_text(number, name));
		hob_buf_printf(f->out, "</th><td>%s</td></tr>\n", step_text(number, "\xE2\x86\x92", step));
	}
	hob_buf_printf(f->out, "</table></section>\n");
}

static void put_html_names(writer *f, const char *title, const char *const *names, uint32_t count)
{
	if (count == 0)
		return;
	hob_buf_printf(f->out, "<section><h2>%s</h2><ul>\n", title);
	for (uint32_t i = 0; i < count; i++) {
		hob_buf_printf(f->out, "<li>");
		put(f, names[i]);
		hob_buf_printf(f->out, "</li>\n");
	}
	hob_buf_printf(f->out, "</ul></section>\n");
}

static void put_html(const diff_report *r, hob_buf *out)
{
	writer f = {of_html, out};
	hob_buf_printf(out,
				   "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
				   "content=\"width=device-width\">\n<title>Assets from %s to %s</title>\n<style>%s</style>\n"
				   "<h1>Assets from %s to %s</h1>\n<p>",
				   r->from, r->to, page_style, r->from, r->to);
	put_summary(r, out);
	hob_buf_printf(out, ".</p>\n");
	for (uint32_t i = 0; i < r->entry_count; i++)
		put_html_entry(&f, r, &r->entries[i]);
	put_html_names(&f, "New", r->added, r->added_count);
	put_html_names(&f, "Gone", r->gone, r->gone_count);
	hob_buf_printf(out, "</html>\n");
}

/* ---- JSON */

static void put_json_names(hob_buf *out, const char *member, const char *const *names, uint32_t count)
{
	hob_buf_printf(out, ",\"%s\":[", member);
	for (uint32_t i = 0; i < count; i++) {
		hob_buf_printf(out, "%s", i > 0 ? "," : "");
		hob_buf_put_json(out, hob_str_of(names[i]));
	}
	hob_buf_printf(out, "]");
}

static void put_json_text(hob_buf *out, const char *member, const char *text)
{
	hob_buf_printf(out, ",\"%s\":", member);
	if (text)
		hob_buf_put_json(out, hob_str_of(text));
	else
		hob_buf_put_str(out, HOB_STR("null"));
}

static void put_json(const diff_report *r, hob_buf *out)
{
	hob_buf_printf(out, "{\"from\":\"%s\",\"to\":\"%s\",\"over_budget\":%u,\"changed\":[", r->from, r->to,
				   r->over_count);
	for (uint32_t i = 0; i < r->entry_count; i++) {
		const diff_entry *entry = &r->entries[i];
		char *comparison = cJSON_PrintUnformatted(entry->comparison);
		hob_buf_printf(out, "%s{\"asset\":", i > 0 ? ",\n" : "\n");
		hob_buf_put_json(out, hob_str_of(entry->asset));
		put_json_text(out, "over_budget", entry->over);
		put_json_text(out, "picture", entry->picture);
		hob_buf_printf(out, ",\"comparison\":%s}", comparison ? comparison : "null");
		cJSON_free(comparison);
	}
	hob_buf_printf(out, "]");
	put_json_names(out, "added", r->added, r->added_count);
	put_json_names(out, "gone", r->gone, r->gone_count);
	hob_buf_printf(out, "}\n");
}

/* ---- text */

static void put_text(const diff_report *r, hob_buf *out)
{
	writer f = {of_text, out};
	char step[160], name[48];
	const cJSON *change, *number;
	hob_buf_printf(out, "%s -> %s: ", r->from, r->to);
	put_summary(r, out);
	hob_buf_printf(out, "\n");
	for (uint32_t i = 0; i < r->entry_count; i++) {
		const diff_entry *entry = &r->entries[i];
		uint32_t told = 0;
		hob_buf_printf(out, "\n");
		put(&f, entry->asset);
		hob_buf_printf(out, "\n");
		if (entry->over)
			hob_buf_printf(out, "  over budget: %s\n", entry->over);
		cJSON_ArrayForEach(change, srv_cli_member(entry->comparison, "changes"))
		{
			if (told++ == r->how->rows)
				break;
			hob_buf_printf(out, "  %-5s", srv_cli_text(change, "tone"));
			put(&f, srv_cli_text(change, "text"));
			hob_buf_printf(out, "\n");
		}
		cJSON_ArrayForEach(number, srv_cli_member(entry->comparison, "numbers"))
		{
			if (!is_same(number))
				hob_buf_printf(out, "  %-5s%s %s\n", srv_cli_text(number, "tone"), name_text(number, name),
							   step_text(number, "->", step));
		}
	}
	for (uint32_t i = 0; i < r->added_count; i++) {
		hob_buf_printf(out, "%snew   ", i == 0 ? "\n" : "");
		put(&f, r->added[i]);
		hob_buf_printf(out, "\n");
	}
	for (uint32_t i = 0; i < r->gone_count; i++) {
		hob_buf_printf(out, "%sgone  ", i == 0 ? "\n" : "");
		put(&f, r->gone[i]);
		hob_buf_printf(out, "\n");
	}
}

static bool put_report(const diff_report *r, hob_buf *out)
{
	static const struct {
		const char *name;
		void (*put)(const diff_report *report, hob_buf *out);
	} formats[] = {{"text", put_text}, {"md", put_markdown}, {"html", put_html}, {"json", put_json}};
	for (size_t i = 0; i < HOB_COUNT_OF(formats); i++)
		if (strcmp(r->how->format, formats[i].name) == 0) {
			formats[i].put(r, out);
			return true;
		}
	return false;
}

/* ---- which assets */

static const cJSON *find_asset(const cJSON *manifest, const char *name)
{
	const cJSON *asset;
	cJSON_ArrayForEach(asset, srv_cli_member(manifest, "assets"))
	{
		if (strcmp(srv_cli_text(asset, "asset"), name) == 0)
			return asset;
	}
	return NULL;
}

static bool has_outputs(const cJSON *asset)
{
	return cJSON_GetArraySize(srv_cli_member(asset, "outputs")) > 0;
}

static bool same_outputs(const cJSON *a, const cJSON *b)
{
	const cJSON *output, *other;
	uint32_t same = 0;
	cJSON_ArrayForEach(output, a)
	{
		cJSON_ArrayForEach(other, b)
		{
			const char *name = srv_cli_text(output, "name");
			if (strcmp(name, srv_cli_text(other, "name")) == 0)
				same += strcmp(name, "report") == 0 ||
						strcmp(srv_cli_text(output, "hash"), srv_cli_text(other, "hash")) == 0;
		}
	}
	return same == (uint32_t)cJSON_GetArraySize(a) && same == (uint32_t)cJSON_GetArraySize(b);
}

static cJSON *ask_manifest(const diff_report_options *how, const char *rev, int *code)
{
	hob_buf target = {0};
	hob_buf_printf(&target, "/api/v1/revs/%s/manifest?root=", rev);
	srv_cli_encode(&target, hob_str_of(how->only ? how->only : ""));
	hob_buf_put(&target, "", 1);
	cJSON *found = srv_cli_ask_json(who, how->url, (const char *)target.data, false, code);
	hob_buf_release(&target);
	return found;
}

/* ---- one asset */

static cJSON *ask_comparison(const diff_report_options *how, const char *id, int *code)
{
	char target[160];
	snprintf(target, sizeof target, "/api/v1/assets/%s/compare?from=%.40s&to=%.40s", id, how->from, how->to);
	return srv_cli_ask_json(who, how->url, target, false, code);
}

static double change_of(const cJSON *number)
{
	double from = srv_cli_number(number, "from"), to = srv_cli_number(number, "to");
	double most = fmax(fabs(from), fabs(to));
	return most > 0 ? fabs(to - from) / most : 0;
}

static double weight_of(const cJSON *comparison)
{
	const cJSON *tones = srv_cli_member(comparison, "tones"), *number;
	double weight = 1000 * srv_cli_number(tones, "bad") + 30 * srv_cli_number(tones, "warn") +
					srv_cli_number(tones, "note");
	/* A number that begins at 0 has no ratio; its tone counts instead. */
	cJSON_ArrayForEach(number, srv_cli_member(comparison, "numbers"))
	{
		if (srv_cli_number(number, "from") > 0)
			weight += 10 * change_of(number);
	}
	return weight;
}

static const char *const numbers[] = {
#define NUMBER(name, unit, meaning, from, to) name,
#include "../../schema/numbers.def"
#undef NUMBER
};

/* "5%" or 0.05 -> 0.05; negative: neither of them. A number above 1 is a percentage that lacks its sign. */
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
	hob_buf out = {0};
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
	if (out.size > 0)
		hob_buf_put(&out, "", 1);
	entry->over = out.size > 0 && !out.failed ? strdup((const char *)out.data) : NULL;
	hob_buf_release(&out);
}

/* ---- pictures */

/* The asset's name, so that people find it, as a file's name that also means nothing in Markdown, HTML or an
 * address. If that takes more than its slashes, a digest tells it from others. */
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

/* Where nothing but clips differs, a picture at rest would show none of it: the first clip poses both. */
static const char *posed_by(const cJSON *comparison)
{
	const cJSON *change;
	const char *clip = "";
	cJSON_ArrayForEach(change, srv_cli_member(comparison, "changes"))
	{
		if (strcmp(srv_cli_text(change, "part"), "clip") != 0)
			return "";
		if (!clip[0] && strcmp(srv_cli_text(change, "change"), "renamed") != 0)
			clip = srv_cli_text(change, "name");
	}
	return clip;
}

/* A model that cannot be drawn has no picture; a file that cannot be written ends the run. */
static bool fetch_picture(const diff_report_options *how, const char *id, diff_entry *entry, int *code)
{
	hob_buf target = {0};
	cli_response response;
	hob_error error;
	const char *clip = posed_by(entry->comparison);
	hob_buf_printf(&target, "/api/v1/assets/%s/compare/picture?from=%.40s&to=%.40s&view=%.20s&size=320", id,
				   how->from, how->to, how->view);
	if (clip[0]) {
		hob_buf_put_str(&target, HOB_STR("&clip="));
		srv_cli_encode(&target, hob_str_of(clip));
	}
	hob_buf_put(&target, "", 1);
	bool asked = target.failed ? hob_fail(&error, MEMORY, "no memory left for a picture")
							   : srv_cli_request(how->url, "GET", (const char *)target.data, NULL,
												 (hob_str){0}, &response, &error);
	hob_buf_release(&target);
	if (!asked) {
		srv_cli_print_error(who, &error);
		*code = EXIT_UNREACHABLE;
		return false;
	}
	bool ok = true;
	if (response.status == 400) {
		*code = srv_cli_print_problem(who, &response);
		ok = false;
	} else if (response.status == 200) {
		entry->picture = picture_path(how, entry->asset);
		FILE *file = fopen(entry->picture, "wb");
		ok = file && fwrite(response.body.data, 1, response.body.size, file) == response.body.size;
		ok = file && fclose(file) == 0 && ok;
		if (!ok) {
			fprintf(stderr, "%s: '%s' cannot be written: %s\n", who, entry->picture, strerror(errno));
			*code = EXIT_USAGE;
		}
	}
	srv_cli_response_release(&response);
	return ok;
}

static bool look_at(diff_report *r, const cJSON *limits, const char *id, const char *name, int *code)
{
	diff_entry *entry = &r->entries[r->entry_count];
	*entry = (diff_entry){.asset = name, .comparison = ask_comparison(r->how, id, code)};
	if (!entry->comparison)
		return false;
	r->entry_count++;
	entry->weight = weight_of(entry->comparison);
	if (limits)
		check_growth(limits, entry);
	r->over_count += entry->over != NULL;
	if (cJSON_IsTrue(srv_cli_member(entry->comparison, "equal"))) {
		r->entry_count--;
		cJSON_Delete(entry->comparison);
		return true;
	}
	return !r->how->pictures || fetch_picture(r->how, id, entry, code);
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
	r->before = ask_manifest(r->how, r->how->from, code);
	r->after = r->before ? ask_manifest(r->how, r->how->to, code) : NULL;
	if (!r->after)
		return false;
	snprintf(r->from, sizeof r->from, "rev %.0f", srv_cli_number(r->before, "rev"));
	snprintf(r->to, sizeof r->to, "rev %.0f", srv_cli_number(r->after, "rev"));
	size_t most = (size_t)cJSON_GetArraySize(srv_cli_member(r->before, "assets")) +
				  (size_t)cJSON_GetArraySize(srv_cli_member(r->after, "assets")) + 1;
	r->entries = calloc(most, sizeof *r->entries);
	r->added = calloc(most, sizeof *r->added);
	r->gone = calloc(most, sizeof *r->gone);
	if (!r->entries || !r->added || !r->gone)
		return false;
	cJSON_ArrayForEach(asset, srv_cli_member(r->before, "assets"))
	{
		const char *name = srv_cli_text(asset, "asset");
		if (has_outputs(asset) && !has_outputs(find_asset(r->after, name)))
			r->gone[r->gone_count++] = name;
	}
	cJSON_ArrayForEach(asset, srv_cli_member(r->after, "assets"))
	{
		const char *name = srv_cli_text(asset, "asset");
		const cJSON *was = find_asset(r->before, name);
		if (!has_outputs(asset))
			continue;
		if (!has_outputs(was))
			r->added[r->added_count++] = name;
		else if (!same_outputs(srv_cli_member(was, "outputs"), srv_cli_member(asset, "outputs")) &&
				 !look_at(r, limits, srv_cli_text(asset, "id"), name, code))
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
		   look_at(r, limits, id, r->how->only, code);
}

/* Prints what is wrong with it. */
static bool check_limit(const cJSON *limit)
{
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

/* {"bytes": "10%"} as text or in a file, also as the member max_growth of an object. */
static cJSON *read_growth(const char *given, int *code)
{
	hob_buf text = {0};
	FILE *file = given[0] == '{' ? NULL : fopen(given, "rb");
	uint8_t piece[4096];
	size_t got;
	while (file && (got = fread(piece, 1, sizeof piece, file)) > 0 && text.size < 1 << 20)
		hob_buf_put(&text, piece, got);
	if (file)
		fclose(file);
	else
		hob_buf_put_str(&text, hob_str_of(given));
	cJSON *whole = text.data ? cJSON_ParseWithLength((const char *)text.data, text.size) : NULL;
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
	cJSON_ArrayForEach(limit, limits) good = good && check_limit(limit);
	hob_buf_release(&text);
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
		free(r->entries[i].picture);
		free(r->entries[i].over);
	}
	free(r->entries);
	free(r->added);
	free(r->gone);
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

int srv_diff_report_run(const diff_report_options *options)
{
	diff_report r = {.how = options};
	int code = EXIT_INTERNAL;
	hob_buf out = {0};
	cJSON *limits = options->growth ? read_growth(options->growth, &code) : NULL;
	bool ok = (!options->growth || limits) && make_folder(options->pictures, &code);
	ok = ok && (strcmp(options->from, "previous") == 0 ? gather_one : gather)(&r, limits, &code);
	if (ok) {
		if (r.entry_count > 1)
			qsort(r.entries, r.entry_count, sizeof *r.entries, heavier_first);
		ok = put_report(&r, &out) && !out.failed;
		if (ok)
			fwrite(out.data, 1, out.size, stdout);
		bool differs = r.entry_count + r.added_count + r.gone_count > 0;
		code = !ok				  ? EXIT_INTERNAL
			   : r.over_count > 0 ? EXIT_OVER_BUDGET
			   : differs		  ? EXIT_ASSETS_FAILED
								  : EXIT_GOOD;
	}
	hob_buf_release(&out);
	release(&r);
	cJSON_Delete(limits);
	return code;
}
