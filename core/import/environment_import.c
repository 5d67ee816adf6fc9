#include "importers.h"

/* Whether the file is a high-dynamic-range picture, by its first bytes; the decoder checks the rest. */
static bool is_light(hob_bytes file)
{
	hob_str head = {(const char *)file.data, file.size};
	return hob_str_starts(head, HOB_STR("#?")) || hob_str_starts(head, HOB_STR("\x76\x2F\x31\x01"));
}

static bool import_environment(const hob_import_request *request, hob_model *out, hob_error *err)
{
	if (!request->environments)
		return hob_fail(err, SKIPPED,
						"a picture: cooked with the models that use it; with the setting environment.cook it "
						"is an environment map of its own");
	if (!is_light(request->file))
		return hob_fail(err, CORRUPT, "these %zu bytes are no Radiance HDR or OpenEXR picture",
						request->file.size);
	out->environment = request->file;
	out->scenes = HOB_NEW(request->result, hob_scene, 1);
	out->scenes[0] = (hob_scene){.name = HOB_STR("")};
	out->scene_count = 1;
	return true;
}

static const char *const extensions[] = {"hdr", "exr", NULL};

const hob_importer hob_environment_importer = {
	.name = "environment",
	.version = 1,
	.extensions = extensions,
	.import = import_environment,
};
