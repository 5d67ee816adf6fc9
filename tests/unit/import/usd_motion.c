/* USD: animated shear, sizes and points. */
#include "tests/unit/import/reader_fixture.h"

#include "core/import/motion.h"
#include "core/model/properties.h"

static reader *stage(const char *text)
{
	static char all[8192];
	reader *r = reader_new(&hob_usd_importer);
	snprintf(
		all, sizeof all,
		"#usda 1.0\n(metersPerUnit = 1\n startTimeCode = 1\n endTimeCode = 25\n timeCodesPerSecond = 24)\n%s",
		text);
	reader_add(r, "stage.usda", all);
	return r;
}

/* Linear between keys; interpolated rotations are normalised. */
static void sample(const hob_track *track, bool turns, float time, float *out)
{
	uint32_t low = 0, width = track->components;
	while (low + 1 < track->key_count && track->times[low + 1] <= time)
		low++;
	const float *a = track->values + low * width, *b = a;
	float part = 0, dot = 0, length = 0;
	if (track->interpolation == HOB_LINEAR && low + 1 < track->key_count && time > track->times[low]) {
		b += width;
		part = (time - track->times[low]) / (track->times[low + 1] - track->times[low]);
	}
	for (uint32_t k = 0; k < width; k++)
		dot += a[k] * b[k];
	for (uint32_t k = 0; k < width; k++) {
		out[k] = a[k] * (1 - part) + b[k] * (turns && dot < 0 ? -part : part);
		length += out[k] * out[k];
	}
	for (uint32_t k = 0; turns && k < width; k++)
		out[k] /= sqrtf(length);
}

static void sample_path(const hob_model *m, uint32_t node, hob_path path, float time, float *out)
{
	for (uint32_t i = 0; m->clip_count > 0 && i < m->clips[0].channel_count; i++) {
		const hob_channel *c = &m->clips[0].channels[i];
		if (c->node == node && c->path == path)
			sample(&m->clips[0].tracks[c->track], path == HOB_PATH_ROTATION, time, out);
	}
}

/* The world matrix of a node at a time. */
static void world_at(const hob_model *m, uint32_t node, float time, float out[16])
{
	hob_node n = m->nodes[node];
	float local[16];
	sample_path(m, node, HOB_PATH_TRANSLATION, time, n.translation);
	sample_path(m, node, HOB_PATH_ROTATION, time, n.rotation);
	sample_path(m, node, HOB_PATH_SCALE, time, n.scale);
	assert_false(n.has_matrix);
	hob_node_local_matrix(&n, local);
	if (n.parent == HOB_NONE) {
		memcpy(out, local, sizeof local);
		return;
	}
	world_at(m, n.parent, time, out);
	hob_matrix_multiply(out, local, out);
}

static uint32_t node_with_mesh(const hob_model *m)
{
	for (uint32_t i = 0; i < m->node_count; i++)
		if (m->nodes[i].mesh_count > 0)
			return i;
	fail_msg("no mesh");
	return HOB_NONE;
}

static void expect_matrix(const float made[16], const float wanted[16])
{
	for (int i = 0; i < 16; i++)
		assert_true(fabsf(made[i] - wanted[i]) < 2e-3f);
}

static void any_matrix_is_held_by_two_nodes(void **state)
{
	(void)state;
	static const float wanted[][16] = {
		{1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 3, 4, 5, 1},	  /* shear */
		{1, 0, 0, 0, 2, -1, 0, 0, 0, 0.5f, 1, 0, 0, 0, 0, 1}, /* with a mirror */
		{1, 2, 3, 0, 2, 4, 6, 0, 0, 1, 0, 0, 0, 0, 0, 1},	  /* flat */
	};
	for (size_t i = 0; i < HOB_COUNT_OF(wanted); i++) {
		char text[1024];
		const float *w = wanted[i];
		snprintf(text, sizeof text,
				 "def Xform \"X\" { matrix4d xformOp:transform = ((%g,%g,%g,0),(%g,%g,%g,0),"
				 "(%g,%g,%g,0),(%g,%g,%g,"
				 "1))\n uniform token[] xformOpOrder = [\"xformOp:transform\"]\n def Cube \"C\" {} }",
				 w[0], w[1], w[2], w[4], w[5], w[6], w[8], w[9], w[10], w[12], w[13], w[14]);
		reader *r = stage(text);
		float made[16];
		const hob_model *m = reader_model(r);
		world_at(m, node_with_mesh(m), 0, made);
		expect_matrix(made, w);
		assert_int_equal(m->node_count, 3);
		reader_free(r);
	}
}

