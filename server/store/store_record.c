#include "record.h"
#include "row.h"
#include "store_internal.h"

/* ---- writing */

static bool put_record_row(srv_store *store, const srv_record *record, hob_str name, const hob_buf *stats,
						   const hob_buf *lists, hob_error *err)
{
	return srv_store_put_row(
		store, SQL_PUT_RECORD, err, BIND(&record->key), BIND(&record->lookup), BIND(&record->source),
		BIND(record->file_name), BIND(name), BIND(hob_buf_str(stats)), BIND(record->error),
		BIND(record->warnings), BIND(record->cook_ns), BIND(record->peak_bytes),
		BIND((uint64_t)record->cooked_at_ms), BIND(srv_store_now_s(store)), BIND(hob_buf_str(lists)));
}

bool srv_store_has_record(srv_store *store, const hob_sha256 *key, bool *found, hob_error *err)
{
	sqlite3_stmt *row = srv_store_select(store, SQL_HAS_RECORD, err, BIND(key));
	bool ok = true;
	*found = false;
	while (srv_store_step(store, row, &ok, err))
		*found = true;
	return ok;
}

bool srv_store_record_put_rows(srv_store *store, const srv_record *record, hob_error *err)
{
	hob_own_buf stats = {0}, lists = {0};
	uint8_t name[SRV_ROW_NAME];
	hob_str ingredients;
	bool known;
	srv_row_put_short(record->stats, &stats);
	srv_row_put_lists(record, &lists);
	bool ok = (!stats.failed && !lists.failed) || hob_fail(err, MEMORY, "no memory left for a record");
	ok = ok && srv_store_has_record(store, &record->key, &known, err) &&
		 srv_store_put_text(store, record->ingredients, name, &ingredients, err) &&
		 put_record_row(store, record, ingredients, &stats, &lists, err);
	if (ok && !known)
		atomic_fetch_add(&store->record_count, 1);
	return ok;
}

bool srv_store_put_record(srv_store *store, const srv_record *record, hob_error *err)
{
	const hob_sha256 *digests = record->output_count > 0 ? &record->outputs[0].digest : NULL;
	/* A missing copy matters only if the index is lost. */
	return srv_store_blobs_name(store, digests, sizeof *record->outputs, record->output_count, err) &&
		   srv_store_record_put_rows(store, record, err) && srv_store_copy_put(store, record, err);
}

bool srv_store_add_outputs(srv_store *store, const hob_sha256 *key, const srv_record_output *outputs,
						   uint32_t count, hob_error *err)
{
	hob_own_arena arena;
	srv_record record;
	hob_arena_init(&arena, SIZE_MAX);
	bool ok = srv_store_record(store, key, &arena, &record, err);
	if (ok) {
		srv_record_output *all = HOB_NEW(&arena, srv_record_output, record.output_count + count);
		ok = all || hob_fail_memory(err, &arena, "the outputs of a record");
		if (ok && record.output_count > 0)
			memcpy(all, record.outputs, record.output_count * sizeof *all);
		record.outputs = all;
	}
	for (uint32_t i = 0; ok && i < count; i++) {
		uint32_t at = 0;
		while (at < record.output_count && !hob_str_equal(record.outputs[at].name, outputs[i].name))
			at++;
		record.outputs[at] = outputs[i];
		if (at == record.output_count)
			record.output_count++;
	}
	return ok && srv_store_put_record(store, &record, err);
}

bool srv_store_delete_record(srv_store *store, const hob_sha256 *key, hob_error *err)
{
	bool known;
	if (!srv_store_has_record(store, key, &known, err))
		return false;
	if (!known)
		return true;
	if (!srv_store_put_row(store, SQL_DELETE_RECORD, err, BIND(key)))
		return false;
	atomic_fetch_sub(&store->record_count, 1);
	srv_digest_map_remove(&store->used_records, key);
	srv_store_copy_remove(store, key);
	return true;
}

/* ---- reading */

/* Makes room for another item in an array of the arena; the old array stays in the arena. */
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

