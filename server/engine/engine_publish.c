#include "engine_publish.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../../core/settings/rules.h"
#include "../cook/error_json.h"
#include "../cook/shrunk.h"
#include "../log/log.h"
#include "../reuse/kept.h"
#include "engine_changeset.h"
#include "engine_health.h"
#include "engine_move.h"
#include "engine_root.h"
#include "engine_sources.h"
#include "engine_turn.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- previews that a rule may still refuse */

static bool on_trial(const asset *a)
{
	return a->life.good_is_preview && a->shown.on_trial;
}

/* Remembers the version that a preview replaces; call it before the preview is applied. */
static void begin_trial(asset *a, bool preview, const hob_settings *settings)
{
	if (!preview || !a->life.good_is_preview) {
		free(a->shown.before);
		a->shown.before = preview && a->life.has_good ? malloc(sizeof *a->shown.before) : NULL;
		if (a->shown.before)
			*a->shown.before = (asset_before){a->shown.good, a->shown.cooked_at_ms};
	}
	a->shown.on_trial = preview && hob_rules_may_refuse(settings);
}

/* The event of a version that is refused: its preview gives its place back to the version before it. */
static srv_asset_event refused(asset *a, bool by_rules, srv_asset_event event)
{
	event.withdrawn = on_trial(a) || (by_rules && a->life.good_is_preview);
	event.has_good = event.withdrawn && a->shown.before;
	if (event.has_good) {
		a->shown.good = a->shown.before->good;
		a->shown.cooked_at_ms = a->shown.before->cooked_at_ms;
	}
	return event;
}

/* ---- rows and events */

void srv_engine_store_asset(srv_engine *engine, asset *a)
{
	srv_asset_row row = {.root = engine->roots->shown[a->root].name,
						 .path = hob_str_of(a->path),
						 .state = hob_str_of(srv_state_name(srv_asset_newest(&a->life))),
						 .rev = a->shown.rev,
						 .cooked_at_ms = a->shown.cooked_at_ms,
						 .error = hob_buf_str(&a->error)};
	hob_error error;
	if (on_trial(a)) { /* a kill now must not make it the last good version */
		row.good = a->shown.before ? a->shown.before->good : row.good;
		row.cooked_at_ms = a->shown.before ? a->shown.before->cooked_at_ms : 0;
	} else {
		row.good = a->life.has_good ? a->shown.good : row.good;
		row.last = a->last.known ? a->last.key : row.last;
	}
	srv_engine_stored(engine, srv_store_put_asset(engine->store, &row, &error), &error);
}

static void put_outputs(const srv_record *record, hob_buf *out)
{
	hob_json_put(out, HOB_JSON_OPEN("outputs", '['));
	for (uint32_t i = 0; i < record->output_count; i++) {
		const srv_record_output *output = &record->outputs[i];
		hob_json_object(out, HOB_JSON("name", output->name), HOB_JSON_DIGEST("hash", &output->digest),
						HOB_JSON("size", output->size));
	}
	hob_json_close(out, ']');
}

