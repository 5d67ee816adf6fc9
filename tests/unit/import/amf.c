/* AMF: volumes, precedence of colours, constellations, units, archives. */
#include "tests/unit/import/zip_fixture.h"

/* clang-format off */
#define VERTEX(x, y, z, more) \
	"<vertex><coordinates><x>" x "</x><y>" y "</y><z>" z "</z></coordinates>" more "</vertex>"
#define COLOR(r, g, b) "<color><r>" r "</r><g>" g "</g><b>" b "</b></color>"
#define TRIANGLE(a, b, c, more) "<triangle>" more "<v1>" a "</v1><v2>" b "</v2><v3>" c "</v3></triangle>"
#define VERTICES "<vertices>" VERTEX("0", "0", "0", "") VERTEX("1000", "0", "0", COLOR("0", "1", "0")) \
	VERTEX("0", "1000", "0", "") VERTEX("0", "0", "1000", "") "</vertices>"
#define OBJECT(id, more, volumes) "<object id='" id "'>" more "<mesh>" VERTICES volumes "</mesh></object>"
/* clang-format on */

static reader *read_amf(const char *text)
{
	reader *r = reader_new(&hob_amf_importer);
	reader_add(r, "a.amf", text);
	reader_model(r);
	return r;
}

static void every_volume_is_a_mesh(void **state)
{
	(void)state;
	reader *r = read_amf(
		"<amf><material id='2'><metadata type='name'>red</metadata>" COLOR(
			"1", "0", "0") "</material><object id='1'><mesh><vertices>" VERTEX("0", "0", "0", "")
			VERTEX("1000", "0", "0", "")
				VERTEX("0", "1000", "500", "") "</vertices><volume materialid='2'>" TRIANGLE(
					"0", "1", "2", "") "</volume><volume>" TRIANGLE("2", "1", "0",
																	"") "</volume></mesh></object></amf>");
	const hob_model *m = &r->model;
	assert_int_equal(m->mesh_count, 2);
	assert_name(m->materials[m->meshes[0].material].name, "red");
	assert_vector(m->materials[m->meshes[0].material].base_color, 1, 0, 0);
	assert_vector(m->meshes[0].position + 3, 1, 0, 0); /* millimetres */
	assert_near(m->unit, 0.001f);
	assert_vector(m->materials[m->meshes[1].material].base_color, 1, 1, 1);
	/* Z is up in the file. */
	float root[16];
	hob_node_local_matrix(&m->nodes[0], root);
	assert_vector(root + 8, 0, 1, 0);
	reader_free(r);
}

/* Precedence: triangle, vertex, volume, object. */
static void the_nearest_colour_counts(void **state)
{
	(void)state;
	reader *r = read_amf("<amf unit='meter'>" OBJECT(
		"1", COLOR("0", "0", "1"),
		"<volume>" COLOR("1", "0", "0") TRIANGLE("0", "1", "2", COLOR("1", "1", "0")) TRIANGLE(
			"0", "1", "3", "") "</volume><volume>" TRIANGLE("0", "1", "2", "") "</volume>") "</amf>");
	const hob_mesh *a = &r->model.meshes[0], *b = &r->model.meshes[1];
	assert_int_equal(a->vertex_count, 6);
	assert_vector(a->color[0], 1, 1, 0);
	assert_vector(a->color[0] + 4, 1, 1, 0);
	assert_vector(a->color[0] + 12, 1, 0, 0);
	assert_vector(a->color[0] + 16, 0, 1, 0);
	assert_int_equal(b->vertex_count, 4);
	assert_vector(b->color[0], 0, 0, 1);
	assert_vector(b->color[0] + 4, 0, 1, 0);
	reader_free(r);
}

