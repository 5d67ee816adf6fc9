/* Every form of accessor, tested through meshes. */
#include "tests/unit/import/gltf_fixture.h"

static const hob_mesh *only_mesh(const gltf_fixture *f)
{
	assert_imported(f);
	assert_int_equal(f->model.mesh_count, 1);
	return &f->model.meshes[0];
}

static void integer_uvs_become_fractions(void **state)
{
	(void)state;
	static const uint8_t bytes[12] = {0, 255, 0, 0, 51, 102, 0, 0, 255, 0, 0, 0};
	static const uint16_t shorts[6] = {0, 65535, 13107, 26214, 65535, 0};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_accessor(f, fixture_view(f, bytes, sizeof bytes, ",'byteStride':4"), 5121, "VEC2", 3,
					 ",'normalized':true");
	fixture_accessor(f, fixture_view(f, shorts, sizeof shorts, ""), 5123, "VEC2", 3, ",'normalized':true");
	fixture_import(f,
				   "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'TEXCOORD_0':1,'TEXCOORD_1':2}}]}]");
	assert_floats(only_mesh(f)->uv[0], 0, 0, 1, 51 / 255.0f, 102 / 255.0f, 1, 0);
	assert_floats(only_mesh(f)->uv[1], 0, 0, 1, 13107 / 65535.0f, 26214 / 65535.0f, 1, 0);
	fixture_free(f);
}

static void quantised_positions_and_normals_are_read(void **state)
{
	(void)state;
	static const int16_t positions[12] = {0, 0, 0, 0, 300, 0, -5, 0, 0, 32767, -32768, 0};
	static const int8_t normals[12] = {0, 0, 127, 0, 127, 0, 0, 0, -128, 0, 0, 0};
	gltf_fixture *f = fixture_new();
	fixture_accessor(f, fixture_view(f, positions, sizeof positions, ",'byteStride':8"), 5122, "VEC3", 3, "");
	fixture_accessor(f, fixture_view(f, normals, sizeof normals, ",'byteStride':4"), 5120, "VEC3", 3,
					 ",'normalized':true");
	fixture_import(
		f, "'extensionsUsed':['KHR_mesh_quantization'],'extensionsRequired':['KHR_mesh_quantization'],"
		   "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1}}]}]");
	assert_floats(only_mesh(f)->position, 0, 0, 0, 0, 300, 0, -5, 0, 32767, -32768);
	assert_floats(only_mesh(f)->normal, 0, 0, 0, 1, 1, 0, 0, -1, 0, 0);
	fixture_free(f);
}

static void normalised_16_bit_positions_reach_one(void **state)
{
	(void)state;
	static const uint16_t positions[12] = {0, 0, 0, 0, 65535, 0, 0, 0, 0, 65535, 0, 0};
	gltf_fixture *f = fixture_new();
	fixture_accessor(f, fixture_view(f, positions, sizeof positions, ",'byteStride':8"), 5123, "VEC3", 3,
					 ",'normalized':true");
	fixture_import(f, TRIANGLE_MESH);
	assert_floats(only_mesh(f)->position, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0);
	fixture_free(f);
	/* The smallest and largest signed integers: both map to one. */
	static const int16_t ends[12] = {0, 0, 0, 0, 32767, -32767, -32768, 0, 0, 1, 0, 0};
	f = fixture_new();
	fixture_accessor(f, fixture_view(f, ends, sizeof ends, ",'byteStride':8"), 5122, "VEC3", 3,
					 ",'normalized':true");
	fixture_import(f, TRIANGLE_MESH);
	assert_floats(only_mesh(f)->position, 1e-9f, 0, 0, 0, 1, -1, -1, 0, 1.0f / 32767, 0);
	fixture_free(f);
}

static void interleaved_attributes_follow_stride_and_offset(void **state)
{
	(void)state;
	static const float vertices[3][6] = {{0, 0, 0, 0, 0, 1}, {1, 0, 0, 0, 1, 0}, {0, 1, 0, 1, 0, 0}};
	gltf_fixture *f = fixture_new();
	uint32_t view = fixture_view(f, vertices, sizeof vertices, ",'byteStride':24");
	fixture_accessor(f, view, 5126, "VEC3", 3, "");
	fixture_accessor(f, view, 5126, "VEC3", 3, ",'byteOffset':12");
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1}}]}]");
	assert_floats(only_mesh(f)->position, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0);
	assert_floats(only_mesh(f)->normal, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0);
	fixture_free(f);
}

