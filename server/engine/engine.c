#include "engine_changeset.h"
#include "engine_exchange.h"
#include "engine_health.h"
#include "engine_move.h"
#include "engine_publish.h"
#include "engine_requests.h"
#include "engine_root.h"
#include "engine_sources.h"
#include "engine_turn.h"
#include "engine_upkeep.h"

#include "../../core/base/limits.h"
#include "../log/log.h"

#include <assert.h>
#include <stdlib.h>

/* The engine's life cycle: creates the owners of its state, calls them once a second, and closes when it is
 * idle. */

enum { SECOND_MS = 1000 };

static void on_second(uv_timer_t *timer)
{
	srv_engine *engine = timer->data;
	if (engine->closing) /* assets still point to freed jobs */
		return;
	assert(engine->counters.running == engine->jobs->in_stage[SRV_JOB_COOK]);
	srv_engine_heal_blobs(engine);
	srv_engine_keep_store(engine);
	srv_engine_sweep(engine);
	srv_engine_keep_moves(engine);
	srv_engine_raise_used(engine);
	srv_publish_log_second(engine);
	srv_engine_stir(engine);
	srv_derive_draw(engine->derive);
}

/* ---- begin */

void srv_engine_free(srv_engine *engine)
{
	if (!engine)
		return;
	srv_engine_assets_free(engine->assets);
	srv_engine_sources_free(engine->sources);
	srv_engine_roots_free(engine->roots);
	srv_engine_exchange_free(engine->exchange);
	srv_engine_jobs_free(engine->jobs);
	srv_graph_free(engine->graph);
	srv_derive_free(engine->derive);
	srv_engine_changesets_free(engine->changesets);
	srv_engine_turn_free(engine->turn);
	srv_engine_moves_free(engine->moves);
	srv_engine_publishing_free(engine->publishing);
	srv_publish_release(&engine->publish);
	srv_engine_requests_free(engine->requests);
	srv_engine_health_free(engine->health);
	srv_engine_upkeep_free(engine->upkeep);
	hob_arena_release(&engine->scratch);
	free(engine);
}

/* The engine, and those of its owners that are plain memory. */
typedef struct whole {
	srv_engine engine;
	struct engine_life life;
	struct engine_turn turn;
	struct engine_assets assets;
	struct engine_publishing publishing;
	struct engine_exchange exchange;
	struct engine_upkeep upkeep;
} whole;

static bool make_owners(whole *w)
{
	srv_engine *engine = &w->engine;
	const srv_engine_options *options = &engine->options;
	engine->life = &w->life;
	engine->turn = &w->turn;
	engine->assets = &w->assets;
	engine->publishing = &w->publishing;
	engine->exchange = &w->exchange;
	engine->upkeep = &w->upkeep;
	engine->graph = srv_graph_new();
	engine->jobs = srv_engine_jobs_new();
	engine->roots = srv_engine_roots_new(options);
	engine->sources = srv_engine_sources_new(options->root_count);
	engine->moves = srv_engine_moves_new();
	engine->changesets = srv_engine_changesets_new(options);
	engine->requests = srv_engine_requests_new();
	engine->health = srv_engine_health_new();
	engine->derive = srv_engine_derive_new(engine);
	hob_arena_init(&engine->scratch, 64 << 20);
	hob_arena_alloc(&engine->scratch, 1, 1);
	return engine->graph && engine->jobs && engine->roots && engine->sources && engine->moves &&
		   engine->changesets && engine->requests && engine->health && engine->derive;
}

bool srv_engine_new(uv_loop_t *loop, const srv_engine_options *options, srv_store *store, srv_events *events,
					srv_views *views, const srv_engine_callbacks *callbacks, srv_engine **out, hob_error *err)
{
	whole *w = calloc(1, sizeof *w);
	if (!w)
		return hob_fail(err, MEMORY, "no memory left for the engine");
	srv_engine *engine = &w->engine;
	engine->loop = loop;
	engine->options = *options;
	if (engine->options.pool.source_limit == 0)
		engine->options.pool.source_limit = HOB_LIMIT_SOURCE_BYTES;
	engine->store = engine->publish.store = store;
	if (!options->batch)
		srv_store_owe(store);
	engine->publish.events = events;
	engine->views = views;
	bool memory = make_owners(w) || hob_fail(err, MEMORY, "no memory left for the engine");
	if (!memory || !srv_engine_open_roots(engine, err) || !srv_engine_start_workers(engine, err)) {
		srv_engine_free(engine);
		return false;
	}
	engine->life->callbacks = *callbacks;
	bool asks = srv_engine_start_exchange(engine, err);
	srv_engine_start_turns(engine);
	srv_engine_start_requests(engine);
	srv_engine_start_maps(engine);
	srv_engine_start_changesets(engine);
	uv_timer_init(loop, &engine->life->timer);
	srv_engine_add_handle(engine, (uv_handle_t *)&engine->life->timer);
	if (!options->batch)
		uv_timer_start(&engine->life->timer, on_second, SECOND_MS, SECOND_MS);
	engine->publish.view = true;
	*out = engine;
	/* The watch scans and the first worker starts while this thread reads the index. */
	srv_engine_look_at_machine(engine);
	return asks &&
		   (options->batch || (srv_engine_start_watching(engine, err) && srv_engine_load(engine, err)));
}

/* ---- end */

void srv_engine_close(srv_engine *engine, void (*done)(void *user), void *user)
{
	if (!engine->options.batch) {
		srv_engine_publish_held(engine);
		srv_engine_flush(engine);
		srv_publish_log_second(engine);
	}
	engine->life->closed = done;
	engine->life->closed_user = user;
	engine->closing = true;
	srv_engine_close_requests(engine);
	srv_engine_stop_tasks(engine);
	srv_engine_close_jobs(engine);
	srv_engine_close_exchange(engine);
	srv_engine_close_watch(engine);
	srv_engine_close_workers(engine);
}

void srv_engine_set_settings(srv_engine *engine, const hob_settings *settings)
{
	srv_engine_replace_settings(engine, settings);
	engine->publish.view = true;
	for (uint32_t i = 0; i < engine->assets->count; i++)
		if (srv_asset_is_alive(&srv_asset_at(engine, i)->life) &&
			!srv_asset_is_current(engine, srv_asset_at(engine, i)))
			srv_asset_dirty(engine, i, SRV_PRIORITY_BACKGROUND, "settings", HOB_STR("hob.json"));
	srv_engine_stir(engine);
}

srv_engine_counters *srv_engine_count(srv_engine *engine)
{
	return &engine->counters;
}
