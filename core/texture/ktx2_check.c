/* Written from the specification, independently of the writer: its own table and arithmetic. */
#include "ktx2.h"

#include "../base/limits.h"

#include <stdlib.h>
#include <zstd.h>

typedef struct rule {
	uint32_t first, last; /* VkFormat numbers that share the rule */
	uint8_t side_x, side_y, bytes, type_size, model, samples;
	const char *channels; /* type byte of each sample, in bit order; alpha as for linear */
} rule;

static const rule rules[] = {
	{9, 9, 1, 1, 1, 1, 1, 1, "\x00"},
	{15, 15, 1, 1, 1, 1, 1, 1, "\x00"},
	{16, 16, 1, 1, 2, 1, 1, 2, "\x00\x01"},
	{22, 22, 1, 1, 2, 1, 1, 2, "\x00\x01"},
	{23, 23, 1, 1, 3, 1, 1, 3, "\x00\x01\x02"},
	{29, 29, 1, 1, 3, 1, 1, 3, "\x00\x01\x02"},
	{37, 37, 1, 1, 4, 1, 1, 4, "\x00\x01\x02\x0F"},
	{43, 43, 1, 1, 4, 1, 1, 4, "\x00\x01\x02\x0F"},
	{97, 97, 1, 1, 8, 2, 1, 4, "\xC0\xC1\xC2\xCF"},
	{109, 109, 1, 1, 16, 4, 1, 4, "\xC0\xC1\xC2\xCF"},
	{131, 132, 4, 4, 8, 1, 128, 1, "\x00"},
	{133, 134, 4, 4, 8, 1, 128, 1, "\x01"},
	{135, 136, 4, 4, 16, 1, 129, 2, "\x0F\x00"},
	{137, 138, 4, 4, 16, 1, 130, 2, "\x0F\x00"},
	{139, 139, 4, 4, 8, 1, 131, 1, "\x00"},
	{140, 140, 4, 4, 8, 1, 131, 1, "\x40"},
	{141, 141, 4, 4, 16, 1, 132, 2, "\x00\x01"},
	{142, 142, 4, 4, 16, 1, 132, 2, "\x40\x41"},
	{143, 143, 4, 4, 16, 1, 133, 1, "\x80"},
	{144, 144, 4, 4, 16, 1, 133, 1, "\xC0"},
	{145, 146, 4, 4, 16, 1, 134, 1, "\x00"},
	{157, 158, 4, 4, 16, 1, 162, 1, "\x00"},
	{159, 160, 5, 4, 16, 1, 162, 1, "\x00"},
	{161, 162, 5, 5, 16, 1, 162, 1, "\x00"},
	{163, 164, 6, 5, 16, 1, 162, 1, "\x00"},
	{165, 166, 6, 6, 16, 1, 162, 1, "\x00"},
	{167, 168, 8, 5, 16, 1, 162, 1, "\x00"},
	{169, 170, 8, 6, 16, 1, 162, 1, "\x00"},
	{171, 172, 8, 8, 16, 1, 162, 1, "\x00"},
	{173, 174, 10, 5, 16, 1, 162, 1, "\x00"},
	{175, 176, 10, 6, 16, 1, 162, 1, "\x00"},
	{177, 178, 10, 8, 16, 1, 162, 1, "\x00"},
	{179, 180, 10, 10, 16, 1, 162, 1, "\x00"},
	{181, 182, 12, 10, 16, 1, 162, 1, "\x00"},
	{183, 184, 12, 12, 16, 1, 162, 1, "\x00"},
};

/* Whether a format is sRGB: plain ones are listed; in block formats sRGB has the larger number of a pair. */
static bool is_srgb(const rule *r, uint32_t format)
{
	return format == 15 || format == 22 || format == 29 || format == 43 ||
		   (r->first != r->last && format == r->last);
}

static bool find_rule(uint32_t format, const rule **out)
{
	for (size_t i = 0; i < HOB_COUNT_OF(rules); i++)
		if (format >= rules[i].first && format <= rules[i].last) {
			*out = &rules[i];
			return true;
		}
	return false;
}

typedef struct head {
	uint32_t format, type_size, width, height, depth, layers, faces, levels, scheme;
	uint32_t descriptor_at, descriptor_size, keys_at, keys_size;
	uint64_t global_at, global_size;
} head;

