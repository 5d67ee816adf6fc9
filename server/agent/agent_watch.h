/* agent_watch.h - reports paths below a folder that may have changed. Only hints: the files decide. */
#ifndef AGENT_WATCH_H
#define AGENT_WATCH_H

#include "../../core/base/base.h"

typedef struct agent_watch agent_watch;

/* poll_ms: 0 = events. Where they are not available, *note has the reason and polling is used. Errors: IO. */
agent_watch *agent_watch_open(const char *folder, uint32_t poll_ms, const char **note, hob_error *err);
void agent_watch_close(agent_watch *watch); /* NULL is allowed */
/* Call it before listing a folder. Does nothing where the system watches whole trees. */
void agent_watch_folder(agent_watch *watch, hob_str path);
/* Waits up to `ms` (-1: forever) for a change and calls `changed` for each path that may have changed; the
 * empty path means all. Returns false if the watched folder is gone. */
typedef void agent_changed(void *user, hob_str path);
bool agent_watch_wait(agent_watch *watch, int64_t ms, agent_changed *changed, void *user);

#endif
