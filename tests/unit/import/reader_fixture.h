/* reader_fixture.h - imports in-memory files with one importer and queries the result. */
#ifndef HOB_TEST_READER_FIXTURE_H
#define HOB_TEST_READER_FIXTURE_H

#include "tests/unit/support.h"

#include "core/import/importers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { READER_FILES = 8 };

typedef struct reader {
	const hob_importer *importer;
	memory_file files[READER_FILES]; /* the first is the source */
	size_t file_count;
	memory_io io;
	hob_arena result, scratch;
	const hob_editor *editor;
	bool beside_export;
	hob_str usd_variants;
	uint32_t subdivision;
	hob_census seen; /* the importer's counts */
	hob_notes notes;
	hob_model model;
	hob_error error;
	bool ok;
} reader;

static inline reader *reader_new(const hob_importer *importer)
{
	reader *r = calloc(1, sizeof *r);
	r->importer = importer;
	return r;
}

static inline void reader_free(reader *r)
{
	hob_arena_release(&r->result);
	hob_arena_release(&r->scratch);
	free(r);
}

static inline void reader_add_bytes(reader *r, const char *path, const void *data, size_t size)
{
	assert_true(r->file_count < READER_FILES);
	r->files[r->file_count++] = (memory_file){path, {data, size}};
}

static inline void reader_add(reader *r, const char *path, const char *text)
{
	reader_add_bytes(r, path, text, strlen(text));
}

/* Imports the first file. The n-th allocation of an arena fails; 0: none. */
static inline bool reader_run_failing(reader *r, uint64_t fail_result, uint64_t fail_scratch)
{
	hob_arena_release(&r->result);
	hob_arena_release(&r->scratch);
	hob_arena_init(&r->result, (size_t)256 << 20);
	hob_arena_init(&r->scratch, (size_t)256 << 20);
	memset(&r->notes, 0, sizeof r->notes);
	memset(&r->model, 0, sizeof r->model);
	memset(&r->error, 0, sizeof r->error);
	memset(&r->seen, 0, sizeof r->seen);
	r->notes.arena = &r->result;
	r->result.fail_at = fail_result;
	r->scratch.fail_at = fail_scratch;
	memory_io_init(&r->io, r->files, r->file_count);
	hob_import_request request = {.io = &r->io.io,
								  .path = hob_str_of(r->files[0].path),
								  .file = r->files[0].bytes,
								  .result = &r->result,
								  .scratch = &r->scratch,
								  .editor = r->editor,
								  .blend = {.beside_export = r->beside_export},
								  .usd_variants = r->usd_variants,
								  .subdivision = r->subdivision,
								  .seen = &r->seen,
								  .notes = &r->notes};
	hob_model model = {0};
	r->ok = hob_import_by(r->importer, &request, &model, &r->error);
	if (r->ok) {
		hob_error broken = {0};
		if (!hob_model_check(&model, &broken))
			fail_msg("accepted a model that breaks a rule: %s", broken.context);
		r->model = model;
	} else {
		/* A failure must have a code and a message. */
		assert_true(r->error.code != HOB_ERR_OK);
		assert_true(strlen(r->error.context) > 0);
	}
	return r->ok;
}

static inline bool reader_run(reader *r)
{
	return reader_run_failing(r, 0, 0);
}

/* Imports, expecting success. */
static inline const hob_model *reader_model(reader *r)
{
	if (!reader_run(r))
		fail_msg("%s", r->error.context);
	return &r->model;
}

static inline bool reader_noted(const reader *r, const char *code)
{
	for (uint32_t i = 0; i < r->notes.count; i++)
		if (hob_str_equal(r->notes.items[i].code, hob_str_of(code)))
			return true;
	return false;
}

static inline void assert_near(float a, float b)
{
	if (!(fabsf(a - b) <= 1e-5f * fmaxf(1, fabsf(b))))
		fail_msg("%.9g is not %.9g", (double)a, (double)b);
}

static inline void assert_vector(const float *v, float x, float y, float z)
{
	assert_near(v[0], x);
	assert_near(v[1], y);
	assert_near(v[2], z);
}

static inline void assert_name(hob_str name, const char *expected)
{
	if (!hob_str_equal(name, hob_str_of(expected)))
		fail_msg("'%.*s' is not '%s'", HOB_FMT(name), expected);
}

static inline uint64_t model_triangles(const hob_model *model)
{
	uint64_t count = 0;
	for (uint32_t i = 0; i < model->mesh_count; i++)
		if (model->meshes[i].topology == HOB_TRIANGLES)
			count += model->meshes[i].index_count / 3;
	return count;
}

/* Each allocation of each arena fails once; nothing may leak or crash, and the error is MEMORY unless the
 * import succeeded anyway (notes are lost silently). */
static inline void reader_starve(reader *r)
{
	assert_true(reader_run(r));
	for (int arena = 0; arena < 2; arena++)
		for (uint64_t n = 1; n < 10000; n++) {
			bool ok = reader_run_failing(r, arena == 0 ? n : 0, arena == 1 ? n : 0);
			bool reached = (arena == 0 ? r->result.fail_at : r->scratch.fail_at) == 0;
			if (!reached) {
				assert_true(ok);
				break;
			}
			if (!ok)
				assert_int_equal(r->error.code, HOB_ERR_MEMORY);
		}
}

/* Every prefix of the first file, and several changes of each byte. */
static inline void reader_damage(reader *r, size_t step)
{
	hob_bytes whole = r->files[0].bytes;
	for (size_t size = 0; size < whole.size; size += step) {
		/* An exact copy, so that the sanitizer detects reads past the end. */
		uint8_t *cut = malloc(size ? size : 1);
		memcpy(cut, whole.data, size);
		r->files[0].bytes = (hob_bytes){cut, size};
		reader_run(r);
		free(cut);
	}
	uint8_t *copy = malloc(whole.size);
	memcpy(copy, whole.data, whole.size);
	r->files[0].bytes = (hob_bytes){copy, whole.size};
	static const uint8_t flips[] = {0x01, 0x10, 0x80, 0xFF};
	for (size_t i = 0; i < whole.size; i += step)
		for (size_t k = 0; k < sizeof flips; k++) {
			copy[i] = (uint8_t)(whole.data[i] ^ flips[k]);
			reader_run(r);
			copy[i] = whole.data[i];
		}
	free(copy);
	r->files[0].bytes = whole;
}

#endif
