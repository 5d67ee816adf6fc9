#include "store_internal.h"

#include <stdlib.h>

/* Something that may go: a recipe with its outputs, or a part. */
typedef struct candidate {
	hob_sha256 key;
	int64_t recipe; /* row id; 0 for a part */
	hob_sha256 blob;
	uint32_t used_at_s;
} candidate;

typedef struct trimmer {
	srv_store *store;
	digest_map names; /* uint32_t: how many rows name the blob */
	candidate *items;
	size_t count, room;
	digest_map loose;	/* blobs that lost their last name */
	digest_map evicted; /* recipes whose copies go as well */
	uint64_t loose_bytes;
	hob_error err;
	bool ok;
} trimmer;

void srv_store_measure(srv_store *store, srv_store_usage *out)
{
	*out =
		(srv_store_usage){.recipe_count = atomic_load(&store->recipe_count), .max_bytes = store->max_bytes};
	pthread_mutex_lock(&store->part_lock);
	out->part_count = store->parts.count;
	pthread_mutex_unlock(&store->part_lock);
	pthread_mutex_lock(&store->blob_lock);
	out->blob_bytes = store->blob_bytes;
	out->blob_count = store->blobs.count;
	out->evicted_bytes = store->evicted_bytes;
	out->damaged_blobs = store->damaged_count;
	pthread_mutex_unlock(&store->blob_lock);
}

static bool blob_info(srv_store *store, const hob_sha256 *digest, blob_entry *out)
{
	pthread_mutex_lock(&store->blob_lock);
	blob_entry *entry = digest_map_find(&store->blobs, digest);
	if (entry)
		*out = *entry;
	pthread_mutex_unlock(&store->blob_lock);
	return entry;
}

/* ---- who names what */

static bool add_name(trimmer *t, const hob_sha256 *digest)
{
	bool fresh;
	uint32_t *count = digest_map_put(&t->names, digest, &fresh);
	if (count)
		++*count;
	return count || hob_fail(&t->err, MEMORY, "no memory left to count blobs");
}

static candidate *add_candidate(trimmer *t)
{
	if (t->count == t->room) {
		size_t room = t->room ? t->room * 2 : 256;
		candidate *bigger = realloc(t->items, room * sizeof *bigger);
		if (!bigger)
			return NULL;
		t->items = bigger;
		t->room = room;
	}
	t->items[t->count] = (candidate){0};
	return &t->items[t->count++];
}

static bool collect_parts(trimmer *t)
{
	hob_sha256 key;
	bool ok = true;
	pthread_mutex_lock(&t->store->part_lock);
	for (size_t at = 0; ok;) {
		part_entry *part = digest_map_next(&t->store->parts, &at, &key);
		if (!part)
			break;
		candidate *item = add_candidate(t);
		ok = item && add_name(t, &part->blob);
		if (ok)
			*item = (candidate){.key = key, .blob = part->blob, .used_at_s = part->used_at_s};
	}
	pthread_mutex_unlock(&t->store->part_lock);
	return ok;
}

static bool collect_recipes(trimmer *t)
{
	sqlite3_stmt *rows = store_read(t->store, SQL_RECIPE_AGES, &t->err);
	bool ok = false;
	while (rows && store_step(t->store, rows, &ok, &t->err)) {
		candidate *item = add_candidate(t);
		if (!item) {
			store_end(rows);
			return false;
		}
		item->recipe = (int64_t)store_column_u64(rows, 0);
		item->key = store_column_digest(rows, 1);
		item->used_at_s = (uint32_t)store_column_u64(rows, 2);
		uint32_t *used = digest_map_find(&t->store->used_recipes, &item->key);
		if (used && *used > item->used_at_s)
			item->used_at_s = *used;
	}
	return ok;
}

/* Counts the names that recipes give; a recipe is as fresh as the output of it that was opened last. Both lists are
 * in the order of recipe ids. */
