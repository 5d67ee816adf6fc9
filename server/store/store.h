/* store.h - what has been cooked: a folder of blobs named by their SHA-256, and an SQLite index.
 *
 *   <dir>/lock            flock of the daemon, holds its pid
 *   <dir>/blobs/ab/cdef.. immutable files, mode 0444; <dir>/tmp for unfinished ones (swept at open)
 *   <dir>/packs/NUMBER.pack   small blobs, many in a file (pack.h); <dir>/records/NUMBER.pack the records of
 *                             cooks
 *   <dir>/index.start     copy of what a start reads of the index, made at a clean stop; counts for exactly
 *                         that index.db
 *   <dir>/index.db        SQLite, WAL, synchronous=NORMAL, application_id 'HobI', user_version = schema
 *                         version
 *
 * Order of publishing: blob, then row, then event; a row never names a blob that is not there. A blob is made
 * as an unnamed file (O_TMPFILE), linked when complete: a SIGKILL leaves nothing half-done. Power loss may
 * tear what was not yet synced, and others may touch the files, so every blob is re-hashed when it is opened
 * for the first time in a process that did not write it, or when its file changed since (change time), a
 * packed one whenever it is opened, and a wrong one is dropped. srv_store_sync (called in the background
 * after each batch)
 * bounds that loss.
 *
 * Threads: blob functions may be called from any thread; everything else only from the loop's thread, which
 * is the only writer; `each` callbacks must not call back into the store. Row functions group into one
 * transaction that srv_store_commit ends; the engine commits once per loop turn.
 *
 * Errors: IO, DISK_FULL, LOCKED (another daemon; the context has its pid), NEWER (schema of a newer Hob:
 * nothing is touched), CORRUPT (the index is damaged: srv_store_rebuild), NOT_FOUND. */
#ifndef SRV_STORE_H
#define SRV_STORE_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"
#include "../fs/beneath.h"

typedef struct srv_store srv_store;

typedef struct srv_store_options {
	/* of all blobs; 0 = no cap. Eviction: least recently used, never what is live or open */
	uint64_t max_bytes;
	uint64_t pack_max; /* blobs up to this many bytes, 1 MiB at most, share files; 0: each has its own */
} srv_store_options;

/* Opens or creates. A damaged index is moved aside to index.db.damaged-<n> and a new one is begun (epoch
 * changes, blobs stay, records are re-read from their texts beside the blobs); *rebuilt tells (may be
 * NULL). */
bool srv_store_open(const char *dir, const srv_store_options *options, srv_store **out, bool *rebuilt,
					hob_error *err) HOB_MUST_CHECK;
/* Folders, pipes and links that had the name of a pack and were renamed (NAME.wrong-1) at the start. */
uint32_t srv_store_set_aside(const srv_store *store);
/* True from the moment at which SQLite found the index damaged. What was read before may be wrong, and a
 * transaction that was open is lost. */
bool srv_store_is_damaged(const srv_store *store);
/* Whether index.db is still the file that was opened; if not, it counts as damaged from now on. */
bool srv_store_has_index(srv_store *store);
/* Moves the damaged index aside and rebuilds it, in the same epoch: blobs from the folder, records from their
 * copies, parts from memory. The caller puts the rows of files and assets again; past jobs and changes are
 * lost. No other row function may be under way. After a failure (DISK_FULL, IO) row functions fail with
 * CORRUPT until a later call succeeds; blobs go on. Cost: about a read of every record's copy. */
bool srv_store_rebuild(srv_store *store, hob_error *err) HOB_MUST_CHECK;
void srv_store_close(
	srv_store *store); /* commits, checkpoints, marks the stop as clean, unlocks; NULL is fine */
/* Version of the index that this program writes: the number of steps in schema/store.sql. */
int srv_store_schema_version(void);
/* Random at the database's birth: 16 hex digits. */
const char *srv_store_epoch(const srv_store *store);
/* From now on, a row that cannot be written (another program locks the index, the disk is full) waits in
 * memory, in order with all later ones: row functions succeed, and each commit tries again. Memory is bounded
 * by 256 MiB; what is beyond it fails. Meanwhile srv_store_record reads a record's copy, and fails with IO
 * instead of NOT_FOUND. */
