/* engine_private.h - what the files of the engine share. */
#ifndef SRV_ENGINE_PRIVATE_H
#define SRV_ENGINE_PRIVATE_H

#include "engine.h"

#include "../../core/base/array.h"
#include "../../core/recipe/recipe.h"
#include "../control/answer.h"
#include "../cook/asset.h"
#include "../cook/judge.h"
#include "../cook/publish.h"
#include "../cook/waiter.h"
#include "../graph/graph.h"
#include "../watch/watch.h"
#include "../queue/queue.h"
#include "../settings/chain.h"
#include "../upstream/upstream.h"

typedef struct srv_job engine_job;
typedef struct engine_task engine_task;
typedef struct derivation derivation;

/* One input of an asset's current record. */
typedef struct asset_input {
	uint32_t file;
	bool missing;
	hob_sha256 digest;
} asset_input;

typedef struct asset {
	uint32_t file, root;
	char *path, *full; /* owned */
	const srv_pool_importer *importer;
	srv_asset life; /* changed only by srv_engine_apply */
	bool has_last;
	uint64_t rev;
	hob_sha256 good, served, last, last_lookup, last_source;
	uint64_t last_ingredients[2]; /* fast hash of their text; zero: not known */
	uint64_t final_cook_ns;		  /* of the newest final cook; 0 = not known */
	uint64_t peak_bytes;		  /* the same */
	int64_t cooked_at_ms;
	int64_t doubt_at_ms; /* when its kept failure is tried again without a change; 0: never */
	asset_input *inputs; /* inputs of the record `last`, without the source */
	uint32_t input_count;
	hob_buf error;		   /* JSON, empty when fine */
	hob_buf why;		   /* JSON array members: the reasons of its newest job */
	int64_t audited_at_ms; /* 0 = `good` had no reproducibility check */
	int64_t audit_turn_ms; /* time of its last check, with any result */
	hob_buf audit;		   /* JSON object: what differed; empty: nothing */
	srv_state told;		   /* what the newest event or an earlier run published */
	bool view_due;		   /* listed in `due`: its view is out of date */
	bool batched;		   /* its result is published with a changeset */
	bool shown;			   /* clients saw it with outputs */
	uint32_t held;		   /* 1 + the place of its held change; 0: none */
	uint32_t move;		   /* 1 + the newest row of engine_move.c for its name; 0: none */
	uint32_t trace;		   /* 1 + its place among the files that came or went lately */
	bool move_untold;	   /* no event has named it yet */
} asset;

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

/* The lease of a job's lookup on a farm. */
typedef enum engine_claim {
	ENGINE_CLAIM_NONE,
	ENGINE_CLAIM_WAITS, /* in `unclaimed`: it waits to ask */
	ENGINE_CLAIM_ASKED, /* asked, or another machine cooks it */
	ENGINE_CLAIM_MINE	/* held, or cooked here without asking */
} engine_claim;

struct srv_job {
	srv_engine *engine;
	uint32_t asset;
	uint64_t id;
	int64_t queued_at_ms, started_at_ms;
	srv_priority priority;
	bool force, on_worker;
	bool stopped;	/* a person cancelled it */
	bool cooking;	/* from the cache miss to the end */
	bool previewed; /* its preview is published or not wanted: look-ups and cooks are final */
	bool recorded;	/* its row is written; only its memory is left */
	bool abandoned; /* the asset is gone or the engine closes: its result is dropped */
	srv_tries tries;
	uint64_t tick; /* of the engine when the worker began */
	hob_buf reasons;
	uint32_t reason_count;
	hob_arena arena;
	hob_ingredients ingredients;
	hob_sha256 source, lookup, final_lookup; /* lookup: of the profile in `ingredients` */
	srv_recipe *candidates;
	uint32_t candidate_count;
	/* the upstream */
	bool asked, asking; /* asked: only once */
	bool fetched;
	hob_arena found;	/* memory of the records that came */
	srv_recipe *wanted; /* the record whose blobs are being fetched */
	/* a farm */
	engine_claim claim;
	uint32_t claim_tries, claim_seen; /* claim_seen: `seen` at the last question */
	uint32_t seen;					  /* number of records in the newest answer */
	bool given;						  /* or to be: the lease ends with that */
	/* hashing */
	uv_work_t work;
	hash_item *hashes;
	uint32_t hash_count;
	void (*next)(engine_job *job);
	/* the cook */
	srv_outcome *outcome;
	hob_error error;
	hob_error blind; /* why srv_job_dep_file could not check a file */
	srv_recipe_output *outputs;
	uint32_t output_count;
	uint32_t met;			/* number of dependencies that were checked */
	uint32_t changed_input; /* 1 + a dependency that has changed since it was read; 0: none */
	char stage[32];
	float progress;
	engine_job *list_next; /* waiting for a worker, or for its twin */
	engine_job *twins;	   /* jobs with the same look-up; they start over when this one ends */
	engine_job *twin_of;
};

