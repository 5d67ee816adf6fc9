#include "cook_format.h"
#include "cook_run_private.h"
#include "cook_write.h"
#include "query.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../../core/base/text_order.h"
#include "../../core/formats/number_text.h"
#include "../../core/settings/rules.h"
#include "../fs/whole_path.h"
#include "../log/log.h"
#include "../reuse/kept.h"
#include "../worker/check.h"

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
	const hob_settings *settings;  /* while its findings are added */
	struct check_asset *was;	   /* the same model in the baseline, under this or another name */
	struct check_asset *like; /* best match by objects whose file is gone; `was`, too, if they share enough */
	uint32_t shared, of;	  /* objects in common with `like` or `was`, of how many */
	bool uncooked;
	/* in the baseline. `here`: its file exists; `taken`: a model of this run was renamed from it */
	bool here, taken;
} check_asset;

typedef struct check_row {
	hob_str asset, rule, kind, name, text;
	double value, weight; /* of all objects with this name; shown, and compared with baselines */
	int side;			  /* hob_rule_side: if negative, less is worse */
	hob_rule_level level;
	bool fails, is_note;
	bool known;			 /* in the baseline with at least this value, or allowed there */
	hob_str why, author; /* who allowed it in the baseline, and why; empty: nobody */
} check_row;

typedef struct check_report {
	hob_arena memory;
	check_asset *assets, *old_assets, *others; /* others: of the daemon, not to be checked */
	check_row *rows, *old; /* old: the baseline; there, `known` means that this run found it, too */
	uint32_t asset_count, asset_capacity, count, capacity;
	uint32_t old_asset_count, old_asset_capacity, old_count, old_capacity, other_count, other_capacity;
	uint32_t unchecked[HOB_RULE_COUNT]; /* number of models in which the rule could not be checked */
	uint32_t uncooked, cached, fresh;	/* `fresh`: findings that fail the check */
	hob_str folder;						/* prefix that makes paths relative to the current folder */
	int root_fd;						/* of the models' paths; -1: they are not on this machine */
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
	hob_own_json *json = cJSON_ParseWithLength(line.data, line.len);
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
											 .weight = cJSON_GetArrayItem(json, VALUE)->valuedouble,
											 .level = HOB_LEVEL_WARNING,
											 .why = text[5],
											 .author = text[6]};
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
		else if (last->why.len == 0 && (row->why.len > 0 || row->weight > last->weight))
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
	size_t size = 0;
	hob_own char *text = srv_file_text(c->baseline, SIZE_MAX, &size);
	if (!text)
		return (may_lack && errno == ENOENT) ||
			   hob_fail(err, USAGE, "--baseline '%.200s' cannot be read: %s", c->baseline,
						errno == EISDIR || errno == EINVAL ? "it must be a file" : strerror(errno));
	hob_str all = {text, size};
	bool ok = true, conflict = false;
	uint32_t number = 1;
	for (size_t at = 0, end; ok && at < all.len; at = end + 1, number++) {
		end = hob_str_find(all, HOB_STR("\n"), at);
		end = end == SIZE_MAX ? all.len : end;
		hob_str line = hob_str_sub(all, at, end);
		conflict = hob_str_starts(line, HOB_STR("<<<<<<<"));
		ok = line.len == 0 || (hob_utf8_valid(line) && read_line(c, line));
	}
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
		old->here = now || find_asset(c->others, c->other_count, old->path) ||
					(c->root_fd >= 0 && faccessat(c->root_fd, old->path.data, F_OK, 0) == 0);
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

/* Joins the findings of objects with the same name. A measure counts as its worst; in a baseline more objects
 * weigh more. */
static void merge(check_report *c)
{
	uint32_t kept = 0;
	for (uint32_t i = 0, count = 1; i < c->count; i++) {
		check_row *last = kept > 0 ? &c->rows[kept - 1] : NULL, *row = &c->rows[i];
		if (!last || by_place(last, row) != 0) {
			c->rows[kept++] = *row;
			count = 1;
			continue;
		}
		count++;
		last->value = hob_rule_together(last->side, last->value, row->value);
		last->weight = last->side < 0 ? last->value / count : last->weight + row->weight;
	}
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
			row->known = old->why.len > 0 || (row->side < 0 ? row->weight >= old->weight * (1 - 1e-6)
															: row->weight <= old->weight * (1 + 1e-6));
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
	hob_own_buf out = {0};
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
		hob_buf_put_double(&out, row->weight);
		if (row->why.len > 0)
			hob_json_put(&out, HOB_JSON(NULL, row->why), HOB_JSON(NULL, row->author));
		hob_json_put(&out, HOB_JSON_CLOSE(']'));
		hob_buf_put(&out, "\n", 1);
	}
	return !ok || out.failed ? hob_fail(err, MEMORY, "no memory left for the baseline")
							 : srv_cook_write_file(c->baseline, hob_buf_bytes(&out), &ignored, err);
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

