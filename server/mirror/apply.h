/* apply.h - applies one list of changes to a mirror root, atomically.
 *
 *   check --> copy blobs to the area --> write the list there --> place --> delete the list
 *
 * Until the list is linked under its name, the root is unchanged. After that, srv_apply_pending finishes it,
 * also in the next run of the daemon: every step can be repeated, because a list names each path once. */
#ifndef SRV_MIRROR_APPLY_H
#define SRV_MIRROR_APPLY_H

#include "tree.h"

#include "../store/store.h"

typedef enum change_kind { CHANGE_PUT, CHANGE_MOVE, CHANGE_DELETE } change_kind;

typedef struct change {
	change_kind kind;
	hob_str path, from; /* `from`: source of a move */
	hob_sha256 digest;	/* digest of a put; for others the version that the agent refers to */
	hob_sha256 seen;	/* the version that a put replaces, as known to the agent; zeros: none */
	int64_t mtime_ms;
	uint32_t copy; /* number of its blob in the area */
	bool skip;	   /* nothing to do, or noted */
} change;

typedef struct change_list {
	change *items;
	uint32_t count;
	uint32_t agent;
	int64_t at_ms;
} change_list;

/* Appends items of a JSON array: digests of blobs that are needed first (`missing`), and notes. With missing
 * blobs it succeeds and changes nothing. *conflict: the list does not match the tree, so the agent must
 * compare again; or it is malformed. Errors: BAD_REQUEST, IO, DISK_FULL. */
bool srv_apply(srv_tree *tree, srv_store *store, change_list *list, hob_buf *missing, hob_buf *notes,
			   bool *conflict, hob_error *err) HOB_MUST_CHECK;
/* Finishes a list interrupted by a kill or a full disk. True if there is none. */
bool srv_apply_pending(srv_tree *tree, hob_error *err) HOB_MUST_CHECK;

#endif
