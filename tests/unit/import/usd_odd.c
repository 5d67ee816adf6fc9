/* Unusual but valid stages. tests/oracle/usd_live.mjs compares the rules with OpenUSD. */
#include "tests/unit/import/reader_fixture.h"

#define QUAD                                                                                                 \
	"int[] faceVertexCounts = [4]\n int[] faceVertexIndices = [0, 1, 2, 3]\n"                                \
	"point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n"
#define SLIDE                                                                                                \
	"double3 xformOp:translate.timeSamples = { 24: (4, 0, 0), 0: (0, 0, 0) }\n uniform token[] "             \
	"xformOpOrder = ["

static reader *stage(const char *text)
{
	static char all[8192];
	reader *r = reader_new(&hob_usd_importer);
	snprintf(all, sizeof all, "#usda 1.0\n(metersPerUnit = 1\n startTimeCode = 0\n endTimeCode = 24)\n%s",
			 text);
	reader_add(r, "stage.usda", all);
	return r;
}

static uint32_t node_of(const hob_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->node_count; i++)
		if (hob_str_equal(model->nodes[i].name, hob_str_of(name)))
			return i;
	fail_msg("no node %s", name);
	return HOB_NONE;
}

static void references_are_reordered(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_usd_importer);
	reader_add(
		r, "stage.usda",
		"#usda 1.0\n(subLayers = [@b.usda@])\nover \"W\" (reorder references = [@d.usda@, @c.usda@]) {}");
	reader_add(r, "b.usda", "#usda 1.0\ndef Xform \"W\" (prepend references = [@c.usda@, @d.usda@]) {}");
	reader_add(r, "c.usda",
			   "#usda 1.0\n(defaultPrim = \"W\")\ndef \"W\" { def Cube \"C\" { double size = 1 } }");
	reader_add(r, "d.usda",
			   "#usda 1.0\n(defaultPrim = \"W\")\ndef \"W\" { def Cube \"C\" { double size = 3 } }");
	const hob_model *m = reader_model(r);
	assert_near(fabsf(m->meshes[0].position[0]), 0.015f);
	reader_free(r);
}

static void samples_may_stand_in_disorder(void **state)
{
	(void)state;
	reader *r = stage("def Cube \"C\" { " SLIDE "\"xformOp:translate\"] }");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->clip_count, 1);
	assert_near(m->clips[0].tracks[0].times[1], 1);
	assert_near(m->clips[0].tracks[0].values[3], 4);
	reader_free(r);
}

static void numbers_may_be_words(void **state)
{
	(void)state;
	reader *r =
		stage("def Cube \"C\" { float3[] extent = [(inf, -inf, nan), (-nan, 0, 1)]\n double x = -inf }");
	assert_int_equal(reader_model(r)->mesh_count, 1);
	reader_free(r);
	r = stage("def Cube \"C\" { double x = infinite }");
	assert_false(reader_run(r));
	reader_free(r);
}

static void groups_without_a_type_have_no_transform(void **state)
{
	(void)state;
	static const char *const types[] = {"", "Scope"};
	for (size_t i = 0; i < HOB_COUNT_OF(types); i++) {
		char text[512];
		snprintf(text, sizeof text,
				 "def %s \"G\" { double3 xformOp:translate = (5, 0, 0)\n uniform token[] xformOpOrder = "
				 "[\"xformOp:translate\"]\n def Cube \"C\" {} }",
				 types[i]);
		reader *r = stage(text);
		const hob_model *m = reader_model(r);
		assert_near(m->nodes[node_of(m, "G")].translation[0], 0);
		reader_free(r);
	}
}

static void what_resets_its_stack_hangs_on_the_root(void **state)
{
	(void)state;
	reader *r = stage("def Xform \"G\" { " SLIDE "\"xformOp:translate\"]\n def Cube \"C\" { " SLIDE
					  "\"!resetXformStack!\", \"xformOp:translate\"] } }");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->nodes[node_of(m, "C")].parent, HOB_NONE);
	assert_int_equal(m->clips[0].channel_count, 2);
	reader_free(r);
}

