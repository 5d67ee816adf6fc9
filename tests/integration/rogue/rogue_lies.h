/* rogue_lies.h - what a cook process that was taken over may say to the daemon: every message wrong in some
 * way (rogue_lies.c), or each right and wrong together (rogue_joint.c).
 *
 * Each acts for a job whose model is named after it, and returns, or not. */
#ifndef ROGUE_LIES_H
#define ROGUE_LIES_H

#include "../../../server/worker/result.h"

#include <stdint.h>

/* `source`: the job's path below its root; `root`: the folder's descriptor. False: there is none of that
 * name. */
int rogue_lie(const char *name, const char *source, int root);
int rogue_joint(const char *name, int root);

/* A memory file of the daemon's making, as for a result; -1 when it gives none. */
int rogue_memory(uint64_t size);
void rogue_say(uint32_t type, uint32_t number, const void *payload, size_t size, int fd);
/* Hands over a result. */
void rogue_answer(const srv_result *result);
/* The source as it is, so that it is not this that is refused. */
srv_dep rogue_own_source(void);

#endif
