/* job.h - the state of one job, from its start to its end.
 *
 * One enum and one table (job.c). srv_job_apply alone writes `stage` and returns the caller's actions; an
 * event that cannot come in a stage asserts. Pure memory: no loop, no store, no clock.
 *
 *   HASH_SOURCE -> FIND -> HASH_INPUTS -> MATCH -- a record holds -----------------------> RECORD -> OVER
 *                   ^                       |----> ASK -> HASH_INPUTS -> MATCH -> FETCH -----^
 *                   |<---------- DUPLICATE <|                                                |
 *                   |<------------- CLAIM <-|-> UNCLAIMED                                    |
 *                   |                         `-> WAIT -> COOK -> HASH_READ -> JUDGE -> STORE -> CHECK
 *                   `-- HASH_SOURCE: tried again, or the final cook follows its preview
 *
 * A job is at rest in DUPLICATE, UNCLAIMED and WAIT and can be ended at once. In every other stage work is in
 * progress for it; `leave` then says how it ends when that work answers. */
#ifndef SRV_COOK_JOB_H
#define SRV_COOK_JOB_H

#include "asset.h"
#include "judge.h"

typedef enum srv_job_stage {
	SRV_JOB_NEW,
	SRV_JOB_HASH_SOURCE,  /* hashes the source */
	SRV_JOB_FIND,		  /* settings, look-up key, and the records with that key */
	SRV_JOB_HASH_INPUTS,  /* hashes the files that those records depend on */
	SRV_JOB_MATCH,		  /* compares records with the files */
	SRV_JOB_DUPLICATE,	  /* another job cooks the same: waits for its end */
	SRV_JOB_ASK,		  /* asks the upstream or the farm for records */
	SRV_JOB_FETCH,		  /* fetches the blobs of a record found there */
	SRV_JOB_UNCLAIMED,	  /* waits for its turn to ask the farm for a lease */
	SRV_JOB_CLAIM,		  /* asks, or another machine has the lease */
	SRV_JOB_WAIT,		  /* for a worker */
	SRV_JOB_COOK,		  /* on a worker */
	SRV_JOB_HASH_READ,	  /* hashes the files that the worker read */
	SRV_JOB_JUDGE,		  /* compares those files with the known ones; decides the verdict */
	SRV_JOB_HASH_TOUCHED, /* hashes the files that a dead worker had looked for */
	SRV_JOB_STORE,		  /* checks and stores outputs */
	SRV_JOB_CHECK,		  /* checks inputs again, and watches them from now on */
	SRV_JOB_RECORD,		  /* record, publication and row */
	SRV_JOB_OVER,		  /* only its memory remains */
	SRV_JOB_STAGES
} srv_job_stage;

