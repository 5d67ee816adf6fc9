/* The COLLADA reader, with small hand-written documents. */
#include "collada_fixture.h"

static double area(const hob_mesh *mesh)
{
	double sum = 0;
	for (uint32_t i = 0; i + 2 < mesh->index_count; i += 3) {
		const float *a = mesh->position + (size_t)mesh->indices[i] * 3,
					*b = mesh->position + (size_t)mesh->indices[i + 1] * 3;
		const float *c = mesh->position + (size_t)mesh->indices[i + 2] * 3;
		sum +=
			((double)(b[0] - a[0]) * (double)(c[1] - a[1]) - (double)(b[1] - a[1]) * (double)(c[0] - a[0])) /
			2;
	}
	return sum;
}

static void a_square_becomes_two_triangles_in_metres(void **state)
{
	(void)state;
	reader *r = collada("<unit meter='0.01'/><up_axis>Z_UP</up_axis>", PLAIN SCENE(SHOWN));
	const hob_model *m = reader_model(r);
	assert_int_equal(model_triangles(m), 2);
	assert_int_equal(m->meshes[0].vertex_count, 4);
	assert_vector(m->meshes[0].position + 6, 0.01f, 0.01f, 0);
	assert_int_equal(m->node_count, 2);
	assert_name(m->nodes[1].name, "shown");
	float turned[16];
	hob_node_local_matrix(&m->nodes[0], turned);
	assert_vector(turned + 8, 0, 1, 0); /* Z is up in the file */
	reader_free(r);
}

/* clang-format off */
#define TEXTURED(texcoord, bind) \
	"<library_images><image id='i'><init_from>a%20b.png</init_from></image></library_images>" \
	"<library_effects><effect id='e'><profile_COMMON>" \
	"<newparam sid='su'><surface type='2D'><init_from>i</init_from></surface></newparam>" \
	"<newparam sid='sa'><sampler2D><source>su</source><wrap_s>CLAMP</wrap_s></sampler2D></newparam>" \
	"<technique sid='t'><lambert><diffuse>" \
	"<texture texture='sa' texcoord='" texcoord "'/></diffuse></lambert>" \
	"<extra><technique profile='MAX3D'><double_sided>1</double_sided></technique></extra>" \
	"</technique></profile_COMMON></effect></library_effects>" \
	"<library_materials><material id='mat' name='wood'>" \
	"<instance_effect url='#e'/></material></library_materials>" \
	"<library_geometries><geometry id='g'><mesh>" SQUARE \
	NUMBERS("t0", "8", "2", "0 0 1 0 1 1 0 1") \
	NUMBERS("t1", "8", "2", ".5 .5 .75 .5 .75 .75 .5 .75") VERTICES \
	"<triangles count='1' material='m'>" INPUT("VERTEX", "v", "0", "") \
	INPUT("TEXCOORD", "t0", "1", "set='0'") \
	INPUT("TEXCOORD", "t1", "1", "set='1'") \
	"<p>0 0 1 1 2 2</p></triangles></mesh></geometry></library_geometries>" \
	SCENE("<node id='n'><instance_geometry url='#g'><bind_material><technique_common>" \
	      "<instance_material symbol='m' target='#mat'>" bind \
	      "</instance_material></technique_common></bind_material></instance_geometry></node>")
/* clang-format on */

static void textures_use_the_set_that_is_bound(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t set;
	} cases[] = {
		{TEXTURED("X", "<bind_vertex_input semantic='X' input_semantic='TEXCOORD' input_set='1'/>"), 1},
		{TEXTURED("X", "<bind_vertex_input semantic='X' input_semantic='TEXCOORD' input_set='0'/>"), 0},
		{TEXTURED("CHANNEL1", ""), 1},
		{TEXTURED("UVMap", ""), 0},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = collada("", cases[i].text);
		const hob_model *m = reader_model(r);
		assert_int_equal(m->material_count, 1);
		assert_name(m->materials[0].name, "wood");
		const hob_texture_ref *ref = &m->materials[0].slots[HOB_SLOT_BASE_COLOR];
		assert_int_equal(ref->uv_set, cases[i].set);
		assert_name(m->images[ref->image].path, "props/a b.png");
		assert_int_equal(m->samplers[ref->sampler].wrap_u, HOB_WRAP_CLAMP);
		assert_true(m->materials[0].double_sided);
		assert_near(m->meshes[0].uv[1][2], 0.75f);
		assert_near(m->meshes[0].uv[1][3], 0.5f); /* V counts from the top */
		reader_free(r);
	}
}

