/* A complete, separate stb_image reads the written pictures. */
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>

#include "texture_bench.h"

#include "core/texture/astc.h"
#include "core/texture/picture_export.h"

#include <math.h>

enum { WIDE = 40, HIGH = 24 };

/* Smooth colours and slopes of a wave; alpha fades from left to right. */
static void make_pixels(bool normals, bool alpha, uint8_t *pixels)
{
	for (int i = 0; i < WIDE * HIGH; i++) {
		float x = (float)(i % WIDE) / WIDE, y = (float)(i / WIDE) / HIGH;
		float nx = 0.6f * sinf(6 * x), ny = 0.5f * cosf(5 * y), nz = sqrtf(1 - nx * nx - ny * ny);
		uint8_t *p = pixels + 4 * i;
		p[0] = (uint8_t)(normals ? nx * 127.5f + 127.5f : 250 * x);
		p[1] = (uint8_t)(normals ? ny * 127.5f + 127.5f : 250 * y);
		p[2] = (uint8_t)(normals ? nz * 127.5f + 127.5f : 128 + 100 * nx);
		p[3] = (uint8_t)(alpha ? 40 + 200 * x : 255);
	}
}

/* Bakes the pixels in a slot, exports and reads the export: returns the mean square error of the first
 * channels. */
static double there_and_back(hob_slot slot, uint32_t encoding, uint32_t quality, bool alpha,
							 uint32_t channels)
{
	bench *b = open_bench();
	static uint8_t pixels[4 * WIDE * HIGH];
	make_pixels(slot == HOB_SLOT_NORMAL, alpha, pixels);
	add_file(b, "props/a.png", pixels, WIDE, HIGH, !alpha);
	b->request.settings.texture_encoding = encoding;
	b->request.settings.texture_quality = quality;
	b->materials[0].slots[slot].image = add_image(b, "props/a.png");
	b->materials[0].alpha_mode = alpha ? HOB_ALPHA_BLEND : HOB_ALPHA_OPAQUE;
	assert_true(bake(b));
	hob_buf png = {0};
	size_t used = b->scratch.used;
	if (!hob_picture_export(b->textures[0].bytes, b->out.images[0].flags, &b->scratch, &png, &b->err))
		fail_msg("%s", b->err.context);
	assert_int_equal(b->scratch.used, used);
	int w, h, c;
	uint8_t *read = stbi_load_from_memory(png.data, (int)png.size, &w, &h, &c, 4);
	assert_non_null(read);
	assert_int_equal(w, WIDE);
	assert_int_equal(h, HIGH);
	assert_int_equal(c, alpha ? 4 : 3);
	double sum = 0;
	for (uint32_t i = 0; i < WIDE * HIGH; i++)
		for (uint32_t k = 0; k < channels; k++)
			sum += (double)(pixels[4 * i + k] - read[4 * i + k]) * (pixels[4 * i + k] - read[4 * i + k]);
	stbi_image_free(read);
	hob_buf_release(&png);
	close_bench(b);
	return sum / (WIDE * HIGH * channels);
}

static void every_encoding_comes_back_as_png(void **state)
{
	(void)state;
	static const struct {
		hob_slot slot;
		bool alpha;
		uint32_t channels;
	} uses[] = {
		{HOB_SLOT_BASE_COLOR, false, 3}, {HOB_SLOT_BASE_COLOR, true, 4}, {HOB_SLOT_NORMAL, false, 3},
		{HOB_SLOT_OCCLUSION, false, 1},	 {HOB_SLOT_THICKNESS, false, 2}, {HOB_SLOT_METAL_ROUGH, false, 3},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(uses); i++) {
		hob_slot slot = uses[i].slot;
		bool normal = slot == HOB_SLOT_NORMAL, alpha = uses[i].alpha;
		uint32_t channels = uses[i].channels;
		double exact = there_and_back(slot, HOB_TEXTURE_RGBA8, HOB_QUALITY_GOOD, alpha, channels);
		/* Normals are normalised: one step of rounding. */
		assert_true(normal ? exact < 1.0 : exact == 0.0);
		/* Mean squared errors of 10, 65 (BC1 of three gradients) and 16 are PSNRs of 38, 30 and 36 dB. */
		assert_true(there_and_back(slot, HOB_TEXTURE_BC, HOB_QUALITY_GOOD, alpha, channels) < 10.0);
		assert_true(there_and_back(slot, HOB_TEXTURE_BC, HOB_QUALITY_SMALL, alpha, channels) < 65.0);
		if (hob_astc_available())
			assert_true(there_and_back(slot, HOB_TEXTURE_ASTC, HOB_QUALITY_GOOD, alpha, channels) < 16.0);
	}
}

static void floats_are_clipped_at_white(void **state)
{
	(void)state;
	bench *b = open_bench();
	static const char head[] = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 4 +X 4\n";
	uint8_t *file = malloc(sizeof head + 64);
	memcpy(file, head, sizeof head - 1);
	/* 4.0, 0.5 and 0: white, code 188, black. */
	for (int i = 0; i < 16; i++)
		memcpy(file + sizeof head - 1 + 4 * i, ((uint8_t[4]){128, 16, 0, 131}), 4);
	b->files[b->file_count++] = (memory_file){"props/a.hdr", {file, sizeof head - 1 + 64}};
	b->materials[0].slots[HOB_SLOT_EMISSIVE].image = add_image(b, "props/a.hdr");
	assert_true(bake(b));
	assert_int_equal(b->out.images[0].vk_format, HOB_VK_R16G16B16A16_SFLOAT);
	hob_buf png = {0};
	assert_true(hob_picture_export(b->textures[0].bytes, b->out.images[0].flags, &b->scratch, &png, &b->err));
	int w, h, c;
	uint8_t *read = stbi_load_from_memory(png.data, (int)png.size, &w, &h, &c, 4);
	assert_non_null(read);
	assert_int_equal(w, 4);
	assert_memory_equal(read, ((uint8_t[4]){255, 188, 0, 255}), 4);
	stbi_image_free(read);
	hob_buf_release(&png);
	close_bench(b);
}

static void what_is_no_picture_is_refused_with_a_remedy(void **state)
{
	(void)state;
	bench *b = open_bench();
	hob_buf out = {0};
	assert_false(
		hob_picture_export((hob_bytes){(const uint8_t *)"RIFF....WEBP", 12}, 0, &b->scratch, &out, &b->err));
	assert_int_equal(b->err.code, HOB_ERR_UNSUPPORTED);
	assert_non_null(strstr(b->err.context, "texture.encoding"));
	assert_int_equal(out.size, 0);
	/* A picture in a supported format is passed on unchanged. */
	static const uint8_t jpeg[5] = {0xFF, 0xD8, 0xFF, 0xE0, 1};
	assert_true(hob_picture_export((hob_bytes){jpeg, 5}, 0, &b->scratch, &out, &b->err));
	assert_memory_equal(out.data, jpeg, 5);
	hob_buf_release(&out);
	close_bench(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_encoding_comes_back_as_png),
		cmocka_unit_test(floats_are_clipped_at_white),
		cmocka_unit_test(what_is_no_picture_is_refused_with_a_remedy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
