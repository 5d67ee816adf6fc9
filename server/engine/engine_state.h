/* engine_state.h - shared by the files of the engine: the modules below it, and its owners of state.
 *
 * An owner is one struct with the functions that change it, declared in its own header, which its users
 * include. Only the owner's files assign its fields: tests/lint/owners.py has the table. */
#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include "engine.h"

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

#endif
