#include "engine_private.h"

/* The limits under which a cook failed for time or memory; in the statistics of its recipe, which has no others. */
void engine_put_limits(engine_job *job, srv_recipe *recipe)
{
	const srv_engine_options *options = &job->engine->options;
	if (job->error.code == HOB_ERR_TIMEOUT || job->error.code == HOB_ERR_MEMORY)
		recipe->stats = hob_arena_printf(&job->arena, "{\"timeout_ms\":%u,\"memory_mib\":%u}",
										 options->timeout_ms, (uint32_t)(options->memory_limit >> 20));
}

static uint32_t limit_in(hob_str stats, hob_str name)
{
	size_t at = hob_str_find(stats, name, 0);
	uint32_t value = 0;
	for (size_t i = at == SIZE_MAX ? stats.len : at + name.len; i < stats.len; i++) {
		if (stats.data[i] < '0' || stats.data[i] > '9')
			break;
		value = value * 10 + (uint32_t)(stats.data[i] - '0');
	}
	return value;
}

bool engine_limits_raised(const srv_engine *engine, const srv_recipe *recipe)
{
	if (recipe->error.len == 0 || recipe->stats.len == 0)
		return false;
	return limit_in(recipe->stats, HOB_STR("\"timeout_ms\":")) < engine->options.timeout_ms ||
		   limit_in(recipe->stats, HOB_STR("\"memory_mib\":")) <
			   (uint32_t)(engine->options.memory_limit >> 20);
}
