/* waiter.h - requests that wait for an asset, or for everything, each answered once.
 *
 *   srv_waiter_add ---> waits ---- srv_waiters_check, once a turn: done, late or closing ----> answered,
 *   removed */
#ifndef SRV_WAITER_H
#define SRV_WAITER_H

#include "../control/control.h"

#define SRV_WAITER_MARK (1ull << 63)

typedef struct srv_waiter {
	srv_control *control;
	uint64_t began_ms, deadline_ms; /* of the loop's clock */
	uint32_t asset;					/* HOB_NONE: for everything, as of `rounds` */
	bool final;						/* a preview is not enough */
	bool some_roots;				/* only the roots with a round */
	bool answered;
	uint32_t root_count;
	/* by root: number of scans that must be over; SRV_WAITER_MARK + n: the watch must pass its mark n; 0: not
	 * waited for. Then one number of the caller's, 0 at first. NULL: nothing is waited for but the asset. */
	uint64_t *rounds;
} srv_waiter;

typedef struct srv_waiters {
	srv_waiter *items;
	uint32_t count, capacity;
} srv_waiters;

typedef enum srv_waiter_end { SRV_WAITER_DONE, SRV_WAITER_LATE, SRV_WAITER_CLOSING } srv_waiter_end;

typedef struct srv_waiter_calls {
	void *user;
	bool (*is_done)(void *user, const srv_waiter *w);
	/* Answers w->control, which must not be used afterwards. Must not add a waiter. */
	void (*answer)(void *user, const srv_waiter *w, srv_waiter_end end);
} srv_waiter_calls;

/* control->timeout_ms counts from now, 0: a minute. rounds: copied; needed without an asset. False without
 * memory: the caller answers the control. */
bool srv_waiter_add(srv_waiters *waiters, srv_control *control, uint32_t asset, uint64_t now_ms,
					const uint64_t *rounds, uint32_t root_count) HOB_MUST_CHECK;
bool srv_waiters_has(const srv_waiters *waiters, uint32_t asset);
bool srv_waiter_wants_root(const srv_waiter *w, uint32_t root);
/* `scans`: number of finished scans, by root. */
bool srv_waiter_scans_over(const srv_waiter *w, const uint64_t *scans);
/* The watch passed the marks of the root up to `number`: their waiters wait for `rounds` finished scans
 * instead; 1 if the mark replaces a scan. */
void srv_waiters_pass(srv_waiters *waiters, uint32_t root, uint64_t number, uint64_t rounds);
/* Whether a waiter needs one more scan of the root. */
bool srv_waiters_want_scan(const srv_waiters *waiters, uint32_t root, const uint64_t *scans);
void srv_waiters_check(srv_waiters *waiters, uint64_t now_ms, bool closing, const srv_waiter_calls *calls);
void srv_waiters_release(srv_waiters *waiters); /* all are answered */

#endif
