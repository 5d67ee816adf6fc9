/* The USD reader: text, composition, schemas. tests/oracle compares crates with OpenUSD's facts. */
#include "tests/unit/import/reader_fixture.h"

static const char box[] =
	"  def Mesh \"M\" { uniform token subdivisionScheme = \"none\"\n int[] faceVertexCounts = [4]\n"
	" int[] faceVertexIndices = [0, 1, 2, 3]\n"
	" point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n";

static reader *stage(const char *text)
{
	static char all[1 << 15];
	reader *r = reader_new(&hob_usd_importer);
	snprintf(all, sizeof all, "#usda 1.0\n(metersPerUnit = 1)\n%s", text);
	reader_add(r, "stage.usda", all);
	return r;
}

static char *with_mesh(const char *before, const char *inside, const char *behind)
{
	static char text[8192];
	snprintf(text, sizeof text, "%s%s%s}%s", before, box, inside, behind);
	return text;
}

static const hob_node *node_of(const hob_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->node_count; i++)
		if (hob_str_equal(model->nodes[i].name, hob_str_of(name)))
			return &model->nodes[i];
	fail_msg("no node %s", name);
	return NULL;
}

static void a_mesh_is_read(void **state)
{
	(void)state;
	reader *r = stage(with_mesh("", "", ""));
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 1);
	assert_int_equal(m->meshes[0].index_count, 6);
	assert_int_equal(m->meshes[0].vertex_count, 4);
	assert_true(m->meshes[0].flat);
	reader_free(r);
}

static void units_and_axes_are_the_stages(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_usd_importer);
	reader_add(r, "a.usda",
			   "#usda 1.0\n(upAxis = \"Z\"\n metersPerUnit = 0.5)\ndef Xform \"X\" { double3 "
			   "xformOp:translate = (2, 4, 6)\n"
			   "uniform token[] xformOpOrder = [\"xformOp:translate\"]\n def Cube \"C\" {} }");
	const hob_model *m = reader_model(r);
	const hob_node *x = node_of(m, "X");
	assert_vector(x->translation, 1, 2, 3);
	float world[16], local[16];
	hob_node_local_matrix(&m->nodes[0], world);
	hob_node_local_matrix(x, local);
	hob_matrix_multiply(world, local, world);
	assert_vector(world + 12, 1, 3, -2);
	assert_int_equal(m->meshes[0].index_count, 36);
	reader_free(r);
}

static void operations_apply_from_the_last_to_the_first(void **state)
{
	(void)state;
	reader *r = stage("def Xform \"X\" { double3 xformOp:translate = (1, 0, 0)\n float xformOp:rotateZ = 90\n"
					  "float3 xformOp:translate:pivot = (0, 1, 0)\n"
					  "uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:translate:pivot\", "
					  "\"xformOp:rotateZ\", "
					  "\"!invert!xformOp:translate:pivot\"]\n def Cube \"C\" {} }");
	const hob_node *x = node_of(reader_model(r), "X");
	/* (0, 0) rotated about (0, 1) is (1, 1), and translated (2, 1). */
	assert_vector(x->translation, 2, 1, 0);
	assert_near(x->rotation[2], 0.70710678f);
	reader_free(r);
}

static void corners_have_values_of_their_own(void **state)
{
	(void)state;
	reader *r = stage(with_mesh("",
								"texCoord2f[] primvars:st = [(0, 0), (1, 1)] (interpolation = "
								"\"faceVarying\")\n int[] primvars:st:indices = [0, 1, 1, 0]\n",
								""));
	const hob_model *m = reader_model(r);
	assert_non_null(m->meshes[0].uv[0]);
	/* USD's texture origin is the lower left corner. */
	assert_near(m->meshes[0].uv[0][1], 1);
	reader_free(r);
}

static void the_root_is_nobodys_target(void **state)
{
	(void)state;
	reader *r = stage("def Mesh \"M\" { int[] faceVertexCounts = [3]\n int[] faceVertexIndices = [0, 1, 2]\n"
					  "point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]\n rel material:binding = </> }\n"
					  "def PointInstancer \"P\" { rel prototypes = [</>]\n int[] protoIndices = [0]\n"
					  "point3f[] positions = [(0, 0, 0)] }");
	assert_int_equal(reader_model(r)->mesh_count, 1);
	reader_free(r);
}

