/* The record of each cook, compressed, in packs. A record damaged by a power cut fails its check. */
#include "compress.h"
#include "record.h"
#include "store_internal.h"

#include "../fs/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_NAME = 80, COPY_BYTES_MAX = 64 << 20, DEAD_MIN = 256 };

/* ---- text and bytes: records are similar, and hexadecimal digits waste half their space */

static bool is_record(uint32_t kind)
{
	return kind == PACK_PLAIN_RECORD || kind == PACK_OLD_RECORD || kind == PACK_RECORD;
}

static bool grow(hob_bytes frame, uint32_t kind, hob_arena *arena, hob_str *out)
{
	srv_dictionary dictionary = kind == PACK_PLAIN_RECORD ? SRV_NO_DICTIONARY
								: kind == PACK_OLD_RECORD ? SRV_OLD_RECORD_DICTIONARY
														  : SRV_RECORD_DICTIONARY;
	size_t full;
	if (!srv_compressed_size(frame, COPY_BYTES_MAX, &full))
		return false;
	char *text = hob_arena_alloc(arena, full + 1, 1);
	*out = (hob_str){text, full};
	return text && srv_decompress(frame, dictionary, (uint8_t *)text, full);
}

/* ---- location of each record; record_lock is held */

static void forget_places(srv_store *store)
{
	srv_digest_map_clear(&store->record_places);
	store->records_read = false;
}

void srv_store_copies_forget(srv_store *store)
{
	SRV_LOCKED(&store->record_lock);
	forget_places(store);
}

/* ---- writing */

/* Name of a record's file in earlier versions, which stored each record in a file of its own. */
static void copy_name(const hob_sha256 *key, char out[COPY_NAME])
{
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(key, text);
	snprintf(out, COPY_NAME, "%.2s/%s.json", text, text);
}

static void set_place(srv_store *store, const hob_sha256 *key, record_place at)
{
	bool fresh;
	*(record_place *)srv_digest_map_put(&store->record_places, key, &fresh) = at;
}

bool srv_store_copy_put(srv_store *store, const srv_record *record, hob_error *err)
{
	hob_own_buf text = {0}, packed = {0};
	record_place at = {.kind = PACK_RECORD};
	srv_record_print(record, &text);
	bool ok = !text.failed && srv_compress(hob_buf_bytes(&text), SRV_RECORD_DICTIONARY, &packed);
	if (!ok)
		hob_fail(err, MEMORY, "no memory left for the record of a cook");
	SRV_LOCKED(&store->record_lock);
	ok = ok && (srv_packs_append(&store->records, PACK_RECORD, &record->key, hob_buf_bytes(&packed), NULL,
								 &at.place) ||
				srv_store_fail_errno(err, errno, "write the record of a cook in", store->dir));
	at.size = (uint32_t)packed.size;
	if (ok && store->records_read)
		set_place(store, &record->key, at);
	return ok;
}

void srv_store_copy_remove(srv_store *store, const hob_sha256 *key)
{
	char name[COPY_NAME];
	pthread_mutex_lock(&store->record_lock);
	store->records_dead++;
	if (store->records_read)
		srv_digest_map_remove(&store->record_places, key);
	pthread_mutex_unlock(&store->record_lock);
	copy_name(key, name);
	unlinkat(store->records_fd, name, 0);
}

/* ---- reading */

static bool read_file(int folder_fd, const char *name, hob_arena *arena, hob_str *out)
{
	struct stat info;
	int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool ok = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= COPY_BYTES_MAX;
	char *data = ok ? hob_arena_alloc(arena, (size_t)info.st_size, 1) : NULL;
	ssize_t size = data ? read(fd, data, (size_t)info.st_size) : -1;
	srv_close(fd);
	*out = (hob_str){data, size > 0 ? (size_t)size : 0};
	return size > 0;
}

static bool note_place(void *user, const srv_pack_record *record)
{
	if (is_record(record->kind))
		set_place(user, &record->name, (record_place){record->place, record->size, record->kind});
	return true;
}

static bool read_places(srv_store *store)
{
	if (!store->records_read)
		store->records_read = srv_packs_scan(&store->records, 0, false, note_place, store);
	return store->records_read;
}

static bool read_packed(srv_store *store, const hob_sha256 *key, const record_place *at, hob_arena *arena,
						hob_str *out)
{
	hob_own uint8_t *bytes = malloc((size_t)at->size + 1);
	return bytes &&
		   srv_packs_read(&store->records, at->place, at->kind, key, bytes, at->size) == SRV_PACK_READ &&
		   grow((hob_bytes){bytes, at->size}, at->kind, arena, out);
}

