/* Primitives: modes, attributes, influences, morph targets, repairs. */
#include "tests/unit/import/gltf_fixture.h"

static const hob_mesh *mesh_at(const gltf_fixture *f, uint32_t index)
{
	assert_imported(f);
	assert_true(index < f->model.mesh_count);
	return &f->model.meshes[index];
}

/* Five vertices on a line as accessor 0 and indices 0 1 2 3 as accessor 1. */
static gltf_fixture *five_points(void)
{
	static const float positions[15] = {0, 0, 0, 1, 0, 0, 2, 1, 0, 3, 0, 0, 4, 1, 0};
	static const uint8_t indices[4] = {0, 1, 2, 3};
	gltf_fixture *f = fixture_new();
	fixture_floats(f, "VEC3", 5, positions, sizeof positions);
	fixture_accessor(f, fixture_view(f, indices, sizeof indices, ""), 5121, "SCALAR", 4, "");
	return f;
}

static void modes_become_lists(void **state)
{
	(void)state;
	static const struct {
		int mode;
		hob_topology topology;
		uint32_t count, indices[8];
	} cases[] = {
		{0, HOB_POINTS, 4, {0, 1, 2, 3}},
		{1, HOB_LINES, 4, {0, 1, 2, 3}},
		{2, HOB_LINES, 8, {0, 1, 1, 2, 2, 3, 3, 0}},
		{3, HOB_LINES, 6, {0, 1, 1, 2, 2, 3}},
		{4, HOB_TRIANGLES, 3, {0, 1, 2}},
		{5, HOB_TRIANGLES, 6, {0, 1, 2, 1, 3, 2}},
		{6, HOB_TRIANGLES, 6, {1, 2, 0, 2, 3, 0}},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = five_points();
		char text[200];
		snprintf(text, sizeof text,
				 "'meshes':[{'primitives':[{'mode':%d,'attributes':{'POSITION':0},'indices':1}]}]",
				 cases[i].mode);
		fixture_import(f, text);
		assert_int_equal(mesh_at(f, 0)->topology, cases[i].topology);
		assert_int_equal(mesh_at(f, 0)->index_count, cases[i].count);
		assert_memory_equal(mesh_at(f, 0)->indices, cases[i].indices, cases[i].count * sizeof(uint32_t));
		assert_int_equal(has_note(f, "gltf.indices-left-over"), cases[i].mode == 4);
		fixture_free(f);
	}
}

static void stitches_of_a_strip_are_dropped(void **state)
{
	(void)state;
	static const uint16_t strip[8] = {0, 1, 2, 2, 3, 3, 4, 1};
	gltf_fixture *f = five_points();
	fixture_accessor(f, fixture_view(f, strip, sizeof strip, ""), 5123, "SCALAR", 8, "");
	fixture_import(f, "'meshes':[{'primitives':[{'mode':5,'attributes':{'POSITION':0},'indices':2}]}]");
	assert_int_equal(mesh_at(f, 0)->index_count, 6);
	assert_ids(mesh_at(f, 0)->indices, 0, 1, 2, 3, 1, 4);
	fixture_free(f);
}

static void the_shortest_strip_is_one_triangle(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_import(f, "'meshes':[{'primitives':[{'mode':5,'attributes':{'POSITION':0}},"
					  "{'mode':6,'attributes':{'POSITION':0}}]}]");
	assert_ids(mesh_at(f, 0)->indices, 0, 1, 2);
	assert_ids(mesh_at(f, 1)->indices, 1, 2, 0);
	fixture_free(f);
}

static void a_strip_without_indices_uses_all_vertices(void **state)
{
	(void)state;
	gltf_fixture *f = five_points();
	fixture_import(f, "'meshes':[{'primitives':[{'mode':5,'attributes':{'POSITION':0}}]}]");
	assert_int_equal(mesh_at(f, 0)->index_count, 9);
	assert_ids(mesh_at(f, 0)->indices, 0, 1, 2, 1, 3, 2, 2, 3, 4);
	fixture_free(f);
}

