#include "tests/unit/import/reader_fixture.h"

static reader *with_material(const char *body)
{
	static char text[4096];
	snprintf(text, sizeof text, "newmtl m\n%s\n", body);
	reader *r = reader_new(&hob_obj_importer);
	reader_add(r, "model.obj", "mtllib m.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\n");
	reader_add(r, "m.mtl", text);
	reader_add(r, "a.png", "picture");
	reader_add(r, "tex/b c.png", "picture");
	return r;
}

static const hob_material *material_of(reader *r)
{
	const hob_model *model = reader_model(r);
	assert_int_equal(model->material_count, 1);
	return &model->materials[0];
}

static const hob_image *image_in(const reader *r, hob_slot slot)
{
	uint32_t id = r->model.materials[0].slots[slot].image;
	assert_true(id < r->model.image_count);
	return &r->model.images[id];
}

static void phong_becomes_metallic_roughness(void **state)
{
	(void)state;
	reader *r = with_material("Kd 0.1 0.2 0.3\nKe 1 0 0.5\nKs 0.5 0.5 0.5\nNs 30\nNi 1.5\nillum 2");
	const hob_material *m = material_of(r);
	assert_vector(m->base_color, 0.1f, 0.2f, 0.3f);
	assert_near(m->base_color[3], 1);
	assert_vector(m->emissive, 1, 0, 0.5f);
	assert_near(m->metallic, 0);
	assert_near(m->roughness, 0.5f);
	assert_near(m->ior, 1.5f);
	assert_int_equal(m->alpha_mode, HOB_ALPHA_OPAQUE);
	assert_int_equal(m->ext_mask, 1u << HOB_MATERIAL_IOR);
	reader_free(r);
}

static void blender_files_get_blenders_roughness_back(void **state)
{
	(void)state;
	static const struct {
		const char *head;
		float ns;
	} cases[] = {{"# Blender 3.6.0 MTL File: 'x'", 250}, {"# Blender MTL File: 'x'", 225}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char text[128];
		snprintf(text, sizeof text, "%s\nnewmtl m\nNs %g\n", cases[i].head, (double)cases[i].ns);
		reader *r = with_material("");
		r->files[1] = (memory_file){"m.mtl", {(const uint8_t *)text, strlen(text)}};
		assert_near(material_of(r)->roughness, 0.5f);
		reader_free(r);
	}
}

static void the_pbr_extension_is_read(void **state)
{
	(void)state;
	reader *r = with_material("Pr 0.25\nPm 0.75\nPs 0.5\nPc 1\nPcr 0.125\naniso 0.5\nanisor 0.25\nNs 500");
	const hob_material *m = material_of(r);
	assert_near(m->roughness, 0.25f);
	assert_near(m->metallic, 0.75f);
	assert_vector(m->sheen_color, 0.5f, 0.5f, 0.5f);
	assert_near(m->clearcoat, 1);
	assert_near(m->clearcoat_roughness, 0.125f);
	assert_near(m->anisotropy, 0.5f);
	assert_near(m->anisotropy_rotation, 1.5707963f);
	assert_int_equal(m->ext_mask,
					 1u << HOB_MATERIAL_SHEEN | 1u << HOB_MATERIAL_CLEARCOAT | 1u << HOB_MATERIAL_ANISOTROPY);
	reader_free(r);
	/* Exporters write unused statements of the extension with zeros. */
	r = with_material("Ps 0\nPc 0\nPcr 0\naniso 0\nanisor 0");
	assert_int_equal(material_of(r)->ext_mask, 0);
	reader_free(r);
}

static void longer_names_of_maps_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		hob_slot slot;
		hob_channel_choice channel;
	} cases[] = {
		{"map_emissive", HOB_SLOT_EMISSIVE, 0},
		{"map_normal", HOB_SLOT_NORMAL, 0},
		{"map_norm", HOB_SLOT_NORMAL, 0},
		{"map_roughness", HOB_SLOT_ROUGHNESS, 0},
		{"map_metallic", HOB_SLOT_METALLIC, 0},
		{"map_Pc", HOB_SLOT_CLEARCOAT, 0},
		{"map_Pcr", HOB_SLOT_CLEARCOAT_ROUGH, 0},
		{"map_ORM", HOB_SLOT_METAL_ROUGH, 0},
		{"map_ORM", HOB_SLOT_OCCLUSION, 0},
		{"map_RMA", HOB_SLOT_ROUGHNESS, HOB_CHANNEL_R},
		{"map_RMA", HOB_SLOT_METALLIC, HOB_CHANNEL_G},
		{"map_RMA", HOB_SLOT_OCCLUSION, HOB_CHANNEL_B},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char body[64];
		snprintf(body, sizeof body, "%s a.png", cases[i].name);
		reader *r = with_material(body);
		const hob_material *m = material_of(r);
		assert_non_null(image_in(r, cases[i].slot));
		assert_int_equal(m->slots[cases[i].slot].channel, cases[i].channel);
		assert_int_equal(r->notes.count, 0);
		reader_free(r);
	}
	reader *r = with_material("map_ORM a.png\nNs 5");
	assert_near(material_of(r)->metallic, 1);
	assert_near(r->model.materials[0].roughness, 1);
	reader_free(r);
	r = with_material("map_Pc a.png\nmap_Pcr a.png");
	assert_near(material_of(r)->clearcoat, 1);
	assert_near(r->model.materials[0].clearcoat_roughness, 1);
	reader_free(r);
}

