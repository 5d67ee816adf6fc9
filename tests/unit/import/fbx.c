/* The FBX reader: one small file per trap, and damage. */
#include "tests/unit/import/reader_fixture.h"

static const char head[] = "; FBX 7.4.0 project file\nFBXHeaderExtension: {\n FBXVersion: 7400\n}\n";
static const char quad[] = " Geometry: 1, \"Geometry::g\", \"Mesh\" {\n"
						   "  Vertices: *12 {\n   a: 0,0,0,100,0,0,100,100,0,0,100,0\n  }\n"
						   "  PolygonVertexIndex: *4 {\n   a: 0,1,2,-4\n  }\n }\n";

static reader *read_text(const char *settings, const char *objects, const char *connections)
{
	static char text[16384];
	reader *r = reader_new(&hob_fbx_importer);
	snprintf(text, sizeof text, "%s%sObjects: {\n%s}\nConnections: {\n%s}\n", head, settings, objects,
			 connections);
	reader_add(r, "folder/model.fbx", text);
	reader_run_failing(r, 0, 0);
	return r;
}

static reader *read_quad(const char *settings, const char *model_props, const char *more,
						 const char *connections)
{
	char objects[8192], all[4096];
	snprintf(objects, sizeof objects,
			 "%s Model: 2, \"Model::m\", \"Mesh\" {\n  Properties70: {\n%s  }\n }\n%s", quad, model_props,
			 more);
	snprintf(all, sizeof all, " C: \"OO\",1,2\n C: \"OO\",2,0\n%s", connections);
	reader *r = read_text(settings, objects, all);
	assert_true(r->ok);
	return r;
}

static void near(float a, double b)
{
	assert_true(fabs((double)a - b) < 1e-5);
}