static void what_draws_nothing_is_left_out(void **state)
{
	(void)state;
	gltf_fixture *f = five_points();
	static const uint8_t two[2] = {0, 1};
	fixture_accessor(f, fixture_view(f, two, sizeof two, ""), 5121, "SCALAR", 2, "");
	fixture_import(
		f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':2},{'attributes':{'NORMAL':0}},"
		   "{'mode':6,'attributes':{'POSITION':0},'indices':2},{'attributes':{'POSITION':0}}]}],"
		   "'nodes':[{'mesh':0}]");
	assert_int_equal(f->model.mesh_count, 1);
	assert_int_equal(mesh_at(f, 0)->source_primitive, 3);
	assert_int_equal(f->model.nodes[0].mesh_count, 1);
	assert_true(has_note(f, "gltf.primitive-empty"));
	fixture_free(f);
}

static void primitives_stand_side_by_side(void **state)
{
	(void)state;
	gltf_fixture *f = five_points();
	fixture_import(
		f,
		"'materials':[{},{}],'meshes':[{'name':'a','primitives':[{'attributes':{'POSITION':0}}]},"
		"{'name':'b','primitives':[{'attributes':{'POSITION':0},'material':1},"
		"{'mode':1,'attributes':{'POSITION':0},'material':0}]}],'nodes':[{'mesh':1},{'mesh':1},{'mesh':0}]");
	assert_int_equal(f->model.mesh_count, 3);
	assert_text(mesh_at(f, 2)->name, "b");
	assert_int_equal(mesh_at(f, 2)->source_mesh, 1);
	assert_int_equal(mesh_at(f, 2)->source_primitive, 1);
	assert_int_equal(mesh_at(f, 1)->material, 1);
	assert_int_equal(mesh_at(f, 0)->material, HOB_NONE);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(f->model.nodes[i].mesh_count, 2);
		assert_int_equal(f->model.mesh_refs[f->model.nodes[i].mesh_first], 1);
	}
	assert_int_equal(f->model.mesh_refs[f->model.nodes[2].mesh_first], 0);
	fixture_free(f);
}

static void colors_of_three_and_four_components(void **state)
{
	(void)state;
	static const uint8_t rgb[12] = {255, 0, 51, 0, 0, 255, 0, 0, 0, 0, 255, 0};
	static const float rgba[12] = {0, 0, 0, 0.5f, 1, 1, 1, 1, 2, 0, 0, 0.25f};
	static const uint16_t shorts[12] = {65535, 0, 0, 0, 0, 65535, 0, 0, 0, 0, 65535, 0};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_accessor(f, fixture_view(f, rgb, sizeof rgb, ",'byteStride':4"), 5121, "VEC3", 3,
					 ",'normalized':true");
	fixture_floats(f, "VEC4", 3, rgba, sizeof rgba);
	fixture_accessor(f, fixture_view(f, shorts, sizeof shorts, ",'byteStride':8"), 5123, "VEC3", 3,
					 ",'normalized':true");
	fixture_import(
		f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'COLOR_0':1,'COLOR_1':2,'COLOR_2':3}}]}]");
	assert_floats(mesh_at(f, 0)->color[0], 0, 1, 0, 0.2f, 1, 0, 1, 0, 1, 0, 0, 1, 1);
	assert_floats(mesh_at(f, 0)->color[1], 0, 0, 0, 0, 0.5f, 1, 1, 1, 1, 2, 0, 0, 0.25f);
	assert_floats(mesh_at(f, 0)->color[2], 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1);
	fixture_free(f);
}

static void gaps_between_uv_sets_are_filled(void **state)
{
	(void)state;
	static const float uv[6] = {0.25f, 0.5f, 1, 2, 3, 4};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_floats(f, "VEC2", 3, uv, sizeof uv);
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'TEXCOORD_2':1}}]}]");
	for (int set = 0; set < 3; set++)
		assert_floats(mesh_at(f, 0)->uv[set], 0, 0.25f, 0.5f, 1, 2, 3, 4);
	assert_null(mesh_at(f, 0)->uv[3]);
	assert_true(mesh_at(f, 0)->uv[0] != mesh_at(f, 0)->uv[2]);
	fixture_free(f);
}

