#include "engine_audit.h"

#include "../log/log.h"
#include "engine_publish.h"
#include "engine_sources.h"
#include "engine_turn.h"

#include <stdlib.h>

/* Reproducibility check: when the daemon has been idle for a while, one fresh asset is cooked again, by a new
 * worker without parts of earlier cooks, and the digests are compared. Only the finding is kept or published.
 *
 *            on_second             go_on                take_outcome           compare_done
 *   (none) --------------> WANTED --------> COOKING -------------------> HASHING --------------> (none)
 *                             `--- give_way: real work ----'  (a result that still comes is dropped)
 *
 * Chooses the asset whose last check is longest ago; assets without one come first. */

typedef enum audit_state { AUDIT_NONE, AUDIT_WANTED, AUDIT_COOKING, AUDIT_HASHING } audit_state;

typedef struct recorded {
	hob_str name;
	hob_sha256 digest;
	bool seen;
} recorded;

struct engine_audit {
	pool_client client;
	srv_engine *engine;
	audit_state state;
	uint32_t asset;
	hob_sha256 record;
	uint64_t quiet_since, jobs_seen, rev_seen;
	hob_arena arena;
	recorded *outputs; /* the served outputs */
	uint32_t output_count;
	srv_outcome *outcome;
	hob_sha256 *digests; /* digests of the new outputs */
	uv_work_t work;
};

static void finish(srv_engine *engine)
{
	struct engine_audit *audit = engine->audit;
	srv_outcome_free(audit->outcome);
	hob_arena_release(&audit->arena);
	audit->outcome = NULL;
	audit->state = AUDIT_NONE;
	audit->quiet_since = uv_now(engine->loop);
}

/* ---- choice of asset and time */

static bool is_quiet(srv_engine *engine)
{
	struct engine_audit *audit = engine->audit;
	uint64_t now = uv_now(engine->loop), jobs = engine->counters.jobs;
	if (!srv_engine_is_idle(engine) || audit->jobs_seen != jobs ||
		audit->rev_seen != engine->publishing->rev) {
		audit->jobs_seen = jobs;
		audit->rev_seen = engine->publishing->rev;
		audit->quiet_since = now;
	}
	return now >= audit->quiet_since + engine->options.audit_s * 1000ull;
}

static uint32_t choose(srv_engine *engine)
{
	uint32_t best = HOB_NONE;
	for (uint32_t i = 0; i < engine->assets->count; i++) {
		const asset *a = srv_asset_at(engine, i);
		bool whole = srv_asset_is_alive(&a->life) && a->importer && a->life.state == SRV_ASSET_IDLE &&
					 a->life.error == SRV_ASSET_FINE && a->life.has_good && !a->life.good_is_preview &&
					 a->last.known && hob_sha256_equal(&a->shown.good, &a->last.key);
		if (whole && (best == HOB_NONE || a->check.turn_ms < srv_asset_at(engine, best)->check.turn_ms))
			best = i;
	}
	return best;
}

/* Not compared: the report contains times, and the classic layout is made from the other outputs. */
static bool is_compared(hob_str name)
{
	return !hob_str_equal(name, HOB_STR("report")) && !hob_str_starts(name, HOB_STR("classic."));
}

/* Read from the view: reading the store would count as a use of the record. */
static bool take_recorded(srv_engine *engine, struct engine_audit *audit, const asset *a)
{
	const srv_view *view = srv_views_take(engine->views);
	const srv_view_asset *served = srv_view_find(view, hob_str_of(a->full));
	bool current = served && hob_sha256_equal(&served->record, &a->shown.good);
	uint32_t count = current ? served->output_count : 0;
	audit->outputs = HOB_NEW(&audit->arena, recorded, count);
	audit->output_count = 0;
	for (uint32_t i = 0; audit->outputs && i < count; i++) {
		if (is_compared(served->outputs[i].name))
			audit->outputs[audit->output_count++] = (recorded){
				hob_arena_str(&audit->arena, served->outputs[i].name), served->outputs[i].digest, false};
	}
	srv_view_drop(view);
	return audit->output_count > 0;
}

