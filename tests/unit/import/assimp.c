/* The Assimp importer with small files: refusals, results, recorded dependencies, leaks. assimp_convert.c
 * tests the conversion of scenes with hand-made ones. */
#include "tests/unit/import/reader_fixture.h"

#include "core/import/assimp/assimp_format.h"

/* Some of Assimp's importers leak; irrelevant in the short-lived worker. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libassimp";
}

static const char off[] = "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";

static reader *assimp(const char *path, const char *text)
{
	reader *r = reader_new(&hob_assimp_importer);
	reader_add(r, path, text);
	return r;
}

static void a_file_becomes_a_model(void **state)
{
	(void)state;
	reader *r = assimp("props/thing.off", off);
	const hob_model *model = reader_model(r);
	assert_int_equal(model->mesh_count, 1);
	assert_int_equal(model_triangles(model), 1);
	assert_vector(model->meshes[0].position + 3, 1, 0, 0);
	assert_int_equal(model->scene_count, 1);
	assert_int_equal(model->nodes[0].mesh_count, 1);
	reader_free(r);
}

static bool holds(hob_str text, const char *word)
{
	return hob_str_find(text, hob_str_of(word), 0) != SIZE_MAX;
}

static void the_assets_own_name_leaks_nowhere(void **state)
{
	(void)state;
	/* OpenGEX names the root after the file, other formats name meshes so. */
	static const struct {
		const char *path, *text;
	} cases[] = {
		{"dir/secretstem.off", off},
		{"dir/secretstem.ogex", "Metric (key = \"distance\") {float {1}}\nGeometryNode $node1\n{\n"
								"Name {string {\"quad\"}}\nObjectRef {ref {$g}}\nTransform {float[16] "
								"{{1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}}}\n}\n"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = assimp(cases[i].path, cases[i].text);
		if (reader_run(r)) {
			for (uint32_t n = 0; n < r->model.node_count; n++) {
				assert_false(holds(r->model.nodes[n].name, "secretstem"));
				assert_false(holds(r->model.nodes[n].name, "hob source"));
			}
			for (uint32_t m = 0; m < r->model.mesh_count; m++)
				assert_false(holds(r->model.meshes[m].name, "secretstem"));
		}
		for (size_t line = 0; line < r->io.logged; line++)
			assert_null(strstr(r->io.log[line], "secretstem"));
		reader_free(r);
	}
}

/* ---- checks before Assimp */

static void every_extension_has_a_format_and_none_is_listed_twice(void **state)
{
	(void)state;
	for (size_t i = 0; hob_assimp_extensions[i]; i++) {
		hob_str extension = hob_str_of(hob_assimp_extensions[i]);
		const hob_assimp_format *format = hob_assimp_format_of(extension);
		assert_non_null(format);
		assert_string_equal(format->extension, hob_assimp_extensions[i]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(hob_assimp_extensions[k], hob_assimp_extensions[i]);
	}
	assert_null(hob_assimp_format_of(HOB_STR("xml")));
	assert_null(hob_assimp_format_of(HOB_STR("obj")));
	assert_null(hob_assimp_format_of(HOB_STR("fbx")));
	assert_non_null(hob_assimp_format_of(HOB_STR("LWO")));
}

static void a_wrong_extension_is_refused_before_assimp_sees_it(void **state)
{
	(void)state;
	static const char *const paths[] = {"a.dae",  "a.3ds", "a.blend", "a.md3",	  "a.mdl", "a.3mf",
										"a.ms3d", "a.x",   "a.lwo",	  "a.assbin", "a.b3d"};
	for (size_t i = 0; i < HOB_COUNT_OF(paths); i++) {
		reader *r = assimp(paths[i], "this is no model at all, only a line of text that goes on for a while");
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, HOB_ERR_CORRUPT);
		assert_int_equal(r->io.logged, 0);
		reader_free(r);
	}
}

static void messages_are_clean(void **state)
{
	(void)state;
	reader *r =
		assimp("dir/secretstem.dae", "<?xml version=\"1.0\"?><COLLADA version=\"1.4.1\"><broken \x01\x02");
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_CORRUPT);
	for (const char *p = r->error.context; *p; p++)
		assert_true(*p >= ' ' && *p <= '~');
	assert_null(strstr(r->error.context, "hob source"));
	assert_null(strstr(r->error.context, "secretstem"));
	reader_free(r);
}

static void files_of_nothing_are_empty(void **state)
{
	(void)state;
	reader *r = assimp(
		"none.dae", "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" "
					"version=\"1.4.1\"><asset/><library_visual_scenes><visual_scene id=\"s\"/>"
					"</library_visual_scenes><scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>");
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_EMPTY);
	reader_free(r);
}

