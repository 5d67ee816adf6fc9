#include "carry.h"

#include "../log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Leases on a farm. A claim goes:   claims -> asked -> mine | again -> done
 *                                     ^         \-> held -> parked -\
 *                                     \---- heard of it, or time ---/   */

enum {
	CLAIMS_MAX = 64,
	LEAVES_MAX = 256,
	LOOK_MS = 5000, /* maximum interval of asking about a parked claim, without a notification */
	LISTEN_MS = 500,
	LEASE_MAX_MS = 600000,
	EARLY_BEATS = 3, /* the first ones come early, so that machines that start together learn of each other */
	EARLY_MS = 1000
};

/* ---- asking; under the lock */

/* Settles the lease of an answered claim; releases it if the loop has left it meanwhile. `heard`: a
 * notification of the lookup arrived meanwhile. */
static void settle_lease(srv_upstream *u, const srv_farm_claim *claim, bool *heard)
{
	lease *l = srv_digest_map_find(&u->leases, &claim->lookup);
	*heard = l && l->heard;
	if (!l)
		return;
	l->asked = false;
	if (claim->verdict != SRV_FARM_MINE) {
		srv_digest_map_remove(&u->leases, &claim->lookup);
		return;
	}
	u->facts.claimed++;
	u->facts.taken_over += claim->attempt > 1 && claim->seen == 0;
	u->leaving = u->leaving || l->left;
}

static void settle_order(srv_upstream *u, order *o, const srv_farm_claim *claim, bool heard)
{
	/* A longer lease is corrupt: no machine takes one. */
	uint32_t four = 4 * u->facts.lease_ms, most = four > LEASE_MAX_MS ? four : LEASE_MAX_MS;
	bool held = claim->verdict == SRV_FARM_HELD && claim->left_ms <= most;
	o->held = held && o->claimed;
	if (o->held && !o->told) {
		int64_t left = (int64_t)claim->left_ms + 50;
		o->look_at = srv_clock_ms(CLOCK_MONOTONIC) + (heard ? 0 : left < LOOK_MS ? left : LOOK_MS);
		srv_line_push(&u->parked, o);
		return;
	}
	o->verdict = claim->verdict == SRV_FARM_MINE	? SRV_UPSTREAM_MINE
				 : claim->verdict == SRV_FARM_AGAIN ? SRV_UPSTREAM_AGAIN
													: SRV_UPSTREAM_ALONE;
	srv_line_push(&u->done, o);
}

/* Asks for leases and counts the answer. Lock held on entry; released while asking. */
static srv_exchange_end ask_noted(srv_upstream *u, srv_farm_claim *claims, uint32_t count)
{
	hob_error error = {0};
	srv_farm_why why = {""};
	pthread_mutex_unlock(&u->lock);
	srv_exchange_end end =
		srv_exchange_end_of(srv_farm_ask_claims(u->farm, claims, count, &why), &why, &error);
	pthread_mutex_lock(&u->lock);
	srv_carry_note(u, &error, end);
	/* A machine without write access can still read, and no machine waits for its cooks. */
	if (end == SRV_EXCHANGE_READ_ONLY)
		u->facts.read_only = true;
	if (end == SRV_EXCHANGE_FULL)
		srv_carry_is_full(u, error.context);
	if (end == SRV_EXCHANGE_REFUSED)
		srv_log(SRV_LOG_WARNING, "upstream", "%s", error.context);
	return end;
}

static void claim_waiting(srv_upstream *u)
{
	srv_farm_claim claims[CLAIMS_MAX];
	order *orders[CLAIMS_MAX];
	uint32_t count = 0;
	for (order *o; count < CLAIMS_MAX && (o = srv_line_pop(&u->claims)); count++) {
		orders[count] = o;
		claims[count] = (srv_farm_claim){.lookup = o->lookup, .seen = o->seen, .what = o->what};
	}
	u->claiming = true;
	srv_exchange_end end = ask_noted(u, claims, count);
	u->claiming = false;
	for (uint32_t i = 0; i < count; i++) {
		if (end == SRV_EXCHANGE_OK) {
			bool heard;
			settle_lease(u, &claims[i], &heard);
			settle_order(u, orders[i], &claims[i], heard);
		} else {
			srv_digest_map_remove(&u->leases, &claims[i].lookup);
			orders[i]->verdict = orders[i]->held ? SRV_UPSTREAM_HELD : SRV_UPSTREAM_ALONE;
			srv_line_push(&u->done, orders[i]);
		}
	}
}

void srv_carry_announce(srv_upstream *u)
{
	u->announcing = u->farm && u->options.give && !u->facts.read_only && u->outbox.keys.count > 0;
	u->announce_cursor = 0;
}

/* Claims the next results of the outbox. If another machine has a lease, the result is held back when
 * given. */
