/* Oddities of real FBX files, each as a small file. */
#include "tests/unit/import/fbx_fixture.h"

static const char links[] = " C: \"OO\",1,2\n C: \"OO\",2,0\n";

static void a_file_without_nodes_is_a_model_without_nodes(void **state)
{
	(void)state;
	reader *r = read_text("", quad, "");
	assert_true(r->ok);
	assert_int_equal(r->model.node_count, 0);
	assert_int_equal(r->model.mesh_count, 0);
	assert_true(reader_noted(r, "fbx.empty"));
	assert_true(reader_noted(r, "fbx.unused"));
	reader_free(r);
}

/* Old Macintosh programs end lines, including comments, with a carriage return. */
static void lines_end_in_every_way(void **state)
{
	(void)state;
	static const char *const ends[] = {"\n", "\r\n", "\r"};
	char text[4096], out[8192];
	snprintf(text, sizeof text,
			 "%sObjects: {\n%s Model: 2, \"Model::m\", \"Mesh\" {\n }\n}\nConnections: {\n%s}\n", head, quad,
			 links);
	for (size_t k = 0; k < HOB_COUNT_OF(ends); k++) {
		size_t size = 0;
		for (const char *c = text; *c; c++)
			size += (size_t)snprintf(out + size, sizeof out - size, "%.*s", *c == '\n' ? 2 : 1,
									 *c == '\n' ? ends[k] : c);
		reader *r = reader_new(&hob_fbx_importer);
		reader_add(r, "model.fbx", out);
		assert_int_equal(reader_model(r)->node_count, 1);
		assert_int_equal(r->model.meshes[0].index_count, 6);
		reader_free(r);
	}
}

/* A pre-rotation of 90 degrees about Z, disabled by RotationActive 0 or RotationSpaceForLimitOnly 1. */
static void turns_of_a_node_may_be_switched_off(void **state)
{
	(void)state;
	static const struct {
		const char *property;
		double z;
	} rows[] = {
		{"", .70710678},
		{"   P: \"RotationActive\", \"bool\", \"\", \"\",1\n", .70710678},
		{"   P: \"RotationActive\", \"bool\", \"\", \"\",0\n", 0},
		{"   P: \"RotationSpaceForLimitOnly\", \"bool\", \"\", \"\",1\n", 0},
	};
	for (size_t k = 0; k < HOB_COUNT_OF(rows); k++) {
		char properties[512];
		snprintf(properties, sizeof properties, "   P: \"PreRotation\", \"\", \"\", \"\",0,0,90\n%s",
				 rows[k].property);
		reader *r = read_quad("", properties, "", "");
		near(r->model.nodes[0].rotation[2], rows[k].z);
		reader_free(r);
	}
}

/* With RotationActive 0, RotationOrder is ignored and XYZ applies: 90 degrees about X, then 90 about Y. */
static void the_order_of_turns_goes_with_them(void **state)
{
	(void)state;
	static const char *const on[] = {"1", "0"};
	for (int off = 0; off < 2; off++) {
		char properties[512];
		snprintf(properties, sizeof properties,
				 "   P: \"RotationOrder\", \"enum\", \"\", \"\",5\n   P: \"RotationActive\", \"bool\", \"\", "
				 "\"\",%s\n"
				 "   P: \"Lcl Rotation\", \"\", \"\", \"A\",90,90,0\n",
				 on[off]);
		reader *r = read_quad("", properties, "", "");
		near(r->model.nodes[0].rotation[2], off ? -.5 : .5);
		reader_free(r);
	}
}

static void holds(hob_extras extras, const char *wanted)
{
	if (extras.values.len != strlen(wanted) || memcmp(extras.values.data, wanted, extras.values.len) != 0)
		fail_msg("'%.*s' is not '%s'", HOB_FMT(extras.values), wanted);
}

#define USER(name, value) "  Properties70: {\n   P: \"" name "\", \"Integer\", \"\", \"AU\"," value "\n  }\n"

