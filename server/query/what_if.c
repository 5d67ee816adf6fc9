#include "question.h"

#include "../../core/base/json_write.h"
#include "../settings/chain.h"

/* Lists the assets that a change of a file would cook again, by the files that their newest cooks read or
 * looked for. Nothing is cooked. Searches the dependencies of every asset of the file's root. */

enum { ITEMS_MAX = 10000 };

typedef struct what_if {
	const srv_view *view;
	const srv_view_root *root;
	hob_str path; /* path of the file below the root */
	bool exists;
	hob_buf items;
	uint32_t count, inputs, unknown; /* inputs: how many of `count` read the file as an input */
	uint64_t expected_ns;
} what_if;

static const srv_view_root *split_name(const question *q, hob_str full, hob_str *path)
{
	for (uint32_t r = 0; r < q->view->root_count; r++) {
		hob_str name = q->view->roots[r].name;
		if (hob_str_starts(full, name) && full.len > name.len + 1 && full.data[name.len] == '/') {
			*path = hob_str_sub(full, name.len + 1, full.len);
			return &q->view->roots[r];
		}
	}
	return NULL;
}

static bool reads(const srv_view_asset *asset, hob_str path)
{
	for (uint32_t i = 0; i < asset->dep_count; i++)
		if (hob_str_equal(asset->deps[i].path, path))
			return true;
	return false;
}

static void put_full(hob_buf *out, const srv_view_root *root, hob_str path)
{
	hob_buf_printf(out, "%.*s/%.*s", HOB_FMT(root->name), HOB_FMT(path));
}

/* Appends the asset in between, if the file is a dependency of it, and it is a dependency of this asset (a
 * part of a .merge file). */
static void put_part(what_if *w, const srv_view_asset *asset)
{
	hob_own_buf full = {0};
	for (uint32_t i = 0; i < asset->dep_count; i++) {
		hob_buf_clear(&full);
		put_full(&full, w->root, asset->deps[i].path);
		const srv_view_asset *part = srv_view_find(w->view, hob_buf_str(&full));
		if (!part || part == asset || !reads(part, w->path))
			continue;
		hob_json_str(&w->items, part->full);
		break;
	}
}

static void put_chain(what_if *w, const srv_view_asset *asset)
{
	hob_own_buf full = {0};
	put_full(&full, w->root, w->path);
	hob_json_put(&w->items, HOB_JSON_OPEN("chain", '['), HOB_JSON(NULL, hob_buf_str(&full)));
	put_part(w, asset);
	if (!hob_str_equal(asset->path, w->path))
		hob_json_str(&w->items, asset->full);
	hob_json_close(&w->items, ']');
}

static void add(what_if *w, const srv_view_asset *asset, const char *use)
{
	w->expected_ns += asset->expected_ns;
	if (w->count++ >= ITEMS_MAX)
		return;
	hob_json_put(&w->items, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("asset", asset->full),
				 HOB_JSON("id", asset->id), HOB_JSON("state", srv_state_name(asset->state)),
				 HOB_JSON("standing", srv_standing_name(asset->standing)), HOB_JSON("use", use),
				 HOB_JSON_MS("expected_ms", asset->expected_ns));
	put_chain(w, asset);
	hob_json_close(&w->items, '}');
}

static const char *use_of(const what_if *w, const srv_view_asset *asset)
{
	if (!hob_str_equal(asset->root, w->root->name))
		return NULL;
	if (hob_str_equal(asset->path, w->path))
		return "source";
	if (reads(asset, w->path))
		return "input";
	return srv_settings_reaches(w->path, asset->path) ? "settings" : NULL;
}

/* Adds first the assets that depend on the file, then those that its settings affect. */
static void add_all(what_if *w)
{
	static const hob_sha256 none;
	for (int settings = 0; settings < 2; settings++)
		for (uint32_t i = 0; i < w->view->count; i++) {
			const srv_view_asset *asset = w->view->assets[i];
			const char *use = use_of(w, asset);
			w->unknown += settings == 0 && hob_sha256_equal(&asset->last, &none);
			w->inputs += settings == 0 && use && strcmp(use, "input") == 0;
			if (use && (strcmp(use, "settings") == 0) == (settings == 1))
				add(w, asset, use);
		}
}

/* Why the list is empty or incomplete; "" if it is complete. */
static const char *explain(const what_if *w)
{
	bool model = srv_view_is_model(w->view, w->path);
	if (w->count > 0)
		return w->exists || w->inputs == 0 ? "" : "it is not there; these would be cooked when it appears";
	if (!w->exists && model)
		return "it is not there; a file of this name would be a new asset";
	if (!w->exists)
		return "there is no such file, and no cook looked for one";
	if (model)
		return "it is not an asset: left out by the folder's include or exclude, or not seen yet";
	return "no asset was cooked from it";
}

static void put_what_if(const what_if *w, hob_str file, hob_buf *body)
{
	hob_json_put(body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("file", file), HOB_JSON_BOOL("exists", w->exists),
				 HOB_JSON("count", w->count), HOB_JSON_BOOL("shared", w->inputs > 1),
				 HOB_JSON_MS("expected_ms", w->expected_ns), HOB_JSON("unknown", w->unknown),
				 HOB_JSON("explanation", explain(w)), HOB_JSON_LIST("assets", hob_buf_str(&w->items)),
				 HOB_JSON_CLOSE('}'));
}

int srv_query_what_if(question *q)
{
	hob_str path, file = q->control->text;
	hob_error error = {0};
	what_if w = {.view = q->view, .root = split_name(q, file, &path)};
	if (!w.root) {
		(void)hob_fail(&error, NOT_FOUND,
					   "'%.*s' is in no watched folder: name it as ROOT/PATH, with a root of "
					   "/api/v1/roots",
					   HOB_FMT(file));
		return srv_query_refuse(q, 404, "http.not-found", error.context);
	}
	hob_own_arena arena;
	hob_arena_init(&arena, 1 << 20);
	int status = 200;
	if (hob_path_join(&arena, (hob_str){0}, path, &w.path, &error)) {
		srv_stat stat;
		w.exists = srv_stat_path(w.root->folder, w.path, &stat);
		add_all(&w);
		put_what_if(&w, file, &q->body);
	} else {
		status = srv_query_refuse(q, 400, hob_err_name(error.code), error.context);
	}
	hob_buf_release(&w.items);
	return status;
}
