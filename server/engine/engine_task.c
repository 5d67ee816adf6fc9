#include "engine_jobs.h"
#include "engine_upkeep.h"

#include "../../core/base/json_write.h"
#include "../control/answer.h"
#include "../log/log.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Housekeeping on request. A task has an id like a job, is listed with jobs and reports progress:
 *
 *   srv_engine_start_task --> RUNNING --- verify_done, or at once for gc --> DONE
 *
 * A DONE task is kept until TASKS_KEPT newer ones exist. */

enum { TASKS_KEPT = 16 };

typedef struct engine_task engine_task;

struct engine_task {
	srv_engine *engine;
	uint64_t id;
	bool verifies, dry_run, finished;
	int64_t started_at_ms, finished_at_ms;
	atomic_bool stop;
	atomic_ullong done, damaged; /* blobs */
	uint64_t total, freed_bytes, over_bytes;
	uint64_t max_bytes;	 /* for a gc: used instead of the cache's limit, unless 0 */
	hob_sha256 *digests; /* of all blobs, while a verify runs */
	uv_work_t work;
	engine_task *next;
};

static void put_task(const engine_task *t, hob_buf *out)
{
	uint64_t done = t->done;
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("id", t->id),
				 HOB_JSON("kind", t->verifies ? "verify" : "gc"), HOB_JSON_NULL("asset"),
				 HOB_JSON("state", t->finished ? "done" : "running"),
				 HOB_JSON_SOME("result", hob_str_of(!t->finished ? ""
													: t->stop	 ? "cancelled"
																 : "done")),
				 HOB_JSON_BOOL("dry_run", t->dry_run), HOB_JSON_KEY("progress"));
	hob_buf_printf(out, "%.3f", t->finished || t->total == 0 ? 1.0 : (double)done / (double)t->total);
	hob_json_put(out, HOB_JSON_TIME("queued_at", t->started_at_ms),
				 HOB_JSON_TIME("started_at", t->started_at_ms),
				 HOB_JSON_TIME("finished_at", t->finished_at_ms),
				 HOB_JSON_RAW("reason", HOB_STR("[{\"kind\":\"asked\"}]")));
	if (t->verifies) {
		hob_json_put(out, HOB_JSON("checked", done), HOB_JSON("total", t->total),
					 HOB_JSON("damaged", t->damaged));
	} else {
		hob_json_put(out, HOB_JSON("freed_bytes", t->freed_bytes), HOB_JSON("over_bytes", t->over_bytes));
	}
	hob_json_close(out, '}');
}

bool srv_engine_put_task(srv_engine *engine, uint64_t id, hob_buf *out)
{
	for (engine_task *t = engine->upkeep->tasks; t; t = t->next)
		if (t->id == id) {
			put_task(t, out);
			return true;
		}
	return false;
}

void srv_engine_put_tasks(srv_engine *engine, bool finished, hob_buf *out)
{
	for (engine_task *t = engine->upkeep->tasks; t; t = t->next)
		if (t->finished == finished)
			put_task(t, out);
}

void srv_engine_stop_tasks(srv_engine *engine)
{
	for (engine_task *t = engine->upkeep->tasks; t; t = t->next)
		if (!t->finished)
			t->stop = true;
}

void srv_engine_free_tasks(struct engine_upkeep *upkeep)
{
	while (upkeep->tasks) {
		engine_task *t = upkeep->tasks;
		upkeep->tasks = t->next;
		free(t->digests);
		free(t);
	}
}

static void forget_old(srv_engine *engine)
{
	uint32_t kept = 0;
	for (engine_task **at = &engine->upkeep->tasks; *at;) {
		engine_task *t = *at;
		if (kept++ < TASKS_KEPT || !t->finished) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		free(t);
	}
}

static void publish(const engine_task *t)
{
	hob_buf data = {0};
	hob_json_object(&data, HOB_JSON("id", t->id), HOB_JSON("state", t->finished ? "done" : "running"),
					HOB_JSON("kind", t->verifies ? "verify" : "gc"));
	srv_publish_event(&t->engine->publish, "job", (hob_str){0}, hob_buf_str(&data));
	hob_buf_release(&data);
}

static void finish(engine_task *t)
{
	t->finished = true;
	t->finished_at_ms = srv_engine_now_ms();
	free(t->digests);
	t->digests = NULL;
	publish(t);
}

static void verify_run(uv_work_t *work)
{
	engine_task *t = work->data;
	for (uint64_t i = 0; i < t->total && !t->stop; i++) {
		if (!srv_blob_check(t->engine->store, &t->digests[i], !t->dry_run))
			t->damaged++;
		t->done++;
	}
}

static void verify_done(uv_work_t *work, int status)
{
	(void)status;
	engine_task *t = work->data;
	srv_engine *engine = t->engine;
	finish(t);
	srv_log(t->damaged > 0 ? SRV_LOG_WARNING : SRV_LOG_INFO, "verified", "%llu blob%s, %llu damaged",
			(unsigned long long)t->done, HOB_PLURAL(t->done), (unsigned long long)t->damaged);
	srv_engine_work_over(engine);
}

static void run_gc(engine_task *t)
{
	srv_store_usage usage;
	srv_store_measure(t->engine->store, &usage);
	t->total = 1;
	t->done = 1;
	uint64_t most = t->max_bytes > 0 ? t->max_bytes : usage.max_bytes;
	t->over_bytes = most > 0 && usage.blob_bytes > most ? usage.blob_bytes - most : 0;
	srv_store_limit(t->engine->store, most);
	if (!t->dry_run)
		srv_store_trim_soon(t->engine->store);
	t->freed_bytes = srv_engine_trim(t->engine, t->dry_run);
	srv_store_limit(t->engine->store, usage.max_bytes);
	finish(t);
}

void srv_engine_start_task(srv_engine *engine, srv_control *control)
{
	bool verifies = control->kind == SRV_CONTROL_VERIFY;
	for (engine_task *t = engine->upkeep->tasks; t && verifies; t = t->next)
		if (t->verifies && !t->finished) {
			srv_control_answer(control, 409, "http.conflict", "the blobs are being verified already");
			return;
		}
	engine_task *t = calloc(1, sizeof *t);
	if (!t) {
		srv_control_answer(control, 503, "internal", "no memory left to begin");
		return;
	}
	*t = (engine_task){.engine = engine,
					   .id = srv_engine_new_job_id(engine),
					   .verifies = verifies,
					   .dry_run = control->force,
					   .max_bytes = control->number,
					   .started_at_ms = srv_engine_now_ms(),
					   .next = engine->upkeep->tasks};
	engine->upkeep->tasks = t;
	forget_old(engine);
	publish(t);
	if (verifies) {
		size_t count = 0;
		t->digests = srv_store_digests(engine->store, &count);
		t->total = count;
		t->work.data = t;
		srv_engine_work(engine, &t->work, verify_run, verify_done);
	} else {
		run_gc(t);
	}
	srv_control_accept(control, t->id);
}
