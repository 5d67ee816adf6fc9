/* The COLLADA reader with unusual files of real programs. */
#include "collada_fixture.h"

/* clang-format off */
#define TRIANGLE "<triangles>" INPUT("VERTEX", "v", "0", "") "<p>0 1 2</p></triangles>"
#define GEOMETRY(mesh) \
	"<library_geometries><geometry id='g'>" mesh "</geometry></library_geometries>" SCENE(SHOWN)
#define EFFECT(shader, extra) \
	"<library_images><image id='i'><init_from>a.png</init_from></image></library_images>" \
	"<library_effects><effect id='e'><profile_COMMON>" \
	"<technique>" shader extra "</technique></profile_COMMON></effect>" \
	"</library_effects><library_materials><material id='m' name='M'>" \
	"<instance_effect url='#e'/></material></library_materials>" \
	PLAIN SCENE(SHOWN)
/* clang-format on */

static void an_array_may_stand_in_another_source(void **state)
{
	(void)state;
	reader *r =
		collada("", GEOMETRY("<mesh><source id='p'><technique_common><accessor source='#far' count='4' "
							 "stride='3'/></technique_common></source><source id='q'><float_array id='far' "
							 "count='12'>0 0 0 1 0 0 1 1 0 0 1 0</float_array></source>" VERTICES TRIANGLE
							 "</mesh>"));
	assert_int_equal(model_triangles(reader_model(r)), 1);
	assert_vector(r->model.meshes[0].position + 6, 1, 1, 0);
	reader_free(r);
}

/* A wrong `count` of <float_array> is ignored, as in three.js and Blender. */
static void an_accessor_knows_better_than_the_count_of_an_array(void **state)
{
	(void)state;
	reader *r = collada(
		"",
		GEOMETRY(
			"<mesh><source id='p'><float_array count='3'>0 0 0 1 0 0 1 1 0</float_array>"
			"<technique_common><accessor count='3' stride='3'/></technique_common></source>" VERTICES TRIANGLE
			"</mesh>"));
	assert_int_equal(model_triangles(reader_model(r)), 1);
	assert_vector(r->model.meshes[0].position + 6, 1, 1, 0);
	assert_true(reader_noted(r, "collada.short-source"));
	reader_free(r);
}

static void what_is_not_made_is_said(void **state)
{
	(void)state;
	static const struct {
		const char *text, *note;
	} cases[] = {
		{GEOMETRY(
			 "<convex_mesh convex_hull_of='#other'/>") "<library_geometries><geometry "
													   "id='other'><mesh/></geometry></library_geometries>",
		 "collada.no-mesh"},
		{GEOMETRY(
			 "<mesh><source id='p'><float_array count='9'>0 0 0 1 0 0 1 1 0</float_array></source>" VERTICES
				 TRIANGLE "</mesh>"),
		 "collada.no-accessor"},
		{EFFECT("<lambert/>", "<extra><technique profile='FCOLLADA'><displacement><texture "
							  "texture='i'/></displacement></technique></extra>"),
		 "texture.ignored"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = collada("", cases[i].text);
		reader_run(r);
		if (!reader_noted(r, cases[i].note))
			fail_msg("case %zu has no note %s", i, cases[i].note);
		reader_free(r);
	}
}

/* The second case is SketchUp's material edge_color683818255. */
static void constants_have_the_colour_that_they_emit(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		float color[3];
	} cases[] = {
		{EFFECT("<constant><emission><color>.1 .2 .3 1</color></emission></constant>", ""), {.1f, .2f, .3f}},
		{EFFECT("<constant><transparent opaque='A_ONE'><color>.3 .2 .1 1</color></transparent></constant>",
				""),
		 {.3f, .2f, .1f}},
		{EFFECT("<constant/>", ""), {0, 0, 0}},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = collada("", cases[i].text);
		const hob_material *m = &reader_model(r)->materials[0];
		assert_vector(m->base_color, cases[i].color[0], cases[i].color[1], cases[i].color[2]);
		assert_near(m->base_color[3], 1);
		assert_true(m->ext_mask & 1u << HOB_MATERIAL_UNLIT);
		reader_free(r);
	}
}

static void channels_may_use_ids_for_sids(void **state)
{
	(void)state;
	reader *r = collada(
		"", PLAIN "<library_animations><animation id='move'>" NUMBERS("in", "2", "1", "0 1") NUMBERS(
				"out", "2", "1",
				"0 4") "<sampler id='s'><input semantic='INPUT' source='#in'/><input semantic='OUTPUT' "
					   "source='#out'/></sampler><channel source='#s' target='n/moved.X'/></animation>"
					   "</library_animations>" SCENE("<node id='n'><translate id='moved'>0 0 0</translate>"
													 "<instance_geometry url='#g'/></node>"));
	const hob_model *m = reader_model(r);
	assert_int_equal(m->clip_count, 1);
	assert_near(m->clips[0].tracks[0].values[3], 4);
	reader_free(r);
}

