#include "store_start.h"

#include "../../core/base/array.h"

#include <stdlib.h>

static const hob_sha256 no_record;

typedef struct record_text {
	uint64_t at, size; /* range in `records` */
	uint64_t place;	   /* RECORD_PLACES + offset in `assets`; 0: not written yet */
} record_text;

typedef struct writer {
	srv_store *store;
	hob_buf digests, texts, parts, blobs, files, assets, records, lists, path;
	start_head head;
	digest_map wanted;		 /* record_text of the records that assets name */
	digest_map text_numbers; /* uint64_t by hash */
	srv_asset_row *rows;	 /* texts in `arena` */
	uint32_t row_count, row_room;
	hob_arena arena;
	srv_stat before; /* of the previous file */
	bool failed;
} writer;

/* Maps small differences in either direction to small numbers; differences wrap. */
static void put_difference(hob_buf *out, uint64_t from, uint64_t to)
{
	uint64_t d = to - from;
	srv_row_put_number(out, d << 1 ^ (d >> 63 ? UINT64_MAX : 0));
}

static void put_digest(hob_buf *out, const hob_sha256 *digest)
{
	hob_buf_put(out, digest->bytes, sizeof digest->bytes);
}

static void put_text(writer *w, hob_buf *out, hob_str text)
{
	hob_sha256 name = {{0}};
	uint64_t hash[2];
	bool fresh;
	if (text.len == 0) {
		srv_row_put_number(out, 0);
		return;
	}
	hob_fast_hash((hob_bytes){(const uint8_t *)text.data, text.len}, hash);
	memcpy(name.bytes, hash, sizeof hash);
	uint64_t *number = srv_digest_map_put(&w->text_numbers, &name, &fresh);
	if (fresh) {
		*number = ++w->head.texts;
		srv_row_put_number(&w->texts, text.len);
		hob_buf_put_str(&w->texts, text);
	}
	srv_row_put_number(out, *number);
}

static void put_path(writer *w, hob_buf *out, hob_str path)
{
	size_t same = 0;
	while (same < path.len && same < w->path.size && w->path.data[same] == (uint8_t)path.data[same])
		same++;
	srv_row_put_number(out, same);
	srv_row_put_number(out, path.len - same);
	hob_buf_put_str(out, hob_str_sub(path, same, path.len));
	hob_buf_clear(&w->path);
	hob_buf_put_str(&w->path, path);
	if (path.len > w->head.path_max)
		w->head.path_max = path.len;
}

static void put_parts(srv_store *store, writer *w)
{
	hob_sha256 key;
	const part_entry *entry;
	SRV_LOCKED(&store->part_lock);
	for (size_t at = 0; (entry = srv_digest_map_next(&store->parts, &at, &key));) {
		start_part row = {key, entry->blob, entry->used_at_s, entry->saved_at_s};
		hob_buf_put(&w->parts, &row, sizeof row);
		w->head.parts++;
	}
}

static void put_file(void *user, const srv_file_row *file)
{
	writer *w = user;
	hob_buf *out = &w->files;
	w->head.files++;
	put_text(w, out, file->root);
	put_path(w, out, file->path);
	srv_row_put_number(out, file->stat.size);
	put_difference(out, w->before.inode, file->stat.inode);
	put_difference(out, (uint64_t)w->before.mtime_ns, (uint64_t)file->stat.mtime_ns);
	put_difference(out, (uint64_t)file->stat.mtime_ns, (uint64_t)file->stat.ctime_ns);
	put_digest(out, &file->digest);
	w->before = file->stat;
}

static void collect_asset(void *user, const srv_asset_row *asset)
{
	writer *w = user;
	bool fresh;
	if (!HOB_ROOM(w->rows, w->row_room, w->row_count)) {
		w->failed = true;
		return;
	}
	srv_asset_row *row = &w->rows[w->row_count++];
	*row = *asset;
	row->root = hob_arena_str(&w->arena, asset->root);
	row->path = hob_arena_str(&w->arena, asset->path);
	row->state = hob_arena_str(&w->arena, asset->state);
	row->error = hob_arena_str(&w->arena, asset->error);
	w->failed = w->failed || !row->root.data || !row->path.data || !row->state.data || !row->error.data;
	srv_digest_map_put(&w->wanted, &asset->good, &fresh);
	srv_digest_map_put(&w->wanted, &asset->last, &fresh);
}

