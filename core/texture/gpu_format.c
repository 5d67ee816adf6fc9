#include "gpu_format.h"

#include "../base/limits.h"

static const hob_gpu_format plain_formats[] = {
	{.vk = 9, .channels = 1, .bits = 8},
	{.vk = 15, .channels = 1, .bits = 8, .srgb = true},
	{.vk = 16, .channels = 2, .bits = 8},
	{.vk = 22, .channels = 2, .bits = 8, .srgb = true},
	{.vk = 23, .channels = 3, .bits = 8},
	{.vk = 29, .channels = 3, .bits = 8, .srgb = true},
	{.vk = 30, .channels = 3, .bits = 8, .bgr = true},
	{.vk = 36, .channels = 3, .bits = 8, .bgr = true, .srgb = true},
	{.vk = 37, .channels = 4, .bits = 8},
	{.vk = 43, .channels = 4, .bits = 8, .srgb = true},
	{.vk = 44, .channels = 4, .bits = 8, .bgr = true},
	{.vk = 50, .channels = 4, .bits = 8, .bgr = true, .srgb = true},
	{.vk = 70, .channels = 1, .bits = 16},
	{.vk = 77, .channels = 2, .bits = 16},
	{.vk = 84, .channels = 3, .bits = 16},
	{.vk = 91, .channels = 4, .bits = 16},
	{.vk = 76, .channels = 1, .bits = 16, .is_float = true, .is_signed = true},
	{.vk = 83, .channels = 2, .bits = 16, .is_float = true, .is_signed = true},
	{.vk = 90, .channels = 3, .bits = 16, .is_float = true, .is_signed = true},
	{.vk = 97, .channels = 4, .bits = 16, .is_float = true, .is_signed = true},
	{.vk = 100, .channels = 1, .bits = 32, .is_float = true, .is_signed = true},
	{.vk = 103, .channels = 2, .bits = 32, .is_float = true, .is_signed = true},
	{.vk = 106, .channels = 3, .bits = 32, .is_float = true, .is_signed = true},
	{.vk = 109, .channels = 4, .bits = 32, .is_float = true, .is_signed = true},
};

/* BC1_RGB_UNORM (131) to BC7_SRGB (146): block size and channels. */
static const struct {
	uint8_t bytes, channels;
	bool srgb, is_signed, is_float;
} bc_formats[16] = {
	{8, 3, false, false, false},  {8, 3, true, false, false},	{8, 4, false, false, false},
	{8, 4, true, false, false},	  {16, 4, false, false, false}, {16, 4, true, false, false},
	{16, 4, false, false, false}, {16, 4, true, false, false},	{8, 1, false, false, false},
	{8, 1, false, true, false},	  {16, 2, false, false, false}, {16, 2, false, true, false},
	{16, 3, false, false, true},  {16, 3, false, true, true},	{16, 4, false, false, false},
	{16, 4, true, false, false},
};

static const uint8_t astc_blocks[14][2] = {{4, 4}, {5, 4},	{5, 5},	 {6, 5},  {6, 6},	{8, 5},	  {8, 6},
										   {8, 8}, {10, 5}, {10, 6}, {10, 8}, {10, 10}, {12, 10}, {12, 12}};

/* ETC2 RGB, RGB with one bit of alpha, RGBA; EAC R, RG: 147 to 156. */
static const uint8_t etc_formats[5][2] = {{8, 3}, {8, 4}, {16, 4}, {8, 1}, {16, 2}};

bool hob_gpu_format_find(uint32_t vk, hob_gpu_format *out)
{
	for (size_t i = 0; i < HOB_COUNT_OF(plain_formats); i++)
		if (plain_formats[i].vk == vk) {
			*out = plain_formats[i];
			out->block_width = out->block_height = 1;
			out->block_bytes = (uint8_t)(out->channels * out->bits / 8);
			return true;
		}
	hob_gpu_format found = {.vk = vk, .block_width = 4, .block_height = 4};
	if (vk >= HOB_VK_BC1_RGB_UNORM && vk <= HOB_VK_BC7_SRGB) {
		uint32_t i = vk - HOB_VK_BC1_RGB_UNORM;
		found.codec = HOB_GPU_BC;
		found.block_bytes = bc_formats[i].bytes;
		found.channels = bc_formats[i].channels;
		found.srgb = bc_formats[i].srgb;
		found.is_signed = bc_formats[i].is_signed;
		found.is_float = bc_formats[i].is_float;
	} else if (vk >= 147 && vk <= 156) {
		uint32_t i = vk - 147;
		found.codec = HOB_GPU_ETC2;
		found.block_bytes = etc_formats[i / 2][0];
		found.channels = etc_formats[i / 2][1];
		found.srgb = i < 6 && i % 2 == 1;
		found.is_signed = i >= 6 && i % 2 == 1;
	} else if (vk >= HOB_VK_ASTC_4X4_UNORM && vk <= 184) {
		uint32_t i = vk - HOB_VK_ASTC_4X4_UNORM;
		found.codec = HOB_GPU_ASTC;
		found.block_width = astc_blocks[i / 2][0];
		found.block_height = astc_blocks[i / 2][1];
		found.block_bytes = 16;
		found.channels = 4;
		found.srgb = i % 2 == 1;
	} else {
		return false;
	}
	*out = found;
	return true;
}

size_t hob_gpu_level_bytes(const hob_gpu_format *format, uint32_t width, uint32_t height)
{
	size_t across = ((size_t)width + format->block_width - 1) / format->block_width;
	size_t down = ((size_t)height + format->block_height - 1) / format->block_height;
	return across * down * format->block_bytes;
}

uint32_t hob_level_count(uint32_t width, uint32_t height)
{
	uint32_t count = 1;
	for (uint32_t side = width > height ? width : height; side > 1; side >>= 1)
		count++;
	return count;
}

bool hob_gpu_size_check(uint32_t width, uint32_t height, hob_error *err)
{
	if (width == 0 || height == 0)
		return hob_fail(err, CORRUPT, "the size is %u x %u", width, height);
	return (width <= HOB_LIMIT_IMAGE_SIDE && height <= HOB_LIMIT_IMAGE_SIDE) ||
		   hob_fail(err, LIMIT, "the size is %u x %u; a side may have at most %llu pixels", width, height,
					HOB_LIMIT_IMAGE_SIDE);
}
