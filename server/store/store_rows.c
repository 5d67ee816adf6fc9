#include "row.h"
#include "store_internal.h"

#include "../../core/base/pieces.h"

enum { CHANGES_KEPT = 100000, JOBS_KEPT = 20000, TRIM_EVERY = 1000 };

/* Whether the text is empty or valid JSON: clients get it verbatim. */
static bool is_json(hob_str text)
{
	enum { DEPTH = 64 };
	return text.len == 0 || hob_json_valid(text, DEPTH);
}

static bool is_damaged(srv_store *store, const char *what, hob_error *err)
{
	srv_store_mark_damaged(store);
	return hob_fail(err, CORRUPT, "index.db is damaged (%s cannot be read); it is rebuilt", what);
}

/* ---- files */

bool srv_store_put_file(srv_store *store, const srv_file_row *row, hob_error *err)
{
	return srv_store_put_row(store, SQL_PUT_FILE, err, BIND(row->root), BIND(row->path), BIND(row->stat.size),
							 BIND(row->stat.inode), BIND((uint64_t)row->stat.mtime_ns),
							 BIND((uint64_t)row->stat.ctime_ns), BIND(&row->digest));
}

static bool delete_path(srv_store *store, store_statement which, hob_str root, hob_str path, hob_error *err)
{
	return srv_store_put_row(store, which, err, BIND(root), BIND(path));
}

bool srv_store_delete_file(srv_store *store, hob_str root, hob_str path, hob_error *err)
{
	return delete_path(store, SQL_DELETE_FILE, root, path, err);
}

bool srv_store_each_file(srv_store *store, void (*each)(void *user, const srv_file_row *row), void *user,
						 hob_error *err)
{
	if (srv_store_has_start(store)) {
		srv_store_start_files(store, each, user);
		return true;
	}
	sqlite3_stmt *rows = srv_store_read(store, SQL_EACH_FILE, err);
	bool ok = true;
	while (srv_store_step(store, rows, &ok, err)) {
		srv_file_row row = {
			.root = srv_store_column_str(rows, 0),
			.path = srv_store_column_str(rows, 1),
			.stat = {.size = srv_store_column_u64(rows, 2),
					 .inode = srv_store_column_u64(rows, 3),
					 .mtime_ns = (int64_t)srv_store_column_u64(rows, 4),
					 .ctime_ns = (int64_t)srv_store_column_u64(rows, 5)},
			.digest = srv_store_column_digest(rows, 6),
		};
		each(user, &row);
	}
	return ok;
}

/* ---- assets */

#define SAME HOB_STR("=") /* stored in asset.last when it equals asset.good */

bool srv_store_put_asset(srv_store *store, const srv_asset_row *row, hob_error *err)
{
	bool same = hob_sha256_equal(&row->good, &row->last);
	return srv_store_put_row(store, SQL_PUT_ASSET, err, BIND(row->root), BIND(row->path),
							 BIND_TEXT(row->state), BIND(row->rev), BIND(&row->good),
							 same ? BIND(SAME) : BIND(&row->last), BIND((uint64_t)row->cooked_at_ms),
							 BIND(row->error));
}

bool srv_store_delete_asset(srv_store *store, hob_str root, hob_str path, hob_error *err)
{
	return delete_path(store, SQL_DELETE_ASSET, root, path, err);
}

bool srv_store_each_asset(srv_store *store, void (*each)(void *user, const srv_asset_row *row), void *user,
						  hob_error *err)
{
	if (srv_store_has_start(store)) {
		srv_store_start_assets(store, each, user);
		return true;
	}
	sqlite3_stmt *rows = srv_store_read(store, SQL_EACH_ASSET, err);
	bool ok = true;
	while (srv_store_step(store, rows, &ok, err)) {
		srv_asset_row row = {
			.root = srv_store_column_str(rows, 0),
			.path = srv_store_column_str(rows, 1),
			.state = srv_store_column_str(rows, 2),
			.rev = srv_store_column_u64(rows, 3),
			.good = srv_store_column_digest(rows, 4),
			.last = srv_store_column_digest(rows, hob_str_equal(srv_store_column_str(rows, 5), SAME) ? 4 : 5),
			.cooked_at_ms = (int64_t)srv_store_column_u64(rows, 6),
			.error = srv_store_column_str(rows, 7),
		};
		ok = is_json(row.error) || is_damaged(store, "an asset", err);
		if (ok)
			each(user, &row);
	}
	return ok;
}

