/* control.h - what the HTTP thread may ask of the loop thread.
 *
 * A request is a message: the HTTP thread fills it and posts it; the loop answers on its own time by calling
 * `answer` exactly once, which only copies and wakes the HTTP thread. `answer` may be called inside `post`,
 * from any thread, and after srv_http_stop (it is dropped then): every control must be answered, also at
 * shutdown. What an answer makes visible (new outputs, a new state) must be published in the views before it
 * is given.
 *
 * Answers with status >= 400 and a body that is not empty: the body is {"code":...,"detail":...,"hint":...},
 * members optional; the HTTP side makes a problem of it. */
#ifndef SRV_CONTROL_H
#define SRV_CONTROL_H

#include "../../core/base/base.h"

typedef enum srv_control_kind {
	SRV_CONTROL_COOK, /* asset: cook again; flag force: even if nothing changed. 202 {"job":991}, 409 */
	SRV_CONTROL_WAIT, /* asset: answer when it is not queued or cooking any more, or shows its preview unless the flag
					   * force wants the final cook, or after timeout_ms. 200 */
	SRV_CONTROL_CLASSIC, /* asset: make classic.* outputs if they do not exist yet. 200, or 404, 422 ... */
	SRV_CONTROL_SYNC, /* answer when every change made on disk before now is cooked or failed, or timeout_ms
					   * is over. 200 {"rev":4182,"failed":["art/a.glb"]}, 504 */
	SRV_CONTROL_JOBS, /* number: only ids below (0 = newest), number2: limit, asset: only of it unless empty.
					   * 200 {"items":[...],"next":id or null}, newest first, queued and running before
					   * finished */
	SRV_CONTROL_WHY,  /* asset: JSON explanation of the last cook. 200, 404 */
	SRV_CONTROL_LOG,  /* asset, or job `number` when it is not 0: text of the log. 200, 404 */
	SRV_CONTROL_JOB	  /* number: JSON of one job. 200, 404 */
} srv_control_kind;

typedef struct srv_control {
	srv_control_kind kind;
	hob_str asset;			  /* "root/path"; owned by the poster until answered */
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
