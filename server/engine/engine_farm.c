#include "engine_exchange.h"

#include <assert.h>

/* A farm shares out what is to be cooked: before a cook, this machine asks for the lease of its lookup. What
 * another machine cooks is waited for and fetched; the job starts over when it is there.
 *
 *   step_cook -> unclaimed -> (a few at a time) claimed -> MINE or nobody answers -> waits for a worker
 *                    \                            \-> AGAIN -> looked up again
 *                     \-> raised: somebody waits for it -> waits for a worker at once
 *
 * Only cooks that no client waits for take part. What somebody has just saved is cooked at once, too, and the
 * others learn of it; but more changes than BY_HAND are a checkout, or a file that many models use, and every
 * machine has them.
 *
 * Each machine begins with its share of them: which machine that is follows from the lookup and from the
 * machines of the last heartbeat. It helps the others when it has no more of its own. While they cannot tell
 * each other what they cook, it keeps to its share, and leaves to them what they held before. */

enum { AGAIN_MAX = 3, CLAIMS_AHEAD = 2, BY_HAND = 8 };

static void take_out(engine_job *job)
{
	assert(job->claim.state == ENGINE_CLAIM_WAITS && job->engine->exchange->unclaimed_count > 0);
	engine_job **at = &job->engine->exchange->unclaimed;
	while (*at != job)
		at = &(*at)->list_next;
	*at = job->list_next;
	job->engine->exchange->unclaimed_count--;
	job->claim.state = ENGINE_CLAIM_NONE;
}

static void go_to_worker(engine_job *job)
{
	srv_engine_wait_for_worker(job);
	srv_engine_feed_workers(job->engine);
	srv_engine_count_waiting(job->engine);
}

/* The others have the same list and another share of it. */
static bool is_in_share(const engine_job *job, const srv_upstream_facts *facts)
{
	uint64_t number;
	memcpy(&number, job->lookup.bytes, sizeof number);
	return facts->nodes <= 1 || number % facts->nodes == facts->place ||
		   job->order.priority < SRV_PRIORITY_BACKGROUND;
}

static bool is_left_to_another(const engine_job *job, const srv_upstream_facts *facts)
{
	return facts->apart && job->order.priority == SRV_PRIORITY_BACKGROUND &&
		   (job->claim.held || !is_in_share(job, facts));
}

static bool is_own(const engine_job *job, const srv_upstream_facts *facts)
{
	return is_in_share(job, facts) && !is_left_to_another(job, facts);
}

static uint32_t count_of_own(const srv_engine *engine, const srv_upstream_facts *facts)
{
	uint32_t count = 0;
	for (const engine_job *job = engine->exchange->unclaimed; job; job = job->list_next)
		count += is_own(job, facts);
	return count;
}

uint32_t srv_engine_left_to_others(const srv_engine *engine)
{
	srv_upstream_facts facts;
	if (!engine->exchange->unclaimed)
		return 0;
	srv_upstream_look(engine->exchange->upstream, &facts);
	return engine->exchange->unclaimed_count - count_of_own(engine, &facts);
}

static void put_back(engine_job *job)
{
	srv_engine *engine = job->engine;
	job->claim.state = ENGINE_CLAIM_WAITS;
	job->list_next = engine->exchange->unclaimed;
	engine->exchange->unclaimed = job;
	engine->exchange->unclaimed_count++;
}

/* As often as there is something new to look at, and a few times more. */
static bool looks_again(engine_job *job)
{
	bool more = job->abroad.seen > job->claim.seen;
	job->claim.seen = job->abroad.seen;
	return more || job->claim.tries++ < AGAIN_MAX;
}

static void on_claimed(void *user, srv_upstream_verdict verdict)
{
	engine_job *job = user;
	srv_engine *engine = job->engine;
	srv_upstream_facts facts;
	srv_upstream_look(engine->exchange->upstream, &facts);
	job->claim.state = verdict == SRV_UPSTREAM_AGAIN ? ENGINE_CLAIM_NONE : ENGINE_CLAIM_MINE;
	job->claim.held = verdict == SRV_UPSTREAM_HELD;
	assert(engine->exchange->claiming > 0 && engine->exchange->asking > 0);
	engine->exchange->claiming--;
	engine->exchange->asking--;
	if (job->abandoned || engine->closing) {
		srv_job_end(job);
	} else if (verdict == SRV_UPSTREAM_AGAIN && looks_again(job)) {
		job->cooking = job->abroad.asked = false;
		srv_job_lookup(job);
	} else if ((verdict == SRV_UPSTREAM_ALONE || verdict == SRV_UPSTREAM_HELD) &&
			   is_left_to_another(job, &facts)) {
		put_back(job);
	} else {
		go_to_worker(job);
	}
	srv_engine_claim_more(engine);
}

/* Any waiting job of this machine's share; of another's when there is none, unless it is left to that
 * machine. Machines with the same list claim different ones, and what is not given yet when the farm goes
 * away is hardly in a share of somebody else, who would cook it again. NULL: none. */
