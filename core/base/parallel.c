#include "base.h"

void hob_parallel_for(const hob_parallel *parallel, uint32_t count, hob_task task, void *context)
{
	if (parallel && parallel->threads > 1 && count > 1) {
		parallel->run(parallel->user, count, task, context);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		task(context, i, 0);
}
