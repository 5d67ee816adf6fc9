#include "inside.h"
#include "embed.h"

/* GET /client/{file}: the client as JavaScript modules, so that a page needs no package: import {HobClient}
 * from "http://localhost:7780/client/hob.js", {HobLoader} from ".../hob-three.js". */

EMBED(hob_client_client, "web/client/hob.js");
EMBED(hob_client_delta, "web/client/hob-delta.js");
EMBED(hob_client_events, "web/client/hob-events.js");
EMBED(hob_client_worker, "web/client/hob-events-worker.js");
EMBED(hob_client_overlay, "web/client/hob-overlay.js");
EMBED(hob_client_three, "web/client/hob-three.js");
EMBED(hob_client_environment, "web/client/hob-three-environment.js");
EMBED(hob_client_geometry, "web/client/hob-three-geometry.js");
EMBED(hob_client_material, "web/client/hob-three-material.js");
EMBED(hob_client_property, "web/client/hob-three-property.js");
EMBED(hob_client_scene, "web/client/hob-three-scene.js");
EMBED(hob_client_blocks, "web/client/hob-blocks.js");
EMBED(hob_client_format, "web/client/hob-format.js");

static const struct {
	const char *name, *begin, *end;
} files[] = {
	{"hob.js", hob_client_client_begin, hob_client_client_end},
	{"hob-delta.js", hob_client_delta_begin, hob_client_delta_end},
	{"hob-events.js", hob_client_events_begin, hob_client_events_end},
	{"hob-events-worker.js", hob_client_worker_begin, hob_client_worker_end},
	{"hob-overlay.js", hob_client_overlay_begin, hob_client_overlay_end},
	{"hob-three.js", hob_client_three_begin, hob_client_three_end},
	{"hob-three-environment.js", hob_client_environment_begin, hob_client_environment_end},
	{"hob-three-geometry.js", hob_client_geometry_begin, hob_client_geometry_end},
	{"hob-three-material.js", hob_client_material_begin, hob_client_material_end},
	{"hob-three-property.js", hob_client_property_begin, hob_client_property_end},
	{"hob-three-scene.js", hob_client_scene_begin, hob_client_scene_end},
	{"hob-blocks.js", hob_client_blocks_begin, hob_client_blocks_end},
	{"hob-format.js", hob_client_format_begin, hob_client_format_end},
};

enum MHD_Result srv_route_client(request *r)
{
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++)
		if (hob_str_equal(r->args[0], hob_str_of(files[i].name)))
			return srv_reply_file(r, files[i].begin, files[i].end, "text/javascript; charset=utf-8");
	return srv_reply_problem(
		r, PROBLEM_NOT_FOUND,
		"there are: hob.js, hob-three.js, hob-overlay.js, hob-format.js and the files that they import",
		"there is no client file '%.*s'", HOB_FMT(r->args[0]));
}
