#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <cjson/cJSON.h>

#include "json.h"

/* GET /a/{root}/{path...}: the renderer's door. The trunk below decides; what it lacks it asks the loop for and
 * is called again with a newer view:
 *
 *   unknown name ---- Prefer: wait ----> SYNC (a file saved a moment ago) ---> again
 *   queued, cooking - Prefer: wait ----> WAIT ----------------------------> again
 *   classic.* that was never asked for -> CLASSIC -------------------------> again */

static const srv_view_output *find_output(const srv_view_asset *asset, hob_str name)
{
	for (uint32_t i = 0; i < asset->output_count; i++)
		if (hob_str_equal(asset->outputs[i].name, name))
			return &asset->outputs[i];
	return NULL;
}

static enum MHD_Result reply_unknown(request *r)
{
	return reply_problem(r, PROBLEM_NOT_FOUND,
						 "GET /api/v1/assets?q=NAME searches; GET /api/v1/roots tells the names of the roots",
						 "there is no asset '%.*s/%.*s'", HOB_FMT(r->args[0]), HOB_FMT(r->args[1]));
}

static enum MHD_Result reply_no_output(request *r, const srv_view_asset *asset, hob_str name)
{
	hob_buf detail = {0}, hint = {0}, members = {0};
	hob_buf_printf(&detail, "'%.*s' has no output '%.*s'", HOB_FMT(asset->full), HOB_FMT(name));
	hob_buf_put_str(&hint, HOB_STR("there are:"));
	hob_buf_put_str(&members, HOB_STR(",\"outputs\":["));
	for (uint32_t i = 0; i < asset->output_count; i++) {
		hob_buf_printf(&hint, " %.*s", HOB_FMT(asset->outputs[i].name));
		json_str(&members, asset->outputs[i].name);
	}
	hob_buf_put_str(&members, HOB_STR("]"));
	problem_text text = {.detail = hob_buf_str(&detail),
						 .hint = hob_buf_str(&hint),
						 .asset = asset->full,
						 .members = hob_buf_str(&members)};
	enum MHD_Result result = reply_problem_text(r, PROBLEM_NOT_FOUND, &text);
	hob_buf_release(&detail);
	hob_buf_release(&hint);
	hob_buf_release(&members);
	return result;
}

static hob_str member(const cJSON *object, const char *name)
{
	return hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name)));
}

enum MHD_Result reply_cook_failed(request *r, const srv_view_asset *asset)
{
	cJSON *error = cJSON_ParseWithLength(asset->error.data, asset->error.len);
	hob_buf members = {0}, instance = {0};
	hob_buf_printf(&instance, "/api/v1/assets/%s", asset->id);
	const cJSON *location = cJSON_GetObjectItemCaseSensitive(error, "location");
	char *place = cJSON_IsObject(location) ? cJSON_PrintUnformatted(location) : NULL;
	if (place)
		hob_buf_printf(&members, ",\"location\":%s", place);
	cJSON_free(place);
	hob_buf_printf(&members, ",\"state\":\"%s\",\"error\":", srv_state_name(asset->state));
	hob_buf_put_str(&members, error ? asset->error : HOB_STR("null"));
	problem_text text = {.code = member(error, "code"),
						 .detail = member(error, "message"),
						 .hint = member(error, "hint"),
						 .asset = asset->full,
						 .instance = hob_buf_str(&instance),
						 .members = hob_buf_str(&members)};
	if (text.detail.len == 0)
		text.detail = hob_str_of(problem_kinds[PROBLEM_COOK_FAILED].meaning);
	bool blocked = asset->state == SRV_BLOCKED;
	text.retry_after_s = blocked ? 10 : 0;
	enum MHD_Result result =
		reply_problem_text(r, blocked ? PROBLEM_UNAVAILABLE : PROBLEM_COOK_FAILED, &text);
	hob_buf_release(&members);
	hob_buf_release(&instance);
	cJSON_Delete(error);
	return result;
}

static enum MHD_Result reply_not_yet(request *r, const srv_view_asset *asset)
{
	hob_buf body = {0};
	put_asset(&body, asset, FIELDS_LIST);
	hob_buf_put(&body, "\n", 1);
	size_t size = body.size;
	char place[64];
	snprintf(place, sizeof place, "/api/v1/assets/%s", asset->id);
	struct MHD_Response *response = response_of(&body, "application/json");
	response_add(response, "Location", place);
	response_add(response, "Retry-After", "1");
	response_add(response, "Cache-Control", "no-store");
	return reply(r, MHD_HTTP_ACCEPTED, response, size);
}

