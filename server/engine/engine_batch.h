/* engine_batch.h - one pass over named sources, without a watch, views, rows or clients: `hob cook`.
 *
 * The engine is made as for the daemon, with options.batch. When `ready` is called, srv_batch_add adds the
 * sources; each ends with one call of `over`, and its job then waits for srv_batch_let_go or
 * srv_batch_wait. Loop thread. */
#ifndef ENGINE_BATCH_H
#define ENGINE_BATCH_H

#include "engine.h"

typedef struct srv_batch_source {
	const char *path;
	hob_str text; /* its bytes, if no file has them */
	const hob_settings *settings;
	const hob_sha256 *lookup; /* another one makes the source foreign: CANCELLED; NULL: any */
	uint64_t size;			  /* of the file; 0: ask the disk */
	bool force;				  /* kept results are not used */
	const hob_error *wrong;	  /* it fails so; NULL: nothing is wrong */
} srv_batch_source;

/* The end of a source: a cook's outcome, or a kept record, or an error. Valid until it is let go. */
typedef struct srv_batch_end {
	void *job;
	uint32_t source;
	srv_outcome *outcome;	 /* NULL: no worker took it, or `kept` */
	const srv_record *kept;	 /* its blobs are in the store */
	bool fetched;			 /* `kept` comes from the upstream */
	const hob_error *error;	 /* NULL: good */
	const hob_error *unkept; /* why a good result is not in the store; NULL: it is, or need not be */
} srv_batch_end;

typedef struct srv_engine_batch {
	void *user;
	void (*ready)(void *user, srv_pool *pool);
	void (*over)(void *user, const srv_batch_end *end);
	void (*begun)(void *user, uint32_t source); /* on a worker */
	void (*changed)(void *user);				/* the upstream's state */
	void (*degraded)(void *user, const hob_error *why);
	/* For sources whose files come over the network, NULL otherwise. Brings files that the cook (NULL: the
	 * first one) lacks, then calls srv_batch_brought. False: it lacks none. */
	bool (*bring)(void *user, void *job, uint32_t source, const srv_outcome *outcome);
	srv_batch_source *sources; /* by number; valid when `ready` returns */
	bool keeps;				   /* results and parts go into the store */
} srv_engine_batch;

struct srv_upstream *srv_batch_upstream(const srv_engine *engine); /* NULL: none */
/* False: no memory. */
bool srv_batch_add(srv_engine *engine, uint32_t count);
/* Before srv_batch_add: the file has this digest, and is not read for it. False: no memory. */
bool srv_batch_tell(srv_engine *engine, const char *path, const hob_sha256 *digest);
void srv_batch_brought(void *job, bool ok); /* not ok: the source ends as CANCELLED */
void srv_batch_let_go(void *job);
/* A file of the source is being written: takes the outcome. srv_batch_again cooks the source again. */
srv_outcome *srv_batch_wait(void *job);
void srv_batch_again(srv_engine *engine, uint32_t source);
/* The kept result cannot be read: cooks the source, whatever is kept. */
void srv_batch_remake(void *job);

#endif