/* ---- COLLADA: unit, axes, texture coordinates, materials, cameras, clips */

static const char dae_head[] =
	"<?xml version=\"1.0\" encoding=\"utf-8\"?><COLLADA "
	"xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\"><asset>";
static const char dae_body[] =
	"</asset><library_cameras><camera id=\"c\" name=\"cam\"><optics><technique_common><perspective><xfov>"
	"90</xfov><aspect_ratio>2</aspect_ratio><znear>10</znear><zfar>1000</zfar></perspective>"
	"</technique_common></optics></camera></library_cameras><library_images><image id=\"i\"><init_from>"
	"C:\\art\\wood.png</init_from></image></library_images><library_effects><effect id=\"e\">"
	"<profile_COMMON><newparam sid=\"sf\"><surface type=\"2D\"><init_from>i</init_from></surface>"
	"</newparam><newparam sid=\"sp\"><sampler2D><source>sf</source></sampler2D></newparam><technique "
	"sid=\"t\"><phong><diffuse><texture texture=\"sp\" texcoord=\"UV\"/></diffuse></phong></technique>"
	"</profile_COMMON></effect></library_effects><library_materials><material id=\"m\" name=\"wood\">"
	"<instance_effect url=\"#e\"/></material></library_materials><library_geometries><geometry id=\"g\" "
	"name=\"plate\"><mesh><source id=\"p\"><float_array id=\"pa\" count=\"9\">0 0 0 100 0 0 0 0 "
	"200</float_array><technique_common><accessor source=\"#pa\" count=\"3\" stride=\"3\"><param "
	"name=\"X\" type=\"float\"/><param name=\"Y\" type=\"float\"/><param name=\"Z\" type=\"float\"/>"
	"</accessor></technique_common></source><source id=\"u\"><float_array id=\"ua\" count=\"6\">0.25 "
	"0.75 1 0 0 1</float_array><technique_common><accessor source=\"#ua\" count=\"3\" stride=\"2\">"
	"<param name=\"S\" type=\"float\"/><param name=\"T\" type=\"float\"/></accessor></technique_common>"
	"</source><vertices id=\"v\"><input semantic=\"POSITION\" source=\"#p\"/></vertices><triangles "
	"count=\"1\" material=\"mm\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><input "
	"semantic=\"TEXCOORD\" source=\"#u\" offset=\"1\" set=\"0\"/><p>0 0 1 1 2 2</p></triangles></mesh>"
	"</geometry></library_geometries><library_animations><animation id=\"an\"><source id=\"ti\">"
	"<float_array id=\"tia\" count=\"2\">0.5 1.5</float_array><technique_common><accessor "
	"source=\"#tia\" count=\"2\" stride=\"1\"><param name=\"TIME\" type=\"float\"/></accessor>"
	"</technique_common></source><source id=\"tv\"><float_array id=\"tva\" count=\"6\">0 0 0 0 0 "
	"50</float_array><technique_common><accessor source=\"#tva\" count=\"2\" stride=\"3\"><param "
	"name=\"X\" type=\"float\"/><param name=\"Y\" type=\"float\"/><param name=\"Z\" type=\"float\"/>"
	"</accessor></technique_common></source><source id=\"tp\"><Name_array id=\"tpa\" count=\"2\">LINEAR "
	"LINEAR</Name_array><technique_common><accessor source=\"#tpa\" count=\"2\" stride=\"1\"><param "
	"name=\"INTERPOLATION\" type=\"name\"/></accessor></technique_common></source><sampler id=\"sm\">"
	"<input semantic=\"INPUT\" source=\"#ti\"/><input semantic=\"OUTPUT\" source=\"#tv\"/><input "
	"semantic=\"INTERPOLATION\" source=\"#tp\"/></sampler><channel source=\"#sm\" "
	"target=\"n/translate\"/></animation></library_animations><library_visual_scenes><visual_scene "
	"id=\"s\"><node id=\"n\" name=\"plate\"><translate sid=\"translate\">0 0 0</translate>"
	"<instance_geometry url=\"#g\"><bind_material><technique_common><instance_material symbol=\"mm\" "
	"target=\"#m\"/></technique_common></bind_material></instance_geometry></node><node id=\"k\" "
	"name=\"eye\"><translate>0 0 300</translate><instance_camera url=\"#c\"/></node></visual_scene>"
	"</library_visual_scenes><scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>";

static reader *dae(const char *asset)
{
	static char text[8192];
	snprintf(text, sizeof text, "%s%s%s", dae_head, asset, dae_body);
	reader *r = assimp("props/plate.dae", text);
	reader_add(r, "props/wood.png", "picture");
	return r;
}