static void options_may_follow_the_name(void **state)
{
	(void)state;
	reader *r = with_material("map_Bump a.png -bm 0.5");
	assert_near(material_of(r)->normal_scale, 0.5f);
	assert_name(image_in(r, HOB_SLOT_BUMP)->uri, "a.png");
	assert_int_equal(r->notes.count, 0);
	reader_free(r);
	r = with_material("map_Kd tex/b c.png -s 2 3 1 -clamp on");
	assert_near(material_of(r)->slots[HOB_SLOT_BASE_COLOR].scale[1], 3);
	assert_name(image_in(r, HOB_SLOT_BASE_COLOR)->uri, "tex/b c.png");
	reader_free(r);
	/* A file name that only looks like an option. */
	r = with_material("map_Kd a -s b.png");
	assert_non_null(material_of(r));
	assert_name(image_in(r, HOB_SLOT_BASE_COLOR)->uri, "a -s b.png");
	reader_free(r);
}

static void what_is_left_out_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *body, *code;
	} cases[] = {
		{"Kd spectral a.rfl 1", "mtl.ignored"},
		{"Tf 0.5 0.6 0.7", "mtl.ignored"},
		{"Tf 1 1 1", NULL},
		{"Tf 0 0 0", NULL},
		{"map_Kd -mm 0.2 1.5 a.png", "mtl.ignored"},
		{"map_Kd -mm 0 1 a.png", NULL},
		{"map_Kd -t 0.1 a.png", "mtl.ignored"},
		{"map_Kd -t 0 0 0 a.png", NULL},
		{"map_aniso a.png", "mtl.map-ignored"},
		{"map_Ns a.png", "mtl.map-ignored"},
		{"map_anything a.png", "mtl.map-ignored"},
		{"refl -type sphere a.png", "mtl.map-ignored"},
		{"map_Ka a.png", NULL},
		{"map_aat on", NULL},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = with_material(cases[i].body);
		assert_non_null(material_of(r));
		assert_int_equal(r->notes.count, cases[i].code != NULL);
		assert_true(!cases[i].code || reader_noted(r, cases[i].code));
		reader_free(r);
	}
	/* White in CIE XYZ. */
	reader *r = with_material("Kd xyz 0.9505 1 1.089");
	const float *c = material_of(r)->base_color;
	assert_true(c[0] > 0.99f && c[0] < 1.01f && c[1] > 0.99f && c[1] < 1.01f && c[2] > 0.99f && c[2] < 1.01f);
	reader_free(r);
}

static void opacity_is_d_or_else_one_minus_tr(void **state)
{
	(void)state;
	static const struct {
		const char *body;
		float opacity;
		hob_alpha_mode mode;
		const char *note;
	} cases[] = {
		{"d 0.25", 0.25f, HOB_ALPHA_BLEND, NULL},
		{"d -halo 0.25", 0.25f, HOB_ALPHA_BLEND, NULL},
		{"Tr 0.75", 0.25f, HOB_ALPHA_BLEND, NULL},
		{"d 1\nTr 1", 1, HOB_ALPHA_OPAQUE, NULL},
		{"Tr 0.9\nd 0.5", 0.5f, HOB_ALPHA_BLEND, NULL},
		{"Tr 1", 1, HOB_ALPHA_OPAQUE, "mtl.tr"},
		{"Tr 0", 1, HOB_ALPHA_OPAQUE, NULL},
		{"d 0", 0, HOB_ALPHA_BLEND, "material.invisible"},
		{"d 0.5\nd nan\nd x", 0.5f, HOB_ALPHA_BLEND, NULL},
		{"map_d a.png", 1, HOB_ALPHA_OPAQUE, NULL},
		{"d 0.5\nmap_d a.png", 0.5f, HOB_ALPHA_BLEND, NULL},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = with_material(cases[i].body);
		const hob_material *m = material_of(r);
		assert_near(m->base_color[3], cases[i].opacity);
		assert_int_equal(m->alpha_mode, cases[i].mode);
		assert_int_equal(r->notes.count, cases[i].note != NULL);
		assert_true(!cases[i].note || reader_noted(r, cases[i].note));
		reader_free(r);
	}
}