static void collect_record(void *user, const srv_record *record)
{
	writer *w = user;
	hob_buf *out = &w->records;
	record_text *text = srv_digest_map_find(&w->wanted, &record->key);
	bool whole = true;
	if (!text || w->failed)
		return;
	*text = (record_text){.at = out->size};
	put_digest(out, &record->key);
	put_digest(out, &record->lookup);
	put_digest(out, &record->source);
	put_text(w, out, record->file_name);
	put_text(w, out, record->ingredients);
	put_text(w, out, record->stats);
	put_text(w, out, record->error);
	srv_row_put_number(out, record->warnings);
	srv_row_put_number(out, record->cook_ns);
	srv_row_put_number(out, record->peak_bytes);
	if (w->head.base_ms == 0)
		w->head.base_ms = record->cooked_at_ms;
	put_difference(out, (uint64_t)w->head.base_ms, (uint64_t)record->cooked_at_ms);
	for (uint32_t i = 0; i < record->output_count; i++)
		whole = whole && srv_blob_known(w->store, &record->outputs[i].digest);
	srv_row_put_number(out, whole);
	hob_buf_clear(&w->lists);
	srv_row_put_lists(record, &w->lists);
	srv_row_put_number(out, w->lists.size);
	hob_buf_put_str(out, hob_buf_str(&w->lists));
	text->size = out->size - text->at;
}

/* Reads all records in one pass, which is faster unless most of them are old. */
static bool collect_records(writer *w, hob_error *err)
{
	enum { MOST_OF_THE_PAST = 4 };
	bool ok = true;
	if (atomic_load(&w->store->record_count) / MOST_OF_THE_PAST <= w->row_count)
		return srv_store_each_record(w->store, collect_record, w, err);
	for (uint32_t i = 0; ok && i < 2 * w->row_count; i++) {
		const hob_sha256 *key = i % 2 ? &w->rows[i / 2].last : &w->rows[i / 2].good;
		const record_text *text = srv_digest_map_find(&w->wanted, key);
		if (!text || text->size > 0 || hob_sha256_equal(key, &no_record))
			continue;
		hob_arena_mark mark = hob_arena_save(&w->arena);
		srv_record record;
		if (srv_store_record(w->store, key, &w->arena, &record, err))
			collect_record(w, &record);
		else
			ok = err->code == HOB_ERR_NOT_FOUND;
		hob_arena_restore(&w->arena, mark);
	}
	return ok;
}

static void put_record(writer *w, const hob_sha256 *key)
{
	record_text *text = srv_digest_map_find(&w->wanted, key);
	if (hob_sha256_equal(key, &no_record)) {
		srv_row_put_number(&w->assets, RECORD_NONE);
	} else if (!text || text->size == 0) {
		srv_row_put_number(&w->assets, RECORD_UNKNOWN);
		put_digest(&w->assets, key);
	} else if (text->place > 0) {
		srv_row_put_number(&w->assets, text->place);
	} else {
		srv_row_put_number(&w->assets, RECORD_HERE);
		srv_row_put_number(&w->assets, text->size);
		text->place = RECORD_PLACES + w->assets.size;
		hob_buf_put(&w->assets, w->records.data + text->at, text->size);
	}
}

static void put_assets(writer *w)
{
	for (uint32_t i = 0; i < w->row_count && !w->failed; i++) {
		const srv_asset_row *asset = &w->rows[i];
		put_text(w, &w->assets, asset->root);
		put_path(w, &w->assets, asset->path);
		put_text(w, &w->assets, asset->state);
		put_text(w, &w->assets, asset->error);
		srv_row_put_number(&w->assets, asset->rev);
		put_difference(&w->assets, (uint64_t)w->head.base_ms, (uint64_t)asset->cooked_at_ms);
		put_record(w, &asset->good);
		if (hob_sha256_equal(&asset->good, &asset->last))
			srv_row_put_number(&w->assets, RECORD_SAME);
		else
			put_record(w, &asset->last);
		w->head.assets++;
	}
}