/* Ends a line that began at `from`; what names and messages hold cannot steer a terminal. */
static void end_line(hob_buf *out, size_t from)
{
	(void)srv_cli_ended(out);
	if (!out->failed)
		srv_plain((char *)out->data + from);
	hob_buf_put(out, "\n", 1);
}

static bool is_same_error(const check_row *a, const check_row *b)
{
	return b->kind.len == 0 && hob_str_equal(a->rule, b->rule) && hob_str_equal(a->text, b->text);
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
		size_t from = out->size;
		uint32_t more = 0; /* models that one error keeps from being cooked: a wrong cook.json */
		while (row->kind.len == 0 && i + 1 + more < c->count && is_same_error(row, row + 1 + more))
			more++;
		counts[row->level] += more;
		i += more;
		hob_buf_printf(out, "%-8s %.*s", row->fails ? "error" : hob_rule_levels[row->level],
					   HOB_FMT(row->asset));
		hob_buf_printf(out, more > 0 ? " and %u more: " : ": ", more);
		put_text(row, true, out);
		hob_buf_printf(out, " (%.*s)", HOB_FMT(row->rule));
		end_line(out, from);
	}
	for (uint32_t i = 0; i < c->asset_count; i++) {
		const check_asset *asset = &c->assets[i];
		size_t from = out->size;
		if (!asset->like)
			continue;
		hob_buf_printf(out, "%.*s shares %u of %u objects with %.*s, which is gone: it is taken for %s",
					   HOB_FMT(asset->path), asset->shared, asset->of, HOB_FMT(asset->like->path),
					   asset->was ? "the same, renamed" : "new (the same: 80 %)");
		end_line(out, from);
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
			hob_own_buf text = {0};
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
		hob_own_buf text = {0};
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
		hob_buf_put_percent(out, c->folder);
		hob_buf_put_percent(out, row->asset);
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
	hob_own_buf out = {0};
	if (c->failed)
		return hob_fail(err, MEMORY, "no memory left for the findings");
	sort(c->assets, c->asset_count, c->rows, c->count);
	sort(c->others, c->other_count, NULL, 0);
	merge(c);
	find_models(c);
	compare(c);
	hob_own_json *report =
		format == CHECK_TEXT || format == CHECK_SARIF ? NULL : report_of(c, format != CHECK_JSON);
	hob_own char *text = format == CHECK_JSON ? cJSON_PrintUnformatted(report) : NULL;
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
	mend_utf8(&out);
	bool ok = !out.failed && (out.size == 0 || fwrite(out.data, 1, out.size, stdout) == out.size) &&
			  fflush(stdout) == 0;
	return (ok || hob_fail(err, IO, "the findings cannot be written")) && (!update || write_baseline(c, err));
}

static void release(check_report *c)
{
	if (c->root_fd >= 0)
		close(c->root_fd);
	hob_arena_release(&c->memory);
	free(c->assets);
	free(c->old_assets);
	free(c->others);
	free(c->rows);
	free(c->old);
}

/* ---- results of cooks */

/* Adds a model; its settings must live until its findings are added. NULL without memory. */
static check_asset *add_asset(check_report *c, const char *path, const hob_settings *settings)
{
	check_asset *asset =
		HOB_ROOM(c->assets, c->asset_capacity, c->asset_count) ? &c->assets[c->asset_count] : NULL;
	if (asset)
		*asset = (check_asset){.path = hob_arena_str(&c->memory, hob_str_of(path)), .settings = settings};
	c->failed = c->failed || !asset || !asset->path.data;
	c->asset_count += !c->failed;
	return c->failed ? NULL : asset;
}

static check_row *add_row(check_report *c, const check_asset *asset, const check_row *like)
{
	if (!HOB_ROOM(c->rows, c->capacity, c->count)) {
		c->failed = true;
		return NULL;
	}
	check_row *row = &c->rows[c->count++];
	*row = *like;
	row->asset = asset->path;
	row->weight = like->value;
	row->rule = hob_arena_str(&c->memory, like->rule);
	row->name = hob_arena_str(&c->memory, like->name);
	row->text = hob_arena_str(&c->memory, like->text);
	row->fails = row->level == HOB_LEVEL_ERROR ||
				 (row->level == HOB_LEVEL_WARNING && (c->strict || asset->settings->strict));
	c->failed = c->failed || !row->rule.data || !row->name.data || !row->text.data;
	return row;
}

