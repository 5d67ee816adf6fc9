#include "engine_acts.h"
#include "engine_batch.h"
#include "engine_exchange.h"

#include <assert.h>

/* Cooks on a farm: before a cook, this machine asks for the lease of its lookup. If another machine cooks it,
 * the job waits, then restarts and fetches the result.
 *
 *   UNCLAIMED -> (a few at a time) CLAIM -> a lease, or no answer -> WAIT
 *       |                             `--> another machine may have cooked it -> FIND
 *       `-> raised: a client waits for it -> WAIT at once
 *
 * Only cooks that no client waits for take part. A source that was just saved is cooked at once, too, and the
 * others are informed; but more changes than BY_HAND are a checkout, or a file that many models use, and
 * every machine has them.
 *
 * Each machine begins with its share, which follows from the lookup and from the machines of the last
 * heartbeat. It helps the others when its own share is done. While they cannot communicate, it keeps to its
 * share, and leaves them the cooks that they held before. */

enum { AGAIN_MAX = 3, CLAIMS_AHEAD = 2, BY_HAND = 8 };

/* Whether the job is in this machine's share: all have the same list of background cooks, and each begins
 * with its own share. */
static bool is_in_share(const engine_job *job, const srv_upstream_facts *facts)
{
	uint64_t number;
	memcpy(&number, job->lookup.bytes, sizeof number);
	return facts->nodes <= 1 || number % facts->nodes == facts->place ||
		   job->life.order.priority < SRV_PRIORITY_BACKGROUND;
}

static bool is_left_to_another(const engine_job *job, srv_job_lease lease, const srv_upstream_facts *facts)
{
	return facts->apart && job->life.order.priority == SRV_PRIORITY_BACKGROUND &&
		   (lease == SRV_JOB_THEIRS || !is_in_share(job, facts));
}

static bool is_own(const engine_job *job, const srv_upstream_facts *facts)
{
	return is_in_share(job, facts) && !is_left_to_another(job, job->life.lease, facts);
}

static uint32_t count_of_own(const srv_engine *engine, const srv_upstream_facts *facts)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < engine->jobs->count; i++) {
		const engine_job *job = engine->jobs->active[i];
		count += job->life.stage == SRV_JOB_UNCLAIMED && is_own(job, facts);
	}
	assert(count <= engine->jobs->in_stage[SRV_JOB_UNCLAIMED]);
	return count;
}

uint32_t srv_engine_left_to_others(const srv_engine *engine)
{
	srv_upstream_facts facts;
	uint32_t unclaimed = engine->jobs->in_stage[SRV_JOB_UNCLAIMED];
	if (unclaimed == 0)
		return 0;
	srv_upstream_look(engine->exchange->upstream, &facts);
	return unclaimed - count_of_own(engine, &facts);
}

/* Whether to look for results again: if records arrived since the last claim, otherwise AGAIN_MAX times. */
static bool looks_again(engine_job *job)
{
	bool more = job->remote.seen > job->remote.claim_seen;
	job->remote.claim_seen = job->remote.seen;
	return more || job->remote.tries++ < AGAIN_MAX;
}

static srv_job_event decide(engine_job *job, srv_upstream_verdict verdict)
{
	srv_upstream_facts facts;
	srv_upstream_look(job->engine->exchange->upstream, &facts);
	assert(job->life.stage == SRV_JOB_CLAIM && job->life.lease < SRV_JOB_MINE);
	bool again = verdict == SRV_UPSTREAM_AGAIN;
	bool alone = verdict == SRV_UPSTREAM_ALONE || verdict == SRV_UPSTREAM_HELD;
	srv_job_lease theirs = verdict == SRV_UPSTREAM_HELD ? SRV_JOB_THEIRS : SRV_JOB_NO_LEASE;
	if (again && looks_again(job))
		return SRV_JOB_SAY(LEASE_AGAIN);
	if (alone && is_left_to_another(job, theirs, &facts))
		return (srv_job_event){.kind = SRV_JOB_LEASE_LEFT, .lease = theirs};
	return (srv_job_event){.kind = SRV_JOB_LEASED, .lease = again ? SRV_JOB_NO_LEASE : SRV_JOB_MINE};
}

srv_job_event srv_job_claimed(engine_job *job)
{
	if (job->remote.verdict != SRV_UPSTREAM_AGAIN && srv_batch_brings(job))
		return SRV_JOB_LATER;
	return decide(job, (srv_upstream_verdict)job->remote.verdict);
}

static void on_claimed(void *user, srv_upstream_verdict verdict)
{
	engine_job *job = user;
	job->remote.verdict = (int)verdict;
	srv_job_put(job, SRV_JOB_SAY(LEASED));
}

srv_job_event srv_job_claim(engine_job *job)
{
	const char *name = srv_asset_at(job->engine, job->asset)->full;
	bool asked = srv_upstream_claim(job->engine->exchange->upstream, &job->lookup, job->remote.seen, name,
									on_claimed, job);
	return asked ? SRV_JOB_LATER : decide(job, SRV_UPSTREAM_ALONE);
}