static void remove_rows(srv_engine *engine, asset *a)
{
	hob_error error;
	if (!srv_store_delete_asset(engine->store, engine->roots->shown[a->root].name, hob_str_of(a->path),
								&error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	srv_views_remove(engine->views, hob_str_of(a->full));
	engine->publish.view = true;
	a->shown.any = false;
}

void srv_publish_begin(srv_engine *engine)
{
	assert(!engine->publishing->open_rev.open);
	engine->publishing->open_rev.open = true;
}

static void publish_outcome(srv_engine *engine, const engine_change *change)
{
	asset *a = change->a;
	if (change->state == SRV_REMOVED) {
		remove_rows(engine, a);
		return;
	}
	srv_engine_store_asset(engine, a);
	a->shown.any = a->life.has_good;
	a->shown.served = a->shown.good;
	if (change->record)
		srv_publish_view_of(engine, a, change->record);
	else
		srv_publish_view(engine, a);
	engine->counters.changes.published++;
}

/* Publishes a change: row, view and event become visible together at the end of the turn, so a client that
 * gets the event finds the other two. */
static void add_change(srv_engine *engine, const engine_change *change)
{
	enum { PART_BYTES = 64 << 10 }; /* parts of a large rev are compressed as they are made */
	assert(engine->publishing->open_rev.open);
	assert((change->state == SRV_REMOVED) == !srv_asset_is_alive(&change->a->life));
	if (!change->calm)
		engine->publish.prompt = true;
	hob_buf *all = &engine->publishing->open_rev.all;
	engine->publishing->rev += engine->publishing->open_rev.count == 0;
	if (engine->publishing->open_rev.count++ > 0)
		hob_buf_put(all, "\n", 1);
	size_t begin = all->size;
	hob_buf_printf(all, "{\"rev\":%llu", (unsigned long long)engine->publishing->rev);
	srv_engine_put_move(engine, change->a, all);
	hob_buf_put(all, ",", 1);
	hob_buf_put_str(all, change->tail);
	assert(begin < all->size || all->failed);
	change->a->shown.rev = engine->publishing->rev;
	change->a->shown.told = change->state;
	publish_outcome(engine, change);
	hob_str data = hob_str_sub(hob_buf_str(all), begin, all->size);
	srv_publish_event(&engine->publish, "asset", hob_str_of(change->a->full), data);
	if (all->size >= PART_BYTES && srv_store_put_change_part(engine->store, hob_buf_str(all)))
		hob_buf_clear(all);
}

void srv_publish_end(srv_engine *engine)
{
	assert(engine->publishing->open_rev.open);
	srv_change_row row = {engine->publishing->rev, HOB_STR("asset"),
						  hob_buf_str(&engine->publishing->open_rev.all)};
	hob_error error;
	if (engine->publishing->open_rev.count > 0 && !srv_store_put_change(engine->store, &row, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	engine->publish.rows = true;
	engine->publish.view = true;
	hob_buf_release(&engine->publishing->open_rev.all);
	engine->publishing->open_rev.count = 0;
	engine->publishing->open_rev.open = false;
}

void srv_publish_one(srv_engine *engine, const engine_change *change)
{
	bool joins = engine->publishing->open_rev.open;
	if (!joins)
		srv_publish_begin(engine);
	add_change(engine, change);
	if (!joins)
		srv_publish_end(engine);
}

static void put_change_head(const srv_engine *engine, const asset *a, const char *kind, hob_buf *tail)
{
	const char *profile = strchr(engine->options.roots[a->root].name, '@');
	hob_json_put(tail, HOB_JSON("kind", kind), HOB_JSON("asset", a->full),
				 HOB_JSON("profile", profile ? profile + 1 : "default"),
				 HOB_JSON("quality", srv_asset_quality(a)),
				 HOB_JSON("state", srv_state_name(srv_asset_public(&a->life))),
				 HOB_JSON("standing", srv_standing_name(srv_asset_stands(a))));
}

static void put_error(const asset *a, hob_buf *tail)
{
	if (a->error.size > 0)
		hob_json_put(tail, HOB_JSON_RAW("error", hob_buf_str(&a->error)));
}

void srv_publish_states(srv_engine *engine, const uint32_t *ids, uint32_t count, const char *kind)
{
	bool begins = count > 0 && !engine->publishing->open_rev.open;
	if (begins)
		srv_publish_begin(engine);
	for (uint32_t i = 0; i < count; i++) {
		asset *a = srv_asset_at(engine, ids[i]);
		hob_own_buf tail = {0};
		put_change_head(engine, a, kind, &tail);
		put_error(a, &tail);
		hob_json_put(&tail, HOB_JSON_LIST("cause", (hob_str){0}), HOB_JSON_CLOSE('}'));
		add_change(engine,
				   &(engine_change){.a = a, .state = srv_asset_public(&a->life), .tail = hob_buf_str(&tail)});
	}
	if (begins)
		srv_publish_end(engine);
}

static void publish_event(srv_engine *engine, asset *a, const engine_job *job, const char *kind,
						  const srv_record *record, bool hit, hob_str reasons, hob_str numbers)
{
	hob_own_buf tail = {0};
	put_change_head(engine, a, kind, &tail);
	bool good = record && record->error.len == 0;
	if (good) {
		hob_json_put(&tail, HOB_JSON_DIGEST("key", &record->key));
		put_outputs(record, &tail);
		hob_json_put(&tail, HOB_JSON_MS("cook_ms", record->cook_ns), HOB_JSON_BOOL("cached", hit));
	}
	if (numbers.len > 0)
		hob_json_put(&tail, HOB_JSON_RAW("numbers", numbers));
	put_error(a, &tail);
	if (job) {
		hob_rule_count findings[HOB_RULE_COUNT];
		hob_arena_mark mark = hob_arena_save(&engine->scratch);
		uint32_t count = srv_asset_findings(engine, a, good ? record->stats : (hob_str){0},
											&job->ingredients.settings, findings);
		hob_arena_restore(&engine->scratch, mark);
		hob_json_key(&tail, "findings");
		hob_rules_print_levels(findings, count, &tail);
	}
	hob_json_put(&tail, HOB_JSON_LIST("cause", reasons), HOB_JSON_CLOSE('}'));
	srv_state state = srv_asset_public(&a->life);
	if (!srv_engine_hold(engine, a, job, state, &tail))
		srv_publish_one(engine, &(engine_change){a, state, hob_buf_str(&tail), good ? record : NULL,
												 job && job->life.order.priority == SRV_PRIORITY_BACKGROUND});
}

/* ---- outcomes */

/* Logs warnings for users who do not query them. */
static void log_warnings(const engine_job *job, const asset *a, uint32_t warnings)
{
	enum { SHOWN = 3 };
	uint32_t shown = 0;
	bool fresh = job->cook.outcome && job->cook.outcome->has_result;
	for (uint32_t i = 0; fresh && i < job->cook.outcome->result.note_count && shown < SHOWN; i++) {
		const hob_note *note = &job->cook.outcome->result.notes[i];
		if (note->level != HOB_NOTE_WARNING)
			continue;
		srv_causes_log(&job->engine->publishing->causes, SRV_LOG_WARNING, "warning", note->text, "%s  %.*s",
					   a->full, HOB_FMT(note->text));
		shown++;
	}
	if (warnings == shown)
		return;
	char cause[64];
	snprintf(cause, sizeof cause, "%u %swarning%s", warnings - shown, shown > 0 ? "more " : "",
			 HOB_PLURAL(warnings - shown));
	srv_causes_log(&job->engine->publishing->causes, SRV_LOG_WARNING, "warning", hob_str_of(cause),
				   "%s  %s; hob why '%s' tells", a->full, cause, a->full);
}

/* Log text with the number of clients that follow changes; their filters are unknown here. */
static void told_clients(const srv_engine *engine, char out[32])
{
	uint32_t count = srv_events_listeners(engine->publish.events);
	out[0] = 0;
	if (count > 0)
		snprintf(out, 32, "  -> %u client%s", count, HOB_PLURAL(count));
}

static uint64_t bytes_of(const srv_record *record)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < record->output_count; i++)
		bytes += record->outputs[i].size;
	return bytes;
}

/* Compares with the last good version: numbers for the event, and the losses of a new source. The final cook
 * has the same losses as its preview. */
static void compare_with_good(const engine_job *job, const srv_record *record, hob_buf *numbers)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	srv_record good;
	hob_error error;
	bool preview = a->life.good_is_preview || job->ingredients.profile == HOB_PROFILE_PREVIEW;
	hob_arena_mark mark = hob_arena_save(&engine->scratch);
	if (a->life.has_good && !hob_sha256_equal(&a->shown.good, &record->key) &&
		srv_store_record(engine->store, &a->shown.good, &engine->scratch, &good, &error)) {
		srv_version_facts before = {good.stats, bytes_of(&good), good.warnings};
		srv_version_facts now = {record->stats, bytes_of(record), record->warnings};
		bool other = !hob_sha256_equal(&good.source, &job->source);
		srv_numbers_that_differ(&before, &now, numbers);
		before.bytes = preview ? 0 : before.bytes;
		if (other && !a->life.good_is_preview)
			hob_buf_clear(&a->shown.lost);
		if (other && a->shown.lost.size == 0)
			srv_shrunk(&before, &now, &a->shown.lost);
	}
	hob_arena_restore(&engine->scratch, mark);
}

bool srv_publish_allows(engine_job *job, const srv_record *record, hob_error *err)
{
	const hob_settings *settings = &job->ingredients.settings;
	const srv_outcome *outcome = job->cook.outcome;
	if (!hob_rules_may_refuse(settings))
		return true;
	if (outcome && outcome->has_result)
		return hob_rules_check(settings, outcome->result.notes, outcome->result.note_count, err);
	hob_bytes report = {0};
	hob_note *notes;
	uint32_t count;
	for (uint32_t i = 0; i < record->output_count; i++) {
		const srv_record_output *output = &record->outputs[i];
		uint8_t *data = hob_str_equal(output->name, HOB_STR("report"))
							? hob_arena_alloc(&job->arena, output->size + 1, 1)
							: NULL;
		if (data && srv_blob_read(job->engine->store, &output->digest, data, output->size))
			report = (hob_bytes){data, output->size};
	}
	return srv_kept_notes(report, &job->arena, &notes, &count)
			   ? hob_rules_check(settings, notes, count, err)
			   : hob_fail(err, IO, "the kept report cannot be read");
}

static void publish_good(engine_job *job, const srv_record *record, bool hit, hob_str numbers);

bool srv_publish_good(engine_job *job, const srv_record *record, bool hit, hob_error *err)
{
	const hob_settings *settings = &job->ingredients.settings;
	asset *a = srv_asset_at(job->engine, job->asset);
	hob_own_buf numbers = {0};
	compare_with_good(job, record, &numbers);
	bool lost = a->shown.lost.size > 0 &&
				(settings->strict || hob_rules_level(settings, HOB_RULE_source_shrunk) == HOB_LEVEL_ERROR);
	bool allowed = !lost && srv_publish_allows(job, record, err);
	if (allowed)
		publish_good(job, record, hit, hob_buf_str(&numbers));
	if (allowed)
		return true;
	if (lost)
		(void)hob_fail(err, RULE, "the last good version had more: %.*s (%s); change this rule to accept it",
					   HOB_FMT(hob_buf_str(&a->shown.lost)),
					   settings->shrunk	  ? "shrunk: fail"
					   : settings->strict ? "strict: true"
										  : "source.shrunk: error");
	hob_buf_clear(&a->shown.lost);
	if (lost || job->ingredients.profile != HOB_PROFILE_PREVIEW)
		srv_publish_bad(job, NULL, err);
	return false;
}

static void publish_good(engine_job *job, const srv_record *record, bool hit, hob_str numbers)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	bool recovered = a->error.size > 0, skipped = srv_asset_is_skipped(a);
	bool preview = job->ingredients.profile == HOB_PROFILE_PREVIEW;
	begin_trial(a, preview, &job->ingredients.settings);
	srv_engine_apply(engine, job->asset,
					 (srv_asset_event){.kind = preview ? SRV_ASSET_PREVIEW : SRV_ASSET_GOOD});
	assert(engine->closing || (a->life.has_good && a->life.good_is_preview == preview));
	a->shown.good = record->key;
	if (!a->life.good_is_preview) {
		a->cost.final_ns = record->cook_ns;
		a->cost.peak_bytes = record->peak_bytes;
	}
	a->shown.cooked_at_ms = record->cooked_at_ms;
	hob_buf_clear(&a->error);
	srv_engine_doubt_at(a, NULL);
	if (!hit && srv_engine_ill(engine, ENGINE_HEALTH_DISK))
		srv_engine_set_health(engine, ENGINE_HEALTH_DISK, NULL);
	if (skipped)
		srv_engine_show_skipped(engine, a->root);
	publish_event(engine, a, job, recovered ? "recovered" : "cooked", record, hit,
				  hob_buf_str(&job->life.order.why), numbers);
	char time[32], size[32], told[32];
	uint64_t bytes = bytes_of(record);
	told_clients(engine, told);
	if (hit)
		srv_log(SRV_LOG_INFO, job->life.elsewhere ? "fetched" : "reused", "%s  from the %s  %s%s", a->full,
				job->life.elsewhere ? "upstream" : "cache", srv_text_bytes(bytes, size), told);
	else
		srv_log(SRV_LOG_INFO, a->life.good_is_preview ? "preview" : "cooked", "%s  %s  %s%s", a->full,
				srv_text_duration(record->cook_ns, time), srv_text_bytes(bytes, size), told);
	if (!a->life.good_is_preview && a->shown.lost.size > 0)
		srv_log(SRV_LOG_WARNING, "warning", "%s  the last good version had more: %.*s", a->full,
				HOB_FMT(hob_buf_str(&a->shown.lost)));
	if (!a->life.good_is_preview)
		log_warnings(job, a, record->warnings);
}

