/* spelling.h - finds names in a folder that differ from a given one only in case or Unicode form.
 *
 * A cook that asks for another spelling of "tex/A.png", or cannot read it, depends on every such name, found
 * or not. The dependency has a name of its own, "tex/a.png (any spelling)": it exists if the folder has such
 * a name, or may not be asked; its digest is over all of them, sorted, with the srv_kind of each, and
 * srv_stat_path answers for it as for a file. So it is hashed, compared, kept and watched like a file. A real
 * file with such a name is never read. */
#ifndef SRV_SPELLING_H
#define SRV_SPELLING_H

#include "../../core/hash/hash.h"
#include "beneath.h"

#include <limits.h>

/* The dependency of all cooks that ask for another spelling of `path`, written to `out`. {0}: the name is too
 * long for a file, or is such a dependency itself. */
hob_str srv_spelling_of(hob_str path, char out[PATH_MAX]);
bool srv_spelling_is(hob_str path);
/* Reads the folder; any thread. False, with errno, if there is no such name. found: the first name in byte
 * order other than `except`, "" if there is none. The names of one large folder are cached until it
 * changes. */
bool srv_spelling_ask(int root_fd, hob_str question, hob_str except, char found[NAME_MAX + 1], srv_stat *stat,
					  hob_sha256 *digest);

#endif
