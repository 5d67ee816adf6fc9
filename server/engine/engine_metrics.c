#include "engine_private.h"

/* HTTP thread: atomics and the store's own counters only. */
void srv_engine_metrics(void *user, hob_buf *out)
{
	srv_engine *engine = user;
	srv_engine_counters *c = &engine->counters;
	const struct {
		const char *name, *type, *help;
		unsigned long long value;
	} lines[] = {
		{"hob_queue_length", "gauge", "Jobs waiting.", c->queue_length},
		{"hob_jobs_running", "gauge", "Cooks under way.", c->running},
		{"hob_revisions_total", "counter", "Changes published since the start.", c->published},
		{"hob_hashed_bytes_total", "counter", "Bytes read to make digests outside of cooks.",
		 c->hashed_bytes},
		{"hob_watch_overflows_total", "counter", "Times events were lost and a root was scanned again.",
		 c->resets},
		{"hob_scans_total", "counter", "Complete scans of a root.", c->scans},
		{"hob_worker_crashes_total", "counter", "Cooks whose process died.", c->crashed},
		{"hob_worker_timeouts_total", "counter", "Cooks that took too long and were ended.", c->timed_out},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(lines); i++)
		hob_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", lines[i].name, lines[i].help,
					   lines[i].name, lines[i].type, lines[i].name, lines[i].value);
	hob_buf_printf(out,
				   "# HELP hob_sandbox_info What closes the cook processes in, as a label, always 1.\n"
				   "# TYPE hob_sandbox_info gauge\nhob_sandbox_info{layers=\"%s\"} 1\n",
				   srv_engine_sandbox(engine));
	hob_buf_printf(
		out,
		"# HELP hob_cook_results_total Finished jobs by result.\n# TYPE hob_cook_results_total counter\n"
		"hob_cook_results_total{result=\"cooked\"} %llu\nhob_cook_results_total{result=\"failed\"} %llu\n"
		"hob_cook_results_total{result=\"hit\"} %llu\nhob_cook_results_total{result=\"cancelled\"} %llu\n",
		(unsigned long long)c->cooked, (unsigned long long)c->failed, (unsigned long long)c->hits,
		(unsigned long long)c->cancelled);
	hob_buf_printf(out,
				   "# HELP hob_cache_requests_total Cook keys looked up, once per key.\n"
				   "# TYPE hob_cache_requests_total counter\n"
				   "hob_cache_requests_total{tier=\"local\",result=\"hit\"} %llu\n"
				   "hob_cache_requests_total{tier=\"local\",result=\"miss\"} %llu\n",
				   (unsigned long long)c->hits, (unsigned long long)c->misses);
	hob_buf_printf(out,
				   "# HELP hob_cache_saved_seconds_total Cook time that hits saved.\n"
				   "# TYPE hob_cache_saved_seconds_total counter\nhob_cache_saved_seconds_total %.6f\n"
				   "# HELP hob_cook_seconds_total Time spent in successful cooks.\n"
				   "# TYPE hob_cook_seconds_total counter\nhob_cook_seconds_total %.6f\n",
				   (double)c->saved_ns / 1e9, (double)c->cook_ns / 1e9);
}