static bool collect_outputs(trimmer *t)
{
	sqlite3_stmt *rows = store_read(t->store, SQL_OUTPUT_BLOBS, &t->err);
	bool ok = false;
	size_t at = 0;
	while (rows && store_step(t->store, rows, &ok, &t->err)) {
		int64_t recipe = (int64_t)store_column_u64(rows, 0);
		hob_sha256 digest = store_column_digest(rows, 1);
		blob_entry blob;
		while (at < t->count && t->items[at].recipe < recipe)
			at++;
		if (at < t->count && t->items[at].recipe == recipe && blob_info(t->store, &digest, &blob) &&
			blob.used_at_s > t->items[at].used_at_s)
			t->items[at].used_at_s = blob.used_at_s;
		if (!add_name(t, &digest)) {
			store_end(rows);
			return false;
		}
	}
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

static void drop_name(trimmer *t, const hob_sha256 *digest)
{
	uint32_t *count = digest_map_find(&t->names, digest);
	blob_entry blob;
	bool fresh;
	if (!count || --*count > 0)
		return;
	digest_map_put(&t->loose, digest, &fresh);
	if (blob_info(t->store, digest, &blob) && blob.put_at_s == 0)
		t->loose_bytes += blob.size;
}

static uint32_t names_of(const trimmer *t, const hob_sha256 *digest)
{
	uint32_t *count = digest_map_find(&t->names, digest);
	return count ? *count : 0;
}

static bool evict_part(trimmer *t, const candidate *item)
{
	sqlite3_stmt *row = store_write(t->store, SQL_DELETE_PART, &t->err);
	if (!row)
		return false;
	store_bind_digest(row, 1, &item->key);
	if (!store_run(t->store, row, &t->err))
		return false;
	pthread_mutex_lock(&t->store->part_lock);
	digest_map_remove(&t->store->parts, &item->key);
	pthread_mutex_unlock(&t->store->part_lock);
	drop_name(t, &item->blob);
	return true;
}

static bool evict_recipe(trimmer *t, const candidate *item)
{
	bool ok = false, fresh;
	sqlite3_stmt *rows = store_read(t->store, SQL_OUTPUTS, &t->err);
	if (rows)
		store_bind_u64(rows, 1, (uint64_t)item->recipe);
	while (rows && store_step(t->store, rows, &ok, &t->err)) {
		hob_sha256 digest = store_column_digest(rows, 1);
		drop_name(t, &digest);
	}
	sqlite3_stmt *row = ok ? store_write(t->store, SQL_DELETE_RECIPE, &t->err) : NULL;
	if (!row)
		return false;
	store_bind_digest(row, 1, &item->key);
	if (!store_run(t->store, row, &t->err))
		return false;
	atomic_fetch_sub(&t->store->recipe_count, 1);
	digest_map_put(&t->evicted, &item->key, &fresh);
	return true;
}

/* Oldest first until enough is loose. A part whose blob a recipe also names costs nothing and stays, until a later pass
 * finds that the recipe went. */
static bool evict(trimmer *t, uint64_t enough, bool (*live)(void *, const hob_sha256 *), void *user)
{
	qsort(t->items, t->count, sizeof *t->items, older_first);
	bool progress = true, ok = true;
	while (progress && ok && t->loose_bytes < enough) {
		progress = false;
		for (size_t i = 0; i < t->count && ok && t->loose_bytes < enough; i++) {
			candidate *item = &t->items[i];
			bool part = item->recipe == 0;
			if (item->recipe < 0 || (part ? names_of(t, &item->blob) != 1 : live && live(user, &item->key)))
				continue;
			ok = part ? evict_part(t, item) : evict_recipe(t, item);
			item->recipe = -1;
			progress = true;
		}
	}
	return ok;
}

/* Blobs of cooks that never finished. */
static void collect_orphans(trimmer *t, uint32_t now)
{
	hob_sha256 digest;
	bool fresh;
	pthread_mutex_lock(&t->store->blob_lock);
	for (size_t at = 0;;) {
		blob_entry *entry = digest_map_next(&t->store->blobs, &at, &digest);
		if (!entry)
			break;
		if (now - entry->used_at_s >= STORE_GRACE_S && names_of(t, &digest) == 0)
			digest_map_put(&t->loose, &digest, &fresh);
	}
	pthread_mutex_unlock(&t->store->blob_lock);
}

static uint64_t remove_loose(trimmer *t, uint32_t now)
{
	hob_sha256 digest;
	uint64_t freed = 0;
	for (size_t at = 0; digest_map_next(&t->evicted, &at, &digest);) {
		digest_map_remove(&t->store->used_recipes, &digest);
		store_copy_remove(t->store, &digest);
	}
	for (size_t at = 0; digest_map_next(&t->loose, &at, &digest);)
		freed += store_blob_remove(t->store, &digest, now);
	return freed;
}

uint64_t srv_store_trim(srv_store *store, bool (*live)(void *user, const hob_sha256 *recipe), void *user)
{
	srv_store_usage usage;
	uint32_t now = store_now_s();
	uint64_t freed = 0;
	srv_store_measure(store, &usage);
	bool over = store->max_bytes > 0 && usage.blob_bytes > store->max_bytes;
	bool sweep = now - store->swept_at_s >= STORE_GRACE_S;
	if (!over && !sweep)
		return 0;
	trimmer t = {.store = store};
	digest_map_init(&t.names, sizeof(uint32_t));
	digest_map_init(&t.loose, 0);
	digest_map_init(&t.evicted, 0);
	bool ok =
		srv_store_commit(store, &t.err) && collect_recipes(&t) && collect_outputs(&t) && collect_parts(&t);
	/* A tenth below the cap, so that a full cache is not trimmed again after every blob. */
	if (ok && over)
		ok = evict(&t, usage.blob_bytes - store->max_bytes / 10 * 9, live, user);
	/* Rows go before files: a row never names a blob that is not there. */
	if (ok && sweep)
		collect_orphans(&t, now);
	if (ok && srv_store_commit(store, &t.err)) {
		freed = remove_loose(&t, now);
		if (sweep)
			store->swept_at_s = now;
		ok = store_usage_save(store, &t.err) && srv_store_commit(store, &t.err);
	}
	digest_map_release(&t.names);
	digest_map_release(&t.loose);
	digest_map_release(&t.evicted);
	free(t.items);
	return freed;
}
