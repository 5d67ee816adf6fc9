#include "inside.h"

#include "../control/derived.h"

/* GET /api/v1/assets/{id}/compare and .../compare/picture: made by the loop's pool and kept as blobs. */

enum { CLIP_NAME = 1024 };
static const char *const views[] = {"corner", "front", "back", "left", "right", "top", "bottom"};

/* A version: a rev, the key of a cook, "latest" or "previous"; the loop checks that it exists. */
static hob_str version(const request *r, const char *name, hob_str otherwise)
{
	hob_str found = {0};
	return srv_request_param(r, name, &found) ? found : otherwise;
}

static enum MHD_Result ask_for(request *r, srv_derived kind, uint64_t level, hob_str clip)
{
	const srv_view_asset *asset = srv_request_asset(r);
	if (!asset)
		return r->result;
	return srv_ask(r, SRV_CONTROL_DERIVE, asset->full,
				   &(srv_control){.number = kind,
								  .number2 = level,
								  .file = clip,
								  .text = version(r, "from", HOB_STR("previous")),
								  .tag = version(r, "to", HOB_STR("latest"))});
}

enum MHD_Result srv_route_asset_compare(request *r)
{
	return r->ask ? srv_reply_made(r, "application/json", "the comparison")
				  : ask_for(r, SRV_DERIVED_COMPARE, 0, (hob_str){0});
}

enum MHD_Result srv_route_asset_compare_picture(request *r)
{
	uint64_t size, place = 0;
	hob_str name = HOB_STR("corner"), clip = {0};
	if (r->ask)
		return srv_reply_made(r, "image/png", "the comparison");
	srv_request_param(r, "view", &name);
	while (place < HOB_COUNT_OF(views) && !hob_str_equal(name, hob_str_of(views[place])))
		place++;
	if (place == HOB_COUNT_OF(views))
		return srv_reply_problem(r, PROBLEM_BAD_REQUEST,
								 "view=corner, front, back, left, right, top or bottom",
								 "there is no view '%.*s'", HOB_FMT(name));
	if (!srv_request_number(r, "size", 64, 512, 256, &size))
		return r->result;
	if (srv_request_param(r, "clip", &clip) && (clip.len == 0 || clip.len > CLIP_NAME))
		return srv_reply_problem(r, PROBLEM_BAD_REQUEST, "the name of a clip that one of the two cooks has",
								 "clip=NAME has 1 to %d bytes", CLIP_NAME);
	return ask_for(r, SRV_DERIVED_PICTURE, size | place << 16, clip);
}
