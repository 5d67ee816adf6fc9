/* vcs.h - whether version control is just changing a folder: a checkout or a rebase writes many files that
 * belong together.
 *
 * Knows the places of Git (worktrees and submodules included), Mercurial and Subversion, in the folder
 * itself, above it or below it: a file that exists during an operation, and an index that every operation
 * rewrites. Of their contents only the first line of a `.git` file is read; for the rest stat is asked. */
#ifndef SRV_VCS_H
#define SRV_VCS_H

#include "beneath.h"

#include <limits.h>

/* Seconds. A lock that is older, or dated later than now, was left behind by a program that died. */
enum { SRV_VCS_LOCK_STALE = 60 };

typedef struct srv_vcs {
	char lock[PATH_MAX], index[PATH_MAX]; /* empty: the folder is in no working copy */
	bool empty_is_free;					  /* the lock stays behind, empty, after each operation */
	srv_stat seen;						  /* of the index */
} srv_vcs;

/* `folder` is absolute. What holds now counts as seen. */
void srv_vcs_find(const char *folder, srv_vcs *out);
/* The working copy of `path` (a folder below `root`) that begins below `root`. */
void srv_vcs_find_below(const char *root, hob_str path, srv_vcs *out);
/* An operation is under way. */
bool srv_vcs_locked(const srv_vcs *vcs);
/* One has ended since the last call, or since srv_vcs_find. */
bool srv_vcs_moved(srv_vcs *vcs);

#endif
