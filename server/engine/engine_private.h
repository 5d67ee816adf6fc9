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

/* One input of the recipe that is current for an asset. */
typedef struct asset_input {
	uint32_t file;
	bool missing;
	hob_sha256 digest;
} asset_input;

typedef struct asset {
	uint32_t file, root;
	char *path, *full; /* owned */
	const srv_pool_importer *importer;
	srv_asset life; /* changed by srv_engine_apply alone */
	bool has_last;
	uint64_t rev;
	hob_sha256 good, served, last, last_lookup, last_source;
	uint64_t last_ingredients[2]; /* fast hash of how an earlier run printed them; zero: not known */
	uint64_t final_cook_ns;		  /* of the newest final cook; 0 = not known */
	uint64_t peak_bytes;		  /* the same */
	int64_t cooked_at_ms;
	int64_t
		doubt_at_ms; /* when its kept failure is tried again though nothing changed; 0: it has none such */
	asset_input *inputs; /* of recipe `last`, without the source */
	uint32_t input_count;
	hob_buf error;		   /* JSON, empty when fine */
	hob_buf why;		   /* JSON array members: what its newest job was for */
	int64_t audited_at_ms; /* 0 = `good` was not cooked again to compare */
	int64_t audit_turn_ms; /* when it was last checked, whatever the result */
	hob_buf audit;		   /* JSON object: what was otherwise then; empty = nothing */
	srv_state told;		   /* what the newest event said, or an earlier run published */
	bool view_due;		   /* listed in `due`: its view is behind */
	bool batched;		   /* its outcome is published with others' */
	bool shown;			   /* clients have seen it with outputs */
	uint32_t held;		   /* 1 + its place among what is held; 0: nothing is */
	uint32_t move;		   /* 1 + the newest row of engine_move.c about its name; 0: none */
	uint32_t trace;		   /* 1 + its place among what has come and gone lately */
	bool move_untold;	   /* no event named it yet */
} asset;

typedef struct hash_item {
	uint32_t file;
	char *path;
	int root_fd;
	uint64_t most;	  /* bytes; a larger one is not read */
	uint64_t changed; /* of the file when its hashing began */
	int64_t read_at_ms;
	int why; /* errno when it could not be read */
	bool found;
	bool unfinished; /* a save of it is under way */
	bool too_large;	 /* for any cook: not hashed */
	srv_stat stat;
	hob_sha256 digest;
} hash_item;

/* The lease of a job's lookup on a farm. */
typedef enum engine_claim {
	ENGINE_CLAIM_NONE,
	ENGINE_CLAIM_WAITS, /* in `unclaimed` */
	ENGINE_CLAIM_ASKED, /* or another machine cooks it */
	ENGINE_CLAIM_MINE	/* or it is cooked here whatever the others do */
} engine_claim;

struct srv_job {
	srv_engine *engine;
	uint32_t asset;
	uint64_t id;
	int64_t queued_at_ms, started_at_ms;
	srv_priority priority;
	bool force, on_worker;
	bool stopped;	/* somebody asked to end it */
	bool cooking;	/* from the cache's miss to the end */
	bool previewed; /* its preview is published, or none is wanted: lookups and cooks are final */
	bool recorded;	/* its row is written: it is over, and only its memory is left */
	bool abandoned; /* the asset is gone or the engine closes: the result is dropped */
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
	bool asked, asking; /* asked: once is enough */
	bool fetched;
	hob_arena found;	/* of records that came */
	srv_recipe *wanted; /* the one whose blobs are being fetched */
	/* a farm */
	engine_claim claim;
	uint32_t claim_tries, claim_seen; /* seen: `seen`, when it was last asked for */
	uint32_t seen;					  /* records that the newest question brought */
	bool given;						  /* or to be: the lease ends with that */
	/* hashing */
	uv_work_t work;
	hash_item *hashes;
	uint32_t hash_count;
	void (*next)(engine_job *job);
	/* the cook */
	srv_outcome *outcome;
	hob_error error;
	hob_error blind; /* why srv_job_dep_file could not tell whether a file is there */
	srv_recipe_output *outputs;
	uint32_t output_count;
	uint32_t met;			/* dependencies of the result that were looked at */
	uint32_t changed_input; /* 1 + one of their files that is not as it was read; 0: none */
	char stage[32];
	float progress;
	engine_job *list_next; /* waiting for a worker, or for its twin */
	engine_job *twins;	   /* jobs with the same lookup, which start over when this one has ended */
	engine_job *twin_of;
};

