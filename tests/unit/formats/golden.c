/* The fixture's files, compared byte by byte with tests/data/formats, to detect any change of the formats.
 * HOB_GOLDEN=write rewrites them; a changed file needs a raised format version and a CHANGELOG line. The
 * encoded file also depends on the version of meshoptimizer's encoders. */
#include "fixture.h"

#include "core/formats/classic.h"
#include "core/formats/describe.h"

static const char folder[] = HOB_TEST_DATA "/formats/";

static void compare(const char *name, hob_bytes bytes)
{
	char path[512];
	snprintf(path, sizeof path, "%s%s", folder, name);
	const char *mode = getenv("HOB_GOLDEN");
	if (mode && strcmp(mode, "write") == 0) {
		FILE *out = fopen(path, "wb");
		assert_non_null(out);
		assert_int_equal(fwrite(bytes.data, 1, bytes.size, out), bytes.size);
		fclose(out);
		return;
	}
	FILE *in = fopen(path, "rb");
	if (!in)
		fail_msg("cannot open %s", path);
	uint8_t *want = malloc(bytes.size + 1);
	size_t size = fread(want, 1, bytes.size + 1, in);
	fclose(in);
	bool same = size == bytes.size && memcmp(want, bytes.data, size) == 0;
	free(want);
	if (!same)
		fail_msg("%s differs from what is committed", name);
}

static void compare_with_description(const char *name, const hob_buf *file)
{
	char json_name[64];
	hob_buf json = {0};
	hob_error err = {0};
	compare(name, hob_buf_bytes(file));
	if (!hob_describe_json(hob_buf_bytes(file), NULL, &json, &err))
		fail_msg("%s", err.context);
	hob_buf_put(&json, "\n", 1);
	snprintf(json_name, sizeof json_name, "%s.json", name);
	compare(json_name, hob_buf_bytes(&json));
	hob_buf_release(&json);
}

static void packed_files_are_as_committed(void **state)
{
	(void)state;
	static const char *const names[] = {"raw.meshes", "raw.materials", "raw.scene", "raw.animations"};
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	for (int kind = 0; kind < 4; kind++)
		compare_with_description(names[kind], &packed.files[kind]);
	fixture_release(&packed);
}

static void encoded_meshes_are_as_committed(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_MESHOPT);
	compare_with_description("encoded.meshes", &packed.files[0]);
	fixture_release(&packed);
}

static void classic_files_are_as_committed(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	hob_pack_set set = fixture_set(&packed);
	hob_classic_files files = {0};
	hob_error err = {0};
	assert_true(hob_classic_from_packed(&set, NULL, &files, &err));
	compare_with_description("classic.meshes", &files.meshes);
	compare_with_description("classic.materials", &files.materials);
	compare_with_description("classic.scene", &files.scene);
	hob_classic_files_release(&files);
	fixture_release(&packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_files_are_as_committed),
		cmocka_unit_test(encoded_meshes_are_as_committed),
		cmocka_unit_test(classic_files_are_as_committed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
