/* engine_jobs.h - the jobs: data of each, and the choice of the next one.
 *
 * server/cook/job.h decides: a job is in a stage, an event leads to another, and the transition gives the
 * act. Callbacks of the pool, of libuv and of the upstream queue an event (srv_job_put); in the same turn
 * (iteration of the loop) engine_turn.c calls the function of the resulting act (engine_acts.h). */
#ifndef ENGINE_JOBS_H
#define ENGINE_JOBS_H

#include "engine_assets.h"

#include "../cook/forecast.h"
#include "../cook/job_steps.h"
#include "../queue/queue.h"

typedef struct engine_job engine_job;

typedef struct hash_item {
	uint32_t file;
	char *path;
	int root_fd;
	uint64_t most;	  /* bytes; a larger file is not read */
	uint64_t changed; /* of the file when hashing began */
	int64_t read_at_ms;
	int why; /* errno if it cannot be read */
	bool found;
	bool waits;		 /* until it is no longer being saved */
	bool unfinished; /* the file is being saved now */
	bool too_large;	 /* too large for any cook: not hashed */
	srv_stat stat;
	hob_sha256 digest;
} hash_item;

typedef struct job_hashing {
	hash_item *items;
	uint32_t count, next; /* `next`: the file whose digest is used next */
	uint32_t *again;	  /* files to hash again */
	uint32_t again_count;
	bool unfinished; /* some file is being saved */
	uint64_t look;	 /* the newest look at maps when it began */
	hob_error error;
} job_hashing;

/* Results with the job's look-up, from this or another cache. */
typedef struct job_earlier {
	srv_record *items;
	uint32_t count;
	const srv_record *taken; /* the matching one */
	hob_error unreadable;	 /* reason why srv_job_dep_file could not check a file */
} job_earlier;

/* Answers of other machines. */
typedef struct job_remote {
	uint32_t seen;				/* number of records in the newest answer */
	hob_arena found;			/* memory of the records */
	char author[SRV_FARM_NAME]; /* the machine of a farm that cooked it; "": unknown */
	int verdict;				/* of the newest claim */
	uint32_t tries, claim_seen; /* claim_seen: `seen` at the last claim */
} job_remote;

typedef struct job_cook {
	int64_t started_at_ms; /* start of the job; then start on its worker */
	bool mapped;		   /* the worker reads inputs that are open for writing */
	srv_tries tries;
	uint64_t tick; /* srv_graph_now when the worker began */
	srv_outcome *outcome;
	hob_error error; /* reason of the job's failure */
	srv_record_output *outputs;
	uint32_t output_count;
	uint32_t looked; /* number of dependencies that each_dep has processed; 0 when finished */
	uint32_t *read;	 /* dependencies to hash, as files of the graph */
	uint32_t read_count;
	bool other_input;		/* the cook read another version of a file than the known one */
	uint32_t changed_input; /* 1 + a dependency that changed after it was read; 0: none */
} job_cook;

/* `done` takes the outcome. */
typedef struct pool_client {
	void (*done)(void *self, srv_outcome *outcome);
} pool_client;

struct engine_job {
	srv_job life; /* first: srv_asset.job points at it */
	srv_job_steps steps;
	pool_client client;
	srv_engine *engine;
	uint32_t asset;
	uint64_t place; /* order among the jobs of one priority that wait for a worker */
	struct {
		engine_job *next;
		bool queued;
		srv_job_act act; /* DO_NOTHING: `event` is applied first */
		srv_job_event event;
	} due; /* its entry in the queue of this turn */
	hob_arena arena;
	hob_ingredients ingredients;
	hob_sha256 source, lookup, final_lookup; /* lookup: of the profile in `ingredients` */
	srv_piece piece;						 /* hashing, or storing */
	job_hashing hashing;
	job_earlier earlier;
	job_remote remote;
	job_cook cook;
	hob_error unkept; /* engine_batch.c: why the result is not in the store */
	bool damaged;	  /* likewise: the kept result cannot be read */
};

