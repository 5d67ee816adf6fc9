/* GPU format of a picture, and handling of a source's own blocks. */
#include "texture_bench.h"

#include "core/base/limits.h"
#include "core/hash/hash.h"
#include "core/texture/astc.h"

#include <math.h>
#include <stdlib.h>

static void bc_encoding_picks_a_format_for_each_use(void **state)
{
	(void)state;
	static const struct {
		hob_slot slot;
		uint32_t large, small;
	} cases[] = {
		{HOB_SLOT_BASE_COLOR, HOB_VK_BC7_SRGB, HOB_VK_BC1_RGB_SRGB},
		{HOB_SLOT_NORMAL, HOB_VK_BC5_UNORM, HOB_VK_BC5_UNORM},
		{HOB_SLOT_METAL_ROUGH, HOB_VK_BC7_UNORM, HOB_VK_BC1_RGB_UNORM},
		{HOB_SLOT_OCCLUSION, HOB_VK_BC4_UNORM, HOB_VK_BC4_UNORM},
		{HOB_SLOT_THICKNESS, HOB_VK_BC5_UNORM, HOB_VK_BC5_UNORM},
		{HOB_SLOT_SPECULAR, HOB_VK_BC7_UNORM, HOB_VK_BC1_RGB_UNORM},
	};
	for (size_t i = 0; i < 4 * HOB_COUNT_OF(cases); i++) {
		bench *b = open_bench();
		bool fours = i >= 2 * HOB_COUNT_OF(cases);
		size_t use = i / 2 % HOB_COUNT_OF(cases);
		b->request.settings.texture_sides = fours ? HOB_SIDES_FOURS : HOB_SIDES_OWN;
		add_flat(b, "props/a.png", 31, (uint8_t[4]){10, 20, 230, 255});
		b->request.settings.texture_encoding = HOB_TEXTURE_BC;
		b->request.settings.texture_quality = i % 2 ? HOB_QUALITY_SMALL : HOB_QUALITY_FAST;
		b->materials[0].slots[cases[use].slot].image = add_image(b, "props/a.png");
		assert_true(bake(b));
		assert_int_equal(b->out.images[0].vk_format, i % 2 ? cases[use].small : cases[use].large);
		assert_int_equal(b->out.images[0].width, fours ? 32 : 31);
		assert_int_equal(noted(b, "texture.scaled", "32 x 32"), fours);
		assert_int_equal(noted(b, "texture.sides", "31 x 31"), !fours);
		assert_true(hob_ktx2_check(b->textures[0].bytes, true, NULL, &b->err));
		close_bench(b);
	}
}

static void blocks_of_a_source_are_not_compressed_again(void **state)
{
	(void)state;
	static const char *const names[] = {"2d_bc7.ktx2", "2d_bc1.ktx2", "2d_bc1.ktx2", "2d_astc4x4.ktx2"};
	static const uint32_t formats[] = {HOB_VK_BC7_SRGB, HOB_VK_BC1_RGB_SRGB, HOB_VK_BC1_RGB_SRGB,
									   HOB_VK_ASTC_4X4_SRGB};
	for (int round = 0; round < (hob_astc_available() ? 4 : 3); round++) {
		bench *b = open_bench();
		add_data(b, "props/a.ktx2", names[round]);
		b->request.settings.texture_encoding = round == 3 ? HOB_TEXTURE_ASTC : HOB_TEXTURE_BC;
		b->request.settings.texture_max_size = round == 2 ? 20 : 2048;
		b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/a.ktx2");
		if (round == 0 || round == 3)
			b->materials[0].alpha_mode = HOB_ALPHA_BLEND;
		assert_true(bake(b));
		hob_gpu_texture t;
		assert_true(hob_ktx2_open(b->files[0].bytes, &t, &b->err));
		uint32_t skip = round == 2 ? 1 : 0, width, height;
		assert_int_equal(b->out.images[0].vk_format, formats[round]);
		assert_int_equal(b->out.images[0].width, 40 >> skip);
		assert_int_equal(b->out.images[0].mips, 6 - skip);
		for (uint32_t level = 0; level + skip < 6; level++)
			assert_memory_equal(level_of(b, 0, level, &width, &height), t.levels[level + skip].data,
								t.levels[level + skip].size);
		close_bench(b);
	}
}

