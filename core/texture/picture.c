#include "picture.h"

#include "../base/guard.h"
#include "../base/limits.h"

typedef struct format_entry {
	const char *name;
	hob_picture_probe_fn *probe;
	hob_picture_read_fn *read;
	const char *without; /* the library that this build lacks, and the remedy; NULL: the readers are there */
} format_entry;

static const format_entry formats[] = {
	[HOB_PICTURE_RAW] = {"raw RGBA", NULL, NULL, NULL},
	[HOB_PICTURE_PNG] = {"PNG", hob_png_probe, hob_png_read, NULL},
	[HOB_PICTURE_JPEG] = {"JPEG", hob_jpeg_probe, hob_jpeg_read, NULL},
	[HOB_PICTURE_GIF] = {"GIF", hob_gif_probe, hob_gif_read, NULL},
	[HOB_PICTURE_BMP] = {"BMP", hob_bmp_probe, hob_bmp_read, NULL},
	[HOB_PICTURE_TGA] = {"TGA", hob_tga_probe, hob_tga_read, NULL},
	[HOB_PICTURE_PSD] = {"PSD", hob_psd_probe, hob_psd_read, NULL},
	[HOB_PICTURE_PNM] = {"PNM", hob_pnm_probe, hob_pnm_read, NULL},
	[HOB_PICTURE_HDR] = {"Radiance HDR", hob_hdr_probe, hob_hdr_read, NULL},
#ifdef HOB_WEBP
	[HOB_PICTURE_WEBP] = {"WebP", hob_webp_probe, hob_webp_read, NULL},
#else
	[HOB_PICTURE_WEBP] = {"WebP", NULL, NULL, "libwebp; save the picture as PNG or JPEG"},
#endif
	[HOB_PICTURE_DDS] = {"DDS", hob_gpu_probe, hob_gpu_read, NULL},
	[HOB_PICTURE_KTX2] = {"KTX2", hob_gpu_probe, hob_gpu_read, NULL},
#ifdef HOB_TIFF
	[HOB_PICTURE_TIFF] = {"TIFF", hob_tiff_probe, hob_tiff_read, NULL},
#else
	[HOB_PICTURE_TIFF] = {"TIFF", NULL, NULL, "libtiff; save the picture as PNG"},
#endif
#ifdef HOB_EXR
	[HOB_PICTURE_EXR] = {"OpenEXR", hob_exr_probe, hob_exr_read, NULL},
#else
	[HOB_PICTURE_EXR] = {"OpenEXR", NULL, NULL, "OpenEXR; save the picture as Radiance HDR"},
#endif
#ifdef HOB_AVIF
	[HOB_PICTURE_AVIF] = {"AVIF", hob_avif_probe, hob_avif_read, NULL},
#else
	[HOB_PICTURE_AVIF] = {"AVIF", NULL, NULL, "libavif; save the picture as PNG or JPEG"},
#endif
};

const char *hob_picture_format_name(hob_picture_format format)
{
	return formats[format].name;
}

typedef struct signature {
	size_t offset;
	const char *bytes;
	size_t size;
	hob_picture_format format;
	const char *refused; /* set: name of an unsupported format, with the remedy */
} signature;

#define MAGIC(offset, text) offset, "" text, sizeof(text) - 1

static const signature signatures[] = {
	{MAGIC(0, "\x89PNG\r\n\x1A\n"), HOB_PICTURE_PNG, NULL},
	{MAGIC(0, "\xFF\xD8\xFF"), HOB_PICTURE_JPEG, NULL},
	{MAGIC(0, "GIF87a"), HOB_PICTURE_GIF, NULL},
	{MAGIC(0, "GIF89a"), HOB_PICTURE_GIF, NULL},
	{MAGIC(0, "8BPS"), HOB_PICTURE_PSD, NULL},
	{MAGIC(0, "#?RADIANCE"), HOB_PICTURE_HDR, NULL},
	{MAGIC(0, "#?RGBE"), HOB_PICTURE_HDR, NULL},
	{MAGIC(0, "DDS "), HOB_PICTURE_DDS, NULL},
	{MAGIC(0, "\xABKTX 20\xBB\r\n\x1A\n"), HOB_PICTURE_KTX2, NULL},
	{MAGIC(8, "WEBP"), HOB_PICTURE_WEBP, NULL},
	{MAGIC(0, "\xABKTX 11\xBB\r\n\x1A\n"), 0, "a KTX 1 texture; convert it to KTX2 (ktx2ktx2) or PNG"},
	{MAGIC(0, "II*\0"), HOB_PICTURE_TIFF, NULL},
	{MAGIC(0, "MM\0*"), HOB_PICTURE_TIFF, NULL},
	{MAGIC(0, "II+\0"), HOB_PICTURE_TIFF, NULL},
	{MAGIC(0, "MM\0+"), HOB_PICTURE_TIFF, NULL},
	{MAGIC(0, "v/1\x01"), HOB_PICTURE_EXR, NULL},
	{MAGIC(0, "\0\0\1\0"), 0, "a Windows icon; save it as PNG"},
	{MAGIC(0, "icns"), 0, "an Apple icon; save it as PNG"},
	{MAGIC(4, "ftypavif"), HOB_PICTURE_AVIF, NULL},
	{MAGIC(4, "ftyphei"), 0, "a HEIC picture; save it as PNG or JPEG"},
	{MAGIC(4, "ftypmif1"), 0, "a HEIF picture; save it as PNG or JPEG"},
	{MAGIC(0, "\xFF\x0A"), 0, "a JPEG XL picture; save it as PNG or JPEG"},
	{MAGIC(0, "\0\0\0\x0CJXL "), 0, "a JPEG XL picture; save it as PNG or JPEG"},
	{MAGIC(0, "\0\0\0\x0CjP  "), 0, "a JPEG 2000 picture; save it as PNG or JPEG"},
	{MAGIC(0, "<svg"), 0, "an SVG drawing; export it as PNG"},
	{MAGIC(0, "<?xml"), 0, "an XML file (an SVG drawing?); export it as PNG"},
	{MAGIC(0, "<!"), 0, "an HTML page; the download failed, fetch the picture again"},
	{MAGIC(0, "<html"), 0, "an HTML page; the download failed, fetch the picture again"},
};