static void instances_of_what_moves_move(void **state)
{
	(void)state;
	reader *r = stage("def PointInstancer \"I\" { point3f[] positions = [(0, 0, 0), (5, 0, 0)]\n int[] "
					  "protoIndices = [0, 0]\n rel prototypes = </I/P>\n def Cube \"P\" { " SLIDE
					  "\"xformOp:translate\"] } }");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->clips[0].channel_count, 2);
	assert_int_not_equal(m->clips[0].channels[0].node, m->clips[0].channels[1].node);
	reader_free(r);
}

static void a_binding_has_one_target_and_that_is_a_material(void **state)
{
	(void)state;
	static const char *const targets[] = {"[</L>, </K>]", "</X>"};
	for (size_t i = 0; i < HOB_COUNT_OF(targets); i++) {
		char text[1024];
		snprintf(text, sizeof text,
				 "def Xform \"X\" { rel material:binding = </L>\n def Mesh \"M\" { " QUAD
				 "rel material:binding = %s } }\ndef Material \"L\" {}\ndef Material \"K\" {}\n",
				 targets[i]);
		reader *r = stage(text);
		const hob_model *m = reader_model(r);
		assert_true(hob_str_equal(m->materials[m->meshes[0].material].name, HOB_STR("L")));
		reader_free(r);
	}
}

static void one_colour_may_have_an_index(void **state)
{
	(void)state;
	reader *r = stage("def Mesh \"M\" { " QUAD "color3f[] primvars:displayColor = [(0, 1, 0), (1, 0, 0)] "
					  "(interpolation = \"constant\")\n int[] primvars:displayColor:indices = [1] }");
	const hob_model *m = reader_model(r);
	assert_near(m->materials[m->meshes[0].material].base_color[0], 1);
	assert_near(m->materials[m->meshes[0].material].base_color[1], 0);
	reader_free(r);
}

static void bones_that_are_not_seen_bend_what_is(void **state)
{
	(void)state;
	static const char *const ways[] = {"uniform token purpose = \"guide\"",
									   "token visibility = \"invisible\""};
	for (size_t i = 0; i < HOB_COUNT_OF(ways); i++) {
		char text[2048];
		snprintf(text, sizeof text,
				 "def SkelRoot \"R\" { def Skeleton \"S\" { %s\n uniform token[] joints = [\"a\"]\n uniform "
				 "matrix4d[] bindTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))] }\n"
				 "def Mesh \"M\" { " QUAD
				 "rel skel:skeleton = </R/S>\n int[] primvars:skel:jointIndices = [0, "
				 "0, 0, 0] (interpolation = \"vertex\")\n float[] primvars:skel:jointWeights = [1, 1, 1, 1] "
				 "(interpolation = \"vertex\") } }",
				 ways[i]);
		reader *r = stage(text);
		assert_int_equal(reader_model(r)->skin_count, 1);
		reader_free(r);
	}
}

/* Four quads whose middle vertex has three crease edges: in the next level two remain, so that the vertex
 * changes from corner to crease; its position is the mean of both rules, as in OpenSubdiv. */
static void creases_that_end_blend_into_what_lasts(void **state)
{
	(void)state;
	reader *r = stage("def Mesh \"M\" { int[] faceVertexCounts = [4, 4, 4, 4]\n int[] faceVertexIndices = "
					  "[0, 1, 4, 3, 1, 2, 5, 4, 3, 4, "
					  "7, 6, 4, 5, 8, 7]\n point3f[] points = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0), "
					  "(1, 1, 1), (2, 1, 0), (0, "
					  "2, 0), (1, 2, 0), (2, 2, 0)]\n int[] creaseIndices = [1, 4, 7, 3, 4]\n int[] "
					  "creaseLengths = [3, 2]\n float[] "
					  "creaseSharpnesses = [2, 0.5] }");
	r->subdivision = 1;
	const hob_model *m = reader_model(r);
	float top = 0;
	for (uint32_t v = 0; v < m->meshes[0].vertex_count; v++)
		top = fmaxf(top, m->meshes[0].position[v * 3 + 2]);
	assert_near(top, 0.875f);
	reader_free(r);
}

