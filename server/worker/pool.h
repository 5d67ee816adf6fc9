/* pool.h - starts, feeds, watches and ends the worker processes.
 *
 *            spawn             READY              srv_pool_start            DONE
 *   (none) --------> STARTING -------> IDLE ----------------------> BUSY --------> IDLE
 *                       |               |                            |
 *                       |               | recycle (jobs, memory)     | deadline, cancel, malformed frame
 *                       v               v                            v
 *                     DYING <---------------------------------------+     reaped: respawn, with back-off
 *                                                                         when it never became ready
 *
 * Processes are made with posix_spawn, whose cost does not grow with the daemon (no fork of it), each in its
 * own process group, at nice 19 unless a user waits, and end with the daemon (parent-death signal). Their
 * output is drained into a capped log. A worker that broke a rule, crashed or failed a job is replaced, never
 * reused.
 *
 * All calls and callbacks run on the loop's thread. */
#ifndef SRV_POOL_H
#define SRV_POOL_H

#include "result.h"
#include "sandbox.h"

#include <uv.h>

typedef struct srv_pool srv_pool;

typedef struct srv_pool_importer {
	hob_str name, library;
	uint32_t version;
	hob_str *extensions;
	uint32_t extension_count;
} srv_pool_importer;

/* Result of a finished job. If ok, `result` and the bytes that it points into stay valid until
 * srv_outcome_free. */
typedef struct srv_outcome {
	bool ok;
	/* if !ok: CRASHED, TIMEOUT, MEMORY, LIMIT, INTERRUPTED (caused from outside), or the cook's own error */
	hob_error error;
	bool died;				 /* the worker ended or was killed: counts towards quarantine */
	bool cancelled, unbegun; /* unbegun: cancelled because of another model of its bundle */
	/* The time limit passed, but the worker had used less than a quarter of it as CPU time. If it slept, the
	 * machine may be the cause, so it is worth one more try. If it was stopped, or had no processor, the
	 * error is INTERRUPTED. */
	bool stalled;
	uint32_t lost_ms;  /* from the start of the job to the end of its worker, if it died */
	srv_result result; /* ok, or a failure reported by the cook: deps and notes are filled */
	bool has_result;
	hob_str *touched; /* every path that the cook looked for, even if it died */
	uint32_t touched_count;
	uint64_t cook_ns, peak_bytes;
	uint64_t cpu_ns; /* of all its threads; 0: unknown */
	hob_str log;	 /* the worker's output during the job */
	hob_arena arena;
	void *mapping;		 /* NULL: the result is in `arena` */
	size_t mapping_size; /* of the result */
	hob_buf log_text;
} srv_outcome;
void srv_outcome_free(srv_outcome *outcome); /* NULL is allowed */
/* Adds to the error of a stalled job that the previous try stalled, too. */
void srv_outcome_stalled_again(srv_outcome *outcome);

typedef struct srv_pool_callbacks {
	void *user;
	/* The first worker has reported what it can read; called once, before any job can start. */
	void (*ready)(void *user);
	/* A worker became idle: srv_pool_start will accept a job. */
	void (*idle)(void *user);
	/* The callee owns the outcome. */
	void (*done)(void *user, void *job, srv_outcome *outcome);
	/* part_get returns the part's descriptor, which the pool sends and closes, or -1. part_put gets bytes to
	 * keep: the callee unmaps them, on any thread, and calls srv_pool_part_kept, immediately or later.
	 * Both NULL: the pool keeps parts until it closes. */
	int (*part_get)(void *user, const uint8_t key[32]);
	void (*part_put)(void *user, const uint8_t key[32], hob_bytes bytes);
	/* A worker cannot be started: `why` (NO_WORKER) names the program and the system's error. The pool tries
	 * again, at the latest after 10 s; NULL when one has started again. */
	void (*degraded)(void *user, const hob_error *why);
} srv_pool_callbacks;

