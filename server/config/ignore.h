/* ignore.h - .hobignore in a watched folder: patterns of files that are not assets, one per line, as in
 * .gitignore.
 *
 *   wip            a file or folder of this name, anywhere
 *   old/           a folder of this name, anywhere
 *   /notes.obj     only beside the .hobignore; so is a pattern with a '/' in the middle
 *   *.tmp.glb      '*' and '?' within a name, '**' across folders
 *   # words        a comment; empty lines are ignored as well
 *
 * There are no exceptions: a line that begins with '!' is an error. Only the file at the top of the folder is
 * used; it must not be a link or a pipe. */
#ifndef SRV_IGNORE_H
#define SRV_IGNORE_H

#include "../../core/base/base.h"

/* *out: the globs of `exclude` (NULL: none) plus those of folder/.hobignore, NULL-terminated, in the arena;
 * `exclude` itself if there is no such file. Errors: CONFIG (names the line), IO, MEMORY. */
bool srv_ignore_read(hob_arena *arena, const char *folder, const char *const *exclude,
					 const char *const **out, hob_error *err) HOB_MUST_CHECK;

#endif
