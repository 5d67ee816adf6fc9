/* Materials and textures of FBX files: each shader of real exporters, and connections of pictures. */
#include "tests/unit/import/reader_fixture.h"

static const char head[] = "; FBX 7.4.0 project file\nFBXHeaderExtension: {\n FBXVersion: 7400\n}\n";
static const char quad[] = "  Vertices: *12 {\n   a: 0,0,0,100,0,0,100,100,0,0,100,0\n  }\n"
						   "  PolygonVertexIndex: *4 {\n   a: 0,1,2,-4\n  }\n";

/* A square with material 3; `more` are further objects. */
static reader *read_material(const char *shading, const char *properties, const char *more,
							 const char *connections)
{
	static char text[16384];
	reader *r = reader_new(&hob_fbx_importer);
	snprintf(text, sizeof text,
			 "%sObjects: {\n Geometry: 1, \"Geometry::g\", \"Mesh\" {\n%s }\n"
			 " Model: 2, \"Model::m\", \"Mesh\" {\n }\n"
			 " Material: 3, \"Material::paint\", \"\" {\n  ShadingModel: \"%s\"\n  Properties70: {\n%s  }\n "
			 "}\n%s}\n"
			 "Connections: {\n C: \"OO\",1,2\n C: \"OO\",2,0\n C: \"OO\",3,2\n%s}\n",
			 head, quad, shading, properties, more, connections);
	reader_add(r, "folder/model.fbx", text);
	reader_run_failing(r, 0, 0);
	assert_true(r->ok);
	assert_int_equal(r->model.material_count, 1);
	return r;
}

static void near(float a, double b, const char *what)
{
	if (fabs((double)a - b) > 1e-4)
		fail_msg("%s: %g, expected %g", what, (double)a, b);
}

#define NUMBER(name, value)	  "   P: \"" name "\", \"Number\", \"\", \"A\"," #value "\n"
#define COLOR(name, r, g, b)  "   P: \"" name "\", \"Color\", \"\", \"A\"," #r "," #g "," #b "\n"
#define VECTOR(name, x, y, z) "   P: \"" name "\", \"Vector3D\", \"Vector\", \"\"," #x "," #y "," #z "\n"
#define PI					  3.14159265358979323846
#define INT(name, value)	  "   P: \"" name "\", \"int\", \"Integer\", \"A\"," #value "\n"
#define IDS(a, b)			  INT("3dsMax|ClassIDa", a) INT("3dsMax|ClassIDb", b)
#define API(name)                                                                                            \
	" Implementation: 4, \"Implementation::i\", \"\" {\n  Properties70: {\n   P: \"RenderAPI\", "            \
	"\"KString\", "                                                                                          \
	"\"\", \"\", \"" name "\"\n  }\n }\n"