static bool check_head(hob_bytes file, head *h, const rule **r, hob_error *err)
{
	static const uint8_t identifier[12] = {0xAB, 0x4B, 0x54, 0x58, 0x20, 0x32,
										   0x30, 0xBB, 0x0D, 0x0A, 0x1A, 0x0A};
	if (file.size < 80)
		return hob_fail(err, TRUNCATED, "%zu bytes, the KTX2 header has 80", file.size);
	const uint8_t *p = file.data;
	if (memcmp(p, identifier, 12) != 0)
		return hob_fail(err, CORRUPT, "the KTX2 identifier is missing");
	uint32_t *fields[13] = {&h->format,			 &h->type_size, &h->width,	  &h->height, &h->depth,
							&h->layers,			 &h->faces,		&h->levels,	  &h->scheme, &h->descriptor_at,
							&h->descriptor_size, &h->keys_at,	&h->keys_size};
	for (size_t i = 0; i < HOB_COUNT_OF(fields); i++)
		*fields[i] = hob_load_u32(p + 12 + 4 * i);
	h->global_at = hob_load_u64(p + 64);
	h->global_size = hob_load_u64(p + 72);
	if (h->depth != 0 || h->layers != 0 || (h->faces != 1 && h->faces != 6))
		return hob_fail(err, UNSUPPORTED, "depth %u, layers %u, faces %u: not a flat texture or a cube",
						h->depth, h->layers, h->faces);
	if (h->faces == 6 && h->width != h->height)
		return hob_fail(err, CORRUPT, "a cube with faces of %u x %u", h->width, h->height);
	if (h->width < 1 || h->height < 1)
		return hob_fail(err, CORRUPT, "the size is %u x %u", h->width, h->height);
	if (h->width > HOB_LIMIT_IMAGE_SIDE || h->height > HOB_LIMIT_IMAGE_SIDE ||
		(uint64_t)h->width * h->height > HOB_LIMIT_IMAGE_PIXELS)
		return hob_fail(err, LIMIT, "the size is %u x %u; at most %llu pixels a side and %llu in all",
						h->width, h->height, HOB_LIMIT_IMAGE_SIDE, HOB_LIMIT_IMAGE_PIXELS);
	uint32_t longest = h->width > h->height ? h->width : h->height;
	if (h->levels < 1 || h->levels > 16 || longest >> (h->levels - 1) == 0)
		return hob_fail(err, CORRUPT, "%u levels of %u x %u pixels", h->levels, h->width, h->height);
	if (h->scheme > 2)
		return hob_fail(err, UNSUPPORTED, "supercompression %u", h->scheme);
	if (h->format == 0 && h->faces != 1)
		return hob_fail(err, UNSUPPORTED, "a cube in Basis Universal");
	if (h->format == 0) {
		*r = NULL;
		return true;
	}
	if (h->scheme == 1)
		return hob_fail(err, CORRUPT, "BasisLZ with format %u", h->format);
	if (!find_rule(h->format, r))
		return hob_fail(err, UNSUPPORTED, "format %u", h->format);
	if (h->type_size != (*r)->type_size)
		return hob_fail(err, CORRUPT, "type size %u, format %u has %u", h->type_size, h->format,
						(*r)->type_size);
	if (h->global_at != 0 || h->global_size != 0)
		return hob_fail(err, CORRUPT, "global data without BasisLZ");
	size_t index_end = 80 + 24 * (size_t)h->levels;
	if (h->descriptor_at != index_end || (uint64_t)h->descriptor_at + h->descriptor_size > file.size)
		return hob_fail(err, CORRUPT, "descriptor at %u with %u bytes; the index ends at %zu",
						h->descriptor_at, h->descriptor_size, index_end);
	if (h->keys_size == 0 ? h->keys_at != 0
						  : h->keys_at != h->descriptor_at + h->descriptor_size ||
								(uint64_t)h->keys_at + h->keys_size > file.size)
		return hob_fail(err, CORRUPT, "keys at %u with %u bytes", h->keys_at, h->keys_size);
	return true;
}

