/* refs_edit.h - edits the names of other files in the text of a model: glTF (`uri`), OBJ (`mtllib`), MTL
 * (maps) and merged scenes.
 *
 * After a file or folder has moved, references to it, and references in it if it is such a text, are changed
 * so that they lead to the same file as before. A reference that still leads to a file is not changed: if a
 * new file has the old name, that is the file meant now. All other bytes stay as they are. */
#ifndef CLI_REFS_EDIT_H
#define CLI_REFS_EDIT_H

#include "../../core/base/base.h"

typedef struct cli_refs {
	hob_str from,
		/* the move, in paths as hob_path_join writes them, below one folder; both a file or both a folder */
		to;
	bool (*is_there)(void *user, hob_str path);
	void (*edit)(void *user, uint32_t line, hob_str was, hob_str now); /* was, now: as written in the text */
	void *user;
	hob_arena *arena; /* for temporary texts */
} cli_refs;

/* Whether a file with this name is a text whose references can be changed. */
bool srv_refs_reads(hob_str path);
/* Appends the edited `text`, which is that of the file `path`, to `out`, and calls edit() for each change.
 * Returns the number of changes; UINT32_MAX: not JSON where it should be, or no memory. */
uint32_t srv_refs_edit(const cli_refs *refs, hob_str path, hob_str text, hob_buf *out);

#endif
