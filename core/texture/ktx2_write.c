#include "ktx2.h"

#include <assert.h>
#include <zstd.h>

enum { HEADER_BYTES = 80, INDEX_BYTES = 24 };

/* Khronos data format: colour models, channels and qualifiers. */
enum {
	MODEL_RGBSDA = 1,
	MODEL_BC1A = 128,
	MODEL_ASTC = 162,
	TRANSFER_LINEAR = 1,
	TRANSFER_SRGB = 2,
	PRIMARIES_BT709 = 1
};
enum { CHANNEL_ALPHA = 15, QUALIFIER_LINEAR = 0x10, QUALIFIER_SIGNED = 0x40, QUALIFIER_FLOAT = 0x80 };

typedef struct sample {
	uint32_t bit, length, channel, lower, upper;
} sample;

static void put_u8(hob_buf *out, uint32_t v)
{
	hob_buf_put(out, &(uint8_t){(uint8_t)v}, 1);
}

static void put_u16(hob_buf *out, uint32_t v)
{
	put_u8(out, v & 255);
	put_u8(out, v >> 8 & 255);
}

static void put_u32(hob_buf *out, uint32_t v)
{
	put_u16(out, v & 0xFFFF);
	put_u16(out, v >> 16);
}

/* Appends zeros up to a multiple of `align`. `start`: offset of the file in the buffer. */
static void pad_to(hob_buf *out, size_t start, size_t align)
{
	while (!out->failed && (out->size - start) % align != 0)
		put_u8(out, 0);
}

static uint32_t plain_samples(const hob_gpu_format *f, sample *out)
{
	for (uint32_t k = 0; k < f->channels; k++) {
		uint32_t at = f->bgr && k < 3 ? 2 - k : k;
		sample s = {at * f->bits, f->bits, k == 3 ? CHANNEL_ALPHA : k, 0,
					f->bits == 8	? 255
					: f->bits == 16 ? 65535
									: UINT32_MAX};
		if (f->is_float) {
			s.channel |= QUALIFIER_FLOAT | QUALIFIER_SIGNED;
			s.lower = 0xBF800000; /* -1.0f and 1.0f */
			s.upper = 0x3F800000;
		}
		out[at] = s;
	}
	return f->channels;
}

static uint32_t block_samples(const hob_gpu_format *f, sample *out)
{
	static const struct {
		uint32_t first, last, count; /* formats, samples */
		sample samples[2];
	} rows[] = {
		{HOB_VK_BC1_RGBA_UNORM, HOB_VK_BC1_RGBA_SRGB, 1, {{0, 64, 1, 0, UINT32_MAX}}},
		{HOB_VK_BC2_UNORM,
		 HOB_VK_BC3_SRGB,
		 2,
		 {{0, 64, CHANNEL_ALPHA, 0, UINT32_MAX}, {64, 64, 0, 0, UINT32_MAX}}},
		{HOB_VK_BC4_SNORM, HOB_VK_BC4_SNORM, 1, {{0, 64, QUALIFIER_SIGNED, 0x80000000u, 0x7FFFFFFF}}},
		{HOB_VK_BC5_UNORM, HOB_VK_BC5_UNORM, 2, {{0, 64, 0, 0, UINT32_MAX}, {64, 64, 1, 0, UINT32_MAX}}},
		{HOB_VK_BC5_SNORM,
		 HOB_VK_BC5_SNORM,
		 2,
		 {{0, 64, QUALIFIER_SIGNED, 0x80000000u, 0x7FFFFFFF},
		  {64, 64, 1 | QUALIFIER_SIGNED, 0x80000000u, 0x7FFFFFFF}}},
		{HOB_VK_BC6H_UFLOAT, HOB_VK_BC6H_UFLOAT, 1, {{0, 128, QUALIFIER_FLOAT, 0, 0x3F800000}}},
		{HOB_VK_BC6H_SFLOAT,
		 HOB_VK_BC6H_SFLOAT,
		 1,
		 {{0, 128, QUALIFIER_FLOAT | QUALIFIER_SIGNED, 0xBF800000, 0x3F800000}}},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++)
		if (f->vk >= rows[i].first && f->vk <= rows[i].last) {
			memcpy(out, rows[i].samples, sizeof rows[i].samples);
			return rows[i].count;
		}
	/* BC1 RGB, BC4, BC7, ASTC: one sample, the whole block */
	out[0] = (sample){0, f->block_bytes * 8u, 0, 0, UINT32_MAX};
	return 1;
}

