#include "tests/unit/support.h"

#include "core/texture/ktx2.h"

#include <math.h>
#include <stdlib.h>

static const uint32_t formats[] = {
	HOB_VK_R8_UNORM,
	HOB_VK_R8G8_UNORM,
	HOB_VK_R8G8B8A8_UNORM,
	HOB_VK_R8G8B8A8_SRGB,
	HOB_VK_BC1_RGB_UNORM,
	HOB_VK_BC1_RGB_SRGB,
	HOB_VK_BC1_RGBA_UNORM,
	HOB_VK_BC1_RGBA_SRGB,
	HOB_VK_BC2_UNORM,
	HOB_VK_BC2_SRGB,
	HOB_VK_BC3_UNORM,
	HOB_VK_BC3_SRGB,
	HOB_VK_BC4_UNORM,
	HOB_VK_BC4_SNORM,
	HOB_VK_BC5_UNORM,
	HOB_VK_BC5_SNORM,
	HOB_VK_BC6H_UFLOAT,
	HOB_VK_BC6H_SFLOAT,
	HOB_VK_BC7_UNORM,
	HOB_VK_BC7_SRGB,
	HOB_VK_ASTC_4X4_UNORM,
	HOB_VK_ASTC_4X4_SRGB,
	HOB_VK_R16G16B16A16_SFLOAT,
	HOB_VK_ASTC_6X6_UNORM,
	HOB_VK_ASTC_6X6_SRGB,
	160,
	184,
	HOB_VK_R32G32B32A32_SFLOAT,
	23,
	29,
};

typedef struct sample_file {
	hob_buf file;
	uint8_t *raw;
	hob_ktx2_source source;
} sample_file;

static void make(sample_file *s, uint32_t format, uint32_t width, uint32_t height, uint32_t levels, int zstd)
{
	hob_gpu_format f;
	assert_true(hob_gpu_format_find(format, &f));
	*s = (sample_file){.source = {.vk_format = format,
								  .width = width,
								  .height = height,
								  .level_count = levels,
								  .zstd_level = zstd}};
	s->raw = malloc(65536);
	size_t at = 0;
	for (uint32_t i = 0; i < levels; i++) {
		size_t size = hob_gpu_level_bytes(&f, hob_level_side(width, i), hob_level_side(height, i));
		assert_true(at + size <= 65536);
		for (size_t k = 0; k < size; k++)
			s->raw[at + k] = (uint8_t)(k * 7 + i * 31 + (k >> 3));
		s->source.levels[i] = (hob_bytes){s->raw + at, size};
		at += size;
	}
	hob_ktx2_write(&s->source, &s->file);
}

static void drop(sample_file *s)
{
	hob_buf_release(&s->file);
	free(s->raw);
}

static void what_is_written_is_valid_and_read_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < HOB_COUNT_OF(formats); i++)
		for (uint32_t variant = 0; variant < 6; variant++) {
			sample_file s;
			uint32_t width = variant % 3 == 0	? 16
							 : variant % 3 == 1 ? 13
												: 1,
					 height = variant % 3 == 2 ? 9 : 16;
			uint32_t levels = variant % 2 ? hob_level_count(width, height) : 1;
			make(&s, formats[i], width, height, levels, variant >= 3 ? 3 : 0);
			hob_ktx2_facts facts;
			hob_error err = {0};
			if (!hob_ktx2_check(hob_buf_bytes(&s.file), true, &facts, &err))
				fail_msg("format %u: %s", formats[i], err.context);
			assert_int_equal(facts.vk_format, formats[i]);
			assert_int_equal(facts.levels, levels);
			hob_gpu_texture t;
			hob_arena arena;
			hob_arena_init(&arena, 1 << 20);
			assert_true(hob_ktx2_open(hob_buf_bytes(&s.file), &t, &err));
			for (uint32_t level = 0; level < levels; level++) {
				hob_bytes raw;
				assert_true(hob_gpu_level(&t, level, &arena, &raw, &err));
				assert_int_equal(raw.size, s.source.levels[level].size);
				assert_memory_equal(raw.data, s.source.levels[level].data, raw.size);
			}
			hob_arena_release(&arena);
			drop(&s);
		}
}

