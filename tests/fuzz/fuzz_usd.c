/* The USD reader on any bytes: text, crates and packages, recognised by how they begin. Every other layer
 * that the input names contains the text after the first line "----", so that composition is tested across
 * layers.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_usd
 *   build/fuzz/fuzz_usd -dict=tests/fuzz/fuzz_usd.dict -max_len=8192 /tmp/found tests/fuzz/corpus/usd
 *
 * quads*.usdc there, one a version, are made by tests/fuzz/usd_seed.py. */
#include "core/import/importers.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_other(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	const hob_bytes *other = user;
	hob_str extension = hob_path_extension(path);
	if (other->size == 0 ||
		(!hob_str_equal(extension, HOB_STR("usd")) && !hob_str_equal(extension, HOB_STR("mtlx"))))
		return hob_fail(err, MISSING_FILE, "'%.*s' does not exist", HOB_FMT(path));
	*out = *other;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static hob_notes notes;
	hob_arena result, scratch;
	hob_model model;
	hob_error error = {0};
	size_t cut = hob_str_find((hob_str){(const char *)data, size}, HOB_STR("\n----\n"), 0);
	hob_bytes file = {data, cut == SIZE_MAX ? size : cut}, other = {0};
	if (cut != SIZE_MAX)
		other = (hob_bytes){data + cut + 6, size - cut - 6};
	hob_io io = {.user = &other, .read = read_other};
	hob_arena_init(&result, 64 << 20);
	hob_arena_init(&scratch, 64 << 20);
	memset(&notes, 0, sizeof notes);
	notes.arena = &result;
	hob_import_request request = {.io = &io,
								  .path = HOB_STR("folder/model.usd"),
								  .file = file,
								  .result = &result,
								  .scratch = &scratch,
								  .subdivision = (uint32_t)(size % 3),
								  .notes = &notes};
	if (hob_import_by(&hob_usd_importer, &request, &model, &error) && !hob_model_check(&model, &error)) {
		fprintf(stderr, "accepted a model that breaks a rule: %s\n", error.context);
		abort();
	}
	hob_arena_release(&result);
	hob_arena_release(&scratch);
	return 0;
}
