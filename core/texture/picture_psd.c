#include "picture.h"

enum { GREY = 1, RGB = 3 };

typedef struct psd {
	uint32_t width, height, planes, depth, mode;
	bool blended;	/* the merged picture was blended with white */
	size_t data_at; /* the compression field, followed by the planes */
} psd;

static bool skip_section(hob_bytes file, size_t *at, const char *what, hob_error *err)
{
	if (file.size - *at < 4)
		return hob_fail(err, TRUNCATED, "the file ends before its %s", what);
	uint32_t size = hob_load_big_u32(file.data + *at);
	if (size > file.size - *at - 4)
		return hob_fail(err, TRUNCATED, "the %s of %u bytes go past the end of the file", what, size);
	*at += 4 + (size_t)size;
	return true;
}

static bool read_front(hob_bytes file, psd *out, hob_error *err)
{
	const uint8_t *p = file.data;
	if (file.size < 26)
		return hob_fail(err, TRUNCATED, "%zu bytes, the header alone has 26", file.size);
	if (hob_load_big_u16(p + 4) != 1)
		return hob_fail(err, UNSUPPORTED, "version %u (a large document); save it as PNG",
						hob_load_big_u16(p + 4));
	psd d = {.planes = hob_load_big_u16(p + 12),
			 .height = hob_load_big_u32(p + 14),
			 .width = hob_load_big_u32(p + 18),
			 .depth = hob_load_big_u16(p + 22),
			 .mode = hob_load_big_u16(p + 24)};
	if ((d.mode != GREY && d.mode != RGB) || (d.depth != 8 && d.depth != 16))
		return hob_fail(err, UNSUPPORTED,
						"colour mode %u with %u bits; convert it to RGB with 8 or 16 bits, or save PNG",
						d.mode, d.depth);
	if (d.planes < d.mode || d.planes > 56)
		return hob_fail(err, CORRUPT, "%u channels in colour mode %u", d.planes, d.mode);
	*out = d;
	return true;
}

bool hob_psd_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	psd d;
	if (!read_front(file, &d, err))
		return false;
	out->width = d.width;
	out->height = d.height;
	out->channels = d.mode + (d.planes > d.mode ? 1 : 0);
	out->depth = d.depth == 16 ? HOB_DEPTH_16 : HOB_DEPTH_8;
	return true;
}

static bool find_data(hob_bytes file, psd *d, hob_error *err)
{
	size_t at = 26;
	if (!skip_section(file, &at, "colour table", err) || !skip_section(file, &at, "resources", err))
		return false;
	size_t layers = at;
	if (!skip_section(file, &at, "layers", err))
		return false;
	/* A negative layer count: the first extra channel is the picture's own transparency. */
	d->blended =
		at - layers >= 10 && hob_load_big_u32(file.data + layers + 4) >= 2 && (file.data[layers + 8] & 0x80);
	if (file.size - at < 2)
		return hob_fail(err, TRUNCATED,
						"the file ends before its merged picture; save with 'maximise compatibility'");
	d->data_at = at;
	return true;
}

static bool unpack_row(hob_bytes in, uint8_t *out, size_t size, hob_error *err)
{
	size_t at = 0, done = 0;
	while (done < size) {
		if (at + 1 >= in.size)
			return hob_fail(err, CORRUPT, "a packed row gives %zu of %zu bytes", done, size);
		uint32_t head = in.data[at++];
		if (head == 128)
			continue;
		size_t run = head < 128 ? head + 1 : 257 - head;
		if (run > size - done || (head < 128 && run > in.size - at))
			return hob_fail(err, CORRUPT, "a packed row gives more than its %zu bytes", size);
		if (head < 128) {
			memcpy(out + done, in.data + at, run);
			at += run;
		} else {
			memset(out + done, in.data[at++], run);
		}
		done += run;
	}
	return true;
}

static void put_row(const psd *d, uint32_t plane, uint32_t y, const uint8_t *row, hob_picture *out)
{
	size_t at = 4 * (size_t)y * d->width;
	bool alpha = plane == d->mode;
	uint32_t first = alpha ? 3 : plane, last = alpha ? 3 : d->mode == GREY ? 2 : plane;
	for (uint32_t x = 0; x < d->width; x++)
		for (uint32_t k = first; k <= last; k++) {
			hob_picture_put(out, at + 4 * (size_t)x + k,
							d->depth == 8 ? row[x] : hob_load_big_u16(row + 2 * (size_t)x));
		}
}

static bool read_planes(hob_bytes file, const psd *d, uint8_t *row, hob_picture *out, hob_error *err)
{
	uint32_t compression = hob_load_big_u16(file.data + d->data_at);
	size_t at = d->data_at + 2, row_bytes = (size_t)d->width * d->depth / 8;
	size_t rows = (size_t)d->planes * d->height, sizes = at;
	if (compression > 1)
		return hob_fail(err, UNSUPPORTED, "compression %u; save it as PNG", compression);
	size_t least = compression == 1 ? 2 * rows : rows * row_bytes;
	if (file.size - at < least)
		return hob_fail(err, TRUNCATED, "the merged picture has %zu bytes, at least %zu are needed",
						file.size - at, least);
	if (compression == 1)
		at += 2 * rows;
	uint32_t wanted = out->has_alpha ? d->mode + 1 : d->mode;
	for (uint32_t plane = 0; plane < wanted; plane++)
		for (uint32_t y = 0; y < d->height; y++) {
			const uint8_t *source = file.data + at;
			if (compression == 0) {
				at += row_bytes;
			} else {
				size_t packed = hob_load_big_u16(file.data + sizes);
				sizes += 2;
				if (packed > file.size - at)
					return hob_fail(err, TRUNCATED, "row %u of channel %u goes past the end of the file", y,
									plane);
				if (!unpack_row((hob_bytes){source, packed}, row, row_bytes, err))
					return hob_fail_in(err, "row %u of channel %u", y, plane);
				source = row;
				at += packed;
			}
			put_row(d, plane, y, source, out);
		}
	return true;
}

static uint32_t without_white(uint32_t value, uint32_t alpha, uint32_t most)
{
	uint32_t white = most - alpha;
	uint64_t own = value > white ? value - white : 0;
	return (uint32_t)(own * most / alpha < most ? own * most / alpha : most);
}

/* Takes the white out of colours that were blended with it. */
static void take_white_out(const psd *d, hob_picture *out)
{
	uint32_t most = d->depth == 8 ? 255 : 65535;
	const uint8_t *narrow = out->pixels;
	const uint16_t *wide = out->pixels;
	for (size_t i = 0, n = 4 * (size_t)d->width * d->height; i < n; i += 4) {
		uint32_t alpha = d->depth == 8 ? narrow[i + 3] : wide[i + 3];
		for (size_t k = i; alpha > 0 && k < i + 3; k++)
			hob_picture_put(out, k, without_white(d->depth == 8 ? narrow[k] : wide[k], alpha, most));
	}
}

bool hob_psd_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				  hob_error *err)
{
	psd d;
	if (!read_front(file, &d, err) || !find_data(file, &d, err))
		return false;
	if (file.size - d.data_at < (size_t)d.planes * d.height)
		return hob_fail(err, TRUNCATED, "%u x %u pixels cannot come from the %zu bytes of the merged picture",
						d.width, d.height, file.size - d.data_at);
	hob_picture_new(info, arena, out);
	if (!read_planes(file, &d, hob_arena_alloc(arena, (size_t)d.width * 2, 16), out, err))
		return false;
	if (!out->has_alpha)
		hob_picture_fill_alpha(out);
	else if (d.blended)
		take_white_out(&d, out);
	return true;
}