static void subsets_become_meshes(void **state)
{
	(void)state;
	reader *r = stage(
		"def Mesh \"M\" { int[] faceVertexCounts = [3, 3]\n int[] faceVertexIndices = [0, 1, 2, 0, 2, 3]\n"
		"point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n rel material:binding = </A>\n"
		"def GeomSubset \"S\" { uniform token elementType = \"face\"\n uniform token familyName = "
		"\"materialBind\"\n"
		"int[] indices = [1]\n rel material:binding = </B> } }\n"
		"def Material \"A\" { token outputs:surface.connect = </A/P.outputs:surface>\n def Shader \"P\" { "
		"uniform token info:id = "
		"\"UsdPreviewSurface\"\n color3f inputs:diffuseColor = (1, 0, 0)\n token outputs:surface } }\n"
		"def Material \"B\" { token outputs:surface.connect = </B/P.outputs:surface>\n def Shader \"P\" { "
		"uniform token info:id = "
		"\"UsdPreviewSurface\"\n color3f inputs:diffuseColor = (0, 1, 0)\n token outputs:surface } }");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 2);
	assert_near(m->materials[m->meshes[0].material].base_color[0], 1);
	assert_near(m->materials[m->meshes[1].material].base_color[1], 1);
	assert_near(m->materials[0].roughness, 0.5f);
	reader_free(r);
}

/* ---- composition */

static void assert_place(const char *text, float x)
{
	reader *r = stage(text);
	reader_add(r, "part.usda",
			   "#usda 1.0\n(defaultPrim = \"P\"\n metersPerUnit = 1)\ndef Xform \"P\" { double3 "
			   "xformOp:translate = (5, 0, 0)\n"
			   "uniform token[] xformOpOrder = [\"xformOp:translate\"]\n def Cube \"C\" {} }");
	assert_vector(node_of(reader_model(r), "X")->translation, x, 0, 0);
	reader_free(r);
}

#define PLACE(x)                                                                                             \
	"double3 xformOp:translate = (" #x ", 0, 0)\nuniform token[] xformOpOrder = [\"xformOp:translate\"]\n"

static void arcs_have_their_strength(void **state)
{
	(void)state;
	assert_place("def \"X\" (references = @part.usda@) {}", 5);
	assert_place("def \"X\" (references = @./part.usda@</P>) { " PLACE(1) " }", 1);
	assert_place("class \"K\" { " PLACE(2) " }\ndef \"X\" (inherits = </K>\n references = @part.usda@) {}",
				 2);
	assert_place("class \"K\" { " PLACE(2) " }\ndef \"X\" (specializes = </K>\n references = @part.usda@) {}",
				 5);
	assert_place("def \"X\" (payload = @part.usda@\n variants = { string v = \"a\" }\n variantSets = \"v\") "
				 "{\n variantSet \"v\" = { \"a\" { " PLACE(3) " } \"b\" { " PLACE(4) " } } }",
				 3);
	assert_place("def Xform \"S\" { " PLACE(
					 7) " def Cube \"C\" {} }\ndef \"X\" (prepend references = [</S>, @part.usda@]) {}",
				 7);
}

static void a_weaker_site_may_hold_the_variants(void **state)
{
	(void)state;
	reader *r = stage("def \"X\" (references = @v.usda@\n variants = { string v = \"b\" }) {}");
	reader_add(r, "v.usda",
			   "#usda 1.0\n(defaultPrim = \"P\")\ndef Xform \"P\" (variants = { string v = \"a\" }\n prepend "
			   "variantSets = \"v\") {\n"
			   "variantSet \"v\" = { \"a\" { def Cube \"A\" {} } \"b\" { def Cube \"B\" {} } } }");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 1);
	node_of(m, "B");
	reader_free(r);
}

static void missing_layers_are_warnings_and_dependencies(void **state)
{
	(void)state;
	reader *r = stage("def Cube \"C\" (references = @gone.usda@) {}");
	assert_int_equal(reader_model(r)->mesh_count, 1);
	assert_true(r->notes.count > 0);
	reader_free(r);
}

static void what_leaves_the_root_is_refused(void **state)
{
	(void)state;
	static const char *const assets[] = {"../../../etc/passwd", "/etc/passwd", "http://a/b.usda",
										 "C:\\a.usda"};
	for (size_t i = 0; i < HOB_COUNT_OF(assets); i++) {
		char text[256];
		snprintf(text, sizeof text, "def Cube \"C\" (references = @%s@) {}", assets[i]);
		reader *r = stage(text);
		assert_int_equal(reader_model(r)->mesh_count, 1);
		assert_true(r->notes.count > 0);
		reader_free(r);
	}
}

static void cycles_end(void **state)
{
	(void)state;
	static const char *const stages[] = {
		"def Cube \"A\" (references = </A>) {}",
		"def Cube \"A\" (references = </B>) {}\ndef Cube \"B\" (references = </A>) {}",
		"def Xform \"A\" { def Cube \"B\" (references = </A>) {} }",
		"def Cube \"A\" (inherits = </A>) {}",
		"def Cube \"A\" (references = @stage.usda@</A>) {}",
		"def Xform \"A\" (references = </A/B>) { def Cube \"B\" {} }",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(stages); i++) {
		reader *r = stage(stages[i]);
		assert_true(reader_model(r)->mesh_count > 0);
		reader_free(r);
	}
}

