/* cook_run_private.h - the files of a run of `hob cook` share it. cook_run.c has the run; cook_look.c looks
 * for a model's result before its cook; cook_run_offer.c offers the cooks to the workers of a farm. Loop
 * thread. */
#ifndef CLI_COOK_RUN_PRIVATE_H
#define CLI_COOK_RUN_PRIVATE_H

#include "cook_cache.h"
#include "cook_parts.h"
#include "cook_run.h"
#include "offer.h"

#include "../log/causes.h"
#include "../upstream/upstream.h"
#include "../worker/pool.h"

/* One run of `hob cook`: a plan (what to cook), a pool of workers, and the result of each entry. */
typedef struct run {
	uv_loop_t loop;
	srv_pool *pool;
	cook_plan plan;
	cook_parts parts;		   /* that no cache keeps */
	cook_cache *cache;		   /* NULL: none */
	cook_entry **queue;		   /* for the workers; has room for all of the plan */
	srv_upstream *upstream;	   /* NULL: none */
	char folder[300];		   /* the cache, if it only lasts as long as the run; empty: it does not */
	offer *offered;			   /* to this worker; its models are the plan */
	struct offering *offering; /* to workers */
	uint32_t queued, next, looked, looks_pending, cached, fetched;
	uint32_t left;							/* a worker: to others */
	uint32_t finished, failed, over_budget; /* failed: for reasons other than a budget, too */
	uint32_t failed_rule, assets_over;
	srv_causes warnings; /* those with the same text are counted, and told at the end */
	uint64_t cook_ns, bytes, reused, triangles, began_ns;
	uint32_t writes_pending;
	uv_signal_t interrupt;
	uv_timer_t look;  /* at the files of models that wait for a writer */
	uint32_t waiting; /* of the plan */
	bool farm, interrupted, closing, live, started, keep_failed;
	const cook_run_options *options;
	hob_error error; /* of the whole run */
	hob_buf report, report_skipped, depfile;
	uint32_t skipped;
} run;

/* The way of a model past its cook, or to it. */
typedef struct look_job {
	cook_look look;
	run *r;
	cook_entry *entry;
	uv_work_t work;
	bool readable;		 /* its source */
	bool asked;			 /* the upstream was */
	uint32_t seen;		 /* records that it had */
	bool claiming;		 /* waits for an answer */
	bool claimed;		 /* on a farm, and not given yet */
	uint32_t claims;	 /* how often the lease was asked for */
	uint32_t claim_seen; /* `seen`, when it was last asked for */
	bool elsewhere;		 /* it is not to be cooked here */
	bool brought;		 /* to a worker: the model's own files, or else those that this cook lacked: */
	srv_outcome *lacking;
} look_job;

bool srv_cook_run_goes_on(const run *r);
void srv_cook_run_feed(run *r);
void srv_cook_run_finish_if_over(run *r);
/* Its look is over. hit: its result; NULL: it is to be cooked. */
void srv_cook_run_looked(run *r, cook_entry *entry, srv_outcome *hit);
/* Another machine is to cook it. */
void srv_cook_run_leave(run *r, cook_entry *entry);

/* cook_look.c */
/* Calls srv_cook_run_looked or srv_cook_run_leave later. False: no memory. */
bool srv_cook_look_begin(run *r, cook_entry *entry);
void srv_cook_look_end(cook_entry *entry); /* a lease without a result is given back */
/* The result, which is in the cache, goes to the upstream. */
void srv_cook_look_give(look_job *job, const hob_sha256 *key);
/* Looks that wait for cooks of other machines; and ends them, because the run ends. */
uint32_t srv_cook_look_waits(const run *r);
void srv_cook_look_give_up(run *r);
/* Something waits to be given to the upstream, and can be. */
bool srv_cook_look_is_giving(const run *r);
/* A worker: the cook read files that were not there yet; takes the outcome, and cooks it again. False: it was
 * a good cook. */
bool srv_cook_look_lacks(run *r, cook_entry *entry, srv_outcome *outcome);

/* Offers all models of the plan, if the options say so, and goes on with `r` meanwhile. */
void srv_cook_run_offer(run *r);
/* False: the offer is still being made; it ends soon, and calls srv_cook_run_finish_if_over. */
bool srv_cook_run_end_offer(run *r);

#endif
