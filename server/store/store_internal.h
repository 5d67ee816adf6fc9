/* store_internal.h - shared by the files of the store.
 *
 *   store.c         folder, lock, open, close
 *   store_kit.c     time, errors, temporary files, marker of an unclean stop
 *   store_debt.c    rows that wait while the index cannot be written
 *   store_folder.c  folders that are removed under a daemon
 *   store_index.c   content of the index at open; rebuilding it from the folder
 *   store_db.c      SQLite: opening, steps of the schema, statements, transactions, errors
 *   store_blob.c    blob files
 *   store_pack.c    the table of blobs; small blobs, many in a file;  pack.c  such files;  compress.c  zstd
 *   store_record.c  record rows;  row.c, store_text.c  their compact values;  store_copy.c  their JSON copies
 *   store_rows.c    files, assets, parts, jobs, changes; commit
 *   store_trim.c    eviction
 *   store_start.c   the rows that a start reads, copied into one file
 *   reader.c        a connection for reading, beside the loop
 *   guest.c         the cache of another process, for reading
 *
 * Locks: blob_lock guards the blob table and every link, rename and unlink in blobs/, so that table and
 * folder never disagree; part_lock guards the parts and is taken before blob_lock; mark_lock and sync_lock
 * are leaves. */
#ifndef SRV_STORE_INTERNAL_H
#define SRV_STORE_INTERNAL_H

#include "store.h"
#include "digest_map.h"
#include "pack.h"
#include "row.h"
#include "../../core/hash/hex.h"

#include "../fs/fd.h"
#include "../fs/lock.h"

#include <sqlite3.h>
#include <stdatomic.h>

typedef enum store_statement {
#define STATEMENT(name, sql) SQL_##name,
#include "statements.def"
#undef STATEMENT
	SQL_COUNT
} store_statement;

/* Value of a blob in the table. */
typedef struct blob_entry {
	uint64_t size;
	uint32_t used_at_s, saved_at_s; /* `saved_at_s`: used_at_s in its row */
	bool awaited;					/* put by this process; no row names it yet */
	bool suspect;
	srv_pack_place place; /* pack 0: a separate file */
	/* change time of the file when its bytes were last checked; 0: not checked by this process */
	int64_t right_ns;
} blob_entry;

typedef struct record_place {
	srv_pack_place place;
	uint32_t size, kind;
} record_place;

typedef struct part_entry {
	hob_sha256 blob;
	uint32_t used_at_s, saved_at_s;
} part_entry;

/* One row of the table `text`. */
typedef struct store_text {
	uint8_t name[16];
	char *data; /* NULL: none */
	size_t len;
} store_text;

/* index.start while it matches the index, or the same made in memory; data is NULL otherwise. */
typedef struct store_start {
	uint8_t *data; /* of mmap, or of `made` */
	hob_buf made;
	size_t size, at;
	hob_str *texts;
	char *path; /* last path read */
	uint64_t text_count, assets_at;
	int64_t base_ms;
} store_start;

/* Rows written since the last commit, and those that could not be written. See srv_store_owe. */
typedef struct store_debt {
	bool kept, told;
	struct owed_row *first, *last;
	hob_arena arena;
	hob_arena_mark empty;
	uint32_t count;
	atomic_uint waiting; /* number of rows; 0: the index takes rows at once */
	int64_t since_ms, again_ms;
	hob_error why;
} store_debt;

struct srv_store {
	char *dir;
	char epoch[17];
	atomic_ullong max_bytes;
	int dir_fd, lock_fd, blobs_fd, tmp_fd, records_fd, packs_fd;
	uint32_t pack_max;		  /* blobs up to this size go into packs; 0: none */
	srv_packs packs, records; /* in packs_fd and in records_fd */

	sqlite3 *db;
	uint64_t db_inode; /* of index.db when it was opened; 0: unknown */
	sqlite3_stmt *statements[SQL_COUNT];
	bool writing;	  /* a transaction is open */
	bool rows_lost;	  /* SQLite rolled back by itself: the next commit reports it */
	bool index_wrong; /* SQLite found damage: see srv_store_mark_damaged */
	store_debt debt;
	bool rebuilding; /* srv_store_rebuild started and did not finish; db may be NULL */
	uint64_t last_job, last_rev;
	srv_row_packer *change_parts; /* for srv_store_put_change_part */
	digest_map used_records;	  /* uint32_t: time of use; flushed by trim and close */
	store_text texts[16];		  /* texts read or written last, whose rows exist */
	uint32_t next_text;
	store_start start;
	bool start_kept; /* index.start matches the index, unless `marked` */

