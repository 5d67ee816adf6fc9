#include "../models.h"
#include "core/material/material_bake.h"
#include "core/material/material_slots.h"
#include "core/material/name_rules.h"
#include "core/material/unique.h"

static hob_arena arena, scratch;
static hob_notes notes;

static int begin(void **state)
{
	(void)state;
	hob_arena_init(&arena, (size_t)1 << 28);
	hob_arena_init(&scratch, (size_t)1 << 28);
	notes = (hob_notes){.arena = &arena};
	return 0;
}

static int end(void **state)
{
	(void)state;
	hob_arena_release(&arena);
	hob_arena_release(&scratch);
	return 0;
}

static void bake(hob_model *m, bool name_rules)
{
	model_check(m);
	hob_material_bake(m, &(hob_material_options){.name_rules = name_rules}, &arena, &scratch, &notes);
	assert_int_equal(scratch.used, 0);
	model_check(m);
}

static uint32_t noted(const char *code)
{
	for (uint32_t i = 0; i < notes.count; i++)
		if (hob_str_equal(notes.items[i].code, hob_str_of(code)))
			return notes.items[i].count;
	return 0;
}

static uint32_t image(hob_model *m, const char *path)
{
	m->images[m->image_count] = (hob_image){.path = hob_str_of(path), .uri = hob_str_of(path)};
	return m->image_count++;
}

static void use(hob_material *material, hob_slot slot, uint32_t id)
{
	material->slots[slot].image = id;
}

static void nothing_is_fine(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	bake(&m, true);
	assert_int_equal(m.material_count, 0);
}

static void equal_materials_become_one(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	const char *names[] = {"a", "b", "a", "c", "b", "c"};
	for (int i = 0; i < 6; i++) {
		hob_material *material = model_material(&m, names[i]);
		material->roughness = names[i][0] == 'b' && i == 4 ? 0.25f : 0.5f;
		material->metallic = i == 2 ? -0.0f : 0.0f;
		model_mesh(&m, shape_grid(&arena, 1, 0, true, true), (uint32_t)i);
	}
	hob_variant_mapping mapping = {0, 4};
	hob_str variant = HOB_STR("v");
	m.variants = &variant, m.variant_count = 1;
	for (int i = 0; i < 2; i++)
		m.meshes[i].mappings = &mapping, m.meshes[i].mapping_count = 1;
	bake(&m, false);
	assert_int_equal(m.material_count, 4);
	const uint32_t expected[] = {0, 1, 0, 2, 3, 2};
	for (int i = 0; i < 6; i++)
		assert_int_equal(m.meshes[i].material, expected[i]);
	/* Both meshes share one mapping array, which must not be renumbered twice. */
	assert_int_equal(m.meshes[0].mappings[0].material, 3);
	assert_int_equal(m.meshes[1].mappings[0].material, 3);
	assert_int_equal(mapping.material, 4);
}

static void every_field_keeps_materials_apart(void **state)
{
	(void)state;
	/* Iterates over the float factors: changing any one must keep two materials distinct. */
	size_t first = offsetof(hob_material, base_color) / 4, last = offsetof(hob_material, slots) / 4;
	for (size_t i = first; i < last; i++) {
		hob_model m = model_new(&arena);
		hob_material *a = model_material(&m, "x"), *b = model_material(&m, "x");
		a->ext_mask = b->ext_mask = 0xFFF;
		float *value = (float *)(void *)b + i;
		*value = *value == 0.75f || isinf(*value) ? 1 : *value >= 1 ? *value * 0.5f : 0.75f;
		bool below_one_is_clamped =
			i == offsetof(hob_material, ior) / 4 || i == offsetof(hob_material, iridescence_ior) / 4;
		if (below_one_is_clamped)
			*value = 2;
		bake(&m, false);
		assert_int_equal(m.material_count, 2);
	}
}