static void corners_say_more_than_points(void **state)
{
	(void)state;
	reader *r = collada(
		"", "<library_geometries><geometry id='g'><mesh>" SQUARE NUMBERS("tv", "8", "2", "9 9 9 9 9 9 9 9")
				NUMBERS("tc", "8", "2",
						"0 1 .25 1 .5 1 1 1") "<vertices id='v'><input semantic='POSITION' source='#p'/>"
											  "<input semantic='TEXCOORD' source='#tv'/></vertices>"
											  "<triangles count='1'>" INPUT("VERTEX", "v", "0", "")
												  INPUT("TEXCOORD", "tc", "1",
														"") "<p>0 0 1 2 2 "
															"1</p></triangles></mesh></geometry></"
															"library_geometries>" SCENE(SHOWN));
	const hob_mesh *mesh = &reader_model(r)->meshes[0];
	assert_non_null(mesh->uv[0]);
	assert_null(mesh->uv[1]);
	assert_near(mesh->uv[0][0], 0);
	assert_near(mesh->uv[0][2], 0.5f);
	assert_near(mesh->uv[0][4], 0.25f);
	reader_free(r);
}

static void holes_stay_open(void **state)
{
	(void)state;
	reader *r = collada(
		"", "<library_geometries><geometry id='g'><mesh>" NUMBERS(
				"p", "36", "3", "0 0 0 9 0 0 9 9 0 0 9 0  1 1 0 1 3 0 3 3 0 3 1 0  5 5 0 7 5 0 7 7 0 5 7 0")
				VERTICES "<polygons count='2'>" INPUT(
					"VERTEX", "v", "0",
					"") "<ph><p>0 1 2 3</p><h>4 5 6 7</h><h>8 9 10 11</h></ph>"
						"<p>4 7 6 5</p></polygons></mesh></geometry></library_geometries>" SCENE(SHOWN));
	const hob_model *m = reader_model(r);
	assert_near((float)area(&m->meshes[0]), 81 - 4 - 4 + 4);
	assert_int_equal(model_triangles(m), 14 + 2);
	reader_free(r);
}

static void every_kind_of_primitive_is_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t elements;
		hob_topology topology;
	} cases[] = {
		{"<tristrips>" INPUT("VERTEX", "v", "0", "") "<p>0 1 3 2</p></tristrips>", 2, HOB_TRIANGLES},
		{"<trifans>" INPUT("VERTEX", "v", "0", "") "<p>0 1 2 3</p></trifans>", 2, HOB_TRIANGLES},
		{"<polygons>" INPUT("VERTEX", "v", "0", "") "<p>0 1 2</p><p>0 2 3</p></polygons>", 2, HOB_TRIANGLES},
		{"<lines>" INPUT("VERTEX", "v", "0", "") "<p>0 1 2 3</p></lines>", 2, HOB_LINES},
		{"<linestrips>" INPUT("VERTEX", "v", "0", "") "<p>0 1 2 3</p><p>3 0</p></linestrips>", 4, HOB_LINES},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[4096];
		snprintf(text, sizeof text,
				 "<library_geometries><geometry id='g'><mesh>" SQUARE VERTICES
				 "%s</mesh></geometry></library_geometries>" SCENE(SHOWN),
				 cases[i].text);
		reader *r = collada("", text);
		const hob_model *m = reader_model(r);
		assert_int_equal(m->meshes[0].topology, cases[i].topology);
		assert_int_equal(m->meshes[0].index_count / (cases[i].topology == HOB_LINES ? 2 : 3),
						 cases[i].elements);
		if (cases[i].topology == HOB_TRIANGLES)
			assert_near((float)area(&m->meshes[0]), 1);
		reader_free(r);
	}
}