static bool has_signature(hob_bytes file, const signature *s)
{
	return file.size >= s->offset + s->size && memcmp(file.data + s->offset, s->bytes, s->size) == 0;
}

static bool sniff(hob_bytes file, hob_picture_format *out, hob_error *err)
{
	if (file.size == 0)
		return hob_fail(err, EMPTY, "the picture file is empty (0 bytes); export or copy it again");
	for (size_t i = 0; i < HOB_COUNT_OF(signatures); i++) {
		const signature *s = &signatures[i];
		if (!has_signature(file, s))
			continue;
		if (s->refused)
			return hob_fail(err, UNSUPPORTED, "it is %s", s->refused);
		*out = s->format;
		return true;
	}
	const uint8_t *p = file.data;
	if (file.size >= 3 && p[0] == 'P' && p[1] >= '1' && p[1] <= '6')
		*out = HOB_PICTURE_PNM;
	else if (file.size >= 26 && p[0] == 'B' && p[1] == 'M')
		*out = HOB_PICTURE_BMP;
	else if (hob_tga_plausible(file))
		*out = HOB_PICTURE_TGA;
	else
		return hob_fail(
			err, UNSUPPORTED,
			"its %zu bytes are not a picture that Hob reads (PNG, JPEG, WebP, AVIF, TIFF, OpenEXR, "
			"TGA, BMP, GIF, "
			"PSD, HDR, PNM, DDS, KTX2); save it as PNG",
			file.size);
	return true;
}

bool hob_picture_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	hob_picture_info info = {.mips = 1};
	if (!sniff(file, &info.format, err))
		return false;
	const char *name = formats[info.format].name, *without = formats[info.format].without;
	if (without ? !hob_fail(err, UNSUPPORTED, "this Hob was built without %s", without)
				: !formats[info.format].probe(file, &info, err))
		return hob_fail_in(err, "%s picture", name);
	if (info.width == 0 || info.height == 0)
		return hob_fail(err, CORRUPT, "the %s picture has no pixels (%u x %u)", name, info.width,
						info.height);
	if (info.width > HOB_LIMIT_IMAGE_SIDE || info.height > HOB_LIMIT_IMAGE_SIDE)
		return hob_fail(err, LIMIT,
						"the %s picture is %u x %u; a side may have at most %llu pixels, scale it down", name,
						info.width, info.height, HOB_LIMIT_IMAGE_SIDE);
	if ((uint64_t)info.width * info.height > HOB_LIMIT_IMAGE_PIXELS)
		return hob_fail(err, LIMIT, "the %s picture has %u x %u = %llu pixels, more than %llu; scale it down",
						name, info.width, info.height, (unsigned long long)info.width * info.height,
						HOB_LIMIT_IMAGE_PIXELS);
	info.has_profile = info.has_profile || hob_picture_profile_differs(info.format, file);
	info.turn = hob_picture_turn(info.format, file);
	*out = info;
	return true;
}

bool hob_picture_decode(hob_bytes file, hob_arena *arena, hob_picture *out, hob_error *err)
{
	hob_picture_info info;
	if (!hob_picture_probe(file, &info, err))
		return false;
	if (info.opaque_codec)
		return hob_fail(
			err, UNSUPPORTED,
			"the %s texture (format %u) is compressed for the GPU in a way Hob does not unpack; use it "
			"alone in its slot, or give a PNG",
			formats[info.format].name, info.vk_format);
	hob_error why = {0};
	hob_picture picture;
	hob_arena_mark before = hob_arena_save(arena);
	bool ok = formats[info.format].read(file, &info, arena, &picture, &why);
	hob_arena_restore(arena, ok ? picture.after : before);
	if (ok) {
		*out = picture;
		return true;
	}
	hob_fail_in(&why, "%s picture of %u x %u", formats[info.format].name, info.width, info.height);
	if (why.code == HOB_ERR_MEMORY)
		hob_guard_raise(&why);
	if (err)
		*err = why;
	return false;
}
