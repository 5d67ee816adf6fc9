#include "cook_format.h"
#include "cook_run_private.h"
#include "cook_write.h"
#include "query.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../../core/base/text_order.h"
#include "../../core/settings/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* hob check: compares the findings of the cooks with a baseline and prints them. */

/* A model of this run or of the baseline. */
typedef struct check_asset {
	hob_str path, source, objects; /* beginning of its digest; hashes of its objects (model_check.h) */
	struct check_asset *was;	   /* the same model in the baseline, under this or another name */
	struct check_asset *like; /* best match by objects whose file is gone; `was`, too, if they share enough */
	uint32_t shared, of;	  /* objects in common with `like` or `was`, of how many */
	bool uncooked;
	/* in the baseline. `here`: its file exists; `taken`: a model of this run was renamed from it */
	bool here, taken;
} check_asset;

typedef struct check_row {
	hob_str asset, rule, kind, name, text;
	double value;
	hob_rule_level level;
	bool fails, is_note;
	bool known;			 /* in the baseline with at least this value, or allowed there */
	hob_str why, author; /* who allowed it in the baseline, and why; empty: nobody */
} check_row;

typedef struct check_report {
	hob_arena memory;
	check_asset *assets, *old_assets;
	check_row *rows, *old; /* old: the baseline; there, `known` means that this run found it, too */
	uint32_t asset_count, asset_capacity, count, capacity;
	uint32_t old_asset_count, old_asset_capacity, old_count, old_capacity;
	uint32_t unchecked[HOB_RULE_COUNT]; /* number of models in which the rule could not be checked */
	uint32_t uncooked, cached, fresh;	/* `fresh`: findings that fail the check */
	hob_str folder;						/* prefix that makes paths relative to the current folder */
	int root_fd;						/* of the models' paths */
	const char *baseline;
	bool strict, failed; /* `failed`: memory ran out */
} check_report;

typedef enum check_format {
	CHECK_TEXT,
	CHECK_JSON,
	CHECK_SARIF,
	CHECK_JUNIT,
	CHECK_GITHUB,
	CHECK_FORMATS
} check_format;

static const char *const formats[CHECK_FORMATS] = {"text", "json", "sarif", "junit", "github"};

static check_format format_of(const char *name)
{
	uint32_t i = 0;
	while (i < CHECK_FORMATS && strcmp(formats[i], name) != 0)
		i++;
	return (check_format)i;
}

static int by_path(const void *a, const void *b)
{
	return hob_str_compare(((const check_asset *)a)->path, ((const check_asset *)b)->path);
}

static int by_place(const void *a, const void *b)
{
	const check_row *x = a, *y = b;
	int order = hob_str_compare(x->asset, y->asset);
	order = order ? order : hob_str_compare(x->rule, y->rule);
	order = order ? order : hob_str_compare(x->kind, y->kind);
	return order ? order : hob_str_compare(x->name, y->name);
}

static void sort(check_asset *assets, uint32_t asset_count, check_row *rows, uint32_t count)
{
	if (asset_count > 1)
		qsort(assets, asset_count, sizeof *assets, by_path);
	if (count > 1)
		qsort(rows, count, sizeof *rows, by_place);
}

static check_asset *find_asset(check_asset *in, uint32_t count, hob_str path)
{
	check_asset key = {.path = path};
	return count > 0 ? bsearch(&key, in, count, sizeof key, by_path) : NULL;
}

/* ---- the baseline: a line for each model, [path, digest, objects], and for each finding,
 * [path, rule, kind, name, value] or, if it is allowed, [..., reason, author] */

