#include "engine_acts.h"
#include "engine_batch.h"
#include "engine_exchange.h"

#include "../../core/base/json_write.h"
#include "../log/log.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* Another cache is asked when this machine's has no result, and receives results cooked here. No answer is a
 * miss, as without an upstream. */

/* Maximum wait of a job for the upstream: for a save or a request a tenth of its expected cook time, within a
 * short bound; longer for a claim answered with 'another machine has cooked it'. 0: no limit. */
static uint32_t longest_wait(const engine_job *job)
{
	enum { LEAST_MS = 5, MOST_MS = 250 };
	const srv_engine *engine = job->engine;
	if (job->life.order.priority == SRV_PRIORITY_BACKGROUND || job->remote.tries > 0)
		return 0;
	uint64_t tenth = srv_engine_expected_ns(engine, srv_asset_at(engine, job->asset)) / 10000000;
	return tenth < LEAST_MS ? LEAST_MS : tenth > MOST_MS ? MOST_MS : (uint32_t)tenth;
}

/* If the upstream is away, marks its records as unseen: the job looks for them again before it claims a
 * cook. */
void srv_engine_note_unreached(engine_job *job)
{
	srv_upstream_facts facts;
	srv_upstream_look(job->engine->exchange->upstream, &facts);
	if (facts.state != SRV_UPSTREAM_UP)
		job->remote.seen = 0;
}

static void on_fetched(void *user, bool ok, const char *author)
{
	engine_job *job = user;
	snprintf(job->remote.author, sizeof job->remote.author, "%s", ok ? author : "");
	srv_job_put(job, ok ? SRV_JOB_SAY(FETCHED) : SRV_JOB_SAY(MISSED));
}

srv_job_event srv_job_fetch(engine_job *job)
{
	assert(job->life.elsewhere && job->earlier.taken);
	const srv_engine_batch *batch = job->engine->options.batch;
	if (batch && batch->bring) /* it is left to the machine that has it */
		return SRV_JOB_SAY(FETCHED);
	if (srv_upstream_fetch(job->engine->exchange->upstream, job->earlier.taken, on_fetched, job))
		return SRV_JOB_LATER;
	srv_engine_note_unreached(job);
	return SRV_JOB_SAY(MISSED);
}

srv_job_event srv_job_fetched(engine_job *job, bool ok)
{
	hob_error error;
	assert(job->life.stage == SRV_JOB_FETCH);
	if (ok && !srv_store_put_record(job->engine->store, job->earlier.taken, &error)) {
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
		ok = false;
	}
	if (ok)
		job->engine->publish.rows = true;
	else
		srv_engine_note_unreached(job);
	return ok ? SRV_JOB_SAY(FETCHED) : SRV_JOB_SAY(MISSED);
}

static void on_found(void *user, hob_arena *arena, srv_record *records, uint32_t count, bool reached)
{
	(void)reached;
	engine_job *job = user;
	job->remote.seen = count;
	if (count > 0) {
		hob_arena_release(&job->remote.found);
		job->remote.found = *arena;
		hob_arena_init(arena, 1);
		job->earlier.items = records;
		job->earlier.count = count;
	}
	srv_job_put(job, count > 0 ? SRV_JOB_SAY(ANSWER) : SRV_JOB_SAY(MISSED));
}

srv_job_event srv_job_ask(engine_job *job)
{
	hob_own_buf inputs = {0};
	hob_ingredients_print(&job->ingredients, &inputs);
	srv_upstream_wish wish = {.lookup = job->lookup,
							  .source = job->source,
							  .inputs = hob_buf_str(&inputs),
							  .wait_ms = longest_wait(job)};
	assert(job->life.asked && hob_sha256_equal(&job->lookup, &job->final_lookup));
	job->remote.seen = 0;
	bool asked = !inputs.failed && srv_upstream_find(job->engine->exchange->upstream, &wish, on_found, job);
	return asked ? SRV_JOB_LATER : SRV_JOB_SAY(MISSED);
}

