#include "metrics.h"

#include <inttypes.h>

static const struct {
	const char *type, *name, *help;
} table[] = {
#define COUNTER(id, type, name, help) {#type, name, help},
#include "../../schema/counters.def"
#undef COUNTER
};

void srv_metric_head(hob_buf *out, metric id)
{
	hob_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", table[id].name, table[id].help, table[id].name,
				   table[id].type);
}

void srv_metric_part(hob_buf *out, metric id, const char *suffix, const char *labels, uint64_t value,
					 bool is_ns)
{
	hob_buf_printf(out, "%s%s%s%s%s ", table[id].name, suffix, labels ? "{" : "", labels ? labels : "",
				   labels ? "}" : "");
	if (is_ns)
		hob_buf_printf(out, "%" PRIu64 ".%09" PRIu64 "\n", value / 1000000000, value % 1000000000);
	else
		hob_buf_printf(out, "%" PRIu64 "\n", value);
}

void srv_metric_u64(hob_buf *out, metric id, const char *labels, uint64_t value)
{
	srv_metric_part(out, id, "", labels, value, false);
}

void srv_metric_ns(hob_buf *out, metric id, const char *labels, uint64_t nanoseconds)
{
	srv_metric_part(out, id, "", labels, nanoseconds, true);
}