static void every_shader_has_its_names(void **state)
{
	(void)state;
	static const struct {
		const char *name, *properties, *more;
		double base[3], metal, rough, glow, opacity;
	} rows[] = {
		{"arnold",
		 NUMBER("Maya|base", 0.5) COLOR("Maya|baseColor", 1, 0.5, 0) NUMBER("Maya|metalness", 0.25)
			 NUMBER("Maya|specularRoughness", 0.75) NUMBER("Maya|emission", 0.5)
				 COLOR("Maya|emissionColor", 0.5, 0, 0) COLOR("Maya|opacity", 0.5, 0.5, 0.5),
		 API("ARNOLD_SHADER_ID"),
		 {.5, .25, 0},
		 .25,
		 .75,
		 .25,
		 .5},
		{"standard surface",
		 NUMBER("Maya|base", 1) COLOR("Maya|base_color", 0.2, 0.4, 0.6) NUMBER("Maya|metalness", 1)
			 NUMBER("Maya|specular_roughness", 0.1) NUMBER("Maya|emission", 1)
				 COLOR("Maya|emission_color", 0.3, 0, 0),
		 API("OSL"),
		 {.2, .4, .6},
		 1,
		 .1,
		 .3,
		 1},
		{"stingray",
		 COLOR("Maya|base_color", 0.2, 0.4, 0.6) NUMBER("Maya|metallic", 0.5) NUMBER("Maya|roughness", 0.3)
			 COLOR("Maya|emissive", 0.25, 0, 0) NUMBER("Maya|emissive_intensity", 2),
		 API("SFX_PBS_SHADER"),
		 {.2, .4, .6},
		 .5,
		 .3,
		 .5,
		 1},
		{"physical",
		 IDS(1030429932, -559038463) NUMBER("3dsMax|Parameters|base_weight", 0.5)
			 COLOR("3dsMax|Parameters|base_color", 1, 0.5, 0) NUMBER("3dsMax|Parameters|metalness", 0.25)
				 NUMBER("3dsMax|Parameters|roughness", 0.2) INT("3dsMax|Parameters|roughness_inv", 1)
					 NUMBER("3dsMax|Parameters|emission", 0.5) COLOR("3dsMax|Parameters|emit_color", 1, 0, 0)
						 NUMBER("3dsMax|Parameters|transparency", 0.25),
		 "",
		 {.5, .25, 0},
		 .25,
		 .8,
		 .5,
		 1},
		{"openpbr",
		 IDS(-246079949, 939201335) NUMBER("3dsMax|Parameters|base_weight", 1)
			 COLOR("3dsMax|Parameters|base_color", 1, 0.5, 0) NUMBER("3dsMax|Parameters|base_metalness", 0.25)
				 NUMBER("3dsMax|Parameters|specular_roughness", 0.6)
					 NUMBER("3dsMax|Parameters|geometry_opacity", 0.5),
		 "",
		 {1, .5, 0},
		 .25,
		 .6,
		 0,
		 .5},
		{"gltf",
		 IDS(943849874, 1174294043) COLOR("3dsMax|main|baseColor", 1, 0.5, 0)
			 NUMBER("3dsMax|main|metalness", 0.25) NUMBER("3dsMax|main|roughness", 0.6)
				 COLOR("3dsMax|main|emissionColor", 0.5, 0, 0),
		 "",
		 {1, .5, 0},
		 .25,
		 .6,
		 .5,
		 1},
		{"metal and rough",
		 IDS(-804315648, -1099438848) COLOR("3dsMax|main|basecolor", 1, 0.5, 0)
			 NUMBER("3dsMax|main|metalness", 0.25) NUMBER("3dsMax|main|roughness", 0.6)
				 INT("3dsMax|main|useGlossiness", 2) COLOR("3dsMax|main|emit_color", 0.5, 0, 0),
		 "",
		 {1, .5, 0},
		 .25,
		 .6,
		 .5,
		 1},
		{"specular and gloss",
		 IDS(-804315648, 31173939) COLOR("3dsMax|main|base_color", 1, 0.5, 0)
			 NUMBER("3dsMax|main|glossiness", 0.4),
		 "",
		 {1, .5, 0},
		 0,
		 .6,
		 0,
		 1},
		{"phong",
		 COLOR("DiffuseColor", 1, 0.5, 0) NUMBER("DiffuseFactor", 0.5) COLOR("EmissiveColor", 0.5, 0, 0)
			 NUMBER("EmissiveFactor", 0.5) NUMBER("ShininessExponent", 30) NUMBER("TransparencyFactor", 1)
				 COLOR("TransparentColor", 0.25, 0.25, 0.25),
		 "",
		 {.5, .25, 0},
		 0,
		 .5,
		 .25,
		 .75},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		reader *r = read_material(i + 1 == HOB_COUNT_OF(rows) ? "phong" : "unknown", rows[i].properties,
								  rows[i].more, rows[i].more[0] ? " C: \"OO\",3,4\n" : "");
		const hob_material *m = &r->model.materials[0];
		float strength = m->ext_mask & 1u << HOB_MATERIAL_EMISSIVE_STRENGTH ? m->emissive_strength : 1;
		for (int k = 0; k < 3; k++)
			near(m->base_color[k], rows[i].base[k], rows[i].name);
		near(m->metallic, rows[i].metal, rows[i].name);
		near(m->roughness, rows[i].rough, rows[i].name);
		near(m->emissive[0] * strength, rows[i].glow, rows[i].name);
		near(m->base_color[3], rows[i].opacity, rows[i].name);
		reader_free(r);
	}
}

#define TEXTURE(id, file, properties)                                                                        \
	" Texture: " #id ", \"Texture::t\", \"\" {\n  RelativeFilename: \"" file                                 \
	"\"\n  Properties70: {\n" properties "  }\n }\n"

/* Max writes its shader graphs as OSL beside its own parameters, which take precedence. */
#define EXT(name, value) NUMBER("3dsMax|extension|" name, value)

