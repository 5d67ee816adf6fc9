#include "tests/unit/import/reader_fixture.h"

#define HEAD "ply\nformat ascii 1.0\n"
#define XYZ	 "property float x\nproperty float y\nproperty float z\n"
#define FACE "property list uchar int vertex_indices\n"

static reader *ply(const char *text)
{
	reader *r = reader_new(&hob_ply_importer);
	reader_add(r, "a/model.ply", text);
	return r;
}

static const hob_mesh *one_mesh(reader *r)
{
	const hob_model *model = reader_model(r);
	assert_int_equal(model->mesh_count, 1);
	assert_int_equal(model->node_count, 1);
	return &model->meshes[0];
}

static void text_is_read(void **state)
{
	(void)state;
	reader *r = ply(HEAD "comment made by hand\nobj_info x\nelement vertex 4\n" XYZ "element face 2\n" FACE
						 "end_header\n0 0 0\n1 0 0\n1 1 0\n0 1 .5\n3 0 1 2\n3 0 2 3\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_int_equal(mesh->topology, HOB_TRIANGLES);
	assert_int_equal(mesh->vertex_count, 4);
	assert_int_equal(mesh->index_count, 6);
	assert_vector(mesh->position + 9, 0, 1, 0.5f);
	assert_null(mesh->normal);
	assert_int_equal(r->notes.count, 0);
	reader_free(r);
}

/* Lines may end in CR alone; an LF as the first byte of the data then belongs to the data. */
static void binary_data_begins_behind_a_header_of_cr(void **state)
{
	(void)state;
	static const char *const ends[] = {"\r", "\n", "\r\n"};
	static const float points[9] = {
		1.0000011920928955f, 0, 0, 3, 0, 0, 3, 1, 0}; /* begins with the byte 0x0A */
	for (size_t i = 0; i < HOB_COUNT_OF(ends); i++) {
		hob_buf file = {0};
		const char *lines[] = {"ply",
							   "format binary_little_endian 1.0",
							   "element vertex 3",
							   "property float x",
							   "property float y",
							   "property float z",
							   "element face 1",
							   "property list uchar int vertex_index",
							   "end_header"};
		for (size_t k = 0; k < HOB_COUNT_OF(lines); k++)
			hob_buf_printf(&file, "%s%s", lines[k], ends[i]);
		hob_buf_put(&file, points, sizeof points);
		hob_buf_put(&file, "\3\0\0\0\0\1\0\0\0\2\0\0\0", 13);
		assert_int_equal(((const uint8_t *)points)[0], 0x0A);
		reader *r = reader_new(&hob_ply_importer);
		reader_add_bytes(r, "a/model.ply", file.data, file.size);
		const hob_mesh *mesh = one_mesh(r);
		assert_vector(mesh->position, points[0], 0, 0);
		assert_vector(mesh->position + 6, 3, 1, 0);
		reader_free(r);
		hob_buf_release(&file);
	}
}

static void rows_must_hold_what_the_header_says(void **state)
{
	(void)state;
	static const struct {
		const char *rows;
		bool refused;
	} cases[] = {
		{"0 0 0 9\n1 0 0 9\n1 1 0 9\n0 1 0 9\n3 0 1 2\n3 0 2 3\n", true},
		{"0 0 0 9 8\r\n1 0 0 9 8\r\n1 1 0 9 8\r\n0 1 0 9 8\r\n3 0 1 2 7\r\n3 0 2 3 7\r\n", true},
		{"0 0 0 1 0 0\n1 1 0 0 1 0\n3 0 1 2 3 0 2 3\n", false},
		{"0 0 0 1 0 0 1 1 0 0 1 0 3 0 1 2 3 0 2 3", false},
		{"0\n0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n", false},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[512];
		snprintf(text, sizeof text, HEAD "element vertex 4\n" XYZ "element face 2\n" FACE "end_header\n%s",
				 cases[i].rows);
		reader *r = ply(text);
		assert_int_equal(reader_run(r), !cases[i].refused);
		if (cases[i].refused) {
			assert_int_equal(r->error.code, HOB_ERR_CORRUPT);
		} else {
			assert_int_equal(r->model.meshes[0].index_count, 6);
			assert_vector(r->model.meshes[0].position + 6, 1, 1, 0);
		}
		reader_free(r);
	}
}

static void what_is_not_read_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *vertex, *row, *face, *face_row, *code;
		hob_note_level level;
	} cases[] = {
		{"property float quality\n", " 1", "", "", "ply.properties", HOB_NOTE_INFO},
		{"property uchar gray\n", " 1", "", "", "ply.properties", HOB_NOTE_WARNING},
		{"property float texture_u2\n", " 1", "", "", "ply.properties", HOB_NOTE_WARNING},
		{"", "", "property float nx\n", " 1", "ply.properties", HOB_NOTE_INFO},
		{"", "", "property int material_index\n", " 1", "ply.properties", HOB_NOTE_WARNING},
		{"", "", "property list uchar float color\n", " 1 1", "ply.properties", HOB_NOTE_WARNING},
		{"property uchar red\nproperty uchar green\nproperty uchar blue\n", " 1 2 3",
		 "property uchar red\nproperty uchar green\nproperty uchar blue\n", " 1 2 3", "ply.face-colors",
		 HOB_NOTE_WARNING},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[1024];
		snprintf(text, sizeof text,
				 HEAD "element vertex 3\n" XYZ "%selement face 1\n" FACE
					  "%send_header\n0 0 0%s\n1 0 0%s\n0 1 0%s\n3 0 1 2%s\n",
				 cases[i].vertex, cases[i].face, cases[i].row, cases[i].row, cases[i].row, cases[i].face_row);
		reader *r = ply(text);
		one_mesh(r);
		assert_int_equal(r->notes.count, 1);
		assert_true(reader_noted(r, cases[i].code));
		assert_int_equal(r->notes.items[0].level, cases[i].level);
		reader_free(r);
	}
	reader *r = ply(HEAD "element vertex 3\n" XYZ "element face 1\n" FACE
						 "element edge 1\nproperty int vertex1\nproperty int vertex2\nend_header\n"
						 "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n0 1\n");
	one_mesh(r);
	assert_true(reader_noted(r, "ply.edges"));
	reader_free(r);
}