	pthread_mutex_t mark_lock;
	atomic_bool marked;
	atomic_uint time_shift_s;		/* tests: offset of the clock */
	bool no_unnamed;				/* tests: behave as without O_TMPFILE */
	atomic_uint_fast64_t temporary; /* counter for names in tmp/ */

	pthread_mutex_t blob_lock;
	digest_map blobs;	/* blob_entry */
	digest_map unsaved; /* no value: blobs whose row differs from the table */
	uint64_t blob_bytes, evicted_bytes, damaged_count;
	hob_sha256 *damaged;
	uint32_t damaged_waiting, damaged_room;

	pthread_mutex_t record_lock;
	digest_map record_places; /* record_place; valid if `records_read` */
	bool records_read;
	uint64_t records_dead; /* approximate number replaced or deleted since the start */

	pthread_mutex_t part_lock;
	digest_map parts; /* part_entry */
	atomic_uint_fast64_t record_count;

	uint32_t swept_at_s, evict_from_s;

	bool guest; /* another process owns the cache: see guest.h */

	/* State of a store that is read outside the loop, see reader.h */
	atomic_uint generation;	 /* of index.db: odd while srv_store_rebuild makes a new one */
	atomic_bool seen_damage; /* by a reader */
	/* pages in the WAL; number of these that a checkpoint has copied to the index */
	atomic_uint log_frames, folded_frames;
	/* and of a reader */
	srv_store *writer;	 /* NULL: not a reader */
	bool reading;		 /* also of the loop: srv_store_read_together */
	int64_t deadline_ms; /* on the monotonic clock */

	pthread_mutex_t sync_lock;
	sqlite3 *sync_db;
};

uint32_t srv_store_now_s(srv_store *store);
srv_store *srv_store_blank(const srv_store_options *options); /* opens nothing */
void srv_store_free(srv_store *store);						  /* closes what is open; writes nothing */

/* ---- folder ---- */

typedef enum store_stop { STOP_CLEAN, STOP_KILLED, STOP_POWER, STOP_DAMAGED } store_stop;
/* From the marker that the last run left or removed. */
store_stop srv_store_how_it_stopped(srv_store *store);
/* Writes the marker of an unclean stop and drops index.start, before the first change. Any thread; later
 * calls cost nothing. */
bool srv_store_mark(srv_store *store, hob_error *err);
/* Makes the next open rebuild the index, whatever a quick check finds. */
void srv_store_mark_damaged(srv_store *store);
bool srv_store_make_folders(const char *path, hob_error *err); /* and its parents */
bool srv_store_open_folder(int dir_fd, const char *name, int *out, hob_error *err);
/* hob_fail for an errno: DISK_FULL or IO. */
bool srv_store_fail_errno(hob_error *err, int code, const char *what, const char *name);
/* Opens a new file in tmp/, whose name is written to `name`. */
int srv_store_temporary(srv_store *store, char name[32]);
/* Opens the packs of packs_fd and records_fd, which are open. */
bool srv_store_open_packs(srv_store *store, hob_error *err);
/* "ab/cdef.." for a blob. */
enum { STORE_BLOB_NAME = 66 };
void srv_store_blob_name(const hob_sha256 *digest, char out[STORE_BLOB_NAME]);

/* ---- index ---- */

/* Opens index.db and reads the tables kept in memory. Moves a damaged index aside and rebuilds it in a new
 * epoch. `known`: blobs existed before. */
bool srv_store_index_open(srv_store *store, bool known, store_stop stop, bool *rebuilt, hob_error *err);

/* ---- database ---- */

/* Opens index.db and brings it to the newest step. known_folder: blobs/ already existed, so a file that is
 * not Hob's is damage. check: runs quick_check first. *is_new: it was empty. Call srv_store_db_close even
 * after a failure. */
