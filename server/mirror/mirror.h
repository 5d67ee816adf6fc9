/* mirror.h - folders of the daemon that agents on other machines fill.
 *
 *   HTTP thread -- port --> inbox --> the thread of this module: applies lists, compares trees --> answer
 *
 * A root has a tree of files (tree.h), its log and an area for unfinished work, <root>/.hob-mirror. An agent
 * is a user on a machine with a base folder below the root; it opens a session and sends lists numbered 1, 2,
 * 3 ... A list is applied atomically, also across a kill of the daemon. A repeated number gets the answer of
 * its first time. A new session begins with a comparison of the trees, so no other state of an agent must
 * survive.
 *
 * Two agents on one folder: the later save wins, and the answer has a note that names the other agent. A
 * deletion or move of a version that the agent has not seen does nothing and is noted. */
#ifndef SRV_MIRROR_H
#define SRV_MIRROR_H

#include "../control/control.h"
#include "../store/store.h"

enum { SRV_MIRROR_PROTOCOL = 1 };

typedef struct srv_mirror_folder {
	const char *name, *path;
} srv_mirror_folder;

typedef struct srv_mirrors srv_mirrors;

/* Starts the thread. The store must outlive it; the folders are copied. Errors: MEMORY, INTERNAL. */
bool srv_mirrors_new(srv_store *store, const srv_mirror_folder *folders, uint32_t count, const char *version,
					 srv_mirrors **out, hob_error *err) HOB_MUST_CHECK;
/* Accepts SRV_CONTROL_MIRROR. asset: a root; tag: "session", "changes", "manifest", "origin" or, without a
 * root, "list"; text: the JSON of the request; file: for "origin" a path below the root, for "session" the
 * folder that the token is limited to. Any thread. */
srv_control_port srv_mirrors_port(srv_mirrors *mirrors);
/* Answers waiting requests with 503, ends the thread and frees. NULL is allowed. */
void srv_mirrors_close(srv_mirrors *mirrors);

#endif
