#include "inside.h"

#include "../../core/base/json_write.h"

enum { HISTORY_DEFAULT = 50, HISTORY_MAX = 200 };

enum MHD_Result srv_route_asset(request *r)
{
	uint32_t fields;
	const srv_view_asset *asset = srv_request_fields(r, FIELDS_ALL, &fields) ? srv_request_asset(r) : NULL;
	if (!asset)
		return r->result;
	hob_buf body = {0};
	srv_request_uses(r, asset->full);
	srv_put_asset(&body, asset, fields);
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

/* ---- answers of the loop about an asset */

static enum MHD_Result relay(request *r, srv_control_kind kind, const srv_control *rest, const char *type)
{
	if (r->ask)
		return srv_reply_answer(r, type);
	const srv_view_asset *asset = srv_request_asset(r);
	return asset ? srv_ask(r, kind, asset->full, rest) : r->result;
}

enum MHD_Result srv_route_asset_why(request *r)
{
	uint64_t rev;
	if (!srv_request_number(r, "rev", 1, INT64_MAX, 0, &rev))
		return r->result;
	return relay(r, SRV_CONTROL_WHY, &(srv_control){.number = rev}, "application/json");
}

enum MHD_Result srv_route_asset_log(request *r)
{
	return relay(r, SRV_CONTROL_LOG, NULL, "text/plain; charset=utf-8");
}

enum MHD_Result srv_route_asset_history(request *r)
{
	uint64_t limit, before;
	if (!srv_request_number(r, "limit", 1, HISTORY_MAX, HISTORY_DEFAULT, &limit) ||
		!srv_request_number(r, "cursor", 0, UINT64_MAX, 0, &before))
		return r->result;
	return relay(r, SRV_CONTROL_HISTORY, &(srv_control){.number = before, .number2 = limit},
				 "application/json");
}

/* ---- settings */

static hob_str settings_file(const request *r)
{
	hob_str file = {0};
	srv_request_param(r, "file", &file);
	return file;
}

enum MHD_Result srv_route_asset_settings(request *r)
{
	return relay(r, SRV_CONTROL_SETTINGS, &(srv_control){.file = settings_file(r)}, "application/json");
}

static enum MHD_Result change_settings(request *r, srv_control_kind kind)
{
	if (r->head.if_match.len == 0)
		return srv_reply_problem(r, PROBLEM_PRECONDITION_REQUIRED,
								 "GET the settings and send their ETag: If-Match: \"...\"",
								 "without If-Match somebody else's change could be lost");
	srv_control rest = {.text = hob_buf_str(&r->body), .tag = r->head.if_match, .file = settings_file(r)};
	return relay(r, kind, &rest, "application/json");
}

enum MHD_Result srv_route_asset_settings_patch(request *r)
{
	return change_settings(r, SRV_CONTROL_SETTINGS_PATCH);
}

enum MHD_Result srv_route_asset_settings_delete(request *r)
{
	return change_settings(r, SRV_CONTROL_SETTINGS_DELETE);
}

static bool read_cook(request *r, bool *force, hob_str *profile)
{
	const cJSON *object = r->body.size > 0 ? srv_request_json(r) : NULL;
	const cJSON *forced = cJSON_GetObjectItemCaseSensitive(object, "force");
	const cJSON *named = cJSON_GetObjectItemCaseSensitive(object, "profile");
	*force = cJSON_IsTrue(forced);
	*profile = srv_print(r, "%.*s", HOB_FMT(srv_json_text(object, "profile")));
	return r->body.size == 0 ||
		   (cJSON_IsObject(object) && (!forced || cJSON_IsBool(forced)) &&
			(!named || cJSON_IsString(named))) ||
		   srv_refuse(r, PROBLEM_BAD_REQUEST, "send {\"force\":true} or nothing",
					  "the body is not a JSON object with a boolean 'force' and a text 'profile'");
}

#define NOTHING_CHANGED                                                                                      \
	"nothing was cooked: no file of it has changed since; {\"force\":true} or 'hob recook' tries again"

static enum MHD_Result cook(request *r, bool force)
{
	uint32_t wait_ms = srv_request_wait_ms(r);
	if (!r->ask)
		return relay(r, SRV_CONTROL_COOK, &(srv_control){.force = force}, "application/json");
	bool accepted = r->ask->status == MHD_HTTP_ACCEPTED;
	bool known = r->ask->control.kind == SRV_CONTROL_COOK && r->ask->status == 422;
	if (r->ask->control.kind == SRV_CONTROL_COOK && !known && (wait_ms == 0 || !accepted))
		return accepted ? srv_reply_accepted(r, "/api/v1/jobs") : srv_reply_answer(r, "application/json");
	const srv_view_asset *asset = srv_request_asset(r);
	if (!asset)
		return r->result;
	if (known)
		return srv_reply_cook_failed(r, asset, HOB_STR(NOTHING_CHANGED));
	if (r->ask->control.kind == SRV_CONTROL_COOK)
		return srv_ask(r, SRV_CONTROL_WAIT, asset->full, &(srv_control){.timeout_ms = wait_ms});
	if (!srv_asset_has_good(asset) && srv_standing_is_problem(asset->standing, false))
		return srv_reply_cook_failed(r, asset, (hob_str){0});
	hob_buf body = {0};
	bool open = asset->standing == SRV_STANDING_WAITING;
	srv_put_asset(&body, asset, FIELDS_LIST | 1u << FIELD_outputs);
	return srv_reply_json(r, open ? MHD_HTTP_ACCEPTED : MHD_HTTP_OK, &body);
}

/* The id of the asset in a profile; false after sending a problem. */
static bool find_profile(request *r, hob_str profile, char id[SRV_ASSET_ID + 1])
{
	const srv_view_asset *asset = srv_request_asset(r);
	if (!asset)
		return false;
	hob_str root = srv_profile_root(r, asset->root, profile);
	if (!srv_find_root(r, root)) {
		r->result = srv_reply_no_profile(r, asset->root, profile);
		return false;
	}
	hob_str full = srv_print(r, "%.*s/%.*s", HOB_FMT(root), HOB_FMT(asset->path));
	const srv_view_asset *other = srv_view_find(srv_request_view(r), full);
	if (other)
		memcpy(id, other->id, sizeof other->id);
	else
		srv_asset_id(full, id);
	return true;
}

enum MHD_Result srv_route_asset_cook(request *r)
{
	bool force;
	hob_str asked = r->args[0], profile;
	char id[SRV_ASSET_ID + 1];
	if (!read_cook(r, &force, &profile))
		return r->result;
	bool other = srv_is_profile(profile);
	if (other && !find_profile(r, profile, id))
		return r->result;
	r->args[0] = other ? hob_str_of(id) : asked;
	enum MHD_Result result = cook(r, force);
	r->args[0] = asked;
	return result;
}
