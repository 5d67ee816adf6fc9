#include "../../core/base/array.h"
#include "row.h"
#include "store_internal.h"

#include "store_schema.h" /* made from schema/store.sql */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPLICATION_ID = 0x486F6249 /* HobI */, HEADER_SIZE = 100, BUSY_MS = 5000 };

static const char *const statement_texts[] = {
#define STATEMENT(name, sql) sql,
#include "statements.def"
#undef STATEMENT
};

/* ---- errors */

static bool fail_code(sqlite3 *db, int code, hob_error *err)
{
	int system = db ? sqlite3_system_errno(db) : 0;
	const char *text = db ? sqlite3_errmsg(db) : sqlite3_errstr(code);
	switch (code & 0xFF) {
	case SQLITE_FULL:
		return hob_fail(err, DISK_FULL,
						"no room left to write index.db; free disk space or choose another folder "
						"with --cache");
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	/* All SQL is ours and tested. If a name is not found, or a row breaks a rule, the file is damaged. */
	case SQLITE_ERROR:
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
		return hob_fail(err, CORRUPT,
						"index.db is damaged (%s); it is rebuilt from the copies of its records", text);
	case SQLITE_INTERRUPT:
		return hob_fail(err, LIMIT, "reading the index took too long; ask for less at once");
	case SQLITE_NOMEM:
		return hob_fail(err, MEMORY, "no memory left for index.db");
	default:
		if (system == ENOSPC || system == EDQUOT || system == EFBIG)
			return hob_fail(err, DISK_FULL,
							"index.db cannot grow (%s); free disk space or choose another folder "
							"with --cache",
							strerror(system));
		return hob_fail(err, IO, "index.db: %s (SQLite %d%s%s)", text, code, system ? ", " : "",
						system ? strerror(system) : "");
	}
}

bool srv_store_fail_db(srv_store *store, hob_error *err)
{
	hob_error local;
	fail_code(store->db, sqlite3_extended_errcode(store->db), &local);
	if (local.code == HOB_ERR_CORRUPT)
		srv_store_mark_damaged(store);
	if (err)
		*err = local;
	return false;
}

/* ---- schema */

static const char *find_step(const char *script, int number)
{
	char mark[32];
	snprintf(mark, sizeof mark, "-- @step %d\n", number);
	return strstr(script, mark);
}

int srv_store_db_steps(const char *script)
{
	int count = 0;
	while (find_step(script, count + 1))
		count++;
	return count;
}

int srv_store_schema_version(void)
{
	return srv_store_db_steps(store_schema);
}

static bool run_step(sqlite3 *db, const char *script, int number, hob_error *err)
{
	const char *from = find_step(script, number), *to = find_step(script, number + 1);
	size_t size = to ? (size_t)(to - from) : strlen(from);
	hob_own char *sql = hob_must(malloc(size + 128));
	int head =
		snprintf(sql, 128, "PRAGMA application_id = %d; PRAGMA user_version = %d;\n", APPLICATION_ID, number);
	memcpy(sql + head, from, size);
	sql[(size_t)head + size] = 0;
	int code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(db, sql, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		return true;
	fail_code(db, sqlite3_extended_errcode(db), err);
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return hob_fail_in(err, "step %d of the schema", number);
}

bool srv_store_db_upgrade(sqlite3 *db, const char *script, int *version, hob_error *err)
{
	if (!srv_row_add_functions(db))
		return fail_code(db, sqlite3_extended_errcode(db), err);
	for (int newest = srv_store_db_steps(script); *version < newest; ++*version)
		if (!run_step(db, script, *version + 1, err))
			return false;
	return true;
}

/* ---- opening */

bool srv_store_db_int(sqlite3 *db, const char *sql, int *out, hob_error *err)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		*out = sqlite3_column_int(statement, 0);
	else
		fail_code(db, sqlite3_extended_errcode(db), err);
	sqlite3_finalize(statement);
	return code == SQLITE_ROW;
}

static bool quick_check(sqlite3 *db, hob_error *err)
{
	sqlite3_stmt *statement = NULL;
	bool ok = false;
	if (sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &statement, NULL) != SQLITE_OK)
		fail_code(db, sqlite3_extended_errcode(db), err);
	else if (sqlite3_step(statement) != SQLITE_ROW)
		fail_code(db, sqlite3_extended_errcode(db), err);
	else if (strcmp((const char *)sqlite3_column_text(statement, 0), "ok") != 0)
		hob_fail(err, CORRUPT, "index.db is damaged: %s", (const char *)sqlite3_column_text(statement, 0));
	else
		ok = true;
	sqlite3_finalize(statement);
	return ok;
}

