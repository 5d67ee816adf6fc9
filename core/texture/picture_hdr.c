#include "picture.h"

#include <math.h>

typedef struct hdr {
	uint32_t width, height;
	size_t data_at;
} hdr;

static hob_str next_line(hob_bytes file, size_t *at)
{
	size_t first = *at;
	while (*at < file.size && file.data[*at] != '\n')
		++*at;
	hob_str line = {(const char *)file.data + first, *at - first};
	if (*at < file.size)
		++*at;
	return line;
}

static bool read_side(hob_str line, size_t *at, hob_str name, uint32_t *out)
{
	if (!hob_str_starts(hob_str_sub(line, *at, line.len), name))
		return false;
	*at += name.len;
	uint32_t value = 0;
	size_t first = *at;
	for (; *at < line.len && line.data[*at] >= '0' && line.data[*at] <= '9' && value < 100000000; ++*at)
		value = value * 10 + (uint32_t)(line.data[*at] - '0');
	*out = value;
	return *at > first;
}

static bool read_front(hob_bytes file, hdr *out, hob_error *err)
{
	hdr h = {0};
	size_t at = 0;
	bool rgbe = false;
	for (hob_str line = next_line(file, &at); line.len > 0; line = next_line(file, &at)) {
		rgbe |= hob_str_equal(line, HOB_STR("FORMAT=32-bit_rle_rgbe"));
		if (at >= file.size)
			return hob_fail(err, TRUNCATED, "the file ends in its header");
	}
	if (!rgbe)
		return hob_fail(err, UNSUPPORTED,
						"its pixels are not 32-bit_rle_rgbe; save it again as Radiance RGBE");
	hob_str size = next_line(file, &at);
	size_t in_line = 0;
	if (!read_side(size, &in_line, HOB_STR("-Y "), &h.height) ||
		!read_side(size, &in_line, HOB_STR(" +X "), &h.width))
		return hob_fail(err, UNSUPPORTED,
						"the size is not given as '-Y height +X width'; save it again, not turned");
	h.data_at = at;
	*out = h;
	return true;
}

bool hob_hdr_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	hdr h;
	if (!read_front(file, &h, err))
		return false;
	out->width = h.width;
	out->height = h.height;
	out->channels = 3;
	out->depth = HOB_DEPTH_FLOAT;
	return true;
}

static void put_pixel(const uint8_t rgbe[4], float out[4])
{
	for (int k = 0; k < 3; k++)
		out[k] = rgbe[3] == 0 ? 0.0f : (float)ldexp(rgbe[k], rgbe[3] - 136);
	out[3] = 1.0f;
}

/* Reads each channel of the row as runs and literals. */
static bool read_packed_row(hob_bytes file, size_t *at, uint32_t width, uint8_t *planes)
{
	for (size_t done = 0, end = 4 * (size_t)width; done < end;) {
		size_t left = width - done % width;
		if (file.size - *at < 2)
			return false;
		size_t count = file.data[(*at)++];
		if (count > 128) {
			count -= 128;
			if (count > left)
				return false;
			memset(planes + done, file.data[(*at)++], count);
		} else {
			if (count == 0 || count > left || count > file.size - *at)
				return false;
			memcpy(planes + done, file.data + *at, count);
			*at += count;
		}
		done += count;
	}
	return true;
}

/* Reads pixel by pixel; 1 1 1 n repeats the previous one n times, and directly after another repeat 256 n
 * times. */
static bool read_plain_row(hob_bytes file, size_t *at, uint32_t width, uint8_t *pixels)
{
	uint32_t x = 0, shift = 0;
	while (x < width) {
		if (file.size - *at < 4)
			return false;
		const uint8_t *p = file.data + *at;
		*at += 4;
		if (p[0] == 1 && p[1] == 1 && p[2] == 1 && x > 0 && shift < 32) {
			uint64_t count = (uint64_t)p[3] << shift;
			for (; count > 0 && x < width; count--, x++)
				memcpy(pixels + 4 * (size_t)x, pixels + 4 * (size_t)(x - 1), 4);
			shift += 8;
		} else {
			memcpy(pixels + 4 * (size_t)x, p, 4);
			x++;
			shift = 0;
		}
	}
	return true;
}

static bool read_rows(hob_bytes file, const hdr *h, uint8_t *row, float *out, hob_error *err)
{
	size_t at = h->data_at;
	for (uint32_t y = 0; y < h->height; y++) {
		const uint8_t *p = file.data + at;
		bool packed = h->width >= 8 && h->width < 32768 && file.size - at >= 4 && p[0] == 2 && p[1] == 2 &&
					  ((uint32_t)p[2] << 8 | p[3]) == h->width;
		if (packed)
			at += 4;
		if (packed ? !read_packed_row(file, &at, h->width, row) : !read_plain_row(file, &at, h->width, row))
			return hob_fail(err, CORRUPT, "row %u of %u is damaged or cut off", y, h->height);
		for (uint32_t x = 0; x < h->width; x++, out += 4) {
			uint8_t turned[4];
			for (size_t k = 0; k < 4; k++)
				turned[k] = packed ? row[k * h->width + x] : row[4 * (size_t)x + k];
			put_pixel(turned, out);
		}
	}
	return true;
}

bool hob_hdr_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				  hob_error *err)
{
	hdr h;
	if (!read_front(file, &h, err))
		return false;
	/* A row takes at least its marker and a run per 127 pixels of each channel, or one pixel and repeats. */
	uint64_t least = h.width < 8 ? (uint64_t)h.height * 4 : (uint64_t)h.height * 8;
	if (file.size - h.data_at < least)
		return hob_fail(err, TRUNCATED, "%u x %u pixels cannot come from %zu bytes", h.width, h.height,
						file.size - h.data_at);
	hob_picture_new(info, arena, out);
	return read_rows(file, &h, hob_arena_alloc(arena, 4 * (size_t)h.width, 4), out->pixels, err);
}