/* 6 x 5 pixels of 4.0, 2.0, 1.0. */
static void add_light(bench *b, const char *path)
{
	static const char head[] = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 5 +X 6\n";
	size_t size = sizeof head - 1 + 4 * 30;
	uint8_t *file = malloc(size);
	assert_non_null(file);
	memcpy(file, head, sizeof head - 1);
	for (int i = 0; i < 30; i++)
		memcpy(file + sizeof head - 1 + 4 * i, ((uint8_t[4]){128, 64, 32, 131}), 4);
	b->files[b->file_count++] = (memory_file){path, {file, size}};
}

static void hdr_colours_become_bc6h_and_others_stay_halves(void **state)
{
	(void)state;
	static const struct {
		hob_slot slot;
		uint32_t encoding, blend, format;
	} cases[] = {
		{HOB_SLOT_EMISSIVE, HOB_TEXTURE_BC, 0, HOB_VK_BC6H_UFLOAT},
		{HOB_SLOT_BASE_COLOR, HOB_TEXTURE_BC, 0, HOB_VK_BC6H_UFLOAT},
		{HOB_SLOT_BASE_COLOR, HOB_TEXTURE_BC, 1, HOB_VK_R16G16B16A16_SFLOAT},
		{HOB_SLOT_NORMAL, HOB_TEXTURE_BC, 0, HOB_VK_R8G8B8A8_UNORM},
		{HOB_SLOT_EMISSIVE, HOB_TEXTURE_ASTC, 0, HOB_VK_R16G16B16A16_SFLOAT},
		{HOB_SLOT_EMISSIVE, HOB_TEXTURE_RGBA8, 0, HOB_VK_R16G16B16A16_SFLOAT},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		bench *b = open_bench();
		add_light(b, "props/a.hdr");
		b->request.settings.texture_encoding = cases[i].encoding;
		b->materials[0].alpha_mode = cases[i].blend ? HOB_ALPHA_BLEND : HOB_ALPHA_OPAQUE;
		b->materials[0].slots[cases[i].slot].image = add_image(b, "props/a.hdr");
		assert_true(bake(b));
		bool blocks = cases[i].format == HOB_VK_BC6H_UFLOAT;
		assert_int_equal(b->out.images[0].vk_format, cases[i].format);
		assert_int_equal(b->out.images[0].width, 6);
		assert_int_equal(noted(b, "texture.sides", "6 x 5"), blocks);
		assert_true(hob_ktx2_check(b->textures[0].bytes, true, NULL, &b->err));
		hob_gpu_texture t;
		hob_picture seen;
		assert_true(hob_ktx2_open(b->textures[0].bytes, &t, &b->err));
		assert_true(hob_gpu_decode(&t, &b->scratch, &seen, &b->err));
		assert_int_equal(seen.depth, cases[i].slot == HOB_SLOT_NORMAL ? HOB_DEPTH_8 : HOB_DEPTH_FLOAT);
		float expected[4] = {4.0f, 2.0f, 1.0f, 1.0f};
		for (uint32_t k = 0; k < 4 * seen.width * seen.height && cases[i].slot != HOB_SLOT_NORMAL; k++)
			assert_true(((const float *)(const void *)seen.pixels)[k] == expected[k % 4]);
		close_bench(b);
	}
}

