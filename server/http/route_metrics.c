#include "inside.h"

#include "../fs/folder.h"
#include "../metrics/metrics.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static void one(hob_buf *out, metric id, uint64_t value)
{
	srv_metric_head(out, id);
	srv_metric_u64(out, id, NULL, value);
}

/* ---- the process */

static uint64_t count_fds(void)
{
	srv_own_folder *folder = opendir("/proc/self/fd");
	uint64_t count = 0;
	while (folder && readdir(folder))
		count++;
	return count > 3 ? count - 3 : 0; /* not counting ".", ".." and the folder's own descriptor */
}

static uint64_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long total = 0, resident = 0;
	if (!file)
		return 0;
	int read = fscanf(file, "%llu %llu", &total, &resident);
	fclose(file);
	return read == 2 ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static uint64_t cpu_ns(void)
{
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	uint64_t seconds = (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec);
	uint64_t micros = (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
	return seconds * 1000000000u + micros * 1000u;
}

static void put_process(hob_buf *out, const srv_http *http)
{
	struct rlimit files = {0};
	getrlimit(RLIMIT_NOFILE, &files);
	srv_metric_head(out, METRIC_process_cpu);
	srv_metric_ns(out, METRIC_process_cpu, NULL, cpu_ns());
	one(out, METRIC_process_memory, resident_bytes());
	one(out, METRIC_process_fds, count_fds());
	one(out, METRIC_process_max_fds, files.rlim_cur);
	one(out, METRIC_process_start, (uint64_t)time(NULL) - (uint64_t)(http->now_ms - http->start_ms) / 1000);
}

/* ---- HTTP and assets */

static void put_view(hob_buf *out, const srv_view *view)
{
	char labels[64];
	srv_metric_head(out, METRIC_assets);
	for (uint32_t i = 0; i < SRV_STATE_COUNT; i++) {
		snprintf(labels, sizeof labels, "state=\"%s\"", srv_state_name((srv_state)i));
		srv_metric_u64(out, METRIC_assets, labels, view->states[i]);
	}
	srv_metric_head(out, METRIC_assets_standing);
	for (uint32_t i = 0; i < SRV_STANDINGS_LISTED; i++) {
		snprintf(labels, sizeof labels, "standing=\"%s\"", srv_standing_name((srv_standing)i));
		srv_metric_u64(out, METRIC_assets_standing, labels, view->standings[i]);
	}
	srv_metric_head(out, METRIC_findings);
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++)
		for (uint32_t level = HOB_LEVEL_INFO; level <= HOB_LEVEL_ERROR; level++) {
			snprintf(labels, sizeof labels, "rule=\"%s\",level=\"%s\"", hob_rule_table[i].id,
					 hob_rule_levels[level]);
			if (view->findings[i][level] > 0)
				srv_metric_u64(out, METRIC_findings, labels, view->findings[i][level]);
		}
	static const char *const modes[] = {"inotify", "polling", "scanning", "missing"};
	srv_metric_head(out, METRIC_watch_roots);
	for (size_t m = 0; m < HOB_COUNT_OF(modes); m++) {
		uint64_t count = 0;
		for (uint32_t i = 0; i < view->root_count; i++)
			count += strcmp(view->roots[i].mode, modes[m]) == 0;
		snprintf(labels, sizeof labels, "mode=\"%s\"", modes[m]);
		srv_metric_u64(out, METRIC_watch_roots, labels, count);
	}
}

static void put_requests(hob_buf *out, const srv_http *http, route_id route)
{
	uint64_t counts[600] = {0};
	char labels[160];
	for (uint32_t shard = 0; shard < http->shard_count; shard++) {
		const route_counts *of = &http->first[shard].requests[route];
		for (int i = 0; i < STATUS_SLOTS && of->status[i] > 0; i++)
			counts[of->status[i] % HOB_COUNT_OF(counts)] += of->count[i];
	}
	for (unsigned status = 0; status < HOB_COUNT_OF(counts); status++) {
		if (counts[status] == 0)
			continue;
		snprintf(labels, sizeof labels, "route=\"%s\",code=\"%u\"", srv_route_pattern(route), status);
		srv_metric_u64(out, METRIC_http_requests, labels, counts[status]);
	}
}

#define SUM(field) srv_http_sum(http, offsetof(srv_http, field))

static void put_http(hob_buf *out, const srv_http *http)
{
	char labels[160];
	uint64_t prepared = 0;
	one(out, METRIC_events_clients, SUM(stream_count));
	one(out, METRIC_http_connections, srv_http_connections(http));
	srv_metric_head(out, METRIC_http_thread_connections);
	for (uint32_t i = 0; i < http->shard_count; i++) {
		snprintf(labels, sizeof labels, "thread=\"%u\"", i);
		srv_metric_u64(out, METRIC_http_thread_connections, labels, http->first[i].connection_count);
		prepared += srv_blob_cache_count(http->first[i].blobs);
	}
	srv_metric_head(out, METRIC_http_connections_refused);
	srv_metric_u64(out, METRIC_http_connections_refused, "reason=\"full\"", SUM(refused_full));
	srv_metric_u64(out, METRIC_http_connections_refused, "reason=\"late\"", SUM(closed_late));
	srv_metric_u64(out, METRIC_http_connections_refused, "reason=\"room\"", SUM(closed_for_room));
	one(out, METRIC_http_tokens_refused, SUM(refused_token));
	srv_metric_head(out, METRIC_http_requests);
	for (int route = 0; route < ROUTE_COUNT; route++)
		put_requests(out, http, (route_id)route);
	one(out, METRIC_http_response_bytes, SUM(response_bytes));
	one(out, METRIC_http_blob_cache, prepared);
	srv_metric_head(out, METRIC_http_encoded);
	for (int i = 0; i < CODING_COUNT; i++) {
		snprintf(labels, sizeof labels, "coding=\"%s\"", srv_coding_name((coding_id)i));
		srv_metric_u64(out, METRIC_http_encoded, labels, SUM(encoded[i]));
	}
	one(out, METRIC_http_encoded_saved, SUM(encoded_saved_bytes));
}

enum MHD_Result srv_route_metrics(request *r)
{
	srv_http *http = r->http;
	hob_buf body = {0};
	char labels[80];
	snprintf(labels, sizeof labels, "version=\"%s\"", http->sources.version);
	srv_metric_head(&body, METRIC_build_info);
	srv_metric_u64(&body, METRIC_build_info, labels, 1);
	put_view(&body, srv_request_view(r));
	put_http(&body, http);
	put_process(&body, http);
	if (http->sources.metrics)
		http->sources.metrics(http->sources.user, &body);
	return srv_reply_body(r, MHD_HTTP_OK, &body, "text/plain; version=0.0.4; charset=utf-8", "Cache-Control",
						  "no-store", NULL);
}