bool srv_store_db_open(srv_store *store, bool known_folder, bool check, bool *is_new, hob_error *err);
/* Opens the same file on a connection that cannot write. */
bool srv_store_db_open_to_read(srv_store *store, hob_error *err);
void srv_store_db_close(srv_store *store);
bool srv_store_run_sql(srv_store *store, const char *sql, hob_error *err);
/* Runs the steps of `script` above *version; the script is schema/store.sql. */
bool srv_store_db_upgrade(sqlite3 *db, const char *script, int *version, hob_error *err);
int srv_store_db_steps(const char *script);
/* The number that a statement answers. */
bool srv_store_db_int(sqlite3 *db, const char *sql, int *out, hob_error *err);

/* Reads rows: select binds values, which must outlive the loop.
 *
 *     sqlite3_stmt *rows = srv_store_select(store, SQL_X, err, BIND(a), BIND(b));
 *     bool ok = true;
 *     while (srv_store_step(store, rows, &ok, err))
 *         ok = ...;
 *
 * A step without a statement fails. At the end, or if *ok is false, it resets the statement. */
sqlite3_stmt *srv_store_read(srv_store *store, store_statement which, hob_error *err);
bool srv_store_step(srv_store *store, sqlite3_stmt *statement, bool *ok, hob_error *err);
void srv_store_end(sqlite3_stmt *statement);
/* A statement without values; a transaction for rows, which begins with those that wait. */
bool srv_store_run_plain(srv_store *store, store_statement which, hob_error *err);
bool srv_store_begin(srv_store *store, hob_error *err);
bool srv_store_fail_db(srv_store *store, hob_error *err);

/* These take values in order. A value is BIND of a hob_str (a BLOB), a digest or a number, or BIND_TEXT of a
 * hob_str. write runs a statement, in a new transaction if none is open; what put_row runs may wait: see
 * srv_store_run_with. */
#define BOUND(...)								  ((const sql_value[]){__VA_ARGS__, {.kind = 0}})
#define srv_store_select(store, which, err, ...)  srv_store_read_with(store, which, BOUND(__VA_ARGS__), err)
#define srv_store_write(store, which, err, ...)	  srv_store_run_now(store, which, BOUND(__VA_ARGS__), err)
#define srv_store_put_row(store, which, err, ...) srv_store_run_with(store, which, BOUND(__VA_ARGS__), err)
#define BIND(value)                                                                                          \
	_Generic((value), hob_str                                                                                \
			 : srv_store_str, hob_sha256 *                                                                   \
			 : srv_store_digest, const hob_sha256 *                                                          \
			 : srv_store_digest, default                                                                     \
			 : srv_store_u64)(value)
#define BIND_TEXT(value)                                                                                     \
	(sql_value)                                                                                              \
	{                                                                                                        \
		't', value, 0, NULL                                                                                  \
	}
typedef struct sql_value {
	char kind; /* 's': BLOB, 't': TEXT, 'u': number, 'd': digest; 0: end of the list */
	hob_str text;
	uint64_t number;
	const hob_sha256 *digest;
} sql_value;
static inline sql_value srv_store_str(hob_str value)
{
	return (sql_value){'s', value, 0, NULL};
}
static inline sql_value srv_store_digest(const hob_sha256 *value)
{
	return (sql_value){'d', {0}, 0, value};
}
static inline sql_value srv_store_u64(uint64_t value)
{
	return (sql_value){'u', {0}, value, NULL};
}
sqlite3_stmt *srv_store_read_with(srv_store *store, store_statement which, const sql_value *values,
								  hob_error *err);
/* `values` may be NULL. */
bool srv_store_run_now(srv_store *store, store_statement which, const sql_value *values, hob_error *err);
bool srv_store_run_with(srv_store *store, store_statement which, const sql_value *values,
						hob_error *err) HOB_MUST_CHECK;
/* store_debt.c. note: true if the row is written or will be; false without memory. rests: too early to try
 * again. begin: rolls back; false: the index is damaged, or nothing is waiting. is_quiet: false once, when
 * the user must be informed. */
