#include "store_internal.h"

#include "../../core/base/array.h"
#include "../fs/transfer.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The layout of index.start.
 *
 * A head, the digests of blobs, the texts, then rows of parts, blobs, files and assets. Numbers are LEB128; a
 * text is 0 (empty) or its number from 1. A path is the length of the prefix shared with the previous path,
 * and the rest. A record follows the first asset that names it; its lists are those of row.h. Only the
 * program and the machine that wrote the file can read it. */

enum { START_FORMAT = 6 };

typedef struct start_head {
	char magic[8];
	uint32_t format, schema;
	srv_stat index; /* index.db at close */
	uint64_t size, hash[2];
	uint64_t last_job, last_rev, record_count;
	int64_t base_ms;
	uint64_t blob_capacity, blobs, files, texts, parts, assets, path_max;
	uint64_t texts_at, parts_at, blobs_at, files_at, assets_at;
} start_head;

typedef struct start_part {
	hob_sha256 key, blob;
	uint32_t used_at_s, saved_at_s;
} start_part;

/* Reference of an asset to a record: its place from RECORD_PLACES, or one of these. A record is stored at its
 * first reference. */
enum { RECORD_NONE, RECORD_UNKNOWN /* key */, RECORD_HERE /* length, record */, RECORD_SAME, RECORD_PLACES };

/* ---- collecting the rows */

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

/* ---- writing */

