/* The 3MF reader, with small hand-made packages. */
#include "tests/unit/import/zip_fixture.h"

/* clang-format off */
#define RELATIONS \
	"<Relationships><Relationship Target='/3D/main.model' " \
	"Type='http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel'/></Relationships>"
#define MODEL(resources, build) \
	"<model unit='meter' xmlns='http://schemas.microsoft.com/3dmanufacturing/core/2015/02' " \
	"xmlns:m='http://schemas.microsoft.com/3dmanufacturing/material/2015/02' " \
	"xmlns:p='http://schemas.microsoft.com/3dmanufacturing/production/2015/06'>" \
	"<resources>" resources "</resources><build>" build "</build></model>"
#define OBJECT(more, triangles) \
	"<object id='1' name='plate' " more "><mesh><vertices>" \
	"<vertex x='0' y='0' z='0'/><vertex x='1' y='0' z='0'/>" \
	"<vertex x='1' y='1' z='0'/><vertex x='0' y='1' z='0'/></vertices>" \
	"<triangles>" triangles "</triangles></mesh></object>"
#define ITEM "<item objectid='1'/>"
/* clang-format on */

static reader *pack(const char *main_part, const char *other, bool deflate, hob_buf *zip)
{
	const member members[] = {{"_rels/.rels", RELATIONS},
							  {"3D/main.model", main_part},
							  {"3D/Objects/o.model", other},
							  {"3D/Textures/t.png", "no picture"}};
	*zip = make_zip(members, 4, deflate);
	reader *r = reader_new(&hob_threemf_importer);
	reader_add_bytes(r, "part.3mf", zip->data, zip->size);
	return r;
}

static reader *package(const char *main_part, const char *other, hob_buf *zip)
{
	return pack(main_part, other, true, zip);
}

static void done(reader *r, hob_buf *zip)
{
	reader_free(r);
	hob_buf_release(zip);
}

static void objects_of_other_parts_are_built(void **state)
{
	(void)state;
	hob_buf zip;
	reader *r = package(
		MODEL("<object id='9'><components><component p:path='/3D/Objects/o.model' objectid='1' transform='1 "
			  "0 0 0 1 0 0 0 1 5 6 7'/>"
			  "<component p:path='/3D/Objects/o.model' objectid='1'/></components></object>",
			  "<item objectid='9' transform='0 1 0 -1 0 0 0 0 1 0 0 2'/>"),
		MODEL(OBJECT("", "<triangle v1='0' v2='1' v3='2'/><triangle v1='0' v2='2' v3='3'/>"), ""), &zip);
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 1);
	assert_int_equal(model_triangles(m), 2);
	assert_int_equal(m->mesh_ref_count, 2);
	assert_int_equal(m->node_count, 4);
	assert_name(m->nodes[2].name, "plate");
	assert_vector(m->nodes[2].translation, 5, 6, 7);
	float item[16];
	hob_node_local_matrix(&m->nodes[1], item);
	assert_vector(item, 0, 1, 0);
	assert_vector(item + 12, 0, 0, 2);
	done(r, &zip);
}

static void base_materials_cut_an_object(void **state)
{
	(void)state;
	hob_buf zip;
	reader *r =
		package(MODEL("<basematerials id='5'><base name='red' displaycolor='#FF0000'/><base name='glass' "
					  "displaycolor='#00FF0080'/></basematerials>" OBJECT(
						  "pid='5' pindex='0'",
						  "<triangle v1='0' v2='1' v3='2'/><triangle v1='0' v2='2' v3='3' pid='5' p1='1'/>"),
					  ITEM),
				"", &zip);
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 2);
	assert_int_equal(m->material_count, 2);
	assert_name(m->materials[0].name, "red");
	assert_vector(m->materials[0].base_color, 1, 0, 0);
	assert_int_equal(m->materials[1].alpha_mode, HOB_ALPHA_BLEND);
	assert_near(m->materials[1].base_color[3], 128.0f / 255);
	assert_int_equal(m->meshes[1].material, 1);
	done(r, &zip);
}

