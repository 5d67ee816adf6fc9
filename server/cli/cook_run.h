/* cook_run.h - one run over a plan. Results come from the cache or from a pool of cook processes; threads
 * check, keep and write them, and report on stderr. For `hob cook`, and for `hob export` of models. */
#ifndef CLI_COOK_RUN_H
#define CLI_COOK_RUN_H

#include "../config/config.h"
#include "cook_write.h"
#include "serve_config.h"

typedef struct cook_run_options {
	const char *who; /* "hob cook", for messages */
	cook_write_options write;
	const srv_config *config; /* jobs, timeout, memory, sandbox; or else: */
	srv_pool_options limits;
	hob_profile profile;
	const char *report;				/* file of the report, or NULL */
	cook_format format;				/* of the report */
	const char *cache;				/* folder of kept results, or NULL */
	const serve_upstream *upstream; /* NULL or without an address: none */
	bool offer;						/* to the workers of the farm */
	struct offer *offered;			/* to this worker; the plan is its, and nothing is written. NULL: none */
	const char *depfile;			/* file that lists the inputs, or NULL */
	bool depfile_json;
	const char *if_outside; /* said behind a failure about a file outside the root, or NULL */
	bool force;				/* cook even if the cache has a result */
	bool quiet;
	bool fail_fast;	 /* stop at the first failure */
	uint32_t wait_s; /* for a program that writes a file of a model */
	/* remove outputs whose source no longer exists, see cook_prune.h; the whole plan must be of folders */
	bool prune;
	/* Gets each result in place of a person and of the report. outcome: NULL if no worker took it; error:
	 * NULL if it is good. */
	void (*see)(void *user, srv_pool *pool, const cook_entry *entry, const srv_outcome *outcome,
				const hob_error *error);
	void *user;
	bool only_report; /* `see` judges by rules itself, and needs no other output of a kept result */
} cook_run_options;

/* Cooks the plan and releases it; returns the exit code. */
int srv_cook_run(cook_plan *plan, const cook_run_options *options);

#endif