/* The constant terms of spherical harmonics: 0.5 + 0.2820948 f. */
static void splats_are_coloured_points(void **state)
{
	(void)state;
	reader *r = ply(HEAD "element vertex 1\n" XYZ
						 "property float f_dc_0\nproperty float f_dc_1\nproperty float f_dc_2\n"
						 "property float f_rest_0\nproperty float opacity\nproperty float scale_0\n"
						 "property float rot_0\nend_header\n0 0 0 1.7724538 -1.7724538 0 9 9 9 9\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_int_equal(mesh->topology, HOB_POINTS);
	assert_vector(mesh->color[0], 1, 0, 0.21404114f);
	assert_int_equal(r->notes.count, 1);
	assert_true(reader_noted(r, "ply.splats"));
	reader_free(r);
}

/* Appends a number in the byte order of the binary body. */
static void put_number(hob_buf *buf, bool big, const void *value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hob_buf_put(buf, (const uint8_t *)value + (big ? size - 1 - i : i), 1);
}

static void put_f32(hob_buf *buf, bool big, float value)
{
	put_number(buf, big, &value, 4);
}

static hob_buf binary_quad(bool big)
{
	hob_buf buf = {0};
	hob_buf_printf(
		&buf,
		"ply\nformat binary_%s_endian 1.0\nelement vertex 4\nproperty double z\nproperty uchar red\n"
		"property uchar green\nproperty uchar blue\nproperty short x\nproperty int8 y\n"
		"element other 2\nproperty list ushort float junk\nproperty uint more\n"
		"element face 1\nproperty uchar flags\nproperty list uint8 uint16 vertex_index\nend_header\n",
		big ? "big" : "little");
	for (int i = 0; i < 4; i++) {
		double z = 0.25;
		int16_t x = (int16_t)(i == 1 || i == 2 ? -300 : 0);
		int8_t y = (int8_t)(i >= 2 ? -5 : 0);
		put_number(&buf, big, &z, 8);
		hob_buf_put(&buf, "\xFF\x80\x00", 3);
		put_number(&buf, big, &x, 2);
		put_number(&buf, big, &y, 1);
	}
	for (uint16_t i = 0; i < 2; i++) {
		uint32_t more = 7;
		put_number(&buf, big, &i, 2);
		for (int k = 0; k < i; k++)
			put_f32(&buf, big, 1);
		put_number(&buf, big, &more, 4);
	}
	hob_buf_put(&buf, "\x01\x04", 2);
	for (uint16_t i = 0; i < 4; i++)
		put_number(&buf, big, &i, 2);
	return buf;
}

static void both_byte_orders_any_type_and_order_are_read(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		hob_buf buf = binary_quad(big);
		reader *r = reader_new(&hob_ply_importer);
		reader_add_bytes(r, "model.ply", buf.data, buf.size);
		const hob_mesh *mesh = one_mesh(r);
		assert_int_equal(mesh->index_count, 6);
		assert_vector(mesh->position + 6, -300, -5, 0.25f);
		assert_vector(mesh->color[0], 1, 0.2158605f, 0);
		assert_near(mesh->color[0][3], 1);
		reader_free(r);
		hob_buf_release(&buf);
	}
}

