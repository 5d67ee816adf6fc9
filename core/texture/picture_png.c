#include "picture.h"
#include "png_write.h"

#include <libdeflate.h>

enum { GREY = 0, RGB = 2, PALETTE = 3, GREY_ALPHA = 4, RGBA = 6 };

typedef struct png {
	uint32_t width, height;
	uint8_t bits, type, interlaced;
	uint32_t samples; /* samples per pixel in the file */
	uint32_t palette_count;
	const uint8_t *palette; /* [palette_count][3] */
	uint32_t key_size;		/* bytes of tRNS */
	const uint8_t *key;
	size_t data_at; /* first IDAT */
} png;

#define TAG(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

typedef struct chunk {
	uint32_t tag, size;
	const uint8_t *data;
	size_t next;
} chunk;

/* False at the end of the file. Only critical chunks are checked. */
static bool next_chunk(hob_bytes file, size_t at, chunk *out, bool *damaged, hob_error *err)
{
	if (file.size - at < 12)
		return false;
	const uint8_t *p = file.data + at;
	*out = (chunk){.tag = hob_load_big_u32(p + 4), .size = hob_load_big_u32(p), .data = p + 8};
	if (out->size > file.size - at - 12) {
		*damaged = true;
		return hob_fail(err, TRUNCATED, "the chunk at byte %zu has %u bytes, the file only %zu more", at,
						out->size, file.size - at - 12);
	}
	bool critical = (p[4] & 32) == 0 || out->tag == TAG('t', 'R', 'N', 'S');
	if (critical && libdeflate_crc32(0, p + 4, out->size + 4) != hob_load_big_u32(out->data + out->size)) {
		*damaged = true;
		return hob_fail(err, CORRUPT, "the checksum of the chunk at byte %zu is wrong", at);
	}
	out->next = at + 12 + out->size;
	return true;
}

static bool read_header(png *p, const chunk *c, hob_error *err)
{
	if (c->tag == TAG('C', 'g', 'B', 'I'))
		return hob_fail(err, UNSUPPORTED, "the file was rewritten for iPhones (CgBI); use the original PNG");
	if (c->tag != TAG('I', 'H', 'D', 'R') || c->size != 13)
		return hob_fail(err, CORRUPT, "the file does not begin with a header chunk");
	p->width = hob_load_big_u32(c->data);
	p->height = hob_load_big_u32(c->data + 4);
	p->bits = c->data[8];
	p->type = c->data[9];
	p->interlaced = c->data[12];
	static const uint8_t depths[7] = {[GREY] = 1 | 2 | 4 | 8 | 16,
									  [RGB] = 8 | 16,
									  [PALETTE] = 1 | 2 | 4 | 8,
									  [GREY_ALPHA] = 8 | 16,
									  [RGBA] = 8 | 16};
	static const uint8_t samples[7] = {[GREY] = 1, [RGB] = 3, [PALETTE] = 1, [GREY_ALPHA] = 2, [RGBA] = 4};
	bool one_bit = p->bits != 0 && (p->bits & (p->bits - 1)) == 0;
	if (p->type > RGBA || !one_bit || (depths[p->type] & p->bits) == 0)
		return hob_fail(err, CORRUPT, "colour type %u with %u bits does not exist", p->type, p->bits);
	if (c->data[10] != 0 || c->data[11] != 0 || p->interlaced > 1)
		return hob_fail(err, CORRUPT, "unknown compression %u, filter %u or interlacing %u", c->data[10],
						c->data[11], p->interlaced);
	p->samples = samples[p->type];
	return true;
}