static bool read_line(check_report *c, hob_str line)
{
	enum { OF_MODEL = 3, VALUE, OF_FINDING, ALLOWED = 7 };
	cJSON *json = cJSON_ParseWithLength(line.data, line.len);
	hob_str text[ALLOWED] = {0};
	int size = cJSON_GetArraySize(json);
	bool ok = size == OF_MODEL ||
			  ((size == OF_FINDING || size == ALLOWED) && cJSON_IsNumber(cJSON_GetArrayItem(json, VALUE)));
	for (int i = 0; ok && i < size; i++) {
		const char *value = cJSON_GetStringValue(cJSON_GetArrayItem(json, i));
		text[i] = hob_arena_str(&c->memory, hob_str_of(value));
		ok = i == VALUE || (value && text[i].data && (value[0] || i < OF_FINDING));
	}
	if (ok && size == OF_MODEL && (ok = HOB_ROOM(c->old_assets, c->old_asset_capacity, c->old_asset_count)))
		c->old_assets[c->old_asset_count++] =
			(check_asset){.path = text[0], .source = text[1], .objects = text[2]};
	else if (ok && size != OF_MODEL && (ok = HOB_ROOM(c->old, c->old_capacity, c->old_count)))
		c->old[c->old_count++] = (check_row){.asset = text[0],
											 .rule = text[1],
											 .kind = text[2],
											 .name = text[3],
											 .value = cJSON_GetArrayItem(json, VALUE)->valuedouble,
											 .level = HOB_LEVEL_WARNING,
											 .why = text[5],
											 .author = text[6]};
	cJSON_Delete(json);
	return ok;
}

/* A merge may leave a model or a finding twice: the allowed or the larger one counts. */
static void drop_twins(check_report *c)
{
	uint32_t kept = 0, models = 0;
	for (uint32_t i = 0; i < c->old_count; i++) {
		check_row *last = kept > 0 ? &c->old[kept - 1] : NULL, *row = &c->old[i];
		if (!last || by_place(last, row) != 0)
			c->old[kept++] = *row;
		else if (last->why.len == 0 && (row->why.len > 0 || row->value > last->value))
			*last = *row;
	}
	for (uint32_t i = 0; i < c->old_asset_count; i++)
		if (models == 0 || by_path(&c->old_assets[models - 1], &c->old_assets[i]) != 0)
			c->old_assets[models++] = c->old_assets[i];
	c->old_count = kept;
	c->old_asset_count = models;
}

/* With `may_lack` the file need not exist. Errors: USAGE. */
static bool read_baseline(check_report *c, bool may_lack, hob_error *err)
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
	bool ok = !text.failed, conflict = false;
	uint32_t number = 1;
	for (size_t at = 0, end; ok && at < all.len; at = end + 1, number++) {
		end = hob_str_find(all, HOB_STR("\n"), at);
		end = end == SIZE_MAX ? all.len : end;
		hob_str line = hob_str_sub(all, at, end);
		conflict = hob_str_starts(line, HOB_STR("<<<<<<<"));
		ok = line.len == 0 || (hob_utf8_valid(line) && read_line(c, line));
	}
	hob_buf_release(&text);
	if (!ok)
		return hob_fail(err, USAGE, "--baseline '%.200s': line %u is %s", c->baseline, number - 1,
						conflict ? "a conflict of a merge; keep the lines of both sides, without the marks"
								 : "no finding; an allowed one ends with reason and author");
	sort(c->old_assets, c->old_asset_count, c->old, c->old_count);
	drop_twins(c);
	for (uint32_t i = 0; i < c->old_count; i++)
		if (!find_asset(c->old_assets, c->old_asset_count, c->old[i].asset))
			return hob_fail(err, USAGE, "--baseline '%.200s': the line of the model '%.*s' is missing",
							c->baseline, HOB_FMT(c->old[i].asset));
	return true;
}

/* Number of objects that two models share, of *of in the larger; full lists are compared as far as both
 * go. */
static uint32_t count_shared(hob_str a, hob_str b, uint32_t *of)
{
	enum { DIGITS = 6, FULL = HOB_RULE_OBJECTS * DIGITS };
	size_t i = 0, k = 0;
	uint32_t shared = 0;
	while (i + DIGITS <= a.len && k + DIGITS <= b.len) {
		int order = memcmp(a.data + i, b.data + k, DIGITS);
		shared += order == 0;
		i += order <= 0 ? DIGITS : 0;
		k += order >= 0 ? DIGITS : 0;
	}
	size_t most_a = b.len < FULL ? a.len : i, most_b = a.len < FULL ? b.len : k;
	*of = (uint32_t)((most_a > most_b ? most_a : most_b) / DIGITS);
	return shared;
}

static bool is_like(uint32_t shared, uint32_t of)
{
	return of > 0 && shared * 5 >= of * 4;
}

/* Finds the former name of a model: one of the baseline whose file is gone and has the same bytes or, with
 * `edited`, shares most objects. */
