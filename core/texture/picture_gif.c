#include "picture.h"

enum { CODES = 4096 };

typedef struct gif {
	uint32_t width, height; /* size of the screen */
	uint32_t x, y, w, h;	/* rectangle of the first frame */
	uint32_t color_count;
	const uint8_t *colors; /* [color_count][3] */
	uint32_t transparent;  /* HOB_NONE: no transparent colour */
	bool interlaced;
	size_t data_at; /* offset of the frame's LZW code size and blocks */
} gif;

static bool read_front(hob_bytes file, gif *out, hob_error *err)
{
	const uint8_t *p = file.data;
	if (file.size < 13)
		return hob_fail(err, TRUNCATED, "%zu bytes, the header alone has 13", file.size);
	gif g = {.width = hob_load_u16(p + 6), .height = hob_load_u16(p + 8), .transparent = HOB_NONE};
	size_t at = 13;
	if (p[10] & 0x80) {
		g.color_count = 2u << (p[10] & 7);
		g.colors = p + at;
		at += 3 * (size_t)g.color_count;
	}
	while (at < file.size) {
		if (p[at] == 0x3B)
			return hob_fail(err, EMPTY, "the file ends without a frame");
		if (p[at] == 0x2C && file.size - at >= 11) {
			g.x = hob_load_u16(p + at + 1), g.y = hob_load_u16(p + at + 3);
			g.w = hob_load_u16(p + at + 5), g.h = hob_load_u16(p + at + 7);
			uint8_t flags = p[at + 9];
			at += 10;
			g.interlaced = (flags & 0x40) != 0;
			if (flags & 0x80) {
				g.color_count = 2u << (flags & 7);
				g.colors = p + at;
				at += 3 * (size_t)g.color_count;
			}
			if (at >= file.size)
				return hob_fail(err, TRUNCATED, "the file ends in its palette");
			if (!g.colors)
				return hob_fail(err, CORRUPT, "the frame has no palette");
			if (g.w == 0 || g.h == 0 || g.x + g.w > g.width || g.y + g.h > g.height)
				return hob_fail(err, CORRUPT, "the frame %u x %u at %u,%u lies outside the screen", g.w, g.h,
								g.x, g.y);
			g.data_at = at;
			*out = g;
			return true;
		}
		if (p[at] != 0x21 || file.size - at < 3)
			return hob_fail(err, CORRUPT, "byte %zu begins neither a frame nor an extension", at);
		if (p[at + 1] == 0xF9 && p[at + 2] >= 4 && file.size - at >= 7 && (p[at + 3] & 1))
			g.transparent = p[at + 6];
		at += 2;
		while (at < file.size && p[at] != 0)
			at += 1u + p[at];
		at++;
	}
	return hob_fail(err, TRUNCATED, "the file ends before its first frame");
}

bool hob_gif_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	gif g;
	if (!read_front(file, &g, err))
		return false;
	bool covers = g.w == g.width && g.h == g.height;
	out->width = g.width;
	out->height = g.height;
	out->channels = covers && g.transparent == HOB_NONE ? 3 : 4;
	out->depth = HOB_DEPTH_8;
	return true;
}

/* Reads codes of varying width from blocks of at most 255 bytes. */
typedef struct bits {
	hob_bytes file;
	size_t at, block_end;
	uint32_t value, count;
} bits;

static uint32_t next_code(bits *b, uint32_t width)
{
	while (b->count < width) {
		if (b->at == b->block_end) {
			if (b->at >= b->file.size || b->file.data[b->at] == 0)
				return HOB_NONE;
			b->block_end = b->at + 1 + b->file.data[b->at];
			b->at++;
			if (b->block_end > b->file.size)
				b->block_end = b->file.size;
			continue;
		}
		b->value |= (uint32_t)b->file.data[b->at++] << b->count;
		b->count += 8;
	}
	uint32_t code = b->value & ((1u << width) - 1);
	b->value >>= width;
	b->count -= width;
	return code;
}