/* Reads everything before the pixels. */
static bool read_front(hob_bytes file, png *out, hob_error *err)
{
	png p = {0};
	bool damaged = false;
	chunk c;
	size_t at = 8;
	while (next_chunk(file, at, &c, &damaged, err)) {
		if (at == 8 && !read_header(&p, &c, err))
			return false;
		if (c.tag == TAG('I', 'D', 'A', 'T')) {
			p.data_at = at;
			if (p.type == PALETTE && p.palette_count == 0)
				return hob_fail(err, CORRUPT, "the palette is missing");
			*out = p;
			return true;
		}
		if (c.tag == TAG('P', 'L', 'T', 'E')) {
			if (c.size % 3 != 0 || c.size == 0 || c.size > 768)
				return hob_fail(err, CORRUPT, "a palette of %u bytes", c.size);
			p.palette = c.data;
			p.palette_count = c.size / 3;
		} else if (c.tag == TAG('t', 'R', 'N', 'S')) {
			uint32_t most = p.type == PALETTE ? p.palette_count : p.type == GREY ? 2 : p.type == RGB ? 6 : 0;
			if (c.size > most || (p.type != PALETTE && c.size != most))
				return hob_fail(err, CORRUPT, "transparency of %u bytes in colour type %u", c.size, p.type);
			p.key = c.data;
			p.key_size = c.size;
		}
		at = c.next;
	}
	return damaged ? false : hob_fail(err, TRUNCATED, "the file ends before its pixels");
}

bool hob_png_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	png p;
	if (!read_front(file, &p, err))
		return false;
	out->width = p.width;
	out->height = p.height;
	bool colour = p.type != GREY && p.type != GREY_ALPHA;
	bool alpha = p.type == GREY_ALPHA || p.type == RGBA || p.key_size > 0;
	out->channels = (colour ? 3u : 1u) + (alpha ? 1u : 0u);
	out->depth = p.bits == 16 ? HOB_DEPTH_16 : HOB_DEPTH_8;
	return true;
}

/* ---- filters: one row, `before` is the row above or zeros */

typedef int16_t short8 __attribute__((vector_size(16)));

static inline short8 load_pixel(const uint8_t *p, uint32_t step)
{
	return (short8){p[0], p[1], p[2], step == 4 ? p[3] : 0};
}

static inline short8 magnitude(short8 v)
{
	short8 sign = v < 0;
	return (v ^ sign) - sign;
}

/* Three or four lanes: each pixel depends on the one to its left, so only its channels are parallel. */
static inline void unpaeth_pixels(uint8_t *row, const uint8_t *before, size_t size, uint32_t step)
{
	short8 left = {0}, corner = {0};
	for (size_t i = 0; i < size; i += step) {
		short8 above = load_pixel(before + i, step);
		short8 to_left = above - corner, to_above = left - corner;
		short8 to_corner = magnitude(to_left + to_above);
		to_left = magnitude(to_left);
		to_above = magnitude(to_above);
		short8 use_left = (to_left <= to_above) & (to_left <= to_corner);
		short8 use_above = ~use_left & (to_above <= to_corner);
		short8 guess = (use_left & left) | (use_above & above) | (~(use_left | use_above) & corner);
		left = (load_pixel(row + i, step) + guess) & 255;
		corner = above;
		for (uint32_t k = 0; k < step; k++)
			row[i + k] = (uint8_t)left[k];
	}
}

/* `step`: bytes from a pixel to the next; a constant lets the compiler keep the pixel in registers. */
static inline __attribute__((always_inline)) bool
unfilter_step(uint8_t filter, uint8_t *row, const uint8_t *before, size_t size, uint32_t step)
{
	switch (filter) {
	case 0:
		return true;
	case 1:
		for (size_t i = step; i < size; i++)
			row[i] = (uint8_t)(row[i] + row[i - step]);
		return true;
	case 2:
		for (size_t i = 0; i < size; i++)
			row[i] = (uint8_t)(row[i] + before[i]);
		return true;
	case 3:
		for (size_t i = 0; i < size; i++)
			row[i] = (uint8_t)(row[i] + ((i >= step ? row[i - step] : 0) + before[i]) / 2);
		return true;
	case 4:
		if (step == 3 || step == 4) {
			unpaeth_pixels(row, before, size, step);
			return true;
		}
		for (size_t i = 0; i < size; i++)
			row[i] = (uint8_t)(row[i] + (i >= step ? hob_png_paeth(row[i - step], before[i], before[i - step])
												   : before[i]));
		return true;
	default:
		return false;
	}
}

static bool unfilter(uint8_t filter, uint8_t *row, const uint8_t *before, size_t size, uint32_t step)
{
	return step == 4   ? unfilter_step(filter, row, before, size, 4)
		   : step == 3 ? unfilter_step(filter, row, before, size, 3)
					   : unfilter_step(filter, row, before, size, step);
}