static void maps_fill_their_slots(void **state)
{
	(void)state;
	static const struct {
		const char *body;
		hob_slot slot;
	} cases[] = {
		{"map_Kd a.png", HOB_SLOT_BASE_COLOR},	   {"MAP_KD a.png", HOB_SLOT_BASE_COLOR},
		{"map_Ks a.png", HOB_SLOT_SPECULAR_COLOR}, {"map_Ke a.png", HOB_SLOT_EMISSIVE},
		{"map_d a.png", HOB_SLOT_OPACITY},		   {"map_opacity a.png", HOB_SLOT_OPACITY},
		{"map_Bump a.png", HOB_SLOT_BUMP},		   {"bump a.png", HOB_SLOT_BUMP},
		{"norm a.png", HOB_SLOT_NORMAL},		   {"map_Pr a.png", HOB_SLOT_ROUGHNESS},
		{"map_Pm a.png", HOB_SLOT_METALLIC},	   {"map_Ps a.png", HOB_SLOT_SHEEN_COLOR},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = with_material(cases[i].body);
		const hob_material *m = material_of(r);
		for (int slot = 0; slot < HOB_SLOT_COUNT; slot++)
			assert_int_equal(m->slots[slot].image, slot == (int)cases[i].slot ? 0 : HOB_NONE);
		assert_name(image_in(r, cases[i].slot)->path, "a.png");
		assert_int_equal(r->notes.count, 0);
		reader_free(r);
	}
}

static void imfchan_chooses_the_channel(void **state)
{
	(void)state;
	static const struct {
		const char *body;
		hob_channel_choice channel;
	} cases[] = {
		{"map_d -imfchan r a.png", HOB_CHANNEL_R},
		{"map_d -imfchan g -clamp on a.png", HOB_CHANNEL_G},
		{"map_d -IMFCHAN B a.png", HOB_CHANNEL_B},
		{"map_d -imfchan m a.png", HOB_CHANNEL_A},
		{"map_d -imfchan l a.png", HOB_CHANNEL_LUMINANCE},
		{"map_d -imfchan z a.png", HOB_CHANNEL_OF_SLOT},
		{"map_d a.png", HOB_CHANNEL_OF_SLOT},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = with_material(cases[i].body);
		assert_int_equal(material_of(r)->slots[HOB_SLOT_OPACITY].channel, cases[i].channel);
		assert_name(image_in(r, HOB_SLOT_OPACITY)->path, "a.png");
		reader_free(r);
	}
}

static void a_metal_map_makes_metal(void **state)
{
	(void)state;
	reader *r = with_material("map_Pm a.png\nmap_Pr a.png\nNs 1000");
	assert_near(material_of(r)->metallic, 1);
	assert_near(r->model.materials[0].roughness, 1);
	assert_int_equal(r->model.image_count, 1);
	reader_free(r);
}

static void options_stand_before_the_file(void **state)
{
	(void)state;
	reader *r =
		with_material("map_Kd -blendu on -blendv off -boost 2 -mm 0 1 -o 0.5 0.25 0 -s 2 4 1 -t 0 0 0 "
					  "-texres 512 -clamp on -imfchan l -type sphere -cc off tex/b c.png");
	const hob_texture_ref *ref = &material_of(r)->slots[HOB_SLOT_BASE_COLOR];
	assert_name(image_in(r, HOB_SLOT_BASE_COLOR)->path, "tex/b c.png");
	assert_near(ref->scale[0], 2);
	assert_near(ref->scale[1], 4);
	assert_near(ref->offset[0], 0.5f);
	/* v' = 4 v + 0.25 from the top: 1 - (4 (1 - w) + 0.25). */
	assert_near(ref->offset[1], -3.25f);
	assert_int_equal(ref->sampler, 0);
	assert_int_equal(r->model.sampler_count, 1);
	assert_int_equal(r->model.samplers[0].wrap_u, HOB_WRAP_CLAMP);
	reader_free(r);
	r = with_material("bump -bm 0.5 \"tex/b c.png\"");
	assert_near(material_of(r)->normal_scale, 0.5f);
	assert_name(image_in(r, HOB_SLOT_BUMP)->path, "tex/b c.png");
	reader_free(r);
	r = with_material("map_Kd -s 2 a.png");
	assert_near(material_of(r)->slots[HOB_SLOT_BASE_COLOR].scale[0], 2);
	assert_near(r->model.materials[0].slots[HOB_SLOT_BASE_COLOR].scale[1], 1);
	reader_free(r);
}

