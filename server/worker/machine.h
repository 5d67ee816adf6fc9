/* machine.h - the memory and processors that the machine and the container of this process offer.
 *
 * A container's limits are those of its control groups, v1 or v2, up to the outermost visible one. `root` is
 * a prefix for /proc and /sys, "" except in tests. */
#ifndef WORKER_MACHINE_H
#define WORKER_MACHINE_H

#include "../../core/base/base.h"

typedef struct srv_memory {
	uint64_t total;		/* memory of the machine or, if less, of the container; UINT64_MAX: unknown */
	uint64_t available; /* memory that is free, of the machine or the container; UINT64_MAX: unknown */
	bool contained;		/* the container has the smaller limit */
} srv_memory;
void srv_machine_memory(const char *root, srv_memory *out);

/* `cpus` processors of the machine, or fewer if a control group may use less. */
uint32_t srv_machine_cpus(const char *root, uint32_t cpus);

/* Number of processes ended by the kernel for lack of memory, in this container or, if unknown, on this
 * machine. */
uint64_t srv_machine_oom_kills(const char *root);

/* Properties of the machine that a crash may depend on besides its inputs: "linux 6.1.0, 8 cpus, 15934 MiB".
 * At most `room` bytes. */
void srv_machine_facts(const srv_memory *memory, char *out, size_t room);

#endif
