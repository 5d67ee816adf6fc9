/* up_axis, unit and colors for formats that state them and for formats that do not. */
#include "tests/unit/import/reader_fixture.h"

static const char obj[] =
	"mtllib m.mtl\nusemtl grey\nv 0 0 0 0.5 0.5 0.5\nv 1 0 0 0.5 0.5 0.5\nv 0 2 3 0.5 0.5 0.5\nf 1 2 3\n";
static const char mtl[] = "newmtl grey\nKd 0.5 0.5 0.5\n";
static const char stl[] =
	"solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 2 3\nendloop\nendfacet\n"
	"endsolid s\n";
static const char ply[] =
	"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
	"element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 2 3\n3 0 1 2\n";
static const char dae[] =
	"<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" "
	"version=\"1.4.1\"><asset>"
	"<unit meter=\"0.01\" name=\"centimeter\"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry "
	"id=\"g\"><mesh>"
	"<source id=\"p\"><float_array id=\"a\" count=\"9\">0 0 0 1 0 0 0 2 "
	"3</float_array><technique_common><accessor "
	"source=\"#a\" count=\"3\" stride=\"3\"><param name=\"X\" type=\"float\"/><param name=\"Y\" "
	"type=\"float\"/><param name=\"Z\" "
	"type=\"float\"/></accessor></technique_common></source><vertices id=\"v\"><input semantic=\"POSITION\" "
	"source=\"#p\"/>"
	"</vertices><triangles count=\"1\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><p>0 1 "
	"2</p></triangles></mesh>"
	"</geometry></library_geometries><library_visual_scenes><visual_scene id=\"s\"><node "
	"id=\"n\"><instance_geometry "
	"url=\"#g\"/></node></visual_scene></library_visual_scenes><scene><instance_visual_scene "
	"url=\"#s\"/></scene></COLLADA>";

/* Some of Assimp's importers leak. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libassimp";
}

static reader *import(const char *name, const char *text, const hob_space_override *space)
{
	reader *r = reader_new(NULL);
	reader_add(r, name, text);
	reader_add(r, "m.mtl", mtl);
	reader_add(r, "one.obj", obj);
	hob_arena_init(&r->result, (size_t)64 << 20);
	hob_arena_init(&r->scratch, (size_t)64 << 20);
	r->notes.arena = &r->result;
	memory_io_init(&r->io, r->files, r->file_count);
	hob_import_request request = {.io = &r->io.io,
								  .path = hob_str_of(name),
								  .file = r->files[0].bytes,
								  .result = &r->result,
								  .scratch = &r->scratch,
								  .notes = &r->notes,
								  .space = space};
	if (!hob_import(&request, &r->importer, &r->model, &r->error))
		fail_msg("%s: %s", name, r->error.context);
	if (!hob_model_check(&r->model, &r->error))
		fail_msg("%s: %s", name, r->error.context);
	return r;
}

/* World positions of the third vertex of every mesh of every node. */
static void third_vertex(const hob_model *m, float out[3])
{
	float world[16];
	for (uint32_t n = 0; n < m->node_count; n++) {
		if (m->nodes[n].mesh_count == 0)
			continue;
		const float *p = m->meshes[m->mesh_refs[m->nodes[n].mesh_first]].position + 6;
		hob_node_local_matrix(&m->nodes[n], world);
		for (uint32_t up = m->nodes[n].parent; up != HOB_NONE; up = m->nodes[up].parent) {
			float above[16];
			hob_node_local_matrix(&m->nodes[up], above);
			hob_matrix_multiply(above, world, world);
		}
		for (int i = 0; i < 3; i++)
			out[i] = world[i] * p[0] + world[4 + i] * p[1] + world[8 + i] * p[2] + world[12 + i];
		return;
	}
	fail();
}

static void expect(const char *name, const char *text, const hob_space_override *space, float x, float y,
				   float z)
{
	reader *r = import(name, text, space);
	const float wanted[3] = {x, y, z};
	float got[3];
	third_vertex(&r->model, got);
	for (int i = 0; i < 3; i++)
		if (fabsf(got[i] - wanted[i]) > 1e-5f * (fabsf(x) + fabsf(y) + fabsf(z)))
			fail_msg("%s: %g %g %g, want %g %g %g", name, (double)got[0], (double)got[1], (double)got[2],
					 (double)x, (double)y, (double)z);
	reader_free(r);
}