static void weights_of_every_type_and_several_sets(void **state)
{
	(void)state;
	static const uint8_t joints[12] = {0, 1, 9, 9, 1, 0, 0, 0, 0, 0, 0, 0},
						 byte_weights[12] = {255, 51, 0, 0, 255, 0, 0, 0, 255};
	static const uint16_t wide[12] = {1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0},
						  short_weights[12] = {13107, 0, 0, 0, 0, 0, 0, 0, 65535};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_accessor(f, fixture_view(f, joints, sizeof joints, ""), 5121, "VEC4", 3, "");
	fixture_accessor(f, fixture_view(f, byte_weights, sizeof byte_weights, ""), 5121, "VEC4", 3,
					 ",'normalized':true");
	fixture_accessor(f, fixture_view(f, wide, sizeof wide, ""), 5123, "VEC4", 3, "");
	fixture_accessor(f, fixture_view(f, short_weights, sizeof short_weights, ""), 5123, "VEC4", 3,
					 ",'normalized':true");
	fixture_import(
		f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2,'JOINTS_1':3,"
		   "'WEIGHTS_1':4}}]}],'skins':[{'joints':[0,1]}],'nodes':[{},{},{'mesh':0,'skin':0}]");
	const hob_mesh *mesh = mesh_at(f, 0);
	assert_int_equal(mesh->influence_count, 8);
	assert_floats(mesh->weights, 0, 1, 0.2f, 0, 0, 0.2f, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0,
				  0);
	static const uint16_t wanted[24] = {0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
										0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
	assert_memory_equal(mesh->joints, wanted, sizeof wanted);
	fixture_free(f);
}

static void a_joint_beyond_the_skin_is_refused(void **state)
{
	(void)state;
	static const uint8_t joints[12] = {0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
	static const float weights[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_accessor(f, fixture_view(f, joints, sizeof joints, ""), 5121, "VEC4", 3, "");
	fixture_floats(f, "VEC4", 3, weights, sizeof weights);
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2}}]}],"
					  "'skins':[{'joints':[0,1]}],'nodes':[{},{},{'mesh':0,'skin':0,'name':'body'}]");
	assert_refused(f, CORRUPT, "meshes[0] uses joint 2, skins[0] has 2; nodes[2] 'body'");
	fixture_free(f);
}

static void negative_and_absent_weights_are_noted(void **state)
{
	(void)state;
	static const uint8_t joints[12] = {0};
	static const float weights[12] = {1, -0.5f, 0, 0, 0, 0, 0, 0, NAN, 0, 0, 0};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_accessor(f, fixture_view(f, joints, sizeof joints, ""), 5121, "VEC4", 3, "");
	fixture_floats(f, "VEC4", 3, weights, sizeof weights);
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2}}]}]");
	assert_floats(mesh_at(f, 0)->weights, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	assert_true(has_note(f, "gltf.weights-negative") && has_note(f, "gltf.weights-zero") &&
				has_note(f, "gltf.not-finite"));
	fixture_free(f);
}

/* ---- morph targets */

static void morph_targets_keep_names_weights_and_sparse_deltas(void **state)
{
	(void)state;
	static const float up[9] = {0, 1, 0, 0, 1, 0, 0, 1, 0}, one[3] = {0, 0, 5};
	static const uint16_t at = 1;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_floats(f, "VEC3", 3, up, sizeof up);
	uint32_t indices = fixture_view(f, &at, sizeof at, ""), values = fixture_view(f, one, sizeof one, "");
	char sparse[200];
	snprintf(
		sparse, sizeof sparse,
		",'sparse':{'count':1,'indices':{'bufferView':%u,'componentType':5123},'values':{'bufferView':%u}}",
		indices, values);
	fixture_accessor(f, HOB_NONE, 5126, "VEC3", 3, sparse);
	fixture_accessor(f, HOB_NONE, 5126, "VEC3", 3, "");
	fixture_import(
		f, "'meshes':[{'weights':[0.5,0.25],'extras':{'targetNames':['smile','\xE7\xAC\x91']},'primitives':["
		   "{'attributes':{'POSITION':0},'targets':[{'POSITION':1,'NORMAL':3},{'POSITION':2,"
		   "'TEXCOORD_0':1}]}]}]");
	const hob_mesh *mesh = mesh_at(f, 0);
	assert_int_equal(mesh->target_count, 2);
	assert_text(mesh->targets[0].name, "smile");
	assert_text(mesh->targets[1].name, "\xE7\xAC\x91");
	assert_floats(&mesh->targets[0].weight, 0, 0.5f);
	assert_floats(&mesh->targets[1].weight, 0, 0.25f);
	assert_floats(mesh->targets[0].position, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0);
	assert_floats(mesh->targets[1].position, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0);
	assert_null(mesh->targets[0].normal); /* all zeros */
	assert_true(has_note(f, "gltf.morph-attribute"));
	fixture_free(f);
}

