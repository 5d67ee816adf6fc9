#include "fixture.h"

#include "core/formats/classic.h"
#include "core/formats/pack_read.h"
#include "core/formats/pack_validate.h"

typedef struct classic_fixture {
	packed_fixture packed;
	hob_classic_files files;
	hob_arena arena;
	hob_notes notes;
} classic_fixture;

static void make(classic_fixture *c, hob_pack_encode encode)
{
	memset(c, 0, sizeof *c);
	hob_arena_init(&c->arena, 1 << 20);
	c->notes.arena = &c->arena;
	fixture_pack(&c->packed, encode);
	hob_pack_set set = fixture_set(&c->packed);
	hob_error err = {0};
	if (!hob_classic_from_packed(&set, &c->notes, &c->files, &err))
		fail_msg("%s", err.context);
}

static void release(classic_fixture *c)
{
	fixture_release(&c->packed);
	hob_classic_files_release(&c->files);
	hob_arena_release(&c->arena);
}

static uint32_t word(const hob_buf *file, size_t offset)
{
	assert_true(offset + 4 <= file->size);
	return hob_load_u32(file->data + offset);
}

static float number(const hob_buf *file, size_t offset)
{
	assert_true(offset + 4 <= file->size);
	return hob_load_f32(file->data + offset);
}

static bool noted(const hob_notes *notes, const char *code)
{
	for (uint32_t i = 0; i < notes->count; i++)
		if (hob_str_equal(notes->items[i].code, hob_str_of(code)))
			return true;
	return false;
}

/* ---- offsets and values computed by hand from the reference's structs ---- */

static void meshes_file_has_the_reference_bytes(void **state)
{
	(void)state;
	classic_fixture c;
	make(&c, HOB_PACK_RAW);
	const hob_buf *f = &c.files.meshes;
	/* Four meshes; indices: quad 6 + 3, arm 3, wire and void none; vertices 4 + 3 + 2 + 0. */
	assert_int_equal(f->size, 20 + 4 * 140 + 12 * 4 + 9 * 32);
	const uint32_t header[] = {0x12345678, 4, 20 + 4 * 116, 48, 288};
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(word(f, i * 4), header[i]);
	/* lodCount, streamCount, indexOffset, vertexOffset, vertexCount, lodOffset[8], streamOffset[8],
	 * element[8] */
	const uint32_t quad[29] = {2, 1, 0, 0, 4, 0, 6, 9, [21] = 32},
				   arm[29] = {1, 1, 9, 4, 3, 0, 3, [13] = 128, [21] = 32};
	const uint32_t wire[29] = {1, 1, 12, 7, 2, [13] = 224, [21] = 32},
				   none[29] = {1, 1, 12, 9, 0, [13] = 288, [21] = 32};
	assert_memory_equal(f->data + 20, quad, 116);
	assert_memory_equal(f->data + 136, arm, 116);
	assert_memory_equal(f->data + 252, wire, 116);
	assert_memory_equal(f->data + 368, none, 116);
	const float boxes[4][6] = {
		{0, 0, 0, 2, 1, 0}, {-1, 0, 0, 3, -0 + 4 * 32768.0f / 65535, 4}, {0, 0, 0, 0, 3, 0}};
	for (size_t i = 0; i < 24; i++)
		assert_true(number(f, 484 + i * 4) == boxes[i / 6][i % 6]);
	const uint32_t indices[12] = {0, 1, 2, 0, 2, 3, 0, 1, 2, 0, 1, 2};
	assert_memory_equal(f->data + 580, indices, 48);
	/* Third vertex of the quad: x y z, u v, nx ny nz; v as in glTF. */
	const float corner[8] = {2, 1, 0, 1, 0.25f, 0, 0, 1};
	assert_memory_equal(f->data + 628 + 2 * 32, corner, 32);
	release(&c);
}