static void names_of_texture_coordinates_and_normals(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {{"s", "t"}, {"u", "v"}, {"texture_u", "texture_v"}, {"s0", "t0"}};
	for (size_t i = 0; i < HOB_COUNT_OF(pairs); i++) {
		char text[1024];
		snprintf(text, sizeof text,
				 HEAD "element vertex 3\n" XYZ "property float nx\nproperty float ny\nproperty float nz\n"
					  "property float %s\nproperty float %s\nelement face 1\n" FACE
					  "end_header\n0 0 0 0 0 2 .25 .75\n1 0 0 0 0 1 0 0\n0 1 0 0 0 1 1 1\n3 0 1 2\n",
				 pairs[i][0], pairs[i][1]);
		reader *r = ply(text);
		const hob_mesh *mesh = one_mesh(r);
		assert_near(mesh->uv[0][0], 0.25f);
		assert_near(mesh->uv[0][1], 0.25f);
		assert_vector(mesh->normal, 0, 0, 1);
		reader_free(r);
	}
}

static void colours_of_floats_and_alpha(void **state)
{
	(void)state;
	reader *r =
		ply(HEAD "element vertex 1\n" XYZ "property float red\nproperty float green\nproperty float blue\n"
				 "property uchar alpha\nend_header\n0 0 0 0.5 1 0 51\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_vector(mesh->color[0], 0.2140411f, 1, 0);
	assert_near(mesh->color[0][3], 0.2f);
	reader_free(r);
}

static void points_edges_and_strips(void **state)
{
	(void)state;
	reader *r = ply(HEAD "element vertex 2\n" XYZ "end_header\n0 0 0\n1 0 0\n");
	assert_int_equal(one_mesh(r)->topology, HOB_POINTS);
	assert_int_equal(r->model.meshes[0].index_count, 2);
	reader_free(r);
	r = ply(HEAD "element vertex 2\n" XYZ
				 "element edge 1\nproperty int vertex1\nproperty int vertex2\nend_header\n"
				 "0 0 0\n1 0 0\n0 1\n");
	assert_int_equal(one_mesh(r)->topology, HOB_LINES);
	reader_free(r);
	r = ply(HEAD "element vertex 5\n" XYZ
				 "element tristrips 1\nproperty list int int vertex_indices\nend_header\n"
				 "0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 2 0\n9 0 1 2 3 -1 2 3 4 4\n");
	const hob_mesh *mesh = one_mesh(r);
	static const uint32_t expected[] = {0, 1, 2, 2, 1, 3, 2, 3, 4};
	assert_int_equal(mesh->index_count, 9);
	assert_memory_equal(mesh->indices, expected, sizeof expected);
	reader_free(r);
}

static void corner_coordinates_split_vertices_by_texture(void **state)
{
	(void)state;
	reader *r = ply("ply\nformat ascii 1.0\ncomment TextureFile one.png\ncomment TextureFile two.png\n"
					"element vertex 4\n" XYZ "element face 2\n" FACE
					"property list uchar float texcoord\nproperty int texnumber\nend_header\n"
					"0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2 6 0 0 1 0 1 1 0\n3 0 2 3 6 0 .25 1 1 0 1 1\n");
	reader_add(r, "a/one.png", "x");
	const hob_model *model = reader_model(r);
	assert_int_equal(model->mesh_count, 2);
	assert_int_equal(model->material_count, 2);
	assert_int_equal(model->meshes[1].material, 1);
	assert_name(model->images[0].path, "a/one.png");
	assert_name(model->images[1].path, "a/two.png");
	assert_int_equal(model->meshes[1].vertex_count, 3);
	assert_near(model->meshes[1].uv[0][1], 0.75f);
	assert_int_equal(model->nodes[0].mesh_count, 2);
	reader_free(r);
}

static void face_colours_become_vertex_colours(void **state)
{
	(void)state;
	reader *r = ply(HEAD "element vertex 4\n" XYZ "element face 2\n" FACE
						 "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n"
						 "0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2 255 0 0\n3 0 2 3 0 255 0\n");
	const hob_mesh *mesh = one_mesh(r);
	assert_int_equal(mesh->vertex_count, 6);
	assert_vector(mesh->color[0], 1, 0, 0);
	assert_vector(mesh->color[0] + 12, 0, 1, 0);
	reader_free(r);
}

static void bad_faces_are_left_out_and_noted(void **state)
{
	(void)state;
	reader *r =
		ply(HEAD "element vertex 4\n" XYZ "element face 5\n" FACE "end_header\n0 0 0\n1 0 0\n1 1 0\nnan 0 0\n"
				 "3 0 1 2\n3 0 1 4\n3 0 1 3\n2 0 1\n3 0 -1 2\n");
	assert_int_equal(one_mesh(r)->index_count, 3);
	assert_true(reader_noted(r, "mesh.bad-faces"));
	assert_vector(r->model.meshes[0].position + 9, 0, 0, 0);
	reader_free(r);
}

static void counts_are_checked_before_memory_is_asked_for(void **state)
{
	(void)state;
	static const char *const texts[] = {
		HEAD "element vertex 4000000000\n" XYZ "end_header\n0 0 0\n",
		"ply\nformat binary_little_endian 1.0\nelement vertex 99999999999999\n" XYZ "end_header\nabcdefgh",
		"ply\nformat binary_big_endian 1.0\nelement vertex 1\n" XYZ "element face 1\n"
		"property list uint int vertex_indices\nend_header\n0123456789ab\xFF\xFF\xFF\xFF",
		HEAD "element vertex 1\n" XYZ "element face 1\n" FACE "end_header\n0 0 0\n2000000000 1 2 3\n",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++) {
		reader *r = ply(texts[i]);
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, HOB_ERR_TRUNCATED);
		assert_true(r->result.used < 4096);
		reader_free(r);
	}
	/* An element without properties has rows of zero bytes, at any count. */
	reader *r = ply(HEAD "element nothing 4000000000\nelement vertex 1\n" XYZ "end_header\n0 0 0\n");
	assert_int_equal(one_mesh(r)->vertex_count, 1);
	reader_free(r);
}