/* A list of numbers may contain CDATA, comments, processing instructions and character references. */
static void lists_may_be_interrupted(void **state)
{
	(void)state;
	static const char *const lists[] = {
		"0 0 0 1 0 0 1 1 0", "\n\t0\r\n0\t0\n\n1 0 0 1 1 0\n", "<![CDATA[0 0 0 1]]> 0 0 1 1 0",
		"0 0 0 <!-- 7 7 --> 1 0 0 <?pi 9?>1 1 0", "0&#32;0&#x20;0&#10;1 0 0 1 1 0"};
	for (size_t i = 0; i < HOB_COUNT_OF(lists); i++) {
		char text[1024];
		snprintf(text, sizeof text,
				 GEOMETRY("<mesh><source id='p'><float_array count='9'>%s</float_array><technique_common>"
						  "<accessor count='3' stride='3'/></technique_common></source>" VERTICES TRIANGLE
						  "</mesh>"),
				 lists[i]);
		reader *r = collada("", text);
		const hob_model *m = reader_model(r);
		assert_int_equal(model_triangles(m), 1);
		assert_vector(m->meshes[0].position + 3, 1, 0, 0);
		assert_vector(m->meshes[0].position + 6, 1, 1, 0);
		assert_int_equal(r->notes.count, 0);
		reader_free(r);
	}
}

/* A census that searches the file for each camera would take minutes. */
static void many_cameras_are_counted_in_time(void **state)
{
	(void)state;
	enum { CAMERAS = 40000, ROOM = CAMERAS * 96 + 1024 };
	char *text = malloc(ROOM);
	size_t at = (size_t)snprintf(text, ROOM, "<COLLADA><library_cameras>");
	for (int i = 0; i < CAMERAS; i++)
		at += (size_t)snprintf(text + at, ROOM - at, "<camera id='c%d'/>", i);
	at += (size_t)snprintf(text + at, ROOM - at,
						   "</library_cameras><library_visual_scenes><visual_scene><node>");
	for (int i = CAMERAS; i-- > 0;)
		at += (size_t)snprintf(text + at, ROOM - at, "<instance_camera url='#c%d'/>", i);
	snprintf(text + at, ROOM - at, "</node></visual_scene></library_visual_scenes></COLLADA>");
	reader *r = reader_new(&hob_collada_importer);
	reader_add(r, "x.dae", text);
	assert_int_equal(reader_model(r)->camera_count, CAMERAS);
	assert_int_equal(r->seen.count[HOB_CENSUS_CAMERAS], CAMERAS);
	reader_free(r);
	free(text);
}

static void blenders_order_of_transforms_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *tool, *transforms;
		bool told;
	} cases[] = {
		{"Blender 3.4.1", "<scale>1 2 1</scale><rotate>0 0 1 0</rotate><translate>1 0 0</translate>", true},
		{"Blender 3.4.1", "<scale>1 1 1</scale><rotate>0 0 1 9</rotate><translate>1 0 0</translate>", true},
		{"Blender 3.4.1", "<scale>1 1 1</scale><rotate>0 0 1 0</rotate><translate>1 0 0</translate>", false},
		{"Blender 3.4.1", "<scale>1 2 1</scale><rotate>0 0 1 9</rotate><translate>0 0 0</translate>", false},
		{"Blender 2.79", "<translate>1 0 0</translate><rotate>0 0 1 9</rotate><scale>1 2 1</scale>", false},
		{"Maya", "<rotate>0 0 1 9</rotate><translate>1 0 0</translate>", false},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char asset[128], body[2048];
		snprintf(asset, sizeof asset, "<contributor><authoring_tool>%s</authoring_tool></contributor>",
				 cases[i].tool);
		snprintf(body, sizeof body, PLAIN SCENE("<node>%s<instance_geometry url='#g'/></node>"),
				 cases[i].transforms);
		reader *r = collada(asset, body);
		reader_model(r);
		if (reader_noted(r, "collada.transform-order") != cases[i].told)
			fail_msg("case %zu", i);
		reader_free(r);
	}
}

/* Visibility as FCOLLADA and OpenCOLLADA write it. */
static void hidden_nodes_stay_hidden(void **state)
{
	(void)state;
	static const struct {
		const char *extra;
		bool hidden;
	} cases[] = {
		{"<technique profile='FCOLLADA'><visibility>0</visibility></technique>", true},
		{"<technique profile='OpenCOLLADAMaya'><visibility sid='visibility'>false</visibility></technique>",
		 true},
		{"<technique profile='FCOLLADA'><visibility>1</visibility></technique>", false},
		{"<technique profile='FCOLLADA'><visibility>true</visibility></technique>", false},
		{"<technique profile='XSI'><SI_Visibility/></technique>", false},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char body[2048];
		snprintf(body, sizeof body,
				 PLAIN SCENE("<node><instance_geometry url='#g'/><extra>%s</extra></node>"), cases[i].extra);
		reader *r = collada("", body);
		assert_int_equal(reader_model(r)->mesh_ref_count, 1);
		assert_int_equal(r->model.nodes[0].hidden, cases[i].hidden);
		reader_free(r);
	}
}

