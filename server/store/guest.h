/* guest.h - reads a cache that another process has open.
 *
 * srv_store_open fails with LOCKED while a daemon runs, but its results can still be used. A guest is a
 * srv_store without the lock. It reads the index on a connection of its own, opens blobs in place, and
 * changes no file. These functions accept it: srv_store_records, srv_store_part, srv_blob_open. It knows the
 * blobs that existed when it was opened. A blob that the owner evicts later, or that is damaged, counts as
 * missing. */
#ifndef SRV_STORE_GUEST_H
#define SRV_STORE_GUEST_H

#include "store.h"

/* Errors: IO, CORRUPT, MEMORY, NEWER (another version of Hob wrote the cache). */
bool srv_guest_open(const char *dir, srv_store **out, hob_error *err) HOB_MUST_CHECK;
void srv_guest_close(srv_store *guest); /* NULL is allowed */

#endif
