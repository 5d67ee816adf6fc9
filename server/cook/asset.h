/* asset.h - the state of one asset.
 *
 * One enum and one table (asset.c): each cell gives the next state and the actions of an event, or is NEVER
 * (then an assertion fails). Only srv_asset_apply writes the fields. It returns what its caller must do, as
 * queue, job and publishing belong to others. Pure memory, no clock.
 *
 *   ABSENT    there is no source          WRITER    an input is half-written: checked again soon
 *   AWAY      its root is missing         QUEUED    waits in the queue
 *   IDLE      nothing to do               WORKING   a job runs on the current files
 *   BACKOFF   to be tried again: failed   OUTDATED  a job runs, and `next` follows it
 *             not because of the model
 *
 * Always true: `job` iff WORKING or OUTDATED. `next.id` iff QUEUED, OUTDATED or WRITER. `retry.at_ms` iff
 * BACKOFF (perhaps never) or WRITER. In the queue iff QUEUED, which the caller ensures. */
#ifndef SRV_ASSET_H
#define SRV_ASSET_H

#include "../../core/base/base.h"
#include "../queue/queue.h"
#include "../view/view.h"

struct srv_job;

typedef enum srv_asset_state {
	SRV_ASSET_ABSENT,
	SRV_ASSET_AWAY,
	SRV_ASSET_IDLE,
	SRV_ASSET_BACKOFF,
	SRV_ASSET_WRITER,
	SRV_ASSET_QUEUED,
	SRV_ASSET_WORKING,
	SRV_ASSET_OUTDATED,
	SRV_ASSET_STATES
} srv_asset_state;

typedef enum srv_asset_event_kind {
	SRV_ASSET_RESTORED,	 /* from an earlier run; has_good, good_is_preview, error */
	SRV_ASSET_FORGOTTEN, /* the restored state proved wrong */
	/* reason, path, priority, force: its inputs may have changed, or a client asks */
	SRV_ASSET_DIRTY,
	/* reason, path, priority: the source was moved, and its newest cook may have had other settings */
	SRV_ASSET_MOVED,
	SRV_ASSET_GONE,			/* the source was deleted or excluded */
	SRV_ASSET_LOST,			/* the root is missing */
	SRV_ASSET_BACK,			/* the root is back, and nothing changed */
	SRV_ASSET_CLOCK,		/* srv_asset_is_due is true; path: the asset's */
	SRV_ASSET_WORKERS_BACK, /* cook processes can be started again */
	SRV_ASSET_BEGIN,		/* job, taken: the job begins; the caller has removed the asset from the queue */
	/* the job has a preview, and continues with the final cook unless it is outdated */
	SRV_ASSET_PREVIEW,
	SRV_ASSET_GOOD, /* the job's result is good */
	SRV_ASSET_SAME, /* the newest result is still valid */
	/* error, kept: the cook failed, and would again; displaced: the source is no longer an asset */
	SRV_ASSET_BAD,
	SRV_ASSET_PASSING,		/* error: the cook failed for a temporary reason */
	SRV_ASSET_HALF_WRITTEN, /* an input is being written, or the source vanished without an event */
	SRV_ASSET_STOPPED,		/* taken (from the queue): cancelled by a user */
	SRV_ASSET_CUT,			/* the worker was stopped for a newer save, or for another preview */
	SRV_ASSET_ROOT_CAUSE,	/* the cook failed because of another asset */
	SRV_ASSET_EVENTS
} srv_asset_event_kind;

/* Result of the newest finished job. */
typedef enum srv_asset_error {
	SRV_ASSET_FINE,
	SRV_ASSET_FAILED,
	SRV_ASSET_DIED,		   /* killed its worker more than once */
	SRV_ASSET_BY_OTHER,	   /* fails because of an asset it contains */
	SRV_ASSET_TRANSIENT,   /* a temporary fault: an I/O error, or a file that keeps changing */
	SRV_ASSET_INTERRUPTED, /* the worker was ended from outside */
	SRV_ASSET_NO_ROOM,
	SRV_ASSET_NO_WORKER
} srv_asset_error;

