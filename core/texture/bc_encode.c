#include "blocks.h"

#include <assert.h>

/* Copies a 4x4 block out of the picture. `bytes` is the size of a pixel, 4 or 8. */
static void take_block(const uint8_t *pixels, uint32_t bytes, uint32_t width, uint32_t height, uint32_t x,
					   uint32_t y, uint8_t *out)
{
	for (uint32_t row = 0; row < 4; row++) {
		uint32_t from_y = y + row < height ? y + row : height - 1;
		const uint8_t *line = pixels + (size_t)bytes * from_y * width;
		for (uint32_t i = 0; i < 4; i++, out += bytes)
			memcpy(out, line + (size_t)bytes * (x + i < width ? x + i : width - 1), bytes);
	}
}

static void encode_block(uint32_t vk_format, const uint8_t block[64], hob_bc_quality quality, uint8_t *out)
{
	switch (vk_format) {
	case HOB_VK_BC1_RGB_UNORM:
	case HOB_VK_BC1_RGB_SRGB:
		hob_bc1_encode(block, out);
		return;
	case HOB_VK_BC3_UNORM:
	case HOB_VK_BC3_SRGB:
		hob_bc4_encode(block, 3, quality, out);
		hob_bc1_encode(block, out + 8);
		return;
	case HOB_VK_BC4_UNORM:
		hob_bc4_encode(block, 0, quality, out);
		return;
	case HOB_VK_BC5_UNORM:
		hob_bc4_encode(block, 0, quality, out);
		hob_bc4_encode(block, 1, quality, out + 8);
		return;
	default:
		assert(vk_format == HOB_VK_BC7_UNORM || vk_format == HOB_VK_BC7_SRGB);
		hob_bc7_encode(block, quality, out);
	}
}

void hob_bc_encode_rows(uint32_t vk_format, const void *pixels, uint32_t width, uint32_t height,
						uint32_t row_first, uint32_t row_end, hob_bc_quality quality, uint8_t *out)
{
	uint32_t across = (width + 3) / 4;
	bool half = vk_format < HOB_VK_BC2_UNORM || vk_format == HOB_VK_BC4_UNORM;
	uint32_t bytes = half ? 8 : 16;
	bool wide = vk_format == HOB_VK_BC6H_UFLOAT;
	union {
		uint8_t bytes[64];
		uint16_t halves[64];
	} block;
	for (uint32_t row = row_first; row < row_end; row++)
		for (uint32_t i = 0; i < across; i++) {
			uint8_t *to = out + ((size_t)row * across + i) * bytes;
			take_block(pixels, wide ? 8 : 4, width, height, 4 * i, 4 * row, (uint8_t *)&block);
			if (wide)
				hob_bc6h_encode(block.halves, quality, to);
			else
				encode_block(vk_format, block.bytes, quality, to);
		}
}
