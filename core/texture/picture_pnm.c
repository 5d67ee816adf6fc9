#include "picture.h"

typedef struct pnm {
	uint32_t kind; /* 1..6 */
	uint32_t width, height, most, samples;
	size_t data_at;
} pnm;

static bool is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Skips blanks and comments. */
static size_t skip(hob_bytes file, size_t at)
{
	bool comment = false;
	for (; at < file.size; at++) {
		uint8_t c = file.data[at];
		comment = comment ? c != '\n' : c == '#';
		if (!comment && !is_space(c))
			break;
	}
	return at;
}

static bool read_number(hob_bytes file, size_t *at, uint32_t *out)
{
	size_t i = skip(file, *at);
	uint64_t value = 0;
	size_t first = i;
	for (; i < file.size && file.data[i] >= '0' && file.data[i] <= '9' && value <= UINT32_MAX; i++)
		value = value * 10 + (file.data[i] - '0');
	if (i == first || value > UINT32_MAX)
		return false;
	*at = i;
	*out = (uint32_t)value;
	return true;
}

static bool read_front(hob_bytes file, pnm *out, hob_error *err)
{
	pnm p = {.kind = (uint32_t)(file.data[1] - '0'), .most = 1};
	size_t at = 2;
	if (!read_number(file, &at, &p.width) || !read_number(file, &at, &p.height) ||
		(p.kind % 3 != 1 && !read_number(file, &at, &p.most)))
		return hob_fail(err, CORRUPT, "the header does not give width, height and greatest value");
	if (p.most == 0 || p.most > 65535)
		return hob_fail(err, CORRUPT, "the greatest value is %u, not 1 to 65535", p.most);
	if (p.kind > 3 && (at >= file.size || !is_space(file.data[at])))
		return hob_fail(err, TRUNCATED, "the file ends after its header");
	p.samples = p.kind % 3 == 0 ? 3 : 1;
	p.data_at = p.kind > 3 ? at + 1 : at;
	*out = p;
	return true;
}

bool hob_pnm_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	pnm p;
	if (!read_front(file, &p, err))
		return false;
	out->width = p.width;
	out->height = p.height;
	out->channels = p.samples;
	out->depth = p.most > 255 ? HOB_DEPTH_16 : HOB_DEPTH_8;
	return true;
}

/* Sample i of the file, or HOB_NONE when it is missing or above the maximum. */
static uint32_t next_sample(hob_bytes file, const pnm *p, size_t *at, size_t x)
{
	uint32_t value;
	switch (p->kind) {
	case 1:
		*at = skip(file, *at);
		if (*at >= file.size || (file.data[*at] != '0' && file.data[*at] != '1'))
			return HOB_NONE;
		return file.data[(*at)++] == '0';
	case 2:
	case 3:
		return read_number(file, at, &value) && value <= p->most ? value : HOB_NONE;
	case 4:
		value = (file.data[*at] >> (7 - x % 8) & 1) ^ 1;
		if (x % 8 == 7 || x + 1 == p->width)
			++*at;
		return value;
	default:
		value = file.data[(*at)++];
		if (p->most > 255)
			value = value << 8 | file.data[(*at)++];
		return value <= p->most ? value : p->most;
	}
}

bool hob_pnm_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				  hob_error *err)
{
	pnm p;
	if (!read_front(file, &p, err))
		return false;
	uint64_t samples = (uint64_t)p.width * p.height * p.samples, need;
	if (p.kind == 4)
		need = (uint64_t)((p.width + 7) / 8) * p.height;
	else
		need = p.kind == 1 ? samples : p.kind < 4 ? 2 * samples - 1 : samples * (p.most > 255 ? 2 : 1);
	if (file.size - p.data_at < need)
		return hob_fail(err, TRUNCATED, "%llu bytes of pixels are needed, the file has %zu",
						(unsigned long long)need, file.size - p.data_at);
	hob_picture_new(info, arena, out);
	uint32_t top = info->depth == HOB_DEPTH_16 ? 65535 : 255;
	size_t at = p.data_at, count = (size_t)p.width * p.height;
	for (size_t i = 0; i < count; i++) {
		uint32_t value[4];
		for (uint32_t k = 0; k < p.samples; k++) {
			uint32_t v = next_sample(file, &p, &at, i % p.width);
			if (v == HOB_NONE)
				return hob_fail(err, CORRUPT, "pixel %zu of %zu is missing or greater than %u", i, count,
								p.most);
			value[k] = (uint32_t)(((uint64_t)v * top + p.most / 2) / p.most);
		}
		if (p.samples == 1)
			value[1] = value[2] = value[0];
		value[3] = top;
		for (uint32_t k = 0; k < 4; k++)
			hob_picture_put(out, 4 * i + k, value[k]);
	}
	return true;
}
