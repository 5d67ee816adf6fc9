/* serve_notify.h - reports to the service manager: ready, status, watchdog. */
#ifndef SRV_SERVE_NOTIFY_H
#define SRV_SERVE_NOTIFY_H

#include "../engine/engine.h"
#include "../service/service.h"

typedef struct serve_notify {
	srv_service *service;
	srv_engine *engine;
	srv_views *views;
	uv_timer_t timer;
	bool ready, active;
	bool failed;	  /* the last reload failed; the status says so */
	char status[160]; /* as last reported */
} serve_notify;

/* Loop thread. Does nothing without a service manager. `service`, `engine` and `views` must outlive it. */
void srv_serve_notify_begin(serve_notify *notify, uv_loop_t *loop, srv_service *service, srv_engine *engine,
							srv_views *views);
void srv_serve_notify_ready(serve_notify *notify);
/* Call `reloading` before reading the configuration again, `reloaded` after it; `error`: NULL on success. */
void srv_serve_notify_reloading(serve_notify *notify);
void srv_serve_notify_reloaded(serve_notify *notify, const char *error);
/* Appends "34 fresh, 1 broken, 11 to cook". An asset that waits for a check, as all do after a start, counts
 * by its last result. */
void srv_serve_counts(const srv_view *view, srv_engine *engine, hob_buf *out);
/* reports the stop and ends the reports; may be called again */
void srv_serve_notify_stop(serve_notify *notify);

#endif