/* A digest that is not in the index yet, because the file was only just written when it was read. */
typedef struct young_file {
	uint32_t file;
	uint64_t changed, since; /* of the file then; uv_now */
} young_file;

/* State of a root that its view does not show. */
typedef struct root_state {
	const char *mode; /* from the watch; static text */
	char *note;
	char *away;				  /* why it is missing; NULL: it exists */
	bool known;				  /* of an earlier run */
	uint64_t device, inode;	  /* of the folder that was scanned last; 0 = none */
	int64_t missing_since_ms; /* as the index says */
} root_state;

typedef struct known_ingredients {
	hob_ingredients of; /* its texts are the importer's, and `extension` */
	char extension[16];
	hob_buf text;	  /* as printed */
	uint64_t hash[2]; /* of the text */
} known_ingredients;

/* The list of the newest scan. Only assets, settings and files that a cook asked for are in the graph as well, and the graph
 * is newer. */
typedef struct listed_files {
	srv_file_list *list; /* NULL before the first scan */
	uint64_t tick;		 /* time of the list, from the engine's clock */
	uint32_t mark;
} listed_files;

/* How far earlier turns came with the reports of the watch. */
typedef struct engine_intake {
	bool open, compared, back; /* back: the root was away */
	bool gathers;			   /* changes join the changeset of the root */
	uint32_t mark;			   /* of the files that the scan lists */
	size_t next;			   /* of the list, or of the paths */
	uint32_t file, files;	   /* of the graph's files at the start */
	uint32_t checked;		   /* assets, after the first scans */
} engine_intake;

