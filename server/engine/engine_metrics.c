#include "engine_exchange.h"

#include "../../core/base/json_write.h"
#include "../metrics/metrics.h"

#include <stdio.h>

/* Runs on the HTTP thread, so it reads only atomics and the counters of the store. */

static void one(hob_buf *out, metric id, uint64_t value)
{
	srv_metric_head(out, id);
	srv_metric_u64(out, id, NULL, value);
}

static void one_ns(hob_buf *out, metric id, uint64_t ns)
{
	srv_metric_head(out, id);
	srv_metric_ns(out, id, NULL, ns);
}

static void put_times(hob_buf *out, const char *stage, srv_engine_times *times)
{
	static const uint32_t bounds[] = {SRV_ENGINE_TIME_BOUNDS};
	char labels[64];
	uint64_t below = 0;
	for (uint32_t i = 0; i < SRV_ENGINE_TIME_SLOTS; i++) {
		below += times->counts[i];
		if (i < HOB_COUNT_OF(bounds))
			snprintf(labels, sizeof labels, "stage=\"%s\",le=\"%g\"", stage, (double)bounds[i] / 1000);
		else
			snprintf(labels, sizeof labels, "stage=\"%s\",le=\"+Inf\"", stage);
		srv_metric_part(out, METRIC_cook_duration, "_bucket", labels, below, false);
	}
	snprintf(labels, sizeof labels, "stage=\"%s\"", stage);
	srv_metric_part(out, METRIC_cook_duration, "_sum", labels, times->sum_ns, true);
	srv_metric_part(out, METRIC_cook_duration, "_count", labels, below, false);
}

static uint64_t oldest_wait_ms(const srv_engine_counters *c)
{
	int64_t oldest = (int64_t)c->oldest_queued_at_ms, now = srv_clock_ms(CLOCK_REALTIME);
	return c->queue_length > 0 && oldest > 0 && now > oldest ? (uint64_t)(now - oldest) : 0;
}

static void put_cooks(hob_buf *out, srv_engine_counters *c)
{
	srv_metric_head(out, METRIC_cook_results);
	srv_metric_u64(out, METRIC_cook_results, "result=\"cooked\"", c->cooked);
	srv_metric_u64(out, METRIC_cook_results, "result=\"preview\"", c->previewed);
	srv_metric_u64(out, METRIC_cook_results, "result=\"failed\"", c->failed);
	srv_metric_u64(out, METRIC_cook_results, "result=\"hit\"", c->hits);
	srv_metric_u64(out, METRIC_cook_results, "result=\"fetched\"", c->fetched);
	srv_metric_u64(out, METRIC_cook_results, "result=\"cancelled\"", c->cancelled);
	srv_metric_head(out, METRIC_cook_parts);
	srv_metric_u64(out, METRIC_cook_parts, "result=\"made\"", c->parts.made);
	srv_metric_u64(out, METRIC_cook_parts, "result=\"reused\"", c->parts.reused);
	srv_metric_head(out, METRIC_cook_duration);
	put_times(out, "queue", &c->times.queued);
	put_times(out, "cook", &c->times.cook);
	put_times(out, "total", &c->times.total);
	one_ns(out, METRIC_cook_seconds, c->cook_ns);
	one(out, METRIC_queue_length, c->queue_length);
	one_ns(out, METRIC_queue_oldest, oldest_wait_ms(c) * 1000000);
	one(out, METRIC_jobs_running, c->running);
	one(out, METRIC_loop_turns, c->turn.count);
	one(out, METRIC_loop_slow_turns, c->turn.slow);
	one_ns(out, METRIC_loop_longest_turn, c->turn.longest_ns);
	one(out, METRIC_loop_put_off, c->turn.put_off);
	one_ns(out, METRIC_loop_busiest_turn, c->turn.busiest_ns);
	one(out, METRIC_worker_crashes, c->died.crashed);
	one(out, METRIC_worker_interrupted, c->died.interrupted);
	one(out, METRIC_worker_timeouts, c->died.timed_out);
}

static void put_upstream_requests(hob_buf *out, srv_engine *engine)
{
	srv_upstream_facts facts;
	srv_upstream_look(engine->exchange->upstream, &facts);
	srv_metric_u64(out, METRIC_cache_requests, "tier=\"upstream\",result=\"hit\"", facts.found);
	srv_metric_u64(out, METRIC_cache_requests, "tier=\"upstream\",result=\"miss\"",
				   facts.asked - facts.found);
}