/* A digest that a restart may not believe yet, because the file had just been written when it was read. */
typedef struct young_file {
	uint32_t file;
	uint64_t changed, since; /* of the file then; uv_now */
} young_file;

/* What the view of a root does not hold. */
typedef struct root_state {
	const char *mode; /* as the watch says; static text */
	char *note;
	char *away;				  /* why it is missing; NULL: it is there */
	bool known;				  /* of an earlier run */
	uint64_t device, inode;	  /* of the folder that was listed last; 0 = none was */
	int64_t missing_since_ms; /* as the index says */
} root_state;

typedef struct known_ingredients {
	hob_ingredients of; /* its texts are the importer's, and `extension` */
	char extension[16];
	hob_buf text;	  /* as printed */
	uint64_t hash[2]; /* of the text */
} known_ingredients;

/* What the newest scan listed. Only files that somebody asked for, assets and settings are in the graph too, which then knows
 * better. */
typedef struct listed_files {
	srv_file_list *list; /* NULL before the first scan */
	uint64_t tick;		 /* of the engine when it came */
	uint32_t mark;
} listed_files;

/* How far the turns so far have got with what the watch reports. */
typedef struct engine_intake {
	bool open, compared, back; /* back: the root was away */
	bool gathers;			   /* what changes joins the changeset of the root */
	uint32_t mark;			   /* of the files that the scan lists */
	size_t next;			   /* of the list, or of the paths */
	uint32_t file, files;	   /* of the graph, as large as it was in the beginning */
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
	engine_job *unclaimed;	/* have missed the cache, and wait for their turn to be claimed on a farm */
	uint32_t unclaimed_count, claiming;
	bool claims_filling;
	uint64_t claim_chance;
	struct promise *promises; /* records that were passed on, in a ring; NULL: none yet */
	uint32_t promised;
	srv_graph *graph;
	srv_queue *queue;
	int *root_fds;
	hob_settings *root_settings;
	srv_settings_cache **settings_caches; /* by root */
	known_ingredients printed;			  /* the newest that were printed */
	uint32_t *
		due; /* assets whose view is made before the next one is published: most become another thing by then */
	uint32_t due_count, due_capacity;
	struct engine_spreads *spreads; /* assets that become dirty in the turns to come */
	struct {
		bool open;
		uint32_t count; /* changes so far; the first one takes the rev */
		hob_buf all;	/* their JSON, one a line */
	} changeset;
	hob_arena scratch; /* of what returns before the next event; its first block stays */
	srv_view_root *roots;
	root_state *root_states;
	struct engine_skipped *skipped; /* by root */
	bool *scanned;
	listed_files *listed; /* by root */
	engine_intake intake;
	bool pool_ready, ready, closing, filling, no_workers;
	hob_error disk_trouble;	 /* the newest result could not be kept for want of room; the same */
	hob_error index_trouble; /* why the index cannot be rebuilt; the same */
	hob_error trouble;		 /* why workers cannot be started; other threads read it under post_lock */
	char sandbox[96]; /* what the first worker said; written before sandbox_known, which other threads ask */
	atomic_bool sandbox_known;
	uint64_t rev, next_job, tick;
	uint32_t scan_mark;
	asset *assets;
	uint32_t asset_count, asset_capacity;
	engine_job *meeting; /* have cooked, and look at what they read */
	engine_job *waiting; /* have missed the cache and wait for a worker, most urgent first */
	engine_job **active; /* jobs under way, in no order */
	uint32_t active_count, active_capacity;
	young_file *young;
	uint32_t young_count, young_capacity;
	srv_waiters waiters;
	uint64_t *scan_rounds; /* scans finished, by root */
	uv_prepare_t flush;
	uv_idle_t more; /* runs when a turn left something to the next */
	uv_async_t posted;
	uv_timer_t timer;
	uv_mutex_t post_lock;
	srv_control **post_queue;
	uint32_t post_count, post_capacity;
	srv_publish publish;
	uint64_t uses_seen; /* srv_uses_changes when what waits was last held against it */
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
	} orphans;						 /* blobs that nothing names */
	bool limit_told;				 /* that the cache is over its limit and nothing can go */
	hob_error sync_error, sync_said; /* of the newest sync, and the one before; {0} when it went well */
	uint64_t synced_jobs, trim_at, heal_at;
	struct {
		uv_work_t work;
		bool under_way;
		uint64_t at_ms;				/* not before */
		uint64_t bytes, free_bytes; /* resident, and the allocator's, when memory was given back last */
	} rest;
	uint64_t doubt_at;
	uint64_t memory_total;						 /* of srv_machine_memory, when it was looked last */
	char machine[96];							 /* srv_machine_facts then */
	uint32_t swept;								 /* the file that srv_engine_sweep looked at last */
	uint32_t handles, jobs_alive, jobs_recorded; /* jobs_recorded: of those alive */
	engine_task *tasks;							 /* the newest few, newest first */
	struct engine_thumbnails *thumbnails;
	derivation *derivations; /* under way and waiting, the oldest first */
	uint32_t derivation_count;
	uint64_t derive_turn;			/* of the one that was begun last */
	struct srv_engine_audit *audit; /* NULL: audits are off, and nothing of engine_audit.c is called */
	bool audits_kept;				/* the store may hold results of some */
	struct engine_batches *batches;
	struct engine_moves *moves;
	atomic_bool stop_work; /* what other threads do for a while comes to nothing: the engine closes */
	uint32_t background;   /* work in libuv's pool that is no job: the engine stays until it is done */
	void (*closed)(void *user);
	void *closed_user;
};