struct srv_engine {
	uv_loop_t *loop;
	srv_engine_options options;
	srv_engine_callbacks callbacks;
	srv_store *store;
	srv_events *events;
	srv_views *views;
	srv_watch *watch;
	srv_pool *pool;
	srv_upstream *upstream; /* NULL: none */
	uint32_t asking;		/* jobs that wait for it */
	engine_job *unclaimed;	/* missed the cache and wait until they can ask the farm for a lease */
	uint32_t unclaimed_count, claiming;
	bool claims_filling;
	uint64_t claim_chance;
	struct promise *promises; /* promised records, in a ring; NULL: none yet */
	uint32_t promised;
	srv_graph *graph;
	srv_queue *queue;
	int *root_fds;
	hob_settings *root_settings;
	srv_settings_cache **settings_caches; /* by root */
	known_ingredients printed;			  /* the ingredients that were printed last */
	uint32_t *
		due; /* assets whose view is made just before the next publication, because most change again before */
	uint32_t due_count, due_capacity;
	struct engine_spreads *spreads; /* assets that become dirty in later turns */
	struct {
		bool open;
		uint32_t count; /* number of changes so far; the first one takes the rev */
		hob_buf all;	/* their JSON, one a line */
	} changeset;
	hob_arena scratch; /* for memory that is not needed after the call; its first block stays */
	srv_view_root *roots;
	root_state *root_states;
	struct engine_skipped *skipped; /* by root */
	bool *scanned;
	listed_files *listed; /* by root */
	engine_intake intake;
	bool pool_ready, ready, closing, filling, no_workers;
	hob_error disk_trouble;	 /* the disk was full for the newest result; under post_lock */
	hob_error index_trouble; /* why the index cannot be rebuilt; under post_lock */
	hob_error trouble;		 /* why workers cannot start; under post_lock */
	char sandbox[96]; /* from the first worker; written before sandbox_known, which other threads read */
	atomic_bool sandbox_known;
	uint64_t rev, next_job, tick;
	uint32_t scan_mark;
	asset *assets;
	uint32_t asset_count, asset_capacity;
	engine_job *meeting; /* jobs that have cooked and check what they read */
	engine_job *waiting; /* jobs that missed the cache and wait for a worker, most urgent first */
	engine_job **active; /* jobs under way, in no order */
	uint32_t active_count, active_capacity;
	young_file *young;
	uint32_t young_count, young_capacity;
	srv_waiters waiters;
	uint64_t *scan_rounds; /* finished scans, by root */
	uv_prepare_t flush;
	uv_idle_t more; /* runs when a turn left work for the next one */
	uv_async_t posted;
	uv_timer_t timer;
	uv_mutex_t post_lock;
	srv_control **post_queue;
	uint32_t post_count, post_capacity;
	srv_publish publish;
	uint64_t uses_seen; /* srv_uses_changes at the last comparison with the queue */
	srv_engine_counters counters;
	uint64_t turn_began_cpu_ns;			  /* the thread's own clock then */
	uint64_t turn_began_ns, turn_idle_ns; /* uv_hrtime and the loop's idle time when the turn began */
	srv_activity *activity;
	uv_work_t sync_work;
	bool syncing; /* or folding the log */
	struct {
		uv_work_t work;
		hob_sha256 *found;
		uint32_t count;
		bool under_way;
	} orphans;						 /* blobs that no record names */
	bool limit_told;				 /* logged: the cache is above its limit and nothing can be evicted */
	hob_error sync_error, sync_said; /* of the newest sync, and the one before; {0} when it went well */
	uint64_t synced_jobs, trim_at, heal_at;
	struct {
		uv_work_t work;
		bool under_way;
		uint64_t at_ms;				/* not before */
		uint64_t bytes, free_bytes; /* resident, and free in the allocator, after the last return of memory */
	} rest;
	uint64_t doubt_at;
	uint64_t memory_total;						 /* when srv_machine_memory was last asked */
	char machine[96];							 /* srv_machine_facts then */
	uint32_t swept;								 /* the file that srv_engine_sweep checked last */
	uint32_t handles, jobs_alive, jobs_recorded; /* jobs_recorded: of those alive */
	engine_task *tasks;							 /* the newest few, newest first */
	struct engine_thumbnails *thumbnails;
	derivation *derivations; /* running and waiting, oldest first */
	uint32_t derivation_count;
	uint64_t derive_turn;			/* of the one that started last */
	struct srv_engine_audit *audit; /* NULL: checks are off, and engine_audit.c is not called */
	bool audits_kept;				/* the store may hold results of checks */
	struct engine_batches *batches;
	struct engine_moves *moves;
	atomic_bool stop_work; /* the engine closes: other threads stop long work */
	uint32_t background;   /* work in libuv's pool that is no job; the engine waits for it before it closes */
	void (*closed)(void *user);
	void *closed_user;
};

/* engine.c */
int64_t srv_engine_now_ms(void);
uint32_t srv_engine_add_asset(srv_engine *engine, uint32_t file); /* HOB_NONE without memory */
void srv_engine_background_over(srv_engine *engine);			  /* ends work that `background` counts */
uint32_t srv_engine_asset_by_name(srv_engine *engine, hob_str full);
void srv_asset_dirty(srv_engine *engine, uint32_t id, srv_priority priority, const char *kind, hob_str path);
/* A job found `file` in another state than known. All assets that use it are checked, except `but`, the job's own asset. The
 * scan that would find the change finds nothing new. */
void srv_engine_tell_others(srv_engine *engine, uint32_t file, uint32_t but);
/* Changes the asset's state and does what the transition asks for, except publishing: that is the caller's task. */
srv_asset_todo srv_engine_apply(srv_engine *engine, uint32_t id, srv_asset_event event);
/* Its file exists: it becomes an asset and is cooked. */
void srv_asset_found(srv_engine *engine, uint32_t id, srv_priority priority);
/* The inputs that its job read have changed. */
void srv_asset_outdated(srv_engine *engine, uint32_t id, hob_str path);
void srv_asset_remove(srv_engine *engine, uint32_t id); /* its source was deleted */
void srv_engine_fill(srv_engine *engine);				/* starts jobs while there is room */
/* engine_turn.c: work on the whole tree takes several turns */
/* Whether this turn has time for one more item that can wait. done: items of this kind so far. */
bool srv_engine_has_time(const srv_engine *engine, uint32_t done);
void srv_engine_go_on(srv_engine *engine); /* asks for another turn at once */
/* Makes assets dirty because of a file; its path is the reason. kind: static text. Many assets take several turns. */
void srv_engine_dirty_all(srv_engine *engine, const uint32_t *assets, uint32_t count, srv_priority priority,
						  const char *kind, uint32_t file);