/* Whether the failure is a crash. error NULL: judged by the record's JSON. */
static bool is_crash(const srv_record *record, const hob_error *error)
{
	return error ? error->code == HOB_ERR_CRASHED
				 : hob_str_find(record->error, HOB_STR("\"code\":\"cook.crashed\""), 0) != SIZE_MAX;
}

/* Classifies the error. No event reports the end of a full disk, a missing permission or a file that keeps
 * changing, so the asset is tried again after a pause. */
static srv_asset_error classify(const srv_record *record, const hob_error *error, bool by_other)
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
	return is_crash(record, error) ? SRV_ASSET_DIED : by_other ? SRV_ASSET_BY_OTHER : SRV_ASSET_FAILED;
}

/* ---- models in models */

static bool is_broken(const asset *a)
{
	return srv_asset_is_alive(&a->life) && a->error.size > 0 && a->life.error != SRV_ASSET_FINE;
}

/* Whether the model reads the file. In a ring each model reads the others, so none is the cause. */
static bool reads(const asset *a, uint32_t file)
{
	for (uint32_t i = 0; i < a->last.input_count; i++)
		if (a->last.inputs[i].file == file)
			return true;
	return false;
}

/* Finds the failed model that made this one fail: an input whose file the error message names. */
static const asset *culprit_of(srv_engine *engine, const asset *a)
{
	for (uint32_t i = 0; i < a->last.input_count; i++) {
		const srv_file *f = srv_graph_at(engine->graph, a->last.inputs[i].file);
		assert(a->last.inputs[i].file < srv_graph_count(engine->graph));
		const asset *other = f->asset != HOB_NONE ? srv_asset_at(engine, f->asset) : NULL;
		if (other && other != a && is_broken(other) && !reads(other, a->file) &&
			hob_str_find(hob_buf_str(&a->error), hob_path_name(f->path), 0) != SIZE_MAX)
			return other;
	}
	return NULL;
}