static void world_of(const hob_model *model, uint32_t node, const float *point, float out[3])
{
	float world[16];
	hob_node_local_matrix(&model->nodes[node], world);
	for (uint32_t n = model->nodes[node].parent; n != HOB_NONE; n = model->nodes[n].parent) {
		float local[16];
		hob_node_local_matrix(&model->nodes[n], local);
		hob_matrix_multiply(local, world, world);
	}
	for (int i = 0; i < 3; i++)
		out[i] = world[i] * point[0] + world[4 + i] * point[1] + world[8 + i] * point[2] + world[12 + i];
}

static uint32_t node_named(const hob_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->node_count; i++)
		if (hob_str_equal(model->nodes[i].name, hob_str_of(name)))
			return i;
	fail_msg("no node '%s'", name);
	return 0;
}

static void lengths_are_metres_and_y_is_up(void **state)
{
	(void)state;
	reader *r = dae("<unit meter=\"0.01\" name=\"cm\"/><up_axis>Z_UP</up_axis>");
	const hob_model *model = reader_model(r);
	const hob_mesh *mesh = &model->meshes[0];
	/* The mesh data itself is in metres, not only scaled by the root. */
	assert_vector(mesh->position + 3, 1, 0, 0);
	float world[3];
	world_of(model, node_named(model, "n"), mesh->position + 6, world);
	assert_vector(world, 0, 2, 0);
	world_of(model, node_named(model, "k"), (const float[3]){0, 0, 0}, world);
	assert_vector(world, 0, 3, 0);
	for (uint32_t n = 0; n < model->node_count; n++)
		assert_vector(model->nodes[n].scale, 1, 1, 1);
	assert_near(model->cameras[0].znear, 0.1f);
	assert_near(model->cameras[0].zfar, 10);
	reader_free(r);
	r = dae("<unit meter=\"0.0254\"/><up_axis>Y_UP</up_axis>");
	model = reader_model(r);
	assert_vector(model->meshes[0].position + 6, 0, 0, 5.08f);
	world_of(model, node_named(model, "n"), model->meshes[0].position + 6, world);
	assert_vector(world, 0, 0, 5.08f);
	reader_free(r);
}

static void fields_of_view_are_vertical(void **state)
{
	(void)state;
	reader *r = dae("<unit meter=\"1\"/>");
	const hob_model *model = reader_model(r);
	assert_int_equal(model->camera_count, 1);
	assert_near(model->cameras[0].aspect_or_xmag, 2);
	/* 90 degrees wide and twice as wide as high: 2 atan(tan(45 degrees) / 2). */
	assert_near(model->cameras[0].yfov_or_ymag, 0.9272952f);
	assert_int_equal(model->nodes[node_named(model, "k")].camera, 0);
	reader_free(r);
}

static void texture_coordinates_begin_at_the_top(void **state)
{
	(void)state;
	reader *r = dae("");
	const hob_mesh *mesh = &reader_model(r)->meshes[0];
	assert_near(mesh->uv[0][0], 0.25f);
	assert_near(mesh->uv[0][1], 0.25f);
	reader_free(r);
}

static void textures_of_another_machine_are_found_beside_the_model(void **state)
{
	(void)state;
	reader *r = dae("");
	const hob_model *model = reader_model(r);
	assert_int_equal(model->material_count, 1);
	assert_name(model->materials[0].name, "wood");
	uint32_t image = model->materials[0].slots[HOB_SLOT_BASE_COLOR].image;
	assert_int_equal(image, 0);
	assert_name(model->images[0].path, "props/wood.png");
	/* A map replaces COLLADA's colour, which Assimp sets to grey. */
	assert_vector(model->materials[0].base_color, 1, 1, 1);
	assert_true(reader_noted(r, "texture.path-guessed"));
	reader_free(r);
}

static void clips_are_in_seconds_and_metres(void **state)
{
	(void)state;
	reader *r = dae("<unit meter=\"0.01\"/>");
	const hob_model *model = reader_model(r);
	assert_int_equal(model->clip_count, 1);
	const hob_clip *clip = &model->clips[0];
	/* Keys that only repeat the rest pose are dropped. */
	assert_int_equal(clip->channel_count, 1);
	assert_int_equal(clip->channels[0].path, HOB_PATH_TRANSLATION);
	assert_int_equal(clip->channels[0].node, node_named(model, "n"));
	const hob_track *track = &clip->tracks[0];
	assert_near(track->times[0], 0.5f);
	assert_near(track->times[track->key_count - 1], 1.5f);
	assert_vector(track->values + (size_t)(track->key_count - 1) * 3, 0, 0, 0.5f);
	reader_free(r);
}