static void morph_targets_of_another_size_are_refused(void **state)
{
	(void)state;
	static const float two[6] = {0};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_floats(f, "VEC3", 2, two, sizeof two);
	fixture_import(
		f,
		"'meshes':[{'name':'face','primitives':[{'attributes':{'POSITION':0},'targets':[{'POSITION':1}]}]}]");
	assert_refused(f, CORRUPT,
				   "it has 2 elements, POSITION has 3; accessor 1; POSITION; morph target 0; primitive 0; "
				   "meshes[0] 'face'");
	fixture_free(f);
}

/* UniVRM before 0.43 wrote targets only for animated primitives. */
static void morph_targets_that_a_primitive_lacks_are_zero(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_import(f, "'meshes':[{'weights':[0.5,0.25],'extras':{'targetNames':['a','b']},'primitives':["
					  "{'attributes':{'POSITION':0}},"
					  "{'attributes':{'POSITION':0},'targets':[{'POSITION':0},{'POSITION':0}]},"
					  "{'attributes':{'POSITION':0},'targets':[{'POSITION':0}]}]}]");
	for (uint32_t i = 0; i < 3; i++) {
		const hob_mesh *mesh = mesh_at(f, i);
		assert_int_equal(mesh->target_count, 2);
		assert_text(mesh->targets[1].name, "b");
		assert_floats(&mesh->targets[0].weight, 0, 0.5f);
		assert_int_equal(mesh->targets[0].position != NULL, i >= 1);
		assert_int_equal(mesh->targets[1].position != NULL, i == 1);
	}
	assert_true(has_note(f, "gltf.morph-missing"));
	fixture_import(f, "'meshes':[{'weights':[0.5],'primitives':[{'attributes':{'POSITION':0},"
					  "'targets':[{'POSITION':0},{'POSITION':0}]}]}]");
	assert_floats(&mesh_at(f, 0)->targets[0].weight, 0, 0);
	assert_true(has_note(f, "gltf.mesh-weights"));
	fixture_free(f);
}

/* ---- repairs and refusals */

static void elements_without_a_position_are_dropped(void **state)
{
	(void)state;
	static const float positions[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 5, NAN, 5, 0, 0, 1e30f, 1, 1, 0};
	static const uint8_t indices[9] = {0, 1, 3, 2, 1, 5, 4, 0, 1};
	gltf_fixture *f = fixture_new();
	fixture_floats(f, "VEC3", 6, positions, sizeof positions);
	fixture_accessor(f, fixture_view(f, indices, sizeof indices, ""), 5121, "SCALAR", 9, "");
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':1}]}]");
	assert_int_equal(mesh_at(f, 0)->index_count, 3);
	assert_ids(mesh_at(f, 0)->indices, 2, 1, 5);
	assert_true(has_note(f, "gltf.position-not-finite"));
	fixture_free(f);
}

static void a_mesh_without_any_position_is_refused(void **state)
{
	(void)state;
	static const float positions[9] = {NAN, 0, 0, 0, INFINITY, 0, 0, 0, NAN};
	gltf_fixture *f = fixture_new();
	fixture_floats(f, "VEC3", 3, positions, sizeof positions);
	fixture_import(f, TRIANGLE_MESH);
	assert_refused(
		f, CORRUPT,
		"all 3 positions are NaN, infinite or beyond reach; accessor 0 POSITION; primitive 0; meshes[0]");
	fixture_free(f);
}

