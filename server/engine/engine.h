/* engine.h - connects the modules: watch -> graph -> queue -> worker -> store -> events and views.
 *
 * The states of an asset and their transitions: cook/asset.h.
 *
 * A job: digests of the source (and of the inputs of earlier records with this source) -> look-up -> either
 * an earlier record whose inputs are all unchanged (a hit: nothing is cooked), or a worker -> validate and
 * store -> publish. Changes meanwhile make the asset dirty again; the job's result is still published,
 * because it is the complete cook of one complete version. Everything here runs on the loop's thread;
 * hashing, validating and blob writing run in libuv's pool on data that they own. */
#ifndef SRV_ENGINE_H
#define SRV_ENGINE_H

#include "../events/events.h"
#include "../farm/farm.h"
#include "../metrics/activity.h"
#include "../control/control.h"
#include "../view/view.h"
#include "../queue/queue.h"
#include "../store/store.h"
#include "../worker/pool.h"

#include <stdatomic.h>

typedef struct srv_engine srv_engine;

typedef struct srv_engine_root {
	const char *name; /* unique, as in URLs */
	const char *path; /* absolute */
	/* Globs, each list ends with NULL. A file is an asset if it matches `include` (NULL: all files) and not
	 * `exclude`. Other files can still be dependencies. */
	const char *const *include, *const *exclude;
	hob_settings settings; /* base settings; cook.json files and sidecars override them */
	bool still;			   /* its folders come and go as a whole: nothing in it was moved */
} srv_engine_root;

typedef enum srv_engine_watch_mode {
	SRV_ENGINE_AUTO,
	SRV_ENGINE_EVENTS,
	SRV_ENGINE_POLL
} srv_engine_watch_mode;

typedef struct srv_engine_options {
	const srv_engine_root *roots;
	uint32_t root_count;
	srv_pool_options pool;	/* the engine sets roots and one_first; the caller keeps `blender` alive */
	uint64_t derived_limit; /* bytes; maximum input of one derived output */
	srv_engine_watch_mode watch_mode;
	uint32_t poll_ms;					   /* 0 means 2000 */
	bool no_probe;						   /* never write into a root */
	const char *upstream, *upstream_token; /* another Hob, asked before a cook; NULL: none */
	const srv_farm_options *farm; /* used instead of `upstream`, which is then only displayed; NULL: none */
	bool push;					  /* send results cooked here to the upstream */
	const char *cache;			  /* folder of the store */
	const struct srv_engine_batch *batch; /* engine_batch.h; NULL: the daemon */
} srv_engine_options;

/* Upper bounds of a histogram, in ms; one more counter holds longer times. */
#define SRV_ENGINE_TIME_BOUNDS 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000, 300000
enum { SRV_ENGINE_TIME_SLOTS = 11 };
typedef struct srv_engine_times {
	atomic_ullong counts[SRV_ENGINE_TIME_SLOTS], sum_ns;
} srv_engine_times;

/* Target duration of a turn (one iteration of the loop): all clients wait until it ends. */
enum { SRV_ENGINE_TURN_MS = 5 };