/* engine.c */
int64_t srv_engine_now_ms(void);
uint32_t srv_engine_add_asset(srv_engine *engine, uint32_t file); /* HOB_NONE without memory */
void srv_engine_background_over(srv_engine *engine); /* one that `background` counted has ended */
uint32_t srv_engine_asset_by_name(srv_engine *engine, hob_str full);
void srv_asset_dirty(srv_engine *engine, uint32_t id, srv_priority priority, const char *kind, hob_str path);
/* A job met `file` in another state than was known: everybody who uses it looks again, `but` the job's own asset.
 * The scan that would tell them finds nothing new. */
void srv_engine_tell_others(srv_engine *engine, uint32_t file, uint32_t but);
/* Changes the asset's state and does what that asks for, but publishing, which is the caller's when it is asked for. */
srv_asset_todo srv_engine_apply(srv_engine *engine, uint32_t id, srv_asset_event event);
/* There is a file for it, new or not: it becomes an asset, and is cooked. */
void srv_asset_found(srv_engine *engine, uint32_t id, srv_priority priority);
/* What its job read is history. */
void srv_asset_outdated(srv_engine *engine, uint32_t id, hob_str path);
void srv_asset_remove(srv_engine *engine, uint32_t id); /* its source was deleted */
void srv_engine_fill(srv_engine *engine);				/* starts as many jobs as there is room for */
/* engine_turn.c: what reaches the whole tree takes several turns */
/* Whether this turn takes up one more of what can wait; `done`: of this kind so far. */
bool srv_engine_has_time(const srv_engine *engine, uint32_t done);
void srv_engine_go_on(srv_engine *engine); /* another turn follows at once */
/* Because of a file, whose path is the reason; `kind` is static text. In later turns when they are many. */
void srv_engine_dirty_all(srv_engine *engine, const uint32_t *assets, uint32_t count, srv_priority priority,
						  const char *kind, uint32_t file);
