/* fuzz_reader.h - one importer on any bytes; a model that it accepts must satisfy hob_model_check. */
#ifndef HOB_FUZZ_READER_H
#define HOB_FUZZ_READER_H

#include "core/import/importers.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every other file that the importer asks for exists and holds these bytes. */
static bool fuzz_read(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	const hob_bytes *other = user;
	if (!hob_str_ends_nocase(path, HOB_STR(".mtl")))
		return hob_fail(err, MISSING_FILE, "'%.*s' does not exist", HOB_FMT(path));
	*out = *other;
	return true;
}

static void fuzz_reader(const hob_importer *importer, hob_bytes file, hob_bytes other)
{
	static hob_notes notes;
	hob_arena result, scratch;
	hob_model model;
	hob_error error = {0};
	hob_io io = {.user = &other, .read = fuzz_read};
	hob_arena_init(&result, 64 << 20);
	hob_arena_init(&scratch, 64 << 20);
	memset(&notes, 0, sizeof notes);
	notes.arena = &result;
	hob_import_request request = {.io = &io,
								  .path = HOB_STR("folder/model.any"),
								  .file = file,
								  .result = &result,
								  .scratch = &scratch,
								  .notes = &notes};
	if (hob_import_by(importer, &request, &model, &error) && !hob_model_check(&model, &error)) {
		fprintf(stderr, "accepted a model that breaks a rule: %s\n", error.context);
		abort();
	}
	hob_arena_release(&result);
	hob_arena_release(&scratch);
}

/* A complete target for an importer that needs no other file. */
#define FUZZ_READER(importer)                                                                                \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                             \
	{                                                                                                        \
		fuzz_reader(&importer, (hob_bytes){data, size}, (hob_bytes){0});                                     \
		return 0;                                                                                            \
	}

#endif