static void transforms_multiply_in_their_order(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		float x[3], at[3]; /* direction of X, position of the origin */
	} cases[] = {
		{"<translate>1 2 3</translate><rotate>0 0 1 90</rotate><scale>2 1 1</scale>", {0, 2, 0}, {1, 2, 3}},
		{"<rotate>0 0 1 90</rotate><translate>1 2 3</translate>", {0, 1, 0}, {-2, 1, 3}},
		{"<matrix>0 -1 0 5 1 0 0 6 0 0 1 7 0 0 0 1</matrix>", {0, 1, 0}, {5, 6, 7}},
		{"<lookat>1 2 3  2 2 3  0 1 0</lookat>", {0, 0, 1}, {1, 2, 3}},
		{"<skew>45 0 1 0 1 0 0</skew>", {1, 0, 0}, {0, 0, 0}},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[4096];
		snprintf(text, sizeof text, PLAIN SCENE("<node id='n'>%s<instance_geometry url='#g'/></node>"),
				 cases[i].text);
		reader *r = collada("", text);
		float m[16];
		hob_node_local_matrix(&reader_model(r)->nodes[0], m);
		assert_vector(m, cases[i].x[0], cases[i].x[1], cases[i].x[2]);
		assert_vector(m + 12, cases[i].at[0], cases[i].at[1], cases[i].at[2]);
		if (i == 4) {
			assert_vector(m + 4, 1, 1, 0); /* Y is sheared along X */
			assert_true(r->model.nodes[0].has_matrix);
		}
		reader_free(r);
	}
}

/* ---- animation */

#define CURVE(input, output, width, modes, more)                                                             \
	"<library_animations><animation id='walk'>" NUMBERS("in", "9", "1", input)                               \
		NUMBERS("out", "99", width, output) NAMES("modes", modes) more
#define SAMPLER(more, target)                                                                                \
	"<sampler id='sm'><input semantic='INPUT' source='#in'/><input semantic='OUTPUT' source='#out'/>"        \
	"<input semantic='INTERPOLATION' source='#modes'/>" more                                                 \
	"</sampler><channel source='#sm' target='" target "'/>"                                                  \
	"</animation></library_animations>"
#define TANGENTS "<input semantic='IN_TANGENT' source='#ti'/><input semantic='OUT_TANGENT' source='#to'/>"
#define MOVED                                                                                                \
	PLAIN SCENE("<node id='n'><translate sid='t'>1 2 3</translate><rotate sid='r'>0 0 1 10</rotate>"         \
				"<scale sid='s'>1 1 1</scale><instance_geometry url='#g'/></node>")

static const hob_track *only_track(const hob_model *m, hob_path path)
{
	assert_int_equal(m->clip_count, 1);
	assert_int_equal(m->clips[0].channel_count, 1);
	assert_int_equal(m->clips[0].channels[0].path, path);
	return &m->clips[0].tracks[m->clips[0].channels[0].track];
}

static void one_component_keeps_the_others(void **state)
{
	(void)state;
	reader *r = collada("<unit meter='0.5'/>",
						CURVE("0 1 3", "1 5 7", "1", "LINEAR LINEAR LINEAR", "") SAMPLER("", "n/t.Y") MOVED);
	const hob_track *t = only_track(reader_model(r), HOB_PATH_TRANSLATION);
	assert_int_equal(t->interpolation, HOB_LINEAR);
	assert_int_equal(t->key_count, 3);
	assert_vector(t->values + 3, 0.5f, 2.5f, 1.5f);
	assert_near(t->times[2], 3);
	assert_name(r->model.clips[0].name, "walk");
	reader_free(r);
}