void srv_engine_step_spreads(srv_engine *engine);
bool srv_engine_spreads(const srv_engine *engine); /* some are still to become dirty */
struct engine_spreads *srv_engine_spreads_new(void);
void srv_engine_spreads_free(struct engine_spreads *spreads);
/* Commits rows and sends events now, and shows the views of everything that was published. */
void srv_engine_flush(srv_engine *engine);
bool srv_engine_is_behind(const srv_engine *engine); /* something is left to later turns */
void srv_engine_end_turn(uv_prepare_t *prepare);
/* engine_watch.c */
bool srv_engine_start_watching(srv_engine *engine, hob_error *err);
/* The file is there, with this stat data; assets that depend on it become dirty if that is news. */
void srv_engine_file_appeared(srv_engine *engine, uint32_t file, const srv_stat *stat, srv_priority priority);
/* engine_skipped.c */
struct engine_skipped *srv_engine_skipped_new(uint32_t roots); /* NULL without memory */
void srv_engine_skipped_free(struct engine_skipped *skipped, uint32_t roots);
void srv_engine_skip_none(srv_engine *engine, uint32_t root); /* restarts counting */
void srv_engine_skip_file(srv_engine *engine, uint32_t root, hob_str path, bool there);
/* A path whose file cannot be reached: `outside` when it is a link that leads out. */
void srv_engine_skip_link(srv_engine *engine, uint32_t root, hob_str path, bool outside);
void srv_engine_skip_links(srv_engine *engine, uint32_t root);	 /* within `scanned` */
void srv_engine_show_skipped(srv_engine *engine, uint32_t root); /* with the next view */
void srv_engine_describe_skipped(srv_engine *engine); /* those that are due, which looks at every asset */
/* Its newest cook said that it is to be skipped, and no good version is left: it is listed with those, and is no asset for
 * those who look. */
bool srv_asset_is_skipped(const asset *a);
/* engine_root.c */
/* Opens each, or a folder without anything in its place when it is missing and known of an earlier run. */
bool srv_engine_open_roots(srv_engine *engine, hob_error *err);
bool srv_engine_root_is_away(const srv_engine *engine, uint32_t root);
/* Whether the folder that is open is the one that is there. */
bool srv_engine_root_holds(const srv_engine *engine, uint32_t root);
void srv_engine_doubt_root(srv_engine *engine, uint32_t root); /* loses it, and all its jobs, if it is gone */
void srv_engine_check_root(srv_engine *engine,
						   uint32_t root); /* after each scan: is it still the folder that is open? */
/* Of one without a file: it is another folder than the one that had the assets, as below a mount that is gone. */
bool srv_engine_root_is_doubtful(const srv_engine *engine, uint32_t root);
void srv_engine_lose_empty_root(srv_engine *engine, uint32_t root);
void srv_engine_lose_root(srv_engine *engine, uint32_t root, const char *why);
/* It was listed: before its files are compared, and, if it was away (true), after that. */
bool srv_engine_find_root(srv_engine *engine, uint32_t root);
void srv_engine_welcome_root(srv_engine *engine, uint32_t root);
void srv_engine_set_root_mode(srv_engine *engine, uint32_t root, const char *mode, const char *note);
void srv_engine_store_root(srv_engine *engine, uint32_t root);
/* engine_order.c */
/* The priority of what is queued for this asset: what a connected client uses is above all but what somebody waits for. */
srv_priority srv_engine_priority(srv_engine *engine, const asset *a, srv_priority priority);
void srv_engine_raise(srv_engine *engine, uint32_t id,
					  srv_priority priority); /* while it waits, if that is more */
/* With what it waits for: the same cook of a copy. */
void srv_engine_raise_job(engine_job *job, srv_priority priority);
void srv_engine_raise_used(srv_engine *engine);	  /* once a second: what came to be used meanwhile */
void srv_engine_wait_for_worker(engine_job *job); /* in the order of priority */
bool srv_engine_waits_for_worker(const engine_job *job);
void srv_engine_count_waiting(srv_engine *engine); /* for everybody to read */
/* engine_batch.c: what belongs together is published as one rev */
struct engine_batches *srv_engine_batches_new(const srv_engine_options *options); /* NULL without memory */
void srv_engine_batches_free(struct engine_batches *batches);
uv_timer_t *srv_engine_batch_timer(srv_engine *engine);
void srv_engine_on_batch_timer(uv_timer_t *timer);
void srv_engine_batch_find(srv_engine *engine,
						   uint32_t root); /* a root may become a working copy at any time */
/* Around a delivery of the watch: whether what it makes dirty or removes joins. */
void srv_engine_gather(srv_engine *engine, uint32_t root, const hob_str *paths, size_t count);
void srv_engine_gather_scan(srv_engine *engine, uint32_t root);
void srv_engine_gathered(srv_engine *engine);
bool srv_engine_gathers(const srv_engine *engine, uint32_t root);
void srv_engine_gather_more(srv_engine *engine, uint32_t root); /* of a delivery that is not over */
bool srv_engine_joins(srv_engine *engine, uint32_t id,
					  bool gone); /* now, if it becomes dirty or is removed */
