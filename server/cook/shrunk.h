/* shrunk.h - compares an asset's new version with the last good one: losses, differing numbers. Pure. */
#ifndef SRV_SHRUNK_H
#define SRV_SHRUNK_H

#include "../../core/base/base.h"

typedef struct srv_version_facts {
	hob_str stats;	/* JSON, as in a record */
	uint64_t bytes; /* total size of all outputs; 0: not compared */
	uint32_t warnings;
} srv_version_facts;

/* Appends "triangles 5856 -> 0, materials 3 -> 2" if all faces or clips, a material, or more than half of the
 * triangles or bytes are gone. Returns false, and appends nothing, if none is. */
bool srv_shrunk(const srv_version_facts *before, const srv_version_facts *now, hob_buf *out);
/* Appends {"triangles":[5856,0],"bytes":[40212,9120]}, the numbers before and after; {} if all are equal. */
void srv_numbers_that_differ(const srv_version_facts *before, const srv_version_facts *now, hob_buf *out);

#endif
