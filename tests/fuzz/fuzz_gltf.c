/* The glTF importer on any bytes; a model that it accepts must satisfy hob_model_check.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_gltf
 *   build/fuzz/fuzz_gltf -dict=tests/fuzz/fuzz_gltf.dict -max_len=16384 /tmp/found tests/fuzz/corpus/gltf */
#include "core/import/importers.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every file exists and holds the same bytes, so that a buffer with any name can be read. */
static bool read_anything(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	static uint8_t pattern[512];
	(void)user, (void)path, (void)err;
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (uint8_t)(i % 7 == 0 ? i : 0);
	*out = (hob_bytes){pattern, sizeof pattern};
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static hob_notes notes;
	hob_arena result, scratch;
	hob_model model;
	hob_error error = {0};
	hob_io io = {.read = read_anything};
	hob_arena_init(&result, 64 << 20);
	hob_arena_init(&scratch, 64 << 20);
	memset(&notes, 0, sizeof notes);
	notes.arena = &result;
	hob_import_request request = {.io = &io,
								  .path = HOB_STR("folder/model.gltf"),
								  .file = {data, size},
								  .result = &result,
								  .scratch = &scratch,
								  .notes = &notes};
	if (hob_import_by(&hob_gltf_importer, &request, &model, &error) && !hob_model_check(&model, &error)) {
		fprintf(stderr, "accepted a model that breaks a rule: %s\n", error.context);
		abort();
	}
	hob_arena_release(&result);
	hob_arena_release(&scratch);
	return 0;
}
