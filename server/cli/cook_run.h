/* cook_run.h - one run over a plan: what the cache holds is taken from it, the rest goes to a pool of cook processes; results are
 * checked, kept and written by threads and told of on stderr. Behind `hob cook`, and `hob export` of models. */
#ifndef CLI_COOK_RUN_H
#define CLI_COOK_RUN_H

#include "../config/config.h"
#include "cook_write.h"
#include "serve_config.h"

typedef struct cook_run_options {
	const char *who; /* "hob cook", for messages */
	cook_write_options write;
	const srv_config *config;		/* jobs, timeout, memory, sandbox */
	const char *report;				/* file of the report, or NULL */
	cook_form form;					/* of the report */
	const char *cache;				/* folder of kept results, or NULL */
	const serve_upstream *upstream; /* NULL or without an address: none */
	bool force;						/* cooks what the cache has, too */
	bool quiet;
	bool fail_fast; /* the first failure ends it */
	bool prune; /* removes outputs whose source is gone, see cook_prune.h; all of the plan is of folders */
} cook_run_options;

/* Cooks the plan and releases it; returns the exit code. */
int srv_cook_run(cook_plan *plan, const cook_run_options *options);

#endif
