/* The FBX reader: one small file per trap, and damage. */
#include "tests/unit/import/fbx_fixture.h"

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

/* Negative percentages extrapolate the first shape; those beyond the last shape, the last two. */
static void shapes_rest_at_their_percent_with_in_betweens(void **state)
{
	(void)state;
	static const double rows[][3] = {{75, .5, .5}, {25, .5, 0}, {-100, -2, 0}, {150, -1, 2}};
	for (size_t row = 0; row < HOB_COUNT_OF(rows); row++) {
		char more[1024];
		snprintf(more, sizeof more,
				 " Deformer: 4, \"Deformer::b\", \"BlendShape\" {\n }\n"
				 " Deformer: 5, \"SubDeformer::c\", \"BlendShapeChannel\" {\n  DeformPercent: %g\n  "
				 "FullWeights: *2 {\n   a: 50,100\n  }\n }\n"
				 " Geometry: 6, \"Geometry::half\", \"Shape\" {\n  Indexes: *1 {\n   a: 1\n  }\n  "
				 "Vertices: *3 {\n   a: 10,0,0\n  }\n }\n"
				 " Geometry: 7, \"Geometry::full\", \"Shape\" {\n  Indexes: *1 {\n   a: 1\n  }\n  "
				 "Vertices: *3 {\n   a: 40,0,0\n  }\n }\n",
				 rows[row][0]);
		reader *r =
			read_quad("", "", more, " C: \"OO\",4,1\n C: \"OO\",5,4\n C: \"OO\",6,5\n C: \"OO\",7,5\n");
		assert_int_equal(r->model.meshes[0].target_count, 2);
		near(r->model.meshes[0].targets[0].weight, rows[row][1]);
		near(r->model.meshes[0].targets[1].weight, rows[row][2]);
		reader_free(r);
	}
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

/* Type 0 applies its parent's scale after its own rotation, as part of its own scale. */
static void children_may_take_the_scale_component_by_component(void **state)
{
	(void)state;
	reader *r = read_quad("", "   P: \"Lcl Scaling\", \"\", \"\", \"A\",2,3,4\n",
						  " Model: 3, \"Model::child\", \"Null\" {\n  Properties70: {\n"
						  "   P: \"InheritType\", \"enum\", \"\", \"\",0\n   P: \"Lcl Scaling\", \"\", "
						  "\"\", \"A\",1,1,10\n  }\n }\n",
						  " C: \"OO\",3,2\n");
	const hob_node *child = &r->model.nodes[2];
	assert_int_equal(child->parent, 0);
	near(child->scale[0], 2);
	near(child->scale[1], 3);
	near(child->scale[2], 40);
	reader_free(r);
}

/* A child of type 2 skips its parent's own scale, not the scale that the parent inherits. */
static void scales_are_left_out_of_one_parent(void **state)
{
	(void)state;
	reader *r =
		read_quad("", "   P: \"Lcl Scaling\", \"\", \"\", \"A\",2,3,4\n",
				  " Model: 3, \"Model::child\", \"Null\" {\n  Properties70: {\n"
				  "   P: \"InheritType\", \"enum\", \"\", \"\",0\n   P: \"Lcl Scaling\", \"\", "
				  "\"\", \"A\",1,1,10\n  }\n }\n Model: 4, \"Model::last\", \"Null\" {\n  Properties70: {\n"
				  "   P: \"InheritType\", \"enum\", \"\", \"\",2\n  }\n }\n",
				  " C: \"OO\",3,2\n C: \"OO\",4,3\n");
	const hob_node *last = &r->model.nodes[4];
	assert_string_equal(last->name.data, "last");
	near(last->scale[0], 2);
	near(last->scale[1], 3);
	near(last->scale[2], 4);
	reader_free(r);
}

static void hidden_nodes_stay_hidden(void **state)
{
	(void)state;
	reader *r = read_quad("", "   P: \"Visibility\", \"Visibility\", \"\", \"A\",0\n", "", "");
	assert_int_equal(r->model.mesh_count, 1);
	assert_true(r->model.nodes[0].hidden);
	assert_int_equal(r->notes.count, 0);
	reader_free(r);
	r = read_quad("", "", "", "");
	assert_false(r->model.nodes[0].hidden);
	reader_free(r);
}

/* Below a hidden node, a child that does not inherit visibility is visible. */
static void a_child_may_show_below_a_hidden_node(void **state)
{
	(void)state;
	reader *r =
		read_quad("", "   P: \"Visibility\", \"Visibility\", \"\", \"A\",0\n",
				  " Model: 3, \"Model::shown\", \"Null\" {\n  Properties70: {\n"
				  "   P: \"Visibility Inheritance\", \"Visibility Inheritance\", \"\", \"\",0\n  }\n }\n"
				  " Model: 4, \"Model::not\", \"Null\" {\n }\n",
				  " C: \"OO\",3,2\n C: \"OO\",4,2\n");
	const char *hidden[] = {"m_geometry", "not"};
	assert_int_equal(r->model.node_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const hob_node *node = &r->model.nodes[i];
		bool expected = hob_str_equal(node->name, hob_str_of(hidden[0])) ||
						hob_str_equal(node->name, hob_str_of(hidden[1]));
		assert_int_equal(node->hidden, expected);
		assert_true(node->mesh_count == 0 || node->hidden);
	}
	reader_free(r);
}

static void groups_of_levels_keep_the_first(void **state)
{
	(void)state;
	reader *r = read_quad(
		"", "",
		" Model: 3, \"Model::group\", \"LodGroup\" {\n }\n"
		" NodeAttribute: 6, \"NodeAttribute::\", \"LodGroup\" {\n }\n"
		" Model: 4, \"Model::fine\", \"Mesh\" {\n }\n Model: 5, \"Model::coarse\", \"Mesh\" {\n }\n",
		" C: \"OO\",3,0\n C: \"OO\",6,3\n C: \"OO\",4,3\n C: \"OO\",5,3\n"
		" C: \"OO\",1,4\n C: \"OO\",1,5\n");
	assert_int_equal(r->model.node_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		bool coarse = hob_str_equal(r->model.nodes[i].name, HOB_STR("coarse"));
		bool fine = hob_str_equal(r->model.nodes[i].name, HOB_STR("fine"));
		if (coarse || fine)
			assert_int_equal(r->model.nodes[i].mesh_count, fine);
	}
	reader_free(r);
}

/* The same normals in each mapping mode: the corner at control point 2 faces +Y, in one case -X. */
static void normals_are_mapped_in_every_way(void **state)
{
	(void)state;
	static const struct {
		const char *mapping, *reference, *values, *index;
		double x, y;
	} rows[] = {
		{"ByPolygonVertex", "Direct", "0,0,1,0,0,1,0,1,0,0,0,1", "", 0, 1},
		{"ByVertice", "Direct", "0,0,1,0,0,1,0,1,0,0,0,1", "", 0, 1},
		{"ByVertex", "IndexToDirect", "0,0,1,0,1,0", "0,0,1,0", 0, 1},
		{"ByPolygonVertex", "Index", "0,0,1,0,1,0", "0,0,1,0", 0, 1},
		{"ByPolygon", "Direct", "0,1,0", "", 0, 1},
		{"AllSame", "IndexToDirect", "0,0,1,0,1,0", "1", 0, 1},
		{"ByPolygon", "IndexToDirect", "0,0,1,0,1,0,-1,0,0", "0,0,2,0", -1,
		 0}, /* one index per corner, so read as ByPolygonVertex */
		{"", "Direct", "0,0,1,0,0,1,0,1,0,0,0,1", "", 0, 1},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		char objects[2048];
		snprintf(
			objects, sizeof objects,
			" Geometry: 1, \"Geometry::g\", \"Mesh\" {\n  Vertices: *12 {\n   a: "
			"0,0,0,100,0,0,100,100,0,0,100,0\n  }\n  PolygonVertexIndex: *4 {\n   a: 0,1,2,-4\n  }\n"
			"  LayerElementNormal: 0 {\n   MappingInformationType: \"%s\"\n   ReferenceInformationType: "
			"\"%s\"\n"
			"   Normals: *12 {\n    a: %s\n   }\n%s%s%s  }\n }\n Model: 2, \"Model::m\", \"Mesh\" {\n }\n",
			rows[i].mapping, rows[i].reference, rows[i].values,
			rows[i].index[0] ? "   NormalsIndex: *4 {\n    a: " : "", rows[i].index,
			rows[i].index[0] ? "\n   }\n" : "");
		reader *r = read_text("", objects, " C: \"OO\",1,2\n C: \"OO\",2,0\n");
		assert_true(r->ok);
		const hob_mesh *mesh = &r->model.meshes[0];
		assert_non_null(mesh->normal);
		for (uint32_t v = 0; v < mesh->vertex_count; v++)
			if (mesh->position[v * 3] > 0.5f && mesh->position[v * 3 + 1] > 0.5f) {
				near(mesh->normal[v * 3], rows[i].x);
				near(mesh->normal[v * 3 + 1], rows[i].y);
			}
		reader_free(r);
	}
}

/* ---- binary files */

typedef struct binary {
	uint8_t bytes[2048];
	size_t size, open[4];
	int depth;
	bool big, wide;
} binary;

static void put_int(binary *b, size_t at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		b->bytes[at + (b->big ? size - 1 - i : i)] = (uint8_t)(value >> 8 * i);
}

static void append(binary *b, uint64_t value, size_t size)
{
	put_int(b, b->size, value, size);
	b->size += size;
}

static void append_text(binary *b, const char *text, size_t len)
{
	append(b, 'S', 1);
	append(b, len, 4);
	memcpy(b->bytes + b->size, text, len);
	b->size += len;
}

/* Opens a record. Its values are appended next, ended by values(), then its children, ended by close(). */
static void open_record(binary *b, const char *name)
{
	size_t word = b->wide ? 8 : 4;
	b->open[b->depth++] = b->size;
	b->size += 3 * word;
	append(b, strlen(name), 1);
	memcpy(b->bytes + b->size, name, strlen(name));
	b->size += strlen(name);
}

static void end_values(binary *b, uint64_t count)
{
	size_t word = b->wide ? 8 : 4, at = b->open[b->depth - 1], name = b->bytes[at + 3 * word];
	put_int(b, at + word, count, word);
	put_int(b, at + 2 * word, b->size - at - 3 * word - 1 - name, word);
}

static void close_record(binary *b, bool nested)
{
	size_t word = b->wide ? 8 : 4;
	if (nested)
		b->size += 3 * word + 1; /* the record of zeros */
	put_int(b, b->open[--b->depth], b->size, word);
}

static void put_array(binary *b, const char *name, char type, const double *values, uint32_t count)
{
	open_record(b, name);
	append(b, (uint8_t)type, 1);
	append(b, count, 4);
	append(b, 0, 4);
	append(b, count * (type == 'd' ? 8u : 4u), 4);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t bits;
		memcpy(&bits, &values[i], sizeof bits);
		append(b, type == 'd' ? bits : (uint32_t)(int32_t)values[i], type == 'd' ? 8 : 4);
	}
	end_values(b, 1);
	close_record(b, false);
}

