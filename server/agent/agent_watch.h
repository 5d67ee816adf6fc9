/* agent_watch.h - reports paths below a folder that may have changed. Only hints: the files decide. */
#ifndef AGENT_WATCH_H
#define AGENT_WATCH_H

#include "sys.h"

typedef struct agent_watch agent_watch;

/* NULL: the system or the folder gives no events, for the reason *why. */
agent_watch *agent_watch_open(const char *folder, const char **why);
void agent_watch_close(agent_watch *watch); /* NULL is allowed */
/* Call it before listing a folder. False: the system has no more watches. */
bool agent_watch_folder(agent_watch *watch, hob_str path);
/* Waits up to `ms` for a change and calls `changed` for each path that may have changed; the empty path means
 * all. False: it gives no more events. */
typedef void agent_changed(void *user, hob_str path);
bool agent_watch_wait(agent_watch *watch, uint32_t ms, agent_changed *changed, void *user);

#endif
