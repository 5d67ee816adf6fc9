#include "inside.h"

#include "../../core/base/json_write.h"

/* Signing in to the dashboard: the token is put into a cookie, which then accompanies every request of the
 * page, including requests that cannot have header fields: event streams, pictures, downloads. */

static enum MHD_Result reply_session(request *r, srv_scope scope, const hob_str *token)
{
	hob_buf body = {0};
	hob_json_object(&body, HOB_JSON_BOOL("required", r->http->access != NULL),
					HOB_JSON("scope", srv_scope_name(scope)), HOB_JSON_BOOL("expired", r->head.session_over));
	hob_buf_put(&body, "\n", 1);
	size_t size = body.size;
	struct MHD_Response *response = srv_response_of(&body, "application/json");
	srv_response_add(response, "Cache-Control", "no-store");
	if (token || r->head.session_over)
		srv_session_put(r, response, token ? *token : (hob_str){0});
	return srv_reply(r, MHD_HTTP_OK, response, size);
}

enum MHD_Result srv_route_session(request *r)
{
	srv_scope scope = srv_session_now(r);
	return r->head.session_over && srv_access_guessed(r) ? srv_reply_guesses(r)
														 : reply_session(r, scope, NULL);
}

enum MHD_Result srv_route_session_open(request *r)
{
	hob_str token = srv_json_text(srv_request_json(r), "token");
	srv_scope scope = srv_session_scope(r, token);
	if (token.len == 0)
		return srv_reply_problem(r, PROBLEM_BAD_REQUEST, "send {\"token\":\"hob_...\"}",
								 "the body is not a JSON object with a 'token'");
	return scope == SRV_SCOPE_NONE ? srv_reply_wrong_token(r)
								   : reply_session(r, scope, r->http->access ? &token : NULL);
}

enum MHD_Result srv_route_session_close(request *r)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	srv_session_put(r, response, (hob_str){0});
	return srv_reply(r, MHD_HTTP_NO_CONTENT, response, 0);
}