struct owed_row {
	struct owed_row *next;
	store_statement which;
	sql_value *values;
};
bool srv_store_debt_note(srv_store *store, store_statement which, const sql_value *values);
bool srv_store_debt_rests(const srv_store *store, hob_error *err);
bool srv_store_debt_begin(srv_store *store, const hob_error *why);
bool srv_store_debt_is_quiet(srv_store *store, hob_error *err);
void srv_store_debt_clear(srv_store *store);
hob_str srv_store_column_str(sqlite3_stmt *statement, int index); /* until the next step */
uint64_t srv_store_column_u64(sqlite3_stmt *statement, int index);
hob_sha256 srv_store_column_digest(sqlite3_stmt *statement, int index);

/* ---- blobs ---- */

enum { STORE_TEMPORARY = 32 };
/* A file for the blob `name`: unnamed if the file system supports that, otherwise *named, and `temporary` in
 * tmp/. */
int srv_store_open_unnamed(srv_store *store, const char *name, char temporary[STORE_TEMPORARY], bool *named);
/* Links a file of srv_store_open_unnamed, which must hold the bytes of `digest`, and adds it to the table. */
bool srv_store_publish(srv_store *store, int fd, const char *temporary, bool named, const char *name,
					   const hob_sha256 *digest, uint64_t size, hob_error *err);
bool srv_store_blobs_load(srv_store *store, hob_error *err);
/* Makes the table match the folder after an unclean stop; new blobs are marked `suspect`. */
bool srv_store_blobs_sweep(srv_store *store, bool suspect, hob_error *err);
/* Removes blobs without a file from the table; returns how many. */
size_t srv_store_blobs_forget(srv_store *store);
/* Writes rows of changed blobs in the open transaction. The set moves to *taken; give it back on failure. */
bool srv_store_blobs_save(srv_store *store, digest_map *taken, hob_error *err);
/* Adds the blobs that were used since their row was written to the changed ones. */
void srv_store_blobs_note_use(srv_store *store);
void srv_store_blobs_unsave(srv_store *store, digest_map *taken);
void srv_store_blobs_unsave_all(srv_store *store);
/* Records that a row names these blobs. NOT_FOUND if one does not exist. */
bool srv_store_blobs_name(srv_store *store, const hob_sha256 *digests, size_t stride, uint32_t count,
						  hob_error *err);
/* Removes an unreferenced blob, unless it was put again meanwhile. Returns its size, or 0 if it stayed. */
uint64_t srv_store_blob_remove(srv_store *store, const hob_sha256 *digest, uint32_t now_s);
/* A blob used in the last minute is never evicted: a cook may just have found it. A new blob waits ten
 * minutes for its row. If the clock was set back, no time has passed. */
bool srv_store_is_idle(uint32_t used_at_s, bool awaited, uint32_t now_s);

/* ---- packed blobs: store_pack.c ---- */

/* Records are compressed without a dictionary, with the old one or with the newest one. */
enum { PACK_BLOB = 1, PACK_PLAIN_RECORD = 2, PACK_OLD_RECORD = 3, PACK_RECORD = 4 };
/* These update the table; blob_lock must be held. add: a blob of `size` bytes exists, new or larger than
 * before. remove: the blob is gone. damaged: the blob is wrong. */
blob_entry *srv_store_table_add(srv_store *store, const hob_sha256 *digest, uint64_t size,
								srv_pack_place place);
/* The same for bytes that are known to be right; it waits for its row. */
blob_entry *srv_store_table_put(srv_store *store, const hob_sha256 *digest, uint64_t size,
								srv_pack_place place);
void srv_store_table_remove(srv_store *store, const hob_sha256 *digest);
void srv_store_table_damaged(srv_store *store, const hob_sha256 *digest);
void srv_store_table_unsaved(srv_store *store, const hob_sha256 *digest); /* its row is outdated */
/* Copies the entry of a blob. False: it is unknown. */
bool srv_store_table_find(srv_store *store, const hob_sha256 *digest, blob_entry *out);
/* True if the blob exists and is undamaged. It then counts as used and as waiting for its row. */
bool srv_store_table_has(srv_store *store, const hob_sha256 *digest);
/* Stores at most pack_max bytes that are known to be `digest`. */
bool srv_store_pack_put(srv_store *store, const hob_sha256 *digest, hob_bytes bytes, hob_error *err);
/* Reads and hashes; wrong bytes are SRV_PACK_GONE. `bytes` may be NULL, and gets malloc'ed memory. */
srv_pack_answer srv_store_pack_read(srv_store *store, const hob_sha256 *digest, const blob_entry *entry,
									uint8_t **bytes);
