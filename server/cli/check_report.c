#include "check_report.h"
#include "cook_format.h"
#include "cook_write.h"
#include "query.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const formats[CHECK_FORMATS] = {"text", "json", "sarif", "junit", "github"};

check_format srv_check_format_of(const char *name)
{
	uint32_t i = 0;
	while (i < CHECK_FORMATS && strcmp(formats[i], name) != 0)
		i++;
	return (check_format)i;
}

static int compare_str(hob_str a, hob_str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n > 0 ? memcmp(a.data, b.data, n) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_asset(const void *a, const void *b)
{
	return compare_str(*(const hob_str *)a, *(const hob_str *)b);
}

static int by_place(const void *a, const void *b)
{
	const check_row *x = a, *y = b;
	int order = compare_str(x->asset, y->asset);
	order = order ? order : compare_str(x->rule, y->rule);
	order = order ? order : compare_str(x->kind, y->kind);
	return order ? order : compare_str(x->name, y->name);
}

/* ---- the baseline: a line for each finding, [asset, digest, rule, kind, name, value, reason] */

static void source_text(const check_row *row, char out[17])
{
	char digest[HOB_SHA256_TEXT + 1];
	hob_sha256_text(&row->source, digest);
	snprintf(out, 17, "%.16s", digest);
}

static bool read_line(check_report *c, hob_str line)
{
	cJSON *json = cJSON_ParseWithLength(line.data, line.len);
	hob_str *parts[] = {NULL, NULL, NULL, NULL, NULL};
	check_row row = {0};
	parts[0] = &row.asset, parts[1] = &row.text, parts[2] = &row.rule, parts[3] = &row.kind,
	parts[4] = &row.name;
	bool ok = cJSON_GetArraySize(json) >= 6 && cJSON_IsNumber(cJSON_GetArrayItem(json, 5)) &&
			  HOB_ROOM(c->old, c->old_capacity, c->old_count);
	for (int i = 0; ok && i < 5; i++) {
		const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(json, i));
		*parts[i] = hob_arena_str(&c->memory, hob_str_of(text));
		ok = text && parts[i]->data;
	}
	if (ok) {
		row.value = cJSON_GetArrayItem(json, 5)->valuedouble;
		row.why = hob_arena_str(&c->memory, hob_str_of(cJSON_GetStringValue(cJSON_GetArrayItem(json, 6))));
		c->old[c->old_count++] = row;
	}
	cJSON_Delete(json);
	return ok;
}

bool srv_check_baseline_read(check_report *c, bool may_lack, hob_error *err)
{
	hob_buf text = {0};
	char chunk[4096];
	size_t got;
	struct stat info;
	int fd = open(c->baseline, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!file) {
		int why = errno;
		if (fd >= 0)
			close(fd);
		return (may_lack && why == ENOENT) ||
			   hob_fail(err, USAGE, "--baseline '%.200s' cannot be read: %s", c->baseline, strerror(why));
	}
	bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
	while (is_file && (got = fread(chunk, 1, sizeof chunk, file)) > 0)
		hob_buf_put(&text, chunk, got);
	is_file = is_file && !ferror(file);
	fclose(file);
	if (!is_file) {
		hob_buf_release(&text);
		return hob_fail(err, USAGE, "--baseline '%.200s' cannot be read: it must be a file", c->baseline);
	}
	hob_str all = hob_buf_str(&text);
	bool ok = !text.failed;
	uint32_t number = 1;
	for (size_t at = 0, end; ok && at < all.len; at = end + 1, number++) {
		end = hob_str_find(all, HOB_STR("\n"), at);
		end = end == SIZE_MAX ? all.len : end;
		ok = end == at || read_line(c, hob_str_sub(all, at, end));
	}
	hob_buf_release(&text);
	return ok || hob_fail(err, USAGE, "--baseline '%.200s': line %u is no finding", c->baseline, number - 1);
}