/* Extensions of Max's glTF material, all on and all off, and the same names in its Physical material. */
static void extensions_of_max_are_read(void **state)
{
	(void)state;
	for (int on = 0; on < 2; on++) {
		char properties[4096];
		snprintf(properties, sizeof properties,
				 "%s   P: \"3dsMax|extension|enableClearCoat\", \"bool\", \"\", \"A\",%d\n"
				 "   P: \"3dsMax|extension|enableSheen\", \"bool\", \"\", \"A\",%d\n"
				 "   P: \"3dsMax|extension|enableTransmission\", \"bool\", \"\", \"A\",%d\n"
				 "   P: \"3dsMax|extension|enableVolume\", \"bool\", \"\", \"A\",%d\n"
				 "   P: \"3dsMax|extension|enableSpecular\", \"bool\", \"\", \"A\",%d\n"
				 "   P: \"3dsMax|extension|enableIndexOfRefraction\", \"bool\", \"\", \"A\",%d\n%s",
				 IDS(943849874, 1174294043) COLOR("3dsMax|main|baseColor", 1, 0.5, 0), on, on, on, on, on, on,
				 EXT("clearcoat", 0.75) EXT("clearcoatRoughness", 0.25)
					 COLOR("3dsMax|extension|sheenColor", 0.5, 0.25, 0) EXT("sheenRoughness", 0.4)
						 EXT("transmission", 0.9) EXT("volumeThickness", 50) EXT("volumeDistance", 200)
							 COLOR("3dsMax|extension|volumeColor", 0, 1, 0) EXT("Specular", 0.5)
								 EXT("indexOfRefraction", 1.33));
		reader *r = read_material("unknown", properties, "", "");
		const hob_material *m = &r->model.materials[0];
		uint32_t all = 1u << HOB_MATERIAL_CLEARCOAT | 1u << HOB_MATERIAL_SHEEN |
					   1u << HOB_MATERIAL_TRANSMISSION | 1u << HOB_MATERIAL_VOLUME |
					   1u << HOB_MATERIAL_SPECULAR | 1u << HOB_MATERIAL_IOR;
		assert_int_equal(m->ext_mask, on ? all : 0);
		if (on) {
			near(m->clearcoat, .75, "clear coat");
			near(m->clearcoat_roughness, .25, "roughness of the coat");
			near(m->sheen_color[1], .25, "sheen");
			near(m->sheen_roughness, .4, "roughness of sheen");
			near(m->transmission, .9, "transmission");
			near(m->thickness, .5, "thickness");
			near(m->attenuation_distance, 2, "attenuation");
			near(m->attenuation_color[0], 0, "attenuation");
			near(m->specular, .5, "specular");
			near(m->ior, 1.33, "index of refraction");
		}
		reader_free(r);
	}
	reader *r = read_material(
		"unknown",
		IDS(1030429932, -559038463) NUMBER("3dsMax|Parameters|transparency", 0.25)
			NUMBER("3dsMax|Parameters|trans_ior", 1.33) NUMBER("3dsMax|Parameters|coating", 0.5)
				NUMBER("3dsMax|Parameters|coat_roughness", 0.25)
					INT("3dsMax|Parameters|coat_roughness_inv", 1) NUMBER("3dsMax|Parameters|thin_film", 1),
		"", "");
	const hob_material *m = &r->model.materials[0];
	near(m->transmission, .25, "transmission");
	near(m->base_color[3], 1, "opacity");
	near(m->ior, 1.33, "index of refraction");
	near(m->clearcoat, .5, "clear coat");
	near(m->clearcoat_roughness, .75, "roughness of the coat");
	assert_true(reader_noted(r, "fbx.look"));
	reader_free(r);
}

/* useGlossiness: 1 glossiness, 2 roughness; the default is 1 in the specular, 2 in the metal material. */
static void max_says_whether_it_holds_glossiness(void **state)
{
	(void)state;
	static const struct {
		const char *properties;
		double rough;
	} cases[] = {
		{IDS(-804315648, 31173939) NUMBER("3dsMax|main|glossiness", 0.2), .8},
		{IDS(-804315648, 31173939) NUMBER("3dsMax|main|glossiness", 0.2) INT("3dsMax|main|useGlossiness", 1),
		 .8},
		{IDS(-804315648, 31173939) NUMBER("3dsMax|main|glossiness", 0.2) INT("3dsMax|main|useGlossiness", 2),
		 .2},
		{IDS(-804315648, -1099438848) NUMBER("3dsMax|main|roughness", 0.2), .2},
		{IDS(-804315648, -1099438848) NUMBER("3dsMax|main|roughness", 0.2)
			 INT("3dsMax|main|useGlossiness", 2),
		 .2},
		{IDS(-804315648, -1099438848) NUMBER("3dsMax|main|roughness", 0.2)
			 INT("3dsMax|main|useGlossiness", 1),
		 .8},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = read_material("unknown", cases[i].properties, "", "");
		near(r->model.materials[0].roughness, cases[i].rough, cases[i].properties);
		reader_free(r);
	}
}