/* A descriptor that holds exactly its bytes; -1 as srv_blob_open. */
int srv_store_pack_open(srv_store *store, const hob_sha256 *digest, const blob_entry *entry);
/* Forgets it as damaged, unless another copy exists by now. */
void srv_store_pack_drop(srv_store *store, const hob_sha256 *digest, srv_pack_place place);
/* With blob_lock held: adds everything in the packs to the table, unless it has a file, and to `there`. */
bool srv_store_packs_sweep(srv_store *store, bool suspect, digest_map *there);
/* Appends the needed data of a pack that is mostly unused, so that the pack can be removed. Loop thread. */
void srv_store_packs_shrink(srv_store *store);

/* ---- copies of records ---- */

bool srv_store_copy_put(srv_store *store, const srv_record *record, hob_error *err);
void srv_store_copy_remove(srv_store *store, const hob_sha256 *key);
/* Rewrites the copies that the index still has, if most are replaced or deleted. Loop thread. */
void srv_store_copies_shrink(srv_store *store);
/* Forgets the locations of copies; they are read again when needed. */
void srv_store_copies_forget(srv_store *store);
/* Reads every copy whose outputs all exist into the index, and deletes incomplete copies. */
bool srv_store_copies_read(srv_store *store, hob_error *err);

/* The text of this name; *out is valid until the next call. False if there is none. An empty name means the
 * empty text. */
bool srv_store_text(srv_store *store, hob_str name, hob_str *out);
/* Writes its name to `name`; *out is empty for an empty text. */
bool srv_store_put_text(srv_store *store, hob_str text, uint8_t name[16], hob_str *out, hob_error *err);
/* Call it after rows may have been lost or deleted. */
void srv_store_texts_forget(srv_store *store);
bool srv_store_has_record(srv_store *store, const hob_sha256 *key, bool *known, hob_error *err);
bool srv_store_record_put_rows(srv_store *store, const srv_record *record, hob_error *err);
/* Times of use are written to the hour, when there is time: at close and after eviction. */
enum { STORE_USE_STEP_S = 3600 };
bool srv_store_usage_save(srv_store *store, hob_error *err);
bool srv_store_parts_load(srv_store *store, hob_error *err);
/* Writes the rows of all parts whose blob exists. */
bool srv_store_parts_save(srv_store *store, hob_error *err);

#define STORE_START "index.start"

/* ---- index.start: store_start.c ----
 *
 * The rows that a start needs, copied from the index at a clean stop. The copy is used only after a clean
 * stop, for exactly the index.db of that stop (inode, size, times), and if its hash is right. Otherwise it is
 * made again, in memory. */

/* At close: collects the rows from memory and SQLite; when index.db is closed, writes the file, unless it
 * cannot be written or would nearly fill the disk. */
bool srv_store_start_collect(srv_store *store, bool blobs, hob_buf *out, hob_error *err);
void srv_store_start_write(srv_store *store, const hob_buf *rows);
/* At open: maps the file; false if it cannot be used. Then read blobs, parts and numbers, in this order. */
bool srv_store_start_open(srv_store *store);
void srv_store_start_read(srv_store *store);
void srv_store_start_use(srv_store *store, const hob_buf *rows); /* takes them */
void srv_store_start_close(srv_store *store);
bool srv_store_has_start(const srv_store *store);
/* Reads between these cost less; writing is not allowed. */
void srv_store_read_begin(srv_store *store);
/* Every record of the index, oldest first. *record is valid during the call. Costs about a third of looking
 * up each one. */
bool srv_store_each_record(srv_store *store, void (*each)(void *user, const srv_record *record), void *user,
						   hob_error *err) HOB_MUST_CHECK;
/* The rows, while srv_store_has_start(). */
void srv_store_start_files(srv_store *store, void (*each)(void *user, const srv_file_row *row), void *user);
void srv_store_start_assets(srv_store *store, void (*each)(void *user, const srv_asset_row *row), void *user);

#endif
