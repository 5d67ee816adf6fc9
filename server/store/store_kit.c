#include "store_internal.h"

#include "../fs/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Time, errors, temporary files and the marker of a running store. Calls no other file of the store. */

enum { BOOT_ID = 40 };

uint32_t srv_store_now_s(srv_store *store)
{
	return (uint32_t)time(NULL) + atomic_load_explicit(&store->time_shift_s, memory_order_relaxed);
}

bool srv_store_fail_errno(hob_error *err, int code, const char *what, const char *name)
{
	if (code == ENOSPC || code == EDQUOT || code == EFBIG)
		return hob_fail(err, DISK_FULL,
						"cannot %s %s: %s; free disk space or choose another folder with --cache", what, name,
						strerror(code));
	return hob_fail(err, IO, "cannot %s %s: %s", what, name, strerror(code));
}

int srv_store_temporary(srv_store *store, char name[32])
{
	snprintf(name, 32, "%llu", (unsigned long long)atomic_fetch_add(&store->temporary, 1));
	return openat(store->tmp_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
}

int srv_store_open_nothing(srv_store *store)
{
	char name[32];
	snprintf(name, sizeof name, "nothing-%llu", (unsigned long long)atomic_fetch_add(&store->temporary, 1));
	if (mkdirat(store->tmp_fd, name, 0700) != 0 && errno != EEXIST)
		return -1;
	int fd = openat(store->tmp_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unlinkat(store->tmp_fd, name, AT_REMOVEDIR);
	return fd;
}

/* ---- the marker of a stop that is not clean: file "running", holding the boot id */

static void read_boot_id(char out[BOOT_ID])
{
	(void)srv_read_text(AT_FDCWD, "/proc/sys/kernel/random/boot_id", out, BOOT_ID);
	out[strcspn(out, "\n")] = 0;
}

static bool write_marker(srv_store *store, const char *text, hob_error *err)
{
	char name[32];
	srv_own_fd fd = srv_store_temporary(store, name);
	bool ok = fd >= 0 && srv_write_all(fd, text, strlen(text)) && fsync(fd) == 0 &&
			  renameat(store->tmp_fd, name, store->dir_fd, "running") == 0 && fsync(store->dir_fd) == 0;
	if (!ok)
		srv_store_fail_errno(err, errno, "mark the cache as used:", store->dir);
	return ok;
}

bool srv_store_mark(srv_store *store, hob_error *err)
{
	if (atomic_load_explicit(&store->marked, memory_order_acquire))
		return true;
	SRV_LOCKED(&store->mark_lock);
	bool ok = atomic_load(&store->marked);
	if (!ok) {
		char boot[BOOT_ID];
		read_boot_id(boot);
		ok = write_marker(store, boot, err);
		unlinkat(store->dir_fd, STORE_START, 0);
		atomic_store_explicit(&store->marked, ok, memory_order_release);
	}
	return ok;
}

void srv_store_mark_damaged(srv_store *store)
{
	if (store->guest)
		return;
	if (store->writer) {
		/* Errors of readers during the replacement of the index do not concern the new one. */
		if (store->generation == atomic_load(&store->writer->generation))
			atomic_store(&store->writer->seen_damage, true);
		return;
	}
	SRV_LOCKED(&store->mark_lock);
	if (!store->index_wrong && write_marker(store, "damaged", NULL))
		atomic_store(&store->marked, true);
	store->index_wrong = true;
}

store_stop srv_store_how_it_stopped(srv_store *store)
{
	char boot[BOOT_ID], then[BOOT_ID];
	errno = 0;
	bool marked = srv_read_text(store->dir_fd, "running", then, sizeof then);
	if (!marked && errno == ENOENT)
		return STOP_CLEAN;
	read_boot_id(boot);
	if (strcmp(then, "damaged") == 0)
		return STOP_DAMAGED;
	return marked && boot[0] && strcmp(boot, then) == 0 ? STOP_KILLED : STOP_POWER;
}
