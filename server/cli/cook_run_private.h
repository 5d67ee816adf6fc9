/* cook_run_private.h - what the files of a run of `hob cook` share. cook_run.c has the run; cook_run_offer.c
 * offers its cooks to the workers of a farm, and brings a worker the files of an offer. Loop thread. */
#ifndef CLI_COOK_RUN_PRIVATE_H
#define CLI_COOK_RUN_PRIVATE_H

#include "cook_cache.h"
#include "cook_parts.h"
#include "cook_run.h"
#include "cook_share.h"
#include "offer.h"

#include "../worker/pool.h"

/* One run of `hob cook`: a plan (what to cook), a pool of workers, and the result of each entry. */
typedef struct run {
	uv_loop_t loop;
	srv_pool *pool;
	cook_plan plan;
	cook_parts parts;	/* that no cache keeps */
	cook_cache *cache;	/* NULL: none */
	cook_entry **queue; /* for the workers; has room for all of the plan */
	cook_share share;
	offer *offered;			   /* to this worker; its models are the plan */
	struct offering *offering; /* to workers */
	uint32_t queued, next, looked, looks_pending, cached, fetched;
	uint32_t left;							/* a worker: to others */
	uint32_t finished, failed, over_budget; /* failed: for reasons other than a budget, too */
	uint32_t failed_rule, assets_over;
	uint64_t cook_ns, bytes, reused, triangles, began_ns;
	uv_work_t *writing;
	uint32_t writes_pending;
	uv_signal_t interrupt;
	uv_timer_t look;  /* at the files of models that wait for a writer */
	uint32_t waiting; /* of the plan */
	bool interrupted, closing, live, quiet, started, fail_fast, force, keep_failed;
	const char *who;
	const cook_run_options *options;
	cook_write_options write;
	hob_error error; /* of the whole run */
	hob_buf report, report_skipped, depfile;
	uint32_t skipped;
} run;

typedef struct look_job {
	run *r;
	uv_work_t work;
	cook_entry *entry;
	bool readable;
	bool brought; /* for a worker: the model's own files are there */
} look_job;

bool srv_cook_run_goes_on(const run *r);
void srv_cook_run_feed(run *r);
void srv_cook_run_finish_if_over(run *r);
void srv_cook_run_look_ended(look_job *job);
/* Another machine is to cook it. */
void srv_cook_run_leave(run *r, cook_entry *entry);

/* Offers all models of the plan, if the options say so, and goes on with `r` meanwhile. */
void srv_cook_run_offer(run *r, const cook_run_options *options);
/* False: the offer is still being made; it ends soon, and calls srv_cook_run_finish_if_over. */
bool srv_cook_run_end_offer(run *r);

/* A worker: the look goes on when the model's own files are there. False: they are. */
bool srv_cook_run_bring(look_job *job);
/* A worker: the cook read files that were not there yet; takes the outcome, and cooks it again. False: it was
 * a good cook. */
bool srv_cook_run_bring_lacking(run *r, cook_entry *entry, srv_outcome *outcome);

#endif
