#include "store_internal.h"

#include <stdlib.h>

/* ---- writing */

static bool put_recipe_row(srv_store *store, const srv_recipe *recipe, uint64_t *id, hob_error *err)
{
	sqlite3_stmt *row = srv_store_write(store, SQL_PUT_RECIPE, err);
	if (!row)
		return false;
	srv_store_bind_digest(row, 1, &recipe->key);
	srv_store_bind_digest(row, 2, &recipe->lookup);
	srv_store_bind_digest(row, 3, &recipe->source);
	srv_store_bind_str(row, 4, recipe->file_name);
	srv_store_bind_str(row, 5, recipe->ingredients);
	srv_store_bind_str(row, 6, recipe->stats);
	srv_store_bind_str(row, 7, recipe->error);
	srv_store_bind_u64(row, 8, recipe->warnings);
	srv_store_bind_u64(row, 9, recipe->cook_ns);
	srv_store_bind_u64(row, 10, recipe->peak_bytes);
	srv_store_bind_u64(row, 11, (uint64_t)recipe->cooked_at_ms);
	srv_store_bind_u64(row, 12, srv_store_now_s(store));
	srv_store_bind_u64(row, 13, recipe->dep_count);
	srv_store_bind_u64(row, 14, recipe->output_count);
	bool ok;
	while (srv_store_step(store, row, &ok, err))
		*id = srv_store_column_u64(row, 0);
	return ok;
}

static bool clear_rows(srv_store *store, store_statement which, uint64_t recipe, hob_error *err)
{
	sqlite3_stmt *row = srv_store_write(store, which, err);
	if (!row)
		return false;
	srv_store_bind_u64(row, 1, recipe);
	return srv_store_run(store, row, err);
}

static bool put_deps(srv_store *store, uint64_t id, const srv_recipe *recipe, hob_error *err)
{
	for (uint32_t i = 0; i < recipe->dep_count; i++) {
		const srv_recipe_dep *dep = &recipe->deps[i];
		sqlite3_stmt *row = srv_store_write(store, SQL_PUT_DEP, err);
		if (!row)
			return false;
		srv_store_bind_u64(row, 1, id);
		srv_store_bind_u64(row, 2, i);
		srv_store_bind_str(row, 3, dep->path);
		if (!dep->missing)
			srv_store_bind_digest(row, 4, &dep->digest);
		if (!srv_store_run(store, row, err))
			return false;
	}
	return true;
}

static bool put_outputs(srv_store *store, uint64_t id, const srv_recipe *recipe, hob_error *err)
{
	for (uint32_t i = 0; i < recipe->output_count; i++) {
		const srv_recipe_output *output = &recipe->outputs[i];
		sqlite3_stmt *row = srv_store_write(store, SQL_PUT_OUTPUT, err);
		if (!row)
			return false;
		srv_store_bind_u64(row, 1, id);
		srv_store_bind_u64(row, 2, i);
		srv_store_bind_str(row, 3, output->name);
		srv_store_bind_digest(row, 4, &output->digest);
		srv_store_bind_u64(row, 5, output->size);
		if (!srv_store_run(store, row, err))
			return false;
	}
	return true;
}

bool srv_store_has_recipe(srv_store *store, const hob_sha256 *key, bool *found, hob_error *err)
{
	sqlite3_stmt *row = srv_store_read(store, SQL_HAS_RECIPE, err);
	bool ok = false;
	*found = false;
	if (row)
		srv_store_bind_digest(row, 1, key);
	while (row && srv_store_step(store, row, &ok, err))
		*found = true;
	return ok;
}

bool srv_store_recipe_put_rows(srv_store *store, const srv_recipe *recipe, hob_error *err)
{
	uint64_t id = 0;
	bool known;
	if (!srv_store_has_recipe(store, &recipe->key, &known, err) || !put_recipe_row(store, recipe, &id, err))
		return false;
	if (!known)
		atomic_fetch_add(&store->recipe_count, 1);
	else if (!clear_rows(store, SQL_CLEAR_DEPS, id, err) || !clear_rows(store, SQL_CLEAR_OUTPUTS, id, err))
		return false;
	return put_deps(store, id, recipe, err) && put_outputs(store, id, recipe, err);
}

