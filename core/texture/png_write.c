#include "png_write.h"
#include "picture.h"

#include <libdeflate.h>
#include <stdlib.h>

enum { LEVEL = 6, FILTERS = 5 };

static void put_big(uint8_t *out, uint32_t v)
{
	out[0] = (uint8_t)(v >> 24), out[1] = (uint8_t)(v >> 16), out[2] = (uint8_t)(v >> 8), out[3] = (uint8_t)v;
}

static void put_chunk(hob_buf *out, const char *tag, const uint8_t *data, size_t size)
{
	uint8_t number[4];
	put_big(number, (uint32_t)size);
	hob_buf_put(out, number, 4);
	size_t at = out->size;
	hob_buf_put(out, tag, 4);
	hob_buf_put(out, data, size);
	if (out->failed)
		return;
	put_big(number, libdeflate_crc32(0, out->data + at, size + 4));
	hob_buf_put(out, number, 4);
}

uint8_t hob_png_paeth(int left, int above, int corner)
{
	int to_left = abs(above - corner), to_above = abs(left - corner),
		to_corner = abs(left + above - 2 * corner);
	return (uint8_t)(to_left <= to_above && to_left <= to_corner ? left
					 : to_above <= to_corner					 ? above
																 : corner);
}

static void filter_row(uint32_t filter, const uint8_t *row, const uint8_t *before, size_t size, size_t step,
					   uint8_t *out)
{
	for (size_t i = 0; i < size; i++) {
		uint8_t left = i >= step ? row[i - step] : 0, above = before[i],
				corner = i >= step ? before[i - step] : 0;
		uint8_t guess = 0;
		switch (filter) {
		case 1:
			guess = left;
			break;
		case 2:
			guess = above;
			break;
		case 3:
			guess = (uint8_t)((left + above) / 2);
			break;
		case 4:
			guess = hob_png_paeth(left, above, corner);
			break;
		}
		out[i] = (uint8_t)(row[i] - guess);
	}
}

static uint64_t weight_of(const uint8_t *row, size_t size)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < size; i++)
		sum += row[i] < 128 ? row[i] : 256u - row[i];
	return sum;
}

/* `raw` has room for all filtered rows, `work` for two plain rows and one trial. */
static void filter_all(const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels,
					   uint8_t *raw, uint8_t *work)
{
	size_t size = (size_t)width * channels;
	uint8_t *row = work, *before = work + size, *trial = work + 2 * size;
	memset(before, 0, size);
	for (uint32_t y = 0; y < height; y++, raw += size + 1) {
		const uint8_t *in = pixels + 4 * (size_t)y * width;
		for (uint32_t x = 0; x < width; x++)
			memcpy(row + (size_t)x * channels, in + 4 * (size_t)x, channels);
		uint64_t least = UINT64_MAX;
		for (uint32_t filter = 0; filter < FILTERS; filter++) {
			filter_row(filter, row, before, size, channels, trial);
			uint64_t weight = weight_of(trial, size);
			if (weight >= least)
				continue;
			least = weight;
			raw[0] = (uint8_t)filter;
			memcpy(raw + 1, trial, size);
		}
		uint8_t *other = before;
		before = row;
		row = other;
	}
}

void hob_png_write(const uint8_t *pixels, uint32_t width, uint32_t height, bool opaque, hob_buf *out)
{
	uint32_t channels = opaque ? 3 : 4;
	size_t row = (size_t)width * channels, raw_size = (row + 1) * height;
	struct hob_guard *guard = hob_guard_suspend(); /* what malloc gave must be freed */
	struct libdeflate_compressor *deflate = libdeflate_alloc_compressor(LEVEL);
	size_t bound = deflate ? libdeflate_zlib_compress_bound(deflate, raw_size) : 0;
	uint8_t *raw = malloc(raw_size), *work = malloc(3 * row), *packed = malloc(bound ? bound : 1);
	bool ok = deflate && raw && work && packed;
	if (ok) {
		filter_all(pixels, width, height, channels, raw, work);
		size_t size = libdeflate_zlib_compress(deflate, raw, raw_size, packed, bound);
		uint8_t head[13] = {[8] = 8, [9] = opaque ? 2 : 6};
		put_big(head, width);
		put_big(head + 4, height);
		hob_buf_put(out, "\x89PNG\r\n\x1A\n", 8);
		put_chunk(out, "IHDR", head, sizeof head);
		put_chunk(out, "IDAT", packed, size);
		put_chunk(out, "IEND", packed, 0);
		ok = !out->failed;
	}
	if (deflate)
		libdeflate_free_compressor(deflate);
	free(raw);
	free(work);
	free(packed);
	hob_guard_resume(guard);
	if (!ok)
		hob_picture_starve("a PNG");
}
