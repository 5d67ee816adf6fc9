#include "events.h"

#include "../../core/base/array.h"
#include "../fs/fd.h"
#include "../fs/lock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { WAKERS_MAX = 40, RING_BYTES_MAX = 64 << 20 };

/* One allocation: the asset's name and the data follow the struct. */
typedef struct entry {
	const char *kind;
	uint32_t asset_len, data_len;
	char text[];
} entry;

struct srv_events {
	pthread_mutex_t lock;
	char *epoch;
	uint64_t newest; /* seq of the newest event */
	uint32_t count;	 /* events newest - count + 1 .. newest are in the ring */
	uint32_t capacity;
	size_t bytes;
	entry **ring; /* event `seq` is at index seq % capacity */
	struct {
		int fd;
		bool waits;
	} wakers[WAKERS_MAX];
	uint32_t waker_count;
	atomic_uint listeners;
	srv_uses *uses;
};

srv_events *srv_events_new(const char *epoch, uint64_t first_seq, uint32_t capacity)
{
	assert(capacity > 0);
	srv_events *events = hob_must(calloc(1, sizeof *events));
	pthread_mutex_init(&events->lock, NULL);
	events->epoch = hob_must(strdup(epoch));
	events->newest = first_seq;
	events->capacity = capacity;
	events->ring = hob_must(calloc(capacity, sizeof *events->ring));
	events->uses = hob_must(srv_uses_new());
	return events;
}

void srv_events_free(srv_events *events)
{
	if (!events)
		return;
	for (uint32_t i = 0; i < events->capacity; i++)
		free(events->ring[i]);
	free(events->ring);
	srv_uses_free(events->uses);
	free(events->epoch);
	pthread_mutex_destroy(&events->lock);
	free(events);
}

const char *srv_events_epoch(const srv_events *events)
{
	return events->epoch;
}

static size_t entry_size(const entry *e)
{
	return sizeof *e + e->asset_len + e->data_len;
}

static entry **slot(const srv_events *events, uint64_t seq)
{
	return &events->ring[seq % events->capacity];
}

static void drop_oldest(srv_events *events)
{
	entry **oldest = slot(events, events->newest - events->count + 1);
	events->bytes -= entry_size(*oldest);
	free(*oldest);
	*oldest = NULL;
	events->count--;
}

uint64_t srv_events_publish(srv_events *events, const char *kind, hob_str asset, hob_str data)
{
	assert(asset.len < RING_BYTES_MAX && data.len < RING_BYTES_MAX);
	entry *e = hob_must(malloc(sizeof *e + asset.len + data.len));
	e->kind = kind;
	e->asset_len = (uint32_t)asset.len;
	e->data_len = (uint32_t)data.len;
	if (asset.len > 0)
		memcpy(e->text, asset.data, asset.len);
	if (data.len > 0)
		memcpy(e->text + asset.len, data.data, data.len);

	SRV_LOCKED(&events->lock);
	while (events->count > 0 &&
		   (events->count == events->capacity || events->bytes + entry_size(e) > RING_BYTES_MAX))
		drop_oldest(events);
	uint64_t seq = ++events->newest;
	*slot(events, seq) = e;
	events->count++;
	events->bytes += entry_size(e);
	for (uint32_t i = 0; i < events->waker_count; i++) {
		if (events->wakers[i].waits)
			srv_wake(events->wakers[i].fd);
		events->wakers[i].waits = false;
	}
	return seq;
}

uint64_t srv_events_newest(srv_events *events)
{
	SRV_LOCKED(&events->lock);
	return events->newest;
}

uint64_t srv_events_oldest(srv_events *events)
{
	SRV_LOCKED(&events->lock);
	return events->newest - events->count + 1;
}

bool srv_events_read(srv_events *events, uint64_t since, uint32_t limit,
					 void (*each)(void *user, const srv_event *event), void *user)
{
	SRV_LOCKED(&events->lock);
	uint64_t before_oldest = events->newest - events->count;
	bool complete = since >= before_oldest && since <= events->newest;
	if (complete) {
		uint64_t left = events->newest - since;
		uint64_t last = since + (left < limit ? left : limit);
		for (uint64_t seq = since + 1; seq <= last; seq++) {
			const entry *e = *slot(events, seq);
			srv_event event = {seq, e->kind, {e->text, e->asset_len}, {e->text + e->asset_len, e->data_len}};
			each(user, &event);
		}
	}
	return complete;
}

void srv_events_add_waker(srv_events *events, int eventfd)
{
	SRV_LOCKED(&events->lock);
	assert(events->waker_count < WAKERS_MAX);
	events->wakers[events->waker_count++].fd = eventfd;
}

void srv_events_await(srv_events *events, int eventfd)
{
	SRV_LOCKED(&events->lock);
	for (uint32_t i = 0; i < events->waker_count; i++)
		events->wakers[i].waits = events->wakers[i].waits || events->wakers[i].fd == eventfd;
}

void srv_events_remove_waker(srv_events *events, int eventfd)
{
	SRV_LOCKED(&events->lock);
	for (uint32_t i = 0; i < events->waker_count; i++)
		if (events->wakers[i].fd == eventfd) {
			events->wakers[i] = events->wakers[--events->waker_count];
			events->wakers[events->waker_count].waits = false;
			break;
		}
}

void srv_events_join(srv_events *events)
{
	events->listeners++;
}

void srv_events_leave(srv_events *events)
{
	events->listeners--;
}

uint32_t srv_events_listeners(const srv_events *events)
{
	return events->listeners;
}

srv_uses *srv_events_uses(srv_events *events)
{
	return events->uses;
}
