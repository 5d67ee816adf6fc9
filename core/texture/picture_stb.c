/* The only file that compiles stb_image, with only its JPEG decoder. Checks that stb_image lacks are made
 * here, before calling it. */
#define STBI_ONLY_JPEG
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 16384
/* The JPEG reader may use tables that the file did not define: zeros make that harmless and reproducible. A
 * failed allocation is recorded, as stb_image may then report an unknown format. */
#define STBI_MALLOC(size)		take(calloc(1, (size)))
#define STBI_REALLOC(old, size) take(realloc((old), (size)))
#define STBI_FREE(old)			free(old)
/* Static: other libraries in the process can neither call nor replace these functions. The header declares
 * some that this selection does not define. */
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function"

#include "picture.h"

#include "../base/limits.h"

#include <stdlib.h>

static _Thread_local bool starved;

static void *take(void *memory)
{
	starved = starved || !memory;
	return memory;
}

/* Doubles a row of chroma. Replaces the function of stb_image 2.27, which swaps the weights of the last pair:
 * the macro renames its definition, not its use. */
static unsigned char *stbi__resample_row_h_2(unsigned char *out, unsigned char *row, unsigned char *far_row,
											 int w, int hs)
{
	(void)far_row;
	(void)hs;
	for (int i = 0; i < w; i++) {
		out[2 * i] = (unsigned char)((3 * row[i] + row[i > 0 ? i - 1 : 0] + 2) >> 2);
		out[2 * i + 1] = (unsigned char)((3 * row[i] + row[i + 1 < w ? i + 1 : i] + 2) >> 2);
	}
	return out;
}
#define stbi__resample_row_h_2(...) stbi__unused_row_h_2(__VA_ARGS__)

#ifdef __clang__
/* Damaged files make the JPEG reader shift and multiply past 32 bits before it drops the result: formally
 * undefined, and it stops the fuzzer. Bounds stay checked. */
#pragma clang attribute push(__attribute__((no_sanitize("shift", "signed-integer-overflow"))),               \
							 apply_to = function)
#endif
#include <stb/stb_image.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

static bool fail_stb(hob_error *err, const char *what)
{
	if (starved)
		return hob_fail(err, MEMORY, "no memory left to read a picture");
	return hob_fail(err, CORRUPT, "the %s damaged (%s)", what, stbi_failure_reason());
}

/* stb_image refuses large JPEGs without a reason, so the frame header is read here. */
bool hob_jpeg_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	const uint8_t *p = file.data;
	size_t at = 2;
	while (at + 4 <= file.size) {
		if (p[at] != 0xFF)
			return hob_fail(err, CORRUPT, "byte %zu is not a marker", at);
		uint8_t marker = p[at + 1];
		if (marker == 0xFF) {
			at++;
			continue;
		}
		size_t size = (size_t)p[at + 2] << 8 | p[at + 3];
		bool frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
		if (frame && at + 10 <= file.size) {
			if (marker > 0xC2)
				return hob_fail(err, UNSUPPORTED,
								"its coding (%u) is not baseline or progressive; save it again", marker);
			out->height = (uint32_t)p[at + 5] << 8 | p[at + 6];
			out->width = (uint32_t)p[at + 7] << 8 | p[at + 8];
			out->channels = p[at + 9] == 1 ? 1 : 3;
			out->depth = HOB_DEPTH_8;
			return true;
		}
		if (marker == 0xD9 || marker == 0xDA || size < 2)
			break;
		at += 2 + size;
	}
	return hob_fail(err, TRUNCATED, "the file has no frame header");
}

/* stb_image 2.27 writes past a Huffman table of more than 256 codes before it refuses it. `at`: after the
 * marker. */
static bool huffman_fits(hob_bytes file, size_t at)
{
	if (file.size - at < 2)
		return false;
	int32_t left = ((int32_t)file.data[at] << 8 | file.data[at + 1]) - 2;
	at += 2;
	while (left > 0) {
		int32_t codes = 0;
		if (file.size - at < 17)
			return false;
		for (size_t i = 1; i <= 16; i++)
			codes += file.data[at + i];
		if (codes > 256 || file.size - at < 17 + (size_t)codes)
			return false;
		left -= 17 + codes;
		at += 17 + (size_t)codes;
	}
	return true;
}

/* The end of a scan's data: the next marker that is neither a restart nor a stuffed zero, with or without
 * fill bytes. */
