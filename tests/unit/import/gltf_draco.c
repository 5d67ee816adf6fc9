/* KHR_draco_mesh_compression, with a stream made by Draco's own encoder: two triangles, four points, POSITION
 * as attribute 0 and a two-byte attribute 1. Skipped when the build has no Draco. */
#include "tests/unit/import/gltf_fixture.h"

static const uint8_t stream[125] = {
	0x44, 0x52, 0x41, 0x43, 0x4F, 0x02, 0x02, 0x01, 0x01, 0x00, 0x00, 0x00, 0x04, 0x02, 0x01, 0x02,
	0x00, 0x00, 0x01, 0x1F, 0xFF, 0x01, 0x11, 0xFF, 0x01, 0x11, 0x02, 0xFF, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x01, 0x00, 0x09, 0x03, 0x00, 0x00, 0x00, 0x01, 0x04, 0x02, 0x02, 0x00, 0x01, 0x01, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x3F, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x3F, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x3F, 0x00, 0x00, 0x80, 0x3F, 0x00,
	0x00, 0x00, 0x3F, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
	0x01, 0x01, 0x00, 0x08, 0x03, 0x01, 0x10, 0x01, 0x10, 0x0F, 0x01, 0x20, 0x03, 0x00, 0x50, 0x91,
	0x26, 0xC0, 0x0C, 0x40, 0x03, 0x00, 0x00, 0x00, 0x00, 0xFF, 0x00, 0x00, 0x00,
};

static const char accessors[] = "'accessors':[{'componentType':5126,'type':'VEC3','count':4},{'componentType'"
								":5123,'type':'SCALAR','count':6},"
								"{'componentType':5121,'normalized':true,'type':'VEC2','count':4}]";

static bool import_stream(gltf_fixture *f, const void *data, size_t size, const char *lists, const char *ids)
{
	char text[1200];
	hob_buf_clear(&f->bin);
	hob_buf_clear(&f->views);
	f->view_count = 0;
	fixture_view(f, data, size, "");
	snprintf(
		text, sizeof text,
		"%s,'extensionsRequired':['KHR_draco_mesh_compression'],'meshes':[{'name':'box','primitives':[{"
		"'attributes':{'POSITION':0,'TEXCOORD_0':2},'indices':1,'extensions':{'KHR_draco_mesh_compression':"
		"{'bufferView':0,'attributes':{%s}}}}]}]",
		lists, ids);
	return fixture_import(f, text);
}

static const char both[] = "'POSITION':0,'TEXCOORD_0':1";

static gltf_fixture *with_draco(void)
{
	gltf_fixture *f = fixture_new();
	import_stream(f, stream, sizeof stream, accessors, both);
	if (!f->ok && f->error.code == HOB_ERR_UNSUPPORTED) {
		fixture_free(f);
		print_message("skipped: this build has no Draco decoder\n");
		skip();
	}
	return f;
}

/* Compares corners, because the encoder may reorder points and triangles. */
static void a_stream_gives_its_corners(void **state)
{
	(void)state;
	static const float known[4][5] = {
		{0, 0, 0, 0, 0}, {1, 0, 0, 1, 0}, {0, 1, 0, 0, 1}, {1, 1, 0.5f, 1, 0.2f}};
	gltf_fixture *f = with_draco();
	assert_imported(f);
	const hob_mesh *mesh = &f->model.meshes[0];
	assert_int_equal(mesh->index_count, 6);
	assert_int_equal(mesh->vertex_count, 4);
	int seen[4] = {0};
	for (uint32_t i = 0; i < 6; i++) {
		const float *p = mesh->position + mesh->indices[i] * 3, *uv = mesh->uv[0] + mesh->indices[i] * 2;
		int found = -1;
		for (int k = 0; k < 4; k++)
			if (memcmp(p, known[k], 12) == 0 && memcmp(uv, known[k] + 3, 8) == 0)
				found = k;
		assert_true(found >= 0);
		seen[found]++;
	}
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[1], 2);
	assert_int_equal(seen[2], 2);
	assert_int_equal(seen[3], 1);
	fixture_free(f);
}

static void what_the_file_says_must_fit_the_stream(void **state)
{
	(void)state;
	static const struct {
		const char *accessors, *ids, *words;
	} cases[] = {
		{"'accessors':[{'componentType':5126,'type':'VEC3','count':5},{'componentType':5123,"
		 "'type':'SCALAR','count':6},{'componentType':5121,'type':'VEC2','count':4}]",
		 both,
		 "accessor 0 has 5 elements, the stream has 4 points; POSITION; "
		 "KHR_draco_mesh_compression; primitive 0"},
		{"'accessors':[{'componentType':5126,'type':'VEC3','count':4},{'componentType':5123,"
		 "'type':'SCALAR','count':9},{'componentType':5121,'type':'VEC2','count':4}]",
		 both, "accessor 1 has 9 indices, the stream has 6"},
		{accessors, "'POSITION':0,'TEXCOORD_0':7", "the stream has no attribute 7 for accessor 2"},
		{accessors, "'POSITION':0,'NORMAL':1", "'NORMAL' is missing"},
		{accessors, "'POSITION':-1", "'POSITION' is a number, not a non-negative integer"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = with_draco();
		import_stream(f, stream, sizeof stream, cases[i].accessors, cases[i].ids);
		if (f->ok || !strstr(f->error.context, cases[i].words))
			fail_msg("case %zu: %s", i, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
	}
}

static void an_attribute_outside_the_stream_is_zero_filled(void **state)
{
	(void)state;
	gltf_fixture *f = with_draco();
	import_stream(f, stream, sizeof stream, accessors, "'POSITION':0");
	assert_imported(f);
	assert_floats(f->model.meshes[0].uv[0], 0, 0, 0, 0, 0, 0, 0, 0, 0);
	fixture_free(f);
}

static void an_uncompressed_copy_is_preferred(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_import(
		f, "'extensionsUsed':['KHR_draco_mesh_compression'],'meshes':[{'primitives':[{'attributes':{"
		   "'POSITION':0},'extensions':{'KHR_draco_mesh_compression':{'bufferView':0,'attributes':{}}}}]}]");
	assert_imported(f);
	assert_int_equal(f->model.meshes[0].vertex_count, 3);
	fixture_free(f);
}

static void cut_streams_are_survived(void **state)
{
	(void)state;
	gltf_fixture *f = with_draco();
	for (size_t size = 1; size < sizeof stream; size++) {
		import_stream(f, stream, size, accessors, both);
		if (size < 100)
			assert_refused(f, CORRUPT, "KHR_draco_mesh_compression");
	}
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_gives_its_corners),
		cmocka_unit_test(what_the_file_says_must_fit_the_stream),
		cmocka_unit_test(an_attribute_outside_the_stream_is_zero_filled),
		cmocka_unit_test(an_uncompressed_copy_is_preferred),
		cmocka_unit_test(cut_streams_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