/* Why the model was not cooked; it is no finding, and no baseline has it. */
static void add_error(check_report *c, check_asset *asset, const char *code, const char *text)
{
	c->uncooked++;
	asset->uncooked = true;
	add_row(c, asset,
			&(check_row){
				.rule = hob_str_of(code), .level = HOB_LEVEL_ERROR, .value = 1, .text = hob_str_of(text)});
}

static bool add_findings(check_report *c, const check_asset *asset, const cJSON *list, hob_str code)
{
	bool found = false;
	const cJSON *item;
	cJSON_ArrayForEach(item, list)
	{
		hob_rule rule = hob_rule_find(hob_str_of(srv_cli_text(item, "rule")));
		if (rule == HOB_RULE_COUNT || !hob_str_equal(code, hob_str_of(hob_rule_table[rule].id)))
			continue;
		found = true;
		add_row(c, asset,
				&(check_row){
					.rule = code,
					.level = hob_rules_level(asset->settings, rule),
					.kind = hob_arena_str(&c->memory, hob_str_of(srv_cli_text(item, "kind"))),
					.name = hob_str_of(srv_cli_text(item, "name")),
					.value = srv_cli_number(item, "value"),
					.side = hob_rule_side(&asset->settings->rules, rule, srv_cli_number(item, "value"))});
	}
	return found;
}

/* Notes of a rule count as one finding per object, which the text names in quotes; its numbers may change. A
 * budget's object is the model, and as in `hob cook` it fails. */
static void add_note(check_report *c, const check_asset *asset, const hob_note *note)
{
	hob_rule rule = hob_rules_of_note(note->code);
	bool budget = hob_str_starts(note->code, HOB_STR("budget.")), judged = rule < HOB_RULE_COUNT,
		 warning = note->level == HOB_NOTE_WARNING;
	hob_rule_level level = budget	? HOB_LEVEL_ERROR
						   : judged ? hob_rules_level(asset->settings, rule)
									: HOB_LEVEL_OFF;
	if (level == HOB_LEVEL_OFF && !warning)
		return;
	hob_own_buf name = {0};
	for (size_t i = 0, quotes = 0; i < note->text.len && !budget; i++) {
		char at = note->text.data[i];
		quotes += at == '\'';
		if (quotes % 2 > 0 || at < '0' || at > '9')
			hob_buf_put(&name, &at, 1);
	}
	add_row(c, asset,
			&(check_row){.rule = judged && !budget ? hob_str_of(hob_rule_table[rule].id) : note->code,
						 .level = level == HOB_LEVEL_ERROR ? level
								  : warning				   ? HOB_LEVEL_WARNING
														   : HOB_LEVEL_INFO,
						 .kind = HOB_STR("model"),
						 .name = hob_buf_str(&name),
						 .value = note->count,
						 .text = note->text,
						 .is_note = true});
}

/* Adds a finding if a file of a program that exports models has the model's name and was written later. Times
 * are no input of a cook, so only this command judges them. */
static void compare_times(check_report *c, const check_asset *asset)
{
	static const char *const programs[] = {"blend", "max", "ma",  "mb",	 "c4d", "hip", "hiplc",
										   "hipnc", "lxo", "3dm", "skp", "ztl", "zpr", "spp"};
	const hob_setting_rules *rules = &asset->settings->rules;
	hob_str extension = hob_path_extension(asset->path);
	struct stat model, source;
	if (rules->level[HOB_RULE_source_newer] == HOB_LEVEL_OFF)
		return;
	if (hob_rule_is_blind(HOB_RULE_source_newer, extension) ||
		fstatat(c->root_fd, asset->path.data, &model, 0) != 0) {
		c->unchecked[HOB_RULE_source_newer]++;
		return;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(programs); i++) {
		hob_str other = hob_arena_printf(&c->memory, "%.*s.%s", (int)(asset->path.len - extension.len - 1),
										 asset->path.data, programs[i]);
		double later = other.data && fstatat(c->root_fd, other.data, &source, 0) == 0
						   ? difftime(source.st_mtime, model.st_mtime)
						   : 0;
		if (later > (double)rules->value[HOB_RULE_source_newer][0])
			add_row(c, asset,
					&(check_row){.rule = hob_str_of(hob_rule_table[HOB_RULE_source_newer].id),
								 .level = hob_rules_level(asset->settings, HOB_RULE_source_newer),
								 .kind = HOB_STR("file"),
								 .name = hob_path_name(other),
								 .value = later,
								 .text = hob_arena_printf(
									 &c->memory, "saved %.0f seconds after the model was exported", later)});
	}
}

