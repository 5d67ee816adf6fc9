/* former.h - names that assets had before their sources were renamed or moved.
 *
 * A list never changes; views share it by references. Any thread reads it while it holds a view. */
#ifndef SRV_FORMER_H
#define SRV_FORMER_H

#include "view.h"

typedef struct srv_former_list srv_former_list;

/* A copy of `list` (NULL: empty) with more names, each once; without an id, a name is taken out. One
 * reference; NULL without memory. */
srv_former_list *srv_former_add(const srv_former_list *list, const srv_view_former *names, uint32_t count);
srv_former_list *srv_former_share(srv_former_list *list); /* NULL is fine, and has none */
void srv_former_drop(srv_former_list *list);
/* The id of what was called so; NULL: nothing was. */
const char *srv_former_find(const srv_former_list *list, hob_str full);

#endif
