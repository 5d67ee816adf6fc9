/* The reader of X3D and VRML97, with small hand-written scenes. */
#include "tests/unit/import/reader_fixture.h"

#include <libdeflate.h>

/* clang-format off */
#define X3D(scene) \
	"<?xml version='1.0'?><X3D profile='Interchange' version='3.3'><Scene>" scene "</Scene></X3D>"
#define VRML(scene) "#VRML V2.0 utf8\n" scene
#define SQUARE "<Coordinate point='0 0 0, 1 0 0, 1 1 0, 0 1 0'/>"
/* clang-format on */

static reader *read_as(const char *name, const char *text)
{
	reader *r = reader_new(&hob_x3d_importer);
	reader_add(r, name, text);
	reader_model(r);
	return r;
}

static reader *read_xml(const char *text)
{
	return read_as("folder/scene.x3d", text);
}

static reader *read_text(const char *text)
{
	return read_as("folder/scene.wrl", text);
}

static void looks_that_are_left_out_are_told(void **state)
{
	(void)state;
	static const struct {
		const char *appearance, *inside, *code;
	} cases[] = {
		{"<MovieTexture url='a.mp4'/>", "", "x3d.ignored"},
		{"<ComposedCubeMapTexture/>", "", "x3d.ignored"},
		{"<ComposedShader language='GLSL'/>", "", "x3d.ignored"},
		{"<FillProperties hatched='true'/>", "", "x3d.ignored"},
		{"", "<TextureCoordinateGenerator mode='SPHERE'/>", "x3d.ignored"},
		{"<TwoSidedMaterial separateBackColor='true'/>", "", "x3d.back-color"},
		{"<TwoSidedMaterial/>", "", NULL},
		{"<Material/><TextureTransform/><MetadataSet/>", "", NULL},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[1024];
		snprintf(text, sizeof text,
				 X3D("<Shape><Appearance>%s</Appearance><IndexedFaceSet coordIndex='0 1 2 3'>" SQUARE
					 "%s</IndexedFaceSet></Shape>"),
				 cases[i].appearance, cases[i].inside);
		reader *r = read_xml(text);
		assert_int_equal(r->notes.count, cases[i].code != NULL);
		assert_true(!cases[i].code || reader_noted(r, cases[i].code));
		reader_free(r);
	}
}

static void box_of(const hob_mesh *m, float low[3], float high[3])
{
	for (int k = 0; k < 3; k++)
		low[k] = high[k] = m->position[m->indices[0] * 3 + (uint32_t)k];
	for (uint32_t i = 0; i < m->index_count; i++)
		for (uint32_t k = 0; k < 3; k++) {
			float at = m->position[m->indices[i] * 3 + k];
			low[k] = fminf(low[k], at);
			high[k] = fmaxf(high[k], at);
		}
}

/* Six times the signed volume of a closed triangle mesh; positive when its faces point outwards. */
static double volume_of(const hob_mesh *m)
{
	double sum = 0;
	for (uint32_t i = 0; i + 2 < m->index_count; i += 3) {
		const float *a = m->position + m->indices[i] * 3, *b = m->position + m->indices[i + 1] * 3,
					*c = m->position + m->indices[i + 2] * 3;
		sum += (double)(a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
						a[2] * (b[0] * c[1] - b[1] * c[0])) /
			   6;
	}
	return sum;
}

/* Every normal points to the front of its triangle. */
static void assert_normals_agree(const hob_mesh *m)
{
	assert_non_null(m->normal);
	for (uint32_t i = 0; i + 2 < m->index_count; i += 3) {
		const float *p[3];
		float n[3], u[3], v[3];
		for (uint32_t k = 0; k < 3; k++)
			p[k] = m->position + m->indices[i + k] * 3;
		for (int k = 0; k < 3; k++) {
			u[k] = p[1][k] - p[0][k];
			v[k] = p[2][k] - p[0][k];
		}
		for (int k = 0; k < 3; k++)
			n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
		for (uint32_t k = 0; k < 3; k++) {
			const float *own = m->normal + m->indices[i + k] * 3;
			assert_true(n[0] * own[0] + n[1] * own[1] + n[2] * own[2] >= -1e-6f);
		}
	}
}