static void what_moves_with_shear_moves(void **state)
{
	(void)state;
	/* A matrix is interpolated linearly; here through shear and through a mirror. */
	reader *r =
		stage("def Xform \"X\" { matrix4d xformOp:transform.timeSamples = { 1: "
			  "((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1)), 25: ((1,0,0,0),(2,-1,0,0),(0,1,1,0),(8,0,0,1)) }\n"
			  "uniform token[] xformOpOrder = [\"xformOp:transform\"]\n def Cube \"C\" {} }");
	const hob_model *m = reader_model(r);
	for (int i = 0; i <= 10; i++) {
		float t = (float)i / 10, made[16],
			  wanted[16] = {1, 0, 0, 0, 2 * t, 1 - 2 * t, 0, 0, 0, t, 1, 0, 8 * t, 0, 0, 1};
		world_at(m, node_with_mesh(m), t, made);
		expect_matrix(made, wanted);
	}
	assert_false(reader_noted(r, "usd.motion"));
	reader_free(r);
}

static void sizes_change_in_time(void **state)
{
	(void)state;
	static const struct {
		const char *shape;
		float at_start[3], at_end[3]; /* half the box */
	} cases[] = {
		{"Sphere \"S\" { double radius.timeSamples = { 1: 0.5, 25: 1.5 } }",
		 {0.5f, 0.5f, 0.5f},
		 {1.5f, 1.5f, 1.5f}},
		{"Cube \"S\" { double size.timeSamples = { 1: 0, 25: 3 } }", {0, 0, 0}, {1.5f, 1.5f, 1.5f}},
		{"Cylinder \"S\" { uniform token axis = \"X\"\n"
		 "double height.timeSamples = { 1: 2, 25: 8 }\n double radius = 3 }",
		 {1, 3, 3},
		 {4, 3, 3}},
		{"Capsule \"S\" { double height.timeSamples = { 1: 2, 25: 4 } }",
		 {0.5f, 0.5f, 1.5f},
		 {0.5f, 0.5f, 2.5f}},
		{"Plane \"S\" { double width.timeSamples = { 1: 2, 25: 6 } }", {1, 1, 0}, {3, 1, 0}},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[512];
		snprintf(text, sizeof text, "def %s", cases[i].shape);
		reader *r = stage(text);
		const hob_model *m = reader_model(r);
		const hob_mesh *mesh = &m->meshes[0];
		float world[16], most[3] = {0};
		for (uint32_t v = 0; v < mesh->vertex_count * 3; v++)
			most[v % 3] = fmaxf(most[v % 3], mesh->position[v]);
		for (int end = 0; end < 2; end++) {
			world_at(m, node_with_mesh(m), (float)end, world);
			for (int k = 0; k < 3; k++)
				assert_true(fabsf(most[k] * world[k * 5] - (end ? cases[i].at_end : cases[i].at_start)[k]) <
							1e-4f);
		}
		/* The ends of a capsule are scaled with it, which is a noted loss. */
		bool warned = false;
		for (uint32_t n = 0; n < r->notes.count; n++)
			warned = warned || (r->notes.items[n].level == HOB_NOTE_WARNING &&
								hob_str_equal(r->notes.items[n].code, HOB_STR("usd.samples")));
		assert_int_equal(warned, strncmp(cases[i].shape, "Capsule", 7) == 0);
		reader_free(r);
	}
}