/* Since the start. Written on the loop's thread, read on any. */
typedef struct srv_engine_counters {
	atomic_ullong jobs;		 /* finished jobs, with any result */
	atomic_ullong cooked;	 /* finished by a worker */
	atomic_ullong previewed; /* previews finished by a worker */
	atomic_ullong failed;	 /* failed in a worker */
	atomic_ullong cancelled;
	atomic_ullong hits;		 /* answered by an earlier record: nothing was cooked */
	atomic_ullong fetched;	 /* answered by the upstream: nothing was cooked */
	atomic_ullong unchanged; /* hits whose record was already the current one: nothing was published */
	atomic_ullong misses;	 /* look-ups without a matching record */
	atomic_ullong saved_ns;	 /* cook time of the records that hits reused */
	atomic_ullong cook_ns;
	atomic_ullong rebuilds; /* rebuilds of a damaged index after the start */
	atomic_ullong running;
	atomic_ullong queue_length;					 /* jobs that have not begun, or wait for a worker */
	atomic_ullong queued_of[SRV_PRIORITY_COUNT]; /* queue_length by priority */
	atomic_ullong expected_ns; /* time until all is cooked; estimated once a second from earlier cooks */
	atomic_ullong oldest_queued_at_ms; /* Unix time; 0: no job waits; updated once a second */
	struct {
		atomic_ullong crashed, timed_out, interrupted;
	} died; /* workers */
	struct {
		atomic_ullong made, reused;
	} parts; /* textures and meshes: made here; reused from another cook */
	struct {
		atomic_ullong published;
		atomic_ullong together; /* published with others as one rev */
		atomic_ullong held;		/* held now */
	} changes;
	struct {
		atomic_ullong resets, scans;
		atomic_ullong hashed_bytes; /* read for digests outside of cooks */
		atomic_ullong input_bytes;	/* of all sources and dependencies, each file once; once a second */
	} sources;
	struct {
		atomic_ullong count, slow; /* `slow`: above SRV_ENGINE_TURN_MS */
		atomic_ullong put_off;	   /* times a full turn left work to a later one */
		atomic_ullong longest_ns;
		atomic_ullong busiest_ns; /* CPU time of one turn */
	} turn;						  /* of the loop */
	struct {
		srv_engine_times queued, cook, total; /* in the queue, in the worker, from save to result */
	} times;								  /* of cooked jobs */
} srv_engine_counters;

typedef struct srv_engine_callbacks {
	void *user;
	/* Called when each root was scanned once and the view shows what was found. */
	void (*ready)(void *user);
} srv_engine_callbacks;

/* Work of libuv's pool. Several short pieces run one after another: waking a thread takes longer than one. */
typedef struct srv_piece {
	void (*run)(struct srv_piece *piece);  /* in the pool */
	void (*done)(struct srv_piece *piece); /* loop thread */
	void *user;
	struct srv_piece *next;
	uv_work_t work; /* of the first of several */
} srv_piece;

/* In a turn, for a job that waits for it: queues the piece, a short one with others of the turn. */
void srv_engine_piece(srv_engine *engine, srv_piece *piece, bool is_short);

/* Creates the engine. On failure *out is either unchanged or an engine that the caller must close. */
bool srv_engine_new(uv_loop_t *loop, const srv_engine_options *options, srv_store *store, srv_events *events,
					srv_views *views, const srv_engine_callbacks *callbacks, srv_engine **out,
					hob_error *err) HOB_MUST_CHECK;
/* Stops watching, ends workers, answers every waiting control with 503, then calls done(user). */
void srv_engine_close(srv_engine *engine, void (*done)(void *user), void *user);
/* Call it after done, when no other thread uses the engine. NULL is allowed. */
void srv_engine_free(srv_engine *engine);
/* Loop thread. Replaces the cook settings of the roots; assets that they affect are cooked again. */
void srv_engine_set_settings(srv_engine *engine, const hob_settings *settings);
/* For the HTTP thread. Valid from srv_engine_new to srv_engine_free. */
srv_control_port srv_engine_port(srv_engine *engine);
srv_engine_counters *srv_engine_count(srv_engine *engine);
/* Progress of the current run of work, or of the last one. Any thread. */
srv_activity_run srv_engine_progress(srv_engine *engine);
/* Prometheus lines of the engine, the store and the watch; members of the object of /api/v1/stats. Any
 * thread. */
void srv_engine_metrics(void *engine, hob_buf *out);
void srv_engine_stats(void *engine, hob_buf *out);
/* The members of /api/v1/farm; any thread. */
void srv_engine_farm(void *engine, hob_buf *out);
/* Bytes of all sources and dependencies, each file once; at most a second old. */
uint64_t srv_engine_input_bytes(void *engine);
/* While no worker can start: appends the reason and the remedy. Any thread. */
void srv_engine_workers_error(void *engine, hob_buf *out);
/* While the index is damaged or missing and cannot be rebuilt: appends the reason and the remedy. */
void srv_engine_index_error(void *engine, hob_buf *out);
/* While the disk of the cache is full: appends the reason and the remedy. */
void srv_engine_disk_error(void *engine, hob_buf *out);
/* Appends a line for each problem with which the daemon is still ready. */
void srv_engine_notes(void *engine, hob_buf *out);
const char *srv_engine_sandbox(const srv_engine *engine);

#endif
