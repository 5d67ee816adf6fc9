#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Restores the folders of a cache that were removed while the daemon runs. Descriptors keep their numbers,
 * because other threads use them. The lock is taken first, so that two daemons never share a cache. */

static bool is_same(int dir_fd, const char *name, int fd)
{
	struct stat named, open_one;
	return fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &open_one) == 0 &&
		   named.st_dev == open_one.st_dev && named.st_ino == open_one.st_ino;
}

static bool take_place(int fd, int old)
{
	bool ok = dup3(fd, old, O_CLOEXEC) == old;
	close(fd);
	return ok;
}

static bool keep_lock(srv_store *store, int dir_fd, hob_error *err)
{
	if (is_same(dir_fd, "lock", store->lock_fd))
		return true;
	int fd = openat(dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	char pid[24];
	int size = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
	if (fd < 0)
		return srv_store_fail_errno(err, errno, "open the lock of", store->dir);
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		return hob_fail(
			err, LOCKED,
			"the cache %s was removed, and another Hob uses what is there now; stop one of the two",
			store->dir);
	}
	bool ok = ftruncate(fd, 0) == 0 && pwrite(fd, pid, (size_t)size, 0) == size;
	return take_place(fd, store->lock_fd) &&
		   (ok || srv_store_fail_errno(err, errno, "write the lock of", store->dir));
}

static bool keep_folder(srv_store *store, const char *name, int fd, uint32_t *made, hob_error *err)
{
	if (is_same(store->dir_fd, name, fd))
		return true;
	mkdirat(store->dir_fd, name, 0777);
	int fresh = openat(store->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fresh < 0 || !take_place(fresh, fd))
		return srv_store_fail_errno(err, errno, "make the folder", name);
	++*made;
	return true;
}

static bool keep_dir(srv_store *store, uint32_t *made, hob_error *err)
{
	if (is_same(AT_FDCWD, store->dir, store->dir_fd))
		return keep_lock(store, store->dir_fd, err);
	if (!srv_store_make_folders(store->dir, err))
		return false;
	int fresh = open(store->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fresh < 0)
		return srv_store_fail_errno(err, errno, "open the folder", store->dir);
	if (!keep_lock(store, fresh, err)) {
		close(fresh);
		return false;
	}
	++*made;
	return take_place(fresh, store->dir_fd) ||
		   srv_store_fail_errno(err, errno, "open the folder", store->dir);
}

bool srv_store_keep_folders(srv_store *store, uint32_t *made, size_t *lost, hob_error *err)
{
	*made = 0;
	*lost = 0;
	bool ok = keep_dir(store, made, err) && keep_folder(store, "blobs", store->blobs_fd, made, err) &&
			  keep_folder(store, "tmp", store->tmp_fd, made, err) &&
			  keep_folder(store, "records", store->records_fd, made, err) &&
			  keep_folder(store, "packs", store->packs_fd, made, err);
	if (ok && *made > 0) {
		atomic_store(&store->marked, false);
		ok = srv_store_open_packs(store, err) && srv_store_mark(store, err);
		srv_store_copies_forget(store);
		*lost = srv_store_blobs_forget(store);
	}
	return ok;
}
