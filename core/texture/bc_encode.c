#include "blocks.h"

#include <assert.h>

static void take_block(const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t x, uint32_t y,
					   uint8_t out[64])
{
	for (uint32_t row = 0; row < 4; row++) {
		uint32_t from_y = y + row < height ? y + row : height - 1;
		const uint8_t *line = pixels + 4 * (size_t)from_y * width;
		if (x + 4 <= width) {
			memcpy(out + 16 * row, line + 4 * (size_t)x, 16);
			continue;
		}
		for (uint32_t i = 0; i < 4; i++)
			memcpy(out + 16 * row + 4 * i, line + 4 * (size_t)(x + i < width ? x + i : width - 1), 4);
	}
}

static void encode_block(uint32_t vk_format, const uint8_t block[64], hob_bc_quality quality, uint8_t *out)
{
	uint8_t red[16];
	switch (vk_format) {
	case HOB_VK_BC1_RGB_UNORM:
	case HOB_VK_BC1_RGB_SRGB:
		hob_bc1_encode(block, out);
		return;
	case HOB_VK_BC3_UNORM:
	case HOB_VK_BC3_SRGB:
		hob_bc3_encode(block, quality, out);
		return;
	case HOB_VK_BC4_UNORM:
		for (int i = 0; i < 16; i++)
			red[i] = block[4 * i];
		hob_bc4_encode(red, quality, out);
		return;
	case HOB_VK_BC5_UNORM:
		hob_bc5_encode(block, quality, out);
		return;
	default:
		assert(vk_format == HOB_VK_BC7_UNORM || vk_format == HOB_VK_BC7_SRGB);
		hob_bc7_encode(block, quality, out);
	}
}

void hob_bc_encode_rows(uint32_t vk_format, const uint8_t *pixels, uint32_t width, uint32_t height,
						uint32_t row_first, uint32_t row_end, hob_bc_quality quality, uint8_t *out)
{
	uint32_t across = (width + 3) / 4;
	bool half = vk_format < HOB_VK_BC2_UNORM || vk_format == HOB_VK_BC4_UNORM;
	uint32_t bytes = half ? 8 : 16;
	uint8_t block[64];
	for (uint32_t row = row_first; row < row_end; row++)
		for (uint32_t i = 0; i < across; i++) {
			take_block(pixels, width, height, 4 * i, 4 * row, block);
			encode_block(vk_format, block, quality, out + ((size_t)row * across + i) * bytes);
		}
}
