/* sandbox.h - puts a worker into its sandbox before it reads foreign bytes.
 *
 * Layers, in order: no new privileges, dumpable off, parent-death signal, no capabilities (as root it keeps
 * those for reading and for finding writers); rlimits (core 0, descriptors, address space, queued signals);
 * landlock (reading below the given root descriptors, nothing else, no network); seccomp (the system calls
 * that a cook needs, no sockets, no processes, no more threads, no executable memory). A kernel or container
 * can refuse a layer with ENOSYS, EPERM or EINVAL: BEST_EFFORT then continues and reports it, REQUIRE
 * fails. */
#ifndef SRV_SANDBOX_H
#define SRV_SANDBOX_H

#include "../../core/base/base.h"

typedef enum srv_sandbox_policy {
	SRV_SANDBOX_BEST_EFFORT,
	SRV_SANDBOX_REQUIRE,
	SRV_SANDBOX_OFF
} srv_sandbox_policy;

/* The kind of process inside. COOKS: a call that is not allowed ends it. DRAWS: it compiles code at run time
 * (the shaders of a software renderer), so executable memory is allowed, its libraries' calls outside the
 * list fail instead of ending the process, and they may start threads. READS: its library opens files by
 * path, to read them (below the roots, with landlock); other calls fail. FETCHES: the same, and it may
 * connect by IP. */
typedef enum srv_sandbox_kind {
	SRV_SANDBOX_COOKS,
	SRV_SANDBOX_DRAWS,
	SRV_SANDBOX_READS,
	SRV_SANDBOX_FETCHES
} srv_sandbox_kind;

typedef struct srv_sandbox_layers {
	bool landlock, seccomp, rlimits;
	int landlock_abi;
} srv_sandbox_layers;

/* memory_limit: RLIMIT_AS in bytes, 0: none (always none in sanitizer builds, which reserve terabytes).
 *
 * make_threads: called between landlock and seccomp, with any policy; starts all threads that the process
 * will have, with the same restrictions. Later ones fail with EAGAIN. NULL: none. */
bool srv_sandbox_enter(srv_sandbox_policy policy, uint64_t memory_limit, const int *root_fds,
					   uint32_t root_count, srv_sandbox_kind kind, void (*make_threads)(void *user),
					   void *user, srv_sandbox_layers *out, hob_error *err) HOB_MUST_CHECK;

/* Rights of an external program in a folder, or on one file. */
typedef enum srv_sandbox_access { SRV_SANDBOX_READ, SRV_SANDBOX_RUN, SRV_SANDBOX_WRITE } srv_sandbox_access;

typedef struct srv_sandbox_place {
	int fd; /* O_PATH; -1 is skipped */
	srv_sandbox_access access;
} srv_sandbox_place;

/* Like srv_sandbox_enter, for an external program that is executed next. RUN places contain the program and
 * its libraries; WRITE places are its own, also for reading. Allows only the system calls that Blender needs
 * to export: no sockets, no new processes, no changes of modes, owners or times of files, no locks, no effect
 * on other processes; refused calls fail with EPERM. An execve as root does not restore capabilities. */
bool srv_sandbox_enter_program(srv_sandbox_policy policy, uint64_t memory_limit, uint32_t cpu_seconds,
							   const srv_sandbox_place *places, uint32_t place_count,
							   hob_error *err) HOB_MUST_CHECK;

#endif
