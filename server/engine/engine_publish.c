#include "engine_private.h"

#include "../log/log.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdlib.h>

/* ---- the view */

/* Importer and settings from a record: correct for an unchanged asset, and all that is known before the first worker and the
 * first scan. */
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

static const char *quality_of(const asset *a)
{
	return !a->life.has_good ? "" : a->life.good_is_preview ? "preview" : "final";
}

/* Its cook skipped it. With an earlier good version it is served as stale. */
bool srv_asset_is_skipped(const asset *a)
{
	return !a->life.has_good &&
		   hob_str_find(hob_buf_str(&a->error), HOB_STR("\"code\":\"import.skipped\""), 0) != SIZE_MAX;
}

static srv_view_dep dep_of(srv_engine *engine, const asset_input *input)
{
	const srv_file *f = srv_graph_at(engine->graph, input->file);
	return (srv_view_dep){.path = f->path,
						  .missing = input->missing,
						  .digest = input->digest,
						  .size = f->exists && !input->missing ? f->stat.size : 0};
}

static void put_view(srv_engine *engine, asset *a, srv_view_asset view)
{
	hob_arena *arena = &engine->scratch;
	a->view_due = false;
	engine->publish.view = true;
	if (srv_asset_is_skipped(a)) {
		srv_views_remove(engine->views, hob_str_of(a->full));
		return;
	}
	srv_view_dep *deps = HOB_NEW(arena, srv_view_dep, a->input_count);
	for (uint32_t i = 0; deps && i < a->input_count; i++)
		deps[i] = dep_of(engine, &a->inputs[i]);
	hob_buf reasons = {0}, audit = {0};
	if (a->audited_at_ms > 0)
		srv_engine_put_audit(a, &audit);
	const hob_buf *why = a->life.job || a->life.next.id == 0 ? &a->why : &a->life.next.why;
	hob_buf_put(&reasons, "[", 1);
	hob_buf_put_str(&reasons, hob_buf_str(why));
	hob_buf_put(&reasons, "]", 1);
	view.root = engine->roots[a->root].name;
	view.path = hob_str_of(a->path);
	view.full = hob_str_of(a->full);
	view.state = srv_asset_public(&a->life);
	view.rev = a->rev;
	view.cooked_at_ms = a->cooked_at_ms;
	view.source_bytes = srv_graph_at(engine->graph, a->file)->stat.size;
	view.source = a->last_source;
	view.recipe = a->good;
	view.last = a->has_last ? a->last : (hob_sha256){{0}};
	view.expected_ns = srv_engine_expected_ns(engine, a);
	view.error = hob_buf_str(&a->error);
	view.reason = hob_buf_str(&reasons);
	view.audit = hob_buf_str(&audit);
	view.dep_count = deps ? a->input_count : 0;
	view.deps = deps;
	view.quality = quality_of(a);
	view.moved_from = srv_engine_moved_from(engine, a);
	hob_ingredients now;
	hob_error error;
	if (a->importer)
		view.kind = a->importer->name;
	/* Without its root the settings files cannot be read. */
	if (a->importer && !srv_engine_root_is_away(engine, a->root) &&
		srv_asset_ingredients(engine, a, arena, &now, &error))
		view.settings = settings_in(srv_engine_ingredients_text(engine, &now));
	if (view.stats.len == 0)
		view.stats = HOB_STR("{}");
	srv_engine_asset_id(engine, a, view.id);
	srv_views_put(engine->views, &view);
	hob_buf_release(&reasons);
	hob_buf_release(&audit);
}

/* The part of a view that comes from a record. For an asset that exists, settings and importer are replaced by current ones. */
static srv_view_asset facts_of(const srv_recipe *recipe, hob_arena *arena)
{
	srv_view_output *outputs = HOB_NEW(arena, srv_view_output, recipe->output_count);
	srv_view_asset facts = {.kind = kind_of(recipe->ingredients),
							.settings = settings_in(recipe->ingredients),
							.cook_ns = recipe->cook_ns,
							.stats = recipe->stats,
							.warnings = recipe->warnings,
							.outputs = outputs,
							.output_count = outputs ? recipe->output_count : 0};
	for (uint32_t i = 0; i < facts.output_count; i++) {
		const srv_recipe_output *output = &recipe->outputs[i];
		outputs[i] = (srv_view_output){output->name, output->digest, output->size};
		facts.cooked_bytes += output->size;
	}
	return facts;
}