static void curves_that_gltf_can_say_are_said(void **state)
{
	(void)state;
	reader *r = collada("", CURVE("0 3", "0 0 0 3 6 9", "3", "BEZIER BEZIER",
								  NUMBERS("ti", "12", "6", "-1 0 -1 0 -1 0  2 3 2 0 2 9")
									  NUMBERS("to", "12", "6", "1 1 1 0 1 0  4 3 4 6 4 9"))
								SAMPLER(TANGENTS, "n/t") MOVED);
	const hob_track *t = only_track(reader_model(r), HOB_PATH_TRANSLATION);
	assert_int_equal(t->interpolation, HOB_CUBICSPLINE);
	assert_int_equal(t->key_count, 2);
	assert_vector(t->values + 6, 1, 0, 0); /* out-tangent of the first: 3 * (control - value) / 3 s */
	assert_vector(t->values + 9, 0, 6, 0); /* in-tangent of the last */
	assert_vector(t->values + 12, 3, 6, 9);
	reader_free(r);
	r = collada("", CURVE("0 1 2", "0 0 0 1 1 1 2 2 2", "3", "STEP STEP STEP", "") SAMPLER("", "n/t") MOVED);
	t = only_track(reader_model(r), HOB_PATH_TRANSLATION);
	assert_int_equal(t->interpolation, HOB_STEP);
	assert_int_equal(t->key_count, 3);
	reader_free(r);
}

static double bezier(double a, double b, double c, double d, double s)
{
	double q = 1 - s;
	return q * q * q * a + 3 * q * q * s * b + 3 * q * s * s * c + s * s * s * d;
}

static double linear_at(const hob_track *t, double time, uint32_t component)
{
	for (uint32_t k = 0; k + 1 < t->key_count; k++)
		if (time <= (double)t->times[k + 1]) {
			double s = (time - (double)t->times[k]) / ((double)t->times[k + 1] - (double)t->times[k]);
			double a = (double)t->values[(size_t)k * t->components + component];
			return a + ((double)t->values[(size_t)(k + 1) * t->components + component] - a) * s;
		}
	return 0;
}

/* The control points are at 0.1 and 0.9 of the segment: not a polynomial of time. */
static void other_curves_stay_within_their_bound(void **state)
{
	(void)state;
	reader *r =
		collada("", CURVE("0 1", "0 100", "1", "BEZIER BEZIER",
						  NUMBERS("ti", "4", "2", "-1 0 0.9 100") NUMBERS("to", "4", "2", "0.1 60 2 100"))
						SAMPLER(TANGENTS, "n/t.X") MOVED);
	const hob_track *t = only_track(reader_model(r), HOB_PATH_TRANSLATION);
	assert_int_equal(t->interpolation, HOB_LINEAR);
	assert_true(t->key_count > 10 && t->key_count < 2000);
	for (int i = 0; i <= 1000; i++) {
		double s = i / 1000.0, time = bezier(0, 0.1, 0.9, 1, s), value = bezier(0, 60, 100, 100, s);
		assert_true(fabs(linear_at(t, time, 0) - value) <= 100 * 1e-5 * 2);
	}
	reader_free(r);
}

static void whole_turns_are_turned(void **state)
{
	(void)state;
	reader *r = collada("", CURVE("0 2", "0 720", "1", "LINEAR LINEAR", "") SAMPLER("", "n/r.ANGLE") MOVED);
	const hob_track *t = only_track(reader_model(r), HOB_PATH_ROTATION);
	assert_true(t->key_count >= 9);
	double sum = 0;
	for (uint32_t k = 0; k + 1 < t->key_count; k++) {
		const float *a = t->values + (size_t)k * 4, *b = a + 4;
		double dot = fabs((double)(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]));
		sum += 2 * acos(dot < 1 ? dot : 1);
	}
	assert_near((float)sum, 12.566371f);
	reader_free(r);
}

