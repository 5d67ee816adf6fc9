/* events.h - the change log: numbered events for all listeners.
 *
 * The loop thread publishes; any number of readers on other threads read by number. The log keeps the newest
 * events in memory (a ring, at most `capacity` events and 64 MiB); a reader that asks for an older event
 * learns where the ring begins and gets a `reset`. Ids are "<epoch>.<seq>": an id from another database is
 * answered with a reset, never with silence.
 *
 * Two numbers: `rev` counts published changes of assets (it is stored); `seq` numbers every event of this
 * log, including transient ones (jobs). SSE ids contain seq; data contains rev. The ring does not survive a
 * restart, so a new log must begin above every seq of former runs with the same epoch: otherwise an old id
 * would look current, and its client would silently miss the events between. Begin at max(last rev,
 * milliseconds since 1970). */
#ifndef SRV_EVENTS_H
#define SRV_EVENTS_H

#include "../../core/base/base.h"

#include "uses.h"

typedef struct srv_events srv_events;

typedef struct srv_event {
	uint64_t seq;
	const char *kind; /* "asset", "job", "log", "reset", "root": static text */
	hob_str asset;	  /* "root/path" for filters; empty: not about one asset */
	hob_str data;	  /* one line of JSON */
} srv_event;

/* `epoch` is copied. first_seq: numbers start above it. `capacity`: most events kept, e.g. 16384. */
srv_events *srv_events_new(const char *epoch, uint64_t first_seq, uint32_t capacity);
void srv_events_free(srv_events *events); /* NULL is allowed */
const char *srv_events_epoch(const srv_events *events);

/* Loop thread. Copies; wakes the readers that wait with one write to the eventfd of each. Returns the seq.
 * `kind` must be static text; asset and data are below 64 MiB each. */
uint64_t srv_events_publish(srv_events *events, const char *kind, hob_str asset, hob_str data);

/* Any thread. The newest seq published (or first_seq); the oldest seq in the ring (newest + 1 if empty). */
uint64_t srv_events_newest(srv_events *events);
uint64_t srv_events_oldest(srv_events *events);

/* Any thread. Calls each(user, event) for at most `limit` events in the ring with seq > since, in order,
 * under the log's lock (so `each` must only copy). Returns false without a call if events after `since` have
 * been dropped, or if `since` is not published yet: the reader must resync. O(events). */
bool srv_events_read(srv_events *events, uint64_t since, uint32_t limit,
					 void (*each)(void *user, const srv_event *event), void *user);

/* Registers a non-blocking eventfd, at most 40 in all. srv_events_await: the next event writes 8 bytes to it,
 * once; a reader asks before it looks for what is there, so that none comes between. No write follows its
 * removal. Any thread. */
void srv_events_add_waker(srv_events *events, int eventfd);
void srv_events_await(srv_events *events, int eventfd);
void srv_events_remove_waker(srv_events *events, int eventfd);

/* Counts the clients that read the log: each event stream joins at its start and leaves at its end. Any
 * thread. */
void srv_events_join(srv_events *events);
void srv_events_leave(srv_events *events);
uint32_t srv_events_listeners(const srv_events *events);
/* The record of assets in use by connected clients; lives as long as the log. */
srv_uses *srv_events_uses(srv_events *events);

#endif