static bool fail_newer(const srv_store *store, uint32_t version, hob_error *err)
{
	return hob_fail(err, NEWER,
					"the cache %s has schema version %u, this Hob knows versions up to %d; use the newer "
					"Hob or another folder with --cache",
					store->dir, version, srv_store_db_steps(store_schema));
}

/* Decides by the file's header whether it is an index of Hob, before SQLite can change the file. */
static bool peek(srv_store *store, bool known_folder, hob_error *err)
{
	int fd = openat(store->dir_fd, "index.db", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || srv_store_fail_errno(err, errno, "read", "index.db");
	uint8_t head[HEADER_SIZE];
	ssize_t size = pread(fd, head, sizeof head, 0);
	close(fd);
	if (size == 0)
		return true;
	if (size < HEADER_SIZE || memcmp(head, "SQLite format 3", 16) != 0)
		return hob_fail(err, CORRUPT, "index.db is no longer an SQLite file");
	uint32_t version = __builtin_bswap32(hob_load_u32(head + 60)),
			 owner = __builtin_bswap32(hob_load_u32(head + 68));
	if (owner != APPLICATION_ID && owner != 0) {
		if (known_folder)
			return hob_fail(err, CORRUPT, "index.db has application id 0x%08x, not Hob's", owner);
		return hob_fail(err, IO,
						"index.db in %s belongs to another program (application id 0x%08x); choose another "
						"folder with --cache",
						store->dir, owner);
	}
	return version <= (uint32_t)srv_store_db_steps(store_schema) || fail_newer(store, version, err);
}

static bool settle_version(srv_store *store, int *out, hob_error *err)
{
	int version, owner, tables, newest = srv_store_db_steps(store_schema);
	if (!srv_store_db_int(store->db, "PRAGMA user_version", &version, err) ||
		!srv_store_db_int(store->db, "PRAGMA application_id", &owner, err) ||
		!srv_store_db_int(store->db, "SELECT count(*) FROM sqlite_schema", &tables, err))
		return false;
	if (version > newest)
		return fail_newer(store, (uint32_t)version, err);
	if (version < 0 || (version == 0) != (tables == 0) || (version > 0 && owner != APPLICATION_ID))
		return hob_fail(err, CORRUPT, "index.db says version %d and application id 0x%08x over %d tables",
						version, (unsigned)owner, tables);
	*out = version;
	return true;
}

/* Runs a checkpoint in this thread if the WAL is too long. Normally the pool runs it (srv_store_fold), but
 * cannot complete it while rows are written without a pause. */
static int on_commit(void *user, sqlite3 *db, const char *name, int frames)
{
	enum { FRAMES_MAX = 65536 };
	srv_store *store = user;
	atomic_store(&store->log_frames, (unsigned)frames);
	if (frames >= FRAMES_MAX)
		sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	return SQLITE_OK;
}

bool srv_store_log_is_long(const srv_store *store)
{
	enum { FRAMES = 2048 };
	unsigned all = atomic_load(&store->log_frames), folded = atomic_load(&store->folded_frames);
	return all >= (folded < all ? folded : 0) + FRAMES;
}

static bool pragmas(srv_store *store, hob_error *err)
{
	static const char text[] = "PRAGMA synchronous = NORMAL;"
							   "PRAGMA foreign_keys = ON;"
							   "PRAGMA cell_size_check = ON;"
							   "PRAGMA secure_delete = OFF;"
							   "PRAGMA temp_store = MEMORY;"
							   "PRAGMA cache_size = -8192;";
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (sqlite3_exec(store->db, text, NULL, NULL, NULL) != SQLITE_OK)
		return srv_store_fail_db(store, err);
	sqlite3_wal_hook(store->db, on_commit, store);
	return true;
}

static bool go_wal(srv_store *store, hob_error *err)
{
	sqlite3_stmt *statement = NULL;
	bool ok = sqlite3_prepare_v2(store->db, "PRAGMA journal_mode = WAL", -1, &statement, NULL) == SQLITE_OK &&
			  sqlite3_step(statement) == SQLITE_ROW;
	if (!ok)
		srv_store_fail_db(store, err);
	else if (strcmp((const char *)sqlite3_column_text(statement, 0), "wal") != 0)
		ok = hob_fail(err, IO,
					  "the file system of %s cannot hold an SQLite write-ahead log; choose another folder "
					  "with --cache",
					  store->dir);
	sqlite3_finalize(statement);
	return ok;
}

bool srv_store_db_open(srv_store *store, bool known_folder, bool check, bool *is_new, hob_error *err)
{
	if (!peek(store, known_folder, err))
		return false;
	char path[PATH_MAX];
	if (snprintf(path, sizeof path, "%s/index.db", store->dir) >= (int)sizeof path)
		return hob_fail(err, IO, "the path of the cache is longer than %d bytes", PATH_MAX);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	int code = sqlite3_open_v2(path, &store->db, flags, NULL);
	if (code != SQLITE_OK)
		return fail_code(store->db, code, err);
	sqlite3_busy_timeout(store->db, BUSY_MS);
	/* Until the version is known to be Hob's, closing must not run a checkpoint. */
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	int version, newest = srv_store_db_steps(store_schema);
	if (!settle_version(store, &version, err))
		return false;
	*is_new = version == 0;
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	if (!pragmas(store, err) || (check && !*is_new && !quick_check(store->db, err)) || !go_wal(store, err))
		return false;
	struct stat info;
	store->db_inode = stat(path, &info) == 0 ? info.st_ino : 0;
	bool older = version > 0 && version < newest;
	if (!srv_store_db_upgrade(store->db, store_schema, &version, err))
		return false;
	if (older) /* steps leave free pages, which stay if there is no room for a copy of the index */
		sqlite3_exec(store->db, "VACUUM", NULL, NULL, NULL);
	return true;
}

void srv_store_db_close(srv_store *store)
{
	store->reading = false;
	srv_store_texts_forget(store);
	for (int i = 0; i < SQL_COUNT; i++) {
		sqlite3_finalize(store->statements[i]);
		store->statements[i] = NULL;
	}
	pthread_mutex_lock(&store->sync_lock);
	sqlite3_close(store->sync_db);
	store->sync_db = NULL;
	pthread_mutex_unlock(&store->sync_lock);
	sqlite3_close(store->db);
	store->db = NULL;
}

bool srv_store_run_sql(srv_store *store, const char *sql, hob_error *err)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK || srv_store_fail_db(store, err);
}

