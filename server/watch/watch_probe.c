#include "watch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { WAIT_MS = 1000 };

/* Names with a leading dot are nobody's source. */
static void name_probe(char out[64])
{
	snprintf(out, 64, ".hob-probe-%ld-%llx", (long)getpid(), (unsigned long long)watch_now_ns());
}

/* Waits for a record of this name; others may come before. */
static bool arrives(int fd, const char *name)
{
	_Alignas(struct inotify_event) char records[4096];
	int64_t until = watch_now_ns() + watch_ms(WAIT_MS);
	for (int64_t now = watch_now_ns(); now < until; now = watch_now_ns()) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		if (poll(&wait, 1, (int)((until - now) / 1000000) + 1) <= 0)
			continue;
		ssize_t size = read(fd, records, sizeof records);
		for (ssize_t at = 0; at < size;) {
			const struct inotify_event *event = (const struct inotify_event *)(const void *)(records + at);
			if (event->mask & IN_Q_OVERFLOW || (event->len > 0 && strcmp(event->name, name) == 0))
				return true;
			at += (ssize_t)(sizeof *event + event->len);
		}
	}
	return false;
}

watch_probed watch_probe(int dir_fd)
{
	char name[64], self[32];
	watch_probed result = WATCH_PROBE_IMPOSSIBLE;
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0)
		return result;
	snprintf(self, sizeof self, "/proc/self/fd/%d", dir_fd);
	name_probe(name);
	if (inotify_add_watch(fd, self, IN_CREATE) >= 0) {
		int file = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (file >= 0) {
			close(file);
			unlinkat(dir_fd, name, 0);
			result = arrives(fd, name) ? WATCH_PROBE_ARRIVES : WATCH_PROBE_SILENT;
		}
	}
	close(fd);
	return result;
}