enum {
	SRV_ASSET_REASONS_MAX = 8,
	SRV_ASSET_WRITER_MS = 500,
	SRV_ASSET_CUTS = 1, /* maximum number of cuts in a row */
	SRV_ASSET_QUICK_CUTS = 4,
	SRV_ASSET_BACKOFF_MS = 1000,
	SRV_ASSET_BACKOFF_MAX_MS = 60000,
	SRV_ASSET_INTERRUPTED_MAX_MS = 900000 /* a long pause, because each try loses a whole cook */
};
#define SRV_ASSET_NEVER UINT64_MAX

/* The next job. */
typedef struct srv_asset_next {
	uint64_t id; /* 0: none */
	int64_t queued_at_ms;
	srv_priority priority;
	bool force;	  /* cook even if a result exists */
	uint8_t cuts; /* cuts in a row; at the limit the cook finishes, so rapid saves still show a result */
	hob_buf why;  /* members of a JSON array */
	uint32_t why_count;
} srv_asset_next;

typedef struct srv_asset {
	srv_asset_state state;
	srv_asset_next next;
	struct srv_job *job;
	bool job_cut, job_previewed; /* of `job` */
	uint8_t job_cuts;			 /* cuts of earlier jobs, in a row */
	bool on_worker, cooking;	 /* `on_worker`: now; `cooking`: since the job's first try began */
	bool has_good, good_is_preview;
	srv_asset_error error;
	struct {
		uint64_t at_ms; /* of the loop's clock */
		uint32_t wait_ms;
	} retry;
} srv_asset;

typedef struct srv_asset_event {
	srv_asset_event_kind kind;
	uint64_t now_ms;	/* of the loop's clock */
	int64_t at_ms;		/* Unix time */
	uint64_t *last_job; /* newest job id assigned; incremented when `next` takes one */
	const char *reason;
	hob_str path; /* may be empty */
	srv_priority priority;
	bool force, kept, has_good, good_is_preview, displaced;
	/* BAD, STOPPED: the preview that is shown counts for nothing; has_good: the version before it does */
	bool withdrawn;
	bool quick;		  /* DIRTY: its cooks are short enough to be cut several times in a row */
	uint32_t lost_ms; /* PASSING: duration of this try, the minimum of the pause */
	srv_asset_error error;
	struct srv_job *job;
	/* BEGIN, STOPPED in QUEUED: receives `next`, whose `why` the caller then owns. HALF_WRITTEN, CUT in
	 * WORKING: becomes `next`, and its `why` the asset's. */
	srv_asset_next *taken;
} srv_asset_event;

/* Actions for the caller, in this order. */
typedef struct srv_asset_todo {
	struct srv_job *detach; /* its result is discarded; the asset may begin another at once */
	bool cut;				/* stop the job's worker; CUT follows */
	bool dequeue, queue;	/* `queue`: with next.priority, or raise it to that */
	bool forget_last;		/* the newest cook's inputs are unknown: the next job checks everything */
	bool publish;			/* a change for clients */
	bool touch;				/* the view is outdated, without an event */
} srv_asset_todo;

srv_asset_todo srv_asset_apply(srv_asset *a, const srv_asset_event *event);
void srv_asset_release(srv_asset *a);

/* Sets whether its job is on a worker. */
void srv_asset_set_worker(srv_asset *a, bool on);
/* Raises the priority of the next job. True: raise it in the queue, too. */
bool srv_asset_raise(srv_asset *a, srv_priority priority);

bool srv_asset_is_alive(const srv_asset *a);
/* Queued or in progress: its waiters keep waiting. */
bool srv_asset_is_busy(const srv_asset *a);
/* Whether the asset shows a preview of exactly the inputs that its job cooks. */
bool srv_asset_shows_preview(const srv_asset *a);
bool srv_asset_is_due(const srv_asset *a, uint64_t now_ms);
srv_standing srv_asset_standing(const srv_asset *a, bool skipped);
/* The state in the terms of 0.2. */
srv_state srv_asset_public(const srv_asset *a);
/* By its newest finished job only, whether or not an earlier version is served: the state in the index. */
srv_state srv_asset_newest(const srv_asset *a);
/* The state as if nothing were queued or in progress. */
srv_state srv_asset_settled(const srv_asset *a);
/* Whether all invariants hold. */
bool srv_asset_is_sound(const srv_asset *a);

#endif
