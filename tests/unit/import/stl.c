#include "tests/unit/import/reader_fixture.h"

static const char triangle[] = "solid one\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
							   "vertex 0 1 0\nendloop\nendfacet\nendsolid one\n";

static reader *stl(const char *text)
{
	reader *r = reader_new(&hob_stl_importer);
	reader_add(r, "model.stl", text);
	return r;
}

/* A binary file of `count` facets; facet i spans (i,0,0) (i+1,0,0) (i,1,0). */
static hob_buf binary(const char *header, uint32_t count, uint16_t attribute)
{
	hob_buf buf = {0};
	char head[84] = {0};
	memcpy(head, header, strlen(header));
	hob_store_u32(head + 80, count);
	hob_buf_put(&buf, head, sizeof head);
	for (uint32_t i = 0; i < count; i++) {
		float x = (float)i;
		const float values[12] = {0, 0, 1, x, 0, 0, x + 1, 0, 0, x, 1, 0};
		hob_buf_put(&buf, values, sizeof values);
		hob_buf_put(&buf, &attribute, 2);
	}
	return buf;
}

static reader *stl_of(const hob_buf *buf)
{
	reader *r = reader_new(&hob_stl_importer);
	reader_add_bytes(r, "model.stl", buf->data, buf->size);
	return r;
}

static void text_is_read(void **state)
{
	(void)state;
	reader *r = stl(triangle);
	const hob_model *model = reader_model(r);
	assert_int_equal(model->mesh_count, 1);
	assert_int_equal(model->meshes[0].vertex_count, 3);
	assert_vector(model->meshes[0].position + 3, 1, 0, 0);
	assert_true(model->meshes[0].flat && !model->meshes[0].normal);
	assert_name(model->nodes[0].name, "one");
	assert_int_equal(r->notes.count, 0);
	reader_free(r);
}

static void text_is_read_in_any_dress(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"SOLID\nFACET NORMAL 0 0 1\nOUTER LOOP\nVERTEX 0 0 0\nVERTEX 1 0 0\nVERTEX 0 1 "
		"0\nENDLOOP\nENDFACET\nENDSOLID",
		"solid x\r\n facet normal 0 0 1\r\n  outer loop\r\n   vertex 0 0 0\r\n   vertex 1 0 0\r\n   vertex 0 "
		"1 0\r\n"
		"  endloop\r\n endfacet\r\nendsolid\r\n",
		"# made by hand\nsolid x\nfacet\nouter loop\nvertex 0 0 0 # first\nvertex 1e0 0 0\nvertex 0 1. "
		"0\nendloop\n"
		"endfacet\nendsolid",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++) {
		reader *r = stl(texts[i]);
		assert_int_equal(model_triangles(reader_model(r)), 1);
		assert_vector(r->model.meshes[0].position + 6, 0, 1, 0);
		reader_free(r);
	}
}

static void several_solids_become_several_nodes(void **state)
{
	(void)state;
	char text[1024];
	snprintf(text, sizeof text, "%ssolid empty\nendsolid\n%s", triangle, triangle);
	reader *r = stl(text);
	const hob_model *model = reader_model(r);
	assert_int_equal(model->node_count, 2);
	assert_int_equal(model->mesh_count, 2);
	assert_int_equal(model->scene_root_count, 2);
	reader_free(r);
}

static void polygons_in_text_become_fans(void **state)
{
	(void)state;
	reader *r =
		stl("solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nvertex 0 1 0\n"
			"endloop\nendfacet\nendsolid\n");
	const hob_model *model = reader_model(r);
	assert_int_equal(model_triangles(model), 2);
	assert_vector(model->meshes[0].position + 9, 0, 0, 0);
	assert_vector(model->meshes[0].position + 15, 0, 1, 0);
	reader_free(r);
}

static void binary_is_read_even_when_it_begins_like_text(void **state)
{
	(void)state;
	static const char *const headers[] = {"", "made by x", "solid thing", "solid facet normal"};
	for (size_t i = 0; i < HOB_COUNT_OF(headers); i++) {
		hob_buf buf = binary(headers[i], 3, 0);
		reader *r = stl_of(&buf);
		const hob_model *model = reader_model(r);
		assert_int_equal(model_triangles(model), 3);
		assert_vector(model->meshes[0].position + 18, 2, 0, 0);
		assert_true(model->meshes[0].flat);
		assert_null(model->meshes[0].color[0]);
		reader_free(r);
		hob_buf_release(&buf);
	}
}

static void facet_normals_come_from_the_corners(void **state)
{
	(void)state;
	hob_buf buf = binary("", 3, 0);
	const float zero[3] = {0, 0, 0}, wrong[3] = {0, 0, -1}, bad[3] = {NAN, 0, 0};
	memcpy(buf.data + 84, zero, 12);
	memcpy(buf.data + 134, wrong, 12);
	memcpy(buf.data + 184, bad, 12);
	reader *r = stl_of(&buf);
	assert_true(reader_model(r)->meshes[0].flat);
	assert_true(reader_noted(r, "stl.normals"));
	reader_free(r);
	hob_buf_release(&buf);
}