bool srv_store_put_recipe(srv_store *store, const srv_recipe *recipe, hob_error *err)
{
	const hob_sha256 *digests = recipe->output_count > 0 ? &recipe->outputs[0].digest : NULL;
	return srv_store_blobs_name(store, digests, sizeof *recipe->outputs, recipe->output_count, err) &&
		   srv_store_mark(store, err) && srv_store_copy_put(store, recipe, err) &&
		   srv_store_recipe_put_rows(store, recipe, err);
}

bool srv_store_add_outputs(srv_store *store, const hob_sha256 *key, const srv_recipe_output *outputs,
						   uint32_t count, hob_error *err)
{
	hob_arena arena;
	srv_recipe recipe;
	hob_arena_init(&arena, SIZE_MAX);
	bool ok = srv_store_recipe(store, key, &arena, &recipe, err);
	if (ok) {
		srv_recipe_output *all = HOB_NEW(&arena, srv_recipe_output, recipe.output_count + count);
		ok = all || hob_fail_memory(err, &arena, "the outputs of a recipe");
		if (ok && recipe.output_count > 0)
			memcpy(all, recipe.outputs, recipe.output_count * sizeof *all);
		recipe.outputs = all;
	}
	for (uint32_t i = 0; ok && i < count; i++) {
		uint32_t at = 0;
		while (at < recipe.output_count && !hob_str_equal(recipe.outputs[at].name, outputs[i].name))
			at++;
		recipe.outputs[at] = outputs[i];
		if (at == recipe.output_count)
			recipe.output_count++;
	}
	ok = ok && srv_store_put_recipe(store, &recipe, err);
	hob_arena_release(&arena);
	return ok;
}

bool srv_store_delete_recipe(srv_store *store, const hob_sha256 *key, hob_error *err)
{
	bool known;
	if (!srv_store_has_recipe(store, key, &known, err))
		return false;
	if (!known)
		return true;
	sqlite3_stmt *row = srv_store_write(store, SQL_DELETE_RECIPE, err);
	if (!row)
		return false;
	srv_store_bind_digest(row, 1, key);
	if (!srv_store_run(store, row, err))
		return false;
	atomic_fetch_sub(&store->recipe_count, 1);
	srv_digest_map_remove(&store->used_recipes, key);
	srv_store_copy_remove(store, key);
	return true;
}

/* ---- reading */

static bool copy_str(hob_arena *arena, sqlite3_stmt *row, int column, hob_str *out)
{
	*out = hob_arena_str(arena, srv_store_column_str(row, column));
	return out->data;
}

static bool copy_recipe(hob_arena *arena, sqlite3_stmt *row, srv_recipe *out)
{
	out->key = srv_store_column_digest(row, 1);
	out->lookup = srv_store_column_digest(row, 2);
	out->source = srv_store_column_digest(row, 3);
	out->warnings = (uint32_t)srv_store_column_u64(row, 8);
	out->cook_ns = srv_store_column_u64(row, 9);
	out->peak_bytes = srv_store_column_u64(row, 10);
	out->cooked_at_ms = (int64_t)srv_store_column_u64(row, 11);
	return copy_str(arena, row, 4, &out->file_name) && copy_str(arena, row, 5, &out->ingredients) &&
		   copy_str(arena, row, 6, &out->stats) && copy_str(arena, row, 7, &out->error);
}

/* Makes room for one more in an array of the arena; the old array stays in the arena. */
static void *one_more(hob_arena *arena, void *items, uint32_t count, size_t size)
{
	if (items && (count & (count - 1)) != 0)
		return items;
	void *bigger = hob_arena_array(arena, count ? (size_t)count * 2 : 1, size, _Alignof(max_align_t));
	if (bigger && count > 0)
		memcpy(bigger, items, count * size);
	return bigger;
}

static bool read_deps(srv_store *store, uint64_t id, hob_arena *arena, srv_recipe *recipe, hob_error *err)
{
	sqlite3_stmt *row = srv_store_read(store, SQL_DEPS, err);
	bool ok = false;
	if (row)
		srv_store_bind_u64(row, 1, id);
	while (row && srv_store_step(store, row, &ok, err)) {
		recipe->deps = one_more(arena, recipe->deps, recipe->dep_count, sizeof *recipe->deps);
		srv_recipe_dep *dep = recipe->deps ? &recipe->deps[recipe->dep_count++] : NULL;
		if (!dep || !copy_str(arena, row, 0, &dep->path)) {
			srv_store_end(row);
			return hob_fail_memory(err, arena, "a recipe");
		}
		dep->missing = sqlite3_column_type(row, 1) == SQLITE_NULL;
		dep->digest = srv_store_column_digest(row, 1);
	}
	return ok;
}

