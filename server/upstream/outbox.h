/* outbox.h - keys of results that another cache does not have yet: one empty file each, <cache>/outbox/<key>.
 * They are files, not rows of the index, so that they survive a damaged index and any thread can remove them.
 * These results must not be evicted. The caller locks. */
#ifndef SRV_OUTBOX_H
#define SRV_OUTBOX_H

#include "../store/digest_map.h"

typedef struct srv_outbox {
	int fd;
	digest_map keys;
} srv_outbox;

/* Reads what an earlier run left. Errors: IO. Call release even after a failure. */
bool srv_outbox_open(srv_outbox *outbox, const char *cache, hob_error *err) HOB_MUST_CHECK;
void srv_outbox_release(srv_outbox *outbox);
void srv_outbox_add(srv_outbox *outbox, const hob_sha256 *key);
void srv_outbox_remove(srv_outbox *outbox, const hob_sha256 *key);
void srv_outbox_clear(srv_outbox *outbox);

#endif
