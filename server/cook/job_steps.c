#include "job_steps.h"

#include <assert.h>

/* Hashing and storing the largest files takes seconds; an upstream and a farm answer or time out earlier. */
enum { STAGE_MS = 60000 };

void srv_job_steps_add(srv_job_steps *steps, srv_job_stage stage, uint64_t now_ns)
{
	assert(steps->count <= SRV_JOB_STEPS_MAX && stage < SRV_JOB_STAGES);
	assert(steps->count == 0 || steps->items[steps->count - 1].began_ns <= now_ns);
	uint32_t at = steps->count < SRV_JOB_STEPS_MAX ? steps->count++ : SRV_JOB_STEPS_MAX - 1;
	steps->items[at].stage = stage;
	steps->items[at].began_ns = now_ns;
	steps->told = false;
}

void srv_job_steps_print(const srv_job_steps *steps, uint64_t now_ns, hob_buf *out)
{
	for (uint32_t i = 0; i < steps->count; i++) {
		uint64_t end = i + 1 < steps->count ? steps->items[i + 1].began_ns : now_ns;
		assert(end >= steps->items[i].began_ns);
		hob_buf_printf(out, "%s%s %.3f", i > 0 ? " " : "", srv_job_stage_name(steps->items[i].stage),
					   (double)(end - steps->items[i].began_ns) / 1e6);
	}
}

bool srv_job_is_stuck(srv_job_steps *steps, uint64_t now_ns, uint32_t cook_timeout_ms)
{
	if (steps->count == 0 || steps->told)
		return false;
	srv_job_stage stage = steps->items[steps->count - 1].stage;
	uint64_t spent = now_ns - steps->items[steps->count - 1].began_ns,
			 most = STAGE_MS + (stage == SRV_JOB_COOK ? (uint64_t)cook_timeout_ms : 0);
	bool waits = stage == SRV_JOB_DUPLICATE || stage == SRV_JOB_UNCLAIMED || stage == SRV_JOB_WAIT;
	assert(now_ns >= steps->items[steps->count - 1].began_ns);
	steps->told = !waits && spent > most * 1000000;
	return steps->told;
}
