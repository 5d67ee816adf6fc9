#include "inside.h"

#include "../../core/base/json_write.h"

/* Mirror roots: the thread of server/mirror answers, except for the question which blobs exist here. */

static enum MHD_Result ask_mirrors(request *r, hob_str root, const char *tag, hob_str file)
{
	if (r->ask)
		return srv_reply_answer(r, "application/json");
	if (!r->http->sources.mirrors.post)
		return srv_reply_problem(
			r, PROBLEM_NOT_FOUND,
			"add {\"name\": NAME, \"path\": FOLDER, \"mirror\": true} to sources in hob.json",
			"this daemon has no mirror root");
	return srv_ask(r, SRV_CONTROL_MIRROR, root,
				   &(srv_control){.tag = hob_str_of(tag), .text = hob_buf_str(&r->body), .file = file});
}

enum MHD_Result srv_route_mirrors(request *r)
{
	if (r->ask || r->http->sources.mirrors.post)
		return ask_mirrors(r, (hob_str){0}, "list", (hob_str){0});
	hob_buf body = {0};
	hob_buf_put_str(&body, HOB_STR("{\"items\":[]}"));
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

enum MHD_Result srv_route_mirror_session(request *r)
{
	return ask_mirrors(r, r->args[0], "session", srv_access_mirror_folder(r));
}

enum MHD_Result srv_route_mirror_changes(request *r)
{
	return ask_mirrors(r, r->args[0], "changes", (hob_str){0});
}

enum MHD_Result srv_route_mirror_manifest(request *r)
{
	return ask_mirrors(r, r->args[0], "manifest", (hob_str){0});
}

enum MHD_Result srv_route_mirror_origin(request *r)
{
	return ask_mirrors(r, r->args[0], "origin", r->args[1]);
}

enum MHD_Result srv_route_mirror_have(request *r)
{
	const cJSON *digests = cJSON_GetObjectItemCaseSensitive(srv_request_json(r), "digests");
	hob_buf body = {0};
	hob_own_buf held = {0};
	bool good = cJSON_IsArray(digests);
	hob_json_open(&held, '[');
	hob_json_put(&body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("missing", '['));
	for (const cJSON *item = good ? digests->child : NULL; good && item; item = item->next) {
		hob_sha256 digest;
		good = hob_sha256_parse(hob_str_of(cJSON_GetStringValue(item)), &digest);
		if (!good || srv_blob_exists(r->http->sources.store, &digest))
			continue;
		hob_json_digest(&body, &digest);
		uint64_t bytes = srv_upload_held(r->http, &digest);
		if (bytes == 0)
			continue;
		hob_json_object(&held, HOB_JSON_DIGEST("sha256", &digest), HOB_JSON("bytes", bytes));
	}
	hob_json_close(&body, ']');
	hob_json_close(&held, ']');
	hob_json_put(&body, HOB_JSON_RAW("held", hob_buf_str(&held)));
	hob_json_close(&body, '}');
	if (good)
		return srv_reply_json(r, MHD_HTTP_OK, &body);
	hob_buf_release(&body);
	return srv_reply_problem(r, PROBLEM_BAD_REQUEST, "send {\"digests\":[\"0123...\"]}",
							 "the body is not a JSON object with a list of SHA-256 as 'digests'");
}