static uint32_t color_model(const hob_gpu_format *f)
{
	if (f->codec == HOB_GPU_ASTC)
		return MODEL_ASTC;
	if (f->codec == HOB_GPU_PLAIN)
		return MODEL_RGBSDA;
	/* From BC1 RGB (131) to BC7 sRGB (146); the two kinds of BC1 share a model. */
	return f->vk < HOB_VK_BC2_UNORM ? MODEL_BC1A : MODEL_BC1A + (f->vk - HOB_VK_BC1_RGBA_UNORM) / 2;
}

static void put_descriptor(const hob_gpu_format *f, hob_buf *out)
{
	sample samples[4];
	uint32_t count = f->codec == HOB_GPU_PLAIN ? plain_samples(f, samples) : block_samples(f, samples);
	uint32_t block = 24 + 16 * count;
	put_u32(out, block + 4);
	put_u32(out, 0); /* vendor Khronos, basic descriptor */
	put_u16(out, 2); /* version 1.3 */
	put_u16(out, block);
	put_u8(out, color_model(f));
	put_u8(out, PRIMARIES_BT709);
	put_u8(out, f->srgb ? TRANSFER_SRGB : TRANSFER_LINEAR);
	put_u8(out, 0); /* straight alpha */
	put_u32(out, (uint32_t)(f->block_width - 1) | (uint32_t)(f->block_height - 1) << 8);
	put_u32(out, f->block_bytes);
	put_u32(out, 0);
	for (uint32_t i = 0; i < count; i++) {
		put_u16(out, samples[i].bit);
		put_u8(out, samples[i].length - 1);
		put_u8(out,
			   samples[i].channel | (f->srgb && samples[i].channel == CHANNEL_ALPHA ? QUALIFIER_LINEAR : 0u));
		put_u32(out, 0);
		put_u32(out, samples[i].lower);
		put_u32(out, samples[i].upper);
	}
}

static void put_key(hob_buf *out, size_t start, hob_str key, hob_str value)
{
	put_u32(out, (uint32_t)(key.len + value.len + 1));
	hob_buf_put_str(out, key);
	put_u8(out, 0);
	hob_buf_put_str(out, value);
	pad_to(out, start, 4);
}

static void put_irradiance(hob_buf *out, size_t start, const float terms[27])
{
	uint8_t bytes[27 * 4];
	for (size_t i = 0; i < 27; i++) {
		uint32_t bits;
		memcpy(&bits, &terms[i], 4);
		hob_store_u32(bytes + 4 * i, bits);
	}
	put_key(out, start, HOB_STR("HobIrradiance"), (hob_str){(const char *)bytes, sizeof bytes});
}

typedef struct packing {
	const hob_ktx2_source *source;
	hob_buf packed[HOB_GPU_LEVELS];
	bool failed[HOB_GPU_LEVELS];
} packing;

static void pack_level(void *context, uint32_t index, uint32_t thread)
{
	(void)thread;
	packing *p = context;
	hob_bytes raw = p->source->levels[index];
	size_t bound = ZSTD_compressBound(raw.size);
	uint8_t *to = hob_buf_grow(&p->packed[index], bound);
	size_t size = to ? ZSTD_compress(to, bound, raw.data, raw.size, p->source->zstd_level) : 0;
	p->failed[index] = !to || ZSTD_isError(size);
	p->packed[index].size = p->failed[index] ? 0 : size;
}