/* Any waiting job of this machine's share; without one, a job of another's share unless it is left to that
 * machine. So machines with the same list claim different jobs, and when the farm goes away, unsent results
 * are mostly in its own share, which the others would not cook. NULL: none. */
static engine_job *pick(srv_engine *engine, const srv_upstream_facts *facts)
{
	struct engine_exchange *x = engine->exchange;
	const struct engine_jobs *jobs = engine->jobs;
	uint32_t own = count_of_own(engine, facts);
	uint32_t count = own > 0 || facts->apart ? own : jobs->in_stage[SRV_JOB_UNCLAIMED];
	if (count == 0)
		return NULL;
	x->claim_chance = x->claim_chance * 6364136223846793005u + 1442695040888963407u;
	uint32_t place = (uint32_t)((x->claim_chance >> 33) % count);
	assert(place < count && own <= jobs->in_stage[SRV_JOB_UNCLAIMED]);
	for (uint32_t i = 0; i < jobs->count; i++) {
		engine_job *job = jobs->active[i];
		if (job->life.stage == SRV_JOB_UNCLAIMED && (own == 0 || is_own(job, facts)) && place-- == 0)
			return job;
	}
	return NULL;
}

static uint32_t count_changed(const srv_engine *engine)
{
	uint32_t changed = srv_queue_count_of(engine->jobs->queue, SRV_PRIORITY_CHANGED);
	for (uint32_t i = 0; i < engine->jobs->count; i++)
		changed += engine->jobs->active[i]->life.order.priority == SRV_PRIORITY_CHANGED;
	assert(changed <= engine->jobs->count + srv_queue_count(engine->jobs->queue));
	return changed;
}

/* Claims only as many jobs as the workers need soon: a machine that claims everything leaves nothing for the
 * others. Jobs that another machine cooks do not count. */
engine_job *srv_engine_next_claim(srv_engine *engine)
{
	const struct engine_jobs *jobs = engine->jobs;
	if (count_changed(engine) == 0)
		engine->exchange->most_changed = 0;
	if (engine->closing || jobs->in_stage[SRV_JOB_UNCLAIMED] == 0 || !jobs->pool)
		return NULL;
	srv_upstream_facts facts;
	srv_upstream_look(engine->exchange->upstream, &facts);
	uint32_t held = 0, claiming = jobs->in_stage[SRV_JOB_CLAIM];
	for (uint32_t i = 0; i < jobs->count; i++)
		held += jobs->active[i]->life.lease >= SRV_JOB_MINE && !jobs->active[i]->cook.outcome;
	assert(held + claiming <= 2 * jobs->count);
	uint32_t asked = claiming > facts.waits ? claiming - (uint32_t)facts.waits : 0;
	return held + asked < CLAIMS_AHEAD * srv_pool_size(jobs->pool) ? pick(engine, &facts) : NULL;
}

static bool is_urgent(const engine_job *job)
{
	const srv_engine *engine = job->engine;
	uint32_t changed = count_changed(engine);
	assert(job->life.order.priority < SRV_PRIORITY_COUNT);
	/* The last jobs of a checkout are few, but still part of the checkout. */
	if (changed <= 1 || changed > engine->exchange->most_changed)
		engine->exchange->most_changed = changed;
	return job->life.order.priority < SRV_PRIORITY_CHANGED ||
		   (job->life.order.priority == SRV_PRIORITY_CHANGED && engine->exchange->most_changed <= BY_HAND);
}

/* Whether other machines may cook the job's asset, or learn that this one does. */
static bool is_shared(const engine_job *job)
{
	return job->engine->options.farm && job->life.lease < SRV_JOB_MINE && !job->life.order.force &&
		   !srv_job_wants_preview(&job->life);
}

bool srv_engine_shares_out(const engine_job *job)
{
	return is_shared(job) && !is_urgent(job);
}

/* Tells other machines of a job that waits for a worker, if it is urgent: it is cooked here without
 * asking. */
srv_job_event srv_job_announce(engine_job *job)
{
	assert(job->life.stage == SRV_JOB_WAIT);
	bool told = is_shared(job) && is_urgent(job) &&
				srv_upstream_claim(job->engine->exchange->upstream, &job->lookup, job->remote.seen,
								   srv_asset_at(job->engine, job->asset)->full, NULL, NULL);
	return told ? (srv_job_event){.kind = SRV_JOB_LEASED, .lease = SRV_JOB_MINE} : SRV_JOB_LATER;
}

void srv_engine_hurry_claim(engine_job *job)
{
	assert(job->life.stage == SRV_JOB_CLAIM && job->life.lease < SRV_JOB_MINE);
	job->remote.tries = AGAIN_MAX;
	(void)srv_upstream_unclaim(job->engine->exchange->upstream, job);
}

bool srv_batch_brings(engine_job *job)
{
	const srv_engine_batch *batch = job->engine->options.batch;
	return batch && batch->bring && !srv_job_leaves(&job->life) &&
		   batch->bring(batch->user, job, job->asset, job->cook.outcome);
}
