/* remove_tree.h - a temporary folder goes, with all that is in it. */
#ifndef SRV_REMOVE_TREE_H
#define SRV_REMOVE_TREE_H

/* Follows no link and enters no other file system. Folders of any depth and mode go; what cannot be removed
 * stays. */
void srv_remove_tree(const char *folder);

#endif