static void go_on(void *user, const srv_fact *fact)
{
	(void)fact;
	struct engine_audit *audit = user;
	srv_engine *engine = audit->engine;
	if (audit->state != AUDIT_WANTED || engine->closing)
		return;
	asset *a = srv_asset_at(engine, audit->asset);
	hob_ingredients ingredients;
	hob_error error;
	bool same =
		srv_asset_is_alive(&a->life) && a->life.has_good && hob_sha256_equal(&a->shown.good, &audit->record);
	if (!srv_engine_is_idle(engine) || !same || !srv_asset_is_current(engine, a) ||
		!srv_asset_ingredients(engine, a, &audit->arena, &ingredients, &error)) {
		finish(engine);
		return;
	}
	srv_pool_job what = {.root = a->root,
						 .path = hob_str_of(a->path),
						 .settings = ingredients.settings,
						 .profile = HOB_PROFILE_FINAL,
						 .threads = 1,
						 .alone = true};
	if (srv_pool_start(engine->jobs->pool, audit, &what)) {
		audit->state = AUDIT_COOKING;
		srv_log(SRV_LOG_DEBUG, "audit", "%s  is cooked again", a->full);
	}
}

static void on_second(void *user, const srv_fact *fact)
{
	(void)fact;
	struct engine_audit *audit = user;
	srv_engine *engine = audit->engine;
	if (engine->closing || !engine->sources->ready || !is_quiet(engine) || audit->state != AUDIT_NONE)
		return;
	uint32_t id = choose(engine);
	if (id == HOB_NONE)
		return;
	audit->asset = id;
	audit->record = srv_asset_at(engine, id)->shown.good;
	audit->state = AUDIT_WANTED;
	hob_arena_init(&audit->arena, 64 << 20);
	if (take_recorded(engine, audit, srv_asset_at(engine, id)))
		go_on(audit, fact);
	else
		finish(engine);
}

static void give_way(void *user, const srv_fact *fact)
{
	(void)fact;
	struct engine_audit *audit = user;
	srv_engine *engine = audit->engine;
	if (audit->state == AUDIT_WANTED)
		finish(engine);
	else if (audit->state == AUDIT_COOKING)
		srv_pool_cancel(engine->jobs->pool, audit);
}

/* ---- results */

static bool same_input(srv_engine *engine, const asset *a, const srv_dep *dep, hob_arena *arena)
{
	hob_str path;
	if (hob_str_equal(dep->path, hob_str_of(a->path)))
		return !dep->missing && hob_sha256_equal(&dep->digest, &a->last.source);
	if (!hob_path_join(arena, (hob_str){0}, dep->path, &path, NULL))
		return true; /* outside the root: neither cook could read it */
	uint32_t file = srv_graph_find(engine->graph, a->root, path);
	for (uint32_t i = 0; file != HOB_NONE && i < a->last.input_count; i++)
		if (a->last.inputs[i].file == file)
			return a->last.inputs[i].missing == dep->missing &&
				   (dep->missing || hob_sha256_equal(&a->last.inputs[i].digest, &dep->digest));
	return false;
}

/* A cook of changed inputs, or an interrupted one, proves nothing. */
static bool is_comparable(srv_engine *engine, const asset *a, const srv_outcome *outcome)
{
	struct engine_audit *audit = engine->audit;
	if (outcome->cancelled || !srv_asset_is_alive(&a->life) || !a->life.has_good ||
		!hob_sha256_equal(&a->shown.good, &audit->record))
		return false;
	for (uint32_t i = 0; outcome->has_result && i < outcome->result.dep_count; i++)
		if (!same_input(engine, a, &outcome->result.deps[i], &audit->arena))
			return false;
	switch (outcome->error.code) {
	case HOB_ERR_CHANGED:
	case HOB_ERR_IO:
	case HOB_ERR_DISK_FULL:
	case HOB_ERR_MEMORY:
	case HOB_ERR_TIMEOUT:
	case HOB_ERR_NO_WORKER:
	case HOB_ERR_INTERRUPTED:
	case HOB_ERR_INTERNAL:
		return false;
	default:
		return true;
	}
}

