/* engine_upkeep.h - keeps the cache durable, within its limit, and undamaged. */
#ifndef ENGINE_UPKEEP_H
#define ENGINE_UPKEEP_H

#include "engine_assets.h"

struct engine_upkeep {
	engine_work sync; /* or a checkpoint of the WAL */
	/* error of the newest sync, and the error reported last; {0}: success */
	hob_error sync_error, sync_said;
	uint64_t synced_jobs; /* `counters.jobs` at the newest sync */
	struct {
		engine_work work;
		hob_sha256 *found;
		uint32_t count;
	} orphans; /* unreferenced blobs */
	uint64_t trim_at;
	bool limit_told; /* logged: the cache is above its limit and nothing can be evicted */
	struct {
		engine_work work;
		uint64_t at_ms;				/* earliest next time */
		uint64_t bytes, free_bytes; /* resident, and free in the allocator, after the last return of memory */
	} rest;
	uint64_t heal_at;		   /* earliest next rebuild of the index */
	struct engine_task *tasks; /* the newest few, newest first */
};

void srv_engine_upkeep_free(struct engine_upkeep *upkeep);
void srv_engine_keep_store(srv_engine *engine); /* once a second */
void srv_engine_fold_log(srv_engine *engine);	/* runs a checkpoint in libuv's pool if the WAL is long */

/* engine_heal.c */
/* Rebuilds the index if it is damaged, and writes the engine's state again. True: repeat the failed write. */
bool srv_engine_heal_index(srv_engine *engine);
void srv_engine_tell_rows(srv_engine *engine);		/* once a second: reports rows that wait for the index */
void srv_engine_look_for_index(srv_engine *engine); /* once a second: checks that the index was not deleted */
/* Once a second: cooks assets again whose blobs are damaged or gone. */
void srv_engine_heal_blobs(srv_engine *engine);

/* Housekeeping on request; listed with the jobs. */
void srv_engine_start_task(srv_engine *engine, srv_control *control);
bool srv_engine_put_task(srv_engine *engine, uint64_t id, hob_buf *out); /* JSON; false: no such task */
/* Items of a list, newest first. */
void srv_engine_put_tasks(srv_engine *engine, bool finished, hob_buf *out);
void srv_engine_stop_tasks(srv_engine *engine); /* ends them soon */

#endif
