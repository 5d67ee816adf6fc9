#include "store_internal.h"

#include "../../core/base/array.h"
#include "../fs/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the table; blob_lock is held */

void srv_store_table_unsaved(srv_store *store, const hob_sha256 *digest)
{
	bool fresh;
	srv_digest_map_put(&store->unsaved, digest, &fresh);
}

blob_entry *srv_store_table_add(srv_store *store, const hob_sha256 *digest, uint64_t size,
								srv_pack_place place)
{
	bool fresh;
	blob_entry *entry = srv_digest_map_put(&store->blobs, digest, &fresh);
	store->blob_bytes += size - entry->size;
	entry->size = size;
	entry->place = place;
	entry->used_at_s = srv_store_now_s(store);
	srv_store_table_unsaved(store, digest);
	return entry;
}

blob_entry *srv_store_table_put(srv_store *store, const hob_sha256 *digest, uint64_t size,
								srv_pack_place place)
{
	blob_entry *entry = srv_store_table_add(store, digest, size, place);
	entry->suspect = false;
	entry->awaited = true;
	return entry;
}

void srv_store_table_remove(srv_store *store, const hob_sha256 *digest)
{
	blob_entry *entry = srv_digest_map_find(&store->blobs, digest);
	if (!entry)
		return;
	store->blob_bytes -= entry->size;
	srv_digest_map_remove(&store->blobs, digest);
	srv_store_table_unsaved(store, digest);
}

void srv_store_table_damaged(srv_store *store, const hob_sha256 *digest)
{
	store->damaged_count++;
	if (!HOB_ROOM(store->damaged, store->damaged_room, store->damaged_waiting))
		return;
	store->damaged[store->damaged_waiting++] = *digest;
}

bool srv_store_table_has(srv_store *store, const hob_sha256 *digest)
{
	blob_entry *entry = srv_digest_map_find(&store->blobs, digest);
	if (!entry || entry->suspect)
		return false;
	entry->used_at_s = srv_store_now_s(store);
	entry->awaited = true;
	return true;
}

bool srv_store_table_find(srv_store *store, const hob_sha256 *digest, blob_entry *out)
{
	SRV_LOCKED(&store->blob_lock);
	blob_entry *entry = srv_digest_map_find(&store->blobs, digest);
	if (entry)
		*out = *entry;
	return entry;
}

/* ---- put */

bool srv_store_pack_put(srv_store *store, const hob_sha256 *digest, hob_bytes bytes, hob_error *err)
{
	srv_pack_place place;
	hob_own_buf frame = {0};
	bool ok = true;
	srv_pack_compress(bytes, &frame);
	SRV_LOCKED(&store->blob_lock);
	if (!srv_store_table_has(store, digest)) {
		ok = srv_packs_append(&store->packs, PACK_BLOB, digest, bytes, &frame, &place) ||
			 srv_store_fail_errno(err, errno, "write a blob in", store->dir);
		if (ok)
			srv_store_table_put(store, digest, bytes.size, place);
	}
	return ok;
}

/* ---- get */

srv_pack_answer srv_store_pack_read(srv_store *store, const hob_sha256 *digest, const blob_entry *entry,
									uint8_t **bytes)
{
	if (entry->size > SRV_PACK_DATA_MAX) /* of a damaged row */
		return SRV_PACK_GONE;
	uint8_t *data = hob_must(malloc(entry->size + 1));
	srv_pack_answer answer =
		srv_packs_read(&store->packs, entry->place, PACK_BLOB, digest, data, entry->size);
	hob_sha256 found =
		answer == SRV_PACK_READ ? hob_sha256_of((hob_bytes){data, entry->size}) : (hob_sha256){0};
	if (answer == SRV_PACK_READ && !hob_sha256_equal(&found, digest))
		answer = SRV_PACK_GONE;
	if (bytes && answer == SRV_PACK_READ)
		*bytes = data;
	else
		free(data);
	return answer;
}

static bool fill(int fd, const uint8_t *data, size_t size)
{
	return srv_write_all(fd, data, size) && lseek(fd, 0, SEEK_SET) == 0 &&
		   fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0;
}

int srv_store_pack_open(srv_store *store, const hob_sha256 *digest, const blob_entry *entry)
{
	uint8_t *data;
	srv_pack_answer answer = srv_store_pack_read(store, digest, entry, &data);
	if (answer == SRV_PACK_GONE)
		srv_store_pack_drop(store, digest, entry->place);
	if (answer != SRV_PACK_READ)
		return -1;
	int fd = memfd_create("blob", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && !fill(fd, data, entry->size)) {
		close(fd);
		fd = -1;
	}
	free(data);
	return fd;
}

static bool is_at(const blob_entry *entry, srv_pack_place place)
{
	return entry && entry->place.pack == place.pack && entry->place.offset == place.offset;
}

void srv_store_pack_drop(srv_store *store, const hob_sha256 *digest, srv_pack_place place)
{
	SRV_LOCKED(&store->blob_lock);
	if (is_at(srv_digest_map_find(&store->blobs, digest), place)) {
		srv_store_table_remove(store, digest);
		srv_store_table_damaged(store, digest);
	}
}

/* ---- sweep */

typedef struct sweeping {
	srv_store *store;
	digest_map *there;
	bool suspect;
} sweeping;

static bool sweep_record(void *user, const srv_pack_record *record)
{
	sweeping *s = user;
	bool fresh;
	if (record->kind != PACK_BLOB)
		return true;
	blob_entry *entry = srv_digest_map_find(&s->store->blobs, &record->name);
	srv_digest_map_put(s->there, &record->name, &fresh);
	/* If several records have this name, the last one counts; a separate file takes precedence. */
	bool moved = entry && (fresh || entry->place.pack > 0) && !is_at(entry, record->place);
	if (entry && !moved)
		return true;
	bool was_suspect = entry && entry->suspect;
	srv_store_table_add(s->store, &record->name, record->size, record->place)->suspect =
		s->suspect || was_suspect;
	return true;
}

bool srv_store_packs_sweep(srv_store *store, bool suspect, digest_map *there)
{
	sweeping s = {store, there, suspect};
	return srv_packs_scan(&store->packs, 0, true, sweep_record, &s);
}

/* ---- space to reuse */

static bool move_blob(void *user, const srv_pack_record *record)
{
	srv_store *store = user;
	srv_pack_place place;
	blob_entry *entry = srv_digest_map_find(&store->blobs, &record->name);
	if (!is_at(entry, record->place))
		return true;
	if (srv_packs_copy(&store->packs, record, &place) != SRV_PACK_READ)
		return false; /* opening it will fail and report the error */
	uint32_t used_at_s = entry->used_at_s;
	srv_store_table_add(store, &record->name, record->size, place)->used_at_s = used_at_s;
	return true;
}

void srv_store_packs_shrink(srv_store *store)
{
	srv_packs_want_none(&store->packs);
	const blob_entry *entry;
	SRV_LOCKED(&store->blob_lock);
	for (size_t at = 0; (entry = srv_digest_map_next(&store->blobs, &at, NULL));)
		if (entry->place.pack > 0)
			srv_packs_want(&store->packs, entry->place, entry->size);
	(void)srv_packs_shrink(&store->packs, move_blob, store);
}