static bool read_outputs(srv_store *store, uint64_t id, hob_arena *arena, srv_recipe *recipe, hob_error *err)
{
	sqlite3_stmt *row = srv_store_read(store, SQL_OUTPUTS, err);
	bool ok = false;
	if (row)
		srv_store_bind_u64(row, 1, id);
	while (row && srv_store_step(store, row, &ok, err)) {
		recipe->outputs = one_more(arena, recipe->outputs, recipe->output_count, sizeof *recipe->outputs);
		srv_recipe_output *output = recipe->outputs ? &recipe->outputs[recipe->output_count++] : NULL;
		if (!output || !copy_str(arena, row, 0, &output->name)) {
			srv_store_end(row);
			return hob_fail_memory(err, arena, "a recipe");
		}
		output->digest = srv_store_column_digest(row, 1);
		output->size = srv_store_column_u64(row, 2);
	}
	return ok;
}

static void note_use(srv_store *store, const hob_sha256 *key, uint32_t used_at_s)
{
	bool fresh;
	if (store->writer)
		return;
	if (srv_store_now_s(store) - used_at_s < STORE_USE_STEP_S)
		return;
	uint32_t *when = srv_digest_map_put(&store->used_recipes, key, &fresh);
	if (when)
		*when = srv_store_now_s(store);
}

/* A recipe that lost some of its rows is not the one that was written. -1: from before the counts existed. */
static bool is_whole(srv_store *store, sqlite3_stmt *row, int counts, const srv_recipe *recipe,
					 hob_error *err)
{
	int deps = sqlite3_column_int(row, counts), outputs = sqlite3_column_int(row, counts + 1);
	if ((deps < 0 || (uint32_t)deps == recipe->dep_count) &&
		(outputs < 0 || (uint32_t)outputs == recipe->output_count))
		return true;
	srv_store_mark_damaged(store);
	return hob_fail(err, CORRUPT,
					"index.db is damaged (a record lost rows); it is rebuilt from the copies of its records");
}

static bool select_recipes(srv_store *store, store_statement which, const hob_sha256 *digest,
						   hob_arena *arena, srv_recipe **out, uint32_t *count, hob_error *err)
{
	srv_recipe *recipes = NULL;
	uint32_t found = 0;
	bool ok = false;
	sqlite3_stmt *row = srv_store_read(store, which, err);
	if (row)
		srv_store_bind_digest(row, 1, digest);
	while (row && srv_store_step(store, row, &ok, err)) {
		recipes = one_more(arena, recipes, found, sizeof *recipes);
		if (!recipes || !copy_recipe(arena, row, &recipes[found])) {
			srv_store_end(row);
			return hob_fail_memory(err, arena, "a recipe");
		}
		uint64_t id = srv_store_column_u64(row, 0);
		ok = read_deps(store, id, arena, &recipes[found], err) &&
			 read_outputs(store, id, arena, &recipes[found], err) &&
			 is_whole(store, row, 13, &recipes[found], err);
		if (!ok) {
			srv_store_end(row);
			return false;
		}
		note_use(store, &recipes[found++].key, (uint32_t)srv_store_column_u64(row, 12));
	}
	if (!ok)
		return false;
	*out = recipes;
	*count = found;
	return true;
}

bool srv_store_recipes(srv_store *store, const hob_sha256 *lookup, hob_arena *arena, srv_recipe **out,
					   uint32_t *count, hob_error *err)
{
	return select_recipes(store, SQL_RECIPES, lookup, arena, out, count, err);
}

bool srv_store_recipe(srv_store *store, const hob_sha256 *key, hob_arena *arena, srv_recipe *out,
					  hob_error *err)
{
	srv_recipe *found;
	uint32_t count;
	if (!select_recipes(store, SQL_RECIPE, key, arena, &found, &count, err))
		return false;
	if (count == 0) {
		char text[HOB_SHA256_TEXT + 1];
		hob_sha256_text(key, text);
		return hob_fail(err, NOT_FOUND, "no recipe has the key %s", text);
	}
	*out = found[0];
	return true;
}

/* ---- all of them */

typedef struct part_rows {
	sqlite3_stmt *row;
	bool there; /* the row that is next belongs to recipe `id` */
	uint64_t id;
} part_rows;

