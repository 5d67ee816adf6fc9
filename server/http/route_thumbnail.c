#include "inside.h"

/* GET /api/v1/assets/{id}/thumbnail: the picture if it exists, otherwise at once an icon, or nothing with
 * placeholder=0; the event "thumbnail" says when to ask again. So lists with many pictures do not block a
 * browser's few connections. */

static const char sign[] = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\" fill=\"none\" "
						   "stroke=\"#858e96\" stroke-width=\"2.5\" "
						   "stroke-linejoin=\"round\"><path d=\"M32 9 52 20v24L32 55 12 44V20zM12 20l20 11 "
						   "20-11M32 31v24\"/></svg>\n";

static enum MHD_Result reply_sign(request *r, bool soon, bool placeholder)
{
	hob_buf body = {0};
	if (placeholder)
		hob_buf_put_str(&body, hob_str_of(sign));
	size_t size = body.size;
	struct MHD_Response *response = srv_response_of(&body, placeholder ? "image/svg+xml" : NULL);
	srv_response_add(response, "Cache-Control", "no-store");
	srv_response_add(response, "X-Content-Type-Options", "nosniff");
	srv_response_add(response, "Content-Security-Policy", "default-src 'none'");
	if (soon)
		srv_response_add(response, "Retry-After", "1");
	int status = soon ? MHD_HTTP_ACCEPTED : MHD_HTTP_OK;
	return srv_reply(r, placeholder ? status : MHD_HTTP_NO_CONTENT, response, size);
}

enum MHD_Result srv_route_asset_thumbnail(request *r)
{
	enum MHD_Result result;
	const srv_view *view;
	const srv_view_asset *asset;
	uint64_t size;
	hob_sha256 digest;
	bool placeholder;
	if (!srv_request_flag(r, "placeholder", true, &result, &placeholder))
		return result;
	if (r->ask) {
		if (r->ask->status >= 500)
			return srv_reply_answer(r, "application/json");
		blob *b = r->ask->status == MHD_HTTP_OK && hob_sha256_parse(hob_buf_str(&r->ask->body), &digest)
					  ? srv_blob_find(r->http->blobs, &digest, r->http->now_ms)
					  : NULL;
		return b ? srv_reply_blob(r, b, &(blob_headers){.type = "image/png", .as_it_is = true})
				 : reply_sign(r, r->ask->status == MHD_HTTP_ACCEPTED, placeholder);
	}
	if (!srv_request_number(r, "size", 32, 512, 256, &result, &size))
		return result;
	/* A list on a page can ask for an asset that was just removed; that is no error to report. */
	view = srv_views_take(r->http->sources.views);
	bool known = srv_view_find_id(view, r->args[0]) != NULL;
	srv_view_drop(view);
	if (!known && !placeholder)
		return reply_sign(r, false, false);
	if (!srv_request_asset(r, &view, &asset, &result))
		return result;
	uint64_t step = 32;
	while (step < size)
		step *= 2;
	result = srv_ask(r, SRV_CONTROL_THUMBNAIL, asset->full, &(srv_control){.number = step});
	srv_view_drop(view);
	return result;
}
