/* machine.h - what the machine, and the container that this process runs in, leave it.
 *
 * A container's limits are those of its control groups, v1 or v2, up to the outermost that can be seen. `root` stands before
 * /proc and /sys; it is "" but in tests. */
#ifndef WORKER_MACHINE_H
#define WORKER_MACHINE_H

#include "../../core/base/base.h"

typedef struct srv_memory {
	uint64_t total;		/* of the machine or, if that is less, the container; UINT64_MAX: not known */
	uint64_t available; /* until something has to end; the same */
	bool contained;		/* a container's limit is the smaller one */
} srv_memory;
void srv_machine_memory(const char *root, srv_memory *out);

/* How often the kernel ended a process for want of memory, in this container or, where that is not told, on this machine. */
uint64_t srv_machine_oom_kills(const char *root);

/* What a cook's death may depend on besides its inputs: "linux 6.1.0, 8 cpus, 15934 MiB". At most `room` bytes. */
void srv_machine_facts(const srv_memory *memory, char *out, size_t room);

#endif
