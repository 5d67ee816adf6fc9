#define STB_DXT_STATIC
#define STB_DXT_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_dxt.h>

#include "tests/unit/support.h"

#include "core/texture/bc7_tables.h"
#include "core/texture/blocks.h"
#include "core/texture/mips.h"

#include <math.h>
#include <stdlib.h>

static uint32_t seed = 1;

static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Blocks as in real pictures: a slope, an edge, noise, several colours, with or without alpha. */
static void make_block(int kind, uint8_t out[64])
{
	int base[3][4], step[2][4], noise = kind % 3 == 0 ? 0 : (int)next_random(20) + 1;
	for (int k = 0; k < 4; k++) {
		for (int c = 0; c < 3; c++)
			base[c][k] = (int)next_random(256);
		for (int d = 0; d < 2; d++)
			step[d][k] = (int)next_random(25) - 12;
	}
	int cut_x = (int)next_random(5) - 2, cut_y = (int)next_random(5) - 2, cut = (int)next_random(8);
	for (int i = 0; i < 16; i++) {
		int side = kind % 4 < 2 ? 0 : cut_x * (i % 4) + cut_y * (i / 4) > cut - 4;
		if (kind % 8 == 7 && i % 4 == 3)
			side = 2;
		for (int k = 0; k < 4; k++) {
			int v = base[side][k] + step[0][k] * (i % 4) + step[1][k] * (i / 4) +
					(noise ? (int)next_random((uint32_t)noise) : 0);
			out[4 * i + k] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
		}
		if (kind % 2 == 0)
			out[4 * i + 3] = 255;
	}
}

static double error_of(uint32_t format, const uint8_t *block, const uint8_t in[64], int first, int end)
{
	uint8_t decoded[64];
	hob_bc_decode(format, block, 4, 4, decoded);
	double sum = 0;
	for (int i = 0; i < 16; i++)
		for (int k = first; k < end; k++)
			sum += (in[4 * i + k] - decoded[4 * i + k]) * (in[4 * i + k] - decoded[4 * i + k]);
	return sum;
}

static void anchors_belong_to_their_subsets(void **state)
{
	(void)state;
	for (int p = 0; p < 64; p++) {
		assert_int_equal(bc7_partitions2[p] & 3, 0);
		assert_int_equal(bc7_partitions3[p] & 3, 0);
		assert_int_equal(bc7_partitions2[p] >> 2 * bc7_anchors2[p] & 3, 1);
		assert_int_equal(bc7_partitions3[p] >> 2 * bc7_anchors3[0][p] & 3, 1);
		assert_int_equal(bc7_partitions3[p] >> 2 * bc7_anchors3[1][p] & 3, 2);
	}
}

static void bc1_and_bc4_are_not_worse_than_stb_dxt(void **state)
{
	(void)state;
	double ours[3] = {0}, theirs[3] = {0};
	for (int n = 0; n < 4000; n++) {
		uint8_t in[64], out[16], plane[32], first[16];
		make_block(n, in);
		hob_bc1_encode(in, out);
		ours[0] += error_of(HOB_VK_BC1_RGB_UNORM, out, in, 0, 3);
		stb_compress_dxt_block(out, in, 0, STB_DXT_HIGHQUAL);
		theirs[0] += error_of(HOB_VK_BC1_RGB_UNORM, out, in, 0, 3);
		for (int i = 0; i < 16; i++) {
			first[i] = plane[2 * i] = in[4 * i];
			plane[2 * i + 1] = in[4 * i + 1];
		}
		hob_bc4_encode(in, 0, HOB_BC_FAST, out);
		ours[1] += error_of(HOB_VK_BC4_UNORM, out, in, 0, 1);
		stb_compress_bc4_block(out, first);
		theirs[1] += error_of(HOB_VK_BC4_UNORM, out, in, 0, 1);
		hob_bc_encode_rows(HOB_VK_BC5_UNORM, in, 4, 4, 0, 1, HOB_BC_FAST, out);
		ours[2] += error_of(HOB_VK_BC5_UNORM, out, in, 0, 2);
		stb_compress_bc5_block(out, plane);
		theirs[2] += error_of(HOB_VK_BC5_UNORM, out, in, 0, 2);
	}
	assert_true(ours[0] < theirs[0]);
	assert_true(ours[1] < 0.8 * theirs[1]);
	assert_true(ours[2] < 0.8 * theirs[2]);
}

