/* Shared by the files of the pool: pool.c assigns jobs and returns outcomes, pool_process.c starts and ends
 * processes, pool_frames.c handles their messages. Everything runs on the loop's thread. */
#pragma once

#include "exporter.h"
#include "importer_table.h"
#include "part_claims.h"
#include "pool.h"
#include "protocol.h"

#include <sys/types.h>

/* After SHARED_MS the jobs behind the running one are given back; if the worker got no processor, at most
 * SHARED_MOST times as late. */
enum { RESPAWN_FIRST_MS = 100, ORPHANS_MAX = 64, SRV_EXPORT_FOLDER = 320, SHARED_MS = 100, SHARED_MOST = 20 };

typedef enum worker_state { GONE, STARTING, IDLE, BUSY, DYING } worker_state;

typedef struct worker {
	srv_pool *pool;
	worker_state state;
	pid_t pid;
	int socket, output;
	/* allocated separately: closing takes longer than the slot's next worker */
	uv_poll_t *socket_poll, *output_poll;
	uv_timer_t deadline;
	srv_gauge *gauge; /* mapped from the start of a worker to the start of the slot's next one; or NULL */
	bool waits;		  /* waits for a part; must not ask for anything until then */
	uint64_t left_ms; /* time left until the deadline, while it waits */
	uint64_t first_rss, jobs_done;
	uint64_t oom_kills;		 /* srv_machine_oom_kills when it started or last had no job */
	uint64_t file_bytes;	 /* total size of the memory files given to this process */
	uint64_t cpu_before_ns;	 /* CPU time when the job began */
	bool looked;			 /* wait_before_ns is set, after a quarter of the job's time */
	uint64_t wait_before_ns; /* how long the process had waited for a processor by then */
	/* the bundle: those before `answered` are over, NULL: given back */
	void *jobs[SRV_BUNDLE];
	bool left[SRV_BUNDLE]; /* its result is not wanted */
	uint32_t job_count, answered;
	uint32_t bundle; /* its number */
	bool shared;	 /* no job of it took long yet */
	/* the running job */
	uint32_t touched_by;  /* its number in the bundle */
	hob_buf log, touched; /* `touched`: NUL-separated paths */
	uint32_t touched_count;
	uint64_t began_ns;				   /* start of the job, by uv_hrtime */
	uint64_t part_bytes;			   /* total size of the job's parts so far */
	uint64_t files_before;			   /* size of its memory files when the job began */
	bool refused;					   /* the worker got no memory file for its result */
	hob_error why;					   /* set by the code that decided to end this worker */
	bool has_why, cancelled, outdated; /* outdated: one of its roots is now another folder */
	bool stalled;
	bool lowered; /* runs at nice 19 */
	bool lean;	  /* runs hob-worker-lean */
	struct {
		pid_t pid;	 /* 0: none runs */
		bool wanted; /* the worker still waits for it */
		uint32_t root;
		int channel; /* to hob-exporter; its file system arrives there */
		char folder[SRV_EXPORT_FOLDER];
		hob_error greedy; /* reason why the program was ended: too much disk or too many threads */
	} export;			  /* the program that the running job waits for */
} worker;

typedef struct pool_part {
	uint8_t key[32];
	int fd; /* a sealed memory file */
} pool_part;

struct srv_pool {
	uv_loop_t *loop;
	srv_pool_options options;
	srv_pool_callbacks callbacks;
	/* lean_path: hob-worker-lean, which starts faster; empty if there is none, or a model needed more */
	char worker_path[4096], lean_path[4104], exporter_path[4096];
	char blender[4096], blender_identity[SRV_EDITOR_TEXT]; /* blender: empty when there is none */
	int *root_fds;
	worker *workers;
	uint32_t count;
	uv_signal_t child;
	uv_timer_t respawn, look; /* `look`: checks the programs of exports while any runs */
	uint32_t respawn_ms;
	bool closing, announced, degraded;
	bool mounts, mounts_known; /* of srv_pool_may_mount */
	uint32_t open_handles;
	pid_t orphans[ORPHANS_MAX]; /* killed, not reaped yet */
	uint32_t orphan_count;
	void (*closed)(void *user);
	void *closed_user;
	hob_arena arena;
	importer_table importers;
	char sandbox[96];
	srv_claims claims;
	uint32_t parts_pending; /* passed on, not stored yet */
	pool_part *parts;		/* kept here, without part_put */
	uint32_t part_count, part_capacity;
	uint64_t part_bytes;
	uint8_t payload[SRV_FRAME_PAYLOAD];
};

/* pool.c: srv_pool_running is the number of the job that the worker cooks; job_count: it has none.
 * srv_pool_outcome makes the outcome of the next job to be answered, with the log and touched paths;
 * srv_pool_finish ends that job and passes the outcome to `done`. srv_pool_give_back ends the jobs of the
 * bundle but one as unbegun. */
uint32_t srv_pool_running(const worker *w);
srv_outcome *srv_pool_outcome(worker *w);
void srv_pool_finish(worker *w, srv_outcome *outcome);
void srv_pool_give_back(worker *w, uint32_t but);
/* Frees the pool if it is closing and its last process and handle are gone. */
void srv_pool_maybe_closed(srv_pool *pool);

/* pool_process.c */
bool srv_pool_spawn(worker *w, hob_error *err);
void srv_pool_kill(worker *w, hob_err_code code, const char *text);
/* Kills the worker's processes and ignores its further messages. */
void srv_pool_end(worker *w);
void srv_pool_drain(worker *w);
void srv_pool_on_child(uv_signal_t *handle, int number);
void srv_pool_on_respawn(uv_timer_t *timer);
void srv_pool_on_deadline(uv_timer_t *timer);

/* pool_export.c: external editors. */
void srv_pool_find_blender(srv_pool *pool, const char *program);
/* Whether the kernel allows own_mounts.h: the first call tries it in a process. */
bool srv_pool_may_mount(srv_pool *pool);
void srv_pool_export(worker *w, const srv_frame *frame);
int srv_pool_new_memory(uint64_t size); /* the descriptor of a memory file; -1: errno says why */
void srv_pool_export_kill(worker *w);
/* After SIGCHLD: answers the worker if its export is over. */
void srv_pool_export_reap(worker *w);

/* pool_frames.c */
void srv_pool_on_socket(uv_poll_t *poll, int status, int events);
void srv_pool_wake_waiters(srv_pool *pool);
/* For a process that ended (pid 0) during a job: reads its unread messages. A result among them ends the job,
 * as a process may die while it frees memory. Requests among them are not answered. */
void srv_pool_hear_last(worker *w);
