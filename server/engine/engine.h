/* engine.h - where the modules meet: watch -> graph -> queue -> worker -> store -> events and views.
 *
 * The states of an asset and what moves it from one to another: cook/asset.h.
 *
 * A job: digests of the source (and of what earlier recipes with this source needed) -> look-up -> either an
 * earlier recipe whose inputs are all as they were (a hit: nothing is cooked), or a worker -> validate and
 * store -> publish. What changes meanwhile makes the asset dirty again and the job's result is still
 * published, because it is the complete cook of one complete version. Everything here runs on the loop's
 * thread; hashing, validating and blob writing run in libuv's pool on data that they own. */
#ifndef SRV_ENGINE_H
#define SRV_ENGINE_H

#include "../events/events.h"
#include "../farm/farm.h"
#include "../metrics/activity.h"
#include "../control/control.h"
#include "../derive/derived.h"
#include "../view/view.h"
#include "../queue/queue.h"
#include "../store/store.h"
#include "../worker/pool.h"

#include <stdatomic.h>

typedef struct srv_engine srv_engine;

typedef struct srv_engine_root {
	const char *name; /* unique, as in URLs */
	const char *path; /* absolute */
	/* Globs of what is an asset, NULL-terminated: in `include` (NULL: everything) and not in `exclude`. What is left out
	 * may still be a dependency. */
	const char *const *include, *const *exclude;
	hob_settings settings; /* what folders and sidecars overlay */
} srv_engine_root;

typedef enum srv_engine_watch_mode {
	SRV_ENGINE_AUTO,
	SRV_ENGINE_EVENTS,
	SRV_ENGINE_POLL
} srv_engine_watch_mode;

typedef struct srv_engine_options {
	const srv_engine_root *roots;
	uint32_t root_count;
	uint32_t workers, timeout_ms;
	uint64_t memory_limit;
	uint64_t source_limit;	/* bytes of one file that a cook reads; 0 = HOB_LIMIT_SOURCE_BYTES */
	uint64_t derived_limit; /* bytes that one form on request is made of */
	srv_sandbox_policy sandbox;
	const char *blender; /* see srv_pool_options; kept by the caller */
	const char *worker_path;
	srv_engine_watch_mode watch_mode;
	uint32_t poll_ms;					   /* 0 = 2000 */
	bool no_probe;						   /* never make a file in a root */
	const char *upstream, *upstream_token; /* another cache that is asked before a cook; NULL: none */
	const srv_farm_options *farm; /* instead of another Hob; `upstream` is what people are shown then; NULL */
	bool push;					  /* what is cooked here is given to it */
	const char *cache;			  /* folder of the store */
	uint32_t audit_s; /* of quiet before one asset is cooked again to compare the result; 0 = never */
} srv_engine_options;

/* Upper bounds of a histogram of times in ms; one more counter is for what takes longer. */
#define SRV_ENGINE_TIME_BOUNDS 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000, 300000
enum { SRV_ENGINE_TIME_SLOTS = 11 };
typedef struct srv_engine_times {
	atomic_ullong counts[SRV_ENGINE_TIME_SLOTS], sum_ns;
} srv_engine_times;

enum { SRV_DERIVE_MADE, SRV_DERIVE_USELESS, SRV_DERIVE_FAILED, SRV_DERIVE_CANCELLED, SRV_DERIVE_RESULTS };

/* Since start; written by the loop's thread, read by any. */
/* A turn of the loop is to take no longer, whatever happens: everybody waits meanwhile. */
enum { SRV_ENGINE_TURN_MS = 5 };

