#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <cjson/cJSON.h>

#include "../control/derived.h"
#include "../../core/base/json_write.h"

enum { LOD_MAX = 255 };

/* GET /a/{root}/{path...}: the route for renderers. The handler asks the loop for what is missing and is then
 * called again with a newer view:
 *
 *   unknown name ---- Prefer: wait ----> SYNC (a file saved a moment ago) ---> again
 *   at=REVISION ----------------------> GIT ----> 302 to its id, or SYNC --> again
 *   queued, cooking - Prefer: wait ----> WAIT ----------------------------> again
 *   classic.* requested for the first time -> CLASSIC --------------------> again
 *   lod=k, glb, requested for the first time -> DERIVE --------------------> again
 *
 * A classic .materials file names its pictures relative to its own path: FOLDER/out_textures/<sha256>.png is
 * the blob. */

static const srv_view_output *find_output(const srv_view_asset *asset, hob_str name)
{
	for (uint32_t i = 0; i < asset->output_count; i++)
		if (hob_str_equal(asset->outputs[i].name, name))
			return &asset->outputs[i];
	return NULL;
}

static enum MHD_Result reply_unknown(request *r)
{
	return srv_reply_problem(r, PROBLEM_NOT_FOUND,
							 "GET /api/v1/assets?q=NAME searches; GET /api/v1/roots lists the roots",
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
		hob_json_str(&members, asset->outputs[i].name);
	}
	hob_buf_put_str(&members, HOB_STR("]"));
	hob_buf_put_str(&hint,
					HOB_STR("; available on request: glb classic.meshes classic.materials classic.scene"));
	problem_text text = {.detail = hob_buf_str(&detail),
						 .hint = hob_buf_str(&hint),
						 .asset = asset->full,
						 .members = hob_buf_str(&members)};
	enum MHD_Result result = srv_reply_problem_text(r, PROBLEM_NOT_FOUND, &text);
	hob_buf_release(&detail);
	hob_buf_release(&hint);
	hob_buf_release(&members);
	return result;
}

static hob_str member(const cJSON *object, const char *name)
{
	return hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name)));
}

enum MHD_Result srv_reply_cook_failed(request *r, const srv_view_asset *asset, hob_str more)
{
	cJSON *error = cJSON_ParseWithLength(asset->error.data, asset->error.len);
	hob_buf members = {0}, instance = {0}, hint = {0};
	hob_buf_printf(&instance, "/api/v1/assets/%s", asset->id);
	const cJSON *location = cJSON_GetObjectItemCaseSensitive(error, "location");
	char *place = cJSON_IsObject(location) ? cJSON_PrintUnformatted(location) : NULL;
	if (place)
		hob_buf_printf(&members, ",\"location\":%s", place);
	cJSON_free(place);
	hob_buf_printf(&members, ",\"state\":\"%s\",\"standing\":\"%s\",\"error\":", srv_state_name(asset->state),
				   srv_standing_name(asset->standing));
	hob_buf_put_str(&members, error ? asset->error : HOB_STR("null"));
	hob_str first = member(error, "hint");
	hob_buf_printf(&hint, "%.*s%s%.*s", HOB_FMT(first), first.len > 0 && more.len > 0 ? "; " : "",
				   HOB_FMT(more));
	problem_text text = {.code = member(error, "code"),
						 .detail = member(error, "message"),
						 .hint = hob_buf_str(&hint),
						 .asset = asset->full,
						 .instance = hob_buf_str(&instance),
						 .members = hob_buf_str(&members)};
	if (text.detail.len == 0)
		text.detail = hob_str_of(srv_problem_kinds[PROBLEM_COOK_FAILED].meaning);
	bool missing = asset->standing == SRV_STANDING_MISSING,
		 blocked = missing || asset->standing == SRV_STANDING_BLOCKED ||
				   asset->standing == SRV_STANDING_INTERRUPTED;
	if (missing && !error) {
		text.detail = HOB_STR("nothing was cooked of it before its folder went missing");
		text.hint = HOB_STR(
			"GET /api/v1/roots tells which folder is missing and why; it is cooked when the folder is back");
	}
	text.retry_after_s = blocked ? 10 : 0;
	enum MHD_Result result =
		srv_reply_problem_text(r, blocked ? PROBLEM_UNAVAILABLE : PROBLEM_COOK_FAILED, &text);
	hob_buf_release(&members);
	hob_buf_release(&instance);
	hob_buf_release(&hint);
	cJSON_Delete(error);
	return result;
}