/* clang-format off */
#define MESH_OF(id, height) \
	"<geometry id='" id "'><mesh>" \
	NUMBERS("p", "9", "3", "0 0 " height " 1 0 " height " 1 1 " height) VERTICES TRIANGLE "</mesh></geometry>"
#define MOVES(node, far) \
	"<animation>" NUMBERS("t", "2", "1", "0 1") NUMBERS("o", "6", "3", "0 0 0 " far " 0 0") \
	NAMES("i", "LINEAR LINEAR") "<sampler id='s'><input semantic='INPUT' source='#t'/>" \
	"<input semantic='OUTPUT' source='#o'/><input semantic='INTERPOLATION' source='#i'/></sampler>" \
	"<channel source='#s' target='" node "/move'/></animation>"
#define MOVED(id) \
	"<node id='" id "'><translate sid='move'>0 0 0</translate><instance_geometry url='#" id "'/></node>"
#define TWO_MESHES "<library_geometries>" MESH_OF("a", "0") MESH_OF("b", "7") "</library_geometries>"

static const char equal_sources[] =
	TWO_MESHES SCENE("<node><instance_geometry url='#a'/><instance_geometry url='#b'/></node>");
/* Camera, effect, material, geometry and node share the id x; the camera comes first in the file. */
static const char one_name_for_all[] =
	"<library_cameras><camera id='x'><optics><technique_common><perspective><yfov>40</yfov></perspective>"
	"</technique_common></optics></camera></library_cameras>"
	"<library_effects><effect id='x'><profile_COMMON><technique><lambert><diffuse><color>1 0 0 1</color>"
	"</diffuse></lambert></technique></profile_COMMON></effect></library_effects>"
	"<library_materials><material id='x'><instance_effect url='#x'/></material></library_materials>"
	"<library_geometries>" MESH_OF("x", "3") "</library_geometries>" SCENE(
		"<node id='x'><instance_geometry url='#x'><bind_material><technique_common><instance_material "
		"symbol='' target='#x'/></technique_common></bind_material></instance_geometry>"
		"<instance_camera url='#x'/></node>");
/* The nodes have the ids of their meshes. */
static const char equal_samplers[] =
	TWO_MESHES "<library_animations>" MOVES("a", "5") MOVES("b", "9") "</library_animations>"
	SCENE(MOVED("a") MOVED("b"));
/* clang-format on */

static void an_id_given_twice_means_the_nearest_of_its_kind(void **state)
{
	(void)state;
	reader *r = collada("", equal_sources);
	assert_int_equal(reader_model(r)->mesh_count, 2);
	assert_vector(r->model.meshes[0].position + 6, 1, 1, 0);
	assert_vector(r->model.meshes[1].position + 6, 1, 1, 7);
	assert_true(reader_noted(r, "collada.same-id"));
	reader_free(r);
	r = collada("", one_name_for_all);
	assert_int_equal(reader_model(r)->mesh_count, 1);
	assert_int_equal(r->model.camera_count, 1);
	assert_vector(r->model.meshes[0].position + 6, 1, 1, 3);
	assert_int_not_equal(r->model.meshes[0].material, HOB_NONE);
	assert_vector(r->model.materials[r->model.meshes[0].material].base_color, 1, 0, 0);
	reader_free(r);
	r = collada("", equal_samplers);
	assert_int_equal(reader_model(r)->clip_count, 1);
	assert_int_equal(r->model.clips[0].track_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const hob_channel *moved = &r->model.clips[0].channels[i];
		bool is_a = hob_str_equal(r->model.nodes[moved->node].name, HOB_STR("a"));
		assert_near(r->model.clips[0].tracks[moved->track].values[3], is_a ? 5 : 9);
	}
	reader_free(r);
	/* Without duplicates there is no note. */
	r = collada("", PLAIN SCENE(SHOWN));
	reader_model(r);
	assert_false(reader_noted(r, "collada.same-id"));
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_may_stand_in_another_source),
		cmocka_unit_test(an_accessor_knows_better_than_the_count_of_an_array),
		cmocka_unit_test(what_is_not_made_is_said),
		cmocka_unit_test(hidden_nodes_stay_hidden),
		cmocka_unit_test(an_id_given_twice_means_the_nearest_of_its_kind),
		cmocka_unit_test(constants_have_the_colour_that_they_emit),
		cmocka_unit_test(channels_may_use_ids_for_sids),
		cmocka_unit_test(lists_may_be_interrupted),
		cmocka_unit_test(blenders_order_of_transforms_is_told),
		cmocka_unit_test(many_cameras_are_counted_in_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
