/* engine_jobs.h - the jobs: from the queue to the row that says how each ended.
 *
 *   begin -> hash the source -> look up -> hash the inputs found -> match --- found ---------> settle -> end
 *                                 ^                                   `--> ask the upstream --> settle -> end
 *                                 |                                   `--> claim -> wait for a worker -> cook
 *                                 `-- try again <-- judge <-- hash what was read <-----------------------'
 *                                                     `--> store -> keep -> settle -> end
 *
 * Steps run on the loop; hashing and storing run in libuv's pool on the job's own data. engine_cook.c has the
 * steps to the worker, engine_finish.c those behind it. */
#ifndef ENGINE_JOBS_H
#define ENGINE_JOBS_H

#include "engine_assets.h"

#include "../cook/judge.h"
#include "../queue/queue.h"

typedef struct srv_job engine_job;

typedef struct hash_item {
	uint32_t file;
	char *path;
	int root_fd;
	uint64_t most;	  /* bytes; a larger file is not read */
	uint64_t changed; /* of the file when hashing began */
	int64_t read_at_ms;
	int why; /* errno if it cannot be read */
	bool found;
	bool unfinished; /* it is being saved now */
	bool too_large;	 /* too large for any cook: not hashed */
	srv_stat stat;
	hob_sha256 digest;
} hash_item;

typedef struct job_hashing {
	hash_item *items;
	uint32_t count, next; /* next: whose digest is taken up next */
	uint32_t *again;	  /* files that have to be hashed once more */
	uint32_t again_count;
	bool unfinished; /* some file is being saved */
	hob_error error;
} job_hashing;

/* Results with the job's look-up, from this cache or from another. */
typedef struct job_earlier {
	srv_record *items;
	uint32_t count;
	hob_error blind; /* why srv_job_dep_file could not check a file */
} job_earlier;

/* What another cache says. */
typedef struct job_abroad {
	bool asked, asking; /* asked: only once */
	bool fetched;
	bool given;					/* or to be: a lease ends with that */
	uint32_t seen;				/* number of records in the newest answer */
	hob_arena found;			/* their memory */
	srv_record *wanted;			/* the record whose blobs are being fetched */
	char author[SRV_FARM_NAME]; /* the machine of a farm that cooked it; "": unknown */
} job_abroad;

/* The lease of the job's look-up on a farm. */
typedef struct job_claim {
	enum {
		ENGINE_CLAIM_NONE,
		ENGINE_CLAIM_WAITS, /* in `unclaimed`: it waits to ask */
		ENGINE_CLAIM_ASKED, /* asked, or another machine cooks it */
		ENGINE_CLAIM_MINE	/* held, or cooked here without asking */
	} state;
	uint32_t tries, seen; /* seen: `abroad.seen` at the last question */
	bool held;			  /* another machine had its lease when the farm went away */
} job_claim;

typedef struct job_cook {
	int64_t started_at_ms; /* of the job; then on its worker */
	srv_tries tries;
	uint64_t tick; /* srv_graph_now when the worker began */
	srv_outcome *outcome;
	hob_error error;
	srv_record_output *outputs;
	uint32_t output_count;
	uint32_t met; /* number of dependencies that srv_job_each_dep has gone through */
	bool (*look)(engine_job *job, const srv_dep *dep);
	void (*then)(engine_job *job);
	uint32_t *read; /* those that have to be hashed: files of the graph */
	uint32_t read_count;
	bool other_input;		/* it read another version than the one that is known */
	uint32_t changed_input; /* 1 + a dependency that has changed since it was read; 0: none */
} job_cook;

/* Whom the pool calls: the first member of what it cooks for. `done` takes the outcome. */
typedef struct pool_client {
	void (*done)(void *self, srv_outcome *outcome);
	void (*progress)(void *self, hob_str stage, float share); /* may be NULL */
} pool_client;