/* W has an arc to Y, whose child B has an arc to W: below X a cycle, which is cut. The variant adds W to X a
 * second time, which must not add the children that were cut. OpenUSD agrees for each stage. */
static void a_class_is_added_once(void **state)
{
	(void)state;
	static const struct {
		const char *of_w, *of_x, *in_variant, *of_b;
	} arcs[] = {
		{"inherits", "specializes", "references", "specializes"},
		{"inherits", "inherits", "payload", "inherits"},
		{"references", "specializes", "references", "specializes"},
		{"specializes", "inherits", "references", "inherits"},
		{"inherits", "references", "payload", "specializes"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(arcs); i++) {
		char text[1024], part[512];
		snprintf(text, sizeof text,
				 "#usda 1.0\n(subLayers = [@part.usda@])\nclass \"W\" (%s = </Y>) {}\n"
				 "def Xform \"X\" (%s = </Y/B>\n variants = { string v = \"b\" }\n variantSets = \"v\") {\n"
				 "variantSet \"v\" = { \"b\" (%s = @part.usda@</Y/B>) {} } }",
				 arcs[i].of_w, arcs[i].of_x, arcs[i].in_variant);
		snprintf(part, sizeof part,
				 "#usda 1.0\ndef Xform \"Y\" { def Xform \"B\" (%s = </W>) {} def Cube \"A\" {} }",
				 arcs[i].of_b);
		reader *r = reader_new(&hob_usd_importer);
		reader_add(r, "stage.usda", text);
		reader_add(r, "part.usda", part);
		const hob_model *m = reader_model(r);
		assert_int_equal(m->mesh_ref_count, 1);
		assert_true(reader_noted(r, "usd.cycle"));
		reader_free(r);
	}
}

static void stages_that_double_themselves_hit_a_limit(void **state)
{
	(void)state;
	static char text[16384];
	size_t at = 0;
	for (int i = 0; i < 40; i++)
		at += (size_t)snprintf(
			text + at, sizeof text - at,
			"class \"L%d\" { def \"a\" (references = </L%d>) {} def \"b\" (references = </L%d>) {} }\n", i,
			i + 1, i + 1);
	snprintf(text + at, sizeof text - at,
			 "class \"L40\" { def Cube \"c\" {} }\ndef \"X\" (references = </L0>) {}");
	reader *r = stage(text);
	assert_false(reader_run(r));
	assert_true(r->error.code == HOB_ERR_LIMIT || r->error.code == HOB_ERR_MEMORY);
	reader_free(r);
}

static void what_is_not_drawn(void **state)
{
	(void)state;
	static const char *const stages[] = {
		"def Cube \"C\" (active = false) {}",
		"def Cube \"C\" { uniform token purpose = \"proxy\" }",
		"def Scope \"S\" {}",
		"def Xform \"X\" (references = @none.usda@) { def Material \"M\" {} }",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(stages); i++) {
		reader *r = stage(stages[i]);
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, HOB_ERR_EMPTY);
		reader_free(r);
	}
}

static void parts_of_other_stages_are_skipped(void **state)
{
	(void)state;
	static const char *const stages[] = {
		"over \"X\" { def Cube \"C\" {} }",
		"class \"X\" { def Cube \"C\" {} }",
		"def Scope \"Looks\" { def Material \"M\" { def Shader \"S\" {} } }",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(stages); i++) {
		reader *r = stage(stages[i]);
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, HOB_ERR_SKIPPED);
		assert_non_null(strstr(r->error.context, "cooked with the stage that uses it"));
		reader_free(r);
	}
}

static const char variants[] =
	"def Xform \"X\" (variants = { string shape = \"box\" } prepend variantSets = [\"shape\", \"extra\"]) {\n"
	"variantSet \"shape\" = { \"box\" { def Cube \"C\" {} } \"two\" { def Cube \"C\" {} def Cube \"D\" {} } "
	"}\n"
	"variantSet \"extra\" = { \"on\" { def Cube \"E\" {} } } }";

static void a_setting_chooses_variants(void **state)
{
	(void)state;
	static const struct {
		const char *asked;
		uint32_t meshes;
		bool noted;
	} cases[] = {{"", 1, false},
				 {"shape=two", 2, false},
				 {" extra = on , shape=two", 3, false},
				 {"shape=none", 1, true},
				 {"other=two,extra=on", 2, false}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = stage(variants);
		r->usd_variants = hob_str_of(cases[i].asked);
		const hob_model *m = reader_model(r);
		uint32_t meshes = 0;
		for (uint32_t n = 0; n < m->node_count; n++)
			meshes += m->nodes[n].mesh_count;
		assert_int_equal(meshes, cases[i].meshes);
		assert_int_equal(reader_noted(r, "usd.no-variant"), cases[i].noted);
		assert_true(reader_noted(r, "usd.variants"));
		reader_free(r);
	}
}