/* ---- watched folders */

bool srv_store_put_root(srv_store *store, const srv_root_row *row, hob_error *err)
{
	return srv_store_put_row(store, SQL_PUT_ROOT, err, BIND(row->name), BIND(row->path), BIND(row->device),
							 BIND(row->inode), BIND((uint64_t)row->missing_since_ms));
}

bool srv_store_each_root(srv_store *store, void (*each)(void *user, const srv_root_row *row), void *user,
						 hob_error *err)
{
	sqlite3_stmt *rows = srv_store_read(store, SQL_EACH_ROOT, err);
	bool ok = true;
	while (srv_store_step(store, rows, &ok, err)) {
		srv_root_row row = {
			.name = srv_store_column_str(rows, 0),
			.path = srv_store_column_str(rows, 1),
			.device = srv_store_column_u64(rows, 2),
			.inode = srv_store_column_u64(rows, 3),
			.missing_since_ms = (int64_t)srv_store_column_u64(rows, 4),
		};
		each(user, &row);
	}
	return ok;
}

/* ---- parts */

static void keep_part(srv_store *store, const hob_sha256 *key, const hob_sha256 *blob, uint32_t used_at_s)
{
	bool fresh;
	SRV_LOCKED(&store->part_lock);
	part_entry *entry = srv_digest_map_put(&store->parts, key, &fresh);
	*entry = (part_entry){*blob, used_at_s, used_at_s};
}

static bool write_part(srv_store *store, const hob_sha256 *key, const hob_sha256 *blob, uint32_t used_at_s,
					   hob_error *err)
{
	return srv_store_put_row(store, SQL_PUT_PART, err, BIND(key), BIND(blob), BIND(used_at_s));
}

bool srv_store_put_part(srv_store *store, const hob_sha256 *key, const hob_sha256 *blob, hob_error *err)
{
	uint32_t now = srv_store_now_s(store);
	if (!srv_store_blobs_name(store, blob, sizeof *blob, 1, err) || !write_part(store, key, blob, now, err))
		return false;
	keep_part(store, key, blob, now);
	return true;
}

bool srv_store_part(srv_store *store, const hob_sha256 *key, hob_sha256 *blob)
{
	bool found = false;
	SRV_LOCKED(&store->part_lock);
	part_entry *entry = srv_digest_map_find(&store->parts, key);
	if (entry) {
		SRV_LOCKED(&store->blob_lock);
		found = srv_digest_map_find(&store->blobs, &entry->blob);
	}
	if (found) {
		entry->used_at_s = srv_store_now_s(store);
		*blob = entry->blob;
	}
	return found;
}

bool srv_store_parts_load(srv_store *store, hob_error *err)
{
	sqlite3_stmt *rows = srv_store_read(store, SQL_EACH_PART, err);
	bool ok = true;
	while (srv_store_step(store, rows, &ok, err)) {
		hob_sha256 key = srv_store_column_digest(rows, 0), blob = srv_store_column_digest(rows, 1);
		keep_part(store, &key, &blob, (uint32_t)srv_store_column_u64(rows, 2));
	}
	return ok;
}

bool srv_store_parts_save(srv_store *store, hob_error *err)
{
	hob_sha256 key;
	const part_entry *part;
	bool ok = true;
	SRV_LOCKED(&store->part_lock);
	for (size_t at = 0; ok && (part = srv_digest_map_next(&store->parts, &at, &key));)
		if (srv_store_blobs_name(store, &part->blob, sizeof part->blob, 1, NULL))
			ok = write_part(store, &key, &part->blob, part->used_at_s, err);
	return ok;
}

/* ---- times of use */

bool srv_store_usage_save(srv_store *store, hob_error *err)
{
	hob_sha256 key;
	const uint32_t *when;
	part_entry *part;
	bool ok = true;
	srv_store_blobs_note_use(store);
	for (size_t at = 0; ok && (when = srv_digest_map_next(&store->used_records, &at, &key));)
		ok = srv_store_put_row(store, SQL_USE_RECORD, err, BIND(&key), BIND(*when));
	if (ok)
		srv_digest_map_clear(&store->used_records);
	SRV_LOCKED(&store->part_lock);
	for (size_t at = 0; ok && (part = srv_digest_map_next(&store->parts, &at, &key));) {
		if (part->used_at_s - part->saved_at_s < STORE_USE_STEP_S)
			continue;
		ok = write_part(store, &key, &part->blob, part->used_at_s, err);
		if (ok)
			part->saved_at_s = part->used_at_s;
	}
	return ok;
}

