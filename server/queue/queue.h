/* queue.h - the order in which assets are cooked. In memory only.
 *
 * A binary heap of assets (the caller's numbers), ordered by priority (schema/job_priorities.def), then
 * expected cost, then age. Assets that somebody uses or has saved come smallest first, so that many small
 * results do not wait behind a large one. Background cooks come largest first, so that the last one is not a
 * long cook on a single worker. Ageing: every 64th pop takes the oldest entry whatever its priority, so that
 * none starves. */
#ifndef SRV_QUEUE_H
#define SRV_QUEUE_H

#include "../../core/base/base.h"

typedef enum srv_priority {
#define JOB_PRIORITY(name, text, meaning) SRV_PRIORITY_##name,
#include "../../schema/job_priorities.def"
#undef JOB_PRIORITY
	SRV_PRIORITY_COUNT
} srv_priority;

const char *srv_priority_name(srv_priority priority); /* for example "used" */

typedef struct srv_queue srv_queue;

srv_queue *srv_queue_new(void);
void srv_queue_free(srv_queue *queue);
/* Adds the asset, or raises its priority if it is already queued. False without memory. */
bool srv_queue_push(srv_queue *queue, uint32_t asset, srv_priority priority, uint64_t cost);
bool srv_queue_remove(srv_queue *queue, uint32_t asset);
/* HOB_NONE if empty. */
uint32_t srv_queue_pop(srv_queue *queue, srv_priority *priority);
uint32_t srv_queue_count(const srv_queue *queue);
uint32_t srv_queue_count_of(const srv_queue *queue, srv_priority priority);
/* Priority of the next pop, without ageing; SRV_PRIORITY_COUNT if empty. */
srv_priority srv_queue_most_urgent(const srv_queue *queue);
/* Priority of a queued asset. */
srv_priority srv_queue_priority(const srv_queue *queue, uint32_t asset);
bool srv_queue_has(const srv_queue *queue, uint32_t asset);
/* Writes up to `room` assets in the order in which they would run (O(n log n)); returns their number. */
uint32_t srv_queue_peek(const srv_queue *queue, uint32_t *out, uint32_t room);

#endif