/* Appends a name, up to a limit. */
static uint32_t add_name(hob_buf *out, uint32_t count, hob_str name)
{
	enum { NAMES_MAX = 16 };
	if (count < NAMES_MAX) {
		hob_buf_put_str(out, count > 0 ? HOB_STR(",") : (hob_str){0});
		hob_buf_put_json(out, name);
	}
	return count + 1;
}

/* Appends the names of outputs that differ, are new or are missing. Returns their number. */
static uint32_t compare(struct engine_audit *audit, hob_buf *out)
{
	const srv_result *result = &audit->outcome->result;
	uint32_t found = 0;
	for (uint32_t i = 0; i < result->output_count; i++) {
		bool same = !is_compared(result->outputs[i].name);
		for (uint32_t r = 0; !same && r < audit->output_count; r++) {
			recorded *known = &audit->outputs[r];
			if (hob_str_equal(known->name, result->outputs[i].name)) {
				known->seen = true;
				same = hob_sha256_equal(&known->digest, &audit->digests[i]);
				break;
			}
		}
		if (!same)
			found = add_name(out, found, result->outputs[i].name);
	}
	for (uint32_t r = 0; r < audit->output_count; r++)
		if (!audit->outputs[r].seen)
			found = add_name(out, found, audit->outputs[r].name);
	return found;
}

static void show(srv_engine *engine, const asset *a)
{
	const srv_view *view = srv_views_take(engine->views);
	const srv_view_asset *served = srv_view_find(view, hob_str_of(a->full));
	hob_buf audit = {0};
	srv_engine_put_audit(a, &audit);
	if (served) {
		srv_view_asset fresh = *served;
		fresh.audit = hob_buf_str(&audit);
		srv_views_put(engine->views, &fresh);
		srv_publish_note_view(&engine->publish);
	}
	srv_view_drop(view);
	hob_buf_release(&audit);
}

/* Applies to each asset with these outputs: copies share them. */
static void keep_found(srv_engine *engine, hob_str found)
{
	struct engine_audit *audit = engine->audit;
	srv_audit_row row = {audit->record, srv_engine_now_ms(), found};
	hob_error error;
	srv_engine_stored(engine, srv_store_put_audit(engine->store, &row, &error), &error);
	for (uint32_t i = 0; i < engine->assets->count; i++) {
		asset *a = srv_asset_at(engine, i);
		if (!srv_asset_is_alive(&a->life) || !a->life.has_good ||
			!hob_sha256_equal(&a->shown.good, &audit->record))
			continue;
		a->check.at_ms = a->check.turn_ms = row.at_ms;
		hob_buf_clear(&a->check.found);
		hob_buf_put_str(&a->check.found, found);
		show(engine, a);
	}
	srv_engine_flush(engine);
}

/* message: reason why the second cook failed; otherwise `names` lists the outputs that differ. */
static void conclude(srv_engine *engine, hob_str names, const char *message)
{
	const asset *a = srv_asset_at(engine, engine->audit->asset);
	hob_buf found = {0};
	bool same = names.len == 0 && !message;
	if (!same) {
		hob_buf_printf(&found, "{\"outputs\":[%.*s],\"message\":", HOB_FMT(names));
		if (message)
			hob_buf_put_json(&found, hob_str_of(message));
		else
			hob_buf_put_str(&found, HOB_STR("null"));
		hob_buf_put(&found, "}", 1);
	}
	if (same)
		engine->counters.audits.same++;
	else
		engine->counters.audits.different++;
	keep_found(engine, hob_buf_str(&found));
	hob_buf_release(&found);
	if (same)
		srv_log(SRV_LOG_DEBUG, "audit", "%s  was cooked again, with the same result", a->full);
	else if (message)
		srv_log(SRV_LOG_WARNING, "audit", "%s  was cooked again from the same inputs and failed: %s", a->full,
				message);
	else
		srv_log(SRV_LOG_WARNING, "audit", "%s  was cooked again from the same inputs; other now: %.*s",
				a->full, HOB_FMT(names));
}

