/* publish.h - output of the loop, at the end of a turn and in this order: rows are committed, the view is
 * shown, events are sent (many events over several turns). So a client that receives an event finds its data
 * in the index, in the view, by any request.
 *
 * Loop thread. Rows and records of the view are written during the turn (`rows` and `view` say that there are
 * some); events wait here. */
#ifndef SRV_PUBLISH_H
#define SRV_PUBLISH_H

#include "../events/events.h"
#include "../store/store.h"

typedef struct srv_publish_item {
	const char *kind; /* static text */
	size_t asset_size, size;
} srv_publish_item;

typedef struct srv_publish {
	srv_store *store;
	srv_events *events;
	/* Set by who writes them: rows are not committed, the view is not shown; somebody may wait for them. */
	bool rows, view, prompt;
	bool turning;
	srv_publish_item *items; /* events, oldest first; their texts are consecutive in `text` */
	uint32_t count, capacity;
	uint32_t sent; /* of `count` */
	size_t sent_size;
	hob_buf text;
} srv_publish;

/* Copies all but the static `kind`. Without memory, sends the event and all waiting ones at once. */
void srv_publish_event(srv_publish *p, const char *kind, hob_str asset, hob_str data);
/* Ends the turn; at most `events` are sent, the rest in the next one. A failed commit is logged, and the
 * state in memory is shown anyway: the next start cooks again what the index lacks. show(user): makes the
 * newest view; only called when `view` is set. True when it was. */
bool srv_publish_turn(srv_publish *p, void (*show)(void *user), void *user, uint32_t events);
bool srv_publish_waits(const srv_publish *p); /* some events are still to be sent */
void srv_publish_release(srv_publish *p);

#endif