/* Slopes as in a normal map: few codes apart, so that rounding dominates. */
static void bc4_gets_better_with_effort(void **state)
{
	(void)state;
	double sums[3] = {0};
	for (int n = 0; n < 4000; n++) {
		uint8_t in[64] = {0}, out[8];
		uint32_t start = next_random(200), x = next_random(9), y = next_random(9);
		for (uint32_t i = 0; i < 16; i++)
			in[4 * i] = (uint8_t)(start + i % 4 * x / 2 + i / 4 * y / 2 + next_random(3));
		for (int q = HOB_BC_FAST; q <= HOB_BC_BEST; q++) {
			hob_bc4_encode(in, 0, (hob_bc_quality)q, out);
			sums[q] += error_of(HOB_VK_BC4_UNORM, out, in, 0, 1);
		}
	}
	assert_true(sums[HOB_BC_GOOD] <= sums[HOB_BC_FAST]);
	assert_true(sums[HOB_BC_BEST] < 0.95 * sums[HOB_BC_GOOD]);
}

static void bc7_gets_better_with_effort_and_uses_its_modes(void **state)
{
	(void)state;
	double sums[3] = {0}, bc3 = 0;
	int modes[8] = {0};
	for (int n = 0; n < 4000; n++) {
		uint8_t in[64], out[16];
		make_block(n, in);
		double errors[3];
		for (int q = HOB_BC_FAST; q <= HOB_BC_BEST; q++) {
			hob_bc7_encode(in, (hob_bc_quality)q, out);
			errors[q] = error_of(HOB_VK_BC7_UNORM, out, in, 0, 4);
			sums[q] += errors[q];
		}
		assert_true(out[0] != 0);
		modes[__builtin_ctz(out[0])]++;
		assert_true(errors[HOB_BC_BEST] <= errors[HOB_BC_GOOD] * 1.3 + 16);
		hob_bc_encode_rows(HOB_VK_BC3_UNORM, in, 4, 4, 0, 1, HOB_BC_FAST, out);
		bc3 += error_of(HOB_VK_BC3_UNORM, out, in, 0, 4);
	}
	/* a single line through all colours of a block is not enough */
	assert_true(sums[HOB_BC_FAST] < 0.26 * bc3);
	assert_true(sums[HOB_BC_GOOD] < 0.97 * sums[HOB_BC_FAST]);
	assert_true(sums[HOB_BC_BEST] < 0.98 * sums[HOB_BC_GOOD]);
	assert_true(sums[HOB_BC_GOOD] < 0.4 * bc3);
	for (int mode = 0; mode < 8; mode++)
		assert_true(modes[mode] > 0);
}

static void what_is_opaque_stays_opaque(void **state)
{
	(void)state;
	for (int n = 0; n < 2000; n++) {
		uint8_t in[64], out[16], decoded[64];
		make_block(2 * n, in);
		for (int q = HOB_BC_FAST; q <= HOB_BC_BEST; q++) {
			hob_bc7_encode(in, (hob_bc_quality)q, out);
			hob_bc_decode(HOB_VK_BC7_SRGB, out, 4, 4, decoded);
			for (int i = 0; i < 16; i++)
				assert_int_equal(decoded[4 * i + 3], 255);
		}
		hob_bc1_encode(in, out);
		hob_bc_decode(HOB_VK_BC1_RGBA_UNORM, out, 4, 4, decoded);
		for (int i = 0; i < 16; i++)
			assert_int_equal(decoded[4 * i + 3], 255);
	}
}

static void one_colour_comes_out_exact_of_bc7(void **state)
{
	(void)state;
	for (int n = 0; n < 3000; n++) {
		uint8_t in[64], out[16], decoded[64], color[4];
		for (int k = 0; k < 4; k++)
			color[k] = n < 256 ? (uint8_t)n : (uint8_t)next_random(256);
		for (int i = 0; i < 16; i++)
			memcpy(in + 4 * i, color, 4);
		for (int q = HOB_BC_FAST; q <= HOB_BC_BEST; q++) {
			hob_bc7_encode(in, (hob_bc_quality)q, out);
			hob_bc_decode(HOB_VK_BC7_UNORM, out, 4, 4, decoded);
			assert_memory_equal(decoded, in, 64);
		}
		hob_bc_encode_rows(HOB_VK_BC5_UNORM, in, 4, 4, 0, 1, HOB_BC_FAST, out);
		hob_bc_decode(HOB_VK_BC5_UNORM, out, 4, 4, decoded);
		for (int k = 0; k < 2; k++)
			assert_int_equal(decoded[k], color[k]);
		hob_bc1_encode(in, out);
		hob_bc_decode(HOB_VK_BC1_RGB_UNORM, out, 4, 4, decoded);
		for (int k = 0; k < 3; k++)
			assert_true(abs(decoded[k] - color[k]) <= 3);
	}
}

