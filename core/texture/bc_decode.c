#include "blocks.h"

#include "bc7_tables.h"

#include <assert.h>

/* Decodes the colours of a block. `punch`: the mode of three colours and transparent black is allowed. */
static void decode_color(const uint8_t *block, bool punch, uint8_t out[64])
{
	uint32_t c0 = hob_load_u16(block), c1 = hob_load_u16(block + 2), bits = hob_load_u32(block + 4);
	int32_t colors[4][4] = {{0}};
	bool four = c0 > c1 || !punch;
	hob_expand_565(c0, colors[0]);
	hob_expand_565(c1, colors[1]);
	for (uint32_t k = 0; k < 3; k++) {
		int32_t a = colors[0][k], b = colors[1][k];
		colors[2][k] = four ? (2 * a + b) / 3 : (a + b) / 2;
		colors[3][k] = four ? (a + 2 * b) / 3 : 0;
	}
	for (uint32_t i = 0; i < 4; i++)
		colors[i][3] = i == 3 && !four ? 0 : 255;
	for (uint32_t i = 0; i < 16; i++)
		for (uint32_t k = 0; k < 4; k++)
			out[4 * i + k] = (uint8_t)colors[bits >> 2 * i & 3][k];
}

static uint64_t load_48(const uint8_t *p)
{
	return hob_load_u32(p) | (uint64_t)hob_load_u16(p + 4) << 32;
}

static void decode_scalar(const uint8_t *block, bool is_signed, uint32_t channel, uint8_t out[64])
{
	int a = block[0], b = block[1], values[8];
	if (is_signed) {
		/* -128 and -127 both mean -1. */
		a = (int8_t)block[0] < -127 ? -127 : (int8_t)block[0];
		b = (int8_t)block[1] < -127 ? -127 : (int8_t)block[1];
	}
	bool eight = is_signed ? (int8_t)block[0] > (int8_t)block[1] : a > b;
	values[0] = a;
	values[1] = b;
	for (int i = 2; i < 8; i++) {
		if (eight)
			values[i] = ((8 - i) * a + (i - 1) * b) / 7;
		else
			values[i] = i < 6	 ? ((6 - i) * a + (i - 1) * b) / 5
						: i == 6 ? (is_signed ? -127 : 0)
								 : (is_signed ? 127 : 255);
	}
	uint64_t bits = load_48(block + 2);
	for (uint32_t i = 0; i < 16; i++) {
		int v = values[bits >> 3 * i & 7];
		out[4 * i + channel] = (uint8_t)(is_signed ? (v + 127) * 255 / 254 + (v == 0 ? 1 : 0) : v);
	}
}

static void decode_explicit_alpha(const uint8_t *block, uint8_t out[64])
{
	for (uint32_t i = 0; i < 16; i++)
		out[4 * i + 3] = (uint8_t)((block[i / 2] >> 4 * (i % 2) & 15) * 17);
}

/* ---- BC7 */

static uint32_t widen(uint32_t value, uint32_t bits)
{
	value <<= 8 - bits;
	return value | value >> bits;
}

static uint32_t mix(uint32_t a, uint32_t b, uint32_t weight)
{
	return ((64 - weight) * a + weight * b + 32) >> 6;
}

static void read_endpoints(hob_block_bits *r, const bc7_mode *m, uint32_t ends[6][4])
{
	uint32_t count = 2u * m->subsets, p[6] = {0}, has_p = m->own_p | m->shared_p;
	for (uint32_t k = 0; k < 3; k++)
		for (uint32_t e = 0; e < count; e++)
			ends[e][k] = hob_block_take(r, m->color);
	for (uint32_t e = 0; e < count; e++)
		ends[e][3] = hob_block_take(r, m->alpha);
	for (uint32_t e = 0; e < count && has_p; e++)
		p[e] = m->own_p || e % 2 == 0 ? hob_block_take(r, 1) : p[e - 1];
	for (uint32_t e = 0; e < count; e++) {
		for (uint32_t k = 0; k < 4; k++) {
			uint32_t bits = k < 3 ? m->color : m->alpha;
			if (bits == 0)
				ends[e][k] = 255;
			else
				ends[e][k] = has_p ? widen(ends[e][k] << 1 | p[e], bits + 1) : widen(ends[e][k], bits);
		}
	}
}

