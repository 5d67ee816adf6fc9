/* git_refs.h - the references of a repository: HEAD, refs/ and packed-refs. Links are not followed, and
 * references that name others (origin/HEAD) are left out, as are names with control characters. */
#ifndef SRV_GIT_REFS_H
#define SRV_GIT_REFS_H

#include "git_object.h"

enum { SRV_GIT_REFS_MAX = 100000 };

/* Refuses a repository whose objects are named by SHA-256, or whose references are in a reftable.
 * git_fd: the folder with HEAD and objects. Errors: UNSUPPORTED, with a text that names what is missing. */
bool srv_git_can_read(int git_fd, hob_error *err) HOB_MUST_CHECK;
/* Appends "@ refs/heads/main" or "@ ID" for HEAD, then "ID refs/..." in the order of names, a line each.
 * Errors: LIMIT (more than SRV_GIT_REFS_MAX), MEMORY. */
bool srv_git_refs(int git_fd, hob_buf *out, hob_error *err) HOB_MUST_CHECK;
/* The name of a branch or tag below refs/heads or refs/tags; empty: it is none. */
hob_str srv_git_short_name(hob_str name);

#endif
