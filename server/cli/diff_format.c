#include "diff_report.h"

#include "../log/log.h"

#include <math.h>
#include <stdio.h>

/* The formats of hob diff --from: text, Markdown for a pull request, HTML, JSON. */

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
	srv_diff_report_share(srv_cli_number(number, "from"), srv_cli_number(number, "to"), share);
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
					   srv_diff_report_share(from, to, share));
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

bool srv_diff_report_put(const diff_report *r, hob_buf *out)
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
