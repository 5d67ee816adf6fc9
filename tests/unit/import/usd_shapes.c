/* USD: blend shapes with in-betweens, materials bound to collections. */
#include "tests/unit/import/reader_fixture.h"

static reader *stage(const char *text)
{
	static char all[16384];
	reader *r = reader_new(&hob_usd_importer);
	snprintf(all, sizeof all, "#usda 1.0\n(metersPerUnit = 1)\n%s", text);
	reader_add(r, "stage.usda", all);
	return r;
}

static const hob_node *node_of(const hob_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->node_count; i++)
		if (hob_str_equal(model->nodes[i].name, hob_str_of(name)))
			return &model->nodes[i];
	fail_msg("no node %s", name);
	return NULL;
}

static const char shaped[] =
	"def SkelRoot \"R\" { rel skel:animationSource = </R/A>\n rel skel:skeleton = </R/S>\n"
	"def Skeleton \"S\" { uniform token[] joints = [\"a\"]\n"
	"uniform matrix4d[] bindTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))]\n"
	"uniform matrix4d[] restTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))] }\n"
	"def SkelAnimation \"A\" { uniform token[] joints = [\"a\"]\n uniform token[] blendShapes = [\"smile\"]\n"
	"float[] blendShapeWeights = [0.75] }\n"
	"def Mesh \"M\" { int[] faceVertexCounts = [3]\n int[] faceVertexIndices = [0, 1, 2]\n"
	"point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]\n uniform token[] skel:blendShapes = [\"smile\"]\n"
	"rel skel:blendShapeTargets = </R/M/B>\n"
	"int[] primvars:skel:jointIndices = [0, 0, 0] (elementSize = 1\n interpolation = \"vertex\")\n"
	"float[] primvars:skel:jointWeights = [1, 1, 1] (elementSize = 1\n interpolation = \"vertex\")\n"
	"def BlendShape \"B\" { uniform vector3f[] offsets = [(0, 0, 1)]\n uniform int[] pointIndices = [1]\n"
	"uniform vector3f[] inbetweens:half = [(0, 0, 2)] (weight = 0.5) } } }";

static void blend_shapes_rest_at_their_weights(void **state)
{
	(void)state;
	reader *r = stage(shaped);
	const hob_model *m = reader_model(r);
	const hob_node *node = node_of(m, "M");
	/* At the middle: 2; at the end: 1. At 0.75 half of each. */
	assert_int_equal(node->weight_count, 2);
	assert_near(m->weights[node->weight_first], 0.5f);
	assert_near(m->weights[node->weight_first + 1], 0.5f);
	assert_near(m->meshes[0].targets[0].position[5], 1);
	assert_near(m->meshes[0].targets[1].position[5], 2);
	assert_name(m->meshes[0].targets[1].name, "smile:half");
	reader_free(r);
}

/* The weight goes from 0 to 1.5 in one second: a key is added where it crosses the in-between at 0.5. */
static void in_betweens_bend_the_way_of_a_shape(void **state)
{
	(void)state;
	char text[4096];
	snprintf(text, sizeof text, "%s", shaped);
	char *at = strstr(text, "float[] blendShapeWeights = [0.75] ");
	assert_non_null(at);
	static const char moving[] = "float[] blendShapeWeights.timeSamples = { 0: [0], 24: [1.5] } ";
	size_t old = strlen("float[] blendShapeWeights = [0.75] ");
	memmove(at + sizeof moving - 1, at + old, strlen(at + old) + 1);
	memcpy(at, moving, sizeof moving - 1);
	reader *r = stage(text);
	const hob_model *m = reader_model(r);
	assert_int_equal(m->clip_count, 1);
	const hob_track *track = &m->clips[0].tracks[0];
	assert_int_equal(track->key_count, 3);
	assert_near(track->times[1], 1.0f / 3);
	assert_near(track->values[2], 0);
	assert_near(track->values[3], 1);
	/* Beyond the end the last segment extrapolates. */
	assert_near(track->values[4], 2);
	assert_near(track->values[5], -1);
	reader_free(r);
}

/* Members of a collection get its material; a nearer binding or an excluded path does not. */
static void collections_bind_materials(void **state)
{
	(void)state;
	static const char text[] =
		"def Xform \"R\" (prepend apiSchemas = [\"CollectionAPI:red\"]) {\n"
		"rel collection:red:includes = [</R/A>, </R/D.collection:more>]\n rel collection:red:excludes = "
		"</R/A/Out>\n"
		"rel material:binding:collection:red = [</R.collection:red>, </R/Red>]\n rel material:binding = "
		"</R/Blue>\n"
		"def Material \"Red\" { token outputs:surface.connect = </R/Red/S.outputs:surface>\n def Shader "
		"\"S\" {\n"
		"uniform token info:id = \"UsdPreviewSurface\"\n color3f inputs:diffuseColor = (1, 0, 0)\n token "
		"outputs:surface } }\n"
		"def Material \"Blue\" { token outputs:surface.connect = </R/Blue/S.outputs:surface>\n def Shader "
		"\"S\" {\n"
		"uniform token info:id = \"UsdPreviewSurface\"\n color3f inputs:diffuseColor = (0, 0, 1)\n token "
		"outputs:surface } }\n"
		"def Xform \"A\" { def Cube \"In\" { }\n def Cube \"Out\" { } }\n def Cube \"B\" { }\n"
		"def Xform \"D\" (prepend apiSchemas = [\"CollectionAPI:more\"]) {\n rel collection:more:includes = "
		"</R/D/X>\n"
		"uniform token collection:more:expansionRule = \"explicitOnly\"\n def Cube \"X\" { } } }";
	static const struct {
		const char *node;
		float red;
	} expected[] = {{"In", 1}, {"Out", 0}, {"B", 0}, {"X", 1}};
	reader *r = stage(text);
	const hob_model *m = reader_model(r);
	for (size_t i = 0; i < HOB_COUNT_OF(expected); i++) {
		const hob_node *node = node_of(m, expected[i].node);
		const hob_material *material = &m->materials[m->meshes[m->mesh_refs[node->mesh_first]].material];
		if (fabsf(material->base_color[0] - expected[i].red) > 1e-4f)
			fail_msg("%s: red is %g", expected[i].node, (double)material->base_color[0]);
	}
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blend_shapes_rest_at_their_weights),
		cmocka_unit_test(in_betweens_bend_the_way_of_a_shape),
		cmocka_unit_test(collections_bind_materials),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
