#include "agent_watch.h"

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
	uint32_t poll_ms; /* 0: events */
	int64_t next_ms;
	const char *folder;
	char **paths; /* by watch descriptor */
	int room;
};

agent_watch *agent_watch_open(const char *folder, uint32_t poll_ms, const char **note, hob_error *err)
{
	agent_watch *watch = calloc(1, sizeof *watch);
	if (!watch) {
		(void)!hob_fail(err, MEMORY, "no memory left to watch");
		return NULL;
	}
	watch->folder = folder;
	watch->poll_ms = poll_ms;
	watch->fd = poll_ms ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch->fd < 0) {
		watch->poll_ms = poll_ms ? poll_ms : 2000;
		*note = "looking every two seconds";
	}
	return watch;
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

/* From now on, polls everything. */
static void give_up(agent_watch *watch)
{
	fprintf(stderr,
			"hob-agent: the system has no more watches (fs.inotify.max_user_watches); looking every two "
			"seconds\n");
	watch->poll_ms = 2000;
	close(watch->fd);
	watch->fd = -1;
}

void agent_watch_folder(agent_watch *watch, hob_str path)
{
	char whole[PATH_MAX];
	if (watch->fd < 0)
		return;
	snprintf(whole, sizeof whole, "%s/%.*s", watch->folder, HOB_FMT(path));
	int wd = inotify_add_watch(watch->fd, whole, MASK | (path.len == 0 ? ROOT_MASK : 0));
	if (wd < 0) {
		if (errno == ENOSPC || errno == ENOMEM)
			give_up(watch);
		return;
	}
	if (wd >= watch->room) {
		int room = wd * 2 + 64;
		char **bigger = realloc(watch->paths, (size_t)room * sizeof *bigger);
		if (!bigger) {
			give_up(watch);
			return;
		}
		memset(bigger + watch->room, 0, (size_t)(room - watch->room) * sizeof *bigger);
		watch->paths = bigger;
		watch->room = room;
	}
	free(watch->paths[wd]);
	watch->paths[wd] = strndup(path.data ? path.data : "", path.len);
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
	/* A created file is checked when it is closed, but a link to a file is complete at once. */
	if ((event->mask & IN_CREATE) && !(event->mask & IN_ISDIR)) {
		sys_stat stat;
		hob_buf path = {0};
		hob_buf_printf(&path, "%s%s%s", folder, folder[0] ? "/" : "", event->len > 0 ? event->name : "");
		bool empty = sys_look(watch->folder, hob_buf_str(&path), &stat) != SYS_FILE || stat.size == 0;
		hob_buf_release(&path);
		if (empty)
			return true;
	}
	hob_buf path = {0};
	hob_buf_printf(&path, "%s%s%s", folder, folder[0] ? "/" : "", event->len > 0 ? event->name : "");
	/* Attribute changes of the folder itself are ignored. */
	if (event->len > 0 && !((event->mask & IN_ATTRIB) && (event->mask & IN_ISDIR)))
		changed(user, hob_buf_str(&path));
	hob_buf_release(&path);
	return true;
}

bool agent_watch_wait(agent_watch *watch, int64_t ms, agent_changed *changed, void *user)
{
	if (watch->fd < 0) {
		int64_t left = watch->next_ms - sys_ticks_ms();
		bool due = left <= ms || ms < 0;
		poll(NULL, 0, (int)(due ? left > 0 ? left : 0 : ms));
		if (due) {
			watch->next_ms = sys_ticks_ms() + watch->poll_ms;
			changed(user, (hob_str){0});
		}
		return true;
	}
	struct pollfd one = {.fd = watch->fd, .events = POLLIN};
	if (poll(&one, 1, ms < 0 ? -1 : ms > INT_MAX ? INT_MAX : (int)ms) <= 0)
		return true;
	_Alignas(struct inotify_event) char bytes[EVENTS_BYTES];
	ssize_t size = read(watch->fd, bytes, sizeof bytes);
	bool there = true;
	for (ssize_t at = 0; at < size && watch->fd >= 0;) {
		const struct inotify_event *event = (const struct inotify_event *)(const void *)(bytes + at);
		there = take_event(watch, event, changed, user) && there;
		at += (ssize_t)(sizeof *event + event->len);
	}
	return there;
}
