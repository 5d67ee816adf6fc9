/* gpu_format.h - the GPU pixel formats Hob reads and writes, by their VkFormat numbers. */
#ifndef HOB_GPU_FORMAT_H
#define HOB_GPU_FORMAT_H

#include "../base/base.h"
#include "picture.h"

enum {
	HOB_VK_R8_UNORM = 9,
	HOB_VK_R8G8_UNORM = 16,
	HOB_VK_R8G8B8A8_UNORM = 37,
	HOB_VK_R8G8B8A8_SRGB = 43,
	HOB_VK_R16G16B16A16_SFLOAT = 97,
	HOB_VK_R32G32B32A32_SFLOAT = 109,
	HOB_VK_BC1_RGB_UNORM = 131,
	HOB_VK_BC1_RGB_SRGB = 132,
	HOB_VK_BC1_RGBA_UNORM = 133,
	HOB_VK_BC1_RGBA_SRGB = 134,
	HOB_VK_BC2_UNORM = 135,
	HOB_VK_BC2_SRGB = 136,
	HOB_VK_BC3_UNORM = 137,
	HOB_VK_BC3_SRGB = 138,
	HOB_VK_BC4_UNORM = 139,
	HOB_VK_BC4_SNORM = 140,
	HOB_VK_BC5_UNORM = 141,
	HOB_VK_BC5_SNORM = 142,
	HOB_VK_BC6H_UFLOAT = 143,
	HOB_VK_BC6H_SFLOAT = 144,
	HOB_VK_BC7_UNORM = 145,
	HOB_VK_BC7_SRGB = 146,
	HOB_VK_ASTC_4X4_UNORM = 157,
	HOB_VK_ASTC_4X4_SRGB = 158,
	HOB_VK_ASTC_6X6_UNORM = 165,
	HOB_VK_ASTC_6X6_SRGB = 166
};

enum { HOB_GPU_LEVELS = 16 };

typedef enum hob_gpu_codec {
	HOB_GPU_PLAIN, /* `bits` for each of `channels`; RGBA, or BGRA if `bgr` */
	HOB_GPU_BC,
	HOB_GPU_ASTC,
	HOB_GPU_ETC2
} hob_gpu_codec;

typedef struct hob_gpu_format {
	uint32_t vk;
	hob_gpu_codec codec;
	uint8_t block_width, block_height, block_bytes;
	uint8_t channels; /* 1 to 4: R, RG, RGB, RGBA */
	uint8_t bits;	  /* bits per channel of a plain format */
	bool srgb, is_float, is_signed;
	bool bgr; /* plain: blue is first */
} hob_gpu_format;

/* False when Hob does not know the format. */
bool hob_gpu_format_find(uint32_t vk_format, hob_gpu_format *out);

/* Bytes of a level of width x height pixels, in whole blocks. */
size_t hob_gpu_level_bytes(const hob_gpu_format *format, uint32_t width, uint32_t height);

/* Width or height of level `level`, at least 1. */
static inline uint32_t hob_level_side(uint32_t side, uint32_t level)
{
	return side >> level ? side >> level : 1;
}

/* Levels from width x height down to 1 x 1. */
uint32_t hob_level_count(uint32_t width, uint32_t height);

/* A texture in a container: levels in GPU form, largest first, possibly supercompressed. */
typedef struct hob_gpu_texture {
	uint32_t vk_format; /* 0: Basis Universal, or a DDS described by masks */
	uint32_t width, height, level_count;
	bool zstd;				   /* levels are zstd frames of `raw_bytes` each */
	bool basis;				   /* Basis Universal: basis.h */
	uint8_t basis_model;	   /* HOB_BASIS_*; 0: a model that Hob cannot decode */
	uint8_t basis_channels[2]; /* channel ids of the first two samples */
	hob_bytes basis_global;	   /* BasisLZ's codebooks */
	uint32_t mask_bits;		   /* DDS: bits per pixel, and the masks of R, G, B, A */
	uint32_t masks[4];
	hob_bytes levels[HOB_GPU_LEVELS];
	uint64_t raw_bytes[HOB_GPU_LEVELS];
} hob_gpu_texture;

/* Refuses a picture without pixels, or with a side over the limit. */
bool hob_gpu_size_check(uint32_t width, uint32_t height, hob_error *err) HOB_MUST_CHECK;

/* Whether hob_gpu_decode() supports it. */
bool hob_gpu_decodable(const hob_gpu_texture *texture);

/* Decodes level 0: 8-bit formats, BC1-5, BC7 and (with astcenc) ASTC to 8 bits, 16-bit formats to 16, float
 * formats and BC6H to float. Called within hob_guarded. */
bool hob_gpu_decode(const hob_gpu_texture *texture, hob_arena *arena, hob_picture *out,
					hob_error *err) HOB_MUST_CHECK;

/* Channels and depth after decoding. */
void hob_gpu_describe(const hob_gpu_texture *texture, hob_picture_info *out);

/* Raw bytes of a level; a supercompressed level is unpacked into `arena`. Called within hob_guarded. */
bool hob_gpu_level(const hob_gpu_texture *texture, uint32_t level, hob_arena *arena, hob_bytes *out,
				   hob_error *err) HOB_MUST_CHECK;

/* Opens a DDS or KTX2 file, which its first bytes tell apart. */
bool hob_gpu_open(hob_bytes file, hob_gpu_texture *out, hob_error *err) HOB_MUST_CHECK;

/* Opens a DDS file: 2D textures of every BC format and of plain formats; no cubes, arrays or volumes. */
bool hob_dds_open(hob_bytes file, hob_gpu_texture *out, hob_error *err) HOB_MUST_CHECK;

#endif
