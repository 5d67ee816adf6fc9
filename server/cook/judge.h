/* judge.h - what becomes of a job whose worker has answered. Pure. */
#ifndef SRV_JUDGE_H
#define SRV_JUDGE_H

#include "../../core/base/base.h"

typedef enum srv_verdict {
	SRV_VERDICT_GOOD,		  /* check and store the outputs */
	SRV_VERDICT_KEEP_FAILURE, /* the model's own: kept under its key */
	SRV_VERDICT_KEEP_CRASH,	  /* the same of one that died; what it had looked for is hashed first */
	SRV_VERDICT_TRY_AGAIN,
	SRV_VERDICT_PASSING, /* not the model's: kept under no key, tried again later */
	SRV_VERDICT_WRITER	 /* an input is being written */
} srv_verdict;

enum { SRV_TRIES_MAX = 3 };

/* Tries of one job: a new version begins at none. */
typedef struct srv_tries {
	uint32_t again;	  /* cooks that were begun once more, for whatever reason */
	uint32_t crashes; /* of workers that had looked at the inputs */
	bool stalled;	  /* the newest try did */
} srv_tries;

typedef struct srv_cook_facts {
	bool ok, has_result; /* has_result: the worker spoke to the end */
	bool stalled;		 /* its time was over before it had computed for a part of it */
	bool other_source;	 /* it read another version than was hashed */
	bool writer;		 /* what it could not read is being written */
	bool touched;		 /* it had looked at an input */
	/* when it is not ok, or read another source: CHANGED; INTERRUPTED: it was ended from outside */
	hob_err_code code;
} srv_cook_facts;

srv_verdict srv_judge(const srv_cook_facts *facts, srv_tries *tries);

#endif
