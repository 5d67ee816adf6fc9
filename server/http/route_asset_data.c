#include "inside.h"

#include <inttypes.h>

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
	hob_own_buf hint = {0}, members = {0};
	hob_buf_put_str(&hint, HOB_STR("there are:"));
	hob_buf_put_str(&members, HOB_STR(",\"outputs\":["));
	for (uint32_t i = 0; i < asset->output_count; i++) {
		hob_buf_printf(&hint, " %.*s", HOB_FMT(asset->outputs[i].name));
		hob_json_str(&members, asset->outputs[i].name);
	}
	hob_buf_put_str(&members, HOB_STR("]"));
	hob_buf_put_str(&hint,
					HOB_STR("; available on request: glb classic.meshes classic.materials classic.scene"));
	problem_text text = {.detail =
							 srv_print(r, "'%.*s' has no output '%.*s'", HOB_FMT(asset->full), HOB_FMT(name)),
						 .hint = hob_buf_str(&hint),
						 .asset = asset->full,
						 .members = hob_buf_str(&members)};
	return srv_reply_problem_text(r, PROBLEM_NOT_FOUND, &text);
}

enum MHD_Result srv_reply_cook_failed(request *r, const srv_view_asset *asset, hob_str more)
{
	const cJSON *error = srv_request_parse(r, asset->error);
	const cJSON *location = cJSON_GetObjectItemCaseSensitive(error, "location");
	hob_own char *place = cJSON_IsObject(location) ? cJSON_PrintUnformatted(location) : NULL;
	hob_str known = error ? asset->error : HOB_STR("null"), first = srv_json_text(error, "hint");
	problem_text text = {.code = srv_json_text(error, "code"),
						 .detail = srv_json_text(error, "message"),
						 .hint = srv_print(r, "%.*s%s%.*s", HOB_FMT(first),
										   first.len > 0 && more.len > 0 ? "; " : "", HOB_FMT(more)),
						 .asset = asset->full,
						 .instance = srv_print(r, "/api/v1/assets/%s", asset->id),
						 .members = srv_print(r, "%s%s,\"state\":\"%s\",\"standing\":\"%s\",\"error\":%.*s",
											  place ? ",\"location\":" : "", place ? place : "",
											  srv_state_name(asset->state),
											  srv_standing_name(asset->standing), HOB_FMT(known))};
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
	return srv_reply_problem_text(r, blocked ? PROBLEM_UNAVAILABLE : PROBLEM_COOK_FAILED, &text);
}

static enum MHD_Result reply_not_yet(request *r, const srv_view_asset *asset)
{
	hob_buf body = {0};
	srv_put_asset(&body, asset, FIELDS_LIST);
	hob_buf_put(&body, "\n", 1);
	return srv_reply_body(r, MHD_HTTP_ACCEPTED, &body, "application/json", "Location",
						  srv_print(r, "/api/v1/assets/%s", asset->id).data, "Retry-After", "1",
						  "Cache-Control", "no-store", NULL);
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
	blob_headers extra = {.location = srv_print(r, "/blobs/%s", hob_sha256_hex(digest).text).data,
						  .state = asset->standing == SRV_STANDING_FRESH ? "fresh" : "stale",
						  .standing = srv_standing_name(asset->standing),
						  .quality = asset->quality,
						  .rev = srv_print(r, "%" PRIu64, asset->rev).data,
						  .type = type};
	blob *b = redirect ? NULL : srv_blob_find(r->http->blobs, digest, r->http->now_ms);
	if (b)
		return srv_reply_blob(r, b, &extra);
	if (!redirect)
		return srv_reply_problem_text(
			r, PROBLEM_UNAVAILABLE,
			&(problem_text){.detail = HOB_STR("the blob of this output is not in the store"),
							.hint = HOB_STR("it was damaged or evicted and is cooked again; try again"),
							.asset = asset->full,
							.retry_after_s = 1});
	hob_buf empty = {0};
	return srv_reply_body(r, MHD_HTTP_TEMPORARY_REDIRECT, &empty, "text/plain; charset=utf-8", "Location",
						  extra.location, "Cook-State", extra.state, "Cook-Standing", extra.standing,
						  "Cook-Quality", extra.quality, "Cook-Rev", extra.rev, "Cache-Control", "no-cache",
						  NULL);
}

/* Sends the problem of an output that is still not in the store after the loop's answer. */
static enum MHD_Result reply_not_made(request *r, const srv_view_asset *asset, const char *hint)
{
	const ask *a = r->ask;
	const cJSON *error = a->status == MHD_HTTP_NOT_FOUND ? srv_request_parse(r, hob_buf_str(&a->body)) : NULL;
	if (error)
		return srv_reply_problem_text(r, PROBLEM_NOT_FOUND,
									  &(problem_text){.detail = srv_json_text(error, "detail"),
													  .hint = hob_str_of(hint),
													  .asset = asset->full});
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
static const srv_view_asset *find_live(request *r, hob_str *full)
{
	hob_str user;
	if (!r->http->sources.live || !srv_request_param(r, "live", &user))
		return NULL;
	hob_own_buf name = {0};
	srv_live_put_name(&name, user, srv_print(r, "%.*s/%.*s", HOB_FMT(r->args[0]), HOB_FMT(r->args[1])));
	*full = srv_print(r, "%.*s", HOB_FMT(hob_buf_str(&name)));
	const srv_view_asset *found = srv_view_find(srv_request_view(r), *full);
	return found && found->state != SRV_REMOVED ? found : NULL;
}

enum MHD_Result srv_route_asset_data(request *r)
{
	wish w = {.output = HOB_STR("meshes")};
	if (!srv_request_flag(r, "redirect", false, &w.redirect) ||
		!srv_request_flag(r, "final", false, &w.final) ||
		!srv_request_number(r, "lod", 0, LOD_MAX, 0, &w.level))
		return r->result;
	hob_str user, profile = {0}, at;
	if (srv_request_param(r, "live", &user) && !srv_check_live_user(r, user))
		return r->result;
	srv_request_param(r, "output", &w.output);
	srv_request_param(r, "profile", &profile);
	hob_str root = srv_profile_root(r, r->args[0], profile);
	const srv_view *view = srv_request_view(r);
	bool at_commit = srv_request_param(r, "at", &at);
	if (at_commit && !srv_find_at_commit(r, root, at, &w.full))
		return r->result;
	const srv_view_asset *asset = at_commit ? srv_view_find(view, w.full) : find_live(r, &w.full);
	if (!asset && !at_commit) {
		w.full = srv_print(r, "%.*s/%.*s", HOB_FMT(root), HOB_FMT(r->args[1]));
		asset = srv_view_find_moved(view, w.full);
		if (asset)
			w.full = asset->full;
	}
	hob_sha256 picture;
	if (!asset && !r->refs_only.data && names_picture(r->args[1], &picture))
		return srv_reply_named_blob(r, &picture, picture_type(hob_path_extension(r->args[1])));
	srv_request_uses(r, w.full);
	if (srv_is_profile(profile) && !srv_find_root(r, root))
		return srv_reply_no_profile(r, r->args[0], profile);
	return w.full.data ? decide(r, asset, &w) : MHD_NO;
}
