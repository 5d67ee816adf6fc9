#include "inside.h"

#include <cjson/cJSON.h>

#include "../../core/base/json_write.h"

enum { HISTORY_DEFAULT = 50, HISTORY_MAX = 200 };

enum MHD_Result srv_route_asset(request *r)
{
	enum MHD_Result result;
	uint32_t fields;
	const srv_view *view;
	const srv_view_asset *asset;
	if (!srv_request_fields(r, FIELDS_ALL, &fields, &result) || !srv_request_asset(r, &view, &asset, &result))
		return result;
	hob_buf body = {0};
	srv_request_uses(r, asset->full);
	srv_put_asset(&body, asset, fields);
	srv_view_drop(view);
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

/* ---- answers of the loop about an asset */

static enum MHD_Result relay(request *r, srv_control_kind kind, const srv_control *rest, const char *type)
{
	if (!r->ask) {
		enum MHD_Result result;
		const srv_view *view;
		const srv_view_asset *asset;
		if (!srv_request_asset(r, &view, &asset, &result))
			return result;
		result = srv_ask(r, kind, asset->full, rest);
		srv_view_drop(view);
		return result;
	}
	return srv_reply_answer(r, type);
}

enum MHD_Result srv_route_asset_why(request *r)
{
	enum MHD_Result result;
	uint64_t rev;
	if (!srv_request_number(r, "rev", 1, INT64_MAX, 0, &result, &rev))
		return result;
	return relay(r, SRV_CONTROL_WHY, &(srv_control){.number = rev}, "application/json");
}

enum MHD_Result srv_route_asset_log(request *r)
{
	return relay(r, SRV_CONTROL_LOG, NULL, "text/plain; charset=utf-8");
}

enum MHD_Result srv_route_asset_history(request *r)
{
	enum MHD_Result result;
	uint64_t limit, before;
	if (r->ask)
		return srv_reply_answer(r, "application/json");
	if (!srv_request_number(r, "limit", 1, HISTORY_MAX, HISTORY_DEFAULT, &result, &limit) ||
		!srv_request_number(r, "cursor", 0, UINT64_MAX, 0, &result, &before))
		return result;
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

typedef struct cook_wish {
	bool force;
	hob_buf profile;
} cook_wish;

static bool read_cook(request *r, cook_wish *out, enum MHD_Result *result)
{
	*out = (cook_wish){0};
	if (r->body.size == 0)
		return true;
	cJSON *object = cJSON_ParseWithLength((const char *)r->body.data, r->body.size);
	const cJSON *force = cJSON_GetObjectItemCaseSensitive(object, "force");
	const cJSON *profile = cJSON_GetObjectItemCaseSensitive(object, "profile");
	bool fine =
		cJSON_IsObject(object) && (!force || cJSON_IsBool(force)) && (!profile || cJSON_IsString(profile));
	out->force = cJSON_IsTrue(force);
	if (fine && profile)
		hob_buf_put_str(&out->profile, hob_str_of(profile->valuestring));
	cJSON_Delete(object);
	if (!fine)
		*result =
			srv_reply_problem(r, PROBLEM_BAD_REQUEST, "send {\"force\":true} or nothing",
							  "the body is not a JSON object with a boolean 'force' and a text 'profile'");
	return fine;
}

#define NOTHING_CHANGED                                                                                      \
	"nothing was cooked: no file of it has changed since; {\"force\":true} or 'hob recook' tries again"

static enum MHD_Result cook(request *r, bool force)
{
	enum MHD_Result result;
	uint32_t wait_ms = srv_request_wait_ms(r);
	if (!r->ask)
		return relay(r, SRV_CONTROL_COOK, &(srv_control){.force = force}, "application/json");
	bool accepted = r->ask->status == MHD_HTTP_ACCEPTED;
	const srv_view *view;
	const srv_view_asset *asset;
	bool known = r->ask->control.kind == SRV_CONTROL_COOK && r->ask->status == 422;
	if (r->ask->control.kind == SRV_CONTROL_COOK && !known && (wait_ms == 0 || !accepted))
		return accepted ? srv_reply_accepted(r, "/api/v1/jobs") : srv_reply_answer(r, "application/json");
	if (!srv_request_asset(r, &view, &asset, &result))
		return result;
	if (known) {
		result = srv_reply_cook_failed(r, asset, HOB_STR(NOTHING_CHANGED));
	} else if (r->ask->control.kind == SRV_CONTROL_COOK) {
		result = srv_ask(r, SRV_CONTROL_WAIT, asset->full, &(srv_control){.timeout_ms = wait_ms});
	} else if (!srv_asset_has_good(asset) && srv_standing_is_problem(asset->standing, false)) {
		result = srv_reply_cook_failed(r, asset, (hob_str){0});
	} else {
		hob_buf body = {0};
		bool open = asset->standing == SRV_STANDING_WAITING;
		srv_put_asset(&body, asset, FIELDS_LIST | 1u << FIELD_outputs);
		result = srv_reply_json(r, open ? MHD_HTTP_ACCEPTED : MHD_HTTP_OK, &body);
	}
	srv_view_drop(view);
	return result;
}

/* The id of the asset in a profile; false after sending a problem. */
static bool find_profile(request *r, hob_str profile, char id[SRV_ASSET_ID + 1], enum MHD_Result *result)
{
	const srv_view *view;
	const srv_view_asset *asset;
	if (!srv_request_asset(r, &view, &asset, result))
		return false;
	bool exists = srv_profile_exists(view, asset->root, profile);
	if (exists) {
		hob_buf full = {0};
		srv_put_profile_root(&full, asset->root, profile);
		hob_buf_printf(&full, "/%.*s", HOB_FMT(asset->path));
		const srv_view_asset *other = srv_view_find(view, hob_buf_str(&full));
		if (other)
			memcpy(id, other->id, sizeof other->id);
		else
			srv_asset_id(hob_buf_str(&full), id);
		hob_buf_release(&full);
	} else {
		*result = srv_reply_no_profile(r, view, asset->root, profile);
	}
	srv_view_drop(view);
	return exists;
}

enum MHD_Result srv_route_asset_cook(request *r)
{
	enum MHD_Result result;
	cook_wish wish;
	if (!read_cook(r, &wish, &result))
		return result;
	hob_str asked = r->args[0], profile = hob_buf_str(&wish.profile);
	char id[SRV_ASSET_ID + 1];
	bool other = srv_is_profile(profile);
	if (!other || find_profile(r, profile, id, &result)) {
		r->args[0] = other ? hob_str_of(id) : asked;
		result = cook(r, wish.force);
		r->args[0] = asked;
	}
	hob_buf_release(&wish.profile);
	return result;
}
