/* former.h - former names of assets whose sources were renamed or moved.
 *
 * A list never changes; views share it by references. Any thread reads it while it holds a view. */
#ifndef SRV_FORMER_H
#define SRV_FORMER_H

#include "view.h"

typedef struct srv_former_list srv_former_list;

/* A copy of `list` (NULL: empty) plus `names`, each name once; one without an id is removed instead. The
 * caller gets one reference; NULL without memory. */
srv_former_list *srv_former_add(const srv_former_list *list, const srv_view_former *names, uint32_t count);
srv_former_list *srv_former_share(srv_former_list *list); /* NULL gives NULL */
void srv_former_drop(srv_former_list *list);
/* The id of the asset that once had this name; NULL: none. */
const char *srv_former_find(const srv_former_list *list, hob_str full);

#endif