static reader *moving(const char *relocates)
{
	static char text[1024];
	reader *r = reader_new(&hob_usd_importer);
	snprintf(
		text, sizeof text,
		"#usda 1.0\n(defaultPrim = \"W\"\n relocates = { %s })\ndef Xform \"W\" (references = @b.usda@) {}",
		relocates);
	reader_add(r, "stage.usda", text);
	reader_add(r, "b.usda",
			   "#usda 1.0\n(defaultPrim = \"W\")\ndef Xform \"W\" { def Xform \"B\" { def Cube \"C\" { rel "
			   "material:binding = </W/B/L> }\n def Material \"L\" {} }\n def Cube \"D\" {} }");
	return r;
}

static void prims_are_relocated(void **state)
{
	(void)state;
	reader *r = moving("</W/B>: </W/X>, </W/D>: <>");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 1);
	assert_int_equal(m->nodes[node_of(m, "C")].parent, node_of(m, "X"));
	assert_true(hob_str_equal(m->materials[m->meshes[0].material].name, HOB_STR("L")));
	reader_free(r);
}

static void odd_relocates_end(void **state)
{
	(void)state;
	static const char *const maps[] = {
		"</W/B>: </W/D>, </W/D>: </W/B>",
		"</W/B>: </W/B/C>",
		"</W/B/C>: </W/B>",
		"</W>: </V>",
		"</W/B>: </>, </W/X>: </W/B/C/D/E>",
		"</W/B>: </W/X>, </W/X>: </W/Y>",
		"<>: <>",
		"",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(maps); i++) {
		reader *r = moving(maps[i]);
		assert_true(reader_run(r) || r->error.code == HOB_ERR_EMPTY);
		reader_free(r);
	}
}

/* A material with one picture; `inputs` select channels. */
static reader *picture(const char *inputs, const char *mesh)
{
	static char text[2048];
	snprintf(text, sizeof text,
			 "def Mesh \"M\" { " QUAD "rel material:binding = </L>\n%s }\ndef Material \"L\" { token "
			 "outputs:surface.connect = </L/S.outputs:surface>\n def Shader \"S\" { %s\n token "
			 "outputs:surface }\n def Shader \"T\" { uniform token info:id = \"UsdUVTexture\"\n asset "
			 "inputs:file = @p.png@ }\n def Shader \"C\" { uniform token info:id = "
			 "\"UsdPrimvarReader_float3\"\n string inputs:varname = \"tint\" } }",
			 mesh, inputs);
	return stage(text);
}

static void channels_are_those_that_a_material_names(void **state)
{
	(void)state;
	reader *r = picture("uniform token info:id = \"UsdPreviewSurface\"\n float inputs:metallic = 1\n"
						"float inputs:roughness.connect = </L/T.outputs:g>\n float inputs:opacity.connect = "
						"</L/T.outputs:b>",
						"");
	const hob_material *m = &reader_model(r)->materials[0];
	assert_int_equal(m->slots[HOB_SLOT_ROUGHNESS].channel, HOB_CHANNEL_G);
	assert_int_equal(m->slots[HOB_SLOT_OPACITY].channel, HOB_CHANNEL_B);
	assert_near(m->metallic, 1);
	reader_free(r);
	r = picture(
		"uniform token info:id = \"ND_realitykit_pbr_surfaceshader\"\n float inputs:metallic.connect = "
		"</L/T.outputs:a>\n color3f inputs:baseColor = (1, 0, 0)",
		"");
	m = &reader_model(r)->materials[0];
	assert_int_equal(m->slots[HOB_SLOT_METALLIC].channel, HOB_CHANNEL_A);
	assert_near(m->base_color[0], 1);
	assert_near(m->base_color[1], 0);
	reader_free(r);
}

static void a_colour_that_is_not_srgb_is_told_of(void **state)
{
	(void)state;
	static const char *const inputs[] = {"diffuseColor", "emissiveColor", "normal"};
	for (size_t i = 0; i < HOB_COUNT_OF(inputs); i++)
		for (int raw = 0; raw < 2; raw++) {
			char text[1024];
			snprintf(text, sizeof text,
					 "uniform token info:id = \"UsdPreviewSurface\"\n float3 inputs:%s.connect = "
					 "</L/S/P.outputs:rgb>\n def Shader \"P\" { uniform token info:id = \"UsdUVTexture\"\n "
					 "asset inputs:file = @p.png@\n token inputs:sourceColorSpace = \"%s\" }\n",
					 inputs[i], raw ? "raw" : "sRGB");
			reader *r = picture(text, "");
			reader_model(r);
			assert_int_equal(reader_noted(r, "usd.color-space"), raw && i < 2);
			reader_free(r);
		}
}