/* Adds the findings of a report; `notes` are those in it. source: NULL if it is no file. */
static void add_result(check_report *c, check_asset *asset, const hob_sha256 *source, hob_bytes report,
					   const hob_note *notes, uint32_t note_count)
{
	char digest[HOB_SHA256_TEXT + 1] = "";
	hob_str text = {(const char *)report.data, report.size};
	bool says = note_count > 0 || hob_str_find(text, HOB_STR("\"unchecked\""), 0) != SIZE_MAX;
	hob_own_json *json = says ? cJSON_ParseWithLength(text.data, text.len) : NULL;
	const cJSON *rule;
	if (source)
		hob_sha256_text(source, digest);
	asset->source = hob_arena_printf(&c->memory, "%.16s", digest);
	asset->objects = hob_arena_str(&c->memory, hob_str_of(srv_cli_text(json, "objects")));
	for (uint32_t i = 0; i < note_count; i++)
		if (!add_findings(c, asset, srv_cli_member(json, "findings"), notes[i].code))
			add_note(c, asset, &notes[i]);
	compare_times(c, asset);
	cJSON_ArrayForEach(rule, srv_cli_member(json, "unchecked"))
	{
		hob_rule which = hob_rule_find(hob_str_of(cJSON_GetStringValue(rule)));
		if (which < HOB_RULE_COUNT)
			c->unchecked[which]++;
	}
}

static void see(void *user, srv_pool *pool, const cook_entry *entry, const srv_outcome *outcome,
				const hob_error *error)
{
	(void)pool;
	check_report *c = user;
	if (error && error->code == HOB_ERR_SKIPPED && !entry->named)
		return;
	check_asset *asset = add_asset(c, entry->path, &entry->settings);
	if (asset && error) {
		add_error(c, asset, hob_err_name(error->code), error->context);
	} else if (asset) {
		const srv_result *result = &outcome->result;
		c->cached += entry->cached;
		add_result(c, asset, result->dep_count > 0 ? &result->deps[0].digest : NULL,
				   srv_find_output(result, "report"), result->notes, result->note_count);
	}
}

/* ---- results of a daemon */

/* A root, or a folder or model in it, that is to be checked. */
typedef struct scope {
	const cJSON *root;
	hob_str below;
	bool found;
} scope;

/* An item of GET /api/v1/assets whose report is still to be fetched. */
typedef struct served {
	const cJSON *item;
	uint32_t asset; /* in check_report.assets */
} served;

enum { PAGE = 1000 };

typedef struct asking {
	check_report *c;
	const char *url;
	cJSON *roots;
	scope *scopes;
	uint32_t scope_count, scope_capacity, count;
	served page[PAGE];	 /* `count` items */
	char *settings_text; /* of `settings`: most assets have those of the asset before */
	const hob_settings *settings;
	int code;
} asking;

/* Adds the roots that hold `path`, lie below it, or have its name as 'hob ls' shows it; NULL: all. Returns
 * their number. */
static uint32_t find_scopes(asking *ask, const char *path)
{
	char full[PATH_MAX];
	bool exists = path && realpath(path, full) != NULL;
	uint32_t before = ask->scope_count;
	const cJSON *root;
	cJSON_ArrayForEach(root, srv_cli_member(ask->roots, "items"))
	{
		const char *name = srv_cli_text(root, "name"), *folder = srv_cli_text(root, "path");
		const char *below = path ? srv_path_below(name, path) : NULL;
		if (!below && !strchr(name, '@') && (exists || !path))
			below = !path || srv_path_below(full, folder) ? "" : srv_path_below(folder, full);
		if (below && HOB_ROOM(ask->scopes, ask->scope_capacity, ask->scope_count))
			ask->scopes[ask->scope_count++] =
				(scope){root, hob_arena_str(&ask->c->memory, hob_str_of(below)), false};
	}
	return ask->scope_count - before;
}