static void materialx_surfaces_are_read(void **state)
{
	(void)state;
	reader *r = stage(with_mesh(
		"",
		"texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1)] (interpolation = \"vertex\")\n"
		"rel material:binding = </Look>\n",
		"\ndef Material \"Look\" { token outputs:mtlx:surface.connect = </Look/S.outputs:out>\n"
		"def Shader \"S\" { uniform token info:id = \"ND_standard_surface_surfaceshader\"\n"
		"float inputs:base = 0.5\n color3f inputs:base_color.connect = </Look/G.outputs:color>\n"
		"float inputs:metalness = 1\n float inputs:specular_roughness = 0.25\n float inputs:emission = 2\n"
		"color3f inputs:emission_color = (0.5, 0, 0)\n color3f inputs:opacity = (0.5, 0.5, 0.5)\n"
		"float inputs:coat = 1\n float inputs:specular_IOR = 1.4\n token outputs:out }\n"
		"def NodeGraph \"G\" { color3f outputs:color.connect = </Look/G/I.outputs:out>\n"
		"def Shader \"I\" { uniform token info:id = \"ND_image_color3\"\n asset inputs:file = @wood.png@\n"
		"color3f outputs:out } } }"));
	reader_add(r, "wood.png", "a picture");
	const hob_material *m = &reader_model(r)->materials[0];
	assert_int_equal(m->slots[HOB_SLOT_BASE_COLOR].image, 0);
	assert_near(m->base_color[0], 0.5f);
	assert_near(m->base_color[3], 0.5f);
	assert_near(m->metallic, 1);
	assert_near(m->roughness, 0.25f);
	assert_vector(m->emissive, 1, 0, 0);
	assert_near(m->clearcoat, 1);
	assert_near(m->ior, 1.4f);
	assert_int_equal(m->alpha_mode, HOB_ALPHA_BLEND);
	assert_false(reader_noted(r, "usd.shader-unknown"));
	reader_free(r);
}

static const char document[] =
	"<?xml version=\"1.0\"?>\n<materialx version=\"1.38\" fileprefix=\"tex/\">\n"
	"<nodegraph name=\"G\">\n<input name=\"tiling\" type=\"vector2\" value=\"2, 3\"/>\n"
	"<tiledimage name=\"color\" type=\"color3\"><input name=\"file\" type=\"filename\" value=\"wood.png\"/>\n"
	"<input name=\"uvtiling\" type=\"vector2\" interfacename=\"tiling\"/></tiledimage>\n"
	"<image name=\"bumps\" type=\"vector3\"><input name=\"file\" type=\"filename\" value=\"bumps.png\"/>\n"
	"<input name=\"uaddressmode\" type=\"string\" value=\"clamp\"/></image>\n"
	"<normalmap name=\"normal\" type=\"vector3\"><input name=\"in\" type=\"vector3\" "
	"nodename=\"bumps\"/></normalmap>\n"
	"<output name=\"o_color\" type=\"color3\" nodename=\"color\"/>\n"
	"<output name=\"o_normal\" type=\"vector3\" nodename=\"normal\"/></nodegraph>\n"
	"<standard_surface name=\"S\" type=\"surfaceshader\">\n"
	"<input name=\"base_color\" type=\"color3\" nodegraph=\"G\" output=\"o_color\"/>\n"
	"<input name=\"normal\" type=\"vector3\" nodegraph=\"G\" output=\"o_normal\"/>\n"
	"<input name=\"specular_roughness\" type=\"float\" value=\"0.25\"/></standard_surface>\n"
	"<surfacematerial name=\"Wood\" type=\"material\"><input name=\"surfaceshader\" type=\"surfaceshader\" "
	"nodename=\"S\"/></surfacematerial>\n"
	"<material name=\"Old\"><shaderref name=\"R\" node=\"standard_surface\"><bindinput name=\"base_color\" "
	"type=\"color3\" value=\"0.25, 0.5, 1\"/></shaderref></material>\n"
	/* A connection to itself must terminate. */
	"<convert name=\"loop\" type=\"color3\"><input name=\"in\" type=\"color3\" "
	"nodename=\"loop\"/></convert>\n"
	"<gltf_pbr name=\"L\" type=\"surfaceshader\"><input name=\"base_color\" type=\"color3\" "
	"nodename=\"loop\"/>"
	"</gltf_pbr><surfacematerial name=\"Loop\" type=\"material\"><input name=\"surfaceshader\" "
	"type=\"surfaceshader\" nodename=\"L\"/></surfacematerial></materialx>";

