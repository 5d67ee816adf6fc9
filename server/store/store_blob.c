#include "store_internal.h"

#include "../../core/base/array.h"
#include "../fs/folder.h"
#include "../fs/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SIZE = 128 << 10, LINK_NAME = STORE_TEMPORARY, GRACE_S = 60, ROW_WAIT_S = 600 };

void srv_store_blob_name(const hob_sha256 *digest, char out[STORE_BLOB_NAME])
{
	hob_hex hex = hob_sha256_hex(digest);
	snprintf(out, STORE_BLOB_NAME, "%.2s/%s", hex.text, hex.text + 2);
}

/* The file's change time: every write changes it, and programs cannot set it back. */
static int64_t change_ns(const struct stat *info)
{
	return (int64_t)info->st_ctim.tv_sec * 1000000000 + info->st_ctim.tv_nsec;
}

/* Removes the file or empty folder with this name. */
static bool clear_name(srv_store *store, const char *name)
{
	return unlinkat(store->blobs_fd, name, 0) == 0 ||
		   (errno == EISDIR && unlinkat(store->blobs_fd, name, AT_REMOVEDIR) == 0);
}

/* Removes a wrong blob. `seen`: the file that was checked. Does nothing if the name now belongs to another
 * file, or is valid again. NULL: the name was missing or had the wrong size. */
static void drop_damaged(srv_store *store, const hob_sha256 *digest, const struct stat *seen)
{
	char name[STORE_BLOB_NAME];
	struct stat info;
	srv_store_blob_name(digest, name);
	SRV_LOCKED(&store->blob_lock);
	blob_entry *entry = srv_digest_map_find(&store->blobs, digest);
	bool there = fstatat(store->blobs_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
	bool wrong = !there || !S_ISREG(info.st_mode) || (entry && (uint64_t)info.st_size != entry->size) ||
				 (seen && seen->st_ino == info.st_ino);
	if (entry && wrong && entry->place.pack == 0) {
		if (there && !store->guest)
			clear_name(store, name);
		srv_store_table_remove(store, digest);
		srv_store_table_damaged(store, digest);
	}
}

size_t srv_store_blobs_forget(srv_store *store)
{
	size_t count, lost = 0;
	hob_own hob_sha256 *digests = srv_store_digests(store, &count);
	for (size_t i = 0; digests && i < count; i++) {
		if (srv_blob_exists(store, &digests[i]))
			continue;
		SRV_LOCKED(&store->blob_lock);
		if (srv_digest_map_find(&store->blobs, &digests[i])) {
			srv_store_table_remove(store, &digests[i]);
			store->damaged_count++;
			lost++;
		}
	}
	return lost;
}

/* ---- put */

int srv_store_open_unnamed(srv_store *store, const char *name, char temporary[LINK_NAME], bool *named)
{
	char folder[3] = {name[0], name[1], 0};
	*named = false;
	for (int attempt = 0; attempt < 2 && !store->no_unnamed; attempt++) {
		int fd = openat(store->blobs_fd, folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0444);
		if (fd >= 0)
			return fd;
		if (errno != ENOENT)
			break;
		if (mkdirat(store->blobs_fd, folder, 0777) != 0 && errno != EEXIST)
			return -1;
	}
	if (store->no_unnamed)
		mkdirat(store->blobs_fd, folder, 0777);
	else if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)
		return -1;
	*named = true;
	return srv_store_temporary(store, temporary);
}

/* Links the finished file under its name. Replaces any file there, because these bytes are known to be
 * right. */
static bool give_name(srv_store *store, int fd, const char *temporary, bool named, const char *name)
{
	if (named)
		return renameat(store->tmp_fd, temporary, store->blobs_fd, name) == 0;
	char self[LINK_NAME];
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	for (int attempt = 0; attempt < 2; attempt++) {
		if (linkat(AT_FDCWD, self, store->blobs_fd, name, AT_SYMLINK_FOLLOW) == 0)
			return true;
		if (errno != EEXIST || !clear_name(store, name))
			break;
	}
	return false;
}