/* Blocks a model that contains a failed model; its error then names the model to repair. True: the error is
 * new. */
static bool blame(srv_engine *engine, asset *a)
{
	hob_str none = HOB_STR(",\"root_cause\":null}"), old = hob_buf_str(&a->error);
	const asset *culprit = culprit_of(engine, a);
	if (!culprit || old.len < none.len || !hob_str_equal(hob_str_sub(old, old.len - none.len, old.len), none))
		return false;
	hob_buf named = {0};
	hob_buf_put_str(&named, hob_str_sub(old, 0, old.len - none.len));
	hob_json_put(&named, HOB_JSON("root_cause", culprit->full), HOB_JSON_CLOSE('}'));
	hob_buf_release(&a->error);
	a->error = named;
	return true;
}

/* Checks the failed models that use this one. */
static void blame_for(srv_engine *engine, const asset *culprit)
{
	uint32_t count;
	const uint32_t *users = srv_graph_dependents(engine->graph, culprit->file, &count);
	assert(count <= engine->assets->count);
	for (uint32_t i = 0; i < count; i++) {
		asset *a = srv_asset_at(engine, users[i]);
		bool rests = a->life.state == SRV_ASSET_IDLE || a->life.state == SRV_ASSET_BACKOFF;
		if (a == culprit || !rests || !is_broken(a) || !blame(engine, a))
			continue;
		if (srv_engine_apply(engine, users[i], (srv_asset_event){.kind = SRV_ASSET_ROOT_CAUSE}).publish)
			publish_event(engine, a, NULL, "failed", NULL, false, (hob_str){0}, (hob_str){0});
	}
}

