/* activity.h - results of the last hour's jobs, minute by minute, and progress of the current work.
 *
 * A run of work begins when a job waits and ends when none does: a first cook of a folder, a changeset, one
 * save. Its numbers remain until the next one begins. Any thread; the caller provides the time. */
#ifndef SRV_ACTIVITY_H
#define SRV_ACTIVITY_H

#include "../../core/base/base.h"

enum { SRV_ACTIVITY_MINUTES = 60 };

typedef struct srv_activity srv_activity;

typedef enum srv_activity_result {
	SRV_ACTIVITY_COOKED,
	SRV_ACTIVITY_REUSED,
	SRV_ACTIVITY_FAILED,
	SRV_ACTIVITY_CANCELLED,
	SRV_ACTIVITY_RESULTS
} srv_activity_result;

/* A finished job. Times are Unix ms; cook_ns is 0 if no worker cooked it. */
typedef struct srv_activity_job {
	srv_activity_result result;
	int64_t queued_at_ms, started_at_ms, finished_at_ms;
	uint64_t cook_ns;
	hob_str asset; /* "root/path", copied; cut after 4096 bytes */
} srv_activity_job;

/* Totals of the current run of work, or of the last one. */
typedef struct srv_activity_run {
	int64_t began_at_ms, ended_at_ms; /* began 0: no run yet; ended 0: in progress */
	uint64_t done[SRV_ACTIVITY_RESULTS], all_done, left;
	double per_minute; /* jobs per minute, over at most the last two minutes */
} srv_activity_run;

srv_activity *srv_activity_new(void); /* NULL without memory */
void srv_activity_free(srv_activity *activity);
void srv_activity_note(srv_activity *activity, const srv_activity_job *job);
/* Number of jobs that now wait or run, without finished ones. Call it before the first of them finishes, and
 * whenever the number changes. */
void srv_activity_waits(srv_activity *activity, uint64_t left, int64_t now_ms);
srv_activity_run srv_activity_now(srv_activity *activity, int64_t now_ms);
/* Appends the members "activity" and "progress" to an open JSON object. */
void srv_activity_put(srv_activity *activity, int64_t now_ms, hob_buf *out);

#endif