static void jumps_stay_jumps_beside_lines(void **state)
{
	(void)state;
	reader *r = collada("", CURVE("0 1 2", "0 0 0 4 4 4 8 8 8", "3", "STEP LINEAR LINEAR", "")
								SAMPLER("", "n/t") MOVED);
	const hob_track *t = only_track(reader_model(r), HOB_PATH_TRANSLATION);
	assert_near((float)linear_at(t, 0.99, 0), 0);
	assert_near((float)linear_at(t, 1.5, 0), 6);
	reader_free(r);
}

static void hermite_tangents_are_thirds(void **state)
{
	(void)state;
	reader *r = collada("", CURVE("0 1", "0 1", "1", "HERMITE HERMITE",
								  NUMBERS("ti", "4", "2", "1 0 1 3") NUMBERS("to", "4", "2", "1 2 1 0"))
								SAMPLER(TANGENTS, "n/t.Z") MOVED);
	const hob_track *t = only_track(reader_model(r), HOB_PATH_TRANSLATION);
	assert_int_equal(t->interpolation, HOB_CUBICSPLINE);
	assert_near(t->values[8], 2);
	assert_near(t->values[9 + 2], 3);
	reader_free(r);
}

static void clips_have_their_names_and_windows(void **state)
{
	(void)state;
	reader *r = collada("", CURVE("0 4", "0 4", "1", "LINEAR LINEAR", "")
								SAMPLER("", "n/t.X") "<library_animation_clips><animation_clip name='go' "
													 "start='1' end='3'><instance_animation url='#walk'/>"
													 "</animation_clip></library_animation_clips>" MOVED);
	const hob_track *t = only_track(reader_model(r), HOB_PATH_TRANSLATION);
	assert_name(r->model.clips[0].name, "go");
	assert_near(t->times[0], 0);
	assert_near(t->times[t->key_count - 1], 2);
	assert_near(t->values[0], 1);
	assert_near(t->values[(t->key_count - 1) * 3], 3);
	reader_free(r);
}

static void matrices_become_keys(void **state)
{
	(void)state;
	reader *r = collada("", CURVE("0 1", "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1  0 -1 0 5 1 0 0 0 0 0 1 0 0 0 0 1",
								  "16", "LINEAR LINEAR", "") SAMPLER("", "n/m")
								PLAIN SCENE("<node id='n'><matrix sid='m'>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 "
											"1</matrix><instance_geometry url='#g'/></node>"));
	const hob_model *m = reader_model(r);
	assert_int_equal(m->clips[0].channel_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const hob_track *t = &m->clips[0].tracks[m->clips[0].channels[i].track];
		assert_int_equal(t->key_count, 2);
		if (m->clips[0].channels[i].path == HOB_PATH_ROTATION)
			assert_near(fabsf(t->values[6]), 0.70710678f);
		else
			assert_vector(t->values + 3, 5, 0, 0);
	}
	reader_free(r);
}

static void library_nodes_move_wherever_they_stand(void **state)
{
	(void)state;
	reader *r = collada(
		"", CURVE("0 1", "0 1", "1", "LINEAR LINEAR", "") SAMPLER("", "lib/t.X") PLAIN
		"<library_nodes><node id='lib'><translate sid='t'>0 0 0</translate><instance_geometry "
		"url='#g'/></node></library_nodes>" SCENE("<node id='a'><instance_node url='#lib'/></node><node "
												  "id='b'><instance_node url='#lib'/></node>"));
	const hob_model *m = reader_model(r);
	assert_int_equal(m->node_count, 4);
	assert_int_equal(m->mesh_count, 1);
	assert_int_equal(m->clips[0].channel_count, 2);
	assert_int_equal(m->clips[0].track_count, 1);
	reader_free(r);
}

/* ---- controllers */