void srv_engine_join(srv_engine *engine, uint32_t id);
/* From now on it is published by itself, and what is held of it now: somebody wants it, or it was saved again. */
void srv_engine_leave(srv_engine *engine, uint32_t id);
/* Takes the change's JSON from behind its rev and leaves an empty buffer. False: it is to be published now. */
bool srv_engine_hold(srv_engine *engine, asset *a, const engine_job *job, srv_state state, hob_buf *tail);
void srv_engine_step_batches(srv_engine *engine);	   /* once per turn: publishes when nothing is missing */
void srv_engine_finish_publishing(srv_engine *engine); /* what an earlier turn began */
void srv_engine_publish_held(srv_engine *engine);	   /* now, whatever is missing */
bool srv_engine_in_batch(const srv_engine *engine, uint32_t root); /* HOB_NONE: of any */
/* engine_move.c: a source that is renamed or moved stays the same asset */
struct engine_moves *srv_engine_moves_new(void); /* NULL without memory */
void srv_engine_moves_free(struct engine_moves *moves);
bool srv_engine_load_moves(srv_engine *engine, hob_error *err);		 /* before the assets */
void srv_engine_keep_moves(srv_engine *engine);						 /* once a second */
uint32_t srv_engine_move_of(const srv_engine *engine, hob_str full); /* asset.move of one with this name */
/* Its source is gone: as it was; bytes: NULL if not known. */
void srv_engine_move_gone(srv_engine *engine, uint32_t id, const srv_stat *stat, const hob_sha256 *bytes);
void srv_engine_move_came(srv_engine *engine, uint32_t id, const srv_stat *stat);
void srv_engine_move_read(srv_engine *engine, uint32_t id, const hob_sha256 *bytes);
void srv_engine_asset_id(const srv_engine *engine, const asset *a, char id[SRV_ASSET_ID + 1]);
hob_str srv_engine_moved_from(const srv_engine *engine, const asset *a); /* its name before; empty: none */
/* Members of its event: the id and, once, where it moved from or to. */
void srv_engine_put_move(const srv_engine *engine, asset *a, hob_buf *out);
void srv_engine_show_former(srv_engine *engine); /* in the next view */
/* engine_expect.c */
uint64_t srv_engine_expected_ns(const srv_engine *engine,
								const asset *a);   /* of its next cook; 0 = nothing is known */
void srv_engine_note_expected(srv_engine *engine); /* once a second, for everybody to read */
/* Whether the job's cook, as the one before it, fits into the machine's memory beside those that run. One alone always does. */
bool srv_engine_has_memory(const srv_engine *engine, const engine_job *job);
/* engine_blame.c */
/* Names the asset to mend in the error of one that failed with it; false: there is none. */
bool srv_engine_blame(srv_engine *engine, asset *a);
void srv_engine_blame_for(srv_engine *engine,
						  const asset *culprit); /* in the errors of those that failed before it did */
/* engine_blobs.c */
void srv_engine_heal_blobs(srv_engine *engine); /* once a second */
/* engine_heal.c */
/* Rebuilds a damaged index. True when it did, and what failed because of the damage may be tried again. Not
 * while rows are being read. */
bool srv_engine_heal_index(srv_engine *engine);
bool srv_engine_serves(srv_engine *engine, const asset *a); /* its last good version, whole */
bool srv_engine_has_lost_recipe(srv_engine *engine,
								const asset *a);	/* it was cooked well, and the record is gone */
void srv_engine_look_for_index(srv_engine *engine); /* once a second: somebody may have removed it */
void srv_engine_sweep(srv_engine *engine, uint32_t period_ms);
/* engine_files.c */
void srv_engine_take_list(srv_engine *engine, uint32_t root, uint32_t mark); /* within `scanned` */
/* The file's number in the graph, where it comes to when it is listed; HOB_NONE: nothing is known of it. */
uint32_t srv_engine_find_file(srv_engine *engine, uint32_t root, hob_str path);
/* The same; what nobody knows of gets a number as well. HOB_NONE without memory. */
uint32_t srv_engine_file(srv_engine *engine, uint32_t root, hob_str path);
void srv_engine_find_below(srv_engine *engine, uint32_t root, hob_str folder); /* `folder` ends in '/' */
/* engine_inputs.c: settings, digests and dependencies of an asset */
bool srv_asset_ingredients(srv_engine *engine, asset *a, hob_arena *arena, hob_ingredients *out,
						   hob_error *err);
