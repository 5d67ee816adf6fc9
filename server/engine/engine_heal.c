#include "engine_private.h"

#include "../log/log.h"

/* Rebuilds a damaged index while the daemon serves from memory, and writes the engine's state again. */

enum { AGAIN_MS = 5000 };

static void store_assets(srv_engine *engine)
{
	for (uint32_t i = 0; i < engine->options.root_count; i++)
		srv_engine_store_root(engine, i);
	for (uint32_t i = 0; i < engine->asset_count; i++)
		if (srv_asset_is_alive(&engine->assets[i].life) && engine->assets[i].rev > 0)
			srv_engine_store_asset(engine, &engine->assets[i]);
	for (uint32_t i = 0; i < srv_graph_count(engine->graph); i++) {
		const srv_file *f = srv_graph_at(engine->graph, i);
		if (f->exists && f->has_digest)
			srv_engine_store_file(engine, i, srv_engine_now_ms());
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
		hob_buf_printf(out, "it is damaged or missing and cannot be rebuilt: %s",
					   engine->index_trouble.context);
	uv_mutex_unlock(&engine->post_lock);
}

/* The record `good` is readable; whole: all of its blobs exist as well. */
static bool has_record(srv_engine *engine, const asset *a, bool whole)
{
	srv_recipe recipe;
	hob_error error;
	hob_arena_mark mark = hob_arena_save(&engine->scratch);
	bool found = srv_store_recipe(engine->store, &a->good, &engine->scratch, &recipe, &error);
	for (uint32_t i = 0; found && whole && i < recipe.output_count; i++)
		found = srv_blob_exists(engine->store, &recipe.outputs[i].digest);
	hob_arena_restore(&engine->scratch, mark);
	return found;
}

bool srv_engine_has_lost_recipe(srv_engine *engine, const asset *a)
{
	return a->life.has_good && !has_record(engine, a, false);
}

bool srv_engine_serves(srv_engine *engine, const asset *a)
{
	return a->life.has_good && has_record(engine, a, true);
}

/* Cooks each asset again whose blobs or record are lost. Returns their number. */
static uint32_t cook_lost(srv_engine *engine)
{
	uint32_t count = 0;
	for (uint32_t i = 0; engine->ready && i < engine->asset_count; i++) {
		asset *a = &engine->assets[i];
		if (!srv_asset_is_alive(&a->life) || !a->life.has_good || has_record(engine, a, true))
			continue;
		count++;
		a->has_last = false;
		srv_asset_dirty(engine, i, SRV_PRIORITY_BACKGROUND, "damaged-blob", (hob_str){0});
	}
	return count;
}

static bool keep_folders(srv_engine *engine)
{
	uint32_t made;
	size_t lost;
	hob_error error;
	if (uv_now(engine->loop) < engine->heal_at)
		return false;
	if (!srv_store_keep_folders(engine->store, &made, &lost, &error)) {
		srv_log(SRV_LOG_ERROR, "cache", "%s", error.context);
		engine->heal_at = uv_now(engine->loop) + AGAIN_MS;
		tell_trouble(engine, &error);
		return false;
	}
	if (made == 0)
		return true;
	srv_log(SRV_LOG_ERROR, "cache",
			"folders of it were removed while this daemon uses them; they were made again, %zu blob%s lost",
			lost, lost == 1 ? " is" : "s are");
	tell_trouble(engine, &(hob_error){0});
	if (srv_store_has_index(engine->store) && !srv_store_is_damaged(engine->store)) {
		uint32_t count = cook_lost(engine);
		srv_log(SRV_LOG_WARNING, "healing", "%u asset%s cooked again", count, count == 1 ? " is" : "s are");
	}
	return true;
}

void srv_engine_look_for_index(srv_engine *engine)
{
	if (!keep_folders(engine))
		return;
	if (srv_store_is_damaged(engine->store) || srv_store_has_index(engine->store))
		return;
	srv_log(SRV_LOG_ERROR, "cache", "index.db was removed or replaced while this daemon uses it");
	srv_engine_heal_index(engine);
}

bool srv_engine_heal_index(srv_engine *engine)
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
	uint32_t lost = cook_lost(engine);
	if (lost > 0)
		srv_log(SRV_LOG_WARNING, "cache",
				"the index was damaged and was rebuilt; %u asset%s cooked again, the history of jobs is lost",
				lost, lost == 1 ? " is" : "s are");
	else
		srv_log(
			SRV_LOG_WARNING, "cache",
			"the index was damaged and was rebuilt; nothing has to be cooked again, the history of jobs is "
			"lost");
	store_assets(engine);
	if (!srv_store_commit(engine->store, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	return true;
}
