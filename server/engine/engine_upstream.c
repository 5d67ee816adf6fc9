#include "engine_exchange.h"

#include "../../core/base/json_write.h"
#include "../log/log.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* Another cache is asked when the own one has no result, and given what was cooked here.
 *
 *   step_match -> find -> digests of what its records needed -> fetch the blobs of the one that holds -> keep
 *   it, as a hit
 *                   \-> nothing, nobody, too late, nothing holds, not worth it, refused -> srv_job_missed: as
 *                   without an upstream */

/* How long a job waits for the upstream: for a save or a request a tenth of its expected cook time, within a
 * short bound. A claim that was answered with 'another machine has cooked it' is worth waiting for. 0: as
 * long as it takes. */
static uint32_t longest_wait(const engine_job *job)
{
	enum { LEAST_MS = 5, MOST_MS = 250 };
	const srv_engine *engine = job->engine;
	if (job->order.priority == SRV_PRIORITY_BACKGROUND || job->claim.tries > 0)
		return 0;
	uint64_t tenth = srv_engine_expected_ns(engine, srv_asset_at(engine, job->asset)) / 10000000;
	return tenth < LEAST_MS ? LEAST_MS : tenth > MOST_MS ? MOST_MS : (uint32_t)tenth;
}

static void begin_asking(engine_job *job)
{
	assert(!job->abroad.asking);
	job->abroad.asking = job->cooking = true;
	job->engine->exchange->asking++;
}

/* False: the job has ended. */
static bool end_asking(engine_job *job)
{
	srv_engine *engine = job->engine;
	assert(job->abroad.asking && engine->exchange->asking > 0);
	job->abroad.asking = job->cooking = false;
	engine->exchange->asking--;
	if (!job->abandoned && !engine->closing)
		return true;
	srv_job_end(job);
	return false;
}

/* While the upstream is away, its records count as not seen: the job looks for them again before it claims a
 * cook. */
static void note_unreached(engine_job *job)
{
	srv_upstream_facts facts;
	srv_upstream_look(job->engine->exchange->upstream, &facts);
	if (facts.state != SRV_UPSTREAM_UP)
		job->abroad.seen = 0;
}

static void on_fetched(void *user, bool ok, const char *author)
{
	engine_job *job = user;
	srv_engine *engine = job->engine;
	srv_record *record = job->abroad.wanted;
	hob_error error;
	if (!end_asking(job))
		return;
	if (ok && !srv_store_put_record(engine->store, record, &error)) {
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
		ok = false;
	}
	if (!ok) {
		note_unreached(job);
		srv_job_missed(job);
	} else {
		srv_publish_note_rows(&engine->publish);
		job->abroad.fetched = true;
		snprintf(job->abroad.author, sizeof job->abroad.author, "%s", author);
		srv_job_take_record(job, record);
	}
	srv_engine_fill(engine);
}

static void step_match_found(engine_job *job)
{
	srv_engine *engine = job->engine;
	if (job->abandoned || engine->closing) {
		srv_job_end(job);
		return;
	}
	for (uint32_t i = 0; i < job->earlier.count; i++) {
		srv_record *record = &job->earlier.items[i];
		if (!srv_job_inputs_match(job, record) || !srv_upstream_is_worth(engine->exchange->upstream, record))
			continue;
		job->abroad.wanted = record;
		if (!srv_upstream_fetch(engine->exchange->upstream, record, on_fetched, job))
			break;
		begin_asking(job);
		return;
	}
	note_unreached(job);
	srv_job_missed(job);
}

static void on_found(void *user, hob_arena *arena, srv_record *records, uint32_t count, bool reached)
{
	(void)reached;
	engine_job *job = user;
	srv_engine *engine = job->engine;
	if (!end_asking(job))
		return;
	job->abroad.seen = count;
	if (count > 0) {
		hob_arena_release(&job->abroad.found);
		job->abroad.found = *arena;
		hob_arena_init(arena, 1);
		job->earlier.items = records;
		job->earlier.count = count;
		(void)srv_job_hash_inputs(job, step_match_found);
	} else {
		srv_job_missed(job);
	}
	srv_engine_fill(engine);
}

bool srv_engine_ask_upstream(engine_job *job)
{
	srv_engine *engine = job->engine;
	if (job->abroad.asked || job->ingredients.profile != HOB_PROFILE_FINAL)
		return false;
	if (srv_job_join_twin(job))
		return true;
	hob_buf inputs = {0};
	hob_ingredients_print(&job->ingredients, &inputs);
	srv_upstream_wish wish = {.lookup = job->lookup,
							  .source = job->source,
							  .inputs = hob_buf_str(&inputs),
							  .wait_ms = longest_wait(job)};
	job->abroad.asked = true;
	job->abroad.seen = 0;
	bool asked = !inputs.failed && srv_upstream_find(engine->exchange->upstream, &wish, on_found, job);
	hob_buf_release(&inputs);
	if (asked)
		begin_asking(job);
	return asked;
}

