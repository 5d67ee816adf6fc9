#include "question.h"

#include "../control/answer.h"
#include "../control/desk.h"

#include <assert.h>
#include <stdlib.h>

enum { LIMIT_MS = 2000, BODY_MAX = 64 << 20 };

struct srv_query {
	srv_store *store, *reader;
	srv_views *views;
	srv_desk *desk;
};

typedef int answer_fn(question *q);

static int list(question *q)
{
	q->control->list(q->control->query, q->view, &q->body);
	return 200;
}

static answer_fn *const answers[SRV_CONTROL_KINDS] = {
	[SRV_CONTROL_JOBS] = srv_query_jobs,
	[SRV_CONTROL_JOB] = srv_query_job,
	[SRV_CONTROL_TRACE] = srv_query_trace,
	[SRV_CONTROL_HISTORY] = srv_query_history,
	[SRV_CONTROL_CHANGES] = srv_query_changes,
	[SRV_CONTROL_LOG] = srv_query_job,
	[SRV_CONTROL_WHY] = srv_query_why,
	[SRV_CONTROL_WHAT_IF] = srv_query_what_if,
	[SRV_CONTROL_MANIFEST] = srv_query_manifest,
	[SRV_CONTROL_SETTINGS] = srv_query_settings,
	[SRV_CONTROL_SETTINGS_PATCH] = srv_query_settings,
	[SRV_CONTROL_SETTINGS_DELETE] = srv_query_settings,
	[SRV_CONTROL_LIST] = list,
};

/* ---- shared by the answers */

int srv_query_refuse(question *q, int status, const char *code, const char *detail)
{
	hob_buf_clear(&q->body);
	srv_control_put_error(&q->body, code, detail);
	return status;
}

int srv_query_cannot_read(question *q, const hob_error *err)
{
	return srv_query_refuse(q, 503, hob_err_name(err->code), err->context);
}

const srv_view_asset *srv_query_asset(question *q, int *status)
{
	const srv_view_asset *asset = srv_view_find(q->view, q->control->asset);
	if (!asset)
		*status = srv_query_refuse(q, 404, "http.not-found", "no such asset");
	return asset;
}

const srv_view_root *srv_query_root(const question *q, hob_str name)
{
	for (uint32_t i = 0; i < q->view->root_count; i++)
		if (hob_str_equal(q->view->roots[i].name, name))
			return &q->view->roots[i];
	return NULL;
}

/* ---- the thread */

static void answer(void *user, srv_control *control)
{
	srv_query *query = user;
	question q = {.control = control, .store = query->store, .reader = query->reader};
	hob_error error;
	assert(control->kind < SRV_CONTROL_KINDS && answers[control->kind] && "a control for the loop");
	q.view = srv_views_take(query->views);
	int status;
	if (control->kind == SRV_CONTROL_LIST) {
		status = list(&q);
	} else if (srv_reader_begin(query->reader, LIMIT_MS, &error)) {
		status = answers[control->kind](&q);
		srv_reader_end(query->reader);
	} else {
		status = srv_query_cannot_read(&q, &error);
	}
	srv_view_drop(q.view);
	if (q.body.failed || q.body.size > BODY_MAX)
		status = srv_query_refuse(&q, 503, "cook.limit", "the answer is over 64 MiB; ask for less at once");
	control->answer(control, status, hob_buf_str(&q.body));
	hob_buf_release(&q.body);
}

srv_control_port srv_query_port(srv_query *query)
{
	return srv_desk_port(query->desk);
}

bool srv_query_new(srv_store *store, srv_views *views, srv_query **out, hob_error *err)
{
	srv_query *query = hob_must(calloc(1, sizeof *query));
	query->store = store;
	query->views = views;
	if (!srv_reader_open(store, &query->reader, err) ||
		!srv_desk_new("questions", SRV_QUERY_WAITING_MAX, answer, query, &query->desk, err)) {
		srv_query_close(query);
		return false;
	}
	*out = query;
	return true;
}

void srv_query_close(srv_query *query)
{
	if (!query)
		return;
	srv_desk_close(query->desk);
	srv_reader_close(query->reader);
	free(query);
}