static void find_renamed(check_report *c, check_asset *asset, bool edited)
{
	for (uint32_t i = 0; i < c->old_asset_count && !asset->was; i++) {
		check_asset *old = &c->old_assets[i];
		uint32_t of = 0, shared;
		if (old->here || old->taken)
			continue;
		if (!edited && asset->source.len > 0 && hob_str_equal(old->source, asset->source)) {
			asset->was = old;
		} else if (edited && (shared = count_shared(old->objects, asset->objects, &of)) > 0 &&
				   (!asset->like || (uint64_t)shared * asset->of > (uint64_t)asset->shared * of)) {
			asset->like = old;
			asset->shared = shared;
			asset->of = of;
		}
	}
	if (asset->like && is_like(asset->shared, asset->of))
		asset->was = asset->like;
	if (asset->was)
		asset->was->taken = true;
}

static void find_models(check_report *c)
{
	for (uint32_t i = 0; i < c->old_asset_count; i++) {
		check_asset *old = &c->old_assets[i], *now = find_asset(c->assets, c->asset_count, old->path);
		char path[2 * PATH_MAX];
		snprintf(path, sizeof path, "%.*s%.*s", HOB_FMT(c->folder), HOB_FMT(old->path));
		old->here = now || access(path, F_OK) == 0;
		if (now)
			now->was = old;
	}
	for (int edited = 0; edited < 2; edited++)
		for (uint32_t i = 0; i < c->count; i++)
			if (i == 0 || !hob_str_equal(c->rows[i].asset, c->rows[i - 1].asset)) {
				check_asset *asset = find_asset(c->assets, c->asset_count, c->rows[i].asset);
				if (!asset->was && !asset->uncooked)
					find_renamed(c, asset, edited > 0);
			}
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
		check_row *row = &c->rows[i], key = *row, *old = NULL;
		const check_asset *asset = find_asset(c->assets, c->asset_count, row->asset);
		if (asset->was && row->level >= HOB_LEVEL_WARNING && c->old_count > 0) {
			key.asset = asset->was->path;
			old = bsearch(&key, c->old, c->old_count, sizeof key, by_place);
		}
		if (old) {
			old->known = true;
			row->why = old->why;
			row->author = old->author;
			row->known = old->why.len > 0 || row->value <= old->value * (1 + 1e-6);
		}
		c->fresh += row->fails && !row->known;
	}
}

/* Whether a finding of the baseline may still exist: its model was not checked, or could not be. */
static bool is_left(check_report *c, const check_row *old)
{
	const check_asset *asset = find_asset(c->assets, c->asset_count, old->asset);
	return asset ? asset->uncooked : find_asset(c->old_assets, c->old_asset_count, old->asset)->here;
}

static bool keep_left(check_report *c)
{
	uint32_t models = c->asset_count, found = c->count;
	for (uint32_t i = 0; i < c->old_count; i++) {
		const check_row *old = &c->old[i];
		check_asset *asset = find_asset(c->old_assets, c->old_asset_count, old->asset);
		if (old->known || !is_left(c, old))
			continue;
		if (!HOB_ROOM(c->rows, c->capacity, found) || !HOB_ROOM(c->assets, c->asset_capacity, models))
			return false;
		c->rows[found++] = *old;
		if (!find_asset(c->assets, c->asset_count, old->asset) &&
			(models == c->asset_count || !hob_str_equal(c->assets[models - 1].path, old->asset)))
			c->assets[models++] = *asset;
	}
	c->count = found;
	c->asset_count = models;
	sort(c->assets, models, c->rows, found);
	return true;
}

/* Appends a model's line to the baseline; one saved with mostly the same objects keeps its earlier line. */
static void put_model(const check_asset *asset, hob_buf *out)
{
	const check_asset *was = asset->was;
	uint32_t of = 0, shared = was ? count_shared(was->objects, asset->objects, &of) : 0;
	if (was && hob_str_equal(was->path, asset->path) && (asset->uncooked || is_like(shared, of)))
		asset = was;
	hob_json_put(out, HOB_JSON_OPEN(NULL, '['), HOB_JSON(NULL, asset->path), HOB_JSON(NULL, asset->source),
				 HOB_JSON(NULL, asset->objects), HOB_JSON_CLOSE(']'));
	hob_buf_put(out, "\n", 1);
}