static void every_object_keeps_its_user_properties(void **state)
{
	(void)state;
	static const char objects[] = " Geometry: 1, \"Geometry::g\", \"Mesh\" {\n" USER(
		"mesh",
		"1") "  Vertices: *9 {\n   a: 0,0,0,1,0,0,0,1,0\n  }\n  PolygonVertexIndex: *3 {\n   a: 0,1,-3\n  "
			 "}\n }\n"
			 " Model: 2, \"Model::m\", \"Mesh\" {\n" USER(
				 "node",
				 "2") " }\n"
					  " Material: 3, \"Material::p\", \"\" {\n" USER(
						  "material",
						  "3") " }\n"
							   " Model: 4, \"Model::c\", \"Camera\" {\n }\n NodeAttribute: 5, "
							   "\"NodeAttribute::c\", \"Camera\" {\n" USER(
								   "camera",
								   "5") " }\n"
										" AnimationStack: 6, \"AnimStack::walk\", \"\" {\n" USER(
											"clip",
											"6") " }\n"
												 " AnimationLayer: 7, \"AnimLayer::l\", \"\" {\n }\n "
												 "AnimationCurveNode: 8, \"AnimCurveNode::T\", \"\" {\n }\n"
												 " AnimationCurve: 9, \"AnimCurve::\", \"\" {\n  KeyTime: *2 "
												 "{\n   a: 0,46186158000\n  }\n"
												 "  KeyValueFloat: *2 {\n   a: 0,100\n  }\n }\n";
	static const char connections[] =
		" C: \"OO\",1,2\n C: \"OO\",2,0\n C: \"OO\",3,2\n C: \"OO\",4,0\n C: \"OO\",5,4\n C: \"OO\",7,6\n"
		" C: \"OO\",8,7\n C: \"OP\",8,2,\"Lcl Translation\"\n C: \"OP\",9,8,\"d|X\"\n";
	reader *r = read_text("", objects, connections);
	assert_true(r->ok);
	holds(r->model.meshes[0].extras, "{\"mesh\":1}");
	holds(r->model.nodes[0].extras, "{\"node\":2}");
	holds(r->model.materials[0].extras, "{\"material\":3}");
	holds(r->model.nodes[2].extras, "{\"camera\":5}"); /* the node with the camera */
	assert_int_equal(r->model.clip_count, 1);
	holds(r->model.clips[0].extras, "{\"clip\":6}");
	reader_free(r);
}

/* Invalid texture coordinates are dropped; the mesh is kept. */
static void layers_that_do_not_fit_are_survived(void **state)
{
	(void)state;
	static const char *const layers[] = {
		"MappingInformationType: \"ByPolygonVertex\"\n ReferenceInformationType: \"IndexToDirect\"\n"
		" UV: *4 {\n a: 0,0,1,1\n }\n UVIndex: *4 {\n a: 0,1,-1,99\n }\n",
		"MappingInformationType: \"ByPolygonVertex\"\n ReferenceInformationType: \"Direct\"\n UV: *4 {\n a: "
		"0,0,1,1\n }\n",
		"MappingInformationType: \"ByPolygonVertex\"\n ReferenceInformationType: \"Direct\"\n"
		" UV: *8 {\n a: #QNAN,1.#IND,nan,inf,-inf,1,0,1\n }\n",
		"MappingInformationType: \"BySomething\"\n ReferenceInformationType: \"Direct\"\n UV: *8 {\n a: "
		"0,0,1,0,1,1,0,1\n }\n",
		"UV: *8 {\n a: 0,0,1,0,1,1,0,1\n }\n",
		"",
	};
	for (size_t k = 0; k < HOB_COUNT_OF(layers); k++) {
		char objects[2048];
		snprintf(objects, sizeof objects,
				 "%.*s LayerElementUV: 0 {\n %s }\n LayerElementNormal: 0 {\n }\n }\n Model: 2, "
				 "\"Model::m\", \"Mesh\" {\n }\n",
				 (int)strlen(quad) - 3, quad, layers[k]);
		reader *r = read_text("", objects, links);
		assert_true(r->ok);
		assert_int_equal(r->model.meshes[0].index_count, 6);
		for (uint32_t v = 0; r->model.meshes[0].uv[0] && v < r->model.meshes[0].vertex_count * 2; v++)
			assert_true(isfinite(r->model.meshes[0].uv[0][v]));
		reader_free(r);
	}
}

