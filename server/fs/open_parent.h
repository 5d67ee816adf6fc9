/* open_parent.h - the folder of a path below a root, to change its entries. */
#ifndef SRV_OPEN_PARENT_H
#define SRV_OPEN_PARENT_H

#include "../../core/base/base.h"

/* Opens the folder of `path` component by component, never through a link; creates it if `create`. *name: the
 * last component. -1 with errno. */
int srv_open_parent(int root_fd, hob_str path, bool create, const char **name);

#endif