static void put_farm(hob_buf *out, const srv_upstream_facts *facts)
{
	srv_metric_head(out, METRIC_farm_leases);
	if (facts->farm)
		srv_metric_u64(out, METRIC_farm_leases, "", facts->leases);
	srv_metric_head(out, METRIC_farm_waits);
	if (facts->farm)
		srv_metric_u64(out, METRIC_farm_waits, "", facts->waits);
	srv_metric_head(out, METRIC_farm_claims);
	if (!facts->farm)
		return;
	srv_metric_u64(out, METRIC_farm_claims, "result=\"granted\"", facts->claimed);
	srv_metric_u64(out, METRIC_farm_claims, "result=\"taken_over\"", facts->taken_over);
	srv_metric_u64(out, METRIC_farm_claims, "result=\"lost\"", facts->lost);
	srv_metric_u64(out, METRIC_farm_claims, "result=\"late\"", facts->late);
}

/* Prints the upstream's metrics; without an upstream only their headers. */
static void put_upstream(hob_buf *out, srv_engine *engine)
{
	srv_upstream_facts facts;
	if (!engine->exchange->upstream) {
		srv_metric_head(out, METRIC_upstream_up);
		srv_metric_head(out, METRIC_upstream_failing);
		srv_metric_head(out, METRIC_upstream_outbox);
		srv_metric_head(out, METRIC_upstream_results);
		srv_metric_head(out, METRIC_upstream_bytes);
		put_farm(out, &(srv_upstream_facts){0});
		return;
	}
	srv_upstream_look(engine->exchange->upstream, &facts);
	one(out, METRIC_upstream_up, facts.state == SRV_UPSTREAM_UP);
	one(out, METRIC_upstream_failing, facts.state == SRV_UPSTREAM_FAILING);
	one(out, METRIC_upstream_outbox, facts.outbox);
	srv_metric_head(out, METRIC_upstream_results);
	srv_metric_u64(out, METRIC_upstream_results, "result=\"fetched\"", facts.fetched);
	srv_metric_u64(out, METRIC_upstream_results, "result=\"slower\"", facts.slower);
	srv_metric_u64(out, METRIC_upstream_results, "result=\"pushed\"", facts.given);
	srv_metric_u64(out, METRIC_upstream_results, "result=\"refused\"", facts.refused);
	srv_metric_u64(out, METRIC_upstream_results, "result=\"conflict\"", facts.conflicts);
	srv_metric_head(out, METRIC_upstream_bytes);
	srv_metric_u64(out, METRIC_upstream_bytes, "direction=\"fetched\"", facts.fetched_bytes);
	srv_metric_u64(out, METRIC_upstream_bytes, "direction=\"pushed\"", facts.given_bytes);
	put_farm(out, &facts);
}

static void put_cache(hob_buf *out, srv_engine *engine)
{
	srv_engine_counters *c = &engine->counters;
	srv_store_usage usage;
	srv_store_measure(engine->store, &usage);
	srv_metric_head(out, METRIC_cache_requests);
	srv_metric_u64(out, METRIC_cache_requests, "tier=\"local\",result=\"hit\"", c->hits);
	srv_metric_u64(out, METRIC_cache_requests, "tier=\"local\",result=\"miss\"", c->misses + c->fetched);
	if (engine->exchange->upstream)
		put_upstream_requests(out, engine);
	one_ns(out, METRIC_cache_saved, c->saved_ns);
	one(out, METRIC_cache_size, usage.blob_bytes);
	one(out, METRIC_cache_entries, usage.blob_count);
	one(out, METRIC_cache_limit, usage.max_bytes);
	one(out, METRIC_cache_disk_free, usage.disk_free_bytes);
	one(out, METRIC_cache_evicted, usage.evicted_bytes);
	one(out, METRIC_cache_damaged, usage.damaged_blobs);
	one(out, METRIC_cache_rebuilds, c->rebuilds);
	one(out, METRIC_cache_oldest_idle, usage.oldest_idle_s);
	put_upstream(out, engine);
}