static size_t skip_scan(hob_bytes file, size_t at)
{
	const uint8_t *p = file.data;
	for (; at + 1 < file.size; at++) {
		bool data = p[at] != 0xFF || p[at + 1] == 0xFF || p[at + 1] == 0 || (p[at + 1] & 0xF8) == 0xD0;
		if (!data)
			break;
	}
	return at;
}

/* Checks segments up to the end of the picture; data that cameras append is ignored. */
static bool check_huffman(hob_bytes file, hob_error *err)
{
	const uint8_t *p = file.data;
	size_t at = 2;
	while (at + 4 <= file.size) {
		uint8_t marker = p[at] == 0xFF ? p[at + 1] : 0xFF;
		if (marker == 0xD9)
			break;
		if (marker == 0xC4 && !huffman_fits(file, at + 2))
			return hob_fail(err, CORRUPT,
							"the Huffman table at byte %zu is cut off or has more than 256 codes", at);
		at += marker == 0xFF ? 1 : 2 + ((size_t)p[at + 2] << 8 | p[at + 3]);
		if (marker == 0xDA && at < file.size)
			at = skip_scan(file, at);
	}
	return true;
}

/* Four components without Adobe's segment are CMYK, stored as Adobe does, as other readers assume. stb_image
 * takes them for YCbCr unless it finds that segment, so one is inserted. */
static void mark_cmyk(hob_bytes *file, hob_arena *arena)
{
	static const uint8_t segment[] = {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0};
	const uint8_t *p = file->data;
	uint32_t components = 0;
	for (size_t at = 2; at + 4 <= file->size && p[at + 1] != 0xDA;) {
		size_t size = (size_t)p[at + 2] << 8 | p[at + 3];
		if (p[at + 1] == 0xEE && size >= 14 && at + 9 <= file->size && memcmp(p + at + 4, "Adobe", 5) == 0)
			return;
		if (p[at + 1] >= 0xC0 && p[at + 1] <= 0xC2 && at + 10 <= file->size)
			components = p[at + 9];
		at += p[at + 1] == 0xFF ? 1 : 2 + size;
	}
	if (components != 4)
		return;
	uint8_t *marked = hob_arena_alloc(arena, file->size + sizeof segment, 1);
	memcpy(marked, p, 2);
	memcpy(marked + 2, segment, sizeof segment);
	memcpy(marked + 2 + sizeof segment, p + 2, file->size - 2);
	*file = (hob_bytes){marked, file->size + sizeof segment};
}

static void widen_u8(const uint8_t *in, size_t count, uint32_t channels, uint8_t *out)
{
	if (channels == 3)
		for (size_t i = 0; i < count; i++, in += 3, out += 4)
			out[0] = in[0], out[1] = in[1], out[2] = in[2], out[3] = 255;
	else if (channels == 4)
		memcpy(out, in, 4 * count);
	else
		for (size_t i = 0; i < count; i++, in += channels, out += 4) {
			out[0] = out[1] = out[2] = in[0];
			out[3] = channels == 2 ? in[1] : 255;
		}
}

bool hob_jpeg_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				   hob_error *err)
{
	/* An 8x8 block of one or more components takes at least two bits, and 64 pixels in four bits are 1/128
	 * byte per pixel; subsampled and progressive files need less, hence the wide margin. Stops 20 bytes from
	 * asking for 4 GiB. */
	uint64_t least = (uint64_t)info->width * info->height / 4096;
	if (file.size < least)
		return hob_fail(err, TRUNCATED, "%u x %u pixels cannot come from %zu bytes (at least %llu)",
						info->width, info->height, file.size, (unsigned long long)least);
	if (file.size > INT32_MAX - 16)
		return hob_fail(err, LIMIT, "the picture file has %zu bytes, more than 2 GiB", file.size);
	if (!check_huffman(file, err))
		return false;
	hob_picture_new(info, arena, out);
	mark_cmyk(&file, arena);
	int width, height, channels;
	starved = false;
	uint8_t *decoded = stbi_load_from_memory(file.data, (int)file.size, &width, &height, &channels, 0);
	if (!decoded)
		return fail_stb(err, "pixels are");
	bool same =
		(uint32_t)width == info->width && (uint32_t)height == info->height && channels >= 1 && channels <= 4;
	if (same) {
		out->channels = (uint32_t)channels;
		out->has_alpha = channels % 2 == 0;
		widen_u8(decoded, (size_t)info->width * info->height, (uint32_t)channels, out->pixels);
	}
	stbi_image_free(decoded);
	return same || hob_fail(err, CORRUPT, "%d x %d pixels came out of a header of %u x %u", width, height,
							info->width, info->height);
}
