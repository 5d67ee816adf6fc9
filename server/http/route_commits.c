#include "inside.h"

/* Commits of git repositories: the thread of server/git answers. */

enum { COMMITS_DEFAULT = 50, COMMITS_MAX = 5000, LOOK_MS = 2000, WAIT_MAX_S = 60, ID_TEXT = 40 };

static enum MHD_Result reply_no_repository(request *r)
{
	return srv_reply_problem(r, PROBLEM_NOT_FOUND,
							 "start it with 'hob serve git:REPOSITORY', or add {\"git\": PATH} to 'sources'",
							 "this daemon serves no git repository");
}

static enum MHD_Result ask_git(request *r, const char *verb, hob_str root, srv_control *rest)
{
	if (r->ask)
		return srv_reply_answer(r, "application/json");
	if (!r->http->sources.gits.post)
		return reply_no_repository(r);
	rest->tag = hob_str_of(verb);
	if (r->refs_only.data)
		rest->file = r->refs_only;
	return srv_ask(r, SRV_CONTROL_GIT, r->refs_only.data ? r->root_only : root, rest);
}

enum MHD_Result srv_route_commits(request *r)
{
	uint64_t limit;
	hob_str root = {0}, ref = {0}, path = {0};
	srv_request_param(r, "root", &root);
	srv_request_param(r, "ref", &ref);
	srv_request_param(r, "path", &path);
	if (!srv_request_number(r, "limit", 1, COMMITS_MAX, COMMITS_DEFAULT, &limit))
		return r->result;
	if (r->ask || r->http->sources.gits.post)
		return ask_git(r, "list", root, &(srv_control){.text = ref, .file = path, .number = limit});
	hob_buf body = {0};
	hob_buf_put_str(&body, HOB_STR("{\"items\":[]}"));
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

enum MHD_Result srv_route_commit(request *r)
{
	uint64_t wait;
	hob_str root = {0};
	srv_request_param(r, "root", &root);
	if (!srv_request_number(r, "wait", 0, WAIT_MAX_S, 0, &wait))
		return r->result;
	return ask_git(r, "commit", root,
				   &(srv_control){.text = r->args[0], .timeout_ms = (uint32_t)wait * 1000});
}

enum MHD_Result srv_route_commit_cook(request *r)
{
	hob_str root = {0};
	srv_request_param(r, "root", &root);
	return ask_git(r, "cook", root, &(srv_control){.text = r->args[0]});
}

enum MHD_Result srv_route_git_fetched(request *r)
{
	return ask_git(r, "fetched", r->args[0], &(srv_control){.number = 0});
}

static bool is_id(hob_str text)
{
	bool good = text.len == ID_TEXT;
	for (size_t i = 0; i < text.len && good; i++)
		good = (text.data[i] >= '0' && text.data[i] <= '9') || (text.data[i] >= 'a' && text.data[i] <= 'f');
	return good;
}

/* Redirects to the same output at the id that the answer names. */
static enum MHD_Result redirect_to_id(request *r)
{
	static const char *const kept[] = {"output", "profile", "redirect", "lod", "final"};
	hob_str id = srv_json_text(srv_request_parse(r, hob_buf_str(&r->ask->body)), "id"), value;
	hob_own_buf place = {0};
	hob_buf empty = {0};
	hob_buf_put_str(&place, HOB_STR("/a/"));
	hob_buf_put_percent(&place, r->args[0]);
	for (hob_str rest = r->args[1], part; hob_str_piece(&rest, '/', &part);) {
		hob_buf_put(&place, "/", 1);
		hob_buf_put_percent(&place, part);
	}
	hob_buf_printf(&place, "?at=%.*s", HOB_FMT(id));
	for (size_t i = 0; i < HOB_COUNT_OF(kept); i++)
		if (srv_request_param(r, kept[i], &value)) {
			hob_buf_printf(&place, "&%s=", kept[i]);
			hob_buf_put_percent(&place, value);
		}
	const char *location = srv_print(r, "%.*s", HOB_FMT(hob_buf_str(&place))).data;
	return srv_reply_body(r, MHD_HTTP_FOUND, &empty, "text/plain; charset=utf-8", "Location", location,
						  "Cache-Control", "no-cache", NULL);
}

bool srv_find_at_commit(request *r, hob_str root, hob_str at, hob_str *full)
{
	const ask *last = r->ask;
	hob_str commits = srv_print(r, "%.*s" SRV_GIT_COMMITS, HOB_FMT(root));
	*full = srv_print(r, "%.*s/%.*s/%.*s", HOB_FMT(commits), HOB_FMT(at), HOB_FMT(r->args[1]));
	const srv_view_asset *found = is_id(at) ? srv_view_find(srv_request_view(r), *full) : NULL;
	bool there = found && found->state != SRV_REMOVED, ready = false;
	uint32_t wait_ms = srv_request_wait_ms(r);
	if (!r->http->sources.gits.post)
		r->result = reply_no_repository(r);
	else if (last && last->control.kind == SRV_CONTROL_GIT && last->status >= 400)
		r->result = srv_reply_answer(r, "application/json");
	else if (!there && last && last->control.kind == SRV_CONTROL_SYNC && last->status == 504)
		r->result = srv_reply_problem_text(
			r, PROBLEM_UNAVAILABLE,
			&(problem_text){.detail = HOB_STR("the files of this commit are being read"),
							.hint = HOB_STR("'Prefer: wait=60' waits"),
							.retry_after_s = 1});
	else if ((there && (last || !r->refs_only.data)) || (last && last->control.kind != SRV_CONTROL_GIT))
		ready = true;
	else if (!last)
		r->result = ask_git(r, "at", root, &(srv_control){.text = at, .timeout_ms = wait_ms});
	else if (!is_id(at))
		r->result = redirect_to_id(r);
	else /* the folder was made a moment ago */
		r->result = srv_ask(r, SRV_CONTROL_SYNC, *full,
							&(srv_control){.text = commits, .timeout_ms = wait_ms > 0 ? wait_ms : LOOK_MS});
	return ready;
}
