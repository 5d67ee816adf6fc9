/* cook_run_private.h - shared by the files of a run of `hob cook`: cook_run.c is the run itself,
 * cook_run_offer.c offers the cooks to the workers of a farm.
 * Loop thread. */
#ifndef CLI_COOK_RUN_PRIVATE_H
#define CLI_COOK_RUN_PRIVATE_H

#include "cook_run.h"
#include "offer.h"

#include "../log/causes.h"
#include "../upstream/upstream.h"
#include "../engine/engine_batch.h"

/* ---- the cache */

/* Any thread: a kept record, as the outcome of a cook. only_report: without the other outputs. NULL: an
 * output is damaged, and is dropped, or there is no memory. */
srv_outcome *srv_cook_cache_read(srv_store *store, const char *model, const srv_record *record,
								 bool only_report);
/* Commits, and trims the cache to its limit; a guest is only closed. Results that an asset of a daemon names
 * or that wait for the upstream (NULL: none) are not trimmed. `store` may be NULL. */
void srv_cook_cache_close(srv_store *store, bool guest, srv_upstream *upstream);

/* ---- depfiles: the files that outputs depend on, for the build system that runs `hob cook` */

/* Appends one entry: outputs, source, dependencies, cook.json files and sidecar. In make's syntax, as ninja
 * reads it, the first output is the only target, and files that were looked for and not found are left out.
 * As JSON, an object with all outputs, and with those files as "missing". */
void srv_cook_depfile_add(hob_buf *out, bool json, const cook_write_options *write, const cook_plan *plan,
						  const cook_entry *entry, const srv_result *result);
/* Errors: those of srv_cook_write_file. */
bool srv_cook_depfile_write(const char *path, bool json, const hob_buf *entries,
							hob_error *err) HOB_MUST_CHECK;

/* ---- pruning */

/* Removes the outputs that earlier runs wrote to `out` for sources that no longer exist, then the textures
 * that no materials file below `out` names, and folders that become empty. A file is an output if the report
 * of its cook (NAME.report.json) is beside it. Its source is gone if NAME is in none of the folders that this
 * plan's names are relative to. Links are not followed. If a materials file cannot be read, all textures
 * stay. Prints the removed sources on stderr, unless quiet. Errors: IO. */
bool srv_cook_prune(const char *out, const cook_plan *plan, bool quiet, hob_error *err) HOB_MUST_CHECK;

/* ---- the run */

/* One run of `hob cook`: a plan, a pool of workers, and the result of each entry. */
typedef struct run {
	uv_loop_t loop;
	srv_pool *pool;
	cook_plan plan;
	srv_engine *engine;
	srv_engine_batch batch;
	srv_engine_root root;
	srv_store *store; /* NULL: no cache */
	bool guest;		  /* it is only read */
	srv_batch_source *sources;
	const cook_entry *newest;
	char folder[300];		   /* the temporary cache, which is removed at the end; empty: none */
	offer *offered;			   /* worker: the offer whose models are the plan */
	struct offering *offering; /* owner: the offer of this run's cooks */
	uint32_t finished, fetched, failed_rule;
	uint32_t left;		  /* worker: models left to other machines */
	uint32_t over_budget; /* warnings of a budget */
	cook_totals totals;	  /* cooked, bytes and wall_ns at the end only */
	srv_causes warnings;  /* warnings with the same text are counted, and printed at the end */
	uint64_t began_ns;
	uint32_t writes_pending;
	uv_signal_t interrupts[3];
	uv_timer_t look;  /* checks the files of models that wait for a writer */
	uint32_t waiting; /* number of entries that wait for a writer */
	bool farm, interrupted, closing, live, started, keep_failed;
	const cook_run_options *options;
	hob_error error; /* why the whole run failed */
	hob_buf report, report_skipped, depfile;
} run;

void srv_cook_run_finish_if_over(run *r);

/* Starts to offer all models of the plan, if the options say so; the run continues meanwhile. */
void srv_cook_run_offer(run *r);
/* False: the offer is still being made; when it ends, it calls srv_cook_run_finish_if_over. */
bool srv_cook_run_end_offer(run *r);

#endif
