/* Containers, JSON text, buffers, versions, extensions. */
#include "tests/unit/import/gltf_fixture.h"

#include <meshoptimizer.h>

static const float triangle[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};

/* ---- JSON text */

static void syntax_errors_name_line_and_column(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
	} cases[] = {
		{"{'asset':{'version':'2.0'},\n 'nodes':[{}}]}",
		 "unexpected '}', expected ',' or ']' at line 2 column 13"},
		{"", "the text ends early at line 1 column 1"},
		{" ", "the text ends early at line 1 column 2"},
		{"\xEF\xBB\xBF", "the text ends early at line 1 column 1"},
		{"{", "the text ends early"},
		{"{'a'", "the text ends early"},
		{"{'a':1,}", "unexpected '}', expected a key in quotes at line 1 column 8"},
		{"{'a':01}", "a number with a leading zero at line 1 column 6"},
		{"{'a':1.}", "expected a digit"},
		{"{'a':-}", "expected a digit"},
		{"{'a':1e}", "expected a digit"},
		{"{'a':NaN}", "unexpected 'N', expected a value"},
		{"{'a':nul}", "expected a value"},
		{"{'a':'b\nc'}", "a control character inside a string"},
		{"{'a':'\\q'}", "a bad escape"},
		{"{'a':'\\u12g4'}", "a bad \\u escape"},
		{"{'a':'open}", "a string is never closed at line 1 column 6"},
		{"{'a':1} x", "more text after the document at line 1 column 9"},
		{"<html>", "unexpected '<', expected a value at line 1 column 1"},
		{"[]", "the JSON is not an object"},
		{"7", "the JSON is not an object"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		fixture_import_raw(f, cases[i].text);
		if (f->ok || f->error.code != HOB_ERR_CORRUPT || !strstr(f->error.context, cases[i].words))
			fail_msg("%s: %s", cases[i].text, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
	}
}

static void a_nul_byte_is_no_end_of_text(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	static const char text[] = "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{}]}\0x";
	f->files[0] = (memory_file){"models/model.gltf", {(const uint8_t *)text, sizeof text - 1}};
	fixture_run(f);
	assert_refused(f, CORRUPT, "more text after the document");
	fixture_free(f);
}

static void nesting_is_bounded_before_anything_recurses(void **state)
{
	(void)state;
	static const struct {
		size_t depth;
		bool ok;
	} cases[] = {{900, true}, {1001, false}, {200000, false}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		hob_buf text = {0};
		hob_buf_put_str(&text, HOB_STR("'nodes':[{'extras':"));
		for (size_t k = 0; k < cases[i].depth; k++)
			hob_buf_put(&text, "[", 1);
		for (size_t k = 0; k < cases[i].depth; k++)
			hob_buf_put(&text, "]", 1);
		hob_buf_put(&text, "}]", 3);
		fixture_import(f, (const char *)text.data);
		if (cases[i].ok)
			assert_imported(f);
		else
			assert_refused(f, LIMIT, "deeper than 1000 levels");
		hob_buf_release(&text);
		fixture_free(f);
	}
}

static void a_byte_order_mark_is_skipped(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import_raw(f, "\xEF\xBB\xBF{'asset':{'version':'2.0'},'nodes':[{}]}");
	assert_imported(f);
	fixture_free(f);
}

/* ---- versions, extensions, emptiness */

static void only_version_2_is_read(void **state)
{
	(void)state;
	static const struct {
		const char *asset;
		hob_err_code code;
		const char *words;
	} cases[] = {
		{"'version':'2.0'", HOB_ERR_OK, ""},
		{"'version':'2.1'", HOB_ERR_OK, ""},
		{"'version':'2.0','minVersion':'2.0'", HOB_ERR_OK, ""},
		{"'version':'2.1','minVersion':'2.1'", HOB_ERR_OK, ""},
		{"'version':'2.2','minVersion':'2.2'", HOB_ERR_UNSUPPORTED, "glTF 2.2"},
		{"'version':'1.0'", HOB_ERR_OLD_VERSION, "glTF version 1.0"},
		{"'version':1", HOB_ERR_OLD_VERSION, "glTF version 1"},
		{"'version':'3.0'", HOB_ERR_UNSUPPORTED, "glTF version 3.0"},
		{"'version':'two'", HOB_ERR_CORRUPT, "asset.version"},
		{"'version':'2.'", HOB_ERR_CORRUPT, "asset.version"},
		{"'generator':'x'", HOB_ERR_CORRUPT, "asset.version"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		char text[200];
		snprintf(text, sizeof text, "{'asset':{%s},'nodes':[{}]}", cases[i].asset);
		fixture_import_raw(f, text);
		if (f->ok != (cases[i].code == HOB_ERR_OK) || f->error.code != cases[i].code ||
			!strstr(f->error.context, cases[i].words))
			fail_msg("%s: %s", cases[i].asset, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
	}
}

static void required_extensions_must_be_known(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(f, "'extensionsUsed':['ACME_gizmo'],'extensionsRequired':['ACME_gizmo'],'nodes':[{}]");
	assert_refused(f, UNSUPPORTED, "'ACME_gizmo'");
	fixture_import(f, "'extensionsUsed':['ACME_gizmo','KHR_materials_ior'],'nodes':[{}]");
	assert_imported(f);
	assert_int_equal(f->notes.count, 1);
	assert_true(has_note(f, "gltf.extension-ignored"));
	fixture_import(f, "'extensionsRequired':[7],'nodes':[{}]");
	assert_refused(f, CORRUPT, "extensionsRequired must hold names");
	fixture_free(f);
}

static void a_file_with_nothing_in_it_is_refused(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(f, "");
	assert_refused(f, EMPTY, "no meshes");
	fixture_import(f, "'materials':[{'name':'library'}]");
	assert_imported(f);
	assert_int_equal(f->model.scene_count, 1);
	fixture_free(f);
}

/* ---- buffers */

static void buffer_names_are_percent_decoded(void **state)
{
	(void)state;
	static const struct {
		const char *uri, *file;
	} cases[] = {
		{"my%20data%2Bx.bin", "models/my data+x.bin"},
		{"%D0%B4/%E8%BD%A6.bin", "models/\xD0\xB4/\xE8\xBD\xA6.bin"},
		{"./sub/../a b.bin", "models/a b.bin"},
		{"../up.bin", "up.bin"},
		{"already%20literal.bin", "models/already%20literal.bin"},
		{"sale 10%.bin", "models/sale 10%.bin"},
		{"50%off/100%25 a%2", "models/50%off/100% a%2"},
		{"%", "models/%"},
		{"back\\\\slash.bin", "models/back/slash.bin"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		fixture_triangle(f);
		fixture_compose(f, TRIANGLE_MESH, cases[i].uri);
		f->files[0] = (memory_file){"models/model.gltf", hob_buf_bytes(&f->document)};
		f->files[2] = (memory_file){cases[i].file, {(const uint8_t *)triangle, sizeof triangle}};
		f->file_count = 3;
		fixture_run(f);
		assert_imported(f);
		assert_true(memory_io_logged(&f->io, cases[i].file));
		assert_int_equal(has_note(f, "gltf.backslash"), strchr(cases[i].uri, '\\') != NULL);
		fixture_free(f);
	}
}

static void a_missing_buffer_names_the_right_spelling(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_compose(f, TRIANGLE_MESH, "Data.BIN");
	f->files[0] = (memory_file){"models/model.gltf", hob_buf_bytes(&f->document)};
	fixture_run(f);
	assert_refused(f, MISSING_FILE, "'models/Data.BIN' does not exist, but 'models/data.bin' does");
	assert_true(memory_io_logged(&f->io, "?models/Data.BIN"));
	fixture_compose(f, TRIANGLE_MESH, "gone.bin");
	f->files[0] = (memory_file){"models/model.gltf", hob_buf_bytes(&f->document)};
	fixture_run(f);
	assert_refused(f, MISSING_FILE, "'models/gone.bin' does not exist");
	fixture_free(f);
}

static void buffers_outside_the_root_are_refused(void **state)
{
	(void)state;
	static const char *const uris[] = {"../../etc/passwd",		"/etc/passwd",		  "//host/share",
									   "\\\\\\\\host\\\\share", "file:///etc/passwd", "https://127.0.0.1/x",
									   "C:\\\\x.bin",			"%2e%2e/%2E%2E/x",	  "..%2f..%2fx"};
	for (size_t i = 0; i < HOB_COUNT_OF(uris); i++) {
		gltf_fixture *f = fixture_new();
		fixture_triangle(f);
		fixture_compose(f, TRIANGLE_MESH, uris[i]);
		f->files[0] = (memory_file){"models/model.gltf", hob_buf_bytes(&f->document)};
		fixture_run(f);
		assert_refused(f, OUTSIDE, "buffers[0]");
		assert_int_equal(f->io.logged, 0);
		fixture_free(f);
	}
}

static void broken_buffers_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *buffer, *words;
	} cases[] = {
		{"'uri':'data.bin','byteLength':37", "37 bytes are declared, but data.bin has only 36"},
		{"'uri':'data.bin'", "'byteLength' is missing"},
		{"'byteLength':36", "it has no uri and the file has no BIN chunk"},
		{"'uri':'data:application/octet-stream;base64,AA*A','byteLength':36", "bad character at position 2"},
		{"'uri':'data:application/octet-stream;base64,AAAAA','byteLength':3", "ends inside a byte"},
		{"'uri':'data:application/octet-stream;base64','byteLength':36", "no ','"},
		{"'uri':'data:,abc','byteLength':36", "there are only 3"},
		{"'uri':'data:,%41%4%zz%','byteLength':36", "there are only 7"},
		{"'uri':'a%00b','byteLength':36", "%00 at byte 1"},
		{"'uri':'','byteLength':36", "it has no uri"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		hob_buf_put(&f->bin, triangle, sizeof triangle);
		char text[600];
		snprintf(text, sizeof text,
				 "{'asset':{'version':'2.0'},'buffers':[{%s}],'bufferViews':[{'buffer':0,'byteLength':36}],'"
				 "accessors':["
				 "{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'}]," TRIANGLE_MESH "}",
				 cases[i].buffer);
		fixture_import_raw(f, text);
		if (f->ok || !strstr(f->error.context, cases[i].words) || !strstr(f->error.context, "buffers[0]"))
			fail_msg("%s: %s", cases[i].buffer, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
	}
}

static void data_uris_hold_buffers(void **state)
{
	(void)state;
	static const char *const uris[] = {
		"data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA",
		"data:application/gltf-buffer;base64,AAAAAAAAAAAAAAAA\\nAACAPwAAAAAAAAAA AAAAAAAAgD8AAAAA",
		"DATA:;BASE64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA",
		("data:,%00%00%00%00%00%00%00%00%00%00%00%00%00%00%80%3F%00%00"
		 "%00%00%00%00%00%00%00%00%00%00%00%00%80%3F%00%00%00%00"),
	};
	for (size_t i = 0; i < HOB_COUNT_OF(uris); i++) {
		gltf_fixture *f = fixture_new();
		char text[700];
		snprintf(text, sizeof text,
				 "{'asset':{'version':'2.0'},'buffers':[{'uri':'%s','byteLength':36}],'bufferViews':[{'"
				 "buffer':0,'byteLength':36}],"
				 "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'}]," TRIANGLE_MESH
				 "}",
				 uris[i]);
		fixture_import_raw(f, text);
		assert_imported(f);
		assert_memory_equal(f->model.meshes[0].position, triangle, sizeof triangle);
		fixture_free(f);
	}
}

static void an_unused_missing_buffer_does_no_harm(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(f, "'buffers':[{'uri':'gone.bin','byteLength':1}],'nodes':[{}]");
	assert_imported(f);
	assert_int_equal(f->io.logged, 0);
	fixture_free(f);
}

/* ---- GLB */

static void a_glb_holds_its_buffer(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_import_glb(f, TRIANGLE_MESH);
	assert_imported(f);
	assert_memory_equal(f->model.meshes[0].position, triangle, sizeof triangle);
	f->files[0].path = "models/misnamed.gltf";
	fixture_run(f);
	assert_imported(f);
	fixture_free(f);
}

static void broken_glbs_are_refused(void **state)
{
	(void)state;
	static const struct {
		size_t offset;
		uint32_t value;
		hob_err_code code;
		const char *words;
	} cases[] = {
		{4, 1, HOB_ERR_OLD_VERSION, "GLB version 1"},
		{4, 4, HOB_ERR_UNSUPPORTED, "GLB version 4"},
		{8, 0xFFFFFFFF, HOB_ERR_TRUNCATED, "says 4294967295 bytes"},
		{12, 0xFFFFFFFF, HOB_ERR_TRUNCATED, "chunk at byte 12 says 4294967295 bytes"},
		{12, 0xFFFFFFFC, HOB_ERR_TRUNCATED, "chunk at byte 12"},
		{12, 0, HOB_ERR_TRUNCATED, "chunk at byte 20"},
		{16, 0x004E4942, HOB_ERR_CORRUPT, "first GLB chunk"},
		{8, 0, HOB_ERR_CORRUPT, "no JSON chunk"},
		{0, 0, HOB_ERR_CORRUPT, "JSON"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		fixture_triangle(f);
		fixture_import_glb(f, TRIANGLE_MESH);
		hob_store_u32(f->glb.data + cases[i].offset, cases[i].value);
		fixture_run(f);
		if (f->ok || f->error.code != cases[i].code || !strstr(f->error.context, cases[i].words))
			fail_msg("case %zu: %s", i, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
	}
}

static void bytes_after_a_glb_are_ignored_with_a_note(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_import_glb(f, TRIANGLE_MESH);
	hob_buf_put(&f->glb, "rest", 4);
	f->files[0].bytes = hob_buf_bytes(&f->glb);
	fixture_run(f);
	assert_imported(f);
	assert_true(has_note(f, "gltf.trailing-bytes"));
	fixture_free(f);
}

/* ---- EXT_meshopt_compression */

enum { GRID = 20, GRID_VERTICES = GRID * GRID, GRID_INDICES = (GRID - 1) * (GRID - 1) * 6 };

typedef struct grid {
	float position[GRID_VERTICES][3];
	int8_t normal[GRID_VERTICES][4];
	uint32_t indices[GRID_INDICES];
} grid_t;

static void make_grid(grid_t *g)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < GRID_VERTICES; i++) {
		g->position[i][0] = (float)(i % GRID), g->position[i][1] = (float)(i / GRID),
		g->position[i][2] = (float)(i * i % 7);
		g->normal[i][0] = 0, g->normal[i][1] = 0, g->normal[i][2] = 127, g->normal[i][3] = 0;
	}
	for (uint32_t y = 0; y + 1 < GRID; y++)
		for (uint32_t x = 0; x + 1 < GRID; x++) {
			uint32_t a = y * GRID + x, quad[6] = {a, a + 1, a + GRID, a + 1, a + GRID + 1, a + GRID};
			memcpy(g->indices + n, quad, sizeof quad);
			n += 6;
		}
}

typedef struct packed {
	const char *mode, *filter;
	size_t count, stride;
	uint8_t data[20000];
	size_t size;
} packed_t;

/* Data of all streams in buffer 0, views over a placeholder buffer 1. */
static void import_packed(gltf_fixture *f, const packed_t *streams, size_t stream_count, const char *rest)
{
	hob_buf text = {0}, views = {0};
	hob_buf_clear(&f->bin);
	for (size_t i = 0; i < stream_count; i++) {
		const packed_t *s = &streams[i];
		hob_buf_printf(
			&views,
			"%s{'buffer':1,'byteLength':%zu,'extensions':{'EXT_meshopt_compression':{'buffer':0,"
			"'byteOffset':%zu,'byteLength':%zu,'byteStride':%zu,'count':%zu,'mode':'%s','filter':'%s'}}}",
			i ? "," : "", s->count * s->stride, f->bin.size, s->size, s->stride, s->count, s->mode,
			s->filter);
		hob_buf_put(&f->bin, s->data, s->size);
	}
	hob_buf_printf(&text,
				   "{'asset':{'version':'2.0'},'extensionsUsed':['EXT_meshopt_compression'],"
				   "'buffers':[{'uri':'data.bin','byteLength':%zu},{'byteLength':999999,"
				   "'extensions':{'EXT_meshopt_compression':{'fallback':true}}}],'bufferViews':[%.*s],%s}",
				   f->bin.size, HOB_FMT(hob_buf_str(&views)), rest);
	hob_buf_put(&text, "", 1);
	fixture_import_raw(f, (const char *)text.data);
	hob_buf_release(&text);
	hob_buf_release(&views);
}

static const char grid_mesh[] =
	"'accessors':[{'bufferView':0,'componentType':5126,'count':400,'type':'VEC3'},{'bufferView':1,"
	"'componentType':5125,'count':2166,'type':'SCALAR'},{'bufferView':2,'componentType':5120,"
	"'normalized':true,'count':400,'type':'VEC3'}],'meshes':[{'primitives':[{'attributes':{'POSITION':0,"
	"'NORMAL':2},'indices':1}]}]";

static packed_t *pack_grid(grid_t *grid, const char *index_mode)
{
	packed_t *s = calloc(3, sizeof *s);
	make_grid(grid);
	s[0] = (packed_t){.mode = "ATTRIBUTES", .filter = "NONE", .count = GRID_VERTICES, .stride = 12};
	s[0].size = meshopt_encodeVertexBuffer(s[0].data, sizeof s[0].data, grid->position, GRID_VERTICES, 12);
	s[1] = (packed_t){.mode = index_mode, .filter = "NONE", .count = GRID_INDICES, .stride = 4};
	s[1].size = index_mode[0] == 'T'
					? meshopt_encodeIndexBuffer(s[1].data, sizeof s[1].data, grid->indices, GRID_INDICES)
					: meshopt_encodeIndexSequence(s[1].data, sizeof s[1].data, grid->indices, GRID_INDICES);
	s[2] = (packed_t){.mode = "ATTRIBUTES", .filter = "OCTAHEDRAL", .count = GRID_VERTICES, .stride = 4};
	s[2].size = meshopt_encodeVertexBuffer(s[2].data, sizeof s[2].data, grid->normal, GRID_VERTICES, 4);
	assert_true(s[0].size > 0 && s[1].size > 0 && s[2].size > 0);
	return s;
}

static void meshopt_streams_are_decoded(void **state)
{
	(void)state;
	static const char *const modes[] = {"TRIANGLES", "INDICES"};
	for (size_t i = 0; i < HOB_COUNT_OF(modes); i++) {
		grid_t *grid = malloc(sizeof *grid);
		packed_t *streams = pack_grid(grid, modes[i]);
		gltf_fixture *f = fixture_new();
		import_packed(f, streams, 3, grid_mesh);
		assert_imported(f);
		const hob_mesh *mesh = &f->model.meshes[0];
		assert_int_equal(mesh->vertex_count, GRID_VERTICES);
		assert_memory_equal(mesh->position, grid->position, sizeof grid->position);
		assert_floats(mesh->normal, 0, 0, 0, 1);
		/* The triangle codec may rotate triangles, so compare their sums. */
		uint64_t ours = 0, theirs = 0;
		for (size_t k = 0; k < GRID_INDICES; k++)
			ours += mesh->indices[k], theirs += grid->indices[k];
		assert_int_equal(ours, theirs);
		fixture_free(f);
		free(streams);
		free(grid);
	}
}

static void damaged_meshopt_streams_are_refused(void **state)
{
	(void)state;
	static const struct {
		size_t stream, count, stride, size;
		const char *mode, *filter, *words;
	} cases[] = {
		{0, 1000000000, 12, 0, "ATTRIBUTES", "NONE", "cannot hold 1000000000 elements"},
		{0, 400, 10, 0, "ATTRIBUTES", "NONE", "byteStride 10"},
		{0, 400, 260, 0, "ATTRIBUTES", "NONE", "byteStride 260"},
		{0, 400, 12, 500, "ATTRIBUTES", "NONE", "the attribute stream of 500 bytes is damaged"},
		{0, 400, 12, 0, "TRIANGLES", "NONE", "byteStride 12"},
		{0, 400, 12, 0, "CLOUD", "NONE", "mode 'CLOUD' is unknown"},
		{0, 400, 12, 0, "ATTRIBUTES", "OCTAHEDRAL", "filter 'OCTAHEDRAL' with a byteStride of 12"},
		{0, 400, 12, 0, "ATTRIBUTES", "MAGIC", "filter 'MAGIC'"},
		{1, 2165, 4, 0, "TRIANGLES", "NONE", "count 2165"},
		{1, 2166, 8, 0, "TRIANGLES", "NONE", "byteStride 8"},
		{1, 2166, 4, 9, "TRIANGLES", "NONE", "cannot hold 2166 elements"},
		{1, 2166, 4, 800, "TRIANGLES", "NONE", "the index stream of 800 bytes is damaged"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		grid_t *grid = malloc(sizeof *grid);
		packed_t *streams = pack_grid(grid, "TRIANGLES"), *s = &streams[cases[i].stream];
		gltf_fixture *f = fixture_new();
		s->mode = cases[i].mode, s->filter = cases[i].filter;
		s->count = cases[i].count, s->stride = cases[i].stride;
		s->size = cases[i].size ? cases[i].size : s->size;
		import_packed(f, streams, 3, grid_mesh);
		if (f->ok || !strstr(f->error.context, cases[i].words) || !strstr(f->error.context, "bufferViews["))
			fail_msg("case %zu: %s", i, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
		free(streams);
		free(grid);
	}
}

static void damaged_meshopt_falls_back_to_the_uncompressed_copy(void **state)
{
	(void)state;
	static const char rest[] =
		"'extensionsUsed':['EXT_meshopt_compression'],'bufferViews':[{'buffer':0,'byteLength':36,"
		"'extensions':{'EXT_meshopt_compression':{'buffer':0,'byteLength':36,'byteStride':12,'count':3,"
		"'mode':'ATTRIBUTES'}}}],'accessors':[{'bufferView':0,'componentType':5126,'count':3,"
		"'type':'VEC3'}]," TRIANGLE_MESH;
	gltf_fixture *f = fixture_new();
	hob_buf_put(&f->bin, triangle, sizeof triangle);
	fixture_import(f, rest);
	assert_imported(f);
	assert_memory_equal(f->model.meshes[0].position, triangle, sizeof triangle);
	assert_true(has_note(f, "gltf.meshopt-fallback"));
	char required[sizeof rest + 60];
	snprintf(required, sizeof required, "'extensionsRequired':['EXT_meshopt_compression'],%s", rest);
	fixture_import(f, required);
	assert_refused(f, CORRUPT, "the attribute stream of 36 bytes is damaged");
	fixture_free(f);
}

/* ---- size */

static void thirty_thousand_nodes_import_in_time_linear_in_them(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	hob_buf text = {0};
	hob_buf_put_str(&text, HOB_STR("'scenes':[{'nodes':[0]}],'nodes':[{'children':[1"));
	for (int i = 2; i < 30000; i++)
		hob_buf_printf(&text, ",%d", i);
	hob_buf_put_str(&text, HOB_STR("]}"));
	for (int i = 1; i < 30000; i++)
		hob_buf_printf(&text, ",{'name':'n%d','translation':[%d,0,0]}", i, i);
	hob_buf_put(&text, "]", 2);
	fixture_import(f, (const char *)text.data);
	assert_imported(f);
	assert_int_equal(f->model.node_count, 30000);
	assert_floats(f->model.nodes[29999].translation, 0, 29999, 0, 0);
	hob_buf_release(&text);
	fixture_free(f);
}

static void the_importer_names_itself(void **state)
{
	(void)state;
	assert_string_equal(hob_gltf_importer.name, "gltf");
	assert_string_equal(hob_gltf_importer.extensions[0], "gltf");
	assert_string_equal(hob_gltf_importer.extensions[1], "glb");
	assert_ptr_equal(hob_importer_for(HOB_STR("avatars/a.VRM")), &hob_gltf_importer);
	assert_non_null(strstr(hob_gltf_importer.library_version(), "meshoptimizer"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(syntax_errors_name_line_and_column),
		cmocka_unit_test(a_nul_byte_is_no_end_of_text),
		cmocka_unit_test(nesting_is_bounded_before_anything_recurses),
		cmocka_unit_test(a_byte_order_mark_is_skipped),
		cmocka_unit_test(only_version_2_is_read),
		cmocka_unit_test(required_extensions_must_be_known),
		cmocka_unit_test(a_file_with_nothing_in_it_is_refused),
		cmocka_unit_test(buffer_names_are_percent_decoded),
		cmocka_unit_test(a_missing_buffer_names_the_right_spelling),
		cmocka_unit_test(buffers_outside_the_root_are_refused),
		cmocka_unit_test(broken_buffers_are_refused),
		cmocka_unit_test(data_uris_hold_buffers),
		cmocka_unit_test(an_unused_missing_buffer_does_no_harm),
		cmocka_unit_test(a_glb_holds_its_buffer),
		cmocka_unit_test(broken_glbs_are_refused),
		cmocka_unit_test(bytes_after_a_glb_are_ignored_with_a_note),
		cmocka_unit_test(meshopt_streams_are_decoded),
		cmocka_unit_test(damaged_meshopt_streams_are_refused),
		cmocka_unit_test(damaged_meshopt_falls_back_to_the_uncompressed_copy),
		cmocka_unit_test(thirty_thousand_nodes_import_in_time_linear_in_them),
		cmocka_unit_test(the_importer_names_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
