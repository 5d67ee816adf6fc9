#include "reader.h"
#include "row.h"
#include "store_internal.h"

#include "../../core/base/array.h"

#include <stdlib.h>
#include <sys/statvfs.h>

enum { EVICT_PAUSE_S = 30 };

/* Something that can be evicted: a record with its outputs, or a part. */
typedef struct candidate {
	hob_sha256 key;
	bool record; /* otherwise a part */
	hob_sha256 blob;
	uint32_t used_at_s;
	size_t passed_before; /* next in the chain that begins at name_count.passed */
} candidate;

typedef struct name_count {
	uint32_t records, parts; /* number of rows that name the blob */
	uint32_t owner;			 /* index + 1 of the only record that names the blob; 0: not exactly one */
	size_t passed;			 /* parts skipped while records named the blob: index + 1 of the last; 0: none */
} name_count;

typedef struct trimmer {
	srv_store *store;
	digest_map names; /* name_count */
	candidate *items;
	uint32_t count, room;
	digest_map loose;	/* blobs no longer named */
	digest_map evicted; /* records whose copies are deleted as well */
	uint64_t loose_bytes;
	uint32_t now;
	hob_error err;
	bool ok, dry; /* `dry`: counts what could be deleted, deletes nothing */
} trimmer;

void srv_store_limit(srv_store *store, uint64_t max_bytes)
{
	store->max_bytes = max_bytes;
}

void srv_store_measure(srv_store *store, srv_store_usage *out)
{
	*out =
		(srv_store_usage){.record_count = atomic_load(&store->record_count), .max_bytes = store->max_bytes};
	struct statvfs disk;
	if (fstatvfs(store->blobs_fd, &disk) == 0)
		out->disk_free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	pthread_mutex_lock(&store->part_lock);
	out->part_count = store->parts.count;
	pthread_mutex_unlock(&store->part_lock);
	SRV_LOCKED(&store->blob_lock);
	uint32_t now = srv_store_now_s(store);
	const blob_entry *entry;
	for (size_t at = 0; (entry = srv_digest_map_next(&store->blobs, &at, NULL));)
		if (now > entry->used_at_s && now - entry->used_at_s > out->oldest_idle_s)
			out->oldest_idle_s = now - entry->used_at_s;
	out->blob_bytes = store->blob_bytes;
	out->blob_count = store->blobs.count;
	out->evicted_bytes = store->evicted_bytes;
	out->damaged_blobs = store->damaged_count;
}

/* ---- references */

static void add_name(trimmer *t, const hob_sha256 *digest, bool part)
{
	bool fresh;
	name_count *count = srv_digest_map_put(&t->names, digest, &fresh);
	count->parts += part;
	count->records += !part;
	if (!part)
		count->owner = fresh || count->owner == t->count ? t->count : 0;
}

static void add_candidate(trimmer *t, candidate item)
{
	if (!HOB_ROOM(t->items, t->room, t->count))
		abort();
	t->items[t->count++] = item;
}

static void collect_parts(trimmer *t)
{
	hob_sha256 key;
	const part_entry *part;
	SRV_LOCKED(&t->store->part_lock);
	for (size_t at = 0; (part = srv_digest_map_next(&t->store->parts, &at, &key));) {
		add_candidate(t, (candidate){.key = key, .blob = part->blob, .used_at_s = part->used_at_s});
		add_name(t, &part->blob, true);
	}
}

static bool count_outputs(trimmer *t, hob_str lists)
{
	hob_own_arena arena;
	srv_record record;
	hob_arena_init(&arena, SIZE_MAX);
	bool ok = srv_row_take_lists(lists, &arena, &record) || hob_fail(&t->err, CORRUPT, "a record is damaged");
	if (!ok)
		srv_store_mark_damaged(t->store);
	for (uint32_t i = 0; ok && i < record.output_count; i++)
		add_name(t, &record.outputs[i].digest, false);
	return ok;
}

/* Marks a record as used if an output that only this record names was opened. Outputs that all versions of a
 * model share, such as its materials, do not show which version is in use. */
static void note_opened(trimmer *t)
{
	hob_sha256 digest;
	blob_entry blob;
	const name_count *count;
	for (size_t at = 0; (count = srv_digest_map_next(&t->names, &at, &digest));)
		if (count->owner > 0 && srv_store_table_find(t->store, &digest, &blob) &&
			blob.used_at_s > t->items[count->owner - 1].used_at_s)
			t->items[count->owner - 1].used_at_s = blob.used_at_s;
}