/* As JSON, until the next call. */
hob_str srv_engine_ingredients_text(srv_engine *engine, const hob_ingredients *of);
/* True when the recipe `last` is what the inputs on disk and the settings ask for now; false when that is not known. */
bool srv_asset_is_current(srv_engine *engine, asset *a);
/* Calls `next` when every file of the list that exists has its digest: at once if they have. */
void srv_job_digests(engine_job *job, const uint32_t *files, uint32_t count, void (*next)(engine_job *job));
/* Ends the job without a verdict: half a save is nobody's version. The event of its end, or the clock, asks again. */
void srv_engine_wait_for_writer(engine_job *job);
bool srv_engine_is_open_for_writing(srv_engine *engine, uint32_t root, hob_str path);
/* The graph's number of a name relative to the source's folder; HOB_NONE: outside the root, no memory, or job->blind. */
uint32_t srv_job_dep_file(engine_job *job, hob_str relative);
uint32_t srv_job_file(engine_job *job, hob_str path); /* the same, of a path below the root */
/* Writes the digest to the index, so that a restart believes it while the stat data stays: at once, or when the file has
 * stood still for a while if it was as good as new when it was read. */
void srv_engine_store_file(srv_engine *engine, uint32_t file, int64_t read_at_ms);
void srv_engine_keep_young(srv_engine *engine); /* once a second: those that have stood still */
/* engine_cook.c: a job from its begin to its worker */
bool srv_job_begin(srv_engine *engine, uint32_t id,
				   srv_priority priority); /* false: no memory; it stays queued */
void srv_job_lookup(
	engine_job *job); /* the source has its digest: is there a recipe? Starts a job over, too */
void srv_job_fail(engine_job *job, const hob_error *error); /* ends it; kept under no key */
void srv_job_remember_inputs(engine_job *job, const srv_recipe *recipe);
/* Looks at the files that the cook read and has them watched, in as many turns as it takes; then job->next. */
void srv_job_meet_inputs(engine_job *job);
void srv_engine_step_meetings(srv_engine *engine); /* those that an earlier turn left */
void srv_job_end(engine_job *job);				   /* with or without a result; its twins start over */
/* After a preview: its twins find it, and the job goes on to the final cook, unless its inputs are history by now. */
void srv_job_go_on(engine_job *job);
void srv_job_expect_news(
	engine_job *job); /* its files are newer than its preview: whoever looks wants another */
void srv_job_free(engine_job *job);
void srv_engine_feed_workers(srv_engine *engine);
/* Digests of all that the job's candidates needed; then `next`. False: the job has failed. */
bool srv_job_hash_inputs(engine_job *job, void (*next)(engine_job *job));
bool srv_job_inputs_match(engine_job *job, const srv_recipe *recipe); /* as the digests are known now */
bool srv_job_join_twin(engine_job *job); /* the same cook is under way for a copy: it waits for that */
void srv_job_missed(engine_job *job);	 /* no result is known: a preview, or the cook */
void srv_job_take_recipe(engine_job *job, const srv_recipe *recipe);
/* engine_upstream.c: asked after the own cache, before a cook. The first two want engine->upstream. */
bool srv_engine_ask_upstream(engine_job *job);							  /* false: it is not asked */
void srv_engine_give_upstream(engine_job *job, const srv_recipe *recipe); /* what was cooked here */
void srv_engine_put_upstream(srv_engine *engine, hob_buf *out);			  /* JSON for stats; any thread */
/* engine_farm.c: leases, between the cache's miss and the worker. srv_engine_claim wants a farm. */
bool srv_engine_claim(engine_job *job);		  /* true: it waits for its turn, or for another machine's cook */
bool srv_engine_hurry_claim(engine_job *job); /* it was raised; false: it does not wait for a claim */
void srv_engine_claim_more(srv_engine *engine);
void srv_engine_end_claim(engine_job *job); /* before it is freed */
void srv_engine_close_claims(srv_engine *engine);
/* engine_finish.c: from the worker's answer to what is published */
/* engine_parts.c: callbacks of the pool */
int srv_engine_part_get(void *user, const uint8_t key[32]);
void srv_engine_part_put(void *user, const uint8_t key[32], hob_bytes bytes, int fd);
void srv_engine_pool_done(void *user, void *job, srv_outcome *outcome);
/* engine_limits.c */
/* Keeps what a death, or a failure for want of time or memory, was observed under. */
void srv_engine_put_limits(engine_job *job, srv_recipe *recipe);
/* Whether that has changed, or a day has passed: it is then no longer valid. */
bool srv_engine_is_doubtful(const srv_engine *engine, const srv_recipe *recipe);
void srv_engine_doubt_at(asset *a,
						 const srv_recipe *recipe); /* the asset's newest failure; NULL: it has none */
