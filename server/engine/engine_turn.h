/* engine_turn.h - turns, the iterations of the loop: each publishes at its end; large work takes several. */
#ifndef ENGINE_TURN_H
#define ENGINE_TURN_H

#include "engine_kit.h"

typedef struct spread {
	uint32_t *assets;
	uint32_t count, next, root;
	srv_priority priority;
	const char *kind; /* static text */
	hob_str path;	  /* in the graph */
	bool gathers;	  /* the assets join the changeset of the root */
} spread;

struct engine_turn {
	uv_check_t polled;
	uv_prepare_t end;
	uv_timer_t gathered;
	uint64_t published_ns; /* uv_hrtime of the last turn that published */
	uint64_t began_cpu_ns; /* the thread's CPU clock at the start */
	spread *spreads;	   /* oldest first: assets that become dirty in later turns */
	uint32_t spread_count, spread_capacity;
};

void srv_engine_turn_free(struct engine_turn *turn);
void srv_engine_start_turns(srv_engine *engine);
/* Makes assets dirty because of `file`, the reason shown. `kind` is static text. Many assets take several
 * turns. */
void srv_engine_dirty_all(srv_engine *engine, const uint32_t *assets, uint32_t count, srv_priority priority,
						  const char *kind, uint32_t file);
static inline bool srv_engine_spreads(const srv_engine *engine) /* some assets still have to become dirty */
{
	return engine->turn->spread_count > 0;
}
/* Commits rows and sends events now, and shows the views of everything that was published. */
void srv_engine_flush(srv_engine *engine);

#endif