static enum MHD_Result reply_not_yet(request *r, const srv_view_asset *asset)
{
	hob_buf body = {0};
	srv_put_asset(&body, asset, FIELDS_LIST);
	hob_buf_put(&body, "\n", 1);
	size_t size = body.size;
	char place[64];
	snprintf(place, sizeof place, "/api/v1/assets/%s", asset->id);
	struct MHD_Response *response = srv_response_of(&body, "application/json");
	srv_response_add(response, "Location", place);
	srv_response_add(response, "Retry-After", "1");
	srv_response_add(response, "Cache-Control", "no-store");
	return srv_reply(r, MHD_HTTP_ACCEPTED, response, size);
}

/* The requested parts of the asset. */
typedef struct wish {
	hob_str full, output;
	bool redirect, final;
	uint64_t level; /* finest level of detail to keep */
} wish;

static enum MHD_Result reply_bytes(request *r, const srv_view_asset *asset, const hob_sha256 *digest,
								   const char *type, bool redirect)
{
	hob_buf location = {0};
	char hash[HOB_SHA256_TEXT + 1];
	hob_sha256_text(digest, hash);
	hob_buf_printf(&location, "/blobs/%s", hash);
	blob_headers extra = {hob_buf_str(&location),
						  hob_str_of(asset->standing == SRV_STANDING_FRESH ? "fresh" : "stale"),
						  hob_str_of(srv_standing_name(asset->standing)),
						  hob_str_of(asset->quality),
						  asset->rev,
						  type,
						  false};
	enum MHD_Result result;
	blob *b = redirect ? NULL : srv_blob_find(r->http->blobs, digest, r->http->now_ms);
	if (b) {
		result = srv_reply_blob(r, b, &extra);
	} else if (redirect) {
		hob_buf empty = {0};
		struct MHD_Response *response = srv_response_of(&empty, "text/plain; charset=utf-8");
		char rev[24];
		snprintf(rev, sizeof rev, "%llu", (unsigned long long)asset->rev);
		srv_response_add_str(response, "Location", extra.location);
		srv_response_add_str(response, "Cook-State", extra.state);
		srv_response_add_str(response, "Cook-Standing", extra.standing);
		srv_response_add_str(response, "Cook-Quality", extra.quality);
		srv_response_add(response, "Cook-Rev", rev);
		srv_response_add(response, "Cache-Control", "no-cache");
		result = srv_reply(r, MHD_HTTP_TEMPORARY_REDIRECT, response, 0);
	} else {
		problem_text text = {.detail = HOB_STR("the blob of this output is not in the store"),
							 .hint = HOB_STR("it was damaged or evicted and is cooked again; try again"),
							 .asset = asset->full,
							 .retry_after_s = 1};
		result = srv_reply_problem_text(r, PROBLEM_UNAVAILABLE, &text);
	}
	hob_buf_release(&location);
	return result;
}

/* Sends the problem of an output that is still not in the store after the loop's answer. */
static enum MHD_Result reply_not_made(request *r, const srv_view_asset *asset, const char *hint)
{
	const ask *a = r->ask;
	cJSON *error = a->status == MHD_HTTP_NOT_FOUND
					   ? cJSON_ParseWithLength((const char *)a->body.data, a->body.size)
					   : NULL;
	if (error) {
		problem_text text = {
			.detail = member(error, "detail"), .hint = hob_str_of(hint), .asset = asset->full};
		enum MHD_Result result = srv_reply_problem_text(r, PROBLEM_NOT_FOUND, &text);
		cJSON_Delete(error);
		return result;
	}
	if (a->status >= 400)
		return srv_reply_answer(r, "application/json");
	problem_text text = {.detail = HOB_STR("what was made of this output was evicted before it was sent"),
						 .hint = HOB_STR("try again; a larger cache.max_size keeps more"),
						 .asset = asset->full,
						 .retry_after_s = 1};
	return srv_reply_problem_text(r, PROBLEM_UNAVAILABLE, &text);
}

/* Finds a derived blob that is in the store and undamaged; the look-up drops a damaged one, which is then
 * derived again. */
static bool find_made(request *r, const hob_sha256 *key, hob_sha256 *digest)
{
	return srv_store_part(r->http->sources.store, key, digest) &&
		   srv_blob_find(r->http->blobs, digest, r->http->now_ms);
}

