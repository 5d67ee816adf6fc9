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

#endif
