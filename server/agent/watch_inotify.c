#include "sys.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
	MASK = IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_ONLYDIR |
		   IN_DONT_FOLLOW | IN_EXCL_UNLINK,
	ROOT_MASK = IN_DELETE_SELF | IN_MOVE_SELF,
	EVENTS_BYTES = 64 << 10
};

struct agent_watch {
	int fd;
	const char *folder;
	char **paths; /* by watch descriptor */
	int room;
};

agent_watch *agent_watch_open(const char *folder, const char **why)
{
	agent_watch *watch = calloc(1, sizeof *watch);
	*why = "the system gives no events";
	if (!watch)
		return NULL;
	watch->folder = folder;
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch->fd >= 0 && inotify_add_watch(watch->fd, folder, MASK | ROOT_MASK) >= 0)
		return watch;
	agent_watch_close(watch);
	return NULL;
}

void agent_watch_close(agent_watch *watch)
{
	if (!watch)
		return;
	for (int i = 0; i < watch->room; i++)
		free(watch->paths[i]);
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch->paths);
	free(watch);
}

bool agent_watch_folder(agent_watch *watch, hob_str path)
{
	char whole[PATH_MAX];
	snprintf(whole, sizeof whole, "%s/%.*s", watch->folder, HOB_FMT(path));
	int wd = inotify_add_watch(watch->fd, whole, MASK | (path.len == 0 ? ROOT_MASK : 0));
	if (wd < 0)
		return errno != ENOSPC && errno != ENOMEM;
	if (wd >= watch->room) {
		int room = wd * 2 + 64;
		char **bigger = realloc(watch->paths, (size_t)room * sizeof *bigger);
		if (!bigger)
			return false;
		memset(bigger + watch->room, 0, (size_t)(room - watch->room) * sizeof *bigger);
		watch->paths = bigger;
		watch->room = room;
	}
	free(watch->paths[wd]);
	watch->paths[wd] = strndup(path.data ? path.data : "", path.len);
	return watch->paths[wd] != NULL;
}

static bool take_event(agent_watch *watch, const struct inotify_event *event, agent_changed *changed,
					   void *user)
{
	if (event->mask & IN_Q_OVERFLOW) {
		changed(user, (hob_str){0});
		return true;
	}
	const char *folder = event->wd >= 0 && event->wd < watch->room ? watch->paths[event->wd] : NULL;
	if (!folder)
		return true;
	if (event->mask & IN_IGNORED) {
		free(watch->paths[event->wd]);
		watch->paths[event->wd] = NULL;
		return true;
	}
	if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF))
		return folder[0] != 0;
	hob_own_buf path = {0};
	hob_buf_printf(&path, "%s%s%s", folder, folder[0] ? "/" : "", event->len > 0 ? event->name : "");
	/* A created file is checked when it is closed, but a link to a file is complete at once. Changes of the
	 * attributes of a folder are ignored. */
	sys_stat stat;
	bool is_folder = event->mask & IN_ISDIR;
	bool early = (event->mask & IN_CREATE) && !is_folder &&
				 (sys_look(watch->folder, hob_buf_str(&path), &stat) != SYS_FILE || stat.size == 0);
	if (!early && event->len > 0 && !((event->mask & IN_ATTRIB) && is_folder))
		changed(user, hob_buf_str(&path));
	return true;
}

bool agent_watch_wait(agent_watch *watch, uint32_t ms, agent_changed *changed, void *user)
{
	struct pollfd one = {.fd = watch->fd, .events = POLLIN};
	if (poll(&one, 1, ms > INT_MAX ? INT_MAX : (int)ms) <= 0)
		return true;
	_Alignas(struct inotify_event) char bytes[EVENTS_BYTES];
	ssize_t size = read(watch->fd, bytes, sizeof bytes);
	bool there = size >= 0 || errno == EAGAIN || errno == EINTR;
	for (ssize_t at = 0; at < size;) {
		const struct inotify_event *event = (const struct inotify_event *)(const void *)(bytes + at);
		there = take_event(watch, event, changed, user) && there;
		at += (ssize_t)(sizeof *event + event->len);
	}
	return there;
}