struct srv_job {
	pool_client client;
	srv_engine *engine;
	uint32_t asset;
	srv_asset_next order; /* id, time, priority, force and reasons */
	bool on_worker;
	bool stopped;	/* a person cancelled it */
	bool cooking;	/* from the cache miss to the end */
	bool previewed; /* its preview is published or not wanted: look-ups and cooks are final */
	bool recorded;	/* its row is written; only its memory is left */
	bool abandoned; /* the asset is gone, saved again, or the engine closes: its result is dropped */
	hob_arena arena;
	hob_ingredients ingredients;
	hob_sha256 source, lookup, final_lookup; /* lookup: of the profile in `ingredients` */
	uv_work_t work;							 /* hashing, or storing */
	struct {
		void (*next)(engine_job *job);	 /* of srv_job_digests */
		void (*resume)(engine_job *job); /* of srv_job_later */
	} step;
	job_hashing hashing;
	job_earlier earlier;
	job_abroad abroad;
	job_claim claim;
	job_cook cook;
	struct {
		char stage[32];
		float share;
	} progress;
	engine_job *list_next; /* waiting for a worker, or for its twin */
	struct {
		engine_job *of;		 /* waits for its cook */
		engine_job *waiting; /* these start over when this one ends */
		engine_job *preview; /* makes a preview beside this one, under the same number, and ends with it */
		bool aside;			 /* is such a one: if it fails, it ends without a word */
	} twin;					 /* jobs with the same look-up, or of the same asset */
};

struct engine_jobs {
	srv_queue *queue; /* of assets */
	srv_pool *pool;	  /* NULL: it is closed */
	srv_activity *activity;
	bool pool_ready, no_workers, filling;
	uint64_t last_id;
	engine_job **active; /* jobs under way, in no order */
	uint32_t active_count, active_capacity;
	uint32_t alive, recorded, abandoned; /* the latter two: of those alive */
	engine_job *later;					 /* whose next step a later turn takes, oldest first */
	engine_job *waiting;				 /* missed the cache and wait for a worker, most urgent first */
	uint64_t uses_seen;					 /* srv_uses_changes at the last comparison with the queue */
	uint64_t doubt_at;
	uint64_t memory_total; /* when srv_machine_memory was last asked */
	char machine[96];	   /* srv_machine_facts then */
};

/* engine_jobs.c: which jobs begin, and their ends */
struct engine_jobs *srv_engine_jobs_new(void);
void srv_engine_jobs_free(struct engine_jobs *jobs);
bool srv_engine_start_workers(srv_engine *engine, hob_error *err);
void srv_engine_fill(srv_engine *engine);		   /* starts jobs while there is room */
bool srv_engine_is_idle(const srv_engine *engine); /* no job is queued or under way */
void srv_engine_close_jobs(srv_engine *engine);	   /* ends those that are not in the pool */
void srv_engine_close_workers(srv_engine *engine);
uint64_t srv_engine_new_job_id(srv_engine *engine);
void srv_engine_continue_job_ids(srv_engine *engine, uint64_t newest); /* of an earlier run */
void srv_job_detach(engine_job *job);								   /* its result comes to nothing */
void srv_job_free(engine_job *job);

/* engine_cook.c: a job from its start to its worker */
bool srv_job_begin(srv_engine *engine, uint32_t id,
				   srv_priority priority); /* false: no memory; it stays queued */
/* The source has its digest: looks for a record. Also starts a job over. */
void srv_job_lookup(engine_job *job);
/* Ends it with a failure that is kept under no key. */
void srv_job_fail(engine_job *job, const hob_error *error);
void srv_job_remember_inputs(engine_job *job, const srv_record *record);
/* Calls `look` for what the worker says that it read, over several turns, until it returns false; then calls
 * `then`. */
void srv_job_each_dep(engine_job *job, bool (*look)(engine_job *job, const srv_dep *dep),
					  void (*then)(engine_job *job));
/* Checks the files that the cook read and adds them to the graph, over several turns. */
void srv_job_meet_inputs(engine_job *job, void (*then)(engine_job *job));
/* Takes the job's next step in a later turn, because this one is full. When the engine closes, the job
 * ends. */
void srv_job_later(engine_job *job, void (*resume)(engine_job *job));
void srv_engine_step_later(srv_engine *engine); /* continues what earlier turns left */
void srv_job_end(engine_job *job);				/* with or without a result; its twins start over */
/* After a preview: its twins find it, and the job goes on to the final cook, unless its inputs are history by
 * now. */
void srv_job_go_on(engine_job *job);
bool srv_job_is_late(const engine_job *job); /* twin.aside, and its asset has another job or a newer save */
/* Expected to take long enough to be noticed: for a quick cook a preview, or a new process, is only a
 * delay. */
bool srv_asset_is_slow(const srv_engine *engine, const asset *a);
/* Its files are newer than its preview: whoever looks wants another. */
void srv_job_expect_news(engine_job *job);
/* Somebody waits who did not when the job began its final cook: a preview comes first. If that cook runs, the
 * preview is made beside it, on another worker. */
