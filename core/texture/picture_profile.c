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

/* A chunk of PNG or WebP, or a segment of JPEG before its scan. */
typedef struct part {
	const uint8_t *tag;
	hob_bytes data;
} part;

/* The part at byte *at, which moves on. False at the end. */
static bool next_part(hob_picture_format format, hob_bytes file, size_t *at, part *out)
{
	bool png = format == HOB_PICTURE_PNG, jpeg = format == HOB_PICTURE_JPEG;
	size_t head = jpeg ? 4 : 8, tail = png ? 4 : 0;
	if (*at > file.size || file.size - *at < head + tail)
		return false;
	const uint8_t *p = file.data + *at;
	size_t left = file.size - *at - head - tail;
	size_t size = png	 ? hob_load_big_u32(p)
				  : jpeg ? hob_load_big_u16(p + 2) - (size_t)2
						 : hob_load_u32(p + 4);
	if (size > left || (jpeg && (p[0] != 0xFF || p[1] == 0xDA)))
		return false;
	*out = (part){p + (png ? 4 : jpeg ? 1 : 0), {p + head, size}};
	*at += head + size + tail + (png || jpeg ? 0 : size & 1);
	return true;
}

static size_t first_part(hob_picture_format format)
{
	return format == HOB_PICTURE_PNG ? 8 : format == HOB_PICTURE_JPEG ? 2 : 12;
}

/* The data of the first part with this tag that begin with `prefix` and are longer; else no bytes. */
static hob_bytes find_part(hob_picture_format format, hob_bytes file, hob_str tag, hob_str prefix)
{
	part p;
	for (size_t at = first_part(format); next_part(format, file, &at, &p);)
		if (memcmp(p.tag, tag.data, tag.len) == 0 && p.data.size > prefix.len &&
			memcmp(p.data.data, prefix.data, prefix.len) == 0)
			return p.data;
	return (hob_bytes){0};
}

/* Precedence in PNG: cICP, sRGB, the name of iCCP, a gAMA other than 1/2.2. */
static bool png_differs(hob_bytes file)
{
	bool differs = false, settled = false;
	part p;
	for (size_t at = 8; next_part(HOB_PICTURE_PNG, file, &at, &p) && memcmp(p.tag, "IDAT", 4) != 0;) {
		const uint8_t *data = p.data.data;
		size_t size = p.data.size;
		/* Primaries of BT.709, the transfer of sRGB. */
		if (memcmp(p.tag, "cICP", 4) == 0 && size == 4)
			return data[0] != 1 || data[1] != 13;
		if (memcmp(p.tag, "sRGB", 4) == 0) {
			differs = false;
			settled = true;
		} else if (memcmp(p.tag, "iCCP", 4) == 0 && !settled) {
			differs = !holds((hob_bytes){data, size < 80 ? size : 80}, HOB_STR("sRGB"));
			settled = true;
		}
		if (memcmp(p.tag, "gAMA", 4) == 0 && size == 4 && !settled)
			differs = hob_load_big_u32(data) < 43000 || hob_load_big_u32(data) > 48000;
	}
	return differs;
}

bool hob_picture_profile_differs(hob_picture_format format, hob_bytes file)
{
	enum { ICC_HEAD = 14 }; /* "ICC_PROFILE", its number and the count of all */
	hob_bytes profile = {0};
	if (format == HOB_PICTURE_PNG)
		return png_differs(file);
	if (format == HOB_PICTURE_WEBP)
		profile = find_part(format, file, HOB_STR("ICCP"), HOB_STR(""));
	if (format == HOB_PICTURE_JPEG)
		profile = find_part(format, file, HOB_STR("\xE2"), HOB_STR("ICC_PROFILE\0"));
	size_t head = format == HOB_PICTURE_JPEG ? ICC_HEAD : 0;
	return profile.size > head && !hob_profile_is_srgb((hob_bytes){profile.data + head, profile.size - head});
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

uint8_t hob_picture_turn(hob_picture_format format, hob_bytes file)
{
	if (format == HOB_PICTURE_PNG)
		return exif_turn(find_part(format, file, HOB_STR("eXIf"), HOB_STR("")));
	if (format == HOB_PICTURE_WEBP)
		return exif_turn(find_part(format, file, HOB_STR("EXIF"), HOB_STR("")));
	if (format == HOB_PICTURE_JPEG)
		return exif_turn(find_part(format, file, HOB_STR("\xE1"), HOB_STR("Exif\0\0")));
	return 0;
}
