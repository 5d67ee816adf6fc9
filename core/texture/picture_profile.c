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

/* Precedence in PNG: cICP, sRGB, the name of iCCP, a gAMA other than 1/2.2. */
static bool png_differs(hob_bytes file)
{
	bool differs = false, settled = false;
	for (size_t at = 8; at + 12 <= file.size;) {
		const uint8_t *p = file.data + at;
		size_t size = load_be32(p);
		if (memcmp(p + 4, "IDAT", 4) == 0 || size > file.size - at - 12)
			break;
		/* Primaries of BT.709, the transfer of sRGB. */
		if (memcmp(p + 4, "cICP", 4) == 0 && size == 4)
			return p[8] != 1 || p[9] != 13;
		if (memcmp(p + 4, "sRGB", 4) == 0) {
			differs = false;
			settled = true;
		} else if (memcmp(p + 4, "iCCP", 4) == 0 && !settled) {
			differs = !holds((hob_bytes){p + 8, size < 80 ? size : 80}, HOB_STR("sRGB"));
			settled = true;
		}
		if (memcmp(p + 4, "gAMA", 4) == 0 && size == 4 && !settled)
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

/* ---- EXIF */

static uint32_t load(const uint8_t *p, uint32_t bytes, bool big)
{
	uint32_t value = 0;
	for (uint32_t i = 0; i < bytes; i++)
		value |= (uint32_t)p[i] << 8 * (big ? bytes - 1 - i : i);
	return value;
}

/* The orientation: tag 274 of the first directory. */
static uint8_t exif_turn(hob_bytes exif)
{
	if (exif.size >= 6 && memcmp(exif.data, "Exif\0\0", 6) == 0)
		exif = (hob_bytes){exif.data + 6, exif.size - 6};
	const uint8_t *p = exif.data;
	if (exif.size < 8 || (memcmp(p, "II*\0", 4) != 0 && memcmp(p, "MM\0*", 4) != 0))
		return 0;
	bool big = p[0] == 'M';
	size_t at = load(p + 4, 4, big);
	if (at > exif.size || exif.size - at < 2)
		return 0;
	uint32_t count = load(p + at, 2, big);
	for (at += 2; count > 0 && exif.size - at >= 12; count--, at += 12)
		if (load(p + at, 2, big) == 274 && load(p + at + 2, 2, big) == 3) {
			uint32_t turn = load(p + at + 8, 2, big);
			return (uint8_t)(turn >= 2 && turn <= 8 ? turn : 0);
		}
	return 0;
}

static uint8_t png_turn(hob_bytes file)
{
	for (size_t at = 8; at + 12 <= file.size;) {
		const uint8_t *p = file.data + at;
		size_t size = load(p, 4, true);
		if (size > file.size - at - 12)
			break;
		if (memcmp(p + 4, "eXIf", 4) == 0)
			return exif_turn((hob_bytes){p + 8, size});
		at += 12 + size;
	}
	return 0;
}

static uint8_t jpeg_turn(hob_bytes file)
{
	for (size_t at = 2; at + 4 <= file.size && file.data[at] == 0xFF && file.data[at + 1] != 0xDA;) {
		const uint8_t *p = file.data + at;
		size_t size = load(p + 2, 2, true);
		if (size < 2 || size > file.size - at - 2)
			break;
		if (p[1] == 0xE1 && size > 8 && memcmp(p + 4, "Exif\0\0", 6) == 0)
			return exif_turn((hob_bytes){p + 4, size - 2});
		at += 2 + size;
	}
	return 0;
}

static uint8_t webp_turn(hob_bytes file)
{
	for (size_t at = 12; at + 8 <= file.size;) {
		size_t size = hob_load_u32(file.data + at + 4);
		if (size > file.size - at - 8)
			break;
		if (memcmp(file.data + at, "EXIF", 4) == 0)
			return exif_turn((hob_bytes){file.data + at + 8, size});
		at += 8 + size + (size & 1);
	}
	return 0;
}

uint8_t hob_picture_turn(hob_picture_format format, hob_bytes file)
{
	return format == HOB_PICTURE_PNG	? png_turn(file)
		   : format == HOB_PICTURE_JPEG ? jpeg_turn(file)
		   : format == HOB_PICTURE_WEBP ? webp_turn(file)
										: 0;
}
