/* process_state.h - what a cook process is and was, for people. */
#ifndef WORKER_PROCESS_STATE_H
#define WORKER_PROCESS_STATE_H

#include "../../core/base/base.h"

#include <sys/types.h>

/* Why a process ended that this program did not end, from its wait status. What the model may have caused:
 *
 *   MEMORY       it reached its own limit: `peak_bytes` is near `memory_limit`
 *   TIMEOUT      SIGXCPU, its own limit of CPU time
 *   LIMIT        SIGXFSZ, its own limit of output
 *   CRASHED      a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL), a failed assertion (SIGABRT), a forbidden system call (SIGSYS), or
 *                an end of its own accord
 *
 * and INTERRUPTED: any other signal came from outside; `oom`: SIGKILL by the kernel, which had no memory left. */
void srv_describe_death(int status, uint64_t peak_bytes, uint64_t memory_limit, bool oom, hob_error *error);

/* What a process that lives does now, and what it was kept from. */
typedef struct srv_process_now {
	bool ending;   /* it is ending, or ended: SIGCHLD follows */
	bool stopped;  /* by SIGSTOP or a tracer */
	bool sleeping; /* every thread waits for something of its own accord */
	uint64_t
		wait_ns; /* time that its threads were ready to run and had no processor; 0 where the kernel does not tell */
} srv_process_now;
/* False when there is no such process. */
bool srv_process_look(pid_t pid, srv_process_now *out);

/* When memory runs out the kernel ends this process before any other. */
void srv_process_goes_first(pid_t pid);

/* CPU time of all its threads; false when it is gone. */
bool srv_process_cpu_ns(pid_t pid, uint64_t *out);
/* Resident memory now; 0 when it cannot be told. */
uint64_t srv_resident_bytes(pid_t pid);
/* Error NO_WORKER of a program that ended while it was to start; `said`: what it printed; `why` (may be NULL):
 * what the daemon itself ended it for, told when it said nothing. */
void srv_describe_bad_start(const char *program, int status, const char *why, hob_str said, hob_error *out);

#endif
