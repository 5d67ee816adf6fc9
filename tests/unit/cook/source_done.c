/* After the import, a cook releases its source's bytes with the same result. The bytes stay if they contain
 * an embedded picture. */
#include "tests/unit/support.h"

#include "core/cook/cook.h"

#include <stdio.h>
#include <stdlib.h>

enum { FILE_MAX = 512 << 10 };

typedef struct folder {
	memory_file files[16];
	size_t count;
} folder;

static void add(folder *f, const char *name, const void *data, size_t size)
{
	assert_true(f->count < HOB_COUNT_OF(f->files));
	uint8_t *copy = malloc(size);
	assert_non_null(copy);
	memcpy(copy, data, size);
	f->files[f->count++] = (memory_file){name, {copy, size}};
}

static void add_sample(folder *f, const char *name, const char *place)
{
	static uint8_t bytes[FILE_MAX];
	char path[512];
	snprintf(path, sizeof path, "%s/%s", HOB_TEST_DATA, place);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	size_t size = fread(bytes, 1, sizeof bytes, file);
	assert_true(size > 0 && size < sizeof bytes);
	fclose(file);
	add(f, name, bytes, size);
}

static void release(folder *f)
{
	for (size_t i = 0; i < f->count; i++)
		free((void *)(uintptr_t)f->files[i].bytes.data);
}

static const char *given_back; /* NULL: not yet */

static void spoil(void *user, hob_str path)
{
	const memory_io *memory = user;
	for (size_t i = 0; i < memory->count; i++)
		if (hob_str_equal(path, hob_str_of(memory->files[i].path))) {
			assert_null(given_back);
			given_back = memory->files[i].path;
			memset((void *)(uintptr_t)memory->files[i].bytes.data, 0x5A, memory->files[i].bytes.size);
		}
}

static void cook(folder *f, const char *path, bool gives_back, hob_cook_result *out)
{
	memory_io memory;
	memory_io_init(&memory, f->files, f->count);
	memory.io.done = gives_back ? spoil : NULL;
	given_back = NULL;
	hob_cook_request request = {.io = &memory.io, .path = hob_str_of(path)};
	hob_settings_init(&request.settings);
	hob_error err = {0};
	if (!hob_cook(&request, out, &err))
		fail_msg("%s: %s", path, err.context);
}

/* Whether the source was released, and nothing else. */
static bool is_given_back(folder *f, const char *path)
{
	hob_cook_result kept = {0}, done = {0};
	cook(f, path, false, &kept);
	cook(f, path, true, &done);
	assert_int_equal(kept.output_count, done.output_count);
	for (uint32_t i = 0; i < kept.output_count; i++) {
		const hob_cook_output *a = &kept.outputs[i], *b = &done.outputs[i];
		if (hob_str_equal(a->name, HOB_STR("report")))
			continue;
		assert_int_equal(a->bytes.size, b->bytes.size);
		assert_memory_equal(a->bytes.data, b->bytes.data, a->bytes.size);
	}
	hob_cook_result_release(&kept);
	hob_cook_result_release(&done);
	assert_true(!given_back || strcmp(given_back, path) == 0);
	return given_back != NULL;
}

static void a_source_is_given_back(void **state)
{
	(void)state;
	static const char *const samples[] = {"AnimatedMorphCube.glb", "BoxVertexColors.glb", "spot.obj"};
	static const char stl[] =
		"solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
		"endloop\nendfacet\nendsolid s\n";
	static const char ply[] =
		"ply\nformat ascii 1.0\ncomment made by hand\nelement vertex 3\nproperty float x\nproperty float y\n"
		"property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
		"0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
	for (size_t i = 0; i < HOB_COUNT_OF(samples); i++) {
		folder f = {0};
		char place[256];
		snprintf(place, sizeof place, "models/simple/%s", samples[i]);
		add_sample(&f, samples[i], place);
		assert_true(is_given_back(&f, samples[i]));
		release(&f);
	}
	folder f = {0};
	add(&f, "flat.stl", stl, sizeof stl - 1);
	add(&f, "flat.ply", ply, sizeof ply - 1);
	assert_true(is_given_back(&f, "flat.stl"));
	assert_true(is_given_back(&f, "flat.ply"));
	release(&f);
}

static size_t put(uint8_t *to, size_t at, const void *data, size_t size)
{
	memcpy(to + at, data, size);
	return at + size;
}

static void a_source_with_pictures_stays(void **state)
{
	(void)state;
	static const float corners[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1};
	folder f = {0};
	add_sample(&f, "picture.png", "pictures/pngsuite/basn2c08.png");
	hob_bytes png = f.files[0].bytes;
	char json[1024];
	uint32_t body = (uint32_t)(sizeof corners + png.size + 3) & ~3u;
	int length = snprintf(
		json, sizeof json,
		"{\"asset\":{\"version\":\"2.0\"},\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0}],"
		"\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":1},"
		"\"material\":0}]}],"
		"\"materials\":[{\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0}}}],"
		"\"textures\":[{\"source\":0}],\"images\":[{\"bufferView\":1,\"mimeType\":\"image/png\"}],"
		"\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\","
		"\"min\":[0,0,0],\"max\":[1,1,0]},{\"bufferView\":0,\"byteOffset\":36,\"componentType\":5126,"
		"\"count\":3,\"type\":\"VEC2\"}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":60},{\"buffer\":0,"
		"\"byteOffset\":60,\"byteLength\":%u}],\"buffers\":[{\"byteLength\":%u}]}",
		(unsigned)png.size, body);
	while (length % 4 != 0)
		json[length++] = ' ';
	static uint8_t glb[FILE_MAX];
	const uint32_t head[5] = {0x46546C67, 2, 28 + (uint32_t)length + body, (uint32_t)length, 0x4E4F534A};
	const uint32_t chunk[2] = {body, 0x004E4942};
	size_t at = put(glb, put(glb, put(glb, 0, head, sizeof head), json, (size_t)length), chunk, sizeof chunk);
	put(glb, put(glb, at, corners, sizeof corners), png.data, png.size);
	add(&f, "picture.glb", glb, at + body);
	assert_false(is_given_back(&f, "picture.glb"));
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_is_given_back),
		cmocka_unit_test(a_source_with_pictures_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
