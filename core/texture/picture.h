/* picture.h - decodes picture files.
 *
 * The format is recognised from the bytes, never by name (TGA, which has no signature, is tried last and only
 * if its header is plausible). hob_picture_probe() reads only the header and refuses pictures over
 * HOB_LIMIT_IMAGE_SIDE or HOB_LIMIT_IMAGE_PIXELS; hob_picture_decode() runs the probe first, so a false size
 * allocates nothing.
 *
 *   own readers     PNG (all depths, palettes, interlacing), GIF (first frame), PSD (the merged picture), PNM
 *                   (P1 to P6), TGA and BMP (any row order, palettes, run-length), Radiance HDR, DDS and KTX2
 *                   (plain, BC1 to BC5 and BC7, first level; ASTC by astcenc, when Hob was built with it)
 *   stb_image       JPEG; four components are CMYK
 * and, each only if Hob was built with it:
 *   libwebp         WebP
 *   libtiff         TIFF: grey and RGB with or without alpha of 8, 16 or 32 bits exactly; palettes, CMYK,
 *                   tiles and the library's other kinds as 8 bits
 *   OpenEXRCore     OpenEXR: lines and tiles, every compression; R, G, B, A of the first layer that has them,
 *                   or Y
 *   libavif         AVIF of 8, 10 and 12 bits
 *
 * Colours are read as sRGB (float pictures: as linear light). Another colour profile or gamma is not applied
 * but reported in has_profile, an EXIF orientation likewise in `turn`. A TIFF's orientation is applied.
 *
 * Recognised and refused with a remedy: ICO, HEIC, JPEG XL, JPEG 2000, SVG, HTML pages saved under a
 * picture's name. */
#ifndef HOB_PICTURE_H
#define HOB_PICTURE_H

#include "../base/base.h"

typedef enum hob_picture_format {
	HOB_PICTURE_RAW, /* not a file: RGBA8 from memory */
	HOB_PICTURE_PNG,
	HOB_PICTURE_JPEG,
	HOB_PICTURE_GIF,
	HOB_PICTURE_BMP,
	HOB_PICTURE_TGA,
	HOB_PICTURE_PSD,
	HOB_PICTURE_PNM,
	HOB_PICTURE_HDR,
	HOB_PICTURE_WEBP,
	HOB_PICTURE_DDS,
	HOB_PICTURE_KTX2,
	HOB_PICTURE_TIFF,
	HOB_PICTURE_EXR,
	HOB_PICTURE_AVIF
} hob_picture_format;

typedef enum hob_depth {
	HOB_DEPTH_8,	/* uint8_t */
	HOB_DEPTH_16,	/* uint16_t, native byte order */
	HOB_DEPTH_FLOAT /* float, linear light */
} hob_depth;

typedef struct hob_picture_info {
	hob_picture_format format;
	uint32_t width, height;
	uint32_t channels; /* channels in the file: 1 grey, 2 grey+alpha, 3 RGB, 4 RGBA */
	hob_depth depth;
	uint32_t mips;		/* 1, or the number of levels in a DDS or KTX2 file */
	uint32_t vk_format; /* of a DDS or KTX2 file; 0 for other formats and Basis Universal */
	bool has_profile;	/* the file declares colours other than sRGB: ICC profile, gamma, cICP, PQ, HLG */
	uint8_t turn;		/* 2 to 8: EXIF orientation, not applied; else 0 */
	bool opaque_codec;	/* BC6H, ETC2, HDR in Basis Universal: can only be passed on undecoded */
} hob_picture_info;

/* Pixels, always four channels, row by row, top row first: grey is repeated in R, G and B, and a missing
 * alpha has the maximum value. has_alpha: the file has an alpha channel, whatever its values. */
typedef struct hob_picture {
	uint32_t width, height, channels;
	hob_depth depth;
	bool has_alpha;
	void *pixels; /* [height][width][4] of uint8_t, uint16_t or float */
	/* alpha is not declared by the header and zero everywhere: treated as opaque */
	bool empty_alpha;
	hob_arena_mark after; /* the pixels */
} hob_picture;

/* Reads the header. Errors: EMPTY, TRUNCATED, CORRUPT, UNSUPPORTED (names the format and the remedy),
 * LIMIT. */
bool hob_picture_probe(hob_bytes file, hob_picture_info *out, hob_error *err) HOB_MUST_CHECK;

