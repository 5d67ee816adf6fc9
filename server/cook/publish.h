/* publish.h - what leaves the loop, at the end of a turn and in this order: rows are committed, the view is
 * shown, events are sent, of many some in later turns. So whoever hears of something finds it: in the index,
 * in the view, by any question.
 *
 * Loop thread. Rows and records of the view are put where they belong during the turn (`rows` and `view` say
 * that there are some); events wait here. */
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
	bool rows, view; /* something was put and is not committed, not shown */
	bool turning;
	srv_publish_item *items; /* events, oldest first; their texts one behind the other in `text` */
	uint32_t count, capacity;
	uint32_t sent; /* of `count` */
	size_t sent_size;
	hob_buf text;
} srv_publish;

/* Copies. `kind` is static text. Without memory the event is sent at once, behind those that wait. */
void srv_publish_event(srv_publish *p, const char *kind, hob_str asset, hob_str data);
/* Ends the turn; at most `events` leave in it, the rest in the next one. A commit that fails is logged, and
 * what is in memory is shown all the same: the next start cooks again what the index does not know.
 * show(user): makes the newest view; only called when `view` is set. True when it was. */
bool srv_publish_turn(srv_publish *p, void (*show)(void *user), void *user, uint32_t events);
/* Something of this turn is to be committed, or to be shown, at its end. */
void srv_publish_note_rows(srv_publish *p);
void srv_publish_note_view(srv_publish *p);
bool srv_publish_waits(const srv_publish *p); /* some events are still to be sent */
void srv_publish_release(srv_publish *p);

#endif
