/* dir_tree.h - the watched folders of one root, by watch descriptor or by name.
 *
 * A folder stores only its parent and its own name, so a rename also renames everything below. */
#ifndef SRV_DIR_TREE_H
#define SRV_DIR_TREE_H

#include "../../core/base/base.h"

typedef struct dir_node {
	struct dir_node *parent, *first_child, *next, *previous; /* next, previous: siblings */
	struct dir_node *wd_next, *name_next;					 /* chains of the two tables */
	int wd;
	uint32_t seen; /* number of the last scan that found it */
	uint32_t name_len;
	char name[];
} dir_node;

typedef struct dir_tree {
	dir_node *root;
	dir_node **by_wd, **by_name;
	size_t count, capacity;
} dir_tree;

/* Called for each folder that leaves the tree. */
typedef void dir_tree_gone(void *user, int wd);

void srv_dir_tree_release(dir_tree *tree); /* {0} is allowed */
dir_node *srv_dir_tree_find_wd(const dir_tree *tree, int wd);
dir_node *srv_dir_tree_child(const dir_tree *tree, const dir_node *parent, hob_str name);
/* "" is the root. NULL if there is no such folder. */
dir_node *srv_dir_tree_find(const dir_tree *tree, hob_str path);
/* Puts a folder under parent (NULL: the root). Replaces a folder of the same name with another descriptor;
 * moves the folder if its descriptor is in another place. Aborts without memory. */
dir_node *srv_dir_tree_put(dir_tree *tree, dir_node *parent, hob_str name, int wd, dir_tree_gone *gone,
						   void *user);
/* Detached folders (parent NULL) keep their subfolders, and are found by descriptor, not by path. */
void srv_dir_tree_detach(dir_tree *tree, dir_node *node);
/* Removes the folder with everything below. */
void srv_dir_tree_remove(dir_tree *tree, dir_node *node, dir_tree_gone *gone, void *user);
/* Removes every folder that scan `seen` did not find. */
void srv_dir_tree_sweep(dir_tree *tree, uint32_t seen, dir_tree_gone *gone, void *user);
/* Writes "a/b" ("" for the root); false if it does not fit or the folder is detached. */
bool srv_dir_tree_path(const dir_tree *tree, const dir_node *node, char *out, size_t room, size_t *len);

#endif
