/* store.h - the cache of cook results: a folder of blobs named by their SHA-256, and an SQLite index.
 *
 *   <dir>/lock            flock of the daemon, holds its pid
 *   <dir>/blobs/ab/cdef.. immutable files, mode 0444; <dir>/tmp for unfinished ones (deleted at open)
 *   <dir>/packs/NUMBER.pack   small blobs, many in a file (pack.h); <dir>/records/NUMBER.pack the records of
 *                             cooks
 *   <dir>/index.start     copy of the rows that a start reads, written at a clean stop; valid for exactly
 *                         that index.db
 *   <dir>/index.db        SQLite, WAL, synchronous=NORMAL, application_id 'HobI', user_version = schema
 *                         version
 *
 * Order of publishing: blob, then row, then event; a row never names a missing blob. A blob is written to an
 * unnamed file (O_TMPFILE) and linked when complete, so a SIGKILL leaves nothing half-done. Power loss may
 * tear unsynced data, and others may touch the files. Therefore a blob is hashed again at its first open in a
 * process that did not write it, and after its file has changed (change time); a packed blob at every open. A
 * blob with a wrong hash is dropped. srv_store_sync, called after each batch, bounds the loss.
 *
 * Threads: blob functions may be called from any thread; everything else only from the loop's thread, which
 * is the only writer; `each` callbacks must not call back into the store. Row functions join one transaction,
 * which srv_store_commit ends; the engine commits once per loop turn.
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
	/* limit of all blobs; 0: none. Evicts the least recently used, but nothing live or open */
	uint64_t max_bytes;
	uint64_t pack_max; /* blobs up to this many bytes, 1 MiB at most, share files; 0: each has its own */
} srv_store_options;

/* Opens or creates. A damaged index is moved aside to index.db.damaged-<n> and a new one is made (the epoch
 * changes, blobs stay, records are re-read from their texts beside the blobs); *rebuilt (may be NULL):
 * whether that happened. */
bool srv_store_open(const char *dir, const srv_store_options *options, srv_store **out, bool *rebuilt,
					hob_error *err) HOB_MUST_CHECK;
/* Folders, pipes and links that had the name of a pack and were renamed (NAME.wrong-1) at the start. */
uint32_t srv_store_set_aside(const srv_store *store);
/* True once SQLite has found the index damaged. Earlier reads may be wrong, and an open transaction is
 * lost. */
bool srv_store_is_damaged(const srv_store *store);
/* Whether index.db is still the file that was opened; if not, it counts as damaged. */
bool srv_store_has_index(srv_store *store);
/* Moves the damaged index aside and rebuilds it, in the same epoch: blobs from the folder, records from their
 * copies, parts from memory. The caller puts the rows of files and assets again; past jobs and changes are
 * lost. No other row function may be running. After a failure (DISK_FULL, IO) row functions fail with CORRUPT
 * until a later call succeeds; blob functions still work. Cost: about a read of every record's copy. */
bool srv_store_rebuild(srv_store *store, hob_error *err) HOB_MUST_CHECK;
void srv_store_close(
	srv_store *store); /* commits, checkpoints, marks the stop as clean, unlocks; NULL is allowed */
/* Version of the index that this program writes: the number of steps in schema/store.sql. */
int srv_store_schema_version(void);
/* Random, chosen when the database is created: 16 hex digits. */
const char *srv_store_epoch(const srv_store *store);
/* From now on, a row that cannot be written (another program locks the index, the disk is full) waits in
 * memory, in order with all later ones: row functions succeed, and each commit tries again. Memory is bounded
 * by 256 MiB; beyond it row functions fail. Meanwhile srv_store_record reads a record's copy, and fails with
 * IO instead of NOT_FOUND. */
void srv_store_owe(srv_store *store);
/* True: rows have waited for more than two seconds; *why is a message. Writer thread only. */
bool srv_store_owes(srv_store *store, hob_error *why);
/* False with IO: a row that was not found may be waiting. Any thread, also of a reader. */
bool srv_store_is_whole(const srv_store *store, hob_error *err);
/* On failure (DISK_FULL, IO) everything since the last commit except blobs is lost; after srv_store_owe it
 * waits instead, and this fails once. */
bool srv_store_commit(srv_store *store, hob_error *err) HOB_MUST_CHECK;
/* Before srv_store_each_file and _asset, to get places of records, too: after a clean stop from index.start,
 * else from SQLite. Writing is not allowed until srv_store_read_end. Errors: those of reading. */