static void announce(carrier *c)
{
	srv_upstream *u = c->upstream;
	srv_farm_claim claims[CLAIMS_MAX];
	hob_sha256 keys[CLAIMS_MAX], lookups[CLAIMS_MAX];
	uint32_t key_count = 0, count = 0;
	bool known[CLAIMS_MAX], fresh;
	while (key_count < CLAIMS_MAX &&
		   srv_digest_map_next(&u->outbox.keys, &u->announce_cursor, &keys[key_count]))
		key_count++;
	u->claiming = true;
	pthread_mutex_unlock(&u->lock);
	for (uint32_t i = 0; i < key_count; i++)
		known[i] = srv_exchange_lookup(&c->exchange, &keys[i], &lookups[i]);
	pthread_mutex_lock(&u->lock);
	for (uint32_t i = 0; i < key_count; i++) {
		lease *l = known[i] && !srv_digest_map_find(&u->leases, &lookups[i])
					   ? srv_digest_map_put(&u->leases, &lookups[i], &fresh)
					   : NULL;
		if (l) {
			*l = (lease){.asked = true, .given = true};
			claims[count++] = (srv_farm_claim){.lookup = lookups[i], .what = ""};
		}
	}
	srv_exchange_end end = count > 0 ? ask_noted(u, claims, count) : SRV_EXCHANGE_OK;
	u->claiming = false;
	for (uint32_t i = 0; i < count; i++) {
		lease *l = srv_digest_map_find(&u->leases, &claims[i].lookup);
		if (end != SRV_EXCHANGE_OK || claims[i].verdict != SRV_FARM_MINE) {
			srv_digest_map_remove(&u->leases, &claims[i].lookup);
		} else if (l) {
			l->asked = false;
			u->leaving = u->leaving || l->left;
		}
	}
	u->announcing = end == SRV_EXCHANGE_OK && key_count == CLAIMS_MAX;
}

static void leave_waiting(srv_upstream *u)
{
	hob_sha256 lookups[LEAVES_MAX], lookup;
	srv_farm_why why = {""};
	uint32_t count = 0;
	const lease *l;
	for (size_t at = 0; count < LEAVES_MAX && (l = srv_digest_map_next(&u->leases, &at, &lookup));)
		if (l->left && !l->asked)
			lookups[count++] = lookup;
	for (uint32_t i = 0; i < count; i++)
		srv_digest_map_remove(&u->leases, &lookups[i]);
	u->leaving = count == LEAVES_MAX;
	if (count == 0)
		return;
	pthread_mutex_unlock(&u->lock);
	/* If this fails, the leases expire. */
	(void)srv_farm_leave(u->farm, lookups, count, &why);
	pthread_mutex_lock(&u->lock);
}

bool srv_carry_claims(carrier *c)
{
	srv_upstream *u = c->upstream;
	if (u->leaving) {
		leave_waiting(u);
		return true;
	}
	if ((!u->claims.first && !u->announcing) || u->claiming)
		return false;
	if (u->announcing)
		announce(c);
	else
		claim_waiting(u);
	return true;
}

/* ---- waiting claims; lock held */

/* Lock held: asks again for the claims of `lookup`; NULL: for those whose time has come. Skips a lookup for
 * which this machine still uses a lease: its end would end the new one, too. */
static void unpark(srv_upstream *u, const hob_sha256 *lookup)
{
	int64_t now = srv_clock_ms(CLOCK_MONOTONIC);
	bool fresh, any = false;
	line rest;
	srv_line_init(&rest);
	for (order *o; (o = srv_line_pop(&u->parked));) {
		bool due = lookup ? hob_sha256_equal(lookup, &o->lookup) : o->look_at <= now || o->told;
		due = due && (o->told || !srv_digest_map_find(&u->leases, &o->lookup));
		lease *l = due && !o->told ? srv_digest_map_put(&u->leases, &o->lookup, &fresh) : NULL;
		if (due && o->told) {
			srv_line_push(&u->done, o);
			any = true;
		} else if (l) {
			*l = (lease){.asked = true};
			srv_line_push(&u->claims, o);
			any = true;
		} else {
			srv_line_push(&rest, o);
		}
	}
	for (order *o; (o = srv_line_pop(&rest));)
		srv_line_push(&u->parked, o);
	if (any) {
		pthread_cond_broadcast(&u->work);
		uv_async_send(&u->wake);
	}
}

void srv_carry_given(srv_upstream *u, const hob_sha256 *lookup, bool there)
{
	lease *l = srv_digest_map_find(&u->leases, lookup);
	if (l && there && !l->asked) {
		srv_digest_map_remove(&u->leases, lookup);
		unpark(u, lookup);
	} else if (l) {
		l->left = true;
		u->leaving = u->leaving || !l->asked;
	}
}

void srv_carry_leave_given(srv_upstream *u)
{
	hob_sha256 lookup;
	lease *l;
	for (size_t at = 0; (l = srv_digest_map_next(&u->leases, &at, &lookup));)
		if (l->given || u->facts.state == SRV_UPSTREAM_FAILING) {
			l->left = true;
			u->leaving = true;
		}
}

void srv_carry_forget_claims(srv_upstream *u)
{
	hob_sha256 lookup;
	const lease *l;
	size_t at = 0;
	while ((l = srv_digest_map_next(&u->leases, &at, &lookup)))
		if (l->asked) {
			srv_digest_map_remove(&u->leases, &lookup);
			at = 0;
		}
}