static void faces_of_broken_lists_are_kept_where_they_can(void **state)
{
	(void)state;
	static const struct {
		const char *points, *corners;
		uint32_t triangles;
		const char *note;
	} rows[] = {
		/* the last polygon has no end mark */
		{"0,0,0,1,0,0,1,1,0,0,1,0", "0,1,2,3", 2, NULL},
		{"0,0,0,1,0,0,1,1,0,0,1,0,7", "0,1,2,-4", 2, "fbx.vertices"},	 /* one number too many */
		{"0,0,0,1,0,0,1,1,0,0,1,0", "0,1,2,-4,0,1,-10", 2, "fbx.faces"}, /* an index of a missing vertex */
		{"0,0,0,1,0,0,1,1,0,#QNAN,1,0", "0,1,-3,0,2,-4", 1, "fbx.faces"},
		{"0,0,0,1,0,0,1,1,0", "0,-2,-1,0,1,-3", 1, "fbx.small-faces"}, /* faces of two corners and of one */
	};
	for (size_t k = 0; k < HOB_COUNT_OF(rows); k++) {
		char objects[2048];
		snprintf(objects, sizeof objects,
				 " Geometry: 1, \"Geometry::g\", \"Mesh\" {\n  Vertices: *0 {\n   a: %s\n  }\n"
				 "  PolygonVertexIndex: *0 {\n   a: %s\n  }\n }\n Model: 2, \"Model::m\", \"Mesh\" {\n }\n",
				 rows[k].points, rows[k].corners);
		reader *r = read_text("", objects, links);
		assert_true(r->ok);
		assert_int_equal(r->model.meshes[0].index_count, rows[k].triangles * 3);
		assert_true(!rows[k].note || reader_noted(r, rows[k].note));
		reader_free(r);
	}
}

static void connections_that_mean_nothing_are_passed_over(void **state)
{
	(void)state;
	reader *r = read_quad("", "", " Model: 2, \"Model::again\", \"Null\" {\n }\n", links /* a second time */);
	assert_int_equal(r->model.mesh_ref_count, 1);
	reader_free(r);
	r = read_quad("", "", "",
				  " C: \"OO\",99,2\n C: \"OO\",1,98\n C: \"OO\",2,2\n C: \"OO\",1,0\n C: \"XX\",1\n");
	assert_int_equal(r->model.node_count, 1);
	assert_int_equal(r->model.mesh_ref_count, 1);
	reader_free(r);
}

/* Blender 2.7 writes a light's properties after those of every node; the later value counts. */
static void of_two_properties_the_last_counts(void **state)
{
	(void)state;
	reader *r = read_quad("",
						  "   P: \"Lcl Translation\", \"\", \"\", \"A\",100,0,0\n"
						  "   P: \"Lcl Translation\", \"\", \"\", \"A\",200,0,0\n",
						  "", "");
	near(r->model.nodes[0].translation[0], 2);
	reader_free(r);
}

/* Before version 6000 the properties of cameras and lights are in the Model record, under other names. */
static void cameras_and_lights_of_files_before_6000(void **state)
{
	(void)state;
	static const char text[] =
		"; FBX 5.8.0 project file\nFBXHeaderExtension: {\n FBXVersion: 5800\n}\n"
		"Model: \"Model::eye\" {\n Type: \"Camera\"\n ApertureMode: 2\n Aperture: 45\n}\n"
		"Model: \"Model::lamp\" {\n Type: \"Light\"\n LightType: 2\n ConeAngle: 60\n}\n";
	reader *r = reader_new(&hob_fbx_importer);
	reader_add(r, "model.fbx", text);
	reader_run_failing(r, 0, 0);
	assert_true(r->ok);
	near(r->model.cameras[0].yfov_or_ymag, 0.78539816);
	near(r->model.lights[0].outer_cone, 0.52359878);
	reader_free(r);
}

/* The part of the film that each GateFit shows, for a film of 1 by 0.5 inches, a picture of 100 by 100 pixels
 * and a focal length of one inch. */
