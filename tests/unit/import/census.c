/* Compares the content of source and model: a loss without an explaining note is reported. */
#include "tests/unit/import/reader_fixture.h"

#include "core/import/census.h"

static hob_notes *fresh_notes(hob_arena *arena)
{
	static hob_notes notes;
	hob_arena_init(arena, 1 << 20);
	memset(&notes, 0, sizeof notes);
	notes.arena = arena;
	return &notes;
}

static void a_loss_that_nothing_explains_is_told(void **state)
{
	(void)state;
	hob_arena arena;
	hob_notes *notes = fresh_notes(&arena);
	hob_census seen = {{0}}, held = {{0}};
	hob_census_add(&seen, HOB_CENSUS_CLIPS, 3);
	hob_census_add(&held, HOB_CENSUS_CLIPS, 1);
	hob_census_compare(&seen, &held, notes);
	assert_int_equal(notes->count, 1);
	assert_name(notes->items[0].code, "import.lost");
	assert_true(hob_str_find(notes->items[0].text, HOB_STR("3 clips, of which 1 "), 0) != SIZE_MAX);
	hob_arena_release(&arena);
}

static void a_note_explains_its_own_kinds_only(void **state)
{
	(void)state;
	hob_arena arena;
	hob_notes *notes = fresh_notes(&arena);
	hob_census seen = {{0}}, held = {{0}};
	hob_note_add(notes, HOB_NOTE_WARNING, "collada.light-ignored", "one");
	hob_census_add(&seen, HOB_CENSUS_LIGHTS, 1);
	hob_census_compare(&seen, &held, notes);
	assert_int_equal(notes->count, 1);
	hob_census_add(&seen, HOB_CENSUS_CAMERAS, 1);
	hob_census_compare(&seen, &held, notes);
	assert_int_equal(notes->count, 2);
	hob_arena_release(&arena);
}

static void more_than_was_seen_is_no_loss(void **state)
{
	(void)state;
	hob_arena arena;
	hob_notes *notes = fresh_notes(&arena);
	hob_census seen = {{0}}, held = {{1, 2, 3}};
	hob_census_compare(&seen, &held, notes);
	assert_int_equal(notes->count, 0);
	hob_arena_release(&arena);
}

/* Two meshes of one source mesh count once; so does a joint of two skins. */
static void a_model_is_counted_as_sources_count(void **state)
{
	(void)state;
	hob_arena arena;
	(void)fresh_notes(&arena);
	float color[4] = {0}, position[3] = {0};
	uint32_t index = 0, joints[2][2] = {{0, 1}, {1, 2}};
	hob_mesh meshes[3] = {
		{.source_mesh = 5, .index_count = 1, .indices = &index, .position = position, .vertex_count = 1},
		{.source_mesh = 5, .index_count = 1, .color = {color}},
		{.source_mesh = 6, .influence_count = 4},
	};
	hob_skin skins[2] = {{.joint_count = 2, .joints = joints[0]}, {.joint_count = 2, .joints = joints[1]}};
	hob_material materials[2];
	hob_material_init(&materials[0]);
	hob_material_init(&materials[1]);
	materials[1].slots[HOB_SLOT_BUMP].image = 0;
	hob_model model = {.meshes = meshes,
					   .mesh_count = 3,
					   .skins = skins,
					   .skin_count = 2,
					   .node_count = 3,
					   .materials = materials,
					   .material_count = 2};
	hob_census held;
	hob_census_of_model(&model, &arena, &held);
	assert_int_equal(held.count[HOB_CENSUS_SURFACES], 1);
	assert_int_equal(held.count[HOB_CENSUS_COLORED], 1);
	assert_int_equal(held.count[HOB_CENSUS_SKINNED], 1);
	assert_int_equal(held.count[HOB_CENSUS_JOINTS], 3);
	assert_int_equal(held.count[HOB_CENSUS_COLOR_MAPS], 0);
	assert_int_equal(held.count[HOB_CENSUS_NORMAL_MAPS], 1);
	hob_arena_release(&arena);
}