/* Takes the facts of `good` from the served view, or else from the index. After adding outputs to a record, call
 * srv_publish_view_of. A view without outputs is older than the record. */
void srv_publish_view(srv_engine *engine, asset *a)
{
	if (a->held > 0) {
		a->view_due = false;
		return;
	}
	hob_arena_mark mark = hob_arena_save(&engine->scratch);
	const srv_view *view = srv_views_take(engine->views);
	const srv_view_asset *served = a->life.has_good ? srv_view_find(view, hob_str_of(a->full)) : NULL;
	srv_recipe recipe = {0};
	hob_error error;
	if (served && served->output_count > 0 && hob_sha256_equal(&served->recipe, &a->good)) {
		put_view(engine, a, *served);
	} else {
		if (a->life.has_good && !srv_store_recipe(engine->store, &a->good, &engine->scratch, &recipe, &error))
			recipe = (srv_recipe){0};
		put_view(engine, a, facts_of(&recipe, &engine->scratch));
	}
	srv_view_drop(view);
	hob_arena_restore(&engine->scratch, mark);
}

void srv_publish_view_of(srv_engine *engine, asset *a, const srv_recipe *recipe)
{
	hob_arena_mark mark = hob_arena_save(&engine->scratch);
	put_view(engine, a, facts_of(recipe, &engine->scratch));
	hob_arena_restore(&engine->scratch, mark);
}

void srv_publish_view_later(srv_engine *engine, uint32_t id)
{
	asset *a = &engine->assets[id];
	if (a->view_due)
		return;
	if (!HOB_ROOM(engine->due, engine->due_capacity, engine->due_count)) {
		srv_publish_view(engine, a);
		return;
	}
	engine->due[engine->due_count++] = id;
	a->view_due = engine->publish.view = true;
}

static bool make_views(srv_engine *engine, bool all)
{
	for (uint32_t done = 0; engine->due_count > 0 && (all || srv_engine_has_time(engine, done)); done++) {
		asset *a = &engine->assets[engine->due[--engine->due_count]];
		if (a->view_due)
			srv_publish_view(engine, a);
	}
	return engine->due_count == 0;
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
	srv_views_set_roots(engine->views, engine->roots, engine->options.root_count);
	srv_views_publish(engine->views, engine->rev, engine->ready);
}

void srv_engine_show(srv_engine *engine)
{
	show(engine, true);
}

void srv_engine_show_some(srv_engine *engine)
{
	show(engine, false);
}

/* ---- rows and events */

