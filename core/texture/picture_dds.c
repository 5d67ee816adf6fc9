#include "gpu_format.h"

enum {
	FOURCC_FLAG = 4,
	RGB_FLAG = 0x40,
	LUMINANCE_FLAG = 0x20000,
	ALPHA_ONLY_FLAG = 2,
	CUBE = 0x200,
	VOLUME = 0x200000
};

#define FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

typedef struct pair {
	uint32_t from, vk;
} pair;

static const pair codes[] = {
	{FOURCC('D', 'X', 'T', '1'), 133},
	{FOURCC('D', 'X', 'T', '2'), 135},
	{FOURCC('D', 'X', 'T', '3'), 135},
	{FOURCC('D', 'X', 'T', '4'), 137},
	{FOURCC('D', 'X', 'T', '5'), 137},
	{FOURCC('A', 'T', 'I', '1'), 139},
	{FOURCC('B', 'C', '4', 'U'), 139},
	{FOURCC('B', 'C', '4', 'S'), 140},
	{FOURCC('A', 'T', 'I', '2'), 141},
	{FOURCC('B', 'C', '5', 'U'), 141},
	{FOURCC('B', 'C', '5', 'S'), 142},
	{36, 91},
	{111, 76},
	{112, 83},
	{113, 97},
	{114, 100},
	{115, 103},
	{116, 109},
};

static const pair dxgi[] = {
	{2, 109},  {6, 106},  {10, 97},	 {11, 91},	{16, 103}, {28, 37},  {29, 43},	 {34, 83},
	{35, 77},  {41, 100}, {49, 16},	 {54, 76},	{56, 70},  {61, 9},	  {71, 133}, {72, 134},
	{74, 135}, {75, 136}, {77, 137}, {78, 138}, {80, 139}, {81, 140}, {83, 141}, {84, 142},
	{87, 44},  {91, 50},  {95, 143}, {96, 144}, {98, 145}, {99, 146},
};

static uint32_t look_up(const pair *pairs, size_t count, uint32_t from)
{
	for (size_t i = 0; i < count; i++)
		if (pairs[i].from == from)
			return pairs[i].vk;
	return 0;
}

static bool read_masks(const uint8_t *format, hob_gpu_texture *t, hob_error *err)
{
	uint32_t flags = hob_load_u32(format + 4);
	t->mask_bits = hob_load_u32(format + 12);
	for (uint32_t k = 0; k < 4; k++)
		t->masks[k] = hob_load_u32(format + 16 + 4 * k);
	if ((flags & 1) == 0 && (flags & ALPHA_ONLY_FLAG) == 0)
		t->masks[3] = 0;
	if (flags & LUMINANCE_FLAG)
		t->masks[1] = t->masks[2] = 0;
	bool known = (flags & (RGB_FLAG | LUMINANCE_FLAG | ALPHA_ONLY_FLAG)) != 0;
	uint32_t bits = t->mask_bits;
	if (!known || bits == 0 || bits % 8 != 0 || bits > 32)
		return hob_fail(err, UNSUPPORTED, "pixels of %u bits with flags 0x%X; save it as BC1 to BC7 or PNG",
						bits, flags);
	return true;
}

bool hob_dds_open(hob_bytes file, hob_gpu_texture *out, hob_error *err)
{
	const uint8_t *p = file.data;
	if (file.size < 128 || hob_load_u32(p + 4) != 124)
		return hob_fail(err, TRUNCATED, "the header is cut off or damaged (%zu bytes)", file.size);
	hob_gpu_texture t = {.height = hob_load_u32(p + 12), .width = hob_load_u32(p + 16)};
	uint32_t stored = hob_load_u32(p + 28), caps = hob_load_u32(p + 112), code = hob_load_u32(p + 84);
	size_t at = 128;
	if (caps & (CUBE | VOLUME))
		return hob_fail(err, UNSUPPORTED, "it is a cube map or a volume; give a flat texture");
	if (!hob_gpu_size_check(t.width, t.height, err))
		return false;
	if ((hob_load_u32(p + 80) & FOURCC_FLAG) == 0) {
		if (!read_masks(p + 76, &t, err))
			return false;
	} else if (code == FOURCC('D', 'X', '1', '0')) {
		if (file.size < 148)
			return hob_fail(err, TRUNCATED, "the DX10 header is cut off (%zu bytes)", file.size);
		if (hob_load_u32(p + 132) != 3 || hob_load_u32(p + 140) > 1 || (hob_load_u32(p + 136) & 4))
			return hob_fail(err, UNSUPPORTED,
							"it is an array, a cube map or not two-dimensional; give a flat texture");
		t.vk_format = look_up(dxgi, HOB_COUNT_OF(dxgi), hob_load_u32(p + 128));
		at = 148;
	} else {
		t.vk_format = look_up(codes, HOB_COUNT_OF(codes), code);
	}
	if (t.vk_format == 0 && t.mask_bits == 0)
		return hob_fail(err, UNSUPPORTED,
						"its pixel format (code 0x%08X) is not one Hob knows; save it as BC1 to BC7 or PNG",
						at == 148 ? hob_load_u32(p + 128) : code);
	hob_gpu_format format = {.block_width = 1, .block_height = 1, .block_bytes = (uint8_t)(t.mask_bits / 8)};
	bool known = t.vk_format == 0 || hob_gpu_format_find(t.vk_format, &format);
	uint32_t most = hob_level_count(t.width, t.height);
	t.level_count = !known || stored == 0 ? 1 : stored < most ? stored : most;
	for (uint32_t i = 0; i < t.level_count; i++) {
		size_t size = hob_gpu_level_bytes(&format, hob_level_side(t.width, i), hob_level_side(t.height, i));
		if (size > file.size - at)
			return hob_fail(err, TRUNCATED, "level %u of %u x %u needs %zu bytes, the file has %zu more", i,
							t.width, t.height, size, file.size - at);
		t.levels[i] = (hob_bytes){p + at, size};
		t.raw_bytes[i] = size;
		at += size;
	}
	*out = t;
	return true;
}
