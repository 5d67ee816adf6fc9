/* OFF files: colours of vertices and faces, with and without a header that announces them. */
#include "tests/unit/import/reader_fixture.h"

#define POINTS "0 0 0\n1 0 0\n1 1 0\n0 1 0\n"

static reader *read_off(const char *text)
{
	reader *r = reader_new(&hob_off_importer);
	reader_add(r, "a.off", text);
	reader_model(r);
	return r;
}

static void polygons_and_comments(void **state)
{
	(void)state;
	reader *r = read_off("# a square\nOFF # here\n\n4 2 0\n" POINTS "# faces\n4 0 1 2 3\n3 0 1 9\n");
	assert_int_equal(r->model.meshes[0].index_count, 6);
	assert_int_equal(r->model.meshes[0].vertex_count, 4);
	assert_null(r->model.meshes[0].color[0]);
	assert_true(reader_noted(r, "mesh.bad-faces"));
	reader_free(r);
	static const char *const heads[] = {"OFF4 1 0\n", "OFF 4 1 0 # all in one line\n", "COFF4 1 0\n",
										"OFF\r\n# by hand\r\n4 1 0\r\n", "off\n# a comment\n4 1 0\n"};
	for (size_t i = 0; i < HOB_COUNT_OF(heads); i++) {
		char text[256];
		snprintf(text, sizeof text, "%s" POINTS "# one face\n4 0 1 2 3 # red\n", heads[i]);
		r = read_off(text);
		assert_int_equal(r->model.meshes[0].index_count, 6);
		reader_free(r);
	}
	r = read_off("4 1 0\n" POINTS "4 0 1 2 3\n");
	assert_int_equal(r->model.meshes[0].index_count, 6);
	reader_free(r);
}

static void vertices_have_colours(void **state)
{
	(void)state;
	static const char *const files[] = {
		"COFF\n3 1 0\n0 0 0 255 0 0 255\n1 0 0 0 255 0 255\n1 1 0 0 0 255 128\n3 0 1 2\n",
		"OFF\n3 1\n0 0 0 1.0 0 0 1\n1 0 0 0 1 0 1\n1 1 0 0 0 1.0 .50196\n3 0 1 2\n",
		("STCNOFF 3 1 0\n0 0 0 0 0 1 255 0 0 255 0 0\n1 0 0 0 0 1 0 255 0 255 1 0\n1 1 0 0 0 1 0 0 255 128 1 "
		 "1\n3 0 1 2\n"),
		"C4OFF 3 1 0\n0 0 0 1 255 0 0 255\n2 0 0 2 0 255 0 255\n2 2 0 2 0 0 255 128\n3 0 1 2\n",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++) {
		reader *r = read_off(files[i]);
		const hob_mesh *m = &r->model.meshes[0];
		assert_vector(m->position + 6, 1, 1, 0);
		assert_vector(m->color[0], 1, 0, 0);
		assert_vector(m->color[0] + 8, 0, 0, 1);
		assert_true(fabsf(m->color[0][11] - 128.0f / 255) < 1e-4f);
		if (i == 2) {
			assert_vector(m->normal, 0, 0, 1);
			assert_near(m->uv[0][5], 0);
			assert_near(m->uv[0][1], 1);
		}
		reader_free(r);
	}
}

static void faces_have_colours(void **state)
{
	(void)state;
	reader *r = read_off("OFF\n4 3 0\n" POINTS "3 0 1 2 255 0 0\n3 0 2 3 0.0 0.0 255.0 51\n2 0 1\n");
	const hob_mesh *m = &r->model.meshes[0];
	assert_int_equal(m->vertex_count, 8);
	assert_vector(m->color[0], 1, 0, 0);
	assert_vector(m->color[0] + 12, 0, 0, 1);
	assert_near(m->color[0][15], 0.2f);
	assert_int_equal(r->model.meshes[1].topology, HOB_LINES);
	assert_vector(r->model.meshes[1].color[0] + 24, 1, 1, 1);
	reader_free(r);
	r = read_off("OFF\n3 1 0\n0 0 0\n1 0 0\n1 1 0\n3 0 1 2 7\n");
	assert_true(reader_noted(r, "off.color-map"));
	reader_free(r);
}