void srv_store_owe(srv_store *store);
/* True: rows have waited for more than two seconds; *why for people. The thread that writes. */
bool srv_store_owes(srv_store *store, hob_error *why);
/* False with IO: a row that was not found may be one that waits. Any thread, also of a reader. */
bool srv_store_is_whole(const srv_store *store, hob_error *err);
/* On failure (DISK_FULL, IO) everything since the last commit is lost, blobs excepted; or it waits, and this
 * says so once. */
bool srv_store_commit(srv_store *store, hob_error *err) HOB_MUST_CHECK;
/* Many reads in a row cost less between these two; nothing may be written there. After a clean stop
 * srv_store_each_file and _asset read a copy of the rows that the stop made, until something is written or
 * srv_store_read_end. */
bool srv_store_has_start(const srv_store *store);
void srv_store_read_begin(srv_store *store);
void srv_store_read_end(srv_store *store);
/* Any thread: makes what was written so far durable (syncfs), then folds the WAL into the index. Milliseconds
 * and more. False: the disk refused (IO, DISK_FULL), and a power cut may cost what was written since the last
 * one that went well. */
bool srv_store_sync(srv_store *store, hob_error *err) HOB_MUST_CHECK;
/* Whether enough was committed to fold it before the next srv_store_sync: a commit that has to fold the rest
 * waits longer. */
bool srv_store_log_is_long(const srv_store *store);
/* Any thread: the second half of srv_store_sync. */
bool srv_store_fold(srv_store *store, hob_error *err) HOB_MUST_CHECK;

/* ---- blobs: any thread ---- */

/* Stores bytes under their SHA-256 (computed here); storing what is there already costs only the hash. */
bool srv_blob_put(srv_store *store, hob_bytes bytes, hob_sha256 *out, hob_error *err) HOB_MUST_CHECK;
/* The same for bytes that come in pieces and must prove to be `digest`. write and finish: IO, DISK_FULL;
 * finish also CORRUPT when they are others, and nothing is stored then. finish and abort free the writer. */
typedef struct srv_blob_writer srv_blob_writer;
bool srv_blob_begin(srv_store *store, const hob_sha256 *digest, srv_blob_writer **out,
					hob_error *err) HOB_MUST_CHECK;
bool srv_blob_write(srv_blob_writer *writer, hob_bytes bytes, hob_error *err) HOB_MUST_CHECK;
bool srv_blob_finish(srv_blob_writer *writer, hob_error *err) HOB_MUST_CHECK;
void srv_blob_abort(srv_blob_writer *writer); /* NULL is fine */
/* A read-only descriptor (close-on-exec) of a file that holds exactly the blob, in memory when the blob is
 * packed, and the size; -1 when there is no such blob, or when it proved damaged (it is dropped then; the
 * engine learns of it through srv_store_take_damaged). */
int srv_blob_open(srv_store *store, const hob_sha256 *digest, uint64_t *size);
/* All of its bytes into `out`. False when it is not there or has another size. */
bool srv_blob_read(srv_store *store, const hob_sha256 *digest, uint8_t *out, uint64_t size);
bool srv_blob_exists(srv_store *store, const hob_sha256 *digest);
/* The same by the table in memory alone. */
bool srv_blob_known(srv_store *store, const hob_sha256 *digest);
/* Re-hashes one blob; false and drops it when it is wrong or missing. */
bool srv_blob_verify(srv_store *store, const hob_sha256 *digest);
/* The same; without `drop` a wrong one stays, unreported. */
bool srv_blob_check(srv_store *store, const hob_sha256 *digest, bool drop);
/* Digests of all blobs in no order, in memory of malloc (NULL when it is short). Any thread. */
hob_sha256 *srv_store_digests(srv_store *store, size_t *count);
/* Digests of blobs found damaged or missing since the last call, by open, verify or the sweep after an
 * unclean stop; returns how many were written to out. Rows that name them stay: the engine cooks again, or
 * deletes. Any thread. */
size_t srv_store_take_damaged(srv_store *store, hob_sha256 *out, size_t room);

/* ---- files: stat data and digest of every source and dependency seen ---- */

typedef struct srv_file_row {
	hob_str root, path; /* root name */
	srv_stat stat;
	hob_sha256 digest;
} srv_file_row;