/* A mesh without normals whose two triangles join at a right angle: each gets its own three vertices. */
static void flat_meshes_get_the_normals_of_their_planes(void **state)
{
	(void)state;
	static float tent[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
	static float uvs[4][2] = {{0, 0}, {0.25f, 0}, {0.5f, 0}, {0.75f, 0}};
	static uint32_t indices[9] = {0, 1, 2, 0, 2, 3, 0, 1, 2};
	fixture f;
	fixture_init(&f);
	hob_baked_mesh *m = &f.meshes[0];
	m->flags = HOB_MESH_FLAT;
	m->attribute_count = 2;
	m->attributes[1] = (hob_baked_attribute){HOB_SEMANTIC_UV, 0, 2, HOB_ENCODING_PLAIN, 103, 1, 0};
	m->streams[0].data = (uint8_t *)tent;
	m->streams[1] = (hob_baked_stream){8, (uint8_t *)uvs};
	m->indices = indices;
	memcpy(m->aabb_max, (float[]){1, 1, 1}, 12);
	memcpy(m->sphere, (float[]){0.5f, 0.5f, 0.5f, 1}, 16);
	packed_fixture packed;
	memset(&packed, 0, sizeof packed);
	hob_pack_options options = {.encode = HOB_PACK_RAW};
	hob_classic_files files;
	hob_error err = {0};
	for (int kind = 0; kind < 4; kind++)
		assert_true(fixture_pack_one(&f, kind, &options, &packed.files[kind], &err));
	hob_pack_set set = fixture_set(&packed);
	if (!hob_classic_from_packed(&set, NULL, &files, &err))
		fail_msg("%s", err.context);
	assert_int_equal(word(&files.meshes, 20 + 16), 6);
	const uint32_t want[9] = {0, 1, 2, 3, 4, 5, 0, 1, 2};
	assert_memory_equal(files.meshes.data + 580, want, sizeof want);
	const float corners[6][8] = {{0, 0, 0, 0, 0, 0, 0, 1},	  {1, 0, 0, 0.25f, 0, 0, 0, 1},
								 {0, 1, 0, 0.5f, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 1, 0, 0},
								 {0, 1, 0, 0.5f, 0, 1, 0, 0}, {0, 0, 1, 0.75f, 0, 1, 0, 0}};
	for (size_t i = 0; i < 48; i++)
		assert_true(number(&files.meshes, 628 + i * 4) == corners[i / 8][i % 8]);
	hob_classic_files_release(&files);
	fixture_release(&packed);
}

/* A flat mesh must not have normals. */
static void a_flat_mesh_with_normals_is_refused(void **state)
{
	(void)state;
	const uint32_t wrong[] = {HOB_MESH_FLAT, HOB_MESH_FLAT | HOB_MESH_GENERATED_NORMALS};
	for (size_t i = 0; i < 2; i++) {
		fixture f;
		fixture_init(&f);
		f.meshes[0].flags = wrong[i];
		hob_buf file = {0};
		hob_error err = {0};
		hob_pack_options options = {.encode = HOB_PACK_RAW};
		assert_true(fixture_pack_one(&f, 0, &options, &file, &err));
		assert_false(hob_pack_validate(hob_buf_bytes(&file), &err));
		hob_buf_release(&file);
	}
}

static void quantised_vertices_are_dequantised(void **state)
{
	(void)state;
	classic_fixture c;
	make(&c, HOB_PACK_MESHOPT);
	size_t at = 628 + 4 * 32;
	const float want[3][8] = {
		{-1, 0, 0, 0, -0.5f, 0, 0, 1},
		{3, 0, 0, 2, -0.5f, 1, 0, 0},
		{-1, 4 * 32768.0f / 65535, 4, 2 * 32768.0f / 65535, 0.5f, 0, -1, 0},
	};
	for (size_t i = 0; i < 24; i++)
		assert_true(fabsf(number(&c.files.meshes, at + i * 4) - want[i / 8][i % 8]) < 1e-6f);
	release(&c);
}

static void materials_file_has_the_reference_bytes(void **state)
{
	(void)state;
	classic_fixture c;
	make(&c, HOB_PACK_RAW);
	const hob_buf *f = &c.files.materials;
	assert_int_equal(word(f, 0), 2);
	const float brick[15] = {0, 0, 0, 1, 0.5f, 1, 1, 1, 0.75f, 0.75f, 0, 0, 0, 0, 0};
	assert_memory_equal(f->data + 4, brick, 60);
	assert_int_equal(word(f, 64), 3);
	const uint64_t maps[6] = {0xFFFFFFFF, 0xFFFFFFFF, 0, 1, 0xFFFFFFFF, 0xFFFFFFFF};
	assert_memory_equal(f->data + 68, maps, 48);
	assert_true(number(f, 116 + 48) == 0.75f);
	assert_int_equal(word(f, 116 + 60), 7);
	/* String list: the KTX2 image and the PNG, both named by their blobs. */
	static const char files[] =
		"\x02\0\0\0\x52\0\0\0out_textures/"
		"000306090c0f1215181b1e2124272a2d303336393c3f4245484b4e5154575a5d.ktx2"
		"\0\x51\0\0\0out_textures/f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000102030405060708090a0b0c0d0e0f.png";
	assert_int_equal(f->size, 4 + 224 + sizeof files);
	assert_memory_equal(f->data + 228, files, sizeof files);
	release(&c);
}

static void scene_file_has_the_reference_bytes(void **state)
{
	(void)state;
	classic_fixture c;
	make(&c, HOB_PACK_RAW);
	const hob_buf *f = &c.files.scene;
	assert_int_equal(word(f, 0), 8);
	assert_true(number(f, 4 + 64 + 48) == 10);				/* local of node 1 */
	assert_true(number(f, 4 + 8 * 64 + 2 * 64 + 48) == 10); /* world of node 2 */
	assert_memory_equal(f->data + 4 + 8 * 128, fixture_hierarchy, 160);
	/* The wire has no triangles, so no links. Then names of all nodes and of the materials. */
	static const char tail[] =
		"\4\0\0\0\2\0\0\0\0\0\0\0\4\0\0\0\1\0\0\0"
		"\4\0\0\0\2\0\0\0\0\0\0\0\4\0\0\0\1\0\0\0"
		"\x10\0\0\0"
		"\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\2\0\0\0\3\0\0\0\3\0\0\0"
		"\4\0\0\0\4\0\0\0\5\0\0\0\5\0\0\0\6\0\0\0\6\0\0\0\7\0\0\0\7\0\0\0"
		"\x8\0\0\0"
		"\5\0\0\0world\0\4\0\0\0body\0\xB\0\0\0body_Mesh_0\0\x8\0\0\0shoulder\0\xF\0\0\0shoulder_Mesh_0\0"
		"\3\0\0\0eye\0\0\0\0\0\0\7\0\0\0_Mesh_0\0"
		"\2\0\0\0\5\0\0\0brick\0\5\0\0\0glass";
	assert_int_equal(f->size, 4 + 8 * 148 + sizeof tail);
	assert_memory_equal(f->data + 4 + 8 * 148, tail, sizeof tail);
	release(&c);
}

/* ---- behaviour ---- */

static void what_is_dropped_is_noted(void **state)
{
	(void)state;
	classic_fixture c;
	make(&c, HOB_PACK_RAW);
	static const char *const codes[] = {
		"classic.mesh-not-drawn",		 "classic.skinning-dropped",   "classic.morphs-dropped",
		"classic.variants-dropped",		 "classic.extensions-dropped", "classic.double-sided-dropped",
		"classic.uv-transforms-dropped", "classic.samplers-dropped",   "classic.cameras-dropped",
		"classic.lights-dropped",		 "classic.animations-dropped", "classic.scenes-merged",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(codes); i++)
		if (!noted(&c.notes, codes[i]))
			fail_msg("no note %s", codes[i]);
	assert_false(noted(&c.notes, "classic.levels-dropped"));
	assert_false(noted(&c.notes, "classic.deep-nodes"));
	release(&c);
}

static void default_material_is_appended_when_drawn(void **state)
{
	(void)state;
	fixture_material_links[1].node = 4;
	hob_baked_link kept = fixture_material_links[0];
	fixture f;
	fixture_init(&f);
	f.scene.material_links = (hob_baked_links){1, fixture_material_links + 1};
	classic_fixture c = {0};
	hob_arena_init(&c.arena, 1 << 20);
	hob_pack_options options = {0};
	hob_error err = {0};
	for (int kind = 0; kind < 4; kind++)
		assert_true(fixture_pack_one(&f, kind, &options, &c.packed.files[kind], &err));
	hob_pack_set set = fixture_set(&c.packed);
	assert_true(hob_classic_from_packed(&set, NULL, &c.files, &err));
	hob_classic_materials materials;
	assert_true(hob_classic_open_materials(hob_buf_bytes(&c.files.materials), &materials, &err));
	assert_int_equal(materials.material_count, 3);
	assert_true(hob_classic_material_at(&materials, 2).metallicFactor == 1);
	hob_classic_scene scene;
	assert_true(hob_classic_open_scene(hob_buf_bytes(&c.files.scene), &scene, &err));
	assert_int_equal(hob_load_u32(scene.materials.pairs + 4), 2);
	assert_int_equal(scene.material_names.count, 3);
	fixture_material_links[0] = kept;
	release(&c);
}

static void four_gibibytes_are_refused(void **state)
{
	(void)state;
	const uint64_t indices = UINT32_MAX / 4, vertices = UINT32_MAX / 32, meshes = (UINT32_MAX - 20ull) / 140;
	assert_true(hob_classic_fits(0, 0, 0));
	assert_true(hob_classic_fits(meshes, indices, vertices));
	assert_false(hob_classic_fits(meshes + 1, indices, vertices));
	assert_false(hob_classic_fits(meshes, indices + 1, vertices));
	assert_false(hob_classic_fits(meshes, indices, vertices + 1));
	/* Values that would wrap to small ones in 32 or 64 bits. */
	assert_false(hob_classic_fits(1, 1ull << 30, 0));
	assert_false(hob_classic_fits(1, 0, 1ull << 27));
	assert_false(hob_classic_fits(1, 1ull << 62, 1));
	assert_false(hob_classic_fits(1, 1, 1ull << 59));
	assert_false(hob_classic_fits(1ull << 62, 1, 1));
}

static void at_most_seven_levels_are_stored(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	f.meshes[0].lod_count = 9;
	for (uint32_t l = 1; l < 9; l++)
		f.meshes[0].lods[l] = (hob_baked_lod){6, 3, 3, (float)l, 0, 0, 0, {0, 0, 0}};
	f.meshes[0].lods[1].meshlet_first = f.meshes[0].lods[1].meshlet_count = 1;
	classic_fixture c = {0};
	hob_arena_init(&c.arena, 1 << 20);
	c.notes.arena = &c.arena;
	hob_pack_options options = {0};
	hob_error err = {0};
	for (int kind = 0; kind < 4; kind++)
		assert_true(fixture_pack_one(&f, kind, &options, &c.packed.files[kind], &err));
	hob_pack_set set = fixture_set(&c.packed);
	if (!hob_classic_from_packed(&set, &c.notes, &c.files, &err))
		fail_msg("%s", err.context);
	assert_int_equal(word(&c.files.meshes, 20), 7);
	assert_int_equal(word(&c.files.meshes, 20 + 20 + 7 * 4), 6 + 6 * 3);
	assert_int_equal(word(&c.files.meshes, 20 + 52), 0);
	assert_true(noted(&c.notes, "classic.levels-dropped"));
	assert_true(hob_classic_validate(hob_buf_bytes(&c.files.meshes), HOB_CLASSIC_MESHES, &err));
	release(&c);
}

static void written_files_are_valid_and_recognised(void **state)
{
	(void)state;
	for (int encode = 0; encode < 2; encode++) {
		classic_fixture c;
		make(&c, encode ? HOB_PACK_MESHOPT : HOB_PACK_RAW);
		hob_bytes meshes = hob_buf_bytes(&c.files.meshes), materials = hob_buf_bytes(&c.files.materials);
		hob_bytes scene = hob_buf_bytes(&c.files.scene);
		hob_error err = {0};
		if (!hob_classic_validate_set(meshes, materials, scene, &err))
			fail_msg("%s", err.context);
		assert_int_equal(hob_classic_sniff(meshes), HOB_CLASSIC_MESHES);
		assert_int_equal(hob_classic_sniff(materials), HOB_CLASSIC_MATERIALS);
		assert_int_equal(hob_classic_sniff(scene), HOB_CLASSIC_SCENE);
		assert_int_equal(hob_classic_sniff((hob_bytes){(const uint8_t *)"hello world!", 12}),
						 HOB_CLASSIC_NOTHING);
		release(&c);
	}
}

static void reader_gives_back_records_and_strings(void **state)
{
	(void)state;
	classic_fixture c;
	make(&c, HOB_PACK_RAW);
	hob_error err = {0};
	hob_classic_meshes meshes;
	assert_true(hob_classic_open_meshes(hob_buf_bytes(&c.files.meshes), &meshes, &err));
	assert_int_equal(hob_classic_mesh_at(&meshes, 0).lodOffset[2], 9);
	hob_classic_scene scene;
	assert_true(hob_classic_open_scene(hob_buf_bytes(&c.files.scene), &scene, &err));
	assert_int_equal(hob_classic_node_at(&scene, 4).parent, 3);
	hob_str name = {0};
	uint32_t count = 0;
	while (hob_classic_strings_next(&scene.node_names, &name))
		count++;
	assert_int_equal(count, 8);
	assert_true(hob_str_equal(name, HOB_STR("_Mesh_0")));
	release(&c);
}

static void missing_files_are_an_error(void **state)
{
	(void)state;
	classic_fixture c;
	make(&c, HOB_PACK_RAW);
	hob_pack_set set = fixture_set(&c.packed);
	set.scene = (hob_bytes){0};
	hob_classic_files out = {0};
	hob_error err = {0};
	assert_false(hob_classic_from_packed(&set, NULL, &out, &err));
	assert_int_equal(err.code, HOB_ERR_EMPTY);
	release(&c);
}

/* ---- damage ---- */

static bool any_opens(hob_bytes file)
{
	hob_classic_meshes meshes;
	hob_classic_materials materials;
	hob_classic_scene scene;
	hob_str text;
	bool open = hob_classic_open_meshes(file, &meshes, NULL);
	if (hob_classic_open_materials(file, &materials, NULL)) {
		open = true;
		while (hob_classic_strings_next(&materials.files, &text))
			assert_int_equal(text.data[text.len], 0);
	}
	if (hob_classic_open_scene(file, &scene, NULL)) {
		open = true;
		while (hob_classic_strings_next(&scene.node_names, &text) ||
			   hob_classic_strings_next(&scene.material_names, &text))
			assert_int_equal(text.data[text.len], 0);
	}
	return open;
}

static void damage_is_survived_and_prefixes_are_refused(void **state)
{
	(void)state;
	classic_fixture c;
	make(&c, HOB_PACK_RAW);
	const hob_buf *files[] = {&c.files.meshes, &c.files.materials, &c.files.scene};
	for (int kind = 1; kind <= 3; kind++) {
		const hob_buf *f = files[kind - 1];
		size_t accepted = 0;
		for (size_t size = 0; size < f->size; size++) {
			uint8_t *part = malloc(size + 1);
			memcpy(part, f->data, size);
			hob_bytes bytes = {part, size};
			bool good = hob_classic_validate(bytes, (hob_classic_kind)kind, NULL);
			/* The names of a scene are optional: it may end before them. */
			assert_int_equal(good, kind == HOB_CLASSIC_SCENE && size == 4 + 8 * 148 + 40);
			assert_true(any_opens(bytes) || !good);
			free(part);
		}
		uint8_t *file = malloc(f->size);
		for (size_t at = 0; at < f->size; at++)
			for (int bit = 0; bit < 8; bit++) {
				memcpy(file, f->data, f->size);
				file[at] ^= (uint8_t)(1 << bit);
				bool good = hob_classic_validate((hob_bytes){file, f->size}, (hob_classic_kind)kind, NULL);
				assert_true(any_opens((hob_bytes){file, f->size}) || !good);
				accepted += good;
			}
		assert_true(accepted > 0 && accepted < f->size * 8);
		free(file);
	}
	release(&c);
}

typedef struct breakage {
	int kind;
	size_t offset;
	uint32_t value;
	const char *reason;
} breakage;

static void each_rule_is_enforced(void **state)
{
	(void)state;
	static const breakage breakages[] = {
		{1, 0, 0x12345679, "magic"},
		{1, 8, 21, "dataBlockStartOffset"},
		{1, 12, 44, "are left"},
		{1, 20, 8, "8 levels"},
		{1, 24, 2, "2 streams"},
		{1, 20 + 116 + 8, 8, "indexOffset 8"},
		{1, 20 + 116 + 12, 5, "vertexOffset 5"},
		{1, 20 + 24, 5, "indices 0 to 5"},
		{1, 20 + 40, 1, "not zero"},
		{1, 20 + 52, 32, "streamOffset"},
		{1, 484, 0x7F800000, "not finite"},
		{1, 484, 0x7F000000, "inside out"},
		{1, 580, 4, "index 4 of 4"},
		{1, 628, 0xFFFFFFFF, "not finite"},
		{2, 64, 8, "flags"},
		{2, 64 + 4 + 16, 2, "texture 2 of 2"},
		{2, 232, 5, "string"},
		{3, 0, 0x7FFFFFFF, "nodes"},
		{3, 4, 0x7FC00000, "not finite"},
		{3, 4 + 8 * 128, 0, "parent 0"},
		{3, 4 + 8 * 128 + 24, 3, "firstChild 3 has another parent"},
		{3, 4 + 8 * 128 + 28, 5, "reached"},
		{3, 4 + 8 * 128 + 36, 7, "level 7"},
		{3, 4 + 8 * 148, 3, "3 words"},
		{3, 4 + 8 * 148 + 12, 1, "node 1, want"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(breakages); i++) {
		classic_fixture c;
		make(&c, HOB_PACK_RAW);
		hob_buf *files[] = {&c.files.meshes, &c.files.materials, &c.files.scene};
		hob_buf *f = files[breakages[i].kind - 1];
		hob_store_u32(f->data + breakages[i].offset, breakages[i].value);
		hob_error err = {0};
		assert_false(hob_classic_validate(hob_buf_bytes(f), (hob_classic_kind)breakages[i].kind, &err));
		if (!strstr(err.context, breakages[i].reason))
			fail_msg("breakage %zu: '%s' without '%s'", i, err.context, breakages[i].reason);
		release(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meshes_file_has_the_reference_bytes),
		cmocka_unit_test(flat_meshes_get_the_normals_of_their_planes),
		cmocka_unit_test(a_flat_mesh_with_normals_is_refused),
		cmocka_unit_test(quantised_vertices_are_dequantised),
		cmocka_unit_test(materials_file_has_the_reference_bytes),
		cmocka_unit_test(scene_file_has_the_reference_bytes),
		cmocka_unit_test(what_is_dropped_is_noted),
		cmocka_unit_test(default_material_is_appended_when_drawn),
		cmocka_unit_test(four_gibibytes_are_refused),
		cmocka_unit_test(at_most_seven_levels_are_stored),
		cmocka_unit_test(written_files_are_valid_and_recognised),
		cmocka_unit_test(reader_gives_back_records_and_strings),
		cmocka_unit_test(missing_files_are_an_error),
		cmocka_unit_test(damage_is_survived_and_prefixes_are_refused),
		cmocka_unit_test(each_rule_is_enforced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