static void parameters_of_max_count_before_its_osl(void **state)
{
	(void)state;
	reader *r = read_material("unknown",
							  IDS(1030429932, -559038463) COLOR("3dsMax|Parameters|base_color", 0.25, 0.5, 1)
								  NUMBER("3dsMax|Parameters|roughness", 0.5),
							  API("OSL") " Texture: 5, \"Texture::graph\", \"\" {\n }\n",
							  " C: \"OO\",3,4\n C: \"OP\",5,3, \"3dsMax|Parameters|base_color_map\"\n");
	near(r->model.materials[0].base_color[0], 0.25, "base colour");
	assert_true(reader_noted(r, "fbx.no-picture"));
	reader_free(r);
}

static void a_texture_takes_the_place_of_the_colour(void **state)
{
	(void)state;
	reader *r =
		read_material("lambert", COLOR("DiffuseColor", 0.5, 0.5, 0.5),
					  TEXTURE(5, "wood.png", INT("WrapModeU", 1)), " C: \"OP\",5,3, \"DiffuseColor\"\n");
	const hob_material *m = &r->model.materials[0];
	assert_int_equal(r->model.image_count, 1);
	assert_int_equal(m->slots[HOB_SLOT_BASE_COLOR].image, 0);
	near(m->base_color[0], 1, "base colour below a texture");
	const hob_sampler *sampler = &r->model.samplers[m->slots[HOB_SLOT_BASE_COLOR].sampler];
	assert_int_equal(sampler->wrap_u, HOB_WRAP_CLAMP);
	assert_int_equal(sampler->wrap_v, HOB_WRAP_REPEAT);
	reader_free(r);
}

/* Sets are chosen by number, in any order in the file. */
static void a_texture_names_its_set_of_coordinates(void **state)
{
	(void)state;
	static char text[8192];
	reader *r = reader_new(&hob_fbx_importer);
	snprintf(text, sizeof text,
			 "%sObjects: {\n Geometry: 1, \"Geometry::g\", \"Mesh\" {\n%s"
			 "  LayerElementUV: 1 {\n   Name: \"bake\"\n   MappingInformationType: \"ByVertice\"\n"
			 "   ReferenceInformationType: \"Direct\"\n   UV: *8 {\n    a: 0,0,1,0,1,1,0,0.25\n   }\n  }\n"
			 "  LayerElementUV: 0 {\n   Name: \"first\"\n   MappingInformationType: \"ByVertice\"\n"
			 "   ReferenceInformationType: \"Direct\"\n   UV: *8 {\n    a: 0,0,1,0,1,1,0,1\n   }\n  }\n }\n"
			 " Model: 2, \"Model::m\", \"Mesh\" {\n }\n Material: 3, \"Material::paint\", \"\" {\n }\n%s}\n"
			 "Connections: {\n C: \"OO\",1,2\n C: \"OO\",2,0\n C: \"OO\",3,2\n C: \"OP\",5,3, "
			 "\"DiffuseColor\"\n}\n",
			 head, quad, TEXTURE(5, "wood.png", "   P: \"UVSet\", \"KString\", \"\", \"\", \"bake\"\n"));
	reader_add(r, "model.fbx", text);
	reader_run_failing(r, 0, 0);
	assert_true(r->ok);
	assert_int_equal(r->model.materials[0].slots[HOB_SLOT_BASE_COLOR].uv_set, 1);
	near(r->model.meshes[0].uv[1][7], 0.75, "V points down");
	reader_free(r);
}