static enum MHD_Result reply_output(request *r, const srv_view_asset *asset, const srv_view_output *output,
									bool redirect)
{
	hob_buf location = {0};
	char hash[HOB_SHA256_TEXT + 1];
	hob_sha256_text(&output->digest, hash);
	hob_buf_printf(&location, "/blobs/%s", hash);
	blob_headers extra = {hob_buf_str(&location), hob_str_of(asset->state == SRV_FRESH ? "fresh" : "stale"),
						  hob_str_of(asset->quality), asset->rev, NULL};
	enum MHD_Result result;
	blob *b = redirect ? NULL : blob_find(r->http->blobs, &output->digest, r->http->now_ms);
	if (b) {
		result = reply_blob(r, b, &extra);
	} else if (redirect) {
		hob_buf empty = {0};
		struct MHD_Response *response = response_of(&empty, "text/plain; charset=utf-8");
		char rev[24];
		snprintf(rev, sizeof rev, "%llu", (unsigned long long)asset->rev);
		response_add_str(response, "Location", extra.location);
		response_add_str(response, "Cook-State", extra.state);
		response_add_str(response, "Cook-Quality", extra.quality);
		response_add(response, "Cook-Rev", rev);
		response_add(response, "Cache-Control", "no-cache");
		result = reply(r, MHD_HTTP_TEMPORARY_REDIRECT, response, 0);
	} else {
		problem_text text = {.detail = HOB_STR("the blob of this output is not in the store"),
							 .hint = HOB_STR("it was damaged or evicted and is cooked again; try again"),
							 .asset = asset->full,
							 .retry_after_s = 1};
		result = reply_problem_text(r, PROBLEM_UNAVAILABLE, &text);
	}
	hob_buf_release(&location);
	return result;
}

static bool underway(const srv_view_asset *asset)
{
	return asset->state == SRV_QUEUED || asset->state == SRV_COOKING || asset->state == SRV_STALE ||
		   asset->state == SRV_BLOCKED;
}

static enum MHD_Result decide(request *r, const srv_view_asset *asset, hob_str full, hob_str output_name,
							  bool redirect, bool final)
{
	uint32_t wait_ms = request_wait_ms(r);
	bool waited = r->asked > 0;
	const srv_control wait = {.timeout_ms = wait_ms, .force = final};
	if (!asset && wait_ms > 0 && !waited)
		return ask_loop(r, SRV_CONTROL_SYNC, full, &wait);
	if (!asset || asset->state == SRV_REMOVED)
		return reply_unknown(r);
	bool wanting = underway(asset) || (final && strcmp(asset->quality, "preview") == 0);
	if (wait_ms > 0 && wanting && (!waited || r->ask->control.kind == SRV_CONTROL_SYNC))
		return ask_loop(r, SRV_CONTROL_WAIT, full, &wait);
	if (!asset_has_good(asset)) {
		bool open = asset->state == SRV_QUEUED || asset->state == SRV_COOKING || asset->state == SRV_STALE;
		return open ? reply_not_yet(r, asset) : reply_cook_failed(r, asset);
	}
	const srv_view_output *output = find_output(asset, output_name);
	if (output)
		return reply_output(r, asset, output, redirect);
	if (!hob_str_starts(output_name, HOB_STR("classic.")))
		return reply_no_output(r, asset, output_name);
	if (!waited || r->ask->control.kind != SRV_CONTROL_CLASSIC)
		return ask_loop(r, SRV_CONTROL_CLASSIC, full, NULL);
	return r->ask->status >= 400 ? reply_answer(r, "application/json")
								 : reply_no_output(r, asset, output_name);
}

enum MHD_Result srv_route_asset_data(request *r)
{
	enum MHD_Result result;
	bool redirect, final;
	if (!request_flag(r, "redirect", false, &result, &redirect) ||
		!request_flag(r, "final", false, &result, &final))
		return result;
	hob_str output_name = HOB_STR("meshes");
	request_param(r, "output", &output_name);
	hob_buf full = {0};
	hob_buf_put_str(&full, r->args[0]);
	hob_buf_put(&full, "/", 1);
	hob_buf_put_str(&full, r->args[1]);
	const srv_view *view = srv_views_take(r->http->sources.views);
	result = full.failed ? MHD_NO
						 : decide(r, srv_view_find(view, hob_buf_str(&full)), hob_buf_str(&full), output_name,
								  redirect, final);
	srv_view_drop(view);
	hob_buf_release(&full);
	return result;
}
