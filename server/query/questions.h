/* questions.h - questions, answered beside the loop by a thread of their own: why, what-if, manifests, past jobs, histories, logs,
 * settings.
 *
 *   HTTP thread -- srv_query_post --> inbox [1024] --> the thread: view, then a read of the index --> control->answer
 *
 * Consistency: rows are committed before a view is shown, and a view before an event is sent. A question takes the newest view and
 * then begins to read, so who has heard of something finds at least that, and rows are never older than the view.
 *
 * Bounds: 1,024 questions wait, 2 s for reading the index, 20,000 rows looked at, 64 MiB an answer; then 503.
 *
 * Changes of sidecars run here, too: they change a file and no state of the loop, and one thread makes If-Match exact.
 * Must not know: HTTP, the loop, who asks. */
#ifndef SRV_QUERY_QUESTIONS_H
#define SRV_QUERY_QUESTIONS_H

#include "../control/control.h"
#include "../store/store.h"
#include "../view/view.h"

typedef struct srv_query srv_query;

enum { SRV_QUERY_WAITING_MAX = 1024 };

/* Starts the thread. Store and views must outlive it. Errors: MEMORY, INTERNAL (no thread). */
bool srv_query_new(srv_store *store, srv_views *views, srv_query **out, hob_error *err) HOB_MUST_CHECK;
/* Takes kinds from SRV_CONTROL_FIRST_QUESTION on. Any thread, until srv_query_close. A question that finds the inbox full is
 * answered with 503 at once. */
srv_control_port srv_query_port(srv_query *query);
/* Answers what waits with 503, ends the thread and frees. Before the store is closed. NULL is fine. */
void srv_query_close(srv_query *query);

#endif