static check_row *find_old(check_report *c, const check_row *row)
{
	char source[17];
	source_text(row, source);
	check_row *moved = NULL;
	for (uint32_t i = 0; i < c->old_count; i++) {
		check_row *old = &c->old[i];
		if (!hob_str_equal(old->name, row->name) || !hob_str_equal(old->rule, row->rule) ||
			!hob_str_equal(old->kind, row->kind))
			continue;
		if (hob_str_equal(old->asset, row->asset))
			return old;
		if (hob_str_equal(old->text, hob_str_of(source)))
			moved = old;
	}
	return moved;
}

/* Joins the findings of objects with the same name: their values are added. */
static void merge(check_report *c)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < c->count; i++)
		if (kept > 0 && by_place(&c->rows[kept - 1], &c->rows[i]) == 0)
			c->rows[kept - 1].value += c->rows[i].value;
		else
			c->rows[kept++] = c->rows[i];
	c->count = kept;
}

static void compare(check_report *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		check_row *row = &c->rows[i], *old = row->level >= HOB_LEVEL_WARNING ? find_old(c, row) : NULL;
		if (old) {
			old->known = true;
			row->why = old->why;
			row->known = old->why.len > 0 || row->value <= old->value * (1 + 1e-6);
		}
		c->fresh += row->fails && !row->known;
	}
}

static bool write_baseline(const check_report *c, hob_error *err)
{
	hob_buf out = {0};
	uint64_t ignored = 0;
	char source[17];
	for (uint32_t i = 0; i < c->count; i++) {
		const check_row *row = &c->rows[i];
		if (row->level < HOB_LEVEL_WARNING || row->kind.len == 0)
			continue;
		source_text(row, source);
		const hob_str parts[] = {row->asset, hob_str_of(source), row->rule, row->kind, row->name};
		for (size_t p = 0; p < HOB_COUNT_OF(parts); p++) {
			hob_buf_put_str(&out, p > 0 ? HOB_STR(", ") : HOB_STR("["));
			hob_buf_put_json(&out, parts[p]);
		}
		hob_buf_put_str(&out, HOB_STR(", "));
		hob_buf_put_double(&out, row->value);
		if (row->why.len > 0) {
			hob_buf_put_str(&out, HOB_STR(", "));
			hob_buf_put_json(&out, row->why);
		}
		hob_buf_put_str(&out, HOB_STR("]\n"));
	}
	bool ok = out.failed ? hob_fail(err, MEMORY, "no memory left for the baseline")
						 : srv_cook_write_file(c->baseline, hob_buf_bytes(&out), &ignored, err);
	hob_buf_release(&out);
	return ok;
}

/* ---- printing */

static const char *mend_of(const check_row *row)
{
	hob_rule rule = row->is_note ? HOB_RULE_COUNT : hob_rule_find(row->rule);
	return rule < HOB_RULE_COUNT ? hob_rule_table[rule].mend : NULL;
}

/* "mesh 'hull': open edges: 12" */
static void put_text(const check_row *row, bool mend, hob_buf *out)
{
	if (!row->is_note && row->name.len > 0)
		hob_buf_printf(out, "%.*s '%.*s': ", HOB_FMT(row->kind), HOB_FMT(row->name));
	hob_buf_put_str(out, row->text);
	if (mend && mend_of(row))
		hob_buf_printf(out, "; %s", mend_of(row));
}