#define TRIANGLE                                                                                             \
	"def Mesh \"M\" { int[] faceVertexCounts = [3]\n int[] faceVertexIndices = [0, 1, 2]\n"                  \
	"point3f[] points.timeSamples = { "

/* Position of vertex 2, which every case moves along x. */
static float second_at(const hob_model *m, float time)
{
	float weights[512] = {0};
	const hob_mesh *mesh = &m->meshes[0];
	uint32_t v = 0;
	sample_path(m, node_with_mesh(m), HOB_PATH_WEIGHTS, time, weights);
	while (mesh->position[v * 3 + 1] < 0.5f)
		v++;
	float x = mesh->position[v * 3];
	for (uint32_t t = 0; t < mesh->target_count; t++)
		x += weights[t] * mesh->targets[t].position[v * 3];
	return x;
}

static void points_move(void **state)
{
	(void)state;
	reader *r = stage(TRIANGLE "1: [(0,0,0),(1,0,0),(0,1,0)], 13: [(0,0,0),(1,0,0),(4,1,0)], "
							   "25: [(0,0,0),(1,0,0),(2,1,0)], 49: [(0,0,0),(1,0,0),(9,1,0)] } }");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->meshes[0].target_count, 3);
	assert_near(second_at(m, 0), 0);
	assert_near(second_at(m, 0.25f), 2);
	assert_near(second_at(m, 0.5f), 4);
	assert_near(second_at(m, 0.75f), 3);
	assert_near(second_at(m, 1), 2);
	assert_false(reader_noted(r, "usd.samples"));
	reader_free(r);
	/* Begins between two samples: rests at the earlier one. */
	r = stage(TRIANGLE "-23: [(0,0,0),(1,0,0),(2,1,0)], 25: [(0,0,0),(1,0,0),(4,1,0)] } }");
	m = reader_model(r);
	assert_near(second_at(m, 0), 3);
	assert_near(second_at(m, 1), 4);
	reader_free(r);
}

static void points_that_leave_the_models_size_are_told(void **state)
{
	(void)state;
	static const char *const ends[] = {"900", "1e20"};
	for (uint32_t far = 0; far < 2; far++) {
		char text[400];
		snprintf(text, sizeof text,
				 TRIANGLE "1: [(0,0,0),(1,0,0),(0,1,0)], 25: [(0,0,0),(1,0,0),(%s,1,0)] } }", ends[far]);
		reader *r = stage(text);
		hob_notes notes = {.arena = &r->result};
		hob_check_motion(reader_model(r), &r->scratch, &notes);
		assert_int_equal(notes.count, far);
		reader_free(r);
	}
}