/* Noise, or a slope that BC7 holds. */
static void small_pictures_that_blocks_spoil_stay_as_they_are(void **state)
{
	(void)state;
	static const struct {
		hob_slot slot;
		uint32_t side;
		bool noise;
		uint32_t quality;
		uint32_t format;
	} cases[] = {
		{HOB_SLOT_BASE_COLOR, 64, true, HOB_QUALITY_FAST, HOB_VK_R8G8B8A8_SRGB},
		{HOB_SLOT_BASE_COLOR, 64, false, HOB_QUALITY_FAST, HOB_VK_BC7_SRGB},
		{HOB_SLOT_BASE_COLOR, 256, true, HOB_QUALITY_FAST, HOB_VK_R8G8B8A8_SRGB},
		{HOB_SLOT_BASE_COLOR, 260, true, HOB_QUALITY_FAST, HOB_VK_BC7_SRGB},
		{HOB_SLOT_BASE_COLOR, 64, true, HOB_QUALITY_SMALL, HOB_VK_BC1_RGB_SRGB},
		{HOB_SLOT_METAL_ROUGH, 61, true, HOB_QUALITY_FAST, HOB_VK_R8G8B8A8_UNORM},
		{HOB_SLOT_NORMAL, 61, true, HOB_QUALITY_FAST, HOB_VK_R8G8B8A8_UNORM},
		{HOB_SLOT_NORMAL, 64, false, HOB_QUALITY_FAST, HOB_VK_BC5_UNORM},
		{HOB_SLOT_OCCLUSION, 61, true, HOB_QUALITY_FAST, HOB_VK_R8_UNORM},
	};
	for (size_t c = 0; c < HOB_COUNT_OF(cases); c++) {
		uint32_t side = cases[c].side, width, height;
		uint8_t *pixels = malloc((size_t)4 * side * side);
		for (uint32_t i = 0; i < 4 * side * side; i++) {
			uint32_t slope = 128 + i / 4 % side / 8;
			uint32_t noise = 128 + (i * 2654435761u >> 25);
			pixels[i] = (uint8_t)(i % 4 == 3 ? 255 : cases[c].noise ? noise : i % 4 == 2 ? 250 : slope);
		}
		bench *b = open_bench();
		add_file(b, "props/a.png", pixels, side, side, true);
		b->request.settings.texture_encoding = HOB_TEXTURE_BC;
		b->request.settings.texture_quality = cases[c].quality;
		b->request.settings.texture_sides = HOB_SIDES_FOURS;
		b->materials[0].slots[cases[c].slot].image = add_image(b, "props/a.png");
		assert_true(bake(b));
		assert_int_equal(b->out.images[0].vk_format, cases[c].format);
		assert_int_equal(b->out.images[0].width, side);
		assert_int_equal(b->notes.count, 0);
		const uint8_t *level = level_of(b, 0, 0, &width, &height);
		for (uint32_t i = 0; cases[c].format == HOB_VK_R8_UNORM && i < side * side; i++)
			assert_int_equal(level[i], pixels[4 * i]);
		if (cases[c].format == HOB_VK_R8G8B8A8_SRGB || cases[c].format == HOB_VK_R8G8B8A8_UNORM)
			assert_memory_equal(level, pixels, (size_t)4 * side * side);
		close_bench(b);
		free(pixels);
	}
}

static void a_preview_compresses_nothing_itself(void **state)
{
	(void)state;
	for (int encoding = HOB_TEXTURE_BC; encoding <= HOB_TEXTURE_ASTC; encoding++) {
		bench *b = open_bench();
		add_data(b, "props/a.ktx2", "2d_bc1.ktx2");
		add_flat(b, "props/b.png", 31, (uint8_t[4]){10, 20, 230, 255});
		b->request.settings.texture_encoding = (uint32_t)encoding;
		b->request.settings.texture_quality = HOB_QUALITY_BEST;
		b->request.soonest = true;
		b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/a.ktx2");
		b->materials[1].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/b.png");
		assert_true(bake(b));
		bool bc = encoding == HOB_TEXTURE_BC;
		assert_int_equal(b->out.images[0].vk_format, bc ? HOB_VK_BC1_RGB_SRGB : HOB_VK_R8G8B8A8_SRGB);
		assert_int_equal(b->out.images[1].vk_format, HOB_VK_R8G8B8A8_SRGB);
		assert_int_equal(b->out.images[1].width, 31);
		assert_int_equal(b->notes.count, 0);
		hob_gpu_texture t;
		assert_true(hob_ktx2_open(b->textures[1].bytes, &t, &b->err));
		assert_false(t.zstd);
		close_bench(b);
	}
}