/* Scaling 2 is Maya's repeat and Max's tiling: the picture repeats twice. */
static void a_texture_is_repeated_turned_and_moved(void **state)
{
	(void)state;
	static const struct {
		const char *properties;
		double t[2], turn, s[2];
		bool swap; /* swaps U and V, last */
	} rows[] = {
		{VECTOR("Translation", 0.25, 0.5, 0) VECTOR("Scaling", 0.5, 0.25, 1), {.25, .5}, 0, {.5, .25}, false},
		{VECTOR("Translation", 0.1, 0.2, 0) VECTOR("Rotation", 0, 0, 30), {.1, .2}, PI / 6, {1, 1}, false},
		{VECTOR("Rotation", 0, 0, -70) VECTOR("Scaling", 2, 2, 1), {0, 0}, -70 * PI / 180, {2, 2}, false},
		{INT("UVSwap", 1), {0, 0}, 0, {1, 1}, true},
		{VECTOR("Translation", 0.1, 0.2, 0) VECTOR("Rotation", 0, 0, 30) INT("UVSwap", 1),
		 {.1, .2},
		 PI / 6,
		 {1, 1},
		 true},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		char more[1024];
		snprintf(more, sizeof more, TEXTURE(5, "wood.png", "%s"), rows[i].properties);
		reader *r = read_material("lambert", "", more, " C: \"OP\",5,3, \"DiffuseColor\"\n");
		const hob_texture_ref *ref = &r->model.materials[0].slots[HOB_SLOT_BASE_COLOR];
		double rc = cos((double)ref->rotation), rs = sin((double)ref->rotation);
		for (int corner = 0; corner < 4; corner++) {
			double u = corner % 2, v = corner / 2, c = cos(rows[i].turn), s = sin(rows[i].turn);
			double su = u * rows[i].s[0], sv = v * rows[i].s[1];
			double x = u * (double)ref->scale[0], y = (1 - v) * (double)ref->scale[1];
			const double at[2] = {c * su - s * sv + rows[i].t[0], s * su + c * sv + rows[i].t[1]};
			near((float)(rc * x + rs * y + (double)ref->offset[0]), at[rows[i].swap], "u of the corner");
			near((float)(1 - (rc * y - rs * x + (double)ref->offset[1])), at[!rows[i].swap],
				 "v of the corner");
		}
		reader_free(r);
	}
}

/* Blender's exporter uses some properties differently: roughness in shininess, the strength of a normal map,
 * a mapping with its own order and rotation in radians, an orthographic view in metres. */
static void blender_files_mean_what_blender_shows(void **state)
{
	(void)state;
	static char text[8192];
	for (int of_blender = 0; of_blender < 2; of_blender++) {
		reader *r = reader_new(&hob_fbx_importer);
		snprintf(
			text, sizeof text,
			"%sCreator: \"%s\"\nObjects: {\n Geometry: 1, \"Geometry::g\", \"Mesh\" {\n%s }\n"
			" Model: 2, \"Model::m\", \"Mesh\" {\n }\n Material: 3, \"Material::paint\", \"\" {\n"
			"  ShadingModel: \"Phong\"\n  Properties70: {\n" NUMBER(
				"BumpFactor",
				0.6) "  }\n }\n%s%s%s"
					 " Model: 8, \"Model::view\", \"Camera\" {\n }\n NodeAttribute: 9, \"NodeAttribute::\", "
					 "\"Camera\" {\n  Properties70: {\n" INT("CameraProjectionType", 1)
						 NUMBER("OrthoZoom", 7) "  }\n }\n}\nConnections: {\n C: \"OO\",1,2\n C: "
												"\"OO\",2,0\n C: \"OO\",3,2\n C: \"OO\",8,0\n"
												" C: \"OO\",9,8\n C: \"OP\",5,3, \"DiffuseColor\"\n C: "
												"\"OP\",6,3, \"ShininessExponent\"\n"
												" C: \"OP\",7,3, \"NormalMap\"\n}\n",
			head, of_blender ? "Blender (stable FBX IO) - 3.4.1 - 4.37.5" : "FBX SDK", quad,
			TEXTURE(5, "wood.png",
					VECTOR("Translation", 0.25, 0.5, 0) VECTOR("Rotation", 0, 0, -0.3)
						VECTOR("Scaling", 0.5, 0.333333333, 1)),
			TEXTURE(6, "rough.png", ""), TEXTURE(7, "normal.png", ""));
		reader_add(r, "model.fbx", text);
		reader_run_failing(r, 0, 0);
		assert_true(r->ok);
		const hob_material *m = &r->model.materials[0];
		assert_int_equal(m->slots[HOB_SLOT_ROUGHNESS].image != HOB_NONE, of_blender);
		near(m->normal_scale, of_blender ? 0.6 : 1, "strength of the normal map");
		near(r->model.cameras[0].aspect_or_xmag, of_blender ? 3.5 : 1.05, "half the width of the view");
		/* As Blender's own glTF exporter writes a mapping of (0.25, 0.5), 0.3 and (2, 3). */
		static const double place[] = {-0.6365607, -2.366009, 2, 3, 0.3};
		const hob_texture_ref *ref = &m->slots[HOB_SLOT_BASE_COLOR];
		const float found[] = {ref->offset[0], ref->offset[1], ref->scale[0], ref->scale[1], ref->rotation};
		for (int k = 0; k < 5 && of_blender; k++)
			near(found[k], place[k], "place of the texture");
		reader_free(r);
	}
}

