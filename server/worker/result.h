/* result.h - a cook's result as contiguous bytes in a memfd: written by the worker, read by the daemon.
 *
 * Reading checks every length against the bytes and every count against its limit: the number of files that a
 * cook may read, the number of notes that core keeps. This validates only the structure of a result, not its
 * content. */
#ifndef SRV_RESULT_H
#define SRV_RESULT_H

#include "../../core/base/base.h"
#include "../../core/cook/cook.h"
#include "../../core/hash/hash.h"

enum { SRV_BUNDLE = 8 }; /* most models in one message to a worker */

typedef struct srv_dep {
	hob_str path; /* below the root */
	bool missing;
	uint64_t size, inode;
	int64_t mtime_ns, ctime_ns; /* of the descriptor that was read */
	hob_sha256 digest;
} srv_dep;

typedef struct srv_result {
	bool ok, uses_name;
	hob_err_code code; /* when !ok */
	hob_str message;
	hob_cook_stats stats;
	uint32_t dep_count, output_count, note_count;
	srv_dep *deps; /* the source itself comes first */
	hob_cook_output *outputs;
	hob_note *notes;
} srv_result;

/* Number of bytes that srv_result_write writes. */
uint64_t srv_result_size(const srv_result *result);
/* Writes to a descriptor (a memfd), or appends to `out` if fd is -1. */
bool srv_result_write(int fd, hob_buf *out, const srv_result *result, hob_error *err) HOB_MUST_CHECK;
/* Strings and outputs point into `bytes`; arrays are in `arena`. */
bool srv_result_read(hob_bytes bytes, hob_arena *arena, srv_result *out, hob_error *err) HOB_MUST_CHECK;

#endif
