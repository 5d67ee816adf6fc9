#include "engine_move.h"
#include "engine_publish.h"
#include "engine_root.h"
#include "engine_sources.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../../core/settings/rules.h"
#include "../log/log.h"

#include <assert.h>

/* ---- the view */

/* Reads the importer or the settings from a record: correct for an unchanged asset, and the best available
 * before the first worker and the first scan. */
static hob_str ingredient(hob_str printed, hob_str before, size_t behind)
{
	size_t at = hob_str_find(printed, before, 0);
	return at == SIZE_MAX ? (hob_str){0} : hob_str_sub(printed, at + before.len, printed.len - behind);
}

static hob_str settings_in(hob_str ingredients)
{
	return ingredient(ingredients, HOB_STR("\"settings\":"), 1);
}

static hob_str kind_of(hob_str ingredients)
{
	hob_str rest = ingredient(ingredients, HOB_STR("\"importer\":\""), 0);
	size_t end = hob_str_find(rest, HOB_STR("\""), 0);
	return end == SIZE_MAX ? (hob_str){0} : hob_str_sub(rest, 0, end);
}

const char *srv_asset_quality(const asset *a)
{
	return !a->life.has_good ? "" : a->life.good_is_preview ? "preview" : "final";
}

/* Whether a rule refused the newest version; its record, which is empty if it is not kept any more. */
static bool is_refused(srv_engine *engine, const asset *a, srv_record *out)
{
	hob_error ignored;
	hob_str why = hob_buf_str(&a->error);
	bool judged = hob_str_find(why, HOB_STR("\"code\":\"cook.rule\""), 0) != SIZE_MAX ||
				  hob_str_find(why, HOB_STR("\"code\":\"cook.over-budget\""), 0) != SIZE_MAX;
	if (!judged || !srv_store_record(engine->store, &a->last.key, &engine->scratch, out, &ignored))
		*out = (srv_record){0};
	return judged;
}

uint32_t srv_asset_findings(srv_engine *engine, const asset *a, hob_str stats, const hob_settings *settings,
							hob_rule_count out[HOB_RULE_COUNT])
{
	srv_record last;
	bool refused = is_refused(engine, a, &last);
	uint32_t count = hob_rules_read_counts(settings, refused ? last.stats : stats, out);
	hob_rule_level shrunk = hob_rules_level(settings, HOB_RULE_source_shrunk);
	assert(count <= HOB_RULE_COUNT);
	if (a->shown.lost.size > 0 && shrunk != HOB_LEVEL_OFF && count < HOB_RULE_COUNT)
		out[count++] = (hob_rule_count){HOB_RULE_source_shrunk, (uint16_t)shrunk, 1};
	return count;
}

/* The part of a view that comes from a record. For an asset that exists, settings and importer are replaced
 * by current ones. */
static srv_view_asset facts_of(const srv_record *record, hob_arena *arena)
{
	srv_view_output *outputs = HOB_NEW(arena, srv_view_output, record->output_count);
	srv_view_asset facts = {.kind = kind_of(record->ingredients),
							.settings = settings_in(record->ingredients),
							.cook_ns = record->cook_ns,
							.warnings = record->warnings,
							.outputs = outputs,
							.output_count = outputs ? record->output_count : 0};
	facts.stats = hob_content_cut(arena, record->stats, &facts.content);
	for (uint32_t i = 0; i < facts.output_count; i++) {
		const srv_record_output *output = &record->outputs[i];
		outputs[i] = (srv_view_output){output->name, output->digest, output->size};
		facts.cooked_bytes += output->size;
	}
	return facts;
}

static hob_sha256 report_of(const srv_view_asset *facts)
{
	for (uint32_t i = 0; i < facts->output_count; i++)
		if (hob_str_equal(facts->outputs[i].name, HOB_STR("report")))
			return facts->outputs[i].digest;
	return (hob_sha256){{0}};
}

static srv_view_dep dep_of(srv_engine *engine, const asset_input *input)
{
	/* While files are scanned for the first time, their sizes come from the index. */
	const srv_file *f = srv_graph_at(engine->graph, input->file);
	return (srv_view_dep){.path = f->path,
						  .missing = input->missing,
						  .digest = input->digest,
						  .size = input->missing ? 0 : f->stat.size};
}