static void the_gate_fits_the_picture(void **state)
{
	(void)state;
	static const struct {
		const char *properties;
		double aspect, half_height; /* tangent */
	} cases[] = {
		{"\"GateFit\",\"enum\",\"\",\"\",0\n", 2, .25},
		{"\"GateFit\",\"enum\",\"\",\"\",1\n", 1, .25},
		{"\"GateFit\",\"enum\",\"\",\"\",2\n", 1, .5},
		{"\"GateFit\",\"enum\",\"\",\"\",3\n", 1, .25},
		{"\"GateFit\",\"enum\",\"\",\"\",4\n", 1, .5},
		{"\"GateFit\",\"enum\",\"\",\"\",1\n   P: \"AspectRatioMode\",\"enum\",\"\",\"\",4\n", 100, .25},
		{"\"GateFit\",\"enum\",\"\",\"\",2\n   P: \"FilmSqueezeRatio\",\"\",\"\",\"\",2\n", 1, 1},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char more[1024];
		snprintf(more, sizeof more,
				 " NodeAttribute: 6, \"NodeAttribute::\", \"Camera\" {\n  Properties70: {\n"
				 "   P: \"ApertureMode\",\"enum\",\"\",\"\",3\n   P: \"FocalLength\",\"\",\"\",\"\",25.4\n"
				 "   P: \"FilmWidth\",\"\",\"\",\"\",1\n   P: \"FilmHeight\",\"\",\"\",\"\",0.5\n"
				 "   P: \"AspectWidth\",\"\",\"\",\"\",100\n   P: \"AspectHeight\",\"\",\"\",\"\",100\n"
				 "   P: %s  }\n }\n",
				 cases[i].properties);
		reader *r = read_quad("", "", more, " C: \"OO\",6,2\n");
		near(r->model.cameras[0].aspect_or_xmag, cases[i].aspect);
		near(r->model.cameras[0].yfov_or_ymag, 2 * atan(cases[i].half_height));
		reader_free(r);
	}
}

/* Version 5000 has normals per point, 5800 per corner; a quad has as many points as corners. */
static void normals_of_5000_are_by_point(void **state)
{
	(void)state;
	for (int version = 5000; version <= 5800; version += 800) {
		char text[1024];
		snprintf(text, sizeof text,
				 "; FBX 5.0.0 project file\nFBXHeaderExtension: {\n FBXVersion: %d\n}\n"
				 "Model: \"Model::m\" {\n Type: \"Mesh\"\n Vertices: 0,0,0,1,0,0,1,1,0,0,1,0\n"
				 " PolygonVertexIndex: 3,2,1,-1\n Normals: 1,0,0,0,1,0,0,0,1,-1,0,0\n}\n",
				 version);
		reader *r = reader_new(&hob_fbx_importer);
		reader_add(r, "model.fbx", text);
		reader_run_failing(r, 0, 0);
		assert_true(r->ok);
		const hob_mesh *mesh = &r->model.meshes[0];
		for (uint32_t v = 0; v < mesh->vertex_count; v++)
			if (mesh->position[v * 3] < 0.5f * 0.01f && mesh->position[v * 3 + 1] < 0.5f * 0.01f)
				near(mesh->normal[v * 3], version == 5000 ? 1 : -1);
		reader_free(r);
	}
}

static void names_of_6_1_may_hold_quotes(void **state)
{
	(void)state;
	static const char *const names[][2] = {{"12&quot; pipe", "12&quot; pipe"},
										   {"12\" pipe", "12\" pipe"},
										   {"12&quot; pipe", "12\" pipe"},
										   {"the \"big\" one", "the \"big\" one"}};
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++) {
		char text[2048];
		snprintf(text, sizeof text,
				 "; FBX 6.1.0 project file\nFBXHeaderExtension: {\n FBXVersion: 6100\n}\nObjects: {\n"
				 " Model: \"Model::%s\", \"Mesh\" {\n  Properties60: {\n"
				 "   Property: \"Lcl Translation\", \"Lcl Translation\", \"A+\",100,0,0\n  }\n"
				 "  Vertices: 0,0,0,1,0,0,0,1,0\n  PolygonVertexIndex: 0,1,-3\n }\n"
				 " Model: \"Model::child\", \"Null\" {\n }\n}\nConnections: {\n"
				 " Connect: \"OO\", \"Model::%s\", \"Model::Scene\"\n"
				 " Connect: \"OO\", \"Model::child\", \"Model::%s\"\n}\n",
				 names[i][0], names[i][1], names[i][1]);
		reader *r = reader_new(&hob_fbx_importer);
		reader_add(r, "model.fbx", text);
		reader_run_failing(r, 0, 0);
		if (!r->ok)
			fail_msg("%s: %s", names[i][0], r->error.context);
		assert_int_equal(r->model.node_count, 2);
		assert_int_equal(r->model.nodes[0].mesh_count, 1);
		assert_int_equal(r->model.nodes[1].parent, 0);
		assert_non_null(strchr(r->model.nodes[0].name.data, '"'));
		reader_free(r);
	}
}

