#include "inside.h"

#include <cjson/cJSON.h>

#include "json.h"

enum MHD_Result srv_route_asset(request *r)
{
	enum MHD_Result result;
	uint32_t fields;
	const srv_view *view;
	const srv_view_asset *asset;
	if (!request_fields(r, FIELDS_ALL, &fields, &result) || !request_asset(r, &view, &asset, &result))
		return result;
	hob_buf body = {0};
	put_asset(&body, asset, fields);
	srv_view_drop(view);
	return reply_json(r, MHD_HTTP_OK, &body);
}

/* ---- dependencies, both ways */

static bool depends_on(const srv_view_asset *asset, const srv_view_asset *target)
{
	if (!hob_str_equal(asset->root, target->root))
		return false;
	for (uint32_t i = 0; i < asset->dep_count; i++)
		if (hob_str_equal(asset->deps[i].path, target->path))
			return true;
	return false;
}

enum MHD_Result srv_route_asset_deps(request *r)
{
	enum MHD_Result result;
	const srv_view *view;
	const srv_view_asset *asset;
	hob_str direction = HOB_STR("out");
	request_param(r, "direction", &direction);
	bool in = hob_str_equal(direction, HOB_STR("in"));
	if (!in && !hob_str_equal(direction, HOB_STR("out")))
		return reply_problem(r, PROBLEM_BAD_REQUEST, "out: what it is made of; in: what is made of it",
							 "'direction=%.*s' is neither in nor out", HOB_FMT(direction));
	if (!request_asset(r, &view, &asset, &result))
		return result;
	hob_buf body = {0};
	json_open(&body, '{');
	json_put_str(&body, "id", hob_str_of(asset->id));
	json_put_str(&body, "direction", direction);
	json_key(&body, "items");
	json_open(&body, '[');
	for (uint32_t i = 0; in && i < view->count; i++)
		if (depends_on(view->assets[i], asset))
			put_asset(&body, view->assets[i],
					  1u << FIELD_id | 1u << FIELD_path | 1u << FIELD_root | 1u << FIELD_state |
						  1u << FIELD_links);
	for (uint32_t i = 0; !in && i < asset->dep_count; i++) {
		const srv_view_dep *dep = &asset->deps[i];
		json_open(&body, '{');
		json_put_str(&body, "path", dep->path);
		json_put_str(&body, "root", asset->root);
		json_key(&body, "missing");
		json_bool(&body, dep->missing);
		json_key(&body, "hash");
		json_digest(&body, &dep->digest);
		hob_buf full = {0};
		hob_buf_printf(&full, "%.*s/%.*s", HOB_FMT(asset->root), HOB_FMT(dep->path));
		const srv_view_asset *known = srv_view_find(view, hob_buf_str(&full));
		hob_buf_release(&full);
		json_key(&body, "id");
		if (known)
			json_str(&body, hob_str_of(known->id));
		else
			json_null(&body);
		json_close(&body, '}');
	}
	json_close(&body, ']');
	json_close(&body, '}');
	srv_view_drop(view);
	return reply_json(r, MHD_HTTP_OK, &body);
}

/* ---- what the loop tells about an asset */

static enum MHD_Result relay(request *r, srv_control_kind kind, const srv_control *rest, const char *type)
{
	if (!r->ask) {
		enum MHD_Result result;
		const srv_view *view;
		const srv_view_asset *asset;
		if (!request_asset(r, &view, &asset, &result))
			return result;
		result = ask_loop(r, kind, asset->full, rest);
		srv_view_drop(view);
		return result;
	}
	return reply_answer(r, type);
}

enum MHD_Result srv_route_asset_why(request *r)
{
	return relay(r, SRV_CONTROL_WHY, NULL, "application/json");
}

enum MHD_Result srv_route_asset_log(request *r)
{
	return relay(r, SRV_CONTROL_LOG, NULL, "text/plain; charset=utf-8");
}

static bool read_force(request *r, bool *force, enum MHD_Result *result)
{
	*force = false;
	if (r->body.size == 0)
		return true;
	cJSON *object = cJSON_ParseWithLength((const char *)r->body.data, r->body.size);
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "force");
	bool fine = cJSON_IsObject(object) && (!value || cJSON_IsBool(value));
	*force = cJSON_IsTrue(value);
	cJSON_Delete(object);
	if (!fine)
		*result = reply_problem(r, PROBLEM_BAD_REQUEST, "send {\"force\":true} or nothing",
								"the body is not a JSON object with a boolean 'force'");
	return fine;
}

/* 202 with the place of the job that the loop has named. */
static enum MHD_Result reply_accepted(request *r)
{
	hob_buf *body = &r->ask->body, place = {0};
	cJSON *object = cJSON_ParseWithLength((const char *)body->data, body->size);
	const cJSON *job = cJSON_GetObjectItemCaseSensitive(object, "job");
	if (cJSON_IsNumber(job))
		hob_buf_printf(&place, "/api/v1/jobs/%llu", (unsigned long long)job->valuedouble);
	else
		hob_buf_printf(&place, "/api/v1/assets/%.*s", HOB_FMT(r->args[0]));
	cJSON_Delete(object);
	size_t size = body->size;
	struct MHD_Response *response = response_of(body, "application/json");
	response_add_str(response, "Location", hob_buf_str(&place));
	response_add(response, "Retry-After", "1");
	hob_buf_release(&place);
	return reply(r, MHD_HTTP_ACCEPTED, response, size);
}

enum MHD_Result srv_route_asset_cook(request *r)
{
	enum MHD_Result result;
	uint32_t wait_ms = request_wait_ms(r);
	bool force;
	if (!r->ask) {
		if (!read_force(r, &force, &result))
			return result;
		return relay(r, SRV_CONTROL_COOK, &(srv_control){.force = force}, "application/json");
	}
	bool accepted = r->ask->status == MHD_HTTP_ACCEPTED;
	const srv_view *view;
	const srv_view_asset *asset;
	if (r->ask->control.kind == SRV_CONTROL_COOK && (wait_ms == 0 || !accepted))
		return accepted ? reply_accepted(r) : reply_answer(r, "application/json");
	if (!request_asset(r, &view, &asset, &result))
		return result;
	if (r->ask->control.kind == SRV_CONTROL_COOK) {
		result = ask_loop(r, SRV_CONTROL_WAIT, asset->full, &(srv_control){.timeout_ms = wait_ms});
	} else {
		hob_buf body = {0};
		bool open = asset->state == SRV_QUEUED || asset->state == SRV_COOKING;
		put_asset(&body, asset, FIELDS_LIST | 1u << FIELD_outputs);
		result = reply_json(r, open ? MHD_HTTP_ACCEPTED : MHD_HTTP_OK, &body);
	}
	srv_view_drop(view);
	return result;
}
