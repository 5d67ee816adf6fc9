/* engine_kit.h - the engine, its owners of state, and its common functions: the clock, the time of a turn,
 * handles, and the work of the pool. They call no other file of the engine.
 *
 * An owner is one struct with the functions that change it, declared in its own header, which its users
 * include. Only the owner's files assign its fields: tests/lint/owners.py has the table. */
#ifndef ENGINE_KIT_H
#define ENGINE_KIT_H

#include "engine.h"

#include "../cook/publish.h"
#include "../derive/derive.h"
#include "../fs/clock.h"
#include "../graph/graph.h"

struct srv_engine {
	uv_loop_t *loop;
	srv_engine_options options;
	srv_store *store;
	srv_views *views;
	srv_graph *graph;
	srv_engine_counters counters;
	srv_publish publish; /* output of the turn */
	hob_arena scratch;	 /* temporary memory of a call; the arena keeps its first block */
	atomic_bool closing; /* set once; other threads then stop long work */

	struct engine_life *life;			  /* engine.c */
	struct engine_turn *turn;			  /* engine_turn.h */
	struct engine_assets *assets;		  /* engine_assets.h */
	struct engine_jobs *jobs;			  /* engine_jobs.h */
	struct engine_roots *roots;			  /* engine_root.h */
	struct engine_sources *sources;		  /* engine_sources.h */
	struct engine_moves *moves;			  /* engine_move.h */
	struct engine_publishing *publishing; /* engine_publish.h */
	struct engine_changesets *changesets; /* engine_changeset.h */
	struct engine_requests *requests;	  /* engine_requests.h */
	struct engine_exchange *exchange;	  /* engine_exchange.h */
	struct engine_upkeep *upkeep;		  /* engine_upkeep.h */
	struct engine_health *health;		  /* engine_health.h */
	srv_derive *derive;					  /* derive/derive.h */
};

srv_derive *srv_engine_derive_new(srv_engine *engine); /* engine_derive.c */

enum { ENGINE_HANDLES_MAX = 8 };

struct engine_life {
	srv_engine_callbacks callbacks;
	uv_timer_t timer;
	uv_handle_t *handles[ENGINE_HANDLES_MAX];
	uint32_t handle_count, open_handles;
	uint32_t work; /* number of work items in libuv's pool other than jobs */
	void (*closed)(void *user);
	void *closed_user;
	struct {
		uv_idle_t more;				/* runs when a turn left work for the next one */
		uv_idle_cb go_on;			/* callback of `more` */
		uint64_t began_ns, idle_ns; /* uv_hrtime and the loop's idle time when the turn began */
	} turn;
};

void srv_engine_tell_ready(
	srv_engine *engine); /* each root was scanned once and the view shows what was found */
/* The loop calls the handle's callback until the engine closes. */
void srv_engine_add_handle(srv_engine *engine, uv_handle_t *handle);
/* Runs work other than a job in libuv's pool; `done` must call srv_engine_work_over. The engine waits for it
 * before it closes. */
void srv_engine_work(srv_engine *engine, uv_work_t *work, uv_work_cb run, uv_after_work_cb done);
/* Likewise, of one kind: `run` in the pool, then `done` (NULL: nothing) on the loop. False: work of this kind
 * is under way, or the engine closes. */
typedef struct engine_work {
	uv_work_t work;
	srv_engine *engine;
	void (*run)(srv_engine *engine), (*done)(srv_engine *engine);
	bool under_way;
} engine_work;
bool srv_engine_begin_work(srv_engine *engine, engine_work *work, void (*run)(srv_engine *engine),
						   void (*done)(srv_engine *engine));
void srv_engine_count_work(srv_engine *engine); /* counts work of another kind, which ends in the same way */
void srv_engine_work_over(srv_engine *engine);
void srv_engine_send_pieces(srv_engine *engine); /* at the end of the turn: the short ones */
/* When no work is left, closes the handles and reports that the engine is closed. */
void srv_engine_close_when_idle(srv_engine *engine);
/* Ends a write to the store: logs a failure. Its rows are committed at the end of the turn. */
void srv_engine_stored(srv_engine *engine, bool ok, const hob_error *error);
uint32_t srv_engine_root_by_name(const srv_engine *engine, hob_str name); /* HOB_NONE: none */
bool srv_engine_root_is_away(const srv_engine *engine, uint32_t root);
/* Whether this turn has time for one more deferrable item. `done`: items of this kind so far. */
bool srv_engine_has_time(srv_engine *engine, uint32_t done);
void srv_engine_go_on(srv_engine *engine); /* requests another turn at once */
void srv_engine_stir(srv_engine *engine);  /* makes this turn look for the next job */
void srv_engine_start_turn(srv_engine *engine, uv_idle_cb go_on);
/* Time since the turn began, without the sleep of the loop. now: uv_hrtime; idle: uv_metrics_idle_time. */
uint64_t srv_engine_turn_ns(const srv_engine *engine, uint64_t now, uint64_t idle);
bool srv_engine_begin_turn(srv_engine *engine, uint64_t now, uint64_t idle); /* true: it is the first one */

#endif
