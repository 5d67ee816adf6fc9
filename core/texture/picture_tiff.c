#include "picture.h"

#ifdef HOB_TIFF

#include <stdarg.h>
#include <tiffio.h>

typedef struct stream {
	hob_bytes file;
	size_t at;
	char text[120]; /* the library's first error message */
} stream;

static tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t size)
{
	stream *s = handle;
	size_t left = s->at < s->file.size ? s->file.size - s->at : 0;
	size_t count = size < 0 ? 0 : (size_t)size < left ? (size_t)size : left;
	if (count > 0)
		memcpy(to, s->file.data + s->at, count);
	s->at += count;
	return (tmsize_t)count;
}

static tmsize_t write_bytes(thandle_t handle, void *from, tmsize_t size)
{
	(void)handle, (void)from, (void)size;
	return -1;
}

static toff_t seek(thandle_t handle, toff_t offset, int from)
{
	stream *s = handle;
	s->at = (size_t)(from == 0 ? offset : from == 1 ? s->at + offset : s->file.size + offset);
	return s->at;
}

static int close_stream(thandle_t handle)
{
	(void)handle;
	return 0;
}

static toff_t size_of(thandle_t handle)
{
	return ((const stream *)handle)->file.size;
}

static int map(thandle_t handle, void **base, toff_t *size)
{
	(void)handle, (void)base, (void)size;
	return 0;
}

static void unmap(thandle_t handle, void *base, toff_t size)
{
	(void)handle, (void)base, (void)size;
}

static int complain(TIFF *tif, void *user, const char *module, const char *format, va_list values)
{
	(void)tif, (void)module;
	stream *s = user;
	if (s->text[0] == 0)
		vsnprintf(s->text, sizeof s->text, format, values);
	return 1;
}

static int hush(TIFF *tif, void *user, const char *module, const char *format, va_list values)
{
	(void)tif, (void)user, (void)module, (void)format, (void)values;
	return 1;
}

enum { ONE_ALLOCATION = 1 << 28 };

static TIFF *open_file(stream *s, hob_error *err)
{
	TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
	if (!options) {
		hob_fail(err, MEMORY, "no memory left for a TIFF file");
		return NULL;
	}
	TIFFOpenOptionsSetMaxSingleMemAlloc(options, ONE_ALLOCATION);
	TIFFOpenOptionsSetErrorHandlerExtR(options, complain, s);
	TIFFOpenOptionsSetWarningHandlerExtR(options, hush, s);
	TIFF *tif = TIFFClientOpenExt("picture", "rm", s, read_bytes, write_bytes, seek, close_stream, size_of,
								  map, unmap, options);
	TIFFOpenOptionsFree(options);
	if (!tif)
		hob_fail(err, CORRUPT, "the header is damaged: %s", s->text);
	return tif;
}

/* Tag values, with defaults filled in. */
typedef struct layout {
	uint32_t width, height;
	uint16_t bits, samples, kind, photometric, planar, extra;
	/* grey or RGB in 8, 16 or 32 bits, read exactly; otherwise the library converts to RGBA */
	bool plain;
	bool has_alpha, premultiplied;
	uint16_t orientation; /* 1 to 8 */
} layout;

static layout describe(TIFF *tif)
{
	layout l = {0};
	uint16_t extra_count = 0, *extras = NULL;
	TIFFGetField(tif, TIFFTAG_IMAGEWIDTH, &l.width);
	TIFFGetField(tif, TIFFTAG_IMAGELENGTH, &l.height);
	TIFFGetFieldDefaulted(tif, TIFFTAG_BITSPERSAMPLE, &l.bits);
	TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLESPERPIXEL, &l.samples);
	TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLEFORMAT, &l.kind);
	TIFFGetFieldDefaulted(tif, TIFFTAG_PLANARCONFIG, &l.planar);
	TIFFGetFieldDefaulted(tif, TIFFTAG_ORIENTATION, &l.orientation);
	if (l.orientation < ORIENTATION_TOPLEFT || l.orientation > ORIENTATION_LEFTBOT)
		l.orientation = ORIENTATION_TOPLEFT;
	TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &l.photometric);
	if (TIFFGetField(tif, TIFFTAG_EXTRASAMPLES, &extra_count, &extras) && extra_count > 0)
		l.extra = extras[0];
	uint16_t colours = l.photometric == PHOTOMETRIC_RGB ? 3 : 1;
	bool type = (l.kind == SAMPLEFORMAT_UINT && (l.bits == 8 || l.bits == 16)) ||
				(l.kind == SAMPLEFORMAT_IEEEFP && l.bits == 32);
	l.plain = type && (l.photometric == PHOTOMETRIC_RGB || l.photometric == PHOTOMETRIC_MINISBLACK) &&
			  l.samples >= colours && l.samples <= colours + 4;
	l.has_alpha =
		l.samples > colours && (!extra_count || l.extra != EXTRASAMPLE_UNSPECIFIED || extra_count == 1);
	l.premultiplied = l.extra == EXTRASAMPLE_ASSOCALPHA;
	return l;
}