static bool collect_records(trimmer *t)
{
	sqlite3_stmt *rows = srv_store_read(t->store, SQL_RECORD_AGES, &t->err);
	bool ok = true;
	while (srv_store_step(t->store, rows, &ok, &t->err)) {
		candidate item = {.record = true,
						  .key = srv_store_column_digest(rows, 0),
						  .used_at_s = (uint32_t)srv_store_column_u64(rows, 2)};
		const uint32_t *used = srv_digest_map_find(&t->store->used_records, &item.key);
		if (used && *used > item.used_at_s)
			item.used_at_s = *used;
		add_candidate(t, item);
		ok = count_outputs(t, srv_store_column_str(rows, 1));
	}
	if (ok)
		note_opened(t);
	return ok;
}

/* ---- eviction */

static int older_first(const void *a, const void *b)
{
	const candidate *x = a, *y = b;
	if (x->used_at_s != y->used_at_s)
		return x->used_at_s < y->used_at_s ? -1 : 1;
	return memcmp(&x->key, &y->key, sizeof x->key);
}

static void drop_name(trimmer *t, const hob_sha256 *digest, bool part)
{
	name_count *count = srv_digest_map_find(&t->names, digest);
	blob_entry blob;
	bool fresh;
	if (part)
		count->parts--;
	else
		count->records--;
	if (count->parts + count->records > 0)
		return;
	srv_digest_map_put(&t->loose, digest, &fresh);
	if (srv_store_table_find(t->store, digest, &blob) &&
		srv_store_is_idle(blob.used_at_s, blob.awaited, t->now))
		t->loose_bytes += blob.size;
}

static bool evict_part(trimmer *t, const candidate *item)
{
	if (!t->dry) {
		if (!srv_store_put_row(t->store, SQL_DELETE_PART, &t->err, BIND(&item->key)))
			return false;
		SRV_LOCKED(&t->store->part_lock);
		srv_digest_map_remove(&t->store->parts, &item->key);
	}
	drop_name(t, &item->blob, true);
	return true;
}

/* Evicts the parts that were skipped while a record named their blob. */
static bool evict_passed(trimmer *t, const hob_sha256 *blob)
{
	name_count *count = srv_digest_map_find(&t->names, blob);
	bool ok = true;
	while (ok && count->records == 0 && count->passed > 0) {
		const candidate *item = &t->items[count->passed - 1];
		count->passed = item->passed_before;
		ok = evict_part(t, item);
	}
	return ok;
}

static bool read_lists(srv_store *store, const hob_sha256 *key, hob_arena *arena, srv_record *out,
					   hob_error *err)
{
	bool ok = true, found = false;
	sqlite3_stmt *rows = srv_store_select(store, SQL_RECORD_LISTS, err, BIND(key));
	while (srv_store_step(store, rows, &ok, err)) {
		hob_str lists = hob_arena_str(arena, srv_store_column_str(rows, 0));
		found = lists.data && srv_row_take_lists(lists, arena, out);
	}
	return ok && (found || hob_fail(err, CORRUPT, "a record is damaged"));
}

static bool evict_record(trimmer *t, const candidate *item)
{
	bool fresh;
	digest_map outputs;
	hob_sha256 digest;
	hob_arena arena;
	srv_record record = {0};
	srv_digest_map_init(&outputs, 0);
	hob_arena_init(&arena, SIZE_MAX);
	bool ok = read_lists(t->store, &item->key, &arena, &record, &t->err);
	for (uint32_t i = 0; ok && i < record.output_count; i++) {
		srv_digest_map_put(&outputs, &record.outputs[i].digest, &fresh);
		drop_name(t, &record.outputs[i].digest, false);
	}
	hob_arena_release(&arena);
	ok = ok && (t->dry || srv_store_write(t->store, SQL_DELETE_RECORD, &t->err, BIND(&item->key)));
	if (ok && !t->dry) {
		atomic_fetch_sub(&t->store->record_count, 1);
		srv_digest_map_put(&t->evicted, &item->key, &fresh);
	}
	for (size_t at = 0; ok && srv_digest_map_next(&outputs, &at, &digest);)
		ok = evict_passed(t, &digest);
	srv_digest_map_release(&outputs);
	return ok;
}

/* Deletes unused texts. Called only after an eviction, as finding them reads every record. */
static bool trim_texts(trimmer *t)
{
	if (t->evicted.count == 0)
		return true;
	srv_store_texts_forget(t->store);
	return srv_store_run_now(t->store, SQL_TRIM_TEXTS, NULL, &t->err);
}

/* Evicts, oldest first, until enough can be deleted. A part whose blob a record also names frees nothing and
 * is skipped. */
