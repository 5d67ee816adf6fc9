/* Each malloc, calloc and realloc of a whole cook fails once: the cook reports MEMORY and leaves nothing
 * behind, or gives exactly the normal result. The same for code that reads and rewrites its outputs. Linked
 * with --wrap (tests/CMakeLists.txt), which covers core's own calls and those in headers compiled into it. */
#include "tests/unit/support.h"

#include "core/cook/cook.h"
#include "core/settings/cook_key.h"
#include "core/formats/classic.h"
#include "core/formats/describe.h"
#include "core/formats/glb.h"
#include "core/formats/pack_cut.h"
#include "core/formats/pack_validate.h"
#include "core/hash/hash.h"
#include "core/texture/ktx2.h"
#include "core/texture/picture_export.h"

#include <stdio.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void __real_hob_arena_init(hob_arena *arena, size_t limit);
void __wrap_hob_arena_init(hob_arena *arena, size_t limit);

static uint64_t fails, asked; /* number of the call that fails, 0: none; calls so far */
static uint64_t arena_fails;  /* likewise for each arena */

static bool runs_dry(void)
{
	return ++asked == fails;
}

void *__wrap_malloc(size_t size)
{
	return runs_dry() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return runs_dry() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return runs_dry() ? NULL : __real_realloc(old, size);
}

void __wrap_hob_arena_init(hob_arena *arena, size_t limit)
{
	__real_hob_arena_init(arena, limit);
	arena->fail_at = arena_fails;
}

/* ---- sources */

enum { FILES_MAX = 32, FILE_MAX = 128 << 10 };

static memory_file files[FILES_MAX];
static size_t file_count;

static void add_file(const char *name, hob_bytes bytes)
{
	assert_true(file_count < FILES_MAX);
	files[file_count++] = (memory_file){name, bytes};
}

static void add_sample(const char *name, const char *place)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", HOB_TEST_DATA, place);
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(FILE_MAX);
	assert_non_null(file);
	assert_non_null(bytes);
	size_t size = fread(bytes, 1, FILE_MAX, file);
	assert_true(size > 0 && size < FILE_MAX);
	fclose(file);
	add_file(name, (hob_bytes){bytes, size});
}

static void add_text(const char *name, const char *text)
{
	char *copy = strdup(text);
	add_file(name, (hob_bytes){(const uint8_t *)copy, strlen(text)});
}

static int lay_out(void **state)
{
	(void)state;
	static const char *const samples[] = {"box_small.obj",
										  "box_small.mtl",
										  "AnimatedMorphCube.glb",
										  "BoxVertexColors.glb",
										  "MultipleScenes.gltf",
										  "SimpleSkin.gltf",
										  "skinAnimation.bin",
										  "skinGeometry.bin",
										  "inverseBindMatrices.bin",
										  "skinningData.bin",
										  "simpleSquare.bin",
										  "simpleTriangle.bin",
										  "InterpolationTest.glb",
										  "TextureCoordinateTest.gltf",
										  "TextureCoordinateTest.bin"};
	for (size_t i = 0; i < HOB_COUNT_OF(samples); i++) {
		char place[256];
		snprintf(place, sizeof place, "models/%s/%s", i < 2 ? "dungeon" : "simple", samples[i]);
		add_sample(samples[i], place);
	}
	/* Small files under the names that the models refer to. */
	add_sample("dungeon_texture.png", "pictures/pngsuite/basn2c08.png");
	add_sample("TextureCoordinateTemplate.png", "pictures/pngsuite/basn6a08.png");
	add_text("flat.stl", "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
						 "endloop\nendfacet\nendsolid s\n");
	add_text("flat.ply",
			 "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
			 "property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
			 "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n");
	add_text("both.merge", "{\"scenes\": [\"flat.stl\", {\"file\": \"SimpleSkin.gltf\", \"scale\": 2}]}");
	return 0;
}

static int clear_away(void **state)
{
	(void)state;
	for (size_t i = 0; i < file_count; i++)
		free((void *)(uintptr_t)files[i].bytes.data);
	return 0;
}

/* ---- a cook */

typedef struct subject {
	const char *path, *settings;
	hob_cook_result calm; /* result with enough memory */
} subject;

static bool is_output(const hob_cook_output *output)
{
	return !hob_str_equal(output->name, HOB_STR("report"));
}

static bool cook(subject *s, hob_cook_result *out, hob_error *err)
{
	memory_io memory;
	memory_io_init(&memory, files, file_count);
	hob_cook_request request = {.io = &memory.io, .path = hob_str_of(s->path)};
	hob_settings_init(&request.settings);
	return hob_settings_overlay(&request.settings, hob_str_of(s->settings), HOB_STR("test"), err) &&
		   hob_cook(&request, out, err);
}

static void assert_same(const subject *s, const hob_cook_result *made)
{
	assert_int_equal(made->output_count, s->calm.output_count);
	for (uint32_t i = 0; i < made->output_count; i++) {
		const hob_cook_output *a = &s->calm.outputs[i], *b = &made->outputs[i];
		assert_true(hob_str_equal(a->name, b->name));
		if (is_output(a) &&
			(a->bytes.size != b->bytes.size || memcmp(a->bytes.data, b->bytes.data, a->bytes.size)))
			fail_msg("%s: '%.*s' is another one when allocation %llu of the cook fails", s->path,
					 HOB_FMT(a->name), (unsigned long long)(fails + arena_fails));
	}
}

typedef bool (*action)(subject *s, hob_error *err);

static bool act_cook(subject *s, hob_error *err)
{
	hob_cook_result made = {0};
	bool ok = cook(s, &made, err);
	assert_true(ok || made.output_count == 0);
	if (ok)
		assert_same(s, &made);
	hob_cook_result_release(&made);
	return ok;
}