static bool check_descriptor(hob_bytes file, const head *h, const rule *r, hob_error *err)
{
	const uint8_t *p = file.data + h->descriptor_at;
	uint32_t need = 28 + 16u * r->samples;
	if (h->descriptor_size != need || hob_load_u32(p) != need || hob_load_u32(p + 4) != 0 ||
		hob_load_u16(p + 8) != 2 || hob_load_u16(p + 10) != need - 4)
		return hob_fail(err, CORRUPT, "descriptor: not one basic block of %u bytes", need);
	uint8_t transfer = is_srgb(r, h->format) ? 2 : 1;
	if (p[12] != r->model || p[13] != 1 || p[14] != transfer || p[15] > 1)
		return hob_fail(err, CORRUPT,
						"descriptor: model %u, primaries %u, transfer %u, flags %u; format %u has %u, 1, %u",
						p[12], p[13], p[14], p[15], h->format, r->model, transfer);
	if (p[16] != r->side_x - 1 || p[17] != r->side_y - 1 || p[18] != 0 || p[19] != 0)
		return hob_fail(err, CORRUPT, "descriptor: blocks of %u x %u", p[16] + 1u, p[17] + 1u);
	bool plane_unset = h->scheme != 0 && p[20] == 0;
	if ((p[20] != r->bytes && !plane_unset) || hob_load_u32(p + 21) != 0 || p[25] != 0 || p[26] != 0 ||
		p[27] != 0)
		return hob_fail(err, CORRUPT, "descriptor: %u bytes a block, format %u has %u", p[20], h->format,
						r->bytes);
	uint32_t bits = r->bytes * 8u / r->samples;
	for (uint32_t i = 0; i < r->samples; i++) {
		const uint8_t *s = p + 28 + 16 * (size_t)i;
		uint8_t channel = (uint8_t)r->channels[i];
		if (transfer == 2 && channel == 15)
			channel |= 0x10;
		if (hob_load_u16(s) != i * bits || s[2] != bits - 1 || s[3] != channel || hob_load_u32(s + 4) != 0)
			return hob_fail(err, CORRUPT,
							"descriptor: sample %u has bits %u+%u, channel 0x%02X; not %u+%u, 0x%02X", i,
							hob_load_u16(s), s[2] + 1u, s[3], i * bits, bits, channel);
		uint32_t lower = hob_load_u32(s + 8), upper = hob_load_u32(s + 12);
		uint32_t least = (channel & 0xC0) == 0xC0 ? 0xBF800000u : channel & 0x40 ? 0x80000000u : 0u;
		uint32_t want = channel & 0x80	 ? 0x3F800000u
						: channel & 0x40 ? 0x7FFFFFFFu
						: bits == 8		 ? 255u
										 : 0xFFFFFFFFu;
		if (lower != least || upper != want)
			return hob_fail(err, CORRUPT, "descriptor: sample %u goes from 0x%X to 0x%X, not 0x%X to 0x%X", i,
							lower, upper, least, want);
	}
	return true;
}

/* Whether a key is reserved by the specification: all that begin with KTX. */
static bool is_reserved_key(hob_str key)
{
	static const char *const known[] = {"KTXanimData",		   "KTXastcDecodeMode", "KTXcubemapIncomplete",
										"KTXdxgiFormat__",	   "KTXglFormat",		"KTXmapRange",
										"KTXmetalPixelFormat", "KTXorientation",	"KTXswizzle",
										"KTXwriter",		   "KTXwriterScParams"};
	for (size_t i = 0; i < HOB_COUNT_OF(known); i++)
		if (hob_str_equal(key, hob_str_of(known[i])))
			return false;
	return key.len >= 3 && (key.data[0] | 32) == 'k' && (key.data[1] | 32) == 't' &&
		   (key.data[2] | 32) == 'x';
}

/* Checks Hob's own key: 27 finite floats. */
static bool check_irradiance(hob_str value, const head *h, hob_error *err)
{
	if (h->faces != 6 || value.len != 27 * 4)
		return hob_fail(err, CORRUPT, "keys: HobIrradiance of %zu bytes beside %u faces", value.len,
						h->faces);
	for (size_t i = 0; i < 27; i++)
		if ((hob_load_u32((const uint8_t *)value.data + 4 * i) >> 23 & 255) == 255)
			return hob_fail(err, CORRUPT, "keys: number %zu of HobIrradiance is not finite", i);
	return true;
}