static void centimetres_become_metres(void **state)
{
	(void)state;
	reader *r =
		read_quad("", "   P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",100,200,300\n", "", "");
	assert_int_equal(r->model.mesh_count, 1);
	assert_int_equal(r->model.meshes[0].index_count, 6);
	near(r->model.meshes[0].position[3], 1);
	near(r->model.nodes[0].translation[2], 3);
	reader_free(r);
}

static void z_up_turns_the_top_nodes(void **state)
{
	(void)state;
	reader *r = read_quad(
		"GlobalSettings: {\n Properties70: {\n"
		"  P: \"UpAxis\", \"int\", \"Integer\", \"\",2\n  P: \"FrontAxis\", \"int\", \"Integer\", \"\",1\n"
		"  P: \"FrontAxisSign\", \"int\", \"Integer\", \"\",-1\n"
		"  P: \"UnitScaleFactor\", \"double\", \"Number\", \"\",100\n }\n}\n",
		"   P: \"Lcl Translation\", \"\", \"\", \"A\",0,0,5\n", "", "");
	near(r->model.nodes[0].translation[1], 5);
	near(r->model.nodes[0].rotation[0], -0.70710678);
	reader_free(r);
}

static void pivots_become_one_translation(void **state)
{
	(void)state;
	reader *r = read_quad("",
						  "   P: \"RotationPivot\", \"\", \"\", \"A\",100,0,0\n"
						  "   P: \"Lcl Rotation\", \"\", \"\", \"A\",0,0,90\n",
						  "", "");
	assert_int_equal(r->model.node_count, 1);
	near(r->model.nodes[0].translation[0], 1);
	near(r->model.nodes[0].translation[1], -1);
	reader_free(r);
}

static void children_that_do_not_inherit_scale_hang_beside_it(void **state)
{
	(void)state;
	reader *r = read_quad("", "   P: \"Lcl Scaling\", \"\", \"\", \"A\",2,3,4\n",
						  " Model: 3, \"Model::child\", \"Null\" {\n  Properties70: {\n"
						  "   P: \"InheritType\", \"enum\", \"\", \"\",2\n   P: \"Lcl Translation\", \"\", "
						  "\"\", \"A\",100,0,0\n  }\n }\n",
						  " C: \"OO\",3,2\n");
	assert_int_equal(r->model.node_count, 3);
	near(r->model.nodes[0].scale[0], 1);
	near(r->model.nodes[1].scale[1], 3);
	assert_int_equal(r->model.nodes[2].parent, 0);
	near(r->model.nodes[2].translation[0], 2);
	reader_free(r);
}

static void geometric_transforms_move_vertices_only(void **state)
{
	(void)state;
	reader *r = read_quad("", "   P: \"GeometricTranslation\", \"\", \"\", \"\",0,0,100\n",
						  " Model: 3, \"Model::child\", \"Null\" {\n }\n", " C: \"OO\",3,2\n");
	near(r->model.meshes[0].position[2], 1);
	near(r->model.nodes[1].translation[2], 0);
	reader_free(r);
}

static void shapes_rest_at_their_percent_with_in_betweens(void **state)
{
	(void)state;
	reader *r = read_quad("", "",
						  " Deformer: 4, \"Deformer::b\", \"BlendShape\" {\n }\n"
						  " Deformer: 5, \"SubDeformer::c\", \"BlendShapeChannel\" {\n  DeformPercent: 75\n  "
						  "FullWeights: *2 {\n   a: 50,100\n  }\n }\n"
						  " Geometry: 6, \"Geometry::half\", \"Shape\" {\n  Indexes: *1 {\n   a: 1\n  }\n  "
						  "Vertices: *3 {\n   a: 10,0,0\n  }\n }\n"
						  " Geometry: 7, \"Geometry::full\", \"Shape\" {\n  Indexes: *1 {\n   a: 1\n  }\n  "
						  "Vertices: *3 {\n   a: 40,0,0\n  }\n }\n",
						  " C: \"OO\",4,1\n C: \"OO\",5,4\n C: \"OO\",6,5\n C: \"OO\",7,5\n");
	assert_int_equal(r->model.meshes[0].target_count, 2);
	near(r->model.meshes[0].targets[0].weight, 0.5);
	near(r->model.meshes[0].targets[1].weight, 0.5);
	reader_free(r);
}

static void vertices_without_weight_follow_their_mesh(void **state)
{
	(void)state;
	reader *r = read_quad(
		"", "",
		" Model: 3, \"Model::bone\", \"LimbNode\" {\n }\n Deformer: 4, \"Deformer::s\", \"Skin\" {\n }\n"
		" Deformer: 5, \"SubDeformer::c\", \"Cluster\" {\n  Indexes: *1 {\n   a: 0\n  }\n  Weights: *1 {\n   "
		"a: 1\n  }\n }\n",
		" C: \"OO\",4,1\n C: \"OO\",5,4\n C: \"OO\",3,5\n C: \"OO\",3,0\n");
	assert_int_equal(r->model.skin_count, 1);
	assert_int_equal(r->model.skins[0].joint_count, 2);
	assert_int_equal(r->model.skins[0].joints[1], 0);
	reader_free(r);
}

static void cubic_keys_keep_their_tangents(void **state)
{
	(void)state;
	reader *r = read_quad(
		"", "",
		" AnimationStack: 10, \"AnimStack::walk\", \"\" {\n  Properties70: {\n   P: \"LocalStop\", "
		"\"KTime\", \"Time\", \"\",46186158000\n  }\n }\n"
		" AnimationLayer: 11, \"AnimLayer::l\", \"\" {\n }\n AnimationCurveNode: 12, \"AnimCurveNode::T\", "
		"\"\" {\n }\n"
		" AnimationCurve: 13, \"AnimCurve::\", \"\" {\n  KeyVer: 4008\n  KeyTime: *2 {\n   a: "
		"0,46186158000\n  }\n"
		"  KeyValueFloat: *2 {\n   a: 0,100\n  }\n  KeyAttrFlags: *1 {\n   a: 1032\n  }\n"
		"  KeyAttrDataFloat: *4 {\n   a: 300,50,0,0\n  }\n  KeyAttrRefCount: *1 {\n   a: 2\n  }\n }\n",
		" C: \"OO\",11,10\n C: \"OO\",12,11\n C: \"OP\",12,2,\"Lcl Translation\"\n C: "
		"\"OP\",13,12,\"d|X\"\n");
	assert_int_equal(r->model.clip_count, 1);
	const hob_track *track = &r->model.clips[0].tracks[0];
	assert_int_equal(track->interpolation, HOB_CUBICSPLINE);
	assert_int_equal(track->key_count, 2);
	near(track->values[6], 3);	 /* leaves at 300 cm/s */
	near(track->values[9], 0.5); /* arrives at 50 cm/s */
	near(track->values[9 + 3], 1);
	reader_free(r);
}

static void user_properties_become_extras(void **state)
{
	(void)state;
	reader *r = read_quad("",
						  "   P: \"health\", \"Number\", \"\", \"AU\",10,0,100\n   P: \"label\", "
						  "\"KString\", \"\", \"U\", \"a&quot;b\"\n",
						  "", "");
	assert_int_equal(r->model.nodes[0].extras.values.len, strlen("{\"health\":10,\"label\":\"a\\\"b\"}"));
	assert_memory_equal(r->model.nodes[0].extras.values.data, "{\"health\":10,\"label\":\"a\\\"b\"}",
						r->model.nodes[0].extras.values.len);
	reader_free(r);
}

static void rings_of_models_are_refused(void **state)
{
	(void)state;
	reader *r =
		read_text("", " Model: 2, \"Model::a\", \"Null\" {\n }\n Model: 3, \"Model::b\", \"Null\" {\n }\n",
				  " C: \"OO\",2,3\n C: \"OO\",3,2\n");
	assert_false(r->ok);
	assert_int_equal(r->error.code, HOB_ERR_CORRUPT);
	reader_free(r);
}

static void every_prefix_and_every_allocation_may_fail(void **state)
{
	static char text[4096];
	(void)state;
	int len = snprintf(
		text, sizeof text,
		"%sObjects: {\n%s Model: 2, \"Model::m\", \"Mesh\" {\n }\n}\nConnections: {\n C: \"OO\",1,2\n}\n",
		head, quad);
	for (int cut = 0; cut < len; cut++) {
		reader *r = reader_new(&hob_fbx_importer);
		reader_add_bytes(r, "model.fbx", text, (size_t)cut);
		reader_run_failing(r, 0, 0);
		reader_free(r);
	}
	for (uint64_t n = 1; n < 60; n++) {
		for (int scratch = 0; scratch < 2; scratch++) {
			reader *r = reader_new(&hob_fbx_importer);
			reader_add_bytes(r, "model.fbx", text, (size_t)len);
			reader_run_failing(r, scratch ? 0 : n, scratch ? n : 0);
			reader_free(r);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(centimetres_become_metres),
		cmocka_unit_test(z_up_turns_the_top_nodes),
		cmocka_unit_test(pivots_become_one_translation),
		cmocka_unit_test(children_that_do_not_inherit_scale_hang_beside_it),
		cmocka_unit_test(geometric_transforms_move_vertices_only),
		cmocka_unit_test(shapes_rest_at_their_percent_with_in_betweens),
		cmocka_unit_test(vertices_without_weight_follow_their_mesh),
		cmocka_unit_test(cubic_keys_keep_their_tangents),
		cmocka_unit_test(user_properties_become_extras),
		cmocka_unit_test(rings_of_models_are_refused),
		cmocka_unit_test(every_prefix_and_every_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
