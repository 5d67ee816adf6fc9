/* serve_progress.h - what the terminal of `hob serve` shows of long work: one line that is drawn over, and a summary at the end.
 *
 *     cooking  1,204 of 5,000 (24 %)  2,460 a minute  about 92 s left  3 failed  props/duck.glb
 *
 * Nothing of that for a few models, and nothing where stderr is no screen: there every model has its line. */
#ifndef CLI_SERVE_PROGRESS_H
#define CLI_SERVE_PROGRESS_H

#include "../engine/engine.h"

#include <uv.h>

typedef struct serve_progress {
	uv_timer_t timer;
	srv_engine *engine;
	srv_views *views;
	int64_t run;		/* when the run that is shown began; 0: none is */
	uint64_t began_rev; /* of the view when it was first shown */
	bool began;
} serve_progress;

/* Loop thread. What is named outlives srv_serve_progress_end. */
void srv_serve_progress_begin(serve_progress *progress, uv_loop_t *loop, srv_engine *engine,
							  srv_views *views);
void srv_serve_progress_end(serve_progress *progress);

#endif