static void colours_and_textures_reach_the_corners(void **state)
{
	(void)state;
	hob_buf zip;
	reader *r = package(
		MODEL("<m:colorgroup id='5'><m:color color='#FF0000'/><m:color color='#80808080'/></m:colorgroup>"
			  "<m:texture2d id='6' path='/3D/Textures/t.png' contenttype='image/png' tilestyleu='clamp'/>"
			  "<m:texture2dgroup id='7' texid='6'><m:tex2coord u='0' v='0'/><m:tex2coord u='1' "
			  "v='0.25'/></m:texture2dgroup>" OBJECT(
				  "", "<triangle v1='0' v2='1' v3='2' pid='5' p1='0' p2='1' p3='1'/><triangle v1='0' v2='2' "
					  "v3='3' pid='7' p1='0' p2='1' p3='1'/>"),
			  ITEM),
		"", &zip);
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 2);
	assert_vector(m->meshes[0].color[0], 1, 0, 0);
	assert_near(m->meshes[0].color[0][4], 0.21586052f);
	assert_near(m->meshes[0].color[0][7], 128.0f / 255);
	assert_int_equal(m->materials[m->meshes[0].material].alpha_mode, HOB_ALPHA_BLEND);
	assert_near(m->meshes[1].uv[0][3], 0.75f);
	const hob_texture_ref *ref = &m->materials[m->meshes[1].material].slots[HOB_SLOT_BASE_COLOR];
	assert_int_equal(m->images[ref->image].bytes.size, 10);
	assert_int_equal(m->samplers[ref->sampler].wrap_u, HOB_WRAP_CLAMP);
	done(r, &zip);
}

static void metals_are_metals(void **state)
{
	(void)state;
	hob_buf zip;
	reader *r = package(
		MODEL("<m:pbmetallicdisplayproperties id='4'><m:pbmetallic name='a' metallicness='0'/><m:pbmetallic "
			  "name='b' metallicness='0.75' roughness='0.25'/></m:pbmetallicdisplayproperties>"
			  "<basematerials id='5' displaypropertiesid='4'><base name='a' displaycolor='#FF0000'/><base "
			  "name='b' displaycolor='#00FF00'/></basematerials>" OBJECT(
				  "pid='5' pindex='0'",
				  "<triangle v1='0' v2='1' v3='2'/><triangle v1='0' v2='2' v3='3' pid='5' p1='1'/>"),
			  ITEM),
		"", &zip);
	const hob_model *m = reader_model(r);
	assert_near(m->materials[0].metallic, 0);
	assert_near(m->materials[0].roughness, 1);
	assert_near(m->materials[1].metallic, 0.75f);
	assert_near(m->materials[1].roughness, 0.25f);
	assert_false(reader_noted(r, "3mf.display"));
	done(r, &zip);
	r = package(
		MODEL("<m:translucentdisplayproperties id='4'><m:translucent/></m:translucentdisplayproperties>"
			  "<basematerials id='5' displaypropertiesid='4'><base name='a' "
			  "displaycolor='#FF0000'/></basematerials>" OBJECT("pid='5' pindex='0'",
																"<triangle v1='0' v2='1' v3='2'/>"),
			  ITEM),
		"", &zip);
	reader_model(r);
	assert_true(reader_noted(r, "3mf.display"));
	done(r, &zip);
}

static void of_layers_the_last_is_shown(void **state)
{
	(void)state;
	hob_buf zip;
	reader *r = package(
		MODEL(
			"<basematerials id='5'><base name='a' displaycolor='#000000'/></basematerials><m:colorgroup "
			"id='6'><m:color color='#FF0000'/><m:color color='#00FF00'/></m:colorgroup><m:multiproperties "
			"id='7' pids='5 6'><m:multi pindices='0 1'/><m:multi pindices='0 0'/></m:multiproperties>" OBJECT(
				"", "<triangle v1='0' v2='1' v3='2' pid='7' p1='0' p2='1' p3='0'/>"),
			ITEM),
		"", &zip);
	const hob_mesh *mesh = &reader_model(r)->meshes[0];
	assert_vector(mesh->color[0], 0, 1, 0);
	assert_vector(mesh->color[0] + 4, 1, 0, 0);
	assert_true(reader_noted(r, "3mf.layers"));
	done(r, &zip);
}