static void blocks_of_another_kind_are_compressed_anew(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_data(b, "props/a.ktx2", "2d_astc4x4.ktx2");
	b->request.settings.texture_encoding = HOB_TEXTURE_BC;
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/a.ktx2");
	assert_true(bake(b));
	assert_int_equal(b->out.images[0].vk_format,
					 hob_astc_available() ? HOB_VK_BC7_SRGB : HOB_VK_ASTC_4X4_SRGB);
	close_bench(b);
}

static void a_lone_level_keeps_its_blocks_and_gets_a_chain(void **state)
{
	(void)state;
	bench *b = open_bench();
	uint8_t *file = calloc(1, 128 + 8 * 4);
	memcpy(file, "DDS ", 4);
	hob_store_u32(file + 4, 124), hob_store_u32(file + 12, 8), hob_store_u32(file + 16, 8);
	hob_store_u32(file + 80, 4);
	memcpy(file + 84, "DXT1", 4);
	for (int i = 0; i < 4; i++)
		memcpy(file + 128 + 8 * i, ((uint8_t[8]){0x00, 0xF8, 0x1F, 0x00, 0xE4, 0x1B, (uint8_t)i, 7}), 8);
	b->files[b->file_count++] = (memory_file){"props/a.dds", {file, 160}};
	b->request.settings.texture_encoding = HOB_TEXTURE_BC;
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/a.dds");
	assert_true(bake(b));
	assert_int_equal(b->out.images[0].vk_format, HOB_VK_BC1_RGB_SRGB);
	assert_int_equal(b->out.images[0].mips, 4);
	uint32_t width, height;
	assert_memory_equal(level_of(b, 0, 0, &width, &height), file + 128, 32);
	level_of(b, 0, 3, &width, &height);
	close_bench(b);
}

static void basis_universal_becomes_what_is_asked_for(void **state)
{
	(void)state;
	static const char *const names[] = {"2d_uastc.ktx2", "2d_etc1s.ktx2"};
	static const uint32_t encodings[] = {HOB_TEXTURE_RGBA8, HOB_TEXTURE_BC};
	static const uint32_t formats[] = {HOB_VK_R8G8B8A8_SRGB, HOB_VK_BC7_SRGB};
	for (int i = 0; i < 4; i++) {
		bench *b = open_bench();
		add_data(b, "props/a.ktx2", names[i % 2]);
		add_flat(b, "props/mask.png", 8, (uint8_t[4]){77, 77, 77, 255});
		uint32_t a = add_image(b, "props/a.ktx2"), mask = add_image(b, "props/mask.png");
		b->request.settings.texture_encoding = encodings[i / 2];
		b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = a;
		b->materials[1].slots[HOB_SLOT_BASE_COLOR].image = a;
		b->materials[1].slots[HOB_SLOT_OPACITY].image = mask;
		assert_true(bake(b));
		for (int m = 0; m < 2; m++) {
			const hob_baked_image *image =
				&b->out.images[b->out.materials[m].slots[HOB_SLOT_BASE_COLOR].image];
			assert_int_equal(image->vk_format, formats[i / 2]);
			assert_int_equal(image->width, 40);
			assert_int_equal(image->mips, 6);
		}
		assert_int_equal(b->out.materials[1].slots[HOB_SLOT_OPACITY].image, HOB_NONE);
		assert_int_equal(b->notes.count, 0);
		close_bench(b);
	}
}

