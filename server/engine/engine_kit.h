/* engine_kit.h - common functions of the engine: the clock, the time of a turn, handles, and the work
 * of the pool. They call no other file of the engine. */
#ifndef ENGINE_KIT_H
#define ENGINE_KIT_H

#include "engine_state.h"

#include "../fs/clock.h"

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
/* Runs a piece of work in libuv's pool; a short one together with others of this turn. */
void srv_engine_piece(srv_engine *engine, srv_piece *piece, bool is_short);
void srv_engine_send_pieces(srv_engine *engine); /* at the end of the turn */
/* When no work is left, closes the handles and reports that the engine is closed. */
void srv_engine_close_when_idle(srv_engine *engine);
/* Ends a write to the store: logs a failure. Its rows are committed at the end of the turn. */
void srv_engine_stored(srv_engine *engine, bool ok, const hob_error *error);
uint32_t srv_engine_root_by_name(const srv_engine *engine, hob_str name); /* HOB_NONE: none */
bool srv_engine_root_is_away(const srv_engine *engine, uint32_t root);
/* Whether this turn has time for one more deferrable item. `done`: items of this kind so far. */
bool srv_engine_has_time(const srv_engine *engine, uint32_t done);
void srv_engine_go_on(srv_engine *engine); /* requests another turn at once */
void srv_engine_stir(srv_engine *engine);  /* makes this turn look for the next job */
void srv_engine_start_turn(srv_engine *engine, uv_idle_cb go_on);
/* Time since the turn began, without the sleep of the loop. now: uv_hrtime; idle: uv_metrics_idle_time. */
uint64_t srv_engine_turn_ns(const srv_engine *engine, uint64_t now, uint64_t idle);
bool srv_engine_begin_turn(srv_engine *engine, uint64_t now, uint64_t idle); /* true: it is the first one */

#endif