static void broken_headers_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		hob_err_code code;
	} cases[] = {
		{"", HOB_ERR_CORRUPT},
		{"plx\n", HOB_ERR_CORRUPT},
		{"ply\n", HOB_ERR_TRUNCATED},
		{"ply\nend_header\n", HOB_ERR_CORRUPT},
		{"ply\nformat binary_mixed_endian 1.0\n", HOB_ERR_UNSUPPORTED},
		{HEAD "element vertex\n", HOB_ERR_CORRUPT},
		{HEAD "element vertex -1\n", HOB_ERR_CORRUPT},
		{HEAD XYZ, HOB_ERR_CORRUPT},
		{HEAD "element vertex 1\nproperty quux x\nend_header\n", HOB_ERR_CORRUPT},
		{HEAD "element vertex 1\nproperty list uchar x\nend_header\n", HOB_ERR_CORRUPT},
		{HEAD "element vertex 1\nproperty float x\nend_header\n1\n", HOB_ERR_CORRUPT},
		{HEAD "element vertex 1\n" XYZ "end_header\n1 2\n", HOB_ERR_TRUNCATED},
		{HEAD "element vertex 1\n" XYZ "end_header\n1 2 x\n", HOB_ERR_CORRUPT},
		{HEAD "element vertex 9\n" XYZ "format binary_little_endian 1.0\nend_header\n"
			  "1 2 3\n1 2 3\n1 2 3\n1 2 3\n1 2 3\n1 2 3\n1 2 3\n1 2 3\n1 2 3\n",
		 HOB_ERR_CORRUPT},
		{HEAD "end_header\n", HOB_ERR_EMPTY},
		{HEAD "element vertex 0\n" XYZ "end_header\n", HOB_ERR_EMPTY},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = ply(cases[i].text);
		assert_false(reader_run(r));
		if (r->error.code != cases[i].code)
			fail_msg("'%s' gives %s: %s", cases[i].text, hob_err_name(r->error.code), r->error.context);
		reader_free(r);
	}
}