static void edges_that_are_no_multiple_of_four_repeat(void **state)
{
	(void)state;
	static const uint32_t formats[] = {HOB_VK_BC1_RGB_UNORM, HOB_VK_BC3_UNORM, HOB_VK_BC4_UNORM,
									   HOB_VK_BC5_UNORM, HOB_VK_BC7_UNORM};
	for (uint32_t width = 1; width < 10; width++)
		for (uint32_t height = 1; height < 10; height += 2)
			for (size_t f = 0; f < HOB_COUNT_OF(formats); f++) {
				uint8_t pixels[4 * 81], back[4 * 81], blocks[16 * 9];
				for (uint32_t i = 0; i < width * height; i++)
					memset(pixels + 4 * i, (int)(40 + 9 * (i % width) + 5 * (i / width)), 4);
				hob_bc_encode_rows(formats[f], pixels, width, height, 0, (height + 3) / 4, HOB_BC_GOOD,
								   blocks);
				hob_bc_decode(formats[f], blocks, width, height, back);
				for (uint32_t i = 0; i < width * height; i++)
					assert_true(abs(back[4 * i] - pixels[4 * i]) <= 8);
			}
}

static void one_colour_of_two_alphas_stays_exact(void **state)
{
	(void)state;
	for (int n = 0; n < 2000; n++) {
		uint8_t in[64], out[16];
		for (int k = 0; k < 3; k++)
			in[k] = (uint8_t)next_random(256);
		uint8_t alpha[2] = {(uint8_t)next_random(256), (uint8_t)next_random(256)};
		for (int i = 0; i < 16; i++) {
			memmove(in + 4 * i, in, 3);
			in[4 * i + 3] = alpha[next_random(2)];
		}
		hob_bc7_encode(in, HOB_BC_BEST, out);
		assert_true(error_of(HOB_VK_BC7_UNORM, out, in, 0, 4) <= 4.0);
	}
}

/* Rows in three colours with different slopes need the modes with three subsets, 0 and 2. */
static void three_slopes_are_three_subsets(void **state)
{
	(void)state;
	uint8_t in[64], out[16];
	double errors[3];
	for (uint32_t i = 0; i < 16; i++) {
		uint8_t slope = (uint8_t)(10 + 20 * (i % 4));
		const uint8_t rows[4][4] = {
			{250, slope, 10, 255}, {10, 250, slope, 255}, {slope, 10, 250, 255}, {slope, 10, 250, 255}};
		memcpy(in + 4 * i, rows[i / 4], 4);
	}
	for (int q = HOB_BC_FAST; q <= HOB_BC_BEST; q++) {
		hob_bc7_encode(in, (hob_bc_quality)q, out);
		errors[q] = error_of(HOB_VK_BC7_UNORM, out, in, 0, 4);
	}
	assert_true((out[0] & 7) == 1 || (out[0] & 7) == 4);
	assert_true(errors[HOB_BC_BEST] * 4 < errors[HOB_BC_GOOD]);
}

/* Mode 6 would be one step off in one channel of four pixels, because the channels of an endpoint share their
 * lowest bit; mode 3 is exact. */
static void best_is_exact_where_it_can_be(void **state)
{
	(void)state;
	uint8_t in[64], out[16];
	for (uint32_t i = 0; i < 16; i++) {
		const uint8_t left[4] = {200, 36, 90, 255}, right[4] = {100, 51, 60, 255};
		memcpy(in + 4 * i, i % 4 == 3 ? right : left, 4);
	}
	hob_bc7_encode(in, HOB_BC_BEST, out);
	assert_true(error_of(HOB_VK_BC7_UNORM, out, in, 0, 4) <= 0.0);
}

/* Luminance over 24 stops, in one colour or two, with a slope and noise. */
static void make_light(int kind, uint16_t out[64])
{
	float base[2][3], tilt[2][3], light = exp2f((float)next_random(2400) / 100.0f - 12.0f);
	for (int s = 0; s < 2; s++)
		for (int k = 0; k < 3; k++)
			base[s][k] = light * (0.4f + (float)next_random(100) / 100.0f) * (s ? 5.0f : 1.0f),
			tilt[s][k] = (float)next_random(100) / 500.0f - 0.1f;
	uint32_t pattern = bc7_partitions2[next_random(32)];
	for (int i = 0; i < 16; i++)
		for (int k = 0; k < 3; k++) {
			int s = kind % 2 && (pattern >> 2 * i & 3);
			float v = base[s][k] * (1.0f + tilt[s][k] * (float)(i % 4 + i / 4) / 3.0f);
			v *= 1.0f + 0.001f * (float)next_random(kind % 3 ? 10 : 1);
			out[4 * i + k] = hob_half_of(v);
		}
	for (int i = 0; i < 16; i++)
		out[4 * i + 3] = 0x3C00;
}

