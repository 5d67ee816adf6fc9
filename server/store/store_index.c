#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- content of the index */

static bool begin_epoch(srv_store *store, hob_error *err)
{
	uint64_t number;
	char sql[128];
	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		return hob_fail(err, IO, "the system has no random numbers: %s", strerror(errno));
	snprintf(sql, sizeof sql, "INSERT INTO meta (name, value) VALUES ('epoch', '%016llx')",
			 (unsigned long long)number);
	return srv_store_run_sql(store, sql, err);
}

static bool read_epoch(srv_store *store, hob_error *err)
{
	sqlite3_stmt *rows = srv_store_read(store, SQL_EPOCH, err);
	bool ok = true, found = false;
	while (srv_store_step(store, rows, &ok, err)) {
		hob_str text = srv_store_column_str(rows, 0);
		found = text.len == sizeof store->epoch - 1;
		if (found)
			memcpy(store->epoch, text.data, text.len);
	}
	return ok && (found || hob_fail(err, CORRUPT, "index.db has no epoch"));
}

static bool read_number(srv_store *store, store_statement which, uint64_t *out, hob_error *err)
{
	sqlite3_stmt *statement = srv_store_read(store, which, err);
	bool ok = true;
	while (srv_store_step(store, statement, &ok, err))
		*out = srv_store_column_u64(statement, 0);
	return ok;
}

/* Fills a new index from the existing blobs and copies of records. Whatever destroyed the old index may also
 * have damaged the blobs. */
static bool fill_from_folder(srv_store *store, hob_error *err)
{
	return srv_store_mark(store, err) && srv_store_blobs_sweep(store, true, err) &&
		   srv_store_copies_read(store, err) && srv_store_commit(store, err);
}

static bool read_numbers(srv_store *store, hob_error *err)
{
	uint64_t records = 0;
	bool ok = read_epoch(store, err) && read_number(store, SQL_LAST_JOB, &store->last_job, err) &&
			  read_number(store, SQL_LAST_REV, &store->last_rev, err) &&
			  read_number(store, SQL_COUNT_RECORDS, &records, err);
	atomic_store(&store->record_count, records);
	return ok;
}

static bool read_index(srv_store *store, bool known, store_stop stop, bool *refilled, hob_error *err)
{
	bool is_new = false;
	*refilled = false;
	if (stop == STOP_DAMAGED)
		return hob_fail(err, CORRUPT, "index.db proved damaged in its last use");
	/* The marker already written during this boot is still valid. */
	atomic_store(&store->marked, stop == STOP_KILLED);
	if (!srv_store_db_open(store, known, stop != STOP_CLEAN, &is_new, err))
		return false;
	if (is_new) {
		if (!begin_epoch(store, err) || !read_epoch(store, err) || (known && !fill_from_folder(store, err)))
			return false;
		*refilled = store->blobs.count > 0 || atomic_load(&store->record_count) > 0;
		return true;
	}
	if (stop == STOP_CLEAN && srv_store_start_open(store)) {
		store->start_kept = true;
		srv_store_start_read(store);
		return read_epoch(store, err);
	}
	if (!read_numbers(store, err) ||
		(stop == STOP_POWER &&
		 (!srv_store_run_now(store, SQL_SUSPECT_BLOBS, NULL, err) || !srv_store_commit(store, err))) ||
		!srv_store_blobs_load(store, err) || !srv_store_parts_load(store, err))
		return false;
	return stop == STOP_CLEAN ||
		   (srv_store_blobs_sweep(store, stop == STOP_POWER, err) && srv_store_commit(store, err));
}

static void forget_index(srv_store *store)
{
	srv_store_db_close(store);
	srv_store_start_close(store);
	atomic_store(&store->marked, false);
	store->writing = store->rows_lost = store->index_wrong = false;
	store->last_job = store->last_rev = 0;
	srv_digest_map_clear(&store->blobs);
	srv_digest_map_clear(&store->unsaved);
	srv_digest_map_clear(&store->parts);
	store->blob_bytes = 0;
}

/* Moves a damaged index aside; an unfinished one is not worth examining, and is replaced. */
static bool move_aside(srv_store *store, hob_error *err)
{
	char name[64];
	struct stat info;
	int number = 1;
	do
		snprintf(name, sizeof name, "index.db.damaged-%d", number++);
	while (fstatat(store->dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0);
	if (store->rebuilding)
		unlinkat(store->dir_fd, "index.db", 0);
	else if (renameat(store->dir_fd, "index.db", store->dir_fd, name) != 0 && errno != ENOENT)
		return srv_store_fail_errno(err, errno, "move aside the damaged index.db in", store->dir);
	unlinkat(store->dir_fd, "index.db-wal", 0);
	unlinkat(store->dir_fd, "index.db-shm", 0);
	return true;
}

bool srv_store_index_open(srv_store *store, bool known, store_stop stop, bool *rebuilt, hob_error *err)
{
	hob_error why = {0};
	if (read_index(store, known, stop, rebuilt, &why))
		return true;
	if (why.code == HOB_ERR_CORRUPT) {
		forget_index(store);
		*rebuilt = true;
		return move_aside(store, err) && read_index(store, true, STOP_POWER, &(bool){false}, err);
	}
	if (err)
		*err = why;
	return false;
}

/* ---- damage found later, with the blob table and the parts in memory */

bool srv_store_is_damaged(const srv_store *store)
{
	return store->index_wrong || atomic_load(&store->seen_damage);
}

bool srv_store_has_index(srv_store *store)
{
	struct stat info;
	bool there = fstatat(store->dir_fd, "index.db", &info, AT_SYMLINK_NOFOLLOW) == 0;
	if (store->db_inode == 0 || (there && info.st_ino == store->db_inode) || (!there && errno != ENOENT))
		return true;
	srv_store_mark_damaged(store);
	return false;
}

bool srv_store_rebuild(srv_store *store, hob_error *err)
{
	bool is_new;
	char sql[256];
	if (atomic_load(&store->generation) % 2 == 0)
		atomic_fetch_add(&store->generation, 1);
	srv_store_db_close(store);
	store->writing = store->rows_lost = false;
	srv_store_debt_clear(store); /* the caller adds the waiting rows again */
	if (!move_aside(store, err))
		return false;
	store->rebuilding = true;
	atomic_store(&store->record_count, 0);
	snprintf(
		sql, sizeof sql,
		"INSERT INTO meta (name, value) VALUES ('epoch', '%s'), ('last_job', '%llu'), ('last_rev', '%llu')",
		store->epoch, (unsigned long long)store->last_job, (unsigned long long)store->last_rev);
	bool ok = srv_store_db_open(store, true, false, &is_new, err) && srv_store_run_sql(store, sql, err) &&
			  srv_store_blobs_sweep(store, true, err) && srv_store_copies_read(store, err) &&
			  srv_store_parts_save(store, err);
	if (ok) {
		srv_store_blobs_unsave_all(store);
		ok = srv_store_commit(store, err);
	}
	if (!ok) {
		srv_store_db_close(store);
		return false;
	}
	store->rebuilding = store->index_wrong = false;
	srv_store_debt_clear(store);
	atomic_store(&store->seen_damage, false);
	atomic_fetch_add(&store->generation, 1);
	atomic_store(&store->marked, false);
	return srv_store_mark(store, err);
}
