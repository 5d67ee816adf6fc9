#include "texture_bench.h"

#include <math.h>

/* Makes `image` from the pictures at two paths; "" for none. */
static void make_image(bench *b, uint32_t image, hob_made_image *how, const char *diffuse,
					   const char *specular)
{
	how->has_diffuse = *diffuse != 0, how->has_specular = *specular != 0;
	how->diffuse = (hob_image){.uri = hob_str_of(diffuse), .path = hob_str_of(diffuse)};
	how->specular = (hob_image){.uri = hob_str_of(specular), .path = hob_str_of(specular)};
	b->images[image] = (hob_image){.name = HOB_STR("made"), .made = how};
	b->request.image_count = b->request.image_count > image + 1 ? b->request.image_count : image + 1;
}

static double light(uint8_t code)
{
	double c = code / 255.0;
	return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

/* Definition of the two models: diffuse d (1 - s) and specular s on one side, base (1 - 0.04)(1 - metallic)
 * and 0.04 (1 - metallic) + base * metallic on the other. For greys, and for pure metals or dielectrics, both
 * agree. */
static void specular_glossiness_reflects_as_before(void **state)
{
	(void)state;
	bench *b = open_bench();
	uint8_t diffuse[16 * 16 * 4], specular[16 * 16 * 4];
	for (int i = 0; i < 256; i++) {
		uint8_t d = (uint8_t)(i % 16 * 12), s = (uint8_t)(70 + i / 16 * 12);
		memcpy(diffuse + 4 * i, (uint8_t[4]){d, d, d, (uint8_t)i}, 4);
		memcpy(specular + 4 * i, (uint8_t[4]){s, s, s, (uint8_t)(255 - i)}, 4);
	}
	memcpy(diffuse, (uint8_t[4]){230, 128, 20, 9}, 4);
	memcpy(specular, (uint8_t[4]){30, 30, 30, 0}, 4);
	memcpy(diffuse + 4, (uint8_t[4]){0, 0, 0, 9}, 4);
	memcpy(specular + 4, (uint8_t[4]){255, 200, 90, 255}, 4);
	add_file(b, "props/d.png", diffuse, 16, 16, false);
	add_file(b, "props/s.png", specular, 16, 16, false);
	hob_made_image how[2] = {{.diffuse_factor = {1, 1, 1}, .specular_factor = {1, 1, 1}, .glossiness = 0.5f},
							 {.is_metal_rough = true,
							  .diffuse_factor = {1, 1, 1},
							  .specular_factor = {1, 1, 1},
							  .glossiness = 0.5f}};
	make_image(b, 0, &how[0], "props/d.png", "props/s.png");
	make_image(b, 1, &how[1], "props/d.png", "props/s.png");
	b->materials[0].alpha_mode = HOB_ALPHA_BLEND;
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = 0;
	b->materials[0].slots[HOB_SLOT_METAL_ROUGH].image = 1;
	assert_true(bake(b));
	assert_int_equal(b->count, 2);
	assert_int_equal(b->notes.count, 0);
	uint32_t width, height;
	const uint8_t *base =
		level_of(b, b->out.materials[0].slots[HOB_SLOT_BASE_COLOR].image, 0, &width, &height);
	const uint8_t *mask =
		level_of(b, b->out.materials[0].slots[HOB_SLOT_METAL_ROUGH].image, 0, &width, &height);
	assert_int_equal(width, 16);
	for (int i = 0; i < 256; i++) {
		double metallic = mask[4 * i + 2] / 255.0, rough = 1 - 0.5 * specular[4 * i + 3] / 255.0;
		assert_true(fabs(mask[4 * i + 1] / 255.0 - rough) < 0.004);
		assert_int_equal(base[4 * i + 3], diffuse[4 * i + 3]);
		double most = light(specular[4 * i]);
		for (int k = 0; k < 3; k++) {
			double is = light(base[4 * i + k]), d = light(diffuse[4 * i + k]), s = light(specular[4 * i + k]);
			assert_true(fabs(is * 0.96 * (1 - metallic) - d * (1 - most)) < 0.01);
			if (i != 0)
				assert_true(fabs(0.04 * (1 - metallic) + is * metallic - s) < 0.01);
		}
	}
	assert_int_equal(mask[2], 0);
	assert_int_equal(mask[6], 255);
	close_bench(b);
}

static void specular_glossiness_without_a_picture_uses_its_factors(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/s.png", 8, (uint8_t[4]){188, 188, 188, 255});
	hob_made_image how[3];
	for (int i = 0; i < 3; i++) {
		how[i] = (hob_made_image){.diffuse_factor = {0.5f, 0.5f, 0.5f},
								  .specular_factor = {0.04f, 0.04f, 0.04f},
								  .glossiness = i == 2 ? 0.25f : 1};
		how[i].is_metal_rough = i > 0;
		make_image(b, (uint32_t)i, &how[i], "", "props/s.png");
	}
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = 0;
	b->materials[0].slots[HOB_SLOT_METAL_ROUGH].image = 1;
	b->materials[1].slots[HOB_SLOT_BASE_COLOR].image = 0;
	b->materials[1].slots[HOB_SLOT_METAL_ROUGH].image = 2;
	assert_true(bake(b));
	/* The same pictures with another glossiness are another output; the base colour does not depend on it. */
	assert_int_equal(b->count, 3);
	uint32_t width, height;
	const uint8_t *base =
		level_of(b, b->out.materials[0].slots[HOB_SLOT_BASE_COLOR].image, 0, &width, &height);
	/* 0.5 * (1 - 0.04 * 0.5) / 0.96 of the light */
	assert_true(fabs(light(base[0]) - 0.5104) < 0.004);
	const uint8_t *mask =
		level_of(b, b->out.materials[1].slots[HOB_SLOT_METAL_ROUGH].image, 0, &width, &height);
	assert_int_equal(mask[1], 191);
	assert_int_equal(mask[2], 0);
	close_bench(b);
}

static void specular_glossiness_pictures_of_two_sizes_meet_at_the_larger(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/d.png", 32, (uint8_t[4]){100, 150, 200, 255});
	add_flat(b, "props/s.png", 8, (uint8_t[4]){0, 0, 0, 128});
	hob_made_image how[2] = {{.diffuse_factor = {1, 1, 1}, .specular_factor = {1, 1, 1}, .glossiness = 1}};
	how[1] = how[0], how[1].is_metal_rough = true;
	make_image(b, 0, &how[0], "props/d.png", "props/s.png");
	make_image(b, 1, &how[1], "props/d.png", "props/gone.png");
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = 0;
	b->materials[1].slots[HOB_SLOT_METAL_ROUGH].image = 1;
	assert_true(bake(b));
	uint32_t base = b->out.materials[0].slots[HOB_SLOT_BASE_COLOR].image;
	assert_int_equal(b->out.images[base].width, 32);
	assert_true(noted(b, "texture.missing", "props/gone.png"));
	uint32_t mask = b->out.materials[1].slots[HOB_SLOT_METAL_ROUGH].image;
	assert_true(b->out.images[mask].flags & HOB_IMAGE_PLACEHOLDER);
	assert_false(b->out.images[base].flags & HOB_IMAGE_PLACEHOLDER);
	close_bench(b);
}

static void sixteen_bits_that_become_eight_are_noted(void **state)
{
	(void)state;
	static const char wide[] = "P5 4 4 65535\n0123456789abcdef0123456789abcdef",
					  narrow[] = "P5 4 4 255\n0123456789abcdef";
	for (uint32_t encoding = HOB_TEXTURE_RGBA8; encoding <= HOB_TEXTURE_PNG; encoding++) {
		bench *b = open_bench();
		b->files[b->file_count++] = (memory_file){
			"props/wide.pgm", {(uint8_t *)memcpy(malloc(sizeof wide), wide, sizeof wide), sizeof wide - 1}};
		b->files[b->file_count++] = (memory_file){
			"props/narrow.pgm",
			{(uint8_t *)memcpy(malloc(sizeof narrow), narrow, sizeof narrow), sizeof narrow - 1}};
		b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/wide.pgm");
		b->materials[0].slots[HOB_SLOT_EMISSIVE].image = add_image(b, "props/narrow.pgm");
		b->request.settings.texture_encoding = encoding;
		b->request.png = encoding == HOB_TEXTURE_PNG;
		assert_true(bake(b));
		assert_int_equal(noted(b, "texture.depth", "props/wide.pgm"), encoding != HOB_TEXTURE_SOURCE);
		assert_false(noted(b, "texture.depth", "props/narrow.pgm"));
		close_bench(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(specular_glossiness_reflects_as_before),
		cmocka_unit_test(specular_glossiness_without_a_picture_uses_its_factors),
		cmocka_unit_test(specular_glossiness_pictures_of_two_sizes_meet_at_the_larger),
		cmocka_unit_test(sixteen_bits_that_become_eight_are_noted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
