#include "inside.h"

#include "../../core/base/json_write.h"

#include <cjson/cJSON.h>

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
	return srv_ask(r, SRV_CONTROL_GIT, root, rest);
}

enum MHD_Result srv_route_commits(request *r)
{
	enum MHD_Result result;
	uint64_t limit;
	hob_str root = {0}, ref = {0};
	srv_request_param(r, "root", &root);
	srv_request_param(r, "ref", &ref);
	if (!srv_request_number(r, "limit", 1, COMMITS_MAX, COMMITS_DEFAULT, &result, &limit))
		return result;
	if (r->ask || r->http->sources.gits.post)
		return ask_git(r, "list", root, &(srv_control){.text = ref, .number = limit});
	hob_buf body = {0};
	hob_buf_put_str(&body, HOB_STR("{\"items\":[]}"));
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

enum MHD_Result srv_route_commit(request *r)
{
	enum MHD_Result result;
	uint64_t wait;
	hob_str root = {0};
	srv_request_param(r, "root", &root);
	if (!srv_request_number(r, "wait", 0, WAIT_MAX_S, 0, &result, &wait))
		return result;
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
	cJSON *answer = cJSON_ParseWithLength((const char *)r->ask->body.data, r->ask->body.size);
	hob_buf place = {0}, empty = {0};
	hob_str value;
	hob_buf_put_str(&place, HOB_STR("/a/"));
	srv_put_percent(&place, r->args[0]);
	for (hob_str rest = r->args[1], part; srv_next_piece(&rest, '/', &part);) {
		hob_buf_put(&place, "/", 1);
		srv_put_percent(&place, part);
	}
	hob_buf_put_str(&place, HOB_STR("?at="));
	hob_buf_put_str(&place, hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "id"))));
	for (size_t i = 0; i < HOB_COUNT_OF(kept); i++)
		if (srv_request_param(r, kept[i], &value)) {
			hob_buf_printf(&place, "&%s=", kept[i]);
			srv_put_percent(&place, value);
		}
	struct MHD_Response *response = srv_response_of(&empty, "text/plain; charset=utf-8");
	srv_response_add_str(response, "Location", hob_buf_str(&place));
	srv_response_add(response, "Cache-Control", "no-cache");
	cJSON_Delete(answer);
	hob_buf_release(&place);
	return srv_reply(r, MHD_HTTP_FOUND, response, 0);
}

bool srv_find_at_commit(request *r, const srv_view *view, hob_str root, hob_str at, hob_buf *full,
						enum MHD_Result *result)
{
	const ask *last = r->ask;
	hob_buf commits = {0};
	hob_buf_printf(&commits, "%.*s" SRV_GIT_COMMITS, HOB_FMT(root));
	hob_buf_printf(full, "%.*s/%.*s/%.*s", HOB_FMT(hob_buf_str(&commits)), HOB_FMT(at), HOB_FMT(r->args[1]));
	const srv_view_asset *found = is_id(at) ? srv_view_find(view, hob_buf_str(full)) : NULL;
	bool there = found && found->state != SRV_REMOVED, ready = false;
	uint32_t wait_ms = srv_request_wait_ms(r);
	if (!r->http->sources.gits.post)
		*result = reply_no_repository(r);
	else if (there || (last && last->control.kind != SRV_CONTROL_GIT))
		ready = true;
	else if (!last)
		*result = srv_ask(r, SRV_CONTROL_GIT, root, &(srv_control){.tag = HOB_STR("at"), .text = at});
	else if (last->status >= 400)
		*result = srv_reply_answer(r, "application/json");
	else if (!is_id(at))
		*result = redirect_to_id(r);
	else /* the folder was made a moment ago */
		*result = srv_ask(
			r, SRV_CONTROL_SYNC, hob_buf_str(full),
			&(srv_control){.text = hob_buf_str(&commits), .timeout_ms = wait_ms > 0 ? wait_ms : LOOK_MS});
	hob_buf_release(&commits);
	return ready;
}
