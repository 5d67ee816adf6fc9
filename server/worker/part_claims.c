#include "part_claims.h"

#include "../../core/base/array.h"

#include <stdlib.h>

enum { CLAIMS_MAX = 1 << 16, CLAIMS_OF_ONE_MAX = 4096 };

static void take_out(srv_claims *claims, uint32_t i)
{
	claims->items[i] = claims->items[--claims->count];
}

static bool is_made(const srv_claims *claims, const uint8_t key[32])
{
	for (uint32_t i = 0; i < claims->count; i++)
		if (!claims->items[i].waits && memcmp(claims->items[i].key, key, 32) == 0)
			return true;
	return false;
}

static uint32_t count_of(const srv_claims *claims, uint32_t worker)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < claims->count; i++)
		count += claims->items[i].worker == worker;
	return count;
}

/* Adds a claim if there is room; otherwise the part may be made twice, and no worker waits for it. */
static bool add(srv_claims *claims, const srv_claim *claim)
{
	if (claims->count == CLAIMS_MAX || count_of(claims, claim->worker) >= CLAIMS_OF_ONE_MAX ||
		!HOB_ROOM(claims->items, claims->capacity, claims->count))
		return false;
	claims->items[claims->count++] = *claim;
	return true;
}

srv_claim_answer srv_claims_ask(srv_claims *claims, uint32_t worker, const uint8_t key[32], bool wait)
{
	srv_claim claim = {.worker = worker};
	memcpy(claim.key, key, sizeof claim.key);
	if (wait)
		srv_claims_leave(claims, worker);
	claim.waits = is_made(claims, key);
	if (claim.waits && !wait)
		return SRV_CLAIM_ELSEWHERE;
	bool kept = add(claims, &claim);
	return claim.waits && kept ? SRV_CLAIM_WAIT : SRV_CLAIM_MAKE;
}

void srv_claims_store(srv_claims *claims, const uint8_t key[32])
{
	for (uint32_t i = 0; i < claims->count; i++)
		if (!claims->items[i].waits && memcmp(claims->items[i].key, key, 32) == 0)
			claims->items[i].worker = HOB_NONE;
}

void srv_claims_end(srv_claims *claims, const uint8_t key[32])
{
	for (uint32_t i = claims->count; i-- > 0;)
		if (!claims->items[i].waits && memcmp(claims->items[i].key, key, 32) == 0)
			take_out(claims, i);
}

void srv_claims_leave(srv_claims *claims, uint32_t worker)
{
	for (uint32_t i = claims->count; i-- > 0;)
		if (claims->items[i].worker == worker)
			take_out(claims, i);
}

bool srv_claims_next(srv_claims *claims, uint32_t *worker, uint8_t key[32])
{
	for (uint32_t i = 0; i < claims->count; i++) {
		const srv_claim *claim = &claims->items[i];
		if (!claim->waits || is_made(claims, claim->key))
			continue;
		*worker = claim->worker;
		memcpy(key, claim->key, sizeof claim->key);
		take_out(claims, i);
		return true;
	}
	return false;
}

void srv_claims_release(srv_claims *claims)
{
	free(claims->items);
	*claims = (srv_claims){0};
}
