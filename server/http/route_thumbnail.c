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
	int status = soon ? MHD_HTTP_ACCEPTED : MHD_HTTP_OK;
	return srv_reply_body(r, placeholder ? status : MHD_HTTP_NO_CONTENT, &body,
						  placeholder ? "image/svg+xml" : NULL, "Cache-Control", "no-store",
						  "Content-Security-Policy", "default-src 'none'", "Retry-After", soon ? "1" : NULL,
						  NULL);
}

enum MHD_Result srv_route_asset_thumbnail(request *r)
{
	uint64_t size;
	bool placeholder;
	if (!srv_request_flag(r, "placeholder", true, &placeholder))
		return r->result;
	if (r->ask) {
		if (r->ask->status >= 500)
			return srv_reply_answer(r, "application/json");
		blob *b = srv_blob_made(r);
		return b ? srv_reply_blob(r, b, &(blob_headers){.type = "image/png", .as_it_is = true})
				 : reply_sign(r, r->ask->status == MHD_HTTP_ACCEPTED, placeholder);
	}
	if (!srv_request_number(r, "size", 32, 512, 256, &size))
		return r->result;
	/* A list on a page can ask for an asset that was just removed; that is no error to report. */
	if (!placeholder && !srv_view_find_id(srv_request_view(r), r->args[0]))
		return reply_sign(r, false, false);
	uint64_t step = 32;
	while (step < size)
		step *= 2;
	const srv_view_asset *asset = srv_request_asset(r);
	return asset ? srv_ask(r, SRV_CONTROL_THUMBNAIL, asset->full, &(srv_control){.number = step}) : r->result;
}
