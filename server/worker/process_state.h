/* process_state.h - the state of a cook process, and why it ended. */
#ifndef WORKER_PROCESS_STATE_H
#define WORKER_PROCESS_STATE_H

#include "../../core/base/base.h"

#include <sys/types.h>

/* The cause of a process's end that this program did not intend, from its wait status. Causes that may lie in
 * the model:
 *
 *   MEMORY       it reached its own limit: `peak_bytes` is near `memory_limit`
 *   TIMEOUT      SIGXCPU, its own limit of CPU time
 *   LIMIT        SIGXFSZ, its own limit of output
 *   CRASHED      a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL), abort() (SIGABRT), a forbidden system call
 *                (SIGSYS), or an exit of its own
 *
 * and INTERRUPTED: any other signal came from outside; `oom`: SIGKILL by the kernel, which was out of memory;
 * or the process could not send its result (SRV_WORKER_CUT_OFF, SRV_WORKER_HELD_UP). */
void srv_describe_death(int status, uint64_t peak_bytes, uint64_t memory_limit, bool oom, hob_error *error);

/* State of a running process, and the cause of its delay. */
typedef struct srv_process_now {
	bool ending;   /* it is ending, or has ended: SIGCHLD follows */
	bool stopped;  /* by SIGSTOP or a tracer */
	bool sleeping; /* every thread waits voluntarily */
	/* time during which its threads were runnable without a processor; 0 if unknown */
	uint64_t wait_ns;
} srv_process_now;
/* False if there is no such process. */
bool srv_process_look(pid_t pid, srv_process_now *out);

/* Makes the kernel end this process first when memory runs out. */
void srv_process_goes_first(pid_t pid);

/* CPU time of all its threads; false if it is gone. */
bool srv_process_cpu_ns(pid_t pid, uint64_t *out);
/* Resident memory now; 0 if unknown. */
uint64_t srv_resident_bytes(pid_t pid);
/* Resident bytes not backed by a file; the kernel can drop and reload file pages at any time. */
uint64_t srv_own_bytes(pid_t pid);
/* Error NO_WORKER for a program that ended while starting. `said`: its output; `why` (may be NULL): the
 * daemon's reason for ending it, used if it printed nothing. */
void srv_describe_bad_start(const char *program, int status, const char *why, hob_str said, hob_error *out);

#endif
