/* carry.h - shared by the loop's side and the threads of an upstream: orders, lists of orders, the state.
 * upstream.c makes orders and reports results; carry.c executes them. An order is in one list at a time. In
 * `done`, it belongs to the loop again. */
#ifndef SRV_CARRY_H
#define SRV_CARRY_H

#include "exchange.h"
#include "outbox.h"
#include "upstream.h"

#include "../../core/base/array.h"
#include "../fs/clock.h"

enum { SRV_CARRIERS = 4, SRV_WISH_ARENA = 64 << 20 };

typedef enum order_kind { ORDER_FIND, ORDER_FETCH, ORDER_BLOB, ORDER_CLAIM } order_kind;

typedef struct order {
	struct order *next;		  /* waiting, or done */
	struct order *next_alive; /* the loop's list */
	order_kind kind;
	void *user;
	uint64_t deadline; /* uv_now; 0: none */
	bool told;		   /* its callback was called; only to be freed */
	bool reached;
	/* find */
	srv_upstream_found *found;
	hob_sha256 lookup, source;
	hob_arena arena;
	hob_str inputs, via;
	srv_record *records;
	uint32_t count;
	/* fetch */
	srv_upstream_fetched *fetched;
	const srv_record *record;
	char author[SRV_FARM_NAME];
	/* claim of `lookup`; NULL if no caller waits */
	srv_upstream_claimed *claimed;
	srv_upstream_verdict verdict;
	uint32_t seen;
	bool held;		 /* another machine had the lease when last asked */
	int64_t look_at; /* parked: time of the next request */
	char what[160];
} order;

typedef struct line {
	order *first, **last;
} line;

/* A lease of this machine. */
typedef struct lease {
	bool asked; /* the claim is in progress; otherwise the lease is held */
	bool left;	/* set by the loop: release it as soon as it is held */
	bool given; /* the result of the cook is in the outbox */
	bool heard; /* while `asked`: a notification of its result arrived */
} lease;

typedef struct carrier {
	srv_upstream *upstream;
	pthread_t thread;
	srv_exchange exchange;
} carrier;

struct srv_upstream {
	srv_upstream_options options;
	char *url, *token;
	char epoch[32];
	srv_store *store;
	uv_loop_t *loop;
	uv_async_t wake;
	uv_timer_t timer;
	uint32_t handles, thread_count;
	order *alive; /* loop only: all orders that are not freed */
	void (*closed)(void *user);
	void *closed_user;
	carrier carriers[SRV_CARRIERS];
	/* under the lock: */
	pthread_mutex_t lock;
	pthread_cond_t work;
	line finds, fetches, done;
	/* a farm: */
	srv_farm *farm;
	pthread_t keeper;
	bool has_keeper, claiming, leaving;
	bool counts_back;	 /* the heartbeat in progress counts only machines that came back since the outage */
	line claims, parked; /* `parked`: another machine cooks these */
	digest_map leases;
	srv_outbox outbox;
	srv_upstream_facts facts;
	hob_buf machines; /* the newest list; empty: none yet */
	int64_t machines_at;
	bool machines_wanted;
	bool closing, finding, giving, probing;
	bool announcing; /* the outbox is being announced, from announce_cursor on; nothing is given meanwhile */
	size_t announce_cursor;
	int64_t away_at, full_at;
	int64_t away_ms;						  /* length of the last outage; 0: all machines are back */
	int64_t finding_since, retry_at, give_at; /* monotonic ms */
	uint32_t backoff_ms, full_ms;
	uint64_t recent;	/* the last answers while UP, the newest in bit 0; 1: it failed */
	uint32_t steady;	/* good probes in a row */
	size_t give_cursor; /* position in the outbox: one that must wait does not delay the others */
	bool proved;		/* a blob named by a record was found: this is the right store */
	/* averages of fetches: latency per blob, and bytes per ms after it; 0: unknown */
	double blob_ms, bytes_per_ms;
	unsigned chance;
};

void srv_line_init(line *l);
void srv_line_push(line *l, order *o);
order *srv_line_pop(line *l); /* NULL: it is empty */

/* Lock held: counts the result of a call. */
void srv_carry_note(srv_upstream *upstream, const hob_error *error, srv_exchange_end end);
void srv_carry_note_answer(srv_upstream *upstream); /* a call that is not counted otherwise has an answer */
bool srv_carry_is_up(const srv_upstream *upstream);
bool srv_carry_is_apart(const srv_upstream *upstream);

/* farm_claim.c: leases. Lock held; released while they ask. */
bool srv_carry_claims(carrier *carrier); /* one step; false: idle */
/* Ends the lease of `lookup`. there: the database has ended it, with the result; otherwise it is released, so
 * that no machine waits for a result that may never come. */
void srv_carry_given(srv_upstream *upstream, const hob_sha256 *lookup, bool there);
/* Claims lookups that were cooked during the outage and are in the outbox, so that other machines wait. */
void srv_carry_announce(srv_upstream *upstream);
/* Releases the leases of results in the outbox, which will not arrive soon; while FAILING, all leases. */
void srv_carry_leave_given(srv_upstream *upstream);
void srv_carry_is_full(srv_upstream *upstream, const char *reason); /* retries later */
/* full for too long: other machines need not wait for the outbox */
void srv_carry_stays_full(srv_upstream *upstream);
void srv_carry_forget_claims(srv_upstream *upstream); /* claims in progress */
void *srv_carry_keep(void *upstream);				  /* the keeper's thread */

/* Thread of a carrier: executes waiting orders until `closing`. */
void *srv_carry(void *carrier);
/* Lock held: answers all waiting orders with nothing. */
void srv_carry_fail_all(srv_upstream *upstream, line *l);

#endif
