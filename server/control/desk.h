/* desk.h - a thread that answers messages, one after another. */
#ifndef SRV_CONTROL_DESK_H
#define SRV_CONTROL_DESK_H

#include "control.h"

typedef struct srv_desk srv_desk;

/* Starts the thread, which calls `answer` for each message. what: "questions", for errors and refusals; most:
 * how many may wait. Errors: INTERNAL (no thread). */
bool srv_desk_new(const char *what, uint32_t most, void (*answer)(void *user, srv_control *control),
				  void *user, srv_desk **out, hob_error *err) HOB_MUST_CHECK;
/* Accepts messages until srv_desk_close, from any thread. If too many wait, the answer is 503 at once. */
srv_control_port srv_desk_port(srv_desk *desk);
/* Ends the thread after the message at hand, answers those that wait with 503, and frees. NULL is allowed. */
void srv_desk_close(srv_desk *desk);

#endif