static void materialx_documents_are_layers(void **state)
{
	(void)state;
	static const char *const bound[] = {"Wood", "Old", "Loop"};
	for (size_t i = 0; i < HOB_COUNT_OF(bound); i++) {
		char inside[512];
		snprintf(inside, sizeof inside,
				 "texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1)] (interpolation = \"vertex\")\n"
				 "rel material:binding = </Looks/%s>\n",
				 bound[i]);
		reader *r = stage(with_mesh(
			"def Scope \"Looks\" (references = @look/doc.mtlx@</MaterialX/Materials>) {}\n", inside, ""));
		reader_add(r, "look/doc.mtlx", document);
		reader_add(r, "look/tex/wood.png", "a picture");
		reader_add(r, "look/tex/bumps.png", "another");
		const hob_model *model = reader_model(r);
		const hob_material *m = &model->materials[0];
		assert_true(hob_str_equal(m->name, hob_str_of(bound[i])));
		if (i == 0) {
			const hob_texture_ref *color = &m->slots[HOB_SLOT_BASE_COLOR],
								  *normal = &m->slots[HOB_SLOT_NORMAL];
			assert_true(hob_str_equal(model->images[color->image].path, HOB_STR("look/tex/wood.png")));
			assert_true(hob_str_equal(model->images[normal->image].path, HOB_STR("look/tex/bumps.png")));
			assert_near(color->scale[1], 3);
			assert_int_equal(model->samplers[normal->sampler].wrap_u, HOB_WRAP_CLAMP);
			assert_near(m->roughness, 0.25f);
		} else if (i == 1) {
			assert_near(m->base_color[0], 0.25f);
			assert_near(m->base_color[2], 1);
		} else {
			assert_true(reader_noted(r, "usd.shader-loop") ||
						m->slots[HOB_SLOT_BASE_COLOR].image == HOB_NONE);
		}
		reader_free(r);
	}
}

#define CUBE                                                                                                 \
	"def Mesh \"M\" { int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]\n"                                         \
	"int[] faceVertexIndices = [0,2,3,1, 4,5,7,6, 0,1,5,4, 2,6,7,3, 0,4,6,2, 1,3,7,5]\n"                     \
	"point3f[] points = [(-1,-1,-1), (1,-1,-1), (-1,1,-1), (1,1,-1), (-1,-1,1), (1,-1,1), (-1,1,1), "        \
	"(1,1,1)]\n"

static reader *subdivided(const char *inside, uint32_t levels)
{
	char text[2048];
	snprintf(text, sizeof text, "%s%s }", CUBE, inside);
	reader *r = stage(text);
	r->subdivision = levels;
	return r;
}

/* Maximum and minimum distance of the vertices from the centre. */
static void reach(const hob_mesh *mesh, float *most, float *least)
{
	*most = 0, *least = 10;
	for (uint32_t v = 0; v < mesh->vertex_count; v++) {
		const float *p = mesh->position + (size_t)v * 3;
		float length = sqrtf(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
		*most = fmaxf(*most, length);
		*least = fminf(*least, length);
	}
}

static void surfaces_are_subdivided_when_asked(void **state)
{
	(void)state;
	float most, least;
	reader *r = subdivided("", 1);
	const hob_mesh *mesh = &reader_model(r)->meshes[0];
	assert_int_equal(mesh->index_count, 24 * 6);
	assert_int_equal(mesh->vertex_count, 26);
	assert_false(mesh->flat);
	reach(mesh, &most, &least);
	/* Edge points are at 3/4, corners at 5/9 of the cage's, face points do not move. */
	assert_near(most, 0.75f * sqrtf(2));
	assert_near(least, 5.0f / 9 * sqrtf(3));
	reader_free(r);
	r = subdivided("", 4);
	assert_int_equal(reader_model(r)->meshes[0].index_count, 6 * 256 * 6);
	reader_free(r);
	r = subdivided("uniform token subdivisionScheme = \"none\"\n", 2);
	assert_int_equal(reader_model(r)->meshes[0].index_count, 36);
	reader_free(r);
}

static void creases_and_corners_stay_sharp(void **state)
{
	(void)state;
	float most, least;
	/* With all edges creased the cube is unchanged. */
	reader *r = subdivided(
		"int[] creaseIndices = [0,2,3,1,0,4,6,7,5,4, 1,5, 2,6, 3,7]\nint[] creaseLengths = [10,2,2,2]\n"
		"float[] creaseSharpnesses = [10, 10, 10, 10]\n",
		3);
	reach(&reader_model(r)->meshes[0], &most, &least);
	assert_near(most, sqrtf(3));
	assert_near(least, 1);
	reader_free(r);
	/* Only one corner is sharp. */
	r = subdivided("int[] cornerIndices = [7]\nfloat[] cornerSharpnesses = [10]\n", 2);
	reach(&reader_model(r)->meshes[0], &most, &least);
	assert_near(most, sqrtf(3));
	reader_free(r);
	/* Half a crease gives an intermediate shape. */
	r = subdivided(
		"int[] creaseIndices = [0,1]\nint[] creaseLengths = [2]\nfloat[] creaseSharpnesses = [0.5]\n", 1);
	reach(&reader_model(r)->meshes[0], &most, &least);
	assert_near(most, 0.875f * sqrtf(2));
	reader_free(r);
}

static void what_lies_on_a_surface_is_subdivided_with_it(void **state)
{
	(void)state;
	reader *r = subdivided(
		"texCoord2f[] primvars:st = [(0,0),(1,0),(1,1),(0,1), (0,0),(1,0),(1,1),(0,1), "
		"(0,0),(1,0),(1,1),(0,1), "
		"(0,0),(1,0),(1,1),(0,1), (0,0),(1,0),(1,1),(0,1), (0,0),(1,0),(1,1),(0,1)] (interpolation = "
		"\"faceVarying\")\n"
		"color3f[] primvars:displayColor = [(1,0,0),(0,1,0),(1,0,0),(1,0,0),(1,0,0),(1,0,0)] "
		"(interpolation = \"uniform\")\n"
		"def GeomSubset \"S\" { uniform token elementType = \"face\"\n int[] indices = [0]\n rel "
		"material:binding = </Look> }",
		2);
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 2);
	const hob_mesh *mesh = &m->meshes[0];
	assert_int_equal(mesh->index_count, 5 * 16 * 6);
	assert_int_equal(m->meshes[1].index_count, 16 * 6);
	uint32_t green = 0;
	for (uint32_t i = 0; i < mesh->index_count; i += 6) {
		const float *color = mesh->color[0] + (size_t)mesh->indices[i] * 4;
		green += color[1] > 0.5f;
		const float *uv = mesh->uv[0] + (size_t)mesh->indices[i] * 2;
		assert_near(uv[0] * 4, roundf(uv[0] * 4));
		assert_near(uv[1] * 4, roundf(uv[1] * 4));
	}
	assert_int_equal(green, 16);
	reader_free(r);
}

