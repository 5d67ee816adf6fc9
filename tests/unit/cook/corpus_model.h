/* corpus_model.h - imports models of the corpus, for tests that are skipped without it. The corpus is not
 * part of the project: HOB_CORPUS names its folder; default "../shared/corpus" beside the checkout. */
#ifndef HOB_TEST_CORPUS_MODEL_H
#define HOB_TEST_CORPUS_MODEL_H

#include "tests/unit/support.h"

#include "core/import/importer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline const char *corpus(void)
{
	const char *root = getenv("HOB_CORPUS");
	return root && root[0] ? root : HOB_TEST_DATA "/../../../shared/corpus";
}

static inline void skip_without_corpus(void)
{
	if (access(corpus(), R_OK) == 0)
		return;
	print_message("skipped: there is no corpus at %s (set HOB_CORPUS)\n", corpus());
	skip();
}

static inline bool corpus_read(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	char name[PATH_MAX];
	snprintf(name, sizeof name, "%s/%.*s", corpus(), HOB_FMT(path));
	FILE *file = fopen(name, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0)
		return hob_fail(err, MISSING_FILE, "'%s' cannot be read", name);
	size_t size = (size_t)ftell(file);
	rewind(file);
	uint8_t *data = hob_arena_alloc(user, size, 16);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, size, file), size);
	fclose(file);
	*out = (hob_bytes){data, size};
	return true;
}

/* Initialises both arenas, with room for 2 GiB each; they hold the model. The test fails if the model cannot
 * be imported. */
static inline void corpus_import(const char *path, hob_arena *arena, hob_arena *scratch, hob_model *model)
{
	static hob_notes notes;
	notes = (hob_notes){.arena = arena};
	hob_io io = {.user = arena, .read = corpus_read};
	hob_error err = {0};
	const hob_importer *importer;
	hob_space_override space = {0};
	hob_import_request request = {.io = &io,
								  .path = hob_str_of(path),
								  .result = arena,
								  .scratch = scratch,
								  .notes = &notes,
								  .space = &space};
	hob_arena_init(arena, (size_t)2 << 30);
	hob_arena_init(scratch, (size_t)2 << 30);
	if (!corpus_read(arena, request.path, &request.file, &err) ||
		!hob_import(&request, &importer, model, &err))
		fail_msg("%s: %s", path, err.context);
}

#endif
