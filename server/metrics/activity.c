#include "activity.h"

#include "../../core/base/json_write.h"

#include <pthread.h>
#include <stdlib.h>

enum { MINUTE_MS = 60000, NAME_MAX_BYTES = 4096 };

typedef struct minute {
	int64_t number; /* minutes since 1970 */
	uint64_t count[SRV_ACTIVITY_RESULTS], cook_ns, wait_ms;
} minute;

typedef struct slowest {
	int64_t number;
	uint64_t cook_ns;
	char asset[NAME_MAX_BYTES + 1];
} slowest;

struct srv_activity {
	pthread_mutex_t lock;
	minute minutes[SRV_ACTIVITY_MINUTES];
	slowest slow[SRV_ACTIVITY_MINUTES]; /* the longest cook of each minute */
	srv_activity_run run;
};

srv_activity *srv_activity_new(void)
{
	srv_activity *activity = calloc(1, sizeof *activity);
	if (activity)
		pthread_mutex_init(&activity->lock, NULL);
	return activity;
}

void srv_activity_free(srv_activity *activity)
{
	if (!activity)
		return;
	pthread_mutex_destroy(&activity->lock);
	free(activity);
}

static size_t slot_of(int64_t number)
{
	return (size_t)(number % SRV_ACTIVITY_MINUTES);
}

static void note_slow(slowest *slow, int64_t number, const srv_activity_job *job)
{
	if (slow->number == number && slow->cook_ns >= job->cook_ns)
		return;
	size_t size = job->asset.len < NAME_MAX_BYTES ? job->asset.len : NAME_MAX_BYTES;
	*slow = (slowest){.number = number, .cook_ns = job->cook_ns};
	if (size > 0)
		memcpy(slow->asset, job->asset.data, size);
}

void srv_activity_note(srv_activity *activity, const srv_activity_job *job)
{
	int64_t number = job->finished_at_ms > 0 ? job->finished_at_ms / MINUTE_MS : 0;
	pthread_mutex_lock(&activity->lock);
	minute *m = &activity->minutes[slot_of(number)];
	if (m->number != number)
		*m = (minute){.number = number};
	m->count[job->result]++;
	if (job->result == SRV_ACTIVITY_COOKED) {
		m->cook_ns += job->cook_ns;
		if (job->started_at_ms > job->queued_at_ms && job->queued_at_ms > 0)
			m->wait_ms += (uint64_t)(job->started_at_ms - job->queued_at_ms);
		note_slow(&activity->slow[slot_of(number)], number, job);
	}
	if (activity->run.began_at_ms == 0 || activity->run.ended_at_ms > 0)
		activity->run = (srv_activity_run){.began_at_ms = job->queued_at_ms};
	activity->run.done[job->result]++;
	activity->run.all_done++;
	activity->run.left -= activity->run.left > 0;
	pthread_mutex_unlock(&activity->lock);
}

void srv_activity_waits(srv_activity *activity, uint64_t left, int64_t now_ms)
{
	pthread_mutex_lock(&activity->lock);
	srv_activity_run *run = &activity->run;
	bool goes_on = run->began_at_ms > 0 && run->ended_at_ms == 0;
	if (left > 0 && !goes_on)
		*run = (srv_activity_run){.began_at_ms = now_ms};
	else if (left == 0 && goes_on)
		run->ended_at_ms = now_ms;
	run->left = left;
	pthread_mutex_unlock(&activity->lock);
}

/* The minute with this number, or an empty one. */
static minute at(const srv_activity *activity, int64_t number)
{
	const minute *m = &activity->minutes[slot_of(number)];
	return m->number == number ? *m : (minute){.number = number};
}

static double rate(const srv_activity *activity, int64_t now_ms)
{
	const srv_activity_run *run = &activity->run;
	int64_t number = now_ms / MINUTE_MS, from = (number - 1) * MINUTE_MS;
	uint64_t done = 0;
	if (run->began_at_ms == 0 || run->ended_at_ms > 0)
		return 0;
	for (int64_t n = number - 1; n <= number; n++)
		for (int result = 0; result < SRV_ACTIVITY_RESULTS; result++)
			done += at(activity, n).count[result];
	if (run->began_at_ms > from) {
		from = run->began_at_ms;
		done = run->all_done;
	}
	return now_ms > from ? (double)done * MINUTE_MS / (double)(now_ms - from) : 0;
}

srv_activity_run srv_activity_now(srv_activity *activity, int64_t now_ms)
{
	pthread_mutex_lock(&activity->lock);
	srv_activity_run run = activity->run;
	run.per_minute = rate(activity, now_ms);
	pthread_mutex_unlock(&activity->lock);
	return run;
}

static const char *const result_names[SRV_ACTIVITY_RESULTS] = {"cooked", "reused", "failed", "cancelled"};

static void put_counts(hob_buf *out, const uint64_t *counts)
{
	for (int result = 0; result < SRV_ACTIVITY_RESULTS; result++)
		hob_json_put_u64(out, result_names[result], counts[result]);
}

/* Appends the last hour: this minute and the 59 before it. */
static void put_hour(const srv_activity *activity, int64_t now_ms, hob_buf *out)
{
	int64_t newest = now_ms / MINUTE_MS, first = newest - SRV_ACTIVITY_MINUTES + 1;
	minute sum = {0};
	const slowest *slow = NULL;
	hob_json_put(out, HOB_JSON_OPEN("cooked_by_minute", '['));
	for (int64_t number = first; number <= newest; number++) {
		minute m = at(activity, number);
		const slowest *candidate = &activity->slow[slot_of(number)];
		for (int result = 0; result < SRV_ACTIVITY_RESULTS; result++)
			sum.count[result] += m.count[result];
		sum.cook_ns += m.cook_ns;
		sum.wait_ms += m.wait_ms;
		hob_json_u64(out, m.count[SRV_ACTIVITY_COOKED]);
		if (candidate->number == number && (!slow || candidate->cook_ns > slow->cook_ns))
			slow = candidate;
	}
	hob_json_close(out, ']');
	uint64_t cooked = sum.count[SRV_ACTIVITY_COOKED];
	put_counts(out, sum.count);
	hob_json_put(out, HOB_JSON("average_cook_ms", cooked > 0 ? sum.cook_ns / cooked / 1000000 : 0),
				 HOB_JSON("average_wait_ms", cooked > 0 ? sum.wait_ms / cooked : 0), HOB_JSON_KEY("slowest"));
	if (slow && slow->cook_ns > 0) {
		hob_json_object(out, HOB_JSON("asset", slow->asset), HOB_JSON("cook_ms", slow->cook_ns / 1000000));
	} else {
		hob_json_null(out);
	}
}

void srv_activity_put(srv_activity *activity, int64_t now_ms, hob_buf *out)
{
	srv_activity_run run = srv_activity_now(activity, now_ms);
	hob_json_put(out, HOB_JSON_OPEN("activity", '{'));
	pthread_mutex_lock(&activity->lock);
	put_hour(activity, now_ms, out);
	pthread_mutex_unlock(&activity->lock);
	hob_json_put(out, HOB_JSON_CLOSE('}'), HOB_JSON_OPEN("progress", '{'),
				 HOB_JSON_TIME("began_at", run.began_at_ms), HOB_JSON_TIME("ended_at", run.ended_at_ms));
	put_counts(out, run.done);
	hob_json_put(out, HOB_JSON("done", run.all_done), HOB_JSON("left", run.left), HOB_JSON_KEY("per_minute"));
	hob_buf_printf(out, "%.1f", run.per_minute);
	hob_json_close(out, '}');
}