struct engine_jobs {
	srv_queue *queue; /* of assets */
	srv_pool *pool;	  /* NULL: it is closed */
	srv_activity *activity;
	bool pool_ready, no_workers;
	bool stirred; /* the choice of the next job may have changed */
	uint64_t last_id, last_place;
	engine_job *due, *due_last;		   /* queue of events and acts to be processed in this turn */
	engine_job **active;			   /* jobs in progress, unordered */
	uint32_t count, capacity;		   /* of them */
	uint32_t in_stage[SRV_JOB_STAGES]; /* number of jobs by stage */
	srv_piece *pieces, *last_piece;	   /* short ones of this turn, to be sent to libuv's pool */
	uint32_t piece_count;
	uint64_t uses_seen; /* srv_uses_changes at the last comparison with the queue */
	uint64_t doubt_at;
	srv_forecast forecast;
	struct {
		uint32_t root;		/* 1 + its number; 0: none */
		uint64_t folder[2]; /* hash */
		uint64_t bytes;
	} weighed;			/* the last folder whose files were added up */
	uint64_t worked_ns; /* of all final cooks */
	struct {
		int64_t began_ms;
		srv_forecast_speed speed;
	} run;				   /* of work, as in activity.h */
	uint64_t memory_total; /* from the last srv_machine_memory */
	char machine[96];	   /* from srv_machine_facts at the same time */
};

#define SRV_JOB_SAY(name) ((srv_job_event){.kind = SRV_JOB_##name})
#define SRV_JOB_LATER	  ((srv_job_event){.kind = SRV_JOB_EVENTS}) /* a callback puts the event */

static inline engine_job *srv_engine_job(srv_job *life)
{
	return (engine_job *)life;
}

/* engine_kit.c: the queue of the turn, first in, first out */
void srv_job_put(engine_job *job, srv_job_event event); /* for callbacks */
void srv_job_put_act(engine_job *job, srv_job_act act);
engine_job *srv_engine_take_due(srv_engine *engine); /* NULL: the queue is empty */

/* engine_job.c: events of jobs */
/* Applies the event and returns the act for this job; acts of other jobs are queued. */
srv_job_act srv_job_step(engine_job *job, srv_job_event event);
/* Applies the event now and queues all acts: to end a job at rest at once. */
void srv_job_send(engine_job *job, srv_job_event event);
engine_job *srv_job_new(srv_engine *engine, uint32_t id);
void srv_job_free(engine_job *job);
void srv_job_drop(engine_job *job); /* discards its result */
/* Call it when the job's asset is saved again while the worker cooks. A quick cook may finish, without
 * effect, and the next job starts at once on another worker; any other is killed. True: the job has released
 * its asset. */
bool srv_job_preempt(engine_job *job, bool quick);
/* Raises a waiting job, and the duplicate that it waits for; never lowers it. */
void srv_job_raise(engine_job *job, srv_priority priority);
/* Raises an asset in the queue, and its job. */
void srv_engine_raise(srv_engine *engine, uint32_t id, srv_priority priority);
void srv_engine_raise_used(srv_engine *engine); /* once a second: raises assets that a client began to use */
bool srv_job_is_alone(const engine_job *job);	/* no other job has work to do */
void srv_engine_tell_stuck(
	const srv_engine *engine); /* once a second: logs each job whose stage takes long */

/* engine_jobs.c: which jobs begin, and on which worker */
struct engine_jobs *srv_engine_jobs_new(void);
void srv_engine_jobs_free(struct engine_jobs *jobs);
bool srv_engine_start_workers(srv_engine *engine, hob_error *err);
bool srv_engine_start_ready(srv_engine *engine, uint32_t begun); /* begins one job, if there is room */
void srv_engine_dispatch(srv_engine *engine);					 /* waiting jobs go to idle workers */
bool srv_engine_is_idle(const srv_engine *engine);				 /* no job is queued or under way */
void srv_engine_close_jobs(srv_engine *engine);
void srv_engine_close_workers(srv_engine *engine);
uint64_t srv_engine_new_job_id(srv_engine *engine);
void srv_engine_continue_job_ids(srv_engine *engine, uint64_t newest); /* newest id of an earlier run */

/* engine_inputs.c: the record of a cook that just ended, without its key and inputs */
srv_record srv_job_record(engine_job *job);
/* Lets the asset continue later under the job's number, unless a newer save follows. True: the job has not
 * ended. */
