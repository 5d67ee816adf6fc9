/* ignore_lines.h - the lines of a .hobignore: patterns of files that are not assets, as in .gitignore.
 *
 *   wip            a file or folder of this name, anywhere
 *   old/           a folder of this name, anywhere
 *   /notes.obj     only beside the .hobignore; so is a pattern with a '/' in the middle
 *   *.tmp.glb      '*' and '?' within a name, '**' across folders
 *   # words        a comment; empty lines are ignored as well
 *
 * There are no exceptions: a line that begins with '!' is an error. */
#ifndef HOB_IGNORE_LINES_H
#define HOB_IGNORE_LINES_H

#include "base.h"

/* The globs of `exclude` (NULL: none) plus those of the text of the file `path`, NULL-terminated, in the
 * arena. NULL: CONFIG (names the line), MEMORY. */
const char *const *hob_ignore_lines(hob_arena *arena, hob_str text, const char *path,
									const char *const *exclude, hob_error *err) HOB_MUST_CHECK;

#endif