static void sparse_values_replace_base_values(void **state)
{
	(void)state;
	static const uint16_t at[2] = {0, 2};
	static const float values[6] = {9, 9, 9, 0, 7, 0};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f); /* its view 0 is the base */
	fixture_view(f, at, sizeof at, "");
	fixture_view(f, values, sizeof values, "");
	fixture_accessor(
		f, 0, 5126, "VEC3", 3,
		",'sparse':{'count':2,'indices':{'bufferView':1,'componentType':5123},'values':{'bufferView':2}}");
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':1}}]}]");
	assert_floats(only_mesh(f)->position, 0, 9, 9, 9, 1, 0, 0, 0, 7, 0);
	fixture_free(f);
}

static void sparse_may_replace_every_element_but_none_twice(void **state)
{
	(void)state;
	static const uint8_t at[3] = {0, 1, 2}, twice[3] = {0, 1, 1};
	static const float values[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	for (int i = 0; i < 2; i++) {
		gltf_fixture *f = fixture_new();
		fixture_view(f, i ? twice : at, sizeof at, "");
		fixture_view(f, values, sizeof values, "");
		fixture_accessor(f, HOB_NONE, 5126, "VEC3", 3,
						 ",'sparse':{'count':3,'indices':{'bufferView':0,'componentType':5121},'values':{'"
						 "bufferView':1}}");
		fixture_import(f, TRIANGLE_MESH);
		if (i == 0)
			assert_floats(only_mesh(f)->position, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
		else
			assert_refused(f, CORRUPT, "sparse indices do not rise: 1 after 1");
		fixture_free(f);
	}
}

static void sparse_without_base_starts_from_zeros(void **state)
{
	(void)state;
	static const uint8_t at[2] = {1, 2};
	static const float values[6] = {2, 0, 0, 0, 3, 0};
	gltf_fixture *f = fixture_new();
	fixture_view(f, at, sizeof at, "");
	fixture_view(f, values, sizeof values, "");
	fixture_accessor(
		f, HOB_NONE, 5126, "VEC3", 3,
		",'sparse':{'count':2,'indices':{'bufferView':0,'componentType':5121},'values':{'bufferView':1}}");
	fixture_import(f, TRIANGLE_MESH);
	assert_floats(only_mesh(f)->position, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0);
	fixture_free(f);
}

static void sparse_survives_when_only_some_vertices_are_used(void **state)
{
	(void)state;
	enum { VERTICES = 100 };
	static float positions[VERTICES * 3];
	static const uint32_t indices[3] = {90, 5, 40}, at[2] = {5, 41};
	static const float values[6] = {1, 2, 3, 4, 5, 6};
	for (int i = 0; i < VERTICES * 3; i++)
		positions[i] = (float)i;
	gltf_fixture *f = fixture_new();
	fixture_view(f, positions, sizeof positions, "");
	fixture_view(f, at, sizeof at, "");
	fixture_view(f, values, sizeof values, "");
	fixture_accessor(
		f, 0, 5126, "VEC3", VERTICES,
		",'sparse':{'count':2,'indices':{'bufferView':1,'componentType':5125},'values':{'bufferView':2}}");
	fixture_accessor(f, fixture_view(f, indices, sizeof indices, ""), 5125, "SCALAR", 3, "");
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':1}]}]");
	assert_int_equal(only_mesh(f)->vertex_count, 3);
	assert_ids(only_mesh(f)->indices, 0, 1, 2);
	assert_floats(only_mesh(f)->position, 0, 270, 271, 272, 1, 2, 3, 120, 121, 122);
	fixture_free(f);
}

static void a_range_of_a_shared_buffer_is_rebased(void **state)
{
	(void)state;
	static float positions[30];
	static const uint16_t indices[6] = {4, 5, 6, 6, 5, 7};
	for (int i = 0; i < 30; i++)
		positions[i] = (float)i;
	gltf_fixture *f = fixture_new();
	fixture_floats(f, "VEC3", 10, positions, sizeof positions);
	fixture_accessor(f, fixture_view(f, indices, sizeof indices, ""), 5123, "SCALAR", 6, "");
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':1}]}]");
	assert_int_equal(only_mesh(f)->vertex_count, 4);
	assert_ids(only_mesh(f)->indices, 0, 1, 2, 2, 1, 3);
	assert_floats(only_mesh(f)->position, 0, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23);
	fixture_free(f);
}

static void every_index_width_gives_the_same_mesh(void **state)
{
	(void)state;
	static const uint8_t bytes[3] = {2, 0, 1};
	static const uint16_t shorts[3] = {2, 0, 1};
	static const uint32_t words[3] = {2, 0, 1};
	const struct {
		const void *data;
		size_t size;
		int component;
	} forms[] = {{bytes, sizeof bytes, 5121}, {shorts, sizeof shorts, 5123}, {words, sizeof words, 5125}};
	for (size_t i = 0; i < HOB_COUNT_OF(forms); i++) {
		gltf_fixture *f = fixture_new();
		fixture_triangle(f);
		fixture_accessor(f, fixture_view(f, forms[i].data, forms[i].size, ""), forms[i].component, "SCALAR",
						 3, "");
		fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':1}]}]");
		assert_ids(only_mesh(f)->indices, 2, 0, 1);
		fixture_free(f);
	}
}

static void missing_indices_count_up(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_import(f, TRIANGLE_MESH);
	assert_int_equal(only_mesh(f)->index_count, 3);
	assert_ids(only_mesh(f)->indices, 0, 1, 2);
	assert_null(only_mesh(f)->normal);
	assert_null(only_mesh(f)->tangent);
	fixture_free(f);
}

/* ---- refusals: JSON of one accessor over view 0 (36 bytes), used as POSITION */

static void broken_accessors_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *accessor;
		hob_err_code code;
		const char *words;
	} cases[] = {
		{"'bufferView':0,'componentType':5126,'count':4,'type':'VEC3'", HOB_ERR_TRUNCATED,
		 "its 4 elements end at byte 48 of bufferViews[0], which has 36; accessor 0"},
		{"'bufferView':0,'byteOffset':4,'componentType':5126,'count':3,'type':'VEC3'", HOB_ERR_TRUNCATED,
		 "byte 40"},
		{"'bufferView':0,'byteOffset':4294967292,'componentType':5126,'count':3,'type':'VEC3'",
		 HOB_ERR_TRUNCATED, ""},
		{"'bufferView':0,'byteOffset':9007199254740992,'componentType':5126,'count':3,'type':'VEC3'",
		 HOB_ERR_TRUNCATED, ""},
		{"'bufferView':9,'componentType':5126,'count':3,'type':'VEC3'", HOB_ERR_CORRUPT, "'bufferView' is 9"},
		{"'bufferView':0,'componentType':5124,'count':3,'type':'VEC3'", HOB_ERR_CORRUPT,
		 "componentType is 5124"},
		{"'bufferView':0,'componentType':5126,'count':3,'type':'VEC9'", HOB_ERR_CORRUPT, "VEC9"},
		{"'bufferView':0,'componentType':5126,'count':3,'type':'MAT4'", HOB_ERR_TRUNCATED, ""},
		{"'bufferView':0,'componentType':5126,'count':3,'type':'VEC2'", HOB_ERR_CORRUPT,
		 "2 components, 3 are needed"},
		{"'bufferView':0,'componentType':5126,'count':0,'type':'VEC3'", HOB_ERR_CORRUPT, "no elements"},
		{"'bufferView':0,'componentType':5126,'count':-3,'type':'VEC3'", HOB_ERR_CORRUPT, "'count'"},
		{"'bufferView':0,'componentType':5126,'count':1.5,'type':'VEC3'", HOB_ERR_CORRUPT, "'count'"},
		{"'bufferView':0,'componentType':5126,'count':'3','type':'VEC3'", HOB_ERR_CORRUPT, "a string"},
		{"'bufferView':0,'componentType':5126,'count':2000000000,'type':'VEC3'", HOB_ERR_LIMIT, "2000000000"},
		{"'componentType':5126,'count':100000000,'type':'VEC3'", HOB_ERR_LIMIT, "without data"},
		{"'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','sparse':{'count':4}", HOB_ERR_CORRUPT,
		 "sparse count is 4"},
		{"'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','sparse':{'count':0}", HOB_ERR_CORRUPT,
		 "sparse count is 0"},
		{"'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','sparse':{'count':1,'indices':{'"
		 "bufferView':1,"
		 "'componentType':5125},'values':{'bufferView':0}}",
		 HOB_ERR_CORRUPT, "sparse index 9 of 3"},
		{"'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','sparse':{'count':2,'indices':{'"
		 "bufferView':2,"
		 "'componentType':5121},'values':{'bufferView':0}}",
		 HOB_ERR_CORRUPT, "do not rise"},
	};
	static const uint32_t nine = 9;
	static const uint8_t falling[2] = {1, 0};
	static const float positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		fixture_view(f, positions, sizeof positions, "");
		fixture_view(f, &nine, sizeof nine, "");
		fixture_view(f, falling, sizeof falling, "");
		char text[600];
		snprintf(text, sizeof text, "'accessors':[{%s}]," TRIANGLE_MESH, cases[i].accessor);
		fixture_import(f, text);
		if (f->ok || f->error.code != cases[i].code || !strstr(f->error.context, cases[i].words))
			fail_msg("%s: %s: %s", cases[i].accessor, f->ok ? "accepted" : hob_err_name(f->error.code),
					 f->error.context);
		fixture_free(f);
	}
}