/* Sends the output as cooked, or without its finest levels: that form is derived once and is then a blob. */
static enum MHD_Result reply_output(request *r, const srv_view_asset *asset, const srv_view_output *output,
									const wish *w)
{
	if (w->level == 0)
		return reply_bytes(r, asset, &output->digest, NULL, w->redirect);
	hob_sha256 key = srv_derived_key(SRV_DERIVED_LOD, w->level, &output->digest), digest;
	if (find_made(r, &key, &digest))
		return reply_bytes(r, asset, &digest, NULL, w->redirect);
	const srv_control *last = r->ask ? &r->ask->control : NULL;
	if (!last || last->kind != SRV_CONTROL_DERIVE || !hob_sha256_equal(&last->digest, &output->digest))
		return srv_ask(
			r, SRV_CONTROL_DERIVE, (hob_str){0},
			&(srv_control){.number = SRV_DERIVED_LOD, .number2 = w->level, .digest = output->digest});
	return reply_not_made(r, asset, "lod=0 is the output as it is, greater numbers are coarser");
}

/* Sends all outputs as one binary glTF. If a newer cook finishes meanwhile, starts over with its outputs. */
static enum MHD_Result reply_glb(request *r, const srv_view_asset *asset, const wish *w)
{
	static const char *const names[] = {"meshes", "materials", "scene", "animations"};
	enum { ASKS_MAX = 4 };
	hob_sha256 outputs[HOB_COUNT_OF(names)] = {{{0}}};
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++) {
		const srv_view_output *output = find_output(asset, hob_str_of(names[i]));
		if (output)
			outputs[i] = output->digest;
	}
	hob_sha256 set = srv_derived_set(outputs), key = srv_derived_key(SRV_DERIVED_GLB, 0, &set), digest;
	if (find_made(r, &key, &digest))
		return reply_bytes(r, asset, &digest, "model/gltf-binary", w->redirect);
	const srv_control *last = r->ask ? &r->ask->control : NULL;
	bool asked = last && last->kind == SRV_CONTROL_DERIVE && last->number == SRV_DERIVED_GLB;
	if (!asked || (r->ask->status == MHD_HTTP_OK && r->asked < ASKS_MAX))
		return srv_ask(r, SRV_CONTROL_DERIVE, w->full, &(srv_control){.number = SRV_DERIVED_GLB});
	return reply_not_made(r, asset, "only cooked models become GLB files");
}

static bool underway(const srv_view_asset *asset)
{
	return asset->standing == SRV_STANDING_UPDATING || asset->standing == SRV_STANDING_WAITING ||
		   asset->standing == SRV_STANDING_BLOCKED || asset->standing == SRV_STANDING_INTERRUPTED ||
		   (asset->standing == SRV_STANDING_BROKEN && srv_asset_has_good(asset));
}

static enum MHD_Result decide(request *r, const srv_view_asset *asset, const wish *w)
{
	uint32_t wait_ms = srv_request_wait_ms(r);
	bool waited = r->asked > 0;
	const srv_control wait = {.timeout_ms = wait_ms, .force = w->final};
	if (!asset && wait_ms > 0 && !waited)
		return srv_ask(r, SRV_CONTROL_SYNC, w->full, &wait);
	if (!asset)
		return reply_unknown(r);
	bool wanting = underway(asset) || (w->final && strcmp(asset->quality, "preview") == 0);
	bool found_only =
		waited && (r->ask->control.kind == SRV_CONTROL_SYNC || r->ask->control.kind == SRV_CONTROL_GIT);
	if (wait_ms > 0 && wanting && (!waited || found_only))
		return srv_ask(r, SRV_CONTROL_WAIT, w->full, &wait);
	if (!srv_asset_has_good(asset)) {
		bool open = asset->standing == SRV_STANDING_WAITING || asset->standing == SRV_STANDING_UPDATING;
		return open ? reply_not_yet(r, asset) : srv_reply_cook_failed(r, asset, (hob_str){0});
	}
	const srv_view_output *output = find_output(asset, w->output);
	if (w->level > 0 && !hob_str_equal(w->output, HOB_STR("meshes")))
		return srv_reply_problem_text(
			r, PROBLEM_NOT_FOUND,
			&(problem_text){.detail = HOB_STR("only the output 'meshes' has levels of detail"),
							.hint = HOB_STR("leave lod= out, or ask for output=meshes"),
							.asset = asset->full});
	bool classic = hob_str_starts(w->output, HOB_STR("classic."));
	bool lost = output && classic && !srv_blob_find(r->http->blobs, &output->digest, r->http->now_ms);
	bool asked = waited && r->ask->control.kind == SRV_CONTROL_CLASSIC;
	if (output && (!lost || asked))
		return reply_output(r, asset, output, w);
	if (hob_str_equal(w->output, HOB_STR("glb")))
		return reply_glb(r, asset, w);
	if (!classic)
		return reply_no_output(r, asset, w->output);
	if (!asked)
		return srv_ask(r, SRV_CONTROL_CLASSIC, w->full, NULL);
	return r->ask->status >= 400 ? srv_reply_answer(r, "application/json")
								 : reply_no_output(r, asset, w->output);
}