static void what_is_used_again_is_there_again(void **state)
{
	(void)state;
	reader *r = read_xml(X3D(
		"<Shape DEF='S'><Appearance DEF='A'><Material diffuseColor='1 0 0' transparency='0.25'/></Appearance>"
		"<IndexedFaceSet coordIndex='0 1 2 3 -1'>" SQUARE "</IndexedFaceSet></Shape>"
		"<Transform DEF='T' translation='5 0 0'><Shape USE='S'/></Transform>"
		"<Transform USE='T'/><Shape><Appearance USE='A'/><Box/></Shape><Shape USE='nothing'/>"));
	const hob_model *m = &r->model;
	assert_int_equal(m->mesh_count, 2);
	assert_int_equal(m->material_count, 1);
	assert_int_equal(m->mesh_ref_count, 4);
	assert_vector(m->materials[0].base_color, 1, 0, 0);
	assert_near(m->materials[0].base_color[3], 0.75f);
	assert_int_equal(m->materials[0].alpha_mode, HOB_ALPHA_BLEND);
	assert_true(reader_noted(r, "x3d.missing-use"));
	reader_free(r);
}

/* The same scene in both encodings gives the same model. */
static void both_encodings_say_the_same(void **state)
{
	(void)state;
	reader *a = read_xml(X3D(
		"<Transform DEF='T' translation='1 2 3' rotation='0 1 0 1.5707963' scale='2 1 1' center='1 0 0'>"
		"<Shape><Appearance><Material diffuseColor='.25 .5 1' emissiveColor='0 .125 0' shininess='0.5'/>"
		"<ImageTexture url='\"http://far/a.png\" \"tex/a.png\"' repeatS='false'/></Appearance>"
		"<IndexedFaceSet coordIndex='0 1 2 -1 0 2 3 -1' texCoordIndex='0 1 2 -1 0 2 3' colorIndex='1 0' "
		"colorPerVertex='false' creaseAngle='0.5' solid='false'>" SQUARE
		"<TextureCoordinate point='0 0 1 0 1 1 0 1'/><Color color='1 0 0 0 1 0'/></IndexedFaceSet></Shape>"
		"</Transform><Switch whichChoice='1'><Group/><Shape DEF='s'><Sphere radius='2'/></Shape></Switch>"
		"<Shape USE='s'/>"));
	reader *b = read_text(VRML("DEF T Transform { translation 1 2 3 rotation 0 1 0 1.5707963 # a comment [ "
							   "{\n scale 2,1,1 center 1 0 0 "
							   "children [ Shape { appearance Appearance { material Material { diffuseColor "
							   ".25 .5 1 emissiveColor 0 .125 0 "
							   "shininess 0.5 } texture ImageTexture { url [ \"http://far/a.png\", "
							   "\"tex/a.png\" ] repeatS FALSE } } "
							   "geometry IndexedFaceSet { coordIndex [ 0 1 2 -1\n # another\n 0, 2, 3, -1 ] "
							   "texCoordIndex [ 0 1 2 -1 0 2 3 ] "
							   "colorIndex [ 1 0 ] colorPerVertex FALSE creaseAngle 0.5 solid FALSE coord "
							   "Coordinate { point [ 0 0 0, 1 0 0, "
							   "1 1 0, 0 1 0 ] } texCoord TextureCoordinate { point [ 0 0, 1 0, 1 1, 0 1 ] } "
							   "color Color { color [ 1 0 0, 0 1 0 "
							   "] } } } ] } Switch { whichChoice 1 choice [ Group {} DEF s Shape { geometry "
							   "Sphere { radius 2 } } ] } USE s "
							   "ROUTE T.translation_changed TO T.set_translation"));
	const hob_model *m = &a->model, *n = &b->model;
	assert_int_equal(m->node_count, n->node_count);
	assert_int_equal(m->mesh_count, 2);
	assert_int_equal(n->mesh_count, 2);
	assert_int_equal(n->mesh_ref_count, 3);
	for (uint32_t i = 0; i < m->node_count; i++) {
		assert_true(hob_str_equal(m->nodes[i].name, n->nodes[i].name));
		assert_memory_equal(m->nodes[i].translation, n->nodes[i].translation, sizeof m->nodes[i].translation);
		assert_memory_equal(m->nodes[i].rotation, n->nodes[i].rotation, sizeof m->nodes[i].rotation);
	}
	for (uint32_t i = 0; i < 2; i++) {
		const hob_mesh *p = &m->meshes[i], *q = &n->meshes[i];
		assert_int_equal(p->vertex_count, q->vertex_count);
		assert_int_equal(p->index_count, q->index_count);
		assert_memory_equal(p->position, q->position, p->vertex_count * 12);
		assert_memory_equal(p->uv[0], q->uv[0], p->vertex_count * 8);
		assert_memory_equal(p->normal, q->normal, p->vertex_count * 12);
	}
	assert_memory_equal(m->meshes[0].color[0], n->meshes[0].color[0], 6 * 16);
	assert_vector(n->meshes[0].color[0], 0, 1, 0);
	assert_vector(n->meshes[0].color[0] + 12, 1, 0, 0);
	/* T * C * R * S * -C on the origin: (1 0 0) is the centre, scaled to (-1 0 0) from there, rotated to (1 0
	 * 2 ...). */
	float local[16];
	hob_node_local_matrix(&n->nodes[0], local);
	assert_vector(local + 12, 2, 2, 5);
	const hob_material *material = &n->materials[n->meshes[0].material];
	assert_true(material->double_sided);
	/* Colours of the geometry replace the material's, and so does the texture. */
	assert_vector(material->base_color, 1, 1, 1);
	assert_vector(material->emissive, 0, 0.125f, 0);
	const hob_texture_ref *ref = &material->slots[HOB_SLOT_BASE_COLOR];
	assert_name(n->images[ref->image].uri, "tex/a.png");
	assert_int_equal(n->samplers[ref->sampler].wrap_u, HOB_WRAP_CLAMP);
	assert_int_equal(n->samplers[ref->sampler].wrap_v, HOB_WRAP_REPEAT);
	reader_free(a);
	reader_free(b);
}

