/* engine_state.h - what the files of the engine share: the modules below it, and its owners of state.
 *
 * An owner is one struct with the functions that change it, declared in a header of its own. Whoever needs
 * something of an owner includes that header. Only the owner's files assign its fields: tests/lint/owners.py
 * has the table. */
#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include "engine.h"

#include "../cook/facts.h"
#include "../cook/publish.h"
#include "../derive/derive.h"
#include "../graph/graph.h"

struct srv_engine {
	uv_loop_t *loop;
	srv_engine_options options;
	srv_store *store;
	srv_views *views;
	srv_graph *graph;
	srv_engine_counters counters;
	srv_publish publish; /* what leaves at the end of the turn */
	srv_facts facts;	 /* engine.c decides who listens */
	hob_arena scratch;	 /* for memory that is not needed after the call; its first block stays */
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
	struct engine_audit *audit;			  /* engine_audit.h; NULL: checks are off */
};

int64_t srv_engine_now_ms(void); /* Unix time */
void srv_engine_tell_ready(
	srv_engine *engine); /* each root was scanned once and the view shows what was found */
void srv_engine_tell(srv_engine *engine, srv_fact_kind kind, uint32_t asset);
/* The loop calls the handle's callback until the engine closes. */
void srv_engine_add_handle(srv_engine *engine, uv_handle_t *handle);
/* Runs work in libuv's pool that is no job; `done` ends with srv_engine_work_over. The engine waits for it
 * before it closes. */
void srv_engine_work(srv_engine *engine, uv_work_t *work, uv_work_cb run, uv_after_work_cb done);
void srv_engine_count_work(srv_engine *engine); /* of another kind, that ends in the same way */
void srv_engine_work_over(srv_engine *engine);
/* Closes the handles and says that the engine is closed, once nothing of it runs any longer. */
void srv_engine_close_when_idle(srv_engine *engine);
srv_derive *srv_engine_derive_new(srv_engine *engine); /* engine_derive.c */
/* Ends a write to the store: logs why it failed, if it did. Its rows are committed at the end of the turn. */
void srv_engine_stored(srv_engine *engine, bool ok, const hob_error *error);

#endif
