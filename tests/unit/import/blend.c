/* Files of Blender: which importer reads them, and the message of a build without it. */
#include "tests/unit/import/reader_fixture.h"

static const char triangle[] = "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],"
							   "\"nodes\":[{\"name\":\"Suzanne\"}]}";

static bool export_glb(void *user, const hob_editor_ask *ask, hob_bytes *out, hob_error *err)
{
	(void)err;
	assert_true(hob_str_equal(ask->path, HOB_STR("dir/thing.blend")));
	*(int *)user += 1;
	*out = (hob_bytes){(const uint8_t *)triangle, sizeof triangle - 1};
	return true;
}

static bool refuse(void *user, const hob_editor_ask *ask, hob_bytes *out, hob_error *err)
{
	(void)user;
	(void)ask;
	(void)out;
	return hob_fail(err, CORRUPT, "Blender: no");
}

static reader *blend(const char *text)
{
	reader *r = reader_new(&hob_blend_importer);
	reader_add(r, "dir/thing.blend", text);
	return r;
}

static void the_editor_is_asked_and_its_model_read(void **state)
{
	(void)state;
	int asked = 0;
	hob_editor editor = {&asked, export_glb};
	reader *r = blend("BLENDER-v304");
	r->editor = &editor;
	assert_true(hob_str_equal(reader_model(r)->nodes[0].name, HOB_STR("Suzanne")));
	assert_int_equal(asked, 1);
	editor.export_glb = refuse;
	assert_false(reader_run(r));
	assert_string_equal(r->error.context,
						"Blender: no; Blender 3.4 saved the file: an older one may not read it");
	reader_free(r);
}

static void without_an_editor_new_files_are_skipped_and_old_ones_passed_on(void **state)
{
	(void)state;
	static const struct {
		const char *head;
		hob_err_code code;
	} cases[] = {
		{"BLENDER-v304REND", HOB_ERR_SKIPPED},		 {"BLENDER17-01v0500", HOB_ERR_SKIPPED},
		{"\x28\xB5\x2F\xFD zstd", HOB_ERR_SKIPPED},	 {"BLENDER-v279REND", HOB_ERR_OLD_VERSION},
		{"BLENDER_v248REND", HOB_ERR_OLD_VERSION},	 {"\x1F\x8B gzip", HOB_ERR_OLD_VERSION},
		{"no Blender file at all", HOB_ERR_CORRUPT},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = blend(cases[i].head);
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, cases[i].code);
		assert_int_equal(reader_noted(r, "blender.none"), cases[i].code == HOB_ERR_OLD_VERSION);
		reader_free(r);
	}
}

static void an_export_beside_it_is_the_asset(void **state)
{
	(void)state;
	static const char *const exports[] = {"dir/thing.glb", "dir/thing.gltf", "dir/thing.fbx"};
	int asked = 0;
	hob_editor editor = {&asked, export_glb};
	for (size_t i = 0; i < HOB_COUNT_OF(exports); i++) {
		reader *r = blend("BLENDER-v304");
		reader_add(r, exports[i], "an export");
		r->editor = &editor;
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, HOB_ERR_SKIPPED);
		assert_non_null(strstr(r->error.context, strrchr(exports[i], '/') + 1));
		assert_int_equal(asked, 0);
		r->beside_export = true;
		assert_true(reader_run(r));
		asked = 0;
		reader_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_editor_is_asked_and_its_model_read),
		cmocka_unit_test(without_an_editor_new_files_are_skipped_and_old_ones_passed_on),
		cmocka_unit_test(an_export_beside_it_is_the_asset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