static void decode_bc7(const uint8_t *block, uint8_t out[64])
{
	uint32_t number = block[0] ? (uint32_t)__builtin_ctz(block[0]) : 8;
	if (number == 8) {
		memset(out, 0, 64);
		return;
	}
	const bc7_mode *m = &bc7_modes[number];
	hob_block_bits r = hob_block_load(block);
	hob_block_take(&r, number + 1);
	uint32_t partition = hob_block_take(&r, m->partition), rotation = hob_block_take(&r, m->rotation),
			 swap = hob_block_take(&r, m->selection);
	uint32_t ends[6][4], first[16], second[16];
	read_endpoints(&r, m, ends);
	uint32_t subsets = m->subsets == 1	 ? 0
					   : m->subsets == 2 ? bc7_partitions2[partition]
										 : bc7_partitions3[partition];
	for (uint32_t i = 0; i < 16; i++) {
		bool anchor =
			i == 0 || (m->subsets == 2 && i == bc7_anchors2[partition]) ||
			(m->subsets == 3 && (i == bc7_anchors3[0][partition] || i == bc7_anchors3[1][partition]));
		first[i] = hob_block_take(&r, anchor ? m->index - 1u : m->index);
	}
	for (uint32_t i = 0; i < 16 && m->index2; i++)
		second[i] = hob_block_take(&r, i == 0 ? m->index2 - 1u : m->index2);
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t s = subsets >> 2 * i & 3, color_weight = bc7_weights[m->index][first[i]],
				 alpha_weight = color_weight;
		if (m->index2) {
			alpha_weight = bc7_weights[m->index2][second[i]];
			if (swap) {
				uint32_t other = color_weight;
				color_weight = alpha_weight;
				alpha_weight = other;
			}
		}
		uint8_t *pixel = out + 4 * i;
		for (uint32_t k = 0; k < 4; k++)
			pixel[k] = (uint8_t)mix(ends[2 * s][k], ends[2 * s + 1][k], k < 3 ? color_weight : alpha_weight);
		if (rotation > 0) {
			uint8_t other = pixel[3];
			pixel[3] = pixel[rotation - 1];
			pixel[rotation - 1] = other;
		}
	}
}

static void decode_block(uint32_t vk_format, const uint8_t *block, uint8_t out[64])
{
	bool is_signed = vk_format == HOB_VK_BC4_SNORM || vk_format == HOB_VK_BC5_SNORM;
	for (uint32_t i = 0; i < 64; i++)
		out[i] = i % 4 == 3 ? 255 : 0;
	switch (vk_format) {
	case HOB_VK_BC1_RGB_UNORM:
	case HOB_VK_BC1_RGB_SRGB:
		decode_color(block, true, out);
		for (uint32_t i = 0; i < 16; i++)
			out[4 * i + 3] = 255;
		return;
	case HOB_VK_BC1_RGBA_UNORM:
	case HOB_VK_BC1_RGBA_SRGB:
		decode_color(block, true, out);
		return;
	case HOB_VK_BC2_UNORM:
	case HOB_VK_BC2_SRGB:
		decode_color(block + 8, false, out);
		decode_explicit_alpha(block, out);
		return;
	case HOB_VK_BC3_UNORM:
	case HOB_VK_BC3_SRGB:
		decode_color(block + 8, false, out);
		decode_scalar(block, false, 3, out);
		return;
	case HOB_VK_BC4_UNORM:
	case HOB_VK_BC4_SNORM:
		for (uint32_t channel = 0; channel < 3; channel++)
			decode_scalar(block, is_signed, channel, out);
		return;
	case HOB_VK_BC5_UNORM:
	case HOB_VK_BC5_SNORM:
		decode_scalar(block, is_signed, 0, out);
		decode_scalar(block + 8, is_signed, 1, out);
		return;
	default:
		assert(vk_format == HOB_VK_BC7_UNORM || vk_format == HOB_VK_BC7_SRGB);
		decode_bc7(block, out);
	}
}

void hob_bc_decode(uint32_t vk_format, const uint8_t *blocks, uint32_t width, uint32_t height,
				   uint8_t *pixels)
{
	hob_gpu_format format;
	bool known = hob_gpu_format_find(vk_format, &format);
	assert(known && format.codec == HOB_GPU_BC);
	uint8_t decoded[64];
	for (uint32_t y = 0; y < height; y += 4)
		for (uint32_t x = 0; x < width; x += 4, blocks += format.block_bytes) {
			decode_block(vk_format, blocks, decoded);
			hob_block_place(decoded, 4, x, y, width, height, pixels);
		}
}