void srv_engine_look_at_machine(srv_engine *engine);
void srv_engine_doubt(srv_engine *engine); /* once a second: tries again what has become doubtful */
/* engine_publish.c */
typedef struct engine_change {
	asset *a;
	srv_state state;		  /* as its JSON says */
	hob_str tail;			  /* its JSON from behind the rev */
	const srv_recipe *recipe; /* `good`, when it is in hand; NULL */
} engine_change;
/* As one rev: rows and views are there before the events. */
void srv_publish_changes(srv_engine *engine, const engine_change *changes, uint32_t count);
/* The same over several turns, none of which shows anything before the end; what else is published meanwhile joins the rev. */
void srv_publish_begin(srv_engine *engine);
void srv_publish_change(srv_engine *engine, const engine_change *change);
void srv_publish_end(srv_engine *engine);
void srv_publish_good(engine_job *job, const srv_recipe *recipe, bool hit);
void srv_publish_bad(engine_job *job, const srv_recipe *recipe, const hob_error *error);
/* By a person. job: NULL of what is queued, whose `next` is handed over then. */
void srv_publish_cancelled(srv_engine *engine, asset *a, engine_job *job, srv_asset_next *next);
void srv_publish_blamed(srv_engine *engine, asset *a); /* its error names another asset now */
void srv_publish_same(
	engine_job *job,
	const srv_recipe *recipe); /* the recipe is the current one already: view and job event only */
void srv_publish_removed(srv_engine *engine, asset *a);
/* Their states changed together, and nothing else of them. */
void srv_publish_states(srv_engine *engine, const uint32_t *ids, uint32_t count, const char *kind);
void srv_publish_view(srv_engine *engine, asset *a);
void srv_publish_view_later(srv_engine *engine, uint32_t id); /* at the end of this turn, or of a later one */
void srv_engine_show(srv_engine *engine);	   /* the views as they are now, for every reader */
void srv_engine_show_some(srv_engine *engine); /* those of them that the turn has time for, newest first */
/* Those that are due, as many as this turn has time for; true: all are made. */
bool srv_engine_make_views(srv_engine *engine);
/* The same with the recipe `good` in hand; an empty one when there is none. */
void srv_publish_view_of(srv_engine *engine, asset *a, const srv_recipe *recipe);
void srv_engine_store_asset(srv_engine *engine, asset *a); /* its row */
void srv_engine_note_activity(srv_engine *engine, const srv_job_row *row);
void srv_publish_job(engine_job *job, const char *state);
/* "failed" without an error: it is known from the cache and is the asset's. */
void srv_record_job(engine_job *job, const char *result, const hob_sha256 *recipe, const hob_error *error);
/* What /readyz says of the disk; NULL: there is room. */
void srv_engine_note_disk(srv_engine *engine, const hob_error *why);
/* engine_error.c */
const char *srv_engine_hint(hob_err_code code); /* what to do about such an error; may be empty */
void srv_error_json(const hob_error *error, const char *stage, hob_buf *out);
/* Copies such an error and says that it is of the asset `path`, unless its text begins with another file's name or, of a merge,
 * names the part where it was. Kept errors name no file: assets with the same bytes share them. */
void srv_error_of_asset(hob_str json, hob_str path, hob_buf *out);
/* engine_keep.c */
void srv_engine_keep_store(srv_engine *engine);			/* once a second */
uint64_t srv_engine_trim(srv_engine *engine, bool dry); /* bytes freed, or that would be */
void srv_engine_fold_log(srv_engine *engine);			/* in the pool, when it is long */
/* engine_thumbnail.c */
struct engine_thumbnails *srv_engine_thumbnails_new(void);
void srv_engine_thumbnail(srv_engine *engine, srv_control *control);
void srv_engine_draw_thumbnails(srv_engine *engine); /* when there is nothing better to do */

