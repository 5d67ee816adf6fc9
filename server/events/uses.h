/* uses.h - records which assets connected clients use, so that these are cooked first.
 *
 * A client is identified by its address and program name, because a renderer fetches over other connections
 * than the one on which it listens. It is connected while it has a stream open. It uses the assets that the
 * patterns of its streams match, and those that it has requested by name: an asset, or everything below a
 * folder ("art/level1"). Requests are kept when its streams end, because a program that lost its connection
 * comes back.
 *
 * At most CLIENTS are remembered (the disconnected one that has been silent longest is dropped), with at most
 * NAMES names each (beyond that its list starts again). Names are kept as 64-bit hashes: a collision only
 * costs a better position in the queue. */
#ifndef SRV_USES_H
#define SRV_USES_H

#include "../../core/base/base.h"

enum { SRV_USES_CLIENTS = 256, SRV_USES_NAMES = 4096 };

typedef struct srv_uses srv_uses;

srv_uses *srv_uses_new(void); /* NULL without memory */
void srv_uses_free(srv_uses *uses);
/* The client's number for the calls below, from its address without the port and its program's name. */
uint64_t srv_uses_client(hob_bytes address, hob_str agent);

/* All below: any thread. A stream joins with its patterns of "root/path", or of the path below the root, and
 * leaves with the same ones. A pattern that matches everything is ignored. */
void srv_uses_join(srv_uses *uses, uint64_t client, const char *const *globs, uint32_t count);
void srv_uses_leave(srv_uses *uses, uint64_t client, const char *const *globs, uint32_t count);
/* Notes that the client requested this asset, or this folder. */
void srv_uses_note(srv_uses *uses, uint64_t client, hob_str name);
/* Number of names that the client requested; patterns do not count. */
uint32_t srv_uses_count(srv_uses *uses, uint64_t client);
/* Whether a connected client uses "root/path". O(clients * depth of the path + patterns). */
bool srv_uses_has(srv_uses *uses, hob_str asset);
/* Increases when assets may have come into use. */
uint64_t srv_uses_changes(srv_uses *uses);

#endif