static void put_derived(hob_buf *out, const srv_derive_counts *counts)
{
	static const char *const results[SRV_DERIVE_RESULTS] = {"made", "useless", "failed", "cancelled"};
	char labels[64];
	srv_metric_head(out, METRIC_derived);
	for (int kind = 0; kind < SRV_DERIVED_COUNT; kind++)
		for (int result = 0; result < SRV_DERIVE_RESULTS; result++) {
			snprintf(labels, sizeof labels, "kind=\"%s\",result=\"%s\"", srv_derived_name((srv_derived)kind),
					 results[result]);
			srv_metric_u64(out, METRIC_derived, labels, counts->derived[kind][result]);
		}
}

void srv_engine_metrics(void *user, hob_buf *out)
{
	srv_engine *engine = user;
	srv_engine_counters *c = &engine->counters;
	char labels[160];
	put_cooks(out, c);
	put_cache(out, engine);
	snprintf(labels, sizeof labels, "layers=\"%s\"", srv_engine_sandbox(engine));
	srv_metric_head(out, METRIC_sandbox_info);
	srv_metric_u64(out, METRIC_sandbox_info, labels, 1);
	one(out, METRIC_revisions, c->changes.published);
	one(out, METRIC_batches, c->changes.together);
	one(out, METRIC_changes_held, c->changes.held);
	one(out, METRIC_hashed_bytes, c->sources.hashed_bytes);
	one(out, METRIC_scans, c->sources.scans);
	one(out, METRIC_thumbnails, srv_derive_count(engine->derive)->thumbnails);
	put_derived(out, srv_derive_count(engine->derive));
	one(out, METRIC_watch_overflows, c->sources.resets);
}

void srv_engine_stats(void *user, hob_buf *out)
{
	srv_engine *engine = user;
	srv_engine_counters *c = &engine->counters;
	srv_store_usage usage;
	srv_store_measure(engine->store, &usage);
	hob_json_put(out, HOB_JSON_OPEN("queue", '{'), HOB_JSON("length", c->queue_length),
				 HOB_JSON("running", c->running), HOB_JSON("oldest_ms", oldest_wait_ms(c)),
				 HOB_JSON("eta_ms", c->expected_ns / 1000000), HOB_JSON("in_changeset", c->changes.held));
	for (int i = 0; i < SRV_PRIORITY_COUNT; i++)
		hob_json_put_u64(out, srv_priority_name((srv_priority)i), c->queued_of[i]);
	hob_json_close(out, '}');
	srv_activity_put(engine->jobs->activity, srv_clock_ms(CLOCK_REALTIME), out);
	hob_json_put(
		out, HOB_JSON_OPEN("cooks", '{'), HOB_JSON("cooked", c->cooked), HOB_JSON("failed", c->failed),
		HOB_JSON("cancelled", c->cancelled), HOB_JSON("hits", c->hits), HOB_JSON("fetched", c->fetched),
		HOB_JSON("misses", c->misses), HOB_JSON("cook_ms", c->cook_ns / 1000000),
		HOB_JSON("saved_ms", c->saved_ns / 1000000), HOB_JSON_CLOSE('}'),
		HOB_JSON_OPEN("reproducibility", '{'), HOB_JSON("same", 0u), HOB_JSON("different", 0u),
		HOB_JSON_CLOSE('}'), HOB_JSON_OPEN("cache", '{'), HOB_JSON("blobs", usage.blob_count),
		HOB_JSON("bytes", usage.blob_bytes), HOB_JSON("limit_bytes", usage.max_bytes),
		HOB_JSON("disk_free_bytes", usage.disk_free_bytes), HOB_JSON("evicted_bytes", usage.evicted_bytes),
		HOB_JSON("damaged_blobs", usage.damaged_blobs), HOB_JSON("oldest_idle_s", usage.oldest_idle_s),
		HOB_JSON("records", usage.record_count), HOB_JSON("parts", usage.part_count), HOB_JSON_CLOSE('}'));
	srv_engine_put_upstream(engine, out);
	hob_own_buf degraded = {0};
	srv_engine_workers_error(engine, &degraded);
	if (degraded.size == 0)
		srv_engine_disk_error(engine, &degraded);
	hob_json_put(out, HOB_JSON_SOME("degraded", hob_buf_str(&degraded)));
}

srv_activity_run srv_engine_progress(srv_engine *engine)
{
	return srv_activity_now(engine->jobs->activity, srv_clock_ms(CLOCK_REALTIME));
}

uint64_t srv_engine_input_bytes(void *user)
{
	srv_engine *engine = user;
	return engine->counters.sources.input_bytes;
}
