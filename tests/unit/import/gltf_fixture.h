/* gltf_fixture.h - builds a small glTF in memory, imports it, and queries the result.
 *
 * A test appends raw data (each piece becomes a buffer view), describes accessors over it, and writes the
 * rest of the document as text with single quotes in place of double ones. */
#ifndef HOB_TEST_GLTF_FIXTURE_H
#define HOB_TEST_GLTF_FIXTURE_H

#include "tests/unit/support.h"

#include "core/import/importers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct gltf_fixture {
	hob_buf bin, views, accessors, document, glb;
	uint32_t view_count, accessor_count;
	memory_file files[4]; /* model, data.bin, and a test's own files */
	size_t file_count;
	memory_io io;
	hob_arena result, scratch;
	hob_notes notes;
	hob_model model;
	hob_error error;
	bool ok;
	uint64_t fail_result, fail_scratch; /* the n-th allocation of an arena fails; 0: none */
} gltf_fixture;

static inline void fixture_reset_arenas(gltf_fixture *f)
{
	hob_arena_release(&f->result);
	hob_arena_release(&f->scratch);
	hob_arena_init(&f->result, (size_t)256 << 20);
	hob_arena_init(&f->scratch, (size_t)256 << 20);
	memset(&f->notes, 0, sizeof f->notes);
	f->notes.arena = &f->result;
	memset(&f->model, 0, sizeof f->model);
	memset(&f->error, 0, sizeof f->error);
}

static inline gltf_fixture *fixture_new(void)
{
	gltf_fixture *f = calloc(1, sizeof *f);
	f->file_count = 2;
	fixture_reset_arenas(f);
	return f;
}

static inline void fixture_free(gltf_fixture *f)
{
	hob_buf_release(&f->bin);
	hob_buf_release(&f->views);
	hob_buf_release(&f->accessors);
	hob_buf_release(&f->document);
	hob_buf_release(&f->glb);
	hob_arena_release(&f->result);
	hob_arena_release(&f->scratch);
	free(f);
}

/* Appends text with ' for ". */
static inline void put_quoted(hob_buf *buf, const char *text)
{
	for (const char *p = text; *p; p++)
		hob_buf_put(buf, *p == '\'' ? "\"" : p, 1);
}

/* Appends bytes as a new buffer view; `extra` is more JSON of the view, or "". */
static inline uint32_t fixture_view(gltf_fixture *f, const void *data, size_t size, const char *extra)
{
	while (f->bin.size % 4)
		hob_buf_put(&f->bin, "", 1);
	hob_buf_printf(&f->views, "%s{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu",
				   f->view_count ? "," : "", f->bin.size, size);
	put_quoted(&f->views, extra);
	hob_buf_put_str(&f->views, HOB_STR("}"));
	hob_buf_put(&f->bin, data, size);
	return f->view_count++;
}

/* Describes an accessor and returns its index; view HOB_NONE: without a buffer view. */
static inline uint32_t fixture_accessor(gltf_fixture *f, uint32_t view, int component, const char *type,
										uint32_t count, const char *extra)
{
	hob_buf_printf(&f->accessors, "%s{\"componentType\":%d,\"type\":\"%s\",\"count\":%u",
				   f->accessor_count ? "," : "", component, type, count);
	if (view != HOB_NONE)
		hob_buf_printf(&f->accessors, ",\"bufferView\":%u", view);
	put_quoted(&f->accessors, extra);
	hob_buf_put_str(&f->accessors, HOB_STR("}"));
	return f->accessor_count++;
}

static inline uint32_t fixture_floats(gltf_fixture *f, const char *type, uint32_t count, const float *values,
									  size_t size)
{
	return fixture_accessor(f, fixture_view(f, values, size, ""), 5126, type, count, "");
}

static inline bool fixture_run(gltf_fixture *f)
{
	fixture_reset_arenas(f);
	f->result.fail_at = f->fail_result;
	f->scratch.fail_at = f->fail_scratch;
	f->files[1] = (memory_file){"models/data.bin", hob_buf_bytes(&f->bin)};
	memory_io_init(&f->io, f->files, f->file_count);
	hob_import_request request = {.io = &f->io.io,
								  .path = hob_str_of(f->files[0].path),
								  .file = f->files[0].bytes,
								  .result = &f->result,
								  .scratch = &f->scratch,
								  .notes = &f->notes};
	f->ok = hob_import_by(&hob_gltf_importer, &request, &f->model, &f->error);
	hob_error why = {0};
	if (f->ok && !hob_model_check(&f->model, &why))
		fail_msg("the model breaks a rule: %s", why.context);
	return f->ok;
}

/* Imports `text` unchanged (with ' for "). */
static inline bool fixture_import_raw(gltf_fixture *f, const char *text)
{
	hob_buf_clear(&f->document);
	put_quoted(&f->document, text);
	f->files[0] = (memory_file){"models/model.gltf", hob_buf_bytes(&f->document)};
	return fixture_run(f);
}

