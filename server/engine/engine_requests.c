#include "engine_requests.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../control/answer.h"
#include "engine_changeset.h"
#include "engine_exchange.h"
#include "engine_publish.h"
#include "engine_root.h"
#include "engine_sources.h"
#include "engine_turn.h"
#include "engine_upkeep.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- answers */

static asset *asked_asset(srv_engine *engine, srv_control *control)
{
	uint32_t id = srv_engine_asset_by_name(engine, control->asset);
	if (id != HOB_NONE && srv_asset_is_alive(&srv_asset_at(engine, id)->life))
		return srv_asset_at(engine, id);
	srv_control_answer(control, 404, "http.not-found", "no such asset");
	return NULL;
}

static void answer_missing(const srv_engine *engine, srv_control *control, const asset *a)
{
	char detail[512];
	snprintf(detail, sizeof detail, "%.*s", HOB_FMT(engine->roots->shown[a->root].note));
	srv_control_answer(control, 409, "source-missing", detail);
}

/* ---- waiting */

static void wait_for_asset(srv_engine *engine, srv_control *control, uint32_t id)
{
	if (!srv_waiter_add(&engine->requests->waiters, control, id, uv_now(engine->loop), NULL, 0))
		srv_control_answer(control, 503, "internal", "no memory left to wait");
}

/* Number of finished scans to wait for: a scan that runs now may miss earlier writes, so two must end. */
static uint64_t rounds_from_now(const srv_engine *engine, uint32_t root)
{
	assert(root < engine->sources->root_count);
	return engine->sources->scan_rounds[root] + 2;
}

/* Waits for all earlier events of the named roots ('/' between them; empty: all): the watch delivers them
 * before its mark. Without an event queue, or on request, a scan replaces it. */
static void wait_for_watch(srv_engine *engine, srv_control *control, uint32_t id, hob_str names)
{
	uint32_t count = engine->options.root_count;
	hob_own uint64_t *rounds = calloc(count + 1, sizeof *rounds);
	for (uint32_t i = 0; rounds && i < count; i++)
		if (srv_control_lists(names, HOB_STR("/"), engine->roots->shown[i].name))
			rounds[i] = engine->sources->watch && !control->force
							? SRV_WAITER_MARK + srv_watch_mark(engine->sources->watch, i)
							: rounds_from_now(engine, i);
	bool added = rounds &&
				 srv_waiter_add(&engine->requests->waiters, control, id, uv_now(engine->loop), rounds, count);
	for (uint32_t i = 0; added && engine->sources->watch && i < count; i++)
		if (rounds[i] > 0 && rounds[i] < SRV_WAITER_MARK)
			srv_watch_rescan(engine->sources->watch, i);
	if (!added)
		srv_control_answer(control, 503, "internal", "no memory left to wait");
}

/* Waits for everything of the named roots, and for a look at what causes no event. */
static void wait_for_all(srv_engine *engine, srv_control *control)
{
	wait_for_watch(engine, control, HOB_NONE, control->text);
}

static bool is_busy(srv_engine *engine, uint32_t id)
{
	assert(id < engine->assets->count);
	const asset *a = srv_asset_at(engine, id);
	return srv_asset_is_busy(&a->life) || a->changeset.held > 0;
}

/* Whether the asset is checked again for the request: the check before it found a half-written input, which
 * may be complete by now. */
static bool waits_for_a_look(const asset *a, const srv_waiter *w)
{
	return a->life.state == SRV_ASSET_WRITER && a->life.retry.at_ms <= w->began_ms + SRV_ASSET_WRITER_MS;
}

static bool all_idle(srv_engine *engine, const srv_waiter *w)
{
	bool idle = srv_engine_is_idle(engine);
	if (!idle && !w->some_roots)
		return false;
	for (uint32_t i = 0; i < engine->options.root_count; i++)
		if (idle && srv_waiter_wants_root(w, i) && srv_engine_in_changeset(engine, i))
			return false;
	uint32_t count;
	const uint32_t *unsettled = srv_engine_unsettled(engine, &count);
	for (uint32_t i = 0; i < count; i++) {
		const asset *a = srv_asset_at(engine, unsettled[i]);
		if (srv_waiter_wants_root(w, a->root) && waits_for_a_look(a, w))
			return false;
	}
	for (uint32_t i = 0; !idle && i < engine->assets->count; i++)
		if (srv_waiter_wants_root(w, srv_asset_at(engine, i)->root) && is_busy(engine, i))
			return false;
	return true;
}

