#include "agent_watch.h"

#include "sys.h"

#include <stdlib.h>

/* For systems whose events the agent does not support: checks everything every two seconds. */

enum { POLL_MS = 2000 };

struct agent_watch {
	int64_t next_ms;
};

agent_watch *agent_watch_open(const char *folder, uint32_t poll_ms, const char **note, hob_error *err)
{
	(void)folder, (void)poll_ms;
	agent_watch *watch = calloc(1, sizeof *watch);
	if (!watch)
		(void)!hob_fail(err, MEMORY, "no memory left to watch");
	*note = "looking every two seconds";
	return watch;
}

void agent_watch_close(agent_watch *watch)
{
	free(watch);
}

void agent_watch_folder(agent_watch *watch, hob_str path)
{
	(void)watch, (void)path;
}

bool agent_watch_wait(agent_watch *watch, int64_t ms, agent_changed *changed, void *user)
{
	int64_t now = sys_ticks_ms(), left = watch->next_ms - now;
	if (left > ms && ms >= 0) {
		sys_sleep_ms((uint32_t)ms);
		return true;
	}
	if (left > 0)
		sys_sleep_ms((uint32_t)left);
	watch->next_ms = sys_ticks_ms() + POLL_MS;
	changed(user, (hob_str){0});
	return true;
}