void srv_engine_store_asset(srv_engine *engine, asset *a)
{
	srv_asset_row row = {.root = engine->roots[a->root].name,
						 .path = hob_str_of(a->path),
						 .state = hob_str_of(srv_state_name(srv_asset_settled(&a->life))),
						 .rev = a->rev,
						 .cooked_at_ms = a->cooked_at_ms,
						 .error = hob_buf_str(&a->error)};
	hob_error error;
	if (a->life.has_good)
		row.good = a->good;
	if (a->has_last)
		row.last = a->last;
	if (!srv_store_put_asset(engine->store, &row, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	engine->publish.rows = true;
}

static void put_outputs(const srv_recipe *recipe, hob_buf *out)
{
	hob_buf_put_str(out, HOB_STR(",\"outputs\":["));
	for (uint32_t i = 0; i < recipe->output_count; i++) {
		char digest[HOB_SHA256_TEXT + 1];
		hob_sha256_text(&recipe->outputs[i].digest, digest);
		hob_buf_put_str(out, i > 0 ? HOB_STR(",{\"name\":") : HOB_STR("{\"name\":"));
		hob_buf_put_json(out, recipe->outputs[i].name);
		hob_buf_printf(out, ",\"hash\":\"%s\",\"size\":%llu}", digest,
					   (unsigned long long)recipe->outputs[i].size);
	}
	hob_buf_put(out, "]", 1);
}

static void remove_rows(srv_engine *engine, asset *a)
{
	hob_error error;
	if (!srv_store_delete_asset(engine->store, engine->roots[a->root].name, hob_str_of(a->path), &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	srv_views_remove(engine->views, hob_str_of(a->full));
	engine->publish.view = true;
	a->shown = false;
}

void srv_publish_begin(srv_engine *engine)
{
	assert(!engine->changeset.open);
	engine->changeset.open = true;
}

static void publish_outcome(srv_engine *engine, const engine_change *change)
{
	asset *a = change->a;
	if (change->state == SRV_REMOVED) {
		remove_rows(engine, a);
		return;
	}
	srv_engine_store_asset(engine, a);
	a->shown = a->life.has_good;
	a->served = a->good;
	if (change->recipe)
		srv_publish_view_of(engine, a, change->recipe);
	else
		srv_publish_view(engine, a);
	engine->counters.published++;
}

/* Row, view and event leave together at the end of the turn, so a client that hears the event finds the row and the view. */
void srv_publish_change(srv_engine *engine, const engine_change *change)
{
	assert(engine->changeset.open);
	hob_buf *all = &engine->changeset.all;
	engine->rev += engine->changeset.count == 0;
	if (engine->changeset.count++ > 0)
		hob_buf_put(all, "\n", 1);
	size_t begin = all->size;
	hob_buf_printf(all, "{\"rev\":%llu", (unsigned long long)engine->rev);
	srv_engine_put_move(engine, change->a, all);
	hob_buf_put_str(all, change->tail);
	change->a->rev = engine->rev;
	change->a->told = change->state;
	publish_outcome(engine, change);
	hob_str data = hob_str_sub(hob_buf_str(all), begin, all->size);
	srv_publish_event(&engine->publish, "asset", hob_str_of(change->a->full), data);
}

void srv_publish_end(srv_engine *engine)
{
	srv_change_row row = {engine->rev, HOB_STR("asset"), hob_buf_str(&engine->changeset.all)};
	hob_error error;
	if (engine->changeset.count > 0 && !srv_store_put_change(engine->store, &row, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	engine->publish.rows = engine->publish.view = true;
	hob_buf_release(&engine->changeset.all);
	engine->changeset.count = 0;
	engine->changeset.open = false;
}

void srv_publish_changes(srv_engine *engine, const engine_change *changes, uint32_t count)
{
	bool joins = engine->changeset.open;
	if (!joins)
		srv_publish_begin(engine);
	for (uint32_t i = 0; i < count; i++)
		srv_publish_change(engine, &changes[i]);
	if (!joins)
		srv_publish_end(engine);
}

static void put_change_head(const srv_engine *engine, const asset *a, const char *kind, hob_buf *tail)
{
	const char *profile = strchr(engine->options.roots[a->root].name, '@');
	hob_buf_printf(tail, ",\"kind\":\"%s\",\"asset\":", kind);
	hob_buf_put_json(tail, hob_str_of(a->full));
	hob_buf_put_str(tail, HOB_STR(",\"profile\":"));
	hob_buf_put_json(tail, hob_str_of(profile ? profile + 1 : "default"));
	hob_buf_printf(tail, ",\"quality\":\"%s\",\"state\":\"%s\"", quality_of(a),
				   srv_state_name(srv_asset_public(&a->life)));
}

void srv_publish_states(srv_engine *engine, const uint32_t *ids, uint32_t count, const char *kind)
{
	engine_change *changes = calloc(count + 1, sizeof *changes);
	hob_buf *tails = calloc(count + 1, sizeof *tails);
	for (uint32_t i = 0; changes && tails && i < count; i++) {
		asset *a = &engine->assets[ids[i]];
		put_change_head(engine, a, kind, &tails[i]);
		if (a->error.size > 0) {
			hob_buf_put_str(&tails[i], HOB_STR(",\"error\":"));
			hob_buf_put_str(&tails[i], hob_buf_str(&a->error));
		}
		hob_buf_put_str(&tails[i], HOB_STR(",\"cause\":[]}"));
		changes[i] =
			(engine_change){.a = a, .state = srv_asset_public(&a->life), .tail = hob_buf_str(&tails[i])};
	}
	if (changes && tails && count > 0)
		srv_publish_changes(engine, changes, count);
	for (uint32_t i = 0; tails && i < count; i++)
		hob_buf_release(&tails[i]);
	free(tails);
	free(changes);
}

static void publish_event(srv_engine *engine, asset *a, const engine_job *job, const char *kind,
						  const srv_recipe *recipe, bool hit, hob_str reasons)
{
	hob_buf tail = {0};
	put_change_head(engine, a, kind, &tail);
	bool good = recipe && recipe->error.len == 0;
	if (good) {
		char key[HOB_SHA256_TEXT + 1];
		hob_sha256_text(&recipe->key, key);
		hob_buf_printf(&tail, ",\"key\":\"%s\"", key);
		put_outputs(recipe, &tail);
		hob_buf_printf(&tail, ",\"cook_ms\":%.3f,\"cached\":%s", (double)recipe->cook_ns / 1e6,
					   hit ? "true" : "false");
	}
	if (a->error.size > 0) {
		hob_buf_put_str(&tail, HOB_STR(",\"error\":"));
		hob_buf_put_str(&tail, hob_buf_str(&a->error));
	}
	hob_buf_put_str(&tail, HOB_STR(",\"cause\":["));
	hob_buf_put_str(&tail, reasons);
	hob_buf_put_str(&tail, HOB_STR("]}"));
	srv_state state = srv_asset_public(&a->life);
	if (!srv_engine_hold(engine, a, job, state, &tail))
		srv_publish_changes(engine, &(engine_change){a, state, hob_buf_str(&tail), good ? recipe : NULL}, 1);
	hob_buf_release(&tail);
}

void srv_publish_job(engine_job *job, const char *state)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	hob_buf data = {0};
	hob_buf_printf(&data, "{\"id\":%llu,\"state\":\"%s\",\"asset\":", (unsigned long long)job->id, state);
	hob_buf_put_json(&data, hob_str_of(a->full));
	if (job->on_worker)
		hob_buf_printf(&data, ",\"expected_ms\":%.3f", (double)srv_engine_expected_ns(engine, a) / 1e6);
	hob_buf_put(&data, "}", 1);
	srv_publish_event(&engine->publish, "job", hob_str_of(a->full), hob_buf_str(&data));
	hob_buf_release(&data);
}

static void note_time(srv_engine_times *times, uint64_t ns)
{
	static const uint32_t bounds[] = {SRV_ENGINE_TIME_BOUNDS};
	uint32_t slot = 0;
	while (slot < HOB_COUNT_OF(bounds) && ns > (uint64_t)bounds[slot] * 1000000)
		slot++;
	times->counts[slot]++;
	times->sum_ns += ns;
}

static uint64_t between_ns(int64_t from_ms, int64_t to_ms)
{
	return to_ms > from_ms ? (uint64_t)(to_ms - from_ms) * 1000000 : 0;
}

void srv_engine_note_activity(srv_engine *engine, const srv_job_row *row)
{
	static const char *const names[SRV_ACTIVITY_RESULTS] = {"cooked", "hit", "failed", "cancelled"};
	srv_activity_job job = {.result = SRV_ACTIVITY_REUSED, /* "fetched": from another cache */
							.queued_at_ms = row->queued_at_ms,
							.started_at_ms = row->started_at_ms,
							.finished_at_ms = row->finished_at_ms,
							.cook_ns = row->cook_ns,
							.asset = row->asset};
	for (int i = 0; i < SRV_ACTIVITY_RESULTS; i++)
		if (hob_str_equal(row->result, hob_str_of(names[i])))
			job.result = (srv_activity_result)i;
	srv_activity_note(engine->activity, &job);
}

void srv_record_job(engine_job *job, const char *result, const hob_sha256 *recipe, const hob_error *error)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	hob_buf reasons = {0}, text = {0};
	hob_buf_put(&reasons, "[", 1);
	hob_buf_put_str(&reasons, hob_buf_str(&job->reasons));
	hob_buf_put(&reasons, "]", 1);
	if (error) {
		hob_buf plain = {0};
		srv_error_json(error, "cook", &plain);
		srv_error_of_asset(hob_buf_str(&plain), hob_str_of(a->path), &text);
		hob_buf_release(&plain);
	} else if (strcmp(result, "failed") == 0) {
		hob_buf_put_str(&text, hob_buf_str(&a->error));
	}
	srv_job_row row = {.id = job->id,
					   .asset = hob_str_of(a->full),
					   .reason = hob_buf_str(&reasons),
					   .result = hob_str_of(result),
					   .queued_at_ms = job->queued_at_ms,
					   .started_at_ms = job->started_at_ms,
					   .finished_at_ms = srv_engine_now_ms(),
					   .error = hob_buf_str(&text)};
	if (recipe)
		row.recipe = *recipe;
	if (job->outcome) {
		row.cook_ns = job->outcome->cook_ns;
		row.peak_bytes = job->outcome->peak_bytes;
		row.log = job->outcome->log;
		note_time(&engine->counters.queued, between_ns(row.queued_at_ms, row.started_at_ms));
		note_time(&engine->counters.cook, row.cook_ns);
		note_time(&engine->counters.total, between_ns(row.queued_at_ms, row.finished_at_ms));
	}
	if (job->fetched)
		row.log = hob_str_of(engine->options.upstream);
	hob_error failed;
	if (!srv_store_put_job(engine->store, &row, &failed))
		srv_log(SRV_LOG_ERROR, "store", "%s", failed.context);
	engine->publish.rows = true;
	engine->counters.jobs++;
	engine->jobs_recorded += !job->recorded;
	job->recorded = true;
	srv_engine_note_activity(engine, &row);
	srv_publish_job(job, result);
	hob_buf_release(&reasons);
	hob_buf_release(&text);
}

/* ---- outcomes */

/* Warnings are logged, so that a person who saves sees them without asking. */
static void log_warnings(const engine_job *job, const asset *a, uint32_t warnings)
{
	enum { SHOWN = 3 };
	uint32_t shown = 0;
	bool fresh = job->outcome && job->outcome->has_result;
	for (uint32_t i = 0; fresh && i < job->outcome->result.note_count && shown < SHOWN; i++) {
		const hob_note *note = &job->outcome->result.notes[i];
		if (note->level != HOB_NOTE_WARNING)
			continue;
		srv_log(SRV_LOG_WARNING, "warning", "%s  %.*s", a->full, HOB_FMT(note->text));
		shown++;
	}
	if (warnings > shown)
		srv_log(SRV_LOG_WARNING, "warning", "%s  %u %swarning%s; hob why '%s' tells", a->full,
				warnings - shown, shown > 0 ? "more " : "", warnings - shown == 1 ? "" : "s", a->full);
}

/* The clients that follow changes. Their filters are not known here. */
static void told_clients(const srv_engine *engine, char out[32])
{
	uint32_t count = srv_events_listeners(engine->events);
	out[0] = 0;
	if (count > 0)
		snprintf(out, 32, "  -> %u client%s", count, HOB_PLURAL(count));
}

void srv_engine_note_disk(srv_engine *engine, const hob_error *why)
{
	uv_mutex_lock(&engine->post_lock);
	engine->disk_trouble = why ? *why : (hob_error){0};
	uv_mutex_unlock(&engine->post_lock);
}

void srv_engine_disk_trouble(void *user, hob_buf *out)
{
	srv_engine *engine = user;
	uv_mutex_lock(&engine->post_lock);
	if (engine->disk_trouble.code != HOB_ERR_OK)
		hob_buf_printf(out, "%s; %s", engine->disk_trouble.context,
					   srv_engine_hint(engine->disk_trouble.code));
	uv_mutex_unlock(&engine->post_lock);
}

void srv_publish_good(engine_job *job, const srv_recipe *recipe, bool hit)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	bool recovered = a->error.size > 0, skipped = srv_asset_is_skipped(a);
	bool other = !a->life.has_good || !hob_sha256_equal(&a->good, &recipe->key);
	bool preview = job->ingredients.profile == HOB_PROFILE_PREVIEW;
	srv_engine_apply(engine, job->asset,
					 (srv_asset_event){.kind = preview ? SRV_ASSET_PREVIEW : SRV_ASSET_GOOD});
	a->good = recipe->key;
	if (engine->audits_kept && (!hit || other))
		srv_engine_recall_audit(engine, a, !hit);
	if (!a->life.good_is_preview) {
		a->final_cook_ns = recipe->cook_ns;
		a->peak_bytes = recipe->peak_bytes;
	}
	a->cooked_at_ms = recipe->cooked_at_ms;
	hob_buf_clear(&a->error);
	srv_engine_doubt_at(a, NULL);
	if (!hit && engine->disk_trouble.code != HOB_ERR_OK)
		srv_engine_note_disk(engine, NULL);
	if (skipped)
		srv_engine_show_skipped(engine, a->root);
	publish_event(engine, a, job, recovered ? "recovered" : "cooked", recipe, hit,
				  hob_buf_str(&job->reasons));
	char time[32], size[32], told[32];
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < recipe->output_count; i++)
		bytes += recipe->outputs[i].size;
	told_clients(engine, told);
	if (hit)
		srv_log(SRV_LOG_INFO, job->fetched ? "fetched" : "reused", "%s  from the %s  %s%s", a->full,
				job->fetched ? "upstream" : "cache", srv_text_bytes(bytes, size), told);
	else
		srv_log(SRV_LOG_INFO, a->life.good_is_preview ? "preview" : "cooked", "%s  %s  %s%s", a->full,
				srv_text_duration(recipe->cook_ns, time), srv_text_bytes(bytes, size), told);
	if (!a->life.good_is_preview)
		log_warnings(job, a, recipe->warnings);
}

/* Reads the JSON of a known failure. */
static bool is_crash(const srv_recipe *recipe, const hob_error *error)
{
	return error ? error->code == HOB_ERR_CRASHED
				 : hob_str_find(recipe->error, HOB_STR("\"code\":\"cook.crashed\""), 0) != SIZE_MAX;
}

/* A full disk, a missing permission, a file that keeps changing: no event tells when it is over, so the asset is tried again
 * after a pause. */
static srv_asset_error classify(const srv_recipe *recipe, const hob_error *error, bool by_other)
{
	hob_err_code code = error ? error->code : HOB_ERR_OK;
	if (code == HOB_ERR_NO_WORKER)
		return SRV_ASSET_NO_WORKER;
	if (code == HOB_ERR_DISK_FULL)
		return SRV_ASSET_NO_ROOM;
	if (code == HOB_ERR_INTERRUPTED)
		return SRV_ASSET_INTERRUPTED;
	if (code == HOB_ERR_IO || code == HOB_ERR_CHANGED)
		return SRV_ASSET_TRANSIENT;
	return is_crash(recipe, error) ? SRV_ASSET_DIED : by_other ? SRV_ASSET_BY_OTHER : SRV_ASSET_FAILED;
}

void srv_publish_bad(engine_job *job, const srv_recipe *recipe, const hob_error *error)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	hob_buf text = {0};
	bool was_skipped = srv_asset_is_skipped(a);
	if (error)
		srv_error_json(error, recipe || job->outcome ? "cook" : "prepare", &text);
	hob_buf_clear(&a->error);
	srv_error_of_asset(error ? hob_buf_str(&text) : recipe->error, hob_str_of(a->path), &a->error);
	hob_buf_release(&text);
	srv_asset_error class = classify(recipe, error, recipe && srv_engine_blame(engine, a));
	bool passing = class >= SRV_ASSET_TRANSIENT;
	if (class == SRV_ASSET_NO_ROOM)
		srv_engine_note_disk(engine, error);
	srv_engine_apply(engine, job->asset,
					 (srv_asset_event){.kind = passing ? SRV_ASSET_PASSING : SRV_ASSET_BAD,
									   .error = class,
									   .lost_ms = job->outcome ? job->outcome->lost_ms : 0,
									   .kept = recipe != NULL});
	bool skipped = srv_asset_is_skipped(a);
	publish_event(engine, a, job, skipped ? "skipped" : "failed", recipe, false, hob_buf_str(&job->reasons));
	if (skipped || was_skipped)
		srv_engine_show_skipped(engine, a->root);
	srv_engine_doubt_at(a, recipe);
	srv_engine_blame_for(engine, a);
	cJSON *known = error ? NULL : cJSON_ParseWithLength((const char *)a->error.data, a->error.size);
	const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(known, "message"));
	srv_log(skipped ? SRV_LOG_INFO : SRV_LOG_ERROR,
			skipped						   ? "skipped"
			: class == SRV_ASSET_NO_WORKER ? "blocked"
										   : "failed",
			"%s  %s%s%s", a->full,
			error	  ? error->context
			: message ? message
					  : "",
			error || skipped ? "" : "  (as known: the same inputs failed before)",
			srv_engine_serves(engine, a) ? "  (the last good version stays served)" : "");
	cJSON_Delete(known);
}

