#include "engine_private.h"

#include "../log/log.h"

/* The index proved damaged. It is made anew while the daemon serves from memory, and what the engine knows is written again. */

enum { AGAIN_MS = 5000 };

static void store_assets(srv_engine *engine)
{
	for (uint32_t i = 0; i < engine->options.root_count; i++)
		engine_store_root(engine, i);
	for (uint32_t i = 0; i < engine->asset_count; i++)
		if (engine->assets[i].alive && engine->assets[i].rev > 0)
			engine_store_asset(engine, &engine->assets[i]);
	for (uint32_t i = 0; i < srv_graph_count(engine->graph); i++) {
		const srv_file *f = srv_graph_at(engine->graph, i);
		if (f->exists && f->has_digest)
			engine_store_file(engine, i, engine_now_ms());
	}
}

static void tell_trouble(srv_engine *engine, const hob_error *why)
{
	uv_mutex_lock(&engine->post_lock);
	engine->index_trouble = *why;
	uv_mutex_unlock(&engine->post_lock);
}

void srv_engine_index_trouble(void *user, hob_buf *out)
{
	srv_engine *engine = user;
	uv_mutex_lock(&engine->post_lock);
	if (engine->index_trouble.code != HOB_ERR_OK)
		hob_buf_printf(out, "it is damaged or gone and cannot be made anew: %s",
					   engine->index_trouble.context);
	uv_mutex_unlock(&engine->post_lock);
}

void engine_look_for_index(srv_engine *engine)
{
	if (srv_store_is_damaged(engine->store) || srv_store_has_index(engine->store))
		return;
	srv_log(SRV_LOG_ERROR, "cache", "index.db was removed or replaced while this daemon uses it");
	engine_heal_index(engine);
}

bool engine_heal_index(srv_engine *engine)
{
	hob_error error;
	if (!srv_store_is_damaged(engine->store) || uv_now(engine->loop) < engine->heal_at)
		return false;
	if (!srv_store_rebuild(engine->store, &error)) {
		srv_log(SRV_LOG_ERROR, "cache", "the index is damaged and cannot be rebuilt now: %s", error.context);
		engine->heal_at = uv_now(engine->loop) + AGAIN_MS;
		tell_trouble(engine, &error);
		return false;
	}
	engine->counters.rebuilds++;
	tell_trouble(engine, &(hob_error){0});
	srv_log(
		SRV_LOG_WARNING, "cache",
		"the index was damaged and was rebuilt; nothing has to be cooked again, the history of jobs is lost");
	store_assets(engine);
	if (!srv_store_commit(engine->store, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	return true;
}