static void curves_may_be_named_by_a_letter(void **state)
{
	(void)state;
	reader *r =
		read_quad("", "",
				  " AnimationStack: 10, \"AnimStack::s\", \"\" {\n }\n AnimationLayer: 11, \"AnimLayer::l\", "
				  "\"\" {\n }\n"
				  " AnimationCurveNode: 12, \"AnimCurveNode::T\", \"\" {\n }\n AnimationCurve: 13, "
				  "\"AnimCurve::\", \"\" {\n"
				  "  KeyTime: *2 {\n   a: 0,46186158000\n  }\n  KeyValueFloat: *2 {\n   a: 0,100\n  }\n"
				  "  KeyAttrFlags: *1 {\n   a: 4\n  }\n  KeyAttrDataFloat: *4 {\n   a: 0,0,0,0\n  }\n"
				  "  KeyAttrRefCount: *1 {\n   a: 2\n  }\n }\n",
				  " C: \"OO\",11,10\n C: \"OO\",12,11\n C: \"OP\",12,2, \"Lcl Translation\"\n C: "
				  "\"OP\",13,12, \"Y\"\n");
	assert_int_equal(r->model.clip_count, 1);
	near(r->model.clips[0].tracks[0].values[4], 1);
	reader_free(r);
}

/* Blender stores DeformPercent as a record of the channel; it overrides the property of the template. */
static void percents_of_records_win_over_templates(void **state)
{
	(void)state;
	static const char settings[] = "Definitions: {\n ObjectType: \"Deformer\" {\n  PropertyTemplate: "
								   "\"FbxBlendShapeChannel\" {\n   Properties70: {\n"
								   "    P: \"DeformPercent\", \"Number\", \"\", \"A\",0\n   }\n  }\n }\n}\n";
	reader *r =
		read_quad(settings, "",
				  " Deformer: 4, \"Deformer::b\", \"BlendShape\" {\n }\n"
				  " Deformer: 5, \"SubDeformer::c\", \"BlendShapeChannel\" {\n  DeformPercent: 75\n }\n"
				  " Geometry: 6, \"Geometry::s\", \"Shape\" {\n  Indexes: *1 {\n   a: 1\n  }\n  "
				  "Vertices: *3 {\n   a: 10,0,0\n  }\n }\n",
				  " C: \"OO\",4,1\n C: \"OO\",5,4\n C: \"OO\",6,5\n");
	near(r->model.meshes[0].targets[0].weight, 0.75);
	reader_free(r);
}