void srv_publish_cancelled(srv_engine *engine, asset *a, engine_job *job, srv_asset_next *next)
{
	hob_error error;
	hob_buf text = {0};
	uint32_t id = (uint32_t)(a - engine->assets);
	/* Not published when a newer change of the asset is already held. */
	if (!srv_engine_apply(engine, id, (srv_asset_event){.kind = SRV_ASSET_STOPPED, .taken = next}).publish)
		return;
	(void)hob_fail(&error, CANCELLED, "the cook was cancelled");
	srv_error_json(&error, "cook", &text);
	hob_buf_clear(&a->error);
	srv_error_of_asset(hob_buf_str(&text), hob_str_of(a->path), &a->error);
	hob_buf_release(&text);
	publish_event(engine, a, job, "failed", NULL, false, hob_buf_str(job ? &job->reasons : &next->why));
	srv_log(SRV_LOG_WARNING, "cancelled", "%s", a->full);
}

void srv_publish_blamed(srv_engine *engine, asset *a)
{
	publish_event(engine, a, NULL, "failed", NULL, false, (hob_str){0});
}

/* The last event was about older bytes, or was dropped with its changeset. */
static bool is_news(const asset *a)
{
	return srv_asset_public(&a->life) == SRV_FRESH &&
		   (a->told != SRV_FRESH || !a->shown || !hob_sha256_equal(&a->served, &a->good));
}