static void normals_that_are_nan_are_left_to_be_made_anew(void **state)
{
	(void)state;
	static const float normals[9] = {0, 0, 1, NAN, 0, 0, 0, 0, 1},
					   tangents[12] = {1, 0, 0, 1, 1, 0, NAN, 1, 1, 0, 0, 1};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_floats(f, "VEC3", 3, normals, sizeof normals);
	fixture_floats(f, "VEC4", 3, tangents, sizeof tangents);
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1,'TANGENT':2}}]}]");
	assert_null(mesh_at(f, 0)->normal);
	assert_null(mesh_at(f, 0)->tangent);
	assert_true(has_note(f, "gltf.normals-dropped") && has_note(f, "gltf.tangents-dropped"));
	fixture_free(f);
}

static void normals_are_brought_to_unit_length(void **state)
{
	(void)state;
	static const float normals[9] = {0, 0, 2, 0, 0, 0, 0, 0.5f, 0},
					   tangents[12] = {3, 0, 0, 1, 1, 0, 0, -2, 0, 0, 0, 0};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_floats(f, "VEC3", 3, normals, sizeof normals);
	fixture_floats(f, "VEC4", 3, tangents, sizeof tangents);
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1,'TANGENT':2}}]}]");
	assert_floats(mesh_at(f, 0)->normal, 1e-6f, 0, 0, 1, 0, 0, 1, 0, 1, 0);
	assert_floats(mesh_at(f, 0)->tangent, 1e-6f, 1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1);
	fixture_free(f);
}

static void broken_primitives_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *mesh, *words;
	} cases[] = {
		{"{'name':'hull','primitives':[{'attributes':{'POSITION':0}},{'attributes':{'POSITION':0},"
		 "'indices':1}]}",
		 "index 7 >= vertex_count 3; accessor 1; primitive 1; meshes[0] 'hull'"},
		{"{'name':'hull','primitives':[{'attributes':{'POSITION':0,'NORMAL':2}}]}",
		 "it has 2 elements, POSITION has 3; accessor 2; NORMAL; primitive 0; meshes[0] 'hull'"},
		{"{'primitives':[]}", "meshes[0] '' has no primitives"},
		{"{'primitives':[{}]}", "no attributes"},
		{"{'primitives':[{'attributes':{}}]}", "no attributes"},
		{"{'primitives':[{'attributes':{'POSITION':0},'mode':7}]}", "mode is 7"},
		{"{'primitives':[{'attributes':{'POSITION':0},'material':0}]}",
		 "'material' is 0, but there are none"},
		{"{'primitives':[{'attributes':{'POSITION':0},'indices':0}]}", "1 are needed"},
		{"{'primitives':[{'attributes':{'POSITION':0},'indices':3}]}", "indices have componentType 5126"},
		{"{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':2}}]}",
		 "JOINTS_0 and WEIGHTS_0 must come together"},
		{"{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':4,'WEIGHTS_0':4}}]}",
		 "JOINTS has componentType 5126"},
		{"{'primitives':[{'attributes':{'POSITION':'0'}}]}", "a string"},
		{"{'primitives':{'attributes':{'POSITION':0}}}", "'primitives' is an object, not an array"},
		{"{'primitives':[7]}", "primitives[0] is a number, not an object"},
	};
	static const uint8_t beyond[3] = {0, 1, 7};
	static const float numbers[12] = {0};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		fixture_triangle(f);
		fixture_accessor(f, fixture_view(f, beyond, sizeof beyond, ""), 5121, "SCALAR", 3, "");
		uint32_t view = fixture_view(f, numbers, sizeof numbers, "");
		fixture_accessor(f, view, 5126, "VEC3", 2, "");
		fixture_accessor(f, view, 5126, "SCALAR", 3, "");
		fixture_accessor(f, view, 5126, "VEC4", 3, "");
		char text[400];
		snprintf(text, sizeof text, "'meshes':[%s]", cases[i].mesh);
		fixture_import(f, text);
		if (f->ok || !strstr(f->error.context, cases[i].words))
			fail_msg("%s: %s", cases[i].mesh, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
	}
}