static bool is_sideways(const layout *l)
{
	return l->orientation >= ORIENTATION_LEFTTOP;
}

bool hob_tiff_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	stream s = {.file = file};
	TIFF *tif = open_file(&s, err);
	if (!tif)
		return false;
	layout l = describe(tif);
	uint32_t profile_size = 0;
	void *profile = NULL;
	out->width = is_sideways(&l) ? l.height : l.width;
	out->height = is_sideways(&l) ? l.width : l.height;
	out->channels = (l.photometric == PHOTOMETRIC_MINISBLACK ? 1u : 3u) + (l.has_alpha ? 1u : 0u);
	out->depth = !l.plain || l.bits == 8 ? HOB_DEPTH_8 : l.bits == 16 ? HOB_DEPTH_16 : HOB_DEPTH_FLOAT;
	if (TIFFGetField(tif, TIFFTAG_ICCPROFILE, &profile_size, &profile) && profile)
		out->has_profile = !hob_profile_is_srgb((hob_bytes){profile, profile_size});
	char why[1024] = "";
	bool readable = l.plain || TIFFRGBAImageOK(tif, why);
	TIFFClose(tif);
	return readable || hob_fail(err, UNSUPPORTED, "%.120s; save it as RGB of 8 or 16 bits, or as PNG", why);
}

static void unmultiply(void *pixel, hob_depth depth)
{
	if (depth == HOB_DEPTH_8) {
		uint8_t *p = pixel;
		for (int k = 0; k < 3 && p[3] > 0; k++)
			p[k] = (uint8_t)(p[k] >= p[3] ? 255u : (p[k] * 255u + p[3] / 2u) / p[3]);
	} else if (depth == HOB_DEPTH_16) {
		uint16_t *p = pixel;
		for (int k = 0; k < 3 && p[3] > 0; k++)
			p[k] = (uint16_t)(p[k] >= p[3] ? 65535u : (p[k] * 65535ull + p[3] / 2u) / p[3]);
	} else {
		float *p = pixel;
		for (int k = 0; k < 3 && p[3] > 0; k++)
			p[k] /= p[3];
	}
}

/* Copies samples of `count` pixels to `to`: one plane, or all of them interleaved. */
static void put_row(const layout *l, const uint8_t *row, uint32_t count, uint32_t plane, hob_depth depth,
					uint8_t *to)
{
	size_t size = hob_depth_size(depth);
	uint32_t colours = l->photometric == PHOTOMETRIC_RGB ? 3 : 1, stride = plane == HOB_NONE ? l->samples : 1;
	uint32_t first = plane == HOB_NONE ? 0 : plane, end = plane == HOB_NONE ? l->samples : plane + 1;
	for (uint32_t x = 0; x < count; x++, to += 4 * size)
		for (uint32_t k = first; k < end && k <= colours; k++) {
			const uint8_t *from = row + ((size_t)x * stride + (k - first)) * size;
			if (k == colours && l->has_alpha)
				memcpy(to + 3 * size, from, size);
			for (uint32_t c = k; k < colours && c < (colours == 1 ? 3 : k + 1); c++)
				memcpy(to + c * size, from, size);
		}
}

static bool read_lines(TIFF *tif, const layout *l, uint32_t plane, hob_arena *arena, hob_picture *out)
{
	size_t size = hob_depth_size(out->depth), line = (size_t)TIFFScanlineSize(tif);
	uint8_t *row = hob_arena_alloc(arena, line + 16, 16);
	if (!row || line < (size_t)l->width * (plane == HOB_NONE ? l->samples : 1) * size)
		return false;
	for (uint32_t y = 0; y < l->height; y++) {
		if (TIFFReadScanline(tif, row, y, plane == HOB_NONE ? 0 : (uint16_t)plane) < 0)
			return false;
		put_row(l, row, l->width, plane, out->depth, (uint8_t *)out->pixels + 4 * size * l->width * y);
	}
	return true;
}

static bool read_tiles(TIFF *tif, const layout *l, uint32_t plane, hob_arena *arena, hob_picture *out)
{
	size_t size = hob_depth_size(out->depth), bytes = (size_t)TIFFTileSize(tif),
		   row = (size_t)TIFFTileRowSize(tif);
	uint32_t width = 0, height = 0;
	TIFFGetField(tif, TIFFTAG_TILEWIDTH, &width);
	TIFFGetField(tif, TIFFTAG_TILELENGTH, &height);
	if (width == 0 || height == 0 || bytes / height < row ||
		row < (size_t)width * (plane == HOB_NONE ? l->samples : 1) * size)
		return false;
	uint8_t *tile = hob_arena_alloc(arena, bytes, 16);
	for (uint32_t y = 0; tile && y < l->height; y += height)
		for (uint32_t x = 0; x < l->width; x += width) {
			if (TIFFReadTile(tif, tile, x, y, 0, plane == HOB_NONE ? 0 : (uint16_t)plane) < 0)
				return false;
			uint32_t across = l->width - x < width ? l->width - x : width;
			for (uint32_t i = 0; i < height && y + i < l->height; i++)
				put_row(l, tile + row * i, across, plane, out->depth,
						(uint8_t *)out->pixels + 4 * size * ((size_t)l->width * (y + i) + x));
		}
	return tile != NULL;
}