static void put_blobs(srv_store *store, writer *w)
{
	hob_sha256 digest;
	hob_buf *out = &w->blobs;
	const blob_entry *entry;
	SRV_LOCKED(&store->blob_lock);
	w->head.blob_capacity = store->blobs.capacity;
	for (size_t at = 0; (entry = srv_digest_map_next(&store->blobs, &at, &digest));) {
		put_digest(&w->digests, &digest);
		srv_row_put_number(out, entry->size << 1 | entry->suspect);
		put_difference(out, (uint64_t)w->head.base_ms / 1000, entry->used_at_s);
		put_difference(out, entry->used_at_s, entry->saved_at_s);
		srv_row_put_number(out, entry->place.pack);
		srv_row_put_number(out, entry->place.offset / 8);
		if (entry->place.pack > 0)
			srv_row_put_number(out, entry->place.frame);
		w->head.blobs++;
	}
}

static void append(writer *w, hob_buf *out, const hob_buf *section, uint64_t *at)
{
	*at = out->size;
	hob_buf_put_str(out, hob_buf_str(section));
	w->failed = w->failed || section->failed;
}

static void writer_release(writer *w)
{
	hob_buf *bufs[] = {&w->digests, &w->texts,	 &w->parts, &w->blobs, &w->files,
					   &w->assets,	&w->records, &w->lists, &w->path};
	for (size_t i = 0; i < HOB_COUNT_OF(bufs); i++)
		hob_buf_release(bufs[i]);
	srv_digest_map_release(&w->wanted);
	srv_digest_map_release(&w->text_numbers);
	hob_arena_release(&w->arena);
	free(w->rows);
}

static bool join(writer *w, hob_buf *out)
{
	uint64_t digests_at;
	hob_buf_put(out, &w->head, sizeof w->head);
	append(w, out, &w->digests, &digests_at);
	append(w, out, &w->texts, &w->head.texts_at);
	append(w, out, &w->parts, &w->head.parts_at);
	append(w, out, &w->blobs, &w->head.blobs_at);
	append(w, out, &w->files, &w->head.files_at);
	append(w, out, &w->assets, &w->head.assets_at);
	w->head.size = out->size;
	if (w->failed || w->path.failed || w->records.failed || w->lists.failed || out->failed) {
		hob_buf_release(out);
		return false;
	}
	memcpy(out->data, &w->head, sizeof w->head);
	return true;
}

bool srv_store_start_collect(srv_store *store, bool blobs, hob_buf *out, hob_error *err)
{
	writer w = {.store = store, .head = {.magic = "HobStart", .format = START_FORMAT}};
	srv_digest_map_init(&w.wanted, sizeof(record_text));
	srv_digest_map_init(&w.text_numbers, sizeof(uint64_t));
	hob_arena_init(&w.arena, SIZE_MAX);
	if (blobs)
		put_parts(store, &w);
	srv_store_read_begin(store);
	bool ok = srv_store_each_file(store, put_file, &w, err) &&
			  srv_store_each_asset(store, collect_asset, &w, err) && collect_records(&w, err);
	srv_store_read_end(store);
	hob_buf_clear(&w.path);
	put_assets(&w);
	if (blobs)
		put_blobs(store, &w);
	w.head.schema = (uint32_t)srv_store_schema_version();
	w.head.last_job = store->last_job;
	w.head.last_rev = store->last_rev;
	w.head.record_count = atomic_load(&store->record_count);
	*out = (hob_buf){0};
	ok = ok && (join(&w, out) || hob_fail(err, MEMORY, "no memory left for the rows of the index"));
	writer_release(&w);
	return ok;
}

bool srv_store_read_rows(srv_store *store, hob_error *err)
{
	hob_buf rows;
	if (srv_store_has_start(store))
		return true;
	srv_store_start_close(store);
	if (!srv_store_start_collect(store, false, &rows, err))
		return false;
	srv_store_start_use(store, &rows);
	return true;
}
