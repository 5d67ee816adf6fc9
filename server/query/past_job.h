/* past_job.h - a finished job as JSON. Any thread. */
#ifndef SRV_QUERY_PAST_JOB_H
#define SRV_QUERY_PAST_JOB_H

#include "question.h"

/* Appends the member "stages" of a job, an array of {"stage", "ms"}, from the row's text. */
void srv_past_put_stages(hob_str text, hob_buf *out);
/* Appends the job as a JSON object. */
void srv_past_put_job(const srv_job_row *row, hob_buf *out);
/* Whether the result, good or bad, was taken from an earlier cook with the same inputs. */
bool srv_past_was_known(const srv_job_row *row);
/* Appends the job's change of its asset, an item of /api/v1/history. False: nothing changed, or not what is
 * asked for, or q->uncompared names what must be compared first. */
bool srv_past_put_change(question *q, const srv_job_row *row, hob_buf *out);
/* The job `id`; if that is 0, the newest job of `asset`. False with *err NOT_FOUND, or an error of the
 * store. */
bool srv_past_find_job(srv_store *store, uint64_t id, hob_str asset, hob_arena *arena, srv_job_row *out,
					   hob_error *err) HOB_MUST_CHECK;

#endif