typedef enum srv_job_event_kind {
	SRV_JOB_BEGIN,			/* `final`: the job for which this one makes the preview; NULL: none */
	SRV_JOB_DIGESTS,		/* the pool has computed digests */
	SRV_JOB_MORE,			/* a long list continues in another iteration of the loop */
	SRV_JOB_HASHED,			/* all digests of the list are known */
	SRV_JOB_UNFINISHED,		/* a file is being written */
	SRV_JOB_FAILED,			/* an error that is not stored */
	SRV_JOB_LOOKED_UP,		/* newer: the source changed since the preview; with `facts` */
	SRV_JOB_RECORDS,		/* records are read, perhaps none */
	SRV_JOB_MATCHED,		/* one of the records matches */
	SRV_JOB_MISSED,			/* no record matches, none exists, or it could not be fetched; with `facts` */
	SRV_JOB_ANSWER,			/* another cache has records */
	SRV_JOB_FETCHED,		/* a record of another cache has arrived, with its blobs */
	SRV_JOB_DUPLICATE_OVER, /* the other job, waited for, is over or has shown the preview */
	SRV_JOB_TURN,			/* the job may ask for a lease */
	SRV_JOB_LEASED,			/* lease: cook here, with or without a lease */
	SRV_JOB_LEASE_LEFT,		/* lease: another machine has precedence */
	SRV_JOB_LEASE_AGAIN,	/* another machine may have cooked it: look for the record */
	SRV_JOB_HURRY,			/* a client waits: do not wait for a lease */
	SRV_JOB_SHOW,			/* a client waits: a preview comes first after all */
	SRV_JOB_WORKER,			/* a worker has started */
	SRV_JOB_COOKED,			/* ok, has_result, cancelled, unbegun: the worker's answer */
	SRV_JOB_VERDICT,		/* verdict; newer: because a file changed */
	SRV_JOB_STORED,			/* all outputs are in the store */
	SRV_JOB_CHECKED,		/* inputs are checked */
	SRV_JOB_RECORDED,		/* the result is published; `more`: the asset still waits for this job */
	SRV_JOB_SKIPPED,		/* the last action was skipped, because the job leaves */
	/* leaving */
	SRV_JOB_DROP,  /* the asset is gone or lost, or the final job is over: the result is discarded */
	SRV_JOB_YIELD, /* a newer save: the row is written and the worker may finish, without effect */
	SRV_JOB_CUT,   /* the worker is being ended for a newer save or for a preview */
	SRV_JOB_STOP,  /* cancelled by a user; in COOK the worker is being ended */
	SRV_JOB_CLOSE, /* the daemon ends */
	SRV_JOB_EVENTS
} srv_job_event_kind;

/* The result that the job works on. */
typedef enum srv_job_part {
	SRV_JOB_FIRST,	 /* nothing is served yet: a preview may precede the final cook */
	SRV_JOB_PREVIEW, /* the preview, then the final result */
	SRV_JOB_FINAL,	 /* the preview is served, or failed: the final result */
	SRV_JOB_BESIDE	 /* only the preview, while `final` cooks */
} srv_job_part;

typedef enum srv_job_leave {
	SRV_JOB_STAYS,
	SRV_JOB_IS_CUT,		/* continues later under its number, unless a newer save follows */
	SRV_JOB_IS_STOPPED, /* published as cancelled */
	SRV_JOB_IS_DROPPED, /* ends without a publication */
	SRV_JOB_YIELDS,		/* ends without a publication, but its row is written */
	SRV_JOB_IS_CLOSED
} srv_job_leave;

/* On a farm, the lease of its look-up. */
typedef enum srv_job_lease {
	SRV_JOB_NO_LEASE,
	SRV_JOB_THEIRS, /* another machine had it when the farm went away */
	SRV_JOB_MINE,	/* held, or cooked here without asking; released at the end */
	SRV_JOB_GIVEN	/* ends with the result, which is being sent */
} srv_job_lease;

