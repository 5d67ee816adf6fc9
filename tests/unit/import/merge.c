#include "tests/unit/import/reader_fixture.h"

static const char one[] = "mtllib m.mtl\no left\nusemtl red\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
static const char other[] = "mtllib m.mtl\no right\nusemtl blue\nv 5 0 0\nv 6 0 0\nv 5 1 0\nf 1 2 3\n";

static reader *merge(const char *list)
{
	reader *r = reader_new(&hob_merge_importer);
	reader_add(r, "town/all.merge", list);
	reader_add(r, "town/one.obj", one);
	reader_add(r, "town/m.mtl", "newmtl red\nKd 1 0 0\nmap_Kd red.png\n");
	reader_add(r, "parts/other.obj", other);
	reader_add(r, "parts/m.mtl", "newmtl blue\nKd 0 0 1\nmap_Kd ../blue.png\n");
	return r;
}

static void scenes_stand_side_by_side(void **state)
{
	(void)state;
	reader *r = merge("{\"// why\": 1, \"scenes\": [\"one.obj\", \"../parts/other.obj\"]}");
	reader_model(r);
	const hob_model *m = &r->model;
	assert_int_equal(m->mesh_count, 2);
	assert_int_equal(m->material_count, 2);
	assert_int_equal(m->scene_count, 1);
	assert_float_equal(m->meshes[1].position[0], 5, 0);
	const hob_material *blue = &m->materials[m->meshes[1].material];
	assert_true(hob_str_equal(blue->name, HOB_STR("blue")));
	assert_true(hob_str_equal(m->images[blue->slots[HOB_SLOT_BASE_COLOR].image].path, HOB_STR("blue.png")));
	const hob_material *red = &m->materials[m->meshes[0].material];
	assert_true(
		hob_str_equal(m->images[red->slots[HOB_SLOT_BASE_COLOR].image].path, HOB_STR("town/red.png")));
	reader_free(r);
}

static void a_model_may_stand_there_twice(void **state)
{
	(void)state;
	reader *r = merge("{\"scenes\": [\"one.obj\", \"one.obj\", \"../parts/other.obj\"]}");
	reader_model(r);
	assert_int_equal(r->model.mesh_count, 3);
	reader_free(r);
}

static void each_may_have_a_scale_of_its_own(void **state)
{
	(void)state;
	reader *r = merge("{\"scenes\": [\"one.obj\", {\"file\": \"../parts/other.obj\", \"scale\": 0.5},"
					  "{\"// as it is\": 0, \"file\": \"../parts/other.obj\"}]}");
	reader_model(r);
	const hob_model *m = &r->model;
	assert_int_equal(m->mesh_count, 3);
	assert_float_equal(m->meshes[0].position[3], 1, 0);
	assert_float_equal(m->meshes[1].position[0], 2.5f, 0);
	assert_float_equal(m->meshes[1].position[3], 3, 0);
	assert_float_equal(m->meshes[2].position[0], 5, 0);
	reader_free(r);
}