/* engine_derive.c */
void srv_engine_derive(srv_engine *engine, srv_control *control);
/* Bytes that one form on request is made of at most. */
uint64_t srv_engine_derived_limit(const srv_engine *engine);
/* Lets go of what was ordered only by who has gone. */
void srv_engine_derive_less(srv_engine *engine);

/* engine_audit.c: all but the last two want engine->audit */
struct srv_engine_audit *srv_engine_audit_new(void);
void srv_engine_audit(
	srv_engine *engine); /* once a second: begins one when it has been quiet for long enough */
void srv_engine_go_on_auditing(srv_engine *engine); /* a worker became idle */
void srv_engine_end_audit(srv_engine *engine);		/* there is real work */
bool srv_engine_is_audit(const srv_engine *engine, const void *job);
/* True when the worker's outcome is that of an audit, and taken. */
bool srv_engine_take_audit(srv_engine *engine, const void *job, srv_outcome *outcome);
/* `good` is another record now; fresh: it was made just now, so that earlier checks of it do not count. */
void srv_engine_recall_audit(srv_engine *engine, asset *a, bool fresh);
void srv_engine_put_audit(const asset *a, hob_buf *out); /* JSON, empty when there was none */

/* engine_control.c */
asset *srv_engine_asked_asset(srv_engine *engine, srv_control *control); /* NULL: answered with 404 */
void srv_engine_answer_missing(const srv_engine *engine, srv_control *control,
							   const asset *a); /* its root is away: 409 */
/* A copy of at most `most` bytes (else LIMIT), in pages of its own that the caller unmaps: a file that is cut off while it is mapped would end the daemon. Any thread. */
hob_bytes srv_engine_read_blob(srv_store *store, const hob_sha256 *digest, uint64_t most, hob_error *err);
/* engine_jobs.c */
void srv_engine_list_jobs(srv_engine *engine, srv_control *control);
void srv_engine_tell_job(srv_engine *engine, srv_control *control);
void srv_engine_cancel_job(srv_engine *engine, srv_control *control);
/* engine_action.c */
void srv_engine_tell_action(srv_engine *engine, srv_control *control);
void srv_engine_tell_actions(srv_engine *engine, srv_control *control);
void srv_engine_take_action(srv_engine *engine, srv_control *control);
/* engine_chain.c: what another cache asks here, and the upstream of this one may know */
/* Asks for `lookups`, appends what comes to `body`, and answers. Takes over *body. */
void srv_engine_pass_on(srv_engine *engine, srv_control *control, const hob_sha256 *lookups, uint32_t count,
						hob_buf *body);
void srv_engine_pull(srv_engine *engine, srv_control *control);
void srv_engine_forget_promises(srv_engine *engine);
/* engine_bundle.c */
void srv_engine_bundle(srv_engine *engine, srv_control *control);
/* engine_task.c: housekeeping that people ask for; listed among the jobs */
void srv_engine_start_task(srv_engine *engine, srv_control *control);
bool srv_engine_put_task(srv_engine *engine, uint64_t id, hob_buf *out); /* JSON; false: no such task */
void srv_engine_put_tasks(srv_engine *engine, bool finished,
						  hob_buf *out);		/* items of a list, newest first */
void srv_engine_stop_tasks(srv_engine *engine); /* they end soon */
void srv_engine_free_tasks(srv_engine *engine);
void srv_engine_on_posted(uv_async_t *async);
void srv_engine_answer_waiters(srv_engine *engine);
/* The watch passed its mark: see srv_watch_mark. */
void srv_engine_pass_mark(srv_engine *engine, uint32_t root, uint64_t number, bool seen);
void srv_engine_scan_for_waiters(srv_engine *engine,
								 uint32_t root); /* after each scan: once more if somebody needs it */
void srv_engine_post(void *user, srv_control *control);
/* Loads files, recipes and asset states of earlier runs into the graph. */
bool srv_engine_load(srv_engine *engine, hob_error *err);

#endif