static void points_may_bring_the_base_colour(void **state)
{
	(void)state;
	reader *r =
		picture("uniform token info:id = \"UsdPreviewSurface\"\n color3f inputs:diffuseColor.connect = "
				"</L/C.outputs:result>",
				"color4f[] primvars:tint = [(1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1), (1, 1, 0, 1)] "
				"(interpolation = \"vertex\")\n");
	const hob_model *m = reader_model(r);
	assert_near(m->materials[0].base_color[1], 1);
	assert_non_null(m->meshes[0].color[0]);
	assert_near(m->meshes[0].color[0][5], 1);
	reader_free(r);
}

static void what_resets_its_stack_has_siblings(void **state)
{
	(void)state;
	for (int z_up = 0; z_up < 2; z_up++) {
		reader *r = reader_new(&hob_usd_importer);
		char text[2048];
		snprintf(text, sizeof text,
				 "#usda 1.0\n(metersPerUnit = 1\n upAxis = \"%s\")\ndef Xform \"P\" { double3 "
				 "xformOp:translate = (9, 0, 0)\n uniform token[] xformOpOrder = [\"xformOp:translate\"]\n"
				 "def Xform \"R\" { double3 xformOp:translate = (1, 0, 0)\n uniform token[] xformOpOrder = "
				 "[\"!resetXformStack!\", \"xformOp:translate\"]\n def Cube \"A\" {}\n def Xform \"S\" { "
				 "uniform token[] xformOpOrder = [\"!resetXformStack!\"]\n def Cube \"B\" {} } }\n"
				 "def Cube \"C\" {} }",
				 z_up ? "Z" : "Y");
		reader_add(r, "stage.usda", text);
		const hob_model *m = reader_model(r);
		assert_int_equal(m->mesh_ref_count, 3);
		uint32_t root = z_up ? 0 : HOB_NONE, reset = node_of(m, "R");
		assert_int_equal(m->nodes[reset].parent, root);
		assert_int_equal(m->nodes[node_of(m, "S")].parent, root);
		assert_int_equal(m->nodes[node_of(m, "A")].parent, reset);
		assert_int_equal(m->nodes[node_of(m, "C")].parent, node_of(m, "P"));
		reader_free(r);
	}
}

static void variants_of_classes_choose_other_variants(void **state)
{
	(void)state;
	/* The class's variant selects from the prim's set, which is evaluated first. */
	reader *r =
		stage("class \"C\" (variants = { string shade = \"red\" }\n prepend variantSets = [\"shade\", "
			  "\"none\"]) { variantSet \"shade\" = { \"red\" (variants = { string lod = \"high\" }\n "
			  "references = </D>) {} }\n variantSet \"none\" = { \"a\" { def Cube \"N\" {} } } }\n"
			  "class \"D\" (variants = { string more = \"yes\" }) {}\n"
			  "def Xform \"X\" (inherits = </C>\n prepend variantSets = [\"more\", \"lod\"]) { variantSet "
			  "\"lod\" = { \"high\" { def Cube \"H\" {} } \"low\" { def Cube \"L\" {} } }\n variantSet "
			  "\"more\" = { \"yes\" { def Cube \"Y\" {} } } }");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_ref_count, 2);
	(void)node_of(m, "H");
	(void)node_of(m, "Y");
	reader_free(r);
}

