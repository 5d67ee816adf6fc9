/* part_claims.h - assigns parts to workers, so that two workers do not make the same part.
 *
 *   unclaimed --srv_claims_ask--> made by a worker --srv_claims_end (put) or srv_claims_leave--> unclaimed
 *
 * If a part is in progress, the worker that asked makes its other parts first. When nothing else is left, it
 * asks to wait. It then makes nothing itself, so two workers never wait for each other. A worker has at most
 * 4,096 claims; further parts are made without one. */
#ifndef WORKER_PART_CLAIMS_H
#define WORKER_PART_CLAIMS_H

#include "../../core/base/base.h"

typedef struct srv_claim {
	uint8_t key[32];
	uint32_t worker;
	bool waits; /* waits for the worker that makes the part */
} srv_claim;

typedef struct srv_claims {
	srv_claim *items;
	uint32_t count, capacity;
} srv_claims;

typedef enum srv_claim_answer {
	SRV_CLAIM_MAKE,		 /* the worker that asked makes the part */
	SRV_CLAIM_ELSEWHERE, /* another worker makes the part */
	SRV_CLAIM_WAIT		 /* the same; the caller is answered later and stored as waiting */
} srv_claim_answer;

/* Asks for an unknown part. With `wait`, the worker releases its other claims. */
srv_claim_answer srv_claims_ask(srv_claims *claims, uint32_t worker, const uint8_t key[32], bool wait);

/* Marks a part as being stored: it stays claimed until srv_claims_end, even if its maker ends. */
void srv_claims_store(srv_claims *claims, const uint8_t key[32]);

/* Removes a claim, when the part is stored or its maker failed. */
void srv_claims_end(srv_claims *claims, const uint8_t key[32]);

/* Removes the claims and the waiting entry of a worker whose job is over. */
void srv_claims_leave(srv_claims *claims, uint32_t worker);

/* Removes and returns a worker that waits for a part which nobody makes any more; false if there is none. */
bool srv_claims_next(srv_claims *claims, uint32_t *worker, uint8_t key[32]);

void srv_claims_release(srv_claims *claims);

#endif