/* ---- jobs */

/* Deletes all rows but those of the newest `kept` ids, from time to time. Ids may have gaps. */
static bool trim_rows(srv_store *store, store_statement which, uint64_t before, uint64_t newest,
					  uint64_t kept, hob_error *err)
{
	if (newest / TRIM_EVERY == before / TRIM_EVERY || newest <= kept)
		return true;
	return srv_store_put_row(store, which, err, BIND(newest - kept));
}

bool srv_store_put_job(srv_store *store, const srv_job_row *row, hob_error *err)
{
	if (!srv_store_put_row(store, SQL_PUT_JOB, err, BIND(row->id), BIND(row->asset), BIND(row->reason),
						   BIND_TEXT(row->result), BIND(&row->record), BIND((uint64_t)row->queued_at_ms),
						   BIND((uint64_t)row->started_at_ms), BIND((uint64_t)row->finished_at_ms),
						   BIND(row->cook_ns), BIND(row->peak_bytes), BIND(row->error), BIND(row->log),
						   BIND_TEXT(row->stages)))
		return false;
	uint64_t before = store->last_job;
	if (row->id > store->last_job)
		store->last_job = row->id;
	return trim_rows(store, SQL_TRIM_JOBS, before, row->id, JOBS_KEPT, err);
}

uint64_t srv_store_last_job(srv_store *store)
{
	return store->last_job;
}

static bool copy_job(hob_arena *arena, sqlite3_stmt *rows, srv_job_row *out)
{
	*out = (srv_job_row){
		.id = srv_store_column_u64(rows, 0),
		.asset = hob_arena_str(arena, srv_store_column_str(rows, 1)),
		.reason = hob_arena_str(arena, srv_store_column_str(rows, 2)),
		.result = hob_arena_str(arena, srv_store_column_str(rows, 3)),
		.record = srv_store_column_digest(rows, 4),
		.queued_at_ms = (int64_t)srv_store_column_u64(rows, 5),
		.started_at_ms = (int64_t)srv_store_column_u64(rows, 6),
		.finished_at_ms = (int64_t)srv_store_column_u64(rows, 7),
		.cook_ns = srv_store_column_u64(rows, 8),
		.peak_bytes = srv_store_column_u64(rows, 9),
		.error = hob_arena_str(arena, srv_store_column_str(rows, 10)),
		.log = hob_arena_str(arena, srv_store_column_str(rows, 11)),
		.stages = hob_arena_str(arena, srv_store_column_str(rows, 12)),
	};
	return out->asset.data && out->reason.data && out->result.data && out->error.data && out->log.data &&
		   out->stages.data;
}

bool srv_store_jobs(srv_store *store, hob_str asset, uint64_t before, uint32_t limit, hob_arena *arena,
					srv_job_row **out, uint32_t *count, hob_error *err)
{
	uint64_t last = before > 0 ? before : INT64_MAX;
	bool ok = true;
	*count = 0;
	*out = HOB_NEW(arena, srv_job_row, limit);
	if (!*out)
		return hob_fail_memory(err, arena, "a list of jobs");
	sqlite3_stmt *rows =
		asset.len > 0 ? srv_store_select(store, SQL_ASSET_JOBS, err, BIND(last), BIND(limit), BIND(asset))
					  : srv_store_select(store, SQL_JOBS, err, BIND(last), BIND(limit));
	while (srv_store_step(store, rows, &ok, err)) {
		srv_job_row *job = &(*out)[(*count)++];
		ok = copy_job(arena, rows, job)
				 ? (is_json(job->reason) && is_json(job->error)) || is_damaged(store, "a job", err)
				 : hob_fail_memory(err, arena, "a list of jobs");
	}
	return ok;
}

/* ---- changes */

bool srv_store_put_change_part(srv_store *store, hob_str text)
{
	if (!store->change_parts)
		store->change_parts = srv_row_packer_new();
	if (store->change_parts)
		srv_row_packer_put(store->change_parts, text);
	return store->change_parts;
}

static bool pack_change(srv_store *store, hob_str text, hob_buf *out)
{
	srv_row_packer *packer = store->change_parts;
	if (!packer) {
		srv_row_put_short(text, out);
		return !out->failed;
	}
	store->change_parts = NULL;
	srv_row_packer_put(packer, text);
	bool ok = srv_row_packer_end(packer, out);
	srv_row_packer_free(packer);
	return ok;
}