/* Actions for the caller. */
typedef enum srv_job_act {
	SRV_JOB_DO_NOTHING,
	SRV_JOB_DO_HASH_SOURCE,	 /* -> HASHED; or DIGESTS later */
	SRV_JOB_DO_TAKE_DIGESTS, /* -> HASHED, UNFINISHED, FAILED; or DIGESTS in a later turn */
	SRV_JOB_DO_LOOK_UP,		 /* -> LOOKED_UP, UNFINISHED, FAILED */
	SRV_JOB_DO_FIND,		 /* -> RECORDS */
	SRV_JOB_DO_HASH_INPUTS,	 /* -> HASHED, FAILED; or DIGESTS later */
	SRV_JOB_DO_MATCH,		 /* -> MATCHED, MISSED */
	SRV_JOB_DO_ASK,			 /* -> ANSWER, MISSED */
	SRV_JOB_DO_FETCH,		 /* -> FETCHED, MISSED */
	SRV_JOB_DO_WAIT_TO_ASK,	 /* -> TURN */
	SRV_JOB_DO_CLAIM,		 /* -> LEASED, LEASE_LEFT, LEASE_AGAIN */
	SRV_JOB_DO_WAIT,		 /* -> WORKER, FAILED */
	SRV_JOB_DO_HASH_READ,	 /* -> HASHED, MORE; or DIGESTS later */
	SRV_JOB_DO_JUDGE,		 /* -> VERDICT, MORE */
	SRV_JOB_DO_HASH_TOUCHED, /* -> HASHED; or DIGESTS later */
	SRV_JOB_DO_STORE,		 /* -> STORED, FAILED */
	SRV_JOB_DO_CHECK,		 /* -> CHECKED, MORE */
	/* each of these -> RECORDED */
	SRV_JOB_DO_TAKE,		 /* publish the matching record */
	SRV_JOB_DO_KEEP,		 /* store and publish the result */
	SRV_JOB_DO_KEEP_FAILURE, /* store and publish the failure */
	SRV_JOB_DO_FAIL,		 /* publish an error without storing it */
	SRV_JOB_DO_GIVE_BACK,	 /* the asset waits until the file is written */
	SRV_JOB_DO_CANCELLED,	 /* see `leave` */
	SRV_JOB_DO_END,			 /* free it */
	SRV_JOB_ACTS
} srv_job_act;

typedef struct srv_job {
	srv_job_stage stage;
	srv_job_part part;
	srv_job_leave leave;
	srv_job_lease lease;
	srv_asset_next order;			   /* number, time, priority, force and reasons */
	bool asked;						   /* another cache was asked since the last search in this machine's */
	bool elsewhere;					   /* the current records, or the one taken, come from another cache */
	bool failed;					   /* the cook failed, and the failure is being stored */
	struct srv_job *of;				   /* in DUPLICATE: the job that cooks the same */
	struct srv_job *duplicates, *next; /* list: jobs that wait for this one */
	struct srv_job *preview, *final;   /* of a pair that works at the same time */
} srv_job;

typedef struct srv_job_event {
	srv_job_event_kind kind;
	struct {
		bool elsewhere;			   /* another cache can be asked */
		bool preview;			   /* a client waits, and a preview is worthwhile */
		bool claims;			   /* a farm distributes background cooks */
		struct srv_job *duplicate; /* a job that cooks the same as this one would now; NULL: none */
	} facts;
	bool newer, ok, has_result, cancelled, unbegun, more;
	srv_job_lease lease;
	srv_verdict verdict;
	struct srv_job *final;
} srv_job_event;

typedef struct srv_job_todo {
	srv_job_act act;
	bool missed;			/* counts as a miss: it is cooked */
	struct srv_job *raise;	/* raise it to this job's priority */
	struct srv_job *wake;	/* list by `next`: apply DUPLICATE_OVER to each */
	struct srv_job *drop;	/* this job's preview job: apply DROP to it */
	struct srv_job *resume; /* the job whose preview job this was: it may hurry again */
} srv_job_todo;

srv_job_todo srv_job_apply(srv_job *job, const srv_job_event *event);
/* Whether the event can come in its stage: the table has a cell for it. */
bool srv_job_takes(const srv_job *job, srv_job_event_kind kind);
/* All invariants between its fields; hold before and after each event. */
bool srv_job_is_sound(const srv_job *job);
/* The result is being sent to the farm, which ends the lease. */
void srv_job_give(srv_job *job);

const char *srv_job_stage_name(srv_job_stage stage);
/* Whether the job's result is discarded: no action but END is carried out. */
bool srv_job_leaves(const srv_job *job);
/* Whether the job waits in a list of jobs. */
bool srv_job_rests(const srv_job *job);
/* Between the miss and the end of the cook: a job with the same look-up waits for it. */
bool srv_job_may_be_joined(const srv_job *job);
bool srv_job_wants_preview(const srv_job *job); /* it works on a preview: PREVIEW or BESIDE */

#endif
