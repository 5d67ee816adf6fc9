/* Lists of models to merge. A listed OBJ, STL or PLY file of any name exists and is a triangle, unless its
 * name begins with "gone".
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_merge
 *   build/fuzz/fuzz_merge -dict=tests/fuzz/fuzz_merge.dict -max_len=2048 /tmp/found
 *   tests/fuzz/corpus/merge */
#include "core/import/importers.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_any(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	static const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
	static const char stl[] =
		"solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
		"endloop\nendfacet\nendsolid s\n";
	static const char ply[] = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
							  "property float z\nelement face 1\nproperty list uchar int vertex_indices\n"
							  "end_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
	(void)user;
	hob_str name = hob_path_name(path);
	if (hob_str_starts(name, HOB_STR("gone")))
		return hob_fail(err, MISSING_FILE, "'%.*s' does not exist", HOB_FMT(path));
	const char *text = hob_str_ends_nocase(path, HOB_STR(".obj"))	? obj
					   : hob_str_ends_nocase(path, HOB_STR(".stl")) ? stl
					   : hob_str_ends_nocase(path, HOB_STR(".ply")) ? ply
																	: NULL;
	if (!text)
		return hob_fail(err, MISSING_FILE, "'%.*s' does not exist", HOB_FMT(path));
	hob_str bytes = hob_str_of(text);
	*out = (hob_bytes){(const uint8_t *)bytes.data, bytes.len};
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hob_arena result, scratch;
	hob_notes notes = {0};
	hob_model model;
	hob_error error = {0};
	hob_io io = {.read = read_any};
	hob_arena_init(&result, 64 << 20);
	hob_arena_init(&scratch, 64 << 20);
	notes.arena = &result;
	hob_import_request request = {.io = &io,
								  .path = HOB_STR("town/all.merge"),
								  .file = {data, size},
								  .result = &result,
								  .scratch = &scratch,
								  .notes = &notes};
	if (hob_import_by(&hob_merge_importer, &request, &model, &error) && !hob_model_check(&model, &error)) {
		fprintf(stderr, "accepted a model that breaks a rule: %s\n", error.context);
		abort();
	}
	hob_arena_release(&result);
	hob_arena_release(&scratch);
	return 0;
}