static void compare_run(uv_work_t *work)
{
	struct engine_audit *audit = work->data;
	const srv_result *result = &audit->outcome->result;
	for (uint32_t i = 0; i < result->output_count; i++)
		audit->digests[i] = hob_sha256_of(result->outputs[i].bytes);
}

static void compare_done(uv_work_t *work, int status)
{
	(void)status;
	struct engine_audit *audit = work->data;
	srv_engine *engine = audit->engine;
	const asset *a = srv_asset_at(engine, audit->asset);
	if (!engine->closing && is_comparable(engine, a, audit->outcome)) {
		hob_buf names = {0};
		compare(audit, &names);
		conclude(engine, hob_buf_str(&names), NULL);
		hob_buf_release(&names);
	}
	finish(engine);
	srv_engine_work_over(engine);
}

static void take_outcome(void *self, srv_outcome *outcome)
{
	struct engine_audit *audit = self;
	srv_engine *engine = audit->engine;
	asset *a = srv_asset_at(engine, audit->asset);
	audit->outcome = outcome;
	bool comparable = !engine->closing && is_comparable(engine, a, outcome);
	if (!comparable)
		srv_log(SRV_LOG_DEBUG, "audit", "%s  %s", a->full,
				outcome->cancelled ? "gave way" : "cannot be compared now");
	/* An asset that cannot be compared now goes to the end of the list. */
	if (!outcome->cancelled)
		a->check.turn_ms = srv_engine_now_ms();
	audit->digests =
		comparable && outcome->ok ? HOB_NEW(&audit->arena, hob_sha256, outcome->result.output_count) : NULL;
	if (audit->digests) {
		audit->state = AUDIT_HASHING;
		audit->work.data = audit;
		srv_engine_work(engine, &audit->work, compare_run, compare_done);
		return;
	}
	if (comparable && !outcome->ok)
		conclude(engine, (hob_str){0}, outcome->error.context);
	finish(engine);
}

/* ---- results */

static void take_row(void *user, const srv_audit_row *row)
{
	asset *a = user;
	a->check.at_ms = a->check.turn_ms = row->at_ms;
	hob_buf_put_str(&a->check.found, row->found);
}

static void forget(void *user, const srv_fact *fact)
{
	asset *a = srv_asset_at(user, fact->asset);
	a->check.at_ms = a->check.turn_ms = 0;
	hob_buf_clear(&a->check.found);
}

static void recall(void *user, const srv_fact *fact)
{
	srv_engine *engine = user;
	asset *a = srv_asset_at(engine, fact->asset);
	hob_error error;
	forget(engine, fact);
	bool ok = fact->fresh ? srv_store_delete_audit(engine->store, &a->shown.good, &error)
						  : srv_store_audit(engine->store, &a->shown.good, take_row, a, &error);
	if (!ok)
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
}

/* ---- life */

struct engine_audit *srv_engine_audit_new(srv_engine *engine)
{
	struct engine_audit *audit = calloc(1, sizeof *audit);
	if (audit) {
		audit->engine = engine;
		audit->client.done = take_outcome;
	}
	return audit;
}

void srv_engine_audit_free(struct engine_audit *audit)
{
	free(audit);
}

void srv_engine_audit_listens(srv_engine *engine)
{
	srv_facts_on(&engine->facts, SRV_FACT_SECOND, on_second, engine->audit);
	srv_facts_on(&engine->facts, SRV_FACT_WORKER_IDLE, go_on, engine->audit);
	srv_facts_on(&engine->facts, SRV_FACT_JOB_WAITS, give_way, engine->audit);
	srv_facts_on(&engine->facts, SRV_FACT_CLOSING, give_way, engine->audit);
}

void srv_engine_audit_recalls(srv_engine *engine)
{
	srv_facts_on(&engine->facts, SRV_FACT_ASSET_GOOD, recall, engine);
	srv_facts_on(&engine->facts, SRV_FACT_ASSET_GONE, forget, engine);
}
