/* cook_run.h - one run over a plan: a pool of cook processes; what they make is checked and written by threads and told of
 * on stderr. Behind `hob cook`, and `hob export` of models. */
#ifndef CLI_COOK_RUN_H
#define CLI_COOK_RUN_H

#include "../config/config.h"
#include "cook_write.h"

typedef struct cook_run_options {
	const char *who; /* "hob cook", for messages */
	cook_write_options write;
	const srv_config *config; /* jobs, timeout, memory, sandbox */
	const char *report;		  /* JSON report, or NULL */
	bool quiet;
	bool fail_fast; /* the first failure ends it */
} cook_run_options;

/* Cooks the plan and releases it; returns the exit code. */
int cook_run(cook_plan *plan, const cook_run_options *options);

#endif