void srv_engine_step_spreads(srv_engine *engine);
bool srv_engine_spreads(const srv_engine *engine); /* some assets still have to become dirty */
struct engine_spreads *srv_engine_spreads_new(void);
void srv_engine_spreads_free(struct engine_spreads *spreads);
/* Commits rows and sends events now, and shows the views of everything that was published. */
void srv_engine_flush(srv_engine *engine);
bool srv_engine_is_behind(const srv_engine *engine); /* later turns have work left */
void srv_engine_end_turn(uv_prepare_t *prepare);
/* engine_watch.c */
bool srv_engine_start_watching(srv_engine *engine, hob_error *err);
/* The file exists with this stat data. If that is new, the assets that depend on it become dirty. */
void srv_engine_file_appeared(srv_engine *engine, uint32_t file, const srv_stat *stat, srv_priority priority);
/* engine_skipped.c */
struct engine_skipped *srv_engine_skipped_new(uint32_t roots); /* NULL without memory */
void srv_engine_skipped_free(struct engine_skipped *skipped, uint32_t roots);
void srv_engine_skip_none(srv_engine *engine, uint32_t root); /* restarts counting */
void srv_engine_skip_file(srv_engine *engine, uint32_t root, hob_str path, bool there);
/* A path whose file cannot be read. outside: a link that leaves the root. */
void srv_engine_skip_link(srv_engine *engine, uint32_t root, hob_str path, bool outside);
void srv_engine_skip_links(srv_engine *engine, uint32_t root);	 /* within `scanned` */
void srv_engine_show_skipped(srv_engine *engine, uint32_t root); /* shown in the next view */
void srv_engine_describe_skipped(srv_engine *engine); /* describes those that are due; visits every asset */
/* Its newest cook skipped it and no good version is left: it is listed as skipped, and is no asset for clients. */
bool srv_asset_is_skipped(const asset *a);
/* engine_root.c */
/* Opens each root. A missing root that an earlier run knew is replaced by an empty folder. */
bool srv_engine_open_roots(srv_engine *engine, hob_error *err);
bool srv_engine_root_is_away(const srv_engine *engine, uint32_t root);
/* Whether the open folder is still the one at the root's path. */
bool srv_engine_root_holds(const srv_engine *engine, uint32_t root);
/* If the root is gone: marks it as away and ends its jobs. */
void srv_engine_doubt_root(srv_engine *engine, uint32_t root);
/* After each scan: checks that the open folder is still the root. */
void srv_engine_check_root(srv_engine *engine, uint32_t root);
/* For a root without files: true if it is another folder than the one with the assets, for example an empty mount point. */
bool srv_engine_root_is_doubtful(const srv_engine *engine, uint32_t root);
void srv_engine_lose_empty_root(srv_engine *engine, uint32_t root);
void srv_engine_lose_root(srv_engine *engine, uint32_t root, const char *why);
/* The root was scanned. Call the first before the files are compared, and the second after that if the first returned true:
 * it was away. */
bool srv_engine_find_root(srv_engine *engine, uint32_t root);
void srv_engine_welcome_root(srv_engine *engine, uint32_t root);
void srv_engine_set_root_mode(srv_engine *engine, uint32_t root, const char *mode, const char *note);
void srv_engine_store_root(srv_engine *engine, uint32_t root);
/* engine_order.c */
/* The priority of a job for this asset. Assets that a connected client uses come before all but those that somebody waits
 * for. */
