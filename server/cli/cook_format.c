#include "cook_format.h"

#include "query.h"

#include <limits.h>
#include <stdio.h>

/* U+FFFE and U+FFFF, which XML forbids. */
static bool is_no_character(const char *text)
{
	return strncmp(text, "\xEF\xBF\xBE", 3) == 0 || strncmp(text, "\xEF\xBF\xBF", 3) == 0;
}

static void put_each(hob_buf *out, const char *text, const char *(*escape)(char c))
{
	for (; *text; text++) {
		bool none = is_no_character(text);
		const char *instead = none ? "?" : escape(*text);
		text += none ? 2 : 0;
		if (instead)
			hob_buf_put_str(out, hob_str_of(instead));
		else
			hob_buf_put(out, text, 1);
	}
}

/* An exceeded budget, or a finding of `hob check` that fails. */
static bool is_fault(const cJSON *note)
{
	return strncmp(srv_cli_text(note, "code"), "budget.", 7) == 0 ||
		   strcmp(srv_cli_text(note, "level"), "error") == 0;
}

/* ---- JUnit */

static const char *of_xml(char c)
{
	return c == '&'						   ? "&amp;"
		   : c == '<'					   ? "&lt;"
		   : c == '>'					   ? "&gt;"
		   : c == '"'					   ? "&quot;"
		   : c == '\n'					   ? "&#10;"
		   : (uint8_t)c < ' ' && c != '\t' ? "?"
										   : NULL;
}

static void put_attribute(hob_buf *out, const char *name, const char *text)
{
	hob_buf_printf(out, " %s=\"", name);
	put_each(out, text, of_xml);
	hob_buf_put(out, "\"", 1);
}

static void put_fault(hob_buf *out, const char *element, const char *type, const char *message)
{
	hob_buf_printf(out, "<%s", element);
	if (type)
		put_attribute(out, "type", type);
	put_attribute(out, "message", message);
	hob_buf_put_str(out, HOB_STR("/>"));
}

static void put_case(hob_buf *out, const char *path, double seconds)
{
	hob_str folder = hob_path_dir(hob_str_of(path));
	char class[PATH_MAX];
	snprintf(class, sizeof class, "%.*s", HOB_FMT(folder));
	hob_buf_put_str(out, HOB_STR("    <testcase"));
	put_attribute(out, "classname", class[0] ? class : ".");
	put_attribute(out, "name", path + (folder.len > 0 ? folder.len + 1 : 0));
	hob_buf_printf(out, " time=\"%.3f\">", seconds);
}

static uint32_t faults(const cJSON *report)
{
	uint32_t count = 0;
	const cJSON *asset, *note;
	cJSON_ArrayForEach(asset, srv_cli_member(report, "assets"))
	{
		bool bad = strcmp(srv_cli_text(asset, "state"), "failed") == 0;
		cJSON_ArrayForEach(note, srv_cli_member(asset, "notes")) bad |= is_fault(note);
		count += bad;
	}
	return count;
}

/* Conforms to Jenkins' junit-10.xsd, in which only a suite counts what was skipped. */
void srv_cook_format_junit(const cJSON *report, hob_buf *out)
{
	const cJSON *asset, *note;
	int skipped = cJSON_GetArraySize(srv_cli_member(report, "skipped"));
	hob_own_buf counts = {0};
	hob_buf_printf(&counts, " tests=\"%d\" failures=\"%u\" errors=\"0\" time=\"%.3f\"",
				   cJSON_GetArraySize(srv_cli_member(report, "assets")) + skipped, faults(report),
				   srv_cli_number(srv_cli_member(report, "totals"), "wall_ms") / 1e3);
	hob_buf_printf(out, COOK_JUNIT_BEGIN "%.*s>\n  <testsuite name=\"hob cook\"%.*s skipped=\"%d\">\n",
				   HOB_FMT(hob_buf_str(&counts)), HOB_FMT(hob_buf_str(&counts)), skipped);
	cJSON_ArrayForEach(asset, srv_cli_member(report, "assets"))
	{
		const cJSON *error = srv_cli_member(asset, "error");
		put_case(out, srv_cli_text(asset, "path"), srv_cli_number(asset, "cook_ms") / 1e3);
		if (error)
			put_fault(out, "failure", srv_cli_text(error, "code"), srv_cli_text(error, "message"));
		cJSON_ArrayForEach(note, srv_cli_member(asset, "notes"))
		{
			if (is_fault(note) && !error)
				put_fault(out, "failure", srv_cli_text(note, "code"), srv_cli_text(note, "text"));
		}
		hob_buf_put_str(out, HOB_STR("</testcase>\n"));
	}
	cJSON_ArrayForEach(asset, srv_cli_member(report, "skipped"))
	{
		put_case(out, srv_cli_text(asset, "path"), 0);
		put_fault(out, "skipped", NULL, srv_cli_text(asset, "why"));
		hob_buf_put_str(out, HOB_STR("</testcase>\n"));
	}
	hob_buf_put_str(out, HOB_STR("  </testsuite>\n</testsuites>\n"));
}

/* ---- GitHub */

static const char *of_message(char c)
{
	return c == '%'						  ? "%25"
		   : c == '\r'					  ? "%0D"
		   : c == '\n'					  ? "%0A"
		   : (uint8_t)c < ' ' || c == 127 ? "?"
										  : NULL;
}

static const char *of_property(char c)
{
	return c == ':' ? "%3A" : c == ',' ? "%2C" : of_message(c);
}

static void put_command(hob_buf *out, const char *command, const char *folder, const char *path,
						const char *title, const char *message)
{
	hob_buf_printf(out, "::%s file=", command);
	put_each(out, folder, of_property);
	put_each(out, path, of_property);
	hob_buf_put_str(out, HOB_STR(",title="));
	put_each(out, title, of_property);
	hob_buf_put_str(out, HOB_STR("::"));
	put_each(out, message, of_message);
	hob_buf_put(out, "\n", 1);
}

void srv_cook_format_github(const cJSON *report, const char *folder, hob_buf *out)
{
	const cJSON *asset, *note;
	cJSON_ArrayForEach(asset, srv_cli_member(report, "assets"))
	{
		const char *path = srv_cli_text(asset, "path");
		const cJSON *error = srv_cli_member(asset, "error");
		if (error)
			put_command(out, "error", folder, path, "not cooked", srv_cli_text(error, "message"));
		cJSON_ArrayForEach(note, srv_cli_member(asset, "notes"))
		{
			const char *level = srv_cli_text(note, "level"), *code = srv_cli_text(note, "code");
			if (!error && (is_fault(note) || strcmp(level, "warning") == 0))
				put_command(out, is_fault(note) ? "error" : "warning", folder, path,
							strncmp(code, "budget.", 7) == 0 ? "over budget" : code,
							srv_cli_text(note, "text"));
		}
	}
	cJSON_ArrayForEach(asset, srv_cli_member(report, "skipped")) put_command(
		out, "notice", folder, srv_cli_text(asset, "path"), "skipped", srv_cli_text(asset, "why"));
}