static void lists_that_cannot_be_followed_say_why(void **state)
{
	(void)state;
	static const struct {
		const char *list;
		hob_err_code code;
		const char *says;
	} wrong[] = {
		{"{\"scenes\": []}", HOB_ERR_CORRUPT, "a merge names the files"},
		{"[]", HOB_ERR_CORRUPT, "a merge names the files"},
		{"{\"scenes\": [\"one.obj\", 5]}", HOB_ERR_CORRUPT, "scenes[1] is not the name of a file"},
		{"{\"scenes\": [{\"scale\": 2}]}", HOB_ERR_CORRUPT, "scenes[0] has no \"file\": NAME"},
		{"{\"scenes\": [{\"file\": 3}]}", HOB_ERR_CORRUPT, "scenes[0]: 'file' is not"},
		{"{\"scenes\": [{\"file\": \"one.obj\", \"scale\": 0}]}", HOB_ERR_CORRUPT, "from 1e-9 to 1e9"},
		{"{\"scenes\": [{\"file\": \"one.obj\", \"scale\": \"2\"}]}", HOB_ERR_CORRUPT, "from 1e-9 to 1e9"},
		{"{\"scenes\": [\"one.obj\", {\"file\": \"one.obj\", \"rotate\": 1}]}", HOB_ERR_CORRUPT,
		 "scenes[1]: 'rotate' is not"},
		{"{\"scenes\": [\"one.obj\",", HOB_ERR_CORRUPT, "line 1"},
		{"{\"scenes\": [\"one.obj\"], \"merge_materials\": true}", HOB_ERR_CORRUPT,
		 "no 'merge_materials'; settings stand in 'all.merge.cook.json'"},
		{"{\"scenes\": [\"all.merge\"]}", HOB_ERR_CORRUPT, "'town/all.merge' merges itself"},
		{"{\"scenes\": [\"m.mtl\"]}", HOB_ERR_UNSUPPORTED, "not a '.mtl' file"},
		{"{\"scenes\": [\"gone.obj\"]}", HOB_ERR_MISSING_FILE, "town/gone.obj"},
		{"{\"scenes\": [\"../../etc/x.obj\"]}", HOB_ERR_OUTSIDE, "scenes[0]"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(wrong); i++) {
		reader *r = merge(wrong[i].list);
		assert_false(reader_run(r));
		if (r->error.code != wrong[i].code || !strstr(r->error.context, wrong[i].says))
			fail_msg("%s gave %s: %s", wrong[i].list, hob_err_name(r->error.code), r->error.context);
		reader_free(r);
	}
}

static void lists_may_name_lists(void **state)
{
	(void)state;
	reader *r =
		merge("{\"scenes\": [\"../half.merge\", \"one.obj\", {\"file\": \"../half.merge\", \"scale\": 2}]}");
	reader_add(r, "half.merge", "{\"scenes\": [\"parts/other.obj\", \"town/one.obj\"]}");
	reader_model(r);
	assert_int_equal(r->model.mesh_count, 5);
	assert_float_equal(r->model.meshes[0].position[0], 5, 0);
	assert_float_equal(r->model.meshes[3].position[0], 10, 0);
	reader_free(r);
}

static void a_circle_of_lists_is_told(void **state)
{
	(void)state;
	reader *r = merge("{\"scenes\": [\"one.obj\", \"../half.merge\"]}");
	reader_add(r, "half.merge", "{\"scenes\": [\"town/all.merge\"]}");
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_CORRUPT);
	assert_non_null(strstr(r->error.context, "'town/all.merge' merges itself"));
	assert_non_null(strstr(r->error.context, "scenes[1]"));
	reader_free(r);
}

/* Six times a list of 100 models: each list is within the limit of 256, their product is not. */
static void nested_lists_do_not_multiply(void **state)
{
	(void)state;
	reader *r =
		merge("{\"scenes\": [\"1.merge\", \"1.merge\", \"1.merge\", \"1.merge\", \"1.merge\", \"1.merge\"]}");
	char many[2048];
	size_t at = (size_t)snprintf(many, sizeof many, "{\"scenes\": [");
	for (int i = 0; i < 100; i++)
		at += (size_t)snprintf(many + at, sizeof many - at, "%s\"one.obj\"", i ? "," : "");
	snprintf(many + at, sizeof many - at, "]}");
	reader_add(r, "town/1.merge", many);
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_LIMIT);
	assert_non_null(strstr(r->error.context, "scenes to merge; the limit is 256"));
	reader_free(r);
}

static void short_memory_is_an_error(void **state)
{
	(void)state;
	reader *r = merge("{\"scenes\": [\"one.obj\", \"../parts/other.obj\"]}");
	for (int scratch = 0; scratch < 2; scratch++)
		for (uint64_t n = 1; n < 400; n++)
			if (!reader_run_failing(r, scratch ? 0 : n, scratch ? n : 0))
				assert_int_equal(r->error.code, HOB_ERR_MEMORY);
	reader_free(r);
}

static void its_version_holds_those_of_all_readers(void **state)
{
	(void)state;
	const char *text = hob_merge_importer.library_version();
	assert_non_null(strstr(text, "gltf "));
	assert_non_null(strstr(text, "obj "));
	assert_non_null(strstr(text, hob_assimp_importer.library_version()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scenes_stand_side_by_side),
		cmocka_unit_test(a_model_may_stand_there_twice),
		cmocka_unit_test(each_may_have_a_scale_of_its_own),
		cmocka_unit_test(lists_that_cannot_be_followed_say_why),
		cmocka_unit_test(lists_may_name_lists),
		cmocka_unit_test(a_circle_of_lists_is_told),
		cmocka_unit_test(nested_lists_do_not_multiply),
		cmocka_unit_test(short_memory_is_an_error),
		cmocka_unit_test(its_version_holds_those_of_all_readers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
