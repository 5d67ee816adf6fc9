/* maps.h - files that processes share through memory maps. A write through such a map causes no event, and
 * within a page that is not written back yet it changes neither size nor time. */
#ifndef SRV_MAPS_H
#define SRV_MAPS_H

#include "../../core/base/base.h"

typedef struct srv_mapped {
	uint64_t inode;
	char *path; /* as the kernel prints it: of a deleted file it has a suffix */
} srv_mapped;

typedef struct srv_maps {
	srv_mapped *items; /* by inode */
	uint32_t count, capacity;
} srv_maps;

/* Finds them in every process that this one may look into, within a few milliseconds (before Linux 6.11:
 * half a microsecond for each map of each process). Also lists maps for reading. Any thread. */
void srv_maps_find(srv_maps *out);
const srv_mapped *srv_maps_at(const srv_maps *maps, uint64_t inode); /* NULL: not mapped */
void srv_maps_release(srv_maps *maps);

#endif