static bool evict(trimmer *t, uint64_t enough, bool (*live)(void *, const hob_sha256 *), void *user)
{
	bool ok = true;
	qsort(t->items, t->count, sizeof *t->items, older_first);
	for (size_t i = 0; i < t->count && ok && t->loose_bytes < enough; i++) {
		candidate *item = &t->items[i];
		if (!srv_store_is_idle(item->used_at_s, false, t->now))
			break; /* later candidates were used more recently */
		name_count *count = !item->record ? srv_digest_map_find(&t->names, &item->blob) : NULL;
		if (count && count->records > 0) {
			item->passed_before = count->passed;
			count->passed = i + 1;
		} else if (count) {
			ok = evict_part(t, item);
		} else if (!live || !live(user, &item->key)) {
			ok = evict_record(t, item);
		}
	}
	return ok;
}

/* Collects blobs of cooks that never finished. */
static void collect_orphans(trimmer *t)
{
	hob_sha256 digest;
	const blob_entry *entry;
	bool fresh;
	SRV_LOCKED(&t->store->blob_lock);
	for (size_t at = 0; (entry = srv_digest_map_next(&t->store->blobs, &at, &digest));)
		if (srv_store_is_idle(entry->used_at_s, true, t->now) && !srv_digest_map_find(&t->names, &digest))
			srv_digest_map_put(&t->loose, &digest, &fresh);
}

static uint64_t remove_loose(trimmer *t)
{
	hob_sha256 digest;
	uint64_t freed = 0;
	for (size_t at = 0; srv_digest_map_next(&t->evicted, &at, &digest);) {
		srv_digest_map_remove(&t->store->used_records, &digest);
		srv_store_copy_remove(t->store, &digest);
	}
	for (size_t at = 0; srv_digest_map_next(&t->loose, &at, &digest);)
		freed += srv_store_blob_remove(t->store, &digest, t->now);
	return freed;
}

static uint64_t size_of_loose(trimmer *t)
{
	hob_sha256 digest;
	blob_entry blob;
	uint64_t bytes = 0;
	for (size_t at = 0; srv_digest_map_next(&t->loose, &at, &digest);)
		if (srv_store_table_find(t->store, &digest, &blob) &&
			srv_store_is_idle(blob.used_at_s, blob.awaited, t->now))
			bytes += blob.size;
	return bytes;
}

static void trimmer_init(trimmer *t, srv_store *store, bool dry)
{
	*t = (trimmer){.store = store, .now = srv_store_now_s(store), .dry = dry};
	srv_digest_map_init(&t->names, sizeof(name_count));
	srv_digest_map_init(&t->loose, 0);
	srv_digest_map_init(&t->evicted, 0);
}

static bool collect(trimmer *t)
{
	bool ok = srv_store_commit(t->store, &t->err) && collect_records(t);
	if (ok)
		collect_parts(t);
	return ok;
}

static void trimmer_release(trimmer *t)
{
	srv_digest_map_release(&t->names);
	srv_digest_map_release(&t->loose);
	srv_digest_map_release(&t->evicted);
	free(t->items);
}

uint64_t srv_store_would_trim(srv_store *store, bool (*live)(void *user, const hob_sha256 *record),
							  void *user)
{
	srv_store_usage usage;
	trimmer t;
	srv_store_measure(store, &usage);
	trimmer_init(&t, store, true);
	bool ok = collect(&t);
	if (ok && store->max_bytes > 0 && usage.blob_bytes > store->max_bytes)
		ok = evict(&t, usage.blob_bytes - store->max_bytes / 10 * 9, live, user);
	if (ok)
		collect_orphans(&t);
	uint64_t bytes = ok ? size_of_loose(&t) : 0;
	trimmer_release(&t);
	return bytes;
}

void srv_store_trim_soon(srv_store *store)
{
	store->swept_at_s = store->evict_from_s = 0;
}