static void solids_are_closed_and_look_outwards(void **state)
{
	(void)state;
	static const struct {
		const char *node;
		float low[3], high[3];
		double volume;
	} solids[] = {
		{"Box { size 2 4 6 }", {-1, -2, -3}, {1, 2, 3}, 48},
		{"Sphere { radius 2 }", {-2, -2, -2}, {2, 2, 2}, 33.5},
		{"Cylinder { radius 1 height 4 }", {-1, -2, -1}, {1, 2, 1}, 12.57},
		{"Cone { bottomRadius 1 height 3 }", {-1, -1.5f, -1}, {1, 1.5f, 1}, 3.14},
		{"Extrusion { }", {-1, 0, -1}, {1, 1, 1}, 4},
		{"Extrusion { spine [ 0 0 0, 0 0 3 ] scale [ 1 1, 0.5 0.5 ] }", {-1, -1, 0}, {1, 1, 3}, 7},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(solids); i++) {
		char text[256];
		float low[3], high[3];
		snprintf(text, sizeof text, VRML("Shape { geometry %s }"), solids[i].node);
		reader *r = read_text(text);
		const hob_mesh *m = &r->model.meshes[0];
		box_of(m, low, high);
		for (int k = 0; k < 3; k++) {
			assert_near(low[k], solids[i].low[k]);
			assert_near(high[k], solids[i].high[k]);
		}
		if (fabs(volume_of(m) - solids[i].volume) > 0.03 * solids[i].volume)
			fail_msg("%s: volume %g, expected %g", solids[i].node, volume_of(m), solids[i].volume);
		if (m->normal)
			assert_normals_agree(m);
		reader_free(r);
	}
}

