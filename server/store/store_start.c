#include "store_start.h"

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
