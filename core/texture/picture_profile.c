#include "picture.h"

static bool holds(hob_bytes bytes, hob_str word)
{
	for (size_t i = 0; i + word.len <= bytes.size; i++)
		if (memcmp(bytes.data + i, word.data, word.len) == 0)
			return true;
	return false;
}

bool hob_profile_is_srgb(hob_bytes profile)
{
	/* The description is ASCII in version 2 and UTF-16 in version 4. */
	return holds(profile, HOB_STR("sRGB")) || holds(profile, (hob_str){"s\0R\0G\0B", 7});
}

static uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* PNG: sRGB settles it; else iCCP by its name, else gAMA other than 1/2.2. */
static bool png_differs(hob_bytes file)
{
	bool differs = false;
	for (size_t at = 8; at + 12 <= file.size;) {
		const uint8_t *p = file.data + at;
		size_t size = load_be32(p);
		if (memcmp(p + 4, "IDAT", 4) == 0 || size > file.size - at - 12)
			break;
		if (memcmp(p + 4, "sRGB", 4) == 0)
			return false;
		if (memcmp(p + 4, "iCCP", 4) == 0)
			return !holds((hob_bytes){p + 8, size < 80 ? size : 80}, HOB_STR("sRGB"));
		if (memcmp(p + 4, "gAMA", 4) == 0 && size == 4)
			differs = load_be32(p + 8) < 43000 || load_be32(p + 8) > 48000;
		at += 12 + size;
	}
	return differs;
}

static bool jpeg_differs(hob_bytes file)
{
	for (size_t at = 2; at + 4 <= file.size && file.data[at] == 0xFF && file.data[at + 1] != 0xDA;) {
		const uint8_t *p = file.data + at;
		size_t size = (size_t)p[2] << 8 | p[3];
		if (size > file.size - at - 2)
			break;
		if (p[1] == 0xE2 && size > 16 && memcmp(p + 4, "ICC_PROFILE", 12) == 0)
			return !hob_profile_is_srgb((hob_bytes){p + 18, size - 16});
		at += 2 + size;
	}
	return false;
}

static bool webp_differs(hob_bytes file)
{
	for (size_t at = 12; at + 8 <= file.size;) {
		size_t size = hob_load_u32(file.data + at + 4);
		if (size > file.size - at - 8)
			break;
		if (memcmp(file.data + at, "ICCP", 4) == 0)
			return !hob_profile_is_srgb((hob_bytes){file.data + at + 8, size});
		at += 8 + size + (size & 1);
	}
	return false;
}

bool hob_picture_profile_differs(hob_picture_format format, hob_bytes file)
{
	return format == HOB_PICTURE_PNG	? png_differs(file)
		   : format == HOB_PICTURE_JPEG ? jpeg_differs(file)
		   : format == HOB_PICTURE_WEBP ? webp_differs(file)
										: false;
}