static void sets_of_triangles_strips_and_fans_agree(void **state)
{
	(void)state;
	static const char *const sets[] = {
		"<TriangleSet><Coordinate point='0 0 0 1 0 0 1 1 0 0 0 0 1 1 0 0 1 0'/></TriangleSet>",
		"<IndexedTriangleSet index='0 1 2 0 2 3'>" SQUARE "</IndexedTriangleSet>",
		"<TriangleFanSet fanCount='4'>" SQUARE "</TriangleFanSet>",
		"<IndexedTriangleFanSet index='0 1 2 3 -1'>" SQUARE "</IndexedTriangleFanSet>",
		"<TriangleStripSet stripCount='4'><Coordinate point='0 0 0 1 0 0 0 1 0 1 1 0'/></TriangleStripSet>",
		"<IndexedTriangleStripSet index='0 1 3 2 -1'>" SQUARE "</IndexedTriangleStripSet>",
		"<QuadSet>" SQUARE "</QuadSet>",
		"<IndexedQuadSet index='0 1 2 3'>" SQUARE "</IndexedQuadSet>",
		"<IndexedFaceSet ccw='false' coordIndex='3 2 1 0'>" SQUARE "</IndexedFaceSet>",
		"<ElevationGrid xDimension='2' zDimension='2' height='0 0 0 0'/>",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(sets); i++) {
		char text[1024];
		snprintf(text, sizeof text, X3D("<Shape>%s</Shape>"), sets[i]);
		reader *r = read_xml(text);
		const hob_mesh *m = &r->model.meshes[0];
		assert_int_equal(m->index_count, 6);
		bool grid = i == HOB_COUNT_OF(sets) - 1;
		for (uint32_t t = 0; t < 6; t += 3) {
			const float *a = m->position + m->indices[t] * 3, *b = m->position + m->indices[t + 1] * 3,
						*c = m->position + m->indices[t + 2] * 3;
			float area = grid ? (b[2] - a[2]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[2] - a[2])
							  : (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
			if (!(area > 0.99f && area < 1.01f))
				fail_msg("set %zu: triangle %u has %g", i, t / 3, (double)area);
		}
		reader_free(r);
	}
}

static void lines_and_points_are_not_lit(void **state)
{
	(void)state;
	reader *r = read_text(
		VRML("Shape { appearance Appearance { material Material { emissiveColor 1 0.5 0 } } geometry "
			 "IndexedLineSet { "
			 "coordIndex [ 0 1 2 -1 2 0 ] coord Coordinate { point [ 0 0 0 1 0 0 1 1 0 ] } } } Shape { "
			 "geometry PointSet { "
			 "coord Coordinate { point [ 0 0 0 1 0 0 ] } color Color { color [ 1 0 0 0 0 1 ] } } }"));
	const hob_model *m = &r->model;
	assert_int_equal(m->meshes[0].topology, HOB_LINES);
	assert_int_equal(m->meshes[0].index_count, 6);
	assert_vector(m->materials[m->meshes[0].material].base_color, 1, 0.5f, 0);
	assert_int_equal(m->meshes[1].topology, HOB_POINTS);
	assert_vector(m->meshes[1].color[0] + 4, 0, 0, 1);
	assert_true(m->materials[m->meshes[1].material].ext_mask & 1u << HOB_MATERIAL_UNLIT);
	reader_free(r);
}

/* Two faces at 90 degrees: smooth with a larger crease angle, hard with a smaller one. */
static void the_crease_angle_decides_what_is_smooth(void **state)
{
	(void)state;
	static const struct {
		const char *angle;
		float y;
	} cases[] = {{"2", 0.70710678f}, {"1", 0}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[512];
		snprintf(text, sizeof text,
				 VRML("Shape { geometry IndexedFaceSet { creaseAngle %s coordIndex [ 0 1 2 3 -1 1 4 5 2 -1 ] "
					  "coord Coordinate { point [ 0 0 0 1 0 0 1 1 0 0 1 0 1 0 -1 1 1 -1 ] } } }"),
				 cases[i].angle);
		reader *r = read_text(text);
		const float *n = r->model.meshes[0].normal + 3; /* second corner of the first face */
		assert_near(n[0], cases[i].y);
		assert_near(n[2], cases[i].y > 0 ? cases[i].y : 1);
		reader_free(r);
	}
}

static void a_texture_transform_moves_the_coordinates(void **state)
{
	(void)state;
	reader *r = read_text(VRML("Shape { appearance Appearance { texture PixelTexture { image 2 1 3 0xFF0000 "
							   "0x00FF00 } textureTransform "
							   "TextureTransform { scale 2 1 translation 0.5 0 } } geometry IndexedFaceSet { "
							   "coordIndex [ 0 1 2 3 ] coord "
							   "Coordinate { point [ 0 0 0 2 0 0 2 1 0 0 1 0 ] } } }"));
	const hob_mesh *m = &r->model.meshes[0];
	/* By the bounding box: S 0..1, T 0..0.5; then (s + 0.5) * 2. */
	assert_near(m->uv[0][0], 1);
	assert_near(m->uv[0][1], 1);
	assert_near(m->uv[0][4], 3);
	assert_near(m->uv[0][5], 0.5f);
	const hob_image *image = &r->model.images[0];
	assert_int_equal(image->raw_width, 2);
	assert_int_equal(image->bytes.data[0], 255);
	assert_int_equal(image->bytes.data[4 + 1], 255);
	reader_free(r);
}

static void levels_lights_and_viewpoints(void **state)
{
	(void)state;
	reader *r = read_xml(
		X3D("<LOD range='10'><Shape><Box/></Shape><Shape><Sphere/></Shape></LOD>"
			"<SpotLight location='1 2 3' direction='1 0 0' color='1 .5 .25' intensity='2' cutOffAngle='.5' "
			"beamWidth='.25'/>"
			"<DirectionalLight on='false'/><Viewpoint description='front' position='0 1 9' fieldOfView='1'/>"
			"<TimeSensor/><Shape><Text string='\"hi\"'/></Shape>"));
	const hob_model *m = &r->model;
	assert_int_equal(m->mesh_count, 1);
	assert_int_equal(m->meshes[0].index_count, 36);
	assert_int_equal(m->light_count, 1);
	assert_int_equal(m->lights[0].type, HOB_LIGHT_SPOT);
	assert_near(m->lights[0].intensity, 2);
	assert_near(m->lights[0].inner_cone, 0.25f);
	float world[16];
	for (uint32_t i = 0; i < m->node_count; i++)
		if (m->nodes[i].light == 0) {
			hob_node_local_matrix(&m->nodes[i], world);
			assert_vector(world + 12, 1, 2, 3);
			assert_vector(world + 8, -1, 0, 0); /* -Z looks along X */
		}
	assert_int_equal(m->camera_count, 1);
	assert_name(m->cameras[0].name, "front");
	assert_true(reader_noted(r, "x3d.levels"));
	assert_true(reader_noted(r, "x3d.light-off"));
	assert_true(reader_noted(r, "x3d.ignored"));
	reader_free(r);
}

static void what_is_no_shape_is_told_by_its_name(void **state)
{
	(void)state;
	static const char *const scenes[][2] = {
		{"<Shape><Text string='\"hi\"'/></Shape>", "<Text>"},
		{"<Shape><NurbsPatchSurface/></Shape>", "<NurbsPatchSurface>"},
		{"<TimeSensor/>", "<TimeSensor>"},
		{"<Inline url='other.x3d'/>", "<Inline>"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(scenes); i++) {
		char text[512];
		snprintf(text, sizeof text, X3D("%s<Shape><Box/></Shape>"), scenes[i][0]);
		reader *r = read_xml(text);
		assert_int_equal(r->model.mesh_count, 1);
		assert_int_equal(r->notes.count, 1);
		assert_true(reader_noted(r, "x3d.ignored"));
		assert_true(hob_str_starts(r->notes.items[0].text, hob_str_of(scenes[i][1])));
		reader_free(r);
	}
}

static void units_headers_and_compression(void **state)
{
	(void)state;
	reader *r = read_as("a.x3dv", "#X3D V3.3 utf8\nPROFILE Interchange\nCOMPONENT Text:1\nMETA \"a\" \"b\"\n"
								  "UNIT length inch 0.0254\nShape { geometry Box { size 1 1 1 } }\n");
	float low[3], high[3];
	box_of(&r->model.meshes[0], low, high);
	assert_near(high[0], 0.0127f);
	assert_near(r->model.unit, 0.0254f);
	reader_free(r);
	static const char plain[] = VRML("Shape { geometry Box { } }");
	uint8_t packed[256];
	struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(6);
	size_t size = libdeflate_gzip_compress(deflater, plain, sizeof plain - 1, packed, sizeof packed);
	libdeflate_free_compressor(deflater);
	r = reader_new(&hob_x3d_importer);
	reader_add_bytes(r, "a.wrl", packed, size);
	assert_int_equal(reader_model(r)->meshes[0].index_count, 36);
	reader_damage(r, 1);
	reader_free(r);
}

static void what_cannot_be_read_is_refused_in_words(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
		hob_err_code code;
	} cases[] = {
		{"#VRML V1.0 ascii\nSeparator { Cube { } }", "VRML 1.0", HOB_ERR_UNSUPPORTED},
		{"hello", "begins neither", HOB_ERR_CORRUPT},
		{"<COLLADA/>", "not <X3D>", HOB_ERR_CORRUPT},
		{VRML("Shape { geometry Box {"), "the file ends at line 2", HOB_ERR_TRUNCATED},
		{VRML("Shape { geometry Box { size ] } }"), "line 2", HOB_ERR_CORRUPT},
		{VRML("WorldInfo { title \"empty\" }"), "shows no shape", HOB_ERR_EMPTY},
		{VRML("DEF A Group { children [ Shape { geometry Box {} } USE A ] }"), "holds itself", HOB_ERR_LIMIT},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = reader_new(&hob_x3d_importer);
		reader_add(r, "scene.wrl", cases[i].text);
		if (reader_run(r))
			fail_msg("case %zu is accepted", i);
		if (r->error.code != cases[i].code || !strstr(r->error.context, cases[i].words))
			fail_msg("case %zu: %s: %s", i, hob_err_name(r->error.code), r->error.context);
		reader_free(r);
	}
}

static void prototypes_are_left_out_with_a_note(void **state)
{
	(void)state;
	reader *r =
		read_text(VRML("PROTO P [ field SFFloat s 1 ] { Shape { geometry Sphere { radius IS s } } }\n"
					   "EXTERNPROTO Q [ eventIn SFBool x ] [ \"q.wrl\" ]\nP { s 2 } Q { }\n"
					   "Script { url \"javascript: }\" field SFInt32 n 0 }\nShape { geometry Box {} }"));
	assert_int_equal(r->model.mesh_count, 1);
	assert_true(reader_noted(r, "x3d.prototypes"));
	reader_free(r);
}

static void faces_that_name_nothing_are_left_out(void **state)
{
	(void)state;
	reader *r = read_xml(X3D("<Shape><IndexedFaceSet coordIndex='0 1 2 3 -1 0 1 9 -1 0 1 -1' "
							 "normalIndex='0 0 0 0 -1 7 7 7'>" SQUARE
							 "<Normal vector='0 0 1'/></IndexedFaceSet></Shape>"));
	assert_int_equal(r->model.meshes[0].index_count, 6);
	assert_true(reader_noted(r, "mesh.bad-faces"));
	assert_vector(r->model.meshes[0].normal, 0, 0, 1);
	reader_free(r);
}

static const char rich[] = VRML("DEF T Transform { translation 1 2 3 children [ DEF S Shape { appearance "
								"Appearance { material Material { } "
								"texture ImageTexture { url \"a.png\" } textureTransform TextureTransform { "
								"rotation 1 } } geometry IndexedFaceSet { "
								"creaseAngle 1 coordIndex [ 0 1 2 3 -1 ] coord Coordinate { point [ 0 0 0 1 "
								"0 0 1 1 0 0 1 0 ] } } } Shape { geometry "
								"Extrusion { spine [ 0 0 0 0 1 0 1 1 1 ] } } USE S ] } ROUTE a.b TO c.d "
								"Viewpoint { } PointLight { } PROTO P [ ] { }");

static void a_scarce_memory_is_an_error(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_x3d_importer);
	reader_add(r, "scene.wrl", rich);
	reader_starve(r);
	reader_free(r);
}

static void damage_is_survived(void **state)
{
	(void)state;
	reader *r = reader_new(&hob_x3d_importer);
	reader_add(r, "scene.wrl", rich);
	reader_damage(r, 2);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_that_are_left_out_are_told),
		cmocka_unit_test(what_is_used_again_is_there_again),
		cmocka_unit_test(both_encodings_say_the_same),
		cmocka_unit_test(solids_are_closed_and_look_outwards),
		cmocka_unit_test(sets_of_triangles_strips_and_fans_agree),
		cmocka_unit_test(lines_and_points_are_not_lit),
		cmocka_unit_test(the_crease_angle_decides_what_is_smooth),
		cmocka_unit_test(a_texture_transform_moves_the_coordinates),
		cmocka_unit_test(levels_lights_and_viewpoints),
		cmocka_unit_test(what_is_no_shape_is_told_by_its_name),
		cmocka_unit_test(units_headers_and_compression),
		cmocka_unit_test(what_cannot_be_read_is_refused_in_words),
		cmocka_unit_test(prototypes_are_left_out_with_a_note),
		cmocka_unit_test(faces_that_name_nothing_are_left_out),
		cmocka_unit_test(a_scarce_memory_is_an_error),
		cmocka_unit_test(damage_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
