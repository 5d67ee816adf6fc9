#include "engine_private.h"

#include "../log/log.h"

#include <stdlib.h>

/* When blobs are damaged or missing: checks only the assets that have them among their outputs. */

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
	hob_sha256 *damaged = take_damaged(engine, &count);
	uint32_t assets = 0;
	const srv_view *view = count > 0 ? srv_views_take(engine->views) : NULL;
	for (uint32_t i = 0; view && i < view->count; i++) {
		uint32_t id = srv_engine_asset_by_name(engine, view->assets[i]->full);
		if (id == HOB_NONE || !uses_one(view->assets[i], damaged, count))
			continue;
		asset *a = &engine->assets[id];
		assets++;
		if (srv_engine_root_is_away(engine, a->root))
			a->has_last = false; /* checked when the root is back */
		else
			srv_asset_dirty(engine, id, SRV_PRIORITY_BACKGROUND, "damaged-blob", (hob_str){0});
	}
	if (view)
		srv_view_drop(view);
	free(damaged);
	if (count > 0)
		srv_log(SRV_LOG_WARNING, "healing", "%zu blob%s damaged or gone; %u asset%s cooked again", count,
				count == 1 ? " was" : "s were", assets, assets == 1 ? " is" : "s are");
}
