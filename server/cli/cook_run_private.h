/* cook_run_private.h - shared by the files of a run of `hob cook`: cook_run.c is the run itself, cook_look.c
 * looks for a model's result before its cook, cook_run_offer.c offers the cooks to the workers of a farm.
 * Loop thread. */
#ifndef CLI_COOK_RUN_PRIVATE_H
#define CLI_COOK_RUN_PRIVATE_H

#include "cook_cache.h"
#include "cook_parts.h"
#include "cook_run.h"
#include "offer.h"

#include "../log/causes.h"
#include "../upstream/upstream.h"
#include "../worker/pool.h"

/* One run of `hob cook`: a plan, a pool of workers, and the result of each entry. */
typedef struct run {
	uv_loop_t loop;
	srv_pool *pool;
	cook_plan plan;
	cook_parts parts;		   /* parts that no cache keeps */
	cook_cache *cache;		   /* NULL: none */
	cook_entry **queue;		   /* entries for the workers; has room for the whole plan */
	srv_upstream *upstream;	   /* NULL: none */
	char folder[300];		   /* the temporary cache, which is removed at the end; empty: none */
	offer *offered;			   /* worker: the offer whose models are the plan */
	struct offering *offering; /* owner: the offer of this run's cooks */
	uint32_t queued, next, looked, looks_pending, cached, fetched;
	uint32_t left;							/* worker: models left to other machines */
	uint32_t finished, failed, over_budget; /* failed: not only because of a budget */
	uint32_t failed_rule, assets_over;
	srv_causes warnings; /* warnings with the same text are counted, and printed at the end */
	uint64_t cook_ns, bytes, reused, triangles, began_ns;
	uint32_t writes_pending;
	uv_signal_t interrupt;
	uv_timer_t look;  /* checks the files of models that wait for a writer */
	uint32_t waiting; /* number of entries that wait for a writer */
	bool farm, interrupted, closing, live, started, keep_failed;
	const cook_run_options *options;
	hob_error error; /* why the whole run failed */
	hob_buf report, report_skipped, depfile;
	uint32_t skipped;
} run;

/* The look-up of a model's result; it continues until a new result is in the upstream. */
typedef struct look_job {
	cook_look look;
	run *r;
	cook_entry *entry;
	uv_work_t work;
	bool readable;		 /* the model's source can be read */
	bool asked;			 /* the upstream has been asked */
	uint32_t seen;		 /* number of records in the upstream's answers */
	bool claiming;		 /* waiting for the answer to a claim */
	bool claimed;		 /* holds the farm's lease, and has not given a result yet */
	uint32_t claims;	 /* number of requests for the lease */
	uint32_t claim_seen; /* `seen` at the last of these requests */
	bool elsewhere;		 /* another machine is to cook the model */
	/* worker: the files that `lacking` read, or at first the model's own, have been fetched */
	bool brought;
	srv_outcome *lacking;
} look_job;

bool srv_cook_run_goes_on(const run *r);
void srv_cook_run_feed(run *r);
void srv_cook_run_finish_if_over(run *r);
/* The look-up is over. `hit`: the result; NULL: the model is to be cooked. */
void srv_cook_run_looked(run *r, cook_entry *entry, srv_outcome *hit);
/* Leaves the model to another machine. */
void srv_cook_run_leave(run *r, cook_entry *entry);

/* cook_look.c */
/* Starts a look-up, which calls srv_cook_run_looked or srv_cook_run_leave later. False: no memory. */
bool srv_cook_look_begin(run *r, cook_entry *entry);
void srv_cook_look_end(cook_entry *entry); /* gives back a lease without a result */
/* Sends the result, which is in the cache, to the upstream. */
void srv_cook_look_give(look_job *job, const hob_sha256 *key);
/* Number of look-ups that wait for other machines' cooks; give_up ends them when the run ends. */
uint32_t srv_cook_look_waits(const run *r);
void srv_cook_look_give_up(run *r);
/* Whether a result waits to be sent to the upstream, and can be sent. */
bool srv_cook_look_is_giving(const run *r);
/* Worker: whether the cook read files that have not been fetched. If so, takes the outcome, fetches them and
 * cooks the model again. */
bool srv_cook_look_lacks(run *r, cook_entry *entry, srv_outcome *outcome);

/* Starts to offer all models of the plan, if the options say so; the run continues meanwhile. */
void srv_cook_run_offer(run *r);
/* False: the offer is still being made; when it ends, it calls srv_cook_run_finish_if_over. */
bool srv_cook_run_end_offer(run *r);

#endif