typedef struct srv_pool_options {
	const char *worker_path;  /* NULL: hob-worker beside this program, otherwise ../libexec/hob/hob-worker */
	uint32_t workers;		  /* 0: number of CPUs */
	uint32_t timeout_ms;	  /* wall clock per job; 0 means 300000 */
	uint32_t cpu_seconds;	  /* CPU per job and thread; 0: twice the timeout */
	uint64_t memory_limit;	  /* RLIMIT_AS; 0 means 4 GiB */
	uint64_t source_limit;	  /* maximum bytes of a file to read; 0: HOB_LIMIT_SOURCE_BYTES */
	uint32_t jobs_per_worker; /* 0 means 256 */
	srv_sandbox_policy sandbox;
	const int *root_fds; /* O_PATH or O_RDONLY directories; used only during srv_pool_new (dup'ed) */
	uint32_t root_count;
	bool one_first; /* srv_pool_fill starts the other workers */
	/* A path, or a name to look up in PATH; NULL: "blender"; "none": never. */
	const char *blender;
} srv_pool_options;

bool srv_pool_new(uv_loop_t *loop, const srv_pool_options *options, const srv_pool_callbacks *callbacks,
				  srv_pool **out, hob_error *err) HOB_MUST_CHECK;
/* Starts the missing workers, in the next turn of the loop. */
void srv_pool_fill(srv_pool *pool);
/* Kills the workers, reaps them without blocking, closes handles, then calls done(user). */
void srv_pool_close(srv_pool *pool, void (*done)(void *user), void *user);

typedef struct srv_pool_job {
	uint32_t root;
	hob_str path; /* copied */
	hob_str text; /* copied; if not empty, it replaces the file at `path`, which is not read */
	hob_settings settings;
	hob_profile profile;
	uint32_t threads; /* 0: all */
	/* waited: a user waits, so the cook gets the daemon's own priority; otherwise the worker runs at nice 19.
	 * Only root can raise the priority of a process again. Without root, a worker at nice 19 is replaced if
	 * the cook is `slow` and so worth a new process, and the idle callback says when to ask again; otherwise
	 * it keeps its priority. */
	bool waited, slow;
	/* Inputs may be open for writing, through memory maps: the caller compares the digests of all. */
	bool mapped;
} srv_pool_job;
/* Starts up to SRV_BUNDLE jobs in an idle worker, one after another, in one message. Several must be expected
 * to be quick: the others wait for each, and are given back as `unbegun` when one takes long or dies. False
 * if no worker is idle. */
bool srv_pool_start(srv_pool *pool, uint32_t count, void *const *jobs, const srv_pool_job *what);
/* Raises the priority of a running job, for which a user now waits, if this process may do so. */
void srv_pool_hurry(srv_pool *pool, void *job);
/* The part from part_put is stored, or could not be: answers the workers that wait for it. Call it once for
 * every part_put, even while the pool closes, which waits for it. */
void srv_pool_part_kept(srv_pool *pool, const uint8_t key[32]);
/* Unmaps the bytes of part_put; any thread. */
void srv_pool_part_unmap(hob_bytes bytes);
/* Where the job's cook is, as its process says; its first stage unless it runs. */
hob_cook_step srv_pool_step(const srv_pool *pool, const void *job);
/* CPU time of its process since the job began, with that of others in its bundle; 0 unless it runs. */
uint64_t srv_pool_used_ns(const srv_pool *pool, const void *job);
/* Ends the job as cancelled and kills its worker. False if the job is not running. */
bool srv_pool_cancel(srv_pool *pool, void *job);
/* Like srv_pool_cancel, but the worker may finish its cook, and is killed only after `most_ms`: a new process
 * costs more than a short cook. */
bool srv_pool_leave(srv_pool *pool, void *job, uint32_t most_ms);
/* Root number `root` is now another folder. Workers opened the old one and their sandbox allows only that
 * one, so they are replaced, busy ones after their job. The caller keeps ownership of `fd`. */
void srv_pool_set_root(srv_pool *pool, uint32_t root, int fd);
uint32_t srv_pool_idle(const srv_pool *pool);
/* Workers that have a job, wait for one, or are starting. */
uint32_t srv_pool_alive(const srv_pool *pool);
uint32_t srv_pool_size(const srv_pool *pool);

/* Valid after `ready`. */
const srv_pool_importer *srv_pool_importers(const srv_pool *pool, uint32_t *count);
const srv_pool_importer *srv_pool_importer_for(const srv_pool *pool, hob_str path);
/* "landlock 7, seccomp, limits", or what is missing, for the banner and /readyz?verbose; with
 * "mounts" where Blender has them (own_mounts.h), which the first call tries. */
const char *srv_pool_sandbox(srv_pool *pool);

#endif
