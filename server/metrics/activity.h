/* activity.h - results of the jobs of the last hour, minute by minute, and progress of the work under way.
 *
 * A run of work begins when something waits and ends when nothing does: a first cook of a folder, a changeset, one save.
 * Its numbers stay until the next one begins. Any thread; nothing reads a clock. */
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

/* One job that is over. Times are Unix ms; cook_ns is 0 where no worker cooked. */
typedef struct srv_activity_job {
	srv_activity_result result;
	int64_t queued_at_ms, started_at_ms, finished_at_ms;
	uint64_t cook_ns;
	hob_str asset; /* "root/path", copied; a longer name than 4096 bytes is cut */
} srv_activity_job;

/* Of the run of work that is under way, or of the last one. */
typedef struct srv_activity_run {
	int64_t began_at_ms, ended_at_ms; /* 0: there was none yet; 0: it goes on */
	uint64_t done[SRV_ACTIVITY_RESULTS], all_done, left;
	double per_minute; /* jobs, over the last two minutes at most */
} srv_activity_run;

srv_activity *srv_activity_new(void); /* NULL without memory */
void srv_activity_free(srv_activity *activity);
void srv_activity_note(srv_activity *activity, const srv_activity_job *job);
/* How many jobs wait or run now; to be said before the first of them is over, and whenever it changes. A job that is noted is not
 * one of them. */
void srv_activity_waits(srv_activity *activity, uint64_t left, int64_t now_ms);
srv_activity_run srv_activity_now(srv_activity *activity, int64_t now_ms);
/* Appends the members "activity" and "progress" to an open JSON object. */
void srv_activity_put(srv_activity *activity, int64_t now_ms, hob_buf *out);

#endif