/* An interlaced frame stores its rows in four groups. */
static uint32_t row_of(const gif *g, uint32_t i)
{
	if (!g->interlaced)
		return i;
	static const struct {
		uint32_t first, step;
	} groups[4] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
	for (uint32_t k = 0; k < 4; k++) {
		uint32_t rows =
			g->h > groups[k].first ? (g->h - groups[k].first + groups[k].step - 1) / groups[k].step : 0;
		if (i < rows)
			return groups[k].first + i * groups[k].step;
		i -= rows;
	}
	return 0;
}

typedef struct table {
	uint16_t prefix[CODES], length[CODES];
	uint8_t first[CODES], last[CODES];
} table;

static bool decode_indices(const gif *g, hob_bytes file, table *t, uint8_t *out, hob_error *err)
{
	uint32_t least = file.data[g->data_at];
	if (least < 1 || least > 8)
		return hob_fail(err, CORRUPT, "codes of %u bits", least);
	bits b = {.file = file, .at = g->data_at + 1, .block_end = g->data_at + 1};
	uint32_t clear = 1u << least, end = clear + 1, next = clear + 2, width = least + 1, before = HOB_NONE;
	for (uint32_t i = 0; i < clear; i++) {
		t->prefix[i] = 0;
		t->length[i] = 1;
		t->first[i] = t->last[i] = (uint8_t)i;
	}
	size_t count = (size_t)g->w * g->h, done = 0;
	while (done < count) {
		uint32_t code = next_code(&b, width);
		if (code == HOB_NONE || code == end)
			return hob_fail(err, TRUNCATED, "the frame ends after %zu of %zu pixels", done, count);
		if (code == clear) {
			next = clear + 2;
			width = least + 1;
			before = HOB_NONE;
			continue;
		}
		if (code > next || (code == next && before == HOB_NONE) || (before == HOB_NONE && code >= clear))
			return hob_fail(err, CORRUPT, "code %u is used before its definition at pixel %zu", code, done);
		if (before != HOB_NONE && next < CODES) {
			t->prefix[next] = (uint16_t)before;
			t->length[next] = (uint16_t)(t->length[before] + 1);
			t->first[next] = t->first[before];
			t->last[next] = code == next ? t->first[before] : t->first[code];
			next++;
			if (next == 1u << width && width < 12)
				width++;
		} else if (code >= next) {
			return hob_fail(err, CORRUPT, "code %u is used before its definition at pixel %zu", code, done);
		}
		size_t length = t->length[code];
		/* Written from its end; pixels past the last one are dropped. */
		for (uint32_t c = code, k = (uint32_t)length; k > 0; k--, c = t->prefix[c])
			if (done + k - 1 < count)
				out[done + k - 1] = t->last[c];
		done += length;
		before = code;
	}
	return true;
}

bool hob_gif_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				  hob_error *err)
{
	gif g;
	if (!read_front(file, &g, err))
		return false;
	/* A code of 12 bits covers at most 4096 pixels. */
	if ((uint64_t)g.w * g.h / 4096 > file.size)
		return hob_fail(err, TRUNCATED, "%u x %u pixels cannot come from %zu bytes", g.w, g.h, file.size);
	hob_picture_new(info, arena, out);
	table *t = HOB_NEW(arena, table, 1);
	uint8_t *indices = HOB_NEW(arena, uint8_t, (size_t)g.w * g.h);
	if (!decode_indices(&g, file, t, indices, err))
		return false;
	uint8_t *pixels = out->pixels;
	for (uint32_t i = 0; i < g.h; i++) {
		uint8_t *row = pixels + 4 * ((size_t)(g.y + row_of(&g, i)) * g.width + g.x);
		for (uint32_t x = 0; x < g.w; x++, row += 4) {
			uint32_t index = indices[(size_t)i * g.w + x];
			if (index < g.color_count)
				memcpy(row, g.colors + 3 * (size_t)index, 3);
			row[3] = index == g.transparent ? 0 : 255;
		}
	}
	return true;
}