/* Every line of the table names at least one kind, and only existing ones. */
static void every_reason_is_a_kind(void **state)
{
	(void)state;
	static const unsigned kinds[] = {
#define HOB_CENSUS_KIND(kind, what)
#define HOB_CENSUS_WHY(code, kinds) kinds,
#include "core/import/census.def"
#undef HOB_CENSUS_KIND
#undef HOB_CENSUS_WHY
	};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		assert_true(kinds[i] != 0 && kinds[i] < 1u << HOB_CENSUS_KINDS);
}

/* Content of OBJ, PLY and STL files, counted from their bytes, equals that of the model. */
static void plain_files_are_counted(void **state)
{
	(void)state;
	static const struct {
		const hob_importer *importer;
		const char *path, *text;
		uint32_t colored, color_maps, normal_maps, emissive_maps;
	} rows[] = {
		{&hob_obj_importer, "a.obj", "v 0 0 0# one two three\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", 0, 0, 0, 0},
		{&hob_obj_importer, "a.obj", "v 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 0 1 0 1 0 0\nf 1 2 3\n", 1, 0, 0, 0},
		{&hob_obj_importer, "a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n#MRGB ffff0000ffff0000ffff0000\nf 1 2 3\n",
		 1, 0, 0, 0},
		{&hob_obj_importer, "a.obj", "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl m\nf 1 2 3\n", 0, 1, 1,
		 1},
		{&hob_obj_importer, "a.obj", "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl n\nf 1 2 3\n", 0, 0, 1,
		 0},
		{&hob_ply_importer, "a.ply",
		 "ply\nformat ascii 1.0\ncomment TextureFile t.png\nelement vertex "
		 "3\nproperty float x\nproperty float y\n"
		 "property float z\nproperty uchar red\nproperty uchar green\nproperty "
		 "uchar blue\nelement face 1\n"
		 "property list uchar int vertex_indices\nend_header\n0 0 0 1 2 3\n1 0 0 "
		 "1 2 3\n0 1 0 1 2 3\n3 0 1 2\n",
		 1, 1, 0, 0},
		{&hob_stl_importer, "a.stl",
		 "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 "
		 "0\nvertex 0 1 0\nendloop\nendfacet\nendsolid\n",
		 0, 0, 0, 0},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		reader *r = reader_new(rows[i].importer);
		hob_census held;
		reader_add(r, rows[i].path, rows[i].text);
		reader_add(r, "a.mtl",
				   "newmtl m\nmap_Kd a.png\nbump b.png\nmap_Ke c.png\nnewmtl "
				   "n\nnorm b.png\nmap_Kd\n");
		reader_model(r);
		assert_int_equal(r->seen.count[HOB_CENSUS_SURFACES], 1);
		assert_int_equal(r->seen.count[HOB_CENSUS_COLORED], rows[i].colored);
		assert_int_equal(r->seen.count[HOB_CENSUS_COLOR_MAPS], rows[i].color_maps);
		assert_int_equal(r->seen.count[HOB_CENSUS_NORMAL_MAPS], rows[i].normal_maps);
		assert_int_equal(r->seen.count[HOB_CENSUS_EMISSIVE_MAPS], rows[i].emissive_maps);
		hob_census_of_model(&r->model, &r->scratch, &held);
		hob_census_compare(&r->seen, &held, &r->notes);
		assert_false(reader_noted(r, "import.lost"));
		reader_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loss_that_nothing_explains_is_told),
		cmocka_unit_test(a_note_explains_its_own_kinds_only),
		cmocka_unit_test(more_than_was_seen_is_no_loss),
		cmocka_unit_test(a_model_is_counted_as_sources_count),
		cmocka_unit_test(every_reason_is_a_kind),
		cmocka_unit_test(plain_files_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