bool srv_store_publish(srv_store *store, int fd, const char *temporary, bool named, const char *name,
					   const hob_sha256 *digest, uint64_t size, hob_error *err)
{
	bool ok = true;
	SRV_LOCKED(&store->blob_lock);
	if (!srv_store_table_has(store, digest)) {
		struct stat info;
		ok = give_name(store, fd, temporary, named, name) ||
			 srv_store_fail_errno(err, errno, "name the blob", name);
		if (ok)
			srv_store_table_put(store, digest, size, (srv_pack_place){0})->right_ns =
				fstat(fd, &info) == 0 ? change_ns(&info) : 0;
	} else if (named) {
		unlinkat(store->tmp_fd, temporary, 0);
	}
	return ok;
}

bool srv_blob_put(srv_store *store, hob_bytes bytes, hob_sha256 *out, hob_error *err)
{
	hob_sha256 digest = hob_sha256_of(bytes);
	char name[STORE_BLOB_NAME], temporary[LINK_NAME];
	bool named;
	pthread_mutex_lock(&store->blob_lock);
	bool known = srv_store_table_has(store, &digest);
	pthread_mutex_unlock(&store->blob_lock);
	if (known) {
		*out = digest;
		return true;
	}
	if (!srv_store_mark(store, err))
		return false;
	if (bytes.size <= store->pack_max && store->pack_max > 0) {
		bool packed = srv_store_pack_put(store, &digest, bytes, err);
		*out = packed ? digest : *out;
		return packed;
	}
	srv_store_blob_name(&digest, name);
	int fd = srv_store_open_unnamed(store, name, temporary, &named);
	if (fd < 0)
		return srv_store_fail_errno(err, errno, "make a blob in", store->dir);
	bool ok = srv_write_all(fd, bytes.data, bytes.size);
	if (!ok) {
		srv_store_fail_errno(err, errno, "write a blob in", store->dir);
		if (named)
			unlinkat(store->tmp_fd, temporary, 0);
	} else {
		ok = srv_store_publish(store, fd, temporary, named, name, &digest, bytes.size, err);
	}
	close(fd);
	if (ok)
		*out = digest;
	return ok;
}

/* ---- get */

