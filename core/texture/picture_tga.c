/* TGA by Truevision's specification 2.0: true colour, grey and colour maps, plain and run-length encoded,
 * from each of the four corners. */
#include "picture.h"

enum { HEADER = 18, MAPPED = 1, COLORED = 2, GREY = 3 };

typedef struct tga {
	uint32_t width, height;
	uint32_t type;	/* MAPPED, COLORED or GREY */
	uint32_t bytes; /* bytes per pixel in the file */
	uint32_t map_first, map_count, map_bytes;
	uint32_t attribute_bits; /* declared by the header */
	bool runs, from_right, from_top;
	const uint8_t *map, *data, *end;
} tga;

static bool is_depth(uint32_t bits)
{
	return bits == 15 || bits == 16 || bits == 24 || bits == 32;
}

bool hob_tga_plausible(hob_bytes file)
{
	if (file.size < HEADER)
		return false;
	const uint8_t *p = file.data;
	uint32_t type = p[2] & 7u, bits = p[16];
	if (p[1] > 1 || type < MAPPED || type > GREY || (p[2] & ~11u) != 0 || (type == MAPPED && p[1] != 1))
		return false;
	if (p[1] == 1 && (!is_depth(p[7]) || hob_load_u16(p + 5) == 0))
		return false;
	bool depth = type == COLORED ? is_depth(bits) : bits == 8 || bits == 16;
	return depth && hob_load_u16(p + 12) > 0 && hob_load_u16(p + 14) > 0;
}

static bool has_alpha(const tga *t)
{
	uint32_t bytes = t->type == MAPPED ? t->map_bytes : t->bytes;
	return t->type == GREY ? t->bytes == 2 : bytes == 4 || (bytes == 2 && t->attribute_bits == 1);
}

static bool open_tga(hob_bytes file, tga *out, hob_error *err)
{
	const uint8_t *p = file.data;
	if (!hob_tga_plausible(file))
		return hob_fail(err, CORRUPT, "the header contradicts itself");
	*out = (tga){.width = hob_load_u16(p + 12),
				 .height = hob_load_u16(p + 14),
				 .type = p[2] & 7u,
				 .bytes = (p[16] + 7u) / 8,
				 .map_first = hob_load_u16(p + 3),
				 .map_count = p[1] ? hob_load_u16(p + 5) : 0,
				 .map_bytes = p[1] ? (p[7] + 7u) / 8 : 0,
				 .attribute_bits = p[17] & 15u,
				 .runs = (p[2] & 8) != 0,
				 .from_right = (p[17] & 16) != 0,
				 .from_top = (p[17] & 32) != 0,
				 .end = p + file.size};
	size_t map_at = HEADER + (size_t)p[0], data_at = map_at + (size_t)out->map_count * out->map_bytes;
	if (data_at > file.size)
		return hob_fail(err, TRUNCATED, "the file ends inside its colour map (%zu of %zu bytes)", file.size,
						data_at);
	out->map = p + map_at;
	out->data = p + data_at;
	return true;
}

bool hob_tga_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	tga t;
	if (!open_tga(file, &t, err))
		return false;
	out->width = t.width;
	out->height = t.height;
	out->channels = (t.type == GREY ? 1u : 3u) + (has_alpha(&t) ? 1u : 0u);
	out->depth = HOB_DEPTH_8;
	return true;
}

static void put_color(const uint8_t *in, uint32_t bytes, bool alpha, uint8_t *out)
{
	if (bytes == 2) {
		uint32_t v = hob_load_u16(in);
		for (uint32_t k = 0; k < 3; k++)
			out[k] = (uint8_t)((v >> (10 - 5 * k) & 31) * 255 / 31);
		out[3] = !alpha || v >> 15 ? 255 : 0;
		return;
	}
	out[0] = in[2], out[1] = in[1], out[2] = in[0];
	out[3] = bytes == 4 ? in[3] : 255;
}

static void put_pixel(const tga *t, const uint8_t *in, uint8_t *out)
{
	if (t->type == COLORED) {
		put_color(in, t->bytes, has_alpha(t), out);
	} else if (t->type == GREY) {
		out[0] = out[1] = out[2] = in[0];
		out[3] = t->bytes == 2 ? in[1] : 255;
	} else {
		uint32_t index = (t->bytes == 2 ? hob_load_u16(in) : in[0]) - t->map_first;
		/* Indices outside the map are black. */
		memcpy(out, (uint8_t[4]){0, 0, 0, 255}, 4);
		if (index < t->map_count)
			put_color(t->map + (size_t)index * t->map_bytes, t->map_bytes, has_alpha(t), out);
	}
}

/* Reads pixels in file order, four bytes each. False where the file ends early. */
static bool read_stream(const tga *t, uint8_t *out)
{
	size_t left = (size_t)t->width * t->height;
	const uint8_t *in = t->data;
	while (left > 0) {
		size_t count = left, bytes = t->bytes;
		bool repeated = false;
		if (t->runs) {
			if (in == t->end)
				return false;
			repeated = *in >= 128;
			count = (size_t)(*in++ & 127) + 1;
			count = count < left ? count : left;
		}
		if ((size_t)(t->end - in) / bytes < (repeated ? 1 : count))
			return false;
		for (size_t i = 0; i < count; i++, out += 4) {
			put_pixel(t, in, out);
			in += repeated ? 0 : bytes;
		}
		in += repeated ? bytes : 0;
		left -= count;
	}
	return true;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t kept = *a;
	*a = *b;
	*b = kept;
}

static void turn(const tga *t, uint32_t *pixels)
{
	for (uint32_t y = 0; t->from_right && y < t->height; y++)
		for (uint32_t x = 0; x < t->width / 2; x++)
			swap(pixels + (size_t)y * t->width + x, pixels + (size_t)y * t->width + t->width - 1 - x);
	for (uint32_t y = 0; !t->from_top && y < t->height / 2; y++)
		for (uint32_t x = 0; x < t->width; x++)
			swap(pixels + (size_t)y * t->width + x, pixels + (size_t)(t->height - 1 - y) * t->width + x);
}

bool hob_tga_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				  hob_error *err)
{
	tga t;
	if (!open_tga(file, &t, err))
		return false;
	/* Minimum size of a file with so many pixels, checked before allocation. */
	size_t pixels = (size_t)t.width * t.height, bytes = (size_t)(t.end - t.data);
	size_t least = t.runs ? (pixels + 127) / 128 * (1 + t.bytes) : pixels * t.bytes;
	if (bytes < least)
		return hob_fail(err, TRUNCATED, "%u x %u pixels cannot come from %zu bytes (at least %zu)", t.width,
						t.height, bytes, least);
	hob_picture_new(info, arena, out);
	if (!read_stream(&t, out->pixels))
		return hob_fail(err, TRUNCATED, "the file ends inside its pixels");
	turn(&t, out->pixels);
	/* An undeclared fourth byte that is zero everywhere is not alpha. */
	out->empty_alpha = t.type != GREY && t.attribute_bits <= 1 && hob_picture_drop_empty_alpha(out);
	return true;
}
