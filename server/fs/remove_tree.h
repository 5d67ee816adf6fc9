/* remove_tree.h - makes a temporary folder, and removes a folder with all its content. */
#ifndef SRV_REMOVE_TREE_H
#define SRV_REMOVE_TREE_H

#include "../../core/base/base.h"

/* Makes the folder NAME-XXXXXX in $TMPDIR or /tmp. Errors: IO, and `out` is then empty. */
bool srv_make_temporary(const char *name, char out[300], hob_error *err) HOB_MUST_CHECK;
/* Follows no links and enters no other file system. Removes folders of any depth and mode; what cannot be
 * removed stays. */
void srv_remove_tree(const char *folder);

#endif