/* Some exporters connect materials to the geometry and none to the node. */
static void materials_may_hang_on_the_geometry(void **state)
{
	(void)state;
	static char text[4096];
	reader *r = reader_new(&hob_fbx_importer);
	snprintf(text, sizeof text,
			 "%sObjects: {\n Geometry: 1, \"Geometry::g\", \"Mesh\" {\n%s }\n Model: 2, \"Model::m\", "
			 "\"Mesh\" {\n }\n"
			 " Material: 3, \"Material::paint\", \"\" {\n }\n}\n"
			 "Connections: {\n C: \"OO\",1,2\n C: \"OO\",2,0\n C: \"OO\",3,1\n}\n",
			 head, quad);
	reader_add(r, "model.fbx", text);
	reader_run_failing(r, 0, 0);
	assert_true(r->ok);
	assert_int_equal(r->model.meshes[0].material, 0);
	reader_free(r);
}

/* Two triangles; the second has material 1 and texture 1. */
static void faces_of_old_files_name_their_texture(void **state)
{
	(void)state;
	static const char text[] =
		"; FBX 6.1.0 project file\nFBXHeaderExtension: {\n FBXVersion: 6100\n}\nObjects: {\n"
		" Model: \"Model::m\", \"Mesh\" {\n  Vertices: 0,0,0, 1,0,0, 1,1,0, 0,1,0\n"
		"  PolygonVertexIndex: 0,1,-3,0,2,-4\n"
		"  LayerElementMaterial: 0 {\n   MappingInformationType: \"ByPolygon\"\n"
		"   ReferenceInformationType: \"IndexToDirect\"\n   Materials: 0,1\n  }\n"
		"  LayerElementTexture: 0 {\n   MappingInformationType: \"ByPolygon\"\n"
		"   ReferenceInformationType: \"IndexToDirect\"\n   TextureId: 0,1\n  }\n"
		"  LayerElementEmissive_Textures: 0 {\n   MappingInformationType: \"ByPolygon\"\n"
		"   ReferenceInformationType: \"IndexToDirect\"\n   TextureId: 1,-1\n  }\n"
		"  LayerElementNormalMapTextures: 0 {\n   MappingInformationType: \"AllSame\"\n"
		"   ReferenceInformationType: \"IndexToDirect\"\n   TextureId: 0\n  }\n }\n"
		" Material: \"Material::a\", \"\" {\n }\n Material: \"Material::b\", \"\" {\n }\n"
		" Texture: \"Texture::x\", \"TextureVideoClip\" {\n  RelativeFilename: \"x.png\"\n }\n"
		" Texture: \"Texture::y\", \"TextureVideoClip\" {\n  RelativeFilename: \"y.png\"\n }\n}\n"
		"Connections: {\n Connect: \"OO\", \"Model::m\", \"Model::Scene\"\n"
		" Connect: \"OO\", \"Material::a\", \"Model::m\"\n Connect: \"OO\", \"Material::b\", \"Model::m\"\n"
		" Connect: \"OO\", \"Texture::x\", \"Model::m\"\n Connect: \"OO\", \"Texture::y\", \"Model::m\"\n}\n";
	reader *r = reader_new(&hob_fbx_importer);
	reader_add(r, "model.fbx", text);
	reader_run_failing(r, 0, 0);
	assert_true(r->ok);
	assert_int_equal(r->model.material_count, 2);
	for (uint32_t m = 0; m < 2; m++) {
		const hob_image *image = &r->model.images[r->model.materials[m].slots[HOB_SLOT_BASE_COLOR].image];
		assert_memory_equal(image->uri.data, m == 0 ? "x.png" : "y.png", 5);
		assert_int_equal(r->model.materials[m].slots[HOB_SLOT_NORMAL].image,
						 r->model.materials[0].slots[HOB_SLOT_BASE_COLOR].image);
	}
	assert_int_equal(r->model.materials[0].slots[HOB_SLOT_EMISSIVE].image,
					 r->model.materials[1].slots[HOB_SLOT_BASE_COLOR].image);
	assert_int_equal(r->model.materials[1].slots[HOB_SLOT_EMISSIVE].image, HOB_NONE);
	reader_free(r);
}