static void many_samples_of_points_are_thinned_with_a_bound(void **state)
{
	(void)state;
	static char text[1 << 16];
	static char all[1 << 17];
	size_t at = (size_t)snprintf(text, sizeof text, TRIANGLE);
	for (int i = 0; i < 600; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%d: [(0,0,0),(1,0,0),(%g,1,0)], ", i, i * 0.25);
	snprintf(text + at, sizeof text - at, "} }");
	snprintf(all, sizeof all, "#usda 1.0\n(metersPerUnit = 1)\n%s", text);
	reader *r = reader_new(&hob_usd_importer);
	reader_add(r, "stage.usda", all);
	const hob_model *m = reader_model(r);
	assert_true(m->meshes[0].target_count < 256);
	assert_true(reader_noted(r, "usd.samples"));
	assert_true(fabsf(second_at(m, 10) - 60) < 0.01f);
	reader_free(r);
}

static void points_of_changing_faces_stay(void **state)
{
	(void)state;
	reader *r =
		stage("def Mesh \"M\" { int[] faceVertexCounts = [3]\n int[] faceVertexIndices.timeSamples = { 1: "
			  "[0, 1, 2], 9: [2, 1, 0] }\n point3f[] points.timeSamples = { 1: [(0,0,0),(1,0,0),(0,1,0)], "
			  "9: [(0,0,0),(1,0,0),(4,1,0)] } }");
	assert_int_equal(reader_model(r)->meshes[0].target_count, 0);
	assert_true(reader_noted(r, "usd.samples"));
	reader_free(r);
}

static void prims_come_and_go(void **state)
{
	(void)state;
	reader *r =
		stage("def Cube \"A\" { token visibility.timeSamples = { 1: \"invisible\", 13: \"inherited\", 19: "
			  "\"invisible\" } }\ndef Cube \"B\" { token visibility.timeSamples = { 1: \"invisible\", 9: "
			  "\"invisible\" } }\ndef Cube \"C\" { token visibility.timeSamples = { 1: \"inherited\", 9: "
			  "\"inherited\" } }");
	const hob_model *m = reader_model(r);
	static const struct {
		float time, shown;
	} seen[] = {{0, 0}, {0.4f, 0}, {0.5f, 1}, {0.7f, 1}, {0.8f, 0}, {1, 0}};
	assert_int_equal(m->mesh_ref_count, 3);
	assert_true(m->nodes[0].hidden && m->nodes[1].hidden && !m->nodes[2].hidden);
	assert_int_equal(m->clips[0].channel_count, 0);
	assert_int_equal(m->clips[0].property_count, 1);
	assert_int_equal(m->clips[0].properties[0].property, HOB_PROPERTY_NODE_VISIBLE);
	assert_int_equal(m->clips[0].properties[0].index, 0);
	for (size_t i = 0; i < HOB_COUNT_OF(seen); i++) {
		float shown;
		sample(&m->clips[0].tracks[m->clips[0].properties[0].track], false, seen[i].time, &shown);
		assert_near(shown, seen[i].shown);
	}
	/* Up to the end of the stage's range: 25. */
	const hob_track *track = &m->clips[0].tracks[m->clips[0].properties[0].track];
	assert_near(track->times[track->key_count - 1], 1);
	reader_free(r);
}

/* Visibility and motion of a prim are animated together; children follow. */
static void what_moves_may_blink(void **state)
{
	(void)state;
	reader *r =
		stage("def Xform \"A\" { token visibility.timeSamples = { 1: \"inherited\", 13: \"invisible\" }\n"
			  "double3 xformOp:translate.timeSamples = { 1: (0,0,0), 25: (4,0,0) }\n"
			  "uniform token[] xformOpOrder = [\"xformOp:translate\"]\n def Cube \"C\" {} }");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->node_count, 2);
	assert_false(m->nodes[0].hidden || m->nodes[1].hidden);
	assert_int_equal(m->clips[0].channel_count, 1);
	assert_int_equal(m->clips[0].property_count, 1);
	assert_int_equal(m->clips[0].properties[0].index, 0);
	assert_int_not_equal(m->clips[0].properties[0].track, m->clips[0].channels[0].track);
	reader_free(r);
}

/* Nothing below an invisible prim is drawn, even if it says visible; a prim that resets the transform stack
 * is built elsewhere. */
static void invisible_prims_are_hidden_nodes(void **state)
{
	(void)state;
	reader *r = stage("def Xform \"A\" { token visibility = \"invisible\"\n"
					  "def Cube \"C\" { token visibility = \"inherited\" }\n"
					  "def Cube \"D\" { uniform token[] xformOpOrder = [\"!resetXformStack!\"] } }\n"
					  "def \"B\" { token visibility = \"invisible\"\n def Cube \"E\" {} }");
	const hob_model *m = reader_model(r);
	static const char *const unseen[] = {"A", "C", "D"}, *const seen[] = {"B", "E"};
	bool marks[8];
	assert_in_range(m->node_count, 5, 8);
	hob_model_unseen_nodes(m, marks);
	for (uint32_t n = 0; n < m->node_count; n++) {
		for (size_t i = 0; i < HOB_COUNT_OF(unseen); i++)
			assert_true(marks[n] || !hob_str_equal(m->nodes[n].name, hob_str_of(unseen[i])));
		for (size_t i = 0; i < HOB_COUNT_OF(seen); i++)
			assert_false(marks[n] && hob_str_equal(m->nodes[n].name, hob_str_of(seen[i])));
	}
	assert_int_equal(m->mesh_ref_count, 3);
	reader_free(r);
}

