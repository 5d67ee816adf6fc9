#include "engine_health.h"
#include "engine_publish.h"
#include "engine_root.h"
#include "engine_sources.h"
#include "engine_upkeep.h"

#include "../log/log.h"

#include <assert.h>
#include <stdlib.h>

/* Rebuilds a damaged index while the daemon serves from memory, and writes the engine's state again. */

enum { AGAIN_MS = 5000 };

static void store_assets(srv_engine *engine)
{
	for (uint32_t i = 0; i < engine->options.root_count; i++)
		srv_engine_store_root(engine, i);
	for (uint32_t i = 0; i < engine->assets->count; i++)
		if (srv_asset_is_alive(&srv_asset_at(engine, i)->life) && srv_asset_at(engine, i)->shown.rev > 0)
			srv_engine_store_asset(engine, srv_asset_at(engine, i));
	for (uint32_t i = 0; i < srv_graph_count(engine->graph); i++) {
		const srv_file *f = srv_graph_at(engine->graph, i);
		if (f->exists && f->has_digest)
			srv_engine_store_file(engine, i, srv_clock_ms(CLOCK_REALTIME));
	}
}

/* Cooks each asset again whose blobs or record are lost. Returns their number. */
static uint32_t cook_lost(srv_engine *engine)
{
	uint32_t count = 0;
	for (uint32_t i = 0; engine->sources->ready && i < engine->assets->count; i++) {
		asset *a = srv_asset_at(engine, i);
		if (!srv_asset_is_alive(&a->life) || !a->life.has_good || srv_engine_serves(engine, a))
			continue;
		count++;
		srv_asset_forget_last(a);
		srv_asset_dirty(engine, i, SRV_PRIORITY_BACKGROUND, "damaged-blob", (hob_str){0});
	}
	assert(count <= engine->assets->count);
	return count;
}

static bool keep_folders(srv_engine *engine)
{
	uint32_t made;
	size_t lost;
	hob_error error;
	if (uv_now(engine->loop) < engine->upkeep->heal_at)
		return false;
	if (!srv_store_keep_folders(engine->store, &made, &lost, &error)) {
		srv_log(SRV_LOG_ERROR, "cache", "%s", error.context);
		engine->upkeep->heal_at = uv_now(engine->loop) + AGAIN_MS;
		srv_engine_set_health(engine, ENGINE_HEALTH_INDEX, &error);
		return false;
	}
	if (made == 0)
		return true;
	srv_log(SRV_LOG_ERROR, "cache",
			"folders of it were removed while this daemon uses them; they were made again, %zu blob%s lost",
			lost, lost == 1 ? " is" : "s are");
	srv_engine_set_health(engine, ENGINE_HEALTH_INDEX, NULL);
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

/* Publishes each asset again whose view was made while its record could not be read. */
static void show_unread(srv_engine *engine)
{
	hob_error why;
	if (!srv_store_is_whole(engine->store, &why) || !srv_publish_take_unread(engine))
		return;
	for (uint32_t i = 0; i < engine->assets->count; i++) {
		asset *a = srv_asset_at(engine, i);
		if (!srv_asset_is_alive(&a->life) || !a->life.has_good || a->changeset.held > 0 ||
			hob_sha256_equal(&a->shown.served, &a->shown.good))
			continue;
		srv_asset_forget_last(a);
		srv_asset_dirty(engine, i, SRV_PRIORITY_BACKGROUND, "retry", (hob_str){0});
	}
}

void srv_engine_tell_rows(srv_engine *engine)
{
	show_unread(engine);
	hob_error why;
	bool owes = srv_store_owes(engine->store, &why);
	if (!owes && srv_engine_ill(engine, ENGINE_HEALTH_ROWS))
		srv_log(SRV_LOG_INFO, "store", "the index has every row again");
	srv_engine_set_health(engine, ENGINE_HEALTH_ROWS, owes ? &why : NULL);
	engine->publish.rows = true;
}

bool srv_engine_heal_index(srv_engine *engine)
{
	hob_error error;
	if (!srv_store_is_damaged(engine->store) || uv_now(engine->loop) < engine->upkeep->heal_at)
		return false;
	if (!srv_store_rebuild(engine->store, &error)) {
		srv_log(SRV_LOG_ERROR, "cache", "the index is damaged and cannot be rebuilt now: %s", error.context);
		engine->upkeep->heal_at = uv_now(engine->loop) + AGAIN_MS;
		srv_engine_set_health(engine, ENGINE_HEALTH_INDEX, &error);
		return false;
	}
	engine->counters.rebuilds++;
	srv_engine_set_health(engine, ENGINE_HEALTH_INDEX, NULL);
	uint32_t lost = cook_lost(engine);
	if (lost > 0)
		srv_log(SRV_LOG_WARNING, "cache",
				"the index was damaged and was rebuilt; %u asset%s cooked again, the history of jobs is lost",
				lost, lost == 1 ? " is" : "s are");
	else
		srv_log(SRV_LOG_WARNING, "cache",
				"the index was damaged and was rebuilt; nothing has to be cooked again, "
				"the history of jobs is lost");
	store_assets(engine);
	if (!srv_store_commit(engine->store, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	return true;
}

/* ---- blobs */

/* When blobs are damaged or missing: checks only the assets with these outputs. */

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(hob_sha256));
}

static hob_sha256 *take_damaged(srv_engine *engine, size_t *count)
{
	enum { AT_A_TIME = 256 };
	hob_sha256 *list = NULL;
	*count = 0;
	for (size_t more = AT_A_TIME; more == AT_A_TIME; *count += more) {
		hob_sha256 *bigger = realloc(list, (*count + AT_A_TIME) * sizeof *list);
		if (!bigger)
			break;
		list = bigger;
		more = srv_store_take_damaged(engine->store, list + *count, AT_A_TIME);
	}
	qsort(list, list ? *count : 0, sizeof *list, compare);
	return list;
}

static bool uses_one(const srv_view_asset *a, const hob_sha256 *damaged, size_t count)
{
	for (uint32_t i = 0; i < a->output_count; i++)
		if (bsearch(&a->outputs[i].digest, damaged, count, sizeof *damaged, compare))
			return true;
	return false;
}

void srv_engine_heal_blobs(srv_engine *engine)
{
	size_t count;
	hob_own hob_sha256 *damaged = take_damaged(engine, &count);
	uint32_t assets = 0;
	const srv_view *view = count > 0 ? srv_views_take(engine->views) : NULL;
	for (uint32_t i = 0; view && i < view->count; i++) {
		uint32_t id = srv_engine_asset_by_name(engine, view->assets[i]->full);
		if (id == HOB_NONE || !uses_one(view->assets[i], damaged, count))
			continue;
		asset *a = srv_asset_at(engine, id);
		assets++;
		if (srv_engine_root_is_away(engine, a->root))
			srv_asset_forget_last(a); /* checked when the root is back */
		else
			srv_asset_dirty(engine, id, SRV_PRIORITY_BACKGROUND, "damaged-blob", (hob_str){0});
	}
	assert(count > 0 || assets == 0);
	if (view)
		srv_view_drop(view);
	if (count > 0)
		srv_log(SRV_LOG_WARNING, "healing", "%zu blob%s damaged or gone; %u asset%s cooked again", count,
				count == 1 ? " was" : "s were", assets, assets == 1 ? " is" : "s are");
}
