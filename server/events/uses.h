/* uses.h - what the clients that are connected use, so that it is cooked before what nobody looks at.
 *
 * A client is identified by its address and program name: a renderer fetches over other connections than the
 * one on which it listens. It is connected while it has a stream open. It uses what the patterns of its streams name, and
 * what it asked for by name before or since: an asset, or a folder of assets ("art/level1") with all below. What it asked
 * for is kept when its streams end, because a program that lost its connection comes back.
 *
 * At most CLIENTS are remembered (the one that has been silent longest and is not connected goes) with at most NAMES names
 * each (then its list restarts). Names are kept as 64-bit hashes: two that share one cost a place in the queue. */
#ifndef SRV_USES_H
#define SRV_USES_H

#include "../../core/base/base.h"

enum { SRV_USES_CLIENTS = 256, SRV_USES_NAMES = 4096 };

typedef struct srv_uses srv_uses;

srv_uses *srv_uses_new(void); /* NULL without memory */
void srv_uses_free(srv_uses *uses);
/* The number of a client, for the calls below: from its address without the port, and its program's name. */
uint64_t srv_uses_client(hob_bytes address, hob_str agent);

/* All below: any thread. A stream opens with these patterns, of "root/path" or of the path below the root (one that
 * matches everything says nothing), and ends with the same. */
void srv_uses_join(srv_uses *uses, uint64_t client, const char *const *globs, uint32_t count);
void srv_uses_leave(srv_uses *uses, uint64_t client, const char *const *globs, uint32_t count);
/* It asked for this asset, or for all of this folder. */
void srv_uses_note(srv_uses *uses, uint64_t client, hob_str name);
/* How many names it asked for, patterns not counted. */
uint32_t srv_uses_count(srv_uses *uses, uint64_t client);
/* A connected client uses "root/path". O(clients * depth of the path + patterns). */
bool srv_uses_has(srv_uses *uses, hob_str asset);
/* Grows when an asset may have come to be used. */
uint64_t srv_uses_changes(srv_uses *uses);

#endif