srv_priority srv_engine_priority(srv_engine *engine, const asset *a, srv_priority priority);
/* Raise a waiting job, and the twin that it waits for; never lower it. */
void srv_engine_raise(srv_engine *engine, uint32_t id, srv_priority priority);
void srv_engine_raise_job(engine_job *job, srv_priority priority);
void srv_engine_raise_used(srv_engine *engine); /* once a second: raises assets that a client began to use */
void srv_engine_wait_for_worker(engine_job *job); /* adds it to those that wait for a worker, by priority */
bool srv_engine_waits_for_worker(const engine_job *job);
void srv_engine_count_waiting(srv_engine *engine); /* updates the counters */
/* engine_batch.c: changes that belong together are published as one rev */
struct engine_batches *srv_engine_batches_new(const srv_engine_options *options); /* NULL without memory */
void srv_engine_batches_free(struct engine_batches *batches);
uv_timer_t *srv_engine_batch_timer(srv_engine *engine);
void srv_engine_on_batch_timer(uv_timer_t *timer);
/* A root may become a working copy at any time. */
void srv_engine_batch_find(srv_engine *engine, uint32_t root);
/* Around a delivery of the watch: decides whether its changes join the changeset. */
void srv_engine_gather(srv_engine *engine, uint32_t root, const hob_str *paths, size_t count);
void srv_engine_gather_scan(srv_engine *engine, uint32_t root);
void srv_engine_gathered(srv_engine *engine);
bool srv_engine_gathers(const srv_engine *engine, uint32_t root);
void srv_engine_gather_more(srv_engine *engine, uint32_t root); /* during a delivery */
/* Whether it would join if it became dirty, or was removed, now. */
bool srv_engine_joins(srv_engine *engine, uint32_t id, bool gone);
void srv_engine_join(srv_engine *engine, uint32_t id);
/* Publishes the asset's held change now, and its later changes alone: a client wants it, or it was saved again. */
void srv_engine_leave(srv_engine *engine, uint32_t id);
/* Holds a change and takes its JSON (without the rev). False: the caller publishes it now. */
bool srv_engine_hold(srv_engine *engine, asset *a, const engine_job *job, srv_state state, hob_buf *tail);
void srv_engine_step_batches(srv_engine *engine);	   /* once per turn: publishes when nothing is missing */
void srv_engine_finish_publishing(srv_engine *engine); /* continues what an earlier turn began */
void srv_engine_publish_held(srv_engine *engine);	   /* publishes now, also without the missing results */
bool srv_engine_in_batch(const srv_engine *engine, uint32_t root); /* HOB_NONE: of any */
/* engine_move.c: a source that is renamed or moved stays the same asset */
struct engine_moves *srv_engine_moves_new(void); /* NULL without memory */
void srv_engine_moves_free(struct engine_moves *moves);
bool srv_engine_load_moves(srv_engine *engine, hob_error *err); /* call it before the assets are loaded */
void srv_engine_keep_moves(srv_engine *engine);					/* once a second */
uint32_t srv_engine_move_of(const srv_engine *engine, hob_str full); /* asset.move for this name */
/* Its source is gone. The arguments describe the file as it was; bytes: NULL if not known. */
void srv_engine_move_gone(srv_engine *engine, uint32_t id, const srv_stat *stat, const hob_sha256 *bytes);
void srv_engine_move_came(srv_engine *engine, uint32_t id, const srv_stat *stat);
void srv_engine_move_read(srv_engine *engine, uint32_t id, const hob_sha256 *bytes);
void srv_engine_asset_id(const srv_engine *engine, const asset *a, char id[SRV_ASSET_ID + 1]);
hob_str srv_engine_moved_from(const srv_engine *engine, const asset *a); /* its earlier name; empty: none */
/* Prints members of its event: the id and, once, the place it moved from or to. */
void srv_engine_put_move(const srv_engine *engine, asset *a, hob_buf *out);
void srv_engine_show_former(srv_engine *engine); /* in the next view */
/* engine_expect.c */
uint64_t srv_engine_expected_ns(const srv_engine *engine,
								const asset *a);   /* expected time of its next cook; 0 = not known */
void srv_engine_note_expected(srv_engine *engine); /* once a second: updates the counters */
/* Whether the job's cook, estimated from its last one, fits into memory beside the running cooks. A single cook always fits. */
bool srv_engine_has_memory(const srv_engine *engine, const engine_job *job);
/* engine_blame.c */
/* If another asset caused the failure: names it in the error. False: none did. */
bool srv_engine_blame(srv_engine *engine, asset *a);
void srv_engine_blame_for(srv_engine *engine,
						  const asset *culprit); /* the same in the errors of assets that failed earlier */
/* engine_blobs.c */
void srv_engine_heal_blobs(srv_engine *engine); /* once a second */
/* engine_heal.c */
/* Rebuilds a damaged index. True if it did: then the failed operation can be repeated. Do not call it while rows are being
 * read. */
bool srv_engine_heal_index(srv_engine *engine);
bool srv_engine_serves(srv_engine *engine, const asset *a); /* its last good version, with all blobs */
bool srv_engine_has_lost_recipe(srv_engine *engine,
								const asset *a);	/* it had a good cook whose record is lost */
