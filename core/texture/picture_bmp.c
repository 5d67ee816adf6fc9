/* Windows and OS/2 bitmaps: 1 to 32 bits, masks, runs, bottom-up or top-down rows. */
#include "picture.h"

enum { FILE_HEADER = 14, PLAIN = 0, RUNS_8 = 1, RUNS_4 = 2, MASKED = 3, MASKED_ALPHA = 6 };

typedef struct bmp {
	uint32_t width, height, bits, how;
	bool from_top;
	uint32_t mask[4]; /* red, green, blue, alpha; 0: none */
	const uint8_t *palette;
	uint32_t color_count, color_bytes;
	const uint8_t *data, *end;
} bmp;

static bool read_masks(const uint8_t *header, uint32_t size, size_t room, bmp *b, hob_error *err)
{
	static const uint32_t usual[2][4] = {{0x7C00, 0x3E0, 0x1F, 0}, {0xFF0000, 0xFF00, 0xFF, 0xFF000000}};
	uint32_t count = size >= 56 || b->how == MASKED_ALPHA ? 4 : 3;
	memcpy(b->mask, usual[b->bits == 32], sizeof b->mask);
	if (b->how != MASKED && b->how != MASKED_ALPHA)
		return true;
	if (room < 40 + 4 * (size_t)count)
		return hob_fail(err, TRUNCATED, "the file ends inside its header");
	b->mask[3] = 0;
	for (uint32_t k = 0; k < count; k++)
		b->mask[k] = hob_load_u32(header + 40 + 4 * (size_t)k);
	return true;
}

static bool open_bmp(hob_bytes file, bmp *out, hob_error *err)
{
	const uint8_t *p = file.data, *header = p + FILE_HEADER;
	uint32_t size = hob_load_u32(header), used = 0;
	bool old = size == 12;
	if (file.size < FILE_HEADER + (old ? 12u : 40u))
		return hob_fail(err, TRUNCATED, "the file ends inside its header");
	if (!old && (size < 40 || size > 124 || size > file.size - FILE_HEADER))
		return hob_fail(err, UNSUPPORTED, "its header has %u bytes; save the picture as PNG", size);
	int32_t width = old ? hob_load_u16(header + 4) : (int32_t)hob_load_u32(header + 4);
	int32_t height = old ? hob_load_u16(header + 6) : (int32_t)hob_load_u32(header + 8);
	*out = (bmp){.width = (uint32_t)width,
				 .height = height < 0 ? 0u - (uint32_t)height : (uint32_t)height,
				 .bits = hob_load_u16(header + (old ? 10 : 14)),
				 .from_top = height < 0,
				 .color_bytes = old ? 3 : 4,
				 .end = p + file.size};
	if (!old) {
		out->how = hob_load_u32(header + 16);
		used = hob_load_u32(header + 32);
	}
	if (width < 0 || height == INT32_MIN)
		return hob_fail(err, CORRUPT, "the header gives a size of %d x %d", width, height);
	bool runs = (out->how == RUNS_8 && out->bits == 8) || (out->how == RUNS_4 && out->bits == 4);
	bool masked = (out->how == MASKED || out->how == MASKED_ALPHA) && (out->bits == 16 || out->bits == 32);
	if (!runs && !masked && out->how != PLAIN)
		return hob_fail(err, UNSUPPORTED, "compression %u with %u bits is not read; save it as PNG", out->how,
						out->bits);
	if (out->bits != 1 && out->bits != 2 && out->bits != 4 && out->bits != 8 && out->bits != 16 &&
		out->bits != 24 && out->bits != 32)
		return hob_fail(err, CORRUPT, "a pixel has %u bits", out->bits);
	if (!read_masks(header, size, file.size - FILE_HEADER, out, err))
		return false;
	size_t palette_at = FILE_HEADER + (size_t)size;
	if (masked && size == 40)
		palette_at += out->how == MASKED_ALPHA ? 16 : 12;
	size_t offset = hob_load_u32(p + 10);
	if (out->bits <= 8)
		out->color_count = used > 0 && used < 1u << out->bits ? used : 1u << out->bits;
	/* Some writers store fewer colours than declared, and some omit the offset of the pixels. */
	size_t palette_end = palette_at + (size_t)out->color_count * out->color_bytes;
	if (offset >= palette_at && offset < palette_end)
		out->color_count = (uint32_t)((offset - palette_at) / out->color_bytes);
	else if (offset < palette_at)
		offset = palette_end;
	if (offset > file.size)
		return hob_fail(err, TRUNCATED, "its pixels begin at byte %zu of %zu", offset, file.size);
	out->palette = p + palette_at;
	out->data = p + offset;
	return true;
}

static bool has_alpha(const bmp *b)
{
	return b->bits == 32 && b->mask[3] != 0;
}

