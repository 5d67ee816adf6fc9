/* Nodes, transforms, scenes, cameras, lights, skins. */
#include "tests/unit/import/gltf_fixture.h"

static const hob_node *node_of_source(const gltf_fixture *f, uint32_t source)
{
	for (uint32_t i = 0; i < f->model.node_count; i++)
		if (f->model.nodes[i].source == source)
			return &f->model.nodes[i];
	fail_msg("no node from source %u", source);
	return NULL;
}

static uint32_t id_of(const gltf_fixture *f, uint32_t source)
{
	return (uint32_t)(node_of_source(f, source) - f->model.nodes);
}

/* ---- hierarchy */

static void nodes_stand_in_pre_order(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(f, "'nodes':[{'name':'c'},{'name':'root','children':[4,0]},{'name':'lone'},{'name':'d'},"
					  "{'name':'b','children':[3]}]");
	assert_imported(f);
	static const uint32_t sources[5] = {1, 4, 3, 0, 2}, parents[5] = {HOB_NONE, 0, 1, 0, HOB_NONE};
	for (int i = 0; i < 5; i++) {
		assert_int_equal(f->model.nodes[i].source, sources[i]);
		assert_int_equal(f->model.nodes[i].parent, parents[i]);
	}
	assert_int_equal(f->model.scene_count, 1);
	assert_int_equal(f->model.scenes[0].root_count, 2);
	assert_ids(f->model.scene_roots, 0, 4);
	fixture_free(f);
}