static void a_message_names_the_word_that_is_no_number(void **state)
{
	(void)state;
	reader *r = ply(HEAD "element vertex 1\n" XYZ "end_header\n1 2 wrong\nand more\n");
	assert_false(reader_run(r));
	assert_non_null(strstr(r->error.context, "'wrong' is not a number"));
	reader_free(r);
}

static void comments_between_rows_are_skipped(void **state)
{
	(void)state;
	reader *r = ply(HEAD "element vertex 1\n" XYZ "end_header\n\ncomment one\n  comment two\n1 2 3\n");
	assert_vector(one_mesh(r)->position, 1, 2, 3);
	reader_free(r);
}

static void damaged_files_are_refused_or_obey_the_rules(void **state)
{
	(void)state;
	hob_buf buf = binary_quad(true);
	reader *r = reader_new(&hob_ply_importer);
	reader_add_bytes(r, "model.ply", buf.data, buf.size);
	reader_damage(r, 1);
	reader_free(r);
	hob_buf_release(&buf);
	r = ply(
		"ply\nformat ascii 1.0\ncomment TextureFile one.png\nelement vertex 4\n" XYZ
		"property uchar red\nproperty uchar green\nproperty uchar blue\nelement face 2\n" FACE
		"property list uchar float texcoord\nend_header\n0 0 0 1 2 3\n1 0 0 1 2 3\n1 1 0 1 2 3\n0 1 0 1 2 3\n"
		"4 0 1 2 3 8 0 0 1 0 1 1 0 1\n3 0 2 3 0\n");
	reader_damage(r, 1);
	reader_starve(r);
	reader_free(r);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	hob_buf buf = binary_quad(false);
	reader *r = reader_new(&hob_ply_importer);
	reader_add_bytes(r, "model.ply", buf.data, buf.size);
	reader_starve(r);
	reader_free(r);
	hob_buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_read),
		cmocka_unit_test(binary_data_begins_behind_a_header_of_cr),
		cmocka_unit_test(rows_must_hold_what_the_header_says),
		cmocka_unit_test(what_is_not_read_is_told),
		cmocka_unit_test(splats_are_coloured_points),
		cmocka_unit_test(both_byte_orders_any_type_and_order_are_read),
		cmocka_unit_test(names_of_texture_coordinates_and_normals),
		cmocka_unit_test(colours_of_floats_and_alpha),
		cmocka_unit_test(points_edges_and_strips),
		cmocka_unit_test(corner_coordinates_split_vertices_by_texture),
		cmocka_unit_test(face_colours_become_vertex_colours),
		cmocka_unit_test(bad_faces_are_left_out_and_noted),
		cmocka_unit_test(counts_are_checked_before_memory_is_asked_for),
		cmocka_unit_test(broken_headers_are_refused),
		cmocka_unit_test(a_message_names_the_word_that_is_no_number),
		cmocka_unit_test(comments_between_rows_are_skipped),
		cmocka_unit_test(damaged_files_are_refused_or_obey_the_rules),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