void srv_store_read_record(srv_store *store, const hob_sha256 *key, hob_buf *out)
{
	char name[COPY_NAME];
	hob_own_arena arena;
	hob_str text;
	record_place at = {0};
	pthread_mutex_lock(&store->record_lock);
	const record_place *found = read_places(store) ? srv_digest_map_find(&store->record_places, key) : NULL;
	at = found ? *found : at;
	pthread_mutex_unlock(&store->record_lock);
	copy_name(key, name);
	hob_arena_init(&arena, 2ul * COPY_BYTES_MAX);
	if (found ? read_packed(store, key, &at, &arena, &text)
			  : read_file(store->records_fd, name, &arena, &text))
		hob_buf_put_str(out, text);
}

/* Adds the record of this text to the index if all its outputs are here. *ok: the index was written. */
static bool take_text(srv_store *store, hob_str text, hob_arena *arena, bool *ok, hob_error *err)
{
	srv_record record;
	hob_error ignored;
	if (!srv_record_parse(text, arena, &record, &ignored))
		return false;
	const hob_sha256 *digests = record.output_count > 0 ? &record.outputs[0].digest : NULL;
	if (!srv_store_blobs_name(store, digests, sizeof *record.outputs, record.output_count, NULL))
		return false;
	*ok = srv_store_record_put_rows(store, &record, err);
	return true;
}

/* Reads a copy into the index; deletes an unusable copy. False only if the index cannot be written. */
static bool read_copy(srv_store *store, int folder_fd, const char *name, hob_error *err)
{
	hob_own_arena arena;
	hob_str text;
	bool ok = true;
	hob_arena_init(&arena, 4ul * COPY_BYTES_MAX);
	if (!read_file(folder_fd, name, &arena, &text) || !take_text(store, text, &arena, &ok, err))
		unlinkat(folder_fd, name, 0);
	return ok;
}

static bool read_all_packed(srv_store *store, hob_error *err)
{
	hob_sha256 key;
	bool ok = true;
	pthread_mutex_lock(&store->record_lock);
	forget_places(store);
	bool read = read_places(store);
	pthread_mutex_unlock(&store->record_lock);
	if (!read)
		return srv_store_fail_errno(err, errno, "read the records of cooks in", store->dir);
	const record_place *place;
	for (size_t at = 0; ok && (place = srv_digest_map_next(&store->record_places, &at, &key));) {
		hob_own_arena arena;
		hob_str text;
		hob_arena_init(&arena, 4ul * COPY_BYTES_MAX);
		if (read_packed(store, &key, place, &arena, &text))
			(void)take_text(store, text, &arena, &ok, err);
	}
	return ok;
}

bool srv_store_copies_read(srv_store *store, hob_error *err)
{
	bool ok = read_all_packed(store, err);
	for (int i = 0; i < 256 && ok; i++) {
		char name[3];
		snprintf(name, sizeof name, "%02x", (unsigned)i);
		int fd = openat(store->records_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		srv_own_folder *folder = srv_folder_of(fd);
		for (struct dirent *file; ok && (file = srv_folder_next(folder));)
			if (file->d_name[0] != '.')
				ok = read_copy(store, fd, file->d_name, err);
	}
	return ok;
}

/* ---- space to reuse */

static bool is_held(srv_store *store, const hob_sha256 *key)
{
	bool known = false;
	hob_error ignored;
	return !srv_store_has_record(store, key, &known, &ignored) || known;
}

static bool move_copy(void *user, const srv_pack_record *record)
{
	srv_store *store = user;
	record_place *at = srv_digest_map_find(&store->record_places, &record->name);
	if (!at || at->place.pack != record->place.pack || at->place.offset != record->place.offset)
		return true;
	if (is_held(store, &record->name))
		return srv_packs_copy(&store->records, record, &at->place) == SRV_PACK_READ;
	srv_digest_map_remove(&store->record_places, &record->name);
	return true;
}

void srv_store_copies_shrink(srv_store *store)
{
	bool waits = atomic_load(&store->debt.waiting) > 0;
	if (waits || store->records_dead <= atomic_load(&store->record_count) + DEAD_MIN)
		return;
	SRV_LOCKED(&store->record_lock);
	srv_packs_want_none(&store->records); /* so that every full pack is emptied */
	while (read_places(store) && srv_packs_shrink(&store->records, move_copy, store))
		continue;
	store->records_dead = 0;
}