#define SKIN                                                                                                 \
	"<library_controllers><controller id='c'><skin source='#g'><bind_shape_matrix>1 0 0 2 0 1 0 0 0 0 1 0 "  \
	"0 0 0 1"                                                                                                \
	"</bind_shape_matrix>" NAMES("j", "one two")                                                             \
		NUMBERS("ib", "32", "16", "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1  1 0 0 -7 0 1 0 0 0 0 1 0 0 0 0 1")       \
			NUMBERS("w", "3", "1",                                                                           \
					"1 .25 .75") "<joints><input semantic='JOINT' source='#j'/><input "                      \
								 "semantic='INV_BIND_MATRIX' source='#ib'/></joints>"                        \
								 "<vertex_weights count='4'>" INPUT("JOINT", "j", "0", "") INPUT(            \
									 "WEIGHT", "w", "1",                                                     \
									 "") "<vcount>1 2 1 1</vcount><v>0 0 0 1 1 2 1 0 -1 "                    \
										 "0</v></vertex_weights></skin></controller></library_controllers>"

static void skins_find_their_joints_below_the_skeleton(void **state)
{
	(void)state;
	reader *r = collada("<unit meter='0.1'/>",
						PLAIN SKIN SCENE("<node id='x' sid='one'/><node id='root' sid='zero'><node id='k' "
										 "sid='one'><node id='l' sid='two'/></node></node>"
										 "<node id='n'><instance_controller "
										 "url='#c'><skeleton>#root</skeleton></instance_controller></node>"));
	const hob_model *m = reader_model(r);
	assert_int_equal(m->skin_count, 1);
	assert_int_equal(m->skins[0].joint_count, 2);
	assert_int_equal(m->skins[0].joints[0], 2);
	assert_int_equal(m->skins[0].joints[1], 3);
	assert_near(m->skins[0].inverse_bind[12], 0.2f);
	assert_near(m->skins[0].inverse_bind[16 + 12], -0.5f);
	const hob_mesh *mesh = &m->meshes[0];
	assert_int_equal(mesh->influence_count, 4);
	assert_near(mesh->weights[4], 0.75f);
	assert_int_equal(mesh->joints[4], 1);
	assert_near(mesh->weights[5], 0.25f);
	assert_true(reader_noted(r, "skin.missing-joint")); /* the bind shape, -1 */
	reader_free(r);
}

#define MORPH                                                                                                \
	"<library_geometries><geometry id='g'><mesh>" SQUARE VERTICES                                            \
	"<polylist>" INPUT("VERTEX", "v", "0",                                                                   \
					   "") "<vcount>4</vcount><p>0 1 2 3</p></polylist></mesh></geometry>"                   \
						   "<geometry id='g2' name='smile'><mesh>" NUMBERS(                                  \
							   "p2", "12", "3",                                                              \
							   "0 0 5 1 0 0 1 1 0 0 1 0") "<vertices id='v2'><input semantic='POSITION' "    \
														  "source='#p2'/></vertices><polylist>" INPUT(       \
															  "VERTEX", "v2", "0",                           \
															  "") "<vcount>4</"                              \
																  "vcount><p>0 1 "                           \
																  "2 "                                       \
																  "3</p></"                                  \
																  "polylist></"                              \
																  "mesh></"                                  \
																  "geometry></"                              \
																  "library_"                                 \
																  "geometries>"                              \
																  "<library_"                                \
																  "controllers><"                            \
																  "controller "                              \
																  "id='c'><morph "                           \
																  "source='#g' "                             \
																  "method='"                                 \
																  "NORMALIZED'>"                             \
																  "<source "                                 \
																  "id='mt'><IDREF_"                          \
																  "array>g2</"                               \
																  "IDREF_array></"                           \
																  "source"                                   \
																  ">" NUMBERS("mw", "1", "1", "0.5") "<tar"  \
																									 "gets"  \
																									 "><"    \
																									 "inpu"  \
																									 "t "    \
																									 "sema"  \
																									 "ntic"  \
																									 "='"    \
																									 "MORP"  \
																									 "H_"    \
																									 "TARG"  \
																									 "ET' "  \
																									 "sour"  \
																									 "ce='"  \
																									 "#mt'"  \
																									 "/><"   \
																									 "inpu"  \
																									 "t "    \
																									 "sema"  \
																									 "ntic"  \
																									 "='"    \
																									 "MORP"  \
																									 "H_"    \
																									 "WEIG"  \
																									 "HT' "  \
																									 "sour"  \
																									 "ce='"  \
																									 "#mw'"  \
																									 "/></"  \
																									 "targ"  \
																									 "ets>"  \
																									 "</"    \
																									 "morp"  \
																									 "h></"  \
																									 "cont"  \
																									 "roll"  \
																									 "er><"  \
																									 "/lib"  \
																									 "rary"  \
																									 "_con"  \
																									 "trol"  \
																									 "lers"  \
																									 ">"