static bool next_part(srv_store *store, part_rows *parts, hob_error *err)
{
	bool ok;
	parts->there = srv_store_step(store, parts->row, &ok, err);
	parts->id = parts->there ? srv_store_column_u64(parts->row, 0) : 0;
	return ok;
}

/* Rows without a recipe are skipped: all three tables are in the order of its id. */
static bool skip_to(srv_store *store, part_rows *parts, uint64_t id, hob_error *err)
{
	while (parts->there && (int64_t)parts->id < (int64_t)id)
		if (!next_part(store, parts, err))
			return false;
	return true;
}

static bool take_deps(srv_store *store, part_rows *parts, uint64_t id, hob_arena *arena, srv_recipe *out,
					  hob_error *err)
{
	if (!skip_to(store, parts, id, err))
		return false;
	while (parts->there && parts->id == id) {
		out->deps = one_more(arena, out->deps, out->dep_count, sizeof *out->deps);
		srv_recipe_dep *dep = out->deps ? &out->deps[out->dep_count++] : NULL;
		if (!dep || !copy_str(arena, parts->row, 1, &dep->path))
			return hob_fail_memory(err, arena, "a recipe");
		dep->missing = sqlite3_column_type(parts->row, 2) == SQLITE_NULL;
		dep->digest = srv_store_column_digest(parts->row, 2);
		if (!next_part(store, parts, err))
			return false;
	}
	return true;
}

static bool take_outputs(srv_store *store, part_rows *parts, uint64_t id, hob_arena *arena, srv_recipe *out,
						 hob_error *err)
{
	if (!skip_to(store, parts, id, err))
		return false;
	while (parts->there && parts->id == id) {
		out->outputs = one_more(arena, out->outputs, out->output_count, sizeof *out->outputs);
		srv_recipe_output *output = out->outputs ? &out->outputs[out->output_count++] : NULL;
		if (!output || !copy_str(arena, parts->row, 1, &output->name))
			return hob_fail_memory(err, arena, "a recipe");
		output->digest = srv_store_column_digest(parts->row, 2);
		output->size = srv_store_column_u64(parts->row, 3);
		if (!next_part(store, parts, err))
			return false;
	}
	return true;
}

bool srv_store_each_recipe(srv_store *store, void (*each)(void *user, const srv_recipe *recipe), void *user,
						   hob_error *err)
{
	if (srv_store_has_start(store))
		return srv_store_start_recipes(store, each, user, err);
	hob_arena arena;
	part_rows deps = {.row = srv_store_read(store, SQL_EACH_DEP, err)},
			  outputs = {.row = srv_store_read(store, SQL_EACH_OUTPUT, err)};
	sqlite3_stmt *rows = srv_store_read(store, SQL_EACH_RECIPE, err);
	bool ok =
		deps.row && outputs.row && rows && next_part(store, &deps, err) && next_part(store, &outputs, err);
	hob_arena_init(&arena, SIZE_MAX);
	hob_arena_alloc(&arena, 1, 1); /* its first block stays */
	while (ok && srv_store_step(store, rows, &ok, err)) {
		hob_arena_mark mark = hob_arena_save(&arena);
		uint64_t id = srv_store_column_u64(rows, 0);
		srv_recipe recipe = {.key = srv_store_column_digest(rows, 1),
							 .lookup = srv_store_column_digest(rows, 2),
							 .source = srv_store_column_digest(rows, 3),
							 .file_name = srv_store_column_str(rows, 4),
							 .ingredients = srv_store_column_str(rows, 5),
							 .stats = srv_store_column_str(rows, 6),
							 .error = srv_store_column_str(rows, 7),
							 .warnings = (uint32_t)srv_store_column_u64(rows, 8),
							 .cook_ns = srv_store_column_u64(rows, 9),
							 .peak_bytes = srv_store_column_u64(rows, 10),
							 .cooked_at_ms = (int64_t)srv_store_column_u64(rows, 11)};
		ok = take_deps(store, &deps, id, &arena, &recipe, err) &&
			 take_outputs(store, &outputs, id, &arena, &recipe, err) &&
			 is_whole(store, rows, 12, &recipe, err);
		if (ok)
			each(user, &recipe);
		else
			srv_store_end(rows);
		hob_arena_restore(&arena, mark);
	}
	if (deps.row)
		srv_store_end(deps.row);
	if (outputs.row)
		srv_store_end(outputs.row);
	hob_arena_release(&arena);
	return ok;
}