static size_t level_alignment(const hob_gpu_format *f)
{
	/* Least common multiple of the block's size and 4. */
	size_t align = f->block_bytes;
	while (align % 4 != 0)
		align += f->block_bytes;
	return align;
}

static void put_file(const hob_ktx2_source *source, const hob_gpu_format *f, const packing *p, hob_buf *out)
{
	bool packed = source->zstd_level != 0;
	size_t start = out->size;
	uint32_t levels = source->level_count;
	uint32_t front[9] = {source->vk_format,
						 f->codec == HOB_GPU_PLAIN ? f->bits / 8u : 1u,
						 source->width,
						 source->height,
						 0,
						 0,
						 source->irradiance ? 6 : 1,
						 levels,
						 packed ? 2 : 0};
	hob_buf_put(out, "\xABKTX 20\xBB\r\n\x1A\n", 12);
	for (size_t i = 0; i < HOB_COUNT_OF(front); i++)
		put_u32(out, front[i]);
	size_t index_at = start + HEADER_BYTES, offsets_at = out->size,
		   zero_bytes = 32 + (size_t)levels * INDEX_BYTES;
	uint8_t *zeros = hob_buf_grow(out, zero_bytes);
	if (zeros)
		memset(zeros, 0, zero_bytes);
	size_t descriptor_at = out->size;
	put_descriptor(f, out);
	size_t keys_at = out->size;
	if (source->irradiance)
		put_irradiance(out, start, source->irradiance);
	put_key(out, start, HOB_STR("KTXorientation"), HOB_STR("rd\0"));
	put_key(out, start, HOB_STR("KTXwriter"), HOB_STR("hob\0"));
	size_t keys_end = out->size;
	for (uint32_t i = levels; i-- > 0;) {
		hob_bytes bytes = packed ? hob_buf_bytes(&p->packed[i]) : source->levels[i];
		if (!packed)
			pad_to(out, start, level_alignment(f));
		size_t at = out->size - start;
		hob_buf_put(out, bytes.data, bytes.size);
		if (out->failed)
			return;
		uint8_t *entry = out->data + index_at + (size_t)i * INDEX_BYTES;
		hob_store_u64(entry, at);
		hob_store_u64(entry + 8, bytes.size);
		hob_store_u64(entry + 16, source->levels[i].size);
	}
	uint32_t places[4] = {(uint32_t)(descriptor_at - start), (uint32_t)(keys_at - descriptor_at),
						  (uint32_t)(keys_at - start), (uint32_t)(keys_end - keys_at)};
	for (size_t i = 0; i < HOB_COUNT_OF(places); i++)
		hob_store_u32(out->data + offsets_at + 4 * i, places[i]);
}

void hob_ktx2_write(const hob_ktx2_source *source, hob_buf *out)
{
	hob_gpu_format format;
	bool known = hob_gpu_format_find(source->vk_format, &format);
	assert(known && format.codec != HOB_GPU_ETC2);
	assert(source->level_count >= 1 && source->level_count <= hob_level_count(source->width, source->height));
	for (uint32_t i = 0; i < source->level_count; i++)
		assert(source->levels[i].size ==
			   (source->irradiance ? 6u : 1u) * hob_gpu_level_bytes(&format, hob_level_side(source->width, i),
																	hob_level_side(source->height, i)));
	packing p = {.source = source};
	struct hob_guard *guard = hob_guard_suspend(); /* what other threads pack must be released */
	if (source->zstd_level != 0)
		hob_parallel_for(source->parallel, source->level_count, pack_level, &p);
	bool failed = false;
	for (uint32_t i = 0; i < source->level_count; i++)
		failed |= p.failed[i];
	if (!failed)
		put_file(source, &format, &p, out);
	for (uint32_t i = 0; i < source->level_count; i++)
		hob_buf_release(&p.packed[i]);
	hob_guard_resume(guard);
	if (failed || out->failed)
		hob_picture_starve("a KTX2 file");
}
