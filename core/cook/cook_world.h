/* cook_world.h - the functions of a cook's request (files, parts, editor, progress), called so that
 * hob_guarded never leaves them. */
#ifndef HOB_COOK_WORLD_H
#define HOB_COOK_WORLD_H

#include "cook.h"

#include "../import/importer.h"

typedef struct hob_cook_world {
	const hob_cook_request *request;
	hob_io io; /* each function is set; without the request's find_nocase nothing is found */
	hob_parts parts;
	hob_editor editor;
} hob_cook_world;

void hob_cook_world_init(hob_cook_world *world, const hob_cook_request *request);
void hob_cook_world_begins(const hob_cook_world *world, hob_cook_stage stage);

#endif
