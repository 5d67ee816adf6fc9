/* control.h - what the HTTP thread may ask of the loop thread.
 *
 * A request is a message: the HTTP thread fills it and posts it; the loop answers on its own time by calling
 * `answer` exactly once (on the loop thread), which only copies and wakes the HTTP thread. */
#ifndef SRV_CONTROL_H
#define SRV_CONTROL_H

#include "../../core/base/base.h"

typedef enum srv_control_kind {
	SRV_CONTROL_COOK,    /* asset: cook again; flag force: even if nothing changed */
	SRV_CONTROL_WAIT,    /* asset: answer when it is not queued or cooking any more, or after timeout_ms */
	SRV_CONTROL_CLASSIC, /* asset: make classic.* outputs if they do not exist yet */
	SRV_CONTROL_SYNC,    /* answer when every change made on disk before now is cooked or failed */
	SRV_CONTROL_JOBS,    /* answer JSON page of jobs: running, queued, recent */
	SRV_CONTROL_WHY,     /* asset: JSON explanation of the last cook */
	SRV_CONTROL_LOG      /* asset or job: text */
} srv_control_kind;

typedef struct srv_control {
	srv_control_kind kind;
	hob_str asset; /* "root/path"; owned by the poster until answered */
	uint64_t number, number2; /* job id, cursor, limit by kind */
	bool force;
	uint32_t timeout_ms;
	void *user;
	/* status: an HTTP status; body: JSON (or text for LOG), valid during the call only. */
	void (*answer)(struct srv_control *control, int status, hob_str body);
} srv_control;

typedef struct srv_control_port {
	void *user;
	void (*post)(void *user, srv_control *control); /* any thread */
} srv_control_port;

#endif