static void hierarchies_that_are_no_trees_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *nodes, *words;
	} cases[] = {
		{"{'name':'me','children':[0]}", "nodes[0] 'me' is its own child"},
		{"{'children':[1]},{'children':[0]}", "nodes[0] '' is in or below a cycle"},
		{"{},{'children':[2]},{'children':[3]},{'children':[1]}", "nodes[1] '' is in or below a cycle"},
		{"{'children':[1,2]},{'children':[3]},{'children':[3]},{'name':'shared'}",
		 "nodes[3] 'shared' is a child of nodes[1] and of nodes[2]"},
		{"{'children':[1,1]},{}", "child of nodes[0] and of nodes[0]"},
		{"{'children':[77]}", "children[0] is 77, but the last is 0; nodes[0] ''"},
		{"{'children':['1']},{}", "children[0] is not a non-negative integer"},
		{"{'children':[0.5]},{}", "children[0] is not a non-negative integer"},
		{"{'mesh':3}", "'mesh' is 3, but there are none; nodes[0] ''"},
		{"{'mesh':'0'}", "'mesh' is a string"},
		{"{'camera':3}", "'camera' is 3"},
		{"{'matrix':[1,2,3]}", "'matrix' has 3 numbers instead of 16"},
		{"{'rotation':[0,0,1]}", "'rotation' has 3 numbers instead of 4"},
		{"{'scale':1}", "'scale' is a number, not an array"},
		{"{'extensions':[]}", "'extensions' is an array, not an object"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		char text[300];
		snprintf(text, sizeof text, "'nodes':[%s]", cases[i].nodes);
		fixture_import(f, text);
		if (f->ok || !strstr(f->error.context, cases[i].words))
			fail_msg("%s: %s", cases[i].nodes, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
	}
}

static void a_chain_of_20000_nodes_is_no_problem(void **state)
{
	(void)state;
	enum { DEPTH = 20000 };
	gltf_fixture *f = fixture_new();
	hob_buf text = {0};
	hob_buf_put_str(&text, HOB_STR("'scenes':[{'nodes':[19999]}],'nodes':[{}"));
	for (int i = 1; i < DEPTH; i++)
		hob_buf_printf(&text, ",{'children':[%d]}", i - 1);
	hob_buf_put(&text, "]", 2);
	fixture_import(f, (const char *)text.data);
	assert_imported(f);
	for (uint32_t i = 1; i < DEPTH; i++)
		assert_int_equal(f->model.nodes[i].parent, i - 1);
	hob_buf_release(&text);
	fixture_free(f);
}

static void names_in_any_script_are_kept(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(f, "'nodes':[{'name':'\xD0\x9A\xD0\xBE\xD0\xBB\xD0\xB5\xD1\x81\xD0\xBE "
					  "\xE8\xBD\xA6\xE8\xBC\xAA \xF0\x9F\x9A\x97'},"
					  "{'name':'\\u65e5\\ud83d\\ude00'},{'name':'a\\u0000b'},{'name':'\\ud800'},{'name':'bad "
					  "\xFF\xC3 end'},"
					  "{'name':'tab\\tquote\\\"<%s%n>'},{'name':null},{}]");
	assert_imported(f);
	assert_text(f->model.nodes[0].name,
				"\xD0\x9A\xD0\xBE\xD0\xBB\xD0\xB5\xD1\x81\xD0\xBE \xE8\xBD\xA6\xE8\xBC\xAA \xF0\x9F\x9A\x97");
	assert_text(f->model.nodes[1].name, "\xE6\x97\xA5\xF0\x9F\x98\x80");
	assert_text(f->model.nodes[2].name, "a\xEF\xBF\xBD"
										"b");
	assert_text(f->model.nodes[3].name, "\xEF\xBF\xBD");
	assert_text(f->model.nodes[4].name, "bad \xEF\xBF\xBD\xEF\xBF\xBD end");
	assert_text(f->model.nodes[5].name, "tab\tquote\"<%s%n>");
	assert_int_equal(f->model.nodes[6].name.len + f->model.nodes[7].name.len, 0);
	assert_true(has_note(f, "gltf.name-repaired"));
	fixture_free(f);
}

static void a_name_over_the_limit_is_cut_at_a_character(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	hob_buf text = {0};
	hob_buf_put_str(&text, HOB_STR("'nodes':[{'name':'x"));
	for (int i = 0; i < 1000; i++)
		hob_buf_put_str(&text, HOB_STR("\xC3\xA4"));
	hob_buf_put(&text, "'}]", 4);
	fixture_import(f, (const char *)text.data);
	assert_imported(f);
	assert_int_equal(f->model.nodes[0].name.len, 1023);
	assert_true(hob_utf8_valid(f->model.nodes[0].name));
	assert_true(has_note(f, "gltf.name-cut"));
	hob_buf_release(&text);
	fixture_free(f);
}

/* ---- transforms */

static void a_matrix_becomes_translation_rotation_scale(void **state)
{
	(void)state;
	/* 30 degrees about Z, scale 1 2 3, translation 4 5 6: detects a row-major reader. */
	gltf_fixture *f = fixture_new();
	fixture_import(
		f, "'nodes':[{'matrix':[0.8660254,0.5,0,0,-1,1.7320508,0,0,0,0,3,0,4,5,6,1]},"
		   "{'matrix':[-1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]},{'matrix':[1,0,0,0,1,1,0,0,0,0,1,0,0,0,0,1]}]");
	assert_imported(f);
	const hob_node *n = f->model.nodes;
	assert_false(n[0].has_matrix);
	assert_floats(n[0].translation, 0, 4, 5, 6);
	assert_floats(n[0].scale, 1e-6f, 1, 2, 3);
	assert_floats(n[0].rotation, 1e-6f, 0, 0, 0.2588190f, 0.9659258f);
	assert_false(n[1].has_matrix);
	assert_floats(n[1].scale, 1e-6f, -1, 1, 1);
	assert_true(n[2].has_matrix);
	assert_floats(n[2].matrix, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
	assert_true(has_note(f, "gltf.matrix-kept"));
	fixture_free(f);
}

static void strange_transforms_are_repaired_with_a_note(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(f,
				   "'nodes':[{'rotation':[1,1,1,1]},{'rotation':[0,0,0,0]},{'translation':[1e39,0,0]},"
				   "{'matrix':[1e39,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]},{'scale':[0,0,0]},{'scale':[-1,1,1]}]");
	assert_imported(f);
	assert_floats(f->model.nodes[0].rotation, 1e-6f, 0.5f, 0.5f, 0.5f, 0.5f);
	assert_floats(f->model.nodes[1].rotation, 0, 0, 0, 0, 1);
	assert_floats(f->model.nodes[2].translation, 0, 0, 0, 0);
	assert_floats(f->model.nodes[3].scale, 0, 1, 1, 1);
	assert_floats(f->model.nodes[4].scale, 0, 0, 0, 0);
	assert_floats(f->model.nodes[5].scale, 0, -1, 1, 1);
	assert_true(has_note(f, "gltf.rotation-not-unit") && has_note(f, "gltf.transform-not-finite"));
	fixture_free(f);
}

static void node_weights_must_fit_the_mesh(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_import(
		f,
		"'meshes':[{'primitives':[{'attributes':{'POSITION':0},'targets':[{'POSITION':0},{'POSITION':0}]}]}],"
		"'nodes':[{'mesh':0,'weights':[0.25,1]},{'mesh':0,'weights':[1]},{'mesh':0}]");
	assert_imported(f);
	assert_int_equal(f->model.nodes[0].weight_count, 2);
	assert_floats(f->model.weights + f->model.nodes[0].weight_first, 0, 0.25f, 1);
	assert_int_equal(f->model.nodes[1].weight_count + f->model.nodes[2].weight_count, 0);
	assert_true(has_note(f, "gltf.node-weights"));
	fixture_free(f);
}

static void gpu_instances_become_child_nodes(void **state)
{
	(void)state;
	static const float places[6] = {1, 2, 3, 4, 5, 6}, scales[6] = {1, 1, 1, 2, 2, 2};
	static const int8_t turns[8] = {0, 0, 0, 127, 0, 127, 0, 0};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_floats(f, "VEC3", 2, places, sizeof places);
	fixture_accessor(f, fixture_view(f, turns, sizeof turns, ""), 5120, "VEC4", 2, ",'normalized':true");
	fixture_floats(f, "VEC3", 2, scales, sizeof scales);
	fixture_import(f, TRIANGLE_MESH
				   ",'nodes':[{'mesh':0,'name':'tree','children':[1],'extensions':{'EXT_mesh_gpu_instancing':"
				   "{'attributes':{'TRANSLATION':1,'ROTATION':2,'SCALE':3}}}},{'name':'leaf'}]");
	assert_imported(f);
	assert_int_equal(f->model.node_count, 4);
	assert_int_equal(f->model.nodes[0].mesh_count, 0);
	for (uint32_t i = 1; i <= 2; i++) {
		assert_int_equal(f->model.nodes[i].parent, 0);
		assert_int_equal(f->model.nodes[i].source, HOB_NONE);
		assert_int_equal(f->model.nodes[i].mesh_count, 1);
	}
	assert_floats(f->model.nodes[2].translation, 0, 4, 5, 6);
	assert_floats(f->model.nodes[2].rotation, 0, 0, 1, 0, 0);
	assert_floats(f->model.nodes[2].scale, 0, 2, 2, 2);
	assert_text(f->model.nodes[3].name, "leaf");
	fixture_free(f);
}

/* ---- scenes */

static void every_scene_is_kept(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(f, "'scene':1,'scenes':[{'name':'day','nodes':[2,0]},{'name':'night','nodes':[0]},{}],'"
					  "nodes':[{},{},{}]");
	assert_imported(f);
	assert_int_equal(f->model.scene_count, 3);
	assert_int_equal(f->model.default_scene, 1);
	assert_text(f->model.scenes[1].name, "night");
	assert_int_equal(f->model.scenes[0].root_count, 2);
	assert_int_equal(f->model.scene_roots[0], id_of(f, 2));
	assert_int_equal(f->model.scene_roots[f->model.scenes[1].root_first], id_of(f, 0));
	assert_int_equal(f->model.scenes[2].root_count, 0);
	fixture_import(f, "'scene':5,'scenes':[{}],'nodes':[{}]");
	assert_refused(f, CORRUPT, "'scene' is 5");
	fixture_free(f);
}

static void a_listed_child_is_shown_through_its_root(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(f, "'scenes':[{'nodes':[1,2,0]}],'nodes':[{'children':[1]},{'children':[2]},{}]");
	assert_imported(f);
	assert_int_equal(f->model.scenes[0].root_count, 1);
	assert_ids(f->model.scene_roots, 0);
	assert_true(has_note(f, "gltf.scene-root"));
	fixture_free(f);
}

/* ---- cameras and lights */

static void cameras_are_shared_and_far_may_be_infinite(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(f,
				   "'cameras':[{'name':'eye','type':'perspective','perspective':{'yfov':0.8,'znear':0.1}},"
				   "{'type':'perspective','perspective':{'yfov':1,'aspectRatio':1.5,'znear':0.1,'zfar':100}},"
				   "{'type':'orthographic','orthographic':{'xmag':2,'ymag':3,'znear':0,'zfar':9}}],"
				   "'nodes':[{'camera':0,'name':'left'},{'camera':0,'name':'right'},{'camera':2}]");
	assert_imported(f);
	const hob_camera *c = f->model.cameras;
	assert_int_equal(f->model.camera_count, 3);
	assert_floats(&c[0].yfov_or_ymag, 0, 0.8f);
	assert_floats(&c[0].aspect_or_xmag, 0, 0);
	assert_true(isinf(c[0].zfar));
	assert_floats(&c[1].aspect_or_xmag, 0, 1.5f);
	assert_floats(&c[1].zfar, 0, 100);
	assert_int_equal(c[2].type, HOB_CAMERA_ORTHOGRAPHIC);
	assert_floats(&c[2].aspect_or_xmag, 0, 2);
	assert_floats(&c[2].yfov_or_ymag, 0, 3);
	assert_int_equal(f->model.nodes[0].camera, 0);
	assert_int_equal(f->model.nodes[1].camera, 0);
	fixture_free(f);
}

static void impossible_cameras_are_replaced(void **state)
{
	(void)state;
	static const char *const cases[] = {
		"{'type':'perspective','perspective':{'yfov':0.8,'znear':-1}}",
		"{'type':'perspective','perspective':{'yfov':0.8,'znear':1,'zfar':0.5}}",
		"{'type':'perspective','perspective':{'znear':1}}",
		"{'type':'perspective','perspective':{'yfov':'0.8','znear':1}}",
		"{'type':'orthographic','orthographic':{'xmag':1,'ymag':[1],'znear':0,'zfar':1}}",
		"{'type':'orthographic','orthographic':{'xmag':1,'ymag':1,'znear':-1,'zfar':1}}",
		"{'type':'orthographic','orthographic':{'xmag':1,'ymag':1,'znear':1,'zfar':1}}",
		"{'type':7,'perspective':{'yfov':0.8,'znear':1}}",
		"{'type':'perspective'}",
		"{'type':'fisheye','perspective':{'yfov':0.8,'znear':1}}",
		"{'type':'orthographic','orthographic':{'xmag':0,'ymag':1,'znear':0,'zfar':1}}",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		char text[200];
		snprintf(text, sizeof text, "'nodes':[{}],'cameras':[%s]", cases[i]);
		fixture_import(f, text);
		assert_imported(f);
		assert_true(has_note(f, "gltf.camera-broken"));
		assert_int_equal(f->model.camera_count, 1);
		fixture_free(f);
	}
}

static void punctual_lights_hang_on_nodes(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(
		f, "'extensions':{'KHR_lights_punctual':{'lights':[{'type':'directional','color':[1,0.5,0],'"
		   "intensity':3},"
		   "{'name':'lamp','type':'spot','range':7,'spot':{'innerConeAngle':0.1,'outerConeAngle':0.2}},"
		   "{'type':'point','range':0}]}},'nodes':[{},{'extensions':{'KHR_lights_punctual':{'light':1}}}]");
	assert_imported(f);
	const hob_light *l = f->model.lights;
	assert_int_equal(f->model.light_count, 3);
	assert_int_equal(l[0].type, HOB_LIGHT_DIRECTIONAL);
	assert_floats(l[0].color, 0, 1, 0.5f, 0);
	assert_floats(&l[0].intensity, 0, 3);
	assert_true(isinf(l[0].range));
	assert_int_equal(l[1].type, HOB_LIGHT_SPOT);
	assert_floats(&l[1].range, 0, 7);
	assert_floats(&l[1].inner_cone, 0, 0.1f);
	assert_floats(&l[1].outer_cone, 0, 0.2f);
	assert_floats(&l[1].intensity, 0, 1);
	assert_true(isinf(l[2].range) && has_note(f, "gltf.light-range"));
	assert_int_equal(f->model.nodes[1].light, 1);
	assert_int_equal(f->model.nodes[0].light, HOB_NONE);
	fixture_import(f, "'extensions':{'KHR_lights_punctual':{'lights':[{'type':'area'}]}},'nodes':[{}]");
	assert_imported(f);
	assert_true(has_note(f, "gltf.light-broken"));
	assert_floats(&f->model.lights[0].intensity, 0, 0);
	fixture_import(
		f, "'extensions':{'KHR_lights_punctual':{'lights':[{'type':'point','color':[1]}]}},'nodes':[{}]");
	assert_imported(f);
	assert_true(has_note(f, "gltf.light-broken"));
	fixture_free(f);
}

/* ---- skins */

static void a_skin_without_matrices_has_identities(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(f,
				   "'nodes':[{},{'children':[0]},{}],'skins':[{'name':'rig','joints':[0,1],'skeleton':1}]");
	assert_imported(f);
	const hob_skin *skin = &f->model.skins[0];
	assert_int_equal(skin->joint_count, 2);
	/* The parent comes first in the model. */
	assert_ids(skin->joints, 1, 0);
	assert_int_equal(skin->root, 0);
	for (int i = 0; i < 2; i++)
		assert_floats(skin->inverse_bind + (size_t)i * 16, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
	fixture_free(f);
}

static void one_mesh_may_have_two_skins(void **state)
{
	(void)state;
	static const uint8_t joints[12] = {0};
	static const float weights[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
	static float matrices[32];
	for (int i = 0; i < 32; i++)
		matrices[i] = i % 16 % 5 == 0;
	matrices[12] = 7;
	matrices[16 + 13] = NAN;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_accessor(f, fixture_view(f, joints, sizeof joints, ""), 5121, "VEC4", 3, "");
	fixture_floats(f, "VEC4", 3, weights, sizeof weights);
	fixture_floats(f, "MAT4", 2, matrices, sizeof matrices);
	fixture_import(f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2}}]}],"
					  "'skins':[{'joints':[0]},{'joints':[1,0],'inverseBindMatrices':3}],"
					  "'nodes':[{},{},{'mesh':0,'skin':0},{'mesh':0,'skin':1}]");
	assert_imported(f);
	assert_int_equal(f->model.nodes[2].skin, 0);
	assert_int_equal(f->model.nodes[3].skin, 1);
	assert_int_equal(f->model.nodes[2].mesh_first, f->model.nodes[3].mesh_first);
	assert_floats(f->model.skins[1].inverse_bind + 12, 0, 7, 0, 0, 1);
	assert_floats(f->model.skins[1].inverse_bind + 28, 0, 0, 0, 0, 1);
	assert_true(has_note(f, "gltf.bind-not-finite"));
	fixture_free(f);
}

