/* judge.h - decides about a job whose worker has answered. Pure. */
#ifndef SRV_JUDGE_H
#define SRV_JUDGE_H

#include "../../core/base/base.h"

typedef enum srv_verdict {
	SRV_VERDICT_GOOD,		  /* check and store the outputs */
	SRV_VERDICT_KEEP_FAILURE, /* the model's own: stored under its key */
	SRV_VERDICT_KEEP_CRASH,	  /* the same for a crash; the files that it looked for are hashed first */
	SRV_VERDICT_TRY_AGAIN,
	SRV_VERDICT_PASSING, /* not the model's: not stored, tried again later */
	SRV_VERDICT_WRITER	 /* an input is being written */
} srv_verdict;

enum { SRV_TRIES_MAX = 3 };

/* Tries of one job; reset by a new version. */
typedef struct srv_tries {
	uint32_t again;	  /* cooks started again, for any reason */
	uint32_t crashes; /* crashes of workers that had read the inputs */
	bool stalled;	  /* the newest try stalled */
} srv_tries;

typedef struct srv_cook_facts {
	bool ok, has_result; /* has_result: the worker sent a complete result */
	bool stalled;		 /* its time was over before it had used a part of it as CPU time */
	bool other_source;	 /* it read another version than the hashed one */
	bool writer;		 /* the file that it could not read is being written */
	bool touched;		 /* it had opened an input */
	/* if not ok, or another source was read: CHANGED; INTERRUPTED: ended from outside */
	hob_err_code code;
} srv_cook_facts;

srv_verdict srv_judge(const srv_cook_facts *facts, srv_tries *tries);

#endif