static void lengths_that_are_too_large_in_metres_are_mended(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_usd_importer);
	reader_add(r, "a.usda",
			   "#usda 1.0\n(metersPerUnit = 100000000)\ndef Mesh \"M\" { int[] faceVertexCounts = [3, 3]\n"
			   "int[] faceVertexIndices = [0, 1, 2, 0, 2, 3]\n"
			   "point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1e15, 0, 0)] }");
	assert_int_equal(reader_model(r)->meshes[0].index_count, 3);
	reader_free(r);
}

static void mistakes_are_told_with_their_line(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_usd_importer);
	reader_add(r, "a.usda", "#usda 1.0\ndef Cube \"C\"\n{\n  float size = ?\n}\n");
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_CORRUPT);
	assert_non_null(strstr(r->error.context, "line 4"));
	reader_free(r);
}

static const char whole[] = "#usda 1.0\n(upAxis = \"Z\"\n defaultPrim = \"W\")\ndef Xform \"W\" (variants = "
							"{ string v = \"a\" }\n prepend variantSets = \"v\")\n{\n"
							"float3 xformOp:rotateXYZ.timeSamples = { 0: (0, 0, 0), 10: (0, 200, 0) "
							"}\nuniform token[] xformOpOrder = [\"xformOp:rotateXYZ\"]\n"
							"def Mesh \"M\" { int[] faceVertexCounts = [3, 4]\n int[] faceVertexIndices = "
							"[0, 1, 2, 0, 2, 3, 1]\n point3f[] points = [(0, 0, 0), "
							"(1, 0, 0), (1, 1, 0), (0, 1, 0)]\n texCoord2f[] primvars:st = [(0, 0), (1, 1), "
							"(0, 1), (1, 0)] (interpolation = \"vertex\") }\n"
							"variantSet \"v\" = { \"a\" { def Sphere \"S\" {} } }\n"
							"def PointInstancer \"I\" { point3f[] positions = [(0, 0, 0), (3, 0, 0)]\n int[] "
							"protoIndices = [0, 0]\n rel prototypes = </W/I/P>\n"
							"def Cube \"P\" {} }\n def Camera \"Cam\" {}\n def SphereLight \"L\" {} }\n";

static void damaged_text_does_no_harm(void **state)
{
	(void)state;
	static char copy[sizeof whole];
	for (size_t i = 0; i < sizeof whole - 1; i++)
		for (int way = 0; way < 3; way++) {
			reader *r = reader_new(&hob_usd_importer);
			memcpy(copy, whole, sizeof whole);
			size_t size = way == 0 ? i : sizeof whole - 1;
			copy[i] = way == 1 ? ')' : way == 2 ? (char)(copy[i] ^ 1) : copy[i];
			reader_add_bytes(r, "a.usda", copy, size);
			if (reader_run(r)) {
				hob_error error;
				assert_true(hob_model_check(&r->model, &error));
			}
			reader_free(r);
		}
}

