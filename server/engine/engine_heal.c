#include "engine_private.h"

#include "../log/log.h"

/* The index proved damaged. It is made anew while the daemon serves from memory, and what the engine knows is written again. */

enum { AGAIN_MS = 5000 };

static void store_assets(srv_engine *engine)
{
	for (uint32_t i = 0; i < engine->asset_count; i++)
		if (engine->assets[i].alive && engine->assets[i].rev > 0)
			engine_store_asset(engine, &engine->assets[i]);
	for (uint32_t i = 0; i < srv_graph_count(engine->graph); i++) {
		const srv_file *f = srv_graph_at(engine->graph, i);
		if (f->exists && f->has_digest)
			engine_store_file(engine, i, engine_now_ms());
	}
}

bool engine_heal_index(srv_engine *engine)
{
	hob_error error;
	if (!srv_store_is_damaged(engine->store) || uv_now(engine->loop) < engine->heal_at)
		return false;
	if (!srv_store_rebuild(engine->store, &error)) {
		srv_log(SRV_LOG_ERROR, "cache", "the index is damaged and cannot be rebuilt now: %s", error.context);
		engine->heal_at = uv_now(engine->loop) + AGAIN_MS;
		return false;
	}
	engine->counters.rebuilds++;
	srv_log(
		SRV_LOG_WARNING, "cache",
		"the index was damaged and was rebuilt; nothing has to be cooked again, the history of jobs is lost");
	store_assets(engine);
	if (!srv_store_commit(engine->store, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	return true;
}