typedef struct srv_engine_counters {
	atomic_ullong jobs;		 /* jobs finished, whatever their result */
	atomic_ullong cooked;	 /* by a worker, well, to the end */
	atomic_ullong previewed; /* by a worker, as a preview before that */
	atomic_ullong failed;	 /* by a worker, badly */
	atomic_ullong hits;		 /* answered by an earlier recipe: nothing was cooked */
	atomic_ullong fetched;	 /* answered by the upstream: the same */
	atomic_ullong unchanged; /* hits whose recipe was the current one already: nothing was published */
	atomic_ullong misses;	 /* cook keys that no recipe answered */
	atomic_ullong crashed, timed_out, interrupted, cancelled;
	atomic_ullong parts_made,
		parts_reused;		/* textures: compressed, and taken from what another cook compressed */
	atomic_ullong saved_ns; /* cook time of the recipes that hits reused */
	atomic_ullong cook_ns;
	atomic_ullong hashed_bytes; /* read to make digests outside of cooks */
	atomic_ullong published;	/* changes */
	atomic_ullong batches;		/* of several changes as one rev */
	atomic_ullong held;			/* changes, now */
	atomic_ullong resets, scans;
	atomic_ullong thumbnails; /* drawn */
	atomic_ullong derived[SRV_DERIVED_COUNT][SRV_DERIVE_RESULTS];
	atomic_ullong audits_same, audits_different;	  /* results of reproducibility checks */
	atomic_ullong turns, turns_slow, turn_longest_ns; /* of the loop; slow: above SRV_ENGINE_TURN_MS */
	atomic_ullong turn_busiest_ns;					  /* processor time of the busiest turn */
	atomic_ullong rebuilds;							  /* of a damaged index, after the store was opened */
	atomic_ullong queue_length, running;		 /* queue_length: what waits for its turn or for a worker */
	atomic_ullong queued_of[SRV_PRIORITY_COUNT]; /* of that, by class */
	atomic_ullong input_bytes;		   /* of all sources and what they need, each file once; once a second */
	atomic_ullong expected_ns;		   /* until everything is cooked, as earlier cooks say; once a second */
	atomic_ullong oldest_queued_at_ms; /* Unix time, 0 = nothing waits; looked up once a second */
	srv_engine_times queued, cook,
		total; /* of jobs that a worker cooked: waiting, in the worker, save to result */
} srv_engine_counters;

typedef struct srv_engine_callbacks {
	void *user;
	/* Every root was scanned once and everything found is in the view. */
	void (*ready)(void *user);
} srv_engine_callbacks;

/* After a failure *out may be an engine that is still to be closed; else it is left alone. */
bool srv_engine_new(uv_loop_t *loop, const srv_engine_options *options, srv_store *store, srv_events *events,
					srv_views *views, const srv_engine_callbacks *callbacks, srv_engine **out,
					hob_error *err) HOB_MUST_CHECK;
/* Stops watching, ends workers, answers every waiting control with 503, then done(user). */
void srv_engine_close(srv_engine *engine, void (*done)(void *user), void *user);
/* After done, and after every other thread that knows the engine has ended. NULL is fine. */
void srv_engine_free(srv_engine *engine);
/* Loop thread: other cook settings for each root, as in the options; what they change is cooked again. */
void srv_engine_set_settings(srv_engine *engine, const hob_settings *settings);
/* For the HTTP thread. Valid from srv_engine_new to srv_engine_free. */
srv_control_port srv_engine_port(srv_engine *engine);
srv_engine_counters *srv_engine_count(srv_engine *engine);
/* Of the run of work that is under way, or of the last one. Any thread. */
srv_activity_run srv_engine_progress(srv_engine *engine);
/* Prometheus lines of the engine, the store and the watch; members of the object of /api/v1/stats. Any thread. */
void srv_engine_metrics(void *engine, hob_buf *out);
void srv_engine_stats(void *engine, hob_buf *out);
/* Of all sources and what they need, each file once; a second old at most. */
uint64_t srv_engine_input_bytes(void *engine);
/* Appends why cook processes cannot be started, and what to do; nothing when they can. Any thread. */
void srv_engine_trouble(void *engine, hob_buf *out);
/* The same for the index of the cache, while it is damaged or gone and could not be rebuilt. */
void srv_engine_index_trouble(void *engine, hob_buf *out);
/* The same for the cache's disk, while it is full. */
void srv_engine_disk_trouble(void *engine, hob_buf *out);
const char *srv_engine_sandbox(const srv_engine *engine);
/* Loop thread. */
bool srv_engine_is_ready(const srv_engine *engine);

#endif