static void broken_skins_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *skin, *words;
	} cases[] = {
		{"{'joints':[0,0]}", "nodes[0] 'hip' is listed as a joint twice"},
		{"{'joints':[]}", "it has no joints"},
		{"{}", "it has no joints"},
		{"{'joints':[88]}", "joints[0] is 88"},
		{"{'joints':[0,1],'inverseBindMatrices':1}", "has 1 matrices for 2 joints"},
		{"{'joints':[0],'inverseBindMatrices':0}", "3 components, 16 are needed"},
		{"{'joints':[0],'skeleton':9}", "'skeleton' is 9"},
		{"{'joints':[0],'inverseBindMatrices':'1'}", "'inverseBindMatrices' is a string"},
	};
	static const float matrix[16] = {1};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		fixture_triangle(f);
		fixture_floats(f, "MAT4", 1, matrix, sizeof matrix);
		char text[200];
		snprintf(text, sizeof text, "'nodes':[{'name':'hip'},{}],'skins':[%s]", cases[i].skin);
		fixture_import(f, text);
		if (f->ok || !strstr(f->error.context, cases[i].words))
			fail_msg("%s: %s", cases[i].skin, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
	}
}

static void a_skin_of_5000_joints_is_legal(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	hob_buf text = {0};
	hob_buf_put_str(&text, HOB_STR("'nodes':[{}"));
	for (int i = 1; i < 5000; i++)
		hob_buf_put_str(&text, HOB_STR(",{}"));
	hob_buf_put_str(&text, HOB_STR("],'skins':[{'joints':[0"));
	for (int i = 1; i < 5000; i++)
		hob_buf_printf(&text, ",%d", i);
	hob_buf_put(&text, "]}]", 4);
	fixture_import(f, (const char *)text.data);
	assert_imported(f);
	assert_int_equal(f->model.skins[0].joint_count, 5000);
	assert_int_equal(f->model.skins[0].joints[4999], 4999);
	hob_buf_release(&text);
	fixture_free(f);
}

