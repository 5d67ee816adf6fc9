#include "sys.h"

/* For systems whose events the agent does not support: there is never a watch, and the agent polls. */

agent_watch *agent_watch_open(const char *folder, const char **why)
{
	(void)folder;
	*why = "this system gives no events";
	return NULL;
}

void agent_watch_close(agent_watch *watch)
{
	(void)watch;
}

bool agent_watch_folder(agent_watch *watch, hob_str path)
{
	(void)watch, (void)path;
	return true;
}

bool agent_watch_wait(agent_watch *watch, uint32_t ms, agent_changed *changed, void *user)
{
	(void)watch, (void)ms, (void)changed, (void)user;
	return false;
}