bool srv_store_read_rows(srv_store *store, hob_error *err) HOB_MUST_CHECK;
void srv_store_read_end(srv_store *store);
/* The reads that follow see one state of the index and take its lock once, until the next write or _part. */
void srv_store_read_together(srv_store *store);
void srv_store_read_part(srv_store *store);
/* Any thread: makes everything written so far durable (syncfs), then runs a checkpoint of the WAL. Takes
 * milliseconds or more. False: the disk refused (IO, DISK_FULL), and a power cut may lose everything since
 * the last success. */
bool srv_store_sync(srv_store *store, hob_error *err) HOB_MUST_CHECK;
/* Whether the WAL is so long that srv_store_fold should run before the next srv_store_sync; otherwise SQLite
 * runs the checkpoint in a commit, which then takes longer. */
bool srv_store_log_is_long(const srv_store *store);
/* Any thread: runs the checkpoint, the second half of srv_store_sync. */
bool srv_store_fold(srv_store *store, hob_error *err) HOB_MUST_CHECK;

/* ---- blobs: any thread ---- */

/* Stores bytes under their SHA-256 (computed here); for an existing blob this costs only the hash. */
bool srv_blob_put(srv_store *store, hob_bytes bytes, hob_sha256 *out, hob_error *err) HOB_MUST_CHECK;
/* Like srv_blob_put, for bytes in pieces with the expected `digest`. write and finish: IO, DISK_FULL; finish
 * also CORRUPT when the digest differs; nothing is then stored. finish and abort free the writer. */
typedef struct srv_blob_writer srv_blob_writer;
bool srv_blob_begin(srv_store *store, const hob_sha256 *digest, srv_blob_writer **out,
					hob_error *err) HOB_MUST_CHECK;
bool srv_blob_write(srv_blob_writer *writer, hob_bytes bytes, hob_error *err) HOB_MUST_CHECK;
bool srv_blob_finish(srv_blob_writer *writer, hob_error *err) HOB_MUST_CHECK;
void srv_blob_abort(srv_blob_writer *writer); /* NULL is allowed */
/* A read-only descriptor (close-on-exec) of a file with exactly the blob's bytes, in memory for a packed
 * blob, and the size; -1 when there is no such blob, or when it is damaged (it is then dropped, and the
 * engine is notified by srv_store_take_damaged). */
int srv_blob_open(srv_store *store, const hob_sha256 *digest, uint64_t *size);
/* Reads all bytes of the blob into `out`. False when it is missing or has another size. */
bool srv_blob_read(srv_store *store, const hob_sha256 *digest, uint8_t *out, uint64_t size);
bool srv_blob_exists(srv_store *store, const hob_sha256 *digest);
/* Like srv_blob_exists, but looks only at the table in memory. */
bool srv_blob_known(srv_store *store, const hob_sha256 *digest);
/* Re-hashes one blob; returns false and drops it when it is wrong or missing. */
bool srv_blob_verify(srv_store *store, const hob_sha256 *digest);
/* Like srv_blob_verify, but without `drop` a wrong blob is neither dropped nor reported. */
bool srv_blob_check(srv_store *store, const hob_sha256 *digest, bool drop);
/* Digests of all blobs, unordered, malloc'ed (NULL without memory). Any thread. */
hob_sha256 *srv_store_digests(srv_store *store, size_t *count);
/* Digests of blobs found damaged or missing since the last call, by open, verify or the sweep after an
 * unclean stop; returns how many were written to out. Rows that name them remain: the engine cooks again or
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

/* ---- records: result of a cook by its inputs ---- */

/* `lookup` is known before a cook: hash of source digest, importer, versions, settings, profile. `key` also
 * covers every dependency. Records share a lookup when only dependencies differ. The text of each (record.h)
 * is also kept in a pack in <dir>/records, so that losing the index costs a re-hash but no cook. */
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
	hob_str ingredients; /* JSON: importer, versions, settings, profile; compared by `hob why` */
	hob_str stats;		 /* JSON: counts for lists */
	uint32_t warnings;
	uint64_t cook_ns, peak_bytes;
	int64_t cooked_at_ms; /* Unix time */
	uint32_t dep_count, output_count;
	srv_record_dep *deps;
	srv_record_output *outputs;
	/* A failed cook is also stored by its key, so that it is not repeated until an input changes. */
	hob_str error; /* JSON error object, empty for success */
} srv_record;

