#include "inside.h"
#include "embed.h"

/* GET /client/{file}: the client as JavaScript modules, so that a page needs no package: import {HobClient}
 * from "http://localhost:7780/client/hob.js", {HobLoader} from ".../hob-three.js". */

#define FILES                                                                                                \
	FILE(client, "hob.js")                                                                                   \
	FILE(delta, "hob-delta.js")                                                                              \
	FILE(events, "hob-events.js")                                                                            \
	FILE(worker, "hob-events-worker.js")                                                                     \
	FILE(overlay, "hob-overlay.js")                                                                          \
	FILE(three, "hob-three.js")                                                                              \
	FILE(environment, "hob-three-environment.js")                                                            \
	FILE(geometry, "hob-three-geometry.js")                                                                  \
	FILE(material, "hob-three-material.js")                                                                  \
	FILE(property, "hob-three-property.js")                                                                  \
	FILE(scene, "hob-three-scene.js")                                                                        \
	FILE(blocks, "hob-blocks.js")                                                                            \
	FILE(format, "hob-format.js")

#define FILE(id, name) EMBED(hob_client_##id, "web/client/" name);
FILES
#undef FILE

#define FILE(id, name) {name, hob_client_##id##_begin, hob_client_##id##_end},
static const struct {
	const char *name, *begin, *end;
} files[] = {FILES};

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
