/* map_file.h - maps a whole file as bytes, read-only. */
#ifndef CLI_MAP_FILE_H
#define CLI_MAP_FILE_H

#include "../../core/base/base.h"

/* Errors: NOT_FOUND, CORRUPT (empty, or not a regular file). */
bool srv_map_file(const char *path, hob_bytes *out, hob_error *err) HOB_MUST_CHECK;
/* Unmaps and empties *file; does nothing if it is empty. */
void srv_unmap_file(hob_bytes *file);

#endif