static void broken_views_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *view, *words;
	} cases[] = {
		{"'buffer':0,'byteLength':37",
		 "ends at byte 37 of buffers[0], which has 36; bufferViews[0]; accessor 0"},
		{"'buffer':0,'byteOffset':1,'byteLength':36", "byte 37"},
		{"'buffer':0,'byteLength':36,'byteStride':8", "byteStride 8"},
		{"'buffer':0,'byteLength':36,'byteStride':256", "byteStride is 256"},
		{"'buffer':0,'byteLength':36,'byteStride':252", "end at byte 516"},
		{"'buffer':1,'byteLength':36", "'buffer' is 1"},
		{"'byteLength':36", "'buffer' is missing"},
		{"'buffer':0", "'byteLength' is missing"},
		{"'buffer':0,'byteLength':-1", "'byteLength'"},
		{"'buffer':0,'byteLength':0", "end at byte 36"},
	};
	static const float positions[9] = {0};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		hob_buf_put(&f->bin, positions, sizeof positions);
		char text[600];
		snprintf(text, sizeof text,
				 "'bufferViews':[{%s}],'accessors':[{'bufferView':0,'componentType':5126,'count':3,"
				 "'type':'VEC3'}]," TRIANGLE_MESH,
				 cases[i].view);
		fixture_import(f, text);
		if (f->ok || !strstr(f->error.context, cases[i].words))
			fail_msg("%s: %s", cases[i].view, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
	}
}

