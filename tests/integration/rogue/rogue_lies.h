/* rogue_lies.h - what a cook process that was taken over may say to the daemon: every message wrong in some way.
 *
 * Each acts for a job whose model is named after it, and returns, or not. */
#ifndef ROGUE_LIES_H
#define ROGUE_LIES_H

#include <stdint.h>

/* `source`: the job's path below its root; `root`: the folder's descriptor. False: there is none of that name. */
int rogue_lie(const char *name, const char *source, int root);

/* A memory file of the daemon's making, as for a result; -1 when it gives none. */
int rogue_memory(uint64_t size);

#endif