static float shown_at(const hob_model *m, uint32_t node, float time)
{
	float shown = m->nodes[node].hidden ? 0 : 1;
	for (uint32_t i = 0; i < m->clips[0].property_count; i++)
		if (m->clips[0].properties[i].property == HOB_PROPERTY_NODE_VISIBLE &&
			m->clips[0].properties[i].index == node)
			sample(&m->clips[0].tracks[m->clips[0].properties[i].track], false, time, &shown);
	return m->nodes[node].parent == HOB_NONE || shown == 0 ? shown : shown_at(m, m->nodes[node].parent, time);
}

static uint32_t node_named(const hob_model *m, const char *name)
{
	for (uint32_t i = 0; i < m->node_count; i++)
		if (hob_str_equal(m->nodes[i].name, hob_str_of(name)))
			return i;
	return HOB_NONE;
}

#define INSTANCER(more)                                                                                      \
	"def PointInstancer \"I\" { rel prototypes = </I/P>\n int[] protoIndices = [0, 0, 0]\n point3f[] "       \
	"positions = [(0,0,0), (1,0,0), (2,0,0)]\n" more "\n def Cube \"P\" {} }\n"

/* Invisible instances are hidden nodes, also by their ids; inactive ones are left out. */
static void invisible_instances_are_hidden_nodes(void **state)
{
	(void)state;
	static const struct {
		const char *stage;
		uint32_t nodes;
		float first[3], later[3];
	} cases[] = {
		{INSTANCER("int64[] invisibleIds = [1]"), 3, {1, 0, 1}, {1, 0, 1}},
		{INSTANCER("int64[] ids = [7, 8, 9]\n int64[] invisibleIds = [9]"), 3, {1, 1, 0}, {1, 1, 0}},
		{INSTANCER("int64[] invisibleIds.timeSamples = { 1: [], 13: [0, 2] }"), 3, {1, 1, 1}, {0, 1, 0}},
		{INSTANCER("int64[] ids = [7, 8, 9]\n int64[] invisibleIds.timeSamples = { 1: [7, 8], 13: [8] }"),
		 3,
		 {0, 0, 1},
		 {1, 0, 1}},
		{INSTANCER("int64[] invisibleIds = [0]\n token visibility.timeSamples = { 1: \"inherited\", 13: "
				   "\"invisible\" }"),
		 3,
		 {0, 1, 1},
		 {0, 0, 0}},
		{"def PointInstancer \"I\" (inactiveIds = [1]) { rel prototypes = </I/P>\n"
		 "int[] protoIndices = [0, 0, 0]\n point3f[] positions = [(0,0,0), (1,0,0), (2,0,0)]\n"
		 "int64[] invisibleIds.timeSamples = { 1: [2], 13: [1] }\n def Cube \"P\" {} }\n",
		 2,
		 {1, -1, 0},
		 {1, -1, 1}},
	};
	for (size_t c = 0; c < HOB_COUNT_OF(cases); c++) {
		char text[1024];
		snprintf(text, sizeof text,
				 "%sdef Cube \"T\" { double3 xformOp:translate.timeSamples = { 1: (0,0,0), 25: "
				 "(1,0,0) }\n uniform token[] xformOpOrder = [\"xformOp:translate\"] }",
				 cases[c].stage);
		reader *r = stage(text);
		const hob_model *m = reader_model(r);
		assert_int_equal(m->mesh_ref_count, cases[c].nodes + 1);
		for (uint32_t i = 0; i < 3; i++) {
			char name[8];
			snprintf(name, sizeof name, "P_%u", i);
			uint32_t node = node_named(m, name);
			assert_int_equal(node == HOB_NONE, cases[c].first[i] < 0);
			if (node == HOB_NONE)
				continue;
			assert_near(shown_at(m, node, 0.1f), cases[c].first[i]);
			assert_near(shown_at(m, node, 0.9f), cases[c].later[i]);
		}
		reader_free(r);
	}
}

