/* part_claims.h - which worker is making which part, so that no part is made twice at once.
 *
 *   nobody's --srv_claims_ask--> made by a worker --srv_claims_end (put) or srv_claims_leave--> nobody's
 *
 * A worker that asks for a part in progress makes the rest of its own first. When it has nothing
 * else left it asks to wait: by then it makes nothing itself, so that no two can wait for each other. */
#ifndef WORKER_PART_CLAIMS_H
#define WORKER_PART_CLAIMS_H

#include "../../core/base/base.h"

typedef struct srv_claim {
	uint8_t key[32];
	uint32_t worker;
	bool waits; /* for the one who makes it */
} srv_claim;

typedef struct srv_claims {
	srv_claim *items;
	uint32_t count, capacity;
} srv_claims;

typedef enum srv_claim_answer {
	SRV_CLAIM_MAKE,		 /* it is the asker's to make */
	SRV_CLAIM_ELSEWHERE, /* another makes it */
	SRV_CLAIM_WAIT		 /* the same, and the caller is answered later: it is kept as waiting */
} srv_claim_answer;

/* A part that is not known is asked for. With `wait` the worker gives up whatever else it claimed. */
srv_claim_answer srv_claims_ask(srv_claims *claims, uint32_t worker, const uint8_t key[32], bool wait);

/* The part is made and is being stored: it stays claimed until srv_claims_end, whatever becomes of its maker. */
void srv_claims_store(srv_claims *claims, const uint8_t key[32]);

/* The part is there, or its maker gave up: takes the claim away. */
void srv_claims_end(srv_claims *claims, const uint8_t key[32]);

/* The worker's job is over: takes all away that it claimed or waited for. */
void srv_claims_leave(srv_claims *claims, uint32_t worker);

/* Removes a worker that waits for a part which is no longer being made; false when there is none. */
bool srv_claims_next(srv_claims *claims, uint32_t *worker, uint8_t key[32]);

void srv_claims_release(srv_claims *claims);

#endif