bool srv_store_fold(srv_store *store, hob_error *err)
{
	int code = SQLITE_OK;
	SRV_LOCKED(&store->sync_lock);
	char path[PATH_MAX];
	if (!store->sync_db) {
		int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
		snprintf(path, sizeof path, "%s/index.db", store->dir);
		code = sqlite3_open_v2(path, &store->sync_db, flags, NULL);
		if (code == SQLITE_OK) {
			/* This connection, not the loop's, truncates an oversized WAL at its restart: that takes a
			 * while. */
			sqlite3_exec(store->sync_db, "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 67108864",
						 NULL, NULL, NULL);
		} else {
			fail_code(store->sync_db, code, err);
			sqlite3_close(store->sync_db);
			store->sync_db = NULL;
		}
	}
	int frames = 0, folded = 0;
	if (store->sync_db)
		code = sqlite3_wal_checkpoint_v2(store->sync_db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &folded);
	if (code == SQLITE_OK)
		atomic_store(&store->folded_frames, (unsigned)folded);
	bool ok = code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED;
	if (!ok && store->sync_db)
		fail_code(store->sync_db, code, err);
	/* After a complete checkpoint the next commit restarts the WAL and waits until its header is on disk.
	 * This thread commits a row to wait instead of a save; if the loop is writing, its commit has waited. */
	if (code == SQLITE_OK && frames > 0 && frames == folded)
		sqlite3_exec(store->sync_db,
					 "INSERT OR REPLACE INTO meta (name, value) VALUES ('folded', hex(randomblob(4)))", NULL,
					 NULL, NULL);
	return ok;
}

/* ---- statements */

sqlite3_stmt *srv_store_read(srv_store *store, store_statement which, hob_error *err)
{
	sqlite3_stmt **slot = &store->statements[which];
	if (!store->db) {
		(void)hob_fail(err, CORRUPT, "index.db was damaged and could not be rebuilt yet");
		return NULL;
	}
	if (!*slot &&
		sqlite3_prepare_v3(store->db, statement_texts[which], -1, SQLITE_PREPARE_PERSISTENT, slot, NULL)) {
		srv_store_fail_db(store, err);
		return NULL;
	}
	return *slot;
}

void srv_store_end(sqlite3_stmt *statement)
{
	sqlite3_reset(statement);
	if (statement)
		sqlite3_clear_bindings(statement);
}

bool srv_store_step(srv_store *store, sqlite3_stmt *statement, bool *ok, hob_error *err)
{
	if (!statement || !*ok) {
		*ok = false;
		srv_store_end(statement);
		return false;
	}
	int code = sqlite3_step(statement);
	*ok = code == SQLITE_ROW || code == SQLITE_DONE;
	if (code == SQLITE_ROW)
		return true;
	if (!*ok)
		srv_store_fail_db(store, err);
	srv_store_end(statement);
	/* When the disk is full or a write fails, SQLite rolls back by itself, and earlier rows of the
	 * transaction are lost. */
	if (!*ok && store->writing && sqlite3_get_autocommit(store->db)) {
		store->writing = false;
		store->rows_lost = true;
	}
	return false;
}

