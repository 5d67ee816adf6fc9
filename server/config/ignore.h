/* ignore.h - .hobignore in a watched folder (core/base/ignore_lines.h). Only the file at the top of the
 * folder is used; it must not be a link or a pipe. */
#ifndef SRV_IGNORE_H
#define SRV_IGNORE_H

#include "../../core/base/base.h"

/* *out: the globs of `exclude` (NULL: none) plus those of folder/.hobignore, NULL-terminated, in the arena;
 * `exclude` itself if there is no such file. Errors: CONFIG (names the line), IO, MEMORY. */
bool srv_ignore_read(hob_arena *arena, const char *folder, const char *const *exclude,
					 const char *const **out, hob_error *err) HOB_MUST_CHECK;

#endif