static bool check_keys(hob_bytes file, const head *h, hob_error *err)
{
	size_t at = h->keys_at, end = at + h->keys_size;
	hob_str before = {0};
	while (at < end) {
		if (end - at < 6)
			return hob_fail(err, CORRUPT, "keys: %zu stray bytes", end - at);
		uint32_t size = hob_load_u32(file.data + at);
		if (size < 2 || size > end - at - 4)
			return hob_fail(err, CORRUPT, "keys: an entry of %u bytes, %zu are left", size, end - at - 4);
		hob_str key = {(const char *)file.data + at + 4, 0};
		while (key.len < size && key.data[key.len] != 0)
			key.len++;
		if (key.len == 0 || key.len == size || !hob_utf8_valid(key))
			return hob_fail(err, CORRUPT, "keys: a key is empty, not terminated or not UTF-8");
		if (is_reserved_key(key))
			return hob_fail(err, CORRUPT, "keys: '%.*s' is not one of the format's own", HOB_FMT(key));
		size_t shorter = before.len < key.len ? before.len : key.len;
		int order = shorter > 0 ? memcmp(before.data, key.data, shorter) : 0;
		if (before.data && (order > 0 || (order == 0 && before.len >= key.len)))
			return hob_fail(err, CORRUPT, "keys: '%.*s' comes after '%.*s'", HOB_FMT(key), HOB_FMT(before));
		hob_str value = {key.data + key.len + 1, size - key.len - 1};
		if (hob_str_equal(key, HOB_STR("KTXorientation")) &&
			(value.len != 3 || memcmp(value.data, "rd", 3) != 0))
			return hob_fail(err, CORRUPT, "keys: KTXorientation is not 'rd'");
		if (hob_str_equal(key, HOB_STR("HobIrradiance")) && !check_irradiance(value, h, err))
			return false;
		before = key;
		at += 4 + (size_t)size;
		for (; at < end && at % 4 != 0; at++)
			if (file.data[at] != 0)
				return hob_fail(err, CORRUPT, "keys: byte %zu of padding is not zero", at);
	}
	return true;
}

static bool check_frame(hob_bytes frame, uint64_t raw, uint32_t level, hob_error *err)
{
	/* A zstd block of 128 KiB takes at least 4 bytes. */
	if (raw >> 17 > frame.size / 4)
		return hob_fail(err, CORRUPT, "level %u: %zu bytes cannot unpack to %llu", level, frame.size,
						(unsigned long long)raw);
	uint8_t *room = malloc(raw > 0 ? (size_t)raw : 1);
	if (!room)
		return hob_fail(err, MEMORY, "no memory left to unpack level %u of %llu bytes", level,
						(unsigned long long)raw);
	size_t got = ZSTD_decompress(room, (size_t)raw, frame.data, frame.size);
	free(room);
	if (ZSTD_isError(got) || got != raw)
		return hob_fail(err, CORRUPT, "level %u does not unpack to %llu bytes", level,
						(unsigned long long)raw);
	return true;
}

static bool check_levels(hob_bytes file, const head *h, const rule *r, bool deep, hob_error *err)
{
	uint64_t expected = h->keys_size > 0 ? (uint64_t)h->keys_at + h->keys_size
										 : (uint64_t)h->descriptor_at + h->descriptor_size;
	uint32_t align = h->scheme != 0		 ? 1
					 : r->bytes % 4 == 0 ? r->bytes
					 : r->bytes % 2 == 0 ? r->bytes * 2u
										 : r->bytes * 4u;
	for (uint32_t level = h->levels; level-- > 0;) {
		const uint8_t *entry = file.data + 80 + 24 * (size_t)level;
		uint64_t at = hob_load_u64(entry), size = hob_load_u64(entry + 8), raw = hob_load_u64(entry + 16);
		uint64_t wide = h->width >> level ? h->width >> level : 1,
				 high = h->height >> level ? h->height >> level : 1;
		uint64_t need =
			(wide + r->side_x - 1) / r->side_x * ((high + r->side_y - 1) / r->side_y) * r->bytes * h->faces;
		for (; expected % align != 0; expected++)
			if (expected < file.size && file.data[expected] != 0)
				return hob_fail(err, CORRUPT, "padding byte %llu is not zero", (unsigned long long)expected);
		if (raw != need || (h->scheme == 0 && size != raw) || size == 0)
			return hob_fail(err, CORRUPT, "level %u has %llu bytes for %llu, its pixels need %llu", level,
							(unsigned long long)size, (unsigned long long)raw, (unsigned long long)need);
		if (at != expected || at > file.size || size > file.size - at)
			return hob_fail(err, CORRUPT, "level %u is at byte %llu with %llu bytes, not at %llu of %zu",
							level, (unsigned long long)at, (unsigned long long)size,
							(unsigned long long)expected, file.size);
		if (h->scheme == 2 && deep &&
			!check_frame((hob_bytes){file.data + at, (size_t)size}, raw, level, err))
			return false;
		expected = at + size;
	}
	if (expected != file.size)
		return hob_fail(err, CORRUPT, "the last level ends at byte %llu, the file at %zu",
						(unsigned long long)expected, file.size);
	return true;
}

