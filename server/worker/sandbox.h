/* sandbox.h - closes a worker in before it meets foreign bytes.
 *
 * Layers, in order: no new privileges, dumpable off, parent-death signal, no capabilities (a daemon of root's keeps those to read
 * and to ask for writers); rlimits (core 0, descriptors,
 * address space); landlock (reading below the given root descriptors, nothing else, no network); seccomp (the
 * system calls that a cook needs, no sockets, no processes, no executable memory). A kernel or container that
 * refuses a layer gives ENOSYS, EPERM or EINVAL alike: BEST_EFFORT goes on and says so, REQUIRE fails. */
#ifndef SRV_SANDBOX_H
#define SRV_SANDBOX_H

#include "../../core/base/base.h"

typedef enum srv_sandbox_policy {
	SRV_SANDBOX_BEST_EFFORT,
	SRV_SANDBOX_REQUIRE,
	SRV_SANDBOX_OFF
} srv_sandbox_policy;

typedef struct srv_sandbox_layers {
	bool landlock, seccomp, rlimits;
	int landlock_abi;
} srv_sandbox_layers;

/* memory_limit: RLIMIT_AS in bytes, 0 = none (always none in sanitizer builds, which reserve terabytes). makes_code: the
 * process compiles what it runs (a software renderer's shaders): executable memory is allowed, and what its libraries ask
 * for beyond the list is refused rather than fatal. */
bool srv_sandbox_enter(srv_sandbox_policy policy, uint64_t memory_limit, const int *root_fds,
					   uint32_t root_count, bool makes_code, srv_sandbox_layers *out,
					   hob_error *err) HOB_MUST_CHECK;

/* What a program of somebody else's may do below a folder, or with one file. */
typedef enum srv_sandbox_access { SRV_SANDBOX_READ, SRV_SANDBOX_RUN, SRV_SANDBOX_WRITE } srv_sandbox_access;

typedef struct srv_sandbox_place {
	int fd; /* O_PATH; -1 is passed over */
	srv_sandbox_access access;
} srv_sandbox_place;

/* The same for a program that is executed next and was not written for this: RUN places hold it and its libraries, WRITE
 * places are its own (reading included). No sockets, no new processes, no signals to others, no system calls that reach
 * into the machine; what is refused is refused with EPERM. Capabilities do not come back with the execve of root's. */
bool srv_sandbox_enter_program(srv_sandbox_policy policy, uint64_t memory_limit, uint32_t cpu_seconds,
							   const srv_sandbox_place *places, uint32_t place_count,
							   hob_error *err) HOB_MUST_CHECK;

#endif
