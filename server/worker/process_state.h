/* process_state.h - what a cook process is and was, for people. */
#ifndef WORKER_PROCESS_STATE_H
#define WORKER_PROCESS_STATE_H

#include "../../core/base/base.h"

#include <sys/types.h>

/* Why a process ended, from its wait status; `peak_bytes` near the limit means that it ran out of memory. */
void srv_describe_death(int status, uint64_t peak_bytes, uint64_t memory_limit, hob_error *error);

/* CPU time of all its threads; false when it is gone. */
bool srv_process_cpu_ns(pid_t pid, uint64_t *out);
/* Resident memory now; 0 when it cannot be told. */
uint64_t srv_resident_bytes(pid_t pid);
/* Error NO_WORKER of a program that ended while it was to start; `said`: what it printed; `why` (may be NULL):
 * what the daemon itself ended it for, told when it said nothing. */
void srv_describe_bad_start(const char *program, int status, const char *why, hob_str said, hob_error *out);

#endif