static bool inside(uint64_t at, uint64_t size, size_t end)
{
	return at <= end && size <= end - at;
}

/* Checks the global data of BasisLZ: codebooks, Huffman tables, and 20 bytes per level. */
static bool check_global(hob_bytes file, const head *h, hob_error *err)
{
	if (!inside(h->global_at, h->global_size, file.size) || h->global_size < 20)
		return hob_fail(err, CORRUPT, "global data at %llu with %llu bytes", (unsigned long long)h->global_at,
						(unsigned long long)h->global_size);
	const uint8_t *p = file.data + h->global_at;
	uint64_t need = 20 + 20 * (uint64_t)h->levels;
	for (int i = 0; i < 4; i++)
		need += hob_load_u32(p + 4 + 4 * i);
	if (need != h->global_size)
		return hob_fail(err, CORRUPT, "global data of %llu bytes, its parts have %llu",
						(unsigned long long)h->global_size, (unsigned long long)need);
	return true;
}

/* Hob does not write Basis Universal: checks only the parts that a transcoder needs, not the gaps. */
static bool check_basis(hob_bytes file, const head *h, hob_error *err)
{
	if (!inside(h->descriptor_at, h->descriptor_size, file.size) || h->descriptor_size < 44)
		return hob_fail(err, CORRUPT, "descriptor at %u with %u bytes", h->descriptor_at, h->descriptor_size);
	const uint8_t *p = file.data + h->descriptor_at;
	bool etc1s = p[12] == 163, uastc = p[12] == 166;
	if ((!etc1s && !uastc) || p[16] != 3 || p[17] != 3 || (h->scheme == 1) != etc1s)
		return hob_fail(err, UNSUPPORTED, "no format, model %u, supercompression %u", p[12], h->scheme);
	if (etc1s && !check_global(file, h, err))
		return false;
	for (uint32_t level = 0; level < h->levels; level++) {
		const uint8_t *entry = file.data + 80 + 24 * (size_t)level;
		uint64_t at = hob_load_u64(entry), size = hob_load_u64(entry + 8), raw = hob_load_u64(entry + 16);
		uint64_t wide = h->width >> level ? h->width >> level : 1,
				 high = h->height >> level ? h->height >> level : 1;
		uint64_t need = (wide + 3) / 4 * ((high + 3) / 4) * 16;
		if (!inside(at, size, file.size) || size == 0 || (uastc && raw != need) ||
			(h->scheme == 0 && size != raw))
			return hob_fail(err, CORRUPT, "level %u at byte %llu with %llu bytes for %llu", level,
							(unsigned long long)at, (unsigned long long)size, (unsigned long long)raw);
	}
	return true;
}

bool hob_ktx2_check(hob_bytes file, bool deep, hob_ktx2_facts *out, hob_error *err)
{
	head h = {0};
	const rule *r = NULL;
	if (!check_head(file, &h, &r, err))
		return false;
	if (r ? !check_descriptor(file, &h, r, err) || !check_keys(file, &h, err) ||
				!check_levels(file, &h, r, deep, err)
		  : file.size < 80 + 24 * (size_t)h.levels || !check_basis(file, &h, err))
		return false;
	if (out)
		*out = (hob_ktx2_facts){h.format, h.width, h.height, h.faces, h.levels, h.scheme};
	return true;
}
