/* Each allocation of an arena and each growth of a buffer fails once: the call reports MEMORY, leaves its
 * output unchanged, and leaks nothing. Linked with --wrap for hob_arena_init and realloc
 * (tests/CMakeLists.txt). */
#include "fixture.h"

#include "core/formats/classic.h"
#include "core/formats/describe.h"
#include "core/formats/glb.h"

void __real_hob_arena_init(hob_arena *arena, size_t limit);
void __wrap_hob_arena_init(hob_arena *arena, size_t limit);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static uint64_t arena_fails, realloc_fails;

void __wrap_hob_arena_init(hob_arena *arena, size_t limit)
{
	__real_hob_arena_init(arena, limit);
	arena->fail_at = arena_fails;
}

void *__wrap_realloc(void *memory, size_t size)
{
	if (realloc_fails > 0 && --realloc_fails == 0)
		return NULL;
	return __real_realloc(memory, size);
}

typedef bool (*subject)(const packed_fixture *packed, hob_error *err);

static bool finish(bool ok, hob_buf *out)
{
	assert_true(ok || out->size == 0);
	hob_buf_release(out);
	return ok;
}

static bool pack(const packed_fixture *packed, hob_error *err)
{
	(void)packed;
	fixture f;
	fixture_init(&f);
	hob_pack_options options = {.encode = HOB_PACK_MESHOPT};
	bool ok = true;
	for (int kind = 0; ok && kind < 4; kind++) {
		hob_buf out = {0};
		ok = finish(fixture_pack_one(&f, kind, &options, &out, err), &out);
	}
	return ok;
}

static bool validate(const packed_fixture *packed, hob_error *err)
{
	hob_pack_set set = fixture_set(packed);
	return hob_pack_validate_set(&set, err);
}

static bool classic(const packed_fixture *packed, hob_error *err)
{
	hob_pack_set set = fixture_set(packed);
	hob_classic_files files = {0};
	bool ok = hob_classic_from_packed(&set, NULL, &files, err);
	assert_true(ok || (!files.meshes.data && !files.materials.data && !files.scene.data));
	hob_classic_files_release(&files);
	return ok;
}

static bool glb(const packed_fixture *packed, hob_error *err)
{
	hob_pack_set set = fixture_set(packed);
	hob_buf out = {0};
	return finish(hob_glb_from_packed(&set, NULL, NULL, &out, err), &out);
}

static bool text(const packed_fixture *packed, hob_error *err)
{
	hob_buf out = {0};
	return finish(hob_describe_text(hob_buf_bytes(&packed->files[1]), NULL, &out, err), &out);
}

static bool json(const packed_fixture *packed, hob_error *err)
{
	hob_buf out = {0};
	return finish(hob_describe_json(hob_buf_bytes(&packed->files[1]), NULL, &out, err), &out);
}

static bool difference(const packed_fixture *packed, hob_error *err)
{
	fixture_names[1] = HOB_STR("torso");
	fixture f;
	fixture_init(&f);
	hob_pack_options options = {0};
	hob_buf other = {0}, out = {0};
	bool ok = hob_pack_scene(&f.scene, &options, &other, err);
	fixture_names[1] = HOB_STR("body");
	ok = ok && hob_diff_text(hob_buf_bytes(&packed->files[2]), hob_buf_bytes(&other), NULL, NULL, &out, err);
	hob_buf_release(&other);
	return finish(ok, &out);
}

static void try_all(uint64_t *counter, uint32_t least, subject call)
{
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_MESHOPT);
	uint64_t n = 1;
	for (;; n++) {
		hob_error err = {0};
		*counter = n;
		bool ok = call(&packed, &err);
		*counter = 0;
		if (ok)
			break;
		if (err.code != HOB_ERR_MEMORY)
			fail_msg("failure %llu: %s: %s", (unsigned long long)n, hob_err_name(err.code), err.context);
	}
	assert_true(n > least);
	fixture_release(&packed);
}

static void arenas_run_dry(void **state)
{
	(void)state;
	try_all(&arena_fails, 10, pack);
	try_all(&arena_fails, 3, validate);
	try_all(&arena_fails, 5, classic);
	try_all(&arena_fails, 10, glb);
	try_all(&arena_fails, 1, text);
	try_all(&arena_fails, 1, json);
	try_all(&arena_fails, 1, difference);
}

static void buffers_cannot_grow(void **state)
{
	(void)state;
	try_all(&realloc_fails, 4, pack);
	try_all(&realloc_fails, 3, classic);
	try_all(&realloc_fails, 10, glb);
	try_all(&realloc_fails, 2, text);
	try_all(&realloc_fails, 2, json);
	try_all(&realloc_fails, 2, difference);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arenas_run_dry),
		cmocka_unit_test(buffers_cannot_grow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
