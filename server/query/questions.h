/* questions.h - answers questions on a thread of its own, not in the loop: lists of assets, findings and
 * textures, why, what-if, manifests, past jobs, histories, logs, settings.
 *
 * HTTP thread -- srv_query_port --> inbox [1024] --> the thread: view, then index --> control->answer
 *
 * Consistency: rows are committed before a view is published, and a view before an event is sent. The thread
 * takes the newest view before it reads the index, so a client finds at least what events have announced, and
 * rows are never older than the view.
 *
 * Bounds: 1,024 waiting questions, 2 s for reading the index, 20,000 rows, 64 MiB per answer; beyond that
 * 503.
 *
 * Changes of sidecars also run here: they change a file but no state of the loop, and a single thread makes
 * If-Match exact. Must not know: HTTP, the loop, the client. */
#ifndef SRV_QUERY_QUESTIONS_H
#define SRV_QUERY_QUESTIONS_H

#include "../control/control.h"
#include "../store/store.h"
#include "../view/view.h"

typedef struct srv_query srv_query;

enum { SRV_QUERY_WAITING_MAX = 1024 };

/* Starts the thread. Store and views must outlive it. Errors: MEMORY, INTERNAL (no thread). */
bool srv_query_new(srv_store *store, srv_views *views, srv_query **out, hob_error *err) HOB_MUST_CHECK;
/* Accepts kinds from SRV_CONTROL_FIRST_QUESTION on. Any thread, until srv_query_close. If the inbox is full,
 * the answer is 503 at once. */
srv_control_port srv_query_port(srv_query *query);
/* Answers waiting questions with 503, ends the thread and frees. To be called before the store is closed.
 * NULL is allowed. */
void srv_query_close(srv_query *query);

#endif
