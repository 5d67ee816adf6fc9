#include "engine_private.h"

#include "../worker/machine.h"

/* Estimates time and memory of a cook from earlier cooks. */

/* A cook that needs less memory than this, or less than this share of the machine's, always starts. */
enum { SMALL_BYTES = 256 << 20, SMALL_SHARE = 16 };

uint64_t srv_engine_expected_ns(const srv_engine *engine, const asset *a)
{
	uint64_t cooked = engine->counters.cooked;
	return a->final_cook_ns > 0 ? a->final_cook_ns : cooked > 0 ? engine->counters.cook_ns / cooked : 0;
}

void srv_engine_note_expected(srv_engine *engine)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < engine->active_count; i++) {
		const engine_job *job = engine->active[i];
		double left = job->progress > 0 && job->progress < 1 ? 1 - (double)job->progress : 1;
		sum += (uint64_t)((double)srv_engine_expected_ns(engine, &engine->assets[job->asset]) * left);
	}
	for (uint32_t i = 0; srv_queue_count(engine->queue) > 0 && i < engine->asset_count; i++)
		if (srv_queue_has(engine->queue, i))
			sum += srv_engine_expected_ns(engine, &engine->assets[i]);
	uint32_t workers = engine->pool ? srv_pool_size(engine->pool) : 0;
	engine->counters.expected_ns = sum / (workers > 0 ? workers : 1);
}

bool srv_engine_has_memory(const srv_engine *engine, const engine_job *job)
{
	uint64_t needed = engine->assets[job->asset].peak_bytes, running = 0;
	if (needed == 0 || engine->counters.running == 0)
		return true;
	if (needed < SMALL_BYTES && needed < engine->memory_total / SMALL_SHARE)
		return true;
	/* Running cooks may not have allocated their memory yet. */
	for (uint32_t i = 0; i < engine->active_count; i++)
		if (engine->active[i]->on_worker)
			running += engine->assets[engine->active[i]->asset].peak_bytes;
	srv_memory memory;
	srv_machine_memory("", &memory);
	return needed + running <= memory.available;
}