/* ---- the keeper: receives notifications, renews leases */

static void on_heard(void *user, const hob_sha256 *lookup)
{
	srv_upstream *u = user;
	SRV_LOCKED(&u->lock);
	lease *l = srv_digest_map_find(&u->leases, lookup);
	if (l && l->asked)
		l->heard = true;
	unpark(u, lookup);
}

static void on_share(void *user, uint32_t nodes, uint32_t place)
{
	srv_upstream *u = user;
	SRV_LOCKED(&u->lock);
	/* Machines that are still away cook their shares. A returned machine has announced its cooks. */
	bool all = nodes >= u->facts.nodes;
	if (all || !u->counts_back) {
		u->facts.nodes = nodes;
		u->facts.place = place;
	}
	u->away_ms = all ? 0 : u->away_ms;
}

static void on_lost(void *user, const hob_sha256 *lookup)
{
	srv_upstream *u = user;
	SRV_LOCKED(&u->lock);
	u->facts.lost += srv_digest_map_remove(&u->leases, lookup);
}

static srv_farm_end beat(srv_upstream *u, srv_farm_why *why)
{
	hob_sha256 lookup;
	hob_own hob_sha256 *lookups = hob_must(malloc((u->leases.count + 1) * sizeof *lookups));
	char state[256];
	uint32_t count = 0;
	const lease *l;
	for (size_t at = 0; (l = srv_digest_map_next(&u->leases, &at, &lookup));)
		if (!l->asked && !l->left)
			lookups[count++] = lookup;
	snprintf(state, sizeof state,
			 "{\"leases\":%u,\"outbox\":%llu,\"asked\":%llu,\"found\":%llu,\"fetched\":%llu,\"given\":%llu}",
			 count, (unsigned long long)u->outbox.keys.count, (unsigned long long)u->facts.asked,
			 (unsigned long long)u->facts.found, (unsigned long long)u->facts.fetched,
			 (unsigned long long)u->facts.given);
	/* After an outage, counts only machines that have come back. */
	int64_t back = srv_clock_ms(CLOCK_REALTIME) - u->facts.since_ms;
	u->counts_back = srv_carry_is_apart(u);
	uint32_t within_s = u->counts_back ? (uint32_t)(back / 1000) + 1 : 0;
	pthread_mutex_unlock(&u->lock);
	srv_farm_end end = srv_farm_heartbeat(u->farm, lookups, count, "cook", state, within_s,
										  &(srv_farm_told){on_lost, on_share, u}, why);
	pthread_mutex_lock(&u->lock);
	return end;
}

static srv_farm_end list_machines(srv_upstream *u, srv_farm_why *why)
{
	hob_own_buf list = {0};
	pthread_mutex_unlock(&u->lock);
	srv_farm_end end = srv_farm_machines(u->farm, &list, why);
	pthread_mutex_lock(&u->lock);
	if (end == SRV_FARM_OK && !list.failed) {
		hob_buf old = u->machines;
		u->machines = list;
		list = old;
		u->machines_at = srv_clock_ms(CLOCK_MONOTONIC);
		u->machines_wanted = false;
	}
	return end;
}

static void note(srv_upstream *u, srv_farm_end end, const srv_farm_why *why)
{
	hob_error error;
	(void)hob_fail(&error, IO, "%s", why->text);
	/* Requires write access, so a refusal does not concern reading. */
	if (end == SRV_FARM_DOWN)
		srv_carry_note(u, &error, SRV_EXCHANGE_DOWN);
	uv_async_send(&u->wake);
}

void *srv_carry_keep(void *user)
{
	srv_upstream *u = user;
	int64_t beat_at = 0;
	uint32_t beats = 0;
	pthread_mutex_lock(&u->lock);
	while (!u->closing) {
		srv_farm_why why = {""};
		srv_farm_end end = SRV_FARM_OK;
		if (!srv_carry_is_up(u)) {
			int64_t until = srv_clock_ms(CLOCK_MONOTONIC) + LISTEN_MS;
			pthread_cond_timedwait(
				&u->work, &u->lock,
				&(struct timespec){.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000});
			continue;
		}
		if (u->options.give && !u->facts.read_only && !u->announcing &&
			srv_clock_ms(CLOCK_MONOTONIC) >= beat_at) {
			end = beat(u, &why);
			if (end == SRV_FARM_OK)
				srv_carry_note_answer(u);
			beat_at =
				srv_clock_ms(CLOCK_MONOTONIC) +
				(beats++ < EARLY_BEATS || srv_carry_is_apart(u) ? EARLY_MS : srv_farm_lease_ms(u->farm) / 3);
		}
		if (end == SRV_FARM_OK && !u->closing && u->machines_wanted)
			end = list_machines(u, &why);
		if (end == SRV_FARM_OK && !u->closing) {
			pthread_mutex_unlock(&u->lock);
			end = srv_farm_listen(u->farm, LISTEN_MS, on_heard, u, &why);
			pthread_mutex_lock(&u->lock);
		}
		unpark(u, NULL);
		if (end != SRV_FARM_OK && !u->closing)
			note(u, end, &why);
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
}