/* Repeats until a run makes fewer calls than the failing number. Returns how many failures made it fail. */
static uint64_t run_dry(subject *s, const char *what, action act)
{
	uint64_t refused = 0;
	for (uint64_t n = 1;; n++) {
		hob_error err = {0};
		fails = n;
		asked = 0;
		bool ok = act(s, &err), reached = asked >= n;
		fails = 0;
		if (!reached) {
			assert_true(ok);
			break;
		}
		if (!ok && err.code != HOB_ERR_MEMORY)
			fail_msg("%s of %s, allocation %llu: %s: %s", what, s->path, (unsigned long long)n,
					 hob_err_name(err.code), err.context);
		refused += !ok;
	}
	return refused;
}

/* ---- readers and writers of the outputs */

static hob_bytes output(const subject *s, const char *name)
{
	for (uint32_t i = 0; i < s->calm.output_count; i++)
		if (hob_str_equal(s->calm.outputs[i].name, hob_str_of(name)))
			return s->calm.outputs[i].bytes;
	return (hob_bytes){0};
}

static hob_pack_set set_of(const subject *s)
{
	return (hob_pack_set){.meshes = output(s, "meshes"),
						  .materials = output(s, "materials"),
						  .scene = output(s, "scene"),
						  .animations = output(s, "animations")};
}

static bool finish(bool ok, hob_buf *out)
{
	hob_buf_release(out);
	return ok;
}

static bool act_validate(subject *s, hob_error *err)
{
	hob_pack_set set = set_of(s);
	return hob_pack_validate_set(&set, err);
}

static bool act_classic(subject *s, hob_error *err)
{
	hob_pack_set set = set_of(s);
	hob_classic_files made = {0};
	bool ok = hob_classic_from_packed(&set, NULL, &made, err);
	hob_classic_files_release(&made);
	return ok;
}

static bool act_glb(subject *s, hob_error *err)
{
	hob_pack_set set = set_of(s);
	hob_buf out = {0};
	return finish(hob_glb_from_packed(&set, NULL, NULL, &out, err), &out);
}

static bool act_cut(subject *s, hob_error *err)
{
	hob_buf out = {0};
	return finish(hob_pack_cut(output(s, "meshes"), 0, NULL, &out, err), &out);
}

static bool act_describe(subject *s, hob_error *err)
{
	hob_buf out = {0};
	return finish(hob_describe_json(output(s, "scene"), NULL, &out, err), &out);
}

static bool act_texture(subject *s, hob_error *err)
{
	hob_bytes texture = output(s, "textures/0");
	hob_ktx2_facts facts;
	hob_arena scratch;
	hob_buf out = {0};
	hob_arena_init(&scratch, (size_t)1 << 30);
	bool ok = texture.size == 0 || (hob_ktx2_check(texture, true, &facts, err) &&
									hob_picture_export(texture, 0, &scratch, &out, err));
	hob_arena_release(&scratch);
	return finish(ok, &out);
}

static void every_allocation_fails_once(void **state)
{
	(void)state;
	static const struct {
		const char *path, *settings;
	} cases[] = {
		{"box_small.obj", "{}"},
		{"SimpleSkin.gltf", "{}"},
		{"AnimatedMorphCube.glb", "{}"},
		{"InterpolationTest.glb", "{}"},
		{"MultipleScenes.gltf", "{}"},
		{"BoxVertexColors.glb", "{}"},
		{"TextureCoordinateTest.gltf", "{}"},
		{"flat.stl", "{}"},
		{"flat.ply", "{}"},
		{"both.merge", "{}"},
	};
	static const struct {
		const char *what;
		action act;
	} acts[] = {{"cook", act_cook}, {"validate", act_validate}, {"classic", act_classic}, {"glb", act_glb},
				{"cut", act_cut},	{"describe", act_describe}, {"texture", act_texture}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_error err = {0};
		subject s = {.path = cases[i].path, .settings = cases[i].settings};
		if (!cook(&s, &s.calm, &err))
			fail_msg("%s: %s", s.path, err.context);
		for (size_t k = 0; k < HOB_COUNT_OF(acts); k++) {
			uint64_t refused = run_dry(&s, acts[k].what, acts[k].act);
			print_message("%s of %s: %llu\n", acts[k].what, s.path, (unsigned long long)refused);
		}
		hob_cook_result_release(&s.calm);
	}
}

/* Fails each allocation from an arena. Some are optional: only IN_A_ROW consecutive failures without effect
 * mean that none is left. */
static void arenas_run_dry(void **state)
{
	(void)state;
	enum { IN_A_ROW = 64 };
	static const char *const paths[] = {"box_small.obj", "SimpleSkin.gltf", "flat.ply", "both.merge"};
	for (size_t i = 0; i < HOB_COUNT_OF(paths); i++) {
		hob_error err = {0};
		subject s = {.path = paths[i], .settings = "{}"};
		assert_true(cook(&s, &s.calm, &err));
		uint64_t n = 1, harmless = 0;
		for (; harmless < IN_A_ROW; n++) {
			err = (hob_error){0};
			arena_fails = n;
			bool ok = act_cook(&s, &err);
			arena_fails = 0;
			harmless = ok ? harmless + 1 : 0;
			if (!ok && err.code != HOB_ERR_MEMORY)
				fail_msg("%s, arena allocation %llu: %s: %s", s.path, (unsigned long long)n,
						 hob_err_name(err.code), err.context);
		}
		print_message("%s: %llu\n", s.path, (unsigned long long)n);
		hob_cook_result_release(&s.calm);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails_once),
									   cmocka_unit_test(arenas_run_dry)};
	return cmocka_run_group_tests(tests, lay_out, clear_away);
}