/* Reads a record. The texts are in the row, the table of texts or the arena, valid until the next step. */
static bool take_record(srv_store *store, sqlite3_stmt *row, hob_arena *arena, srv_record *out,
						hob_error *err)
{
	*out = (srv_record){.key = srv_store_column_digest(row, 0),
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

static bool keep_record(hob_arena *arena, srv_record *record, hob_error *err)
{
	bool ok = keep_str(arena, &record->file_name) && keep_str(arena, &record->ingredients) &&
			  keep_str(arena, &record->stats) && keep_str(arena, &record->error);
	for (uint32_t i = 0; ok && i < record->dep_count; i++)
		ok = keep_str(arena, &record->deps[i].path);
	for (uint32_t i = 0; ok && i < record->output_count; i++)
		ok = keep_str(arena, &record->outputs[i].name);
	return ok || hob_fail_memory(err, arena, "a record");
}

static void note_use(srv_store *store, const hob_sha256 *key, uint32_t used_at_s)
{
	bool fresh;
	if (!store->writer && srv_store_now_s(store) - used_at_s >= STORE_USE_STEP_S)
		*(uint32_t *)srv_digest_map_put(&store->used_records, key, &fresh) = srv_store_now_s(store);
}

static bool select_records(srv_store *store, store_statement which, const hob_sha256 *digest,
						   hob_arena *arena, srv_record **out, uint32_t *count, hob_error *err)
{
	bool ok = true;
	sqlite3_stmt *row = srv_store_select(store, which, err, BIND(digest));
	*out = NULL;
	*count = 0;
	while (srv_store_step(store, row, &ok, err)) {
		srv_record *records = one_more(arena, *out, *count, sizeof *records);
		ok = records ? take_record(store, row, arena, &records[*count], err) &&
						   keep_record(arena, &records[*count], err)
					 : hob_fail_memory(err, arena, "a record");
		if (ok) {
			note_use(store, &records[(*count)++].key, (uint32_t)srv_store_column_u64(row, 12));
			*out = records;
		}
	}
	return ok;
}

bool srv_store_records(srv_store *store, const hob_sha256 *lookup, hob_arena *arena, srv_record **out,
					   uint32_t *count, hob_error *err)
{
	if (!select_records(store, SQL_RECORDS, lookup, arena, out, count, err))
		return false;
	/* Rows come by the time of their writing; one from another machine may be of an earlier cook. */
	for (uint32_t i = 1; i < *count; i++)
		for (uint32_t k = i; k > 0 && (*out)[k].cooked_at_ms > (*out)[k - 1].cooked_at_ms; k--) {
			srv_record older = (*out)[k - 1];
			(*out)[k - 1] = (*out)[k];
			(*out)[k] = older;
		}
	return true;
}

static bool read_copy(srv_store *store, const hob_sha256 *key, hob_arena *arena, srv_record *out)
{
	hob_own_buf text = {0};
	hob_error ignored;
	srv_store_read_record(store, key, &text);
	hob_str kept = text.size > 0 ? hob_arena_str(arena, hob_buf_str(&text)) : (hob_str){0};
	return kept.len > 0 && srv_record_parse(kept, arena, out, &ignored);
}

bool srv_store_record(srv_store *store, const hob_sha256 *key, hob_arena *arena, srv_record *out,
					  hob_error *err)
{
	srv_record *found;
	uint32_t count;
	srv_store *written = store->writer ? store->writer : store;
	bool waits = atomic_load(&written->debt.waiting) > 0;
	if (waits && read_copy(written, key, arena, out)) /* newer than the row */
		return true;
	if (!select_records(store, SQL_RECORD, key, arena, &found, &count, err) ||
		(count == 0 && !srv_store_is_whole(store, err)))
		return false;
	if (count == 0)
		return hob_fail(err, NOT_FOUND, "no record has the key %s", hob_sha256_hex(key).text);
	*out = found[0];
	return true;
}

bool srv_store_each_record(srv_store *store, void (*each)(void *user, const srv_record *record), void *user,
						   hob_error *err)
{
	hob_own_arena arena;
	sqlite3_stmt *rows = srv_store_read(store, SQL_EACH_RECORD, err);
	bool ok = true;
	hob_arena_init(&arena, SIZE_MAX);
	hob_arena_alloc(&arena, 1, 1); /* the arena keeps its first block */
	while (srv_store_step(store, rows, &ok, err)) {
		hob_arena_mark mark = hob_arena_save(&arena);
		srv_record record;
		ok = take_record(store, rows, &arena, &record, err);
		if (ok)
			each(user, &record);
		hob_arena_restore(&arena, mark);
	}
	return ok;
}