static bool write_baseline(check_report *c, hob_error *err)
{
	hob_buf out = {0};
	uint64_t ignored = 0;
	hob_str last = {0};
	bool ok = keep_left(c);
	for (uint32_t i = 0; ok && i < c->count; i++) {
		const check_row *row = &c->rows[i];
		if (row->level < HOB_LEVEL_WARNING || row->kind.len == 0)
			continue;
		if (!hob_str_equal(last, row->asset))
			put_model(find_asset(c->assets, c->asset_count, row->asset), &out);
		last = row->asset;
		hob_json_put(&out, HOB_JSON_OPEN(NULL, '['), HOB_JSON(NULL, row->asset), HOB_JSON(NULL, row->rule),
					 HOB_JSON(NULL, row->kind), HOB_JSON(NULL, row->name));
		hob_buf_put(&out, ",", 1);
		hob_buf_put_double(&out, row->value);
		if (row->why.len > 0)
			hob_json_put(&out, HOB_JSON(NULL, row->why), HOB_JSON(NULL, row->author));
		hob_json_put(&out, HOB_JSON_CLOSE(']'));
		hob_buf_put(&out, "\n", 1);
	}
	ok = !ok || out.failed ? hob_fail(err, MEMORY, "no memory left for the baseline")
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
	if (row->text.len > 0)
		hob_buf_put_str(out, row->text);
	else
		hob_buf_printf(out, "%s: %.9g", hob_rule_table[hob_rule_find(row->rule)].fault, row->value);
	if (mend && mend_of(row))
		hob_buf_printf(out, "; %s", mend_of(row));
}

static void print_text(check_report *c, hob_buf *out)
{
	uint32_t counts[4] = {0}, known = 0, allowed = 0, gone = 0, unchecked = 0;
	const char *last = "";
	for (uint32_t i = 0; i < c->count; i++) {
		const check_row *row = &c->rows[i];
		counts[row->level] += !row->known;
		known += row->known;
		allowed += row->known && row->why.len > 0;
		if (row->known)
			continue;
		hob_buf_printf(out, "%-8s %.*s: ", row->fails ? "error" : hob_rule_levels[row->level],
					   HOB_FMT(row->asset));
		put_text(row, true, out);
		hob_buf_printf(out, " (%.*s)\n", HOB_FMT(row->rule));
	}
	for (uint32_t i = 0; i < c->asset_count; i++) {
		const check_asset *asset = &c->assets[i];
		if (asset->like)
			hob_buf_printf(out, "%.*s shares %u of %u objects with %.*s, which is gone: it is taken for %s\n",
						   HOB_FMT(asset->path), asset->shared, asset->of, HOB_FMT(asset->like->path),
						   asset->was ? "the same, renamed" : "new (the same: 80 %)");
	}
	for (uint32_t i = 0; i < c->old_count; i++)
		gone += !c->old[i].known && !is_left(c, &c->old[i]);
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
	if (allowed > 0)
		hob_buf_printf(out, ", %u of them allowed", allowed);
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
		cJSON_AddStringToObject(asset, "path", c->assets[a].path.data);
		if (c->assets[a].was && !hob_str_equal(c->assets[a].was->path, c->assets[a].path))
			cJSON_AddStringToObject(asset, "was", c->assets[a].was->path.data);
		cJSON *notes = cJSON_AddArrayToObject(asset, "notes");
		for (; i < c->count && hob_str_equal(c->rows[i].asset, c->assets[a].path); i++) {
			const check_row *row = &c->rows[i];
			hob_buf text = {0};
			if (fresh && row->known)
				continue;
			put_text(row, fresh, &text);
			cJSON *note = cJSON_CreateObject();
			cJSON_AddItemToArray(notes, note);
			cJSON_AddStringToObject(note, "level", row->fails ? "error" : hob_rule_levels[row->level]);
			cJSON_AddStringToObject(note, "code", row->rule.data);
			cJSON_AddStringToObject(note, "text", srv_cli_ended(&text));
			cJSON_AddStringToObject(note, "kind", row->kind.data ? row->kind.data : "model");
			cJSON_AddStringToObject(note, "name", row->is_note ? "" : row->name.data);
			cJSON_AddNumberToObject(note, "value", row->value);
			cJSON_AddBoolToObject(note, "known", row->known);
			if (row->why.len > 0) {
				cJSON *allowed = cJSON_AddObjectToObject(note, "allowed");
				cJSON_AddStringToObject(allowed, "reason", row->why.data);
				cJSON_AddStringToObject(allowed, "author", row->author.data);
			}
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
		srv_cli_encode(out, c->folder);
		srv_cli_encode(out, row->asset);
		hob_buf_put_str(out, HOB_STR("\"}}"));
		if (!row->is_note && row->name.len > 0)
			hob_json_put(out, HOB_JSON_OPEN("logicalLocations", '['), HOB_JSON_OPEN(NULL, '{'),
						 HOB_JSON("name", row->name), HOB_JSON("kind", row->kind), HOB_JSON_CLOSE('}'),
						 HOB_JSON_CLOSE(']'));
		hob_buf_put_str(out, HOB_STR("}]"));
		if (row->why.len > 0)
			hob_json_put(out, HOB_JSON_OPEN("suppressions", '['), HOB_JSON_OPEN(NULL, '{'),
						 HOB_JSON("kind", "external"), HOB_JSON("justification", row->why),
						 HOB_JSON_OPEN("properties", '{'), HOB_JSON("author", row->author),
						 HOB_JSON_CLOSE('}'), HOB_JSON_CLOSE('}'), HOB_JSON_CLOSE(']'));
		hob_buf_put(out, "}", 1);
		hob_buf_release(&text);
	}
	hob_buf_put_str(out, HOB_STR("]}]}\n"));
}

