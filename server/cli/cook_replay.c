#include "cook_replay.h"
#include "preflight.h"

#include "../worker/check.h"
#include "../worker/pool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct run {
	uv_loop_t loop;
	srv_pool *pool;
	const cook_replay *task;
	cook_replay_result *out;
	hob_error error;
	bool started, over;
} run;

static void on_closed(void *user)
{
	(void)user;
}

static void end(run *r)
{
	if (r->over)
		return;
	r->over = true;
	srv_pool_close(r->pool, on_closed, r);
}

static void on_ready(void *user)
{
	run *r = user;
	const srv_pool_importer *importer = srv_pool_importer_for(r->pool, hob_str_of(r->task->path));
	snprintf(r->out->sandbox, sizeof r->out->sandbox, "%s", srv_pool_sandbox(r->pool));
	if (importer)
		snprintf(r->out->library, sizeof r->out->library, "%.*s", HOB_FMT(importer->library));
	else
		(void)hob_fail(&r->error, UNSUPPORTED, "this hob reads no files named like '%.200s'", r->task->path);
	if (!importer)
		end(r);
}

static void on_idle(void *user)
{
	run *r = user;
	if (r->started || r->over)
		return;
	srv_pool_job job = {.path = hob_str_of(r->task->path),
						.settings = r->task->settings,
						.profile = r->task->preview ? HOB_PROFILE_PREVIEW : HOB_PROFILE_FINAL,
						.waited = true};
	r->started = srv_pool_start(r->pool, r, &job);
	if (!r->started) {
		(void)hob_fail(&r->error, NO_WORKER, "the cook process does not take this job");
		end(r);
	}
}

static void take_outputs(run *r, const srv_result *result)
{
	cook_replay_result *out = r->out;
	if (!srv_check_outputs(result, &out->error))
		return;
	out->outputs = calloc(result->output_count + 1, sizeof *out->outputs);
	for (uint32_t i = 0; out->outputs && i < result->output_count; i++) {
		cook_replay_output *made = &out->outputs[out->count++];
		snprintf(made->name, sizeof made->name, "%.*s", HOB_FMT(result->outputs[i].name));
		made->digest = hob_sha256_of(result->outputs[i].bytes);
	}
}

static void on_done(void *user, void *job, srv_outcome *outcome)
{
	(void)job;
	run *r = user;
	r->out->cook_ns = outcome->cook_ns;
	if (outcome->ok)
		take_outputs(r, &outcome->result);
	else
		r->out->error = outcome->error;
	srv_outcome_free(outcome);
	end(r);
}

static void on_degraded(void *user, const hob_error *why)
{
	run *r = user;
	if (!why || r->over)
		return;
	r->error = *why;
	end(r);
}

bool srv_cook_replay_run(const cook_replay *task, cook_replay_result *out, hob_error *err)
{
	run r = {.task = task, .out = out};
	srv_pool_options options = {.workers = 1,
								.timeout_ms = task->timeout_ms,
								.memory_limit = task->memory_limit,
								.sandbox = task->sandbox,
								.root_fds = &task->root_fd,
								.root_count = 1};
	srv_pool_callbacks callbacks = {
		.user = &r, .ready = on_ready, .idle = on_idle, .done = on_done, .degraded = on_degraded};
	signal(SIGPIPE, SIG_IGN);
	if (!srv_cli_loop_init(&r.loop, err))
		return false;
	if (srv_pool_new(&r.loop, &options, &callbacks, &r.pool, &r.error))
		uv_run(&r.loop, UV_RUN_DEFAULT);
	uv_loop_close(&r.loop);
	if (r.error.code == HOB_ERR_OK)
		return true;
	*err = r.error;
	return false;
}

void srv_cook_replay_release(cook_replay_result *result)
{
	free(result->outputs);
	result->outputs = NULL;
}
