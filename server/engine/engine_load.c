#include "engine_private.h"

#include <stdlib.h>

typedef struct loader {
	srv_engine *engine;
	hob_arena arena; /* rows are collected first: the statement must be over before others run */
	srv_asset_row *rows;
	uint32_t count, capacity;
} loader;

static uint32_t root_by_name(srv_engine *engine, hob_str name)
{
	for (uint32_t i = 0; i < engine->options.root_count; i++)
		if (hob_str_equal(engine->roots[i].name, name))
			return i;
	return HOB_NONE;
}

/* Not existing until a scan sees it; the digest counts if the scan finds the same version. */
static void load_file(void *user, const srv_file_row *row)
{
	loader *load = user;
	uint32_t root = root_by_name(load->engine, row->root);
	uint32_t file = root == HOB_NONE ? HOB_NONE : srv_graph_file(load->engine->graph, root, row->path);
	if (file == HOB_NONE)
		return;
	srv_file *f = srv_graph_at(load->engine->graph, file);
	f->stat = row->stat;
	f->digest = row->digest;
	f->has_digest = true;
}

static void collect_asset(void *user, const srv_asset_row *row)
{
	loader *load = user;
	if (root_by_name(load->engine, row->root) == HOB_NONE)
		return;
	if (load->count == load->capacity) {
		uint32_t capacity = load->capacity ? load->capacity * 2 : 256;
		srv_asset_row *rows = realloc(load->rows, capacity * sizeof *rows);
		if (!rows)
			return;
		load->rows = rows;
		load->capacity = capacity;
	}
	srv_asset_row *kept = &load->rows[load->count++];
	*kept = *row;
	kept->root = hob_arena_str(&load->arena, row->root);
	kept->path = hob_arena_str(&load->arena, row->path);
	kept->state = hob_arena_str(&load->arena, row->state);
	kept->error = hob_arena_str(&load->arena, row->error);
}

static bool is_zero(const hob_sha256 *digest)
{
	static const hob_sha256 zero;
	return hob_sha256_equal(digest, &zero);
}

static void load_inputs(srv_engine *engine, uint32_t id, const srv_recipe *recipe)
{
	asset *a = &engine->assets[id];
	hob_str dir = hob_path_dir(hob_str_of(a->path));
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	uint32_t *files = HOB_NEW(&arena, uint32_t, recipe->dep_count);
	a->inputs = calloc(recipe->dep_count + 1, sizeof *a->inputs);
	for (uint32_t i = 0; files && a->inputs && i < recipe->dep_count; i++) {
		hob_str path;
		if (!hob_path_join(&arena, dir, recipe->deps[i].path, &path, NULL))
			continue;
		uint32_t file = srv_graph_file(engine->graph, a->root, path);
		if (file == HOB_NONE)
			continue;
		files[a->input_count] = file;
		a->inputs[a->input_count++] = (asset_input){file, recipe->deps[i].missing, recipe->deps[i].digest};
	}
	a->has_last = files && srv_graph_set_deps(engine->graph, id, files, a->input_count);
	hob_arena_release(&arena);
}

static void load_asset(srv_engine *engine, const srv_asset_row *row)
{
	uint32_t file = srv_graph_file(engine->graph, root_by_name(engine, row->root), row->path);
	uint32_t id = file == HOB_NONE ? HOB_NONE : engine_add_asset(engine, file);
	if (id == HOB_NONE)
		return;
	asset *a = &engine->assets[id];
	hob_arena arena;
	hob_arena_init(&arena, 64 << 20);
	srv_recipe good = {0}, recipe = {0};
	hob_error error;
	if (!srv_state_parse(row->state, &a->settled))
		a->settled = SRV_QUEUED;
	a->alive = true;
	a->state = a->settled;
	a->rev = row->rev;
	a->cooked_at_ms = row->cooked_at_ms;
	hob_buf_put_str(&a->error, row->error);
	if (!is_zero(&row->good) && srv_store_recipe(engine->store, &row->good, &arena, &good, &error)) {
		a->has_good = true;
		a->good = row->good;
		a->good_is_preview = hob_ingredients_profile(good.ingredients) == HOB_PROFILE_PREVIEW;
		a->final_cook_ns = a->good_is_preview ? 0 : good.cook_ns;
	}
	bool same = a->has_good && hob_sha256_equal(&row->good, &row->last);
	if (same)
		recipe = good;
	if (same ||
		(!is_zero(&row->last) && srv_store_recipe(engine->store, &row->last, &arena, &recipe, &error))) {
		a->last = row->last;
		a->last_lookup = recipe.lookup;
		a->last_source = recipe.source;
		load_inputs(engine, id, &recipe);
		if (engine_limits_raised(engine, &recipe))
			a->has_last = false;
	}
	/* A row with wrong bytes names a blob that never was: the asset is looked at again. */
	if ((a->settled == SRV_FRESH || a->settled == SRV_STALE) && good.output_count == 0)
		a->has_last = false;
	for (uint32_t i = 0; i < good.output_count; i++)
		if (!srv_blob_known(engine->store, &good.outputs[i].digest))
			a->has_last = false;
	publish_view_of(engine, a, good);
	hob_arena_release(&arena);
}

/* One row was wrong, so none is trusted: everything found by the scan is hashed and finds its recipe again. */
static void forget_loaded(srv_engine *engine)
{
	for (uint32_t i = 0; i < srv_graph_count(engine->graph); i++)
		srv_graph_at(engine->graph, i)->has_digest = false;
	for (uint32_t i = 0; i < engine->asset_count; i++) {
		asset *a = &engine->assets[i];
		a->has_good = a->has_last = false;
		a->state = a->settled = SRV_QUEUED;
		hob_buf_clear(&a->error);
		publish_view_of(engine, a, (srv_recipe){0});
	}
}

bool engine_load(srv_engine *engine, hob_error *err)
{
	loader load = {.engine = engine};
	hob_arena_init(&load.arena, SIZE_MAX);
	srv_store_read_begin(engine->store);
	engine->rev = srv_store_last_rev(engine->store);
	engine->next_job = srv_store_last_job(engine->store);
	bool ok = srv_store_each_file(engine->store, load_file, &load, err) &&
			  srv_store_each_asset(engine->store, collect_asset, &load, err);
	for (uint32_t i = 0; ok && i < load.count; i++)
		load_asset(engine, &load.rows[i]);
	srv_store_read_end(engine->store);
	free(load.rows);
	hob_arena_release(&load.arena);
	if (srv_store_is_damaged(engine->store)) {
		forget_loaded(engine);
		ok = engine_heal_index(engine) ||
			 hob_fail(err, IO, "index.db is damaged and cannot be made anew; the log says why");
	}
	return ok;
}