void srv_engine_look_for_index(srv_engine *engine); /* once a second: checks that nobody deleted it */
void srv_engine_sweep(srv_engine *engine, uint32_t period_ms);
/* engine_files.c */
void srv_engine_take_list(srv_engine *engine, uint32_t root, uint32_t mark); /* within `scanned` */
/* The file's number in the graph; a listed file is added. HOB_NONE: unknown file. */
uint32_t srv_engine_find_file(srv_engine *engine, uint32_t root, hob_str path);
/* The same, but unknown files are added too. HOB_NONE without memory. */
uint32_t srv_engine_file(srv_engine *engine, uint32_t root, hob_str path);
void srv_engine_find_below(srv_engine *engine, uint32_t root, hob_str folder); /* `folder` ends in '/' */
/* engine_inputs.c: settings, digests and dependencies of an asset */
bool srv_asset_ingredients(srv_engine *engine, asset *a, hob_arena *arena, hob_ingredients *out,
						   hob_error *err);
/* As JSON, valid until the next call. */
hob_str srv_engine_ingredients_text(srv_engine *engine, const hob_ingredients *of);
/* True if the record `last` fits the current inputs and settings. False if that is not known. */
bool srv_asset_is_current(srv_engine *engine, asset *a);
/* Calls `next` once all existing files of the list have a digest; at once if they have. */
void srv_job_digests(engine_job *job, const uint32_t *files, uint32_t count, void (*next)(engine_job *job));
/* Ends the job without a result, because an input is half-written. The end of the save, or the clock, starts another job. */
void srv_engine_wait_for_writer(engine_job *job);
bool srv_engine_is_open_for_writing(srv_engine *engine, uint32_t root, hob_str path);
/* The graph's number of a file, named relative to the source's folder. HOB_NONE: outside the root, no memory, or job->blind
 * is set. */
uint32_t srv_job_dep_file(engine_job *job, hob_str relative);
uint32_t srv_job_file(engine_job *job, hob_str path); /* the same for a path below the root */
/* Writes the digest to the index, where it is valid while the stat data is the same. If the file was only just written, it
 * is stored later, once the file has not changed for a while. */
void srv_engine_store_file(srv_engine *engine, uint32_t file, int64_t read_at_ms);
void srv_engine_keep_young(srv_engine *engine); /* once a second: stores those of unchanged files */
/* engine_cook.c: a job from its start to its worker */
bool srv_job_begin(srv_engine *engine, uint32_t id,
				   srv_priority priority); /* false: no memory; it stays queued */
void srv_job_lookup(
	engine_job *job); /* the source has its digest: looks for a record. Also starts a job over */
/* Ends it with a failure that is kept under no key. */
void srv_job_fail(engine_job *job, const hob_error *error);
void srv_job_remember_inputs(engine_job *job, const srv_recipe *recipe);
/* Checks the files that the cook read and adds them to the graph, over several turns; then calls job->next. */
void srv_job_meet_inputs(engine_job *job);
void srv_engine_step_meetings(srv_engine *engine); /* continues what an earlier turn left */
void srv_job_end(engine_job *job);				   /* with or without a result; its twins start over */
/* After a preview: its twins find it, and the job goes on to the final cook, unless its inputs are history by now. */
void srv_job_go_on(engine_job *job);
void srv_job_expect_news(
	engine_job *job); /* its files are newer than its preview: whoever looks wants another */
void srv_job_free(engine_job *job);
void srv_engine_feed_workers(srv_engine *engine);
/* Makes the digests of all inputs of the job's candidates, then calls `next`. False: the job has failed. */
bool srv_job_hash_inputs(engine_job *job, void (*next)(engine_job *job));
bool srv_job_inputs_match(engine_job *job, const srv_recipe *recipe); /* by the digests that are known now */
bool srv_job_join_twin(engine_job *job); /* a copy has the same cook under way: waits for that */
void srv_job_missed(engine_job *job);	 /* no record fits: looks for a preview, or cooks */
void srv_job_take_recipe(engine_job *job, const srv_recipe *recipe);
/* engine_upstream.c: asked after the own cache, before a cook. The first two want engine->upstream. */
bool srv_engine_ask_upstream(engine_job *job);							  /* false: it is not asked */
void srv_engine_give_upstream(engine_job *job, const srv_recipe *recipe); /* sends what was cooked here */
void srv_engine_put_upstream(srv_engine *engine, hob_buf *out);			  /* JSON for stats; any thread */
/* engine_farm.c: leases, between the cache's miss and the worker. srv_engine_claim wants a farm. */
bool srv_engine_claim(engine_job *job);		  /* true: the job waits for its turn, or for another machine */
bool srv_engine_hurry_claim(engine_job *job); /* the job was raised; false: it waits for no claim */
void srv_engine_claim_more(srv_engine *engine);
/* Jobs that wait because the farm is away and another machine cooks them. */
uint32_t srv_engine_left_to_others(const srv_engine *engine);
void srv_engine_end_claim(engine_job *job); /* before it is freed */
void srv_engine_close_claims(srv_engine *engine);
/* engine_finish.c: from the worker's answer to what is published */
/* engine_parts.c: callbacks of the pool */
int srv_engine_part_get(void *user, const uint8_t key[32]);
void srv_engine_part_put(void *user, const uint8_t key[32], hob_bytes bytes, int fd);
void srv_engine_pool_done(void *user, void *job, srv_outcome *outcome);
/* engine_limits.c */
/* Notes the limits under which a cook died or ran out of time or memory. */
void srv_engine_put_limits(engine_job *job, srv_recipe *recipe);
/* True if those limits have changed or a day has passed: the failure no longer counts. */
bool srv_engine_is_doubtful(const srv_engine *engine, const srv_recipe *recipe);
void srv_engine_doubt_at(asset *a,
						 const srv_recipe *recipe); /* the asset's newest failure; NULL: it has none */
