/* git_inside.h - shared by the files of this module; everything belongs to its thread (before that, to the
 * start), except what `lock` guards.
 *
 *   git_sources.c   the thread, its controls, and when a commit is settled
 *   git_root.c      references, tips and folders of commits
 *   git_facts.c     what the API says about commits
 *   git_large.c     large files of a server, one at a time; what needs them waits */
#ifndef SRV_GIT_INSIDE_H
#define SRV_GIT_INSIDE_H

#include "git_files.h"
#include "git_sources.h"

#include "../../core/base/array.h"
#include "../../core/base/pieces.h"
#include "../fs/clock.h"

#include <pthread.h>

/* Something about a file that differs from a checkout, or keeps it out. */
typedef struct git_note {
	char *path, *text;
	bool pointer;
} git_note;

/* A commit that has a folder. */
typedef struct commit_state {
	srv_git_id id;
	uint64_t number;	/* of its folder's content, which SYNC answers are for */
	int64_t settled_ms; /* 0: not yet */
	uint64_t used;		/* number of the newest use */
	bool pinned;		/* the tip of another reference */
	bool fetching;		/* it waits for large files; except for the tip, there is no folder yet */
	git_note *notes;
	uint32_t note_count, note_room;
} commit_state;

/* A large file that is wanted of the server. */
typedef struct git_large {
	srv_git_id id; /* of the pointer */
	uint64_t size;
	char sha256[HOB_SHA256_TEXT + 1];
	char *fault; /* NULL: it was not asked for yet, or has no answer */
} git_large;

typedef struct git_root {
	struct srv_gits *gits;
	char *name, *folder, *commits_name, *tip_path, *commits_path;
	const char *const *refs;
	srv_git_reader reader;
	int fd, inotify; /* folder of the tip; -1: polled */
	hob_buf known_refs;
	char tip_name[256];
	bool has_tip, troubled;
	commit_state tip, *commits;
	uint32_t commit_count, commit_room;
	srv_git_reader server; /* program: NULL: none */
	git_large *large;
	uint32_t large_count, large_room;
	int large_fd;				/* of large_id, which hob-lfs writes; -1: it does nothing */
	srv_git_id large_id, tried; /* tried: the newest tip whose large files were asked for */
} git_root;

typedef struct settling {
	srv_control control;
	struct srv_gits *gits;
	git_root *root;
	srv_git_id id;
	uint64_t number;
	int status; /* guarded; 0: not answered */
	hob_buf name;
	struct settling *next;
} settling;

struct srv_gits {
	srv_git_files files;
	git_root *roots;
	uint32_t count;
	srv_control_port engine;
	srv_views *views;
	pthread_t thread;
	bool runs;
	atomic_bool stop;
	int wake;
	uint64_t numbers;
	settling *settling;
	srv_control **patient; /* wait for a commit; WAITING_MAX */
	uint32_t patient_count;
	pthread_mutex_t lock;
	srv_control **waiting;						/* guarded */
	uint32_t waiting_count, waiting_room, held; /* held: all that have no answer, WAITING_MAX at most */
};

typedef struct git_counts {
	uint32_t assets, failed, busy;
} git_counts;

/* Asks the engine to tell when the folder of this state is settled. */
void srv_git_await(git_root *root, commit_state *state);

/* git_root.c. refresh: reads the references, and follows them; again: also looks for large files that were
 * missing. */
bool srv_git_refresh(git_root *root, bool again, hob_error *err) HOB_MUST_CHECK;
/* A branch, a tag, a commit or the beginning of its id; empty: the tip's reference. */
bool srv_git_resolve(git_root *root, hob_str name, srv_git_id *out, hob_error *err) HOB_MUST_CHECK;
/* Whether a branch or tag of the glob leads to it. */
bool srv_git_permits(git_root *root, hob_str name, hob_str glob, hob_error *err) HOB_MUST_CHECK;
/* Makes the folder of a commit, unless there is one, or (without `always`) it is the tip. */
bool srv_git_make(git_root *root, const srv_git_id *id, bool always, hob_error *err) HOB_MUST_CHECK;
commit_state *srv_git_add_commit(git_root *root, const srv_git_id *id);
void srv_git_drop_notes(commit_state *state);
void srv_git_watch(git_root *root);
/* Reads the events: whether a reference may have changed. */
bool srv_git_watch_moved(git_root *root);

/* git_large.c. wanted: whether large files of these changes are on their way; asks for them. next: begins
 * with one. take: when server.socket has an answer; true: nothing is on its way any more. forget: what failed
 * is asked for again. */
bool srv_git_large_wanted(git_root *root, const srv_git_changes *changes);
void srv_git_large_next(git_root *root);
bool srv_git_large_take(git_root *root);
uint32_t srv_git_large_pending(const git_root *root);
const char *srv_git_large_fault(const git_root *root, const srv_git_id *id); /* NULL: none is known */
void srv_git_large_forget(git_root *root);
void srv_git_large_end(git_root *root);

/* git_facts.c */
commit_state *srv_git_state(git_root *root, const srv_git_id *id); /* NULL: it has no folder */
git_counts srv_git_count(const git_root *root, const commit_state *state);
bool srv_git_is_cooking(const git_root *root, const commit_state *state);
/* facts: an answer of "commit". */
void srv_git_put_commit(git_root *root, hob_str facts, bool whole, hob_buf *out);
/* Makes the folder of the commit that `name` names, also if it is the tip: {"id":...}. *later: it waits for
 * large files. */
bool srv_git_make_folder(git_root *root, hob_str name, bool *later, hob_buf *out,
						 hob_error *err) HOB_MUST_CHECK;

#endif