static void constellations_place_objects(void **state)
{
	(void)state;
	reader *r = read_amf("<amf unit='meter'>" OBJECT(
		"1", "",
		"<volume>" TRIANGLE(
			"0", "1", "2",
			"") "</volume>") "<constellation id='5'><instance "
							 "objectid='1'><deltax>5</deltax><rz>90</rz></instance>"
							 "<instance objectid='1'/><instance objectid='77'/></constellation></amf>");
	const hob_model *m = &r->model;
	assert_int_equal(m->mesh_count, 1);
	assert_int_equal(m->mesh_ref_count, 2);
	float local[16];
	hob_node_local_matrix(&m->nodes[2], local);
	assert_vector(local, 0, 1, 0);
	assert_vector(local + 12, 5, 0, 0);
	assert_true(reader_noted(r, "amf.missing-object"));
	reader_free(r);
}

static void archives_formulas_and_textures(void **state)
{
	(void)state;
	const member members[] = {
		{"part.amf",
		 "<amf unit='inch'><texture id='1'/>" OBJECT(
			 "1", "", "<volume>" TRIANGLE("0", "1", "2", COLOR("x*2", "0", "0")) "</volume>") "</amf>"}};
	hob_buf zip = make_zip(members, 1, true);
	reader *r = reader_new(&hob_amf_importer);
	reader_add_bytes(r, "a.amf", zip.data, zip.size);
	assert_near(reader_model(r)->meshes[0].position[3], 25.4f);
	assert_true(reader_noted(r, "amf.formula"));
	assert_true(reader_noted(r, "amf.textures"));
	reader_damage(r, 3);
	reader_free(r);
	hob_buf_release(&zip);
}

static void mixtures_and_formulas_are_told(void **state)
{
	(void)state;
	static const struct {
		const char *material, *note;
	} cases[] = {
		{"<material id='2'><composite materialid='1'>x</composite></material>", "amf.composite"},
		{"<material id='2'>" COLOR("0.5*x", "0", "0") "</material>", "amf.formula"},
		{"<material id='2'>" COLOR("0.5", "1e-1", ".25") "</material>", NULL},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[2048];
		snprintf(text, sizeof text,
				 "<amf>%s" OBJECT("1", "",
								  "<volume materialid='2'>" TRIANGLE("0", "1", "2", "") "</volume>") "</amf>",
				 cases[i].material);
		reader *r = reader_new(&hob_amf_importer);
		reader_add(r, "a.amf", text);
		reader_model(r);
		assert_int_equal(r->notes.count, cases[i].note ? 1 : 0);
		if (cases[i].note)
			assert_true(reader_noted(r, cases[i].note));
		reader_free(r);
	}
}

static void what_cannot_be_read_is_refused_in_words(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
		hob_err_code code;
	} cases[] = {
		{"<other/>", "not <amf>", HOB_ERR_CORRUPT},
		{"<amf/>", "no usable triangle", HOB_ERR_EMPTY},
		{"<amf>" OBJECT("1", "", "<volume>" TRIANGLE("0", "1", "9", "") "</volume>") "</amf>",
		 "no usable triangle", HOB_ERR_EMPTY},
		{"<amf><constellation id='1'><instance objectid='2'/></constellation><constellation id='2'><instance "
		 "objectid='2'/></constellation></amf>",
		 "holds itself", HOB_ERR_LIMIT},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = reader_new(&hob_amf_importer);
		reader_add(r, "a.amf", cases[i].text);
		assert_false(reader_run(r));
		if (r->error.code != cases[i].code || !strstr(r->error.context, cases[i].words))
			fail_msg("case %zu: %s: %s", i, hob_err_name(r->error.code), r->error.context);
		reader_free(r);
	}
}

static void damage_and_scarce_memory_are_survived(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_amf_importer);
	reader_add(r, "a.amf",
			   "<amf unit='meter'>" OBJECT(
				   "1", COLOR("0", "0", "1"),
				   "<volume>" TRIANGLE("0", "1", "2", COLOR("1", "1", "0")) "</volume>") "</amf>");
	reader_starve(r);
	reader_damage(r, 2);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_volume_is_a_mesh),
		cmocka_unit_test(the_nearest_colour_counts),
		cmocka_unit_test(constellations_place_objects),
		cmocka_unit_test(archives_formulas_and_textures),
		cmocka_unit_test(mixtures_and_formulas_are_told),
		cmocka_unit_test(what_cannot_be_read_is_refused_in_words),
		cmocka_unit_test(damage_and_scarce_memory_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
