#include "waiter.h"

#include "../../core/base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 60000 };

bool srv_waiter_add(srv_waiters *waiters, srv_control *control, uint32_t asset, uint64_t now_ms,
					const uint64_t *rounds, uint32_t root_count)
{
	assert(control && (asset != HOB_NONE || rounds));
	if (!HOB_ROOM(waiters->items, waiters->capacity, waiters->count))
		return false;
	srv_waiter w = {.control = control,
					.began_ms = now_ms,
					.deadline_ms = now_ms + (control->timeout_ms ? control->timeout_ms : TIMEOUT_MS),
					.asset = asset,
					.final = control->force,
					.root_count = root_count};
	if (rounds) {
		w.rounds = malloc((root_count + 1) * sizeof *w.rounds);
		if (!w.rounds)
			return false;
		memcpy(w.rounds, rounds, root_count * sizeof *rounds);
		w.rounds[root_count] = 0;
	}
	for (uint32_t i = 0; rounds && i < root_count; i++)
		w.some_roots = w.some_roots || rounds[i] == 0;
	waiters->items[waiters->count++] = w;
	return true;
}

bool srv_waiters_has(const srv_waiters *waiters, uint32_t asset)
{
	assert(asset != HOB_NONE);
	for (uint32_t i = 0; i < waiters->count; i++)
		if (waiters->items[i].asset == asset)
			return true;
	return false;
}

bool srv_waiter_wants_root(const srv_waiter *w, uint32_t root)
{
	assert(w->rounds && root < w->root_count);
	return w->rounds[root] > 0;
}

bool srv_waiter_scans_over(const srv_waiter *w, const uint64_t *scans)
{
	for (uint32_t i = 0; w->rounds && i < w->root_count; i++)
		if (scans[i] < w->rounds[i])
			return false;
	return true;
}

void srv_waiters_pass(srv_waiters *waiters, uint32_t root, uint64_t number, uint64_t rounds)
{
	assert(number > 0 && rounds > 0 && rounds < SRV_WAITER_MARK);
	for (uint32_t i = 0; i < waiters->count; i++) {
		uint64_t *of = waiters->items[i].rounds;
		if (of && of[root] > SRV_WAITER_MARK && of[root] <= SRV_WAITER_MARK + number)
			of[root] = rounds;
	}
}

bool srv_waiters_want_scan(const srv_waiters *waiters, uint32_t root, const uint64_t *scans)
{
	for (uint32_t i = 0; i < waiters->count; i++) {
		const uint64_t *of = waiters->items[i].rounds;
		if (of && of[root] < SRV_WAITER_MARK && scans[root] < of[root])
			return true;
	}
	return false;
}

static void end(srv_waiter *w, srv_waiter_end how, const srv_waiter_calls *calls)
{
	assert(!w->answered && "a waiter is answered once");
	w->answered = true;
	calls->answer(calls->user, w, how);
	free(w->rounds);
	w->rounds = NULL;
	w->control = NULL;
}

void srv_waiters_check(srv_waiters *waiters, uint64_t now_ms, bool closing, const srv_waiter_calls *calls)
{
	uint32_t kept = 0, count = waiters->count;
	for (uint32_t i = 0; i < count; i++) {
		srv_waiter *w = &waiters->items[i];
		if (closing)
			end(w, SRV_WAITER_CLOSING, calls);
		else if (calls->is_done(calls->user, w))
			end(w, SRV_WAITER_DONE, calls);
		else if (now_ms >= w->deadline_ms)
			end(w, SRV_WAITER_LATE, calls);
		else
			waiters->items[kept++] = *w;
	}
	assert(waiters->count == count && "no new waiter while waiters are answered");
	waiters->count = kept;
}

void srv_waiters_release(srv_waiters *waiters)
{
	assert(waiters->count == 0);
	free(waiters->items);
	*waiters = (srv_waiters){0};
}