bool srv_store_put_file(srv_store *store, const srv_file_row *row, hob_error *err) HOB_MUST_CHECK;
bool srv_store_delete_file(srv_store *store, hob_str root, hob_str path, hob_error *err) HOB_MUST_CHECK;
bool srv_store_each_file(srv_store *store, void (*each)(void *user, const srv_file_row *row), void *user,
						 hob_error *err) HOB_MUST_CHECK;

/* ---- records: what a cook made of which inputs ---- */

/* `lookup` is known before a cook: hash of source digest, importer, versions, settings, profile. `key` also
 * holds every dependency. Several records share a lookup when dependencies differ. The text of each
 * (record.h) is also kept in a pack in <dir>/records, so that losing the index costs a re-hash and no
 * cook. */
typedef struct srv_record_dep {
	hob_str path; /* relative to the source's folder ("../tex/a.png", "a.bin"): the same for a moved pair */
	bool missing;
	hob_sha256 digest; /* zero when missing */
} srv_record_dep;

typedef struct srv_record_output {
	hob_str name; /* "meshes", "textures/3", "classic.scene" */
	hob_sha256 digest;
	uint64_t size;
} srv_record_output;

typedef struct srv_record {
	hob_sha256 key, lookup;
	hob_sha256 source;	 /* digest of the source */
	hob_str file_name;	 /* empty unless the cook depended on the source's own name */
	hob_str ingredients; /* JSON: importer, versions, settings, profile: what `why` compares */
	hob_str stats;		 /* JSON: counts for lists */
	uint32_t warnings;
	uint64_t cook_ns, peak_bytes;
	int64_t cooked_at_ms; /* Unix time */
	uint32_t dep_count, output_count;
	srv_record_dep *deps;
	srv_record_output *outputs;
	/* A failed cook is remembered by its key as well, so that it is not repeated until an input changes. */
	hob_str error; /* JSON error object, empty for success */
} srv_record;

/* NOT_FOUND when an output is not (no longer) in the store: a row never names a blob that is not there. The
 * same holds for add_outputs and put_part. Putting a key again replaces all of it. */
bool srv_store_put_record(srv_store *store, const srv_record *record, hob_error *err) HOB_MUST_CHECK;
/* Adds outputs to an existing record (classic made on request); one of the same name is replaced.
 * NOT_FOUND. */
bool srv_store_add_outputs(srv_store *store, const hob_sha256 *key, const srv_record_output *outputs,
						   uint32_t count, hob_error *err) HOB_MUST_CHECK;
/* Newest first, at most 256; the rows live in `arena`. *count = 0 when there is none. Their outputs may have
 * been dropped as damaged: see srv_blob_exists. */
bool srv_store_records(srv_store *store, const hob_sha256 *lookup, hob_arena *arena, srv_record **out,
					   uint32_t *count, hob_error *err) HOB_MUST_CHECK;
/* One record by key; false with NOT_FOUND. */
bool srv_store_record(srv_store *store, const hob_sha256 *key, hob_arena *arena, srv_record *out,
					  hob_error *err) HOB_MUST_CHECK;
/* Any thread: the record of this key as text (record.h); appends nothing when there is none. */
void srv_store_read_record(srv_store *store, const hob_sha256 *key, hob_buf *out);
/* Every record of the index, the oldest first. What `record` points to is valid during the call. About a
 * third of the cost of looking each one up. */
bool srv_store_each_record(srv_store *store, void (*each)(void *user, const srv_record *record), void *user,
						   hob_error *err) HOB_MUST_CHECK;
/* The record that an asset's row named by its place in the copy, between the same srv_store_read_begin and
 * _end; its texts are valid as long. *whole: all of its outputs are in the cache. Some memory is of the
 * arena. */
bool srv_store_record_at(srv_store *store, uint64_t place, hob_arena *arena, srv_record *out, bool *whole,
						 hob_error *err) HOB_MUST_CHECK;
/* Its blobs stay until srv_store_trim finds that nothing names them. */
bool srv_store_delete_record(srv_store *store, const hob_sha256 *key, hob_error *err) HOB_MUST_CHECK;

/* Result of cooking a record again; deleted with the record. */
typedef struct srv_audit_row {
	hob_sha256 record;
	int64_t at_ms; /* Unix time */
	hob_str found; /* JSON object: what was otherwise; empty = nothing */
} srv_audit_row;