static void what_cannot_be_read_is_refused_in_words(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
		hob_err_code code;
	} cases[] = {
		{"", "holds nothing", HOB_ERR_EMPTY},
		{"solid x", "'OFF' is expected", HOB_ERR_CORRUPT},
		{"OFF BINARY\n", "binary", HOB_ERR_UNSUPPORTED},
		{"nOFF\n4\n", "dimensions", HOB_ERR_UNSUPPORTED},
		{"OFF\n2000000000 1 0\n", "more than the file holds", HOB_ERR_TRUNCATED},
		{"OFF\n3 1 0\n0 0 0\n1 0 0\n", "ends at vertex 2", HOB_ERR_TRUNCATED},
		{"OFF\n3 1 0\n0 0 0\n1 0 0\n1 1 0\n99 0 1\n", "no usable face", HOB_ERR_EMPTY},
		{"OFF\n3 1 0\n0 0 0\n1 0 0\n1 1 0\n3 0 1", "inside of face 0 of 1", HOB_ERR_TRUNCATED},
		{"OFF\n3 1 0\n0 0 0\n1 0 0\n1 1 0\n3 0 1 2\n3 0 1 2\n", "do not match the counts", HOB_ERR_CORRUPT},
		{"OFF\n3 1 0\n0 0 0\n1 0 0\n1 1 0\n3 0 1 7\n", "no usable face", HOB_ERR_EMPTY},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = reader_new(&hob_off_importer);
		reader_add(r, "a.off", cases[i].text);
		assert_false(reader_run(r));
		if (r->error.code != cases[i].code || !strstr(r->error.context, cases[i].words))
			fail_msg("case %zu: %s: %s", i, hob_err_name(r->error.code), r->error.context);
		reader_free(r);
	}
}

static void points_alone_are_a_cloud(void **state)
{
	(void)state;
	reader *r = read_off("OFF\n4 0 0\n" POINTS);
	const hob_model *model = reader_model(r);
	assert_int_equal(model->mesh_count, 1);
	assert_int_equal(model->meshes[0].topology, HOB_POINTS);
	assert_int_equal(model->meshes[0].index_count, 4);
	reader_free(r);
}

static void three_of_any_number_of_dimensions_are_read(void **state)
{
	(void)state;
	static const char *const texts[] = {"nOFF\n3\n4 1 0\n" POINTS "4 0 1 2 3\n",
										"nOFF 3\n4 1 0\n" POINTS "4 0 1 2 3\n"};
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++) {
		reader *r = read_off(texts[i]);
		assert_int_equal(reader_model(r)->meshes[0].index_count, 6);
		reader_free(r);
	}
}

static void damage_and_scarce_memory_are_survived(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_off_importer);
	reader_add(r, "a.off",
			   "STCNOFF\n4 2 0\n0 0 0 0 0 1 255 0 0 255 0 0\n1 0 0 0 0 1 0 255 0 255 1 0\n"
			   "1 1 0 0 0 1 0 0 255 128 1 1\n0 1 0 0 0 1 1 1 1 1 0 1\n4 0 1 2 3 1 2 3\n2 0 1\n");
	reader_starve(r);
	reader_damage(r, 1);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_alone_are_a_cloud),
		cmocka_unit_test(three_of_any_number_of_dimensions_are_read),
		cmocka_unit_test(polygons_and_comments),
		cmocka_unit_test(vertices_have_colours),
		cmocka_unit_test(faces_have_colours),
		cmocka_unit_test(what_cannot_be_read_is_refused_in_words),
		cmocka_unit_test(damage_and_scarce_memory_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