static void basis_universal_is_kept_when_asked(void **state)
{
	(void)state;
	static const char *const names[] = {"2d_uastc.ktx2", "2d_etc1s.ktx2", "2d_astc4x4.ktx2"};
	for (int i = 0; i < (hob_astc_available() ? 2 : 3); i++) {
		bench *b = open_bench();
		add_data(b, "props/a.ktx2", names[i]);
		b->request.settings.texture_basis = HOB_BASIS_KEEP;
		add_flat(b, "props/mask.png", 8, (uint8_t[4]){77, 77, 77, 255});
		uint32_t a = add_image(b, "props/a.ktx2"), mask = add_image(b, "props/mask.png");
		b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = a;
		b->materials[1].slots[HOB_SLOT_BASE_COLOR].image = a;
		b->materials[1].slots[HOB_SLOT_OPACITY].image = mask;
		assert_true(bake(b));
		uint32_t color = b->out.materials[0].slots[HOB_SLOT_BASE_COLOR].image;
		assert_int_equal(b->out.images[color].container, HOB_IMAGE_KTX2);
		assert_int_equal(b->out.images[color].vk_format, i < 2 ? 0 : HOB_VK_ASTC_4X4_SRGB);
		assert_int_equal(b->out.images[color].width, 40);
		if (i < 2)
			assert_int_equal(b->textures[color].bytes.size, b->files[0].bytes.size);
		if (!hob_ktx2_check(b->textures[color].bytes, true, NULL, &b->err))
			fail_msg("%s", b->err.context);
		/* Decoded when combined with another picture; what cannot be decoded stays, with a note. */
		if (i < 2) {
			assert_int_not_equal(b->out.materials[1].slots[HOB_SLOT_BASE_COLOR].image, color);
			close_bench(b);
			continue;
		}
		assert_int_equal(b->out.materials[1].slots[HOB_SLOT_BASE_COLOR].image, color);
		assert_int_not_equal(b->out.materials[1].slots[HOB_SLOT_OPACITY].image, HOB_NONE);
		assert_true(noted(b, "texture.not-packed", "base colour and opacity"));
		close_bench(b);
	}
}

static void astc_encoding_needs_astcenc(void **state)
{
	(void)state;
	static const struct {
		hob_slot slot;
		uint32_t format, without;
	} cases[] = {
		{HOB_SLOT_BASE_COLOR, HOB_VK_ASTC_6X6_SRGB, HOB_VK_R8G8B8A8_SRGB},
		{HOB_SLOT_NORMAL, HOB_VK_ASTC_4X4_UNORM, HOB_VK_R8G8_UNORM},
		{HOB_SLOT_OCCLUSION, HOB_VK_ASTC_6X6_UNORM, HOB_VK_R8_UNORM},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		bench *b = open_bench();
		add_flat(b, "props/a.png", 31, (uint8_t[4]){10, 20, 230, 255});
		b->request.settings.texture_encoding = HOB_TEXTURE_ASTC;
		b->materials[0].slots[cases[i].slot].image = add_image(b, "props/a.png");
		assert_true(bake(b));
		bool there = strstr(hob_textures_libraries(), "astcenc") != NULL;
		assert_int_equal(b->out.images[0].vk_format, there ? cases[i].format : cases[i].without);
		assert_int_equal(noted(b, "texture.no-astc", "built without"), !there);
		assert_int_equal(b->out.images[0].width, 31);
		assert_true(hob_ktx2_check(b->textures[0].bytes, true, NULL, &b->err));
		close_bench(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bc_encoding_picks_a_format_for_each_use),
		cmocka_unit_test(blocks_of_a_source_are_not_compressed_again),
		cmocka_unit_test(hdr_colours_become_bc6h_and_others_stay_halves),
		cmocka_unit_test(small_pictures_that_blocks_spoil_stay_as_they_are),
		cmocka_unit_test(a_preview_compresses_nothing_itself),
		cmocka_unit_test(blocks_of_another_kind_are_compressed_anew),
		cmocka_unit_test(a_lone_level_keeps_its_blocks_and_gets_a_chain),
		cmocka_unit_test(basis_universal_becomes_what_is_asked_for),
		cmocka_unit_test(basis_universal_is_kept_when_asked),
		cmocka_unit_test(astc_encoding_needs_astcenc),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