/* ---- samples to RGBA; pixel x goes to out[x * step] */

static void expand_8(const png *p, const uint8_t *row, uint32_t width, uint8_t *out, size_t step)
{
	static const uint8_t scale[9] = {[1] = 255, [2] = 85, [4] = 17, [8] = 1};
	uint32_t bits = p->bits, mask = (1u << bits) - 1, key[3] = {HOB_NONE, HOB_NONE, HOB_NONE};
	for (uint32_t k = 0; p->type != PALETTE && k < p->key_size / 2; k++)
		key[k] = hob_load_big_u16(p->key + 2 * k);
	for (uint32_t x = 0; x < width; x++, out += 4 * step) {
		if (p->type == GREY || p->type == PALETTE) {
			uint32_t v = bits == 8 ? row[x] : (uint32_t)row[x * bits / 8] >> (8 - bits - x * bits % 8) & mask;
			if (p->type == GREY) {
				out[0] = out[1] = out[2] = (uint8_t)(v * scale[bits]);
				out[3] = v == key[0] ? 0 : 255;
			} else {
				bool known = v < p->palette_count;
				for (uint32_t k = 0; k < 3; k++)
					out[k] = known ? p->palette[3 * v + k] : 0;
				out[3] = v < p->key_size ? p->key[v] : 255;
			}
		} else if (p->type == RGB) {
			const uint8_t *in = row + 3 * (size_t)x;
			out[0] = in[0], out[1] = in[1], out[2] = in[2];
			out[3] = in[0] == key[0] && in[1] == key[1] && in[2] == key[2] ? 0 : 255;
		} else if (p->type == GREY_ALPHA) {
			out[0] = out[1] = out[2] = row[2 * (size_t)x];
			out[3] = row[2 * (size_t)x + 1];
		} else {
			memcpy(out, row + 4 * (size_t)x, 4);
		}
	}
}

static void expand_16(const png *p, const uint8_t *row, uint32_t width, uint16_t *out, size_t step)
{
	bool grey = p->type == GREY || p->type == GREY_ALPHA;
	bool alpha = p->type == GREY_ALPHA || p->type == RGBA;
	for (uint32_t x = 0; x < width; x++, out += 4 * step) {
		const uint8_t *in = row + 2 * (size_t)p->samples * x;
		for (uint32_t k = 0; k < 3; k++)
			out[k] = (uint16_t)hob_load_big_u16(in + (grey ? 0 : 2 * k));
		out[3] = 0xFFFF;
		if (alpha)
			out[3] = (uint16_t)hob_load_big_u16(in + 2 * (p->samples - 1));
		else if (p->key_size > 0 && memcmp(in, p->key, p->key_size) == 0)
			out[3] = 0;
	}
}

/* ---- the whole picture */

typedef struct pass {
	uint32_t x, y, step_x, step_y;
} pass;