/* Puts '?' for each byte that is no UTF-8, as names in foreign files have: no report may hold them. */
static void mend_utf8(hob_buf *out)
{
	for (size_t i = 0, length; i < out->size; i += length) {
		length = 1;
		while (length < 4 && i + length < out->size &&
			   !hob_utf8_valid((hob_str){(const char *)out->data + i, length}))
			length++;
		if (!hob_utf8_valid((hob_str){(const char *)out->data + i, length})) {
			out->data[i] = '?';
			length = 1;
		}
	}
}

/* Sorts, compares with the baseline, prints to stdout and, with `update`, writes the baseline. */
static bool tell(check_report *c, check_format format, bool update, hob_error *err)
{
	hob_buf out = {0};
	if (c->failed)
		return hob_fail(err, MEMORY, "no memory left for the findings");
	sort(c->assets, c->asset_count, c->rows, c->count);
	merge(c);
	find_models(c);
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
	mend_utf8(&out);
	bool ok = !out.failed && (out.size == 0 || fwrite(out.data, 1, out.size, stdout) == out.size) &&
			  fflush(stdout) == 0;
	hob_buf_release(&out);
	return (ok || hob_fail(err, IO, "the findings cannot be written")) && (!update || write_baseline(c, err));
}

static void release(check_report *c)
{
	hob_arena_release(&c->memory);
	free(c->assets);
	free(c->old_assets);
	free(c->rows);
	free(c->old);
}

/* ---- results of the cooks */

static check_row *add_row(check_report *c, const cook_entry *entry, const check_row *like)
{
	if (!HOB_ROOM(c->rows, c->capacity, c->count)) {
		c->failed = true;
		return NULL;
	}
	check_row *row = &c->rows[c->count++];
	*row = *like;
	row->asset = hob_arena_str(&c->memory, hob_str_of(entry->path));
	row->rule = hob_arena_str(&c->memory, like->rule);
	row->name = hob_arena_str(&c->memory, like->name);
	row->text = hob_arena_str(&c->memory, like->text);
	row->fails = row->level == HOB_LEVEL_ERROR ||
				 (row->level == HOB_LEVEL_WARNING && (c->strict || entry->settings.strict));
	c->failed = c->failed || !row->asset.data || !row->rule.data || !row->name.data || !row->text.data;
	return row;
}

static bool add_findings(check_report *c, const cook_entry *entry, check_row *row, const cJSON *list,
						 hob_str code)
{
	bool found = false;
	const cJSON *item;
	cJSON_ArrayForEach(item, list)
	{
		hob_rule rule = hob_rule_find(hob_str_of(srv_cli_text(item, "rule")));
		if (rule == HOB_RULE_COUNT || !hob_str_equal(code, hob_str_of(hob_rule_table[rule].id)))
			continue;
		found = true;
		row->rule = code;
		row->level = hob_rules_level(&entry->settings, rule);
		row->kind = hob_arena_str(&c->memory, hob_str_of(srv_cli_text(item, "kind")));
		row->name = hob_str_of(srv_cli_text(item, "name"));
		row->value = srv_cli_number(item, "value");
		row->text = (hob_str){0};
		add_row(c, entry, row);
	}
	return found;
}