static bool run(srv_store *store, sqlite3_stmt *statement, hob_error *err)
{
	bool ok = true;
	while (srv_store_step(store, statement, &ok, err))
		continue;
	return ok;
}

bool srv_store_run_plain(srv_store *store, store_statement which, hob_error *err)
{
	return run(store, srv_store_read(store, which, err), err);
}

/* Writes all rows that wait, in the open transaction. */
static bool pay_debt(srv_store *store, hob_error *err)
{
	bool ok = true;
	for (const struct owed_row *row = store->debt.first; ok && row; row = row->next)
		ok = srv_store_run_now(store, row->which, row->values, err);
	return ok;
}

bool srv_store_begin(srv_store *store, hob_error *err)
{
	if (srv_store_debt_rests(store, err))
		return false;
	srv_store_read_part(store);
	bool ok = srv_store_run_plain(store, SQL_BEGIN, err);
	store->writing = ok;
	ok = ok && pay_debt(store, err);
	if (!ok)
		srv_store_debt_begin(store, err);
	return ok;
}

/* ---- values */

sqlite3_stmt *srv_store_read_with(srv_store *store, store_statement which, const sql_value *values,
								  hob_error *err)
{
	sqlite3_stmt *statement = srv_store_read(store, which, err);
	for (int i = 0; statement && values && values[i].kind; i++) {
		const sql_value *value = &values[i];
		const char *text = value->text.len > 0 ? value->text.data : "";
		if (value->kind == 's')
			sqlite3_bind_blob64(statement, i + 1, text, value->text.len, SQLITE_STATIC);
		else if (value->kind == 't')
			sqlite3_bind_text64(statement, i + 1, text, value->text.len, SQLITE_STATIC, SQLITE_UTF8);
		else if (value->kind == 'u')
			sqlite3_bind_int64(statement, i + 1, (int64_t)value->number);
		else
			sqlite3_bind_blob(statement, i + 1, value->digest, sizeof *value->digest, SQLITE_STATIC);
	}
	return statement;
}

bool srv_store_run_now(srv_store *store, store_statement which, const sql_value *values, hob_error *err)
{
	hob_error why;
	if (srv_store_mark(store, &why) && (store->writing || srv_store_begin(store, &why)))
		return run(store, srv_store_read_with(store, which, values, err), err);
	if (err)
		*err = why;
	return false;
}

/* Writes a row, or lets it wait if the index cannot be written: to the caller, a waiting row is written. */
bool srv_store_run_with(srv_store *store, store_statement which, const sql_value *values, hob_error *err)
{
	hob_error why;
	bool ok = srv_store_run_now(store, which, values, &why), waits = atomic_load(&store->debt.waiting) > 0;
	if (!ok && (store->writing || store->rows_lost || !waits))
		waits = srv_store_debt_begin(store, &why);
	if ((ok || waits) && srv_store_debt_note(store, which, values))
		return true;
	if (!ok && err)
		*err = why;
	return ok;
}

hob_str srv_store_column_str(sqlite3_stmt *statement, int index)
{
	const char *data = sqlite3_column_blob(statement, index);
	return (hob_str){data ? data : "", (size_t)sqlite3_column_bytes(statement, index)};
}

uint64_t srv_store_column_u64(sqlite3_stmt *statement, int index)
{
	return (uint64_t)sqlite3_column_int64(statement, index);
}

hob_sha256 srv_store_column_digest(sqlite3_stmt *statement, int index)
{
	hob_sha256 digest = {{0}};
	hob_str bytes = srv_store_column_str(statement, index);
	if (bytes.len == sizeof digest.bytes)
		memcpy(digest.bytes, bytes.data, sizeof digest.bytes);
	return digest;
}

void srv_store_read_begin(srv_store *store)
{
	if (srv_store_has_start(store))
		return;
	srv_store_start_close(store);
	if (!store->writing && store->db)
		sqlite3_exec(store->db, "PRAGMA mmap_size = 268435456; BEGIN", NULL, NULL, NULL);
}

void srv_store_read_end(srv_store *store)
{
	/* Mapped pages would count as memory of this process for its lifetime. */
	bool mapped = store->start.data;
	srv_store_start_close(store);
	if (!mapped && !store->writing && store->db)
		sqlite3_exec(store->db, "COMMIT; PRAGMA mmap_size = 0", NULL, NULL, NULL);
}

void srv_store_read_together(srv_store *store)
{
	if (!store->reading && !store->writing && store->db)
		store->reading = srv_store_run_plain(store, SQL_READ, NULL);
}

void srv_store_read_part(srv_store *store)
{
	if (store->reading)
		srv_store_run_plain(store, SQL_COMMIT, NULL);
	store->reading = false;
}