static const pass whole = {0, 0, 1, 1};
static const pass adam7[7] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
							  {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

static void pass_size(const png *p, const pass *s, uint32_t *width, uint32_t *height, size_t *row_bytes)
{
	*width = p->width > s->x ? (p->width - s->x + s->step_x - 1) / s->step_x : 0;
	*height = p->height > s->y ? (p->height - s->y + s->step_y - 1) / s->step_y : 0;
	*row_bytes = ((size_t)*width * p->samples * p->bits + 7) / 8;
	if (*width == 0)
		*height = 0;
}

static bool read_pass(const png *p, const pass *s, uint8_t *raw, const uint8_t *zeros, hob_picture *out,
					  hob_error *err)
{
	uint32_t width, height, step = (p->samples * p->bits + 7) / 8;
	size_t row_bytes, pixel = 4 * hob_depth_size(out->depth);
	pass_size(p, s, &width, &height, &row_bytes);
	const uint8_t *before = zeros;
	for (uint32_t y = 0; y < height; y++, raw += row_bytes + 1) {
		if (!unfilter(raw[0], raw + 1, before, row_bytes, step))
			return hob_fail(err, CORRUPT, "row %u has the unknown filter %u", s->y + y * s->step_y, raw[0]);
		before = raw + 1;
		size_t at = (size_t)(s->y + y * s->step_y) * p->width + s->x;
		uint8_t *pixels = (uint8_t *)out->pixels + at * pixel;
		if (p->bits == 16)
			expand_16(p, raw + 1, width, (uint16_t *)(void *)pixels, s->step_x);
		else
			expand_8(p, raw + 1, width, pixels, s->step_x);
	}
	return true;
}

/* Joins the IDAT chunks, which form one stream; a single chunk is used in place. */
static bool join_data(hob_bytes file, const png *p, hob_arena *arena, hob_bytes *out, hob_error *err)
{
	bool damaged = false;
	chunk c;
	size_t total = 0, chunks = 0;
	for (size_t at = p->data_at; next_chunk(file, at, &c, &damaged, err) && c.tag == TAG('I', 'D', 'A', 'T');
		 at = c.next) {
		*out = (hob_bytes){c.data, c.size};
		total += c.size;
		chunks++;
	}
	if (damaged)
		return false;
	if (chunks == 1)
		return true;
	uint8_t *joined = hob_arena_alloc(arena, total, 1);
	size_t size = 0;
	for (size_t at = p->data_at; size < total && next_chunk(file, at, &c, &damaged, err); at = c.next) {
		memcpy(joined + size, c.data, c.size);
		size += c.size;
	}
	*out = (hob_bytes){joined, total};
	return true;
}

static bool inflate_all(hob_bytes data, uint8_t *raw, size_t size, size_t room, hob_error *err)
{
	struct libdeflate_decompressor *inflate = libdeflate_alloc_decompressor();
	if (!inflate)
		return hob_fail(err, MEMORY, "no memory left for a decompressor");
	size_t got = 0;
	enum libdeflate_result result =
		libdeflate_zlib_decompress(inflate, data.data, data.size, raw, room, &got);
	libdeflate_free_decompressor(inflate);
	if (result == LIBDEFLATE_BAD_DATA)
		return hob_fail(err, CORRUPT, "the compressed pixels are damaged or cut off (%zu bytes)", data.size);
	if (result != LIBDEFLATE_SUCCESS)
		return hob_fail(err, CORRUPT,
						"the compressed pixels unpack to more than the %zu bytes of the picture", size);
	if (got < size)
		return hob_fail(err, TRUNCATED, "the pixels unpack to %zu bytes, the picture needs %zu", got, size);
	return true;
}

static bool read_pixels(hob_bytes file, const png *p, hob_arena *arena, hob_picture *out, hob_error *err)
{
	const pass *passes = p->interlaced ? adam7 : &whole;
	size_t pass_count = p->interlaced ? HOB_COUNT_OF(adam7) : 1, size = 0, widest = 0;
	for (size_t i = 0; i < pass_count; i++) {
		uint32_t width, height;
		size_t row_bytes;
		pass_size(p, &passes[i], &width, &height, &row_bytes);
		size += height * (row_bytes + 1);
		widest = row_bytes > widest ? row_bytes : widest;
	}
	/* Deflate expands at most 1032:1. */
	if (size / 1100 > file.size)
		return hob_fail(err, TRUNCATED, "%zu bytes of pixels cannot come from a file of %zu", size,
						file.size);
	/* Some writers append stray bytes to the stream. */
	size_t room = size + 65536;
	hob_bytes data;
	if (!join_data(file, p, arena, &data, err))
		return false;
	uint8_t *raw = hob_arena_alloc(arena, room, 64), *zeros = hob_arena_alloc(arena, widest + 1, 64);
	if (!inflate_all(data, raw, size, room, err))
		return false;
	for (size_t i = 0; i < pass_count; i++) {
		uint32_t width, height;
		size_t row_bytes;
		pass_size(p, &passes[i], &width, &height, &row_bytes);
		if (!read_pass(p, &passes[i], raw, zeros, out, err))
			return false;
		raw += height * (row_bytes + 1);
	}
	return true;
}

bool hob_png_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				  hob_error *err)
{
	png p;
	if (!read_front(file, &p, err))
		return false;
	hob_picture_new(info, arena, out);
	return read_pixels(file, &p, arena, out, err);
}