static void answer_sync(srv_engine *engine, const srv_waiter *w)
{
	hob_own_buf body = {0};
	uint32_t count;
	const uint32_t *unsettled = srv_engine_unsettled(engine, &count);
	hob_json_put(&body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("rev", engine->publishing->rev),
				 HOB_JSON_OPEN("failed", '['));
	for (uint32_t i = 0; i < count; i++) {
		const asset *a = srv_asset_at(engine, unsettled[i]);
		/* An old commit alone tells of its broken assets. */
		if (srv_standing_is_problem(srv_asset_stands(a), a->error.size > 0) &&
			srv_waiter_wants_root(w, a->root) && !engine->options.roots[a->root].still)
			hob_json_str(&body, hob_str_of(a->full));
	}
	hob_json_put(&body, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	w->control->answer(w->control, 200, hob_buf_str(&body));
}

void srv_engine_pass_mark(srv_engine *engine, uint32_t root, uint64_t number, bool seen)
{
	srv_waiters_pass(&engine->requests->waiters, root, number, seen ? 1 : rounds_from_now(engine, root));
	srv_engine_changeset_passed(engine, root, number);
	srv_engine_scan_for_waiters(engine, root);
}

void srv_engine_scan_for_waiters(srv_engine *engine, uint32_t root)
{
	if (srv_waiters_want_scan(&engine->requests->waiters, root, engine->sources->scan_rounds))
		srv_watch_rescan(engine->sources->watch, root);
}

/* Whether all events and scans are applied, and a look at maps after them is over. */
static bool has_seen_all(srv_engine *engine, const srv_waiter *w)
{
	uint64_t *look = &w->rounds[w->root_count];
	assert(w->root_count == engine->sources->root_count);
	if (!srv_waiter_scans_over(w, engine->sources->scan_rounds))
		return false;
	if (*look == 0)
		*look = srv_engine_look_at_maps(engine);
	return engine->sources->scan_rounds[w->root_count] >= *look;
}

/* ---- cooking on request */

/* Whether a cook would fail as the last one did: the change of a file begins a cook by itself. A user may
 * know better what the machine caused, what was cancelled, and whether Blender was installed meanwhile. */
static bool is_known_failure(const asset *a)
{
	bool failed = a->life.error == SRV_ASSET_FAILED || a->life.error == SRV_ASSET_BY_OTHER;
	bool cancelled =
		hob_str_find(hob_buf_str(&a->error), HOB_STR("\"code\":\"cook.cancelled\""), 0) != SIZE_MAX;
	return failed && a->life.state == SRV_ASSET_IDLE && a->last.doubt_at_ms == 0 && !cancelled &&
		   !srv_asset_error_is_skip(a);
}

static void begin_cook(srv_engine *engine, srv_control *control, asset *a)
{
	uint32_t id = a->id;
	/* Requested by a user, so known digests are not trusted. */
	srv_graph_at(engine->graph, a->file)->has_digest = false;
	/* Stored failures are not trusted either: the machine may have caused them. */
	bool again = control->force || a->error.size > 0;
	srv_asset_dirty(engine, id, SRV_PRIORITY_INTERACTIVE, again ? "forced" : "asked", (hob_str){0});
	uint64_t job = a->life.next.id;
	srv_engine_stir(engine);
	srv_control_accept(control, job);
}

static asset *asked_cook(srv_engine *engine, srv_control *control)
{
	asset *a = asked_asset(engine, control);
	bool away = a && srv_engine_root_is_away(engine, a->root);
	if (a && !a->importer)
		srv_control_answer(control, 409, "starting", "the cook processes are not ready yet");
	else if (away)
		answer_missing(engine, control, a);
	return a && a->importer && !away ? a : NULL;
}

/* A known failure is answered after all earlier events of its root: one of them may be its repair. */
static void control_cook(srv_engine *engine, srv_control *control)
{
	asset *a = asked_cook(engine, control);
	if (a && !control->force && is_known_failure(a))
		wait_for_watch(engine, control, a->id, engine->roots->shown[a->root].name);
	else if (a)
		begin_cook(engine, control, a);
}

static void answer_cook(srv_engine *engine, srv_control *control)
{
	asset *a = asked_cook(engine, control);
	if (a && is_known_failure(a))
		srv_control_answer(control, 422, "cook.failed", "no file of it has changed since it failed");
	else if (a)
		begin_cook(engine, control, a);
}

static bool is_done(void *user, const srv_waiter *w)
{
	srv_engine *engine = user;
	if (w->control->kind == SRV_CONTROL_COOK)
		return srv_waiter_scans_over(w, engine->sources->scan_rounds) && !srv_engine_is_behind(engine) &&
			   !srv_engine_in_changeset(engine, srv_asset_at(engine, w->asset)->root);
	if (w->asset == HOB_NONE)
		return has_seen_all(engine, w) && !srv_engine_is_behind(engine) && all_idle(engine, w) &&
			   !srv_engine_doubt_young(engine);
	if (srv_engine_spreads(engine) || srv_asset_at(engine, w->asset)->shown.view_due)
		return false;
	/* A preview is enough unless the request asks for the final cook. */
	return !is_busy(engine, w->asset) ||
		   (!w->final && srv_asset_shows_preview(&srv_asset_at(engine, w->asset)->life));
}

static void answer_waiter(void *user, const srv_waiter *w, srv_waiter_end end)
{
	if (end == SRV_WAITER_CLOSING)
		srv_control_answer(w->control, 503, "http.draining", "Hob is stopping");
	else if (w->control->kind == SRV_CONTROL_COOK)
		answer_cook(user, w->control);
	else if (w->asset != HOB_NONE)
		w->control->answer(w->control, 200, HOB_STR("{}"));
	else if (end == SRV_WAITER_DONE)
		answer_sync(user, w);
	else
		srv_control_answer(w->control, 504, "sync-timeout", "not everything was cooked in time");
}

void srv_engine_answer_waiters(srv_engine *engine)
{
	srv_waiter_calls calls = {engine, is_done, answer_waiter};
	if (engine->requests->waiters.count > 0)
		srv_waiters_check(&engine->requests->waiters, uv_now(engine->loop), engine->closing, &calls);
}

static void control_wait(srv_engine *engine, srv_control *control)
{
	asset *a = asked_asset(engine, control);
	if (!a)
		return;
	uint32_t id = a->id;
	srv_engine_leave(engine, id);
	if (!control->force)
		srv_job_show_soon(srv_engine_job(a->life.job));
	srv_engine_raise(engine, id, SRV_PRIORITY_INTERACTIVE);
	wait_for_asset(engine, control, id);
	srv_engine_stir(engine);
}

/* ---- messages from the HTTP thread */

static void (*const answers[SRV_CONTROL_KINDS])(srv_engine *engine, srv_control *control) = {
	[SRV_CONTROL_COOK] = control_cook,
	[SRV_CONTROL_WAIT] = control_wait,
	[SRV_CONTROL_SYNC] = wait_for_all,
	[SRV_CONTROL_JOBS_LIVE] = srv_engine_list_jobs,
	[SRV_CONTROL_JOB_LIVE] = srv_engine_tell_job,
	[SRV_CONTROL_CANCEL] = srv_engine_cancel_job,
	[SRV_CONTROL_RECORD] = srv_engine_answer_record,
	[SRV_CONTROL_RECORDS] = srv_engine_answer_records,
	[SRV_CONTROL_PULL] = srv_engine_pull,
	[SRV_CONTROL_RECORD_PUT] = srv_engine_take_record,
	[SRV_CONTROL_GC] = srv_engine_start_task,
	[SRV_CONTROL_VERIFY] = srv_engine_start_task,
};

static void dispatch(srv_engine *engine, srv_control *control)
{
	assert(control->kind < SRV_CONTROL_FIRST_QUESTION);
	if (engine->closing)
		srv_control_answer(control, 503, "http.draining", "Hob is stopping");
	else if (answers[control->kind])
		answers[control->kind](engine, control);
	else if (!srv_derive_take(engine->derive, control))
		assert(false && "a question for another thread");
}

static void post(void *user, srv_control *control)
{
	srv_engine *engine = user;
	struct engine_requests *requests = engine->requests;
	uv_mutex_lock(&requests->lock);
	bool kept = HOB_ROOM(requests->posted, requests->capacity, requests->count);
	if (kept)
		requests->posted[requests->count++] = control;
	uv_mutex_unlock(&requests->lock);
	if (kept)
		uv_async_send(&requests->wake);
	else
		srv_control_answer(control, 503, "internal", "no memory left to ask");
}

static void take_posted(uv_async_t *wake)
{
	srv_engine *engine = wake->data;
	struct engine_requests *requests = engine->requests;
	uv_mutex_lock(&requests->lock);
	srv_control **posted = requests->posted;
	uint32_t count = requests->count;
	requests->posted = NULL;
	requests->count = requests->capacity = 0;
	uv_mutex_unlock(&requests->lock);
	for (uint32_t i = 0; i < count; i++)
		dispatch(engine, posted[i]);
	free(posted);
}

srv_control_port srv_engine_port(srv_engine *engine)
{
	return (srv_control_port){engine, post};
}

/* ---- life */

struct engine_requests *srv_engine_requests_new(void)
{
	struct engine_requests *requests = calloc(1, sizeof *requests);
	if (requests)
		uv_mutex_init(&requests->lock);
	return requests;
}

void srv_engine_start_requests(srv_engine *engine)
{
	uv_async_init(engine->loop, &engine->requests->wake, take_posted);
	srv_engine_add_handle(engine, (uv_handle_t *)&engine->requests->wake);
}

void srv_engine_close_requests(srv_engine *engine)
{
	take_posted(&engine->requests->wake);
	srv_engine_answer_waiters(engine);
}

void srv_engine_requests_free(struct engine_requests *requests)
{
	if (!requests)
		return;
	srv_waiters_release(&requests->waiters);
	free(requests->posted);
	uv_mutex_destroy(&requests->lock);
	free(requests);
}
