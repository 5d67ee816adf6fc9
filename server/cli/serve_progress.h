/* serve_progress.h - progress of long work on the terminal of `hob serve`: one line that is updated, and a
 * summary at the end.
 *
 *     cooking  1,204 of 5,000 (24 %)  2,460 a minute  about 92 s left  3 failed  props/duck.glb
 *
 * For a few models, or if stderr is not a terminal, every model has a line of its own instead. */
#ifndef CLI_SERVE_PROGRESS_H
#define CLI_SERVE_PROGRESS_H

#include "../engine/engine.h"

#include <uv.h>

typedef struct serve_progress {
	uv_timer_t timer;
	srv_engine *engine;
	srv_views *views;
	int64_t run;		/* start of the current run; 0: none */
	uint64_t began_rev; /* the view's revision at that time */
	bool began;
} serve_progress;

/* Loop thread. The arguments must outlive srv_serve_progress_end. */
void srv_serve_progress_begin(serve_progress *progress, uv_loop_t *loop, srv_engine *engine,
							  srv_views *views);
void srv_serve_progress_end(serve_progress *progress);

#endif
