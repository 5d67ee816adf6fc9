#include "row.h"
#include "store_internal.h"

#include <stdlib.h>

/* ---- writing */

static bool put_recipe_row(srv_store *store, const srv_recipe *recipe, hob_str name, const hob_buf *stats,
						   const hob_buf *lists, hob_error *err)
{
	sqlite3_stmt *row = srv_store_write(store, SQL_PUT_RECIPE, err);
	if (!row)
		return false;
	srv_store_bind_digest(row, 1, &recipe->key);
	srv_store_bind_digest(row, 2, &recipe->lookup);
	srv_store_bind_digest(row, 3, &recipe->source);
	srv_store_bind_str(row, 4, recipe->file_name);
	srv_store_bind_str(row, 5, name);
	srv_store_bind_str(row, 6, hob_buf_str(stats));
	srv_store_bind_str(row, 7, recipe->error);
	srv_store_bind_u64(row, 8, recipe->warnings);
	srv_store_bind_u64(row, 9, recipe->cook_ns);
	srv_store_bind_u64(row, 10, recipe->peak_bytes);
	srv_store_bind_u64(row, 11, (uint64_t)recipe->cooked_at_ms);
	srv_store_bind_u64(row, 12, srv_store_now_s(store));
	srv_store_bind_str(row, 13, hob_buf_str(lists));
	return srv_store_run(store, row, err);
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
	hob_buf stats = {0}, lists = {0};
	uint8_t name[SRV_ROW_NAME];
	hob_str ingredients;
	bool known;
	srv_row_put_short(recipe->stats, &stats);
	srv_row_put_lists(recipe, &lists);
	bool ok = (!stats.failed && !lists.failed) || hob_fail(err, MEMORY, "no memory left for a recipe");
	ok = ok && srv_store_has_recipe(store, &recipe->key, &known, err) &&
		 srv_store_put_text(store, recipe->ingredients, name, &ingredients, err) &&
		 put_recipe_row(store, recipe, ingredients, &stats, &lists, err);
	if (ok && !known)
		atomic_fetch_add(&store->recipe_count, 1);
	hob_buf_release(&stats);
	hob_buf_release(&lists);
	return ok;
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

static bool is_damaged(srv_store *store, hob_error *err)
{
	srv_store_mark_damaged(store);
	return hob_fail(
		err, CORRUPT,
		"index.db is damaged (a record lost a part); it is rebuilt from the copies of its records");
}

/* Its texts are those of the row, of the store's table of texts or of the arena, until the next step. */
static bool take_recipe(srv_store *store, sqlite3_stmt *row, hob_arena *arena, srv_recipe *out,
						hob_error *err)
{
	*out = (srv_recipe){.key = srv_store_column_digest(row, 0),
						.lookup = srv_store_column_digest(row, 1),
						.source = srv_store_column_digest(row, 2),
						.file_name = srv_store_column_str(row, 3),
						.error = srv_store_column_str(row, 6),
						.warnings = (uint32_t)srv_store_column_u64(row, 7),
						.cook_ns = srv_store_column_u64(row, 8),
						.peak_bytes = srv_store_column_u64(row, 9),
						.cooked_at_ms = (int64_t)srv_store_column_u64(row, 10)};
	return (srv_store_text(store, srv_store_column_str(row, 4), &out->ingredients) &&
			srv_row_take_short(srv_store_column_str(row, 5), arena, &out->stats) &&
			srv_row_take_lists(srv_store_column_str(row, 11), arena, out)) ||
		   is_damaged(store, err);
}

static bool keep_str(hob_arena *arena, hob_str *text)
{
	*text = hob_arena_str(arena, *text);
	return text->data;
}

static bool keep_recipe(hob_arena *arena, srv_recipe *recipe, hob_error *err)
{
	bool ok = keep_str(arena, &recipe->file_name) && keep_str(arena, &recipe->ingredients) &&
			  keep_str(arena, &recipe->stats) && keep_str(arena, &recipe->error);
	for (uint32_t i = 0; ok && i < recipe->dep_count; i++)
		ok = keep_str(arena, &recipe->deps[i].path);
	for (uint32_t i = 0; ok && i < recipe->output_count; i++)
		ok = keep_str(arena, &recipe->outputs[i].name);
	return ok || hob_fail_memory(err, arena, "a recipe");
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
		ok = recipes ? take_recipe(store, row, arena, &recipes[found], err) &&
						   keep_recipe(arena, &recipes[found], err)
					 : hob_fail_memory(err, arena, "a recipe");
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

bool srv_store_each_recipe(srv_store *store, void (*each)(void *user, const srv_recipe *recipe), void *user,
						   hob_error *err)
{
	hob_arena arena;
	sqlite3_stmt *rows = srv_store_read(store, SQL_EACH_RECIPE, err);
	bool ok = rows;
	hob_arena_init(&arena, SIZE_MAX);
	hob_arena_alloc(&arena, 1, 1); /* its first block stays */
	while (ok && srv_store_step(store, rows, &ok, err)) {
		hob_arena_mark mark = hob_arena_save(&arena);
		srv_recipe recipe;
		ok = take_recipe(store, rows, &arena, &recipe, err);
		if (ok)
			each(user, &recipe);
		else
			srv_store_end(rows);
		hob_arena_restore(&arena, mark);
	}
	hob_arena_release(&arena);
	return ok;
}