void srv_engine_look_at_machine(srv_engine *engine);
/* Once a second: tries assets again whose failure no longer counts. */
void srv_engine_doubt(srv_engine *engine);
/* engine_publish.c */
typedef struct engine_change {
	asset *a;
	srv_state state;		  /* as in its JSON */
	hob_str tail;			  /* its JSON without the rev */
	const srv_recipe *recipe; /* the record `good`, or NULL if the caller does not have it */
} engine_change;
/* Publishes the changes as one rev; rows and views come before the events. */
void srv_publish_changes(srv_engine *engine, const engine_change *changes, uint32_t count);
/* The same over several turns. Nothing is visible before the end. Other changes of these turns join the rev. */
void srv_publish_begin(srv_engine *engine);
void srv_publish_change(srv_engine *engine, const engine_change *change);
void srv_publish_end(srv_engine *engine);
void srv_publish_good(engine_job *job, const srv_recipe *recipe, bool hit);
void srv_publish_bad(engine_job *job, const srv_recipe *recipe, const hob_error *error);
/* Cancelled by a person. job: NULL for a queued asset; its `next` is then passed on. */
void srv_publish_cancelled(srv_engine *engine, asset *a, engine_job *job, srv_asset_next *next);
void srv_publish_blamed(srv_engine *engine, asset *a); /* its error now names another asset */
void srv_publish_same(
	engine_job *job,
	const srv_recipe *recipe); /* the record is already the current one: only view and job event */
void srv_publish_removed(srv_engine *engine, asset *a);
/* Publishes assets of which only the state changed. */
void srv_publish_states(srv_engine *engine, const uint32_t *ids, uint32_t count, const char *kind);
void srv_publish_view(srv_engine *engine, asset *a);
void srv_publish_view_later(srv_engine *engine, uint32_t id); /* at the end of this turn, or of a later one */
void srv_engine_show(srv_engine *engine);					  /* publishes the views now */
void srv_engine_show_some(srv_engine *engine); /* as many as this turn has time for, newest first */
/* Makes due views while this turn has time. True: all are made. */
bool srv_engine_make_views(srv_engine *engine);
/* The same with the record `good`; an empty record if there is none. */
void srv_publish_view_of(srv_engine *engine, asset *a, const srv_recipe *recipe);
void srv_engine_store_asset(srv_engine *engine, asset *a); /* writes its row */
void srv_engine_note_activity(srv_engine *engine, const srv_job_row *row);
void srv_publish_job(engine_job *job, const char *state);
/* state "failed" without an error: the failure comes from the cache, and the asset has its text. */
void srv_record_job(engine_job *job, const char *result, const hob_sha256 *recipe, const hob_error *error);
/* The text of /readyz about the disk; NULL: there is room. */
void srv_engine_note_disk(srv_engine *engine, const hob_error *why);
/* engine_error.c */
const char *srv_engine_hint(hob_err_code code); /* the hint for such an error; may be empty */
void srv_error_json(const hob_error *error, const char *stage, hob_buf *out);
/* Copies an error and adds the asset's `path`, unless the text already begins with another file's name or, for a merge,
 * names the part. Kept errors name no file, because assets with the same bytes share them. */