static void normal_maps_behind_bump_are_recognised(void **state)
{
	(void)state;
	static const char *const files[] = {"map_bump wall_Normal.png", "bump wall_nrm.jpg",
										"map_bump wall_n.png"};
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++) {
		reader *r = with_material(files[i]);
		assert_int_equal(material_of(r)->slots[HOB_SLOT_NORMAL].image, 0);
		assert_int_equal(r->model.materials[0].slots[HOB_SLOT_BUMP].image, HOB_NONE);
		reader_free(r);
	}
}

static void black_behind_a_map_is_no_colour(void **state)
{
	(void)state;
	reader *r = with_material("Kd 0 0 0\nKe 0 0 0\nmap_Kd a.png\nmap_Ke a.png");
	assert_vector(material_of(r)->base_color, 1, 1, 1);
	assert_vector(r->model.materials[0].emissive, 1, 1, 1);
	reader_free(r);
	r = with_material("Kd 0.5 0 0\nmap_Kd a.png");
	assert_vector(material_of(r)->base_color, 0.5f, 0, 0);
	reader_free(r);
}

static void maps_that_have_no_slot_are_noted(void **state)
{
	(void)state;
	static const char *const bodies[] = {"refl -type sphere a.png", "map_Ns a.png", "disp a.png",
										 "decal a.png"};
	for (size_t i = 0; i < HOB_COUNT_OF(bodies); i++) {
		reader *r = with_material(bodies[i]);
		material_of(r);
		assert_int_equal(r->model.image_count, 0);
		assert_true(reader_noted(r, "mtl.map-ignored"));
		reader_free(r);
	}
}

static void broken_values_change_nothing(void **state)
{
	(void)state;
	reader *r =
		with_material("Kd\nKd red\nKd nan 0 0\nKe -1 -1 -1\nd x\nNs\nNs 1e400\nPr 5\nPm -1\nNi 0\nillum\n"
					  "map_Kd\nmap_Kd -s\nKs spectral file.rfl");
	const hob_material *m = material_of(r);
	assert_vector(m->base_color, 1, 1, 1);
	assert_vector(m->emissive, 0, 0, 0);
	assert_near(m->base_color[3], 1);
	assert_near(m->roughness, 1);
	assert_near(m->metallic, 0);
	assert_int_equal(r->model.image_count, 0);
	reader_free(r);
}

static void one_picture_is_listed_once(void **state)
{
	(void)state;
	reader *r = with_material("map_Kd a.png\nmap_Ke ./a.png\nmap_d A.PNG\nmap_Ks gone.png\nmap_Pr gone.png");
	material_of(r);
	assert_int_equal(r->model.image_count, 2);
	assert_name(r->model.images[1].path, "gone.png");
	assert_name(r->model.images[1].uri, "gone.png");
	reader_free(r);
}

static void damaged_libraries_do_no_harm(void **state)
{
	(void)state;
	reader *r =
		with_material("Kd 1 .5 0\nNs 10\nmap_Kd -s 2 2 -o 1 -clamp on a.png\nbump -bm 2 b.png\nd .5\nTr .5");
	hob_bytes whole = r->files[1].bytes;
	uint8_t *copy = malloc(whole.size);
	for (size_t i = 0; i < whole.size; i++)
		for (int flip = 1; flip < 256; flip += 5) {
			memcpy(copy, whole.data, whole.size);
			copy[i] ^= (uint8_t)flip;
			r->files[1].bytes = (hob_bytes){copy, whole.size};
			assert_true(reader_run(r));
		}
	free(copy);
	for (size_t size = 0; size < whole.size; size++) {
		uint8_t *cut = malloc(size ? size : 1);
		memcpy(cut, whole.data, size);
		r->files[1].bytes = (hob_bytes){cut, size};
		assert_true(reader_run(r));
		free(cut);
	}
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(longer_names_of_maps_are_read),
		cmocka_unit_test(options_may_follow_the_name),
		cmocka_unit_test(what_is_left_out_is_told),
		cmocka_unit_test(phong_becomes_metallic_roughness),
		cmocka_unit_test(blender_files_get_blenders_roughness_back),
		cmocka_unit_test(the_pbr_extension_is_read),
		cmocka_unit_test(opacity_is_d_or_else_one_minus_tr),
		cmocka_unit_test(maps_fill_their_slots),
		cmocka_unit_test(imfchan_chooses_the_channel),
		cmocka_unit_test(a_metal_map_makes_metal),
		cmocka_unit_test(options_stand_before_the_file),
		cmocka_unit_test(normal_maps_behind_bump_are_recognised),
		cmocka_unit_test(black_behind_a_map_is_no_colour),
		cmocka_unit_test(maps_that_have_no_slot_are_noted),
		cmocka_unit_test(broken_values_change_nothing),
		cmocka_unit_test(one_picture_is_listed_once),
		cmocka_unit_test(damaged_libraries_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