void srv_publish_same(engine_job *job, const srv_recipe *recipe)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	bool preview = job->ingredients.profile == HOB_PROFILE_PREVIEW;
	srv_engine_apply(engine, job->asset,
					 (srv_asset_event){.kind = preview ? SRV_ASSET_PREVIEW : SRV_ASSET_SAME});
	srv_publish_view(engine, a);
	if (a->told == SRV_MISSING)
		srv_publish_states(engine, &job->asset, 1, "returned");
	else if (is_news(a))
		publish_event(engine, a, job, "cooked", recipe, true, hob_buf_str(&job->reasons));
}

void srv_publish_removed(srv_engine *engine, asset *a)
{
	hob_buf tail = {0}, data = {0};
	hob_error error;
	a->view_due = false;
	hob_buf_clear(&a->error);
	hob_buf_put_str(&tail, HOB_STR(",\"kind\":\"removed\",\"asset\":"));
	hob_buf_put_json(&tail, hob_str_of(a->full));
	hob_buf_put_str(&tail, HOB_STR(",\"state\":\"removed\"}"));
	srv_log(SRV_LOG_INFO, "removed", "%s", a->full);
	if (srv_engine_hold(engine, a, NULL, SRV_REMOVED, &tail))
		return;
	if (engine->ready) {
		srv_publish_changes(engine,
							&(engine_change){.a = a, .state = SRV_REMOVED, .tail = hob_buf_str(&tail)}, 1);
		hob_buf_release(&tail);
		return;
	}
	remove_rows(engine, a);
	a->told = SRV_REMOVED;
	a->rev = ++engine->rev;
	hob_buf_printf(&data, "{\"rev\":%llu", (unsigned long long)a->rev);
	srv_engine_put_move(engine, a, &data);
	hob_buf_put_str(&data, hob_buf_str(&tail));
	srv_change_row row = {a->rev, HOB_STR("asset"), hob_buf_str(&data)};
	if (!srv_store_put_change(engine->store, &row, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	engine->publish.rows = true;
	srv_publish_event(&engine->publish, "asset", hob_str_of(a->full), hob_buf_str(&data));
	hob_buf_release(&tail);
	hob_buf_release(&data);
}