/* Generated by tests/fuzz/usd_seed.py: five quads, compressed and plain arrays, on a moving prim. */
static size_t read_crate(const char *name, uint8_t *bytes, size_t room)
{
	char path[512];
	snprintf(path, sizeof path, HOB_TEST_DATA "/../fuzz/corpus/usd/%s", name);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	size_t size = fread(bytes, 1, room, file);
	fclose(file);
	return size;
}

static const char *const crates[] = {
	"quads.usdc",		 "quads_0_0_1.usdc",  "quads_0_1_0.usdc", "quads_0_2_0.usdc", "quads_0_3_0.usdc",
	"quads_0_4_0.usdc",	 "quads_0_5_0.usdc",  "quads_0_6_0.usdc", "quads_0_7_0.usdc", "quads_0_9_0.usdc",
	"quads_0_10_0.usdc", "quads_0_11_0.usdc", "quads_0_12_0.usdc"};

static void crates_of_all_versions_are_read(void **state)
{
	(void)state;
	static uint8_t bytes[4096];
	for (size_t i = 0; i < HOB_COUNT_OF(crates); i++) {
		reader *r = reader_new(&hob_usd_importer);
		reader_add_bytes(r, "a.usdc", bytes, read_crate(crates[i], bytes, sizeof bytes));
		const hob_model *m = reader_model(r);
		assert_int_equal(m->mesh_count, 1);
		assert_int_equal(m->meshes[0].index_count, 5 * 6);
		assert_vector(m->meshes[0].position + 19 * 3, 8, 1, 0);
		assert_true(m->meshes[0].flat);
		assert_int_equal(m->clip_count, 1);
		assert_vector(m->clips[0].tracks[0].values + 3, 3, 4, -5);
		reader_free(r);
	}
}

static void versions_that_no_program_wrote_are_refused_in_words(void **state)
{
	(void)state;
	static uint8_t bytes[4096];
	size_t size = read_crate("quads.usdc", bytes, sizeof bytes);
	for (int way = 0; way < 2; way++) {
		reader *r = reader_new(&hob_usd_importer);
		bytes[8] = (uint8_t)way;
		bytes[9] = 0;
		reader_add_bytes(r, "a.usdc", bytes, size);
		assert_false(reader_run(r));
		assert_non_null(strstr(r->error.context, "a crate of version"));
		reader_free(r);
	}
}

static uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t word;
	memcpy(&word, bytes + at, sizeof word);
	return word;
}

/* Crates with the version number or one section of another version: read, or refused with a message. */
static void crates_of_mixed_versions_do_no_harm(void **state)
{
	(void)state;
	static uint8_t bytes[4096], other[4096], mixed[8192];
	enum { BOOT_TOC = 16, TOC_ENTRY = 32, ENTRY_START = 16 };
	for (size_t a = 0; a < HOB_COUNT_OF(crates); a++)
		for (size_t b = 0; b < HOB_COUNT_OF(crates); b++) {
			size_t size = read_crate(crates[a], bytes, sizeof bytes);
			size_t added = read_crate(crates[b], other, sizeof other);
			size_t toc = word_at(bytes, BOOT_TOC), sections = word_at(bytes, toc);
			for (size_t section = 0; section <= sections; section++) {
				size_t entry = 8 + section * TOC_ENTRY + ENTRY_START;
				memcpy(mixed, bytes, size);
				memcpy(mixed + size, other, added);
				if (section < sections) {
					const uint8_t *theirs = other + word_at(other, BOOT_TOC) + entry;
					uint64_t place[] = {word_at(theirs, 0) + size, word_at(theirs, 8)};
					memcpy(mixed + toc + entry, place, sizeof place);
				} else
					memcpy(mixed + 8, other + 8, 3);
				reader *r = reader_new(&hob_usd_importer);
				reader_add_bytes(r, "a.usdc", mixed, size + added);
				assert_true(reader_run(r) || strlen(r->error.context) > 0);
				reader_free(r);
			}
		}
}

static void damaged_crates_do_no_harm(void **state)
{
	(void)state;
	static uint8_t bytes[4096], copy[4096];
	for (int kind = 0; kind < 2; kind++) {
		size_t size = read_crate(kind ? "quads_0_0_1.usdc" : "quads.usdc", bytes, sizeof bytes);
		for (size_t i = 0; i < size; i++)
			for (int way = 0; way < 4; way++) {
				reader *r = reader_new(&hob_usd_importer);
				memcpy(copy, bytes, size);
				copy[i] = way == 1	 ? 0xFF
						  : way == 2 ? (uint8_t)(copy[i] ^ 1)
						  : way == 3 ? (uint8_t)(copy[i] ^ 0x80)
									 : copy[i];
				reader_add_bytes(r, "a.usdc", copy, way == 0 ? i : size);
				(void)reader_run(r); /* reader_run checks an accepted model */
				reader_free(r);
			}
	}
}