static void put_view(srv_engine *engine, asset *a, srv_view_asset view)
{
	hob_arena *arena = &engine->scratch;
	a->shown.view_due = false;
	engine->publish.view = true;
	view.standing = srv_asset_stands(a);
	if (view.standing >= SRV_STANDINGS_LISTED) {
		srv_views_remove(engine->views, hob_str_of(a->full));
		return;
	}
	srv_view_dep *deps = HOB_NEW(arena, srv_view_dep, a->last.input_count);
	for (uint32_t i = 0; deps && i < a->last.input_count; i++)
		deps[i] = dep_of(engine, &a->last.inputs[i]);
	hob_own_buf reasons = {0};
	const hob_buf *why = a->life.job || a->life.next.id == 0 ? &a->why : &a->life.next.why;
	hob_own_buf settings_of = {0};
	hob_buf_printf(&reasons, "[%.*s]", HOB_FMT(hob_buf_str(why)));
	view.root = engine->roots->shown[a->root].name;
	view.path = hob_str_of(a->path);
	view.full = hob_str_of(a->full);
	view.state = srv_asset_public(&a->life);
	view.rev = a->shown.rev;
	view.cooked_at_ms = a->shown.cooked_at_ms;
	view.source_bytes = srv_graph_at(engine->graph, a->file)->stat.size;
	view.source = a->last.source;
	view.record = a->shown.good;
	view.last = a->last.known ? a->last.key : (hob_sha256){{0}};
	srv_record refused;
	srv_view_asset judged = is_refused(engine, a, &refused) ? facts_of(&refused, arena) : view;
	view.report = report_of(&judged);
	view.expected_ns = srv_engine_expected_ns(engine, a);
	view.error = hob_buf_str(&a->error);
	view.reason = hob_buf_str(&reasons);
	view.dep_count = deps ? a->last.input_count : 0;
	view.deps = deps;
	view.quality = srv_asset_quality(a);
	view.moved_from = srv_engine_moved_from(engine, a);
	hob_ingredients now;
	hob_rule_count findings[HOB_RULE_COUNT];
	hob_error error;
	if (a->importer)
		view.kind = a->importer->name;
	/* Without its root the settings files cannot be read. */
	if (a->importer && !srv_engine_root_is_away(engine, a->root) &&
		srv_asset_ingredients(engine, a, arena, &now, &error)) {
		view.settings = settings_in(srv_engine_ingredients_text(engine, &now));
		view.finding_count = srv_asset_findings(engine, a, view.stats, &now.settings, findings);
		view.findings = findings;
		srv_engine_put_settings_of(engine, a, &settings_of);
		view.settings_of = (const char *)settings_of.data;
	}
	a->shown.unjudged = !view.findings && hob_str_find(view.stats, HOB_STR("\"findings\":"), 0) != SIZE_MAX;
	if (view.stats.len == 0)
		view.stats = HOB_STR("{}");
	hob_own_buf stats = {0};
	if (a->shown.lost.size > 0 && view.stats.len > 2 &&
		hob_str_find(view.stats, HOB_STR(",\"shrunk\":"), 0) == SIZE_MAX) {
		hob_buf_printf(&stats, "%.*s,\"shrunk\":\"%.*s\"}", (int)view.stats.len - 1, view.stats.data,
					   HOB_FMT(hob_buf_str(&a->shown.lost)));
		view.stats = hob_buf_str(&stats);
		view.warnings++;
	}
	assert(view.dep_count <= a->last.input_count && view.finding_count <= HOB_RULE_COUNT);
	srv_engine_asset_id(engine, a, view.id);
	srv_views_put(engine->views, &view);
}

void srv_publish_view(srv_engine *engine, asset *a)
{
	if (a->changeset.held > 0) {
		a->shown.view_due = false;
		return;
	}
	hob_arena_mark mark = hob_arena_save(&engine->scratch);
	const srv_view *view = srv_views_take(engine->views);
	const srv_view_asset *served = a->life.has_good ? srv_view_find(view, hob_str_of(a->full)) : NULL;
	srv_record record = {0};
	hob_error error;
	if (served && served->output_count > 0 && hob_sha256_equal(&served->record, &a->shown.good)) {
		put_view(engine, a, *served);
	} else {
		if (a->life.has_good &&
			!srv_store_record(engine->store, &a->shown.good, &engine->scratch, &record, &error)) {
			record = (srv_record){0};
			a->shown.served = (hob_sha256){{0}};
			engine->publishing->unread = true;
		}
		put_view(engine, a, facts_of(&record, &engine->scratch));
	}
	srv_view_drop(view);
	hob_arena_restore(&engine->scratch, mark);
}

bool srv_publish_take_unread(srv_engine *engine)
{
	bool unread = engine->publishing->unread;
	engine->publishing->unread = false;
	return unread;
}

void srv_publish_view_of(srv_engine *engine, asset *a, const srv_record *record)
{
	hob_arena_mark mark = hob_arena_save(&engine->scratch);
	put_view(engine, a, facts_of(record, &engine->scratch));
	hob_arena_restore(&engine->scratch, mark);
}

void srv_publish_view_later(srv_engine *engine, uint32_t id)
{
	assert(id < engine->assets->count);
	asset *a = srv_asset_at(engine, id);
	if (a->shown.view_due || engine->options.batch)
		return;
	if (!HOB_ROOM(engine->publishing->due, engine->publishing->due_capacity, engine->publishing->due_count)) {
		srv_publish_view(engine, a);
		return;
	}
	engine->publishing->due[engine->publishing->due_count++] = id;
	a->shown.view_due = true;
	engine->publish.view = true;
}

static bool make_views(srv_engine *engine, bool all)
{
	for (uint32_t done = 0; engine->publishing->due_count > 0 && (all || srv_engine_has_time(engine, done));
		 done++) {
		asset *a = srv_asset_at(engine, engine->publishing->due[--engine->publishing->due_count]);
		if (a->shown.view_due)
			srv_publish_view(engine, a);
	}
	assert(engine->publishing->due_count <= engine->publishing->due_capacity);
	return engine->publishing->due_count == 0;
}

bool srv_engine_make_views(srv_engine *engine)
{
	return make_views(engine, false);
}

static void show(srv_engine *engine, bool all)
{
	make_views(engine, all);
	srv_engine_show_former(engine);
	srv_engine_describe_skipped(engine);
	srv_views_set_roots(engine->views, engine->roots->shown, engine->options.root_count);
	srv_views_publish(engine->views, engine->publishing->rev, engine->sources->ready);
}

void srv_engine_show(srv_engine *engine)
{
	show(engine, true);
}

void srv_engine_show_some(void *engine)
{
	show(engine, false);
}
