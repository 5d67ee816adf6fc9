/* job_steps.h - the stages that a job went through, with their times. Pure. */
#ifndef SRV_COOK_JOB_STEPS_H
#define SRV_COOK_JOB_STEPS_H

#include "job.h"

enum { SRV_JOB_STEPS_MAX = 40 };

/* Oldest first. When it is full, the newest stage takes the place of the last one. {0}: none yet. */
typedef struct srv_job_steps {
	struct {
		srv_job_stage stage;
		uint64_t began_ns; /* of a steady clock */
	} items[SRV_JOB_STEPS_MAX];
	uint32_t count;
	bool told; /* srv_job_is_stuck, of the newest stage */
} srv_job_steps;

/* The job is in this stage from now on. */
void srv_job_steps_add(srv_job_steps *steps, srv_job_stage stage, uint64_t now_ns);
/* Appends "STAGE MS STAGE MS": how long each took, the newest one until now. */
void srv_job_steps_print(const srv_job_steps *steps, uint64_t now_ns, hob_buf *out);
/* True once for a stage that takes longer than it should; never in one that waits for other jobs. */
bool srv_job_is_stuck(srv_job_steps *steps, uint64_t now_ns, uint32_t cook_timeout_ms);

#endif