/* Whether the root, or with `path` a model in it, is to be checked. */
static bool is_wanted(asking *ask, const cJSON *root, const char *path)
{
	bool wanted = false;
	for (uint32_t i = 0; i < ask->scope_count; i++) {
		scope *s = &ask->scopes[i];
		bool in = s->root == root && (!path || s->below.len == 0 || srv_path_below(s->below.data, path));
		s->found = s->found || (in && path);
		wanted = wanted || in;
	}
	return wanted;
}

static const hob_settings *read_settings(asking *ask, const cJSON *json)
{
	char *text = cJSON_PrintUnformatted(json);
	bool same = text && ask->settings_text && strcmp(text, ask->settings_text) == 0;
	hob_settings *settings = same ? NULL : HOB_NEW(&ask->c->memory, hob_settings, 1);
	hob_error ignored;
	cJSON_free(ask->settings_text);
	ask->settings_text = text;
	if (settings) {
		hob_settings_init(settings);
		(void)!hob_settings_overlay(settings, hob_str_of(text), HOB_STR("daemon"), &ignored);
		ask->settings = settings;
	}
	return ask->settings;
}

/* The message of the rules that refused the newest version of an asset; NULL: none did. */
static const char *refusal_of(const cJSON *item)
{
	const cJSON *error = srv_cli_member(item, "error");
	const char *code = srv_cli_text(error, "code");
	bool refused =
		!srv_cli_is_busy(srv_cli_standing(item)) &&
		(strcmp(code, hob_err_name(HOB_ERR_RULE)) == 0 || strcmp(code, hob_err_name(HOB_ERR_BUDGET)) == 0);
	return refused ? srv_cli_text(error, "message") : NULL;
}

static void add_report(asking *ask, const served *s, hob_bytes report)
{
	check_report *c = ask->c;
	check_asset *asset = &c->assets[s->asset];
	hob_sha256 found = hob_sha256_of(report), named, source;
	hob_note *notes;
	uint32_t note_count, before = c->count;
	if (!hob_sha256_parse(hob_str_of(srv_cli_text(s->item, "report")), &named) ||
		!hob_sha256_equal(&found, &named) || !srv_kept_notes(report, &c->memory, &notes, &note_count)) {
		add_error(c, asset, hob_err_name(HOB_ERR_NOT_FOUND),
				  "the daemon has no report of it; 'hob recook' makes one");
		return;
	}
	c->cached++;
	bool known = hob_sha256_parse(hob_str_of(srv_cli_text(s->item, "source")), &source);
	add_result(c, asset, known ? &source : NULL, report, notes, note_count);
	/* No report has what compares with the last good version. */
	const char *shrunk = srv_cli_text(srv_cli_member(s->item, "stats"), "shrunk"),
			   *refusal = refusal_of(s->item);
	hob_rule_level level = hob_rules_level(asset->settings, HOB_RULE_source_shrunk);
	for (uint32_t i = before; i < c->count; i++)
		refusal = c->rows[i].fails ? NULL : refusal;
	if (refusal || (shrunk[0] && level != HOB_LEVEL_OFF))
		add_row(c, asset,
				&(check_row){.rule = hob_str_of(hob_rule_table[HOB_RULE_source_shrunk].id),
							 .level = refusal ? HOB_LEVEL_ERROR : level,
							 .kind = HOB_STR("model"),
							 .value = 1,
							 .text = refusal ? hob_str_of(refusal)
											 : hob_arena_printf(&c->memory,
																"the last good version had more: %s", shrunk),
							 .is_note = true});
}