/* Notes of a rule count as one finding per object, which the text names in quotes; its numbers may change. A
 * budget's object is the model, and as in `hob cook` it fails. */
static void add_note(check_report *c, const cook_entry *entry, check_row *row, const hob_note *note)
{
	hob_rule rule = hob_rules_of_note(note->code);
	bool budget = hob_str_starts(note->code, HOB_STR("budget.")), judged = rule < HOB_RULE_COUNT,
		 error = budget || (judged && hob_rules_level(&entry->settings, rule) == HOB_LEVEL_ERROR);
	if (!judged && note->level != HOB_NOTE_WARNING)
		return;
	row->rule = judged && !budget ? hob_str_of(hob_rule_table[rule].id) : note->code;
	row->level = error							   ? HOB_LEVEL_ERROR
				 : note->level == HOB_NOTE_WARNING ? HOB_LEVEL_WARNING
												   : HOB_LEVEL_INFO;
	row->kind = HOB_STR("model");
	hob_buf name = {0};
	for (size_t i = 0, quotes = 0; i < note->text.len && !budget; i++) {
		char at = note->text.data[i];
		quotes += at == '\'';
		if (quotes % 2 > 0 || at < '0' || at > '9')
			hob_buf_put(&name, &at, 1);
	}
	row->name = hob_buf_str(&name);
	row->value = note->count;
	row->text = note->text;
	check_row *added = add_row(c, entry, row);
	if (added)
		added->is_note = true;
	hob_buf_release(&name);
}

/* Adds a finding if a file of a program that exports models has the model's name and was written later. Times
 * are no input of a cook, so only this command judges them. */
static void compare_times(check_report *c, const cook_entry *entry, check_row *row)
{
	static const char *const programs[] = {"blend", "max", "ma",  "mb",	 "c4d", "hip", "hiplc",
										   "hipnc", "lxo", "3dm", "skp", "ztl", "zpr", "spp"};
	const hob_setting_rules *rules = &entry->settings.rules;
	hob_str path = hob_str_of(entry->path), extension = hob_path_extension(path);
	struct stat model, source;
	if (rules->level[HOB_RULE_source_newer] == HOB_LEVEL_OFF ||
		hob_rule_is_blind(HOB_RULE_source_newer, extension) ||
		fstatat(c->root_fd, entry->path, &model, 0) != 0)
		return;
	for (size_t i = 0; i < HOB_COUNT_OF(programs); i++) {
		hob_str other = hob_arena_printf(&c->memory, "%.*s.%s", (int)(path.len - extension.len - 1),
										 path.data, programs[i]);
		double later = other.data && fstatat(c->root_fd, other.data, &source, 0) == 0
						   ? difftime(source.st_mtime, model.st_mtime)
						   : 0;
		if (!(later > (double)rules->value[HOB_RULE_source_newer][0]))
			continue;
		row->rule = hob_str_of(hob_rule_table[HOB_RULE_source_newer].id);
		row->level = hob_rules_level(&entry->settings, HOB_RULE_source_newer);
		row->kind = HOB_STR("file");
		row->name = hob_path_name(other);
		row->value = later;
		row->text = hob_arena_printf(&c->memory, "saved %.0f seconds after the model was exported", later);
		add_row(c, entry, row);
	}
}