void srv_error_of_asset(hob_str json, hob_str path, hob_buf *out);
/* engine_keep.c */
void srv_engine_keep_store(srv_engine *engine);			/* once a second */
uint64_t srv_engine_trim(srv_engine *engine, bool dry); /* bytes that were freed, or would be */
void srv_engine_fold_log(srv_engine *engine);			/* in libuv's pool if it is long */
/* engine_thumbnail.c */
struct engine_thumbnails *srv_engine_thumbnails_new(void);
void srv_engine_thumbnail(srv_engine *engine, srv_control *control);
void srv_engine_draw_thumbnails(srv_engine *engine); /* draws one when no cook needs the core */

/* engine_derive.c */
void srv_engine_derive(srv_engine *engine, srv_control *control);
/* Largest input of one derived output. */
uint64_t srv_engine_derived_limit(const srv_engine *engine);
/* Drops jobs whose clients have all left. */
void srv_engine_derive_less(srv_engine *engine);

/* engine_audit.c: all but the last two need engine->audit */
struct srv_engine_audit *srv_engine_audit_new(void);
void srv_engine_audit(srv_engine *engine);			/* once a second: starts a check after enough idle time */
void srv_engine_go_on_auditing(srv_engine *engine); /* a worker is idle: continues */
void srv_engine_end_audit(srv_engine *engine);		/* there is other work: stops */
bool srv_engine_is_audit(const srv_engine *engine, const void *job);
/* True if the outcome belongs to a check; it is then taken. */
bool srv_engine_take_audit(srv_engine *engine, const void *job, srv_outcome *outcome);
/* The asset has another record. fresh: it was just cooked, so earlier checks do not count. */
void srv_engine_recall_audit(srv_engine *engine, asset *a, bool fresh);
void srv_engine_put_audit(const asset *a, hob_buf *out); /* JSON; empty without a check */

/* engine_control.c */
/* NULL: the request was answered with 404. */
asset *srv_engine_asked_asset(srv_engine *engine, srv_control *control);
/* Its root is away: answers with 409. */
void srv_engine_answer_missing(const srv_engine *engine, srv_control *control, const asset *a);
/* Copies a blob of at most `most` bytes (else LIMIT) into pages that the caller unmaps. A mapped file that is truncated
 * would kill the daemon. Any thread. */
hob_bytes srv_engine_read_blob(srv_store *store, const hob_sha256 *digest, uint64_t most, hob_error *err);
/* engine_jobs.c */
void srv_engine_list_jobs(srv_engine *engine, srv_control *control);
void srv_engine_tell_job(srv_engine *engine, srv_control *control);
void srv_engine_cancel_job(srv_engine *engine, srv_control *control);
/* engine_action.c */
void srv_engine_tell_action(srv_engine *engine, srv_control *control);
void srv_engine_tell_actions(srv_engine *engine, srv_control *control);
void srv_engine_take_action(srv_engine *engine, srv_control *control);
/* engine_chain.c: passes questions of other caches on to the upstream */
/* Asks for `lookups`, appends the records to `body`, and answers. Takes ownership of *body. */
void srv_engine_pass_on(srv_engine *engine, srv_control *control, const hob_sha256 *lookups, uint32_t count,
						hob_buf *body);
void srv_engine_pull(srv_engine *engine, srv_control *control);
void srv_engine_forget_promises(srv_engine *engine);
/* engine_bundle.c */
void srv_engine_bundle(srv_engine *engine, srv_control *control);
/* engine_task.c: housekeeping on request; listed with the jobs */
void srv_engine_start_task(srv_engine *engine, srv_control *control);
bool srv_engine_put_task(srv_engine *engine, uint64_t id, hob_buf *out); /* JSON; false: no such task */
void srv_engine_put_tasks(srv_engine *engine, bool finished,
						  hob_buf *out);		/* items of a list, newest first */
void srv_engine_stop_tasks(srv_engine *engine); /* ends them soon */
void srv_engine_free_tasks(srv_engine *engine);
void srv_engine_on_posted(uv_async_t *async);
void srv_engine_answer_waiters(srv_engine *engine);
/* The watch passed its mark: see srv_watch_mark. */
void srv_engine_pass_mark(srv_engine *engine, uint32_t root, uint64_t number, bool seen);
void srv_engine_scan_for_waiters(srv_engine *engine,
								 uint32_t root); /* after each scan: scans again if a waiter needs it */
void srv_engine_post(void *user, srv_control *control);
/* Loads files, records and asset states of earlier runs. */
bool srv_engine_load(srv_engine *engine, hob_error *err);

#endif