static void text_in_utf16_is_read(void **state)
{
	(void)state;
	hob_buf wide = {0};
	hob_buf_put(&wide, "\xFF\xFE", 2);
	for (const char *p = off; *p; p++)
		hob_buf_put(&wide, (const char[2]){*p, 0}, 2);
	reader *r = reader_new(&hob_assimp_importer);
	reader_add_bytes(r, "wide.off", wide.data, wide.size);
	assert_int_equal(model_triangles(reader_model(r)), 1);
	reader_free(r);
	hob_buf_release(&wide);
}

/* ---- companions */

static const char md5mesh[] =
	"MD5Version 10\ncommandline \"\"\nnumJoints 1\nnumMeshes 1\n\njoints {\n\"origin\" -1 ( 0 0 0 ) ( 0 0 0 "
	") // \n}\n\n"
	"mesh {\nshader \"s\"\nnumverts 3\nvert 0 ( 0 0 ) 0 1\nvert 1 ( 1 0 ) 1 1\nvert 2 ( 0 1 ) 2 1\nnumtris "
	"1\n"
	"tri 0 0 1 2\nnumweights 3\nweight 0 0 1 ( 0 0 0 )\nweight 1 0 1 ( 1 0 0 )\nweight 2 0 1 ( 0 1 0 )\n}\n";

static void companions_are_looked_for_and_recorded(void **state)
{
	(void)state;
	reader *r = assimp("units/imp.md5mesh", md5mesh);
	const hob_model *model = reader_model(r);
	assert_int_equal(model->skin_count, 1);
	assert_int_equal(model->meshes[0].influence_count, 4);
	/* The lookup of the animation file is a dependency: it may appear later. */
	assert_true(memory_io_logged(&r->io, "?units/imp.md5anim") ||
				memory_io_logged(&r->io, "?units/imp.MD5ANIM"));
	reader_free(r);
}

static void files_outside_of_the_root_are_refused(void **state)
{
	(void)state;
	static const char *const paths[] = {"../../outside.lwo", "/etc/passwd", "C:\\outside.lwo"};
	for (size_t i = 0; i < HOB_COUNT_OF(paths); i++) {
		char text[512];
		snprintf(text, sizeof text,
				 "LWSC\n3\n\nFirstFrame 0\nLastFrame 1\n\nLoadObjectLayer 1 %s\nShowObject 8 8\n", paths[i]);
		reader *r = assimp("top.lws", text);
		reader_run(r);
		for (size_t line = 0; line < r->io.logged; line++) {
			assert_null(strstr(r->io.log[line], ".."));
			assert_true(r->io.log[line][0] != '/');
		}
		if (i == 0)
			assert_true(reader_noted(r, "assimp.file-refused"));
		reader_free(r);
	}
}

/* ---- damage that Assimp survives in-process: truncated text, and lack of memory */

static void cut_text_is_refused_or_obeys_the_rules(void **state)
{
	(void)state;
	reader *r = assimp("a.off", off);
	hob_bytes whole = r->files[0].bytes;
	for (size_t size = 0; size < whole.size; size++) {
		r->files[0].bytes = (hob_bytes){whole.data, size};
		reader_run(r);
	}
	reader_free(r);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	reader *r = dae("<unit meter=\"0.01\"/><up_axis>Z_UP</up_axis>");
	reader_starve(r);
	reader_free(r);
	r = assimp("units/imp.md5mesh", md5mesh);
	reader_starve(r);
	reader_free(r);
}

static void the_library_says_its_version(void **state)
{
	(void)state;
	const char *version = hob_assimp_importer.library_version();
	assert_true(strncmp(version, "assimp ", 7) == 0 && strlen(version) > 9);
	assert_string_equal(version, hob_assimp_importer.library_version());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_becomes_a_model),
		cmocka_unit_test(the_assets_own_name_leaks_nowhere),
		cmocka_unit_test(every_extension_has_a_format_and_none_is_listed_twice),
		cmocka_unit_test(a_wrong_extension_is_refused_before_assimp_sees_it),
		cmocka_unit_test(messages_are_clean),
		cmocka_unit_test(files_of_nothing_are_empty),
		cmocka_unit_test(lengths_are_metres_and_y_is_up),
		cmocka_unit_test(fields_of_view_are_vertical),
		cmocka_unit_test(texture_coordinates_begin_at_the_top),
		cmocka_unit_test(textures_of_another_machine_are_found_beside_the_model),
		cmocka_unit_test(clips_are_in_seconds_and_metres),
		cmocka_unit_test(text_in_utf16_is_read),
		cmocka_unit_test(companions_are_looked_for_and_recorded),
		cmocka_unit_test(files_outside_of_the_root_are_refused),
		cmocka_unit_test(cut_text_is_refused_or_obeys_the_rules),
		cmocka_unit_test(every_allocation_may_fail),
		cmocka_unit_test(the_library_says_its_version),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
