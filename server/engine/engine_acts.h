/* engine_acts.h - one function per act of server/cook/job.h. Only engine_turn.c calls them, and applies the
 * event that they return. SRV_JOB_LATER: a callback will put the event. */
#ifndef ENGINE_ACTS_H
#define ENGINE_ACTS_H

#include "engine_jobs.h"

/* engine_digest.c */
srv_job_event srv_job_hash_source(engine_job *job);
srv_job_event srv_job_take_digests(engine_job *job);

/* engine_cook.c: up to the miss, and ends without a cook */
srv_job_event srv_job_look_up(engine_job *job);
srv_job_event srv_job_find(engine_job *job);
srv_job_event srv_job_hash_inputs(engine_job *job);
srv_job_event srv_job_match(engine_job *job);
srv_job_event srv_job_take(engine_job *job);
srv_job_event srv_job_fail(engine_job *job);

/* engine_upstream.c */
srv_job_event srv_job_ask(engine_job *job);
srv_job_event srv_job_fetch(engine_job *job);

/* engine_farm.c */
srv_job_event srv_job_claim(engine_job *job);
srv_job_event srv_job_announce(engine_job *job);

/* engine_finish.c: from the worker's answer to publication */
srv_job_event srv_job_hash_read(engine_job *job);
srv_job_event srv_job_judge(engine_job *job);
srv_job_event srv_job_hash_touched(engine_job *job);
srv_job_event srv_job_store(engine_job *job);
srv_job_event srv_job_check(engine_job *job);
srv_job_event srv_job_keep(engine_job *job);
srv_job_event srv_job_keep_failure(engine_job *job);
srv_job_event srv_job_give_back(engine_job *job);
srv_job_event srv_job_cancelled(engine_job *job);

/* Called before a callback's event is applied: take the work's outcome, or return how the work ended. */
void srv_job_take_outcome(engine_job *job);				 /* COOKED */
srv_job_event srv_job_stored(engine_job *job);			 /* STORED, FAILED */
srv_job_event srv_job_fetched(engine_job *job, bool ok); /* FETCHED, MISSED */
srv_job_event srv_job_claimed(engine_job *job);			 /* LEASED, LEASE_LEFT, LEASE_AGAIN */

/* engine_batch.c: those that differ in a pass; NULL: the same */
typedef srv_job_event act_function(engine_job *job);
/* True: the caller of the pass has the job, and puts its next event: it brings files (engine_farm.c), or has
 * got the outcome of a cook that met a writer. */
bool srv_batch_brings(engine_job *job);
bool srv_batch_tells(engine_job *job);
extern act_function *const srv_batch_acts[SRV_JOB_ACTS];

#endif
