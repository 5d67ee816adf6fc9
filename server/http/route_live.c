#include "inside.h"

#include "../../core/base/json_write.h"

#include <unistd.h>

/* PUT /api/v1/live/USER/ROOT/PATH {"sha256":"..."}: the bytes were uploaded before with PUT /blobs/SHA256,
 * which verifies them and skips bytes that the store has. */

static bool live_is_on(request *r)
{
	return r->http->sources.live ||
		   srv_refuse(r, PROBLEM_NOT_FOUND, "start it with --live, or set live.enabled in hob.json",
					  "this daemon takes no live models");
}

bool srv_check_live_user(request *r, hob_str user)
{
	return srv_live_is_user(user) ||
		   srv_refuse(r, PROBLEM_BAD_REQUEST,
					  "use 1 to 64 letters, digits, '-', '_' and '.', not with '.' first",
					  "'%.*s' is not a valid user name", HOB_FMT(user));
}

static bool check_names(request *r, hob_str asset)
{
	return srv_check_live_user(r, r->args[0]) &&
		   (asset.len == 0 || srv_live_is_asset(asset) ||
			srv_refuse(r, PROBLEM_BAD_REQUEST, "name it as 'hob ls' does: ROOT/PATH, without hidden folders",
					   "'%.*s' is not a valid asset name", HOB_FMT(asset)));
}

/* The settings of the saved asset. Empty if they are the defaults of live models, or cannot be read: the
 * saved asset's own cook reports why. */
static void put_settings(request *r, hob_str asset, hob_buf *out)
{
	hob_error error;
	hob_own_buf usual = {0};
	size_t slash = hob_str_find(asset, HOB_STR("/"), 0);
	const srv_view_root *root = srv_find_root(r, hob_str_sub(asset, 0, slash));
	const srv_view_root *live = srv_find_root(r, HOB_STR(SRV_LIVE_ROOT));
	if (root && live &&
		srv_live_settings(root->folder, &root->settings, hob_str_sub(asset, slash + 1, asset.len), out,
						  &error)) {
		hob_settings_print(&live->settings, &usual);
		if (hob_str_equal(hob_buf_str(out), hob_buf_str(&usual)))
			hob_buf_clear(out);
	} else {
		hob_buf_clear(out);
	}
}

static enum MHD_Result reply_put(request *r, hob_str asset, const hob_sha256 *digest)
{
	uint64_t size;
	hob_error error = {0};
	int fd = srv_blob_open(r->http->sources.store, digest, &size);
	if (fd < 0)
		return srv_reply_problem(r, PROBLEM_NOT_FOUND, "send it first: PUT /blobs/SHA256",
								 "the blob of the model is not here");
	hob_own_buf settings = {0};
	put_settings(r, asset, &settings);
	bool set =
		srv_live_set(r->http->sources.live, r->args[0], asset, hob_buf_str(&settings), fd, size, &error);
	close(fd);
	if (!set)
		return srv_reply_problem(r,
								 error.code == HOB_ERR_DISK_FULL	 ? PROBLEM_DISK_FULL
								 : error.code == HOB_ERR_BAD_REQUEST ? PROBLEM_BAD_REQUEST
																	 : PROBLEM_UNAVAILABLE,
								 "", "%s", error.context);
	hob_own_buf name = {0};
	hob_buf body = {0};
	srv_live_put_name(&name, r->args[0], asset);
	hob_json_object(&body, HOB_JSON("name", hob_buf_str(&name)));
	return srv_reply_json(r, MHD_HTTP_CREATED, &body);
}

enum MHD_Result srv_route_live_put(request *r)
{
	hob_sha256 digest;
	if (!live_is_on(r) || !check_names(r, r->args[1]))
		return r->result;
	bool fine = hob_sha256_parse(srv_json_text(srv_request_json(r), "sha256"), &digest);
	return fine ? reply_put(r, r->args[1], &digest)
				: srv_reply_problem(r, PROBLEM_BAD_REQUEST, "send {\"sha256\":\"<64 hexadecimal digits>\"}",
									"the body does not name the blob of the model");
}

static enum MHD_Result reply_dropped(request *r, hob_str asset)
{
	if (!live_is_on(r) || !check_names(r, asset))
		return r->result;
	hob_buf body = {0};
	hob_json_object(&body, HOB_JSON("dropped", srv_live_drop(r->http->sources.live, r->args[0], asset)));
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

enum MHD_Result srv_route_live_delete(request *r)
{
	return reply_dropped(r, r->args[1]);
}

enum MHD_Result srv_route_live_delete_user(request *r)
{
	return reply_dropped(r, (hob_str){0});
}