void srv_job_show_soon(engine_job *job);
void srv_engine_feed_workers(srv_engine *engine);
/* Makes the digests of all inputs of the job's candidates, then calls `next`. False: the job has failed. */
bool srv_job_hash_inputs(engine_job *job, void (*next)(engine_job *job));
bool srv_job_inputs_match(engine_job *job, const srv_record *record); /* by the digests that are known now */
bool srv_job_join_twin(engine_job *job); /* a copy has the same cook under way: waits for that */
void srv_job_missed(engine_job *job);	 /* no record fits: looks for a preview, or cooks */
void srv_job_take_record(engine_job *job, const srv_record *record);

/* engine_finish.c: from the worker's answer to what is published */
void srv_job_cooked(void *job, srv_outcome *outcome);
/* Its asset is saved again while the worker cooks. A quick cook may end, for nobody, and the next job begins
 * at once on another worker; another one is killed. */
void srv_job_give_way(engine_job *job, bool quick);
void srv_job_progress(void *job, hob_str stage, float share);

/* engine_digest.c */
/* Calls `next` once all existing files of the list have a digest; at once if they have. */
void srv_job_digests(engine_job *job, const uint32_t *files, uint32_t count, void (*next)(engine_job *job));
/* Ends the job without a result, because an input is half-written. The end of the save, or the clock, starts
 * another job. */
void srv_engine_wait_for_writer(engine_job *job);
bool srv_engine_is_open_for_writing(srv_engine *engine, uint32_t root, hob_str path);
/* The graph's number of a file, named relative to the source's folder. HOB_NONE: outside the root, no memory,
 * or job->earlier.blind is set. */
uint32_t srv_job_dep_file(engine_job *job, hob_str relative);
uint32_t srv_job_file(engine_job *job, hob_str path); /* the same for a path below the root */

/* engine_order.c: which waiting job is next, how long it takes, and how much memory it needs */
/* The priority of a job for this asset. Assets that a connected client uses come before all but those that
 * somebody waits for. */
srv_priority srv_engine_priority(srv_engine *engine, const asset *a, srv_priority priority);
/* Raise a waiting job, and the twin that it waits for; never lower it. */
void srv_engine_raise(srv_engine *engine, uint32_t id, srv_priority priority);
void srv_engine_raise_job(engine_job *job, srv_priority priority);
void srv_engine_raise_used(srv_engine *engine); /* once a second: raises assets that a client began to use */
/* Adds it to those that wait for a worker, by priority; of equal ones, previews come first. */
void srv_engine_wait_for_worker(engine_job *job);
bool srv_engine_waits_for_worker(const engine_job *job);
/* A preview that somebody waits for never waits for a final cook: if all workers are busy, one is cut, and
 * its job is queued again. No job is cut twice, nor for a quick cook's sake. */
void srv_engine_make_room(srv_engine *engine);
void srv_engine_count_waiting(srv_engine *engine); /* updates the counters */
/* Of its next cook: the last one's time, otherwise an estimate from the size of its source and earlier cooks;
 * 0: unknown. */
uint64_t srv_engine_expected_ns(const srv_engine *engine, const asset *a);
void srv_engine_note_expected(srv_engine *engine); /* once a second: updates the counters */
/* True if the job's cook is expected to fit into the machine's free memory, or nothing else is running. */
bool srv_engine_has_memory(const srv_engine *engine, const engine_job *job);

/* engine_parts.c: callbacks of the pool */
int srv_engine_part_get(void *user, const uint8_t key[32]);
void srv_engine_part_put(void *user, const uint8_t key[32], hob_bytes bytes, int fd);

/* engine_limits.c */
/* Notes the limits under which a cook died or ran out of time or memory. */
void srv_engine_put_limits(engine_job *job, srv_record *record);
/* True if those limits have changed or a day has passed: the failure no longer counts. Also of a result that
 * lacks the levels for which there was no memory, if the limit is higher now. */
bool srv_engine_is_doubtful(const srv_engine *engine, const srv_record *record);
/* record: the asset's newest failure; NULL: it has none. */
void srv_engine_doubt_at(asset *a, const srv_record *record);
void srv_engine_look_at_machine(srv_engine *engine);
/* Once a second: tries assets again whose failure no longer counts. */
void srv_engine_doubt(srv_engine *engine);

/* engine_jobs_list.c: what the API tells of queued and running jobs */
void srv_engine_list_jobs(srv_engine *engine, srv_control *control);
void srv_engine_tell_job(srv_engine *engine, srv_control *control);
void srv_engine_cancel_job(srv_engine *engine, srv_control *control);

#endif
