#include "gpu_format.h"

#include "../base/half.h"
#include "astc.h"
#include "basis.h"
#include "blocks.h"
#include "ktx2.h"

#include <zstd.h>

bool hob_gpu_decodable(const hob_gpu_texture *texture)
{
	if (texture->mask_bits > 0)
		return true;
	hob_gpu_format format;
	if (texture->basis)
		return texture->basis_model != 0;
	if (!hob_gpu_format_find(texture->vk_format, &format))
		return false;
	return format.codec == HOB_GPU_PLAIN || (format.codec == HOB_GPU_BC && format.vk != HOB_VK_BC6H_SFLOAT) ||
		   (format.codec == HOB_GPU_ASTC && hob_astc_available());
}

void hob_gpu_describe(const hob_gpu_texture *texture, hob_picture_info *out)
{
	hob_gpu_format format;
	bool known = hob_gpu_format_find(texture->vk_format, &format);
	out->width = texture->width;
	out->height = texture->height;
	out->mips = texture->level_count;
	out->vk_format = texture->vk_format;
	out->opaque_codec = !hob_gpu_decodable(texture);
	if (texture->basis) {
		out->channels = hob_basis_channels(texture);
		out->depth = HOB_DEPTH_8;
		return;
	}
	out->channels = known ? format.channels : texture->mask_bits == 0 || texture->masks[3] != 0 ? 4 : 3;
	/* Keeps two channels of a normal map or a pair of masks from becoming grey and alpha. */
	if (out->channels == 2)
		out->channels = 3;
	out->depth = !known				? HOB_DEPTH_8
				 : format.is_float	? HOB_DEPTH_FLOAT
				 : format.bits <= 8 ? HOB_DEPTH_8
									: HOB_DEPTH_16;
}

bool hob_gpu_level(const hob_gpu_texture *texture, uint32_t level, hob_arena *arena, hob_bytes *out,
				   hob_error *err)
{
	hob_bytes stored = texture->levels[level];
	if (!texture->zstd) {
		*out = stored;
		return true;
	}
	size_t size = (size_t)texture->raw_bytes[level];
	/* A zstd block of 128 KiB takes at least 4 bytes. */
	if (size >> 17 > stored.size / 4)
		return hob_fail(err, CORRUPT, "level %u: %zu bytes cannot unpack to %zu", level, stored.size, size);
	uint8_t *raw = hob_arena_alloc(arena, size, 64);
	size_t got = ZSTD_decompress(raw, size, stored.data, stored.size);
	if (ZSTD_isError(got) || got != size)
		return hob_fail(err, CORRUPT, "level %u: its zstd data is damaged or does not unpack to %zu bytes",
						level, size);
	*out = (hob_bytes){raw, size};
	return true;
}

static void decode_plain(const hob_gpu_format *f, const uint8_t *in, size_t count, hob_picture *out)
{
	for (size_t i = 0; i < count; i++, in += f->block_bytes)
		for (uint32_t k = 0; k < 4; k++) {
			size_t at = 4 * i + k;
			bool given = k < f->channels;
			uint32_t source = f->bgr && k < 3 ? 2 - k : k;
			bool grey = !given && k < 3 && f->channels == 1;
			if (grey)
				source = 0;
			const uint8_t *p = in + source * f->bits / 8;
			if (f->is_float) {
				float missing = k == 3 ? 1.0f : 0.0f;
				((float *)out->pixels)[at] = !given && !grey ? missing
											 : f->bits == 16 ? hob_half_to_float(hob_load_u16(p))
															 : hob_load_f32(p);
			} else if (f->bits == 16) {
				((uint16_t *)out->pixels)[at] = given || grey ? hob_load_u16(p) : k == 3 ? 0xFFFF : 0;
			} else {
				((uint8_t *)out->pixels)[at] = given || grey ? *p : k == 3 ? 255 : 0;
			}
		}
}

static void decode_bc6h(const uint8_t *blocks, uint32_t width, uint32_t height, float *out)
{
	uint16_t halves[64];
	float decoded[64];
	for (uint32_t y = 0; y < height; y += 4)
		for (uint32_t x = 0; x < width; x += 4, blocks += 16) {
			hob_bc6h_decode(blocks, halves);
			for (uint32_t i = 0; i < 64; i++)
				decoded[i] = hob_half_to_float(halves[i]);
			hob_block_place(decoded, 4 * sizeof(float), x, y, width, height, out);
		}
}

static void decode_masks(const hob_gpu_texture *t, const uint8_t *in, size_t count, uint8_t *out)
{
	uint32_t step = t->mask_bits / 8;
	bool grey = t->masks[1] == 0 && t->masks[2] == 0;
	for (size_t i = 0; i < count; i++, in += step, out += 4) {
		uint32_t pixel = 0;
		for (uint32_t k = 0; k < step; k++)
			pixel |= (uint32_t)in[k] << 8 * k;
		for (uint32_t k = 0; k < 4; k++)
			out[k] = hob_masked_byte(pixel, t->masks[grey && k < 3 ? 0 : k], k == 3 ? 255 : 0);
	}
}

bool hob_gpu_decode(const hob_gpu_texture *texture, hob_arena *arena, hob_picture *out, hob_error *err)
{
	hob_picture_info info = {0};
	hob_gpu_describe(texture, &info);
	if (info.opaque_codec)
		return hob_fail(err, UNSUPPORTED, "%s %u is not one that Hob unpacks",
						texture->basis ? "Basis Universal of HDR with format" : "format", texture->vk_format);
	hob_bytes raw;
	hob_gpu_format format = {0};
	size_t count = (size_t)info.width * info.height;
	hob_picture_new(&info, arena, out);
	if (!hob_gpu_level(texture, 0, arena, &raw, err))
		return false;
	if (texture->basis) {
		if (!hob_basis_decode(texture, raw, arena, out->pixels, err))
			return false;
	} else if (texture->mask_bits > 0) {
		decode_masks(texture, raw.data, count, out->pixels);
	} else if (!hob_gpu_format_find(texture->vk_format, &format)) {
		return hob_fail(err, INTERNAL, "format %u has no description", texture->vk_format);
	} else if (format.codec == HOB_GPU_PLAIN) {
		decode_plain(&format, raw.data, count, out);
	} else if (format.vk == HOB_VK_BC6H_UFLOAT) {
		decode_bc6h(raw.data, info.width, info.height, (float *)out->pixels);
	} else if (format.codec == HOB_GPU_BC) {
		hob_bc_decode(texture->vk_format, raw.data, info.width, info.height, out->pixels);
	} else if (!hob_astc_decode(raw.data, raw.size, format.block_width, format.block_height, format.srgb,
								info.width, info.height, out->pixels)) {
		return hob_fail(err, MEMORY, "no memory left to unpack %u x %u pixels of ASTC", info.width,
						info.height);
	}
	hob_arena_restore(arena, out->after);
	return true;
}

bool hob_gpu_open(hob_bytes file, hob_gpu_texture *out, hob_error *err)
{
	bool dds = file.size > 4 && memcmp(file.data, "DDS ", 4) == 0;
	return dds ? hob_dds_open(file, out, err) : hob_ktx2_open(file, out, err);
}

bool hob_gpu_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	hob_gpu_texture t;
	if (!hob_gpu_open(file, &t, err))
		return false;
	hob_gpu_describe(&t, out);
	return true;
}

bool hob_gpu_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				  hob_error *err)
{
	(void)info;
	hob_gpu_texture t;
	return hob_gpu_open(file, &t, err) && hob_gpu_decode(&t, arena, out, err);
}
