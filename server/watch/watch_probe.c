#include "watch_internal.h"

#include "../fs/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAIT_MS = 1000 };

#define PROBE_NAME ".hob-probe-%ld-%llx"

/* The content distinguishes it from a user's file with the same name. */
static const char note[] =
	"hob: a temporary file to test whether changes in this folder are reported; it can be deleted\n";

static bool is_ours(int dir_fd, const char *name)
{
	char text[sizeof note + 1];
	struct stat info;
	srv_own_fd fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t size =
		fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? read(fd, text, sizeof text) : -1;
	return size == 0 || (size == sizeof note - 1 && memcmp(text, note, sizeof note - 1) == 0);
}

/* Removes the file that a daemon killed during its probe left behind. */
static void remove_stale(int dir_fd)
{
	srv_own_folder *dir = srv_folder_open(dir_fd, ".");
	for (const struct dirent *entry; (entry = srv_folder_next(dir));) {
		long pid;
		unsigned long long time;
		char again[64];
		if (sscanf(entry->d_name, PROBE_NAME, &pid, &time) != 2 || pid <= 0)
			continue;
		snprintf(again, sizeof again, PROBE_NAME, pid, time);
		bool over = pid != getpid() && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
		if (over && strcmp(again, entry->d_name) == 0 && is_ours(dir_fd, entry->d_name))
			unlinkat(dir_fd, entry->d_name, 0);
	}
}

/* Waits for a record of this name; others may arrive before. */
static bool arrives(int fd, const char *name)
{
	_Alignas(struct inotify_event) char records[4096];
	int64_t until = srv_watch_now_ns() + watch_ms(WAIT_MS), left;
	do {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		/* If the machine was suspended, the time is over, but the event may have arrived. */
		left = until - srv_watch_now_ns();
		if (poll(&wait, 1, left > 0 ? (int)(left / 1000000) + 1 : 0) <= 0)
			continue;
		ssize_t size = read(fd, records, sizeof records);
		for (ssize_t at = 0; at < size;) {
			const struct inotify_event *event = (const struct inotify_event *)(const void *)(records + at);
			if (event->mask & IN_Q_OVERFLOW || (event->len > 0 && strcmp(event->name, name) == 0))
				return true;
			at += (ssize_t)(sizeof *event + event->len);
		}
	} while (left > 0);
	return false;
}

watch_probed srv_watch_probe(int dir_fd, int *inotify_fd)
{
	char name[64], self[32];
	watch_probed result = WATCH_PROBE_IMPOSSIBLE;
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), wd;
	*inotify_fd = fd;
	if (fd < 0)
		return result;
	snprintf(self, sizeof self, "/proc/self/fd/%d", dir_fd);
	/* Names with a leading dot are never sources. */
	snprintf(name, sizeof name, PROBE_NAME, (long)getpid(), (unsigned long long)srv_watch_now_ns());
	remove_stale(dir_fd);
	wd = inotify_add_watch(fd, self, IN_CREATE);
	if (wd >= 0) {
		int file = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (file >= 0) {
			bool noted = write(file, note, sizeof note - 1) == sizeof note - 1;
			close(file);
			unlinkat(dir_fd, name, 0);
			(void)noted;
			result = arrives(fd, name) ? WATCH_PROBE_ARRIVES : WATCH_PROBE_SILENT;
		}
	}
	if (wd >= 0)
		inotify_rm_watch(fd, wd);
	return result;
}