bool srv_store_put_audit(srv_store *store, const srv_audit_row *row, hob_error *err) HOB_MUST_CHECK;
bool srv_store_delete_audit(srv_store *store, const hob_sha256 *record, hob_error *err) HOB_MUST_CHECK;
/* Calls `each` for the record's own, if there is one. */
bool srv_store_audit(srv_store *store, const hob_sha256 *record,
					 void (*each)(void *user, const srv_audit_row *row), void *user,
					 hob_error *err) HOB_MUST_CHECK;
bool srv_store_each_audit(srv_store *store, void (*each)(void *user, const srv_audit_row *row), void *user,
						  hob_error *err) HOB_MUST_CHECK;

/* ---- assets: current state of each ---- */

typedef struct srv_asset_row {
	hob_str root, path;
	hob_str state;	 /* "fresh", "failed" ...: schema/job_states.def; transient states are not stored */
	uint64_t rev;	 /* of its last published change */
	hob_sha256 good; /* record whose outputs are served; zero = never cooked */
	hob_sha256 last; /* record of the newest attempt (differs from good after a failure) */
	int64_t cooked_at_ms;
	hob_str error;					 /* JSON, empty when fine */
	uint64_t good_place, last_place; /* read only: for srv_store_record_at; 0: to be looked up by its key */
} srv_asset_row;

bool srv_store_put_asset(srv_store *store, const srv_asset_row *row, hob_error *err) HOB_MUST_CHECK;
bool srv_store_delete_asset(srv_store *store, hob_str root, hob_str path, hob_error *err) HOB_MUST_CHECK;
bool srv_store_each_asset(srv_store *store, void (*each)(void *user, const srv_asset_row *row), void *user,
						  hob_error *err) HOB_MUST_CHECK;

/* Makes the cache's folders again, and takes its lock again, when somebody removed them (*made of them), and
 * forgets the blobs that are gone with them (*lost). LOCKED: another Hob took the cache meanwhile; nothing
 * was touched. Loop thread. */
bool srv_store_keep_folders(srv_store *store, uint32_t *made, size_t *lost, hob_error *err) HOB_MUST_CHECK;
/* An open folder that holds nothing and takes nothing, in place of one that is not there; -1 with errno. The
 * caller's. */
int srv_store_open_nothing(srv_store *store);

/* ---- watched folders ---- */

typedef struct srv_root_row {
	hob_str name, path;		  /* path: absolute */
	uint64_t device, inode;	  /* of the folder when its files were listed last */
	int64_t missing_since_ms; /* Unix time; 0 = it was there */
} srv_root_row;

bool srv_store_put_root(srv_store *store, const srv_root_row *row, hob_error *err) HOB_MUST_CHECK;
bool srv_store_each_root(srv_store *store, void (*each)(void *user, const srv_root_row *row), void *user,
						 hob_error *err) HOB_MUST_CHECK;

/* ---- memoised parts (textures, meshes): part key -> blob; the map may be asked from any thread ---- */

bool srv_store_put_part(srv_store *store, const hob_sha256 *key, const hob_sha256 *blob,
						hob_error *err) HOB_MUST_CHECK;
bool srv_store_part(srv_store *store, const hob_sha256 *key, hob_sha256 *blob);

/* ---- jobs and changes: history ---- */

#define SRV_STORE_COOKED_BY "\ncooked by "

typedef struct srv_job_row {
	uint64_t id;
	hob_str asset;	/* "root/path" */
	hob_str reason; /* JSON array of dirty reasons */
	hob_str result; /* "cooked", "hit", "failed", "cancelled" */
	hob_sha256 record;
	int64_t queued_at_ms, started_at_ms, finished_at_ms;
	uint64_t cook_ns, peak_bytes;
	hob_str error; /* JSON or empty */
	/* what the worker printed, capped by the caller; of a fetched result the address of the other cache,
	 * SRV_STORE_COOKED_BY and the machine's name, as far as known */
	hob_str log;
	hob_str stages; /* as srv_job_steps_print has them; empty: not kept */
} srv_job_row;

/* An id again replaces the row. Rows older than the newest 20,000 ids are trimmed. */
bool srv_store_put_job(srv_store *store, const srv_job_row *row, hob_error *err) HOB_MUST_CHECK;
uint64_t srv_store_last_job(srv_store *store);
/* Newest first, ids below `before` (0 = from the newest), only of `asset` unless empty, at most `limit`. */
bool srv_store_jobs(srv_store *store, hob_str asset, uint64_t before, uint32_t limit, hob_arena *arena,
					srv_job_row **out, uint32_t *count, hob_error *err) HOB_MUST_CHECK;

