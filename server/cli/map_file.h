/* map_file.h - a whole file as bytes, read-only, or as text. */
#ifndef CLI_MAP_FILE_H
#define CLI_MAP_FILE_H

#include "../../core/base/base.h"

/* Errors: NOT_FOUND, CORRUPT (empty, or not a regular file). */
bool srv_map_file(const char *path, hob_bytes *out, hob_error *err) HOB_MUST_CHECK;
/* Unmaps and empties *file; does nothing if it is empty. */
void srv_unmap_file(hob_bytes *file);
/* The text of a file of at most `most` bytes, with a NUL at its end, for free(). NULL: errno says why, EINVAL
 * if it is neither a file nor a folder. */
char *srv_file_text(const char *path, size_t most, size_t *size);

#endif