static void shapes_that_are_no_triangles_are_told(void **state)
{
	(void)state;
	static const char *const resources[] = {
		OBJECT("", "<triangle v1='0' v2='1' v3='2'/>") "<object id='2'><v:levelset/></object>",
		"<object id='1'><d:displacementmesh><vertices><vertex x='0' y='0' z='0'/><vertex x='1' y='0' z='0'/>"
		"<vertex x='1' y='1' z='0'/></vertices><triangles><triangle v1='0' v2='1' v3='2'/></triangles>"
		"</d:displacementmesh></object>",
		OBJECT("", "<triangle v1='0' v2='1' v3='2'/>"),
	};
	for (size_t i = 0; i < HOB_COUNT_OF(resources); i++) {
		char text[2048];
		hob_buf zip;
		snprintf(text, sizeof text,
				 "<model xmlns:d='http://schemas.3mf.io/3dmanufacturing/displacement/2023/10' "
				 "xmlns:v='http://schemas.3mf.io/3dmanufacturing/volumetric/2022/01' requiredextensions='%s'>"
				 "<resources>%s</resources><build><item objectid='1'/>%s</build></model>",
				 i == 2 ? "v" : "", resources[i], i == 0 ? "<item objectid='2'/>" : "");
		reader *r = package(text, "", &zip);
		assert_int_equal(model_triangles(reader_model(r)), 1);
		assert_true(reader_noted(r, "3mf.extension"));
		done(r, &zip);
	}
}

static void names_of_parts_are_uris(void **state)
{
	(void)state;
	hob_buf zip;
	const char *model = MODEL(OBJECT("", "<triangle v1='0' v2='1' v3='2'/>"), ITEM);
	const member members[] = {
		{"_rels/.rels",
		 "<Relationships><Relationship Target='/3D/my%20part.model' "
		 "Type='http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel'/></Relationships>"},
		{"3D/my part.model", model}};
	zip = make_zip(members, 2, true);
	reader *r = reader_new(&hob_threemf_importer);
	reader_add_bytes(r, "part.3mf", zip.data, zip.size);
	assert_int_equal(model_triangles(reader_model(r)), 1);
	done(r, &zip);
}

