/* judge.h - decides what becomes of a job whose worker has answered. Pure. */
#ifndef SRV_JUDGE_H
#define SRV_JUDGE_H

#include "../../core/base/base.h"

typedef enum srv_verdict {
	SRV_VERDICT_GOOD,		  /* check and store the outputs */
	SRV_VERDICT_KEEP_FAILURE, /* caused by the model: stored under its key */
	SRV_VERDICT_KEEP_CRASH,	  /* a crash, stored likewise, once the files that it looked for are hashed */
	SRV_VERDICT_TRY_AGAIN,
	SRV_VERDICT_PASSING, /* not caused by the model: not stored, tried again later */
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
	bool ok, has_result; /* `has_result`: the worker sent a complete result */
	bool stalled;		 /* the time limit passed, but the cook had used only a fraction of it as CPU time */
	bool other_source;	 /* the cook read another version of the source than the hashed one */
	bool writer;		 /* the file that the cook could not read is being written */
	bool touched;		 /* the cook had opened an input */
	/* error, if not ok. CHANGED: always if another source was read; INTERRUPTED: ended from outside */
	hob_err_code code;
} srv_cook_facts;

srv_verdict srv_judge(const srv_cook_facts *facts, srv_tries *tries);

#endif