/* NOT_FOUND when an output is not in the store: a row never names a missing blob. The same holds for
 * add_outputs and put_part. Putting a key again replaces the whole record. */
bool srv_store_put_record(srv_store *store, const srv_record *record, hob_error *err) HOB_MUST_CHECK;
/* Adds outputs to an existing record (classic, made on request), replacing those of the same name.
 * NOT_FOUND. */
bool srv_store_add_outputs(srv_store *store, const hob_sha256 *key, const srv_record_output *outputs,
						   uint32_t count, hob_error *err) HOB_MUST_CHECK;
/* Newest first, at most 256; the rows live in `arena`. *count = 0 when there is none. Outputs may have been
 * dropped as damaged: see srv_blob_exists. */
bool srv_store_records(srv_store *store, const hob_sha256 *lookup, hob_arena *arena, srv_record **out,
					   uint32_t *count, hob_error *err) HOB_MUST_CHECK;
/* One record by key; false with NOT_FOUND. */
bool srv_store_record(srv_store *store, const hob_sha256 *key, hob_arena *arena, srv_record *out,
					  hob_error *err) HOB_MUST_CHECK;
/* Any thread: appends the record of this key as text (record.h), or nothing. */
void srv_store_read_record(srv_store *store, const hob_sha256 *key, hob_buf *out);
/* The record at a place that an asset's row refers to, between srv_store_read_rows and _end; its texts are
 * valid as long. *whole: all of its outputs are in the cache. Some memory is from the arena. */
bool srv_store_record_at(srv_store *store, uint64_t place, hob_arena *arena, srv_record *out, bool *whole,
						 hob_error *err) HOB_MUST_CHECK;
/* Deletes the row only; the blobs stay until srv_store_trim finds them unreferenced. */
bool srv_store_delete_record(srv_store *store, const hob_sha256 *key, hob_error *err) HOB_MUST_CHECK;

/* ---- assets: current state of each ---- */

typedef struct srv_asset_row {
	hob_str root, path;
	hob_str state;	 /* "fresh", "failed" ...: schema/job_states.def; transient states are not stored */
	uint64_t rev;	 /* rev of its last published change */
	hob_sha256 good; /* record whose outputs are served; zero = never cooked */
	hob_sha256 last; /* record of the newest attempt (differs from good after a failure) */
	int64_t cooked_at_ms;
	hob_str error;					 /* JSON, empty when fine */
	uint64_t good_place, last_place; /* read only, for srv_store_record_at; 0: there is none */
} srv_asset_row;

bool srv_store_put_asset(srv_store *store, const srv_asset_row *row, hob_error *err) HOB_MUST_CHECK;
bool srv_store_delete_asset(srv_store *store, hob_str root, hob_str path, hob_error *err) HOB_MUST_CHECK;
bool srv_store_each_asset(srv_store *store, void (*each)(void *user, const srv_asset_row *row), void *user,
						  hob_error *err) HOB_MUST_CHECK;

/* Recreates the cache's folders and takes its lock again, if they were removed (*made of them), and forgets
 * the blobs that are lost with them (*lost). LOCKED: another Hob took the cache meanwhile; nothing was
 * touched. Loop thread. */
bool srv_store_keep_folders(srv_store *store, uint32_t *made, size_t *lost, hob_error *err) HOB_MUST_CHECK;
/* A descriptor of an empty, unwritable folder, as a placeholder for a missing one; -1 with errno. Owned by
 * the caller. */
int srv_store_open_nothing(srv_store *store);

/* ---- watched folders ---- */

typedef struct srv_root_row {
	hob_str name, path;		  /* `path` is absolute */
	uint64_t device, inode;	  /* device and inode of the folder when its files were last listed */
	int64_t missing_since_ms; /* Unix time; 0: it existed */
} srv_root_row;

bool srv_store_put_root(srv_store *store, const srv_root_row *row, hob_error *err) HOB_MUST_CHECK;
bool srv_store_each_root(srv_store *store, void (*each)(void *user, const srv_root_row *row), void *user,
						 hob_error *err) HOB_MUST_CHECK;