/* Damage in an unused part gives a note; in a used part it fails the model. */
static void unused_parts_may_be_broken(void **state)
{
	(void)state;
	static const struct {
		const char *unused, *used;
	} cases[] = {
		{"'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]},"
		 "{'primitives':[{'attributes':{'POSITION':9}}]}],"
		 "'nodes':[{'mesh':0}]",
		 "'meshes':[{'primitives':[{'attributes':{'POSITION':9}}]}],'nodes':[{'mesh':0}]"},
		{"'materials':[{},{'doubleSided':1}]," TRIANGLE_MESH ",'nodes':[{'mesh':0}]",
		 "'materials':[{'doubleSided':1}],"
		 "'meshes':[{'primitives':[{'material':0,'attributes':{'POSITION':0}}]}]"},
		{"'skins':[{'joints':[7]}]," TRIANGLE_MESH ",'nodes':[{'mesh':0}]",
		 "'skins':[{'joints':[7]}],'nodes':[{}]"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		fixture_triangle(f);
		fixture_import(f, cases[i].unused);
		assert_imported(f);
		assert_int_equal(f->model.mesh_count, 1);
		assert_true(has_note(f, "gltf.unused-broken"));
		fixture_import(f, cases[i].used);
		assert_false(f->ok);
		fixture_free(f);
	}
}

static void variants_map_to_materials(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_import(
		f, "'extensions':{'KHR_materials_variants':{'variants':[{'name':'red'},{'name':'blue'}]}},"
		   "'materials':[{},{},{}],'meshes':[{'primitives':[{'attributes':{'POSITION':0},'material':0,"
		   "'extensions':{'KHR_materials_variants':{'mappings':[{'material':2,'variants':[0,1]},"
		   "{'material':1,'variants':[0]}]}}}]}]");
	assert_imported(f);
	assert_int_equal(f->model.variant_count, 2);
	assert_text(f->model.variants[1], "blue");
	assert_int_equal(mesh_at(f, 0)->mapping_count, 3);
	static const hob_variant_mapping wanted[3] = {{0, 2}, {1, 2}, {0, 1}};
	assert_memory_equal(mesh_at(f, 0)->mappings, wanted, sizeof wanted);
	fixture_import(
		f,
		"'extensions':{'KHR_materials_variants':{'variants':[{'name':'red'}]}},'materials':[{}],'meshes':[{"
		"'primitives':[{'attributes':{'POSITION':0},'extensions':{'KHR_materials_variants':{'mappings':["
		"{'material':0,'variants':[1]}]}}}]}]");
	assert_refused(f, CORRUPT, "variants[0] is 1, but the last is 0");
	fixture_free(f);
}

static void unknown_attributes_are_noted(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'_TEMPERATURE':0,'TEXCOORD_99':0,"
					  "'texcoord_0':0}}]}]");
	assert_imported(f);
	assert_null(mesh_at(f, 0)->uv[0]);
	assert_int_equal(f->notes.count, 3);
	assert_true(has_note(f, "gltf.attribute-dropped"));
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_become_lists),
		cmocka_unit_test(stitches_of_a_strip_are_dropped),
		cmocka_unit_test(the_shortest_strip_is_one_triangle),
		cmocka_unit_test(a_strip_without_indices_uses_all_vertices),
		cmocka_unit_test(what_draws_nothing_is_left_out),
		cmocka_unit_test(primitives_stand_side_by_side),
		cmocka_unit_test(colors_of_three_and_four_components),
		cmocka_unit_test(gaps_between_uv_sets_are_filled),
		cmocka_unit_test(weights_of_every_type_and_several_sets),
		cmocka_unit_test(a_joint_beyond_the_skin_is_refused),
		cmocka_unit_test(negative_and_absent_weights_are_noted),
		cmocka_unit_test(morph_targets_keep_names_weights_and_sparse_deltas),
		cmocka_unit_test(morph_targets_of_another_size_are_refused),
		cmocka_unit_test(morph_targets_that_a_primitive_lacks_are_zero),
		cmocka_unit_test(elements_without_a_position_are_dropped),
		cmocka_unit_test(a_mesh_without_any_position_is_refused),
		cmocka_unit_test(normals_that_are_nan_are_left_to_be_made_anew),
		cmocka_unit_test(normals_are_brought_to_unit_length),
		cmocka_unit_test(broken_primitives_are_refused),
		cmocka_unit_test(unused_parts_may_be_broken),
		cmocka_unit_test(variants_map_to_materials),
		cmocka_unit_test(unknown_attributes_are_noted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