static void equal_pictures_and_samplers_become_one(void **state)
{
	(void)state;
	static const uint8_t bytes[2][4] = {"abc", "abc"};
	hob_model m = model_new(&arena);
	uint32_t wood = image(&m, "wood.png");
	image(&m, "unused.png");
	uint32_t again = image(&m, "wood.png"), other = image(&m, "Wood.png");
	m.images[m.image_count++] = (hob_image){.bytes = {bytes[0], 4}};
	m.images[m.image_count++] = (hob_image){.bytes = {bytes[1], 4}, .name = HOB_STR("same bytes")};
	m.sampler_count = 3;
	m.samplers[1] = (hob_sampler){.wrap_u = HOB_WRAP_CLAMP};
	const uint32_t used[] = {wood, again, other, 4, 5};
	for (uint32_t i = 0; i < 5; i++) {
		hob_material *material = model_material(&m, "m");
		use(material, HOB_SLOT_BASE_COLOR, used[i]);
		material->slots[HOB_SLOT_BASE_COLOR].sampler = i % 2 ? 2 : 0;
	}
	bake(&m, false);
	assert_int_equal(m.image_count, 3);
	assert_int_equal(m.sampler_count, 1);
	assert_int_equal(m.material_count, 3);
	assert_true(hob_str_equal(m.images[1].path, HOB_STR("Wood.png")));
	assert_int_equal(m.images[2].bytes.size, 4);
}

static void values_come_into_range_with_a_note(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	hob_material *x = model_material(&m, "x");
	x->base_color[1] = 1.5f;
	x->roughness = -1;
	x->ior = 0;
	x->clearcoat = 7;
	bake(&m, false);
	x = &m.materials[0];
	assert_true(x->base_color[1] == 1 && x->roughness == 0 && x->ior == 0 && x->clearcoat == 1);
	assert_int_equal(notes.count, 3);
	assert_int_equal(noted("material.value-clamped"), 1);
}

static void default_material_is_in_range(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	hob_material *x = model_material(&m, "x"), before;
	x->ext_mask = 0xFFFF;
	before = *x;
	bake(&m, true);
	assert_int_equal(notes.count, 0);
	assert_memory_equal(&before, &m.materials[0], sizeof before);
}

static void bright_emission_moves_to_its_strength(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	hob_material *x = model_material(&m, "lamp");
	x->emissive[0] = 8, x->emissive[1] = 2, x->emissive_strength = 3;
	bake(&m, false);
	x = &m.materials[0];
	assert_true(x->emissive[0] == 1 && x->emissive[1] == 0.25f && x->emissive_strength == 24);
	assert_true(x->ext_mask & 1u << HOB_MATERIAL_EMISSIVE_STRENGTH);
	assert_int_equal(notes.count, 0);
}

static void hidden_textures_are_left_out(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	hob_material *x = model_material(&m, "x");
	uint32_t glow = image(&m, "glow.png"), coat = image(&m, "coat.png"), base = image(&m, "base.png");
	use(x, HOB_SLOT_EMISSIVE, glow);  /* factor is black */
	use(x, HOB_SLOT_CLEARCOAT, coat); /* extension absent */
	use(x, HOB_SLOT_BASE_COLOR, base);
	x->slots[HOB_SLOT_NORMAL].uv_set = 3;
	bake(&m, false);
	assert_int_equal(m.image_count, 1);
	assert_int_equal(m.materials[0].slots[HOB_SLOT_BASE_COLOR].image, 0);
	assert_int_equal(m.materials[0].slots[HOB_SLOT_EMISSIVE].image, HOB_NONE);
	assert_int_equal(m.materials[0].slots[HOB_SLOT_NORMAL].uv_set, 0);
	assert_int_equal(notes.count, 2);
}

static void missing_texture_coordinates_are_noted(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	hob_material *x = model_material(&m, "x");
	use(x, HOB_SLOT_BASE_COLOR, image(&m, "base.png"));
	x->slots[HOB_SLOT_BASE_COLOR].uv_set = 1;
	model_mesh(&m, shape_grid(&arena, 1, 0, true, true), 0);
	bake(&m, false);
	assert_int_equal(noted("material.missing-uv"), 1);
}

static void lines_and_points_need_no_texture_coordinates(void **state)
{
	(void)state;
	static const hob_topology without_area[] = {HOB_LINES, HOB_POINTS};
	for (size_t i = 0; i < HOB_COUNT_OF(without_area); i++) {
		hob_model m = model_new(&arena);
		use(model_material(&m, "x"), HOB_SLOT_BASE_COLOR, image(&m, "base.png"));
		hob_mesh mesh = {.topology = without_area[i]};
		mesh.vertex_count = 2;
		mesh.position = HOB_NEW(&arena, float, 6);
		model_mesh(&m, mesh, 0);
		bake(&m, false);
		assert_int_equal(notes.count, 0);
	}
}