static void instancers_share_their_meshes(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_usd_importer);
	reader_add(r, "a.usda", whole);
	const hob_model *m = reader_model(r);
	/* The mesh, the sphere, and a cube per instance, all sharing one mesh. */
	assert_int_equal(m->mesh_ref_count, 4);
	assert_int_equal(m->mesh_count, 3);
	assert_int_equal(m->camera_count, 1);
	assert_int_equal(m->light_count, 1);
	assert_int_equal(m->clip_count, 1);
	/* A rotation of 200 degrees must not take the shorter arc. */
	assert_int_equal(m->clips[0].tracks[0].key_count, 3);
	reader_free(r);
}

static void a_skin_follows_its_skeleton(void **state)
{
	(void)state;
	reader *r =
		stage("def SkelRoot \"R\" { def Skeleton \"S\" { uniform token[] joints = [\"a\", \"a/b\"]\n"
			  "uniform matrix4d[] bindTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1)), "
			  "((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,2,0,1))]\n"
			  "uniform matrix4d[] restTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1)), "
			  "((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,2,0,1))]\n"
			  "rel skel:animationSource = </R/A> }\n"
			  "def SkelAnimation \"A\" { uniform token[] joints = [\"a/b\"]\n float3[] "
			  "translations.timeSamples = { 0: [(0, 2, 0)], 24: [(1, 2, 0)] } }\n"
			  "def Mesh \"M\" { int[] faceVertexCounts = [3]\n int[] faceVertexIndices = [0, 1, 2]\n "
			  "point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n"
			  "int[] primvars:skel:jointIndices = [0, 1, 1] (interpolation = \"vertex\"\n elementSize = 1)\n"
			  "float[] primvars:skel:jointWeights = [1, 1, 1] (interpolation = \"vertex\"\n elementSize = "
			  "1)\n rel skel:skeleton = </R/S> } }");
	const hob_model *m = reader_model(r);
	assert_int_equal(m->skin_count, 1);
	assert_int_equal(m->skins[0].joint_count, 2);
	assert_near(m->skins[0].inverse_bind[16 + 13], -2);
	assert_int_equal(m->meshes[0].joints[4], 1);
	assert_int_equal(m->nodes[m->skins[0].joints[1]].parent, m->skins[0].joints[0]);
	assert_int_equal(m->clip_count, 1);
	assert_near(m->clips[0].tracks[0].times[1], 1);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mesh_is_read),
		cmocka_unit_test(units_and_axes_are_the_stages),
		cmocka_unit_test(operations_apply_from_the_last_to_the_first),
		cmocka_unit_test(corners_have_values_of_their_own),
		cmocka_unit_test(the_root_is_nobodys_target),
		cmocka_unit_test(subsets_become_meshes),
		cmocka_unit_test(arcs_have_their_strength),
		cmocka_unit_test(a_weaker_site_may_hold_the_variants),
		cmocka_unit_test(missing_layers_are_warnings_and_dependencies),
		cmocka_unit_test(what_leaves_the_root_is_refused),
		cmocka_unit_test(cycles_end),
		cmocka_unit_test(a_class_is_added_once),
		cmocka_unit_test(stages_that_double_themselves_hit_a_limit),
		cmocka_unit_test(what_is_not_drawn),
		cmocka_unit_test(parts_of_other_stages_are_skipped),
		cmocka_unit_test(a_setting_chooses_variants),
		cmocka_unit_test(materialx_surfaces_are_read),
		cmocka_unit_test(materialx_documents_are_layers),
		cmocka_unit_test(surfaces_are_subdivided_when_asked),
		cmocka_unit_test(creases_and_corners_stay_sharp),
		cmocka_unit_test(what_lies_on_a_surface_is_subdivided_with_it),
		cmocka_unit_test(lengths_that_are_too_large_in_metres_are_mended),
		cmocka_unit_test(crates_of_all_versions_are_read),
		cmocka_unit_test(versions_that_no_program_wrote_are_refused_in_words),
		cmocka_unit_test(crates_of_mixed_versions_do_no_harm),
		cmocka_unit_test(damaged_crates_do_no_harm),
		cmocka_unit_test(mistakes_are_told_with_their_line),
		cmocka_unit_test(damaged_text_does_no_harm),
		cmocka_unit_test(instancers_share_their_meshes),
		cmocka_unit_test(a_skin_follows_its_skeleton),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