/* Modifier and support volumes, as written by Bambu Studio and PrusaSlicer, are not geometry. */
static void helpers_of_slicers_are_no_shape(void **state)
{
	(void)state;
	static const char *const pieces = OBJECT("", "<triangle v1='0' v2='1' v3='2'/>");
	char other[2048];
	snprintf(
		other, sizeof other, "<model unit='meter'><resources>%s%s</resources></model>", pieces,
		"<object id='2'><mesh><vertices><vertex x='0' y='0' z='0'/><vertex x='1' y='0' z='0'/><vertex x='1' "
		"y='1' z='0'/></vertices><triangles><triangle v1='0' v2='1' v3='2'/></triangles></mesh></object>");
	const member members[] = {
		{"_rels/.rels", RELATIONS},
		{"3D/main.model",
		 MODEL("<object id='3'><components><component p:path='/3D/Objects/o.model' objectid='1'/>"
			   "<component p:path='/3D/Objects/o.model' objectid='2'/></components></object><object "
			   "id='4'><mesh><vertices><vertex x='0' y='0' z='0'/><vertex x='1' y='0' z='0'/><vertex "
			   "x='1' y='1' z='0'/></vertices><triangles><triangle v1='0' v2='1' v3='2'/><triangle "
			   "v1='0' v2='2' v3='1'/><triangle v1='1' v2='2' v3='0'/></triangles></mesh></object>",
			   "<item objectid='3'/><item objectid='4'/>")},
		{"3D/Objects/o.model", other},
		{"Metadata/model_settings.config",
		 "<config><object id='3'><metadata key='name' value='boat'/><metadata key='extruder' value='2'/>"
		 "<part id='1' subtype='normal_part'><metadata key='name' value='hull'/></part><part id='2' "
		 "subtype='modifier_part'/></object></config>"},
		{"Metadata/project_settings.config",
		 "{\"default_filament_colour\": [\"\"], \"filament_colour\": [\n\"#FF0000\",\n\"#00ff0080\"],"
		 "\"filament_colour_type\": [\"#0000FF\"]}"},
		{"Metadata/Slic3r_PE_model.config",
		 "<config><object id='4'><metadata type='object' key='name' value='box'/><volume firstid='0' "
		 "lastid='1'><metadata type='volume' key='volume_type' value='ModelPart'/></volume><volume "
		 "firstid='2' "
		 "lastid='4000000000'><metadata type='volume' key='modifier' value='1'/></volume></object></config>"},
	};
	hob_buf zip = make_zip(members, HOB_COUNT_OF(members), true);
	reader *r = reader_new(&hob_threemf_importer);
	reader_add_bytes(r, "part.3mf", zip.data, zip.size);
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 2);
	assert_int_equal(model_triangles(m), 3);
	assert_int_equal(m->node_count, 4);
	assert_name(m->nodes[1].name, "boat");
	assert_name(m->nodes[2].name, "plate");
	assert_name(m->nodes[3].name, "box");
	assert_true(reader_noted(r, "3mf.helpers"));
	/* Filament colours: the second for the part assigned to it, otherwise the first. */
	assert_int_equal(m->material_count, 2);
	assert_vector(m->materials[m->meshes[0].material].base_color, 0, 1, 0);
	assert_near(m->materials[m->meshes[0].material].base_color[3], 128 / 255.0f);
	assert_vector(m->materials[m->meshes[1].material].base_color, 1, 0, 0);
	assert_name(m->materials[m->meshes[1].material].name, "Filament 1");
	done(r, &zip);
}

/* Likewise Cura's metadata, as written by its library Savitar. */
static void helpers_of_cura_are_no_shape(void **state)
{
	(void)state;
	static const struct {
		const char *metadata;
		uint32_t meshes;
	} cases[] = {
		{"<metadata name='cura:anti_overhang_mesh'>True</metadata>", 1},
		{"<metadata name='cura:support_mesh'>False</metadata><metadata "
		 "name='cura:infill_mesh'>True</metadata>",
		 1},
		{"<metadata name='cura:support_mesh'>False</metadata>", 2},
		{"<metadata name='cura:wall_line_count'>True</metadata>", 2},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[2048];
		hob_buf zip;
		snprintf(
			text, sizeof text,
			MODEL(OBJECT("", "<triangle v1='0' v2='1' v3='2'/>") "<object id='2' name='blocker'>"
																 "<metadatagroup>%s</metadatagroup><mesh>"
																 "<vertices><vertex x='0' y='0' z='0'/>"
																 "<vertex x='1' y='0' z='0'/><vertex x='1' "
																 "y='1' z='0'/></vertices><triangles>"
																 "<triangle v1='0' v2='1' v3='2'/>"
																 "</triangles></mesh></object>",
				  ITEM "<item objectid='2'/>"),
			cases[i].metadata);
		reader *r = package(text, "", &zip);
		assert_int_equal(reader_model(r)->mesh_count, cases[i].meshes);
		assert_int_equal(reader_noted(r, "3mf.helpers"), cases[i].meshes == 1);
		done(r, &zip);
	}
}