/* Fetches the reports of the page: POST /blobs:batch. */
static void fetch_reports(asking *ask)
{
	enum { SIZE_AT = sizeof(hob_sha256), FRAME = SIZE_AT + 8 };
	hob_own_buf body = {0};
	srv_own_response answer = {0};
	hob_error error;
	hob_json_put(&body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("hashes", '['));
	for (uint32_t i = 0; i < ask->count; i++) {
		hob_sha256 digest = {{0}};
		(void)hob_sha256_parse(hob_str_of(srv_cli_text(ask->page[i].item, "report")), &digest);
		hob_json_put(&body, HOB_JSON_DIGEST(NULL, &digest));
	}
	hob_json_put(&body, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	bool ok = srv_cli_request(ask->url, "POST", "/blobs:batch", NULL, hob_buf_str(&body), &answer, &error);
	if (ok && answer.status != 200) {
		ask->code = srv_cli_print_problem("hob check", &answer);
	} else if (ok) {
		const uint8_t *at = answer.body.data, *end = at + answer.body.size;
		for (uint32_t i = 0; i < ask->count && ok; i++) {
			uint64_t size = end - at < FRAME ? 0 : hob_load_u64(at + SIZE_AT);
			size = size == UINT64_MAX ? 0 : size; /* the daemon does not have it */
			ok = end - at >= FRAME && size <= (uint64_t)(end - at - FRAME);
			if (ok)
				add_report(ask, &ask->page[i], (hob_bytes){at + FRAME, (size_t)size});
			at += ok ? FRAME + size : 0;
		}
		if (!ok)
			(void)hob_fail(&error, IO, "%s sends reports in another form", ask->url);
	}
	if (!ok)
		ask->code = srv_cli_fail("hob check", &error, EXIT_UNREACHABLE);
}

/* Adds an asset with its error, or else to the page whose reports are to be fetched. */
static void add_served(asking *ask, const cJSON *item, const char *path)
{
	check_report *c = ask->c;
	const cJSON *error = srv_cli_member(item, "error");
	const char *standing = srv_cli_standing(item), *code = srv_cli_text(error, "code"),
			   *text = srv_cli_text(error, "message");
	bool told = !srv_cli_is_busy(standing) && code[0] && text[0];
	const hob_settings *settings = read_settings(ask, srv_cli_member(item, "settings"));
	check_asset *asset = settings ? add_asset(c, path, settings) : NULL;
	c->failed = c->failed || !asset;
	if (!asset)
		return;
	if (srv_cli_is_fresh(standing) || refusal_of(item))
		ask->page[ask->count++] = (served){item, c->asset_count - 1};
	else if (told)
		add_error(c, asset, code, text);
	else
		add_error(c, asset, standing,
				  hob_arena_printf(&c->memory, "it is %s; 'hob sync' waits for the daemon", standing).data);
}

/* prefix: of the names of the root's models. */
static void list_root(asking *ask, const cJSON *root, const char *prefix)
{
	check_report *c = ask->c;
	hob_own_buf target = {0};
	hob_buf_printf(
		&target,
		"/api/v1/assets?limit=%d&fields=path,standing,state,error,stats,source,settings,report&root=", PAGE);
	hob_buf_put_percent(&target, hob_str_of(srv_cli_text(root, "name")));
	cli_pages pages = {.who = "hob check", .url = ask->url, .target = srv_cli_ended(&target), .exact = true};
	for (const cJSON *item; ask->code == EXIT_GOOD && (item = srv_cli_next_item(&pages));) {
		const char *below = srv_cli_text(item, "path");
		hob_str path = hob_arena_printf(&c->memory, "%s%s", prefix, below);
		if (path.data && is_wanted(ask, root, below))
			add_served(ask, item, path.data);
		else if (path.data && HOB_ROOM(c->others, c->other_capacity, c->other_count))
			c->others[c->other_count++] = (check_asset){.path = path};
		if (ask->count > 0 && (!item->next || ask->count == PAGE)) {
			fetch_reports(ask);
			ask->count = 0;
		}
	}
	ask->code = ask->code != EXIT_GOOD ? ask->code : pages.code;
	srv_cli_end_pages(&pages);
}

/* Lists the assets of each root. Their paths are below the root if there is one; else its folder here, or its
 * name, is in front. `folder` becomes the path from here to the only root. */
static void list_roots(asking *ask, char folder[PATH_MAX])
{
	check_report *c = ask->c;
	uint32_t asked = 0;
	const cJSON *root, *roots = srv_cli_member(ask->roots, "items");
	cJSON_ArrayForEach(root, roots) asked += is_wanted(ask, root, NULL);
	c->root_fd = asked > 1 ? open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	cJSON_ArrayForEach(root, roots)
	{
		char prefix[PATH_MAX];
		const char *path = srv_cli_text(root, "path"), *missing = srv_cli_text(root, "missing_since");
		bool here = access(path, F_OK) == 0;
		if (!is_wanted(ask, root, NULL) || ask->code != EXIT_GOOD)
			continue;
		if (here)
			srv_cook_folder_from_here(path, prefix);
		if (asked == 1) {
			c->root_fd = here ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
			snprintf(folder, PATH_MAX, "%s", here ? prefix : "");
			prefix[0] = 0;
		} else if (!here || prefix[0] == '/') {
			snprintf(prefix, sizeof prefix, "%s/", srv_cli_text(root, "name"));
		}
		if (missing[0])
			ask->code = srv_cli_usage_error(&srv_cli_check, "the folder of '%s' is missing since %s",
											srv_cli_text(root, "name"), missing);
		else
			list_root(ask, root, prefix);
	}
}

/* Adds what the daemon knows of the models of `paths`, else of the roots here, else of all; cooks nothing.
 * Returns an exit code. */
static int ask_daemon(check_report *c, const char *url, char **paths, uint32_t count, char folder[PATH_MAX])
{
	static asking ask;
	ask = (asking){.c = c, .url = url};
	ask.roots = srv_cli_ask_json("hob check", url, "/api/v1/roots", false, &ask.code);
	for (uint32_t i = 0; i < count && ask.code == EXIT_GOOD; i++)
		if (find_scopes(&ask, paths[i]) == 0)
			ask.code = srv_cli_usage_error(&srv_cli_check, "the daemon at %s watches no folder with '%s'",
										   url, paths[i]);
	if (count == 0 && find_scopes(&ask, ".") == 0)
		find_scopes(&ask, NULL);
	list_roots(&ask, folder);
	for (uint32_t i = 0; i < ask.scope_count && ask.code == EXIT_GOOD; i++) {
		const scope *s = &ask.scopes[i];
		if (!s->found)
			ask.code = srv_cli_usage_error(&srv_cli_check, "the daemon at %s has no model '%s%s%s'", url,
										   srv_cli_text(s->root, "name"), s->below.len > 0 ? "/" : "",
										   s->below.data);
	}
	if (ask.code == EXIT_GOOD && c->asset_count == 0)
		ask.code = srv_cli_usage_error(&srv_cli_check, "the daemon at %s has no model", url);
	cJSON_Delete(ask.roots);
	cJSON_free(ask.settings_text);
	free(ask.scopes);
	return ask.code;
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
		for (uint32_t p = 0; p < 2 && info->parameters[p][0]; p++) {
			hob_own_buf value = {0};
			hob_put_f32(&value, info->values[p]);
			printf("Parameter: %s, %s%s\n", info->parameters[p],
				   i < HOB_RULE_PATTERNS ? "a pattern" : "default ",
				   i < HOB_RULE_PATTERNS ? "" : srv_cli_ended(&value));
		}
		if (info->blind[0])
			printf("Not checked in: %s\n", info->blind);
	}
	return EXIT_GOOD;
}