void srv_engine_give_upstream(engine_job *job, const srv_record *record)
{
	srv_engine *engine = job->engine;
	if (srv_job_wants_preview(&job->life))
		return;
	srv_upstream_give(engine->exchange->upstream, &record->key, &record->lookup);
	srv_job_give(&job->life);
}

void srv_engine_put_upstream(srv_engine *engine, hob_buf *out)
{
	srv_upstream_facts facts;
	if (!engine->exchange->upstream) {
		hob_json_put(out, HOB_JSON_NULL("upstream"));
		return;
	}
	srv_upstream_look(engine->exchange->upstream, &facts);
#define FACT(name) HOB_JSON(#name, facts.name)
	hob_json_put(out, HOB_JSON_OPEN("upstream", '{'), HOB_JSON("url", facts.url),
				 HOB_JSON("state", srv_upstream_state_name(facts.state)),
				 HOB_JSON_TIME("since", facts.since_ms), HOB_JSON_SOME("reason", hob_str_of(facts.reason)),
				 HOB_JSON_BOOL("push", facts.gives && !facts.read_only), FACT(asked), FACT(found),
				 FACT(fetched), FACT(fetched_bytes), FACT(slower), HOB_JSON("pushed", facts.given),
				 HOB_JSON("pushed_bytes", facts.given_bytes), FACT(refused), FACT(conflicts), FACT(outbox),
				 HOB_JSON_BOOL("farm", facts.farm), FACT(leases), FACT(claimed), FACT(waits),
				 FACT(taken_over), FACT(lost), FACT(late), FACT(nodes), HOB_JSON_CLOSE('}'));
#undef FACT
}

void srv_engine_notes(void *user, hob_buf *out)
{
	srv_engine *engine = user;
	srv_upstream_facts facts = {.state = SRV_UPSTREAM_UP};
	uint32_t aside = srv_store_set_aside(engine->store);
	if (engine->exchange->upstream)
		srv_upstream_look(engine->exchange->upstream, &facts);
	if (facts.state != SRV_UPSTREAM_UP)
		hob_buf_printf(out, "note %s: %s; 'hob status' says why\n", facts.farm ? "farm" : "upstream",
					   srv_upstream_state_name(facts.state));
	if (aside > 0)
		hob_buf_printf(out, "note cache: %u packs that are no files were set aside; the log names them\n",
					   aside);
}

void srv_engine_farm(void *user, hob_buf *out)
{
	srv_engine *engine = user;
	hob_own_buf list = {0};
	srv_upstream *upstream = engine->exchange->upstream;
	int64_t age = upstream ? srv_upstream_machines(upstream, &list) : -1;
	hob_json_put(out, age >= 0 ? HOB_JSON("age_ms", (uint64_t)age) : HOB_JSON_NULL("age_ms"),
				 HOB_JSON_RAW("machines", age >= 0 ? hob_buf_str(&list) : HOB_STR("[]")));
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
									 .changed = options->batch ? options->batch->changed : NULL,
									 .user = options->batch ? options->batch->user : NULL,
									 .give = options->push};
	engine->exchange->claim_chance =
		(uint64_t)srv_clock_ms(CLOCK_REALTIME) * 2654435761u + (uint64_t)getpid();
	return !options->upstream ||
		   srv_upstream_new(engine->loop, &upstream, engine->store, &engine->exchange->upstream, err);
}

void srv_engine_close_exchange(srv_engine *engine)
{
	if (!engine->exchange->upstream)
		return;
	srv_engine_count_work(engine);
	srv_upstream_close(engine->exchange->upstream, on_closed, engine);
}

void srv_engine_exchange_free(struct engine_exchange *exchange)
{
	srv_upstream_free(exchange->upstream);
	srv_engine_forget_promises(exchange);
}
