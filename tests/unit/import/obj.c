#include "tests/unit/import/reader_fixture.h"

#define QUAD "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\n"

static reader *obj(const char *text)
{
	reader *r = reader_new(&hob_obj_importer);
	reader_add(r, "a/model.obj", text);
	return r;
}

/* Imports `text`; the model has one mesh. */
static const hob_mesh *one_mesh(reader *r)
{
	const hob_model *model = reader_model(r);
	assert_int_equal(model->mesh_count, 1);
	return &model->meshes[0];
}

static void a_triangle_becomes_a_mesh_and_a_node(void **state)
{
	(void)state;
	reader *r = obj("v 1 2 3\nv 4 5 6\nv 7 8 10\nf 1 2 3\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_int_equal(mesh->topology, HOB_TRIANGLES);
	assert_int_equal(mesh->vertex_count, 3);
	assert_vector(mesh->position, 1, 2, 3);
	assert_vector(mesh->position + 6, 7, 8, 10);
	assert_null(mesh->normal);
	assert_null(mesh->uv[0]);
	/* Without a material: the default one, not metallic. */
	assert_int_equal(mesh->material, 0);
	assert_near(r->model.materials[0].metallic, 0);
	assert_int_equal(r->model.node_count, 1);
	assert_int_equal(r->model.nodes[0].mesh_count, 1);
	assert_int_equal(r->model.scene_count, 1);
	assert_int_equal(r->notes.count, 0);
	reader_free(r);
}

static void a_bad_index_is_told_with_its_line(void **state)
{
	(void)state;
	static const struct {
		const char *text, *line;
	} cases[] = {
		{QUAD "f 1 2 99\nf 1 2 3\n", "line 5)"},
		{"f 1 2 3\n" QUAD "f 1 2 4\nf 1 2 9\nf 1 2 99\n", "line 7)"},
		{"f 1 2 3\n" QUAD "f 1 2\nf 1 2 5\nf 1 2 -9\n", "line 7)"},
		{QUAD "f 1 2 -9\nf 1 2 99\nf 1 2 3\n", "line 5)"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = obj(cases[i].text);
		reader_model(r);
		bool told = false;
		for (uint32_t n = 0; n < r->notes.count; n++)
			told = told || (hob_str_equal(r->notes.items[n].code, HOB_STR("obj.bad-index")) &&
							hob_str_find(r->notes.items[n].text, hob_str_of(cases[i].line), 0) != SIZE_MAX);
		assert_true(told);
		reader_free(r);
	}
}

static void corners_share_a_vertex_only_when_all_indices_agree(void **state)
{
	(void)state;
	reader *r = obj(QUAD "vt 0 0\nvt 1 1\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1\nf 1/1/1 3/2/1 4/1/1\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_int_equal(mesh->vertex_count, 5);
	assert_int_equal(mesh->index_count, 6);
	assert_int_equal(mesh->indices[3], 0);
	reader_free(r);
}

static void texture_coordinates_begin_at_the_top(void **state)
{
	(void)state;
	reader *r = obj(QUAD "vt 0.25 0.75 9\nvt 0.5\nf 1/1 2/1 3/2\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_near(mesh->uv[0][0], 0.25f);
	assert_near(mesh->uv[0][1], 0.25f);
	assert_near(mesh->uv[0][4], 0.5f);
	assert_near(mesh->uv[0][5], 1);
	reader_free(r);
}

static void every_spelling_of_a_corner_is_read(void **state)
{
	(void)state;
	static const char *const faces[] = {"f 1 2 3",			"f 1/1 2/1 3/1",
										"f 1//1 2//1 3//1", "f 1/1/1 2/1/1 3/1/1",
										"f -4 -3 -2",		"f -4/-1/-1 -3/-1/-1 -2/-1/-1",
										"f 1/ 2/ 3/",		"f\t1//1\t2//1\t3//1 # tail",
										"  f 1 2 3  ",		"f 1 2 \\\n 3",
										"f 1 2 \\\r\n 3",	"f 1/1/ 2/1/ 3/1/"};
	for (size_t i = 0; i < HOB_COUNT_OF(faces); i++) {
		char text[256];
		snprintf(text, sizeof text, QUAD "vt 0 0\nvn 0 0 1\n%s\n", faces[i]);
		reader *r = obj(text);
		const hob_mesh *mesh = one_mesh(r);
		assert_int_equal(mesh->index_count, 3);
		assert_vector(mesh->position + (size_t)mesh->indices[2] * 3, 2, 1, 0);
		assert_int_equal(r->notes.count, 0);
		reader_free(r);
	}
}

static void negative_indices_count_from_where_they_stand(void **state)
{
	(void)state;
	reader *r = obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 5 0 0\nv 6 0 0\nv 5 1 0\nf -3 -2 -1\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_int_equal(mesh->vertex_count, 6);
	assert_vector(mesh->position + (size_t)mesh->indices[3] * 3, 5, 0, 0);
	reader_free(r);
}

static void positive_indices_may_look_ahead(void **state)
{
	(void)state;
	reader *r = obj("f 1/1 2/1 3/1\n" QUAD "vt 0 0\n");
	assert_int_equal(one_mesh(r)->index_count, 3);
	assert_non_null(r->model.meshes[0].uv[0]);
	reader_free(r);
}

static void impossible_indices_drop_their_face_only(void **state)
{
	(void)state;
	static const char *const faces[] = {
		"f 1 2 5", "f 0 1 2",	"f -5 1 2",			"f 1 2 99999999999999999999",
		"f 1 2 x", "f 1 2 1.5", "f 4294967297 2 3", "f 1 2 4294967295"};
	for (size_t i = 0; i < HOB_COUNT_OF(faces); i++) {
		char text[256];
		snprintf(text, sizeof text, QUAD "f 1 2 3\n%s\nf 1 3 4\n", faces[i]);
		reader *r = obj(text);
		const hob_mesh *mesh = one_mesh(r);
		assert_int_equal(mesh->index_count, 6);
		assert_vector(mesh->position + (size_t)mesh->indices[5] * 3, 0, 1, 0);
		assert_true(r->notes.count > 0);
		reader_free(r);
	}
}

/* "f 1/1" in a file without texture coordinates. */
static void texture_coordinates_that_do_not_exist_are_none(void **state)
{
	(void)state;
	reader *r = obj(QUAD "f 1/1/1 2/7/9 3/1/1\n");
	assert_null(one_mesh(r)->uv[0]);
	assert_null(r->model.meshes[0].normal);
	reader_free(r);
}

static void polygons_are_cut(void **state)
{
	(void)state;
	reader *r = obj(QUAD "f 1 2 3 4\n");
	assert_int_equal(one_mesh(r)->index_count, 6);
	assert_int_equal(r->model.meshes[0].vertex_count, 4);
	reader_free(r);
	/* An L, which a fan from its first corner would not cover correctly. */
	r = obj("v 3 3 0\nv 0 3 0\nv 0 0 0\nv 1 0 0\nv 1 2 0\nv 3 2 0\nf 1 2 3 4 5 6\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_int_equal(mesh->index_count, 12);
	for (uint32_t i = 0; i < 12; i += 3) {
		const float *p[3];
		for (uint32_t k = 0; k < 3; k++)
			p[k] = mesh->position + (size_t)mesh->indices[i + k] * 3;
		assert_true((p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[1][1] - p[0][1]) * (p[2][0] - p[0][0]) >=
					0);
	}
	reader_free(r);
}

static void vertex_colours_become_linear(void **state)
{
	(void)state;
	reader *r = obj("v 0 0 0\nv 1 0 0 1 0.5 0\nv 0 1 0 1.0 0.25 0.5 1\nf 1 2 3\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_non_null(mesh->color[0]);
	assert_vector(mesh->color[0], 1, 1, 1);
	assert_vector(mesh->color[0] + 4, 1, 0.2140411f, 0);
	assert_vector(mesh->color[0] + 8, 1, 0.0508761f, 0.2140411f);
	assert_near(mesh->color[0][7], 1);
	reader_free(r);
	r = obj("v 0 0 0 255 0 0\nv 1 0 0 0 255 0\nv 0 1 0 0 0 128\nf 1 2 3\n");
	mesh = one_mesh(r);
	assert_vector(mesh->color[0], 1, 0, 0);
	assert_vector(mesh->color[0] + 8, 0, 0, 0.2158605f);
	reader_free(r);
}

static void objects_and_materials_split_meshes(void **state)
{
	(void)state;
	reader *r =
		obj("mtllib m.mtl\n" QUAD "o one\ng x\nusemtl red\nf 1 2 3\nusemtl blue\nf 1 3 4\nusemtl red\n"
			"f 2 3 4\no two\nusemtl blue\nf 1 2 4\n");
	reader_add(r, "a/m.mtl", "newmtl blue\nKd 0 0 1\nnewmtl red\nKd 1 0 0\nnewmtl unused\nKd 0 1 0\n");
	const hob_model *model = reader_model(r);
	assert_int_equal(model->node_count, 2);
	assert_int_equal(model->mesh_count, 3);
	assert_int_equal(model->material_count, 2);
	assert_name(model->nodes[0].name, "one");
	assert_int_equal(model->nodes[0].mesh_count, 2);
	assert_int_equal(model->meshes[0].index_count, 6);
	assert_name(model->materials[model->meshes[0].material].name, "red");
	assert_name(model->materials[model->meshes[1].material].name, "blue");
	assert_name(model->nodes[1].name, "two");
	assert_int_equal(model->meshes[2].material, model->meshes[1].material);
	assert_int_equal(model->meshes[1].source_mesh, 0);
	assert_int_equal(model->meshes[1].source_primitive, 1);
	assert_int_equal(model->meshes[2].source_mesh, 1);
	reader_free(r);
}

static void groups_are_objects_when_there_are_no_objects(void **state)
{
	(void)state;
	reader *r = obj(QUAD "f 1 2 3\ng left arm\nf 1 2 3\ng right\nf 1 3 4\ng left arm\nf 2 3 4\n");
	const hob_model *model = reader_model(r);
	assert_int_equal(model->node_count, 3);
	assert_name(model->nodes[0].name, "");
	assert_name(model->nodes[1].name, "left arm");
	assert_int_equal(model->meshes[1].index_count, 6);
	assert_name(model->nodes[2].name, "right");
	reader_free(r);
}

static void lines_and_points_are_kept(void **state)
{
	(void)state;
	reader *r = obj(QUAD "f 1 2 3\nl 1 2 3\nl 3/1 4/1\np 1 2\np 3\n");
	const hob_model *model = reader_model(r);
	assert_int_equal(model->mesh_count, 3);
	assert_int_equal(model->node_count, 1);
	assert_int_equal(model->meshes[1].topology, HOB_LINES);
	assert_int_equal(model->meshes[1].index_count, 6);
	assert_int_equal(model->meshes[2].topology, HOB_POINTS);
	assert_int_equal(model->meshes[2].index_count, 3);
	reader_free(r);
}

static void positions_alone_are_a_cloud(void **state)
{
	(void)state;
	reader *r = obj("v 0 0 0 1 0 0\nv 1 0 0 0 1 0\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_int_equal(mesh->topology, HOB_POINTS);
	assert_int_equal(mesh->index_count, 2);
	assert_non_null(mesh->color[0]);
	reader_free(r);
}

static void faces_without_normals_and_smoothing_groups_are_a_flat_mesh(void **state)
{
	(void)state;
	static const char *const statements[] = {"", "s off\n", "s 0\n"};
	for (size_t i = 0; i < HOB_COUNT_OF(statements); i++) {
		char text[256];
		snprintf(text, sizeof text, "v 0 0 0\nv 1 0 0\nv 1 1 1\nv 0 1 0\n%sf 1 2 3 4\nf 1 4 2\n",
				 statements[i]);
		reader *r = obj(text);
		const hob_mesh *mesh = one_mesh(r);
		assert_int_equal(mesh->vertex_count, 4);
		assert_true(mesh->flat && !mesh->normal);
		reader_free(r);
	}
}

static void faces_before_a_smoothing_group_have_normals_of_their_own(void **state)
{
	(void)state;
	reader *r = obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 3 4\ns 1\nf 2 3 4\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_false(mesh->flat);
	assert_vector(mesh->normal + (size_t)mesh->indices[0] * 3, 0, 0, 1);
	assert_vector(mesh->normal + (size_t)mesh->indices[3] * 3, 1, 0, 0);
	reader_free(r);
}

static void smoothing_off_gives_flat_normals_beside_others(void **state)
{
	(void)state;
	reader *r = obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\ns off\nf 1 2 3\nf 1 3 4\ns 1\nf 2 3 4\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_int_equal(mesh->vertex_count, 9);
	assert_vector(mesh->normal + (size_t)mesh->indices[0] * 3, 0, 0, 1);
	assert_vector(mesh->normal + (size_t)mesh->indices[3] * 3, 1, 0, 0);
	reader_free(r);
}

static void smoothing_groups_share_normals_within(void **state)
{
	(void)state;
	/* Two faces of group 1 share an edge; one of group 2 is separate. */
	reader *r = obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\ns 1\nf 1 2 3\nf 1 3 4\ns 2\nf 1 4 2\n");
	const hob_mesh *mesh = one_mesh(r);
	float half = 0.70710678f;
	assert_vector(mesh->normal + (size_t)mesh->indices[0] * 3, half, 0, half);
	assert_int_equal(mesh->indices[0], mesh->indices[3]);
	assert_vector(mesh->normal + (size_t)mesh->indices[6] * 3, 0, 1, 0);
	reader_free(r);
}

static void normals_of_the_file_win_over_smoothing(void **state)
{
	(void)state;
	reader *r = obj(QUAD "vn 1 0 0\ns 1\nf 1//1 2//1 3//1\nf 1 3 4\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_vector(mesh->normal + (size_t)mesh->indices[0] * 3, 1, 0, 0);
	assert_vector(mesh->normal + (size_t)mesh->indices[3] * 3, 0, 0, 1);
	reader_free(r);
}

static void normals_of_any_length_become_unit_length(void **state)
{
	(void)state;
	reader *r = obj(QUAD "vn 0 0 5\nvn 0 0 0\nf 1//1 2//1 3//2\n");
	const hob_mesh *mesh = one_mesh(r);
	for (uint32_t i = 0; i < 3; i++)
		assert_vector(mesh->normal + (size_t)mesh->indices[i] * 3, 0, 0, 1);
	reader_free(r);
}

static void line_ends_and_odd_numbers_are_understood(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"v 0 0 0\r\nv 1 0 0\r\nv 0 .5 0\r\nf 1 2 3\r\n",
		"v 0 0 0\rv 1 0 0\rv 0 .5 0\rf 1 2 3\r",
		"v 0 0 0\nv 1e0 0 0\nv 0 5e-1 0\nf 1 2 3",
		"v 0,0 0 0\nv 1,0 0 0\nv 0 0,5 0\nf 1 2 3",
		"\xEF\xBB\xBFv 0 0 0\nv 1 0 0\nv 0 +.5 0 # half\nf 1 2 3\n",
		"v 0 0 0\nv 1 0 0\nv \\\n0 .5 \\\n 0\nf 1 2 3\n",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++) {
		reader *r = obj(texts[i]);
		const hob_mesh *mesh = one_mesh(r);
		assert_vector(mesh->position + 3, 1, 0, 0);
		assert_vector(mesh->position + 6, 0, 0.5f, 0);
		assert_int_equal(reader_noted(r, "obj.decimal-comma"), i == 3);
		reader_free(r);
	}
}

static void infinite_positions_drop_their_faces(void **state)
{
	(void)state;
	reader *r = obj(QUAD "v 1e400 0 0\nv nan 0 0\nf 1 2 3\nf 1 2 5\nf 1 6 3\n");
	assert_int_equal(one_mesh(r)->index_count, 3);
	assert_true(reader_noted(r, "mesh.bad-faces"));
	reader_free(r);
}

static void unreadable_lines_are_noted_with_the_first_place(void **state)
{
	(void)state;
	reader *r = obj(QUAD "v 1 x\nhello\ncurv 0 1 1 2\nbevel on\nf 1 2 3\nf 1 2\n");
	one_mesh(r);
	assert_true(reader_noted(r, "obj.bad-line"));
	assert_true(reader_noted(r, "obj.unknown-line"));
	assert_true(reader_noted(r, "obj.free-form"));
	assert_true(reader_noted(r, "obj.small-face"));
	bool place = false;
	for (uint32_t i = 0; i < r->notes.count; i++)
		place = place || hob_str_find(r->notes.items[i].text, HOB_STR("line 5"), 0) != SIZE_MAX;
	assert_true(place);
	reader_free(r);
}

static void an_empty_file_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {"",
										"# nothing\n",
										"vt 0 0\nvn 0 0 1\n",
										"f 1 2 3\n",
										"v 0 0 0\nv 1 0 0\nf 1 2 3\n",
										"v 0 0 0\nf 0 0 0\n"};
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++) {
		reader *r = obj(texts[i]);
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, HOB_ERR_EMPTY);
		reader_free(r);
	}
}

/* ---- material libraries */

static void libraries_are_found(void **state)
{
	(void)state;
	static const struct {
		const char *statement, *file, *note;
	} cases[] = {
		{"mtllib m.mtl", "a/m.mtl", NULL},
		{"mtllib my file.mtl", "a/my file.mtl", NULL},
		{"mtllib none.mtl m.mtl", "a/m.mtl", "obj.mtllib-missing"},
		{"mtllib M.MTL", "a/m.mtl", "obj.mtllib-guessed"},
		{"mtllib ../b/m.mtl", "b/m.mtl", NULL},
		{"mtllib C:\\work\\m.mtl", "a/m.mtl", "obj.mtllib-guessed"},
		{"mtllib /home/me/m.mtl", "a/m.mtl", "obj.mtllib-guessed"},
		{"mtllib lib\\m.mtl", "a/lib/m.mtl", "obj.mtllib-guessed"},
		{"mtllib ./m.mtl # the file", "a/m.mtl", NULL},
		{"mtllib \"m.mtl\"", "a/m.mtl", NULL},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[256];
		snprintf(text, sizeof text, "%s\nusemtl red\n" QUAD "f 1 2 3\n", cases[i].statement);
		reader *r = obj(text);
		reader_add(r, cases[i].file, "newmtl red\nKd 1 0 0\n");
		const hob_model *model = reader_model(r);
		assert_int_equal(model->material_count, 1);
		assert_vector(model->materials[0].base_color, 1, 0, 0);
		assert_int_equal(r->notes.count, cases[i].note != NULL);
		assert_true(!cases[i].note || reader_noted(r, cases[i].note));
		assert_true(!cases[i].note || r->notes.items[0].level == HOB_NOTE_WARNING);
		reader_free(r);
	}
}

static void textures_are_relative_to_their_library(void **state)
{
	(void)state;
	reader *r = obj("mtllib ../lib/m.mtl\nusemtl red\n" QUAD "vt 0 0\nf 1/1 2/1 3/1\n");
	reader_add(r, "lib/m.mtl", "newmtl red\nmap_Kd maps/a.png\n");
	reader_add(r, "lib/maps/a.png", "picture");
	const hob_model *model = reader_model(r);
	assert_name(model->images[0].path, "lib/maps/a.png");
	assert_int_equal(r->notes.count, 0);
	reader_free(r);
}

static void a_missing_library_is_a_warning_and_a_dependency(void **state)
{
	(void)state;
	reader *r = obj("mtllib m.mtl\nusemtl red\n" QUAD "f 1 2 3\n");
	assert_int_equal(one_mesh(r)->material, 0);
	assert_name(r->model.materials[0].name, "red");
	assert_true(reader_noted(r, "obj.mtllib-missing"));
	assert_true(reader_noted(r, "obj.material-missing"));
	assert_true(memory_io_logged(&r->io, "?a/m.mtl"));
	reader_free(r);
}

static void several_libraries_add_up_and_the_first_definition_counts(void **state)
{
	(void)state;
	reader *r = obj("mtllib m.mtl\nmtllib n.mtl\n" QUAD "usemtl red\nf 1 2 3\nusemtl blue\nf 1 3 4\n");
	reader_add(r, "a/m.mtl", "newmtl red\nKd 1 0 0\n");
	reader_add(r, "a/n.mtl", "newmtl red\nKd 0 1 0\nnewmtl blue\nKd 0 0 1\n");
	const hob_model *model = reader_model(r);
	assert_int_equal(model->material_count, 2);
	assert_vector(model->materials[0].base_color, 1, 0, 0);
	assert_vector(model->materials[1].base_color, 0, 0, 1);
	reader_free(r);
}

/* ---- size */

static void many_material_changes_stay_fast(void **state)
{
	(void)state;
	enum { CHANGES = 50000 };
	hob_buf text = {0};
	hob_buf_put_str(&text, HOB_STR(QUAD));
	for (int i = 0; i < CHANGES; i++)
		hob_buf_printf(&text, "o part %d\nusemtl m%d\nf 1 2 3\n", i % 5000, i);
	reader *r = reader_new(&hob_obj_importer);
	reader_add_bytes(r, "model.obj", text.data, text.size);
	const hob_model *model = reader_model(r);
	assert_int_equal(model->node_count, 5000);
	assert_int_equal(model->mesh_count, CHANGES);
	reader_free(r);
	hob_buf_release(&text);
}

static void a_huge_polygon_does_not_hang(void **state)
{
	(void)state;
	enum { CORNERS = 100000 };
	hob_buf text = {0};
	for (int i = 0; i < CORNERS; i++)
		hob_buf_printf(&text, "v %d %d 0\n", i / 2, i % 2 + i / 1000 % 3);
	hob_buf_put_str(&text, HOB_STR("f"));
	for (int i = 1; i <= CORNERS; i++)
		hob_buf_printf(&text, " %d", i);
	reader *r = reader_new(&hob_obj_importer);
	reader_add_bytes(r, "model.obj", text.data, text.size);
	assert_int_equal(one_mesh(r)->index_count, (CORNERS - 2) * 3);
	reader_free(r);
	hob_buf_release(&text);
}

/* ---- damage */

static const char rich[] =
	"mtllib m.mtl\no one\nv 0 0 0 1 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 -.5e1\nvt .1 .2\nvn 0 0 1\n"
	"usemtl red\ns 1\nf 1/1/1 2/-1 3//1 4\ng two\nusemtl blue\ns off\nl 1 2 3\np 4\nf -4 -3 -2\n";

static reader *rich_reader(void)
{
	reader *r = obj(rich);
	reader_add(
		r, "a/m.mtl",
		"newmtl red\nKd 1 0 0\nmap_Kd -s 2 2 -o .5 0 -clamp on a.png\nd .5\nnewmtl blue\nbump -bm 2 b.png\n");
	return r;
}

static void damaged_files_are_refused_or_obey_the_rules(void **state)
{
	(void)state;
	reader *r = rich_reader();
	reader_damage(r, 1);
	reader_free(r);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	reader *r = rich_reader();
	reader_starve(r);
	reader_free(r);
}

static void the_older_word_for_faces_is_read(void **state)
{
	(void)state;
	reader *r = obj(QUAD "fo 1 2 3 4\n");
	assert_int_equal(one_mesh(r)->topology, HOB_TRIANGLES);
	assert_int_equal(r->model.meshes[0].index_count, 6);
	reader_free(r);
}

static void free_form_alone_is_no_cloud(void **state)
{
	(void)state;
	reader *r = obj(QUAD "cstype bezier\ndeg 3\ncurv 0 1 1 2 3 4\nparm u 0 1\nend\n");
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_UNSUPPORTED);
	reader_free(r);
}

/* x y z r g b a, as other readers interpret it. */
static void a_seventh_number_is_alpha(void **state)
{
	(void)state;
	reader *r = obj("v 0 0 0 1 0 0 0.5\nv 1 0 0 0 1 0 1\nv 0 1 0 0 0 1 1\nf 1 2 3\n");
	const float *c = one_mesh(r)->color[0];
	assert_vector(c, 1, 0, 0);
	assert_vector(c + 8, 0, 0, 1);
	assert_true(reader_noted(r, "obj.color-alpha"));
	reader_free(r);
}

/* ZBrush writes its colours as comments: MMRRGGBB for each vertex, 64 per line. */
static void polypaint_of_zbrush_is_colour(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_obj_importer);
	reader_add(r, "a.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\n#MRGB ffff0000ff00ff00\n#MRGB 000000ff\nf 1 2 3\n");
	const hob_mesh *m = &reader_model(r)->meshes[0];
	assert_non_null(m->color[0]);
	for (uint32_t i = 0; i < 3; i++) {
		const float *position = m->position + i * 3, *color = m->color[0] + i * 4;
		uint32_t source = position[1] > 0 ? 2 : position[0] > 0 ? 1 : 0;
		assert_vector(color, source == 0, source == 1, source == 2);
	}
	assert_false(reader_noted(r, "obj.polypaint"));
	reader_free(r);
	r = reader_new(&hob_obj_importer);
	reader_add(r, "a.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\n#MRGB ffff0000\nf 1 2 3\n");
	assert_non_null(reader_model(r)->meshes[0].color[0]);
	assert_true(reader_noted(r, "obj.polypaint"));
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polypaint_of_zbrush_is_colour),
		cmocka_unit_test(the_older_word_for_faces_is_read),
		cmocka_unit_test(free_form_alone_is_no_cloud),
		cmocka_unit_test(a_seventh_number_is_alpha),
		cmocka_unit_test(a_triangle_becomes_a_mesh_and_a_node),
		cmocka_unit_test(a_bad_index_is_told_with_its_line),
		cmocka_unit_test(corners_share_a_vertex_only_when_all_indices_agree),
		cmocka_unit_test(texture_coordinates_begin_at_the_top),
		cmocka_unit_test(every_spelling_of_a_corner_is_read),
		cmocka_unit_test(negative_indices_count_from_where_they_stand),
		cmocka_unit_test(positive_indices_may_look_ahead),
		cmocka_unit_test(impossible_indices_drop_their_face_only),
		cmocka_unit_test(texture_coordinates_that_do_not_exist_are_none),
		cmocka_unit_test(polygons_are_cut),
		cmocka_unit_test(vertex_colours_become_linear),
		cmocka_unit_test(objects_and_materials_split_meshes),
		cmocka_unit_test(groups_are_objects_when_there_are_no_objects),
		cmocka_unit_test(lines_and_points_are_kept),
		cmocka_unit_test(positions_alone_are_a_cloud),
		cmocka_unit_test(faces_without_normals_and_smoothing_groups_are_a_flat_mesh),
		cmocka_unit_test(faces_before_a_smoothing_group_have_normals_of_their_own),
		cmocka_unit_test(smoothing_off_gives_flat_normals_beside_others),
		cmocka_unit_test(smoothing_groups_share_normals_within),
		cmocka_unit_test(normals_of_the_file_win_over_smoothing),
		cmocka_unit_test(normals_of_any_length_become_unit_length),
		cmocka_unit_test(line_ends_and_odd_numbers_are_understood),
		cmocka_unit_test(infinite_positions_drop_their_faces),
		cmocka_unit_test(unreadable_lines_are_noted_with_the_first_place),
		cmocka_unit_test(an_empty_file_is_refused),
		cmocka_unit_test(libraries_are_found),
		cmocka_unit_test(textures_are_relative_to_their_library),
		cmocka_unit_test(a_missing_library_is_a_warning_and_a_dependency),
		cmocka_unit_test(several_libraries_add_up_and_the_first_definition_counts),
		cmocka_unit_test(many_material_changes_stay_fast),
		cmocka_unit_test(a_huge_polygon_does_not_hang),
		cmocka_unit_test(damaged_files_are_refused_or_obey_the_rules),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