static bool stat_index(srv_store *store, srv_stat *out)
{
	struct stat info;
	if (fstatat(store->dir_fd, "index.db-wal", &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_size > 0)
		return false;
	if (fstatat(store->dir_fd, "index.db", &info, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	*out = srv_stat_of(&info);
	return true;
}

/* Hashes the file as if the hash in the head were zero. */
static void hash_of(const start_head *head, const uint8_t *data, size_t size, uint64_t out[2])
{
	uint64_t parts[4];
	start_head blank = *head;
	memset(blank.hash, 0, sizeof blank.hash);
	hob_fast_hash((hob_bytes){(const uint8_t *)&blank, sizeof blank}, parts);
	hob_fast_hash((hob_bytes){data + sizeof blank, size - sizeof blank}, parts + 2);
	hob_fast_hash((hob_bytes){(const uint8_t *)parts, sizeof parts}, out);
}

void srv_store_start_write(srv_store *store, const hob_buf *rows)
{
	enum { LEAVE_FREE = 64 << 20 };
	start_head head;
	char name[STORE_TEMPORARY];
	struct statvfs disk;
	memcpy(&head, rows->data, sizeof head);
	bool room =
		fstatvfs(store->dir_fd, &disk) == 0 && disk.f_bavail * disk.f_frsize > rows->size + LEAVE_FREE;
	if (!room || !stat_index(store, &head.index))
		return;
	hash_of(&head, rows->data, rows->size, head.hash);
	srv_own_fd fd = srv_store_temporary(store, name);
	bool ok = fd >= 0 && srv_write_all(fd, &head, sizeof head) &&
			  srv_write_all(fd, rows->data + sizeof head, rows->size - sizeof head) &&
			  renameat(store->tmp_fd, name, store->dir_fd, STORE_START) == 0;
	if (fd >= 0 && !ok)
		unlinkat(store->tmp_fd, name, 0);
}

/* ---- reading */

static start_head head_of(const store_start *start)
{
	start_head head;
	memcpy(&head, start->data, sizeof head);
	return head;
}

/* Reads `size` bytes. The hash has been checked, so reading past the end is a bug in this file. */
static const uint8_t *take(store_start *start, size_t size)
{
	assert(size <= start->size - start->at);
	start->at += size;
	return start->data + start->at - size;
}

static uint64_t take_number(store_start *start)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = *take(start, 1);
		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
	}
}

static uint64_t take_difference(store_start *start, uint64_t from)
{
	uint64_t d = take_number(start);
	return from + (d >> 1 ^ (d & 1 ? UINT64_MAX : 0));
}

static void take_digest(store_start *start, hob_sha256 *out)
{
	memcpy(out->bytes, take(start, sizeof out->bytes), sizeof out->bytes);
}

static hob_str take_text(store_start *start)
{
	uint64_t number = take_number(start);
	assert(number <= start->text_count);
	return number ? start->texts[number - 1] : (hob_str){"", 0};
}

/* Reads a path, valid until the next call. */
static hob_str take_path(store_start *start)
{
	uint64_t same = take_number(start), more = take_number(start);
	memcpy(start->path + same, take(start, more), more);
	return (hob_str){start->path, same + more};
}

static void read_texts(store_start *start, const start_head *head)
{
	start->at = head->texts_at;
	start->base_ms = head->base_ms;
	start->assets_at = head->assets_at;
	start->texts = hob_must(malloc((head->texts + 1) * sizeof *start->texts));
	start->path = hob_must(malloc(head->path_max + 1));
	for (uint64_t i = 0; i < head->texts; i++) {
		uint64_t len = take_number(start);
		start->texts[i] = (hob_str){(const char *)take(start, len), len};
	}
	start->text_count = head->texts;
}

bool srv_store_start_open(srv_store *store)
{
	struct stat info;
	srv_stat index;
	uint64_t hash[2];
	int fd = openat(store->dir_fd, STORE_START, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool fits = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= (off_t)sizeof(start_head);
	size_t size = fits ? (size_t)info.st_size : 0;
	void *at = fits ? mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (at == MAP_FAILED)
		return false;
	store->start = (store_start){.data = at, .size = size};
	start_head head;
	memcpy(&head, at, sizeof head);
	hash_of(&head, at, size, hash);
	bool good = memcmp(head.magic, "HobStart", sizeof head.magic) == 0 && head.format == START_FORMAT &&
				head.schema == (uint32_t)srv_store_schema_version() && head.size == size &&
				memcmp(hash, head.hash, sizeof hash) == 0 && stat_index(store, &index) &&
				srv_stat_equal(&index, &head.index);
	if (good)
		read_texts(&store->start, &head);
	else
		srv_store_start_close(store);
	return good;
}

void srv_store_start_use(srv_store *store, const hob_buf *rows)
{
	store->start = (store_start){.data = rows->data, .size = rows->size, .made = *rows};
	start_head head = head_of(&store->start);
	read_texts(&store->start, &head);
}

void srv_store_start_close(srv_store *store)
{
	if (store->start.data && !store->start.made.data)
		munmap(store->start.data, store->start.size);
	hob_buf_release(&store->start.made);
	free(store->start.texts);
	free(store->start.path);
	store->start = (store_start){0};
}

static void read_blobs(srv_store *store, const start_head *head)
{
	enum { AHEAD = 8 };
	store_start *start = &store->start;
	const uint8_t *digests = start->data + sizeof *head;
	bool fresh;
	srv_digest_map_reserve(&store->blobs, head->blob_capacity);
	start->at = head->blobs_at;
	uint64_t base_s = (uint64_t)head->base_ms / 1000;
	for (uint64_t i = 0; i < head->blobs; i++) {
		hob_sha256 digest;
		if (i + AHEAD < head->blobs)
			srv_digest_map_prefetch(&store->blobs, digests + (i + AHEAD) * sizeof digest);
		memcpy(digest.bytes, digests + i * sizeof digest, sizeof digest);
		uint64_t size = take_number(start);
		uint32_t used = (uint32_t)take_difference(start, base_s),
				 saved = (uint32_t)take_difference(start, used);
		uint32_t pack = (uint32_t)take_number(start), offset = (uint32_t)take_number(start) * 8,
				 frame = pack > 0 ? (uint32_t)take_number(start) : 0;
		blob_entry *entry = srv_digest_map_put(&store->blobs, &digest, &fresh);
		*entry = (blob_entry){.size = size >> 1,
							  .used_at_s = used,
							  .saved_at_s = saved,
							  .suspect = size & 1,
							  .place = {pack, offset, frame}};
		store->blob_bytes += size >> 1;
	}
}

void srv_store_start_read(srv_store *store)
{
	start_head head = head_of(&store->start);
	bool fresh;
	read_blobs(store, &head);
	store->start.at = head.parts_at;
	for (uint64_t i = 0; i < head.parts; i++) {
		start_part row;
		memcpy(&row, take(&store->start, sizeof row), sizeof row);
		part_entry *entry = srv_digest_map_put(&store->parts, &row.key, &fresh);
		*entry = (part_entry){row.blob, row.used_at_s, row.saved_at_s};
	}
	store->last_job = head.last_job;
	store->last_rev = head.last_rev;
	atomic_store(&store->record_count, head.record_count);
}

bool srv_store_has_start(const srv_store *store)
{
	return store->start.data && (store->start.made.data || !atomic_load(&store->marked));
}

void srv_store_start_files(srv_store *store, void (*each)(void *user, const srv_file_row *row), void *user)
{
	store_start *start = &store->start;
	start_head head = head_of(start);
	srv_file_row row = {0};
	start->at = head.files_at;
	for (uint64_t i = 0; i < head.files; i++) {
		row.root = take_text(start);
		row.path = take_path(start);
		row.stat.size = take_number(start);
		row.stat.inode = take_difference(start, row.stat.inode);
		row.stat.mtime_ns = (int64_t)take_difference(start, (uint64_t)row.stat.mtime_ns);
		row.stat.ctime_ns = (int64_t)take_difference(start, (uint64_t)row.stat.mtime_ns);
		take_digest(start, &row.digest);
		each(user, &row);
	}
}

/* Reads a reference to a record; a record begins with its key. */
static uint64_t take_record_place(store_start *start, hob_sha256 *key)
{
	uint64_t how = take_number(start), place = 0;
	*key = (hob_sha256){{0}};
	if (how == RECORD_UNKNOWN) {
		take_digest(start, key);
	} else if (how == RECORD_HERE) {
		uint64_t size = take_number(start);
		place = start->at;
		take(start, size);
	} else if (how >= RECORD_PLACES) {
		place = start->assets_at + how - RECORD_PLACES;
	}
	if (place > 0)
		memcpy(key->bytes, start->data + place, sizeof key->bytes);
	return place;
}

void srv_store_start_assets(srv_store *store, void (*each)(void *user, const srv_asset_row *row), void *user)
{
	store_start *start = &store->start;
	start_head head = head_of(start);
	start->at = head.assets_at;
	for (uint64_t i = head.assets; i > 0; i--) {
		srv_asset_row asset = {0};
		asset.root = take_text(start);
		asset.path = take_path(start);
		asset.state = take_text(start);
		asset.error = take_text(start);
		asset.rev = take_number(start);
		asset.cooked_at_ms = (int64_t)take_difference(start, (uint64_t)head.base_ms);
		asset.good_place = take_record_place(start, &asset.good);
		if (start->data[start->at] == RECORD_SAME) {
			start->at++;
			asset.last = asset.good;
			asset.last_place = asset.good_place;
		} else {
			asset.last_place = take_record_place(start, &asset.last);
		}
		each(user, &asset);
	}
}

static bool take_record(store_start *start, hob_arena *arena, srv_record *out, bool *whole)
{
	*out = (srv_record){0};
	take_digest(start, &out->key);
	take_digest(start, &out->lookup);
	take_digest(start, &out->source);
	out->file_name = take_text(start);
	out->ingredients = take_text(start);
	out->stats = take_text(start);
	out->error = take_text(start);
	out->warnings = (uint32_t)take_number(start);
	out->cook_ns = take_number(start);
	out->peak_bytes = take_number(start);
	out->cooked_at_ms = (int64_t)take_difference(start, (uint64_t)start->base_ms);
	*whole = take_number(start);
	size_t size = take_number(start);
	return srv_row_take_lists((hob_str){(const char *)take(start, size), size}, arena, out);
}

bool srv_store_record_at(srv_store *store, uint64_t place, hob_arena *arena, srv_record *out, bool *whole,
						 hob_error *err)
{
	assert(place >= sizeof(start_head) && place < store->start.size);
	size_t at = store->start.at;
	store->start.at = place;
	bool ok = take_record(&store->start, arena, out, whole) || hob_fail_memory(err, arena, "a record");
	store->start.at = at;
	return ok;
}