/* ---- bad outcomes */

/* Whether the earlier version must be removed: the source is a picture that only models use, or a scene whose
 * export is the asset. A scene that just this machine cannot read keeps its version. */
static bool is_displaced(const asset *a, const srv_record *record)
{
	bool other = a->importer && !hob_str_equal(a->importer->name, HOB_STR("blend"));
	for (uint32_t i = 0; record && i < record->dep_count; i++)
		other = other || !record->deps[i].missing;
	return other && srv_asset_error_is_skip(a);
}

void srv_publish_bad(engine_job *job, const srv_record *record, const hob_error *error)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	hob_own_buf text = {0};
	bool was_skipped = srv_asset_is_skipped(a);
	if (error)
		srv_error_json(error, record || job->cook.outcome ? "cook" : "prepare", &text);
	hob_buf_clear(&a->error);
	srv_error_of_asset(error ? hob_buf_str(&text) : record->error, hob_str_of(a->path), &a->error);
	srv_asset_error class = classify(record, error, record && blame(engine, a));
	bool passing = class >= SRV_ASSET_TRANSIENT, displaced = is_displaced(a, record);
	if (class == SRV_ASSET_NO_ROOM)
		srv_engine_set_health(engine, ENGINE_HEALTH_DISK, error);
	srv_asset_event event = {.kind = passing ? SRV_ASSET_PASSING : SRV_ASSET_BAD,
							 .error = class,
							 .lost_ms = job->cook.outcome ? job->cook.outcome->lost_ms : 0,
							 .kept = record != NULL,
							 .displaced = displaced};
	srv_engine_apply(
		engine, job->asset,
		passing
			? event
			: refused(a, event.error == SRV_ASSET_FAILED && hob_rules_may_refuse(&job->ingredients.settings),
					  event));
	bool skipped = srv_asset_is_skipped(a);
	publish_event(engine, a, job, skipped ? "skipped" : "failed", record, false,
				  hob_buf_str(&job->life.order.why), (hob_str){0});
	if (skipped || was_skipped)
		srv_engine_show_skipped(engine, a->root);
	srv_engine_doubt_at(a, record);
	blame_for(engine, a);
	hob_own_json *known = error ? NULL : cJSON_ParseWithLength((const char *)a->error.data, a->error.size);
	const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(known, "message"));
	const char *cause = error ? error->context : message ? message : "";
	srv_causes_log(&engine->publishing->causes, skipped ? SRV_LOG_INFO : SRV_LOG_ERROR,
				   skipped						  ? "skipped"
				   : class == SRV_ASSET_NO_WORKER ? "blocked"
												  : "failed",
				   hob_str_of(cause), "%s  %s%s%s", a->full, cause,
				   error || skipped ? "" : "  (as known: the same inputs failed before)",
				   srv_engine_serves(engine, a) ? "  (the last good version stays served)" : "");
}