/* The asset `id` was `earlier` ("root/path") up to and including `rev`, and is `name` since. */
typedef struct srv_move_row {
	uint64_t number, rev; /* number: ever growing from 1 */
	hob_str id, earlier, name;
} srv_move_row;

/* Writes the row; past jobs of `earlier` are those of `name` from now on. */
bool srv_store_put_move(srv_store *store, const srv_move_row *row, hob_error *err) HOB_MUST_CHECK;
/* Oldest first. */
bool srv_store_each_move(srv_store *store, void (*each)(void *user, const srv_move_row *row), void *user,
						 hob_error *err) HOB_MUST_CHECK;
/* The name at `rev` of what is `full` now, in `arena` if it had another; NULL data without memory. */
hob_str srv_store_name_at(srv_store *store, hob_str full, uint64_t rev, hob_arena *arena);

typedef struct srv_change_row {
	uint64_t rev;
	hob_str event; /* "asset" */
	hob_str data;  /* JSON; of changes that are one rev, each on a line of its own */
} srv_change_row;

bool srv_store_put_change(srv_store *store, const srv_change_row *row, hob_error *err) HOB_MUST_CHECK;
/* For the data of a large one: what the next srv_store_put_change puts before row->data. Packs it now, so
 * that the row costs little. False without memory: not taken. */
bool srv_store_put_change_part(srv_store *store, hob_str text) HOB_MUST_CHECK;
uint64_t srv_store_last_rev(srv_store *store);
/* Rows older than the newest 100,000 are trimmed. Every change with first <= rev <= last, oldest or newest
 * rev first, until `each` returns false. */
bool srv_store_each_change(srv_store *store, uint64_t first, uint64_t last, bool newest_first,
						   bool (*each)(void *user, const srv_change_row *row), void *user,
						   hob_error *err) HOB_MUST_CHECK;
/* Number of the oldest change that is still held; 0 when there is none. */
uint64_t srv_store_first_rev(srv_store *store);

/* ---- housekeeping ---- */

typedef struct srv_store_usage {
	uint64_t blob_bytes, blob_count, record_count, part_count, max_bytes;
	uint64_t evicted_bytes, damaged_blobs;
	uint64_t oldest_idle_s;	  /* since the least recently used blob was used */
	uint64_t disk_free_bytes; /* for unprivileged users, on the cache's file system */
} srv_store_usage;
void srv_store_measure(srv_store *store, srv_store_usage *out); /* any thread */
void srv_store_limit(srv_store *store, uint64_t max_bytes);		/* as in the options; loop thread */
/* When over max_bytes: evicts least recently used records, parts and their blobs until at nine tenths of it.
 * `live` tells which record keys must stay (NULL: none); it should name the keys behind `good` and `last` of
 * every asset. What was used in the last minute stays, too. Every ten minutes also deletes blobs that nothing
 * named for ten minutes. Commits. Returns bytes freed. Free of cost when there is nothing to do; else about 1
 * us per record, output and part. */
/* The next srv_store_trim looks for everything that may go, whatever it found lately. */
void srv_store_trim_soon(srv_store *store);
uint64_t srv_store_trim(srv_store *store, bool (*live)(void *user, const hob_sha256 *record), void *user);
/* The second half of srv_store_trim for a daemon, whose loop it would stop. Once it is due, and from then on
 * not due for ten minutes, for srv_store_trim neither: find (any thread, one at a time), then drop (loop
 * thread; returns bytes freed) what was found. *out is for free(); errors: those of srv_reader_begin. */
bool srv_store_sweep_is_due(srv_store *store);
bool srv_store_find_orphans(srv_store *store, hob_sha256 **out, uint32_t *count,
							hob_error *err) HOB_MUST_CHECK;
uint64_t srv_store_drop_orphans(srv_store *store, const hob_sha256 *digests, uint32_t count);
/* The bytes that a trim at once would delete; deletes nothing. */
uint64_t srv_store_would_trim(srv_store *store, bool (*live)(void *user, const hob_sha256 *record),
							  void *user);

#endif
