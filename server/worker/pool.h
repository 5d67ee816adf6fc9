/* pool.h - the worker processes: started, fed, watched, ended.
 *
 *            spawn             READY              srv_pool_start            DONE
 *   (none) --------> STARTING -------> IDLE ----------------------> BUSY --------> IDLE
 *                       |               |                            |
 *                       |               | recycle (jobs, memory)     | deadline, cancel, malformed frame
 *                       v               v                            v
 *                     DYING <---------------------------------------+     reaped: respawn, with back-off
 *                                                                         when it never became ready
 *
 * Processes are made with posix_spawn, whose cost does not grow with the daemon (no fork of it), in a process
 * group of their own, at nice 19 unless somebody waits, and end with the daemon (parent-death signal). What they print is drained
 * into a capped log. A worker that broke a rule, crashed or failed a job is replaced, never reused.
 *
 * All calls and callbacks belong to the loop's thread. */
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

/* What a finished job is. On ok, `result` and the bytes it points into stay valid until srv_outcome_free. */
typedef struct srv_outcome {
	bool ok;
	hob_error
		error; /* when !ok: CRASHED, TIMEOUT, MEMORY, LIMIT, INTERRUPTED (not its own doing) or what the cook itself said */
	bool died; /* the worker ended or had to be ended: counts towards quarantine */
	bool cancelled;
	/* Its time was over before it had computed for a quarter of it. One that slept then may have met the machine's doing once:
	 * worth one more try. One that was stopped, or had no processor, is INTERRUPTED. */
	bool stalled;
	uint32_t lost_ms;  /* from the job's begin to its worker's end, when it died */
	srv_result result; /* ok or a failure that the cook itself reported: deps and notes are filled */
	bool has_result;
	hob_str *touched; /* every path that the cook looked for, also when it died */
	uint32_t touched_count;
	uint64_t cook_ns, peak_bytes;
	hob_str log; /* what the worker printed during the job */
	hob_arena arena;
	void *mapping;
	size_t mapping_size;
	hob_buf log_text;
} srv_outcome;
void srv_outcome_free(srv_outcome *outcome); /* NULL is fine */
/* Adds to the error of one that stalled that the try before did, too. */
void srv_outcome_stalled_again(srv_outcome *outcome);

typedef struct srv_pool_callbacks {
	void *user;
	/* The first worker said what it can read; called once, before any job may start. */
	void (*ready)(void *user);
	/* A worker became idle: srv_pool_start will accept a job. */
	void (*idle)(void *user);
	/* The outcome belongs to the callee. */
	void (*done)(void *user, void *job, srv_outcome *outcome);
	void (*progress)(void *user, void *job, hob_str stage, float fraction);
	/* Parts: a descriptor that the pool sends and closes, or -1; and bytes to keep: the callee unmaps them, on any thread, and says
	 * srv_pool_part_kept, at once or later. fd: sealed, closed by the pool when this returns. */
	int (*part_get)(void *user, const uint8_t key[32]);
	void (*part_put)(void *user, const uint8_t key[32], hob_bytes bytes, int fd);
	/* A worker cannot be started: `why` (NO_WORKER) names the program and what the system said. Retried with back-off,
	 * at most 10 s; NULL when one started again. */
	void (*trouble)(void *user, const hob_error *why);
} srv_pool_callbacks;

typedef struct srv_pool_options {
	const char *worker_path;  /* NULL: hob-worker beside this program, else ../libexec/hob/hob-worker */
	uint32_t workers;		  /* 0 = number of CPUs */
	uint32_t timeout_ms;	  /* wall clock a job; 0 = 300000 */
	uint32_t cpu_seconds;	  /* CPU a job and thread; 0 = 2 x timeout */
	uint64_t memory_limit;	  /* RLIMIT_AS; 0 = 4 GiB */
	uint64_t source_limit;	  /* bytes of one file that is read; 0 = HOB_LIMIT_SOURCE_BYTES */
	uint32_t jobs_per_worker; /* 0 = 256 */
	srv_sandbox_policy sandbox;
	const int *root_fds; /* O_PATH or O_RDONLY directories; borrowed during srv_pool_new only (dup'ed) */
	uint32_t root_count;
	bool one_first; /* the others start with srv_pool_fill */
	/* A path, or a name that is looked for on PATH; NULL: "blender"; "none": never. */
	const char *blender;
} srv_pool_options;

bool srv_pool_new(uv_loop_t *loop, const srv_pool_options *options, const srv_pool_callbacks *callbacks,
				  srv_pool **out, hob_error *err) HOB_MUST_CHECK;
/* Starts the workers that are not there, in the next turn of the loop. */
void srv_pool_fill(srv_pool *pool);
/* Kills the workers, reaps them without blocking, closes handles, then done(user). */
void srv_pool_close(srv_pool *pool, void (*done)(void *user), void *user);

typedef struct srv_pool_job {
	uint32_t root;
	hob_str path; /* copied */
	hob_str text; /* copied; when not empty, `path` holds this and no file is looked for */
	hob_settings settings;
	hob_profile profile;
	uint32_t threads; /* 0 = all */
	/* By a worker that had no job yet, without parts of other cooks and without leaving any: nothing that was cooked before
	 * can reach it. When only used workers are idle, one of them is replaced, and the idle callback says when to ask again. */
	bool alone;
	/* Somebody waits: the cook has the daemon's own priority. Without it the worker runs at nice 19. Only root may raise the
	 * priority of a worker that was lowered: for anybody else a lowered one is replaced, as for `alone`, when the cook is `slow`
	 * and so worth the start of a process, and taken as it is otherwise. */
	bool waited, slow;
} srv_pool_job;
/* Starts a job on an idle worker. False when none is idle. */
bool srv_pool_start(srv_pool *pool, void *job, const srv_pool_job *what);
/* Somebody waits for a running job now. It goes on as it is where the priority may not be raised. */
void srv_pool_hurry(srv_pool *pool, void *job);
/* What part_put was given is kept, or could not be: workers that wait for the part are answered. Every part_put ends with this,
 * also while the pool closes, which waits for it. */
void srv_pool_part_kept(srv_pool *pool, const uint8_t key[32]);
/* Any thread. */
void srv_pool_part_unmap(hob_bytes bytes);
/* The job ends as cancelled; its worker is killed. False when the job is not running. */
bool srv_pool_cancel(srv_pool *pool, void *job);
/* The folder behind root number `root` is another one now. Workers opened the old one and are shut in with it: they are
 * replaced, busy ones after their job. `fd` stays the caller's. */
void srv_pool_set_root(srv_pool *pool, uint32_t root, int fd);
uint32_t srv_pool_idle(const srv_pool *pool);
/* Workers that have a job, wait for one, or begin. */
uint32_t srv_pool_alive(const srv_pool *pool);
uint32_t srv_pool_size(const srv_pool *pool);

/* After `ready`. */
const srv_pool_importer *srv_pool_importers(const srv_pool *pool, uint32_t *count);
const srv_pool_importer *srv_pool_importer_for(const srv_pool *pool, hob_str path);
/* "landlock 7, seccomp, limits" or what is missing, for the banner and /readyz?verbose. */
const char *srv_pool_sandbox(const srv_pool *pool);

typedef struct srv_pool_counters {
	uint64_t spawned, crashed, timed_out, recycled;
} srv_pool_counters;
void srv_pool_count(const srv_pool *pool, srv_pool_counters *out);

#endif