static void colours_of_both_customs_are_read(void **state)
{
	(void)state;
	/* VisCAM: bit 15 set, red in the high bits. */
	hob_buf buf = binary("viscam", 1, 0x8000 | 31 << 10);
	reader *r = stl_of(&buf);
	assert_vector(reader_model(r)->meshes[0].color[0], 1, 0, 0);
	assert_true(reader_noted(r, "stl.colors"));
	reader_free(r);
	hob_buf_release(&buf);
	/* Magics: bit 15 clear, red in the low bits; set = the colour of the header. */
	buf = binary("COLOR=\xFF\xFF\x01\xFF,MATERIAL=", 2, 31);
	buf.data[84 + 50 + 48 + 1] = 0x80;
	r = stl_of(&buf);
	const hob_model *model = reader_model(r);
	assert_vector(model->meshes[0].color[0], 1, 0, 0);
	assert_vector(model->meshes[0].color[0] + 12, 1, 1, 0.0003035f);
	reader_free(r);
	hob_buf_release(&buf);
}

static void cut_files_are_told_from_whole_ones(void **state)
{
	(void)state;
	hob_buf buf = binary("", 3, 0);
	for (size_t size = 84; size < buf.size; size++) {
		reader *r = reader_new(&hob_stl_importer);
		reader_add_bytes(r, "model.stl", buf.data, size);
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, HOB_ERR_TRUNCATED);
		reader_free(r);
	}
	hob_buf_put(&buf, "trailing", 8);
	reader *r = stl_of(&buf);
	assert_int_equal(model_triangles(reader_model(r)), 3);
	assert_true(reader_noted(r, "stl.trailing-bytes"));
	reader_free(r);
	hob_buf_release(&buf);
	r = stl("solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n");
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_TRUNCATED);
	reader_free(r);
	r = stl("solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n");
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_TRUNCATED);
	reader_free(r);
}

static void what_holds_nothing_is_empty(void **state)
{
	(void)state;
	hob_buf buf = binary("", 0, 0);
	reader *r = stl_of(&buf);
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_EMPTY);
	reader_free(r);
	hob_buf_release(&buf);
	r = stl("solid\nendsolid\n");
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_EMPTY);
	reader_free(r);
}

/* 84 bytes that claim four thousand million facets. */
static void counts_are_checked_before_memory_is_asked_for(void **state)
{
	(void)state;
	hob_buf buf = binary("", 0, 0);
	hob_store_u32(buf.data + 80, 0xFFFFFFFF);
	reader *r = stl_of(&buf);
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_TRUNCATED);
	assert_true(r->result.used < 1000);
	reader_free(r);
	hob_buf_release(&buf);
}

static void broken_text_names_its_line(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"solid\nvertex 0 0 0\n",
		"solid\nfacet normal 0 0 1\nfacet normal 0 0 1\n",
		"solid\nfacet normal 0 0 1\nendfacet\n",
		"solid\nfacet normal a b c\n",
		"solid\nfacet\nouter loop\nvertex 0 0\n",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++) {
		reader *r = stl(texts[i]);
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, HOB_ERR_CORRUPT);
		assert_non_null(strstr(r->error.context, "line "));
		reader_free(r);
	}
}

static void infinite_corners_drop_their_facet(void **state)
{
	(void)state;
	hob_buf buf = binary("", 3, 0);
	const float bad = INFINITY;
	memcpy(buf.data + 84 + 50 + 12, &bad, 4);
	reader *r = stl_of(&buf);
	assert_int_equal(model_triangles(reader_model(r)), 2);
	assert_true(reader_noted(r, "mesh.bad-faces"));
	reader_free(r);
	hob_buf_release(&buf);
}

static void damaged_files_are_refused_or_obey_the_rules(void **state)
{
	(void)state;
	reader *r = stl(triangle);
	reader_damage(r, 1);
	reader_free(r);
	hob_buf buf = binary("COLOR=abcd", 3, 7);
	r = stl_of(&buf);
	reader_damage(r, 1);
	reader_free(r);
	hob_buf_release(&buf);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	reader *r = stl(triangle);
	reader_starve(r);
	reader_free(r);
	hob_buf buf = binary("COLOR=abcd", 3, 7);
	r = stl_of(&buf);
	reader_starve(r);
	reader_free(r);
	hob_buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_read),
		cmocka_unit_test(text_is_read_in_any_dress),
		cmocka_unit_test(several_solids_become_several_nodes),
		cmocka_unit_test(polygons_in_text_become_fans),
		cmocka_unit_test(binary_is_read_even_when_it_begins_like_text),
		cmocka_unit_test(facet_normals_come_from_the_corners),
		cmocka_unit_test(colours_of_both_customs_are_read),
		cmocka_unit_test(cut_files_are_told_from_whole_ones),
		cmocka_unit_test(what_holds_nothing_is_empty),
		cmocka_unit_test(counts_are_checked_before_memory_is_asked_for),
		cmocka_unit_test(broken_text_names_its_line),
		cmocka_unit_test(infinite_corners_drop_their_facet),
		cmocka_unit_test(damaged_files_are_refused_or_obey_the_rules),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