static int open_file(srv_store *store, const hob_sha256 *digest)
{
	char name[STORE_BLOB_NAME];
	srv_store_blob_name(digest, name);
	return openat(store->blobs_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool file_is_missing(int code)
{
	return code == ENOENT || code == ELOOP || code == ENXIO || code == ENOTDIR;
}

static bool find_entry(srv_store *store, const hob_sha256 *digest, blob_entry *out)
{
	SRV_LOCKED(&store->blob_lock);
	blob_entry *entry = srv_digest_map_find(&store->blobs, digest);
	if (entry) {
		entry->used_at_s = srv_store_now_s(store);
		*out = *entry;
	}
	return entry;
}

int srv_blob_open(srv_store *store, const hob_sha256 *digest, uint64_t *size)
{
	blob_entry entry;
	struct stat info;
	for (int attempt = 0; attempt < 2; attempt++) {
		if (!find_entry(store, digest, &entry))
			return -1;
		*size = entry.size;
		if (entry.place.pack > 0) {
			int packed = srv_store_pack_open(store, digest, &entry);
			if (packed >= 0)
				return packed;
			continue; /* it may have been moved meanwhile */
		}
		int fd = open_file(store, digest);
		if (fd < 0 && !file_is_missing(errno))
			return -1;
		bool whole =
			fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size == entry.size;
		if (whole && !entry.suspect && change_ns(&info) == entry.right_ns) {
			*size = entry.size;
			return fd;
		}
		srv_close(fd);
		if (!whole)
			drop_damaged(store, digest, NULL);
		if (!whole || !srv_blob_verify(store, digest))
			return -1;
	}
	return -1;
}

bool srv_blob_read(srv_store *store, const hob_sha256 *digest, uint8_t *out, uint64_t size)
{
	uint64_t there = 0;
	blob_entry entry;
	uint8_t *packed;
	if (find_entry(store, digest, &entry) && entry.place.pack > 0 && entry.size == size &&
		srv_store_pack_read(store, digest, &entry, &packed) == SRV_PACK_READ) {
		memcpy(out, packed, size);
		free(packed);
		return true;
	}
	srv_own_fd fd = srv_blob_open(store, digest, &there); /* a file, or a pack that was moved meanwhile */
	return fd >= 0 && there == size && srv_read_all(fd, out, size);
}

bool srv_blob_known(srv_store *store, const hob_sha256 *digest)
{
	return srv_store_table_find(store, digest, &(blob_entry){0});
}

bool srv_blob_exists(srv_store *store, const hob_sha256 *digest)
{
	char name[STORE_BLOB_NAME];
	struct stat info;
	blob_entry entry;
	if (!srv_store_table_find(store, digest, &entry))
		return false;
	if (entry.place.pack > 0)
		return srv_packs_read(&store->packs, entry.place, PACK_BLOB, digest, NULL, entry.size) ==
			   SRV_PACK_READ;
	srv_store_blob_name(digest, name);
	return fstatat(store->blobs_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
		   (uint64_t)info.st_size == entry.size;
}

bool srv_blob_verify(srv_store *store, const hob_sha256 *digest)
{
	return srv_blob_check(store, digest, true);
}

/* Clears `suspect` of a blob, under blob_lock. NULL: it was evicted meanwhile. */
static blob_entry *clear_suspicion(srv_store *store, const hob_sha256 *digest)
{
	blob_entry *entry = srv_digest_map_find(&store->blobs, digest);
	if (entry && entry->suspect) {
		entry->suspect = false;
		srv_store_table_unsaved(store, digest);
	}
	return entry;
}

static bool check_packed(srv_store *store, const hob_sha256 *digest, const blob_entry *known, bool drop)
{
	srv_pack_answer answer = srv_store_pack_read(store, digest, known, NULL);
	if (answer == SRV_PACK_GONE && drop)
		srv_store_pack_drop(store, digest, known->place);
	if (answer != SRV_PACK_READ)
		return false;
	SRV_LOCKED(&store->blob_lock);
	(void)clear_suspicion(store, digest);
	return true;
}

bool srv_blob_check(srv_store *store, const hob_sha256 *digest, bool drop)
{
	blob_entry known;
	struct stat info;
	if (!find_entry(store, digest, &known))
		return false;
	if (known.place.pack > 0)
		return check_packed(store, digest, &known, drop);
	int fd = open_file(store, digest);
	if (fd < 0 || fstat(fd, &info) != 0) {
		if (fd >= 0)
			close(fd);
		else if (drop && file_is_missing(errno))
			drop_damaged(store, digest, NULL);
		return false;
	}
	hob_sha256 found;
	bool read = srv_hash_rest(fd, NULL, &found, NULL), certain = read || errno != ENOMEM;
	close(fd);
	bool right = read && hob_sha256_equal(&found, digest);
	if (drop && certain && !right)
		drop_damaged(store, digest, &info);
	if (!right)
		return false;
	SRV_LOCKED(&store->blob_lock);
	blob_entry *entry = clear_suspicion(store, digest);
	if (entry)
		entry->right_ns = change_ns(&info);
	return true;
}

hob_sha256 *srv_store_digests(srv_store *store, size_t *count)
{
	SRV_LOCKED(&store->blob_lock);
	hob_sha256 *list = malloc((store->blobs.count + 1) * sizeof *list);
	*count = 0;
	for (size_t at = 0; list && srv_digest_map_next(&store->blobs, &at, &list[*count]);)
		++*count;
	return list;
}

size_t srv_store_take_damaged(srv_store *store, hob_sha256 *out, size_t room)
{
	SRV_LOCKED(&store->blob_lock);
	size_t count = store->damaged_waiting < room ? store->damaged_waiting : room;
	if (count > 0) {
		memcpy(out, store->damaged, count * sizeof *out);
		store->damaged_waiting -= (uint32_t)count;
		memmove(store->damaged, store->damaged + count, store->damaged_waiting * sizeof *out);
	}
	return count;
}

/* ---- for the rows */

bool srv_store_is_idle(uint32_t used_at_s, bool awaited, uint32_t now_s)
{
	return now_s > used_at_s && now_s - used_at_s >= (awaited ? ROW_WAIT_S : GRACE_S);
}

bool srv_store_blobs_name(srv_store *store, const hob_sha256 *digests, size_t stride, uint32_t count,
						  hob_error *err)
{
	const uint8_t *first = (const uint8_t *)digests;
	bool ok = true;
	SRV_LOCKED(&store->blob_lock);
	for (uint32_t i = 0; i < count && ok; i++) {
		const hob_sha256 *digest = (const hob_sha256 *)(first + i * stride);
		if (!srv_digest_map_find(&store->blobs, digest))
			ok = hob_fail(err, NOT_FOUND, "blob %s is not in the cache; it must be cooked again",
						  hob_sha256_hex(digest).text);
	}
	for (uint32_t i = 0; i < count && ok; i++) {
		blob_entry *entry = srv_digest_map_find(&store->blobs, (const hob_sha256 *)(first + i * stride));
		entry->awaited = false;
		entry->used_at_s = srv_store_now_s(store); /* so that srv_store_drop_orphans keeps it */
	}
	return ok;
}

uint64_t srv_store_blob_remove(srv_store *store, const hob_sha256 *digest, uint32_t now_s)
{
	char name[STORE_BLOB_NAME];
	uint64_t freed = 0;
	srv_store_blob_name(digest, name);
	SRV_LOCKED(&store->blob_lock);
	blob_entry *entry = srv_digest_map_find(&store->blobs, digest);
	if (entry && srv_store_is_idle(entry->used_at_s, entry->awaited, now_s) &&
		(entry->place.pack > 0 || unlinkat(store->blobs_fd, name, 0) == 0 || errno == ENOENT)) {
		freed = entry->size;
		store->evicted_bytes += freed;
		srv_store_table_remove(store, digest);
	}
	return freed;
}

static bool save_one(srv_store *store, const hob_sha256 *digest, hob_error *err)
{
	SRV_LOCKED(&store->blob_lock);
	blob_entry *found = srv_digest_map_find(&store->blobs, digest), entry = {0};
	if (found) {
		found->saved_at_s = found->used_at_s;
		entry = *found;
	}
	return found ? srv_store_write(store, SQL_PUT_BLOB, err, BIND(digest), BIND(entry.size),
								   BIND(entry.used_at_s), BIND(entry.suspect), BIND(entry.place.pack),
								   BIND((uint64_t)entry.place.frame << 32 | entry.place.offset))
				 : srv_store_write(store, SQL_DELETE_BLOB, err, BIND(digest));
}

bool srv_store_blobs_save(srv_store *store, digest_map *taken, hob_error *err)
{
	hob_sha256 digest;
	pthread_mutex_lock(&store->blob_lock);
	*taken = store->unsaved;
	srv_digest_map_init(&store->unsaved, 0);
	pthread_mutex_unlock(&store->blob_lock);
	for (size_t at = 0; srv_digest_map_next(taken, &at, &digest);)
		if (!save_one(store, &digest, err))
			return false;
	return true;
}

void srv_store_blobs_note_use(srv_store *store)
{
	hob_sha256 digest;
	const blob_entry *entry;
	SRV_LOCKED(&store->blob_lock);
	for (size_t at = 0; (entry = srv_digest_map_next(&store->blobs, &at, &digest));)
		if (entry->used_at_s - entry->saved_at_s >= STORE_USE_STEP_S)
			srv_store_table_unsaved(store, &digest);
}

static void unsave(srv_store *store, const digest_map *blobs)
{
	hob_sha256 digest;
	SRV_LOCKED(&store->blob_lock);
	for (size_t at = 0; srv_digest_map_next(blobs, &at, &digest);)
		srv_store_table_unsaved(store, &digest);
}

void srv_store_blobs_unsave(srv_store *store, digest_map *taken)
{
	unsave(store, taken);
	srv_digest_map_release(taken);
}

void srv_store_blobs_unsave_all(srv_store *store)
{
	unsave(store, &store->blobs);
}

bool srv_store_blobs_load(srv_store *store, hob_error *err)
{
	bool ok = true, fresh;
	sqlite3_stmt *rows = srv_store_read(store, SQL_EACH_BLOB, err);
	while (srv_store_step(store, rows, &ok, err)) {
		hob_sha256 digest = srv_store_column_digest(rows, 0);
		blob_entry *entry = srv_digest_map_put(&store->blobs, &digest, &fresh);
		entry->size = srv_store_column_u64(rows, 1);
		entry->used_at_s = entry->saved_at_s = (uint32_t)srv_store_column_u64(rows, 2);
		entry->suspect = srv_store_column_u64(rows, 3) != 0;
		uint64_t place = srv_store_column_u64(rows, 5);
		entry->place = (srv_pack_place){(uint32_t)srv_store_column_u64(rows, 4), (uint32_t)place,
										(uint32_t)(place >> 32)};
		store->blob_bytes += entry->size;
	}
	return ok;
}

/* ---- sweep */

static bool digest_of_name(const char *folder, const char *name, hob_sha256 *out)
{
	char text[HOB_SHA256_TEXT + 1];
	if (strlen(name) != HOB_SHA256_TEXT - 2)
		return false;
	snprintf(text, sizeof text, "%.2s%s", folder, name);
	return hob_sha256_parse((hob_str){text, HOB_SHA256_TEXT}, out);
}

static void sweep_file(srv_store *store, const hob_sha256 *digest, uint64_t size, bool suspect,
					   digest_map *there)
{
	bool fresh;
	srv_digest_map_put(there, digest, &fresh);
	const blob_entry *entry = srv_digest_map_find(&store->blobs, digest);
	if (entry && entry->size == size && entry->place.pack == 0)
		return;
	bool doubtful = suspect || (entry && (entry->size != size || entry->suspect));
	srv_store_table_add(store, digest, size, (srv_pack_place){0})->suspect = doubtful;
}

static bool sweep_folder(srv_store *store, const char *folder, bool suspect, digest_map *there)
{
	int fd = openat(store->blobs_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	srv_own_folder *list = srv_folder_of(fd);
	if (!list)
		return fd < 0 && errno == ENOENT;
	for (struct dirent *file; (file = srv_folder_next(list));) {
		hob_sha256 digest;
		struct stat info;
		if (digest_of_name(folder, file->d_name, &digest) &&
			fstatat(fd, file->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
			sweep_file(store, &digest, (uint64_t)info.st_size, suspect, there);
	}
	return true;
}

bool srv_store_blobs_sweep(srv_store *store, bool suspect, hob_error *err)
{
	digest_map there;
	hob_sha256 digest;
	bool ok = true;
	srv_digest_map_init(&there, 0);
	pthread_mutex_lock(&store->blob_lock);
	ok = srv_store_packs_sweep(store, suspect, &there);
	for (int i = 0; i < 256 && ok; i++) {
		char folder[3];
		snprintf(folder, sizeof folder, "%02x", (unsigned)i);
		ok = sweep_folder(store, folder, suspect, &there);
	}
	if (ok) {
		digest_map gone;
		srv_digest_map_init(&gone, 0);
		for (size_t at = 0; srv_digest_map_next(&store->blobs, &at, &digest);) {
			bool fresh;
			if (!srv_digest_map_find(&there, &digest))
				srv_digest_map_put(&gone, &digest, &fresh);
		}
		for (size_t at = 0; srv_digest_map_next(&gone, &at, &digest);) {
			srv_store_table_remove(store, &digest);
			srv_store_table_damaged(store, &digest);
		}
		srv_digest_map_release(&gone);
	}
	pthread_mutex_unlock(&store->blob_lock);
	srv_digest_map_release(&there);
	return ok || hob_fail(err, IO, "cannot list the blobs in %s", store->dir);
}