static void the_smallest_level_comes_first(void **state)
{
	(void)state;
	sample_file s;
	make(&s, HOB_VK_BC7_SRGB, 32, 32, 6, 0);
	const uint8_t *index = s.file.data + 80;
	for (uint32_t i = 1; i < 6; i++)
		assert_true(hob_load_u64(index + 24 * i) < hob_load_u64(index + 24 * (i - 1)));
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(hob_load_u64(index + 24 * i) % 16, 0);
	drop(&s);
}

/* From identifier to keys: a flipped bit either breaks a rule, or is in a free value. */
static void damage_is_found(void **state)
{
	(void)state;
	for (int packed = 0; packed < 2; packed++) {
		sample_file s;
		make(&s, HOB_VK_R8G8B8A8_SRGB, 8, 8, 4, packed ? 3 : 0);
		size_t front = hob_load_u32(s.file.data + 56) + hob_load_u32(s.file.data + 60), missed = 0,
			   opened = 0;
		for (size_t at = 0; at < s.file.size; at++)
			for (int bit = 0; bit < 8; bit++) {
				s.file.data[at] ^= (uint8_t)(1 << bit);
				hob_error err = {0};
				bool ok = hob_ktx2_check(hob_buf_bytes(&s.file), true, NULL, &err);
				missed += ok && at < front;
				assert_true(ok || err.context[0] != 0);
				s.file.data[at] ^= (uint8_t)(1 << bit);
			}
		/* Bytes that may vary: some letters of two keys and a value, and the flag for premultiplied alpha. */
		assert_true(missed < 8 * 12);
		for (size_t size = 0; size < s.file.size; size++) {
			uint8_t *exact = malloc(size + 1);
			memcpy(exact, s.file.data, size);
			hob_gpu_texture t;
			assert_false(hob_ktx2_check((hob_bytes){exact, size}, true, NULL, NULL));
			opened += hob_ktx2_open((hob_bytes){exact, size}, &t, NULL);
			free(exact);
		}
		assert_int_equal(opened, 0);
		drop(&s);
	}
}

static void the_same_input_gives_the_same_bytes(void **state)
{
	(void)state;
	sample_file a, b;
	make(&a, HOB_VK_R8_UNORM, 64, 64, 7, 3);
	make(&b, HOB_VK_R8_UNORM, 64, 64, 7, 3);
	assert_int_equal(a.file.size, b.file.size);
	assert_memory_equal(a.file.data, b.file.data, a.file.size);
	drop(&a);
	drop(&b);
}

static void a_cube_has_six_faces_and_its_irradiance(void **state)
{
	(void)state;
	float terms[27] = {3};
	uint8_t *raw = calloc(6 * 64, 8);
	hob_ktx2_source source = {.vk_format = HOB_VK_R16G16B16A16_SFLOAT,
							  .width = 8,
							  .height = 8,
							  .level_count = 2,
							  .irradiance = terms};
	hob_ktx2_facts facts;
	hob_gpu_texture flat;
	hob_error err = {0};
	hob_buf file = {0};
	source.levels[0] = (hob_bytes){raw, 6 * 64 * 8};
	source.levels[1] = (hob_bytes){raw, 6 * 16 * 8};
	hob_ktx2_write(&source, &file);
	assert_true(hob_ktx2_check(hob_buf_bytes(&file), true, &facts, &err));
	assert_int_equal(facts.faces, 6);
	assert_false(hob_ktx2_open(hob_buf_bytes(&file), &flat, &err));
	file.data[36] = 1; /* flat: too many bytes in each level */
	assert_false(hob_ktx2_check(hob_buf_bytes(&file), true, NULL, &err));
	file.data[36] = 6;
	file.data[24] = 4; /* faces of 8 x 4 */
	assert_false(hob_ktx2_check(hob_buf_bytes(&file), true, NULL, &err));
	hob_buf_release(&file);
	terms[26] = NAN;
	hob_ktx2_write(&source, &file);
	assert_false(hob_ktx2_check(hob_buf_bytes(&file), true, NULL, &err));
	assert_non_null(strstr(err.context, "HobIrradiance"));
	hob_buf_release(&file);
	free(raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cube_has_six_faces_and_its_irradiance),
		cmocka_unit_test(what_is_written_is_valid_and_read_back),
		cmocka_unit_test(the_smallest_level_comes_first),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(the_same_input_gives_the_same_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
