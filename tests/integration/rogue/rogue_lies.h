/* rogue_lies.h - messages of a compromised cook process: each one invalid in some way (rogue_lies.c), or
 * valid one by one and wrong together (rogue_joint.c).
 *
 * The name of a job's model selects the lie. A lie may not return. */
#ifndef ROGUE_LIES_H
#define ROGUE_LIES_H

#include "../../../server/worker/protocol.h"
#include "../../../server/worker/result.h"

#include <stdint.h>

extern srv_gauge *rogue_gauge;

/* `source`: path of the job's model below its root; `root`: descriptor of the root. Returns 0 if no lie has
 * that name. */
int rogue_lie(const char *name, const char *source, int root);
int rogue_joint(const char *name, int root);

/* Asks the daemon for a memory file, as for a result; returns -1 if it refuses. */
int rogue_memory(uint64_t size);
void rogue_say(uint32_t type, uint32_t number, const void *payload, size_t size, int fd);
/* Sends a result to the daemon. */
void rogue_answer(const srv_result *result);
/* The true dependency on the source, so that the daemon refuses the lie and not this. */
srv_dep rogue_own_source(void);

#endif