static void morph_targets_are_differences_and_their_weights_move(void **state)
{
	(void)state;
	reader *r = collada("", CURVE("0 1", "0 1", "1", "LINEAR LINEAR", "") SAMPLER("", "mw(0)")
								MORPH SCENE("<node id='n'><instance_controller url='#c'/></node>"));
	const hob_model *m = reader_model(r);
	assert_int_equal(m->meshes[0].target_count, 1);
	assert_name(m->meshes[0].targets[0].name, "smile");
	assert_near(m->meshes[0].targets[0].weight, 0.5f);
	assert_vector(m->meshes[0].targets[0].position, 0, 0, 5);
	const hob_track *t = only_track(m, HOB_PATH_WEIGHTS);
	assert_int_equal(t->components, 1);
	assert_near(t->values[1], 1);
	reader_free(r);
}

/* ---- malformed numbers, bindings, archives */

static void numbers_are_read_as_careless_programs_write_them(void **state)
{
	(void)state;
	reader *r =
		collada("", "<library_geometries><geometry id='g'><mesh>" NUMBERS(
						"p", "9", "3", "\n  0 0 0\r\n 1,5 0 0\t0 2,25 0 ") VERTICES
				"<triangles>" INPUT(
					"VERTEX", "v", "0",
					"") "<p>  0 1 2 </p></triangles></mesh></geometry></library_geometries>" SCENE(SHOWN));
	assert_near((float)area(&reader_model(r)->meshes[0]), 1.6875f);
	reader_free(r);
}

static void a_mesh_with_two_materials_is_made_once_for_each_pair(void **state)
{
	(void)state;
#define WITH(material)                                                                                       \
	"<instance_geometry url='#g'><bind_material><technique_common><instance_material symbol='m' "            \
	"target='#" material "'/></technique_common></bind_material></instance_geometry>"
	reader *r =
		collada("", "<library_effects><effect id='e'><profile_COMMON><technique><phong><diffuse><color>1 0 0 "
					"1</color></diffuse>"
					"<transparent opaque='RGB_ZERO'><color>.25 .25 .25 "
					"1</color></transparent></phong></technique></profile_COMMON></effect></library_effects>"
					"<library_materials><material id='a'><instance_effect url='#e'/></material><material "
					"id='b'><instance_effect url='#e'/></material></library_materials>" PLAIN SCENE(
						"<node>" WITH("a") "</node><node>" WITH("b") "</node><node>" WITH("a") "</node>"));
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 2);
	assert_ptr_equal(m->meshes[0].position, m->meshes[1].position);
	assert_int_equal(m->mesh_refs[m->nodes[2].mesh_first], m->mesh_refs[m->nodes[0].mesh_first]);
	assert_vector(m->materials[0].base_color, 1, 0, 0);
	assert_near(m->materials[0].base_color[3], 0.75f);
	assert_int_equal(m->materials[0].alpha_mode, HOB_ALPHA_BLEND);
	reader_free(r);
}

