#include "inside.h"

#include <stdlib.h>

#include "../../core/base/json_write.h"

/* GET /api/v1/assets/{id}/deps: the dependency graph around one asset, breadth first, each node once.
 * Outwards: the files that it is made from, and their files if they are assets themselves. Inwards: the
 * assets that are made from it. */

enum { DEPTH_MAX = 32, ITEMS_MAX = 10000 };

typedef struct found {
	const srv_view_asset *asset; /* NULL: a file that is not an asset */
	const srv_view_dep *dep;	 /* outwards: the dependency */
	hob_str root, path;
	uint32_t depth, via; /* `via`: index of the item that led to this one */
} found;

typedef struct walk {
	const srv_view *view;
	found *items; /* the first is the asset itself */
	uint32_t count, room;
	bool cut;
} walk;

static bool has(const walk *w, hob_str root, hob_str path)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (hob_str_equal(w->items[i].path, path) && hob_str_equal(w->items[i].root, root))
			return true;
	return false;
}

static void add(walk *w, found item)
{
	if (has(w, item.root, item.path))
		return;
	if (w->count < ITEMS_MAX && HOB_ROOM(w->items, w->room, w->count))
		w->items[w->count++] = item;
	else
		w->cut = true;
}

static const srv_view_asset *asset_at(const srv_view *view, hob_str root, hob_str path)
{
	hob_own_buf full = {0};
	hob_buf_printf(&full, "%.*s/%.*s", HOB_FMT(root), HOB_FMT(path));
	return srv_view_find(view, hob_buf_str(&full));
}

static void add_made_of(walk *w, const srv_view_asset *asset, uint32_t depth, uint32_t via)
{
	for (uint32_t i = 0; i < asset->dep_count; i++)
		add(w, (found){asset_at(w->view, asset->root, asset->deps[i].path), &asset->deps[i], asset->root,
					   asset->deps[i].path, depth, via});
}

static bool depends_on(const srv_view_asset *asset, const srv_view_asset *target)
{
	for (uint32_t i = 0; i < asset->dep_count; i++)
		if (hob_str_equal(asset->deps[i].path, target->path))
			return hob_str_equal(asset->root, target->root);
	return false;
}

static void add_users(walk *w, const srv_view_asset *target, uint32_t depth, uint32_t via)
{
	for (uint32_t i = 0; i < w->view->count; i++) {
		const srv_view_asset *a = w->view->assets[i];
		if (depends_on(a, target))
			add(w, (found){a, NULL, a->root, a->path, depth, via});
	}
}

static void put_found(hob_buf *out, const walk *w, const found *item, bool in)
{
	const found *via = &w->items[item->via];
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("path", item->path), HOB_JSON("root", item->root),
				 HOB_JSON("depth", item->depth), HOB_JSON_OPEN("via", '{'), HOB_JSON("root", via->root),
				 HOB_JSON("path", via->path), HOB_JSON_CLOSE('}'),
				 HOB_JSON_SOME("id", hob_str_of(item->asset ? item->asset->id : "")));
	if (item->asset)
		hob_json_put(out, HOB_JSON("state", srv_state_name(item->asset->state)),
					 HOB_JSON("standing", srv_standing_name(item->asset->standing)));
	if (!in) {
		hob_json_put(out, HOB_JSON_BOOL("missing", item->dep->missing),
					 HOB_JSON_DIGEST("hash", &item->dep->digest));
	}
	hob_json_close(out, '}');
}

enum MHD_Result srv_route_asset_deps(request *r)
{
	uint64_t depth;
	walk w = {.view = srv_request_view(r)};
	hob_str direction = HOB_STR("out");
	srv_request_param(r, "direction", &direction);
	bool in = hob_str_equal(direction, HOB_STR("in"));
	if (!in && !hob_str_equal(direction, HOB_STR("out")))
		return srv_reply_problem(r, PROBLEM_BAD_REQUEST, "out: what it is made of; in: what is made of it",
								 "'direction=%.*s' is neither in nor out", HOB_FMT(direction));
	const srv_view_asset *asset =
		srv_request_number(r, "depth", 1, DEPTH_MAX, 1, &depth) ? srv_request_asset(r) : NULL;
	if (!asset)
		return r->result;
	add(&w, (found){asset, NULL, asset->root, asset->path, 0, 0});
	for (uint32_t i = 0; i < w.count; i++) {
		const found at = w.items[i];
		if (at.asset && at.depth < depth)
			(in ? add_users : add_made_of)(&w, at.asset, at.depth + 1, i);
	}
	hob_buf body = {0};
	hob_json_put(&body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("id", asset->id), HOB_JSON("direction", direction),
				 HOB_JSON_OPEN("items", '['));
	for (uint32_t i = 1; i < w.count; i++)
		put_found(&body, &w, &w.items[i], in);
	hob_json_put(&body, HOB_JSON_CLOSE(']'), HOB_JSON_BOOL("truncated", w.cut), HOB_JSON_CLOSE('}'));
	free(w.items);
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}
