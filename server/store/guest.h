/* guest.h - a cache that another process has open, for reading.
 *
 * srv_store_open fails with LOCKED where a daemon runs; what it keeps can be used all the same. A guest is a srv_store without
 * the lock: it reads the index on a connection of its own and blobs from where they lie, and changes no file. These functions
 * take it: srv_store_recipes, srv_store_part, srv_blob_open. It knows the blobs that were there when it was opened. What the owner
 * evicts meanwhile, and what proves damaged, is as good as not there. */
#ifndef SRV_STORE_GUEST_H
#define SRV_STORE_GUEST_H

#include "store.h"

/* Errors: IO, CORRUPT, MEMORY, NEWER (the cache is of another version of Hob). */
bool srv_guest_open(const char *dir, srv_store **out, hob_error *err) HOB_MUST_CHECK;
void srv_guest_close(srv_store *guest); /* NULL is fine */

#endif