static void name_rules_follow_the_reference(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	const char *names[] = {"GlassMetal", "fiberglass", "MyBottle", "Vespa_Headlight", "Metal", "plain"};
	for (int i = 0; i < 6; i++)
		model_material(&m, names[i]);
	use(&m.materials[5], HOB_SLOT_BASE_COLOR, image(&m, "tex/grey_30.png"));
	hob_model off = m;
	bake(&m, true);
	const hob_material *x = m.materials;
	assert_true(x[0].alpha_mode == HOB_ALPHA_BLEND && x[0].base_color[3] == 0.9f &&
				x[0].alpha_cutoff == 0.75f);
	assert_true(x[0].metallic == 1 && x[0].roughness == 1);
	assert_true(x[1].alpha_mode == HOB_ALPHA_OPAQUE);
	assert_true(x[2].base_color[3] == 0.6f && x[2].alpha_cutoff == 0.54f);
	assert_true(x[3].alpha_mode == HOB_ALPHA_BLEND);
	assert_true(x[4].alpha_mode == HOB_ALPHA_OPAQUE && x[4].metallic == 1 && x[4].roughness == 0.1f);
	assert_true(x[5].alpha_mode == HOB_ALPHA_BLEND && x[5].base_color[3] == 1);
	bake(&off, false);
	for (int i = 0; i < 6; i++)
		assert_true(off.materials[i].alpha_mode == HOB_ALPHA_OPAQUE);
}

static void every_slot_has_a_name(void **state)
{
	(void)state;
	for (int s = 0; s < HOB_SLOT_COUNT; s++)
		assert_non_null(hob_slot_name((hob_slot)s));
}

static bool equal_numbers(const void *context, uint32_t a, uint32_t b)
{
	const uint8_t *numbers = context;
	return numbers[a] == numbers[b];
}

static void unique_matches_the_slow_way(void **state)
{
	(void)state;
	enum { COUNT = 500 };
	uint64_t seed = 3;
	for (uint32_t range = 1; range < 256; range *= 3) {
		uint8_t numbers[COUNT];
		uint64_t hashes[COUNT];
		uint32_t first[COUNT], table[1024];
		assert_true(hob_unique_table_size(COUNT) <= 1024);
		for (int i = 0; i < COUNT; i++) {
			numbers[i] = (uint8_t)(shape_random(&seed) % range);
			hashes[i] = numbers[i] % 3; /* collisions on purpose */
		}
		hob_unique(COUNT, hashes, equal_numbers, numbers, first, table);
		for (uint32_t i = 0; i < COUNT; i++) {
			uint32_t expected = 0;
			while (numbers[expected] != numbers[i])
				expected++;
			assert_int_equal(first[i], expected);
		}
	}
}

static bool bake_within(void *model, hob_error *err)
{
	(void)err;
	hob_material_bake(model, &(hob_material_options){0}, &arena, &scratch, NULL);
	return true;
}

static void every_failed_allocation_leaves_the_model(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	for (int i = 0; i < 3; i++)
		use(model_material(&m, "m"), HOB_SLOT_BASE_COLOR, image(&m, "a.png"));
	hob_variant_mapping mapping = {0, 2};
	hob_str variant = HOB_STR("v");
	m.variants = &variant, m.variant_count = 1;
	model_mesh(&m, shape_grid(&arena, 1, 0, true, true), 2);
	m.meshes[0].mappings = &mapping, m.meshes[0].mapping_count = 1;
	for (int which = 0; which < 2; which++)
		for (uint32_t n = 1;; n++) {
			hob_model copy = m;
			hob_mesh mesh = m.meshes[0];
			hob_arena *failing = which ? &scratch : &arena;
			hob_error err = {0};
			failing->fail_at = n;
			bool ok = hob_guarded(bake_within, &copy, &err);
			bool fired = failing->fail_at == 0;
			failing->fail_at = 0;
			if (ok && !fired) {
				m.meshes[0] = mesh;
				break;
			}
			assert_false(ok);
			assert_int_equal(err.code, HOB_ERR_MEMORY);
			assert_memory_equal(&copy, &m, sizeof m);
			assert_memory_equal(&mesh, &m.meshes[0], sizeof mesh);
		}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_fine),
		TEST(equal_materials_become_one),
		TEST(every_field_keeps_materials_apart),
		TEST(equal_pictures_and_samplers_become_one),
		TEST(values_come_into_range_with_a_note),
		TEST(default_material_is_in_range),
		TEST(bright_emission_moves_to_its_strength),
		TEST(hidden_textures_are_left_out),
		TEST(missing_texture_coordinates_are_noted),
		TEST(lines_and_points_need_no_texture_coordinates),
		TEST(name_rules_follow_the_reference),
		TEST(every_slot_has_a_name),
		TEST(unique_matches_the_slow_way),
		TEST(every_failed_allocation_leaves_the_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