bool hob_bmp_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	bmp b;
	if (!open_bmp(file, &b, err))
		return false;
	out->width = b.width;
	out->height = b.height;
	out->channels = has_alpha(&b) || (b.bits == 16 && b.mask[3]) ? 4 : 3;
	out->depth = HOB_DEPTH_8;
	return true;
}

static void put_index(const bmp *b, uint32_t index, uint8_t *out)
{
	const uint8_t *color = b->palette + (size_t)index * b->color_bytes;
	memcpy(out, (uint8_t[4]){0, 0, 0, 255}, 4);
	if (index < b->color_count)
		out[0] = color[2], out[1] = color[1], out[2] = color[0];
}

static void put_pixel(const bmp *b, const uint8_t *row, uint32_t x, uint8_t *out)
{
	if (b->bits <= 8) {
		uint32_t bit = x * b->bits;
		put_index(b, (uint32_t)row[bit / 8] >> (8 - b->bits - bit % 8) & ((1u << b->bits) - 1), out);
	} else if (b->bits == 24) {
		const uint8_t *in = row + 3 * (size_t)x;
		out[0] = in[2], out[1] = in[1], out[2] = in[0], out[3] = 255;
	} else {
		uint32_t value =
			b->bits == 16 ? hob_load_u16(row + 2 * (size_t)x) : hob_load_u32(row + 4 * (size_t)x);
		for (uint32_t k = 0; k < 4; k++)
			out[k] = hob_masked_byte(value, b->mask[k], k == 3 ? 255 : 0);
	}
}

static uint8_t *row_of(const bmp *b, uint32_t y, uint8_t *pixels)
{
	return pixels + 4 * (size_t)b->width * (b->from_top ? y : b->height - 1 - y);
}

static uint32_t index_at(const uint8_t *in, uint32_t i, bool half)
{
	return half ? (i % 2 ? in[i / 2] & 15u : in[i / 2] >> 4) : in[i];
}

/* Reads runs of indices, with jumps; uncovered pixels have index 0. False where the file ends early. */
static bool read_runs(const bmp *b, uint8_t *pixels)
{
	const uint8_t *in = b->data;
	bool half = b->how == RUNS_4;
	uint32_t x = 0, y = 0;
	while (y < b->height) {
		if (b->end - in < 2)
			return false;
		uint32_t count = in[0], code = in[1];
		in += 2;
		bool literal = count == 0 && code > 2;
		if (count == 0 && code == 0) {
			x = 0, y++;
			continue;
		}
		if (count == 0 && code == 1)
			return true;
		if (count == 0 && code == 2) {
			if (b->end - in < 2)
				return false;
			x += in[0], y += in[1];
			in += 2;
			continue;
		}
		size_t bytes = literal ? half ? (code + 1) / 2 : code : 0;
		if ((size_t)(b->end - in) < bytes)
			return false;
		const uint8_t same[2] = {(uint8_t)code, (uint8_t)code};
		for (uint32_t i = 0, end = literal ? code : count; i < end && x < b->width; i++, x++)
			put_index(b, literal ? index_at(in, i, half) : index_at(same, i % 2, half),
					  row_of(b, y, pixels) + 4 * (size_t)x);
		/* A literal is padded to a whole number of words. */
		bytes = (bytes + 1) & ~(size_t)1;
		in += (size_t)(b->end - in) < bytes ? (size_t)(b->end - in) : bytes;
	}
	return true;
}

bool hob_bmp_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				  hob_error *err)
{
	bmp b;
	if (!open_bmp(file, &b, err))
		return false;
	bool runs = b.how == RUNS_8 || b.how == RUNS_4;
	size_t stride = ((size_t)b.width * b.bits + 31) / 32 * 4, bytes = (size_t)(b.end - b.data);
	/* The last row may lack its padding; runs can jump, hence the wide margin. */
	size_t least = runs ? (size_t)b.width * b.height / 8192
						: stride * (b.height - 1) + ((size_t)b.width * b.bits + 7) / 8;
	if (bytes < least)
		return hob_fail(err, TRUNCATED, "%u x %u pixels cannot come from %zu bytes (at least %zu)", b.width,
						b.height, bytes, least);
	hob_picture_new(info, arena, out);
	size_t count = (size_t)b.width * b.height, i = 0;
	uint8_t *pixels = out->pixels;
	for (; runs && i < count; i++)
		put_index(&b, 0, pixels + 4 * i);
	if (runs && !read_runs(&b, pixels))
		return hob_fail(err, TRUNCATED, "the file ends inside its pixels");
	for (uint32_t y = 0; !runs && y < b.height; y++)
		for (uint32_t x = 0; x < b.width; x++)
			put_pixel(&b, b.data + stride * y, x, row_of(&b, y, pixels) + 4 * (size_t)x);
	/* Without masks, the header does not say whether the fourth byte is alpha: if it is zero everywhere, it
	 * is not. */
	hob_picture_drop_empty_alpha(out);
	return true;
}
