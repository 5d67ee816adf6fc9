/* remove_tree.h - a temporary folder comes, and goes with all that is in it. */
#ifndef SRV_REMOVE_TREE_H
#define SRV_REMOVE_TREE_H

#include "../../core/base/base.h"

/* Makes $TMPDIR/NAME-XXXXXX, or in /tmp. Errors: IO, and `out` is then empty. */
bool srv_make_temporary(const char *name, char out[300], hob_error *err) HOB_MUST_CHECK;
/* Follows no link and enters no other file system. Folders of any depth and mode go; what cannot be removed
 * stays. */
void srv_remove_tree(const char *folder);

#endif