/* ---- memoised parts (textures, meshes): part key -> blob; the map may be read from any thread ---- */

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
	/* output of the worker, limited by the caller; for a fetched result the address of the other cache,
	 * SRV_STORE_COOKED_BY and the machine's name, as far as known */
	hob_str log;
	hob_str stages; /* as srv_job_steps_print writes them; empty: not kept */
} srv_job_row;

/* A repeated id replaces the row. Rows older than the newest 20,000 ids are trimmed. */
bool srv_store_put_job(srv_store *store, const srv_job_row *row, hob_error *err) HOB_MUST_CHECK;
uint64_t srv_store_last_job(srv_store *store);
/* Newest first, at most `limit`: jobs of `asset` (empty: of all) with an id below `before` (0: any id). */
bool srv_store_jobs(srv_store *store, hob_str asset, uint64_t before, uint32_t limit, hob_arena *arena,
					srv_job_row **out, uint32_t *count, hob_error *err) HOB_MUST_CHECK;

/* Asset `id` was named `earlier` ("root/path") up to and including `rev`, and `name` afterwards. */
typedef struct srv_move_row {
	uint64_t number, rev; /* `number` increases from 1 */
	hob_str id, earlier, name;
} srv_move_row;

/* Writes the row, and assigns past jobs of `earlier` to `name`. */
bool srv_store_put_move(srv_store *store, const srv_move_row *row, hob_error *err) HOB_MUST_CHECK;
/* Oldest first. */
bool srv_store_each_move(srv_store *store, void (*each)(void *user, const srv_move_row *row), void *user,
						 hob_error *err) HOB_MUST_CHECK;
/* The name at `rev` of the asset now called `full`, in `arena` if it differed; NULL data without memory. */
hob_str srv_store_name_at(srv_store *store, hob_str full, uint64_t rev, hob_arena *arena);

typedef struct srv_change_row {
	uint64_t rev;
	hob_str event; /* "asset" */
	hob_str data;  /* JSON; changes that share one rev are separate lines */
} srv_change_row;

bool srv_store_put_change(srv_store *store, const srv_change_row *row, hob_error *err) HOB_MUST_CHECK;
/* Takes a part of a large change's data, which the next srv_store_put_change puts before row->data.
 * Compresses it now, so that the row costs little. False without memory: not taken. */
bool srv_store_put_change_part(srv_store *store, hob_str text) HOB_MUST_CHECK;
uint64_t srv_store_last_rev(srv_store *store);
/* Calls `each` for every change with first <= rev <= last, by rev, until `each` returns false. Rows older
 * than the newest 100,000 are trimmed. */
bool srv_store_each_change(srv_store *store, uint64_t first, uint64_t last, bool newest_first,
						   bool (*each)(void *user, const srv_change_row *row), void *user,
						   hob_error *err) HOB_MUST_CHECK;
/* Number of the oldest stored change; 0 when there is none. */
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
/* srv_store_trim, when over max_bytes: evicts least recently used records, parts and their blobs down to nine
 * tenths of it. `live` returns the record keys that must stay (NULL: none); it should name the keys behind
 * `good` and `last` of every asset. Anything used in the last minute stays, too. Every ten minutes also
 * deletes blobs that have been unreferenced for ten minutes. Commits. Returns bytes freed. Costs nothing when
 * there is nothing to do; else about 1 us per record, output and part. */
/* srv_store_trim_soon: the next srv_store_trim searches completely, whatever it found lately. */
void srv_store_trim_soon(srv_store *store);
uint64_t srv_store_trim(srv_store *store, bool (*live)(void *user, const hob_sha256 *record), void *user);
/* The second half of srv_store_trim in two steps, so that a daemon's loop is not blocked: find (any thread,
 * one call at a time), then drop (loop thread; returns bytes freed). is_due: whether to do so; once true,
 * neither this nor srv_store_trim looks for orphans for ten minutes. *out is for free(); errors: those of
 * srv_reader_begin. */
bool srv_store_sweep_is_due(srv_store *store);
bool srv_store_find_orphans(srv_store *store, hob_sha256 **out, uint32_t *count,
							hob_error *err) HOB_MUST_CHECK;
uint64_t srv_store_drop_orphans(srv_store *store, const hob_sha256 *digests, uint32_t count);
/* The bytes that an immediate trim would delete; deletes nothing. */
uint64_t srv_store_would_trim(srv_store *store, bool (*live)(void *user, const hob_sha256 *record),
							  void *user);

#endif