/* 7.1: the mesh contains the shape; its weight is connected by name to the mesh or to its node. */
static void shapes_inside_a_mesh_are_moved_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *of_mesh, *of_node, *connection;
		float rest;
	} cases[] = {
		{"", "", " C: \"OP\",12,1, \"TopH\"\n", 0},
		{"", "", " C: \"OP\",12,2, \"TopH\"\n", 0},
		{"  Properties70: {\n   P: \"TopH\", \"Number\", \"\", \"A\",25\n  }\n", "",
		 " C: \"OP\",12,1, \"TopH\"\n", 0.25f},
		{"", "   P: \"TopH\", \"Number\", \"\", \"A\",50\n", " C: \"OP\",12,2, \"TopH\"\n", 0.5f},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char objects[4096], connections[512];
		snprintf(objects, sizeof objects,
				 " Geometry: 1, \"Geometry::g\", \"Mesh\" {\n%s"
				 "  Vertices: *9 {\n   a: 0,0,0,100,0,0,0,100,0\n  }\n"
				 "  PolygonVertexIndex: *3 {\n   a: 0,1,-3\n  }\n"
				 "  Shape: \"TopH\" {\n   Indexes: *1 {\n    a: 1\n   }\n"
				 "   Vertices: *3 {\n    a: 10,0,0\n   }\n  }\n }\n"
				 " Model: 2, \"Model::m\", \"Mesh\" {\n  Properties70: {\n%s  }\n }\n"
				 " AnimationStack: 10, \"AnimStack::t\", \"\" {\n }\n"
				 " AnimationLayer: 11, \"AnimLayer::l\", \"\" {\n }\n"
				 " AnimationCurveNode: 12, \"AnimCurveNode::TopH\", \"\" {\n }\n"
				 " AnimationCurve: 13, \"AnimCurve::\", \"\" {\n  KeyTime: *2 {\n   a: 0,46186158000\n  }\n"
				 "  KeyValueFloat: *2 {\n   a: 0,75\n  }\n  KeyAttrFlags: *1 {\n   a: 4\n  }\n"
				 "  KeyAttrDataFloat: *4 {\n   a: 0,0,0,0\n  }\n  KeyAttrRefCount: *1 {\n   a: 2\n  }\n }\n",
				 cases[i].of_mesh, cases[i].of_node);
		snprintf(connections, sizeof connections,
				 " C: \"OO\",1,2\n C: \"OO\",2,0\n C: \"OO\",11,10\n C: \"OO\",12,11\n%s"
				 " C: \"OP\",13,12, \"TopH\"\n",
				 cases[i].connection);
		reader *r = read_text("", objects, connections);
		assert_true(r->ok);
		assert_int_equal(r->model.meshes[0].target_count, 1);
		near(r->model.meshes[0].targets[0].position[3], 0.1);
		near(r->model.meshes[0].targets[0].weight, (double)cases[i].rest);
		assert_int_equal(r->model.clip_count, 1);
		assert_int_equal(r->model.clips[0].channels[0].path, HOB_PATH_WEIGHTS);
		near(r->model.clips[0].tracks[0].values[1], 0.75);
		reader_free(r);
	}
}

/* The only template of attributes is that of bones, whose colour is grey. */
static void templates_count_for_their_kind(void **state)
{
	(void)state;
	static const char settings[] =
		"Definitions: {\n ObjectType: \"NodeAttribute\" {\n  PropertyTemplate: \"FbxSkeleton\" {\n   "
		"Properties70: {\n"
		"    P: \"Color\", \"ColorRGB\", \"Color\", \"\",0.8,0.8,0.8\n   }\n  }\n }\n}\n";
	reader *r = read_quad(settings, "", " NodeAttribute: 4, \"NodeAttribute::l\", \"Light\" {\n }\n",
						  " C: \"OO\",4,2\n");
	near(r->model.lights[0].intensity, 1);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_nodes_is_a_model_without_nodes),
		cmocka_unit_test(lines_end_in_every_way),
		cmocka_unit_test(turns_of_a_node_may_be_switched_off),
		cmocka_unit_test(the_order_of_turns_goes_with_them),
		cmocka_unit_test(every_object_keeps_its_user_properties),
		cmocka_unit_test(layers_that_do_not_fit_are_survived),
		cmocka_unit_test(faces_of_broken_lists_are_kept_where_they_can),
		cmocka_unit_test(connections_that_mean_nothing_are_passed_over),
		cmocka_unit_test(curves_may_be_named_by_a_letter),
		cmocka_unit_test(percents_of_records_win_over_templates),
		cmocka_unit_test(shapes_inside_a_mesh_are_moved_by_name),
		cmocka_unit_test(templates_count_for_their_kind),
		cmocka_unit_test(of_two_properties_the_last_counts),
		cmocka_unit_test(cameras_and_lights_of_files_before_6000),
		cmocka_unit_test(the_gate_fits_the_picture),
		cmocka_unit_test(normals_of_5000_are_by_point),
		cmocka_unit_test(names_of_6_1_may_hold_quotes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