bool srv_store_put_change(srv_store *store, const srv_change_row *row, hob_error *err)
{
	hob_own_buf data = {0};
	bool packed = pack_change(store, row->data, &data);
	bool ok = packed ? srv_store_put_row(store, SQL_PUT_CHANGE, err, BIND(row->rev), BIND_TEXT(row->event),
										 BIND(hob_buf_str(&data)))
					 : hob_fail(err, MEMORY, "no memory left for a change");
	if (!ok)
		return false;
	uint64_t before = store->last_rev;
	if (row->rev > store->last_rev)
		store->last_rev = row->rev;
	return trim_rows(store, SQL_TRIM_CHANGES, before, row->rev, CHANGES_KEPT, err) &&
		   trim_rows(store, SQL_TRIM_MOVES, before, row->rev, CHANGES_KEPT, err);
}

uint64_t srv_store_last_rev(srv_store *store)
{
	return store->last_rev;
}

static bool each_line(const srv_change_row *row, bool (*each)(void *user, const srv_change_row *row),
					  void *user)
{
	bool more = true;
	for (hob_str rest = row->data, line; more && rest.len > 0 && hob_str_piece(&rest, '\n', &line);)
		more = each(user, &(srv_change_row){row->rev, row->event, line});
	return more;
}

bool srv_store_each_change(srv_store *store, uint64_t first, uint64_t last, bool newest_first,
						   bool (*each)(void *user, const srv_change_row *row), void *user, hob_error *err)
{
	sqlite3_stmt *rows = srv_store_select(store, newest_first ? SQL_CHANGES_DOWN : SQL_CHANGES_UP, err,
										  BIND(first < INT64_MAX ? first : INT64_MAX),
										  BIND(last < INT64_MAX ? last : INT64_MAX));
	bool ok = true, more = true;
	hob_own_arena arena;
	hob_arena_init(&arena, SIZE_MAX);
	hob_arena_alloc(&arena, 1, 1); /* the arena keeps its first block */
	while (more && srv_store_step(store, rows, &ok, err)) {
		hob_arena_mark mark = hob_arena_save(&arena);
		srv_change_row row = {srv_store_column_u64(rows, 0), srv_store_column_str(rows, 1), {0}};
		if (srv_row_take_short(srv_store_column_str(rows, 2), &arena, &row.data))
			more = each_line(&row, each, user);
		else
			ok = is_damaged(store, "a change", err);
		hob_arena_restore(&arena, mark);
	}
	if (!more)
		srv_store_end(rows);
	return ok;
}

uint64_t srv_store_first_rev(srv_store *store)
{
	hob_error err;
	bool ok = true;
	uint64_t first = 0;
	sqlite3_stmt *rows = srv_store_read(store, SQL_FIRST_REV, &err);
	while (srv_store_step(store, rows, &ok, &err))
		first = srv_store_column_u64(rows, 0);
	return first;
}

/* ---- the end of a transaction */

bool srv_store_commit(srv_store *store, hob_error *err)
{
	if (store->rows_lost && !store->debt.kept) {
		store->rows_lost = false;
		srv_store_texts_forget(store);
		return hob_fail(err, DISK_FULL,
						"rows written since the last commit were lost, because the disk is full or "
						"failed; they are made again at the next start");
	}
	digest_map taken;
	hob_error why = {0};
	bool ok = srv_store_blobs_save(store, &taken, &why);
	if (ok && !store->writing && atomic_load(&store->debt.waiting) > 0)
		ok = srv_store_begin(store, &why);
	if (ok && store->writing)
		ok = srv_store_run_plain(store, SQL_COMMIT, &why);
	if (ok) {
		store->writing = store->rows_lost = false;
		srv_digest_map_release(&taken);
		srv_store_debt_clear(store);
		return true;
	}
	srv_store_blobs_unsave(store, &taken);
	srv_store_texts_forget(store);
	bool wrote = store->writing;
	if ((wrote || atomic_load(&store->debt.waiting) == 0) && !srv_store_debt_begin(store, &why) && wrote &&
		!sqlite3_get_autocommit(store->db))
		srv_store_run_plain(store, SQL_ROLLBACK, NULL);
	store->writing = store->rows_lost = false;
	if (!wrote && atomic_load(&store->debt.waiting) > 0)
		return srv_store_debt_is_quiet(store, err);
	if (err)
		*err = why;
	return false;
}
