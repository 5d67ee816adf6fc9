#include "engine_private.h"

#include "../../core/base/json_write.h"

#include <stdlib.h>

/* What would be cooked again if a file changed, by what the newest cook of each asset read or looked for. Nothing is cooked. */

enum { ITEMS_MAX = 10000 };

typedef struct question {
	srv_engine *engine;
	uint32_t root, file; /* file: HOB_NONE when nobody knows it */
	hob_str path;
	bool exists;
	hob_arena arena;
	bool *listed; /* by asset */
	hob_buf items;
	uint32_t count, inputs; /* inputs: of the count, by whom it is read */
	uint64_t expected_ns;
} question;

static uint32_t split_name(const srv_engine *engine, hob_str full, hob_str *path)
{
	for (uint32_t r = 0; r < engine->options.root_count; r++) {
		hob_str name = engine->roots[r].name;
		if (hob_str_starts(full, name) && full.len > name.len + 1 && full.data[name.len] == '/') {
			*path = hob_str_sub(full, name.len + 1, full.len);
			return r;
		}
	}
	return HOB_NONE;
}

static bool uses(const srv_engine *engine, uint32_t user, uint32_t file)
{
	uint32_t count;
	const uint32_t *deps = srv_graph_deps(engine->graph, user, &count);
	for (uint32_t i = 0; i < count; i++)
		if (deps[i] == file)
			return true;
	return false;
}

static void put_name(question *q, hob_str path)
{
	hob_buf full = {0};
	hob_buf_printf(&full, "%.*s/%.*s", HOB_FMT(q->engine->roots[q->root].name), HOB_FMT(path));
	hob_json_str(&q->items, hob_buf_str(&full));
	hob_buf_release(&full);
}

/* Through another asset that is made of the file and that this one is made of: a part of a .merge file. */
static void put_chain(question *q, uint32_t id)
{
	srv_engine *engine = q->engine;
	uint32_t count;
	const uint32_t *deps = srv_graph_deps(engine->graph, id, &count);
	hob_json_key(&q->items, "chain");
	hob_json_open(&q->items, '[');
	put_name(q, q->path);
	for (uint32_t i = 0; q->file != HOB_NONE && i < count; i++) {
		uint32_t part = srv_graph_at(engine->graph, deps[i])->asset;
		if (part == HOB_NONE || part == id || !srv_asset_is_alive(&engine->assets[part].life) ||
			!uses(engine, part, q->file))
			continue;
		hob_json_str(&q->items, hob_str_of(engine->assets[part].full));
		break;
	}
	if (!hob_str_equal(hob_str_of(engine->assets[id].path), q->path))
		hob_json_str(&q->items, hob_str_of(engine->assets[id].full));
	hob_json_close(&q->items, ']');
}

static void add(question *q, uint32_t id, const char *use)
{
	const asset *a = &q->engine->assets[id];
	if (!srv_asset_is_alive(&a->life) || q->listed[id])
		return;
	q->listed[id] = true;
	q->expected_ns += srv_engine_expected_ns(q->engine, a);
	q->inputs += strcmp(use, "input") == 0;
	if (q->count++ >= ITEMS_MAX)
		return;
	char name[SRV_ASSET_ID + 1];
	srv_asset_id(hob_str_of(a->full), name);
	hob_json_open(&q->items, '{');
	hob_json_put_str(&q->items, "asset", hob_str_of(a->full));
	hob_json_put_str(&q->items, "id", hob_str_of(name));
	hob_json_put_str(&q->items, "state", hob_str_of(srv_state_name(srv_asset_public(&a->life))));
	hob_json_put_str(&q->items, "use", hob_str_of(use));
	hob_json_key(&q->items, "expected_ms");
	hob_buf_printf(&q->items, "%.3f", (double)srv_engine_expected_ns(q->engine, a) / 1e6);
	put_chain(q, id);
	hob_json_close(&q->items, '}');
}

static void add_users(question *q)
{
	if (q->file == HOB_NONE)
		return;
	uint32_t own = srv_graph_at(q->engine->graph, q->file)->asset, count;
	if (own != HOB_NONE)
		add(q, own, "source");
	const uint32_t *users = srv_graph_dependents(q->engine->graph, q->file, &count);
	for (uint32_t i = 0; i < count; i++)
		add(q, users[i], "input");
}

static void add_by_settings(question *q)
{
	for (uint32_t i = 0; i < q->engine->asset_count; i++)
		if (srv_engine_settings_reach(q->engine, q->root, q->path, i))
			add(q, i, "settings");
}

static uint32_t count_unknown(const srv_engine *engine)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < engine->asset_count; i++)
		count += srv_asset_is_alive(&engine->assets[i].life) && !engine->assets[i].has_last;
	return count;
}

/* Why the list is empty, or what it does not say; "" when it says everything. */
static const char *explain(const question *q)
{
	bool importer = srv_pool_importer_for(q->engine->pool, q->path) != NULL;
	if (q->count > 0)
		return q->exists || q->inputs == 0 ? "" : "it is not there; these would be cooked when it appears";
	if (!q->exists && importer)
		return "it is not there; a file of this name would be a new asset";
	if (!q->exists)
		return "there is no such file, and no cook looked for one";
	if (importer)
		return "it is not an asset: left out by the folder's include or exclude, or not seen yet";
	return "no asset was cooked from it";
}

static void answer(question *q, srv_control *control)
{
	hob_buf body = {0};
	hob_json_open(&body, '{');
	hob_json_put_str(&body, "file", control->text);
	hob_json_key(&body, "exists");
	hob_json_bool(&body, q->exists);
	hob_json_put_u64(&body, "count", q->count);
	hob_json_key(&body, "shared");
	hob_json_bool(&body, q->inputs > 1);
	hob_json_key(&body, "expected_ms");
	hob_buf_printf(&body, "%.3f", (double)q->expected_ns / 1e6);
	hob_json_put_u64(&body, "unknown", count_unknown(q->engine));
	hob_json_put_str(&body, "explanation", hob_str_of(explain(q)));
	hob_json_key(&body, "assets");
	hob_buf_printf(&body, "[%.*s]", HOB_FMT(hob_buf_str(&q->items)));
	hob_json_close(&body, '}');
	control->answer(control, 200, hob_buf_str(&body));
	hob_buf_release(&body);
}

void srv_engine_what_if(srv_engine *engine, srv_control *control)
{
	question q = {.engine = engine};
	hob_arena_init(&q.arena, 1 << 20);
	hob_str path;
	q.root = split_name(engine, control->text, &path);
	q.listed = calloc(engine->asset_count + 1, sizeof *q.listed);
	hob_error error = {0};
	if (q.root == HOB_NONE) {
		(void)hob_fail(&error, NOT_FOUND,
					   "'%.*s' is in no watched folder: name it as ROOT/PATH, with a root of "
					   "/api/v1/roots",
					   HOB_FMT(control->text));
		srv_engine_refuse(control, 404, &error);
	} else if (!q.listed) {
		srv_engine_answer(control, 503, "internal", "no memory left to look");
	} else if (!hob_path_join(&q.arena, (hob_str){0}, path, &q.path, &error)) {
		srv_engine_refuse(control, 400, &error);
	} else {
		srv_stat stat;
		q.file = srv_graph_find(engine->graph, q.root, q.path);
		q.exists = srv_stat_path(engine->root_fds[q.root], q.path, &stat);
		add_users(&q);
		add_by_settings(&q);
		answer(&q, control);
	}
	hob_buf_release(&q.items);
	hob_arena_release(&q.arena);
	free(q.listed);
}