static void put_object(binary *b, const char *record, uint64_t id, const char *subclass)
{
	open_record(b, record);
	append(b, 'L', 1);
	append(b, id, 8);
	append_text(b, "name\0\1Class", 11);
	append_text(b, subclass, strlen(subclass));
	end_values(b, 3);
}

static void put_connection(binary *b, uint64_t child, uint64_t parent)
{
	open_record(b, "C");
	append_text(b, "OO", 2);
	append(b, 'L', 1);
	append(b, child, 8);
	append(b, 'L', 1);
	append(b, parent, 8);
	end_values(b, 3);
	close_record(b, false);
}

static void binary_files_of_both_byte_orders_and_widths(void **state)
{
	(void)state;
	static const double points[9] = {0, 0, 0, 100, 0, 0, 0, 100, 0}, corners[3] = {0, 1, -3};
	for (int kind = 0; kind < 4; kind++) {
		binary *b = calloc(1, sizeof *b);
		b->big = kind & 1;
		b->wide = kind & 2;
		memcpy(b->bytes, "Kaydara FBX Binary  \0\x1a", 22);
		b->size = 22;
		append(b, b->big, 1);
		append(b, b->wide ? 7500 : 7400, 4);
		open_record(b, "Objects");
		end_values(b, 0);
		put_object(b, "Geometry", 1, "Mesh");
		put_array(b, "Vertices", 'd', points, 9);
		put_array(b, "PolygonVertexIndex", 'i', corners, 3);
		close_record(b, true);
		put_object(b, "Model", 2, "Mesh");
		close_record(b, true);
		close_record(b, true);
		open_record(b, "Connections");
		end_values(b, 0);
		put_connection(b, 1, 2);
		put_connection(b, 2, 0);
		close_record(b, true);
		b->size += b->wide ? 25 : 13;
		reader *r = reader_new(&hob_fbx_importer);
		reader_add_bytes(r, "model.fbx", b->bytes, b->size);
		reader_run_failing(r, 0, 0);
		if (!r->ok)
			fail_msg("kind %d: %s", kind, r->error.context);
		assert_int_equal(r->model.meshes[0].index_count, 3);
		near(r->model.meshes[0].position[3], 1);
		reader_free(r);
		free(b);
	}
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
		cmocka_unit_test(children_may_take_the_scale_component_by_component),
		cmocka_unit_test(scales_are_left_out_of_one_parent),
		cmocka_unit_test(hidden_nodes_stay_hidden),
		cmocka_unit_test(a_child_may_show_below_a_hidden_node),
		cmocka_unit_test(groups_of_levels_keep_the_first),
		cmocka_unit_test(normals_are_mapped_in_every_way),
		cmocka_unit_test(binary_files_of_both_byte_orders_and_widths),
		cmocka_unit_test(rings_of_models_are_refused),
		cmocka_unit_test(every_prefix_and_every_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