void srv_publish_cancelled(srv_engine *engine, asset *a, engine_job *job, srv_asset_next *next)
{
	hob_error error;
	hob_own_buf text = {0};
	uint32_t id = a->id;
	/* Not published when a newer change of the asset is already held. */
	if (!srv_engine_apply(engine, id,
						  refused(a, false, (srv_asset_event){.kind = SRV_ASSET_STOPPED, .taken = next}))
			 .publish)
		return;
	(void)hob_fail(&error, CANCELLED, "the cook was cancelled");
	srv_error_json(&error, "cook", &text);
	hob_buf_clear(&a->error);
	srv_error_of_asset(hob_buf_str(&text), hob_str_of(a->path), &a->error);
	srv_asset_note(engine, a);
	publish_event(engine, a, job, "failed", NULL, false, hob_buf_str(job ? &job->life.order.why : &next->why),
				  (hob_str){0});
	srv_log(SRV_LOG_WARNING, "cancelled", "%s", a->full);
}

/* Whether clients lack this version: the last event was about older bytes, or was dropped with a
 * changeset. */
static bool is_news(const asset *a)
{
	return srv_asset_public(&a->life) == SRV_FRESH && (a->shown.told != SRV_FRESH || !a->shown.any ||
													   !hob_sha256_equal(&a->shown.served, &a->shown.good));
}