static void hidden_nodes_are_read(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(
		f,
		"'extensionsUsed':['KHR_node_visibility'],'nodes':[{'extensions':{'KHR_node_visibility':{'visible':"
		"false}}},{'extensions':{'KHR_node_visibility':{'visible':true}}},{'extensions':{'KHR_node_"
		"visibility':{}}}]");
	assert_imported(f);
	for (uint32_t n = 0; n < 3; n++)
		assert_int_equal(f->model.nodes[n].hidden, n == 0);
	fixture_free(f);
	f = fixture_new();
	assert_false(fixture_import(f, "'nodes':[{'extensions':{'KHR_node_visibility':{'visible':0}}}]"));
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden_nodes_are_read),
		cmocka_unit_test(nodes_stand_in_pre_order),
		cmocka_unit_test(hierarchies_that_are_no_trees_are_refused),
		cmocka_unit_test(a_chain_of_20000_nodes_is_no_problem),
		cmocka_unit_test(names_in_any_script_are_kept),
		cmocka_unit_test(a_name_over_the_limit_is_cut_at_a_character),
		cmocka_unit_test(a_matrix_becomes_translation_rotation_scale),
		cmocka_unit_test(strange_transforms_are_repaired_with_a_note),
		cmocka_unit_test(node_weights_must_fit_the_mesh),
		cmocka_unit_test(gpu_instances_become_child_nodes),
		cmocka_unit_test(every_scene_is_kept),
		cmocka_unit_test(a_listed_child_is_shown_through_its_root),
		cmocka_unit_test(cameras_are_shared_and_far_may_be_infinite),
		cmocka_unit_test(impossible_cameras_are_replaced),
		cmocka_unit_test(punctual_lights_hang_on_nodes),
		cmocka_unit_test(a_skin_without_matrices_has_identities),
		cmocka_unit_test(one_mesh_may_have_two_skins),
		cmocka_unit_test(broken_skins_are_refused),
		cmocka_unit_test(a_skin_of_5000_joints_is_legal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