static bool read_plain(TIFF *tif, const layout *l, hob_arena *arena, hob_picture *out)
{
	size_t size = hob_depth_size(out->depth);
	bool apart = l->planar == PLANARCONFIG_SEPARATE;
	memset(out->pixels, 0xFF, 4 * size * (size_t)l->width * l->height);
	if (out->depth == HOB_DEPTH_FLOAT)
		for (size_t i = 0, n = 4 * (size_t)l->width * l->height; i < n; i++)
			((float *)out->pixels)[i] = 1;
	for (uint32_t plane = 0; plane < (apart ? l->samples : 1u); plane++)
		if (!(TIFFIsTiled(tif) ? read_tiles : read_lines)(tif, l, apart ? plane : HOB_NONE, arena, out))
			return false;
	for (size_t i = 0, n = (size_t)l->width * l->height; l->premultiplied && i < n; i++)
		unmultiply((uint8_t *)out->pixels + 4 * size * i, out->depth);
	return true;
}

/* Converts to RGBA in file order: the library flips, but does not rotate. */
static bool read_painted(TIFF *tif, const layout *l, hob_picture *out)
{
	if (!TIFFReadRGBAImageOriented(tif, out->width, out->height, out->pixels, l->orientation, 1))
		return false;
	uint8_t *p = out->pixels;
	for (size_t i = 0, n = (size_t)out->width * out->height; i < n; i++, p += 4) {
		uint32_t v;
		memcpy(&v, p, 4);
		p[0] = (uint8_t)TIFFGetR(v), p[1] = (uint8_t)TIFFGetG(v), p[2] = (uint8_t)TIFFGetB(v);
		p[3] = (uint8_t)TIFFGetA(v);
		unmultiply(p, HOB_DEPTH_8);
	}
	return true;
}

static void clean_floats(hob_picture *out)
{
	float *p = out->pixels;
	for (size_t i = 0, n = 4 * (size_t)out->width * out->height; out->depth == HOB_DEPTH_FLOAT && i < n; i++)
		p[i] = p[i] > 0 ? p[i] < 65504 ? p[i] : 65504 : 0;
}

/* Moves stored pixels to their displayed position; `way` bit 0: from the right, 1: from the bottom, 2:
 * transposed. */
static void orient(const layout *l, const hob_picture *stored, hob_picture *out)
{
	static const uint8_t ways[] = {0, 0, 1, 3, 2, 4, 6, 7, 5};
	size_t size = 4 * hob_depth_size(out->depth), stride = stored->width;
	uint8_t way = ways[l->orientation], *to = out->pixels;
	for (uint32_t y = 0; y < out->height; y++)
		for (uint32_t x = 0; x < out->width; x++, to += size) {
			uint32_t column = way & 4 ? y : x, row = way & 4 ? x : y;
			column = way & 1 ? stored->width - 1 - column : column;
			row = way & 2 ? stored->height - 1 - row : row;
			memcpy(to, (const uint8_t *)stored->pixels + (stride * row + column) * size, size);
		}
}

bool hob_tiff_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				   hob_error *err)
{
	stream s = {.file = file};
	hob_picture_new(info, arena, out);
	TIFF *tif = open_file(&s, err);
	if (!tif)
		return false;
	layout l = describe(tif);
	struct hob_guard *guard = hob_guard_suspend(); /* the library's object must be closed */
	bool turned = l.orientation != ORIENTATION_TOPLEFT;
	hob_picture stored = *out;
	if (turned)
		hob_picture_new(&(hob_picture_info){.width = l.width, .height = l.height, .depth = info->depth},
						arena, &stored);
	bool ok =
		stored.pixels && (l.plain ? read_plain(tif, &l, arena, &stored) : read_painted(tif, &l, &stored));
	TIFFClose(tif);
	hob_guard_resume(guard);
	if (!stored.pixels)
		return hob_fail_memory(err, arena, "a picture's pixels");
	if (!ok)
		return hob_fail(err, CORRUPT, "the pixels are damaged or cut off: %s", s.text);
	if (turned)
		orient(&l, &stored, out);
	out->has_alpha = l.has_alpha;
	clean_floats(out);
	return true;
}

#endif