void srv_publish_same(engine_job *job, const srv_record *record)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	bool preview = job->ingredients.profile == HOB_PROFILE_PREVIEW;
	srv_engine_apply(engine, job->asset,
					 (srv_asset_event){.kind = preview ? SRV_ASSET_PREVIEW : SRV_ASSET_SAME});
	srv_publish_view(engine, a);
	if (a->shown.told == SRV_MISSING)
		srv_publish_states(engine, &job->asset, 1, "returned");
	else if (is_news(a))
		publish_event(engine, a, job, "cooked", record, true, hob_buf_str(&job->life.order.why),
					  (hob_str){0});
}

static void log_later(srv_engine *engine, asset *a)
{
	struct engine_publishing *p = engine->publishing;
	srv_engine_note_removal(engine, a);
	if (HOB_ROOM(p->gone.ids, p->gone.capacity, p->gone.count))
		p->gone.ids[p->gone.count++] = a->id;
	else
		srv_log(SRV_LOG_INFO, "removed", "%s", a->full);
}

void srv_publish_log_second(srv_engine *engine)
{
	struct engine_publishing *p = engine->publishing;
	for (uint32_t i = 0; i < p->gone.count; i++) {
		const asset *a = srv_asset_at(engine, p->gone.ids[i]);
		if (!srv_engine_moved_away(a)) /* else it was logged as moved */
			srv_causes_log(&p->causes, SRV_LOG_INFO, "removed", hob_path_dir(hob_str_of(a->full)), "%s",
						   a->full);
	}
	assert(p->gone.count <= p->gone.capacity);
	p->gone.count = 0;
	srv_causes_second(&p->causes);
}

void srv_publish_removed(srv_engine *engine, asset *a)
{
	hob_own_buf tail = {0};
	a->shown.view_due = false;
	hob_buf_clear(&a->error);
	hob_json_put(&tail, HOB_JSON("kind", "removed"), HOB_JSON("asset", a->full), HOB_JSON("state", "removed"),
				 HOB_JSON("standing", "removed"), HOB_JSON_CLOSE('}'));
	log_later(engine, a);
	if (!srv_engine_hold(engine, a, NULL, SRV_REMOVED, &tail))
		srv_publish_one(engine, &(engine_change){.a = a, .state = SRV_REMOVED, .tail = hob_buf_str(&tail)});
}

void srv_engine_publishing_free(struct engine_publishing *publishing)
{
	srv_causes_end(&publishing->causes);
	free(publishing->gone.ids);
	hob_buf_release(&publishing->open_rev.all);
	free(publishing->due);
}

bool srv_engine_is_behind(const srv_engine *engine)
{
	return engine->publishing->due_count > 0 || srv_publish_waits(&engine->publish) ||
		   srv_engine_spreads(engine);
}