/* A prim that resets its transform stack is built at the root; it still comes and goes with its ancestors. */
static void what_resets_its_stack_blinks_with_its_ancestors(void **state)
{
	(void)state;
#define LATE		"uniform token[] xformOpOrder = [\"!resetXformStack!\"]\n"
#define SHOWN(a, b) "token visibility.timeSamples = { 1: \"" a "\", 13: \"" b "\" }\n"
	static const struct {
		const char *stage;
		float first, later;
	} cases[] = {
		{"def Xform \"A\" { " SHOWN("inherited", "invisible") " def Cube \"R\" { " LATE "} }", 1, 0},
		{"def Xform \"A\" { " SHOWN("invisible", "inherited") " def Xform \"B\" { def Cube \"R\" { " LATE
															  "} } }",
		 0, 1},
		{"def Xform \"A\" { " SHOWN("inherited", "invisible") " def Xform \"B\" { " LATE SHOWN(
			 "invisible", "inherited") " def Cube \"R\" { " LATE "} } }",
		 0, 0},
		{"def Xform \"A\" { token visibility = \"invisible\"\n def Xform \"B\" { " SHOWN(
			 "invisible", "inherited") " def Cube \"R\" { " LATE "} } }",
		 0, 0},
		{"def \"A\" { " SHOWN("inherited", "invisible") " def Cube \"R\" { " LATE
														"} }\ndef Cube \"C\" { " SHOWN("inherited",
																					   "invisible") " }",
		 1, 1},
	};
	for (size_t c = 0; c < HOB_COUNT_OF(cases); c++) {
		reader *r = stage(cases[c].stage);
		const hob_model *m = reader_model(r);
		assert_near(shown_at(m, node_named(m, "R"), 0.1f), cases[c].first);
		assert_near(shown_at(m, node_named(m, "R"), 0.9f), cases[c].later);
		reader_free(r);
	}
}

static void surfaces_of_tetrahedra_are_drawn(void **state)
{
	(void)state;
	reader *r = stage("def TetMesh \"T\" { point3f[] points = [(0,0,0),(1,0,0),(0,1,0),(0,0,1)]\n int4[] "
					  "tetVertexIndices = [(0,1,2,3)]\n int3[] surfaceFaceVertexIndices = [(0,2,1),(0,1,3),"
					  "(0,3,2),(1,2,3)] }");
	assert_int_equal(reader_model(r)->meshes[0].index_count, 12);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_matrix_is_held_by_two_nodes),
		cmocka_unit_test(what_moves_with_shear_moves),
		cmocka_unit_test(sizes_change_in_time),
		cmocka_unit_test(points_move),
		cmocka_unit_test(points_that_leave_the_models_size_are_told),
		cmocka_unit_test(many_samples_of_points_are_thinned_with_a_bound),
		cmocka_unit_test(points_of_changing_faces_stay),
		cmocka_unit_test(prims_come_and_go),
		cmocka_unit_test(what_moves_may_blink),
		cmocka_unit_test(invisible_prims_are_hidden_nodes),
		cmocka_unit_test(invisible_instances_are_hidden_nodes),
		cmocka_unit_test(what_resets_its_stack_blinks_with_its_ancestors),
		cmocka_unit_test(surfaces_of_tetrahedra_are_drawn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