static void print_text(const check_report *c, hob_buf *out)
{
	uint32_t counts[4] = {0}, known = 0, gone = 0, unchecked = 0;
	const char *last = "";
	for (uint32_t i = 0; i < c->count; i++) {
		const check_row *row = &c->rows[i];
		counts[row->level] += !row->known;
		known += row->known;
		if (row->known)
			continue;
		hob_buf_printf(out, "%-8s %.*s: ", row->fails ? "error" : hob_rule_levels[row->level],
					   HOB_FMT(row->asset));
		put_text(row, true, out);
		hob_buf_printf(out, " (%.*s)\n", HOB_FMT(row->rule));
	}
	for (uint32_t i = 0; i < c->old_count; i++)
		gone += !c->old[i].known;
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++)
		if (c->unchecked[i] > 0) {
			hob_buf_printf(out, "%s%s (%u)",
						   unchecked++ > 0 ? ", " : "not checked, by models: ", hob_rule_table[i].id,
						   c->unchecked[i]);
			last = "\n";
		}
	hob_buf_printf(out, "%s%u model%s (%u from the cache): %u error%s, %u warning%s, %u info", last,
				   c->asset_count, HOB_PLURAL(c->asset_count), c->cached, counts[HOB_LEVEL_ERROR],
				   HOB_PLURAL(counts[HOB_LEVEL_ERROR]), counts[HOB_LEVEL_WARNING],
				   HOB_PLURAL(counts[HOB_LEVEL_WARNING]), counts[HOB_LEVEL_INFO]);
	if (c->baseline)
		hob_buf_printf(out, "; %u known", known);
	if (gone > 0)
		hob_buf_printf(out, "; %u of the baseline mended, well done", gone);
	hob_buf_put(out, "\n", 1);
}

/* The findings in the shape of a report of `hob cook`, so that the same formatters print them. fresh: leaves
 * out known findings. */
static cJSON *report_of(const check_report *c, bool fresh)
{
	cJSON *report = cJSON_CreateObject(), *assets = cJSON_AddArrayToObject(report, "assets");
	for (uint32_t a = 0, i = 0; a < c->asset_count; a++) {
		cJSON *asset = cJSON_CreateObject();
		cJSON_AddItemToArray(assets, asset);
		cJSON_AddStringToObject(asset, "path", c->assets[a].data);
		cJSON *notes = cJSON_AddArrayToObject(asset, "notes");
		for (; i < c->count && hob_str_equal(c->rows[i].asset, c->assets[a]); i++) {
			const check_row *row = &c->rows[i];
			hob_buf text = {0};
			if (fresh && row->known)
				continue;
			put_text(row, fresh, &text);
			hob_buf_put(&text, "", 1);
			cJSON *note = cJSON_CreateObject();
			cJSON_AddItemToArray(notes, note);
			cJSON_AddStringToObject(note, "level", row->fails ? "error" : hob_rule_levels[row->level]);
			cJSON_AddStringToObject(note, "code", row->rule.data);
			cJSON_AddStringToObject(note, "text", text.failed ? "" : (const char *)text.data);
			cJSON_AddStringToObject(note, "kind", row->kind.data ? row->kind.data : "model");
			cJSON_AddStringToObject(note, "name", row->is_note ? "" : row->name.data);
			cJSON_AddNumberToObject(note, "value", row->value);
			cJSON_AddBoolToObject(note, "known", row->known);
			hob_buf_release(&text);
		}
	}
	cJSON *unchecked = cJSON_AddObjectToObject(report, "unchecked");
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++)
		if (c->unchecked[i] > 0)
			cJSON_AddNumberToObject(unchecked, hob_rule_table[i].id, c->unchecked[i]);
	cJSON_AddNumberToObject(report, "cached", c->cached);
	return report;
}

static void put_uri(hob_str path, hob_buf *out)
{
	for (size_t i = 0; i < path.len; i++) {
		char byte = path.data[i];
		bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
					 (byte >= 'a' && byte <= 'z') || (byte && strchr("-._~/", byte));
		hob_buf_printf(out, plain ? "%c" : "%%%02X", (uint8_t)byte);
	}
}

/* SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0). */
static void print_sarif(const check_report *c, hob_buf *out)
{
	static const char *const levels[] = {"none", "note", "warning", "error"};
	hob_buf_printf(
		out,
		"{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{"
		"\"tool\":{\"driver\":{\"name\":\"hob\",\"version\":\"%s\",\"rules\":[",
		HOB_VERSION);
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++) {
		const hob_rule_info *info = &hob_rule_table[i];
		hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("id", hob_str_of(info->id)),
					 HOB_JSON_OPEN("shortDescription", '{'), HOB_JSON("text", hob_str_of(info->meaning)),
					 HOB_JSON_CLOSE('}'), HOB_JSON_OPEN("help", '{'),
					 HOB_JSON("text", hob_str_of(info->mend)), HOB_JSON_CLOSE('}'), HOB_JSON_CLOSE('}'));
	}
	hob_buf_put_str(out, HOB_STR("]}},\"results\":["));
	for (uint32_t i = 0; i < c->count; i++) {
		const check_row *row = &c->rows[i];
		hob_buf text = {0};
		put_text(row, true, &text);
		hob_buf_put_str(out, i > 0 ? HOB_STR(",\n") : (hob_str){0});
		hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("ruleId", row->rule),
					 HOB_JSON("level", hob_str_of(row->fails ? "error" : levels[row->level])),
					 HOB_JSON("baselineState", row->known ? HOB_STR("unchanged") : HOB_STR("new")),
					 HOB_JSON_OPEN("message", '{'), HOB_JSON("text", hob_buf_str(&text)), HOB_JSON_CLOSE('}'),
					 HOB_JSON_OPEN("locations", '['), HOB_JSON_OPEN(NULL, '{'),
					 HOB_JSON_OPEN("physicalLocation", '{'), HOB_JSON_OPEN("artifactLocation", '{'),
					 HOB_JSON_KEY("uri"));
		hob_buf_put(out, "\"", 1);
		put_uri(c->folder, out);
		put_uri(row->asset, out);
		hob_buf_put_str(out, HOB_STR("\"}}"));
		if (!row->is_note && row->name.len > 0)
			hob_json_put(out, HOB_JSON_OPEN("logicalLocations", '['), HOB_JSON_OPEN(NULL, '{'),
						 HOB_JSON("name", row->name), HOB_JSON("kind", row->kind), HOB_JSON_CLOSE('}'),
						 HOB_JSON_CLOSE(']'));
		hob_buf_put_str(out, HOB_STR("}]}"));
		hob_buf_release(&text);
	}
	hob_buf_put_str(out, HOB_STR("]}]}\n"));
}

bool srv_check_tell(check_report *c, check_format format, bool update, hob_error *err)
{
	hob_buf out = {0};
	if (c->failed)
		return hob_fail(err, MEMORY, "no memory left for the findings");
	if (c->count > 1)
		qsort(c->rows, c->count, sizeof *c->rows, by_place);
	if (c->asset_count > 1)
		qsort(c->assets, c->asset_count, sizeof *c->assets, by_asset);
	merge(c);
	compare(c);
	cJSON *report = format == CHECK_TEXT || format == CHECK_SARIF ? NULL : report_of(c, format != CHECK_JSON);
	char *text = format == CHECK_JSON ? cJSON_PrintUnformatted(report) : NULL;
	if (format == CHECK_TEXT)
		print_text(c, &out);
	else if (format == CHECK_SARIF)
		print_sarif(c, &out);
	else if (format == CHECK_JUNIT)
		srv_cook_format_junit(report, &out);
	else if (format == CHECK_GITHUB)
		srv_cook_format_github(report, c->folder.data, &out);
	else
		hob_buf_printf(&out, "%s\n", text ? text : "");
	cJSON_free(text);
	cJSON_Delete(report);
	bool ok = !out.failed && fwrite(out.data, 1, out.size, stdout) == out.size && fflush(stdout) == 0;
	hob_buf_release(&out);
	return (ok || hob_fail(err, IO, "the findings cannot be written")) && (!update || write_baseline(c, err));
}

void srv_check_release(check_report *c)
{
	hob_arena_release(&c->memory);
	free(c->assets);
	free(c->rows);
	free(c->old);
}
