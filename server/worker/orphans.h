/* orphans.h - processes that a cook process started and left behind.
 *
 * The sandbox prevents that. Otherwise this process, a subreaper, becomes their parent when theirs ends, even
 * if they left its process group. They are recognised by their program, the worker's. */
#ifndef SRV_ORPHANS_H
#define SRV_ORPHANS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes this process a subreaper: orphans of child processes become its children (Linux 3.4). */
void srv_orphans_adopt(void);
/* Ends adopted children that run `program` (an absolute path without links) and are not `known`. Returns
 * their number, at most `room`, with their ids in `out`. The caller reaps each of them by its id when SIGCHLD
 * arrives, because there are other children as well. */
uint32_t srv_orphans_end(const char *program, bool (*known)(void *user, pid_t pid), void *user, pid_t *out,
						 uint32_t room);

#endif