static void old_names_of_types_mean_todays(void **state)
{
	(void)state;
	reader *r = stage(
		"def Mesh \"M\" { int[] faceVertexCounts = [4]\n PointIndex[] faceVertexIndices = [0, 1, 2, 3]\n"
		"PointFloat[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n"
		"ColorFloat[] primvars:displayColor = [(1, 0.5, 0)]\n Vec2f[] primvars:st = [(0, 0), (1, 0), (1, 1), "
		"(0, 1)] (interpolation = \"vertex\")\n"
		"custom Matrix4d xformOp:transform = ((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 2, 0), (5, 6, 7, 1))\n"
		"uniform token[] xformOpOrder = [\"xformOp:transform\"] }");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->meshes[0].index_count, 6);
	assert_vector(m->nodes[node_of(m, "M")].translation, 5, 6, 7);
	assert_near(m->materials[0].base_color[1], 0.5f);
	assert_non_null(m->meshes[0].uv[0]);
	reader_free(r);
}

static void types_of_programs_have_fallbacks(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_usd_importer);
	reader_add(
		r, "stage.usda",
		"#usda 1.0\n(metersPerUnit = 1\n fallbackPrimTypes = { token[] MyBall = [\"NewBall\", \"Cube\", "
		"\"Sphere\"]\n token[] Cube = [\"Sphere\"] })\ndef MyBall \"B\" { double size = 6 }\n"
		"def Cube \"C\" {}\ndef Unknown \"U\" {}");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 2);
	assert_int_equal(m->meshes[0].index_count, 36);
	assert_near(fabsf(m->meshes[0].position[0]), 3);
	assert_int_equal(m->meshes[1].index_count, 36);
	reader_free(r);
}

static void a_size_is_a_double(void **state)
{
	(void)state;
	reader *r = stage("def Cube \"C\" { float size = 6 }");
	assert_near(fabsf(reader_model(r)->meshes[0].position[0]), 1);
	assert_true(reader_noted(r, "usd.type"));
	reader_free(r);
}

static void instancers_need_positions(void **state)
{
	(void)state;
	reader *r =
		stage("def PointInstancer \"I\" { rel prototypes = </I/P>\n int[] protoIndices = [0, 0]\n def Cube "
			  "\"P\" {} }\ndef Cube \"C\" {}");
	assert_int_equal(reader_model(r)->mesh_ref_count, 1);
	assert_true(reader_noted(r, "usd.instancers"));
	reader_free(r);
}

static void instancers_in_a_circle_end(void **state)
{
	(void)state;
	reader *r =
		stage("def PointInstancer \"I\" { rel prototypes = [</I>, </J>, </C>]\n int[] protoIndices = [0, 1, "
			  "2]\n point3f[] positions = [(0, 0, 0), (1, 0, 0), (2, 0, 0)] }\ndef PointInstancer \"J\" { "
			  "rel prototypes = </I>\n int[] protoIndices = [0]\n point3f[] positions = [(0, 0, 0)] }\ndef "
			  "Cube \"C\" {}");
	const hob_model *m = reader_model(r);
	assert_true(reader_noted(r, "usd.cycle"));
	assert_true(m->mesh_count > 0 && m->mesh_count < 4);
	assert_true(m->node_count < 20);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_are_reordered),
		cmocka_unit_test(samples_may_stand_in_disorder),
		cmocka_unit_test(numbers_may_be_words),
		cmocka_unit_test(groups_without_a_type_have_no_transform),
		cmocka_unit_test(what_resets_its_stack_hangs_on_the_root),
		cmocka_unit_test(instances_of_what_moves_move),
		cmocka_unit_test(a_binding_has_one_target_and_that_is_a_material),
		cmocka_unit_test(one_colour_may_have_an_index),
		cmocka_unit_test(creases_that_end_blend_into_what_lasts),
		cmocka_unit_test(prims_are_relocated),
		cmocka_unit_test(odd_relocates_end),
		cmocka_unit_test(bones_that_are_not_seen_bend_what_is),
		cmocka_unit_test(channels_are_those_that_a_material_names),
		cmocka_unit_test(a_colour_that_is_not_srgb_is_told_of),
		cmocka_unit_test(points_may_bring_the_base_colour),
		cmocka_unit_test(what_resets_its_stack_has_siblings),
		cmocka_unit_test(variants_of_classes_choose_other_variants),
		cmocka_unit_test(old_names_of_types_mean_todays),
		cmocka_unit_test(types_of_programs_have_fallbacks),
		cmocka_unit_test(a_size_is_a_double),
		cmocka_unit_test(instancers_need_positions),
		cmocka_unit_test(instancers_in_a_circle_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
