#include "store_internal.h"

#include "../../core/base/array.h"
#include "../fs/folder.h"
#include "../fs/mounts.h"
#include "../fs/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PACK_MAX = 1 << 20 };

/* ---- the folder */

bool srv_store_make_folders(const char *path, hob_error *err)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	if (len == 0 || len >= sizeof part)
		return hob_fail(err, IO, "the path of the cache has %zu bytes; 1 to %zu are possible", len,
						sizeof part - 1);
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != 0)
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0777) != 0 && errno != EEXIST)
			return srv_store_fail_errno(err, errno, "make the folder", part);
	}
	return true;
}

bool srv_store_open_folder(int dir_fd, const char *name, int *out, hob_error *err)
{
	*out = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *out >= 0 || srv_store_fail_errno(err, errno, "open the folder", name);
}

/* Takes the lock; tries for a second: if a daemon is killed while it starts a process, that process holds
 * copies of its descriptors, including the lock, until its exec. An immediate restart must not fail because
 * of that. */
static bool take_lock(int fd)
{
	enum { TRIES = 100 };
	const struct timespec wait = {0, 10000000};
	for (int i = 0; i < TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK)
			return false;
		nanosleep(&wait, NULL);
	}
	errno = EWOULDBLOCK;
	return false;
}

static bool lock_folder(srv_store *store, hob_error *err)
{
	store->lock_fd = openat(store->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (store->lock_fd < 0)
		return srv_store_fail_errno(err, errno, "open the lock of", store->dir);
	char pid[24] = {0};
	if (!take_lock(store->lock_fd)) {
		if (errno != EWOULDBLOCK)
			return srv_store_fail_errno(err, errno, "lock", store->dir);
		if (pread(store->lock_fd, pid, sizeof pid - 1, 0) <= 0)
			strcpy(pid, "unknown");
		pid[strcspn(pid, "\n")] = 0;
		return hob_fail(err, LOCKED,
						"another Hob (pid %s) uses the cache %s; stop it or choose "
						"another folder with --cache",
						pid, store->dir);
	}
	int size = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
	if (ftruncate(store->lock_fd, 0) != 0 || pwrite(store->lock_fd, pid, (size_t)size, 0) != size)
		return srv_store_fail_errno(err, errno, "write the lock of", store->dir);
	return true;
}

static void sweep_temporary(srv_store *store)
{
	srv_own_folder *folder = srv_folder_open(store->tmp_fd, ".");
	for (struct dirent *entry; (entry = srv_folder_next(folder));)
		if (entry->d_name[0] != '.')
			unlinkat(store->tmp_fd, entry->d_name, 0);
}

bool srv_store_open_packs(srv_store *store, hob_error *err)
{
	return (srv_packs_open(&store->packs, store->packs_fd, true) &&
			srv_packs_open(&store->records, store->records_fd, true)) ||
		   srv_store_fail_errno(err, errno, "open the packs of", store->dir);
}

uint32_t srv_store_set_aside(const srv_store *store)
{
	return store->packs.aside + store->records.aside;
}

static bool open_folders(srv_store *store, const char *dir, bool *known, hob_error *err)
{
	if (!srv_store_make_folders(dir, err))
		return false;
	store->dir = realpath(dir, NULL);
	if (!store->dir)
		return srv_store_fail_errno(err, errno, "find the folder", dir);
	if (!srv_store_open_folder(AT_FDCWD, store->dir, &store->dir_fd, err))
		return false;
	const char *network = srv_network_mount(store->dir_fd);
	if (network)
		return hob_fail(err, IO,
						"the cache %s lies on a network file system (%s), where neither locks nor SQLite are "
						"safe; choose a local folder with --cache",
						store->dir, network);
	if (!lock_folder(store, err))
		return false;
	renameat(store->dir_fd, "recipes", store->dir_fd, "records"); /* its name before schema 8 */
	struct {
		const char *name;
		int *fd;
		bool known; /* it tells that the cache is not new */
	} folders[] = {{"blobs", &store->blobs_fd, true},
				   {"tmp", &store->tmp_fd, false},
				   {"records", &store->records_fd, false},
				   {"packs", &store->packs_fd, true}};
	for (size_t i = 0; i < HOB_COUNT_OF(folders); i++) {
		bool made = mkdirat(store->dir_fd, folders[i].name, 0777) == 0;
		*known = *known || (folders[i].known && !made);
		if (!srv_store_open_folder(store->dir_fd, folders[i].name, folders[i].fd, err))
			return false;
	}
	return srv_store_open_packs(store, err);
}

/* ---- open and close */

srv_store *srv_store_blank(const srv_store_options *options)
{
	srv_store *store = hob_must(calloc(1, sizeof *store));
	store->dir_fd = store->lock_fd = store->blobs_fd = store->tmp_fd = store->records_fd = store->packs_fd =
		-1;
	store->max_bytes = options ? options->max_bytes : 0;
	uint64_t pack_max = options ? options->pack_max : 0;
	store->pack_max = pack_max < PACK_MAX ? (uint32_t)pack_max : PACK_MAX;
	srv_packs_init(&store->packs);
	srv_packs_init(&store->records);
	pthread_mutex_init(&store->record_lock, NULL);
	srv_digest_map_init(&store->record_places, sizeof(record_place));
	pthread_mutex_init(&store->mark_lock, NULL);
	pthread_mutex_init(&store->blob_lock, NULL);
	pthread_mutex_init(&store->part_lock, NULL);
	pthread_mutex_init(&store->sync_lock, NULL);
	srv_digest_map_init(&store->blobs, sizeof(blob_entry));
	srv_digest_map_init(&store->unsaved, 0);
	srv_digest_map_init(&store->parts, sizeof(part_entry));
	srv_digest_map_init(&store->used_records, sizeof(uint32_t));
	return store;
}

void srv_store_free(srv_store *store)
{
	int fds[] = {store->packs_fd, store->records_fd, store->tmp_fd,
				 store->blobs_fd, store->dir_fd,	 store->lock_fd};
	srv_store_db_close(store);
	srv_store_start_close(store);
	srv_digest_map_release(&store->blobs);
	srv_digest_map_release(&store->unsaved);
	srv_digest_map_release(&store->parts);
	srv_digest_map_release(&store->used_records);
	free(store->damaged);
	hob_arena_release(&store->debt.arena);
	srv_row_packer_free(store->change_parts);
	srv_packs_release(&store->packs);
	srv_packs_release(&store->records);
	srv_digest_map_release(&store->record_places);
	pthread_mutex_destroy(&store->record_lock);
	for (size_t i = 0; i < HOB_COUNT_OF(fds); i++)
		srv_close(fds[i]);
	pthread_mutex_destroy(&store->mark_lock);
	pthread_mutex_destroy(&store->blob_lock);
	pthread_mutex_destroy(&store->part_lock);
	pthread_mutex_destroy(&store->sync_lock);
	free(store->dir);
	free(store);
}

bool srv_store_open(const char *dir, const srv_store_options *options, srv_store **out, bool *rebuilt,
					hob_error *err)
{
	hob_error why = {0};
	bool known = false, again = false, ok;
	srv_store *store = srv_store_blank(options);
	ok = open_folders(store, dir, &known, &why);
	if (ok) {
		store_stop stop = srv_store_how_it_stopped(store);
		sweep_temporary(store);
		ok = srv_store_index_open(store, known, stop, &again, &why);
	}
	if (!ok) {
		srv_store_free(store);
		if (err)
			*err = why;
		return false;
	}
	if (rebuilt)
		*rebuilt = again;
	*out = store;
	return true;
}

void srv_store_close(srv_store *store)
{
	if (!store)
		return;
	hob_error err;
	if (store->db)
		sqlite3_busy_timeout(store->db,
							 /* on timeout, waiting rows are lost, and cooked again at the next start */
							 5000);
	store->debt.again_ms = 0;
	bool clean =
		srv_store_usage_save(store, &err) && srv_store_commit(store, &err) && !srv_store_is_damaged(store);
	bool marked = atomic_load(&store->marked);
	if (marked && clean)
		clean =
			srv_store_sync(store, &err) &&
			sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) == SQLITE_OK;
	hob_own_buf start = {0};
	bool keep = clean && store->db && (marked || !store->start_kept) &&
				srv_store_start_collect(store, true, &start, &err);
	srv_store_db_close(store);
	if (keep)
		srv_store_start_write(store, &start);
	if (marked && clean) {
		unlinkat(store->dir_fd, "running", 0);
		fsync(store->dir_fd);
	}
	srv_store_free(store);
}

const char *srv_store_epoch(const srv_store *store)
{
	return store->epoch;
}

bool srv_store_sync(srv_store *store, hob_error *err)
{
	uint32_t blobs = srv_packs_retired(&store->packs), records = srv_packs_retired(&store->records);
	if (syncfs(store->blobs_fd) != 0)
		return srv_store_fail_errno(err, errno, "make durable what is in", store->dir);
	srv_packs_sweep(&store->packs, blobs);
	srv_packs_sweep(&store->records, records);
	return srv_store_fold(store, err);
}