/* Options of checks that cook. */
typedef struct cook_asking {
	const char *root, *settings, *config, *cache;
	bool deep;
} cook_asking;

/* Cooks the models of `paths`. Returns an exit code. */
static int cook_models(check_report *c, const cook_asking *how, char **paths, uint32_t count,
					   char folder[PATH_MAX])
{
	hob_error error = {0};
	srv_config config;
	serve_upstream upstream;
	cook_plan_options ask = {.root = how->root, .config = &config, .plain = true};
	cook_plan plan;
	int code;
	bool ok = srv_config_load(&config, how->config, &error) &&
			  srv_serve_upstream_options(&config, &upstream, &error) &&
			  srv_cook_plan_read(how->settings, "--settings", &ask.over, &error);
	if (ok && srv_cook_plan_make(&plan, &ask, paths, count, &error)) {
		for (uint32_t i = 0; how->deep && i < plan.count; i++)
			plan.entries[i].settings.rules.deep = true;
		const char *cache = srv_config_text(&config, SRV_CONFIG_cache);
		bool kept = config.origin[SRV_CONFIG_cache] != SRV_CONFIG_DEFAULT || access(cache, F_OK) == 0;
		srv_cook_folder_from_here(plan.root, folder);
		c->root_fd = dup(plan.root_fd);
		cook_run_options cook = {.who = "hob check",
								 .write = {.nothing = true},
								 .config = &config,
								 .cache = how->cache ? how->cache
										  : kept	 ? cache
													 : NULL,
								 .upstream = &upstream,
								 .quiet = true,
								 .wait_s = COOK_WAIT_WRITER_S,
								 .only_report = true,
								 .see = see,
								 .user = c};
		code = srv_cook_run(&plan, &cook);
	} else {
		code = srv_cli_fail("hob check", &error, EXIT_USAGE);
	}
	free(ask.over.text);
	srv_config_release(&config);
	return code;
}

