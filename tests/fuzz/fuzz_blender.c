/* Blender's answer for a .blend file: facts as JSON, and the files that it claims to have read.
 *
 * Links: srv_protocol PkgConfig::libcjson PkgConfig::libutf8proc
 * Run:   fuzz_blender tests/fuzz/corpus/blender
 *
 * The size of the facts is corrected first; a random size would be refused before they are parsed. */
#include "server/worker/editor.c"
#include "server/worker/root_io.c"
#include "tests/unit/temp_folder.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static temp_folder folder;
static int root = -1;
static srv_root_hasher *hasher;
static hob_bytes said;

static void leave(void)
{
	folder_remove(&folder);
}

static bool answer(void *user, const srv_exporter_ask *ask, hob_bytes *result, hob_error *err)
{
	(void)user, (void)err;
	assert(ask->path[0]);
	*result = said;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char end[] = "glTF";
	if (size > 64 << 10)
		return 0;
	if (root < 0) {
		folder_make(&folder);
		atexit(leave);
		folder_put(&folder, "a/scene.blend", "BLENDER");
		folder_put(&folder, "a/linked.blend", "BLENDER");
		assert((root = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0 &&
			   (hasher = srv_root_hasher_new()));
	}
	size_t room = 8 + size + sizeof end;
	uint8_t *bytes = malloc(room);
	uint32_t length = (uint32_t)size;
	assert(bytes);
	memcpy(bytes, "HOBX", 4);
	memcpy(bytes + 4, &length, 4);
	memcpy(bytes + 8, data, size);
	memcpy(bytes + 8 + size, end, sizeof end);
	said = (hob_bytes){bytes, room};
	hob_arena scratch, result;
	hob_arena_init(&scratch, 16 << 20);
	hob_arena_init(&result, 16 << 20);
	hob_notes notes = {.arena = &result};
	srv_editor editor = {.ask = answer, .io = srv_root_io_new(root, 1 << 20, hasher, NULL, NULL)};
	assert(editor.io);
	hob_editor table = srv_editor_table(&editor);
	const hob_editor_ask what = {.path = HOB_STR("a/scene.blend"), .notes = &notes, .scratch = &scratch};
	hob_bytes model;
	hob_error err = {0};
	uint32_t count;
	if (table.export_glb(table.user, &what, &model, &err))
		assert(model.size == sizeof end && memcmp(model.data, end, sizeof end) == 0);
	else
		assert(err.context[0]);
	const srv_dep *deps = srv_root_io_deps(editor.io, &count);
	for (uint32_t i = 0; i < count; i++)
		assert(deps[i].path.len > 0 && deps[i].path.data[0] != '/');
	srv_root_io_free(editor.io);
	hob_arena_release(&scratch);
	hob_arena_release(&result);
	free(bytes);
	return 0;
}