static void what_would_run_away_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		hob_err_code code;
	} cases[] = {
		{MODEL("<object id='1'><components><component objectid='1'/></components></object>", ITEM),
		 HOB_ERR_LIMIT},
		{MODEL(OBJECT("", "<triangle v1='0' v2='1' v3='2'/>"), ""), HOB_ERR_EMPTY},
		{MODEL(OBJECT("", "<triangle v1='0' v2='1' v3='9'/>"), ITEM), HOB_ERR_EMPTY},
		{MODEL("<object id='1'><components><component p:path='../../etc/passwd' "
			   "objectid='1'/></components></object>",
			   ITEM),
		 HOB_ERR_CORRUPT},
		{"<!DOCTYPE m [<!ENTITY a 'b'>]><model/>", HOB_ERR_UNSUPPORTED},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_buf zip;
		reader *r = package(cases[i].text, "", &zip);
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, cases[i].code);
		assert_int_equal(r->io.logged, 0);
		done(r, &zip);
	}
}

static void damage_and_want_are_survived(void **state)
{
	(void)state;
	hob_buf zip;
	reader *r = pack(MODEL("<colorgroup id='5'><color color='#FF0000'/></colorgroup>" OBJECT(
							   "pid='5' pindex='0'", "<triangle v1='0' v2='1' v3='2'/>"),
						   ITEM),
					 "", false, &zip);
	reader_damage(r, 7);
	reader_starve(r);
	done(r, &zip);
}

static void lengths_of_3mf_are_metres(void **state)
{
	(void)state;
	static const struct {
		const char *attribute;
		float x;
	} cases[] = {{"", 0.1f},
				 {" unit=\"millimeter\"", 0.1f},
				 {" unit=\"inch\"", 2.54f},
				 {" unit=\"meter\"", 100},
				 {" unit=\"centimeter\"", 1},
				 {" unit=\"foot\"", 30.48f},
				 {" unit=\"micron\"", 1e-4f}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char model[1024];
		snprintf(
			model, sizeof model,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<model%s "
			"xmlns=\"http://schemas.microsoft.com/3dmanufacturing/core/2015/02\"><resources><object id=\"1\" "
			"type=\"model\"><mesh><vertices><vertex x=\"0\" y=\"0\" z=\"0\"/><vertex x=\"100\" y=\"0\" "
			"z=\"0\"/><vertex x=\"0\" y=\"100\" z=\"0\"/></vertices><triangles><triangle v1=\"0\" v2=\"1\" "
			"v3=\"2\"/></triangles></mesh></object></resources><build><item objectid=\"1\"/></build></model>",
			cases[i].attribute);
		const member members[] = {
			{"[Content_Types].xml", "<?xml version=\"1.0\"?><Types/>"},
			{"_rels/.rels",
			 "<?xml version=\"1.0\"?><Relationships "
			 "xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship "
			 "Target=\"/3D/3dmodel.model\" Id=\"r\" "
			 "Type=\"http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel\"/></Relationships>"},
			{"3D/3dmodel.model", model},
		};
		hob_buf zip = make_zip(members, 3, i % 2);
		reader *r = reader_new(&hob_threemf_importer);
		reader_add_bytes(r, "part.3mf", zip.data, zip.size);
		const hob_model *out = reader_model(r);
		assert_near(out->meshes[0].position[3], cases[i].x);
		/* 3MF is Z-up: without the rotation of the root the model would lie on its side. */
		float root[16];
		hob_node_local_matrix(&out->nodes[0], root);
		assert_vector(root + 8, 0, 1, 0);
		reader_free(r);
		hob_buf_release(&zip);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_of_other_parts_are_built),
		cmocka_unit_test(base_materials_cut_an_object),
		cmocka_unit_test(colours_and_textures_reach_the_corners),
		cmocka_unit_test(metals_are_metals),
		cmocka_unit_test(of_layers_the_last_is_shown),
		cmocka_unit_test(shapes_that_are_no_triangles_are_told),
		cmocka_unit_test(names_of_parts_are_uris),
		cmocka_unit_test(helpers_of_slicers_are_no_shape),
		cmocka_unit_test(helpers_of_cura_are_no_shape),
		cmocka_unit_test(what_would_run_away_is_refused),
		cmocka_unit_test(damage_and_want_are_survived),
		cmocka_unit_test(lengths_of_3mf_are_metres),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