static engine_job *pick(srv_engine *engine, const srv_upstream_facts *facts)
{
	struct engine_exchange *x = engine->exchange;
	uint32_t own = count_of_own(engine, facts);
	uint32_t count = own > 0 || facts->apart ? own : x->unclaimed_count;
	if (count == 0)
		return NULL;
	x->claim_chance = x->claim_chance * 6364136223846793005u + 1442695040888963407u;
	uint32_t place = (uint32_t)((x->claim_chance >> 33) % count);
	for (engine_job *job = x->unclaimed; job; job = job->list_next)
		if ((own == 0 || is_own(job, facts)) && place-- == 0)
			return job;
	return NULL;
}

static uint32_t count_changed(const srv_engine *engine)
{
	uint32_t changed = srv_queue_count_of(engine->jobs->queue, SRV_PRIORITY_CHANGED);
	for (uint32_t i = 0; i < engine->jobs->active_count; i++)
		changed += engine->jobs->active[i]->order.priority == SRV_PRIORITY_CHANGED;
	return changed;
}

/* Claims only as many as the workers need soon: a machine that claims everything leaves nothing for the
 * others. Jobs that another machine cooks do not count. */
void srv_engine_claim_more(srv_engine *engine)
{
	if (engine->exchange->claims_filling)
		return;
	engine->exchange->claims_filling = true;
	if (count_changed(engine) == 0)
		engine->exchange->most_changed = 0;
	while (!engine->closing && engine->exchange->unclaimed && engine->jobs->pool) {
		srv_upstream_facts facts;
		srv_upstream_look(engine->exchange->upstream, &facts);
		uint32_t held = 0;
		for (uint32_t i = 0; i < engine->jobs->active_count; i++)
			held += engine->jobs->active[i]->claim.state == ENGINE_CLAIM_MINE &&
					!engine->jobs->active[i]->cook.outcome;
		uint32_t asked =
			engine->exchange->claiming > facts.waits ? engine->exchange->claiming - (uint32_t)facts.waits : 0;
		if (held + asked >= CLAIMS_AHEAD * srv_pool_size(engine->jobs->pool))
			break;
		engine_job *job = pick(engine, &facts);
		if (!job)
			break;
		take_out(job);
		if (job->abandoned) {
			srv_job_end(job);
			continue;
		}
		job->claim.state = ENGINE_CLAIM_ASKED;
		engine->exchange->claiming++;
		engine->exchange->asking++;
		if (!srv_upstream_claim(engine->exchange->upstream, &job->lookup, job->abroad.seen,
								srv_asset_at(engine, job->asset)->full, on_claimed, job))
			on_claimed(job, SRV_UPSTREAM_ALONE);
	}
	engine->exchange->claims_filling = false;
}

static bool is_urgent(const engine_job *job)
{
	const srv_engine *engine = job->engine;
	uint32_t changed = count_changed(engine);
	/* The last jobs of a checkout are few, but still of a checkout. */
	if (changed <= 1 || changed > engine->exchange->most_changed)
		engine->exchange->most_changed = changed;
	return job->order.priority < SRV_PRIORITY_CHANGED ||
		   (job->order.priority == SRV_PRIORITY_CHANGED && engine->exchange->most_changed <= BY_HAND);
}

bool srv_engine_claim(engine_job *job)
{
	srv_engine *engine = job->engine;
	if (job->claim.state != ENGINE_CLAIM_NONE || job->order.force ||
		job->ingredients.profile != HOB_PROFILE_FINAL)
		return false;
	const char *name = srv_asset_at(engine, job->asset)->full;
	if (is_urgent(job)) {
		if (srv_upstream_claim(engine->exchange->upstream, &job->lookup, job->abroad.seen, name, NULL, NULL))
			job->claim.state = ENGINE_CLAIM_MINE;
		return false;
	}
	put_back(job);
	srv_engine_claim_more(engine);
	return true;
}

bool srv_engine_hurry_claim(engine_job *job)
{
	if (job->claim.state == ENGINE_CLAIM_ASKED && job->order.priority < SRV_PRIORITY_BACKGROUND) {
		job->claim.tries = AGAIN_MAX;
		return srv_upstream_unclaim(job->engine->exchange->upstream, job);
	}
	if (job->claim.state != ENGINE_CLAIM_WAITS)
		return false;
	take_out(job);
	srv_engine_wait_for_worker(job);
	return true;
}

void srv_engine_end_claim(engine_job *job)
{
	assert(job->claim.state != ENGINE_CLAIM_ASKED);
	if (job->claim.state == ENGINE_CLAIM_WAITS)
		take_out(job);
	if (job->claim.state == ENGINE_CLAIM_MINE && !job->abroad.given)
		srv_upstream_leave(job->engine->exchange->upstream, &job->final_lookup);
}

void srv_engine_close_claims(srv_engine *engine)
{
	while (engine->exchange->unclaimed) {
		engine_job *job = engine->exchange->unclaimed;
		take_out(job);
		srv_job_end(job);
	}
}
