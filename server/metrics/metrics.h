/* metrics.h - writes metrics in Prometheus' text format 0.0.4; names and help come from schema/counters.def.
 *
 * Call srv_metric_head once for each metric, then write its samples:
 *     srv_metric_head(out, METRIC_queue_length);
 *     srv_metric_u64(out, METRIC_queue_length, NULL, 3);
 *     srv_metric_head(out, METRIC_cache_requests);
 *     srv_metric_u64(out, METRIC_cache_requests, "tier=\"local\",result=\"hit\"", hits);
 * Histograms: "..._bucket" with le="...", "_sum" and "_count" by srv_metric_part. Used by the HTTP server and
 * by the engine. */
#ifndef SRV_METRICS_H
#define SRV_METRICS_H

#include "../../core/base/base.h"

typedef enum metric {
#define COUNTER(id, type, name, help) METRIC_##id,
#include "../../schema/counters.def"
#undef COUNTER
	METRIC_COUNT
} metric;

void srv_metric_head(hob_buf *out, metric id);
/* `labels`: "a=\"b\",c=\"d\"", NULL for none; the caller escapes values (Hob's own, not users'). */
void srv_metric_u64(hob_buf *out, metric id, const char *labels, uint64_t value);
/* Written as seconds with nine digits. */
void srv_metric_ns(hob_buf *out, metric id, const char *labels, uint64_t nanoseconds);
/* suffix: "_bucket", "_sum", "_count" of a histogram; is_ns: the value is nanoseconds, written as seconds. */
void srv_metric_part(hob_buf *out, metric id, const char *suffix, const char *labels, uint64_t value,
					 bool is_ns);

#endif
