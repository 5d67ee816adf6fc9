/* orphans.h - processes that a cook process started and left behind.
 *
 * Behind the sandbox none can be started. Without it they come to this process when their parent ends, even those that left
 * its process group, because it asks to be their new parent; they are known by the program they run, the worker's. */
#ifndef SRV_ORPHANS_H
#define SRV_ORPHANS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From now on orphans of child processes become children of this process (Linux 3.4). */
void srv_orphans_adopt(void);
/* Ends adopted children that run `program` (an absolute path without links) and are not `known`. Returns how many, at most `room`,
 * with their ids in `out`: the caller reaps them when SIGCHLD comes, each by its id, because others have children as well. */
uint32_t srv_orphans_end(const char *program, bool (*known)(void *user, pid_t pid), void *user, pid_t *out,
						 uint32_t room);

#endif
