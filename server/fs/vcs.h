/* vcs.h - detects whether version control is changing a folder: a checkout or a rebase writes many files that
 * belong together.
 *
 * Knows Git (including worktrees and submodules), Mercurial and Subversion, in the folder itself, above it or
 * below it: by a lock file that exists during an operation, and an index that every operation rewrites. Reads
 * only the first line of a `.git` file, and stats the others. */
#ifndef SRV_VCS_H
#define SRV_VCS_H

#include "beneath.h"

#include <limits.h>

/* Seconds. A lock that is older, or has a time in the future, was left by a program that died. */
enum { SRV_VCS_LOCK_STALE = 60 };

/* While a file of this name is at the top of a watched folder, somebody changes many files that belong
 * together (server/git): the watch only collects. */
#define SRV_VCS_CHANGING ".hob-changing"

typedef struct srv_vcs {
	char lock[PATH_MAX], index[PATH_MAX]; /* empty: the folder is not in a working copy */
	bool empty_is_free;					  /* the lock file remains, empty, after each operation */
	srv_stat seen;						  /* the index at the last look */
} srv_vcs;

/* Finds the working copy of `folder`, an absolute path. The index as it is now is the baseline of
 * srv_vcs_moved. */
void srv_vcs_find(const char *folder, srv_vcs *out);
/* Finds the working copy of `path` (a folder below `root`), if that begins below `root`. */
void srv_vcs_find_below(const char *root, hob_str path, srv_vcs *out);
/* Whether an operation is in progress. */
bool srv_vcs_locked(const srv_vcs *vcs);
/* Whether an operation has ended since the last call, or since srv_vcs_find. */
bool srv_vcs_moved(srv_vcs *vcs);

#endif
