#include "queue.h"

#include "../../core/base/array.h"

#include <assert.h>
#include <stdlib.h>

enum { AGEING = 64 };

typedef struct entry {
	uint32_t asset, priority;
	uint64_t cost, age;
} entry;

struct srv_queue {
	entry *heap;
	uint32_t count, capacity;
	uint32_t *position; /* [asset]: index + 1, 0: not queued */
	uint32_t position_capacity;
	uint64_t next_age, pops;
	uint32_t counts[SRV_PRIORITY_COUNT];
};

const char *srv_priority_name(srv_priority priority)
{
	static const char *const names[] = {
#define JOB_PRIORITY(name, text, meaning) text,
#include "../../schema/job_priorities.def"
#undef JOB_PRIORITY
	};
	return names[priority];
}

srv_queue *srv_queue_new(void)
{
	return calloc(1, sizeof(srv_queue));
}

void srv_queue_free(srv_queue *queue)
{
	if (!queue)
		return;
	free(queue->heap);
	free(queue->position);
	free(queue);
}

static bool before(const entry *a, const entry *b)
{
	if (a->priority != b->priority)
		return a->priority < b->priority;
	if (a->cost != b->cost)
		return a->priority == SRV_PRIORITY_BACKGROUND ? a->cost > b->cost : a->cost < b->cost;
	return a->age < b->age;
}

static void place(srv_queue *queue, uint32_t at, entry e)
{
	queue->heap[at] = e;
	queue->position[e.asset] = at + 1;
}

static void rise(srv_queue *queue, uint32_t at)
{
	entry e = queue->heap[at];
	while (at > 0 && before(&e, &queue->heap[(at - 1) / 2])) {
		place(queue, at, queue->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	place(queue, at, e);
}

static void sink(srv_queue *queue, uint32_t at)
{
	entry e = queue->heap[at];
	for (;;) {
		uint32_t child = at * 2 + 1;
		if (child >= queue->count)
			break;
		if (child + 1 < queue->count && before(&queue->heap[child + 1], &queue->heap[child]))
			child++;
		if (!before(&queue->heap[child], &e))
			break;
		place(queue, at, queue->heap[child]);
		at = child;
	}
	place(queue, at, e);
}

static bool reserve(srv_queue *queue, uint32_t asset)
{
	if (asset >= queue->position_capacity) {
		uint32_t capacity = queue->position_capacity ? queue->position_capacity : 256;
		while (capacity <= asset)
			capacity *= 2;
		uint32_t *position = realloc(queue->position, capacity * sizeof *position);
		if (!position)
			return false;
		memset(position + queue->position_capacity, 0,
			   (capacity - queue->position_capacity) * sizeof *position);
		queue->position = position;
		queue->position_capacity = capacity;
	}
	return HOB_ROOM(queue->heap, queue->capacity, queue->count);
}

bool srv_queue_has(const srv_queue *queue, uint32_t asset)
{
	return asset < queue->position_capacity && queue->position[asset] != 0;
}

bool srv_queue_push(srv_queue *queue, uint32_t asset, srv_priority priority, uint64_t cost)
{
	if (srv_queue_has(queue, asset)) {
		entry *known = &queue->heap[queue->position[asset] - 1];
		if ((uint32_t)priority < known->priority) {
			queue->counts[known->priority]--;
			queue->counts[priority]++;
			known->priority = priority;
			rise(queue, queue->position[asset] - 1);
		}
		return true;
	}
	if (!reserve(queue, asset))
		return false;
	queue->heap[queue->count] = (entry){asset, priority, cost, queue->next_age++};
	queue->counts[priority]++;
	rise(queue, queue->count++);
	return true;
}

static entry take(srv_queue *queue, uint32_t at)
{
	entry e = queue->heap[at];
	queue->position[e.asset] = 0;
	queue->counts[e.priority]--;
	if (at != --queue->count) {
		place(queue, at, queue->heap[queue->count]);
		sink(queue, at);
		rise(queue, queue->position[queue->heap[at].asset] - 1);
	}
	return e;
}

bool srv_queue_remove(srv_queue *queue, uint32_t asset)
{
	if (!srv_queue_has(queue, asset))
		return false;
	take(queue, queue->position[asset] - 1);
	return true;
}

uint32_t srv_queue_pop(srv_queue *queue, srv_priority *priority)
{
	if (queue->count == 0)
		return HOB_NONE;
	uint32_t at = 0;
	if (++queue->pops % AGEING == 0)
		for (uint32_t i = 1; i < queue->count; i++)
			if (queue->heap[i].age < queue->heap[at].age)
				at = i;
	entry e = take(queue, at);
	if (priority)
		*priority = (srv_priority)e.priority;
	return e.asset;
}

uint32_t srv_queue_count(const srv_queue *queue)
{
	return queue->count;
}

uint32_t srv_queue_count_of(const srv_queue *queue, srv_priority priority)
{
	return queue->counts[priority];
}

srv_priority srv_queue_most_urgent(const srv_queue *queue)
{
	return queue->count > 0 ? (srv_priority)queue->heap[0].priority : SRV_PRIORITY_COUNT;
}

srv_priority srv_queue_priority(const srv_queue *queue, uint32_t asset)
{
	assert(srv_queue_has(queue, asset));
	return (srv_priority)queue->heap[queue->position[asset] - 1].priority;
}

static int compare(const void *a, const void *b)
{
	return before(a, b) ? -1 : 1;
}

uint32_t srv_queue_peek(const srv_queue *queue, uint32_t *out, uint32_t room)
{
	hob_own entry *sorted = malloc((queue->count + 1) * sizeof *sorted);
	if (!sorted)
		return 0;
	if (queue->count > 0)
		memcpy(sorted, queue->heap, queue->count * sizeof *sorted);
	qsort(sorted, queue->count, sizeof *sorted, compare);
	uint32_t count = queue->count < room ? queue->count : room;
	for (uint32_t i = 0; i < count; i++)
		out[i] = sorted[i].asset;
	return count;
}