static void bc6h_gets_better_with_effort_and_uses_its_modes(void **state)
{
	(void)state;
	double sums[3] = {0};
	uint32_t modes = 0;
	for (int n = 0; n < 3000; n++) {
		uint16_t in[64], decoded[64];
		uint8_t out[16];
		make_light(n, in);
		for (int q = HOB_BC_FAST; q <= HOB_BC_BEST; q++) {
			hob_bc6h_encode(in, (hob_bc_quality)q, out);
			modes |= 1u << ((out[0] & 3) < 2 ? out[0] & 3 : out[0] & 31);
			hob_bc6h_decode(out, decoded);
			for (int i = 0; i < 64; i++)
				sums[q] += (decoded[i] - in[i]) * (double)(decoded[i] - in[i]);
		}
	}
	double stops[3];
	for (int q = 0; q < 3; q++)
		stops[q] = sqrt(sums[q] / 3000.0 / 48.0) / 1024.0;
	if (stops[2] > stops[1] || stops[1] > 0.9 * stops[0] || stops[0] > 0.035)
		fail_msg("off by %f, %f, %f stops", stops[0], stops[1], stops[2]);
	assert_true(__builtin_popcount(modes) >= 8);
}

static void one_light_comes_out_exact_of_bc6h_and_less_than_none_is_black(void **state)
{
	(void)state;
	uint16_t in[64], decoded[64];
	uint8_t out[16];
	for (uint32_t half = 0; half < 0x7C00; half += 5) {
		for (int i = 0; i < 64; i++)
			in[i] = i % 4 < 3 ? (uint16_t)half : 0x3C00;
		hob_bc6h_encode(in, HOB_BC_FAST, out);
		hob_bc6h_decode(out, decoded);
		assert_memory_equal(decoded, in, sizeof in);
	}
	for (int i = 0; i < 64; i++)
		in[i] = 0xC000; /* -2 */
	hob_bc6h_encode(in, HOB_BC_GOOD, out);
	hob_bc6h_decode(out, decoded);
	for (int i = 0; i < 64; i++)
		assert_int_equal(decoded[i], i % 4 < 3 ? 0 : 0x3C00);
}

static void random_blocks_of_bc6h_decode_to_finite_light(void **state)
{
	(void)state;
	for (int n = 0; n < 20000; n++) {
		uint8_t block[16];
		uint16_t out[64];
		for (int i = 0; i < 16; i++)
			block[i] = (uint8_t)next_random(256);
		hob_bc6h_decode(block, out);
		for (int i = 0; i < 64; i++)
			assert_true(out[i] < 0x7C00);
		if ((block[0] & 0x13) == 0x13)
			assert_int_equal(out[0] | out[1] | out[2], 0);
	}
}

static void reserved_and_random_blocks_decode_to_something(void **state)
{
	(void)state;
	for (uint32_t format = HOB_VK_BC1_RGB_UNORM; format <= HOB_VK_BC7_SRGB; format++)
		for (int n = 0; n < 2000 && format != HOB_VK_BC6H_UFLOAT && format != HOB_VK_BC6H_SFLOAT; n++) {
			uint8_t block[16], out[64];
			for (int i = 0; i < 16; i++)
				block[i] = (uint8_t)next_random(256);
			if (n % 9 == 8)
				block[0] = 0;
			hob_bc_decode(format, block, 4, 4, out);
			if (format >= HOB_VK_BC7_UNORM && block[0] == 0)
				assert_int_equal(out[3], 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anchors_belong_to_their_subsets),
		cmocka_unit_test(bc1_and_bc4_are_not_worse_than_stb_dxt),
		cmocka_unit_test(bc4_gets_better_with_effort),
		cmocka_unit_test(bc7_gets_better_with_effort_and_uses_its_modes),
		cmocka_unit_test(what_is_opaque_stays_opaque),
		cmocka_unit_test(one_colour_comes_out_exact_of_bc7),
		cmocka_unit_test(edges_that_are_no_multiple_of_four_repeat),
		cmocka_unit_test(one_colour_of_two_alphas_stays_exact),
		cmocka_unit_test(three_slopes_are_three_subsets),
		cmocka_unit_test(best_is_exact_where_it_can_be),
		cmocka_unit_test(bc6h_gets_better_with_effort_and_uses_its_modes),
		cmocka_unit_test(one_light_comes_out_exact_of_bc6h_and_less_than_none_is_black),
		cmocka_unit_test(random_blocks_of_bc6h_decode_to_finite_light),
		cmocka_unit_test(reserved_and_random_blocks_decode_to_something),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