void srv_engine_give_upstream(engine_job *job, const srv_record *record)
{
	srv_engine *engine = job->engine;
	if (job->ingredients.profile != HOB_PROFILE_FINAL)
		return;
	srv_upstream_give(engine->exchange->upstream, &record->key, &record->lookup);
	job->abroad.given = true;
}

void srv_engine_put_upstream(srv_engine *engine, hob_buf *out)
{
	srv_upstream_facts facts;
	hob_json_key(out, "upstream");
	if (!engine->exchange->upstream) {
		hob_json_null(out);
		return;
	}
	srv_upstream_look(engine->exchange->upstream, &facts);
	hob_json_open(out, '{');
	hob_json_put_str(out, "url", hob_str_of(facts.url));
	hob_json_put_str(out, "state", hob_str_of(srv_upstream_state_name(facts.state)));
	hob_json_key(out, "since");
	hob_json_time(out, facts.since_ms);
	hob_json_key(out, "reason");
	if (facts.reason[0])
		hob_json_str(out, hob_str_of(facts.reason));
	else
		hob_json_null(out);
	hob_json_key(out, "push");
	hob_json_bool(out, facts.gives && !facts.read_only);
	hob_json_put_u64(out, "asked", facts.asked);
	hob_json_put_u64(out, "found", facts.found);
	hob_json_put_u64(out, "fetched", facts.fetched);
	hob_json_put_u64(out, "fetched_bytes", facts.fetched_bytes);
	hob_json_put_u64(out, "slower", facts.slower);
	hob_json_put_u64(out, "pushed", facts.given);
	hob_json_put_u64(out, "pushed_bytes", facts.given_bytes);
	hob_json_put_u64(out, "refused", facts.refused);
	hob_json_put_u64(out, "conflicts", facts.conflicts);
	hob_json_put_u64(out, "outbox", facts.outbox);
	hob_json_key(out, "farm");
	hob_json_bool(out, facts.farm);
	hob_json_put_u64(out, "leases", facts.leases);
	hob_json_put_u64(out, "claimed", facts.claimed);
	hob_json_put_u64(out, "waits", facts.waits);
	hob_json_put_u64(out, "taken_over", facts.taken_over);
	hob_json_put_u64(out, "lost", facts.lost);
	hob_json_put_u64(out, "late", facts.late);
	hob_json_put_u64(out, "nodes", facts.nodes);
	hob_json_close(out, '}');
}

void srv_engine_farm(void *user, hob_buf *out)
{
	srv_engine *engine = user;
	hob_buf list = {0};
	srv_upstream *upstream = engine->exchange->upstream;
	int64_t age = upstream ? srv_upstream_machines(upstream, &list) : -1;
	hob_json_key(out, "age_ms");
	if (age >= 0)
		hob_json_u64(out, (uint64_t)age);
	else
		hob_json_null(out);
	hob_json_key(out, "machines");
	hob_json_raw(out, age >= 0 ? hob_buf_str(&list) : HOB_STR("[]"));
	hob_buf_release(&list);
}

/* ---- life */

static void on_closed(void *user)
{
	srv_engine_work_over(user);
}

bool srv_engine_start_exchange(srv_engine *engine, hob_error *err)
{
	const srv_engine_options *options = &engine->options;
	srv_upstream_options upstream = {.url = options->upstream,
									 .token = options->upstream_token,
									 .cache = options->cache,
									 .farm = options->farm,
									 .give = options->push};
	engine->exchange->claim_chance = (uint64_t)srv_engine_now_ms() * 2654435761u + (uint64_t)getpid();
	return !options->upstream ||
		   srv_upstream_new(engine->loop, &upstream, engine->store, &engine->exchange->upstream, err);
}

void srv_engine_close_exchange(srv_engine *engine)
{
	srv_engine_close_claims(engine);
	if (!engine->exchange->upstream)
		return;
	srv_engine_count_work(engine);
	srv_upstream_close(engine->exchange->upstream, on_closed, engine);
}

void srv_engine_exchange_free(struct engine_exchange *exchange)
{
	if (exchange) {
		srv_upstream_free(exchange->upstream);
		srv_engine_forget_promises(exchange);
	}
	free(exchange);
}