static void what_would_run_away_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		hob_err_code code;
	} cases[] = {
		{PLAIN "<library_nodes><node id='l'><instance_node url='#l'/></node></library_nodes>" SCENE(
			 "<node><instance_node url='#l'/></node>"),
		 HOB_ERR_LIMIT},
		{PLAIN "<library_controllers><controller id='c'><skin "
			   "source='#c'/></controller></library_controllers>" SCENE(
				   "<node><instance_controller url='#c'/></node>"),
		 HOB_ERR_CORRUPT},
		{"<library_geometries>", HOB_ERR_CORRUPT},
		{"", HOB_ERR_EMPTY},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = collada("", cases[i].text);
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, cases[i].code);
		reader_free(r);
	}
	reader *r = reader_new(&hob_collada_importer);
	reader_add(r, "x.dae", "<!DOCTYPE x [<!ENTITY a 'b'>]><COLLADA>&a;</COLLADA>");
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_UNSUPPORTED);
	assert_int_equal(r->io.logged, 0);
	reader_free(r);
}

#define EVERYTHING                                                                                           \
	CURVE("0 1", "0 0 0 1 2 3", "3", "BEZIER LINEAR",                                                        \
		  NUMBERS("ti", "12", "6", "0 0 0 0 0 0 .9 1 .9 1 .9 1")                                             \
			  NUMBERS("to", "12", "6", ".1 1 .1 1 .1 1 0 0 0 0 0 0"))                                        \
	SAMPLER(TANGENTS, "n/t")                                                                                 \
	PLAIN SKIN SCENE(                                                                                        \
		"<node id='root'><rotate>0 0 1 9</rotate><node sid='one'><node sid='two'/></node></node>"            \
		"<node id='n'><translate sid='t'>1 2 3</translate><rotate>1 0 0 5</rotate><instance_controller "     \
		"url='#c'><skeleton>#root</skeleton></instance_controller></node>")

static void damage_is_survived(void **state)
{
	(void)state;
	reader *r = collada("<unit meter='0.01'/><up_axis>X_UP</up_axis>", EVERYTHING);
	reader_damage(r, 3);
	reader_free(r);
	r = collada("", MORPH SCENE("<node id='n'><instance_controller url='#c'/></node>"));
	reader_damage(r, 3);
	reader_free(r);
}

static void memory_may_be_short_anywhere(void **state)
{
	(void)state;
	reader *r = collada("", EVERYTHING);
	reader_starve(r);
	reader_free(r);
	r = collada("", TEXTURED("X", ""));
	reader_starve(r);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_square_becomes_two_triangles_in_metres),
		cmocka_unit_test(textures_use_the_set_that_is_bound),
		cmocka_unit_test(corners_say_more_than_points),
		cmocka_unit_test(holes_stay_open),
		cmocka_unit_test(every_kind_of_primitive_is_read),
		cmocka_unit_test(transforms_multiply_in_their_order),
		cmocka_unit_test(one_component_keeps_the_others),
		cmocka_unit_test(curves_that_gltf_can_say_are_said),
		cmocka_unit_test(other_curves_stay_within_their_bound),
		cmocka_unit_test(whole_turns_are_turned),
		cmocka_unit_test(jumps_stay_jumps_beside_lines),
		cmocka_unit_test(hermite_tangents_are_thirds),
		cmocka_unit_test(clips_have_their_names_and_windows),
		cmocka_unit_test(matrices_become_keys),
		cmocka_unit_test(library_nodes_move_wherever_they_stand),
		cmocka_unit_test(skins_find_their_joints_below_the_skeleton),
		cmocka_unit_test(morph_targets_are_differences_and_their_weights_move),
		cmocka_unit_test(numbers_are_read_as_careless_programs_write_them),
		cmocka_unit_test(a_mesh_with_two_materials_is_made_once_for_each_pair),
		cmocka_unit_test(what_would_run_away_is_refused),
		cmocka_unit_test(damage_is_survived),
		cmocka_unit_test(memory_may_be_short_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
