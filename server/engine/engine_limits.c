#include "engine_jobs.h"

#include "../reuse/kept.h"
#include "../worker/machine.h"

#include <cjson/cJSON.h>

/* The limits under which a cook died or ran out of time or memory. They are kept in the `stats` of its
 * record, which are otherwise empty. A result without levels for lack of memory stores its limit there, too
 * (server/reuse/kept.h). */

enum { DAY_MS = 24 * 60 * 60 * 1000, LOOK_MS = 60000 };

static uint32_t memory_mib(const srv_engine *engine)
{
	return (uint32_t)(engine->options.pool.memory_limit >> 20);
}

static uint32_t source_mib(const srv_engine *engine)
{
	return (uint32_t)(engine->options.pool.source_limit >> 20);
}

void srv_engine_put_limits(engine_job *job, srv_record *record)
{
	const srv_engine *engine = job->engine;
	bool died = !job->cook.outcome->has_result;
	if (died || job->cook.error.code == HOB_ERR_TIMEOUT || job->cook.error.code == HOB_ERR_MEMORY ||
		job->cook.error.code == HOB_ERR_LIMIT)
		record->stats =
			hob_arena_printf(&job->arena,
							 "{\"timeout_ms\":%u,\"memory_mib\":%u,\"source_mib\":%u,\"sandbox\":"
							 "%d,\"machine\":\"%s\",\"hob\":\"%s\"}",
							 engine->options.pool.timeout_ms, memory_mib(engine), source_mib(engine),
							 (int)engine->options.pool.sandbox, engine->jobs->machine, HOB_VERSION);
}

static bool says(const cJSON *then, const char *name, const char *now)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(then, name));
	return text && strcmp(text, now) == 0;
}

static bool has_more(const cJSON *then, const char *name, uint32_t now)
{
	const cJSON *number = cJSON_GetObjectItemCaseSensitive(then, name);
	return !cJSON_IsNumber(number) || number->valuedouble < now;
}

bool srv_engine_is_doubtful(const srv_engine *engine, const srv_record *record)
{
	if (record->error.len == 0)
		return srv_kept_short_mib(record) > 0 && srv_kept_short_mib(record) < memory_mib(engine);
	if (record->stats.len == 0)
		return false;
	int64_t age = srv_clock_ms(CLOCK_REALTIME) - record->cooked_at_ms;
	hob_own_json *then = cJSON_ParseWithLength(record->stats.data, record->stats.len);
	return age >= DAY_MS || age < -DAY_MS || has_more(then, "timeout_ms", engine->options.pool.timeout_ms) ||
		   has_more(then, "memory_mib", memory_mib(engine)) ||
		   has_more(then, "source_mib", source_mib(engine)) ||
		   !says(then, "machine", engine->jobs->machine) || !says(then, "hob", HOB_VERSION) ||
		   cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(then, "sandbox")) !=
			   (double)engine->options.pool.sandbox;
}

void srv_engine_doubt_at(asset *a, const srv_record *record)
{
	bool observed = record && record->error.len > 0 && record->stats.len > 0;
	a->last.doubt_at_ms = observed ? record->cooked_at_ms + DAY_MS : 0;
}

void srv_engine_look_at_machine(srv_engine *engine)
{
	srv_memory memory;
	srv_machine_memory("", &memory);
	engine->jobs->memory_total = memory.total;
	srv_machine_facts(&memory, engine->jobs->machine, sizeof engine->jobs->machine);
}

void srv_engine_doubt(srv_engine *engine)
{
	char before[sizeof engine->jobs->machine];
	if (uv_now(engine->loop) < engine->jobs->doubt_at)
		return;
	engine->jobs->doubt_at = uv_now(engine->loop) + LOOK_MS;
	snprintf(before, sizeof before, "%s", engine->jobs->machine);
	srv_engine_look_at_machine(engine);
	bool other = strcmp(before, engine->jobs->machine) != 0;
	int64_t now = srv_clock_ms(CLOCK_REALTIME);
	for (uint32_t i = 0; i < engine->assets->count; i++) {
		asset *a = srv_asset_at(engine, i);
		bool due = other || now >= a->last.doubt_at_ms || now < a->last.doubt_at_ms - 2 * DAY_MS;
		if (a->last.doubt_at_ms == 0 || !due || a->life.state != SRV_ASSET_IDLE)
			continue;
		a->last.doubt_at_ms = 0;
		srv_asset_dirty(engine, i, SRV_PRIORITY_BACKGROUND, "retry", (hob_str){0});
	}
}