static void formats_that_say_nothing_are_turned_and_scaled(void **state)
{
	(void)state;
	static const char *const names[] = {"a.obj", "a.stl", "a.ply"}, *const texts[] = {obj, stl, ply};
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++) {
		expect(names[i], texts[i], NULL, 0, 2, 3);
		expect(names[i], texts[i], &(hob_space_override){.up_axis = HOB_UP_Y}, 0, 2, 3);
		expect(names[i], texts[i], &(hob_space_override){.up_axis = HOB_UP_Z}, 0, 3, -2);
		expect(names[i], texts[i], &(hob_space_override){.up_axis = HOB_UP_X}, -2, 0, 3);
		expect(names[i], texts[i], &(hob_space_override){.unit = 0.001f}, 0, 0.002f, 0.003f);
		expect(names[i], texts[i], &(hob_space_override){.up_axis = HOB_UP_Z, .unit = 0.0254f}, 0, 0.0762f,
			   -0.0508f);
	}
}

static void what_the_file_says_is_replaced(void **state)
{
	(void)state;
	expect("a.dae", dae, NULL, 0, 0.03f, -0.02f);
	expect("a.dae", dae, &(hob_space_override){.up_axis = HOB_UP_Z}, 0, 0.03f, -0.02f);
	expect("a.dae", dae, &(hob_space_override){.up_axis = HOB_UP_Y}, 0, 0.02f, 0.03f);
	expect("a.dae", dae, &(hob_space_override){.unit = 1}, 0, 3, -2);
	expect("a.dae", dae, &(hob_space_override){.up_axis = HOB_UP_X, .unit = 0.1f}, -0.2f, 0, 0.3f);
}

static void parts_of_a_merge_are_treated_once(void **state)
{
	(void)state;
	expect("all.merge", "{\"scenes\":[\"one.obj\"]}",
		   &(hob_space_override){.up_axis = HOB_UP_Z, .unit = 0.1f}, 0, 0.3f, -0.2f);
}

static void colors_are_read_as_told(void **state)
{
	(void)state;
	static const struct {
		hob_color_space colors;
		float material, vertex;
	} cases[] = {{HOB_COLORS_STATED, 0.5f, 0.21404f},
				 {HOB_COLORS_LINEAR, 0.5f, 0.5f},
				 {HOB_COLORS_SRGB, 0.21404f, 0.21404f}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = import("a.obj", obj, &(hob_space_override){.colors = cases[i].colors});
		assert_float_equal(r->model.materials[0].base_color[1], cases[i].material, 1e-5f);
		assert_float_equal(r->model.materials[0].base_color[3], 1, 0);
		assert_float_equal(r->model.meshes[0].color[0][4], cases[i].vertex, 1e-5f);
		assert_float_equal(r->model.meshes[0].color[0][3], 1, 0);
		reader_free(r);
	}
}

/* A root and a child share one track: the root's is rotated, the child's is not. */
static void animations_of_roots_turn_with_them(void **state)
{
	(void)state;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	float times[2] = {0, 1}, moves[6] = {0, 0, 0, 0, 2, 3}, spins[4] = {1, 0, 0, 0};
	hob_track tracks[2] = {{HOB_LINEAR, 3, 2, times, moves}, {HOB_LINEAR, 4, 1, times, spins}};
	hob_channel channels[3] = {
		{0, HOB_PATH_TRANSLATION, 0}, {1, HOB_PATH_TRANSLATION, 0}, {0, HOB_PATH_ROTATION, 1}};
	hob_clip clip = {
		.name = HOB_STR("c"), .channel_count = 3, .track_count = 2, .channels = channels, .tracks = tracks};
	hob_node nodes[2] = {{.parent = HOB_NONE, .rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}},
						 {.parent = 0, .rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}}};
	hob_model m = {.node_count = 2, .nodes = nodes, .clip_count = 1, .clips = &clip};
	hob_error err;
	assert_true(hob_model_override_space(&m, &(hob_space_override){.up_axis = HOB_UP_Z}, &arena, &err));
	const float *root = clip.tracks[clip.channels[0].track].values + 3;
	const float *child = clip.tracks[clip.channels[1].track].values + 3;
	const float *spin = clip.tracks[clip.channels[2].track].values;
	assert_true(root[1] == 3 && root[2] == -2 && child[1] == 2 && child[2] == 3);
	/* Half a turn around X after a quarter back: a quarter around X. */
	assert_float_equal(spin[0], 0.70710678f, 1e-6f);
	assert_float_equal(spin[3], 0.70710678f, 1e-6f);
	assert_true(moves[4] == 2 && spins[0] == 1);
	hob_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_that_say_nothing_are_turned_and_scaled),
		cmocka_unit_test(what_the_file_says_is_replaced),
		cmocka_unit_test(parts_of_a_merge_are_treated_once),
		cmocka_unit_test(colors_are_read_as_told),
		cmocka_unit_test(animations_of_roots_turn_with_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