static bool names_picture(hob_str path, hob_sha256 *digest)
{
	hob_str file = hob_path_name(path), folder = hob_path_dir(path);
	return hob_str_equal(hob_path_name(folder), HOB_STR("out_textures")) && file.len > HOB_SHA256_TEXT &&
		   file.data[HOB_SHA256_TEXT] == '.' &&
		   hob_sha256_parse(hob_str_sub(file, 0, HOB_SHA256_TEXT), digest);
}

static const char *picture_type(hob_str ending)
{
	return hob_str_equal(ending, HOB_STR("png"))	? "image/png"
		   : hob_str_equal(ending, HOB_STR("jpg"))	? "image/jpeg"
		   : hob_str_equal(ending, HOB_STR("ktx2")) ? "image/ktx2"
													: "application/octet-stream";
}

/* The live asset that replaces the saved one for the user in live=; its name is written to `full`. */
static const srv_view_asset *find_live(request *r, const srv_view *view, hob_buf *full)
{
	hob_str user;
	if (!r->http->sources.live || !srv_request_param(r, "live", &user))
		return NULL;
	hob_buf asset = {0};
	hob_buf_printf(&asset, "%.*s/%.*s", HOB_FMT(r->args[0]), HOB_FMT(r->args[1]));
	srv_live_put_name(full, user, hob_buf_str(&asset));
	hob_buf_release(&asset);
	const srv_view_asset *found = srv_view_find(view, hob_buf_str(full));
	return found && found->state != SRV_REMOVED ? found : NULL;
}

static bool find_at_commit(request *r, const srv_view *view, hob_str profile, hob_str at, hob_buf *full,
						   enum MHD_Result *result)
{
	hob_buf root = {0};
	srv_put_profile_root(&root, r->args[0], profile);
	bool found = srv_find_at_commit(r, view, hob_buf_str(&root), at, full, result);
	hob_buf_release(&root);
	return found;
}

enum MHD_Result srv_route_asset_data(request *r)
{
	enum MHD_Result result;
	wish w = {.output = HOB_STR("meshes")};
	if (!srv_request_flag(r, "redirect", false, &result, &w.redirect) ||
		!srv_request_flag(r, "final", false, &result, &w.final) ||
		!srv_request_number(r, "lod", 0, LOD_MAX, 0, &result, &w.level))
		return result;
	hob_str user, profile = {0}, at;
	if (srv_request_param(r, "live", &user) && !srv_check_live_user(r, user, &result))
		return result;
	srv_request_param(r, "output", &w.output);
	srv_request_param(r, "profile", &profile);
	hob_buf full = {0};
	const srv_view *view = srv_views_take(r->http->sources.views);
	bool at_commit = srv_request_param(r, "at", &at);
	if (at_commit && !find_at_commit(r, view, profile, at, &full, &result)) {
		srv_view_drop(view);
		hob_buf_release(&full);
		return result;
	}
	const srv_view_asset *asset =
		at_commit ? srv_view_find(view, hob_buf_str(&full)) : find_live(r, view, &full);
	if (!asset && !at_commit) {
		full.size = 0;
		srv_put_profile_root(&full, r->args[0], profile);
		hob_buf_put(&full, "/", 1);
		hob_buf_put_str(&full, r->args[1]);
		asset = srv_view_find_moved(view, hob_buf_str(&full));
		if (asset && !hob_str_equal(asset->full, hob_buf_str(&full))) {
			full.size = 0;
			hob_buf_put_str(&full, asset->full);
		}
	}
	w.full = hob_buf_str(&full);
	hob_sha256 picture;
	if (!asset && names_picture(r->args[1], &picture)) {
		srv_view_drop(view);
		hob_buf_release(&full);
		return srv_reply_named_blob(r, &picture, picture_type(hob_path_extension(r->args[1])));
	}
	srv_request_uses(r, w.full);
	if (srv_is_profile(profile) && !srv_profile_exists(view, r->args[0], profile))
		result = srv_reply_no_profile(r, view, r->args[0], profile);
	else if (full.failed)
		result = MHD_NO;
	else
		result = decide(r, asset, &w);
	srv_view_drop(view);
	hob_buf_release(&full);
	return result;
}