/* Decodes the first picture (first frame, first level) of a file. Pixels live in `arena`; temporary memory is
 * released before returning. Truncated pictures are refused, except JPEG, whose missing part is grey. Called
 * within hob_guarded, which also a library that has no memory leaves.
 * Cost: 0.01 (PNG) to 0.03 (JPEG) microseconds per pixel. */
bool hob_picture_decode(hob_bytes file, hob_arena *arena, hob_picture *out, hob_error *err) HOB_MUST_CHECK;

/* "PNG"; for messages. */
const char *hob_picture_format_name(hob_picture_format format);

/* Bytes of one channel value: 1, 2 or 4. */
size_t hob_depth_size(hob_depth depth);

/* Channel value `at` (4 * pixel + channel) as eight bits, rounded; floats are clipped to 0..1. */
uint8_t hob_picture_byte(const hob_picture *picture, size_t at);

/* (77 R + 150 G + 29 B) / 256 of the stored codes, as in stb_image; `at`: 4 * pixel. */
uint8_t hob_picture_luminance(const hob_picture *picture, size_t at);

/* Whether some alpha is below the maximum. */
bool hob_picture_sees_through(const hob_picture *picture);

/* ---- the readers; each gets a file whose signature matches and is otherwise unchecked ---- */

typedef bool hob_picture_probe_fn(hob_bytes file, hob_picture_info *out, hob_error *err);
/* `info`: the probe's result, within the limits. The reader allocates out->pixels, before a library's object
 * is made; what it allocates afterwards is released. */
typedef bool hob_picture_read_fn(hob_bytes file, const hob_picture_info *info, hob_arena *arena,
								 hob_picture *out, hob_error *err);

hob_picture_probe_fn hob_png_probe, hob_gif_probe, hob_psd_probe, hob_pnm_probe, hob_hdr_probe, hob_tga_probe,
	hob_bmp_probe, hob_jpeg_probe, hob_webp_probe, hob_gpu_probe, hob_tiff_probe, hob_exr_probe,
	hob_avif_probe;
hob_picture_read_fn hob_png_read, hob_gif_read, hob_psd_read, hob_pnm_read, hob_hdr_read, hob_jpeg_read,
	hob_tga_read, hob_bmp_read, hob_webp_read, hob_gpu_read, hob_tiff_read, hob_exr_read, hob_avif_read;

/* Whether an ICC profile is named sRGB. */
bool hob_profile_is_srgb(hob_bytes profile);
/* EXIF orientation of a PNG, JPEG or WebP file, 2 to 8; 0: none, or upright. */
uint8_t hob_picture_turn(hob_picture_format format, hob_bytes file);
/* Whether a PNG, JPEG or WebP file declares colours other than sRGB. False for other formats. */
bool hob_picture_profile_differs(hob_picture_format format, hob_bytes file);

/* Big-endian numbers. */
static inline uint32_t hob_load_big_u16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t hob_load_big_u32(const uint8_t *p)
{
	return hob_load_big_u16(p) << 16 | hob_load_big_u16(p + 2);
}

/* Whether the 18 bytes of a TGA header are consistent with each other and with the file's size. */
bool hob_tga_plausible(hob_bytes file);

/* Fills *out from `info` and allocates its pixels. Called within hob_guarded. */
void hob_picture_new(const hob_picture_info *info, hob_arena *arena, hob_picture *out);

/* Sets channel value `at` of a picture of 8 or 16 bits. */
static inline void hob_picture_put(hob_picture *picture, size_t at, uint32_t value)
{
	if (picture->depth == HOB_DEPTH_8)
		((uint8_t *)picture->pixels)[at] = (uint8_t)value;
	else
		((uint16_t *)picture->pixels)[at] = (uint16_t)value;
}

/* Leaves the function of hob_guarded: a library has no memory left for `what`. */
void hob_picture_starve(const char *what);

/* Gives every alpha the maximum value. */
void hob_picture_fill_alpha(hob_picture *picture);
/* Whether all alphas of an 8-bit picture with alpha are 0; it is then made opaque, without alpha. */
bool hob_picture_drop_empty_alpha(hob_picture *picture);
/* Bits of `mask` in a pixel, widened to eight; `missing` if the mask is empty. */
uint8_t hob_masked_byte(uint32_t pixel, uint32_t mask, uint8_t missing);

#endif