static void see(void *user, srv_pool *pool, const cook_entry *entry, const srv_outcome *outcome,
				const hob_error *error)
{
	(void)pool;
	check_report *c = user;
	check_row row = {.level = HOB_LEVEL_ERROR, .kind = HOB_STR("model"), .value = 1};
	if (error && error->code == HOB_ERR_SKIPPED && !entry->named)
		return;
	check_asset *asset =
		HOB_ROOM(c->assets, c->asset_capacity, c->asset_count) ? &c->assets[c->asset_count++] : NULL;
	if (asset)
		*asset = (check_asset){.path = hob_arena_str(&c->memory, hob_str_of(entry->path))};
	if (!asset || !asset->path.data) {
		c->failed = true;
		return;
	}
	if (error) {
		c->uncooked++;
		asset->uncooked = true;
		row.rule = hob_str_of(hob_err_name(error->code));
		row.kind = (hob_str){0}; /* excluded from baselines */
		row.text = hob_str_of(error->context);
		add_row(c, entry, &row);
		return;
	}
	const srv_result *result = &outcome->result;
	c->cached += entry->cached;
	char digest[HOB_SHA256_TEXT + 1] = "";
	if (result->dep_count > 0)
		hob_sha256_text(&result->deps[0].digest, digest);
	asset->source = hob_arena_printf(&c->memory, "%.16s", digest);
	hob_bytes report = {0};
	for (uint32_t i = 0; i < result->output_count; i++)
		if (hob_str_equal(result->outputs[i].name, HOB_STR("report")))
			report = result->outputs[i].bytes;
	hob_str text = {(const char *)report.data, report.size};
	bool says = result->note_count > 0 || hob_str_find(text, HOB_STR("\"unchecked\""), 0) != SIZE_MAX;
	cJSON *json = says ? cJSON_ParseWithLength(text.data, text.len) : NULL;
	const cJSON *rule;
	asset->objects = hob_arena_str(&c->memory, hob_str_of(srv_cli_text(json, "objects")));
	for (uint32_t i = 0; i < result->note_count; i++)
		if (!add_findings(c, entry, &row, srv_cli_member(json, "findings"), result->notes[i].code))
			add_note(c, entry, &row, &result->notes[i]);
	compare_times(c, entry, &row);
	cJSON_ArrayForEach(rule, srv_cli_member(json, "unchecked"))
	{
		hob_rule which = hob_rule_find(hob_str_of(cJSON_GetStringValue(rule)));
		if (which < HOB_RULE_COUNT)
			c->unchecked[which]++;
	}
	cJSON_Delete(json);
}

/* ---- the command */

static int explain(const char *id)
{
	hob_rule rule = hob_rule_find(hob_str_of(id));
	if (rule == HOB_RULE_COUNT && strcmp(id, "all") != 0) {
		hob_str near = hob_rule_near(hob_str_of(id));
		fprintf(stderr, "hob check: there is no rule '%s'%s%.*s%s\n", id,
				near.len > 0 ? "; did you mean '" : "", HOB_FMT(near),
				near.len > 0 ? "'?" : "; --explain all lists them");
		return EXIT_USAGE;
	}
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++) {
		const hob_rule_info *info = &hob_rule_table[i];
		if (rule == HOB_RULE_COUNT)
			printf("%-22s %s\n", info->id, info->meaning);
		if (i != (uint32_t)rule)
			continue;
		printf("%s: %s.\nTo mend it: %s.\nDefault: %s\n", info->id, info->meaning, info->mend,
			   hob_rule_levels[info->level]);
		for (uint32_t p = 0; p < 2 && info->parameters[p][0]; p++)
			if (i < HOB_RULE_PATTERNS)
				printf("Parameter: %s, a pattern\n", info->parameters[p]);
			else
				printf("Parameter: %s, default %.9g\n", info->parameters[p], (double)info->values[p]);
		if (info->blind[0])
			printf("Not checked in: %s\n", info->blind);
	}
	return EXIT_GOOD;
}