uint64_t srv_store_trim(srv_store *store, bool (*live)(void *user, const hob_sha256 *record), void *user)
{
	srv_store_usage usage;
	uint32_t now = srv_store_now_s(store);
	uint64_t freed = 0;
	srv_store_measure(store, &usage);
	bool over = store->max_bytes > 0 && usage.blob_bytes > store->max_bytes && now >= store->evict_from_s;
	bool sweep = atomic_load(&store->marked) && srv_store_is_idle(store->swept_at_s, true, now);
	if (!over && !sweep)
		return 0;
	trimmer t;
	trimmer_init(&t, store, false);
	bool ok = collect(&t);
	/* A tenth below the limit, so that a full cache is not trimmed after every blob. */
	if (ok && over)
		ok = evict(&t, usage.blob_bytes - store->max_bytes / 10 * 9, live, user);
	/* Deletes rows before files: a row never names a missing blob. */
	if (ok && sweep)
		collect_orphans(&t);
	if (ok && trim_texts(&t) && srv_store_commit(store, &t.err)) {
		freed = remove_loose(&t);
		if (freed > 0)
			srv_store_packs_shrink(store);
		srv_store_copies_shrink(store);
		/* The live blobs alone are over the limit: another search would find the same. */
		store->evict_from_s = over && usage.blob_bytes - freed > store->max_bytes ? now + EVICT_PAUSE_S : 0;
		if (sweep)
			store->swept_at_s = now;
		ok = srv_store_usage_save(store, &t.err) && srv_store_commit(store, &t.err);
	}
	trimmer_release(&t);
	return freed;
}

/* ---- the same off the loop */

bool srv_store_sweep_is_due(srv_store *store)
{
	uint32_t now = srv_store_now_s(store);
	bool due = srv_store_is_idle(store->swept_at_s, true, now);
	if (due)
		store->swept_at_s = now;
	return due;
}

/* Collects unreferenced blobs that are idle. A blob that a row names later counts as used at that time. */
static void collect_idle(srv_store *store, digest_map *out)
{
	hob_sha256 digest;
	const blob_entry *entry;
	bool fresh;
	uint32_t now = srv_store_now_s(store);
	SRV_LOCKED(&store->blob_lock);
	for (size_t at = 0; (entry = srv_digest_map_next(&store->blobs, &at, &digest));)
		if (srv_store_is_idle(entry->used_at_s, true, now))
			srv_digest_map_put(out, &digest, &fresh);
}

static bool drop_named(srv_store *store, srv_store *reader, digest_map *idle, hob_error *err)
{
	sqlite3_stmt *rows = srv_store_read(reader, SQL_RECORD_AGES, err);
	bool ok = true;
	hob_arena arena;
	hob_arena_init(&arena, SIZE_MAX);
	hob_arena_alloc(&arena, 1, 1); /* the arena keeps its first block */
	while (srv_store_step(reader, rows, &ok, err)) {
		hob_arena_mark mark = hob_arena_save(&arena);
		srv_record record;
		ok = srv_row_take_lists(srv_store_column_str(rows, 1), &arena, &record) ||
			 hob_fail(err, CORRUPT, "a record is damaged");
		for (uint32_t i = 0; ok && i < record.output_count; i++)
			srv_digest_map_remove(idle, &record.outputs[i].digest);
		hob_arena_restore(&arena, mark);
	}
	hob_arena_release(&arena);
	const part_entry *part;
	SRV_LOCKED(&store->part_lock);
	for (size_t at = 0; ok && (part = srv_digest_map_next(&store->parts, &at, NULL));)
		srv_digest_map_remove(idle, &part->blob);
	return ok;
}

bool srv_store_find_orphans(srv_store *store, hob_sha256 **out, uint32_t *count, hob_error *err)
{
	enum { LIMIT_MS = 20000 };
	srv_store *reader = NULL;
	digest_map idle;
	srv_digest_map_init(&idle, 1);
	*out = NULL;
	*count = 0;
	bool ok = true;
	collect_idle(store, &idle);
	if (idle.count > 0) {
		ok = srv_reader_open(store, &reader, err) && srv_reader_begin(reader, LIMIT_MS, err);
		if (ok) {
			ok = drop_named(store, reader, &idle, err);
			srv_reader_end(reader);
		}
	}
	srv_reader_close(reader);
	*out = ok && idle.count > 0 ? malloc(idle.count * sizeof **out) : NULL;
	for (size_t at = 0; *out && srv_digest_map_next(&idle, &at, &(*out)[*count]);)
		++*count;
	srv_digest_map_release(&idle);
	return ok;
}

uint64_t srv_store_drop_orphans(srv_store *store, const hob_sha256 *digests, uint32_t count)
{
	hob_error error;
	uint64_t freed = 0;
	uint32_t now = srv_store_now_s(store);
	for (uint32_t i = 0; i < count; i++) {
		blob_entry blob;
		if (srv_store_table_find(store, &digests[i], &blob) && srv_store_is_idle(blob.used_at_s, true, now))
			freed += srv_store_blob_remove(store, &digests[i], now);
	}
	if (freed > 0) {
		srv_store_packs_shrink(store);
		(void)!srv_store_commit(store, &error); /* rows without a file are found at the next start */
	}
	return freed;
}
