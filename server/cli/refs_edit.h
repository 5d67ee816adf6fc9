/* refs_edit.h - the names of other files in the text of a model: glTF (`uri`), OBJ (`mtllib`), MTL (maps) and
 * merged scenes.
 *
 * A file or folder has moved. What named it, and what it named itself if it is one of these texts, gets the
 * name that leads to the same file now. Only names that lead nowhere are changed: a new file under the old
 * name is what its users mean. All other bytes stay as they are. */
#ifndef CLI_REFS_EDIT_H
#define CLI_REFS_EDIT_H

#include "../../core/base/base.h"

typedef struct cli_refs {
	hob_str from,
		to; /* what moved, below one folder, as hob_path_join writes paths; both a file, or both a folder */
	bool (*is_there)(void *user, hob_str path);
	void (*edit)(void *user, uint32_t line, hob_str was, hob_str now); /* as they stand in the text */
	void *user;
	hob_arena *arena; /* of what is made meanwhile */
} cli_refs;

/* Whether a file of this name may hold references that can be changed. */
bool srv_refs_reads(hob_str path);
/* Appends `text`, the bytes of the file `path`, with its new names to `out`, and calls edit() for each of
 * them. Returns their number; UINT32_MAX: not JSON where it should be, or no memory. */
uint32_t srv_refs_edit(const cli_refs *refs, hob_str path, hob_str text, hob_buf *out);

#endif
