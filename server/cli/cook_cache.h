/* cook_cache.h - the cache of `hob cook`. */
#ifndef CLI_COOK_CACHE_H
#define CLI_COOK_CACHE_H

#include "../upstream/upstream.h"
#include "../worker/pool.h"

/* Any thread: a kept record, as the outcome of a cook. only_report: without the other outputs. NULL: an
 * output is damaged, and is dropped, or there is no memory. */
srv_outcome *srv_cook_cache_read(srv_store *store, const char *model, const srv_record *record,
								 bool only_report);
/* Commits, and trims the cache to its limit; a guest is only closed. Results that an asset of a daemon names
 * or that wait for the upstream (NULL: none) are not trimmed. `store` may be NULL. */
void srv_cook_cache_close(srv_store *store, bool guest, srv_upstream *upstream);

#endif
