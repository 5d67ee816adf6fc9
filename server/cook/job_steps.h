/* job_steps.h - the stages of a job, with their times. Pure. */
#ifndef SRV_COOK_JOB_STEPS_H
#define SRV_COOK_JOB_STEPS_H

#include "job.h"

enum { SRV_JOB_STEPS_MAX = 40 };

/* Oldest first. When full, the newest stage replaces the last one. {0}: none yet. */
typedef struct srv_job_steps {
	struct {
		srv_job_stage stage;
		uint64_t began_ns; /* on a steady clock */
	} items[SRV_JOB_STEPS_MAX];
	uint32_t count;
	bool told; /* srv_job_is_stuck has reported the newest stage */
} srv_job_steps;

/* The job enters this stage. */
void srv_job_steps_add(srv_job_steps *steps, srv_job_stage stage, uint64_t now_ns);
/* Appends "STAGE MS STAGE MS": the duration of each, the newest one until now. */
void srv_job_steps_print(const srv_job_steps *steps, uint64_t now_ns, hob_buf *out);
/* True once for a stage that takes too long; never for one that waits for other jobs. */
bool srv_job_is_stuck(srv_job_steps *steps, uint64_t now_ns, uint32_t cook_timeout_ms);

#endif
