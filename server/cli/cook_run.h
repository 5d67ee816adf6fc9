/* cook_run.h - runs a plan. Results come from the cache or from a pool of cook processes; threads check, keep
 * and write them, and report on stderr. For `hob cook`, and for `hob export` of models. */
#ifndef CLI_COOK_RUN_H
#define CLI_COOK_RUN_H

#include "../config/config.h"
#include "cook_write.h"
#include "serve_config.h"

typedef struct cook_run_options {
	const char *who; /* "hob cook", for messages */
	cook_write_options write;
	const srv_config *config; /* jobs, timeout, memory, sandbox; NULL: `limits` */
	srv_pool_options limits;
	hob_profile profile;
	const char *report;				/* file of the report, or NULL */
	cook_format format;				/* format of `report` */
	const char *cache;				/* folder of the cache, or NULL */
	const serve_upstream *upstream; /* NULL or without an address: no upstream */
	bool offer;						/* offer the cooks to the workers of the farm */
	/* worker: the offer whose models are the plan; no file is written. NULL: not a worker */
	struct offer *offered;
	const char *depfile; /* file that lists the inputs, or NULL */
	bool depfile_json;
	const char *if_outside; /* hint after a failure about a file outside the root, or NULL */
	bool force;				/* cook even if the cache has a result */
	bool quiet;
	bool fail_fast;	 /* stop at the first failure */
	uint32_t wait_s; /* how long to wait for a program that writes a model's file */
	/* Remove outputs whose source no longer exists (cook_run_private.h). All paths must be folders. */
	bool prune;
	/* Receives each result; nothing is printed or reported then. outcome: NULL if no worker took the model;
	 * error: NULL if the result is good. */
	void (*see)(void *user, srv_pool *pool, const cook_entry *entry, const srv_outcome *outcome,
				const hob_error *error);
	void *user;
	bool only_report; /* of a kept result, `see` needs only the report; it applies the rules itself */
} cook_run_options;

/* Cooks the plan and releases it; returns the exit code. */
int srv_cook_run(cook_plan *plan, const cook_run_options *options);

#endif