bool srv_job_leave_number(engine_job *job, srv_asset_event_kind kind);

/* engine_cook.c */
void srv_job_remember_inputs(engine_job *job, const srv_record *record);
/* Compares a file on disk with its known state. True: it has changed; the assets that use it are checked. */
bool srv_job_look_again(engine_job *job, uint32_t file);
/* Watches a file that no scan listed. True: it has changed since the worker read it. */
bool srv_job_watch_input(engine_job *job, uint32_t file);
/* Whether a preview job beside its final one is outdated: its asset has another job or a newer save. */
bool srv_job_is_late(const engine_job *job);
/* Call it when a client begins to wait for a job: a preview comes first. If the final cook already runs, the
 * preview is made beside it, on another worker. */
void srv_job_show_soon(engine_job *job);

/* engine_digest.c */
/* HASHED once all existing files of the list have a digest. */
srv_job_event srv_job_digests(engine_job *job, const uint32_t *files, uint32_t count);
/* The graph's number of a file, named relative to the source's folder. HOB_NONE: outside the root, no memory,
 * or job->earlier.unreadable is set. */
uint32_t srv_job_dep_file(engine_job *job, hob_str relative);
uint32_t srv_job_file(engine_job *job, hob_str path); /* likewise, for a path below the root */

/* engine_order.c: order of waiting jobs, their expected time and memory */
/* The priority of a job for this asset. Assets used by a connected client come before all but those that a
 * client waits for. */
srv_priority srv_engine_priority(srv_engine *engine, const asset *a, srv_priority priority);
/* Next job after `before` in the order in which jobs get a worker: by priority, previews first among equals.
 * before NULL: the first. */
engine_job *srv_engine_next_waiting(const srv_engine *engine, const engine_job *before);
bool srv_job_waits(const engine_job *job); /* for another cache, for the farm, or for a worker */
/* Whether its cook is expected to take noticeably long, so that a preview or a new process is worth it. */
bool srv_asset_is_slow(const srv_engine *engine, const asset *a);
bool srv_job_is_looked_at(const engine_job *job);
bool srv_job_may_preview(const engine_job *job);
/* The running job to cut for the waiting preview; NULL: none. A preview that a client waits for never waits
 * for a final cook: if all workers are busy, one is cut, and its job is queued again. No job is cut twice,
 * nor for a quick cook. */
engine_job *srv_engine_find_cut(const srv_engine *engine);
void srv_engine_count_waiting(srv_engine *engine); /* updates the counters */
/* Expected time of its next cook: that of the last one, otherwise an estimate from the size of its source and
 * earlier cooks; 0: unknown. */
uint64_t srv_engine_expected_ns(const srv_engine *engine, const asset *a);
/* Notes that a final cook, good or bad, took `ns` on its worker. */
void srv_engine_note_work(srv_engine *engine, asset *a, uint64_t ns);
void srv_engine_note_expected(srv_engine *engine); /* once a second: updates the counters */
/* True if the job's cook is expected to fit into the machine's free memory, or nothing else is running. */
bool srv_engine_has_memory(const srv_engine *engine, const engine_job *job);

/* engine_limits.c */
/* Stores the limits under which a cook died or ran out of time or memory. */
void srv_engine_put_limits(engine_job *job, srv_record *record);
/* True if those limits have changed or a day has passed: the failure no longer counts. Also for a result
 * without levels for lack of memory, if the limit is higher now. */
bool srv_engine_is_doubtful(const srv_engine *engine, const srv_record *record);
/* Sets when the asset's newest failure, `record`, is retried without a change. NULL: it has none. */
void srv_engine_doubt_at(asset *a, const srv_record *record);
void srv_engine_look_at_machine(srv_engine *engine);
/* Once a second: tries assets again whose failure no longer counts. */
void srv_engine_doubt(srv_engine *engine);

/* engine_jobs_list.c: queued and running jobs in the API */
void srv_engine_list_jobs(srv_engine *engine, srv_control *control);
void srv_engine_tell_job(srv_engine *engine, srv_control *control);
void srv_engine_cancel_job(srv_engine *engine, srv_control *control);

#endif