static int run_check(int argc, char **argv)
{
	const char *url = NULL, *format = "text", *rule = NULL;
	check_report c = {.root_fd = -1};
	cook_asking how = {0};
	bool update = false, daemon = false;
	const cli_option options[] = {
		{"--format", 0, CLI_TEXT, &format, "FORM", "text (default), json, sarif, junit or github"},
		{"--strict", 0, CLI_FLAG, &c.strict, NULL, "warnings fail, too"},
		{"--deep", 0, CLI_FLAG, &how.deep, NULL,
		 "check rules that cost much, too, if they are on: uv.overlap, uv.margin, mesh.interpenetrating"},
		{"--baseline", 0, CLI_TEXT, &c.baseline, "FILE",
		 "only findings that are not in FILE, or have grown, fail"},
		{"--update-baseline", 0, CLI_FLAG, &update, NULL, "write the findings of today to the --baseline"},
		{"--explain", 0, CLI_TEXT, &rule, "RULE", "say what a rule asks for; 'all' lists the rules"},
		{"--root", 0, CLI_TEXT, &how.root, "DIR",
		 "models may refer to files below DIR (default: current folder, or the model's)"},
		{"--settings", 0, CLI_TEXT, &how.settings, "JSON|FILE",
		 "settings for all models, overriding cook.json: '{\"rules\":{\"profile\":\"game\"}}'"},
		{"--config", 0, CLI_TEXT, &how.config, "FILE",
		 "the configuration file (hob.json here or in a parent)"},
		{"--cache", 0, CLI_TEXT, &how.cache, "DIR", "folder of kept results (.hob, if it exists)"},
		{"--daemon", 0, CLI_FLAG, &daemon, NULL,
		 "ask the daemon of this folder, or $HOB_URL, and cook nothing; see --url"},
		CLI_URL_OPTION(url),
	};
	static char here[] = ".";
	char *nothing[] = {here}, folder[PATH_MAX] = "";
	int operands = srv_cli_parse(&srv_cli_check, options, HOB_COUNT_OF(options), argc, argv);
	uint32_t count = operands > 0 ? (uint32_t)operands : 0;
	if (rule)
		return explain(rule);
	check_format form = format_of(format);
	if (form == CHECK_FORMATS)
		return srv_cli_usage_error(&srv_cli_check, "--format is text, json, sarif, junit or github, not '%s'",
								   format);
	if (update && !c.baseline)
		return srv_cli_usage_error(&srv_cli_check, "--update-baseline needs a --baseline FILE to write");
	daemon = daemon || url;
	if (daemon && (how.deep || how.root || how.settings || how.config || how.cache))
		return srv_cli_usage_error(&srv_cli_check, "a daemon has its own settings and cache: leave out "
												   "--deep, --root, --settings, --config and --cache");
	hob_error error = {0};
	hob_arena_init(&c.memory, SIZE_MAX);
	int code;
	if (c.baseline && !read_baseline(&c, update, &error))
		code = srv_cli_fail("hob check", &error, EXIT_USAGE);
	else if (daemon)
		code = ask_daemon(&c, url ? url : srv_cli_default_url(), argv + 1, count, folder);
	else
		code = cook_models(&c, &how, count > 0 ? argv + 1 : nothing, count > 0 ? count : 1, folder);
	c.folder = hob_str_of(folder);
	if (code == EXIT_GOOD && !tell(&c, form, update, &error)) {
		code = srv_cli_fail("hob check", &error, EXIT_INTERNAL);
	} else if (code == EXIT_GOOD) {
		code = c.uncooked > 0 ? EXIT_ASSETS_FAILED : c.fresh > 0 && !update ? EXIT_OVER_BUDGET : EXIT_GOOD;
	}
	release(&c);
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
	"With --daemon or --url, the findings come from a running daemon, whose settings count, and nothing is "
	"cooked: of each model those of the newest version, even if a rule refused it. PATH is a folder or model "
	"here that the daemon watches, or ROOT/PATH as 'hob ls' shows it; without PATH all roots at, above or "
	"below this folder are checked, else all. Baselines and formats are the same. 'hob sync' before it waits "
	"for cooks in progress, which count as models that cannot be cooked.\n"
	"\n"
	"Exit codes: 0 no finding fails; 1 a model cannot be cooked; 2 usage or configuration; 4 a finding of "
	"the level error, a model over its budget, or with --strict a warning; 3 no daemon answers.\n"
	"\n"
	"Examples:\n"
	"  hob check art/\n"
	"  hob check art/ --baseline art/known.txt --update-baseline\n"
	"  hob check art/ --baseline art/known.txt --format github\n"
	"  hob check art/ --deep --strict\n"
	"  hob check --url build-server:7780 --format sarif\n"
	"  hob check --explain mesh.open\n",
	run_check};