static void zero_filled_accessors_share_one_budget(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	for (int i = 0; i < 3; i++)
		fixture_accessor(f, HOB_NONE, 5126, "VEC3", 3000000, "");
	fixture_import(f, TRIANGLE_MESH);
	assert_imported(f);
	fixture_import(f,
				   "'meshes':[{'primitives':[{'attributes':{'POSITION':0}},{'attributes':{'POSITION':1}}]}]");
	assert_refused(f, LIMIT, "accessor 1; primitive 1; meshes[0]");
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integer_uvs_become_fractions),
		cmocka_unit_test(quantised_positions_and_normals_are_read),
		cmocka_unit_test(normalised_16_bit_positions_reach_one),
		cmocka_unit_test(interleaved_attributes_follow_stride_and_offset),
		cmocka_unit_test(sparse_values_replace_base_values),
		cmocka_unit_test(sparse_may_replace_every_element_but_none_twice),
		cmocka_unit_test(sparse_without_base_starts_from_zeros),
		cmocka_unit_test(sparse_survives_when_only_some_vertices_are_used),
		cmocka_unit_test(a_range_of_a_shared_buffer_is_rebased),
		cmocka_unit_test(every_index_width_gives_the_same_mesh),
		cmocka_unit_test(missing_indices_count_up),
		cmocka_unit_test(broken_accessors_are_refused),
		cmocka_unit_test(broken_views_are_refused),
		cmocka_unit_test(zero_filled_accessors_share_one_budget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