static inline void fixture_compose(gltf_fixture *f, const char *text, const char *uri)
{
	hob_buf *d = &f->document;
	hob_buf_clear(d);
	hob_buf_put_str(d, HOB_STR("{\"asset\":{\"version\":\"2.0\"}"));
	if (f->bin.size > 0 && uri)
		hob_buf_printf(d, ",\"buffers\":[{\"uri\":\"%s\",\"byteLength\":%zu}]", uri, f->bin.size);
	else if (f->bin.size > 0)
		hob_buf_printf(d, ",\"buffers\":[{\"byteLength\":%zu}]", f->bin.size);
	if (f->view_count > 0)
		hob_buf_printf(d, ",\"bufferViews\":[%.*s]", HOB_FMT(hob_buf_str(&f->views)));
	if (f->accessor_count > 0)
		hob_buf_printf(d, ",\"accessors\":[%.*s]", HOB_FMT(hob_buf_str(&f->accessors)));
	if (text[0])
		hob_buf_put_str(d, HOB_STR(","));
	put_quoted(d, text);
	hob_buf_put_str(d, HOB_STR("}"));
}

/* Imports a .gltf with data.bin beside it: `text` is the document after asset, buffers, views and
 * accessors. */
static inline bool fixture_import(gltf_fixture *f, const char *text)
{
	fixture_compose(f, text, "data.bin");
	f->files[0] = (memory_file){"models/model.gltf", hob_buf_bytes(&f->document)};
	return fixture_run(f);
}

static inline void put_u32(hob_buf *buf, uint32_t value)
{
	uint8_t bytes[4];
	hob_store_u32(bytes, value);
	hob_buf_put(buf, bytes, 4);
}

static inline bool fixture_import_glb(gltf_fixture *f, const char *text)
{
	fixture_compose(f, text, NULL);
	while (f->document.size % 4)
		hob_buf_put(&f->document, " ", 1);
	while (f->bin.size % 4)
		hob_buf_put(&f->bin, "", 1);
	hob_buf_clear(&f->glb);
	put_u32(&f->glb, 0x46546C67), put_u32(&f->glb, 2);
	put_u32(&f->glb, (uint32_t)(28 + f->document.size + f->bin.size));
	put_u32(&f->glb, (uint32_t)f->document.size), put_u32(&f->glb, 0x4E4F534A);
	hob_buf_put(&f->glb, f->document.data, f->document.size);
	put_u32(&f->glb, (uint32_t)f->bin.size), put_u32(&f->glb, 0x004E4942);
	hob_buf_put(&f->glb, f->bin.data, f->bin.size);
	f->files[0] = (memory_file){"models/model.glb", hob_buf_bytes(&f->glb)};
	return fixture_run(f);
}

/* ---- questions */

static inline bool has_note(const gltf_fixture *f, const char *code)
{
	for (uint32_t i = 0; i < f->notes.count; i++)
		if (hob_str_equal(f->notes.items[i].code, hob_str_of(code)))
			return true;
	return false;
}

#define assert_imported(f)                                                                                   \
	do {                                                                                                     \
		if (!(f)->ok)                                                                                        \
			fail_msg("import failed: %s: %s", hob_err_name((f)->error.code), (f)->error.context);            \
	} while (0)

/* The import failed with this code, and its message contains `words`. */
#define assert_refused(f, name, words)                                                                       \
	do {                                                                                                     \
		assert_false((f)->ok);                                                                               \
		assert_string_equal(hob_err_name((f)->error.code), hob_err_name(HOB_ERR_##name));                    \
		if (!strstr((f)->error.context, (words)))                                                            \
			fail_msg("'%s' not in: %s", (words), (f)->error.context);                                        \
	} while (0)

#define assert_text(s, text)                                                                                 \
	do {                                                                                                     \
		if (!hob_str_equal((s), hob_str_of(text)))                                                           \
			fail_msg("'%.*s' != '%s'", HOB_FMT(s), (text));                                                  \
	} while (0)

static inline void assert_floats_at(const float *values, const float *wanted, size_t count, float tolerance,
									const char *file, int line)
{
	if (!values)
		_fail(file, line);
	for (size_t i = 0; values && i < count; i++)
		if (!(fabsf(values[i] - wanted[i]) <= tolerance)) {
			print_error("value %zu is %g, not %g\n", i, (double)values[i], (double)wanted[i]);
			_fail(file, line);
		}
}

/* assert_floats(values, tolerance, 1, 2, 3) */
#define assert_floats(values, tolerance, ...)                                                                \
	assert_floats_at((values), (const float[]){__VA_ARGS__},                                                 \
					 sizeof((const float[]){__VA_ARGS__}) / sizeof(float), (tolerance), __FILE__, __LINE__)

#define assert_ids(values, ...)                                                                              \
	assert_memory_equal((values), ((const uint32_t[]){__VA_ARGS__}), sizeof((const uint32_t[]){__VA_ARGS__}))

/* One triangle (0,0,0) (1,0,0) (0,1,0) as accessor 0, for documents that test something else. */
static inline uint32_t fixture_triangle(gltf_fixture *f)
{
	static const float positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
	return fixture_floats(f, "VEC3", 3, positions, sizeof positions);
}

#define TRIANGLE_MESH "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}]"

#endif
