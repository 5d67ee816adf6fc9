/* threads.h - hob_parallel over a fixed set of threads, which serves every job until the process ends. */
#ifndef SRV_THREADS_H
#define SRV_THREADS_H

#include "../../core/base/base.h"

typedef struct srv_threads srv_threads;

/* Starts `extra` threads in addition to the caller's; 0 is allowed. NULL without memory. It works without
 * threads that cannot be started. */
srv_threads *srv_threads_new(uint32_t extra);
/* A table for one job: limit 1 runs in the caller alone, more uses the whole set. No nested loops. */
hob_parallel srv_threads_table(srv_threads *threads, uint32_t limit);

#endif
