/* extras and unknown extensions are kept verbatim. */
#include "tests/unit/import/gltf_fixture.h"

#include "core/base/limits.h"

static void assert_json(hob_str got, const char *wanted)
{
	char text[512];
	size_t length = strlen(wanted);
	assert_true(length < sizeof text);
	for (size_t i = 0; i <= length; i++)
		text[i] = wanted[i] == '\'' ? '"' : wanted[i];
	if (!hob_str_equal(got, hob_str_of(text)))
		fail_msg("got %.*s, want %s", HOB_FMT(got), text);
}

static void they_are_kept_where_they_stand(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(
		f, "'extensionsUsed':['KHR_lights_punctual','MY_tag'],"
		   "'extensions':{'KHR_lights_punctual':{'lights':[{'type':'point'}]},'MY_tag':{'list':[1, 2.5,"
		   "-3e-9]}},'extras':7,'scenes':[{'nodes':[0],'extras':{'unit':'m'}}],'nodes':[{'extras':{ "
		   "'health' : 10, 'tags':['a','\\u00e9',null,true,[],{}] },"
		   "'extensions':{'KHR_lights_punctual':{'light':0},'MY_tag':{'id':3}}},{'extensions':{}}],"
		   "'materials':[{'extras':'steel','extensions':{'KHR_materials_unlit':{},'B':{},'A':[[0]]}}]");
	assert_imported(f);
	assert_json(f->model.extras.values, "7");
	assert_json(f->model.extras.extensions, "{'MY_tag':{'list':[1,2.5,-3e-09]}}");
	assert_json(f->model.scenes[0].extras.values, "{'unit':'m'}");
	assert_json(f->model.nodes[0].extras.values, "{'health':10,'tags':['a','\xC3\xA9',null,true,[],{}]}");
	assert_json(f->model.nodes[0].extras.extensions, "{'MY_tag':{'id':3}}");
	assert_int_equal(f->model.nodes[1].extras.values.len + f->model.nodes[1].extras.extensions.len, 0);
	assert_json(f->model.materials[0].extras.values, "'steel'");
	assert_json(f->model.materials[0].extras.extensions, "{'B':{},'A':[[0]]}");
	fixture_free(f);
}

static void too_much_is_left_out_with_one_warning(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	size_t size = (size_t)HOB_LIMIT_EXTRAS_BYTES * 3 / 4;
	char *text = malloc(size + 200);
	int at = sprintf(text, "'nodes':[{'extras':'");
	memset(text + at, 'x', size);
	memcpy(text + at + size, "'},{'extras':1},{'extras':'", 28);
	/* The second long one does not fit, the short ones do. */
	char *whole = malloc(2 * size + 400);
	int end = sprintf(whole, "%s%.*s'},{'extras':2}]", text, (int)size, text + at);
	assert_true(end > 0);
	fixture_import(f, whole);
	assert_imported(f);
	assert_int_equal(f->model.nodes[0].extras.values.len, size + 2);
	assert_json(f->model.nodes[1].extras.values, "1");
	assert_int_equal(f->model.nodes[2].extras.values.len, 0);
	assert_json(f->model.nodes[3].extras.values, "2");
	assert_int_equal(f->notes.count, 1);
	assert_true(hob_str_equal(f->notes.items[0].code, HOB_STR("gltf.extras-dropped")));
	free(text), free(whole);
	fixture_free(f);
}

static void things_that_nodes_show_keep_theirs(void **state)
{
	(void)state;
	static const float moves[6] = {1, 2, 3, 4, 5, 6}, times[2] = {0, 1};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_floats(f, "SCALAR", 2, times, sizeof times);
	fixture_floats(f, "VEC3", 2, moves, sizeof moves);
	fixture_import(
		f, "'extensions':{'KHR_lights_punctual':{'lights':[{'type':'point','extras':{'watt':60}}]}},"
		   "'meshes':[{'extras':{'targetNames':['a']},'primitives':[{'attributes':{'POSITION':0}}]},"
		   "{'extras':{'lod':2},'extensions':{'MY_mesh':{'a':1}},'primitives':[{'attributes':{'POSITION':0}},"
		   "{'attributes':{'POSITION':0}}]}],"
		   "'cameras':[{'type':'perspective','perspective':{'yfov':1,'znear':1},'extras':{'film':35}}],"
		   "'nodes':[{'mesh':0},{'mesh':1,'skin':0}],'skins':[{'joints':[0],'extras':'rig'}],"
		   "'animations':[{'extras':{'loop':true},'samplers':[{'input':1,'output':2}],"
		   "'channels':[{'sampler':0,'target':{'node':0,'path':'translation'}}]}]");
	assert_imported(f);
	assert_int_equal(f->model.meshes[0].extras.values.len, 0);
	assert_json(f->model.meshes[1].extras.values, "{'lod':2}");
	assert_json(f->model.meshes[1].extras.extensions, "{'MY_mesh':{'a':1}}");
	assert_int_equal(f->model.meshes[2].extras.values.len, 0);
	assert_json(f->model.cameras[0].extras.values, "{'film':35}");
	assert_json(f->model.lights[0].extras.values, "{'watt':60}");
	assert_json(f->model.skins[0].extras.values, "'rig'");
	assert_json(f->model.clips[0].extras.values, "{'loop':true}");
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_kept_where_they_stand),
		cmocka_unit_test(things_that_nodes_show_keep_theirs),
		cmocka_unit_test(too_much_is_left_out_with_one_warning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