/* The picture is in a separate list and the texture in the model. */
static void files_before_6000_hold_pictures(void **state)
{
	(void)state;
	static const char text[] =
		"; FBX 5.8.0 project file\nFBXHeaderExtension: {\n FBXVersion: 5800\n}\nMedia: {\n Video: {\n"
		"  Video: \"wood\" {\n   Filename: \"C:\\wood.png\"\n   Content: \"AQID\"\n  }\n }\n}\n"
		"Model: \"Model::m\" {\n Material: \"Material::a\" {\n  Diffuse: 0.5,0.5,0.5\n }\n"
		" Texture: \"Texture::t\" {\n  Media: \"wood\"\n  FileName: \"C:\\wood.png\"\n }\n"
		" Vertices: 0,0,0, 1,0,0, 1,1,0\n PolygonVertexIndex: 0,1,-3\n}\n";
	reader *r = reader_new(&hob_fbx_importer);
	reader_add(r, "model.fbx", text);
	reader_run_failing(r, 0, 0);
	assert_true(r->ok);
	assert_int_equal(r->model.material_count, 1);
	uint32_t id = r->model.materials[0].slots[HOB_SLOT_BASE_COLOR].image;
	assert_int_equal(id, 0);
	assert_int_equal(r->model.images[id].bytes.size, 3);
	assert_memory_equal(r->model.images[id].bytes.data, "\1\2\3", 3);
	reader_free(r);
}

/* Two videos with one file name; the texture's own has no bytes. */
static void bytes_may_stand_in_another_video(void **state)
{
	(void)state;
	reader *r = read_material(
		"lambert", "",
		TEXTURE(5, "wood.png",
				"") " Video: 6, \"Video::a\", \"Clip\" {\n  RelativeFilename: \"wood.png\"\n }\n"
					" Video: 7, \"Video::b\", \"Clip\" {\n  RelativeFilename: \"wood.png\"\n"
					"  Content: , \"AQID\"\n }\n",
		" C: \"OP\",5,3, \"DiffuseColor\"\n C: \"OO\",6,5\n");
	assert_int_equal(r->model.images[0].bytes.size, 3);
	reader_free(r);
}

static void lights_and_cameras_have_properties_of_their_own(void **state)
{
	(void)state;
	reader *r = read_material(
		"lambert", "",
		" Model: 8, \"Model::lamp\", \"Light\" {\n }\n NodeAttribute: 9, \"NodeAttribute::\", \"Light\" {\n"
		"  Properties70: {\n   P: \"watts\", \"Number\", \"\", \"AU\",60\n  }\n }\n",
		" C: \"OO\",8,0\n C: \"OO\",9,8\n");
	assert_int_equal(r->model.light_count, 1);
	const hob_node *last = &r->model.nodes[r->model.node_count - 1];
	assert_int_equal(last->light, 0);
	assert_memory_equal(last->extras.values.data, "{\"watts\":60}", last->extras.values.len);
	assert_int_equal(last->extras.values.len, strlen("{\"watts\":60}"));
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shader_has_its_names),
		cmocka_unit_test(extensions_of_max_are_read),
		cmocka_unit_test(max_says_whether_it_holds_glossiness),
		cmocka_unit_test(parameters_of_max_count_before_its_osl),
		cmocka_unit_test(a_texture_takes_the_place_of_the_colour),
		cmocka_unit_test(a_texture_names_its_set_of_coordinates),
		cmocka_unit_test(a_texture_is_repeated_turned_and_moved),
		cmocka_unit_test(blender_files_mean_what_blender_shows),
		cmocka_unit_test(materials_may_hang_on_the_geometry),
		cmocka_unit_test(faces_of_old_files_name_their_texture),
		cmocka_unit_test(files_before_6000_hold_pictures),
		cmocka_unit_test(bytes_may_stand_in_another_video),
		cmocka_unit_test(lights_and_cameras_have_properties_of_their_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
