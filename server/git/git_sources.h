/* git_sources.h - git repositories as sources of the daemon.
 *
 *   a push, POST .../fetched --> the thread of this module: hob-git, sources/ --> server/watch, as any save
 *   HTTP thread -- port ------->                                             --> answer
 *
 * The root NAME is the tip of the first reference, as an ordinary folder (git_files.h), which a new tip
 * changes by the difference of two trees. The root NAME~commits has a folder for each other reference and for
 * each commit that somebody asked for, named by its id; the KEPT newest of those stay. Keys of cooks know
 * neither commits nor roots, so nothing is cooked twice.
 *
 * The state of a commit: "cold" (no folder), "cooking", and once everything is settled "warm" or "broken". */
#ifndef SRV_GIT_SOURCES_H
#define SRV_GIT_SOURCES_H

#include "../control/control.h"
#include "../view/view.h"

typedef struct srv_git_options {
	const char *name;		 /* of the root */
	const char *repository;	 /* path, absolute */
	const char *folder;		 /* below its top folder; "": all */
	const char *const *refs; /* names and globs below refs/heads or refs/tags; none or NULL: HEAD's */
	const char *lfs, *token; /* address of a server of large files, and the file of its token; NULL: none */
	int sandbox;			 /* a srv_sandbox_policy */
} srv_git_options;

typedef struct srv_gits srv_gits;

/* Reads each repository and makes the folders, so that they are there before they are watched; the cache's
 * lock is held. A repository that cannot be read is an error, unless an earlier run has made its folder.
 * Errors: IO, USAGE, DISK_FULL, MEMORY. *out is to be closed in any case. */
bool srv_gits_open(const char *cache, const srv_git_options *options, uint32_t count, srv_gits **out,
				   hob_error *err) HOB_MUST_CHECK;
/* The folder of the root NAME, or NAME~commits. */
const char *srv_gits_folder(const srv_gits *gits, uint32_t at, bool commits);
/* One line for the banner: "main at abc1234, 'The subject'". */
void srv_gits_describe(const srv_gits *gits, uint32_t at, hob_buf *out);
/* Starts the thread. engine: for SYNC. Errors: INTERNAL. */
bool srv_gits_start(srv_gits *gits, srv_control_port engine, srv_views *views, hob_error *err) HOB_MUST_CHECK;
/* Accepts SRV_CONTROL_GIT: asset: the root, or empty if there is one source; tag: "list" (text: a reference
 * or commit, number: how many, file: paths with "//" between them: only commits that changed one of them),
 * "commit", "cook" or "at" (text: a reference, a commit or the beginning of its id), or "fetched".
 * timeout_ms: "commit" waits so long until everything is settled. file of "commit" and "at": only what a
 * branch or tag of this glob leads to. */
srv_control_port srv_gits_port(srv_gits *gits);
/* After the engine has answered everything. NULL is allowed. */
void srv_gits_close(srv_gits *gits);

#endif
