/* engine_exchange.h - exchanges results with other machines: an upstream, a farm, caches that ask this
 * one. */
#ifndef ENGINE_EXCHANGE_H
#define ENGINE_EXCHANGE_H

#include "engine_jobs.h"

#include "../upstream/upstream.h"

struct engine_exchange {
	srv_upstream *upstream; /* NULL: none */
	uint64_t claim_chance;
	/* maximum number of concurrent jobs of changed sources in the current burst; 0: none */
	uint32_t most_changed;
	struct promise *promises; /* promised records, in a ring; NULL: none yet */
	uint32_t promised;
};

/* engine_upstream.c: asked after this machine's cache, before a cook. The first two need an upstream. */
bool srv_engine_start_exchange(srv_engine *engine, hob_error *err);
void srv_engine_close_exchange(srv_engine *engine);
void srv_engine_exchange_free(struct engine_exchange *exchange);
void srv_engine_note_unreached(engine_job *job);
void srv_engine_give_upstream(engine_job *job, const srv_record *record); /* sends a result of this machine */
void srv_engine_put_upstream(srv_engine *engine, hob_buf *out);			  /* JSON for stats; any thread */

/* engine_farm.c: leases, between the miss and the worker */
/* Whether a farm distributes this cook: it may wait for its turn, or for another machine. */
bool srv_engine_shares_out(const engine_job *job);
void srv_engine_hurry_claim(engine_job *job);		   /* the job was raised */
engine_job *srv_engine_next_claim(srv_engine *engine); /* the next to ask; NULL: none */
/* Number of waiting jobs in the share of another machine. */
uint32_t srv_engine_left_to_others(const srv_engine *engine);

/* engine_record.c */
void srv_engine_answer_record(srv_engine *engine, srv_control *control);
void srv_engine_answer_records(srv_engine *engine, srv_control *control);
void srv_engine_take_record(srv_engine *engine, srv_control *control);

/* engine_chain.c: passes questions of other caches on to the upstream */
/* Asks for `lookups`, appends the records to `body`, and answers. Takes ownership of *body. */
void srv_engine_pass_on(srv_engine *engine, srv_control *control, const hob_sha256 *lookups, uint32_t count,
						hob_buf *body);
void srv_engine_pull(srv_engine *engine, srv_control *control);
void srv_engine_forget_promises(struct engine_exchange *exchange);

#endif