static int run_check(int argc, char **argv)
{
	const char *root = NULL, *settings = NULL, *file = NULL, *cache = NULL, *format = "text", *rule = NULL;
	check_report c = {0};
	bool update = false, deep = false;
	const cli_option options[] = {
		{"--format", 0, CLI_TEXT, &format, "FORM", "text (default), json, sarif, junit or github"},
		{"--strict", 0, CLI_FLAG, &c.strict, NULL, "warnings fail, too"},
		{"--deep", 0, CLI_FLAG, &deep, NULL,
		 "check rules that cost much, too, if they are on: uv.overlap, uv.margin, mesh.interpenetrating"},
		{"--baseline", 0, CLI_TEXT, &c.baseline, "FILE",
		 "only findings that are not in FILE, or have grown, fail"},
		{"--update-baseline", 0, CLI_FLAG, &update, NULL, "write the findings of today to the --baseline"},
		{"--explain", 0, CLI_TEXT, &rule, "RULE", "say what a rule asks for; 'all' lists the rules"},
		{"--root", 0, CLI_TEXT, &root, "DIR",
		 "models may refer to files below DIR (default: current folder, or the model's)"},
		{"--settings", 0, CLI_TEXT, &settings, "JSON|FILE",
		 "settings for all models, overriding cook.json: '{\"rules\":{\"profile\":\"game\"}}'"},
		{"--config", 0, CLI_TEXT, &file, "FILE", "the configuration file (hob.json here or in a parent)"},
		{"--cache", 0, CLI_TEXT, &cache, "DIR", "folder of kept results (.hob, if it exists)"},
	};
	static char here[] = ".";
	char *nothing[] = {here}, *over = NULL;
	int operands = srv_cli_parse(&srv_cli_check, options, HOB_COUNT_OF(options), argc, argv);
	if (rule)
		return explain(rule);
	check_format form = format_of(format);
	if (form == CHECK_FORMATS)
		return srv_cli_usage_error(&srv_cli_check, "--format is text, json, sarif, junit or github, not '%s'",
								   format);
	if (update && !c.baseline)
		return srv_cli_usage_error(&srv_cli_check, "--update-baseline needs a --baseline FILE to write");
	hob_error error = {0};
	srv_config config;
	serve_upstream upstream;
	cook_plan_options ask = {.root = root, .config = &config, .plain = true};
	cook_plan plan;
	hob_arena_init(&c.memory, SIZE_MAX);
	bool ok = srv_config_load(&config, file, &error) &&
			  srv_serve_upstream_options(&config, &upstream, &error) &&
			  (!settings || srv_cook_plan_read_settings(settings, &over, &ask.over_origin, &error)) &&
			  (!c.baseline || read_baseline(&c, update, &error));
	ask.settings = config.defaults;
	ask.over = over;
	if (!ok || !srv_cook_plan_make(&plan, &ask, operands > 0 ? argv + 1 : nothing,
								   operands > 0 ? (uint32_t)operands : 1, &error)) {
		srv_cli_print_error("hob check", &error);
		free(over);
		release(&c);
		srv_config_release(&config);
		return EXIT_USAGE;
	}
	free(over);
	for (uint32_t i = 0; deep && i < plan.count; i++)
		plan.entries[i].settings.rules.deep = true;
	if (!cache && (config.origin[SRV_CONFIG_cache] != SRV_CONFIG_DEFAULT ||
				   access(srv_config_text(&config, SRV_CONFIG_cache), F_OK) == 0))
		cache = srv_config_text(&config, SRV_CONFIG_cache);
	char folder[PATH_MAX];
	srv_cook_folder_from_here(plan.root, folder);
	c.folder = hob_str_of(folder);
	c.root_fd = plan.root_fd;
	cook_run_options how = {.who = "hob check",
							.write = {.nothing = true},
							.config = &config,
							.cache = cache,
							.upstream = &upstream,
							.quiet = true,
							.wait_s = COOK_WAIT_WRITER_S,
							.only_report = true,
							.see = see,
							.user = &c};
	int code = srv_cook_run(&plan, &how);
	if (code == EXIT_GOOD && !tell(&c, form, update, &error)) {
		srv_cli_print_error("hob check", &error);
		code = EXIT_INTERNAL;
	} else if (code == EXIT_GOOD) {
		code = c.uncooked > 0 ? EXIT_ASSETS_FAILED : c.fresh > 0 && !update ? EXIT_OVER_BUDGET : EXIT_GOOD;
	}
	release(&c);
	srv_config_release(&config);
	return code;
}

const cli_command srv_cli_check = {
	"check", "[PATH...]", "hold models against their rules",
	"Holds every model below PATH (default: this folder) against the rules of its settings, and lists what "
	"breaks them. Nothing is written but the cache; a model that the cache has is not cooked again.\n"
	"\n"
	"Rules are in cook.json, by folder: {\"rules\": {\"profile\": \"game\", \"mesh.open\": \"error\"}}.\n"
	"\n"
	"With --baseline, findings that FILE lists are known: only new ones fail, and those whose number has "
	"grown. A finding is known by its rule, its object and its model. A model under a new name is known by "
	"its bytes, or by its objects if it shares 80 % of them with one that is gone. FILE has a line for each "
	"model and each finding, sorted; a reason and an author added to a finding's line, as its last elements, "
	"allow it to grow. Models that are not checked keep their lines.\n"
	"\n"
	"Exit codes: 0 no finding fails; 1 a model cannot be cooked; 2 usage or configuration; 4 a finding of "
	"the level error, a model over its budget, or with --strict a warning.\n"
	"\n"
	"Examples:\n"
	"  hob check art/\n"
	"  hob check art/ --baseline art/known.txt --update-baseline\n"
	"  hob check art/ --baseline art/known.txt --format github\n"
	"  hob check art/ --deep --strict\n"
	"  hob check --explain mesh.open\n",
	run_check};
